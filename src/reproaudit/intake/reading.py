"""A folder of measurements becomes records.

Manifest and tables are held against the audit's declarations, and made into records that carry
their origin, so that they are judged as ours are and never passed off as ours. All faults of the
manifest are listed at once, then the first fault of each table.

A run's settings tell its role, as they do in a plan: with none it is the experiment itself, with
those of an arm it is that arm. Seeds of another program are mere labels.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, time
from pathlib import Path
from typing import Any

import numpy as np

from reproaudit.audit.arms import ARM_NAME, PlannedArm, Role
from reproaudit.audit.faults import shown
from reproaudit.audit.model import Audit, TierName
from reproaudit.audit.plan import Batch, plan
from reproaudit.cell import SettingValue, canonical_settings, fits, kind_of, same
from reproaudit.declarations import Coordinate, Declaration, misfit
from reproaudit.errors import did_you_mean
from reproaudit.intake.labels import axes_of, with_readings
from reproaudit.intake.manifest import MANIFEST, Manifest, ManifestRuns, Placed, read_manifest
from reproaudit.intake.measuring import (
    axis_places,
    end_beside,
    measure,
    measurements_of,
    off_axes,
    stated_length,
)
from reproaudit.intake.pooling import absence, role_words
from reproaudit.judge import Records, SeedRecords
from reproaudit.judge.alike import units_apart
from reproaudit.logs.asked import Asked, Columns
from reproaudit.logs.finding import TABLES
from reproaudit.logs.logged import (
    Curve,
    LogError,
    LoggedRun,
    LogSource,
    gathered,
    on_one_line,
    raise_all,
    some,
)
from reproaudit.logs.mapping import LoggedQuantity
from reproaudit.logs.tables import read_table
from reproaudit.records import CellStatus, Environment, Measurements, Origin, Record, is_finite

UNSTATED = dict.fromkeys(("python", "platform", "device"), "not stated")
OURS = "reproaudit"  # the name by which tables of results call our own measurements
MANY_VALUES = 10
"""Distinct numbers of one series or array that two runs of different seeds do not share."""
MOST_READ = 100_000  # times that a manifest may have a table read: each file for each of its seeds


ReadTable = Callable[[str, int, str, bool], LoggedRun]
"""Returns what a table holds of a seed, or raises a LogError. It takes the table's name in the
manifest, the seed, the place of the name for messages, and whether the table need not say which
seed it is of."""

ByAxis = dict[str, dict[str, tuple[Coordinate, ...]]]
"""Measurement -> axis -> the coordinates where it was observed, if not at all of them."""


@dataclass(frozen=True)
class Submission:
    """Measurements from elsewhere, ready to be judged."""

    audit: Audit
    tier: TierName  # the tier at which they are judged
    records: tuple[Record, ...]  # one for each run and seed
    counted: tuple[str, ...]  # how many of the runs that were given are judged, in sentences
    remarks: tuple[str, ...]  # what else a reader is to know of the measurements
    found: Records  # the records by experiment and the settings of the plan, then by seed
    # by the same, the measurements that are kept out, each with the reasons
    left_out: Mapping[tuple[str, str], Mapping[str, Sequence[str]]]
    # the experiments of which a setting is not stated, and taken to be the audit's
    unstated: frozenset[str] = frozenset()


def read_submission(audit: Audit, folder: Path) -> Submission:
    """Read the measurements in a folder.

    Raises:
        UsageError: if the folder or its manifest is missing.
        SpecError: listing everything that does not fit.
    """
    reader = reader_of(audit, *read_manifest(folder))
    tables = _FolderTables(folder.resolve(), axes_of(audit))
    return submission_of(reader, tables.read, tables.unread)


def submission_of(
    reader: SubmissionReader, read: ReadTable, unread: Callable[[], Iterable[str]] = tuple
) -> Submission:
    """Make records of all runs of a manifest; a SpecError lists everything that does not fit.

    `unread` gives sentences on what is there and was not read.
    """
    audit = reader.audit
    manifest = reader.manifest
    by_arm: dict[tuple[str, str], SeedRecords] = {}
    left_out: dict[tuple[str, str], dict[str, Sequence[str]]] = {}
    kept_out: dict[str, None] = {}
    for index, (run, (role, batch)) in enumerate(zip(manifest.runs, reader.roles, strict=True)):
        key = _key(audit, batch)
        records = by_arm.setdefault(key, SeedRecords())
        if run.status == "crashed":
            records.crashed |= set(run.seeds)
            continue
        records.update({seed: reader.record(read, run, index, seed) for seed in run.seeds})
        left_out.setdefault(key, {}).update(run.left_out)
        kept_out |= dict.fromkeys(left_out_words(role_words(audit, batch), run.left_out))
        if role is not Role.POSITIVE_CONTROL:
            reader.refuse_copies(role_words(audit, batch), records, index)
    raise_all(reader.faults)
    if reader.manifest.one_unit is None:
        raise_all([*_other_units(audit, manifest.tier, by_arm)])
    every = tuple(record for records in by_arm.values() for record in records.values())
    remarks = [
        f"Other settings than the audit's, of '{experiment}': {others}."
        for experiment in sorted({name for name, _ in by_arm})
        if (others := reader.others(experiment))
    ]
    remarks += [*kept_out, *manifest.noted]
    unstated = frozenset(name.partition(".")[0] for name in reader.unstated(by_arm.keys()))
    remarks += [*unread(), *_unobserved(audit, every), *reader.absent(by_arm.keys())]
    for role, batch in dict.fromkeys(reader.roles):
        if role is not Role.POSITIVE_CONTROL:  # a constructed solution is one point
            remarks += _ends(audit, batch, by_arm[_key(audit, batch)])
    counted = manifest.counted
    rest = tuple(remark for remark in remarks if remark not in counted)
    return Submission(audit, manifest.tier, every, counted, rest, by_arm, left_out, unstated)


def _other_units(audit: Audit, tier: TierName, records: Records) -> Iterator[LogError]:
    """Yield each measurement that is a share in one place, as it seems, and per cent in another."""
    for apart in units_apart(audit, tier, records):
        name = apart.measurement
        sides = [
            f"the audit's number {most:.4g}"
            if arm is None
            else f"numbers up to {most:.4g} in {role_words(audit, _batch_of(arm, tier))}"
            for arm, most in zip(apart.arms, apart.most, strict=True)
        ]
        way = f"`runs: [{{match: RUNS, percent: [{name}]}}]`"
        if apart.arms[1] is None:
            way = f"`mapping: {{{name}: {{expression: 100 * v, let: {{v: TAG}}}}}}`"
        yield LogError(
            name,
            f"found {' and '.join(sides)}; expected one unit, fractions or per cent. "
            f"In a mapping {way} makes them one; or say there or in the manifest why they are in "
            "one unit: `one_unit: …`.",
        )


def _batch_of(arm: PlannedArm, tier: TierName) -> Batch:
    return Batch(arm.experiment, tier, arm.changed(tier), ())


def left_out_words(role: str, left_out: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield a sentence on each measurement of a role that is kept out."""
    for name, reasons in left_out.items():
        yield f"Left out: '{name}' of {role}: {'; '.join(reasons)}."


