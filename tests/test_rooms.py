"""A run goes down through the house, room by room, and no two files import each other."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import grimp
import pytest

import reproaudit
from miniatures import write_paper
from reproaudit.cli import run_command

STEPS = {
    ("cli", "run_command"): "cli",
    ("audit/catalog", "select"): "catalog",
    ("audit/plan", "plan"): "plan",
    ("running/run", "run_cells"): "run",
    ("running/store", "write"): "store",
    ("judge/outcomes", "judge"): "judge",
    ("report/scorecard", "scorecard_of"): "scorecard",
    ("report/files", "write_report"): "write",
    ("report/terminal", "run_lines"): "terminal",
}
"""The functions by which rooms are entered, in the order in which a run enters them."""


def test_a_run_goes_down_the_steps_and_never_back_up(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    audits = write_paper(tmp_path / "audits")
    sources = f"{Path(reproaudit.__file__).parent}/"
    entered: list[str] = []

    def note(frame: FrameType, event: str, _argument: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(sources):
            place = code.co_filename.removeprefix(sources).removesuffix(".py")
            step = STEPS.get((place.removesuffix("/__init__"), code.co_name))
            if step is not None and step not in entered[-1:]:
                entered.append(step)

    arguments = ["run", "mini", "--jobs", "1", "--audits", str(audits)]
    sys.setprofile(note)
    try:
        assert run_command([*arguments, "--store", str(tmp_path / "runs")]) == 0
    finally:
        sys.setprofile(None)
    assert entered == list(STEPS.values())
    assert "4 claims: " in capsys.readouterr().out


def circles(graph: grimp.ImportGraph) -> Iterator[tuple[str, str]]:
    """Modules that import each other, directly or through others."""
    for one in graph.modules:
        for other in graph.find_modules_directly_imported_by(one):
            if graph.chain_exists(importer=other, imported=one):
                yield one, other


def test_no_file_imports_itself_through_others() -> None:
    assert list(circles(grimp.build_graph("reproaudit"))) == []


def test_the_house_has_few_rooms() -> None:
    rooms = [
        one
        for one in Path(reproaudit.__file__).parent.iterdir()
        if one.is_dir() and one.name != "__pycache__"
    ]
    assert len(rooms) <= 20


MOST_LINES = 60


def functions() -> Iterator[tuple[str, int]]:
    """Every function of the tool, not of papers: its place, and its lines with the docstring."""
    root = Path(reproaudit.__file__).parent
    for file in root.rglob("*.py"):
        if not file.is_relative_to(root / "papers"):
            for one in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef):
                    lines = (one.end_lineno or 0) - one.lineno + 1
                    yield f"{file.relative_to(root)}:{one.lineno} {one.name}", lines


def test_a_function_fits_on_a_screen() -> None:
    long = {place: lines for place, lines in functions() if lines > MOST_LINES}
    assert not long
