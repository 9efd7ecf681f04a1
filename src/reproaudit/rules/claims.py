"""Rules of claims: what their checks look at, and what their controls change."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import NamedTuple

from reproaudit.checks import Check, Converges, Matches, all_quantities
from reproaudit.declarations import Axis, Coordinate, Declaration, MeasurementKind, Quantity
from reproaudit.errors import did_you_mean
from reproaudit.rules.rule import Loc, Rule, Severity, Violation
from reproaudit.rules.values import among, same, shown
from reproaudit.spec import Audit, Claim, Control, TierName, Value

JUDGED: tuple[TierName, ...] = ("quick", "paper")
"""The tiers with verdicts; smoke only proves that an experiment runs."""

_RATE = re.compile(r"(^|_)(lr|learning_rate)(_|$)")


class _Look(NamedTuple):
    """One quantity that one check of a claim looks at."""

    loc: Loc
    claim: Claim
    check: Check
    field: str
    quantity: Quantity


def _looks(audit: Audit) -> Iterator[_Look]:
    for i, claim in enumerate(audit.claims):
        for j, field, quantity in all_quantities(claim.checks):
            loc = ("claims", i, "checks", j, field)
            yield _Look(loc, claim, claim.checks[j], field, quantity)


def _declared(audit: Audit, experiment: str, measurement: str) -> Declaration | None:
    one = audit.experiments.get(experiment)
    return one.measurements.get(measurement) if one is not None else None


def _looks_declared(audit: Audit) -> Iterator[tuple[_Look, Declaration]]:
    for look in _looks(audit):
        declaration = _declared(audit, look.claim.experiment, look.quantity.measurement)
        if declaration is not None:
            yield look, declaration


def _controls(audit: Audit) -> Iterator[tuple[Loc, Claim, Control]]:
    """Every control of every claim, the positive ones as well."""
    for i, claim in enumerate(audit.claims):
        for j, control in enumerate(claim.controls):
            yield ("claims", i, "controls", j), claim, control
        if isinstance(claim.positive_control, Control):
            yield ("claims", i, "positive_control"), claim, claim.positive_control


def _coordinates(axis: Axis, values: dict[str, Value]) -> tuple[Coordinate, ...] | None:
    """The coordinates of an axis, None if the axis itself is at fault (RA121, RA122)."""
    if (axis.values, axis.setting, axis.size).count(None) != 2:
        return None
    if axis.setting is not None and not isinstance(values.get(axis.setting), tuple):
        return None
    return axis.coordinates(values)


# --- what a check looks at ----------------------------------------------------------------------


def experiment_exists(audit: Audit) -> Iterator[Violation]:
    """A claim and its controls name experiments of the audit."""
    named: list[tuple[Loc, str]] = [
        (("claims", i), claim.experiment) for i, claim in enumerate(audit.claims)
    ]
    named += [(loc, control.experiment) for loc, _, control in _controls(audit)]
    for loc, experiment in named:
        if experiment not in audit.experiments:
            yield Violation(
                (*loc, "experiment"),
                f"found the unknown experiment '{experiment}'; expected a declared one",
                did_you_mean(experiment, audit.experiments),
                about=experiment,
            )


def measurement_exists(audit: Audit) -> Iterator[Violation]:
    """A quantity is measured by the claim's experiment."""
    for look in _looks(audit):
        experiment, name = look.claim.experiment, look.quantity.measurement
        if experiment not in audit.experiments or _declared(audit, experiment, name) is not None:
            continue
        yield Violation(
            (*look.loc, "measurement"),
            f"found the unknown measurement '{name}'; expected one of '{experiment}'",
            did_you_mean(name, audit.experiments[experiment].measurements),
            about=name,
        )


def axes_are_placed(audit: Audit) -> Iterator[Violation]:
    """A quantity fixes every axis besides `each`, and no other."""
    for look, declaration in _looks_declared(audit):
        name = look.quantity.measurement
        axes = [axis.name for axis in declaration.axes]
        for axis in axes:
            if axis not in look.quantity.at and axis != look.check.each:
                yield Violation(
                    look.loc,
                    f"found no coordinate on axis '{axis}' of '{name}'; expected one",
                    f"Add 'at: {{{axis}: …}}', or 'each: {axis}' to the check.",
                    about=axis,
                )
        for axis in look.quantity.at:
            if axis not in axes:
                hint = did_you_mean(axis, axes) or "Remove it: the measurement has no axes."
                yield Violation(
                    (*look.loc, "at", axis),
                    f"found a coordinate on '{axis}'; expected an axis of '{name}'",
                    hint,
                    about=axis,
                    at_key=True,
                )


