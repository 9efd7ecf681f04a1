"""A dispute stands beside what it disputes, in every report, and changes no verdict."""

from __future__ import annotations

import io
import json
from typing import Any

from rich.console import Console

import factories
from rendering import render_html, render_json, render_markdown, render_scorecard
from reproaudit.scorecard.model import Scorecard

SAID = {"reviewer": "R2", "as_of": "2025-06-03"}
CLAIM = factories.make_scorecard().claims[0]
SETTING = factories.make_scorecard().ledger[0].setting
DISPUTES: list[dict[str, Any]] = [
    {"claim": CLAIM.id, "reason": "Too strong a reading.", **SAID},
    {"claim": CLAIM.id, "control": 1, "reason": "It lacks more than that.", **SAID},
    {"claim": CLAIM.id, "control": "positive", "reason": "Not what training finds.", **SAID},
    {"source": SETTING, "reason": "Appendix B states it.", **SAID},
]


def terminal(card: Scorecard) -> str:
    console = Console(file=io.StringIO(), width=200, record=True)
    render_scorecard(card, console)
    return console.export_text()


def test_every_report_shows_disputes() -> None:
    card = factories.make_scorecard(disputes=DISPUTES)
    for text in (terminal(card), render_markdown(card), render_html(card)):
        for one in DISPUTES:
            assert one["reason"] in text
        assert "by R2, 2025-06-03" in text
    assert [one["reason"] for one in json.loads(render_json(card))["disputes"]] == [
        one["reason"] for one in DISPUTES
    ]


def test_a_dispute_changes_no_verdict() -> None:
    assert factories.make_scorecard(disputes=DISPUTES).claims == factories.make_scorecard().claims
