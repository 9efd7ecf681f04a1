"""How much memory the workers of a paper's runs held at most: a note in the store, beside records.

It is no part of a record: what a process holds depends on the machine, and on the cells that it
computed before.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from reproaudit.files import LOCK_NAME, locked, write_whole
from reproaudit.store.journal import contents

_NOTE = TypeAdapter(dict[str, int])


def most_memory(store: Path, paper: str, tier: str) -> int | None:
    """Return the most bytes that a worker held for a paper's tier; None if nobody noted it."""
    return _noted(_file(store, paper)).get(tier)


def note_memory(store: Path, paper: str, tier: str, held: int) -> None:
    """Note that a worker held so many bytes, unless one held as many before."""
    file = _file(store, paper)
    if held <= _noted(file).get(tier, 0):
        return
    with locked(store / LOCK_NAME):
        noted = _noted(file)
        noted[tier] = max(held, noted.get(tier, 0))
        write_whole(file, _NOTE.dump_json(noted, indent=1) + b"\n")


def _file(store: Path, paper: str) -> Path:
    return store / f"memory.{paper}"


def _noted(file: Path) -> dict[str, int]:
    """What is noted by tier; nothing of a note that is damaged, which the next one replaces."""
    try:
        return _NOTE.validate_json(contents(file) or b"{}")
    except ValidationError:
        return {}
