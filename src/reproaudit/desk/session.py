"""One reviewer's session at the desk: reads the file anew for each page, edits it, takes back.

A form tells what it showed by a stamp of that one item. If the item is still the same in the file,
the edit is made in the present text, whatever else has changed meanwhile; if not, it is refused and
the reviewer chooses.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from reproaudit.audit.loading import MAX_AUDIT_BYTES
from reproaudit.bounded import read_regular
from reproaudit.desk.saving import ChangedError, Version, read_version, save
from reproaudit.desk.splicing import YamlText

TRIES = 5
"""The number of attempts at an edit, if the file changes between reading and saving."""


class StaleError(Exception):
    """The item that a form showed has changed in the file since."""


@dataclass(frozen=True)
class Step:
    """A saved edit: what it did, in words, and the versions before and after it."""

    words: str
    before: Version
    after: Version


@dataclass
class DeskSession:
    """The state of one desk.

    Attributes:
        path: the audit's file.
        reviewer: who reviews.
        blind: whether the others' words are hidden until the reviewer's own stand.
        steps: the saved edits that can be taken back, the last one at the end.
        told: a sentence for the next page.
        opened: the kind and the name of each claim, setting and finding whose page was shown.
    """

    path: Path
    reviewer: str
    blind: bool
    steps: list[Step] = field(default_factory=list)
    told: str = ""
    opened: set[tuple[str, str]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.first = self._last = self._saved = read_version(self.path)

    def read(self) -> Version:
        """The present version of the file.

        Raises:
            SpecError: if it is no readable YAML any more.
        """
        with contextlib.suppress(OSError):
            same = read_regular(self.path, MAX_AUDIT_BYTES) == self._last.bytes
            if same and self._last.today == date.today():
                return self._last  # with what has been worked out already
        self._last = read_version(self.path)
        return self._last

    def edit(
        self,
        words: str,
        stamp: str,
        stamp_now: Callable[[Version], str],
        change: Callable[[YamlText, date], YamlText],
    ) -> None:
        """Makes one edit in the present version and saves it.

        Args:
            words: what the edit does, for the reviewer.
            stamp: the stamp of the item that the form showed.
            stamp_now: the stamp of the same item in a version.
            change: the edit.

        Raises:
            StaleError: if the item has changed.
            AuditError: if the edit is refused.
        """
        for tried in range(1, TRIES + 1):
            before = self.read()
            if stamp_now(before) != stamp:
                raise StaleError
            try:
                after = save(before, change(before.text, before.today))
            except ChangedError:
                if tried == TRIES:
                    raise
                continue
            if after is before:
                self.told = "Nothing to change."
                return
            self.steps.append(Step(words, before, after))
            self.told = f"Saved: {words}."
            if before.bytes != self._saved.bytes:
                self.told += " The file had been changed elsewhere; both changes are in it."
            self._last = self._saved = after
            return

    def undo(self, digest: str) -> None:
        """Takes the last edit back, if the file still is what that edit made of it."""
        present = self.read()
        if not self.steps or self.steps[-1].after.digest != digest:
            self.told = "Nothing was taken back: that was not the last edit."
            return
        last = self.steps[-1]
        if present.bytes != last.after.bytes:
            self.told = (
                "Nothing was taken back: the file has been changed elsewhere since. "
                "Change the item itself, or use git."
            )
            return
        self._last = self._saved = save(present, last.before.text)
        self.steps.pop()
        self.told = f"Taken back: {last.words}."


def stamp_of(*items: object) -> str:
    """A stamp of what a form shows."""
    text = json.dumps(items, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:24]
