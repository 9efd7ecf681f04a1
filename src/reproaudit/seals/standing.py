"""Reads from a chain of seals a claim's status (exploratory or confirmed), looks and history.

A *look* is an occasion on which a verdict could have been chosen:

* every draw that was judged at the paper's scale;
* every run that failed, and was judged so;
* every rule that came after numbers at this scale may have been seen, judged or not. They may have
  been seen as soon as the first run has begun.

Commits of code in a row that git alone tells of, with nothing judged between them, are one look.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from reproaudit.seals.chain import confirmation_of
from reproaudit.seals.confirming import Confirmation
from reproaudit.seals.entries import (
    BegunEntry,
    ResultEntry,
    RuleChange,
    SealsEntry,
    has_failed,
    names_of,
)
from reproaudit.seals.past import Past, same_draw
from reproaudit.seals.telling import (
    MERE_WORDS,
    change_sentences,
    confirmation_sentences,
    draw_sentences,
    failure_sentences,
    lost_sentences,
    named_changes,
    wording_sentences,
)

BY_CHAIN_ALONE = "confirmed by the chain alone; its records are not here"
"""The sentence on a confirmation that no record shows."""

UNTESTED = ("not_tested", "technical_failure")


@dataclass(frozen=True)
class Standing:
    """The status, looks and history of a claim, told beside its verdict.

    Attributes:
        status: exploratory, or confirmed on seeds that follow from a seal.
        looks: how many looks there were before this one; None where they do not matter.
        history: sentences, in the order of time.
    """

    status: Literal["exploratory", "confirmed"] = "exploratory"
    looks: int | None = None
    history: tuple[str, ...] = ()


@dataclass(frozen=True)
class Sealed:
    """The entries of an audit, and the rule for which they are asked.

    Attributes:
        entries: every entry.
        rule: the hash of today's rule.
        claims: the ids of today's claims.
        unsealed: what today's rule has changed since the last seal, or since the last run.
        is_reworded: whether today's words are others than those of the last seal.
        confirming: whether what is shown is judged on the seeds that follow from the rule.
        confirmed: by claim id, the verdicts that the records of the rule's confirmation give; empty
            if they are not here, or differ from what the chain says of them.
    """

    entries: tuple[SealsEntry, ...]
    rule: str
    claims: frozenset[str] = frozenset()
    unsealed: tuple[RuleChange, ...] = ()
    is_reworded: bool = False
    confirming: bool = False
    confirmed: Mapping[str, str] = field(default_factory=dict)

    def standing(
        self, claim: str, trains: bool, tier: str, verdict: str, numbers: Mapping[str, str]
    ) -> Standing:
        """The standing of a claim.

        Args:
            claim: its id.
            trains: whether it trains anything; else looks and confirmation do not apply.
            tier: the tier of the verdict that is shown.
            verdict: the verdict that is shown.
            numbers: from `numbers_of`, of what is shown.
        """
        past = Past.of(claim, self.entries, self.unsealed)
        lost = tuple(lost_sentences(self.entries, self.claims | past.names))
        unsealed = [one for one in self.unsealed if one.claims is None or past.is_of(one)]
        changes = (*change_sentences(past), *wording_sentences(self.entries))
        if unsealed:
            changes = (*changes, f"Changed, and not sealed: {named_changes(unsealed)}.")
            past.rule_changed()
        if self.is_reworded:
            changes = (*changes, f"{MERE_WORDS} were changed, and not sealed.")
        shown = numbers if tier == "paper" else {}
        failed = self._shown_failure(past, verdict, shown) if tier == "paper" else None
        draws = (
            *draw_sentences(past, claim, shown, verdict, self.rule, self.confirming),
            *failure_sentences(past, claim, failed),
        )
        if not trains:
            return Standing(history=(*changes, *lost, *draws))
        confirmations = tuple(confirmation_sentences(past.names, self.entries))
        history = (*changes, *lost, *past.looks, *draws, *confirmations)
        if shown and not self.confirming and not past.has_entered(shown):
            history = (*history, "No entry of the chain records the numbers that are shown.")
        is_entered = self._is_entered_as_confirmed(claim, tier, verdict)
        is_confirmed = is_entered and self.confirmed.get(claim) == verdict
        if is_entered and not is_confirmed:
            history = (*history, f"{BY_CHAIN_ALONE[0].upper()}{BY_CHAIN_ALONE[1:]}.")
        return Standing(
            "confirmed" if is_confirmed else "exploratory",
            self._looks_before(past, shown, failed) + self._looks_of_lost(past),
            history,
        )

    def _is_entered_as_confirmed(self, claim: str, tier: str, verdict: str) -> bool:
        found = confirmation_of(self.entries, self.rule)
        if tier != "paper" or verdict in UNTESTED or found is None:
            return False
        confirmation, result = Confirmation.of(self.entries, self.rule), found.claims.get(claim)
        has_failed = confirmation is not None and confirmation.failed > 0
        return not has_failed and result is not None and result.verdict == verdict

    def _shown_failure(self, past: Past, verdict: str, shown: Mapping[str, str]) -> str | None:
        """The failed run that is shown: the last one by today's rule; None if none is shown."""
        by_rule = past.epochs[-1].failed if past.epochs and not self.confirming else []
        return by_rule[-1] if by_rule and has_failed(verdict, shown) else None

    def _looks_before(self, past: Past, shown: Mapping[str, str], failed: str | None) -> int:
        looks = sum(max(1, one.judged) for one in past.epochs)
        begun = {one.rule for one in self.entries if isinstance(one, BegunEntry)}
        looks += len(begun - {self.rule})
        if not past.epochs:
            return looks
        last = past.epochs[-1]
        if self.confirming:  # on other seeds than any draw
            return looks - (not last.judged and not last.was_run)
        is_shown = failed is not None or any(same_draw(shown, one) for one in last.draws)
        return looks - (not last.judged or is_shown)

    def _looks_of_lost(self, past: Past) -> int:
        """The looks at claims that were judged, taken away, and that no present claim succeeds."""
        kept = [past.names, self.claims]
        kept += [names_of(one, self.entries, self.unsealed) for one in self.claims]
        judged = {
            name for one in self.entries if isinstance(one, ResultEntry) for name in one.claims
        }
        lost = sorted(judged.difference(*kept))
        pasts = (Past.of(name, self.entries, self.unsealed) for name in lost)
        return sum(epoch.judged for one in pasts for epoch in one.epochs)
