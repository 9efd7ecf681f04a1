"""One training step at the paper's size: token by token in PyTorch, and the fast form.

A step is the loss of 20,000 prompts (n = 20, d = 5, 3 layers, B free, float32), its gradient,
clipping per matrix, and Adam's update. Both forms run in one process, on the same prompts, in
turns, ours on one thread. The literal form is the faster of two ways to write the paper's equation.
"""

from __future__ import annotations

import platform
from collections.abc import Callable
from statistics import median
from time import perf_counter, process_time
from typing import Any

import numba
import numpy as np
import torch
from torch import Tensor

from benchmarks.ceiling import Step
from reproaudit.audit.catalog import Catalog
from reproaudit.lab import generator
from reproaudit.lab.settings import build_settings
from reproaudit.papers.ahn2023 import EXPERIMENTS, fast, model, task
from reproaudit.papers.ahn2023.fast import Minibatch, draw_minibatch
from reproaudit.papers.ahn2023.plain import Learner

LAYERS, PROMPTS, N, DIM = 3, 20_000, 20, 5
LEARNING_RATE, BETAS, CLIP = 0.01, (0.99, 0.9), 0.01
ROUNDS, OUR_STEPS = 7, 50

Layer = Callable[[Tensor, Tensor, Tensor], Tensor]


def matmul_layer(Z: Tensor, P: Tensor, Q: Tensor) -> Tensor:
    """P Z M (Zᵀ Q Z) by batched products; the mask M becomes a slice."""
    scores = Z.transpose(1, 2) @ (Q @ Z)
    return (P @ Z[:, :, :-1]) @ scores[:, :-1]


def einsum_layer(Z: Tensor, P: Tensor, Q: Tensor) -> Tensor:
    """The same by index notation."""
    scores = torch.einsum("bin,ij,bjm->bnm", Z, Q, Z)
    return torch.einsum("ij,bjn,bnm->bim", P, Z[:, :, :-1], scores[:, :-1])


def reassociated_layer(Z: Tensor, P: Tensor, Q: Tensor) -> Tensor:
    """P (Z M Zᵀ) Q Z: no (n+1)×(n+1) scores. Not the paper's order; shown beside the others."""
    examples = Z[:, :, :-1]
    return (P @ (examples @ examples.transpose(1, 2)) @ Q) @ Z


class LiteralTraining:
    """Trains the token-by-token form with torch's Adam and clipping."""

    def __init__(self, layer: Layer, prompts: task.Prompts, A: Any, B: Any) -> None:
        self.layer = layer
        x, w, query = (torch.from_numpy(a) for a in (prompts.x, prompts.w, prompts.query))
        self.Z = model.embed(x, w, query)
        self.target = (w * query).sum(1)
        self.A = [torch.tensor(matrix, requires_grad=True) for matrix in A]
        self.B = [torch.tensor(matrix, requires_grad=True) for matrix in B]
        self.adam = torch.optim.Adam(self.A + self.B, lr=LEARNING_RATE, betas=BETAS)

    def step(self) -> float:
        """One step; returns the loss before it."""
        self.adam.zero_grad()
        Z = self.Z
        for A, B in zip(self.A, self.B, strict=True):
            Z = Z + self.layer(Z, *model.layer_matrices(A, B)) / N
        loss = (-Z[:, -1, -1] - self.target).square().mean()
        loss.backward()  # type: ignore[no-untyped-call]
        for matrix in self.A + self.B:
            torch.nn.utils.clip_grad_norm_(matrix, CLIP)
        self.adam.step()
        return loss.item()


def timed_ms(run: Callable[[], Any], threads: int, steps: int = 1) -> float:
    """Milliseconds per step of a call that makes so many steps; on one thread of its CPU time."""
    clock = process_time if threads == 1 else perf_counter
    start = clock()
    run()
    return (clock() - start) * 1e3 / steps


def measure(threads: int) -> dict[str, float]:
    """Median milliseconds per step of each form, on so many threads."""
    torch.set_num_threads(threads)
    covariance = task.draw_covariance(generator(0, "covariance"))
    prompts = task.draw_prompts(covariance, PROMPTS, N, generator(0, "benchmark"))
    rng = np.random.default_rng(0)
    A, B = (0.05 * rng.standard_normal((2, LAYERS, DIM, DIM))).astype(np.float32)
    layers = {
        "matmul_ms": matmul_layer,
        "einsum_ms": einsum_layer,
        "reassociated_ms": reassociated_layer,
    }
    literal = {key: LiteralTraining(layer, prompts, A, B) for key, layer in layers.items()}
    minibatch = Minibatch.of_prompts(prompts)
    audit, name = Catalog()["ahn2023"].audit(), "full"
    changed: dict[str, Any] = {"learning_rate": LEARNING_RATE, "betas": BETAS, "clip": CLIP}
    settings = build_settings(EXPERIMENTS[name].settings, audit.values_of(name, "paper", changed))
    ours = Learner(fast.gradients, lambda _index: minibatch, (A, B), settings)

    first, _ = fast.loss_and_gradient(minibatch, A, B)
    for training in literal.values():
        np.testing.assert_allclose(training.step(), first, rtol=1e-4)
    times: dict[str, list[float]] = {key: [] for key in (*literal, "ours_ms", "redraw_ms")}
    for _ in range(ROUNDS):
        for key, training in literal.items():
            times[key].append(timed_ms(training.step, threads))
        times["ours_ms"].append(timed_ms(lambda: ours.advance(0, OUR_STEPS), threads, OUR_STEPS))
        times["redraw_ms"].append(
            timed_ms(lambda: draw_minibatch(covariance, PROMPTS, N, generator(0, "x")), threads)
        )
    return {key: median(values) for key, values in times.items()}


def counted() -> Step:
    """Operations by the products of `fast`, counted by hand, bytes by what it reads of prompts."""
    d = DIM
    matrices = 2 + 3 + (LAYERS - 2) * (5 + 9)  # the first layer's, forward and back, the middle's
    vectors = 5 + (LAYERS - 1) * (4 + 8)  # products with vectors, outer ones among them
    fused = matrices * d**3 + vectors * d**2 + 3 * d
    between = (
        f"a prompt takes {fused} fused operations, and each product of matrices also a load for "
        "every operation and a store for every entry, in the first- and second-level cache"
    )
    return Step(2 * PROMPTS * fused, 4 * PROMPTS * (d * d + 2 * d + 1), between)


def bench() -> dict[str, Any]:
    """The figures of both forms on one thread, and by number of threads."""
    threads = torch.get_num_threads()
    by_threads = {count: measure(count) for count in sorted({1, threads})}
    figures = by_threads[1]
    literal = min(figures["matmul_ms"], figures["einsum_ms"])
    return {
        "literal_ms": round(literal, 2),
        "ours_ms": round(figures["ours_ms"], 4),
        "ratio": round(literal / figures["ours_ms"], 1),
        "threads": 1,
        "reached": counted().beside(figures["ours_ms"]),
        "by_threads": {
            str(count): {key: round(value, 4) for key, value in measured.items()}
            for count, measured in by_threads.items()
        },
        "setting": f"{PROMPTS} prompts, n = {N}, d = {DIM}, {LAYERS} layers, B free, float32",
        "versions": {
            "python": platform.python_version(),
            "torch": torch.__version__,
            "numba": numba.__version__,
        },
    }
