"""Words for the status of a verdict: exploratory or confirmed, looks before, alternatives run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from reproaudit.judging.model import Verdict
from reproaudit.reports.numbers import counted
from reproaudit.scorecard.model import ClaimModel, Scorecard
from reproaudit.stats import Decision

if TYPE_CHECKING:
    from reproaudit.reports.register.model import ClaimEntry

CONFIRMED = "confirmed"
"""The verdict came out on new seeds, too."""

STATUSES = (
    "exploratory",
    CONFIRMED,
    "confirmed but for its condition",
    "inconclusive on new seeds, too",
)
"""Everything that `status_words` says."""


def holds(claim: ClaimModel) -> bool:
    """Returns whether a claim is met as audited, and its ablations miss: supported, if on terms."""
    is_met = claim.decision is Decision.MET
    return is_met and claim.verdict in (Verdict.SUPPORTED, Verdict.CONDITIONAL)


def status_words(verdict: Verdict, status: str) -> str:
    """Returns ``confirmed`` or ``exploratory``; of a confirmed claim also what was not shown."""
    exploratory, confirmed, but_for_its_condition, still_open = STATUSES
    if status != confirmed:
        return exploratory
    shown = {Verdict.INCONCLUSIVE: still_open, Verdict.CONDITIONAL: but_for_its_condition}
    return shown.get(verdict, confirmed)


def confirmed_count(claims: Iterable[ClaimModel | ClaimEntry]) -> int:
    """Returns the number of verdicts that new seeds gave again, and that decide something."""
    return sum(status_words(claim.verdict, claim.status) == CONFIRMED for claim in claims)


def confirmed_words(claims: Iterable[ClaimModel]) -> str:
    """Returns ``2 of them confirmed on new seeds``, to stand after the number of each verdict."""
    return f"{confirmed_count(claims) or 'none'} of them confirmed on new seeds"


def looks_words(claim: ClaimModel) -> str:
    """Returns the status, with the number of looks before, where they were counted."""
    if claim.rule.get("trains") is False:
        return "its audit says that nothing is trained, so no looks are counted"
    return status_and_looks(claim.verdict, claim.status, claim.looks)


def status_and_looks(verdict: Verdict, status: str, looks: int | None) -> str:
    """Returns the status in words, with the number of looks before if they were counted."""
    said = status_words(verdict, status)
    return said if looks is None else f"{said}, {counted(looks, 'look')} before"


def alternatives_told(claim: ClaimModel, tier: str) -> str:
    """Returns how many alternatives were run and how many of them are decided; else nothing."""
    counts = claim.alternatives_run
    if counts is None or not counts.of:
        return ""
    run = f"{counts.run} of {counts.of} alternatives run"
    here = [one for one in claim.alternatives if one.tier == tier]
    undecided = sum(one.decision is Decision.UNDECIDED for one in here)
    return f"{run}, {undecided} of them undecided" if undecided else run


def most_looks(scorecard: Scorecard) -> int:
    """Returns the largest number of looks that a claim had before; 0 where none were counted."""
    return max((claim.looks or 0 for claim in scorecard.claims), default=0)
