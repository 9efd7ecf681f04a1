"""What a paper's module may import instead of writing it: settings, an experiment, two readings."""

import copy
import pickle
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from reproaudit.cli import run_command
from reproaudit.lab import (
    AuditSettings,
    Series,
    experiment_of,
    first_crossing,
    mean_of_last,
    measure_movement,
)
from reproaudit.lab.settings import build_settings

SETTINGS = AuditSettings(steps=3, rate=0.5, widths=[1, 2], loss="own")


def test_settings_are_what_the_audit_declares():
    built = build_settings(
        AuditSettings, {"steps": 3, "rate": 0.5, "widths": [1, 2], "loss": "own"}
    )
    assert (built.steps, built.rate, built.widths, built.loss) == (3, 0.5, (1, 2), "own")
    assert built == SETTINGS
    assert hash(built) == hash(SETTINGS)
    assert built != AuditSettings(steps=4)
    assert built != 3
    assert copy.copy(built) == pickle.loads(pickle.dumps(built)) == SETTINGS
    assert repr(built) == "AuditSettings(steps=3, rate=0.5, widths=(1, 2), loss='own')"
    assert AuditSettings(self=1).self == 1


def test_an_unknown_setting_names_the_nearest_and_none_can_be_changed():
    with pytest.raises(AttributeError, match=r"no setting 'stepz'\. Did you mean 'steps'\?"):
        _ = SETTINGS.stepz
    with pytest.raises(AttributeError, match="cannot change the setting 'steps'"):
        SETTINGS.steps = 4
    with pytest.raises(AttributeError, match="cannot delete the setting 'steps'"):
        del SETTINGS.steps
    assert SETTINGS.steps == 3


def measured(values: Callable[[], Any]) -> Any:
    """What an experiment measures whose function gives these values."""
    session: Any = SimpleNamespace(seed=7)
    return experiment_of(lambda _settings, _seed: values()).measure(SETTINGS, session)


def test_values_are_sorted_into_scalars_series_and_arrays():
    course = Series(steps=(0, 1), values=np.array([2.0, 1.0]))
    found = measured(
        lambda: {"a": 1, "b": np.float32(0.5), "c": np.array(2.0), "d": [[1, 2]], "e": course}
    )
    assert found.scalars == {"a": 1.0, "b": 0.5, "c": 2.0}
    assert found.series == {"e": course}
    assert found.arrays["d"].tolist() == [[1.0, 2.0]]


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"a": "much"}, "'a' is 'much'; expected a number, an array or a Series"),
        ({"a": None}, "'a' is None; expected a number"),
        ({"a": 1j}, "'a' is 1j; expected a number"),
        ({"a": [[1], [1, 2]]}, "'a' is no array: its rows differ in length"),
        (None, "returned NoneType; expected its measurements by name"),
    ],
)
def test_what_is_no_measurement_is_one_line(values, says):
    with pytest.raises((TypeError, ValueError), match=says):
        measured(lambda: values)


def test_an_experiment_of_a_function_has_its_seed_stand_in_and_data():
    session: Any = SimpleNamespace(seed=7)
    made = experiment_of(
        lambda settings, seed: {"sum": settings.steps + seed},
        proxy=lambda settings: f"{settings.steps} digits",
        data=lambda _settings: {"digits": "abc"},
    )
    assert made.measure(SETTINGS, session).scalars == {"sum": 10.0}
    assert made.proxy(SETTINGS) == "3 digits"
    assert made.data(SETTINGS) == {"digits": "abc"}
    plain = experiment_of(lambda _settings, _seed: {})
    assert plain.proxy(SETTINGS) is None
    assert plain.data(SETTINGS) == {}
    assert plain.phases(SETTINGS) == {}
    assert not plain.has_plain_form


AUDIT = """\
schema_version: 3
paper: {slug: own2024, title: A sum of noise}
runs: {quick: 5, paper: 5, arms: 5}
settings:
  - {from: paper, at: Table 1, values: {draws: 50, shift: 2.0}}
experiments:
  noise:
    title: Draw numbers
    measurements:
      mean: {once: [], says: The mean of all draws.}
      drawn: {every_step: [], says: The running mean.}
    must_fail: [still]
arms:
  still: {settings: {shift: 0.0}, says: Nothing is added., words: no shift}
claims:
  shifted:
    says: The mean is above one.
    at: Figure 1
    holds_if: [{kind: reaches, value: mean, at_least: 1, from: paper, zero: 0}]
"""

