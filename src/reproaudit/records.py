"""Measurements of an experiment, and the record of one finished cell.

A *cell* is one experiment with one set of settings and one seed. Its record stands alone: whoever
holds the file knows the settings, the seed, the code, the versions and the device that made the
numbers, and needs nothing else to judge them.

No number in a record is NaN or infinite. A run that produced one has the status ``diverged`` and
keeps what was finite (`Measurements.finite_part`).
"""

from __future__ import annotations

from datetime import date, datetime
from enum import StrEnum
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    PlainValidator,
    model_validator,
)

from reproaudit.cell import CellKey, RunForm, SettingValue, canonical_settings

RECORD_VERSION = 1


LARGEST_NUMBER = 1e150
"""A larger number counts as diverged: its square is beyond what a computer can hold."""


def is_finite(values: Any) -> Any:
    """True for each number that is neither NaN nor larger than `LARGEST_NUMBER`."""
    return np.abs(values) <= LARGEST_NUMBER


def _as_array(value: Any) -> NDArray[np.float64]:
    found = np.asarray(value)  # a ragged list raises ValueError here
    if found.dtype.kind not in "biuf":
        raise ValueError(f"real numbers are expected, and these are of type {found.dtype}")
    array = np.array(found, dtype=np.float64)
    array.setflags(write=False)
    return array


def _as_number(value: Any) -> Any:
    if isinstance(value, str | bytes):
        raise ValueError("a number is expected, and this is text")
    return value


FiniteNumber = Annotated[float, BeforeValidator(_as_number)]

Numbers = Annotated[
    NDArray[np.float64],
    PlainValidator(_as_array),
    PlainSerializer(lambda array: array.tolist(), return_type=list[Any]),
]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)


class Series(_Model):
    """A quantity observed along training.

    Attributes:
        steps: the training steps at which it was observed, increasing; shape (step,).
        values: what was observed; shape (step, *axes).
    """

    steps: tuple[int, ...]
    values: Numbers

    @model_validator(mode="after")
    def _aligned(self) -> Series:
        if self.values.ndim < 1 or len(self.steps) != self.values.shape[0]:
            raise ValueError(
                f"a series of {len(self.steps)} steps has values of shape {self.values.shape}; "
                "the first axis is the step"
            )
        if any(b <= a for a, b in zip(self.steps, self.steps[1:], strict=False)):
            raise ValueError("the steps of a series increase")
        return self


class Measurements(_Model):
    """The measurements of one cell, by name: scalars, series over training steps, small arrays."""

    scalars: dict[str, FiniteNumber] = Field(default_factory=dict)
    series: dict[str, Series] = Field(default_factory=dict)
    arrays: dict[str, Numbers] = Field(default_factory=dict)

    @property
    def names(self) -> frozenset[str]:
        """The names of everything that was measured."""
        return frozenset({*self.scalars, *self.series, *self.arrays})

    @property
    def finite(self) -> bool:
        """True if no number is NaN, infinite or larger than `LARGEST_NUMBER`."""
        return (
            all(is_finite(x) for x in self.scalars.values())
            and all(is_finite(s.values).all() for s in self.series.values())
            and all(is_finite(a).all() for a in self.arrays.values())
        )

    def finite_part(self) -> Measurements:
        """The finite part of a diverged run: each series up to its first non-finite observation."""
        series = {}
        for name, one in self.series.items():
            finite = is_finite(one.values).reshape(len(one.steps), -1).all(axis=1)
            keep = int(np.cumprod(finite).sum())
            if keep:
                series[name] = Series(steps=one.steps[:keep], values=one.values[:keep])
        return Measurements(
            scalars={k: v for k, v in self.scalars.items() if is_finite(v)},
            series=series,
            arrays={k: v for k, v in self.arrays.items() if is_finite(v).all()},
        )


class CellStatus(StrEnum):
    """The status in which a cell ended."""

    COMPLETED = "completed"
    DIVERGED = "diverged"
    FAILED = "failed"


