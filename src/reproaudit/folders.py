"""The folder of reports; new folders, renamed into place whole; temporary folders; git."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from reproaudit.errors import StoreError, UsageError

_SCRATCH = "reproaudit-scratch-"


def report_folder(given: Path | None, store: Path) -> Path:
    """The folder of reports: the given one, else ``reports`` beside the folder of records."""
    return store.parent / "reports" if given is None else given


@contextmanager
def new_folder(folder: Path, remedy: str, replaces: str | None = None) -> Iterator[Path]:
    """Gives a folder to write to, which becomes the wanted one if nothing is raised.

    Args:
        folder: the wanted folder; nothing may be there but an empty folder.
        remedy: what to do if something is there, for the message.
        replaces: a folder that holds a file of this name is replaced; None replaces none.

    Raises:
        UsageError: if the wanted folder is there already and is not replaced.
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

    It is locked for so long, and the system ends a lock with its process. So those that are free
    were left by processes that were killed; they are removed here, if they are this user's.
    """
    for one in Path(tempfile.gettempdir()).glob(f"{_SCRATCH}*"):
        with suppress(OSError), _opened(one) as descriptor:
            if os.fstat(descriptor).st_uid == os.getuid():
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(one, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix="reproaudit-"))
    try:
        with _opened(folder) as descriptor:
            with suppress(OSError):  # without locks it keeps a name that nobody removes
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                folder = folder.rename(folder.with_name(_SCRATCH + folder.name[-8:]))
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def git(file: Path, *arguments: str) -> str | None:
    """The output of a git command in the folder of a file; None if it fails."""
    command = ["git", "-c", "core.fsmonitor=false", "-C", str(file.parent), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


@contextmanager
def _opened(folder: Path) -> Iterator[int]:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
