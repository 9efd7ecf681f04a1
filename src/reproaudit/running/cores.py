"""The processor of this machine and its cores; apart from the devices, which import torch."""

from __future__ import annotations

import os
import platform
from functools import cache
from pathlib import Path

VECTORS = ("avx512f", "avx2", "avx", "sse4_2", "asimd")
"""Sets of vector instructions, the widest first: libraries choose their kernels by them."""


def available_cores() -> int:
    """The number of cores that this process may use, at least 1."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1


@cache
def processor() -> str:
    """The processor's name, family and model, and its widest vectors; the same gives equal bits."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").partition("\n\n")[0].splitlines()
    except (OSError, ValueError):
        return platform.processor() or platform.machine()
    known = {
        name.strip(): value.strip() for name, _, value in (one.partition(":") for one in lines)
    }
    flags = (known.get("flags") or known.get("Features") or "").split()
    widest = next((one for one in VECTORS if one in flags), "")
    family = [f"{name} {known[name]}" for name in ("cpu family", "model") if name in known]
    called = known.get("model name") or platform.machine()
    return ", ".join(filter(None, (called, *family, widest)))
