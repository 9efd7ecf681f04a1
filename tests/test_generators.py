"""What a module draws from the generators of its process depends on its cell alone."""

import json
import logging
import random
import shutil
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

from cells import InProcess, cell, locate, numbers, records, start
from reproaudit.lab import training
from reproaudit.run.cells import run_cells
from reproaudit.run.events import Progress
from reproaudit.run.generators import restored, seed_generators, with_states
from reproaudit.store.records import Store

STEPS: dict[str, Any] = {"steps": 20}
SLOW: dict[str, Any] = {"steps": 60, "pause": 0.01}
SEEDS = 3
TIMEOUT = 120


def drawn() -> list[float]:
    return [random.random(), random.gauss(0, 1), np.random.normal(), float(torch.randn(()))]


@pytest.fixture(autouse=True)
def as_they_were() -> Iterator[None]:
    kept = with_states(b"")
    yield
    restored(kept)


def test_each_cell_draws_its_own_numbers_beside_whichever_others(tmp_path):
    together, alone = Store(tmp_path / "together"), Store(tmp_path / "alone")
    wanted = [cell("chance", seed, **STEPS) for seed in range(SEEDS)]
    run_cells(wanted, locate, together, jobs=2)
    for one in reversed(wanted):
        drawn()
        run_cells([one], locate, alone, executor=InProcess())
    found, others = numbers(together), numbers(alone)
    for one in (*found.values(), *others.values()):
        del one["measurements"]["arrays"]["order"]  # of sets, which this process orders otherwise
    assert found == others
    firsts = {tuple(one["measurements"]["series"]["first"]["values"][0]) for one in found.values()}
    assert len(firsts) == SEEDS


@pytest.mark.parametrize(("phase", "done"), [("first", 7), ("first", 20), ("second", 14)])
def test_a_cell_that_was_cut_off_draws_what_it_would_have_drawn(tmp_path, monkeypatch, phase, done):
    monkeypatch.setattr(training, "CHECKPOINT_SECONDS", 0.0)
    stores = Store(tmp_path / "calm"), Store(tmp_path / "cut")
    wanted = [cell("chance", **STEPS)]

    class Cut(BaseException):
        pass

    def cut(event: object) -> None:
        if isinstance(event, Progress) and (event.phase, event.done) == (phase, done):
            raise Cut

    monkeypatch.setattr("reproaudit.run.worker.PROGRESS_SECONDS", 0.0)
    run_cells(wanted, locate, stores[0], executor=InProcess())
    with pytest.raises(Cut):
        run_cells(wanted, locate, stores[1], on_event=cut, executor=InProcess())
    run_cells(wanted, locate, stores[1], executor=InProcess())
    assert numbers(stores[0]) == numbers(stores[1])


@pytest.mark.parametrize(
    ("experiment", "jobs", "kills"),
    [
        ("chance", 2, 3),
        ("sums", 1, 1),
        pytest.param("chance", 1, 60, marks=pytest.mark.slow),
        pytest.param("chance", 2, 60, marks=pytest.mark.slow),
    ],
)
def test_kills_change_no_bit_of_what_is_drawn_and_summed(tmp_path, experiment, jobs, kills):
    """Nor do jobs: the last bits of a sum depend on the number of threads."""
    calm, rough = Store(tmp_path / "calm"), Store(tmp_path / "rough")
    wanted = [cell(experiment, seed, **SLOW) for seed in range(SEEDS)]
    run_cells(wanted, locate, calm, jobs=SEEDS)
    moments = random.Random(jobs)
    options = ["--experiment", experiment, "--seeds", str(SEEDS), "--jobs", str(jobs)]
    for name, value in SLOW.items():
        options += [f"--{name}", str(value)]
    killed = 0
    while killed < kills:
        process = start(rough.root, *options)
        assert process.stdout is not None
        if any(line.startswith("Progress") for line in process.stdout):
            time.sleep(moments.uniform(0.0, 0.6))
        killed += process.poll() is None
        process.kill()
        process.communicate(timeout=TIMEOUT)
        if len(records(rough)) == SEEDS:
            assert numbers(rough) == numbers(calm)
            shutil.rmtree(rough.root)
    run_cells(wanted, locate, rough, jobs=jobs)
    assert numbers(rough) == numbers(calm)


def test_states_come_back_with_a_checkpoint_and_are_numbers_alone():
    seed_generators("toy2020", "chance", 1)
    drawn()
    kept = with_states(b"anything\n\x00")
    wanted = drawn()
    seed_generators("toy2020", "chance", 2)
    assert drawn() != wanted
    assert restored(kept) == b"anything\n\x00"
    assert drawn() == wanted


def test_a_checkpoint_of_an_earlier_version_leaves_the_generators_alone():
    kept = with_states(b"")
    wanted = drawn()
    restored(kept)
    assert restored(b"PK and more") == b"PK and more"
    assert drawn() == wanted


BEYOND = json.dumps(
    {
        "python": random.getstate(),
        "numpy": {"bit_generator": "MT19937", "state": {"key": [1] * 624, "pos": 10**6}},
    }
)
"""Numbers that NumPy would read beyond its own."""


@pytest.mark.parametrize("states", ["[]", "nothing", "[" * 10**5, BEYOND])
def test_states_that_cannot_be_restored_leave_all_as_they_were(states, caplog):
    kept = with_states(b"")
    head = kept.partition(b"{")[0]
    wanted = drawn()
    restored(kept)
    with caplog.at_level(logging.WARNING):
        assert restored(head + states.encode() + b"\nmodel") is None
    assert "its phase starts anew" in caplog.text
    assert drawn() == wanted


def test_a_generator_that_a_cell_exchanged_is_not_the_next_cells():
    seed_generators("toy2020", "chance", 1)
    wanted = drawn()
    np.random.set_bit_generator(np.random.PCG64(1))
    seed_generators("toy2020", "chance", 1)
    assert drawn() == wanted
