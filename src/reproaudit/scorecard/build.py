"""Builds a scorecard from an audit and its records."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from reproaudit.audit.agreement import agreement
from reproaudit.audit.documentation import majority, reviewed_yes, score
from reproaudit.audit.model import Audit, Setting, TierName
from reproaudit.audit.plan import plan, seeds_of
from reproaudit.checks import PartResult, deciding_index
from reproaudit.judging.model import IntervalModel
from reproaudit.judging.verdict import (
    BatchOutcome,
    ClaimOutcome,
    Lookup,
    best_answers,
    judge_claims,
)
from reproaudit.records import Record
from reproaudit.scorecard.figures import build_figures
from reproaudit.scorecard.model import (
    AgreementModel,
    AnswerModel,
    Chance,
    ClaimModel,
    ControlModel,
    Coverage,
    CustomModel,
    DisputeModel,
    DocumentationModel,
    EnvironmentModel,
    LedgerModel,
    PartModel,
    RecordModel,
    ResponseModel,
    Scorecard,
    SettingModel,
    VariableAgreementModel,
    VariableModel,
)
from reproaudit.scorecard.verdicts import VERDICTS
from reproaudit.stats import Decision, expected_errors


def build(
    audit: Audit,
    tier: TierName,
    lookup: Lookup,
    custom_records: int = 0,
    custom: Iterable[CustomModel] = (),
    *,
    agrees_over_ledger: frozenset[str] = frozenset(),
) -> Scorecard:
    """Judges an audit's records at a tier and returns the scorecard.

    Args:
        audit: the audit.
        tier: the tier.
        lookup: from a batch to its records.
        custom_records: the number of records of other seeds or settings the store holds.
        custom: these records, by experiment and settings.
        agrees_over_ledger: as in `judge_claims`.
    """
    outcomes = judge_claims(audit, tier, lookup, agrees_over_ledger=agrees_over_ledger)
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
        disputes=tuple(DisputeModel(**one.model_dump(mode="json")) for one in audit.disputes),
    )


# --- claims -------------------------------------------------------------------------------------


def _claim(audit: Audit, tier: TierName, outcome: ClaimOutcome) -> ClaimModel:
    claim, own = outcome.claim, outcome.own
    bound = own.deciding_part
    controls = tuple(_control(control) for control in outcome.controls)
    positive = audit.positive_control_of(claim)
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
        seeds=seeds_of(audit, tier),
        per_seed=bound.result.per_seed if bound else (),
        control=_deciding_control(outcome.controls),
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
    answers = {name: part.decision for name, (_, part) in best_answers(outcome.controls).items()}
    if any(control.diverged for control in outcome.controls):
        answers = {part.name: Decision.MISSED for part in outcome.own.parts}
    return tuple(_part(part, answers.get(part.name)) for part in outcome.own.parts)


def _part(part: PartResult, control: Decision | None) -> PartModel:
    return PartModel(
        **dict(_answer(part)),
        reason=part.reason,
        detectable=part.result.detectable,
        seeds_needed=part.result.seeds_needed,
        control=control,
    )


def _answer(part: PartResult) -> AnswerModel:
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
    )


def _control(outcome: BatchOutcome) -> ControlModel:
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
        parts=tuple(_answer(part) for part in outcome.parts),
    )


def _deciding_control(controls: Sequence[BatchOutcome]) -> ControlModel:
    """Returns the answer of all controls; one without parts could not run, or diverged."""
    unjudged = [control for control in controls if not control.parts]
    if unjudged:
        return _control(min(unjudged, key=lambda control: control.decision is not None))
    best = list(best_answers(controls).values())
    control, part = best[deciding_index([part.result for _, part in best], worst=Decision.MET)]
    return _control(control).model_copy(
        update={
            "decision": part.decision,
            "estimate": part.result.estimate,
            "interval": IntervalModel.of(part.result.interval),
            "part": part.name,
        }
    )


def _coverage(audit: Audit, outcomes: Sequence[ClaimOutcome]) -> Coverage:
    tested = [o for o in outcomes if VERDICTS[o.verdict].tested]
    total = sum(o.claim.weight for o in outcomes)
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
    """Returns every setting as it is run at a tier, the shared ones first."""

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
