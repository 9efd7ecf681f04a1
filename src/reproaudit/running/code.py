"""What makes a cell's numbers: its code, its settings and seed, its data and its versions.

A paper's code is digested without what computes nothing (`syntax`). The digest covers every module
of the paper, all of `reproaudit.lab` with its stub, and `reproaudit.records`. A user's paper is its
own file or package, and what that imports from the folder in which it lies. Code is read and never
run, so an import by a computed name is not seen.
"""

from __future__ import annotations

import ast
import hashlib
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import metadata
from pathlib import Path

from reproaudit.audit.catalog import PACKAGE, Module
from reproaudit.cell import Cell, RunForm, canonical_settings
from reproaudit.errors import SpecError
from reproaudit.records import Environment, Record
from reproaudit.running.syntax import computing_text

COMPUTING_PACKAGES = ("torch", "numpy", "scipy", "numba", "llvmlite")
"""The packages whose version can change a number of any paper."""

NOT_PACKAGES = frozenset({"python", "device", "form"})
"""The keys of `versions` that name no package."""

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
    folder = module.file.resolve().parent
    lab = PACKAGE / "lab"
    ours = [*lab.rglob("*.py"), *lab.rglob("*.pyi"), PACKAGE / "records.py"]
    read = {file.relative_to(folder).as_posix(): _read(file) for file in _files_of_paper(module)}
    own = {name.partition("/")[0].removesuffix(".py") for name in read}
    read |= {f"reproaudit/{file.relative_to(PACKAGE).as_posix()}": _read(file) for file in ours}
    texts = "".join(f"{name}\0{text}\0" for name, (text, _) in sorted(read.items()))
    digest = hashlib.sha256(texts.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    packages = {name.partition(".")[0] for _, imports in read.values() for name in imports}
    return CodeClosure(digest, frozenset(packages - own - sys.stdlib_module_names - {""}))


def imports_torch(module: Module) -> bool:
    """Tell whether a paper's own files import torch, or something that is named after it.

    A run file's commands may do whatever they like: it is true of them. Raises as `closure_of`.
    """
    if module.is_run_file:
        return True
    names = {name for file in _files_of_paper(module) for name in _read(file)[1]}
    return any(part.startswith("torch") for name in names for part in name.split("."))


def _files_of_paper(module: Module) -> set[Path]:
    start = module.file.resolve()
    found: set[Path] = set()
    waiting = _files_at(start.with_suffix(""))
    if not waiting:
        raise SpecError(f"{start}: there is no such module")
    while waiting:
        file = waiting.pop()
        if file not in found:
            found.add(file)
            names = () if module.importable else _read(file)[1]
            for name in names:  # a neighbour is imported relatively or by name
                waiting += _files_at(start.parent / name.lstrip(".").partition(".")[0])
    return found


def _files_at(place: Path) -> list[Path]:
    """The file of a module, or all files of a package, by its path without a suffix."""
    file = place.with_name(f"{place.name}.py")
    is_module = file.is_file() and not (place / "__init__.py").is_file()
    return [file] if is_module else [*place.rglob("*.py")]


def _read(file: Path) -> tuple[str, frozenset[str]]:
    """The syntax of a module as text, and the dotted names that it imports."""
    try:
        return _parsed(file.read_bytes())
    except OSError as error:
        raise SpecError(f"{file}: this module cannot be read ({error.strerror})") from error
    except (SyntaxError, ValueError, RecursionError) as error:  # a null byte; deep nesting
        line = getattr(error, "lineno", None) or 1
        text = getattr(error, "msg", None) or error
        raise SpecError(f"{file}:{line}: this module is not valid Python ({text})") from error


@lru_cache(maxsize=1024)
def _parsed(source: bytes) -> tuple[str, frozenset[str]]:
    tree = ast.parse(source)
    imports: set[str] = set()
    for node in _statements(tree):
        match node:
            case ast.Import(names=names):
                imports.update(one.name for one in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                of = "." * level + (f"{module}." if module else "")
                imports.update(of + one.name for one in names)
    return computing_text(tree), frozenset(imports)


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """Every statement below a node; expressions, ten times as many, hold none."""
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        for one in getattr(node, name, ()):
            yield one
            yield from _statements(one)


def versions(device: str, imported: Iterable[str] = (), form: RunForm = "fast") -> dict[str, str]:
    """The versions that a fingerprint holds, without importing any package.

    Args:
        imported: packages that the paper's code uses, from `closure_of`.
        form: how the experiments compute; it is named only where it is the plain one.
    """
    others = {DISTRIBUTIONS.get(one, one) for one in imported if one not in COMPUTING_NOTHING}
    packages = {one: _version(one) for one in (*COMPUTING_PACKAGES, *sorted(others))}
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
    """The cell's id: equal for the same settings, seed, code, versions and data, in any tier.

    The code is the digest from `closure_of`; the data are checksums of data files, by name.
    """
    settings = canonical_settings(cell.settings)
    parts = [cell.paper, cell.experiment, settings, cell.seed, code, dict(versions), dict(data)]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]


def fingerprint_of(record: Record) -> str:
    """The fingerprint that follows from what a record says of itself."""
    made = versions_of(record.environment)
    return fingerprint(cell_of(record), record.code, made, record.data)


def cell_of(record: Record) -> Cell:
    """The cell that a record is of."""
    return Cell(record.paper, record.tier, record.experiment, record.settings, record.seed)
