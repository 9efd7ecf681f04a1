"""Logs in a zip or tar archive, unpacked into a folder of our own.

An archive may name files outside its folder, hold links, devices, or unpack to far more than it is.
What its members say of themselves is looked at before anything is unpacked: regular files alone,
below the folder, of bounded size.
"""

from __future__ import annotations

import lzma
import stat
import tarfile
import zipfile
import zlib
from pathlib import Path, PurePosixPath

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


def is_archive(file: Path) -> bool:
    """Return True if a file is named as an archive."""
    return file.name.lower().endswith(SUFFIXES)


def unpack(file: Path, place: str, into: Path) -> list[str]:
    """Unpack an archive's regular files; return the names of links and devices in it.

    Raises:
        LogError: if it is damaged, names a file outside itself, or unpacks to too much.
    """
    try:
        with open_log(file, place) as handle:
            if file.name.lower().endswith(".zip"):
                with zipfile.ZipFile(handle) as archive:
                    return _unzip(archive, place, into)
            with tarfile.open(fileobj=handle, mode="r:*") as tar:
                return _untar(tar, place, into)
    except _DAMAGES as error:
        raise LogError(
            place, f"found an archive that cannot be unpacked ({error}); expected a whole one."
        ) from None


def _unzip(archive: zipfile.ZipFile, place: str, into: Path) -> list[str]:
    bounds = _Bounds(place)
    left_out = []
    for one in archive.infolist():
        bounds.count(one.filename, one.file_size)
        if stat.S_ISLNK(one.external_attr >> 16):
            left_out.append(one.filename)
        else:
            archive.extract(one, into)
    return left_out


def _untar(archive: tarfile.TarFile, place: str, into: Path) -> list[str]:
    bounds = _Bounds(place)
    left_out = []
    for one in archive:
        bounds.count(one.name, one.size)
        if one.isreg():
            archive.extract(one, into, filter="data")
        elif not one.isdir():
            left_out.append(one.name)
    return left_out


class _Bounds:
    """Holds members against the limits, one by one before each is unpacked."""

    def __init__(self, place: str) -> None:
        self.place, self.members, self.size = place, 0, 0

    def count(self, name: str, size: int) -> None:
        """Count a member.

        Raises:
            LogError: if its path leads out, or there is too much.
        """
        self.members += 1
        self.size += size
        path = PurePosixPath(name.replace("\\", "/"))
        fault = None
        if path.is_absolute() or ".." in path.parts or ":" in (path.parts or ("",))[0]:
            fault = f"the path '{name[:200]}', which leads out of it; expected none"
        elif len(path.parts) > _MAX_DEPTH:
            fault = f"a path of {len(path.parts)} folders; expected at most {_MAX_DEPTH}"
        elif self.members > MAX_MEMBERS:
            fault = f"more than {MAX_MEMBERS:,} members; expected fewer"
        elif self.size > MAX_UNPACKED_BYTES:
            fault = f"more than {MAX_UNPACKED_BYTES:,} bytes unpacked; expected fewer"
        if fault is not None:
            raise LogError(self.place, f"found {fault}. Unpack it yourself, and import that.")
