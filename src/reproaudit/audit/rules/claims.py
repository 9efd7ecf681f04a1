"""Rules of a claim: its arms differ from it, and what its checks read is measured in each of them.

They are asked once everything that is declared is sound (`whole`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from reproaudit.audit.claims import Claim
from reproaudit.audit.model import Audit, TierName
from reproaudit.audit.plan import OWN, PlannedArm, Role, arms_of, quantities_of
from reproaudit.audit.rules.table import Loc, Violation
from reproaudit.audit.rules.values import shown
from reproaudit.audit.rules.whole import again, other_type, unknown
from reproaudit.cell import SettingValue
from reproaudit.checks import Check
from reproaudit.checks.concentrates import Concentrates
from reproaudit.checks.scales_like import FEWEST_SIZES, ScalesLike
from reproaudit.checks.separates import Separates
from reproaudit.declarations import (
    Axis,
    Coordinate,
    Declaration,
    MeasurementKind,
    Quantity,
    StrictModel,
)

JUDGED: tuple[TierName, ...] = ("quick", "paper")
"""The tiers that are judged; smoke only shows that an experiment runs."""

COURSES = ("series", "loss", "reference")
"""The fields of checks that hold a quantity over training."""

COMPARED = (
    *(("lower", "upper"), ("value", "to"), ("value", "relative_to"), ("value", "grown_from")),
    *(("value", "between"), ("series", "reference")),
)
"""The fields of checks whose numbers are compared one by one."""


@dataclass(frozen=True)
class Read:
    """A quantity that a claim reads.

    Attributes:
        loc: its place.
        check: the check that reads it; None of what is read elsewhere.
        quantity: the quantity.
        arm: the arm in which it is read.
        declaration: what is measured there under its name.
    """

    loc: Loc
    check: Check | None
    quantity: Quantity
    arm: PlannedArm
    declaration: Declaration

    @property
    def name(self) -> str:
        """The measurement that is read there."""
        return self.arm.reads.get(self.quantity.measurement, self.quantity.measurement)

    @property
    def field(self) -> str:
        """The check's field that holds the quantity."""
        return next(one for one in reversed(self.loc) if isinstance(one, str))

    @cached_property
    def fixed(self) -> Mapping[str, Coordinate]:
        """The coordinates that its check and it state, by axis."""
        return {**(self.check.at if self.check is not None else {}), **self.quantity.at}


def of_claim(audit: Audit, i: int) -> Iterator[Violation]:
    """Yield the faults of a claim: of the names in it, then of its arms, then of what it reads."""
    claim, loc = audit.claims[i], ("claims", i)
    if not claim.nulls and not claim.exact:
        message = "found a headline without a null; expected at least one"
        yield Violation("RA212", (*loc, "headline"), message)
    misnamed = list(_names(audit, loc, claim))
    yield from misnamed
    if misnamed:
        return
    own, *others = arms_of(audit, claim)
    arms = {one.name: one for one in (own, *others) if one.role is not Role.READING}
    places = _places(loc, claim, arms)
    others = [one for one in arms.values() if one is not own]
    for arm in others:
        yield from _arm(audit, own, arm, places[arm.name])
    reads = []
    for found in _reads(audit, loc, claim, arms, places):
        if isinstance(found, Violation):
            yield found
            continue
        reads.append(found)
        yield from _unmeasured(audit, found)
        yield from _course(audit, claim, found)
        yield from _sizes(audit, claim, found)
    yield from _of_checks(audit, claim, reads)
    yield from _grade(audit, loc, claim, reads)
    for arm in others:
        if arm.role is not Role.COMPARED:
            yield from _read_alike(audit, arm, places[arm.name], reads)


def work(audit: Audit) -> int:
    """Return how much the rules compare: what is written once counts wherever it is used."""
    shared = len(audit.measurements) + len(audit.settings)
    count = len(audit.experiments) * shared
    for claim in audit.claims:
        names = [one.measurement for one in quantities_of(claim)]
        found = [audit.declaration(claim.experiment, one) for one in names]
        axes = [axis for one in found if one is not None for axis in one.axes]
        count += sum(len(_coordinates(audit, claim.experiment, one, "paper")) for one in axes)
        written = {one if isinstance(one, str) else one.name: one for _, one in claim.arms()}
        for one in written.values():
            arm = audit.arms.get(one) if isinstance(one, str) else one
            count += len(names) + shared + (len(arm.settings) if arm is not None else 0)
    return count


# --- names --------------------------------------------------------------------------------------


