"""From the text of a YAML file to a tree of plain values, each with its place.

PyYAML parses the text into events. The tree is built from the events here rather than by PyYAML,
for three reasons. An audit takes less than YAML gives: no anchors, aliases, merge keys, tags or
second documents, no equal keys, and only the scalars that every reader understands alike; PyYAML's
own nodes no longer show anchors and aliases. PyYAML composes by recursion, so that a file of
brackets ends the process. And what stands before broken syntax is still looked at.

A value in doubtful notation is reported, marked as damaged and read as it was meant, so that what
follows from it is not reported again.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Any

import yaml
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from reproaudit.audit.loading.fault import MOST_FAULTS, START, Fault, Place
from reproaudit.audit.loading.scalars import Plain, doubt_about_name, read_plain
from reproaudit.audit.loading.syntax import explain_syntax
from reproaudit.audit.rules import RULES, Loc
from reproaudit.audit.rules.values import quoted

MAX_DEPTH = 32
"""Levels of nesting; an audit needs about ten."""

MAX_VALUES = 200_000
"""Values and names in a file; the largest audit so far has four thousand."""


Mark = Any
"""A place as PyYAML's parsers give it: `line` and `column` from 0."""


class _Marked:
    """A node of the tree. Its place is worked out when a fault needs it.

    Attributes:
        mark: the place where it begins; None at the top of the file.
        damaged: True if a fault of this node, or of one below it, is already reported.
    """

    __slots__ = ("damaged", "mark")

    def __init__(self, mark: Mark | None, damaged: bool = False) -> None:
        self.mark = mark
        self.damaged = damaged

    @property
    def place(self) -> Place:
        """Line and column, from 1."""
        return _place(self.mark)


class ScalarNode(_Marked):
    """One value.

    Attributes:
        value: the value as it is meant.
        text: the value as it is written in the file.
    """

    __slots__ = ("text", "value")

    def __init__(self, mark: Mark | None, value: Plain, text: str, damaged: bool = False) -> None:
        self.mark = mark
        self.value = value
        self.text = text
        self.damaged = damaged


class SequenceNode(_Marked):
    """A list.

    Attributes:
        items: its entries, besides those that have been cut out.
    """

    __slots__ = ("_positions", "items")

    def __init__(self, mark: Mark | None, damaged: bool = False) -> None:
        super().__init__(mark, damaged)
        self.items: list[Node] = []
        self._positions: list[int] | None = None

    def cut(self, index: int) -> Node:
        """Take one item out; the others keep their positions."""
        if self._positions is None:
            self._positions = list(range(len(self.items)))
        del self._positions[index]
        return self.items.pop(index)

    def position(self, index: int) -> int:
        """The position of an item in the file's list."""
        return index if self._positions is None else self._positions[index]


class MappingNode(_Marked):
    """Fields or names and the nodes below them, in the file's order.

    Attributes:
        entries: the nodes by name, besides those that have been cut out.
        keys: the place of each field or name.
    """

    __slots__ = ("entries", "keys")

    def __init__(self, mark: Mark | None, damaged: bool = False) -> None:
        super().__init__(mark, damaged)
        self.entries: dict[str, Node] = {}
        self.keys: dict[str, Mark | None] = {}

    def put(self, name: str, mark: Mark | None, node: Node) -> None:
        """Add a field or a name, which begins at the mark."""
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


def shortened(value: Any, most: int, kept: Collection[str]) -> Any:
    """Plain data with at most so many entries of each list and mapping, and all names in `kept`."""
    if isinstance(value, dict):
        names = [name for i, name in enumerate(value) if i < most or name in kept]
        return {name: shortened(value[name], most, kept) for name in names}
    if isinstance(value, list):
        return [shortened(one, most, kept) for one in value[:most]]
    return value


def child_node(node: Node, step: str | int) -> Node | None:
    """The node one step further down, if there is one."""
    if isinstance(node, MappingNode) and isinstance(step, str):
        return node.entries.get(step)
    if isinstance(node, SequenceNode) and isinstance(step, int):
        return node.items[step] if 0 <= step < len(node.items) else None
    return None


def children(node: Node) -> Iterator[tuple[str | int, Node]]:
    """Every node one step further down, with the step."""
    if isinstance(node, MappingNode):
        yield from node.entries.items()
    elif isinstance(node, SequenceNode):
        yield from enumerate(node.items)


