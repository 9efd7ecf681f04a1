"""Agreement of several reviewers about the reproducibility variables.

Two numbers, since each hides what the other shows. The *percentage* counts pairs of reviewers that
decided alike, and is high by chance alone where one decision is common. *Krippendorff's alpha*
holds the disagreement seen against the one expected by chance, 1 − D_o / D_e; it is 1 for perfect
agreement and 0 for chance, and is not defined where nobody ever decided differently, because chance
then expects no disagreement either.

Source: K. Krippendorff, Computing Krippendorff's Alpha-Reliability (2011), nominal data.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import combinations

from reproaudit.audit.documentation import majority
from reproaudit.audit.variables import Variable


@dataclass(frozen=True)
class VariableAgreement:
    """Agreement of the reviewers of one variable.

    Attributes:
        name: the variable.
        reviewers: the number of reviewers that decided on it, at least two.
        agreeing: the number of pairs of reviewers that decided alike.
        pairs: the number of all pairs of reviewers.
        disputed: True if no decision has more voices than every other one.
    """

    name: str
    reviewers: int
    agreeing: int
    pairs: int
    disputed: bool

    @property
    def unanimous(self) -> bool:
        """True if all reviewers decided alike."""
        return self.agreeing == self.pairs


@dataclass(frozen=True)
class Agreement:
    """Agreement of the reviewers of an audit.

    Attributes:
        reviewers: those that decided on at least one variable, in the order of the audit.
        variables: the variables on which at least two decided.
        alpha: Krippendorff's alpha over these, nominal; None where it is not defined.
    """

    reviewers: tuple[str, ...]
    variables: tuple[VariableAgreement, ...]
    alpha: float | None

    @property
    def agreeing(self) -> int:
        """Pairs of decisions on one variable that are alike."""
        return sum(one.agreeing for one in self.variables)

    @property
    def pairs(self) -> int:
        """All pairs of decisions on one variable."""
        return sum(one.pairs for one in self.variables)


def agreement(variables: Sequence[Variable]) -> Agreement | None:
    """The agreement of the reviewers; None if no variable has two of them."""
    several = [variable for variable in variables if len(variable.reviews) > 1]
    if not several:
        return None
    decisions = [[review.decision for review in variable.reviews] for variable in several]
    reviewers = dict.fromkeys(r.reviewer for variable in variables for r in variable.reviews)
    return Agreement(
        reviewers=tuple(reviewers),
        variables=tuple(
            VariableAgreement(
                name=variable.name,
                reviewers=len(given),
                agreeing=sum(a == b for a, b in combinations(given, 2)),
                pairs=len(given) * (len(given) - 1) // 2,
                disputed=majority(variable) is None,
            )
            for variable, given in zip(several, decisions, strict=True)
        ),
        alpha=nominal_alpha(decisions),
    )


def nominal_alpha(units: Sequence[Sequence[Hashable]]) -> float | None:
    """Krippendorff's alpha of nominal values: 1 − D_o / D_e (sections C and D of the note).

    With m_u values in unit u, and n values in all units that have two or more, of which n_c are c::

        D_o = (1/n) Σ_u (ordered pairs of unlike values in u) / (m_u − 1)
        D_e = (n² − Σ_c n_c²) / (n (n − 1))

    Args:
        units: for each thing that was judged, the values given to it, without missing ones.

    Returns:
        At most 1; None if all values are the same or no unit has two.
    """
    paired = [unit for unit in units if len(unit) > 1]
    totals = Counter(value for unit in paired for value in unit)
    n = totals.total()
    expected = n * n - sum(count * count for count in totals.values())
    if expected == 0:
        return None
    unlike = sum(_unlike_pairs(unit) / (len(unit) - 1) for unit in paired)
    return 1 - (n - 1) * unlike / expected


def _unlike_pairs(unit: Sequence[Hashable]) -> int:
    """Ordered pairs of different values."""
    return len(unit) ** 2 - sum(count**2 for count in Counter(unit).values())