def _names(audit: Audit, loc: Loc, claim: Claim) -> Iterator[Violation]:
    """Yield unknown experiments, readings and arms, and arms of one name."""
    yield from unknown((*loc, "experiment"), "experiment", claim.experiment, audit.experiments)
    for j, name in enumerate(claim.readings if claim.experiment in audit.experiments else ()):
        yield from _reading(audit, claim.experiment, (*loc, "readings", j), name)
    written = list(claim.arms())
    taken = Counter(one.name for _, one in written if not isinstance(one, str))
    for place, one in written:
        if isinstance(one, str):
            yield from unknown((*loc, *place), "arm", one, audit.arms)
            continue
        if one.name == OWN or one.name in audit.arms or taken[one.name] > 1:
            message = f"found '{one.name}', the name of another arm as well; expected a new one"
            yield Violation("RA225", (*loc, *place, "name"), message)
        if one.experiment is not None:
            where = (*loc, *place, "experiment")
            yield from unknown(where, "experiment", one.experiment, audit.experiments)
    known = {OWN, *taken, *audit.arms}
    for place, _, quantity in _read_by(loc, claim):
        yield from unknown((*place, "arm"), "arm", quantity.arm or OWN, known)


def _reading(audit: Audit, experiment: str, loc: Loc, name: str) -> Iterator[Violation]:
    """Yield a setting without other sourced values, or with some of unknown settings."""
    settings = audit.settings_of(experiment)
    yield from unknown(loc, "setting", name, settings, f"'{experiment}'")
    if name not in settings:
        return
    if not settings[name].readings:
        message = f"found '{name}', of which the audit states one value"
        yield Violation("RA214", loc, f"{message}; expected a setting with 'readings'")
    for other in (other for one in settings[name].readings for other in one.together):
        yield from unknown(loc, "setting", other, settings, f"'{experiment}'")


def _read_by(loc: Loc, claim: Claim) -> Iterator[tuple[Loc, Check | None, Quantity]]:
    """Yield each quantity of a claim with its place and its check."""
    for group in ("headline", "support", "notes"):
        for j, check in enumerate(getattr(claim, group)):
            for place, quantity in _quantities(check, (*loc, group, j)):
                yield place, check, quantity
    if claim.elsewhere is not None:
        yield (*loc, "elsewhere", "measure"), None, claim.elsewhere.measure


def _quantities(model: StrictModel, loc: Loc) -> Iterator[tuple[Loc, Quantity]]:
    for field, value in model.__dict__.items():
        parts = enumerate(value) if isinstance(value, tuple) else ((None, value),)
        for step, part in parts:
            place: Loc = (*loc, field) if step is None else (*loc, field, step)
            if isinstance(part, Quantity):
                yield place, part
            elif isinstance(part, StrictModel):
                yield from _quantities(part, place)


# --- arms ---------------------------------------------------------------------------------------


def _places(loc: Loc, claim: Claim, arms: Collection[str]) -> dict[str, Loc]:
    """Return where each arm is written, by name."""
    written = {one.name: (*loc, *place) for place, one in claim.arms() if not isinstance(one, str)}
    return {name: written.get(name, ("arms", name)) for name in arms}


def _arm(audit: Audit, own: PlannedArm, arm: PlannedArm, loc: Loc) -> Iterator[Violation]:
    """Yield unknown names and wrong values in an arm, and an arm that runs as the claim does."""
    settings = audit.settings_of(arm.experiment)
    for name, value in arm.overrides.items():
        place, of = (*loc, "settings", name), f"'{arm.experiment}'"
        yield from unknown(place, "setting", name, settings, of, at_key=True)
        if name in settings:
            yield from other_type(place, name, value, settings[name])
    for tier in JUDGED if arm.overrides and not arm.reads else ():
        if arm.key(audit, tier) == own.key(audit, tier):
            name, value = next(iter(arm.overrides.items()))
            message = f"found {shown(value)}, the claim's own '{name}' at the {tier} tier"
            yield Violation("RA111", (*loc, "settings", name), f"{message}; expected another")
            break
    for left, right in arm.reads.items():
        place, known = (*loc, "reads", left), audit.measurements_of(own.experiment)
        yield from unknown(place, "measurement", left, known, f"'{own.experiment}'", at_key=True)
        there = audit.measurements_of(arm.experiment)
        yield from unknown(place, "measurement", right, there, f"'{arm.experiment}'")


