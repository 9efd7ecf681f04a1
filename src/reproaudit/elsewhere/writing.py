"""Writes a folder of measurements that `read_submission` reads: runs in memory, or out of logs.

So they are held against the audit's declarations by the same code as files from anywhere else.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

from reproaudit.audit.model import Audit, TierName
from reproaudit.cell import SettingValue
from reproaudit.declarations import MeasurementKind
from reproaudit.elsewhere.submission import Submission, read_submission
from reproaudit.errors import SpecError, UsageError
from reproaudit.folders import new_folder
from reproaudit.records import Origin, Series

MANIFEST = "manifest.yaml"

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
    """

    experiment: str
    seeds: BySeed
    settings: Mapping[str, SettingValue] = field(default_factory=dict)
    diverged: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Header:
    """What a manifest says of all runs.

    Attributes:
        origin: who made the measurements, from what, with what, and when; today if nobody says.
        tier: the scale of the runs, at which they are judged: quick or paper.
        settings: what every run was made with, as "name" or "experiment.name"; settings that are
            not stated are taken to be the tier's, and the page says so.
        proxy: the substitute for the paper's data or method, if there was one.
        noted: what a reader of the page is to know, in sentences.
    """

    origin: Origin | None = None
    tier: TierName = "paper"
    settings: Mapping[str, SettingValue] = field(default_factory=dict)
    proxy: str | None = None
    noted: tuple[str, ...] = ()


def write_submission(
    folder: Path,
    audit: Audit,
    runs: Sequence[MeasuredRuns],
    header: Header,
    *,
    replace: bool = False,
) -> Submission:
    """Write a new folder of measurements, whole or not at all; return what is read from it.

    A folder of measurements that is there already is replaced if `replace` says so.

    Raises:
        UsageError: if the folder exists, or something is no number.
        SpecError: listing everything that does not fit the audit; nothing is written then.
        StoreError: if the folder cannot be written.
    """
    remedy = "Name another folder, or pass replace=True."
    with new_folder(folder, remedy, MANIFEST if replace else None) as new:
        return fill_folder(new, audit, runs, header)


def fill_folder(
    folder: Path, audit: Audit, runs: Sequence[MeasuredRuns], header: Header
) -> Submission:
    """Write a manifest and one NPZ file for each run and seed; return what is read from them.

    Raises:
        UsageError: if something is no number.
        SpecError: listing everything that does not fit the audit.
    """
    entries: list[dict[str, Any]] = []
    places = {}
    for index, run in enumerate(runs):
        stem = f"{index}-{re.sub(r'[^a-z0-9_]', '_', run.experiment)[:60]}"
        entries += _entries(run, stem)
        for seed, measured in run.seeds.items():
            file = f"{stem}-seed-{seed}.npz"
            places[file] = f"runs[{index}] ({run.experiment}), seed {seed}"
            arrays = _arrays(audit, run.experiment, measured, places[file])
            with zipfile.ZipFile(folder / file, "w", zipfile.ZIP_DEFLATED) as archive:
                for name, array in arrays:  # np.savez takes names as keywords, and so not "file"
                    with archive.open(f"{name}.npy", "w") as member:
                        np.lib.format.write_array(member, array, allow_pickle=False)
    manifest = {**_head(audit, header), "runs": entries}
    text = yaml.safe_dump(manifest, sort_keys=False, allow_unicode=True, width=100)
    (folder / MANIFEST).write_text(text, encoding="utf-8")
    try:
        return read_submission(audit, folder)
    except SpecError as error:  # tell places in what the caller passed, not in files
        faults = re.sub(rf"(?m)^{MANIFEST}:\d+:\d+: ", "", str(error))
        for file, place in places.items():
            faults = faults.replace(f"{file}: ", f"{place}: ")
        raise SpecError(faults) from None


def _head(audit: Audit, header: Header) -> dict[str, Any]:
    today = datetime.now(UTC).date()
    unstated = Origin(who="not stated", source="not stated", framework="not stated", made=today)
    origin = header.origin or unstated
    stated = {
        "schema_version": 1,
        "who": origin.who,
        "source": origin.source,
        "framework": origin.framework,
        "date": origin.made.isoformat(),
        "paper": audit.paper.slug,
        "tier": header.tier,
        "proxy": header.proxy,
        "settings": plain_settings(header.settings),
        "noted": list(header.noted),
    }
    return {name: one for name, one in stated.items() if one not in (None, {}, [])}


def plain_settings(settings: Mapping[str, SettingValue]) -> dict[str, Any]:
    """Return settings as YAML writes them."""
    return {n: list(v) if isinstance(v, tuple) else v for n, v in settings.items()}


def _entries(run: MeasuredRuns, stem: str) -> Iterator[dict[str, Any]]:
    """Yield the manifest's entries of a run: the finished seeds, and the diverged ones."""
    finished = [seed for seed in run.seeds if seed not in run.diverged]
    diverged = [seed for seed in run.seeds if seed in run.diverged]
    for seeds, status in ((finished, "completed"), (diverged, "diverged")):
        if seeds or not run.seeds:
            yield {
                "experiment": run.experiment,
                "seeds": seeds,
                "settings": plain_settings(run.settings),
                "status": status,
                "files": [f"{stem}-seed-{{seed}}.npz"],
            }


def _arrays(
    audit: Audit, experiment: str, measured: Mapping[str, Any], place: str
) -> Iterator[tuple[str, NDArray[np.float64]]]:
    """Yield the arrays of one seed by their names in the file."""
    for name, value in measured.items():
        declared = audit.declaration(experiment, name)
        is_series = declared is not None and declared.kind is MeasurementKind.SERIES
        steps = None
        if isinstance(value, Series):
            steps, value = value.steps, value.values
        elif isinstance(value, Mapping) and set(value) == {"steps", "values"}:
            steps, value = value["steps"], value["values"]
        elif is_series and isinstance(value, tuple | list) and len(value) == 2:
            steps, value = value
        if steps is not None:
            yield f"{name}.steps", _numbers(steps, f"{place}: the steps of '{name}'")
        yield name, _numbers(value, f"{place}: '{name}'")


def _numbers(value: Any, what: str) -> NDArray[np.float64]:
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "biuf":
            raise TypeError(f"it holds {array.dtype}")
        return array.astype(np.float64)
    except (TypeError, ValueError, RuntimeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise UsageError(f"{what}: found no plain numbers ({reason}); expected them.") from error
