"""Modules that are imported when something of them is first used.

To import NumPy takes a good part of the time in which `reproaudit check` starts, and what only
reads audits never computes with it. Where functions alone use it, write
``from reproaudit.lazy import np``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias

__all__ = ["BoolArray", "FloatArray", "deferred", "np"]


class _Deferred:
    """Stands for a module; each of its names is looked up there once."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__"):  # what copies or inspects objects asks for these
            raise AttributeError(attribute)
        value = getattr(import_module(self._name), attribute)
        setattr(self, attribute, value)
        return value


def deferred(module: str) -> Any:
    """A stand-in for a module, which is imported with the first name that is asked of it."""
    return _Deferred(module)


if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
else:
    np = deferred("numpy")

BoolArray: TypeAlias = "NDArray[np.bool_]"
FloatArray: TypeAlias = "NDArray[np.float64]"
