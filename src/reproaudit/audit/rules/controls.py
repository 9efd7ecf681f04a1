"""Rules of controls: that they run, change something, and are measured as the claim is."""

from __future__ import annotations

import re
from collections.abc import Iterator

from reproaudit.audit.model import Audit, Claim, Control, TierName
from reproaudit.audit.rules.looks import JUDGED, coordinates, declared
from reproaudit.audit.rules.rule import Loc, Rule, Severity, Violation
from reproaudit.audit.rules.values import among, same, shown
from reproaudit.cell import SettingValue
from reproaudit.checks import all_quantities
from reproaudit.checks.measurements import Declaration, MeasurementKind, Quantity
from reproaudit.errors import did_you_mean

_RATE = re.compile(r"(^|_)(lr|learning_rate)(_|$)")


def controls(audit: Audit) -> Iterator[tuple[Loc, Claim, Control]]:
    """Every control of every claim, the positive ones as well."""
    for i, claim in enumerate(audit.claims):
        for j, control in enumerate(claim.controls):
            yield ("claims", i, "controls", j), claim, control
        if isinstance(claim.positive_control, Control):
            yield ("claims", i, "positive_control"), claim, claim.positive_control


def control_settings_exist(audit: Audit) -> Iterator[Violation]:
    """A control overrides settings that its experiment has."""
    for loc, _, control in controls(audit):
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


def _own_value(
    audit: Audit, claim: Claim, control: Control, name: str, tier: TierName
) -> SettingValue | None:
    """What the claim runs with; where it lacks a setting, what the control's experiment has."""
    for experiment in (claim.experiment, control.experiment):
        value = audit.value_of(experiment, name, tier) if experiment in audit.experiments else None
        if value is not None:
            return value
    return None


def control_changes_something(audit: Audit) -> Iterator[Violation]:
    """Every override of a control differs from the claim's own value."""
    for loc, claim, control in controls(audit):
        if control.experiment not in audit.experiments:
            continue
        unchanged = {
            tier: {
                name
                for name, value in control.settings.items()
                if (own := _own_value(audit, claim, control, name, tier)) is not None
                and same(value, own)
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
    return bool(control.settings) and all(
        _RATE.search(name) and not isinstance(value, bool | tuple | str) and value == 0
        for name, value in control.settings.items()
    )


def control_measures(audit: Audit) -> Iterator[Violation]:
    """A control is measured as the claim is: same measurements, kinds and axes."""
    for loc, claim, control in controls(audit):
        if control.experiment not in audit.experiments:
            continue
        names = dict.fromkeys(q.measurement for _, _, q in all_quantities(claim.checks))
        for name in control.substitutes:
            if name not in names:
                yield Violation(
                    (*loc, "substitutes", name),
                    f"found '{name}'; expected a measurement that the claim's checks look at",
                    did_you_mean(name, names),
                    about=name,
                    at_key=True,
                )
        for name in names:
            ours = declared(audit, claim.experiment, name)
            theirs = declared(audit, control.experiment, control.substitutes.get(name, name))
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
    for loc, claim, control in controls(audit):
        if control.experiment not in audit.experiments:
            continue
        tiers = JUDGED if control.scale == "same" else JUDGED[:1]
        for _, _, quantity in all_quantities(claim.checks):
            declaration = declared(audit, control.experiment, quantity.measurement)
            for tier in tiers:
                yield from _lost(audit, loc, control, quantity, declaration, tier)


def _lost(
    audit: Audit,
    loc: Loc,
    control: Control,
    quantity: Quantity,
    declaration: Declaration | None,
    tier: TierName,
) -> Iterator[Violation]:
    for axis in declaration.axes if declaration is not None else ():
        if axis.setting not in control.settings or axis.name not in quantity.at:
            continue
        known = coordinates(audit, control.experiment, axis, tier, control.settings)
        if known is not None and not among(quantity.at[axis.name], known):
            yield Violation(
                (*loc, "settings", str(axis.setting)),
                f"found {shown(known)}, which leaves out {axis.name} "
                f"{shown(quantity.at[axis.name])} that a check looks at",
            )


CONTROL_RULES = (
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
)
"""RA110 to RA114."""
