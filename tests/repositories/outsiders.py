"""An outsider's repository in miniature, its audit and its run file; and a run of its cells."""

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from cells import InProcess
from miniatures import git
from reproaudit.audit.catalog import Catalog
from reproaudit.audit.loading import load_audit
from reproaudit.cell import Cell
from reproaudit.records import Record
from reproaudit.repositories.requirements import CACHE_VARIABLE
from reproaudit.run.cells import run_cells
from reproaudit.store.records import Store

ROOT = Path(__file__).parents[2]
AUDIT = ROOT / "docs" / "tutorial" / "soudry2018.yaml"
EXAMPLE = ROOT / "examples" / "command"
ALL_FIXED: dict[str, Any] = {
    "other_points": 12,
    "other_points_box": [1.5, 5.0, 0.75, 2.0],
    "step_size_factor": 1.0,
    "loss": "logistic",
    "weights": "trained",
}
WRITES = """\
import csv, os, sys
seed, steps = int(sys.argv[1]), int(sys.argv[2])
os.makedirs("out")
with open("out/metrics.csv", "w") as file:
    file.write("step,norm,cosine\\n")
    for step in range(0, steps + 1, max(1, steps // 10)):
        file.write(f"{step},{seed + step},{step / (1 + step)}\\n")
"""
"""A script that logs both measurements under their own names."""


def commit(folder: Path) -> str:
    """Makes a folder a git repository of one commit; returns the commit's id."""
    fixed = "2026-11-20T12:00:00Z"
    git(folder, "init", "--quiet")
    git(folder, "add", ".")
    dates = {"GIT_AUTHOR_DATE": fixed, "GIT_COMMITTER_DATE": fixed}
    git(folder, "commit", "--quiet", "-m", "As published", **dates)
    return git(folder, "rev-parse", "HEAD")


def outsider(
    place: Path, files: Mapping[str, str] | None = None, /, **changes: Any
) -> dict[str, Any]:
    """Writes a repository, the audit and a run file; returns what the run file says.

    Args:
        place: gets ``repository`` and ``audits``.
        files: the repository's files; by default a script that logs both measurements.
        changes: other fields of the experiment, or of the whole file.
    """
    repository = place / "repository"
    for name, text in (files or {"log.py": WRITES}).items():
        (repository / name).parent.mkdir(parents=True, exist_ok=True)
        (repository / name).write_text(text)
    experiment: dict[str, Any] = {
        "command": ["python", "log.py", "{seed}", "{steps}"],
        "timeout": 60,
        "files": ["out/metrics.csv"],
        "fixed": dict(ALL_FIXED),
        "mapping": {},
    }
    top = {name: changes.pop(name) for name in ("source", "environment") if name in changes}
    said: dict[str, Any] = {
        "schema_version": 1,
        "source": {"git": "../repository", "revision": commit(repository)},
        **top,
        "experiments": {"separable": {**experiment, **changes}},
    }
    write(place, said)
    return said


def write(folder: Path, said: Mapping[str, Any]) -> Path:
    """Writes the audit and its run file."""
    (folder / "audits").mkdir(exist_ok=True)
    shutil.copy(AUDIT, folder / "audits")
    file = folder / "audits" / "soudry2018.run.yaml"
    file.write_text(yaml.safe_dump(dict(said), sort_keys=False))
    return file


def run(
    folder: Path, seeds: Sequence[int] = (0,), *, jobs: int = 1, **settings: Any
) -> dict[int, Record]:
    """Runs the experiment's smoke cells, here or in worker processes; their records by seed."""
    os.environ.setdefault(CACHE_VARIABLE, str(folder / "cache"))
    audit = load_audit(folder / "audits" / "soudry2018.yaml")
    values = {**audit.values_of("separable", "smoke"), **settings}
    cells = [Cell("soudry2018", "smoke", "separable", values, seed) for seed in seeds]
    store = Store(folder / "runs")
    declared = {"soudry2018": {"separable": audit.measurements_of("separable")}}
    catalog = Catalog(folder / "audits")
    executor = InProcess() if jobs == 1 else None
    ran = run_cells(cells, catalog.locate, store, jobs=jobs, declared=declared, executor=executor)
    planned = set(ran.planned["soudry2018"].values())
    return {record.seed: record for record in store.records("soudry2018", "smoke", only=planned)}
