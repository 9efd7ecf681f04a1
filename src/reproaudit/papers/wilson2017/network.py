"""Small networks of which several settings are trained at once."""

from __future__ import annotations

import numpy as np

from reproaudit.lab import Array

CLASSES = 10


class Network:
    """Networks with one hidden layer of ReLUs, whose weights are rows (setting, weight)."""

    def __init__(self, inputs: int, hidden: int) -> None:
        self.shapes = [(inputs, hidden), (1, hidden), (hidden, CLASSES), (1, CLASSES)]
        self.ends = np.cumsum([rows * columns for rows, columns in self.shapes])

    def start(self, draw: np.random.Generator) -> Array:
        """One network's weights, normal with variance 2 over the inputs, and biases of 0."""
        scales = [np.sqrt(2 / rows) if rows > 1 else 0.0 for rows, _ in self.shapes]
        parts = zip(scales, self.shapes, strict=True)
        return np.concatenate(
            [(scale * draw.standard_normal(shape)).ravel() for scale, shape in parts]
        )

    def layers(self, w: Array) -> list[Array]:
        """The weights and biases, each of shape (setting, rows, columns)."""
        parts = zip(np.split(w, self.ends[:-1], axis=1), self.shapes, strict=True)
        return [part.reshape(-1, *shape) for part, shape in parts]

    def scores(self, w: Array, x: Array) -> tuple[Array, Array]:
        """Hidden values (setting, row, hidden) and log-probabilities (setting, row, class)."""
        w1, b1, w2, b2 = self.layers(w)
        hidden = np.maximum(x @ w1 + b1, 0)
        z = hidden @ w2 + b2
        z = z - z.max(axis=2, keepdims=True)
        return hidden, z - np.log(np.exp(z).sum(axis=2, keepdims=True))

    def gradient(self, w: Array, x: Array, y: Array) -> Array:
        """The gradient of the mean cross-entropy; shape of w."""
        hidden, log_p = self.scores(w, x)
        off = (np.exp(log_p) - np.eye(CLASSES, dtype=w.dtype)[y]) / len(y)
        back = (off @ self.layers(w)[2].swapaxes(1, 2)) * (hidden > 0)
        flows = [x.T @ back, back.sum(axis=1), hidden.swapaxes(1, 2) @ off, off.sum(axis=1)]
        return np.concatenate([flow.reshape(len(w), -1) for flow in flows], axis=1)

    def judge(self, w: Array, x: Array, y: Array) -> tuple[Array, Array]:
        """Cross-entropy and share of errors of each setting; one that diverged has ∞ and 1."""
        log_p = self.scores(w, x)[1]
        loss = -log_p[:, np.arange(len(y)), y].mean(axis=1)
        wrong = (log_p.argmax(axis=2) != y).mean(axis=1)
        lost = ~np.isfinite(loss)
        return np.where(lost, np.inf, loss), np.where(lost, 1.0, wrong)
