"""Settings of an audit: a value with its source, what else it could be, and smaller tiers."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal, Self

from pydantic import Discriminator, Field, Tag, model_validator

from reproaudit.audit.variables import Text
from reproaudit.cell import SettingValue
from reproaudit.declarations import Name, OneComplaint, StrictModel
from reproaudit.errors import UsageError, did_you_mean

TierName = Literal["smoke", "quick", "paper"]
"""The scale of a run."""

TIERS: tuple[TierName, ...] = ("smoke", "quick", "paper")
"""The tiers, from the smallest to the paper's own scale."""


def known_tier(name: str) -> TierName:
    """Return the tier of that name.

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
    """The source of a value, from the strongest to the weakest; the last two are guesses."""

    PAPER = "paper"
    CARD = "card"
    AUTHORS_CODE = "authors_code"
    REVIEWS = "reviews"
    REPRODUCTION = "reproduction"
    DERIVED = "derived"
    RECALLED = "recalled"
    ASSUMPTION = "assumption"


class Scaled(StrictModel):
    """The value that a smaller tier runs in place of a setting's value."""

    value: Value
    """The value at this tier."""
    reason: Text
    """The reason why this value still shows the phenomenon, or why the setting must shrink."""


class Reading(StrictModel):
    """Another value that another source backs; both are run and judged."""

    value: Value
    """The value that the other source states."""
    source: Source
    """The other source."""
    locator: Text
    """The place where the other source states it."""
    together: dict[Name, Value] = Field(default_factory=dict, alias="with")
    """Values of other settings that the same source states and that change along."""
    excused: Text | None = None
    """Why the difference cannot matter, so that it need not be run."""


class Setting(StrictModel):
    """A setting's value at the paper's scale, with its source."""

    value: Value
    """The value that the paper tier runs: true or false, a number, text, or a list of these."""
    source: Source
    """The source of the value. `recalled` is known from memory without a place, `assumption` is
    ours; both are guesses and need `why`, and `alternatives` or `only_reading`."""
    locator: Text | None = None
    """The place where the source states the value: section, table, page, or file and line. Needed
    unless the source is an assumption."""
    words: Text | None = None
    """What a page calls the setting, in a few words; left out, its name."""
    why: Text | None = None
    """Of a guess: the reason for this value, and why its alternatives are credible."""
    alternatives: tuple[Value, ...] = ()
    """Of a guess: other values that a careful reader might equally have chosen."""
    only_reading: Text | None = None
    """Of a guess without alternatives: why there is only one reading."""
    readings: tuple[Reading, ...] = ()
    """Values that other sources back. A finding states the difference."""
    quick: Scaled | None = None
    """The value at the quick tier, if it differs from the paper tier's."""
    smoke: Scaled | None = None
    """The value at the smoke tier, if it differs from the quick tier's."""

    @model_validator(mode="after")
    def _sourced(self) -> Self:
        if not self.guessed and self.locator is None:
            raise ValueError(
                f"a setting from source '{self.source}' needs a 'locator': section, table, page, "
                "or file and line"
            )
        if self.guessed and self.why is None:
            raise ValueError("a guess needs 'why': say what speaks for the value")
        if self.guessed and not self.alternatives and self.only_reading is None:
            raise ValueError(
                "a guess needs 'alternatives' that a careful reader might equally have chosen, or "
                "'only_reading': why there are none"
            )
        return self

    @property
    def guessed(self) -> bool:
        """True if nobody states the value: assumed, or recalled without a place."""
        return self.source in (Source.ASSUMPTION, Source.RECALLED)

    @property
    def underspecified(self) -> bool:
        """True if the setting belongs to the ledger: guessed, or read otherwise by sources."""
        return self.guessed or bool(self.readings)

    @property
    def others(self) -> tuple[SettingValue, ...]:
        """The alternatives and the readings, without repetitions."""
        every = dict.fromkeys([*self.alternatives, *(c.value for c in self.readings)])
        return tuple(value for value in every if value != self.value)

    def at(self, tier: TierName) -> SettingValue:
        """The value at a tier: smoke falls back to quick, and quick to the paper tier's value."""
        if tier == "smoke" and self.smoke is not None:
            return self.smoke.value
        if tier in ("smoke", "quick") and self.quick is not None:
            return self.quick.value
        return self.value
