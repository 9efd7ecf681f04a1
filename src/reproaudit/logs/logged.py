"""One logged run, and how files of strangers are opened: regular ones, bounded, never executed."""

from __future__ import annotations

import gzip
import io
import re
import zlib
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
import yaml
from numpy.typing import NDArray
from yaml.composer import Composer

from reproaudit.bounded import decode_json, open_regular
from reproaudit.errors import AuditError
from reproaudit.logs.asked import Asked

MAX_STEP = 2**53
"""Beyond it a step is no exact number of double precision."""
MAX_TEXT_BYTES = 2**27
"""Of a table, a JSON file or a list of JSON lines."""
MAX_CONFIG_BYTES = 2**22
"""Of one configuration in JSON."""
MAX_YAML_BYTES = 2**18
"""Of one configuration in YAML, which takes a second to read."""
MAX_NAME = 500
"""Characters of the names above a nested value, which are written out for each value below."""
MAX_LOG_BYTES = 2**32
"""Of an event file or a database; these are read piece by piece."""

MOST_CAUSES = 12
"""Causes of faults that one answer lists."""

LoggedCoordinates = frozenset[tuple[str, float | str]]
"""Coordinates that the log itself gives a curve, as (axis, place); empty if it gives none."""
NOWHERE: LoggedCoordinates = frozenset()


class LogError(AuditError):
    """Logs or a mapping that cannot be used; one line: where, what was found, what to do."""

    def __init__(self, place: str, text: str) -> None:
        super().__init__(on_one_line(f"{place}: {text}", 1_000))
        self.place = place
        self.text = text


def raise_all(faults: Sequence[LogError]) -> None:
    """Raise all faults at once, the same cause once; return if there is none."""
    places: dict[str, list[LogError]] = {}
    for one in faults:
        cause = re.sub(r"[\d.]+|'[^']*'|\"[^\"]*\"", "", one.text)
        places.setdefault(cause, []).append(one)
    lines = []
    for same in places.values():
        others = sorted({one.place for one in same} - {same[0].place})
        more = f" The same in {len(others)} more, such as {others[0]}." if others else ""
        lines.append(on_one_line(str(same[0]) + more, 1_200))
    if len(lines) > MOST_CAUSES:
        lines[MOST_CAUSES:] = [f"and {len(lines) - MOST_CAUSES} further faults"]
    if lines:
        raise AuditError("\n".join(lines))


def on_one_line(text: str, most: int = 500) -> str:
    """Return the text on one line without control characters, cut at so many characters."""
    plain = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return plain if len(plain) <= most else f"{plain[: most - 1]}…"


class MisfitError(LogError):
    """Numbers of another kind than the measurement that has their name."""


