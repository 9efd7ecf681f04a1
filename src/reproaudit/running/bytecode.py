"""Compiled Python beside its source: what Python would run in place of what can be read."""

from __future__ import annotations

import importlib.util
import marshal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_HEADER = 16
"""Bytes of a compiled file before its code: a number of Python's version, flags, then time and
size of the source or its hash."""
_BY_TIME, _BY_CHECKED_HASH = 0, 3


def foreign_bytecode(folder: Path) -> Iterator[tuple[Path, Path]]:
    """Yields compiled files that Python would load and that hold other code than their source.

    Args:
        folder: all sources below it are compared.
    """
    for source in sorted(folder.rglob("*.py")):
        compiled = Path(importlib.util.cache_from_source(str(source)))
        with suppress(FileNotFoundError):
            data = compiled.read_bytes()
            if _is_used(data, source) and not _is_same(data[_HEADER:], source):
                yield compiled, source


def _is_used(data: bytes, source: Path) -> bool:
    """True if Python loads it without reading the source, or without comparing a hash."""
    if data[:4] != importlib.util.MAGIC_NUMBER:
        return False
    flags, time, size = (int.from_bytes(data[at : at + 4], "little") for at in (4, 8, 12))
    if flags != _BY_TIME:
        return flags != _BY_CHECKED_HASH
    seen = source.stat()
    return (time, size) == (int(seen.st_mtime) & 0xFFFFFFFF, seen.st_size & 0xFFFFFFFF)


def _is_same(code: bytes, source: Path) -> bool:
    try:
        found = marshal.loads(code)
    except (EOFError, ValueError, TypeError):
        return True  # Python cannot load it either, and says so
    return bool(found == compile(source.read_bytes(), str(source), "exec", dont_inherit=True))
