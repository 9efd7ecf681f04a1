"""Each row says how many runs meet one bound, in one arm, and why it is not met."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from factories import STEPS, make_audit, make_record, make_records
from miniatures import aligns, audit_data, claim, control, setting
from reproaudit.audit.model import Audit, TierName
from reproaudit.audit.review import Reviews
from reproaudit.cell import Cell
from reproaudit.formats.scorecard import Made, Row, RowDecision, RowRole, Scorecard
from reproaudit.formats.verdict import Outcome
from reproaudit.judge import index_records, judge
from reproaudit.records import Measurements, Record, Series
from reproaudit.scorecard.answers import scorecard_of

LEVELS = [1, 2, 4]


def scorecard(audit: Audit, of: Callable[[Cell], Record | None] = make_record) -> Scorecard:
    """The scorecard of records that nobody had to train, with the quick tier's below."""
    records = index_records(make_records(audit, of=of))
    lower = index_records(make_records(audit, "quick", of))
    return card_of(audit, records, lower)


def card_of(audit: Audit, records: Any, lower: Any, tier: TierName = "paper") -> Scorecard:
    found = judge(audit, tier, records, None, lower)
    return scorecard_of(audit, Reviews(), tier, found, records, made=Made())


def one_claim(name: str = "shown", **changes: Any) -> Audit:
    """An audit with a single claim; of changes `audit` are to the audit."""
    more = changes.pop("audit", {})
    return make_audit(claims=[claim("mini", name, main=True, **changes)], **more)


def ends_at(*levels: float) -> Callable[[Cell], Record]:
    """Own runs whose distances end at levels, in turn; other arms at their own level."""

    turn = iter(itertools.cycle(levels))

    def measured(cell: Cell) -> Record:
        level = float(cell.settings["level"])  # type: ignore[arg-type]
        if level == 0.02:
            level = next(turn)
        values = np.linspace(1.0, level, len(STEPS))
        course = {"distance": Series(steps=STEPS, values=values)}
        return make_record(cell, Measurements(scalars={"final": level}, series=course))

    return measured


def rows(card: Scorecard, **fields: Any) -> list[Row]:
    """The rows whose fields are these."""
    return [
        row for row in card.rows if all(getattr(row, name) == at for name, at in fields.items())
    ]


# --- levels -------------------------------------------------------------------------------------


def graded(
    built: float = 0.01, primary: Sequence[int] = (1, 2), **changes: Any
) -> tuple[Audit, Callable[[Cell], Record]]:
    """A claim at three sizes: own runs miss the last; what is built ends there as it is told."""
    axis = {"name": "size", "values": LEVELS}
    declared = {"kind": "array", "axes": [axis], "unit": "1", "meaning": "How far each size is."}
    experiments = audit_data()["experiments"]
    experiments["descent"]["measurements"] = {"far": declared}
    headline = [{"kind": "aligns", "distance": "far", "at_most": 0.1, "from": "ours", "why": "So."}]
    grade = {"axis": "size", "symbol": "n", "easiest_first": LEVELS, "primary": [*primary]}
    audit = one_claim(headline=headline, grade=grade, audit={"experiments": experiments}, **changes)
    ends = {
        0.03: (0.3, 0.4, 0.5),
        0.02: (0.01, 0.05, 0.4),
        0.001: (0.0, 0.0, built),
        0.8: (0.8, 0.9, 1.0),
    }

    def measured(cell: Cell) -> Record:
        values = np.array(ends[float(cell.settings["level"])])  # type: ignore[arg-type]
        return make_record(cell, Measurements(arrays={"far": values}))

    return audit, measured


