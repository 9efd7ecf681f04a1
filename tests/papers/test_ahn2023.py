"""The experiments of ahn2023: training in both forms, distances, controls, resumption."""

from __future__ import annotations

import math
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest
import torch

from papers.ahn2023_checks import unpacked
from reproaudit.audit.catalog import Catalog
from reproaudit.lab.settings import build_settings
from reproaudit.papers.ahn2023 import experiments, fast, model, training
from reproaudit.papers.ahn2023.experiments import EXPERIMENTS
from reproaudit.papers.ahn2023.fast import Minibatch
from reproaudit.papers.ahn2023.plain import Learner
from reproaudit.papers.ahn2023.task import distance_to_identity
from reproaudit.papers.ahn2023.training import RunTask
from reproaudit.records import Measurements
from reproaudit.running.cores import available_cores

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
    form = "fast"

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
def test_shuffled_labels_give_the_same_loss_in_both_forms(pairs: int, free: bool) -> None:
    task = RunTask.of(5, pairs, settings("full", targets="shuffled"))
    rng = np.random.default_rng(0)
    A, B = rng.normal(0, 0.3, (2, 3, 5, 5))
    B *= free
    x, w, query, target = (rng.normal(size=s) for s in ((64, pairs, 5), (64, 5), (64, 5), (64, 5)))
    tensors = [torch.from_numpy(t) for t in (x, w, query, A, B, target)]
    plain = float(model.in_context_loss(*tensors))
    S = np.einsum("bni,bnj->bij", x, x) / pairs
    minibatch = Minibatch.of(S, w, query, ((target - w) * query).sum(1))
    assert fast.loss_and_gradient(minibatch, A, B if free else None)[0] == pytest.approx(
        plain, rel=1e-10
    )
    drawn = task.minibatch(0)
    assert isinstance(drawn, Minibatch)
    assert np.abs(unpacked(drawn)[3]).max() > 0  # what the control draws has other targets


