"""Judges how close a claim's own runs were to the paper, apart from what they show.

For each setting that the claim's experiment reads, by the value that was run:

- the value at the paper's scale: `exact`, or `assumed` if the paper does not state it, or if runs
  from elsewhere do not state that they had it;
- a value of a smaller tier: `reduced`, even if an alternative of the ledger has the same value;
- of runs from elsewhere, an alternative of the ledger: `assumed`;
- any other value: `proxy`.

The weakest setting counts. A record of other data or of another method is a proxy.
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from reproaudit.audit.model import Audit, Claim, Setting, Source, TierName
from reproaudit.cell import SettingValue
from reproaudit.judging.model import EvidenceLevel
from reproaudit.records import Origin, Record

GUESSED = frozenset({Source.ASSUMPTION, Source.RECALLED})
"""The sources of settings that the paper does not state."""


class StatingOrigin(Origin):
    """An origin that tells which settings the runs are known to have had."""

    stated: tuple[str, ...] = Field(
        description="the settings that the measurements' manifest states of the run"
    )


def is_guessed(setting: Setting) -> bool:
    """True if a setting's value is a guess of ours: assumed, recalled, or contradicted."""
    return setting.source in GUESSED or setting.underspecified


def evidence_level(
    audit: Audit, claim: Claim, tier: TierName, records: Sequence[Record]
) -> EvidenceLevel:
    """The closeness of the claim's own runs to the paper.

    Measurements made elsewhere may have other settings than the tier; the weakest run counts.
    """
    if any(record.proxy for record in records):
        return EvidenceLevel.PROXY
    settings = audit.settings_of(claim.experiment)
    planned = audit.values_of(claim.experiment, tier)
    runs = [
        (one.settings, one.origin.stated if isinstance(one.origin, StatingOrigin) else ())
        for one in records
        if one.origin is not None
    ] or [(planned, tuple(settings))]
    levels = {
        _closeness(one, values.get(name), name in stated)
        for values, stated in runs
        for name, one in settings.items()
    }
    return next((level for level in _WEAKEST_FIRST if level in levels), EvidenceLevel.EXACT)


_WEAKEST_FIRST = (EvidenceLevel.PROXY, EvidenceLevel.REDUCED, EvidenceLevel.ASSUMED)


def _closeness(setting: Setting, value: SettingValue | None, stated: bool) -> EvidenceLevel:
    """The closeness to the paper of a run with this value, judged by this setting alone."""
    if value == setting.value:
        return EvidenceLevel.EXACT if stated and not is_guessed(setting) else EvidenceLevel.ASSUMED
    if value in (setting.at("quick"), setting.at("smoke")):
        return EvidenceLevel.REDUCED
    if setting.underspecified and value in setting.others:
        return EvidenceLevel.ASSUMED
    return EvidenceLevel.PROXY
