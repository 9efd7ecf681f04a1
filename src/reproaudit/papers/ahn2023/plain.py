"""Training and losses in the plain form: `model` on whole prompts, with gradients from autograd.

A prompt has all its inputs. The fast form draws only the second moment of the inputs, by its exact
law, so that the two forms train on different draws of one law; everything else is the same draw.
Both make the same steps: draw a minibatch every so often, compute the in-context loss and its
gradient, clip each matrix's gradient, and update with Adam (released code: AdamW with weight decay
0) at a learning rate that is halved at fixed intervals.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from reproaudit.lab import Array, Stateful
from reproaudit.papers.ahn2023 import model
from reproaudit.papers.ahn2023.task import Prompts, TrainingSettings

Matrices = tuple[Float[Array, "layers d d"], Float[Array, "layers d d"]]
"""A and B of a model."""


def prompt_losses(
    prompts: Prompts, A: Float[Tensor, "layers d d"], B: Float[Tensor, "layers d d"]
) -> Float[Tensor, ""]:
    """The in-context loss of one model on prompts, in their precision, where the model is."""
    parts = (prompts.x, prompts.w, prompts.label_weights, prompts.query)
    x, w, labels, query = (torch.from_numpy(part).to(A.device) for part in parts)
    return model.in_context_loss(x, labels, query, A, B, target=w)


def plain_loss(prompts: Prompts, matrices: Matrices, device: str = "cpu") -> float:
    """The mean squared error of one model on prompts, in their precision."""
    A, B = (torch.from_numpy(one.astype(prompts.x.dtype)).to(device) for one in matrices)
    with torch.no_grad():
        return float(prompt_losses(prompts, A, B))


def gradients(
    prompts: Prompts, A: Float[Tensor, "layers d d"], B: Float[Tensor, "layers d d"]
) -> Sequence[Tensor]:
    """The gradient of the in-context loss, by autograd, in A and where it is trained in B."""
    trained = [matrices for matrices in (A, B) if matrices.requires_grad]
    return torch.autograd.grad(prompt_losses(prompts, A, B), trained)


class Learner:
    """One seed's model, trained with PyTorch's Adam and clipping on either form's gradients.

    `draw` makes the prompts of a draw, as `gradients` takes them.
    """

    def __init__(
        self,
        gradients: Callable[[Any, Tensor, Tensor], Sequence[Tensor]],
        draw: Callable[[int], Any],
        matrices: Matrices,
        settings: TrainingSettings,
        device: str = "cpu",
    ) -> None:
        self._gradients = gradients
        self._A, self._B = (torch.tensor(one, device=device) for one in matrices)
        self._trained = [self._A, self._B][: 2 if settings.b_matrices == "free" else 1]
        for parameter in self._trained:
            parameter.requires_grad_()
        betas = settings.betas[0], settings.betas[1]
        self._optimiser = torch.optim.Adam(self._trained, betas=betas, eps=settings.epsilon)
        self._draw = draw
        self._settings = settings
        self._drawn: tuple[int, Any] | None = None

    @property
    def state(self) -> Mapping[str, Stateful]:
        """A, B and the optimiser."""
        return {"A": self._A, "B": self._B, "optimiser": self._optimiser}

    def matrices(self) -> Matrices:
        """A and B now, float64."""
        A, B = (m.detach().cpu().numpy().astype(np.float64) for m in (self._A, self._B))
        return A, B

    def rate(self, step: int) -> float:
        """The learning rate of a step."""
        return float(self._settings.learning_rate * 0.5 ** (step // self._settings.halve_every))

    def advance(self, start: int, stop: int) -> None:
        """Makes the steps start … stop − 1."""
        for step in range(start, stop):
            index = step // self._settings.redraw_every
            if self._drawn is None or self._drawn[0] != index:
                self._drawn = index, self._draw(index)
            gradients = self._gradients(self._drawn[1], self._A, self._B)
            for parameter, gradient in zip(self._trained, gradients, strict=True):
                norms = torch.linalg.matrix_norm(gradient, keepdim=True)  # of each layer's matrix
                parameter.grad = gradient * (self._settings.clip / (norms + 1e-6)).clamp(max=1.0)
            for group in self._optimiser.param_groups:
                group["lr"] = self.rate(step)
            self._optimiser.step()
