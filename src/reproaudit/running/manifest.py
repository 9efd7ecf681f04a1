"""The list of every finished record that a store has ever held.

One line per record, in the order in which they were written::

    <chain> <SHA-256 of the record> <path of its file below the store>

Each ``chain`` is the SHA-256 of the line before it and of this line's two other fields. The last
one, the *root*, therefore stands for the whole history: a record that is removed, replaced or put
back no longer agrees with it. Lines are only ever added.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from reproaudit.bounded import open_regular
from reproaudit.errors import StoreError
from reproaudit.running.files import explained, sha256

EMPTY_ROOT = "0" * 64
"""The root of an empty manifest."""

MOST_LISTED_BYTES = 2**28
"""The lines of a million records."""


class RecordManifest:
    """The manifest of a store.

    Args:
        file: where it is; it need not exist before something is added.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        self._forget()

    def _forget(self) -> None:
        self._read_to = 0
        self._lines = 0
        self._root = EMPTY_ROOT
        self._digests: dict[str, list[str]] = {}

    def digests(self) -> Mapping[str, list[str]]:
        """By path, the digest of every record that was ever written there, the last one last.

        Raises:
            StoreError: if a line does not follow from the one before it.
        """
        with suppress(OSError):  # lines are only ever added: of the same length, it is the same
            if self._lines and os.stat(self.file).st_size == self._read_to:
                return self._digests
        with explained("read", self.file):
            try:
                with open_regular(self.file, MOST_LISTED_BYTES) as file:
                    self._read(file.fileno())
            except FileNotFoundError:
                self._forget()
        return self._digests

    def root(self) -> str:
        """The last line's chain, which stands for the whole history."""
        self.digests()
        return self._root

    def add(self, path: str, digest: str) -> None:
        """Adds a line, unless it would repeat the path's last digest.

        Raises:
            StoreError: if the file cannot be written, or a line of it is damaged.
            TechnicalError: if the disk is full or failing.
        """
        with explained("write", self.file):
            self.file.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self.file, os.O_RDWR | os.O_CREAT, 0o644)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX)
                self._read(descriptor)
                if self._digests.get(path, [""])[-1] == digest:
                    return
                line = f"{_chain(self._root, digest, path)} {digest} {path}\n".encode()
                os.ftruncate(descriptor, self._read_to)  # a line cut off by a kill or a full disk
                os.pwrite(descriptor, line, self._read_to)
                os.fsync(descriptor)
                self._read(descriptor)
            finally:
                os.close(descriptor)

    def _read(self, descriptor: int) -> None:
        """Takes in what was added since the last reading; a last line without its end is left."""
        size = os.fstat(descriptor).st_size
        if size < self._read_to:
            self._forget()
        new = os.pread(descriptor, size - self._read_to, self._read_to)
        for line in new.split(b"\n")[:-1]:
            self._take(line)

    def _take(self, line: bytes) -> None:
        words = line.decode(errors="replace").split(" ", 2)
        if len(words) != 3 or _chain(self._root, words[1], words[2]) != words[0]:
            raise StoreError(
                f"{self.file}:{self._lines + 1}: this line does not follow from the one before it. "
                "The list of records was damaged or edited: 'reproaudit verify --repair' keeps "
                "the damaged list under another name and lists every sound record anew."
            )
        self._root, digest, path = words
        self._digests.setdefault(path, []).append(digest)
        self._read_to += len(line) + 1
        self._lines += 1


def _chain(before: str, digest: str, path: str) -> str:
    return sha256(f"{before} {digest} {path}".encode())
