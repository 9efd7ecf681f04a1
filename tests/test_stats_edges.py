"""The statistics at their edges: ties, limits, ends of the floats, and the exact messages."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest
from scipy import stats as scipy_stats

from reproaudit import stats
from reproaudit.stats import Decision, FittingAxis, Scale, Side, moments, power
from reproaudit.stats.acceptance import AcceptanceRule, bound_rule, equivalence_rule
from reproaudit.stats.difference import seed_difference
from reproaudit.stats.intervals import checked_confidence, critical_t, t_ends
from reproaudit.stats.power import MOST_SEEDS, POWER, least_shift, one_sided_power

LARGEST = sys.float_info.max
LINEAR = Scale.LINEAR


# ---------------------------------------------------------------- names, constants, messages


def test_names_and_constants_are_those_of_the_contract() -> None:
    assert [*Decision] == ["met", "missed", "undecided"]
    assert [*Side] == ["at_most", "at_least"]
    assert [*Scale] == ["linear", "log", "logit", "log_complement"]
    assert (MOST_SEEDS, POWER, stats.FLOOR) == (10_000, 0.8, 1e-12)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: stats.mean_interval([1.0, math.nan]), "a seed's value is not a finite number"),
        (lambda: LINEAR.forward([math.inf]), "a value is not a finite number"),
        (
            lambda: stats.decide_every_seed([1.0], math.nan, Side.AT_MOST),
            "a bound is not a finite number",
        ),
        (
            lambda: stats.equivalence_range(1.0, math.nan, LINEAR),
            "a target or margin is not a finite number",
        ),
        (
            lambda: stats.onset([0, math.nan], [0.0, 1.0], least_change=1.0),
            "a step is not a finite number",
        ),
        (
            lambda: stats.onset([0, 1], [0.0, math.nan], least_change=1.0),
            "a value is not a finite number",
        ),
        (
            lambda: stats.onset([0, 1, 2], [0.0, 1.0], least_change=1.0),
            "an onset needs two or more steps, a value each: (3,), (2,)",
        ),
        (
            lambda: stats.onset([1, 1], [0.0, 1.0], least_change=1.0),
            "the steps of an onset increase",
        ),
        (
            lambda: stats.onset([0, 1], [0.0, 1.0], share=0.0, least_change=1.0),
            "a share lies between 0 and 1: 0",
        ),
        (
            lambda: stats.onset([0, 1], [0.0, 1.0], least_change=-1.0),
            "the least change is a positive number: -1",
        ),
        (lambda: stats.mean_interval([1.0]), "an interval needs at least two seeds"),
        (
            lambda: stats.mean_interval(np.zeros((2, 2))),
            "one value per seed is needed, not an array of shape (2, 2)",
        ),
        (
            lambda: stats.mean_interval([LARGEST, LARGEST / 2]),
            "the values are too large for their mean to be a number",
        ),
        (lambda: stats.wilson(-1, 2), "-1 of 2 is not a share"),
        (lambda: checked_confidence(1.5), "a confidence lies between 0 and 1: 1.5"),
        (lambda: checked_confidence(0.5, least=0.5), "a confidence lies between 0.5 and 1: 0.5"),
        (
            lambda: stats.expected_errors(1, confidence=0.4),
            "a confidence lies between 0.5 and 1: 0.4",
        ),
        (lambda: stats.expected_errors(0, -1), "a number of rules is not negative"),
        (
            lambda: stats.decide_equivalence([1.0, 2.0], 1.0, 0.0, scale=LINEAR),
            "no number of seeds can show equivalence within a margin of 0",
        ),
        (
            lambda: stats.decide_bound([1.0, 2.0], 1.0, Side.AT_MOST, scale=LINEAR, divisor=0),
            "the error of a miss is divided by 1 at least: 0",
        ),
        (lambda: stats.equivalence_range(1.0, -0.5, LINEAR), "a margin is not negative: -0.5"),
        (
            lambda: stats.equivalence_range(0.0, 0.5, Scale.LOG),
            "a target on the log scale is positive: 0",
        ),
        (
            lambda: FittingAxis(Scale.LOG, 1e-3).limit(1e-3),
            "a limit of 0.001 cannot be judged on the log scale: the measurement resolves 0.001, "
            "and the limit is no farther from the end",
        ),
        (
            lambda: FittingAxis(Scale.LOGIT, 1e-3).edges(0.5, 0.5),
            "a margin of 0.5 around 0.5 excludes nothing",
        ),
        (
            lambda: Scale.LOG.forward([1.0], floor=0.5),
            "a floor is a small positive number, below one half: 0.5",
        ),
        (
            lambda: seed_difference([1.0], [1.0, 2.0], paired=False),
            "a difference beyond noise needs at least two seeds on either side",
        ),
        (
            lambda: seed_difference([1.0, 2.0, 3.0], [1.0, 2.0], paired=True),
            "3 and 2 values cannot be paired",
        ),
        (
            lambda: seed_difference([1.0, 2.0], [1.0, 2.0], paired=True, confidence=1.0),
            "a confidence lies between 0 and 1: 1",
        ),
    ],
)
def test_a_fault_is_told_in_these_words(call: Callable[[], Any], text: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        call()


@pytest.mark.parametrize(
    "one",
    [
        stats.wilson(1, 2),
        stats.decide_every_seed([1.0], 1.0, Side.AT_MOST),
        seed_difference([1.0, 2.0], [1.0, 2.0], paired=True),
        bound_rule(0.0, Side.AT_MOST, 0.95, 1),
        FittingAxis(Scale.LOG, 1e-3),
    ],
    ids=lambda one: type(one).__name__,
)
def test_what_was_decided_does_not_change(one: Any) -> None:
    with pytest.raises(FrozenInstanceError):
        one.confidence = 0.5


# ---------------------------------------------------------------- moments and intervals


def test_moments_of_many_rows_are_those_of_each() -> None:
    """Equal rows, tiny ones and huge ones do not disturb their neighbours."""
    rows = np.array([[1.0, 2.0, 4.0], [0.1, 0.1, 0.1], [1e-200, 3e-200, 2e-200], [1e300, 0, 1e299]])
    means, errors = moments(rows)
    for row, mean, error in zip(rows, means, errors, strict=True):
        alone = moments(row)
        assert (mean, error) == alone
        scaled = row / row.max()
        assert mean / row.max() == pytest.approx(scaled.mean(), rel=1e-12)
        assert error / row.max() == pytest.approx(scipy_stats.sem(scaled), rel=1e-12, abs=1e-16)
    assert (means[1], errors[1]) == (0.1, 0.0)
    assert moments(np.array([2.5])) == (2.5, 0.0)


def test_an_interval_beyond_the_floats_ends_at_the_largest() -> None:
    estimate, interval = stats.mean_interval([0.9 * LARGEST, -0.9 * LARGEST])
    assert (estimate, interval.low, interval.high) == (0.0, -LARGEST, LARGEST)
    low, high = t_ends(moments(np.array([0.9 * LARGEST, -0.9 * LARGEST])), 2, 0.95)
    assert (low, high) == (-math.inf, math.inf)


@pytest.mark.parametrize(("freedom", "confidence"), [(1, 0.5), (4, 0.95), (2.5, 0.99)])
def test_the_critical_t_is_scipys(freedom: float, confidence: float) -> None:
    expected = scipy_stats.t.ppf((1 + confidence) / 2, freedom)
    assert critical_t(freedom, confidence) == pytest.approx(expected, rel=1e-9)


# ---------------------------------------------------------------- acceptance


def test_a_range_holds_its_ends_and_knows_the_nearest() -> None:
    rule = equivalence_rule(1.0, 3.0, 0.95, 2)
    assert [rule.holds(mean) for mean in (0.99, 1.0, 3.0, 3.01)] == [False, True, True, False]
    assert [rule.nearest(mean) for mean in (-5.0, 1.5, 2.5, 9.0)] == [1.0, 1.0, 3.0, 3.0]
    assert rule == AcceptanceRule(1.0, 3.0, 0.9, 0.975, 2, two_tests=True)
    assert bound_rule(2.0, Side.AT_MOST, 0.95, 1) == AcceptanceRule(-math.inf, 2.0, 0.95, 0.95, 1)
    assert bound_rule(2.0, Side.AT_LEAST, 0.9, 4) == AcceptanceRule(2.0, math.inf, 0.9, 0.975, 4)
    assert [bound_rule(2.0, side, 0.95, 1).nearest(7.0) for side in Side] == [2.0, 2.0]


def test_an_interval_that_ends_on_the_limit_meets_and_never_misses() -> None:
    z = np.array([1.0, 2.0, 4.0])
    low, high = (float(end) for end in t_ends(moments(z), 3, 0.95))
    for edge, side in ((high, Side.AT_MOST), (low, Side.AT_LEAST)):
        assert stats.decide_bound(z, edge, side, scale=LINEAR).decision is Decision.MET
    for edge, side in ((low, Side.AT_MOST), (high, Side.AT_LEAST)):
        assert stats.decide_bound(z, edge, side, scale=LINEAR).decision is Decision.UNDECIDED


@pytest.mark.parametrize("scale", [Scale.LOG, Scale.LOGIT, Scale.LOG_COMPLEMENT])
def test_a_value_outside_by_exactly_the_floor_is_rounding(scale: Scale) -> None:
    floor = 2.0**-10
    beyond = [1 + floor] if scale is Scale.LOG_COMPLEMENT else [-floor]
    inside = [1.0] if scale is Scale.LOG_COMPLEMENT else [0.0]
    assert scale.forward(beyond, floor=floor) == scale.forward(inside, floor=floor)
    with pytest.raises(ValueError, match="no place"):
        scale.forward(np.array(beyond) * 2 - np.array(inside), floor=floor)


def test_whole_numbers_are_placed_as_floats() -> None:
    for scale in Scale:
        assert scale.forward([0, 1]).dtype == scale.inverse([0, 1]).dtype == np.float64


def test_an_edge_within_the_floor_of_an_end_is_no_limit() -> None:
    """Even where it lies off the end by exactly the floor; of the other edge a limit is made."""
    floor = 2.0**-4
    low, high = FittingAxis(Scale.LOGIT, floor).edges(0.75, 0.1875)
    assert (low, high) == (pytest.approx(math.log(9 / 7)), math.inf)
    low, high = FittingAxis(Scale.LOGIT, floor).edges(0.25, 0.1875)
    assert (low, high) == (-math.inf, pytest.approx(-math.log(9 / 7)))
    assert FittingAxis(Scale.LOG_COMPLEMENT, floor).edges(0.75, 0.1875)[1] == math.inf


# ---------------------------------------------------------------- power


def test_power_where_scipys_series_gives_up(monkeypatch: pytest.MonkeyPatch) -> None:
    class Special:
        stdtrit = staticmethod(power.scipy.special.stdtrit)

        @staticmethod
        def nctdtr(*_: float) -> float:
            return math.nan

    class Scipy:
        special = Special

    monkeypatch.setattr(power, "scipy", Scipy)
    critical = critical_t(4, 0.95)
    assert [one_sided_power(x, 4, 0.95) for x in (0.0, critical, critical + 1)] == [0.0, 0.0, 1.0]


def test_a_limit_infinitely_far_away_is_always_cleared() -> None:
    assert one_sided_power(math.inf, 4, 0.95) == 1.0


@pytest.mark.parametrize("freedom", [1, 1.5, 4, 30])
def test_the_least_shift_has_power_80_percent(freedom: float) -> None:
    shift = least_shift(freedom, 0.95)
    critical = scipy_stats.t.ppf(0.975, freedom)
    assert scipy_stats.nct.sf(critical, freedom, shift) == pytest.approx(0.8, abs=1e-6)


def test_seeds_are_promised_up_to_the_most_that_anyone_runs() -> None:
    """Just enough with 10,000, one too many with a limit that is a hair nearer."""
    values = np.array([-1.0, 0.0, 1.0])

    def needed(bound: float) -> int | None:
        return stats.decide_bound(values, bound, Side.AT_MOST, scale=LINEAR).seeds_needed

    near, far = 0.02, 0.05
    assert needed(near) is None
    assert needed(far) is not None
    while far - near > 1e-12:
        middle = (near + far) / 2
        near, far = (near, middle) if needed(middle) is not None else (middle, far)
    assert needed(far) == 10_000


@pytest.mark.parametrize("seeds", [2, 3, 7, 40])
def test_the_seeds_needed_are_the_fewest(seeds: int) -> None:
    """Against SciPy's noncentral t: the power of that many suffices, of one fewer it does not."""
    values = np.resize([-1.0, 1.0], seeds) + 0.3
    error = float(scipy_stats.sem(values))
    limit = values.mean() + 1.5 * error
    found = stats.decide_bound(values, limit, Side.AT_MOST, scale=LINEAR)
    assert found.decision is Decision.UNDECIDED
    assert found.seeds_needed is not None

    def power_of(n: int) -> float:
        critical = scipy_stats.t.ppf(0.975, n - 1)
        return float(scipy_stats.nct.sf(critical, n - 1, 1.5 * math.sqrt(n / seeds)))

    assert power_of(found.seeds_needed) >= 0.8 > power_of(found.seeds_needed - 1)


