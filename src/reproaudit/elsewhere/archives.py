"""Logs in a zip or tar archive, unpacked into a folder of our own.

An archive may name files outside its folder, hold links, devices, or unpack to far more than it is.
What its members say of themselves is looked at before each is unpacked: regular files alone, below
the folder, of bounded size.
"""

from __future__ import annotations

import lzma
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO

from reproaudit.elsewhere.logged import LogError, open_log

SUFFIXES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")
MAX_UNPACKED_BYTES = 2**31
MAX_MEMBERS = 100_000
_MAX_DEPTH = 64
"""Of the folders in a path."""
_DAMAGES = (
    *(zipfile.BadZipFile, NotImplementedError, RuntimeError, ValueError),
    *(tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, OSError),
)
_Member = tuple[str, int, Callable[[], object] | None]
"""Name, size, and what unpacks it; None for a link or a device."""


def is_archive(file: Path) -> bool:
    """Return True if a file is named as an archive."""
    return file.name.lower().endswith(SUFFIXES)


def unpack(file: Path, place: str, into: Path) -> list[str]:
    """Unpack an archive's regular files; return the names of links and devices in it."""
    left_out, size = [], 0
    try:
        with open_log(file, place) as handle:
            read = _zipped if file.name.lower().endswith(".zip") else _tarred
            for count, (name, own, extract) in enumerate(read(handle, into), start=1):
                size += own
                if fault := _fault(name, count, size):
                    raise LogError(place, f"found {fault}. Unpack it yourself, and import that.")
                if extract is None:
                    left_out.append(name)
                else:
                    extract()
    except _DAMAGES as error:
        raise LogError(
            place, f"found an archive that cannot be unpacked ({error}); expected a whole one."
        ) from None
    return left_out


def _zipped(handle: IO[bytes], into: Path) -> Iterator[_Member]:
    with zipfile.ZipFile(handle) as archive:
        for one in archive.infolist():
            is_link = stat.S_ISLNK(one.external_attr >> 16)
            yield (
                one.filename,
                one.file_size,
                None if is_link else partial(archive.extract, one, into),
            )


def _tarred(handle: IO[bytes], into: Path) -> Iterator[_Member]:
    with tarfile.open(fileobj=handle, mode="r:*") as archive:
        for one in archive:
            if not one.isdir():
                extract = partial(archive.extract, one, into, filter="data")
                yield one.name, one.size, extract if one.isreg() else None


def _fault(name: str, count: int, size: int) -> str | None:
    """Tell why a member is refused: its path leads out, or there is too much up to it."""
    path = PurePosixPath(name.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or ":" in (path.parts or ("",))[0]:
        return f"the path '{name[:200]}', which leads out of it; expected none"
    if len(path.parts) > _MAX_DEPTH:
        return f"a path of {len(path.parts)} folders; expected at most {_MAX_DEPTH}"
    if count > MAX_MEMBERS:
        return f"more than {MAX_MEMBERS:,} members; expected fewer"
    if size > MAX_UNPACKED_BYTES:
        return f"more than {MAX_UNPACKED_BYTES:,} bytes unpacked; expected fewer"
    return None
