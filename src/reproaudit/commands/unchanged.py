"""What a command printed last, for as long as nothing that it read or wrote has changed.

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

_PREFIX = ".unchanged."


class Unchanged:
    """What one command with its options printed of some papers; the report folder keeps it."""

    def __init__(
        self, command: tuple[object, ...], entries: Sequence[Entry], store: Path, out: Path
    ) -> None:
        self._file = out / f"{_PREFIX}{command[0]}.json"
        self._command = f"{command} {os.getcwd()} {sys.version}"
        folders = {store, store.parent / "reports", out, PACKAGE}
        self._folders = folders | {entry.audit_file.parent for entry in entries}

    def lines(self) -> list[str] | None:
        """Return the lines that the command would print again; None if it must look anew."""
        with suppress(OSError, ValueError, KeyError, TypeError):
            kept = json.loads(self._file.read_text("utf-8"))
            if kept["key"] == self._key():
                return [str(line) for line in kept["lines"]]
        return None

    def keep(self, lines: Iterable[str]) -> None:
        """Keep what was printed; where it cannot be written, nothing."""
        with suppress(OSError):
            self._file.write_text(json.dumps({"key": self._key(), "lines": [*lines]}), "utf-8")

    def _key(self) -> str:
        places = [(one, os.stat(one).st_mtime_ns) for one in sys.path if os.path.isdir(one)]
        found = hashlib.sha256(f"{self._command} {places}".encode(errors="surrogateescape"))
        for line in sorted(line for folder in self._folders for line in _files(folder)):
            found.update(line.encode(errors="surrogateescape"))
        return found.hexdigest()


def _files(folder: Path) -> Iterator[str]:
    for root, _, names in os.walk(folder):
        for name in names:
            if not name.startswith(_PREFIX) and not root.endswith("__pycache__"):
                with suppress(OSError):
                    at = os.stat(path := os.path.join(root, name))
                    yield f"{path} {at.st_size} {at.st_mtime_ns}\n"
