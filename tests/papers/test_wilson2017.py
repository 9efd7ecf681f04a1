"""Wilson's two solutions and Adam's limit in closed form, and the network's gradient."""

import numpy as np
import pytest

from reproaudit.audit.catalog import Catalog
from reproaudit.lab import AuditSettings, generator
from reproaudit.papers.wilson2017 import (
    EXPERIMENTS,
    Method,
    Network,
    choose,
    least_norm,
    measure_digits,
    measure_inclusion,
    measure_separable,
    separable,
    settings_of,
    sign_solution,
    squares,
)
from reproaudit.papers.wilson2017 import test_error as error_of

AUDIT = Catalog()["wilson2017"].audit()


def settings(experiment: str, **others: object) -> AuditSettings:
    return AuditSettings(**{**AUDIT.values_of(experiment, "paper"), **others})


@pytest.mark.parametrize("p", [0.6, 0.75])
def test_the_two_solutions_are_those_of_the_closed_forms(p):
    x, y = separable(60, p, generator(3, "labels"))
    plus, minus = (y > 0).sum(), (y < 0).sum()
    assert np.array_equal(x @ np.sign(x.T @ y), 4 * y)
    assert error_of(sign_solution(x, y)[None], p) == pytest.approx([1 - p])
    below = 8 * plus * minus + 15 * plus + 3 * minus + 5
    first, common = 8 * plus * minus + 5 * plus + minus, 5 * plus - minus
    assert least_norm(x, y)[:3] == pytest.approx(np.array([first, common, common]) / below)
    assert error_of(least_norm(x, y)[None], p) == pytest.approx([0])


def test_descent_of_momentum_ends_at_the_least_norm():
    x, y = separable(60, 0.75, generator(4, "labels"))
    gradient = squares(x, y, len(y), generator(4, "batches"), 4000)
    w = Method("momentum", 0.02, 0.9).descend(gradient, np.zeros((1, x.shape[1])), 4000)
    assert w[0] == pytest.approx(least_norm(x, y), abs=1e-9)


def test_adaptive_methods_end_along_the_signs():
    measured = measure_separable(settings("separable", steps=1500, chances=(0.75,)), 5)
    assert measured["error"][0] == pytest.approx([1, 1, 1])
    assert measured["along_signs"][0] == pytest.approx([1, 1, 1], abs=1e-3)


def test_adam_step_by_step():
    draw = np.random.default_rng(0)
    gradients, w, m, v = draw.standard_normal((5, 1, 3)), np.zeros((1, 3)), 0.0, 0.0
    for t, g in enumerate(gradients, 1):
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
        w = w - 0.1 * m / (1 - 0.9**t) / (np.sqrt(v / (1 - 0.999**t)) + 0.01)
    method = Method("adam", 0.1, 0.9, 0.999, 0.01)
    assert method.descend(lambda _, t: gradients[t - 1], np.zeros((1, 3)), 5) == pytest.approx(w)


def test_the_distance_from_momentum_falls_like_one_over_epsilon():
    far = measure_inclusion(settings("inclusion", epsilons=(1e4, 1e6)), 6)["distance"]
    assert far[0] / far[1] == pytest.approx(100, rel=1e-3)


def test_the_gradient_is_that_of_the_loss():
    network, draw = Network(4, 3), generator(7, "start")
    w = np.stack([network.start(draw), network.start(draw)]) + 0.1
    x, y = draw.random((6, 4)), draw.integers(10, size=6)
    along = draw.standard_normal(w.shape)
    step = 1e-6
    more, less = (network.judge(w + sign * step * along, x, y)[0] for sign in (1, -1))
    slope = (network.gradient(w, x, y) * along).sum(axis=1)
    assert (more - less) / (2 * step) == pytest.approx(slope, rel=1e-5)


def test_on_digits_adam_with_a_large_epsilon_is_momentum():
    limit = AUDIT.arms["as_momentum"].settings
    quick = AUDIT.values_of("digits", "quick")
    measured = measure_digits(AuditSettings(**{**quick, "steps": 100, **limit}), 8)
    assert measured["rival_error"] == pytest.approx(measured["momentum_error"], abs=1e-3)
    assert measured["rival_loss"] == pytest.approx(measured["momentum_loss"], rel=1e-2)


def test_momentum_is_in_the_space_of_rate_and_epsilon():
    s = settings("digits", epsilons=(1e-8, 0.01, 1.0))
    rate, epsilon = settings_of(s, True, generator(0, "trials"))
    momentum, _ = settings_of(s, False, generator(0, "trials"))
    large = epsilon == 1.0
    assert rate[large] * (1 - s.beta1) == pytest.approx(momentum[:, 0])
    assert len(settings_of(settings("digits", trials=3), True, generator(0, "trials"))[0]) == 3


def test_the_choice_is_by_training_loss_or_by_validation_error_then_its_loss():
    validation = (np.array([1.0, 3.0, 2.0]), np.array([0.2, 0.1, 0.1]))
    assert choose("training loss", np.array([0.1, 0.5, np.inf]), validation) == 0
    assert choose("validation", np.array([0.1, 0.5, np.inf]), validation) == 2


def test_the_quick_tier_has_all_digits_and_each_tier_says_what_stands_in():
    quick = AuditSettings(**AUDIT.values_of("digits", "quick"))
    assert quick.train_rows + quick.validation_rows + quick.test_rows == 1797
    stand_ins = [
        EXPERIMENTS["digits"].proxy(AuditSettings(**AUDIT.values_of("digits", tier)))
        for tier in ("quick", "paper")
    ]
    assert stand_ins == [
        "300 rows of scikit-learn's 8×8 digits and a small network in place of CIFAR-10 and VGG",
        "1,500 rows of MNIST and a small network in place of CIFAR-10 and VGG",
    ]
