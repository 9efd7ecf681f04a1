"""The register in a real browser: search, filters, order, keyboard, widths, and without scripts."""

from __future__ import annotations

import re
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

import factories
from browsing import fits, prints, serious, watched
from reproaudit.reports.files import write_report
from reproaudit.reports.register.writing import write_register
from reproaudit.scorecard.elsewhere import OriginModel
from reproaudit.scorecard.model import Scorecard

playwright = pytest.importorskip("playwright.sync_api")

HOSTILE = "<script>document.title='taken'</script><img src=x onerror=alert(1)> \u202e & \"'"
ORIGIN = OriginModel(
    who=HOSTILE, source="logs", framework="JAX", made="2026-11-02", settings={}, absent=()
)


WHITE = "rgb(255, 255, 255)"


def paper(slug: str, claims: int | None = None, **changes: Any) -> Scorecard:
    card = factories.make_scorecard(slug)
    own = tuple(
        one.model_copy(update={"id": one.id.replace("toy.", f"{slug}.")}) for one in card.claims
    )
    update = {"paper": {**card.paper, "slug": slug, **changes}, "claims": own[:claims]}
    return card.model_copy(update=update)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three papers: one of them measured elsewhere, too, and one with hostile words."""
    out = tmp_path_factory.mktemp("register")
    cards = [
        paper("toy", venue="NeurIPS", year=2023),
        paper("ball", 4, venue="ICML", year=2024, title="Balls roll"),
        paper("yarn", 2, venue="ICLR", year=2021, title=HOSTILE, authors=["Zoë Zzyzx"]),
    ]
    for card in (*cards, cards[0].model_copy(update={"origin": ORIGIN})):
        write_report(card, out, ["json"])
    for file in out.rglob("scorecard.json"):
        file.with_suffix(".html").write_text("<title>a page</title>")
    write_register(cards, out)
    return out / "paper"


def opened(
    browser: Any, folder: Path, address: str = "", **options: Any
) -> AbstractContextManager[Any]:
    """The page; nothing may be complained of, and nothing but the page itself be asked for."""
    file = (folder / "index.html").as_uri()
    return watched(browser, f"{file}{address}", file, **options)


def shown(page: Any, table: str) -> list[str]:
    """The links that name the rows that are to be seen, in their order."""
    rows = page.locator(f"#{table}-table tbody tr:visible th a")
    return [text.split(",")[0] for text in rows.all_inner_texts()]


def papers(page: Any) -> list[str]:
    return list(dict.fromkeys(shown(page, "papers")))


def show_all(page: Any) -> None:
    """The button, and what follows from it a little later."""
    page.click("text=Show all")
    everything = re.compile(r"^(\d+) of \1 claims and (\d+) of \2 papers shown$")
    playwright.expect(page.locator("#shown")).to_have_text(everything)


def unfold_filters(page: Any) -> None:
    """On a narrow screen the filters are folded, so that the papers come first."""
    assert not page.is_visible("[name=venue]")
    page.click("text=Filter and sort")
    assert page.is_visible("[name=venue]")


def focus(page: Any, script: str) -> None:
    """Tab until a script, given the element that has the focus, says true."""
    for _ in range(200):
        if page.evaluate(f"(e => {script})(document.activeElement)"):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"Tab never reaches {script}")


# --- filters and search -------------------------------------------------------------------------


def test_filters_leave_what_fits_all_of_them(browser: Any, folder: Path) -> None:
    with opened(browser, folder) as page:
        every = shown(page, "claims")
        assert papers(page) == ["ball", "toy", "yarn"]
        page.check("[name=verdict][value=contradicted]")
        contradicted = shown(page, "claims")
        assert contradicted[:4] == ["ball.contradicted", *2 * ["toy.contradicted"], "toy.diverged"]
        assert contradicted[-1] == "yarn.contradicted"
        page.check("[name=verdict][value=conditional]")
        assert "toy.conditional" in shown(page, "claims"), "two boxes of one kind widen"
        page.select_option("[name=venue]", "ICML")
        assert {one.partition(".")[0] for one in shown(page, "claims")} == {"ball"}
        assert papers(page) == ["ball"]
        assert page.inner_text("#shown").endswith("1 of 4 papers shown")
        assert page.locator("#beside ~ .beside g[data-follows]:visible").count() == 2
        show_all(page)
        assert shown(page, "claims") == every
        page.select_option("[name=year]", "2021")
        assert papers(page) == ["yarn"]
        show_all(page)
        page.check("[name=evidence][value=proxy]")
        assert shown(page, "claims") == ["toy.proxy", "toy.proxy"]
        page.uncheck("[name=evidence][value=proxy]")
        page.check("[name=by][value=others]")
        assert papers(page) == ["toy"]
        assert len(shown(page, "claims")) == len([one for one in every if "toy." in one]) / 2


def test_what_a_claim_hangs_on_is_a_filter(browser: Any, folder: Path) -> None:
    with opened(browser, folder) as page:
        page.select_option("[name=hangs]", "any setting")
        any_setting = shown(page, "claims")
        assert set(any_setting) == {"ball.conditional", "toy.conditional"}
        page.select_option("[name=hangs]", "init_scale")
        assert shown(page, "claims") == any_setting


def test_search_finds_papers_authors_and_claims(browser: Any, folder: Path) -> None:
    with opened(browser, folder) as page:
        for words, found in (
            ("balls ROLL", ["ball"]),
            ("zzyzx", ["yarn"]),
            ("toy.every-seed", ["toy"]),
            ("nowhere at all", []),
            ("<script>document", ["yarn", "toy"]),
        ):
            page.fill("[name=q]", words)
            assert set(papers(page)) == set(found), words
        assert page.title() == "Register, paper tier"


def test_an_address_leads_to_what_was_seen(browser: Any, folder: Path) -> None:
    with opened(browser, folder) as page:
        page.check("[name=verdict][value=vacuous]")
        page.select_option("[name=sort-papers]", "year:down")
        seen, address = shown(page, "claims"), page.evaluate("location.hash")
    with opened(browser, folder, address) as page:
        assert shown(page, "claims") == seen
        assert page.is_checked("[name=verdict][value=vacuous]")
        assert page.input_value("[name=sort-papers]") == "year:down"
    with opened(browser, folder, "#claims") as page:
        assert page.evaluate("location.hash") == "#claims", "an anchor stays one"
    with opened(browser, folder, "#verdict=nonsense&venue=%00&x=y&sort-papers=z") as page:
        assert papers(page) == ["ball", "toy", "yarn"]


# --- order, by keyboard -------------------------------------------------------------------------


def test_order_and_filters_by_keyboard_alone(browser: Any, folder: Path) -> None:
    with opened(browser, folder) as page:
        focus(page, "e.name === 'q'")
        page.keyboard.type("zzyzx")
        page.keyboard.press("Enter")
        assert papers(page) == ["yarn"]
        page.keyboard.press("Control+A")
        page.keyboard.press("Delete")
        focus(page, "e.name === 'verdict' && e.value === 'vacuous'")
        page.keyboard.press("Space")
        assert set(shown(page, "claims")) == {"toy.vacuous"}
        page.keyboard.press("Space")
        head = "e.tagName === 'BUTTON' && e.closest('th') && e.textContent === '{}'"
        focus(page, head.format("Paper"))
        page.keyboard.press("Enter")
        page.keyboard.press("Enter")
        assert papers(page) == ["yarn", "toy", "ball"]
        assert page.get_attribute("#papers-table th >> nth=0", "aria-sort") == "descending"
        assert page.get_attribute("#papers-table th >> nth=1", "aria-sort") == "none"
        focus(page, head.format("Verdict"))
        page.keyboard.press("Enter")
        ordered = shown(page, "claims")
        assert ordered[0].endswith(".layers")
        assert ordered[-1] in ("toy.absent", "toy.crashed")
        first = [one for one in ordered if one.startswith("toy.")][:2]
        assert first == 2 * ["toy.layers"], "what others measured stays below ours"
        focus(page, "e.name === 'sort-claims'")
        page.keyboard.press("Home")
        playwright.expect(page.locator("[name=sort-claims]")).to_have_value("")
        assert shown(page, "claims")[0] == "ball.layers"


@pytest.mark.parametrize(
    ("key", "order"),
    [
        ("year:up", ["yarn", "toy", "ball"]),
        ("year:down", ["ball", "toy", "yarn"]),
        ("venue:up", ["yarn", "ball", "toy"]),
        ("slug:down", ["yarn", "toy", "ball"]),
        ("", ["ball", "toy", "yarn"]),
    ],
)
def test_papers_are_sorted_by(browser: Any, folder: Path, key: str, order: list[str]) -> None:
    with opened(browser, folder) as page:
        page.select_option("[name=sort-papers]", key)
        assert papers(page) == order


# --- widths, accessibility, no script -----------------------------------------------------------


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (820, "light"), (1280, "light")])
def test_the_page_fits_and_is_accessible(
    browser: Any, folder: Path, width: int, scheme: str
) -> None:
    options = {"viewport": {"width": width, "height": 900}, "color_scheme": scheme}
    with opened(browser, folder, **options) as page:
        assert fits(page)
        assert serious(page) == []
        if width == 390:
            unfold_filters(page)
            assert fits(page)
        page.check("[name=verdict][value=contradicted]")
        assert set(papers(page)) == {"ball", "toy", "yarn"}
        assert fits(page)


def test_names_in_the_plot_overlap_nothing(browser: Any, folder: Path) -> None:
    with opened(browser, folder, viewport={"width": 390, "height": 900}) as page:
        for panel in page.locator("svg.panel").all():
            assert panel.locator("text.name").all_text_contents() == ["ball", "yarn", "toy"]
            texts = panel.locator("text, circle").all()
            boxes = [one.bounding_box() for one in texts]
            for place, one in enumerate(boxes):
                assert one["x"] + one["width"] <= 390
                for other in boxes[:place]:
                    apart = (
                        one["x"] >= other["x"] + other["width"] - 1
                        or other["x"] >= one["x"] + one["width"] - 1
                        or one["y"] >= other["y"] + other["height"] - 3  # of its line's air
                        or other["y"] >= one["y"] + one["height"] - 3
                    )
                    assert apart, (one, other)
        page.click("text=Each paper in words")
        listed = page.locator("li[data-follows]:visible")
        playwright.expect(listed).to_have_count(3)
        unfold_filters(page)
        page.select_option("[name=venue]", "ICML")
        playwright.expect(listed).to_have_text(re.compile("^ball: "))
        playwright.expect(page.locator("text.name:visible")).to_have_text(["ball", "ball"])


def test_a_strip_follows_its_paper(browser: Any, folder: Path) -> None:
    with opened(browser, folder, viewport={"width": 390, "height": 900}) as page:
        strips = page.locator("svg.strip:visible")
        playwright.expect(strips).to_have_count(4)  # one of them of what others measured
        box = strips.first.bounding_box()
        assert box is not None
        assert box["width"] > 280, "as wide as the page, to be read"
        unfold_filters(page)
        page.select_option("[name=venue]", "ICML")
        playwright.expect(strips).to_have_count(1)
        show_all(page)
        playwright.expect(strips).to_have_count(4)


def test_the_register_prints_whole(browser: Any, folder: Path) -> None:
    options = {"viewport": {"width": 718, "height": 1000}, "color_scheme": "dark"}  # A4
    with opened(browser, folder, **options) as page:
        page.emulate_media(media="print")
        assert fits(page)
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == WHITE
        assert not page.is_visible("#filters")
        for words in ("Each paper in words", "What the words mean"):
            assert prints(page.locator("details", has_text=words)), words


def test_without_scripts_everything_is_there(browser: Any, folder: Path) -> None:
    with opened(browser, folder, java_script_enabled=False) as page:
        assert not page.is_visible("#filters")
        assert page.is_visible("text=this browser does not run")
        assert len(shown(page, "papers")) == 4
        assert len(shown(page, "claims")) == 4 + 2 * len(factories.CLAIMS) + 2
        assert page.locator("thead th button").count() == 0
        assert page.get_attribute("#papers-table a >> nth=0", "href") == "ball/scorecard.html"
