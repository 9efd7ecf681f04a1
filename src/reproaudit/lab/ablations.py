"""Stock controls: data that lack what a claim says is learned, named instead of written.

An experiment takes its training data through `ablated_data` and has a setting of the type
`Ablation`. The audit sets it to ``none``, and a claim's control to one of the other names. Both
train as the experiment does: the same loop, the same number of steps, data of the same shapes and
the same marginal laws. An untrained model is not among them: what was never trained moves nothing,
so that almost every check fails on it, whatever the claim.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeVar

import numpy as np

from reproaudit.lab.seeds import generator

Ablation = Literal["none", "shuffled_targets", "another_seeds_data"]
"""The part that is missing from a run's training data.

Nothing; the tie of targets to their inputs; or the tie of both to the seed for which the run is
measured.
"""

Inputs = TypeVar("Inputs")


def ablated_data(
    ablation: Ablation, draw: Callable[[int], tuple[Inputs, Any]], seed: int
) -> tuple[Inputs, Any]:
    """Returns the inputs and targets to train on.

    - ``none``: what `draw` gives for the seed.
    - ``shuffled_targets``: the same inputs, each with the target of another one, in a random cycle
      through all of them. It lacks whatever inputs say about targets.
    - ``another_seeds_data``: what `draw` gives for `another_seed`. Measure such a run against this
      seed's data. It lacks what is particular to them; a claim that would hold for any data of the
      same law holds for it, too, and then it shows nothing.

    Args:
        ablation: the experiment's setting.
        draw: from a seed to inputs and targets; of both the first axis runs over the examples, and
            targets are a NumPy array or a tensor.
        seed: the seed that is measured.

    Raises:
        ValueError: if shuffling changes no target, so that the run would be the experiment itself.
    """
    if ablation == "none":
        return draw(seed)
    if ablation == "another_seeds_data":
        return draw(another_seed(seed))
    inputs, targets = draw(seed)
    order = generator(seed, "shuffled targets").permutation(len(targets))
    source = np.empty_like(order)
    source[order] = np.roll(order, 1)
    shuffled = targets[source]
    if bool((shuffled == targets).all()):
        raise ValueError("shuffling changes no target: they are all equal, or there is only one")
    return inputs, shuffled


def another_seed(seed: int) -> int:
    """Returns a seed that depends on this one alone, and is larger than any that an audit has."""
    return int(generator(seed, "another seed").integers(2**62, 2**63))
