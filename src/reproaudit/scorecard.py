"""The scorecard: documentation beside outcome, as one self-contained model.

`scorecard.json` is a contract (see docs/verdicts.md) and holds everything that the rendered pages
show, figures included, so that a page can be rendered again without records. There is no single
number for a paper: the claims, their weights and the coverage are the answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from pydantic import Field

from reproaudit.agreement import agreement
from reproaudit.checks import PartFinding, binding
from reproaudit.documentation import majority, reviewed_yes, score
from reproaudit.figures import FigureModel, ReportModel, build_figures
from reproaudit.judging import BatchOutcome, ClaimOutcome, Lookup, Verdict, best_answers, judge
from reproaudit.planning import plan, seeds_of
from reproaudit.records import Record
from reproaudit.spec import Audit, Setting, TierName, Value
from reproaudit.stats import FLOOR, Decision, Interval, expected_errors

SCORECARD_VERSION = 1


class IntervalModel(ReportModel):
    """An interval and how it was made."""

    low: float
    high: float
    confidence: float
    method: str
    scale: str

    @classmethod
    def of(cls, interval: Interval | None) -> IntervalModel | None:
        """An interval as it is shown; None of none."""
        return None if interval is None else cls(**vars(interval))


class AnswerModel(ReportModel):
    """What one batch's seeds say about one part of a claim."""

    name: str
    """The part."""
    measured: str
    """The binding condition of the part."""
    decision: str
    estimate: float
    interval: IntervalModel | None
    bound: float
    side: str
    """at_most, at_least or within."""
    margin: float | None
    """Of an equivalence: how far from the bound still counts as equal."""
    per_seed: tuple[float, ...]
    satisfied: int | None
    """Of a rule over every seed: how many seeds are on the right side."""
    scale: str = "linear"
    """The scale on which the seeds' values are taken to be near normal."""
    floor: float = FLOOR
    """What lies below counts as this on a logarithmic scale."""


class PartModel(AnswerModel):
    """One part of a claim."""

    reason: str
    """Why the tolerance is what it is."""
    detectable: float | None
    seeds_needed: int | None
    control: str | None
    """The part's best answer over the controls, which must be missed; None if none measured it."""


class ControlModel(ReportModel):
    """What a control, or the positive control, says."""

    decision: str | None
    estimate: float | None
    interval: IntervalModel | None
    experiment: str
    settings: dict[str, Value]
    substitutes: dict[str, str] = Field(default_factory=dict)
    """Measurement of the claim -> what was judged in its place."""
    tier: str
    why: str
    part: str | None
    """The binding part."""
    problem: str | None
    parts: tuple[AnswerModel, ...]
    """Its answer to every part, in the claim's order; empty if it diverged or could not run."""


class ClaimModel(ReportModel):
    """One claim, judged. The figures are those of the binding part."""

    id: str
    statement: str
    locator: str
    weight: float
    experiment: str
    decision: str | None
    verdict: str
    why: str
    evidence: str
    estimate: float | None
    interval: IntervalModel | None
    bound: float | None
    seeds: tuple[int, ...]
    per_seed: tuple[float, ...]
    control: ControlModel
    """The part that the controls come closest to meeting, on the control that best discriminates
    it; its decision is that of all controls together."""
    controls: tuple[ControlModel, ...]
    positive_control: ControlModel | None
    positive_control_missing: str | None
    """Why no solution could be constructed."""
    parts: tuple[PartModel, ...]
    binding_part: str | None
    undiscriminated: tuple[str, ...]
    """Parts that every control meets."""
    rule_hash: str
    rule_is_younger: bool
    """Whether the rule was changed after the records were made."""
    rule: dict[str, Any] = Field(default_factory=dict)
    """Everything that decides the claim, besides the measurements; what `rule_hash` is of."""


class VariableModel(ReportModel):
    """One reproducibility variable: card against review."""

    name: str
    card: str
    card_as_of: str
    decision: str
    """The reviewers' majority, or "disputed"."""
    documented: bool
    """As reviewed; a disputed variable counts as the card has it."""
    reasons: tuple[str, ...]
    evidence: tuple[str, ...]
    decisions: dict[str, str] = Field(default_factory=dict)
    """Each reviewer's decision."""


class VariableAgreementModel(ReportModel):
    """How far the reviewers of one variable agree."""

    name: str
    reviewers: int
    agreeing: int
    """Pairs of reviewers that decided alike."""
    pairs: int
    disputed: bool
    """Whether no decision has most voices."""


class AgreementModel(ReportModel):
    """How far several reviewers agree."""

    reviewers: tuple[str, ...]
    agreeing: int
    """Pairs of decisions on one variable that are alike."""
    pairs: int
    alpha: float | None
    """Krippendorff's alpha, nominal; None where all decisions are the same."""
    variables: tuple[VariableAgreementModel, ...]
    open: tuple[str, ...]
    """The variables on which the reviewers do not all agree."""


