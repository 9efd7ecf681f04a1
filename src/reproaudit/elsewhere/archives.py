"""Logs in a zip or tar archive, unpacked into a folder of our own.

An archive may name files outside its folder, hold links, devices, or unpack to far more than it is.
Names that lead out are refused, links are passed over, and what comes out is counted as it comes.
"""

from __future__ import annotations

import lzma
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO

from reproaudit.elsewhere.logged import LogError
from reproaudit.elsewhere.reading import open_log

SUFFIXES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")
MAX_UNPACKED_BYTES = 2**31
MAX_MEMBERS = 100_000
_MAX_DEPTH = 64
"""Of the folders in a path."""
_CHUNK = 2**12
"""At each step so much is taken of a compressed file, and comes out thousandfold at most."""
_DAMAGES = (
    *(zipfile.BadZipFile, NotImplementedError, RuntimeError, ValueError),
    *(tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, OSError),
)


class _UnfitArchiveError(Exception):
    """An archive that is not unpacked; the text says what was found in it."""


def is_archive(file: Path) -> bool:
    """Return True if a file is named as an archive."""
    return file.name.lower().endswith(SUFFIXES)


def unpack(file: Path, place: str, into: Path) -> None:
    """Unpack an archive's regular files.

    Raises:
        LogError: if it is damaged, names a file outside itself, or unpacks to too much.
    """
    left = MAX_UNPACKED_BYTES
    members = _zipped if file.name.lower().endswith(".zip") else _tarred
    try:
        with open_log(file, place) as handle:
            for count, (name, content) in enumerate(members(handle)):
                if count >= MAX_MEMBERS:
                    raise _UnfitArchiveError(f"more than {MAX_MEMBERS:,} members; expected fewer")
                target = into / _path_inside(name)
                if content is None or "__MACOSX" in target.parts:  # the Finder's own copies
                    continue
                target.parent.mkdir(parents=True, exist_ok=True)
                with target.open("xb") as out:
                    while piece := content.read(_CHUNK):
                        left -= len(piece)
                        if left < 0:
                            raise _UnfitArchiveError(
                                f"more than {MAX_UNPACKED_BYTES:,} bytes unpacked; expected fewer"
                            )
                        out.write(piece)
    except _UnfitArchiveError as error:
        raise LogError(place, f"found {error}. Unpack it yourself, and import that.") from None
    except _DAMAGES as error:
        raise LogError(
            place, f"found an archive that cannot be unpacked ({error}); expected a whole one."
        ) from None


def _path_inside(name: str) -> Path:
    pure = PurePosixPath(name.replace("\\", "/"))
    if pure.is_absolute() or ".." in pure.parts or "\0" in name or ":" in (pure.parts or ("",))[0]:
        raise _UnfitArchiveError(f"the path '{name[:200]}', which leads out of it; expected none")
    if len(pure.parts) > _MAX_DEPTH:
        raise _UnfitArchiveError(f"a path of {len(pure.parts)} folders; expected {_MAX_DEPTH}")
    return Path(*pure.parts)


_Members = Iterator[tuple[str, IO[bytes] | None]]
"""Each member's name and its content; None for what is no regular file."""


def _tarred(handle: IO[bytes]) -> _Members:
    with tarfile.open(fileobj=handle, mode="r|*") as archive:
        for one in archive:
            yield one.name, archive.extractfile(one) if one.isreg() else None


def _zipped(handle: IO[bytes]) -> _Members:
    with zipfile.ZipFile(handle) as archive:
        for one in archive.infolist():
            if not one.is_dir() and not stat.S_ISLNK(one.external_attr >> 16):
                with archive.open(one) as content:
                    yield one.filename, content
