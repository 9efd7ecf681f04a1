"""Runs in memory: held against the audit, and made into records, as those of a folder are.

A fault names its place in what the caller passed: ``runs[0] (descent), seed 3``.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

from reproaudit.audit.layout import Dumper
from reproaudit.audit.model import Audit, TierName
from reproaudit.cell import SettingValue
from reproaudit.declarations import Coordinate, MeasurementKind
from reproaudit.errors import SpecError, UsageError, did_you_mean
from reproaudit.formats.numbers import NOT_STATED
from reproaudit.intake.manifest import MANIFEST, Manifest, parse_manifest
from reproaudit.intake.reading import Submission, reader_of, submission_of
from reproaudit.logs.asked import Asked
from reproaudit.logs.logged import (
    MAX_STEP,
    Curve,
    CurveBuilder,
    LogError,
    LoggedCoordinates,
    LoggedRun,
    coordinates_of,
)
from reproaudit.records import Origin, Series

BySeed = Mapping[int, Mapping[str, Any]]
"""Seed -> measurement -> numbers: a number, an array, or a series (see `MeasuredRuns`)."""


@dataclass(frozen=True)
class MeasuredRuns:
    """The runs of one experiment, or of one control of it, over some seeds.

    A scalar is a number. An array is anything that NumPy turns into an array of the declared
    shape. A series is a `Series`, a mapping with ``steps`` and ``values``, or a pair of both; its
    values have the shape (step, *axes).

    Attributes:
        experiment: the experiment's name in the audit.
        seeds: seed -> measurement -> numbers; all seeds have the same, unless `lacking`.
        settings: the settings that the audit gives a control; none for the experiment.
        diverged: the seeds whose run diverged; their numbers may be NaN or infinite.
        left_out: measurements that are kept out, each with the reasons.
        crashed: the seeds of runs that did not finish, beside those of `seeds`.
        lacking: whether a seed may lack a measurement; it is void where that is asked for.
        called: what messages call the runs; by default their place among those that are given.
    """

    experiment: str
    seeds: BySeed
    settings: Mapping[str, SettingValue] = field(default_factory=dict)
    diverged: frozenset[int] = frozenset()
    left_out: Mapping[str, Sequence[str]] = field(default_factory=dict)
    crashed: frozenset[int] = frozenset()
    lacking: bool = False
    called: str = ""


def manifest_head(
    origin: Origin | None,
    tier: TierName,
    settings: Mapping[str, SettingValue],
    proxy: str | None,
    counted: Sequence[str] = (),
    noted: Sequence[str] = (),
    one_unit: str | None = None,
) -> dict[str, Any]:
    """Return what a manifest says of all runs; without an origin it is not stated, and of today."""
    names = dict.fromkeys(("who", "source", "framework"), NOT_STATED)
    origin = origin or Origin(**names, made=datetime.now(UTC).date())
    stated = {
        "schema_version": 1,
        **{name: getattr(origin, name) for name in names},
        "date": origin.made.isoformat(),
        "tier": tier,
        "proxy": proxy,
        "settings": plain_settings(settings),
        "one_unit": one_unit,
        "counted": list(counted),
        "noted": list(noted),
    }
    return {name: value for name, value in stated.items() if value not in (None, {}, [])}


def read_runs(audit: Audit, runs: Sequence[MeasuredRuns], head: Mapping[str, Any]) -> Submission:
    """Make records of runs in memory; the head is what `manifest_head` returns.

    An AuditError lists everything that is no number, or does not fit the audit.
    """
    return hold_runs(audit, runs, manifest_text(audit, runs, head))[0]


def hold_runs(
    audit: Audit, runs: Sequence[MeasuredRuns], manifest: str
) -> tuple[Submission, NumbersByTable]:
    """Make records of runs and their manifest, as `read_runs` does; return the tables, too."""
    try:
        stated, placed = parse_manifest(Path(MANIFEST), manifest)
        reader = reader_of(audit, stated, placed)
        numbers: dict[str, dict[int, GivenNumbers]] = {}
        called: dict[str, tuple[str, str]] = {}
        for index, run in enumerate(runs):
            for name in measurements_in(run):
                table = file_of(run, index, name)
                called[table] = run.called or f"runs[{index}] ({run.experiment})", name
                numbers[table] = dict(_numbers_in(audit, stated, run, called[table][0], name))

        def read(table: str, seed: int, *_: object) -> LoggedRun:
            of_run, name = called[table]
            place = f"{of_run}, seed {seed}"
            curves = numbers[table][seed].curves() if seed in numbers[table] else {}
            if not any(len(curve.values) for curve in curves.values()):
                text = f"found no number of '{name}'; expected one, as of other seeds."
                raise LogError(place, text)
            return LoggedRun(place, "memory", Path(), (), (Path(table),), {name: curves})

        return submission_of(reader, read), numbers
    except SpecError as error:  # the caller passed no manifest
        raise SpecError(_without_manifest(str(error), runs)) from None


def _without_manifest(message: str, runs: Sequence[MeasuredRuns]) -> str:
    """Return a message whose places are the runs that were passed, or what these are called."""
    owners = [index for index, run in enumerate(runs) for _ in entries_of(run, index)]

    def place(matched: re.Match[str]) -> str:
        if matched[1] is None:
            return ""
        index = owners[int(matched[1])]
        return runs[index].called or f"runs[{index}]{matched[2]}"

    return re.sub(rf"\b{MANIFEST}:\d+:\d+: (?:runs\[(\d+)\]([^:\s]*))?", place, message)


# --- the manifest -------------------------------------------------------------------------------


def manifest_text(audit: Audit, runs: Sequence[MeasuredRuns], head: Mapping[str, Any]) -> str:
    """Return a manifest of runs, with a table for each run and measurement."""
    entries = [entry for index, run in enumerate(runs) for entry in entries_of(run, index)]
    manifest = {**head, "paper": audit.paper.slug, "runs": entries}
    return yaml.dump(manifest, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=100)


def plain_settings(settings: Mapping[str, SettingValue]) -> dict[str, Any]:
    """Return settings as YAML writes them."""
    return {n: list(v) if isinstance(v, tuple) else v for n, v in settings.items()}


def entries_of(run: MeasuredRuns, index: int) -> Iterator[dict[str, Any]]:
    """Yield the manifest's entries of a run: the finished, the diverged and the crashed seeds.

    A diverged seed may lack measurements that others have.
    """
    every = measurements_in(run)
    entries: dict[tuple[str, tuple[str, ...]], list[int]] = {}
    for seed, measured in run.seeds.items():
        status = "diverged" if seed in run.diverged else "completed"
        may_lack = run.lacking or status == "diverged"
        own = tuple(name for name in every if name in measured or not may_lack)
        entries.setdefault((status, own), []).append(seed)
    if run.crashed:
        entries["crashed", ()] = sorted(run.crashed)
    left_out = {name: list(reasons) for name, reasons in run.left_out.items()}
    for (status, names), seeds in (entries or {("completed", ()): []}).items():
        yield {
            "experiment": run.experiment,
            "seeds": seeds,
            "settings": plain_settings(run.settings),
            "status": status,
            "files": [file_of(run, index, name) for name in names],
            **({"left_out": left_out} if left_out else {}),
        }


def measurements_in(run: MeasuredRuns) -> list[str]:
    """Return the names of what any seed of a run measured."""
    return list(dict.fromkeys(name for measured in run.seeds.values() for name in measured))


def file_of(run: MeasuredRuns, index: int, name: str) -> str:
    """Name a table after its measurement, as a lone column `value` wants it."""
    return f"{index}-{run.experiment}/{name}.csv"


# --- numbers ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class GivenNumbers:
    """The numbers of one measurement of one run.

    Attributes:
        run: what messages call the run.
        name: the measurement.
        steps: shape (step,); None of what is no series.
        values: shape (step, *axes) of a series, else (*axes); masked where nothing was observed.
        axes: the name and the coordinates of each axis.
    """

    run: str
    name: str
    steps: NDArray[np.float64] | None
    values: NDArray[np.float64]
    axes: Mapping[str, Sequence[Coordinate]]

    def curves(self) -> Mapping[LoggedCoordinates, Curve]:
        """Return the numbers at each place along the axes; a LogError if a step is none."""
        steps = None if self.steps is None else self._whole_steps(self.steps)
        grid = itertools.product(*self.axes.values())
        at = [coordinates_of(dict(zip(self.axes, places, strict=True))) for places in grid]
        columns = self.values.reshape((1 if steps is None else len(steps), len(at)))
        observed = ~np.ma.getmaskarray(columns)
        numbers = np.ma.getdata(columns)
        if len(set(at)) < len(at) or (steps is not None and (np.diff(steps) <= 0).any()):
            return self._out_of_order(steps, at, numbers, observed)
        return {
            coordinates: Curve(
                self.run,
                steps[there] if steps is not None and there.any() else None,
                numbers[there, column],
            )
            for column, (coordinates, there) in enumerate(zip(at, observed.T, strict=True))
        }

    def _out_of_order(
        self,
        steps: NDArray[np.int64] | None,
        at: Sequence[LoggedCoordinates],
        numbers: NDArray[np.float64],
        observed: NDArray[np.bool_],
    ) -> Mapping[LoggedCoordinates, Curve]:
        """Return curves that say what is wrong with their steps or places, as a reader's do."""
        builder = CurveBuilder(self.run, Asked(plain=True))
        for row, column in np.argwhere(observed):
            step = None if steps is None else int(steps[row])
            builder.add(self.name, step, float(numbers[row, column]), at[column])
        return builder.curves().get(self.name, {})

    def _whole_steps(self, steps: NDArray[np.float64]) -> NDArray[np.int64]:
        place = f"{self.run}, measurement '{self.name}'"
        known = np.ma.filled(steps, np.nan)
        for step in known[~(known == np.floor(known))]:
            raise LogError(place, f"found the step {step:g}; expected a whole number.")
        for step in known[abs(known) > MAX_STEP]:
            raise LogError(place, f"found the step {step:g}; expected one within ±2^53.")
        return known.astype(np.int64)


