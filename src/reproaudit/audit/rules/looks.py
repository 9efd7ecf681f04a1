"""What an audit's claims read and which arms they use, and how rules name what is unknown."""

from __future__ import annotations

from collections import ChainMap, Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from reproaudit.audit.claims import ArmSpec, Claim
from reproaudit.audit.model import Audit, TierName
from reproaudit.audit.plan import OWN
from reproaudit.audit.rules.table import Loc, Violation
from reproaudit.cell import SettingValue
from reproaudit.checks import Check
from reproaudit.declarations import Axis, Coordinate, Declaration, Quantity, StrictModel

JUDGED: tuple[TierName, ...] = ("quick", "paper")
"""The tiers that are judged; smoke only shows that an experiment runs."""


# --- unknown names ------------------------------------------------------------------------------


def unknown(
    rule: str,
    loc: Loc,
    word: str,
    name: str,
    known: Collection[str],
    expected: str = "one of this audit",
) -> Iterator[Violation]:
    """Yield the name at a place, if it is none of those that are known."""
    if name not in known:
        message = f"found the unknown {word} '{name}'; expected {expected}"
        yield Violation(rule, loc, message, about=name, known=known)


def unknown_experiment(rule: str, audit: Audit, loc: Loc, name: str) -> Iterator[Violation]:
    """Yield the experiment named at `loc`, if the audit does not have it."""
    place = (*loc, "experiment")
    yield from unknown(rule, place, "experiment", name, audit.experiments, "a declared one")


def no_setting(
    rule: str, audit: Audit, loc: Loc, name: str, experiment: str, at_key: bool = False
) -> Violation:
    """Return the fault of a setting that an experiment does not have."""
    known = ChainMap(audit.experiments[experiment].settings, audit.settings)
    return Violation(rule, loc, _not_of("setting", name, experiment), "", name, known, at_key)


def no_measurement(rule: str, audit: Audit, loc: Loc, name: str, experiment: str) -> Violation:
    """Return the fault of a measurement that an experiment does not make."""
    known = audit.measurements_of(experiment)
    return Violation(rule, loc, _not_of("measurement", name, experiment), "", name, known)


def _not_of(word: str, name: str, experiment: str) -> str:
    return f"found the unknown {word} '{name}'; the experiment '{experiment}' has no such {word}"


def every_setting(audit: Audit) -> frozenset[str]:
    """Return the names of all settings; an experiment's own also with the experiment's name."""
    known = set(audit.settings)
    for experiment, one in audit.experiments.items():
        known.update(one.settings, (f"{experiment}.{name}" for name in one.settings))
    return frozenset(known)


# --- arms ---------------------------------------------------------------------------------------


class Use(NamedTuple):
    """An arm that a claim uses.

    Attributes:
        loc: where the claim names or writes it.
        written: where its settings are written.
        claim: the claim.
        name: the arm's name.
        arm: the arm.
        experiment: what is run, whether it exists or not.
    """

    loc: Loc
    written: Loc
    claim: Claim
    name: str
    arm: ArmSpec
    experiment: str


def named_arms(audit: Audit) -> Iterator[tuple[Loc, Claim, ArmSpec | str]]:
    """Yield every place where a claim names or writes an arm."""
    for i, claim in enumerate(audit.claims):
        written: list[tuple[Loc, ArmSpec | str]] = [
            *((("claims", i, "nulls", j), one) for j, one in enumerate(claim.nulls)),
            *(
                (("claims", i, "ablations", j, "arm"), one.arm)
                for j, one in enumerate(claim.ablations)
            ),
        ]
        if claim.constructed is not None:
            written.append((("claims", i, "constructed"), claim.constructed))
        yield from ((loc, claim, arm) for loc, arm in written)
        known = {OWN, None, *(getattr(arm, "name", arm) for _, arm in written)}
        for loc, _, quantity in _read_by(i, claim):
            if quantity.arm not in known:
                yield (*loc, "arm"), claim, str(quantity.arm)


def uses(audit: Audit) -> Iterator[Use]:
    """Yield every use of an arm by a claim, each once; unknown names are left out."""
    seen: set[tuple[int, object]] = set()
    for loc, claim, one in named_arms(audit):
        again = id(claim), one if isinstance(one, str) else id(one)
        if again in seen or (isinstance(one, str) and one not in audit.arms):
            continue
        seen.add(again)
        arm = audit.arms[one] if isinstance(one, str) else one
        name = one if isinstance(one, str) else str(getattr(one, "name", ""))
        written = ("arms", one) if isinstance(one, str) else loc
        yield Use(loc, written, claim, name, arm, arm.experiment or claim.experiment)


# --- quantities ---------------------------------------------------------------------------------


