"""`reproaudit diff`: what changed between two scorecards."""

from __future__ import annotations

from pathlib import Path

from reproaudit.commands.output import print_json, show
from reproaudit.errors import UsageError
from reproaudit.report.diff import compare
from reproaudit.report.files import read_scorecard
from reproaudit.report.model import Scorecard


def show_diff(before: str, after: str, as_json: bool) -> int:
    """Print what changed between two scorecards; each is a file, or the folder that holds it.

    Raises:
        UsageError: if there is no such file.
        StoreError: if one of them is no scorecard.
    """
    found = compare(_read(before), _read(after))
    if as_json:
        print_json(found.model_dump(mode="json"))
    else:
        show(found.lines)
    return 0


def _read(name: str) -> Scorecard:
    path = Path(name)
    file = path / "scorecard.json" if path.is_dir() else path
    if not file.is_file():
        raise UsageError(f"{name}: no scorecard. Name a scorecard.json, or the folder with it.")
    return read_scorecard(file)
