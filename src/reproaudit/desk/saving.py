"""Reading and saving a review file: whole or not at all, and never over somebody else's change."""

from __future__ import annotations

import contextlib
import difflib
import fcntl
import hashlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from pathlib import Path

import yaml

from reproaudit.audit import REVIEW_FILE
from reproaudit.audit.catalog import Entry, is_installed
from reproaudit.audit.loading import load_audit, load_reviews
from reproaudit.audit.model import Reviews
from reproaudit.desk.edits import carry_out, sign_off
from reproaudit.errors import AuditError, UsageError
from reproaudit.running.files import write_whole

HEAD = "# Reviewers decide here; `reproaudit review` and the desk write this file whole.\n"


class ChangedError(AuditError):
    """The file was changed by something else since it was read."""


def files_to_review(entry: Entry) -> tuple[Path, Path]:
    """Return the audit and the file of its reviews: never those in the installed package.

    Of an audit that comes with reproaudit it is ``audits/<slug>.yaml`` in the nearest folder, at or
    above the working directory, that has one: the reviewer's own checkout.

    Raises:
        UsageError: if there is only the installed copy.
    """
    file, here = entry.audit_file, Path.cwd()
    name = file.name
    if entry.code is not None and entry.code.importable:  # it comes with reproaudit
        folders = (folder / "audits" for folder in (here, *here.parents))
        file = next((one for at in folders if (one := at / name).is_file()), file)
    if is_installed(file):
        raise UsageError(
            f"{file}: is the copy inside the installed package, which a review does not edit, and "
            f"no audits/{name} stands at or above {here}. Run the command in a checkout, or copy "
            "this file to a folder of yours and give --audits FOLDER."
        )
    return file, file.with_suffix(REVIEW_FILE)


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


def review_audit(
    audit_file: Path, file: Path, reviewer: str, orders: Iterable[str], sign: bool
) -> str:
    """Carry out orders, sign the version off if asked, and save; return what changed, as a diff.

    Args:
        audit_file: the audit.
        file: the file of its reviews.
        reviewer: who reviews.
        orders: what `--set` said; see `reproaudit.desk.edits.carry_out`.
        sign: whether to sign the version off.

    Raises:
        UsageError: if an order cannot be carried out.
        SpecError: if the audit or the review file has faults.
    """
    audit, before, today = load_audit(audit_file), read_version(file), date.today()
    reviews = before.reviews
    for order in orders:
        reviews = carry_out(reviews, audit, order, reviewer, today)
    if sign:
        reviews = sign_off(reviews, audit, reviewer, today)
    return difference(before, save(before, reviews))


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
