"""Logs in a zip or tar archive, unpacked into a folder of our own.

An archive may name files outside its folder, hold links, devices, or unpack to far more than it is.
Names that lead out are refused, links are passed over, and what comes out is counted as it comes.
"""

from __future__ import annotations

import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO

from reproaudit.importing.logged import LogError
from reproaudit.importing.reading import open_log

SUFFIXES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")
MAX_UNPACKED_BYTES = 2**31
MAX_MEMBERS = 100_000
_CHUNK = 2**20


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
            members = _zipped if file.name.lower().endswith(".zip") else _tarred
            for count, (name, content) in enumerate(members(handle), start=1):
                target = into / _inside(name, place)
                if count > MAX_MEMBERS:
                    raise LogError(place, f"found more than {MAX_MEMBERS:,} files; expected fewer.")
                target.parent.mkdir(parents=True, exist_ok=True)
                with target.open("xb") as out:
                    while chunk := content.read(_CHUNK):
                        left -= len(chunk)
                        if left < 0:
                            raise LogError(
                                place,
                                f"found more than {MAX_UNPACKED_BYTES:,} bytes unpacked; expected "
                                "fewer. Unpack it yourself, and import fewer runs at a time.",
                            )
                        out.write(chunk)
    except (
        zipfile.BadZipFile,
        tarfile.TarError,
        zlib.error,
        EOFError,
        NotImplementedError,
        RuntimeError,
        ValueError,
        OSError,
    ) as error:
        raise LogError(
            place, f"found an archive that cannot be unpacked ({error}); expected a whole one."
        ) from None


def _inside(name: str, place: str) -> Path:
    """The path of a member below the archive's folder."""
    pure = PurePosixPath(name.replace("\\", "/"))
    if pure.is_absolute() or ".." in pure.parts or "\0" in name or ":" in (pure.parts or ("",))[0]:
        raise LogError(place, f"found the path '{name}', which leads out of it; expected none.")
    return Path(*pure.parts)


def _zipped(handle: IO[bytes]) -> Iterator[tuple[str, IO[bytes]]]:
    with zipfile.ZipFile(handle) as archive:
        for one in archive.infolist():
            if not one.is_dir() and not stat.S_ISLNK(one.external_attr >> 16):
                with archive.open(one) as content:
                    yield one.filename, content


def _tarred(handle: IO[bytes]) -> Iterator[tuple[str, IO[bytes]]]:
    with tarfile.open(fileobj=handle, mode="r:*") as archive:
        for one in archive:
            content = archive.extractfile(one) if one.isreg() else None
            if content is not None:
                yield one.name, content
