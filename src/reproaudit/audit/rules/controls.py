"""Rules of controls: they run, change something, and are measured as the claim is."""

from __future__ import annotations

import re
from collections.abc import Iterator

from reproaudit.audit.model import Audit, Claim, Control, NoPositiveControl, TierName
from reproaudit.audit.rules.looks import JUDGED, coordinates
from reproaudit.audit.rules.names import known_settings, not_of
from reproaudit.audit.rules.rule import Loc, Violation, error, warning
from reproaudit.audit.rules.values import key, keys, repeated, same, shown
from reproaudit.cell import SettingValue
from reproaudit.checks import all_quantities
from reproaudit.checks.measurements import Declaration, MeasurementKind

_RATE = re.compile(r"(^|_)(lr|learning_rate)(_|$)")


def _entries(audit: Audit) -> Iterator[tuple[Loc, Claim, Control | str]]:
    """Every control of every claim as it is written, positive ones included."""
    for i, claim in enumerate(audit.claims):
        for j, entry in enumerate(claim.controls):
            yield ("claims", i, "controls", j), claim, entry
        if not isinstance(claim.positive_control, NoPositiveControl):
            yield ("claims", i, "positive_control"), claim, claim.positive_control


def controls(audit: Audit) -> Iterator[tuple[Loc, Claim, Control]]:
    """Every use of a control by a claim, positive ones included, with the control's place.

    The control has its experiment, and a shared one stands at its own place.
    """
    seen: set[tuple[Loc, str]] = set()
    for loc, claim, entry in _entries(audit):
        if isinstance(entry, Control):
            yield loc, claim, audit.control(claim, entry)
        elif entry in audit.controls and (loc[:3], entry) not in seen:
            seen.add((loc[:3], entry))
            yield ("controls", entry), claim, audit.control(claim, entry)


def experiments_of_controls(audit: Audit) -> Iterator[tuple[Loc, str]]:
    """The place of every control that names its experiment, shared ones once."""
    written: dict[Loc, Control] = {("controls", name): one for name, one in audit.controls.items()}
    written |= {loc: one for loc, _, one in _entries(audit) if isinstance(one, Control)}
    for loc, control in written.items():
        if control.experiment is not None:
            yield loc, control.experiment


@error(
    "RA118",
    "A claim uses a shared control by its name.",
    "Name a control that stands under the audit's own 'controls'.",
)
def _control_names_exist(audit: Audit) -> Iterator[Violation]:
    for loc, _, entry in _entries(audit):
        if isinstance(entry, str) and entry not in audit.controls:
            yield Violation(
                loc,
                f"found '{entry}'; expected the name of a shared control, or a control"
                + (
                    ", or not_constructible with the reason"
                    if loc[-1] == "positive_control"
                    else ""
                ),
                ""
                if audit.controls
                else "Declare it under the audit's own 'controls', or write its settings here.",
                about=entry,
                known=audit.controls,
            )
    for i, claim in enumerate(audit.claims):
        names = [
            entry if isinstance(entry, str) else f"[{j}]" for j, entry in enumerate(claim.controls)
        ]
        for j in repeated(names):
            yield Violation(
                ("claims", i, "controls", j),
                f"found '{names[j]}' a second time; expected different controls",
                "Remove one of the two.",
            )


@warning(
    "RA119",
    "A shared control or measurement that nothing uses suggests that a name was forgotten.",
    "Name it where it belongs, or remove it.",
)
def _shared_are_used(audit: Audit) -> Iterator[Violation]:
    named = {entry for _, _, entry in _entries(audit) if isinstance(entry, str)}
    for name in audit.controls.keys() - named:
        yield Violation(
            ("controls", name),
            f"found the control '{name}', which no claim names",
            about=name,
            at_key=True,
        )
    chosen = [one.chosen for one in audit.experiments.values()]
    if None not in chosen:
        made = frozenset().union(*(one for one in chosen if one is not None))
        for name in audit.measurements.keys() - made:
            yield Violation(
                ("measurements", name),
                f"found the measurement '{name}', which no experiment makes",
                about=name,
                at_key=True,
            )


def _runnable(audit: Audit) -> Iterator[tuple[Loc, Claim, Control, str]]:
    """Every use of a control whose experiment exists, with the experiment's name."""
    for loc, claim, control in controls(audit):
        if control.experiment in audit.experiments:
            yield loc, claim, control, str(control.experiment)


@error(
    "RA110", "A control overrides settings of its experiment.", "Name a setting of the experiment."
)
def _control_settings_exist(audit: Audit) -> Iterator[Violation]:
    for loc, _, control, experiment in _runnable(audit):
        for name in control.settings:
            if audit.setting_of(experiment, name) is None:
                yield Violation(
                    (*loc, "settings", name),
                    not_of("setting", name, experiment),
                    about=name,
                    known=known_settings(audit, experiment),
                    at_key=True,
                )


