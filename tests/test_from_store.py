"""From a store to a scorecard: which records are judged, and by what history."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from miniatures import aligns, audit_data, claim, write_paper
from reproaudit.audit.catalog import Catalog, Entry
from reproaudit.cli import run_command
from reproaudit.report.answers import scorecard_of_archive, scorecard_of_store
from reproaudit.report.outline import made_words
from reproaudit.running.shipped import FILE_NAME
from reproaudit.running.store import Store
from reproaudit.verdict import ClaimAnswer, Scorecard

Command = Callable[..., dict[str, Any]]


@pytest.fixture
def audits(tmp_path: Path) -> Path:
    return write_paper(tmp_path / "audits")


@pytest.fixture
def command(tmp_path: Path, audits: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    """A command on the paper, whose JSON is read."""

    def call(name: str, *arguments: str) -> dict[str, Any]:
        capsys.readouterr()
        known = ["--audits", str(audits), "--store", str(tmp_path / "runs"), "--json"]
        assert run_command([name, "mini", *arguments, *known]) == 0
        found: dict[str, Any] = json.loads(capsys.readouterr().out)
        return found

    return call


def entry_in(audits: Path) -> Entry:
    return Catalog(audits)["mini"]


def judged(audits: Path, tier: Any = "quick") -> Scorecard:
    entry = entry_in(audits)
    return scorecard_of_store(entry, entry.audit(), tier, Store(audits.parent / "runs"))


def guessed(card: Scorecard) -> ClaimAnswer:
    return next(one for one in card.claims if one.id == "mini.guessed")


def reasons(card: dict[str, Any], name: str) -> list[str]:
    found = next(one for one in card["claims"] if one["id"] == f"mini.{name}")
    return [one["kind"] for one in found["reasons"]]


def edit_module(audits: Path) -> None:
    """Other code, that computes the same."""
    file = audits / "mini.py"
    file.write_text(f"{file.read_text()}\nEXTRA = 1\n")


# --- which records --------------------------------------------------------------------------------


@pytest.mark.parametrize("tier", ["quick", "paper"])
def test_the_pages_of_a_run_are_those_of_its_report(
    tmp_path: Path, command: Command, tier: str
) -> None:
    """Byte by byte, whether records or scorecard.json are there."""
    assert command("multiverse", "--tier", tier)
    ran = command("run", "--tier", tier)
    folder = tmp_path / "reports" / tier / "mini"
    pages = {file.name: file.read_bytes() for file in folder.glob("scorecard.*")}
    assert command("report", "--tier", tier) == ran
    assert {name: (folder / name).read_bytes() for name in pages} == pages
    shutil.rmtree(tmp_path / "runs")
    assert command("report", "--tier", tier) == ran
    assert {name: (folder / name).read_bytes() for name in pages} == pages


def test_a_run_judges_what_it_planned_and_alternatives_of_the_same_code(
    audits: Path, command: Command
) -> None:
    command("multiverse")
    edit_module(audits)
    card = command("run")
    assert card["records"]["completed"] == 35, "the alternatives are of other code"
    assert "guess not varied" in reasons(card, "guessed")
    command("multiverse")
    assert "guess flips" in reasons(command("run"), "guessed")


def test_a_report_judges_todays_records_else_those_with_most_cells(
    audits: Path, command: Command
) -> None:
    command("run")
    assert judged(audits).made.of_today
    edit_module(audits)
    card = judged(audits)
    assert card.records.count == 35
    assert any(one.startswith("Made by other code than today's: ") for one in made_words(card))
    command("run")
    made = judged(audits).made
    assert (made.of_today, made.other_groups) == (True, 1)


def test_a_damaged_record_of_an_alternative_is_left_out_and_said(
    tmp_path: Path, audits: Path, command: Command
) -> None:
    command("multiverse")
    file = next((tmp_path / "runs" / "mini" / "multiverse-quick").rglob("*.json"))
    file.write_text("{")
    card = command("run")
    assert card["made"]["damaged"] == 1


def test_custom_and_salted_records_feed_no_other_answer(audits: Path, command: Command) -> None:
    before = command("run", "--tier", "paper")
    command("run", "--tier", "paper", "--seeds", "7", "--set", "level=0.9")
    salted = command("run", "--tier", "paper", "--salt", "word")
    assert (before["tier"], salted["tier"]) == ("paper", "paper-word")
    seeds = [{run["seed"] for run in one["claims"][0]["base"]["runs"]} for one in (before, salted)]
    assert not seeds[0] & seeds[1]
    after = command("report", "--tier", "paper")
    assert after["claims"] == before["claims"]
    assert (before["earlier_results"], after["earlier_results"]) == (0, 1), "the salted result"


def test_an_archive_is_judged_whole_whatever_its_seeds(
    tmp_path: Path, audits: Path, command: Command
) -> None:
    """A changed rule draws other seeds; who shipped the records drew theirs."""
    before = command("run", "--tier", "paper")
    file = tmp_path / FILE_NAME
    command("export", "--to", "records", "--tier", "paper", "--out", str(file))
    claims = [claim("mini", "supported", main=True, headline=[aligns(0.2)])]
    write_paper(audits, claims=[*claims, *audit_data()["claims"][1:]])
    entry = entry_in(audits)
    card = scorecard_of_archive(entry, entry.audit(), "paper", file)
    assert (card.claims[0].base.yes, card.claims[0].base.n) == (6, 6)
    assert card.records.completed == before["records"]["completed"]
    of_store = judged(audits, "paper")
    assert {one.outcome for one in of_store.claims} == {"not tested", "supported"}
    assert of_store.claims[0].base.n == 0, "the plan names other seeds"


def test_an_archive_tells_of_alternatives_at_the_quick_tier(
    tmp_path: Path, audits: Path, command: Command
) -> None:
    command("multiverse", "--tier", "quick")
    command("run", "--tier", "paper")
    file = tmp_path / FILE_NAME
    command("export", "--to", "records", "--tier", "paper", "--out", str(file))
    entry = entry_in(audits)
    card = scorecard_of_archive(entry, entry.audit(), "paper", file)
    assert guessed(card).alternatives == guessed(judged(audits, "paper")).alternatives
    assert {one.n for one in guessed(card).alternatives} == {5}


# --- by what history ------------------------------------------------------------------------------


def test_a_bound_that_changed_after_results_costs_certainty(
    tmp_path: Path, audits: Path, command: Command
) -> None:
    assert "rule" not in reasons(command("run", "--tier", "paper"), "supported")
    ours = {**aligns(0.2), "from": "ours", "why": "near enough"}
    claims = [claim("mini", "supported", main=True, headline=[ours])]
    write_paper(audits, claims=[*claims, *audit_data()["claims"][1:]])
    card = command("run", "--tier", "paper")
    assert card["earlier_results"] == 1
    assert "rule" in reasons(card, "supported")
    assert "rule" not in reasons(card, "guessed")
    logged = (audits / "mini.results.jsonl").read_text().splitlines()
    assert len(logged) == 2
    answers = json.loads(logged[0])["claims"]
    assert answers["mini.supported"]["answer"] == "supported"
    assert (answers["mini.contradicted"]["yes"], answers["mini.contradicted"]["n"]) == (0, 6)


def test_an_audit_that_was_not_committed_costs_certainty(
    tmp_path: Path, audits: Path, command: Command
) -> None:
    subprocess.run(["git", "init", "-q", str(audits)], check=True)
    who = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    subprocess.run(
        ["git", "-C", str(audits), *who, "commit", "-q", "--allow-empty", "-m", "none"], check=True
    )
    assert "rule" in reasons(command("run", "--tier", "paper"), "supported")
    assert "rule" not in reasons(command("run"), "supported"), "the quick tier has no history"
    assert "rule" in reasons(command("report", "--tier", "paper"), "supported")
    file = tmp_path / "reports" / "paper" / "mini" / FILE_NAME
    command("export", "--to", "records", "--tier", "paper", "--out", str(file))
    shutil.rmtree(tmp_path / "runs")
    assert "rule" in reasons(command("report", "--tier", "paper"), "supported"), "by the log"