def test_a_mean_just_short_of_the_middle_of_a_margin_is_found() -> None:
    """The margin is as wide as five such seeds can show at its middle, and a little more."""
    z = np.array([-1.0, -0.5, 0.0, 0.5, 1.0])
    error = float(scipy_stats.sem(z))
    shift = least_shift(4, 0.9)
    for width, possible in ((1.3, True), (1.0, False)):
        margin = width * error * shift
        found = stats.decide_equivalence(z + margin - error, 0.0, margin, scale=LINEAR)
        assert found.decision is Decision.UNDECIDED
        assert (found.detectable is not None) is possible
        if found.detectable is not None:
            assert 0 < found.detectable < margin
            powers = [
                one_sided_power(abs(found.detectable - edge) / error, 4, 0.9)
                for edge in (-margin, margin)
            ]
            assert sum(powers) - 1 == pytest.approx(0.8, abs=1e-6)


# ---------------------------------------------------------------- differences

A = (0.2, 0.3, 0.25, 0.4)
B = (0.35, 0.5, 0.45, 0.6, 0.5)


@pytest.mark.parametrize(
    ("scale", "form"),
    [
        (Scale.LINEAR, "difference"),
        (Scale.LOG, "ratio"),
        (Scale.LOGIT, "odds ratio"),
        (Scale.LOG_COMPLEMENT, "ratio of 1 − x"),
    ],
)
@pytest.mark.parametrize("confidence", [0.8, 0.95])
@pytest.mark.parametrize("paired", [True, False])
def test_a_difference_is_scipys_on_its_scale(
    scale: Scale, form: str, confidence: float, paired: bool
) -> None:
    b = B[: len(A)] if paired else B
    found = seed_difference(A, b, paired=paired, scale=scale, confidence=confidence)
    first, second = scale.forward(A), scale.forward(b)
    test = (
        scipy_stats.ttest_rel(second, first)
        if paired
        else scipy_stats.ttest_ind(second, first, equal_var=False)
    )
    ends = test.confidence_interval(confidence)
    natural = (lambda x: x) if scale is LINEAR else math.exp
    assert (found.low, found.high) == pytest.approx((natural(ends.low), natural(ends.high)))
    assert found.estimate == pytest.approx(natural(second.mean() - first.mean()))
    assert found.within_noise == (ends.low <= 0 <= ends.high)
    assert (found.form, found.confidence) == (form, confidence)
    words = "Student t, paired by 4 seeds" if paired else "Welch t, 4 against 5 seeds"
    assert found.method == words
    error = (ends.high - ends.low) / 2 / scipy_stats.t.ppf((1 + confidence) / 2, test.df)
    shift = least_shift(float(test.df), confidence) * error
    assert found.detectable == pytest.approx(natural(shift))


