"""What does not compute is taken out of a syntax tree."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from reproaudit.running.closure.scopes import parameters_of
from reproaudit.running.closure.syntax import FunctionNode, Imported, aliases

READ_NO_ANNOTATIONS = frozenset(
    {"torch", "torchvision", "numpy", "scipy", "numba", "llvmlite", "sklearn", "pandas"}
    | {"threadpoolctl", "jaxtyping", "__future__"}
)
"""Packages that compute nothing from a function's annotations, `ANNOTATION_READERS` apart."""

ANNOTATION_READERS = frozenset(
    {"__annotations__", "__annotate__", "annotationlib", "get_type_hints", "get_annotations"}
    | {"signature", "getfullargspec", "singledispatch", "singledispatchmethod", "validate_call"}
    | {"script", "custom_op", "infer_schema", "jaxtyped", "beartype", "typechecked"}
)
"""Names through which code reads the annotations of functions, its own or others'."""


def may_read_annotations(statements: Iterable[ast.AST], ours: frozenset[str]) -> bool:
    """Whether a module imports a package that is not known to leave annotations alone."""
    quiet = READ_NO_ANNOTATIONS | ours | sys.stdlib_module_names
    for node in statements:
        if isinstance(node, ast.Import | ast.ImportFrom):
            for imported, _ in aliases(node):
                if not imported.level and imported.module.partition(".")[0] not in quiet:
                    return True
    return False


_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")


def _blocks(node: ast.AST) -> Iterator[list[Any]]:
    """The lists of statements, handlers or cases in a statement."""
    for name in _BLOCKS:
        block = getattr(node, name, None)
        if isinstance(block, list):
            yield block


def statements_in(node: ast.AST) -> Iterator[ast.AST]:
    """Every statement in a tree, at any depth."""
    for block in _blocks(node):
        for one in block:
            yield one
            yield from statements_in(one)


class Pruned:
    """Takes out of a tree what does not compute.

    Attributes:
        names: every name in what was taken out and is no mere text.
        imports: everything that is imported in what is left.
    """

    def __init__(self, annotated: bool) -> None:
        self.names: set[str] = set()
        self.imports: set[Imported] = set()
        self._annotated = annotated

    def visit(self, node: ast.AST) -> None:
        """Changes a statement and everything in it."""
        if isinstance(node, ast.Import | ast.ImportFrom):
            self.imports.update(imported for imported, _ in aliases(node))
        if isinstance(node, FunctionNode) and not self._annotated:
            self.drop([node.returns])
            node.returns = None
            for argument in parameters_of(node.args):
                self.drop([argument.annotation])
                argument.annotation = None
        for block in _blocks(node):
            block[:] = self._kept(block, isinstance(node, ast.ClassDef))

    def _kept(self, block: Iterable[Any], in_class: bool) -> Iterator[Any]:
        for node in block:
            if isinstance(node, ast.Pass) or (
                isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            ):
                continue
            if isinstance(node, ast.If) and (taken := _known_branch(node)) is not None:
                self.drop([node])
                yield from self._kept(taken, in_class)
                continue
            if isinstance(node, ast.AnnAssign) and not in_class:
                self.drop([node.annotation])
                node.annotation = ast.Constant(value=None)  # it still makes the name local
                if node.value is not None:
                    yield ast.Assign(targets=[node.target], value=node.value)
                    continue
            self.visit(node)
            yield node

    def drop(self, nodes: Iterable[ast.AST | None]) -> None:
        """Notes the names in what is taken out, so that their imports do not seem unused."""
        for node in nodes:
            walked = ast.walk(node) if node is not None else ()
            self.names.update(one.id for one in walked if isinstance(one, ast.Name))


def _known_branch(node: ast.If) -> list[ast.stmt] | None:
    """The statements that are carried out where that is known beforehand, else None."""
    test, negated = node.test, False
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test, negated = test.operand, True
    match test:
        case ast.Name(id="TYPE_CHECKING"):
            pass
        case ast.Attribute(value=ast.Name(id="typing"), attr="TYPE_CHECKING"):
            pass
        case ast.Compare(
            left=ast.Name(id="__name__"),
            ops=[ast.Eq()],
            comparators=[ast.Constant(value="__main__")],
        ):
            pass
        case _:
            return None
    return node.body if negated else node.orelse
