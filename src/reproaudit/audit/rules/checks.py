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
)
from reproaudit.audit.rules.names import not_of
from reproaudit.audit.rules.rule import Loc, Violation, error
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


@error("RA102", "A check reads measurements of its experiment.", "Name a declared measurement.")
def _measurement_exists(audit: Audit) -> Iterator[Violation]:
    for look in looks(audit):
        known = look.experiment in audit.experiments
        if known and audit.declaration(look.experiment, look.name) is None:
            yield Violation(
                (*look.loc, "measurement"),
                not_of("measurement", look.name, look.experiment),
                about=look.name,
                known=audit.measurements_of(look.experiment),
            )


@error(
    "RA103",
    "A coordinate is on an axis of what is read.",
    "Name an axis of the measurement, or remove the coordinate.",
)
def _axes_exist(audit: Audit) -> Iterator[Violation]:
    of_checks: dict[Loc, set[str]] = {}
    stated: dict[Loc, Look] = {}
    for look, declaration in declared(audit):
        axes = [axis.name for axis in declaration.axes]
        for name in look.quantity.at:
            if name not in axes:
                place = (*look.loc, "at", name)
                yield _no_axis(place, name, f"'{look.name}'", axes)
        if look.check is not None:
            of_checks.setdefault(look.loc[:4], set()).update(axes)
            stated[look.loc[:4]] = look
    for loc, look in stated.items():
        for name in look.check.at if look.check is not None else ():
            if name not in of_checks[loc]:
                yield _no_axis((*loc, "at", name), name, "what it reads", of_checks[loc])


def _no_axis(place: Loc, name: str, of: str, axes: list[str] | set[str]) -> Violation:
    message = f"found a coordinate on '{name}'; expected an axis of {of}"
    remedy = "" if axes else "Remove it: there are no axes."
    return Violation(place, message, remedy, about=name, known=axes, at_key=True)


@error(
    "RA104",
    "A check can only read a coordinate that is measured; one that decides, at each tier.",
    "Write one of these coordinates.",
)
def _coordinates_exist(audit: Audit) -> Iterator[Violation]:
    for look, declaration in declared(audit):
        for tier in JUDGED if "notes" not in look.loc else ("paper",):
            known = {a.name: coordinates(audit, look.experiment, a, tier) for a in declaration.axes}
            if None in known.values():
                continue  # another rule tells of this axis
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
                yield Violation((*look.loc, "at", axis), message)
                break


@error(
    "RA106",
    "Only a series has a beginning and a course.",
    "Read a series, or choose another kind of check.",
)
def _series_where_needed(audit: Audit) -> Iterator[Violation]:
    for look, declaration in declared(audit):
        needed = look.field in COURSES and look.check is not None
        first = look.quantity.step == "first" or (
            (isinstance(look.check, Concentrates) and look.check.of_the_rest)
            or (isinstance(look.check, Separates) and _at_start(look.check, look.field))
        )
        if (needed or first) and declaration.kind is not MeasurementKind.SERIES:
            reads = "the course" if needed else "the start"
            yield Violation(
                look.loc,
                f"found the {declaration.kind} '{look.name}', of which the check reads {reads}; "
                "expected a series",
            )


def _at_start(check: Separates, field: str) -> bool:
    return field == ("value" if check.start_value is None else "start_value")


@error(
    "RA107",
    "Quantities that are compared along an axis are paired by its coordinates.",
    "Fix a coordinate of either, or declare the same coordinates for both.",
)
def _compared_are_paired(audit: Audit) -> Iterator[Violation]:
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
                    yield Violation(other.loc, message)
                    break


def _spread(
    audit: Audit, look: Look, declaration: Declaration, tier: TierName
) -> list[tuple[str, int]]:
    """The free axes of a quantity with their lengths."""
    axes = free_axes(audit, look, declaration, tier)
    return [(one.name, len(coordinates(audit, look.experiment, one, tier) or ())) for one in axes]


def _shape(axes: list[tuple[str, int]]) -> str:
    return " by ".join(f"{length} along '{name}'" for name, length in axes)


@error(
    "RA192",
    "A power law across sizes is fitted to at least three positive numbers.",
    "Name an axis of positive sizes, and leave its coordinate out.",
)
def _sizes_are_numbers(audit: Audit) -> Iterator[Violation]:
    for look, declaration in declared(audit):
        if not isinstance(look.check, ScalesLike):
            continue
        loc, name = (*look.loc[:4], "axis"), look.check.axis
        for tier in JUDGED:
            free = {one.name: one for one in free_axes(audit, look, declaration, tier)}
            if name not in free:
                message = f"found '{name}'; expected a free axis of '{look.name}'"
                yield Violation(loc, message, about=name, known=free)
                break
            sizes = coordinates(audit, look.experiment, free[name], tier)
            numbers = {one for one in sizes or () if not isinstance(one, str) and one > 0}
            if sizes is not None and (len(numbers) < len(sizes) or len(numbers) < FEWEST_SIZES):
                message = f"found {name} {shown(sizes)} at the {tier} tier; expected at least "
                yield Violation(loc, f"{message}{FEWEST_SIZES} different positive numbers")
                break


@error(
    "RA200",
    "A number that is held against itself is always equal.",
    "Name the other measurement, coordinate, step or arm.",
)
def _compared_differ(audit: Audit) -> Iterator[Violation]:
    seen: dict[tuple[Loc, str], Look] = {}
    for look in looks(audit):
        if look.check is None or look.check.kind == "separates":
            continue
        other = seen.setdefault((look.loc[:4], look.quantity.model_dump_json()), look)
        if other is not look:
            message = f"found '{look.name}' as '{other.field}' and as '{look.field}'"
            yield Violation(look.loc, f"{message}; expected two different numbers")


@error(
    "RA217",
    "An onset and a law of growth are of a single course, in which nothing can cancel.",
    "Give a coordinate on every axis, or measure the worst of them.",
)
def _one_course(audit: Audit) -> Iterator[Violation]:
    for look, declaration in declared(audit):
        if look.check is None or look.check.kind not in ("stages", "grows_like"):
            continue
        for tier in JUDGED:
            free = [axis.name for axis in free_axes(audit, look, declaration, tier)]
            if free:
                message = f"found '{look.name}' with its axis '{free[0]}' left free"
                yield Violation(look.loc, f"{message}; expected a single course")
                break
