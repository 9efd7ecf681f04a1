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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from reproaudit.audit.variables import UNSCORED, VariableName
from reproaudit.bounded import UnfitFileError, read_regular
from reproaudit.errors import CardError

MAX_CARD_BYTES = 2**18
"""The largest card; those seen so far have a fiftieth of it."""

LONGEST_TITLE = 400
LONGEST_VENUE = 100
LONGEST_RESULT = 60
"""Characters beyond which a text is not what it seems."""


class Remark(NamedTuple):
    """A note about something that could not be read."""

    about: str
    """title, authors, venue, or a variable's name."""
    text: str
    """The words that were found instead."""

    def __str__(self) -> str:
        return f"{self.about}: {self.text}"


@dataclass(frozen=True)
class Card:
    """A card as far as it can be read.

    Attributes:
        title: the paper's title.
        authors: their names.
        venue: where it was published.
        year: when.
        rows: the classification of each variable that has a row; None if it cannot be read.
        remarks: what could not be read.
    """

    title: str | None = None
    authors: tuple[str, ...] = ()
    venue: str | None = None
    year: int | None = None
    rows: Mapping[VariableName, str | None] = field(default_factory=dict)
    remarks: tuple[Remark, ...] = ()


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
    try:
        data = read_regular(path, MAX_CARD_BYTES)
    except UnfitFileError as error:
        raise CardError(f"{path}: found {error.strerror}; a card is a page of text") from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise CardError(f"{path}: found no readable file ({reason.lower()})") from error
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise CardError(
            f"{path}:{line}: found the byte 0x{data[error.start]:02x}; expected UTF-8 text. "
            "Save it as plain text."
        ) from error


_UNREADABLE = re.compile(
    r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufeff\ufffe\uffff]"
)
"""Control characters but for those that are blanks; and those that turn the order of a text."""


def refuse_control_characters(text: str, file: str) -> None:
    """Raise a `CardError` with the first control character's place."""
    match = _UNREADABLE.search(text)
    if match is not None:
        line = text[: match.start()].count("\n") + 1
        raise CardError(
            f"{file}:{line}: found the control character U+{ord(match.group()):04X}; expected "
            "readable text. Save the card as plain text."
        )


def parse_card(text: str, file: str = "card") -> Card:
    """Return the card in a text.

    Args:
        text: a card.
        file: its name, for the error.

    Raises:
        CardError: on control characters, or if this is no card.
    """
    refuse_control_characters(text, file)
    lines = [" ".join(line.split()) for line in re.split(r"\r\n|\r|\n", text)]
    if not any(lines):
        raise CardError(f"{file}: found an empty file; expected a reproducibility card")
    start = next((i for i, line in enumerate(lines) if _ends_head(line)), len(lines))
    rows: dict[VariableName, list[_Row]] = {}
    for number, line in enumerate(lines[start:], start=start + 1):
        if (row := _row(line, number)) is not None:
            rows.setdefault(row.name, []).append(row)
    title, authors, venue, year, remarks = _head([one for one in lines[:start] if one])
    if not rows and (title is None or venue is None):
        names = ", ".join(list(VariableName)[:3])
        raise CardError(
            f"{file}: found no row of a reproducibility variable ({names} …), nor a title and a "
            "venue; expected a reproducibility card"
        )
    results = {name: _decided(rows[name]) for name in VariableName if name in rows}
    return Card(title, authors, venue, year, results, (*remarks, *_remarks(rows)))


# --- rows ---------------------------------------------------------------------------------------


class _Row(NamedTuple):
    """A line that may be a variable's row: its result and its number."""

    name: VariableName
    result: str | None
    found: str
    line: int


_BY_NAME = {name.value: name for name in VariableName}
_PLAIN_ROW = re.compile(rf"({'|'.join(map(re.escape, _BY_NAME))})(?: ?: | |:|$)(\S*)")
_WORDS = {
    VariableName.RESEARCH_TYPE: ("Experimental", "Theoretical"),
    VariableName.RESEARCHER_AFFILIATION: ("Academia", "Industry", "Collaboration"),
}
_SCORED_WORDS = ("Yes", "No")


def _bare(text: str) -> str:
    """A text without Markdown's emphasis around it."""
    return text.strip().strip("*").strip()


def _ends_head(line: str) -> bool:
    """True if the rows or the abstract begin here."""
    if re.match(r"\W*Reproducibility Variable\b", line):
        return True
    if re.fullmatch(r"(#+ )?\**abstract\**[:.]?", line, re.IGNORECASE):
        return True
    row = _row(line, 0)
    return row is not None and row.result is not None


