"""Training and losses in the plain form: `model` on whole prompts, with gradients from autograd.

A prompt has all its inputs. The fast form draws only the second moment of the inputs, by its exact
law, so that the two forms train on different draws of one law; everything else is the same draw.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from reproaudit.lab import Array, Stateful
from reproaudit.papers.ahn2023 import model
from reproaudit.papers.ahn2023.schedule import Schedule, SeedMatrices
from reproaudit.papers.ahn2023.task import Prompts


def prompt_losses(
    prompts: Prompts, A: Float[Tensor, "layers d d"], B: Float[Tensor, "layers d d"]
) -> Float[Tensor, ""]:
    """The in-context loss of one model on prompts, in their precision."""
    x, w, labels, query = (
        torch.from_numpy(part)
        for part in (prompts.x, prompts.w, prompts.label_weights, prompts.query)
    )
    return model.in_context_loss(x, labels, query, A, B, target=w)


def plain_loss(
    prompts: Prompts, A: Float[Array, "layers d d"], B: Float[Array, "layers d d"]
) -> float:
    """The mean squared error of one model on prompts, in their precision."""
    tensors = (torch.from_numpy(one.astype(prompts.z.dtype)) for one in (A, B))
    with torch.no_grad():
        return float(prompt_losses(prompts, *tensors))


class PlainLearner:
    """One seed, with PyTorch's Adam and clipping."""

    def __init__(
        self,
        draws: Sequence[Callable[[int], Prompts]],
        A: Float[Array, "1 layers d d"],
        B: Float[Array, "1 layers d d"],
        schedule: Schedule,
    ) -> None:
        (self._draw,) = draws
        self._schedule = schedule
        self._A = torch.tensor(A[0], requires_grad=True)
        self._B = torch.tensor(B[0], requires_grad=schedule.free_b)
        trained = [self._A, self._B] if schedule.free_b else [self._A]
        self._optimiser = torch.optim.Adam(trained, betas=schedule.betas, eps=schedule.epsilon)
        self._drawn: tuple[int, Prompts] | None = None

    @property
    def state(self) -> Mapping[str, Stateful]:
        """A, B and the optimiser."""
        return {"A": self._A, "B": self._B, "optimiser": self._optimiser}

    def advance(self, start: int, stop: int) -> None:
        """Makes the steps start … stop − 1."""
        for step in range(start, stop):
            for group in self._optimiser.param_groups:
                group["lr"] = self._schedule.rate(step)
            self._optimiser.zero_grad()
            loss = prompt_losses(self._prompts(self._schedule.draw(step)), self._A, self._B)
            torch.autograd.backward(loss)
            for matrices in (self._A, self._B):
                self._clip(matrices)
            self._optimiser.step()

    def matrices(self) -> SeedMatrices:
        """A and B now, float64."""
        A, B = (m.detach().numpy().astype(np.float64)[None] for m in (self._A, self._B))
        return A, B

    def go_on(self, draws: Sequence[Callable[[int], Prompts]], schedule: Schedule) -> None:
        """Changes schedule and prompts; A, B and Adam's moments stay as they are."""
        (self._draw,) = draws
        self._schedule, self._drawn = schedule, None

    def _clip(self, matrices: Tensor) -> None:
        """Clips the gradient of each layer's matrix, as PyTorch clips by norm."""
        if matrices.grad is not None:
            for gradient in matrices.grad:
                norm = torch.linalg.matrix_norm(gradient)
                gradient.mul_((self._schedule.clip / (norm + 1e-6)).clamp(max=1.0))

    def _prompts(self, index: int) -> Prompts:
        if self._drawn is None or self._drawn[0] != index:
            self._drawn = index, self._draw(index)
        return self._drawn[1]
