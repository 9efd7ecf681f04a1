"""Learners and losses in the fast form or in the plain one, by what the prompts are prepared for.

So what runs an experiment does not know which form it uses. Tests hold the two against each other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jaxtyping import Float

from reproaudit.lab import Array, RunForm
from reproaudit.papers.ahn2023.fast import choice
from reproaudit.papers.ahn2023.fast.prompts import Minibatch
from reproaudit.papers.ahn2023.plain import PlainLearner, plain_loss
from reproaudit.papers.ahn2023.schedule import Learner, Schedule
from reproaudit.papers.ahn2023.task import Prompts


def learner_of(
    form: RunForm,
    draws: Sequence[Callable[[int], Any]],
    A: Float[Array, "seeds layers d d"],
    B: Float[Array, "seeds layers d d"],
    schedule: Schedule,
    device: str,
) -> Learner:
    """A learner at its start; the plain form takes one seed, on the processor.

    Args:
        form: the plain or the fast one.
        draws: for each seed, from the number of a draw to its prompts, as the form takes them.
        A: each seed's first matrices.
        B: likewise.
        schedule: of training.
        device: of the fast form.
    """
    if form == "plain":
        return PlainLearner(draws, A, B, schedule)
    return choice.make_learner(draws, A, B, schedule, device)


def loss_on(
    data: Minibatch | Prompts, A: Float[Array, "layers d d"], B: Float[Array, "layers d d"]
) -> float:
    """The mean squared error of one model on prompts, in the form and precision that they have."""
    if isinstance(data, Minibatch):
        return choice.in_context_loss(data, A, B)
    return plain_loss(data, A, B)
