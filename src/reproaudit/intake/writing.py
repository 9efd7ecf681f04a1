"""Writes folders of measurements that `read_submission` reads.

A template is such a folder with every number left open.
"""

from __future__ import annotations

import csv
import io
import itertools
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from reproaudit.audit.draft import TODO
from reproaudit.audit.layout import Dumper
from reproaudit.audit.model import Audit, TierName
from reproaudit.audit.plan import Batch, scope_of
from reproaudit.declarations import MeasurementKind
from reproaudit.intake.manifest import MANIFEST
from reproaudit.intake.memory import (
    GivenNumbers,
    MeasuredRuns,
    entries_of,
    file_of,
    hold_runs,
    manifest_text,
    plain_settings,
)


def write_submission(
    folder: Path, audit: Audit, runs: Sequence[MeasuredRuns], head: Mapping[str, Any]
) -> None:
    """Write a manifest, and a table for each run and measurement, once all fit the audit.

    The folder is there, and empty. Head and errors are those of `read_runs`.
    """
    manifest = manifest_text(audit, runs, head)
    _, tables = hold_runs(audit, runs, manifest)  # before anything is written
    (folder / MANIFEST).write_text(manifest, encoding="utf-8")
    for name, by_seed in tables.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(_table(by_seed), encoding="utf-8")


def _table(by_seed: Mapping[int, GivenNumbers]) -> str:
    rows: list[Sequence[Any]] = []
    for seed, numbers in by_seed.items():
        steps = [] if numbers.steps is None else [numbers.steps]
        coordinates = itertools.product(*steps, *numbers.axes.values())
        cells = np.ma.filled(numbers.values.astype(object), "").flat
        rows = rows or [_header(numbers.axes, is_series=bool(steps))]
        rows += ([seed, *at, cell] for at, cell in zip(coordinates, cells, strict=True))
    return _csv(rows)


def _header(axes: Iterable[str], *, is_series: bool) -> list[str]:
    return ["seed", *(["step"] if is_series else []), *axes, "value"]


def _csv(rows: Iterable[Sequence[Any]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


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
    tier; one table for each measurement, with a row for each seed and coordinate. The step of a
    series is open: its rows are to be repeated for each observed step. A UsageError names a claim
    that is unknown.
    """
    scope = scope_of(audit, tier, claims)
    manifest = _HEAD.format(todo=TODO, slug=audit.paper.slug, tier=tier)
    for experiment in dict.fromkeys(batch.experiment for batch in scope.batches):
        for name, value in plain_settings(audit.values_of(experiment, tier)).items():
            manifest += f"#   {_yaml({f'{experiment}.{name}': value})}"
    manifest += "".join(_of_readings(audit, scope.batches))
    manifest += "runs:\n"
    tables: dict[str, str] = {}
    for index, batch in enumerate(scope.batches):
        names = scope.measurements[batch.experiment]
        seeds = {seed: dict.fromkeys(names) for seed in batch.seeds}
        run = MeasuredRuns(batch.experiment, seeds, dict(batch.overrides))
        manifest += textwrap.indent(_yaml([*entries_of(run, index)]), "  ")
        for name in names:
            tables[file_of(run, index, name)] = _open_table(audit, batch, name)
    return {MANIFEST: manifest, **tables}


def _of_readings(audit: Audit, batches: Sequence[Batch]) -> Iterator[str]:
    """Yield a comment for each value that another source states, of which runs may be handed in."""
    for experiment in dict.fromkeys(batch.experiment for batch in batches):
        there = {override for batch in batches for override in batch.overrides}
        for name, setting in audit.settings_of(experiment).items():
            for reading in setting.readings:
                own = _yaml(plain_settings({name: reading.value, **reading.together})).strip()
                if (name, reading.value) not in there:
                    yield f"# Runs as another source has them may be added: settings: {{{own}}}\n"


def _open_table(audit: Audit, batch: Batch, name: str) -> str:
    declared = audit.measurements_of(batch.experiment)[name]
    axes = {axis.name: axis.coordinates(batch.settings(audit)) for axis in declared.axes}
    is_series = declared.kind is MeasurementKind.SERIES
    steps = [[""]] if is_series else []
    rows = itertools.product(batch.seeds, *steps, *axes.values(), [""])
    return _csv([_header(axes, is_series=is_series), *rows])


def _yaml(data: Any) -> str:
    """Return data with each list on one line, which may be a comment's."""
    text: str = yaml.dump(
        data,
        Dumper=Dumper,
        sort_keys=False,
        allow_unicode=True,
        width=sys.maxsize,
        default_flow_style=None,
    )
    return text.strip("{}\n") + "\n" if isinstance(data, dict) else text
