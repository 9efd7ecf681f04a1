"""A scorecard as a page: HTML that needs nothing else, with no script and no request; Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from reproaudit.formats.numbers import listed
from reproaudit.formats.scorecard import Scorecard
from reproaudit.report import choices, documentation, outline, reviews, screen
from reproaudit.report.chart import chart, legend, strip
from reproaudit.report.outline import MOST_FACTS
from reproaudit.report.printable import clean
from reproaudit.scorecard.claims import questions_of
from reproaudit.scorecard.words import DOTS, look

TEMPLATES = Path(__file__).with_name("templates")
STYLE = TEMPLATES / "style.css"
"""The style sheet of every page."""

LONGEST_PAGE = 200
"""Lines of a paper's page in Markdown."""
MOST_WORDS = 3000
"""Words of it."""


@cache
def environment() -> Environment:
    """Return what renders the templates of this room; HTML is escaped in them."""
    found = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.globals.update(c=choices, d=documentation, o=outline, r=reviews, s=screen)
    found.globals.update({one.__name__: one for one in (chart, legend, look, questions_of, strip)})
    found.globals["dots"] = {level.value: dots for level, dots in DOTS.items()}
    found.globals["style"] = STYLE.read_text(encoding="utf-8")
    return found


def html(card: Scorecard) -> str:
    """Return a paper's page."""
    return environment().get_template("paper.html").render(card=card)


def markdown(card: Scorecard) -> str:
    """Return the page as Markdown; of a long one, without findings that change no answer."""
    page = templates().get_template("paper.md")
    for most in (MOST_FACTS + 1, MOST_FACTS, 5, 3, 2):
        text = page.render(card=card, whole=most > MOST_FACTS, most=min(most, MOST_FACTS))
        text = f"{text.rstrip()}\n"
        if text.count("\n") <= LONGEST_PAGE and len(text.split()) <= MOST_WORDS:
            break
    return text


@cache
def templates() -> Environment:
    """Return what renders templates as Markdown: whatever they insert is plain text."""
    found = environment().overlay(autoescape=False, finalize=_written)
    found.filters["cell"] = _cell
    found.globals["listed"] = listed
    return found


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
