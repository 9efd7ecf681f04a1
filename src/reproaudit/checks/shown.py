"""What a kind gives a report: its numbers in words and forms, its nouns, what a figure draws."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, NamedTuple

from reproaudit.declarations import Coordinate, Quantity

Unit = Literal["plain", "factor", "share"]  # What a number is: as measured, a factor, or a share


class Form(StrEnum):
    """How a number is written: as measured; a share; a factor, 7.3 or 7.3-fold or 7.3 times.

    A `SHARE` is in percent only where its bound is below a tenth. A `ROUNDED` factor has two
    digits, however near its bound.
    """

    PLAIN = "plain"
    SHARE = "share"
    PERCENT = "percent"
    FACTOR = "factor"
    FOLD = "fold"
    TIMES = "times"
    ROUNDED = "rounded"

    @property
    def unit(self) -> Unit:
        """What the number is: as measured, a factor, or a share."""
        if self is Form.PLAIN:
            return "plain"
        return "share" if self in (Form.SHARE, Form.PERCENT) else "factor"


@dataclass(frozen=True)
class Number:
    """One of the numbers that a kind makes of a run.

    Attributes:
        name: of a kind with several numbers, which one; else the kind's name.
        says: the clause, with the fields noun, typical, worst and reference.
        form: how it is written.
        label: what the check makes of a quantity, where its kind makes several numbers.
        contrast: whether it compares two quantities with no margin, which noise meets in half of
            all runs, so that it must beat the control's too.
        drawn: whether its bound lies on the quantity's own scale, so that a figure of the quantity
            can draw it.
        drawn_by: the number of the same check that a figure draws in its place.
        aside: a few words, with the fields noun and figure.
        noun: what it is called, where that is not the measurement's noun.
        never: what is said where the number does not exist.
        bound: what is asked, of a number that says nothing alone.
        inverse: the clause of the inverses, where all of them exceed 1.
        beyond: what lies at 1, of a number that should not exceed it.
        refuted: why a run says no although its number meets the bound.
    """

    name: str
    says: str = "{noun} {typical}{worst}"
    form: Form = Form.PLAIN
    label: str = ""
    contrast: bool = False
    drawn: bool = False
    drawn_by: str | None = None
    aside: str = "{noun} {figure}"
    noun: str | None = None
    never: str = "{noun} has no number"
    bound: str | None = None
    inverse: str | None = None
    beyond: str | None = None
    refuted: str = ""


class Names(NamedTuple):
    """What a page calls things of the audit.

    Attributes:
        noun: a measurement.
        arm: an arm.
        coordinate: a coordinate, or another number.
        step: what a measurement that is a series counts: step, generation.
    """

    noun: Callable[[str], str]
    arm: Callable[[str], str]
    coordinate: Callable[[Coordinate], str]
    step: Callable[[str], str]


def noun_of(quantity: Quantity, names: Names) -> str:
    """Return what a page calls a quantity: the arm, where it is read in another one."""
    return read_noun(quantity, names) if quantity.arm is None else names.arm(quantity.arm)


_REDUCED = {"iqm": "interquartile mean"}
_STEPS = {"late": "late", "largest": "at its largest", "least": "at its least"}


def reading_words(quantity: Quantity, names: Names) -> list[str]:
    """Return how a quantity is read off its measurement, but for coordinates, arm and start."""
    reduced = [
        f"{_REDUCED.get(how, how)} over {axis.replace('_', ' ')}"
        for axis, how in quantity.over.items()
    ]
    step = names.step(quantity.measurement)
    left_out = []
    for axis, coordinates in quantity.without.items():
        is_named = any(isinstance(coordinate, str) for coordinate in coordinates)
        words = ", ".join(map(names.coordinate, coordinates))
        left_out.append(words if is_named else f"{axis.replace('_', ' ')} {words}")
    return [
        *reduced,
        *([f"without {', '.join(left_out)}"] if left_out else []),
        *([f"at {step} {quantity.step}"] if isinstance(quantity.step, int) else []),
        *(words for step, words in _STEPS.items() if step == quantity.step),
    ]


def passing_noun(quantity: Quantity, names: Names) -> str:
    """Return what a page calls a measurement, or the step at which it passes a level."""
    noun = names.noun(quantity.measurement)
    if quantity.passes is None:
        return noun
    level = names.coordinate(quantity.passes.level)
    return f"{names.step(quantity.measurement)} at which {level} is passed by {noun}"


def read_noun(quantity: Quantity, names: Names) -> str:
    """Return what a page calls a quantity and how it is read: score (mean over task)."""
    noun = passing_noun(quantity, names)
    how = ", ".join(reading_words(quantity, names))
    return f"{noun} ({how})" if how else noun


def place_words(quantity: Quantity, names: Names) -> str:
    """Return where a quantity is read: at which coordinates, in which arm, at the start."""
    places = [names.coordinate(one) for one in (*quantity.at.values(), *quantity.coordinates)]
    arm = [names.arm(quantity.arm)] if quantity.arm is not None else []
    start = ["at the start"] if quantity.step == "first" else []
    return " ".join([*places, *reading_words(quantity, names), *arm, *start])


def pair_words(
    pair: tuple[Quantity, Quantity], over: str, names: Names, *, by_median: bool = False
) -> str:
    """Return two quantities as a page compares them: loss over test loss; loss, 8 over 16:.

    The word between them is over or minus; `by_median` says whether that of another arm is the
    median of its runs.
    """
    typical = [" (median)" if by_median and side.arm is not None else "" for side in pair]
    nouns = [passing_noun(side, names) for side in pair]
    if nouns[0] != nouns[1]:
        sides = [read_noun(side, names) for side in pair]
        return f"{sides[0]}{typical[0]} {over} {sides[1]}{typical[1]}"
    first, second = (place_words(side, names) or "as run" for side in pair)
    return f"{nouns[0]}, {first}{typical[0]} {over} {second}{typical[1]}:"


@dataclass(frozen=True)
class Drawing:
    """What a figure draws for one of a check's numbers.

    Attributes:
        title: what is drawn, in words.
        bounded: whether the number's bound lies on the scale of what is drawn.
        over_start: whether the course is drawn over its start, so that it falls where the number
            grows: its bound is the inverse.
        log_x: whether training is drawn on a logarithmic axis.
        levels: what else lies at a number of that scale, in words.
        changes: two series whose courses are drawn in place of one, the earlier one first.
    """

    title: str
    bounded: bool = False
    over_start: bool = False
    log_x: bool = False
    levels: tuple[tuple[float, str], ...] = ()
    changes: tuple[Quantity, ...] = ()
