"""A hash of the code that a paper computes with: what computes nothing leaves it as it is.

The paper counts with all its files, and every module of ours that they import, directly or through
others, counts whole. Of each module, comments, layout, docstrings, `pass`, imports for the type
checker alone and the names of our own files do not count. All else does: operators, constants,
defaults, decorators, annotations (settings are checked by them) and every string that is used.

Three rules keep file names and re-exports out:

* A name that is bound by an import stands for what was imported. Of a library that is its dotted
  path; of ours, the hash of the module that defines it.
* ``from package import name`` is followed to the module that defines the name, also where the
  package imports names when they are first asked for (``if TYPE_CHECKING`` beside a module's
  ``__getattr__``, as in `reproaudit.lab`).
* What is loaded on the way, the ``__init__`` of a package above all, counts for what it does beyond
  imports, definitions and assignments.

What is imported by a computed name (``importlib``) is not seen.
"""

from __future__ import annotations

import ast
import hashlib
import itertools
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from reproaudit.audit.command_module import CommandModule
from reproaudit.audit.paper_module import Module
from reproaudit.errors import SpecError

_NOT_COMPUTED = frozenset({"ctx", "kind", "type_comment", "type_ignores", "simple"})
"""Fields of syntax nodes that say nothing about a computation, or are not in every Python."""

Imported = tuple[str, str]
"""A dotted module, and the name that is taken from it; "" for the module itself."""


@dataclass(frozen=True)
class CodeClosure:
    """The code and libraries that a paper's module computes with.

    Attributes:
        digest: 32 hexadecimal digits.
        packages: the libraries that its code imports, by the first part of their name.
        modules: our own modules that the digest covers, by dotted name.
    """

    digest: str
    packages: frozenset[str]
    modules: frozenset[str] = frozenset()


def code_closure(
    module_file: Path, package_roots: Sequence[Path], left_out: Collection[str] = ()
) -> CodeClosure:
    """Hashes a paper's module and everything of ours that it imports.

    Args:
        module_file: the module's ``.py`` file, its package's folder or its ``__init__.py``.
        package_roots: where our own modules are: package folders such as ``…/reproaudit``, and
            plain folders whose modules import each other by name. The module's own folder is one.
        left_out: packages and modules of ours, by dotted name, that the digest does not cover.

    Raises:
        SpecError: if a module is missing, unreadable or not valid Python.
    """
    start = module_file.resolve()
    start = start / "__init__.py" if start.is_dir() else start
    if not start.is_file():
        raise SpecError(f"{start}: there is no such module")
    is_package = start.name == "__init__.py"
    ours = _OwnModules(package_roots)
    if ours.name_of(start) is None:
        ours = _OwnModules([*package_roots, start.parent.parent if is_package else start.parent])
    ours.left_out = frozenset(left_out)
    files = [start, *sorted(start.parent.rglob("*.py"))] if is_package else [start]
    names = list(dict.fromkeys(name for file in files if (name := ours.name_of(file))))
    return _close(ours, names)


def closure_of(module: Module) -> CodeClosure:
    """The code that a paper computes with: its module's, or its run file and the source it pins.

    Raises:
        SpecError: if the module or the run file cannot be used.
    """
    if isinstance(module, CommandModule):
        return CodeClosure(module.digest(), frozenset())
    return code_closure(module.file, module.roots)


# -------------------------------------------------------------------------------- our own modules


class _OwnModules:
    """Finds our own modules by dotted name.

    A folder with an ``__init__.py`` is a package, found by its own name; any other folder holds
    modules that are found by theirs, as on ``sys.path``.
    """

    def __init__(self, folders: Iterable[Path]) -> None:
        resolved = [folder.resolve() for folder in folders]
        packages = [folder for folder in resolved if (folder / "__init__.py").is_file()]
        self._roots: list[tuple[Path, tuple[str, ...]]] = [(one, (one.name,)) for one in packages]
        self._roots += [(folder, ()) for folder in resolved if folder not in packages]
        self._found: dict[str, _Module | None] = {}
        self._defining: dict[Imported, Imported] = {}
        self.left_out: frozenset[str] = frozenset()

    def name_of(self, file: Path) -> str | None:
        """The dotted name of a file, or None if it lies under no root."""
        for folder, prefix in self._roots:
            if file.is_relative_to(folder):
                parts = (*prefix, *file.relative_to(folder).with_suffix("").parts)
                return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        return None

    def __getitem__(self, name: str) -> _Module | None:
        """A module of ours, or None if the name is a library's."""
        if name not in self._found:
            counts = self.left_out.isdisjoint(_parents((name, "")))
            file = self._search(tuple(name.split("."))) if counts else None
            self._found[name] = None if file is None else _read(file, name)
        return self._found[name]

    def _search(self, parts: tuple[str, ...]) -> Path | None:
        for folder, prefix in self._roots:
            if parts[: len(prefix)] == prefix:
                place = folder.joinpath(*parts[len(prefix) :])
                for candidate in (place / "__init__.py", place.with_name(place.name + ".py")):
                    if candidate.is_file():
                        return candidate
        return None

    def defining(self, imported: Imported) -> Imported:
        """The module that defines what is imported: ours is followed through re-exports."""
        if imported not in self._defining:
            self._defining[imported] = self._follow(*imported)
        return self._defining[imported]

    def _follow(self, module: str, name: str) -> Imported:
        seen = set()
        while (found := self[module]) is not None and name and (module, name) not in seen:
            seen.add((module, name))
            if name in found.defined:
                break
            if name in found.bound:
                module, name = found.bound[name]
            elif self[f"{module}.{name}"] is not None:
                module, name = f"{module}.{name}", ""
            else:
                break
        return module, name


