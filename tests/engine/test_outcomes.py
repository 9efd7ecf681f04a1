"""From runs to an outcome: readings, controls, alternatives, reasons, certainty."""

from typing import Any

import numpy as np
import pytest

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
from miniatures import aligns, setting
from reproaudit.audit.arms import Role
from reproaudit.formats.verdict import Answer, ClaimAnswer, Level, Outcome, Specificity, Varied
from reproaudit.judge import History
from reproaudit.records import CellStatus, Measurements, Origin, Series
from reproaudit.scorecard.claims import ClaimText

SUPPORTED, PARTLY, DEPENDS = Outcome.SUPPORTED, Outcome.PARTLY_SUPPORTED, Outcome.DEPENDS
NOT_SUPPORTED, UNDECIDED = Outcome.NOT_SUPPORTED, Outcome.UNDECIDED
UNINFORMATIVE, NOT_TESTED, ERROR = Outcome.UNINFORMATIVE, Outcome.NOT_TESTED, Outcome.ERROR


def reaches(at_least: float) -> dict[str, Any]:
    """A bound of the paper on where a run ends."""
    return {"kind": "reaches", "value": "final", "at_least": at_least, "from": "paper"}


READINGS = ("own", "steps=20", "steps=10")
PASSING = [0.01] * 5


def under(stated: list[str], alternatives: dict[str, Any] | None = None) -> ClaimAnswer:
    """The answer where stated readings answer so, the own one first, and alternatives end so."""
    runs: dict[str, Any] = {}
    for name, answer in zip(READINGS, stated, strict=False):
        runs[name] = ROWS[answer]
        runs["stays" if name == "own" else f"stays/{name}"] = (
            PASSING if answer == "blind" else [0.8] * 5
        )
    runs |= {f"pause={at}": ROWS.get(end, []) for at, end in (alternatives or {}).items()}
    steps = read_as(*(20, 10)[: len(stated) - 1]) if len(stated) > 1 else None
    pause = guess(1.0, 2.0, unlikely={"2": "Too long."}) if alternatives else None
    return ask(one_claim(steps=steps, pause=pause), runs)


@pytest.mark.parametrize(
    ("stated", "alternatives", "outcome", "reason"),
    [
        (["yes"], {}, SUPPORTED, None),
        (["no"], {}, NOT_SUPPORTED, None),
        (["near"], {}, UNDECIDED, "near"),
        (["open"], {}, UNDECIDED, "straddles"),
        (["ruled out"], {}, UNDECIDED, "few runs"),  # no other is stated: 8 of 15 say no
        (["blind"], {}, UNINFORMATIVE, "control passes"),
        (["unfinished"], {}, UNDECIDED, "too few"),
        # a stated reading is yes and none is no
        (["open", "yes"], {}, SUPPORTED, "reading open"),
        (["near", "yes"], {}, SUPPORTED, "reading open"),
        (["unfinished", "yes"], {}, SUPPORTED, "reading open"),
        (["ruled out", "yes"], {}, SUPPORTED, None),
        (["blind", "yes"], {}, SUPPORTED, None),
        # two are yes and no
        (["yes", "no"], {}, DEPENDS, None),
        (["open", "yes", "no"], {}, DEPENDS, "reading open"),
        (["blind", "yes", "no"], {}, DEPENDS, None),
        # every one that is not ruled out or blind is no
        (["no", "no"], {}, NOT_SUPPORTED, None),
        (["no", "ruled out"], {}, NOT_SUPPORTED, None),
        (["no", "blind"], {}, NOT_SUPPORTED, None),
        (["ruled out", "ruled out"], {}, NOT_SUPPORTED, None),
        (["no", "open"], {}, UNDECIDED, "reading open"),
        (["no", "near"], {}, UNDECIDED, "near"),
        (["no", "unfinished"], {}, UNDECIDED, "reading unfinished"),
        (["open", "blind"], {}, UNDECIDED, "straddles"),
        # every finished one is blind or ruled out
        (["blind", "blind"], {}, UNINFORMATIVE, "control passes"),
        (["blind", "ruled out"], {}, UNINFORMATIVE, "control passes"),
        (["blind", "unfinished"], {}, UNINFORMATIVE, "control passes"),
        (["unfinished", "unfinished"], {}, UNDECIDED, "reading unfinished"),
        # a credible alternative
        (["yes"], {1: "no"}, DEPENDS, None),
        (["no"], {1: "yes"}, DEPENDS, None),
        (["yes"], {1: "near"}, SUPPORTED, "guess not settled"),
        (["yes"], {1: "open"}, SUPPORTED, "guess not settled"),
        (["yes"], {1: "ruled out"}, SUPPORTED, None),  # it diverges
        (["no"], {1: "near"}, UNDECIDED, "alternative open"),
        (["no"], {1: "open"}, UNDECIDED, "alternative open"),
        (["no"], {1: "no"}, NOT_SUPPORTED, None),
        (["no"], {1: "ruled out"}, NOT_SUPPORTED, None),
        (["no"], {1: "unfinished"}, NOT_SUPPORTED, "guess not settled"),
        (["open"], {1: "yes"}, UNDECIDED, "straddles"),
        (["open", "yes"], {1: "no"}, SUPPORTED, "reading open"),  # the own one is open
        (["open", "no"], {1: "yes"}, UNDECIDED, "straddles"),  # its own runs are shown
        (["ruled out", "ruled out"], {1: "yes"}, UNDECIDED, "all diverged"),  # under a guess
        # one that is unlikely
        (["yes"], {1: "yes", 2: "no"}, SUPPORTED, "guess otherwise"),
        (["no"], {1: "no", 2: "yes"}, NOT_SUPPORTED, "guess otherwise"),
    ],
)  # fmt: skip
def test_the_first_outcome_that_applies(stated, alternatives, outcome, reason):
    answer = under(stated, alternatives)
    expected = stated if len(stated) > 1 or stated != ["ruled out"] else ["open"]
    assert sorted(reading.answer for reading in answer.stated) == sorted(expected)
    assert answer.own.answer == expected[0]
    assert (answer.outcome, next((reason.kind for reason in answer.reasons), None)) == (
        outcome,
        reason,
    )
    if outcome is DEPENDS:
        assert [side.answer for side in answer.sides or ()] == ["yes", "no"]


