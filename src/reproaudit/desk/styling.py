"""The templates, style sheet and icon of the desk's pages."""

from __future__ import annotations

from functools import cache, partial
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from reproaudit.audit.rules import Severity
from reproaudit.audit.settings import Source
from reproaudit.desk.session import stamp_of
from reproaudit.desk.views import SOURCES, first_sentence, values_text
from reproaudit.reports.numbers import value_words
from reproaudit.reports.printable import printable

ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16">'
    '<path d="M2 9l4 4 8-10" fill="none" stroke="#0b57a4" stroke-width="3"/></svg>'
)


@cache
def style_sheet() -> str:
    """The reports' style sheet, and what the desk adds."""
    reports = Environment(loader=PackageLoader("reproaudit.reports", "templates"), autoescape=True)
    shared = reports.get_template("style.html.j2").render()
    shared = shared.replace("<style>", "").replace("</style>", "")
    return shared + page_templates().get_template("desk.css.j2").render()


@cache
def page_templates() -> Environment:
    """The desk's templates, with what they may call."""
    found = Environment(
        loader=PackageLoader("reproaudit.desk", "templates"),
        autoescape=True,
        finalize=lambda value: printable(value) if type(value) is str else value,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.globals.update(
        SOURCES=SOURCES,
        Source=Source,
        Severity=Severity,
        value_words=value_words,
        values_text=values_text,
        shown_field=shown_field,
        stamp_of=stamp_of,
        quote=partial(quote, safe=""),
    )
    found.filters["as_typed"] = lambda text: Markup.escape(text)  # a form gives it back
    found.filters["first_sentence"] = first_sentence
    found.filters["spaced"] = lambda name: str(name).replace("_", " ")
    return found


def shown_field(setting: Any, field: str) -> str:
    """A setting's field as the reviewer types it."""
    value = getattr(setting, field)
    if field == "alternatives":
        return values_text(value)
    if value is None:
        return ""
    return value_words(value) if field == "value" else str(value)
