"""A document as one HTML page that needs nothing else: no network, no script, no other file.

Everything is escaped when it is put into markup, and the page forbids the browser to load anything.
The same document gives the same bytes. The templates hold the frame, the style sheet and the small
pictures of intervals.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache, singledispatch
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from reproaudit.reports import outline as o
from reproaudit.reports.interval_plot import Plot
from reproaudit.reports.svg import figure_svg


def html_page(document: o.Document) -> str:
    """Returns the document as a page."""
    return (
        _templates()
        .get_template("page.html.j2")
        .render(
            name=o.plain_line(document.name),
            title=_line(document.title),
            lead=_rendered(document.lead),
            body=_rendered(document.blocks),
        )
    )


@cache
def _templates() -> Environment:
    return Environment(
        loader=PackageLoader("reproaudit.reports", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@cache
def _plot_macro() -> Any:
    return _templates().get_template("plot.html.j2").module


def _element(tag: str, inner: str, **attributes: str) -> Markup:
    """Returns an element; attributes without a value are left out."""
    named = ((name.rstrip("_").replace("_", "-"), v) for name, v in attributes.items() if v)
    start = Markup("").join(Markup(' {}="{}"').format(name, value) for name, value in named)
    return Markup("<{0}{1}>{2}</{0}>").format(tag, start, inner)


def _join(pieces: Iterable[Markup], between: str = "") -> Markup:
    return Markup(between).join(pieces)


# --- text ---------------------------------------------------------------------------------------


def _line(text: o.Line) -> Markup:
    return _join(map(_span, o.spans(text)))


def _span(span: o.Span) -> Markup:
    inner = _element("a", span.text, href=span.href, rel=_rel(span)) if span.href else span.text
    if span.mark == "badge":
        return _element("span", inner, class_=f"badge {span.tone or ''}".strip(), title=span.title)
    if span.mark == "number":
        return _element("span", _unbroken(span.text), class_="number")
    tag = {"": "", "strong": "strong", "soft": "span", "code": "code"}[span.mark]
    if not tag:
        return Markup.escape(inner)
    return _element(tag, inner, class_="soft" if span.mark == "soft" else "", title=span.title)


def _rel(span: o.Span) -> str:
    return "noreferrer" if "://" in span.href else ""


def _unbroken(text: str) -> str:
    """Returns a reading with spaces that do not break within its interval and its bound."""
    return re.sub(
        r"\[[^\]]*\]|(not )?[≤≥] \S+", lambda m: m[0].replace(" ", "\N{NO-BREAK SPACE}"), text
    )


# --- block by block -----------------------------------------------------------------------------


def _rendered(blocks: Iterable[o.Piece]) -> Markup:
    return _join((_render(block) for block in o.shown_pieces(blocks, o.Detail.PAGE)), "\n")


@singledispatch
def _render(block: o.Piece) -> Markup:
    raise TypeError(f"a page cannot show a {type(block).__name__}")


@_render.register
def _(block: o.Paragraph) -> Markup:
    return _element("p", _line(block.text), class_=block.style)


@_render.register
def _(block: o.Facts) -> Markup:
    rows = (
        _element("dt", _line(label)) + _element("dd", _line(text)) for label, text in block.rows
    )
    return _element("dl", _join(rows, "\n"), class_="facts")


@_render.register
def _(block: o.Bullets) -> Markup:
    items = (
        _element("li", _join(_element("p", _line(one)) for one in item.lines), id=item.anchor)
        for item in block.items
    )
    return _element("ol" if block.numbered else "ul", _join(items, "\n"))


@_render.register
def _(block: o.Fold) -> Markup:
    inner = _element("summary", _line(block.summary)) + _rendered(block.blocks)
    return _element("details", inner, open="open" if block.is_open else "")


@_render.register
def _(block: o.Section) -> Markup:
    anchor = block.anchor
    inner = _rendered(block.blocks)
    if block.level == 2:
        title = _element("h2", _line(block.title), id=anchor)
        return _element("section", title + inner, aria_labelledby=anchor)
    title = _element("h3", _line(block.title), id=f"{anchor}-title")
    named = f"{anchor}-title"
    return _element("article", title + inner, class_="claim", id=anchor, aria_labelledby=named)


@_render.register
def _(block: o.Picture) -> Markup:
    caption = _element("figcaption", _line(block.caption))
    if isinstance(block.drawing, Plot):
        return _element("figure", caption + _plot_macro().plot(block.drawing, block.anchor))
    # The picture was serialised from an element tree, which escaped every text in it.
    picture = Markup(figure_svg(block.drawing, "figure-"))
    label = o.plain_line(block.drawing.title)
    scroll = _element("div", picture, class_="scroll", tabindex="0", role="group", aria_label=label)
    return _element("figure", scroll + caption)


@_render.register
def _(block: o.Tabular) -> Markup:
    columns, rows = o.cells(block, o.Detail.PAGE)
    if not rows:
        return Markup("")
    caption = _element("caption", _line(block.caption)) if block.caption else Markup("")
    heads = _join(_element("th", _line(name), scope="col") for name in columns)
    body = _join((_row(columns, row) for row in rows), "\n")
    inner = caption + _element("thead", _element("tr", heads)) + _element("tbody", body)
    kind = "grid" if block.layout == "narrow" else "stacked"
    return _element("div", _element("table", inner, class_=kind), class_="scroll", tabindex="0")


def _row(columns: Sequence[str], row: Sequence[o.GridCell]) -> Markup:
    first = _element("th", _cell(row[0]), scope="row")
    rest = (
        _element("td", _cell(cell), data_label=name)
        for name, cell in zip(columns[1:], row[1:], strict=True)
    )
    return _element("tr", first + _join(rest))


def _cell(cell: o.GridCell) -> Markup:
    if isinstance(cell, o.PlotCell):
        return Markup(_plot_macro().plot(cell.plot, cell.anchor, True))
    lines = o.lines_of(cell)
    if len(lines) == 1:
        return _line(lines[0])
    return _join(_element("p", _line(one)) for one in lines)
