"""A paper's documentation scores, from the reproducibility variables.

Seven of the nine variables are scored; the research type and the affiliation describe the paper.
The *strict* score takes the card's automated classification as it stands. The *reviewed* score
takes the reviewers' word: a disagreement flips the card, and a variable that does not apply (for
example because a stated generator makes the data) counts as documented, since nothing is missing.
What most decisions come to counts; on a tie the card. A variable on which two decisions are equally
frequent is *disputed*, and the report says so.

Published rates at which papers of a sharing type were reproduced are counts, shown with a Wilson
interval: Gundersen et al., arXiv 2412.17859.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from reproaudit.audit.variables import ReviewDecision, Variable, VariableName
from reproaudit.stats import Interval, wilson

UNSCORED = frozenset({VariableName.RESEARCH_TYPE, VariableName.RESEARCHER_AFFILIATION})


class SharingType(StrEnum):
    """The material that the authors share beside the text, by the names of Gundersen et al."""

    DESCRIPTION = "Description"
    CODE = "Code"
    DATA = "Data"
    EXPERIMENT = "Experiment"


PUBLISHED_RATES: dict[SharingType, tuple[int, int]] = {
    SharingType.EXPERIMENT: (6, 7),
    SharingType.DATA: (5, 15),
}
"""Reproduced, of attempted (arXiv 2412.17859); none is known for the other two types."""


@dataclass(frozen=True)
class DocumentationScore:
    """The scores of one paper.

    Attributes:
        strict: variables documented by the card's word, 0 to 7.
        reviewed: variables documented by the reviewers' word, 0 to 7.
        sharing_type: the shared material, by the reviewers' word.
    """

    strict: int
    reviewed: int
    sharing_type: SharingType

    @property
    def published_rate(self) -> tuple[int, int, Interval] | None:
        """Papers reproduced, papers attempted, and the Wilson interval of the share."""
        if self.sharing_type not in PUBLISHED_RATES:
            return None
        successes, total = PUBLISHED_RATES[self.sharing_type]
        return successes, total, wilson(successes, total)


def card_says_yes(variable: Variable) -> bool:
    """True if the card classifies the variable as documented."""
    return variable.card.result == "Yes"


def majority(variable: Variable) -> ReviewDecision | None:
    """The reviewers' most frequent decision; None where two are equally frequent: disputed."""
    counts = Counter(review.decision for review in variable.reviews).most_common(2)
    tied = len(counts) == 2 and counts[0][1] == counts[1][1]
    return None if tied else counts[0][0]


def reviewed_yes(variable: Variable) -> bool:
    """True if most reviewers' decisions make the variable documented; on a tie as the card has it.

    Decisions are counted by what they mean: to disagree with a No, and to say that the variable
    does not apply, both count as documented.
    """
    card = card_says_yes(variable)
    votes = [
        one.decision is ReviewDecision.NOT_APPLICABLE
        or card is (one.decision is ReviewDecision.AGREE)
        for one in variable.reviews
    ]
    documented = 2 * sum(votes) - len(votes)
    return card if documented == 0 else documented > 0


def score(variables: Sequence[Variable]) -> DocumentationScore:
    """The documentation scores of an audit's variables."""
    scored = [v for v in variables if v.name not in UNSCORED]
    documented = {v.name: reviewed_yes(v) for v in scored}
    code = documented.get(VariableName.OPEN_SOURCE_CODE, False)
    data = documented.get(VariableName.OPEN_DATASETS, False)
    return DocumentationScore(
        strict=sum(card_says_yes(v) for v in scored),
        reviewed=sum(documented.values()),
        sharing_type=_SHARING[code, data],
    )


_SHARING = {
    (False, False): SharingType.DESCRIPTION,
    (True, False): SharingType.CODE,
    (False, True): SharingType.DATA,
    (True, True): SharingType.EXPERIMENT,
}
