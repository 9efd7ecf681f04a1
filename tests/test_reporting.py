"""`report` and `list`: one process or several say the same, and nothing follows the last line."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from benchmarks.looking import make_records

from miniatures import write_paper
from reproaudit.audit.catalog import Catalog
from reproaudit.audit.model import Audit
from reproaudit.cell import Cell
from reproaudit.cli import run_command
from reproaudit.commands import report
from reproaudit.records import Measurements, Series
from reproaudit.running.store import Store

TWO_PAPERS = ["report", "mini", "another", "--audits", "audits"]


def measured(_audit: Audit, cell: Cell) -> Measurements:
    """Numbers of a run that ends about where its settings say."""
    end = float(cell.settings["level"]) * (1 + 0.01 * cell.seed)  # type: ignore[arg-type]
    series = Series(steps=(0, 20, 40), values=np.array([1.0, 0.9, end]))
    return Measurements(scalars={"final": end}, series={"distance": series})


@pytest.fixture(autouse=True)
def _two_papers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two papers in miniature, with the records of their quick tier in one store."""
    monkeypatch.chdir(tmp_path)
    for slug in ("mini", "another"):
        audits = write_paper(Path("audits"), slug)
        make_records(Catalog(audits)[slug], Store(Path("runs")), measured)


def pages() -> dict[str, bytes]:
    return {str(file): file.read_bytes() for file in Path("reports").rglob("*.*")}


def test_a_list_draws_nothing_and_counts_as_the_register_does(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run_command([*TWO_PAPERS, "--json"]) == 0
    capsys.readouterr()
    register = json.loads(Path("reports/quick/register.json").read_text())
    told = {one["slug"]: one["ours"]["verdicts"] for one in register["papers"]}
    monkeypatch.setattr("reproaudit.scorecard.from_store.build", None)
    assert run_command(["list", "--audits", "audits", "--json"]) == 0
    listed = {one["slug"]: one["verdicts"] for one in json.loads(capsys.readouterr().out)}
    assert {slug: listed[slug] for slug in told} == told
    assert len(told) == 2


def several_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "MOST_IN_ONE_PROCESS", 1)
    monkeypatch.setattr(report, "available_cores", lambda: 2)


def test_several_processes_write_and_say_what_one_does(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    damaged = min(Path("runs", "another").rglob("*.json"))  # which is told on standard error
    damaged.write_bytes(damaged.read_bytes().replace(b"completed", b"comqleted"))
    said = run_command(TWO_PAPERS), capsys.readouterr(), pages()
    shutil.rmtree("reports")
    several_processes(monkeypatch)
    assert (run_command(TWO_PAPERS), capsys.readouterr(), pages()) == said


def killed(_folder: str) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_process_that_is_killed_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    several_processes(monkeypatch)
    monkeypatch.setattr(report, "_follow_the_command", killed)
    assert run_command(TWO_PAPERS) == 3
    assert "a process that judged a paper was ended from outside" in capsys.readouterr().err


# --- beginning and end --------------------------------------------------------------------------

HEAVY = ("scipy.stats", "torch", "numba", "matplotlib")
JUDGING = ("numpy", "scipy", "yaml", "reproaudit.audit.model", "reproaudit.scorecard.model")


@pytest.mark.parametrize(
    ("arguments", "absent"),
    [
        (["--help"], (*HEAVY, *JUDGING, "pydantic")),
        (["list", "--audits", "audits"], HEAVY),
        (["check", "mini", "--audits", "audits"], (*HEAVY, "numpy", "scipy")),
        (["judge", "mini", "--audits", "audits", "--measurements", "no"], HEAVY),
    ],
)
def test_commands_start_without_libraries_that_they_do_not_need(
    arguments: list[str], absent: tuple[str, ...]
) -> None:
    program = (
        "import sys; from reproaudit.cli import run_command; run_command(sys.argv[1:])\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=True
    )
    imported = set(done.stderr.split())
    assert "reproaudit.cli" in imported
    assert imported.isdisjoint(absent)


def test_nothing_follows_the_last_line() -> None:
    """Triton, which torchvision imports, reports what is left at the end as leaked."""
    pytest.importorskip("torchvision")
    program = (
        "import sys, torchvision; from reproaudit.cli import main\n"
        "sys.argv[1:] = ['list', '--audits', 'audits', '--json']; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("]\n")
