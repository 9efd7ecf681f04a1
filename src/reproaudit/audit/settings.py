"""Settings of an audit: a value with its source, what else it could be, and smaller tiers."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal, Self

from pydantic import Discriminator, Tag, model_validator
from pydantic_core import PydanticCustomError

from reproaudit.audit.variables import Text
from reproaudit.cell import SettingValue
from reproaudit.checks.measurements import OneComplaint, StrictModel
from reproaudit.errors import UsageError, did_you_mean

TierName = Literal["smoke", "quick", "paper"]
"""The scale of a run."""

TIERS: tuple[TierName, ...] = ("smoke", "quick", "paper")
"""The tiers, from the smallest to the paper's own scale."""


def known_tier(name: str) -> TierName:
    """Returns the tier of that name.

    Raises:
        UsageError: if there is no such tier.
    """
    for tier in TIERS:
        if name == tier:
            return tier
    raise UsageError(f"no tier '{name}'. {did_you_mean(name, TIERS)}".rstrip())


def _shape(value: Any) -> str:
    return "list" if isinstance(value, list | tuple) else "single"


Single = Annotated[
    bool | int | float | str, OneComplaint("true or false, a number, text, or a list of these")
]
ListItem = Annotated[bool | int | float | str, OneComplaint("true or false, a number or text")]
Value = Annotated[
    Annotated[Single, Tag("single")] | Annotated[tuple[ListItem, ...], Tag("list")],
    Discriminator(_shape),
]
"""A setting's value: `reproaudit.cell.SettingValue`, which complains once about a wrong type."""


class Source(StrEnum):
    """The source of a value, from the strongest to the weakest."""

    PAPER = "paper"
    CARD = "card"
    AUTHORS_CODE = "authors_code"
    REVIEWS = "reviews"
    DERIVED = "derived"
    RECALLED = "recalled"
    ASSUMPTION = "assumption"


class Scaled(StrictModel):
    """The value that a smaller tier runs in place of a setting's value."""

    value: Value
    """The value at this tier."""
    reason: Text
    """The reason why this value still shows the phenomenon, or why the setting must shrink."""


class Contradiction(StrictModel):
    """Another source that states another value."""

    value: Value
    """The value that the other source states."""
    source: Source
    """The other source."""
    locator: Text
    """The place where the other source states it."""


class Setting(StrictModel):
    """A setting's value at the paper's scale, with its source."""

    value: Value
    """The value that the paper tier runs: true or false, a number, text, or a list of these."""
    source: Source
    """The source of the value. `recalled` is known from memory without a place; `assumption` is a
    guess of ours and needs `why` and `alternatives`."""
    locator: Text | None = None
    """The place where the source states the value: section, table, page, or file and line. Needed
    unless the source is an assumption."""
    why: Text | None = None
    """Of an assumption: the reason for this value."""
    alternatives: tuple[Value, ...] = ()
    """Of an assumption: other values that a careful reader might equally have chosen.
    `reproaudit multiverse` runs them."""
    contradicted_by: tuple[Contradiction, ...] = ()
    """Other sources that state another value. A finding must tell of it."""
    quick: Scaled | None = None
    """The value at the quick tier, if it differs from the paper tier's."""
    smoke: Scaled | None = None
    """The value at the smoke tier, if it differs from the quick tier's."""

    @model_validator(mode="after")
    def _sourced(self) -> Self:
        if self.source is Source.ASSUMPTION:
            if self.why is None:
                raise PydanticCustomError(
                    "unexplained_assumption",
                    "an assumption needs 'why': say what speaks for the value",
                )
            if not self.alternatives:
                raise PydanticCustomError(
                    "unexplained_assumption",
                    "an assumption needs 'alternatives': list the values that a careful reader "
                    "might equally have chosen",
                )
        elif self.locator is None:
            raise PydanticCustomError(
                "unlocated_setting",
                "a setting from source '{source}' needs a 'locator': say where the source states "
                "the value",
                {"source": self.source.value},
            )
        return self

    @property
    def underspecified(self) -> bool:
        """True if the setting belongs to the ledger: assumed, or contradicted between sources."""
        return self.source is Source.ASSUMPTION or bool(self.contradicted_by)

    @property
    def others(self) -> tuple[SettingValue, ...]:
        """The alternatives and the values that other sources state, without repetitions."""
        every = dict.fromkeys([*self.alternatives, *(c.value for c in self.contradicted_by)])
        return tuple(value for value in every if value != self.value)

    def at(self, tier: TierName) -> SettingValue:
        """The value at a tier: smoke falls back to quick, and quick to the paper tier's value."""
        if tier == "smoke" and self.smoke is not None:
            return self.smoke.value
        if tier in ("smoke", "quick") and self.quick is not None:
            return self.quick.value
        return self.value
