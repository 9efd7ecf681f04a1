"""From the text of a YAML file to a tree of plain values, each with its place.

PyYAML parses the text into events. The tree is built from the events here rather than by PyYAML,
because an audit takes less than YAML gives: no anchors, aliases, merge keys, tags or second
documents, no equal keys, and only the scalars that every reader understands alike. A value in
doubtful notation is reported, marked as damaged and read as it was meant, so that what follows from
it is not reported again and everything else still is.

Nesting is bounded and the tree is built without recursion: no input can exhaust the stack.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import yaml
from yaml.events import (
    AliasEvent,
    CollectionStartEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from reproaudit.loading.fault import START, Fault, Place, show
from reproaudit.loading.scalars import Plain, doubt_about_name, read_plain
from reproaudit.loading.syntax import explain_syntax
from reproaudit.rules import RULES, Loc

MAX_DEPTH = 32
"""Levels of nesting; an audit needs about ten."""


class Mark(Protocol):
    """A place as the parser counts, from 0."""

    @property
    def line(self) -> int:
        """The line."""

    @property
    def column(self) -> int:
        """The column."""


@dataclass(slots=True, eq=False)
class _Marked:
    """Something that stands in the file; its place is worked out when a fault needs it."""

    mark: Mark | None

    @property
    def place(self) -> Place:
        """Line and column, from 1."""
        return _place(self.mark)


@dataclass(slots=True, eq=False)
class ScalarNode(_Marked):
    """One value."""

    value: Plain
    text: str
    """As it is written in the file."""
    quoted: bool = False
    damaged: bool = False
    """Whether a fault of this node, or below it, is already reported."""


@dataclass(slots=True, eq=False)
class SequenceNode(_Marked):
    """A list."""

    items: list[Node] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)
    """Where each item stands in the file's list, of which some may have been cut out."""
    damaged: bool = False

    def append(self, node: Node) -> None:
        """Add an item at the end."""
        self.positions.append(len(self.items))
        self.items.append(node)


@dataclass(slots=True, eq=False)
class Entry(_Marked):
    """A field or a name in a mapping, and what it holds."""

    node: Node


@dataclass(slots=True, eq=False)
class MappingNode(_Marked):
    """Fields or names and what they hold, in the file's order."""

    entries: dict[str, Entry] = field(default_factory=dict)
    damaged: bool = False


Node = ScalarNode | SequenceNode | MappingNode


def plain(node: Node) -> Any:
    """The tree without places, as ``json.dumps`` takes it."""
    if isinstance(node, MappingNode):
        return {key: plain(entry.node) for key, entry in node.entries.items()}
    if isinstance(node, SequenceNode):
        return [plain(item) for item in node.items]
    return node.value


def child(node: Node, step: str | int) -> Node | None:
    """What stands one step further down, if anything does."""
    if isinstance(node, MappingNode) and isinstance(step, str):
        return node.entries[step].node if step in node.entries else None
    if isinstance(node, SequenceNode) and isinstance(step, int):
        return node.items[step] if 0 <= step < len(node.items) else None
    return None


def children(node: Node) -> Iterator[tuple[str | int, Node]]:
    """Everything one step further down, with the step."""
    if isinstance(node, MappingNode):
        for name, entry in node.entries.items():
            yield name, entry.node
    elif isinstance(node, SequenceNode):
        yield from enumerate(node.items)


def node_at(root: Node, loc: Loc) -> Node | None:
    """What stands at a loc, if anything does."""
    node: Node | None = root
    for step in loc:
        node = child(node, step) if node is not None else None
    return node


def as_written(root: Node, loc: Loc) -> Loc:
    """A loc of the tree as a loc of the file, which may hold more items."""
    node: Node | None = root
    written: list[str | int] = []
    for step in loc:
        below = child(node, step) if node is not None else None
        if below is not None and isinstance(node, SequenceNode) and isinstance(step, int):
            step = node.positions[step]
        written.append(step)
        node = below
    return tuple(written)


