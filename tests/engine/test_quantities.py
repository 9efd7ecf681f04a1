"""What a quantity reads of a run: places left out, axes reduced, parts and passages of a course."""

import json
import math
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import ValidationError

from factories import answers_of, card_of, falls_to, make_audit, make_record, make_records
from miniatures import audit_data, claim
from reproaudit.audit.model import Audit
from reproaudit.audit.rules import broken_rules
from reproaudit.audit.seeds import digest
from reproaudit.cell import Cell
from reproaudit.checks import Censored, Limit, Names, Provenance, Run, Side, Void, plain
from reproaudit.declarations import (
    Axis,
    Coordinate,
    Declaration,
    MeasurementKind,
    MeasurementMissingError,
    Quantity,
    placement,
)
from reproaudit.formats.verdict import Answer, ClaimAnswer, Estimate, Outcome
from reproaudit.records import Measurements, Record, Series
from synthetic import OURS, PAPER, check
from test_loading import TEXT, faults_in

Axes = dict[str, tuple[Coordinate, ...]]

METHODS: Axes = {"method": ("ours", "adam", "sgd")}
GRID: Axes = {"task": (1, 2), "method": ("ours", "adam", "sgd"), "seed": (0, 1)}


def made(axes: Axes, values: Any, steps: tuple[int, ...] = (), **more: Any) -> Run:
    """A run with the measurement `score`: an array, or with steps a series."""
    declared = Declaration(
        kind=MeasurementKind.SERIES if steps else MeasurementKind.ARRAY,
        axes=tuple(Axis(name=name, values=known) for name, known in axes.items()),
        unit="1",
        meaning="Synthetic.",
    )
    measured = Measurements()
    if steps:
        measured.series["score"] = Series(steps=steps, values=values)
    else:
        measured.arrays["score"] = np.array(values, float)
    return Run(0, measured, {"score": declared}, {}, **more)


def quantity(text: str = "score", **more: Any) -> Quantity:
    written = {"measurement": text, **more} if more else text
    return Quantity.model_validate_json(json.dumps(written))


def read(run: Run, **more: Any) -> list[float]:
    return run.numbers(quantity(**more)).tolist()


# --- axes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("how", "expected"),
    [("mean", 4.0), ("median", 2.5), ("iqm", 2.5), ("largest", 10.0), ("least", 1.0)],
)
def test_an_axis_is_reduced_before_the_check_sees_it(how, expected):
    run = made({"seed": (0, 1, 2, 3)}, [10, 1, 3, 2])
    assert read(run, over={"seed": how}) == [expected]


@pytest.mark.parametrize("how", ["mean", "median", "iqm", "largest", "least"])
@pytest.mark.parametrize("place", range(4))
def test_an_empty_head_is_not_averaged_away(how, place):
    values = np.array([10, 1, 3, 2.0])
    values[place] = math.nan
    assert math.isnan(read(made({"seed": (0, 1, 2, 3)}, values), over={"seed": how})[0])


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8, 11])
def test_the_interquartile_mean_is_that_of_scipy(count):
    stats = pytest.importorskip("scipy.stats")
    values = np.random.default_rng(count).normal(size=(2, count))
    found = made({"task": (1, 2), "seed": tuple(range(count))}, values).numbers(
        quantity(over={"seed": "iqm"})
    )
    assert found == pytest.approx(stats.trim_mean(values, 0.25, axis=1))


def test_the_rest_of_the_axes_stay_free_in_their_order():
    values = np.arange(12.0).reshape(2, 3, 2)
    found = read(made(GRID, values), over={"method": "largest"})
    assert found == values.max(axis=1).ravel().tolist()


@pytest.mark.parametrize("order", [("task", "seed"), ("seed", "task")])
def test_axes_of_one_word_are_reduced_together(order):
    """The median of all is not the median of medians."""
    values = np.random.default_rng(0).normal(size=(2, 3, 2))
    found = read(made(GRID, values), over=dict.fromkeys(order, "median"))
    assert found == pytest.approx(np.median(values, axis=(0, 2)))


@pytest.mark.parametrize("order", [("task", "seed"), ("seed", "task")])
def test_of_several_words_that_of_the_first_declared_axis_goes_first(order):
    values = np.random.default_rng(1).normal(size=(2, 3, 2))
    words = {"task": "mean", "seed": "largest"}
    found = read(made(GRID, values), over={name: words[name] for name in order})
    assert found == pytest.approx(values.mean(axis=0).max(axis=1))


