"""`reproaudit import`: somebody else's logs into a folder that `reproaudit judge` reads."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from reproaudit.audit.model import Audit, TierName
from reproaudit.audit.rules.values import shown
from reproaudit.audit.scope import Scope, scope_of
from reproaudit.commands.foretelling import untested_claims
from reproaudit.elsewhere.assembling import ImportedRole, assemble
from reproaudit.elsewhere.comparing import (
    LAST_LOGGED,
    ComparedSetting,
    compare_settings,
    manifest_settings,
)
from reproaudit.elsewhere.finding import FoundLogs, find_runs
from reproaudit.elsewhere.imported import PROTOCOL
from reproaudit.elsewhere.logged import LogError, LoggedRun, on_one_line
from reproaudit.elsewhere.mapping import MappingFile, read_mapping
from reproaudit.elsewhere.noticing import not_read, noticed
from reproaudit.elsewhere.roles import PlacedRun, place_runs, role_words
from reproaudit.elsewhere.submission import read_submission
from reproaudit.elsewhere.writing import Header, digest_of, write_folder
from reproaudit.errors import UsageError
from reproaudit.folders import new_folder, scratch_folder

MAX_LISTED = 12
"""Tags and links that the terminal lists; the protocol has all of them."""


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
        audits: the folder of the audit, where it is no shipped one.
    """

    logs: tuple[Path, ...]
    out: Path
    mapping: Path | None = None
    claims: tuple[str, ...] = ()
    tier: str | None = None
    seeds: tuple[str, ...] = ()
    who: str | None = None
    source: str | None = None
    audits: Path | None = None


def import_logs(audit: Audit, asked: Asked, as_json: bool) -> int:
    """Reads the logs, writes the folder and prints what became of what.

    Raises:
        UsageError: if the command line is wrong, or the folder exists.
        LogError: if the logs cannot be used.
        SpecError: listing what `judge` would refuse.
    """
    mapping = MappingFile() if asked.mapping is None else read_mapping(asked.mapping)
    tier = _tier(asked.tier or mapping.tier or "paper")
    seeds = _seeds(asked.seeds)
    scope = scope_of(audit, tier, asked.claims)
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
        compared = compare_settings(audit, placed, mapping)
        overrides = manifest_settings(compared)
        roles = assemble(audit, scope, placed, overrides, mapping)
        noted = [*noticed(audit, scope, tier, placed, mapping), *not_read(found.unread)]
        protocol = _protocol(audit, asked, mapping, found, compared, roles, scope, noted)
        if not any(role.measured for role in roles):
            raise LogError(
                str(asked.logs[0]),
                f"found nothing whole: {protocol['withheld'][0]['measurement']}: "
                f"{protocol['withheld'][0]['reasons'][0]}; expected whole curves.",
            )
        header = _header(asked, mapping, tier, overrides, placed)
        write_folder(folder, audit, header, roles, protocol, PROTOCOL)
        submission = read_submission(audit, folder)  # what `judge` would refuse is refused here
    untested = untested_claims(submission, protocol["claims"])
    if as_json:
        told = {"folder": str(asked.out), "will_be_not_tested": untested, **protocol}
        text = json.dumps(told, indent=2, ensure_ascii=False)
        sys.stdout.write(text + "\n")
    else:
        _show(Console(), asked, mapping, roles, protocol, compared, untested)
    return 0


def _tier(name: str) -> TierName:
    if name in ("quick", "paper"):
        return "quick" if name == "quick" else "paper"
    raise UsageError(f"--tier: found '{name}'; expected quick or paper, the scale of the runs.")


def _seeds(written: Iterable[str]) -> dict[str, int]:
    seeds = {}
    for one in written:
        name, _, number = one.rpartition("=")
        if not name or not number.isdecimal() or int(number) >= 2**32:
            raise UsageError(f"--seed: found '{one}'; expected NAME=NUMBER, such as logs/run_a=3.")
        seeds[name] = int(number)
    return seeds


