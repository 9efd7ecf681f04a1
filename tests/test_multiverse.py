"""Other values of what is open: what each does to each claim, in the terminal and as pages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from factories import make_scorecard
from miniatures import audit_data, claim, control, setting, write_paper
from reproaudit.cli import run_command
from reproaudit.multiverse import CHANGES, LEAVES, UNFINISHED, multiverse_of, write_multiverse

pytestmark = pytest.mark.usefixtures("measured_here")


def test_training_that_had_not_come_half_as_far_answers_nothing() -> None:
    found = multiverse_of(make_scorecard(training_loss="distance"))
    (row,) = (one for one in found.rows if one.found == UNFINISHED)
    assert (row.claim, row.setting, row.value) == ("mini.guessed", "level", "0.3")
    assert row.trained is not None
    assert row.trained[0] == 1.0
    assert any(line.endswith("unfinished, loss 1 → 0.29") for line in found.lines)


def test_readings_are_rows_too() -> None:
    rate = setting(
        0.02, readings=[{"value": 0.4, "source": "authors_code", "locator": "train.py line 3"}]
    )
    own = {"title": "It reads", "settings": {"level": rate}}
    own["measurements"] = audit_data()["experiments"]["descent"]["measurements"]
    read = claim("mini", "read", experiment="read", readings=["level"], nulls=["flat"])
    card = make_scorecard(
        experiments={**audit_data()["experiments"], "read": own},
        arms={**audit_data()["arms"], "flat": control(0.9)},
        claims=[read, *audit_data()["claims"]],
    )
    row = next(one for one in multiverse_of(card).rows if one.claim == "mini.read")
    assert (row.kind, row.setting, row.value, row.found) == ("reading", "level", "0.4", CHANGES)
    assert (row.yes, row.n) == (0, 6), "a reading runs as often as the claim"


def test_the_pages_say_what_the_rows_say_and_no_markup(tmp_path: Path) -> None:
    found = multiverse_of(make_scorecard())
    row = found.rows[0].model_copy(update={"value": "<script>|"})
    spoilt = found.model_copy(update={"rows": (row, found.rows[1])})
    files = {path.name: path.read_text() for path in write_multiverse(spoilt, tmp_path)}
    assert json.loads(files["multiverse.json"]) == spoilt.model_dump(mode="json")
    line = "| level | 0.04 | alternative | guessed | 5 of 5 | 6 of 6 | leaves it |  |"
    assert line in files["multiverse.md"].splitlines()
    assert "&lt;script>\\|" in files["multiverse.md"]
    page = files["multiverse.html"]
    assert "default-src 'none'" in page
    assert "<script" not in page
    for cell in ("level", "0.04", "changes the answer", "6 of 6"):
        assert f">{cell}</td>" in page


# --- the command ----------------------------------------------------------------------------------


@pytest.fixture
def known(tmp_path: Path) -> list[str]:
    audits = write_paper(tmp_path / "audits")
    return ["mini", "--audits", str(audits), "--store", str(tmp_path / "runs")]


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    capsys.readouterr()
    assert run_command([*arguments, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_the_command_runs_what_is_missing(
    tmp_path: Path, known: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["run", *known]) == 0
    assert "35 cells" in capsys.readouterr().err
    assert run_command(["multiverse", *known]) == 0
    said = capsys.readouterr()
    assert "45 cells, 35 have records already" in said.err
    assert "level = 0.3: guessed 0 of 5 (as run 5 of 5), changes the answer" in said.out
    folder = tmp_path / "reports" / "quick" / "mini"
    assert f"wrote {folder / 'multiverse.html'}" in said.out
    assert {file.name for file in folder.glob("multiverse.*")} == {
        f"multiverse.{one}" for one in ("html", "json", "md")
    }
    assert {one.name for one in (tmp_path / "runs" / "mini").iterdir()} == {
        "multiverse-quick",
        "quick",
    }
    found = shown(capsys, "multiverse", *known)
    assert [one["found"] for one in found["rows"]] == [CHANGES, LEAVES]
    card = shown(capsys, "report", *known)
    (guessed,) = [one for one in card["claims"] if one["id"] == "mini.guessed"]
    assert [one["varied"]["value"] for one in guessed["alternatives"]] == [0.04, 0.3]
    assert [one["answer"] for one in guessed["alternatives"]] == ["yes", "no"]


def test_a_budget_starts_nothing_more(known: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    found = shown(capsys, "multiverse", *known, "--budget", "0s")
    assert (found["rows"], found["not_run"]) == ([], ["guessed.level"])
    assert run_command(["multiverse", *known, "--budget", "0s"]) == 0
    assert "nothing was varied\nnot run: guessed.level\n" in capsys.readouterr().out
