"""Reads a list of claims, as somebody has noted them of a paper: in JSON, or in lines of text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reproaudit.audit.card import readable_text
from reproaudit.audit.document import UNREADABLE
from reproaudit.errors import CardError

MOST_CLAIMS = 40  # Claims of one draft, which has fifty lines at most

TEXTS = ("says", "claim", "text", "statement", "description")
LOCATIONS = ("at", "locator", "location", "section", "source", "where", "page")
NAMES = ("name", "id", "key", "slug")
"""What objects call a claim's text, its place and its name."""

_MARK = re.compile(r"(?:[-*+•]|\(?\d{1,3}[.):]|\[\d{1,3}\])\s+")
EXPECTED = "a list of texts, a list of objects with 'says', or lines of text"


@dataclass(frozen=True)
class StatedClaim:
    """A claim as somebody has noted it; empty where that says nothing."""

    says: str = ""
    at: str = ""
    name: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)


def read_claims(path: Path) -> tuple[StatedClaim, ...]:
    """Return the claims in a file; a CardError if there are none, or more than a draft has.

    A line of text with a word in it is a claim, but for headings (`#`); marks of a list before it
    are left out.
    """
    text = readable_text(path)
    if text.lstrip().startswith(("[", "{")):
        claims = tuple(_of_json(text, path))
    else:
        lines = (" ".join(line.split()) for line in text.split("\n"))
        plain = (_MARK.sub("", line, count=1) for line in lines if not line.startswith("#"))
        claims = tuple(StatedClaim(line) for line in plain if _has_words(line))
    if not claims:
        raise CardError(f"{path}: found no claim; expected {EXPECTED}.")
    if len(claims) > MOST_CLAIMS:
        raise CardError(
            f"{path}: found {len(claims)} claims; expected at most {MOST_CLAIMS}. "
            "Leave those that will be judged."
        )
    return claims


def _of_json(text: str, path: Path) -> Iterator[StatedClaim]:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CardError(f"{path}: found no JSON ({error}); expected {EXPECTED}.") from None
    if isinstance(data, dict) and isinstance(data.get("claims"), list | dict):
        data = data["claims"]
    entries = data.items() if isinstance(data, dict) else (("", entry) for entry in data)
    for number, (name, entry) in enumerate(entries, start=1):
        fields = {"says": entry} if isinstance(entry, str) else entry
        says = _first(fields, TEXTS) if isinstance(fields, dict) else ""
        if not _has_words(says):
            raise CardError(f"{path}: claim {number}: found no text; expected {EXPECTED}.")
        yield StatedClaim(says, _first(fields, LOCATIONS), name or _first(fields, NAMES))


def _has_words(text: str) -> bool:
    return any(map(str.isalnum, text))


def _first(fields: Mapping[str, Any], names: tuple[str, ...]) -> str:
    """Return the first of these fields that holds text or a number, on one line."""
    held = (fields[name] for name in names if isinstance(fields.get(name), str | int | float))
    return next((" ".join(UNREADABLE.sub(" ", str(value)).split()) for value in held), "")
