"""How this paper's loops are compiled, and on how many threads they run."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cache
from typing import Any, TypeVar, cast

import numba
import scipy.linalg  # noqa: F401  loads the library behind compiled matrix products
from threadpoolctl import ThreadpoolController

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(**options: Any) -> Callable[[Function], Function]:
    """Numba's decorator with this paper's options, typed.

    Division follows IEEE 754: the check for a zero divisor would keep loops from vector form.
    """
    decorator = numba.njit(cache=True, nogil=True, error_model="numpy", **options)
    return cast("Callable[[Function], Function]", decorator)


@cache
def _matrix_libraries() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")


def one_thread() -> AbstractContextManager[Any]:
    """Holds matrix products to one thread; takes some microseconds."""
    limited: AbstractContextManager[Any] = _matrix_libraries().limit(limits=1)
    return limited
