"""The tutorial is true: every command is run, and what it shows is what they print."""

from __future__ import annotations

import re
import shlex
import shutil
from datetime import date

import pytest

from reproaudit.cli import run_command
from reproaudit.service import new as new_command
from walkthroughs import DOCS, blocks, commands

pytestmark = pytest.mark.usefixtures("measured_here")

PAGE = "tutorial.md"
EXIT_CODES = {"check my-audits/soudry2018.yaml": 2}
"""Of the commands that are shown to fail."""


class Today(date):
    """The day on which the tutorial was written, so that its dates never become stale."""

    @classmethod
    def today(cls) -> Today:
        return cls(2026, 11, 20)


def without_numbers(line: str) -> str:
    return re.sub(r"\d[\d.,]*", "#", line)


KEPT = re.compile('{card: |title: "|authors: |card_read: ')
"""What of a draft stands in the finished audit as well."""


def without_words(line: str) -> str:
    """A variable without what a reader says of it."""
    return line.partition(", says: ")[0]


def without_layout(text: str) -> str:
    """What is nested in a file is flush left on the page, with other blank lines."""
    return "\n".join(line.strip() for line in text.splitlines() if line.strip())


def assert_in_order(shown: list[str], printed: list[str]) -> None:
    rest = iter(printed)
    for line in shown:
        assert any(line == other for other in rest), f"not printed (in this order): {line!r}"


def test_every_command_does_what_is_shown(tmp_path, monkeypatch, capsys):
    tutorial = shutil.copytree(DOCS / "tutorial", tmp_path / "docs" / "tutorial")
    audit = tutorial / "soudry2018.yaml"
    written = audit.read_text(encoding="utf-8")
    fewer = written.replace("{steps: 100000}", "{steps: 25000}")  # three million steps take long
    assert fewer != written
    audit.write_text(fewer, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(new_command, "date", Today)
    ran = 0
    for line, shown in commands(PAGE):
        command = line.removeprefix("reproaudit ")
        assert run_command(shlex.split(command)) == EXIT_CODES.get(command, 0), command
        printed = capsys.readouterr().out.splitlines()
        exact = not command.startswith("run")  # numbers may differ in the last digit elsewhere
        if not exact:
            shown, printed = ([without_numbers(x) for x in lines] for lines in (shown, printed))
        assert_in_order(shown, printed)
        ran += 1
    assert ran >= 9
    drafted = (tmp_path / "my-audits" / "soudry2018.yaml").read_text(encoding="utf-8")
    finished = (DOCS / "tutorial" / "soudry2018.yaml").read_text(encoding="utf-8")
    kept = [without_words(line) for line in drafted.splitlines() if KEPT.search(line)]
    assert len(kept) == 12
    assert_in_order(kept, [without_words(line) for line in finished.splitlines()])


@pytest.mark.parametrize(("language", "file"), [("yaml", "soudry2018.yaml"),
                                                ("python", "soudry2018.py")])  # fmt: skip
def test_excerpts_stand_in_the_finished_files(language, file):
    whole = without_layout((DOCS / "tutorial" / file).read_text(encoding="utf-8"))
    assert blocks(PAGE, language)
    for excerpt in blocks(PAGE, language):
        assert without_layout(excerpt) in whole
