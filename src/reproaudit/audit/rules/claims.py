"""Rules of a claim: its arms differ from it, and what its checks read is measured in each of them.

They are asked once everything that is declared is sound (`whole`). A violation that both tiers show
is reported once, of the first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

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


class Read(NamedTuple):
    """A quantity that a claim reads.

    Attributes:
        loc: its place.
        check: the check that reads it; None of what is read elsewhere.
        quantity: the quantity.
        arm: the arm in which it is read.
        name: the measurement that is read there.
        declaration: its declaration.
        fixed: the coordinates that the check and the quantity state, by axis.
    """

    loc: Loc
    check: Check | None
    quantity: Quantity
    arm: PlannedArm
    name: str
    declaration: Declaration
    fixed: dict[str, Coordinate]


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
    own, *others = (one for one in arms_of(audit, claim) if one.role is not Role.READING)
    arms = {one.name: one for one in (own, *others)}
    places: dict[str, Loc] = {name: ("arms", name) for name in arms}
    for place, one in claim.arms():
        if not isinstance(one, str):
            places[one.name] = (*loc, *place)
    for arm in others:
        yield from _arm(audit, own, arm, places[arm.name])
    reads = []
    found = [(*one, arms[one[2].arm or OWN]) for one in _quantities_of(loc, claim)]
    found += [
        ((*places[arm.name], "holds_at_start", j, "value"), None, bound.value, arm)
        for arm in others
        for j, bound in enumerate(arm.holds_at_start)
    ]
    for place, check, quantity, arm in found:
        name = arm.reads.get(quantity.measurement, quantity.measurement)
        declaration = audit.declaration(arm.experiment, name)
        if declaration is None:
            known, of = audit.measurements_of(arm.experiment), f"'{arm.experiment}'"
            yield from unknown((*place, "measurement"), "measurement", name, known, of)
        else:
            fixed = {**(check.at if check is not None else {}), **quantity.at}
            reads.append(Read(place, check, quantity, arm, name, declaration, fixed))
    yield from _grade(audit, (*loc, "grade"), claim, reads)
    yield from _axes(reads)
    for arm in others:
        if arm.role is not Role.COMPARED:
            yield from _in_arm(audit, arm, places[arm.name], reads)
    for tier in JUDGED:
        for read in reads:
            yield from _unmeasured(audit, read, tier)
            yield from _course(audit, claim, read, tier)
        yield from _unpaired(audit, claim, reads, tier)


def work(audit: Audit) -> int:
    """Return how much the rules compare: what is written once counts wherever it is used."""
    shared = len(audit.measurements) + len(audit.settings)
    count = len(audit.experiments) * shared
    for claim in audit.claims:
        names = [one.measurement for one in quantities_of(claim)]
        found = [audit.declaration(claim.experiment, one) for one in names]
        for axis in (axis for one in found if one is not None for axis in one.axes):
            count += len(_coordinates(audit, claim.experiment, axis, "paper", {}))
        written = {one if isinstance(one, str) else one.name: one for _, one in claim.arms()}
        for one in written.values():
            arm = audit.arms.get(one) if isinstance(one, str) else one
            settings = arm.settings.values() if arm is not None else ()
            length = sum(len(value) if isinstance(value, tuple) else 1 for value in settings)
            count += len(names) * (1 + length) + shared
    return count


# --- names --------------------------------------------------------------------------------------


def _names(audit: Audit, loc: Loc, claim: Claim) -> Iterator[Violation]:
    """Yield unknown experiments, readings and arms, and arms of one name."""
    yield from unknown((*loc, "experiment"), "experiment", claim.experiment, audit.experiments)
    for j, name in enumerate(claim.readings if claim.experiment in audit.experiments else ()):
        place, settings = (*loc, "readings", j), audit.settings_of(claim.experiment)
        read = {other: one.readings for other, one in settings.items() if one.readings}
        yield from unknown(place, "setting with readings", name, read, f"'{claim.experiment}'")
        for other in (other for one in read.get(name, ()) for other in one.together):
            yield from unknown(place, "setting", other, settings, f"'{claim.experiment}'")
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
    for place, _, quantity in _quantities_of(loc, claim):
        yield from unknown((*place, "arm"), "arm", quantity.arm or OWN, known)


_Quantities = Iterator[tuple[Loc, Check | None, Quantity]]


def _quantities_of(loc: Loc, claim: Claim) -> _Quantities:
    """Yield each quantity of a claim with its place and its check."""
    for group in ("headline", "support", "notes"):
        for j, check in enumerate(getattr(claim, group)):
            yield from _quantities((*loc, group, j), check, check)
    if claim.elsewhere is not None:
        yield (*loc, "elsewhere", "measure"), None, claim.elsewhere.measure


def _quantities(loc: Loc, check: Check, model: StrictModel) -> _Quantities:
    for field, value in model.__dict__.items():
        parts = enumerate(value) if isinstance(value, tuple) else ((None, value),)
        for step, part in parts:
            place: Loc = (*loc, field) if step is None else (*loc, field, step)
            if isinstance(part, Quantity):
                yield place, check, part
            elif isinstance(part, StrictModel):
                yield from _quantities(place, check, part)


# --- arms ---------------------------------------------------------------------------------------


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
    for left, right in arm.reads.items():
        for name, where, at_key in ((left, own.experiment, True), (right, arm.experiment, False)):
            place, known = (*loc, "reads", left), audit.measurements_of(where)
            yield from unknown(place, "measurement", name, known, f"'{where}'", at_key=at_key)


def _in_arm(audit: Audit, arm: PlannedArm, loc: Loc, reads: Sequence[Read]) -> Iterator[Violation]:
    """Yield what the claim reads in its own runs, and cannot read in the same way in an arm."""
    for read in reads:
        name = read.quantity.measurement
        theirs = audit.declaration(arm.experiment, arm.reads.get(name, name))
        if read.arm.role is not Role.OWN or read.check is None:
            continue
        if theirs is None or _form(theirs) != _form(read.declaration):
            if theirs is not None or name not in arm.reads:  # else the name has a fault
                found = "no" if theirs is None else "another form of"
                message = f"found {found} '{name}' in experiment '{arm.experiment}'; expected it "
                message += f"as in '{read.arm.experiment}', since the claim reads it"
                yield Violation("RA113", (*loc, "experiment"), message)
        elif any(axis.setting in arm.overrides for axis in theirs.axes):
            for tier in JUDGED:
                yield from _unmeasured(audit, read._replace(arm=arm, declaration=theirs), tier)


def _form(declaration: Declaration) -> tuple[str, tuple[str, ...]]:
    return declaration.kind, tuple(axis.name for axis in declaration.axes)


# --- what is read -------------------------------------------------------------------------------


def _coordinates(
    audit: Audit,
    experiment: str,
    axis: Axis,
    tier: TierName,
    overrides: dict[str, SettingValue],
) -> Sequence[Coordinate]:
    """Return an axis's coordinates in an experiment under some settings at a tier."""
    if axis.setting is None:
        return axis.values if axis.values is not None else range(axis.size or 0)
    setting = audit.setting_of(experiment, axis.setting)
    value = overrides.get(axis.setting, setting.at(tier) if setting is not None else ())
    return value if isinstance(value, tuple) else ()