def reader_of(audit: Audit, manifest: Manifest, placed: Placed) -> SubmissionReader:
    """Tell the role of each run of a manifest; a SpecError lists everything that does not fit."""
    known = audit.experiments
    stated = [(run.experiment, run.settings) for run in manifest.runs if run.experiment in known]
    audit, others = with_readings(audit, manifest.tier, stated)
    reader = SubmissionReader(audit, manifest, placed)
    reader.check_manifest()
    planned: dict[tuple[str, str], tuple[Role, Batch]] = {}
    for role, batch in (*plan(audit, manifest.tier), *others):  # the experiments come first
        planned.setdefault(_key(audit, batch), (role, batch))
    seen = set()
    for index, run in enumerate(reader.manifest.runs):
        settings = tuple(run.settings.items())
        key = _key(audit, Batch(run.experiment, reader.manifest.tier, settings, run.seeds))
        if key not in planned:
            reader.refuse_role(run, index, [batch for _, batch in planned.values()])
            continue
        reader.roles.append(planned[key])
        for position, seed in enumerate(run.seeds):
            if (key, seed) in seen:
                text = f"found seed {seed} of '{run.experiment}' a second time; expected it once."
                reader.fault(text, "runs", index, "seeds", position)
            seen.add((key, seed))
    raise_all(reader.faults)
    return reader


