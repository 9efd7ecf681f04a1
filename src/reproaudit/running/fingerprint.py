"""What identifies a cell: its settings and seed, the code that it runs, its data and its versions.

Nothing in here imports a paper's module or torch: code is followed statically, through ``ast``.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Mapping
from functools import cache
from importlib import metadata

from reproaudit.cell import Cell, canonical_settings
from reproaudit.running.closure.reach import code_hash

__all__ = ["code_hash", "fingerprint", "package_versions", "versions"]

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
