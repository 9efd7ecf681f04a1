"""Drafts a paper's files from its card and checklist: audit, skeleton of an experiment.

A draft holds what they say, and `TODO` for everything else. `reproaudit check` lists each TODO
with its place. A TODO in place of a number, a date or a decision refuses the audit, so that no
guess of the draft can ever be judged. Quotations on the card are left out: evidence is told in the
reviewer's own words.

Every text of the card or the checklist is written as one double-quoted YAML scalar, and none enters
the Python file, so that neither can add structure or code.
"""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

from reproaudit.audit.card import Card
from reproaudit.audit.model import VariableName

TODO = "TODO"


def _template(name: str) -> str:
    return (Path(__file__).with_name("templates") / name).read_text(encoding="utf-8")


def draft_audit(slug: str, card: Card, today: date) -> str:
    """Return the text of ``SLUG.yaml``."""
    return _template("draft.yaml").format(
        slug=slug,
        title=_quoted(card.title),
        authors=", ".join(_quoted(name) for name in card.authors) or TODO,
        venue=_quoted(card.venue),
        year=card.year if card.year is not None else TODO,
        variables="".join(_variable(name, card, today) for name in VariableName),
    )


def draft_module(slug: str) -> str:
    """Return the text of ``SLUG.py``, in which one function is left to write."""
    return _template("module.txt").replace("SLUG", slug)


def _variable(name: VariableName, card: Card, today: date) -> str:
    lines = [
        f"  - name: {name.value}",
        f"    card: {{result: {_quoted(card.rows.get(name))}, as_of: {today}}}",
        *(["    authors:"] if name in card.answers else []),
    ]
    for answer in card.answers.get(name, ()):
        fields = [f"{field}: {_quoted(text)}" for field, text in answer.items()]
        lines.append("      - " + "\n        ".join([*fields, f"as_of: {today}"]))
    locator = f"card, row {name.value}" if name in card.rows else TODO
    lines += ["    evidence:", "      - statement: TODO", f"        locator: {locator}"]
    return "\n".join(lines) + "\n"


def _quoted(text: str | None) -> str:
    """A text as a double-quoted YAML scalar, in which JSON's escapes mean the same."""
    return TODO if text is None else json.dumps(text, ensure_ascii=False)
