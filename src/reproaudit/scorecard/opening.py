"""The opening of a scorecard's file: enough for a list of papers, read without all the rest.

A scorecard begins with what it was made of and with its head. This module reads these first bytes
alone, and tells whether what lies beside them is still the same; it imports no model.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

OPENING_BYTES = 2**17
"""The first bytes that are read; the longest head so far has a tenth of them."""


@dataclass(frozen=True)
class Opening:
    """The top of a scorecard's file.

    Attributes:
        inputs: the digests of the audit, its reviews and the records that it was made of.
        head: as JSON has it.
    """

    slug: str
    tier: str
    inputs: Mapping[str, str]
    head: Mapping[str, Any]


def read_opening(file: Path) -> Opening | None:
    """Read the opening of a scorecard's file; None where there is none, or of another version."""
    from pydantic_core import from_json

    try:
        with file.open("rb") as opened:
            data = from_json(opened.read(OPENING_BYTES), allow_partial=True)
    except (OSError, ValueError):
        return None
    named = ("slug", "tier", "inputs", "head")
    return Opening(*(data[name] for name in named)) if _fits(data) else None


def _fits(data: Any) -> bool:
    """Whether what was read has what an opening needs: not so of another version, or a longer head.

    A file may come from anywhere, and no model has looked at it.
    """
    try:
        head = data["head"]
        counts = [*head["counts"]["paper"].values(), head["documented"]["card"]]
        marks = [line["outcome"] + line["mark"] for line in head["claims"]]
        texts = [data["slug"], data["tier"], head["title"], head["byline"], *marks]
        texts += data["inputs"].keys()
        counts.append(head["documented"]["of"])
        whole = "rows" in data and data["schema_version"] == 5
    except (KeyError, TypeError, AttributeError):
        return False
    are_counts = all(isinstance(count, int) for count in counts)
    return whole and are_counts and all(isinstance(text, str) for text in texts)


def digest_of_file(file: Path) -> str:
    """Return a digest of a file's bytes, 16 hexadecimal digits; '' without one."""
    try:
        return hashlib.sha256(file.read_bytes()).hexdigest()[:16]
    except OSError:
        return ""


def has_records_of(store: Path, slug: str, tier: str) -> bool:
    """Tell whether a store has a record of a paper at a tier."""
    return any(True for _ in _records_in(store / slug / tier))


def digest_of_records(store: Path, slug: str, tiers: Iterable[str]) -> str:
    """Return a digest of the names of the records of some tiers, 16 digits; '' without any.

    A record's name follows from all that made it, and a record is never written again.
    """
    names = [name for tier in tiers for name in _records_in(store / slug / tier)]
    text = "\n".join(sorted(names))
    return hashlib.sha256(text.encode()).hexdigest()[:16] if names else ""


def _records_in(folder: Path) -> Iterator[str]:
    for file in folder.glob("*/*.json"):
        yield f"{folder.name}/{file.parent.name}/{file.name}"


def tiers_of(tier: str) -> tuple[str, ...]:
    """Return the folders whose records a scorecard of a stored tier rests on."""
    varied = f"multiverse-{tier}"
    lower = ("quick", "multiverse-quick") if tier.startswith("paper") else ()
    return (tier, varied, *lower)
