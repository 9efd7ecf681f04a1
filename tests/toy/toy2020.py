"""A paper in miniature: noisy gradient descent on ½‖w‖², as slow as a test wants it."""

import os
import random
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from toy_parts import gradient

from reproaudit.lab import Experiment, Measurements, Series, Session, generator, train, training

if "TOY_CHECKPOINT_SECONDS" in os.environ:
    training.CHECKPOINT_SECONDS = float(os.environ["TOY_CHECKPOINT_SECONDS"])


@dataclass(frozen=True)
class Settings:
    steps: int
    rate: float
    sizes: tuple[int, ...]
    pause: float


def _descend(settings: Settings, session: Session) -> dict[str, Series]:
    (size,) = settings.sizes
    w = generator(session.seed, "init").normal(size=size)

    def advance(start: int, stop: int) -> None:
        for step in range(start, stop):
            time.sleep(settings.pause)
            noise = generator(session.seed, "noise", step).normal(size=size)
            with np.errstate(over="ignore", invalid="ignore"):
                w[:] = w - settings.rate * (gradient(w) + 0.1 * noise)

    def observe(_step: int) -> Mapping[str, float]:
        with np.errstate(over="ignore", invalid="ignore"):
            return {"loss": 0.5 * np.square(w).sum()}

    return train(
        session,
        "descent",
        steps=settings.steps,
        state={"w": w},
        advance=advance,
        observe=observe,
        observe_at=range(0, settings.steps + 1, max(1, settings.steps // 10)),
    )


def descent(settings: Settings, session: Session) -> Measurements:
    series = _descend(settings, session)
    return Measurements(
        series=series,
        scalars={"final": float(series["loss"].values[-1])},
        arrays={"sizes": np.array(settings.sizes, dtype=float)},
    )


def sums(settings: Settings, session: Session) -> Measurements:
    """Sums a million floats in every step: the last bits depend on the number of threads."""
    import torch

    vector = torch.from_numpy(generator(session.seed, "vector").normal(size=1_000_000)).float()
    w = np.ones(1)

    def advance(start: int, stop: int) -> None:
        for _ in range(start, stop):
            time.sleep(settings.pause)
            w[:] += settings.rate * float(torch.sin(vector * float(w[0])).sum())

    series = train(
        session,
        "sums",
        steps=settings.steps,
        state={"w": w},
        advance=advance,
        observe=lambda _step: {"loss": w[0]},
        observe_at=range(settings.steps + 1),
    )
    return Measurements(series=series, scalars={"threads": torch.get_num_threads()})


def parallel_sums(settings: Settings, session: Session) -> Measurements:
    """Sums with torch after a parallel function of Numba, which starts threads of its own."""
    _parallel_sum()(np.ones(10))
    return sums(settings, session)


@cache
def _parallel_sum() -> Any:
    import numba

    @numba.njit(parallel=True)
    def total(vector: Any) -> float:
        result = 0.0
        for index in numba.prange(len(vector)):
            result += vector[index]
        return result

    return total


AT_IMPORT = np.random.rand(), random.random()


def chance(settings: Settings, session: Session) -> Measurements:
    """Draws from generators that it does not seed: at first, in two phases, and between them."""
    import torch

    def drawn() -> np.ndarray[Any, Any]:
        numbers = random.gauss(0, 1), np.random.normal(), float(torch.randn(()))
        return np.array([*numbers, *AT_IMPORT])

    w = drawn()

    def advance(start: int, stop: int) -> None:
        for _ in range(start, stop):
            time.sleep(settings.pause)
            w[:] += drawn()

    def trained(phase: str) -> dict[str, Series]:
        return train(
            session,
            phase,
            steps=settings.steps,
            state={"w": w},
            advance=advance,
            observe=lambda _step: {phase: w},
            observe_at=range(0, settings.steps + 1, max(1, settings.steps // 10)),
            chunk=7,
        )

    series = trained("first")
    w += drawn()
    series |= trained("second")
    words = {f"word {number}" for number in range(9)}
    order = [float(word[-1]) for word in words]
    return Measurements(series=series, arrays={"last": w, "drawn": drawn(), "order": order})


def broken(settings: Settings, session: Session) -> Measurements:
    raise RuntimeError(f"no good\nfor seed {session.seed}")


def fails_once(settings: Settings, session: Session) -> Measurements:
    """Raises the first time, and goes on the second."""
    if session.load("mark") is None:
        session.save("mark", b"was here")
        raise RuntimeError("once")
    return descent(settings, session)


def dies_once(settings: Settings, session: Session) -> Measurements:
    """Kills its own process the first time, and goes on the second."""
    if session.load("mark") is None:
        session.save("mark", b"was here")
        os.kill(os.getpid(), signal.SIGKILL)
    return descent(settings, session)


def dies(settings: Settings, session: Session) -> Measurements:
    os.kill(os.getpid(), signal.SIGKILL)
    return Measurements()


def by_seed(settings: Settings, session: Session) -> dict[int, Measurements]:
    """Returns no Measurements, but these by seed."""
    return {session.seed: descent(settings, session)}


def place(_settings: Settings, _session: Session) -> Measurements:
    """Tells which process computes it."""
    return Measurements(scalars={"process": os.getpid()})


def no_data(settings: Settings) -> dict[str, str]:
    raise FileNotFoundError("the data set 'digits' is not there")


EXPERIMENTS = {
    "descent": Experiment(
        Settings, descent, phases=lambda s: {"descent": s.steps}, has_plain_form=True
    ),
    "sums": Experiment(Settings, sums),
    "parallel_sums": Experiment(Settings, parallel_sums),
    "chance": Experiment(Settings, chance, data=lambda _s: {"dice": "sha256:0"}),
    "place": Experiment(Settings, place),
    "broken": Experiment(Settings, broken),
    "fails_once": Experiment(Settings, fails_once),
    "dies_once": Experiment(Settings, dies_once),
    "dies": Experiment(Settings, dies),
    "by_seed": Experiment(Settings, by_seed),  # type: ignore[arg-type]
    "no_data": Experiment(Settings, descent, data=no_data),
    "proxied": Experiment(
        Settings,
        descent,
        data=lambda s: {"digits": f"sha256:{s.steps}"},
        proxy=lambda _s: "made-up data",
    ),
}
