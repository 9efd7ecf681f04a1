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
from pathlib import Path
from typing import Any

import yaml

from reproaudit.audit.model import Audit
from reproaudit.cell import SettingValue
from reproaudit.checks.measurements import Declaration
from reproaudit.elsewhere.assembling import ImportedRole
from reproaudit.elsewhere.logged import on_one_line
from reproaudit.elsewhere.measuring import Measured
from reproaudit.elsewhere.noticing import name_within
from reproaudit.elsewhere.roles import role_words


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
    taken_from: Mapping[str, str]


def write_folder(
    folder: Path,
    audit: Audit,
    header: Header,
    roles: Sequence[ImportedRole],
    protocol: Mapping[str, Any],
    protocol_file: str,
) -> None:
    """Writes the manifest, the tables and the protocol, which holds what was written."""
    runs: list[dict[str, Any]] = []
    for number, role in enumerate(roles, start=1):
        runs += _write_role(folder, audit, header, role, f"{number}-{role.batch.experiment}")
    manifest: dict[str, Any] = {
        "schema_version": 1,
        "who": header.who,
        "source": header.source,
        "framework": header.framework,
        "date": header.made,
        "paper": audit.paper.slug,
        "tier": header.tier,
    }
    if header.proxy is not None:
        manifest["proxy"] = header.proxy
    if header.settings:
        manifest["settings"] = {name: _plain(value) for name, value in header.settings.items()}
    if protocol["ignored_runs"]:
        manifest["left_out"] = [name_within(one) for one in protocol["ignored_runs"]]
    if header.taken_from:
        manifest["taken_from"] = dict(header.taken_from)
    if protocol["noted"]:
        manifest["noted"] = list(protocol["noted"])
    manifest["runs"] = runs
    text = "".join(f"# {on_one_line(line)}\n" for line in _comments(roles, protocol_file))
    text += yaml.safe_dump(manifest, sort_keys=False, allow_unicode=True, width=100)
    (folder / "manifest.yaml").write_text(text, encoding="utf-8")
    written = {
        "manifest": json.loads(json.dumps(manifest, default=str)),
        "tables": {
            file.relative_to(folder).as_posix(): digest_of(file)
            for file in sorted(folder.rglob("*.csv"))
        },
    }
    (folder / protocol_file).write_text(
        json.dumps({**protocol, "written": written}, indent=2, ensure_ascii=False, allow_nan=False)
        + "\n",
        encoding="utf-8",
    )


def _plain(value: SettingValue) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _comments(roles: Sequence[ImportedRole], protocol_file: str) -> Iterator[str]:
    yield (
        f"Written by reproaudit import; {protocol_file} says from which files, and what was left "
        "out."
    )
    for role in roles:
        for name, reasons in role.withheld.items():
            said = "; ".join(reasons)
            yield f"not whole, so left out: '{name}' of {role_words(role.batch)}: {said}"


def _write_role(
    folder: Path, audit: Audit, header: Header, role: ImportedRole, stem: str
) -> Iterator[dict[str, Any]]:
    """Writes the tables of a role; yields its entries in the manifest, one for each status."""
    declared = audit.measurements_of(role.batch.experiment)
    settings = {
        **role.batch.settings(audit),
        **{
            name.partition(".")[2]: value
            for name, value in header.settings.items()
            if name.partition(".")[0] == role.batch.experiment
        },
        **dict(role.batch.overrides),
    }
    if not role.measured:
        return
    for name, by_seed in role.measured.items():
        for seed, one in by_seed.items():
            file = folder / stem / str(seed) / f"{name}.csv"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(_table(name, declared[name], settings, one), encoding="utf-8")
    for diverged in (False, True):
        seeds = [seed for seed, run in role.runs.items() if run.diverged == diverged]
        if not seeds:
            continue
        entry: dict[str, Any] = {"experiment": role.batch.experiment, "seeds": seeds}
        if role.batch.overrides:
            entry["settings"] = {name: _plain(value) for name, value in role.batch.overrides}
        if diverged:
            entry["status"] = "diverged"
        entry["files"] = [f"{stem}/{{seed}}/{name}.csv" for name in role.measured]
        yield entry


def _table(
    name: str, declaration: Declaration, settings: Mapping[str, Any], measured: Measured
) -> str:
    """One measurement of one seed as CSV; numbers are written so that they read back the same."""
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
    """The SHA-256 of a file that was read."""
    with file.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()
