"""`reproaudit review`: what was decided, the answers that a note is for, and what shows them."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from pathlib import Path

from reproaudit.audit.catalog import Entry
from reproaudit.audit.model import TierName
from reproaudit.declarations import StrictModel
from reproaudit.errors import UsageError
from reproaudit.formats.scorecard import Scorecard
from reproaudit.scorecard.answers import scorecard_of_paper
from reproaudit.service.review_files import files_to_review, review_audit
from reproaudit.store.records import Store


class Reviewed(StrictModel):
    """What a review changed."""

    file: Path
    changed: bool
    diff: str
    show: str
    """The command that shows the paper's page."""

    @property
    def data(self) -> dict[str, object]:
        """What ``--json`` prints."""
        return self.model_dump(mode="json")


def named_reviewer(reviewer: str) -> str:
    """Return who reviews, without blanks around; a UsageError if nobody is named."""
    if not reviewer.strip() or not reviewer.isprintable():
        raise UsageError("say who reviews: --reviewer NAME, a name, initials or a role.")
    return reviewer.strip()


def review_paper(
    entry: Entry,
    reviewer: str,
    orders: Iterable[str],
    note: tuple[str, str] | None,
    sign: bool,
    show: str,
) -> Reviewed:
    """Carry out a reviewer's orders; arguments and errors are those of `review_audit`.

    Args:
        show: the command that shows the paper's page.
    """
    audit_file, file, _ = files_to_review(entry)
    changes = review_audit(audit_file, file, named_reviewer(reviewer), orders, sign, note)
    return Reviewed(file=file, changed=bool(changes), diff=changes, show=show)


def answered(entry: Entry, store: Path, reports: Path, tier: TierName | None) -> Scorecard | None:
    """Return the scorecard that a note is written for, without judging shipped records again.

    Raises:
        AuditError: if it cannot be read.
    """
    audit = entry.audit()
    return scorecard_of_paper(entry, audit, Store(store), tier, reports, judge_shipped=False)


def note_for(text: str, entry: Entry, card: Scorecard | None) -> tuple[str, str]:
    """Return a note with the digest of the answers that it is for; a UsageError without them."""
    if card is None:
        raise UsageError(
            f"--note: a note is about answers, and there are none of {entry.slug}: no records, and "
            f"no report. Make them with: reproaudit run {entry.slug}"
        )
    return text, card.answers_digest


def command_to_show(slug: str, **options: object) -> str:
    """Return the command that shows a paper's page, with the options that are not None."""
    given = [(f"--{name}", str(value)) for name, value in options.items() if value is not None]
    return shlex.join(["reproaudit", "report", slug, *(word for pair in given for word in pair)])
