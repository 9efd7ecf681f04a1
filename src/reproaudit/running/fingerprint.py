"""The identity of a cell: its settings and seed, the code it runs, its data and its versions."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import metadata

from reproaudit.cell import Cell, RunForm, canonical_settings
from reproaudit.records import Environment, Record

COMPUTING_PACKAGES = ("torch", "numpy", "scipy", "numba", "llvmlite")
"""The packages whose version can change a number of any paper."""

NOT_PACKAGES = frozenset({"python", "device", "form"})
"""The keys of `versions` that name no package."""

COMPUTING_NOTHING = frozenset(
    {"reproaudit", "jaxtyping", "pydantic", "typing_extensions", "beartype", "threadpoolctl"}
)
"""Packages that a paper may import and whose version changes no number; ours counts by its code."""

DISTRIBUTIONS = {"sklearn": "scikit-learn", "PIL": "pillow", "cv2": "opencv-python"}
"""Under which name a package is installed, where it is imported by another."""


def fingerprint(
    cell: Cell, code: str, versions: Mapping[str, str], data: Mapping[str, str] | None = None
) -> str:
    """The cell's id: equal for the same settings, seed, code, versions and data, in any tier.

    Args:
        cell: what is to run.
        code: the digest of the paper's code, from `closure_of`.
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


def versions(device: str, imported: Iterable[str] = (), form: RunForm = "fast") -> dict[str, str]:
    """The part of a fingerprint next to the cell: Python's minor version, packages, device, form.

    The form is named only where it is the plain one.

    Args:
        device: ``"cpu"`` or ``"cuda"``.
        imported: further packages that the paper's code uses, from `closure_of`.
        form: how the experiments compute.
    """
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    return {"python": python, "device": device, **package_versions(imported), **_named(form)}


def _named(form: RunForm) -> dict[str, str]:
    return {} if form == "fast" else {"form": form}


def versions_of(environment: Environment) -> dict[str, str]:
    """The result of `versions` on the machine that made a record."""
    python = ".".join(environment.python.split(".")[:2])
    device = environment.device.split(" ")[0]
    packages = {k: v for k, v in environment.packages.items() if k != "reproaudit"}
    return {"python": python, "device": device, **packages, **_named(environment.form)}


def fingerprint_of(record: Record) -> str:
    """The fingerprint that follows from what a record says of itself."""
    cell = Cell(record.paper, record.tier, record.experiment, record.settings, record.seed)
    return fingerprint(cell, record.code, versions_of(record.environment), record.data)


@cache
def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "absent"


def package_versions(imported: Iterable[str] = ()) -> dict[str, str]:
    """The installed version of each package that computes, without importing any.

    Args:
        imported: packages in addition to `COMPUTING_PACKAGES`, by the name that is imported.
    """
    others = {DISTRIBUTIONS.get(one, one) for one in imported if one not in COMPUTING_NOTHING}
    return {one: _version(one) for one in (*COMPUTING_PACKAGES, *sorted(others))}
