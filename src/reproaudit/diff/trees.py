"""The differences between two trees of plain data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

TreePath = tuple[str, ...]


def unlike(before: Any, after: Any, place: TreePath = ()) -> Iterator[tuple[TreePath, Any, Any]]:
    """Yields every smallest node that differs; one that only one side has is yielded as a whole."""
    old, new = _as_mapping(before), _as_mapping(after)
    if old is None or new is None:
        if before != after:
            yield place, before, after
        return
    for key in dict.fromkeys([*old, *new]):
        yield from unlike(old.get(key), new.get(key), (*place, key))


def _as_mapping(node: Any) -> Mapping[str, Any] | None:
    """Returns a mapping, or a list of mappings by id, name or place; None of anything else."""
    if isinstance(node, Mapping):
        return node
    if isinstance(node, list) and node and all(isinstance(one, Mapping) for one in node):
        for field in ("id", "name", "to", "reviewer"):
            keys = [one.get(field) for one in node]
            if None not in keys and len(set(keys)) == len(keys):
                return dict(zip(map(str, keys), node, strict=True))
        return {str(index): one for index, one in enumerate(node)}
    return None


def written(place: TreePath) -> str:
    """Returns ``toy.layers: controls[0] settings steps``."""
    text = place[0]
    for depth, step in enumerate(place[1:]):
        text += f"[{step}]" if step.isdigit() else f"{'' if depth else ':'} {step}"
    return text
