"""Verdicts on claims, from the records of their experiments and controls.

The *decision* is the answer of the numbers (met, missed, undecided). The *evidence* is, apart from
that, how close the run was to the paper. The *verdict* is the conclusion about the claim from its
own decision, its controls' and the evidence: a claim is supported only if every part of its check
fails on a control, and contradicted only if no guess of ours could be the cause.

A control that meets the check discredits the check, not the paper. Every part of a claim must be
missed on at least one control; a part that all controls meet shows nothing, and the claim is
vacuous.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache

from reproaudit.audit.model import Audit, Claim, Control, Setting, Source, TierName
from reproaudit.audit.plan import Batch, Role, claim_batches
from reproaudit.cell import CellKey, SettingValue, canonical_settings
from reproaudit.checks import (
    Check,
    ConditionResult,
    PartResult,
    deciding_index,
    judge_conditions,
    part_results,
)
from reproaudit.checks.measurements import MeasurementMissingError, Sample
from reproaudit.records import CellStatus, Record
from reproaudit.stats import Decision


class Verdict(StrEnum):
    """The conclusion about a claim."""

    SUPPORTED = "supported"
    CONTRADICTED = "contradicted"
    INCONCLUSIVE = "inconclusive"
    VACUOUS = "vacuous"
    TECHNICAL_FAILURE = "technical_failure"
    NOT_TESTED = "not_tested"


class EvidenceLevel(StrEnum):
    """The closeness of a run to the paper, from its own scale to other data or another method."""

    EXACT = "exact"
    ASSUMED = "assumed"
    REDUCED = "reduced"
    PROXY = "proxy"


Lookup = Callable[[Batch], Mapping[int, Record]]
"""Finds the records of a batch, by seed; a seed that has not been run is absent."""


def lookup_by_cell(
    audit: Audit, records_of: Callable[[TierName], Mapping[CellKey, Record]]
) -> Lookup:
    """A lookup in records by cell.

    Args:
        audit: fills in the settings of a batch.
        records_of: from a tier to the one record of each cell; asked once for each tier.
    """
    known = cache(records_of)

    def lookup(batch: Batch) -> Mapping[int, Record]:
        settings = canonical_settings(batch.settings(audit))
        records = known(batch.tier)
        return {
            seed: records[key]
            for seed in batch.seeds
            if (key := (batch.experiment, settings, seed)) in records
        }

    return lookup


@dataclass(frozen=True)
class BatchOutcome:
    """The decisions on a claim's parts by the records of one batch.

    Attributes:
        batch: the experiment, its settings and seeds.
        role: the batch is the claim's own experiment, a control or a positive control.
        records: those that were found, in the order of the seeds.
        decision: on the whole claim; None if it could not be judged.
        parts: the result of each part, in the order of the audit.
        problem: the reason it could not be judged: ("not_tested" or "technical_failure", a
            sentence).
        why: of a control: the mechanism that it lacks.
        diverged: seeds that diverged, where that counts as missed.
        substitutes: of a control: (measurement of the claim, measurement judged in its place).
        conditions: the result of every condition; each part shows its deciding one.
    """

    batch: Batch
    role: Role
    records: tuple[Record, ...]
    decision: Decision | None
    parts: tuple[PartResult, ...]
    problem: tuple[Verdict, str] | None
    why: str = ""
    diverged: tuple[int, ...] = ()
    substitutes: tuple[tuple[str, str], ...] = ()
    conditions: tuple[ConditionResult, ...] = ()

    @property
    def deciding_part(self) -> PartResult | None:
        """The part that decides the claim; None without parts."""
        if not self.parts:
            return None
        return self.parts[deciding_index([part.result for part in self.parts])]


@dataclass(frozen=True)
class ClaimOutcome:
    """The verdict on a claim, and everything that it follows from.

    Attributes:
        own: the claim's own experiment.
        control_decision: of all controls together; None if one could not be judged.
        why: the sentence that gives the reason for the verdict.
        rule_hash: of the rule by which it was judged.
        rule_is_younger: whether some record was made under another rule.
        undiscriminated: names of the parts that every control meets.
    """

    claim: Claim
    own: BatchOutcome
    controls: tuple[BatchOutcome, ...]
    positive: BatchOutcome | None
    control_decision: Decision | None
    evidence: EvidenceLevel
    verdict: Verdict
    why: str
    rule_hash: str
    rule_is_younger: bool
    undiscriminated: tuple[str, ...]

    @property
    def decision(self) -> Decision | None:
        """The decision by the claim's own experiment."""
        return self.own.decision


