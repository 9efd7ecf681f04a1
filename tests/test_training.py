import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from miniatures import write_paper
from reproaudit.audit.catalog import Catalog
from reproaudit.cell import THREAD_VARIABLES
from reproaudit.errors import UsageError
from reproaudit.lab import training
from reproaudit.lab.seeds import generator, torch_generator
from reproaudit.lab.training import train
from reproaudit.records import Series
from reproaudit.run import devices
from reproaudit.run.devices import pick_device
from reproaudit.service import run as run_command
from reproaudit.store.records import Store
from sessions import Killed, MemorySession


class Noisy:
    """Noisy descent on ½‖w‖² with every kind of state that `train` can restore."""

    def __init__(self, bits: str = "PCG64") -> None:
        self.array = generator(0, "init").normal(size=4)
        self.layer = torch.nn.Linear(3, 1)
        with torch.no_grad():
            for p in self.layer.parameters():
                p.copy_(torch.randn(p.shape, generator=torch_generator(0, "layer")))
        self.optimizer = torch.optim.Adam(self.layer.parameters(), lr=0.05)
        self.tensor = torch.ones(2, requires_grad=True)
        self.numpy_rng = np.random.Generator(getattr(np.random, bits)(1))
        self.torch_rng = torch_generator(0, "noise")
        self.calls: list[tuple[int, int]] = []
        self.interrupt: signal.Signals | None = None

    @property
    def state(self) -> dict[str, training.Stateful]:
        return {
            "array": self.array,
            "layer": self.layer,
            "optimizer": self.optimizer,
            "tensor": self.tensor,
            "numpy": self.numpy_rng,
            "torch": self.torch_rng,
        }

    def advance(self, start: int, stop: int) -> None:
        self.calls.append((start, stop))
        if start == 30 and self.interrupt:
            os.kill(os.getpid(), self.interrupt)
        for _ in range(start, stop):
            self.array -= 0.1 * (self.array + self.numpy_rng.normal(size=4))
            x = torch.randn(5, 3, generator=self.torch_rng)
            self.optimizer.zero_grad()
            loss = (self.layer(x) - x.sum(1, keepdim=True)).square().mean()
            loss.backward()
            self.optimizer.step()
            with torch.no_grad():
                self.tensor.mul_(0.99).add_(torch.randn(2, generator=self.torch_rng), alpha=0.01)

    def observe(self, step: int) -> Mapping[str, Any]:
        return {
            "norm": float(np.linalg.norm(self.array)),
            "weights": self.layer.weight.detach().numpy().ravel(),
            "tensor": self.tensor.detach().numpy(),
        }

    def train(self, session: MemorySession, chunk: int = 10) -> dict[str, Series]:
        more: dict[str, Any] = {"observe_at": [0, 7, 25, 60], "chunk": chunk}
        return phase(session, self.advance, self.observe, steps=60, state=self.state, **more)


def phase(
    session: MemorySession,
    advance: Any = lambda _start, _stop: None,
    observe: Any = lambda _step: {},
    **more: Any,
) -> dict[str, Series]:
    """Trains; without other words, ten steps that change nothing and are not observed."""
    options = {"steps": 10, "state": {}, "observe_at": [], **more}
    return train(session, "p", advance=advance, observe=observe, **options)


def assert_same(one: Mapping[str, Series], other: Mapping[str, Series]) -> None:
    assert one.keys() == other.keys()
    for name, series in one.items():
        assert series.steps == other[name].steps
        np.testing.assert_array_equal(series.values, other[name].values)


def test_draw_number_k_depends_on_seed_purpose_and_k_alone():
    def torch_draw(*arguments: Any) -> list[float]:
        return torch.randn(4, generator=torch_generator(*arguments)).tolist()

    def numpy_draw(*arguments: Any) -> list[float]:
        return generator(*arguments).normal(size=4).tolist()

    others = [(3, "data", 6), (4, "data", 5), (3, "init", 5), (2**40, "data", 5)]
    for draw in (torch_draw, numpy_draw):
        assert draw(3, "data", 5) == draw(3, "data", 5)
        assert len({tuple(draw(*one)) for one in [(3, "data", 5), *others]}) == 5
    with pytest.raises(ValueError, match="non-negative"):
        generator(-1, "data")


