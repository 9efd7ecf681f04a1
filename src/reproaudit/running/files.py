"""Files of the store: written whole, checked when read, moved aside when damaged.

Every error is one line for the user. Nothing in here imports torch.
"""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from reproaudit.bounded import UnfitFileError
from reproaudit.errors import AuditError, StoreError, TechnicalError

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_CLOSED = {errno.EACCES, errno.EPERM, errno.EROFS}
_NO_FOLDER = {errno.ENOTDIR, errno.EEXIST, errno.EISDIR}


class DamagedError(Exception):
    """A file holds something other than what was written to it; the text says how it shows."""


def _fault(action: str, path: Path, error: OSError) -> AuditError:
    """One line for the user: where, what happened, what to do."""
    where = f"cannot {action} {path}"
    kept = "Records made so far are kept."
    if isinstance(error, UnfitFileError):
        return StoreError(f"{where}: found {error.strerror}. Move it away. {kept}")
    if error.errno in _FULL:
        return TechnicalError(
            f"{where}: no space is left. Free some, or choose another place with --store. {kept}"
        )
    if error.errno in _CLOSED:
        return StoreError(
            f"{where}: {os.strerror(error.errno or 0).lower()}. "
            f"Make it accessible, or choose another place with --store. {kept}"
        )
    if error.errno in _NO_FOLDER:
        return StoreError(
            f"{where}: a file stands where a folder is needed, or the reverse. "
            f"Move it away, or choose another place with --store. {kept}"
        )
    return TechnicalError(f"{where}: {error.strerror or error}. {kept}")


@contextmanager
def explained(action: str, path: Path) -> Iterator[None]:
    """Turns an OSError into a StoreError or TechnicalError of one line."""
    try:
        yield
    except OSError as error:
        raise _fault(action, path, error) from error


def listing(folder: Path) -> list[Path]:
    """The contents of a folder, sorted by name; empty if there is no such folder."""
    with explained("read", folder), suppress(FileNotFoundError):
        return sorted(folder.iterdir())
    return []


def sync_folder(folder: Path) -> None:
    """Makes the names in a folder survive a power cut, where the file system can do that."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno != errno.EINVAL:  # a file system that cannot sync folders
            raise
    finally:
        os.close(descriptor)


def write_whole(path: Path, data: bytes, *, durable: bool) -> None:
    """Writes a file so that it is seen whole or not at all, whenever the process is killed.

    Args:
        path: the file; its folder is made if it is missing.
        data: the contents.
        durable: whether the file must also survive a power cut, which takes some milliseconds.

    Raises:
        StoreError: if the place cannot be written to.
        TechnicalError: if the disk is full or failing.
    """
    temporary = path.with_name(path.name + ".tmp")
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
            sync_folder(path.parent)


def free_name(path: Path, word: str) -> Path:
    """The first of the names ``<path>.<word>``, ``<path>.<word>1`` and so on that is unused."""
    number = 0
    while (free := path.with_name(f"{path.name}.{word}{number or ''}")).exists():
        number += 1
    return free


def sha256(data: bytes) -> str:
    """The SHA-256 of some bytes, as 64 hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


_MARK = b"reproaudit"


def seal(body: bytes, place: str) -> bytes:
    """The body behind a line with its length and a SHA-256 over place and body.

    Args:
        body: any bytes.
        place: what the file is, so that one file put in the place of another is noticed.
    """
    digest = sha256(place.encode() + b"\n" + body)
    return b"%s %d %s\n%s" % (_MARK, len(body), digest.encode(), body)


def unseal(data: bytes, place: str) -> bytes:
    """The body that `seal` was given.

    Raises:
        DamagedError: if anything differs from what `seal` wrote for this place.
    """
    head, newline, body = data.partition(b"\n")
    words = head.split(b" ")
    if len(words) != 3 or words[0] != _MARK or not newline:
        raise DamagedError("it has no line with length and digest")
    if words[1] != b"%d" % len(body):
        raise DamagedError(f"it has {len(body)} bytes, and its header states another number")
    if seal(body, place) != data:
        raise DamagedError("its content does not have the SHA-256 that it states")
    return body