def judge_claims(
    audit: Audit,
    tier: TierName,
    lookup: Lookup,
    *,
    agrees_over_ledger: frozenset[str] = frozenset(),
) -> tuple[ClaimOutcome, ...]:
    """Judge every claim of an audit at a tier.

    Args:
        lookup: finds the records.
        agrees_over_ledger: ids of the claims whose decision was found to be the same under every
            alternative of the ledger, so that assumed evidence may contradict them.
    """
    return tuple(
        judge_claim(audit, claim, tier, lookup, claim.id in agrees_over_ledger)
        for claim in audit.claims
    )


def judge_claim(
    audit: Audit, claim: Claim, tier: TierName, lookup: Lookup, agrees_over_ledger: bool = False
) -> ClaimOutcome:
    """Judge one claim by its own experiment, its controls and its positive control."""
    stated = (*audit.controls_of(claim), audit.positive_control_of(claim))
    named = [control for control in stated if isinstance(control, Control)]
    batches = list(claim_batches(audit, claim, tier))
    own = judge_batch(audit, claim, claim.checks, *batches[0], lookup(batches[0][1]))
    others = [
        _judge_control(audit, claim, control, role, batch, lookup(batch))
        for control, (role, batch) in zip(named, batches[1:], strict=True)
    ]
    controls = tuple(o for o in others if o.role is Role.CONTROL)
    positive = next((o for o in others if o.role is Role.POSITIVE_CONTROL), None)
    control_decision, undiscriminated = combine_controls(controls)
    evidence = evidence_level(audit, claim, tier, own.records)
    rule_hash = audit.rule_hash(claim, tier)
    verdict, why = decide_verdict(
        tier, own, controls, control_decision, positive, evidence, agrees_over_ledger
    )
    return ClaimOutcome(
        claim=claim,
        own=own,
        controls=controls,
        positive=positive,
        control_decision=control_decision,
        evidence=evidence,
        verdict=verdict,
        why=why,
        rule_hash=rule_hash,
        rule_is_younger=any(
            r.origin is None and r.rules.get(claim.id) != rule_hash for r in own.records
        ),
        undiscriminated=undiscriminated,
    )


def _judge_control(
    audit: Audit,
    claim: Claim,
    control: Control,
    role: Role,
    batch: Batch,
    by_seed: Mapping[int, Record],
) -> BatchOutcome:
    checks = [check.reading(control.substitutes) for check in claim.checks]
    outcome = judge_batch(audit, claim, checks, role, batch, by_seed)
    return replace(outcome, why=control.why, substitutes=tuple(sorted(control.substitutes.items())))