@dataclass(frozen=True)
class _Module:
    """One module of ours.

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


def _read(file: Path, name: str) -> _Module:
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


@lru_cache(maxsize=1024)
def _parsed(source: bytes, name: str, is_package: bool) -> _Module:
    tree = ast.parse(source)
    defined = frozenset(_defined(tree.body))
    package = name if is_package else name.rpartition(".")[0]
    reader = _Reader(package, lazily="__getattr__" in defined)
    body = reader.computing(tree.body)
    does = [one for one in body if not isinstance(one, _ONLY_BINDS)]
    try:
        text, loading = _Writer(reader.bound).written(body), _Writer(reader.bound).written(does)
    except RecursionError:  # an expression of a thousand terms: every byte counts
        text = loading = (source.hex(), *sorted(reader.imports))
    pieces = tuple(_joined(text)), tuple(_joined(loading))
    return _Module(*pieces, reader.bound, defined, frozenset(reader.imports))


_ONLY_BINDS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Assign, ast.AnnAssign)


def _defined(body: Iterable[ast.stmt]) -> Iterator[str]:
    for one in body:
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield one.name
        elif isinstance(one, ast.Assign | ast.AnnAssign):
            targets = one.targets if isinstance(one, ast.Assign) else [one.target]
            yield from (target.id for target in targets if isinstance(target, ast.Name))


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
        bound: what each imported name stands for; a name bound in two ways stands for neither.
        imports: everything that is imported.
    """

    package: str
    lazily: bool
    bound: dict[str, Imported] = field(default_factory=dict)
    imports: set[Imported] = field(default_factory=set)
    _ambiguous: set[str] = field(default_factory=set)

    def computing(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """The statements that compute something, without imports."""
        kept = self._visited(body)
        for name in self._ambiguous:
            del self.bound[name]
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
        return None if isinstance(node.value, ast.Constant) else node  # a docstring, for instance

    def visit_Pass(self, node: ast.Pass) -> None:
        """Nothing is done, so nothing is kept."""

    def visit_If(self, node: ast.If) -> ast.AST | None:
        asked = ast.unparse(node.test)
        if asked in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
            if self.lazily:
                self._visited(node.body)
            node.body = []
            return None if not node.orelse else self.generic_visit(node)
        if asked == "__name__ == '__main__'":
            return None
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
            if alias.name != "*":
                self._note(alias.asname or alias.name, (module, alias.name))
        return _Import([(module, alias.name) for alias in node.names], node)

    def _note(self, name: str, imported: Imported) -> None:
        if self.bound.setdefault(name, imported) != imported:
            self._ambiguous.add(name)


class _Writer:
    """Writes statements as text, with what was imported in place of the names bound to it."""

    def __init__(self, bound: Mapping[str, Imported]) -> None:
        self._bound = bound
        self._parts: list[str | Imported] = []

    def written(self, body: Sequence[ast.stmt]) -> tuple[str | Imported, ...]:
        """The text, in parts."""
        self._write(list(body))
        return tuple(self._parts)

    def _write(self, value: Any) -> None:
        if isinstance(value, list):
            self._parts.append("[")
            for one in value:
                self._write(one)
            self._parts.append("]")
        elif isinstance(value, ast.Name) and value.id in self._bound:
            self._parts.append(self._bound[value.id])
        elif isinstance(value, ast.Constant):
            self._parts.append(_constant(value.value))
        elif isinstance(value, ast.JoinedStr):
            self._write_joined(value)
        elif isinstance(value, _Import):
            self._parts += ["(import ", *value.imported, *value.renamed, ")"]
        elif isinstance(value, ast.AST):
            self._parts.append(f"({type(value).__name__} ")
            for name in sorted(set(value._fields) - _NOT_COMPUTED):
                inner = getattr(value, name, None)
                if inner is not None and inner != []:
                    self._parts.append(f"{name}=")
                    self._write(inner)
            self._parts.append(")")
        else:
            self._parts.append(f"{value!s} ")

    def _write_joined(self, node: ast.JoinedStr) -> None:
        """An f-string; Python versions cut its constant parts differently."""
        self._parts.append("(JoinedStr ")
        constant = ""
        for one in node.values:
            if isinstance(one, ast.Constant):
                constant += str(one.value)
            else:
                self._parts.append(_constant(constant))
                self._write(one)
                constant = ""
        self._parts.append(_constant(constant) + ")")


def _constant(value: Any) -> str:
    """A constant by type and exact value; text by its length, so that nothing runs into it."""
    shown = value.hex() if isinstance(value, float) else ascii(value)
    return f"<{type(value).__name__} {len(shown)}:{shown}>"


# ----------------------------------------------------------------------------------------- hashing


def _close(ours: _OwnModules, names: Sequence[str]) -> CodeClosure:
    """Hashes modules, all that they import, and what is loaded on the way.

    Imports may run in circles, so the hashes are made in rounds: first of each module's own text,
    then of its text with the hashes of the round before in place of what it imports, until a round
    tells no more modules apart than the last.
    """
    texts: dict[str, _Text] = {}
    packages: set[str] = set()
    waiting = [(name, True) for name in names]
    whole: set[str] = set()
    while waiting:
        name, counts_whole = waiting.pop()
        module = ours[name]
        if module is None or name in whole or (name in texts and not counts_whole):
            continue
        imports = frozenset(ours.defining(one) for one in module.imports)
        texts[name] = (module.text, imports) if counts_whole else (module.loading, frozenset())
        if counts_whole:
            whole.add(name)
            packages |= {one.partition(".")[0] for one, _ in imports if ours[one] is None}
        waiting += [(defining, counts_whole) for defining, _ in imports]
        passed = [(name, ""), *module.imports, *imports]
        waiting += [(parent, False) for one in passed for parent in _parents(one)]
    texts = {name: text for name, text in texts.items() if name in whole or text != _LOADS_NOTHING}
    hashes = dict.fromkeys(texts, b"")
    apart = 0
    while True:
        hashes = {name: _hashed(ours, *text, hashes) for name, text in texts.items()}
        before, apart = apart, len(set(hashes.values()))
        if before == apart:
            break
    found = [hashes[names[0]], *sorted(hashes.values())]
    digest = hashlib.sha256(b"".join(map(_measured, found))).hexdigest()[:32]
    return CodeClosure(digest, frozenset(packages - sys.stdlib_module_names), frozenset(texts))


_Text = tuple[tuple["bytes | Imported", ...], frozenset[Imported]]
"""The text of a module with what is imported in it, and all that it imports."""

_LOADS_NOTHING: _Text = ((b"1:[1:]",), frozenset())


def _parents(imported: Imported) -> Iterator[str]:
    parts = imported[0].split(".")
    return (".".join(parts[: i + 1]) for i in range(len(parts)))


def _hashed(
    ours: _OwnModules,
    text: Sequence[bytes | Imported],
    imports: Iterable[Imported],
    hashes: Mapping[str, bytes],
) -> bytes:
    def plain(imported: Imported) -> bytes:
        module, name = ours.defining(imported)
        place = hashes[module].hex() if module in hashes else f"library {module}"
        return f"<{place} {name}>".encode()

    pieces = [part if isinstance(part, bytes) else _measured(plain(part)) for part in text]
    pieces += map(_measured, sorted(map(plain, imports)))
    return hashlib.sha256(b"".join(pieces)).digest()


def _measured(part: bytes) -> bytes:
    """A part with its length before it, so that no two sequences of parts run together alike."""
    return b"%d:%b" % (len(part), part)


def _joined(parts: Iterable[str | Imported]) -> Iterator[bytes | Imported]:
    """The same text with everything between two imported names in one piece."""
    for is_text, several in itertools.groupby(parts, lambda part: isinstance(part, str)):
        if is_text:
            yield b"".join(_measured(str(one).encode("utf-8", "surrogatepass")) for one in several)
        else:
            yield from cast(Iterator[Imported], several)
