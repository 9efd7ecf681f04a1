"""Each kind of check on runs of a few numbers: the number that it makes, and what it accepts."""

import json
import math
from dataclasses import FrozenInstanceError, replace
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

import synthetic
from reproaudit.checks import Kind, Limit, Provenance, Run, Side, Void
from reproaudit.checks.kind import Bound
from reproaudit.checks.shown import Drawing, Names
from reproaudit.declarations import MeasurementMissingError, Quantity
from reproaudit.stats.growth import Law, misfits, thinned
from synthetic import OURS, PAPER, SIZES, run

FOUR = (8, 16, 32, 64)
HUNDRED = tuple(range(101))


def check(text: str, **more: Any) -> Kind:
    """A check in a line: its kind, and its fields as name=value; from the paper."""
    kind, *fields = text.split()
    pairs = (field.split("=") for field in fields)
    data = {"kind": kind, **{name: yaml.safe_load(value) for name, value in pairs}, **more}
    one_origin = kind not in ("converges", "separates", "stages")
    return synthetic.check(**({**PAPER, **data} if one_origin else data))


def values(kind: Kind, of: Run) -> list[Any]:
    """The numbers of a run; the check names them before the run."""
    conditions = kind.conditions(of)
    assert tuple(condition.number for condition in conditions) == kind.numbers
    found = [condition.value for condition in conditions]
    return [None if value is None else pytest.approx(value, abs=1e-9) for value in found]


def met(kind: Kind, of: Run) -> list[bool | None]:
    return [condition.met for condition in kind.conditions(of)]


# --- bounds ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("side", "accepted", "worst"),
    [
        (Side.AT_MOST, [0, 1], 4),
        (Side.BELOW, [0], 4),
        (Side.AT_LEAST, [1, 2, 4], 0),
        (Side.ABOVE, [2, 4], 0),
        (Side.WITHIN, [1, 2], 4),
    ],
)
def test_a_bound_has_a_side(side, accepted, worst):
    limit = Limit(side, 1, Provenance.PAPER, target=2 if side is Side.WITHIN else 0)
    assert [number for number in (0, 1, 2, 4) if limit.met_by(number)] == accepted
    assert limit.worst([2, 0.5, 0, 4, 1]) == (worst if side is not Side.WITHIN else 0)
    with pytest.raises(FrozenInstanceError):
        limit.at = 2  # type: ignore[misc]


def test_a_margin_has_two_sides():
    limit = Limit(Side.WITHIN, 1, Provenance.PAPER, target=3)
    assert [limit.met_by(number) for number in (1.9, 2, 4, 4.1)] == [False, True, True, False]
    assert limit.worst([3, 2.5, 4]) == 4
    assert (limit.level, Limit(Side.AT_MOST, 1, Provenance.PAPER).level) == (3, 1)
    one_sided = Limit(Side.AT_MOST, 1, Provenance.PAPER)
    assert one_sided == replace(one_sided, zero=0, target=0)  # as it is published
    for target in (3, -3):
        relative = Limit(Side.WITHIN, 0.5, Provenance.PAPER, target=target, relative=True)
        assert list(relative.accepted) == sorted((target / 1.5, target * 1.5))


@given(st.sampled_from(Side), st.floats(0.1, 9), st.floats(-9, 9), st.booleans(),
       st.lists(st.floats(-20, 20), min_size=1))  # fmt: skip
def test_the_worst_number_meets_a_bound_only_if_all_do(side, at, target, relative, values):
    limit = Limit(side, at, Provenance.PAPER, target=target, relative=relative)
    assert limit.met_by(limit.worst(values)) == all(map(limit.met_by, values))


WITHIN, DISTANCE, SCORE = "equals value=a to=2 within=0.1", "aligns distance=a", "aligns cosine=a"
RATIO, KEPT = "reaches value=a relative_to=b", "reaches value=a relative_to=a@first"
END, PLACE = "reaches value=a", "reaches value=a between=[b,c]"


@pytest.mark.parametrize(
    ("text", "more", "relaxed", "tightened"),
    [
        # a tolerance is doubled
        (WITHIN, {}, 0.2, 0.05),
        (f"{WITHIN} relative=true", {}, 0.2, 0.05),
        ("equals value=a to=b within=0.1", {}, 0.2, 0.05),
        ("scales_like value=x axis=size exponent=1 within=0.1", {"from": "ours"}, 0.2, 0.05),
        # a distance d becomes 2d
        (f"{DISTANCE} at_most=0.1", {}, 0.2, 0.05),
        (f"{DISTANCE} below=0.1", {}, 0.2, 0.05),
        ("follows series=h reference=h at_most=0.1", {}, 0.2, 0.05),
        # a score 1 - d becomes 1 - 2d, above 0
        (f"{SCORE} at_least=0.9", {}, 0.8, 0.95),
        ("concentrates share=s above=0.75", {}, 0.5, 0.875),
        ("concentrates share=s at_least=0.75 of_the_rest=true", {}, 0.5, 0.875),
        (f"{PLACE} at_least=0.75", {}, 0.5, 0.875),
        (f"{PLACE} at_least=0.5", {}, 0.5, 0.75),
        (f"{RATIO} at_least=0.9", {}, 0.8, 0.95),
        (f"{SCORE} at_least=0.25", {}, 0.25, 0.625),
        # a factor 1 + e becomes 1 + 2e, or 1 + e/2 where it must be passed
        (f"{RATIO} at_most=1.05", {}, 1.1, 1.025),
        (f"{RATIO} at_least=3", {}, 2, 5),
        (f"{END} at_most=1.015 zero=1", {}, 1.03, 1.0075),
        ("beats lower=b upper=a by=3", {}, 2, 5),
        # and of one below 1, the inverse
        (f"{RATIO} at_most=0.2", {}, 1 / 3, 1 / 9),
        # of a fold the root is taken, whichever way it goes
        ("converges loss=a", {"falls": {"at_least": 16, **OURS}}, 4, 256),
        (f"{KEPT} at_least=16", {}, 4, 256),
        (f"{KEPT} at_most=0.25", {}, 0.5, 0.0625),
        (f"{KEPT} at_least=0.5", {}, 0.25, 0.5**0.5),
        (f"{KEPT} at_least=0.5 zero=1", {}, 0.5, 0.75),
        # a bound below 0 of a factor that must be passed, or of a fold, stays
        (f"{RATIO} at_most=-2", {}, -2, -2),
        (f"{KEPT} at_most=-2", {}, -2, -2),
        # of anything else a least number is halved, and a most one doubled
        (f"{END} at_least=8", {}, 4, 16),
        (f"{END} at_most=8", {}, 16, 4),
        (f"{END} grown_from=b at_most=-2", {}, -1, -4),
        # 0, 1 and signs stay
        (f"{END} above=0", {}, 0, 0),
        (f"{END} at_most=1", {}, 1, 1),
        ("beats lower=b upper=a", {}, 1, 1),
        ("beats lower=b upper=a difference=true", {}, 0, 0),
        # what is not ours stays
        *((f"{DISTANCE} at_most=0.1", {"from": origin}, 0.1, 0.1)
          for origin in ("paper", "derived", "null", "ceiling")),
    ],
)  # fmt: skip
def test_bounds_of_ours_are_relaxed_and_tightened(text, more, relaxed, tightened):
    courses: Any = {name: [1.0] * 10 for name in "abh"}
    of = run(HUNDRED[:10], c=3.0, s=[0.2] * 10, x=(1.0, 2.0, 4.0), **courses)
    limit = check(text, **(more or OURS)).conditions(of)[0].limit
    assert limit.relaxed().at == pytest.approx(relaxed)
    assert limit.tightened().at == pytest.approx(tightened)


def test_a_bound_is_not_relaxed_past_the_end_of_its_range():
    limit = Limit(Side.AT_MOST, 0.5, Provenance.OURS, least=0, most=1)
    assert limit.relaxed() == limit
    assert replace(limit, most=1.1).relaxed().at == 1
    least = Limit(Side.AT_LEAST, -2, Provenance.OURS, least=-4)
    assert least.relaxed() == least
    margin = Limit(Side.WITHIN, 0.3, Provenance.OURS, target=0.5, least=0, most=1)
    assert margin.relaxed() == margin  # anything would lie within 0.6
    assert replace(margin, most=None).relaxed().at == 0.6
    assert replace(margin, at=0.25).relaxed().at == 0.25  # nor beyond 0.5
    assert replace(margin, at=0.24).relaxed().at == 0.48
    assert [replace(margin, target=end).relaxed().at for end in (0.1, 0.9)] == [0.6, 0.6]
    one_sided = replace(margin, at=0.08, target=0.9).one_sided(Side.AT_MOST)
    assert one_sided.relaxed() == one_sided


