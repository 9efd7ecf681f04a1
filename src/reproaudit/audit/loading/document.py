"""From the text of a YAML file to plain data, with a place for every value.

PyYAML parses the text into events, and the data is built from them here rather than by PyYAML: an
audit takes less than YAML gives (no anchors, aliases, merge keys, tags, second documents or equal
keys), and PyYAML composes by recursion, so that a file of brackets would end the process.

A value in doubtful notation is reported, kept as it was most likely meant, and marked as doubtful,
so that what follows from it is not reported again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
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
    SequenceStartEvent,
)

from reproaudit.audit.loading.fault import START, Faults, Place
from reproaudit.audit.loading.scalars import doubt_about_name, read_plain
from reproaudit.audit.loading.syntax import explain_syntax
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
    builder = _Builder(faults)
    try:
        for event in _events(text):
            builder.take(event)
    except yaml.YAMLError as error:
        place, problem, remedy = explain_syntax(error)
        faults.add(place, (), "RA003", f"found broken YAML: {problem}", remedy)
        return None
    except _Stop:
        return None
    except ValueError as error:  # an escape beyond Unicode, in the parser written in Python
        faults.add(START, (), "RA003", f"found text that is no YAML: {error}")
        return None
    return builder.document


def _events(text: str) -> Iterator[Any]:
    """The parser's events; by libyaml where PyYAML has it, since that is several times faster.

    Both parsers are lazy and keep their own stack, so that a fault stops the work where it is.
    """
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(text)
    return iter(loader.get_event, None)


def _place(mark: Any) -> Place:
    return START if mark is None else Place(mark.line + 1, mark.column + 1)


class _Stop(Exception):
    """Nothing after this point is read."""


@dataclass(slots=True)
class _Open:
    """A list or mapping whose end has not come yet.

    Attributes:
        data: what it holds.
        loc: its place; None if nothing of it is kept.
        named: of a mapping, whether a value comes next.
        name: the name of this value; None if it is refused.
    """

    data: dict[str, Any] | list[Any]
    loc: Loc | None
    named: bool = False
    name: str | None = None

    @property
    def awaits_name(self) -> bool:
        return isinstance(self.data, dict) and not self.named


class _Builder:
    """Builds the data of one file, event by event, and reports what an audit does not take."""

    def __init__(self, faults: Faults) -> None:
        self.document = Document()
        self._faults = faults
        self._open: list[_Open] = []
        self._documents = self._values = 0

    def take(self, event: Any) -> None:
        """Take the parser's next event."""
        if isinstance(event, ScalarEvent):
            self._count(event)
            if self._open and self._open[-1].awaits_name:
                self._name(event, self._open[-1])
            else:
                self._scalar(event)
        elif isinstance(event, MappingStartEvent | SequenceStartEvent):
            self._count(event)
            self._begin(event)
        elif isinstance(event, MappingEndEvent | SequenceEndEvent):
            self._open.pop()
        elif isinstance(event, AliasEvent):
            self._tell(event, "RA007", f"found the alias *{event.anchor}; expected a value")
            self._put(event, None, doubtful=True)
        elif isinstance(event, DocumentStartEvent):
            self._documents += 1
            if self._documents > 1:
                self._stop(event, "RA004", "found a second YAML document; expected one")

    def _count(self, event: Any) -> None:
        self._values += 1
        if self._values > MAX_VALUES:
            words = f"found more than {MAX_VALUES} values; expected a few thousand"
            self._stop(event, "RA016", words)

    def _loc(self) -> Loc | None:
        """The place of the next value; None if it is not kept."""
        if not self._open:
            return ()
        top = self._open[-1]
        step = len(top.data) if isinstance(top.data, list) else top.name
        return None if top.loc is None or step is None else (*top.loc, step)

    def _here(self) -> Loc:
        """The place of the next value, or of the nearest one above it that is kept."""
        if (found := self._loc()) is not None:
            return found
        return next((one.loc for one in reversed(self._open) if one.loc is not None), ())

    def _tell(self, event: Any, rule: str, message: str, remedy: str = "") -> None:
        self._faults.add(_place(event.start_mark), self._here(), rule, message, remedy)

    def _stop(self, event: Any, rule: str, message: str) -> None:
        self._tell(event, rule, message)
        raise _Stop

    def _put(self, event: Any, value: Any, doubtful: bool = False) -> Loc | None:
        """Put the next value in its place."""
        loc = self._loc()
        top = self._open[-1] if self._open else None
        if top is not None and top.awaits_name:  # an alias, list or mapping in place of a name
            top.named, top.name = True, None
            return None
        if loc is not None:
            self.document.marks[loc] = event.start_mark
            if doubtful:
                self.document.doubtful.add(loc)
            if top is None:
                self.document.data = value
            elif isinstance(top.data, list):
                top.data.append(value)
            else:
                top.data[str(top.name)] = value
        if top is not None:
            top.named = False
        return loc

    def _begin(self, event: Any) -> None:
        if len(self._open) >= MAX_DEPTH:
            words = f"found nesting deeper than {MAX_DEPTH}; expected about ten levels"
            self._stop(event, "RA013", words)
        if self._open and self._open[-1].awaits_name:
            self._open[-1].name = None
            self._tell(event, "RA015", "found a list or mapping as a name; expected text")
        tagged = self._is_tagged(event)
        data: dict[str, Any] | list[Any] = {} if isinstance(event, MappingStartEvent) else []
        loc = self._put(event, None if tagged else data, doubtful=tagged)
        self._open.append(_Open(data, None if tagged else loc))

    def _is_tagged(self, event: Any) -> bool:
        """Report an anchor and a tag; return whether a tag hides what the value means."""
        if event.anchor is not None:
            self._tell(event, "RA007", f"found the anchor &{event.anchor}; expected none")
        if event.tag is not None:
            self._tell(event, "RA008", f"found the tag {quoted(event.tag)}; expected none")
        return event.tag is not None

    def _is_hidden(self, event: Any) -> bool:
        """Whether nobody can tell what a scalar means."""
        control = UNREADABLE.search(event.value) if event.style == '"' else None
        if control is not None:  # an escape stands for it; elsewhere it stands for itself
            found = f"found the control character {control.group()!r}; expected readable text"
            self._tell(event, "RA002", found)
        return self._is_tagged(event) or control is not None

    def _scalar(self, event: Any) -> None:
        if self._is_hidden(event):
            self._put(event, None, doubtful=True)
            return
        if event.style:  # of a plain scalar None or empty, depending on the parser
            self._put(event, event.value)
            return
        value, doubt = read_plain(event.value)
        if doubt is not None:
            self._tell(event, doubt.rule, doubt.message, doubt.remedy)
        loc = self._put(event, value, doubtful=doubt is not None)
        if loc is not None and not isinstance(value, str):
            self.document.written[loc] = event.value

    def _name(self, event: Any, top: _Open) -> None:
        """Take a scalar as the name of what comes next."""
        top.name = None
        hidden, name = self._is_hidden(event), event.value
        doubt = None if event.style or hidden else doubt_about_name(name)
        top.named, top.name = True, None if hidden or doubt is not None else name
        if doubt is not None:
            self._faults.add(_place(event.start_mark), top.loc or (), doubt.rule, doubt.message)
        loc = self._loc()
        if loc is None:
            return
        if loc in self.document.names:
            first = _place(self.document.names[loc]).line
            words = f"found {quoted(name)} a second time (first on line {first}); expected it once"
            self._tell(event, "RA006", words)
            top.name = None
        else:
            self.document.names[loc] = event.start_mark