def coordinates_are_on_axes(audit: Audit) -> Iterator[Violation]:
    """A coordinate lies on its axis at every judged tier."""
    for look, declaration in _looks_declared(audit):
        for axis in declaration.axes:
            if axis.name not in look.quantity.at:
                continue
            coordinate = look.quantity.at[axis.name]
            for tier in JUDGED:
                values = audit.values_of(look.claim.experiment, tier)
                known = _coordinates(axis, values)
                if known is not None and not among(coordinate, known):
                    yield Violation(
                        (*look.loc, "at", axis.name),
                        f"found {axis.name} {shown(coordinate)}; expected one of {shown(known)} "
                        f"at the {tier} tier",
                    )
                    break


def each_is_an_axis(audit: Audit) -> Iterator[Violation]:
    """A check repeated along an axis needs that axis, still open, on all it looks at."""
    for look, declaration in _looks_declared(audit):
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
                did_you_mean(each, names),
                about=each,
            )
        elif each in look.quantity.at:
            yield Violation(
                (*look.loc, "at", each),
                f"found {each} fixed, although the check is repeated for each {each}",
                "Remove the coordinate, or 'each'.",
                at_key=True,
            )


def each_is_shared(audit: Audit) -> Iterator[Violation]:
    """Quantities that are compared along an axis have the same coordinates on it."""
    first: dict[Loc, tuple[str, Axis]] = {}
    for look, declaration in _looks_declared(audit):
        for axis in declaration.axes:
            if axis.name != look.check.each:
                continue
            name, other = first.setdefault(look.loc[:4], (look.quantity.measurement, axis))
            for tier in JUDGED:
                values = audit.values_of(look.claim.experiment, tier)
                here, there = _coordinates(axis, values), _coordinates(other, values)
                if here is not None and there is not None and not same(here, there):
                    yield Violation(
                        (*look.loc, "measurement"),
                        f"found {axis.name} {shown(here)} on '{look.quantity.measurement}' at "
                        f"the {tier} tier; expected {shown(there)} as on '{name}'",
                    )
                    break


def series_where_needed(audit: Audit) -> Iterator[Violation]:
    """A loss that converges, and whatever has a first step, is observed along training."""
    for look, declaration in _looks_declared(audit):
        if declaration.kind is MeasurementKind.SERIES:
            continue
        found = f"found the {declaration.kind.value} '{look.quantity.measurement}'"
        if isinstance(look.check, Converges):
            yield Violation(
                (*look.loc, "measurement"), f"{found}; expected a series, since it converges"
            )
        elif look.quantity.step == "first":
            yield Violation((*look.loc, "step"), f"{found}, which has no steps; expected a series")


def log_target_positive(audit: Audit) -> Iterator[Violation]:
    """A target on a logarithmic scale is above 0."""
    for i, claim in enumerate(audit.claims):
        for j, check in enumerate(claim.checks):
            if not isinstance(check, Matches) or check.scale != "log" or check.target is None:
                continue
            if check.target <= 0:
                yield Violation(
                    ("claims", i, "checks", j, "target"),
                    f"found the target {check.target} on a logarithmic scale; expected a "
                    "positive number",
                )


# --- controls -----------------------------------------------------------------------------------


def control_settings_exist(audit: Audit) -> Iterator[Violation]:
    """A control overrides settings that its experiment has."""
    for loc, _, control in _controls(audit):
        if control.experiment not in audit.experiments:
            continue
        known = audit.settings_of(control.experiment)
        for name in control.settings:
            if name not in known:
                yield Violation(
                    (*loc, "settings", name),
                    f"found the unknown setting '{name}'; expected one of '{control.experiment}'",
                    did_you_mean(name, known),
                    about=name,
                    at_key=True,
                )