def judge_batch(
    audit: Audit,
    claim: Claim,
    checks: Sequence[Check],
    role: Role,
    batch: Batch,
    by_seed: Mapping[int, Record],
) -> BatchOutcome:
    """Decide a claim's parts on one batch: its own experiment, a control, another completion.

    Args:
        checks: the claim's, with a control's substitutes in place.
        by_seed: the batch's records; a seed that has not been run is absent.
    """
    records = tuple(by_seed[seed] for seed in batch.seeds if seed in by_seed)

    def unjudged(verdict: Verdict, why: str) -> BatchOutcome:
        return BatchOutcome(batch, role, records, None, (), (verdict, why))

    missing = [seed for seed in batch.seeds if seed not in by_seed]
    if missing:
        done = f"{len(records)} of {len(batch.seeds)} seeds have been run"
        return unjudged(
            Verdict.NOT_TESTED, f"the {role} '{batch.experiment}' is unfinished: {done}"
        )
    failed = [r for r in records if r.status is CellStatus.FAILED]
    if failed:
        return unjudged(
            Verdict.TECHNICAL_FAILURE,
            f"the {role} '{batch.experiment}' failed for seed {failed[0].seed}: {failed[0].error}",
        )
    diverged = tuple(r.seed for r in records if r.status is CellStatus.DIVERGED)
    if diverged and role is Role.EXPERIMENT and claim.if_diverged == "technical_failure":
        seeds = ", ".join(map(str, diverged))
        return unjudged(
            Verdict.TECHNICAL_FAILURE, f"the experiment '{batch.experiment}' diverged, seed {seeds}"
        )
    if diverged:  # a run that diverges does not show the phenomenon: of a control, the point
        return BatchOutcome(batch, role, records, Decision.MISSED, (), None, diverged=diverged)
    declarations = audit.measurements_of(batch.experiment)
    samples = [Sample(r.seed, r.measurements, declarations, r.settings) for r in records]
    try:
        conditions = judge_conditions(checks, samples, audit.confidence)
    except (MeasurementMissingError, ValueError) as error:
        if isinstance(error, MeasurementMissingError) and any(r.origin for r in records):
            return unjudged(Verdict.NOT_TESTED, f"not supplied from elsewhere: {error}")
        return unjudged(
            Verdict.TECHNICAL_FAILURE, f"the {role} '{batch.experiment}' cannot be judged: {error}"
        )
    parts = part_results(conditions)
    decision = overall([part.decision for part in parts])
    return BatchOutcome(batch, role, records, decision, parts, None, conditions=conditions)


def overall(decisions: Sequence[Decision]) -> Decision:
    """Met if all are met, missed if one is missed, undecided otherwise."""
    if Decision.MISSED in decisions:
        return Decision.MISSED
    if Decision.UNDECIDED in decisions:
        return Decision.UNDECIDED
    return Decision.MET


def combine_controls(
    controls: Sequence[BatchOutcome],
) -> tuple[Decision | None, tuple[str, ...]]:
    """The decision of all controls together, and the parts that every control meets.

    Each part takes its best answer over the controls: missed if one control misses it. The
    controls together are missed if every part is, and met if some part is met on all of them.

    Returns:
        The decision (None if a control could not be judged) and the names of the parts met on
        every control.
    """
    if any(control.decision is None for control in controls):
        return None, ()
    if any(not control.parts for control in controls):
        return Decision.MISSED, ()  # a control that diverged misses every part
    best = {name: part.decision for name, (_, part) in best_answers(controls).items()}
    met = tuple(name for name, decision in best.items() if decision is Decision.MET)
    if met:
        return Decision.MET, met
    return (Decision.UNDECIDED if Decision.UNDECIDED in best.values() else Decision.MISSED), ()


_BEST_FIRST = (Decision.MISSED, Decision.UNDECIDED, Decision.MET)


def best_answers(controls: Sequence[BatchOutcome]) -> dict[str, tuple[BatchOutcome, PartResult]]:
    """For each part by name, the control that misses it most clearly, and that control's answer.

    Of equal controls the first is taken. A control at a smaller scale may have fewer parts, where
    a tier shortens the axis over which a check is repeated.
    """
    best: dict[str, tuple[BatchOutcome, PartResult]] = {}
    for control in controls:
        for part in control.parts:
            rank = _BEST_FIRST.index(part.decision)
            if part.name not in best or rank < _BEST_FIRST.index(best[part.name][1].decision):
                best[part.name] = control, part
    return best


GUESSED = frozenset({Source.ASSUMPTION, Source.RECALLED})
"""The sources of settings that the paper does not state."""