def _along(audit: Audit, read: Read, tier: TierName) -> dict[str, Sequence[Coordinate]]:
    """Return the coordinates of what is read along each of its axes at a tier."""
    where, overrides = read.arm.experiment, dict(read.arm.overrides)
    axes = read.declaration.axes
    return {axis.name: _coordinates(audit, where, axis, tier, overrides) for axis in axes}


def _among(at: Coordinate, found: Sequence[SettingValue]) -> bool:
    """Tell whether a coordinate is one of several; true is not 1."""
    return at in found and not isinstance(found[found.index(at)], bool)


def _free(
    audit: Audit, claim: Claim, read: Read, tier: TierName
) -> dict[str, Sequence[Coordinate]]:
    """Return the axes along which a quantity keeps all its numbers, with their coordinates."""
    unnamed, free = list(read.quantity.coordinates), {}
    graded = claim.grade.axis if claim.grade is not None else None
    for name, known in _along(audit, read, tier).items():
        own = next((one for one in unnamed if _among(one, known)), None)
        if name not in read.fixed and own is not None:
            unnamed.remove(own)
        elif name not in read.fixed and name != graded:
            free[name] = known
    return free


def _axes(reads: Sequence[Read]) -> Iterator[Violation]:
    """Yield coordinates on axes that neither a quantity nor its check has."""
    by_check: dict[Loc, set[str]] = {}
    for read in reads:
        axes = {axis.name for axis in read.declaration.axes}
        by_check.setdefault(read.loc[:4], set()).update(axes)
    for read in reads:
        axes = {axis.name for axis in read.declaration.axes}
        for name in read.fixed:
            own = name in read.quantity.at
            known, loc = (axes, read.loc) if own else (by_check[read.loc[:4]], read.loc[:4])
            of = f"'{read.name}'" if own else "what it reads"
            yield from unknown((*loc, "at", name), "axis", name, known, of, at_key=True)


