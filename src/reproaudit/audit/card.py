"""Reads a reproducibility card: the paper, and its automated classification.

A card is text in one of two shapes, a line for each of the nine variables or a Markdown table, with
or without a notice about the classification, with title, authors and venue above it in any order::

    A Title                                     | Reproducibility Variable | Result | LLM Response |
    Authors: A. Author, B. Author               |---|---|---|
    ICLR 2025 | Venue PDF | LLM Run Details     | Pseudocode | No | The paper has none. |
    Pseudocode No The paper has none.

It may also be a paper's first lines only: title, authors, venue and abstract. What cannot be read
is left open and named in `Card.remarks`, never guessed. No text makes it raise anything but a
`CardError`.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from reproaudit.audit.variables import UNSCORED, VariableName
from reproaudit.bounded import UnfitFileError, read_regular
from reproaudit.errors import CardError

MAX_CARD_BYTES = 2**18
"""The largest card; those seen so far have a fiftieth of it."""

LONGEST_TEXT = {"title": 400, "author": 100, "venue": 100, "result": 60}
"""Characters beyond which a text is not what it seems."""

MOST_AUTHORS = 500


class Remark(NamedTuple):
    """A note about something that could not be read, or was read without a label."""

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


class CardLine(NamedTuple):
    """A line that is not blank, its blanks run together."""

    number: int
    text: str


def parse_card(text: str, file: str = "card") -> Card:
    """Return the card in a text.

    Args:
        text: a card.
        file: its name, for the error.

    Raises:
        CardError: on control characters, or if this is no card.
    """
    refuse_control_characters(text, file)
    lines = [
        CardLine(number, " ".join(line.split()))
        for number, line in enumerate(re.split(r"\r\n|\r|\n", text), start=1)
        if line.strip()
    ]
    if not lines:
        raise CardError(f"{file}: found an empty file; expected a reproducibility card")
    start = next((i for i, line in enumerate(lines) if _ends_head(line)), len(lines))
    head, rows = _Head.read(lines[:start]), _rows(lines[start:])
    if not rows and (head.title is None or head.venue is None):
        names = ", ".join(list(VariableName)[:3])
        raise CardError(
            f"{file}: found no row of a reproducibility variable ({names} …), nor a title and a "
            "venue; expected a reproducibility card"
        )
    results = {name: _decided(rows[name]) for name in VariableName if name in rows}
    remarks = (*head.remarks, *_remarks(rows, lines))
    return Card(head.title, head.authors, head.venue, head.year, results, remarks)


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


def _bare(text: str) -> str:
    """A text without Markdown's emphasis around it."""
    return text.strip().strip("*").strip()


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


def _ends_head(line: CardLine) -> bool:
    """True if the rows or the abstract begin here."""
    if re.match(r"\W*Reproducibility Variable\b", line.text):
        return True
    if re.fullmatch(r"(#+ )?\**abstract\**[:.]?", line.text, re.IGNORECASE):
        return True
    row = _row(line)
    return row is not None and row.result is not None


def _row(line: CardLine) -> _Row | None:
    """The row in a line, if it begins with the name of a variable."""
    cells = [_bare(cell) for cell in line.text.strip("| ").split("|", 2)]
    if len(cells) > 1 and cells[0] in _BY_NAME:
        name, found = _BY_NAME[cells[0]], cells[1]
        known = {word.casefold(): word for word in _WORDS.get(name, _SCORED_WORDS)}
        result = known.get(found.casefold())
        if name in UNSCORED and 0 < len(found) <= LONGEST_TEXT["result"]:
            result = result or found  # a table says where it ends
        return _Row(name, result, found, line.number)
    match = _PLAIN_ROW.match(line.text)
    if match is None:
        return None
    name, found = _BY_NAME[match[1]], match[2]
    result = found if found in _WORDS.get(name, _SCORED_WORDS) else None
    return _Row(name, result, found, line.number)


def _rows(lines: Iterable[CardLine]) -> dict[VariableName, list[_Row]]:
    """The rows of every variable on the card."""
    found: dict[VariableName, list[_Row]] = {}
    for row in map(_row, lines):
        if row is not None:
            found.setdefault(row.name, []).append(row)
    return found


def _decided(rows: Iterable[_Row]) -> str | None:
    """The result of the lines that begin with a variable's name, if they agree."""
    results = {row.result for row in rows} - {None}
    return results.pop() if len(results) == 1 else None


def _remarks(
    rows: Mapping[VariableName, Sequence[_Row]], lines: Sequence[CardLine]
) -> Iterator[Remark]:
    for name in VariableName:
        several = rows.get(name, ())
        if not several:
            yield Remark(name.value, f"found no row{_misnamed(name.value, lines)}")
        elif readable := [one for one in several if one.result is not None]:
            if _decided(several) is None:
                found = ", ".join(f"{one.result} on line {one.line}" for one in readable[:5])
                yield Remark(name.value, f"found {found}")
        else:
            shown = repr(several[0].found[:40]) if several[0].found else "nothing"
            yield Remark(name.value, f"found {shown} as the result on line {several[0].line}")


