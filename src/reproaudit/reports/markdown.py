"""A document as Markdown: for a repository's page, a review or an issue.

Text from audits and records is escaped, so that a statement can neither break a table nor become
markup. Pictures are named, not drawn: they are on the HTML page beside it.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from functools import lru_cache, singledispatch

from reproaudit.reports import outline as o
from reproaudit.reports.printable import clean
from reproaudit.scorecard.figures import FigureModel
from reproaudit.scorecard.pictures import PictureModel

_MARKS = {"": "", "strong": "**", "soft": "", "code": "", "number": "", "badge": "**"}


def markdown_text(document: o.Document) -> str:
    """Returns the document as one Markdown file."""
    blocks = [f"# {escaped(document.title)}", *_rendered((*document.lead, *document.blocks))]
    return "\n\n".join(blocks) + "\n"


def escaped(text: object) -> str:
    """Returns text that Markdown shows as it is, in a table's cell too, on one line."""
    return _line_start(_escaped(clean(str(text))))


def _escaped(text: str) -> str:
    return re.sub(r"([\\`*_\[\]|~$])", r"\\\1", html.escape(text, quote=False))


def _line_start(text: str) -> str:
    return re.sub(r"^([#+-]|\d+[.)](?= ))", r"\\\1", text)


def _line(text: o.Line) -> str:
    return _line_start("".join(_span(span) for span in o.spans(text)).strip())


@lru_cache(maxsize=4096)
def _span(span: o.Span) -> str:
    shown, mark = _escaped(span.text), _MARKS[span.mark]
    if span.href.startswith("https://"):  # anchors and pages beside it are on the HTML page
        return f"[{shown}]({span.href})"
    return f"{mark}{shown}{mark}" if span.text.strip() else shown


def _cell(cell: o.GridCell) -> str:
    return "<br>".join(_line(line) for line in o.lines_of(cell))


def _rendered(blocks: Iterable[o.Piece]) -> list[str]:
    shown = (_render(block) for block in o.shown_pieces(blocks, o.Detail.FULL))
    return [text for text in shown if text]


@singledispatch
def _render(block: o.Piece) -> str:
    raise TypeError(f"Markdown cannot show a {type(block).__name__}")


@_render.register
def _(block: o.Paragraph) -> str:
    text = _line(block.text)
    return f"**{text}**" if block.style in ("warning", "conclusion") else text


@_render.register
def _(block: o.Facts) -> str:
    label = ""
    lines = []
    for name, text in block.rows:
        label = _line(name) or label
        lines.append(f"- **{label.strip('*')}:** {_line(text)}" if label else f"- {_line(text)}")
    return "\n".join(lines)


@_render.register
def _(block: o.Bullets) -> str:
    lines = []
    for number, item in enumerate(block.items, start=1):
        mark = f"{number}." if block.numbered else "-"
        lines.append(f"{mark} " + "<br>".join(_line(one) for one in item.lines))
    return "\n".join(lines)


@_render.register
def _(block: o.Tabular) -> str:
    columns, rows = o.cells(block, o.Detail.FULL)
    lines = [f"| {' | '.join(map(escaped, columns))} |", f"|{' --- |' * len(columns)}"]
    lines += [f"| {' | '.join(_cell(cell) for cell in row)} |" for row in rows]
    return "\n".join(lines) if rows else ""


@_render.register
def _(block: o.Picture) -> str:
    if isinstance(block.drawing, PictureModel):
        return f"Picture: {_line(block.caption)}"
    return f"Figure: {_line(block.caption)}" if isinstance(block.drawing, FigureModel) else ""


@_render.register
def _(block: o.Gallery) -> str:
    return "\n\n".join(_rendered(block.pictures))


@_render.register
def _(block: o.Fold) -> str:
    return "\n\n".join([f"**{escaped(block.summary)}**", *_rendered(block.blocks)])


@_render.register
def _(block: o.Section) -> str:
    title = _line(block.title).replace("**", "")
    return "\n\n".join([f"{'#' * block.level} {title}", *_rendered(block.blocks)])
