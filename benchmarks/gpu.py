"""Every paper on an accelerator at its own size, all seeds of a tier together, in one call.

    python -m benchmarks.gpu [SLUG…] [--device cuda]

For each batch of the paper tier (an experiment or a control with its settings) whose experiment
trains seeds together on the card:

* agreement: the smoke tier's settings on the card and on the processor; the largest difference of
  a measurement, relative to its largest value. Both do the same arithmetic in another order, and in
  single precision where the paper trains in it, so `TOLERANCE` is a hundred thousand roundings.
* speed: the whole experiment at the paper's size with two small numbers of steps. The slope is the
  time of a step, the rest is what the phase costs however long it trains (data, observations).
* projection: that rest and the slope, over the steps of the paper tier.

The figures go to ``benchmarks/gpu.json``. Without a card the command says so on one line.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.session import BenchSession
from reproaudit.audit.catalog import Catalog, Entry
from reproaudit.audit.model import Audit, TierName
from reproaudit.audit.plan import Batch, plan
from reproaudit.cell import SettingValue
from reproaudit.errors import AuditError
from reproaudit.lab.experiment import Experiment
from reproaudit.lab.settings import build_settings
from reproaudit.records import Measurements
from reproaudit.running.modules import load_experiments

RESULTS = Path(__file__).parent / "gpu.json"
FEW, MORE = 200, 600
"""The two numbers of training steps; both have as many observations as a long run."""
TOLERANCE = 1e-2


@dataclass(frozen=True)
class Figures:
    """One batch on the card.

    Attributes:
        batch: experiment and overrides.
        seeds: how many were trained together.
        steps: training steps of the paper tier, over all phases.
        difference: the largest relative difference from the processor, at the smoke tier.
        step_ms: of one step of all seeds.
        processor_ms: the same on the processor, seed by seed.
        minutes: projected for the whole batch.
    """

    paper: str
    batch: str
    seeds: int
    steps: int
    difference: float
    step_ms: float
    processor_ms: float
    minutes: float


def seconds(
    experiment: Experiment,
    values: Mapping[str, SettingValue],
    seeds: tuple[int, ...],
    device: str,
) -> float:
    """Wall-clock seconds of an experiment, all seeds in one session or one after another."""
    settings = build_settings(experiment.settings, values)
    together = device in experiment.seeds_together
    began = time.perf_counter()
    for group in [seeds] if together else [(seed,) for seed in seeds]:
        experiment.measure(settings, BenchSession(*group, device=device))
    return time.perf_counter() - began


def with_steps(
    experiment: Experiment, values: Mapping[str, SettingValue], steps: int
) -> dict[str, SettingValue]:
    """The same settings with every phase ``steps`` long."""
    changed = dict(values)
    before = experiment.phases(build_settings(experiment.settings, values))
    for name, value in values.items():
        several = isinstance(value, tuple)
        ones = value if isinstance(value, tuple) else (value,)
        if not all(isinstance(one, int) and not isinstance(one, bool) and one > 1 for one in ones):
            continue
        trial = {**values, name: tuple(one * 2 for one in ones) if several else ones[0] * 2}
        try:
            after = experiment.phases(build_settings(experiment.settings, trial))
        except AuditError:
            continue
        if after.keys() == before.keys() and sum(after.values()) > sum(before.values()):
            changed[name] = (steps,) * len(ones) if several else steps
    return changed


def slope(
    experiment: Experiment,
    values: Mapping[str, SettingValue],
    seeds: tuple[int, ...],
    device: str,
) -> tuple[float, float]:
    """Seconds per step of all phases, and the seconds that do not grow with the steps."""
    seconds(experiment, with_steps(experiment, values, 2), seeds, device)  # to warm up
    few = seconds(experiment, with_steps(experiment, values, FEW), seeds, device)
    more = seconds(experiment, with_steps(experiment, values, MORE), seeds, device)
    step = max(more - few, 0.0) / (MORE - FEW)
    return step, max(few - FEW * step, 0.0)


def difference(
    experiment: Experiment, values: Mapping[str, SettingValue], seed: int, device: str
) -> float:
    """The largest difference from the processor, relative to the measurement's largest value."""
    settings = build_settings(experiment.settings, values)
    card = experiment.measure(settings, BenchSession(seed, device=device))[seed]
    processor = experiment.measure(settings, BenchSession(seed))[seed]
    pairs = zip(_arrays(card), _arrays(processor), strict=True)
    return max(
        float(np.abs(one - other).max() / max(float(np.abs(other).max()), 1e-30))
        for one, other in pairs
        if other.size
    )