def _key(audit: Audit, batch: Batch) -> tuple[str, str]:
    is_known = batch.experiment in audit.experiments
    return batch.experiment, canonical_settings(batch.settings(audit) if is_known else {})


def _ends(audit: Audit, batch: Batch, records: Mapping[int, Record]) -> Iterator[str]:
    """Yield a sentence on runs whose series do not end where the training is said to."""
    ends: dict[tuple[int, float], list[str]] = {}
    for seed, record in records.items():
        length = stated_length(audit, record.experiment, record.settings)
        series = [series.steps for series in record.measurements.series.values()]
        end = None if length is None else end_beside(series, length)
        if length is not None and end is not None and record.status is CellStatus.COMPLETED:
            ends.setdefault((end, length), []).append(str(seed))
    for (end, length), seeds in ends.items():
        where = f"{some(seeds)} of {role_words(audit, batch)}"
        yield f"Series of seeds {where} end at step {end} of {length:g}."


def _unobserved(audit: Audit, records: Sequence[Record]) -> Iterator[str]:
    seeds: dict[str, dict[str, None]] = {}
    for record in records:
        declared = audit.measurements_of(record.experiment)
        for name, observed in (record.coordinates or {}).items():
            for axis in declared[name].axes:
                for coordinate in axis.coordinates(record.settings):
                    if coordinate not in observed[axis.name]:
                        place = f"{name} at {axis.name} {coordinate}"
                        seeds.setdefault(place, {})[str(record.seed)] = None
    for place, numbers in seeds.items():
        yield f"Not observed: {place} (seeds {some(list(numbers))})."


