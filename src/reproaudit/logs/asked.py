"""What an audit and a mapping ask of logs, wherever these lie."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Literal

from pydantic import Field, field_validator

from reproaudit.audit.model import Text
from reproaudit.cell import SettingValue
from reproaudit.declarations import StrictModel


class Columns(StrictModel):
    """The roles of a table's columns, where their names do not say them."""

    seed: Text | None = None
    """The column of seeds, such as ``fold``."""
    step: Text | None = None
    """The column or tag that counts the steps, where it is not the usual one."""
    run: Text | None = None
    """The column that names the run of each row."""
    settings: dict[Text, Text] = Field(default_factory=dict)
    """Columns of what runs were started with: a list of them, or setting -> column. If none
    are stated, as `settings: []`, a table with many, as of a search, is one run."""
    axes: dict[Text, Text] = Field(default_factory=dict)
    """Columns of coordinates: a list of them, or axis -> column."""

    @field_validator("settings", "axes", mode="before")
    @classmethod
    def _own_names(cls, value: Any) -> Any:
        return {str(column): column for column in value} if isinstance(value, list) else value

    @property
    def of_one_run(self) -> bool:
        """Whether no column is a setting, so that a table with many is one run."""
        return "settings" in self.model_fields_set and not self.settings

    def stated(self) -> list[tuple[str, str, str]]:
        """Return each stated role with its name and column."""
        named = [("seed", "", self.seed), ("step", "", self.step), ("run", "", self.run)]
        named += [("setting", name, column) for name, column in self.settings.items()]
        named += [("axis", name, column) for name, column in self.axes.items()]
        return [(role, name, column) for role, name, column in named if column is not None]


@dataclass(frozen=True)
class Asked:
    """What an audit and a mapping ask of logs."""

    axes: frozenset[str] = frozenset()  # the axes of the audit's measurements
    settings: frozenset[str] = frozenset()  # what the audit's settings are called in logs
    # the tags that measurements are made of; ``*`` stands for a coordinate
    wanted: frozenset[str] = frozenset()
    # the roles of columns that the mapping states
    columns: Columns = field(default_factory=Columns)
    # what logs leave out and is counted from 0: "seeds", "steps"
    numbered: frozenset[str] = frozenset()
    # which points hold where a curve goes back to an earlier step
    overlap: Literal["earlier", "later"] | None = None
    # True of measurements that were handed in: no column is taken for a setting
    plain: bool = False
    series: frozenset[str] = frozenset()  # those of the wanted tags that are to have steps
    only: str | None = None  # the tag of the only measurement, where there is one alone
    # tags that have places for what tells runs apart, such as ``split{seed}_score``
    patterns: tuple[str, ...] = ()
    # the settings of each arm, by its name in logs
    arms: Mapping[str, Mapping[str, SettingValue]] = field(default_factory=dict)
    # the values that the audit has of each setting, in its arms among them
    values: Mapping[str, tuple[SettingValue, ...]] = field(default_factory=dict)
    names: str | None = None  # where in the names of files it stands what tells runs apart
    ignores: Callable[[str], bool] = lambda _: False  # whether a rule leaves out what is called so
    is_ruled: Callable[[str], bool] = lambda _: False  # whether a rule speaks of it
    places: Callable[[str], bool] = lambda _: False  # whether a rule says what role it has

    def wants(self, tag: str) -> bool:
        """Return True if a measurement is made of this tag."""
        return _is_among(tag, self.wanted)

    def without_arms(self, parts: Iterable[str]) -> list[str]:
        """Return the names of folders and files that are called as no arm is, but for its number.

        Where an arm is called `run_1`, `run_2` is no seed.
        """
        called = {re.sub(r"\d+", "#", arm) for arm in self.arms}
        return [part for part in parts if re.sub(r"\d+", "#", part.partition(".")[0]) not in called]

    def wants_any(self, tags: Iterable[str]) -> bool:
        """Return True if a measurement is made of one of these tags."""
        return any(map(self.wants, tags))

    def wants_course(self, tag: str) -> bool:
        """Return True if a series is made of this tag."""
        return _is_among(tag, self.series)


def _is_among(tag: str, wanted: frozenset[str]) -> bool:
    return tag in wanted or any("*" in each and fnmatchcase(tag, each) for each in wanted)