def node_at(root: Node, loc: Loc) -> Node | None:
    """The node at a place, if there is one."""
    node: Node | None = root
    for step in loc:
        node = child_node(node, step) if node is not None else None
    return node


def as_written(root: Node, loc: Loc) -> Loc:
    """A loc of the tree as a loc of the file, whose lists may hold more items."""
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
    """The place of an audit's loc in the file.

    A scalar's place is its value, that of a list or mapping the key that holds it. What is not
    written in the file (a default) has the place of the nearest node above it.
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
        fields: True if it is a mapping.
        is_key: True if it is written where a name should be.
        tagged: True if a tag hides what it means.
        key: of a mapping, the place of the name whose value comes next; None if a name comes next.
        name: this name; None if it is refused and its value is dropped.
    """

    __slots__ = ("fields", "is_key", "key", "name", "node", "tagged")

    def __init__(self, node: SequenceNode | MappingNode, is_key: bool, tagged: bool) -> None:
        self.node = node
        self.fields = type(node) is MappingNode
        self.is_key = is_key
        self.tagged = tagged
        self.key: Mark | None = None
        self.name: str | None = None

    def put(self, node: Node) -> None:
        """Add a finished node; one that is no scalar and comes as a name is dropped."""
        if not self.fields:
            self.node.items.append(node)  # type: ignore[union-attr]
        elif self.key is None:
            self.key, self.name, self.node.damaged = node.mark, None, True
        else:
            if self.name is not None:
                self.node.entries[self.name] = node  # type: ignore[union-attr]
            self.key = None


class _Stop(Exception):
    """Nothing after this point is read."""


