"""A list of papers reads the openings of pages that are of today, and judges the others."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from factories import make_records
from miniatures import ENVIRONMENT, write_paper
from reproaudit.audit.catalog import Entry, entry_of
from reproaudit.scorecard.answers import scorecard_of_store
from reproaudit.service.listing import list_entry, list_lines, opened
from reproaudit.service.pages import write_report
from reproaudit.store.records import Store


@pytest.fixture
def reported(tmp_path: Path) -> tuple[Entry, Store, Path]:
    """A paper with records and a page of today."""
    entry = entry_of(write_paper(tmp_path / "audits") / "mini.yaml")
    store = Store(tmp_path / "runs")
    for record in make_records(entry.audit()):
        store.write(record)
    out = tmp_path / "reports"
    write_report(scorecard_of_store(entry, entry.audit(), "paper", store), out)
    return entry, store, out


def test_an_opening_says_what_judging_says(reported: tuple[Entry, Store, Path]) -> None:
    entry, store, out = reported
    summary = opened(entry, store.root, out)
    assert summary is not None
    assert summary == list_entry(entry, store.root, out)
    (line,) = list_lines([summary], 80)
    shown = summary.shown
    counts = [f"{shown.marks[outcome]} {n}" for outcome, n in (shown.outcomes or {}).items()]
    assert f"paper: {' '.join(counts)}" in line
    assert len(counts) == 4


def change_the_audit(entry: Entry, _: Store) -> None:
    text = entry.audit_file.read_text(encoding="utf-8")
    entry.audit_file.write_text(f"{text}\n# changed\n", encoding="utf-8")


def change_the_reviews(entry: Entry, _: Store) -> None:
    entry.review_file.write_text("schema_version: 2\n", encoding="utf-8")


def lose_a_record(_: Entry, store: Store) -> None:
    next(store.files("mini", "paper")).unlink()


@pytest.mark.parametrize("change", [change_the_audit, change_the_reviews, lose_a_record])
def test_a_page_of_another_day_is_not_taken_for_todays(
    change: Callable[[Entry, Store], None], reported: tuple[Entry, Store, Path]
) -> None:
    entry, store, out = reported
    change(entry, store)
    assert opened(entry, store.root, out) is None


def test_a_list_of_todays_pages_imports_no_model(reported: tuple[Entry, Store, Path]) -> None:
    entry, store, out = reported
    code = (
        "import sys; from pathlib import Path; from reproaudit.audit.catalog import entry_of;"
        "from reproaudit.service.listing import list_lines, summaries_of;"
        f"entry = entry_of(Path({str(entry.audit_file)!r}));"
        f"found = summaries_of([entry], Path({str(store.root)!r}), Path({str(out)!r}));"
        "print(*list_lines(found.papers, 80));"
        "print({'numpy', 'reproaudit.judge', 'reproaudit.formats.scorecard'} & {*sys.modules})"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=ENVIRONMENT
    )
    line, modules = ran.stdout.splitlines()
    assert line.startswith("mini")
    assert modules == "set()"
