"""`reproaudit export`: a scorecard, or the faults of an audit, in formats that others read."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from reproaudit.report.export.registry import ExportRequest, export_format
from reproaudit.report.files import replace_file


def export_files(
    name: str, request: ExportRequest, slug: str, out: Path | None
) -> tuple[list[Path], dict[str, Any], int]:
    """Write a format below `exports`, or to a folder or file.

    Args:
        name: of the format.
        request: its material; the scorecard is read if the format needs one.
        slug: the paper.
        out: a folder, or the file of a format that is one; None for ``exports/SLUG``.

    Returns:
        The files, what they are as data, and the exit code.

    Raises:
        UsageError: if there is nothing to export, or the signature does not suit the format.
        StoreError: if something cannot be read or written.
    """
    form = export_format(name, request.signature)
    made = form.write(request)
    folder = Path("exports", slug, made.tier or "")
    if form.is_folder:
        folder = out or folder / form.name
    elif out is not None and out.is_dir():
        folder = out
    written: list[Path] = []
    files = []
    for file, data in made.files.items():
        path = out if out is not None and not form.is_folder and not out.is_dir() else folder / file
        written.append(replace_file(path, data))
        digest = hashlib.sha256(data).hexdigest()
        files.append({"path": str(path), "size": len(data), "sha256": digest})
    said = {"paper": slug, "tier": made.tier, "format": form.name, "files": files}
    return written, said, made.code