@pytest.mark.parametrize(("free", "targets"), [(True, "own"), (False, "own"), (True, "shuffled")])
def test_training_does_not_depend_on_how_its_steps_are_cut(free: bool, targets: str) -> None:
    chosen = settings("full", b_matrices="free" if free else "zero", targets=targets)
    task = RunTask.of(1, 20, chosen)
    rng = np.random.default_rng(1)
    A, B = rng.normal(0, 0.01, (2, 3, 5, 5))
    whole, cut = (Learner(fast.gradients, task.minibatch, (A, B * free), chosen) for _ in "ab")
    whole.advance(0, 40)
    for start, stop in ((0, 13), (13, 14), (14, 40)):
        cut.advance(start, stop)
    for ours, theirs in zip(whole.matrices(), cut.matrices(), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert whole.matrices()[1].any() == free


def test_the_learning_rate_is_halved_and_minibatches_are_redrawn_at_their_steps() -> None:
    chosen = settings("full", learning_rate=0.1, halve_every=10, redraw_every=4)
    task, drawn = RunTask.of(0, 20, chosen), []

    def draw(index: int) -> Any:
        drawn.append(index)
        return task.minibatch(index)

    learner = Learner(fast.gradients, draw, tuple(np.zeros((2, 1, 5, 5))), chosen)  # type: ignore[arg-type]
    assert [learner.rate(step) for step in (0, 9, 10, 25)] == [0.1, 0.1, 0.05, 0.025]
    learner.advance(0, 9)
    learner.advance(9, 13)
    assert drawn == [0, 1, 2, 3]


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
    chosen = settings("depth", checkpoints_kept=3, checkpoint_every=10)
    task = RunTask.of(0, 20, chosen)
    test = task.for_form(task.test_prompts())
    good, better = task.constructed(3), (np.zeros((3, 5, 5)), np.zeros((3, 5, 5)))
    saved = np.array([np.stack(better), np.stack(good), np.full((2, 3, 5, 5), 1.0)])
    assert training.chosen_loss(task, saved) == task.loss(test, good)


def test_models_are_saved_before_a_step_and_never_after_the_last() -> None:
    chosen = settings("depth", checkpoints_kept=3, checkpoint_every=10)
    model = training.train_model(Memory(0), "2 layers", RunTask.of(0, 20, chosen), 2)
    stands = settings("depth", checkpoints_kept=3, checkpoint_every=10, steps=20)
    after_20 = training.train_model(Memory(0), "2 layers", RunTask.of(0, 20, stands), 2)
    # 40 steps: saved after 10, 20 and 30, the first in the slot after that of step 0
    np.testing.assert_array_equal(model.saved[2], np.stack(after_20.end))
    assert not any((one == np.stack(model.end)).all() for one in model.saved)


@pytest.mark.parametrize("free", ["free", "zero"])
def test_training_goes_on_with_adams_moments_and_the_rate_of_the_start(free: str) -> None:
    """The same steps by hand: other minibatches, moments kept, halvings in proportion."""
    chosen = settings("full", b_matrices=free)
    session, task = Memory(2), RunTask.of(2, 20, chosen)
    model = training.train_model(session, "training", task, 3)
    last = training.continued_loss(session, task, model)
    # 40 steps, halved every 15: 4 more, halved every 2; a minibatch for each 7
    again = training.train_model(Memory(2), "training", task, 3).learner
    shorter = settings("full", b_matrices=free, halve_every=2)
    again.go_on(lambda index: task.minibatch(index, "continued minibatch"), shorter, 40)
    assert [again.rate(step) for step in range(40, 44)] == [
        chosen.learning_rate * part for part in (1, 1, 0.5, 0.5)
    ]
    again.advance(40, 44)
    assert last == task.loss(task.for_form(task.test_prompts()), again.matrices())
    assert last != model.series["loss"].values[-1]
    first, other = task.minibatch(0), task.minibatch(0, "continued minibatch")
    assert isinstance(first, Minibatch)
    assert isinstance(other, Minibatch)
    assert (first.data != other.data).any()


@pytest.mark.parametrize("diverged", [math.nan, math.inf, 1e200])
def test_a_seed_that_diverges_once_training_goes_on_has_not_diverged(
    diverged: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, task = Memory(2), RunTask.of(2, 20, settings("full"))
    model = training.train_model(session, "training", task, 3)
    monkeypatch.setattr(RunTask, "loss", lambda *_: diverged)
    last = training.continued_loss(session, task, model)
    assert last == training.DIVERGED_LOSS
    assert Measurements(scalars={"continued_loss": last}).finite


def test_going_on_leaves_what_was_measured_before_as_it_was() -> None:
    chosen = settings("full")
    alone = training.train_model(Memory(1), "training", RunTask.of(1, chosen.pairs, chosen), 3)
    whole = measure("full", 1)[1]
    np.testing.assert_array_equal(whole.series["loss"].values, alone.series["loss"].values)
    np.testing.assert_array_equal(whole.arrays["final_b"], alone.end[1][:-1])


def test_a_run_cut_off_while_it_goes_on_ends_with_the_same_loss() -> None:
    whole = measure("sparse", 6)[6]
    session = Memory(6)
    EXPERIMENTS["sparse"].measure(settings("sparse"), session)
    del session.kept[training.CONTINUED]  # cut off after training, before it went on
    resumed = EXPERIMENTS["sparse"].measure(settings("sparse"), session)[6]
    assert resumed.scalars == whole.scalars


def test_movement_is_that_of_all_models_on_the_first_minibatch() -> None:
    moved = measure("depth", 1)[1].scalars
    shuffled = measure("depth", 1, targets="shuffled")[1].scalars
    still = measure("depth", 1, learning_rate=0.0)[1].scalars
    assert still == {"parameters_moved": 0.0, "training_loss_moved": 0.0}
    assert min(moved["parameters_moved"], shuffled["parameters_moved"]) > 1
    assert moved["training_loss_moved"] > 0.01


def test_with_identity_weights_training_goes_to_the_printed_optimum() -> None:
    longer = {"steps": 1200, "halve_every": 400, "prompts": 2000}
    printed = measure("printed_optimum", 0, **longer)[0].series["distance_to_printed"].values[-1]
    other = measure("printed_optimum", 0, weight_law="inverse_covariance", **longer)[0]
    assert printed < 0.05 < 0.2 < other.series["distance_to_printed"].values[-1]
    built = measure("printed_optimum", 0, weights="constructed")[0].series
    assert built["distance_to_printed"].values[-1] < 1e-12
    assert built["excess_loss"].values[-1] == pytest.approx(1.0)
    with pytest.raises(ValueError, match="shuffled"):
        measure("printed_optimum", 0, targets="shuffled")


def test_baselines_are_ordered_as_algebra_says() -> None:
    chosen = settings("depth", depths=(1, 2, 3), validation_prompts=3000, test_prompts=3000)
    task = RunTask.of(1, 20, chosen)
    rows = [experiments.baseline_losses(task, chosen, steps) for steps in (1, 2, 3)]
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
    task = RunTask.of(1, 20, chosen)
    row = experiments.baseline_losses(task, chosen, 3, least_squares=True)
    *fair, least_squares, descent, preconditioned, released = row
    assert max(least_squares, released) < 1e-10  # without noise, 19 pairs determine w
    assert min(*fair, descent, preconditioned) > 1e-10
    task = RunTask.of(1, 2, chosen)
    *_, of_two, _, _, of_one = experiments.baseline_losses(task, chosen, 3, least_squares=True)
    assert 1.0 < of_two < of_one < 5.5  # three and four of five directions stay unseen


MEASURE_ALL = """
import pickle, sys
import torch
from papers.test_ahn2023 import EXPERIMENTS, SMALL, measure
torch.set_num_threads(int(sys.argv[1]))
few = {**SMALL, "precision": "float32", "prompts": 2000, "test_prompts": 2000}
chosen = {"depth": {"validation_prompts": 2000}, "context_length": {"validation_prompts": 2000}}
results = {
    (name, weights): measure(name, 1, **few, **chosen.get(name, {}), weights=weights)[1]
    for name in EXPERIMENTS
    for weights in ("trained", "constructed")
}
sys.stdout.buffer.write(pickle.dumps(results))
"""


@pytest.mark.slow
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