class DocumentationModel(ReportModel):
    """What the paper says."""

    strict: int
    reviewed: int
    of: int = 7
    sharing_type: str
    published_rate: dict[str, Any] | None
    variables: tuple[VariableModel, ...]
    agreement: AgreementModel | None = None
    """None where no variable has several reviewers."""


class LedgerModel(ReportModel):
    """One thing that the paper leaves open."""

    experiment: str | None
    setting: str
    value: Value
    source: str
    why: str
    others: tuple[Value, ...]


class SettingModel(ReportModel):
    """A setting as it was run, and where its value comes from."""

    experiment: str | None
    """None if all experiments share it."""
    name: str
    value: Value
    """At the scorecard's tier."""
    paper: Value
    """At the paper's scale."""
    source: str
    others: tuple[Value, ...]
    """What else it could be."""


class ResponseModel(ReportModel):
    """An answer to a finding or a verdict."""

    to: str
    by: str
    statement: str
    locator: str | None
    as_of: str


class CustomModel(ReportModel):
    """Records of other seeds, settings or single experiments; they feed no verdict."""

    experiment: str
    settings: dict[str, Value]
    """Those that differ from the scorecard's tier."""
    seeds: tuple[int, ...]


class OriginModel(ReportModel):
    """Whose measurements these are, when they are not ours."""

    who: str
    source: str
    framework: str
    made: str
    settings: dict[str, Value]
    """What differs from the tier in every run."""
    absent: tuple[str, ...]
    """The experiments and controls of which nothing was supplied."""


class BesideModel(ReportModel):
    """Our own answer to a claim, beside one from elsewhere."""

    id: str
    decision: str | None
    verdict: str
    evidence: str
    reading: str
    """Our estimate with its interval against the bound."""
    difference: str
    """Theirs from ours, and whether it is within noise."""


class Coverage(ReportModel):
    """How many of the paper's claims were tested."""

    claims: int
    tested: int
    weight_tested: float


class Chance(ReportModel):
    """How many wrong decisions chance alone would give, at most on average."""

    claims: int
    """Claims judged by intervals."""
    expected_wrong: float


class RecordModel(ReportModel):
    """One record behind the scorecard."""

    experiment: str
    role: str
    tier: str
    overrides: dict[str, Value]
    seed: int
    status: str
    fingerprint: str
    started: datetime
    seconds: float


class EnvironmentModel(ReportModel):
    """Where the records were made; several values where they differ."""

    python: tuple[str, ...]
    platform: tuple[str, ...]
    device: tuple[str, ...]
    threads: tuple[int, ...]
    packages: dict[str, str]
    revision: tuple[str, ...]
    code: tuple[str, ...]
    seconds: float


class Scorecard(ReportModel):
    """Everything that is shown of one paper at one tier."""

    schema_version: int = SCORECARD_VERSION
    paper: dict[str, Any]
    tier: str
    documentation: DocumentationModel
    claims: tuple[ClaimModel, ...]
    not_audited: tuple[dict[str, str], ...]
    coverage: Coverage
    chance: Chance
    ledger: tuple[LedgerModel, ...]
    findings: tuple[dict[str, Any], ...]
    figures: tuple[FigureModel, ...]
    environment: EnvironmentModel
    records: tuple[RecordModel, ...]
    custom_records: int = Field(default=0)
    """Records of other seeds or settings in the store; they feed no verdict."""
    custom: tuple[CustomModel, ...] = ()
    """What these records are."""
    settings: tuple[SettingModel, ...] = ()
    responses: tuple[ResponseModel, ...] = ()
    origin: OriginModel | None = None
    """None if the measurements are ours."""
    beside: tuple[BesideModel, ...] = ()
    """Of measurements from elsewhere: what our own records say, where there are any."""


