"""From the text of a YAML file to plain data, with a place for every value.

PyYAML parses the text into events, and the data is built from them here rather than by PyYAML: an
audit takes less than YAML gives (no anchors, aliases, merge keys, tags, second documents or equal
keys), and its nesting is limited, so that a file of brackets cannot end the process.

A value in doubtful notation is reported and marked as doubtful, so that what follows from it is not
reported again.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
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

from reproaudit.audit.loading.fault import START, Faults, Place
from reproaudit.audit.loading.scalars import doubt_about_name, read_plain
from reproaudit.audit.rules.table import Loc
from reproaudit.audit.rules.values import quoted

MAX_DEPTH = 32
"""Levels of nesting; an audit needs about ten."""

MAX_VALUES = 150_000
"""Values and names in a file; the largest audit so far has four thousand."""

UNREADABLE = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]"
)
"""Characters that an editor would not show."""


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
        problem, remedy = _explained(error)
        faults.add(_place(mark), (), "RA003", f"found broken YAML: {problem}", remedy)
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

    What has no place in the data (a second value of one name, what a tag may change) is read and
    reported with the place above it, but not kept.
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
                self._document.data = self._value(self._next(), ())
        return self._document

    def _tell(self, event: Any, loc: Loc, rule: str, message: str, remedy: str = "") -> None:
        self._faults.add(_place(event.start_mark), loc, rule, message, remedy)

    def _stop(self, event: Any, loc: Loc, rule: str, message: str) -> None:
        self._tell(event, loc, rule, message)
        raise _Stop

    def _count(self, event: Any, loc: Loc) -> None:
        self._values += 1
        if self._values > MAX_VALUES:
            words = f"found more than {MAX_VALUES} values; expected a few thousand"
            self._stop(event, loc, "RA016", words)

    def _value(self, event: Any, loc: Loc, kept: bool = True, depth: int = 0) -> Any:
        """Return the value that begins with an event, and all below it."""
        self._count(event, loc)
        if kept:
            self._document.marks[loc] = event.start_mark
        if isinstance(event, ScalarEvent):
            return self._scalar(event, loc, kept)
        if isinstance(event, AliasEvent):
            self._tell(event, loc, "RA007", f"found the alias *{event.anchor}; expected a value")
            return self._doubtful(loc, kept)
        if depth >= MAX_DEPTH:
            words = f"found nesting deeper than {MAX_DEPTH}; expected about ten levels"
            self._stop(event, loc, "RA013", words)
        tagged = self._is_tagged(event, loc)
        below = self._mapping if isinstance(event, MappingStartEvent) else self._list
        data = below(loc, kept and not tagged, depth + 1)
        return self._doubtful(loc, kept) if tagged else data

    def _doubtful(self, loc: Loc, kept: bool) -> None:
        if kept:
            self._document.doubtful.add(loc)

    def _list(self, loc: Loc, kept: bool, depth: int) -> list[Any]:
        data: list[Any] = []
        while not isinstance(event := self._next(), SequenceEndEvent):
            place = (*loc, len(data)) if kept else loc
            data.append(self._value(event, place, kept, depth))
        return data

    def _mapping(self, loc: Loc, kept: bool, depth: int) -> dict[str, Any]:
        data: dict[str, Any] = {}
        names = self._document.names
        while not isinstance(event := self._next(), MappingEndEvent):
            name = self._name(event, loc, depth)
            if name is None or not kept:
                self._value(self._next(), loc, False, depth)
                continue
            place = (*loc, name)
            if place in names:
                first = _place(names[place]).line
                words = f"found {quoted(name)} a second time (first on line {first}); expected it"
                self._tell(event, place, "RA006", f"{words} once")
                self._value(self._next(), loc, False, depth)
            else:
                names[place] = event.start_mark
                data[name] = self._value(self._next(), place, True, depth)
        return data

    def _name(self, event: Any, loc: Loc, depth: int) -> str | None:
        """Return the name in a mapping that begins with an event; None if there is a fault."""
        if not isinstance(event, ScalarEvent):
            if not isinstance(event, AliasEvent):
                self._tell(event, loc, "RA015", "found a list or mapping as a name; expected text")
            self._value(event, loc, False, depth)
            return None
        self._count(event, loc)
        if self._is_hidden(event, loc):
            return None
        name = str(event.value)
        doubt = None if event.style else doubt_about_name(name)
        if doubt is not None:
            self._tell(event, loc, doubt.rule, doubt.message)
        return name if doubt is None else None

    def _scalar(self, event: Any, loc: Loc, kept: bool) -> Any:
        if self._is_hidden(event, loc):
            return self._doubtful(loc, kept)
        if event.style:  # of a plain scalar None or empty, depending on the parser
            return event.value
        value, doubt = read_plain(event.value)
        if doubt is not None:
            self._tell(event, loc, doubt.rule, doubt.message, doubt.remedy)
            self._doubtful(loc, kept)
        if kept and not isinstance(value, str):
            self._document.written[loc] = event.value
        return value

    def _is_tagged(self, event: Any, loc: Loc) -> bool:
        """Report an anchor and a tag; return whether a tag hides what the value means."""
        if event.anchor is not None:
            self._tell(event, loc, "RA007", f"found the anchor &{event.anchor}; expected none")
        if event.tag is not None:
            self._tell(event, loc, "RA008", f"found the tag {quoted(event.tag)}; expected none")
        return event.tag is not None

    def _is_hidden(self, event: Any, loc: Loc) -> bool:
        """Report whether nobody can tell what a scalar means."""
        control = UNREADABLE.search(event.value) if event.style == '"' else None
        if control is not None:  # an escape stands for it; elsewhere it stands for itself
            found = f"found the control character {control.group()!r}; expected readable text"
            self._tell(event, loc, "RA002", found)
        return self._is_tagged(event, loc) or control is not None


# --- broken syntax ------------------------------------------------------------------------------

_MISALIGNED = (
    "a line whose indentation fits nothing above it",
    "Align it with its neighbours; quote text that goes on after a closing quote.",
)
_UNCLOSED = ("a list or mapping in brackets without its end", "Add the missing comma or bracket.")
_MEANINGS = {
    "mapping values are not allowed": (
        "a colon where none can stand",
        "Quote text that holds ': ', or mend the indentation.",
    ),
    "cannot start any token": (
        "a character that cannot start a value",
        "Indent with spaces, not tabs; quote text that begins with @, ` or %.",
    ),
    "could not find expected ':'": (
        "a line that is no 'name: value'",
        "Add the colon, or quote the text that runs over several lines.",
    ),
    "expected <block end>": _MISALIGNED,
    "did not find expected key": _MISALIGNED,
    "did not find expected '-' indicator": (
        "a line that is no '- item' of the list above",
        "Align it with the list, or with the field that holds it.",
    ),
    "unexpected end of stream": ("a quotation without its end", "Add the closing quote."),
    "expected ',' or": _UNCLOSED,
    "unknown escape": (
        "an unknown escape in double quotes",
        "Use single quotes, or double the backslash.",
    ),
}
"""By a part of a message of PyYAML's parsers its meaning, and the remedy."""


def _explained(error: yaml.YAMLError) -> tuple[str, str]:
    """What is broken, and the remedy (empty: the rule's)."""
    said = str(getattr(error, "problem", None) or getattr(error, "reason", None) or error)
    for part, meaning in _MEANINGS.items():
        if part in said:
            return meaning
    return quoted(said.splitlines()[0] if said else "unreadable"), ""
