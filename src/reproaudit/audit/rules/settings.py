"""Rules of settings and of the underspecification ledger."""

from __future__ import annotations

import math
from collections.abc import Iterator

from reproaudit.audit.model import Audit, Setting
from reproaudit.audit.rules.rule import Loc, Violation, error, warning
from reproaudit.audit.rules.values import fits, kind_of, repeated, same, shown
from reproaudit.cell import SettingValue


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
    for i, reading in enumerate(setting.readings):
        yield ("readings", i, "value"), reading.value
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
        for i, reading in enumerate(setting.readings):
            if same(reading.value, setting.value):
                yield Violation(
                    (*loc, "readings", i, "value"),
                    f"found {shown(reading.value)}, the value of '{name}' itself; expected the "
                    "other value",
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


@error(
    "RA216",
    "Only a guess has alternatives; what another source states is a reading.",
    "Move the values to 'readings' with their source, or say that the value is a guess.",
)
def _alternatives_of_guesses(audit: Audit) -> Iterator[Violation]:
    for loc, name, setting in _settings(audit):
        if setting.alternatives and not setting.guessed:
            yield Violation(
                (*loc, "alternatives"),
                f"found alternatives to '{name}', which '{setting.source.value}' states",
                at_key=True,
            )
