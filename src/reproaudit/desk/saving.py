"""Reading and saving an audit's file: validated before, whole or not at all, never over a change.

A file is saved only if it still holds the bytes that were read. On systems with POSIX locks two
programs that save at once wait for each other; the file itself is locked, so that no other file is
left behind.
"""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import os
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from pathlib import Path

from reproaudit.audit.loading import MAX_AUDIT_BYTES, Fault, read_text
from reproaudit.audit.loading.fault import has_errors
from reproaudit.audit.model import Audit
from reproaudit.audit.rules import Severity
from reproaudit.bounded import UnfitFileError, open_regular, read_regular
from reproaudit.desk.splicing import YamlText
from reproaudit.errors import AuditError, SpecError

try:
    import fcntl
except ImportError:  # no POSIX locks on this system
    fcntl = None  # type: ignore[assignment]

BYTE_ORDER_MARK = "\ufeff"
FIRST_RULE_OF_MODELS = "RA050"
"""Rules below it are about YAML itself; a file that breaks one is not edited."""


class ChangedError(AuditError):
    """The file was changed by something else since it was read."""


class RefusedError(SpecError):
    """An edit that would leave the audit with a fault; nothing was saved."""


@dataclass(frozen=True)
class Version:
    """One version of an audit's file.

    Attributes:
        path: the file.
        bytes: what it holds.
        today: the day against which dates are held.
    """

    path: Path
    bytes: bytes
    today: date

    @property
    def digest(self) -> str:
        """The SHA-256 of the bytes, 64 hexadecimal digits."""
        return hashlib.sha256(self.bytes).hexdigest()

    @cached_property
    def text(self) -> YamlText:
        """The text, without a byte order mark."""
        return YamlText(self.bytes.decode("utf-8-sig"))

    @property
    def audit(self) -> Audit | None:
        """The audit; None if it has errors, as a draft has."""
        return self._read[0]

    @property
    def faults(self) -> list[Fault]:
        """The faults by place."""
        return self._read[1]

    @cached_property
    def _read(self) -> tuple[Audit | None, list[Fault]]:
        return read_text(self.text.text, str(self.path), today=self.today)

    def with_text(self, text: YamlText) -> Version:
        """The version with another text, not saved yet."""
        mark = BYTE_ORDER_MARK if self.bytes.startswith(BYTE_ORDER_MARK.encode()) else ""
        return Version(self.path, (mark + text.text).encode(), self.today)


def read_version(path: Path, today: date | None = None) -> Version:
    """The present version of a file.

    Raises:
        SpecError: if it is no readable YAML that could be edited; the text lists the faults.
    """
    try:
        data = read_regular(path, MAX_AUDIT_BYTES)
    except UnfitFileError as error:
        raise SpecError(f"{path}: found {error.strerror}. Put the audit there again.") from error
    except OSError as error:
        raise SpecError(f"{path}: {error.strerror or error}. Check the path.") from error
    version = Version(path, data, today if today is not None else date.today())
    try:
        broken = [one for one in version.faults if one.rule < FIRST_RULE_OF_MODELS]
        broken = [one for one in broken if one.severity is Severity.ERROR]
    except UnicodeDecodeError as error:
        raise SpecError(f"{path}: found bytes that are no UTF-8. Save it as UTF-8.") from error
    if broken:
        raise SpecError("\n".join(map(str, broken)))
    return version


def save(before: Version, text: YamlText) -> Version:
    """Saves an edited text in place of the version that it was made from.

    A draft, which has errors, may be finished step by step: an edit of it is refused only if it
    brings in an error where it changes something. Another audit is saved only without errors.

    Returns:
        The version that the file holds now; the same one if nothing changed.

    Raises:
        RefusedError: if the edited text has faults that it must not have.
        ChangedError: if the file no longer holds the version before.
        AuditError: if it cannot be written.
    """
    if text.text == before.text.text:
        return before
    after = before.with_text(text)
    refuse_faults(before, after)
    path = before.path.resolve()  # a link stays a link
    try:
        with _locked(path):
            if read_regular(path, MAX_AUDIT_BYTES) != before.bytes:
                raise ChangedError(
                    f"{before.path}: was changed by something else since it was read; nothing was "
                    "saved. Look at the change, and repeat the command."
                )
            _replace(path, after.bytes)
    except OSError as error:
        raise AuditError(f"cannot write {before.path}: {error.strerror or error}.") from error
    return after