@dataclass(frozen=True)
class LogSource:
    """What a reader is given: a file or a run's folder, and what is known of it.

    Attributes:
        path: the file, or the folder of one run.
        name: what messages and the mapping call it.
        parts: the names in which a seed may be written, from the outermost to its own.
        asked: what is asked of the logs.
        skipped: by name, why something that was seen is no run; readers add to it.
    """

    path: Path
    name: str
    parts: tuple[str, ...] = ()
    asked: Asked = field(default_factory=Asked)
    skipped: dict[str, str] = field(default_factory=dict)

    @property
    def step(self) -> str | None:
        """The column or quantity that the mapping says counts the steps."""
        return self.asked.columns.step

    def builder(self, place: str | None = None) -> CurveBuilder:
        """Return a builder of curves that settles what is asked for."""
        return CurveBuilder(self.name if place is None else place, self.asked)

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
    """

    place: str
    steps: NDArray[np.int64] | None
    values: NDArray[np.float64]
    fault: str | None = None


Curves = Mapping[str, Mapping[LoggedCoordinates, Curve]]
"""Tag -> coordinates -> curve."""


@dataclass(frozen=True)
class LoggedRun:
    """One training run, as some logger left it.

    Attributes:
        name: what messages and the mapping call it: its path, or its name in the store.
        source: the logger: TensorBoard, MLflow, Hugging Face, W&B export, table.
        folder: where it lies; configurations are looked for here and above.
        parts: the names in which a seed may be written, from the outermost to the run's own.
        files: what was read.
        curves: tag -> coordinates -> curve.
        config: what the run was started with, flat: "model.layers" -> 3.
        seed: the seed, where the log has a column of seeds.
        not_whole: why no curve of it may be taken for whole: sampled, cut off, crashed.
        step: the table's column of steps; None if there is none, or the logger counts by itself.
        configurations: the files that its configuration was read from.
        columns: of a table, its columns with the role that each was given, for messages.
        told: what was read otherwise than it is written, in sentences.
        patience: of a run with a best checkpoint, the evaluations that came after it.
        stopped: how it is known that the run ended before its last step.
        early: how it is known that this was on purpose.
    """

    name: str
    source: str
    folder: Path
    parts: tuple[str, ...]
    files: tuple[Path, ...]
    curves: Curves
    config: Mapping[str, Any] = field(default_factory=dict)
    seed: int | None = None
    not_whole: tuple[str, ...] = ()
    step: str | None = None
    configurations: tuple[Path, ...] = ()
    columns: str = ""
    told: tuple[str, ...] = ()
    patience: int | None = None
    stopped: str | None = None
    early: str | None = None


@dataclass
class _Points:
    """The points of one curve, in the order in which they were logged."""

    steps: list[int | None] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    when: list[float] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    fault: str | None = None

    def keep(self, kept: list[int]) -> None:
        """Leave out every point whose index is not listed."""
        self.steps = [self.steps[one] for one in kept]
        self.values = [self.values[one] for one in kept]
        self.when = [self.when[one] for one in kept]
        self.files = [self.files[one] for one in kept]


class CurveBuilder:
    """Gathers points by tag and coordinates; `told` says what was settled on request."""

    def __init__(self, place: str, asked: Asked | None = None) -> None:
        self._place = place
        self._asked = asked or Asked()
        self._points: dict[tuple[str, LoggedCoordinates], _Points] = {}
        self.file = ""
        """The file that points come from, where a run has several."""
        self.unstepped = "no step; expected steps"
        """What is said of several numbers without steps: what is there, and a way on."""
        self.told: dict[str, None] = {}

    def add(
        self,
        tag: str,
        step: int | None,
        value: float,
        at: LoggedCoordinates = NOWHERE,
        when: float = 0.0,
    ) -> None:
        """Add a point; `when` is its time or line."""
        if step is not None and not -MAX_STEP <= step <= MAX_STEP:
            raise LogError(self._place, f"found the step {step}; expected one within ±2^53.")
        points = self._points.setdefault((tag, at), _Points())
        points.steps.append(step)
        points.values.append(value)
        points.when.append(when)
        points.files.append(self.file)

    def spoil(self, tag: str, fault: str, at: LoggedCoordinates = NOWHERE) -> None:
        """Note that a tag holds something that is no number; told if the tag is wanted."""
        points = self._points.setdefault((tag, at), _Points())
        points.fault = points.fault or fault

    def purge(self, step: int) -> None:
        """Forget every point from a step on: a restart has replaced them."""
        for points in self._points.values():
            kept = [i for i, one in enumerate(points.steps) if one is not None and one < step]
            if len(kept) < len(points.steps):
                points.keep(kept)
                self.told[f"restarted at step {step}: what was logged from there on holds"] = None

    def all_steps(self) -> NDArray[np.int64]:
        """Return every step that any curve has, in order."""
        each = [[s for s in one.steps if s is not None] for one in self._points.values()]
        return np.unique(np.array([step for one in each for step in one], dtype=np.int64))

    def curves(self) -> Curves:
        """Return everything gathered."""
        found: dict[str, dict[LoggedCoordinates, Curve]] = {}
        for (tag, at), points in self._points.items():
            fault = points.fault or self._settle(points)
            steps = None if None in points.steps else np.array(points.steps, dtype=np.int64)
            values = np.array(points.values, dtype=np.float64)
            found.setdefault(tag, {})[at] = Curve(self._place, steps, values, fault)
        return found

    def _settle(self, points: _Points) -> str | None:
        """Put points into the order of their steps, as asked; return why that is impossible."""
        steps = points.steps
        unstepped = len(steps) > 1 and (None in steps or len(set(steps)) == 1)
        if unstepped and "steps" in self._asked.numbered:
            order = sorted(range(len(steps)), key=points.when.__getitem__)
            points.keep(order)
            points.steps[:] = range(len(order))
            self.told["points without steps are counted from 0 in the order of time"] = None
            return None
        if None in steps:
            return self._without_steps(points) if unstepped else None
        numbers = [one for one in steps if one is not None]
        wrong = next((i for i, one in enumerate(numbers[1:], 1) if one <= numbers[i - 1]), None)
        if wrong is None:
            return None
        if not unstepped and self._asked.overlap is not None:
            self._overlap(points, numbers)
            return None
        return _out_of_order(points, numbers, wrong, unstepped)

    def _without_steps(self, points: _Points) -> str:
        lines = [int(one) for one in points.when if one]
        where = f" (lines {lines[0]} and {lines[1]})" if len(lines) > 1 else ""
        return f"found {len(points.values)} numbers{where} with {self.unstepped}"

    def _overlap(self, points: _Points, numbers: list[int]) -> None:
        """Keep the later or the earlier points wherever a curve goes back."""
        kept: list[int] = []
        later = self._asked.overlap == "later"
        for index, step in enumerate(numbers):
            while later and kept and numbers[kept[-1]] >= step:
                kept.pop()
            if not kept or numbers[kept[-1]] < step:
                kept.append(index)
        points.keep(kept)
        words = f"where steps overlap, the {self._asked.overlap} points hold"
        self.told[words] = None


def _out_of_order(points: _Points, numbers: list[int], wrong: int, unstepped: bool) -> str:
    """Say what is wrong with steps that do not increase, and how to go on."""
    after = numbers[wrong]
    before = numbers[wrong - 1]
    if unstepped:
        return (
            f"found step {after} a second time: all {len(numbers)} points have it, as if they were "
            "logged without a step; expected it once. Log 'step', or let the mapping count the "
            "points in the order of time: `number: [steps]`"
        )
    found = f"found step {after} after {before}; expected steps that increase"
    if before == after:
        found = f"found step {after} a second time; expected it once"
    one = points.files[wrong - 1]
    other = points.files[wrong]
    if one != other:
        found = f"found step {after} in '{other}' after step {before} in '{one}'; expected once"
    return f"{found}. Say which points hold, in the mapping: `overlap: later`, or `earlier`"


def number_of(value: Any) -> float | None:
    """Return the number that a cell or a JSON value holds; None if it is no number."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, str) and "_" in value:
        return None
    try:
        return float(value)  # "NaN" and "Infinity" among them
    except (ValueError, OverflowError):
        return None