class Environment(_Model):
    """The machine and software on which a cell ran."""

    python: str
    platform: str
    device: str = Field(description="cpu, or cuda with the name of the card")
    threads: int | None = Field(
        description="threads that the numerical libraries were given; None if nobody says"
    )
    processor: str | None = Field(
        default=None, description="name, model and vectors; None of records that do not say"
    )
    packages: dict[str, str] = Field(description="versions of the packages that computed")
    revision: str | None = Field(default=None, description="git revision, '+dirty' if changed")
    form: RunForm = Field(
        default="fast", description="plain: straight from the paper's equations; else fast"
    )


class Origin(_Model):
    """Who made measurements that are not ours, and with what."""

    who: str = Field(description="who made and submits them")
    source: str = Field(description="from where: a repository, an archive, a log")
    framework: str = Field(description="what they were computed with, with versions")
    made: date = Field(description="when they were made")


class Record(_Model):
    """One cell's result, standing alone."""

    version: int = RECORD_VERSION
    paper: str
    tier: str = Field(description="smoke, quick, paper, or custom")
    experiment: str
    settings: dict[str, SettingValue]
    seed: int
    status: CellStatus
    error: str | None = Field(
        default=None, description="of a failed or diverged cell: what happened"
    )
    traceback: str | None = Field(
        default=None, description="of a failed cell: where its experiment raised what"
    )
    proxy: str | None = Field(
        default=None, description="what stood in for the paper's data or method, if anything did"
    )
    fingerprint: str = Field(
        description="the cell's id: of settings, seed, code, data and versions"
    )
    code: str = Field(description="hash of the paper's module and of what it imports of ours")
    data: dict[str, str] = Field(default_factory=dict, description="checksum of each data file")
    rules: dict[str, str] = Field(
        default_factory=dict,
        exclude=True,
        description="of records of earlier versions, read and not written: claim id -> its hash",
    )
    environment: Environment
    started: datetime
    seconds: float = Field(description="wall-clock time, resumed parts added up")
    steps: int | None = Field(
        default=None,
        description="how many steps the run reported, as training does; None of records without",
    )
    origin: Origin | None = Field(
        default=None, description="of measurements from elsewhere: whose; None for our own"
    )
    coordinates: dict[str, dict[str, tuple[int | float | str, ...]]] | None = Field(
        default=None,
        description="along each axis of each measurement, in order; None if nobody kept them",
    )
    measurements: Measurements

    @property
    def key(self) -> CellKey:
        """The cell that was measured, within its paper and tier."""
        return self.experiment, canonical_settings(self.settings), self.seed

    @model_validator(mode="after")
    def _finite(self) -> Record:
        if not self.measurements.finite:
            raise ValueError("a record holds finite numbers only; divergence is a status")
        return self


def differing(one: Record, other: Record) -> tuple[str, ...]:
    """The measurements in which two records of one cell differ, bit by bit; empty if in none.

    Returns:
        A line for each measurement: its name, and the largest difference or what else differs.
    """
    lines = []
    if one.status is not other.status:
        lines.append(f"status: {one.status.value}, then {other.status.value}")
    before = _arrays(one.measurements)
    after = _arrays(other.measurements)
    for name in sorted(before.keys() | after.keys()):
        a = before.get(name)
        b = after.get(name)
        if a is None or b is None or a.shape != b.shape:
            shapes = " then ".join("absent" if x is None else str(x.shape) for x in (a, b))
            lines.append(f"{name}: shape {shapes}")
        elif a.tobytes() != b.tobytes():
            count = int((a != b).sum())
            lines.append(f"{name}: {count} of {a.size} numbers, by up to {np.abs(a - b).max():.3g}")
    return tuple(lines)


def _arrays(measured: Measurements) -> dict[str, NDArray[np.float64]]:
    """Every number that was measured, by name; of a series the steps, too."""
    found = {name: np.array(value) for name, value in measured.scalars.items()}
    for name, series in measured.series.items():
        found |= {name: series.values, f"steps of {name}": np.array(series.steps, dtype=float)}
    return {**found, **measured.arrays}
