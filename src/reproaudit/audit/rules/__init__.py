"""The rules of an audit: every fault that is reported has one, with a permanent id.

The models of `reproaudit.audit.model` check one value at a time. The rules here check several: that
a claim's measurement exists, that an arm changes something, that a claim has a null. `table` has
every rule with its reason and remedy; a function here yields the places that break some of them. To
add a rule, add its row to the table, and yield it from a function of `FINDERS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from reproaudit.audit.model import Audit
from reproaudit.audit.rules import checks, claims, experiments, papers, settings
from reproaudit.audit.rules.table import (
    BROKEN_LOG,
    MISFIT,
    RETIRED,
    RULES,
    Loc,
    Rule,
    Severity,
    Violation,
)

__all__ = [
    "BROKEN_LOG",
    "FINDERS",
    "MISFIT",
    "RETIRED",
    "RULES",
    "Loc",
    "Rule",
    "Severity",
    "Violation",
    "broken_rules",
]

FINDERS: tuple[Callable[[Audit], Iterator[Violation]], ...] = (
    papers.of_variables,
    papers.of_ids,
    papers.of_findings,
    settings.of_types,
    settings.of_alternatives,
    settings.of_readings,
    experiments.of_axes,
    experiments.of_axes_along_settings,
    experiments.of_experiments,
    experiments.of_runs,
    claims.of_claims,
    claims.of_grades,
    claims.of_arm_names,
    claims.of_arm_settings,
    claims.of_arm_measurements,
    claims.of_arm_coordinates,
    checks.of_measurements,
    checks.of_axes_of_checks,
    checks.of_coordinates,
    checks.of_courses,
    checks.of_compared,
    checks.of_sizes,
)
"""The functions that find what breaks rules about several values."""


def broken_rules(audit: Audit) -> Iterator[Violation]:
    """Yield every place where an audit, which the models accept, breaks a rule."""
    for find in FINDERS:
        yield from find(audit)