@pytest.mark.parametrize("paired", [True, False])
def test_seeds_without_spread_differ_by_exactly_their_difference(paired: bool) -> None:
    found = seed_difference([0.1] * 3, [0.4] * 3, paired=paired)
    assert (found.low, found.high) == (found.estimate, found.estimate) == (0.4 - 0.1, 0.4 - 0.1)
    assert (found.within_noise, found.detectable) == (False, None)


@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize("unit", [1e-250, 1e250])
def test_differences_of_tiny_and_huge_units_lose_nothing(unit: float, paired: bool) -> None:
    plain = seed_difference(A, B[:4], paired=paired)
    scaled = seed_difference([unit * a for a in A], [unit * b for b in B[:4]], paired=paired)
    for name in ("estimate", "low", "high", "detectable"):
        assert getattr(scaled, name) / unit == pytest.approx(getattr(plain, name), rel=1e-9)


def test_a_difference_beyond_the_floats_is_the_largest() -> None:
    found = seed_difference([-LARGEST] * 2, [LARGEST] * 2, paired=False)
    assert found.estimate == LARGEST
    with pytest.raises(ValueError, match="too large"):
        seed_difference([-LARGEST] * 2, [LARGEST] * 2, paired=True)


def test_the_floor_of_a_difference_is_that_of_the_measurement() -> None:
    found = seed_difference([0.0, 0.0], [1e-3, 1e-3], paired=True, scale=Scale.LOG, floor=1e-4)
    assert found.estimate == pytest.approx(10.0)