def test_a_reading_that_is_left_out_is_unfinished():
    for rows, outcome in (("yes", SUPPORTED), ("no", UNDECIDED), ("blind", UNINFORMATIVE)):
        runs = {"own": ROWS[rows], "stays": PASSING if rows == "blind" else [0.8] * 5}
        answer = ask(one_claim(steps=read_as(20), readings=[]), runs)
        assert (answer.outcome, answer.left_out) == (outcome, (Varied(setting="steps", value=20),))
    excused = read_as(20, excused="It cannot matter.")
    for readings in ([], ["steps"]):  # it need not be run
        audit = one_claim(steps=excused, readings=readings)
        assert ask(audit, {"own": ROWS["no"]}).outcome is NOT_SUPPORTED
        assert not ask(audit).reasons


@pytest.mark.parametrize(
    ("there", "left_out"),
    [
        ([YES] * 15, False),
        ([YES] * 14 + [YES * (1 + 2**-52)], True),  # another number, by the last bit
        ([YES] * 14, True),  # a run of the claim's own has none beside it
        ([YES] * 14 + ["failed"], True),
        ([], True),
    ],
)
def test_a_reading_that_moves_no_number_is_not_left_out(there, left_out):
    """Runs under it show that: another claim of the experiment has them."""
    for support in ([], [ours(0.05)]):
        audit = one_claim(steps=read_as(20), readings=[], support=support)
        answer = ask(audit, {"steps=20": there})
        assert bool(answer.left_out) == left_out
        assert [reason.kind for reason in answer.reasons] == ["reading left out"] * left_out


def test_what_a_check_of_support_reads_can_move_too():
    audit = one_claim(steps=read_as(20), readings=[], headline=[ours(measurement="loss")])
    audit_too = one_claim(
        steps=read_as(20), readings=[], headline=[ours(measurement="loss")], support=[ours()]
    )
    runs: dict[str, Any] = {"own": [[1.0, YES]] * 15, "stays": [[1.0, 0.8]] * 5}
    runs["steps=20"] = [
        Measurements(
            scalars={"final": YES},
            series={
                "distance": Series(steps=(0, 5, 10), values=[1.0, 0.03, 0.03]),
                "loss": Series(steps=(0, 10), values=[1.0, YES]),
            },
        )
    ] * 15
    runs["built"] = [[1.0, 0.001]] * 5
    assert not ask(audit, runs).left_out
    assert ask(audit_too, runs).left_out


@pytest.mark.parametrize(
    ("stated", "shown"),
    [
        (["open", "no"], "own"),  # what another's choice refutes is not this side's own
        (["near", "no"], "own"),
        (["open", "no", "yes"], "steps=10"),
        (["near", "yes"], "steps=20"),
        (["no", "yes"], "own"),
        (["blind", "no"], "steps=20"),
        (["ruled out", "no"], "steps=20"),
    ],
)
def test_the_reading_that_is_shown_brings_the_outcome(stated, shown):
    assert under(stated).base.name == shown


def test_a_reading_is_shown_as_the_claims_own_where_no_other_ran():
    audit = one_claim(steps=read_as(20, 10))
    answer = ask(audit, {"own": [], "steps=20": ROWS["yes"], "stays/steps=20": PASSING})
    assert (answer.base.role, answer.base.varied) == (
        Role.READING,
        Varied(setting="steps", value=20),
    )
    assert [reading.varied and reading.varied.value for reading in answer.readings] == [40, 10]
    assert (answer.outcome, answer.controls[0].verdict) == (UNINFORMATIVE, "passes")
    assert ask(audit, {"own": []}).base.name == "own"


# --- bounds of ours, twice and half as wide -------------------------------------------------------


@pytest.mark.parametrize(
    ("own", "changes", "others"),
    [
        ([0.02] * 15, {}, ()),
        ([0.06] * 15, {}, (NOT_SUPPORTED,)),
        ([0.15] * 15, {}, (SUPPORTED, NOT_SUPPORTED)),
        ([0.02] * 8 + [0.15] * 7, {}, (SUPPORTED,)),  # open answers, too
        ([0.02] * 3 + [0.06] * 5 + [0.5] * 7, {}, (NOT_SUPPORTED,)),
        ([0.5] * 15, {}, ()),
        ([0.02] * 15, {"support": [ours(0.01)]}, (PARTLY,)),
        ([0.06] * 15, {"headline": [{**aligns(0.1), "from": "paper"}]}, ()),
    ],
)
def test_what_bounds_of_ours_would_change(own, changes, others):
    assert ask(one_claim(**changes), {"own": own}).other_bounds == others


def test_a_bound_that_would_be_out_of_reach_would_change_the_answer():
    """It takes no step of certainty."""
    answer = ask(one_claim(), {"own": [0.06] * 15, "built": [0.08] * 5})
    assert (answer.other_bounds, answer.reasons) == ((UNINFORMATIVE,), ())


def test_a_control_passes_at_a_wider_bound_of_ours():
    assert ask(one_claim(), {"stays": [0.15] * 5}).other_bounds == (UNINFORMATIVE,)


# --- what else leaves a part, and crashes ---------------------------------------------------------


@pytest.mark.parametrize(
    ("support", "own", "outcome"),
    [
        (ours(0.01), "yes", SUPPORTED),  # relaxed it is met
        (ours(0.005), "yes", PARTLY),
        (aligns(0.01), "yes", PARTLY),
        ({**BEATS, "lower": "distance@first", "upper": "distance"}, "yes", PARTLY),
        (aligns(0.005), "no", NOT_SUPPORTED),
        (aligns(0.005), "open", UNDECIDED),
    ],
)
def test_a_check_of_support_that_is_missed_leaves_a_part(support, own, outcome):
    answer = ask(one_claim(support=[support], notes=[aligns(0.001)]), {"own": ROWS[own]})
    assert (answer.outcome, answer.notes[0].yes) == (outcome, 0)


def test_support_is_asked_of_each_reading_and_yields_to_an_alternative():
    audit = one_claim(support=[aligns(0.05)], steps=read_as(20), pause=guess(1.0))
    runs = {"own": [0.06] * 15, "pause=1": [0.06] * 15}
    assert ask(audit, {**runs, "steps=20": ROWS["yes"]}).outcome is PARTLY
    assert ask(audit, {**runs, "steps=20": [0.06] * 15, "own": ROWS["yes"]}).outcome is PARTLY
    assert ask(audit, {**runs, "steps=20": ROWS["open"], "own": ROWS["yes"]}).outcome is SUPPORTED
    assert ask(audit, {**runs, "steps=20": ROWS["yes"], "pause=1": ROWS["no"]}).outcome is DEPENDS
    some = [YES] * 8 + [0.06] * 7
    assert ask(audit, {"own": some, "steps=20": ROWS["yes"]}).outcome is SUPPORTED  # open


