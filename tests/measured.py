"""Measurements of the paper in miniature, made in memory instead of by training."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from reproaudit import MeasuredRuns
from reproaudit.audit.model import Audit, TierName
from reproaudit.cell import SettingValue

STEPS = (0, 20, 40)


def everything(audit: Audit, tier: TierName = "paper") -> dict[str, SettingValue]:
    """All that a manifest can state of runs: every setting of every experiment, as audited."""
    return {
        f"{experiment}.{name}": value
        for experiment in audit.experiments
        for name, value in audit.values_of(experiment, tier).items()
    }


def one_seed(level: float, seed: int) -> dict[str, Any]:
    """A distance that falls from 1 to about a level, and where it ends."""
    end = level * np.exp(0.1 * np.random.default_rng(seed).normal())
    return {"distance": (STEPS, [1.0, (1.0 + end) / 2, end]), "final": end}


def descent(level: float = 0.02, seeds: Sequence[int] = range(6)) -> MeasuredRuns:
    """Runs of the experiment as the audit states it, which end at about a level."""
    return MeasuredRuns("descent", {seed: one_seed(level, seed) for seed in seeds})


def control(level: float, seeds: Sequence[int] = range(6)) -> MeasuredRuns:
    """Runs of the control that differs by its level."""
    measured = {seed: one_seed(level, seed) for seed in seeds}
    return MeasuredRuns("descent", measured, settings={"level": level})


def every_run(level: float = 0.02) -> list[MeasuredRuns]:
    """The experiment and its controls; nothing of the experiment `guessed`."""
    return [descent(level), *map(control, (0.8, 0.001, 0.03))]
