"""The committed reports of the paper tier are what their `scorecard.json` says."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from reproaudit.cli import run_command
from reproaudit.reports.files import read_scorecard
from reproaudit.reports.warning import WITHOUT_RECORDS

REPORTS = Path(__file__).parents[1] / "reports"
SEALS = Path(__file__).parents[1] / "audits" / "seals"
COMMITTED = sorted((REPORTS / "paper").glob("*/scorecard.json"))


def sealed_code(slug: str) -> str:
    """The hash of the code that a paper was last sealed with; its run adds to the chain."""
    chain = SEALS / f"{slug}.jsonl"
    entries = map(json.loads, chain.read_text(encoding="utf-8").splitlines())
    changes = [one["change"] for one in entries if one["kind"] == "seal"]
    return str([change["code"] for change in changes if "code" in change][-1])


def test_there_are_committed_reports() -> None:
    assert COMMITTED


@pytest.mark.parametrize(
    "scorecard",
    [
        pytest.param(one, marks=pytest.mark.slow) if n % 2 else one
        for n, one in enumerate(COMMITTED)
    ],
    ids=lambda path: path.parent.name,
)
def test_a_committed_report_without_its_records_confirms_nothing(
    scorecard: Path, tmp_path: Path
) -> None:
    """Without records `report` shows the same verdicts, and that nobody can judge them again."""
    slug = scorecard.parent.name
    again = tmp_path / "reports" / "paper" / slug
    again.mkdir(parents=True)
    shutil.copy(scorecard, again)
    arguments = ["report", slug, "--tier", "paper", "--format", "html,md,json"]
    empty = ["--store", str(tmp_path / "runs"), "--out", str(tmp_path / "reports")]
    assert run_command([*arguments, *empty]) == 0
    before, after = read_scorecard(scorecard), read_scorecard(again / "scorecard.json")
    for then, now in zip(before.claims, after.claims, strict=True):
        assert (now.id, now.verdict, now.estimate) == (then.id, then.verdict, then.estimate)
        assert now.status == "exploratory"
        assert WITHOUT_RECORDS in now.history
    assert WITHOUT_RECORDS.rstrip(".") in (again / "scorecard.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("scorecard", COMMITTED, ids=lambda path: path.parent.name)
def test_a_committed_report_is_of_the_paper_tier_and_of_committed_code(scorecard: Path) -> None:
    card = read_scorecard(scorecard)
    assert card.tier == "paper"
    assert card.paper["slug"] == scorecard.parent.name
    assert card.environment.revision
    is_committed = not any(one.endswith("+dirty") for one in card.environment.revision)
    assert is_committed or card.environment.code == (sealed_code(scorecard.parent.name),)
    assert str(Path.home()) not in scorecard.read_text(encoding="utf-8")