def test_what_is_left_out_is_left_out_before_all_else():
    """The best of the others."""
    run = made(METHODS, [0.1, 0.3, 0.2])
    others: dict[str, Any] = {"without": {"method": ["ours"]}}
    assert read(run, **others) == [0.3, 0.2]
    assert read(run, **others, over={"method": "least"}) == [0.2]
    assert run.coordinates(quantity(**others), "method") == ("adam", "sgd")


def test_a_reduced_axis_is_not_read_at_the_coordinate_of_its_check():
    run = made(METHODS, [0.1, 0.3, 0.2], at={"method": "ours"})
    assert read(run) == [0.1]
    assert read(run, over={"method": "largest"}) == [0.3]


def test_a_coordinate_without_a_name_is_none_of_a_reduced_axis():
    run = made({"layer": (1, 2), "head": (1, 2)}, [[1, 2], [3, 4]])
    assert read(run, over={"layer": "largest"}, coordinates=[1]) == [3]


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"without": {"method": ["lion"]}}, "'score' has no method 'lion'"),
        ({"without": {"method": ["ours", "adam", "sgd"]}}, "no method that is not left out"),
        ({"without": {"method": ["ours"]}, "coordinates": ["ours"]}, "no coordinate 'ours'"),
    ],
)
def test_a_place_that_is_not_there_is_missing(more, says):
    with pytest.raises(MeasurementMissingError, match=says):
        read(made(METHODS, [1, 2, 3]), **more)


# --- parts of a course --------------------------------------------------------------------------

STEPS = tuple(range(0, 200, 10))


@pytest.mark.parametrize(
    ("step", "expected"),
    [("first", 1.0), ("last", 19.5), (30, 16.0), ("largest", 20.0), ("least", 1.0), ("late", 19.0)],
)
def test_a_part_of_a_course_is_read(step, expected):
    course = np.array([1.0, 4.0, 9.0, 16.0, 20.0, *[2.0] * 13, 18.5, 19.5])
    assert read(made({}, course, STEPS), step=step) == [expected]


def test_a_step_that_was_not_observed_is_missing():
    with pytest.raises(MeasurementMissingError, match="no observation of 'score' at step 35"):
        read(made({}, np.zeros(20), STEPS), step=35)


def test_a_course_is_reduced_at_each_observation_first():
    """The largest of the mean course, not the mean of the largest values."""
    values = np.array([[0.0, 4.0], [4.0, 0.0], [1.0, 1.0]])
    run = made({"task": (1, 2)}, values, (0, 1, 2))
    found = quantity(over={"task": "mean"}, step="largest")
    assert run.numbers(found).tolist() == [2.0]
    assert run.series(found)[1].tolist() == [[2.0], [2.0], [1.0]]


# --- when a course passes a level ---------------------------------------------------------------

NEVER = (0.0, 0.1, 0.2, 0.3, 0.3)
EARLY = (0.0, 0.5, 1.0, 1.0, 1.0)
LATE = (0.0, 0.0, 0.5, 0.9, 1.0)
AT_HALF = {"level": 0.75}
FIVE = (0, 10, 20, 28, 30)


def passing(**more: Any) -> dict[str, Any]:
    return {"measurement": "score", "passes": AT_HALF, **more}


@pytest.mark.parametrize(
    ("course", "expected"),
    [
        (EARLY, 15.0),  # for the first time, and straight between observations
        (LATE, 25.0),
        ((1.0, 0.8, 0.7, 0.6, 0.6), 15.0),  # from above
        ((0.0, 1.0, 1.0, 1.0, 1.0), 7.5),  # at once
        ((0.75, 0.0, 0.0, 0.0, 0.0), 0.0),  # it starts there
        ((0.0, 0.0, 1.0, 0.0, 0.0), math.nan),  # a single observation, which falls back
        ((0.0, 0.0, 0.0, 0.0, 1.0), math.nan),  # the last observation alone
        (NEVER, math.nan),
    ],
)
def test_a_course_passes_a_level(course, expected):
    run = made({}, course, FIVE)
    assert run.numbers(quantity(passes=AT_HALF)) == pytest.approx([expected], nan_ok=True)


