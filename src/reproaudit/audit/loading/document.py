"""From the text of a YAML file to plain data, with a place for every value.

PyYAML parses the text into events, and the data is built from them here rather than by PyYAML: an
audit takes less than YAML gives (no anchors, aliases, merge keys, tags, second documents or equal
keys), and its nesting is limited, so that a file of brackets cannot end the process.

A value in doubtful notation is reported and marked as doubtful, so that what follows from it is not
reported again.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

import yaml
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
)
from yaml.resolver import Resolver

from reproaudit.audit.loading.fault import START, Faults, Place
from reproaudit.audit.rules.table import Loc
from reproaudit.audit.rules.values import quoted
from reproaudit.bounded import UnfitFileError, read_regular

MAX_DEPTH = 32
"""Levels of nesting; an audit needs about ten."""

MAX_VALUES = 150_000
"""Values and names in a file; the largest audit so far has four thousand."""

UNREADABLE = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff\ufffe\uffff]"
)
"""Characters that an editor would not show, or by which it would turn the order of a text."""


MOST_UNREADABLE = 20
"""Control characters that are reported, since a binary file has thousands."""


def read_file(path: Path, most: int, faults: Faults) -> str | None:
    """Return the text of a file of at most so many bytes, without a byte order mark."""
    try:
        data = read_regular(path, most)
    except UnfitFileError as error:
        faults.add(START, (), "RA001", f"found {error.strerror}")
        return None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        faults.add(START, (), "RA001", f"found no readable file ({reason.lower()})")
        return None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        place = _end_of(data[: error.start].decode("utf-8", "replace"))
        faults.add(place, (), "RA002", f"found the byte 0x{data[error.start]:02x}; expected UTF-8")
        return None


def is_readable(text: str, faults: Faults) -> bool:
    """Report control characters; return whether there are none."""
    found = list(islice(UNREADABLE.finditer(text), MOST_UNREADABLE))
    for match in found:
        words = f"found the control character U+{ord(match.group()):04X}; expected readable text"
        faults.add(_end_of(text[: match.start()]), (), "RA002", words)
    return not found


def _end_of(text: str) -> Place:
    """The place that follows the last character of a text."""
    return Place(text.count("\n") + 1, len(text) - text.rfind("\n"))


@dataclass
class Document:
    """What a YAML file holds, and where.

    Attributes:
        data: the file's values, as ``json.dumps`` takes them.
        marks: where each value begins, by its place in the data.
        names: where the name of each value in a mapping begins.
        written: unquoted values that are no text, as they are written.
        doubtful: the places of values that have a fault already, so that nobody can tell them.
    """

    data: Any = None
    marks: dict[Loc, Any] = field(default_factory=dict)
    names: dict[Loc, Any] = field(default_factory=dict)
    written: dict[Loc, str] = field(default_factory=dict)
    doubtful: set[Loc] = field(default_factory=set)

    def place(self, loc: Loc, *, at_key: bool = False) -> Place:
        """Return the line and column of a value.

        A scalar's place is its value, that of a list or mapping the name that holds it. What is not
        written in the file (a default) has the place of the nearest value above it.
        """
        for depth in range(len(loc), -1, -1):
            here = loc[:depth]
            if here in self.marks:
                by_name = isinstance(self.at(here), dict | list) or (at_key and here == loc)
                mark = self.names.get(here) if by_name else None
                return _place(self.marks[here] if mark is None else mark)
        return START

    def at(self, loc: Loc) -> Any:
        """Return the value at a place."""
        value = self.data
        for step in loc:
            value = value[step]
        return value


def has_step(value: Any, step: str | int) -> bool:
    """Tell whether plain data has something one step further down."""
    if isinstance(value, dict):
        return step in value
    return isinstance(value, list) and isinstance(step, int) and 0 <= step < len(value)


def read_yaml(text: str, faults: Faults) -> Document | None:
    """Return what a text holds; None if it cannot be read to its end."""
    try:
        return _Reader(text, faults).read()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        said = str(getattr(error, "problem", None) or getattr(error, "reason", None) or error)
        words = said.splitlines()[0] if said else "unreadable"
        faults.add(_place(mark), (), "RA003", f"found broken YAML: {words}")
    except _Stop:
        pass
    except ValueError as error:  # an escape beyond Unicode, in the parser written in Python
        faults.add(START, (), "RA003", f"found text that is no YAML: {error}")
    return None


def _place(mark: Any) -> Place:
    return START if mark is None else Place(mark.line + 1, mark.column + 1)


class _Stop(Exception):
    """Nothing after this point is read."""


class _Reader:
    """Reads the data of one file, and reports what an audit does not take.

    What has no place in the data (a second value of one name, the value of an unreadable name) is
    read and reported, but not kept.
    """

    def __init__(self, text: str, faults: Faults) -> None:
        # libyaml, where PyYAML has it, is several times faster; both parsers are lazy
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(text)
        self._next = loader.get_event
        self._document = Document()
        self._faults = faults
        self._values = 0

    def read(self) -> Document:
        """Return what the file holds."""
        documents = 0
        while (event := self._next()) is not None:
            if isinstance(event, DocumentStartEvent):
                documents += 1
                if documents > 1:
                    self._stop(event, (), "RA004", "found a second YAML document; expected one")
                self._document.data = self._value(self._next(), (), 0)
        return self._document

    def _tell(self, event: Any, loc: Loc, rule: str, message: str) -> None:
        self._faults.add(_place(event.start_mark), loc, rule, message)

    def _stop(self, event: Any, loc: Loc, rule: str, message: str) -> None:
        self._tell(event, loc, rule, message)
        raise _Stop

    def _value(self, event: Any, loc: Loc, depth: int) -> Any:
        """Return the value that begins with an event, and all below it."""
        self._values += 1
        if self._values > MAX_VALUES:
            words = f"found more than {MAX_VALUES} values; expected a few thousand"
            self._stop(event, loc, "RA016", words)
        self._document.marks.setdefault(loc, event.start_mark)
        if not self._is_plain(event, loc):
            self._document.doubtful.add(loc)
        if isinstance(event, ScalarEvent):
            return event.value if event.style else self._unquoted(event, loc)
        if isinstance(event, AliasEvent):
            return None
        if depth == MAX_DEPTH:
            words = f"found nesting deeper than {MAX_DEPTH}; expected about ten levels"
            self._stop(event, loc, "RA013", words)
        if isinstance(event, MappingStartEvent):
            return self._mapping(loc, depth + 1)
        data: list[Any] = []
        while not isinstance(event := self._next(), SequenceEndEvent):
            data.append(self._value(event, (*loc, len(data)), depth + 1))
        return data

    def _is_plain(self, event: Any, loc: Loc) -> bool:
        """Report what hides the meaning of a value or a name; return whether nothing does."""
        found = []
        if isinstance(event, AliasEvent):
            found.append(("RA007", f"found the alias *{event.anchor}; expected a value"))
        elif event.anchor is not None:
            found.append(("RA007", f"found the anchor &{event.anchor}; expected none"))
        if getattr(event, "tag", None) is not None:
            found.append(("RA008", f"found the tag {quoted(event.tag)}; expected none"))
        # an escape stands for a control character in double quotes; elsewhere it is itself
        escaped = isinstance(event, ScalarEvent) and event.style == '"'
        if escaped and (control := UNREADABLE.search(event.value)) is not None:
            words = f"found the control character {control.group()!r}; expected readable text"
            found.append(("RA002", words))
        for rule, message in found:
            self._tell(event, loc, rule, message)
        return not found

    def _mapping(self, loc: Loc, depth: int) -> dict[str, Any]:
        data: dict[str, Any] = {}
        names = self._document.names
        while not isinstance(event := self._next(), MappingEndEvent):
            name = self._name(event, loc, depth)
            place = loc if name is None else (*loc, name)
            if name in data:
                first = _place(names[place]).line
                words = f"found {quoted(str(name))} a second time (first on line {first})"
                self._tell(event, place, "RA006", f"{words}; expected it once")
            elif name is not None:
                names[place] = event.start_mark
            value = self._value(self._next(), place, depth)
            if name is not None:
                data.setdefault(name, value)
        return data

    def _name(self, event: Any, loc: Loc, depth: int) -> str | None:
        """Return the name in a mapping that begins with an event; None if it is none."""
        if not isinstance(event, ScalarEvent):
            if not isinstance(event, AliasEvent):
                self._tell(event, loc, "RA015", "found a list or mapping as a name; expected text")
            self._value(event, loc, depth)
            return None
        if not self._is_plain(event, loc):
            return None
        name = str(event.value)
        kind = "str" if event.style else _kind(name)
        if kind not in ("merge", "bool", "null", "int", "float"):
            return name
        rule = "RA007" if kind == "merge" else "RA015"
        self._tell(event, loc, rule, f"found the name {quoted(name)}, unquoted; expected text")
        return None

    def _unquoted(self, event: Any, loc: Loc) -> Any:
        value, doubt = read_plain(event.value)
        if doubt is not None:
            self._tell(event, loc, *doubt)
            self._document.doubtful.add(loc)
        if not isinstance(value, str):
            self._document.written.setdefault(loc, event.value)
        return value


# --- unquoted scalars ---------------------------------------------------------------------------

LARGEST_INTEGER = 2**63 - 1

_RESOLVER: Any = Resolver()  # its stub has no types
_NUMBER = re.compile(
    r"[-+]?(0|[1-9][0-9]*|[0-9]*\.[0-9]*([eE][-+][0-9]+)?|\.inf)|\.nan", re.IGNORECASE
)
_LOOKS_LIKE_NUMBER = re.compile(
    r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)[eE][-+]?[0-9]+|[-+]?0([0-9]+|o[0-7]+|[xX][0-9a-fA-F]+)"
)


def _kind(text: str) -> str:
    """The type that YAML 1.1 gives an unquoted scalar: null, bool, int, float, timestamp …, str."""
    tag: str = _RESOLVER.resolve(yaml.ScalarNode, text, (True, False))
    return tag.rpartition(":")[2]


@lru_cache(maxsize=4096)  # an audit repeats its few dozen words
def read_plain(text: str) -> tuple[bool | int | float | str | None, tuple[str, str] | None]:
    """Return the value of an unquoted scalar in YAML 1.1, and the rule that it breaks, if any.

    Resolving is PyYAML's own, so that it agrees with what other Python tools load; a doubt is where
    a reviewer may read something else. Dates stay text.
    """
    kind = _kind(text)
    if kind == "null":
        return None, None
    if kind == "bool":
        value = text.lower() in ("yes", "on", "true")
        words = f"found {text}, which YAML reads as {str(value).lower()}; expected true or false"
        return value, None if text in ("true", "false") else ("RA010", words)
    if kind == "merge":
        return text, ("RA007", "found the merge mark <<; expected a value")
    if kind not in ("int", "float"):
        if not _LOOKS_LIKE_NUMBER.fullmatch(text):
            return text, None
        words = f"found {quoted(text)}, which YAML reads as text; expected a number"
        return 0, ("RA009", words)
    if not _NUMBER.fullmatch(text):
        words = f"found {quoted(text)}, which YAML 1.1 does not read as it looks"
        return 0, ("RA011", f"{words}; expected a decimal number")
    number = float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
    if not math.isfinite(number) or (kind == "int" and abs(number) >= LARGEST_INTEGER):
        return 0, ("RA012", f"found {quoted(text)}; expected a finite number of at most 63 bits")
    return (int(text) if kind == "int" else number), None
