"""What a paper's module computes with: its code and everything of ours that it can reach.

The imports are followed statically and transitively, inside functions too, and with the
``__init__`` of every package on the way. What is imported by a computed name is not seen; a string
that is the dotted name of a module in one of our packages counts as an import of it.

* The paper counts whole: a module alone, or all files of its package.
* Another module counts whole if loading it does more than define things. Otherwise those of its
  definitions count that something counted refers to, directly or through others.

File names do not enter the hash. Where code refers to something of ours, the hash of what it
refers to stands in place of its address. References may run in circles, so the hashes are computed
in rounds: first each piece of code alone, then each with its references replaced by the hashes
of the round before, until a round tells no more pieces apart than the last. Two pieces with the
same hash then have the same code, and refer to code that is the same.
"""

from __future__ import annotations

import hashlib
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from reproaudit.errors import SpecError
from reproaudit.running.closure.canonical import (
    Code,
    ModuleCode,
    ModuleName,
    Reference,
    canonical,
)
from reproaudit.running.closure.pruning import ANNOTATION_READERS, READ_NO_ANNOTATIONS
from reproaudit.running.closure.syntax import Imported

READS_ITSELF = frozenset(
    {"__doc__", ".__doc__", ".__module__", "inspect", "linecache", "getsource", "getdoc"}
)
"""Names through which code can see its own text; where one is used, every byte counts."""

HIDDEN_WAYS = frozenset(
    {"globals", "locals", "eval", "exec", ".__globals__", ".__subclasses__", "__init_subclass__"}
    | {"pickle", "dill", "cloudpickle"}
)
"""Names through which code reaches definitions that it does not name; then all of them count."""

SETTLED_SECONDS = 2.0
"""A file changed less long ago is read again: a second change might show the same time."""

_MODULE = "module"

Unit = tuple[str, str]
"""What is hashed as one: a module and the name of its definition, or "" for the whole module."""


@dataclass(frozen=True)
class Closure:
    """What a paper's module computes with.

    Attributes:
        digest: 32 hexadecimal digits.
        packages: the packages outside the standard library that the counted code uses, by the
            name that is imported.
    """

    digest: str
    packages: frozenset[str]


def code_closure(module_file: Path, package_roots: Sequence[Path]) -> Closure:
    """Reads a paper's module and everything of ours that it can reach.

    Args:
        module_file: the module's ``.py`` file, its package's folder or its ``__init__.py``.
        package_roots: where our own modules are: package folders such as ``…/reproaudit``, and
            plain folders whose modules import each other by name. The module's own folder is one.

    Raises:
        SpecError: if a module is missing, unreadable or not valid Python.
    """
    start = module_file.resolve()
    start = start / "__init__.py" if start.is_dir() else start
    if not start.is_file():
        raise SpecError(f"{start}: there is no such module")
    is_package = start.name == "__init__.py"
    roots = _Roots(package_roots)
    if roots.name_of(start) is None:
        roots = _Roots([*package_roots, start.parent.parent if is_package else start.parent])
    files = [start, *sorted(start.parent.rglob("*.py"))] if is_package else [start]
    paper = [name for file in files if (name := roots.name_of(file))]
    found = _Reached(roots, paper, annotated=False)
    if found.reads_annotations:
        found = _Reached(roots, paper, annotated=True)
    return Closure(found.digest(), frozenset(found.packages))


def code_hash(module_file: Path, package_roots: Sequence[Path]) -> str:
    """The digest of `code_closure`."""
    return code_closure(module_file, package_roots).digest


# -------------------------------------------------------------------------------- our own modules


class _Roots:
    """Finds our own modules by dotted name.

    A folder with an ``__init__.py`` is a package, found by its own name; any other folder holds
    modules that are found by theirs, as on ``sys.path``.
    """

    def __init__(self, folders: Iterable[Path]) -> None:
        resolved = [folder.resolve() for folder in folders]
        packages = [folder for folder in resolved if (folder / "__init__.py").is_file()]
        self._roots: list[tuple[Path, tuple[str, ...]]] = [(one, (one.name,)) for one in packages]
        self._roots += [(folder, ()) for folder in resolved if folder not in packages]
        self._found: dict[str, Path | None] = {}
        self.packages = frozenset(folder.name for folder in packages)

    def name_of(self, file: Path) -> str | None:
        """The dotted name of a file, or None if it lies under no root."""
        for folder, prefix in self._roots:
            if file.is_relative_to(folder):
                parts = (*prefix, *file.relative_to(folder).with_suffix("").parts)
                return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        return None

    def locate(self, name: str) -> Path | None:
        """The file of a module of ours, or None if the module is not ours."""
        if name not in self._found:
            self._found[name] = self._search(tuple(name.split(".")))
        return self._found[name]

    def _search(self, parts: tuple[str, ...]) -> Path | None:
        for folder, prefix in self._roots:
            if parts[: len(prefix)] != prefix:
                continue
            place = folder.joinpath(*parts[len(prefix) :])
            for candidate in (place / "__init__.py", place.with_name(place.name + ".py")):
                if candidate.is_file():
                    return candidate
        return None


