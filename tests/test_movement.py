"""How far training moved: the two numbers by which an inert control is found."""

from __future__ import annotations

import math

import numpy as np
import pytest

from reproaudit.audit.model import Movement
from reproaudit.judging.movement import is_inert
from reproaudit.lab import continued_steps, measure_movement


def test_parameters_of_all_models_count_as_one_vector() -> None:
    begin = [np.array([[3.0, 0.0]], np.float32), np.array([4.0])]
    end = [np.array([[3.0, 1.0]], np.float32), np.array([4.0])]
    found = measure_movement(begin, end, [2.0], [1.5])
    assert found == {"parameters_moved": pytest.approx(0.2), "training_loss_moved": 0.25}


def test_a_run_that_stands_still_has_moved_by_nothing() -> None:
    weights = [np.ones(3), np.zeros(2)]
    found = measure_movement(weights, weights, [0.7, 0.3], [0.7, 0.3])
    assert found == {"parameters_moved": 0.0, "training_loss_moved": 0.0}


def test_what_starts_at_zero_has_changed_by_one_or_not_at_all() -> None:
    zero = [np.zeros(3)]
    assert measure_movement(zero, zero, [1.0], [1.0])["parameters_moved"] == 0.0
    assert measure_movement(zero, [np.full(3, 1e-9)], [1.0], [1.0])["parameters_moved"] == 1.0


def test_losses_that_move_in_opposite_directions_do_not_cancel() -> None:
    moved = measure_movement([np.ones(1)], [np.ones(1)], [1.0, 1.0], [0.5, 1.5])[
        "training_loss_moved"
    ]
    assert moved == pytest.approx(0.5)


def test_a_diverged_run_is_not_taken_for_one_that_stood_still() -> None:
    zero = [np.zeros(1)]
    found = measure_movement(zero, [np.array([np.nan])], [1.0], [1.0])
    assert math.isnan(found["parameters_moved"])


def test_parameters_that_changed_their_shape_are_refused() -> None:
    with pytest.raises(ValueError, match="shape"):
        measure_movement([np.ones(3)], [np.ones(1)], [1.0], [1.0])
    with pytest.raises(ValueError, match="zip"):
        measure_movement([np.ones(3)], [], [1.0], [1.0])


def test_training_goes_on_for_a_tenth_of_its_steps_and_at_least_for_one() -> None:
    assert [continued_steps(steps) for steps in (30000, 3000, 20, 3)] == [3000, 300, 2, 1]


@pytest.mark.parametrize(
    ("moves", "inert"),
    [
        ([(1.0, 0.001), (1.0, 0.001), (1.0, 0.5)], True),
        ([(1.0, 0.001), (1.0, 0.5), (1.0, 0.001), (1.0, 0.5)], False),  # half of them trained
        ([(1.0, 0.5), (1.0, 0.5), (1.0, 0.001)], False),
    ],
)
def test_a_control_is_inert_if_most_of_its_runs_stood_still(
    moves: list[tuple[float, float]], inert: bool
) -> None:
    asked = Movement(parameters="moved", training_loss="loss_moved", at_least=0.01, reason="It is.")
    assert is_inert(asked, moves, None) is inert
    assert is_inert(asked, moves, "Its labels are noise.") is False  # the parameters moved
    assert is_inert(asked, [], None) is is_inert(None, moves, None) is None
