"""A claim's own settings: all its arms run under them, and no other value of these is run."""

from typing import Any

import pytest

from factories import answers_of, card_of, falls_to, make_audit, make_record, make_records
from miniatures import audit_data, claim, setting
from reproaudit.audit.arms import alternatives_of, arms_of, left_out_readings
from reproaudit.audit.model import Audit
from reproaudit.audit.plan import cells_of_tier
from reproaudit.audit.seeds import rule
from reproaudit.cell import Cell
from reproaudit.checks import plain
from reproaudit.formats.verdict import Outcome, ReasonKind
from reproaudit.records import Record
from reproaudit.report.making import settings

READ = {"value": 0.03, "source": "authors_code", "locator": "train.py"}
GUESS = {"source": "assumption", "why": "Small.", "alternatives": [2.0]}


def audit_with(own: dict[str, Any], **changes: Any) -> Audit:
    """The audit in miniature with one claim that has settings of its own."""
    data = audit_data()
    data["settings"]["level"] = setting(0.02, readings=[READ])
    data["settings"]["pause"] = {"value": 1.0, **GUESS}
    data["experiments"]["other"] = {**data["experiments"]["descent"], "title": "Another"}
    data["experiments"]["other"]["settings"] = {"width": setting(8)}
    written = claim("mini", "own", main=True, settings=own, **changes)
    return make_audit(**{**data, "claims": [written]})


def overrides(audit: Audit) -> dict[str, dict[str, Any]]:
    return {arm.name: dict(arm.overrides) for arm in arms_of(audit, audit.claims[0])}


def test_all_arms_run_under_them_but_what_an_arm_sets_itself():
    audit = audit_with({"level": 0.5, "steps": 20}, readings=["level"])
    assert overrides(audit) == {
        "own": {"level": 0.5, "steps": 20},
        "stays": {"level": 0.8, "steps": 20},
        "built": {"level": 0.001, "steps": 20},
    }


def test_a_reading_of_another_setting_runs_under_them():
    audit = audit_with({"steps": 20}, readings=["level"])
    assert overrides(audit)["level=0.03"] == {"level": 0.03, "steps": 20}
    (alternative,) = alternatives_of(audit, audit.claims[0])
    assert dict(alternative.overrides) == {"pause": 2.0, "steps": 20}


def test_no_other_value_is_run_of_what_a_claim_sets():
    audit = audit_with({"level": 0.5, "pause": 0.0})
    assert alternatives_of(audit, audit.claims[0]) == ()
    assert [*left_out_readings(audit, audit.claims[0])] == []
    bare = audit_with({})
    assert len(alternatives_of(bare, bare.claims[0])) == 1
    assert [arm.varied for arm in left_out_readings(bare, bare.claims[0])] == [("level", 0.03)]


def test_an_arm_of_another_experiment_takes_those_that_this_has():
    wide = {"name": "wide", "experiment": "other", "settings": {"width": 16}, "why": "Wider."}
    audit = audit_with({"steps": 20}, nulls=[wide])
    assert overrides(audit)["wide"] == {"steps": 20, "width": 16}


def test_they_enter_the_rule_and_their_default_does_not():
    bare, own = (audit_with(given) for given in ({}, {"steps": 20}))
    assert "settings" not in plain(bare.claims[0])
    assert plain(own.claims[0])["settings"] == {"steps": 20}
    assert rule(bare, "descent", "paper") != rule(own, "descent", "paper")


# --- judged and shown ---------------------------------------------------------------------------


def under(audit: Audit) -> list[Record]:
    """Runs that end at their level, and at a hundred times it where they have fewer steps."""

    def of(cell: Cell) -> Record:
        few = 1 if cell.settings["steps"] == 40 else 100
        return make_record(cell, falls_to(few * float(str(cell.settings["level"])), cell.seed))

    return make_records(audit, of=of)


@pytest.mark.parametrize(
    ("own", "outcome"), [({}, Outcome.SUPPORTED), ({"steps": 20}, Outcome.NOT_SUPPORTED)]
)
def test_a_claim_is_judged_by_the_runs_under_them(own, outcome):
    audit = audit_with(own, readings=["level"], constructed=None)
    (found,) = answers_of(audit, under(audit)).values()
    assert found.outcome is outcome
    assert {cell.settings["steps"] for cell in cells_of_tier(audit, "paper")} == {
        own.get("steps", 40)
    }


def test_a_value_that_the_claim_sets_is_no_smaller_scale():
    """Only what the claim leaves as it is counts as reduced."""
    small = {"value": 20, "reason": "It falls by then."}
    data = audit_data()
    data["settings"]["steps"] = setting(40, quick=small)
    for own, reduced in (({}, True), ({"steps": 30}, False)):
        written = claim("mini", "own", main=True, settings=own)
        audit = make_audit(**{**data, "claims": [written]})
        (found,) = answers_of(audit, make_records(audit, "quick"), "quick").values()
        assert (ReasonKind.SCALE in [reason.kind for reason in found.reasons]) == reduced


def test_a_page_says_what_a_claim_sets():
    audit = audit_with({"steps": 20, "pause": 0.0})
    card = card_of(audit, under(audit))
    (words,) = card.answers
    assert words.facts[0] == ("Run with", "steps 20, pause 0.")
    assert settings(card)[-2:] == [
        "steps = 20 (of mini.own alone)",
        "pause = 0 (of mini.own alone)",
    ]
    assert [value.setting for value in card.tried] == ["level"]