@dataclass
class SubmissionReader:
    """Makes records of the runs of one manifest."""

    audit: Audit
    manifest: Manifest
    placed: Placed
    faults: list[LogError] = field(default_factory=list)  # what does not fit, so far
    # the role of each run, and the runs of the plan that it stands for
    roles: list[tuple[Role, Batch]] = field(default_factory=list)

    def fault(self, text: str, *loc: str | int) -> None:
        """Note what does not fit, at names and positions in the manifest."""
        self.faults.append(LogError(self.placed(*loc), text))

    def check_manifest(self) -> None:
        """Note what the manifest says of all runs and does not fit the audit."""
        audit = self.audit
        manifest = self.manifest
        slug = audit.paper.slug
        if manifest.paper not in (None, slug):
            self.fault(f"found '{manifest.paper}'; expected '{slug}' or nothing.", "paper")
        if re.sub(r"[^a-z0-9]+", "", manifest.who.lower()) == OURS:
            fault = f"found '{manifest.who}', under which our own measurements stand"
            self.fault(f"{fault}; expected who made these.", "who")
        often = sum(len(run.seeds) * len(run.files) for run in manifest.runs)
        if often > MOST_READ:
            fault = f"found {often:,} seeds of files; expected at most {MOST_READ:,}"
            self.fault(f"{fault}. Put several measurements into one file.", "runs")
        for name, value in manifest.settings.items():
            experiment, _, plain = name.rpartition(".")
            searched = [experiment] if experiment in audit.experiments else list(audit.experiments)
            known = {n: s for each in searched for n, s in audit.settings_of(each).items()}
            if experiment and experiment not in audit.experiments:
                hint = did_you_mean(experiment, audit.experiments)
                text = f"found the unknown experiment '{experiment}'. {hint}"
            elif plain not in known:
                text = f"found the unknown setting '{plain}'. {did_you_mean(plain, known)}"
            elif not fits(value, known[plain].value):
                expected = f"{kind_of(known[plain].value)}, like {shown(known[plain].value)}"
                text = f"found {shown(value)}; expected {expected}."
            else:
                continue
            self.fault(text, "settings", name)

    def refuse_role(self, run: ManifestRuns, index: int, batches: Sequence[Batch]) -> None:
        """Note that a run is none of the plan's."""
        roles = [
            role_words(self.audit, batch) for batch in batches if batch.experiment == run.experiment
        ]
        if not roles:
            hint = did_you_mean(run.experiment, self.audit.experiments)
            text = f"found the unknown experiment '{run.experiment}'. {hint}"
            self.fault(text, "runs", index, "experiment")
            return
        self.fault(
            f"found settings that no arm of '{run.experiment}' has; expected {' or '.join(roles)}. "
            "What every run has otherwise belongs under the 'settings' of all runs.",
            "runs",
            index,
            "settings",
        )

    def refuse_copies(self, which: str, records: Mapping[int, Record], index: int) -> None:
        """Note runs that equal another seed's where a third seed of theirs differs.

        Runs that all agree may be a closed form, and few numbers may agree by chance.
        """
        alike: dict[str, list[int]] = {}
        for seed, record in records.items():
            measured = record.measurements
            series = (each.values for each in measured.series.values())
            arrays = [*series, *measured.arrays.values()]
            many = any(np.unique(array).size >= MANY_VALUES for array in arrays)
            if many and record.status is CellStatus.COMPLETED:
                alike.setdefault(measured.model_dump_json(), []).append(seed)
        for first, *others in alike.values():
            if others and len(others) + 1 < len(records):
                copies = f"the same numbers for seed {some(list(map(str, others)))} as for seed"
                text = f"found {copies} {first} of {which}, where others differ; expected runs of"
                self.fault(f"{text} their own. Leave out what is a copy.", "runs", index)

    def absent(self, measured: Collection[tuple[str, str]]) -> Iterator[str]:
        """Yield sentences on runs that the audit wants, and settings, that were not stated."""
        audit = self.audit
        tier = self.manifest.tier
        for _, batch in plan(audit, tier):
            if _key(audit, batch) not in measured:
                yield absence(audit, batch)
        if unstated := self.unstated(measured):
            yield f"Not stated, taken to be the audit's: {', '.join(unstated)}."

    def unstated(self, measured: Collection[tuple[str, str]]) -> list[str]:
        """Return the settings of what was measured that the manifest does not state."""
        return [
            f"{experiment}.{name}"
            for experiment in sorted({name for name, _ in measured})
            for name in self.audit.settings_of(experiment)
            if name not in (ARM_NAME, *self.manifest.settings_of(experiment))
        ]

    def others(self, experiment: str, own: Collection[str] = ()) -> str:
        """Say which settings of all runs differ from the audit's; `own` are those of an arm."""
        audited = self.audit.values_of(experiment, self.manifest.tier)
        return ", ".join(
            f"{name} {shown(value)} in place of {shown(audited[name])}"
            for name, value in self.manifest.settings_of(experiment).items()
            if name in audited and name not in own and not same(value, audited[name])
        )

    def record(self, read: ReadTable, run: ManifestRuns, index: int, seed: int) -> Record:
        """Return the record of a seed; what does not fit is noted."""
        manifest = self.manifest
        slug = self.audit.paper.slug
        stated = {**manifest.settings_of(run.experiment), **run.settings}
        settings = self.audit.values_of(run.experiment, manifest.tier, stated)
        proxies = (manifest.proxy, self.others(run.experiment, run.settings))
        measured, coordinates = self._measured(read, run, index, seed, settings)
        makers = {name: getattr(manifest, name) for name in ("who", "source", "framework")}
        origin = Origin(**makers, made=manifest.date)
        identity = [slug, run.experiment, canonical_settings(settings), seed]
        identity += [part.model_dump_json() for part in (origin, measured)]
        identity += [coordinates] if coordinates else []
        return Record(
            paper=slug,
            tier=manifest.tier,
            experiment=run.experiment,
            settings=settings,
            seed=seed,
            status=CellStatus(run.status),
            error="as its manifest says" if run.status == "diverged" else None,
            proxy="; ".join(filter(None, proxies)) or None,
            fingerprint=hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:32],
            code="",
            environment=Environment(threads=None, packages={}, **UNSTATED),
            started=datetime.combine(manifest.date, time(), UTC),
            seconds=0.0,
            origin=origin,
            coordinates=coordinates or None,
            measurements=measured,
        )

    def _measured(
        self,
        read: ReadTable,
        run: ManifestRuns,
        index: int,
        seed: int,
        settings: Mapping[str, SettingValue],
    ) -> tuple[Measurements, ByAxis]:
        declared = self.audit.measurements_of(run.experiment)
        diverged = run.status == "diverged"
        curves: dict[str, Curve] = {}
        for position, written in enumerate(run.files):
            with gathered(self.faults):
                alone = len(run.seeds) == 1 or "{seed}" in written
                place = self.placed("runs", index, "files", position)
                logged = read(written, seed, place, alone)
                for name in (tag for tag in logged.curves if tag in declared):
                    with gathered(self.faults):
                        if name in curves:
                            text = f"found it in {curves[name].place}, too; expected once."
                            raise LogError(f"{logged.name}: {name}", text)
                        curves[name] = _declared(logged, name, declared[name], settings, diverged)
                if unknown := [name for name in logged.curves if name not in declared]:
                    called = on_one_line(unknown[0], 80)
                    more = f", nor {len(unknown) - 1} more" * (len(unknown) > 1)
                    text = f"found a measurement which the experiment does not declare{more}."
                    place = f"{logged.files[0].name}: {called}"
                    raise LogError(place, f"{text} {did_you_mean(called, declared)}")
        measured = measurements_of(declared, curves)
        if diverged:
            return measured.finite_part(), {}
        coordinates: ByAxis = {}
        for name, curve in curves.items():
            with gathered(self.faults):
                if fault := misfit(name, declared[name], measured, settings):
                    raise LogError(curve.place, f"{fault}.")
                if np.ma.is_masked(curve.values):
                    curves[name], coordinates[name] = _observed(curve, declared[name], settings)
        return measurements_of(declared, curves), coordinates


