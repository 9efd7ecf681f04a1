"""The runs' configurations against the audit's settings: equal, contradicting or absent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from reproaudit.audit.model import Audit
from reproaudit.audit.plan import Batch
from reproaudit.audit.rules.values import key, keys, same, shown
from reproaudit.audit.training_length import end_beside
from reproaudit.cell import SettingValue
from reproaudit.elsewhere.logged import LogError
from reproaudit.elsewhere.mapping import MappingFile
from reproaudit.elsewhere.roles import PlacedRun, Stated, role_words

LAST_LOGGED = "last logged step"
"""The place of a length of training that no configuration states, and the logs contradict."""


@dataclass(frozen=True)
class ComparedSetting:
    """One setting of one role.

    Attributes:
        batch: the experiment or control.
        name: the setting.
        audit: the audit's value.
        source: where the audit has it from.
        found: the configurations' value; None if it is absent.
        called: what the configurations call it, or `LAST_LOGGED`.
        alternative: whether the found value is one that the audit's ledger lists.
    """

    batch: Batch
    name: str
    audit: SettingValue
    source: str
    found: SettingValue | None
    called: str | None
    alternative: bool

    @property
    def status(self) -> Literal["equal", "contradicting", "absent"]:
        """The relation of the value found in the logs to the audit's."""
        if self.found is None:
            return "absent"
        return "equal" if same(self.found, self.audit) else "contradicting"


def compare_settings(
    audit: Audit, placed: Sequence[PlacedRun], mapping: MappingFile
) -> tuple[ComparedSetting, ...]:
    """Every setting of every role; the runs of a role state the same, as `place_runs` saw to.

    Where the setting `steps` is stated nowhere, the last step that was logged stands in for it if
    it contradicts the audit, unless the mapping says null for the setting. So it does for one that
    is stated, where curves that look cut are attested to be whole: no more was trained than that.
    """
    first: dict[Batch, PlacedRun] = {}
    for one in placed:
        known = first.get(one.batch)
        if known is None or len(one.stated) > len(known.stated):
            first[one.batch] = one
    compared = []
    for batch, one in sorted(first.items(), key=lambda pair: bool(pair[0].overrides)):
        values = batch.settings(audit)
        for name, setting in audit.settings_of(batch.experiment).items():
            stated = one.stated.get(name)
            in_logs = mapping.configuration.get(name, name) is not None
            is_attested = mapping.complete is not None
            if name == "steps" and in_logs and (stated is None or is_attested):
                series = [
                    curve.steps
                    for other in placed
                    if other.batch == batch and not other.diverged
                    for by_place in other.run.curves.values()
                    for curve in by_place.values()
                    if curve.steps is not None
                ]
                length = values[name] if stated is None else stated.value
                ended = end_beside(series, length)
                stated = stated if ended is None else Stated(LAST_LOGGED, ended)
            compared.append(
                ComparedSetting(
                    batch=batch,
                    name=name,
                    audit=values[name],
                    source=setting.source.value,
                    found=None if stated is None else stated.value,
                    called=None if stated is None else stated.name,
                    alternative=stated is not None and key(stated.value) in keys(setting.others),
                )
            )
    return tuple(compared)


def manifest_settings(compared: Iterable[ComparedSetting]) -> Mapping[str, SettingValue]:
    """The settings that the logs state of every run of an experiment, for a manifest.

    Raises:
        LogError: if the experiment and a control of it state different values, which a manifest
            cannot hold.
    """
    compared = tuple(compared)
    found: dict[str, SettingValue] = {}
    for one in compared:
        control = bool(one.batch.overrides)
        if (
            one.found is None
            or one.name in dict(one.batch.overrides)
            or (control and (one.status == "equal" or one.called == LAST_LOGGED))
        ):
            continue  # what a control states alone, it does not state for the experiment
        stated = one.audit if one.status == "equal" else one.found
        found.setdefault(f"{one.batch.experiment}.{one.name}", stated)
    for one in compared:
        own = dict(one.batch.overrides)
        value = found.get(f"{one.batch.experiment}.{one.name}")
        if value is None or one.found is None or one.name in own or same(one.found, value):
            continue
        if one.called == LAST_LOGGED:  # seen, not stated: no configuration contradicts another
            continue
        raise LogError(
            f"runs of {role_words(one.batch)}",
            f"found {one.name} = {shown(one.found)}, and {shown(value)} in other runs of the "
            "experiment; expected one value for both. A manifest holds one: import them apart.",
        )
    return found
