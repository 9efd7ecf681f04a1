"""Adam's closed forms on linear losses against its runs, and the audit's derived numbers."""

from functools import partial

import numpy as np
import pytest

from reproaudit.audit.catalog import Catalog
from reproaudit.lab import Array, AuditSettings, generator
from reproaudit.papers.reddi2018 import (
    SHORT_MEMORY,
    directions_of,
    measure_boundary,
    measure_play,
    sign_rule,
    slopes_of,
    turn,
    walk,
)

ONLINE = (1010, -10, 101)
BOUNDARY = turn(partial(sign_rule, *ONLINE, 0.9))
AUDIT = Catalog()["reddi2018"].audit()


def settings_of(experiment: str, **others: object) -> AuditSettings:
    return AuditSettings(**{**AUDIT.values_of(experiment, "smoke"), **others})


def round_by_round(slopes: Array, start: float, method: str, *, corrects_bias: bool) -> list[float]:
    """Algorithm 1 with eq. (1), as it is written, with α_t = 1/√t."""
    beta1, beta2, x, m, v = 0.9, 0.99, start, 0.0, 0.0
    points, seen = [], []
    for t, slope in enumerate(slopes, 1):
        points.append(x)
        m = beta1 * m + (1 - beta1) * slope
        v = beta2 * v + (1 - beta2) * slope**2
        seen.append(v)
        among = {"adam": [v], "amsgrad": seen, "forgetful": seen[-SHORT_MEMORY:]}
        divisor = max(among[method]) if method in among else np.mean(slopes**2)
        first = (1 - beta1**t) / np.sqrt(1 - beta2**t) if corrects_bias else 1.0
        x = min(1.0, max(-1.0, x - m / first / np.sqrt(divisor) / np.sqrt(t)))
    return points


PLAIN = [(method, False) for method in ("adam", "amsgrad", "forgetful", "sgd")]


@pytest.mark.parametrize(("method", "corrects_bias"), [*PLAIN, ("adam", True), ("amsgrad", True)])
def test_filters_give_what_the_algorithm_does(method, corrects_bias):
    slopes = slopes_of((*ONLINE, 0.01), "drawn", 1500, generator(3, "drawn"))
    steps = directions_of(slopes, 0.9, 0.99, method, corrects_bias) / np.sqrt(np.arange(1, 1501))
    expected = round_by_round(slopes, 0.3, method, corrects_bias=corrects_bias)
    assert walk(0.3, steps) == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize(("beta1", "beta2"), [(0.0, 0.9), (0.9, 0.99), (0.9, 0.9999)])
def test_the_sign_rule_is_the_sum_over_a_period(beta1, beta2):
    slopes = slopes_of((*ONLINE, 0.01), "cyclic", 101 * 3000, generator(0, "cyclic"))
    last = directions_of(slopes, beta1, beta2)[-101:]
    assert last.sum() == pytest.approx(sign_rule(*ONLINE, beta1, beta2), rel=1e-8)


def test_the_boundaries_that_are_known():
    assert pytest.approx(4.84e-4, rel=0.003) == BOUNDARY
    assert turn(partial(sign_rule, *ONLINE, 0.0)) == pytest.approx(3.97e-4, rel=0.003)
    assert turn(partial(sign_rule, 3, -1, 3, 0.0)) == pytest.approx(0.528, rel=0.003)
    assert sign_rule(*ONLINE, 0.9, 0.999) < 0 < sign_rule(*ONLINE, 0.9, 0.9999)


def test_the_derived_numbers_of_the_audit():
    beta2 = {name: 1 - AUDIT.arms[name].settings["beta2"] for name in ("half", "twice")}
    assert beta2 == pytest.approx({"half": BOUNDARY / 2, "twice": 2 * BOUNDARY}, rel=0.003)
    chosen = settings_of("chosen")
    least = [max(20, np.ceil(4 / np.sqrt(1 - beta2) - 1e-9)) for beta2 in chosen.beta2s]
    assert list(chosen.periods) == least
    quarters = [turn(partial(sign_rule, n, -1, n, 0.9)) / 4 for n in chosen.periods]
    assert 1 - np.array(AUDIT.arms["quarter"].settings["beta2s"]) == pytest.approx(
        quarters, rel=0.005
    )


def test_what_the_audit_says_of_amsgrads_rate():
    slopes = slopes_of((*ONLINE, 0.01), "cyclic", 101 * 100, generator(0, "cyclic"))
    largest = np.abs(slopes / directions_of(slopes, 0.0, 0.99, "amsgrad"))[-1]
    assert largest == pytest.approx(127, rel=0.005)
    assert 2 * 0.1 * np.sqrt(1e7) * slopes.mean() / largest == pytest.approx(0.5, rel=0.02)
    assert 1010 / largest == pytest.approx(8, rel=0.01)


def test_at_the_worst_point_regret_grows_by_twice_the_mean_slope():
    regret = measure_play(settings_of("play", rounds=1010000, rate=(1e-4, 0.0)), 0)["regret"]
    total = regret.values[:, 0] * regret.steps
    assert (total[-1] - total[49]) / 505000 == pytest.approx(20 / 101, rel=0.03)


def test_theorem_1_returns_to_the_worst_point():
    (claim,) = (claim for claim in AUDIT.claims if claim.id == "reddi2018.theorem-1")
    after = measure_play(settings_of("play", **claim.settings), 5)["after_period"]
    assert after.values[10:, 0] == pytest.approx(1)


def test_bisection_finds_the_boundary_of_the_sign_rule():
    measured = measure_boundary(settings_of("boundary", periods=1000), 0)
    assert measured["boundary"][0] == pytest.approx(measured["predicted"][0], rel=0.01)
