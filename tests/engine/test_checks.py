"""Each kind of check on runs of a few numbers: the number that it makes, and what it accepts."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from benchmarks.calibrate import CHECK
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from reproaudit.audit.claims import StartBound
from reproaudit.checks import Condition, Kind, Limit, Provenance, Run, Side
from reproaudit.checks.kind import Bound
from reproaudit.declarations import (
    Axis,
    Declaration,
    MeasurementKind,
    MeasurementMissingError,
    Quantity,
)
from reproaudit.records import Measurements, Series

PAPER, OURS = {"from": "paper"}, {"from": "ours", "why": "It is enough."}
SIZES = (8, 16, 32)
HUNDRED = tuple(range(101))
TIME = np.array(HUNDRED) / 100


def check(kind: str, **fields: Any) -> Kind:
    return CHECK.validate_json(json.dumps({"kind": kind, **fields}))


def run(steps: tuple[int, ...] = (0, 1, 2), sizes: tuple[Any, ...] = SIZES, **found: Any) -> Run:
    """A run: a number is a scalar, a list a series of one number, a tuple an array over sizes, and
    a list of tuples a series over sizes."""
    scalars = {name: one for name, one in found.items() if isinstance(one, float | int)}
    arrays = {name: np.array(one, float) for name, one in found.items() if isinstance(one, tuple)}
    series = {
        name: Series(steps=steps, values=one)
        for name, one in found.items()
        if isinstance(one, list | np.ndarray)
    }
    axis = (Axis(name="size", values=sizes),)
    kinds = {
        **dict.fromkeys(scalars, (MeasurementKind.SCALAR, ())),
        **dict.fromkeys(arrays, (MeasurementKind.ARRAY, axis)),
        **{k: (MeasurementKind.SERIES, axis[: one.values.ndim - 1]) for k, one in series.items()},
    }
    declared = {
        name: Declaration(kind=kind, axes=axes, unit="1", meaning="Synthetic.")
        for name, (kind, axes) in kinds.items()
    }
    return Run(0, Measurements(scalars=scalars, arrays=arrays, series=series), declared, {})


def said(one: Kind, of: Run) -> list[tuple[str, Any, bool]]:
    return [
        (c.name, None if c.value is None else pytest.approx(c.value), c.met)
        for c in one.conditions(of)
    ]


# --- bounds ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("side", "met", "worst"),
    [
        (Side.AT_MOST, (0, 1), 4),
        (Side.BELOW, (0,), 4),
        (Side.AT_LEAST, (1, 2, 4), 0),
        (Side.ABOVE, (2, 4), 0),
    ],
)
def test_a_bound_has_a_side(side: Side, met: tuple[float, ...], worst: float) -> None:
    limit = Limit(side, 1, Provenance.PAPER)
    assert tuple(one for one in (0, 1, 2, 4) if limit.met_by(one)) == met
    assert limit.worst([2, 0, 4, 1]) == worst
    assert not limit.met_by(None)


def test_a_margin_has_two() -> None:
    limit = Limit(Side.WITHIN, 1, Provenance.PAPER, target=3)
    assert [limit.met_by(one) for one in (1.9, 2, 4, 4.1)] == [False, True, True, False]
    assert limit.worst([3, 1.5, 4]) == 1.5
    assert limit.worst([3, 2.5, 4]) == 4
    for target in (3, -3):
        ends = sorted((target / 1.5, target * 1.5))
        relative = Limit(Side.WITHIN, 0.5, Provenance.PAPER, target=target, relative=True)
        assert list(relative.accepted) == ends


@given(st.floats(-9, 9), st.floats(-9, 9), st.floats(0.1, 9))
def test_a_scaled_bound_allows_a_multiple(at: float, zero: float, by: float) -> None:
    limit = Limit(Side.AT_MOST, at, Provenance.OURS, zero)
    assert limit.scaled(by).at - zero == pytest.approx((at - zero) * by)
    assert limit.scaled(1).at == pytest.approx(at)


@pytest.mark.parametrize(
    "bound",
    [
        {"from": "paper"},
        {"from": "paper", "at_most": 1, "at_least": 0},
        {"from": "ours", "at_most": 1},
        {"from": "paper", "at_most": 1, "why": "It is enough."},
    ],
)
def test_a_bound_has_one_side_and_one_of_ours_a_reason(bound: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match=r"bound (has|from)|'why' belongs"):
        Bound.model_validate_json(json.dumps(bound))


def test_what_is_ours_and_what_is_read_is_found_in_every_part() -> None:
    one = check(
        "separates", value="x", start_value="y", start={"below": 1, **OURS},
        end={"above": 2, **PAPER},
    )  # fmt: skip
    assert [part.origin for part in one.ours()] == [Provenance.OURS]
    assert [q.measurement for q in one.quantities()] == ["x", "y"]
    assert check("reaches", value="x", at_most=1, **OURS).ours()[0].why == "It is enough."
    assert not check("reaches", value="x", at_most=1, **PAPER).ours()
    place = check("reaches", value="x", between=["y", "z"], at_most=1, **PAPER)
    assert [q.measurement for q in place.quantities()] == ["x", "y", "z"]
    stages = check(
        "stages", earlier={"series": "a"}, later={"series": "b"}, order={"above": 1, **PAPER}
    )
    assert [q.measurement for q in stages.quantities()] == ["a", "b"]


@pytest.mark.parametrize(
    ("fields", "by_mean", "signed"),
    [
        ({"kind": "reaches", "value": "x", "at_most": 1}, False, False),
        ({"kind": "reaches", "value": "x", "at_most": 1, "standard": "mean"}, True, False),
        ({"kind": "equals", "value": "x", "to": 1, "within": 1}, True, False),
        ({"kind": "equals", "value": "x", "to": "y", "within": 1}, False, True),
        ({"kind": "equals", "value": "x", "to": "y", "within": 1, "standard": "mean"}, True, True),
        ({"kind": "equals", "value": "x", "to": 1, "within": 1, "standard": "typical"}, False,
         False),
        ({"kind": "equals", "value": "x", "to": "y", "within": 1, "relative": True}, False, False),
        ({"kind": "scales_like", "value": "x", "axis": "size", "exponent": 1, "within": 1}, True,
         True),
    ],
)  # fmt: skip
def test_what_the_mean_decides(fields: dict[str, Any], by_mean: bool, signed: bool) -> None:
    one = check(**fields, **PAPER)
    assert (one.by_mean, one.signed) == (by_mean, signed)


# --- one number -----------------------------------------------------------------------------------

A, B = [4.0, 3.0, 2.0], [1.0, 1.0, 0.5]
S = [(0.2, 0.6), (0.5, 0.5), (0.8, 0.8)]


@pytest.mark.parametrize(
    ("fields", "found", "value", "met"),
    [
        ({"kind": "aligns", "distance": "a", "at_most": 2}, {"a": A}, 2, True),
        ({"kind": "aligns", "distance": "a", "below": 2}, {"a": A}, 2, False),
        ({"kind": "aligns", "cosine": "a", "at_least": 2}, {"a": A}, 2, True),
        ({"kind": "aligns", "cosine": "a", "above": 2}, {"a": A}, 2, False),
        ({"kind": "beats", "lower": "b", "upper": "a"}, {"a": A, "b": B}, 4, True),
        ({"kind": "beats", "lower": "b", "upper": "a"}, {"a": 1, "b": 1}, 1, False),
        ({"kind": "beats", "lower": "b", "upper": "a", "by": 4}, {"a": A, "b": B}, 4, False),
        ({"kind": "beats", "lower": "b", "upper": "a", "by": 3.9}, {"a": A, "b": B}, 4, True),
        ({"kind": "beats", "lower": "b", "upper": "a"}, {"a": 1, "b": 0}, None, False),
        ({"kind": "beats", "lower": "b", "upper": "a"}, {"a": 0, "b": 1}, 0, False),
        ({"kind": "beats", "lower": "b", "upper": "a"}, {"a": 0.5, "b": 0.5}, 1, False),
        ({"kind": "beats", "lower": "b", "upper": "a"}, {"a": -1, "b": 1}, None, False),
        ({"kind": "beats", "lower": "b", "upper": "a", "difference": True}, {"a": 2, "b": -1}, 3,
         True),
        ({"kind": "beats", "lower": "b", "upper": "a", "difference": True}, {"a": 2, "b": 2}, 0,
         False),
        ({"kind": "concentrates", "share": "s", "at_least": 0.8}, {"s": S}, 0.8, True),
        ({"kind": "concentrates", "share": "s", "at_least": 0.5, "of_the_rest": True}, {"s": S},
         0.5, True),
        ({"kind": "concentrates", "share": "s", "at_least": 0.5, "of_the_rest": True},
         {"s": [(0.0, 1.0), (1.0, 1.0), (1.0, 1.0)]}, 0, False),
        ({"kind": "equals", "value": "a", "to": 1.5, "within": 0.5}, {"a": 2}, 2, True),
        ({"kind": "equals", "value": "a", "to": 1.5, "within": 0.4}, {"a": 2}, 2, False),
        ({"kind": "equals", "value": "a", "to": 1, "within": 1, "relative": True}, {"a": 0.5}, 0.5,
         True),
        ({"kind": "equals", "value": "a", "to": "b", "within": 1.5}, {"a": A, "b": B}, 1.5, True),
        ({"kind": "equals", "value": "a", "to": "b", "within": 1}, {"a": A, "b": B}, 1.5, False),
        ({"kind": "equals", "value": "a", "to": "b", "within": 3, "relative": True},
         {"a": A, "b": B}, 4, True),
        ({"kind": "equals", "value": "b", "to": "a", "within": 2.9, "relative": True},
         {"a": A, "b": B}, 0.25, False),
        ({"kind": "equals", "value": "b", "to": "a", "within": 1, "relative": True},
         {"a": 0, "b": 0}, None, False),
        ({"kind": "reaches", "value": "a", "at_least": 2}, {"a": A}, 2, True),
        ({"kind": "reaches", "value": "a@first", "at_least": 4}, {"a": A}, 4, True),
        ({"kind": "reaches", "value": "s", "at_least": 0.3}, {"s": (0.5, 0.2)}, 0.2, False),
        ({"kind": "reaches", "value": "s", "at_most": 0.3}, {"s": (0.1, 0.2)}, 0.2, True),
        ({"kind": "reaches", "value": "a", "relative_to": "b", "above": 4}, {"a": A, "b": B}, 4,
         False),
        ({"kind": "reaches", "value": "a", "relative_to": "b", "above": 4}, {"a": 1, "b": 0}, None,
         False),
        ({"kind": "reaches", "value": "a", "grown_from": "a@first", "at_most": -2}, {"a": A}, -2,
         True),
        ({"kind": "reaches", "value": "a", "between": ["b", "c"], "at_least": 0.75},
         {"a": A, "b": B, "c": 2.5}, 0.75, True),
    ],
)  # fmt: skip
def test_a_kind_makes_one_number(
    fields: dict[str, Any], found: Mapping[str, Any], value: float | None, met: bool
) -> None:
    (condition,) = check(**fields, **PAPER).conditions(run(sizes=(1, 2), **found))
    assert condition.value == (None if value is None else pytest.approx(value))
    assert condition.met == met


@pytest.mark.parametrize(
    ("fields", "zero", "contrast", "unit"),
    [
        ({"kind": "aligns", "distance": "a", "at_most": 2}, 0, False, "plain"),
        ({"kind": "aligns", "cosine": "a", "at_least": 2}, 1, False, "plain"),
        ({"kind": "beats", "lower": "b", "upper": "a"}, 1, True, "factor"),
        ({"kind": "beats", "lower": "b", "upper": "a", "by": 2}, 1, False, "factor"),
        ({"kind": "beats", "lower": "b", "upper": "a", "difference": True}, 0, True, "plain"),
        ({"kind": "concentrates", "share": "a", "at_least": 0.8}, 1, False, "share"),
        ({"kind": "equals", "value": "a", "to": 1, "within": 0.5}, 0, False, "plain"),
        ({"kind": "equals", "value": "a", "to": "b", "within": 0.5}, 0, False, "plain"),
        ({"kind": "equals", "value": "a", "to": "b", "within": 0.5, "relative": True}, 0, False,
         "factor"),
        ({"kind": "reaches", "value": "a", "at_least": 2}, 0, False, "plain"),
        ({"kind": "reaches", "value": "a", "at_least": 2, "zero": 3}, 3, False, "plain"),
        ({"kind": "reaches", "value": "a", "at_least": 2, "relative_to": "b"}, 1, False, "factor"),
        ({"kind": "reaches", "value": "a", "above": 2, "grown_from": "b"}, 0, False, "plain"),
        ({"kind": "reaches", "value": "a", "above": 0, "grown_from": "b"}, 0, True, "plain"),
        ({"kind": "reaches", "value": "a", "above": 0, "relative_to": "b"}, 1, False, "factor"),
        ({"kind": "reaches", "value": "a", "above": 2, "between": ["b", "b@first"]}, 1, False,
         "share"),
    ],
)  # fmt: skip
def test_the_form_of_the_number(
    fields: dict[str, Any], zero: float, contrast: bool, unit: str
) -> None:
    (one,) = check(**fields, **PAPER).conditions(run(a=A, b=B))
    assert (one.limit.zero, one.contrast, one.unit) == (zero, contrast, unit)
    assert one.noun in ("a", "b")


def test_two_over_a_third_are_compared_where_each_is_worst() -> None:
    (one,) = check("beats", lower="b", upper="a", **PAPER).conditions(
        run(a=(4.0, 6.0, 5.0), b=(1.0, 3.0, 2.0))
    )
    assert (one.value, one.course) == (2, (6, 3))


@pytest.mark.parametrize(
    "fields",
    [
        {"kind": "aligns", "distance": "a", "at_least": 1},
        {"kind": "aligns", "cosine": "a", "at_most": 1},
        {"kind": "aligns", "distance": "a", "cosine": "a", "at_most": 1},
        {"kind": "aligns", "at_most": 1},
        {"kind": "follows", "series": "a", "at_most": 1},
        {"kind": "follows", "series": "a", "at_most": 1, "curve": [[0, 1]]},
        {"kind": "follows", "series": "a", "at_most": 1, "curve": [[0, 1], [0, 2]]},
        {"kind": "follows", "series": "a", "at_most": 1, "curve": [[0, 1], [3, 1], [2, 2]]},
        {"kind": "follows", "series": "a", "at_most": 1, "curve": [[0, 1], [1, 2]],
         "reference": "b"},
        {"kind": "grows_like", "series": "a", "law": "power", "growth": {"above": 0, **PAPER}},
        {"kind": "grows_like", "series": "a", "law": "logarithm", "exponent": 1,
         "growth": {"above": 0, **PAPER}},
        {"kind": "reaches", "value": "a", "at_most": 1, "relative_to": "b", "grown_from": "b"},
        {"kind": "scales_like", "value": "a", "axis": "size", "exponent": 1},
        {"kind": "scales_like", "value": "a", "axis": "size", "exponent": {"below": 0, **PAPER},
         "within": 1},
    ],
)  # fmt: skip
def test_a_check_has_one_form(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match=r"state |needs|only it"):
        check(**fields, **PAPER)


# --- over training and over sizes -----------------------------------------------------------------


def test_a_loss_falls_and_rests() -> None:
    bounds = {"falls": {"at_least": 8, **OURS}, "flattens": {"at_most": math.log(2), **PAPER}}
    one = check("converges", loss="loss", ends={"at_most": 0.5, **PAPER}, **bounds)
    # windows: steps 75 to 80 and 95 to 100
    loss = np.where(np.array(HUNDRED) <= 80, 1.0, 0.5)
    loss[0], loss[74], loss[81:95] = 4.0, 9.0, 7.0
    found = one.conditions(run(HUNDRED, loss=loss))
    assert [c.value for c in found] == [8, pytest.approx(math.log(2)), 0.5]
    assert [(c.name, c.unit, c.course) for c in found] == [
        ("falls", "factor", (4, 0.5)), ("flattens", "share", (4, 0.5)), ("ends", "plain", (4, 0.5))
    ]  # fmt: skip
    assert [c.limit.zero for c in found] == [1, 0, 0]
    assert [c.met for c in found] == [True, True, True]
    late = tuple(10 + 2 * step for step in HUNDRED)
    assert said(one, run(late, loss=loss)) == said(one, run(HUNDRED, loss=loss))
    for bad in (0.0, -1.0):
        loss[50] = bad
        assert [c.value for c in one.conditions(run(HUNDRED, loss=loss))] == [None] * 3
    sparse = one.conditions(run((0, 50, 100), loss=[4.0, 2.0, 1.0]))
    assert [c.value for c in sparse] == [4, None, 1]


def test_windows_reach_back_by_a_twentieth() -> None:
    one = check("converges", loss="loss", flattens={"at_most": 1, **PAPER})
    loss = np.ones(101)
    loss[75], loss[95] = math.exp(0.6), math.exp(-1.2)
    assert one.conditions(run(HUNDRED, loss=loss))[0].value == pytest.approx(0.3)


@pytest.mark.parametrize("first", [0, 1, 50])
def test_a_loss_goes_to_zero_by_its_late_slope(first: int) -> None:
    steps = tuple(range(first, first + 101))
    t = np.array(steps, float)
    loss = np.where(t >= first + 50, np.maximum(t, 1) ** -0.5, 7.0)
    (one,) = check("converges", loss="loss", to_zero=True).conditions(run(steps, loss=loss))
    assert (one.name, one.unit, one.met) == ("slope", "plain", True)
    assert one.value == pytest.approx(-0.5)
    assert one.limit == Limit(Side.BELOW, 0.0, Provenance.DERIVED)


def test_a_late_slope_needs_two_observations() -> None:
    one = check("converges", loss="loss", to_zero=True)
    assert one.conditions(run((0, 4, 8), loss=[1.0, 4.0, 2.0]))[0].value == pytest.approx(-1)
    assert one.conditions(run((0, 3, 8), loss=[1.0, 4.0, 2.0]))[0].value is None
    assert one.conditions(run((-8, 0, 8), loss=[1.0, 4.0, 2.0]))[0].value is None


def test_a_series_follows_another_or_a_curve() -> None:
    steps = tuple(range(0, 20, 2))
    course = np.arange(10.0)
    off = course + 1 + np.eye(10)[0]
    by = check("follows", series="a", reference="b", at_most=2, **PAPER)
    assert said(by, run(steps, a=off, b=course + 1)) == [("follows", 1, True)]
    assert said(by, run(steps, a=course, b=course + 3)) == [("follows", 3, False)]
    curve = check("follows", series="a", curve=[[0, 1], [18, 10]], at_most=1, **PAPER)
    assert said(curve, run(steps, a=off)) == [("follows", 1, True)]
    late = check("follows", series="a", reference="b", at_most=0.5, since=0.1, **PAPER)
    steps, course = tuple(range(5, 16)), np.arange(11.0)
    assert said(late, run(steps, a=course + np.eye(11)[0], b=course)) == [("follows", 0, True)]
    assert said(late, run(steps, a=course + np.eye(11)[1], b=course)) == [("follows", 1, False)]
    with pytest.raises(MeasurementMissingError, match="fewer than 10"):
        late.conditions(run(steps[:10], a=course[:10], b=course[:10]))


def test_where_a_curve_is_unknown_nothing_is_compared() -> None:
    one = check("follows", series="a", curve=[[2, 0], [11, 0]], at_most=1, **PAPER)
    course = np.zeros(14)
    course[:2] = course[12:] = 5
    assert said(one, run(tuple(range(14)), a=course)) == [("follows", 0, True)]
    with pytest.raises(MeasurementMissingError, match="of 'a' lie"):
        one.conditions(run(tuple(range(11)), a=course[:11]))


def test_a_relative_distance_is_by_what_factor_two_differ() -> None:
    one = check("follows", series="a", reference="b", at_most=1, relative=True, **PAPER)
    steps, course = tuple(range(10)), np.arange(1.0, 11)
    assert said(one, run(steps, a=course, b=1.9 * course)) == [("follows", 0.9, True)]
    assert said(one, run(steps, a=3 * course, b=course)) == [("follows", 2, False)]
    for a, b in ((course - 1, course), (course, course - 1)):
        assert one.conditions(run(steps, a=a, b=b))[0].value is None


def grows(law: str = "logarithm", **more: Any) -> Kind:
    return check("grows_like", series="a", law=law, growth={"at_least": 1, **OURS}, **PAPER, **more)


def test_a_law_of_growth_beats_its_rivals_or_not() -> None:
    steps = (0, 5, 10, 25, 30, 40, 60, 80, 100)  # six from a quarter on, with the quarter itself
    t = np.array(steps)
    growth, law = grows().conditions(run(steps, a=np.log(t + 1e-9 * (t == 0))))
    assert (growth.name, growth.met, growth.contrast) == ("growth", True, False)
    assert growth.course == (pytest.approx(math.log(1e-9)), pytest.approx(math.log(100)))
    assert growth.value == pytest.approx(math.log(100) - math.log(1e-9))
    assert (law.name, law.met, law.contrast, law.unit) == ("law", True, True, "factor")
    assert law.limit.at == 1
    root = np.sqrt(t)
    assert grows().conditions(run(steps, a=root))[1].value == pytest.approx(0, abs=1e-3)
    assert grows("power", exponent=0.5).conditions(run(steps, a=root))[1].met
    assert grows("power", exponent=0.5, apart=0.6).conditions(run(steps, a=root))[1].met
    assert [c.value for c in grows().conditions(run(steps, a=-root))] == [-10, None]
    with pytest.raises(MeasurementMissingError, match="has 5 observations in the last 75%"):
        grows().conditions(run(steps[1:], a=root[1:]))
    with pytest.raises(MeasurementMissingError, match="has 5 observations in the last 99%"):
        grows(since=0.01).conditions(run(steps[:6], a=root[:6]))


def test_the_size_of_a_power_and_its_bend() -> None:
    by = {"axis": "size", "value": "x"}
    one = check(
        "scales_like", **by, exponent=-0.5, within=0.25, bend={"at_most": 1, **OURS}, **PAPER
    )
    exact = tuple(float(s) ** -0.75 for s in SIZES)
    assert said(one, run(x=exact)) == [("exponent", -0.75, True), ("bend", pytest.approx(0), True)]
    bent = one.conditions(run(x=(1.0, 8.0, 1.0)))
    assert [c.value for c in bent] == [pytest.approx(0, abs=1e-9), pytest.approx(3)]
    assert [(c.unit, c.limit.side) for c in bent] == [
        ("plain", Side.WITHIN), ("share", Side.AT_MOST)
    ]  # fmt: skip
    assert [c.value for c in one.conditions(run(x=(1.0, 0.0, 1.0)))] == [None, None]
    trend = check("scales_like", **by, exponent={"below": 0, **PAPER})
    assert said(trend, run(x=exact)) == [("exponent", -0.75, True)]
    for sizes in ((0, 1, 2), (8, 8, 16), (-1, 1, 2)):
        with pytest.raises(MeasurementMissingError, match="at least 3 positive sizes"):
            one.conditions(run(sizes=sizes, x=exact))
    both = run(x=[exact, exact, exact])
    assert said(one, both)[0][0] == "exponent"


def test_a_separation_is_absent_first_and_there_last() -> None:
    bounds = {"start": {"at_most": 1, **PAPER}, "end": {"above": 2, **PAPER}}
    assert said(check("separates", value="a", **bounds), run(a=[1.0, 9.0, 3.0])) == [
        ("start", 1, True), ("end", 3, True)
    ]  # fmt: skip
    other = check("separates", value="a", start_value="b", **bounds)
    found = other.conditions(run(a=[1.0, 9.0, 2.0], b=[1.5, 0.0, 0.0]))
    assert [(c.noun, c.value, c.met) for c in found] == [("b", 1.5, False), ("a", 2, False)]


STAGES = {"order": {"above": 2, **PAPER}, "wait": {"below": "one_clock", **PAPER}}
AFTER = np.arange(101.0)
FIRST, LATER = np.minimum(AFTER / 20, 1), np.clip((AFTER - 10) / 60, 0, 1)


def test_a_stage_waits_for_another() -> None:
    one = check("stages", earlier={"series": "a"}, later={"series": "b"}, **STAGES)
    order, wait = one.conditions(run(HUNDRED, a=FIRST, b=LATER))
    assert (order.name, order.value, order.met) == ("order", 4, True)
    # one clock gives at 10 what the first made at 2.5; nothing was made, and 1e-4 is least
    assert (wait.name, wait.value) == ("wait", pytest.approx(0.125 / 1e-4))
    assert wait.limit == Limit(Side.ABOVE, 1.0, Provenance.PAPER)
    assert {(c.contrast, c.unit, c.noun) for c in (order, wait)} == {(True, "factor", "b")}
    slower = one.conditions(run(HUNDRED, a=FIRST, b=np.minimum(AFTER / 80, 1)))
    assert [c.value for c in slower] == [4, pytest.approx(1)]
    sudden = run(HUNDRED, a=1.0 * (AFTER > 20), b=1.0 * (AFTER > 60))
    assert one.conditions(sudden)[1].value == pytest.approx(0.005 / 1e-4)
    back = np.where(AFTER == 5, -0.25, LATER)  # a change either way, and no more at 10
    assert one.conditions(run(HUNDRED, a=FIRST, b=back))[1].value == pytest.approx(0.125 / 0.25)
    turned = one.conditions(run(HUNDRED, a=3 - 2 * FIRST, b=-LATER))
    assert [c.value for c in turned] == [4, pytest.approx(0.125 / 1e-4)]


@pytest.mark.parametrize(
    ("a", "b", "values"),
    [
        (FIRST, 0 * LATER, [None, None]),
        (0 * FIRST, LATER, [None, None]),
        (FIRST, 0.24 * LATER, [None, None]),
        (FIRST, 0.26 * LATER, [4, 1250]),
        (np.stack([FIRST] * 3, axis=1), LATER, [None, None]),
    ],
)
def test_what_does_not_change_has_no_onset(a: Any, b: Any, values: list[float | None]) -> None:
    one = check("stages", earlier={"series": "a"}, later={"series": "b"}, **STAGES)
    found = [c.value for c in one.conditions(run(HUNDRED, a=a, b=b))]
    assert found == [None if value is None else pytest.approx(value) for value in values]


def test_an_onset_may_be_at_a_level() -> None:
    later = {"series": "b", "crosses": 0.75}
    one = check("stages", earlier={"series": "a"}, later=later, order=STAGES["order"])
    (order,) = one.conditions(run(HUNDRED, a=FIRST, b=LATER))
    assert order.value == pytest.approx(5.5)
    late = check("stages", earlier={"series": "a", "least": 1.5}, later=later, **STAGES)
    assert [c.value for c in late.conditions(run(HUNDRED, a=FIRST, b=LATER))] == [None, None]


# --- what a run holds -----------------------------------------------------------------------------


def test_a_quantity_has_its_place() -> None:
    one = run(x=(1.0, 2.0, 3.0), s=[(1.0, 2.0, 3.0), (4.0, 5.0, 6.0), (7.0, 8.0, 9.0)], z=5.0)

    def numbers(text: str, of: Run = one, **more: Any) -> list[float]:
        quantity = Quantity.model_validate(text).model_copy(update=more)
        return [float(n) for n in of.numbers(quantity)]

    assert numbers("z") == [5]
    assert numbers("x") == [1, 2, 3]
    assert numbers("x[16]") == numbers("x", one.placed({"size": 16})) == [2]
    assert numbers("x", at={"size": 32}) == [3]
    assert numbers("x", one.placed({"size": 8}), at={"size": 32}) == [3]
    assert numbers("s@first") == [1, 2, 3]
    assert numbers("s[16]") == [8]
    steps, values = one.series(Quantity.model_validate("s[16]"))
    assert (steps, values.tolist()) == ((0, 1, 2), [[2], [5], [8]])
    assert one.coordinates(Quantity.model_validate("x"), "size") == SIZES
    assert one.placed({}) is one
    other = run(x=(7.0, 8.0, 9.0))
    beside = Run(
        0, one.measurements, one.declarations, {}, reads={"z": "x"}, at={"size": 16},
        others={"null": other},
    )  # fmt: skip
    assert numbers("z", beside) == [2]
    assert numbers("x", beside, arm="null") == [8]
    for text, more in (("x[7]", {}), ("x", {"at": {"size": 7}}), ("y", {}), ("x", {"arm": "no"})):
        with pytest.raises(MeasurementMissingError, match=r"has no|no measurement|no run of"):
            numbers(text, **more)
    with pytest.raises(MeasurementMissingError, match="no series"):
        one.series(Quantity.model_validate("x"))
    with pytest.raises(MeasurementMissingError, match="no axis 'size'"):
        one.coordinates(Quantity.model_validate("z"), "size")


def test_a_check_without_all_numbers_has_none() -> None:
    bound = StartBound.model_validate_json(json.dumps({"value": "x", "at_most": 1, **PAPER}))
    one = check("reaches", value="x", at_most=1, **PAPER)
    for values in ([], [1.0, math.nan], [math.inf]):
        assert one._condition(values, bound.limit(), bound.value).value is None
    assert Condition("x", "x", None, bound.limit()).met is False
