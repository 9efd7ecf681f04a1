"""The three stages at the paper's size: position by position in PyTorch, and the counted form.

An epoch is the loss of 9,000 sequences of length 100 and its gradient by what the stage trains, in
float32. The total is the time of the stages as scheduled: the epochs of each, times the time of one
of its epochs. Both forms run in one process, on the same sequences and threads, in turns. Of the
two arrangements of lags the literal form pays the same; ours is timed on the dearer one, in which
the heads see five lags between them (`own_onwards`), and the other is shown beside it.
"""

from __future__ import annotations

import platform
from collections.abc import Callable
from statistics import median
from time import process_time
from typing import Any

import numpy as np
import torch

from reproaudit.lab import generator
from reproaudit.papers.chen2024 import model, task
from reproaudit.papers.chen2024.fast import Windows
from reproaudit.papers.chen2024.model import (
    Architecture,
    LagWindows,
    LossReading,
    ParameterName,
    Parameters,
)
from reproaudit.run.devices import use_threads

SEQUENCES, LENGTH, ORDER, VOCABULARY, DIRICHLET = 9000, 100, 2, 3, 0.1
HEADS, DEGREE, WINDOW = 3, 2, 3
STAGES: dict[ParameterName, int] = {"coefficients": 2000, "lag_weights": 50_000, "sharpness": 5000}
READING: LossReading = "of_probabilities"
EPSILON = 1.0e-8
ROUNDS, OUR_EPOCHS = 5, 40


class Forms:
    """One arrangement of lags in both forms, at the same parameters."""

    def __init__(self, lag_windows: LagWindows, sequences: task.Sequences) -> None:
        self.architecture = Architecture.build(lag_windows, HEADS, WINDOW, DEGREE)
        weights = np.full((HEADS, WINDOW), 0.01, dtype=np.float32)
        weights[np.arange(HEADS), self.architecture.own_places] = 3.0
        self.parameters = Parameters(
            lag_weights=weights,
            coefficients=np.full(len(self.architecture.subsets), 0.01, dtype=np.float32),
            sharpness=np.full(1, 0.01, dtype=np.float32),
        )
        tokens = torch.from_numpy(sequences.tokens)
        self.sequence = model.one_hot(tokens, VOCABULARY, torch.float32)
        self.targets = torch.from_numpy(sequences.targets)
        self.windows = Windows.of(sequences, self.architecture, VOCABULARY)

    def literal(self, trained: ParameterName) -> None:
        """The loss and its gradient, position by position."""
        at = Parameters(
            *(
                torch.tensor(value, requires_grad=name == trained)
                for name, value in self.parameters._asdict().items()
            )
        )
        predictions = model.predict(self.sequence, at, self.architecture)
        loss = model.trained_loss(predictions, self.targets, READING, EPSILON)
        torch.autograd.grad(loss, getattr(at, trained))

    def ours(self, trained: ParameterName) -> None:
        """The same, and the update, for several epochs."""
        at = Parameters(*(value.copy() for value in self.parameters))
        for _ in range(OUR_EPOCHS):
            _, gradient = self.windows.loss_and_gradient(at, (trained,), READING, EPSILON)
            getattr(at, trained)[...] -= gradient[trained]


def timed_ms(
    run: Callable[[ParameterName], None], trained: ParameterName, epochs: int = 1
) -> float:
    """Milliseconds per epoch of a call that makes so many epochs."""
    start = process_time()
    run(trained)
    return (process_time() - start) * 1e3 / epochs


def measure(forms: Forms) -> dict[str, dict[str, float]]:
    """Median milliseconds per epoch of each stage, in turns."""
    times: dict[str, dict[str, float]] = {}
    for trained in STAGES:
        literal, ours = [], []
        forms.ours(trained)  # to warm up
        for _ in range(ROUNDS):
            literal.append(timed_ms(forms.literal, trained))
            ours.append(timed_ms(forms.ours, trained, OUR_EPOCHS))
        times[trained] = {"literal_ms": median(literal), "ours_ms": median(ours)}
    return times


def total(times: dict[str, dict[str, float]], form: str) -> float:
    """Milliseconds of all epochs of the three stages."""
    return sum(epochs * times[trained][form] for trained, epochs in STAGES.items())


def bench(threads: int = 1) -> dict[str, Any]:
    """The mean epoch over the schedule in both forms, and the ratio of the total times.

    Returns:
        ``literal_ms`` and ``ours_ms``, milliseconds per epoch, averaged over the 57,000 epochs;
        ``ratio``; and the same for each stage and for the other arrangement of lags.
    """
    use_threads(threads)
    sequences = task.draw_sequences(
        generator(0, "benchmark"),
        SEQUENCES,
        length=LENGTH,
        order=ORDER,
        vocabulary=VOCABULARY,
        dirichlet=DIRICHLET,
    )
    results = {}
    arrangements: tuple[LagWindows, ...] = ("own_onwards", "common")
    for lag_windows in arrangements:
        times = measure(Forms(lag_windows, sequences))
        literal, ours = total(times, "literal_ms"), total(times, "ours_ms")
        epochs = sum(STAGES.values())
        results[lag_windows] = {
            "literal_ms": literal / epochs,
            "ours_ms": ours / epochs,
            "ratio": literal / ours,
            "literal_total_s": literal / 1e3,
            "ours_total_s": ours / 1e3,
            "stages": times,
        }
    return {
        **results["own_onwards"],
        "common_lags": results["common"],
        "threads": threads,
        "machine": platform.processor() or platform.machine(),
    }
