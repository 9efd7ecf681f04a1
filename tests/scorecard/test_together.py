"""Settings of which another side's values are run at once, as one reading more."""

from __future__ import annotations

import re
from typing import Any

import pytest

from factories import falls_to, make_audit, make_record
from miniatures import audit_data, claim, setting
from reproaudit.audit.arms import Role, arms_of
from reproaudit.audit.loading import read_audit
from reproaudit.audit.model import Audit
from reproaudit.audit.plan import plan
from reproaudit.audit.rules import broken_rules
from reproaudit.audit.seeds import rule
from reproaudit.audit.short.upgrade import upgraded
from reproaudit.cell import Cell
from reproaudit.formats.scorecard import Scorecard
from reproaudit.formats.verdict import Answer, Outcome
from reproaudit.records import Record
from reproaudit.report.pages import html, markdown
from reproaudit.report.terminal import report_lines
from scorecard.test_rows import rows, scorecard


def theirs(value: Any, who: str = "Zhang 2022", **more: Any) -> dict[str, Any]:
    return {"value": value, "source": "reproduction", "who": who, "locator": "§2", **more}


def both(level: Any, pause: Any, **changes: Any) -> Audit:
    """Two settings of which another side states other values; both are asked for at once."""
    settings = {
        **audit_data()["settings"],
        "level": setting(0.02, readings=level if isinstance(level, list) else [level]),
        "pause": setting(0.0, readings=pause if isinstance(pause, list) else [pause]),
    }
    fields = {"readings": ["level", "pause"], "together": [["level", "pause"]], **changes}
    return make_audit(claims=[claim("mini", "shown", main=True, **fields)], settings=settings)


def only_at_once(cell: Cell) -> Record:
    """Each of the two alone changes nothing; together they keep the distance large."""
    at_once = (cell.settings["level"], cell.settings["pause"]) == (0.03, 1.0)
    return make_record(cell, falls_to(0.5, cell.seed) if at_once else None)


AUDIT = both(theirs(0.03), theirs(1.0))


def shown() -> Scorecard:
    return scorecard(AUDIT, only_at_once)


def test_a_joint_reading_is_planned_like_a_reading() -> None:
    arms = [arm for arm in arms_of(AUDIT, AUDIT.claims[0]) if arm.role is Role.READING]
    joint = arms[-1]
    assert [arm.name for arm in arms] == ["level=0.03", "pause=1", "level=0.03+pause=1"]
    assert joint.overrides == {"level": 0.03, "pause": 1.0}
    planned = {tuple(batch.overrides): batch.seeds for _, batch in plan(AUDIT, "paper")}
    assert planned[("level", 0.03), ("pause", 1.0)] == planned[()]


def test_what_changes_along_gives_way_to_what_is_named_and_to_the_claims_own() -> None:
    level = theirs(
        0.03, **{"with": {"pause": 2.0, "steps": 50}, "quick": {"level": 0.04, "steps": 9}}
    )
    audit = both(level, theirs(1.0, quick={"pause": 0.5}), settings={"outcome": "fails"})
    *_, joint = (arm for arm in arms_of(audit, audit.claims[0]) if arm.role is Role.READING)
    assert joint.at("paper") == {"level": 0.03, "pause": 1.0, "steps": 50, "outcome": "fails"}
    assert joint.at("quick") == {"level": 0.04, "pause": 0.5, "steps": 9, "outcome": "fails"}


def test_a_claim_depends_on_both_at_once() -> None:
    card = shown()
    (answer,) = card.claims
    assert answer.outcome is Outcome.DEPENDS
    assert [reading.answer for reading in answer.readings] == [Answer.YES, Answer.YES, Answer.NO]
    (line,) = card.head.claims
    assert line.text == (
        "6 of 6 with level 0.02 and pause 0 (paper), "
        "0 of 6 with level 0.03 and pause 1 (Zhang 2022)"
    )
    assert card.head.verdict[0].startswith(
        "The main claim holds with level 0.02 and pause 0 (paper)"
    )


