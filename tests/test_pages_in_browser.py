"""A scorecard in a real browser: widths, colour schemes, print, accessibility, no request."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from browsing import fits, prints, serious, watched
from factories import make_audit, make_lookup
from reproaudit.reports.files import write_report
from reproaudit.scorecard.build import build


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    audit = make_audit()
    card = build(audit, "paper", make_lookup(audit))
    written = write_report(card, tmp_path_factory.mktemp("reports"), ["html"])
    assert {path.name for path in written} == {"scorecard.html", "pictures.csv"}
    return (written[0].parent / "scorecard.html").as_uri()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 820, 1280])
def test_the_page_fits_and_is_accessible(
    browser: Any, address: str, width: int, scheme: str
) -> None:
    options = {"viewport": {"width": width, "height": 900}, "color_scheme": scheme}
    with watched(browser, address, address, **options) as page:
        assert fits(page)
        charts = page.locator("svg.chart[role=img]")
        assert charts.count() >= 4
        for place in range(charts.count()):
            box = charts.nth(place).bounding_box()
            assert box is not None
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= width
        letters = page.locator("svg.chart .tick").first
        height = letters.evaluate("e => e.getBoundingClientRect().height")
        assert height >= 9  # to be read at 390 px
        assert serious(page) == []


def test_the_words_of_a_picture_are_its_description(browser: Any, address: str) -> None:
    page = browser.new_page()
    page.goto(address)
    chart = page.locator("#claim-1 svg.chart[aria-describedby]").first
    words = page.locator(f"#{chart.get_attribute('aria-describedby')}").text_content()
    assert "inside the range of the rule" in words
    page.close()


def test_the_numbers_open_from_the_page(browser: Any, address: str) -> None:
    page = browser.new_page()
    page.goto(address)
    target = page.get_by_text("The numbers of the pictures").first.get_attribute("href")
    assert target == "pictures.csv"
    file = Path(address.removeprefix("file://")).parent / target
    assert file.read_text(encoding="utf-8").startswith("claim,picture,")
    page.close()


def test_the_page_prints_whole_on_white(browser: Any, address: str, tmp_path: Path) -> None:
    options = {"viewport": {"width": 718, "height": 1000}, "color_scheme": "dark"}  # A4
    with watched(browser, address, address, **options) as page:
        page.emulate_media(media="print")
        background = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert background == "rgb(255, 255, 255)"
        assert fits(page)
        folds = page.locator("details").all()
        closed = [one for one in folds if not prints(one)]
        said = [one.locator("summary").text_content() for one in closed]
        assert [re.sub(r"\d+", "n", one) for one in said] == ["n records"]
        assert any(one.get_attribute("open") is None and prints(one) for one in folds)
        page.pdf(path=str(tmp_path / "page.pdf"))
        assert (tmp_path / "page.pdf").stat().st_size > 20_000


def test_a_claims_heading_is_not_printed_alone(browser: Any, address: str) -> None:
    """The defect: a figure with its words, kept whole, went to the next page without its claim."""
    page = browser.new_page()
    page.emulate_media(media="print")
    page.goto(address)
    broken = "e => getComputedStyle(e).breakInside"
    figures = page.locator(".gallery figure:has(details)")
    assert figures.count()
    assert {one.evaluate(broken) for one in figures.all()} == {"auto"}
    assert page.locator("svg.chart").first.evaluate(broken) == "avoid"
    held = "e => getComputedStyle(e).breakAfter"
    for words in ("#claim-1 h3", "#claim-1 .statement", "#claim-1 figcaption"):
        assert page.locator(words).first.evaluate(held) == "avoid"
    page.close()


def test_the_links_to_claims_have_the_verdicts_colours(browser: Any, address: str) -> None:
    page = browser.new_page(viewport={"width": 390, "height": 800})
    page.goto(address)
    assert page.locator(".contents li .badge:visible").count() == len(
        page.locator("article.claim").all()
    )
    page.close()
