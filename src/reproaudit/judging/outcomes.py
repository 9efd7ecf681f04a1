"""The decisions on a claim's parts by one batch of runs: its own, a control's, a completion's.

**The claim's own runs.** The runs of a claim that trains must differ and must have trained;
those of a claim that trains nothing must be alike and report no steps of training. Otherwise the
claim is not tested, or is undecided under the alternative that was run.

**Diverged seeds.** A run of the claim itself that diverged counts as missed or as a technical
failure, as the claim says. A control's diverged seeds are left out, since a run that diverges does
not show what its mechanism can do: the control is judged on the seeds that are left if these are
more than half of them, and otherwise answers nothing. A constructed solution answers nothing if one
seed of it diverged, since leaving seeds out could only help it to meet the check. A run of which
only a number is not finite that the checks do not read, while its series are whole, counts as if it
had completed.

**Inert controls.** A control is inert if, for most of its seeds, its training loss did not move by
the share that the audit states (`movement`), or that a claim on one stage of a training states for
that stage. Its parameters are no sign of training: where they start near zero, the smallest step
moves them by many times their size. Only where the loss cannot fall by what the control or the
stage is, for the reason that the audit gives (`loss_stays`), parameters that moved are asked for
instead. A control that trained for fewer or more steps than the claim, and gives no reason for
another scale, counts for nothing either. A control that only reads other measurements
of the claim's own runs is as trained as the claim. A run whose movement is not finite did not show
that it trained, and counts as one that did not. Nothing is said of a control whose experiment does
not measure movement, nor of a claim that trains nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from statistics import median

from reproaudit.audit.model import Audit, Claim, Control, TierName
from reproaudit.audit.plan import Batch, Role, runs_apart
from reproaudit.audit.rules.values import shown
from reproaudit.audit.scale import rescaled_settings
from reproaudit.audit.seeds import stored_tier
from reproaudit.cell import CellKey, canonical_settings
from reproaudit.checks import (
    Check,
    ConditionResult,
    PartResult,
    all_quantities,
    deciding_index,
    judge_conditions,
    part_results,
)
from reproaudit.checks.quantities import Sample
from reproaudit.declarations import ROUNDING, MeasurementMissingError
from reproaudit.judging.model import Verdict
from reproaudit.judging.movement import is_inert, medians, movements, untrained, why_unshown
from reproaudit.lazy import np
from reproaudit.records import CellStatus, Measurements, Record
from reproaudit.stats import Decision

Lookup = Callable[[Batch], Mapping[int, Record]]
"""Finds the records of a batch, by seed; a seed that has not been run is absent."""


def lookup_by_cell(audit: Audit, records_of: Callable[[str], Mapping[CellKey, Record]]) -> Lookup:
    """A lookup in records by cell.

    Args:
        audit: fills in the settings of a batch.
        records_of: from the store's name of a tier to the one record of each cell; asked once for
            each tier.
    """
    known = cache(records_of)

    def lookup(batch: Batch) -> Mapping[int, Record]:
        settings = canonical_settings(batch.settings(audit))
        records = known(stored_tier(audit, batch.tier))
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
        name: of a control: the name by which a part calls it its ablation, if it has one.
        why: of a control: the mechanism that it lacks.
        diverged: seeds that diverged.
        substitutes: of a control: (measurement of the claim, measurement judged in its place).
        conditions: the result of every condition; each part shows its deciding one.
        inert: of a control: whether it did not train; None if that was not measured.
        unshown: of a control: why nothing shows that it trained, in words; empty if something does
            or nothing needs to.
        length_unshown: of a control: whether neither steps nor a series tell how long it trained,
            or its claim.
        length: of a control that trained for fewer or more steps than the claim and gives no
            reason: in words, how many; else empty.
        moved: by how much of their size at the start its parameters and its training loss moved,
            medians over its seeds; None if that was not measured or is not asked.
        loss_stays: of a control: why its training loss cannot fall.
        smaller: of a control below the claim's scale: in what; else empty.
        larger: of a control above the claim's scale: in what; else empty.
        scale_reason: of a control at another scale than the claim's: why it may.
    """

    batch: Batch
    role: Role
    records: tuple[Record, ...]
    decision: Decision | None
    parts: tuple[PartResult, ...]
    problem: tuple[Verdict, str] | None
    name: str | None = None
    why: str = ""
    diverged: tuple[int, ...] = ()
    substitutes: tuple[tuple[str, str], ...] = ()
    conditions: tuple[ConditionResult, ...] = ()
    inert: bool | None = None
    unshown: str = ""
    length_unshown: bool = False
    length: str = ""
    moved: tuple[float, float] | None = None
    loss_stays: str | None = None
    smaller: str = ""
    larger: str = ""
    scale_reason: str | None = None

    @property
    def deciding_part(self) -> PartResult | None:
        """The part that decides the claim; None without parts."""
        if not self.parts:
            return None
        return self.parts[deciding_index([part.result for part in self.parts])]

    @property
    def label(self) -> str:
        """The control in a sentence: by its name, if it has one."""
        return f"the {self.role} '{self.name}'" if self.name else f"the {self.role}"

    @property
    def counts_for_nothing(self) -> str | None:
        """Of a control: the reason why its answer does not count; None if it does."""
        if self.inert:
            stayed = "its training loss did not move"
            if self.loss_stays:
                stayed = "neither its parameters nor its training loss moved"
            return f"{self.label} is inert: {stayed}, so it counts for nothing"
        if self.length:
            return (
                f"{self.label} trained for {self.length}, and gives no reason for another scale, "
                "so it counts for nothing"
            )
        if self.diverged and not self.parts:
            count = f"{len(self.diverged)} of {len(self.batch.seeds)} seeds"
            return f"{self.label} diverged for {count}, so it answers nothing"
        return None


