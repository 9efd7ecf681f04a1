"""The outline of a document: typed blocks that terminal, Markdown and HTML render alike.

A document is built once from a scorecard, a multiverse or a comparison, and each renderer maps
block after block. A block says with `Detail` which renderings have room for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import lru_cache
from typing import Literal

from reproaudit.reports.interval_plot import Plot
from reproaudit.reports.printable import printable
from reproaudit.scorecard.figures import FigureModel
from reproaudit.scorecard.pictures import PictureModel
from reproaudit.scorecard.verdicts import Tone


class Detail(IntEnum):
    """The renderings that show a piece."""

    BRIEF = 0
    """All of them."""
    FULL = 1
    """Markdown and HTML."""
    PAGE = 2
    """HTML alone."""


# --- text ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Span:
    """A piece of a line.

    Attributes:
        text: as it is read; renderers get it on one line and free of control characters.
        mark: strong, soft, code, number (its digits and units stay on one line), or badge.
        tone: the colour; it only repeats what the words say.
        href: the target of a link.
        title: more about it, shown by a browser when pointed at.
    """

    text: str
    mark: Literal["", "strong", "soft", "code", "number", "badge"] = ""
    tone: Tone | None = None
    href: str = ""
    title: str = ""


Line = str | Span | tuple["str | Span", ...]


_BLANKS = re.compile(r"\s+")


def spans(text: Line) -> Iterator[Span]:
    """Returns the pieces of a line, free of line breaks and control characters."""
    return map(_shown, text if isinstance(text, tuple) else (text,))


@lru_cache(maxsize=4096)  # the cells of tables say the same again and again
def _shown(piece: str | Span) -> Span:
    span = piece if isinstance(piece, Span) else Span(piece)
    shown = printable(_BLANKS.sub(" ", span.text))
    return Span(shown, span.mark, span.tone, span.href, printable(span.title))


def plain_line(text: Line) -> str:
    """Returns a line without its marks."""
    return "".join(span.text for span in spans(text))


def strong(text: str) -> Span:
    """Returns important text."""
    return Span(text, "strong")


def soft(text: str) -> Span:
    """Returns text that may be skipped."""
    return Span(text, "soft")


def code(text: str) -> Span:
    """Returns a name."""
    return Span(text, "code")


def digits(text: str) -> Span:
    """Returns numbers with their interval and bound."""
    return Span(text, "number")


def joined(pieces: Iterable[Span], between: str = ", ") -> tuple[str | Span, ...]:
    """Returns pieces with a separator between them."""
    line: list[str | Span] = []
    for one in pieces:
        line += [between, one] if line else [one]
    return tuple(line)


# --- blocks -------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Piece:
    """One piece of a document."""

    detail: Detail = Detail.BRIEF


@dataclass(frozen=True)
class Paragraph(Piece):
    """Running text.

    Attributes:
        text: one line.
        style: how it stands out.
    """

    text: Line
    style: Literal["", "soft", "statement", "warning", "conclusion"] = ""


@dataclass(frozen=True)
class Facts(Piece):
    """Labelled lines; an empty label continues the line above."""

    rows: Sequence[tuple[Line, Line]]


@dataclass(frozen=True)
class Item:
    """One entry of a list, of one or more lines."""

    lines: Sequence[Line]
    anchor: str = ""


@dataclass(frozen=True)
class Bullets(Piece):
    """A list.

    Attributes:
        items: its entries.
        numbered: whether they have numbers.
    """

    items: Sequence[Item]
    numbered: bool = False


@dataclass(frozen=True)
class Lines:
    """A cell of several lines."""

    lines: Sequence[Line]


@dataclass(frozen=True)
class PlotCell:
    """A cell with a small picture; renderings without pictures leave its column out."""

    plot: Plot
    anchor: str


GridCell = Line | Lines | PlotCell
GridRow = Sequence[GridCell]


@dataclass(frozen=True)
class Tabular(Piece):
    """A table; the first cell of each row names it.

    Attributes:
        columns: the heads.
        rows: as many cells each.
        caption: what it shows.
        layout: "stacked" where a terminal has no room for the columns and puts a row's cells one
            under the other; "narrow" for many narrow columns, which a terminal cuts into several.
        pages_only: columns that a terminal has no room for.
    """

    columns: Sequence[str]
    rows: Sequence[GridRow]
    caption: str = ""
    layout: Literal["plain", "stacked", "narrow"] = "plain"
    pages_only: Sequence[str] = ()


@dataclass(frozen=True)
class Picture(Piece):
    """A picture with its caption; only pages draw it, Markdown names it."""

    caption: Line
    drawing: Plot | FigureModel | PictureModel
    anchor: str


@dataclass(frozen=True)
class Gallery(Piece):
    """Pictures side by side as far as there is room.

    Attributes:
        pictures: of one claim or one kind.
    """

    pictures: Sequence[Picture]


@dataclass(frozen=True)
class Fold(Piece):
    """Blocks that a page can hide under a line."""

    summary: str
    blocks: Sequence[Piece]
    is_open: bool = False


@dataclass(frozen=True)
class Section(Piece):
    """Blocks under a heading.

    Attributes:
        title: the heading.
        blocks: what stands under it.
        level: 2 for a part of the document, 3 for one of several alike, such as a claim.
        anchor: what links lead to.
        closing: whether a terminal shows it last, where the reader looks first.
    """

    title: Line
    blocks: Sequence[Piece]
    level: Literal[2, 3] = 2
    anchor: str = ""
    closing: bool = False


@dataclass(frozen=True)
class Document:
    """A whole page, or what a command prints.

    Attributes:
        name: of the page, for a browser's tab.
        title: the heading.
        lead: what stands under it.
        blocks: the rest.
    """

    name: str
    title: str
    lead: Sequence[Piece]
    blocks: Sequence[Piece] = field(default=())


def shown_pieces(blocks: Iterable[Piece], detail: Detail) -> list[Piece]:
    """Returns the blocks that a rendering of this detail shows."""
    return [block for block in blocks if block.detail <= detail]


def cells(table: Tabular, detail: Detail) -> tuple[Sequence[str], list[list[GridCell]]]:
    """Returns the columns and rows that a rendering of this detail shows."""
    rows = table.rows
    kept = [
        place
        for place, column in enumerate(table.columns)
        if detail > Detail.BRIEF or column not in table.pages_only
        if detail is Detail.PAGE or not any(isinstance(row[place], PlotCell) for row in rows)
    ]
    return [table.columns[i] for i in kept], [[row[i] for i in kept] for row in rows]


def lines_of(cell: GridCell) -> Sequence[Line]:
    """Returns the lines of a cell that has no picture."""
    if isinstance(cell, PlotCell):
        raise TypeError("a picture has no lines")
    return cell.lines if isinstance(cell, Lines) else (cell,)
