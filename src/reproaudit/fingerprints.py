"""What identifies a cell: its settings and seed, the code that it runs, its data and its versions.

Nothing in here imports a paper's module or torch: code is followed statically, through ``ast``.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from typing import Any

from reproaudit.closure.reach import code_hash
from reproaudit.errors import SpecError
from reproaudit.records import SettingValue

__all__ = [
    "Cell",
    "canonical_settings",
    "code_hash",
    "fingerprint",
    "package_versions",
    "versions",
]

COMPUTING_PACKAGES = ("torch", "numpy", "scipy", "numba")
"""The packages whose version can change a number."""


@dataclass(frozen=True)
class Cell:
    """One experiment with one set of settings and one seed, before it has run.

    Attributes:
        paper: the audit's slug.
        tier: smoke, quick, paper or custom.
        experiment: the experiment's name in the audit.
        settings: every setting by name; no defaults are filled in later.
        seed: at least 0.
    """

    paper: str
    tier: str
    experiment: str
    settings: Mapping[str, SettingValue]
    seed: int


def _canonical(value: Any) -> Any:
    """A setting as it is compared: 1 and 1.0 are the same value, True is not 1."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list | tuple):
        return [_canonical(one) for one in value]
    return value


def canonical_settings(settings: Mapping[str, SettingValue]) -> str:
    """The settings as one line of JSON that is equal for equal settings.

    Raises:
        SpecError: if a value is infinite or NaN, or no setting at all.
    """
    plain = {name: _canonical(value) for name, value in settings.items()}
    try:
        return json.dumps(plain, sort_keys=True, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise SpecError(f"settings that cannot be compared ({error}): {dict(settings)}") from error


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
