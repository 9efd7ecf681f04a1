"""What to do after a scorecard: the command that tries other values of what nobody states."""

from __future__ import annotations

from reproaudit.audit.plan import cells_of_alternatives
from reproaudit.formats.numbers import counted
from reproaudit.formats.scorecard import Scorecard


def next_command(card: Scorecard) -> str:
    """Return the next command with its cells, and its minutes where they are known; '' for none.

    The minutes are those of this scorecard's runs, which are of the same size at the quick tier.
    """
    untried = any(value.guess and not value.cells for value in card.tried)
    if not untried or card.origin is not None or card.tier not in ("quick", "paper"):
        return ""
    cells = counted(len(cells_of_alternatives(card.audit, "quick")), "cell")
    minutes = ""
    if card.tier == "quick" and card.records.count:
        each = card.records.seconds / card.records.count / 60
        whole = each * len(cells_of_alternatives(card.audit, "quick"))
        minutes = f", about {whole:.1f} core-minutes"
    return f"reproaudit multiverse {card.slug} ({cells}{minutes})"
