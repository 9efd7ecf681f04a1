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

from reproaudit.audit.loading.fault import START, Fault, Place, quoted
from reproaudit.audit.loading.scalars import Plain, doubt_about_name, read_plain
from reproaudit.audit.loading.syntax import explain_syntax
from reproaudit.audit.rules import RULES, Loc

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


class _Marked:
    """Something that stands in the file; its place is worked out when a fault needs it.

    An audit has some two thousand of these, so that they are made as cheaply as Python can: plain
    slots, and nothing computed that no fault has asked for.
    """

    __slots__ = ("mark",)

    mark: Mark | None

    @property
    def place(self) -> Place:
        """Line and column, from 1."""
        return _place(self.mark)


class ScalarNode(_Marked):
    """One value.

    Attributes:
        value: what it means.
        text: as it is written in the file.
        damaged: whether a fault of this node is already reported.
    """

    __slots__ = ("damaged", "text", "value")

    def __init__(self, mark: Mark | None, value: Plain, text: str, damaged: bool = False) -> None:
        self.mark = mark
        self.value = value
        self.text = text
        self.damaged = damaged


class SequenceNode(_Marked):
    """A list.

    Attributes:
        items: what stands in it, besides what has been cut out.
        damaged: whether a fault of this node, or below it, is already reported.
    """

    __slots__ = ("_positions", "damaged", "items")

    def __init__(
        self, mark: Mark | None, items: list[Node] | None = None, damaged: bool = False
    ) -> None:
        self.mark = mark
        self.items: list[Node] = [] if items is None else items
        self.damaged = damaged
        self._positions: list[int] | None = None

    def cut(self, index: int) -> Node:
        """Take one item out; the others keep their positions."""
        if self._positions is None:
            self._positions = list(range(len(self.items)))
        del self._positions[index]
        return self.items.pop(index)

    def position(self, index: int) -> int:
        """Where an item stands in the file's list."""
        return index if self._positions is None else self._positions[index]


class MappingNode(_Marked):
    """Fields or names and what they hold, in the file's order.

    Attributes:
        entries: what they hold, besides what has been cut out.
        keys: where each field or name stands.
        damaged: whether a fault of this node, or below it, is already reported.
    """

    __slots__ = ("damaged", "entries", "keys")

    def __init__(self, mark: Mark | None, damaged: bool = False) -> None:
        self.mark = mark
        self.entries: dict[str, Node] = {}
        self.keys: dict[str, Mark | None] = {}
        self.damaged = damaged

    def put(self, name: str, mark: Mark | None, node: Node) -> None:
        """Add a field or a name, which stands at the mark."""
        self.entries[name] = node
        self.keys[name] = mark


Node = ScalarNode | SequenceNode | MappingNode


def plain(node: Node) -> Any:
    """The tree without places, as ``json.dumps`` takes it."""
    if isinstance(node, MappingNode):
        return {
            name: below.value if type(below) is ScalarNode else plain(below)
            for name, below in node.entries.items()
        }
    if isinstance(node, SequenceNode):
        return [item.value if type(item) is ScalarNode else plain(item) for item in node.items]
    return node.value


def child_node(node: Node, step: str | int) -> Node | None:
    """What stands one step further down, if anything does."""
    if isinstance(node, MappingNode) and isinstance(step, str):
        return node.entries.get(step)
    if isinstance(node, SequenceNode) and isinstance(step, int):
        return node.items[step] if 0 <= step < len(node.items) else None
    return None


def children(node: Node) -> Iterator[tuple[str | int, Node]]:
    """Everything one step further down, with the step."""
    if isinstance(node, MappingNode):
        yield from node.entries.items()
    elif isinstance(node, SequenceNode):
        yield from enumerate(node.items)


def node_at(root: Node, loc: Loc) -> Node | None:
    """What stands at a loc, if anything does."""
    node: Node | None = root
    for step in loc:
        node = child_node(node, step) if node is not None else None
    return node


def as_written(root: Node, loc: Loc) -> Loc:
    """A loc of the tree as a loc of the file, which may hold more items."""
    node: Node | None = root
    written: list[str | int] = []
    for step in loc:
        below = child_node(node, step) if node is not None else None
        if below is not None and isinstance(node, SequenceNode) and isinstance(step, int):
            step = node.position(step)
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
        below = child_node(node, step)
        if below is None:
            break
        place = below.place
        if isinstance(node, MappingNode):
            last = i == len(loc) - 1
            if not isinstance(below, ScalarNode) or (at_key and last):
                place = _place(node.keys[str(step)])
        node = below
    return place


class _Open:
    """A list or mapping whose end has not come yet.

    Attributes:
        node: the list or mapping.
        entries: of a mapping: what it holds so far; None of a list.
        items: of a list: the same; None of a mapping.
        key: of a mapping: where the key stands whose value comes next; None if a key comes next.
        name: the key's name, None if it is refused and its value dropped.
        is_key: whether the whole collection stands where a key should.
        tagged: whether a tag makes of it what nobody can tell.
    """

    __slots__ = ("entries", "is_key", "items", "key", "name", "node", "tagged")

    def __init__(self, node: SequenceNode | MappingNode, is_key: bool, tagged: bool) -> None:
        self.node = node
        self.entries = node.entries if isinstance(node, MappingNode) else None
        self.items = node.items if isinstance(node, SequenceNode) else None
        self.key: Mark | None = None
        self.name: str | None = None
        self.is_key = is_key
        self.tagged = tagged


