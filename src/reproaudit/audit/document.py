"""From a YAML file to data, with a place for every value.

PyYAML parses the text into events, and the data is built from them here rather than by PyYAML: an
audit takes less than YAML gives (no anchors, aliases, merge keys, tags, second documents or equal
keys), and its nesting is limited, so that a file of brackets cannot end the process.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from yaml import events
from yaml.resolver import Resolver

from reproaudit.audit.faults import START, Faults, Loc, Place, quoted
from reproaudit.audit.nodes import Node
from reproaudit.cell import Scalar
from reproaudit.files import UnfitFileError, read_regular

MAX_DEPTH = 32  # Levels of nesting; an audit needs about ten
MAX_VALUES = 40_000  # Values and names in a file; the largest audit so far has four thousand

UNREADABLE = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff\ufffe\uffff]"
)
"""Characters that an editor would not show, or by which it would turn the order of a text."""


# --- text ---------------------------------------------------------------------------------------


def read_file(path: Path, most: int, faults: Faults) -> str | None:
    """Return the text of a file of at most so many bytes, without a byte order mark."""
    try:
        data = read_regular(path, most)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        unfit = isinstance(error, UnfitFileError)
        state = reason if unfit else f"no readable file ({reason.lower()})"
        faults.add(START, (), "RA001", f"found {state}")
        return None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        place = _end_of(data[: error.start].decode("utf-8", "replace"))
        faults.add(place, (), "RA002", f"found the byte 0x{data[error.start]:02x}; expected UTF-8")
        return None


def is_readable(text: str, faults: Faults) -> bool:
    """Report the first control character; return whether there is none."""
    if (match := UNREADABLE.search(text)) is not None:
        words = f"found the control character U+{ord(match.group()):04X}; expected readable text"
        faults.add(_end_of(text[: match.start()]), (), "RA002", words)
    return match is None


def _end_of(text: str) -> Place:
    """The place that follows the last character of a text."""
    return Place(text.count("\n") + 1, len(text) - text.rfind("\n"))


# --- data ---------------------------------------------------------------------------------------


@dataclass
class Document:
    """What a YAML file holds, and where.

    Attributes:
        node: the data, each value with the place in the file that it comes from.
        marks: where each value begins, by its place in the file; a list or a mapping with its name.
        names: where the name of each value in a mapping begins.
        is_expanded: whether the data are what those of the file stand for.
    """

    node: Node
    marks: dict[Loc, Any]
    names: dict[Loc, Any]
    is_expanded: bool = False

    def __post_init__(self) -> None:
        self._places: dict[Loc, Loc] = {}
        self.data = self.node.plain(self._places)

    def place(self, loc: Loc, *, at_key: bool = False) -> Place:
        """Return the line and column of a value.

        A scalar's place is its value, that of a list or mapping the name that holds it. What is not
        written in the file (a default) has the place of the nearest value above it.
        """
        written = self.written_at(loc)
        here = next(written[:n] for n in range(len(written), -1, -1) if written[:n] in self.marks)
        by_name = at_key and here == written and here in self.names
        return _place(self.names[here] if by_name else self.marks[here])

    def written_at(self, loc: Loc) -> Loc:
        """Return the place in the file that a place in the data comes from."""
        if not self.is_expanded:
            return loc
        above = next(loc[:n] for n in range(len(loc), -1, -1) if loc[:n] in self._places)
        return self._places[above]

    def above(self, faulty: Collection[Loc]) -> Collection[Loc]:
        """Return the places at which what is wrong follows from faults below them.

        Only of what the file stands for, where these are at a fault or above one.
        """
        if not self.is_expanded:
            return ()
        return {loc[:depth] for loc in faulty for depth in range(len(loc) + 1)}

    def holding(self, node: Node) -> Document:
        """Return other data that those of the file stand for."""
        return Document(node, self.marks, self.names, is_expanded=True)


def read_yaml(text: str, faults: Faults) -> Document | None:
    """Return what a text holds; None if it cannot be read to its end.

    A value or a name with a fault is kept as far as it can be told: its place is among the faults.
    """
    try:
        return _Reader(text, faults).read() if is_readable(text, faults) else None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "unreadable"
        faults.add(_place(mark), (), "RA003", f"found broken YAML: {problem}")
    except _Stop:
        pass
    except (ValueError, OverflowError) as error:  # beyond Unicode, in the parser in Python
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
        self._marks: dict[Loc, Any] = {}
        self._names: dict[Loc, Any] = {}
        self._faults = faults
        self._values = 0

    def read(self) -> Document:
        node = Node(None, ())
        documents = 0
        while (event := self._next()) is not None:
            if isinstance(event, events.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    self._tell(event, (), "RA004", "found a second YAML document; expected one")
                    raise _Stop
                node = self._value(self._next(), (), 0)
        return Document(node, self._marks, self._names)

    def _tell(self, event: Any, loc: Loc, rule: str, message: str) -> None:
        self._faults.add(_place(event.start_mark), loc, rule, message)

    def _value(self, event: Any, loc: Loc, depth: int) -> Node:
        """Return the value that begins with an event, and all below it."""
        self._values += 1
        if self._values > MAX_VALUES or depth > MAX_DEPTH:
            deep = f"{MAX_DEPTH} levels" if depth > MAX_DEPTH else f"{MAX_VALUES} values"
            self._tell(event, loc, "RA016", f"found more than {deep}; expected far fewer")
            raise _Stop
        is_collection = isinstance(event, events.CollectionStartEvent)
        mark = self._names.get(loc, event.start_mark) if is_collection else event.start_mark
        self._marks.setdefault(loc, mark)
        self._hides(event, loc)
        if isinstance(event, events.AliasEvent):
            return Node(None, loc)
        if isinstance(event, events.MappingStartEvent):
            return Node(self._mapping(loc, depth + 1), loc)
        if isinstance(event, events.ScalarEvent):
            if event.style:
                return Node(event.value, loc)
            value, doubt = read_plain(event.value)
            if doubt:
                self._tell(event, loc, "RA227", doubt)
            return Node(value, loc)
        data: list[Node] = []
        while not isinstance(event := self._next(), events.SequenceEndEvent):
            data.append(self._value(event, (*loc, len(data)), depth + 1))
        return Node(data, loc)

    def _hides(self, event: Any, loc: Loc) -> bool:
        """Report and return whether something hides the meaning of a value or a name."""
        words = [(sign, getattr(event, sign, None)) for sign in ("anchor", "tag")]
        hidden = [f"the {sign} {quoted(word)}" for sign, word in words if word is not None]
        for found in hidden:
            self._tell(event, loc, "RA007", f"found {found}; expected the value")
        # in double quotes an escape stands for a control character; elsewhere it is itself
        escaped = isinstance(event, events.ScalarEvent) and event.style == '"'
        control = UNREADABLE.search(event.value) if escaped else None
        if control is not None:
            found = f"found the control character {control.group()!r}; expected readable text"
            self._tell(event, loc, "RA002", found)
        return bool(hidden) or control is not None

    def _mapping(self, loc: Loc, depth: int) -> dict[str, Node]:
        data: dict[str, Node] = {}
        names = self._names
        while not isinstance(event := self._next(), events.MappingEndEvent):
            name = self._name(event, loc, depth)
            if name is None:
                self._value(self._next(), loc, depth)
                continue
            place = (*loc, name)
            if name in data:
                words = f"found {quoted(name)} again (first on line {_place(names[place]).line})"
                self._tell(event, place, "RA006", f"{words}; expected it once")
            names.setdefault(place, event.start_mark)
            value = self._value(self._next(), place, depth)
            data.setdefault(name, value)
        return data

    def _name(self, event: Any, loc: Loc, depth: int) -> str | None:
        """Return the name in a mapping that begins with an event; None if it is none."""
        if not isinstance(event, events.ScalarEvent):
            self._tell(event, (*loc, "?"), "RA015", "found a list, a mapping or an alias as a name")
            self._value(event, (*loc, "?"), depth)
            return None
        self._values += 1
        name = str(event.value)
        if self._hides(event, (*loc, name)):
            return None
        kind = "str" if event.style else _kind(name)
        if kind in ("merge", "bool", "null", "int", "float"):
            words = f"found the name {quoted(name)}, unquoted; expected text"
            self._tell(event, (*loc, name), "RA007" if kind == "merge" else "RA015", words)
            return None
        return name


# --- unquoted scalars ---------------------------------------------------------------------------

_RESOLVER: Any = Resolver()  # its stub has no types
_NUMBER = re.compile(r"[-+]?(0|[1-9][0-9]{0,18}|[0-9]*\.[0-9]*([eE][-+][0-9]+)?)")
_LOOKS_LIKE_NUMBER = re.compile(
    r"[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)[eE][-+]?[0-9]+|[-+]?0([0-9]+|o[0-7]+|[xX][0-9a-fA-F]+)"
)


def _kind(text: str) -> str:
    """The type that YAML 1.1 gives an unquoted scalar: null, bool, int, float, timestamp …, str."""
    tag: str = _RESOLVER.resolve(yaml.ScalarNode, text, (True, False))
    return tag.rpartition(":")[2]


def read_plain(text: str) -> tuple[Scalar | None, str]:
    """Return the value of an unquoted scalar in YAML 1.1, and a doubt, empty if there is none.

    Resolving is PyYAML's own, so that it agrees with what other Python tools load; a doubt is where
    a reviewer may read something else. Dates stay text.
    """
    kind = _kind(text)
    if kind == "null":
        return None, ""
    if text in ("true", "false"):
        return text == "true", ""
    if kind in ("int", "float"):
        value = (int if kind == "int" else float)(text) if _NUMBER.fullmatch(text) else math.inf
        if math.isfinite(value) and (kind == "float" or abs(value) < 2**63):
            return value, ""
    elif kind not in ("bool", "merge") and not _LOOKS_LIKE_NUMBER.fullmatch(text):
        return text, ""
    doubt = f"found {quoted(text)}, which YAML reads as {kind}"
    return None, f"{doubt}; expected one that is read alike everywhere"