def _header(
    asked: Asked,
    mapping: MappingFile,
    tier: TierName,
    overrides: Mapping[str, Any],
    placed: Sequence[PlacedRun],
) -> Header:
    runs = [one.run for one in placed]
    loggers = ", ".join(sorted({run.source for run in runs}))
    who = {run.who for run in runs if run.who}
    days = [run.made or _changed(run) for run in runs]
    logs = ", ".join(path.name or str(path.resolve().name) for path in asked.logs)
    return Header(
        who=asked.who or mapping.who or (who.pop() if len(who) == 1 else "not stated"),
        source=on_one_line(asked.source or mapping.source or f"{loggers} logs: {logs}", 300),
        framework=mapping.framework or f"not stated; logged by {loggers}",
        made=mapping.date or max(days),
        tier=tier,
        proxy=mapping.proxy,
        settings=overrides,
        taken_from={
            name: formula
            for name in mapping.mapping
            if (formula := _formula(name, mapping)) != name
        },
    )


def _formula(name: str, mapping: MappingFile) -> str:
    """The tag or formula of a measurement, with the meaning of each short name."""
    quantity = mapping.mapping.get(name)
    if quantity is None:
        return name
    where = "; ".join(f"{one} is '{tag}'" for one, tag in quantity.let.items())
    taken = ", where ".join(filter(None, [quantity.tag or quantity.expression or name, where]))
    along = "; ".join(f"{axis} {', '.join(map(str, at))}" for axis, at in quantity.axes.items())
    return f"{taken}, over {along}" if along else taken


def _changed(run: LoggedRun) -> date:
    """The day of a run's youngest file."""
    return datetime.fromtimestamp(max(file.stat().st_mtime for file in run.files), UTC).date()


# --- the protocol ---------------------------------------------------------------------------------


def _protocol(
    audit: Audit,
    asked: Asked,
    mapping: MappingFile,
    found: FoundLogs,
    compared: Sequence[ComparedSetting],
    roles: Sequence[ImportedRole],
    scope: Scope,
    noted: Sequence[str],
) -> dict[str, Any]:
    placed = [(role, seed, run) for role in roles for seed, run in role.runs.items()]
    missing = [
        role_words(batch) for batch in scope.batches if batch not in {r.batch for r in roles}
    ]
    return {
        "paper": audit.paper.slug,
        "claims": [claim.id for claim in scope.claims],
        "runs": [
            {
                "name": run.run.name,
                "logger": run.run.source,
                "experiment": role.batch.experiment,
                "settings": dict(role.batch.overrides),
                "seed": seed,
                "step": run.run.step,
                "status": "diverged" if run.diverged else "completed",
                "files": {file.name: digest_of(file) for file in run.run.files},
                "configurations": [file.name for file in found.configs[run.run.name]],
            }
            for role, seed, run in placed
        ],
        "ignored_runs": sorted(
            {run.name for run in found.runs} - {run.run.name for _, _, run in placed}
        ),
        "measurements": [
            {
                "experiment": role.batch.experiment,
                "settings": dict(role.batch.overrides),
                "measurement": name,
                "from": _formula(name, mapping),
                "seeds": list(by_seed),
                "points": max(len(one.steps or (0,)) for one in by_seed.values()),
            }
            for role in roles
            for name, by_seed in role.measured.items()
        ],
        "withheld": [
            {"role": role_words(role.batch), "measurement": name, "reasons": list(reasons)}
            for role in roles
            for name, reasons in role.withheld.items()
        ],
        "absent": {role_words(role.batch): list(role.absent) for role in roles if role.absent},
        "absent_roles": missing,
        "ignored": {role_words(role.batch): list(role.ignored) for role in roles if role.ignored},
        "skipped": found.skipped,
        "complete": mapping.complete,
        "noted": list(noted),
        "settings": [
            {
                "role": role_words(one.batch),
                "setting": one.name,
                "audit": one.audit,
                "source": one.source,
                "found": one.found,
                "called": one.called,
                "status": one.status,
                "alternative": one.alternative,
            }
            for one in compared
        ],
        "mapping": None if asked.mapping is None else asked.mapping.name,
    }


# --- the terminal ---------------------------------------------------------------------------------


