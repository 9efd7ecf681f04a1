"""What this machine's processor and memory reach on one thread, and what a step has of it.

* operations: a product of two 1,024×1,024 matrices in single precision, by the library behind
  compiled products. Its kernels are named: OpenBLAS picks them by the processor, or by the variable
  OPENBLAS_CORETYPE, and figures of different kernels are not comparable.
* bytes: the triad a ← b + s c over arrays of 64 MiB, compiled; three arrays are moved.

Both are the best of several rounds, in the process and the minute of the benchmark that they stand
beside. A paper's benchmark counts the operations and bytes of its step from the sizes of its arrays
and the instructions of its code.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import process_time
from typing import Any

import numpy as np
from threadpoolctl import threadpool_info

from reproaudit.lab import Array, compiled, one_thread

SIDE, TRIAD, ROUNDS = 1024, 2**24, 7


@dataclass(frozen=True)
class Step:
    """What a training step moves and computes, counted.

    Attributes:
        operations: additions and multiplications; a fused one counts as two.
        bytes: read and written, of arrays that do not fit into the first-level cache.
        between: what keeps the step from the ceiling, in words.
    """

    operations: float
    bytes: float
    between: str

    def beside(self, step_ms: float) -> dict[str, Any]:
        """What the step achieves, and the machine's ceiling measured now."""
        operations, moved = ceiling()
        return {
            "gigaoperations_per_s": round(self.operations / step_ms / 1e6, 1),
            "gigabytes_per_s": round(self.bytes / step_ms / 1e6, 1),
            "ceiling_gigaoperations_per_s": round(operations, 1),
            "ceiling_gigabytes_per_s": round(moved, 1),
            "kernels": kernels(),
            "between": self.between,
        }


def ceiling() -> tuple[float, float]:
    """Gigaoperations and gigabytes per second of one thread."""
    a, b = np.random.default_rng(0).standard_normal((2, SIDE, SIDE)).astype(np.float32)
    out = np.empty_like(a)
    x, y, z = (np.full(TRIAD, value, np.float32) for value in (1.0, 2.0, 3.0))
    with one_thread():
        product = _best(lambda: _product(a, b, out))
    return 2 * SIDE**3 / product / 1e9, 3 * x.nbytes / _best(lambda: _triad(x, y, z)) / 1e9


def kernels() -> str:
    """The name of the kernels for matrix products, as the libraries give it."""
    names = {str(one.get("architecture")) for one in threadpool_info() if one["user_api"] == "blas"}
    return ", ".join(sorted(names))


@compiled()
def _product(a: Array, b: Array, out: Array) -> None:
    np.dot(a, b, out)


@compiled()
def _triad(a: Array, b: Array, c: Array) -> None:
    for i in range(a.size):
        a[i] = b[i] + np.float32(3) * c[i]


def _best(run: Callable[[], None]) -> float:
    run()
    times = []
    for _ in range(ROUNDS):
        began = process_time()
        run()
        times.append(process_time() - began)
    return min(times)
