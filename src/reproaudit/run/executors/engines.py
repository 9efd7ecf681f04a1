"""The engines that compute cells in place of this machine's own processes: Slurm and Dask.

Here stands what is asked of their libraries before a cell is handed out.
"""

from __future__ import annotations

import importlib
import subprocess
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from reproaudit.errors import UsageError

MINUTES = 30.0
"""What the cells of one job of Slurm take together, if nothing else is said."""

MOST_REQUEUED = 1000
"""How often a job of Slurm whose time was up goes back into the queue."""

OUR_CLUSTER: dict[str, Any] = {
    "threads_per_worker": 1,
    "memory_limit": 0,
    "host": "127.0.0.1",
    "dashboard_address": "127.0.0.1:0",
    "scheduler_kwargs": {"allowed_failures": 1},
}
"""A Dask scheduler of ours and its workers: with its second worker, a cell has failed."""


@dataclass(frozen=True)
class BlockSize:
    """How many cells one job of Slurm computes: so many, or what fits into so many seconds."""

    cells: int | None = None
    seconds: float = MINUTES * 60


@dataclass(frozen=True)
class Engine:
    """An engine, and what it is told.

    Attributes:
        place: of Dask its address; ``local`` for one that is started on this machine.
        options: of Slurm, what its ``sbatch`` takes, and ``time`` in minutes.
    """

    name: Literal["slurm", "dask"]
    place: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    block: BlockSize = field(default_factory=BlockSize)


def imported(module: str, extra: str) -> Any:
    """A library that an extra installs; a UsageError names the extra if it is missing."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise UsageError(
            f"--executor {extra} needs the package '{error.name}'. In a clone of reproaudit: "
            f"pip install '.[{extra}]'."
        ) from error


def submitter(engine: Engine, folder: Path, cores: int) -> Any:
    """What submits jobs to Slurm, with logs in a folder; a UsageError if there is no Slurm here."""
    library = imported("submitit", "slurm")
    options = dict(engine.options)
    minutes = int(options.pop("time", "60"))
    cluster = engine.place or "slurm"
    try:
        made = library.AutoExecutor(folder, cluster, slurm_max_num_timeout=MOST_REQUEUED)
    except RuntimeError as error:
        raise UsageError(f"--executor slurm: {error} Run this where sbatch is.") from error
    made.update_parameters(
        name="reproaudit",
        timeout_min=minutes,
        cpus_per_task=cores,
        slurm_additional_parameters=options,
    )
    return made


def queued_jobs() -> Callable[[str], bool] | None:
    """What tells whether a job waits or runs in Slurm; None if Slurm does not answer."""
    ask = ["squeue", "--me", "--noheader", "--array", "--format=%i"]
    answer = subprocess.run(ask, capture_output=True, text=True, check=False)
    return None if answer.returncode else set(answer.stdout.split()).__contains__


def dask_client(address: str, workers: int, seconds: float, opened: ExitStack) -> Any:
    """A connection to a Dask scheduler, which is started here for ``local``.

    Raises:
        OSError, ValueError, TypeError: if none answers; the last if it wants a certificate.
    """
    distributed = imported("distributed", "dask")
    where: dict[str, Any] = {"address": address}
    if address.startswith("@"):
        where = {"scheduler_file": address[1:]}
    if address == "local":
        cluster = distributed.LocalCluster(n_workers=workers, **OUR_CLUSTER)
        where = {"address": opened.enter_context(cluster)}
    client = distributed.Client(**where, timeout=seconds, set_as_default=False)
    return opened.enter_context(client)
