"""The experiments of ahn2023: training in both forms, distances, controls, resumption."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest
import torch

from reproaudit.audit.catalog import Catalog
from reproaudit.lab.settings import build_settings
from reproaudit.papers.ahn2023 import experiments, model, runs
from reproaudit.papers.ahn2023.experiments import EXPERIMENTS
from reproaudit.papers.ahn2023.fast import choice, kernel, recursion
from reproaudit.papers.ahn2023.fast.kernel_learner import KernelLearner
from reproaudit.papers.ahn2023.fast.learners import BatchedLearner, Schedule
from reproaudit.papers.ahn2023.fast.prompts import pack
from reproaudit.papers.ahn2023.measures import distance_to_identity
from reproaudit.papers.ahn2023.runs import RunTask
from reproaudit.records import Measurements
from reproaudit.running.devices import available_cores

SMALL = {"precision": "float64", "prompts": 300, "steps": 40, "halve_every": 15, "redraw_every": 7}


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """One thread for PyTorch: its products here are too small to share."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


class Memory:
    """A session that keeps checkpoints in memory."""

    device = "cpu"

    def __init__(self, *seeds: int) -> None:
        self.seeds = seeds
        self.kept: dict[str, bytes] = {}

    def load(self, phase: str) -> bytes | None:
        return self.kept.get(phase)

    def save(self, phase: str, checkpoint: bytes) -> None:
        self.kept[phase] = checkpoint

    def progress(self, phase: str, done: int, total: int) -> None:
        pass


def settings(experiment: str, **overrides: Any) -> Any:
    audit = Catalog()["ahn2023"].audit()
    values = audit.values_of(experiment, "smoke", {**SMALL, **overrides})
    return build_settings(EXPERIMENTS[experiment].settings, values)


def measure(experiment: str, *seeds: int, **overrides: Any) -> Mapping[int, Measurements]:
    return EXPERIMENTS[experiment].measure(settings(experiment, **overrides), Memory(*seeds))


@pytest.mark.parametrize("pairs", [3, 20])
@pytest.mark.parametrize("free", [True, False])
def test_shuffled_labels_give_the_same_loss_in_all_forms(pairs: int, free: bool) -> None:
    task = RunTask.of(5, pairs, settings("full", targets="shuffled"))
    rng = np.random.default_rng(0)
    A, B = rng.normal(0, 0.3, (2, 3, 5, 5))
    B *= free
    x, w, query, target = (rng.normal(size=s) for s in ((64, pairs, 5), (64, 5), (64, 5), (64, 5)))
    tensors = [torch.from_numpy(t) for t in (x, w, query, A, B, target)]
    plain = float(model.in_context_loss(*tensors))
    S = np.einsum("bni,bnj->bij", x, x) / pairs
    offset = ((target - w) * query).sum(1)
    minibatch = pack(S, w, query, offset)
    compiled = kernel.loss_and_gradient(minibatch, A, B if free else None)[0]
    arguments = (S, w, query, A, B, offset)
    fast = float(recursion.recursion_loss(*(torch.from_numpy(a) for a in arguments)))
    assert compiled == pytest.approx(plain, rel=1e-10)
    assert fast == pytest.approx(plain, rel=1e-10)
    drawn = task.minibatch(0).unpacked()
    assert np.abs(drawn[3]).max() > 0  # what the control draws has other targets than labels


