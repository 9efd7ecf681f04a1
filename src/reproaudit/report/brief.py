"""A page of at most sixty lines for one judgment: rule, counts, controls, horizon, choices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from reproaudit.formats.numbers import maker_words
from reproaudit.formats.scorecard import ClaimLine, Scorecard
from reproaudit.formats.verdict import ClaimAnswer

MOST_LINES = 60
"""Lines of the page."""
MOST_NOTES = 10
"""Remarks on the measurements, and lines of rule and horizons, that it has."""


def brief_page(card: Scorecard, horizons: Mapping[str, int]) -> str:
    """Return a judgment as Markdown.

    Args:
        horizons: measurement -> the last step that all runs have.
    """
    head = card.head
    lines = [f"# {head.title}", "", " · ".join(filter(None, (head.byline, head.scale))), ""]
    if card.origin is not None:
        lines += [f"Not ours: {maker_words(card.origin.who, card.origin.source)}.", ""]
    lines += [" ".join(head.verdict), "", "| claim | answer | what was found |", "|---|---|---|"]
    answers = {answer.id: answer for answer in card.claims}
    rows = [row for line in head.claims for row in _rows(line, answers[line.claim])]
    notes = [f"- {_cell(remark)}" for remark in card.made.remarks[:MOST_NOTES]]
    ends = [] if card.rule is None else [f"- rule: `{card.rule.rule}`. {card.rule.text}"]
    ends += [f"- horizon of {name}: {_step(card, name)} {end}" for name, end in horizons.items()]
    room = MOST_LINES - len(lines) - 2 * MOST_NOTES - 2
    if len(rows) > room:
        rows = [*rows[: room - 1], f"| and {len(rows) - room + 1} more rows | | |"]
    return "\n".join([*lines, *rows, "", *ends[:MOST_NOTES], *notes]) + "\n"


def _step(card: Scorecard, measurement: str) -> str:
    """What a series counts, in the first experiment that says so."""
    declared = (card.audit.declaration(name, measurement) for name in card.audit.experiments)
    return next((found.step for found in declared if found is not None and found.step), "step")


def _rows(line: ClaimLine, answer: ClaimAnswer) -> Iterator[str]:
    """Yield a row for a claim, and one for each of its controls and choices."""
    sure = f", certainty {line.level}" if line.level else ""
    title = _cell(line.title)
    yield f"| {line.name}: {title} | {answer.outcome}{sure} | {_cell(line.text)} |"
    arms = [("control", control.name, control.yes, control.n) for control in answer.controls]
    choices = (*answer.readings, *answer.alternatives)
    arms += [("with", choice.name, choice.yes, choice.n) for choice in choices]
    yield from (f"| {label} {_cell(name)} | | {yes} of {n} |" for label, name, yes, n in arms)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
