"""Tells of alternatives what the verdict alone does not: runs that nobody has judged as such.

The same settings may have been run under another name, as an experiment or a control of its own, or
by custom runs; and where a claim is missed under an alternative, the constructed solution may miss
it there, too. Then the rule asks more than anything can reach with that value, and the claim hangs
on its bound rather than on what training does. A control of another claim, too, is a run that
nobody has held this claim's checks against.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from reproaudit.audit.model import TIERS, Audit, Claim, Control, TierName
from reproaudit.audit.plan import Batch, Role, control_batch, plan
from reproaudit.audit.rules.values import same, shown
from reproaudit.cell import SettingValue, canonical_settings
from reproaudit.judging.outcomes import Lookup, judge_batch, judge_own
from reproaudit.multiverse.ablations import ablation_batch
from reproaudit.multiverse.completions import (
    Override,
    batch_of,
    cells_of_batches,
    choices_of,
    concerns,
    lookup_variations,
    one_at_a_time,
    varied_tier,
)
from reproaudit.multiverse.model import AlternativeClass
from reproaudit.multiverse.read import ClaimReading
from reproaudit.reports.status import holds
from reproaudit.reports.warning import (
    ABLATION_HANGS_ON,
    CONTROL_AT_QUICK_SCALE,
    CONTROLS_OF_OTHERS,
    UNDER_ANOTHER_NAME,
    WITHOUT_EFFECT,
)
from reproaudit.running.groups import Chosen
from reproaudit.running.store import Store
from reproaudit.scorecard.from_store import CUSTOM, lookup_chosen
from reproaudit.scorecard.model import ClaimModel, HangsOnModel, Scorecard
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
        card: the scorecard.
        audit: its audit.
        store: the records behind it.
        chosen: those of them that are judged.
    """

    card: Scorecard
    audit: Audit
    store: Store
    chosen: Chosen

    @cached_property
    def tier(self) -> TierName:
        """The scorecard's tier."""
        return next(one for one in TIERS if one == self.card.tier)

    @cached_property
    def _changes(self) -> tuple[Override, ...]:
        """Every alternative of every open setting, one at a time."""
        choices = choices_of(self.audit, self.tier)
        return tuple(change for choice in choices for change in choice.changes)

    def _claim(self, told: ClaimModel) -> Claim | None:
        return next((one for one in self.audit.claims if one.id == told.id), None)

    # --- runs that no multiverse has judged

    def told_of(self, told: ClaimModel) -> Iterator[str]:
        """Yields sentences on alternatives of a claim that were run, and not judged as such."""
        claim = self._claim(told)
        if claim is None:
            return
        yield from self._under_another_name(claim, told)
        yield from self._on_controls_of_others(claim, told)
        yield from self._without_effect(claim, told)
        yield from self._of_ablations(claim, told)
        yield from self._at_another_scale(claim, told)
        if tried := self._tried.get(claim.experiment):
            yield tried

    def _under_another_name(self, claim: Claim, told: ClaimModel) -> Iterator[str]:
        """Yields a sentence on each run with an alternative's settings that decides otherwise."""
        judged = [(one.setting, one.value) for one in told.alternatives if one.tier == self.tier]
        for change in self._changes:
            if not concerns(self.audit, change, claim.experiment) or any(
                name == change.name and same(value, change.stated) for name, value in judged
            ):
                continue
            batch = batch_of(self.audit, (change,), claim.experiment, self.tier)
            for other in self._planned.get(canonical_settings(batch.settings(self.audit)), ()):
                found = judge_own(self.audit, claim, other, self._lookup(other))
                if found.problem or found.decision in (None, told.decision):
                    continue
                yield (
                    f"{UNDER_ANOTHER_NAME}, as {_named(other)}, the alternative {change.name} = "
                    f"{shown(change.stated)} comes out {found.decision}, and no multiverse has "
                    f"judged it: reproaudit multiverse {self.audit.paper.slug} --tier {self.tier}"
                )

    def _on_controls_of_others(self, claim: Claim, told: ClaimModel) -> Iterator[str]:
        """Yields a sentence on controls of other claims that meet every part of a supported one."""
        if not holds(told):
            return
        own = {
            control_batch(self.audit, one, self.tier)
            for one in self.audit.controls_of(claim)
            if not one.substitutes  # else other numbers than the claim's were judged
        }
        all_of_it: list[str] = []
        primary: list[str] = []
        for role, batch in plan(self.audit, self.tier):
            is_other = role is Role.CONTROL and batch.tier == self.tier and batch not in own
            if is_other and batch.experiment == claim.experiment:
                found = judge_own(self.audit, claim, batch, self._lookup(batch))
                met = sum(part.decision is Decision.MET for part in found.parts)
                if found.problem is None and found.decision is Decision.MET:
                    all_of_it.append(_changed(batch))
                elif met and found.problem is None and found.parts[0].decision is Decision.MET:
                    primary.append(f"{_changed(batch)} ({met} of {len(found.parts)} parts)")
        if all_of_it:
            yield f"{CONTROLS_OF_OTHERS} meet every part of this one: {'; '.join(all_of_it)}."
        if primary:
            yield f"{CONTROLS_OF_OTHERS} meet its primary part: {'; '.join(primary)}."

    def _without_effect(self, claim: Claim, told: ClaimModel) -> Iterator[str]:
        """Yields a sentence on alternatives that leave every number of a supported claim as it is.

        The claim's experiment has the setting, and does not use it in what is judged.
        """
        run = {(one.setting, str(one.value)) for one in told.alternatives if one.tier == self.tier}
        if not holds(told) or not run:
            return
        lookup = lookup_variations(self.store, self.audit, self.chosen.group)

        def numbers(*change: Override) -> list[tuple[str, ...]]:
            batch = batch_of(self.audit, change, claim.experiment, self.tier)
            outcome = judge_own(self.audit, claim, batch, lookup(batch))
            return [
                tuple(f"{v:.{AGREEING_DIGITS}g}" for v in one.values) for one in outcome.conditions
            ]

        own = numbers()
        same_numbers = [
            f"{change.name} = {shown(change.stated)}"
            for change in self._changes
            if (change.name, str(change.stated)) in run
            and concerns(self.audit, change, claim.experiment)
            and numbers(change) == own
        ]
        if own and same_numbers:
            yield (
                f"{WITHOUT_EFFECT} change no judged number of it, as where a setting is not used "
                f"or a number saturates: {', '.join(same_numbers)}."
            )

    def _of_ablations(self, claim: Claim, told: ClaimModel) -> Iterator[str]:
        """Yields a sentence on open settings of an ablation's experiment, not of the claim's.

        A multiverse varies what the claim's own experiment reads.
        """
        if not holds(told):
            return
        found: dict[str, list[str]] = {}
        for change in self._changes:
            for control in self.audit.ablations_of(claim):
                experiment = str(control.experiment)
                if (
                    concerns(self.audit, change, experiment)
                    and not concerns(self.audit, change, claim.experiment)
                    and change.name not in control.settings
                ):
                    own = self.audit.values_of(experiment, self.tier)[change.name]
                    name = f"{change.name} = {shown(own)} of {experiment}"
                    found.setdefault(name, []).append(shown(change.stated))
        if found:
            named = "; ".join(f"{one} (or {', '.join(others)})" for one, others in found.items())
            yield f"{ABLATION_HANGS_ON}, and no alternative of them was tried: {named}."

    def _at_another_scale(self, claim: Claim, told: ClaimModel) -> Iterator[str]:
        """Yields a sentence on controls at quick scale whose experiment has a quick value itself.

        The claim's experiment has the paper's value there, so that such a control differs in it.
        """
        if not holds(told):
            return
        ours = self.audit.values_of(claim.experiment, self.tier)
        for place, control in enumerate(self.audit.controls_of(claim), start=1):
            batch = control_batch(self.audit, control, self.tier)
            own = self.audit.experiments[batch.experiment].settings
            if batch.tier == self.tier or batch.experiment == claim.experiment:
                continue
            differing = {
                name: value
                for name, value in batch.settings(self.audit).items()
                if name in own and name in ours and name not in control.settings
                if not same(value, ours[name])
            }
            if differing:
                named = ", ".join(f"{name} = {shown(value)}" for name, value in differing.items())
                yield (
                    f"{CONTROL_AT_QUICK_SCALE} of {batch.experiment}, other values than those of "
                    f"the claim: control {control.name or place} with {named}."
                )

    @cached_property
    def _planned(self) -> Mapping[str, Sequence[Batch]]:
        """The batches that are run anyway, by their settings."""
        found: dict[str, list[Batch]] = {}
        for role, batch in plan(self.audit, self.tier):
            if role is not Role.POSITIVE_CONTROL:
                found.setdefault(canonical_settings(batch.settings(self.audit)), []).append(batch)
        return found

    @cached_property
    def _lookup(self) -> Lookup:
        return lookup_chosen(self.audit, self.chosen)

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
        for completion in one_at_a_time(choices_of(self.audit, tier)).completions:
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
        claim = self._claim(told)
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
        lookup = lookup_variations(self.store, self.audit, self.chosen.group)
        checks = [check.reading(positive.substitutes) for check in claim.checks]
        for change in self._changes:
            if change.name != hangs_on.setting or not any(same(change.stated, v) for v in missed):
                continue
            if not concerns(self.audit, change, claim.experiment):
                continue
            if (batch := _constructed(self.audit, claim, change, self.tier)) is not None:
                role, runs = Role.POSITIVE_CONTROL, lookup(batch)
                found = judge_batch(self.audit, claim, checks, role, batch, runs)
                if found.problem is None and found.decision is Decision.MISSED:
                    yield change.stated


def _named(batch: Batch) -> str:
    """An experiment as it is audited, or a control of it."""
    if not batch.overrides:
        return f"experiment {batch.experiment}"
    return f"a control ({batch.experiment} with {_changed(batch)})"


def _changed(batch: Batch) -> str:
    return ", ".join(f"{name} = {shown(value)}" for name, value in batch.overrides)
