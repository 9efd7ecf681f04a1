"""Cells of the toy paper, and a run of them as a program that can be killed."""

from __future__ import annotations

import argparse
import dataclasses
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from reproaudit.audit.catalog import Module
from reproaudit.cell import Cell
from reproaudit.declarations import Axis, Declaration, MeasurementKind
from reproaudit.files import sha256
from reproaudit.records import Record
from reproaudit.run import modules, worker
from reproaudit.run.cells import run_cells
from reproaudit.run.events import Event, OnEvent
from reproaudit.run.worker import Job, JobOutcome, compute
from reproaudit.store.records import DamagedError, Store

TOY = Path(__file__).parent / "toy" / "toy2020.py"
SETTINGS: dict[str, Any] = {"steps": 40, "rate": 0.1, "sizes": [3], "pause": 0.0}


def declare(*names: str) -> dict[str, Declaration]:
    """Declarations of what the toy measures; of any other name, a scalar."""
    kinds = {"loss": MeasurementKind.SERIES, "sizes": MeasurementKind.ARRAY}
    axes = {"sizes": (Axis(name="size", size=1),)}
    return {
        name: Declaration(
            kind=kinds.get(name, MeasurementKind.SCALAR),
            axes=axes.get(name, ()),
            unit="1",
            meaning=name,
        )
        for name in names
    }


def locate(paper: str) -> Module:
    return Module("toy2020", TOY, importable=False)


def cell(experiment: str = "descent", seed: int = 0, **settings: Any) -> Cell:
    return Cell("toy2020", "quick", experiment, {**SETTINGS, **settings}, seed)


def namesake(folder: Path) -> Path:
    """The file that is there once anybody has imported a folder's namesake of a library."""
    marker = folder / "imported"
    (folder / "array.py").write_text(f"open({str(marker)!r}, 'w')\nraise SystemExit(9)\n")
    return marker


USERS = """
import importlib, os, sys, time
from dataclasses import dataclass
from reproaudit.lab import Experiment, Measurements
{early}

@dataclass(frozen=True)
class Settings:
    size: int

def measure(settings, session):
    {late}
    return Measurements({measured})

EXPERIMENTS = {{"e": Experiment(Settings, measure)}}
"""


def users_module(file: Path, measured: str, early: str = "", late: str = "pass") -> Module:
    """A module of a user, of one experiment; it may import early, or late while it measures."""
    file.write_text(USERS.format(early=early, late=late, measured=measured))
    return Module(file.stem, file, importable=False)


def users_cell(module: Module, seed: int = 0) -> Cell:
    return Cell(module.name, "smoke", "e", {"size": 1}, seed)


def users_run(module: Module, store: Store, **how: Any) -> Record:
    """What a cell of such a module gives, in workers unless it is said where."""
    run_cells([users_cell(module)], lambda _paper: module, store, **how)
    (record,) = store.records(module.name, "smoke")
    return record


def records(store: Store) -> dict[tuple[str, int], Record]:
    return {
        (record.experiment, record.seed): record for record in store.records("toy2020", "quick")
    }


def sealed(body: bytes) -> bytes:
    """A record's file, of the JSON that it holds."""
    return b'{"sha256":"%s","record":%s}\n' % (sha256(body).encode(), body)


def unreadable(store: Store) -> list[DamagedError]:
    """What is in the place of a record and cannot be used."""
    found: list[DamagedError] = []
    list(store.records("toy2020", "quick", found.append))
    return found


def same_numbers(record: Record) -> dict[str, Any]:
    """A record less what differs between two runs of the same cell."""
    plain = record.model_dump(mode="json")
    for name in ("started", "seconds"):
        del plain[name]
    del plain["environment"]["revision"]  # of a checkout in which somebody may work meanwhile
    return plain


def numbers(store: Store) -> dict[tuple[str, int], dict[str, Any]]:
    """By experiment and seed, what each record of the toy paper has in every run."""
    return {name: same_numbers(record) for name, record in records(store).items()}


class InProcess:
    """Computes jobs in this process: no worker is started, and a test can reach into them."""

    keeps_records = False

    def __enter__(self) -> InProcess:
        """Forgets users' modules, as no new worker has them."""
        for name in list(sys.modules):
            if name.startswith(modules._PACKAGE) and "." in name:
                del sys.modules[name]
        worker._loaded.cache_clear()
        return self

    def __exit__(self, *_error: object) -> None:
        return None

    def run(self, jobs: Iterable[Job], on_advance: OnEvent) -> Iterator[JobOutcome]:
        for job in jobs:
            yield compute(job, on_advance, raised_by_the_test)


def raised_by_the_test() -> bool:
    """Whether what is being handled is no Exception: a test cuts a run off with something else."""
    return not isinstance(sys.exc_info()[1], Exception)


def start(
    store: Path, *options: str, session: bool = False, before: Sequence[str] = ()
) -> subprocess.Popen[str]:
    """A run as a program of its own, with what stands before it on the command line."""
    return subprocess.Popen(
        [*before, sys.executable, __file__, str(store), *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=session,
        env={**os.environ, "TOY_CHECKPOINT_SECONDS": "0.05"},
    )


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("store", type=Path)
    parser.add_argument("--experiment", default="descent")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--pause", type=float, default=0.0)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()

    def tell(event: Event) -> None:
        where = dataclasses.asdict(event).get("done", "")
        print(type(event).__name__, where, flush=True)

    settings = {"pause": arguments.pause, "steps": arguments.steps}
    wanted = [cell(arguments.experiment, seed, **settings) for seed in range(arguments.seeds)]
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as the command line does
    how: dict[str, Any] = {"jobs": arguments.jobs}
    try:
        run_cells(wanted, locate, Store(arguments.store), on_event=tell, **how)
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
