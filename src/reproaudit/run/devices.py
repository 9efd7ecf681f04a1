"""The machine that a run computes with: its cores and processor, its card, the threads in use."""

from __future__ import annotations

import ctypes
import os
import platform
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from reproaudit.cell import NUMBA_VARIABLE, THREAD_VARIABLES
from reproaudit.errors import UsageError

VECTORS = ("avx512f", "avx2", "avx", "sse4_2", "asimd")  # the widest first: they choose kernels


KERNEL_VARIABLES = (
    "ATEN_CPU_CAPABILITY",
    "BLIS_ARCH_TYPE",
    "BLIS_MODEL_TYPE",
    "DNNL_CPU_ISA_HINTS",
    "DNNL_DEFAULT_FPMATH_MODE",
    "DNNL_MAX_CPU_ISA",
    "GLIBC_TUNABLES",
    "MKL_CBWR",
    "MKL_DEBUG_CPU_TYPE",
    "MKL_ENABLE_INSTRUCTIONS",
    "NPY_DISABLE_CPU_FEATURES",
    "NPY_ENABLE_CPU_FEATURES",
    "NUMBA_CPU_FEATURES",
    "NUMBA_CPU_NAME",
    "NUMBA_DISABLE_INTEL_SVML",
    "NUMBA_DISABLE_JIT",
    "NUMBA_ENABLE_AVX",
    "NUMBA_LOOP_VECTORIZE",
    "NUMBA_OPT",
    "NUMBA_SLP_VECTORIZE",
    "ONEDNN_CPU_ISA_HINTS",
    "ONEDNN_DEFAULT_FPMATH_MODE",
    "ONEDNN_MAX_CPU_ISA",
    "OPENBLAS_CORETYPE",
)
"""The variables by which libraries take other kernels than they would for the processor."""


def available_cores() -> int:
    """The number of cores that this process may use, at least 1."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1


def processor() -> str:
    """What rounds: the processor, and the variables by which libraries choose other kernels for it.

    The same text gives equal bits: ``"Intel(R) Xeon(R), cpu family 6, model 85, avx512f"``, with
    ``", OPENBLAS_CORETYPE=Haswell"`` after it where that variable is set.
    """
    values = ((name, os.environ.get(name)) for name in KERNEL_VARIABLES)
    return ", ".join([_hardware(), *(f"{name}={value}" for name, value in values if value)])


@cache
def _hardware() -> str:
    """The processor's name, family and model, and its widest vectors."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").partition("\n\n")[0].splitlines()
    except (OSError, ValueError):
        return platform.processor() or platform.machine()
    known = {
        name.strip(): value.strip() for name, _, value in (line.partition(":") for line in lines)
    }
    flags = (known.get("flags") or known.get("Features") or "").split()
    widest = next((vectors for vectors in VECTORS if vectors in flags), "")
    family = [f"{name} {known[name]}" for name in ("cpu family", "model") if name in known]
    called = known.get("model name") or platform.machine()
    return ", ".join(filter(None, (called, *family, widest)))


def has_driver() -> bool:
    """False where no card can be found, so that torch, which imports slowly, need not be asked."""
    if os.path.exists("/dev/kfd"):  # AMD's
        return True
    with suppress(OSError):
        ctypes.CDLL("libcuda.so.1")
        return True
    return False


def pick_device(wish: str, may_use_card: Callable[[], bool] = lambda: True) -> str:
    """The device for the user's ``auto``, ``cpu`` or ``cuda``; a UsageError if there is none."""
    if wish not in ("auto", "cpu", "cuda"):
        raise UsageError(f"unknown device '{wish}'. Use auto, cpu or cuda.")
    asks = wish == "cuda" or (wish == "auto" and has_driver() and may_use_card())
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