def build(
    audit: Audit,
    tier: TierName,
    lookup: Lookup,
    custom_records: int = 0,
    custom: Iterable[CustomModel] = (),
    *,
    agrees_over_ledger: frozenset[str] = frozenset(),
) -> Scorecard:
    """Judge an audit's records at a tier and lay out what was found.

    Args:
        lookup: where the records are.
        custom_records: how many records of other seeds or settings the store holds.
        custom: what these are.
        agrees_over_ledger: as in `judge`.
    """
    outcomes = judge(audit, tier, lookup, agrees_over_ledger=agrees_over_ledger)
    batches = [(role, batch, lookup(batch)) for role, batch in plan(audit, tier)]
    records = [
        RecordModel(
            experiment=batch.experiment,
            role=role,
            tier=batch.tier,
            overrides=dict(batch.overrides),
            seed=record.seed,
            status=record.status,
            fingerprint=record.fingerprint,
            started=record.started,
            seconds=record.seconds,
        )
        for role, batch, found in batches
        for record in found.values()
    ]
    every = [record for _, _, found in batches for record in found.values()]
    return Scorecard(
        paper=audit.paper.model_dump(mode="json"),
        tier=tier,
        documentation=_documentation(audit),
        claims=tuple(_claim(audit, tier, outcome) for outcome in outcomes),
        not_audited=tuple(one.model_dump(mode="json") for one in audit.not_audited),
        coverage=_coverage(audit, outcomes),
        chance=_chance(audit, outcomes),
        ledger=_ledger(audit),
        findings=tuple(one.model_dump(mode="json") for one in audit.findings),
        figures=tuple(build_figures(audit, tier, lookup)),
        environment=_environment(every),
        records=tuple(records),
        custom_records=custom_records,
        custom=tuple(custom),
        settings=settings_of(audit, tier),
        responses=tuple(ResponseModel(**one.model_dump(mode="json")) for one in audit.responses),
    )


# --- claims -------------------------------------------------------------------------------------


def _claim(audit: Audit, tier: TierName, outcome: ClaimOutcome) -> ClaimModel:
    claim, own = outcome.claim, outcome.own
    bound = own.binding
    controls = tuple(_control(control) for control in outcome.controls)
    positive = claim.positive_control
    return ClaimModel(
        id=claim.id,
        statement=claim.statement,
        locator=claim.locator,
        weight=claim.weight,
        experiment=claim.experiment,
        decision=own.decision,
        verdict=outcome.verdict,
        why=outcome.why,
        evidence=outcome.evidence,
        estimate=bound.finding.estimate if bound else None,
        interval=IntervalModel.of(bound.finding.interval) if bound else None,
        bound=bound.finding.bound if bound else None,
        seeds=seeds_of(audit, tier),
        per_seed=bound.finding.per_seed if bound else (),
        control=_binding_control(outcome.controls),
        controls=controls,
        positive_control=_control(outcome.positive) if outcome.positive else None,
        positive_control_missing=getattr(positive, "not_constructible", None),
        parts=_parts(outcome),
        binding_part=bound.name if bound else None,
        undiscriminated=outcome.undiscriminated,
        rule_hash=outcome.rule_hash,
        rule_is_younger=outcome.rule_is_younger,
        rule=audit.rule(claim, tier),
    )


def _parts(outcome: ClaimOutcome) -> tuple[PartModel, ...]:
    answers: dict[str, str] = {
        name: part.decision for name, (_, part) in best_answers(outcome.controls).items()
    }
    if any(control.diverged for control in outcome.controls):
        answers = {part.name: Decision.MISSED for part in outcome.own.parts}
    return tuple(_part(part, answers.get(part.name)) for part in outcome.own.parts)


def _part(part: PartFinding, control: str | None) -> PartModel:
    return PartModel(
        **dict(_answer(part)),
        reason=part.reason,
        detectable=part.finding.detectable,
        seeds_needed=part.finding.seeds_needed,
        control=control,
    )


def _answer(part: PartFinding) -> AnswerModel:
    finding = part.finding
    return AnswerModel(
        name=part.name,
        measured=part.label,
        decision=part.decision,
        estimate=finding.estimate,
        interval=IntervalModel.of(finding.interval),
        bound=finding.bound,
        side=part.side,
        margin=part.margin,
        per_seed=finding.per_seed,
        satisfied=finding.satisfied,
        scale=part.scale,
        floor=part.floor,
    )


def _control(outcome: BatchOutcome) -> ControlModel:
    bound = outcome.binding
    return ControlModel(
        decision=outcome.decision,
        estimate=bound.finding.estimate if bound else None,
        interval=IntervalModel.of(bound.finding.interval) if bound else None,
        experiment=outcome.batch.experiment,
        settings=dict(outcome.batch.overrides),
        substitutes=dict(outcome.substitutes),
        tier=outcome.batch.tier,
        why=outcome.why,
        part=bound.name if bound else None,
        problem=outcome.problem[1] if outcome.problem else None,
        parts=tuple(_answer(part) for part in outcome.parts),
    )


def _binding_control(controls: Sequence[BatchOutcome]) -> ControlModel:
    """What the controls together come to; a control without parts could not run, or diverged."""
    unjudged = [control for control in controls if not control.parts]
    if unjudged:
        return _control(min(unjudged, key=lambda control: control.decision is not None))
    best = best_answers(controls)
    name = binding({name: part.finding for name, (_, part) in best.items()}, worst=Decision.MET)
    control, part = best[name]
    return _control(control).model_copy(
        update={
            "decision": part.decision,
            "estimate": part.finding.estimate,
            "interval": IntervalModel.of(part.finding.interval),
            "part": part.name,
        }
    )


