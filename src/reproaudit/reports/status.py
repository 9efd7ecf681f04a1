"""Words for how many alternatives of a claim were run."""

from __future__ import annotations

from reproaudit.scorecard.model import ClaimModel
from reproaudit.stats import Decision


def alternatives_told(claim: ClaimModel, tier: str) -> str:
    """Returns how many alternatives were run and how many of them are decided; else nothing."""
    counts = claim.alternatives_run
    if counts is None or not counts.of:
        return ""
    run = f"{counts.run} of {counts.of} alternatives run"
    here = [one for one in claim.alternatives if one.tier == tier]
    undecided = sum(one.decision is Decision.UNDECIDED for one in here)
    return f"{run}, {undecided} of them undecided" if undecided else run
