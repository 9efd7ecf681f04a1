"""Pages that need nothing else: no script, no request."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from reproaudit.declarations import StrictModel
from reproaudit.report import outline, reviews, screen
from reproaudit.report.chart import chart, legend, strip
from reproaudit.report.choices import grid_of
from reproaudit.report.claims import questions_of
from reproaudit.report.documentation import by_whom, documentation_of, documented_words
from reproaudit.report.words import DOTS, look
from reproaudit.verdict import Outcome, Scorecard

TEMPLATES = Path(__file__).with_name("templates")
STYLE = TEMPLATES / "style.css"
"""The style sheet of every page."""


@cache
def _environment() -> Environment:
    found = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.globals["o"] = outline
    found.globals["s"] = screen
    found.globals["r"] = reviews
    shown = (by_whom, chart, grid_of, documentation_of, documented_words, legend, look, strip)
    found.globals.update({one.__name__: one for one in shown})
    found.globals["dots"] = {level.value: dots for level, dots in DOTS.items()}
    found.globals["style"] = STYLE.read_text(encoding="utf-8")
    return found


def html(card: Scorecard) -> str:
    """Return a paper's page."""
    claims = screen.ordered_claims(card)
    page = _environment().get_template("paper.html")
    return page.render(card=card, claims=claims, questions=questions_of(card))


def multiverse_html(found: StrictModel) -> str:
    """Return the page of a paper's readings and alternatives."""
    return _environment().get_template("multiverse.html").render(found=found)


def register_html(register: StrictModel, pictures: Mapping[str, Markup]) -> str:
    """Return the register's page, with the picture of each page that has one."""
    return (
        _environment()
        .get_template("register.html")
        .render(
            register=register,
            documented_words=documented_words,
            pictures=pictures,
            outcomes=[(one.value, one.value.replace(" ", "-")) for one in Outcome],
        )
    )
