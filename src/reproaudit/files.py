"""Files and folders: read within bounds, written whole, listed, locked, made anew; and git.

What reads files that anybody may have put there takes regular ones alone, of bounded size and
nesting. What writes gives one line for the user where it cannot, and imports no NumPy or torch.
"""

from __future__ import annotations

import errno
import hashlib
import json
import logging
import os
import secrets
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from reproaudit.errors import AuditError, StoreError, TechnicalError, UsageError

if TYPE_CHECKING:
    from filelock import FileLock


LOCK_NAME = ".reproaudit.lock"  # who holds it writes in its folder
PATIENCE_SECONDS = 5.0  # for which a lock is waited for without a word
_POLL_SECONDS = 0.01  # between two attempts to take a lock

_log = logging.getLogger(__name__)


class UnfitFileError(OSError):
    """A file that is not read: a pipe, a device, or one that is too large."""

    def __init__(self, reason: str, path: Path) -> None:
        super().__init__(errno.EINVAL, reason, str(path))


def open_regular(path: Path, most: int, *, follow: bool = True) -> IO[bytes]:
    """Open a regular file of at most so many bytes for reading; a pipe is never waited for.

    Raises:
        UnfitFileError: if it is no regular file, a link that is not to be followed, or larger.
        OSError: if it cannot be read.
    """
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)
    descriptor = os.open(path, flags if follow else flags | getattr(os, "O_NOFOLLOW", 0))
    status = os.fstat(descriptor)
    if stat.S_ISREG(status.st_mode) and status.st_size <= most:
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if stat.S_ISREG(status.st_mode):
        raise UnfitFileError(f"{status.st_size:,} bytes; expected at most {most:,}", path)
    raise UnfitFileError("a pipe or a device; expected a regular file", path)


def read_regular(path: Path, most: int) -> bytes:
    """All of a regular file; arguments and errors as of `open_regular`."""
    with open_regular(path, most) as handle:
        size = os.fstat(handle.fileno()).st_size
        data = handle.read(size + 1)  # asking for the limit would reserve as much
    if len(data) > size:
        raise UnfitFileError("a file that grew while it was read", path)
    return data


def decode_json(text: str | bytes, **hooks: Callable[..., object]) -> Any:
    """The value of a JSON text; a ValueError if it is none, or nested too deeply to be read."""
    try:
        return json.loads(text, **hooks)  # type: ignore[arg-type]
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


# --- writing -----------------------------------------------------------------------------------


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
    if error.errno in (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP):
        reason = (
            "this file system knows no locks (flock), by which runs keep out of each other's way"
        )
        return StoreError, f"{reason}. Mount it with locks, {_OR_ELSEWHERE}"
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

    Its folder is made if it is missing. Until it is whole it has a name that no other writer has,
    on whatever machine or in whatever container. What is ``durable`` survives a power cut, too,
    which takes some milliseconds. Errors are those of `explained`.
    """
    data = content.encode() if isinstance(content, str) else content
    temporary = path.with_name(f"{path.name}.{secrets.token_hex(8)}.tmp")
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
def locked(file: Path) -> Iterator[None]:
    """Keeps other programs, and other threads of this one, out while they ask for the same lock.

    The file stays where it is, empty: one that is removed could be held twice. Who waits longer
    than `PATIENCE_SECONDS` is told for what, once. Errors are those of `explained`.
    """
    lock = file_lock(file)
    with explained("lock", file):
        file.parent.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire(timeout=PATIENCE_SECONDS)
        except TimeoutError:
            _log.warning("%s", awaited(file))
            lock.acquire()
    try:
        yield
    finally:
        lock.release()


def file_lock(file: Path) -> FileLock:
    """A lock that a process loses with its end; never one that merely counts as a lock."""
    from filelock import FileLock  # here, since it loads slowly

    return FileLock(file, fallback_to_soft=False, poll_interval=_POLL_SECONDS)


def awaited(file: Path) -> str:
    """A line for who waits for a lock: which one, and what to do if nobody works there."""
    return (
        f"waiting for the lock {file}, which another program holds or the file system refuses. If "
        "none is at work there, remove that file, whose holder may have died on another machine, "
        "or choose another place."
    )


def same_place(a: Path, b: Path) -> bool:
    """Tell whether two paths lead to one place, through whatever links."""
    return a.resolve() == b.resolve()


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


# --- folders, and git --------------------------------------------------------------------------


_SCRATCH = "reproaudit-held-"
"""Begins the names of these folders; not as in an earlier version, which locked folders themselves
and removes those of its own name that it can lock."""


@contextmanager
def new_folder(folder: Path, remedy: str, replaces: str | None = None) -> Iterator[Path]:
    """Gives a folder to write to, which becomes the wanted one if nothing is raised.

    Args:
        remedy: what to do if something is there, for the message.
        replaces: a folder that holds a file of this name is replaced; None replaces none.

    Raises:
        UsageError: if something is there that is neither an empty folder nor replaced.
        StoreError: if it cannot be written.
    """
    is_folder = folder.is_dir() and not folder.is_symlink()
    is_taken = any(folder.iterdir()) if is_folder else folder.exists() or folder.is_symlink()
    if is_taken and (not is_folder or replaces is None):
        raise UsageError(f"{folder}: exists already; expected a new folder. {remedy}")
    if is_taken and replaces is not None and not (folder / replaces).is_file():
        raise UsageError(
            f"{folder}: holds no {replaces}, so it is not replaced. Name another folder."
        )
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        new = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    except OSError as error:
        raise StoreError(f"{folder}: cannot be written ({error.strerror}).") from error
    try:
        yield new
        new.chmod(0o755)
        if folder.exists():
            shutil.rmtree(folder)
        os.rename(new, folder)
    except OSError as error:
        raise StoreError(f"{folder}: cannot be written ({error.strerror or error}).") from error
    finally:
        shutil.rmtree(new, ignore_errors=True)


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Gives an empty folder among the system's temporary files, and removes it in the end.

    A lock beside it is held until then, or until its process ends. A folder whose lock is free was
    left by a process that was killed; such folders are removed here, if they are this user's.
    """
    for left in Path(tempfile.gettempdir()).glob(f"{_SCRATCH}*"):
        with suppress(OSError):
            _remove_left(left)
    outer = Path(tempfile.mkdtemp(prefix="reproaudit-"))
    lock = file_lock(outer / "lock")
    try:
        with suppress(OSError):  # without locks it keeps a name that nobody removes
            lock.acquire(timeout=0)
            outer = outer.rename(outer.with_name(_SCRATCH + outer.name[-8:]))
        folder = outer / "files"
        folder.mkdir()
        yield folder
    finally:
        shutil.rmtree(outer, ignore_errors=True)
        lock.release()


def _remove_left(outer: Path) -> None:
    """Removes the folder around a scratch folder if it is this user's and its lock is free."""
    status = outer.lstat()  # of a link, the link's own
    lock = outer / "lock"
    if stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid() and lock.is_file():
        with file_lock(lock).acquire(timeout=0):
            shutil.rmtree(outer, ignore_errors=True)


def git(file: Path, *arguments: str) -> str | None:
    """The output of a git command in the folder of a file; None if it fails."""
    command = ["git", "-c", "core.fsmonitor=false", "-C", str(file.parent), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
