"""Intervals, decisions, power and onsets, against SciPy, known figures and simulation."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats as scipy_stats

from reproaudit import stats
from reproaudit.stats import Decision, RuleResult, Scale, Side
from reproaudit.stats.acceptance import (
    bound_rule,
    equivalence_rule,
    met_and_missed,
    most_astray,
)
from reproaudit.stats.power import MOST_SEEDS, one_sided_power

Array = NDArray[np.float64]

SCALES = list(Scale)
SHARES = [0.91, 0.95, 0.97, 0.92, 0.99]  # within every scale's domain


def seeds_of(low: float, high: float, least: int = 2) -> st.SearchStrategy[list[float]]:
    return st.lists(st.floats(low, high), min_size=least, max_size=12)


def close(a: float, b: float, rel: float = 1e-9) -> bool:
    return math.isclose(a, b, rel_tol=rel, abs_tol=1e-12)


# ---------------------------------------------------------------- scales


@pytest.mark.parametrize(
    ("scale", "value", "place"),
    [
        (Scale.LINEAR, -3.5, -3.5),
        (Scale.LOG, 10.0, math.log(10)),
        (Scale.LOGIT, 0.9, math.log(9)),
        (Scale.LOG_COMPLEMENT, 0.99, math.log(0.01)),
        (Scale.LOG_COMPLEMENT, -1.0, math.log(2)),  # a cosine of -1
    ],
)
def test_a_scale_places_and_returns_a_value(scale: Scale, value: float, place: float) -> None:
    assert close(float(scale.forward(value)), place)
    assert close(float(scale.inverse(scale.forward(value))), value)


@pytest.mark.parametrize("scale", SCALES)
def test_a_scale_keeps_the_shape(scale: Scale) -> None:
    values = np.full((2, 3), 0.25)
    np.testing.assert_allclose(scale.inverse(scale.forward(values)), values)


@pytest.mark.parametrize(
    ("scale", "value", "floored"),
    [
        (Scale.LOG, 0.0, 1e-6),
        (Scale.LOG, -1e-7, 1e-6),  # rounding, no farther out than the resolution
        (Scale.LOGIT, 0.0, 1e-6),
        (Scale.LOGIT, 1.0, 1 - 1e-6),
        (Scale.LOG_COMPLEMENT, 1.0, 1 - 1e-6),
        (Scale.LOG_COMPLEMENT, 1 + 1e-7, 1 - 1e-6),
    ],
)
def test_the_floor_is_the_smallest_distance_from_an_end(
    scale: Scale, value: float, floored: float
) -> None:
    assert float(scale.inverse(scale.forward(value, floor=1e-6))) == pytest.approx(
        floored, rel=1e-6
    )


@pytest.mark.parametrize(
    ("scale", "value", "text"),
    [
        (Scale.LOG, -1.0, "-1 has no place on the log scale: it is negative"),
        (Scale.LOGIT, -0.1, "-0.1 has no place on the logit scale: it is negative"),
        (Scale.LOGIT, 1.1, "1.1 has no place on the logit scale: it is above 1"),
        (Scale.LOG_COMPLEMENT, 2.0, "2 has no place on the log_complement scale: it is above 1"),
    ],
)
def test_a_value_outside_the_domain_is_named(scale: Scale, value: float, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        stats.mean_interval([0.5, value, 0.4], scale=scale)


@pytest.mark.parametrize("floor", [0.0, -1.0, 0.5, math.nan])
def test_a_floor_is_small_and_positive(floor: float) -> None:
    with pytest.raises(ValueError, match="floor"):
        Scale.LOG.forward([1.0], floor=floor)


# ---------------------------------------------------------------- intervals


@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
@pytest.mark.parametrize("scale", SCALES)
def test_the_interval_is_students_on_the_scale(scale: Scale, confidence: float) -> None:
    estimate, interval = stats.mean_interval(SHARES, scale=scale, confidence=confidence)
    y = scale.forward(SHARES)
    ends = scipy_stats.ttest_1samp(y, 0.0).confidence_interval(confidence)
    expected = sorted(float(scale.inverse(end)) for end in ends)
    assert close(estimate, float(scale.inverse(y.mean())))
    assert close(interval.low, expected[0])
    assert close(interval.high, expected[1])
    assert (interval.confidence, interval.method) == (confidence, "Student t")
    assert interval.scale == scale.value


def test_the_mean_on_the_log_scale_is_geometric() -> None:
    assert close(stats.mean_interval([1.0, 10.0, 100.0], scale=Scale.LOG)[0], 10.0)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("value", [0.1, 0.9, 1.0, 0.0])
def test_equal_seeds_have_an_interval_of_zero_width(scale: Scale, value: float) -> None:
    estimate, interval = stats.mean_interval([value] * 7, scale=scale)
    assert interval.low == estimate == interval.high
    assert close(estimate, max(value, 1e-12) if scale is Scale.LOG else value)


@given(seeds_of(0.0, 1.0), st.sampled_from(SCALES), st.floats(0.01, 0.999))
def test_an_interval_contains_its_estimate_and_is_finite(
    values: list[float], scale: Scale, confidence: float
) -> None:
    estimate, interval = stats.mean_interval(values, scale=scale, confidence=confidence)
    assert -math.inf < interval.low <= estimate <= interval.high < math.inf


@given(seeds_of(0.0, 1.0), st.sampled_from(SCALES), st.floats(0.01, 0.99), st.floats(0.01, 0.99))
def test_more_confidence_is_a_wider_interval(
    values: list[float], scale: Scale, one: float, other: float
) -> None:
    _, narrow = stats.mean_interval(values, scale=scale, confidence=min(one, other))
    _, wide = stats.mean_interval(values, scale=scale, confidence=max(one, other))
    assert wide.low <= narrow.low
    assert narrow.high <= wide.high


@given(seeds_of(-1e3, 1e3), st.floats(-1e3, 1e3), st.floats(0.01, 100.0))
def test_the_linear_interval_moves_with_its_unit(
    values: list[float], shift: float, unit: float
) -> None:
    estimate, interval = stats.mean_interval(values)
    moved_estimate, moved = stats.mean_interval([shift + unit * x for x in values])
    size = 1e-9 * (abs(shift) + unit * 1e3 + unit * (interval.high - interval.low))
    assert moved_estimate == pytest.approx(shift + unit * estimate, abs=size)
    assert moved.low == pytest.approx(shift + unit * interval.low, abs=size)
    assert moved.high == pytest.approx(shift + unit * interval.high, abs=size)


@given(seeds_of(0.1, 10.0), st.floats(0.01, 100.0))
def test_the_log_interval_multiplies_with_its_unit(values: list[float], unit: float) -> None:
    estimate, interval = stats.mean_interval(values, scale=Scale.LOG)
    moved_estimate, moved = stats.mean_interval([unit * x for x in values], scale=Scale.LOG)
    assert close(moved_estimate, unit * estimate)
    assert moved.low == pytest.approx(unit * interval.low, rel=1e-9)
    assert moved.high == pytest.approx(unit * interval.high, rel=1e-9)


@given(seeds_of(0.001, 0.999))
def test_the_logit_interval_mirrors_with_the_complement(values: list[float]) -> None:
    estimate, interval = stats.mean_interval(values, scale=Scale.LOGIT)
    mirrored_estimate, mirrored = stats.mean_interval([1 - x for x in values], scale=Scale.LOGIT)
    assert close(mirrored_estimate, 1 - estimate)
    assert close(mirrored.low, 1 - interval.high)
    assert close(mirrored.high, 1 - interval.low)


@pytest.mark.parametrize("unit", [1e-250, 1e250])
def test_tiny_and_huge_units_lose_nothing(unit: float) -> None:
    _, plain = stats.mean_interval([1.0, 2.0, 4.0])
    _, scaled = stats.mean_interval([unit, 2 * unit, 4 * unit])
    assert scaled.low / unit == pytest.approx(plain.low, rel=1e-12)
    assert scaled.high / unit == pytest.approx(plain.high, rel=1e-12)


def test_an_end_beyond_the_largest_float_is_that_float() -> None:
    _, interval = stats.mean_interval([1e-9, 1e9], scale=Scale.LOG, confidence=0.999)
    assert interval.low == 0.0
    assert interval.high == pytest.approx(sys.float_info.max, rel=1e-9)
    with pytest.raises(ValueError, match="too large"):
        stats.mean_interval([1.7e308, 1.6e308])


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_value_that_is_not_finite_is_refused_everywhere(bad: float) -> None:
    values, linear = [1.0, bad, 2.0], Scale.LINEAR
    calls: list[Callable[[], Any]] = [
        lambda: stats.mean_interval(values),
        lambda: stats.decide_bound(values, 1.0, Side.AT_MOST, scale=linear),
        lambda: stats.decide_bound([1.0, 2.0], bad, Side.AT_MOST, scale=linear),
        lambda: stats.decide_equivalence(values, 1.0, 1.0, scale=linear),
        lambda: stats.decide_equivalence([1.0, 2.0], bad, 1.0, scale=linear),
        lambda: stats.decide_equivalence([1.0, 2.0], 1.0, bad, scale=linear),
        lambda: stats.decide_every_seed(values, 1.0, Side.AT_MOST),
        lambda: stats.decide_every_seed([1.0], bad, Side.AT_MOST),
        lambda: stats.decide_every_seed_within(values, 1.0, 1.0),
        lambda: stats.onset([0, 1, 2], values, least_change=0.1),
        lambda: stats.onset([0, bad, 2], [0.0, 1.0, 2.0], least_change=0.1),
        lambda: stats.onset([0, 1], [0.0, 1.0], least_change=bad),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=r"finite|positive number"):
            call()


@pytest.mark.parametrize("confidence", [0.0, 1.0, -0.5, math.nan])
def test_a_confidence_is_between_0_and_1(confidence: float) -> None:
    with pytest.raises(ValueError, match="confidence"):
        stats.mean_interval([1.0, 2.0], confidence=confidence)
    with pytest.raises(ValueError, match="confidence"):
        stats.wilson(1, 2, confidence)


def test_too_few_seeds_are_told_apart() -> None:
    with pytest.raises(ValueError, match="at least two seeds"):
        stats.mean_interval([1.0])
    with pytest.raises(ValueError, match="one value per seed"):
        stats.decide_bound([], 1.0, Side.AT_MOST, scale=Scale.LINEAR)
    with pytest.raises(ValueError, match="one value per seed"):
        stats.decide_every_seed(np.zeros((2, 2)), 1.0, Side.AT_MOST)


@given(st.integers(1, 60), st.data(), st.sampled_from([0.9, 0.95, 0.99]))
@settings(max_examples=50)
def test_wilson_agrees_with_scipy(total: int, data: st.DataObject, confidence: float) -> None:
    successes = data.draw(st.integers(0, total))
    found = stats.wilson(successes, total, confidence)
    expected = scipy_stats.binomtest(successes, total).proportion_ci(confidence, method="wilson")
    assert close(found.low, expected.low)
    assert close(found.high, expected.high)
    assert 0 <= found.low <= successes / total <= found.high <= 1


def test_wilson_of_the_published_reproduction_counts() -> None:
    six_of_seven, five_of_fifteen = stats.wilson(6, 7), stats.wilson(5, 15)
    assert (six_of_seven.low, six_of_seven.high) == pytest.approx((0.4869, 0.9743), abs=1e-4)
    assert (five_of_fifteen.low, five_of_fifteen.high) == pytest.approx((0.1518, 0.5829), abs=1e-4)
    assert (six_of_seven.method, six_of_seven.scale) == ("Wilson", "linear")
    with pytest.raises(ValueError, match="3 of 2 is not a share"):
        stats.wilson(3, 2)
    with pytest.raises(ValueError, match="0 of 0 is not a share"):
        stats.wilson(0, 0)


# ---------------------------------------------------------------- decisions over the mean


Alternative = Literal["less", "greater"]
LESS_GREATER: tuple[Alternative, Alternative] = ("less", "greater")


def bound_by_tests(values: Array, bound: float, side: Side, parts: int) -> Decision:
    """The same decision by SciPy's one-sided t tests."""
    right, wrong = LESS_GREATER if side is Side.AT_MOST else LESS_GREATER[::-1]
    if scipy_stats.ttest_1samp(values, bound, alternative=right).pvalue <= 0.025:
        return Decision.MET
    if scipy_stats.ttest_1samp(values, bound, alternative=wrong).pvalue < 0.025 / parts:
        return Decision.MISSED
    return Decision.UNDECIDED