def test_a_course_that_never_passes_is_censored_at_the_last_step():
    alone = (0.0, 0.0, 0.0, 0.0, 1.0)
    run = made({"task": (1, 2, 3)}, np.array([NEVER, LATE, alone]).T, FIVE)
    values, known = run.limits(quantity(passes=AT_HALF))
    assert values.tolist() == [30, 25, 28]
    assert known == [Censored.AT_LEAST, None, Censored.AT_LEAST]


def rivals(mine: tuple[float, ...], theirs: tuple[float, ...], step: int = 10) -> Run:
    """A run of mine, beside one of theirs that may be longer."""
    other = made({}, theirs, tuple(step * at // 10 for at in FIVE))
    return made({}, mine, FIVE, others={"theirs": other})


COMPARED = {"lower": passing(), "upper": passing(arm="theirs"), **PAPER}


@pytest.mark.parametrize(
    ("mine", "theirs", "more", "expected"),
    [
        (EARLY, LATE, {}, (25 / 15, None, True)),
        (EARLY, NEVER, {}, (30 / 15, Censored.AT_LEAST, True)),
        (NEVER, EARLY, {}, (15 / 30, Censored.AT_MOST, False)),
        (NEVER, NEVER, {}, (None, Censored.AT_LEAST, None)),
        (EARLY, NEVER, {"by": 1.5}, (30 / 15, Censored.AT_LEAST, True)),
        (EARLY, NEVER, {"by": 3}, (30 / 15, Censored.AT_LEAST, None)),
        (NEVER, LATE, {"by": 3}, (25 / 30, Censored.AT_MOST, False)),
        (EARLY, NEVER, {"difference": True}, (15, Censored.AT_LEAST, True)),
        (NEVER, EARLY, {"difference": True}, (-15, Censored.AT_MOST, False)),
    ],
)
def test_of_a_censored_number_its_limit_decides_or_nobody(mine, theirs, more, expected):
    (condition,) = check("beats", **COMPARED, **more).conditions(rivals(mine, theirs))
    assert condition.value == pytest.approx(expected[0])
    assert (condition.censored, condition.met) == expected[1:]


def test_a_short_run_that_never_passes_decides_nothing_against_a_longer_one():
    """Mine takes at least 30 steps; theirs passes at step 250."""
    (condition,) = check("beats", **COMPARED).conditions(rivals(NEVER, LATE, step=100))
    assert condition.value == 250 / 30
    assert (condition.censored, condition.met) == (Censored.AT_MOST, None)


@pytest.mark.parametrize(
    ("kind", "more", "met"),
    [
        ("reaches", {"at_most": 40}, None),
        ("reaches", {"at_most": 20}, False),
        ("reaches", {"below": 30}, False),
        ("reaches", {"at_least": 20}, True),
        ("reaches", {"above": 30}, None),
        ("reaches", {"at_most": 0.5, "relative_to": passing(arm="theirs")}, False),
        ("reaches", {"at_most": 2, "grown_from": passing(arm="theirs")}, False),
        ("reaches", {"at_most": 1, "between": ["score", "score@first"]}, None),
        ("equals", {"to": 20, "within": 5}, False),
        ("equals", {"to": 20, "within": 15}, None),
        ("equals", {"to": passing(arm="theirs"), "within": 2}, False),
    ],
)
def test_other_kinds_know_a_censored_number(kind, more, met):
    timed = check(kind, value=passing(), **more, **PAPER)
    assert [found.met for found in timed.conditions(rivals(NEVER, EARLY))] == [met]


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        ("aligns", {"distance": passing(), "at_most": 100}),
        ("concentrates", {"share": passing(), "at_least": 0}),
    ],
)
def test_a_kind_that_cannot_use_a_censored_number_is_void(kind, more):
    (condition,) = check(kind, **more, **PAPER).conditions(rivals(NEVER, EARLY))
    assert (condition.value, condition.met) == (None, None)


@pytest.mark.parametrize(
    ("times", "bound", "expected"),
    [
        ((EARLY, NEVER), {"at_most": 20}, (30, Censored.AT_LEAST, False)),
        ((EARLY, NEVER), {"at_most": 10}, (30, Censored.AT_LEAST, False)),
        ((EARLY, NEVER), {"at_most": 40}, (30, Censored.AT_LEAST, None)),
        ((EARLY, NEVER), {"at_least": 40}, (15, None, False)),
        ((EARLY, NEVER), {"at_least": 10}, (15, None, True)),
    ],
)
def test_a_coordinate_that_misses_for_certain_decides(times, bound, expected):
    run = made({"task": (1, 2)}, np.array(times).T, FIVE)
    (condition,) = check("reaches", value=passing(), **bound, **PAPER).conditions(run)
    assert (condition.value, condition.censored, condition.met) == expected


