"""Rules of settings and of the underspecification ledger."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator

from reproaudit.audit.model import Audit, Setting
from reproaudit.audit.rules.looks import JUDGED, looks_declared
from reproaudit.audit.rules.rule import Loc, Violation, error, warning
from reproaudit.audit.rules.values import fits, key, keys, kind_of, repeated, same, shown
from reproaudit.cell import SettingValue
from reproaudit.checks.measurements import Coordinate


def _settings(audit: Audit) -> Iterator[tuple[Loc, str, Setting]]:
    for name, setting in audit.settings.items():
        yield ("settings", name), name, setting
    for experiment, one in audit.experiments.items():
        for name, setting in one.settings.items():
            yield ("experiments", experiment, "settings", name), name, setting


def _others(setting: Setting) -> Iterator[tuple[Loc, SettingValue]]:
    """Every other value of a setting, with its place below the setting."""
    for i, value in enumerate(setting.alternatives):
        yield ("alternatives", i), value
    for i, contradiction in enumerate(setting.contradicted_by):
        yield ("contradicted_by", i, "value"), contradiction.value
    if setting.quick is not None:
        yield ("quick", "value"), setting.quick.value
    if setting.smoke is not None:
        yield ("smoke", "value"), setting.smoke.value


@error(
    "RA141",
    "A value that replaces a setting's value must have its type.",
    "Write 1.0 for a decimal number, [1] for a list, quotes for text.",
)
def _one_type(audit: Audit) -> Iterator[Violation]:
    for loc, name, setting in _settings(audit):
        for where, value in _others(setting):
            if not fits(value, setting.value):
                yield Violation(
                    (*loc, *where),
                    f"found {shown(value)}; expected {kind_of(setting.value)}, like the value "
                    f"{shown(setting.value)} of '{name}'",
                )


NEARLY = 1e-5
"""Numbers that differ by no more than this share give nearly the same runs."""


@error("RA142", "An alternative that equals the value would be counted as agreement.", "Remove it.")
def _others_differ(audit: Audit) -> Iterator[Violation]:
    for loc, name, setting in _settings(audit):
        again = {i - 1 for i in repeated((setting.value, *setting.alternatives))}
        for i, value in enumerate(setting.alternatives):
            if i in again or _nearly_same(setting.value, value):
                how = "again" if i in again else f"beside {shown(setting.value)}"
                yield Violation(
                    (*loc, "alternatives", i),
                    f"found {shown(value)} {how}; expected alternatives that differ from "
                    f"'{name}' and from each other",
                )
        for i, contradiction in enumerate(setting.contradicted_by):
            if same(contradiction.value, setting.value):
                yield Violation(
                    (*loc, "contradicted_by", i, "value"),
                    f"found {shown(contradiction.value)}, the value of '{name}' itself; expected "
                    "the other value",
                    "Remove the entry if the sources agree.",
                )


def _nearly_same(a: SettingValue, b: SettingValue) -> bool:
    """True of one setting, and of numbers, or lists of them, that differ by a small share alone."""
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(_nearly_same, a, b))
    if isinstance(a, bool | str | tuple) or isinstance(b, bool | str | tuple):
        return same(a, b)
    return math.isclose(a, b, rel_tol=NEARLY)


@warning(
    "RA143",
    "An override that changes nothing suggests that a value was forgotten.",
    "Remove the override, or write the value that was meant.",
)
def _overrides_change(audit: Audit) -> Iterator[Violation]:
    for loc, _, setting in _settings(audit):
        larger = setting.value
        for tier, scaled in (("quick", setting.quick), ("smoke", setting.smoke)):
            if scaled is None:
                continue
            if same(scaled.value, larger):
                yield Violation(
                    (*loc, tier, "value"),
                    f"found {shown(scaled.value)}, which the larger tier has too; expected "
                    "another value",
                )
            larger = scaled.value


@warning(
    "RA146",
    "A claim cannot be judged under an alternative that lacks a coordinate that it reads.",
    "Add the coordinate to the alternative.",
)
def _alternatives_keep_coordinates(audit: Audit) -> Iterator[Violation]:
    read: dict[Loc, dict[Hashable, tuple[str, Coordinate]]] = {}
    for look, declaration in looks_declared(audit):
        experiment = look.claim.experiment
        for axis in declaration.axes:
            if axis.setting is None or audit.setting_of(experiment, axis.setting) is None:
                continue
            own = axis.setting in audit.experiments[experiment].settings
            loc: Loc = ("experiments", experiment, "settings") if own else ("settings",)
            fixed = (look.quantity.at[axis.name],) if axis.name in look.quantity.at else ()
            among = look.check.among if axis.name == look.check.each else None
            for coordinate in (*fixed, *(among or ())):
                places = read.setdefault((*loc, axis.setting), {})
                places.setdefault(key(coordinate), (axis.name, coordinate))
    for loc, name, setting in _settings(audit):
        for where, value in _others(setting) if loc in read else ():
            if where[0] in JUDGED or where[0] == "smoke" or not isinstance(value, tuple):
                continue  # of a tier's own value, RA104 tells
            left = keys(value)
            for coordinate, (axis_name, shown_as) in read[loc].items():
                if coordinate not in left:
                    yield Violation(
                        (*loc, *where),
                        f"found {shown(value)}, an alternative to '{name}' without {axis_name} "
                        f"{shown(shown_as)}, which a claim reads; it could not be judged",
                    )
