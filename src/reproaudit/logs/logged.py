"""One logged run: its curves, and what its logger says of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path, PurePath
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reproaudit.errors import AuditError, SpecError
from reproaudit.logs.asked import Asked
from reproaudit.logs.names import STEP_NAMES, is_seed_name

MAX_STEP = 2**53  # beyond it a step is no exact number of double precision
MAX_NAME = 500  # characters of the names above a nested value
MOST_LOGGED_NAMES = 10_000  # columns of a table, and names under which a run logs numbers
MOST_LOGGED_RUNS = 10_000  # runs in one table, by their seeds or otherwise
MOST_ROWS = 1_000_000  # rows of a table
MOST_CAUSES = 12  # causes of faults that one answer lists
MOST_LISTED = 8  # names that a sentence lists; it counts the others
FEWEST_LOGGED = 8  # numbers from which neighbours tell a course from numbers in any order
UNSORTED = 0.25
"""The share of moves to a lower step above which steps stand unsorted: a resumed run makes few."""
NEIGHBOURS = 0.5
"""The ratio of squared differences of neighbours to those from the mean, below which it is one."""


def counted_seeds(logged: int | None = None) -> str:
    """Return what is said of runs whose seeds are counted; `logged` is the one that all have."""
    cause = "no seed was logged" if logged is None else f"runs share seed {logged}"
    return (
        f"{cause}; they are counted from 0 in the order of names or rows, and which run of another "
        "arm has the same number rests on that order alone"
    )


LoggedCoordinates = frozenset[tuple[str, float | str]]
"""Coordinates that the log itself gives a curve, as (axis, place); empty if it gives none."""
NOWHERE: LoggedCoordinates = frozenset()


class LogError(AuditError):
    """Logs or a mapping that cannot be used.

    Attributes:
        offers: lines of a mapping that answer it, if some do.
    """

    def __init__(self, place: str, text: str, *offers: str) -> None:
        super().__init__(on_one_line(f"{place}: {text}", 1_000))
        self.place = place
        self.text = text
        self.offers = offers


class LogsError(SpecError):
    """All faults of logs, with the lines of a mapping that they offer."""

    def __init__(self, text: str, offers: Sequence[str]) -> None:
        super().__init__(text)
        self.offers = offers


def refuse_beyond(most: int, count: int, what: str, place: str) -> None:
    """Raise a LogError if there are more of something than are read."""
    if count > most:
        text = f"found more than {most:,} {what}; expected fewer. Hand in what is needed alone."
        raise LogError(place, text)


@contextmanager
def gathered(faults: list[LogError]) -> Iterator[None]:
    """Note a fault that is raised inside, and go on after it."""
    try:
        yield
    except LogError as error:
        faults.append(error)


def raise_all(faults: Sequence[LogError]) -> None:
    """Raise all faults at once, the same cause once; return if there is none."""
    by_cause: dict[str, list[LogError]] = {}
    for fault in faults:
        cause = re.sub(r"[\d.]+|'[^']*'|\"[^\"]*\"", "", fault.text)
        by_cause.setdefault(cause, []).append(fault)
    lines = []
    for same in by_cause.values():
        others = sorted({fault.place for fault in same} - {same[0].place})
        more = f" The same in {len(others)} more, such as {others[0]}." if others else ""
        lines.append(on_one_line(str(same[0]) + more, 1_200))
    if len(lines) > MOST_CAUSES:
        lines[MOST_CAUSES:] = [f"and {len(lines) - MOST_CAUSES} further faults"]
    if lines:
        offers = dict.fromkeys(offer for fault in faults for offer in fault.offers)
        raise LogsError("\n".join(lines), [*offers])


def on_one_line(text: str, most: int = 500) -> str:
    """Return the text on one line without control characters, cut at so many characters.

    A line of a mapping between backticks is kept as a whole, or not at all.
    """
    plain = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    if len(plain) <= most:
        return plain
    kept = plain[: most - 1]
    return f"{kept.rpartition('`')[0] if kept.count('`') % 2 else kept}…"


def some(names: Sequence[str], most: int = MOST_LISTED) -> str:
    """Return the first of several names, and how many more there are."""
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest} more" if rest > 0 else "")


def of_columns(roles: Mapping[str, str]) -> str:
    """Return the end of a message: the columns of a table, each with its role."""
    listed = some([f"{column} ({role})" for column, role in roles.items()])
    return f" Its columns: {listed}." if roles else ""


class MisfitError(LogError):
    """Numbers of another kind than the measurement that has their name."""


@dataclass(frozen=True)
class LogSource:
    """What a reader is given: a file or a run's folder, and what is asked of it."""

    path: Path  # the file, or the folder of one run
    name: str  # what messages and the mapping call it
    # the names in which a seed may be written, from the outermost to its own
    parts: tuple[str, ...] = ()
    asked: Asked = field(default_factory=Asked)
    # by name, why something that was seen is no run; readers add to it
    skipped: dict[str, str] = field(default_factory=dict)

    @property
    def ending(self) -> str:
        """The ending of the file's name, ``.csv`` for ``LOG.csv.gz``."""
        return PurePath(self.path.name.lower().removesuffix(".gz")).suffix

    def builder(self, place: str = "") -> CurveBuilder:
        """Return a builder of curves that settles what is asked for."""
        return CurveBuilder(place or self.name, self.asked)

    def run(self, logger: str, curves: Curves, **more: Any) -> LoggedRun:
        """Return a run that was found here; `more` are other fields of it."""
        files = more.pop("files", (self.path,))
        return LoggedRun(self.name, logger, files[0].parent, self.parts, files, curves, **more)