GRADE = {"axis": "size", "symbol": "n", "easiest_first": [1, 2], "primary": [1, 2]}


@pytest.mark.parametrize(
    ("changes", "runs", "outcome"),
    [
        ({}, {"own": [YES] * 14 + ["failed"]}, SUPPORTED),
        ({}, {"own": [YES] * 11 + ["failed"] * 4}, ERROR),
        ({}, {"own": [NO] * 12 + ["failed"] * 3}, NOT_SUPPORTED),
        ({}, {"own": [NO] * 11 + ["failed"] * 4}, ERROR),
        ({}, {"own": ["failed"] * 15}, ERROR),
        ({}, {"own": [YES] * 7 + [NO] * 7 + ["failed"]}, UNDECIDED),
        ({"exact": True}, {"own": ["failed"]}, ERROR),
        ({"exact": True}, {"own": [NO, "failed"]}, NOT_SUPPORTED),
        # what the crashes leave as it is: near, blind, too few, voids in the way
        ({}, {"own": [ALMOST] * 14 + ["failed"]}, UNDECIDED),
        ({}, {"own": [YES] * 14 + ["failed"], "stays": PASSING}, UNINFORMATIVE),
        ({}, {"own": [YES] * 2 + ["failed"]}, UNDECIDED),
        ({"headline": [AGAINST_LOW]},
         {"own": [YES] * 14 + ["failed"], "low": [NO] * 5 + ["diverged"] * 10}, UNDECIDED),
        ({}, {"own": [YES] * 14 + ["failed"], "stays": [0.8]}, UNDECIDED),
        ({"headline": [ours(measurement="by_size")], "grade": GRADE},
         {"own": [(YES, NO)] * 3 + [(NO, YES)] * 3 + [(YES, YES)] * 14 + ["failed"]}, SUPPORTED),
        # what else the paper says may hang on them
        ({"support": [aligns(0.01)]}, {"own": [YES] * 14 + ["failed"]}, PARTLY),
        ({"support": [aligns(0.01)]}, {"own": [YES] * 12 + [0.01] * 2 + ["failed"] * 3}, ERROR),
        # of another reading
        ({"steps": read_as(20)}, {"steps=20": [YES] * 11 + ["failed"] * 4}, SUPPORTED),
        ({"steps": read_as(20)}, {"own": ROWS["no"], "steps=20": [YES] * 11 + ["failed"] * 4},
         ERROR),
        # in an arm that is no stated reading
        ({}, {"stays": ["failed"] * 5}, UNDECIDED),
        ({}, {"built": ["failed"] * 5}, SUPPORTED),
        ({"pause": guess(1.0)}, {"pause=1": ["failed"] * 5}, SUPPORTED),
        ({"ablations": [{"arm": "low", "lacks": "B"}]}, {"low": ["failed"] * 5}, SUPPORTED),
    ],
)  # fmt: skip
def test_crashes_matter_where_they_could_change_the_outcome(changes, runs, outcome):
    answer = ask(one_claim(**changes), runs)
    assert answer.outcome is outcome
    if outcome is ERROR:
        arms = [runs.get(reading, []) for reading in READINGS]
        assert stated(answer.reasons) == [
            ("crashed", {"runs": sum(a.count("failed") for a in arms)})
        ]


# --- controls -------------------------------------------------------------------------------------

UNMEASURED = Measurements(scalars={"final": 1.0})


@pytest.mark.parametrize(
    ("changes", "runs", "verdict", "answer"),
    [
        ({}, {"stays": [0.8] * 5}, "fails", "yes"),
        ({}, {"stays": ["diverged"] * 5}, "fails", "yes"),
        ({}, {"stays": [YES] * 5}, "passes", "blind"),
        ({}, {"stays": [YES] * 5, "own": ROWS["no"]}, "passes", "blind"),
        # neither met nor missed: Fisher's test against the claim's own runs
        ({}, {"stays": [0.8] * 3 + [YES] * 2}, "fails", "yes"),
        ({}, {"stays": [0.8] + [YES] * 4}, "open", "open"),
        ({}, {"stays": [0.8] * 3 + [YES] * 2, "own": ROWS["no"]}, "open", "no"),
        ({}, {"stays": [0.8] * 4}, "fails", "yes"),  # too few to be missed, enough for Fisher
        ({}, {"stays": [0.8]}, "open", "open"),
        ({}, {"stays": []}, "open", "unfinished"),
        # runs that crashed, or are void, might have said yes
        ({}, {"stays": ["failed"] * 5}, "open", "open"),
        ({}, {"stays": [0.8] * 3 + ["failed"] * 2}, "fails", "yes"),
        ({}, {"stays": [0.8] + ["failed"] * 4}, "open", "open"),
        # one that says no in any run cannot pass by its void ones
        ({}, {"stays": [0.8] + [UNMEASURED] * 4}, "fails", "yes"),
        ({}, {"stays": [UNMEASURED] * 5}, "open", "open"),
        ({}, {"stays": [0.8] + [UNMEASURED] * 3}, "open", "open"),  # too few to tell
        ({}, {"stays": [0.8, YES] + [UNMEASURED] * 3}, "open", "open"),
        ({}, {"stays": [0.8, YES] + [UNMEASURED] * 2}, "open", "open"),
        ({}, {"stays": [0.8, YES, YES] + [UNMEASURED] * 2}, "open", "open"),
        ({}, {"stays": [0.8] * 3 + [UNMEASURED] * 12, "own": ROWS["no"]}, "open", "no"),
        # relaxed, the control passes
        ({}, {"stays": [ALMOST] * 5}, "fails", "yes"),
        ({}, {"stays": [ALMOST] * 5, "own": ROWS["near"]}, "fails", "near"),
        # a contrast, and what is exact, need none; one that is given counts
        ({"headline": [BEATS]}, {"stays": []}, "open", "yes"),
        ({"headline": [BEATS]}, {"stays": ["failed"] * 5}, "open", "open"),
        ({"headline": [BEATS]}, {"stays": [1.5] * 3 + [0.5] * 2}, "fails", "yes"),
        # in pairs of one seed the claim's contrast is larger: 5 of 5; 4 of 5, by number or void
        ({"headline": [BEATS]}, {"stays": [1.5] + [0.5] * 4}, "fails", "yes"),
        ({"headline": [BEATS]}, {"stays": [1.5] + [0.5] * 3 + [0.001]}, "open", "open"),
        ({"headline": [BEATS]}, {"stays": [1.5] + [0.5] * 3 + ["failed"]}, "open", "open"),
        ({"headline": [BEATS]}, {"stays": [0.5] * 4 + ["diverged"]}, "open", "open"),
        ({"headline": [BEATS]}, {"stays": [1.5] * 2 + [0.5] * 6 + [0.001] * 2}, "open", "open"),
        ({"headline": [BEATS]}, {"stays": [1.5] * 2 + [0.5] * 7 + [0.001]}, "fails", "yes"),
        ({"headline": [BEATS]}, {"stays": [0.5] * 5}, "passes", "blind"),
        ({"headline": [BEATS]}, {"stays": [0.001] * 3 + [1.5] * 2}, "larger", "blind"),
        ({"headline": [BEATS]}, {"stays": [0.001] * 2 + [1.5] * 3}, "fails", "yes"),
        ({"headline": [BEATS]}, {"stays": [0.001] * 2 + [1.5] * 2}, "fails", "yes"),
        ({"headline": [BEATS]}, {"stays": [YES] * 4 + [1.5]}, "open", "open"),  # ties
        ({"headline": [BEATS]}, {"stays": [1.2] * 5, "own": [1.5] * 15}, "fails", "no"),
        # its larger contrast is none of a run that misses another condition
        ({"headline": [BEATS, reaches(0.01)]}, {"stays": [0.001] * 5}, "fails", "yes"),
        ({"exact": True}, {"own": [YES], "stays": []}, "open", "yes"),
        ({"exact": True}, {"own": [YES], "stays": ["failed"]}, "open", "open"),
    ],
)  # fmt: skip
def test_a_control_fails_passes_or_stands_in_the_way(changes, runs, verdict, answer):
    judged = ask(one_claim(**changes), runs)
    by = "stays" if answer in ("blind", "open", "unfinished") else ""
    assert (judged.controls[0].verdict, judged.base.answer, judged.base.by) == (verdict, answer, by)
    reasons = {"passes": "control passes", "larger": "control larger", "open": "control open"}
    control = judged.controls[0]
    why = "void runs" if 2 * control.void > control.n else reasons.get(verdict)
    if by:
        assert [(reason.kind, reason.arm) for reason in judged.reasons] == [(why, "stays")]