def equivalence_by_tests(values: Array, low: float, high: float, parts: int) -> Decision:
    """The same decision by SciPy's two one-sided t tests."""

    def p(limit: float, alternative: Alternative) -> float:
        return float(scipy_stats.ttest_1samp(values, limit, alternative=alternative).pvalue)

    if max(p(low, "greater"), p(high, "less")) <= 0.05:
        return Decision.MET
    if min(p(low, "less"), p(high, "greater")) < 0.025 / parts:
        return Decision.MISSED
    return Decision.UNDECIDED


def test_bounds_are_decided_as_by_scipys_t_tests() -> None:
    rng = np.random.default_rng(0)
    seen = set()
    for shift in np.linspace(-2, 2, 30):
        for side in Side:
            values, parts = rng.normal(shift, 1.0, size=6), int(rng.integers(1, 5))
            expected = bound_by_tests(values, 0.0, side, parts)
            found = stats.decide_bound(values, 0.0, side, scale=Scale.LINEAR, divisor=parts)
            assert found.decision is expected
            seen.add((side, expected))
    assert len(seen) == 6  # every decision, on either side


def test_equivalence_is_decided_as_by_scipys_t_tests() -> None:
    rng = np.random.default_rng(1)
    seen = set()
    for centre in np.linspace(-3, 3, 60):
        values, parts = rng.normal(centre, 0.7, size=6), int(rng.integers(1, 5))
        expected = equivalence_by_tests(values, -1.0, 1.0, parts)
        found = stats.decide_equivalence(values, 0.0, 1.0, scale=Scale.LINEAR, divisor=parts)
        assert found.decision is expected
        seen.add(expected)
    assert seen == set(Decision)


