"""What files hold and what imports what, without their names and places: for the code digest.

The files that a paper imports are numbered in the order in which its code names them, from its
module on. Each gives its syntax (`syntax`), in which an import is a number and a name. So a file
that is renamed or moved, with the imports of it, gives the same text; another number in it does
not. A package that imports its names with their first use lists them in a stub beside it, and
counts name by name. A file of the paper that no import reaches counts after the others.
"""

from __future__ import annotations

import ast
import builtins
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from reproaudit.store.syntax import computing_tree

NOTHING = ast.dump(ast.Module([], []), annotate_fields=False)


@dataclass(frozen=True)
class Import:
    """A name that a file imports, by its own name for it.

    Attributes:
        level: the number of leading dots.
        name: None of ``import module``.
        parts: the attributes that are read of it; None where it is used as a whole or rebound.
    """

    level: int
    module: str
    name: str | None
    written: str
    parts: tuple[str, ...] | None


@dataclass(frozen=True)
class Outline:
    """A file's syntax, with numbers in the places of its imports and of the names that they bind.

    With it are the names that it binds, the attributes that it reads, and the dotted names that it
    imports, for a type checker, too.
    """

    text: str
    imports: tuple[Import, ...]
    bound: frozenset[str]
    read: frozenset[str]
    imported: frozenset[str]


@lru_cache(maxsize=1024)
def outline_of(source: bytes) -> Outline:
    """Read a file; a SyntaxError or ValueError if it is not valid Python."""
    whole = ast.parse(source)
    imported = frozenset(name for node in _statements(whole) for name in _imported_by(node))
    tree = computing_tree(whole)
    nodes = [*ast.walk(tree)]
    bound = Counter(name for node in nodes for name in _bound_by(node))
    read = frozenset(node.attr for node in nodes if isinstance(node, ast.Attribute))
    numbering = _Numbering(nodes, {name for name, count in bound.items() if count == 1})
    text = ast.dump(numbering.visit(tree), annotate_fields=False)
    return Outline(text, tuple(numbering.made()), frozenset(bound), read, imported)


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """Every statement below a node; expressions, ten times as many, hold none."""
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        for statement in getattr(node, name, ()):
            yield statement
            yield from _statements(statement)


def _imported_by(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Import(names=names):
            yield from (name.name for name in names)
        case ast.ImportFrom(module=module, names=names, level=level):
            of = "." * level + (f"{module}." if module else "")
            yield from (of + alias.name for alias in names)


def _bound_by(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name):
            yield name
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in aliases)
        case ast.Global(names=names) | ast.Nonlocal(names=names):
            yield from names
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
            yield name
        case ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
            yield name


class _Numbering(ast.NodeTransformer):
    """Puts numbers in the places of imports, and of names that nothing but one import binds."""

    def __init__(self, nodes: Sequence[ast.AST], once: set[str]) -> None:
        self._imports = [
            (node, alias)
            for node in nodes
            if isinstance(node, ast.Import | ast.ImportFrom)
            for alias in node.names
        ]
        written = [alias.asname or alias.name for _, alias in self._imports]
        free = set() if "*" in written else once - set(dir(builtins))
        self._numbers = {name: number for number, name in enumerate(written) if name in free}
        self._parts: dict[int, list[str | None]] = {number: [] for number in self._numbers.values()}

    def made(self) -> Iterator[Import]:
        for number, (node, alias) in enumerate(self._imports):
            uses = self._parts.get(number, [None])
            parts = tuple(dict.fromkeys(part for part in uses if part is not None))
            written = alias.asname or alias.name
            whole = None if None in uses else parts
            if isinstance(node, ast.Import):
                yield Import(0, alias.name, None, written, whole)
            else:
                yield Import(node.level, node.module or "", alias.name, written, whole)

    def visit_Import(self, node: ast.Import | ast.ImportFrom) -> list[ast.stmt]:
        numbers = [number for number, (made, _) in enumerate(self._imports) if made is node]
        return [ast.Expr(ast.Constant(number)) for number in numbers]

    visit_ImportFrom = visit_Import

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if isinstance(node.value, ast.Name) and node.value.id in self._numbers:
            return self._numbered(node, node.value, node.attr)
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return self._numbered(node, node, None) if node.id in self._numbers else node

    def _numbered(self, node: ast.AST, name: ast.Name, part: str | None) -> ast.AST:
        number = self._numbers[name.id]
        self._parts[number].append(part)
        name.id = f"import {number}"
        return node


