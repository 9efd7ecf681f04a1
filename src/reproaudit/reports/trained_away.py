"""Parts that a model which learns nothing would meet, or be closer to than their ablation is.

A model that is trained on shuffled targets may end farther from the bound of a part than it began.
That it misses says less than that one misses which learns nothing, or something else. And runs of
the claim that begin within the bound show that they stay there, and no more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from reproaudit.audit.plan import Role
from reproaudit.reports.status import holds
from reproaudit.scorecard.model import ClaimModel, PartModel
from reproaudit.scorecard.pictures import LineModel, PictureModel, RangeModel

AWAY = 0.1
"""So much farther from the bound at the end, as a share of the distance at the beginning."""


def trained_away(claim: ClaimModel) -> Iterator[str]:
    """Yields a warning on the parts of a claim that holds whose ablation ended so in most runs."""
    if not holds(claim):
        return
    parts = [
        part.name
        for part, line, limits in _courses(claim, Role.CONTROL)
        if part.ablation in (None, line.name) and _went_away(line.runs, limits)
    ]
    if parts:
        named = ", ".join(f"'{name}'" for name in dict.fromkeys(parts))
        yield (
            f"the ablation of {named} ends farther from the bound than it began: training took it "
            "away from what is claimed, and a model that learns nothing would be closer"
        )


def met_from_the_start(claim: ClaimModel) -> Iterator[str]:
    """Yields a warning on the parts that most runs of a claim that holds meet as they begin."""
    if not holds(claim):
        return
    parts = [
        part.name
        for part, line, limits in _courses(claim, Role.EXPERIMENT)
        if _most(not _distance(run[0], limits) for run in line.runs if run)
    ]
    if parts:
        named = ", ".join(f"'{name}'" for name in dict.fromkeys(parts))
        yield f"its own runs begin where {named} is met: a model that learns nothing would meet it"


def _most(of_runs: Iterable[bool]) -> bool:
    """True if half of the runs or more are so; False without any."""
    every = list(of_runs)
    return bool(every) and 2 * sum(every) >= len(every)


def _courses(claim: ClaimModel, role: Role) -> Iterator[tuple[PartModel, LineModel, RangeModel]]:
    """Yields each part with a line of its pictures over training, and the range of its rule."""
    for part in claim.parts:
        for picture in claim.pictures:
            if picture.kind == "course" and part.name in picture.parts:
                for line in (one for one in picture.lines if one.role is role):
                    for limits in _limits(picture, line, part.name):
                        yield part, line, limits


def _limits(picture: PictureModel, line: LineModel, part: str) -> Iterator[RangeModel]:
    """Yields the range of a rule that does not change over time, for the quantity of a line."""
    for one in picture.ranges:
        if one.quantity == line.quantity and not one.x and one.about == part:
            yield one


def _went_away(runs: Sequence[Sequence[float]], limits: RangeModel) -> bool:
    """True if most runs end farther from the range than they began."""
    courses = [[_distance(value, limits) for value in (run[0], run[-1])] for run in runs if run]
    return _most(end > start * (1 + AWAY) for start, end in courses)


def _distance(value: float, limits: RangeModel) -> float:
    low, high = limits.low[0], limits.high[0]
    below = 0.0 if low is None else low - value
    above = 0.0 if high is None else value - high
    return max(below, above, 0.0)
