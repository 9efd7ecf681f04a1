"""The committed reports of the paper tier are what their `scorecard.json` says."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from reproaudit.cli import run_command
from reproaudit.reports.files import read_scorecard

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


@pytest.mark.parametrize("scorecard", COMMITTED, ids=lambda path: path.parent.name)
def test_a_committed_report_renders_again_from_its_scorecard(
    scorecard: Path, tmp_path: Path
) -> None:
    """Without records, which are not committed, `report` writes the same pages once more.

    Of a scorecard of version 1 the file is the same, and the pages say that its rules are older.
    """
    slug = scorecard.parent.name
    again = tmp_path / "reports" / "paper" / slug
    again.mkdir(parents=True)
    for name in ("scorecard.json", "multiverse.html"):  # the page links to the other one
        if (scorecard.parent / name).is_file():
            shutil.copy(scorecard.parent / name, again)
    arguments = ["report", slug, "--tier", "paper", "--format", "html,md,json"]
    empty = ["--store", str(tmp_path / "runs"), "--out", str(tmp_path / "reports")]
    assert run_command([*arguments, *empty]) == 0
    older = "These verdicts follow older rules (scorecard version 1)"
    same = ["scorecard.json", "scorecard.html", "scorecard.md"]
    if read_scorecard(scorecard).schema_version == 1:
        same = same[:1]
        assert older in " ".join((again / "scorecard.html").read_text(encoding="utf-8").split())
        assert older in (again / "scorecard.md").read_text(encoding="utf-8")
    for name in same:
        assert (again / name).read_bytes() == (scorecard.parent / name).read_bytes(), name


@pytest.mark.parametrize("scorecard", COMMITTED, ids=lambda path: path.parent.name)
def test_a_committed_report_is_of_the_paper_tier_and_of_committed_code(scorecard: Path) -> None:
    card = read_scorecard(scorecard)
    assert card.tier == "paper"
    assert card.paper["slug"] == scorecard.parent.name
    assert card.environment.revision
    is_committed = not any(one.endswith("+dirty") for one in card.environment.revision)
    assert is_committed or card.environment.code == (sealed_code(scorecard.parent.name),)
    assert str(Path.home()) not in scorecard.read_text(encoding="utf-8")
