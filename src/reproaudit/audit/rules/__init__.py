"""The rules of an audit: every fault that is reported has one, with a permanent id.

The models of `reproaudit.audit.model` check one value at a time. The rules here check several, once
the models accept: `table` has every rule with its remedy; `whole` finds what breaks them
in settings, measurements and findings, `claims` in what a claim reads and runs. To add a rule, add
its row to the table, and yield it from a function here.
"""

from __future__ import annotations

from collections.abc import Iterator

from reproaudit.audit.model import Audit
from reproaudit.audit.rules.claims import of_claim, work
from reproaudit.audit.rules.table import BROKEN_LOG, MISFIT, RULES, Loc, Rule, Severity, Violation
from reproaudit.audit.rules.whole import of_declared, of_listed

__all__ = ["BROKEN_LOG", "MISFIT", "RULES", "Loc", "Rule", "Severity", "Violation", "broken_rules"]

MOST_WORK = 1_000_000
"""What rules compare at most; the largest audit so far needs ten thousand."""


def broken_rules(audit: Audit, stem: str) -> Iterator[Violation]:
    """Yield every place where an audit, which the models accept, breaks a rule.

    Claims are held against settings, measurements and arms once these are sound.

    Args:
        audit: the audit.
        stem: the slug by the name of its file.
    """
    if audit.paper.slug != stem:
        message = f"found '{audit.paper.slug}'; expected '{stem}', the file's own name"
        yield Violation("RA014", ("paper", "slug"), message)
    if (much := work(audit)) > MOST_WORK:
        message = f"found {much} values, counted wherever they are used; expected thousands"
        yield Violation("RA016", (), message)
        return
    yield from of_listed(audit, stem)
    unsound = list(of_declared(audit))
    yield from unsound
    for i in range(0 if unsound else len(audit.claims)):
        yield from of_claim(audit, i)
