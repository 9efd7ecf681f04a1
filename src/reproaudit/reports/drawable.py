"""Holds the data of pictures in a scorecard that was read against what drawing them presumes.

The models say what is a number and what is a text; here is what spans several of them. A digest
only shows that nothing was changed since: whoever writes a scorecard can give it any content.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from reproaudit.audit.plan import Role
from reproaudit.scorecard.figures import FigureModel
from reproaudit.scorecard.model import Scorecard
from reproaudit.scorecard.pictures import PictureModel


def undrawable(card: Scorecard) -> str | None:
    """Returns what keeps a scorecard's pictures from being drawn, with its place; or None."""
    pictures = (
        (f"claims.{i}.pictures.{j}", one)
        for i, claim in enumerate(card.claims)
        for j, one in enumerate(claim.pictures)
    )
    told = [f"{place}: {fault}" for place, one in pictures for fault in _in_picture(one)]
    figures = enumerate(card.figures)
    told += [f"figures.{i}: {fault}" for i, one in figures for fault in _in_figure(one)]
    return next(iter(told), None)


def _in_picture(one: PictureModel) -> Iterator[str]:
    own = {line.quantity: line for line in one.lines if line.role is Role.EXPERIMENT}
    if not own:
        yield "found no line of the claim's own runs"
    for line in one.lines:
        seeds = len(set(line.seeds))
        if not line.runs or not seeds == len(line.seeds) == len(line.runs):
            yield f"found {len(line.runs)} runs of {seeds} seeds; expected one of each"
        if not all(1 <= len(run) <= len(line.x) for run in line.runs):
            yield f"found runs that do not fit the {len(line.x)} places of their line"
    for held in one.ranges:
        if not len(held.low) == len(held.high) == max(len(held.x), 1):
            yield f"found {len(held.low)} and {len(held.high)} bounds at {len(held.x)} places"
    if one.y_scale == "log" and one.floor <= 0:
        yield f"found the floor {one.floor:g} of a logarithmic axis; expected more than 0"
    quantities = [
        *(line.quantity for line in one.lines),
        *(onset.quantity for onset in one.onsets),
        *(level.quantity for level in one.plateaus),
    ]
    if min(quantities, default=0) < 0:
        yield "found a negative number of a quantity"
    along = [x for line in one.lines for x in line.x]
    places = [*one.judged, *(x for held in one.ranges for x in held.x)]
    if one.x_scale == "words":
        if one.kind == "course" or one.onsets or one.stages or one.plateaus:
            yield "found words as the steps of training"
        if not set(map(str, places)) <= set(map(str, along)):
            yield "found places on the axis at which nothing was measured"
        return
    if any(isinstance(x, str) for x in (*along, *places)):
        yield "found words on an axis of numbers"
    elif one.x_scale == "log" and not any(float(x) > 0 for x in along):
        yield "found no place above 0 on a logarithmic axis"
    else:
        for level in one.plateaus:
            judged = own.get(level.quantity)
            if judged is None or not judged.x or float(judged.x[0]) > level.until:
                yield "found a level of which no step was measured"


def _in_figure(one: FigureModel) -> Iterator[str]:
    for curve in one.curves:
        counts = {len(curve.x), len(curve.mean), len(curve.low), len(curve.high)}
        if len(counts) != 1 or counts == {0}:
            yield f"found a curve of {_listed(counts)} numbers; expected as many of each"
    if one.stages and any(isinstance(x, str) for curve in one.curves for x in curve.x):
        yield "found words as the steps of training"
    for matrix in one.matrices:
        widths = {len(row) for row in matrix.values}
        if len(widths) != 1 or widths == {0}:
            yield f"found a matrix with rows of {_listed(widths)} entries; expected as many in each"


def _listed(counts: Collection[int]) -> str:
    return " and ".join(map(str, sorted(counts))) or "no"
