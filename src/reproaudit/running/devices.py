"""The device and the threads that a run computes with."""

from __future__ import annotations

import ctypes
import os
import sys
from contextlib import suppress
from typing import Any

from reproaudit.cell import NUMBA_VARIABLE, THREAD_VARIABLES
from reproaudit.errors import UsageError


def has_driver() -> bool:
    """False where no card can be found, so that torch, which imports slowly, need not be asked."""
    if os.path.exists("/dev/kfd"):  # AMD's
        return True
    with suppress(OSError):
        ctypes.CDLL("libcuda.so.1")
        return True
    return False


def pick_device(wish: str) -> str:
    """The device to run on, from the user's ``auto``, ``cpu`` or ``cuda``.

    Raises:
        UsageError: if ``cuda`` is asked for and there is none, or the wish is another word.
    """
    if wish not in ("auto", "cpu", "cuda"):
        raise UsageError(f"unknown device '{wish}'. Use auto, cpu or cuda.")
    asks = wish == "cuda" or (wish == "auto" and has_driver())
    torch = _torch() if asks else None
    present = torch is not None and torch.cuda.is_available()
    if wish == "cuda" and not present:
        this = "there is no torch, which" if torch is None else f"this torch ({torch.__version__})"
        raise UsageError(
            f"device cuda was asked for, but {this} finds no CUDA card. Use --device cpu, or auto."
        )
    return "cuda" if present else "cpu"


def use_threads(count: int) -> None:
    """Gives torch and Numba ``count`` threads here, and every numerical library in new processes.

    Numba cannot be given more than it had when it was imported. Where it is not imported yet, it
    will have ``count``, so that its first parallel function leaves torch's threads as they are.
    """
    for name in THREAD_VARIABLES:
        os.environ[name] = str(count)
    numba = sys.modules.get("numba")
    if numba is not None:
        most = numba.config.NUMBA_NUM_THREADS
        os.environ[NUMBA_VARIABLE] = str(most)  # with another, it refuses to compile from here on
        numba.set_num_threads(min(count, most))
    torch = _torch()
    if torch is not None:  # last: when Numba starts its threads, it gives torch as many
        torch.set_num_threads(count)


def _torch() -> Any:
    """torch, or None where it is not installed: a command of another repository needs none here."""
    try:
        import torch
    except ImportError:
        return None
    return torch
