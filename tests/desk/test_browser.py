"""The desk in a real browser: a decision by keyboard, at a phone's width, without a complaint."""

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from desks import copied, running

from browsing import fits, serious, watched
from reproaudit.audit.loading import load_reviews
from reproaudit.audit.model import VariableName

HOSTILE = '"No": #1 <script>alert(1)</script>\n- !!tag {a: b} ${x} {{ y }} \U0001f9ea'


def test_a_decision_by_keyboard(browser, tmp_path):
    file = copied(tmp_path)
    with running(file) as desk, watched(browser, desk.address, f"http://{desk.host}/", ()) as page:
        assert serious(page) == []
        page.focus("section[id='Pseudocode'] input[value=disagree]")
        page.keyboard.press("Space")
        page.keyboard.press("Tab")
        page.keyboard.type(HOSTILE.replace("\n", " "))
        page.keyboard.press("Tab")
        with page.expect_navigation():
            page.keyboard.press("Enter")
        assert "Saved: disagree on Pseudocode" in page.inner_text("[role=status]")
        page.set_viewport_size({"width": 360, "height": 700})
        assert fits(page)
    decided = load_reviews(file).variables[VariableName.PSEUDOCODE][-1]
    assert decided.reason == HOSTILE.replace("\n", " ")