def _read_alike(
    audit: Audit, arm: PlannedArm, loc: Loc, reads: Sequence[Read]
) -> Iterator[Violation]:
    """Yield what the claim reads in its own runs, and cannot read in the same way in an arm."""
    for read in reads:
        if read.arm.role is not Role.OWN or read.check is None:
            continue
        name = read.quantity.measurement
        theirs = audit.declaration(arm.experiment, arm.reads.get(name, name))
        if theirs is None and name in arm.reads:
            continue  # it has a fault of its own
        if theirs is None or _form(theirs) != _form(read.declaration):
            found = "no" if theirs is None else "another form of"
            message = f"found {found} '{name}' in experiment '{arm.experiment}'; expected it as in "
            message += f"'{read.arm.experiment}', since the claim reads it"
            yield Violation("RA113", (*loc, "experiment"), message)
            return
        for axis in theirs.axes:
            left, at = arm.overrides.get(axis.setting or ""), read.fixed.get(axis.name)
            if isinstance(left, tuple) and at is not None and not _among(at, left):
                message = f"found {shown(left)}, which leaves out {axis.name} {shown(at)}"
                where = (*loc, "settings", str(axis.setting))
                yield Violation("RA104", where, f"{message}; expected it, since the claim reads it")


def _form(declaration: Declaration) -> tuple[str, tuple[str, ...]]:
    return declaration.kind, tuple(axis.name for axis in declaration.axes)


# --- what is read -------------------------------------------------------------------------------


def _reads(
    audit: Audit, loc: Loc, claim: Claim, arms: Mapping[str, PlannedArm], places: Mapping[str, Loc]
) -> Iterator[Read | Violation]:
    """Yield each quantity that a claim reads, or that nothing measures it."""
    found = [
        (place, check, quantity, arms[quantity.arm or OWN])
        for place, check, quantity in _read_by(loc, claim)
    ]
    for arm in arms.values():
        for j, bound in enumerate(arm.holds_at_start):
            place = (*places[arm.name], "holds_at_start", j, "value")
            found.append((place, None, bound.value, arm))
    for place, check, quantity, arm in found:
        name = arm.reads.get(quantity.measurement, quantity.measurement)
        declaration = audit.declaration(arm.experiment, name)
        if declaration is None:
            known, of = audit.measurements_of(arm.experiment), f"'{arm.experiment}'"
            yield from unknown((*place, "measurement"), "measurement", name, known, of)
        else:
            yield Read(place, check, quantity, arm, declaration)


def _coordinates(
    audit: Audit, run: str | PlannedArm, axis: Axis, tier: TierName
) -> Sequence[Coordinate]:
    """Return an axis's coordinates in an experiment, or in an arm, at a tier."""
    if axis.setting is None:
        return axis.values if axis.values is not None else range(axis.size or 0)
    if isinstance(run, str):
        value = audit.value_of(run, axis.setting, tier)
    else:
        stated = audit.value_of(run.experiment, axis.setting, tier)
        value = run.overrides.get(axis.setting, stated)
    return value if isinstance(value, tuple) else ()


def _among(at: Coordinate, found: Sequence[SettingValue]) -> bool:
    """Tell whether a coordinate is one of several; true is not 1."""
    return at in found and not isinstance(found[found.index(at)], bool)


def _free(audit: Audit, claim: Claim, read: Read, tier: TierName) -> dict[str, Axis]:
    """Return the axes along which a quantity keeps all its numbers, by name."""
    unnamed, free = list(read.quantity.coordinates), {}
    graded = claim.grade.axis if claim.grade is not None else None
    for axis in read.declaration.axes:
        known = _coordinates(audit, read.arm, axis, tier)
        own = next((one for one in unnamed if _among(one, known)), None)
        if axis.name in read.fixed:
            continue
        if own is not None:
            unnamed.remove(own)
        elif axis.name != graded:
            free[axis.name] = axis
    return free


def _unmeasured(audit: Audit, read: Read) -> Iterator[Violation]:
    """Yield unknown axes, and coordinates that are not measured; of what decides, at each tier."""
    axes = {axis.name: axis for axis in read.declaration.axes}
    for name in read.quantity.at:
        where = (*read.loc, "at", name)
        yield from unknown(where, "axis", name, axes, f"'{read.name}'", at_key=True)
    for tier in JUDGED if "notes" not in read.loc else ("paper",):
        known = {name: _coordinates(audit, read.arm, axis, tier) for name, axis in axes.items()}
        missing = [
            (name, at, known[name])
            for name, at in read.fixed.items()
            if name in known and not _among(at, known[name])
        ]
        missing += [
            ("coordinate", at, next(iter(known.values()), ()))
            for at in read.quantity.coordinates
            if not any(_among(at, one) for one in known.values())
        ]
        for name, at, measured in missing[:1]:
            expected = f"expected one of {shown(measured)} at the {tier} tier"
            message = f"found {name} {shown(at)} of '{read.name}'; {expected}"
            yield Violation("RA104", (*read.loc, "at", name), message)
        if missing:
            return


