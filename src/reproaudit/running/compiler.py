"""When Numba compiles: at the first call of a function whose machine code is not in its cache."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def reported_compilation(report: Callable[[bool], None]) -> Iterator[None]:
    """Calls a function with True when Numba begins to compile, and with False when it has.

    Functions that a function calls are compiled within it; they are not reported again.
    """
    if "numba" not in sys.modules:  # what does not import it does not wait for it
        yield
        return
    from numba.core import event

    class Depth(event.Listener):
        """Counts the functions that are being compiled, one within another, or in threads."""

        def __init__(self) -> None:
            self._open = 0
            self._lock = threading.Lock()

        def on_start(self, _event: object) -> None:
            self._add(1)

        def on_end(self, _event: object) -> None:
            self._add(-1)

        def _add(self, one: int) -> None:
            with self._lock:
                before = self._open
                self._open += one
                if 0 in (before, self._open):
                    report(self._open > 0)

    with event.install_listener("numba:compile", Depth()):
        yield
