"""Stateless random numbers: draw number k is a function of (seed, purpose, k) alone."""

from __future__ import annotations

import hashlib

import numpy as np
import torch


def _sequence(seed: int, purpose: str, index: int) -> np.random.SeedSequence:
    digest = hashlib.sha256(purpose.encode()).digest()
    words = (int.from_bytes(digest[i : i + 4], "little") for i in range(0, 16, 4))
    return np.random.SeedSequence(seed, spawn_key=(*words, index))


def generator(seed: int, purpose: str, index: int = 0) -> np.random.Generator:
    """A NumPy generator for one purpose of one seed, and for draw number ``index`` of it.

    The stream depends on the three arguments alone, never on what was drawn before, so a resumed
    run draws what an uninterrupted one does. Purposes (``"data"``, ``"init"``) are independent.

    Args:
        seed: the cell's seed, at least 0.
        purpose: what the numbers are for.
        index: which draw, for instance the training step; at least 0.

    Raises:
        ValueError: if ``seed`` or ``index`` is negative.
    """
    return np.random.Generator(np.random.PCG64(_sequence(seed, purpose, index)))


def torch_generator(
    seed: int, purpose: str, index: int = 0, device: str | torch.device = "cpu"
) -> torch.Generator:
    """`generator` for torch, on a device.

    A CPU and a CUDA generator of the same seed give different numbers; draw on the CPU and move
    the result where the numbers must not depend on the device. Torch's CPU generator keeps only
    32 bits of a seed, so among 10⁵ draws some would coincide: make one generator per purpose, not
    one per step, or use `generator` for the latter.
    """
    word = int(_sequence(seed, purpose, index).generate_state(1, np.uint64)[0])
    return torch.Generator(device=device).manual_seed(word)
