"""Nodes of a syntax tree: their fields, and what import statements bind."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

_SKIPPED = frozenset({"ctx", "kind", "type_comment", "type_ignores", "simple"})

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


@dataclass(frozen=True)
class Imported:
    """What an import statement binds to a name.

    Attributes:
        level: how many dots stand before the module.
        module: the dotted module as written, possibly empty after dots.
        name: what is taken from the module, ``*`` for all; None for the module itself.
    """

    level: int
    module: str
    name: str | None = None


def aliases(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[Imported, str]]:
    """What a statement imports, each with the name that it binds."""
    for alias in node.names:
        if isinstance(node, ast.ImportFrom):
            imported = Imported(node.level, node.module or "", alias.name)
            yield imported, alias.asname or alias.name
        elif alias.asname:
            yield Imported(0, alias.name), alias.asname
        else:  # binds the first of the dotted names, and loads them all
            yield Imported(0, alias.name), alias.name.partition(".")[0]


def bound_by(imported: Imported, name: str) -> Imported:
    """What the bound name stands for: ``import a.b`` binds ``a``."""
    if imported.name is None and imported.level == 0 and imported.module.startswith(f"{name}."):
        return Imported(0, name)
    return imported


_FIELDS: dict[type[ast.AST], tuple[str, ...]] = {}


def fields(kind: type[ast.AST]) -> tuple[str, ...]:
    """The fields of a kind of node that say something about the computation, by name."""
    if kind not in _FIELDS:
        _FIELDS[kind] = tuple(sorted(set(kind._fields) - _SKIPPED))
    return _FIELDS[kind]


def child_nodes(node: ast.AST) -> list[ast.AST]:
    """The nodes directly in a node that say something about the computation."""
    child_nodes: list[ast.AST] = []
    for name in fields(type(node)):
        value = getattr(node, name, None)
        if isinstance(value, ast.AST):
            child_nodes.append(value)
        elif isinstance(value, list):
            child_nodes += [one for one in value if isinstance(one, ast.AST)]
    return child_nodes