def judge_own(
    audit: Audit, claim: Claim, batch: Batch, by_seed: Mapping[int, Record]
) -> BatchOutcome:
    """Decide a claim's parts on its own runs, as audited or in another completion.

    Runs that do not test it, though they ended well, are decided and have a problem.
    """
    outcome = judge_batch(audit, claim, claim.checks, Role.EXPERIMENT, batch, by_seed)
    movement = audit.movement_of(claim) if claim.trains else None
    moves = movements(audit, movement, batch.experiment, outcome.records)
    if claim.trains:
        unshown = why_unshown(audit, movement, batch.experiment, outcome.records)
        unfit = one_run_repeated(claim, outcome) or untrained(movement, moves)
    else:
        unshown, unfit = "", trained_after_all(outcome) or differing_runs(outcome)
    if outcome.problem is None and unfit:
        outcome = replace(outcome, problem=(Verdict.NOT_TESTED, unfit))
    return replace(outcome, moved=medians(moves), unshown=unshown)


def judge_control(
    audit: Audit,
    claim: Claim,
    control: Control,
    role: Role,
    batch: Batch,
    by_seed: Mapping[int, Record],
    own: BatchOutcome,
    tier: TierName,
) -> BatchOutcome:
    """Decide a claim's parts on one of its controls.

    Args:
        control: as `Audit.controls_of` gives it.
        own: the claim's own runs.
        tier: the claim's; the batch may be of a smaller one.
    """
    checks = [check.reading(control.substitutes) for check in claim.checks]
    outcome = judge_batch(audit, claim, checks, role, batch, by_seed)
    movement, smaller, larger, steps, unshown, is_known = None, "", "", None, "", True
    if role is Role.CONTROL:
        if claim.trains and runs_apart(claim, control):
            movement, steps = audit.movement_of(claim), _other_steps(outcome.records, own.records)
            unshown = why_unshown(audit, movement, batch.experiment, outcome.records)
            is_known = None not in (_steps(outcome.records), _steps(own.records))
        smaller, larger = _scale(audit, claim, control, tier, steps)
    kept = [one for one in outcome.records if one.seed not in outcome.diverged]
    moves = movements(audit, movement, batch.experiment, kept)
    loss_stays = control.loss_stays or (movement.loss_stays if movement is not None else None)
    return replace(
        outcome,
        name=control.name,
        why=control.why,
        substitutes=tuple(sorted(control.substitutes.items())),
        inert=is_inert(movement, moves, loss_stays),
        unshown=unshown,
        length_unshown=not is_known,
        length=_in_place_of(*steps) if steps and control.scale_reason is None else "",
        moved=medians(moves),
        loss_stays=loss_stays,
        smaller=smaller,
        larger=larger,
        scale_reason=control.scale_reason,
    )