def _unmeasured(audit: Audit, read: Read, tier: TierName) -> Iterator[Violation]:
    """Yield coordinates that are not measured; what decides nothing may be of the paper tier."""
    if "notes" in read.loc and tier != "paper":
        return
    along = _along(audit, read, tier)
    missing = [
        (name, at, along[name])
        for name, at in read.fixed.items()
        if name in along and not _among(at, along[name])
    ]
    missing += [
        ("coordinate", at, next(iter(along.values()), ()))
        for at in read.quantity.coordinates
        if not any(_among(at, one) for one in along.values())
    ]
    for name, at, measured in missing:
        arm = "" if read.arm.role is Role.OWN else f" in the arm '{read.arm.name}'"
        message = f"found {name} {shown(at)} of '{read.name}'{arm}; expected one of "
        message += f"{shown(measured)} at the {tier} tier"
        yield Violation("RA104", (*read.loc, "at", name), message)


def _course(audit: Audit, claim: Claim, read: Read, tier: TierName) -> Iterator[Violation]:
    """Yield what is no series, no single course, or no power law, and is read as such."""
    kind = read.declaration.kind
    if _over_training(read) and kind is not MeasurementKind.SERIES:
        message = f"found the {kind} '{read.name}', which is read over training"
        yield Violation("RA106", read.loc, f"{message}; expected a series")
    if read.check is None or read.check.kind not in ("stages", "grows_like", "scales_like"):
        return
    free = _free(audit, claim, read, tier)
    if not isinstance(read.check, ScalesLike):
        for name in free:
            message = f"found '{read.name}' with its axis '{name}' left free"
            yield Violation("RA217", read.loc, f"{message}; expected a single course")
        return
    sizes = {
        axis: one
        for axis, one in free.items()
        if len({n for n in one if not isinstance(n, str) and n > 0}) == len(one) >= FEWEST_SIZES
    }
    of = f"at least {FEWEST_SIZES} positive sizes of '{read.name}' at the {tier} tier"
    yield from unknown((*read.loc[:4], "axis"), "axis", read.check.axis, sizes, of)


def _over_training(read: Read) -> bool:
    """Whether more than the last observation of a quantity is read."""
    field = next(one for one in reversed(read.loc) if isinstance(one, str))
    if read.quantity.step == "first" or (
        read.check is not None and field in ("series", "loss", "reference")
    ):
        return True
    if isinstance(read.check, Separates):
        return field == ("value" if read.check.start_value is None else "start_value")
    return isinstance(read.check, Concentrates) and read.check.of_the_rest


def _unpaired(
    audit: Audit, claim: Claim, reads: Sequence[Read], tier: TierName
) -> Iterator[Violation]:
    """Yield quantities of a check that have other numbers than its first one."""
    first: dict[Loc, tuple[str, list[tuple[str, int]]]] = {}
    for read in reads:
        if read.check is None or isinstance(read.check, Separates):
            continue
        free = [(name, len(one)) for name, one in _free(audit, claim, read, tier).items()]
        name, expected = first.setdefault(read.loc[:4], (read.name, free))
        if free and expected and free != expected:
            found, wanted = (
                " by ".join(f"{length} along '{axis}'" for axis, length in one)
                for one in (free, expected)
            )
            message = f"found {found} of '{read.name}' at the {tier} tier; expected {wanted}, as "
            yield Violation("RA107", read.loc, f"{message}of '{name}', or a single number")


def _grade(audit: Audit, loc: Loc, claim: Claim, reads: Sequence[Read]) -> Iterator[Violation]:
    """Yield a grade along an unknown axis, and coordinates that it lacks at a judged tier."""
    if claim.grade is None:
        return
    name, wanted = claim.grade.axis, claim.grade.easiest_first
    yield from again((*loc, "easiest_first"), wanted)
    for tier in JUDGED:
        free = {
            axis: known
            for read in reads
            if "headline" in read.loc
            for axis, known in _along(audit, read, tier).items()
            if axis not in read.fixed
        }
        yield from unknown((*loc, "axis"), "axis", name, free, "the headline that is free")
        for j, one in enumerate(wanted if name in free else ()):
            if (tier == "paper" or one in claim.grade.primary) and not _among(one, free[name]):
                message = f"found {name} {shown(one)}; expected one of {shown(free[name])} at the "
                yield Violation("RA104", (*loc, "easiest_first", j), f"{message}{tier} tier")
