"""The training loop, which can be cut off at any moment and goes on to the same bits.

Three rules make a resumed run give the same bits as one that was never cut off:

* Random numbers are *stateless*: draw number k is a function of (seed, purpose, k) alone
  (`reproaudit.lab.seeds`), so nothing has to be replayed.
* What changes during training is named in ``state`` and restored in place.
* ``advance(start, stop)`` gives the same numbers however the steps are cut into calls: it has no
  optimiser state of its own, and no generator that is not in ``state``. A call never crosses an
  observation, nor a multiple of ``chunk``; where steps are slow they are cut further, by time.

A checkpoint (state, step and observations) is kept every few seconds, at the end of the phase and
on the first Ctrl-C or SIGTERM, which then raises KeyboardInterrupt. A kill costs at most 10 s of
training unless one step or observation takes longer. A finished phase is not trained again: its
state is restored to the end and its observations are returned.

An observation that is not finite ends the phase; it is kept, so that the run counts as diverged,
and no later ones are made.
"""

from __future__ import annotations

import bisect
import io
import logging
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from reproaudit.lab.experiment import Session
from reproaudit.records import Series

_log = logging.getLogger(__name__)

CHECKPOINT_SECONDS = 5.0
"""A running phase is checkpointed at the first border after this long."""

PIECE_SECONDS = 2.0
"""No call of ``advance`` is planned to take longer: with the line above, 10 s are lost at most."""

Stateful = (
    NDArray[Any]
    | torch.Tensor
    | torch.nn.Module
    | torch.optim.Optimizer
    | torch.Generator
    | np.random.Generator
)
"""Anything that training changes.

Arrays and tensors are restored in place, the rest by its own state.
"""

Observation = Mapping[str, float | NDArray[Any]]


# --------------------------------------------------------------------------------- saved state


def _pack(value: Any) -> Any:
    """Turns NumPy arrays, also nested in dicts, into tensors, which load without pickled code."""
    if isinstance(value, np.ndarray):
        return torch.from_numpy(np.array(value, order="C"))  # a copy, writable and contiguous
    if isinstance(value, dict):
        return {key: _pack(one) for key, one in value.items()}
    return value


