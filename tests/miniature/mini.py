"""A paper in miniature that does as its settings say: falls to a level, diverges, or fails."""

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from reproaudit.lab import Experiment, Measurements, Session


@dataclass(frozen=True)
class Settings:
    level: float
    outcome: Literal["completes", "diverges", "fails"]
    steps: int
    pause: float


def measure(settings: Settings, session: Session) -> Measurements:
    # Here, since torch comes with them, and most tests start a program that measures elsewhere.
    from reproaudit.lab import generator, train, training

    if "MINI_CHECKPOINT_SECONDS" in os.environ:
        training.CHECKPOINT_SECONDS = float(os.environ["MINI_CHECKPOINT_SECONDS"])
    if settings.outcome == "fails":
        raise RuntimeError("out of order")
    end = settings.level * np.exp(0.1 * generator(session.seed, "end").normal())
    distance = np.ones(1)

    def advance(start: int, stop: int) -> None:
        for step in range(start, stop):
            time.sleep(settings.pause)
            distance[:] = end + (distance - end) * 0.7
            if settings.outcome == "diverges" and step >= settings.steps // 2:
                distance[:] = np.nan

    def observe(_step: int) -> Mapping[str, float]:
        return {"distance": distance[0]}

    series = train(
        session,
        "descent",
        steps=settings.steps,
        state={"distance": distance},
        advance=advance,
        observe=observe,
        observe_at=range(0, settings.steps + 1, max(1, settings.steps // 20)),
    )
    return Measurements(series=series, scalars={"final": float(series["distance"].values[-1])})


EXPERIMENTS = {
    "descent": Experiment(Settings, measure, phases=lambda s: {"descent": s.steps}),
    "guessed": Experiment(Settings, measure, phases=lambda s: {"descent": s.steps}),
}
