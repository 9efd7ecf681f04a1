"""A page of at most sixty lines for one judgment: rule, counts, controls, horizon, choices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from reproaudit.formats.scorecard import Scorecard
from reproaudit.report.claims import ClaimText, questions_of
from reproaudit.report.outline import about_runs, byline, counts_of
from reproaudit.report.screen import ordered_claims, verdict

MOST_LINES = 60
"""Lines of the page."""
MOST_REMARKS = 10
"""Remarks on the measurements that it has."""


def brief_page(card: Scorecard, rules: Mapping[str, str], horizons: Mapping[str, int]) -> str:
    """Return a judgment as Markdown.

    Args:
        rules: experiment -> the digest of its rule.
        horizons: measurement -> the last step that all runs have.
    """
    lines = [f"# {card.paper.title}", "", f"{byline(card)} · {about_runs(card)}", ""]
    if card.origin is not None:
        lines += [f"Not ours: measured by {card.origin.who} ({card.origin.source}).", ""]
    lines += [
        " ".join(verdict(card)),
        "",
        "| claim | answer | runs that say yes |",
        "|---|---|---|",
    ]
    rows = [row for claim in (*ordered_claims(card), *questions_of(card)) for row in _rows(claim)]
    remarks = [f"- {_cell(remark)}" for remark in card.made.remarks[:MOST_REMARKS]]
    tail = [f"- rule of {name}: `{digest}`" for name, digest in rules.items()]
    tail += [f"- horizon of {name}: step {step}" for name, step in horizons.items()]
    tail = tail[: MOST_LINES // 4]
    room = MOST_LINES - len(lines) - len(tail) - len(remarks) - 3
    left = len(rows) - room
    shown = rows if left <= 0 else [*rows[: room - 1], f"| and {left + 1} more rows | | |"]
    return "\n".join([*lines, *shown, "", *tail, *remarks]) + "\n"


def _rows(claim: ClaimText) -> Iterator[str]:
    """Yield a row for a claim, and one for each of its controls and choices."""
    answer = claim.answer
    said = _cell(claim.claim.short)
    yield f"| {claim.name}: {said} | {answer.outcome} | {counts_of(claim.base)} |"
    choices = (*answer.readings, *answer.alternatives)
    arms = [("control", control) for control in answer.controls]
    arms += [("with", choice) for choice in choices]
    yield from (f"| {label} {claim.arm(arm)} | | {counts_of(arm)} |" for label, arm in arms)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