@dataclass(frozen=True)
class Curve:
    """The numbers logged under one tag, in the order in which they were logged.

    Attributes:
        place: the file they come from, for messages.
        steps: shape (point,); None if the log has no steps.
        values: shape (point,).
        fault: why the numbers cannot be used, if they cannot; it matters only if they are wanted.
        emptied: the steps of the empty cells after its last number.
        offers: the lines of a mapping that answer the fault.
        is_text: whether words stand where numbers would.
        percent: whether numbers were written with the sign of per cent.
    """

    place: str
    steps: NDArray[np.int64] | None
    values: NDArray[np.float64]
    fault: str | None = None
    emptied: tuple[int, ...] = ()
    offers: tuple[str, ...] = ()
    is_text: bool = False
    percent: bool = False

    @property
    def all_steps(self) -> frozenset[int]:
        """The steps; empty if the log has none."""
        return frozenset() if self.steps is None else frozenset(self.steps.tolist())


Curves = Mapping[str, Mapping[LoggedCoordinates, Curve]]  # tag -> coordinates -> curve


@dataclass(frozen=True)
class LoggedRun:
    """One training run, as some logger left it."""

    name: str  # what messages and the mapping call it: its path, or its name in the store
    source: str  # the logger
    folder: Path  # where it lies; configurations are looked for here and above
    # the names in which a seed may be written, from the outermost to the run's own
    parts: tuple[str, ...]
    files: tuple[Path, ...]  # what was read
    curves: Curves
    # what the run was started with, flat: "model.layers" -> 3
    config: Mapping[str, Any] = field(default_factory=dict)
    seed: int | None = None  # the seed, where the log has a column of seeds, or its name tells it
    seed_of: str = "its column of seeds"  # what the seed was read from
    shared_seed: int | None = None  # the seed that other runs of its arm have, too, if one is
    # why no curve of it may be taken for whole: sampled, cut off, crashed
    not_whole: tuple[str, ...] = ()
    # True if its logger says that it did not finish: it crashed, or still runs
    failed: bool = False
    diverged: bool = False  # True if its logger says so
    state: str = ""  # the status that its log states; empty if it states none
    # the table's column of steps; None if there is none, or the logger counts by itself
    step: str | None = None
    configurations: tuple[Path, ...] = ()  # the files that its configuration was read from
    # why some of them cannot be read, so that nobody knows what they state
    unread: tuple[str, ...] = ()
    # the columns of its table, each with the role that it was given
    columns: Mapping[str, str] = field(default_factory=dict)
    seed_column: str | None = None  # the column that may hold seeds, if none is called so
    # whether the rows of its table follow each other as points of one training do
    in_time: bool = False
    remarks: tuple[str, ...] = ()  # what was read otherwise than it is written, in sentences
    # the evaluations that came after the best checkpoint, if there is one
    patience: int | None = None
    stopped: str | None = None  # how it is known that the run ended before its last step
    early: str | None = None  # how it is known that this was on purpose

    @property
    def all_curves(self) -> list[Curve]:
        """Its curves under all tags, at all coordinates."""
        return [curve for at in self.curves.values() for curve in at.values()]

    @property
    def tags(self) -> list[str]:
        """The tags under which it logged anything."""
        return [
            tag
            for tag, at in self.curves.items()
            if any(len(curve.values) or curve.fault for curve in at.values())
        ]

    def last_step(self, tags: Iterable[str]) -> int:
        """Return the last step of the curves with these tags; 0 if they have none."""
        curves = (curve for tag in tags for curve in self.curves[tag].values())
        ends = [int(curve.steps.max()) for curve in curves if curve.steps is not None]
        return max(ends, default=0)


