"""What commands print: whole, whatever the terminal, the pipe or the text."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import IO

import pytest

from factories import make_scorecard
from miniatures import ENVIRONMENT, write_paper
from reproaudit.cell import Cell
from reproaudit.cli.output import say
from reproaudit.cli.progress import WorkProgress
from reproaudit.report.printable import clean, printable
from reproaudit.run.events import CellNote, WorkStarted
from reproaudit.service.pages import write_report

PAPER = "mini"
SLOW = pytest.mark.slow


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report folder with the toy scorecard under the name of a paper in a folder beside it."""
    folder = tmp_path_factory.mktemp("reports")
    write_paper(folder.parent / "audits")
    write_report(make_scorecard(PAPER), folder, ["json"])
    return folder


def report(reports: Path, out: int | IO[bytes] | None, *more: str, **environment: str):  # type: ignore[no-untyped-def]
    command = [sys.executable, "-m", "reproaudit", "report", PAPER, "--tier", "paper"]
    known = ["--audits", "../audits", "--out", str(reports), *more]
    return subprocess.run(
        [*command, *known], stdout=out, stderr=subprocess.PIPE, check=False, timeout=60,
        env={**ENVIRONMENT, **environment}, cwd=reports,
    )  # fmt: skip


def written(reports: Path) -> list[str]:
    return sorted(file.name for file in (reports / "paper" / PAPER).iterdir())


ALL = ["badge.svg", "badges", *(f"scorecard.{one}" for one in ("html", "json", "md"))]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_is_one_line_and_the_files_are_written(reports):
    with open("/dev/full", "wb") as full:
        done = report(reports, full)
    assert done.returncode == 3
    assert done.stderr.decode().splitlines() == ["cannot write the output: No space left on device"]
    assert written(reports) == ALL


def test_a_reader_that_left_changes_no_exit_code(reports):
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as pipe:
        done = report(reports, pipe, "--fail-on", "uninformative")
    assert (done.returncode, done.stderr) == (1, b"")
    assert written(reports) == ALL


@pytest.mark.process
def test_a_closed_output_is_no_fault(reports):
    command = f"'{sys.executable}' -m reproaudit report {PAPER} --tier paper "
    command += f"--audits '{reports.parent / 'audits'}'"
    line = f"{command} --out '{reports}' >&-"
    done = subprocess.run(line, shell=True, env=ENVIRONMENT, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    line = f"'{sys.executable}' -m reproaudit report nobody 2>&-"
    assert subprocess.run(line, shell=True, env=ENVIRONMENT, check=False).returncode == 2


@pytest.mark.process
@pytest.mark.parametrize(
    "columns", ["0", *(pytest.param(one, marks=SLOW) for one in ("1", "-3", "many"))]
)
def test_a_width_that_cannot_be_is_not_believed(reports, columns):
    done = report(reports, subprocess.PIPE, "--format", "terminal", COLUMNS=columns)
    assert (done.returncode, done.stderr) == (0, b"")
    lines = done.stdout.decode().splitlines()
    assert 40 <= max(map(len, lines)) <= 110
    assert any("✓ Main: " in line for line in lines)


@pytest.mark.parametrize(
    "encoding", ["latin-1", *(pytest.param(one, marks=SLOW) for one in ("ascii", "utf-8"))]
)
def test_json_is_whole_in_every_encoding(reports, encoding):
    done = report(reports, subprocess.PIPE, "--json", PYTHONIOENCODING=encoding)
    printed = json.loads(done.stdout.decode(encoding))
    assert printed == json.loads((reports / "paper" / PAPER / "scorecard.json").read_text())


# --- text -----------------------------------------------------------------------------------------

UNSAFE = [
    *map(chr, range(0x20)),
    *map(chr, range(0x7F, 0xA0)),
    *"\u061c\u200e\u202e\u2066\u2028\ud800",
]


def test_text_is_printed_as_it_is(capsys):
    """A fault's place such as ``a.yaml:100:7`` is no picture, and brackets are no style."""
    text = "a.yaml:100:7: [bold]found[/bold] ':smile:' and :100:"
    say(text)
    with WorkProgress() as on_event:
        on_event(WorkStarted())
        on_event(CellNote(Cell("mini", "quick", "descent", {}, 0), text))
    printed = capsys.readouterr()
    assert printed.out == f"{text}\n"
    assert text in printed.err


@pytest.mark.parametrize("character", UNSAFE)
def test_a_character_that_a_terminal_obeys_is_shown(character):
    shown = printable(f"a{character}b")
    assert shown == "a\nb" if character == "\n" else shown.isprintable()
    assert clean(f"a{character}b").isprintable()
    shown.encode("utf-8")
