"""Reads a reproducibility card: the paper, and its automated classification.

A card is text in one of two shapes, a line for each of the nine variables or a Markdown table.
Above it are, in any order, the title, the authors and the venue with its year::

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

from reproaudit.audit.document import is_readable, read_file
from reproaudit.audit.faults import Faults
from reproaudit.audit.model import VariableName
from reproaudit.errors import CardError

MAX_CARD_BYTES = 2**18
"""The largest card; those seen so far have a fiftieth of it."""


@dataclass(frozen=True)
class Card:
    """What a paper's card and its authors' checklist say, as far as they can be read.

    Attributes:
        rows: the classification of each variable that has a row; None if it cannot be read.
        answers: the authors' answers by variable, as fields of the audit.
        remarks: what could not be read, each with what was found instead.
    """

    title: str | None = None
    authors: tuple[str, ...] = ()
    venue: str | None = None
    year: int | None = None
    arxiv: str | None = None
    rows: Mapping[VariableName, str | None] = field(default_factory=dict)
    answers: Mapping[VariableName, Sequence[Mapping[str, str]]] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()


def readable_text(path: Path) -> str:
    """Return the text of a file of at most `MAX_CARD_BYTES`, with blanks as spaces.

    Raises:
        CardError: if the file cannot be read, is too large or is no readable text.
    """
    faults = Faults(str(path))
    text = read_file(path, MAX_CARD_BYTES, faults)
    if text is not None:
        text = re.sub("\r\n?", "\n", re.sub("[\x0b\x0c\x85\u2028\u2029]", " ", text))
    if text is None or not is_readable(text, faults):
        raise CardError(str(faults.in_order()[0]))
    return text


def read_card(path: Path) -> Card:
    """Return the card in a file.

    Raises:
        CardError: if the file cannot be read, is no text, or is no card.
    """
    lines = [" ".join(line.split()) for line in readable_text(path).split("\n")]
    if not any(lines):
        raise CardError(f"{path}: found an empty file; expected a reproducibility card")
    start = next((i for i, line in enumerate(lines) if _ends_head(line)), len(lines))
    rows: dict[VariableName, list[tuple[int, str]]] = {}
    for number, line in enumerate(lines[start:], start=start + 1):
        if (row := _row(line)) is not None:
            rows.setdefault(row[0], []).append((number, row[1]))
    card = _head([one for one in lines[:start] if one])
    if not rows and (card.title is None or card.venue is None):
        names = ", ".join(list(VariableName)[:3])
        raise CardError(
            f"{path}: found no row of a reproducibility variable ({names} …), nor a title and a "
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
    return replace(card, rows=results, remarks=tuple(f"card: {one}" for one in remarks))


_ROW = re.compile(
    rf"[|*\s]*({'|'.join(map(re.escape, VariableName))})(?:\**\s*[|:]\s*\**|\s|$)([^\s|*]*)"
)
_END_OF_HEAD = re.compile(r"\W*Reproducibility Variable\b|\W*abstract\W*$", re.IGNORECASE)
_AUTHORS = re.compile(r"\**Authors:\**(.*)")
_BETWEEN_AUTHORS = re.compile(r"\s*(?:[,;](?!\s*(?:Jr|Sr|II|III|IV)\b)|\s&\s|\sand\s)\s*")
_VENUE = re.compile(r"(\S.{,98}?) ?((?:19|20)\d\d)( \|.*)?")

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
    row = _row(line)
    return bool(_END_OF_HEAD.match(line)) or (row is not None and row[1] in _words(row[0]))


def _head(lines: Sequence[str]) -> Card:
    """Title, authors, venue and year of the lines above the rows, with remarks."""
    titles, authors, venue, year = [], list[str](), None, None
    for line in lines:
        if (named := _AUTHORS.match(line)) is not None:
            authors += filter(None, _BETWEEN_AUTHORS.split(named[1].strip()))
        elif venue is None and (found := _venue(line)) is not None:
            venue, year = found
        elif not line.startswith("Notice:"):
            titles.append(line.lstrip("#").strip(" *"))
    remarks = []
    if venue is None:
        remarks.append("venue: found no line such as 'ICLR 2025 | …'")
    if not authors:
        remarks.append("authors: found no line 'Authors: …' with names")
    if not titles:
        remarks.append("title: found no line that could be one")
    elif len(titles) > 1:
        remarks.append(f"title: read from the first of {len(titles)} lines")
    title = titles[0] if titles else None
    return Card(title or None, tuple(authors), venue, year, remarks=tuple(remarks))


def _venue(line: str) -> tuple[str, int] | None:
    """The venue and its year: an acronym, or what links to the paper's files follow."""
    match = _VENUE.fullmatch(line)
    if match is None:
        return None
    acronym = match[1].isalpha() and not match[1][1:].islower()
    return (match[1], int(match[2])) if match[3] or acronym else None
