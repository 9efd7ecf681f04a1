"""The runs of other claims, and the settings of controls, beside a claim's verdict.

All of it is read from the records that are judged, ours or those of measurements from elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from reproaudit.audit.model import TIERS, Audit, Claim, Control, TierName
from reproaudit.audit.plan import Batch, Role, control_batch, experiment_batch, plan
from reproaudit.audit.rules.ablations import quick_alone
from reproaudit.audit.rules.values import same, shown
from reproaudit.cell import canonical_settings
from reproaudit.checks import all_quantities
from reproaudit.commands.judged_numbers import told_of_numbers
from reproaudit.judging.model import Verdict
from reproaudit.judging.movement import is_inert, movements
from reproaudit.judging.outcomes import Lookup, judge_own
from reproaudit.judging.verdict import judge_claim
from reproaudit.multiverse.completions import Override, batch_of, choices_of, concerns
from reproaudit.reports.numbers import counted
from reproaudit.reports.status import holds
from reproaudit.reports.warning import (
    ABLATION_HANGS_ON,
    CONTROL_AT_QUICK_SCALE,
    CONTROLS_OF_OTHERS,
    MEANS_OTHERWISE,
    NOT_IN_THE_LEDGER,
    NOT_TRAINED,
    UNDER_ANOTHER_NAME,
)
from reproaudit.scorecard.model import ClaimModel, Scorecard
from reproaudit.stats import Decision


@dataclass(frozen=True)
class Neighbours:
    """All that stands beside the claims of a scorecard, in the same audit and the same records.

    Attributes:
        card: the scorecard.
        audit: its audit; of measurements from elsewhere with their seeds.
        lookup: finds the records that are judged.
    """

    card: Scorecard
    audit: Audit
    lookup: Lookup

    def told_of(self, told: ClaimModel) -> Iterator[str]:
        """Yields sentences on what the records say beside the verdict of a claim."""
        claim = next((one for one in self.audit.claims if one.id == told.id), None)
        if claim is None:
            return
        yield from self._under_another_name(claim, told)
        yield from self._on_controls_of_others(claim, told)
        yield from self._of_ablations(claim, told)
        yield from self._at_another_scale(claim, told)
        yield from self._on_meanings(claim, told)
        yield from self._on_runs_that_did_not_train(claim, told)
        yield from self._on_contradictions(claim, told)
        yield from self._as_audited(claim, told)
        yield from told_of_numbers(claim, told, self.audit, self.tier, self.lookup)

    @cached_property
    def tier(self) -> TierName:
        """The scorecard's tier."""
        return next(one for one in TIERS if one == self.card.tier)

    @cached_property
    def changes(self) -> tuple[Override, ...]:
        """Every alternative of every open setting, one at a time."""
        choices = choices_of(self.audit, self.tier)
        return tuple(change for choice in choices for change in choice.changes)

    def _under_another_name(self, claim: Claim, told: ClaimModel) -> Iterator[str]:
        """Yields a sentence on each run with an alternative's settings that decides otherwise."""
        judged = [(one.setting, one.value) for one in told.alternatives if one.tier == self.tier]
        for change in self.changes:
            if not concerns(self.audit, change, claim.experiment) or any(
                name == change.name and same(value, change.stated) for name, value in judged
            ):
                continue
            batch = batch_of(self.audit, (change,), claim.experiment, self.tier)
            for other in self._planned.get(canonical_settings(batch.settings(self.audit)), ()):
                found = judge_own(self.audit, claim, other, self.lookup(other))
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
            if role is not Role.CONTROL or batch in own or not self._is_like(batch, claim):
                continue
            found = judge_own(self.audit, claim, batch, self.lookup(batch))
            met = sum(part.decision is Decision.MET for part in found.parts)
            named = _changed(batch)
            if batch.experiment != claim.experiment:
                named = f"{batch.experiment} with {named}"
            if batch.tier != self.tier:
                named += f" ({batch.tier} scale)"
            if met and found.problem is None and found.decision is Decision.MET:
                all_of_it.append(named)
            elif met and found.problem is None and found.parts[0].decision is Decision.MET:
                primary.append(f"{named} ({met} of {len(found.parts)} parts)")
        if all_of_it:
            yield f"{CONTROLS_OF_OTHERS} meet every part of this one: {'; '.join(all_of_it)}."
        if primary:
            yield f"{CONTROLS_OF_OTHERS} meet its primary part: {'; '.join(primary)}."

    def _is_like(self, batch: Batch, claim: Claim) -> bool:
        """True if a control's experiment is the claim's, or one with the very same settings.

        What differs between the two by name alone may differ in nothing.
        """
        if batch.experiment == claim.experiment:
            return bool(batch.overrides)  # else the claim's own model, read by other numbers
        own = experiment_batch(self.audit, claim.experiment, batch.tier)
        its = experiment_batch(self.audit, batch.experiment, batch.tier)
        measured = self.audit.measurements_of(batch.experiment)
        return own.settings(self.audit) == its.settings(self.audit) and all(
            one.measurement in measured for _, _, one in all_quantities(claim.checks)
        )

    def _of_ablations(self, claim: Claim, told: ClaimModel) -> Iterator[str]:
        """Yields a sentence on open settings of an ablation's experiment, not of the claim's.

        A multiverse varies what the claim's own experiment reads.
        """
        if not holds(told):
            return
        found: dict[str, list[str]] = {}
        for change in self.changes:
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
        for place, control in enumerate(self.audit.controls_of(claim), start=1):
            smaller = quick_alone(self.audit, claim, control, self.tier)
            if smaller:
                named = ", ".join(f"{name} = {shown(its)}" for name, (its, _) in smaller.items())
                yield (
                    f"{CONTROL_AT_QUICK_SCALE} of {control.experiment}, other values than those of "
                    f"the claim: control {control.name or place} with {named}."
                )

    def _on_meanings(self, claim: Claim, told: ClaimModel) -> Iterator[str]:
        """Yields a sentence on each control behind a verdict that has a measure of its own.

        It has the name of one that the claim reads, and another meaning, or another order of its
        coordinates. Substitutes are told of with the control.
        """
        movement = self.audit.movement_of(claim)
        moves = [] if movement is None else [movement.parameters, movement.training_loss]
        judged = [one.measurement for _, _, one in all_quantities(claim.checks)]
        ours = experiment_batch(self.audit, claim.experiment, self.tier)
        for whose, control in self._behind(claim, told):
            its = control_batch(self.audit, control, self.tier)
            for name in dict.fromkeys([*judged, *moves]):
                pair = [self.audit.declaration(one.experiment, name) for one in (ours, its)]
                if name in control.substitutes or None in pair:
                    continue
                here, there = (one for one in pair if one is not None)
                if here.meaning != there.meaning:
                    yield (
                        f"{MEANS_OTHERWISE}: '{name}' of {whose} is: {there.meaning.rstrip('.')}. "
                        f"That of the claim is: {here.meaning}"
                    )
                for axis, other in zip(here.axes, there.axes, strict=False):
                    mine = axis.coordinates(ours.settings(self.audit))
                    theirs = other.coordinates(its.settings(self.audit))
                    if theirs[: len(mine)] != mine[: len(theirs)]:
                        yield (
                            f"{MEANS_OTHERWISE}: '{name}' of {whose} has other coordinates on its "
                            f"axis '{other.name}', {shown(theirs)}. Those of the claim are "
                            f"{shown(mine)}."
                        )

    def _behind(self, claim: Claim, told: ClaimModel) -> Iterator[tuple[str, Control]]:
        """Yields the controls that a verdict rests on, each with a name for a sentence."""
        if holds(told):
            for place, control in enumerate(self.audit.ablations_of(claim), start=1):
                yield f"control {control.name or place}", control
        positive = self.audit.positive_control_of(claim)
        rests = holds(told) or told.verdict in (Verdict.CONTRADICTED, Verdict.UNATTAINABLE)
        if rests and isinstance(positive, Control):
            yield "the constructed solution", positive

    def _on_runs_that_did_not_train(self, claim: Claim, told: ClaimModel) -> Iterator[str]:
        """Yields a sentence on the claim's runs, and each ablation's, of which some did not train.

        Where most of them did not, the verdict says so.
        """
        movement = self.audit.movement_of(claim)
        rests = holds(told) or told.verdict is Verdict.CONTRADICTED
        if movement is None or not claim.trains or not rests:
            return
        own = experiment_batch(self.audit, claim.experiment, self.tier)
        found: list[tuple[str, Batch, str | None]] = [("the claim", own, movement.loss_stays)]
        for place, control in enumerate(self.audit.ablations_of(claim), start=1):
            batch = control_batch(self.audit, control, self.tier)
            stays = control.loss_stays or movement.loss_stays
            found.append((f"control {control.name or place}", batch, stays))
        for whose, batch, stays in found:
            runs = list(self.lookup(batch).values())
            moves = movements(self.audit, movement, batch.experiment, runs)
            still = sum(bool(is_inert(movement, (one,), stays)) for one in moves)
            if 0 < still <= len(moves) / 2:
                yield (
                    f"{NOT_TRAINED}: {still} of {counted(len(moves), 'run')} of {whose} moved by "
                    f"less than the {movement.at_least:g} that the audit asks for."
                )

    def _as_audited(self, claim: Claim, told: ClaimModel) -> Iterator[str]:
        """Yields the reason for which a conditional claim would be supported as it is audited.

        Its verdict tells of the alternatives alone, and what qualifies the one qualifies the other.
        """
        if told.verdict is Verdict.CONDITIONAL and told.decision is Decision.MET:
            why = judge_claim(self.audit, claim, self.tier, self.lookup).why
            clauses = [
                one
                for one in why.split("; ")
                if not one.endswith("alternatives run") and not one.startswith("not run")
            ]
            yield f"As audited: {'; '.join(clauses)}."

    def _on_contradictions(self, claim: Claim, told: ClaimModel) -> Iterator[str]:
        """Yields a sentence on each contradiction about a claim that holds, of no setting."""
        for one in self.audit.findings if holds(told) else ():
            if one.kind == "contradiction" and claim.id in one.claims and not one.settings:
                yield f"{NOT_IN_THE_LEDGER}: finding {one.id}."

    @cached_property
    def _planned(self) -> Mapping[str, Sequence[Batch]]:
        """The batches that are run anyway, by their settings."""
        found: dict[str, list[Batch]] = {}
        for role, batch in plan(self.audit, self.tier):
            if role is not Role.POSITIVE_CONTROL:
                found.setdefault(canonical_settings(batch.settings(self.audit)), []).append(batch)
        return found


def _named(batch: Batch) -> str:
    """An experiment as it is audited, or a control of it."""
    if not batch.overrides:
        return f"experiment {batch.experiment}"
    return f"a control ({batch.experiment} with {_changed(batch)})"


def _changed(batch: Batch) -> str:
    return ", ".join(f"{name} = {shown(value)}" for name, value in batch.overrides)
