"""What a claim's figure shows: the number that decides, in every run, over training or sizes.

The number is drawn as the check makes it: a ratio is the ratio at every step, a share of a gap that
share. So bound, controls and what is compared with lie in the same frame. A claim that depends has
both its sides there; a law has its fit.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from reproaudit.audit.arms import PlannedArm, alternatives_of
from reproaudit.checks import Kind, Limit, Names, Number, Run, Side
from reproaudit.checks.beats import Beats
from reproaudit.checks.concentrates import Concentrates
from reproaudit.checks.converges import Converges
from reproaudit.checks.equals import Equals
from reproaudit.checks.follows import Follows
from reproaudit.checks.grows_like import GrowsLike
from reproaudit.checks.reaches import Reaches
from reproaudit.checks.scales_like import ScalesLike
from reproaudit.checks.separates import Separates
from reproaudit.checks.shown import noun_of, read_noun
from reproaudit.checks.stages import Stages
from reproaudit.declarations import (
    Coordinate,
    MeasurementKind,
    MeasurementMissingError,
    Passes,
    Quantity,
)
from reproaudit.formats.numbers import at_words, stated
from reproaudit.formats.scorecard import Figure, LevelLine, LineRole, Lines
from reproaudit.formats.verdict import AlternativeAnswer, ClaimAnswer, Estimate
from reproaudit.judge.readings import Panel
from reproaudit.lazy import np
from reproaudit.records import CellStatus
from reproaudit.scorecard.claims import ClaimText
from reproaudit.scorecard.rows import shares_settings

if TYPE_CHECKING:
    from numpy.typing import NDArray

    FloatArray = NDArray[np.float64]

MOST_POINTS = 50
MOST_CONTROLS = 2
MOST = 1e150
"""Runs with numbers beyond this, or without a number, are not drawn."""
WIDE = 20.0
"""How many times the least number the largest is where the axis is logarithmic."""

STAGE_ROLES: Mapping[LineRole, Sequence[LineRole]] = {
    "run": ("earlier", "later"),
    "side": ("side_earlier", "side"),
}
"""The roles of two stages, the earlier one first, in the arms whose stages are drawn."""

Course = tuple[LineRole, Sequence[float], Sequence[float]]
"""The role of a line, and its points: x, y."""


@dataclass(frozen=True)
class _Subject:
    """What a figure is of: a condition of the headline, and how it is drawn."""

    panel: Panel
    text: ClaimText
    estimate: Estimate

    @property
    def check(self) -> Kind:
        return self.text.claim.headline[self.estimate.check]

    @property
    def number(self) -> Number:
        return self.estimate.number_of(self.check)

    @property
    def names(self) -> Names:
        return Names(self.text.noun, self.text.namer.arm, at_words)

    @property
    def quantity(self) -> Quantity:
        """What is read of each run: the check's own quantity of the condition's measurement."""
        read = self.check.quantities()
        own = [quantity for quantity in read if quantity.arm is None] or [*read]
        named = (each for each in own if each.measurement == self.estimate.measurement)
        return next(named, own[0])

    @property
    def passes(self) -> Passes | None:
        """The level whose passing is judged, in place of the course."""
        return self.quantity.passes

    @property
    def axis(self) -> str | None:
        """The axis that it is drawn along, in place of training."""
        grade = self.panel.bundles.claim.grade
        if grade is not None:
            return grade.axis
        return self.check.axis if isinstance(self.check, ScalesLike) else None

    @property
    def has_course(self) -> bool:
        """Whether there is something to draw it over."""
        if self.axis is not None:
            return True
        bundles = self.panel.bundles
        experiment = bundles.claim.experiment
        if (arm := self.quantity.arm) is not None:
            experiment = bundles.arms[arm].experiment
        declared = bundles.audit.measurements_of(experiment).get(self.quantity.measurement)
        return declared is not None and declared.kind is MeasurementKind.SERIES


def chart_of(
    panel: Panel, smaller: Panel | None, answer: ClaimAnswer, shown: Estimate
) -> Figure | None:
    """Return a claim's figure; None if no record has a course to show.

    Args:
        panel: the claim's records under its settings.
        smaller: those of the smaller tier, at which alternatives may have run.
        shown: the condition that the claim's row shows.
    """
    subject = _subject(panel, answer, shown)
    if subject is None:
        return None
    lines = [*_lines(subject, panel, smaller, answer)]
    own = ("run", "later", "earlier")
    if not any(line.role in own for line in lines):
        return None
    levels, accepted = _levels(subject, {line.label for line in lines})
    heights = [number for line in lines for run in line.runs for number in run]
    heights += [level.at for level in levels]
    least = min(heights)
    over_training = subject.axis is None
    last = max(line.x[-1] for line in lines)
    return Figure(
        title=_title(subject),
        x_title=_x_title(subject),
        lines=tuple(lines),
        levels=levels,
        accepted=accepted,
        points=not over_training,
        log_x=isinstance(subject.check, ScalesLike) or subject.check.drawing.log_x,
        log_y=isinstance(subject.check, ScalesLike) or (least > 0 and max(heights) / least > WIDE),
        stages=_stages(subject, answer, last) if over_training else (),
    )


def _subject(panel: Panel, answer: ClaimAnswer, shown: Estimate) -> _Subject | None:
    """The condition that is drawn: that of the row, or else the first that has a course."""
    bundles = panel.bundles
    text = ClaimText(bundles.audit, bundles.claim, answer, bundles.tier)
    others = [other for other in answer.base.estimates if other is not shown]
    for estimate in (shown, *others):
        if isinstance(bundles.claim.headline[estimate.check], Separates):
            same = (other for other in answer.base.estimates if other.check == estimate.check)
            estimate = next(other for other in same if other.name == "end")
        subject = _Subject(panel, text, estimate)
        if subject.has_course:
            return subject
    return None


# --- lines --------------------------------------------------------------------------------------


def _lines(
    subject: _Subject, panel: Panel, smaller: Panel | None, answer: ClaimAnswer
) -> Iterator[Lines]:
    kept: dict[tuple[LineRole, str, str, tuple[float, ...]], list[tuple[float, ...]]] = {}
    for role, arm, there, label in _arms(subject, panel, smaller, answer):
        fits: list[Course] = []
        for run in _runs(there, arm):
            for course in _courses(subject, run.placed(subject.check.at), role):
                line, x, y = course
                if all(abs(number) < MOST for number in (*x, *y)):
                    named = _label(subject, line, label)
                    kept.setdefault((line, arm.name, named, tuple(x)), []).append(tuple(y))
                    fits += _fit(subject, course)
        for line, x, y in _typical(fits):
            kept[line, arm.name, f"{_label(subject, line, label)}, fitted", tuple(x)] = [tuple(y)]
    for (role, arm_name, label, x), ys in kept.items():
        yield Lines(role=role, arm=arm_name, label=label, x=x, runs=tuple(ys))


def _arms(
    subject: _Subject, panel: Panel, smaller: Panel | None, answer: ClaimAnswer
) -> Iterator[tuple[LineRole, PlannedArm, Panel, str]]:
    """Yield the arms that are drawn: their role, where their records are, and what they are called.

    The other side of a claim that depends comes after its own.
    """
    text = subject.text
    namer = text.namer
    base = panel.under(panel.bundles.arms[answer.base.name])
    side = next(
        (reading for reading in answer.sides or () if reading.name != answer.base.name), None
    )
    own = "runs"
    if side is not None and answer.base.varied is not None:
        own = text.arm(answer.base)
    elif side is not None:
        own = "as run"
    yield "run", base.base, base, own
    if side is not None and side.varied is not None:
        called = text.arm(side)
        beside = _panel_of(side.name, panel)
        if isinstance(side, AlternativeAnswer) and side.tier != panel.bundles.tier:
            called += ", reduced scale"
            beside = _panel_of(side.name, smaller)
        if beside is not None:
            yield "side", beside.base, beside, called
    yield from (
        (role, base.bundles.arms[name], base, namer.arm(name))
        for role, name in _beside(answer)
        if shares_settings(base.bundles.arms[name], base.base)
    )
    if subject.check.group is not None:
        yield (
            "reference",
            base.bundles.arms[subject.check.group],
            base,
            namer.arm(subject.check.group),
        )


def _beside(answer: ClaimAnswer) -> Iterator[tuple[LineRole, str]]:
    """The controls, and what has to succeed; those that ran under other settings are not drawn."""
    for control in answer.controls[:MOST_CONTROLS]:
        yield "control", control.name
    if answer.positive_control is not None:
        yield "positive", answer.positive_control.name


def _panel_of(name: str, panel: Panel | None) -> Panel | None:
    """The panel under a reading or an alternative; None where there are no records."""
    if panel is None:
        return None
    bundles = panel.bundles
    arms = {arm.name: arm for arm in alternatives_of(bundles.audit, bundles.claim)}
    arm = bundles.arms.get(name) or arms.get(name)
    return None if arm is None else panel.under(arm)


def _runs(panel: Panel, arm: PlannedArm) -> Iterator[Run]:
    for record in panel.bundles.recorded(arm).runs.values():
        if record.status is CellStatus.COMPLETED:
            yield panel.bundles.run(arm, record)


def _label(subject: _Subject, role: LineRole, label: str) -> str:
    """What lines are called: of two stages the quantity, too."""
    check = subject.check
    if isinstance(check, Stages):
        stage = check.earlier if role in ("earlier", "side_earlier") else check.later
        noun = read_noun(stage.series, subject.names)
        return f"{noun}, {label}" if role in ("side", "side_earlier") else noun
    if isinstance(check, Follows) and role == "reference":
        return "what it follows"
    return label


def _courses(subject: _Subject, run: Run, role: LineRole) -> Iterator[Course]:
    check = subject.check
    try:
        if isinstance(check, Stages):
            for part, series in zip(STAGE_ROLES.get(role, ()), check.sides, strict=False):
                yield part, *_share(run, series)
        elif isinstance(check, ScalesLike):
            yield role, *_along(run, check.value, check.axis)
        elif subject.axis is not None:
            yield role, *_along_levels(subject, run, subject.axis)
        else:
            yield role, *_over_training(subject, run, role)
            if isinstance(check, Follows) and role == "run":
                yield "reference", *_reference(check, run)
    except MeasurementMissingError:
        return


def _over_training(
    subject: _Subject, run: Run, role: LineRole
) -> tuple[Sequence[float], Sequence[float]]:
    """The number over training: of several coordinates, the one farthest from the bound."""
    limit = subject.estimate.limit
    with np.errstate(all="ignore"):
        steps, values = _judged(subject, run)
    least = limit.side in (Side.AT_LEAST, Side.ABOVE) and not _is_inverse(subject)
    worst = values.min(axis=1) if least else values.max(axis=1)
    if role == "positive":  # put in place of training, so that its end alone says something
        return _thinned((steps[0], steps[-1]), np.repeat(worst[-1], 2))
    return _thinned(steps, worst)


def _along(run: Run, quantity: Quantity, axis: str) -> tuple[list[float], list[float]]:
    places = run.coordinates(quantity, axis)
    values = run.numbers(quantity)
    if len(values) != len(places) or any(isinstance(place, str) for place in places):
        why = f"'{quantity.measurement}' is no curve along '{axis}'"
        raise MeasurementMissingError(why, quantity.measurement)
    ordered = sorted(zip(map(float, places), map(float, values), strict=True))
    return [x for x, _ in ordered], [y for _, y in ordered]


def _along_levels(subject: _Subject, run: Run, axis: str) -> tuple[list[float], list[float]]:
    """The number at each coordinate of a graded claim at which it is one."""
    found: list[tuple[float, float]] = []
    for level in _graded(subject):
        for condition in subject.check.conditions(run.placed({axis: level})):
            if condition.name == subject.estimate.name and condition.value is not None:
                found.append((float(level), float(f"{condition.value:.4g}")))
    if not found:
        raise MeasurementMissingError("no number", subject.estimate.measurement)
    found.sort()
    return [x for x, _ in found], [y for _, y in found]


def _graded(subject: _Subject) -> list[int | float]:
    grade = subject.panel.bundles.claim.grade
    levels: Sequence[Coordinate] = () if grade is None else grade.easiest_first
    return [level for level in levels if not isinstance(level, str)]


def _reference(check: Follows, run: Run) -> tuple[Sequence[float], Sequence[float]]:
    """The curve that a quantity follows."""
    if check.reference is None:
        return [float(at) for at, _ in check.curve or ()], [y for _, y in check.curve or ()]
    steps, values = run.series(check.reference)
    return _thinned(steps, values[:, 0])


def _share(run: Run, quantity: Quantity) -> tuple[list[float], list[float]]:
    """The share of its whole change that a series has made."""
    steps, values = run.series(quantity)
    course = values[:, 0]
    whole = float(course[-1] - course[0]) or 1.0
    return _thinned(steps, (course - course[0]) / whole)


def _thinned(steps: Sequence[int], values: FloatArray) -> tuple[list[float], list[float]]:
    """At most so many points, the first and the last among them, to four digits."""
    places = np.unique(np.linspace(0, len(steps) - 1, min(MOST_POINTS, len(steps))).round())
    chosen = [int(place) for place in places]
    return [float(steps[i]) for i in chosen], [float(f"{values[i]:.4g}") for i in chosen]


# --- the number at every step -------------------------------------------------------------------


def _judged(subject: _Subject, run: Run) -> tuple[tuple[int, ...], FloatArray]:
    """Steps, and at each the number that the check would make there; shape (step, coordinate)."""
    check = subject.check
    if isinstance(check, Beats) and check.group is None and subject.passes is None:
        return _compared(check, run)
    steps, values = run.series(subject.quantity)
    if subject.passes is not None:
        return steps, values
    if isinstance(check, Reaches):
        return steps, _reached(check, run, values)
    if isinstance(check, Concentrates) and check.of_the_rest:
        return steps, (values - values[0]) / (1.0 - values[0])
    if _is_inverse(subject):
        return steps, values / values[0]
    if isinstance(check, Equals) and isinstance(check.to, Quantity):
        other = run.numbers(check.to)
        return steps, values / other if check.relative else values - other
    return steps, values


def _reached(check: Reaches, run: Run, values: FloatArray) -> FloatArray:
    if check.relative_to is not None:
        return values / run.numbers(check.relative_to)
    if check.grown_from is not None:
        return values - run.numbers(check.grown_from)
    if check.between is not None:
        null, ceiling = (run.numbers(end) for end in check.between)
        return (values - null) / (ceiling - null)
    return values


def _compared(check: Beats, run: Run) -> tuple[tuple[int, ...], FloatArray]:
    """The larger one over the smaller one; what has another or no course counts as it ends."""
    read = [_course_or_end(run, quantity) for quantity in check.sides]
    (steps, lower), (other, upper) = read
    if steps is None and other is None:
        raise MeasurementMissingError("no course", check.lower.measurement)
    if steps is not None and other is not None and steps != other:
        other, upper = None, _end(run, check.upper)
    at = steps if steps is not None else other
    assert at is not None, "one of the two has a course"
    return at, upper - lower if check.difference else upper / lower


def _course_or_end(run: Run, quantity: Quantity) -> tuple[tuple[int, ...] | None, FloatArray]:
    """The course of a quantity; without steps, of one that is read at the start or has none."""
    if quantity.step != "first":
        with suppress(MeasurementMissingError):
            return run.series(quantity)
    return None, _end(run, quantity)


def _end(run: Run, quantity: Quantity) -> FloatArray:
    return run.numbers(quantity)[None, :]


# --- fits ---------------------------------------------------------------------------------------


def _fit(subject: _Subject, course: Course) -> Iterator[Course]:
    """The law that is fitted to a run, where the check fits one."""
    role, x, y = course
    fitted: dict[LineRole, LineRole] = {"run": "fit", "side": "side_fit"}
    if role not in fitted:
        return
    check = subject.check
    at = np.asarray(x)
    values = np.asarray(y)
    if len(set(x)) < 2:
        return
    if isinstance(check, ScalesLike) and at.min() > 0 and values.min() > 0:
        line = np.polyfit(np.log(at), np.log(values), 1)
        yield (
            fitted[role],
            x,
            [float(f"{height:.4g}") for height in np.exp(np.polyval(line, np.log(at)))],
        )
    if isinstance(check, GrowsLike):
        late = at >= max(at[0] + check.late * (at[-1] - at[0]), at[at > 0].min())
        law = np.log(at[late]) if check.exponent is None else at[late] ** check.exponent
        line = np.polyfit(law, values[late], 1)
        yield (
            fitted[role],
            at[late].tolist(),
            [float(f"{height:.4g}") for height in np.polyval(line, law)],
        )


def _typical(fits: Sequence[Course]) -> Sequence[Course]:
    """The fit with the middle rise among those to several runs."""
    ordered = sorted(fits, key=lambda fit: fit[2][-1] - fit[2][0])
    return ordered[len(ordered) // 2 :][:1]


# --- words, bound and stages --------------------------------------------------------------------


def _is_inverse(subject: _Subject) -> bool:
    """Whether what is drawn falls where the number grows: of a fall, what is left of the loss."""
    return isinstance(subject.check, Converges) and subject.number.name == "falls"


def _title(subject: _Subject) -> str:
    """What is drawn, in words."""
    check = subject.check
    names = subject.names
    if isinstance(check, Stages):
        return "share of its whole change that each has made"
    if subject.passes is not None:
        return subject.text.noun(subject.quantity.measurement)
    noun = subject.text.noun_of(subject.estimate).removesuffix(":")
    if isinstance(check, Beats) and check.group is None:
        return noun
    if isinstance(check, Reaches) and check.relative_to is not None:
        other = check.relative_to
        is_start = other.step == "first" and other.measurement == check.value.measurement
        return f"{noun} over {'its start' if is_start else noun_of(other, names)}"
    if isinstance(check, Reaches) and check.grown_from is not None:
        return f"growth of {noun}"
    if isinstance(check, Reaches) and check.between is not None:
        return f"{noun}: share of the gap that is closed"
    if isinstance(check, Concentrates) and check.of_the_rest:
        return f"{noun}: share covered of the rest to 1"
    if _is_inverse(subject):
        return f"{noun} over its start"
    if isinstance(check, Equals) and isinstance(check.to, Quantity):
        own = read_noun(check.value, names)
        return f"{own} {'over' if check.relative else 'minus'} {noun_of(check.to, names)}"
    return noun


def _x_title(subject: _Subject) -> str:
    """The axis: a graded claim's symbol, a law's sizes, or what the length of training counts."""
    bundles = subject.panel.bundles
    if bundles.claim.grade is not None:
        return bundles.claim.grade.symbol
    if isinstance(subject.check, ScalesLike):
        return subject.check.axis.replace("_", " ")
    experiment = bundles.audit.experiments[bundles.claim.experiment]
    length = experiment.length or bundles.audit.length
    words = "steps" if length is None else subject.text.setting(length)
    counted = words.endswith("s") and " " not in words and words != "steps"
    return words.removesuffix("s") if counted else "training step"


def _levels(
    subject: _Subject, drawn: Collection[str]
) -> tuple[tuple[LevelLine, ...], tuple[float | None, float | None] | None]:
    """The ends of the bound and what is compared with, and the range that meets the bound."""
    limit = subject.estimate.limit
    if subject.passes is not None:
        level = subject.passes.level
        passed = LevelLine(at=level, label=f"level {stated(level)}", is_bound=False)
        return (passed,), None
    if not _is_on_scale(subject):
        return (), None
    low, high = _accepted(limit)
    if _is_inverse(subject):
        low, high = None, 1.0 / limit.at if limit.at else None
    strict = limit.side in (Side.ABOVE, Side.BELOW)
    verbs = ("above", "below") if strict else ("at least", "at most")
    ends = tuple(
        LevelLine(at=end, label=f"bound: {verb} {stated(float(f'{end:.4g}'))}", is_bound=True)
        for verb, end in zip(verbs, (low, high), strict=True)
        if end is not None
    )
    others = (level for level in _compared_with(subject) if level.label not in drawn)
    return (*ends, *others), (low, high)


def _accepted(limit: Limit) -> tuple[float | None, float | None]:
    low, high = limit.accepted
    return (low if math.isfinite(low) else None), (high if math.isfinite(high) else None)


def _compared_with(subject: _Subject) -> Iterator[LevelLine]:
    """What a ratio or a place is held against, where that is no end of the bound."""
    check = subject.check
    names = subject.names
    if not isinstance(check, Reaches):
        return
    if check.between is not None:
        for at, end in zip((0.0, 1.0), check.between, strict=True):
            yield LevelLine(at=at, label=noun_of(end, names), is_bound=False)
    other = check.relative_to
    if other is not None and other.step != "first":
        yield LevelLine(at=1.0, label=noun_of(other, names), is_bound=False)


def _is_on_scale(subject: _Subject) -> bool:
    """Whether the bound lies on the scale of what is drawn."""
    check = subject.check
    if isinstance(check, Beats):
        return check.group is None
    if isinstance(check, Reaches | Concentrates | Equals) or _is_inverse(subject):
        return True
    return subject.number.drawn


def _stages(subject: _Subject, answer: ClaimAnswer, last: float) -> tuple[tuple[float, str], ...]:
    """Where each stage of training ends, as a step, if the figure shows all of them."""
    bundles = subject.panel.bundles
    audit = bundles.audit
    stages = audit.experiments[bundles.claim.experiment].stages
    values = bundles.arms[answer.base.name].settings(audit, bundles.tier)
    lengths: list[float] = []
    for place, stage in enumerate(stages):
        given = values.get(stage.steps)
        length = given[place] if isinstance(given, tuple) else given
        if not isinstance(length, int | float):
            return ()
        lengths.append(float(length))
    ends = tuple(accumulate(lengths))
    if not ends or abs(ends[-1] - last) > 0.01 * last:
        return ()
    return tuple(zip(ends, (stage.name for stage in stages), strict=True))
