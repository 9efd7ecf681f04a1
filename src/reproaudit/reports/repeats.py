"""Runs of different seeds that are one run: they look like several, and say as much as one.

A module may make a few runs of many seeds, so that an interval over them is narrower than it should
be. Where all of a claim's runs are one, nothing is decided (`reproaudit.judging`). This tells of
the rest. Curves that agree to the five digits that a picture keeps are held to be the same.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence

from reproaudit.audit.plan import Role
from reproaudit.scorecard.model import AnswerModel, ClaimModel
from reproaudit.scorecard.pictures import LineModel

FEWEST_VALUES = 10
"""Values of a curve that two runs do not share by chance."""
DIGITS = 6
"""A single number with no more of them may be a share or a count, which runs do share."""


def repeated_runs(claim: ClaimModel) -> Iterator[str]:
    """Yields for the claim's own runs, and for each control, that some are the same run."""
    lines = [one for picture in claim.pictures for one in picture.lines]
    own = [one for one in lines if one.role is Role.EXPERIMENT]
    found = list(_repeats(own, claim.parts))
    yield from _told(_partly(found), "runs of the claim")
    is_one_run = bool(found) and not _differ(found)
    for place, control in enumerate(claim.controls, start=1):
        drawn = [one for one in lines if one.role is Role.CONTROL and one.control in (None, place)]
        theirs = list(_repeats(drawn, control.parts))
        same = _partly(theirs) if is_one_run or _differ(theirs) else theirs
        which = f"control {control.name or place}" if len(claim.controls) > 1 else "the control"
        yield from _told(same, f"runs of {which}")


def _repeats(lines: Iterable[LineModel], parts: Sequence[AnswerModel]) -> Iterator[tuple[int, int]]:
    """Yields numbers of runs that repeat an earlier one, each with the number of all runs."""
    numbers = zip(*(part.per_seed for part in parts), strict=True)
    several: list[list[Hashable]] = [[one for one in numbers if any(map(is_long, one))]]
    several += [[run for run in line.runs if len(set(run)) >= FEWEST_VALUES] for line in lines]
    yield from ((len(runs) - len(set(runs)), len(runs)) for runs in several if runs)


def _partly(found: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Those that are not the same for all runs, as a closed form is."""
    return [(again, runs) for again, runs in found if again < runs - 1]


def _differ(found: Iterable[tuple[int, int]]) -> bool:
    return bool(_partly(found))


def _told(found: Iterable[tuple[int, int]], whose: str) -> Iterator[str]:
    again, runs = max(found, default=(0, 0))
    if again and again == runs - 1:
        yield f"all {runs} {whose} have the same numbers: they say as much as one"
    elif again:
        yield (
            f"{again} of {runs} {whose} have the numbers of another seed: they are fewer runs than "
            "they seem"
        )


def is_long(value: float) -> bool:
    """True if a number has more digits than runs share by chance."""
    return float(f"{value:.{DIGITS}g}") != value