class _Stop(Exception):
    """Nothing after this point can be read."""


class TreeBuilder:
    """Builds the tree of one file and collects its faults."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.faults: list[Fault] = []
        self.root: Node | None = None
        self._stack: list[_Open] = []
        self._top: _Open | None = None
        """The last of the stack."""
        self._documents = 0

    def build(self, text: str) -> Node | None:
        """The tree of the text; None if it is empty or cannot be read to its end."""
        takers: dict[type[Event], Callable[[Any], None]] = {
            ScalarEvent: self._scalar,
            MappingStartEvent: self._begin_mapping,
            SequenceStartEvent: self._begin_sequence,
            MappingEndEvent: self._end,
            SequenceEndEvent: self._end,
            AliasEvent: self._alias,
            DocumentStartEvent: self._document,
        }
        try:
            for event in _events(text):
                take = takers.get(type(event))
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
            self._report_here(event, "RA008", f"found the tag {quoted(event.tag)}; expected none")
        return event.tag is not None

    def _begin_mapping(self, event: MappingStartEvent) -> None:
        self._begin(event, MappingNode(event.start_mark))

    def _begin_sequence(self, event: SequenceStartEvent) -> None:
        self._begin(event, SequenceNode(event.start_mark))

    def _begin(self, event: CollectionStartEvent, node: SequenceNode | MappingNode) -> None:
        odd = event.anchor is not None or event.tag is not None
        tagged = odd and self._is_tagged(event)
        if len(self._stack) >= MAX_DEPTH:
            self._report_here(
                event, "RA013", f"found nesting deeper than {MAX_DEPTH}; expected about ten levels"
            )
            raise _Stop
        top = self._top
        is_key = top is not None and top.entries is not None and top.key is None
        if is_key:
            self._report_here(event, "RA015", "found a list or mapping as a name; expected text")
        self._top = _Open(node, is_key, tagged)
        self._stack.append(self._top)

    def _end(self, _: Event) -> None:
        done = self._stack.pop()
        top = self._top = self._stack[-1] if self._stack else None
        if done.is_key:
            assert top is not None
            top.key, top.name = done.node.mark, None
            top.node.damaged = True
        elif done.tagged and top is not None:
            self._put(ScalarNode(done.node.mark, None, "", damaged=True))
        else:
            self._put(done.node)

    def _put(self, node: Node) -> None:
        """Hang a finished node where it belongs; only a key that is an alias comes as a key."""
        top = self._top
        if top is None:
            self.root = node
        elif top.items is not None:
            top.items.append(node)
        elif top.key is None:
            top.key, top.name = node.mark, None
            top.node.damaged = True
        else:
            if top.name is not None:
                assert top.entries is not None
                top.entries[top.name] = node
            top.key = None

    def _loc(self, levels: int | None = None) -> Loc:
        """Where the next node will stand, or the collection that so many levels are open above."""
        steps: list[str | int] = []
        for one in self._stack[:levels]:
            if one.items is not None:
                steps.append(len(one.items))
            elif one.key is not None and one.name is not None:
                steps.append(one.name)
        return tuple(steps)

    def _report_here(
        self, event: Event, rule: str, message: str, remedy: str | None = None
    ) -> None:
        self.report(_place(event.start_mark), self._loc(), rule, message, remedy)

    # --- scalars ----------------------------------------------------------------------------

    def _scalar(self, event: ScalarEvent) -> None:
        text: str = event.value
        style = event.style  # of a plain scalar None or empty, depending on the parser
        odd = event.anchor is not None or event.tag is not None
        tagged = odd and self._is_tagged(event)
        control = None
        if style == '"':  # elsewhere a character stands for itself, and was read
            control = _UNPRINTABLE.search(text)
            if control is not None:
                self._report_here(
                    event,
                    "RA002",
                    f"found the control character {control.group()!r}; expected readable text",
                )
        top = self._top
        if top is not None and top.entries is not None and top.key is None:
            self._key(event, top)
            return
        node = ScalarNode(event.start_mark, text, text)
        if not style and not tagged:
            node.value, doubt = read_plain(text)
            if doubt is not None:
                node.damaged = True
                self._report_here(event, doubt.rule, doubt.message, doubt.remedy)
        if tagged or control is not None:  # what it means is anybody's guess
            node.value, node.damaged = None, True
        if top is None:
            self.root = node
        elif top.items is not None:
            top.items.append(node)
        else:  # as `_put` does: this is where most of an audit passes through
            if top.name is not None and top.entries is not None:
                top.entries[top.name] = node
            top.key = None

    def _key(self, event: ScalarEvent, top: _Open) -> None:
        mapping = top.node
        assert isinstance(mapping, MappingNode)
        name: str = event.value
        mark = top.key = event.start_mark
        top.name = name
        doubt = doubt_about_name(name) if not event.style else None
        if doubt is not None:
            self.report(_place(mark), self._loc(-1), doubt.rule, doubt.message)
            mapping.damaged = True
            if doubt.rule != "RA010":
                top.name = None
                return
        if name in mapping.keys:
            first = _place(mapping.keys[name]).line
            self.report(
                _place(mark),
                (*self._loc(-1), name),
                "RA006",
                f"found {quoted(name)} a second time (first on line {first}); expected it once",
            )
            top.name = None
        else:
            mapping.keys[name] = mark

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