# --- in the count of runs -----------------------------------------------------------------------


def claim_of(
    check: dict[str, Any], measured: Mapping[str, Any] | None = None, **more: Any
) -> Audit:
    """The audit in miniature with this check as its only claim, and no control.

    Args:
        measured: what its experiment measures, if not what it does.
    """
    written = claim("mini", "timed", main=True, headline=[check], nulls=[], **more)
    del written["constructed"]
    experiments = audit_data()["experiments"]
    if measured is not None:
        experiments["descent"]["measurements"] = measured
    claims = [{**written, "no_control": "It is a number."}]
    return make_audit(claims=claims, experiments=experiments)


FASTER = {"kind": "reaches", "value": {"measurement": "distance", "passes": {"level": 0.5}}}


def ending_at(*levels: float) -> Callable[[Cell], Record]:
    """Runs whose distance ends at these levels, in turn."""
    return lambda cell: make_record(cell, falls_to(levels[cell.seed % len(levels)], cell.seed))


def judged(audit: Audit, *levels: float, of: Callable[[Cell], Record] | None = None) -> ClaimAnswer:
    records = make_records(audit, "quick", of or ending_at(*levels))
    (found,) = answers_of(audit, records, "quick").values()
    return found


def test_a_run_that_a_limit_does_not_decide_is_void_and_says_why():
    found = judged(claim_of({**FASTER, "at_most": 100, **PAPER}), 0.02, 0.02, 0.02, 0.8, 0.8)
    (estimate,) = found.base.estimates
    assert estimate.censored == (None, None, None, Censored.AT_LEAST, Censored.AT_LEAST)
    voids = [(run.void, run.about) for run in found.base.runs[3:]]
    assert voids == [(Void.CENSORED, "distance")] * 2
    assert found.base.yes == 3
    assert not found.base.equal


def test_a_page_says_what_is_a_limit():
    audit = claim_of({**FASTER, "at_most": 100, **PAPER})
    card = card_of(audit, make_records(audit, "quick", ending_at(0.02, 0.8)), "quick")
    row = card.rows[0]
    assert row.says == "step at which 0.5 is passed by distance 2.0"
    assert (row.farthest_words, row.bound_words) == ("at least 40", "100 allowed")
    assert card.answers[0].certainty == ("the log ends before distance passed its level in 2 of 5",)


def test_a_page_says_that_a_run_does_not_tell():
    audit = claim_of({"kind": "converges", "loss": "distance", "to_zero": True})
    few = Series(steps=(0, 20, 40), values=(1.0, 0.5, 0.2))
    measured = Measurements(scalars={"final": 0.2}, series={"distance": few})
    records = make_records(audit, "quick", lambda cell: make_record(cell, measured))
    card = card_of(audit, records, "quick")
    assert {run.void for run in card.claims[0].base.runs} == {Void.FEW_OBSERVED}
    assert card.answers[0].certainty == ("too few observations of distance in 5 of 5",)


def test_a_run_that_is_too_late_for_certain_says_no():
    found = judged(claim_of({**FASTER, "at_most": 30, **PAPER}), 0.8)
    assert (found.outcome, found.base.yes) == (Outcome.NOT_SUPPORTED, 0)


def test_a_relaxed_bound_that_a_limit_does_not_decide_is_not_missed():
    found = judged(claim_of({**FASTER, "at_most": 30, **OURS}), 0.8)
    assert found.base.answer is Answer.NEAR


def test_the_range_of_a_course_is_none_of_the_step_at_which_it_passes():
    """A distance lies between 0 and 1, and 30 steps are relaxed to 60 all the same."""
    audit = claim_of({**FASTER, "at_most": 30, **OURS})
    experiments = audit_data()["experiments"]
    experiments["descent"]["measurements"]["distance"]["range"] = [0, 1]
    bounded = make_audit(
        claims=[stated.model_dump(mode="json", by_alias=True) for stated in audit.claims],
        experiments=experiments,
    )
    found = judged(bounded, 0.8)
    assert found.base.estimates[0].limit.relaxed().at == 60
    figure = card_of(bounded, make_records(bounded, "quick"), "quick").figures["mini.timed"]
    assert (figure.title, figure.accepted) == ("distance", None)
    assert [(level.at, level.is_bound) for level in figure.levels] == [(0.5, False)]