# --- all diverged ---------------------------------------------------------------------------------

DIVERGED = ["diverged"] * 5


@pytest.mark.parametrize(
    ("changes", "runs", "outcome", "reason"),
    [
        # every own run, and every run of a control, of what has to succeed or of a reference
        ({}, {"own": DIVERGED}, NOT_SUPPORTED, None),
        ({}, {"own": DIVERGED, "stays": DIVERGED}, UNDECIDED, {"runs": 5, "what": "stays"}),
        ({}, {"own": DIVERGED, "built": DIVERGED}, UNDECIDED, {"runs": 5, "what": "built"}),
        ({}, {"own": DIVERGED, "stays": [0.8, *DIVERGED[1:]]}, NOT_SUPPORTED, None),
        ({}, {"own": [NO, *DIVERGED], "stays": DIVERGED}, NOT_SUPPORTED, None),
        ({}, {"own": [YES] * 15, "stays": DIVERGED}, SUPPORTED, None),
        ({"headline": [AGAINST_LOW]}, {"own": DIVERGED, "low": DIVERGED}, UNDECIDED,
         {"runs": 5, "what": "low"}),
        ({"headline": [AGAINST_LOW]}, {"own": DIVERGED, "low": [YES] * 5}, NOT_SUPPORTED, None),
        ({"exact": True}, {"own": DIVERGED[:1], "stays": DIVERGED[:1]}, UNDECIDED,
         {"runs": 1, "what": "stays"}),
        # more than half of the own runs, under a guess
        ({"pause": guess(1.0)}, {"own": DIVERGED}, UNDECIDED, {"runs": 5, "settings": ("pause",)}),
        ({"pause": guess(1.0)}, {"own": DIVERGED, "pause=1": [YES] * 5}, UNDECIDED,
         {"runs": 5, "settings": ("pause",)}),
        ({"pause": guess(1.0)}, {"own": [*DIVERGED, *[NO] * 4]}, UNDECIDED,
         {"runs": 5, "settings": ("pause",)}),
        ({"pause": guess(1.0)}, {"own": [*DIVERGED, *[NO] * 5]}, NOT_SUPPORTED, None),
        # one that says yes makes it no worse
        ({}, {"own": [*DIVERGED * 3, YES], "stays": DIVERGED}, UNDECIDED,
         {"runs": 15, "what": "stays"}),
        ({"pause": guess(1.0)}, {"own": [*DIVERGED, *[NO] * 4, YES]}, UNDECIDED,
         {"runs": 5, "settings": ("pause",)}),
        ({"pause": guess(1.0), "settings": {"pause": 0.5}},
         {"pause=0.5": DIVERGED, "stays/pause=0.5": [0.8] * 5}, NOT_SUPPORTED, None),
        # every stated reading; one that does not diverge has the word
        ({"pause": guess(1.0), "steps": read_as(20)}, {"own": DIVERGED, "steps=20": DIVERGED},
         UNDECIDED, {"runs": 5, "settings": ("pause",)}),
        ({"steps": read_as(20)}, {"own": DIVERGED, "steps=20": DIVERGED}, NOT_SUPPORTED, None),
        ({"pause": guess(1.0), "steps": read_as(20)}, {"own": DIVERGED, "steps=20": ROWS["yes"]},
         SUPPORTED, None),
        ({"pause": guess(1.0), "steps": read_as(20)}, {"own": DIVERGED, "steps=20": ROWS["no"]},
         NOT_SUPPORTED, None),
    ],
)  # fmt: skip
def test_runs_that_all_diverge_say_nothing_of_a_claim(changes, runs, outcome, reason):
    answer = ask(one_claim(**changes), runs)
    assert answer.outcome is outcome
    of_these = [values for kind, values in stated(answer.reasons) if kind == "all diverged"]
    assert of_these == (
        [] if reason is None else [{"arm": "own", "settings": (), "what": "", **reason}]
    )
    assert (answer.level is None) == (outcome in (UNDECIDED, NOT_TESTED))


