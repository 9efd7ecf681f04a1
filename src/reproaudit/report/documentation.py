"""What a paper documents of the nine variables: by the card, and by the reviewers' word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reproaudit.audit.model import UNSCORED, Audit, Review, ReviewDecision, Reviews, Variable


@dataclass(frozen=True)
class Documented:
    """One variable, and what reviewers decided on it."""

    variable: Variable
    decisions: Sequence[Review]

    @property
    def by_card(self) -> bool:
        """Whether the card finds it documented."""
        return self.variable.card.result == "Yes"

    @property
    def documented(self) -> bool:
        """Whether most reviewers find it documented; the card's result where they do not decide."""
        return self.by_card if self._balance == 0 else self._balance > 0

    @property
    def disputed(self) -> bool:
        """Whether as many reviewers say the one as say the other."""
        return bool(self.decisions) and self._balance == 0

    @property
    def _balance(self) -> int:
        yes = sum(
            one.decision is ReviewDecision.NOT_APPLICABLE
            or self.by_card is (one.decision is ReviewDecision.AGREE)
            for one in self.decisions
        )
        return 2 * yes - len(self.decisions)


@dataclass(frozen=True)
class Documentation:
    """Every variable, and the counts of those that are scored."""

    variables: tuple[Documented, ...]

    @property
    def of(self) -> int:
        """How many variables are scored."""
        return len(self._scored)

    @property
    def card(self) -> int:
        """How many of them the card finds documented."""
        return sum(one.by_card for one in self._scored)

    @property
    def reviewed(self) -> int:
        """How many of them are documented by the reviewers' word."""
        return sum(one.documented for one in self._scored)

    @property
    def _scored(self) -> list[Documented]:
        return [one for one in self.variables if one.variable.name not in UNSCORED]


def documentation_of(audit: Audit, reviews: Reviews) -> Documentation:
    """Return what an audit's paper documents."""
    return Documentation(
        tuple(Documented(one, reviews.variables.get(one.name, ())) for one in audit.variables)
    )
