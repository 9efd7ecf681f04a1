"""The code of a module of ours as text, without what computes nothing.

`code_hash` hashes these texts; what counts as computing stands there.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

from reproaudit.errors import SpecError

_KINDS = [
    kind for kind in vars(ast).values() if isinstance(kind, type) and issubclass(kind, ast.AST)
]

Imported = tuple[str, str]
"""A dotted module, and the name that is taken from it; "" for the module itself."""


@dataclass(frozen=True)
class ModuleText:
    """The text of one module of ours.

    Attributes:
        text: its code, with what it imports in place of the names that imports bind.
        loading: the same of what its loading does beyond imports, definitions and assignments.
        bound: what each imported name stands for.
        defined: the names that it defines itself at its top level.
        imports: everything that it imports, in functions too.
    """

    text: tuple[bytes | Imported, ...]
    loading: tuple[bytes | Imported, ...]
    bound: Mapping[str, Imported]
    defined: frozenset[str]
    imports: frozenset[Imported]


def read_module(file: Path, name: str) -> ModuleText:
    """The text of a module.

    Args:
        file: the module.
        name: its dotted name.

    Raises:
        SpecError: if it cannot be read, or is not Python that can be compiled.
    """
    try:
        source = file.read_bytes()
    except OSError as error:
        raise SpecError(f"{file}: this module cannot be read ({error.strerror})") from error
    try:
        return _parsed(source, name, file.name == "__init__.py")
    except (SyntaxError, ValueError) as error:  # ValueError: a null byte
        line = getattr(error, "lineno", None) or 1
        text = getattr(error, "msg", None) or str(error)
        raise SpecError(f"{file}:{line}: this module is not valid Python ({text})") from error
    except RecursionError as error:
        raise SpecError(
            f"{file}: found code nested too deeply, such as an expression of 3,000 terms; expected "
            "code that Python can read. Write it in several statements."
        ) from error


@lru_cache(maxsize=1024)
def _parsed(source: bytes, name: str, is_package: bool) -> ModuleText:
    tree = ast.parse(source)
    defined = frozenset(_defined(tree.body))
    package = name if is_package else name.rpartition(".")[0]
    is_known = name.split(".")[0] == "reproaudit"  # whose definitions act on nothing else, and
    reads_docs = not is_known and (b"__doc__" in source or b"inspect" in source)  # no text decides
    lazily = "__getattr__" in defined
    # asked for by what is then taken out; a name may be written in other letters than it has
    is_asked = b"TYPE_CHECKING" in source or b"__name__" in source or not source.isascii()
    stored = frozenset(_stored(_nodes(tree.body))) if is_asked else None
    outside = frozenset(_stored(_nodes(tree.body, but_in=_SCOPES)))
    reader = _Reader(package, lazily, reads_docs, stored, outside)
    body = reader.computing(tree.body)
    does = [one for one in body if not isinstance(one, _BINDING) or not (is_known or _binds(one))]
    try:
        written = {one: _Writer(reader.bound).written(one) for one in body}
        text, loading = _in_one(written.values()), _in_one(written[one] for one in does)
    except RecursionError:  # an expression of a thousand terms: every byte counts
        text = loading = _Writer({}).unread(source, reader.imports)
    return ModuleText(text, loading, reader.bound, defined, frozenset(reader.imports))


_BINDING = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Assign, ast.AnnAssign)


def _binds(statement: ast.stmt) -> bool:
    """True of a statement that binds names of its own module, and acts on nothing else."""
    match statement:
        case ast.Assign(targets=targets) | ast.AnnAssign(target=targets):
            several = targets if isinstance(targets, list) else [targets]
            return all(isinstance(one, ast.Name) for one in several) and not _calls(statement)
        case ast.FunctionDef(args=args) | ast.AsyncFunctionDef(args=args):
            return not statement.decorator_list and not _calls(args)
        case ast.ClassDef(decorator_list=[], bases=bases, keywords=keywords, body=body):
            return not any(map(_calls, [*bases, *keywords])) and all(map(_binds, body))
        case ast.Pass() | ast.Expr(ast.Constant()):
            return True
    return False


def _calls(node: ast.AST) -> bool:
    return any(type(one) is ast.Call for one in _nodes([node]))


def _defined(body: Iterable[ast.stmt]) -> Iterator[str]:
    for one in body:
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield one.name
        elif isinstance(one, ast.Assign | ast.AnnAssign):
            targets = one.targets if isinstance(one, ast.Assign) else [one.target]
            yield from (target.id for target in targets if isinstance(target, ast.Name))


_INNER = {
    kind: tuple(name for name in kind._fields if name not in {"ctx", "id", "attr", "arg"})
    for kind in _KINDS
} | {ast.Constant: ()}
"""By kind of syntax node, the fields in which other nodes may stand."""

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def _nodes(body: Iterable[ast.AST], but_in: Collection[type[ast.AST]] = ()) -> Iterator[Any]:
    """Every node, in no order, but for what is inside of nodes of some kinds."""
    waiting: list[Any] = list(body)
    while waiting:
        node = waiting.pop()
        kind = type(node)
        if kind is list:
            waiting += node
        elif kind in _INNER:  # and no name, number or None
            yield node
            inner = _INNER[kind]
            if inner and kind not in but_in:
                waiting += [getattr(node, name, None) for name in inner]


_NAMING = {
    kind
    for kind in _KINDS
    if kind is not ast.alias and not {"name", "rest"}.isdisjoint(kind._fields)
}


def _stored(nodes: Iterable[Any]) -> Iterator[str]:
    """The names that nodes bind, otherwise than by an import."""
    for node in nodes:
        kind = type(node)
        if kind is ast.Name:
            if type(node.ctx) is not ast.Load:
                yield node.id
        elif kind is ast.arg:
            yield node.arg
        elif kind in _NAMING:  # definitions, handlers and patterns
            name = node.rest if kind is ast.MatchMapping else node.name
            if name and isinstance(name, str):
                yield name


# ------------------------------------------------------------------------------- what one computes


class _Import(ast.stmt):
    """An import statement, with what it imports by absolute names."""

    def __init__(self, imported: Sequence[Imported], node: ast.Import | ast.ImportFrom) -> None:
        super().__init__()
        self.imported = imported
        self.renamed = [alias.asname or "" for alias in node.names]


@dataclass
class _Reader(ast.NodeTransformer):
    """Takes out of a module what computes nothing, and notes its imports.

    Attributes:
        package: what relative imports start from.
        lazily: whether imports for the type checker are done when a name is first asked for.
        reads_docs: whether it may read docstrings, which then count.
        stored: the names that are bound otherwise than by an import, in functions too; None to
            look for them if they are asked for.
        outside: those of them that are bound outside of functions and classes.
        bound: what each imported name stands for; a name bound in two ways stands for neither, nor
            do two names of which one is stored for the thing that they have in common.
        imports: everything that is imported.
    """

    package: str
    lazily: bool
    reads_docs: bool
    stored: frozenset[str] | None
    outside: frozenset[str]
    bound: dict[str, Imported] = field(default_factory=dict)
    imports: set[Imported] = field(default_factory=set)
    _takes_all: bool = False
    _ways: dict[str, list[Imported]] = field(default_factory=dict)

    def computing(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """The statements that compute something; imports only where their order counts.

        It does where a name is bound more than once, or by ``import *``.
        """
        kept = self._visited(body)
        stored = _stored(_nodes(kept)) if self.stored is None else self.stored
        self.bound = {name: ways[0] for name, ways in self._ways.items() if len({*ways}) == 1}
        several = Counter(self.bound.values())
        alike = {one for one, count in several.items() if count > 1}
        if alike and any(self.bound.get(name) in alike for name in stored):
            self.bound = {name: one for name, one in self.bound.items() if one not in alike}
        has_order = len(self.bound) < len(self._ways) or not self.outside.isdisjoint(self._ways)
        if has_order or self._takes_all:
            return kept
        return [one for one in kept if not isinstance(one, _Import)]

    def _visited(self, body: Iterable[ast.stmt]) -> list[ast.stmt]:
        several = (self.visit(one) for one in body)
        return [one for one in several if one is not None]

    def generic_visit(self, node: ast.AST) -> ast.AST:
        for name in ("body", "orelse", "finalbody"):
            inner = getattr(node, name, None)
            if isinstance(inner, list):
                setattr(node, name, self._visited(inner))
        for handler in getattr(node, "handlers", []):
            self.generic_visit(handler)
        for case in getattr(node, "cases", []):
            self.generic_visit(case)
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        is_idle = isinstance(node.value, ast.Constant) and not self.reads_docs  # a docstring
        return None if is_idle else node

    def visit_Pass(self, node: ast.Pass) -> None:
        """Nothing is done, so nothing is kept."""

    def visit_If(self, node: ast.If) -> ast.AST | None:
        match node.test:
            case ast.Name("TYPE_CHECKING" as name) | ast.Attribute(
                ast.Name("typing" as name), "TYPE_CHECKING"
            ) if name not in (self.stored or ()):
                if self.lazily:
                    self._visited(node.body)
                node.body = []
                return None if not node.orelse else self.generic_visit(node)
            case ast.Compare(ast.Name("__name__"), [ast.Eq()], [ast.Constant("__main__")]) if (
                "__name__" not in (self.stored or ())
            ):
                node.body = []
                return None if not node.orelse else self.generic_visit(node)
        return self.generic_visit(node)

    def visit_Import(self, node: ast.Import) -> ast.AST:
        for alias in node.names:
            first = alias.name.partition(".")[0]
            self._note(alias.asname or first, (alias.name if alias.asname else first, ""))
            self.imports.add((alias.name, ""))
        return _Import([(alias.name, "") for alias in node.names], node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST:
        module = node.module or ""
        if node.level:
            parents = self.package.split(".")
            parents = parents[: len(parents) - node.level + 1]
            module = ".".join([*parents, *filter(None, [module])])
        for alias in node.names if module != "__future__" else ():
            self.imports.add((module, alias.name.replace("*", "")))
            if alias.name == "*":
                self._takes_all = True
            else:
                self._note(alias.asname or alias.name, (module, alias.name))
        return _Import([(module, alias.name) for alias in node.names], node)

    def _note(self, name: str, imported: Imported) -> None:
        self._ways.setdefault(name, []).append(imported)


def measured(part: bytes) -> bytes:
    """A part with its length before it, so that no two sequences of parts run together alike."""
    return b"%d:%b" % (len(part), part)


@lru_cache(maxsize=2048)
def _part(text: str) -> bytes:
    return measured(text.encode("utf-8", "surrogatepass"))


_NOT_COMPUTED = frozenset({"ctx", "kind", "type_comment", "type_ignores", "simple"})
"""Fields of syntax nodes that say nothing about a computation, or are not in every Python."""

_COMPUTED = {
    kind: (
        _part(f"({kind.__name__} "),
        [(name, _part(f"{name}=")) for name in sorted(set(kind._fields) - _NOT_COMPUTED)],
    )
    for kind in _KINDS
}
"""By kind of syntax node: how its text begins, and the fields that count, with what stands before
each."""

_OPENING, _ENDING, _CLOSING = map(_part, "[])")


class _Writer:
    """Writes a statement as text, with what was imported in place of the names bound to it."""

    def __init__(self, bound: Mapping[str, Imported]) -> None:
        self._bound = bound
        self._pieces: list[bytes | Imported] = []
        self._parts: list[bytes] = []  # since the last imported name

    def written(self, statement: ast.stmt) -> list[bytes | Imported]:
        """The text, with everything between two imported names in one piece."""
        self._write(statement)
        return [*self._pieces, b"".join(self._parts)]

    def unread(self, source: bytes, imports: Iterable[Imported]) -> tuple[bytes | Imported, ...]:
        """The source as it is, and what it imports."""
        self._parts.append(_part(source.hex()))
        for name in sorted(imports):
            self._imported(name)
        return (*self._pieces, b"".join(self._parts))

    def _imported(self, name: Imported) -> None:
        self._pieces += [b"".join(self._parts), name]
        self._parts.clear()

    def _write(self, value: Any) -> None:
        kind, parts = type(value), self._parts
        if kind is list:
            parts.append(_OPENING)
            for one in value:
                self._write(one)
            parts.append(_ENDING)
        elif kind is ast.Name and value.id in self._bound:
            self._imported(self._bound[value.id])
        elif kind is ast.Constant:
            parts.append(_part(_constant(value.value)))
        elif kind is ast.JoinedStr:
            self._write_joined(value)
        elif kind is _Import:
            parts.append(_part("(import "))
            for name in value.imported:
                self._imported(name)
            parts += [*map(_part, value.renamed), _CLOSING]
        elif kind in _COMPUTED:
            opening, fields = _COMPUTED[kind]
            parts.append(opening)
            for field, named in fields:
                inner = getattr(value, field, None)
                if inner is None:
                    continue
                of = type(inner)
                if of is str:
                    parts += (named, _part(f"{inner} "))
                elif inner or of is not list:
                    parts.append(named)
                    self._write(inner)
            parts.append(_CLOSING)
        else:
            parts.append(_part(f"{value!s} "))

    def _write_joined(self, node: ast.JoinedStr) -> None:
        """An f-string; Python versions cut its constant parts differently."""
        self._parts.append(_part("(JoinedStr "))
        constant = ""
        for one in node.values:
            if isinstance(one, ast.Constant):
                constant += str(one.value)
            else:
                self._parts.append(_part(_constant(constant)))
                self._write(one)
                constant = ""
        self._parts.append(_part(_constant(constant) + ")"))


def _in_one(several: Iterable[Sequence[bytes | Imported]]) -> tuple[bytes | Imported, ...]:
    """The texts of statements as that of a list of them."""
    pieces: list[bytes | Imported] = []
    parts = [_OPENING]
    for part in chain.from_iterable(several):
        if isinstance(part, bytes):
            parts.append(part)
        else:
            pieces += [b"".join(parts), part]
            parts = []
    return (*pieces, b"".join([*parts, _ENDING]))


def _constant(value: Any) -> str:
    """A constant by type and exact value; text by its length, so that nothing runs into it."""
    shown = value.hex() if isinstance(value, float) else ascii(value)
    return f"<{type(value).__name__} {len(shown)}:{shown}>"
