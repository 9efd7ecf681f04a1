"""What a page says and shows, on the miniature and in a real browser."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from browsing import fits, serious, watched
from factories import card_of, make_audit, make_record, make_scorecard
from miniatures import aligns, claim
from reproaudit.audit.plan import cells_of_tier
from reproaudit.report.claims import texts_of
from reproaudit.report.files import write_report
from reproaudit.report.markdown import markdown
from reproaudit.report.paragraph import summary
from reproaudit.report.register import write_register
from reproaudit.report.terminal import report_lines


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages of a paper, and the register beside them."""
    out = tmp_path_factory.mktemp("pages")
    card = make_scorecard()
    write_report(card, out)
    write_register([card], out)
    return out / "paper"


@pytest.mark.parametrize("page", ["mini/scorecard.html", "index.html"])
def test_a_page_needs_nothing_else_and_fits_a_phone(browser: Any, folder: Path, page: str) -> None:
    address = (folder / page).as_uri()
    with watched(browser, address, folder.as_uri()) as shown:
        assert serious(shown) == []
        shown.set_viewport_size({"width": 360, "height": 700})
        assert fits(shown)
        assert "supported" in shown.inner_text("body")


def test_a_null_that_misses_by_its_mean_is_not_said_to_pass() -> None:
    """Each run of the null meets the distance; the mean of where it ends is another one."""
    ends = {"kind": "equals", "value": "final", "to": 0.02, "within": 0.005, "from": "paper"}
    one = claim("mini", "mean", main=True, headline=[ends, aligns(0.1)], nulls=["low"])
    arms = {
        "low": {"settings": {"level": 0.03}, "why": "ends elsewhere"},
        "built": {"settings": {"level": 0.001}, "why": "ends lower"},
    }
    card = make_scorecard(claims=[one], arms=arms)
    assert card.claims[0].nulls[0].decision == "missed"
    assert "low: missed by the mean of 5" in markdown(card)


def test_a_guess_that_flips_is_named_by_its_phrase() -> None:
    level = {"value": 0.02, "source": "assumption", "why": "not stated", "alternatives": [0.5]}
    settings = {"level": {**level, "phrases": {"0.5": "a high level"}}}
    card = make_scorecard(claims=[claim("mini", "one", main=True)], settings=settings)
    said = " ".join(" ".join(report_lines(card)).split())
    assert "but in 0 of 5 with a high level (unstated)" in said
    assert "0.02 (guessed); also a high level" in markdown(card)


def test_the_paragraph_has_the_rows_numbers_without_the_worst_run() -> None:
    card = make_scorecard()
    said = " ".join(" ".join(report_lines(card)).split())
    first = texts_of(card)[0]
    assert f"({first.typical})" in said
    assert "worst run" in first.effect
    assert first.typical == re.sub(", worst run [^;,]*", "", first.effect)


def test_a_claim_that_is_gone_leaves_no_badge(tmp_path: Path) -> None:
    for names in (("one", "other"), ("one",)):
        card = make_scorecard(claims=[claim("mini", name) for name in names])
        write_report(card, tmp_path)
        write_register([card], tmp_path)
        badges = (tmp_path / "paper" / "mini" / "badges").iterdir()
        assert {one.stem for one in badges} == {f"mini.{name}" for name in names}


def test_a_smoke_run_that_failed_is_not_said_to_run() -> None:
    audit = make_audit()
    broken = [make_record(cell, status="failed") for cell in cells_of_tier(audit, "smoke")]
    said = " ".join(summary(card_of(audit, broken, "smoke")))
    assert said.startswith("The smoke tier judges nothing; runs of supported, contradicted, ")
    assert "every experiment runs" in summary(make_scorecard(tier="smoke"))[0]