def coordinates_of(at: Mapping[str, Any]) -> LoggedCoordinates:
    """Return coordinates as they are compared: "1" and 1.0 are the same one."""
    if not at:
        return NOWHERE
    numbers = {axis: number_of(one) for axis, one in at.items()}
    return frozenset(
        (axis, str(at[axis]).strip() if number is None or number != number else number)
        for axis, number in numbers.items()
    )


def flat(prefix: str, value: Any, place: str, depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Yield nested values one by one: {"loss": {"train": 1}} is loss.train."""
    if isinstance(value, Mapping) and depth < 16:
        if len(prefix) > MAX_NAME:
            text = f"found names of {len(prefix):,} characters above others, '{prefix[:40]}…'"
            raise LogError(place, f"{text}; expected at most {MAX_NAME}.")
        for name, below in value.items():
            yield from flat(f"{prefix}.{name}" if prefix else str(name), below, place, depth + 1)
    else:
        yield prefix, value


# --- files ----------------------------------------------------------------------------------------


def open_log(path: Path, place: str, most: int = MAX_LOG_BYTES) -> IO[bytes]:
    """Open a regular file for reading; it is never waited for, as a named pipe would be."""
    try:
        return open_regular(path, most, follow=False)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        text = f"cannot be read: {why}. Leave it out, or mend it; links are not followed."
        raise LogError(place, text) from None


def read_log_text(path: Path, place: str, most: int = MAX_TEXT_BYTES) -> str:
    """Read all of a text file, be it packed by gzip: UTF-8, or UTF-16 with its mark."""
    with open_log(path, place, most) as handle:
        data = handle.read()
    if data.startswith(_GZIP):
        data = _unpacked(data, place, most)
    form = "utf-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    try:
        return data.decode(form)
    except UnicodeDecodeError as error:
        raise LogError(
            place,
            f"found bytes that are no UTF-8 text at {error.start}; expected text. If it is text, "
            "save it as UTF-8.",
        ) from None


_GZIP = b"\x1f\x8b"


def _unpacked(data: bytes, place: str, most: int) -> bytes:
    try:
        found = gzip.GzipFile(fileobj=io.BytesIO(data)).read(most + 1)
    except (zlib.error, OSError, EOFError) as error:
        text = f"found packed data that is damaged or cut off ({error}); expected a whole file."
        raise LogError(place, f"{text} Copy it again.") from None
    if len(found) > most:
        raise LogError(place, f"found more than {most:,} bytes unpacked; expected fewer.")
    return found


def parse_json(text: str | bytes, place: str) -> Any:
    """Parse JSON text; a name that comes twice is refused, since nobody knows which was meant."""
    try:
        return decode_json(text, object_pairs_hook=_unique)
    except ValueError as error:
        raise LogError(
            place, f"found text that is no JSON ({error}); expected JSON. Is the file whole?"
        ) from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"the name {name[:40]!r} stands twice in one object")
        found[name] = value
    return found


def parse_yaml(text: str, place: str) -> Any:
    """Parse YAML text: plain values only. ``1e-3`` is a number, as its writers mean it."""
    try:
        return yaml.load(text, _Loader)
    except (yaml.YAMLError, ValueError, OverflowError, LookupError, AttributeError) as error:
        said = str(getattr(error, "problem", None) or error)
        mark = getattr(error, "problem_mark", None)
        line = f":{mark.line + 1}" if mark is not None else ""
        raise LogError(
            f"{place}{line}", f"found text that is no plain YAML ({said}); expected plain YAML."
        ) from None
    except RecursionError:
        raise LogError(place, "found YAML nested too deeply; expected plain YAML.") from None


MAX_BITS = 10_000
"""Of a whole number; Python does not write out many more."""
_PARSER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_BASES: Any = (_PARSER,) if issubclass(_PARSER, Composer) else (Composer, _PARSER)
_TUPLE = "tag:yaml.org,2002:python/tuple"
"""The tag by which Lightning marks tuples in its own hparams.yaml; they are read as lists."""


class _Loader(*_BASES):  # type: ignore[misc]
    """Loads plain values, with decimals as JSON and OmegaConf write them, and no name twice.

    Only the parser is libyaml's, where PyYAML has it: it is several times faster.
    """

    def __init__(self, text: str) -> None:
        _PARSER.__init__(self, text)
        Composer.__init__(self)

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):  # aliases of aliases multiply without end
            event = self.peek_event()
            said = f"found the alias *{event.anchor}; expected the value itself"
            raise yaml.MarkedYAMLError(problem=said, problem_mark=event.start_mark)
        node: yaml.Node | None = super().compose_node(parent, index)
        return node

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    said = f"the name '{key.value[:40]}' stands twice"
                    raise yaml.MarkedYAMLError(problem=said, problem_mark=key.start_mark)
                seen.add(key.value)
        found: dict[Hashable, Any] = super().construct_mapping(node, deep)
        return found

    def construct_number(self, node: yaml.ScalarNode) -> int | float | str:
        if ":" in node.value:  # 1:30 was 90 in YAML 1.1, at the cost of the square of its length
            return str(node.value)
        if node.tag.endswith("float"):
            return float(self.construct_yaml_float(node))
        number = int(self.construct_yaml_int(node))
        if number.bit_length() > MAX_BITS:
            raise ValueError(f"a number of {number.bit_length():,} bits")
        return number


for _tag in ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float"):
    _Loader.add_constructor(_tag, _Loader.construct_number)
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?(\d+(\.\d*)?|\.\d+)[eE][-+]?\d+$"),
    list("-+.0123456789"),
)
yaml.add_constructor(_TUPLE, yaml.SafeLoader.construct_yaml_seq, _Loader)