class _Point(NamedTuple):
    step: int | None
    value: float
    when: float
    file: str


@dataclass
class _Gathered:
    points: list[_Point] = field(default_factory=list)
    emptied: list[int] = field(default_factory=list)
    fault: str | None = None
    is_text: bool = False
    percent: bool = False


class CurveBuilder:
    """Gathers points by tag and coordinates."""

    def __init__(self, place: str, asked: Asked) -> None:
        self.place = place
        self._asked = asked
        self._gathered: dict[tuple[str, LoggedCoordinates], _Gathered] = {}
        self._names: set[str] = set()
        self.file = ""  # the file that points come from, where a run has several
        # what is said of several numbers without steps: what is there, and a way on
        self.unstepped = "no step; expected steps"
        self.offers: tuple[str, ...] = ()  # the lines of a mapping that are a way on
        self.in_time = self.unstepped  # the same of numbers that follow each other in time
        self.is_named = False  # whether the run has a seed, so that its numbers are no runs
        self.counter: tuple[str, ...] = ()  # the line that names the column of steps, if one is it
        self.in_course = False  # whether they follow each other as those of one training do
        self.remarks: dict[str, None] = {}  # what was settled on request
        # what its columns of statuses say, each the last word
        self.states: dict[str, str] = {}
        self.seeds: dict[str, list[Any]] = {}  # the numbers that were logged under names of seeds

    def add(
        self,
        tag: str,
        step: int | None,
        value: float,
        at: LoggedCoordinates = NOWHERE,
        when: float = 0.0,
        *,
        percent: bool = False,
    ) -> None:
        """Add a point; `when` is its time or line, `percent` whether it was written with a %."""
        if step is not None and not -MAX_STEP <= step <= MAX_STEP:
            raise LogError(self.place, f"found the step {step}; expected one within ±2^53.")
        gathered = self._of(tag, at)
        gathered.points.append(_Point(step, value, when, self.file))
        gathered.emptied.clear()
        gathered.percent |= percent

    def _of(self, tag: str, at: LoggedCoordinates) -> _Gathered:
        known = self._gathered.get((tag, at))
        if known is None:
            self._names.add(tag)
            refuse_beyond(MOST_LOGGED_NAMES, len(self._names), "names of numbers", self.place)
            known = self._gathered[tag, at] = _Gathered()
        return known

    def leave_open(self, tag: str, at: LoggedCoordinates, step: int | None) -> None:
        """Note a coordinate of a tag; it was not observed if no point of it comes."""
        gathered = self._of(tag, at)
        if step is not None:
            gathered.emptied.append(step)

    def spoil(self, tag: str, fault: str, at: LoggedCoordinates, *, is_text: bool = False) -> None:
        """Note that a tag holds no number, which is a fault if the tag is wanted."""
        gathered = self._of(tag, at)
        gathered.is_text |= is_text
        gathered.fault = gathered.fault or fault

    def purge(self, step: int) -> None:
        """Forget every point from a step on: a restart has replaced them."""
        for gathered in self._gathered.values():
            kept = [
                point for point in gathered.points if point.step is not None and point.step < step
            ]
            if len(kept) < len(gathered.points):
                gathered.points = kept
                remark = f"restarted at step {step}: what was logged from there on holds"
                self.remarks[remark] = None

    def all_steps(self) -> set[int]:
        """Return every step that any curve has."""
        each = (point.step for gathered in self._gathered.values() for point in gathered.points)
        return {step for step in each if step is not None}

    def curves(self) -> Curves:
        """Return everything gathered; a curve without a point was not observed.

        A tag that was observed nowhere is one of them only if it is wanted.
        """
        curves: dict[str, dict[LoggedCoordinates, Curve]] = {}
        there = {tag for (tag, _), own in self._gathered.items() if own.points or own.fault}
        for (tag, at), gathered in self._gathered.items():
            if tag not in there and not self._asked.wants(tag):
                continue
            points = gathered.points
            fault = gathered.fault
            offers: tuple[str, ...] = ()
            if fault is None:
                points, fault = self._settled(tag, points)
                offers = self._ways(tag, points) if fault else ()
            values = np.array([point.value for point in points], dtype=np.float64)
            numbers = [point.step for point in points]
            steps = np.array(numbers, dtype=np.int64) if points and None not in numbers else None
            last = max((step for step in numbers if step is not None), default=0)
            emptied = tuple(step for step in gathered.emptied if step > last)
            is_text = gathered.is_text and not points
            percent = gathered.percent
            made = Curve(self.place, steps, values, fault, emptied, offers, is_text, percent)
            curves.setdefault(tag, {})[at] = made
        return curves

    def _ways(self, tag: str, points: Sequence[_Point]) -> tuple[str, ...]:
        """Return the lines that answer points without steps, or at one step; copies have none."""
        if all(point.step is not None for point in points):
            is_same = len({point.step for point in points}) == 1
            return ("number: [steps]" if is_same else "overlap: later",)
        if self.counter:
            return self.counter
        if len({point.value for point in points}) == 1 and not self.in_course:
            return ()
        if self._is_series(tag, points):
            return ("number: [steps]",)
        return () if self.is_named else self.offers  # of a run's numbers the last is not all

    def _is_series(self, tag: str, points: Sequence[_Point]) -> bool:
        """Tell whether points without steps follow each other in time."""
        is_wanted = self.in_course or self._asked.wants_course(tag)
        return is_wanted or is_course(point.value for point in points)

    def _settled(self, tag: str, points: list[_Point]) -> tuple[list[_Point], str | None]:
        """Return points in the order of their steps, as asked, or why that is impossible."""
        steps = [point.step for point in points if point.step is not None]
        lacking = len(steps) < len(points)
        unstepped = len(points) > 1 and (lacking or len(set(steps)) == 1)
        if unstepped and "steps" in self._asked.numbered:
            self.remarks["points without steps are counted from 0 in the order of time"] = None
            by_time = sorted(points, key=lambda point: point.when)
            return [point._replace(step=step) for step, point in enumerate(by_time)], None
        if lacking and unstepped:
            lines = [int(point.when) for point in points if point.when]
            where = f" (lines {lines[0]} and {lines[1]})" if len(lines) > 1 else ""
            is_series = self._is_series(tag, points)
            said = self.in_time if self.is_named or is_series else self.unstepped
            if is_series:
                said += ", or count them: `number: [steps]`"
            if len({point.value for point in points}) == 1 and not self.in_course:
                said = "no step, all the same, as copies have; expected one. Leave out the copies"
            return points, f"found {len(points)} numbers{where} with {said}"
        if unstepped:
            fault = f"found step {steps[0]} a second time: all {len(points)} points have it, as if"
            way = "let the mapping count the points in the order of time: `number: [steps]`"
            return points, f"{fault} they were logged without a step; expected it once. Or {way}"
        wrong = next((i for i, (a, b) in enumerate(pairwise(steps)) if b <= a), None)
        if wrong is None:
            return points, None
        once = len({*steps}) == len(steps) and len({point.file for point in points}) == 1
        back = sum(b < a for a, b in pairwise(steps))
        if once and not self._asked.plain and back > UNSORTED * (len(steps) - 1):
            remark = "its steps stand in another order, each once: its points were sorted by them"
            self.remarks[remark] = None
            return [points[index] for index in np.argsort(steps)], None
        if self._asked.overlap is not None:
            kept = self._overlapped(points, steps)
            remark = overlap_remark(str(self._asked.overlap), len(points) - len(kept))
            self.remarks[f"'{tag}': {remark}"] = None
            return kept, None
        is_plain = once and self._asked.plain
        return points, _out_of_order(points[wrong], points[wrong + 1], is_plain)

    def _overlapped(self, points: Sequence[_Point], steps: Sequence[int]) -> list[_Point]:
        kept: list[int] = []
        for index, step in enumerate(steps):
            while self._asked.overlap == "later" and kept and steps[kept[-1]] >= step:
                kept.pop()
            if not kept or steps[kept[-1]] < step:
                kept.append(index)
        return [points[index] for index in kept]


