"""The registry of export formats: what `export --to` offers, and what several formats share.

A format of several files is a module beside this one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from reproaudit.audit.model import Paper
from reproaudit.errors import UsageError, did_you_mean
from reproaudit.files import write_whole
from reproaudit.formats.scorecard import Scorecard
from reproaudit.lazy import deferred


@dataclass(frozen=True)
class ExportRequest:
    """The material of an export; what only a person can state comes last, and is not checked.

    Attributes:
        scorecard: reads the scorecard, once the request is found to suit the format.
        records: packs the records behind the report of a tier: the file by its name.
        orcids: their ORCID iDs, in the same order.
        certificate: the CODECHECK register's number.
        license_url: the licence under which a crate is shared.
        author_orcids: the ORCID iDs of the paper's authors, in their order.
    """

    scorecard: Callable[[], Scorecard]
    audit_file: Path
    records: Callable[[str], Mapping[str, bytes]]
    codecheckers: tuple[str, ...] = ()
    orcids: tuple[str, ...] = ()
    certificate: str | None = None
    report: str | None = None
    license_url: str | None = None
    author_orcids: tuple[str, ...] = ()


@dataclass(frozen=True)
class Exported:
    """The files of an export by name, and what else the command must know.

    Attributes:
        files: relative name to content.
        tier: of the scorecard.
        missing: what a later version of the format needs and nobody has said.
    """

    files: Mapping[str, bytes]
    tier: str
    missing: tuple[str, ...] = ()


@dataclass(frozen=True)
class ExportFormat:
    """A standard format.

    Attributes:
        export: makes the files.
        is_folder: whether it is a folder of files, or a single file.
        options: the fields of a request that no other format has a place for, with the command's
            option.
    """

    export: Callable[[ExportRequest], Exported]
    is_folder: bool = False
    options: Mapping[str, str] = field(default_factory=dict)


_codecheck = deferred("reproaudit.report.export.codecheck")
_pages = deferred("reproaudit.report.pages")
_ro_crate = deferred("reproaudit.report.export.ro_crate")


def _letter(request: ExportRequest) -> Exported:
    card = request.scorecard()
    return Exported({"letter.md": _pages.letter(card).encode()}, card.tier)


def _records(request: ExportRequest) -> Exported:
    """The records of the scorecard's tier, of those below it, and custom."""
    tier = request.scorecard().tier
    return Exported(request.records(tier), tier)


EXPORTS: Mapping[str, ExportFormat] = {
    "ro-crate": ExportFormat(
        lambda request: _ro_crate.crate(request),
        is_folder=True,
        options={"license_url": "--license"},
    ),
    "letter": ExportFormat(_letter),
    "records": ExportFormat(_records),
    "codecheck": ExportFormat(
        lambda request: _codecheck.codecheck(request),
        is_folder=True,
        options={
            "codecheckers": "--codechecker",
            "author_orcids": "--author-orcid",
            "orcids": "--orcid",
            "certificate": "--certificate",
            "report": "--report-url",
        },
    ),
}


def exported(name: str, request: ExportRequest) -> Exported:
    """Return the files of a format.

    Raises:
        UsageError: at an unknown name, an option of another format, or one without its form.
        StoreError: if something cannot be read.
    """
    if name not in EXPORTS:
        raise UsageError(f"--to: no format '{name}'. {did_you_mean(name, EXPORTS)}")
    for other, form in EXPORTS.items():
        for attribute, option in form.options.items():
            if other != name and getattr(request, attribute) not in ((), None):
                raise UsageError(f"{option} goes with --to {other}, not with --to {name}.")
    return EXPORTS[name].export(request)


def export_files(
    name: str, request: ExportRequest, slug: str, out: Path | None
) -> tuple[list[Path], dict[str, Any]]:
    """Write a format below `exports`, or to a folder or file.

    Args:
        out: a folder, or the file of a format that is one; None for ``exports/SLUG``.

    Returns:
        The files, and what they are as data.

    Raises:
        UsageError: if there is nothing to export, or the request does not suit the format.
        StoreError: if something cannot be read or written.
    """
    made = exported(name, request)
    is_folder = EXPORTS[name].is_folder
    named = None if out is None or is_folder or out.is_dir() else out
    folder = out or Path("exports", slug, made.tier, name if is_folder else "")
    written: list[Path] = []
    files = []
    for file, data in made.files.items():
        path = named or folder / file
        written.append(write_whole(path, data))
        digest = hashlib.sha256(data).hexdigest()
        files.append({"path": str(path), "size": len(data), "sha256": digest})
    said: dict[str, Any] = {"paper": slug, "tier": made.tier, "format": name, "files": files}
    if made.missing:
        said["missing"] = list(made.missing)
    return written, said


class Identifier(NamedTuple):
    """An identifier of a paper."""

    scheme: str
    """DOI, arXiv or OpenReview."""
    value: str
    url: str


def identifiers(paper: Paper) -> tuple[Identifier, ...]:
    """Return a paper's identifiers, the most lasting first.

    Every article of arXiv has a DOI, made of its identifier: 10.48550/arXiv.<identifier>
    (https://info.arxiv.org/help/doi.html).
    """
    found = []
    if paper.arxiv:
        doi = f"10.48550/arXiv.{paper.arxiv}"
        found.append(Identifier("DOI", doi, f"https://doi.org/{quote(doi)}"))
        url = f"https://arxiv.org/abs/{quote(paper.arxiv)}"
        found.append(Identifier("arXiv", paper.arxiv, url))
    if paper.openreview:
        url = f"https://openreview.net/forum?id={quote(paper.openreview, safe='')}"
        found.append(Identifier("OpenReview", paper.openreview, url))
    return tuple(found)
