"""Somebody else's logs into a folder that `reproaudit judge` reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from reproaudit.audit.model import Audit, known_tier
from reproaudit.audit.values import shown
from reproaudit.elsewhere.finding import find_runs
from reproaudit.elsewhere.logged import LogError, LoggedRun, on_one_line
from reproaudit.elsewhere.mapping import MappingFile, read_mapping
from reproaudit.elsewhere.measuring import ImportedRole, measure_roles
from reproaudit.elsewhere.roles import (
    ComparedSetting,
    PlacedRun,
    compare_settings,
    manifest_settings,
    place_runs,
)
from reproaudit.elsewhere.scope import Scope, role_words, scope_of, some
from reproaudit.elsewhere.writing import (
    Header,
    fill_folder,
    measured_runs_of,
    notes_on,
    protocol_of,
    write_protocol,
)
from reproaudit.errors import UsageError
from reproaudit.folders import new_folder, scratch_folder
from reproaudit.records import Origin

MAX_LISTED = 12
"""Tags that the terminal lists; the protocol has all of them."""


@dataclass(frozen=True)
class Asked:
    """The arguments of `reproaudit import`.

    Attributes:
        logs: files and folders.
        out: the folder to write.
        mapping: the mapping file, if there is one.
        claims: the claims to import for; all if none.
        tier: the scale of the runs, where it is said.
        seeds: NAME=NUMBER, as written.
        who: who submits, where it is said.
        source: from where, where it is said.
    """

    logs: tuple[Path, ...]
    out: Path
    mapping: Path | None = None
    claims: tuple[str, ...] = ()
    tier: str | None = None
    seeds: tuple[str, ...] = ()
    who: str | None = None
    source: str | None = None


def import_logs(audit: Audit, asked: Asked) -> tuple[dict[str, Any], list[str], Table]:
    """Read the logs and write the folder; return what became of what: data, lines, settings.

    Raises:
        UsageError: if the command line is wrong, or the folder exists.
        LogError: if the logs cannot be used.
        SpecError: listing what is wrong with the mapping, or what `judge` would refuse.
    """
    mapping = MappingFile() if asked.mapping is None else read_mapping(asked.mapping)
    tier = known_tier(asked.tier or mapping.tier or "paper")
    if tier == "smoke":
        raise UsageError("--tier: found 'smoke'; expected quick or paper, the scale of the runs.")
    scope, seeds = scope_of(audit, tier, asked.claims), _seeds(asked.seeds)
    axes = frozenset(
        axis.name
        for experiment in audit.experiments
        for declaration in audit.measurements_of(experiment).values()
        for axis in declaration.axes
    )
    remedy = "Name another with --out, or remove it."
    with new_folder(asked.out, remedy) as folder, scratch_folder() as scratch:
        found = find_runs(asked.logs, axes, mapping.step, scratch)
        placed = place_runs(audit, scope, found.runs, mapping, seeds)
        if not placed:
            raise LogError(str(asked.logs[0]), "found no run that is not ignored; expected one.")
        compared = compare_settings(audit, placed)
        settings = manifest_settings(compared)
        roles = measure_roles(audit, scope, placed, settings, mapping)
        if not any(role.measured for role in roles):
            name, reasons = next(one for role in roles for one in role.withheld.items())
            raise LogError(
                str(asked.logs[0]),
                f"found nothing whole: {name}: {reasons[0]}; expected whole curves.",
            )
        notes = tuple(notes_on(mapping, found, roles))
        protocol = protocol_of(audit, found, roles, compared, notes)
        header = Header(_origin(asked, mapping, placed), tier, settings, mapping.proxy, notes)
        fill_folder(
            folder, audit, [measured_runs_of(role) for role in roles if role.measured], header
        )
        write_protocol(folder, protocol)
    lines = [
        line[: len(line) - len(line.lstrip())] + on_one_line(line)
        for line in _lines(scope, mapping, roles, notes)
    ]
    return {"folder": str(asked.out), **protocol}, lines, _settings_table(compared)


def _seeds(written: Iterable[str]) -> dict[str, int]:
    seeds = {}
    for one in written:
        name, _, number = one.rpartition("=")
        if not name or not number.isdecimal() or int(number) >= 2**32:
            raise UsageError(f"--seed: found '{one}'; expected NAME=NUMBER, such as logs/run_a=3.")
        seeds[name] = int(number)
    return seeds


def _origin(asked: Asked, mapping: MappingFile, placed: Sequence[PlacedRun]) -> Origin:
    runs = [one.run for one in placed]
    loggers = ", ".join(sorted({run.source for run in runs}))
    logs = ", ".join(path.name or str(path.resolve().name) for path in asked.logs)
    return Origin(
        who=asked.who or mapping.who or "not stated",
        source=on_one_line(asked.source or mapping.source or f"{loggers} logs: {logs}", 300),
        framework=mapping.framework or f"not stated; logged by {loggers}",
        made=mapping.date or max(run.made or _changed(run) for run in runs),
    )


def _changed(run: LoggedRun) -> date:
    """Return the day of a run's youngest file."""
    return datetime.fromtimestamp(max(file.stat().st_mtime for file in run.files), UTC).date()


# --- the terminal ---------------------------------------------------------------------------------


def _lines(
    scope: Scope, mapping: MappingFile, roles: Sequence[ImportedRole], notes: Sequence[str]
) -> Iterator[str]:
    for role in roles:
        which = role_words(role.batch)
        runs = [one.run for one in role.runs.values()]
        loggers = ", ".join(sorted({run.source for run in runs}))
        yield f"{which}, from {loggers}: seeds {', '.join(map(str, role.runs))}"
        for column in sorted({run.step for run in runs if run.step} - {"step"}):
            yield f"steps of {which} are those of the column '{column}'"
        for name, by_seed in role.measured.items():
            quantity = mapping.mapping.get(name)
            source = "" if quantity is None else f" = {quantity.words}"
            points = max(len(one.steps or (0,)) for one in by_seed.values())
            yield f"  {name}{source}: {points} points in each run"
        for name, reasons in role.withheld.items():
            yield f"left out, not whole: '{name}' of {which}: {'; '.join(reasons)}"
        if role.absent:
            yield f"not logged by {which}: {', '.join(role.absent)}"
    for batch in scope.batches:
        if batch not in {role.batch for role in roles}:
            yield f"no run of {role_words(batch)}; claims that need it will be not tested"
    if ignored := sorted({tag for role in roles for tag in role.ignored}):
        yield f"ignored tags: {some(ignored, MAX_LISTED)}"
    yield from notes


def _settings_table(compared: Sequence[ComparedSetting]) -> Table:
    table = Table("setting", "of", "audit (source)", "configurations", "", box=None)
    styles = {"equal": "green", "contradicting": "red", "absent": "dim"}
    rows: dict[tuple[str, ...], ComparedSetting] = {}
    for one in compared:  # a control has most settings as its experiment does
        key = (one.batch.experiment, one.name, shown(one.audit), one.status, str(one.found))
        rows.setdefault(key, one)
    for one in rows.values():
        cells = (
            one.name,
            role_words(one.batch),
            f"{shown(one.audit)} ({one.source})",
            "" if one.found is None else shown(one.found),
            one.status,
        )
        table.add_row(*(Text(on_one_line(cell)) for cell in cells), style=styles[one.status])
    return table
