"""`reproaudit export`: a scorecard in a standard format."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from reproaudit.audit.catalog import Entry
from reproaudit.audit.model import TierName
from reproaudit.formats.scorecard import Scorecard
from reproaudit.report.export.registry import ExportRequest, export_files
from reproaudit.report.making import as_written_words
from reproaudit.service.workspace import Workspace
from reproaudit.store.shipped import packed_for_report


@dataclass(frozen=True)
class Exports:
    """The files of an export, what ``--json`` prints of them, and remarks for their reader."""

    written: tuple[Path, ...]
    data: dict[str, Any]
    remarks: tuple[str, ...] = ()


def export_paper(
    workspace: Workspace,
    entry: Entry,
    export_format: str,
    *,
    tier: TierName | None = None,
    out: Path | None = None,
    **signature: Any,
) -> Exports:
    """Write a paper's scorecard in a standard format, by default to ``exports/SLUG``.

    Args:
        signature: what only a person can state; `ExportRequest` describes it.

    Raises:
        UsageError: if there is nothing to export, or the request does not suit the format.
    """
    slug = entry.slug
    remarks: list[str] = []

    def card() -> Scorecard:
        read = workspace.scorecard(entry, tier)
        if words := as_written_words(read):
            remarks.append(f"{slug}: {words}")
        return read

    pack = partial(packed_for_report, workspace.records, slug)
    request = ExportRequest(card, entry.audit_file, pack, **signature)
    written, data = export_files(export_format, request, slug, out)
    if missing := data.get("missing"):
        needs = f"codecheck.yml is of version 1.0; version 2.0 needs {'; '.join(missing)}."
        remarks.append(needs)
    return Exports(tuple(written), data, tuple(remarks))