@pytest.mark.parametrize(
    ("changes", "own", "outcome"),
    [
        ({}, [NO] * 15, UNDECIDED),
        ({"exact": True}, [NO], UNDECIDED),
        ({}, [YES] * 15, SUPPORTED),
        ({"headline": [aligns(0.1)]}, [NO] * 15, NOT_SUPPORTED),  # the paper's own bound
    ],
)
def test_a_positive_control_that_diverged_leaves_open_what_is_missed(changes, own, outcome):
    answer = ask(one_claim(**changes), {"own": own, "built": DIVERGED})
    why = {"arm": "built", "void": "reference diverged", "what": "built", "runs": 5}
    assert answer.outcome is outcome
    assert stated(answer.reasons) == ([("void runs", why)] if outcome is UNDECIDED else [])


@pytest.mark.parametrize(
    ("later", "verdict", "outcome"),
    [
        (True, "open", Outcome.UNDECIDED),  # the second change comes without the first
        (False, "fails", Outcome.SUPPORTED),  # it waits for what never comes
    ],
)
def test_a_second_change_that_comes_alone_leaves_its_control_open(later, verdict, outcome):
    steps = tuple(range(101))
    at = np.array(steps, dtype=float)
    first, second = np.minimum(at / 20, 1), np.clip((at - 30) / 40, 0, 1)

    def measured(earlier: Any, then: Any, seed: int) -> Measurements:
        noise = 0.005 * np.random.default_rng(seed).normal(size=(2, len(at)))
        return Measurements(
            series={
                "loss": Series(steps=steps, values=earlier + noise[0]),
                "distance": Series(steps=steps, values=then + noise[1]),
            }
        )

    waits = {
        "kind": "stages",
        "earlier": {"series": "loss"},
        "later": {"series": "distance"},
        "order": {"above": 1.0, "from": "paper"},
        "wait": {"below": "one_clock", "from": "derived"},
    }
    own = [measured(first, second, seed) for seed in range(5)]
    control = [measured(0 * at, second if later else 0 * at, seed) for seed in range(5)]
    audit = one_claim(headline=[waits], constructed=None)
    answer = ask(audit, {"own": own, "stays": control, "built": []})
    assert ([control.verdict for control in answer.controls], answer.outcome) == (
        [verdict],
        outcome,
    )


def test_a_reading_has_its_own_controls_where_they_ran():
    audit = one_claim(headline=[BEATS], steps=read_as(20))
    runs = {"own": [YES] * 4, "steps=20": ROWS["yes"]}
    for more, kind in (
        ({"stays": [YES] * 5}, "control passes"),  # of the own one
        ({"stays/steps=20": [YES] * 5}, "control passes"),
        ({"stays/steps=20": [0.001] * 3 + [1.5] * 2}, "control larger"),
    ):
        answer = ask(audit, {**runs, "stays": [1.5] * 5, **more})
        assert [reading.answer for reading in answer.stated] == [Answer.UNFINISHED, Answer.BLIND]
        assert stated(answer.reasons) == [(kind, {"arm": "stays"})]


@pytest.mark.parametrize(
    ("headline", "built", "place"),
    [
        ([ours(0.1)], [0.2] * 5, 0),
        ([{**ours(0.1), "from": "null", "why": None}], [0.2] * 5, 0),
        ([aligns(0.1)], [0.2] * 5, None),
        ([{**aligns(0.1), "from": "derived"}], [0.2] * 5, None),
        ([ours(0.1)], [0.2] * 3 + [0.1] * 2, None),  # neither met nor missed
        ([ours(0.1)], [], None),
        ([ours(0.3), aligns(0.1), ours(0.1, "by_size")], [0.2] * 5, 2),
    ],
)
def test_a_positive_control_that_misses_a_bound_of_ours_makes_it_blind(headline, built, place):
    headline = [{k: v for k, v in check.items() if v is not None} for check in headline]
    answer = ask(one_claim(headline=headline), {"built": built})
    expected = [] if place is None else [("out of reach", {"arm": "built", "place": place})]
    assert [reason for reason in stated(answer.reasons) if reason[0] == "out of reach"] == expected
    assert (answer.base.by == "built") == (answer.outcome is UNINFORMATIVE) == (place is not None)


@pytest.mark.parametrize(
    ("headline", "null", "places"),
    [
        ([aligns(0.1)], [NO, NO, YES, YES, YES], (0,)),
        ([aligns(0.1)], [NO, NO, NO, YES, YES], ()),
        ([aligns(0.1)], [NO, NO, YES, YES], (0,)),
        ([aligns(0.1)], [], ()),
        ([aligns(0.1), aligns(0.9)], [NO] * 5, (1,)),
        ([aligns(0.1), BEATS], [NO] * 5, ()),
        ([aligns(0.1), {**aligns(0.9), "distance": {"measurement": "distance", "arm": "low"}}],
         [NO] * 5, ()),
        ([aligns(0.1), {**BEATS, "by": 1.5}], [NO] * 5, (1,)),
    ],
)  # fmt: skip
def test_a_condition_that_no_null_misses_cannot_fail(headline, null, places):
    runs = {"stays": null, "low": [0.03] * 15}
    assert ask(one_claim(headline=headline), runs).cannot_fail == places


DIFFERENCE = {**BEATS, "difference": True}
FALLEN = {
    "kind": "reaches", "value": "distance", "grown_from": "distance@first", "below": 0,
    "from": "paper",
}  # fmt: skip


@pytest.mark.parametrize(
    ("headline", "ends", "specificity"),
    [
        ([aligns(0.1)], [NO] * 5, Specificity.SPECIFIC),
        ([aligns(0.1)], [NO, YES, YES, YES, YES], Specificity.OPEN),
        ([aligns(0.1)], [YES] * 5, Specificity.NOT_SPECIFIC),
        ([aligns(0.1)], ["diverged"] * 3 + [YES] * 2, Specificity.DIVERGES),
        ([aligns(0.1)], ["diverged"] * 2 + [YES] * 2, Specificity.SPECIFIC),
        ([BEATS], [0.2] * 5, Specificity.SMALLER),
        ([BEATS], [0.125] * 5, Specificity.NOT_SPECIFIC),  # half, on a log scale
        ([BEATS], [2.0] * 5, Specificity.SPECIFIC),
        # a difference by itself: of 1 - 1/64 in the claim's runs
        ([DIFFERENCE], [1 / 64] * 5, Specificity.NOT_SPECIFIC),
        ([DIFFERENCE], [0.5] * 5, Specificity.NOT_SPECIFIC),
        ([DIFFERENCE], [0.52] * 5, Specificity.SMALLER),
        ([FALLEN], [0.5] * 5, Specificity.NOT_SPECIFIC),
        ([FALLEN], [0.52] * 5, Specificity.SMALLER),
    ],
)
def test_an_ablation_is_smaller_below_half_the_effect(headline, ends, specificity):
    audit = one_claim(headline=headline, ablations=[{"arm": "low", "lacks": "B"}])
    answer = ask(audit, {"own": [1 / 64] * 15, "low": ends, "stays": [1.5] * 5})
    assert (answer.ablations[0].specificity, answer.outcome) == (specificity, SUPPORTED)