# ---------------------------------------------------------------- decisions


def test_the_fewest_seeds_that_decide_are_two() -> None:
    one, two = (
        stats.decide_bound([1.0] * n, 2.0, Side.AT_MOST, scale=LINEAR).decision for n in (1, 2)
    )
    assert (one, two) == (Decision.UNDECIDED, Decision.MET)


def test_of_seeds_with_equal_room_the_first_is_shown() -> None:
    assert stats.decide_every_seed_within([1.1, 0.9], 1.0, 0.2).estimate == 1.1


def test_a_rule_over_every_seed_has_the_resolution_of_its_measurement() -> None:
    rule = {"target": 1e-3, "margin": 1.0, "scale": Scale.LOG}
    below = stats.decide_every_seed_within([-3e-4], **rule, floor=4e-4)  # type: ignore[arg-type]
    assert below.decision is Decision.MISSED
    with pytest.raises(ValueError, match="no place"):
        stats.decide_every_seed_within([-3e-4], **rule)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"resolves 0\.001"):
        stats.decide_every_seed_within([0.5], 1e-3, 1.0, scale=Scale.LOG, floor=1e-3)


# ---------------------------------------------------------------- onsets


def test_a_change_of_exactly_the_least_size_counts() -> None:
    assert stats.onset([0, 1, 2], [0.0, 0.5, 0.5], least_change=0.5) == 0.5


def test_a_level_that_is_touched_first_is_crossed_there() -> None:
    assert stats.onset([0, 10, 20, 30], [0.0, 0.5, 0.5, 1.0], least_change=0.1) == 10


@pytest.mark.parametrize(("count", "final"), [(9, 1.0), (19, 1.0), (20, 1.5), (30, 4 / 3)])
def test_the_final_value_is_the_mean_of_the_last_tenth(count: int, final: float) -> None:
    values = np.ones(count)
    values[0], values[-1], values[-2] = 0.0, 1.0, 1.0 if count < 20 else 2.0
    assert stats.final_value(values) == pytest.approx(final)
