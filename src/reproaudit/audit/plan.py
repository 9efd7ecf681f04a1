"""The plan of a tier: the cells that the arms of its claims need. Nothing here runs anything."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from reproaudit.audit.arms import PlannedArm, Role, alternatives_of, arms_of, quantities_of, runs_of
from reproaudit.audit.model import Audit, Claim, TierName
from reproaudit.audit.seeds import seeds_of, stored_tier
from reproaudit.cell import Cell, SettingValue
from reproaudit.errors import UsageError, did_you_mean


@dataclass(frozen=True)
class Batch:
    """An experiment with the settings of a tier, some of them overridden, and some seeds."""

    experiment: str
    tier: TierName
    overrides: tuple[tuple[str, SettingValue], ...]
    seeds: tuple[int, ...]

    def settings(self, audit: Audit) -> dict[str, SettingValue]:
        """Return the values that the experiment runs with."""
        return audit.values_of(self.experiment, self.tier, dict(self.overrides))


def batch_of(audit: Audit, claim: Claim, arm: PlannedArm, tier: TierName) -> Batch:
    """Return what is run for an arm: with the seeds of the claim's own runs, so that they pair."""
    seeds = seeds_of(audit, tier, claim.experiment, runs_of(audit, claim, arm, tier))
    return Batch(arm.experiment, tier, arm.changed(tier), seeds)


def claim_batches(audit: Audit, claim: Claim, tier: TierName) -> Iterator[tuple[Role, Batch]]:
    """Yield the batches that a claim is judged by, its own first."""
    for arm in arms_of(audit, claim):
        yield arm.role, batch_of(audit, claim, arm, tier)


def plan(
    audit: Audit, tier: TierName, claims: Collection[str] = ()
) -> tuple[tuple[Role, Batch], ...]:
    """Return every batch that a tier, or some claims by id, need, each once, own runs first."""
    batches: dict[tuple[str, str], tuple[Role, Batch]] = {}
    for claim in audit.claims:
        if claims and claim.id not in claims:
            continue
        for arm in arms_of(audit, claim):
            key = arm.key(audit, tier)
            batch = batch_of(audit, claim, arm, tier)
            role, known = batches.get(key, (arm.role, batch))
            seeds = tuple(dict.fromkeys((*known.seeds, *batch.seeds)))
            role = Role.OWN if arm.role is Role.OWN else role
            batches[key] = (role, replace(known, seeds=seeds))
    return tuple(sorted(batches.values(), key=lambda pair: pair[0] is not Role.OWN))


@dataclass(frozen=True)
class Scope:
    """The claims that are asked for, what they rest on, and the measurements by experiment."""

    claims: tuple[Claim, ...]
    batches: tuple[Batch, ...]
    measurements: Mapping[str, tuple[str, ...]]


def scope_of(audit: Audit, tier: TierName, claims: Sequence[str]) -> Scope:
    """Return what some claims need, or all; a UsageError if one is unknown, or there is none."""
    if not audit.claims:
        raise UsageError(f"{audit.paper.slug}: its audit states no claims, so none can be judged.")
    known = {claim.id: claim for claim in audit.claims}
    for name in claims:
        if name not in known:
            raise UsageError(f"no claim '{name}'. {did_you_mean(name, known)}".rstrip())
    wanted = tuple(known[name] for name in dict.fromkeys(claims)) or audit.claims
    read = {name for claim in wanted for name in _read(audit, claim)}
    measurements = {
        experiment: tuple(n for n in audit.measurements_of(experiment) if n in read or not claims)
        for experiment in audit.experiments
    }
    return Scope(wanted, tuple(batch for _, batch in plan(audit, tier, claims)), measurements)


def _read(audit: Audit, claim: Claim) -> set[str]:
    read = {quantity.measurement for quantity in quantities_of(claim)}
    for arm in arms_of(audit, claim):
        read |= {*arm.reads.values(), *(bound.value.measurement for bound in arm.holds_at_start)}
        if name := audit.training_loss_of(arm.experiment):
            read.add(name)
    return read


def varied_tier(tier: str) -> str:
    """Return the folder of a tier's alternatives."""
    return f"multiverse-{tier}"


def cells_of_tier(audit: Audit, tier: TierName, claims: Iterable[str] = ()) -> list[Cell]:
    """Return every cell that a tier needs, own experiments first."""
    kept = stored_tier(audit, tier)
    return [
        Cell(audit.paper.slug, kept, batch.experiment, batch.settings(audit), seed)
        for _, batch in plan(audit, tier, frozenset(claims))
        for seed in batch.seeds
    ]


def cells_of_alternatives(audit: Audit, tier: TierName) -> list[Cell]:
    """Return every cell of every claim's alternatives, each once."""
    kept = varied_tier(stored_tier(audit, tier))
    cells: dict[object, Cell] = {}
    for claim in audit.claims:
        for arm in alternatives_of(audit, claim):
            settings = arm.settings(audit, tier)
            for seed in batch_of(audit, claim, arm, tier).seeds:
                cell = Cell(audit.paper.slug, kept, arm.experiment, settings, seed)
                cells.setdefault(cell.key, cell)
    return list(cells.values())
