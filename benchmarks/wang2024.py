"""One training step at the paper's size, sampling included: token by token in PyTorch, and ours.

A step draws 256 samples (T = 200, q = 3, d = 5) and the codes that they share (d_e = 170), and
takes one step of SGD in float32. The literal form builds every token and lets autograd find the
gradient; the faster of two orders of its products counts. Both forms run in one process, on the
same threads, in turns, at the same weights, those of attention that has formed.
"""

from __future__ import annotations

import platform
from collections.abc import Callable
from statistics import median
from time import perf_counter, process_time
from typing import Any

import numpy as np
import torch
from torch import Tensor

from benchmarks.ceiling import Step
from benchmarks.session import BenchSession
from reproaudit.audit.catalog import Catalog
from reproaudit.lab.settings import build_settings
from reproaudit.papers.wang2024 import model, sampling
from reproaudit.papers.wang2024.model import Weights
from reproaudit.papers.wang2024.settings import CodeDimensions
from reproaudit.papers.wang2024.task import draw_batch
from reproaudit.papers.wang2024.training import untrained_layer

BATCH, T, Q, D, D_E = 256, 200, 3, 5, 170
ALPHA, V, RATE = 4.0, 1.75, 1.0 / 3.0
ROUNDS, OUR_STEPS = 9, 20

Forward = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]


def values_first(Z: Tensor, z_query: Tensor, W_KQ: Tensor, W_V: Tensor) -> Tensor:
    """(W_V Z) softmax(Zᵀ W_KQ z_query), as in the plain form."""
    return model.forward(Z, z_query, W_KQ, W_V)


def attention_first(Z: Tensor, z_query: Tensor, W_KQ: Tensor, W_V: Tensor) -> Tensor:
    """W_V (Z softmax(Zᵀ W_KQ z_query))."""
    weights = model.attention(Z, z_query, W_KQ)
    return (Z @ weights.unsqueeze(2)).squeeze(2) @ W_V.T


class LiteralTraining:
    """Trains the token-by-token form with torch's SGD on what torch draws."""

    def __init__(self, forward: Forward, weights: Weights) -> None:
        self.forward = forward
        self.W_KQ = torch.tensor(weights.key_query, requires_grad=True)
        self.W_V = torch.tensor(weights.value, requires_grad=True)
        self.sgd = torch.optim.SGD([self.W_KQ, self.W_V], lr=RATE)

    def step(self) -> None:
        """Draws a batch and descends."""
        X = torch.randn(BATCH, D, T)
        codes = torch.randn(T, D_E) / D_E**0.5
        subsets = torch.rand(BATCH, T).topk(Q, dim=1).indices
        E = codes.expand(BATCH, T, D_E)
        output = self.forward(model.embed(X, E), model.query(E, subsets, D), self.W_KQ, self.W_V)
        self.sgd.zero_grad()
        model.selection_loss(output, model.targets(X, subsets)).backward()  # type: ignore[no-untyped-call]
        self.sgd.step()


def settings() -> CodeDimensions:
    """The paper's own settings, at the rate that the literal form takes."""
    values = Catalog()["wang2024"].audit().values_of("selection", "paper")
    rates = {"learning_rate": RATE, "annealed_rate": RATE}
    found: CodeDimensions = build_settings(CodeDimensions, {**values, **rates})
    sizes = found.batch, found.tokens, found.selected, found.token_dimension, found.code_dimension
    assert sizes == (BATCH, T, Q, D, D_E)
    return found


class OurTraining:
    """Trains with the fast form."""

    def __init__(self) -> None:
        self.layer = untrained_layer(0, settings(), BenchSession(0))
        for matrix, begin in zip(self.layer.parameters, formed(), strict=True):
            matrix[...] = begin
        self.done = 0

    def steps(self, count: int = OUR_STEPS) -> None:
        """So many steps."""
        self.layer.advance(self.done, self.done + count)
        self.done += count

    def sample(self, count: int = OUR_STEPS) -> None:
        """Only what a step draws, so many times."""
        key = sampling.root(0, "benchmark")
        for step in range(count):
            draw_batch(sampling.child(key, step), self.layer.settings, 0, training=True)


def formed() -> Weights:
    """Weights near those that training finds."""
    return Weights.identity(settings(), ALPHA, V)


def timed_ms(run: Callable[[], Any], threads: int, steps: int = 1) -> float:
    """Milliseconds per step of a call that makes so many steps; on one thread of its CPU time."""
    clock = process_time if threads == 1 else perf_counter
    start = clock()
    run()
    return (clock() - start) * 1e3 / steps


def measure(threads: int) -> dict[str, float]:
    """Median milliseconds per step of each form, the literal ones on so many threads."""
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    orders = {"values_first_ms": values_first, "attention_first_ms": attention_first}
    literal = {key: LiteralTraining(order, formed()) for key, order in orders.items()}
    ours = OurTraining()
    runs: dict[str, tuple[Callable[[], None], int]] = {
        **{key: (training.step, 1) for key, training in literal.items()},
        "ours_ms": (ours.steps, OUR_STEPS),
        "sampling_ms": (ours.sample, OUR_STEPS),
    }
    for run, _ in runs.values():
        run()
    times: dict[str, list[float]] = {key: [] for key in runs}
    for _ in range(ROUNDS):
        for key, (run, steps) in runs.items():
            times[key].append(timed_ms(run, threads, steps))
    return {key: median(values) for key, values in times.items()}


def counted(figures: dict[str, float]) -> Step:
    """Operations and bytes of a step, without those of drawing random numbers."""
    large = 4 * BATCH * D_E * (D_E + T)  # D s and E D s of each sample, and back
    small = 4 * BATCH * D * D_E + 4 * D * T * D_E  # B, V_e and their gradients
    samples = BATCH * T * 2 * 6 * D  # scores, response, its reverse, and slopes
    tokens = 4 * BATCH * D * T
    between = (
        f"{(large + small) / 1e6:.0f} of {(large + small + samples) / 1e6:.0f} million operations "
        "are matrix products; the rest goes sample by sample over vectors of 200, with an "
        f"exponential each, and drawing takes {figures['sampling_ms']:.2f} of "
        f"{figures['ours_ms']:.2f} ms, which is not counted"
    )
    codes, rows = 4 * T * D_E, 4 * BATCH * (D_E + T)
    return Step(large + small + samples, 5 * tokens + 4 * codes + 4 * rows, between)


def bench() -> dict[str, Any]:
    """The figures of both forms on one thread, and with the literal form on all; ours has one."""
    threads = torch.get_num_threads()
    by_threads = {count: measure(count) for count in sorted({1, threads})}
    torch.set_num_threads(threads)
    figures = by_threads[1]
    literal = min(figures["values_first_ms"], figures["attention_first_ms"])
    return {
        "literal_ms": round(literal, 2),
        "ours_ms": round(figures["ours_ms"], 4),
        "ratio": round(literal / figures["ours_ms"], 1),
        "threads": 1,
        "reached": counted(figures).beside(figures["ours_ms"]),
        "by_threads": {
            str(count): {key: round(value, 4) for key, value in measured.items()}
            for count, measured in by_threads.items()
        },
        "setting": f"{BATCH} samples, T = {T}, q = {Q}, d = {D}, d_e = {D_E}, float32, sampling "
        "included",
        "versions": {
            "python": platform.python_version(),
            "torch": torch.__version__,
            "numpy": np.__version__,
        },
    }
