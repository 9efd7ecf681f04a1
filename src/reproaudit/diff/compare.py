"""Compares two scorecards or audits of one paper."""

from __future__ import annotations

from collections.abc import Iterator

from reproaudit.diff.changes import changes_of
from reproaudit.diff.model import ClaimChange, ComparedScorecard, Comparison, SideModel, tier_of
from reproaudit.diff.results import claim_changes, measured_again
from reproaudit.errors import UsageError
from reproaudit.scorecard.model import SCORECARD_VERSION


def compare(before: ComparedScorecard, after: ComparedScorecard) -> Comparison:
    """Returns everything that differs between two sides.

    Raises:
        UsageError: if the two are of different papers.
    """
    if before.slug != after.slug:
        raise UsageError(
            f"{before.name} is of paper '{before.slug}' and {after.name} of '{after.slug}': only "
            "two of one paper can be compared."
        )
    changes = tuple(changes_of(before, after))
    cards = before.scorecard, after.scorecard
    compared = ["rule", "settings"]
    common, again = 0, 0
    claims: tuple[ClaimChange, ...] = ()
    if cards[0] is not None and cards[1] is not None:
        compared += ["code", "environment", "records", "results"]
        common, again = measured_again(cards[0], cards[1])
        claims = tuple(claim_changes(cards[0], cards[1], changes, again))
    both = (before.audit and after.audit) or (cards[0] and cards[1])
    compared += ["documentation"] if both else []
    return Comparison(
        before=_side_model(before),
        after=_side_model(after),
        changes=changes,
        claims=claims,
        compared=tuple(compared),
        measured_again=again,
        records=common,
        notes=tuple(note for side in (before, after) for note in _notes(side)),
    )


def _side_model(side: ComparedScorecard) -> SideModel:
    card = side.scorecard
    return SideModel(
        name=side.name,
        paper=side.slug,
        tier=card.tier if card else None,
        audit=side.audit is not None,
        origin=card.origin.who if card and card.origin else None,
    )


def _notes(side: ComparedScorecard) -> Iterator[str]:
    """Yields what makes a side other than it seems."""
    if side.scorecard is not None and side.scorecard.schema_version < SCORECARD_VERSION:
        yield (
            f"{side.name}: its verdicts follow the older rules of scorecard version "
            f"{side.scorecard.schema_version}, so that one may differ with equal numbers"
        )
    if side.audit is None or side.scorecard is None:
        return
    judged = {claim.id: claim.rule_hash for claim in side.scorecard.claims}
    tier = tier_of(side.scorecard)
    rules = {claim.id: side.audit.rule_hash(claim, tier) for claim in side.audit.claims}
    other = sorted(name for name in judged.keys() | rules if judged.get(name) != rules.get(name))
    if other:
        yield (
            f"{side.name}: its scorecard was judged by another rule than its audit states, for "
            f"{', '.join(other)}; the results are the scorecard's"
        )