@pytest.mark.parametrize(
    "bound", [PAPER, {**PAPER, "above": 0, "below": 1}, {"from": "ours", "above": 1},
              {**PAPER, "above": 1, "why": "It is enough."}]
)  # fmt: skip
def test_a_bound_has_one_side_and_one_of_ours_a_reason(bound):
    with pytest.raises(ValidationError, match=r"bound (has|from)"):
        Bound.model_validate_json(json.dumps(bound))


def test_a_difference_is_not_held_against_a_factor():
    with pytest.raises(ValidationError, match="a difference has none"):
        check("beats lower=x upper=y difference=true by=2")


BOUNDS = {"start": {"at_most": 1, **OURS}, "end": {"above": 2, **PAPER}}
STAGES = {"earlier": {"series": "a"}, "later": {"series": "b"}, "order": {"above": 2, **PAPER}}
WAIT = {"wait": {"below": "one_clock", **PAPER}}


def test_a_check_names_its_numbers_and_what_a_figure_draws():
    named = [check(text).numbers[0] for text in (f"{DISTANCE} at_most=1", f"{SCORE} at_least=0")]
    named += check("aligns ranks=[a,b] at_least=0.5").numbers
    assert [(number.name, number.drawn) for number in named] == [
        ("aligns", True),
        ("aligns", True),
        ("ranks", False),
    ]
    growths = [
        check(f"grows_like series=a {law}", **GROWTH).numbers[1].inverse
        for law in ("law=logarithm", "law=power exponent=1")
    ]
    assert ["a power or bounded law" in str(inverse) for inverse in growths] == [True, False]
    passes = {"measurement": "a", "passes": {"level": 0.5}}
    of = run(a=[0.0, 1.0, 1.0])
    for value, drawn in (("a", True), (passes, False)):
        (condition,) = check("reaches at_most=9", value=value).conditions(of)
        assert condition.number.drawn is drawn


def test_lists_of_unlike_lengths_have_no_order_in_common():
    with pytest.raises(MeasurementMissingError, match="lists of 3 and 1 cannot be ordered alike"):
        check("aligns ranks=[a,b] at_least=0.5").conditions(run(a=(1.0, 2.0, 3.0), b=1.0))


def test_what_is_ours_and_what_is_read_is_found_in_every_part():
    separates = check("separates value=x start_value=y", **BOUNDS)
    assert separates.ours() == [{"at_most": 1}]
    whole = {"kind": "reaches", "value": {"measurement": "x"}, "above": 1}
    assert check("reaches value=x above=1", **OURS).ours() == [whole]
    assert not check("reaches value=x above=1").ours()
    others = check("reaches value=x between=[y,y] above=1"), check("stages", **STAGES)
    for reads in (separates, *others):
        assert len({q.measurement for q in reads.quantities()}) == 2


@pytest.mark.parametrize(
    ("text", "by_mean"),
    [
        ("reaches value=x above=1", False),
        ("reaches value=x above=1 standard=mean", True),
        ("equals value=x to=1 within=1", True),
        ("equals value=x to=1 within=1 standard=typical", False),
        ("equals value=x to=y within=1", False),
        ("equals value=x to=y within=1 standard=mean", True),
        ("equals value=x to=y within=1 relative=true", False),
        ("scales_like value=x axis=size exponent=1 within=1", True),
    ],
)
def test_what_the_mean_decides(text, by_mean):
    assert check(text).by_mean is by_mean


# --- one number -----------------------------------------------------------------------------------

A, B = [4.0, 3.0, 2.0], [1.0, 1.0, 0.5]
SHARES = [(0.2, 0.6), (0.5, 0.5), (0.8, 0.8)]


@pytest.mark.parametrize(
    ("text", "found", "value", "met", "zero", "unit"),
    [
        ("aligns distance=a at_most=2", {}, 2, True, 0, "plain"),
        ("aligns distance=a below=2", {}, 2, False, 0, "plain"),
        ("aligns cosine=b at_least=0.5", {"b": [0.0, 1.0, 0.5]}, 0.5, True, 1, "plain"),
        ("aligns cosine=b above=0.5", {}, 0.5, False, 1, "plain"),
        ("beats lower=b upper=a", {}, 4, True, 1, "factor"),
        ("beats lower=b upper=a", {"a": 1.1, "b": 1}, 1.1, True, 1, "factor"),
        ("beats lower=b upper=a", {"a": 0.5, "b": 0.5}, 1, False, 1, "factor"),
        ("beats lower=b upper=a", {"a": 1, "b": 0}, None, True, 1, "factor"),
        ("beats lower=b upper=a", {"a": 0, "b": 0}, None, False, 1, "factor"),
        ("beats lower=b upper=a", {"a": 0, "b": 1}, 0, False, 1, "factor"),
        ("beats lower=b upper=a", {"a": -1, "b": 1}, None, False, 1, "factor"),
        ("beats lower=b upper=a", {"a": -1, "b": -2}, None, True, 1, "factor"),
        ("beats lower=b upper=a by=4", {"a": 1, "b": 0}, None, True, 1, "factor"),
        ("beats lower=b upper=a by=4", {"a": -1, "b": -9}, None, None, 1, "factor"),
        ("beats lower=b upper=a", {"a": (4, 6), "b": (1, 3)}, 2, True, 1, "factor"),
        ("beats lower=b upper=a by=4", {}, 4, False, 1, "factor"),
        ("beats lower=b upper=a by=3.9", {}, 4, True, 1, "factor"),
        ("beats lower=b upper=a difference=true", {"a": -0.5, "b": -1}, 0.5, True, 0, "plain"),
        ("beats lower=b upper=a difference=true", {"a": 2, "b": 2}, 0, False, 0, "plain"),
        ("concentrates share=s at_least=0.8", {}, 0.8, True, 1, "share"),
        ("concentrates share=s at_least=0.5 of_the_rest=true", {}, 0.5, True, 1, "share"),
        ("concentrates share=a above=0 of_the_rest=true", {"a": [1.0] * 3}, 0, False, 1, "share"),
        (
            "concentrates share=a above=0 of_the_rest=true",
            {"a": [1, 0.9, 0.8]},
            0,
            False,
            1,
            "share",
        ),
        ("equals value=a to=1.5 within=0.5", {}, 2, True, 0, "plain"),
        ("equals value=a to=1.5 within=0.4", {}, 2, False, 0, "plain"),
        ("equals value=a to=1 within=1 relative=true", {"a": 0.5}, 0.5, True, 0, "plain"),
        ("equals value=a to=b within=1.5", {}, 1.5, True, 0, "plain"),
        ("equals value=a to=b within=1.4", {}, 1.5, False, 0, "plain"),
        ("equals value=b to=a within=3 relative=true", {}, 0.25, True, 0, "factor"),
        ("equals value=a to=b within=2.9 relative=true", {}, 4, False, 0, "factor"),
        ("equals value=a to=b within=1 relative=true", {"a": 0, "b": 0}, None, None, 0, "factor"),
        ("reaches value=a at_least=2", {}, 2, True, 0, "plain"),
        ("reaches value=a@first at_least=4 zero=3", {}, 4, True, 3, "plain"),
        ("reaches value=a at_least=3", {"a": (5, 2)}, 2, False, 0, "plain"),
        ("reaches value=a at_most=3", {"a": (1, 2)}, 2, True, 0, "plain"),
        ("reaches value=a relative_to=b above=4", {}, 4, False, 1, "factor"),
        ("reaches value=a relative_to=b above=0", {"a": 1, "b": 0}, None, None, 1, "factor"),
        ("reaches value=a relative_to=a@first at_most=0.5", {}, 0.5, True, 1, "factor"),
        ("reaches value=a grown_from=a@first at_most=-2", {}, -2, True, 0, "plain"),
        ("reaches value=a grown_from=b above=0", {}, 1.5, True, 0, "plain"),
        (
            "reaches value=a between=[b,c] at_least=0.75",
            {"a": [0.5, 3.0, 2.0], "c": 2.5},
            0.75,
            True,
            1,
            "share",
        ),
    ],
)
def test_a_kind_makes_one_number(text, found, value, met, zero, unit):
    of = run(sizes=(1, 2), **{"a": A, "b": B, "s": SHARES, **found})
    (condition,) = check(text).conditions(of)
    assert (condition.number,) == check(text).numbers
    assert condition.value == (None if value is None else pytest.approx(value))
    assert (condition.met, condition.limit.zero) == (met, zero)
    assert (condition.unit, condition.check) == (unit, 0)
    contrast = text.startswith("beats") and "by" not in text
    assert condition.contrast == (contrast or "grown_from=b above=0" in text)


GROWTH = {"growth": {"at_least": 1, **OURS}}


