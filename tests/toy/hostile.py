"""Experiments that do what none should: each must cost its own cell and nothing else."""

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from reproaudit.lab import Experiment, Measurements, Series, Session


@dataclass(frozen=True)
class Settings:
    size: int


NAP = 4_321
"""The seconds that the children of `beget` sleep, unless they are ended."""


class SilentError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


class OtherError(BaseException):
    pass


def good(size: float = 1.0, **more: Any) -> Measurements:
    return Measurements(**{"scalars": {"x": size}, "arrays": {"a": np.ones(4)}, **more})


def leave() -> None:
    os._exit(0)


def segfault() -> None:
    ctypes.string_at(0)


def loop() -> None:
    while True:
        time.sleep(0.01)


def eat() -> None:
    kept = []
    while True:
        kept.append(np.ones(10_000_000))


def eat_elsewhere() -> None:
    program = "import time; kept = b'x' * 800_000_000; time.sleep(60)"
    subprocess.run([sys.executable, "-c", program], check=True)


def copy() -> None:
    """Hold 320 MB, and fork a child that shares them and writes none."""
    kept = np.ones(40_000_000)
    child = os.fork()
    if not child:
        time.sleep(kept[0])
        os._exit(0)
    os.waitpid(child, 0)


def raises(error: BaseException) -> None:
    raise error


def scatter() -> None:
    print("this is no JSON")
    os.write(1, b"nor is this\n")
    os.chdir("/")


def shout() -> None:
    os.write(2, b"\x1b[2J\x07evil \xe2\x80")
    os.write(1, b"\xae\nhalf a line")


def flood() -> None:
    for _ in range(100):
        os.write(1, b"0123456789abcde\n" * 62_500)


def beget() -> None:
    subprocess.Popen(["sleep", str(NAP)])
    if os.fork() == 0:  # it has all that is open here
        time.sleep(NAP)
        os._exit(0)


def beget_and_leave() -> None:
    beget()
    os._exit(0)


def beget_and_loop() -> None:
    beget()
    loop()


def close_pipes() -> None:
    os.closerange(3, 64)


DEEDS: dict[str, Callable[[], None]] = {
    "leaves": leave,
    "segfaults": segfault,
    "aborts": os.abort,
    "eats": eat,
    "eats_elsewhere": eat_elsewhere,
    "interrupts": lambda: raises(KeyboardInterrupt()),
    "exits": lambda: sys.exit(0),
    "raises_other": lambda: raises(OtherError("other")),
    "raises_silent": lambda: raises(SilentError()),
    "raises_surrogate": lambda: raises(ValueError("\ud800")),
    "closes_pipes": close_pipes,
    "begets_and_leaves": beget_and_leave,
    "begets_and_loops": beget_and_loop,
    "begets": beget,
    "shouts": shout,
    "floods": flood,
    "good": lambda: None,
    "copies": copy,
    "scatters": scatter,
}
RESULTS: dict[str, Callable[[], Measurements]] = {
    "text": lambda: good(scalars={"x": "1.5"}),
    "complex": lambda: good(arrays={"a": np.ones(4, dtype=complex)}),
    "objects": lambda: good(arrays={"a": np.array([None] * 4)}),
    "shape": lambda: good(arrays={"a": np.ones((101, 4))}),
    "kind": lambda: Measurements(scalars={"x": 1.0, "a": 1.0}),
    "all_nan": lambda: good(float("nan"), arrays={"a": np.full(4, np.nan)}),
    "huge": lambda: good(1e308, arrays={"a": np.full(4, 1e308)}),
    "unbuilt": lambda: Measurements.model_construct(scalars=3, series={}, arrays={}),
    "unsendable": lambda: Measurements.model_construct(scalars={"x": lambda: 1}, series={}),
    "series": lambda: good(series={"a": Series(steps=(0,), values=np.ones((1, 4)))}, arrays={}),
}


def _measure(name: str) -> Callable[[Settings, Session], Measurements]:
    def measure(_settings: Settings, _session: Session) -> Measurements:
        DEEDS.get(name, lambda: None)()
        return RESULTS.get(name, good)()

    return measure


def _deaf(_settings: Settings, session: Session) -> Measurements:
    """Hears no request to end, and says when it has begun."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    session.progress("deaf", 1, 1)
    loop()
    return good()


EXPERIMENTS = {name: Experiment(Settings, _measure(name)) for name in (*DEEDS, *RESULTS)} | {
    "deaf": Experiment(Settings, _deaf)
}