def _own_value(
    audit: Audit, claim: Claim, experiment: str, name: str, tier: TierName
) -> SettingValue | None:
    """The value that the claim runs with; if it has no such setting, the control's experiment's."""
    for one in (claim.experiment, experiment):
        value = audit.value_of(one, name, tier) if one in audit.experiments else None
        if value is not None:
            return value
    return None


@error(
    "RA111",
    "A control that runs like the claim passes like the claim.",
    "Remove the override, or write a value that takes the mechanism away.",
)
def _control_changes_something(audit: Audit) -> Iterator[Violation]:
    for loc, claim, control, experiment in _runnable(audit):
        unchanged = {
            tier: {
                name
                for name, value in control.settings.items()
                if (own := _own_value(audit, claim, experiment, name, tier)) is not None
                and same(value, own)
            }
            for tier in JUDGED
        }
        idle = [tier for tier in JUDGED if len(unchanged[tier]) == len(control.settings)]
        for name, value in control.settings.items():
            tiers = [tier for tier in JUDGED if name in unchanged[tier]]
            if tiers and (len(tiers) == len(JUDGED) or idle):
                yield Violation(
                    (*loc, "settings", name),
                    f"found {shown(value)}, the claim's own '{name}' at the "
                    f"{' and '.join(tiers)} tier; expected a value that differs",
                )


@error(
    "RA112",
    "Every check fails without training, so a learning rate of 0 tells nothing.",
    "Add a control that trains and lacks only the claimed mechanism.",
)
def _control_trains(audit: Audit) -> Iterator[Violation]:
    for i, claim in enumerate(audit.claims):
        written = [audit.controls.get(c) if isinstance(c, str) else c for c in claim.controls]
        if not all(control is not None and _never_learns(control) for control in written):
            continue
        for j, control in enumerate(written):
            name, settings = claim.controls[j], control.settings if control is not None else {}
            loc = ("controls", name) if isinstance(name, str) else ("claims", i, "controls", j)
            yield Violation(
                (*loc, "settings"),
                f"found only {', '.join(f'{k}: {v}' for k, v in settings.items())}; expected a "
                "control that trains",
            )


def _never_learns(control: Control) -> bool:
    return bool(control.settings) and all(
        _RATE.search(name) and not isinstance(value, bool | tuple | str) and value == 0
        for name, value in control.settings.items()
    )


@error(
    "RA113",
    "A control is judged by the same checks as the claim.",
    "Declare the measurement there with the same kind, axes and unit, or take another experiment.",
)
def _control_measures(audit: Audit) -> Iterator[Violation]:
    for loc, claim, control, experiment in _runnable(audit):
        names = dict.fromkeys(q.measurement for _, _, q in all_quantities(claim.checks))
        movement = audit.movement_of(claim)
        moves = [] if movement is None else [movement.parameters, movement.training_loss]
        for name in control.substitutes:
            if name not in names:
                yield Violation(
                    (*loc, "substitutes", name),
                    f"found '{name}'; expected a measurement that the claim's checks read",
                    about=name,
                    known=names,
                    at_key=True,
                )
        for name in dict.fromkeys([*names, *moves]):
            ours = audit.declaration(claim.experiment, name)
            theirs = audit.declaration(experiment, control.substitutes.get(name, name))
            if ours is None or (theirs is None and name not in names):
                continue
            if found := _unlike(ours, theirs, by_name=name not in control.substitutes):
                yield Violation(
                    (*loc, "experiment"),
                    f"found {found} '{name}' in experiment '{experiment}'; expected it as "
                    f"'{claim.experiment}' declares it, since the claim reads it",
                    about=name,
                )


def _unlike(ours: Declaration, theirs: Declaration | None, *, by_name: bool) -> str:
    """The difference between two declarations, to stand before a name; empty if they agree."""
    if theirs is None:
        return "no"
    if _form(ours) != _form(theirs):
        return "another form of"
    return "another unit of" if by_name and ours.unit != theirs.unit else ""


def _form(declaration: Declaration) -> tuple[MeasurementKind, tuple[str, ...]]:
    return declaration.kind, tuple(axis.name for axis in declaration.axes)


@error(
    "RA114",
    "The checks read the same coordinates in a control.",
    "Keep the coordinate in the override.",
)
def _control_keeps_coordinates(audit: Audit) -> Iterator[Violation]:
    for loc, claim, control, experiment in _runnable(audit):
        tiers = JUDGED if control.scale == "same" else JUDGED[:1]
        for _, _, quantity in all_quantities(claim.checks):
            declaration = audit.declaration(experiment, quantity.measurement)
            for axis in declaration.axes if declaration is not None else ():
                if axis.setting not in control.settings or axis.name not in quantity.at:
                    continue
                at = quantity.at[axis.name]
                for tier in tiers:
                    left = coordinates(audit, experiment, axis, tier, control.settings)
                    if left is not None and key(at) not in keys(left):
                        yield Violation(
                            (*loc, "settings", str(axis.setting)),
                            f"found {shown(left)}, which leaves out {axis.name} {shown(at)} that "
                            "a check reads",
                        )
