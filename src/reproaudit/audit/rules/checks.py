"""Rules of checks: what they read is measured, at coordinates and over training as they need."""

from __future__ import annotations

from collections.abc import Iterator

from reproaudit.audit.model import Audit, TierName
from reproaudit.audit.rules.looks import (
    JUDGED,
    Look,
    among,
    coordinates,
    declared,
    free_axes,
    looks,
    no_measurement,
)
from reproaudit.audit.rules.table import Loc, Violation
from reproaudit.audit.rules.values import shown
from reproaudit.checks.concentrates import Concentrates
from reproaudit.checks.scales_like import FEWEST_SIZES, ScalesLike
from reproaudit.checks.separates import Separates
from reproaudit.declarations import Declaration, MeasurementKind

COURSES = ("series", "loss", "reference")
"""The fields of checks that hold a quantity over training."""

COMPARED = (
    *(("lower", "upper"), ("value", "to"), ("value", "relative_to"), ("value", "grown_from")),
    *(("value", "between"), ("series", "reference")),
)
"""The fields of checks whose numbers are compared one by one."""


def of_measurements(audit: Audit) -> Iterator[Violation]:
    """Yield what checks read and their experiment does not measure."""
    for look in looks(audit):
        known = look.experiment in audit.experiments
        if known and audit.declaration(look.experiment, look.name) is None:
            loc = (*look.loc, "measurement")
            yield no_measurement("RA102", audit, loc, look.name, look.experiment)


def of_axes_of_checks(audit: Audit) -> Iterator[Violation]:
    """Yield coordinates on axes that what is read does not have."""
    of_checks: dict[Loc, set[str]] = {}
    stated: dict[Loc, Look] = {}
    for look, declaration in declared(audit):
        axes = {axis.name for axis in declaration.axes}
        for name in look.quantity.at:
            if name not in axes:
                yield _no_axis((*look.loc, "at", name), name, f"'{look.name}'", axes)
        if look.check is not None:
            of_checks.setdefault(look.loc[:4], set()).update(axes)
            stated[look.loc[:4]] = look
    for loc, look in stated.items():
        for name in look.check.at if look.check is not None else ():
            if name not in of_checks[loc]:
                yield _no_axis((*loc, "at", name), name, "what it reads", of_checks[loc])


def _no_axis(place: Loc, name: str, of: str, axes: set[str]) -> Violation:
    message = f"found a coordinate on '{name}'; expected an axis of {of}"
    remedy = "" if axes else "Remove it: there are no axes."
    return Violation("RA103", place, message, remedy, about=name, known=axes, at_key=True)


def of_coordinates(audit: Audit) -> Iterator[Violation]:
    """Yield coordinates that are not measured; of what decides, at each judged tier."""
    for look, declaration in declared(audit):
        for tier in JUDGED if "notes" not in look.loc else ("paper",):
            known = {a.name: coordinates(audit, look.experiment, a, tier) for a in declaration.axes}
            if None in known.values():
                continue  # the axis itself has a fault
            missing = [
                (axis, at, found)
                for axis, at in look.fixed.items()
                if (found := known.get(axis)) is not None and not among(at, found)
            ]
            missing += [
                ("coordinate", at, next((found for found in known.values() if found), ()))
                for at in look.quantity.coordinates
                if not any(among(at, found or ()) for found in known.values())
            ]
            if missing:
                axis, at, found = missing[0]
                expected = f"expected one of {shown(found)} at the {tier} tier"
                message = f"found {axis} {shown(at)} of '{look.name}'; {expected}"
                yield Violation("RA104", (*look.loc, "at", axis), message)
                break


def of_courses(audit: Audit) -> Iterator[Violation]:
    """Yield what is read over training, or at its start, and is no series or several."""
    for look, declaration in declared(audit):
        needed = look.field in COURSES and look.check is not None
        if (needed or _at_start(look)) and declaration.kind is not MeasurementKind.SERIES:
            reads = "the course" if needed else "the start"
            message = f"found the {declaration.kind} '{look.name}', of which the check reads "
            yield Violation("RA106", look.loc, f"{message}{reads}; expected a series")
        single = look.check is not None and look.check.kind in ("stages", "grows_like")
        for tier in JUDGED if single else ():
            if free := list(free_axes(audit, look, declaration, tier)):
                message = f"found '{look.name}' with its axis '{free[0]}' left free"
                yield Violation("RA217", look.loc, f"{message}; expected a single course")
                break


def _at_start(look: Look) -> bool:
    """Whether a quantity is read at its first observation."""
    if isinstance(look.check, Concentrates) and look.check.of_the_rest:
        return True
    if isinstance(look.check, Separates):
        read = "value" if look.check.start_value is None else "start_value"
        return look.field == read or look.quantity.step == "first"
    return look.quantity.step == "first"


def of_compared(audit: Audit) -> Iterator[Violation]:
    """Yield quantities that are compared along axes of other coordinates."""
    found: dict[Loc, dict[str, tuple[Look, Declaration]]] = {}
    for look, declaration in declared(audit):
        if look.check is not None:
            found.setdefault(look.loc[:4], {})[look.field] = look, declaration
    for fields in found.values():
        for first, second in COMPARED:
            if first not in fields or second not in fields:
                continue
            (one, _), (other, _) = fields[first], fields[second]
            for tier in JUDGED:
                here, there = (_spread(audit, *fields[f], tier) for f in (first, second))
                if here != there and here and there:
                    message = f"found {_shape(there)} of '{other.name}' at the {tier} tier; "
                    message += f"expected {_shape(here)}, as of '{one.name}', or a single number"
                    yield Violation("RA107", other.loc, message)
                    break


def _spread(
    audit: Audit, look: Look, declaration: Declaration, tier: TierName
) -> list[tuple[str, int]]:
    """The free axes of a quantity with their lengths."""
    axes = free_axes(audit, look, declaration, tier).values()
    return [(one.name, len(coordinates(audit, look.experiment, one, tier) or ())) for one in axes]


def _shape(axes: list[tuple[str, int]]) -> str:
    return " by ".join(f"{length} along '{name}'" for name, length in axes)


def of_sizes(audit: Audit) -> Iterator[Violation]:
    """Yield power laws along what is no free axis of positive numbers."""
    for look, declaration in declared(audit):
        if not isinstance(look.check, ScalesLike):
            continue
        loc, name = (*look.loc[:4], "axis"), look.check.axis
        for tier in JUDGED:
            free = free_axes(audit, look, declaration, tier)
            if name not in free:
                message = f"found '{name}'; expected a free axis of '{look.name}'"
                yield Violation("RA192", loc, message, about=name, known=free)
                break
            sizes = coordinates(audit, look.experiment, free[name], tier)
            numbers = {one for one in sizes or () if not isinstance(one, str) and one > 0}
            if sizes is not None and (len(numbers) < len(sizes) or len(numbers) < FEWEST_SIZES):
                message = f"found {name} {shown(sizes)} at the {tier} tier; expected at least "
                message += f"{FEWEST_SIZES} different positive numbers"
                yield Violation("RA192", loc, message)
                break