NumbersByTable = Mapping[str, Mapping[int, GivenNumbers]]
"""Table, as it is called in a folder -> seed -> numbers."""


def _numbers_in(
    audit: Audit, manifest: Manifest, run: MeasuredRuns, called: str, name: str
) -> Iterator[tuple[int, GivenNumbers]]:
    """Yield the numbers of a measurement by seed, once they have the declared shape."""
    declared = audit.declaration(run.experiment, name)
    if declared is None:
        hint = did_you_mean(name, audit.measurements_of(run.experiment))
        fault = f"found the measurement '{name}', which the experiment does not declare. {hint}"
        raise SpecError(f"{called}: {fault}")
    stated = {**manifest.settings_of(run.experiment), **run.settings}
    settings = audit.values_of(run.experiment, manifest.tier, stated)
    axes = {axis.name: axis.coordinates(settings) for axis in declared.axes}
    is_series = declared.kind is MeasurementKind.SERIES
    for seed, measured in run.seeds.items():
        if name not in measured:
            continue
        of_seed = f"{called}, seed {seed}"
        place = f"{of_seed}: '{name}'"
        steps, values = _parts(measured[name], is_series, place)
        expected = (*(() if steps is None else (len(steps),)), *map(len, axes.values()))
        if values.shape != expected:
            raise SpecError(f"{place}: found shape {values.shape}; expected {expected}.")
        yield seed, GivenNumbers(of_seed, name, steps, values, axes)


def _parts(
    value: Any, is_series: bool, place: str
) -> tuple[NDArray[np.float64] | None, NDArray[np.float64]]:
    if not is_series:
        return None, _numbers(value, place)
    if isinstance(value, Series):
        value = value.steps, value.values
    elif isinstance(value, Mapping) and set(value) == {"steps", "values"}:
        value = value["steps"], value["values"]
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise SpecError(f"{place}: found no steps; expected a pair of steps and values.")
    steps = _numbers(value[0], f"{place}: its steps")
    if steps.ndim != 1:
        raise SpecError(f"{place}: found steps of {steps.ndim} dimensions; expected one.")
    return steps, _numbers(value[1], place)


def _numbers(value: Any, place: str) -> NDArray[np.float64]:
    try:
        array: NDArray[Any] = np.asanyarray(value)  # masked where nothing was observed
        if array.dtype.kind not in "biuf":
            raise TypeError(f"it holds {array.dtype}")
        return array.astype(np.float64, copy=False)
    except (TypeError, ValueError, RuntimeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise UsageError(f"{place}: found no plain numbers ({reason}); expected them.") from error
