"""Tells of alternatives what the verdict alone does not: runs that nobody has judged as such.

The same settings may have been run by custom runs, and an alternative may change no judged number.
Where a claim is missed under an alternative, the constructed solution may miss it there, too. Then
the rule asks more than anything can reach with that value, and the claim hangs on its bound rather
than on what training does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from reproaudit.audit.model import Audit, Claim, Control, TierName
from reproaudit.audit.plan import Batch, Role
from reproaudit.audit.rules.values import same, shown
from reproaudit.cell import SettingValue
from reproaudit.commands.beside.judged import JudgedFrom
from reproaudit.judging.outcomes import Lookup, judge_batch, judge_own
from reproaudit.multiverse.ablations import ablation_batch
from reproaudit.multiverse.completions import (
    Override,
    batch_of,
    cells_of_batches,
    choices_of,
    concerns,
    one_at_a_time,
    varied_tier,
)
from reproaudit.multiverse.model import AlternativeClass
from reproaudit.multiverse.read import ClaimReading
from reproaudit.reports.status import holds
from reproaudit.reports.warning import WITHOUT_EFFECT
from reproaudit.running.store import Store
from reproaudit.scorecard.from_store import CUSTOM
from reproaudit.scorecard.model import ClaimModel, HangsOnModel
from reproaudit.stats import Decision

AGREEING_DIGITS = 5
"""Numbers that agree to so many significant digits are held to be the same."""


def constructed_batches(audit: Audit, tier: TierName, lookup: Lookup) -> tuple[Batch, ...]:
    """Returns the constructed solutions under each alternative that turns its claim to missed.

    Args:
        audit: the paper.
        tier: at which the alternatives were run.
        lookup: finds the records of completions (`completions.lookup_variations`).
    """
    choices = choices_of(audit, tier)
    found: dict[Batch, None] = {}
    for claim in audit.claims:
        reading = ClaimReading(audit, claim, tier, lookup, choices)
        for change in (one for choice in reading.open for one in choice.changes):
            turned = reading.answer(change).kind is AlternativeClass.DECISIVE
            if turned and reading.judged((change,)).decision is Decision.MISSED:
                batch = _constructed(audit, claim, change, tier)
                if batch is not None:
                    found[batch] = None
    return tuple(found)


def _constructed(audit: Audit, claim: Claim, change: Override, tier: TierName) -> Batch | None:
    """The claim's constructed solution under an alternative; None if there is none."""
    positive = audit.positive_control_of(claim)
    return ablation_batch(audit, positive, change, tier) if isinstance(positive, Control) else None


@dataclass(frozen=True)
class Alternatives:
    """All that is told of the alternatives of a scorecard's claims.

    Attributes:
        judged: what it was judged from.
        store: the records behind it.
    """

    judged: JudgedFrom
    store: Store

    @property
    def audit(self) -> Audit:
        """Its audit."""
        return self.judged.audit

    @property
    def tier(self) -> TierName:
        """The scorecard's tier."""
        return self.judged.tier

    # --- runs that no multiverse has judged

    def told_of(self, told: ClaimModel) -> Iterator[str]:
        """Yields sentences on alternatives of a claim that were run, and not judged as such."""
        claim = self.judged.claim(told)
        if claim is None:
            return
        yield from self._without_effect(claim, told)
        if tried := self._tried.get(claim.experiment):
            yield tried

    def _without_effect(self, claim: Claim, told: ClaimModel) -> Iterator[str]:
        """Yields a sentence on alternatives that leave every number of a supported claim as it is.

        The claim's experiment has the setting, and does not use it in what is judged.
        """
        run = {(one.setting, str(one.value)) for one in told.alternatives if one.tier == self.tier}
        if not holds(told) or not run:
            return
        lookup = self.judged.varied
        assert lookup is not None, "records of a store may have alternatives"

        def numbers(*change: Override) -> list[tuple[str, ...]]:
            batch = batch_of(self.audit, change, claim.experiment, self.tier)
            outcome = judge_own(self.audit, claim, batch, lookup(batch))
            return [
                tuple(f"{v:.{AGREEING_DIGITS}g}" for v in one.values) for one in outcome.conditions
            ]

        own = numbers()
        same_numbers = [
            f"{change.name} = {shown(change.stated)}"
            for change in self.judged.changes
            if (change.name, str(change.stated)) in run
            and concerns(self.audit, change, claim.experiment)
            and numbers(change) == own
        ]
        if own and same_numbers:
            yield (
                f"{WITHOUT_EFFECT} change no judged number of it, as where a setting is not used "
                f"or a number saturates: {', '.join(same_numbers)}."
            )

    @cached_property
    def _tried(self) -> Mapping[str, str]:
        """By experiment, a sentence on alternatives that custom runs measured with every seed.

        The multiverse has measured them, too, where it has records of them.
        """
        slug, tier = self.audit.paper.slug, self.tier
        custom = {record.key for record in self.store.records(slug, CUSTOM)}
        if not custom:
            return {}
        known = {record.key for record in self.store.records(slug, varied_tier(tier))}
        found: dict[str, list[str]] = {}
        for completion in one_at_a_time(choices_of(self.audit, tier)):
            for experiment in self.audit.experiments:
                batch = batch_of(self.audit, completion, experiment, tier)
                keys = {cell.key for cell in cells_of_batches(self.audit, [batch], tier)}
                if batch.overrides and keys <= custom and not keys <= known:
                    named = ", ".join(f"{name} = {value!r}" for name, value in batch.overrides)
                    found.setdefault(experiment, []).append(named)
        return {
            experiment: (
                f"Custom runs measured alternatives of it: {'; '.join(named)}. No multiverse has "
                f"judged them: reproaudit multiverse {slug} --tier {tier}"
            )
            for experiment, named in found.items()
        }

    # --- alternatives under which nothing can meet the rule

    def with_conditions(self, told: ClaimModel) -> ClaimModel:
        """Returns a conditional claim that says where its constructed solution misses it, too."""
        claim = self.judged.claim(told)
        if claim is None or not told.hangs_on:
            return told
        why, hangs_on = told.why, []
        for one in told.hangs_on:
            if values := " or ".join(map(shown, self._out_of_reach(claim, one))):
                said = f"{one.sentence}; with {values} its constructed solution misses it, too"
                why = why.replace(one.sentence, said)
                one = one.model_copy(update={"sentence": said})
            hangs_on.append(one)
        return told.model_copy(update={"hangs_on": tuple(hangs_on), "why": why})

    def _out_of_reach(self, claim: Claim, hangs_on: HangsOnModel) -> Iterator[SettingValue]:
        """Yields the values with which the claim is missed by its constructed solution as well."""
        positive = self.audit.positive_control_of(claim)
        if not isinstance(positive, Control):
            return
        missed = [one.value for one in hangs_on.values[1:] if one.decision is Decision.MISSED]
        lookup = self.judged.varied
        assert lookup is not None, "records of a store may have alternatives"
        checks = [check.reading(positive.substitutes) for check in claim.checks]
        for change in self.judged.changes:
            if change.name != hangs_on.setting or not any(same(change.stated, v) for v in missed):
                continue
            if not concerns(self.audit, change, claim.experiment):
                continue
            if (batch := _constructed(self.audit, claim, change, self.tier)) is not None:
                role, runs = Role.POSITIVE_CONTROL, lookup(batch)
                found = judge_batch(self.audit, claim, checks, role, batch, runs)
                if found.problem is None and found.decision is Decision.MISSED:
                    yield change.stated