def test_there_is_no_mean_of_limits():
    mean = {**FASTER, "at_most": 100, "standard": "mean", **PAPER}
    (whole,) = judged(claim_of(mean), 0.02).base.estimates
    (part,) = judged(claim_of(mean), 0.02, 0.8).base.estimates
    assert whole.mean is not None
    assert part.mean is None


@pytest.mark.parametrize(
    ("values", "sides", "typical", "worst"),
    [
        ((1, 2, 3, 9, 9), "...++", (3, None), (9, "+")),
        ((1, 2, 9, 9, 9), "..+++", (9, "+"), (9, "+")),
        ((1, 5, 6, 7, 8), "+....", (6, "+"), (8, "+")),
        ((8, 7, 6, 1, 1), "...--", (6, None), (8, None)),
    ],
)
def test_a_typical_number_may_be_a_limit(values, sides, typical, worst):
    meant = {".": None, "+": Censored.AT_LEAST, "-": Censored.AT_MOST}
    estimate = Estimate(
        check=0,
        name="reaches",
        measurement="score",
        limit=Limit(Side.AT_MOST, 4, Provenance.PAPER),
        values=values,
        holds=(None,) * 5,
        censored=tuple(meant[side] for side in sides),
    )
    for number, (value, side) in ((estimate.median, typical), (estimate.worst, worst)):
        assert (number, estimate.known(number or 0)) == (value, meant.get(side))


# --- a share of the coordinates -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("share", "expected"),
    [(None, (5, False)), (1.0, (5, False)), (0.81, (5, False)), (0.8, (4, False)), (0.6, (3, True)),
     (0.2, (1, True)), (0.001, (1, True))],
)  # fmt: skip
def test_the_last_coordinate_that_is_needed_gives_the_number(share, expected):
    run = made({"head": (1, 2, 3, 4, 5)}, [4, 1, 5, 2, 3])
    reaches = check("reaches", value="score", at_most=3.5, in_share=share, **PAPER)
    (condition,) = reaches.conditions(run)
    assert (condition.value, condition.met) == expected


HEADS: Axes = {"head": (1, 2, 3)}


@pytest.mark.parametrize(
    ("values", "met"),
    [
        ([1, 1, 9], True),
        ([1, 9, 9], False),
        ([1, 1, 0], True),
        ([0, 0, 1], None),
        ([0, 1, 9], None),
    ],
)
def test_a_coordinate_without_a_number_may_be_one_that_is_not_needed(values, met):
    """A ratio to itself is 1, and 0/0 is no number."""
    run = made(HEADS, values, others={"ones": made(HEADS, np.minimum(values, 1))})
    ratio = {"value": "score", "relative_to": {"measurement": "score", "arm": "ones"}}
    (condition,) = check("reaches", **ratio, at_most=2, in_share=2 / 3, **PAPER).conditions(run)
    assert condition.met is met


@pytest.mark.parametrize(("share", "met"), [(None, False), (0.6, True)])
@pytest.mark.parametrize("shift", [0, -2])  # with a factor, and without for want of positive values
def test_one_quantity_beats_another_at_a_share(share, met, shift):
    run = made({"model": ("a", "b"), "task": (1, 2, 3)}, np.add([[1, 1, 3], [2, 2, 2]], shift))
    pair = {"lower": "score[a]", "upper": "score[b]"}
    (condition,) = check("beats", **pair, in_share=share, **PAPER).conditions(run)
    assert condition.met is met
    assert (condition.value is None) == (shift < 0)


def test_a_course_is_counted_once_by_its_farthest_observation():
    """Each course is off the curve at one of ten steps."""
    values = np.zeros((10, 3))
    values[[2, 5, 8], [0, 1, 2]] = [1, 2, 3]
    run = made({"head": (1, 2, 3)}, values, tuple(range(10)))
    follows = {"series": "score", "curve": [[0, 0.0], [9, 0.0]], "at_most": 1.5, **PAPER}
    condition, _ = check("follows", **follows, in_share=0.6).conditions(run)
    assert condition.value == 2


ENDS = {"ends": {"below": 1, **PAPER}}


