"""The engines that compute cells in place of this machine's own processes: Slurm and Dask."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from reproaudit.errors import UsageError

MINUTES = 30.0  # that the cells of one job of Slurm take together, if nothing else is said


@dataclass(frozen=True)
class BlockSize:
    """How many cells one job of Slurm computes: so many, or what fits into so many seconds."""

    cells: int | None = None
    seconds: float = MINUTES * 60


@dataclass(frozen=True)
class Engine:
    """An engine, its address, ``local`` if it starts here, and for Slurm ``sbatch``'s options."""

    name: Literal["slurm", "dask"]
    address: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    block: BlockSize = field(default_factory=BlockSize)


def parse_engine(text: str) -> tuple[str, str]:
    """Return the name and the address in ``slurm``, ``slurm=local`` or ``dask=tcp://host:8786``."""
    name, _, address = text.partition("=")
    if (name, address) in (("slurm", ""), ("slurm", "local")) or (name == "dask" and address):
        return name, address
    raise UsageError(
        f"found '{text}'. Write slurm, dask=ADDRESS of a scheduler, or dask=local for workers of "
        "this machine."
    )


def imported(module: str, extra: str) -> Any:
    """A library that an extra installs; a UsageError names the extra if it is missing."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise UsageError(
            f"--executor {extra} needs the package '{error.name}'. In a clone of reproaudit: "
            f"pip install '.[{extra}]'."
        ) from error
