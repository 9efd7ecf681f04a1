"""`reproaudit report` where nothing has changed since it last wrote the same pages.

It starts without the libraries that judge and draw: they are imported if there is something to do.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reproaudit.audit.catalog import Entry
from reproaudit.commands.output import say
from reproaudit.commands.remembering import (
    Said,
    files_of,
    looks_of_output,
    overheard,
    say_again,
)
from reproaudit.errors import AuditError
from reproaudit.reports.formats import TERMINAL
from reproaudit.running.memo import FileState, Memo, Snapshot, look_at

if TYPE_CHECKING:
    from reproaudit.audit.settings import TierName


@dataclass(frozen=True)
class ReportRequest:
    """The arguments of `reproaudit report`.

    Attributes:
        entries: the papers.
        store: the folder of records.
        tier: the tier to report; None for the highest one that a paper has.
        out: the report folder.
        formats: the formats to write and print.
        as_json: whether to print JSON instead of the scorecards.
        group: the beginning of the id of the group of records to show; None for today's.
        go_on: whether a paper that cannot be shown leaves the others to be shown.
        details: whether to print everything before every claim on one line.
    """

    entries: Sequence[Entry]
    store: Path
    tier: TierName | None
    out: Path
    formats: frozenset[str]
    as_json: bool
    group: str | None
    go_on: bool
    details: bool

    @property
    def pages(self) -> frozenset[str]:
        """The formats that are files."""
        return self.formats - {TERMINAL}

    @property
    def draws(self) -> bool:
        """True if scorecards are printed whole."""
        return self.as_json or (self.details and TERMINAL in self.formats)

    @property
    def question(self) -> list[Any]:
        """The request as JSON can hold it, with the places and the terminal that it is made in."""
        named = [(one.slug, str(one.audit_file), str(one.code), one.salt) for one in self.entries]
        store, out = self.store, self.out
        places = [os.path.abspath(store), os.path.abspath(out), os.getcwd(), str(store), str(out)]
        asked = [self.tier, sorted(self.formats), self.as_json, self.group]
        return [
            "report",
            named,
            places,
            [*asked, self.go_on, self.details],
            looks_of_output(),
        ]


def report_once(request: ReportRequest, fail_on: frozenset[str]) -> int:
    """Writes and prints the reports of papers, unless the same stand there already.

    Returns:
        The exit code: 1 if a verdict or decision is among `fail_on`.
    """
    memo = Memo(request.question, files_of(request.entries, request.store))
    there = _files_in(request.out)
    known = memo.answer()
    if known is None or not _stands(known, there):
        known = _reported(request)
        after = _files_in(request.out)
        if there is not None and after is not None:
            touched = [path for path, seen in after.items() if there.get(path) != seen]
            known["written"] |= _digests(touched)
            around = Snapshot.of(after, without=known["written"])
            if around.is_settled and not known["warned"]:
                memo.keep({**known, "around": around.digest})
    else:
        say_again(known["said"])
    for text, _ in known["errors"]:
        say(text, stderr=True, style="red")
    if known["errors"]:
        return int(known["errors"][0][1])
    return int(any(outcome in fail_on for outcome in known["outcomes"]))


def _stands(known: Mapping[str, Any], there: Mapping[str, FileState] | None) -> bool:
    """True if the pages hold what was written to them, and no other file of the folder changed."""
    if there is None or Snapshot.of(there, without=known["written"]).digest != known["around"]:
        return False
    return _digests(known["written"]) == dict(known["written"])


def _files_in(out: Path) -> dict[str, FileState] | None:
    """The state of every file of the report folder; no file if there is no folder yet."""
    there = look_at([out])
    return None if there is None else {path: seen for path, seen in there.items() if seen}


def _digests(paths: Collection[str]) -> dict[str, str]:
    """The SHA-256 of files; of one that cannot be read, nothing."""
    found = {}
    for path in paths:
        try:
            with open(path, "rb") as file:
                found[path] = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError:
            found[path] = ""
    return found


def _reported(request: ReportRequest) -> dict[str, Any]:
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # NumPy's threads wait for work by spinning
    from reproaudit.commands.report import report_papers

    errors: list[AuditError] = []
    with overheard() as said:
        outcomes, written = report_papers(request, errors.append if request.go_on else None)
    return {
        "said": said,
        "errors": [(str(error), error.exit_code) for error in errors],
        "outcomes": sorted(outcomes),
        "warned": _warned(said),
        "written": _digests([os.path.abspath(path) for path in written]),
    }


def _warned(said: Said) -> bool:
    """True if more than the names of files was printed on standard error."""
    lines = "".join(text for is_error, text in said if is_error).splitlines()
    return not all(line.startswith("wrote ") for line in lines)