@pytest.mark.parametrize(
    ("kind", "fields", "why"),
    [
        ("separates", {"value": "score", "start": {"below": 1, **PAPER},
                       "end": {"above": 1, **PAPER}}, "makes two: write 'reaches' for each"),
        ("converges", {"loss": "score", "to_zero": True, **ENDS}, "makes several: write one for"),
        ("scales_like", {"value": "score", "axis": "n", "exponent": {"below": 0, **PAPER}},
         "makes one number of all sizes"),
        ("grows_like", {"series": "score", "law": "logarithm", "growth": {"above": 0, **PAPER},
                        **PAPER}, "reads single courses"),
    ],
)  # fmt: skip
def test_a_share_of_nothing_that_can_be_counted_is_refused(kind, fields, why):
    with pytest.raises(ValidationError, match=f"counts the coordinates of a number, and .*{why}"):
        check(kind, **fields, in_share=0.9)


# --- as it is written ---------------------------------------------------------------------------


def test_the_short_form_stays():
    assert quantity("score[a, 2]@first") == Quantity(
        measurement="score", coordinates=("a", 2), step="first"
    )
    with pytest.raises(ValidationError, match="expected a measurement's name"):
        quantity("score@end")


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"over": {"task": "average"}}, "'mean', 'median', 'iqm', 'largest' or 'least'"),
        ({"step": "end"}, "a training step, or first, last, late, largest or least"),
        ({"step": -1}, "a training step, or first, last, late, largest or least"),
        ({"step": True}, "a training step, or first, last, late, largest or least"),
        ({"at": {"a": 1}, "over": {"a": "mean"}}, "'at' and 'over' both have the axis 'a'"),
        ({"at": {"a": 1}, "without": {"a": [2]}}, "'at' and 'without' both have the axis 'a'"),
        ({"without": {"a": []}}, "at least 1 item"),
        ({"passes": AT_HALF, "step": 10}, "'passes' reads the whole course and 'step' a part"),
    ],
)
def test_what_cannot_be_read_is_refused(more, says):
    with pytest.raises(ValidationError, match=says):
        quantity(**more)


def test_what_the_manual_shows_can_be_written():
    page = (Path(__file__).parents[2] / "docs" / "checks.md").read_text(encoding="utf-8")
    shown = [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)]
    checks = [check(**fields) for fields in shown if "kind" in fields]
    assert [kind.name for kind in checks] == ["beats", "beats", "equals", "equals", "beats"]


def test_a_new_field_enters_the_rule_and_its_default_does_not():
    assert plain(quantity("score[a]")) == {"measurement": "score", "coordinates": ["a"]}
    told = [
        {"over": {"task": "mean"}},
        {"without": {"task": [1]}},
        {"step": 10},
        {"step": "late"},
        {"passes": {"level": 0.5}},
    ]
    for more in told:
        assert plain(quantity(**more)) == {"measurement": "score", **more}
    assert len({digest(plain(quantity(**more))) for more in told}) == len(told)


# --- in an audit --------------------------------------------------------------------------------

BEATS = 'lower: "errors[ours]", upper: "errors[ridge]", by: 1.1'


def said_of(old: str, new: str) -> list[str]:
    """What `check` says of the toy with an edit, without the remedy."""
    assert old in TEXT
    faults = faults_in(TEXT.replace(old, new, 1))
    return [fault.text.removesuffix(f" {fault.remedy}") for fault in faults]


def test_the_best_of_the_others_can_be_written():
    others = "{measurement: errors, over: {model: least}, without: {model: [ours]}}"
    assert said_of(BEATS, f'lower: "errors[ours]", upper: {others}, by: 1.1') == []


@pytest.mark.parametrize(
    ("upper", "says"),
    [
        (
            "{measurement: errors, over: {width: mean}}",
            "upper.over.width: found 'width', which is no axis of 'errors'; expected one.",
        ),
        (
            "{measurement: errors, over: {model: mean}, without: {model: [lasso]}}",
            "upper.without.model: found model 'lasso' of 'errors'; expected one of "
            "['ours', 'ridge'] at the quick tier.",
        ),
        (
            "{measurement: errors, over: {model: mean}, without: {model: [ours, ridge]}}",
            "upper.without.model: found every model of 'errors' left out at the quick tier; "
            "expected some kept.",
        ),
        (
            "{measurement: errors, without: {model: [ours]}, coordinates: [ours]}",
            "upper.at.coordinate: found coordinate 'ours' of 'errors'; expected one of ['ridge'] "
            "at the quick tier.",
        ),
        (
            "{measurement: errors, coordinates: [ridge], step: late}",
            "upper: found the array 'errors', which is read over training; expected a series.",
        ),
    ],
)
def test_what_the_measurement_lacks_is_told(upper, says):
    found = said_of(BEATS, f'lower: "errors[ours]", upper: {upper}, by: 1.1')
    assert found == [f"claims[2].headline[0].{says}"]