def _show(
    console: Console,
    asked: Asked,
    mapping: MappingFile,
    roles: Sequence[ImportedRole],
    protocol: Mapping[str, Any],
    compared: Sequence[ComparedSetting],
    untested: Mapping[str, Sequence[str]],
) -> None:
    def line(text: str, style: str | None = None, indent: str = "") -> None:
        console.print(
            indent + on_one_line(text), style=style, markup=False, highlight=False, soft_wrap=True
        )

    for role in roles:
        loggers = ", ".join(sorted({one.run.source for one in role.runs.values()}))
        line(f"{role_words(role.batch)}, from {loggers}: seeds {', '.join(map(str, role.runs))}")
        for column in sorted({one.run.step for one in role.runs.values() if one.run.step}):
            if column.lower() != "step":
                line(
                    f"steps: taken from the column '{column}'; 'step' in a mapping says another",
                    indent="  ",
                )
        for name, by_seed in role.measured.items():
            origin = _formula(name, mapping)
            source = "" if origin == name else f" = {origin}"
            points = max(len(one.steps or (0,)) for one in by_seed.values())
            line(f"{name}{source}: {points} points in each run", indent="  ")
    left_out: dict[tuple[str, str], list[str]] = {}
    for one in protocol["withheld"]:
        cause = one["role"], "; ".join(one["reasons"])
        left_out.setdefault(cause, []).append(f"'{one['measurement']}'")
    for (which, reasons), names in left_out.items():
        line(f"left out, not whole: {', '.join(names)} of {which}: {reasons}", "yellow")
    for which, names in protocol["absent"].items():
        line(f"not logged by {which}: {', '.join(names)}")
    for which in protocol["absent_roles"]:
        if not any(reason.startswith(f"no run of {which}, ") for reason in untested):
            line(f"no run of {which}")
    if ignored := sorted({tag for role in roles for tag in role.ignored}):
        line(f"ignored tags: {_some(ignored)}")
    if protocol["ignored_runs"]:
        line(f"ignored runs: {_some(protocol['ignored_runs'])}")
    for said in protocol["noted"]:
        line(said, "yellow")
    if protocol["skipped"]:
        line(f"passed over: {_some(protocol['skipped'])}")
    console.print(_settings_table(compared))
    if mapping.complete is None and any(one.called == LAST_LOGGED for one in compared):
        line(
            "no configuration states 'steps', and the logs end elsewhere; if they count something "
            "else, write 'configuration: {steps: null}' in a mapping",
            "yellow",
        )
    line(f"wrote {asked.out}")
    for reason, claims in untested.items():
        words = "claim" if len(claims) == 1 else "claims"
        line(f"{reason}: the {words} {', '.join(claims)} will be not tested", "yellow")
    audits = "" if asked.audits is None else f" --audits {asked.audits}"
    line(f"next: reproaudit judge {protocol['paper']}{audits} --measurements {asked.out}")


def _some(names: Sequence[str]) -> str:
    listed = ", ".join(names[:MAX_LISTED])
    rest = len(names) - MAX_LISTED
    return f"{listed} and {rest} more" if rest > 0 else listed


def _settings_table(compared: Sequence[ComparedSetting]) -> Table:
    table = Table("setting", "of", "audit (source)", "configurations", "", box=None)
    styles = {"equal": "green", "contradicting": "red", "absent": "dim"}
    seen: set[tuple[Any, ...]] = set()
    for one in compared:
        row = (one.batch.experiment, one.name, shown(one.audit), one.status, str(one.found))
        if row in seen:  # a control has most settings as its experiment does
            continue
        seen.add(row)
        word: str = one.status
        if one.status == "contradicting" and one.alternative:
            word += ", an alternative of the ledger"
        table.add_row(
            *map(
                _cell,
                (
                    one.name,
                    role_words(one.batch),
                    f"{shown(one.audit)} ({one.source})",
                    _found(one),
                    word,
                ),
            ),
            style=styles[one.status],
        )
    return table


def _found(one: ComparedSetting) -> str:
    if one.found is None:
        return ""
    return shown(one.found) + (f" ({LAST_LOGGED})" if one.called == LAST_LOGGED else "")


def _cell(text: str) -> Any:
    from rich.text import Text

    return Text(on_one_line(text))
