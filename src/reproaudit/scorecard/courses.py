"""What a claim's figure shows: every run's course, its controls' beside it.

The course is that of the quantity that the claim's row shows, over training or over a graded axis.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate

from reproaudit.audit.arms import PlannedArm
from reproaudit.checks import Drawing, Limit, Run, Side
from reproaudit.declarations import MeasurementKind, MeasurementMissingError, Quantity
from reproaudit.formats.scorecard import Figure, LineRole, Lines
from reproaudit.formats.verdict import ClaimAnswer, Estimate
from reproaudit.judge.bundles import Bundles
from reproaudit.lazy import np
from reproaudit.records import CellStatus

MOST_POINTS = 50
MOST_CONTROLS = 2

Course = tuple[LineRole, Sequence[float], Sequence[float]]
"""The role of a line, and its points: x, y."""


def chart_of(bundles: Bundles, found: ClaimAnswer, shown: Estimate) -> Figure | None:
    """Return a claim's figure; None if no record has a course to show.

    Args:
        shown: the condition that the claim's row shows.
    """
    claim = bundles.claim
    check = claim.headline[shown.check]
    drawing = check.drawing
    quantity = _quantity(bundles, drawing)
    graded = claim.grade is not None and not drawing.changes
    if quantity is None:
        return None
    axis = claim.grade.axis if claim.grade is not None and graded else None
    kept: dict[tuple[LineRole, str, tuple[float, ...]], list[tuple[float, ...]]] = {}
    for arm, kind in _arms(bundles, found):
        for run in _runs(bundles, arm):
            there = run.placed(check.at)
            for role, x, y in _courses(there, drawing, quantity, axis, kind, shown.limit):
                kept.setdefault((role, arm.name, tuple(x)), []).append(tuple(y))
    lines = [Lines(role=r, arm=n, x=x, runs=tuple(ys)) for (r, n, x), ys in kept.items()]
    if not any(line.role in ("run", *drawing.changes) for line in lines):
        return None
    shown_numbers = [one for line in lines for run in line.runs for one in run]
    least = min(shown_numbers)
    spread = max(shown_numbers) / least if least > 0 else 0.0
    on_scale = shown.number_of(check).drawn and quantity.passes is None
    return Figure(
        measurement=quantity.measurement,
        graded=graded,
        lines=tuple(lines),
        bound=shown.limit.level if on_scale and not graded else None,
        log_x=drawing.log_x,
        log_y=spread > 20,
        stages=() if graded else _stages(bundles, found, max(line.x[-1] for line in lines)),
    )


def _quantity(bundles: Bundles, drawing: Drawing) -> Quantity | None:
    """The quantity that is drawn, if it has a course: over training, or over the graded axis."""
    claim = bundles.claim
    own = drawing.quantity
    if own is None or claim.grade is not None:
        return own
    declared = bundles.audit.measurements_of(claim.experiment).get(own.measurement)
    is_series = declared is not None and declared.kind is MeasurementKind.SERIES
    return own if is_series else None


def _arms(bundles: Bundles, found: ClaimAnswer) -> Iterator[tuple[PlannedArm, LineRole]]:
    yield bundles.arms[found.base.name], "run"
    for control in found.controls[:MOST_CONTROLS]:
        yield bundles.arms[control.name], "control"
    if found.positive_control is not None:
        yield bundles.arms[found.positive_control.name], "positive"


def _runs(bundles: Bundles, arm: PlannedArm) -> Iterator[Run]:
    for record in bundles.recorded(arm).runs.values():
        if record.status is CellStatus.COMPLETED:
            yield bundles.run(arm, record)


def _courses(
    run: Run, drawing: Drawing, quantity: Quantity, axis: str | None, role: LineRole, limit: Limit
) -> Iterator[Course]:
    try:
        if drawing.changes:
            for part, series in drawing.changes.items() if role == "run" else ():
                yield part, *_share(run, series)
        elif axis is not None:
            yield role, *_along(run, quantity, axis)
            if drawing.rival is not None and role == "run":
                yield "rival", *_along(run, drawing.rival, axis)
        else:
            steps, values = run.series(quantity)
            least = limit.side in (Side.AT_LEAST, Side.ABOVE)
            worst = values.min(axis=1) if least else values.max(axis=1)
            if role == "positive":  # put in place of training, so that its end alone says something
                steps = (steps[0], steps[-1])
                worst = np.repeat(worst[-1], 2)
            yield role, *_thinned(steps, worst)
    except MeasurementMissingError:
        return


def _along(run: Run, quantity: Quantity, axis: str) -> tuple[list[float], list[float]]:
    places = run.coordinates(quantity, axis)
    values = run.numbers(quantity)
    if len(values) != len(places) or any(isinstance(place, str) for place in places):
        why = f"'{quantity.measurement}' is no curve along '{axis}'"
        raise MeasurementMissingError(why, quantity.measurement)
    ordered = sorted(zip(map(float, places), map(float, values), strict=True))
    return [x for x, _ in ordered], [y for _, y in ordered]


def _share(run: Run, quantity: Quantity) -> tuple[list[float], list[float]]:
    """The share of its whole change that a series has made."""
    steps, values = run.series(quantity)
    course = values[:, 0]
    whole = float(course[-1] - course[0]) or 1.0
    return _thinned(steps, (course - course[0]) / whole)


def _thinned(steps: Sequence[int], values: Sequence[float]) -> tuple[list[float], list[float]]:
    """At most so many points, the first and the last among them, to four digits."""
    places = np.unique(np.linspace(0, len(steps) - 1, min(MOST_POINTS, len(steps))).round())
    chosen = [int(place) for place in places]
    return [float(steps[i]) for i in chosen], [float(f"{values[i]:.4g}") for i in chosen]


def _stages(bundles: Bundles, found: ClaimAnswer, last: float) -> tuple[float, ...]:
    """Where each stage of training ends, as a step, if the figure shows all of them."""
    audit = bundles.audit
    name = bundles.claim.experiment
    stages = audit.experiments[name].stages
    values = bundles.arms[found.base.name].settings(audit, bundles.tier)
    lengths: list[float] = []
    for place, stage in enumerate(stages):
        given = values.get(stage.steps)
        length = given[place] if isinstance(given, tuple) else given
        if not isinstance(length, int | float):
            return ()
        lengths.append(float(length))
    ends = tuple(accumulate(lengths))
    return ends if ends and abs(ends[-1] - last) <= 0.01 * last else ()
