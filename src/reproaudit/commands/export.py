"""`reproaudit export`: a scorecard, or the faults of an audit, in formats that others read."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from rich.console import Console

from reproaudit.audit.catalog import Entry
from reproaudit.audit.loading import read_audit
from reproaudit.audit.loading.fault import has_errors
from reproaudit.audit.model import TierName
from reproaudit.commands.report import scorecards_to_report
from reproaudit.errors import SpecError, StoreError, UsageError, did_you_mean
from reproaudit.reports.files import render_json, replace_file
from reproaudit.reports.html import render_html
from reproaudit.reports.markdown import render_markdown
from reproaudit.running.store import Store
from reproaudit.scorecard import Scorecard

Format = Literal["ro-crate", "junit", "sarif", "codecheck"]
EXPORT_FORMATS: tuple[Format, ...] = get_args(Format)
FOLDERS: tuple[Format, ...] = ("ro-crate", "codecheck")
"""The formats that are a folder of files."""

_ABOUT = {
    "scorecard.html": ("text/html", "The scorecard, as a page that needs nothing else"),
    "scorecard.json": ("application/json", "The scorecard with every number, for programs"),
    "scorecard.md": ("text/markdown", "The scorecard as text"),
}
"""Each file of a scorecard: its media type, and what it is."""


@dataclass(frozen=True)
class Signature:
    """What only a person can say of a CODECHECK or a crate; unchecked, as it was written.

    Attributes:
        codecheckers: who checked.
        orcids: their ORCID iDs, in the same order.
        certificate: the CODECHECK register's number.
        report: where the report is published.
        license_url: under which licence a crate is shared.
    """

    codecheckers: tuple[str, ...] = ()
    orcids: tuple[str, ...] = ()
    certificate: str | None = None
    report: str | None = None
    license_url: str | None = None


_OPTIONS: dict[str, tuple[str, Format]] = {
    "codecheckers": ("--codechecker", "codecheck"),
    "orcids": ("--orcid", "codecheck"),
    "certificate": ("--certificate", "codecheck"),
    "report": ("--report-url", "codecheck"),
    "license_url": ("--license", "ro-crate"),
}
"""Each field of a signature: its option, and the format that has a place for it."""


@dataclass(frozen=True)
class ExportSource:
    """Where a scorecard comes from.

    Attributes:
        entry: the paper.
        store: where its records are.
        reports: where its scorecard is, for want of records.
        tier: which scorecard; None for the highest tier that there is.
    """

    entry: Entry
    store: Store
    reports: Path
    tier: TierName | None

    def scorecard(self) -> Scorecard:
        """The scorecard, as a reader of its JSON gets it.

        Raises:
            UsageError: if there are neither records nor a scorecard.
        """
        (card,) = scorecards_to_report([self.entry], self.store, self.tier, self.reports)
        return Scorecard.model_validate_json(render_json(card))


def known_format(name: str) -> Format:
    """A format by its name.

    Raises:
        UsageError: naming the closest one.
    """
    for known in EXPORT_FORMATS:
        if name == known:
            return known
    raise UsageError(f"--to: no format '{name}'. {did_you_mean(name, EXPORT_FORMATS)}")


def export_scorecard(
    source: ExportSource, form: Format, out: Path | None, signature: Signature, as_json: bool
) -> int:
    """Writes a format and says what was written; a bad audit's SARIF gives its exit code.

    Args:
        source: of what.
        form: the format.
        out: a file, or the folder of a format that is one; None for a place below `exports`.
        signature: what only a person can say.
        as_json: whether to print JSON.

    Raises:
        UsageError: if there is nothing to export, or the signature does not suit the format.
        StoreError: if something cannot be written.
    """
    _check_signature(signature, form)
    slug = source.entry.slug
    code = 0
    if form == "sarif":
        text, code = _sarif(source.entry)
        written = _write_one(text, out, Path("exports") / slug, "check.sarif")
        tier = None
    elif form == "junit":
        from reproaudit.reports.export.junit import junit_xml

        card = source.scorecard()
        tier = card.tier
        folder = Path("exports") / slug / tier
        written = _write_one(junit_xml([card]), out, folder, "junit.xml")
    else:
        certified = None
        if form == "codecheck":
            from reproaudit.reports.export.codecheck import certificate

            certified = certificate(
                signature.codecheckers,
                signature.orcids,
                signature.certificate,
                signature.report,
            )
        card = source.scorecard()
        tier = card.tier
        folder = out if out is not None else Path("exports") / slug / tier / form
        if certified is None:
            files = _ro_crate(source.entry, card, signature.license_url)
        else:
            from reproaudit.reports.export.codecheck import codecheck_yml

            files = {f"codecheck/{name}": data for name, data in _pages(card).items()}
            about = {f"codecheck/{name}": text for name, (_, text) in _ABOUT.items()}
            files["codecheck.yml"] = codecheck_yml(card, about, certified).encode()
        written = _write_folder(files, folder)
    _say(written, form, slug, tier, as_json)
    return code


def _check_signature(signature: Signature, form: Format) -> None:
    for field, (option, wanted) in _OPTIONS.items():
        if form != wanted and getattr(signature, field) not in ((), None):
            raise UsageError(f"{option} goes with --to {wanted}, not with --to {form}.")
    url = signature.license_url
    if url is not None and not url.startswith(("https://", "http://")):
        raise UsageError(
            f"--license: found '{url}'; expected an address, such as "
            "https://spdx.org/licenses/CC-BY-4.0."
        )


def _sarif(entry: Entry) -> tuple[str, int]:
    from reproaudit.reports.export.sarif import sarif_log

    _, faults = read_audit(entry.audit_file)
    text = json.dumps(sarif_log(faults), indent=2) + "\n"
    return text, SpecError.exit_code if has_errors(faults) else 0


def _pages(card: Scorecard) -> dict[str, bytes]:
    """The scorecard's files by name, the page first; nothing stands above it to be linked."""
    return {
        "scorecard.html": render_html(card, index=False).encode(),
        "scorecard.json": render_json(card).encode(),
        "scorecard.md": render_markdown(card).encode(),
    }


