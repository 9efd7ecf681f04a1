"""Writes folders of measurements that `read_submission` reads.

So they are held against the audit's declarations by the same code as files from anywhere else. A
template is such a folder with every number left open.
"""

from __future__ import annotations

import csv
import io
import itertools
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

from reproaudit.audit.draft import TODO
from reproaudit.audit.model import Audit, TierName
from reproaudit.audit.plan import scope_of
from reproaudit.cell import SettingValue
from reproaudit.declarations import MeasurementKind
from reproaudit.errors import SpecError, UsageError, did_you_mean
from reproaudit.intake.manifest import MANIFEST
from reproaudit.intake.reading import Submission, open_submission, read_submission
from reproaudit.records import Origin, Series

_OPEN = object()
"""Stands for the numbers of a measurement in a template."""

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
        seeds: seed -> measurement -> numbers; every seed has the same measurements.
        settings: of a control, the settings that the audit gives it; none for the experiment.
        diverged: the seeds whose run diverged; their numbers may be NaN or infinite.
        left_out: measurements that are kept out, each with the reasons.
    """

    experiment: str
    seeds: BySeed
    settings: Mapping[str, SettingValue] = field(default_factory=dict)
    diverged: frozenset[int] = frozenset()
    left_out: Mapping[str, Sequence[str]] = field(default_factory=dict)


def manifest_head(
    origin: Origin | None,
    tier: TierName,
    settings: Mapping[str, SettingValue],
    proxy: str | None,
    noted: Sequence[str] = (),
    one_unit: str | None = None,
) -> dict[str, Any]:
    """Return what a manifest says of all runs; without an origin it is not stated, and of today."""
    said = dict.fromkeys(("who", "source", "framework"), "not stated")
    origin = origin or Origin(**said, made=datetime.now(UTC).date())
    stated = {
        "schema_version": 1,
        **{name: getattr(origin, name) for name in said},
        "date": origin.made.isoformat(),
        "tier": tier,
        "proxy": proxy,
        "settings": plain_settings(settings),
        "one_unit": one_unit,
        "noted": list(noted),
    }
    return {name: one for name, one in stated.items() if one not in (None, {}, [])}


def write_submission(
    folder: Path, audit: Audit, runs: Sequence[MeasuredRuns], head: Mapping[str, Any]
) -> Submission:
    """Write a manifest, and a table for each run and measurement; return what is read from them.

    Args:
        folder: an empty folder.
        audit: the audit.
        runs: the measurements.
        head: what the manifest says of all runs, as `manifest_head` returns it.

    Raises:
        AuditError: listing everything that is no number, or does not fit the audit.
    """
    entries = [entry for index, run in enumerate(runs) for entry in _entries(run, index)]
    manifest = {**head, "paper": audit.paper.slug, "runs": entries}
    text = yaml.safe_dump(manifest, sort_keys=False, allow_unicode=True, width=100)
    (folder / MANIFEST).write_text(text, encoding="utf-8")
    try:
        stated = open_submission(audit, folder).manifest
        for index, run in enumerate(runs):
            settings = {**stated.settings_of(run.experiment), **run.settings}
            values = audit.values_of(run.experiment, stated.tier, settings)
            (folder / f"{index}-{run.experiment}").mkdir()
            for name in _measurements(run):
                text = _table(audit, run, index, name, values)
                (folder / _file(run, index, name)).write_text(text, encoding="utf-8")
        return read_submission(audit, folder)
    except SpecError as error:  # tell places in what the caller passed, not in files
        faults = re.sub(rf"\b{MANIFEST}:\d+:\d+: ", "", str(error))
        faults = re.sub(r"\b(\d+)-(\w+)/\w+\.csv \((seed \d+)\)", r"runs[\1] (\2), \3", faults)
        raise SpecError(faults) from None


def plain_settings(settings: Mapping[str, SettingValue]) -> dict[str, Any]:
    """Return settings as YAML writes them."""
    return {n: list(v) if isinstance(v, tuple) else v for n, v in settings.items()}


def _entries(run: MeasuredRuns, index: int) -> Iterator[dict[str, Any]]:
    """Yield the manifest's entries of a run: the finished seeds, and the diverged ones.

    A diverged seed may lack measurements that others have.
    """
    every = _measurements(run)
    entries: dict[tuple[str, tuple[str, ...]], list[int]] = {}
    for seed, measured in run.seeds.items():
        own = ("diverged", tuple(name for name in every if name in measured))
        key = own if seed in run.diverged else ("completed", tuple(every))
        entries.setdefault(key, []).append(seed)
    left_out = {name: list(reasons) for name, reasons in run.left_out.items()}
    for (status, names), seeds in (entries or {("completed", ()): []}).items():
        yield {
            "experiment": run.experiment,
            "seeds": seeds,
            "settings": plain_settings(run.settings),
            "status": status,
            "files": [_file(run, index, name) for name in names],
            **({"left_out": left_out} if left_out else {}),
        }


def _measurements(run: MeasuredRuns) -> list[str]:
    return list(dict.fromkeys(name for measured in run.seeds.values() for name in measured))


def _file(run: MeasuredRuns, index: int, name: str) -> str:
    """Name a table after its measurement, as a lone column `value` wants it."""
    return f"{index}-{run.experiment}/{name}.csv"


def _table(
    audit: Audit, run: MeasuredRuns, index: int, name: str, settings: Mapping[str, SettingValue]
) -> str:
    declared = audit.declaration(run.experiment, name)
    if declared is None:
        hint = did_you_mean(name, audit.measurements_of(run.experiment))
        fault = f"found the measurement '{name}', which the experiment does not declare. {hint}"
        raise SpecError(f"runs[{index}] ({run.experiment}): {fault}")
    is_series = declared.kind is MeasurementKind.SERIES
    coordinates = [axis.coordinates(settings) for axis in declared.axes]
    head = ["seed", *(["step"] if is_series else []), *(axis.name for axis in declared.axes)]
    rows: list[Sequence[Any]] = [[*head, "value"]]
    for seed, measured in run.seeds.items():
        if name not in measured:
            continue
        if measured[name] is _OPEN:
            steps: list[Any] = [[""]] if is_series else []
            rows += ([seed, *at, ""] for at in itertools.product(*steps, *coordinates))
            continue
        place = f"runs[{index}] ({run.experiment}), seed {seed}: '{name}'"
        steps, values = _parts(measured[name], is_series, place)
        expected = (*map(len, steps), *map(len, coordinates))
        if values.shape != expected:
            raise SpecError(f"{place}: found shape {values.shape}; expected {expected}.")
        places = itertools.product(*steps, *coordinates)
        cells = np.ma.filled(values.astype(object), "").flat
        rows += ([seed, *at, one] for at, one in zip(places, cells, strict=True))
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def _parts(
    value: Any, is_series: bool, place: str
) -> tuple[list[NDArray[np.float64]], NDArray[np.float64]]:
    """Return the steps of a series, else none, and the numbers."""
    if not is_series:
        return [], _numbers(value, place)
    if isinstance(value, Series):
        value = value.steps, value.values
    elif isinstance(value, Mapping) and set(value) == {"steps", "values"}:
        value = value["steps"], value["values"]
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise SpecError(f"{place}: found no steps; expected a pair of steps and values.")
    steps = _numbers(value[0], f"{place}: its steps")
    if steps.ndim != 1:
        raise SpecError(f"{place}: found steps of {steps.ndim} dimensions; expected one.")
    return [steps], _numbers(value[1], place)


def _numbers(value: Any, place: str) -> NDArray[np.float64]:
    try:
        array: NDArray[Any] = np.asanyarray(value)  # masked where nothing was observed
        if array.dtype.kind not in "biuf":
            raise TypeError(f"it holds {array.dtype}")
        return array.astype(np.float64)
    except (TypeError, ValueError, RuntimeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise UsageError(f"{place}: found no plain numbers ({reason}); expected them.") from error


_HEAD = """\
# To be filled in: every TODO here, and every empty cell of the tables. The seeds may be
# any numbers, but as many as these. docs/measurements.md says what each field means.
schema_version: 1
who: {todo}
source: {todo}
framework: {todo}
date: {todo}
paper: {slug}
tier: {tier}
# Uncomment what the runs were made with, and correct it. What is not stated is
# taken to be as here, and the evidence on it is assumed at best.
# settings:
"""


def template_files(audit: Audit, tier: TierName, claims: Sequence[str]) -> dict[str, str]:
    """Return the files of a submission that is still to be filled in, by name.

    One run for each experiment and arm that the claims (none: all) rest on, with the seeds of the
    tier; one table for each measurement, with a row for each seed and coordinate. Of a series the
    step is open: repeat its rows for each observed step.

    Raises:
        UsageError: if a claim is unknown.
    """
    scope = scope_of(audit, tier, claims)
    manifest = _HEAD.format(todo=TODO, slug=audit.paper.slug, tier=tier)
    for experiment in dict.fromkeys(batch.experiment for batch in scope.batches):
        for name, value in plain_settings(audit.values_of(experiment, tier)).items():
            manifest += f"#   {_yaml({f'{experiment}.{name}': value})}"
    manifest += "runs:\n"
    tables: dict[str, str] = {}
    for index, batch in enumerate(scope.batches):
        names = scope.measurements[batch.experiment]
        seeds = {seed: dict.fromkeys(names, _OPEN) for seed in batch.seeds}
        run = MeasuredRuns(batch.experiment, seeds, dict(batch.overrides))
        manifest += textwrap.indent(_yaml([*_entries(run, index)]), "  ")
        for name in names:
            tables[_file(run, index, name)] = _table(audit, run, index, name, batch.settings(audit))
    return {MANIFEST: manifest, **tables}


def _yaml(data: Any) -> str:
    text: str = yaml.safe_dump(
        data, sort_keys=False, allow_unicode=True, width=96, default_flow_style=None
    )
    return text.strip("{}\n") + "\n" if isinstance(data, dict) else text