def overlap_remark(holds: str, dropped: int) -> str:
    """Say which points hold where steps overlap, and how many do not."""
    return f"where steps overlap, the {holds} points hold; dropped: {dropped}"


def is_course(numbers: Iterable[float | None]) -> bool:
    """Tell whether numbers follow each other as those of one training do, and seeds do not.

    By von Neumann's ratio, which is 2 of numbers in any order: neighbours are alike in a course.
    """
    values = np.array([np.nan if number is None else number for number in numbers])
    values = values[np.isfinite(values)]
    if len(values) < FEWEST_LOGGED:
        return False
    return bool((np.diff(values) ** 2).sum() < NEIGHBOURS * ((values - values.mean()) ** 2).sum())


def _out_of_order(earlier: _Point, later: _Point, is_plain: bool) -> str:
    fault = f"found step {later.step} after {earlier.step}; expected steps that increase"
    if is_plain:
        return fault
    if earlier.file != later.file:
        after = f"after step {earlier.step} in '{earlier.file}'"
        fault = f"found step {later.step} in '{later.file}' {after}"
        fault = f"{fault}; expected once"
    elif earlier.step == later.step:
        fault = f"found step {earlier.step} a second time; expected it once"
    return f"{fault}. Say which points hold, in the mapping: `overlap: later`, or `earlier`"


