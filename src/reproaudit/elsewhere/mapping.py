"""The mapping file: which logged quantity is which measurement, and which run is which.

Everything in it is optional. What it leaves out is found by name, or asked for in one line.
"""

from __future__ import annotations

from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from reproaudit.audit.loading import read_as
from reproaudit.audit.model import Text
from reproaudit.cell import SettingValue
from reproaudit.declarations import Name, StrictModel
from reproaudit.errors import SpecError

_Day = date
_Seed = Annotated[int, Field(ge=0, le=2**32 - 1)]


class LoggedQuantity(StrictModel):
    """The origin of a measurement: a tag, or an expression over tags."""

    tag: Text | None = None
    """The logged tag or column; ``{layer}`` stands for the coordinate on the axis layer."""
    expression: Annotated[str, Field(min_length=1, max_length=1000)] | None = None
    """A formula over tags, such as ``log(train_loss) - log(test_loss)``."""
    let: dict[Name, Text] = Field(default_factory=dict)
    """Short names for tags, for the expression."""

    @model_validator(mode="after")
    def _one(self) -> LoggedQuantity:
        if (self.tag is None) == (self.expression is None):
            raise ValueError("state a tag or an expression, one of the two")
        return self

    @property
    def words(self) -> str:
        """The tag or formula, with the meaning of each short name."""
        where = "; ".join(f"{one} is '{tag}'" for one, tag in self.let.items())
        return ", where ".join(filter(None, [self.tag or self.expression, where]))


def _tag_alone(value: Any) -> Any:
    """A measurement's origin; a tag alone may be written as plain text."""
    return {"tag": value} if isinstance(value, str) else value


class RunRule(StrictModel):
    """A rule for the runs whose names match: their experiment, control and seed."""

    match: Text
    """A run's name, with * for any characters."""
    experiment: Name | None = None
    """The experiment, as the audit calls it."""
    settings: dict[Name, SettingValue] | None = None
    """Of a control: the settings that the audit gives it; {} for the experiment itself."""
    seed: _Seed | None = None
    """The seed."""
    status: Literal["completed", "diverged"] = "completed"
    """A diverged run may hold numbers that are not finite, and may have ended early."""
    ignore: bool = False
    """True to leave these runs out."""


class MappingFile(StrictModel):
    """The contents of a mapping file."""

    who: Text | None = None
    """Who made and submits the measurements."""
    source: Text | None = None
    """From where."""
    framework: Text | None = None
    """The framework that computed the runs, with versions."""
    date: _Day | None = None
    """When they were made."""
    tier: Literal["quick", "paper"] | None = None
    """The scale that they were made at."""
    proxy: Text | None = None
    """The stand-in for the paper's data or method, if there was one."""
    step: Text | None = None
    """The column or tag that counts the steps, where it is not the usual one."""
    mapping: dict[Name, Annotated[LoggedQuantity, BeforeValidator(_tag_alone)]] = Field(
        default_factory=dict
    )
    """Measurement -> where it comes from; a tag alone may be written as plain text."""
    configuration: dict[Name, Text | None] = Field(default_factory=dict)
    """Setting of the audit -> its name in the runs' configurations; null if it is not in them."""
    runs: tuple[RunRule, ...] = ()
    """The rules for runs; the first one that matches a run holds."""
    vary: tuple[Text, ...] = ()
    """Values of configurations that may differ between the runs of one experiment."""
    complete: Text | None = None
    """Why curves with gaps, or of different lengths, are known to be all that was logged."""

    def rule(self, run: str) -> RunRule | None:
        """Return the rule for a run of this name."""
        return next((one for one in self.runs if fnmatchcase(run, one.match)), None)


def read_mapping(file: Path) -> MappingFile:
    """Read a mapping file.

    Raises:
        SpecError: listing all that is wrong with it.
    """
    mapping, _, faults = read_as(MappingFile, file, "a mapping file")
    if mapping is None:
        raise SpecError("\n".join(map(str, faults)))
    return mapping
