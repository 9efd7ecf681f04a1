"""A small strip of runs beside each claim: discs of its own, squares of the null, the bound."""

from __future__ import annotations

import math
from collections.abc import Sequence

from markupsafe import Markup

from reproaudit.report.model import ArmModel, ClaimModel, EstimateModel
from reproaudit.report.numbers import number

WIDTH, ROW = 170.0, 11.0
EDGE = 5.0


def strip(claim: ClaimModel) -> Markup:
    """Return the strip of a claim's leading condition as SVG; empty without numbers."""
    place = _leading(claim)
    if place is None:
        return Markup()
    rows = [
        ("run", claim.headline[place].values),
        *(("null", _values(one, place)) for one in claim.nulls[:2]),
        *(("ring", _values(one, place)) for one in claim.ablations[:1]),
    ]
    rows = [(kind, values) for kind, values in rows if values]
    scale = _Scale(claim.headline[place], [value for _, values in rows for value in values])
    parts = [scale.accepted(ROW * len(rows) + 6)]
    parts += [
        _mark(kind, scale.x(value), ROW * (line + 0.5) + 3)
        for line, (kind, values) in enumerate(rows)
        for value in values
    ]
    height = ROW * len(rows) + 6
    label = _label(claim, place)
    return Markup(
        '<svg class="strip" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>'
    ).format(_n(WIDTH), _n(height), label, Markup().join(parts))


def _leading(claim: ClaimModel) -> int | None:
    """The condition that the row shows; where it has no numbers, the first that has."""
    with_numbers = [i for i, one in enumerate(claim.headline) if one.values]
    return claim.shown if claim.shown in with_numbers else next(iter(with_numbers), None)


def _values(arm: ArmModel, place: int) -> tuple[float, ...]:
    return arm.estimates[place].values if place < len(arm.estimates) else ()


class _Scale:
    """A linear or, for positive numbers far apart, a logarithmic scale over all that is shown."""

    def __init__(self, estimate: EstimateModel, values: Sequence[float]) -> None:
        ends = _bounds(estimate)
        shown = [*values, *ends]
        self._ends = ends
        self._upper = estimate.side in ("at_most", "below")
        self._log = min(shown) > 0 and max(shown) > 5 * min(shown)
        placed = [math.log(one) if self._log else one for one in shown]
        self._low, self._span = min(placed), (max(placed) - min(placed)) or 1.0

    def x(self, value: float) -> float:
        """Return a number's place from left to right."""
        placed = math.log(value) if self._log else value
        return EDGE + (WIDTH - 2 * EDGE) * (placed - self._low) / self._span

    def accepted(self, height: float) -> Markup:
        """Return the accepted side as a shade, and each end of it as a line."""
        at = [self.x(one) for one in self._ends]
        left, right = (
            (at[0], at[1]) if len(at) == 2 else (0.0, at[0]) if self._upper else (at[0], WIDTH)
        )
        shade = Markup('<rect class="accept" x="{}" y="0" width="{}" height="{}"/>').format(
            _n(left), _n(right - left), _n(height)
        )
        lines = [
            Markup('<line class="bound" x1="{0}" y1="0" x2="{0}" y2="{1}"/>').format(
                _n(one), _n(height)
            )
            for one in at
        ]
        return Markup().join([shade, *lines])


def _bounds(estimate: EstimateModel) -> tuple[float, ...]:
    if estimate.side == "within" and estimate.target is not None:
        return estimate.target - estimate.bound, estimate.target + estimate.bound
    return (estimate.bound,)


def _mark(kind: str, x: float, y: float) -> Markup:
    if kind == "null":
        return Markup('<rect class="null" x="{}" y="{}" width="4" height="4"/>').format(
            _n(x - 2), _n(y - 2)
        )
    return Markup('<circle class="{}" cx="{}" cy="{}" r="2.4"/>').format(kind, _n(x), _n(y))


def _label(claim: ClaimModel, place: int) -> str:
    own = claim.headline[place]
    text = f"{own.words}; {len(own.values)} runs from {number(min(own.values))} to "
    text += number(max(own.values))
    for one in claim.nulls[:2]:
        if values := _values(one, place):
            text += f"; null {one.words} from {number(min(values))} to {number(max(values))}"
    return text


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
