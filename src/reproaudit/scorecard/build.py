"""Builds a scorecard from an audit and its records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import inf

from reproaudit.audit.agreement import agreement
from reproaudit.audit.documentation import majority, reviewed_yes, score
from reproaudit.audit.model import Audit, Setting, TierName
from reproaudit.audit.plan import Role, plan
from reproaudit.audit.variables import AuthorsAnswer
from reproaudit.checks import PartResult, deciding_index
from reproaudit.judging.alternatives import AlternativeRun
from reproaudit.judging.model import IntervalModel
from reproaudit.judging.outcomes import BatchOutcome, Lookup
from reproaudit.judging.verdict import ClaimOutcome, judge_claims
from reproaudit.records import Record
from reproaudit.scorecard.build_pictures import build_pictures
from reproaudit.scorecard.documentation import (
    AgreementModel,
    DocumentationModel,
    VariableAgreementModel,
    VariableModel,
)
from reproaudit.scorecard.figures import build_figures
from reproaudit.scorecard.model import (
    AlternativeRunModel,
    AlternativesRunModel,
    AnswerModel,
    Chance,
    ClaimModel,
    ControlModel,
    Coverage,
    CustomModel,
    DisputeModel,
    EnvironmentModel,
    HangsOnModel,
    LedgerModel,
    MovementModel,
    PartModel,
    RecordModel,
    ResponseModel,
    RunsMetModel,
    Scorecard,
    SettingModel,
    ValueDecisionModel,
)
from reproaudit.scorecard.pictures import PictureModel, StageModel
from reproaudit.scorecard.stated import judged_measurements, stated_at
from reproaudit.scorecard.verdicts import VERDICTS, verdict_words
from reproaudit.stats import Decision, equivalence_range, expected_errors, wilson


def build(
    audit: Audit,
    tier: TierName,
    lookup: Lookup,
    custom_records: int = 0,
    custom: Iterable[CustomModel] = (),
    *,
    alternatives: Mapping[str, Sequence[AlternativeRun]] | None = None,
) -> Scorecard:
    """Judges an audit's records at a tier and returns the scorecard.

    Args:
        audit: the audit.
        tier: the tier.
        lookup: from a batch to its records.
        custom_records: the number of records of other seeds or settings the store holds.
        custom: these records, by experiment and settings.
        alternatives: as in `judge_claims`.
    """
    outcomes = judge_claims(audit, tier, lookup, alternatives)
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
    claims = with_shared_stages([_claim(audit, tier, outcome) for outcome in outcomes])
    return Scorecard(
        paper=audit.paper.model_dump(mode="json"),
        tier=tier,
        documentation=_documentation(audit),
        claims=claims,
        not_audited=tuple(one.model_dump(mode="json") for one in audit.not_audited),
        coverage=_coverage(audit, outcomes),
        chance=_chance(audit, outcomes),
        ledger=_ledger(audit),
        findings=tuple(one.model_dump(mode="json") for one in audit.findings),
        figures=tuple(build_figures(audit, tier, lookup, _drawn(claims))),
        environment=_environment(every),
        records=tuple(records),
        custom_records=custom_records,
        custom=tuple(custom),
        settings=settings_of(audit, tier),
        measurements=judged_measurements(audit, tier),
        responses=tuple(ResponseModel(**one.model_dump(mode="json")) for one in audit.responses),
        disputes=tuple(DisputeModel(**one.model_dump(mode="json")) for one in audit.disputes),
    )


def with_shared_stages(claims: Sequence[ClaimModel]) -> tuple[ClaimModel, ...]:
    """The claims; a course without stages has those found in another one of its experiment."""
    known: dict[tuple[str, float | str], tuple[StageModel, ...]] = {}
    for claim in claims:
        for one in claim.pictures:
            if one.stages:
                known.setdefault((claim.experiment, one.lines[0].x[-1]), one.stages)

    def completed(claim: ClaimModel, one: PictureModel) -> PictureModel:
        if one.kind != "course" or one.stages:
            return one
        stages = known.get((claim.experiment, one.lines[0].x[-1]), ())
        return one.model_copy(update={"stages": stages})

    return tuple(
        claim.model_copy(update={"pictures": tuple(completed(claim, p) for p in claim.pictures)})
        for claim in claims
    )


def _drawn(claims: Iterable[ClaimModel]) -> Mapping[str, set[str]]:
    """The lines of the claims' own runs that their pictures show, by experiment."""
    drawn: dict[str, set[str]] = {}
    for claim in claims:
        own = [x for p in claim.pictures for x in p.lines if x.role is Role.EXPERIMENT]
        drawn.setdefault(claim.experiment, set()).update(line.label for line in own)
    return drawn


