"""What the whole paper tier costs: every batch of every audit, projected from a few hundred steps.

One cell of each batch (its first seed) runs with the settings of its tier, only that every phase
ends after `STEPS` steps. Its training loop is watched: the time of the steps, the time of the
observations, and all that lies outside of the loop (data, baselines, constructed solutions). Then

    cell = outside + Σ over phases of (steps × time of a step + observations × time of one),

with the phase's full numbers of steps and observations, and the batch is so many cells as it has
seeds. Times are CPU seconds of the process, all its threads together, so that what else the machine
does hardly counts. Compiling, the runner and its records are left out. The command starts itself
again with the environment that the runner gives its workers, on one thread.

Run with ``make bench-paper-tier``; names of papers may follow ``python -m benchmarks.paper_tier``.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

from benchmarks.session import BenchSession
from reproaudit import lab
from reproaudit.audit.catalog import Catalog, Entry
from reproaudit.audit.model import Audit
from reproaudit.audit.plan import Batch, plan
from reproaudit.lab.experiment import Experiment
from reproaudit.lab.settings import build_settings
from reproaudit.running.devices import THREAD_VARIABLES, use_threads

RESULTS = Path(__file__).parent / "paper_tier.json"
STEPS = 400
"""Steps of each phase; a multiple of every audit's interval between minibatches."""

WARM_UP = 100
"""The first steps, which are not timed where there are more."""

AIM_CORE_HOURS = 3.0
"""An hour and a half on two cores."""


@dataclass
class Phase:
    """One phase as it was watched.

    Attributes:
        steps: of the whole phase.
        observations: of the whole phase.
        made: steps that were timed, after the first ones.
        advance_s: CPU seconds of these.
        seen: observations that were timed.
        observe_s: CPU seconds of these.
        whole_s: CPU seconds of the loop, all together.
    """

    steps: int
    observations: int
    made: int = 0
    advance_s: float = 0.0
    seen: int = 0
    observe_s: float = 0.0
    whole_s: float = 0.0

    @property
    def step_s(self) -> float:
        """CPU seconds of a step."""
        return self.advance_s / self.made if self.made else 0.0

    @property
    def seconds(self) -> float:
        """CPU seconds of the whole phase."""
        of_one = self.observe_s / self.seen if self.seen else 0.0
        return self.steps * self.step_s + self.observations * of_one


@dataclass
class Watch:
    """The training loop, cut short and timed."""

    phases: dict[str, Phase] = field(default_factory=dict)

    def train(
        self,
        session: Any,
        phase: str,
        *,
        steps: int,
        advance: Callable[[int, int], None],
        observe: Callable[[int], Any],
        observe_at: Iterable[int],
        **rest: Any,
    ) -> Any:
        """Stands in for `reproaudit.lab.train`, with the same arguments."""
        wanted = sorted(set(observe_at))
        watched = self.phases[phase] = Phase(steps, len(wanted))
        cut = min(steps, STEPS)
        skipped = WARM_UP if cut > WARM_UP else 0

        def timed_advance(start: int, stop: int) -> None:
            began = time.process_time()
            advance(start, stop)
            if start >= skipped:
                watched.advance_s += time.process_time() - began
                watched.made += stop - start

        def timed_observe(step: int) -> Any:
            began = time.process_time()
            seen = observe(step)
            if step > 0:
                watched.observe_s += time.process_time() - began
                watched.seen += 1
            return seen

        began = time.process_time()
        series = lab.train(
            session,
            phase,
            steps=cut,
            advance=timed_advance,
            observe=timed_observe,
            observe_at=[step for step in wanted if step < cut] + [cut],
            **rest,
        )
        watched.whole_s = time.process_time() - began
        return series


@dataclass(frozen=True)
class Figures:
    """One batch.

    Attributes:
        cells: how many seeds it has.
        steps: of one cell, over all phases.
        step_ms: CPU milliseconds of a step, averaged over the phases by their steps.
        outside_s: CPU seconds of a cell outside its training loops.
        core_minutes: projected, of all cells.
    """

    paper: str
    experiment: str
    overrides: str
    cells: int
    steps: int
    step_ms: float
    observing_s: float
    outside_s: float
    core_minutes: float


