"""The source of one module, reduced to what it computes, as text that can be hashed.

Left out are comments, layout, docstrings and other bare constants, ``pass``, what only a type
checker reads (``if TYPE_CHECKING``), ``if __name__ == "__main__"``, and the names of our own files.
Everything else stays: operators, constants, defaults, decorators, calls, and every string that is
not a statement by itself.

Annotations:

* In a class body they stay: dataclasses, named tuples and pydantic build on them, and settings are
  checked by them.
* On variables elsewhere they go: nothing reads them.
* On functions they go, unless the module imports a package that may read them: any that is not in
  the standard library nor among `READ_NO_ANNOTATIONS`. `reach` keeps them everywhere once
  code that counts uses a name of `ANNOTATION_READERS`.

The text does not depend on the Python version: nodes are written by class and field name, fields
that are empty or say nothing about the computation are skipped, and a name stands for what it is
bound to by Python's scoping rules, which are worked out here.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from typing import Any

from reproaudit.running.closure.definitions import definitions_of, lazy_imports
from reproaudit.running.closure.pruning import Pruned, may_read_annotations, statements_in
from reproaudit.running.closure.scopes import Scope, parameters_of, scope_of
from reproaudit.running.closure.syntax import (
    Comprehension,
    FunctionNode,
    Imported,
    aliases,
    bound_by,
    fields,
)

_OF_THE_MODULE = frozenset({"__name__", "__package__", "__file__", "__spec__", "__path__"})


@dataclass(frozen=True)
class Reference:
    """A use of something imported: what was imported, and the attributes taken of it."""

    imported: Imported
    attributes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Own:
    """A use of a name that the module itself binds at its top level."""

    name: str


class ModuleName:
    """Stands where code uses the name or the place of its own module."""


CodeText = tuple["str | Reference | Own | ModuleName", ...]


@dataclass(frozen=True)
class Code:
    """Canonical code.

    Attributes:
        text: what is hashed, with the references in it.
        mentions: every name in it, and every attribute with a dot before it.
        strings: the string constants that could be names, dotted or not.
    """

    text: CodeText
    mentions: frozenset[str]
    strings: frozenset[str]


@dataclass(frozen=True)
class ModuleCode:
    """A module's canonical code.

    Attributes:
        body: everything, in order.
        definitions: each top-level definition by name, if the module holds quiet definitions and
            imports only, so that a definition which nobody uses cannot change a number; else None.
        bound: what each top-level name is bound to: the import, where one import alone binds it.
        lazy: of these, what is imported when it is first asked for.
        imports: every import that is not for the type checker alone, in functions too.
        loaded: the imports that may be there for what loading does: none of their names is used,
            or more is loaded than the name says (``import a.b``).
    """

    body: Code
    definitions: dict[str, Code] | None
    bound: dict[str, Imported | None]
    lazy: dict[str, Imported]
    imports: frozenset[Imported]
    loaded: frozenset[Imported]


def canonical(source: bytes, ours: frozenset[str], annotated: bool = False) -> ModuleCode:
    """Reads a module.

    Args:
        source: the file's bytes.
        ours: our own packages.
        annotated: whether to keep the annotations of functions in any case.

    Raises:
        SyntaxError, ValueError: if it is not valid Python.
    """
    tree = ast.parse(source)
    statements = list(statements_in(tree))
    pruned = Pruned(annotated or may_read_annotations(statements, ours))
    pruned.visit(tree)
    lazy, said_by = lazy_imports(tree.body)
    pruned.drop(said_by)
    tree.body = [one for one in tree.body if one not in said_by]
    scope = scope_of(tree.body)
    for statement in statements:
        for name in statement.names if isinstance(statement, ast.Global) else ():
            scope.bind(name)  # a function may bind it to something else
    body = [one for one in tree.body if not _only_binds(one, scope)]
    try:
        quiet = definitions_of(body, scope)
        codes = [_code(one, scope) for one in ([body] if quiet is None else body)]
    except RecursionError:  # an expression of hundreds of terms: every byte counts
        used = [Reference(one) for one in scope.bound.values() if one is not None]
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        codes, quiet = [Code((source.hex(), *used), frozenset(names), frozenset())], None
    whole = Code(
        text=_joined(part for code in codes for part in code.text),
        mentions=frozenset().union(*(code.mentions for code in codes)),
        strings=frozenset().union(*(code.strings for code in codes)),
    )
    by_statement = dict(zip(body, codes, strict=False))
    return ModuleCode(
        body=whole,
        definitions=(
            None if quiet is None else {name: by_statement[one] for name, one in quiet.items()}
        ),
        bound={**lazy, **scope.bound},
        lazy=lazy,
        imports=frozenset(pruned.imports),
        loaded=frozenset(_loaded(tree.body, scope, whole.mentions | pruned.names)),
    )


def _loaded(body: Iterable[ast.stmt], scope: Scope, named: Set[str]) -> Iterator[Imported]:
    for statement in body:
        if isinstance(statement, ast.Import | ast.ImportFrom) and _only_binds(statement, scope):
            for imported, name in aliases(statement):
                if name not in named or bound_by(imported, name) != imported:
                    yield imported


def _code(value: ast.stmt | list[ast.stmt], scope: Scope) -> Code:
    writer = _Writer(scope)
    writer.value(value)
    return Code(_joined(writer.parts), frozenset(writer.mentions), frozenset(writer.strings))


def _joined(parts: Iterable[str | Reference | Own | ModuleName]) -> CodeText:
    joined: list[str | Reference | Own | ModuleName] = []
    text: list[str] = []
    for part in parts:
        if isinstance(part, str):
            text.append(part)
        else:
            joined += ["".join(text), part]
            text.clear()
    return (*joined, "".join(text))


def _only_binds(statement: ast.stmt, scope: Scope) -> bool:
    """Whether a statement is an import whose names stand for nothing else in the module."""
    return isinstance(statement, ast.Import | ast.ImportFrom) and all(
        scope.bound.get(name) is not None for _, name in aliases(statement)
    )


class _Writer:
    """Writes nodes as text with references in it; nothing that differs is written alike."""

    def __init__(self, module: Scope) -> None:
        self.parts: list[str | Reference | Own | ModuleName] = []
        self.mentions: set[str] = set()
        self.strings: set[str] = set()
        self._scopes = [module]

    def value(self, value: Any) -> None:
        """Writes a node, a list, or what a field holds otherwise: a name or a number."""
        if isinstance(value, ast.AST):
            special = _SPECIAL.get(type(value))
            if special is None:
                self._node(value)
            else:
                special(self, value)
        elif isinstance(value, list):
            self.parts.append("[")
            for one in value:
                self.value(one)
            self.parts.append("]")
        else:
            self.parts.append(f"{value!s} ")

    def _node(self, node: ast.AST) -> None:
        parts = self.parts
        parts.append(f"({type(node).__name__} ")
        for name in fields(type(node)):
            value = getattr(node, name, None)
            if value is not None and value != []:
                parts.append(f"{name}=")
                self.value(value)
        parts.append(")")

    def _constant(self, node: ast.Constant) -> None:
        self.parts.append(_constant(node.value))
        if isinstance(node.value, str) and node.value.replace(".", "_").isidentifier():
            self.strings.add(node.value)
            if node.value in self._scopes[0].bound:
                self.parts.append(Own(node.value))  # a forward reference, perhaps

    def _joined(self, node: ast.JoinedStr) -> None:
        """An f-string. Python versions cut its constant parts differently."""
        constant = ""
        self.parts.append("(JoinedStr ")
        for one in [*node.values, None]:
            if isinstance(one, ast.Constant):
                constant += str(one.value)
                continue
            if constant:
                self.parts.append(_constant(constant))
                constant = ""
            if one is not None:
                self.value(one)
        self.parts.append(")")

    # --- names

    def _name(self, node: ast.Name) -> None:
        name, top = node.id, self._scopes[-1]
        self.mentions.add(name)
        if top.is_class and name in top.bound:
            self.parts.append(f"(own {name} ")
            if isinstance(node.ctx, ast.Store):
                return  # a load may mean the module's name while the class has none yet
        found = self._lookup(name)
        if isinstance(found, Imported):
            self.parts.append(Reference(found))
            return
        self.parts.append(f"(Name {name})")
        if found is _OWN:
            self.parts.append(Own(name))
        elif name in _OF_THE_MODULE:
            self.parts.append(ModuleName())

    def _attribute(self, node: ast.Attribute) -> None:
        names = [node.attr]
        inner = node.value
        while isinstance(inner, ast.Attribute):
            names.append(inner.attr)
            inner = inner.value
        self.mentions.update(f".{name}" for name in names)
        if isinstance(inner, ast.Name):
            self.mentions.add(inner.id)
            found = self._lookup(inner.id)
            top = self._scopes[-1]
            if isinstance(found, Imported) and not (top.is_class and inner.id in top.bound):
                self.parts.append(Reference(found, tuple(reversed(names))))
                return
        self._node(node)

    def _lookup(self, name: str) -> Imported | object | None:
        """The import that a name stands for, `_OWN` for a top-level name, None for another."""
        for scope in reversed(self._scopes[1:]):
            if name in scope.global_names:
                break
            if not scope.is_class and name in scope.bound:
                return scope.bound[name]
        module = self._scopes[0].bound
        return (module[name] or _OWN) if name in module else None

    def _call(self, node: ast.Call) -> None:
        match node:
            case ast.Call(
                func=ast.Attribute(attr="getLogger"), args=[ast.Name(id="__name__")], keywords=[]
            ):
                self.value(node.func)  # a log's name computes nothing
            case _:
                self._node(node)

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        """An import that is not at the top level, or binds a name with others."""
        for imported, name in aliases(node):
            self.parts += ["(import ", Reference(imported)]
            scope = self._scopes[-1]
            if scope.is_class or scope.bound.get(name) is None:
                self.parts.append(f"as {name}")
            self.parts.append(")")

    # --- what has a scope of its own

    def _function(self, node: FunctionNode) -> None:
        self.parts.append(f"({type(node).__name__} {node.name} ")
        self.mentions.add(node.name)
        self.value(node.decorator_list)
        self._signature(node.args)
        self.value([node.returns])
        self._inside(node, node.body, [one.arg for one in parameters_of(node.args)])

    def _lambda(self, node: ast.Lambda) -> None:
        self.parts.append("(Lambda ")
        self._signature(node.args)
        self._inside(node, [node.body], [one.arg for one in parameters_of(node.args)])

    def _signature(self, args: ast.arguments) -> None:
        groups: list[Sequence[ast.arg | None]] = [
            args.posonlyargs,
            args.args,
            [args.vararg],
            args.kwonlyargs,
            [args.kwarg],
        ]
        for group in groups:
            self.parts.append("[")
            for one in [one for one in group if one is not None]:
                self.parts.append(f"{one.arg} ")
                self.value([one.annotation])
            self.parts.append("]")
        self.value(args.defaults)
        self.value(args.kw_defaults)

    def _class(self, node: ast.ClassDef) -> None:
        self.parts.append(f"(ClassDef {node.name} ")
        self.value(node.decorator_list)
        self.value(node.bases)
        self.value(node.keywords)
        self._inside(node, node.body, [], is_class=True)

    def _inside(
        self,
        node: ast.AST,
        body: Sequence[ast.AST],
        parameters: Sequence[str],
        is_class: bool = False,
    ) -> None:
        types = getattr(node, "type_params", [])
        scope = scope_of(body, [*parameters, *(one.name for one in types)])
        scope.is_class = is_class
        self._scopes.append(scope)
        self.value(types)
        self.value(list(body))
        self._scopes.pop()
        self.parts.append(")")

    def _comprehension(self, node: Comprehension) -> None:
        self.parts.append(f"({type(node).__name__} ")
        first, *_ = node.generators
        self.value(first.iter)  # evaluated around the comprehension
        scope = scope_of(one.target for one in node.generators)
        self._scopes.append(scope)
        for one in node.generators:
            self.parts.append(f"for{one.is_async} ")
            self.value(one.target)
            self.value([] if one is first else one.iter)
            self.value(one.ifs)
        self.value([node.key, node.value] if isinstance(node, ast.DictComp) else node.elt)
        self._scopes.pop()
        self.parts.append(")")


_OWN = object()

_SPECIAL: dict[type[ast.AST], Callable[[_Writer, Any], None]] = {
    ast.Constant: _Writer._constant,
    ast.JoinedStr: _Writer._joined,
    ast.Name: _Writer._name,
    ast.Attribute: _Writer._attribute,
    ast.Call: _Writer._call,
    ast.Import: _Writer._import,
    ast.ImportFrom: _Writer._import,
    ast.FunctionDef: _Writer._function,
    ast.AsyncFunctionDef: _Writer._function,
    ast.Lambda: _Writer._lambda,
    ast.ClassDef: _Writer._class,
    **dict.fromkeys(
        (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp), _Writer._comprehension
    ),
}


def _constant(value: Any) -> str:
    """A constant, by type and exact value; text by its length, so that nothing runs into it."""
    if isinstance(value, str):
        return f"(str {len(value)}:{value})"
    if isinstance(value, bytes):
        return f"(bytes {value.hex()})"
    if isinstance(value, bool) or value is None or value is ...:
        return f"({value})"
    if isinstance(value, int):
        return f"(int {value:x})"
    if isinstance(value, float):
        return f"(float {value.hex()})"
    return f"(complex {value.real.hex()} {value.imag.hex()})"
