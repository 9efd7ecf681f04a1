"""Rules of settings: types, alternatives and readings."""

from __future__ import annotations

from collections.abc import Iterator

from reproaudit.audit.model import Audit, Setting, Source
from reproaudit.audit.rules.looks import no_setting, uses
from reproaudit.audit.rules.table import Loc, Violation
from reproaudit.audit.rules.values import fits, kind_of, repeated, same, shown
from reproaudit.cell import SettingValue


def _settings(audit: Audit) -> Iterator[tuple[Loc, str, Setting]]:
    for name, setting in audit.settings.items():
        yield ("settings", name), name, setting
    for experiment, one in audit.experiments.items():
        for name, setting in one.settings.items():
            yield ("experiments", experiment, "settings", name), name, setting


def _replacing(audit: Audit) -> Iterator[tuple[Loc, str, Setting, SettingValue]]:
    """Every value in place of a setting's own: in it, in arms, along with a reading."""
    for loc, name, setting in _settings(audit):
        for i, value in enumerate(setting.alternatives):
            yield (*loc, "alternatives", i), name, setting, value
        for i, reading in enumerate(setting.readings):
            yield (*loc, "readings", i, "value"), name, setting, reading.value
        for tier, scaled in (("quick", setting.quick), ("smoke", setting.smoke)):
            if scaled is not None:
                yield (*loc, tier, "value"), name, setting, scaled.value
        for place, other, experiment, value in _together(audit, loc, name, setting):
            if (known := audit.setting_of(experiment, other)) is not None:
                yield place, other, known, value
    for use in {(one.written, one.experiment): one for one in uses(audit)}.values():
        for name, value in use.arm.settings.items() if use.experiment in audit.experiments else ():
            if (known := audit.setting_of(use.experiment, name)) is not None:
                yield (*use.written, "settings", name), name, known, value


def _together(
    audit: Audit, loc: Loc, name: str, setting: Setting
) -> Iterator[tuple[Loc, str, str, SettingValue]]:
    """The values that change along with a reading, for each experiment that has the setting."""
    for i, reading in enumerate(setting.readings):
        for experiment in audit.experiments if reading.together else ():
            if audit.setting_of(experiment, name) is setting:
                for other, value in reading.together.items():
                    yield (*loc, "readings", i, "with", other), other, experiment, value


def of_types(audit: Audit) -> Iterator[Violation]:
    """Yield values that have another type than the setting that they replace."""
    for loc, name, setting, value in _replacing(audit):
        if not fits(value, setting.value):
            expected = f"{kind_of(setting.value)}, like the value {shown(setting.value)}"
            message = f"found {shown(value)}; expected {expected} of '{name}'"
            yield Violation("RA141", loc, message)


def of_alternatives(audit: Audit) -> Iterator[Violation]:
    """Yield alternatives that equal the value or each other, or that a stated value has."""
    for loc, name, setting in _settings(audit):
        for i in repeated((setting.value, *setting.alternatives)):
            value = shown(setting.alternatives[i - 1])
            message = f"found {value} again; expected alternatives that differ from '{name}' "
            place = (*loc, "alternatives", i - 1)
            yield Violation("RA142", place, f"{message}and each other")
        if setting.alternatives and not setting.guessed:
            message = f"found alternatives to '{name}', which '{setting.source}' states"
            yield Violation("RA145", (*loc, "alternatives"), message, at_key=True)


def of_readings(audit: Audit) -> Iterator[Violation]:
    """Yield readings without a source, a finding or a difference, and settings unknown to them."""
    found = {name for finding in audit.findings for name in finding.settings}
    for loc, name, setting in _settings(audit):
        own = f"{loc[1]}.{name}" if loc[0] == "experiments" else name
        if setting.readings and not found & {name, own}:
            message = f"found readings of '{name}'; expected a finding whose settings name it"
            remedy = f"Add a finding with 'settings: [{own}]' that says what the sources state."
            yield Violation("RA144", (*loc, "readings"), message, remedy)
        for i, reading in enumerate(setting.readings):
            place = (*loc, "readings", i)
            if same(reading.value, setting.value):
                message = f"found {shown(reading.value)}, the value of '{name}' itself; expected "
                remedy = "Remove the entry if the sources agree."
                where = (*place, "value")
                yield Violation("RA142", where, f"{message}the other value", remedy)
            if reading.source in (Source.ASSUMPTION, Source.RECALLED):
                message = f"found '{reading.source}'; expected a source that states the value"
                yield Violation("RA222", (*place, "source"), message)
        unknown: dict[Loc, Violation] = {}
        for place, other, experiment, _ in _together(audit, loc, name, setting):
            if audit.setting_of(experiment, other) is None and place not in unknown:
                fault = no_setting("RA219", audit, place, other, experiment, at_key=True)
                unknown[place] = fault
        yield from unknown.values()
