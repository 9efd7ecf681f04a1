"""Pages that need nothing else: no script, no request."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from reproaudit.declarations import StrictModel
from reproaudit.report import choices, documentation, outline, reviews, screen
from reproaudit.report.chart import chart, legend, strip
from reproaudit.report.claims import questions_of
from reproaudit.report.words import DOTS, look
from reproaudit.verdict import Outcome, Scorecard

TEMPLATES = Path(__file__).with_name("templates")
STYLE = TEMPLATES / "style.css"
"""The style sheet of every page."""


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


def multiverse_html(found: StrictModel) -> str:
    """Return the page of a paper's readings and alternatives."""
    return environment().get_template("multiverse.html").render(found=found)


def register_html(register: StrictModel, pictures: Mapping[str, Markup]) -> str:
    """Return the register's page, with the picture of each page that has one."""
    outcomes = [(one.value, one.value.replace(" ", "-")) for one in Outcome]
    page = environment().get_template("register.html")
    return page.render(register=register, pictures=pictures, outcomes=outcomes)
