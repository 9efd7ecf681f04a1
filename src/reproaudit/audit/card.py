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
from reproaudit.errors import CardError

MAX_CARD_BYTES = 2**18
"""The largest card; those seen so far have a fiftieth of it."""

LONGEST_TEXT = {"title": 400, "author": 100, "venue": 100, "result": 60}
"""Characters beyond which a text is not what it seems."""

MOST_AUTHORS = 500


@dataclass(frozen=True)
class CardRow:
    """One variable on a card.

    Attributes:
        result: the classification; None if it cannot be read.
        response: the classifier's quotation or reason.
        line: the line of the file, counted from 1.
    """

    result: str | None
    response: str
    line: int


@dataclass(frozen=True)
class Remark:
    """A note about something that could not be read, or was read without a label.

    Attributes:
        about: title, authors, venue, or a variable's name.
        text: the words that were found instead.
    """

    about: str
    text: str

    def __str__(self) -> str:
        """On one line."""
        return f"{self.about}: {self.text}"


@dataclass(frozen=True)
class Card:
    """A card as far as it can be read."""

    title: str | None = None
    authors: tuple[str, ...] = ()
    venue: str | None = None
    year: int | None = None
    rows: Mapping[VariableName, CardRow] = field(default_factory=dict)
    has_notice: bool = False
    """True if the card warns that its classification is automated."""
    remarks: tuple[Remark, ...] = ()


NO_CARD = Card()
"""A card that says nothing."""


class CardLine(NamedTuple):
    """A line that is not blank, its blanks run together."""

    number: int
    text: str


def read_card(path: Path) -> Card:
    """The card in a file.

    Raises:
        CardError: if the file cannot be read, is no text, or is no card.
    """
    return parse_card(read_card_text(path), str(path))


def read_card_text(path: Path) -> str:
    """The text of a file of at most `MAX_CARD_BYTES`.

    Raises:
        CardError: if the file cannot be read, is too large or is no readable text.
    """
    try:
        with path.open("rb") as stream:
            data = stream.read(MAX_CARD_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise CardError(f"{path}: found no readable file ({reason.lower()})") from error
    if len(data) > MAX_CARD_BYTES:
        raise CardError(f"{path}: found more than {MAX_CARD_BYTES} bytes; a card is a page of text")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise CardError(
            f"{path}:{line}: found the byte 0x{data[error.start]:02x}; expected UTF-8 text. "
            "Save it as plain text."
        ) from error


def parse_card(text: str, file: str = "card") -> Card:
    """The card in a text.

    Args:
        text: one card.
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
    head = _Head.read(lines[:start])
    rows = _rows(lines[start:])
    if not rows and (head.title is None or head.venue is None):
        names = ", ".join(list(VariableName)[:3])
        raise CardError(
            f"{file}: found no row of a reproducibility variable ({names} …), nor a title and a "
            "venue; expected a reproducibility card"
        )
    return Card(
        title=head.title,
        authors=head.authors,
        venue=head.venue,
        year=head.year,
        rows={name: rows[name].row for name in VariableName if name in rows},
        has_notice=head.has_notice,
        remarks=(*head.remarks, *_remarks(rows, lines)),
    )


_UNREADABLE = re.compile(
    r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufeff\ufffe\uffff]"
)
"""Control characters, besides those that are blanks; and those that turn the order of a text."""


def refuse_control_characters(text: str, file: str) -> None:
    """Raises a `CardError` with the first control character's place."""
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


class _Candidate(NamedTuple):
    """A line that may be a variable's row."""

    name: VariableName
    result: str | None
    found: str
    """The word in the place of the result."""
    response: list[str]
    """The rest of the line, and the lines below that begin no row."""
    line: int

    def row(self) -> CardRow:
        return CardRow(self.result, " ".join(part for part in self.response if part), self.line)


class _Reading(NamedTuple):
    """The card's row about a variable, with the problem if it cannot be read."""

    row: CardRow
    problem: str


_BY_NAME = {name.value: name for name in VariableName}
_PLAIN_ROW = re.compile(rf"({'|'.join(map(re.escape, _BY_NAME))})(?: ?: | |:|$)(.*)")
_WORDS = {
    VariableName.RESEARCH_TYPE: ("Experimental", "Theoretical"),
    VariableName.RESEARCHER_AFFILIATION: ("Academia", "Industry", "Collaboration"),
}
_SCORED_WORDS = ("Yes", "No")


def _ends_head(line: CardLine) -> bool:
    """True if the rows or the abstract begin here."""
    if re.match(r"\W*Reproducibility Variable\b", line.text) or _is_abstract(line.text):
        return True
    candidate = _candidate(line)
    return candidate is not None and candidate.result is not None


def _is_abstract(text: str) -> bool:
    return re.fullmatch(r"(#+ )?\**abstract\**[:.]?", text, re.IGNORECASE) is not None


def _candidate(line: CardLine) -> _Candidate | None:
    """The row in a line, if it begins with the name of a variable."""
    cells = [_bare(cell) for cell in line.text.strip("| ").split("|", 2)]
    if len(cells) > 1 and cells[0] in _BY_NAME:
        name, found = _BY_NAME[cells[0]], cells[1]
        return _Candidate(name, _cell_result(name, found), found, cells[2:], line.number)
    match = _PLAIN_ROW.match(line.text)
    if match is None:
        return None
    name = _BY_NAME[match[1]]
    found, _, response = match[2].strip().partition(" ")
    result = found if found in _WORDS.get(name, _SCORED_WORDS) else None
    return _Candidate(name, result, found, [response], line.number)


def _cell_result(name: VariableName, cell: str) -> str | None:
    """The result in a table's cell, where the shape says where it ends."""
    known = {word.casefold(): word for word in _WORDS.get(name, _SCORED_WORDS)}
    if name in UNSCORED and 0 < len(cell) <= LONGEST_TEXT["result"]:
        return known.get(cell.casefold(), cell)
    return known.get(cell.casefold())


def _rows(lines: Sequence[CardLine]) -> dict[VariableName, _Reading]:
    """Every variable on the card; a line that begins no row goes on the one above."""
    candidates: dict[VariableName, list[_Candidate]] = {}
    last: _Candidate | None = None
    for line in lines:
        candidate = _candidate(line)
        if candidate is not None:
            last = candidate
            candidates.setdefault(candidate.name, []).append(candidate)
        elif last is not None:
            last.response.append(line.text.strip("| "))
    return {name: _decided(several) for name, several in candidates.items()}


def _decided(several: Sequence[_Candidate]) -> _Reading:
    """One reading of the lines that begin with a variable's name."""
    readable = [one for one in several if one.result is not None]
    if len({one.result for one in readable}) == 1:
        return _Reading(readable[0].row(), "")
    if readable:
        found = ", ".join(f"{one.result} on line {one.line}" for one in readable[:5])
        return _Reading(CardRow(None, "", readable[0].line), f"found {found}")
    first = several[0]
    shown = repr(first.found[:40]) if first.found else "nothing"
    return _Reading(first.row(), f"found {shown} as the result on line {first.line}")


def _remarks(rows: Mapping[VariableName, _Reading], lines: Sequence[CardLine]) -> Iterator[Remark]:
    for name in VariableName:
        if name not in rows:
            yield Remark(name.value, f"found no row{_misnamed(name.value, lines)}")
        elif rows[name].problem:
            yield Remark(name.value, rows[name].problem)


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
    has_notice: bool = False
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
        head.has_notice = bool(labelled["notice"])
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
