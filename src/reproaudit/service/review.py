"""`reproaudit review`: what was decided, and the answers that a note is for."""

from __future__ import annotations

from pathlib import Path

from reproaudit.audit.catalog import Entry
from reproaudit.declarations import StrictModel
from reproaudit.errors import UsageError
from reproaudit.formats.scorecard import Scorecard


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


def note_for(text: str, entry: Entry, card: Scorecard | None) -> tuple[str, str]:
    """Return a note with the digest of the answers that it is for; a UsageError without them."""
    if card is None:
        raise UsageError(
            f"--note: a note is about answers, and there are none of {entry.slug}: no records, and "
            f"no report. Make them with: reproaudit run {entry.slug}"
        )
    return text, card.answers_digest
