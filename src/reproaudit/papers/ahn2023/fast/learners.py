"""The fast form where nothing is compiled: all seeds together with batched PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch
from jaxtyping import Float

from reproaudit.lab import Array, Stateful
from reproaudit.papers.ahn2023.fast.prompts import Minibatch
from reproaudit.papers.ahn2023.fast.recursion import recursion_loss
from reproaudit.papers.ahn2023.schedule import Schedule, SeedMatrices

Draw = Callable[[int], Minibatch]
"""From the number of the draw to a minibatch of one seed."""


class BatchedLearner:
    """All seeds together, with the recursion, autograd and `torch.optim.Adam`."""

    def __init__(
        self,
        draws: Sequence[Draw],
        A: Float[Array, "seeds layers d d"],
        B: Float[Array, "seeds layers d d"],
        schedule: Schedule,
        device: str,
    ) -> None:
        self._schedule, self._draws, self._device = schedule, draws, device
        self._A = torch.tensor(A, device=device, requires_grad=True)
        self._B = torch.tensor(B, device=device, requires_grad=schedule.free_b)
        trained = [self._A, self._B] if schedule.free_b else [self._A]
        self._optimiser = torch.optim.Adam(trained, betas=schedule.betas, eps=schedule.epsilon)
        self._drawn: tuple[int, tuple[torch.Tensor, ...]] | None = None

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
            S, w, query, offset = self._minibatch(self._schedule.draw(step))
            B = self._B if self._schedule.free_b else None
            losses = recursion_loss(S, w, query, self._A, B, offset)
            torch.autograd.backward(losses.sum())
            for matrices in (self._A, self._B):
                self._clip(matrices.grad)
            self._optimiser.step()

    def matrices(self) -> SeedMatrices:
        """A and B now, float64."""
        A, B = (m.detach().cpu().numpy().astype(np.float64) for m in (self._A, self._B))
        return A, B

    def go_on(self, draws: Sequence[Draw], schedule: Schedule) -> None:
        """Changes schedule and minibatches; A, B and Adam's moments stay as they are."""
        self._draws, self._schedule, self._drawn = draws, schedule, None

    def _clip(self, gradient: torch.Tensor | None) -> None:
        if gradient is not None:
            norms = torch.linalg.matrix_norm(gradient, keepdim=True)
            gradient.mul_((self._schedule.clip / (norms + 1e-6)).clamp(max=1.0))

    def _minibatch(self, index: int) -> tuple[torch.Tensor, ...]:
        if self._drawn is None or self._drawn[0] != index:
            per_seed = [draw(index).unpacked() for draw in self._draws]
            stacked = (np.stack(parts) for parts in zip(*per_seed, strict=True))
            tensors = tuple(torch.from_numpy(part).to(self._device) for part in stacked)
            self._drawn = index, tensors
        return self._drawn[1]