@dataclass(frozen=True)
class Places:
    """Where imports lead: to files that count, with their bytes.

    Attributes:
        folder: of a user's paper, in which absolute names are looked for; None of a shipped one.
        package: ours, and its folder.
    """

    files: Mapping[Path, bytes]
    folder: Path | None
    package: Path

    def target(self, base: Path, parts: Sequence[str]) -> Path | None:
        """The file of a module below a folder, if it counts."""
        place = base.joinpath(*parts)
        own = [place / "__init__.py", *([place.with_name(f"{place.name}.py")] if parts else [])]
        return next((file for file in own if file in self.files), None)

    def base(self, file: Path, level: int, module: str) -> tuple[Path, list[str]] | None:
        """The folder from which a file's import is looked for, and the way from there."""
        parts = module.split(".") if module else []
        if level:
            return file.parents[level - 1], parts
        if parts[0] == self.package.name:
            return self.package, parts[1:]
        return None if self.folder is None else (self.folder, parts)

    def lazy(self, file: Path) -> dict[str, tuple[Path, str]]:
        """The names in a package's stub, each with the file and the name behind it."""
        stub = self.files.get(file.with_suffix(".pyi"))
        named = {}
        for made in outline_of(stub).imports if stub is not None else ():
            target = self.target(file.parent, made.module.split("."))
            if target is not None and made.name is not None:
                named[made.written] = (target, made.name)
        return named


class _Graph:
    """The files in the order in which imports name them, each with what its imports lead to."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self.numbers: dict[Path, int] = {}
        self.lines: dict[Path, list[str]] = {}
        self._hidden: dict[Path, list[tuple[int, str]]] = {}
        self._named: set[str] = set()

    def follow(self, start: Path) -> None:
        """Number a file and all that it imports, in order."""
        self._number(start)
        while waiting := [file for file in self.numbers if file not in self.lines]:
            file = waiting[0]
            self.lines[file] = []
            for number, made in enumerate(self._outline(file).imports):
                self._add(file, number, made)

    def text(self) -> str:
        """Everything, as text."""
        whole = []
        for file in self.numbers:
            outline = self._outline(file)
            self._named.update(outline.read)
            whole.append(outline.text)
        for file in self.numbers:
            read = [
                f"{number} is {name}"
                for number, name in self._hidden.get(file, ())
                if name in self._named or "*" in self._named
            ]
            whole.append("\n".join([*self.lines[file], *read]))
        return "\0".join(whole)

    def _outline(self, file: Path) -> Outline:
        return outline_of(self._places.files[file])

    def _number(self, file: Path) -> str:
        return f"#{self.numbers.setdefault(file, len(self.numbers))}"

    def _add(self, file: Path, number: int, made: Import) -> None:

        lines = self.lines[file]
        way = self._places.base(file, made.level, made.module)
        target = None if way is None else self._places.target(*way)
        inner = None
        if way is not None and made.name is not None:
            inner = self._places.target(way[0], [*way[1], made.name])
        lazy = {} if target is None else self._places.lazy(target)
        self._add_parents(lines, way, None if made.name in lazy else target)
        if made.name in lazy:
            behind, name = lazy[made.name]
            lines.append(f"{number} {self._number(behind)} {name} as {made.written}")
        elif inner is not None and (target is None or made.name not in self._outline(target).bound):
            self._add_module(file, number, made, inner)
        elif target is not None and made.name is None:
            self._add_module(file, number, made, target)
        elif target is not None:
            self._named.add(made.name or "")
            more = f" or {self._number(inner)}" if inner is not None else ""
            lines.append(f"{number} {self._number(target)} {made.name}{more} as {made.written}")
        else:
            ours = way is not None and way[0] == self._places.package
            module = self._places.package.name if ours else f"{'.' * made.level}{made.module}"
            lines.append(f"{number} {module} {made.name} as {made.written}")

    def _add_parents(
        self, lines: list[str], way: tuple[Path, list[str]] | None, target: Path | None
    ) -> None:
        """Importing a module runs the packages around it; one that does nothing is left out."""
        base, parts = way or (Path(), [])
        around = (self._places.target(base, parts[:end]) for end in range(len(parts) + 1))
        for file in filter(None, around):
            if file == target or self._outline(file).text == NOTHING:
                continue
            if (line := f"within {self._number(file)}") not in lines:
                lines.append(line)

    def _add_module(self, file: Path, number: int, made: Import, target: Path) -> None:
        """Write down an import of a whole module; its name counts if other code could read it."""
        lines = self.lines[file]
        lines.append(f"{number} {self._number(target)}")
        lazy = self._places.lazy(target)
        names = lazy if made.parts is None else made.parts
        for name in sorted(names) if made.parts is None else names:
            if name in lazy:
                lines.append(f"{number}.{name} {self._number(lazy[name][0])} {lazy[name][1]}")
        if made.parts is None:
            lines.append(f"{number} is {made.module if made.name is None else ''} {made.written}")
        else:
            self._hidden.setdefault(file, []).append((number, made.written))


@dataclass(frozen=True)
class ImportedFiles:
    """A file and all that it imports: what they hold, and which files they are."""

    text: str
    files: frozenset[Path]


@lru_cache(maxsize=32)
def imported_by(
    start: Path,
    others: frozenset[Path],
    sources: tuple[tuple[Path, bytes], ...],
    folder: Path | None,
    package: Path,
) -> ImportedFiles:
    """Follow the imports of a file, and then those of others that they do not reach."""
    places = Places(dict(sources), folder, package)
    graph = _Graph(places)
    graph.follow(start)
    texts = {file: outline_of(places.files[file]).text for file in others}
    for file in sorted(others, key=texts.__getitem__):
        if texts[file] != NOTHING:
            graph.follow(file)
    return ImportedFiles(graph.text(), frozenset(graph.numbers))
