"""The command that runs the alternatives of what a paper leaves open."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from miniatures import write_paper
from reproaudit.cli import run_command

pytestmark = pytest.mark.usefixtures("measured_here")


@pytest.fixture
def known(tmp_path: Path) -> list[str]:
    audits = write_paper(tmp_path / "audits")
    return ["mini", "--audits", str(audits), "--store", str(tmp_path / "runs")]


def alternatives(
    capsys: pytest.CaptureFixture[str], command: str, *more: str
) -> list[tuple[float, str]]:
    """The values of the guess that were tried, and what each answers."""
    capsys.readouterr()
    assert run_command([command, *more, "--json"]) == 0
    card: dict[str, Any] = json.loads(capsys.readouterr().out)
    (guessed,) = (claim for claim in card["claims"] if claim["id"] == "mini.guessed")
    return [
        (alternative["varied"]["value"], alternative["answer"])
        for alternative in guessed["alternatives"]
    ]


def test_the_command_runs_what_is_missing(
    tmp_path: Path, known: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["run", *known]) == 0
    assert "35 cells" in capsys.readouterr().err
    assert run_command(["multiverse", *known, "--verbose"]) == 0
    said = capsys.readouterr()
    assert "45 cells, 35 have records already" in said.err
    assert "guess: level 0.3, 0 of 5" in said.out
    assert f"wrote {tmp_path / 'reports' / 'quick' / 'mini' / 'scorecard.html'}" in said.out
    assert {path.name for path in (tmp_path / "runs" / "mini").iterdir()} == {
        "multiverse-quick",
        "quick",
    }
    for command in ("multiverse", "report"):
        assert alternatives(capsys, command, *known) == [(0.04, "yes"), (0.3, "no")]


def test_a_budget_starts_nothing_more(known: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["run", *known]) == 0
    assert alternatives(capsys, "multiverse", *known, "--budget", "0s") == []