@pytest.mark.parametrize(
    ("values", "bound", "side", "decision"),
    [
        ([1.0, 1.1, 0.9, 1.0], 2.0, Side.AT_MOST, Decision.MET),
        ([1.0, 1.1, 0.9, 1.0], 2.0, Side.AT_LEAST, Decision.MISSED),
        ([1.0, 1.1, 0.9, 1.0], 0.5, Side.AT_LEAST, Decision.MET),
        ([1.0, 5.0, 0.0, 3.0], 2.0, Side.AT_MOST, Decision.UNDECIDED),
        ([2.0, 2.0, 2.0], 2.0, Side.AT_MOST, Decision.MET),  # the bound belongs to the side
        ([2.0, 2.0, 2.0], 2.0, Side.AT_LEAST, Decision.MET),
        ([0.1, 0.1, 0.1], 0.1, Side.AT_MOST, Decision.MET),  # though 0.1 + 0.1 + 0.1 > 0.3
        ([2.0, 2.0, 2.0], 1.9, Side.AT_MOST, Decision.MISSED),
        ([1.0], 2.0, Side.AT_MOST, Decision.UNDECIDED),
    ],
)
def test_bound(values: list[float], bound: float, side: Side, decision: Decision) -> None:
    assert stats.decide_bound(values, bound, side, scale=Scale.LINEAR).decision is decision


@pytest.mark.parametrize(
    ("runs", "astray"), [(1, -1), (4, -1), (5, 0), (7, 0), (8, 1), (10, 1), (20, 5)]
)
def test_so_many_runs_may_lie_astray(runs: int, astray: int) -> None:
    """The most that fair coins show with probability 5 % or less, by the binomial itself."""
    assert most_astray(runs, 0.05) == astray
    below = [sum(math.comb(runs, j) for j in range(k + 1)) / 2**runs for k in range(runs + 1)]
    assert sum(share <= 0.05 for share in below) - 1 == astray
    assert most_astray(runs, None) == runs


def test_runs_beyond_either_edge_count_together() -> None:
    """Of eight runs one may lie outside the range, wherever it lies."""
    for outside, expected in (
        ([], Decision.MET),
        ([1.1], Decision.MET),
        ([1.1, -1.1], Decision.UNDECIDED),
    ):
        values = [*outside, *np.linspace(-0.1, 0.1, 8 - len(outside))]
        found = [
            stats.decide_equivalence(values, 0.0, 1.0, scale=Scale.LINEAR, level=level).decision
            for level in (None, 0.05)
        ]
        assert found == [Decision.MET, expected]


@pytest.mark.parametrize("share", [0.5, 0.75])
def test_half_of_all_runs_outside_is_rarely_met(share: float) -> None:
    """Half of the runs outside, beyond both edges alike: met in 5 % at most, however many run."""
    random = np.random.default_rng(0)
    for runs in (5, 8, 20, 40):
        outside = random.random((4000, runs)) < share
        values = np.where(outside, 1.01 * random.choice([-1.0, 1.0], (4000, runs)), 0.0)
        rule = equivalence_rule(-1.0, 1.0, 0.95, 1.0, level=0.05)
        met, _ = met_and_missed(values, rule)
        assert met.mean() <= 0.06


