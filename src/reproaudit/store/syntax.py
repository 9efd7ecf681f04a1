"""A module's syntax without what computes nothing.

Left out are comments and layout, docstrings and `pass`, the description of a pydantic field, what
is imported for a type checker alone, calls of a logger whose text is constant, and annotations that
nothing reads. An annotation is read in the body of a class, where it may declare a field, and in
the signature of a function under a decorator other than those of `IGNORING`. Everything else
counts, an unused function too: whether it is unused is for whoever runs it to say.
"""

from __future__ import annotations

import ast

IGNORING = frozenset(
    {
        "abstractmethod",
        "cache",
        "cached_property",
        "classmethod",
        "contextmanager",
        "jit",
        "lru_cache",
        "njit",
        "no_grad",
        "overload",
        "override",
        "property",
        "staticmethod",
        "wraps",
    }
)
"""Decorators that read no annotation."""

LEVELS = frozenset({"debug", "info", "warning", "error", "exception", "critical"})


def computing_tree(tree: ast.Module) -> ast.Module:
    """Return a module's syntax, from which what computes nothing is removed."""
    computing: ast.Module = _Computing().visit(tree)
    return computing


class _Computing(ast.NodeTransformer):
    """Removes what computes nothing."""

    def __init__(self) -> None:
        self.loggers: set[str] = {"logging"}
        self.fields: set[ast.stmt] = set()

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        if isinstance(node.value, ast.Constant) or self._is_message(node.value):
            return None
        return self.generic_visit(node)

    def visit_Pass(self, _node: ast.Pass) -> None:
        return None

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if _last_name(node.func) == "Field":
            node.keywords = [
                keyword
                for keyword in node.keywords
                if keyword.arg != "description" or not isinstance(keyword.value, ast.Constant)
            ]
        return self.generic_visit(node)

    def visit_Import(self, node: ast.Import) -> ast.AST | None:
        node.names = [name for name in node.names if name.name != "logging" or name.asname]
        return node if node.names else None

    def visit_Assign(self, node: ast.Assign) -> ast.AST | None:
        is_logger = isinstance(node.value, ast.Call) and _last_name(node.value) == "getLogger"
        (target, *others) = node.targets
        if isinstance(target, ast.Name) and not others and is_logger:
            self.loggers.add(target.id)
            return None
        return self.generic_visit(node)

    def _is_message(self, call: ast.expr) -> bool:
        """Whether a call logs and computes nothing: constant text, values that are there."""
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
            return False
        logger = call.func.value
        is_logger = isinstance(logger, ast.Name) and logger.id in self.loggers
        given = [*call.args, *(keyword.value for keyword in call.keywords)]
        return is_logger and call.func.attr in LEVELS and all(map(_is_there, given))

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt] | None:
        if _last_name(node.test) != "TYPE_CHECKING":
            return self.generic_visit(node)
        return [self.visit(statement) for statement in node.orelse]

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        self.fields.update(node.body)
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | None:
        if node in self.fields:
            return self.generic_visit(node)
        if node.value is None:
            return None
        return self.visit_Assign(ast.Assign([node.target], node.value))

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        if all(_last_name(decorator) in IGNORING for decorator in node.decorator_list):
            node.returns = None
            given = node.args
            named = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
            for argument in filter(None, named):
                argument.annotation = None
        return self.generic_visit(node)

    visit_AsyncFunctionDef = visit_FunctionDef


def _last_name(node: ast.expr) -> str:
    """The last part of a dotted name, which may be called; else nothing."""
    match node:
        case ast.Call(func=func):
            return _last_name(func)
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return ""


def _is_there(node: ast.expr) -> bool:
    """Whether an expression is a constant, a name or an attribute: reading it computes nothing."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Constant | ast.Name)
