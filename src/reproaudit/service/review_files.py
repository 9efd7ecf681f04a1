"""`reproaudit review`: what a reviewer says is carried out, and a review file read and saved.

A file is saved whole or not at all, and never over somebody else's change: what is written follows
from what was read under the same lock.
"""

from __future__ import annotations

import difflib
import os
import shlex
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date
from itertools import chain
from pathlib import Path

import yaml

from reproaudit.audit.catalog import Entry, is_installed
from reproaudit.audit.document import read_file
from reproaudit.audit.faults import Faults
from reproaudit.audit.layout import Dumper
from reproaudit.audit.loading import MAX_AUDIT_BYTES, load_audit, load_reviews
from reproaudit.audit.model import TierName
from reproaudit.audit.review import Reviews
from reproaudit.errors import SpecError, UsageError
from reproaudit.files import LOCK_NAME, locked, write_whole
from reproaudit.formats.scorecard import Scorecard
from reproaudit.service.edits import carry_out, sign_off, with_note
from reproaudit.service.workspace import Workspace

HEAD = "# Reviewers decide here; `reproaudit review` and the desk write this file whole.\n"


@dataclass(frozen=True)
class Reviewed:
    """What a review changed, and the command that shows the paper's page."""

    file: Path
    changed: bool
    diff: str
    show: str


def named_reviewer(reviewer: str) -> str:
    """Return who reviews, without blanks around; a UsageError if nobody is named."""
    if not reviewer.strip() or not reviewer.isprintable():
        raise UsageError("say who reviews: --reviewer NAME, a name, initials or a role.")
    return reviewer.strip()


def answers_reviewed(
    workspace: Workspace, entry: Entry, tier: TierName | None = None
) -> Scorecard | None:
    """Return the answers that a note is written for; None if there are none."""
    from reproaudit.scorecard.answers import scorecard_of_paper

    here = (entry, entry.audit(), workspace.records, tier, workspace.pages)
    return scorecard_of_paper(*here, judge_shipped=False)


def command_to_show(workspace: Workspace, slug: str, tier: TierName | None = None) -> str:
    """Return the command that shows a paper's page."""
    store = None if workspace.store == Path("runs") else workspace.store
    options = {"tier": tier, "store": store, "out": workspace.reports, "audits": workspace.audits}
    given = [(f"--{name}", str(value)) for name, value in options.items() if value is not None]
    return shlex.join(["reproaudit", "report", slug, *chain.from_iterable(given)])


def files_to_review(entry: Entry) -> tuple[Path, Path, list[Path]]:
    """Return the audit, its review file, and the copies that were made of these.

    An installed package is never edited: its audit, and what reviewers have said of it, are copied
    to a folder ``audits`` in the working directory, where every command finds the reviews.
    """
    installed = entry.reviewed_file, entry.review_file
    copies: list[Path] = []
    for file in installed if is_installed(entry.audit_file) else ():
        copy = Path.cwd() / "audits" / file.name
        if is_installed(file) and file.is_file() and not copy.exists():
            copies.append(write_whole(copy, file.read_bytes()))
    return entry.reviewed_file, entry.review_file, copies


def save(path: Path, edit: Callable[[Reviews], Reviews]) -> tuple[Reviews, Reviews, str]:
    """Save what an edit makes of a review file; nobody else saves between reading and writing.

    A symbolic link stays a link: the file behind it is replaced. A SpecError if it has faults.

    Returns:
        What the file said, what it says now, and the unified diff, '' if nothing changed.
    """
    file = Path(os.path.realpath(path))
    with locked(file.parent / LOCK_NAME):
        text = _text_of(file)
        before = load_reviews(file, text or None)
        after = edit(before)
        if after == before:
            return before, before, ""
        write_whole(file, written(after), durable=True)
    old, new = (version.splitlines(keepends=True) for version in (text, written(after)))
    diff = difflib.unified_diff(old, new, f"a/{file.name}", f"b/{file.name}", n=0)
    return before, after, "".join(diff)


def _text_of(file: Path) -> str:
    """The text of a review file, '' where there is none; a SpecError if it cannot be read."""
    if not file.exists():
        return ""
    faults = Faults(str(file))
    text = read_file(file, MAX_AUDIT_BYTES, faults)
    if text is None:
        raise SpecError("\n".join(map(str, faults.in_order())))
    return text


def written(reviews: Reviews) -> str:
    """Return the YAML of a review file, in a fixed order."""
    data = reviews.model_dump(exclude_none=True, exclude_defaults=True)
    data = {"schema_version": reviews.schema_version, **{k: v for k, v in data.items() if v}}
    text = yaml.dump(data, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=100)
    return HEAD + text


def review_audit(
    workspace: Workspace,
    entry: Entry,
    reviewer: str,
    orders: Iterable[str] = (),
    *,
    note: str | None = None,
    sign: bool = False,
    tier: TierName | None = None,
) -> Reviewed:
    """Write what a reviewer decides, a note on a tier's present answers, or that they sign off.

    Args:
        orders: such as ``Dataset Splits=disagree: REASON``.

    Raises:
        UsageError: if nobody reviews, an order cannot be carried out, or a note not written.
        SpecError: if the audit or the review file has faults.
    """
    who = named_reviewer(reviewer)
    card = None if note is None else answers_reviewed(workspace, entry, tier)
    if note is not None and card is None:
        raise UsageError(
            f"--note: a note is about answers, and there are none of {entry.slug}: no records, and "
            f"no report. Make them with: reproaudit run {entry.slug}"
        )
    audit_file, file, _ = files_to_review(entry)
    audit = load_audit(audit_file)
    today = date.today()

    def carried_out(reviews: Reviews) -> Reviews:
        for order in orders:
            reviews = carry_out(reviews, audit, order, who, today)
        if note is not None and card is not None:
            reviews = with_note(reviews, note, who, card.answers_digest, today)
        return sign_off(reviews, audit, who, today) if sign else reviews

    diff = save(file, carried_out)[2]
    show = command_to_show(workspace, entry.slug, tier)
    return Reviewed(file=file, changed=bool(diff), diff=diff, show=show)
