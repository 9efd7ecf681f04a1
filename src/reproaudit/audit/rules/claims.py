"""Rules of a claim: its arms differ from it, and what its checks read is measured in each of them.

They are asked once everything that is declared is sound (`whole`). A violation that both tiers show
is reported once, of the first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
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
    """A quantity that a claim reads at a tier.

    Attributes:
        loc: its place.
        tier: the tier.
        check: the check that reads it; None of what is read elsewhere.
        quantity: the quantity.
        arm: the arm in which it is read.
        name: the measurement that is read there.
        declaration: its declaration.
        fixed: the coordinates that the check and the quantity state, by axis.
        along: the coordinates of what is read, by axis.
    """

    loc: Loc
    tier: TierName
    check: Check | None
    quantity: Quantity
    arm: PlannedArm
    name: str
    declaration: Declaration
    fixed: dict[str, Coordinate]
    along: dict[str, Sequence[Coordinate]]


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
    places |= {a.name: (*loc, *at) for at, a in claim.arms() if not isinstance(a, str)}
    found = [(*one, arms[one[2].arm or OWN]) for one in _quantities_of(loc, claim)]
    for arm in others:
        yield from _arm(audit, own, arm, places[arm.name])
        for j, bound in enumerate(arm.holds_at_start):
            place = (*places[arm.name], "holds_at_start", j, "value")
            found.append((place, None, bound.value, arm))
    for tier in JUDGED:
        reads = []
        for place, check, quantity, arm in found:
            read = _read(audit, tier, place, check, quantity, arm)
            if read is None:
                name = arm.reads.get(quantity.measurement, quantity.measurement)
                known, of = audit.measurements_of(arm.experiment), f"'{arm.experiment}'"
                yield from unknown((*place, "measurement"), "measurement", name, known, of)
                continue
            reads.append(read)
            yield from _unmeasured(read)
            yield from _course(claim, read)
        yield from _axes(reads)
        yield from _unpaired(claim, reads)
        yield from _grade(claim, (*loc, "grade"), reads, tier)
        for arm in others:
            if arm.role is not Role.COMPARED:
                yield from _in_arm(audit, arm, places[arm.name], reads)


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
        if read.arm.role is not Role.OWN or read.check is None:
            continue
        name = read.quantity.measurement
        theirs = _read(audit, read.tier, read.loc, read.check, read.quantity, arm)
        if theirs is not None and _form(theirs.declaration) == _form(read.declaration):
            yield from _unmeasured(theirs)
        elif theirs is not None or name not in arm.reads:  # else the name has a fault
            found = "no" if theirs is None else "another form of"
            message = f"found {found} '{name}' in experiment '{arm.experiment}'; expected it "
            message += f"as in '{read.arm.experiment}', since the claim reads it"
            yield Violation("RA113", (*loc, "experiment"), message)


def _form(declaration: Declaration) -> tuple[str, tuple[str, ...]]:
    return declaration.kind, tuple(axis.name for axis in declaration.axes)


# --- what is read -------------------------------------------------------------------------------


def _read(
    audit: Audit,
    tier: TierName,
    loc: Loc,
    check: Check | None,
    quantity: Quantity,
    arm: PlannedArm,
) -> Read | None:
    """Return a quantity as it is read in an arm; None if nothing of this name is measured."""
    name = arm.reads.get(quantity.measurement, quantity.measurement)
    declaration = audit.declaration(arm.experiment, name)
    if declaration is None:
        return None
    fixed = {**(check.at if check is not None else {}), **quantity.at}
    where, axes = arm.experiment, declaration.axes
    along = {one.name: _coordinates(audit, where, one, tier, arm.overrides) for one in axes}
    return Read(loc, tier, check, quantity, arm, name, declaration, fixed, along)


def _coordinates(
    audit: Audit,
    experiment: str,
    axis: Axis,
    tier: TierName,
    overrides: Mapping[str, SettingValue],
) -> Sequence[Coordinate]:
    """Return an axis's coordinates in an experiment at a tier, under other settings."""
    if axis.setting is None:
        return axis.values if axis.values is not None else range(axis.size or 0)
    setting = audit.setting_of(experiment, axis.setting)
    value = overrides.get(axis.setting, setting.at(tier) if setting is not None else ())
    return value if isinstance(value, tuple) else ()


def _among(at: Coordinate, found: Sequence[SettingValue]) -> bool:
    """Tell whether a coordinate is one of several; true is not 1."""
    return at in found and not isinstance(found[found.index(at)], bool)


