"""Logs in a zip or tar archive, unpacked into a folder of our own.

An archive may name files outside its folder, hold links, devices, or unpack to far more than it is.
Names that lead out are refused, links are passed over, and what comes out is counted as it comes.
"""

from __future__ import annotations

import stat
import zipfile
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import IO

from reproaudit.elsewhere.logged import LogError
from reproaudit.elsewhere.reading import open_log
from reproaudit.tarballs import DAMAGES, UnfitArchiveError, path_inside, tar_members

SUFFIXES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")
MAX_UNPACKED_BYTES = 2**31
MAX_MEMBERS = 100_000
_CHUNK = 2**12
"""At each step so much is taken of a compressed file, and comes out thousandfold at most."""


def is_archive(file: Path) -> bool:
    """True if a file is named as an archive."""
    return file.name.lower().endswith(SUFFIXES)


def unpack(file: Path, place: str, into: Path) -> None:
    """Unpacks an archive's regular files.

    Raises:
        LogError: if it is damaged, names a file outside itself, or unpacks to too much.
    """
    left = MAX_UNPACKED_BYTES
    try:
        with open_log(file, place) as handle:
            for name, content in _members(file, handle):
                target = into / path_inside(name)
                if content is None:
                    continue
                target.parent.mkdir(parents=True, exist_ok=True)
                with target.open("xb") as out:
                    for piece in content:
                        left -= len(piece)
                        if left < 0:
                            raise UnfitArchiveError(
                                f"more than {MAX_UNPACKED_BYTES:,} bytes unpacked; expected fewer"
                            )
                        out.write(piece)
    except UnfitArchiveError as error:
        raise LogError(place, f"found {error}. Unpack it yourself, and import that.") from None
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, ValueError, *DAMAGES) as error:
        raise LogError(
            place, f"found an archive that cannot be unpacked ({error}); expected a whole one."
        ) from None


def _members(file: Path, handle: IO[bytes]) -> Iterator[tuple[str, Iterable[bytes] | None]]:
    if file.name.lower().endswith(".zip"):
        return _zipped(handle)
    return tar_members(handle, MAX_MEMBERS, MAX_UNPACKED_BYTES)


def _zipped(handle: IO[bytes]) -> Iterator[tuple[str, Iterable[bytes] | None]]:
    with zipfile.ZipFile(handle) as archive:
        if len(archive.infolist()) > MAX_MEMBERS:
            raise UnfitArchiveError(f"more than {MAX_MEMBERS:,} members; expected fewer")
        for one in archive.infolist():
            if not one.is_dir() and not stat.S_ISLNK(one.external_attr >> 16):
                with archive.open(one) as content:
                    yield one.filename, iter(partial(content.read, _CHUNK), b"")
