"""Files: written whole, listed, moved aside when damaged.

Every error is one line for the user. Nothing in here imports NumPy or torch.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from reproaudit.bounded import UnfitFileError
from reproaudit.errors import AuditError, StoreError, TechnicalError

_OR_ELSEWHERE = "or choose another place: --store for records, --out for pages."


@contextmanager
def explained(action: str, path: Path) -> Iterator[None]:
    """Turns an OSError into a StoreError or TechnicalError: where, what happened, what to do."""
    try:
        yield
    except OSError as error:
        kind, text = _explanation(error)
        raise kind(f"cannot {action} {path}: {text} Records made so far are kept.") from error


def _explanation(error: OSError) -> tuple[type[AuditError], str]:
    if isinstance(error, UnfitFileError):
        return StoreError, f"found {error.strerror}. Move it away."
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return TechnicalError, f"no space is left. Free some, {_OR_ELSEWHERE}"
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        reason = os.strerror(error.errno).lower()
        return StoreError, f"{reason}. Make it accessible, {_OR_ELSEWHERE}"
    if error.errno in (errno.ENOTDIR, errno.EEXIST, errno.EISDIR):
        reason = "a file stands where a folder is needed, or the reverse"
        return StoreError, f"{reason}. Move it away, {_OR_ELSEWHERE}"
    return TechnicalError, f"{error.strerror or error}."


def listing(folder: Path) -> list[Path]:
    """The contents of a folder, sorted by name; empty if there is no such folder."""
    with explained("read", folder), suppress(FileNotFoundError):
        return sorted(folder.iterdir())
    return []


def write_whole(path: Path, content: bytes | str, *, durable: bool = False) -> Path:
    """Writes a file so that it is seen whole or not at all, whenever the process is killed.

    Its folder is made if it is missing. What is ``durable`` survives a power cut, too, which takes
    some milliseconds.

    Raises:
        StoreError: if the place cannot be written to.
        TechnicalError: if the disk is full or failing.
    """
    data = content.encode() if isinstance(content, str) else content
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    with explained("write", path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with open(temporary, "wb") as file:
                file.write(data)
                file.flush()
                if durable:
                    os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            with suppress(OSError):
                temporary.unlink()
            raise
        if durable:
            _sync_folder(path.parent)
    return path


def _sync_folder(folder: Path) -> None:
    """Makes the names in a folder survive a power cut, where the file system can do that."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno != errno.EINVAL:  # a file system that cannot sync folders
            raise
    finally:
        os.close(descriptor)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keeps other programs, and other threads of this one, from writing what a folder holds.

    The lock leaves no file behind; the folder is made if it is missing.

    Raises:
        StoreError, TechnicalError: if the folder cannot be opened or locked.
    """
    with explained("write", folder):
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder, os.O_RDONLY)
    try:
        with explained("lock", folder):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def free_name(path: Path, word: str) -> Path:
    """The first of the names ``<path>.<word>``, ``<path>.<word>1`` and so on that is unused."""
    number = 0
    while (free := path.with_name(f"{path.name}.{word}{number or ''}")).exists():
        number += 1
    return free


def set_aside(path: Path) -> Path | None:
    """Renames a damaged file to a free name that ends in ``.bad``; None if it is gone."""
    aside = free_name(path, "bad")
    with explained("move aside", path), suppress(FileNotFoundError):
        os.replace(path, aside)
        return aside
    return None


def sha256(data: bytes) -> str:
    """The SHA-256 of some bytes, as 64 hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()