@pytest.mark.parametrize(
    ("text", "more"),
    [
        ("aligns distance=a at_least=1", {}),
        ("aligns cosine=a at_most=1", {}),
        ("aligns distance=a cosine=a at_most=1", {}),
        ("aligns at_most=1", {}),
        ("follows series=a at_most=1", {}),
        ("follows series=a at_most=1 curve=[[0,1]]", {}),
        ("follows series=a at_most=1 curve=[[0,1],[0,2]]", {}),
        ("follows series=a at_most=1 curve=[[0,1],[1,2]] reference=b", {}),
        (
            "follows series=a at_most=1 reference=b share=0.9",
            {"quantile": {"share": 0.8, "at_most": 1, **PAPER}},
        ),
        ("grows_like series=a law=power", GROWTH),
        ("grows_like series=a law=logarithm exponent=1", GROWTH),
        ("reaches value=a at_most=1 relative_to=b grown_from=b", {}),
        ("scales_like value=a axis=size exponent=1", {}),
        ("scales_like value=a axis=size within=1", {"exponent": {"below": 0, **PAPER}}),
    ],
)
def test_a_check_has_one_form(text, more):
    with pytest.raises(ValidationError, match=r"state |needs|only it"):
        check(text, **more)


@pytest.mark.parametrize(
    ("steps", "loss", "end"),
    [
        (range(4), [4, 3, 2, 1], 1),  # too short a course: its last value
        ((0, 80, 88, 90, 95, 100), [9, 8, 7, 3, 1, 2], 2),  # of the last tenth
        ((0, 40, 60, 80, 100), [9, 8, 3, 1, 2], 2),  # of the last three, where a tenth has fewer
        (range(41), [5] * 36 + [1, 1, 1, 9, 9], 1),
    ],
)
def test_a_settled_end_is_the_median_of_the_last_tenth(steps, loss, end):
    settled = replace(run(tuple(steps), loss=loss), settled=True)
    assert settled.numbers(Quantity(measurement="loss")).tolist() == [end]


# --- over training and over sizes -----------------------------------------------------------------


AFTER = np.arange(101.0)
PARTS = AFTER[1:] / 100
FLAT = {"flattens": {"at_most": 0.05, **OURS}}


def test_a_loss_falls_and_rests():
    bounds = {"falls": {"at_least": 8, **OURS}, "ends": {"at_most": 0.5, **PAPER}}
    converges = check("converges loss=loss", flattens={"at_most": 0.9, **PAPER}, **bounds)
    loss = np.full(101, 0.4)
    loss[0] = 3.2
    for steps in (HUNDRED, [10 + 2 * step for step in HUNDRED]):
        assert values(converges, run(steps, loss=loss)) == [8, 0, 0.4]
    found = converges.conditions(run(HUNDRED, loss=loss))
    assert [c.limit.zero for c in found] == [1, 0, 0]
    assert [c.unit for c in found] == ["factor", "share", "plain"]
    assert met(converges, run(HUNDRED, loss=loss)) == [True, True, True]
    with pytest.raises(MeasurementMissingError, match="the 5% of training before the last fifth"):
        converges.conditions(run((0, 50, 100), loss=[4.0, 2.0, 1.0]))
    assert values(converges, run(HUNDRED, loss=loss - 1)) == [None] * 3


@pytest.mark.parametrize("ratio", [1.118, 1.05, 1.12])
def test_a_log_of_few_late_observations_shows_rest(ratio):
    """Observed on a logarithmic scale, with none in the twentieth before the last fifth."""
    converges = check("converges loss=loss", **FLAT)
    steps = np.unique((20000 / ratio ** np.arange(60)).round())
    for loss, rests in (
        (0.1 + 2.3 * np.exp(-20 * steps / 20000), True),
        (0.1 + 46 / steps, True),
        (steps**-0.5, False),
        (steps**-0.2, False),
    ):
        found = met(converges, run(steps.astype(int).tolist(), loss=loss))
        assert found == [rests]


def test_a_loss_of_0_has_come_to_rest_at_zero():
    bounds = {"falls": {"at_least": 8, **OURS}, "flattens": {"at_most": 0.05, **OURS}}
    converges = check("converges loss=loss to_zero=true", ends={"at_most": 0.5, **PAPER}, **bounds)
    loss = np.maximum(1 - np.array(HUNDRED) / 60, 0)
    assert values(converges, run(HUNDRED, loss=loss)) == [None, 0, 0, None]
    assert met(converges, run(HUNDRED, loss=loss)) == [True] * 4
    assert met(converges, run(HUNDRED, loss=0 * loss)) == [None, True, True, True]
    returns = np.array([*loss[:-1], 0.5])
    assert values(converges, run(HUNDRED, loss=returns))[0] == 2


@pytest.mark.parametrize(
    ("loss", "number"),
    [
        (1 + 0 * PARTS, 0),
        (1 + np.exp(-40 * PARTS), 0),
        (PARTS**-0.2, math.log(2) * 0.2),  # after as long again, where the windows see 0.046
        (0.5 + PARTS**-0.1, math.log(1.5 / (0.5 + 2**-0.1))),
        (1 + 0.2 * np.sin(2 * np.pi * 5 * PARTS), 0.2023),  # the windows see nothing of it
        (np.exp(-9 * PARTS), 9 * 0.2),  # between the windows
        (np.exp(-0.2 * PARTS), 0.04 * math.log(2) / math.log(0.975 / 0.775)),  # as a logarithm
    ],
)
def test_rest_competes_with_slow_decays_and_swings(loss, number):
    (found,) = check("converges loss=loss", **FLAT).conditions(run(HUNDRED[1:], loss=loss))
    assert found.value == pytest.approx(number, rel=0.02, abs=1e-6)
    assert found.met is (number <= 0.05)


@pytest.mark.parametrize(
    ("loss", "slope"),
    [
        (1 / PARTS, -1),
        (np.exp(-9 * PARTS), -6.5),
        (1 + 0 * PARTS, 0),
        (PARTS, 1),
        (1 + np.exp(-9 * PARTS), None),
        (5 + 1 / PARTS, None),
        (0.5 + 1 / PARTS, -0.733),
    ],
)
def test_a_loss_goes_to_zero_by_the_slope_of_the_last_half(loss, slope):
    converges = check("converges loss=loss to_zero=true")
    (found,) = converges.conditions(run(HUNDRED[1:], loss=loss))
    assert found.value == (None if slope is None else pytest.approx(slope, rel=0.02, abs=1e-9))
    assert found.met is (slope is not None and slope < 0)
    assert found.limit == Limit(Side.BELOW, 0.0, Provenance.DERIVED)
    few = converges.conditions(run((0, 4, 8), loss=[9.0, 4.0, 2.0]))
    assert [(c.met, c.void) for c in few] == [(None, Void.FEW_OBSERVED)]
    for fewest, count in ((5, False), (6, True)):
        at = (1, *np.linspace(55, 100, fewest).astype(int).tolist())
        (found,) = converges.conditions(run(at, loss=1 / np.array(at)))
        assert (found.value is not None) is count


@pytest.mark.parametrize(
    ("loss", "says"),
    [
        (0.7 + 0.3 / PARTS, None),  # a level of seven tenths, which the last half does not tell
        (0.01 + 1e-4 / PARTS, False),
        (PARTS**-0.05, False),
        (PARTS**-0.5, True),
        (0.1 / PARTS, True),
    ],
)
def test_a_loss_goes_to_no_level(loss, says):
    noise = np.exp(0.01 * np.random.default_rng(0).normal(size=len(PARTS)))
    assert met(check("converges loss=loss to_zero=true"), run(HUNDRED[1:], loss=loss * noise)) == [
        says
    ]


def test_what_is_systematic_is_no_noise():
    """A drop or a jump late in training leaves much over of every decay."""
    for every in (1, 2):
        at = HUNDRED[1::every]
        t = np.array(at) / 100
        drop = 0.05 + 0.2 / (1 + np.exp((t - 0.92) / 0.015))
        for loss, void in ((drop, Void.CUT), (0.1 + 0.15 * (t > 0.92), None)):
            noise = np.exp(0.01 * np.random.default_rng(0).normal(size=len(t)))
            (found,) = check("converges loss=loss", **FLAT).conditions(run(at, loss=loss * noise))
            assert (found.met, found.void) == (None if void else False, void)


TRAINED = 1.0 * np.array(HUNDRED) / 100
CUT_AT_80 = np.where(TRAINED < 0.8, 1.0, 0.1)
FELL = (0.1 + 2 * np.exp(-12 * TRAINED)) * np.where(TRAINED < 0.8, 1.0, 0.7)


