"""The plan of a tier: the arms that a claim is judged by, and the cells that they need.

The runner runs the plan and judging looks the same arms up in the records, so the two cannot
disagree about the runs that a claim rests on. Nothing here runs anything.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from reproaudit.audit.model import Audit, Claim, NamedArm, Setting, StartBound, TierName
from reproaudit.audit.seeds import seeds_of, stored_tier
from reproaudit.cell import Cell, SettingValue, canonical_settings, value_text
from reproaudit.declarations import Quantity
from reproaudit.errors import UsageError, did_you_mean

OWN = "own"
"""The name of a claim's own arm."""


class Role(StrEnum):
    """What an arm is to a claim."""

    OWN = "own"
    READING = "reading"
    CONTROL = "control"
    ABLATION = "ablation"
    POSITIVE_CONTROL = "positive control"
    COMPARED = "compared"
    """An arm that the claim's checks read beside its own."""
    ALTERNATIVE = "alternative"


@dataclass(frozen=True)
class PlannedArm:
    """An arm of one claim.

    Attributes:
        name: unique within the claim.
        overrides: the settings that differ from the experiment's own.
        smaller: of a reading, the values of the tiers below the paper's, by setting.
        reads: measurements read in place of others.
        varied: of a reading or an alternative, the setting and its value.
        excused: of a reading, that it need not be run.
        holds_at_start: what must hold before training.
        deterministic: whether every seed gives the same run.
    """

    name: str
    role: Role
    experiment: str
    overrides: Mapping[str, SettingValue] = field(default_factory=dict)
    smaller: Mapping[str, SettingValue] = field(default_factory=dict)
    reads: Mapping[str, str] = field(default_factory=dict)
    lacks: str = ""
    varied: tuple[str, SettingValue] | None = None
    excused: bool = False
    holds_at_start: tuple[StartBound, ...] = ()
    deterministic: bool = False

    @property
    def stands_alone(self) -> bool:
        """Whether one run stands beside every seed: deterministic, or built by hand."""
        return self.deterministic or self.role is Role.POSITIVE_CONTROL

    def key(self, audit: Audit, tier: TierName) -> tuple[str, str]:
        """Return the experiment and its canonical settings, by which records are found."""
        return self.experiment, canonical_settings(self.settings(audit, tier))

    def settings(self, audit: Audit, tier: TierName) -> dict[str, SettingValue]:
        """Return every setting that the arm runs with at a tier."""
        return audit.values_of(self.experiment, tier, self.at(tier))

    def changed(self, tier: TierName) -> tuple[tuple[str, SettingValue], ...]:
        """Return these settings as a batch has them."""
        return tuple(sorted(self.at(tier).items()))

    def at(self, tier: TierName) -> dict[str, SettingValue]:
        """Return the settings that differ from the experiment's own at a tier."""
        return {**self.overrides, **(self.smaller if tier != "paper" else {})}


def arms_of(audit: Audit, claim: Claim) -> tuple[PlannedArm, ...]:
    """Return the arms of a claim, its own first, alternatives left out."""
    arms = [
        PlannedArm(OWN, Role.OWN, claim.experiment, dict(claim.settings)),
        *_readings(audit, claim),
        *(_arm(audit, claim, one, Role.CONTROL) for one in claim.nulls),
        *(_arm(audit, claim, one.arm, Role.ABLATION, one.lacks) for one in claim.ablations),
    ]
    if claim.constructed is not None:
        arms.append(_arm(audit, claim, claim.constructed, Role.POSITIVE_CONTROL))
    known = {one.name for one in arms}
    compared = dict.fromkeys(q.arm for q in quantities_of(claim) if q.arm and q.arm not in known)
    return (*arms, *(_arm(audit, claim, name, Role.COMPARED) for name in compared))


def alternatives_of(audit: Audit, claim: Claim) -> tuple[PlannedArm, ...]:
    """Return an arm for every alternative of every guess that the claim's experiment rests on."""
    return tuple(
        _varied(claim, Role.ALTERNATIVE, name, value)
        for name, setting in _varied_settings(audit, claim)
        if setting.guessed
        for value in setting.alternatives
    )


def left_out_readings(audit: Audit, claim: Claim) -> Iterator[tuple[str, SettingValue]]:
    """Yield each value that a source states and under which a claim is not to be judged."""
    for name, setting in _varied_settings(audit, claim):
        if name not in claim.readings:
            yield from ((name, one.value) for one in setting.readings if one.excused is None)


def quantities_of(claim: Claim) -> Iterator[Quantity]:
    """Yield every quantity that a claim's checks read."""
    for check in (*claim.headline, *claim.support, *claim.notes):
        yield from check.quantities()


