"""When Numba compiles: at the first call of a function whose machine code is not in its cache."""

from __future__ import annotations

import sys
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
        """Counts the functions that are being compiled, one within another: Numba has a lock."""

        depth = 0

        def on_start(self, _event: object) -> None:
            if not self.depth:
                report(True)
            self.depth += 1

        def on_end(self, _event: object) -> None:
            self.depth -= 1
            if not self.depth:
                report(False)

    with event.install_listener("numba:compile", Depth()):
        yield
