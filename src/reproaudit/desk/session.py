"""A reviewer's session at the desk. It reads the files anew for each page."""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import yaml

from reproaudit.audit.loading import load_audit
from reproaudit.audit.model import Audit
from reproaudit.audit.review import Reviews
from reproaudit.declarations import StrictModel
from reproaudit.formats.scorecard import Scorecard
from reproaudit.service.edits import NOTE, audited, entries_on
from reproaudit.service.review_files import save

STALE = "Not saved: what this form is about has changed since you opened the page."
"""What the reviewer reads first of a form that is refused."""


class StaleError(Exception):
    """What a form was made from has changed, as `change` shows line by line; nothing was saved."""

    def __init__(self, words: str, change: str = "") -> None:
        super().__init__(words)
        self.change = change


@dataclass(frozen=True)
class Step:
    """An edit that can be taken back, by a form that carries its stamp."""

    stamp: str
    words: str
    before: Reviews
    after: Reviews


@dataclass
class DeskSession:
    """The state of a desk; if `blind`, others' decisions are hidden until the reviewer decides."""

    audit_file: Path
    file: Path
    reviewer: str
    blind: bool
    read_scorecard: Callable[[], Scorecard | None] = lambda: None
    notice: str = ""
    _card: Scorecard | None = None
    _has_read: bool = False
    _steps: list[Step] = field(default_factory=list)
    _numbers: count[int] = field(default_factory=count)
    _shown: dict[str, Any] = field(default_factory=dict)

    @property
    def audit(self) -> Audit:
        """The present audit."""
        return load_audit(self.audit_file)

    @property
    def last(self) -> Step | None:
        """The last edit that can be taken back."""
        return self._steps[-1] if self._steps else None

    def scorecard(self, *, again: bool = False) -> Scorecard | None:
        """Return the answers that a note is about, read once unless asked for again."""
        if again or not self._has_read:
            self._card = self.read_scorecard()
            self._has_read = True
        return self._card

    def stamp(self, audit: Audit, reviews: Reviews, item: str) -> str:
        """Return the stamp of what a form shows and changes; see `audited`."""
        shown = {
            "audit": _as_data(audited(audit, item)),
            "reviews": _as_data(entries_on(reviews, audit, item, self.reviewer, self.blind)),
        }
        if item == NOTE and self._card is not None:
            shown["answers"] = [
                self._card.answers_digest,
                *(f"{o.name}: {o.outcome}, {o.base.yes} of {o.base.n}" for o in self._card.claims),
            ]
        stamp = hashlib.sha256(json.dumps(shown).encode()).hexdigest()[:24]
        self._shown[stamp] = shown
        return stamp

    def edit(
        self, words: str, item: str, stamp: str, change: Callable[[Reviews, Audit], Reviews]
    ) -> None:
        """Make one edit in the present version, which its words describe, and save it.

        Raises:
            StaleError: if the audit or the reviews say something else than when the form was made.
            AuditError: if the edit is refused or cannot be saved.
        """
        audit = self.audit

        def checked(reviews: Reviews) -> Reviews:
            now = self.stamp(audit, reviews, item)
            if now != stamp:
                was = self._shown.get(stamp, self._shown[now])
                before, after = (_as_yaml(shown).splitlines() for shown in (was, self._shown[now]))
                lines = difflib.unified_diff(before, after, n=0, lineterm="")
                changed = [line for line in list(lines)[2:] if not line.startswith("@@")]
                raise StaleError(STALE, "\n".join(changed))
            return change(reviews, audit)

        before, after, _ = save(self.file, checked)
        self.notice = "Nothing to change."
        if after is not before:
            self._steps.append(Step(str(next(self._numbers)), words, before, after))
            self.notice = f"Saved: {words}."

    def undo(self, stamp: str) -> None:
        """Take the last edit back if it has the form's stamp; errors as of `edit`."""
        last = self.last
        if last is None:
            raise StaleError("Nothing to take back: it was taken back already.")
        if last.stamp != stamp:
            raise StaleError(f"Not taken back: your last act is another by now: {last.words}.")

        def taken_back(reviews: Reviews) -> Reviews:
            versions = (reviews, last.before, last.after)
            fields = {
                name: undone(*(getattr(version, name) for version in versions))
                for name in Reviews.model_fields
            }
            return reviews.model_copy(update=fields)

        save(self.file, taken_back)
        self._steps.pop()
        self.notice = f"Taken back: {last.words}."


def undone(now: Any, before: Any, after: Any) -> Any:
    """Return what there is now without an edit, or raise a StaleError if that has changed."""
    if before == after:
        return now
    if now == after:
        return before
    if isinstance(now, Mapping):
        names = dict.fromkeys((*now, *before))
        parts = {
            name: undone(*(version.get(name, ()) for version in (now, before, after)))
            for name in names
        }
        return {name: part for name, part in parts.items() if part}
    added = [entry for entry in after if entry not in before] if isinstance(after, tuple) else None
    if added is None or any(entry not in now for entry in added):
        raise StaleError("Not taken back: what it changed has changed since.")
    removed = (entry for entry in before if entry not in after)
    return (*(entry for entry in now if entry not in added), *removed)


def _as_data(models: Sequence[StrictModel]) -> list[Any]:
    return [model.model_dump(mode="json", by_alias=True, exclude_defaults=True) for model in models]


def _as_yaml(data: object) -> str:
    return yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=100)