def _own_values(audit: Audit, claim: Claim, control: Control, tier: TierName) -> dict[str, Value]:
    """What the claim runs with; where it lacks a setting, what the control's experiment has."""
    own = audit.values_of(claim.experiment, tier) if claim.experiment in audit.experiments else {}
    return {**audit.values_of(control.experiment, tier), **own}


def control_changes_something(audit: Audit) -> Iterator[Violation]:
    """Every override of a control differs from the claim's own value."""
    for loc, claim, control in _controls(audit):
        if control.experiment not in audit.experiments:
            continue
        unchanged = {
            tier: {
                name
                for name, value in control.settings.items()
                if name in (own := _own_values(audit, claim, control, tier))
                and same(value, own[name])
            }
            for tier in JUDGED
        }
        for name, value in control.settings.items():
            tiers = [tier for tier in JUDGED if name in unchanged[tier]]
            all_same = any(unchanged[tier] == set(control.settings) for tier in tiers)
            if tiers and (len(tiers) == len(JUDGED) or all_same):
                yield Violation(
                    (*loc, "settings", name),
                    f"found {shown(value)}, the claim's own '{name}' at the "
                    f"{' and '.join(tiers)} tier; expected a value that differs",
                )


def control_trains(audit: Audit) -> Iterator[Violation]:
    """A learning rate of 0 may accompany a control, but not be the only one."""
    for i, claim in enumerate(audit.claims):
        if all(_never_learns(control) for control in claim.controls):
            for j, control in enumerate(claim.controls):
                yield Violation(
                    ("claims", i, "controls", j, "settings"),
                    f"found only {', '.join(f'{k}: {v}' for k, v in control.settings.items())}; "
                    "expected a control that trains",
                )


def _never_learns(control: Control) -> bool:
    return all(
        _RATE.search(name) and not isinstance(value, bool | tuple | str) and value == 0
        for name, value in control.settings.items()
    )


def control_measures(audit: Audit) -> Iterator[Violation]:
    """A control is measured as the claim is: same measurements, kinds and axes."""
    for loc, claim, control in _controls(audit):
        if control.experiment not in audit.experiments:
            continue
        names = dict.fromkeys(q.measurement for _, _, q in all_quantities(claim.checks))
        for name in names:
            ours = _declared(audit, claim.experiment, name)
            theirs = _declared(audit, control.experiment, name)
            if ours is not None and (theirs is None or _form(ours) != _form(theirs)):
                found = "no" if theirs is None else "another form of"
                yield Violation(
                    (*loc, "experiment"),
                    f"found {found} '{name}' in experiment '{control.experiment}'; expected it "
                    f"as '{claim.experiment}' declares it, since the checks look at it",
                    about=name,
                )


def _form(declaration: Declaration) -> tuple[MeasurementKind, tuple[str, ...]]:
    return declaration.kind, tuple(axis.name for axis in declaration.axes)


def control_keeps_coordinates(audit: Audit) -> Iterator[Violation]:
    """A control's overrides leave every coordinate that a check looks at."""
    for loc, claim, control in _controls(audit):
        if control.experiment not in audit.experiments:
            continue
        tiers = JUDGED if control.scale == "same" else JUDGED[:1]
        for _, _, quantity in all_quantities(claim.checks):
            declaration = _declared(audit, control.experiment, quantity.measurement)
            for tier in tiers:
                values = audit.values_of(control.experiment, tier, control.settings)
                yield from _lost(loc, control, quantity, declaration, values)


def _lost(
    loc: Loc,
    control: Control,
    quantity: Quantity,
    declaration: Declaration | None,
    values: dict[str, Value],
) -> Iterator[Violation]:
    for axis in declaration.axes if declaration is not None else ():
        known = _coordinates(axis, values)
        moved = axis.setting in control.settings
        if known is None or not moved or axis.name not in quantity.at:
            continue
        if not among(quantity.at[axis.name], known):
            yield Violation(
                (*loc, "settings", str(axis.setting)),
                f"found {shown(known)}, which leaves out {axis.name} "
                f"{shown(quantity.at[axis.name])} that a check looks at",
            )


# --- the list of claims -------------------------------------------------------------------------


