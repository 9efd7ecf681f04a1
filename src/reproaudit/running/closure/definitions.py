"""Top-level statements that do nothing but define names."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from reproaudit.running.closure.scopes import Scope, evaluated_outside
from reproaudit.running.closure.syntax import FunctionNode, Imported, child_nodes

QUIET_BUILTINS = frozenset(
    {"frozenset", "set", "dict", "list", "tuple", "range", "len", "float", "int", "str", "bool"}
    | {"bytes", "min", "max", "sum", "abs", "sorted", "zip", "enumerate", "object", "slice"}
)
QUIET_PACKAGES = frozenset({"typing", "dataclasses", "pydantic", "enum", "math", "collections"})
QUIET_CALLS = frozenset({"re.compile", "logging.getLogger", "threading.Lock", "threading.RLock"})
"""Calls that make a value, at the top level of a module or class, and change nothing else."""

QUIET_DECORATORS = frozenset(
    {"staticmethod", "classmethod", "property", "functools.cache", "functools.lru_cache"}
    | {"functools.cached_property", "functools.total_ordering", "abc.abstractmethod"}
    | {"contextlib.contextmanager", "numba.njit", "numba.jit", "torch.no_grad"}
)


def definitions_of(body: Iterable[ast.stmt], scope: Scope) -> dict[str, ast.stmt] | None:
    """The statements by the name that they bind, or None if one of them may do anything else.

    Then a statement that nobody refers to can be left out, and their order does not matter.
    """
    found: dict[str, ast.stmt] = {}
    for statement in body:
        names = _quietly_bound(statement, scope)
        if not names or any(name in found or name == "__getattr__" for name in names):
            return None
        found.update(dict.fromkeys(names, statement))
    return found


def _quietly_bound(statement: ast.stmt, scope: Scope) -> list[str]:
    """The names that a statement binds, if it does nothing else."""
    evaluated: list[ast.expr | None]
    if isinstance(statement, FunctionNode | ast.ClassDef):
        names, evaluated = [statement.name], [*evaluated_outside(statement)]
        if not all(_quiet_decorator(one, scope) for one in statement.decorator_list) or (
            isinstance(statement, ast.ClassDef)
            and not all(_quietly_bound(one, scope) for one in statement.body)
        ):
            return []
    elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
        names, evaluated = [statement.target.id], [statement.annotation, statement.value]
    elif isinstance(statement, ast.Assign):
        targets = [
            one
            for target in statement.targets
            for one in (target.elts if isinstance(target, ast.Tuple) else [target])
        ]
        names, evaluated = (
            [one.id for one in targets if isinstance(one, ast.Name)],
            [statement.value],
        )
        if len(names) < len(targets):
            return []
    else:
        return []
    return names if all(_quiet(one, scope) for one in evaluated if one is not None) else []


def _quiet_decorator(node: ast.expr, scope: Scope) -> bool:
    function = node.func if isinstance(node, ast.Call) else node
    if isinstance(function, ast.Attribute) and function.attr in ("setter", "deleter"):
        return True
    path = _path(function, scope)
    return path in QUIET_DECORATORS or path.partition(".")[0] in QUIET_PACKAGES


def _quiet(node: ast.AST, scope: Scope) -> bool:
    """Whether evaluating an expression changes nothing elsewhere."""
    if isinstance(node, ast.Lambda):
        return all(_quiet(one, scope) for one in evaluated_outside(node))
    if isinstance(node, ast.NamedExpr | ast.Await | ast.Yield | ast.YieldFrom):
        return False
    if isinstance(node, ast.Call):
        path = _path(node.func, scope)
        calls = QUIET_BUILTINS | QUIET_CALLS | QUIET_DECORATORS
        if path not in calls and path.partition(".")[0] not in QUIET_PACKAGES:
            return False
    return all(_quiet(one, scope) for one in child_nodes(node))


def _path(node: ast.expr, scope: Scope) -> str:
    """The dotted path of something from a library or of a builtin; nothing for our own."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.insert(0, node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    if node.id not in scope.bound:
        return ".".join([node.id, *names])
    imported = scope.bound[node.id]
    if imported is None or imported.level:
        return ""
    return ".".join([imported.module, *filter(None, [imported.name]), *names])


# -------------------------------------------------------------------------- imports at first use


def lazy_imports(body: list[ast.stmt]) -> tuple[dict[str, Imported], list[ast.stmt]]:
    """The names that a package imports when they are first asked for.

    They are read from this form alone, where the first ``if`` and the line with ``globals`` may
    be missing::

        TABLE = {"name": "package.module"}

        def __getattr__(name):
            if name not in TABLE:
                raise ...
            value = getattr(import_module(TABLE[name]), name)
            globals()[name] = value
            return value

    Returns:
        What each name stands for, and the statements that say so.
    """
    by_name = {one.name: one for one in body if isinstance(one, ast.FunctionDef)}
    if "__getattr__" not in by_name or not any(ast.unparse(one) == _IMPORTER for one in body):
        return {}, []
    function = by_name["__getattr__"]
    name = _table_of(function)
    for statement in body:
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == name:
            try:
                table = ast.literal_eval(statement.value)
                return {k: Imported(0, module, k) for k, module in table.items()}, [
                    function,
                    statement,
                ]
            except (ValueError, AttributeError):  # not written out, or no table
                return {}, []
    return {}, []


_IMPORTER = "from importlib import import_module"


def _table_of(function: ast.FunctionDef) -> str | None:
    """The name of the table in which a module's ``__getattr__`` looks names up."""
    table = None
    for statement in function.body:
        text = ast.unparse(statement)
        if found := re.fullmatch(_LOOK_UP, text):
            table = found[1]
        elif not (
            text in ("globals()[name] = value", "return value")
            or re.fullmatch(r"if name not in \w+:\n    raise .*", text)
        ):
            return None
    return table


_LOOK_UP = r"value = getattr\(import_module\((\w+)\[name\]\), name\)"
