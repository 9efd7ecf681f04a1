"""Training and losses in the plain form: `model` on whole prompts, with gradients from autograd.

A prompt has all its inputs. The fast form draws only the second moment of the inputs, by its exact
law, so that the two forms train on different draws of one law; everything else is the same draw.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from reproaudit.lab import Array, Stateful
from reproaudit.papers.ahn2023 import model
from reproaudit.papers.ahn2023.schedule import Matrices, Schedule
from reproaudit.papers.ahn2023.task import Prompts


def prompt_losses(
    prompts: Prompts, A: Float[Tensor, "layers d d"], B: Float[Tensor, "layers d d"]
) -> Float[Tensor, ""]:
    """The in-context loss of one model on prompts, in their precision, where the model is."""
    x, w, labels, query = (
        torch.from_numpy(part).to(A.device)
        for part in (prompts.x, prompts.w, prompts.label_weights, prompts.query)
    )
    return model.in_context_loss(x, labels, query, A, B, target=w)


def plain_loss(
    prompts: Prompts,
    A: Float[Array, "layers d d"],
    B: Float[Array, "layers d d"],
    device: str = "cpu",
) -> float:
    """The mean squared error of one model on prompts, in their precision."""
    tensors = (torch.from_numpy(one.astype(prompts.z.dtype)).to(device) for one in (A, B))
    with torch.no_grad():
        return float(prompt_losses(prompts, *tensors))


class PlainLearner:
    """One seed's model, trained with PyTorch's Adam and clipping, on the processor or a card."""

    def __init__(
        self,
        draw: Callable[[int], Prompts],
        A: Float[Array, "layers d d"],
        B: Float[Array, "layers d d"],
        schedule: Schedule,
        device: str = "cpu",
    ) -> None:
        self._draw, self._schedule = draw, schedule
        self._A = torch.tensor(A, device=device, requires_grad=True)
        self._B = torch.tensor(B, device=device, requires_grad=schedule.free_b)
        trained = [self._A, self._B] if schedule.free_b else [self._A]
        self._optimiser = torch.optim.Adam(
            trained, betas=(schedule.betas[0], schedule.betas[1]), eps=schedule.epsilon
        )
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

    def matrices(self) -> Matrices:
        """A and B now, float64."""
        A, B = (m.detach().cpu().numpy().astype(np.float64) for m in (self._A, self._B))
        return A, B

    def go_on(self, draw: Callable[[int], Prompts], schedule: Schedule) -> None:
        """Changes schedule and prompts; A, B and Adam's moments stay as they are."""
        self._draw, self._schedule, self._drawn = draw, schedule, None

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
