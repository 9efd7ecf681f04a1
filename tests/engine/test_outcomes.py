"""From runs to an answer, on small synthetic records: outcomes, nulls, readings, certainty."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factories import answers_of, falls_to, make_audit, make_record, make_records
from miniatures import aligns, claim, control
from reproaudit.audit.model import Audit
from reproaudit.cell import Cell
from reproaudit.judge import History
from reproaudit.judge.model import ClaimAnswer, Level, Outcome, Specificity
from reproaudit.records import Measurements, Record

OWN = 15


def one_claim(**changes: Any) -> Audit:
    """An audit of one claim with fifteen runs of its own."""
    arms = {"stays": control(0.8), "built": control(0.001), "low": control(0.03)}
    return make_audit(
        claims=[claim("mini", "one", main=True, **changes)],
        arms={**arms},
        runs={"quick": 5, "paper": OWN, "arms": 5},
        experiments={
            "descent": {
                "title": "It descends",
                "measurements": {
                    "distance": {"kind": "series", "unit": "1", "meaning": "How far it is."},
                    "final": {"kind": "scalar", "unit": "1", "meaning": "Where it ends."},
                },
            }
        },
        figures=[],
    )


def is_own(cell: Cell) -> bool:
    return cell.settings["level"] == 0.02


def judged(audit: Audit, of: Any = make_record, history: History | None = None) -> ClaimAnswer:
    return answers_of(audit, make_records(audit, of=of), history=history)["one"]


def with_yes(audit: Audit, count: int, order: list[int] | None = None) -> ClaimAnswer:
    """The answer where so many own runs say yes, the others end at 0.5."""
    own = sorted({one.seed for one in make_records(audit) if one.settings["level"] == 0.02})
    saying = (order or own)[:count]

    def of(cell: Cell) -> Record:
        level = 0.02 if cell.seed in saying else 0.5
        return make_record(cell, falls_to(level, cell.seed) if is_own(cell) else None)

    return judged(audit, of)


@pytest.mark.parametrize(
    ("count", "outcome"),
    [
        (15, Outcome.SUPPORTED),
        (13, Outcome.SUPPORTED),
        (12, Outcome.SUPPORTED),
        (11, Outcome.UNDECIDED),
        (4, Outcome.UNDECIDED),
        (3, Outcome.NOT_SUPPORTED),
        (0, Outcome.NOT_SUPPORTED),
    ],
)
def test_the_count_of_yes_runs_decides(count: int, outcome: Outcome) -> None:
    answer = with_yes(one_claim(), count)
    assert (answer.outcome, answer.base.yes, answer.base.n) == (outcome, count, OWN)


@pytest.mark.parametrize("count", [5, 4, 1, 0])
def test_five_runs_decide_only_if_they_agree(count: int) -> None:
    audit = one_claim().model_copy(update={"runs": make_audit(runs={"paper": 5}).runs})
    expected = {5: Outcome.SUPPORTED, 0: Outcome.NOT_SUPPORTED}
    assert with_yes(audit, count).outcome is expected.get(count, Outcome.UNDECIDED)


def test_outcomes_rise_with_the_number_of_yes_runs() -> None:
    order = [Outcome.NOT_SUPPORTED, Outcome.UNDECIDED, Outcome.SUPPORTED]
    ranks = [order.index(with_yes(one_claim(), count).outcome) for count in range(OWN + 1)]
    assert ranks == sorted(ranks)
    assert set(ranks) == {0, 1, 2}


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


def test_a_null_that_passes_leaves_the_claim_untested() -> None:
    answer = judged(one_claim(nulls=["low"]))
    assert answer.outcome is Outcome.NOT_TESTED
    assert [one.kind for one in answer.reasons] == ["null meets"]


def test_a_claim_without_enough_valid_runs_is_not_tested() -> None:
    kept = iter(range(10**6))
    answer = judged(
        one_claim(),
        lambda cell: make_record(cell) if not is_own(cell) or next(kept) < 4 else None,
    )
    assert answer.outcome is Outcome.NOT_TESTED


def test_without_its_null_a_claim_is_not_tested() -> None:
    answer = judged(
        one_claim(), lambda cell: None if cell.settings["level"] == 0.8 else make_record(cell)
    )
    assert answer.outcome is Outcome.NOT_TESTED


def test_a_bound_that_no_construction_meets_cannot_be_missed() -> None:
    ours = {"from": "ours", "why": "A two-thousandth."}
    audit = one_claim(headline=[{**aligns(0.0005), **ours}])
    answer = judged(audit)
    assert answer.outcome is Outcome.NOT_TESTED
    assert [one.kind for one in answer.reasons] == ["out of reach"]


def test_support_that_is_missed_makes_it_partly_supported() -> None:
    answer = judged(one_claim(support=[aligns(0.001)]))
    assert answer.outcome is Outcome.PARTLY_SUPPORTED
    assert judged(one_claim(support=[aligns(0.09)])).outcome is Outcome.SUPPORTED


def test_a_note_that_is_missed_changes_no_outcome() -> None:
    answer = judged(one_claim(notes=[aligns(0.001)]))
    assert answer.outcome is Outcome.SUPPORTED
    assert answer.notes[0].yes == 0


def test_smoke_decides_nothing() -> None:
    audit = one_claim()
    answer = answers_of(audit, make_records(audit, "smoke"), "smoke")["one"]
    assert answer.outcome is Outcome.NOT_TESTED


@pytest.mark.parametrize("tier", ["quick", "paper"])
def test_a_smaller_tier_lowers_certainty_and_keeps_the_outcome(tier: Any) -> None:
    audit = one_claim()
    answer = answers_of(audit, make_records(audit, tier), tier)["one"]
    assert answer.outcome is Outcome.SUPPORTED
    assert ("scale" in [one.kind for one in answer.reasons]) == (tier == "quick")


def test_history_changes_certainty_and_never_the_outcome() -> None:
    plain = judged(one_claim())
    for history in (
        History(committed=False),
        History(changed=frozenset({"mini.one"})),
        History(earlier=7),
    ):
        answer = judged(one_claim(), history=history)
        assert answer.outcome is plain.outcome
        levels = list(Level)
        assert answer.level is not None
        assert plain.level is not None
        assert levels.index(answer.level) >= levels.index(plain.level)


def test_an_ablation_says_what_the_effect_is_specific_to() -> None:
    answer = judged(one_claim(ablations=[{"arm": "stays", "lacks": "training"}]))
    assert [one.specificity for one in answer.ablations] == [Specificity.SPECIFIC]
    answer = judged(one_claim(ablations=[{"arm": "low", "lacks": "little"}]))
    assert [one.specificity for one in answer.ablations] == [Specificity.NOT_SPECIFIC]
    assert answer.outcome is Outcome.SUPPORTED


def guessed(alternatives: list[float], **changes: Any) -> Audit:
    guess = {
        "value": 0.02,
        "source": "assumption",
        "why": "About that.",
        "alternatives": alternatives,
    }
    audit = one_claim(**changes)
    return audit.model_copy(
        update={"settings": {**audit.settings, "level": make_audit(
            settings={**_plain_settings(), "level": guess}
        ).settings["level"]}}
    )  # fmt: skip


def _plain_settings() -> dict[str, Any]:
    from miniatures import setting

    return {"outcome": setting("completes"), "steps": setting(40), "pause": setting(0.0)}


def test_an_alternative_that_flips_changes_certainty_and_phrase_alone() -> None:
    steady, hanging = judged(guessed([0.03])), judged(guessed([0.5]))
    assert steady.outcome is hanging.outcome is Outcome.SUPPORTED
    assert [one.flips for one in steady.alternatives] == [False]
    assert [one.flips for one in hanging.alternatives] == [True]
    levels = list(Level)
    assert steady.level is not None
    assert hanging.level is not None
    assert levels.index(hanging.level) > levels.index(steady.level)


def test_runs_that_are_identical_count_once() -> None:
    answer = judged(
        one_claim(),
        lambda cell: make_record(cell, falls_to(0.02, 1) if is_own(cell) else None),
    )
    assert (answer.base.n, answer.base.same) == (1, OWN - 1)
    assert answer.outcome is Outcome.NOT_TESTED


@pytest.mark.parametrize("status", ["diverged", "failed"])
def test_one_odd_run_does_not_sink_fourteen(status: str) -> None:
    audit = one_claim()
    first = min(one.seed for one in make_records(audit) if one.settings["level"] == 0.02)
    answer = judged(
        audit,
        lambda cell: make_record(
            cell, status=status if is_own(cell) and cell.seed == first else "completed"
        ),
    )
    assert answer.outcome is Outcome.SUPPORTED
    assert answer.base.yes == OWN - 1


def test_a_huge_number_in_one_run_leaves_the_median_alone() -> None:
    audit = one_claim()
    first = min(one.seed for one in make_records(audit) if one.settings["level"] == 0.02)

    def of(cell: Cell) -> Record:
        if is_own(cell) and cell.seed == first:
            return make_record(cell, falls_to(2.78e120, cell.seed))
        return make_record(cell)

    answer = judged(audit, of)
    estimate = answer.base.estimates[0]
    assert estimate.median == pytest.approx(0.02, rel=0.2)
    assert estimate.worst is not None
    assert estimate.worst > 1e118
    assert answer.outcome is Outcome.SUPPORTED


def test_exact_claims_are_decided_by_one_run() -> None:
    audit = one_claim(exact=True)
    assert judged(audit).outcome is Outcome.SUPPORTED
    answer = judged(
        audit,
        lambda cell: make_record(cell, falls_to(0.5, 0)) if is_own(cell) else make_record(cell),
    )
    assert answer.outcome is Outcome.NOT_SUPPORTED
    assert answer.base.n == 1


def test_a_run_without_what_a_check_reads_is_void_or_failed() -> None:
    answer = judged(
        one_claim(), lambda cell: make_record(cell, Measurements() if is_own(cell) else None)
    )
    assert answer.outcome not in (Outcome.SUPPORTED, Outcome.NOT_SUPPORTED)
