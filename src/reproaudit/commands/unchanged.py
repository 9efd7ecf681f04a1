"""What `report` printed last, for as long as nothing that it read or wrote has changed.

The key is a digest of the options and of path, size and time of every file below the audits, the
store, the report folders, the tool and its environment.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from reproaudit.audit.catalog import PACKAGE, Entry

NAME = ".unchanged.json"


def last_lines(entries: Sequence[Entry], options: str, store: Path, out: Path) -> list[str] | None:
    """Return the lines that the same report printed, if it would print them again."""
    try:
        kept = json.loads((out / NAME).read_text(encoding="utf-8"))
        if kept["key"] == _key(entries, options, store, out):
            return [str(line) for line in kept["lines"]]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return None


def keep_lines(
    entries: Sequence[Entry], options: str, store: Path, out: Path, lines: Iterable[str]
) -> None:
    """Keep what a report printed, beside its pages; where that cannot be written, nothing."""
    kept = {"key": _key(entries, options, store, out), "lines": [*lines]}
    with suppress(OSError):
        (out / NAME).write_text(json.dumps(kept), encoding="utf-8")


def _key(entries: Sequence[Entry], options: str, store: Path, out: Path) -> str:
    read = {store, store.parent / "reports", out, PACKAGE, *(e.audit_file.parent for e in entries)}
    found = hashlib.sha256(f"{options} {os.getcwd()} {sys.version}".encode())
    for line in sorted(line for folder in read for line in _files(folder)):
        found.update(line.encode(errors="surrogateescape"))
    for place in sorted(filter(os.path.isdir, sys.path)):
        found.update(f"{place} {os.stat(place).st_mtime_ns}".encode())
    return found.hexdigest()


def _files(folder: str | Path) -> Iterator[str]:
    with suppress(OSError), os.scandir(folder) as inside:
        for one in inside:
            if one.is_dir(follow_symlinks=False):
                if one.name != "__pycache__":
                    yield from _files(one.path)
            elif one.name != NAME:
                at = one.stat()
                yield f"{one.path} {at.st_size} {at.st_mtime_ns}\n"