def test_the_choice_names_both() -> None:
    card = shown()
    (choice,) = card.head.choices
    assert (choice.setting, choice.also, choice.words) == ("level", ("pause",), "level and pause")
    assert (choice.value, choice.others) == ("0.02 and 0 (paper)", ("0.03 and 1 (Zhang 2022)",))
    assert not card.head.questions, "two papers differ"
    tried = [(one.words, one.value, len(one.cells)) for one in card.tried]
    assert tried == [
        ("level and pause", "0.03 and 1 (Zhang 2022)", 1),
        ("level", "0.03 (Zhang 2022)", 1),
        ("pause", "1 (Zhang 2022)", 1),
    ]


def test_two_sides_have_their_own_names() -> None:
    card = scorecard(both(theirs(0.03), theirs(1.0, "Ma 2023")), only_at_once)
    sides = "level 0.03 (Zhang 2022) and pause 1 (Ma 2023)"
    assert f"not with {sides}, 0 of 6" in card.head.verdict[0]
    assert {row.arm_words for row in rows(card, arm="level=0.03+pause=1")} == {sides}


def test_a_line_without_room_for_values_says_whose_they_are() -> None:
    who = "Gerstgrasser et al. 2024"
    card = scorecard(both(theirs(0.03, who), theirs(1.0, who)), only_at_once)
    assert card.head.claims[0].text == (
        "6 of 6 with the paper's level and pause, 0 of 6 with Gerstgrasser et al. 2024's"
    )


def test_every_rendering_shows_the_joint_reading() -> None:
    card = shown()
    for page in (markdown(card), html(card), "\n".join(report_lines(card, 400))):
        assert "level 0.03 and pause 1 (Zhang 2022)" in page
    assert '"also":[{"setting":"pause","value":1.0}]' in card.model_dump_json(exclude_unset=True)


def test_a_setting_that_decides_alone_is_the_only_question() -> None:
    level, pause = ({**theirs(value), "source": "authors_code"} for value in (0.5, 1.0))
    card = scorecard(both(*({**each, "who": None} for each in (level, pause))))
    assert [choice.words for choice in card.head.choices] == ["level", "level and pause"]
    assert [one.text for one in card.head.questions] == ["Level: 0.02 (paper) or 0.5 (code)?"]


def test_the_rule_counts_what_is_asked_for_at_once() -> None:
    without = both(theirs(0.03), theirs(1.0), together=[])
    assert rule(AUDIT, "descent", "paper") != rule(without, "descent", "paper")
    named = both(theirs(0.03, "Li"), theirs(1.0, "Ma"))
    assert rule(AUDIT, "descent", "paper") == rule(named, "descent", "paper")


@pytest.mark.parametrize(
    ("together", "says"),
    [
        ([["level", "paus"]], "found 'paus'"),
        ([["level", "level"]], "found 'level' a second time"),
        ([["level", "pause"], ["pause", "level"]], "found ['level', 'pause'] a second time"),
        ([["level", "outcome"]], "found 'outcome'"),
    ],
)
def test_names_that_cannot_stand_together_are_faults(together: Any, says: str) -> None:
    audit = both(theirs(0.03), theirs(1.0), together=together)
    assert any(says in fault.message for fault in broken_rules(audit, "mini"))


def test_many_combinations_are_a_fault() -> None:
    many = [theirs(0.01 * n) for n in range(3, 9)]
    faults = broken_rules(both(many, many), "mini")
    assert [fault.message for fault in faults] == ["found 36 combinations; expected at most 25"]


def test_the_short_form_has_one_list_or_several() -> None:
    text = re.sub(r"\[\s*level, pause\]", "[level, pause]", upgraded(AUDIT))
    assert "together: [level, pause]" in text
    for written in ("[level, pause]", "[[level, pause]]"):
        audit, faults = read_audit(
            "mini.yaml", text.replace("together: [level, pause]", f"together: {written}")
        )
        assert audit is not None, faults
        assert audit.claims[0].together == (("level", "pause"),)
