"""The one registry of output formats: what `report`, `multiverse`, `diff` and `export` offer.

A page format writes a document; an export format writes files that other tools read. Commands, help
texts and error messages take the names from here. What renders is imported when it is used, so that
help starts at once.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reproaudit.errors import UsageError, did_you_mean
from reproaudit.lazy import deferred

if TYPE_CHECKING:
    from reproaudit.reports.outline import Document
    from reproaudit.scorecard.model import Scorecard

TERMINAL = "terminal"
"""Printed, and no file."""


# --- pages --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rendered:
    """A document for people, and its data for programs, as JSON has them."""

    document: Document
    data: Mapping[str, Any]


@dataclass(frozen=True)
class PageFormat:
    """A format in which every document can be written.

    Attributes:
        name: on the command line, and the file's ending.
        media_type: such as text/html.
        about: a line for manifests.
        render: makes the file's text.
    """

    name: str
    media_type: str
    about: str
    render: Callable[[Rendered], str]


def json_text(data: Any) -> str:
    """Returns data as JSON: sorted keys, no NaN, one trailing newline, a field a line.

    A row of numbers stands on one line, written at once: a scorecard is mostly such rows.

    Args:
        data: mappings with text as keys, lists, text, numbers, truth values and None.

    Raises:
        ValueError: at a number that is not finite.
    """
    return _laid_out(data, "\n") + "\n"


_encoded = json.JSONEncoder(allow_nan=False, ensure_ascii=False).encode
_quoted = json.encoder.encode_basestring  # the same for text, which takes less long to start
_WORDS = {None: "null", True: "true", False: "false"}
_NUMBERS = {int, float, *map(type, _WORDS)}


def _number(value: float | None) -> str:
    """A number, a truth value or None, as the encoder writes it, which takes long to start."""
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"JSON has no number such as {value}")
    return _WORDS[value] if value is None or isinstance(value, bool) else repr(value)


def _laid_out(value: Any, line: str) -> str:
    """JSON over several lines, each of which begins with ``line``."""
    kind, inner = type(value), f"{line} "
    if kind is str:
        return _quoted(value)
    if kind in _NUMBERS:
        return _number(value)
    if isinstance(value, dict):
        if not value:
            return "{}"
        pairs = [f"{_quoted(k)}: {_laid_out(v, inner)}" for k, v in sorted(value.items())]
        return f"{{{inner}{f',{inner}'.join(pairs)}{line}}}"
    if isinstance(value, list | tuple):
        kinds = set(map(type, value))
        if kinds <= _NUMBERS:
            is_plain = kinds == {int} or (kinds == {float} and all(map(math.isfinite, value)))
            return f"[{','.join(map(repr if is_plain else _number, value))}]"
        rows = f",{inner}".join([_laid_out(one, inner) for one in value])
        return f"[{inner}{rows}{line}]"
    return _encoded(value)


_html, _markdown = deferred("reproaudit.reports.html"), deferred("reproaudit.reports.markdown")

PAGES: Mapping[str, PageFormat] = {
    one.name: one
    for one in (
        PageFormat(
            "html",
            "text/html",
            "as a page that needs nothing else",
            lambda one: str(_html.html_page(one.document)),
        ),
        PageFormat(
            "json",
            "application/json",
            "with every number, for programs",
            lambda one: json_text(one.data),
        ),
        PageFormat(
            "md", "text/markdown", "as text", lambda one: str(_markdown.markdown_text(one.document))
        ),
    )
}


ALL_FORMATS = ",".join((TERMINAL, *PAGES))


def page_names() -> str:
    """Returns the formats of ``--format`` for a help text."""
    *first, last = (TERMINAL, *PAGES)
    return f"{', '.join(first)} and {last}, joined by commas."


def chosen_formats(words: str) -> frozenset[str]:
    """Returns the formats that ``--format`` names.

    Raises:
        UsageError: at a name that is no format.
    """
    return known_formats(word.strip() for word in words.split(",") if word.strip())


def known_formats(names: Iterable[str]) -> frozenset[str]:
    """Returns names of formats, each of them known.

    Raises:
        UsageError: at a name that is no format.
    """
    wanted, known = frozenset(names), (TERMINAL, *PAGES)
    for name in sorted(wanted.difference(known)):
        raise UsageError(f"--format: no format '{name}'. {did_you_mean(name, known)}")
    return wanted


# --- exports ------------------------------------------------------------------------------------


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
    export = deferred(f"reproaudit.reports.export.{module}")

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