def _misnamed(name: str, lines: Sequence[CardLine]) -> str:
    """The row that most likely was meant to bear a name, for a remark; empty if there is none."""
    words = len(name.split())
    starts: dict[str, int] = {}
    for line in lines:
        first = _bare(line.text.strip("| ").split("|")[0]).rstrip(":").split()
        start = " ".join(first[:words]).rstrip(":")
        if start not in _BY_NAME:
            starts.setdefault(start, line.number)
    near = difflib.get_close_matches(name, starts, n=1, cutoff=0.85)
    return f" of this name, but '{near[0]}' on line {starts[near[0]]}" if near else ""


# --- title, authors, venue ----------------------------------------------------------------------

_LABEL = re.compile(r"\**(title|authors?|venue|notice)\**\s?:\**\s?(.*)", re.IGNORECASE)
_VENUE = re.compile(r"(\S.*?)[ ,]*\b((?:19|20)\d\d)|(\w*[A-Za-z])((?:19|20)\d\d)")
_ACRONYM = re.compile(r"[A-Za-z]*[A-Z][A-Za-z]*[A-Z][A-Za-z]*")
_LINKS = re.compile(r"\b(PDF|LLM Run Details|Plain Text)\b")
_BETWEEN_AUTHORS = re.compile(r"\s*(?:[,;](?!\s*(?:Jr|Sr|II|III|IV)\b)|\s&\s|\sand\s)\s*")
_PERSON = re.compile(r"[^\W\d_][\w.'’-]*( [\w.'’-]+){1,5}")


@dataclass
class _Head:
    """The lines above the rows."""

    title: str | None = None
    authors: tuple[str, ...] = ()
    venue: str | None = None
    year: int | None = None
    remarks: list[Remark] = field(default_factory=list)

    @classmethod
    def read(cls, lines: Sequence[CardLine]) -> _Head:
        """From the lines above the rows, in any order."""
        head = cls()
        labelled: dict[str, list[str]] = {"title": [], "author": [], "venue": [], "notice": []}
        rest: list[CardLine] = []
        for line in lines:
            label = _LABEL.match(line.text)
            if label is not None:
                labelled[label[1].lower().removesuffix("s")].append(label[2])
            else:
                rest.append(line)
        venues = [line.text for line in rest if _venue(line.text) is not None]
        head._take_venue([*labelled["venue"], *venues])
        rest = [line for line in rest if _venue(line.text) is None]
        if labelled["author"]:
            head._take_authors(labelled["author"])
        elif rest and len(rest) == 2 - len(labelled["title"]) and _are_persons(rest[-1].text):
            line = rest.pop()
            head._take_authors([line.text])
            head.remarks.append(Remark("authors", f"read from line {line.number}, without a label"))
        else:
            head.remarks.append(Remark("authors", "found no line 'Authors: …'"))
        head._take_title(labelled["title"] or [line.text for line in rest])
        return head

    def _take_venue(self, found: Sequence[str]) -> None:
        read = {_venue(text) or _labelled_venue(text) for text in found}
        if len(read) == 1 and (one := read.pop()) is not None:
            self.venue, self.year = one
        elif found:
            self.remarks.append(Remark("venue", f"found {_shown(found)}; expected venue and year"))
        else:
            self.remarks.append(Remark("venue", "found no line such as 'ICLR 2025 | …'"))

    def _take_authors(self, found: Sequence[str]) -> None:
        names = _persons(found[0])
        too_long = any(len(name) > LONGEST_TEXT["author"] for name in names)
        if len(found) == 1 and names and not too_long and len(names) <= MOST_AUTHORS:
            self.authors = names
        else:
            self.remarks.append(Remark("authors", f"found {_shown(found)}; expected names"))

    def _take_title(self, found: Sequence[str]) -> None:
        titles = [_bare(text.lstrip("#")) for text in found]
        if len(titles) == 1 and 0 < len(titles[0]) <= LONGEST_TEXT["title"]:
            self.title = titles[0]
        elif titles:
            self.remarks.append(Remark("title", f"found {_shown(found)}; expected one line"))
        else:
            self.remarks.append(Remark("title", "found no line that could be one"))


def _venue(text: str) -> tuple[str, int] | None:
    """Venue and year of a line that can be nothing else: an acronym, or with the card's links."""
    links = text.partition(" | ")[2]
    read = _labelled_venue(text)
    if read is None:
        return None
    acronym = _ACRONYM.fullmatch(read[0])
    return read if acronym or _LINKS.search(links) else None


def _labelled_venue(text: str) -> tuple[str, int] | None:
    first = _bare(text.partition(" | ")[0])
    match = _VENUE.fullmatch(first) if len(first) <= LONGEST_TEXT["venue"] else None
    if match is None:
        return None
    return match[1] or match[3], int(match[2] or match[4])


def _persons(text: str) -> tuple[str, ...]:
    parts = (_bare(part) for part in _BETWEEN_AUTHORS.split(text))
    return tuple(part for part in parts if part)


def _are_persons(text: str) -> bool:
    """True if a line without a label is a list of names: two or more, each of two to six words."""
    names = _persons(text)
    return len(names) > 1 and all(_PERSON.fullmatch(name) and name[0].isupper() for name in names)


def _shown(found: Iterable[str]) -> str:
    texts = [repr(text if len(text) <= 60 else f"{text[:59]}…") for text in found]
    more = f" and {len(texts) - 3} more" if len(texts) > 3 else ""
    return f"{', '.join(texts[:3])}{more}"