@pytest.mark.parametrize("of_five", [0, 1])
def test_a_run_astray_leaves_open_what_the_interval_decides(of_five: int) -> None:
    """The mean of five runs lies clearly on one side of 0; one run lies on the other."""
    values = [-0.01] * of_five + [1.0, 1.01, 0.99, 1.02, 0.98][of_five:]
    for side, alone in ((Side.AT_LEAST, Decision.MET), (Side.AT_MOST, Decision.MISSED)):
        for level in (None, 0.05):
            found = stats.decide_bound(values, 0.0, side, scale=Scale.LINEAR, level=level)
            open_ = bool(of_five) and level is not None
            assert found.decision is (Decision.UNDECIDED if open_ else alone)


@pytest.mark.parametrize("scale", SCALES)
def test_a_bound_reads_the_same_way_on_every_scale(scale: Scale) -> None:
    def decide(bound: float, side: Side) -> Decision:
        return stats.decide_bound(SHARES, bound, side, scale=scale).decision

    assert decide(0.5, Side.AT_LEAST) is Decision.MET
    assert decide(0.5, Side.AT_MOST) is Decision.MISSED
    assert decide(0.9999, Side.AT_MOST) is Decision.MET
    assert decide(0.9999, Side.AT_LEAST) is Decision.MISSED


def test_a_single_seed_is_undecided_without_interval() -> None:
    for found in (
        stats.decide_bound([1.0], 2.0, Side.AT_MOST, scale=Scale.LOG),
        stats.decide_equivalence([1.0], 1.0, 0.5, scale=Scale.LOG),
    ):
        assert found.decision is Decision.UNDECIDED
        assert (found.interval, found.detectable, found.seeds_needed) == (None, None, None)
        assert found.per_seed == (1.0,)


@pytest.mark.parametrize(
    ("scale", "bound"),
    [
        (Scale.LOG, 1e-6),
        (Scale.LOG, 0.0),
        (Scale.LOGIT, 1e-7),
        (Scale.LOGIT, 1.0),
        (Scale.LOG_COMPLEMENT, 1 - 1e-8),
    ],
)
@pytest.mark.parametrize("side", list(Side))
def test_a_bound_finer_than_the_resolution_is_refused(
    scale: Scale, bound: float, side: Side
) -> None:
    with pytest.raises(ValueError, match="resolves 1e-06"):
        stats.decide_bound([0.0, 0.0], bound, side, scale=scale, floor=1e-6)


def test_names_from_a_file_serve_as_side_and_scale() -> None:
    found = stats.decide_bound([1.0, 1.1], 9.0, "at_most", scale="log")  # type: ignore[arg-type]
    assert found.decision is Decision.MET
    with pytest.raises(ValueError, match="sideways"):
        stats.decide_bound([1.0, 1.1], 9.0, "sideways", scale=Scale.LOG)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("target", "margin", "scale", "expected"),
    [
        (2.0, 0.5, Scale.LINEAR, (1.5, 2.5)),
        (2.0, 0.25, Scale.LOG, (1.6, 2.5)),
        (0.9, 0.05, Scale.LOGIT, (0.85, 0.95)),
        (0.7, 0.1, Scale.LINEAR, (0.6, 0.8)),  # 0.7 + 0.1 is less than 0.8 in binary
    ],
)
def test_equivalence_range(
    target: float, margin: float, scale: Scale, expected: tuple[float, float]
) -> None:
    assert stats.equivalence_range(target, margin, scale) == expected


@pytest.mark.parametrize(
    ("values", "target", "margin", "scale", "decision"),
    [
        ([1.0, 1.1, 0.9], 1.0, 0.5, Scale.LINEAR, Decision.MET),
        ([1.0, 1.1, 0.9], 3.0, 0.5, Scale.LINEAR, Decision.MISSED),
        ([1.0, 3.0, -1.0], 1.0, 0.5, Scale.LINEAR, Decision.UNDECIDED),
        ([1.5, 1.5], 1.0, 0.5, Scale.LINEAR, Decision.MET),  # the edge belongs to the margin
        ([0.5, 0.5], 1.0, 1.0, Scale.LOG, Decision.MET),  # a factor of 2 either way
        ([0.49, 0.49], 1.0, 1.0, Scale.LOG, Decision.MISSED),
        ([2.0, 2.0], 1.0, 1.0, Scale.LOG, Decision.MET),
        ([1.0, 1.0], 0.99, 0.02, Scale.LOGIT, Decision.MET),  # an edge beyond 1 is no limit
        ([0.995, 0.999, 0.997], 1.0, 0.02, Scale.LOG_COMPLEMENT, Decision.MET),
        ([0.9, 0.91], 1.0, 0.02, Scale.LOG_COMPLEMENT, Decision.MISSED),
        ([0.0, 0.0], 0.0, 0.02, Scale.LOGIT, Decision.MET),
    ],
)
def test_equivalence(
    values: list[float], target: float, margin: float, scale: Scale, decision: Decision
) -> None:
    assert stats.decide_equivalence(values, target, margin, scale=scale).decision is decision


@pytest.mark.parametrize(
    ("target", "margin", "scale", "text"),
    [
        (1.0, 0.0, Scale.LINEAR, "margin of 0"),
        (1.0, -0.1, Scale.LINEAR, "not negative"),
        (0.0, 0.1, Scale.LOG, "positive"),
        (1e-12, 0.5, Scale.LOG, "resolves"),
        (0.5, 0.5, Scale.LOGIT, "excludes nothing"),
        (1.5, 0.1, Scale.LOGIT, "above 1"),
        (-0.5, 0.1, Scale.LOGIT, "negative"),
        (1.5, 0.1, Scale.LOG_COMPLEMENT, "above 1"),
    ],
)
def test_an_equivalence_that_cannot_be_judged_is_refused(
    target: float, margin: float, scale: Scale, text: str
) -> None:
    with pytest.raises(ValueError, match=text):
        stats.decide_equivalence([0.4, 0.6], target, margin, scale=scale)


