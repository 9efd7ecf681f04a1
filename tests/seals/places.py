"""A repository with a paper in miniature, in which commands are given."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from chains import commit, git

from miniatures import write_paper
from reproaudit.cli import run_command
from reproaudit.seals.chain import read_chain
from reproaudit.seals.entries import SealsEntry


class Place:
    """A repository with a paper, and what commands say there."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self._capsys = folder, capsys
        self.audits = write_paper(folder / "audits")
        self.file = self.audits / "seals" / "mini.jsonl"
        (folder / ".gitignore").write_text("runs\n__pycache__\n")
        git(folder, "init", "-q")
        commit(folder, "the paper")

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        """Exit code, output and errors of a command."""
        known = ["--audits", str(self.audits), "--store", str(self.folder / "runs")]
        if arguments[0] in ("run", "multiverse") and "--jobs" not in arguments:
            known += ["--jobs", "1"]  # a paper so small is done before a second worker has started
        code = run_command([*arguments, *known])
        said = self._capsys.readouterr()
        assert "Traceback" not in said.err
        return code, said.out, said.err

    def refused(self, *arguments: str) -> str:
        """The one line with which a command is refused."""
        code, out, errors = self(*arguments)
        assert (code, out) == (2, "")
        lines = [one for one in errors.strip().splitlines() if " will run" not in one]
        assert len(lines) == 1, errors
        return lines[0]

    def card(self, *arguments: str) -> dict[str, Any]:
        """The supported claim of the scorecard that a command prints."""
        code, out, errors = self(*arguments, "--json")
        assert code == 0, errors
        found: dict[str, Any] = json.loads(out)["claims"][0]
        return found

    def edit(self, file: str, before: str, after: str) -> None:
        path = self.audits / file
        text = path.read_text(encoding="utf-8")
        assert before in text
        path.write_text(text.replace(before, after, 1), encoding="utf-8")

    @property
    def entries(self) -> tuple[SealsEntry, ...]:
        """What was entered, without what was read from git."""
        return tuple(one for one in read_chain(self.file, "mini") if not one.reconstructed)


PAPER = ("run", "mini", "--tier", "paper")
CONFIRM = (*PAPER, "--confirm")
