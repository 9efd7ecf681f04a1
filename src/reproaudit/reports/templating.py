"""The templates of the pages."""

from __future__ import annotations

from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined


@cache
def templates() -> Environment:
    """Returns the pages' templates; everything put into them is escaped."""
    return Environment(
        loader=PackageLoader("reproaudit.reports", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@cache
def macros(name: str) -> Any:
    """Returns a template whose macros are called."""
    return templates().get_template(name).module