def test_pieces_cover_every_step_once_and_cross_no_border():
    noisy = Noisy()
    series = noisy.train(MemorySession())
    assert series["norm"].steps == (0, 7, 25, 60)
    assert (series["norm"].values.shape, series["weights"].values.shape) == ((4,), (4, 3))
    assert [step for start, stop in noisy.calls for step in range(start, stop)] == list(range(60))
    for start, stop in noisy.calls:
        for border in [7, 25, *range(10, 60, 10)]:
            assert not start < border < stop


@settings(max_examples=12)
@given(chunk=st.integers(1, 80))
def test_numbers_do_not_depend_on_how_steps_are_cut(chunk):
    assert_same(Noisy().train(MemorySession(), chunk=chunk), Noisy().train(MemorySession()))


@settings(max_examples=15)
@given(
    cuts=st.lists(st.integers(0, 60), max_size=4),
    bits=st.sampled_from(["PCG64", "MT19937", "Philox", "SFC64", "PCG64DXSM"]),
)
def test_resumed_after_kills_gives_the_same_bits(cuts, bits):
    whole = Noisy(bits)
    expected = whole.train(MemorySession())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training, "CHECKPOINT_SECONDS", 0.0)
        session = MemorySession()
        for cut in cuts:
            session.cut = cut
            with suppress(Killed):
                Noisy(bits).train(session)
        session.cut = None
        last = Noisy(bits)
        assert_same(last.train(session), expected)
    np.testing.assert_array_equal(last.array, whole.array)
    np.testing.assert_array_equal(last.numpy_rng.normal(size=3), whole.numpy_rng.normal(size=3))


def test_a_finished_phase_is_restored_and_not_trained_again():
    session = MemorySession()
    first, second = Noisy(), Noisy()
    assert_same(first.train(session), second.train(session))
    assert second.calls == []
    np.testing.assert_array_equal(second.array, first.array)


@pytest.mark.parametrize("data", [b"", b"half a checkpoint", b"PK\x03\x04 torn"])
def test_a_torn_checkpoint_costs_its_phase_only(data, caplog):
    session = MemorySession(kept={"p": data})
    assert_same(Noisy().train(session), Noisy().train(MemorySession()))
    assert "starts anew" in caplog.text


def test_a_checkpoint_of_another_shape_is_not_restored(caplog):
    session = MemorySession()
    geometric(session, [0.5])
    assert geometric(session, [0.5, 0.5])["loss"].values.shape == (5, 2)
    assert "another state" in caplog.text


def geometric(session: MemorySession, factors: list[float]) -> dict[str, Series]:
    w = np.ones(len(factors))

    def advance(start: int, stop: int) -> None:
        with np.errstate(over="ignore", invalid="ignore"):
            for _ in range(start, stop):
                w[:] = w * np.array(factors)

    def observe(_step: int) -> Mapping[str, Any]:
        with np.errstate(over="ignore", invalid="ignore"):
            loss = np.where(np.isinf(w), np.nan, w)
        return {"loss": loss}

    more: dict[str, Any] = {"observe_at": range(0, 41, 10), "steps": 40}
    return phase(session, advance, observe, state={"w": w}, **more)


def test_a_non_finite_observation_ends_the_phase_and_is_kept():
    session = MemorySession()
    found = geometric(session, [1e20])
    assert found["loss"].steps == (0, 10, 20)
    assert np.isfinite(found["loss"].values).ravel().tolist() == [True, True, False]
    assert_same(geometric(session, [1e20]), found)  # from the finished phase's checkpoint


def test_a_phase_that_diverges_after_it_was_cut_off_is_finished():
    session = MemorySession(cut=5)
    with pytest.MonkeyPatch.context() as patch, suppress(Killed):
        patch.setattr(training, "CHECKPOINT_SECONDS", 0.0)
        geometric(session, [1e20])
    session.cut = None
    found = geometric(session, [1e20])
    assert found["loss"].steps == (0, 10, 20)
    session.told.clear()
    assert_same(geometric(session, [1e20]), found)
    assert session.told == [("p", 20, 40)]


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"observe_at": [-1]}, ValueError, "outside the steps 0 to 10"),
        ({"observe_at": [0, 11]}, ValueError, "outside the steps 0 to 10"),
        ({"chunk": 0}, ValueError, "a chunk of 0 steps"),
        ({"state": {"w": [1.0]}}, TypeError, "state 'w' is a list"),
    ],
)
def test_what_cannot_be_trained_is_refused_before_training(options, error, says):
    with pytest.raises(error, match=says):
        phase(MemorySession(), lambda _start, _stop: pytest.fail("trained"), **options)


