"""Compiles the papers' loops before the tests, which would do so in several processes at once.

Every experiment and control of every paper's smoke tier runs once in the fast form, in both
precisions where it has two. Numba keeps what it compiles. Run by ``make test``; the tests do
without it, and take longer.
"""

from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from typing import Any

from reproaudit.audit.catalog import Catalog
from reproaudit.audit.model import Audit
from reproaudit.audit.plan import Batch, plan
from reproaudit.lab.settings import build_settings
from reproaudit.run.devices import available_cores
from reproaudit.run.modules import load_experiments
from sessions import MemorySession


def settings_of(audit: Audit, batch: Batch) -> Iterator[Mapping[str, Any]]:
    """Yields a batch's settings, in each precision."""
    settings = batch.settings(audit)
    if "precision" not in settings:
        yield settings
        return
    for precision in ("float32", "float64"):
        yield {**settings, "precision": precision}


def compile_paper(slug: str) -> None:
    """Runs a paper; whether its numbers are right is the tests' business."""
    entry = Catalog()[slug]
    audit, experiments = entry.audit(), load_experiments(entry.module)
    for _, batch in plan(audit, "smoke"):
        experiment = experiments[batch.experiment]
        for settings in settings_of(audit, batch):
            experiment.measure(build_settings(experiment.settings, settings), MemorySession())


if __name__ == "__main__":
    # the one that takes longest begins first
    slugs = sorted(Catalog().entries, key=lambda slug: slug != "wang2024")
    with ProcessPoolExecutor(available_cores()) as pool:
        list(pool.map(compile_paper, slugs))
