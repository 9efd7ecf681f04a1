"""A scorecard as a page: HTML that needs nothing else, with no script and no request; Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from reproaudit.audit import documentation
from reproaudit.formats import numbers, outcomes
from reproaudit.formats.scorecard import Scorecard
from reproaudit.report import chart, making, parts
from reproaudit.report.printable import clean

TEMPLATES = Path(__file__).with_name("templates")
STYLE = TEMPLATES / "style.css"
"""The style sheet of every page."""

LONGEST_PAGE = 200
"""Lines of a paper's page in Markdown."""
MOST_WORDS = 3000
"""Words of it."""

BRIEFER = ((0, 9), (1, 9), (2, 3), (3, 2), (4, 1), (5, 0), (6, 0))
"""How a long page becomes brief: which rows it leaves out, and how many facts a claim keeps."""

_HELPERS = (numbers, outcomes, chart, parts)
"""Modules whose names templates use."""


@cache
def environment() -> Environment:
    """Return what renders the templates of this room; HTML is escaped in them."""
    rendering = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for module in _HELPERS:
        rendering.globals.update(vars(module))
    style = STYLE.read_text(encoding="utf-8")
    rendering.globals.update(d=documentation, m=making, note_words=making.note_words, style=style)
    return rendering


def html(card: Scorecard) -> str:
    """Return a paper's page."""
    return environment().get_template("paper.html").render(card=card)


def markdown(card: Scorecard) -> str:
    """Return the page as Markdown; a long one counts the rows that ended as they should."""
    page = templates().get_template("paper.md")
    for brief, most in BRIEFER:
        text = f"{page.render(card=card, brief=brief, most=most).rstrip()}\n"
        if text.count("\n") <= LONGEST_PAGE and len(text.split()) <= MOST_WORDS:
            break
    return text


def letter(card: Scorecard) -> str:
    """Return the letter: what was rerun and found, then the questions with what hangs on each."""
    return f"{templates().get_template('letter.md').render(card=card).rstrip()}\n"


@cache
def templates() -> Environment:
    """Return what renders templates as Markdown: whatever they insert is plain text."""
    rendering = environment().overlay(autoescape=False, finalize=_written)
    rendering.filters["cell"] = _cell
    return rendering


def _written(value: object) -> str:
    return value if isinstance(value, Markup) else plain(value)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table."""
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    yield from (f"| {' | '.join(map(_cell, row))} |" for row in rows)


def _cell(text: object) -> Markup:
    return Markup(plain(text).replace("|", "\\|"))


_LIVE = re.compile(
    r"[\\`]"  # begins an escape, or code
    r"|\](?=[(\[])|^\[(?=[^\]]*\]:)"  # ends the text of a link or a picture; begins their address
    r"|(?<=:)//|(?<=www)\."  # part of an address that some readers make a link of
    r"|~(?=~~)",  # begins code to the page's end
    re.IGNORECASE,
)


def plain(text: object) -> str:
    """Return text on one line without tags, links, pictures and code; unsafe characters escaped."""
    return _LIVE.sub(r"\\\g<0>", clean(str(text))).replace("<", "&lt;")
