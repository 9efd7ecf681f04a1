"""The cores of this machine; apart from the devices, so that counting them imports no torch."""

from __future__ import annotations

import os


def available_cores() -> int:
    """The number of cores that this process may use, at least 1."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1
