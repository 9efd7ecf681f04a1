"""Rules of settings: types, alternatives, readings and what smaller tiers run."""

from __future__ import annotations

import math
from collections.abc import Iterator

from reproaudit.audit.model import Audit, Setting, Source
from reproaudit.audit.rules.looks import among, declared, uses
from reproaudit.audit.rules.names import known_settings, not_of
from reproaudit.audit.rules.rule import Loc, Violation, error, warning
from reproaudit.audit.rules.values import fits, kind_of, repeated, same, shown
from reproaudit.cell import SettingValue
from reproaudit.declarations import Coordinate


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
    for tier, scaled in (("quick", setting.quick), ("smoke", setting.smoke)):
        if scaled is not None:
            yield (tier, "value"), scaled.value


def _replacing(audit: Audit) -> Iterator[tuple[Loc, str, Setting, SettingValue]]:
    """Every value in place of a setting's own: in it, in arms, along with a reading."""
    for loc, name, setting in _settings(audit):
        yield from (((*loc, *where), name, setting, value) for where, value in _others(setting))
        for i, reading in enumerate(setting.readings):
            for experiment in _users(audit, name, setting) if reading.together else ():
                for other, value in reading.together.items():
                    if (known := audit.setting_of(experiment, other)) is not None:
                        yield (*loc, "readings", i, "with", other), other, known, value
    for use in {(one.written, one.experiment): one for one in uses(audit)}.values():
        for name, value in use.arm.settings.items() if use.experiment in audit.experiments else ():
            if (known := audit.setting_of(use.experiment, name)) is not None:
                yield (*use.written, "settings", name), name, known, value


def _users(audit: Audit, name: str, setting: Setting) -> list[str]:
    """The experiments that a setting belongs to."""
    return [one for one in audit.experiments if audit.setting_of(one, name) is setting]


@error(
    "RA141",
    "A value that replaces a setting's value must have its type.",
    "Write 1.0 for a decimal number, [1] for a list, quotes for text.",
)
def _one_type(audit: Audit) -> Iterator[Violation]:
    for loc, name, setting, value in _replacing(audit):
        if not fits(value, setting.value):
            expected = f"{kind_of(setting.value)}, like the value {shown(setting.value)}"
            yield Violation(loc, f"found {shown(value)}; expected {expected} of '{name}'")


NEARLY = 1e-5
"""Numbers that differ by no more than this share give nearly the same runs."""


@error("RA142", "An alternative that equals the value would be counted as agreement.", "Remove it.")
def _others_differ(audit: Audit) -> Iterator[Violation]:
    for loc, name, setting in _settings(audit):
        again = {i - 1 for i in repeated((setting.value, *setting.alternatives))}
        for i, value in enumerate(setting.alternatives):
            if i in again or _nearly_same(setting.value, value):
                how = "again" if i in again else f"next to {shown(setting.value)}"
                message = f"found {shown(value)} {how}; expected alternatives that differ from"
                yield Violation((*loc, "alternatives", i), f"{message} '{name}' and each other")
        for i, reading in enumerate(setting.readings):
            if same(reading.value, setting.value):
                message = f"found {shown(reading.value)}, the value of '{name}' itself; expected "
                remedy = "Remove the entry if the sources agree."
                place = (*loc, "readings", i, "value")
                yield Violation(place, f"{message}the other value", remedy)


def _nearly_same(a: SettingValue, b: SettingValue) -> bool:
    """True of the same setting, and of numbers, or lists of them, that differ by a small share."""
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
            if scaled is not None and same(scaled.value, larger):
                message = f"found {shown(scaled.value)}, which the larger tier has too"
                yield Violation((*loc, tier, "value"), f"{message}; expected another value")
            larger = scaled.value if scaled is not None else larger


@error(
    "RA144",
    "Sources that state different values are a finding of the audit.",
    "Add a finding that names the setting.",
)
def _readings_are_findings(audit: Audit) -> Iterator[Violation]:
    named = {name for finding in audit.findings for name in finding.settings}
    for loc, name, setting in _settings(audit):
        own = f"{loc[1]}.{name}" if loc[0] == "experiments" else name
        if setting.readings and not named & {name, own}:
            message = f"found readings of '{name}'; expected a finding whose settings name it"
            remedy = f"Add a finding with 'settings: [{own}]' that says what the sources state."
            yield Violation((*loc, "readings"), message, remedy)


@error(
    "RA145",
    "Only a guess has alternatives; what another source states is a reading.",
    "Move the value to 'readings' with its source, or say that the setting's value is a guess.",
)
def _alternatives_of_guesses(audit: Audit) -> Iterator[Violation]:
    for loc, name, setting in _settings(audit):
        if setting.alternatives and not setting.guessed:
            message = f"found alternatives to '{name}', which '{setting.source}' states"
            yield Violation((*loc, "alternatives"), message, at_key=True)


@warning(
    "RA146",
    "A claim cannot be judged under a value that lacks a coordinate that it reads.",
    "Add the coordinate to the value.",
)
def _others_keep_coordinates(audit: Audit) -> Iterator[Violation]:
    read: dict[tuple[str, str], dict[Coordinate, str]] = {}
    for look, declaration in declared(audit):
        for axis in declaration.axes:
            if axis.setting is not None and axis.name in look.fixed:
                of_axis = read.setdefault((look.experiment, axis.setting), {})
                of_axis[look.fixed[axis.name]] = axis.name
    for (experiment, name), needed in read.items():
        setting = audit.setting_of(experiment, name)
        if setting is None:
            continue
        own = name in audit.experiments[experiment].settings
        loc: Loc = ("experiments", experiment, "settings", name) if own else ("settings", name)
        for where, value in _others(setting):
            if not isinstance(value, tuple) or where[0] in ("quick", "smoke"):
                continue  # of a tier's own value, RA104 tells
            if lost := [at for at in needed if not among(at, value)]:
                message = f"found {shown(value)}, without {needed[lost[0]]} {shown(lost[0])}"
                yield Violation((*loc, *where), f"{message}, which a claim reads")


@error(
    "RA219",
    "Values that a source states together are settings of the same experiments.",
    "Name a setting of the experiment.",
)
def _together_exist(audit: Audit) -> Iterator[Violation]:
    for loc, name, setting in _settings(audit):
        for i, reading in enumerate(setting.readings):
            users = _users(audit, name, setting) if reading.together else []
            for other in reading.together:
                lacking = [e for e in users if audit.setting_of(e, other) is None]
                if lacking:
                    place = (*loc, "readings", i, "with", other)
                    known = known_settings(audit, lacking[0])
                    message = not_of("setting", other, lacking[0])
                    yield Violation(place, message, about=other, known=known, at_key=True)


@error(
    "RA222",
    "A reading is what a source states; what is guessed is an alternative.",
    "Name the source with its place, or move the value to 'alternatives'.",
)
def _readings_have_sources(audit: Audit) -> Iterator[Violation]:
    for loc, _, setting in _settings(audit):
        for i, reading in enumerate(setting.readings):
            if reading.source in (Source.ASSUMPTION, Source.RECALLED):
                message = f"found '{reading.source}'; expected a source that states the value"
                yield Violation((*loc, "readings", i, "source"), message)
