"""What a run says and how runs are counted: voids, crashes, copies, means, bounds that move."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bundles import (
    AGAINST_LOW,
    ALMOST,
    BEATS,
    NO,
    ROWS,
    YES,
    ask,
    guess,
    one_claim,
    ours,
    read_as,
    records_of,
)
from factories import answers_of, stated
from miniatures import control
from reproaudit.checks import Limit, Void, plain
from reproaudit.formats.verdict import Answer, Outcome, Status, Verdict
from reproaudit.judge import index_records
from reproaudit.judge.decisions import all_of
from reproaudit.judge.readings import Panel
from reproaudit.records import Measurements, Origin, Series
from reproaudit.scorecard.claims import ClaimText
from reproaudit.scorecard.words import typical_words, words
from reproaudit.stats.binomial import Decision
from reproaudit.stats.means import mean_interval

MET, MISSED, OPEN = Decision.MET, Decision.MISSED, Decision.OPEN
WHO = {"who": "Ada", "source": "A log.", "framework": "NumPy", "made": "2026-01-01"}
ELSEWHERE = {"origin": Origin.model_validate(WHO)}

UNMEASURED = Measurements(scalars={"final": 1.0})
AT_2 = {"distance": Series(steps=(0, 5), values=[1.0, 2.0])}
INFINITE = Measurements(series=AT_2, scalars={"final": 0.0})
BARE: dict[str, Any] = {"nulls": [], "no_control": "A toy.", "constructed": None}


def reaches(**check: Any) -> dict[str, Any]:
    return {"kind": "reaches", "value": "distance", "from": "paper", **check}


RATIO = reaches(relative_to="final", at_most=1.0)

# --- a run says yes or no, or is void -------------------------------------------------------------


@pytest.mark.parametrize(
    ("headline", "runs", "counts", "answer", "reason"),
    [
        # its own training diverged: no
        ([ours()], {"own": [YES] * 14 + ["diverged"]}, (14, 15, 0), "yes", None),
        # the reference diverged: void, and met only if it is with voids counted as no
        ([AGAINST_LOW], {"low": [NO] * 13 + ["diverged"] * 2}, (13, 15, 2), "yes", None),
        ([AGAINST_LOW], {"low": [NO] * 5 + ["diverged"] * 10}, (5, 15, 10), "unfinished",
         ("void runs", {"void": "reference diverged", "what": "low", "runs": 10})),
        ([AGAINST_LOW], {"own": [YES] * 10, "low": [NO] * 8 + ["diverged"] * 2}, (8, 10, 2),
         "unfinished", ("void runs", {"void": "reference diverged", "what": "low", "runs": 2})),
        ([AGAINST_LOW], {"own": [NO] * 15, "low": [YES] * 12 + ["diverged"] * 3}, (0, 15, 3),
         "no", None),
        ([AGAINST_LOW], {"own": [NO] * 15, "low": [YES] * 11 + ["diverged"] * 4}, (0, 15, 4),
         "unfinished", ("void runs", {"void": "reference diverged", "what": "low", "runs": 4})),
        # voids that change nothing leave it open
        ([AGAINST_LOW], {"own": [NO] * 7 + [YES] * 8, "low": ["diverged", *[0.1] * 14]},
         (8, 15, 1), "open", ("straddles", {"place": 0})),
        # no run of the same seed, or one that crashed
        ([AGAINST_LOW], {"low": [None] * 6 + [NO] * 9}, (9, 15, 6), "unfinished",
         ("void runs", {"void": "no reference", "what": "low", "runs": 6})),
        ([AGAINST_LOW], {"low": ["failed"] * 6 + [NO] * 9}, (9, 15, 6), "unfinished",
         ("void runs", {"void": "reference crashed", "what": "low", "runs": 6})),
        # absent from all runs: not tested, by name; from some: void
        ([ours()], {"own": [UNMEASURED] * 15}, (0, 15, 15), "unfinished",
         ("not measured", {"what": "distance"})),
        ([ours()], {"own": [YES] * 11 + [UNMEASURED] * 4}, (11, 15, 4), "unfinished",
         ("void runs", {"void": "not measured", "what": "distance", "runs": 4})),
        # 0/0 and infinite: void
        ([RATIO], {"own": [YES] * 11 + [0.0] * 4}, (11, 15, 4), "unfinished",
         ("void runs", {"void": "no number", "what": "distance", "runs": 4})),
        ([RATIO], {"own": [YES] * 11 + [INFINITE] * 4}, (11, 15, 4), "unfinished",
         ("void runs", {"void": "no number", "what": "distance", "runs": 4})),
        # `beats` compares values, of which the smaller may be 0 or negative
        ([BEATS], {"own": [0.0] * 15}, (15, 15, 0), "yes", None),
        ([BEATS], {"own": [-1.0] * 15}, (15, 15, 0), "yes", None),
        ([{**BEATS, "lower": "distance@first", "upper": "distance"}], {"own": [0.0] * 15},
         (0, 15, 0), "no", None),
        ([AGAINST_LOW], {"own": [0.0] * 15, "low": [0.0] * 15}, (0, 15, 0), "no", None),
        ([AGAINST_LOW], {"own": [-2.0] * 15, "low": [-1.0] * 15}, (15, 15, 0), "yes", None),
        ([{**BEATS, "by": 9}], {"own": [0.0] * 15}, (15, 15, 0), "yes", None),
        ([{**AGAINST_LOW, "by": 9}], {"own": [0.0] * 15, "low": [0.0] * 15}, (0, 15, 0), "no",
         None),
        # one number is missing, and another says no
        ([RATIO, ours()], {"own": [INFINITE] * 15}, (0, 15, 0), "no", None),
    ],
)  # fmt: skip
def test_a_run_says_yes_or_no_or_is_void(headline, runs, counts, answer, reason):
    judged = ask(one_claim(headline=headline, **BARE), runs)
    assert (judged.base.yes, judged.base.n, judged.base.void) == counts
    assert judged.base.answer == answer
    named = (None, {}) if reason is None else reason
    absent = named[0] == "not measured"
    assert (
        judged.outcome
        is {
            "unfinished": Outcome.NOT_TESTED if absent else Outcome.UNDECIDED,
            "open": Outcome.UNDECIDED,
            "yes": Outcome.SUPPORTED,
            "no": Outcome.NOT_SUPPORTED,
        }[answer]
    )
    if reason is not None:
        ((kind, values),) = stated(judged.reasons)
        assert (kind, {**values, "arm": ""}) == (named[0], {"arm": "", **named[1]})


@pytest.mark.parametrize(
    ("bound", "void"), [({"at_least": 1}, 0), ({"above": 1}, 5), ({"at_most": 0.9}, 5)]
)
def test_a_run_that_does_not_start_as_it_must_is_void(bound, void):
    holds = [{"value": "distance", "from": "paper", **bound}]
    audit = one_claim(nulls=[{"name": "flat", **control(0.7), "holds_at_start": holds}])
    (null,) = ask(audit, {"level=0.7": [0.7] * 5}).controls
    assert ([run.void for run in null.runs].count(Void.START), null.n) == (void, 5)
    assert null.verdict == ("open" if void else "fails")


def test_arms_that_are_compared_share_a_readings_settings():
    audit = one_claim(headline=[AGAINST_LOW], steps=read_as(20), **BARE)
    runs = {"steps=20": ROWS["yes"], "low": [NO] * 15}
    assert ask(audit, runs).readings[0].yes == 15
    assert ask(audit, {**runs, "low/steps=20": [0.001] * 15}).readings[0].yes == 0


# --- counting -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "more", "decision"),
    [
        ([YES] * 12 + [NO] * 3, {}, MET),
        ([YES] * 11 + [NO] * 4, {}, OPEN),
        ([YES] * 3 + [NO] * 12, {}, MISSED),
        ([YES] * 4 + [NO] * 11, {}, OPEN),
        ([YES] * 4, {}, OPEN),
        ([NO] * 4, {"share": 0.9}, OPEN),  # fewer than five, whatever the share
        ([YES] * 15, {"share": 0.9}, OPEN),
        ([YES] * 29, {"share": 0.9}, MET),
        ([YES] * 10 + [NO] * 5, {"share": 0.9}, MISSED),
        ([YES], {"exact": True}, MET),
        ([YES] * 14 + [NO], {"exact": True}, MISSED),
        ([YES] * 14 + ["failed"], {"exact": True}, OPEN),
        ([YES] * 12 + ["failed"] * 3, {}, MET),
        ([YES] * 11 + ["failed"] * 4, {}, OPEN),
        ([NO] * 12 + ["failed"] * 3, {}, MISSED),
    ],
)
def test_more_than_half_or_a_share_of_all_runs_must_say_yes(rows, more, decision):
    assert ask(one_claim(**more), {"own": rows}).base.decision is decision


def course(end: float, points: int = 10) -> Measurements:
    values = [1.0] * (points - 3) + [end] * 3
    return Measurements(series={"distance": Series(steps=tuple(range(points)), values=values)})


@pytest.mark.parametrize(
    ("rows", "more", "counts"),
    [
        ([YES] * 10, {}, (10, 10, 0, True)),
        ([YES] * 10, ELSEWHERE, (10, 10, 0, True)),  # a number or two may well be equal
        ([YES] * 9 + [0.03], {}, (10, 10, 0, False)),
        ([YES] * 4, {}, (4, 4, 0, False)),
        ([course(YES)] * 10, {}, (10, 10, 0, True)),  # our own runs are no copies
        ([course(YES)] * 10, ELSEWHERE, (1, 1, 9, False)),
        ([course(YES, 9)] * 10, ELSEWHERE, (10, 10, 0, True)),
        ([course(1.0)] * 10, ELSEWHERE, (0, 10, 0, True)),  # nor what never changes
        ([course(YES)] * 5 + [course(0.03)] * 5, ELSEWHERE, (2, 2, 8, False)),
        ([course(YES), YES] * 3, ELSEWHERE, (4, 4, 2, False)),
    ],
)
def test_equal_runs_count_and_copies_from_elsewhere_count_once(rows, more, counts):
    base = ask(one_claim(), {"own": rows}, **more).base
    assert (base.yes, base.n, base.copies, base.equal) == counts


def test_an_equal_part_makes_no_copy():
    """Two curves of a run: one is the same in every run, the other is not."""
    audit = one_claim()
    rows = [
        Measurements(series={**course(YES).series, "loss": course(seed).series["distance"]})
        for seed in range(15)
    ]
    assert ask(audit, {"own": rows}, **ELSEWHERE).base.n == 15


@pytest.mark.parametrize(
    ("decisions", "joint"),
    [
        ((), OPEN), ((MET,), MET), ((MET, MET), MET), ((MET, OPEN), OPEN), ((OPEN,), OPEN),
        ((MET, MISSED), MISSED), ((OPEN, MISSED), MISSED),
    ],
)  # fmt: skip
def test_all_must_be_met(decisions, joint):
    assert all_of(decisions) is joint


# --- means ----------------------------------------------------------------------------------------


def mean_of(origin: str = "paper", **check: Any) -> dict[str, Any]:
    why = {"why": "It is enough."} if origin == "ours" else {}
    return {**reaches(**check), "from": origin, "standard": "mean", **why}


AROUND = {"kind": "equals", "to": 0.0, "within": 1.0}
SPREAD = [1.0, 1.0, 1.0, 1.0, 16.0]
RISING = [1.0, 1.1, 1.2, 1.3, 1.4]


@pytest.mark.parametrize(
    ("check", "rows", "mean"),
    [
        (mean_of(at_most=9), SPREAD, 4),
        (mean_of(at_most=9, log=True), SPREAD, 16**0.2),
        (mean_of(at_most=9, log=True), [0.0, *SPREAD[1:]], None),
        (mean_of(at_most=9), SPREAD[:1], None),
        (mean_of(at_most=9), [*SPREAD, "diverged"], None),  # the runs decide
        (mean_of(kind="equals", to="distance@first", within=99.0), SPREAD, 3),
        (mean_of(relative_to="distance@first", at_most=9), SPREAD, 4),
        ({**reaches(), "kind": "equals", "to": 3.0, "within": 99.0}, SPREAD, 4),
        (reaches(at_most=9), SPREAD, None),
    ],
)
def test_a_mean_is_arithmetic_unless_the_audit_says_log(check, rows, mean):
    (estimate,) = ask(one_claim(headline=[check], **BARE), {"own": rows}).base.estimates
    found = None if estimate.mean is None else estimate.mean[0]
    assert found == (None if mean is None else pytest.approx(mean))
    assert estimate.log == (check.get("log", False))


@pytest.mark.parametrize(
    ("headline", "rows", "answer", "yes"),
    [
        ([mean_of(at_most=5)], RISING, "yes", 5),
        ([mean_of(at_most=1.25)], RISING, "open", 3),
        ([mean_of(at_most=1)], RISING, "no", 1),
        # three runs suffice for the paper's own number, five for any other
        ([mean_of(at_most=5)], RISING[:3], "yes", 3),
        ([mean_of(at_most=5)], RISING[:2], "unfinished", 2),
        ([mean_of("ours", at_most=5)], RISING[:4], "unfinished", 4),
        ([mean_of("ours", at_most=5)], RISING, "yes", 5),
        # where a run diverged the runs decide, k of n inside the bound
        ([mean_of(at_most=5)], [*RISING[:4], "diverged"], "open", 4),
        ([mean_of(at_most=5)], [*RISING, *RISING[:4], "diverged"], "yes", 9),
        ([mean_of(at_most=5)], [*RISING[:2], "diverged"], "unfinished", 2),
        # beside a check whose runs are counted
        ([mean_of(at_most=1), reaches(at_most=5)], RISING, "no", 5),
        ([mean_of(at_most=5), reaches(at_most=5)], RISING, "yes", 5),
        ([mean_of(at_most=5), reaches(at_most=1)], RISING, "open", 1),
        ([mean_of(at_most=5), reaches(at_most=5)], RISING[:3], "unfinished", 3),
        # the mean inside a margin, and no run, or fewer than a quarter
        ([mean_of(**AROUND)], [1.5, -1.5] * 10, "open", 0),
        ([mean_of(**AROUND)], [1.5, -1.5] * 8 + [0.5] * 5, "open", 5),  # of 21
        ([mean_of(**AROUND)], [1.5, -1.5] * 6 + [0.5] * 4, "yes", 4),  # of 16
        ([mean_of(log=True, at_most=5)], [0.0, *RISING[1:]], "open", 5),
    ],
)
def test_the_mean_of_all_runs_decides(headline, rows, answer, yes):
    base = ask(one_claim(headline=headline, **BARE), {"own": rows}).base
    assert (base.answer, base.yes) == (answer, yes)


@pytest.mark.parametrize(
    ("rows", "answer", "mean"),
    [
        ([*RISING * 3], "yes", 1.2),
        ([*RISING * 2, *RISING[:4], 9.0], "yes", 16.6 / 14),  # one of fifteen
        ([*RISING * 2, *RISING[:3], 9.0], "open", None),  # one of fourteen
        ([*RISING * 2, *RISING[:3], 9.0, 9.0], "open", None),
        ([*RISING * 5, *RISING[:3], 9.0, 9.0], "yes", 33.3 / 28),  # two of thirty
        ([*[2.0] * 14, -30.0], "no", 2.0),
        ([*[1.0] * 9, *[2.0] * 6], "open", None),  # the count is open, too
    ],
)
def test_a_mean_may_decide_without_a_run_in_fifteen_as_the_count_does(rows, answer, mean):
    check = mean_of(at_most=1.5)
    judged = ask(one_claim(headline=[check], **BARE), {"own": rows})
    (estimate,) = judged.base.estimates
    assert judged.base.answer == answer
    assert estimate.mean is not None
    if mean is not None:
        assert estimate.mean[0] == pytest.approx(mean)
    assert estimate.apart == (len(rows) // 15 if max(map(abs, rows)) > 2 and mean else 0)


@pytest.mark.parametrize(
    ("headline", "rows", "reason"),
    [
        ([mean_of(**AROUND)], [1.5, -1.5] * 10, ("mean alone", {"place": 0})),
        ([reaches(at_most=9), mean_of(at_most=1.25)], RISING, ("mean open", {"place": 1})),
        ([mean_of(at_most=5)], RISING[:2], ("too few", {"runs": 1})),
        ([mean_of("ours", at_most=5)], RISING[:2], ("too few", {"runs": 3})),
        ([ours()], [YES] * 3, ("too few", {"runs": 2})),
        ([ours()], [], ("too few", {"runs": 5})),
    ],
)
def test_why_a_mean_or_a_count_decides_nothing(headline, rows, reason):
    answer = ask(one_claim(headline=headline, **BARE), {"own": rows})
    assert stated(answer.reasons) == [reason]


def test_a_row_shows_the_bound_that_runs_miss_before_one_that_does_not_tell():
    answer = ask(one_claim(headline=[RATIO, ours()], **BARE), {"own": [INFINITE] * 15})
    assert [estimate.holds[0] for estimate in answer.base.estimates] == [None, False]
    assert answer.leading == answer.base.estimates[1]


def test_a_row_counts_the_runs_that_have_no_number():
    audit = one_claim(headline=[reaches(at_most=1.0)], **BARE)
    (estimate,) = ask(audit, {"own": [0.8, 0.9, 1.5]}).base.estimates
    without = estimate.model_copy(update={"values": (None, *estimate.values[1:])})
    number = without.number_of(audit.claims[0].headline[0])
    assert typical_words(without, number, "distance").endswith("worst run 1.5, none in 1 of 3")
    assert "none" not in typical_words(estimate, number, "distance")


MARGIN = reaches(at_most=1.0)
EQUALS = {"kind": "equals", "value": "distance", "to": 0.5, "within": 0.02, "from": "paper"}


@pytest.mark.parametrize(
    ("changes", "runs", "why"),
    [
        ({"headline": [MARGIN]}, {"own": [0.9] * 4 + [1.1] * 4},
         "runs lie on both sides of the bound (0.90 to 1.1 against 1)"),
        # void runs have no part in it, and those without a number are counted
        ({"headline": [MARGIN]}, {"own": [0.9] * 4 + [1.1] * 4 + [UNMEASURED, "diverged"]},
         "runs lie on both sides of the bound (0.90 to 1.1 against 1, 1 diverged, 1 void)"),
        # of a margin the two ends, and of a mean its interval
        ({"headline": [EQUALS | {"standard": "typical"}]}, {"own": [0.5] * 4 + [0.6] * 4},
         "runs lie within the margin and beyond it (0.50 to 0.60 against 0.48 to 0.52)"),
        ({"headline": [EQUALS]}, {"own": [0.4] * 5 + [0.6] * 5},
         "the mean may lie within the margin or beyond it (0.44 to 0.56 against 0.48 to 0.52)"),
        ({"headline": [mean_of(log=True, at_most=5)]}, {"own": [0.0, *[1.0] * 5]},
         "there is no geometric mean of numbers that are not all positive"),
        ({"headline": [mean_of(**AROUND)]}, {"own": [1.5, -1.5] * 10},
         "the mean lies inside the margin, but only 0 of 20 runs do"),
        ({"headline": [MARGIN]}, {"own": [0.9] * 4 + ["diverged"] * 6},
         "6 of 10 diverged"),
        ({"headline": [MARGIN], "share": 0.9}, {"own": [0.9] * 10},
         "too few runs to tell"),
        ({"headline": [{**AGAINST_LOW, "paired": False}]},
         {"own": [0.5, 1.5] * 5, "low": [None] * 15 + [0.4, 1.6] * 5},
         "the order of 10 and 10 runs does not tell the groups apart"),
        # what most void runs have in common, which need not be that of the first
        ({"headline": [AGAINST_LOW]}, {"low": [None] * 2 + ["diverged"] * 4 + [NO] * 9},
         "low diverged in 4 of 15"),
        # as many void runs as others are the reason
        ({"headline": [AGAINST_LOW]}, {"own": [0.3, 0.5] * 5, "low": ["diverged"] * 6 + [0.4] * 4},
         "low diverged in 6 of 10"),
        ({"headline": [AGAINST_LOW]}, {"own": [0.3, 0.5] * 5, "low": ["diverged"] * 5 + [0.4] * 5},
         "low diverged in 5 of 10"),
        ({"headline": [AGAINST_LOW]}, {"own": [0.3, 0.5] * 5, "low": ["diverged"] * 4 + [0.4] * 6},
         "runs lie on both sides of the bound (0.80 to 1.3 against 1, 4 void)"),
        ({"headline": [MARGIN], "share": 0.9, "pause": guess(1.0)},
         {"own": [0.9] * 10, "pause=1": [1.1] * 15},
         "too few runs to tell"),
        ({"nulls": [{"name": "flat", **control(0.7)}], "no_control": None}, {},
         "the control (flat) has not run"),
    ],
)  # fmt: skip
def test_a_reason_is_the_cause_with_the_numbers_that_decide(changes, runs, why):
    audit = one_claim(**BARE | changes)
    answer = ask(audit, runs)
    assert answer.outcome is Outcome.UNDECIDED
    assert words(answer.reasons[0], ClaimText(audit, audit.claims[0], answer, "paper")) == why


@given(st.lists(st.floats(1e-300, 1e307), min_size=2, max_size=9), st.booleans())
def test_no_number_is_too_large_for_a_mean(values, log):
    mean, low, high = mean_interval(values, log)
    assert math.isfinite(mean)
    assert low <= mean <= high


def test_a_bound_is_not_missed_by_the_mean_and_met():
    for rows, answer, met in (
        ([0.99] * 8 + [1.3] * 7, "no", False),
        ([0.5] * 7 + [1.01] * 8, "yes", True),
    ):
        base = ask(one_claim(headline=[mean_of(at_most=1)], **BARE), {"own": rows}).base
        assert (base.answer, base.estimates[0].met) == (answer, met)


# --- seeds --------------------------------------------------------------------------------------

UNPAIRED = {**AGAINST_LOW, "paired": False}
APART: list[Any] = [None] * 15
RISE = [0.3 + 0.01 * k for k in range(15)]


@pytest.mark.parametrize(
    ("low", "counts", "left_over"),
    [
        (RISE, (15, 15, 0), {}),
        (RISE[:8], (8, 15, 7), {}),
        ([None] * 7 + RISE, (8, 15, 7), {"low": 7}),
        (APART + RISE, (0, 15, 15), {"low": 15}),
    ],
)
def test_a_run_without_a_partner_is_void_and_counts(low, counts, left_over):
    audit = one_claim(headline=[AGAINST_LOW], **BARE)
    answer = ask(audit, {"low": low}, **ELSEWHERE)
    assert (answer.base.yes, answer.base.n, answer.base.void) == counts
    assert answer.base.left_over == left_over
    assert not ask(audit, {"low": low}).base.left_over  # of our own runs, other claims' seeds
    fewer = ask(audit, {"own": [YES] * 8, "low": RISE}, **ELSEWHERE).base
    assert (fewer.yes, fewer.n, fewer.left_over) == (8, 8, {"low": 7})


def test_seeds_apart_are_not_paired_in_silence():
    audit = one_claim(headline=[AGAINST_LOW], **BARE)
    answer = ask(audit, {"low": APART + RISE})
    assert (answer.outcome, answer.base.void) == (Outcome.UNDECIDED, 15)
    sentence = words(answer.reasons[0], ClaimText(audit, audit.claims[0], answer, "paper"))
    assert sentence == "low has no run with the same seed in 15 of 15"


@pytest.mark.parametrize(
    ("check", "own", "low", "answer"),
    [
        ({}, [0.1 + end for end in RISE], RISE, "no"),
        ({}, [end - 0.1 for end in RISE], RISE, "yes"),
        ({}, [end + 0.001 for end in RISE], RISE, "open"),
        ({"difference": True}, [end - 0.1 for end in RISE], RISE, "yes"),
        ({"lower": AGAINST_LOW["upper"], "upper": "distance"}, RISE, [0.1] * 15, "yes"),
        ({}, [YES] * 5, [0.5] * 5, "yes"),
        ({}, [YES] * 4, [0.5] * 15, "unfinished"),
        ({}, [YES] * 15, [0.5] * 4, "unfinished"),
        ({}, [YES] * 15, [], "unfinished"),
        ({}, [0.0] * 15, [0.5] * 15, "yes"),
        ({}, [0.5] * 15, [0.5] * 15, "open"),
        # what diverged lies above all, and a reference that diverged may lie anywhere
        ({}, [YES] * 9 + ["diverged"] * 6, [0.5] * 15, "open"),
        ({}, [YES] * 13 + ["diverged"] * 2, [0.5] * 15, "yes"),
        ({}, ["diverged"] * 15, [0.5] * 15, "no"),
        ({}, [YES] * 15, [0.5] * 13 + ["diverged"] * 2, "yes"),
        ({}, [YES] * 15, [0.5] * 5 + ["diverged"] * 10, "open"),
    ],
)  # fmt: skip
def test_groups_with_seeds_of_their_own_are_compared(check, own, low, answer):
    audit = one_claim(headline=[{**UNPAIRED, **check}], **BARE)
    judged = ask(audit, {"own": own, "low": APART + low})
    assert judged.base.answer == answer
    assert judged.base.n == len(own)


def test_a_run_of_a_group_is_held_against_the_median_of_the_other():
    audit = one_claim(headline=[UNPAIRED], **BARE)
    base = ask(audit, {"own": [0.5] * 6 + [1.5] * 9, "low": [*APART, 0.1, 1.0, 1.0, 1.0, 9.0]}).base
    (estimate,) = base.estimates
    assert estimate.values == (2.0,) * 6 + (1 / 1.5,) * 9
    assert (base.yes, base.decision, estimate.decision) == (6, OPEN, OPEN)


def test_a_crash_is_unknown_among_groups():
    audit = one_claim(headline=[UNPAIRED], **BARE)
    few = [*APART, *[0.5] * 5]
    for own, outcome in (
        ([YES] * 5 + ["failed"], Outcome.SUPPORTED),
        ([YES] * 3 + ["failed"] * 2, Outcome.ERROR),
    ):
        assert ask(audit, {"own": own, "low": few}).outcome is outcome


def test_pairing_enters_the_rule_only_where_it_is_left():
    assert "paired" not in plain(one_claim(headline=[AGAINST_LOW]).claims[0].headline[0])
    assert plain(one_claim(headline=[UNPAIRED]).claims[0].headline[0])["paired"] is False


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (
            [0.5, 0.5, 93.0],
            "distance lies out of its range in 15 of 15: 93, which looks like per cent",
        ),
        ([0.9, 0.9, 0.9], "distance met the bound before training in 15 of 15"),
        ([0.9, 0.9], "the log of distance begins at step 500 in 15 of 15, after training began"),
    ],
)
def test_a_void_run_says_what_was_found(value, says):
    steps = (0, 500, 1000)[-len(value) :]
    run = Measurements(series={"distance": Series(steps=steps, values=value)})
    headline = [{"kind": "concentrates", "share": "distance", "at_least": 0.8, "from": "paper"}]
    audit = one_claim(headline=headline, **BARE)
    answer = ask(audit, {"own": [run] * 15})
    assert words(answer.reasons[0], ClaimText(audit, audit.claims[0], answer, "paper")) == says


# --- the end of a course --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "status"),
    [
        ([1.0] * 10 + [0.02], Status.VOID),  # the last observation alone
        ([1.0, 0.5] + [0.02] * 8 + [0.9], Status.VOID),
        ([1.0] * 8 + [0.02] * 3, Status.YES),
        ([1.0] * 9 + [0.02, 0.03], Status.YES),  # two of the last three
        ([1.0, 0.5] + [0.02] * 9, Status.YES),
        ([1.0] * 11, Status.NO),
        ([1.0, 0.5, 0.4, 0.02], Status.YES),  # four observations have no end but their last
        ([1.0, 0.9, 0.5, 0.4, 0.02], Status.VOID),
    ],
)
def test_a_lone_last_observation_decides_nothing(values, status):
    steps = tuple(range(0, 10 * len(values), 10))
    course = Measurements(series={"distance": Series(steps=steps, values=values)})
    answer = ask(one_claim(), {"own": [course] * 6}).base
    assert {run.status for run in answer.runs} == {status}
    assert answer.estimates[0].values == (values[-1],) * 6, "a void run keeps its number"


def ends_apart(last: float) -> Measurements:
    """A run that ends at a number, though the median at its end is 0.02."""
    values = [1.0, 0.5] + [0.02] * 8 + [last]
    steps = tuple(range(0, 110, 10))
    return Measurements(series={"distance": Series(steps=steps, values=values)})


def test_a_void_run_stays_void_under_another_bound():
    audit = one_claim()
    runs = {"own": [NO] * 13 + [ALMOST] * 2 + [ends_apart(NO)] * 5}
    answer = ask(audit, runs)
    assert (answer.base.void, answer.base.yes, answer.base.decision) == (5, 0, MISSED)
    assert (answer.outcome, answer.base.answer) == (Outcome.UNDECIDED, Answer.NEAR)
    panel = Panel.of(audit, audit.claims[0], "paper", index_records(records_of(audit, runs)))
    assert panel.with_bounds(Limit.relaxed).headline(panel.base).void == 5


def test_a_void_run_has_no_place_among_groups():
    audit = one_claim(headline=[UNPAIRED], **BARE)
    own = [YES] * 4 + [ends_apart(NO)] * 6
    (estimate,) = ask(audit, {"own": own, "low": APART + [0.1] * 15}).base.estimates
    assert estimate.groups is not None
    assert estimate.groups[0] == (*[YES] * 4, *[None] * 6)


@pytest.mark.parametrize(
    ("spike", "status"), [(20.0, Status.VOID), (1.0, Status.NO), (0.01, Status.NO)]
)
@pytest.mark.parametrize("count", [81, 401])
def test_a_spike_decides_no_late_mean(spike, status, count):
    """A mean over the late part of training that one observation makes is held against a median."""
    values = np.ones(count)
    values[-3] *= spike if spike < 1 else spike * count / 81
    course = Measurements(series={"distance": Series(steps=tuple(range(count)), values=values)})
    headline = [{"kind": "reaches", "value": {"measurement": "distance", "step": "late"}}]
    headline[0] |= {"at_least": 2.0, "from": "paper"}
    answer = ask(one_claim(headline=headline, **BARE), {"own": [course] * 6}).base
    assert {run.status for run in answer.runs} == {status}


# --- levels ---------------------------------------------------------------------------------------

BY_SIZE = {"headline": [ours(measurement="by_size")]}


def graded(*primary: int, **changes: Any) -> Any:
    grade = {"axis": "size", "symbol": "n", "easiest_first": [1, 2], "primary": primary}
    return one_claim(**{**BY_SIZE, **changes}, grade=grade)


@pytest.mark.parametrize(
    ("primary", "rows", "answer", "outcome", "counts"),
    [
        ([1], [(YES, NO)] * 15, Answer.YES, Outcome.SUPPORTED, (15, 0)),
        ([2], [(YES, NO)] * 15, Answer.NO, Outcome.NOT_SUPPORTED, (15, 0)),
        ([1, 2], [(YES, YES)] * 15, Answer.YES, Outcome.SUPPORTED, (15, 15)),
        ([1, 2], [(NO, NO)] * 15, Answer.NO, Outcome.NOT_SUPPORTED, (0, 0)),
        ([1, 2], [(YES, NO)] * 15, Answer.MIXED, Outcome.PARTLY_SUPPORTED, (15, 0)),
        ([1, 2], [(YES, NO)] * 8 + [(YES, YES)] * 7, Answer.OPEN, Outcome.UNDECIDED, (15, 7)),
        ([1, 2], [(YES, NO)] * 8 + [(NO, NO)] * 7, Answer.OPEN, Outcome.UNDECIDED, (8, 0)),
        ([1, 2], [(0.15, NO)] * 15, Answer.OPEN, Outcome.UNDECIDED, (0, 0)),
        ([1, 2], [(0.15, 0.15)] * 15, Answer.NEAR, Outcome.UNDECIDED, (0, 0)),
        # each level is met by 12 of 15 runs, and both by 9
        ([1, 2], [(YES, NO)] * 3 + [(NO, YES)] * 3 + [(YES, YES)] * 9, Answer.YES,
         Outcome.SUPPORTED, (12, 12)),
    ],
)  # fmt: skip
def test_a_graded_claim_is_decided_where_it_is_primary(primary, rows, answer, outcome, counts):
    judged = ask(graded(*primary), {"own": rows, "stays": [(0.8, 0.8)] * 5})
    assert (judged.base.answer, judged.outcome) == (answer, outcome)
    assert tuple(grade.yes for grade in judged.grades) == counts
    assert judged.base.yes == sum(all(row[at - 1] == YES for at in primary) for row in rows)


def observed_at(size: int, end: float) -> tuple[Measurements, dict[str, Any]]:
    """A run from elsewhere that was observed at one size, and what its record says of that."""
    series = {"course_by_size": Series(steps=(0, 8, 10), values=[[1.0], [end], [end]])}
    run = Measurements(series=series, arrays={"by_size": (end,)})
    axes = {name: {"size": (size,)} for name in ("course_by_size", "by_size")}
    return run, {**ELSEWHERE, "coordinates": axes}


@pytest.mark.parametrize("name", ["by_size", "course_by_size"])
@pytest.mark.parametrize("size", [1, 2])
def test_what_was_observed_at_some_coordinates_is_read_there(name, size):
    run, more = observed_at(size, YES)
    runs = {"own": [run] * 5, "stays": [], "built": []}
    for at in (1, 2):
        headline = [ours(measurement=f"{name}[{at}]")]
        base = ask(one_claim(headline=headline, **BARE), runs, **more).base
        expected = {None} if at == size else {Void.NOT_MEASURED}
        assert {answer.void for answer in base.runs} == expected
        assert base.yes == 5 * (at == size)
    (whole,) = {
        answer.void
        for answer in ask(
            one_claim(headline=[ours(measurement=name)], **BARE), runs, **more
        ).base.runs
    }
    assert whole is Void.NOT_MEASURED


def test_what_was_not_observed_does_not_move():
    rows = [observed_at(1, end)[0] for end in [YES] * 7 + [NO] * 8]
    audit = graded(1, 2, headline=[ours(measurement="course_by_size")], **BARE)
    answer = ask(audit, {"own": rows, "stays": [], "built": []}, **observed_at(1, YES)[1])
    assert (answer.outcome, answer.base.void) == (Outcome.UNDECIDED, 7)
    assert stated(answer.reasons)[0][0] != "not ended"


def test_a_control_that_measures_nothing_at_a_level_is_none_of_a_contrast():
    check = {**AGAINST_LOW, "lower": "by_size", "upper": {"measurement": "by_size", "arm": "low"}}
    runs = {"own": [(YES, YES)] * 5, "low": [(NO, NO)] * 5, "stays": [UNMEASURED] * 5}
    answer = ask(graded(1, 2, headline=[check]), runs)
    assert [control.verdict for control in answer.controls] == [Verdict.OPEN]
    assert [grade.answer for grade in answer.grades] == [Answer.YES] * 2


def test_what_levels_answer_is_said_where_they_differ():
    runs = {"own": [(YES, NO)] * 15, "stays": [(YES, 0.8)] * 5}
    answer = ask(graded(1, 2), runs)
    assert [grade.answer for grade in answer.grades] == [Answer.BLIND, Answer.NO]
    assert (answer.outcome, answer.base.answer) == (Outcome.UNDECIDED, Answer.OPEN)
    assert stated(answer.reasons) == [("levels", {})]


def test_a_run_has_the_worst_of_what_it_says_at_its_levels():
    rows = [(YES, YES), (YES, NO), "failed", "diverged", UNMEASURED]
    base = ask(graded(1, 2), {"own": rows}).base
    statuses = [Status.YES, Status.NO, Status.CRASHED, Status.NO, Status.VOID]
    assert [run.status for run in base.runs] == statuses
    assert [len(estimate.values) for estimate in base.estimates] == [5, 5]


def test_the_typical_number_is_the_median_of_the_runs():
    (estimate,) = ask(one_claim(), {"own": [*[YES] * 14, 2.78e120]}).base.estimates
    assert (estimate.median, estimate.worst, estimate.decision) == (YES, 2.78e120, None)


def test_order_changes_nothing():
    audit = one_claim()
    records = records_of(audit, {"own": ROWS["open"], "stays": [NO, YES] * 5})
    assert answers_of(audit, records[::-1]) == answers_of(audit, records)
