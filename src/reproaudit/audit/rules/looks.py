"""The quantities that an audit's checks read, for rules of checks, controls and settings."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import NamedTuple

from reproaudit.audit.model import Audit, Claim, TierName
from reproaudit.audit.rules.rule import Loc
from reproaudit.audit.rules.values import key, keys
from reproaudit.cell import SettingValue
from reproaudit.checks import Check, all_quantities
from reproaudit.checks.quantities import Quantity
from reproaudit.declarations import Axis, Coordinate, Declaration

JUDGED: tuple[TierName, ...] = ("quick", "paper")
"""The tiers with verdicts; smoke only shows that an experiment runs."""


class Look(NamedTuple):
    """One quantity that one check of a claim reads."""

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


def looks_declared(audit: Audit) -> Iterator[tuple[Look, Declaration]]:
    """Every quantity whose measurement is declared, with the declaration."""
    for look in looks(audit):
        declaration = audit.declaration(look.claim.experiment, look.quantity.measurement)
        if declaration is not None:
            yield look, declaration


def checks(audit: Audit) -> Iterator[tuple[Loc, Check]]:
    """Every check with its place."""
    for i, claim in enumerate(audit.claims):
        for j, check in enumerate(claim.checks):
            yield ("claims", i, "checks", j), check


def coordinates(
    audit: Audit,
    experiment: str,
    axis: Axis,
    tier: TierName,
    overrides: Mapping[str, SettingValue] | None = None,
) -> tuple[Coordinate, ...] | None:
    """An axis's coordinates at a tier; None if the axis itself is at fault (RA121, RA122)."""
    if (axis.values, axis.setting, axis.size).count(None) != 2:
        return None
    if axis.setting is None:
        return axis.coordinates({})
    if overrides is not None and axis.setting in overrides:
        value: SettingValue | None = overrides[axis.setting]
    else:
        value = audit.value_of(experiment, axis.setting, tier)
    return value if isinstance(value, tuple) else None


class AxisCoordinates:
    """The coordinates of an audit's axes at each tier, each axis worked out once."""

    def __init__(self, audit: Audit) -> None:
        self._audit = audit
        self._keys: dict[tuple[str, int, TierName], frozenset[Hashable] | None] = {}

    def keys(self, experiment: str, axis: Axis, tier: TierName) -> frozenset[Hashable] | None:
        """The keys of an axis's coordinates at a tier; None if the axis itself is at fault."""
        known = (experiment if axis.setting is not None else "", id(axis), tier)
        if known not in self._keys:
            found = coordinates(self._audit, experiment, axis, tier)
            self._keys[known] = None if found is None else keys(found)
        return self._keys[known]

    def has(self, experiment: str, axis: Axis, tier: TierName, coordinate: Coordinate) -> bool:
        """True if a coordinate lies on an axis at a tier, or the axis itself is at fault."""
        if axis.size is not None and axis.values is None and axis.setting is None:
            return type(coordinate) is not bool and coordinate in range(axis.size)
        found = self.keys(experiment, axis, tier)
        return found is None or key(coordinate) in found

    def lacking(self, experiment: str, axis: Axis, coordinate: Coordinate) -> TierName | None:
        """The first judged tier at which a coordinate is missing from an axis, if there is one."""
        for tier in JUDGED:
            if not self.has(experiment, axis, tier, coordinate):
                return tier
        return None
