"""README's three ways in work when they are pasted, and it is not long."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from miniatures import ENVIRONMENT
from reproaudit.cli import run_command

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
MOST_LINES = 190


def ways() -> list[tuple[str, list[str]]]:
    """The three blocks of the first section, with their languages."""
    section = README.partition("## Three ways in")[2].partition("\n## ")[0]
    blocks = re.findall(r"```(\w+)\n(.*?)```", section, re.DOTALL)
    return [(language, [*filter(None, block.splitlines())]) for language, block in blocks]


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder that has what a clone has of the examples."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def python(*arguments: str, cwd: Path) -> str:
    done = subprocess.run(
        [sys.executable, *arguments], cwd=cwd, env=ENVIRONMENT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_readme_has_three_ways_of_three_lines_and_at_most_190_lines():
    assert [(language, len(lines)) for language, lines in ways()] == [
        ("sh", 3),
        ("python", 3),
        ("sh", 3),
    ]
    assert len(README.splitlines()) <= MOST_LINES


def test_a_results_file_is_planned_for_and_judged(clone, capsys):
    (_, (make, *commands)), *_ = ways()
    install, train = make.split(" && ")
    assert install == "pip install ."
    program, _, target = train.removeprefix("python ").partition(" > ")
    (clone / target).write_text(python(program, cwd=clone), encoding="utf-8")
    for command in commands:
        assert run_command(shlex.split(command)[1:]) == 0, command
    assert "5 of 5 [closer]" in " ".join(capsys.readouterr().out.split())


def test_the_same_numbers_are_judged_in_a_notebook(clone):
    _, (_, lines), _ = ways()
    shown = f"card = {lines[-1]}", "print(card)", "print(card.claim('closer').base.yes)"
    said = python("-c", "\n".join([*lines[:-1], *shown]), cwd=clone)
    assert "The Implicit Bias of Gradient Descent" in said
    assert said.splitlines()[-1] == "5"


def test_a_paper_of_ours_is_shown_before_anything_is_installed_for_it(clone):
    *_, (_, (report, install, run)) = ways()
    slug = report.removeprefix("reproaudit report ")
    assert install == 'pip install ".[run]"'
    assert run == f"reproaudit run {slug}"
    assert run_command(shlex.split(report)[1:]) == 0
    assert (clone / "reports" / "paper" / slug / "scorecard.html").is_file()
