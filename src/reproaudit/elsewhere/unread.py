"""Numbers that lie with a manifest, and that it does not name: whoever leaves them out chooses."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from reproaudit.elsewhere.files import FileReader
from reproaudit.elsewhere.imported import PROTOCOL
from reproaudit.elsewhere.manifest import NAMES
from reproaudit.elsewhere.misfit import clipped
from reproaudit.elsewhere.scrutiny import MOST_LEFT_OUT, seed_words

_DATA = (".csv", ".json", ".npz")
MOST_BELOW = 10_000
"""Of the files in a folder, so many are looked at."""


def remarks_on_files(folder: Path, files: FileReader) -> Iterator[str]:
    """Yields sentences on rows and files that were not read.

    Args:
        folder: the manifest's, resolved.
        files: what was read.
    """
    left = [f"{name} has {seed_words(seeds)}" for name, seeds in files.rows_left()]
    if left:
        yield f"Rows of seeds that the manifest does not name were not read: {_some(left)}."
    below = (Path(at) / name for at, _, names in os.walk(folder) for name in sorted(names))
    unread = [
        one.relative_to(folder).as_posix()
        for one in itertools.islice(below, MOST_BELOW)
        if one.suffix.lower() in _DATA and one.name not in (*NAMES, PROTOCOL)
        if one not in files.taken
    ]
    if unread:
        yield f"Files beside the manifest that it does not name were not read: {_some(unread)}."


def _some(items: Sequence[str]) -> str:
    """The first of several items, and how many more there are."""
    more = len(items) - MOST_LEFT_OUT
    return clipped("; ".join(items[:MOST_LEFT_OUT]) + (f"; and {more} more" if more > 0 else ""))
