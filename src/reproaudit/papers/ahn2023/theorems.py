"""The theorems and lemmas themselves: gradients, exchanges and steps at drawn points, no training.

Theorems 3 and 4 say that on the family A_l = a_l Σ⁻¹, B_l = b_l I the gradient stays in the family.
In whitened coordinates the law of the prompts does not change where inputs and weights are turned
together. So it is enough to average over a finite group of turns, here the 2^d d products of signs
and circular shifts: a matrix that all of them leave as it is, is a multiple of I (derived). What
holds of these prompts, whatever they are, then holds of the law.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import torch

from reproaudit.lab import Array, Measurements, Session, generator
from reproaudit.papers.ahn2023 import constructed, fast, plain
from reproaudit.papers.ahn2023.plain import Matrices
from reproaudit.papers.ahn2023.task import ProblemSettings, Prompts
from reproaudit.papers.ahn2023.training import RunTask


@dataclass(frozen=True)
class Family(ProblemSettings):
    """Points of the family; its matrix is Σ⁻¹, or in controls Σ^(−1/2) or drawn for each layer."""

    layers: int
    points: int
    preconditioner: Literal["inverse", "inverse_root", "drawn"]


def turned(prompts: Prompts) -> Prompts:
    """The prompts under every turn of the group."""
    d = prompts.covariance.dim
    signs = np.array(list(itertools.product((1.0, -1.0), repeat=d)))
    turns = [sign[:, None] * np.roll(np.eye(d), k, axis=0) for sign in signs for k in range(d)]
    root = prompts.covariance.root
    weight_root = prompts.covariance.weight_root
    parts = []
    for rows, base in ((prompts.x, root), (prompts.w, weight_root), (prompts.query, root)):
        white = rows @ np.linalg.inv(base).T
        parts.append(np.concatenate([white @ turn @ base.T for turn in turns]))
    return replace(prompts, x=parts[0], w=parts[1], query=parts[2])


def measure_family(settings: Family, session: Session) -> Measurements:
    """At drawn scalars, what the gradient has off the family, and what two lemmas say."""
    task = RunTask.of(session.seed, settings.pairs, settings, session)
    rng = generator(task.seed, "points of the family")
    prompts = task.prompts("turned", settings.prompts)
    found = []
    every = turned(prompts)
    for _ in range(settings.points):
        a = rng.uniform(0.2, 1.2, settings.layers)
        b = rng.uniform(0.1, 0.5, settings.layers)
        A = -a[:, None, None] * _preconditioner(task, rng)
        B = b[:, None, None] * np.eye(settings.dimension)
        gradients = [off_family(task, every, (A, one)) for one in (0.0 * B, B)]
        found.append([*gradients, *lemmas(task, prompts, A, a)])
    *off, exchange, steps = np.array(found).T
    return Measurements(
        arrays={"off_family": np.array(off), "exchange": exchange, "steps_apart": steps}
    )


def _preconditioner(task: RunTask, rng: np.random.Generator) -> Array:
    settings = task.settings
    inverse = task.covariance.inverse
    assert isinstance(settings, Family)
    if settings.preconditioner == "inverse":
        return inverse
    if settings.preconditioner == "inverse_root":
        return np.linalg.inv(task.covariance.symmetric_root)
    return inverse + 0.3 * rng.standard_normal((settings.layers, *inverse.shape))


def off_family(task: RunTask, prompts: Prompts, matrices: Matrices) -> float:
    """The part of the gradient off the family, as a share of its norm, in whitened coordinates."""
    A, B = (torch.tensor(one, requires_grad=bool(one.any())) for one in matrices)
    form: Any = plain if task.form == "plain" else fast
    gradients = form.gradients(task.for_form(prompts), A, B)
    root = task.covariance.root
    inverse = np.linalg.inv(task.covariance.root)
    lefts = inverse, root.T  # A = R⁻ᵀ Ã R⁻¹ and B = R B̃ R⁻¹
    pairs = zip(lefts[: len(gradients)], gradients, strict=True)
    whole = np.stack([left @ gradient.numpy() @ inverse.T for left, gradient in pairs])
    identity = np.eye(len(root))
    scalars = np.trace(whole, axis1=-2, axis2=-1)[..., None, None] / len(root)
    return float(np.linalg.norm(whole - scalars * identity) / np.linalg.norm(whole))


def lemmas(task: RunTask, prompts: Prompts, A: Array, sizes: Array) -> tuple[float, float]:
    """By what shares of itself the loss changes where B = 0.

    Where the first and the last layer change places (Lemma 4), and where as many preconditioned
    steps of these sizes take the place of the layers (Lemma 1).
    """
    data = task.for_form(prompts)
    own, exchanged = (task.loss(data, (one, np.zeros_like(one))) for one in (A, A[::-1].copy()))
    law = prompts.moment, prompts.w, prompts.query
    steps = constructed.descent_loss(*law, sizes, prompts.covariance.inverse)
    return abs(exchanged - own) / own, abs(steps - own) / own
