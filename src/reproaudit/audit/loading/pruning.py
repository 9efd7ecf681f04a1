"""Cuts out of a tree what the models refuse, so that the rest is still checked.

A reviewer wants every fault at once, but the rules about several nodes need a valid audit. So what
is refused is cut out, and the names in it are remembered: a claim that is there, but could not be
read, is not reported as missing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from reproaudit.audit.loading.models import Complaint, known_field
from reproaudit.audit.loading.tree import (
    MappingNode,
    Node,
    ScalarNode,
    SequenceNode,
    child_node,
    node_at,
)
from reproaudit.audit.rules import Loc

UNKNOWN = "unknown"
"""The slug of a paper that has none."""


def _stand_ins(root: MappingNode) -> dict[str, Any]:
    """Values for the fields without which there is no audit."""
    paper = {
        "slug": _slug(root) or UNKNOWN,
        "title": "-",
        "authors": ["-"],
        "venue": "-",
        "year": 2000,
    }
    seeds = {"quick": [0, 1, 2, 3, 4], "paper": [0, 1, 2, 3, 4]}
    return {"schema_version": 1, "paper": paper, "seeds": seeds, "variables": []}


def _slug(root: MappingNode) -> str | None:
    """The slug as it is written, if it has the form of one."""
    written = node_at(root, ("paper", "slug"))
    slug = written.value if isinstance(written, ScalarNode) else None
    return slug if isinstance(slug, str) and re.fullmatch(r"[a-z][a-z0-9_]{0,63}", slug) else None


class Pruner:
    """Cuts refused nodes out of one tree, and remembers what it cut."""

    def __init__(self, root: MappingNode) -> None:
        self.root = root
        self._names: set[str] = {UNKNOWN}
        self._stood_in: set[str] = set()
        self._stand_ins = _stand_ins(root)

    def cut(self, found: Sequence[Complaint]) -> bool:
        """Cut the nodes of the complaints; False if nothing useful would be left."""
        locs = {one.loc: one for one in found}
        cut_any = False
        for loc in sorted(locs, key=_from_the_end):
            cut_any |= self._cut(loc, locs[loc])
        return cut_any

    def hide(self, name: str) -> None:
        """Hide violations about this name from now on."""
        self._names.add(name)

    def hides(self, loc: Loc, about: str | None) -> bool:
        """True if a violation may only follow from what was cut out."""
        if about in self._names or (loc and loc[0] in self._stood_in):
            return True
        node = node_at(self.root, loc)
        return node is not None and node.damaged

    def _cut(self, loc: Loc, one: Complaint) -> bool:
        if not loc:
            return self._stand_in(one.field)
        parent: Node = self.root
        above: list[Node] = [parent]
        for step in loc[:-1]:
            below = child_node(parent, step)
            if below is None:
                return False
            parent = below
            above.append(parent)
        removed = _remove(parent, loc[-1])
        if removed is None:
            return False
        field = next((step for step in reversed(loc) if isinstance(step, str)), "")
        self._names.update(_defined(removed, field))
        self._names.add(str(loc[-1]))
        if one.type == "extra_forbidden":
            parent.damaged |= known_field(one, self.root)
            return True
        for node in above:
            node.damaged = True
        return True

    def _stand_in(self, field: str) -> bool:
        if field not in self._stand_ins or field in self._stood_in:
            return False
        self._stood_in.add(field)
        node = _node(self._stand_ins[field], self.root)
        self.root.put(field, self.root.mark, node)
        return True


def _from_the_end(loc: Loc) -> tuple[Any, ...]:
    """A sort key by which the last entry of a list is cut first, so that no other one moves."""
    return tuple((0, -step, "") if isinstance(step, int) else (1, 0, step) for step in loc)


def _remove(parent: Node, step: str | int) -> Node | None:
    if isinstance(parent, MappingNode) and step in parent.entries:
        return parent.entries.pop(str(step))
    if isinstance(parent, SequenceNode) and isinstance(step, int) and step < len(parent.items):
        return parent.cut(step)
    return None


NAMING = ("id", "name", "settings", "nulls", "constructed", "arm")
"""The fields whose texts name something."""


def _defined(node: Node, field: str) -> Iterator[str]:
    """The names that a cut node defines, and the arms and settings that it uses."""
    if isinstance(node, MappingNode):
        for name, below in node.entries.items():
            if field in ("settings", "measurements", "experiments", "arms"):
                yield name
            yield from _defined(below, name)
    elif isinstance(node, SequenceNode):
        for item in node.items:
            yield from _defined(item, field)
    elif isinstance(node.value, str) and field in NAMING:
        yield node.value


def _node(value: Any, at: Node) -> Node:
    """A stand-in as a tree: all of it at one place, and damaged, so that nothing is told of it."""
    if isinstance(value, dict):
        mapping = MappingNode(at.mark, damaged=True)
        for name, below in value.items():
            mapping.put(name, at.mark, _node(below, at))
        return mapping
    if isinstance(value, list):
        sequence = SequenceNode(at.mark, damaged=True)
        sequence.items += [_node(v, at) for v in value]
        return sequence
    return ScalarNode(at.mark, value, str(value), damaged=True)
