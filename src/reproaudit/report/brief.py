"""A page of at most sixty lines for one judgment: rule, counts, controls, horizon, choices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from reproaudit.audit.arms import Role
from reproaudit.formats.numbers import of
from reproaudit.formats.scorecard import ClaimLine, Scorecard
from reproaudit.report.parts import (
    arms_counted,
    bounded_words,
    certainty_words,
    numbers_words,
    own_row,
    part_of,
    whose_words,
)

MOST_LINES = 60
"""Lines of the page."""
MOST_NOTES = 10
"""Remarks on the measurements, and lines of rule and horizons, that it has."""


def brief_page(card: Scorecard, horizons: Mapping[str, int]) -> str:
    """Return a judgment as Markdown.

    Args:
        horizons: measurement -> the last step that all runs have of what it is made of.
    """
    head = card.head
    lines = [f"# {head.title}", "", " · ".join(filter(None, (head.byline, head.scale))), ""]
    lines += [" ".join(map(_cell, whose_words(card))), ""]
    lines += [" ".join(head.verdict), "", "| claim | answer | what was found |", "|---|---|---|"]
    rows = [row for line in head.claims for row in _rows(line, card)]
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


def _rows(line: ClaimLine, card: Scorecard) -> Iterator[str]:
    """Yield a row for a claim, and for what it asks, its controls and choices."""
    part = part_of(card, line.claim)
    sure = f", certainty {_cell(certainty_words(part))}" if line.level else ""
    title = _cell(line.title)
    yield f"| {line.name}: {title} | {line.outcome}{sure} | {_cell(line.text)} |"
    for rows in part.checks:
        row = own_row(rows)
        numbers = numbers_words(row)
        found = f"{row.count} ({numbers})" if numbers else row.count
        yield f"| check: {_cell(bounded_words(rows))} | {row.decision.value} | {_cell(found)} |"
    for row in arms_counted(part.rows, Role.CONTROL, Role.READING, Role.ALTERNATIVE):
        label = "control" if row.arm_role is Role.CONTROL else "with"
        yield f"| {label} {_cell(row.arm_words)} | | {of(row.all_yes, row.all_n)} |"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