def _row(line: str, number: int) -> _Row | None:
    """The row in a line, if it begins with the name of a variable."""
    cells = [_bare(cell) for cell in line.strip("| ").split("|", 2)]
    if len(cells) > 1 and cells[0] in _BY_NAME:
        name, found = _BY_NAME[cells[0]], cells[1]
        known = {word.casefold(): word for word in _WORDS.get(name, _SCORED_WORDS)}
        result = known.get(found.casefold())
        if name in UNSCORED and 0 < len(found) <= LONGEST_RESULT:
            result = result or found  # a table says where it ends
        return _Row(name, result, found, number)
    match = _PLAIN_ROW.match(line)
    if match is None:
        return None
    name, found = _BY_NAME[match[1]], match[2]
    result = found if found in _WORDS.get(name, _SCORED_WORDS) else None
    return _Row(name, result, found, number)


def _decided(rows: Sequence[_Row]) -> str | None:
    """The result of the lines that begin with a variable's name, if they agree."""
    results = {row.result for row in rows} - {None}
    return results.pop() if len(results) == 1 else None


def _remarks(rows: Mapping[VariableName, Sequence[_Row]]) -> Iterator[Remark]:
    for name in VariableName:
        several = rows.get(name, ())
        readable = [one for one in several if one.result is not None]
        if not several:
            yield Remark(name.value, "found no row")
        elif not readable:
            shown = repr(several[0].found[:40]) if several[0].found else "nothing"
            yield Remark(name.value, f"found {shown} as the result on line {several[0].line}")
        elif _decided(several) is None:
            found = ", ".join(f"{one.result} on line {one.line}" for one in readable[:5])
            yield Remark(name.value, f"found {found}")


# --- title, authors, venue ----------------------------------------------------------------------

_LABEL = re.compile(r"\**(title|authors?|venue|notice)\**\s?:\**\s?(.*)", re.IGNORECASE)
_VENUE = re.compile(r"(\S.*?)[ ,]*\b((?:19|20)\d\d)|(\w*[A-Za-z])((?:19|20)\d\d)")
_ACRONYM = re.compile(r"[A-Za-z]*[A-Z][A-Za-z]*[A-Z][A-Za-z]*")
_LINKS = re.compile(r"\b(PDF|LLM Run Details|Plain Text)\b")
_BETWEEN_AUTHORS = re.compile(r"\s*(?:[,;](?!\s*(?:Jr|Sr|II|III|IV)\b)|\s&\s|\sand\s)\s*")

_Head = tuple[str | None, tuple[str, ...], str | None, int | None, list[Remark]]


def _head(lines: Sequence[str]) -> _Head:
    """Title, authors, venue and year of the lines above the rows, in any order, with remarks."""
    labelled: dict[str, list[str]] = {"title": [], "author": [], "venue": [], "notice": []}
    rest: list[str] = []
    for line in lines:
        label = _LABEL.match(line)
        if label is not None:
            labelled[label[1].lower().removesuffix("s")].append(label[2])
        elif _is_venue(line):
            labelled["venue"].append(line)
        else:
            rest.append(line)
    remarks = []
    venues = {_venue(text) for text in labelled["venue"]}
    venue, year = (venues.pop() if len(venues) == 1 else None) or (None, None)
    if venue is None:
        remarks.append(Remark("venue", "found no single line such as 'ICLR 2025 | …'"))
    names = [_bare(part) for text in labelled["author"] for part in _BETWEEN_AUTHORS.split(text)]
    authors = tuple(name for name in names if name)
    if not authors:
        remarks.append(Remark("authors", "found no line 'Authors: …' with names"))
    titles = [_bare(text.lstrip("#")) for text in labelled["title"] or rest]
    title = titles[0] if titles and 0 < len(titles[0]) <= LONGEST_TITLE else None
    if title is None:
        remarks.append(Remark("title", "found no line that could be one"))
    elif len(titles) > 1:
        remarks.append(Remark("title", f"read from the first of {len(titles)} lines"))
    return title, authors, venue, year, remarks


def _is_venue(text: str) -> bool:
    """True of a line that can be nothing else: an acronym with a year, or the card's links."""
    read = _venue(text)
    links = text.partition(" | ")[2]
    return read is not None and bool(_ACRONYM.fullmatch(read[0]) or _LINKS.search(links))


def _venue(text: str) -> tuple[str, int] | None:
    first = _bare(text.partition(" | ")[0])
    match = _VENUE.fullmatch(first) if len(first) <= LONGEST_VENUE else None
    return None if match is None else (match[1] or match[3], int(match[2] or match[4]))
