"""The projection of the paper tier: what it multiplies by what."""

from __future__ import annotations

import time

import numpy as np
import pytest
from benchmarks.paper_tier import STEPS, Phase, Watch, main

from sessions import MemorySession


def test_a_phase_is_its_steps_and_its_observations() -> None:
    phase = Phase(steps=1000, observations=20, made=100, advance_s=0.2, seen=4, observe_s=0.4)
    assert phase.step_s == pytest.approx(0.002)
    assert phase.seconds == pytest.approx(1000 * 0.002 + 20 * 0.1)
    assert Phase(steps=1000, observations=20).seconds == 0.0


def test_a_watched_loop_is_cut_short_and_knows_the_whole() -> None:
    state, watch = np.zeros(1), Watch()

    def advance(start: int, stop: int) -> None:
        state[0] += stop - start
        began = time.process_time()
        while time.process_time() - began < 1e-4 * (stop - start):
            pass

    series = watch.train(
        MemorySession((0,)),
        "only",
        steps=10_000,
        state={"x": state},
        advance=advance,
        observe=lambda _step: {"x": float(state[0])},
        observe_at=range(0, 10_001, 100),
    )
    phase = watch.phases["only"]
    assert state[0] == STEPS
    assert series["x"].steps[-1] == STEPS
    assert (phase.steps, phase.observations) == (10_000, 101)
    assert phase.step_s == pytest.approx(1e-4, rel=0.5)
    assert phase.seconds == pytest.approx(10_000 * phase.step_s, rel=0.2)


def test_an_unknown_paper_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["nobody2020"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