# --- as a page says it --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({}, "test score"),
        ({"over": {"task": "iqm", "seed": "mean"}},
         "test score (interquartile mean over task, mean over seed)"),
        ({"over": {"method": "least"}, "without": {"method": ["ours"]}},
         "test score (least over method, without ours)"),
        ({"passes": {"level": 0.5}, "over": {"task": "mean"}},
         "step at which 0.5 is passed by test score (mean over task)"),
        ({"step": 1000}, "test score (at step 1000)"),
        ({"step": "late"}, "test score (late)"),
        ({"step": "largest"}, "test score (at its largest)"),
    ],
)  # fmt: skip
def test_a_page_says_how_a_quantity_is_read(more, says):
    names = Names(lambda _: "test score", lambda arm: arm, str, lambda _: "step")
    reaches = check("reaches", value={"measurement": "score", **more}, at_least=1, **PAPER)
    assert reaches.compared("score", names) == (says, "")


# --- where a quantity is read ---------------------------------------------------------------------

LAYERS: Axes = {"layer": (1, 2), "head": (1, 2, 3)}
HERE = st.fixed_dictionaries(
    {}, optional={"layer": st.sampled_from([1, 2]), "head": st.integers(1, 3)}
)


@pytest.mark.parametrize(
    ("coordinates", "at", "expected"),
    [
        ([2], {"layer": 2}, {"layer": 2, "head": 2}),  # another axis is open
        ([1], {"layer": 2, "head": 3}, {"layer": 1, "head": 3}),  # its own comes first
        ([3], {"head": 1}, {"head": 3}),
        ([], {"head": 1}, {"head": 1}),
        ([1, 1], {}, {"layer": 1, "head": 1}),
    ],
)
def test_a_quantity_is_read_at_its_own_coordinates_first(coordinates, at, expected):
    place = placement(quantity(coordinates=coordinates), LAYERS, at)
    assert (place.fixed, place.unplaced) == (expected, ())


@given(st.lists(st.integers(1, 4), max_size=3), HERE, HERE)
@example([1], {}, {"layer": 1, "head": 1})
@example([1, 1, 1], {}, {})
def test_check_calls_sound_what_judge_can_read(coordinates, at, of_check):
    axes = [{"name": name, "values": list(values)} for name, values in LAYERS.items()]
    measured = {"score": {"kind": "array", "axes": axes, "unit": "1", "meaning": "A grid."}}
    read_at = {"measurement": "score", "at": at, "coordinates": coordinates}
    asked = {"kind": "reaches", "value": read_at, "at": of_check, "at_most": 9.0, "zero": 0.0}
    audit = claim_of({**asked, **PAPER}, measured)
    is_sound = "RA104" not in {violation.rule for violation in broken_rules(audit, "mini")}
    run = made(LAYERS, np.arange(6.0).reshape(2, 3), at=of_check)
    try:
        is_read = bool(read(run, at=at, coordinates=coordinates))
    except MeasurementMissingError:
        is_read = False
    assert is_sound == is_read


def test_a_level_of_a_grade_is_none_of_a_quantity_with_its_own_coordinate():
    """Each size is held against size 4, which is read there at every level."""
    sizes = {"kind": "array", "axes": [{"name": "size", "values": [1, 2, 4]}]}
    measured = {"by_size": {**sizes, "unit": "1", "meaning": "By size."}}
    better = {"kind": "beats", "lower": "by_size", "upper": "by_size[4]", **PAPER}
    grade = {"axis": "size", "symbol": "n", "easiest_first": [1, 2], "primary": [1, 2]}
    audit = claim_of(better, measured, grade=grade)
    assert not [*broken_rules(audit, "mini")]
    values = {"by_size": np.array([0.1, 0.3, 0.2])}
    found = judged(audit, of=lambda cell: make_record(cell, Measurements(arrays=values)))
    assert [(grade.at, grade.yes) for grade in found.grades] == [(1, 5), (2, 0)]
    alone = claim_of({**better, "lower": "by_size[2]"}, measured, grade=grade)
    assert {violation.rule for violation in broken_rules(alone, "mini")} == {"RA224"}
