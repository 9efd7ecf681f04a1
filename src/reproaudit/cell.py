"""A cell: one experiment with one set of settings and one seed, the smallest thing that is run."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from reproaudit.errors import SpecError

Scalar = bool | int | float | str
SettingValue = Scalar | tuple[Scalar, ...]
"""A setting's value: a scalar, or a list of scalars of one type."""


RunForm = Literal["fast", "plain"]
"""The form of an experiment: made for speed, or written straight from the paper's equations."""

NUMBA_VARIABLE = "NUMBA_NUM_THREADS"
THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", NUMBA_VARIABLE)
"""The environment variables by which libraries compute a cell on so many threads."""

CellKey = tuple[str, str, int]
"""A cell within its paper and tier: experiment, `canonical_settings`, seed."""

TierKey = tuple[str, CellKey]
"""A cell within its paper: tier and cell key."""

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
        return [_canonical(element) for element in value]
    return value


_LINES: dict[str, str] = {}
"""By settings as Python writes them: every record and every claim asks for the same few."""


def canonical_settings(settings: Mapping[str, SettingValue]) -> str:
    """The settings as one line of JSON that is equal for equal settings.

    Raises:
        SpecError: if a value is infinite or NaN, or no setting at all.
    """
    if (written := repr(settings)) not in _LINES:
        plain = {name: _canonical(value) for name, value in settings.items()}
        try:
            _LINES[written] = json.dumps(plain, sort_keys=True, allow_nan=False)
        except (TypeError, ValueError) as error:
            of = f"({error}): {dict(settings)}"
            raise SpecError(f"settings that cannot be compared {of}") from error
    return _LINES[written]


def value_text(value: SettingValue) -> str:
    """Return a setting's value as the names of arms and the keys of an audit have it: true, 0.1."""
    return canonical_settings({"": value})[5:-1].strip('"')


# --- values compared by type as well ------------------------------------------------------------


def _key(value: SettingValue) -> Hashable:
    # In Python True == 1 == 1.0; in an audit true and 1 are different settings.
    return tuple(map(_key, value)) if isinstance(value, tuple) else (isinstance(value, bool), value)


def same(a: SettingValue, b: SettingValue) -> bool:
    """Tell whether two values are the same setting: true is not 1, but 1 is 1.0."""
    return _key(a) == _key(b)


def repeated(values: Iterable[SettingValue]) -> Iterator[int]:
    """Yield the positions of values that came before."""
    seen: set[Hashable] = set()
    for i, value in enumerate(values):
        if (key := _key(value)) in seen:
            yield i
        seen.add(key)


def fits(value: SettingValue, model: SettingValue) -> bool:
    """Tell whether a value has the model's type; a whole number may stand for a decimal one."""
    if isinstance(model, tuple) and isinstance(value, tuple):
        allowed = {kind for element in model for kind in _types(element)}
        return not model or all(type(element) in allowed for element in value)
    return type(value) in _types(model)


def _types(model: SettingValue) -> tuple[type, ...]:
    return (int, float) if type(model) is float else (type(model),)


def kind_of(value: SettingValue) -> str:
    """Return the type of a value in a reviewer's words."""
    words = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}
    return words.get(type(value), "a list")