def test_a_claim_has_parts_and_equivalence_more_than_even_confidence() -> None:
    with pytest.raises(ValueError, match="divided by 1 at least"):
        stats.decide_bound([1.0, 2.0], 0.0, Side.AT_MOST, scale=Scale.LINEAR, divisor=0)
    with pytest.raises(ValueError, match=r"between 0\.5 and 1"):
        stats.decide_equivalence([1.0, 2.0], 0.0, 1.0, scale=Scale.LINEAR, confidence=0.5)


def test_the_reported_interval_is_the_one_that_decides() -> None:
    values, linear = [1.0, 2.0, 3.0, 2.0, 1.5], Scale.LINEAR  # mean 1.9

    def bound(at: float) -> tuple[float, str]:
        found = stats.decide_bound(values, at, Side.AT_MOST, scale=linear, divisor=4)
        assert found.interval is not None
        return found.interval.confidence, found.interval.method

    def equivalence(target: float) -> tuple[float, str]:
        found = stats.decide_equivalence(values, target, 0.5, scale=linear, divisor=1)
        assert found.interval is not None
        return found.interval.confidence, found.interval.method

    assert bound(5.0) == bound(2.0) == (0.95, "Student t")
    assert bound(1.8) == bound(-5.0) == (0.9875, "Student t, error divided by 4")
    assert equivalence(1.9) == (0.9, "Student t, two one-sided tests")
    assert equivalence(2.6) == equivalence(9.0) == (0.95, "Student t")


RULES = st.one_of(
    st.tuples(st.just("bound"), st.sampled_from(list(Side)), st.floats(0.05, 0.95)),
    st.tuples(st.just("equivalence"), st.floats(0.01, 0.3), st.floats(0.35, 0.6)),
)


def decide(values: list[float], rule: Any, scale: Scale, parts: int) -> RuleResult:
    if rule[0] == "bound":
        return stats.decide_bound(values, rule[2], rule[1], scale=scale, divisor=parts)
    return stats.decide_equivalence(values, rule[2], rule[1], scale=scale, divisor=parts)


def limits(rule: Any, scale: Scale) -> tuple[float, float]:
    if rule[0] == "equivalence":
        return stats.equivalence_range(rule[2], rule[1], scale)
    return (-math.inf, rule[2]) if rule[1] is Side.AT_MOST else (rule[2], math.inf)


@given(seeds_of(0.01, 0.99), RULES, st.sampled_from(SCALES), st.integers(1, 9))
def test_the_decision_can_be_read_off_the_interval(
    values: list[float], rule: Any, scale: Scale, parts: int
) -> None:
    found, (low, high) = decide(values, rule, scale, parts), limits(rule, scale)
    assert found.interval is not None
    ends = np.array([found.interval.low, found.interval.high])
    assume(min(abs(end - limit) for end in ends for limit in (low, high)) > 1e-9)
    within = (ends >= low).all() and (ends <= high).all()
    outside = (ends > high).all() or (ends < low).all()
    assert (found.decision is Decision.MET) == within
    assert (found.decision is Decision.MISSED) == outside


@given(seeds_of(0.01, 0.99), RULES, st.sampled_from(SCALES), st.integers(2, 20))
def test_parts_only_make_missing_harder(
    values: list[float], rule: Any, scale: Scale, parts: int
) -> None:
    alone, among = (
        decide(values, rule, scale, 1).decision,
        decide(values, rule, scale, parts).decision,
    )
    assert among is alone or (alone is Decision.MISSED and among is Decision.UNDECIDED)


@given(seeds_of(0.01, 0.99), st.floats(0.05, 0.95), st.sampled_from(SCALES), st.integers(1, 9))
def test_the_two_sides_of_a_bound_never_agree(
    values: list[float], bound: float, scale: Scale, parts: int
) -> None:
    most = stats.decide_bound(values, bound, Side.AT_MOST, scale=scale, divisor=parts).decision
    least = stats.decide_bound(values, bound, Side.AT_LEAST, scale=scale, divisor=parts).decision
    if Decision.MISSED in (most, least):
        assert {most, least} == {Decision.MISSED, Decision.MET}
    if most is least is Decision.MET:  # possible on the bound itself alone
        assert max(values) - min(values) < 1e-12
    if parts == 1:
        assert (most is Decision.MET) <= (least is not Decision.UNDECIDED)


@given(seeds_of(-50.0, 50.0), st.floats(-50.0, 50.0), st.sampled_from(list(Side)))
def test_mirrored_seeds_and_bound_give_the_mirrored_decision(
    values: list[float], bound: float, side: Side
) -> None:
    other = Side.AT_LEAST if side is Side.AT_MOST else Side.AT_MOST
    one = stats.decide_bound(values, bound, side, scale=Scale.LINEAR)
    mirrored = stats.decide_bound([-x for x in values], -bound, other, scale=Scale.LINEAR)
    assert one.decision is mirrored.decision
    assert one.seeds_needed == mirrored.seeds_needed
    if one.detectable is not None and mirrored.detectable is not None:
        assert close(one.detectable, -mirrored.detectable)


# ---------------------------------------------------------------- decisions without an interval


@pytest.mark.parametrize(
    ("values", "bound", "side", "decision", "satisfied", "deciding"),
    [
        ([1.0, 2.0, 3.0], 3.0, Side.AT_MOST, Decision.MET, 3, 3.0),
        ([1.0, 2.0, 3.1], 3.0, Side.AT_MOST, Decision.MISSED, 2, 3.1),
        ([1.0, 2.0, 3.0], 1.0, Side.AT_LEAST, Decision.MET, 3, 1.0),
        ([1.0], 2.0, Side.AT_LEAST, Decision.MISSED, 0, 1.0),
    ],
)
def test_every_seed(
    values: list[float],
    bound: float,
    side: Side,
    decision: Decision,
    satisfied: int,
    deciding: float,
) -> None:
    found = stats.decide_every_seed(values, bound, side)
    assert found == RuleResult(deciding, None, decision, bound, tuple(values), satisfied=satisfied)


