"""Numba's compiler as papers use it: cached where that is possible, and on one BLAS thread."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cache
from typing import Any, TypeVar, cast

import numba
import scipy.linalg  # noqa: F401  loads the library behind compiled matrix products
from threadpoolctl import ThreadpoolController

CompiledFunction = TypeVar("CompiledFunction", bound=Callable[..., Any])


def compiled(**options: Any) -> Callable[[CompiledFunction], CompiledFunction]:
    """Compiles a function with Numba, cached on disk where a folder for it can be written.

    Division follows IEEE 754, since the check for a zero divisor keeps loops from vector form.

    Args:
        **options: for ``numba.njit``, in place of the defaults.
    """
    chosen = {"nogil": True, "error_model": "numpy", **options}

    def compile_it(function: CompiledFunction) -> CompiledFunction:
        try:
            made = numba.njit(cache=True, **chosen)(function)
        except RuntimeError:  # no cache folder can be written, neither beside the file nor at home
            made = numba.njit(**chosen)(function)
        return cast("CompiledFunction", made)

    return compile_it


@cache
def _matrix_libraries() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")


def one_thread() -> AbstractContextManager[Any]:
    """Holds matrix products to one thread for a ``with`` block; takes some microseconds."""
    limited: AbstractContextManager[Any] = _matrix_libraries().limit(limits=1)
    return limited
