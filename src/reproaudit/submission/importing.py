"""Somebody else's logs into a folder that `reproaudit judge` reads.

What became of every log is told in the manifest, in sentences, and in the terminal.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from glob import escape
from pathlib import Path, PurePath
from typing import Any

import numpy as np
from rich.table import Table
from rich.text import Text

from reproaudit.audit.faults import shown
from reproaudit.audit.model import Audit, known_tier
from reproaudit.audit.plan import Batch, Role, Scope, claim_batches, scope_of
from reproaudit.cell import SettingValue
from reproaudit.errors import UsageError, did_you_mean
from reproaudit.files import new_folder, scratch_folder
from reproaudit.logs.asked import Asked
from reproaudit.logs.finding import by_reason, find_runs
from reproaudit.logs.logged import (
    Curve,
    LogError,
    LoggedRun,
    MisfitError,
    gathered,
    on_one_line,
    raise_all,
    some,
)
from reproaudit.logs.mapping import LoggedQuantity, MappingFile, read_mapping
from reproaudit.logs.measuring import Measured, measure
from reproaudit.logs.pooling import PlacedRun, role_words
from reproaudit.logs.roles import (
    axes_of,
    compare_settings,
    manifest_settings,
    place_runs,
)
from reproaudit.records import Origin
from reproaudit.stats.binomial import FEWEST_RUNS
from reproaudit.submission.reading import left_out_words
from reproaudit.submission.writing import MeasuredRuns, manifest_head, write_submission

MOST_RULES = 4
"""Rules for runs that a sentence writes out."""


def import_logs(
    audit: Audit,
    logs: Sequence[Path],
    out: Path,
    mapping_file: Path | None = None,
    *,
    claims: Sequence[str] = (),
    **said: str | None,
) -> tuple[dict[str, Any], list[str], Table]:
    """Read the logs and write the folder; return what became of what: data, lines, settings.

    Args:
        audit: the audit.
        logs: files and folders; `out` is the folder to write.
        mapping_file: the mapping file; None if there is none.
        claims: the claims to import for; all if none.
        said: `tier`, `who` and `source`; those of the mapping file where they are None.

    Raises:
        UsageError: if the command line is wrong, or the folder exists.
        LogError: if the logs cannot be used.
        SpecError: listing what is wrong with the mapping, or what `judge` would refuse.
    """
    mapping = MappingFile() if mapping_file is None else read_mapping(mapping_file)
    mapping = mapping.model_copy(update={k: one for k, one in said.items() if one is not None})
    tier = known_tier(mapping.tier or "paper")
    if tier == "smoke":
        raise UsageError("--tier: found 'smoke'; expected quick or paper, the scale of the runs.")
    scope = scope_of(audit, tier, claims)
    remedy = "Name another with --out, or remove it."
    with new_folder(out, remedy) as folder, scratch_folder() as scratch:
        found, skipped = find_runs(logs, _asked(audit, scope, mapping), scratch)
        placed = place_runs(audit, scope, found, mapping, _unlogged(found, mapping, scope))
        if not placed:
            raise LogError(str(logs[0]), "found no run that is not ignored; expected one.")
        stated = manifest_settings(audit, placed)
        roles = [
            _role(audit, scope, batch, of_batch, stated[batch.experiment], mapping)
            for batch, of_batch in placed.items()
        ]
        _refuse_unlogged(roles, mapping)
        runs = [one.run for role in placed.values() for one in role.values()]
        ignored = sorted({run.name for run in found} - {run.name for run in runs})
        notes = [on_one_line(one, 5_000) for one in _notes(mapping, roles, ignored, skipped)]
        compared = compare_settings(audit, placed)
        settings = {f"{one}.{n}": value for one, own in stated.items() for n, value in own.items()}
        head = manifest_head(_origin(logs, mapping, runs), tier, settings, mapping.proxy, notes)
        write_submission(folder, audit, [_measured(role) for role in roles], head)
    said_of_roles = _lines(audit, scope, mapping, roles)
    indents = ((one, one[: len(one) - len(one.lstrip())]) for one in said_of_roles)
    lines = [*(indent + on_one_line(one, 5_000) for one, indent in indents), *notes]
    data = {
        "folder": str(out),
        "ignored_runs": ignored,
        "skipped": [f"{name} ({why})" for name, why in skipped],
        "settings": compared,
        "lines": lines,
    }
    return data, lines, _settings_table(compared)


def _asked(audit: Audit, scope: Scope, mapping: MappingFile) -> Asked:
    """Return what the audit and the mapping ask of the logs."""
    measured = {name for one in audit.experiments for name in audit.measurements_of(one)}
    settings = {name for one in audit.experiments for name in audit.settings_of(one)}
    for field, what, said, known in (
        ("mapping", "measurement", mapping.mapping, measured),
        ("configuration", "setting", mapping.configuration, settings),
    ):
        if unknown := next((name for name in said if name not in known), None):
            hint = did_you_mean(unknown, known)
            raise LogError(f"{field}: {unknown}", f"found an unknown {what}. {hint}")
    names = [name for each in scope.measurements.values() for name in each]
    sources = [_source(mapping, name) for name in names]
    called = {one for one in mapping.configuration.values() if one}
    return Asked(
        axes=axes_of(audit),
        settings=frozenset(settings - mapping.configuration.keys() | called),
        wanted=frozenset[str]().union(*(one.tags for one in sources)),
        columns=mapping.columns,
        numbered=frozenset(mapping.number),
        overlap=mapping.overlap,
    )


def _origin(logs: Sequence[Path], mapping: MappingFile, runs: Sequence[LoggedRun]) -> Origin:
    loggers = ", ".join(sorted({run.source for run in runs}))
    names = ", ".join(path.name or str(path.resolve().name) for path in logs)
    youngest = max(file.stat().st_mtime for run in runs for file in run.files)
    return Origin(
        who=mapping.who or "not stated",
        source=on_one_line(mapping.source or f"{loggers} logs: {names}", 300),
        framework=mapping.framework or f"not stated; logged by {loggers}",
        made=mapping.date or datetime.fromtimestamp(youngest, UTC).date(),
    )


def _measured(role: _Role) -> MeasuredRuns:
    """Return the runs of a role as they are written to a folder."""
    seeds: dict[int, dict[str, Any]] = {seed: {} for seed in role.runs}
    for name, by_seed in role.measured.items():
        for seed, one in by_seed.items():
            seeds[seed][name] = one.values if one.steps is None else (one.steps, one.values)
    diverged = frozenset(seed for seed, run in role.runs.items() if run.diverged)
    left_out = {
        name: [on_one_line(one, 1_000) for one in reasons]
        for name, reasons in role.withheld.items()
    }
    settings = dict(role.batch.overrides)
    return MeasuredRuns(role.batch.experiment, seeds, settings, diverged, left_out)


# --- the measurements of every role ---------------------------------------------------------------


@dataclass(frozen=True)
class _Role:
    """An experiment or a control with its runs, by seed.

    Attributes:
        measured: measurement -> seed -> its curve, as `measure` makes it; whole ones.
        withheld: measurement -> why it is kept out, for every seed.
        absent: the wanted measurements that no run logged.
        ignored: the tags that nothing was made of.
    """

    batch: Batch
    runs: Mapping[int, PlacedRun]
    measured: Mapping[str, Mapping[int, Curve]]
    withheld: Mapping[str, tuple[str, ...]]
    absent: tuple[str, ...]
    ignored: tuple[str, ...]


def _role(
    audit: Audit,
    scope: Scope,
    batch: Batch,
    runs: Mapping[int, PlacedRun],
    stated: Mapping[str, SettingValue],
    mapping: MappingFile,
) -> _Role:
    """Make the measurements of a role.

    A measurement whose curve is not whole in one run is kept out for all runs of the role: to drop
    that run alone would choose among the seeds.
    """
    settings = {**batch.settings(audit), **stated, **dict(batch.overrides)}
    declared = audit.measurements_of(batch.experiment)
    wanted = scope.measurements[batch.experiment]
    measured: dict[str, dict[int, Curve]] = {}
    withheld: dict[str, tuple[str, ...]] = {}
    unused = {tag for one in runs.values() for tag in one.run.curves}
    faults: list[LogError] = []
    for name in wanted:
        quantity = _source(mapping, name)
        found: dict[int, Measured] = {}
        misfits: dict[str, None] = {}
        for seed, one in runs.items():
            with gathered(faults):
                try:
                    made = measure(one.run, settings, name, declared[name], quantity)
                except MisfitError as error:
                    if name in mapping.mapping:
                        raise
                    misfits[error.text.rstrip(".")] = None
                    unused.discard(name)
                    continue
                if made is not None:
                    found[seed] = made
        unused -= {tag for one in found.values() for tag in one.tags}
        if misfits:
            withheld[name] = tuple(misfits)
        elif found and (reasons := _reasons(found, runs, mapping.complete is not None)):
            withheld[name] = reasons
        elif found:
            measured[name] = {seed: one.curve for seed, one in found.items()}
    raise_all(faults)
    return _Role(
        batch=batch,
        runs=runs,
        measured=measured,
        withheld=withheld,
        absent=tuple(name for name in wanted if name not in measured and name not in withheld),
        ignored=tuple(sorted(unused)),
    )


def _reasons(
    found: Mapping[int, Measured], runs: Mapping[int, PlacedRun], attested: bool
) -> tuple[str, ...]:
    """Tell why a measurement of a role is kept out, and the ways on; () if it is whole."""
    ended = {seed: one for seed, one in found.items() if not runs[seed].diverged}
    steps = (one.curve.steps for one in ended.values())
    every = frozenset(step for one in steps if one is not None for step in one.tolist())
    seeds: dict[str, list[str]] = {}
    diverged: dict[str, list[str]] = {}
    unlogged = [("not logged, though others are", "")]
    for seed, run in {seed: one.run for seed, one in runs.items() if not one.diverged}.items():
        doubts = _doubts(run, ended[seed], every, attested) if seed in ended else unlogged
        for reason, otherwise in doubts:
            seeds.setdefault(reason, []).append(str(seed))
            if otherwise is not None:
                diverged.setdefault(otherwise, []).append(run.name)
    reasons = [f"seed {', '.join(of)}: {reason}" for reason, of in seeds.items()]
    for otherwise, names in diverged.items():
        listed = [f'"*{escape(_within(one))}"' for one in dict.fromkeys(names[:MOST_RULES])]
        rules = ", ".join(f"{{match: {one}, status: diverged}}" for one in listed)
        reasons.append(f"if a run diverged, say so in a mapping: `runs: [{rules}]`{otherwise}")
    return tuple(reasons)


def _doubts(
    run: LoggedRun, one: Measured, every: Collection[int], attested: bool
) -> Iterator[tuple[str, str | None]]:
    """Yield each sign that a measurement of a run is not whole, with the way on unless it diverged.

    None in place of the way where divergence does not look so. `every`: the steps of all its role.
    """
    own = frozenset() if one.curve.steps is None else frozenset(one.curve.steps.tolist())
    curves = [curve.steps for at in run.curves.values() for curve in at.values()]
    end = max((int(steps.max()) for steps in curves if steps is not None), default=0)
    emptied = sorted(step for step in one.emptied if step in every or step > end)
    if run.not_whole:
        yield from ((reason, "" if run.failed else None) for reason in run.not_whole)
    elif (place := _not_finite(one.curve)) is not None:
        yield place, "; else leave the cell empty"
    elif own and emptied:
        where = f"its cells are empty from step {emptied[0]} on, as pandas writes NaN"
        yield where, "; else leave these rows out"
    elif not attested:
        gaps = (run.stopped,) if run.stopped else one.gaps  # a cut run ends its curves early
        until = max(own, default=0) if run.early else max(every, default=0)
        lacking = [step for step in every if own and step <= until and step not in own]
        if lacking and not gaps:
            gaps = (
                f"it lacks {len(lacking)} of the {len(every)} steps that the seeds have together, "
                f"the first {min(lacking)}",
            )
        whole = "; if nothing is missing, say how that is known: `complete: …`"
        yield from ((gap, whole) for gap in gaps)


def _not_finite(curve: Curve) -> str | None:
    """Say which number of a curve is not finite; None if all are."""
    wrong = np.argwhere(~np.isfinite(curve.values))
    if not len(wrong):
        return None
    where = "" if curve.steps is None else f" at step {curve.steps[wrong[0][0]]}"
    return f"found {curve.values[tuple(wrong[0])]}{where}"


def _unlogged(runs: Sequence[LoggedRun], mapping: MappingFile, scope: Scope) -> list[LogError]:
    """Return the fault of logs in which nothing of what is wanted has a name that is known."""
    asked = {name for each in scope.measurements.values() for name in each}
    wants = Asked(wanted=frozenset().union(*(_source(mapping, one).tags for one in asked))).wants
    tags = sorted({tag for run in runs for tag in run.curves})
    if any(map(wants, tags)) or asked & mapping.mapping.keys():
        return []
    fitting = {name: [tag for tag in tags if _words(name) <= _words(tag)] for name in asked}
    sure = {name: f'"{found[0]}"' for name, found in sorted(fitting.items()) if len(found) == 1}
    spoken = set[str]().union(*map(_words, tags))
    shared = {
        name: len(_words(name) & spoken) for name in sorted(asked, key=lambda one: (len(one), one))
    }
    likely = max(shared, key=lambda name: shared[name])
    way = ", ".join(f"{name}: {tag}" for name, tag in (sure or {likely: "TAG"}).items())
    return [
        LogError(
            runs[0].name,
            f"found the tags {some(tags) or 'nothing'}; expected {some(sorted(asked))}. Say in a "
            f"mapping which is which: `mapping: {{{way}}}`.",
        )
    ]


def _words(name: str) -> set[str]:
    return set(re.findall(r"[a-z]+|\d+", name.lower()))


def _source(mapping: MappingFile, name: str) -> LoggedQuantity:
    return mapping.mapping.get(name) or LoggedQuantity(tag=name)


def _refuse_unlogged(roles: Sequence[_Role], mapping: MappingFile) -> None:
    """Refuse a mapping to tags that no run has, and logs of which nothing was wanted."""
    there = {name for role in roles for name in (*role.measured, *role.withheld)}
    absent = sorted({name for role in roles for name in role.absent} - there)
    ignored = sorted({tag for role in roles for tag in role.ignored})
    for name, said in mapping.mapping.items():
        if name in absent:
            raise LogError(
                f"mapping: {name}",
                f"found no logged '{said.tag or said.expression}' in any run; expected it. "
                f"{did_you_mean(said.tag or '', ignored)}",
            )
    if not any(role.measured for role in roles):
        role = next((one for one in roles if one.withheld), None)
        others = f" Nothing was made of the tags {some(ignored)}." if ignored else ""
        if role is None:
            text = f"found no number of {some(absent)}; expected one.{others}"
            raise LogError(f"runs of {role_words(roles[0].batch)}", text)
        name, reasons = next(iter(role.withheld.items()))
        raise LogError(
            f"runs of {role_words(role.batch)}",
            f"found nothing whole: {name}: {'; '.join(reasons)}; expected whole curves.{others}",
        )


# --- what became of the logs ----------------------------------------------------------------------


Skipped = Sequence[tuple[str, str]]
"""Files that were passed over, with the reason."""


def _notes(
    mapping: MappingFile, roles: Sequence[_Role], ignored: Sequence[str], skipped: Skipped
) -> Iterator[str]:
    if ignored:
        yield f"Runs of the logs that are left out: {some(list(map(_within, ignored)))}."
    if skipped:
        yield f"Among the logs were not read: {'; '.join(by_reason(skipped))}."
    if mapping.complete is not None:
        yield f"Curves that may look cut are all that was logged: {mapping.complete.rstrip('.')}."
    for role in roles:
        told: dict[str, list[str]] = {}
        for one in role.runs.values():
            for sentence in (*one.run.told, *filter(None, [one.run.early])):
                told.setdefault(sentence, []).append(str(one.seed))
        for sentence, seeds in told.items():
            yield f"Seeds {some(seeds)} of {role_words(role.batch)}: {sentence}."
    if mapping.vary:
        yield f"The runs differ in {some(mapping.vary)}, as the mapping lets them."
    if mapping.columns.step is not None:
        yield f"Steps were counted by '{mapping.columns.step}'."
    for name, quantity in mapping.mapping.items():
        if quantity.words != name:
            yield f"'{name}' was taken from the logs as {quantity.words}."


def _within(run: str) -> str:
    """Return a run's file and its folder: where that folder lies is nobody else's affair."""
    return "/".join(PurePath(run).parts[-2:])


# --- the terminal ---------------------------------------------------------------------------------


def _lines(
    audit: Audit, scope: Scope, mapping: MappingFile, roles: Sequence[_Role]
) -> Iterator[str]:
    for role in roles:
        which = role_words(role.batch)
        runs = [one.run for one in role.runs.values()]
        loggers = ", ".join(sorted({run.source for run in runs}))
        is_few = len(role.runs) < FEWEST_RUNS and not role.batch.overrides
        few = f"; an answer needs at least {FEWEST_RUNS}" if is_few else ""
        yield f"{which}, from {loggers}: seeds {', '.join(map(str, role.runs))}{few}"
        for column in sorted({run.step for run in runs if run.step} - {"step"}):
            yield f"steps of {which} are those of the column '{column}'"
        for name, by_seed in role.measured.items():
            quantity = mapping.mapping.get(name)
            source = "" if quantity is None else f" = {quantity.words}"
            points = max(1 if one.steps is None else len(one.steps) for one in by_seed.values())
            yield f"  {name}{source}: {points} points in each run"
        if role.absent:
            yield f"not logged by {which}: {', '.join(role.absent)}"
    for batch in scope.batches:
        if batch not in {role.batch for role in roles}:
            yield f"no run of {role_words(batch)}{_lack(audit, scope, batch)}"
    if ignored := sorted({tag for role in roles for tag in role.ignored}):
        yield f"ignored tags: {some(ignored)}"
    for role in roles:
        yield from left_out_words(role.withheld, role.batch)


def _lack(audit: Audit, scope: Scope, batch: Batch) -> str:
    """Say what it means that an arm was not logged: to how many claims it is what."""
    roles: dict[Role, list[str]] = {}
    for claim in scope.claims:
        for role, one in claim_batches(audit, claim, batch.tier):
            if one.settings(audit) == batch.settings(audit) and one.experiment == batch.experiment:
                roles.setdefault(role, []).append(claim.id.rpartition(".")[2])
    return "".join(f"; {role} of {some(names)}" for role, names in roles.items())


def _settings_table(compared: Sequence[Mapping[str, Any]]) -> Table:
    table = Table("setting", "of", "audit (source)", "configurations", "", box=None)
    styles = {"equal": "green", "contradicting": "red", "absent": "dim"}
    for one in compared:
        audited = f"{shown(one['audit'])} ({one['source']})"
        found = "" if one["found"] is None else shown(one["found"])
        cells = (one["setting"], one["role"], audited, found, one["status"])
        table.add_row(*(Text(on_one_line(cell)) for cell in cells), style=styles[one["status"]])
    return table
