"""The rules of an audit: every fault that is reported has one, with a permanent id.

The models of `reproaudit.audit.model` check one value at a time. The rules here check several: that
a claim's measurement exists, that an arm changes something, that a claim has a null. Each rule is a
function from an audit to the places that break it, with its id, reason and remedy above it. To add
one, write such a function; its id is the next free number above all that were ever given (see
`RETIRED`).
"""

from __future__ import annotations

from collections.abc import Iterator

from reproaudit.audit.model import Audit
from reproaudit.audit.rules import arms, checks, claims, experiments, papers, settings, tables
from reproaudit.audit.rules.reviews import broken_by_reviews
from reproaudit.audit.rules.rule import DEFINED_RULES, Loc, Rule, Severity, Violation

__all__ = ["RULES", "Loc", "Rule", "Severity", "Violation", "broken_by_reviews", "broken_rules"]

MODULES = (tables, claims, checks, arms, experiments, settings, papers)
"""The modules whose import defines the rules."""

RULES: dict[str, Rule] = dict(sorted(DEFINED_RULES.items()))
"""Every rule by its id."""

RETIRED = frozenset(
    f"RA{number:03}"
    for number in (
        *(18, 19, 64, 65, 105, 108, 109, 112, 116, 117, 152, 154, 155, 164, 166, 167, 174),
        *(*range(181, 189), 191, 193, *range(195, 200), *range(201, 206)),
    )
)
"""Ids of rules that are gone; no other rule gets them."""


def broken_rules(audit: Audit) -> Iterator[tuple[Rule, Violation]]:
    """Yield every rule about several values that is broken, with each place where it is.

    Args:
        audit: an audit that the models accept.
    """
    for rule in RULES.values():
        for violation in rule.find(audit) if rule.find else ():
            yield rule, violation