def runs_of(audit: Audit, claim: Claim, arm: PlannedArm, tier: TierName) -> int:
    """Return the number of runs that an arm of a claim needs at a tier."""
    compared = {q.arm for one in claim.headline for q in one.quantities()}
    contrast = any(number.contrast for check in claim.headline for number in check.numbers)
    paired = arm.role is Role.CONTROL and contrast
    own = arm.role in (Role.OWN, Role.READING) or arm.name in compared or paired
    if claim.exact and tier != "smoke":
        return 1
    return audit.runs_of(arm.experiment).at(tier, own)


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
    """Return every batch that a tier needs, each once with all its seeds, own experiments first.

    Claims are named by id; without any, every claim is run for.
    """
    found: dict[tuple[str, str], tuple[Role, Batch]] = {}
    for claim in audit.claims:
        if claims and claim.id not in claims:
            continue
        for arm in arms_of(audit, claim):
            key = arm.key(audit, tier)
            batch = batch_of(audit, claim, arm, tier)
            role, known = found.get(key, (arm.role, batch))
            seeds = tuple(dict.fromkeys((*known.seeds, *batch.seeds)))
            role = Role.OWN if arm.role is Role.OWN else role
            found[key] = (role, replace(known, seeds=seeds))
    return tuple(sorted(found.values(), key=lambda one: one[0] is not Role.OWN))


@dataclass(frozen=True)
class Scope:
    """The part of an audit that is asked for.

    Attributes:
        batches: what they rest on, the experiments first.
        measurements: experiment -> the measurements that are wanted.
    """

    claims: tuple[Claim, ...]
    batches: tuple[Batch, ...]
    measurements: Mapping[str, tuple[str, ...]]


def scope_of(audit: Audit, tier: TierName, claims: Sequence[str]) -> Scope:
    """Return the part of an audit that is asked for: everything, or what some claims need.

    Raises:
        UsageError: if a claim is unknown, or there is none.
    """
    if not audit.claims:
        raise UsageError(f"{audit.paper.slug}: its audit states no claims, so none can be judged.")
    known = {claim.id: claim for claim in audit.claims}
    for one in claims:
        if one not in known:
            raise UsageError(f"no claim '{one}'. {did_you_mean(one, known)}".rstrip())
    wanted = tuple(known[one] for one in dict.fromkeys(claims)) or audit.claims
    read = {name for claim in wanted for name in _read(audit, claim)}
    measurements = {
        experiment: tuple(n for n in audit.measurements_of(experiment) if n in read or not claims)
        for experiment in audit.experiments
    }
    return Scope(wanted, tuple(batch for _, batch in plan(audit, tier, claims)), measurements)


def _read(audit: Audit, claim: Claim) -> set[str]:
    """Return the names of the measurements that a claim reads."""
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
    found: dict[object, Cell] = {}
    for claim in audit.claims:
        for arm in alternatives_of(audit, claim):
            settings = arm.settings(audit, tier)
            for seed in batch_of(audit, claim, arm, tier).seeds:
                cell = Cell(audit.paper.slug, kept, arm.experiment, settings, seed)
                found.setdefault(cell.key, cell)
    return list(found.values())


def _readings(audit: Audit, claim: Claim) -> Iterator[PlannedArm]:
    settings = dict(_varied_settings(audit, claim))
    for name in claim.readings:
        for one in settings[name].readings if name in settings else ():
            arm = _varied(claim, Role.READING, name, one.value)
            overrides = {**arm.overrides, **one.together, **claim.settings}
            smaller = {name: at for name, at in one.quick.items() if name not in claim.settings}
            excused = one.excused is not None
            yield replace(arm, overrides=overrides, smaller=smaller, excused=excused)


def _varied_settings(audit: Audit, claim: Claim) -> Iterator[tuple[str, Setting]]:
    """The settings of a claim's experiment that it leaves as they are: the others are its own."""
    for name, setting in audit.settings_of(claim.experiment).items():
        if name not in claim.settings:
            yield name, setting


def _varied(claim: Claim, role: Role, name: str, value: SettingValue) -> PlannedArm:
    """The claim's own runs with another value of one setting."""
    overrides = {**claim.settings, name: value}
    text = f"{name}={value_text(value)}"
    return PlannedArm(text, role, claim.experiment, overrides, varied=(name, value))


def _arm(
    audit: Audit, claim: Claim, written: NamedArm | str, role: Role, lacks: str = ""
) -> PlannedArm:
    name, one = (
        (written, audit.arms[written]) if isinstance(written, str) else (written.name, written)
    )
    experiment = one.experiment or claim.experiment
    known = audit.settings_of(experiment)
    shared = {name: value for name, value in claim.settings.items() if name in known}
    return PlannedArm(
        name,
        role,
        experiment,
        {**shared, **one.settings},
        reads=dict(one.reads),
        lacks=lacks,
        holds_at_start=one.holds_at_start,
        deterministic=one.deterministic is not None,
    )