def _coverage(audit: Audit, outcomes: Sequence[ClaimOutcome]) -> Coverage:
    untested = {Verdict.NOT_TESTED, Verdict.TECHNICAL_FAILURE}
    tested = [o for o in outcomes if o.verdict not in untested]
    total = sum(o.claim.weight for o in outcomes)
    return Coverage(
        claims=len(audit.claims) + len(audit.not_audited),
        tested=len(tested),
        weight_tested=round(sum(o.claim.weight for o in tested) / total, 4),
    )


def _chance(audit: Audit, outcomes: Sequence[ClaimOutcome]) -> Chance:
    """Over every claim judged by intervals, the undecided too: the guarantee precedes the data."""
    judged = [
        [part for part in outcome.own.parts if part.finding.interval is not None]
        for outcome in outcomes
    ]
    claims = [parts for parts in judged if parts]
    equivalences = sum(any(part.side == "within" for part in parts) for parts in claims)
    wrong = expected_errors(len(claims) - equivalences, equivalences, confidence=audit.confidence)
    return Chance(claims=len(claims), expected_wrong=wrong)


# --- documentation, ledger, environment ---------------------------------------------------------


def _documentation(audit: Audit) -> DocumentationModel:
    scores = score(audit.variables)
    rate = scores.published_rate
    return DocumentationModel(
        strict=scores.strict,
        reviewed=scores.reviewed,
        sharing_type=scores.sharing_type,
        published_rate=None
        if rate is None
        else {
            "reproduced": rate[0],
            "of": rate[1],
            "low": rate[2].low,
            "high": rate[2].high,
            "confidence": rate[2].confidence,
            "method": rate[2].method,
            "source": "arXiv 2412.17859",
        },
        variables=tuple(
            VariableModel(
                name=variable.name,
                card=variable.card.result,
                card_as_of=variable.card.as_of.isoformat(),
                decision=majority(variable) or "disputed",
                documented=reviewed_yes(variable),
                reasons=tuple(f"{r.reviewer}: {r.reason}" for r in variable.reviews),
                evidence=tuple(f"{e.statement} ({e.locator})" for e in variable.evidence),
                decisions={r.reviewer: r.decision for r in variable.reviews},
            )
            for variable in audit.variables
        ),
        agreement=_agreement(audit),
    )


def _agreement(audit: Audit) -> AgreementModel | None:
    found = agreement(audit.variables)
    if found is None:
        return None
    return AgreementModel(
        reviewers=found.reviewers,
        agreeing=found.agreeing,
        pairs=found.pairs,
        alpha=found.alpha,
        variables=tuple(VariableAgreementModel(**vars(one)) for one in found.variables),
        open=tuple(one.name for one in found.variables if not one.unanimous),
    )


def settings_of(audit: Audit, tier: TierName) -> tuple[SettingModel, ...]:
    """Every setting as it is run at a tier, the shared ones first."""

    def laid_out(experiment: str | None, name: str, one: Setting) -> SettingModel:
        return SettingModel(
            experiment=experiment,
            name=name,
            value=one.at(tier),
            paper=one.value,
            source=one.source,
            others=one.others,
        )

    shared = [laid_out(None, name, one) for name, one in audit.settings.items()]
    own = [
        laid_out(experiment, name, setting)
        for experiment, one in audit.experiments.items()
        for name, setting in one.settings.items()
    ]
    return (*shared, *own)


def _ledger(audit: Audit) -> tuple[LedgerModel, ...]:
    return tuple(
        LedgerModel(
            experiment=entry.experiment,
            setting=entry.name,
            value=entry.setting.value,
            source=entry.setting.source,
            why=entry.setting.why
            or "; ".join(f"{c.source}: {c.value}" for c in entry.setting.contradicted_by),
            others=entry.setting.others,
        )
        for entry in audit.ledger()
    )


def _environment(records: Sequence[Record]) -> EnvironmentModel:
    def distinct(values: Iterable[str | None]) -> tuple[str, ...]:
        return tuple(sorted({v for v in values if v}))

    environments = [record.environment for record in records]
    packages: dict[str, set[str]] = {}
    for environment in environments:
        for name, version in environment.packages.items():
            packages.setdefault(name, set()).add(version)
    return EnvironmentModel(
        python=distinct(e.python for e in environments),
        platform=distinct(e.platform for e in environments),
        device=distinct(e.device for e in environments),
        threads=tuple(sorted({e.threads for e in environments if e.threads is not None})),
        packages={name: ", ".join(sorted(found)) for name, found in sorted(packages.items())},
        revision=distinct(e.revision for e in environments),
        code=distinct(record.code for record in records),
        seconds=sum(record.seconds for record in records),
    )