@pytest.mark.parametrize(
    ("loss", "rate", "says"),
    [
        (FELL, CUT_AT_80, True),
        (FELL, np.where(TRAINED < 0.5, 1.0, CUT_AT_80), True),
        (FELL * np.where(TRAINED < 0.8, 1, 1.8 - TRAINED), CUT_AT_80, False),  # falls on after it
        (FELL, 0 * TRAINED + 1, False),  # the rate was not cut
        (FELL, np.cos(np.pi / 2 * TRAINED) ** 2, False),
        (0.1 + 2 * np.exp(-12 * TRAINED), CUT_AT_80, True),
        (FELL, np.where(TRAINED < 0.98, 1.0, 0.1), None),  # too little is left after it
    ],
)
def test_rest_is_read_from_the_last_cut_of_the_rate_on(loss, rate, says):
    noise = np.exp(0.005 * np.random.default_rng(0).normal(size=len(loss)))
    of = run(HUNDRED, loss=loss * noise, rate=rate)
    assert met(check("converges loss=loss rate=rate", **FLAT), of) == [says]


@pytest.mark.parametrize(
    ("cut", "says"),
    [
        (80, True),
        ((50, 80), True),
        ((80, 200), True),
        ((80, 100), True),
        (0, False),
        (100, False),
        ("never", False),
    ],
)
def test_a_setting_says_when_the_rate_was_cut(cut, says):
    noise = np.exp(0.005 * np.random.default_rng(0).normal(size=len(FELL)))
    of = replace(run(HUNDRED, loss=FELL * noise), settings={"milestones": cut})
    assert met(check("converges loss=loss cut_at=milestones", **FLAT), of) == [says]
    (alone,) = check("converges loss=loss", **FLAT).conditions(of)
    assert alone.void is Void.CUT


def test_a_loss_at_rest_has_spikes_and_noise():
    """Seven per cent in which neighbours err alike, spikes, and 60 steps spaced as logarithms."""
    converges = check("converges loss=loss", **FLAT)
    logarithmic = np.unique([0, *(20000 / 1.183 ** np.arange(60)).round()])
    for steps, size, spikes in (
        (200.0 * np.arange(101), 0.07, 0),
        (200.0 * np.arange(101), 0.02, 5),
        (logarithmic, 0.01, 0),
    ):
        t = steps / steps[-1]
        said = []
        for seed in range(9):
            rng = np.random.default_rng(seed)
            noise = rng.normal(size=len(t))
            noise[1:] = 0.917 * noise[1:] + 0.4 * noise[:-1]
            high = np.zeros(len(t))
            high[rng.choice(np.arange(20, 95), spikes, replace=False)] = 1.0
            at = steps.astype(int).tolist()
            for loss in (0.035 + np.exp(-24 * t), (t + 0.001) ** -0.3, 0.1 + np.exp(-4 * t)):
                said.append(met(converges, run(at, loss=loss * np.exp(size * noise + high)))[0])
        assert said[::3].count(True) >= 8
        assert said[1::3].count(True) <= 1
        assert said[2::3].count(True) <= 1


@pytest.mark.parametrize(
    ("course", "says"),
    [
        (np.log(np.minimum(AFTER[1:], 60)), False),
        (np.log(AFTER[1:]) - 3 * np.maximum(PARTS - 0.6, 0), False),
        (5 * np.floor(8 * PARTS) / 8, False),
        (np.log(np.minimum(AFTER[1:], 10)), False),  # nothing is grown late in training
        (np.log(AFTER[1:]) - 0.9 * np.log(np.maximum(AFTER[1:], 10) / 10), False),  # a tenth
        # a fifth, and a fourth, of which 1/log(100) is asked
        (np.log(AFTER[1:]) - 0.8 * np.log(np.maximum(AFTER[1:], 10) / 10), False),
        (np.log(AFTER[1:]) - 0.75 * np.log(np.maximum(AFTER[1:], 10) / 10), None),
        (np.log(AFTER[1:]), True),
    ],
)
def test_growth_that_stops_or_turns_follows_no_law(course, says):
    noise = 0.01 * np.random.default_rng(0).normal(size=len(PARTS))
    grows_like = check("grows_like series=a law=logarithm", **GROWTH)
    assert met(grows_like, run(HUNDRED[1:], a=course + noise))[1] is says


@pytest.mark.parametrize(("pace", "says"), [(0.1, False), (0.3, True)])
def test_late_growth_is_asked_of_a_law_that_grew_from_the_first_step(pace, says):
    """From step 25 to 100 a root grows by 5, so that a growth of 1 asks for a pace of 0.2."""
    root = np.sqrt(AFTER[25:])
    late = np.maximum(root - np.sqrt(44), 0)
    noise = 0.001 * np.random.default_rng(0).normal(size=76)
    course = 2 * np.minimum(root, np.sqrt(44)) + pace * late + noise
    grows_like = check("grows_like series=a law=power exponent=0.5 since=0.25", **GROWTH)
    assert met(grows_like, run(HUNDRED[25:], a=course)) == [True, says]


SIXTY_THOUSAND = np.unique([0, *np.geomspace(1, 60000, 100).round()])
IN_LOGS = {
    "a logarithm": (np.log(1 + SIXTY_THOUSAND), "law=logarithm", True),
    "log(1 + t/30)": (np.log1p(SIXTY_THOUSAND / 30), "law=logarithm", True),
    "a power of a fifth": (SIXTY_THOUSAND**0.2, "law=logarithm", False),
    "a logarithm that stops": (np.log(1 + np.minimum(SIXTY_THOUSAND, 2e4)), "law=logarithm", False),
    "a burst, and a line": (
        4 * (SIXTY_THOUSAND > 1e3) + SIXTY_THOUSAND / 3e4,
        "law=logarithm",
        False,
    ),
    "a root": (SIXTY_THOUSAND**0.5 / 25, "law=power exponent=0.5", True),
    "a logarithm for a root": (np.log(1 + SIXTY_THOUSAND), "law=power exponent=0.5", False),
    "a neighbouring power": (SIXTY_THOUSAND**0.35 / 5, "law=power exponent=0.5", False),
}


@pytest.mark.parametrize("name", IN_LOGS)
def test_a_law_is_read_of_the_whole_course_after_its_start(name):
    """Noise of a twentieth of what a logarithm grows late hides it there, and not in all."""
    course, law, true = IN_LOGS[name]
    steps = SIXTY_THOUSAND.astype(int).tolist()
    draws = [np.random.default_rng(seed).normal(size=len(steps)) for seed in range(9)]
    runs = [run(steps, a=course + 0.07 * noise) for noise in draws]
    whole, late = (
        [met(check(f"grows_like series=a {law}{since}", **GROWTH), of)[1] for of in runs].count(
            True
        )
        for since in ("", " since=0.25")
    )
    assert whole >= 7 if true else whole <= 1
    assert not true or late < whole


@pytest.mark.parametrize(("tau", "since"), [(0.01, 1), (3.0, 64), (10.0, 256)])
def test_a_law_that_sets_in_is_fitted_from_the_first_step_at_which_it_holds(tau, since):
    noise = np.random.default_rng(0).normal(size=len(SIXTY_THOUSAND))
    course = np.log1p(SIXTY_THOUSAND / tau) + 0.01 * noise
    part = since <= SIXTY_THOUSAND
    laws = misfits(tuple(SIXTY_THOUSAND[part].tolist()), course[part], Law(0.0, 0.1))
    rival = min(laws["power"].size, laws["bounded"].size)
    of = run(SIXTY_THOUSAND.astype(int).tolist(), a=course)
    assert values(check("grows_like series=a law=logarithm", **GROWTH), of)[1] == pytest.approx(
        rival / laws["law"].size
    )


@pytest.mark.parametrize(("slower", "yes"), [(0.0, 6), (0.5, 0)])
def test_a_law_is_not_read_of_a_course_whose_pace_has_changed(slower, yes):
    """From two fifths of training on it grows by so much less of the logarithm."""
    t = np.maximum(SIXTY_THOUSAND, 1)
    course = np.log(t) - slower * np.log(np.maximum(t / 24_000, 1))
    grows_like = check("grows_like series=a law=logarithm", **GROWTH)
    draws = [np.random.default_rng(seed).normal(size=len(t)) for seed in range(6)]
    runs = [run(SIXTY_THOUSAND.astype(int).tolist(), a=course + 0.1 * noise) for noise in draws]
    assert [met(grows_like, of)[1] for of in runs].count(True) == yes


def test_a_long_course_is_thinned_to_means_of_neighbours():
    at, means = thinned(np.arange(515.0), np.arange(515.0) ** 0)
    assert (len(at), at[:2], at[-1], set(means)) == (171, (3, 6), 513, {1.0})
    few = np.arange(256.0)
    assert thinned(few, 2 * few)[0] == tuple(few)
    steps = np.arange(1, 3001)
    course = np.log(steps) + 0.1 * np.random.default_rng(0).normal(size=3000)
    grows_like = check("grows_like series=a law=logarithm", **GROWTH)
    assert met(grows_like, run(steps.tolist(), a=course)) == [True, True]


