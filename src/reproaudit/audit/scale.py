"""Finds controls that run at a smaller scale than their claim."""

from __future__ import annotations

from reproaudit.audit.model import Audit, Claim, Control, Setting, TierName
from reproaudit.audit.plan import control_batch
from reproaudit.cell import SettingValue


def smaller_settings(
    audit: Audit, claim: Claim, control: Control, tier: TierName
) -> dict[str, tuple[SettingValue, SettingValue]]:
    """The settings in which a control runs below its claim at a tier.

    Only settings with a smaller value at the quick or smoke tier have a scale. A number is below
    the claim's if it lies on the side of the smaller value; anything else if it differs at all.

    Args:
        control: as `Audit.controls_of` gives it.

    Returns:
        From the setting's name to (the control's value, the claim's value).
    """
    batch = control_batch(audit, control, tier)
    found = {}
    for name, value in batch.settings(audit).items():
        setting = audit.setting_of(claim.experiment, name)
        if setting is None or (setting.quick is None and setting.smoke is None):
            continue
        ours = setting.at(tier)
        if _is_below(value, ours, setting):
            found[name] = (value, ours)
    return found


def _is_below(value: SettingValue, ours: SettingValue, setting: Setting) -> bool:
    smaller = next(
        (s for s in (setting.at("quick"), setting.at("smoke")) if s != setting.value), None
    )
    numbers = [
        float(one)
        for one in (value, ours, smaller, setting.value)
        if isinstance(one, int | float) and not isinstance(one, bool)
    ]
    if smaller is None or len(numbers) < 4:
        return smaller is not None and value != ours
    here, own, small, whole = numbers
    return (here - own) * (small - whole) > 0