# --- claims -------------------------------------------------------------------------------------


def _claim(audit: Audit, tier: TierName, outcome: ClaimOutcome) -> ClaimModel:
    claim, own = outcome.claim, outcome.own
    bound = own.deciding_part
    controls = tuple(_control(control, audit.confidence) for control in outcome.controls)
    positive = audit.positive_control_of(claim)
    ledger = outcome.ledger
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
        estimate=bound.result.estimate if bound else None,
        interval=IntervalModel.of(bound.result.interval) if bound else None,
        bound=bound.result.bound if bound else None,
        seeds=tuple(r.seed for r in own.records) if own.problem else own.batch.seeds,
        per_seed=bound.result.per_seed if bound else (),
        control=_deciding_control(outcome, audit.confidence),
        controls=controls,
        positive_control=_control(outcome.positive, audit.confidence) if outcome.positive else None,
        positive_control_missing=getattr(positive, "not_constructible", None),
        parts=_parts(audit, outcome),
        binding_part=bound.name if bound else None,
        undiscriminated=outcome.ablations.parts(Decision.MET),
        rule_hash=outcome.rule_hash,
        rule=audit.rule(claim, tier),
        headline=verdict_words(outcome.verdict, tier, outcome.evidence),
        hangs_on=tuple(
            HangsOnModel(
                setting=one.setting,
                values=tuple(ValueDecisionModel(value=v, decision=d) for v, d in one.values),
                sentence=one.sentence,
            )
            for one in outcome.hangs_on
        ),
        alternatives_run=AlternativesRunModel(run=len(ledger.here), of=ledger.of),
        alternatives=tuple(
            AlternativeRunModel(**vars(one)) for one in (*ledger.here, *ledger.lower)
        ),
        runs_met=_runs_met(bound, audit.confidence) if bound else None,
        movement=_movement(audit, outcome),
        pictures=build_pictures(audit, outcome),
    )


def _movement(audit: Audit, outcome: ClaimOutcome) -> MovementModel | None:
    stated = audit.movement_of(outcome.claim) if outcome.claim.trains else None
    if stated is None:
        return None
    parameters, loss = outcome.own.moved or (None, None)
    return MovementModel(
        **stated.model_dump(exclude={"reason"}), parameters_moved=parameters, loss_moved=loss
    )


def _parts(audit: Audit, outcome: ClaimOutcome) -> tuple[PartModel, ...]:
    answers = outcome.ablations.answers
    return tuple(
        PartModel(
            **dict(_answer(part, audit.confidence)),
            reason=part.reason,
            detectable=part.result.detectable,
            seeds_needed=part.result.seeds_needed,
            control=answers[part.name][1].decision if part.name in answers else None,
            ablation=part.ablation,
        )
        for part in outcome.own.parts
    )


def _runs_met(part: PartResult, confidence: float) -> RunsMetModel:
    """The number of runs that meet the part's deciding condition by themselves."""
    result = part.result
    if part.side == "within":
        low, high = equivalence_range(result.bound, part.margin or 0.0, part.scale)
    else:
        low, high = (-inf, result.bound) if part.side == "at_most" else (result.bound, inf)
    met = sum(low <= value <= high for value in result.per_seed)
    interval = wilson(met, len(result.per_seed), confidence)
    return RunsMetModel(met=met, of=len(result.per_seed), interval=IntervalModel(**vars(interval)))