def test_noise_makes_a_run_void_and_no_no():
    steps = np.arange(1.0, 31)
    noise = np.random.default_rng(1).normal(size=len(steps))
    of = run(steps.astype(int).tolist(), loss=np.exp(0.3 * noise), a=np.log(steps) + 0.2 * noise)
    found = [
        *check("converges loss=loss", **FLAT).conditions(of),
        check("grows_like series=a law=power exponent=0.1", **GROWTH).conditions(of)[1],
    ]
    assert [(condition.met, condition.void) for condition in found] == [(None, Void.HIDDEN)] * 2


def test_a_series_follows_another_or_a_curve():
    steps, course = (*range(5, 16), 25), np.arange(1.0, 13)
    by = "follows series=a reference=b at_most=1"
    for size, fits in ((1, True), (3, False)):
        of = run(steps, a=course + size * np.eye(12)[4], b=course)
        assert (values(check(by), of), met(check(by), of)) == ([size, 1], [fits, True])
    late = check(f"{by} since=0.1")  # from step 7 on
    for place, distance in ((1, 0), (2, 1), (11, 1)):
        of = run(steps, a=course + np.eye(12)[place], b=course)
        assert values(late, of) == [distance, 0.9]
    relative = check(f"{by} relative=true")
    for a, b, distance in ((1, 1.9, 0.9), (3, 1, 2)):
        assert values(relative, run(steps, a=a * course, b=b * course)) == [distance, 1]
    for a, b in ((course - 1, course), (course, course - 1)):
        assert values(relative, run(steps, a=a, b=b)) == [None, 1]
    curve = check("follows series=a curve=[[6,0],[15,18]] at_most=1")
    with pytest.raises(MeasurementMissingError, match="less than half of training"):
        curve.conditions(run(range(5, 26), a=np.arange(21.0)))
    of = run(range(5, 17), a=2 * course - 4 + 5 * np.eye(12)[0])
    assert values(curve, of) == [0, 9 / 11]
    for follows, kept in ((curve, 10), (late, 9)):
        with pytest.raises(MeasurementMissingError, match="fewer than 10 observations of 'a'"):
            follows.conditions(run((*steps[:kept], 25), a=course[: kept + 1], b=course[: kept + 1]))


def test_a_quantile_of_the_distance_has_a_bound_of_its_own():
    course = np.arange(101.0)
    quantile = {"share": 0.9, "at_most": 1, **OURS}
    follows = check("follows series=a reference=b at_most=5", quantile=quantile)
    apart = 4.0 * (course < 8)
    assert values(follows, run(HUNDRED, a=course + apart, b=course)) == [4, 0, 1]
    apart = 4.0 * (course < 12)
    assert met(follows, run(HUNDRED, a=course + apart, b=course)) == [True, False, True]


def test_a_quantile_may_be_the_distance():
    """Lone observations far away take little of the time; a fifth of training in a row does not."""
    course = np.arange(101.0)
    follows = check("follows series=a reference=b at_most=1 share=0.85")
    largest = check("follows series=a reference=b at_most=1")
    spikes = 9.0 * (course % 20 == 5)
    assert met(largest, run(HUNDRED, a=course + spikes, b=course)) == [False, True]
    assert met(follows, run(HUNDRED, a=course + spikes, b=course)) == [True, True]
    away = 9.0 * (course > 80)
    assert met(follows, run(HUNDRED, a=course + away, b=course)) == [False, True]
    assert follows.conditions(run(HUNDRED, a=course, b=course))[0].limit.origin is Provenance.PAPER


@pytest.mark.parametrize(
    ("ends", "relative", "most"),
    [((0, 20), False, 20), ((-5, 20), False, 25), ((0, None), False, None),
     ((None, 20), False, None), ((0, 20), True, None)],
)  # fmt: skip
def test_no_distance_is_larger_than_a_declared_range(ends, relative, most):
    course = np.arange(1.0, 13)
    of = run(range(12), a=course, b=course)
    declared = {n: d.model_copy(update={"range": ends}) for n, d in of.declarations.items()}
    follows = check("follows series=a reference=b at_most=1", relative=relative)
    found = follows.conditions(replace(of, declarations=declared))[0]
    assert found.limit.most == most


def test_a_law_of_growth_beats_its_rivals_or_not():
    steps = (0, 5, 10, 25, 30, 40, 60, 80, 100)  # six from a quarter on
    t = np.maximum(steps, 1.0)
    logarithm = check("grows_like series=a law=logarithm", **GROWTH)
    growth, law = logarithm.conditions(run(steps, a=np.log(t)))
    assert (growth.met, growth.contrast, growth.unit) == (True, False, "plain")
    assert growth.value == pytest.approx(math.log(100))
    assert (law.met, law.contrast, law.unit, law.limit.at) == (True, True, "factor", 1)
    assert met(logarithm, run(steps, a=np.sqrt(t))) == [True, False]
    assert values(logarithm, run(steps, a=-np.sqrt(t))) == [-9, None]
    for apart in (0.1, 0.6):
        power = check(f"grows_like series=a law=power exponent=0.5 apart={apart}", **GROWTH)
        assert met(power, run(steps, a=np.sqrt(t))) == [True, True]
    for late, since, left in (
        (steps[1:], 0.25, "5 observations in the last 75%"),
        ((10, 30, 40, 50, 60, 70, 80, 90), 0.4, "5 observations in the last 60%"),
        ((-4, 0, 1, 2, 3, 4, 5), 0.1, "5 observations in the last 90%"),
    ):
        grows_like = check(f"grows_like series=a law=logarithm since={since}", **GROWTH)
        with pytest.raises(MeasurementMissingError, match=f"'a' has {left}"):
            grows_like.conditions(run(late, a=np.arange(1.0 * len(late))))
    assert values(grows_like, run((-4, 0, 1, 2, 3, 4, 5, 6), a=np.arange(8.0)))[0] == 7


SAYS = Names(noun=str, arm=str, coordinate=str, step=str)
FALLS = {"falls": {"at_least": 8, **OURS}}
IN_HALVES = {"a": [4.0, 3.0, 2.0], "b": [1.0, 1.5, 0.5], "s": [0.5, 0.75, 0.9], "c": 3.0}


@pytest.mark.parametrize(
    ("text", "more", "drawing", "course"),
    [
        ("beats lower=b upper=a", {}, Drawing("x", bounded=True), [4, 2, 4]),
        ("beats lower=b upper=a difference=true", {}, Drawing("x", bounded=True), [3, 1.5, 1.5]),
        ("concentrates share=s above=0", {}, Drawing("x", bounded=True), [0.5, 0.75, 0.9]),
        ("concentrates share=s above=0 of_the_rest=true", {},
         Drawing("x: share covered of the rest to 1", bounded=True), [0, 0.5, 0.8]),
        ("equals value=a to=1.5 within=1", {}, Drawing("x", bounded=True), [4, 3, 2]),
        ("equals value=a to=c within=1", {}, Drawing("a minus c", bounded=True), [1, 0, -1]),
        ("equals value=a to=c within=1 relative=true", {}, Drawing("a over c", bounded=True),
         [4 / 3, 1, 2 / 3]),
        ("reaches value=a above=0", {}, Drawing("x", bounded=True), [4, 3, 2]),
        ("reaches value=a relative_to=c above=0", {},
         Drawing("x over c", bounded=True, levels=((1.0, "c"),)), [4 / 3, 1, 2 / 3]),
        ("reaches value=a relative_to=a@first above=0", {},
         Drawing("x over its start", bounded=True), [1, 0.75, 0.5]),
        ("reaches value=a grown_from=c above=0", {}, Drawing("x", bounded=True), [1, 0, -1]),
        ("reaches value=a grown_from=a@first above=0", {}, Drawing("growth of x", bounded=True),
         [0, -1, -2]),
        ("reaches value=a between=[b,c] above=0", {},
         Drawing("x: share of the gap that is closed", bounded=True,
                 levels=((0.0, "b"), (1.0, "c"))), [1.4, 1, 0.6]),
        ("converges loss=a", FALLS,
         Drawing("x over its start", bounded=True, over_start=True), [4, 3, 2]),
        ("converges loss=a to_zero=true", {}, Drawing("x", log_x=True), [4, 3, 2]),
        ("grows_like series=a law=logarithm", GROWTH, Drawing("x", log_x=True), [4, 3, 2]),
    ],
)  # fmt: skip
def test_a_figure_draws_what_a_check_makes_of_each_step(text, more, drawing, course):
    drawn = check(text, **more)
    assert drawn.drawing(drawn.numbers[0], "x", SAYS) == drawing
    steps, values = drawn.course(run(**IN_HALVES), drawn.quantities()[0])
    assert (steps, values.ravel().tolist()) == ((0, 1, 2), pytest.approx(course))