def project(paper: str, audit: Audit, experiment: Experiment, batch: Batch) -> Figures:
    """Runs one cell of a batch cut short, and projects all of them."""
    settings = build_settings(experiment.settings, batch.settings(audit))
    watch = Watch()
    with _watched(paper, watch):
        began = time.process_time()
        experiment.measure(settings, BenchSession(batch.seeds[0]))
        whole = time.process_time() - began
    phases = watch.phases.values()
    outside = whole - sum(phase.whole_s for phase in phases)
    stepping = sum(phase.steps * phase.step_s for phase in phases)
    seconds = sum(phase.seconds for phase in phases)
    steps = sum(phase.steps for phase in phases)
    return Figures(
        paper=paper,
        experiment=batch.experiment,
        overrides=", ".join(f"{name}={value}" for name, value in batch.overrides),
        cells=len(batch.seeds),
        steps=steps,
        step_ms=1e3 * stepping / max(steps, 1),
        observing_s=seconds - stepping,
        outside_s=outside,
        core_minutes=len(batch.seeds) * (seconds + outside) / 60,
    )


@contextmanager
def _watched(paper: str, watch: Watch) -> Iterator[None]:
    """Puts the watched loop in place of the loop in every module of a paper."""
    modules = [module for module in list(sys.modules.values()) if _uses_loop(module, paper)]
    patches = [patch.object(module, "train", watch.train) for module in modules]
    for one in patches:
        one.start()
    try:
        yield
    finally:
        for one in patches:
            one.stop()


def _uses_loop(module: ModuleType, paper: str) -> bool:
    inside = module.__name__.startswith(f"reproaudit.papers.{paper}")
    return inside and vars(module).get("train") is lab.train


def bench(entry: Entry) -> Iterator[Figures]:
    """The figures of every batch of one paper's paper tier."""
    audit, experiments = entry.audit(), entry.module.load()
    slug = audit.paper.slug
    for name, experiment in experiments.items():  # compiles
        small: Mapping[str, Any] = audit.values_of(name, "smoke")
        experiment.measure(build_settings(experiment.settings, small), BenchSession(0))
    for _, batch in plan(audit, "paper"):
        yield project(slug, audit, experiments[batch.experiment], batch)


def main(arguments: list[str]) -> int:
    """Prints and keeps the figures; exit code 2 for a name that is not a paper's."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.paper_tier")
    parser.add_argument("slugs", nargs="*", metavar="SLUG")
    chosen = parser.parse_args(arguments).slugs
    entries = Catalog().entries
    if unknown := sorted(set(chosen) - set(entries)):
        print(f"no paper {', '.join(unknown)}. Known: {', '.join(entries)}.", file=sys.stderr)
        return 2
    workers = dict.fromkeys(THREAD_VARIABLES, "1")
    if any(os.environ.get(name) != value for name, value in workers.items()):
        again = [sys.executable, "-m", "benchmarks.paper_tier", *arguments]
        os.execve(sys.executable, again, {**os.environ, **workers})
    use_threads(1)
    print(
        f"{'paper':<9} {'experiment':<27}{'cells':>5}{'steps':>9}{'ms/step':>9}"
        f"{'observing s':>13}{'outside s':>11}{'core-min':>10}  settings"
    )
    found = []
    for slug in chosen or sorted(entries):
        of_paper = []
        for one in bench(entries[slug]):
            of_paper.append(one)
            print(
                f"{one.paper:<9} {one.experiment:<27}{one.cells:>5}{one.steps:>9}"
                f"{one.step_ms:>9.3f}{one.observing_s:>13.1f}{one.outside_s:>11.1f}"
                f"{one.core_minutes:>10.2f}  {one.overrides}",
                flush=True,
            )
        print(f"{slug}: {sum(one.core_minutes for one in of_paper):.1f} core-minutes")
        found += of_paper
    hours = sum(one.core_minutes for one in found) / 60
    print(f"together: {hours:.2f} core-hours (the aim for all papers is {AIM_CORE_HOURS:g})")
    RESULTS.write_text(
        json.dumps({"core_hours": hours, "batches": [asdict(one) for one in found]}, indent=2)
        + "\n",
        encoding="utf-8",
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
