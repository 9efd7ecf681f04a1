"""Margins, orders and curves: what a check allows, on which side, and from whom it is."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from pydantic import ValidationError

from factories import answers_of, make_audit, make_records
from miniatures import claim
from reproaudit.checks import Limit, Names, Provenance, Run, Side, plain
from reproaudit.declarations import MeasurementMissingError
from reproaudit.stats.binomial import Decision
from reproaudit.stats.powers import offset_power_fit
from reproaudit.stats.ranks import kendall_tau
from scorecard.test_rows import scorecard
from synthetic import OURS, PAPER, check, run

NAMES = Names(lambda name: f"the {name}", lambda arm: arm, str, lambda _: "step")


# --- orders -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other", "tau"),
    [
        ((1, 2, 3, 4), (10, 20, 30, 40), 1.0),
        ((1, 2, 3, 4), (4, 3, 2, 1), -1.0),
        ((1, 2, 3), (1, 3, 2), 1 / 3),
        ((1, 1, 2, 3), (1, 2, 3, 4), 5 / math.sqrt(30)),
        ((1, 1, 2), (1, 1, 2), 1.0),
        ((1, 1, 1), (1, 2, 3), math.nan),
        ((1, math.nan, 3), (1, 2, 3), math.nan),
        ((1, math.inf, 3), (1, 2, 3), math.nan),
    ],
)
def test_tau_tells_how_far_two_lists_are_ordered_alike(one, other, tau):
    for lists in ((one, other), (other, one)):
        assert kendall_tau(*map(np.array, lists)) == pytest.approx(tau, nan_ok=True)


@pytest.mark.parametrize("seed", range(5))
def test_tau_is_that_of_scipy(seed):
    stats = pytest.importorskip("scipy.stats")
    rng = np.random.default_rng(seed)
    first, other = rng.integers(0, 6, size=(2, 20)).astype(float)
    assert kendall_tau(first, other) == pytest.approx(stats.kendalltau(first, other).statistic)


RANKS = {"ranks": ["score", "reference"]}


def test_an_order_is_learned():
    aligns = check("aligns", **RANKS, at_least=0.75, **OURS)
    (found,) = aligns.conditions(run(score=(1, 3, 2), reference=(1, 2, 3)))
    assert (found.value, found.met) == (pytest.approx(1 / 3), False)
    assert found.limit.relaxed().at == 0.5  # a score 1 - d to 1 - 2d
    assert aligns.compared("score", NAMES) == ("the score", "the reference")


def test_lists_without_an_order_are_void():
    (condition,) = check("aligns", **RANKS, at_least=0.5, **PAPER).conditions(
        run(score=(1, 1, 1), reference=(1, 2, 3))
    )
    assert (condition.value, condition.met) == (None, None)


@pytest.mark.parametrize(
    "fields",
    [
        {**RANKS, "at_most": 0.5},
        {**RANKS, "at_least": 0.5, "cosine": "score"},
        {**RANKS, "at_least": 0.5, "in_share": 0.5},
        {"ranks": ["score"], "at_least": 0.5},
        {"at_least": 0.5},
    ],
)
def test_an_order_has_two_lists_and_a_least_tau(fields):
    with pytest.raises(ValidationError):
        check("aligns", **fields, **PAPER)


# --- powers above a constant --------------------------------------------------------------------

SIZES = (1, 2, 4, 8, 16, 64)
POWER = {"value": "loss", "axis": "size", "exponent": -0.5, "within": 0.01, "offset": True}


def of_law(law: Callable[[NDArray[np.float64]], Any], sizes: tuple[int, ...] = SIZES) -> Run:
    return run(sizes=sizes, loss=tuple(law(np.array(sizes, dtype=float))))


def test_it_is_the_least_squares_of_scipy():
    optimize = pytest.importorskip("scipy.optimize")
    n = np.array(SIZES, dtype=float)
    values = 3 + 2 * n**-0.5 + 0.01 * np.random.default_rng(0).normal(size=len(n))

    def law(x: NDArray[np.float64], c: float, a: float, p: float) -> NDArray[np.float64]:
        return c + a * x**p

    expected, _ = optimize.curve_fit(law, n, values, p0=(3, 2, -0.5))
    found = offset_power_fit(n, values)
    assert found is not None
    assert found.exponent == pytest.approx(expected[2], abs=1e-4)
    assert found.apart == pytest.approx(np.abs(values / law(n, *expected) - 1), abs=1e-4)


def test_a_constant_bends_a_power_and_no_power_above_one():
    of = of_law(lambda n: 3 + 2 * n**-0.5)
    bend = {"bend": {"at_most": 0.01, **OURS}}
    above = check("scales_like", **POWER, **bend, **PAPER).conditions(of)
    alone = check("scales_like", **{**POWER, "offset": False}, **bend, **PAPER).conditions(of)
    assert [condition.met for condition in above] == [True, True]
    # the exponent is that of what can be reduced, and the whole is no power
    assert [condition.met for condition in alone] == [True, False]


@pytest.mark.parametrize("law", [lambda n: 0.1 + 0 * n, np.exp, lambda n: n**-7.0 + 1])
def test_a_trend_that_no_power_fits_is_void(law):
    (condition,) = check("scales_like", **POWER, **PAPER).conditions(of_law(law))
    assert (condition.value, condition.met) == (None, None)


def test_three_parameters_need_four_sizes():
    of = of_law(lambda n: n, (1, 2, 4))
    with pytest.raises(MeasurementMissingError, match="needs at least 4 positive sizes"):
        check("scales_like", **POWER, **PAPER).conditions(of)
    assert check("scales_like", **POWER, **PAPER).sizes == ("size", 4)


# --- margins on one side ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("side", "more", "value", "expected"),
    [
        ("below", {}, 0.1, (Side.AT_MOST, 1.0, True)),
        ("below", {}, 1.1, (Side.AT_MOST, 1.0, False)),
        ("above", {}, 9.0, (Side.AT_LEAST, 0.8, True)),
        ("above", {}, 0.7, (Side.AT_LEAST, 0.8, False)),
        ("below", {"relative": True, "within": 0.5}, 1.3, (Side.AT_MOST, 1.35, True)),
        ("above", {"relative": True, "within": 0.5}, 0.7, (Side.AT_LEAST, 0.6, True)),
        ("below", {"to": "other"}, 1.05, (Side.AT_MOST, 0.1, True)),
        (
            "below",
            {"to": "other", "relative": True, "within": 0.1},
            1.2,
            (Side.AT_MOST, 1.1, False),
        ),
    ],
)
def test_a_margin_on_one_side(side, more, value, expected):
    fields = {"value": "score", "to": 0.9, "within": 0.1, "side": side, **more}
    (condition,) = check("equals", **fields, **PAPER).conditions(run(score=value, other=1.0))
    assert (condition.limit.side, pytest.approx(condition.limit.at), condition.met) == expected


@pytest.mark.parametrize(
    ("side", "relative", "relaxed", "tightened"),
    [
        ("below", False, 1.1, 0.95),  # though the bound itself is 1, which is never relaxed
        ("above", False, 0.7, 0.85),
        ("below", True, 0.9 * 1.2, 0.9 * 1.05),
        ("above", True, 0.9 / 1.2, 0.9 / 1.05),
    ],
)
def test_a_margin_on_one_side_is_doubled(side, relative, relaxed, tightened):
    fields = {"value": "score", "to": 0.9, "within": 0.1, "side": side, "relative": relative}
    (condition,) = check("equals", **fields, **OURS).conditions(run(score=0.9))
    assert condition.limit.relaxed().at == pytest.approx(relaxed)
    assert condition.limit.tightened().at == pytest.approx(tightened)
    assert condition.limit.relaxed().tightened() == condition.limit
    assert condition.limit.relaxed().side is condition.limit.side
    (fixed,) = check("equals", **fields, **PAPER).conditions(run(score=0.9))
    assert fixed.limit.relaxed() == fixed.limit


# --- a ratio to a number ------------------------------------------------------------------------

OF_OURS: dict[str, Any] = {"is": 0.1, **OURS}
RATIO = {
    "value": "error[32]",
    "relative_to": "error[8]",
    "to": 1.645,
    "within": OF_OURS,
    "relative": True,
    **PAPER,
}


@pytest.mark.parametrize(
    ("side", "ratio", "met"),
    [
        ("below", 1.8, True),
        ("below", 1.82, False),
        ("below", 0.2, True),
        ("above", 1.5, True),
        ("above", 1.49, False),
        ("above", 9.0, True),
        (None, 1.8, True),
        (None, 1.82, False),
        (None, 1.49, False),
    ],
)
def test_a_ratio_meets_the_papers_number_within_a_tolerance_of_ours(side, ratio, met):
    equals = check("equals", **{**RATIO, **({"side": side} if side else {})})
    (condition,) = equals.conditions(run(error=(2.0, 1.0, 2.0 * ratio)))
    assert condition.value == pytest.approx(ratio)
    assert condition.met is met
    assert (condition.limit.origin, condition.limit.of) == (Provenance.OURS, Provenance.PAPER)
    assert equals.by_mean
    assert equals.compared("error", NAMES) == ("the error, 32 over 8:", "")
    assert plain(equals)["relative_to"] == {"measurement": "error", "coordinates": [8]}


@pytest.mark.parametrize("divisor", [0.0, -1.0])
def test_a_ratio_to_nothing_is_none(divisor):
    (condition,) = check("equals", **RATIO).conditions(run(error=(divisor, 1.0, 2.0)))
    assert condition.value is None


def test_a_ratio_is_drawn_at_every_step():
    course = {**RATIO, "value": "loss", "relative_to": "loss@first"}
    equals = check("equals", **course)
    steps, values = equals.course(run(loss=[4.0, 2.0, 1.0]), equals.quantities()[0])
    assert steps == (0, 1, 2)
    assert values.ravel().tolist() == [1.0, 0.5, 0.25]


def test_a_ratio_equals_a_number_alone():
    with pytest.raises(ValidationError, match="state the number as 'to'"):
        check("equals", **{**RATIO, "to": "error[16]"})


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"side": "below"}, "we allow 0.02 times 1.5"),
        ({"side": "above"}, "we ask 0.02 over 1.5"),
        ({"side": "below", "relative": False}, "we allow 0.02 + 0.5"),
        ({"side": "above", "relative": False}, "we ask 0.02 − 0.5"),
        ({}, "we allow within a factor of 1.5 of 0.02"),
    ],
)
def test_a_page_says_the_number_and_the_tolerance(fields, words):
    within = {"is": 0.5, **OURS}
    ratio = {"kind": "equals", "value": "final", "relative_to": "distance@first", "to": 0.02}
    headline = [{**ratio, "within": within, "relative": True, **PAPER, **fields}]
    audit = make_audit(claims=[claim("mini", "shown", main=True, headline=headline)])
    card = scorecard(audit)
    assert words in {row.bound_words for row in card.rows if row.arm == "own"}


# --- in the rule --------------------------------------------------------------------------------

EQUALS = {"value": "score", "to": 0.9, "within": 0.1, **PAPER}
LINE = {**POWER, "offset": False, **PAPER}
FALLS = {"loss": "score", "ends": {"below": 1, **PAPER}}
LISTS = [{"measurement": "score"}, {"measurement": "reference"}]


@pytest.mark.parametrize(
    ("kind", "fields", "more", "entry"),
    [
        ("equals", EQUALS, {"side": "below"}, "below"),
        ("scales_like", LINE, {"offset": True}, True),
        ("converges", FALLS, {"in_share": 0.9}, 0.9),
        ("aligns", {"cosine": "score", "at_least": 0.5, **PAPER}, {"cosine": None, **RANKS}, LISTS),
    ],
)
def test_a_field_enters_the_rule_and_its_default_does_not(kind, fields, more, entry):
    *_, name = more
    assert name not in plain(check(kind, **fields))
    assert plain(check(kind, **{**fields, **more}))[name] == entry


# --- each number from its own source ------------------------------------------------------------

OWN: dict[str, Any] = {"is": 0.1, **OURS}
MARGIN = {"kind": "equals", "value": "score", "to": 0.9}
EXPONENT = {"kind": "scales_like", "value": "score", "axis": "size", "exponent": -0.5}
PAIR = {"kind": "beats", "lower": "score", "upper": "other"}


def limit_of(fields: dict[str, Any]) -> Limit:
    """The first bound of a check on numbers that have one."""
    value: Any = (3, 2, 1) if "axis" in fields else 1
    (condition, *_) = check(**fields).conditions(run(score=value, other=value))
    return condition.limit


@pytest.mark.parametrize("fields", [MARGIN, EXPONENT])
def test_a_margin_has_its_own_source_beside_that_of_its_number(fields):
    limit = limit_of({**fields, "within": OWN, **PAPER})
    assert (limit.origin, limit.number_from) == (Provenance.OURS, Provenance.PAPER)
    assert (limit.at, limit.why) == (0.1, OURS["why"])
    assert limit.relaxed().at == 0.2
    alone = limit_of({**fields, "within": 0.1, **PAPER})
    assert (alone.origin, alone.number_from, alone.why) == (*[Provenance.PAPER] * 2, None)


def test_a_paper_s_margin_around_a_number_of_ours():
    limit = limit_of({**MARGIN, "within": {"is": 0.1, **PAPER}, **OURS})
    assert (limit.origin, limit.number_from) == (Provenance.PAPER, Provenance.OURS)
    assert limit.relaxed() == limit


def test_a_factor_has_its_own_source():
    limit = limit_of({**PAIR, "by": {"is": 1.5, **OURS}, **PAPER})
    assert (limit.origin, limit.at, limit.relaxed().at) == (Provenance.OURS, 1.5, 1.25)


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({**MARGIN, "within": {"is": 0.1, "from": "ours"}}, "from 'ours' alone needs 'why'"),
        ({**MARGIN, "within": {"is": -0.1, **OURS}}, "greater than 0"),
        ({**MARGIN, "within": {**OURS}}, "Field required"),
        ({**PAIR, "by": {"is": 1.0, **OURS}}, "a factor above 1"),
        ({**PAIR, "by": 0.5}, "a factor above 1"),
        ({**EXPONENT, "exponent": {"below": 0, **PAPER}, "within": OWN}, "needs 'within'"),
    ],
)
def test_what_is_no_number_with_a_source_is_refused(fields, says):
    with pytest.raises(ValidationError, match=says):
        check(**fields, **PAPER)


def test_what_is_ours_is_digested_and_the_rule_has_the_number_alone():
    equals = check(**MARGIN, within=OWN, **PAPER)
    assert plain(equals)["within"] == 0.1
    assert equals.ours() == [0.1]
    assert check(**MARGIN, within=0.1, **PAPER).ours() == []


@pytest.mark.parametrize(
    ("fields", "decision"),
    [
        ({"within": 0.1, **PAPER}, Decision.MET),
        ({"within": OWN, **PAPER}, Decision.MET),  # the number is the paper's, the margin ours
        ({"within": 0.1, **OURS}, Decision.OPEN),
        ({"within": {"is": 0.1, **PAPER}, **OURS}, Decision.OPEN),
    ],
)
def test_a_mean_of_three_runs_decides_on_a_number_of_the_paper(fields, decision):
    written = claim("mini", "equal", main=True, nulls=[], no_control="It is a number.")
    del written["constructed"]
    headline = [{"kind": "equals", "value": "final", "to": 0.02, **fields}]
    audit = make_audit(
        claims=[{**written, "headline": headline}], runs={"quick": 3, "paper": 5, "arms": 5}
    )
    (found,) = answers_of(audit, make_records(audit, "quick"), "quick").values()
    assert found.base.estimates[0].decision is decision
