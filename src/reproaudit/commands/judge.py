"""`reproaudit judge`: the scorecard of measurements made elsewhere, and a folder to fill in."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from reproaudit.audit.catalog import Entry
from reproaudit.audit.model import TierName
from reproaudit.elsewhere.writing import template_files
from reproaudit.folders import new_folder
from reproaudit.report.export.junit import junit_xml
from reproaudit.report.files import replace_file, write_report
from reproaudit.report.model import Scorecard
from reproaudit.report.register import refresh_register


def write_judged(card: Scorecard, out: Path | None, junit: Path | None) -> list[Path]:
    """Write a scorecard's pages, and its claims as test cases, where asked to; return the files."""
    written: list[Path] = []
    if out is not None:
        written += [*write_report(card, out), *refresh_register(out, card.tier)]
    if junit is not None:
        written.append(replace_file(junit, junit_xml([card])))
    return written


def write_template(entry: Entry, folder: Path, tier: TierName, claims: Sequence[str]) -> list[Path]:
    """Write a manifest and empty tables with all that the claims' answers need; return the files.

    Raises:
        UsageError: if a claim is unknown, or the folder exists and holds something.
    """
    files = template_files(entry.audit(), tier, claims)
    with new_folder(folder, "Name another with --template, or remove it.") as new:
        for name, text in files.items():
            (new / name).write_text(text, encoding="utf-8")
    return [folder / name for name in files]
