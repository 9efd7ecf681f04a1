"""A hash of the code that a paper computes with; comments, names of files and layout do not count.

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

Docstrings count in a module outside of this package that mentions ``__doc__`` or ``inspect``. What
is imported by a computed name (``importlib``) is not seen, nor what a module reads from another's
text.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from reproaudit.audit.command_module import CommandModule
from reproaudit.audit.paper_module import Module
from reproaudit.errors import SpecError
from reproaudit.running.code_text import Imported, ModuleText, measured, read_module


@dataclass(frozen=True)
class CodeClosure:
    """The code and libraries that a paper's module computes with.

    Attributes:
        digest: 32 hexadecimal digits.
        packages: the libraries that its code imports, by the first part of their name.
        modules: our own modules that the digest covers, by dotted name.
        files: their files.
    """

    digest: str
    packages: frozenset[str]
    modules: frozenset[str] = frozenset()
    files: frozenset[Path] = frozenset()


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
        self._found: dict[str, ModuleText | None] = {}
        self.files: dict[str, Path] = {}
        self._defining: dict[Imported, Imported] = {}
        self.left_out: frozenset[str] = frozenset()

    def name_of(self, file: Path) -> str | None:
        """The dotted name of a file, or None if it lies under no root."""
        for folder, prefix in self._roots:
            if file.is_relative_to(folder):
                parts = (*prefix, *file.relative_to(folder).with_suffix("").parts)
                return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        return None

    def __getitem__(self, name: str) -> ModuleText | None:
        """A module of ours, or None if the name is a library's."""
        if name not in self._found:
            counts = self.left_out.isdisjoint(_parents((name, "")))
            file = self._search(tuple(name.split("."))) if counts else None
            self._found[name] = None if file is None else read_module(file, name)
            if file is not None:
                self.files[name] = file
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
    digest = hashlib.sha256(b"".join(map(measured, found))).hexdigest()[:32]
    libraries = frozenset(packages - sys.stdlib_module_names)
    files = frozenset(ours.files[name] for name in texts)
    return CodeClosure(digest, libraries, frozenset(texts), files)


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

    pieces = [part if isinstance(part, bytes) else measured(plain(part)) for part in text]
    pieces += map(measured, sorted(map(plain, imports)))
    return hashlib.sha256(b"".join(pieces)).digest()