@pytest.mark.parametrize(
    ("text", "x", "law", "since"),
    [
        ("law=logarithm", (20, 40, 60, 80, 100), np.log, 1),  # a fourth of training is at 40
        ("law=logarithm since=0.5", (20, 40, 60, 80, 100), np.log, 2),
        ("law=power exponent=0.5", (0, 10, 30, 40), np.sqrt, 1),
        ("law=logarithm since=0.1", (-4, 0, 1, 2, 3, 4, 5, 6), np.log, 2),  # 0 has no logarithm
    ],
)
def test_a_figure_draws_a_law_of_growth_through_late_training(text, x, law, since):
    steps = np.array(x, dtype=float)
    late = 3 + 2 * law(steps[since:])
    line = np.stack([late**0, late], axis=1)
    beside = late**2 - line @ np.linalg.lstsq(line, late**2, rcond=None)[0]
    grows_like = check(f"grows_like series=a {text}", **GROWTH)
    drawn = grows_like.fitted(steps, np.array([99.0] * since + [*late + beside]))
    assert drawn is not None
    assert drawn[0].tolist() == [*x[since:]]
    assert drawn[1] == pytest.approx(late)


def test_a_figure_draws_a_power_of_positive_numbers():
    scales_like = check("scales_like value=x axis=size exponent=1 within=1")
    sizes = np.array([1.0, 4.0, 16.0])
    drawn = scales_like.fitted(sizes, np.array([1.0, 1.0, 8.0]))
    assert drawn is not None
    assert drawn[0].tolist() == sizes.tolist()
    assert drawn[1] == pytest.approx(2 * sizes**0.75 / 4**0.75)
    for x, y in ((sizes - 1, sizes), (sizes, sizes - 1)):
        assert scales_like.fitted(x, y) is None


def test_the_size_of_a_power_and_its_bend():
    text, below = "scales_like value=x axis=size", {"below": 0, **PAPER}
    scales_like = check(f"{text} exponent=-0.5 within=0.3", bend={"at_most": 1, **OURS})
    exact = run(sizes=FOUR, x=tuple(float(s) ** -0.75 for s in FOUR))
    assert (values(scales_like, exact), met(scales_like, exact)) == ([-0.75, 0], [True, True])
    assert [c.unit for c in scales_like.conditions(exact)] == ["plain", "share"]
    bent = run(sizes=FOUR, x=(1.0, 8.0, 8.0, 1.0))
    line = check(text, bend={"at_most": 1, **OURS}, exponent={"below": -0.1, **PAPER})
    assert (values(line, bent), met(line, bent)) == ([0, 8**0.5 - 1], [False, False])
    hidden = scales_like.conditions(run(sizes=FOUR, x=(1.0, 8.0, 1.0, 2.0)))[1]
    assert (hidden.value, hidden.void) == (None, Void.HIDDEN)
    assert values(scales_like, run(sizes=FOUR, x=(1.0, 0.0, 1.0, 1.0))) == [None, None]
    assert met(check(text, exponent=below), exact) == [True]
    course = [(1.0, 1.0, 1.0), (9.0, 9.0, 9.0), (4.0, 2.0, 1.0)]
    assert values(check(f"{text} exponent=-1 within=0.1"), run(x=course)) == [-1]
    for sizes in ((0, 1, 2), (8, 8, 16)):
        with pytest.raises(MeasurementMissingError, match="at least 3 positive sizes"):
            check(text, exponent=below).conditions(run(sizes=sizes, x=(1.0, 2.0, 3.0)))
    with pytest.raises(MeasurementMissingError, match="at least 4 positive sizes"):
        scales_like.conditions(run(x=(1.0, 2.0, 3.0)))


def test_a_constant_is_no_part_of_a_claimed_power():
    six = (8, 16, 32, 64, 128, 256)
    above = run(sizes=six, x=tuple(0.2 + 8 / s for s in six))
    text = "scales_like value=x axis=size"
    assert values(check(f"{text} exponent=-0.5 within=0.1"), above) == [pytest.approx(-1, abs=1e-6)]
    (trend,) = check(text, exponent={"below": 0, **PAPER}).conditions(above)
    assert trend.value == pytest.approx(-0.474, abs=0.001)  # of a trend the form is not claimed


SEVEN = (64, 128, 256, 512, 1024, 2048, 4096)
EACH = np.array(SEVEN, dtype=float)


@pytest.mark.parametrize(
    ("values", "says", "trend"),
    [
        (np.where(EACH < 512, 1, 0.18), False, False),  # two plateaus, which are no trend either
        (np.exp(-1.9 / (1 + (512 / EACH) ** 2)), False, True),  # a rise between them
        (np.minimum(1, 512 / EACH), False, True),
        (EACH**-0.1 * np.where(EACH == 4096, 0.05, 1), False, True),  # the last size alone
        (EACH**-0.5, True, True),
        (EACH**-0.5 * (1 + 0.05 * np.log(EACH / 512)), True, True),  # exponents within the margin
    ],
)
def test_a_claimed_exponent_is_that_of_a_power(values, says, trend):
    noise = np.exp(0.01 * np.random.default_rng(0).normal(size=7))
    of = run(sizes=SEVEN, x=tuple(values * noise))
    text = "scales_like value=x axis=size"
    assert met(check(f"{text} exponent=-0.5 within=0.1"), of) == [says]
    bend = {"at_most": 0.1, **OURS}
    assert met(check(f"{text} exponent=-0.5 within=0.1", bend=bend), of) == [says, says]
    assert met(check(text, exponent={"below": 0, **PAPER}), of) == [trend]  # it has no form


@pytest.mark.parametrize(
    ("sizes", "values", "says"),
    [
        # the smallest size alone, the largest alone, and a trend through all
        (SEVEN, (0.35, *[0.1] * 6), False),
        (SEVEN, (*[0.35] * 6, 0.1), False),
        (SEVEN, (0.35, 0.1, 0.09, 0.08, 0.07, 0.06, 0.05), True),
        (SEVEN, (0.05, 0.06, 0.07, 0.08, 0.09, 0.1, 0.35), False),
        (FOUR, (4, 3, 3, 2), True),
        (FOUR, (4, 2, 3, 3), False),
        # three: what is left has one sign
        (SIZES, (4, 2, 1), True),
        (SIZES, (4, 1, 2), False),
        (SIZES[::-1], (2, 1, 4), False),
        (SIZES, (4, 1, 1), False),
    ],
)
@pytest.mark.parametrize("standard", ["typical", "mean"])
def test_a_trend_is_no_single_size(sizes, values, says, standard):
    of = run(sizes=sizes, x=values)
    text = f"scales_like value=x axis=size standard={standard}"
    assert met(check(text, exponent={"below": 0, **PAPER}), of) == [says]


def test_a_trend_of_three_sizes_may_bend_and_of_more_not_past_its_bound():
    text = "scales_like value=x axis=size standard=typical"
    steep = check(text, exponent={"at_most": -0.5, **OURS})
    assert values(steep, run(x=(8.0, 2.0, 1.9))) == [pytest.approx(-1.0370, abs=1e-4)]
    (found,) = steep.conditions(run(sizes=FOUR, x=(8.0, 2.0, 1.9, 1.8)))
    assert (found.met, found.value) == (False, pytest.approx(-0.0760, abs=1e-4))
    flat = check(text, exponent={"at_most": 0.1, **OURS})
    assert met(flat, run(x=(1.0, 0.99, 1.0))) == [True]


def test_an_exponent_that_noise_hides_is_void_unless_the_mean_decides():
    noisy = run(
        sizes=FOUR, x=tuple(s**-0.7 * e for s, e in zip(FOUR, (1.3, 0.7, 1.4, 0.8), strict=True))
    )
    text = "scales_like value=x axis=size exponent=-0.5 within=0.01"
    assert met(check(text), noisy) == [False]
    (condition,) = check(f"{text} standard=typical").conditions(noisy)
    assert (condition.met, condition.void) == (None, Void.HIDDEN)


def test_a_separation_is_absent_first_and_there_last():
    separates = check("separates value=a", **BOUNDS)
    assert met(separates, run(a=[1.0, 9.0, 3.0])) == [True, True]
    assert met(separates, run(a=[1.5, 9.0, 2.0])) == [False, False]
    others = check("separates value=a start_value=b", **BOUNDS)
    for kind, name in ((separates, "a"), (others, "b")):
        assert [quantity.measurement for quantity, _ in kind.bounded] == [name, "a"]
    other = others.conditions(run(a=A, b=B))
    assert [(c.noun, c.value) for c in other] == [("b", 1), ("a", 2)]


FIRST, LATER = np.minimum(AFTER / 20, 1), np.clip((AFTER - 12) / 56, 0, 1)


