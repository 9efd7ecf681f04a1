"""A document in a terminal.

It reads the same without colour: verdicts are words, rules are drawn with characters, and colour
only repeats what is written. Text from audits and records is never taken for markup.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import singledispatch

from rich import box
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.rule import Rule
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from reproaudit.reports import outline as o
from reproaudit.reports.printable import printable
from reproaudit.scorecard.verdicts import Tone, complete

TONES = complete(
    Tone,
    {
        Tone.GOOD: "bold green",
        Tone.BAD: "bold red",
        Tone.OPEN: "bold yellow",
        Tone.EMPTY: "bold magenta",
        Tone.BROKEN: "bold red",
        Tone.ABSENT: "bold",
        Tone.NEUTRAL: "",
    },
)
MARKS = {"": "", "strong": "bold", "soft": "dim", "code": "bold", "number": "", "badge": ""}
STYLES = {"": "", "soft": "dim", "statement": "", "warning": "bold", "conclusion": "bold"}
WIDEST = 110
"""Longer lines are harder to read, however wide the terminal."""
COLUMNS_OF_A_GRID = 7
"""More do not fit into 80 characters; the grid is then cut into several."""
LONGEST_NAME = 22
"""Characters of a row's name in a table; longer ones wrap, so that readings need not."""
LONGEST_LABEL = 16


def print_document(document: o.Document, console: Console) -> None:
    """Prints the brief form of a document; sections that close it come last."""
    blocks: list[RenderableType] = []
    if document.title:
        blocks += [Rule(style="dim"), _line(document.title, "bold")]
        blocks += [*_rendered(document.lead), Rule(style="dim")]
    body = o.shown_pieces(document.blocks, o.Detail.BRIEF)
    body.sort(key=lambda block: isinstance(block, o.Section) and block.closing)
    blocks += _rendered(body)
    width = min(console.width, WIDEST)
    console.print(_Trimmed(Group(*blocks)), width=width, highlight=False)


@dataclass(frozen=True)
class _Trimmed:
    """The same without blanks at the ends of lines, so that output can be piped and compared."""

    inner: RenderableType

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for line in console.render_lines(self.inner, options, pad=False):
            while line and not line[-1].text.strip():
                line.pop()
            if line:
                last = line.pop()
                line.append(Segment(last.text.rstrip(), last.style))
            yield from line
            yield Segment.line()


def _line(text: o.Line, style: str = "", *, upper: bool = False) -> Text:
    line = Text(style=style, overflow="fold")
    for span in o.spans(text):
        colour = TONES[span.tone] if span.tone else MARKS[span.mark]
        badge = upper and span.mark == "badge"
        line.append(span.text.upper() if badge else span.text, style=colour)
    return line


def _lines(cell: o.GridCell) -> Text:
    return Text("\n", overflow="fold").join(_line(one) for one in o.lines_of(cell))


def _rendered(blocks: Iterable[o.Piece]) -> list[RenderableType]:
    return [_render(block) for block in o.shown_pieces(blocks, o.Detail.BRIEF)]


# --- block by block -----------------------------------------------------------------------------


@singledispatch
def _render(block: o.Piece) -> RenderableType:
    raise TypeError(f"a terminal cannot show a {type(block).__name__}")


@_render.register
def _(block: o.Paragraph) -> RenderableType:
    return _line(block.text, STYLES[block.style])


@_render.register
def _(block: o.Facts) -> RenderableType:
    return _labelled([(_line(label), _line(text)) for label, text in block.rows])


@_render.register
def _(block: o.Bullets) -> RenderableType:
    grid = Table.grid(padding=(0, 1))
    for number, item in enumerate(block.items, start=1):
        grid.add_row(f"{number}" if block.numbered else "-", _lines(o.Lines(item.lines)))
    return grid


@_render.register
def _(block: o.Fold) -> RenderableType:
    return Group(Text(), _line(block.summary, "dim"), *_rendered(block.blocks))


@_render.register
def _(block: o.Section) -> RenderableType:
    blocks = _rendered(block.blocks)
    if block.level == 2:
        title = _line(block.title, "dim")
        return Group(Text(), Rule(title, style="dim", align="left"), *blocks)
    title = _line(block.title, upper=True)
    return Group(Text(), title, Padding(Group(*blocks), (0, 0, 0, 2)))


@_render.register
def _(block: o.Tabular) -> RenderableType:
    columns, rows = o.cells(block, o.Detail.BRIEF)
    if not rows:
        return Group()
    if block.layout == "stacked":
        return _labelled([(_lines(row[0]), _stacked(row[1:])) for row in rows])
    shown = [[_lines(cell) for cell in row] for row in rows]
    if block.layout == "plain":
        caption = (Text(), _line(block.caption, "dim")) if block.caption else ()
        return Group(*caption, _grid(columns, shown))
    blocks: list[RenderableType] = []
    for start in range(1, len(columns), COLUMNS_OF_A_GRID - 1):
        kept = (0, *range(start, min(start + COLUMNS_OF_A_GRID - 1, len(columns))))
        some = [[row[place] for place in kept] for row in shown]
        blocks += [Text(), _grid([columns[place] for place in kept], some)]
    return Group(*blocks)


def _grid(columns: Sequence[str], rows: Iterable[Sequence[Text]]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold", show_edge=False)
    for place, column in enumerate(columns):
        widest = LONGEST_NAME if place == 0 else None
        table.add_column(Text(printable(column)), overflow="fold", max_width=widest)
    for row in rows:
        table.add_row(*row)
    return table


def _stacked(cells: Sequence[o.GridCell]) -> Text:
    """Puts the cells of a row under each other, the first two on one line."""
    found = [line for cell in cells if (line := _lines(cell)).plain]
    head = Text(": ").join(found[:2])
    return Text("\n", overflow="fold").join([head, *found[2:]])


def _labelled(rows: Sequence[tuple[Text, Text]]) -> RenderableType:
    """Puts labels beside their text or, where one is long, above it."""
    longest = max((len(label.plain) for label, _ in rows), default=0)
    if longest > LONGEST_LABEL:
        return Group(*_under(rows))
    grid = Table.grid(padding=(0, 1))
    grid.add_column(width=max(longest, 12), style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for label, text in rows:
        grid.add_row(label, text)
    return grid


def _under(rows: Iterable[tuple[Text, Text]]) -> Iterator[RenderableType]:
    for label, text in rows:
        yield label
        yield Padding(text, (0, 0, 0, 4))
