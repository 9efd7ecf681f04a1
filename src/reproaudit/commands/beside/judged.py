"""A scorecard with what it was judged from: its audit, and its records.

All that stands beside a verdict is read from the records that are judged, ours or those of
measurements from elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from reproaudit.audit.model import TIERS, Audit, Claim, Control, TierName
from reproaudit.audit.plan import Batch, Role, control_batch, experiment_batch, plan
from reproaudit.audit.rules.values import same, shown
from reproaudit.cell import canonical_settings
from reproaudit.judging.model import Verdict
from reproaudit.judging.outcomes import Lookup
from reproaudit.multiverse.ablations import ablation_batch
from reproaudit.multiverse.completions import Override, batch_of, choices_of, concerns
from reproaudit.reports.status import holds
from reproaudit.scorecard.model import ClaimModel, Scorecard
from reproaudit.stats import Decision


@dataclass(frozen=True)
class RunsBehind:
    """Runs that a verdict rests on.

    Attributes:
        whose: a name for a sentence; of the claim's own runs it is empty.
        batch: what was run.
        lookup: finds their records.
        control: the control that they are of; None of the claim's experiment.
    """

    whose: str
    batch: Batch
    lookup: Lookup
    control: Control | None = None


@dataclass(frozen=True)
class JudgedFrom:
    """A scorecard, and what it was judged from.

    Attributes:
        card: the scorecard.
        audit: its audit; of measurements from elsewhere with their seeds.
        lookup: finds the records that are judged.
        varied: finds those of alternatives; None where there are none.
    """

    card: Scorecard
    audit: Audit
    lookup: Lookup
    varied: Lookup | None = None

    @cached_property
    def tier(self) -> TierName:
        """The scorecard's tier."""
        return next(one for one in TIERS if one == self.card.tier)

    @cached_property
    def changes(self) -> tuple[Override, ...]:
        """Every alternative of every open setting, one at a time."""
        choices = choices_of(self.audit, self.tier)
        return tuple(change for choice in choices for change in choice.changes)

    @cached_property
    def planned(self) -> Mapping[str, Sequence[Batch]]:
        """The batches that are run anyway, by their settings."""
        found: dict[str, list[Batch]] = {}
        for role, batch in plan(self.audit, self.tier):
            if role is not Role.POSITIVE_CONTROL:
                found.setdefault(canonical_settings(batch.settings(self.audit)), []).append(batch)
        return found

    def claim(self, told: ClaimModel) -> Claim | None:
        """The claim as the audit has it; None if it is gone."""
        return next((one for one in self.audit.claims if one.id == told.id), None)

    def runs_behind(self, claim: Claim, told: ClaimModel) -> Iterator[RunsBehind]:
        """Yields the claim's own runs, and what its verdict rests on besides.

        These are the ablations of a claim that holds, and the alternatives that were run. One that
        is met counts only while its own ablations miss.
        """
        tier = self.tier
        yield RunsBehind("", experiment_batch(self.audit, claim.experiment, tier), self.lookup)
        ablations = list(with_names(self.audit.ablations_of(claim)))
        for name, control in ablations if holds(told) else ():
            batch = control_batch(self.audit, control, tier)
            yield RunsBehind(f"control {name}", batch, self.lookup, control)
        if self.varied is None or not rests_on_runs(told):
            return
        for change, decision in self._alternatives(claim, told):
            batch = batch_of(self.audit, (change,), claim.experiment, tier)
            words = f"{change.name} = {shown(change.stated)}"
            yield RunsBehind(f"the alternative {words}", batch, self.varied)
            for name, control in ablations if decision is Decision.MET else ():
                its = ablation_batch(self.audit, control, change, tier)
                if its is not None and its != control_batch(self.audit, control, tier):
                    yield RunsBehind(f"control {name} with {words}", its, self.varied, control)

    def _alternatives(
        self, claim: Claim, told: ClaimModel
    ) -> Iterator[tuple[Override, Decision | None]]:
        """Yields the alternatives that were run at this tier, each with its decision."""
        for one in told.alternatives:
            for change in self.changes if one.tier == self.tier else ():
                is_it = change.name == one.setting and same(change.stated, one.value)
                if is_it and concerns(self.audit, change, claim.experiment):
                    yield change, one.decision


def with_names(controls: Iterable[Control]) -> Iterator[tuple[str, Control]]:
    """Yields controls, each with its name, or its place if it has none."""
    for place, control in enumerate(controls, start=1):
        yield control.name or str(place), control


def rests_on_runs(told: ClaimModel) -> bool:
    """True of a claim whose runs decided: one that holds, or is contradicted."""
    return holds(told) or told.verdict is Verdict.CONTRADICTED
