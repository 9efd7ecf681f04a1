"""The changes of the claims' results, and the changes that may have caused them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reproaudit.diff.changes import batch_words
from reproaudit.diff.model import (
    KINDS,
    Change,
    ChangeKind,
    ClaimChange,
    PartChange,
    ResultModel,
    State,
)
from reproaudit.judging.model import IntervalModel
from reproaudit.scorecard.model import ClaimModel, PartModel, Scorecard
from reproaudit.stats import Scale
from reproaudit.stats.difference import seed_difference

CONFIDENCE = 0.95
"""The confidence, over all parts of a claim, that tells a difference from noise."""


def measured_again(before: Scorecard, after: Scorecard) -> tuple[int, int]:
    """Returns how many cells both have, and how many of these have another record."""
    found = [
        {
            (one.experiment, batch_words(one), one.seed): (one.fingerprint, one.started)
            for one in card.records
        }
        for card in (before, after)
    ]
    common = found[0].keys() & found[1]
    return len(common), sum(found[0][cell] != found[1][cell] for cell in common)


def claim_changes(
    before: Scorecard, after: Scorecard, changes: Sequence[Change], again: int
) -> Iterator[ClaimChange]:
    """Yields the change of every claim's result.

    Args:
        changes: what else differs, as possible causes.
        again: how many cells were measured again; the cause where nothing else can be.
    """
    old = {claim.id: claim for claim in before.claims}
    new = {claim.id: claim for claim in after.claims}
    for name in dict.fromkeys([*old, *new]):
        yield _claim(name, old.get(name), new.get(name), changes, again)


def _claim(
    name: str,
    before: ClaimModel | None,
    after: ClaimModel | None,
    changes: Sequence[Change],
    again: int,
) -> ClaimChange:
    results = _result(before), _result(after)
    kept = not any(c.kind == "rule" and c.matters and c.claim == name for c in changes)
    parts = tuple(_parts(before, after, kept)) if before and after else ()
    state = _worst([part.state for part in parts])
    decided = [(r.decision, r.verdict, r.evidence, r.hangs_on) if r else None for r in results]
    changed = decided[0] != decided[1] or state == "beyond_noise"
    causes = tuple(_causes(after or before, changes)) if changed else ()
    if state == "identical" and "rule" in causes and _decision(before) != _decision(after):
        causes = ("rule",)  # the same numbers, decided otherwise
    if changed and not causes and again:
        causes = ("records",)
    return ClaimChange(
        id=name,
        before=results[0],
        after=results[1],
        changed=changed,
        state=state,
        parts=parts,
        causes=causes,
    )


def _decision(claim: ClaimModel | None) -> str | None:
    return claim.decision if claim is not None else None


def _result(claim: ClaimModel | None) -> ResultModel | None:
    if claim is None:
        return None
    return ResultModel(
        decision=claim.decision,
        verdict=claim.verdict,
        evidence=claim.evidence,
        estimate=claim.estimate,
        interval=claim.interval,
        part=claim.binding_part,
        headline=claim.headline or claim.verdict.value.replace("_", " "),
        hangs_on=tuple(one.sentence for one in claim.hangs_on),
    )


def _worst(states: Sequence[State]) -> State:
    order: tuple[State, ...] = ("beyond_noise", "within_noise", "not_compared", "identical")
    return next((state for state in order if state in states), "not_compared")


def _causes(claim: ClaimModel | None, changes: Sequence[Change]) -> list[ChangeKind]:
    """Returns the kinds with a change that matters and may concern the claim."""
    if claim is None:
        return []
    experiments = {claim.experiment, *(control.experiment for control in claim.controls)}
    if claim.positive_control is not None:
        experiments.add(claim.positive_control.experiment)
    found = {
        change.kind
        for change in changes
        if change.matters
        and change.claim in (None, claim.id)
        and (change.experiment is None or change.experiment in experiments)
    }
    return [kind for kind in KINDS if kind in found]


def _parts(before: ClaimModel, after: ClaimModel, same_rule: bool) -> Iterator[PartChange]:
    old = {part.name: part for part in before.parts}
    new = {part.name: part for part in after.parts}
    common = [name for name in new if name in old]
    paired = same_rule and before.seeds == after.seeds
    for name in common:
        yield part_change(old[name], new[name], paired=paired, parts=len(common))


def part_change(before: PartModel, after: PartModel, *, paired: bool, parts: int) -> PartChange:
    """Returns the change of a part's numbers from one scorecard to another.

    Args:
        before: the earlier answer.
        after: the later answer.
        paired: whether rule and seeds agree, so that seeds may be paired.
        parts: over how many parts of the claim the error is divided.
    """
    nothing = PartChange(
        name=after.name,
        state="not_compared",
        why=None,
        before=before.estimate,
        after=after.estimate,
        form=None,
        difference=None,
        interval=None,
        paired=paired,
        detectable=None,
    )
    if before.measured != after.measured:
        why = f"'{before.measured}' decided before, '{after.measured}' decides now"
        return nothing.model_copy(update={"why": why})
    if before.per_seed == after.per_seed:
        return nothing.model_copy(update={"state": "identical"})
    if before.scale != after.scale:
        return nothing.model_copy(update={"why": "judged on another scale than before"})
    confidence = 1 - (1 - CONFIDENCE) / parts
    try:
        found = seed_difference(
            before.per_seed,
            after.per_seed,
            paired=paired and len(before.per_seed) == len(after.per_seed),
            scale=Scale(after.scale),
            confidence=confidence,
            floor=max(before.floor, after.floor),
        )
    except ValueError as error:
        return nothing.model_copy(update={"why": str(error)})
    method = found.method if parts == 1 else f"{found.method}, error divided by {parts} parts"
    return nothing.model_copy(
        update={
            "state": "within_noise" if found.within_noise else "beyond_noise",
            "form": found.form,
            "difference": found.estimate,
            "interval": IntervalModel(
                low=found.low,
                high=found.high,
                confidence=confidence,
                method=method,
                scale=after.scale,
            ),
            "detectable": found.detectable,
        }
    )