def _prefixes(name: str) -> Iterator[str]:
    parts = name.split(".")
    return (".".join(parts[: i + 1]) for i in range(len(parts)))


_read: dict[tuple[Path, int, int, frozenset[str], bool], ModuleCode] = {}


def _module(file: Path, ours: frozenset[str], annotated: bool) -> ModuleCode:
    """A module's canonical code, kept while the file stays as it is."""
    try:
        at = file.stat()
        key = (file, at.st_size, at.st_mtime_ns, ours, annotated)
        if key in _read:
            return _read[key]
        source = file.read_bytes()
    except OSError as error:
        raise SpecError(f"{file}: this module cannot be read ({error.strerror})") from error
    try:
        module = canonical(source, ours, annotated)
    except (SyntaxError, ValueError) as error:  # ValueError: a null byte
        line = getattr(error, "lineno", None) or 1
        text = getattr(error, "msg", None) or str(error)
        raise SpecError(f"{file}:{line}: this module is not valid Python ({text})") from error
    if time.time() - at.st_mtime > SETTLED_SECONDS:
        _read[key] = module
    return module


# ----------------------------------------------------------------------------------- what counts


class _Reached:
    """The code that counts, each piece with what it refers to.

    Args:
        roots: where our own modules are.
        paper: the paper's modules, the one that is loaded first.
        annotated: whether annotations of functions count everywhere.
    """

    def __init__(self, roots: _Roots, paper: Sequence[str], annotated: bool) -> None:
        self._roots = roots
        self._paper = paper
        self._modules: dict[str, ModuleCode] = {}
        self._load(annotated)
        self.reads_annotations = False
        self.packages: set[str] = set()
        self._texts: dict[Unit, bytes] = {}
        self._references: dict[Unit, list[tuple[Unit, ...]]] = {}
        waiting = [unit for name in self._modules if self._whole(name) for unit in self._all(name)]
        while waiting:
            unit = waiting.pop()
            if unit not in self._texts:
                self._add(unit)
                waiting += [one for several in self._references[unit] for one in several]

    def _load(self, annotated: bool) -> None:
        """Reads every module that is loaded with the paper."""
        queue = [parent for name in self._paper for parent in _prefixes(name)]
        while queue:
            name = queue.pop()
            file = self._roots.locate(name)
            if name in self._modules or file is None:
                continue
            module = self._modules[name] = _module(file, self._roots.packages, annotated)
            for imported in module.imports:
                base = self._absolute(imported, name)
                queue += _prefixes(f"{base}.{imported.name}" if imported.name else base)
                queue += self._imported_lazily(base, imported.name, annotated)
            for text in module.body.strings:
                if self._is_package_module(text):
                    queue += _prefixes(text)

    def _imported_lazily(self, name: str, wanted: str | None, annotated: bool) -> Iterator[str]:
        """The modules that one of ours imports when a name, or any name, is asked of it."""
        file = self._roots.locate(name)
        if file is not None:
            lazy = _module(file, self._roots.packages, annotated).lazy
            for one in lazy.values() if wanted not in lazy else [lazy[wanted]]:
                if wanted in (None, "*", one.name):
                    yield from _prefixes(one.module)

    def _is_package_module(self, text: str) -> bool:
        first, dot, _ = text.partition(".")
        return bool(dot) and first in self._roots.packages and bool(self._roots.locate(text))

    def _absolute(self, imported: Imported, importer: str) -> str:
        """The dotted name of the module that an import names."""
        if not imported.level:
            return imported.module
        file = self._roots.locate(importer)
        is_package = file is not None and file.name == "__init__.py"
        parts = importer.split(".")
        parts = parts[: len(parts) - imported.level + is_package]
        return ".".join([*parts, *filter(None, [imported.module])])

    # --- pieces

    @cached_property
    def _hidden_ways(self) -> bool:
        for module in self._modules.values():
            imported = {one.module.partition(".")[0] for one in module.imports}
            if HIDDEN_WAYS & (module.body.mentions | imported):
                return True
        return False

    def _whole(self, name: str) -> bool:
        """Whether a module counts whole: it is the paper's, or loading it may do something."""
        module = self._modules[name]
        return (
            module.definitions is None
            or name in self._paper
            or self._hidden_ways
            or any(self._acts(one, name) for one in module.loaded)
        )

    def _acts(self, imported: Imported, importer: str) -> bool:
        ours = imported.name != "*" and self._roots.locate(self._absolute(imported, importer))
        return not ours and imported.module != "__future__"

    def _all(self, name: str) -> tuple[Unit, ...]:
        """Every piece of a module."""
        if self._whole(name):
            return ((name, ""),)
        return tuple((name, one) for one in self._modules[name].definitions or ())

    def _piece(self, name: str, definition: str) -> tuple[Unit, ...]:
        known = definition in (self._modules[name].definitions or ())
        return ((name, definition),) if known and not self._whole(name) else self._all(name)

    def _add(self, unit: Unit) -> None:
        """Resolves the references of a piece of code."""
        name, definition = unit
        module = self._modules[name]
        code: Code = (module.definitions or {})[definition] if definition else module.body
        labels: set[str] = set()
        text: list[str] = []
        references: list[tuple[Unit, ...]] = []

        def refer(reference: Reference) -> None:
            units, label = self._resolve(reference, name)
            labels.update(label.split("."))
            references.append(units) if units else self._note_package(label)
            text.append(f"<{label}>" if units else f"({label})")

        if unit == (self._paper[0], ""):
            refer(Reference(Imported(0, name), ("EXPERIMENTS",)))
        if not definition:
            for imported in sorted(module.loaded, key=repr):
                if self._acts(imported, name):
                    text.append("load ")
                    refer(Reference(imported))
        for part in code.text:
            if isinstance(part, str):
                text.append(part)
            elif isinstance(part, ModuleName):
                text.append(f"({name})")
            elif isinstance(part, Reference):
                refer(part)
            elif forward := module.bound[part.name]:  # text that may name a class
                if self._resolve(Reference(forward), name)[1].partition(" ")[0] != _MODULE:
                    refer(Reference(forward))
            elif definition and part.name in (module.definitions or {}):
                references.append(((name, part.name),))
        for constant in sorted(code.strings):
            if self._is_package_module(constant):
                references.append(self._all(constant))
            if constant in READ_NO_ANNOTATIONS:  # imported at first use
                self._note_package(constant)
        if READS_ITSELF & (code.mentions | labels):
            for other in sorted(self._modules):
                file = self._roots.locate(other)
                text.append(f"({other} {file.read_bytes().hex() if file else ''})")
        labels |= {one[1:] for one in code.mentions if one.startswith(".")}
        self.reads_annotations |= not labels.isdisjoint(ANNOTATION_READERS)
        self._texts[unit] = "".join(text).encode("utf-8", "surrogatepass")
        self._references[unit] = references

    def _note_package(self, path: str) -> None:
        package = path.partition(".")[0]
        if package not in sys.stdlib_module_names:
            self.packages.add(package)

    def _resolve(self, reference: Reference, importer: str) -> tuple[tuple[Unit, ...], str]:
        """What a reference stands for.

        Returns:
            The pieces of our code and the names taken from them; or nothing, and the dotted path
            in a library.
        """
        imported = reference.imported
        module = self._absolute(imported, importer)
        path = [*filter(None, [imported.name]), *reference.attributes]
        seen: set[Unit] = set()
        while module in self._modules:
            if not path:
                inner = sorted(one for one in self._modules if one.startswith(f"{module}."))
                units = tuple(unit for one in [module, *inner] for unit in self._all(one))
                return units, " ".join([_MODULE, *inner])
            first, rest = path[0], path[1:]
            bound = self._modules[module].bound
            if bound.get(first) is not None and (module, first) not in seen:  # imported there
                seen.add((module, first))
                onward = bound[first]
                assert onward is not None
                path = [*filter(None, [onward.name]), *rest]
                module = self._absolute(onward, module)
            elif first in bound and bound[first] is None:
                units = self._piece(module, first)
                if f"{module}.{first}" in self._modules:  # a module and a definition of one name
                    units += self._all(f"{module}.{first}")
                return units, ".".join(path)
            elif f"{module}.{first}" in self._modules:
                module, path = f"{module}.{first}", rest
            else:
                named = f"{module} " if first.startswith("__") else ""
                return self._all(module), named + ".".join(path)
        return (), ".".join([module, *path])

    # --- hashing

    def digest(self) -> str:
        """The hash of all pieces, of what refers to what, and of where the paper starts."""
        colours = {unit: _sha(text) for unit, text in self._texts.items()}
        told_apart = 0
        while (number := len(set(colours.values()))) > told_apart:
            told_apart = number
            colours = {
                unit: _sha(
                    colours[unit],
                    *(
                        _sha(*sorted(colours[one] for one in several))
                        for several in self._references[unit]
                    ),
                )
                for unit in colours
            }
        counted = sorted(colours[unit] for unit, text in self._texts.items() if text != b"[]")
        start = colours[self._paper[0], ""]
        return _sha(start, *counted).hex()[:32]


def _sha(*parts: bytes) -> bytes:
    whole = hashlib.sha256()
    for part in parts:
        whole.update(part)
    return whole.digest()
