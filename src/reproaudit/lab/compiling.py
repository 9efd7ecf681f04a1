"""Numba's compiler as papers use it: cached where that is possible, and on one BLAS thread.

Numba takes a cached function for valid while the file that defines it stays the same, whatever
happens to functions in other files that it calls. So the cache is a folder of the user's whose name
is a hash of all files of the paper, and never stands beside the source, where somebody else's
machine code could lie.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from pathlib import Path
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
        with _cached_in(machine_code_folder(function.__module__)) as kept:
            return cast("CompiledFunction", numba.njit(cache=kept, **chosen)(function))

    return compile_it


@cache
def machine_code_folder(module: str) -> Path:
    """Returns the folder for the machine code of a paper, as its files are now.

    Args:
        module: a module of the paper, loaded or being loaded, by its dotted name.
    """
    parts = module.split(".")
    root = sys.modules[".".join(parts[:3] if parts[0] == "reproaudit" else parts[:1])]
    place = Path(next(iter(getattr(root, "__path__", [])), None) or str(root.__file__))
    whole = hashlib.sha256()
    for file in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
        whole.update(f"{file.relative_to(place)}\n".encode() + file.read_bytes())
    base = os.environ.get("NUMBA_CACHE_DIR") or _user_cache() / "reproaudit" / "numba"
    return Path(base) / whole.hexdigest()[:32]


def _user_cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


@contextmanager
def _cached_in(folder: Path) -> Iterator[bool]:
    """Has Numba keep what is compiled in a folder; gives False where it cannot be written."""
    config: Any = numba.config
    before = config.CACHE_DIR
    try:
        folder.mkdir(parents=True, exist_ok=True)
        kept = os.access(folder, os.W_OK)
    except OSError:
        kept = False
    config.CACHE_DIR = str(folder)
    try:
        yield kept
    finally:
        config.CACHE_DIR = before


@cache
def _matrix_libraries() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")


def one_thread() -> AbstractContextManager[Any]:
    """Holds matrix products to one thread for a ``with`` block; takes some microseconds."""
    limited: AbstractContextManager[Any] = _matrix_libraries().limit(limits=1)
    return limited
