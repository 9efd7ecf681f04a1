"""A paper in miniature that leaves much open: what each guess does to its number is known."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from reproaudit.lab import Experiment, Measurements, Session, generator

LEVELS = {"full": 0.03, "none": 0.8, "constructed": 1.0e-4}


@dataclass(frozen=True)
class Settings:
    mechanism: str
    steps: int
    init_scale: float
    width: int
    epsilon: float
    rate: float
    spread: float


def measure(settings: Settings, session: Session) -> Mapping[int, Measurements]:
    return {seed: _one(settings, seed) for seed in session.seeds}


def _one(settings: Settings, seed: int) -> Measurements:
    noise = generator(seed, "noise").normal()
    own = generator(seed, f"noise {settings.spread}").normal()
    log = math.log(LEVELS[settings.mechanism]) + 0.1 * noise
    if settings.mechanism == "full":
        log += math.log(max(1.0, settings.init_scale / 0.02))
        log += math.log(settings.width) - math.log(64)
        log += settings.spread * own
        log += 1e3 * settings.epsilon * generator(seed, "epsilon").normal()
    distance = math.exp(log) if settings.rate < 1 else math.nan
    return Measurements(scalars={"distance": distance})


EXPERIMENTS = {
    name: Experiment(Settings, measure, phases=lambda s: {"training": s.steps})
    for name in ("main", "side")
}
