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

from reproaudit.audit.card import Card
from reproaudit.audit.model import VariableName

TODO = "TODO"


def draft_audit(slug: str, card: Card, today: date) -> str:
    """Return the text of ``SLUG.yaml``."""
    return _AUDIT.format(
        slug=slug,
        title=_quoted(card.title),
        authors=", ".join(_quoted(name) for name in card.authors) or TODO,
        venue=_quoted(card.venue),
        year=card.year if card.year is not None else TODO,
        variables="".join(_variable(name, card, today) for name in VariableName),
    )


def draft_module(slug: str) -> str:
    """Return the text of ``SLUG.py``, in which one function is left to write."""
    return _MODULE.replace("SLUG", slug)


def _variable(name: VariableName, card: Card, today: date) -> str:
    lines = [
        f"  - name: {name.value}",
        f"    card: {{result: {_quoted(card.rows.get(name))}, as_of: {today}}}",
        *(["    authors:"] if name in card.answers else []),
    ]
    for one in card.answers.get(name, ()):
        fields = [*(f"{field}: {_quoted(text)}" for field, text in one.items()), f"as_of: {today}"]
        lines.append("      - " + "\n        ".join(fields))
    locator = f"card, row {name.value}" if name in card.rows else TODO
    lines += ["    evidence:", "      - statement: TODO", f"        locator: {locator}"]
    return "\n".join(lines) + "\n"


def _quoted(text: str | None) -> str:
    """A text as a double-quoted YAML scalar, in which JSON's escapes mean the same."""
    return TODO if text is None else json.dumps(text, ensure_ascii=False)


_AUDIT = """\
# Replace every TODO; `reproaudit check` lists them. Evidence is in your own words.
schema_version: 2

paper:
  slug: {slug}
  title: {title}
  authors: [{authors}]
  venue: {venue}
  year: {year}

# What a reader must know of the task and its symbols, in at most 45 words.
about: TODO

runs: {{quick: 5, paper: 15}}

variables:
{variables}
# Every value has a source (paper, card, authors_code, reviews, derived) and a locator;
# a guess has 'source: assumption', 'why' and 'alternatives', or 'only_reading'. What other sources
# state are 'readings'. What a smaller tier runs: 'quick: …'.
settings:
  mechanism:
    value: present
    source: derived
    locator: what is audited; the control runs with "absent"

experiments:
  main:
    title: TODO
    measurements:
      outcome:
        kind: scalar
        unit: "1"
        meaning: TODO

# A control has nothing to learn; it must miss the headline. 'from' is where a bound comes from:
# paper, derived, null, ceiling, or ours with 'why'. docs/answers.md has the kinds of check.
claims:
  - id: {slug}.main
    says: TODO
    short: TODO
    locator: TODO
    main: true
    experiment: main
    headline:
      - {{kind: reaches, value: outcome, at_least: TODO, from: TODO}}
    nulls:
      - {{name: without_mechanism, settings: {{mechanism: absent}}, why: TODO}}

not_audited:
  - statement: TODO
    locator: TODO
    reason: TODO
"""

_MODULE = '''\
"""SLUG: what is run, and what is measured.

An experiment sees its settings, its seed and its device. It is not given the claims.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from reproaudit.lab import Experiment, Measurements, Session


@dataclass(frozen=True)
class Settings:
    """The settings of SLUG.yaml, by name; every value comes from there."""

    mechanism: Literal["present", "absent"]


def measure(settings: Settings, session: Session) -> Measurements:
    """TODO: run the experiment with session.seed; return Measurements(scalars={"outcome": …})."""
    raise NotImplementedError("SLUG.py is a draft: write measure()")


EXPERIMENTS = {"main": Experiment(Settings, measure)}
'''