def _unpack(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.numpy()
    if isinstance(value, dict):
        return {key: _unpack(one) for key, one in value.items()}
    return value


def _snapshot(value: Stateful) -> Any:
    if isinstance(value, np.ndarray):
        return _pack(value)
    if isinstance(value, np.random.Generator):
        return _pack(value.bit_generator.state)
    if isinstance(value, torch.Generator):
        return value.get_state()
    if isinstance(value, torch.Tensor):
        return value.detach().to("cpu", copy=True)  # of a view, its own part only
    return value.state_dict()


def _same_layout(value: Stateful, saved: Any) -> bool:
    """True if a saved array fits; the other kinds check their state when they load it."""
    if isinstance(value, np.ndarray):
        return bool(saved.numpy().dtype == value.dtype and tuple(saved.shape) == value.shape)
    if isinstance(value, torch.Tensor):
        return bool(saved.dtype == value.dtype and saved.shape == value.shape)
    return True


def _restore(value: Stateful, saved: Any) -> None:
    if isinstance(value, np.ndarray):
        value[...] = saved.numpy()
    elif isinstance(value, np.random.Generator):
        value.bit_generator.state = _unpack(saved)
    elif isinstance(value, torch.Generator):
        value.set_state(saved)
    elif isinstance(value, torch.Tensor):
        with torch.no_grad():
            value.copy_(saved)
    else:
        value.load_state_dict(saved)


def _check_stateful(state: Mapping[str, Stateful]) -> None:
    kinds = (
        np.ndarray,
        np.random.Generator,
        torch.Tensor,
        torch.nn.Module,
        torch.optim.Optimizer,
        torch.Generator,
    )
    for name, value in state.items():
        if not isinstance(value, kinds):
            raise TypeError(f"state '{name}' is a {type(value).__name__}, which cannot be restored")


# ------------------------------------------------------------------------------------ the loop


@dataclass
class _Progress:
    """The progress within a phase: what a checkpoint holds beside the state."""

    step: int = 0
    finished: bool = False
    seconds_per_step: float = 0.0
    observed: dict[str, dict[int, NDArray[np.float64]]] = field(default_factory=dict)

    def add(self, observation: Observation) -> None:
        """Keeps an observation; one that is not finite ends the phase."""
        for name, value in observation.items():
            array = np.array(value, dtype=np.float64)
            if not np.isfinite(array).all():
                self.finished = True
            self.observed.setdefault(name, {})[self.step] = array

    def series(self) -> dict[str, Series]:
        return {
            name: Series(steps=tuple(by_step), values=np.stack(list(by_step.values())))
            for name, by_step in self.observed.items()
        }

    def packed(self) -> dict[str, Any]:
        return {
            "step": self.step,
            "finished": self.finished,
            "seconds_per_step": self.seconds_per_step,
            "observed": {name: _pack(by_step) for name, by_step in self.observed.items()},
        }

    @staticmethod
    def unpacked(saved: Mapping[str, Any]) -> _Progress:
        return _Progress(
            step=saved["step"],
            finished=saved["finished"],
            seconds_per_step=saved["seconds_per_step"],
            observed={name: _unpack(by_step) for name, by_step in saved["observed"].items()},
        )


def _save(session: Session, phase: str, state: Mapping[str, Stateful], at: _Progress) -> None:
    buffer = io.BytesIO()
    values = {name: _snapshot(value) for name, value in state.items()}
    torch.save({"progress": at.packed(), "state": values}, buffer)
    session.save(phase, buffer.getvalue())


def _load(session: Session, phase: str, state: Mapping[str, Stateful]) -> _Progress | None:
    """Restores the last checkpoint, or returns None where there is none that can be read.

    A checkpoint torn by a power cut costs its phase, not the run. Nothing is restored before
    everything has been read and fits.
    """
    data = session.load(phase)
    if data is None:
        return None
    try:
        saved = torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
        progress = _Progress.unpacked(saved["progress"])
        values = saved["state"]
        fits = values.keys() == state.keys() and all(
            _same_layout(value, values[name]) for name, value in state.items()
        )
    except Exception as error:  # a torn file fails in any of a dozen ways
        _log.warning(
            "the checkpoint of phase '%s' cannot be read (%s); it starts anew", phase, error
        )
        return None
    if not fits:
        _log.warning("the checkpoint of phase '%s' is of another state; it starts anew", phase)
        return None
    for name, value in state.items():
        _restore(value, values[name])
    return progress


def _border(step: int, steps: int, chunk: int) -> int:
    """The end of the piece that starts at ``step``: at most the next multiple of ``chunk``.

    The first chunk goes by powers of two, so that slow steps are noticed after one of them. The
    borders depend on the step alone: a resumed run has the same ones.
    """
    if step < chunk:
        return min(1 << step.bit_length(), chunk, steps)
    return min((step // chunk + 1) * chunk, steps)


@contextmanager
def _stop_requests() -> Iterator[Callable[[], bool]]:
    """Holds back SIGINT and SIGTERM until a border, where the state is whole; a second one acts.

    Only the main thread receives signals; elsewhere nothing is held back.
    """
    received: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        if received:
            raise KeyboardInterrupt
        received.append(number)

    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    earlier = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    heard = [number for number, old in earlier.items() if old not in (signal.SIG_IGN, None)]
    for number in heard:
        signal.signal(number, note)
    try:
        yield lambda: bool(received)
    finally:
        for number in heard:
            signal.signal(number, earlier[number])
    if received:
        raise KeyboardInterrupt


def train(
    session: Session,
    phase: str,
    *,
    steps: int,
    state: Mapping[str, Stateful],
    advance: Callable[[int, int], None],
    observe: Callable[[int], Observation],
    observe_at: Iterable[int],
    chunk: int = 100,
) -> dict[str, Series]:
    """Train for a number of steps; return what was observed, by name, as (step, *observation).

    Args:
        session: where checkpoints are kept and progress is told.
        phase: the phase's name, unique within the experiment.
        steps: how many training steps, at least 0.
        state: everything that training changes, by name.
        advance: trains steps ``start`` to ``stop − 1``, by the rules at the head of this module.
        observe: measures at a step (0 = before training); it changes nothing in ``state``.
        observe_at: the steps to observe at, each from 0 to ``steps``, in any order.
        chunk: the most steps in one call of ``advance``.

    Raises:
        ValueError: on steps or a chunk out of range.
        TypeError: if something in ``state`` cannot be restored.
        KeyboardInterrupt: on Ctrl-C or SIGTERM, after the checkpoint.
    """
    if chunk < 1:
        raise ValueError(f"a chunk of {chunk} steps; it has at least 1")
    ordered = _observation_steps(observe_at, steps)
    stops = frozenset(ordered)
    _check_stateful(state)
    resumed = _load(session, phase, state)
    at = resumed or _Progress()
    session.progress(phase, at.step, steps)
    if at.finished:
        return at.series()
    if resumed is None and 0 in stops:
        at.add(observe(0))
    saved_at = time.monotonic()
    with _stop_requests() as stop_requested:
        while at.step < steps and not at.finished:
            _advance_piece(session, at, advance, _next_stop(at, ordered, steps, chunk))
            if at.step in stops:
                at.add(observe(at.step))
            session.progress(phase, at.step, steps)
            if stop_requested():
                _save(session, phase, state, at)
                raise KeyboardInterrupt
            if time.monotonic() - saved_at >= CHECKPOINT_SECONDS:
                _save(session, phase, state, at)
                saved_at = time.monotonic()
        at.finished = True
        _save(session, phase, state, at)
    return at.series()


def _observation_steps(observe_at: Iterable[int], steps: int) -> list[int]:
    stops = sorted({int(step) for step in observe_at})
    outside = [step for step in stops if not 0 <= step <= steps]
    if steps < 0 or outside:
        raise ValueError(f"observations at {outside} lie outside the steps 0 to {steps}")
    return stops


def _next_stop(at: _Progress, stops: Sequence[int], steps: int, chunk: int) -> int:
    stop = _border(at.step, steps, chunk)
    if at.seconds_per_step > 0:
        stop = min(stop, at.step + max(1, int(PIECE_SECONDS / at.seconds_per_step)))
    following = bisect.bisect_right(stops, at.step)
    return min([stop, *stops[following : following + 1]])


def _advance_piece(
    session: Session, at: _Progress, advance: Callable[[int, int], None], stop: int
) -> None:
    began = time.monotonic()
    advance(at.step, stop)
    if session.device == "cuda":
        torch.cuda.synchronize()  # else only the queueing is timed, and a checkpoint waits for it
    at.seconds_per_step = (time.monotonic() - began) / (stop - at.step)
    at.step = stop