def differing_runs(outcome: BatchOutcome) -> str | None:
    """The first difference between two runs of a batch, in words; None if they are the same.

    Runs that draw nothing and train nothing are the same in every seed, up to rounding.
    """
    for one in outcome.conditions:
        low, high = min(one.values), max(one.values)
        if not math.isclose(low, high, rel_tol=ROUNDING, abs_tol=one.condition.floor):
            return (
                "the claim says that nothing is trained, but its runs differ from seed to seed: "
                f"'{one.condition.label}' goes from {low:g} to {high:g}"
            )
    return None


def trained_after_all(outcome: BatchOutcome) -> str | None:
    """That runs which are said to train nothing went through steps, in words; None if none did.

    A single step is no training: so a run reports itself that does all at once.
    """
    steps = max((record.steps or 0 for record in outcome.records), default=0)
    if steps <= 1:
        return None
    return f"the claim says that nothing is trained, but its runs report {steps:,} steps"


def one_run_repeated(claim: Claim, outcome: BatchOutcome) -> str | None:
    """The reason why a claim's seeds are one run repeated, in words; None if they are not.

    They are if everything that the checks read is the same for every seed, up to rounding. A module
    that does not use its seed gives such records, and then five seeds are no more than one.
    """
    kept = [r.measurements for r in outcome.records if r.status is CellStatus.COMPLETED]
    names = sorted({q.measurement for _, _, q in all_quantities(claim.checks)})
    if len(kept) < 2 or not outcome.conditions:
        return None
    if not all(_same_numbers(kept[0], other, name) for other in kept[1:] for name in names):
        return None
    return f"one run, repeated: what is judged is the same for all {len(kept)} seeds"


def _same_numbers(one: Measurements, other: Measurements, name: str) -> bool:
    a, b = (
        np.asarray(m.series[name].values if name in m.series else {**m.scalars, **m.arrays}[name])
        for m in (one, other)
    )
    if a.shape != b.shape:
        return False
    return bool(np.abs(a - b).max(initial=0.0) <= ROUNDING * np.abs(a).max(initial=0.0))


SHORTER = 0.9
"""A control trained for less than the claim if it made fewer than this share of its steps, and for
longer if the claim made fewer than this share of the control's. The claim's own runs may have
trained on for a tenth, to see whether they had settled."""


def _other_steps(records: Sequence[Record], own: Sequence[Record]) -> tuple[float, float] | None:
    """A control's steps and those of the claim's own runs; None if it trained for as long.

    A control without a step has not trained; whether it is inert is asked elsewhere.
    """
    its, ours = (_steps(several) or 0 for several in (records, own))
    return (its, ours) if 0 < min(its, ours) < SHORTER * max(its, ours) else None


def _steps(records: Sequence[Record]) -> float | None:
    """The steps that runs report, or those at which their series end; None if nothing tells."""
    ends = [
        run.steps or max((one.steps[-1] for one in run.measurements.series.values()), default=0)
        for run in records
    ]
    return median(ends) if any(ends) else None


def _in_place_of(its: float, ours: float) -> str:
    return f"{its:,g} in place of the claim's {ours:,g} steps"


