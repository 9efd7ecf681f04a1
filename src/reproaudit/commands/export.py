"""`reproaudit export`: a scorecard, or the faults of an audit, in formats that others read."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

from reproaudit.audit.catalog import Entry
from reproaudit.commands.output import print_json, say_written
from reproaudit.report.export.registry import ExportFormat, ExportRequest, Signature
from reproaudit.report.files import replace_file
from reproaudit.report.model import Scorecard


def export_scorecard(
    entry: Entry,
    form: ExportFormat,
    scorecard: Callable[[], Scorecard],
    store: Path,
    out: Path | None,
    signature: Signature,
    as_json: bool,
) -> int:
    """Write a format below `exports` or to ``out``, print what was written, return the exit code.

    The scorecard is read if the format needs one.

    Raises:
        UsageError: if there is nothing to export, or the signature does not suit the format.
        StoreError: if something cannot be read or written.
    """
    request = ExportRequest(scorecard, entry.audit_file, signature, store)
    made = form.write(request)
    place = Path("exports", entry.slug, *([made.tier] if made.tier else []))
    written = {_place(form, out, place, name): data for name, data in made.files.items()}
    for path, data in written.items():
        replace_file(path, data)
    if as_json:
        files = [
            {"path": str(path), "size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
            for path, data in written.items()
        ]
        said = {"paper": entry.slug, "tier": made.tier, "format": form.name, "files": files}
        print_json(said)
    else:
        say_written(written)
    return made.code


def _place(form: ExportFormat, out: Path | None, folder: Path, name: str) -> Path:
    """Returns where a file goes: ``--out`` is a folder, or the file of a format that is one."""
    if form.is_folder:
        return (out or folder / form.name) / name
    if out is None:
        return folder / name
    return out / name if out.is_dir() else out