def _ro_crate(entry: Entry, card: Scorecard, license_url: str | None) -> dict[str, bytes]:
    from reproaudit.reports.export.ro_crate import METADATA, CrateFile, crate_metadata

    try:
        audit = entry.audit_file.read_bytes()
    except OSError as error:
        raise StoreError(f"cannot read {entry.audit_file}: {error.strerror or error}") from error
    files = [CrateFile(name, data, *_ABOUT[name], made=True) for name, data in _pages(card).items()]
    about = "The audit: the paper's claims, settings and documentation as data"
    files.append(CrateFile(entry.audit_file.name, audit, "application/yaml", about, made=False))
    metadata = crate_metadata(card, files, license_url).encode()
    return {**{file.name: file.content for file in files}, METADATA: metadata}


def _write_one(text: str, out: Path | None, folder: Path, name: str) -> dict[Path, bytes]:
    path = folder / name if out is None else out / name if out.is_dir() else out
    data = text.encode()
    replace_file(path, data)
    return {path: data}


def _write_folder(files: Mapping[str, bytes], folder: Path) -> dict[Path, bytes]:
    written = {folder / name: data for name, data in files.items()}
    for path, data in written.items():
        replace_file(path, data)
    return written


def _say(
    written: Mapping[Path, bytes], form: Format, slug: str, tier: str | None, as_json: bool
) -> None:
    if as_json:
        files = [
            {"path": str(path), "size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
            for path, data in written.items()
        ]
        said = {"paper": slug, "tier": tier, "format": form, "files": files}
        sys.stdout.write(json.dumps(said, indent=2, ensure_ascii=False) + "\n")
        return
    for path in written:
        Console().print(f"wrote {path}", highlight=False, markup=False, soft_wrap=True)
