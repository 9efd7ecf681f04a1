"""`reproaudit report` where nothing has changed since it last wrote the same pages.

It starts without the libraries that judge and draw: they are imported if there is something to do.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Mapping, Sequence
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
from reproaudit.running.memo import FileState, Memo, Snapshot, look_at

if TYPE_CHECKING:
    from reproaudit.audit.settings import TierName


def report_once(
    entries: Sequence[Entry],
    store: Path,
    tier: TierName | None,
    out: Path,
    formats: frozenset[str],
    as_json: bool,
    group: str | None,
    fail_on: frozenset[str],
    *,
    go_on: bool,
    details: bool,
) -> int:
    """Writes and prints the reports of papers, unless the same stand there already.

    Args:
        entries: the papers.
        store: the folder of records.
        tier: the tier to report; None for the highest one that a paper has.
        out: the report folder.
        formats: the formats to write and print.
        as_json: whether to print JSON instead of the scorecards.
        group: the beginning of the id of the group of records to show; None for today's.
        fail_on: the verdicts and decisions at which the exit code is 1.
        go_on: whether a paper that cannot be shown leaves the others to be shown.
        details: whether to print everything before every claim on one line.

    Returns:
        The exit code.
    """
    named = [(entry.slug, str(entry.audit_file), str(entry.code)) for entry in entries]
    places = [os.path.abspath(store), os.path.abspath(out), os.getcwd(), str(store), str(out)]
    asked = [tier, sorted(formats), as_json, group, go_on, details]
    memo = Memo(["report", named, places, asked, looks_of_output()], files_of(entries, store))
    there = _files_in(out)
    known = memo.answer()
    if known is None or not _stands(known, there):
        known = _reported(entries, store, tier, out, formats, as_json, group, go_on, details)
        after = _files_in(out)
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


def _reported(
    entries: Sequence[Entry],
    store: Path,
    tier: TierName | None,
    out: Path,
    formats: frozenset[str],
    as_json: bool,
    group: str | None,
    go_on: bool,
    details: bool,
) -> dict[str, Any]:
    from reproaudit.commands.report import report_papers
    from reproaudit.running.store import Store

    errors: list[AuditError] = []
    on_error = errors.append if go_on else None
    with overheard() as said:
        cards, written = report_papers(
            entries, Store(store), tier, out, formats, as_json, group, on_error, details
        )
    return {
        "said": said,
        "errors": [(str(error), error.exit_code) for error in errors],
        "outcomes": sorted({str(o) for c in cards for one in c.claims for o in _outcomes(one)}),
        "warned": _warned(said),
        "written": _digests([os.path.abspath(path) for path in written]),
    }


def _warned(said: Said) -> bool:
    """True if more than the names of files was printed on standard error."""
    lines = "".join(text for is_error, text in said if is_error).splitlines()
    return not all(line.startswith("wrote ") for line in lines)


def _outcomes(claim: Any) -> tuple[str, ...]:
    return tuple(one.value for one in (claim.verdict, claim.decision) if one is not None)