STEP, HALF_MADE = 1.0 * (AFTER > 20), np.minimum(AFTER / 80, 1)
RESTS = np.where(AFTER > 60, 1, np.minimum(AFTER / 50, 0.2))


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        # half of a constant pace to 40 gives 0.075 at 12, where nothing is made; 1e-4 is least
        (FIRST, LATER, [4, 750]),
        (3 - 2 * FIRST, -LATER, [4, 750]),
        (FIRST, HALF_MADE, [4, 0.5]),  # a clock of its own from the start
        (FIRST, RESTS, [6.0375, 0.1 / 0.18]),  # at 9, the last step before the earlier onset
        (STEP, 1.0 * (AFTER > 60), [60.5 / 20.5, 1000]),
        (FIRST, np.where(AFTER == 5, -0.25, LATER), [4, 750]),  # one observation is no move
        (
            FIRST,
            np.where(abs(AFTER - 5) < 3, -0.25, LATER),
            [4, 0.33292682926829265],
        ),  # a move either way
        (FIRST, 0.26 * LATER, [4, 750]),
        (FIRST, 0.25 * LATER, [4, 750]),
        (FIRST, 0.24 * LATER, [None, None]),
        (FIRST, 0 * LATER, [None, None]),
        (0 * FIRST, LATER, [None, None]),
        (np.stack([FIRST] * 3, axis=1), LATER, [None, None]),
    ],
)
def test_a_stage_comes_after_another(a, b, expected):
    of, stages = run(HUNDRED, a=a, b=b), check("stages", **STAGES, **WAIT)
    assert values(stages, of) == expected
    from_50 = run([50 + step for step in HUNDRED], a=a, b=b)
    assert values(stages, from_50)[1:] == [
        None if x is None else pytest.approx(x) for x in expected[1:]
    ]
    order, wait = stages.conditions(of)
    assert [c.met for c in (order, wait)] == [
        x is not None and x > y for x, y in zip(expected, (2, 1), strict=True)
    ]
    assert {(c.contrast, c.unit, c.noun) for c in (order, wait)} == {(True, "factor", "b")}
    assert wait.limit == Limit(Side.ABOVE, 1.0, Provenance.PAPER)
    assert values(check("stages", **STAGES), of) == expected[:1]


@pytest.mark.parametrize(
    ("every", "b", "void"),
    [
        (1, AFTER / 100, Void.NOT_ENDED),
        (20, 1.0 * (AFTER > 45), Void.FEW_OBSERVED),  # an onset before 40, and one after it
        (1, LATER + 0.1 * np.random.default_rng(0).normal(size=101), Void.HIDDEN),
    ],
)
def test_a_run_that_does_not_tell_two_stages_is_void(every, b, void):
    of = run(HUNDRED[::every], a=(1.0 * (AFTER > 15))[::every], b=b[::every])
    found = check("stages", **STAGES, **WAIT).conditions(of)
    assert {(c.met, c.void) for c in found if not c.met} == {(None, void)}


def test_a_wait_is_known_but_for_noise():
    """A yes has the least that the number may be, and a no the most."""
    alternating = np.where(AFTER % 2, 1.0, -1.0)
    stages = check("stages", **STAGES, **WAIT)
    # of two hundredths until step 12, where half of a constant pace to 40 gives 0.075
    for by in (1, 5):
        later = by * (LATER + 0.01 * alternating)
        _, wait = stages.conditions(run(HUNDRED, a=FIRST, b=later))
        assert (wait.met, wait.value) == (True, pytest.approx(0.075 / 0.02, rel=0.02))
        # 0.1 at step 16, where 0.21 are made but for 0.097, four deviations of the noise
        half_made = by * (HALF_MADE + 0.01 * alternating)
        _, wait = stages.conditions(run(HUNDRED, a=FIRST, b=half_made))
        assert (wait.met, wait.value) == (False, pytest.approx(0.1 / (0.21 - 0.097), rel=0.05))


def test_a_change_that_comes_alone_refutes_its_control_alone():
    """What is said to wait comes in a control that lacks the change before it."""
    stages = check("stages", **STAGES, **WAIT)
    for a, b, void in (
        (0 * FIRST, LATER, Void.UNPROMPTED),
        (0 * FIRST, AFTER / 100, Void.UNPROMPTED),
        (0 * FIRST, 0 * LATER, None),
        (FIRST, 0 * LATER, None),
    ):
        own = run(HUNDRED, a=a, b=b)
        assert met(stages, own) == [False, False]
        found = stages.conditions(replace(own, control=True))
        assert {(c.met, c.void) for c in found} == {(None if void else False, void)}
    assert met(stages, replace(run(HUNDRED, a=FIRST, b=LATER), control=True)) == [True, True]


def test_a_change_that_goes_on_is_named():
    slow = AFTER / 100
    for a, b, name in ((slow, LATER, "a"), (FIRST, slow, "b"), (slow, slow, "a")):
        for condition in check("stages", **STAGES, **WAIT).conditions(run(HUNDRED, a=a, b=b)):
            assert (condition.void, condition.about, condition.noun) == (Void.NOT_ENDED, name, "b")


def test_a_change_that_comes_late_has_ended_where_it_rests():
    late = 1 / (1 + np.exp(-(AFTER - 84) / 0.8))
    for b in (late, np.clip((AFTER - 50) / 40, 0, 1)):
        assert met(check("stages", **STAGES, **WAIT), run(HUNDRED, a=FIRST, b=b)) == [True, True]


def test_a_change_that_goes_on_has_its_onset_at_a_level():
    at = {**STAGES, "later": {"series": "b", "crosses": 0.75}}
    assert values(check("stages", **at), run(HUNDRED, a=FIRST, b=LATER)) == [5.4]
    assert values(check("stages", **at), run(HUNDRED, a=FIRST, b=AFTER / 100)) == [7.5]


# --- what was learned ---------------------------------------------------------------------------

SPARSE, LATE = (0, 500, 1000), (200, 500, 1000)
REST = "concentrates share=a of_the_rest=true"
THERE, BEGINS, RANGE = Void.THERE_AT_START, Void.BEGINS_LATE, Void.OUT_OF_RANGE


@pytest.mark.parametrize(
    ("text", "steps", "found", "said"),
    [
        # what met its bound before training was not learned
        (f"{DISTANCE} at_most=0.1", SPARSE, {"a": [0.08, 0.5, 0.05]}, THERE),
        (f"{DISTANCE} at_most=0.1", SPARSE, {"a": [0.08, 0.05, 0.5]}, False),
        (f"{DISTANCE} at_most=0.1", SPARSE, {"a": [0.5, 0.08, 0.05]}, True),
        (f"{SCORE} at_least=0.9", SPARSE, {"a": [0.95, 0.2, 0.95]}, THERE),
        (f"{SCORE} at_least=0.9", SPARSE, {"a": [(0.1, 0.95, 0.1)] + [(0.95,) * 3] * 2}, THERE),
        (f"{SCORE} at_least=0.9", SPARSE, {"a": [(0.1, 0.95, 0.95)] * 3}, False),
        (f"{SCORE} at_least=0.9 in_share=0.5", SPARSE,
         {"a": [(0.1, 0.95, 0.1), (1,) * 3, (1,) * 3]}, True),
        ("aligns ranks=[a,b] at_least=0.9", SPARSE, {"a": [(1, 2, 3)] * 3, "b": (1, 2, 3)}, THERE),
        ("aligns ranks=[a,b] at_least=0.9", SPARSE,
         {"a": [(3, 2, 1), (1, 2, 3), (1, 2, 3)], "b": [(1, 2, 3)] * 3}, True),
        ("concentrates share=a at_least=0.9", SPARSE, {"a": [0.95, 0.95, 0.95]}, THERE),
        ("concentrates share=a at_least=0.9", SPARSE, {"a": [0.2, 0.95, 0.95]}, True),
        # what has no course is judged by its number
        ("concentrates share=a at_least=0.9", SPARSE, {"a": 0.95}, True),
        # a log that begins late, where its start decides
        (f"{DISTANCE} at_most=0.1", LATE, {"a": [0.08, 0.05, 0.05]}, BEGINS),
        (f"{DISTANCE} at_most=0.1", LATE, {"a": [0.2, 0.05, 0.05]}, True),
        (f"{DISTANCE} at_most=0.1", LATE, {"a": [0.2, 0.5, 0.5]}, False),
        (f"{DISTANCE} at_most=0.1", (10, 500, 1000), {"a": [0.08, 0.05, 0.05]}, THERE),
        (f"{DISTANCE} at_most=0.1", (11, 500, 1000), {"a": [0.08, 0.05, 0.05]}, BEGINS),
        (f"{DISTANCE} at_most=0.1", (1, 5, 10), {"a": [0.08, 0.05, 0.05]}, THERE),
        (f"{REST} at_least=0.5", LATE, {"a": [0.2, 0.5, 0.9]}, BEGINS),
        (f"{REST} at_least=0.5", SPARSE, {"a": [0.2, 0.5, 0.9]}, True),
        # per cent, and what is no share
        ("concentrates share=a at_least=0.9", SPARSE, {"a": [12.0, 80.0, 93.0]}, RANGE),
        ("concentrates share=a at_least=0.9", SPARSE, {"a": [0.1, 0.5, -0.2]}, RANGE),
        (f"{REST} at_least=0.5", SPARSE, {"a": [12, 80, 93]}, RANGE),
        (f"{SCORE} at_least=0.9", SPARSE, {"a": [12.0, 80.0, 93.0]}, RANGE),
        (f"{DISTANCE} at_most=0.1", SPARSE, {"a": [0.5, 0.1, -0.2]}, RANGE),
        # nothing is left out in silence
        (f"{SCORE} at_least=0.9", SPARSE,
         {"a": [(0,) * 3, (1,) * 3, (1, 1, math.nan)]}, None),
    ],
)  # fmt: skip
def test_what_is_learned_was_not_there_before(text, steps, found, said):
    (condition,) = check(text).conditions(run(steps, **found))
    assert (condition.void or condition.met) == said
    if condition.void is Void.BEGINS_LATE:
        assert condition.found == steps[0]