def _course(audit: Audit, claim: Claim, read: Read) -> Iterator[Violation]:
    """Yield what is read over training, or at its start, and is no series or several."""
    needed = read.field in COURSES and read.check is not None
    if (needed or _at_start(read)) and read.declaration.kind is not MeasurementKind.SERIES:
        reads = "the course" if needed else "the start"
        message = f"found the {read.declaration.kind} '{read.name}', of which {reads} is read"
        yield Violation("RA106", read.loc, f"{message}; expected a series")
    for tier in JUDGED if read.check and read.check.kind in ("stages", "grows_like") else ():
        if free := list(_free(audit, claim, read, tier)):
            message = f"found '{read.name}' with its axis '{free[0]}' left free"
            yield Violation("RA217", read.loc, f"{message}; expected a single course")
            return


def _at_start(read: Read) -> bool:
    """Whether a quantity is read at its first observation."""
    if isinstance(read.check, Separates):
        start = "value" if read.check.start_value is None else "start_value"
        return read.field == start or read.quantity.step == "first"
    of_the_rest = isinstance(read.check, Concentrates) and read.check.of_the_rest
    return of_the_rest or read.quantity.step == "first"


def _sizes(audit: Audit, claim: Claim, read: Read) -> Iterator[Violation]:
    """Yield a power law along what is no free axis of positive numbers."""
    if not isinstance(read.check, ScalesLike):
        return
    loc, name = (*read.loc[:4], "axis"), read.check.axis
    for tier in JUDGED:
        free = _free(audit, claim, read, tier)
        if name not in free:
            yield from unknown(loc, "axis", name, free, f"'{read.name}' that is free")
            return
        sizes = _coordinates(audit, read.arm, free[name], tier)
        numbers = {one for one in sizes if not isinstance(one, str) and one > 0}
        if len(numbers) < max(len(sizes), FEWEST_SIZES):
            message = f"found {name} {shown(sizes)} at the {tier} tier; expected at least "
            yield Violation("RA192", loc, f"{message}{FEWEST_SIZES} different positive numbers")
            return


def _of_checks(audit: Audit, claim: Claim, reads: Sequence[Read]) -> Iterator[Violation]:
    """Yield coordinates on axes that a check does not read, and quantities that cannot pair."""
    by_check: dict[Loc, dict[str, Read]] = {}
    for read in reads:
        if read.check is not None:
            by_check.setdefault(read.loc[:4], {})[read.field] = read
    for loc, fields in by_check.items():
        axes = {axis.name for read in fields.values() for axis in read.declaration.axes}
        check = next(iter(fields.values())).check
        for name in check.at if check is not None else ():
            place = (*loc, "at", name)
            yield from unknown(place, "axis", name, axes, "what it reads", at_key=True)
        for first, second in COMPARED:
            if first in fields and second in fields:
                yield from _unpaired(audit, claim, fields[first], fields[second])


def _unpaired(audit: Audit, claim: Claim, one: Read, other: Read) -> Iterator[Violation]:
    for tier in JUDGED:
        here, there = (
            {name: len(_coordinates(audit, read.arm, axis, tier))
             for name, axis in _free(audit, claim, read, tier).items()}
            for read in (one, other)
        )  # fmt: skip
        if here and there and list(here.items()) != list(there.items()):
            message = f"found {_shape(there)} of '{other.name}' at the {tier} tier; "
            message += f"expected {_shape(here)}, as of '{one.name}', or a single number"
            yield Violation("RA107", other.loc, message)
            return


def _shape(axes: Mapping[str, int]) -> str:
    return " by ".join(f"{length} along '{name}'" for name, length in axes.items())


def _grade(audit: Audit, loc: Loc, claim: Claim, reads: Sequence[Read]) -> Iterator[Violation]:
    """Yield a grade along an unknown axis, and coordinates that it lacks at a judged tier."""
    if claim.grade is None:
        return
    loc, wanted = (*loc, "grade"), claim.grade.easiest_first
    yield from again((*loc, "easiest_first"), wanted)
    free = {
        axis.name: (read.arm, axis)
        for read in reads
        if "headline" in read.loc
        for axis in read.declaration.axes
        if axis.name not in read.fixed
    }
    name = claim.grade.axis
    yield from unknown((*loc, "axis"), "axis", name, free, "the headline that is free")
    for tier in JUDGED if name in free else ():
        known = _coordinates(audit, *free[name], tier)
        for j, one in enumerate(wanted):
            if (tier == "paper" or one in claim.grade.primary) and not _among(one, known):
                message = f"found {name} {shown(one)}; expected one of {shown(known)} at the "
                yield Violation("RA104", (*loc, "easiest_first", j), f"{message}{tier} tier")