def test_the_effects_that_are_shown_are_those_that_are_compared():
    """Of two contrasts the first has no size in the ablation, which ends at 0."""
    by_size = {**BEATS, "lower": "by_size[1]", "upper": "by_size[2]"}
    audit = one_claim(headline=[by_size, BEATS], ablations=[{"arm": "low", "lacks": "B"}])

    def run(end: float, small: float) -> Measurements:
        series = {"distance": Series(steps=(0, 5, 10), values=[1.0, end, end])}
        return Measurements(series=series, arrays={"by_size": (small, 1.0)})

    runs = {"own": [run(1 / 64, 0.1)] * 15, "low": [run(0.2, 0.0)] * 5}
    answer = ask(audit, {**runs, "stays": [1.5] * 5})
    text = ClaimText(audit, audit.claims[0], answer, "paper")
    assert text.answer.ablations[0].specificity is Specificity.SMALLER
    assert text.effects(text.answer.ablations[0]) == "5.0 against 64"


# --- bounds of ours, alternatives, training that goes on ------------------------------------------


def test_near_is_what_all_bounds_of_ours_relaxed_at_once_leave():
    by_size = ours(0.1, "by_size")
    for headline, end, answer in (
        ([ours(), by_size], ALMOST, Answer.NEAR),
        ([ours(), aligns(0.1)], ALMOST, Answer.NO),
        ([aligns(0.5), by_size], 0.2, Answer.NEAR),
        ([aligns(0.5), by_size], 0.21, Answer.NO),
        ([{"kind": "reaches", "value": "final", "at_most": 0.3, **_OURS}], 0.6, Answer.NEAR),
        ([{"kind": "reaches", "value": "final", "at_most": 0.35, **_OURS}], 0.6, Answer.NO),
    ):
        judged = ask(one_claim(headline=headline, constructed=None), {"own": [end] * 15})
        assert judged.base.answer is answer
    judged = ask(one_claim(headline=[aligns(0.5), by_size]), {"own": [ALMOST] * 15})
    assert stated(judged.reasons) == [
        ("near", {"arm": "own", "place": 1, "bound": 0.2, "stated": 0.1})
    ]


_OURS = {"from": "ours", "why": "It is enough."}


def alternatives_at(
    small: dict[str, Any], whole: dict[str, Any] | None = None
) -> tuple[ClaimAnswer, list[Any]]:
    answer = ask(one_claim(pause=guess(1.0)), whole, lower=small)
    return answer, [(a.tier, a.answer, a.counts, (a.own_yes, a.own_n)) for a in answer.alternatives]


def test_an_alternative_counts_where_the_small_scale_answers_as_the_whole():
    small = {"own": [YES] * 5, "pause=1": [NO] * 5}
    answer, alternatives = alternatives_at(small)
    assert (answer.outcome, alternatives) == (DEPENDS, [("quick", "no", True, (5, 5))])
    answer, alternatives = alternatives_at({**small, "own": [YES] * 3 + [NO] * 2})
    assert (answer.outcome, alternatives) == (SUPPORTED, [("quick", "no", False, (3, 5))])
    # at the whole scale it answered, and the small one is not asked
    answer, alternatives = alternatives_at(small, {"pause=1": [YES] * 5})
    assert (answer.outcome, alternatives) == (SUPPORTED, [("paper", "yes", True, (15, 15))])
    answer, _ = alternatives_at(small, {"pause=1": [YES] * 4})
    assert answer.outcome is DEPENDS


def test_alternatives_count_beside_an_own_reading_that_is_ruled_out():
    audit = one_claim(steps=read_as(20), pause=guess(1.0))
    runs = {"own": ["diverged"] * 13 + [NO] * 2, "steps=20": ROWS["no"], "pause=1": ROWS["open"]}
    answer = ask(audit, runs)
    assert (answer.own.answer, answer.outcome) == (Answer.RULED_OUT, UNDECIDED)


@pytest.mark.parametrize(
    ("own", "other", "answer"),
    [
        ([1.0, 0.25], [1.0, 0.5], Answer.YES),  # half of the fall
        ([1.0, 0.25], [1.0, 0.51], Answer.UNFINISHED),
        ([1.0, 0.5], [1.0, 0.8], Answer.UNFINISHED),
        ([1.0, 1.0], [1.0, 2.0], Answer.YES),
        ([1.0, 0.5], [1.0, 0.0], Answer.YES),
        ([1.0, -0.5], [1.0, 1.0], Answer.YES),
    ],
)
def test_an_alternative_that_hardly_trained_is_unfinished(own, other, answer):
    runs = {"own": [own] * 15, "pause=1": [other] * 5}
    assert ask(one_claim(pause=guess(1.0)), runs).alternatives[0].answer is answer


@pytest.mark.parametrize(("diverged", "answer"), [(7, Answer.OPEN), (8, Answer.RULED_OUT)])
def test_a_reading_is_ruled_out_where_more_than_half_diverge(diverged, answer):
    runs = {"own": ["diverged"] * diverged + [YES] * 7, "steps=20": ROWS["yes"]}
    assert ask(one_claim(steps=read_as(20)), runs).own.answer is answer


def test_an_alternative_whose_loss_grows_until_it_diverges_is_ruled_out():
    audit = one_claim(pause=guess(1.0))
    records = records_of(audit, {"own": [[1.0, 0.25]] * 15, "pause=1": [[1.0, 9.0]] * 5})
    grown = [
        record.model_copy(update={"status": CellStatus.DIVERGED})
        if record.settings["pause"] == 1
        else record
        for record in records
    ]
    (answer,) = answers_of(audit, grown)["one"].alternatives
    assert answer.answer is Answer.RULED_OUT


