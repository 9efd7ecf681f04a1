"""What became of every log: sentences for the manifest, and a file of data beside it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any

from reproaudit.audit.model import Audit
from reproaudit.elsewhere.finding import FoundLogs
from reproaudit.elsewhere.manifest import PROTOCOL
from reproaudit.elsewhere.mapping import MappingFile
from reproaudit.elsewhere.measuring import ImportedRole
from reproaudit.elsewhere.roles import ComparedSetting
from reproaudit.elsewhere.scope import role_words, some
from reproaudit.elsewhere.writing import MeasuredRuns


def ignored_runs(found: FoundLogs, roles: Sequence[ImportedRole]) -> list[str]:
    """Return the names of the runs that the mapping leaves out."""
    placed = {one.run.name for role in roles for one in role.runs.values()}
    return sorted({run.name for run in found.runs} - placed)


def notes_on(
    mapping: MappingFile, found: FoundLogs, roles: Sequence[ImportedRole]
) -> Iterator[str]:
    """Yield what a reader of the measurements is to know, in sentences for the manifest."""
    if ignored := ignored_runs(found, roles):
        yield f"Runs of the logs that are left out: {some(list(map(_within, ignored)))}."
    if found.skipped:
        yield f"Among the logs were not read: {some(list(map(_within, found.skipped)))}."
    if mapping.complete is not None:
        reason = mapping.complete.rstrip(".")
        yield f"Curves that may look cut are said to be all that was logged: {reason}."
    if mapping.step is not None:
        yield f"Steps were counted by '{mapping.step}'."
    for name, quantity in mapping.mapping.items():
        if quantity.words != name:
            yield f"'{name}' was taken from the logs as {quantity.words}."


def _within(run: str) -> str:
    """Return a run's file and its folder: where that folder lies is nobody else's affair."""
    return "/".join(PurePath(run).parts[-2:])


def protocol_of(
    audit: Audit,
    found: FoundLogs,
    roles: Sequence[ImportedRole],
    compared: Sequence[ComparedSetting],
    notes: Sequence[str],
) -> dict[str, Any]:
    """Return what became of every log and setting, as data."""
    settings = [
        {
            "role": role_words(one.batch),
            "setting": one.name,
            "audit": one.audit,
            "source": one.source,
            "found": one.found,
            "status": one.status,
        }
        for one in compared
    ]
    return {
        "paper": audit.paper.slug,
        "roles": [_of_role(role, found) for role in roles],
        "ignored_runs": ignored_runs(found, roles),
        "skipped": found.skipped,
        "settings": settings,
        "notes": list(notes),
    }


def _of_role(role: ImportedRole, found: FoundLogs) -> dict[str, Any]:
    runs = [
        {
            "name": one.run.name,
            "logger": one.run.source,
            "seed": seed,
            "step": one.run.step,
            "status": "diverged" if one.diverged else "completed",
            "files": {file.name: digest_of(file) for file in one.run.files},
            "configurations": [file.name for file in found.configs[one.run.name]],
        }
        for seed, one in role.runs.items()
    ]
    lists = {name: list(getattr(role, name)) for name in ("measured", "absent", "ignored")}
    withheld = {name: list(reasons) for name, reasons in role.withheld.items()}
    return {"role": role_words(role.batch), "runs": runs, "withheld": withheld, **lists}


def measured_runs_of(role: ImportedRole) -> MeasuredRuns:
    """Return the runs of a role as they are written to a folder."""
    seeds: dict[int, dict[str, Any]] = {seed: {} for seed in role.runs}
    for name, by_seed in role.measured.items():
        for seed, one in by_seed.items():
            series = {"steps": one.steps, "values": one.values}
            seeds[seed][name] = one.values if one.steps is None else series
    diverged = frozenset(seed for seed, run in role.runs.items() if run.diverged)
    return MeasuredRuns(role.batch.experiment, seeds, dict(role.batch.overrides), diverged)


def write_protocol(folder: Path, protocol: Mapping[str, Any]) -> None:
    """Write the file of data."""
    said = json.dumps(protocol, indent=2, ensure_ascii=False, allow_nan=False)
    (folder / PROTOCOL).write_text(said + "\n", encoding="utf-8")


def digest_of(file: Path) -> str:
    """Return the SHA-256 of a file."""
    with file.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()
