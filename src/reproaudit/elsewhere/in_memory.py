"""Writes measurements that a program holds in memory as a folder that `read_submission` reads.

So they are held against the audit's declarations by the same code as files from anywhere else.
"""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reproaudit.audit.model import Audit, TierName
from reproaudit.cell import SettingValue
from reproaudit.declarations import MeasurementKind
from reproaudit.elsewhere.submission import Submission, read_submission
from reproaudit.errors import SpecError, UsageError
from reproaudit.folders import new_folder
from reproaudit.records import Origin, Series

MANIFEST = "manifest.json"

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


def unstated_origin() -> Origin:
    """Returns the origin of measurements of which nobody says who made them; made today."""
    today = datetime.now(UTC).date()
    return Origin(who="not stated", source="not stated", framework="not stated", made=today)


def write_submission(
    folder: Path,
    audit: Audit,
    runs: Sequence[MeasuredRuns],
    *,
    origin: Origin | None = None,
    tier: TierName = "paper",
    settings: Mapping[str, SettingValue] | None = None,
    proxy: str | None = None,
    replace: bool = False,
) -> Submission:
    """Writes a manifest and one NPZ file for each run and seed; a folder is written whole or not.

    Args:
        folder: the new folder.
        audit: declares the measurements.
        runs: the experiments and controls that were run.
        origin: who made the measurements, from what, with what, and when.
        tier: the scale of the runs, at which they are judged: quick or paper.
        settings: what every run was made with, as "name" or "experiment.name"; settings that are
            not stated are taken to be the tier's, and evidence on them is assumed at best.
        proxy: the substitute for the paper's data or method, if there was one.
        replace: whether a folder of measurements that is there already is replaced.

    Returns:
        What `read_submission` reads from the folder.

    Raises:
        UsageError: if the folder exists, or something is no number.
        SpecError: listing everything that does not fit the audit; nothing is written then.
        StoreError: if the folder cannot be written.
    """
    made = origin or unstated_origin()
    manifest: dict[str, Any] = {
        "schema_version": 1,
        "who": made.who,
        "source": made.source,
        "framework": made.framework,
        "date": made.made.isoformat(),
        "paper": audit.paper.slug,
        "tier": tier,
        "settings": _plain(settings or {}),
        "runs": [],
    }
    if proxy is not None:
        manifest["proxy"] = proxy
    remedy = "Name another folder, or pass replace=True."
    with new_folder(folder, remedy, MANIFEST if replace else None) as new:
        places = {}
        for index, run in enumerate(runs):
            stem = f"{index}-{_file_name(run.experiment)}"
            manifest["runs"] += _entries(run, stem)
            for seed, measured in run.seeds.items():
                place = f"runs[{index}] ({run.experiment}), seed {seed}"
                places[f"{stem}-seed-{seed}.npz"] = place
                arrays = list(_arrays(audit, run.experiment, measured, place))
                _write_npz(new / f"{stem}-seed-{seed}.npz", arrays)
        text = json.dumps(manifest, indent=1, ensure_ascii=False) + "\n"
        (new / MANIFEST).write_text(text, encoding="utf-8")
        try:
            return read_submission(audit, new)
        except SpecError as error:
            raise SpecError(_in_memory(str(error), places)) from None


def _plain(settings: Mapping[str, SettingValue]) -> dict[str, Any]:
    return {n: list(v) if isinstance(v, tuple) else v for n, v in settings.items()}


def _file_name(experiment: str) -> str:
    return re.sub(r"[^a-z0-9_]", "_", experiment)[:60]


def _entries(run: MeasuredRuns, stem: str) -> Iterator[dict[str, Any]]:
    """Yields the manifest's entries of a run: the finished seeds, and the diverged ones."""
    finished = [seed for seed in run.seeds if seed not in run.diverged]
    diverged = [seed for seed in run.seeds if seed in run.diverged]
    for seeds, status in ((finished, "completed"), (diverged, "diverged")):
        if seeds or not run.seeds:
            yield {
                "experiment": run.experiment,
                "seeds": seeds,
                "settings": _plain(run.settings),
                "status": status,
                "files": [f"{stem}-seed-{{seed}}.npz"],
            }


# --- numbers --------------------------------------------------------------------------------------


def _arrays(
    audit: Audit, experiment: str, measured: Mapping[str, Any], place: str
) -> Iterator[tuple[str, NDArray[np.float64]]]:
    """Yields the arrays of one seed by their names in the file."""
    for name, value in measured.items():
        declared = audit.declaration(experiment, name)
        kind = None if declared is None else declared.kind
        steps, values = _parts(value, kind)
        if steps is not None:
            yield f"{name}.steps", _numbers(steps, f"{place}: the steps of '{name}'")
        yield name, _numbers(values, f"{place}: '{name}'")


def _write_npz(file: Path, arrays: Sequence[tuple[str, NDArray[np.float64]]]) -> None:
    """Writes arrays by name; `np.savez` takes names as keywords, and so not the name "file"."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array in arrays:
            with archive.open(f"{name}.npy", "w") as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


def _parts(value: Any, kind: MeasurementKind | None) -> tuple[Any, Any]:
    """Returns the steps, or None, and the values of a measurement."""
    if isinstance(value, Series):
        return value.steps, value.values
    if isinstance(value, Mapping) and set(value) == {"steps", "values"}:
        return value["steps"], value["values"]
    if kind is MeasurementKind.SERIES and isinstance(value, tuple | list) and len(value) == 2:
        return value[0], value[1]
    return None, value


def _numbers(value: Any, what: str) -> NDArray[np.float64]:
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "biuf":
            raise TypeError(f"it holds {array.dtype}")
        return array.astype(np.float64)
    except (TypeError, ValueError, RuntimeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise UsageError(f"{what}: found no plain numbers ({reason}); expected them.") from error


def _in_memory(faults: str, places: Mapping[str, str]) -> str:
    """Rewrites the places of faults from files to what the caller passed."""
    lines = []
    for line in faults.splitlines():
        for file, place in places.items():
            line = line.replace(f"{file}: ", f"{place}: ")
        lines.append(line.removeprefix(f"{MANIFEST}: "))
    return "\n".join(lines)
