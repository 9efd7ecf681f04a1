"""A cell: one experiment with one set of settings and one seed, the smallest thing that is run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from reproaudit.errors import SpecError

Scalar = bool | int | float | str
SettingValue = Scalar | tuple[Scalar, ...]
"""A setting's value: a scalar, or a list of scalars of one type."""


RunForm = Literal["fast", "plain"]
"""The form of an experiment: made for speed, or written straight from the paper's equations."""

CellKey = tuple[str, str, int]
"""A cell within its paper and tier: experiment, `canonical_settings`, seed."""


CUSTOM = "custom"
"""The tier of runs with other seeds, settings or single experiments; they feed no answer."""


@dataclass(frozen=True)
class Cell:
    """One experiment with one set of settings and one seed, before it has run.

    Attributes:
        paper: the audit's slug.
        tier: its folder: smoke, quick, paper, custom, paper-WORD, or multiverse-TIER.
        experiment: the experiment's name in the audit.
        settings: every setting by name; no defaults are filled in later.
        seed: at least 0.
    """

    paper: str
    tier: str
    experiment: str
    settings: Mapping[str, SettingValue]
    seed: int

    @property
    def key(self) -> CellKey:
        """The cell within its paper and tier."""
        return self.experiment, canonical_settings(self.settings), self.seed


def _canonical(value: Any) -> Any:
    """A setting as it is compared: 1 and 1.0 are the same value, True is not 1."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list | tuple):
        return [_canonical(one) for one in value]
    return value


def canonical_settings(settings: Mapping[str, SettingValue]) -> str:
    """The settings as one line of JSON that is equal for equal settings.

    Raises:
        SpecError: if a value is infinite or NaN, or no setting at all.
    """
    plain = {name: _canonical(value) for name, value in settings.items()}
    try:
        return json.dumps(plain, sort_keys=True, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise SpecError(f"settings that cannot be compared ({error}): {dict(settings)}") from error
