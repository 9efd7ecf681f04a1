"""Data that know where they were written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from reproaudit.audit.faults import Loc


@dataclass(slots=True)
class Node:
    """A value and the place in the file that it comes from.

    Attributes:
        data: a number, text, true, false or nothing; else a mapping or a list of nodes.
        loc: the place; of what is written nowhere, that of the value which it follows from.
    """

    data: Any
    loc: Loc

    def get(self, name: str) -> Node | None:
        """Return what a mapping has under a name; None without a mapping, a name or a value."""
        node = self.data.get(name) if isinstance(self.data, dict) else None
        return node if node is not None and node.data is not None else None

    def at(self, name: str) -> Node:
        """Return the same, or nothing at this place, which is false."""
        return self.get(name) or Node(None, self.loc)

    def __bool__(self) -> bool:
        return self.data is not None

    def field(self, name: str) -> Node | None:
        """Return what a mapping has under a name, although it be nothing."""
        below: Node | None = self.data.get(name) if isinstance(self.data, dict) else None
        return below

    def items(self) -> Iterator[tuple[str, Node]]:
        """Yield the names and nodes of a mapping; nothing of anything else."""
        yield from self.data.items() if isinstance(self.data, dict) else ()

    def listed(self) -> list[Node]:
        """Return the nodes of a list; of anything else none."""
        return self.data if isinstance(self.data, list) else []

    def several(self) -> list[Node]:
        """Return the nodes of a list, or the node itself as the only one."""
        return self.data if isinstance(self.data, list) else [self]

    def list_under(self, name: str) -> list[Node]:
        """Return the nodes of the list that a mapping has under a name; of anything else none."""
        node = self.get(name)
        return node.listed() if node is not None else []

    def mapping_under(self, name: str) -> dict[str, Node]:
        """Return the mapping that a mapping has under a name; of anything else an empty one."""
        node = self.get(name)
        return dict(node.items()) if node is not None else {}

    @property
    def text(self) -> str | None:
        """The text, if it is one."""
        return self.data if isinstance(self.data, str) else None

    def holding(self, data: Any) -> Node:
        """Return other data at this place."""
        return Node(data, self.loc)

    def plain(self, places: dict[Loc, Loc], loc: Loc = ()) -> Any:
        """Return the plain data of a node, and note the place that each value comes from.

        Args:
            places: place in the data returned -> place in the file, which is filled.
            loc: the place of the node in the data returned.
        """
        places[loc] = self.loc
        if isinstance(self.data, dict):
            return {name: below.plain(places, (*loc, name)) for name, below in self.data.items()}
        if isinstance(self.data, list):
            return [below.plain(places, (*loc, i)) for i, below in enumerate(self.data)]
        return self.data


def renamed(node: Node, fields: Mapping[str, str]) -> Node:
    """Return a mapping with other names for some of its fields."""
    if not isinstance(node.data, dict):
        return node
    return node.holding({fields.get(name, name): below for name, below in node.data.items()})