def _declared(
    run: LoggedRun,
    name: str,
    declared: Declaration,
    settings: Mapping[str, SettingValue],
    diverged: bool,
) -> Curve:
    """Return a measurement of a run, once its coordinates and numbers are as declared."""
    measured = measure(run, settings, name, declared, LoggedQuantity(tag=name))
    if measured is None or off_axes(run, [name], axis_places([declared], settings)):
        axes = [
            f"{axis.name} {', '.join(map(str, axis.coordinates(settings)[:8]))}"
            for axis in declared.axes
        ]
        text = "found numbers at other coordinates than the declared ones; expected"
        raise LogError(f"{run.name}: {name}", f"{text} {'; '.join(axes) or 'none'}.")
    if not diverged and not is_finite(measured.curve.values).all():
        text = "found a number that is not finite, or too large; expected finite ones."
        remedy = "If the run diverged, write 'status: diverged'."
        raise LogError(measured.curve.place, f"{text} {remedy}")
    return measured.curve


def _observed(
    curve: Curve, declaration: Declaration, settings: Mapping[str, SettingValue]
) -> tuple[Curve, dict[str, tuple[Coordinate, ...]]]:
    """Return a measurement where it was observed, and its coordinates there along each axis."""
    absent = np.ma.getmaskarray(curve.values)
    absent = absent if curve.steps is None else absent[0]
    every = range(absent.ndim)
    positions = [
        np.flatnonzero(~absent.all(axis=tuple(other for other in every if other != dimension)))
        for dimension in every
    ]
    if absent[np.ix_(*positions)].any():
        text = "found empty cells here and there; expected that whole coordinates of an axis are."
        raise LogError(curve.place, text)
    at: tuple[Any, ...] = (..., *np.ix_(*positions))
    return replace(curve, values=np.ma.getdata(curve.values)[at]), {
        axis.name: tuple(axis.coordinates(settings)[position] for position in observed)
        for axis, observed in zip(declaration.axes, positions, strict=True)
    }


