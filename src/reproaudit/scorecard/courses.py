"""What a claim's figure shows: the number that decides, in every run, over training or sizes.

The number is drawn as the check makes it: a ratio is the ratio at every step, a share of a gap that
share. So bound, controls and what is compared with lie in the same frame. A claim that depends has
both its sides there; a law has its fit.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from reproaudit.audit.arms import PlannedArm, alternatives_of
from reproaudit.checks import Course, Drawing, Kind, Names, Run, Side, read_noun
from reproaudit.declarations import MeasurementKind, MeasurementMissingError, Quantity
from reproaudit.formats.numbers import stated
from reproaudit.formats.scorecard import Figure, LevelLine, LineRole, Lines
from reproaudit.formats.verdict import ClaimAnswer, Estimate
from reproaudit.judge.readings import Panel
from reproaudit.lazy import FloatArray, np
from reproaudit.records import CellStatus
from reproaudit.scorecard.claims import ClaimText
from reproaudit.scorecard.rows import shares_settings

MOST_POINTS = 50
MOST_CONTROLS = 2
MOST = 1e150
"""Runs with numbers beyond this, or without a number, are not drawn."""
WIDE = 20.0
"""How many times the least number the largest is where the axis is logarithmic."""

CHANGE_ROLES: Mapping[LineRole, tuple[LineRole, LineRole]] = {
    "run": ("earlier", "later"),
    "side": ("side_earlier", "side"),
}
"""The roles of two changes, the earlier one first, in the arms whose changes are drawn."""

FITS: Mapping[LineRole, LineRole] = {"run": "fit", "side": "side_fit"}
"""The role of a law, by that of the runs that it is fitted to."""


@dataclass(frozen=True, eq=False)
class _Subject(ClaimText):
    """What a figure is of: a condition of a claim's headline, and how it is drawn."""

    panel: Panel
    estimate: Estimate

    @property
    def check(self) -> Kind:
        return self.claim.headline[self.estimate.check]

    @property
    def names(self) -> Names:
        return self.namer.of(self.claim.experiment)

    @property
    def quantity(self) -> Quantity:
        """What is read of each run: the check's own quantity of the condition's measurement."""
        read = self.check.quantities()
        own = [quantity for quantity in read if quantity.arm is None] or [*read]
        named = (each for each in own if each.measurement == self.estimate.measurement)
        return next(named, own[0])

    @property
    def axis(self) -> str | None:
        """The axis that it is drawn along, in place of training."""
        grade = self.claim.grade
        if grade is not None:
            return grade.axis
        return self.check.sizes[0] if self.check.sizes is not None else None

    @cached_property
    def drawing(self) -> Drawing:
        """What is drawn: what the check says, or the course whose passing of a level is judged."""
        if self.quantity.passes is not None:
            level = self.quantity.passes.level
            noun = self.noun(self.quantity.measurement)
            return Drawing(noun, levels=((level, f"level {stated(level)}"),))
        noun = self.noun_of(self.estimate).removesuffix(":")
        return self.check.drawing(self.estimate.number_of(self.check), noun, self.names)

    @property
    def accepted(self) -> tuple[float | None, float | None]:
        """The range that meets the bound, on the scale of what is drawn; None at an open end."""
        limit = self.estimate.limit
        if self.drawing.over_start:
            return None, 1.0 / limit.at if limit.at else None
        low, high = limit.accepted
        return (low if math.isfinite(low) else None), (high if math.isfinite(high) else None)

    @property
    def has_course(self) -> bool:
        """Whether there is something to draw it over."""
        if self.axis is not None:
            return True
        experiment = self.claim.experiment
        if (arm := self.quantity.arm) is not None:
            experiment = self.panel.arms[arm].experiment
        declared = self.audit.measurements_of(experiment).get(self.quantity.measurement)
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
    lines = [] if subject is None else [*_lines(subject, smaller)]
    if subject is None or not any(line.role in ("run", "later", "earlier") for line in lines):
        return None
    levels, accepted = _levels(subject, {line.label for line in lines})
    heights = [number for line in lines for run in line.runs for number in run]
    heights += [level.at for level in levels]
    least = min(heights)
    over_training = subject.axis is None
    has_sizes = subject.check.sizes is not None
    last = max(line.x[-1] for line in lines)
    return Figure(
        title=subject.drawing.title,
        x_title=_x_title(subject),
        lines=tuple(lines),
        levels=levels,
        accepted=accepted,
        points=not over_training,
        log_x=has_sizes or subject.drawing.log_x,
        log_y=has_sizes or (least > 0 and max(heights) / least > WIDE),
        stages=_stages(subject, last) if over_training else (),
    )


