"""Measurements from elsewhere that were judged by another rule than ours, as by a copied audit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reproaudit.reports.warning import ANOTHER_RULE
from reproaudit.scorecard.model import ClaimModel, Scorecard


def another_rule(claim: ClaimModel, card: Scorecard, ours: Scorecard) -> Iterator[str]:
    """Yields a sentence where a claim's rule or settings are other ones than on our scorecard.

    Its seeds are left out: those of another program are mere labels.

    Args:
        claim: as it was judged on measurements from elsewhere.
        card: their scorecard.
        ours: our own of the same paper and tier.
    """
    own = next((one for one in ours.claims if one.id == claim.id), None)
    if own is None:
        yield f"{ANOTHER_RULE}: ours has no such claim."
        return
    its, here = (_decides(one, where) for one, where in ((claim, card), (own, ours)))
    if not claim.rule or not own.rule or its == here:
        return
    other = sorted(name for name in its.keys() | here.keys() if its.get(name) != here.get(name))
    yield f"{ANOTHER_RULE}: {', '.join(name.replace('_', ' ') for name in other)}."


def _decides(claim: ClaimModel, card: Scorecard) -> dict[str, Any]:
    """All that decides a claim besides measurements and seeds: its rule and values of settings."""
    rule = {name: value for name, value in claim.rule.items() if name != "seeds"}
    settings = {
        f"setting {one.name}": one.value
        for one in card.settings
        if one.experiment in (None, claim.experiment)
    }
    return {**rule, **settings}