def test_training_had_not_ended_where_most_runs_that_say_no_still_move():
    def course(end: float) -> Measurements:
        series = Series(steps=(0, 8, 10), values=[1.0, end + 0.2 * (1 - end), end])
        return Measurements(series={"distance": series, "loss": series})

    for moving, saying_no, reason in (
        (4, 7, "not ended"),
        (3, 7, "straddles"),
        (3, 6, "straddles"),
    ):
        own = [YES] * 8 + [course(0.3)] * moving + [NO] * (saying_no - moving)
        answer = ask(one_claim(), {"own": own})
        assert (answer.outcome, answer.reasons[0].kind) == (UNDECIDED, reason)
    assert ask(one_claim(), {"own": [course(0.3)] * 15}).outcome is NOT_SUPPORTED


END = {"kind": "reaches", "value": "distance", "at_most": 0.1, **_OURS}


@pytest.mark.parametrize(("late", "reason"), [(0.11, "not ended"), (0.09, "straddles")])
def test_training_goes_on_where_the_last_fifth_makes_a_tenth_of_the_change(late, reason):
    for start in (1.0, -1.0):
        straight = 0.5 + late / 2 * (start - 0.5) * np.arange(9.0, -1.0, -1.0)
        course = Series(steps=tuple(range(11)), values=[start, *straight])
        moves = Measurements(series={"distance": course})
        answer = ask(one_claim(headline=[END]), {"own": [YES] * 8 + [moves] * 7})
        assert (answer.outcome, answer.reasons[0].kind) == (UNDECIDED, reason)


def test_noise_at_the_end_is_no_training_that_had_not_ended():
    def level(seed: int) -> Measurements:
        values = 0.8 + 0.02 * np.random.default_rng(seed).normal(size=40)
        return Measurements(series={"distance": Series(steps=tuple(range(40)), values=values)})

    answer = ask(one_claim(), {"own": [YES] * 8 + [level(seed) for seed in range(7)]})
    assert (answer.outcome, answer.reasons[0].kind) == (UNDECIDED, "straddles")


@pytest.mark.parametrize(
    ("changes", "moves"),
    [
        ({"headline": [{**ours(), "distance": "course_by_size[1]"}]}, False),
        ({"headline": [{**ours(), "distance": "course_by_size", "at": {"size": 1}}]}, False),
        ({"headline": [ours(measurement="course_by_size")], "grade": {**GRADE, "primary": [1]}},
         False),
        ({"headline": [ours(measurement="course_by_size")], "grade": GRADE}, True),
        ({"headline": [ours(measurement="course_by_size")]}, True),
    ],
)  # fmt: skip
def test_training_goes_on_only_at_coordinates_that_are_read(changes, moves):
    """At size 1 it rests at either end of the bound, at size 2 it still moves."""

    def course(end: float) -> Measurements:
        values = [[1.0, 1.0], [end, end + 0.2 * (1 - end)], [end, end]]
        return Measurements(series={"course_by_size": Series(steps=(0, 8, 10), values=values)})

    answer = ask(one_claim(**changes), {"own": [course(YES)] * 8 + [course(0.3)] * 7})
    assert answer.outcome is UNDECIDED
    assert (answer.reasons[0].kind == "not ended") is moves


@pytest.mark.parametrize(
    ("headline", "unstated", "told_of"),
    [
        ([AGAINST_LOW], frozenset({"descent"}), True),
        ([AGAINST_LOW], frozenset({"another"}), False),
        ([AGAINST_LOW], frozenset(), False),
        ([ours()], frozenset({"descent"}), False),
    ],
)
def test_arms_that_are_compared_with_settings_unstated_take_a_step(headline, unstated, told_of):
    audit = one_claim(headline=headline, nulls=[], no_control="A toy.")
    answer = ask(audit, {"low": [NO] * 15}, history=History(unstated=unstated))
    assert answer.outcome is SUPPORTED
    assert ("unstated" in [reason.kind for reason in answer.reasons]) is told_of


# --- how sure, and why not surer ------------------------------------------------------------------

SMALL = setting(40, quick={"value": 10, "reason": "It runs."})
WHO = {"who": "Ada", "source": "A log.", "framework": "NumPy", "made": "2026-01-01"}
BY_SIZE = ours(measurement="by_size")
BUILT = Measurements(
    series={"distance": Series(steps=(0, 5), values=[1.0, 0.3])}, arrays={"by_size": (0.04, 0.04)}
)


def tightened(place: int, arm: str = "own", runs: int = 15) -> tuple[str, dict[str, Any]]:
    """That an arm's runs miss a bound of ours, half as wide."""
    return "our bound", {"arm": arm, "place": place, "runs": runs, "stated": 0.1, "bound": 0.05}


LEVELS = [(0.06, YES)] * 3 + [(YES, 0.06)] * 3 + [(YES, YES)] * 9