class TreeBuilder:
    """Builds the tree of one file and collects its faults.

    Attributes:
        faults: the first faults.
        unlisted: the number of further faults.
    """

    def __init__(self, file: str) -> None:
        self.file = file
        self.faults: list[Fault] = []
        self.unlisted = 0
        self._root: Node | None = None
        self._open: list[_Open] = []

    def build(self, text: str) -> Node | None:
        """The tree of the text; None if it is empty or cannot be read to its end."""
        documents = values = 0
        top: _Open | None = None
        try:
            for event in _events(text):
                kind = type(event)
                if kind is ScalarEvent:
                    values += 1
                    if top is not None and top.fields and top.key is None:
                        self._name(event, top)
                        continue
                    node: Node = self._scalar(event)
                    if top is None:
                        self._root = node
                    else:
                        top.put(node)
                elif kind is MappingStartEvent or kind is SequenceStartEvent:
                    values += 1
                    top = self._begin(event, top)
                elif kind is MappingEndEvent or kind is SequenceEndEvent:
                    top = self._end()
                elif kind is AliasEvent:
                    self._tell(event, "RA007", f"found the alias *{event.anchor}; expected a value")
                    node = ScalarNode(event.start_mark, None, f"*{event.anchor}", damaged=True)
                    if top is not None:
                        top.put(node)
                elif kind is DocumentStartEvent:
                    documents += 1
                    if documents > 1:
                        words = "found a second YAML document; expected one audit"
                        self._stop(event, "RA004", words)
                if values > MAX_VALUES:
                    words = f"found more than {MAX_VALUES} values; expected a few thousand"
                    self._stop(event, "RA016", words)
        except yaml.YAMLError as error:
            place, problem, remedy = explain_syntax(error)
            self._report(place, (), "RA003", f"found broken YAML: {problem}", remedy)
            return None
        except _Stop:
            return None
        except ValueError as error:  # an escape beyond Unicode, in the parser written in Python
            self._report(START, (), "RA003", f"found text that is no YAML: {error}")
            return None
        return self._root

    def _report(
        self, place: Place, loc: Loc, rule: str, message: str, remedy: str | None = None
    ) -> None:
        if len(self.faults) >= MOST_FAULTS:
            self.unlisted += 1
            return
        remedy = RULES[rule].remedy if remedy is None else remedy
        self.faults.append(Fault(self.file, place, loc, message, remedy, rule))

    def _tell(self, event: Event, rule: str, message: str, remedy: str | None = None) -> None:
        """Report a fault at the event, which begins the next node."""
        self._report(_place(event.start_mark), self._loc(), rule, message, remedy)

    def _stop(self, event: Event, rule: str, message: str) -> None:
        self._tell(event, rule, message)
        raise _Stop

    def _loc(self, levels: int | None = None) -> Loc:
        """The loc of the next node; with -1, of the collection that holds it."""
        steps: list[str | int] = []
        for one in self._open[:levels]:
            if isinstance(one.node, SequenceNode):
                steps.append(len(one.node.items))
            elif one.key is not None and one.name is not None:
                steps.append(one.name)
        return tuple(steps)

    def _begin(self, event: Any, top: _Open | None) -> _Open:
        tagged = (event.anchor is not None or event.tag is not None) and self._is_tagged(event)
        if len(self._open) >= MAX_DEPTH:
            words = f"found nesting deeper than {MAX_DEPTH}; expected about ten levels"
            self._stop(event, "RA013", words)
        is_key = top is not None and top.fields and top.key is None
        if is_key:
            self._tell(event, "RA015", "found a list or mapping as a name; expected text")
        made = MappingNode if type(event) is MappingStartEvent else SequenceNode
        self._open.append(_Open(made(event.start_mark), is_key, tagged))
        return self._open[-1]

    def _end(self) -> _Open | None:
        done = self._open.pop()
        node: Node = done.node
        top = self._open[-1] if self._open else None
        if done.tagged and top is not None and not done.is_key:
            node = ScalarNode(node.mark, None, "", damaged=True)
        if top is None:
            self._root = node
        else:
            top.put(node)
        return top

    def _is_tagged(self, event: Any) -> bool:
        """True if a tag changes what the node means; reports it, and an anchor."""
        if event.anchor is not None:
            self._tell(event, "RA007", f"found the anchor &{event.anchor}; expected none")
        if event.tag is not None:
            self._tell(event, "RA008", f"found the tag {quoted(event.tag)}; expected none")
        return event.tag is not None

    def _scalar(self, event: ScalarEvent) -> ScalarNode:
        text: str = event.value
        hidden = (event.anchor is not None or event.tag is not None) and self._is_tagged(event)
        if event.style == '"' and self._has_control_character(event):
            hidden = True
        if hidden:  # nobody can tell what it means
            return ScalarNode(event.start_mark, None, text, damaged=True)
        if event.style:  # of a plain scalar None or empty, depending on the parser
            return ScalarNode(event.start_mark, text, text)
        value, doubt = read_plain(text)
        if doubt is not None:
            self._tell(event, doubt.rule, doubt.message, doubt.remedy)
        return ScalarNode(event.start_mark, value, text, damaged=doubt is not None)

    def _has_control_character(self, event: ScalarEvent) -> bool:
        """True if an escape stands for one; elsewhere a character stands for itself."""
        control = _UNPRINTABLE.search(event.value)
        if control is not None:
            found = f"found the control character {control.group()!r}; expected readable text"
            self._tell(event, "RA002", found)
        return control is not None

    def _name(self, event: ScalarEvent, top: _Open) -> None:
        """Take a scalar as the name of what comes next."""
        mapping, name = top.node, event.value
        assert isinstance(mapping, MappingNode)
        if event.anchor is not None or event.tag is not None:
            self._is_tagged(event)
        if event.style == '"':
            self._has_control_character(event)
        mark = top.key = event.start_mark
        top.name = name
        doubt = doubt_about_name(name) if not event.style else None
        if doubt is not None:
            self._report(_place(mark), self._loc(-1), doubt.rule, doubt.message)
            mapping.damaged = True
            if doubt.rule != "RA010":
                top.name = None
                return
        if name in mapping.keys:
            first = _place(mapping.keys[name]).line
            self._report(
                _place(mark),
                (*self._loc(-1), name),
                "RA006",
                f"found {quoted(name)} a second time (first on line {first}); expected it once",
            )
            top.name = None
        else:
            mapping.keys[name] = mark


def _events(text: str) -> Iterator[Any]:
    """The parser's events; by libyaml where PyYAML has it, since that is several times faster.

    Both parsers are lazy and keep their own stack, so that a fault stops the work where it is.
    """
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(text)
    return iter(loader.get_event, None)


def _place(mark: Mark | None) -> Place:
    return START if mark is None else Place(mark.line + 1, mark.column + 1)


_UNPRINTABLE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]"
)
