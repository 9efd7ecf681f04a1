"""What identifies a cell: its settings and seed, the code that it runs, its data and its versions.

Nothing in here imports a paper's module or torch: code is followed statically, through ``ast``.
"""

from __future__ import annotations

import ast
import hashlib
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import metadata
from pathlib import Path

from reproaudit.cell import Cell, canonical_settings
from reproaudit.errors import SpecError
from reproaudit.records import Environment, Record

COMPUTING_PACKAGES = ("torch", "numpy", "scipy", "numba")
"""The packages whose version can change a number."""


def fingerprint(
    cell: Cell, code: str, versions: Mapping[str, str], data: Mapping[str, str] | None = None
) -> str:
    """The cell's id: equal for the same settings, seed, code, versions and data, in any tier.

    Args:
        cell: what is to run.
        code: from `code_hash`.
        versions: from `versions`.
        data: checksum of each data file, by name.

    Returns:
        32 hexadecimal digits.
    """
    parts = [
        cell.paper,
        cell.experiment,
        canonical_settings(cell.settings),
        cell.seed,
        code,
        dict(versions),
        dict(data or {}),
    ]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]


def versions(device: str) -> dict[str, str]:
    """What a fingerprint holds of the machine: Python's minor version, packages, kind of device.

    Args:
        device: ``"cpu"`` or ``"cuda"``.
    """
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    return {"python": python, "device": device, **package_versions()}


def versions_of(environment: Environment) -> dict[str, str]:
    """What `versions` gave on the machine that made a record."""
    python = ".".join(environment.python.split(".")[:2])
    device = environment.device.split(" ")[0]
    packages = {name: environment.packages.get(name, "absent") for name in COMPUTING_PACKAGES}
    return {"python": python, "device": device, **packages}


def fingerprint_of(record: Record) -> str:
    """The fingerprint that follows from what a record says of itself."""
    cell = Cell(record.paper, record.tier, record.experiment, record.settings, record.seed)
    return fingerprint(cell, record.code, versions_of(record.environment), record.data)


@cache
def _package_versions() -> tuple[tuple[str, str], ...]:
    found = {}
    for name in COMPUTING_PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "absent"
    return tuple(found.items())


def package_versions() -> dict[str, str]:
    """The installed version of each package that computes, without importing any."""
    return dict(_package_versions())


# ---------------------------------------------------------------------------------- code closure


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


def _imported(tree: ast.AST, package: str) -> Iterator[str]:
    """Every dotted name that an import statement may load, anywhere in the tree."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _prefixes(alias.name)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join(part for part in (*parents, base) if part)
            if base:
                yield from _prefixes(base)
            yield from (f"{base}.{alias.name}".lstrip(".") for alias in node.names)


def _parse(file: Path, source: bytes) -> ast.AST:
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError) as error:  # ValueError: a null byte
        line = getattr(error, "lineno", None) or 1
        text = getattr(error, "msg", None) or str(error)
        raise SpecError(f"{file}:{line}: this module is not valid Python ({text})") from error


def code_hash(module_file: Path, package_roots: Sequence[Path]) -> str:
    """A hash of the bytes of a paper's module and of everything of ours that it imports.

    The imports are followed statically and transitively, inside functions too, and with the
    ``__init__`` of every package on the way. A paper that is a package counts with all its files.
    What is imported by a computed name (``importlib``) is not seen.

    Args:
        module_file: the module's ``.py`` file, its package's folder or its ``__init__.py``.
        package_roots: where our own modules are: package folders such as ``…/reproaudit``, and
            plain folders whose modules import each other by name. The module's own folder is one.

    Returns:
        32 hexadecimal digits; the place of the folders does not enter.

    Raises:
        SpecError: if a module is missing, unreadable or not valid Python.
    """
    start = module_file.resolve()
    start = start / "__init__.py" if start.is_dir() else start
    is_package = start.name == "__init__.py"
    roots = _Roots(package_roots)
    if roots.name_of(start) is None:
        roots = _Roots([*package_roots, start.parent.parent if is_package else start.parent])
    files = sorted(start.parent.rglob("*.py")) if is_package else [start]
    queue = [name for file in files if (name := roots.name_of(file))]
    queue += [parent for name in queue for parent in _prefixes(name)]
    return _hash_closure(roots, queue, start)


def _hash_closure(roots: _Roots, queue: list[str], start: Path) -> str:
    hashes: dict[str, str] = {}
    if not start.is_file():
        raise SpecError(f"{start}: there is no such module")
    while queue:
        name = queue.pop()
        file = roots.locate(name)
        if name in hashes or file is None:
            continue
        try:
            source = file.read_bytes()
        except OSError as error:
            raise SpecError(f"{file}: this module cannot be read ({error.strerror})") from error
        hashes[name] = hashlib.sha256(source).hexdigest()
        package = name if file.name == "__init__.py" else name.rpartition(".")[0]
        queue.extend(_imported(_parse(file, source), package))
    listing = "\n".join(f"{name} {digest}" for name, digest in sorted(hashes.items()))
    return hashlib.sha256(listing.encode()).hexdigest()[:32]
