"""From runs to an answer, on small synthetic records: outcomes, nulls, readings, certainty."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factories import answers_of, falls_to, make_audit, make_record, make_records, stated
from miniatures import aligns, claim, control, setting
from reproaudit.audit.model import Audit
from reproaudit.audit.plan import Role
from reproaudit.cell import Cell
from reproaudit.judge import History
from reproaudit.records import Measurements, Origin, Record, Series
from reproaudit.stats.binomial import Decision
from reproaudit.verdict import ClaimAnswer, Outcome, Specificity, Status, Varied

OWN, FEW = 15, {"own": 5}
YES, NO = 0.02, 0.5
PASSES = {"arm": "stays"}
MET, MISSED, OPEN = Decision.MET, Decision.MISSED, Decision.OPEN


MEASURED = {
    "distance": {"kind": "series", "unit": "1", "meaning": "How far it is."},
    "loss": {"kind": "series", "unit": "1", "meaning": "What is trained."},
    "final": {"kind": "scalar", "unit": "1", "meaning": "Where it ends."},
    "by_size": {
        "kind": "array",
        "axes": [{"name": "size", "values": [1, 2]}],
        "unit": "1",
        "meaning": "How far it is, by size.",
    },
}


def one_claim(
    own: int = OWN, level: Any = None, arms: Any = None, steps: Any = None, **changes: Any
) -> Audit:
    """An audit of one claim with fifteen runs of its own."""
    plain = {"outcome": setting("completes"), "steps": steps or setting(40), "pause": setting(0.0)}
    return make_audit(
        claims=[claim("mini", "one", main=True, **changes)],
        arms={"stays": control(0.8), "built": control(0.001), "low": control(0.03), **(arms or {})},
        runs={"quick": 5, "paper": own, "arms": 5},
        settings={**plain, "level": level or setting(0.02)},
        experiments={
            "descent": {"title": "It descends", "measurements": MEASURED, "training_loss": "loss"}
        },
    )


def told(audit: Audit, ends: Any, by: str = "level", **more: Any) -> ClaimAnswer:
    """The answer where the runs of a level end so, by seed; else each ends at its level.

    A tuple ends so by size, a pair of numbers in a list so at the start and at the end of training;
    text is a status, None no record.
    """
    places: Counter[Any] = Counter()

    def of(cell: Cell) -> Record | None:
        place = cell.settings[by]
        rows = ends.get(place, [place] * OWN)
        row = rows[places[place]] if places[place] < len(rows) else None
        places[place] += 1
        if row is None or isinstance(row, str):
            return None if row is None else make_record(cell, status=row)
        if isinstance(row, Measurements):
            return make_record(cell, row)
        end = row if isinstance(row, float) else cell.settings["level"]
        loss = row if isinstance(row, list) else [1.0, 1.0]
        sizes = row if isinstance(row, tuple) else (end, end)
        measured = Measurements(
            scalars={"final": float(cell.seed)},
            series={
                "distance": Series(steps=(0, 10), values=[1.0, end]),
                "loss": Series(steps=(0, 10), values=loss),
            },
            arrays={"by_size": sizes},
        )
        return make_record(cell, measured)

    return answers_of(audit, make_records(audit, of=of), **more)["one"]


@settings(max_examples=20, deadline=None)
@given(st.integers(0, OWN), st.randoms(use_true_random=False))
def test_the_order_of_runs_and_records_changes_nothing(count: int, rng: random.Random) -> None:
    audit = one_claim()
    records = make_records(
        audit,
        of=lambda cell: make_record(
            cell, falls_to(0.5 if cell.seed % 3 == count % 3 else 0.02, cell.seed)
        ),
    )
    shuffled = rng.sample(records, len(records))
    assert answers_of(audit, shuffled) == answers_of(audit, records)


@pytest.mark.parametrize("tier", ["smoke", "quick", "paper"])
def test_history_and_a_smaller_tier_change_certainty_alone(tier: Any) -> None:
    audit = one_claim()
    records = make_records(audit, tier)
    outcome = Outcome.NOT_TESTED if tier == "smoke" else Outcome.SUPPORTED
    for history, reason in (
        (History(earlier=7), []),
        (History(committed=False), ["rule"]),
        (History(changed=frozenset({"mini.one"})), ["rule"]),
    ):
        answer = answers_of(audit, records, tier, history)["one"]
        assert answer.outcome is outcome
        if tier != "smoke":
            reasons = [one.kind for one in answer.reasons]
            assert sorted(reasons) == reason + ["runs", "scale"] * (tier == "quick")


def guessed(alternatives: list[float], **changes: Any) -> Audit:
    guess = {"value": 0.02, "source": "assumption", "why": "About that."}
    return one_claim(level={**guess, "alternatives": alternatives}, **changes)


@pytest.mark.parametrize("source", ["derived", "paper", "assumption"])
def test_a_definition_costs_no_certainty_as_a_guess_does(source: str) -> None:
    """The claim rests on the setting either way; only a guess may have been another value."""
    level: dict[str, Any] = {"value": 0.02, "source": source, "locator": "section 2"}
    if source == "assumption":
        level = {"value": 0.02, "source": source, "why": "About that.", "alternatives": [0.03]}
    audit = one_claim(level=level)
    answer = answers_of(audit, make_records(audit, alternatives=False))["one"]
    assert answer.outcome is Outcome.SUPPORTED
    guessed = source == "assumption"
    assert [one.kind for one in answer.reasons] == ["guess not varied"] * guessed


def test_a_huge_number_in_one_run_leaves_the_median_alone() -> None:
    answer = told(one_claim(), {YES: [YES] * 14 + [2.78e120]})
    (estimate,) = answer.base.estimates
    assert (estimate.median, estimate.worst, answer.outcome) == (YES, 2.78e120, Outcome.SUPPORTED)


# --- each branch of an outcome, at its threshold --------------------------------------------------

BEATS = {"kind": "beats", "lower": "distance", "upper": "distance@first", "from": "paper"}
UNMEASURED = [Measurements(scalars={"final": float(seed)}) for seed in range(OWN)]
NEAR = {**aligns(0.1), "distance": "by_size"}


def reached(at_most: float, origin: str = "ours", measurement: str = "distance") -> dict[str, Any]:
    why = {"why": "It is enough."} if origin == "ours" else {}
    return {**aligns(at_most), "distance": measurement, "from": origin, **why}


def two_readings(*values: float, **changes: Any) -> Audit:
    read = [{"value": v, "source": "authors_code", "locator": "Line 1", **changes} for v in values]
    return one_claim(level=setting(0.02, readings=read), readings=["level"])


@pytest.mark.parametrize(
    ("changes", "ends", "outcome", "reasons"),
    [
        ({}, {YES: [YES] * 14 + ["failed"]}, Outcome.SUPPORTED, []),
        ({}, {YES: [YES] * 12 + ["failed"] * 3}, Outcome.SUPPORTED,
         [("runs", {"runs": 3})]),
        ({}, {YES: [YES] * 11 + ["failed"] * 4}, Outcome.FAILED, [("crashed", {"runs": 4})]),
        ({}, {YES: [YES] * 14 + ["diverged"]}, Outcome.SUPPORTED, []),
        ({}, {YES: UNMEASURED}, Outcome.FAILED, [("crashed", {"runs": 15})]),
        ({"exact": True}, {}, Outcome.SUPPORTED, []),
        ({"exact": True}, {YES: [NO]}, Outcome.NOT_SUPPORTED, []),
        ({"exact": True}, {YES: ["failed"]}, Outcome.FAILED, [("crashed", {"runs": 1})]),
        ({}, {0.8: [NO] * 4}, Outcome.NOT_TESTED,
         [("null unfinished", {"arm": "stays", "runs": 1})]),
        ({}, {0.8: [NO, NO, NO, NO, YES]}, Outcome.SUPPORTED, [("weak null", {"arm": "stays"})]),
        ({}, {0.8: [NO, NO, NO, NO, YES], YES: [NO] * 15}, Outcome.NOT_SUPPORTED, []),
        ({}, {0.8: [YES] * 5}, Outcome.NOT_TESTED, [("null meets", PASSES)]),
        ({}, {YES: [YES] * 4}, Outcome.NOT_TESTED, [("too few", {"runs": 1})]),
        ({"exact": True}, {YES: []}, Outcome.NOT_TESTED, [("too few", {"runs": 1})]),
        (FEW, {YES: [YES] * 4 + ["diverged"]}, Outcome.UNDECIDED,
         [("few runs", {})]),
        (FEW, {YES: [YES] * 4 + [NO]}, Outcome.UNDECIDED,
         [("straddles", {"place": 0})]),
        ({**FEW, "headline": [aligns(0.9), reached(0.1)]}, {YES: [YES] * 4 + [NO]},
         Outcome.UNDECIDED, [("straddles", {"place": 1})]),
    ],
)  # fmt: skip
def test_why_there_is_an_outcome_or_none(
    changes: Any, ends: Any, outcome: Outcome, reasons: list[Any]
) -> None:
    answer = told(one_claim(**changes), ends)
    assert (answer.outcome, stated(answer.reasons)) == (outcome, reasons)
    assert (answer.level is None) == (outcome not in (Outcome.SUPPORTED, Outcome.NOT_SUPPORTED))


@pytest.mark.parametrize(
    ("headline", "ends", "out"),
    [
        ([reached(0.0005)], {}, 0.0005),
        ([reached(0.0005, "derived")], {}, 0.0005),
        ([reached(0.0005, "paper")], {}, None),
        ([reached(0.001)], {}, None),  # the construction meets it
        ([reached(0.0005)], {0.001: []}, None),
        ([reached(0.0005)], {YES: [0.0004] * 15}, None),
        ([reached(0.01), reached(0.0005)], {}, 0.0005),
        ([reached(0.0005), reached(0.1)], {YES: [0.0005] * 3 + [NO] * 12, 0.001: [0.02] * 5},
         0.0005),
        ([reached(0.03), reached(0.02, measurement="by_size")],
         {YES: [(0.5, 0.5)] * 15, 0.001: [0.025] * 5}, 0.02),
        ([reached(0.02), reached(0.01)], {0.001: [0.025] * 5}, 0.01),
    ],
)  # fmt: skip
def test_what_no_construction_reaches_is_no_test(
    headline: Any, ends: Any, out: float | None
) -> None:
    answer = told(one_claim(headline=headline), ends)
    places = [one.place for one in answer.reasons if one.kind == "out of reach"]
    found = [answer.base.estimates[place].limit.at for place in places]
    assert found == ([] if out is None else [out])
    assert (answer.outcome is Outcome.NOT_TESTED) == (out is not None)


@pytest.mark.parametrize(
    ("own", "read", "outcome", "decision"),
    [
        (YES, [YES] * 15, Outcome.SUPPORTED, MET),
        (YES, [NO] * 15, Outcome.PARTLY_SUPPORTED, MISSED),
        (YES, [NO] * 7 + [YES] * 8, Outcome.SUPPORTED, OPEN),
        (YES, [], Outcome.SUPPORTED, OPEN),
        (NO, [NO] * 15, Outcome.NOT_SUPPORTED, MISSED),
        (NO, [YES] * 15, Outcome.PARTLY_SUPPORTED, MET),
    ],
)
def test_a_reading_may_reverse(
    own: float, read: list[float], outcome: Outcome, decision: Decision
) -> None:
    answer = told(two_readings(0.04), {YES: [own] * 15, 0.04: read})
    assert (answer.outcome, [one.decision for one in answer.readings]) == (outcome, [decision])


def test_a_reading_is_the_claims_own_where_no_other_ran() -> None:
    answer = told(two_readings(0.04, 0.05), {YES: []})
    assert (answer.base.role, answer.base.varied) == (Role.READING, level(0.04))
    assert [one.varied for one in answer.readings] == [level(0.02), level(0.05)]
    assert told(two_readings(0.04), {YES: [], 0.04: []}).base.name == "own"


def level(value: float) -> Varied:
    return Varied(setting="level", value=value)


@pytest.mark.parametrize(
    ("primary", "rows", "outcome", "graded"),
    [
        ([1], [(YES, NO)] * 15, Outcome.SUPPORTED, [(MET, 15), (MISSED, 0)]),
        ([1, 2], [(YES, NO)] * 15, Outcome.PARTLY_SUPPORTED, [(MET, 15), (MISSED, 0)]),
        ([2], [(YES, NO)] * 15, Outcome.NOT_SUPPORTED, [(MET, 15), (MISSED, 0)]),
        ([1, 2], [(YES, YES)] * 15, Outcome.SUPPORTED, [(MET, 15), (MET, 15)]),
        ([1, 2], [(YES, NO)] * 8 + [(YES, YES)] * 7, Outcome.PARTLY_SUPPORTED,
         [(MET, 15), (OPEN, 7)]),
        ([1, 2], [(YES, NO)] * 8 + [(NO, NO)] * 7, Outcome.NOT_SUPPORTED, [(OPEN, 8), (MISSED, 0)]),
        ([1, 2], [(YES, NO)] * 7 + [(NO, YES)] * 8, Outcome.UNDECIDED, [(OPEN, 7), (OPEN, 8)]),
    ],
)  # fmt: skip
def test_a_graded_claim_is_decided_where_it_is_primary(
    primary: list[int], rows: Any, outcome: Outcome, graded: list[Any]
) -> None:
    # nothing is measured at 3, as at a tier with fewer coordinates
    grade = {"axis": "size", "symbol": "n", "easiest_first": [1, 2, 3], "primary": primary}
    answer = told(one_claim(grade=grade, headline=[NEAR]), {YES: rows})
    found = [(one.decision, one.yes) for one in answer.grades]
    assert (answer.outcome, found) == (outcome, graded)
    assert answer.base.yes == sum(all(row[at - 1] == YES for at in primary) for row in rows)
    assert [one.at for one in answer.grades] == [1, 2]


@pytest.mark.parametrize(
    ("null", "decision", "weak"),
    [
        ([0.5] * 15, MET, False),
        ([0.01] * 15, MISSED, False),
        ([YES] * 15, OPEN, False),  # every run ties
        ([1.5] * 15, MET, False),
        ([1.5] * 8 + [0.5] * 7, MET, False),
        ([1.5] * 8 + [0.01] * 7, OPEN, True),  # a null that decides nothing
    ],
)
def test_a_contrast_must_beat_the_nulls(null: list[float], decision: Decision, weak: bool) -> None:
    answer = told(one_claim(headline=[BEATS]), {0.8: null})
    assert (answer.base.decision, answer.nulls[0].weak) == (decision, weak)


def test_a_check_of_support_that_is_missed_leaves_a_part() -> None:
    support = [aligns(0.1), aligns(0.001), aligns(0.02)]
    audit = one_claim(support=support, notes=[aligns(0.001)], **FEW)
    answer = told(audit, {YES: [YES] * 4 + [0.03]})
    found = [(one.decision, one.yes, one.n) for one in answer.support]
    assert found == [(MET, 5, 5), (MISSED, 0, 5), (OPEN, 4, 5)]
    assert (answer.outcome, answer.notes[0].yes) == (Outcome.PARTLY_SUPPORTED, 0)
    missed_note: Any = {"support": [aligns(0.02)], "notes": [aligns(0.001)]}
    only_open = told(one_claim(**missed_note, **FEW), {YES: [YES] * 4 + [0.03]})
    assert only_open.outcome is Outcome.SUPPORTED


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
        ([aligns(0.1), {**BEATS, "by": 1.5,
                        "upper": {"measurement": "distance", "step": "first", "arm": "low"}}],
         [NO] * 5, (1,)),
    ],
)  # fmt: skip
def test_a_condition_that_no_null_misses_cannot_fail(
    headline: Any, null: Any, places: tuple[int, ...]
) -> None:
    assert told(one_claim(headline=headline), {0.8: null}).cannot_fail == places


@pytest.mark.parametrize(
    ("headline", "ends", "specificity", "effects"),
    [
        ([aligns(0.1)], [NO] * 5, Specificity.SPECIFIC, None),
        ([aligns(0.1)], [NO, YES, YES, YES, YES], Specificity.OPEN, None),
        ([aligns(0.1)], [YES] * 5, Specificity.NOT_SPECIFIC, None),
        ([BEATS], [0.2] * 5, Specificity.SMALLER, (5, 64)),
        ([BEATS], [0.125] * 5, Specificity.NOT_SPECIFIC, (8, 64)),  # half, on a log scale
        ([BEATS], [2.0] * 5, Specificity.SPECIFIC, (0.5, 64)),
    ],
)
def test_an_ablation_is_smaller_below_half_the_effect(
    headline: Any, ends: Any, specificity: Specificity, effects: Any
) -> None:
    audit = one_claim(headline=headline, ablations=[{"arm": "low", "lacks": "B"}])
    answer = told(audit, {YES: [1 / 64] * 15, 0.03: ends})
    (found,) = answer.ablations
    both = (found.effect, answer.base.effect)
    assert (found.specificity, None if None in both else both) == (specificity, effects)


@pytest.mark.parametrize(
    ("own", "other", "flips", "opens"),
    [
        ([YES] * 15, [YES] * 3 + [NO] * 2, False, True),
        ([YES] * 15, [YES] * 2 + [NO] * 3, True, False),
        ([NO] * 15, [YES] * 2 + [NO] * 3, False, True),
        ([NO] * 15, [YES] * 3 + [NO] * 2, True, False),
        ([YES] * 15, [NO] * 4, False, False),  # too few to open anything
        ([YES] * 8 + [NO] * 7, [YES] * 3 + [NO] * 2, False, False),
    ],
)
def test_an_alternative_flips_where_chance_would_not(
    own: list[float], other: list[float], flips: bool, opens: bool
) -> None:
    answer = told(guessed([0.04]), {YES: own, 0.04: other})
    (found,) = answer.alternatives
    assert (found.flips, found.opens, found.unfinished) == (flips, opens, False)
    assert answer.outcome is told(one_claim(), {YES: own}).outcome  # an alternative changes none


@pytest.mark.parametrize(
    ("own", "other", "unfinished"),
    [
        ([1.0, 0.25], [1.0, 0.5], False),  # half of the fall
        ([1.0, 0.25], [1.0, 0.51], True),
        ([1.0, 1.0], [1.0, 2.0], False),
        ([1.0, 0.5], [1.0, 0.0], False),
        ([1.0, -0.5], [1.0, 1.0], False),
    ],
)
def test_an_alternative_that_hardly_trained_answers_nothing(
    own: list[float], other: list[float], unfinished: bool
) -> None:
    (found,) = told(guessed([0.5]), {YES: [own] * 15, 0.5: [other] * 5}).alternatives
    assert (found.unfinished, found.flips) == (unfinished, not unfinished)


def test_alternatives_may_have_run_at_the_quick_tier() -> None:
    audit = guessed([0.5])
    quick = make_records(audit, "quick")
    found = told(audit, {0.5: []}, lower=quick).alternatives
    assert [(one.tier, one.flips, one.n) for one in found] == [("quick", True, 5)]
    mixed = make_records(
        audit, "quick", lambda c: make_record(c, falls_to(YES if c.seed < 3 else NO, c.seed))
    )
    found = told(audit, {YES: [YES] * 15, 0.5: []}, lower=mixed).alternatives
    assert not found, "the quick tier's own runs answer otherwise"


# --- runs that count, and those that do not -------------------------------------------------------


def mean_of(**check: Any) -> dict[str, Any]:
    return {"kind": "reaches", "value": "distance", "standard": "mean", "from": "paper", **check}


EQUALS = {"kind": "equals", "within": 99.0}
SPREAD, SIGNED = [1.0, 1.0, 1.0, 1.0, 16.0], [-1.0, 1.0, 1.0, 1.0, 16.0]
MEASURED_ONCE = falls_to(0.02, 1)


@pytest.mark.parametrize(
    ("check", "ends", "mean"),
    [
        (mean_of(at_most=9), SPREAD, 16**0.2),
        (mean_of(at_most=9, log=False), SPREAD, 4),
        (mean_of(at_most=9), SIGNED, 3.6),
        (mean_of(at_most=9), [0.0, *SPREAD[1:]], 3.8),
        (mean_of(**EQUALS, to=3.0), SPREAD, 16**0.2),
        (mean_of(**EQUALS, to="distance@first"), [n + 1 for n in SPREAD], 4),
        (mean_of(**EQUALS, to="distance@first", log=True), [n + 1 for n in SPREAD], 16**0.2),
    ],
)  # fmt: skip
def test_a_mean_is_of_logarithms_where_numbers_are_positive(
    check: Any, ends: Any, mean: float
) -> None:
    audit = one_claim(headline=[check], nulls=[], constructed=None, **FEW)
    (estimate,) = told(audit, {YES: ends}).base.estimates
    assert estimate.mean is not None
    assert estimate.mean[0] == pytest.approx(mean)


@pytest.mark.parametrize(
    ("headline", "ends", "decision", "yes"),
    [
        ([mean_of(at_most=5)], [1.0, 1.1, 1.2, 1.3, 1.4], MET, 5),
        ([mean_of(at_most=1.25)], [1.0, 1.1, 1.2, 1.3, 1.4], OPEN, 3),
        ([mean_of(at_most=1)], [1.0, 1.1, 1.2, 1.3, 1.4], MISSED, 1),
        ([mean_of(at_most=5)], [1.0, 1.1, 1.2, 1.3, "diverged"], OPEN, 4),
        ([mean_of(at_most=5, relative_to="final")],
         [*(Measurements(scalars={"final": one}, series=MEASURED_ONCE.series)
            for one in (0.0, 1.0, 2.0, 3.0, 4.0))], OPEN, 4),
        ([mean_of(at_most=1), aligns(5)], [1.0, 1.1, 1.2, 1.3, 1.4], MISSED, 5),
        ([mean_of(at_most=5), aligns(5)], [1.0, 1.1, 1.2, 1.3, 1.4], MET, 5),
        ([mean_of(at_most=5), aligns(1)], [1.0, 1.1, 1.2, 1.3, 1.4], OPEN, 1),
    ],
)  # fmt: skip
def test_the_mean_decides_where_an_audit_says_so(
    headline: Any, ends: Any, decision: Decision, yes: int
) -> None:
    base = told(one_claim(headline=headline, **FEW), {YES: ends}).base
    assert (base.decision, base.yes) == (decision, yes)


def test_the_typical_number_is_the_median_of_the_runs() -> None:
    base = told(one_claim(headline=[aligns(9)]), {YES: [4.0, 1.0, 3.0, 2.0]}).base
    assert sorted(base.estimates[0].numbers) == [1, 2, 3, 4]
    assert (base.estimates[0].decision, base.estimates[0].median) == (None, 2.5)


@pytest.mark.parametrize(
    ("bound", "void"), [({"at_least": 1}, 0), ({"above": 1}, 5), ({"at_most": 0.9}, 5)]
)
def test_a_run_that_does_not_start_as_it_must_is_void(bound: dict[str, float], void: int) -> None:
    holds = [{"value": "distance", "from": "paper", **bound}]
    answer = told(one_claim(arms={"stays": {**control(0.8), "holds_at_start": holds}}), {})
    assert (answer.nulls[0].void, answer.nulls[0].n) == (void, 5 - void)


def test_a_run_that_diverges_says_no_for_the_claim_and_is_void_beside_it() -> None:
    audit = two_readings(0.04)
    everywhere = {level: ["diverged"] for level in (YES, 0.04, 0.8, 0.001)}
    answer = told(audit, everywhere)
    assert [one.n for one in (answer.base, *answer.readings)] == [1, 1]
    assert answer.constructed is not None
    assert [one.void for one in (*answer.nulls, answer.constructed)] == [1, 1]
    found = told(guessed([0.04]), {0.04: ["diverged"]})
    assert [one.n for one in found.alternatives] == [1]


def test_a_run_without_its_partner_counts_for_nothing() -> None:
    check = {**BEATS, "upper": {"measurement": "distance", "arm": "low"}}
    base = told(one_claim(headline=[check]), {0.03: [None, *[NO] * 9]}).base
    assert [one.status for one in base.runs].count(Status.UNPAIRED) == 6
    assert (base.n, base.yes, base.decision) == (9, 9, MET)


def test_what_is_the_same_whatever_the_seed_needs_one_run_but_for_the_claim() -> None:
    same = [falls_to(0.8, 1)] * 5
    answer = told(one_claim(), {0.8: same})
    assert (answer.nulls[0].decision, answer.nulls[0].n, answer.nulls[0].same) == (
        MISSED, 1, 4
    )  # fmt: skip
    assert told(one_claim(), {0.8: same[:1]}).nulls[0].decision is OPEN
    assert told(one_claim(), {YES: [MEASURED_ONCE] * 5}).base.decision is OPEN
    assert told(one_claim(), {YES: [YES] * 13 + [MEASURED_ONCE] * 2}).base.same == 1


def test_runs_differ_by_any_number() -> None:
    series = {"distance": Series(steps=(0, 1), values=[1.0, 0.0])}
    later = {"distance": Series(steps=(0, 2), values=[1.0, 0.0])}
    lower = {"distance": Series(steps=(0, 1), values=[1.0, 0.01])}
    arrays, other = {"by_size": (1.0, 2.0)}, {"by_size": (1.0, 3.0)}
    runs: list[Any] = [
        Measurements(series=series),
        Measurements(series=later),
        Measurements(series=lower),
        Measurements(series={**series, "loss": series["distance"]}),
        Measurements(series=series, scalars={"final": 1.0}),
        Measurements(series=series, scalars={"final": 2.0}),
        Measurements(series=series, arrays=arrays),
        Measurements(series=series, arrays=other),
    ]
    base = told(one_claim(), {YES: [*runs, *runs[:4], "failed", "failed"]}).base
    assert (base.same, base.yes, base.n) == (4, 8, 10)


def test_arms_that_are_compared_share_a_readings_settings() -> None:
    check = {**BEATS, "upper": {"measurement": "distance", "arm": "stays"}}
    read = [{"value": 20, "source": "authors_code", "locator": "Line 1"}]
    steps = setting(40, readings=read)
    audit = one_claim(headline=[check], readings=["steps"], nulls=["low"], steps=steps)
    records = make_records(audit)
    under = [
        make_record(Cell("mini", "paper", "descent", {**one.settings, "steps": 20}, one.seed),
                    falls_to(0.001, one.seed))
        for one in records if one.settings["level"] == 0.8
    ]  # fmt: skip
    for every, yes in ((records, 15), ([*records, *under], 0)):
        assert answers_of(audit, every)["one"].readings[0].yes == yes


@pytest.mark.parametrize(("level", "reasons"), [(YES, 2), (0.8, 2), (0.001, 0)])
def test_what_stood_in_and_who_measured_are_reasons(level: float, reasons: int) -> None:
    who = {"who": "Ada", "source": "A log.", "framework": "NumPy", "made": "2026-01-01"}
    more = {"proxy": "toys", "origin": Origin.model_validate(who)}

    def of(cell: Cell) -> Record:
        return make_record(cell, **(more if cell.settings["level"] == level else {}))

    audit = one_claim()
    answer = answers_of(audit, make_records(audit, of=of))["one"]
    why = [("proxy", {"what": "toys"}), ("origin", {"what": "Ada"})]
    assert stated(answer.reasons) == why[:reasons]
