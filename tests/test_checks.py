"""Every kind of check on synthetic trajectories: the phenomenon present, absent and borderline."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from reproaudit.checks import (
    Check,
    PartResult,
    all_quantities,
    deciding_index,
    judge_conditions,
    measurements,
    part_results,
)
from reproaudit.checks.quantities import Quantity, Sample
from reproaudit.declarations import Axis, Declaration, MeasurementKind, MeasurementMissingError
from reproaudit.judging.outcomes import overall
from reproaudit.records import Measurements, Series
from reproaudit.stats import Decision

MET, MISSED, UNDECIDED = Decision.MET, Decision.MISSED, Decision.UNDECIDED
SEEDS = range(5)
STEPS = tuple(sorted({0, *range(50, 1001, 50), *np.geomspace(1, 1000, 40).round().astype(int)}))
Curve = Callable[[Any], Any]
"""From steps of shape (step,) to values of that shape."""


def declaration(kind: MeasurementKind, *axes: Axis) -> Declaration:
    return Declaration(kind=kind, axes=axes, unit="1", meaning="for the test")


SCALAR = declaration(MeasurementKind.SCALAR)
SERIES = declaration(MeasurementKind.SERIES)


def check(kind: str, **fields: Any) -> Check:
    data = {"kind": kind, "name": "part", "reason": "for the test", **fields}
    one: Check = TypeAdapter(Check).validate_python(data, strict=True)
    return one


def look(name: str, **more: Any) -> dict[str, Any]:
    return {"measurement": name, **more}


def scalars(**values: Sequence[float]) -> list[Sample]:
    """One sample per value, for scalars named by keyword."""
    declared = dict.fromkeys(values, SCALAR)
    many = len(next(iter(values.values())))
    return [
        Sample(i, Measurements(scalars={n: v[i] for n, v in values.items()}), declared, {})
        for i in range(many)
    ]


def curves(
    steps: Sequence[int] | Mapping[str, Sequence[int]] = STEPS,
    noise: float = 0.0,
    seeds: Sequence[int] = SEEDS,
    draw: int = 0,
    **shapes: Curve | Sequence[Curve],
) -> list[Sample]:
    """One sample per seed of series with these shapes (one per seed if several) and noise."""
    declared = dict.fromkeys(shapes, SERIES)
    samples = []
    for i, seed in enumerate(seeds):
        rng = np.random.default_rng([draw, seed])
        series = {}
        for name, shape in shapes.items():
            at = tuple(int(s) for s in (steps[name] if isinstance(steps, Mapping) else steps))
            curve = shape if callable(shape) else shape[i]
            values = curve(np.array(at, dtype=float)) + noise * rng.normal(size=len(at))
            series[name] = Series(steps=at, values=values)
        samples.append(Sample(seed, Measurements(series=series), declared, {}))
    return samples


def judge_parts(
    checks: Sequence[Check], samples: Sequence[Sample], confidence: float = 0.95
) -> tuple[PartResult, ...]:
    return part_results(judge_conditions(checks, samples, confidence))


def judge(one: Check, samples: Sequence[Sample], confidence: float = 0.95) -> PartResult:
    (part,) = judge_parts([one], samples, confidence)
    return part


# --- bounds: aligns, reaches, separates, matches, concentrates --------------------------------

DISTANCE = {"distance": look("x"), "at_most": 0.1}
COSINE = {"cosine": look("x"), "at_least": 0.9}
PRESENT_ABSENT_BORDERLINE = [
    ("aligns", DISTANCE, [0.01, 0.02, 0.03, 0.01, 0.02], MET),
    ("aligns", DISTANCE, [0.9, 0.7, 0.8, 0.9, 0.8], MISSED),
    ("aligns", DISTANCE, [0.05, 0.2, 0.1, 0.04, 0.3], UNDECIDED),
    ("aligns", COSINE, [0.99, 0.98, 0.995, 0.97, 0.99], MET),
    ("aligns", COSINE, [0.1, -0.2, 0.3, 0.0, 0.2], MISSED),
    ("aligns", COSINE, [0.99, 0.7, 0.8, 0.95, 0.9], UNDECIDED),
    ("reaches", {"quantity": look("x"), "at_least": 0.95, "scale": "logit"}, [0.99] * 5, MET),
    ("reaches", {"quantity": look("x"), "at_least": 0.95, "scale": "logit"}, [0.5] * 5, MISSED),
    (
        "reaches",
        {"quantity": look("x"), "at_least": 0.95, "scale": "logit"},
        [0.99, 0.9, 0.95, 0.97, 0.92],
        UNDECIDED,
    ),
    (
        "reaches",
        {"quantity": look("x"), "at_most": 0.0, "scale": "linear"},
        [-9, -9, -8, -9, -8],
        MET,
    ),
    (
        "reaches",
        {"quantity": look("x"), "at_most": 0.0, "scale": "linear"},
        [9, 9, 8, 9, 8],
        MISSED,
    ),
    ("concentrates", {"share": look("x"), "at_least": 0.9}, [0.99, 0.999, 0.98, 0.99, 0.99], MET),
    ("concentrates", {"share": look("x"), "at_least": 0.9}, [0.2, 0.3, 0.25, 0.1, 0.2], MISSED),
    ("concentrates", {"share": look("x"), "at_least": 0.9}, [0.5, 0.99, 0.9, 0.95], UNDECIDED),
    (
        "matches",
        {"quantity": look("x"), "target": 2.0, "margin": 0.1},
        [2.01, 1.99, 2.0, 2.02, 2.0],
        MET,
    ),
    (
        "matches",
        {"quantity": look("x"), "target": 2.0, "margin": 0.1},
        [2.51, 2.49, 2.5, 2.52, 2.5],
        MISSED,
    ),
    (
        "matches",
        {"quantity": look("x"), "target": 2.0, "margin": 0.1},
        [2.2, 1.8, 2.1, 2.0],
        UNDECIDED,
    ),
    (
        "matches",
        {"quantity": look("x"), "target": 0.0, "margin": 0.1},
        [0.0, 0.01, -0.01, 0.02, 0.0],
        MET,
    ),
]


@pytest.mark.parametrize(("kind", "fields", "values", "expected"), PRESENT_ABSENT_BORDERLINE)
def test_bounds_over_the_mean(
    kind: str, fields: dict[str, Any], values: list[float], expected: Decision
) -> None:
    part = judge(check(kind, **fields), scalars(x=values))
    assert part.decision is expected
    assert part.result.interval is not None
    assert part.result.per_seed == tuple(float(v) for v in values)


PAIRS = [
    ("separates", {"lower": look("a"), "upper": look("b"), "by": 1.0}, MET),
    ("separates", {"lower": look("b"), "upper": look("a"), "by": 1.0}, MISSED),
    ("separates", {"lower": look("a"), "upper": look("b"), "by": 1.25}, UNDECIDED),
    (
        "matches",
        {"quantity": look("b"), "reference": look("a"), "margin": 0.5, "scale": "log"},
        MET,
    ),
    (
        "matches",
        {"quantity": look("b"), "reference": look("a"), "margin": 0.05, "scale": "log"},
        MISSED,
    ),
    (
        "reaches",
        {"quantity": look("b"), "relative_to": look("a"), "at_most": 1.5, "scale": "log"},
        MET,
    ),
]


LINEAR_PAIRS = [
    ("separates", {"lower": look("a"), "upper": look("b"), "by": 0.5, "scale": "linear"}, MET),
    ("separates", {"lower": look("a"), "upper": look("b"), "by": 2.0, "scale": "linear"}, MISSED),
    ("matches", {"quantity": look("b"), "reference": look("a"), "margin": 1.5}, MET),
    ("matches", {"quantity": look("b"), "reference": look("a"), "margin": 0.5}, MISSED),
    (
        "reaches",
        {"quantity": look("b"), "relative_to": look("a"), "at_most": 0.0, "scale": "linear"},
        MISSED,
    ),
]


@pytest.mark.parametrize(("kind", "fields", "expected"), LINEAR_PAIRS)
def test_differences_within_a_seed(kind: str, fields: dict[str, Any], expected: Decision) -> None:
    """Seeds are hundreds apart, the pair about 1."""
    shared = np.array([-500.0, 50.0, 500.0, 20.0, 8.0])
    samples = scalars(a=shared, b=shared + np.array([1.0, 1.2, 0.9, 1.1, 1.0]))
    assert judge(check(kind, **fields), samples).decision is expected


@pytest.mark.parametrize(("kind", "fields", "expected"), PAIRS)
def test_pairs_of_a_seed(kind: str, fields: dict[str, Any], expected: Decision) -> None:
    """Seeds differ a hundredfold, what is paired by a fifth to a third: only pairing sees it."""
    shared = np.array([5.0, 50.0, 500.0, 20.0, 8.0])
    ratio = np.array([1.2, 1.3, 1.22, 1.28, 1.25])
    samples = scalars(a=shared, b=shared * ratio)
    assert judge(check(kind, **fields), samples).decision is expected
    if kind == "separates" and expected is MET:
        swapped = scalars(a=shared, b=(shared * ratio)[::-1])
        assert judge(check(kind, **fields), swapped).decision is UNDECIDED


@pytest.mark.parametrize(
    ("values", "satisfied", "expected"),
    [([0.05] * 5, 5, MET), ([0.05] * 4 + [0.2], 4, MISSED), ([0.1] * 5, 5, MET)],
)
def test_over_every_seed_is_a_count(
    values: list[float], satisfied: int, expected: Decision
) -> None:
    part = judge(check("aligns", over="every_seed", **DISTANCE), scalars(x=values))
    assert (part.decision, part.result.satisfied) == (expected, satisfied)
    assert part.result.interval is None


def test_every_seed_of_an_equivalence() -> None:
    one = check(
        "matches", over="every_seed", quantity=look("x"), target=1.0, margin=0.1, scale="log"
    )
    assert judge(one, scalars(x=[1.0, 1.05, 0.95])).decision is MET
    part = judge(one, scalars(x=[1.0, 1.2, 0.95]))
    assert (part.decision, part.result.satisfied) == (MISSED, 2)
    growth = check("grows_like", over="every_seed", **LOGARITHM)
    wild = [np.log1p, np.log1p, np.log1p, np.log1p, np.sqrt]
    assert judge(growth, curves(x=wild)).decision is MISSED


def test_the_floor_is_the_resolution() -> None:
    """A distance of exactly 0 is one below the floor, not minus infinity."""
    exact = judge(check("aligns", **DISTANCE), scalars(x=[0.0] * 5))
    assert exact.decision is MET
    assert exact.result.estimate == pytest.approx(1e-12)
    coarse = judge(check("aligns", floor=1e-3, **DISTANCE), scalars(x=[0.0, 1e-9, 1e-6, 0.0, 0.0]))
    assert coarse.result.estimate == pytest.approx(1e-3)
    assert coarse.decision is MET


def test_rounding_above_one_is_one_only_within_the_floor() -> None:
    share = {"share": look("x"), "at_least": 0.9}
    above = scalars(x=[1.0 + 1e-7, 1.0, 0.9999999, 1.0, 1.0])
    assert judge(check("concentrates", floor=1e-6, **share), above).decision is MET
    with pytest.raises(ValueError, match="above 1"):
        judge(check("concentrates", **share), above)


# --- converges ----------------------------------------------------------------------------------

CONVERGES = {
    "loss": look("x"),
    "continued": look("c"),
    "falls_by": 10.0,
    "settles_within": 1.05,
}


def trained_on(samples: Sequence[Sample], lowers: float = 1.001) -> list[Sample]:
    """Samples of a loss x, with the loss c that training on by this factor ends at."""
    return [
        Sample(
            s.seed,
            Measurements(
                scalars={"c": float(s.measurements.series["x"].values[-1]) / lowers},
                series=s.measurements.series,
            ),
            {**s.declarations, "c": SCALAR},
            {},
        )
        for s in samples
    ]


def decay(end: float, rate: float = 0.02) -> Curve:
    return lambda t: end + (1 - end) * np.exp(-rate * t)


@pytest.mark.parametrize(
    ("curve", "lowers", "expected", "binds"),
    [
        (decay(0.01), 1.001, MET, "training on"),
        (decay(0.01), 1 / 1.2, UNDECIDED, "training on changes the loss"),
        (decay(0.5), 1.001, MISSED, "falls by a factor"),
        (decay(0.01), 1.2, MISSED, "training on changes the loss"),
        (lambda t: np.ones_like(t), 1.001, MISSED, "falls by a factor"),
        (lambda t: 1 + t, 1.001, MISSED, "falls by a factor"),
    ],
    ids=["present", "training on raises", "falls too little", "does not settle", "flat", "rises"],
)
def test_converges(curve: Curve, lowers: float, expected: Decision, binds: str) -> None:
    part = judge(check("converges", **CONVERGES), trained_on(curves(x=curve), lowers))
    assert part.decision is expected
    assert binds in part.label or expected is MET


def test_without_the_continued_loss_settling_is_not_tested() -> None:
    """A rate that has decayed makes any loss flat, so that flatness alone shows nothing."""
    unmeasured = check("converges", **{**CONVERGES, "continued": None})
    part = judge(unmeasured, curves(x=decay(0.01)))
    assert (part.decision, part.result.decision) == (UNDECIDED, UNDECIDED)
    assert "settled is not measured" in str(part.untested)
    assert judge(unmeasured, curves(x=decay(0.5))).decision is MISSED
    assert (
        judge(check("converges", **CONVERGES), trained_on(curves(x=decay(0.01)))).untested is None
    )


def test_converges_borderline() -> None:
    ends = [0.05, 0.2, 0.08, 0.15, 0.1]
    samples = trained_on(curves(x=[decay(end) for end in ends]))
    assert judge(check("converges", **CONVERGES), samples).decision is UNDECIDED


# --- concentrates, of the rest ------------------------------------------------------------------


def test_concentrates_judges_the_rest_of_the_way() -> None:
    """From 0.8 to 0.9 is high, but half of the way only; from 0.8 to 0.99 is 95 % of it."""
    one = check("concentrates", share=look("x"), at_least=0.9, of_the_rest=True)
    level = check("concentrates", share=look("x"), at_least=0.85)

    def rises(end: float) -> Curve:
        return lambda t: 0.8 + (end - 0.8) * (1 - np.exp(-t / 50))

    assert judge(level, curves(x=rises(0.9))).decision is MET
    assert judge(one, curves(x=rises(0.9))).decision is MISSED
    assert judge(one, curves(x=rises(0.99))).decision is MET
    assert judge(one, curves(x=[rises(e) for e in (0.96, 0.99, 0.999, 0.94, 0.98)])).decision is (
        UNDECIDED
    )
    assert judge(one, curves(x=rises(0.5))).decision is MISSED, "it may fall as well"
    assert judge(one, curves(x=lambda t: np.ones_like(t))).decision is MISSED, "nothing was left"


# --- ordered onsets -----------------------------------------------------------------------------

ORDERED = {
    "earlier": look("a"),
    "later": look("b"),
    "earlier_change": 0.3,
    "later_change": 0.3,
    "by": 1.5,
    "plateau": 0.2,
}


def rise(at: float, width: float = 0.1, height: float = 1.0) -> Curve:
    """From 0 to the height, around a step; the width is relative to it."""
    return lambda t: height / (1 + np.exp(-(t - at) / (width * at)))


def ordered(samples: Sequence[Sample], **changes: Any) -> PartResult:
    return judge(check("ordered_onsets", **{**ORDERED, **changes}), samples)


def sharp(at: float) -> Curve:
    return lambda t: (t >= at).astype(float)


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (rise(100), rise(400), MET),
        (rise(400), rise(100), MISSED),
        (rise(300), rise(300), MISSED),
        (rise(100, height=-1.0), rise(400, height=-1.0), MET),
        (sharp(0.5), rise(400), MET),
        (rise(400), sharp(0.5), MISSED),
        (sharp(0.5), sharp(0.7), MISSED),
        (rise(100), lambda t: 0 * t, MISSED),
        (lambda t: 0 * t, rise(100), MISSED),
        (lambda t: 0 * t, lambda t: 0 * t, MISSED),
        (rise(100), rise(400, height=0.2), MISSED),
        (rise(100), lambda t: np.exp(-(((t - 400) / 100) ** 2)), MISSED),
        (rise(100), rise(920, width=0.01), MET),
        (sharp(830), sharp(960), MISSED),
    ],
    ids=[
        "present",
        "reversed",
        "together",
        "falling changes",
        "the first at once",
        "the second at once",
        "both at once",
        "the second never",
        "the first never",
        "neither",
        "the second too small",
        "the second reverses",
        "the second near the end",
        "both near the end",
    ],
)
def test_ordered_onsets(a: Curve, b: Curve, expected: Decision) -> None:
    assert ordered(curves(a=a, b=b)).decision is expected


@pytest.mark.parametrize("over", ["mean", "every_seed"])
def test_what_never_moves_has_no_place_in_an_order(over: str) -> None:
    """Where the earlier change never comes, that is missed, and the rest shows nothing."""
    one = check("ordered_onsets", over=over, **ORDERED)
    judged = judge_conditions([one], curves(a=lambda t: 0 * t, b=rise(100)), 0.95)
    found = {each.condition.name: each.result.decision for each in judged}
    assert found == {"come": MISSED, "order": UNDECIDED, "waits": UNDECIDED}
    judged = judge_conditions([one], curves(a=rise(100), b=lambda t: 0 * t), 0.95)
    assert judged[0].result.decision is MISSED


def test_both_near_the_end_are_ordered_where_they_are_far_enough_apart() -> None:
    """Four fifths of the time show neither change, which says nothing against the order."""
    steps = range(0, 1001, 5)
    late = curves(steps=steps, a=sharp(821), b=sharp(972))
    assert ordered(late, by=1.1).decision is MET


def test_a_met_order_shows_the_ratio_and_a_change_that_never_comes_the_count() -> None:
    later = [rise(at) for at in (400, 420, 390, 410, 405)]
    assert ordered(curves(a=rise(100), b=later)).label == "part: ratio of the onsets"
    never = ordered(curves(a=rise(100), b=[rise(400)] * 4 + [lambda t: 0 * t]))
    assert (never.decision, never.label) == (MISSED, "part: both changes come")
    assert never.result.satisfied == 4


def test_an_order_that_hangs_on_the_share_is_undecided() -> None:
    """A slow change against a sudden one: after it at a share of 0.6, not at 0.4."""
    samples = curves(steps=range(0, 1001, 10), a=sharp(330), b=lambda t: t / 1000)
    part = ordered(samples, by=1.3, plateau=0.5)
    assert part.decision is UNDECIDED
    assert part.result.estimate < 1.3


@pytest.mark.parametrize("ratio", [2.5, 3.0, 4.0])
def test_two_speeds_from_the_start_are_no_stages(ratio: float) -> None:
    """Both logits rise linearly from step 0: the onsets are far apart, and nothing waits."""

    def logit(speed: float) -> Curve:
        return lambda t: 1 / (1 + np.exp(-speed * t / 100))

    samples = curves(steps=range(0, 1001, 5), a=logit(ratio), b=logit(1.0))
    part = ordered(samples, earlier_change=0.25, later_change=0.25)
    assert part.decision is MISSED
    assert part.label == "part: share of the later change made when the earlier one has come"
    assert judge(check("ordered_onsets", **{**ORDERED, "plateau": 0.9}), samples).decision is MET


def test_a_plateau_that_seeds_disagree_about_is_open() -> None:
    def leak(share: float) -> Curve:
        return lambda t: share * np.minimum(t / 100, 1) + (1 - share) * rise(500)(t)

    samples = curves(a=rise(100), b=[leak(share) for share in (0.05, 0.3, 0.1, 0.35, 0.2)])
    assert ordered(samples).decision is UNDECIDED


def test_a_later_quantity_that_is_first_destroyed_has_not_waited() -> None:
    """It moves the other way while the earlier one comes, and recovers afterwards."""

    def undone(t: Any) -> Any:
        return np.asarray(-0.5 * np.minimum(t / 100, 1) + 1.5 * rise(500)(t))

    part = ordered(curves(a=rise(100), b=undone))
    assert part.decision is MISSED
    assert part.label == "part: share of the later change made when the earlier one has come"


def test_seeds_that_disagree_leave_the_order_open() -> None:
    mixed = [rise(150), rise(400), rise(120), rise(300), rise(220)]
    assert ordered(curves(a=rise(150), b=mixed)).decision is UNDECIDED


@pytest.mark.parametrize("at", [3.0, 42.0, 130.0, 480.0])
@pytest.mark.parametrize(
    ("often", "seldom"), [("a", "b"), ("b", "a")], ids=["later seldom", "earlier seldom"]
)
def test_changes_that_come_together_are_never_ordered_by_the_grid(
    at: float, often: str, seldom: str
) -> None:
    steps = {often: range(1001), seldom: range(0, 1001, 100)}
    assert ordered(curves(steps=steps, a=sharp(at), b=sharp(at))).decision is not MET


def test_too_few_looks_leave_the_order_open() -> None:
    """The true ratio is 1.7; looked at every 100 steps it may be anything from 1 to 3."""
    steps = range(0, 1001, 100)
    assert ordered(curves(steps=steps, a=sharp(150), b=sharp(255))).decision is UNDECIDED
    assert ordered(curves(steps=range(0, 1001, 5), a=sharp(150), b=sharp(255))).decision is MET


def test_a_series_of_one_observation_has_no_onset() -> None:
    with pytest.raises(ValueError, match="two or more steps"):
        ordered(curves(steps=[0], a=rise(1), b=rise(1)))


def test_spans_may_differ() -> None:
    """The first series was looked at in a first stage only."""
    steps = {"a": range(0, 301, 10), "b": range(0, 1001, 10)}
    assert ordered(curves(steps=steps, a=sharp(95), b=sharp(395))).decision is MET


# --- growth laws --------------------------------------------------------------------------------

LOGARITHM = {
    "quantity": look("x"),
    "law": "logarithm",
    "rival_exponent": 0.1,
    "least_growth": 1.0,
}
LINEAR = {**LOGARITHM, "law": "power", "exponent": 1.0}
SQRT = {**LOGARITHM, "law": "power", "exponent": 0.5}
GRID = tuple(sorted({0, *np.geomspace(1, 5000, 60).round().astype(int), *range(100, 5001, 100)}))


def grows(samples: Sequence[Sample], law: Mapping[str, Any] = LOGARITHM) -> PartResult:
    return judge(check("grows_like", **law), samples)


def saturating(t: Any) -> Any:
    return 5 * (1 - np.exp(-t / 200))


@pytest.mark.parametrize(
    ("curve", "law", "expected"),
    [
        (lambda t: np.log1p(t), LOGARITHM, MET),
        (lambda t: 3 * np.log1p(t / 40), LOGARITHM, MET),
        (lambda t: 3 * np.log1p(t / 1000), LOGARITHM, UNDECIDED),
        (lambda t: 5 * t**0.1, LOGARITHM, MISSED),
        (lambda t: 5 * t**0.28, LOGARITHM, MISSED),
        (lambda t: 5 * (1 - np.exp(-1.925 * t / 5000)), LOGARITHM, MISSED),
        (lambda t: 5 * t / (t + 2500), LOGARITHM, MISSED),
        (lambda t: t, LOGARITHM, MISSED),
        (np.sqrt, LOGARITHM, MISSED),
        (saturating, LOGARITHM, MISSED),
        (lambda t: np.minimum(t, 500.0), LOGARITHM, MISSED),
        (lambda t: -np.log1p(t), LOGARITHM, MISSED),
        (lambda t: 0 * t, LOGARITHM, MISSED),
        (lambda t: np.log1p(t) * 0.01, LOGARITHM, MISSED),
        (lambda t: 8 * np.log1p(t) - t / 200, LOGARITHM, MISSED),
        (lambda t: saturating(t) - t / 5000, LOGARITHM, MISSED),
        (lambda t: t, LINEAR, MET),
        (np.log1p, LINEAR, MISSED),
        (np.sqrt, LINEAR, MISSED),
        (np.sqrt, SQRT, MET),
        (lambda t: t, SQRT, MISSED),
    ],
    ids=[
        "log",
        "log with a delay",
        "log with a long delay",
        "tenth power",
        "power of 0.28",
        "exponential of equal gains",
        "hyperbola of equal gains",
        "linear is no log",
        "root is no log",
        "saturated",
        "stopped",
        "falls like a log",
        "flat",
        "grows too little",
        "slows down",
        "saturated and falling back",
        "linear",
        "log is not linear",
        "root is not linear",
        "root",
        "linear is no root",
    ],
)
def test_growth_laws(curve: Curve, law: Mapping[str, Any], expected: Decision) -> None:
    assert grows(curves(steps=GRID, x=curve), law).decision is expected


def test_growth_borderline() -> None:
    """Half of the seeds grow like a logarithm, half like a power that is just a rival."""
    scatter = [np.log1p, lambda t: 3 * t**0.1, np.log1p, lambda t: 3 * t**0.1, np.log1p]
    assert grows(curves(steps=GRID, x=scatter)).decision is UNDECIDED


def test_a_tie_of_laws_in_much_noise_is_undecided() -> None:
    part = grows(curves(steps=GRID, noise=0.2, x=np.log1p))
    assert part.decision is UNDECIDED
    assert "misfit of the rival" in part.label


@pytest.mark.parametrize("exponent", [0.25, 0.5, 1.0, 2.0])
def test_the_law_beats_its_rivals_where_it_is_exact(exponent: float) -> None:
    one = check("grows_like", **{**LINEAR, "exponent": exponent})
    samples = curves(steps=range(0, 2001, 5), x=lambda t: t**exponent)
    _, *against = one.conditions()
    assert len(against) == 3, "power, bounded, logarithm"
    assert all(c.value(samples[0]) > 100 for c in against)
    assert judge(one, samples).decision is MET


def test_growth_that_was_hardly_looked_at_cannot_be_judged() -> None:
    with pytest.raises(ValueError, match="4 observations in the last 75% of training"):
        grows(curves(steps=[0, 100, 500, 700, 800, 1000], x=np.log1p))


# --- false positives, on nulls ------------------------------------------------------------------

DRAWS = 120
"""A rate of 2.5 % passes 8 of 120 with probability 0.997, one of 10 % with probability 0.13."""
MOST = 8


def met(one: Check, null: Callable[[int], Sequence[Sample]]) -> int:
    return sum(judge(one, null(draw)).decision is MET for draw in range(DRAWS))


FEW = tuple(range(0, 1001, 25))


def at_the_bound(draw: int) -> list[Sample]:
    """Losses that fall, over seeds, by just the factor claimed on the mean (log scale)."""
    rng = np.random.default_rng(draw)
    ends = 0.1 * np.exp(0.3 * rng.normal(size=5))
    shapes = [lambda t, e=e: e + (1 - e) * np.exp(-t / 20) for e in ends]
    return trained_on(curves(steps=FEW, x=shapes))


def onsets_at_the_bound(draw: int) -> list[Sample]:
    """Ratios of the onsets that scatter around the claimed one."""
    rng = np.random.default_rng(draw)
    later = 200 * 1.5 * np.exp(0.2 * rng.normal(size=5))
    return curves(steps=FEW, a=rise(200), b=[rise(at) for at in later])


def same_law(draw: int) -> list[Sample]:
    """Onsets of both series drawn from one law: neither comes first."""
    rng = np.random.default_rng(draw)
    a, b = 300 * np.exp(0.5 * rng.normal(size=(2, 5)))
    return curves(steps=FEW, a=[rise(at) for at in a], b=[rise(at) for at in b])


NULLS: list[tuple[str, dict[str, Any], Callable[[int], list[Sample]], int]] = [
    # on the bound itself the rate is at most 2.5 %, one end of a 95 % interval
    ("converges", CONVERGES, at_the_bound, MOST),
    ("ordered_onsets", ORDERED, onsets_at_the_bound, MOST),
    # beyond it, none at all among 120 (a rate below 2.5 % with confidence 95 %)
    (
        "converges",
        CONVERGES,
        lambda d: trained_on(curves(FEW, 0.1, draw=d, x=lambda t: 1 + 0 * t)),
        0,
    ),
    (
        "ordered_onsets",
        ORDERED,
        lambda d: curves(FEW, 0.1, draw=d, a=lambda t: 0 * t, b=lambda t: 0 * t),
        0,
    ),
    ("ordered_onsets", ORDERED, lambda d: curves(FEW, 0.05, draw=d, a=rise(300), b=rise(300)), 0),
    ("ordered_onsets", {**ORDERED, "by": 1.0}, same_law, MOST),
    ("grows_like", LOGARITHM, lambda d: curves(GRID, 0.02, draw=d, x=saturating), 0),
    ("grows_like", LOGARITHM, lambda d: curves(GRID, 0.5, draw=d, x=saturating), 0),
    ("grows_like", LOGARITHM, lambda d: curves(GRID, 0.05, draw=d, x=lambda t: t / 1000), 0),
    ("grows_like", LOGARITHM, lambda d: curves(GRID, 0.05, draw=d, x=lambda t: np.sqrt(t) / 9), 0),
    ("grows_like", LOGARITHM, lambda d: curves(GRID, 1.0, draw=d, x=lambda t: 0 * t), 0),
    (
        "concentrates",
        {"share": look("x"), "at_least": 0.9, "of_the_rest": True},
        lambda d: curves(FEW, 0.02, draw=d, x=lambda t: 0.8 + 0 * t),
        0,
    ),
]


@pytest.mark.parametrize(
    ("kind", "fields", "null", "most"),
    NULLS,
    ids=[
        "a fall on the bound",
        "onsets on the bound",
        "noise does not converge",
        "noise has no order",
        "noisy onsets together",
        "onsets of one law",
        "saturated",
        "saturated in much noise",
        "linear in noise",
        "root in noise",
        "noise does not grow",
        "noise does not concentrate",
    ],
)
def test_false_positives(
    kind: str, fields: dict[str, Any], null: Callable[[int], list[Sample]], most: int
) -> None:
    assert met(check(kind, **fields), null) <= most


@pytest.mark.parametrize(
    ("kind", "fields", "truth"),
    [
        ("converges", CONVERGES, lambda d: trained_on(curves(FEW, 0.0002, draw=d, x=decay(0.02)))),
        ("ordered_onsets", ORDERED, lambda d: curves(FEW, 0.02, draw=d, a=rise(150), b=rise(500))),
        ("grows_like", LOGARITHM, lambda d: curves(GRID, 0.003, draw=d, x=np.log1p)),
    ],
    ids=["converges", "ordered onsets", "grows like a log"],
)
def test_the_phenomenon_is_seen_through_noise(
    kind: str, fields: dict[str, Any], truth: Callable[[int], list[Sample]]
) -> None:
    one = check(kind, **fields)
    assert sum(judge(one, truth(draw)).decision is MET for draw in range(40)) >= 36


# --- parts --------------------------------------------------------------------------------------


def layered(values: Sequence[Sequence[float]], axis: Axis | None = None) -> list[Sample]:
    """Samples of an array "x" over layers 1, 2, 3."""
    axis = axis or Axis(name="layer", values=(1, 2, 3))
    declared = {"x": declaration(MeasurementKind.ARRAY, axis)}
    return [
        Sample(i, Measurements(arrays={"x": np.array(v)}), declared, {"layers": (1, 2, 3)})
        for i, v in enumerate(values)
    ]


GOOD = [
    [0.01, 0.02, 0.03],
    [0.011, 0.021, 0.031],
    [0.012, 0.019, 0.032],
    [0.01, 0.022, 0.029],
    [0.01, 0.02, 0.03],
]


def test_each_coordinate_is_a_part() -> None:
    one = check("aligns", each="layer", **DISTANCE)
    parts = judge_parts([one], layered(GOOD), 0.95)
    assert [p.name for p in parts] == [f"part, layer {n}" for n in (1, 2, 3)]
    assert [p.result.per_seed[0] for p in parts] == [0.01, 0.02, 0.03]
    assert overall([p.decision for p in parts]) is MET
    by_setting = layered(GOOD, Axis(name="layer", setting="layers"))
    assert judge_parts([one], by_setting, 0.95) == parts


def test_among_narrows_the_parts() -> None:
    one = check("aligns", each="layer", among=(3, 1), **DISTANCE)
    parts = judge_parts([one], layered(GOOD), 0.95)
    assert [p.name for p in parts] == ["part, layer 1", "part, layer 3"], "in the axis's order"


def test_a_claim_is_missed_if_one_part_is_and_undecided_if_one_is_open() -> None:
    one = check("aligns", each="layer", **DISTANCE)
    bad = [[*row[:2], 0.9 + 0.01 * i] for i, row in enumerate(GOOD)]
    assert [p.decision for p in judge_parts([one], layered(bad), 0.95)] == [MET, MET, MISSED]
    open_ = [[*row[:2], x] for row, x in zip(GOOD, (0.05, 0.2, 0.1, 0.12, 0.1), strict=True)]
    decisions = [p.decision for p in judge_parts([one], layered(open_), 0.95)]
    assert decisions == [MET, MET, UNDECIDED]
    assert overall(decisions) is UNDECIDED
    assert overall([MISSED, UNDECIDED, MET]) is MISSED


ROW = [0.12, 0.13, 0.18, 0.2, 0.11]
"""A distance that is missed alone, at 95 %, and at no smaller error."""


def of_distances(**values: Sequence[float]) -> tuple[list[Check], list[Sample]]:
    """A claim of one check for each name, in order, on these distances."""
    checks = [check("aligns", name=n, distance=look(n), at_most=0.1) for n in values]
    return checks, scalars(**values)


def confidences(parts: Sequence[PartResult]) -> list[float]:
    return [p.result.interval.confidence if p.result.interval else 0.0 for p in parts]


def test_a_part_that_is_missed_alone_is_open_beside_others() -> None:
    """Met needs no correction; the error of a miss is shared."""
    assert judge(check("aligns", **DISTANCE), scalars(x=ROW)).decision is MISSED
    one = check("aligns", each="layer", **DISTANCE)
    parts = judge_parts([one], layered([[0.01, 0.01, x] for x in ROW]), 0.95)
    assert [p.decision for p in parts] == [MET, MET, UNDECIDED]
    assert confidences(parts) == pytest.approx([0.95, 0.95, 1 - 0.05 / 3])


def test_the_first_check_has_half_of_the_error_and_the_others_share_the_rest() -> None:
    checks, samples = of_distances(a=ROW, b=ROW, c=ROW, d=ROW)
    parts = judge_parts(checks, samples)
    assert [p.decision for p in parts] == [UNDECIDED] * 4
    assert confidences(parts) == pytest.approx([1 - 0.05 / 2, *[1 - 0.05 / 6] * 3])


def test_a_missed_part_leaves_its_share_to_the_others() -> None:
    """Holm: two clear misses among the others; the one that is left has all of their half."""
    far = [0.8, 0.81, 0.79, 0.8, 0.82]
    parts = judge_parts(*of_distances(a=ROW, b=far, c=far, d=ROW))
    assert [p.decision for p in parts] == [UNDECIDED, MISSED, MISSED, UNDECIDED]
    assert confidences(parts)[3] == pytest.approx(1 - 0.05 / 2)
    parts = judge_parts(*of_distances(a=far, b=ROW))
    assert [p.decision for p in parts] == [MISSED, MISSED], "the primary's half passes on"
    parts = judge_parts(*of_distances(a=ROW, b=far, c=far))
    assert [p.decision for p in parts] == [MISSED, MISSED, MISSED]


def test_a_count_takes_no_share_of_the_error() -> None:
    checks, samples = of_distances(a=ROW, b=ROW)
    counted = [checks[0].model_copy(update={"over": "every_seed"}), checks[1]]
    parts = judge_parts(counted, samples)
    assert [p.decision for p in parts] == [MISSED, MISSED]
    assert confidences(parts)[1] == 0.95


def test_both_conditions_of_a_first_check_are_primary() -> None:
    """converges has two conditions, which share the half; the other check has the other half."""
    course = Series(steps=(0, 900, 1000), values=[1, 0.01, 0.01])
    samples = [
        Sample(
            i,
            Measurements(scalars={"d": d, "c": 0.01 * d}, series={"x": course}),
            {"x": SERIES, "d": SCALAR, "c": SCALAR},
            {},
        )
        for i, d in enumerate([0.98, 0.95, 0.90])
    ]
    aligned = check("aligns", name="other", distance=look("d"), at_most=0.94)
    first, other = judge_conditions([check("converges", **CONVERGES), aligned], samples, 0.95)[1:]
    assert first.result.interval is not None
    assert first.result.interval.confidence == pytest.approx(1 - 0.05 / 4)
    assert other.result.interval is not None
    assert other.result.interval.confidence == pytest.approx(1 - 0.05 / 2)


def test_the_deciding_part_is_the_worst_then_the_closest() -> None:
    def result(values: Sequence[float], **more: Any) -> Any:
        return judge(check("aligns", **DISTANCE, **more), scalars(x=values)).result

    far, near = result([0.010, 0.011, 0.012] * 2), result([0.06, 0.07, 0.08] * 2)
    missed, open_ = result([0.5, 0.51, 0.52] * 2), result([0.05, 0.2, 0.1] * 2)
    count = result([0.01] * 3, over="every_seed")
    assert deciding_index([far, near, count]) == 1
    assert deciding_index([near, open_]) == 1
    assert deciding_index([open_, missed, near]) == 1
    assert deciding_index([open_, missed], worst=MET) == 0
    assert deciding_index([near, missed], worst=MET) == 0


def test_one_run_of_five_on_the_wrong_side_leaves_a_mean_undecided() -> None:
    """Half of the runs stuck just beyond the bound: the interval alone met one audit in six."""
    stuck = judge(check("aligns", **DISTANCE), scalars(x=[0.001, 0.001, 0.0011, 0.0011, 0.105]))
    assert stuck.result.interval is not None
    assert stuck.result.interval.high < 0.1
    assert stuck.decision is UNDECIDED
    four = judge(check("aligns", **DISTANCE), scalars(x=[0.001, 0.0011, 0.001, 0.0011]))
    assert four.decision is UNDECIDED, "four runs are too few for a count"


def test_the_third_look_counts_nine_runs() -> None:
    """It has a ninth of the error of the first: nine runs can be counted so surely, eight not."""
    third = 1 - 0.05 * 6 / (9 * np.pi**2)
    for runs, decision in ((8, UNDECIDED), (9, MET)):
        clear = scalars(x=[0.001 + 0.0001 * run for run in range(runs)])
        (part,) = judge_parts([check("aligns", **DISTANCE)], clear, third)
        assert part.decision is decision


def test_one_seed_decides_nothing_over_the_mean() -> None:
    part = judge(check("aligns", **DISTANCE), scalars(x=[0.01]))
    assert (part.decision, part.result.interval) == (UNDECIDED, None)


# --- what a record lacks ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("samples", "quantity", "text"),
    [
        (scalars(y=[1.0]), look("x"), "no measurement 'x' is declared"),
        (
            [Sample(3, Measurements(), scalars(x=[1.0])[0].declarations, {})],
            look("x"),
            "the record of seed 3 has no 'x'",
        ),
        (layered(GOOD), look("x"), "needs a coordinate on its axis 'layer'"),
        (layered(GOOD), look("x", at={"layer": 4}), "'x' has no layer 4"),
        (layered([[1.0, 2.0]]), look("x", at={"layer": 1}), "shape (2,); the audit declares (3,)"),
        (
            [Sample(0, Measurements(scalars={"x": 1.0}), layered(GOOD)[0].declarations, {})],
            look("x", at={"layer": 1}),
            "has 'x', but not as the declared array",
        ),
    ],
    ids=["undeclared", "unmeasured", "no coordinate", "bad coordinate", "shape", "kind"],
)
def test_what_is_missing_is_told(
    samples: list[Sample], quantity: dict[str, Any], text: str
) -> None:
    one = check("aligns", distance=quantity, at_most=0.1)
    with pytest.raises(MeasurementMissingError) as error:
        judge(one, samples)
    assert text in str(error.value)


def test_each_needs_its_axis() -> None:
    with pytest.raises(MeasurementMissingError, match="no axis 'depth'"):
        judge(check("aligns", each="depth", **DISTANCE), layered(GOOD))


def test_an_empty_series_is_told() -> None:
    sample = Sample(
        0,
        Measurements(series={"x": Series(steps=(), values=np.zeros(0))}),
        curves(x=np.log1p)[0].declarations,
        {},
    )
    with pytest.raises(MeasurementMissingError, match="no observation of 'x'"):
        judge(check("aligns", **DISTANCE), [sample])


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("aligns", {"distance": look("x")}),
        ("aligns", {**DISTANCE, **COSINE}),
        ("aligns", {"distance": look("x"), "at_least": 0.5}),
        ("reaches", {"quantity": look("x"), "scale": "log"}),
        ("reaches", {"quantity": look("x"), "scale": "log", "at_least": 1.0, "at_most": 2.0}),
        (
            "reaches",
            {"quantity": look("x"), "relative_to": look("y"), "scale": "logit", "at_least": 0.5},
        ),
        ("matches", {"quantity": look("x"), "margin": 0.1}),
        ("matches", {"quantity": look("x"), "margin": 0.1, "target": 1.0, "reference": look("y")}),
        ("separates", {"lower": look("x"), "upper": look("y"), "by": 0.5}),
        ("grows_like", {**LOGARITHM, "exponent": 1.0}),
        ("grows_like", {**LOGARITHM, "law": "power"}),
        ("concentrates", {"share": look("x"), "at_least": 1.0}),
        ("ordered_onsets", {**ORDERED, "by": 0.5}),
        ("converges", {**CONVERGES, "falls_by": 1.0}),
        ("unknown", {}),
    ],
)
def test_rules_that_say_nothing_are_refused(kind: str, fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        check(kind, **fields)


def test_every_quantity_is_listed() -> None:
    checks = [check("aligns", **DISTANCE), check("ordered_onsets", **ORDERED)]
    found = [(i, field, q.measurement) for i, field, q in all_quantities(checks)]
    assert found == [(0, "distance", "x"), (1, "earlier", "a"), (1, "later", "b")]


# --- properties ---------------------------------------------------------------------------------

positive = st.floats(1e-3, 1e3)
several = st.lists(positive, min_size=2, max_size=8)
quick = settings(max_examples=40, deadline=None)
ORDER = {MISSED: 0, UNDECIDED: 1, MET: 2}


@quick
@given(values=several, bounds=st.tuples(positive, positive))
def test_a_looser_bound_is_never_worse(values: list[float], bounds: tuple[float, float]) -> None:
    tight, loose = sorted(bounds)
    samples = scalars(x=values)
    decisions = [
        judge(check("aligns", distance=look("x"), at_most=bound), samples).decision
        for bound in (tight, loose)
    ]
    assert ORDER[decisions[0]] <= ORDER[decisions[1]]


@quick
@given(values=several, scale=st.sampled_from([0.5, 4.0, 1024.0]))
def test_a_ratio_does_not_depend_on_the_unit(values: list[float], scale: float) -> None:
    one = check("separates", lower=look("a"), upper=look("b"), by=1.5)
    plain = scalars(a=values, b=values[::-1])
    scaled = scalars(a=[scale * v for v in values], b=[scale * v for v in values[::-1]])
    assert judge(one, plain) == judge(one, scaled)


@quick
@given(values=several, order=st.randoms(use_true_random=False))
def test_the_order_of_seeds_does_not_matter(values: list[float], order: Any) -> None:
    shuffled = list(values)
    order.shuffle(shuffled)
    one = check("aligns", distance=look("x"), at_most=1.0)
    before, after = (judge(one, scalars(x=v)) for v in (values, shuffled))
    assert before.decision is after.decision
    assert before.result.estimate == pytest.approx(after.result.estimate, rel=1e-9)


@quick
@given(values=several)
def test_another_seed_at_the_mean_takes_no_decision_back(values: list[float]) -> None:
    one = check("aligns", distance=look("x"), at_most=1.0)
    before = judge(one, scalars(x=values))
    after = judge(one, scalars(x=[*values, before.result.estimate]))
    if before.decision is not UNDECIDED:
        assert after.decision is before.decision


@quick
@given(at=st.floats(20, 150), factor=st.floats(1.1, 5.0), unit=st.sampled_from([0.25, 8.0]))
def test_onsets_do_not_depend_on_the_unit_nor_on_the_clock(
    at: float, factor: float, unit: float
) -> None:
    plain = ordered(curves(steps=FEW, a=rise(at), b=rise(factor * at)))
    changed = ordered(
        curves(
            steps=[4 * s for s in FEW],
            a=lambda t: unit * rise(at)(t / 4),
            b=lambda t: unit * rise(factor * at)(t / 4),
        ),
        earlier_change=0.3 * unit,
        later_change=0.3 * unit,
    )
    assert changed.decision is plain.decision
    assert changed.result.estimate == pytest.approx(plain.result.estimate, rel=1e-6)


@quick
@given(factor=st.floats(0.1, 100.0), shift=st.floats(-50, 50), exponent=st.floats(0.1, 1.5))
def test_a_law_of_growth_does_not_depend_on_unit_and_zero(
    factor: float, shift: float, exponent: float
) -> None:
    _, *against = check("grows_like", **LOGARITHM).conditions()
    for one in against:
        plain, changed = (
            one.value(curves(steps=GRID, seeds=[0], x=curve)[0])
            for curve in (lambda t: t**exponent, lambda t: shift + factor * t**exponent)
        )
        assert np.log(changed) == pytest.approx(np.log(plain), abs=0.01)


# --- what is done once --------------------------------------------------------------------------


def test_numbers_of_a_series_are_those_of_the_series_itself() -> None:
    """A number is read without a series of its own, which would be the same."""
    (one,) = curves(seeds=[0], x=lambda t: np.exp(-t / 100))
    first, last = (Quantity.model_validate(look("x", step=step)) for step in ("first", "last"))
    series = one.series(last)
    whole = one.measurements.series["x"]
    validated = Series(steps=whole.steps, values=whole.values)
    assert series.steps == validated.steps
    assert np.array_equal(series.values, validated.values)
    assert not series.values.flags.writeable
    assert (one.number(first), one.number(last)) == (whole.values[0], whole.values[-1])


def test_a_measurement_is_fitted_once_and_a_number_is_taken_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also where a miss of one part has the others judged anew, by Holm's method."""
    fitted: list[str] = []
    taken: list[str] = []
    fits, number = measurements.misfit, Sample.number

    def noted(name: str, *rest: Any) -> str | None:
        fitted.append(name)
        return fits(name, *rest)

    def counted(sample: Sample, quantity: Quantity) -> float:
        taken.append(f"{quantity.measurement} {sample.seed}")
        return number(sample, quantity)

    monkeypatch.setattr(measurements, "misfit", noted)
    monkeypatch.setattr(Sample, "number", counted)
    samples = scalars(x=[0.9, 0.7, 0.8, 0.9, 0.8], y=[0.05, 0.2, 0.1, 0.04, 0.3], z=[0.01] * 5)
    parts = [check("aligns", distance=look(name), at_most=0.1) for name in ("y", "x", "z", "y")]
    judged = judge_parts(parts, samples)
    assert [one.decision for one in judged] == [UNDECIDED, MISSED, MET, UNDECIDED]
    assert sorted(fitted) == sorted("xyz" * 5)
    assert sorted(taken) == sorted(f"{name} {seed}" for name in "xyzy" for seed in range(5))