MODULE = """\
import numpy as np
from reproaudit.lab import Series, experiment_of, generator, mean_of_last


def measure(settings, seed):
    draws = settings.shift + 0.1 * generator(seed, "draws").standard_normal(settings.{name})
    steps = np.arange(1, settings.draws + 1)
    running = np.cumsum(draws) / steps
    return {{"mean": mean_of_last(running), "drawn": Series(steps=steps, values=running)}}


EXPERIMENTS = {{"noise": experiment_of(measure)}}
"""


@pytest.mark.parametrize(
    ("name", "code", "says"),
    [("draws", 0, "The main claim holds, 5 of 5"), ("drawz", 3, "Did you mean 'draws'?")],
)
def test_a_module_of_one_function_runs_to_an_answer(tmp_path, capsys, name, code, says):
    (tmp_path / "own2024.yaml").write_text(AUDIT)
    (tmp_path / "own2024.py").write_text(MODULE.format(name=name))
    command = ["run", "own2024", "--audits", str(tmp_path), "--store", str(tmp_path / "store")]
    assert run_command([*command, "--trust", "--jobs", "1"]) == code
    told = capsys.readouterr()
    assert says in told.out + told.err


@pytest.mark.parametrize(
    ("values", "level", "step"),
    [
        ([0, 1, 3], 2, 15),
        ([3, 1, 0], 2, 5),
        ([0, 1, 3], 1, 10),
        ([2, 5, 0], 2, 0),
        ([0, 3, 0], 2, 20 / 3),
        ([0, 1, 1], 2, 20),
        ([0, 1, 2], 2, 20),
        ([0, 2, np.nan], 2, 10),
        ([0, np.nan, 3], 2, np.nan),
        ([0, np.inf, 3], 2, 0),
    ],
)
def test_the_first_crossing_lies_between_two_observations(values, level, step):
    found = first_crossing([0, 10, 20], values, level)
    assert found.shape == ()
    np.testing.assert_allclose(found, step)


def test_each_course_has_its_own_level_and_may_be_censored():
    rates = np.array([[0.05, 0.1], [0.2, 1e-6]])
    steps = np.arange(101)
    courses = 1 - np.exp(-rates * steps[:, None, None])
    found = first_crossing(steps, courses, np.array([0.5, 0.9]))
    expected = -np.log([[0.5, 0.1], [0.5, 0.1]]) / rates
    np.testing.assert_allclose(found, np.minimum(expected, 100), rtol=0.01)
    assert found[1, 1] == 100


def test_the_last_part_is_the_mean_of_its_observations():
    values = np.arange(40.0).reshape(20, 2)
    np.testing.assert_array_equal(mean_of_last(values), [37, 38])
    np.testing.assert_array_equal(mean_of_last(values, 1), values.mean(axis=0))
    assert mean_of_last([3.0, 5.0]) == 5
    for wrong in (0, -0.1, 1.5):
        with pytest.raises(ValueError, match="expected one above 0 and at most 1"):
            mean_of_last(values, wrong)
    with pytest.raises(ValueError, match="at least one observation"):
        mean_of_last([])


@pytest.mark.parametrize(("steps", "values"), [([], []), ([0, 1], [1]), ([[0]], [1]), ([0], 1)])
def test_courses_without_a_step_for_each_observation_are_refused(steps, values):
    with pytest.raises(ValueError, match="one observation a step"):
        first_crossing(steps, values, 1)


def test_steps_that_do_not_increase_are_refused():
    with pytest.raises(ValueError, match="do not increase"):
        first_crossing([0, 0], [1, 2], 1)


def test_movement_is_the_change_over_the_norm_at_the_start():
    moved = measure_movement([[3.0], [4.0]], [[6.0], [8.0]], [7.0], [3.5])
    assert moved == {"parameters_moved": 1.0, "training_loss_moved": 0.5}