def claim_ids(audit: Audit) -> Iterator[Violation]:
    """A claim's id is unique and begins with the slug."""
    ids = [claim.id for claim in audit.claims]
    for i, one in enumerate(ids):
        if one in ids[:i]:
            yield Violation(
                ("claims", i, "id"), f"found a second claim '{one}'; expected unique ids"
            )
        if not one.startswith(f"{audit.paper.slug}."):
            yield Violation(
                ("claims", i, "id"),
                f"found '{one}'; expected an id that begins with '{audit.paper.slug}.'",
                about=audit.paper.slug,
            )


def weights_are_shares(audit: Audit) -> Iterator[Violation]:
    """The weights are shares of the paper's message."""
    total = math.fsum(claim.weight for claim in audit.claims)
    if total > 1 + 1e-9:
        yield Violation(("claims",), f"found weights that add up to {total:g}; expected at most 1")


def part_names_differ(audit: Audit) -> Iterator[Violation]:
    """The parts of a claim can be told apart on the scorecard."""
    for i, claim in enumerate(audit.claims):
        names = [check.name for check in claim.checks]
        for j, name in enumerate(names):
            if name in names[:j]:
                yield Violation(
                    ("claims", i, "checks", j, "name"),
                    f"found a second part '{name}'; expected different names",
                )


RULES = (
    Rule(
        "RA101",
        Severity.ERROR,
        "A claim is judged on an experiment of this audit.",
        "Name a declared experiment.",
        experiment_exists,
    ),
    Rule(
        "RA102",
        Severity.ERROR,
        "A check looks at what the claim's experiment measures.",
        "Name a declared measurement.",
        measurement_exists,
    ),
    Rule(
        "RA103",
        Severity.ERROR,
        "A quantity is one number per seed, so every axis is fixed.",
        "Give a coordinate for every axis, and for no other.",
        axes_are_placed,
    ),
    Rule(
        "RA104",
        Severity.ERROR,
        "A quantity stands on a coordinate that is measured.",
        "Write one of these coordinates.",
        coordinates_are_on_axes,
    ),
    Rule(
        "RA105",
        Severity.ERROR,
        "A check repeated along an axis needs that axis on everything it looks at.",
        "Name an axis of every quantity, or remove 'each'.",
        each_is_an_axis,
    ),
    Rule(
        "RA106",
        Severity.ERROR,
        "Only a series has a beginning and a course.",
        "Look at a series, or choose another kind of check.",
        series_where_needed,
    ),
    Rule(
        "RA107",
        Severity.ERROR,
        "Quantities compared along an axis are paired by its coordinates.",
        "Declare the same coordinates for both.",
        each_is_shared,
    ),
    Rule(
        "RA108",
        Severity.ERROR,
        "The logarithm of 0 or less does not exist.",
        "Use the linear scale, or a positive target.",
        log_target_positive,
    ),
    Rule(
        "RA110",
        Severity.ERROR,
        "A control overrides settings of its experiment.",
        "Name a setting of the experiment.",
        control_settings_exist,
    ),
    Rule(
        "RA111",
        Severity.ERROR,
        "A control that runs like the claim passes like the claim.",
        "Remove the override, or write a value that takes the mechanism away.",
        control_changes_something,
    ),
    Rule(
        "RA112",
        Severity.ERROR,
        "Every check fails without training, so a learning rate of 0 tells nothing.",
        "Add a control that trains and lacks only the claimed mechanism.",
        control_trains,
    ),
    Rule(
        "RA113",
        Severity.ERROR,
        "The same checks are applied to a control.",
        "Declare the measurement there with the same kind and axes, or choose another experiment.",
        control_measures,
    ),
    Rule(
        "RA114",
        Severity.ERROR,
        "The checks look at the same coordinates in a control.",
        "Keep the coordinate in the override.",
        control_keeps_coordinates,
    ),
    Rule(
        "RA115",
        Severity.ERROR,
        "A claim's id is permanent and unique over all audits.",
        "Begin it with the slug and a dot, and use it once.",
        claim_ids,
    ),
    Rule(
        "RA116",
        Severity.WARNING,
        "A weight is the share of the paper's message that rests on the claim.",
        "Lower the weights; what is not audited keeps the rest.",
        weights_are_shares,
    ),
    Rule(
        "RA117",
        Severity.WARNING,
        "The scorecard shows the parts of a claim by name.",
        "Rename one of them.",
        part_names_differ,
    ),
)
"""RA101 to RA117."""
