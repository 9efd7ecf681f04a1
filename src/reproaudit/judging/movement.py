"""Tells runs that trained from inert ones, by the two measurements that an audit names for it."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from reproaudit.audit.model import Audit, Movement
from reproaudit.records import CellStatus, Record

Moves = tuple[tuple[float, float], ...]
"""Of each run that is judged, by how much its parameters and its training loss moved."""


def movements(
    audit: Audit, movement: Movement | None, experiment: str, runs: Sequence[Record]
) -> Moves:
    """The movement of each run; empty if its experiment does not measure it.

    A number that is not finite is in no record, and counts as none: such a run has not shown that
    it trained. Of runs from elsewhere a number may not have been supplied; then there is none.

    Args:
        audit: declares the measurements.
        movement: names two of them.
        experiment: the runs' own.
        runs: those that are judged; failed ones are left out.
    """
    if movement is None:
        return ()
    names = (movement.parameters, movement.training_loss)
    ended = [one for one in runs if one.status is not CellStatus.FAILED]
    is_declared = set(names) <= audit.measurements_of(experiment).keys()
    if not is_declared or any(_unsupplied(names, one) for one in ended):
        return ()
    return tuple(
        (abs(scalars.get(names[0], 0.0)), abs(scalars.get(names[1], 0.0)))
        for scalars in (one.measurements.scalars for one in ended)
    )


def _unsupplied(names: Sequence[str], run: Record) -> list[str]:
    """Those of the measurements that a run from elsewhere came without."""
    return [name for name in names if run.origin and name not in run.measurements.scalars]


def medians(moves: Moves) -> tuple[float, float] | None:
    """The medians over the runs of both movements; None if there are none."""
    if not moves:
        return None
    return median(by for by, _ in moves), median(loss for _, loss in moves)


def is_inert(movement: Movement | None, moves: Moves, loss_stays: str | None) -> bool | None:
    """True if most runs did not train; None if that was not measured.

    Args:
        movement: says how far a run that trained has moved.
        moves: from `movements`.
        loss_stays: why the training loss cannot fall, if it cannot; parameters then may move.
    """
    if movement is None or not moves:
        return None
    at_least = movement.at_least
    still = [
        loss < at_least and (loss_stays is None or parameters < at_least)
        for parameters, loss in moves
    ]
    return 2 * sum(still) > len(still)


def untrained(movement: Movement | None, moves: Moves) -> str | None:
    """That most of a claim's own runs did not train, in words; None if they did or nobody says."""
    if movement is None or not is_inert(movement, moves, movement.loss_stays):
        return None
    parameters, loss = medians(moves) or (0.0, 0.0)
    also = f", and their parameters by {parameters:.2g} times theirs" if movement.loss_stays else ""
    return (
        f"the claim's own runs did not train: their training loss moved by {loss:.2g} times its "
        f"size at the start{also}, less than the {movement.at_least:g} that the audit asks for"
    )


def why_unshown(
    audit: Audit, movement: Movement | None, experiment: str, runs: Sequence[Record]
) -> str:
    """The reason why nothing shows that a control trained; empty if its movement is known."""
    if movement is None:
        return "the audit names no 'movement'"
    names = sorted((movement.parameters, movement.training_loss))
    declared = audit.measurements_of(experiment)
    if undeclared := [name for name in names if name not in declared]:
        return f"the experiment '{experiment}' does not measure {_quoted(undeclared)}"
    completed = [one for one in runs if one.status is CellStatus.COMPLETED]
    missing = sorted({name for one in completed for name in _unsupplied(names, one)})
    return f"{_quoted(missing)} was not supplied" if missing else ""


def _quoted(names: Sequence[str]) -> str:
    return " and ".join(f"'{name}'" for name in names)
