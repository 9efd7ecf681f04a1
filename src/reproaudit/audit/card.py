"""Reads a reproducibility card: the paper, and its automated classification.

A card is text in one of two shapes, a line for each of the nine variables or a Markdown table, with
title, authors and venue above it in any order::

    A Title                                     | Reproducibility Variable | Result | LLM Response |
    Authors: A. Author, B. Author               |---|---|---|
    ICLR 2025 | Venue PDF | LLM Run Details     | Pseudocode | No | The paper has none. |
    Pseudocode No The paper has none.

It may also be a paper's first lines only: title, authors, venue and abstract. What cannot be read
is left open and named in `Card.remarks`, never guessed. No text makes it raise anything but a
`CardError`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from reproaudit.audit.loading.document import is_readable, read_file
from reproaudit.audit.loading.fault import Faults
from reproaudit.audit.variables import VariableName
from reproaudit.errors import CardError

MAX_CARD_BYTES = 2**18
"""The largest card; those seen so far have a fiftieth of it."""

LONGEST_TITLE = 400
"""Characters beyond which a line is no title."""


@dataclass(frozen=True)
class Card:
    """A card as far as it can be read.

    Attributes:
        title: the paper's title.
        authors: their names.
        venue: where it was published.
        year: when.
        rows: the classification of each variable that has a row; None if it cannot be read.
        remarks: what could not be read, each with what was found instead.
    """

    title: str | None = None
    authors: tuple[str, ...] = ()
    venue: str | None = None
    year: int | None = None
    rows: Mapping[VariableName, str | None] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()


NO_CARD = Card()
"""A card that says nothing."""


def read_card(path: Path) -> Card:
    """Return the card in a file.

    Raises:
        CardError: if the file cannot be read, is no text, or is no card.
    """
    return parse_card(read_card_text(path), str(path))


def read_card_text(path: Path) -> str:
    """Return the text of a file of at most `MAX_CARD_BYTES`.

    Raises:
        CardError: if the file cannot be read, is too large or is no readable text.
    """
    faults = Faults(str(path))
    text = read_file(path, MAX_CARD_BYTES, faults)
    if text is None:
        raise CardError(str(faults.in_order()[0]))
    return text


def readable(text: str, file: str) -> str:
    """Return a text with its blanks as spaces, and with plain ends of lines.

    Raises:
        CardError: on control characters.
    """
    faults = Faults(file)
    text = re.sub("\r\n?", "\n", re.sub("[\x0b\x0c\x85\u2028\u2029]", " ", text))
    if not is_readable(text, faults):
        raise CardError(str(faults.in_order()[0]))
    return text


def parse_card(text: str, file: str = "card") -> Card:
    """Return the card in a text.

    Args:
        text: a card.
        file: its name, for the error.

    Raises:
        CardError: on control characters, or if this is no card.
    """
    lines = [" ".join(line.split()) for line in readable(text, file).split("\n")]
    if not any(lines):
        raise CardError(f"{file}: found an empty file; expected a reproducibility card")
    start = next((i for i, line in enumerate(lines) if _ends_head(line)), len(lines))
    rows: dict[VariableName, list[tuple[int, str]]] = {}
    for number, line in enumerate(lines[start:], start=start + 1):
        if (row := _row(line)) is not None:
            rows.setdefault(row[0], []).append((number, row[1]))
    card = _head([one for one in lines[:start] if one])
    if not rows and (card.title is None or card.venue is None):
        names = ", ".join(list(VariableName)[:3])
        raise CardError(
            f"{file}: found no row of a reproducibility variable ({names} …), nor a title and a "
            "venue; expected a reproducibility card"
        )
    results, remarks = {}, list(card.remarks)
    for name in VariableName:
        found = rows.get(name, [])
        known = {word for _, word in found if word in _words(name)}
        if found:
            results[name] = known.pop() if len(known) == 1 else None
        if not found:
            remarks.append(f"{name.value}: found no row")
        elif results[name] is None:
            shown = ", ".join(f"{word[:40]!r} on line {line}" for line, word in found[:5])
            remarks.append(f"{name.value}: found {shown}; expected {' or '.join(_words(name))}")
    return replace(card, rows=results, remarks=tuple(remarks))


# --- rows ---------------------------------------------------------------------------------------

_ROW = re.compile(
    rf"[|*\s]*({'|'.join(map(re.escape, VariableName))})(?:\**\s*[|:]\s*\**|\s|$)([^\s|*]*)"
)


_WORDS = {
    VariableName.RESEARCH_TYPE: ("Experimental", "Theoretical"),
    VariableName.RESEARCHER_AFFILIATION: ("Academia", "Industry", "Collaboration"),
}
"""The results that a variable may have, if they are not Yes and No."""


def _words(name: VariableName) -> tuple[str, ...]:
    return _WORDS.get(name, ("Yes", "No"))


def _row(line: str) -> tuple[VariableName, str] | None:
    """The variable and the word behind it in a line that begins with the name of a variable."""
    match = _ROW.match(line)
    if match is None:
        return None
    return VariableName(match[1]), match[2].capitalize() if "|" in line else match[2]


def _ends_head(line: str) -> bool:
    """True if the rows or the abstract begin here."""
    if re.match(r"\W*Reproducibility Variable\b|(#+ )?\**abstract\**[:.]?$", line, re.IGNORECASE):
        return True
    row = _row(line)
    return row is not None and row[1] in _words(row[0])


# --- title, authors, venue ----------------------------------------------------------------------

_LABEL = re.compile(r"\**(title|authors?|venue|notice)\**\s?:\**\s?(.*)", re.IGNORECASE)
_VENUE = re.compile(r"(\S.{,98}?)[ ,]*\b((?:19|20)\d\d)|(\w{,98}[A-Za-z])((?:19|20)\d\d)")
_ACRONYM = re.compile(r"[A-Za-z]*[A-Z][A-Za-z]*[A-Z][A-Za-z]*")
_LINKS = re.compile(r"\b(PDF|LLM Run Details|Plain Text)\b")
_BETWEEN_AUTHORS = re.compile(r"\s*(?:[,;](?!\s*(?:Jr|Sr|II|III|IV)\b)|\s&\s|\sand\s)\s*")


def _head(lines: Sequence[str]) -> Card:
    """Title, authors, venue and year of the lines above the rows, in any order, with remarks."""
    labelled: dict[str, list[str]] = {"title": [], "author": [], "venue": [], "notice": []}
    rest: list[str] = []
    for line in lines:
        label, read = _LABEL.match(line), _venue(line)
        if label is not None:
            labelled[label[1].lower().removesuffix("s")].append(label[2])
        elif read and (_ACRONYM.fullmatch(read[0]) or _LINKS.search(line.partition(" | ")[2])):
            labelled["venue"].append(line)
        else:
            rest.append(line)
    remarks = []
    venues = set(map(_venue, labelled["venue"]))
    venue, year = (venues.pop() if len(venues) == 1 else None) or (None, None)
    if venue is None:
        remarks.append("venue: found no single line such as 'ICLR 2025 | …'")
    names = [_bare(part) for text in labelled["author"] for part in _BETWEEN_AUTHORS.split(text)]
    authors = tuple(filter(None, names))
    if not authors:
        remarks.append("authors: found no line 'Authors: …' with names")
    titles = [_bare(text.lstrip("#")) for text in labelled["title"] or rest]
    title = titles[0] if titles and 0 < len(titles[0]) <= LONGEST_TITLE else None
    if title is None:
        remarks.append("title: found no line that could be one")
    elif len(titles) > 1:
        remarks.append(f"title: read from the first of {len(titles)} lines")
    return Card(title, authors, venue, year, remarks=tuple(remarks))


def _bare(text: str) -> str:
    """A text without Markdown's emphasis around it."""
    return text.strip().strip("*").strip()


def _venue(text: str) -> tuple[str, int] | None:
    match = _VENUE.fullmatch(_bare(text.partition(" | ")[0]))
    return None if match is None else (match[1] or match[3], int(match[2] or match[4]))