def clocked(seconds_per_step: float) -> tuple[list[tuple[int, int]], list[float]]:
    """Pieces and the moments of checkpoints of a phase of 300 steps on a simulated clock."""
    now = [0.0]
    pieces: list[tuple[int, int]] = []
    saves: list[float] = []

    class Session(MemorySession):
        def save(self, phase: str, checkpoint: bytes) -> None:
            saves.append(now[0])

    def advance(start: int, stop: int) -> None:
        pieces.append((start, stop))
        now[0] += seconds_per_step * (stop - start)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "monotonic", lambda: now[0])
        phase(Session(), advance, steps=300)
    return pieces, saves


@pytest.mark.parametrize("seconds_per_step", [1e-4, 0.03, 0.4, 1.5, 4.0])
def test_never_more_than_ten_seconds_of_training_are_lost(seconds_per_step):
    pieces, saves = clocked(seconds_per_step)
    gaps = np.diff([0.0, *saves])
    assert gaps.max() <= 10.0
    longest = max(stop - start for start, stop in pieces) * seconds_per_step
    assert longest <= max(training.PIECE_SECONDS, seconds_per_step)
    if seconds_per_step == 1e-4:  # quick steps are cut the same by every run
        stops = [1, 2, 4, 8, 16, 32, 64, 100, 200, 300]
        assert pieces == list(zip([0, *stops], stops, strict=False))
        assert len(saves) == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_is_held_back_until_the_state_is_whole(number):
    session = MemorySession()
    first, second = Noisy(), Noisy()
    first.interrupt = number
    before = signal.getsignal(number)
    with pytest.raises(KeyboardInterrupt):
        first.train(session)
    assert signal.getsignal(number) is before
    assert_same(second.train(session), Noisy().train(MemorySession()))
    assert second.calls[0][0] == 40


def test_devices(monkeypatch):
    assert pick_device("cpu") == "cpu"
    assert pick_device("auto") == ("cuda" if torch.cuda.is_available() else "cpu")
    with pytest.raises(UsageError, match="Use auto, cpu or cuda"):
        pick_device("tpu")
    monkeypatch.setattr(devices, "has_driver", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert pick_device("auto", lambda: False) == "cpu"
    assert pick_device("auto", lambda: True) == pick_device("cuda", lambda: False) == "cuda"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(UsageError, match="finds no CUDA card"):
        pick_device("cuda")


@pytest.mark.parametrize(
    ("more", "wish", "wanted"),
    [
        ("", "auto", ("cpu", 7)),
        ("import torch", "auto", ("cuda", 1)),
        ("", "cuda", ("cuda", 1)),
        ("import torch", "cpu", ("cpu", 7)),
    ],
)
def test_by_default_a_card_is_taken_for_torch_alone(tmp_path, monkeypatch, more, wish, wanted):
    """Other modules have all cores, and the records that they had before there was a card."""
    write_paper(tmp_path)
    module = tmp_path / "mini.py"
    module.write_text(f"{module.read_text()}{more}\n")
    entry = Catalog(tmp_path)["mini"]
    how: dict[str, Any] = {}
    monkeypatch.setattr(devices, "has_driver", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(run_command, "available_cores", lambda: 7)
    monkeypatch.setattr(run_command, "run_cells", lambda *_, **given: how.update(given))
    papers = [(entry, entry.audit())]
    run_command.How(Store(tmp_path / "runs"), wish).run([], papers, lambda _event: None)
    assert (how["device"]["mini"], how["jobs"]) == wanted


def test_threads_reach_torch_numba_and_new_processes():
    """Where Numba was imported with as many threads as there are cores, and starts them."""
    program = (
        "import torch, numba, os; torch.get_num_threads();"
        "from reproaudit.run.devices import use_threads; use_threads(1);"
        "import numba, torch; numba.njit(lambda: 0)(); print(numba.get_num_threads(),"
        "torch.get_num_threads(), os.environ['OMP_NUM_THREADS']); use_threads(1)"
    )
    unlimited = {name: one for name, one in os.environ.items() if name not in THREAD_VARIABLES}
    command = [sys.executable, "-c", program]
    done = subprocess.run(
        command, env=unlimited, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.split() == ["1", "1", "1"]