# --- the tables of a folder -----------------------------------------------------------------------


class _FolderTables:
    """Reads tables in a resolved folder, each once; columns may be called as one of its axes."""

    def __init__(self, folder: Path, axes: frozenset[str]) -> None:
        self._folder = folder
        self._axes = axes
        self._taken: dict[Path, set[int]] = {}
        self._tables: dict[Path, dict[int | None, LoggedRun]] = {}

    def read(self, written: str, seed: int, place: str, alone: bool) -> LoggedRun:
        """Return what a table holds of a seed; a `ReadTable`."""
        path = self._path(written, seed, place)
        place = self._name(path)
        self._taken.setdefault(path, set()).add(seed)
        if path.suffix.lower() not in TABLES:
            raise LogError(place, f"found '{path.suffix}'; expected one of {', '.join(TABLES)}.")
        if path not in self._tables:
            asked = Asked(self._axes, columns=Columns(step="step"), plain=True)
            source = LogSource(path, place, asked=asked)
            self._tables[path] = {run.seed: run for run in read_table(source)}
        by_seed = self._tables[path]
        if not alone and None in by_seed:
            text = "found one table for several seeds without a column 'seed'; expected the column"
            raise LogError(f"{place}:1", f"{text}, or {{seed}} in the file's name.")
        run = by_seed.get(None, by_seed.get(seed))
        if run is None or not run.curves:
            raise LogError(place, f"found no number of seed {seed}; expected its rows.")
        return run

    def _path(self, written: str, seed: int, place: str) -> Path:
        """Return a file beside the manifest; nothing outside its folder is read."""
        try:
            path = (self._folder / written.replace("{seed}", str(seed))).resolve(strict=True)
            if path.is_relative_to(self._folder):
                return path
            reason = "outside of it"
        except (OSError, RuntimeError, ValueError) as error:  # absent, too long, a loop of links
            reason = getattr(error, "strerror", None) or "no path, or a loop of links"
        fault = f"found '{on_one_line(written, 80)}' ({reason}; seed {seed})"
        raise LogError(place, f"{fault}; expected a file inside the manifest's folder.")

    def unread(self) -> Iterator[str]:
        """Yield sentences on rows and files beside the manifest that it does not name."""
        left = []
        for path, by_seed in self._tables.items():
            there = {seed for seed in by_seed if seed is not None}
            if rest := sorted(there - self._taken[path]):
                left.append(f"{self._name(path)} (seeds {', '.join(map(str, rest))})")
        if left:
            yield f"Rows of seeds that the manifest does not name were not read: {some(left)}."
        files = (file for file in sorted(self._folder.rglob("*")) if not file.is_dir())
        unread = [
            self._name(file) for file in files if file.name != MANIFEST and file not in self._taken
        ]
        if unread:
            yield f"Files beside the manifest that it does not name were not read: {some(unread)}."

    def _name(self, path: Path) -> str:
        return path.relative_to(self._folder).as_posix()