def _scale(
    audit: Audit,
    claim: Claim,
    control: Control,
    tier: TierName,
    steps: tuple[float, float] | None,
) -> tuple[str, str]:
    """The settings of a control below the claim's scale, in words, and those above it."""
    smaller, larger = (
        ", ".join(f"{n} {shown(its)} not {shown(ours)}" for n, (its, ours) in found.items())
        for found in rescaled_settings(audit, claim, control, tier)
    )
    if control.scale_reason and steps:
        its, ours = steps
        said = _in_place_of(its, ours)
        smaller, larger = (smaller or said, larger) if its < ours else (smaller, larger or said)
    return smaller, larger


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
    unfinished = None
    if missing:
        done = f"{len(records)} of {len(batch.seeds)} seeds have been run"
        unfinished = Verdict.NOT_TESTED, f"the {role} '{batch.experiment}' is unfinished: {done}"
        if not records or any(r.status is not CellStatus.COMPLETED for r in records):
            return unjudged(*unfinished)
    failed = [r for r in records if r.status is CellStatus.FAILED]
    if failed:
        return unjudged(
            Verdict.TECHNICAL_FAILURE,
            f"the {role} '{batch.experiment}' failed for seed {failed[0].seed}: {failed[0].error}",
        )
    kept = [record for record in records if _went_through(record, records, checks)]
    diverged = tuple(record.seed for record in records if record not in kept)
    if diverged and role is Role.EXPERIMENT:
        if claim.if_diverged == "missed":
            missed = Decision.MISSED
            return BatchOutcome(batch, role, records, missed, (), None, diverged=diverged)
        seeds = ", ".join(map(str, diverged))
        return unjudged(
            Verdict.TECHNICAL_FAILURE, f"the experiment '{batch.experiment}' diverged, seed {seeds}"
        )
    if diverged and (role is Role.POSITIVE_CONTROL or 2 * len(kept) <= len(records)):
        return BatchOutcome(batch, role, records, Decision.UNDECIDED, (), None, diverged=diverged)
    declarations = audit.measurements_of(batch.experiment)
    samples = [Sample(r.seed, r.measurements, declarations, r.settings) for r in kept]
    try:
        conditions = judge_conditions(checks, samples, audit.confidence)
    except (MeasurementMissingError, ValueError) as error:
        if unfinished:
            return unjudged(*unfinished)
        if isinstance(error, MeasurementMissingError) and any(r.origin for r in records):
            return unjudged(Verdict.NOT_TESTED, f"not supplied from elsewhere: {error}")
        return unjudged(
            Verdict.TECHNICAL_FAILURE, f"the {role} '{batch.experiment}' cannot be judged: {error}"
        )
    parts = part_results(conditions)
    if unfinished:  # where the seeds that are there lie is shown; it decides nothing
        return BatchOutcome(batch, role, records, None, parts, unfinished, conditions=conditions)
    decision = overall([part.decision for part in parts])
    return BatchOutcome(
        batch, role, records, decision, parts, None, diverged=diverged, conditions=conditions
    )


def _went_through(record: Record, batch: Sequence[Record], checks: Sequence[Check]) -> bool:
    """True if a run completed, or diverged in no series and in no number that the checks read.

    Its series are whole if they have the steps of a run of the same batch that completed.
    """
    if record.status is CellStatus.COMPLETED:
        return True
    there = record.measurements
    is_whole = any(
        {name: one.steps for name, one in there.series.items()}
        == {name: one.steps for name, one in other.measurements.series.items()}
        for other in batch
        if other.status is CellStatus.COMPLETED
    )
    return is_whole and {q.measurement for _, _, q in all_quantities(checks)} <= there.names


def overall(decisions: Sequence[Decision]) -> Decision:
    """Met if all are met, missed if one is missed, undecided otherwise."""
    if Decision.MISSED in decisions:
        return Decision.MISSED
    if Decision.UNDECIDED in decisions:
        return Decision.UNDECIDED
    return Decision.MET
