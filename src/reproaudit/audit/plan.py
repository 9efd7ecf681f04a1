"""The plan of a tier: the cells that an audit needs, and the role of each.

The runner runs the plan and judging looks the same plan up in the store, so the two cannot disagree
about the runs that a claim rests on. Nothing here runs anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from reproaudit.audit.model import Audit, Claim, Control, TierName
from reproaudit.audit.seeds import seeds_of
from reproaudit.cell import SettingValue


class Role(StrEnum):
    """The role of a batch in the judgement of a claim."""

    EXPERIMENT = "experiment"
    CONTROL = "control"
    POSITIVE_CONTROL = "positive control"


@dataclass(frozen=True)
class Batch:
    """One experiment with one set of settings, over all seeds of its tier.

    Attributes:
        tier: the tier whose scale it runs at. At the paper tier a control may run at quick scale;
            its batch then *is* the quick tier's.
        overrides: the settings that a control replaces, as (name, value).
        seeds: the seeds of `tier`.
    """

    experiment: str
    tier: TierName
    overrides: tuple[tuple[str, SettingValue], ...]
    seeds: tuple[int, ...]

    def settings(self, audit: Audit) -> dict[str, SettingValue]:
        """The values that the experiment runs with."""
        return audit.values_of(self.experiment, self.tier, dict(self.overrides))


def experiment_batch(audit: Audit, experiment: str, tier: TierName) -> Batch:
    """An experiment as the audit states it."""
    return Batch(experiment, tier, (), seeds_of(audit, tier, experiment))


def control_batch(audit: Audit, claim: Claim, control: Control, tier: TierName) -> Batch:
    """A control of a claim, as `Audit.controls_of` gives it, at its own scale.

    It has the seeds of the claim's own runs, so that the two are compared run by run.
    """
    scale: TierName = "quick" if tier == "paper" and control.scale == "quick" else tier
    overrides = tuple(sorted(control.settings.items()))
    seeds = seeds_of(audit, scale, claim.experiment)
    return Batch(str(control.experiment), scale, overrides, seeds)


def runs_apart(claim: Claim, control: Control) -> bool:
    """True if a control has runs of its own, and does not only read the claim's own ones.

    Args:
        control: as `Audit.controls_of` gives it.
    """
    return bool(control.settings) or control.experiment != claim.experiment


def claim_batches(audit: Audit, claim: Claim, tier: TierName) -> Iterator[tuple[Role, Batch]]:
    """The batches that a claim is judged on: its experiment, its controls, its positive control."""
    yield Role.EXPERIMENT, experiment_batch(audit, claim.experiment, tier)
    for control in audit.controls_of(claim):
        yield Role.CONTROL, control_batch(audit, claim, control, tier)
    positive = audit.positive_control_of(claim)
    if isinstance(positive, Control):
        yield Role.POSITIVE_CONTROL, control_batch(audit, claim, positive, tier)


def plan(audit: Audit, tier: TierName) -> tuple[tuple[Role, Batch], ...]:
    """Every batch of a tier, each once: the experiments first, then what the claims need."""
    planned: dict[Batch, Role] = {
        experiment_batch(audit, name, tier): Role.EXPERIMENT for name in audit.experiments
    }
    for claim in audit.claims:
        for role, batch in claim_batches(audit, claim, tier):
            planned.setdefault(batch, role)
    return tuple((role, batch) for batch, role in planned.items())