def _arrays(measured: Measurements) -> Iterator[Any]:
    yield from (np.float64(measured.scalars[name]) for name in sorted(measured.scalars))
    yield from (measured.series[name].values for name in sorted(measured.series))
    yield from (measured.arrays[name] for name in sorted(measured.arrays))


def batches(audit: Audit, experiments: Mapping[str, Experiment]) -> Iterator[Batch]:
    """The paper tier's batches that a card trains with all seeds together, each once."""
    for _, batch in plan(audit, "paper"):
        if "cuda" in experiments[batch.experiment].seeds_together:
            yield batch


def bench(entry: Entry, device: str) -> Iterator[Figures]:
    """The figures of every batch of one paper."""
    audit = entry.audit()
    experiments = load_experiments(entry.module)
    for batch in batches(audit, experiments):
        experiment = experiments[batch.experiment]
        values = batch.settings(audit)
        smoke: TierName = "smoke"
        small = audit.values_of(batch.experiment, smoke, dict(batch.overrides))
        phases = experiment.phases(build_settings(experiment.settings, values))
        step, rest = slope(experiment, values, batch.seeds, device)
        on_processor, _ = slope(experiment, values, batch.seeds, "cpu")
        longest = sum(phases.values()) / max(len(phases), 1)
        yield Figures(
            paper=audit.paper.slug,
            batch=", ".join([batch.experiment, *(f"{k}={v}" for k, v in batch.overrides)]),
            seeds=len(batch.seeds),
            steps=sum(phases.values()),
            difference=difference(experiment, small, batch.seeds[0], device),
            step_ms=1000 * step / max(len(phases), 1),
            processor_ms=1000 * on_processor / max(len(phases), 1),
            minutes=(rest + step * longest) / 60,
        )


def main(arguments: list[str]) -> int:
    """Prints and keeps the figures; exit code 1 where a batch differs by too much."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu")
    parser.add_argument("slugs", nargs="*")
    parser.add_argument("--device", default="cuda")
    chosen = parser.parse_args(arguments)
    if chosen.device == "cuda" and not torch.cuda.is_available():
        print("no card here: torch finds no CUDA device, so there is nothing to measure.")
        return 0
    card = torch.cuda.get_device_name() if chosen.device == "cuda" else chosen.device
    entries = Catalog().entries
    print(
        f"{'paper':<10}{'steps':>8}{'ms/step':>10}{'processor':>11}{'differs':>10}{'min':>7}  batch"
    )
    found = []
    for slug in chosen.slugs or sorted(entries):
        for one in bench(entries[slug], chosen.device):
            found.append(one)
            print(
                f"{one.paper:<10}{one.steps:>8}{one.step_ms:>10.3f}{one.processor_ms:>11.3f}"
                f"{one.difference:>10.1e}{one.minutes:>7.2f}  {one.batch}",
                flush=True,
            )
    total = sum(one.minutes for one in found)
    print(f"{card}, torch {torch.__version__}: {total:.1f} minutes for the whole paper tier")
    figures = {"card": card, "torch": torch.__version__, "batches": [asdict(one) for one in found]}
    RESULTS.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    apart = [one.batch for one in found if one.difference > TOLERANCE]
    if apart:
        print(f"differs from the processor by more than {TOLERANCE}: {'; '.join(apart)}")
    return 1 if apart else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
