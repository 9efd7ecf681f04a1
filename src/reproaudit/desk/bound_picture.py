"""The rule of a condition as a picture: its bound, and examples that meet and that miss it.

The examples are no results: they lie where they do to show what the rule asks for.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reproaudit.reports.numbers import stated

_LEFT, _RIGHT = 84.0, 332.0
_ROW = 24.0
_TOP = 8.0
_HALF = 0.09
"""Half an example's interval, as a share of the axis."""
_SEEDS = (-0.07, -0.03, 0.0, 0.04, 0.08)
"""The runs of an example, as distances from its middle."""


@dataclass(frozen=True)
class Example:
    """One line of the picture.

    Attributes:
        label: what the rule says of it.
        y: its height, in units of the picture.
        whisker: the ends of its interval; None where single runs are counted.
        dots: its mean, or its single runs.
    """

    label: str
    y: float
    whisker: tuple[float, float] | None
    dots: tuple[float, ...]


@dataclass(frozen=True)
class BoundPicture:
    """A picture of a rule, laid out.

    Attributes:
        accepted: the range of x in which the rule holds.
        bounds: each end of that range, with the value that the audit states.
        description: the same in words, for those who cannot see it.
    """

    width: float
    height: float
    left: float
    right: float
    top: float
    bottom: float
    accepted: tuple[float, float]
    bounds: tuple[tuple[float, str], ...]
    examples: tuple[Example, ...]
    description: str


def short(bound: float) -> str:
    """A bound as the audit states it; one that is worked out, to four digits."""
    text = stated(bound)
    return text if len(text) <= 8 else f"{bound:.4g}"


def bound_words(accepted: tuple[float, float]) -> str:
    """The range that a rule accepts, in words; infinite at an open end."""
    low, high = accepted
    if math.isinf(low):
        return f"at most {short(high)}"
    if math.isinf(high):
        return f"at least {short(low)}"
    return f"between {short(low)} and {short(high)}"


def draw_bound(accepted: tuple[float, float], single_runs: bool) -> BoundPicture:
    """Draws what a rule accepts.

    Args:
        accepted: the range that satisfies it, in natural units; infinite at an open end.
        single_runs: whether every run has to lie there, instead of the interval of their mean.
    """
    low, high = accepted
    start = 0.0 if math.isinf(low) else 0.5 if math.isinf(high) else 0.34
    end = 1.0 if math.isinf(high) else 0.5 if math.isinf(low) else 0.66
    edge, outwards = (start, -1) if math.isinf(high) else (end, 1)
    examples = list(_examples((start + end) / 2, edge, outwards, single_runs=single_runs))
    ends = [(x, value) for x, value in ((start, low), (end, high)) if not math.isinf(value)]
    bottom = _TOP + _ROW * len(examples)
    what = "every run" if single_runs else "the whole interval over the runs"
    open_end = "" if single_runs else ", undecided if the interval lies across an end of that range"
    outside = "a single run" if single_runs else "the whole interval"
    return BoundPicture(
        width=340,
        height=bottom + 24,
        left=_LEFT,
        right=_RIGHT,
        top=_TOP,
        bottom=bottom,
        accepted=(_x(start), _x(end)),
        bounds=tuple((_x(x), short(value)) for x, value in ends),
        examples=tuple(examples),
        description=(
            f"Met if {what} is {bound_words(accepted)}{open_end}, "
            f"missed if {outside} lies outside. The examples are drawn, not measured."
        ),
    )


def _examples(inside: float, edge: float, outwards: int, *, single_runs: bool) -> Iterator[Example]:
    outside = edge + outwards * (_HALF + 0.1)
    if single_runs:
        rows: Sequence[tuple[str, Sequence[float]]] = [
            ("met", [inside + one for one in _SEEDS]),
            ("missed", [inside + one for one in _SEEDS[1:]] + [outside]),
        ]
        for i, (label, runs) in enumerate(rows):
            yield Example(label, _y(i), None, tuple(_x(one) for one in runs))
        return
    for i, (label, x) in enumerate((("met", inside), ("undecided", edge), ("missed", outside))):
        yield Example(label, _y(i), (_x(x - _HALF), _x(x + _HALF)), (_x(x),))


def _x(share: float) -> float:
    return round(_LEFT + share * (_RIGHT - _LEFT), 2)


def _y(row: int) -> float:
    return _TOP + _ROW * (row + 0.5)
