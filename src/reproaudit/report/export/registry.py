"""The registry of export formats: what `export --to` offers."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reproaudit.errors import UsageError, did_you_mean
from reproaudit.lazy import deferred
from reproaudit.report.files import replace_file
from reproaudit.report.model import Scorecard


@dataclass(frozen=True)
class Signature:
    """The statements that only a person can make about a CODECHECK or a crate; unchecked.

    Attributes:
        codecheckers: who checked.
        orcids: their ORCID iDs, in the same order.
        certificate: the CODECHECK register's number.
        report: the address of the published report.
        license_url: the licence under which a crate is shared.
    """

    codecheckers: tuple[str, ...] = ()
    orcids: tuple[str, ...] = ()
    certificate: str | None = None
    report: str | None = None
    license_url: str | None = None


@dataclass(frozen=True)
class ExportRequest:
    """The material of an export.

    Attributes:
        scorecard: reads the scorecard when it is asked for; not every format needs it.
        audit_file: the audit.
        signature: what only a person can say.
        store: the folder of records.
    """

    scorecard: Callable[[], Scorecard]
    audit_file: Path
    signature: Signature
    store: Path = Path("runs")


@dataclass(frozen=True)
class Exported:
    """The files of an export by name, and what else the command must know.

    Attributes:
        files: relative name to content.
        tier: of the scorecard; None if the export is not of one.
        code: the command's exit code.
    """

    files: Mapping[str, bytes]
    tier: str | None
    code: int = 0


@dataclass(frozen=True)
class ExportFormat:
    """A standard format.

    Attributes:
        name: on the command line.
        is_folder: whether it is a folder of files, or a single file.
        options: fields of `Signature` that it has a place for, with the command's option.
        write: makes the files.
    """

    name: str
    is_folder: bool
    options: Mapping[str, str]
    write: Callable[[ExportRequest], Exported]


def _exporter(module: str) -> Callable[[ExportRequest], Exported]:
    """Returns the function ``<module>_export`` of a module below `export`, imported when called."""
    export = deferred(f"reproaudit.report.export.{module}")

    def write(request: ExportRequest) -> Exported:
        found: Exported = getattr(export, f"{module}_export")(request)
        return found

    return write


EXPORTS: Mapping[str, ExportFormat] = {
    one.name: one
    for one in (
        ExportFormat("ro-crate", True, {"license_url": "--license"}, _exporter("ro_crate")),
        ExportFormat("junit", False, {}, _exporter("junit")),
        ExportFormat("sarif", False, {}, _exporter("sarif")),
        ExportFormat("records", False, {}, _exporter("records")),
        ExportFormat(
            "codecheck",
            True,
            {
                "codecheckers": "--codechecker",
                "orcids": "--orcid",
                "certificate": "--certificate",
                "report": "--report-url",
            },
            _exporter("codecheck"),
        ),
    )
}


def export_names() -> str:
    """Returns the formats of ``--to`` for a help text."""
    *first, last = EXPORTS
    return f"{', '.join(first)} or {last}."


def export_format(name: str, signature: Signature) -> ExportFormat:
    """Returns a format by its name, if it has a place for what was signed.

    Raises:
        UsageError: at an unknown name, or an option of another format.
    """
    if name not in EXPORTS:
        raise UsageError(f"--to: no format '{name}'. {did_you_mean(name, EXPORTS)}")
    for one in EXPORTS.values():
        for field, option in one.options.items():
            if one.name != name and getattr(signature, field) not in ((), None):
                raise UsageError(f"{option} goes with --to {one.name}, not with --to {name}.")
    return EXPORTS[name]


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