class Look(NamedTuple):
    """A quantity that a claim reads.

    Attributes:
        loc: its place.
        claim: the claim.
        check: the check that reads it; None of what is read elsewhere.
        quantity: the quantity.
        experiment: what measures it, whether it exists or not.
        name: the measurement that is read there.
    """

    loc: Loc
    claim: Claim
    check: Check | None
    quantity: Quantity
    experiment: str
    name: str

    @property
    def field(self) -> str:
        """The check's field that holds the quantity."""
        return next(str(step) for step in reversed(self.loc) if isinstance(step, str))

    @property
    def fixed(self) -> Mapping[str, Coordinate]:
        """The coordinates that its check and it state, by axis."""
        return {**(self.check.at if self.check is not None else {}), **self.quantity.at}


def looks(audit: Audit) -> Iterator[Look]:
    """Yield every quantity of every claim and arm; of unknown arms none."""
    arms = {(id(one.claim), one.name): one for one in uses(audit)}
    for i, claim in enumerate(audit.claims):
        for loc, check, quantity in _read_by(i, claim):
            if quantity.arm is None or quantity.arm == OWN:
                yield Look(loc, claim, check, quantity, claim.experiment, quantity.measurement)
            elif (use := arms.get((id(claim), quantity.arm))) is not None:
                name = use.arm.reads.get(quantity.measurement, quantity.measurement)
                yield Look(loc, claim, check, quantity, use.experiment, name)
    for one in {(one.written, one.experiment): one for one in arms.values()}.values():
        for j, bound in enumerate(one.arm.holds_at_start):
            loc = (*one.written, "holds_at_start", j, "value")
            name = one.arm.reads.get(bound.value.measurement, bound.value.measurement)
            yield Look(loc, one.claim, None, bound.value, one.experiment, name)


def declared(audit: Audit) -> Iterator[tuple[Look, Declaration]]:
    """Yield every quantity whose measurement is declared, with the declaration."""
    for look in looks(audit):
        declaration = audit.declaration(look.experiment, look.name)
        if declaration is not None:
            yield look, declaration


def _read_by(i: int, claim: Claim) -> Iterator[tuple[Loc, Check | None, Quantity]]:
    for group in ("headline", "support", "notes"):
        for j, check in enumerate(getattr(claim, group)):
            for place, quantity in _quantities(check, ("claims", i, group, j)):
                yield place, check, quantity
    if claim.elsewhere is not None:
        yield ("claims", i, "elsewhere", "measure"), None, claim.elsewhere.measure


def _quantities(model: StrictModel, loc: Loc) -> Iterator[tuple[Loc, Quantity]]:
    for field, value in model.__dict__.items():
        parts = enumerate(value) if isinstance(value, tuple) else ((None, value),)
        for step, part in parts:
            place: Loc = (*loc, field) if step is None else (*loc, field, step)
            if isinstance(part, Quantity):
                yield place, part
            elif isinstance(part, StrictModel):
                yield from _quantities(part, place)


def coordinates(
    audit: Audit, experiment: str, axis: Axis, tier: TierName
) -> Sequence[Coordinate] | None:
    """Return an axis's coordinates at a tier; None if the axis has a fault of its own."""
    if (axis.values, axis.setting, axis.size).count(None) != 2:
        return None
    if axis.setting is None:
        return axis.values if axis.values is not None else range(axis.size or 0)
    value = audit.value_of(experiment, axis.setting, tier)
    return value if isinstance(value, tuple) else None


def among(at: Coordinate, found: Sequence[SettingValue]) -> bool:
    """Tell whether a coordinate is one of several; true is not 1."""
    return at in found and not isinstance(found[found.index(at)], bool)


def free_axes(
    audit: Audit, look: Look, declaration: Declaration, tier: TierName
) -> dict[str, Axis]:
    """Return the axes along which a quantity keeps all its numbers, by name."""
    unnamed, free = list(look.quantity.coordinates), {}
    graded = look.claim.grade.axis if look.claim.grade is not None else None
    for axis in declaration.axes:
        known = coordinates(audit, look.experiment, axis, tier) or ()
        own = next((one for one in unnamed if among(one, known)), None)
        if axis.name in look.fixed:
            continue
        if own is not None:
            unnamed.remove(own)
        elif axis.name != graded:
            free[axis.name] = axis
    return free


MOST_WORK = 5_000_000
"""What rules compare at most."""


def work(audit: Audit) -> int:
    """Return how much the rules compare: what is written once counts wherever it is used."""
    count, read, along = 0, Counter[int](), dict[int, int]()
    for look, one in declared(audit):
        if id(one) not in along:
            axes = (coordinates(audit, look.experiment, axis, "paper") for axis in one.axes)
            along[id(one)] = sum(1 + len(values or ()) for values in axes)
        count += along[id(one)]
        read[id(look.claim)] += 1
    count += sum(len(use.arm.settings) + read[id(use.claim)] for use in uses(audit))
    made = (one.measures for one in audit.experiments.values())
    count += 10 * sum(len(audit.measurements if one is None else one) for one in made)
    together = sum(len(r.together) for one in audit.settings.values() for r in one.readings)
    return count + together * len(audit.experiments)