def number_of(value: Any) -> float | None:
    """Return the number that a cell or a JSON value holds, in per cent 91 of 91 %; None if none."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, str) and "_" in value:
        return None
    try:
        # "NaN" and "Infinity" among them
        return float(value.rstrip().removesuffix("%") if isinstance(value, str) else value)
    except (ValueError, OverflowError):
        return None


def is_percent(value: Any) -> bool:
    """Return True for a number that is written with the sign of per cent."""
    return isinstance(value, str) and value.rstrip().endswith("%") and number_of(value) is not None


def coordinates_of(at: Mapping[str, Any]) -> LoggedCoordinates:
    """Return coordinates as they are compared: "1" and 1.0 are the same one."""
    numbers = {axis: number_of(coordinate) for axis, coordinate in at.items()}
    return frozenset(
        (axis, str(at[axis]).strip() if number is None or number != number else number)
        for axis, number in numbers.items()
    )


def flat(prefix: str, value: Any, place: str, depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Yield nested values one by one: {"loss": {"train": 1}} is loss.train."""
    if not isinstance(value, Mapping) or depth == 16:
        yield prefix, value
        return
    if len(prefix) > MAX_NAME:
        text = f"found names of {len(prefix):,} characters above others, '{prefix[:40]}…'"
        raise LogError(place, f"{text}; expected at most {MAX_NAME}.")
    for name, below in value.items():
        yield from flat(f"{prefix}.{name}" if prefix else str(name), below, place, depth + 1)


_NAMES = ("name", "key", "metric", "tag")
_VALUES = ("value", "valueCurrent")


def named_values(items: Sequence[Any]) -> dict[str, Any]:
    """Return the object that a list of names with values is; an empty one if it is none."""
    named: dict[str, Any] = {}
    for item in items:
        keys = item if isinstance(item, dict) else {}
        name = next((item[key] for key in _NAMES if key in keys), None)
        value = next((key for key in _VALUES if key in keys), None)
        is_row = any(is_seed_name(key) or key in STEP_NAMES for key in keys)
        if not isinstance(name, str) or value is None or is_row or name in named:
            return {}
        named[name] = item[value]
    return named
