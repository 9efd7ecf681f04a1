"""Reading and saving a review file: whole or not at all, and never over somebody else's change."""

from __future__ import annotations

import contextlib
import difflib
import fcntl
import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import yaml

from reproaudit.audit.loading import load_reviews
from reproaudit.audit.reviews import Reviews
from reproaudit.errors import AuditError
from reproaudit.running.files import write_whole

HEAD = "# Reviewers decide here; `reproaudit review` and the desk write this file whole.\n"


class ChangedError(AuditError):
    """The file was changed by something else since it was read."""


@dataclass(frozen=True)
class Version:
    """What a review file says.

    Attributes:
        path: the file, whether it exists or not.
        text: what it holds; empty where there is no file.
        reviews: what it says.
    """

    path: Path
    text: str
    reviews: Reviews

    @property
    def digest(self) -> str:
        """The SHA-256 of the text, 64 hexadecimal digits."""
        return hashlib.sha256(self.text.encode()).hexdigest()


def read_version(path: Path) -> Version:
    """Read a review file; an empty version where there is none.

    Raises:
        SpecError: if it has faults.
    """
    reviews = load_reviews(path)
    return Version(path, _text_of(path), reviews)


def save(before: Version, reviews: Reviews) -> Version:
    """Save what a review file is to say, in place of the version that it was made from.

    Returns:
        The version that the file holds now; the same one if nothing changed.

    Raises:
        ChangedError: if the file no longer holds the version before.
        AuditError: if it cannot be written.
    """
    if reviews == before.reviews:
        return before
    text = written(reviews)
    try:
        with _locked(before.path):
            if _text_of(before.path) != before.text:
                raise ChangedError(
                    f"{before.path}: was changed by something else since it was read; nothing was "
                    "saved. Look at the change, and repeat the command."
                )
            write_whole(before.path, text.encode(), durable=True)
    except OSError as error:
        raise AuditError(f"cannot write {before.path}: {error.strerror or error}.") from error
    return Version(before.path, text, reviews)


def written(reviews: Reviews) -> str:
    """Return the YAML of a review file, in a fixed order."""
    data = reviews.model_dump(exclude_none=True, exclude_defaults=True)
    data = {"schema_version": reviews.schema_version, **{k: v for k, v in data.items() if v}}
    text = yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)
    return HEAD + text


class _Dumper(yaml.SafeDumper):
    """Writes tuples as lists and words of a fixed set as text."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002
        """Write equal entries out."""
        return True


_Dumper.add_representer(tuple, lambda dumper, data: dumper.represent_list(data))
_Dumper.add_multi_representer(StrEnum, lambda dumper, data: dumper.represent_str(data.value))


def difference(before: Version, after: Version) -> str:
    """Return the unified diff from one version to another; empty if they are the same."""
    old, new = (one.text.splitlines(keepends=True) for one in (before, after))
    name = before.path.name
    return "".join(difflib.unified_diff(old, new, f"a/{name}", f"b/{name}", n=0))


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold the lock of the folder, so that two reviewers' programs save after each other."""
    handle = os.open(path.parent, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
