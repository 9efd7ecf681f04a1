"""Finds controls that run at another scale than their claim."""

from __future__ import annotations

from reproaudit.audit.model import Audit, Claim, Control, Setting, TierName
from reproaudit.audit.plan import control_batch
from reproaudit.cell import SettingValue

Rescaled = dict[str, tuple[SettingValue, SettingValue]]
"""From a setting's name to (the control's value, the claim's value)."""


def rescaled_settings(
    audit: Audit, claim: Claim, control: Control, tier: TierName
) -> tuple[Rescaled, Rescaled]:
    """The settings in which a control runs below its claim at a tier, and those in which above.

    Only settings with a smaller value at the quick or smoke tier have a scale, and those that state
    the length of training: `steps`, and those of the audit's stages. A number is below the claim's
    if it lies on the side of the smaller value, and above it on the other; anything else is below
    if it differs at all.

    Args:
        control: as `Audit.controls_of` gives it.
    """
    batch = control_batch(audit, claim, control, tier)
    lengths = {"steps", *(stage.steps for stage in audit.experiments[claim.experiment].stages)}
    below: Rescaled = {}
    above: Rescaled = {}
    for name, value in batch.settings(audit).items():
        setting = audit.setting_of(claim.experiment, name)
        if setting is None:
            continue
        ours, smaller = setting.at(tier), _smaller_value(setting)
        if value != ours and (smaller is not None or name in lengths):
            (below if _is_below(value, ours, setting.value, smaller) else above)[name] = value, ours
    return below, above


def _smaller_value(setting: Setting) -> SettingValue | None:
    """The value of a setting at the first smaller tier that has another one; None if none has."""
    at = (setting.at("quick"), setting.at("smoke"))
    return next((one for one in at if one != setting.value), None)


def _is_below(
    value: SettingValue, ours: SettingValue, whole: SettingValue, smaller: SettingValue | None
) -> bool:
    numbers = [
        float(one)
        for one in (value, ours, whole, 0 if smaller is None else smaller)
        if isinstance(one, int | float) and not isinstance(one, bool)
    ]
    if len(numbers) < 4:
        return True
    here, own, large, small = numbers
    return (here - own) * (small - large) > 0
