"""What changed between two scorecards, in the terminal and as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from factories import card_of, falls_to, make_audit, make_record, make_records, make_scorecard
from miniatures import aligns, audit_data, claim
from reproaudit.cell import Cell
from reproaudit.cli import run_command
from reproaudit.formats.scorecard import Scorecard
from reproaudit.records import Record
from reproaudit.report.diff import Comparison, compare
from reproaudit.service.pages import write_report


def named(found: Comparison) -> dict[tuple[str, str], tuple[str | None, str | None]]:
    return {(one.part, one.name): (one.before, one.after) for one in found.changes}


def computed_with(card: Scorecard, versions: dict[str, tuple[str, ...]]) -> Scorecard:
    software = {**card.records.software, **versions}
    records = card.records.model_copy(update={"software": software})
    return card.model_copy(update={"records": records})


def test_a_scorecard_differs_in_nothing_from_itself() -> None:
    found = compare(make_scorecard(), make_scorecard())
    assert found.changes == ()
    assert list(found.lines)[1:] == ["nothing differs"]


def test_other_numbers_change_claims_and_nothing_else() -> None:
    audit = make_audit()

    def worse(cell: Cell) -> Record:
        own = cell.experiment == "descent" and cell.settings["level"] == 0.02
        return make_record(cell, falls_to(0.5, cell.seed) if own else None)

    found = named(compare(make_scorecard(), card_of(audit, make_records(audit, of=worse))))
    assert {part for part, _ in found} == {"claim"}
    before, after = found["claim", "mini.supported"]
    assert before is not None
    assert after is not None
    assert before.startswith("supported, moderate, 6 of 6; distance 0.02")
    assert after.startswith("not supported, ")
    assert "0 of 6; distance 0.5" in after


def test_another_bound_changes_the_rule_and_with_it_the_seeds() -> None:
    claims = [claim("mini", "supported", headline=[aligns(0.2)]), *audit_data()["claims"][1:]]
    found = named(compare(make_scorecard(), make_scorecard(claims=claims)))
    assert ("rule", "descent") in found
    assert ("rule", "guessed") not in found
    assert ("claim", "mini.guessed") not in found


def test_settings_software_and_missing_claims() -> None:
    settings = {**audit_data()["settings"], "pause": {"value": 0.5, "source": "card"}}
    settings["pause"]["locator"] = "row 9"
    other = make_scorecard(settings=settings, claims=audit_data()["claims"][:3])
    found = named(compare(make_scorecard(), computed_with(other, {"numpy": ("2.1",)})))
    assert found["setting", "pause"] == ("0 (paper)", "0.5 (card)")
    assert found["software", "numpy"] == ("2.0", "2.1")
    assert found["claim", "mini.vacuous"][1] is None


def test_names_of_a_foreign_scorecard_send_nothing_to_the_terminal() -> None:
    card = make_scorecard()
    hostile = computed_with(card, {"a\x1b[2J": ("1",)})
    assert "\x1b" not in "".join(compare(card, hostile).lines)


# --- the command ----------------------------------------------------------------------------------


def test_folders_and_files_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before, after = tmp_path / "a" / "paper" / "mini", tmp_path / "b" / "paper" / "mini"
    for name, card in (("a", make_scorecard()), ("b", make_scorecard(runs={"paper": 7}))):
        write_report(card, tmp_path / name)
    assert run_command(["diff", str(before), str(after / "scorecard.json")]) == 0
    first, *changes = capsys.readouterr().out.splitlines()
    assert first == "mini (paper, 2026-01-02) → mini (paper, 2026-01-02)"
    assert any(line.startswith("claim mini.supported: ") for line in changes)
    assert any(line.startswith("rule descent: ") for line in changes)
    assert run_command(["diff", str(before), str(after), "--json"]) == 0
    told: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert {"before", "after", "changes"} == told.keys()
    assert told["changes"][0].keys() == {"part", "name", "before", "after"}
    (after / "scorecard.json").unlink()
    assert run_command(["diff", str(before), str(after)]) == 2
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n"), str(after) in said.err) == ("", 1, True)
