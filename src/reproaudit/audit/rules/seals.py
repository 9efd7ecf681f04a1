"""Rules of seals and modules, which `reproaudit check` finds beside the audit's own file."""

from __future__ import annotations

from reproaudit.audit.rules.rule import Rule, Severity, define

DIFFERS = "RA018"
DAMAGED = "RA019"
MISFIT = "RA020"

define(
    Rule(
        DIFFERS,
        Severity.WARNING,
        "A rule that was changed after its seal is another look, and must be seen as one.",
        "Seal it before it is run at the paper tier: reproaudit seal SLUG --why TEXT.",
    )
)
define(
    Rule(
        DAMAGED,
        Severity.ERROR,
        "A chain of seals that was edited proves nothing.",
        "Put the committed file back, then see 'reproaudit seal SLUG --verify'.",
    )
)
define(
    Rule(
        MISFIT,
        Severity.ERROR,
        "An experiment that does not take the audit's settings cannot be run.",
        "Mend the audit, or the settings class of the module.",
    )
)