def place_of(root: Node, loc: Loc, *, at_key: bool = False) -> Place:
    """Where an audit's loc stands in the file.

    A scalar stands at its value, a list or mapping at the key that holds it. What is not written in
    the file (a default) stands where the nearest thing above it does.
    """
    node, place = root, root.place
    for i, step in enumerate(loc):
        below = child(node, step)
        if below is None:
            break
        place = below.place
        if isinstance(node, MappingNode):
            last = i == len(loc) - 1
            if not isinstance(below, ScalarNode) or (at_key and last):
                place = node.entries[str(step)].place
        node = below
    return place


@dataclass(slots=True)
class _Open:
    """A list or mapping whose end has not come yet."""

    node: SequenceNode | MappingNode
    loc: Loc
    key: Mark | None = None
    """Of a mapping: where the key stands whose value comes next."""
    name: str | None = None
    """The key's name, None if it is refused and its value dropped."""
    is_key: bool = False
    """Whether the whole collection stands where a key should."""
    tagged: bool = False
    """Whether a tag makes of it what nobody can tell."""


class _Stop(Exception):
    """Nothing after this point can be read."""


class TreeBuilder:
    """Builds the tree of one file and collects its faults."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.faults: list[Fault] = []
        self.root: Node | None = None
        self._stack: list[_Open] = []
        self._documents = 0
        self._takers: dict[type[Event], Callable[[Any], None]] = {
            ScalarEvent: self._scalar,
            MappingStartEvent: self._begin_mapping,
            SequenceStartEvent: self._begin_sequence,
            MappingEndEvent: self._end,
            SequenceEndEvent: self._end,
            AliasEvent: self._alias,
            DocumentStartEvent: self._document,
        }

    def build(self, text: str) -> Node | None:
        """The tree of the text; None if it is empty or cannot be read to its end."""
        try:
            for event in _events(text):
                take = self._takers.get(type(event))
                if take is not None:
                    take(event)
        except yaml.YAMLError as error:
            self._syntax(error)
            return None
        except _Stop:
            return None
        except ValueError as error:  # an escape beyond Unicode, in the parser written in Python
            self.report(START, (), "RA003", f"found text that is no YAML: {error}")
            return None
        return self.root

    def report(
        self, place: Place, loc: Loc, rule: str, message: str, remedy: str | None = None
    ) -> None:
        """Add a fault."""
        words = remedy if remedy is not None else RULES[rule].remedy
        self.faults.append(Fault(self.file, place, loc, message, words, rule))

    # --- events -----------------------------------------------------------------------------

    def _document(self, event: DocumentStartEvent) -> None:
        self._documents += 1
        if self._documents > 1:
            self.report(
                _place(event.start_mark),
                (),
                "RA004",
                "found a second YAML document; expected one audit",
            )
            raise _Stop

    def _alias(self, event: AliasEvent) -> None:
        self._report_here(event, "RA007", f"found the alias *{event.anchor}; expected a value")
        self._put(ScalarNode(event.start_mark, None, f"*{event.anchor}", damaged=True))

    def _is_tagged(self, event: ScalarEvent | CollectionStartEvent) -> bool:
        """Whether a tag changes what the node means; reports it, and an anchor."""
        if event.anchor is not None:
            self._report_here(event, "RA007", f"found the anchor &{event.anchor}; expected none")
        if event.tag is not None:
            self._report_here(event, "RA008", f"found the tag {show(event.tag)}; expected none")
        return event.tag is not None

    def _begin_mapping(self, event: MappingStartEvent) -> None:
        self._begin(event, MappingNode(event.start_mark))

    def _begin_sequence(self, event: SequenceStartEvent) -> None:
        self._begin(event, SequenceNode(event.start_mark))

    def _begin(self, event: CollectionStartEvent, node: SequenceNode | MappingNode) -> None:
        tagged = self._is_tagged(event)
        if len(self._stack) >= MAX_DEPTH:
            self._report_here(
                event, "RA013", f"found nesting deeper than {MAX_DEPTH}; expected about ten levels"
            )
            raise _Stop
        is_key = self._expects_key()
        if is_key:
            self._report_here(event, "RA015", "found a list or mapping as a name; expected text")
        self._stack.append(_Open(node, self._loc(), is_key=is_key, tagged=tagged))

    def _end(self, _: Event) -> None:
        done = self._stack.pop()
        if done.is_key:
            top = self._stack[-1]
            top.key, top.name = done.node.mark, None
            top.node.damaged = True
        elif done.tagged and self._stack:
            self._put(ScalarNode(done.node.mark, None, "", damaged=True))
        else:
            self._put(done.node)

    def _expects_key(self) -> bool:
        return bool(
            self._stack
            and isinstance(self._stack[-1].node, MappingNode)
            and self._stack[-1].key is None
        )

    def _put(self, node: Node) -> None:
        """Hang a finished node where it belongs; only a key that is an alias comes as a key."""
        if not self._stack:
            self.root = node
            return
        top = self._stack[-1]
        if isinstance(top.node, SequenceNode):
            top.node.append(node)
        elif top.key is None:
            top.key, top.name = node.mark, None
            top.node.damaged = True
        else:
            if top.name is not None:
                top.node.entries[top.name] = Entry(top.key, node)
            top.key = None

    def _loc(self) -> Loc:
        """Where the next node will stand."""
        if not self._stack:
            return ()
        top = self._stack[-1]
        if isinstance(top.node, SequenceNode):
            return (*top.loc, len(top.node.items))
        if top.key is None or top.name is None:
            return top.loc
        return (*top.loc, top.name)

    def _report_here(
        self, event: Event, rule: str, message: str, remedy: str | None = None
    ) -> None:
        self.report(_place(event.start_mark), self._loc(), rule, message, remedy)

    # --- scalars ----------------------------------------------------------------------------

    def _scalar(self, event: ScalarEvent) -> None:
        tagged = self._is_tagged(event)
        is_plain = not event.style  # None or empty, depending on the parser
        escapes = event.style == '"'  # elsewhere a character stands for itself, and was read
        control = _UNPRINTABLE.search(event.value) if escapes else None
        if control is not None:
            self._report_here(
                event,
                "RA002",
                f"found the control character {control.group()!r}; expected readable text",
            )
        if self._expects_key():
            self._key(event)
            return
        node = ScalarNode(event.start_mark, event.value, event.value, quoted=not is_plain)
        if is_plain and not tagged:
            node.value, doubt = read_plain(event.value)
            if doubt is not None:
                node.damaged = True
                self._report_here(event, doubt.rule, doubt.message, doubt.remedy)
        if tagged or control is not None:  # what it means is anybody's guess
            node.value, node.damaged = None, True
        self._put(node)

    def _key(self, event: ScalarEvent) -> None:
        top = self._stack[-1]
        name = event.value
        top.key, top.name = event.start_mark, name
        doubt = doubt_about_name(name) if not event.style else None
        if doubt is not None:
            self.report(_place(event.start_mark), top.loc, doubt.rule, doubt.message)
            top.node.damaged = True
            top.name = name if doubt.rule == "RA010" else None
        assert isinstance(top.node, MappingNode)
        if top.name in top.node.entries:
            first = top.node.entries[top.name].place.line
            self.report(
                _place(event.start_mark),
                (*top.loc, name),
                "RA006",
                f"found {show(name)} a second time (first on line {first}); expected it once",
            )
            top.name = None

    def _syntax(self, error: yaml.YAMLError) -> None:
        place, problem, remedy = explain_syntax(error)
        self.report(place, (), "RA003", f"found broken YAML: {problem}", remedy)


def _events(text: str) -> Iterator[Event]:
    """The parser's events; by libyaml where PyYAML has it, since that is several times faster.

    Both parsers are lazy and keep their own stack, so that a fault stops the work where it stands.
    """
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(text)
    return iter(loader.get_event, None)


def _place(mark: Mark | None) -> Place:
    return START if mark is None else Place(mark.line + 1, mark.column + 1)


_UNPRINTABLE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]"
)