@pytest.mark.parametrize(
    ("values", "target", "margin", "scale", "decision", "satisfied", "deciding"),
    [
        ([0.9, 1.0, 1.1], 1.0, 0.1, Scale.LINEAR, Decision.MET, 3, 0.9),
        ([0.9, 1.0, 1.3], 1.0, 0.2, Scale.LINEAR, Decision.MISSED, 2, 1.3),
        ([0.6, 1.0, 1.9], 1.0, 1.0, Scale.LOG, Decision.MET, 3, 1.9),
        ([0.4, 1.0, 1.9], 1.0, 1.0, Scale.LOG, Decision.MISSED, 2, 0.4),
        ([0.97, 1.0], 1.0, 0.05, Scale.LOG_COMPLEMENT, Decision.MET, 2, 0.97),
        ([0.25, 0.25], 0.25, 0.0, Scale.LINEAR, Decision.MET, 2, 0.25),
    ],
)
def test_every_seed_within(
    values: list[float],
    target: float,
    margin: float,
    scale: Scale,
    decision: Decision,
    satisfied: int,
    deciding: float,
) -> None:
    found = stats.decide_every_seed_within(values, target, margin, scale=scale)
    assert found == RuleResult(deciding, None, decision, target, tuple(values), satisfied=satisfied)


# ---------------------------------------------------------------- error rates and power

ROWS = 40_000


def rates(z: Array, rule: Any) -> tuple[float, float]:
    met, missed = met_and_missed(z, rule)
    assert not (met & missed).any()
    return float(met.mean()), float(missed.mean())


def noise(rate: float) -> float:
    """Four standard errors of a rate over the simulated rows."""
    return 4 * math.sqrt(rate * (1 - rate) / ROWS)


def normal(mean: float, seeds: int, rng_seed: int) -> Array:
    return np.random.default_rng(rng_seed).normal(mean, 1.0, size=(ROWS, seeds))


@pytest.mark.parametrize("side", list(Side))
@pytest.mark.parametrize("parts", [1, 5])
@pytest.mark.parametrize("seeds", [5, 10])
def test_a_mean_on_the_bound_is_wrongly_decided_as_seldom_as_said(
    side: Side, parts: int, seeds: int
) -> None:
    rule = bound_rule(0.0, side, 0.95, parts)
    met, missed = rates(normal(0.0, seeds, rng_seed=seeds + parts), rule)
    assert met == pytest.approx(0.025, abs=noise(0.025))  # exact, so neither more nor less
    assert missed == pytest.approx(0.025 / parts, abs=noise(0.025 / parts))


@pytest.mark.parametrize("edge", [-1.0, 1.0])
@pytest.mark.parametrize("half_width", [0.5, 6.0])
def test_a_mean_on_the_margins_edge_is_wrongly_decided_as_seldom_as_said(
    edge: float, half_width: float
) -> None:
    rule = equivalence_rule(-half_width, half_width, 0.95, 2)
    met, missed = rates(normal(edge * half_width, 5, rng_seed=7), rule)
    assert met <= 0.05 + noise(0.05)
    if half_width == 6.0:  # a margin far wider than the spread: the test is exact
        assert met == pytest.approx(0.05, abs=noise(0.05))
    assert missed == pytest.approx(0.0125, abs=noise(0.0125))


def test_equal_seeds_on_a_limit_are_met_and_not_missed() -> None:
    on_the_limit = np.full((1, 5), 0.1)
    for side in Side:
        rule = bound_rule(0.1, side, 0.95, 1)
        assert rates(on_the_limit, rule) == (1.0, 0.0)
    for low, high in ((0.1, 0.5), (-0.5, 0.1)):
        assert rates(on_the_limit, equivalence_rule(low, high, 0.95, 1)) == (1.0, 0.0)


def test_a_claim_of_several_parts_on_its_bounds_is_wrongly_missed_within_the_error() -> None:
    z = np.random.default_rng(3).normal(size=(ROWS, 4, 5))
    _, missed = met_and_missed(z, bound_rule(0.0, Side.AT_MOST, 0.95, 4))
    assert float(missed.any(axis=1).mean()) <= 0.025 + noise(0.025)


def test_expected_errors_bound_what_chance_gives() -> None:
    assert stats.expected_errors(bounds=10, equivalences=4) == pytest.approx(10 * 0.025 + 4 * 0.05)
    assert stats.expected_errors(bounds=2, confidence=0.99) == pytest.approx(0.01)
    assert stats.expected_errors() == 0
    with pytest.raises(ValueError, match="not negative"):
        stats.expected_errors(bounds=-1)