def _free(claim: Claim, read: Read) -> dict[str, Sequence[Coordinate]]:
    """Return the axes along which a quantity keeps all its numbers, with their coordinates."""
    unnamed, free = list(read.quantity.coordinates), {}
    graded = claim.grade.axis if claim.grade is not None else None
    for name, known in read.along.items():
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
        by_check.setdefault(read.loc[:4], set()).update(read.along)
    for read in reads:
        for name in read.fixed:
            own = name in read.quantity.at
            known, loc = (read.along, read.loc) if own else (by_check[read.loc[:4]], read.loc[:4])
            of = f"'{read.name}'" if own else "what it reads"
            yield from unknown((*loc, "at", name), "axis", name, known, of, at_key=True)


def _unmeasured(read: Read) -> Iterator[Violation]:
    """Yield coordinates that are not measured; what decides nothing may be of the paper tier."""
    if "notes" in read.loc and read.tier != "paper":
        return
    stated = [(name, at, read.along.get(name, (at,))) for name, at in read.fixed.items()]
    for at in read.quantity.coordinates:
        known = next((one for one in read.along.values() if _among(at, one)), None)
        stated.append(("coordinate", at, known or next(iter(read.along.values()), ())))
    for name, at, measured in stated:
        if not _among(at, measured):
            arm = "" if read.arm.role is Role.OWN else f" in the arm '{read.arm.name}'"
            message = f"found {name} {shown(at)} of '{read.name}'{arm}; expected one of "
            message += f"{shown(measured)} at the {read.tier} tier"
            yield Violation("RA104", (*read.loc, "at", name), message)


def _course(claim: Claim, read: Read) -> Iterator[Violation]:
    """Yield what is no series, no single course, or no power law, and is read as such."""
    kind = read.declaration.kind
    if _over_training(read) and kind is not MeasurementKind.SERIES:
        message = f"found the {kind} '{read.name}', which is read over training"
        yield Violation("RA106", read.loc, f"{message}; expected a series")
    free = _free(claim, read)
    if isinstance(read.check, ScalesLike):
        sizes = {
            axis: one
            for axis, one in free.items()
            if len({n for n in one if not isinstance(n, str) and n > 0}) == len(one) >= FEWEST_SIZES
        }
        of = f"at least {FEWEST_SIZES} positive sizes of '{read.name}' at the {read.tier} tier"
        yield from unknown((*read.loc[:4], "axis"), "axis", read.check.axis, sizes, of)
    elif read.check is not None and read.check.kind in ("stages", "grows_like") and free:
        message = f"found '{read.name}' with its axis '{next(iter(free))}' left free"
        yield Violation("RA217", read.loc, f"{message}; expected a single course")


def _over_training(read: Read) -> bool:
    """Whether more than the last observation of a quantity is read."""
    field = next(one for one in reversed(read.loc) if isinstance(one, str))
    if read.quantity.step == "first" or read.check is None:
        return read.quantity.step == "first"
    if isinstance(read.check, Separates):
        return field == ("value" if read.check.start_value is None else "start_value")
    of_the_rest = isinstance(read.check, Concentrates) and read.check.of_the_rest
    return of_the_rest or field in ("series", "loss", "reference")


def _unpaired(claim: Claim, reads: Sequence[Read]) -> Iterator[Violation]:
    """Yield quantities of a check that have other numbers than its first one."""
    first: dict[Loc, tuple[str, list[str]]] = {}
    for read in reads:
        if read.check is None or isinstance(read.check, Separates):
            continue
        free = [f"{len(one)} along '{name}'" for name, one in _free(claim, read).items()]
        name, expected = first.setdefault(read.loc[:4], (read.name, free))
        if free and expected and free != expected:
            message = f"found {' by '.join(free)} of '{read.name}' at the {read.tier} tier; "
            message += f"expected {' by '.join(expected)}, as of '{name}', or a single number"
            yield Violation("RA107", read.loc, message)


def _grade(claim: Claim, loc: Loc, reads: Sequence[Read], tier: TierName) -> Iterator[Violation]:
    """Yield a grade along an unknown axis, and coordinates that it lacks."""
    if claim.grade is None:
        return
    name, wanted = claim.grade.axis, claim.grade.easiest_first
    yield from again((*loc, "easiest_first"), wanted)
    headline = [one for one in reads if "headline" in one.loc]
    free = {a: at for one in headline for a, at in one.along.items() if a not in one.fixed}
    yield from unknown((*loc, "axis"), "axis", name, free, "the headline that is free")
    for j, one in enumerate(wanted if name in free else ()):
        if (tier == "paper" or one in claim.grade.primary) and not _among(one, free[name]):
            message = f"found {name} {shown(one)}; expected one of {shown(free[name])} at the "
            yield Violation("RA104", (*loc, "easiest_first", j), f"{message}{tier} tier")
