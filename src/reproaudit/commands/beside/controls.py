"""Tells of a claim's controls, and of runs behind its verdict that did not train."""

from __future__ import annotations

from collections.abc import Iterator

from reproaudit.audit.model import Claim, Control
from reproaudit.audit.plan import control_batch, experiment_batch
from reproaudit.audit.rules.ablations import quick_alone
from reproaudit.audit.rules.values import shown
from reproaudit.checks import all_quantities
from reproaudit.commands.beside.judged import JudgedFrom, rests_on_runs, with_names
from reproaudit.judging.model import Verdict
from reproaudit.judging.movement import is_inert, movements
from reproaudit.multiverse.completions import concerns
from reproaudit.reports.numbers import counted
from reproaudit.reports.status import holds
from reproaudit.reports.warning import (
    ABLATION_HANGS_ON,
    CONTROL_AT_QUICK_SCALE,
    MEANS_OTHERWISE,
    NOT_TRAINED,
)
from reproaudit.scorecard.model import ClaimModel


def told_of_controls(judged: JudgedFrom, claim: Claim, told: ClaimModel) -> Iterator[str]:
    """Yields every sentence on the controls of a claim, and on runs that did not train.

    Args:
        judged: what the claim was judged from.
        claim: as the audit has it.
        told: as it was judged.
    """
    if holds(told):
        yield from _open_settings(judged, claim)
        yield from _at_another_scale(judged, claim)
    yield from _on_meanings(judged, claim, told)
    yield from _untrained(judged, claim, told)


def _open_settings(judged: JudgedFrom, claim: Claim) -> Iterator[str]:
    """Yields a sentence on open settings of an ablation's experiment, not of the claim's.

    A multiverse varies what the claim's own experiment reads.
    """
    audit = judged.audit
    found: dict[str, list[str]] = {}
    for change in judged.changes:
        for _, control in with_names(audit.ablations_of(claim)):
            experiment = str(control.experiment)
            if (
                concerns(audit, change, experiment)
                and not concerns(audit, change, claim.experiment)
                and change.name not in control.settings
            ):
                own = audit.values_of(experiment, judged.tier)[change.name]
                name = f"{change.name} = {shown(own)} of {experiment}"
                found.setdefault(name, []).append(shown(change.stated))
    if found:
        every = "; ".join(f"{one} (or {', '.join(others)})" for one, others in found.items())
        yield f"{ABLATION_HANGS_ON}, and no alternative of them was tried: {every}."


def _at_another_scale(judged: JudgedFrom, claim: Claim) -> Iterator[str]:
    """Yields a sentence on controls at quick scale whose experiment has a quick value itself.

    The claim's experiment has the paper's value there, so that such a control differs in it.
    """
    for name, control in with_names(judged.audit.controls_of(claim)):
        if smaller := quick_alone(judged.audit, claim, control, judged.tier):
            values = ", ".join(f"{one} = {shown(its)}" for one, (its, _) in smaller.items())
            yield (
                f"{CONTROL_AT_QUICK_SCALE} of {control.experiment}, other values than those of "
                f"the claim: control {name} with {values}."
            )


def _on_meanings(judged: JudgedFrom, claim: Claim, told: ClaimModel) -> Iterator[str]:
    """Yields a sentence on each control behind a verdict that has a measure of its own.

    It has the name of one that the claim reads, and another meaning, or another order of its
    coordinates. Substitutes are told of with the control.
    """
    audit = judged.audit
    movement = audit.movement_of(claim)
    moves = [] if movement is None else [movement.parameters, movement.training_loss]
    read = [one.measurement for _, _, one in all_quantities(claim.checks)]
    ours = experiment_batch(audit, claim.experiment, judged.tier)
    for whose, control in _behind(judged, claim, told):
        its = control_batch(audit, control, judged.tier)
        for name in dict.fromkeys([*read, *moves]):
            pair = [audit.declaration(one.experiment, name) for one in (ours, its)]
            if name in control.substitutes or None in pair:
                continue
            here, there = (one for one in pair if one is not None)
            if here.meaning != there.meaning:
                yield (
                    f"{MEANS_OTHERWISE}: '{name}' of {whose} is: {there.meaning.rstrip('.')}. "
                    f"That of the claim is: {here.meaning}"
                )
            for axis, other in zip(here.axes, there.axes, strict=False):
                mine = axis.coordinates(ours.settings(audit))
                theirs = other.coordinates(its.settings(audit))
                if theirs[: len(mine)] != mine[: len(theirs)]:
                    yield (
                        f"{MEANS_OTHERWISE}: '{name}' of {whose} has other coordinates on its "
                        f"axis '{other.name}', {shown(theirs)}. Those of the claim are "
                        f"{shown(mine)}."
                    )


def _behind(judged: JudgedFrom, claim: Claim, told: ClaimModel) -> Iterator[tuple[str, Control]]:
    """Yields the controls that a verdict rests on, each with a name for a sentence."""
    for name, control in with_names(judged.audit.ablations_of(claim)) if holds(told) else ():
        yield f"control {name}", control
    positive = judged.audit.positive_control_of(claim)
    rests = rests_on_runs(told) or told.verdict is Verdict.UNATTAINABLE
    if rests and isinstance(positive, Control):
        yield "the constructed solution", positive


def _untrained(judged: JudgedFrom, claim: Claim, told: ClaimModel) -> Iterator[str]:
    """Yields a sentence on each group of runs behind a verdict of which some did not train.

    Where most of them did not, the verdict says so.
    """
    audit = judged.audit
    movement = audit.movement_of(claim)
    if movement is None or not claim.trains or not rests_on_runs(told):
        return
    for one in judged.runs_behind(claim, told):
        stays = movement.loss_stays
        if one.control is not None:
            stays = one.control.loss_stays or stays
        runs = list(one.lookup(one.batch).values())
        moves = movements(audit, movement, one.batch.experiment, runs)
        still = sum(bool(is_inert(movement, (run,), stays)) for run in moves)
        if 0 < still <= len(moves) / 2:
            yield (
                f"{NOT_TRAINED}: {still} of {counted(len(moves), 'run')} of "
                f"{one.whose or 'the claim'} moved by less than the {movement.at_least:g} that "
                "the audit asks for."
            )