def _answer(part: PartResult, confidence: float) -> AnswerModel:
    result = part.result
    return AnswerModel(
        name=part.name,
        measured=part.label,
        decision=part.decision,
        estimate=result.estimate,
        interval=IntervalModel.of(result.interval),
        bound=result.bound,
        side=part.side,
        margin=part.margin,
        per_seed=result.per_seed,
        satisfied=result.satisfied,
        scale=part.scale,
        floor=part.floor,
        runs_met=_runs_met(part, confidence),
    )


def _control(outcome: BatchOutcome, confidence: float) -> ControlModel:
    bound = outcome.deciding_part
    return ControlModel(
        decision=outcome.decision,
        estimate=bound.result.estimate if bound else None,
        interval=IntervalModel.of(bound.result.interval) if bound else None,
        experiment=outcome.batch.experiment,
        settings=dict(outcome.batch.overrides),
        substitutes=dict(outcome.substitutes),
        tier=outcome.batch.tier,
        why=outcome.why,
        part=bound.name if bound else None,
        problem=outcome.problem[1] if outcome.problem else None,
        parts=tuple(_answer(part, confidence) for part in outcome.parts),
        name=outcome.name,
        diverged=outcome.diverged,
        inert=outcome.inert,
        parameters_moved=outcome.moved[0] if outcome.moved else None,
        loss_moved=outcome.moved[1] if outcome.moved else None,
        loss_stays=outcome.loss_stays,
        smaller=outcome.smaller,
        larger=outcome.larger,
        scale_reason=outcome.scale_reason,
    )


def _deciding_control(outcome: ClaimOutcome, confidence: float) -> ControlModel:
    """Returns the answer of all ablations; of controls that do not answer, the first of them."""
    answers = list(outcome.ablations.answers.values())
    silent = [c for c in outcome.controls if c.decision is None]
    if silent or not answers:
        control = (silent or outcome.controls)[0]
        update: dict[str, object] = {"decision": outcome.ablations.decision}
        return _control(control, confidence).model_copy(update=update)
    index = deciding_index([part.result for _, part in answers], worst=Decision.MET)
    control, part = answers[index]
    return _control(control, confidence).model_copy(
        update={
            "decision": outcome.ablations.decision,
            "estimate": part.result.estimate,
            "interval": IntervalModel.of(part.result.interval),
            "part": part.name,
        }
    )


def _coverage(audit: Audit, outcomes: Sequence[ClaimOutcome]) -> Coverage:
    tested = [o for o in outcomes if VERDICTS[o.verdict].tested]
    total = sum(o.claim.weight for o in outcomes) or 1.0
    return Coverage(
        claims=len(audit.claims) + len(audit.not_audited),
        tested=len(tested),
        weight_tested=round(sum(o.claim.weight for o in tested) / total, 4),
    )


def _chance(audit: Audit, outcomes: Sequence[ClaimOutcome]) -> Chance:
    """Counts every claim judged by intervals, the undecided too: what holds before the data."""
    judged = [
        [part for part in outcome.own.parts if part.result.interval is not None]
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
                evidence=(
                    *(f"{e.statement} ({e.locator})" for e in variable.evidence),
                    *map(_authors_side, variable.authors),
                ),
                decisions={r.reviewer: r.decision for r in variable.reviews},
            )
            for variable in audit.variables
        ),
        agreement=_agreement(audit),
    )


def _authors_side(answer: AuthorsAnswer) -> str:
    """The authors' answer in their checklist, as a line beside the evidence."""
    words = f" {answer.justification}" if answer.justification else ""
    return f"The authors answer {answer.answer}.{words} ({answer.locator})"


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
    """Returns every setting as it is run at a tier, the shared ones first."""

    def laid_out(experiment: str | None, name: str, one: Setting) -> SettingModel:
        return SettingModel(
            experiment=experiment,
            name=name,
            value=one.at(tier),
            paper=one.value,
            source=one.source,
            others=one.others,
            locator=stated_at(one),
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
        form=distinct(e.form for e in environments),
    )