def difference(before: Version, after: Version, context: int = 3) -> str:
    """The unified diff from one version to another; empty if they are the same."""
    old, new = (one.text.text.splitlines(keepends=True) for one in (before, after))
    name = before.path.name
    lines = difflib.unified_diff(old, new, f"a/{name}", f"b/{name}", n=context)
    return "".join(line if line.endswith("\n") else line + "\n" for line in lines)


def git_difference(path: Path) -> str | None:
    """The changes since the last commit, from git; None if the file is in no repository."""
    options = ("--no-color", "--no-ext-diff", "--no-textconv")
    try:
        done = subprocess.run(
            ["git", "diff", *options, "HEAD", "--", path.name],
            cwd=path.resolve().parent,
            capture_output=True,
            timeout=20,
        )
        known = subprocess.run(
            ["git", "ls-files", "--error-unmatch", "--", path.name],
            cwd=path.resolve().parent,
            capture_output=True,
            timeout=20,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    if done.returncode or known.returncode:
        return None
    return done.stdout.decode("utf-8", "replace")


def refuse_faults(before: Version, after: Version) -> None:
    """Refuses an edited version with faults that it must not have; see `save`.

    Raises:
        RefusedError: naming the first of them.
    """
    errors = [one for one in after.faults if one.severity is Severity.ERROR]
    if has_errors(before.faults):  # a draft: what was wrong already, or shows only now, may stay
        was = {(one.loc, one.rule) for one in before.faults}
        changed = _changed_locs(before.text.data, after.text.data)
        errors = [
            one
            for one in errors
            if one.rule < FIRST_RULE_OF_MODELS
            or ((one.loc, one.rule) not in was and any(_touches(one.loc, loc) for loc in changed))
        ]
    if errors:
        told = [f"{one.path}: {one.message}. {one.remedy} [{one.rule}]" for one in errors[:5]]
        raise RefusedError("not saved: " + "\n".join(told))


def _changed_locs(a: object, b: object, loc: tuple[str | int, ...] = ()) -> Iterator[tuple]:  # type: ignore[type-arg]
    """The places of the smallest nodes that differ."""
    if isinstance(a, dict) and isinstance(b, dict):
        for name in dict.fromkeys([*a, *b]):
            yield from _changed_locs(a.get(name), b.get(name), (*loc, name))
    elif isinstance(a, list) and isinstance(b, list):
        for i in range(max(len(a), len(b))):
            one, other = a[i : i + 1] or [None], b[i : i + 1] or [None]
            yield from _changed_locs(one[0], other[0], (*loc, i))
    elif a != b:
        yield loc


def _touches(a: tuple[str | int, ...], b: tuple[str | int, ...]) -> bool:
    """True if one of two places in a document contains the other."""
    shorter = min(len(a), len(b))
    return a[:shorter] == b[:shorter]


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Holds the lock of a file, the one that bears the name now and not one replaced meanwhile."""
    while True:
        with open_regular(path, MAX_AUDIT_BYTES) as file:
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_EX)
                if not _is_file(path, os.fstat(file.fileno())):
                    continue
            yield
            return


def _is_file(path: Path, opened: os.stat_result) -> bool:
    return os.path.samestat(path.stat(), opened)


def _replace(path: Path, data: bytes) -> None:
    """Puts bytes in place of a file, whole or not at all, with the permissions that it had."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, stat.S_IMODE(path.stat().st_mode))
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
