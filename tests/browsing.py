"""Pages in a real browser, for tests: what they say, what they ask for, what axe-core finds."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest


@contextmanager
def watched(
    browser: Any, address: str, within: str, refusals: Sequence[str] = (), **options: Any
) -> Iterator[Any]:
    """A page; nothing may be complained of, and nothing be asked for outside of one place.

    Args:
        browser: the fixture.
        address: what is opened.
        within: what every address that is asked for begins with.
        refusals: words of complaints that the test provokes.
        options: of the browser's context, such as its viewport.
    """
    context = browser.new_context(**options)
    page = context.new_page()
    said: list[str] = []
    asked: list[str] = []

    def refuse(dialog: Any) -> None:
        said.append(dialog.message)
        dialog.dismiss()

    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("dialog", refuse)
    page.on("request", lambda request: asked.append(request.url))
    page.goto(address)
    yield page
    context.close()
    assert [one for one in said if not any(words in one for words in refusals)] == []
    assert [url for url in asked if not url.startswith(within)] == []


def serious(page: Any) -> list[str]:
    """The rules of axe-core that a page breaks seriously."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    found = axe.Axe().run(page).response["violations"]
    return [one["id"] for one in found if one["impact"] in ("serious", "critical")]


def fits(page: Any) -> bool:
    """Whether neither the page nor any table on it must be scrolled sideways."""
    too_wide = """() => [document.documentElement, ...document.querySelectorAll('.scroll')]
                        .filter((e) => e.scrollWidth > e.clientWidth).length"""
    return not page.evaluate(too_wide)
