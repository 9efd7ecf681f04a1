"""What makes a cell's numbers: its code, its settings and seed, its data and its versions.

A paper's code is digested without what computes nothing (`syntax`), and without the names and
places of files (`imports`). The digest covers every module of the paper, and of `reproaudit.lab`
and `reproaudit.records` what these import. A user's paper is its own file or package, and what that
imports from the folder in which it lies. Code is read and never run, so an import by a computed
name is not seen; it is refused when the paper is imported.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path

from reproaudit.audit.catalog import PACKAGE_FOLDER, Module
from reproaudit.audit.sources import own_file, sources_of
from reproaudit.cell import Cell, RunForm, canonical_settings
from reproaudit.errors import SpecError
from reproaudit.records import Environment, Record
from reproaudit.store.imports import Outline, imported_by, outline_of

COMPUTING_PACKAGES = ("torch", "numpy", "scipy", "numba", "llvmlite")
"""The packages whose version can change a number of any paper."""

NOT_PACKAGES = frozenset({"python", "device", "form"})  # keys of `versions`

COMPUTING_NOTHING = frozenset(
    {
        "reproaudit",
        "beartype",
        "jaxtyping",
        "lazy_loader",
        "pydantic",
        "threadpoolctl",
        "typing_extensions",
    }
)
"""Packages that a paper may import and whose version changes no number; ours counts by its code."""

DISTRIBUTIONS = {"sklearn": "scikit-learn", "PIL": "pillow", "cv2": "opencv-python"}
"""Under which name a package is installed, where it is imported by another."""


@dataclass(frozen=True)
class CodeClosure:
    """The digest of a paper's code, and the libraries that it imports, by their first names."""

    digest: str
    packages: frozenset[str]


def closure_of(module: Module) -> CodeClosure:
    """Read a paper's code, or a run file and the source it pins; a SpecError if it is not valid."""
    if module.is_run_file:
        from reproaudit.repositories.run_file import run_file_digest

        return CodeClosure(run_file_digest(module.file), frozenset())
    files = files_of(module).files
    sources = {file: _bytes(file) for file in sorted([*files, *_ours()])}
    outlines = {file: _outline(file, source) for file, source in sources.items()}
    folder = module.folder
    own = {file.relative_to(folder).parts[0].removesuffix(".py") for file in files}
    start = folder / module.file.name
    imported = imported_by(
        start / "__init__.py" if start.is_dir() else start.with_suffix(".py"),
        files,
        tuple(sources.items()),
        None if module.importable else folder,
        PACKAGE_FOLDER,
    )
    names = {name for file in files | imported.files for name in outlines[file].imported}
    packages = {name.partition(".")[0] for name in names}
    others = packages - own - sys.stdlib_module_names - {""}
    digest = hashlib.sha256(imported.text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return CodeClosure(digest, frozenset(others))


def _ours() -> list[Path]:
    lab = PACKAGE_FOLDER / "lab"
    return [*lab.rglob("*.py"), *lab.rglob("*.pyi"), PACKAGE_FOLDER / "records.py"]


def imports_torch(module: Module) -> bool:
    """Tell whether a paper's own files import torch or a namesake; a run file counts as one."""
    if module.is_run_file:
        return True
    files = files_of(module).files
    names = {name for file in files for name in _outline(file, _bytes(file)).imported}
    return any(part.startswith("torch") for name in names for part in name.split("."))


@dataclass(frozen=True)
class PaperFiles:
    """A paper's own files, and the first names by which it imports some of them absolutely."""

    files: frozenset[Path]
    neighbours: frozenset[str]


def files_of(module: Module) -> PaperFiles:
    """Find a paper's files; a SpecError if one cannot be read or is none of its folder's own."""
    folder = module.folder
    start = folder / module.file.name
    sources = None if module.importable else sources_of(module)
    waiting = _files_at(start.with_suffix(""), sources)
    if not waiting:
        raise SpecError(f"{start}: there is no such module")
    files: set[Path] = set()
    neighbours: set[str] = set()
    while waiting:
        file = waiting.pop()
        if file in files:
            continue
        files.add(file)
        names = () if module.importable else _outline(file, _bytes(file)).imported
        for name in names:
            is_absolute = not name.startswith(".")
            first = name.lstrip(".").partition(".")[0]
            if is_absolute and first in sys.stdlib_module_names:
                continue
            beside = _files_at(folder / first, sources)
            waiting += beside
            neighbours.update({first} if beside and is_absolute else ())
    return PaperFiles(frozenset(files), frozenset(neighbours))


def _files_at(place: Path, sources: Sequence[Path] | None) -> list[Path]:
    """The file of a module, or all files of a package, by its path without a suffix."""
    file = place.with_name(f"{place.name}.py")
    start = place / "__init__.py"
    is_module = file.is_file() and not start.is_file()
    if sources is None:
        return [file] if is_module else [*place.rglob("*.py")]
    if is_module:
        return [own_file(file, place.parent)]
    own_file(start, place.parent)
    return [source for source in sources if source.suffix == ".py" and place in source.parents]


def _bytes(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise SpecError(f"{file}: this module cannot be read ({error.strerror})") from error


def _outline(file: Path, source: bytes) -> Outline:
    try:
        return outline_of(source)
    except (SyntaxError, ValueError, RecursionError) as error:  # a null byte; deep nesting
        line = getattr(error, "lineno", None) or 1
        text = getattr(error, "msg", None) or error
        raise SpecError(f"{file}:{line}: this module is not valid Python ({text})") from error


def versions(device: str, imported: Iterable[str] = (), form: RunForm = "fast") -> dict[str, str]:
    """The versions that a fingerprint holds, without importing any package."""
    others = {DISTRIBUTIONS.get(name, name) for name in imported if name not in COMPUTING_NOTHING}
    packages = {name: _version(name) for name in (*COMPUTING_PACKAGES, *sorted(others))}
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    return {"python": python, "device": device, **packages, **_named(form)}


def _named(form: RunForm) -> dict[str, str]:
    return {} if form == "fast" else {"form": form}


@cache
def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "absent"


def versions_of(environment: Environment) -> dict[str, str]:
    """The result of `versions` on the machine that made a record."""
    python = ".".join(environment.python.split(".")[:2])
    device = environment.device.split(" ")[0]
    packages = {k: v for k, v in environment.packages.items() if k != "reproaudit"}
    return {"python": python, "device": device, **packages, **_named(environment.form)}


def fingerprint(cell: Cell, code: str, versions: Mapping[str, str], data: Mapping[str, str]) -> str:
    """The cell's id: equal for equal settings, seed, code, versions and data, in any tier."""
    settings = canonical_settings(cell.settings)
    parts = [cell.paper, cell.experiment, settings, cell.seed, code, dict(versions), dict(data)]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]


def fingerprint_of(record: Record) -> str:
    """The fingerprint that follows from a record's settings, seed, code, data and versions."""
    made = versions_of(record.environment)
    return fingerprint(cell_of(record), record.code, made, record.data)


def cell_of(record: Record) -> Cell:
    """The cell that a record is of."""
    return Cell(record.paper, record.tier, record.experiment, record.settings, record.seed)
