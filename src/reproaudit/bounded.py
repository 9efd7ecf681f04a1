"""Reads files that anybody may have put there: regular ones alone, of bounded size and nesting."""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any


class UnfitFileError(OSError):
    """A file that is not read: a pipe, a device, or one that is too large."""

    def __init__(self, reason: str, path: Path) -> None:
        super().__init__(errno.EINVAL, reason, str(path))


def open_regular(path: Path, most: int, *, follow: bool = True) -> IO[bytes]:
    """A regular file, open for reading; it is never waited for, as a named pipe would be.

    Args:
        path: the file.
        most: the bytes that it may have.
        follow: whether it may be a link to one.

    Raises:
        UnfitFileError: if it is no regular file, or larger.
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
    """The value of a JSON text.

    Args:
        text: the text, or its bytes.
        hooks: as `json.loads` takes them.

    Raises:
        ValueError: if it is no JSON, or nested more deeply than can be read.
    """
    try:
        return json.loads(text, **hooks)  # type: ignore[arg-type]
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
