"""What a paper documents of the nine variables: by the card, and by the reviewers' word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reproaudit.audit.model import UNSCORED, Audit, Variable
from reproaudit.audit.review import Review, ReviewDecision, Reviews


@dataclass(frozen=True)
class Documented:
    """One variable: what reviewers decided, and whether it is documented or disputed by that."""

    variable: Variable
    decisions: Sequence[Review]
    documented: bool
    disputed: bool


@dataclass(frozen=True)
class Documentation:
    """Every variable, and how many of those scored, which have a card, it and reviewers find."""

    variables: tuple[Documented, ...]
    of: int
    card: int
    reviewed: int

    @property
    def by_reviewers(self) -> int | None:
        """How many variables reviewers find documented; None where nobody has reviewed."""
        return self.reviewed if any(variable.decisions for variable in self.variables) else None


def by_whom(found: Documentation) -> str:
    """Return how many variables the card documents, and how many reviewers do if there are any."""
    if not found.of:
        return "There is no card of them"
    card = f"The card finds {found.card} of {found.of} documented"
    if found.by_reviewers is None:
        return f"{card}; nobody has reviewed them"
    return f"{card}; reviewers {found.by_reviewers}"


def by_answer(found: Documentation) -> list[tuple[str, list[str]]]:
    """Return the names of the scored variables that are documented, are not, and are disputed."""
    scored = [row for row in found.variables if row.variable.name not in UNSCORED]
    groups = (
        ("Documented", [row for row in scored if row.documented and not row.disputed]),
        ("Not documented", [row for row in scored if not row.documented and not row.disputed]),
        ("Disputed", [row for row in scored if row.disputed]),
    )
    return [(word, [row.variable.name.value for row in rows]) for word, rows in groups if rows]


def documentation_of(audit: Audit, reviews: Reviews) -> Documentation:
    """Return what an audit's paper documents."""
    rows = [
        _documented(variable, reviews.variables.get(variable.name, ()))
        for variable in audit.variables
    ]
    scored = [
        row for row in rows if row.variable.name not in UNSCORED and row.variable.card is not None
    ]
    card = sum(_by_card(row.variable) for row in scored)
    return Documentation(tuple(rows), len(scored), card, sum(row.documented for row in scored))


def _documented(variable: Variable, decisions: Sequence[Review]) -> Documented:
    """By the majority of reviewers; where they do not decide, by the card."""
    card = _by_card(variable)
    votes = [
        decision.decision is ReviewDecision.NOT_APPLICABLE
        or card is (decision.decision is ReviewDecision.AGREE)
        for decision in decisions
    ]
    balance = 2 * sum(votes) - len(votes)
    documented = card if balance == 0 else balance > 0
    return Documented(variable, decisions, documented, bool(votes) and balance == 0)


def _by_card(variable: Variable) -> bool:
    return variable.card is not None and variable.card.result == "Yes"