@pytest.mark.parametrize(
    ("built", "decision"), [(0.3, RowDecision.TELLS_NOTHING), (0.01, RowDecision.MISSED)]
)
def test_a_level_that_nothing_can_reach_tells_nothing(built: float, decision: RowDecision) -> None:
    card = scorecard(*graded(built))
    (row,) = rows(card, arm="own", at=4, role=RowRole.DECIDES)
    assert row.decision is decision
    assert (row.yes, row.n, row.primary) == (0, 6, False)
    assert ("built" in row.why) is (decision is RowDecision.TELLS_NOTHING)
    (reference,) = rows(card, arm="built", at=4)
    assert reference.typical == pytest.approx(built)
    (line,) = card.head.claims
    word = "no evidence at" if decision is RowDecision.TELLS_NOTHING else "not at"
    assert f"{word} n = 4" in line.text
    assert line.text.startswith("6 of 6")


# --- what is said beside, and stricter -----------------------------------------------------------


@pytest.mark.parametrize("role", ["support", "notes"])
def test_a_check_that_is_missed_beside_has_its_row_and_is_in_the_line(role: str) -> None:
    card = scorecard(one_claim(**{role: [aligns(0.002)]}))
    beside = RowRole.ALSO_SAID if role == "support" else RowRole.STRICTER
    (row,) = rows(card, role=beside)
    assert (row.decision, row.yes, row.n) == (RowDecision.MISSED, 0, 6)
    (line,) = card.head.claims
    assert "0 of 6" in line.text.partition(";")[2]
    assert line.outcome is (Outcome.PARTLY_SUPPORTED if role == "support" else Outcome.SUPPORTED)


# --- counts --------------------------------------------------------------------------------------


def test_runs_that_cannot_be_read_stand_apart() -> None:
    """The reference has a run beside two of six seeds."""
    note = {**aligns(0.5), "distance": {"measurement": "distance", "arm": "low"}}
    references: list[int] = []

    def measured(cell: Cell) -> Record | None:
        if cell.settings["level"] == 0.03:
            references.append(cell.seed)
        return make_record(cell) if len(references) <= 2 or cell.seed not in references else None

    card = scorecard(one_claim(notes=[note]), measured)
    (row,) = rows(card, role=RowRole.STRICTER)
    assert (row.yes, row.n, row.void) == (2, 2, 3)
    assert row.count == "2 of 2; in 3 more it cannot be read"
    assert row.decision is RowDecision.OPEN
    (line,) = card.head.claims
    assert line.text == "6 of 6", "what is met wherever it can be read is no exception"


@pytest.mark.parametrize("role", ["support", "notes"])
def test_runs_beside_which_none_was_planned_are_not_void(role: str) -> None:
    """The reference is planned beside five of six seeds."""
    check = {**aligns(0.5), "distance": {"measurement": "distance", "arm": "low"}}
    card = scorecard(one_claim(**{role: [check]}))
    (row,) = [row for row in card.rows if row.role is not RowRole.DECIDES]
    assert (row.yes, row.n, row.void) == (5, 5, 0)
    assert row.count == "5 of 5"
    assert row.decision is RowDecision.OPEN, "as the judge has it"
    assert row.why.count("of 6") == 1
    assert row.why.endswith("ran in 5 of 6")
    (line,) = card.head.claims
    assert line.text == "6 of 6", "what was planned in fewer runs is no exception"


def test_an_arm_without_a_part_is_called_so_at_every_coordinate() -> None:
    audit, measured = graded(ablations=[{"arm": "low", "lacks": "noise"}])
    without = rows(scorecard(audit, measured), arm="low")
    assert {row.at for row in without} == set(LEVELS)
    assert {row.arm_words for row in without} == {"without noise"}


def test_a_diverged_run_says_no_and_a_crashed_one_stands_apart() -> None:
    audit = one_claim()
    own: list[int] = []

    def measured(cell: Cell) -> Record:
        if cell.settings["level"] != 0.02:
            return make_record(cell)
        own.append(cell.seed)
        status = {1: "diverged", 2: "failed"}.get(len(own), "completed")
        return make_record(cell, status=status)

    records = index_records(make_records(audit, of=measured))
    (row,) = rows(card_of(audit, records, None), arm="own")
    assert (row.yes, row.n, row.diverged, row.crashed, row.void) == (4, 5, 1, 1, 0)