def _subject(panel: Panel, answer: ClaimAnswer, shown: Estimate) -> _Subject | None:
    """The condition that is drawn: that of the row, or else the first that has a course."""
    others = [other for other in answer.base.estimates if other is not shown]
    for estimate in (shown, *others):
        number = estimate.number_of(panel.claim.headline[estimate.check])
        if number.drawn_by is not None:
            same = (other for other in answer.base.estimates if other.check == estimate.check)
            estimate = next(other for other in same if other.name == number.drawn_by)
        subject = _Subject(panel.audit, panel.claim, answer, panel.tier, panel, estimate)
        if subject.has_course:
            return subject
    return None


def _lines(subject: _Subject, smaller: Panel | None) -> Iterator[Lines]:
    kept: dict[tuple[LineRole, str, str, tuple[float, ...]], list[tuple[float, ...]]] = {}
    for role, arm, there, label in _arms(subject, smaller):
        fits: list[Lines] = []
        records = there.recorded(arm).runs.values()
        for record in (each for each in records if each.status is CellStatus.COMPLETED):
            run = there.run(arm, record)
            for line in _drawn(subject, run.placed(subject.check.at), arm.name, role, label):
                if all(abs(number) < MOST for number in (*line.x, *line.runs[0])):
                    kept.setdefault((line.role, line.arm, line.label, line.x), []).extend(line.runs)
                    fits += _fit(subject.check, line)
        for fit in _typical(fits):
            kept[fit.role, fit.arm, fit.label, fit.x] = [*fit.runs]
    for (role, arm_name, label, x), runs in kept.items():
        yield Lines(role=role, arm=arm_name, label=label, x=x, runs=tuple(runs))


def _line(role: LineRole, arm: str, label: str, x: Iterable[float], y: Iterable[float]) -> Lines:
    return Lines(role=role, arm=arm, label=label, x=tuple(x), runs=(tuple(y),))


def _arms(
    subject: _Subject, smaller: Panel | None
) -> Iterator[tuple[LineRole, PlannedArm, Panel, str]]:
    """Yield the arms that are drawn: their role, where their records are, and what they are called.

    The other side of a claim that depends comes after its own.
    """
    panel = subject.panel
    answer = subject.answer
    namer = subject.namer
    base = panel.under(panel.arms[answer.base.name])
    side = next(
        (reading for reading in answer.sides or () if reading.name != answer.base.name), None
    )
    own = "runs"
    if side is not None and answer.base.varied is not None:
        own = subject.arm(answer.base)
    elif side is not None:
        own = "as run"
    yield "run", base.base, base, own
    if side is not None and side.varied is not None:
        called = subject.arm(side)
        there = _panel_of(side.name, panel)
        if subject.is_smaller(side):
            called += ", reduced scale"
            there = _panel_of(side.name, smaller)
        if there is not None:
            yield "side", there.base, there, called
    beside: list[tuple[LineRole, str]]
    beside = [("control", control.name) for control in answer.controls[:MOST_CONTROLS]]
    beside += [("positive", answer.positive_control.name)] if answer.positive_control else []
    for role, name in beside:
        if shares_settings(base.arms[name], base.base):
            yield role, base.arms[name], base, namer.arm(name)
    if (group := subject.check.group) is not None:
        yield "reference", base.arms[group], base, namer.arm(group)


def _panel_of(name: str, panel: Panel | None) -> Panel | None:
    """The panel under a reading or an alternative; None where there are no records."""
    if panel is None:
        return None
    arms = {arm.name: arm for arm in alternatives_of(panel.audit, panel.claim)}
    arm = panel.arms.get(name) or arms.get(name)
    return None if arm is None else panel.under(arm)


def _drawn(subject: _Subject, run: Run, arm: str, role: LineRole, label: str) -> Iterator[Lines]:
    check = subject.check
    try:
        if subject.drawing.changes:
            yield from _changes(subject, run, arm, role, label)
        elif check.sizes is not None:
            yield _line(role, arm, label, *_along(run, subject.quantity, check.sizes[0]))
        elif subject.axis is not None:
            yield _line(role, arm, label, *_along_levels(subject, run, subject.axis))
        else:
            yield _line(role, arm, label, *_over_training(subject, run, role))
            if role == "run" and (followed := check.followed(run)) is not None:
                steps, values = followed
                yield _line("reference", arm, "what it follows", *_thinned(steps, values[:, 0]))
    except MeasurementMissingError:
        return


