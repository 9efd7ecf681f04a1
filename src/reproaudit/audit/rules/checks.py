"""Rules of checks: everything that they read is measured, on the axes and scales they use."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from reproaudit.audit.model import Audit
from reproaudit.audit.rules.looks import (
    JUDGED,
    AxisCoordinates,
    checks,
    coordinates,
    looks,
    looks_declared,
)
from reproaudit.audit.rules.names import not_of
from reproaudit.audit.rules.rule import Loc, Violation, error
from reproaudit.audit.rules.values import key, keys, shown
from reproaudit.checks import Check
from reproaudit.checks.failure_rate import FailureRate
from reproaudit.checks.scales_like import FEWEST_SIZES
from reproaudit.declarations import Axis, Declaration, MeasurementKind
from reproaudit.stats import Scale

_RANGES = {
    Scale.LINEAR: (-math.inf, math.inf),
    Scale.LOG: (0.0, math.inf),
    Scale.LOGIT: (0.0, 1.0),
    Scale.LOG_COMPLEMENT: (-math.inf, 1.0),
}
"""The numbers between which each scale is defined."""


@error(
    "RA102", "A check reads measurements of the claim's experiment.", "Name a declared measurement."
)
def _measurement_exists(audit: Audit) -> Iterator[Violation]:
    for look in looks(audit):
        experiment, name = look.claim.experiment, look.quantity.measurement
        if experiment not in audit.experiments or audit.declaration(experiment, name) is not None:
            continue
        yield Violation(
            (*look.loc, "measurement"),
            not_of("measurement", name, experiment),
            about=name,
            known=audit.measurements_of(experiment),
        )


@error(
    "RA103",
    "A quantity is one number per seed, so every axis is fixed.",
    "Give a coordinate for every axis, and for no other.",
)
def _axes_are_placed(audit: Audit) -> Iterator[Violation]:
    for look, declaration in looks_declared(audit):
        name = look.quantity.measurement
        axes = [axis.name for axis in declaration.axes]
        each, along = look.check.each, look.check.spans()
        for axis in axes if each is None or each in axes else ():
            if axis not in look.quantity.at and axis not in (each, along):
                yield Violation(
                    look.loc,
                    f"found no coordinate on axis '{axis}' of '{name}'; expected one",
                    f"Add 'at: {{{axis}: …}}', or 'each: {axis}' to the check.",
                    about=axis,
                )
        for axis in look.quantity.at:
            if axis not in axes:
                yield Violation(
                    (*look.loc, "at", axis),
                    f"found a coordinate on '{axis}'; expected an axis of '{name}'",
                    "" if axes else "Remove it: the measurement has no axes.",
                    about=axis,
                    known=axes,
                    at_key=True,
                )


@error(
    "RA104",
    "A check can only read a coordinate that is measured.",
    "Write one of these coordinates.",
)
def _coordinates_are_on_axes(audit: Audit) -> Iterator[Violation]:
    grid = AxisCoordinates(audit)
    for look, declaration in looks_declared(audit):
        for axis in declaration.axes:
            if axis.name in look.quantity.at:
                coordinate = look.quantity.at[axis.name]
                tier = grid.lacking(look.claim.experiment, axis, coordinate)
                if tier is not None:
                    known = coordinates(audit, look.claim.experiment, axis, tier)
                    yield Violation(
                        (*look.loc, "at", axis.name),
                        f"found {axis.name} {shown(coordinate)}; expected one of "
                        f"{shown(known or ())} at the {tier} tier",
                    )


@error(
    "RA105",
    "A check repeated along an axis needs that axis on everything that it reads.",
    "Name an axis of every quantity, or remove 'each'.",
)
def _each_is_an_axis(audit: Audit) -> Iterator[Violation]:
    for look, declaration in looks_declared(audit):
        each = look.check.each
        if each is None:
            continue
        names = [axis.name for axis in declaration.axes]
        name = look.quantity.measurement
        if each not in names:
            yield Violation(
                (*look.loc[:4], "each"),
                f"found 'each: {each}', but '{name}' has no such axis; expected an axis of every "
                "quantity of the check",
                about=each,
                known=names,
            )
        elif each in look.quantity.at:
            yield Violation(
                (*look.loc, "at", each),
                f"found {each} fixed, although the check is repeated for each {each}",
                "Remove the coordinate, or 'each'.",
                at_key=True,
            )


@error(
    "RA107",
    "Quantities compared along an axis are paired by its coordinates.",
    "Declare the same coordinates for both.",
)
def _each_is_shared(audit: Audit) -> Iterator[Violation]:
    first: dict[Loc, tuple[str, Axis]] = {}
    grid = AxisCoordinates(audit)
    for look, declaration in looks_declared(audit):
        experiment, among = look.claim.experiment, look.check.among
        for axis in declaration.axes:
            if axis.name != look.check.each:
                continue
            name, other = first.setdefault(look.loc[:4], (look.quantity.measurement, axis))
            for tier in JUDGED if other is not axis else ():
                here, there = (grid.keys(experiment, one, tier) for one in (axis, other))
                if here is None or there is None or here == there:
                    continue
                missing = there - here if among is None else (there & keys(among)) - here
                if missing:
                    whole = coordinates(audit, experiment, other, tier) or ()
                    lost = tuple(one for one in whole if key(one) in missing)
                    yield Violation(
                        (*look.loc, "measurement"),
                        f"found no {axis.name} {shown(lost)} on '{look.quantity.measurement}' at "
                        f"the {tier} tier; expected all that '{name}' has",
                    )
                    break


@error(
    "RA109",
    "A check can only be repeated for coordinates that are measured.",
    "Write coordinates of the axis in 'each'.",
)
def _among_is_on_axis(audit: Audit) -> Iterator[Violation]:
    for loc, check in checks(audit):
        if check.among is not None and check.each is None:
            yield Violation(
                (*loc, "among"),
                "found 'among' without 'each'; expected the axis that it picks from",
                "Add 'each', or remove 'among'.",
                at_key=True,
            )
    grid = AxisCoordinates(audit)
    for look, declaration in looks_declared(audit):
        for axis in declaration.axes:
            if axis.name != look.check.each:
                continue
            for i, coordinate in enumerate(look.check.among or ()):
                tier = grid.lacking(look.claim.experiment, axis, coordinate)
                if tier is not None:
                    known = coordinates(audit, look.claim.experiment, axis, tier)
                    yield Violation(
                        (*look.loc[:4], "among", i),
                        f"found {axis.name} {shown(coordinate)}; expected one of "
                        f"{shown(known or ())} at the {tier} tier",
                    )


_AFTER_TRAINING = "continued"
"""The field of a check that follows training which may be a number, since it is read at its end."""


@error(
    "RA205",
    "Along an axis without coordinates a check judges nothing, and counts as if it were met.",
    "List the coordinates, at every tier and in every alternative, or remove the check.",
)
def _each_has_coordinates(audit: Audit) -> Iterator[Violation]:
    told: set[Loc] = set()
    for look, declaration in looks_declared(audit):
        place = (*look.loc[:4], "each")
        for axis in (one for one in declaration.axes if one.name == look.check.each):
            experiment = look.claim.experiment
            by_tier = {tier: coordinates(audit, experiment, axis, tier) for tier in JUDGED}
            empty = [f"at the {tier} tier" for tier, found in by_tier.items() if found == ()]
            setting = audit.setting_of(experiment, axis.setting) if axis.setting else None
            empty += ["as an alternative" for one in setting.others if one == ()] if setting else []
            if empty and place not in told:
                told.add(place)
                yield Violation(place, f"found no {axis.name} {empty[0]}; expected one or more")


@error(
    "RA106",
    "Only a series has a beginning and a course.",
    "Read a series, or choose another kind of check.",
)
def _series_where_needed(audit: Audit) -> Iterator[Violation]:
    for look, declaration in looks_declared(audit):
        if declaration.kind is MeasurementKind.SERIES:
            continue
        found = f"found the {declaration.kind.value} '{look.quantity.measurement}'"
        if look.check.follows_training() and look.loc[-1] != _AFTER_TRAINING:
            yield Violation(
                (*look.loc, "measurement"),
                f"{found}; expected a series, since '{look.check.kind}' looks at its course",
            )
        elif look.quantity.step == "first":
            yield Violation((*look.loc, "step"), f"{found}, which has no steps; expected a series")


@error(
    "RA108",
    "A level must exist on the scale on which it is compared: no logarithm of 0 or less.",
    "Use another scale, or another level.",
)
def _levels_fit_scales(audit: Audit) -> Iterator[Violation]:
    for loc, check in checks(audit):
        for field, level, scale in check.levels():
            least, most = _RANGES[scale]
            if not least < level < most:
                yield Violation(
                    (*loc, field),
                    f"found {level:g} on the scale '{scale}'; expected a number above "
                    f"{least:g}" + (f" and below {most:g}" if most < math.inf else ""),
                )


@error(
    "RA191",
    "Five seeds of a measure with one open end often lie far from its mean, so that a bound on the "
    "linear scale is met by chance (32 % of skewed nulls).",
    "Use 'scale: log', where the mean over seeds is that of a typical run.",
)
def _linear_scale_needs_a_range(audit: Audit) -> Iterator[Violation]:
    for look, declaration in looks_declared(audit):
        check = look.check
        if getattr(check, "scale", None) != Scale.LINEAR or check.over != "mean":
            continue
        name = look.quantity.measurement
        if declaration.range is None:
            yield Violation(
                (*look.loc[:4], "scale"),
                f"found the linear scale for '{name}', whose range is not declared; expected to "
                "know whether it is positive without an upper end",
                f"Add 'range: [least, largest]' to the declaration of '{name}' (null for an open "
                "end), or use 'scale: log'.",
            )
        elif has_one_end(declaration):
            yield Violation(
                (*look.loc[:4], "scale"),
                f"found the linear scale for '{name}', whose range has one end alone; expected "
                "two, or none",
            )
        elif _is_far_away(declaration, _size(check)):
            yield Violation(
                (*look.loc[:4], "scale"),
                f"found the linear scale for '{name}', whose range ends more than "
                f"{FAR_ABOVE:,} times as far from 0 as the level; expected an end that it can "
                "reach",
            )


def has_one_end(declaration: Declaration) -> bool:
    """True if the range of a measurement ends on one side alone, so that it may be skewed."""
    return sum(end is None for end in declaration.range or ()) == 1


FAR_ABOVE = 1000
"""A range that ends so many levels away keeps nothing in."""


def _size(check: Check) -> float:
    """The size of the numbers that a check states on the linear scale; 0 if they are all 0."""
    stated = [level for _, level, _ in check.levels()]
    stated += [getattr(check, name, None) or 0.0 for name in ("margin", "by")]
    return max(map(abs, stated))


def _is_far_away(declaration: Declaration, size: float) -> bool:
    """True if a measurement has an end that what is stated of it is nowhere near."""
    ends = [abs(end) for end in declaration.range or () if end is not None]
    return size != 0 and max(ends, default=0.0) > FAR_ABOVE * size


@error(
    "RA192",
    "A power law across sizes is fitted to logarithms of at least three positive numbers.",
    "Name an axis of positive sizes, and leave its coordinate out.",
)
def _sizes_are_numbers(audit: Audit) -> Iterator[Violation]:
    for look, declaration in looks_declared(audit):
        along = look.check.spans()
        if along is None:
            continue
        place = (*look.loc[:4], "axis")
        axis = next((one for one in declaration.axes if one.name == along), None)
        if axis is None:
            known = [one.name for one in declaration.axes]
            name = look.quantity.measurement
            yield Violation(
                place, f"found '{along}'; expected an axis of '{name}'", about=along, known=known
            )
            continue
        if along in look.quantity.at or along == look.check.each:
            yield Violation(place, f"found {along} fixed, although the law is fitted along it")
        for tier in JUDGED:
            sizes = coordinates(audit, look.claim.experiment, axis, tier)
            positive = [one for one in sizes or () if not isinstance(one, str) and one > 0]
            if sizes is None:
                continue
            if len(positive) < len(sizes) or _apart(positive) < FEWEST_SIZES:
                yield Violation(
                    place,
                    f"found {along} {shown(sizes)} at the {tier} tier; expected at least "
                    f"{FEWEST_SIZES} positive numbers, each {APART:g} times the one before or more",
                )
                break


APART = 1.25
"""Sizes that are closer to each other count as one: any law looks like a power between them."""


def _apart(sizes: Iterable[float]) -> int:
    """The number of sizes that are far enough apart."""
    count, last = 0, 0.0
    for size in sorted(sizes):
        if size >= APART * last:
            count, last = count + 1, size
    return count


@error(
    "RA193",
    "A failure rate is known from many runs only.",
    "List more seeds, or allow a larger 'rate_at_most'.",
)
def _enough_runs_for_a_rate(audit: Audit) -> Iterator[Violation]:
    runs = len(audit.seeds.paper)
    for _, check in checks(audit):
        if isinstance(check, FailureRate) and runs < check.runs_needed(audit.confidence):
            yield Violation(
                ("seeds", "paper"),
                f"found {runs} seeds; expected at least {check.runs_needed(audit.confidence)}, "
                f"without which the failure rate of '{check.name}' could not be met",
            )


@error(
    "RA194",
    "A range has a least value below its largest.",
    "Write the smaller value first, or null for an open end.",
)
def _ranges_are_ranges(audit: Audit) -> Iterator[Violation]:
    shared = [(("measurements", name), one) for name, one in audit.measurements.items()]
    own = [
        (("experiments", experiment, "measurements", name), one)
        for experiment, spec in audit.experiments.items()
        for name, one in spec.measurements.items()
    ]
    for loc, declaration in [*shared, *own]:
        low, high = declaration.range or (None, None)
        if low is not None and high is not None and low >= high:
            yield Violation((*loc, "range"), f"found [{low:g}, {high:g}]; expected a range")