@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.99])
@pytest.mark.parametrize("seeds", [2, 3, 5, 20, 400, 10_000])
def test_power_is_that_of_the_noncentral_t(seeds: int, confidence: float) -> None:
    critical = scipy_stats.t.ppf((1 + confidence) / 2, seeds - 1)
    for noncentrality in (0.0, 0.5, 1.0, 2.5, 5.0):
        expected = scipy_stats.nct.sf(critical, seeds - 1, noncentrality)
        found = one_sided_power(noncentrality, seeds - 1, confidence)
        assert found == pytest.approx(expected, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("seeds", [2, 5, 100, 10_000])
def test_power_rises_to_1_without_a_gap(seeds: int) -> None:
    powers = [one_sided_power(x, seeds - 1, 0.95) for x in np.geomspace(0.1, 1e6, 200)]
    assert all(0 <= p <= 1 for p in powers)
    assert (np.diff(powers) >= -1e-9).all()
    assert powers[-1] == pytest.approx(1.0)


VALUES = np.array([-1.3, 0.2, 0.9, -0.4, 0.6])  # mean 0, spread 0.88


@pytest.mark.parametrize("side", list(Side))
@pytest.mark.parametrize("bound", [-0.4, 0.4])
def test_a_bounds_detectable_mean_is_decided_four_times_in_five(bound: float, side: Side) -> None:
    found = stats.decide_bound(VALUES, bound, side, scale=Scale.LINEAR, divisor=2)
    assert found.decision is Decision.UNDECIDED
    assert found.detectable is not None
    assert (found.detectable > bound) == (found.estimate > bound)
    z = found.detectable + VALUES.std(ddof=1) * normal(0.0, 5, rng_seed=11)
    met, missed = rates(z, bound_rule(bound, side, 0.95, 2))
    right = (found.estimate < bound) == (side is Side.AT_MOST)
    assert (met if right else missed) == pytest.approx(0.8, abs=noise(0.8))


@pytest.mark.parametrize("bound", [-0.4, 0.4])
def test_a_bound_is_decided_four_times_in_five_with_the_seeds_needed(bound: float) -> None:
    found = stats.decide_bound(VALUES, bound, Side.AT_MOST, scale=Scale.LINEAR)
    rule, spread = bound_rule(bound, Side.AT_MOST, 0.95, 1), VALUES.std(ddof=1)
    assert found.seeds_needed is not None
    assert found.seeds_needed > 5

    def power(seeds: int) -> float:
        return max(rates(found.estimate + spread * normal(0.0, seeds, rng_seed=13), rule))

    assert power(found.seeds_needed) >= 0.8 - noise(0.8)
    assert power(found.seeds_needed - 1) <= 0.8 + noise(0.8)


def test_an_equivalence_undecided_within_says_what_it_would_take() -> None:
    found = stats.decide_equivalence(VALUES, 0.3, 1.0, scale=Scale.LINEAR)
    assert found.decision is Decision.UNDECIDED
    assert found.detectable is None  # five such seeds could not show it even at the target
    assert found.seeds_needed is not None
    z = found.estimate + VALUES.std(ddof=1) * normal(0.0, found.seeds_needed, rng_seed=17)
    met, _ = rates(z, equivalence_rule(-0.7, 1.3, 0.95, 1))
    assert 0.8 - noise(0.8) <= met < 0.85


def test_an_equivalence_detectable_within_is_met_four_times_in_five() -> None:
    found = stats.decide_equivalence(VALUES, 2.6, 3.0, scale=Scale.LINEAR)  # from -0.4 to 5.6
    assert found.decision is Decision.UNDECIDED
    assert found.detectable is not None
    assert -0.4 < found.detectable < 2.6
    z = found.detectable + VALUES.std(ddof=1) * normal(0.0, 5, rng_seed=19)
    met, _ = rates(z, equivalence_rule(-0.4, 5.6, 0.95, 1))
    assert met == pytest.approx(0.8, abs=noise(0.8))


def test_an_equivalence_undecided_outside_plans_for_a_miss() -> None:
    found = stats.decide_equivalence(VALUES, 1.3, 1.0, scale=Scale.LINEAR, divisor=3)
    assert found.decision is Decision.UNDECIDED
    assert found.detectable is not None
    assert found.detectable < found.estimate < 0.3
    z = found.detectable + VALUES.std(ddof=1) * normal(0.0, 5, rng_seed=23)
    _, missed = rates(z, equivalence_rule(0.3, 2.3, 0.95, 3))
    assert missed == pytest.approx(0.8, abs=noise(0.8))


def test_a_detectable_mean_is_in_natural_units_on_every_scale() -> None:
    values = [0.6, 0.95, 0.8, 0.9, 0.7]
    for scale in SCALES:
        found = stats.decide_bound(values, 0.85, Side.AT_LEAST, scale=scale)
        assert found.decision is Decision.UNDECIDED
        assert found.detectable is not None
        y, at = scale.forward(values), float(scale.forward(0.85))
        error = y.std(ddof=1) / math.sqrt(5)
        noncentrality = abs(float(scale.forward(found.detectable)) - at) / error
        expected = scipy_stats.nct.sf(scipy_stats.t.ppf(0.975, 4), 4, noncentrality)
        assert expected == pytest.approx(0.8, abs=1e-5)


def test_no_number_of_seeds_is_promised_where_none_would_do() -> None:
    on_the_bound = stats.decide_bound([-1.0, 1.0, 0.0], 0.0, Side.AT_MOST, scale=Scale.LINEAR)
    assert on_the_bound.decision is Decision.UNDECIDED
    assert on_the_bound.seeds_needed is None
    assert on_the_bound.detectable is not None
    hair = stats.decide_bound([-1.0, 1.0, 0.0], 1e-3, Side.AT_MOST, scale=Scale.LINEAR)
    assert hair.seeds_needed is None
    decided = stats.decide_bound([1.0, 1.1, 0.9], 5.0, Side.AT_MOST, scale=Scale.LINEAR)
    assert (decided.detectable, decided.seeds_needed) == (None, None)


@pytest.mark.parametrize("spread", [5e-324, 1e-300, 1e-17, 1e200])
@pytest.mark.parametrize("bound", [0.0, 1.0])
def test_planning_survives_spreads_at_the_ends_of_the_floats(spread: float, bound: float) -> None:
    values = [bound - spread, bound + spread, bound]
    one = stats.decide_bound(values, bound, Side.AT_MOST, scale=Scale.LINEAR)
    assert (one.detectable is not None) == (one.decision is Decision.UNDECIDED)
    assert one.detectable is None or math.isfinite(one.detectable)


@pytest.mark.parametrize("side", list(Side))
def test_planning_survives_a_spread_of_the_smallest_float(side: Side) -> None:
    found = stats.decide_bound([0.0, 5e-324], 5e-324, side, scale=Scale.LINEAR)
    assert found.decision is Decision.UNDECIDED
    assert found.seeds_needed is not None
    assert found.seeds_needed > 2


@given(seeds_of(0.01, 0.99), RULES, st.sampled_from(SCALES), st.integers(1, 50))
def test_an_undecided_finding_always_asks_for_more(
    values: list[float], rule: Any, scale: Scale, parts: int
) -> None:
    found = decide(values, rule, scale, parts)
    if found.decision is not Decision.UNDECIDED:
        assert (found.detectable, found.seeds_needed) == (None, None)
        return
    if found.seeds_needed is not None:
        assert len(values) < found.seeds_needed <= MOST_SEEDS
    if rule[0] == "bound":
        assert found.detectable is not None
        assert math.isfinite(found.detectable)


# ---------------------------------------------------------------- onset

STEPS = np.arange(0.0, 1001.0, 10.0)


def sigmoid(at: float, width: float) -> Array:
    return np.asarray(1 / (1 + np.exp(-(STEPS - at) / width)))


def test_an_onset_is_where_half_of_the_change_is_crossed() -> None:
    assert stats.onset(STEPS, sigmoid(400, 15), least_change=0.5) == pytest.approx(400, abs=0.1)


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_the_share_says_where_on_the_rise(share: float) -> None:
    found = stats.onset(STEPS, sigmoid(400, 15), share=share, least_change=0.5)
    exact = 400 + 15 * math.log(share / (1 - share))
    interpolation = 10**2 / 8 * abs(1 - 2 * share) / 15  # h²/8 · |f″|/f′ of the sigmoid
    assert found == pytest.approx(exact, abs=1.2 * interpolation + 0.01)


def test_an_onset_is_interpolated_between_observations() -> None:
    found = stats.onset([0, 100, 200, 300], [0.0, 0.0, 0.8, 1.0], least_change=0.1)
    assert found == pytest.approx(100 + 100 * 0.5 / 0.8)


def test_a_falling_quantity_has_the_onset_of_its_mirror() -> None:
    rising = stats.onset(STEPS, sigmoid(400, 15), least_change=0.5)
    falling = stats.onset(STEPS, 3 - 2 * sigmoid(400, 15), least_change=0.5)
    assert falling == pytest.approx(rising)


@pytest.mark.parametrize(
    "values",
    [
        np.full(101, 0.3),
        0.3 + 0.01 * np.sin(STEPS),
        0.4 * sigmoid(400, 15),  # a rise, but below what counts
        sigmoid(300, 15) - sigmoid(600, 15),  # a rise that does not last
        sigmoid(2000, 15),  # a rise that has yet to come
    ],
)
def test_a_change_too_small_has_no_onset(values: Array) -> None:
    assert stats.onset(STEPS, values, least_change=0.5) is None


@pytest.mark.parametrize(("least", "comes"), [(0.4999, True), (0.5001, False)])
def test_a_change_at_the_border_of_what_counts(least: float, comes: bool) -> None:
    values = np.where(STEPS >= 400, 0.5, 0.0)
    assert (stats.onset(STEPS, values, least_change=least) is not None) is comes


def test_the_last_crossing_counts() -> None:
    twice = sigmoid(200, 10) - sigmoid(300, 10) + sigmoid(600, 10)
    assert stats.onset(STEPS, twice, least_change=0.5) == pytest.approx(600, abs=0.5)
    dip_at_the_start = np.concatenate([[0.0, -1.0, -1.0], sigmoid(400, 15)[3:]])
    assert stats.onset(STEPS, dip_at_the_start, least_change=0.5) == pytest.approx(400, abs=1)


def test_noise_on_the_plateaus_leaves_an_onset_in_place() -> None:
    rng = np.random.default_rng(5)
    found = stats.onset(STEPS, sigmoid(400, 10) + rng.normal(0, 0.03, 101), least_change=0.5)
    assert found == pytest.approx(400, abs=10)


def test_a_share_next_to_one_that_rounding_hides_is_crossed_at_the_end() -> None:
    """The mean of ten times 0.03 is a little above 0.03, which no value reaches."""
    values = [0.0] * 90 + [0.03] * 10
    assert np.mean(values[-10:]) > 0.03
    assert stats.onset(range(100), values, share=1 - 2**-53, least_change=0.01) == 99


@given(
    st.floats(100, 700),
    st.floats(3, 40),
    st.floats(0.5, 100),
    st.floats(-50, 50),
    st.floats(0.01, 1000),
)
def test_an_onset_does_not_depend_on_units(
    at: float, width: float, size: float, shift: float, pace: float
) -> None:
    plain = stats.onset(STEPS, sigmoid(at, width), least_change=0.25)
    moved = stats.onset(
        7 + pace * STEPS, shift - size * sigmoid(at, width), least_change=0.25 * size
    )
    assert plain is not None
    assert moved == pytest.approx(7 + pace * plain, rel=1e-6)


@pytest.mark.parametrize(
    ("steps", "values", "options", "text"),
    [
        ([0], [1.0], {}, "two or more"),
        ([0, 1, 2], [1.0, 2.0], {}, "two or more"),
        ([0, 2, 1], [1.0, 2.0, 3.0], {}, "increase"),
        ([0, 1], [1.0, 2.0], {"share": 1.0}, "share"),
        ([0, 1], [1.0, 2.0], {"least_change": 0.0}, "least change"),
    ],
)
def test_an_onset_refuses_what_it_cannot_read(
    steps: list[float], values: list[float], options: dict[str, float], text: str
) -> None:
    with pytest.raises(ValueError, match=text):
        stats.onset(steps, values, **{"least_change": 0.1, **options})