@pytest.mark.parametrize(("free", "targets"), [(True, "own"), (False, "own"), (True, "shuffled")])
def test_seeds_together_train_as_each_does_alone(free: bool, targets: str) -> None:
    chosen = settings("full", b_matrices="free" if free else "zero", targets=targets)
    tasks = [RunTask.of(seed, 20, chosen) for seed in (0, 1, 2)]
    schedule = Schedule(0.05, 15, 7, (0.99, 0.9), 1e-8, 0.01, free)
    rng = np.random.default_rng(1)
    A, B = rng.normal(0, 0.01, (2, 3, 3, 5, 5))
    B *= free
    together = BatchedLearner([t.minibatch for t in tasks], A, B, schedule, "cpu")
    together.advance(0, 40)
    for i, task in enumerate(tasks):
        alone = KernelLearner(task.minibatch, A[i], B[i], schedule)
        alone.advance(0, 13)
        alone.advance(13, 40)
        for ours, theirs in zip(alone.matrices(), together.matrices(), strict=True):
            np.testing.assert_allclose(ours[0], theirs[i], rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("experiment", ["full", "depth"])
def test_several_seeds_on_one_session_measure_what_each_measures_alone(experiment: str) -> None:
    together = measure(experiment, 0, 3)
    for seed in (0, 3):
        alone = measure(experiment, seed)[seed]
        for name, series in alone.series.items():
            ours = together[seed].series[name]
            np.testing.assert_allclose(ours.values, series.values, rtol=1e-6, atol=1e-9)
        for name, array in alone.arrays.items():
            np.testing.assert_allclose(together[seed].arrays[name], array, rtol=1e-6, atol=1e-9)


def test_pieces_end_where_the_minibatch_or_the_learning_rate_changes() -> None:
    schedule = Schedule(0.1, 10, 4, (0.9, 0.9), 1e-8, 0.01, True)
    assert schedule.pieces(3, 13) == [(3, 4), (4, 8), (8, 10), (10, 12), (12, 13)]
    assert [schedule.rate(step) for step in (0, 9, 10, 25)] == [0.1, 0.1, 0.05, 0.025]


def test_the_distance_is_the_least_over_multiples_of_the_identity() -> None:
    rng = np.random.default_rng(2)
    M = rng.normal(size=(7, 5, 5))
    grid = np.linspace(-3, 3, 60_001)
    for one, distance in zip(M, distance_to_identity(M), strict=True):
        residuals = np.sqrt(
            (one**2).sum() - 2 * grid * np.trace(one) + 5 * grid**2
        ) / np.linalg.norm(one)
        assert distance == pytest.approx(residuals.min(), abs=1e-8)
    assert distance_to_identity(-2.5 * np.eye(5)[None])[0] == 0
    assert distance_to_identity(np.zeros((1, 5, 5)))[0] == 1


def test_another_run_s_covariance_is_far_even_from_a_perfect_preconditioner() -> None:
    """It is several times 0.1 away, as the audit's reason for that bound says."""
    distances = []
    for seed in range(50):
        task = RunTask.of(seed, 20, settings("sparse"))
        perfect = task.distances(-task.covariance.inverse[None])
        assert perfect["distance_a"][0] < 1e-6
        distances.append(float(perfect["distance_a_another"][0]))
    assert min(distances) > 0.3


def test_constructed_weights_take_the_place_of_training_after_the_first_observation() -> None:
    measured = measure("sparse", 4, weights="constructed")[4]
    loss = measured.series["loss"].values
    assert loss[0] == pytest.approx(5.0, rel=0.3)  # E (w·x)² = d, before training
    np.testing.assert_allclose(loss[1:], loss[1])
    assert loss[1] < loss[0] / 10
    assert (measured.series["distance_a"].values[1:] < 1e-6).all()


def test_the_validation_prompts_choose_the_model_that_is_tested() -> None:
    chosen = settings("full", checkpoints_kept=3, checkpoint_every=10)
    task = RunTask.of(0, 20, chosen)
    test = task.prompts("test").minibatch()
    good, better = task.constructed(3), (np.zeros((3, 5, 5)), np.zeros((3, 5, 5)))
    saved = np.array([np.stack(better), np.stack(good), np.full((2, 3, 5, 5), 1.0)])
    expected = choice.in_context_loss(test, *good)
    assert runs._best_saved(task, saved, test) == expected


def test_baselines_are_ordered_as_algebra_says() -> None:
    chosen = settings("depth", depths=(1, 2, 3), validation_prompts=3000, test_prompts=3000)
    rows = experiments.depth_baselines(RunTask.of(1, 20, chosen), chosen)
    for steps, row in enumerate(rows, start=1):
        plain, plain_own, preconditioned, own, _, released = row
        assert preconditioned < plain
        if steps == 1:  # one step has one size
            assert plain == pytest.approx(plain_own, rel=1e-5)
            assert preconditioned == pytest.approx(own, rel=1e-5)
        else:
            assert plain_own < plain
            assert own < preconditioned
        assert released > preconditioned  # fewer pairs, a coarser grid


def test_lengths_are_compared_with_least_squares_too() -> None:
    chosen = settings("context_length", validation_prompts=300, test_prompts=300)
    *descent, least_squares = experiments.length_baselines(RunTask.of(1, 20, chosen), 3)
    assert least_squares < 1e-10 < min(descent)  # without noise, 20 pairs determine w
    *_, of_two = experiments.length_baselines(RunTask.of(1, 2, chosen), 3)
    assert 1.0 < of_two < 5.0  # three of five directions stay unseen


MEASURE_ALL = """
import pickle, sys
import torch
from papers.test_ahn2023 import SMALL, measure
torch.set_num_threads(int(sys.argv[1]))
few = {**SMALL, "precision": "float32", "prompts": 2000, "test_prompts": 2000}
results = {
    (name, weights): measure(name, 1, **{**few, "validation_prompts": 2000, "weights": weights})[1]
    for name in ("sparse", "full", "depth", "context_length", "one_layer")
    for weights in ("trained", "constructed")
}
sys.stdout.buffer.write(pickle.dumps(results))
"""


@pytest.mark.skipif(available_cores() < 2, reason="one core only")
def test_no_bit_depends_on_the_number_of_threads() -> None:
    """Every experiment, trained and constructed, in processes of one and of two threads."""
    results = []
    for threads in ("1", "2"):
        variables = ("OMP", "MKL", "OPENBLAS", "NUMBA")
        environment = {**os.environ, **{f"{name}_NUM_THREADS": threads for name in variables}}
        environment["PYTHONPATH"] = os.pathsep.join(sys.path)
        command = [sys.executable, "-c", MEASURE_ALL, threads]
        ran = subprocess.run(command, env=environment, capture_output=True, check=True)
        results.append(pickle.loads(ran.stdout))
    one, two = results
    assert one.keys() == two.keys()
    for cell, measured in one.items():
        assert measured.scalars == two[cell].scalars, cell
        for name, series in measured.series.items():
            np.testing.assert_array_equal(two[cell].series[name].values, series.values)
        for name, array in measured.arrays.items():
            np.testing.assert_array_equal(two[cell].arrays[name], array)
