"""A reviewer's session at the desk: reads the files anew for each page, saves, takes back."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from reproaudit.audit.loading import load_audit
from reproaudit.audit.model import Audit, Reviews, VariableName
from reproaudit.desk.saving import Version, read_version, save


class StaleError(Exception):
    """The item that a form showed has changed in the file since."""


@dataclass
class DeskSession:
    """The state of one desk.

    Attributes:
        audit_file: the audit.
        file: the file of the reviews.
        reviewer: who reviews.
        blind: whether others' decisions are hidden until the reviewer's own.
        notice: a sentence for the next page.
    """

    audit_file: Path
    file: Path
    reviewer: str
    blind: bool
    notice: str = ""
    _steps: list[tuple[str, Version, Version]] = field(default_factory=list)

    @property
    def audit(self) -> Audit:
        """The present audit."""
        return load_audit(self.audit_file)

    @property
    def last(self) -> str:
        """What the last edit did that can be taken back; empty if there is none."""
        return self._steps[-1][0] if self._steps else ""

    def edit(self, words: str, item: str, stamp: str, change: Callable[[Reviews], Reviews]) -> None:
        """Make one edit in the present version and save it.

        Args:
            words: what the edit does, for the reviewer.
            item: what it is about; see `stamp_of`.
            stamp: the stamp of the item that the form showed.
            change: the edit.

        Raises:
            StaleError: if the item has changed since the form was shown.
            AuditError: if the edit is refused or cannot be saved.
        """
        before = read_version(self.file)
        if stamp_of(before.reviews, item) != stamp:
            raise StaleError
        after = save(before, change(before.reviews))
        self.notice = "Nothing to change."
        if after is not before:
            self._steps.append((words, before, after))
            self.notice = f"Saved: {words}."

    def undo(self) -> None:
        """Take the last edit back, if the file still is what that edit made of it."""
        if not self._steps:
            self.notice = "Nothing to take back."
            return
        words, before, after = self._steps[-1]
        present = read_version(self.file)
        if present.digest != after.digest:
            self.notice = "Not taken back: the file has been changed elsewhere since."
            return
        save(present, before.reviews)
        self._steps.pop()
        self.notice = f"Taken back: {words}."


def stamp_of(reviews: Reviews, item: str) -> str:
    """Return a stamp of everything that a review file says of a variable or another item."""
    if item in set(VariableName):
        shown: object = reviews.variables.get(VariableName(item), ())
    elif item == "sign-off":
        shown = reviews.sign_offs
    else:
        kind, _, name = item.partition(" ")
        shown = [one for one in reviews.disputes if getattr(one, kind) == name]
    return hashlib.sha256(repr(shown).encode()).hexdigest()[:24]