@pytest.mark.parametrize(
    ("changes", "runs", "more", "reason"),
    [
        ({}, {}, {}, None),
        ({}, {}, {"tier": "quick"}, None),  # no value is smaller
        ({"steps": SMALL}, {}, {"tier": "quick"}, ("scale", {})),
        ({}, {}, {"proxy": "toys"}, ("proxy", {"what": "toys"})),
        ({}, {}, {"origin": Origin.model_validate(WHO)}, ("origin", {"what": "Ada"})),
        ({"wording": "derived"}, {}, {}, None),
        ({"wording": "recalled"}, {}, {}, ("indirect", {})),
        ({"wording": "recalled", "headline": [{**ours(), "stands_for": "An angle."}]}, {}, {},
         ("indirect", {})),
        # a stated reading open, near or unfinished
        ({"steps": read_as(20)}, {"steps=20": ROWS["yes"]}, {}, None),
        ({"steps": read_as(20)}, {"steps=20": ROWS["near"]}, {},
         ("reading open", {"arm": "steps=20"})),
        ({"steps": read_as(20, 10)}, {"steps=20": ROWS["open"]}, {},
         ("reading open", {"arm": "steps=20"})),
        ({"steps": read_as(20), "readings": []}, {}, {},
         ("reading left out", {"settings": ("steps",)})),
        ({"steps": read_as(20), "readings": [],
          "level": setting(0.02, readings=[{**read_as(0.04)["readings"][0]}])}, {}, {},
         ("reading left out", {"settings": ("level",)})),
        # of `depends`, a side that ran at reduced scale only
        ({"pause": guess(1.0), "steps": SMALL}, {}, {"lower": {"pause=1": ROWS["no"]}},
         ("small side", {"arm": "pause=1"})),
        ({"pause": guess(1.0)}, {}, {"lower": {"pause=1": ROWS["no"]}}, None),
        ({"pause": guess(1.0), "steps": SMALL}, {"pause=1": ROWS["no"]}, {"tier": "quick"},
         ("scale", {})),
        # credible alternatives not run, open; unlikely ones that answer otherwise
        ({"pause": guess(1.0)}, {"pause=1": ROWS["yes"]}, {}, None),
        ({"pause": guess(1.0)}, {"pause=1": ROWS["ruled out"]}, {}, None),
        ({"pause": guess(1.0, 2.0)}, {"pause=1": ROWS["yes"]}, {},
         ("guess not settled", {"settings": ("pause",)})),
        ({"pause": guess(1.0)}, {"pause=1": ROWS["open"]}, {},
         ("guess not settled", {"settings": ("pause",)})),
        ({"pause": guess(1.0, unlikely={"1": "Long."})}, {}, {}, None),
        ({"pause": guess(1.0, unlikely={"1": "Long."})}, {"pause=1": ROWS["no"]}, {},
         ("guess otherwise", {"arm": "pause=1"})),
        ({"pause": guess(1.0, 2.0, unlikely={"1": "Long."})}, {"pause=1": ROWS["no"]}, {},
         ("guess otherwise", {"arm": "pause=1"})),
        ({"pause": guess(1.0, 2.0, unlikely={"1": "Long."})},
         {"pause=1": ROWS["no"], "pause=2": ROWS["no"]}, {}, None),  # it depends
        # fewer than two thirds that agree, at 90 % confidence
        ({}, {"own": [YES] * 14 + [NO]}, {}, None),
        ({}, {"own": [YES] * 13 + [NO] * 2}, {}, ("runs", {"arm": "own", "runs": 2})),
        ({}, {"own": [YES] * 2 + [NO] * 13}, {}, ("runs", {"arm": "own", "runs": 2})),
        ({}, {"own": [YES] * 8}, {}, None),
        ({"steps": read_as(20)}, {"own": ROWS["ruled out"], "steps=20": [YES] * 8}, {}, None),
        ({"steps": read_as(20)}, {"own": ROWS["ruled out"], "steps=20": [YES] * 7}, {},
         ("runs", {"arm": "steps=20", "runs": 0})),
        ({}, {"own": [YES] * 7}, {}, ("runs", {"arm": "own", "runs": 0})),
        ({"share": 0.9}, {"own": [YES] * 14 + [NO] * 6, "stays": [0.8] * 20}, {},
         ("runs", {"arm": "own", "runs": 14})),  # the answer is no, and 6 say so
        ({"exact": True}, {"own": [YES]}, {}, None),
        ({"headline": [{**BEATS, "standard": "mean"}]}, {"own": [0.02, 0.03] * 3,
          "stays": [1.5] * 5}, {}, None),
        ({"headline": [AGAINST_LOW]}, {"own": [NO] * 15, "low": [YES] * 13 + ["diverged"] * 2}, {},
         ("runs", {"arm": "own", "runs": 2})),  # what is void does not agree
        # no control where one is needed
        ({"nulls": [], "no_control": "A toy."}, {}, {}, ("no control", {})),
        ({"nulls": [], "headline": [BEATS]}, {}, {}, None),
        ({"nulls": [], "exact": True}, {}, {}, None),
        # bounds of ours that change the answer where they are tightened
        ({}, {"own": [0.05] * 15}, {}, None),
        ({}, {"own": [0.06] * 15}, {}, tightened(0)),
        # the one that is missed, not the first
        ({"headline": [ours(), BY_SIZE]}, {"own": [(YES, 0.06)] * 6 + [(YES, YES)] * 9}, {},
         tightened(1, runs=6)),
        ({"headline": [{"kind": "reaches", "value": "distance", "at_most": 2, "from": "paper"},
                       BY_SIZE]}, {"own": [0.06] * 15}, {},
         tightened(1)),
        ({"headline": [aligns(0.1)]}, {"own": [0.06] * 15}, {}, None),
        ({}, {"own": [0.06] * 15, "built": [0.06] * 5}, {}, None),  # the positive control, too
        ({"headline": [ours(0.5), BY_SIZE]}, {"own": [0.06] * 15, "built": [BUILT] * 5}, {},
         tightened(1)),
        ({"steps": read_as(20)}, {"steps=20": [0.06] * 15}, {},
         tightened(0, "steps=20")),
        ({}, {"own": [0.21] * 15}, {}, None),
        ({"headline": [BY_SIZE], "grade": GRADE}, {"own": LEVELS}, {}, None),
        ({"headline": [BY_SIZE], "grade": GRADE}, {"own": [(YES, 0.06)] * 15}, {},
         tightened(0)),
        ({"headline": [{**aligns(0.05), "distance": "by_size"}], "grade": GRADE,
          "steps": read_as(20)}, {"steps=20": LEVELS}, {},
         ("runs", {"arm": "steps=20", "runs": 6})),
        # the rule
        ({}, {}, {"history": History(earlier=9, changed=frozenset({"mini.two"}))}, None),
        ({}, {}, {"history": History(committed=False)}, ("rule", {"changed": False})),
        ({}, {}, {"history": History(changed=frozenset({"mini.one"}))},
         ("rule", {"changed": True})),
    ],
)  # fmt: skip
def test_each_reason_is_one_step_down(changes, runs, more, reason):
    runs = {"low": [NO] * 15, **runs}
    if "by_size" in str(changes) and "built" not in runs:
        runs["built"] = [(0.001, 0.001)] * 5
    answer = ask(one_claim(**changes), runs, **more)
    assert answer.outcome in (SUPPORTED, NOT_SUPPORTED, DEPENDS)
    assert stated(answer.reasons) == ([] if reason is None else [reason])
    assert answer.level is (Level.HIGH if reason is None else Level.MODERATE)


def test_reasons_add_up_and_change_no_outcome():
    levels = []
    changes: dict[str, Any] = {}
    for more in ({}, {"nulls": [], "no_control": "A toy."}, {"wording": "recalled"},
                 {"steps": read_as(20), "readings": []}, {"pause": guess(1.0)}):  # fmt: skip
        changes |= more
        answer = ask(one_claim(**changes))
        levels.append((answer.outcome, answer.level))
    steps = (Level.HIGH, Level.MODERATE, Level.LOW, Level.VERY_LOW, Level.VERY_LOW)
    assert levels == [(SUPPORTED, level) for level in steps]


def test_smoke_judges_nothing():
    answer = ask(one_claim(), tier="smoke")
    assert (answer.outcome, stated(answer.reasons)) == (NOT_TESTED, [("smoke", {})])