def evidence_level(
    audit: Audit, claim: Claim, tier: TierName, records: Sequence[Record]
) -> EvidenceLevel:
    """The closeness of the claim's own runs to the paper.

    Measurements made elsewhere may have other settings than the tier; the weakest run counts. A
    value that is stated at no tier and as no alternative makes the run another method: proxy.
    """
    if any(record.proxy for record in records):
        return EvidenceLevel.PROXY
    settings = audit.settings_of(claim.experiment)
    planned = audit.values_of(claim.experiment, tier)
    runs = [r.settings for r in records if r.origin is not None] or [planned]
    levels = {_closeness(one, run.get(name)) for run in runs for name, one in settings.items()}
    return next((level for level in _WEAKEST_FIRST if level in levels), EvidenceLevel.EXACT)


_WEAKEST_FIRST = (EvidenceLevel.PROXY, EvidenceLevel.REDUCED, EvidenceLevel.ASSUMED)


def _closeness(setting: Setting, value: SettingValue | None) -> EvidenceLevel:
    """The closeness to the paper of a run with this value, judged by this setting alone."""
    if value == setting.value or (setting.underspecified and value in setting.others):
        guessed = setting.source in GUESSED or setting.underspecified
        return EvidenceLevel.ASSUMED if guessed else EvidenceLevel.EXACT
    if value in (setting.at("quick"), setting.at("smoke")):
        return EvidenceLevel.REDUCED
    return EvidenceLevel.PROXY


def decide_verdict(
    tier: TierName,
    own: BatchOutcome,
    controls: Sequence[BatchOutcome],
    control_decision: Decision | None,
    positive: BatchOutcome | None,
    evidence: EvidenceLevel,
    agrees_over_ledger: bool,
) -> tuple[Verdict, str]:
    """The verdict and the sentence that gives its reason; the order of the questions matters."""
    if tier == "smoke":
        return Verdict.NOT_TESTED, "the smoke tier only proves that the experiments run"
    for outcome in (own, *controls, *([positive] if positive else [])):
        if outcome.problem:
            return outcome.problem
    if control_decision is Decision.MET:
        return Verdict.VACUOUS, "a part of the check passes on every control, so it shows nothing"
    if positive is not None and positive.decision is Decision.MISSED:
        return Verdict.VACUOUS, "the check fails on the constructed solution, so it shows nothing"
    if own.decision is Decision.MISSED:
        return _missed(evidence, agrees_over_ledger)
    if own.decision is Decision.UNDECIDED:
        return Verdict.INCONCLUSIVE, "the interval does not decide"
    if control_decision is Decision.UNDECIDED:
        return Verdict.INCONCLUSIVE, "met, but the control does not decide"
    if positive is not None and positive.decision is Decision.UNDECIDED:
        return Verdict.INCONCLUSIVE, "met, but the constructed solution does not decide"
    return Verdict.SUPPORTED, _supported(own, controls)


def _supported(own: BatchOutcome, controls: Sequence[BatchOutcome]) -> str:
    """The reason for *supported*, which counts the parts that exist at no control's scale."""
    answered = best_answers(controls)
    alone = sum(part.name not in answered for part in own.parts)
    if alone == 0 or any(not control.parts for control in controls):  # diverged: misses every part
        return "met, and every part of the check fails on a control"
    return (
        "met, and every part that a control has fails on one; "
        f"{alone} of {len(own.parts)} parts exist at this scale alone"
    )


def _missed(evidence: EvidenceLevel, agrees_over_ledger: bool) -> tuple[Verdict, str]:
    if evidence is EvidenceLevel.EXACT:
        return Verdict.CONTRADICTED, "missed at the paper's scale and with settings it states"
    if evidence is EvidenceLevel.ASSUMED and agrees_over_ledger:
        return Verdict.CONTRADICTED, "missed over every alternative for what the paper leaves open"
    return (
        Verdict.INCONCLUSIVE,
        f"missed, but on {evidence} evidence, which may not contradict a paper",
    )