def _changes(subject: _Subject, run: Run, arm: str, role: LineRole, label: str) -> Iterator[Lines]:
    """Two changes, called by their quantities, those of the other side by its arm, too."""
    for part, quantity in zip(CHANGE_ROLES.get(role, ()), subject.drawing.changes, strict=False):
        noun = read_noun(quantity, subject.names)
        steps, values = subject.check.course(run, quantity)
        called = noun if role == "run" else f"{noun}, {label}"
        yield _line(part, arm, called, *_thinned(steps, values[:, 0]))


def _over_training(
    subject: _Subject, run: Run, role: LineRole
) -> tuple[Sequence[float], Sequence[float]]:
    """The number over training: of several coordinates, the one farthest from the bound."""
    low, high = subject.accepted
    with np.errstate(all="ignore"):
        steps, values = _judged(subject, run)
    worst = values.max(axis=1) if low is None or high is not None else values.min(axis=1)
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
    grade = subject.claim.grade
    found = sorted(
        (float(level), float(f"{condition.value:.4g}"))
        for level in (() if grade is None else grade.easiest_first)
        if not isinstance(level, str)
        for condition in subject.check.conditions(run.placed({axis: level}))
        if condition.name == subject.estimate.name and condition.value is not None
    )
    if not found:
        raise MeasurementMissingError("no number", subject.estimate.measurement)
    return [x for x, _ in found], [y for _, y in found]


def _thinned(steps: Sequence[int], values: FloatArray) -> tuple[list[float], list[float]]:
    """At most so many points, the first and the last among them, to four digits."""
    places = np.unique(np.linspace(0, len(steps) - 1, min(MOST_POINTS, len(steps))).round())
    chosen = [int(place) for place in places]
    return [float(steps[i]) for i in chosen], [float(f"{values[i]:.4g}") for i in chosen]


def _judged(subject: _Subject, run: Run) -> Course:
    """Steps, and at each the number that the check would make there; shape (step, coordinate)."""
    if subject.quantity.passes is not None:
        return run.series(subject.quantity)
    steps, values = subject.check.course(run, subject.quantity)
    return steps, values / values[0] if subject.drawing.over_start else values


def _fit(check: Kind, line: Lines) -> Iterator[Lines]:
    if line.role not in FITS or len(set(line.x)) < 2:
        return
    law = check.fitted(np.asarray(line.x), np.asarray(line.runs[0]))
    if law is not None:
        x, y = law
        heights = [float(f"{height:.4g}") for height in y]
        yield _line(FITS[line.role], line.arm, f"{line.label}, fitted", x.tolist(), heights)


def _typical(fits: Sequence[Lines]) -> Sequence[Lines]:
    """The fit with the middle rise among those to several runs."""
    ordered = sorted(fits, key=lambda fit: fit.runs[0][-1] - fit.runs[0][0])
    return ordered[len(ordered) // 2 :][:1]


def _x_title(subject: _Subject) -> str:
    """The axis: a graded claim's symbol, a law's sizes, or what the length of training counts."""
    if subject.claim.grade is not None:
        return subject.symbol
    if subject.check.sizes is not None:
        return subject.check.sizes[0].replace("_", " ")
    declared = subject.audit.declaration(subject.claim.experiment, subject.quantity.measurement)
    if declared is not None and declared.step:
        return declared.step
    length = subject.audit.length_of(subject.claim.experiment)
    words = "steps" if length is None else subject.setting(length)
    counted = words.endswith("s") and " " not in words and words != "steps"
    return words.removesuffix("s") if counted else "training step"


def _levels(
    subject: _Subject, drawn: Collection[str]
) -> tuple[tuple[LevelLine, ...], tuple[float | None, float | None] | None]:
    """The ends of the bound and what is compared with, and the range that meets the bound."""
    others = tuple(
        LevelLine(at=at, label=label, is_bound=False)
        for at, label in subject.drawing.levels
        if label not in drawn
    )
    if not subject.drawing.bounded:
        return others, None
    strict = subject.estimate.limit.side in (Side.ABOVE, Side.BELOW)
    verbs = ("above", "below") if strict else ("at least", "at most")
    ends = tuple(
        LevelLine(at=end, label=f"bound: {verb} {stated(float(f'{end:.4g}'))}", is_bound=True)
        for verb, end in zip(verbs, subject.accepted, strict=True)
        if end is not None
    )
    return (*ends, *others), subject.accepted


def _stages(subject: _Subject, last: float) -> tuple[tuple[float, str], ...]:
    """Where each stage of training ends, as a step, if the figure shows all of them."""
    stages = subject.audit.experiments[subject.claim.experiment].stages
    base = subject.panel.arms[subject.base.name]
    values = base.settings(subject.audit, subject.tier)
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
