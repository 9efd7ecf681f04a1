"""The nine variables as a page shows them."""

from __future__ import annotations

from typing import Any

from reproaudit.audit.model import UNSCORED, Audit, ReviewDecision, Variable
from reproaudit.audit.reviews import Reviews


def documentation_of(audit: Audit, reviews: Reviews) -> dict[str, Any]:
    """Return each variable with the card's result and the reviewers' word, and both counts of 7."""
    rows = [_row(one, reviews) for one in audit.variables]
    scored = [row for row in rows if row["scored"]]
    return {
        "of": len(scored),
        "card": sum(row["card"] == "Yes" for row in scored),
        "reviewed": sum(row["documented"] for row in scored),
        "disputed": [row["name"] for row in rows if row["disputed"]],
        "variables": rows,
    }


def _row(variable: Variable, reviews: Reviews) -> dict[str, Any]:
    decisions = reviews.variables.get(variable.name, ())
    card = variable.card.result == "Yes"
    votes = [
        one.decision is ReviewDecision.NOT_APPLICABLE
        or card is (one.decision is ReviewDecision.AGREE)
        for one in decisions
    ]
    balance = 2 * sum(votes) - len(votes)
    return {
        "name": variable.name.value,
        "scored": variable.name not in UNSCORED,
        "card": variable.card.result,
        "documented": card if balance == 0 else balance > 0,
        "disputed": bool(votes) and balance == 0,
        "decisions": [
            {"reviewer": one.reviewer, "decision": one.decision.value, "reason": one.reason}
            for one in decisions
        ],
        "evidence": [one.model_dump() for one in variable.evidence],
    }
