"""Which names a module, class, function or comprehension binds, by Python's rules."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from reproaudit.running.closure.syntax import (
    Comprehension,
    FunctionNode,
    Imported,
    aliases,
    bound_by,
    child_nodes,
)


@dataclass
class Scope:
    """The names of a module, class, function or comprehension.

    Attributes:
        bound: each name bound here, with its import where one import alone binds it.
        global_names: names declared global.
        is_class: whether inner functions do not see the names.
    """

    bound: dict[str, Imported | None] = field(default_factory=dict)
    global_names: set[str] = field(default_factory=set)
    is_class: bool = False

    def bind(self, name: str, imported: Imported | None = None) -> None:
        """Adds a name, with the import that binds it."""
        same = name not in self.bound or self.bound[name] == imported
        self.bound[name] = imported if same else None


def parameters_of(args: ast.arguments) -> list[ast.arg]:
    """Every parameter of a function."""
    single = [one for one in (args.vararg, args.kwarg) if one is not None]
    return [*args.posonlyargs, *args.args, *args.kwonlyargs, *single]


_BINDING = frozenset(
    {ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, ast.Import, ast.ImportFrom}
    | {ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Global, ast.Nonlocal}
    | {ast.ExceptHandler, ast.MatchAs, ast.MatchStar, ast.MatchMapping}
)
"""Nodes that bind names, a name in itself apart, or have a scope of their own."""


def scope_of(body: Iterable[ast.AST], parameters: Iterable[str] = ()) -> Scope:
    """The names that statements or expressions bind in their own scope."""
    scope, outer = Scope(), set()
    for name in parameters:
        scope.bind(name)
    waiting = list(body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name):
            if not isinstance(node.ctx, ast.Load):
                scope.bind(node.id)
        elif type(node) not in _BINDING:
            waiting += child_nodes(node)
        elif isinstance(node, FunctionNode | ast.ClassDef):
            scope.bind(node.name)
            waiting += evaluated_outside(node)
        elif isinstance(node, ast.Lambda):
            waiting += evaluated_outside(node)
        elif isinstance(node, Comprehension):
            waiting.append(node.generators[0].iter)
            for name in _walrus_targets(node):
                scope.bind(name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            for imported, name in aliases(node):
                scope.bind(name, bound_by(imported, name))
        elif isinstance(node, ast.Global):
            scope.global_names.update(node.names)
        elif isinstance(node, ast.Nonlocal):
            outer.update(node.names)
        else:
            if isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
                scope.bind(node.name)
            elif isinstance(node, ast.MatchMapping) and node.rest:
                scope.bind(node.rest)
            waiting += child_nodes(node)
    for name in outer | scope.global_names:
        scope.bound.pop(name, None)
    return scope


def evaluated_outside(node: FunctionNode | ast.Lambda | ast.ClassDef) -> list[ast.expr]:
    """The expressions of a definition that are evaluated where it stands."""
    if isinstance(node, ast.ClassDef):
        return [*node.decorator_list, *node.bases, *(one.value for one in node.keywords)]
    decorators = [] if isinstance(node, ast.Lambda) else node.decorator_list
    return [*decorators, *node.args.defaults, *filter(None, node.args.kw_defaults)]


def _walrus_targets(node: ast.AST) -> Iterator[str]:
    """The names that a comprehension binds around itself."""
    for child in child_nodes(node):
        if isinstance(child, ast.NamedExpr):
            yield child.target.id
        if not isinstance(child, ast.Lambda):
            yield from _walrus_targets(child)