@pytest.mark.parametrize(
    ("steps", "course", "said"),
    [
        (SPARSE, [0.5, 1, 3], [True, True]),
        (SPARSE, [2, 1, 3], [False, True]),
        (LATE, [0.5, 1, 3], [BEGINS, True]),
        (LATE, [2, 1, 1], [BEGINS, False]),
    ],
)
def test_a_separation_has_a_start(steps, course, said):
    found = check("separates value=a", **BOUNDS).conditions(run(steps, a=course))
    assert [condition.void or condition.met for condition in found] == said


@pytest.mark.parametrize(
    ("steps", "found", "said"),
    [
        # a loss whose null ends at 2 and whose ceiling at 0
        (SPARSE, {"a": [2.3, 1.0, 0.1], "b": 2.0, "c": 0.0}, 0.95),
        (SPARSE, {"a": [1.9, 1.0, 0.1], "b": 2.0, "c": 0.0}, 0.95),
        (SPARSE, {"a": [2.3, 1.0, -1.0], "b": 2.0, "c": 0.0}, 1.5),
        # exchanged: nothing was learned, and it lies at the "ceiling"
        (SPARSE, {"a": [2.3, 2.2, 2.1], "b": 0.0, "c": 2.0}, Void.EXCHANGED),
        (SPARSE, {"a": [2.0, 2.2, 0.1], "b": 0.0, "c": 2.0}, Void.EXCHANGED),
        (SPARSE, {"a": [1.9, 1.9, 1.9], "b": 0.0, "c": 2.0}, THERE),
        # equal
        (SPARSE, {"a": [2.3, 1.0, 0.1], "b": 1.0, "c": 1.0}, Void.EXCHANGED),
        (SPARSE, {"a": 0.1, "b": 1.0, "c": 1.0}, Void.EXCHANGED),
        (SPARSE, {"a": 0.1, "b": 2.0, "c": 0.0}, 0.95),
        # a log that begins where the place is passed already
        (LATE, {"a": [0.1, 0.1, 0.1], "b": 2.0, "c": 0.0}, BEGINS),
        (LATE, {"a": [-0.1, 0.1, 0.1], "b": 2.0, "c": 0.0}, BEGINS),
        (LATE, {"a": [1.9, 0.1, 0.1], "b": 2.0, "c": 0.0}, 0.95),
    ],
)
def test_a_ceiling_lies_beyond_the_null(steps, found, said):
    (condition,) = check(f"{PLACE} at_least=0.75").conditions(run(steps, **found))
    expected = said if isinstance(said, Void) else pytest.approx(said)
    assert (condition.void or condition.value) == expected


@pytest.mark.parametrize(
    ("a", "ceiling", "void"),
    [(-0.19, 0.0, None), (-0.21, 0.0, Void.EXCHANGED), (2.9, 2.3, Void.EXCHANGED)],
)
def test_a_number_far_beyond_another_arms_ceiling_has_none(a, ceiling, void):
    own = run(a=a, b=2.0, c=ceiling)
    of = replace(own, others={"best": run(c=ceiling)})
    by_arm = {"between": ["b", {"measurement": "c", "arm": "best"}], "at_least": 0.75}
    (found,) = check("reaches value=a", **by_arm).conditions(of)
    assert (found.void, found.met) == (void, None if void else True)
    assert met(check("reaches value=a", **by_arm), replace(of, built=True)) == [True]
    assert met(check(f"{PLACE} at_least=0.75"), own) == [True]  # a yardstick of its own


def test_what_stays_at_the_null_may_start_there():
    stays = check(f"{PLACE} at_most=0.25")
    assert met(stays, run(SPARSE, a=[2.0, 1.9, 1.9], b=2.0, c=0.0)) == [True]


def test_what_is_built_is_there_before_training():
    for text in (f"{DISTANCE} at_most=0.1", f"{PLACE} at_least=0.75"):
        of = replace(run(LATE, a=[0.01] * 3, b=1.0, c=0.0), built=True)
        assert met(check(text), of) == [True]


@pytest.mark.parametrize(("a", "b"), [(1.0, -2.0), (-1.0, -2.0), (1.0, 0.0), (0.0, 0.0)])
def test_a_ratio_has_a_positive_divisor(a, b):
    assert met(check(f"{RATIO} at_most=1.05"), run(a=a, b=b)) == [None]
    assert met(check(f"{RATIO} at_most=1.05"), run(a=-1.0, b=2.0)) == [True]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("equals value=a to=0 within=0.05 relative=true", "a share of 0 is 0"),
        ("concentrates share=a at_least=90", "a share lies between 0 and 1"),
        (f"{SCORE} at_least=90", "no cosine lies beyond 1: 90"),
        (f"{DISTANCE} at_most=-1", "no distance lies beyond 0: -1"),
        ("aligns ranks=[a,b] at_least=1.5", "no ranks lies beyond 1"),
        (f"{SCORE} at_least=-1.5", "no cosine lies beyond -1"),
        ("beats lower=a upper=b paired=false", "give either side an 'arm'"),
        ("beats lower=a upper=b by=1", "'by' is a factor above 1"),
    ],
)
def test_a_bound_that_means_nothing_is_refused(text, says):
    with pytest.raises(ValidationError, match=says):
        check(text)


def test_groups_are_compared_by_their_order_and_not_by_a_mean():
    groups = {"upper": {"measurement": "b", "arm": "other"}, "paired": False}
    with pytest.raises(ValidationError, match="leave out 'standard: mean'"):
        check("beats lower=a standard=mean", **groups)
    assert not check("beats lower=a standard=typical", **groups).by_mean


# --- what a run holds -----------------------------------------------------------------------------


def test_a_quantity_has_its_place():
    own = run(x=(1.0, 2.0, 3.0), s=[(1.0, 2.0, 3.0), (4.0, 5.0, 6.0), (7.0, 8.0, 9.0)], z=5.0)

    def numbers(text: str, of: Run = own, **more: Any) -> list[float]:
        quantity = Quantity.model_validate(text).model_copy(update=more)
        return [float(n) for n in of.numbers(quantity)]

    assert (numbers("z"), numbers("x")) == ([5], [1, 2, 3])
    assert numbers("x[16]") == numbers("x", own.placed({"size": 16})) == [2]
    assert numbers("x", own.placed({"size": 8}), at={"size": 32}) == [3]
    assert (numbers("s@first"), numbers("s[16]")) == ([1, 2, 3], [8])
    steps, found = own.series(Quantity.model_validate("s[16]"))
    assert (steps, found.tolist()) == ((0, 1, 2), [[2], [5], [8]])
    assert own.coordinates(Quantity.model_validate("x"), "size") == SIZES
    reads, others = {"z": "x"}, {"null": run(x=(7.0, 8.0, 9.0))}
    beside = Run(0, own.measurements, own.declarations, {}, reads, {"size": 16}, others)
    assert (numbers("z", beside), numbers("x", beside, arm="null")) == ([2], [8])
    assert beside != Run(0, own.measurements, own.declarations, {}, reads, {"size": 16}, others)
    with pytest.raises(FrozenInstanceError):
        beside.seed = 1  # type: ignore[misc]
    for text, more in (("x[7]", {}), ("x", {"at": {"size": 7}}), ("y", {}), ("x", {"arm": "no"})):
        with pytest.raises(MeasurementMissingError, match=r"has no|no measurement|no run of"):
            numbers(text, **more)
    with pytest.raises(MeasurementMissingError, match="no series"):
        own.series(Quantity.model_validate("x"))
    with pytest.raises(MeasurementMissingError, match="no axis 'size'"):
        own.coordinates(Quantity.model_validate("z"), "size")