def test_a_median_that_hides_far_runs_names_them() -> None:
    card = scorecard(one_claim(), ends_at(0.02, 0.03, 0.01, 0.7, 0.02, 0.4))
    (row,) = rows(card, arm="own")
    assert (row.yes, row.n) == (4, 6)
    assert row.far == pytest.approx((0.7, 0.4))
    assert "but 0.70 and 0.40 in 2 of 6" in row.says


def test_a_mean_is_said_with_its_interval_and_the_runs_inside() -> None:
    equal = {"kind": "equals", "value": "final", "to": 0.02, "within": 0.01, "from": "paper"}
    card = scorecard(one_claim(headline=[equal]), ends_at(0.02, 0.021, 0.019, 0.02, 0.031, 0.02))
    (row,) = rows(card, arm="own")
    assert row.decision is RowDecision.MET
    assert (row.yes, row.n) == (row.all_yes, row.all_n) == (5, 6)
    (line,) = card.head.claims
    assert row.mean is not None
    assert "on average [" in line.text
    assert line.text.endswith("5 of 6 inside (0.0200 ± 0.01 allowed)")


def test_a_single_run_decides_where_the_answer_is_exact() -> None:
    equal = {"kind": "equals", "value": "final", "to": 0.02, "within": 0.01, "from": "paper"}
    card = scorecard(one_claim(headline=[equal], exact=True), ends_at(0.02))
    (own,) = rows(card, arm="own")
    control = next(row for row in card.rows if row.arm == "stays")
    assert (own.decision, own.yes, own.n) == (RowDecision.MET, 1, 1)
    assert (control.decision, control.yes, control.n) == (RowDecision.MISSED, 0, 1)
    assert not any(row.why for row in card.rows)


# --- arms ----------------------------------------------------------------------------------------


def test_a_control_that_passes_a_bound_says_what_it_fails_on() -> None:
    small = {"kind": "reaches", "value": "final", "at_most": 1.0, "from": "paper"}
    card = scorecard(one_claim(headline=[aligns(0.1), small]))
    passed, missed = (row for row in rows(card, arm="stays") if row.role is RowRole.DECIDES)
    if passed.condition == "aligns":
        passed, missed = missed, passed
    assert passed.decision is RowDecision.MET
    assert passed.why == f"meets this; fails on {missed.noun}"


def test_controls_stand_beside_the_reading_whose_settings_they_share() -> None:
    readings = [{"value": 20, "source": "authors_code", "locator": "Line 1"}]
    settings = {**audit_data()["settings"], "steps": setting(40, readings=readings)}
    elsewhere = {**control(0.8), "experiment": "guessed"}
    arms = {**audit_data()["arms"], "elsewhere": elsewhere}
    audit = one_claim(
        readings=["steps"], nulls=["stays", "elsewhere"], audit={"settings": settings, "arms": arms}
    )

    def measured(cell: Cell) -> Record | None:
        built_there = cell.settings["level"] == 0.001 and cell.settings["steps"] == 20
        return None if built_there else make_record(cell)

    card = scorecard(audit, measured)
    beside = {(row.arm, row.beside) for row in card.rows if row.arm_role.value != "alternative"}
    assert ("built", "own") in beside
    assert ("built", "steps=20") not in beside
    assert ("elsewhere", None) in beside
    (other,) = rows(card, arm="elsewhere")
    assert "It descends from a guess" in other.arm_words


def test_what_a_control_makes_blind_tells_nothing() -> None:
    card = scorecard(one_claim(nulls=["low"]))
    (own,) = rows(card, arm="own")
    assert own.decision is RowDecision.TELLS_NOTHING
    assert own.why == "the control (low) passes, too, in 5 of 5"
    (line,) = card.head.claims
    assert line.text == "6 of 6, and 5 of 5 with low"


def test_the_manual_names_every_field_of_a_row() -> None:
    text = (Path(__file__).parents[2] / "docs" / "answers.md").read_text(encoding="utf-8")
    named = {*re.findall(r"`(\w+)`", text.partition("## scorecard.json")[2])}
    assert not Row.model_fields.keys() - named
