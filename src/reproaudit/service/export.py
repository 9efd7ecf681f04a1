"""`reproaudit export`: a scorecard in a standard format."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reproaudit.formats.scorecard import Scorecard
from reproaudit.report.export.registry import ExportRequest, export_files
from reproaudit.report.making import as_written_words
from reproaudit.store.records import Store
from reproaudit.store.shipped import packed_for_report


@dataclass(frozen=True)
class Signature:
    """What only a person can state of an export; `ExportRequest` describes it."""

    codecheckers: tuple[str, ...] = ()
    orcids: tuple[str, ...] = ()
    certificate: str | None = None
    report: str | None = None
    license_url: str | None = None
    author_orcids: tuple[str, ...] = ()


@dataclass(frozen=True)
class Exports:
    """The files of an export.

    Attributes:
        data: what ``--json`` prints: paper, tier, format, and each file with size and digest.
        remarks: what a reader of the files should know.
    """

    written: tuple[Path, ...]
    data: dict[str, Any]
    remarks: tuple[str, ...] = field(default=())


def export_paper(
    slug: str,
    form: str,
    scorecard: Callable[[], Scorecard],
    audit_file: Path,
    store: Store,
    signature: Signature,
    out: Path | None = None,
) -> Exports:
    """Write a paper's scorecard in a standard format.

    Args:
        scorecard: reads the scorecard, once the request is found to suit the format.
        out: a folder, or the file of a format that is one; None for ``exports/SLUG``.

    Raises:
        UsageError: if there is nothing to export, or the request does not suit the format.
        StoreError: if something cannot be read or written.
    """
    remarks: list[str] = []

    def card() -> Scorecard:
        read = scorecard()
        if words := as_written_words(read):
            remarks.append(f"{slug}: {words}")
        return read

    request = ExportRequest(
        card, audit_file, lambda tier: packed_for_report(store, slug, tier), **vars(signature)
    )
    written, data = export_files(form, request, slug, out)
    if missing := data.get("missing"):
        needs = f"codecheck.yml is of version 1.0; version 2.0 needs {'; '.join(missing)}."
        remarks.append(needs)
    return Exports(tuple(written), data, tuple(remarks))
