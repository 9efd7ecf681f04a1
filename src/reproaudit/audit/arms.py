"""The arms that a claim is judged by: its own runs, readings, controls, ablations, alternatives.

The plan runs them and judging looks them up in the records, so the two cannot disagree about the
runs that a claim rests on. Nothing here runs anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import product

from reproaudit.audit.model import Audit, Claim, NamedArm, Reading, Setting, StartBound, TierName
from reproaudit.cell import SettingValue, canonical_settings, value_text
from reproaudit.declarations import Quantity

ARM_NAME = "arm"  # The setting by which arms differ where an audit has nothing but their names
OWN = "own"  # The name of a claim's own arm
MOST_TOGETHER = 25  # Readings that one list of settings may make, at most


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
        smaller: the values of a reading at the tiers below the paper's, by setting.
        reads: the measurement that is read in place of each of these.
        varied: the setting of a reading or an alternative, and its value.
        also: of a reading of several settings at once, the others with their values.
        excused: whether a reading need not be run.
        holds_at_start: what must hold before training.
        deterministic: whether every seed gives the same run.
    """

    name: str
    role: Role
    experiment: str
    overrides: Mapping[str, SettingValue] = field(default_factory=dict)
    smaller: Mapping[str, SettingValue] = field(default_factory=dict)
    reads: Mapping[str, str] = field(default_factory=dict)
    varied: tuple[str, SettingValue] | None = None
    also: tuple[tuple[str, SettingValue], ...] = ()
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

    def under(self, reading: PlannedArm) -> PlannedArm:
        """Return the arm under a reading's or an alternative's settings, but for its own ones."""
        smaller = {n: value for n, value in reading.smaller.items() if n not in self.overrides}
        overrides = {**reading.overrides, **self.overrides}
        return replace(self, overrides=overrides, smaller=smaller)

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
        *(_arm(audit, claim, null, Role.CONTROL) for null in claim.nulls),
        *(_arm(audit, claim, ablation.arm, Role.ABLATION) for ablation in claim.ablations),
    ]
    if claim.constructed is not None:
        arms.append(_arm(audit, claim, claim.constructed, Role.POSITIVE_CONTROL))
    known = {arm.name for arm in arms}
    compared = dict.fromkeys(q.arm for q in quantities_of(claim) if q.arm and q.arm not in known)
    return (*arms, *(_arm(audit, claim, name, Role.COMPARED) for name in compared))


def alternatives_of(audit: Audit, claim: Claim) -> tuple[PlannedArm, ...]:
    """Return an arm for every alternative of every guess that the claim's experiment rests on."""
    return tuple(
        PlannedArm(
            f"{name}={value_text(value)}",
            Role.ALTERNATIVE,
            claim.experiment,
            {**claim.settings, name: value},
            varied=(name, value),
        )
        for name, setting in _varied_settings(audit, claim)
        if setting.guessed
        for value in setting.alternatives
    )


def left_out_readings(audit: Audit, claim: Claim) -> Iterator[PlannedArm]:
    """Yield the arm of each value that a source states and a claim is not to be judged under."""
    for name, setting in _varied_settings(audit, claim):
        if name not in claim.readings:
            yield from (_reading(claim, {name: reading}) for reading in readings_to_run(setting))


def quantities_of(claim: Claim) -> Iterator[Quantity]:
    """Yield every quantity that a claim's checks read."""
    for check in (*claim.headline, *claim.support, *claim.notes):
        yield from check.quantities()


def runs_of(audit: Audit, claim: Claim, arm: PlannedArm, tier: TierName) -> int:
    """Return the number of runs that an arm of a claim needs at a tier."""
    compared = {q.arm for check in claim.headline for q in check.quantities()}
    contrast = any(number.contrast for check in claim.headline for number in check.numbers)
    paired = arm.role is Role.CONTROL and contrast
    own = arm.role in (Role.OWN, Role.READING) or arm.name in compared or paired
    if claim.exact and tier != "smoke":
        return 1
    return audit.runs_of(arm.experiment).at(tier, own)


def _readings(audit: Audit, claim: Claim) -> Iterator[PlannedArm]:
    """Yield each other stated value alone, then those that are asked for at once."""
    settings = dict(_varied_settings(audit, claim))
    for name in claim.readings:
        for reading in settings[name].readings if name in settings else ():
            yield replace(_reading(claim, {name: reading}), excused=reading.excused is not None)
    for names in claim.together:
        for readings in product(*(readings_to_run(settings.get(name)) for name in names)):
            yield _reading(claim, dict(zip(names, readings, strict=True)))


def readings_to_run(setting: Setting | None) -> tuple[Reading, ...]:
    """Return the other values of a setting that are to be run."""
    return tuple(one for one in setting.readings if one.excused is None) if setting else ()


def _reading(claim: Claim, readings: Mapping[str, Reading]) -> PlannedArm:
    """The claim's own runs with stated values of some settings, and with what changes along."""
    named = {name: reading.value for name, reading in readings.items()}
    along = {n: value for reading in readings.values() for n, value in reading.together.items()}
    kept = {*claim.settings, *named}
    smaller = {
        below: value
        for name, reading in readings.items()
        for below, value in reading.quick.items()
        if below == name or below not in kept
    }
    first, *also = named.items()
    return PlannedArm(
        "+".join(f"{name}={value_text(value)}" for name, value in named.items()),
        Role.READING,
        claim.experiment,
        {**along, **named, **claim.settings},
        smaller=smaller,
        varied=first,
        also=tuple(also),
    )


def _varied_settings(audit: Audit, claim: Claim) -> Iterator[tuple[str, Setting]]:
    """The settings of a claim's experiment that it leaves as they are: the others are its own."""
    for name, setting in audit.settings_of(claim.experiment).items():
        if name not in claim.settings:
            yield name, setting


def _arm(audit: Audit, claim: Claim, arm: NamedArm | str, role: Role) -> PlannedArm:
    """An arm that the claim names, or that is written in it."""
    spec = audit.arms[arm] if isinstance(arm, str) else arm
    experiment = spec.experiment or claim.experiment
    known = audit.settings_of(experiment)
    shared = {name: value for name, value in claim.settings.items() if name in known}
    return PlannedArm(
        arm if isinstance(arm, str) else arm.name,
        role,
        experiment,
        {**shared, **spec.settings},
        reads=dict(spec.reads),
        holds_at_start=spec.holds_at_start,
        deterministic=spec.deterministic is not None,
    )
