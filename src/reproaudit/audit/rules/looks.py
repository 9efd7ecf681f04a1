"""What the checks of an audit look at, for the rules that judge it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from reproaudit.audit.model import Audit, Claim, TierName
from reproaudit.audit.rules.rule import Loc
from reproaudit.cell import SettingValue
from reproaudit.checks import Check, all_quantities
from reproaudit.checks.measurements import Axis, Coordinate, Declaration, Quantity

JUDGED: tuple[TierName, ...] = ("quick", "paper")
"""The tiers with verdicts; smoke only proves that an experiment runs."""


class Look(NamedTuple):
    """One quantity that one check of a claim looks at."""

    loc: Loc
    claim: Claim
    check: Check
    field: str
    quantity: Quantity


def looks(audit: Audit) -> Iterator[Look]:
    """Every quantity of every check."""
    for i, claim in enumerate(audit.claims):
        for j, field, quantity in all_quantities(claim.checks):
            loc = ("claims", i, "checks", j, field)
            yield Look(loc, claim, claim.checks[j], field, quantity)


def checks(audit: Audit) -> Iterator[tuple[Loc, Check]]:
    """Every check with its loc."""
    for i, claim in enumerate(audit.claims):
        for j, check in enumerate(claim.checks):
            yield ("claims", i, "checks", j), check


def declared(audit: Audit, experiment: str, measurement: str) -> Declaration | None:
    """What an experiment declares under a name; None if there is neither."""
    one = audit.experiments.get(experiment)
    return one.measurements.get(measurement) if one is not None else None


def looks_declared(audit: Audit) -> Iterator[tuple[Look, Declaration]]:
    """Every quantity whose measurement is declared."""
    for look in looks(audit):
        declaration = declared(audit, look.claim.experiment, look.quantity.measurement)
        if declaration is not None:
            yield look, declaration


def coordinates(
    audit: Audit,
    experiment: str,
    axis: Axis,
    tier: TierName,
    overrides: Mapping[str, SettingValue] | None = None,
) -> tuple[Coordinate, ...] | None:
    """An axis's coordinates at a tier, None if the axis itself is at fault (RA121, RA122)."""
    if (axis.values, axis.setting, axis.size).count(None) != 2:
        return None
    if axis.setting is None:
        return axis.coordinates({})
    if overrides is not None and axis.setting in overrides:
        value: SettingValue | None = overrides[axis.setting]
    else:
        value = audit.value_of(experiment, axis.setting, tier)
    return value if isinstance(value, tuple) else None
