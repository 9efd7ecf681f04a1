"""Chooses the fast form: compiled where that works, batched PyTorch and NumPy elsewhere.

The compiled form needs Numba and an LLVM that knows this processor. Where either fails, one warning
says so, and everything runs all the same, several times slower. So nothing in here imports the
compiled form before it is known to work.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from functools import cache

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import DTypeLike

from reproaudit.lab import Array
from reproaudit.papers.ahn2023 import minibatches
from reproaudit.papers.ahn2023.fast.learners import BatchedLearner, Draw
from reproaudit.papers.ahn2023.fast.prompts import Minibatch
from reproaudit.papers.ahn2023.fast.recursion import recursion_loss
from reproaudit.papers.ahn2023.schedule import Learner, Schedule
from reproaudit.papers.ahn2023.task import Covariance, isotropic

log = logging.getLogger(__name__)


@cache
def compiles_here() -> bool:
    """True if the compiled form works on this machine; tried once, on the smallest problem."""
    try:
        from reproaudit.papers.ahn2023.fast import kernel, sampler

        drawn = sampler.draw_minibatch(isotropic(1), 1, 1, minibatches.Stream.of(0, "trial", 0))
        state = kernel.TrainingState.start(*np.zeros((2, 1, 1, 1), np.float32))
        kernel.advance(state, drawn, 1, learning_rate=0.0, betas=(0.9, 0.9), clip=1.0, free_b=False)
    except Exception as error:  # a missing compiler fails in any of many ways
        reason = re.sub(r"\x1b\[[\d;]*m", "", str(error)).strip().partition("\n")[0]  # no colours
        log.warning(
            "ahn2023's compiled form does not work here (%s: %s); PyTorch runs in its place, "
            "several times slower",
            type(error).__name__,
            reason,
        )
        return False
    return True


def make_learner(
    draws: Sequence[Draw],
    A: Float[Array, "seeds layers d d"],
    B: Float[Array, "seeds layers d d"],
    schedule: Schedule,
    device: str,
) -> Learner:
    """The compiled kernel for one seed on the CPU, batched PyTorch otherwise."""
    if device == "cpu" and len(draws) == 1 and compiles_here():
        from reproaudit.papers.ahn2023.fast.kernel_learner import KernelLearner

        return KernelLearner(draws[0], A[0], B[0], schedule)
    return BatchedLearner(draws, A, B, schedule, device)


def draw_minibatch(
    covariance: Covariance,
    batch: int,
    n: int,
    stream: minibatches.Stream,
    *,
    dtype: DTypeLike,
    shuffled: bool,
) -> Minibatch:
    """A training minibatch; arguments as for `minibatches.draw_plain`."""
    if compiles_here():
        from reproaudit.papers.ahn2023.fast.sampler import draw_minibatch as draw
    else:
        draw = minibatches.draw_plain
    return draw(covariance, batch, n, stream, dtype=dtype, shuffled=shuffled)


def in_context_loss(
    minibatch: Minibatch, A: Float[Array, "layers d d"], B: Float[Array, "layers d d"]
) -> float:
    """The mean squared error of one model on prepared prompts, in their precision."""
    A, B = (matrices.astype(minibatch.data.dtype) for matrices in (A, B))
    if compiles_here():
        from reproaudit.papers.ahn2023.fast.kernel import loss_and_gradient

        return loss_and_gradient(minibatch, A, B if B.any() else None)[0]
    S, w, query, offset = (torch.from_numpy(part.copy()) for part in minibatch.unpacked())
    return float(recursion_loss(S, w, query, torch.from_numpy(A), torch.from_numpy(B), offset))
