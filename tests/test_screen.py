"""The last screen of a run: one line for each claim, with a gauge, at any width."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import factories
from reproaudit.judging.model import IntervalModel
from reproaudit.reports import phrasing
from reproaudit.reports.gauge import WIDTH, gauge
from reproaudit.reports.numbers import short_sentence
from reproaudit.reports.screen import MOST_CLAIMS, paper_lines, print_screen
from reproaudit.scorecard.model import AnswerModel, Scorecard
from reproaudit.scorecard.verdicts import VERDICTS

ROOT = Path(__file__).parents[1]


def answer(estimate: float, low: float, high: float, bound: float, **changes: Any) -> AnswerModel:
    scale = changes.pop("scale", "linear")
    interval = IntervalModel(low=low, high=high, confidence=0.95, method="Student t", scale=scale)
    stated: dict[str, Any] = {
        "name": "part", "measured": "part", "decision": "met", "estimate": estimate,
        "interval": interval, "bound": bound, "side": "at_least", "margin": None,
        "per_seed": (low, estimate, high), "satisfied": None,
    }  # fmt: skip
    return AnswerModel(**{**stated, **changes})


def screen(cards: list[Scorecard], width: int = 80, **options: Any) -> str:
    out = io.StringIO()
    papers = list(map(paper_lines, cards))
    print_screen(papers, Console(file=out, width=width, **options), [Path("reports/index.html")])
    return out.getvalue()


@pytest.fixture(scope="module")
def card() -> Scorecard:
    return factories.make_scorecard()


# --- the gauge ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "drawn"),
    [
        (answer(9.0, 8.0, 10.0, 5.0), "|::::::::-o-:"),
        (answer(3.0, 2.5, 3.5, 5.0, decision="missed"), " -o-        |"),
        (answer(5.1, 4.0, 6.0, 5.0, decision="undecided"), "------|o-----"),
        (answer(1.0, 0.5, 1.5, 5.0, side="at_most"), "-o-:::::::::|"),
        (answer(1.0, 0.9, 1.1, 1.0, side="within", margin=0.5), "|::::-o-::::|"),
    ],
)
def test_a_gauge_shows_on_which_side_the_estimate_lies(given: AnswerModel, drawn: str) -> None:
    shown = gauge(given)
    assert len(shown) == WIDTH
    place, limits = shown.index("o"), [n for n, one in enumerate(shown) if one == "|"]
    assert limits
    assert (place > limits[0]) == (drawn.index("o") > drawn.index("|"))
    assert set(shown) <= set("o-|:<> ")


@pytest.mark.parametrize("side", ["at_most", "at_least"])
@pytest.mark.parametrize("estimate", [0.2, 0.4999, 0.5001, 0.9])
def test_the_estimate_is_never_drawn_on_the_wrong_side(side: str, estimate: float) -> None:
    spread = answer(estimate, estimate - 0.3, estimate + 0.3, 0.5, side=side, decision="undecided")
    shown = gauge(spread)
    assert (shown.index("o") > shown.index("|")) == (estimate > 0.5)


def test_an_interval_that_goes_on_is_marked() -> None:
    shown = gauge(answer(5.1, -1e6, 1e6, 5.0, decision="undecided", per_seed=(5.0, 5.2)))
    assert shown.startswith("<")
    assert shown.endswith(">")


def test_a_short_sentence_tells_estimate_and_bound() -> None:
    assert short_sentence(answer(9.0, 8.0, 10.0, 5.0)) == "9 ≥ 5"
    assert short_sentence(answer(3.0, 2.0, 4.0, 5.0, decision="missed")) == "3 not ≥ 5"
    assert short_sentence(answer(5.1, 4.0, 6.0, 5.0, decision="undecided")) == "5.10 ≥ 5?"
    within = answer(1.01, 0.9, 1.1, 1.0, side="within", margin=0.2)
    assert short_sentence(within) == "1.01 ≈ 1"
    counted = answer(3.0, 2.0, 4.0, 5.0, satisfied=2, interval=None, decision="missed")
    assert short_sentence(counted) == "2/3 seeds ≥ 5"


# --- the screen ---------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [60, 72])
def test_a_narrow_terminal_has_room_for_every_claim(card: Scorecard, width: int) -> None:
    lines = screen([card], width).splitlines()
    assert max(map(len, lines)) <= width
    assert [line[:2] == "  " and line[2] != " " for line in lines].count(True) > len(card.claims)


@pytest.mark.parametrize("width", [80, 110, 140])
def test_each_claim_has_one_line(card: Scorecard, width: int) -> None:
    lines = screen([card], width).splitlines()
    assert max(map(len, lines)) <= width
    for claim in card.claims:
        name = claim.id.removeprefix("toy.")
        (line,) = [one for one in lines if one.split()[:1] == [name]]
        assert f" {phrasing.words(claim.verdict)} " in line
        assert f" {phrasing.evidence_label(claim)} " in line
        if phrasing.deciding_part(claim) is not None:
            assert "o" in line
    assert lines[-1] == "page: reports/index.html"


def test_what_a_verdict_hangs_on_stands_in_its_line(card: Scorecard) -> None:
    (conditional,) = [one for one in card.claims if one.hangs_on]
    (line,) = [one for one in screen([card]).splitlines() if " conditional" in one]
    assert line.endswith(f"({conditional.hangs_on[0].setting})")


def test_colour_only_repeats_what_is_written(card: Scorecard) -> None:
    plain = screen([card])
    assert "\x1b" not in plain
    coloured = screen([card], force_terminal=True, color_system="truecolor")
    assert "\x1b[" in coloured


def test_many_claims_have_one_line_for_each_paper(card: Scorecard) -> None:
    cards = [factories.make_scorecard(f"toy_{n}") for n in range(MOST_CLAIMS // 10)]
    assert sum(len(one.claims) for one in cards) > MOST_CLAIMS
    text = screen(cards)
    assert max(map(len, text.splitlines())) <= 80
    words = " ".join(text.split())
    for row in VERDICTS:
        assert words.count(phrasing.words(row)) >= len(cards), "no verdict is cut off"
    for one in cards:
        assert str(one.paper["slug"]) in text


def test_hostile_names_are_not_obeyed(card: Scorecard) -> None:
    claim = card.claims[0].model_copy(update={"id": "toy.[red]x\x1b[31m\u202e\nnew"})
    text = screen([card.model_copy(update={"claims": (claim,)})], force_terminal=True,
                  no_color=True, color_system=None)  # fmt: skip
    assert "[red]x" in text
    assert "\x1b[31m" not in text
    assert "\u202e" not in text
