"""A document as one HTML page that needs nothing else: no network, no script, no other file.

Everything is escaped when it is put into markup, and the page forbids the browser to load anything.
The same document gives the same bytes. The templates hold the frame, the style sheet and the small
pictures of intervals.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache, singledispatch

from markupsafe import Markup, escape

from reproaudit.reports import outline as o
from reproaudit.reports.chart import Chart, figure_chart, picture_chart
from reproaudit.reports.heat_map import heat_maps, scale_words
from reproaudit.reports.interval_plot import Plot
from reproaudit.reports.printable import clean
from reproaudit.reports.templating import macros, templates
from reproaudit.scorecard.pictures import PictureModel


def html_page(document: o.Document) -> str:
    """Returns the document as a page."""
    return (
        templates()
        .get_template("page.html.j2")
        .render(
            name=o.plain_line(document.name),
            title=_line(document.title),
            lead=_rendered(document.lead),
            contents=_contents(document.blocks),
            body=_rendered(document.blocks),
        )
    )


def _contents(blocks: Iterable[o.Piece]) -> Markup:
    """Returns links to a page's sections and claims, for screens on which it is long.

    A page without claims has none.
    """
    sections = [one for one in o.shown_pieces(blocks, o.Detail.PAGE) if isinstance(one, o.Section)]
    claims = [
        piece
        for one in sections
        for piece in one.blocks
        if one.anchor == "claims" and isinstance(piece, o.Section)
    ]
    if not claims:
        return Markup("")
    links = (
        _element("li", _element("a", _line(one.title), href=f"#{one.anchor}"))
        for one in (*claims, *(one for one in sections if one.anchor != "claims"))
    )
    return _element("nav", _element("ul", _join(links)), class_="contents", aria_label="Contents")


def _element(tag: str, inner: str, **attributes: str) -> Markup:
    """Returns an element; attributes without a value are left out."""
    start = "".join(_attribute(name, value) for name, value in attributes.items() if value)
    safe = inner if isinstance(inner, Markup) else escape(inner)
    return Markup(f"<{tag}{start}>{safe}</{tag}>")


@lru_cache(maxsize=4096)
def _attribute(name: str, value: str) -> str:
    return f' {name.rstrip("_").replace("_", "-")}="{escape(value)}"'


def _join(pieces: Iterable[Markup], between: str = "") -> Markup:
    return Markup(between.join(pieces))  # Markup's own would look at each piece once more


# --- text ---------------------------------------------------------------------------------------


def _line(text: o.Line) -> Markup:
    return _join(map(_span, o.spans(text)))


@lru_cache(maxsize=4096)
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
        drawn = macros("plot.html.j2").plot(block.drawing, block.anchor)
        return _element("figure", caption + drawn)
    if isinstance(block.drawing, PictureModel):
        chart = picture_chart(block.drawing)
        stages = clean("; ".join(f"{one.name}: {one.about}" for one in block.drawing.stages))
        short = _element("p", f"{stages}.", class_="soft") if stages else Markup("")
        for kind in sorted(chart.cut):
            short += _element("p", CUT[kind], class_="soft")
        words = _element("summary", "In words") + _element(
            "p", " ".join(_terms(block.drawing)), class_="soft"
        )
        drawn = _chart(chart, block.anchor)
        return _element("figure", caption + drawn + short + _element("details", words))
    if block.drawing.kind == "matrices":
        maps = [
            _element(
                "div",
                _element("p", one.label, class_="soft")
                + macros("chart.html.j2").heat_map(one, f"{block.anchor}-{place}"),
            )
            for place, one in enumerate(heat_maps(block.drawing), start=1)
        ]
        scale = _element("p", f"{scale_words(block.drawing)}.", class_="soft")
        return _element("figure", caption + _element("div", _join(maps), class_="maps") + scale)
    chart = figure_chart(block.drawing)
    return _element("figure", caption + _chart(chart, block.anchor))


CUT = {
    "claim": "The claim's own mean goes beyond the picture; it is drawn at the edge.",
    "control": "A control goes beyond the picture; it is drawn at the edge.",
    "positive": "The constructed solution goes beyond the picture; it is drawn at the edge.",
}


def _terms(picture: PictureModel) -> Iterator[str]:
    """Yields what the quantities are, and what an onset is."""
    yield from picture.meanings
    if picture.onset_rule:
        yield f"{picture.onset_rule[0].upper()}{picture.onset_rule[1:]}."


def _chart(chart: Chart, anchor: str) -> Markup:
    """Returns a chart with its key."""
    macro = macros("chart.html.j2")
    items = (
        _element("li", macro.swatch(one) + Markup(" {}").format(one.label)) for one in chart.in_key
    )
    key = _element("ul", _join(items), class_="key") if len(chart.strokes) > 1 else Markup("")
    return Markup(macro.chart(chart, anchor)) + key


@_render.register
def _(block: o.Gallery) -> Markup:
    return _element("div", _join(map(_render, block.pictures), "\n"), class_="gallery")


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
        return Markup(macros("plot.html.j2").plot(cell.plot, cell.anchor, True))
    lines = o.lines_of(cell)
    if len(lines) == 1:
        return _line(lines[0])
    return _join(_element("p", _line(one)) for one in lines)
