"""The command that runs the alternatives of what a paper leaves open."""

from pathlib import Path
from typing import Any

import pytest

from miniatures import write_paper

pytestmark = pytest.mark.usefixtures("measured_here")


@pytest.fixture
def known(tmp_path: Path) -> list[str]:
    audits = write_paper(tmp_path / "audits")
    return ["mini", "--audits", str(audits), "--store", str(tmp_path / "runs")]


def alternatives(cli: Any, command: str, *more: str) -> list[tuple[float, str]]:
    """The values of the guess that were tried, and what each answers."""
    card: dict[str, Any] = cli(command, *more, "--json").data
    (guessed,) = (claim for claim in card["claims"] if claim["id"] == "mini.guessed")
    return [
        (alternative["varied"]["value"], alternative["answer"])
        for alternative in guessed["alternatives"]
    ]


def test_the_command_runs_what_is_missing(tmp_path, known, cli):
    assert "35 cells" in cli("run", *known).err
    said = cli("multiverse", *known, "--verbose")
    assert "45 cells, 35 have records already" in said.err
    assert "guess: level 0.3, 0 of 5" in said.out
    assert f"wrote {tmp_path / 'reports' / 'quick' / 'mini' / 'scorecard.html'}" in said.out
    assert {path.name for path in (tmp_path / "runs" / "mini").iterdir()} == {
        "multiverse-quick",
        "quick",
    }
    for command in ("multiverse", "report"):
        assert alternatives(cli, command, *known) == [(0.04, "yes"), (0.3, "no")]


def test_a_budget_starts_nothing_more(known, cli):
    cli("run", *known)
    assert alternatives(cli, "multiverse", *known, "--budget", "0s") == []
