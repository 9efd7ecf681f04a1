"""The rules of an audit: every fault that is reported has one, with a permanent id.

The models of `reproaudit.audit.model` check one node at a time. The rules here check several: that
a claim's measurement exists, that its control changes something, that a contradiction has a
finding. Each rule is a function from an audit to the places that break it, with its id, severity,
reason and remedy above it. To add one, write such a function; its id is the next free number.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from reproaudit.audit.model import Audit
from reproaudit.audit.rules import (
    claims,
    experiments,
    nodes,
    papers,
    reviews,
    run_files,
    settings,
)
from reproaudit.audit.rules.rule import DEFINED_RULES, Loc, Rule, Severity, Violation, leaves_of

__all__ = ["RULES", "Loc", "Rule", "Severity", "Violation", "broken_rules"]

MODULES = (
    nodes,
    claims,
    experiments,
    settings,
    papers,
    reviews,
    run_files,
)
"""The modules whose import defines the rules."""

RULES: dict[str, Rule] = dict(sorted(DEFINED_RULES.items()))
"""Every rule by its id."""


def broken_rules(audit: Audit, today: date | None = None) -> Iterator[tuple[Rule, Violation]]:
    """Every rule about several nodes that is broken, with each place where it is.

    Args:
        audit: an audit that the models accept.
        today: the day against which dates are held; the current one if None.
    """
    leaves = leaves_of(audit, today if today is not None else date.today())
    for rule in RULES.values():
        for violation in rule.find(leaves if rule.reads_leaves else audit) if rule.find else ():
            yield rule, violation
