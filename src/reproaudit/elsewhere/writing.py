"""The folder for `reproaudit judge`: a manifest, tables by measurement and seed, a protocol."""

from __future__ import annotations

import csv
import hashlib
import io
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path, PurePath
from typing import Any

import yaml

from reproaudit.audit.model import Audit
from reproaudit.cell import SettingValue
from reproaudit.declarations import Declaration
from reproaudit.elsewhere.finding import FoundLogs
from reproaudit.elsewhere.mapping import MappingFile
from reproaudit.elsewhere.measuring import ImportedRole, Measured, settings_measured_with
from reproaudit.elsewhere.roles import ComparedSetting, role_words

PROTOCOL = "import.json"
"""The file that says what became of every log."""
MOST_NAMED = 8
"""Of runs and files that a sentence tells of, so many are named."""


@dataclass(frozen=True)
class Header:
    """The manifest's fields beside the runs."""

    who: str
    source: str
    framework: str
    made: date
    tier: str
    proxy: str | None
    settings: Mapping[str, SettingValue]


def some(names: Sequence[str], most: int = MOST_NAMED) -> str:
    """Return the first of several names, and how many more there are."""
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest} more" if rest > 0 else "")


def ignored_runs(found: FoundLogs, roles: Sequence[ImportedRole]) -> list[str]:
    """Return the names of the runs that the mapping leaves out."""
    placed = {one.run.name for role in roles for one in role.runs.values()}
    return sorted({run.name for run in found.runs} - placed)


def notes_on(
    mapping: MappingFile, found: FoundLogs, roles: Sequence[ImportedRole]
) -> Iterator[str]:
    """Yield what a reader of the measurements is to know, in sentences for the manifest."""
    if ignored := ignored_runs(found, roles):
        yield f"Runs of the logs that are left out: {some([_within(one) for one in ignored])}."
    if found.skipped:
        yield f"Among the logs were not read: {some([_within(one) for one in found.skipped])}."
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
    return {
        "paper": audit.paper.slug,
        "roles": [
            {
                "role": role_words(role.batch),
                "runs": [
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
                ],
                "measured": list(role.measured),
                "withheld": {name: list(reasons) for name, reasons in role.withheld.items()},
                "absent": list(role.absent),
                "ignored": list(role.ignored),
            }
            for role in roles
        ],
        "ignored_runs": ignored_runs(found, roles),
        "skipped": found.skipped,
        "settings": [
            {
                "role": role_words(one.batch),
                "setting": one.name,
                "audit": one.audit,
                "source": one.source,
                "found": one.found,
                "status": one.status,
            }
            for one in compared
        ],
        "notes": list(notes),
    }


def write_folder(
    folder: Path,
    audit: Audit,
    header: Header,
    roles: Sequence[ImportedRole],
    protocol: Mapping[str, Any],
) -> None:
    """Write the manifest, the tables and the protocol."""
    manifest: dict[str, Any] = {
        "schema_version": 1,
        "who": header.who,
        "source": header.source,
        "framework": header.framework,
        "date": header.made,
        "paper": audit.paper.slug,
        "tier": header.tier,
        "proxy": header.proxy,
        "settings": {name: _plain(value) for name, value in header.settings.items()},
        "noted": protocol["notes"],
        "runs": [],
    }
    for number, role in enumerate(roles, start=1):
        stem = f"{number}-{role.batch.experiment}"
        manifest["runs"] += _write_role(folder, audit, header, role, stem)
    stated = {name: value for name, value in manifest.items() if value not in (None, {}, [])}
    text = f"# Written by reproaudit import; {PROTOCOL} says from which files.\n"
    text += yaml.safe_dump(stated, sort_keys=False, allow_unicode=True, width=100)
    (folder / "manifest.yaml").write_text(text, encoding="utf-8")
    said = json.dumps(protocol, indent=2, ensure_ascii=False, allow_nan=False)
    (folder / PROTOCOL).write_text(said + "\n", encoding="utf-8")


def _plain(value: SettingValue) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _write_role(
    folder: Path, audit: Audit, header: Header, role: ImportedRole, stem: str
) -> Iterator[dict[str, Any]]:
    """Write the tables of a role; yield its entries in the manifest, one for each status."""
    declared = audit.measurements_of(role.batch.experiment)
    settings = settings_measured_with(audit, role.batch, header.settings)
    for name, by_seed in role.measured.items():
        for seed, one in by_seed.items():
            file = folder / stem / str(seed) / f"{name}.csv"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(_table(name, declared[name], settings, one), encoding="utf-8")
    for status in ("completed", "diverged"):
        diverged = status == "diverged"
        seeds = [seed for seed, run in role.runs.items() if run.diverged == diverged]
        if seeds and role.measured:
            yield {
                "experiment": role.batch.experiment,
                "seeds": seeds,
                "settings": {name: _plain(value) for name, value in role.batch.overrides},
                "status": status,
                "files": [f"{stem}/{{seed}}/{name}.csv" for name in role.measured],
            }


def _table(
    name: str, declaration: Declaration, settings: Mapping[str, Any], measured: Measured
) -> str:
    """Return one measurement of one seed as CSV, with numbers that read back the same."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    stepped = measured.steps is not None
    table.writerow([*(["step"] if stepped else []), *(a.name for a in declaration.axes), name])
    places = list(itertools.product(*(axis.coordinates(settings) for axis in declaration.axes)))
    for index, step in enumerate(measured.steps or (0,)):
        block = measured.values[index] if stepped else measured.values
        for at, value in zip(places, block.reshape(-1).tolist(), strict=True):
            table.writerow([*([step] if stepped else []), *at, repr(value)])
    return text.getvalue()


def digest_of(file: Path) -> str:
    """Return the SHA-256 of a file."""
    with file.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()
