"""A training step of the mixture task: many neurons with autograd against inner products.

Three classes and 64 neurons per head as the audit runs them, on the exact population, both in
double precision and from the same weights.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from threadpoolctl import threadpool_limits

from reproaudit.papers.yang2025 import fast
from reproaudit.papers.yang2025 import model as plain
from reproaudit.papers.yang2025.products import Rates, from_weights
from reproaudit.papers.yang2025.task import mixture
from reproaudit.run.devices import use_threads

CLASSES, NEURONS, WIDTH, RATE, BIAS = 3, 64, 64, 0.1, 0.5
LITERAL_STEPS, OUR_STEPS, REPEATS = 100, 5000, 5


def bench() -> dict[str, float]:
    """Milliseconds of a step in both forms, each on one thread."""
    use_threads(1)
    with threadpool_limits(1):  # the libraries that are loaded already
        return _bench()


def _bench() -> dict[str, float]:
    population = mixture(CLASSES)
    draw = np.random.default_rng(0)
    keys, queries = 0.5 / np.sqrt(WIDTH) * draw.standard_normal((2, 2, WIDTH, 2 * CLASSES))
    zeros = np.zeros((2, NEURONS, 2 * CLASSES))
    weights = plain.Weights.of(keys, queries, zeros, BIAS)
    model = from_weights(population, weights, identical=True)

    def literal(steps: int) -> None:
        rates = (RATE, RATE * NEURONS, 0.0)  # of a neuron under a mean: the mean-field rate
        plain.descend(weights, population, steps=steps, output_weight=1 / NEURONS, rates=rates)

    def ours(steps: int) -> None:
        rates = Rates(RATE, RATE, 0.0)
        fast.descend(model, population, steps=steps, output_scale=1.0, rates=rates)

    literal_ms = _fastest(literal, LITERAL_STEPS)
    ours_ms = _fastest(ours, OUR_STEPS)
    return {"literal_ms": literal_ms, "ours_ms": ours_ms, "ratio": literal_ms / ours_ms}


def _fastest(run: Callable[[int], None], steps: int) -> float:
    """Milliseconds per step, the best of some repetitions after one to warm up."""
    run(1)
    times = []
    for _ in range(REPEATS):
        began = time.process_time()
        run(steps)
        times.append((time.process_time() - began) / steps * 1000)
    return min(times)


if __name__ == "__main__":
    print(bench())
