"""The whole flow in a real browser, by keyboard: two reviewers, a conflict, taking back."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from desks import RunningDesk, copied, running

from browsing import fits, serious, watched
from reproaudit.audit.loading import load_audit

HOSTILE = '"No": #1 <script>alert(1)</script>\n- !!tag {a: b} ${x} {{ y }}\u202e \U0001f9ea'


def page_of(browser: Any, desk: RunningDesk, **options: Any) -> AbstractContextManager[Any]:
    """A page that has entered; nothing may be complained of, nor asked of another machine."""
    refusals = ("409 (Conflict)", "422 (Unprocessable")  # the flow asks for them
    return watched(browser, desk.address, f"http://{desk.host}/", refusals, **options)


def press(page: Any, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def submit(page: Any) -> None:
    """Enter, on a link or a button that leads to another page."""
    with page.expect_navigation():
        page.keyboard.press("Enter")


def click(page: Any, words: str) -> None:
    """Click on what leads to another page, and wait for it."""
    with page.expect_navigation():
        page.click(f"text={words}")


def focus(page: Any, label: str) -> None:
    """Tab until the thing of this name has the focus."""
    script = """() => { const e = document.activeElement, l = e.labels && e.labels[0];
                        return (l ? l.innerText : e.innerText || '').trim() }"""
    for _ in range(120):
        if page.evaluate(script).startswith(label):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"Tab never reaches '{label}'")


def test_two_reviewers_by_keyboard(browser: Any, tmp_path: Path) -> None:
    file = copied(tmp_path)
    with running(file, "second") as desk, page_of(browser, desk) as page:
        focus(page, "Go on with Research Type")
        submit(page)
        for index in range(9):  # the first choice has the focus; two further down is the last
            page.wait_for_selector("input[type=radio]:focus")
            press(page, *["ArrowDown"] * (2 if index == 3 else 0), "Space", "Tab")
            page.keyboard.insert_text(HOSTILE if index == 3 else f"Reason {index}.")
            press(page, "Tab")
            submit(page)
        assert page.url.endswith("/end"), page.inner_text("main")
        assert "They differ on" in page.inner_text("main")
        page.goto(f"http://{desk.host}/claim/5")
        focus(page, "Dispute the claim as it is stated")
        press(page, "Enter", "Tab")
        page.keyboard.insert_text("A constructed solution misses it.")
        press(page, "Tab")
        submit(page)
        assert "You disputed" in page.inner_text("main")
        page.goto(f"http://{desk.host}/end")
        focus(page, "Sign this version off")
        submit(page)
        assert "second signed off" in page.inner_text("main")
    audit = load_audit(file)
    assert audit.variables[3].reviews[-1].reason == HOSTILE
    assert audit.variables[3].reviews[-1].decision == "not_applicable"
    assert audit.disputes[0].claim == "wang2024.length-loss"
    assert audit.sign_offs[0].reviewer == "second"
    with running(file, "third") as desk, page_of(browser, desk) as page:
        page.goto(f"http://{desk.host}/variable/3")
        assert "second" not in page.inner_text("main")
        page.check("text=Agree: the card is right")
        page.fill("[name=reason]", "None is linked.")
        click(page, "Save, and go on")
        page.goto(f"http://{desk.host}/variable/3")
        assert "<script>alert(1)</script>" in page.inner_text("main")
        assert "\u202e" not in page.inner_text("main")


def test_a_conflict_and_taking_back(browser: Any, tmp_path: Path) -> None:
    file = copied(tmp_path)
    before = file.read_bytes()
    with running(file) as desk, page_of(browser, desk) as page:
        tabs = [page, page.context.new_page()]
        for number, tab in enumerate(tabs):
            tab.goto(f"http://{desk.host}/variable/2")
            tab.check("text=Agree: the card is right")
            tab.fill("[name=reason]", f"Tab {number}.")
        for tab in tabs:
            click(tab, "Save, and go on")
        assert "Not saved: this item was changed" in tabs[1].inner_text("main")
        assert tabs[1].input_value("[name=reason]") == "Tab 1."
        assert load_audit(file).variables[2].reviews[-1].reason == "Tab 0."
        click(tabs[1], "Save, and go on")
        assert load_audit(file).variables[2].reviews[-1].reason == "Tab 1."
        page.goto(f"http://{desk.host}/variable/4")
        click(page, "Save, and go on")
        assert "Choose one" in page.inner_text("[role=alert]")
        for _ in range(2):
            page.goto(f"http://{desk.host}/changes")
            assert "Tab" in page.inner_text(".diff >> nth=0")
            click(page, "Take it back")
        assert "Nothing has changed" in page.inner_text("main")
    assert file.read_bytes() == before


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1280, "light")])
def test_pages_fit_and_are_accessible(
    browser: Any, tmp_path: Path, width: int, scheme: str
) -> None:
    options = {"viewport": {"width": width, "height": 900}, "color_scheme": scheme}
    with running(copied(tmp_path)) as desk, page_of(browser, desk, **options) as page:
        page.goto(f"http://{desk.host}/variable/3")
        page.check("text=Disagree: the card is wrong")
        page.fill("[name=reason]", "x" * 400)
        click(page, "Save, and go on")
        for path in ("/", "/variable/3", "/settings", "/setting/code_law", "/claim/3",
                     "/finding/0", "/changes", "/end"):  # fmt: skip
            page.goto(f"http://{desk.host}{path}")
            assert fits(page), path
            assert serious(page) == [], path
