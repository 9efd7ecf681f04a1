"""Reads tar archives that anybody may have made: one member at a time, in bounded memory.

`tarfile` takes any header into memory, however large, keeps an entry for every member, and fills
the holes of sparse files with zeros. Here headers, members and bytes are bounded; links and devices
have no content, and sparse files are refused. Owners, rights and times are ignored.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import tarfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import IO, Any

MOST_HEADER_BYTES = 2**16
"""Of one header before a member, which says its long name; a path has 4,096 at most."""
MOST_HEADERS_BYTES = 2**25
"""Of all of these together."""
MOST_DEPTH = 64
"""Of the folders in a path."""
DAMAGES = (tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, OSError)
"""The errors of reading a damaged archive."""

_CHUNK = 2**12
_COMPRESSED: dict[bytes, Callable[..., Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": lzma.open,
}
_RECORDS = (tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE)
_NAMES = (tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK)


class UnfitArchiveError(Exception):
    """An archive that is not unpacked; the text says what was found in it."""


def path_inside(name: str) -> Path:
    """The path of a member below the archive's folder.

    Raises:
        UnfitArchiveError: if it leads out of it, or through too many folders.
    """
    pure = PurePosixPath(name.replace("\\", "/"))
    if pure.is_absolute() or ".." in pure.parts or "\0" in name or ":" in (pure.parts or ("",))[0]:
        raise UnfitArchiveError(f"the path '{name[:200]}', which leads out of it; expected none")
    if len(pure.parts) > MOST_DEPTH:
        raise UnfitArchiveError(f"a path of {len(pure.parts)} folders; expected {MOST_DEPTH}")
    return Path(*pure.parts)


def tar_members(
    handle: IO[bytes], most_members: int, most_bytes: int
) -> Iterator[tuple[str, Iterator[bytes] | None]]:
    """Yields each member's name and its content in pieces; None for what is no regular file.

    Args:
        handle: the archive, plain or compressed by gzip, bzip2 or xz.
        most_members: folders, links and headers of their own included.
        most_bytes: of the archive without its compression.

    Raises:
        UnfitArchiveError: if it is damaged, holds more, or holds a sparse file.
    """
    start = handle.read(6)
    handle.seek(0)
    opened = next((one for magic, one in _COMPRESSED.items() if start.startswith(magic)), None)
    stream = _Stream(handle if opened is None else opened(handle), most_bytes)
    everywhere: dict[str, str] = {}
    here: dict[str, str] = {}
    left = MOST_HEADERS_BYTES
    for count, header in enumerate(_headers(stream)):
        if count >= most_members:
            raise UnfitArchiveError(f"more than {most_members:,} members; expected fewer")
        if header.type in (*_RECORDS, *_NAMES):
            left -= header.size
            if not 0 <= header.size <= MOST_HEADER_BYTES or left < 0:
                raise UnfitArchiveError(f"a header of {header.size:,} bytes; expected a short one")
            text = b"".join(stream.pieces(header.size))
            if header.type == tarfile.XGLTYPE:
                everywhere.update(_records(text))
            elif header.type in _RECORDS:
                here.update(_records(text))
            elif header.type == tarfile.GNUTYPE_LONGNAME:
                here["path"] = _decoded(text.partition(b"\0")[0])
            continue
        said, here = {**everywhere, **here}, {}
        name = said.get("path", header.name)
        if header.type == tarfile.GNUTYPE_SPARSE:
            raise UnfitArchiveError(f"the sparse file '{name[:200]}'; expected whole ones")
        has_body = header.isreg() or header.type not in tarfile.SUPPORTED_TYPES
        content = stream.pieces(_number(said["size"]) if "size" in said else header.size)
        yield name, content if header.isreg() else None
        for _ in content if has_body else ():
            pass  # what was not wanted


class _Stream:
    """The bytes of an archive without its compression, up to a limit."""

    def __init__(self, raw: IO[bytes], most: int) -> None:
        self._raw = raw
        self._most = self._left = most

    def read(self, size: int) -> bytes:
        """The next bytes; fewer only at the end."""
        self._left -= size
        if self._left < 0:
            raise UnfitArchiveError(f"more than {self._most:,} bytes unpacked; expected fewer")
        try:
            return self._raw.read(size)
        except DAMAGES as error:
            raise UnfitArchiveError(f"a damaged archive ({error})") from None

    def pieces(self, size: int) -> Iterator[bytes]:
        """The content of a member, and then the filling after it."""
        if not 0 <= size <= self._left:
            raise UnfitArchiveError(f"more than {self._most:,} bytes unpacked; expected fewer")
        return self._pieces(size)

    def _pieces(self, size: int) -> Iterator[bytes]:
        filling = -size % tarfile.BLOCKSIZE
        while size > 0:
            piece = self.read(min(size, _CHUNK))
            if not piece:
                raise UnfitArchiveError("the beginning of a file alone; expected a whole archive")
            size -= len(piece)
            yield piece
        if len(self.read(filling)) < filling:
            raise UnfitArchiveError("no end; expected a whole archive")


def _headers(stream: _Stream) -> Iterator[tarfile.TarInfo]:
    """The headers; whoever asks for the next one has read what belongs to the last."""
    while True:
        try:
            block = stream.read(tarfile.BLOCKSIZE)
            if block and not block.strip(b"\0"):
                break
            yield tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
        except tarfile.HeaderError as error:
            raise UnfitArchiveError(f"a damaged archive ({error})") from None
    while stream.read(_CHUNK):
        pass  # up to the checksum of what is compressed


def _records(text: bytes) -> Iterator[tuple[str, str]]:
    """The path and the size among the records of a header, each ``length name=value``."""
    place = 0
    while place < len(text):
        length = text[place : place + 20].partition(b" ")[0]
        end = place + _number(length.decode("ascii", "replace"))
        name, equals, value = text[place + len(length) + 1 : end - 1].partition(b"=")
        if not equals or text[end - 1 : end] != b"\n":
            raise UnfitArchiveError("a damaged header; expected a whole archive")
        if name.startswith(b"GNU.sparse."):
            raise UnfitArchiveError("a sparse file; expected whole ones")
        if name in (b"path", b"size"):
            yield name.decode(), _decoded(value)
        place = end


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 20):
        raise UnfitArchiveError("a damaged header; expected a whole archive")
    return int(text)


def _decoded(name: bytes) -> str:
    return name.decode("utf-8", "surrogateescape")
