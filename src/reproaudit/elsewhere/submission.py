"""Measurements made elsewhere: the authors' own logs, another framework's runs.

A folder holds a manifest (their origin, and the files of each run) and the files. Here they are
checked against the audit's declarations, and made into records that carry their origin, so that
they are judged as ours are and never passed off as ours. Every fault is told, all at once, each
with its place.

A run's settings tell its role, as they do in a plan: with none it is the experiment itself, with
those of an arm it is that arm (an arm that only reads other measurements of the same runs needs
none of its own). Seeds of another program are mere labels; with fewer than five runs a claim is not
tested.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time
from itertools import islice
from pathlib import Path, PurePosixPath

import numpy as np

from reproaudit.audit.model import Audit, TierName
from reproaudit.audit.plan import Batch, Role, claim_batches, plan
from reproaudit.audit.values import fits, kind_of, shown
from reproaudit.cell import canonical_settings
from reproaudit.declarations import MeasurementKind, misfit
from reproaudit.elsewhere.files import Block, FileReader, Wanted, refuse_misfit
from reproaudit.elsewhere.logged import LogError, on_one_line
from reproaudit.elsewhere.manifest import (
    NAMES,
    PROTOCOL,
    Manifest,
    Placed,
    Run,
    read_manifest,
    settings_for,
)
from reproaudit.elsewhere.scope import role_words, some
from reproaudit.elsewhere.training_length import end_beside, stated_length
from reproaudit.errors import SpecError, did_you_mean
from reproaudit.judge import Records
from reproaudit.records import CellStatus, Environment, Measurements, Origin, Record, Series

OURS = "reproaudit"
"""The name by which tables of results call our own measurements."""
DISTINCT = 10
"""Distinct numbers of one series or array that two runs of different seeds do not share."""
MOST_BELOW = 10_000
"""Of the files in a folder, so many are looked at."""
MOST_LINES_SAID = 1_000
"""The number of faults that are told; the rest is counted."""


@dataclass(frozen=True)
class Submission:
    """Measurements from elsewhere, ready to be judged.

    Attributes:
        audit: the audit.
        tier: the tier at which they are judged.
        records: one for each run and seed.
        unstated: the settings that no manifest states and that were taken to be the tier's, as
            "experiment.setting".
        absent: the experiments and arms without measurements, in words.
        remarks: what a reader is to know of the measurements, in sentences.
        found: the records by experiment and the settings of the plan, then by seed.
    """

    audit: Audit
    tier: TierName
    records: tuple[Record, ...]
    unstated: tuple[str, ...]
    absent: tuple[str, ...]
    remarks: tuple[str, ...]
    found: Records


_Key = tuple[str, str]
"""Experiment and settings of a batch."""


class _Faults:
    """Gathers the faults of a folder, each once, so that they can be told at once."""

    def __init__(self) -> None:
        self._found: dict[str, None] = {}

    def add(self, place: str, text: str) -> None:
        self.take(LogError(place, text))

    def take(self, error: LogError) -> None:
        self._found[str(error)] = None

    def raise_if_any(self) -> None:
        """Tell all faults.

        Raises:
            SpecError: if there are any.
        """
        lines = list(self._found)
        if len(lines) > MOST_LINES_SAID:
            lines[MOST_LINES_SAID:] = [f"and {len(lines) - MOST_LINES_SAID:,} more faults."]
        if lines:
            raise SpecError("\n".join(lines))


def read_submission(audit: Audit, folder: Path) -> Submission:
    """Read the measurements in a folder.

    Raises:
        UsageError: if the folder or its manifest is missing.
        SpecError: listing everything that does not fit.
    """
    manifest, placed = read_manifest(folder)
    faults = _Faults()
    reader = _Reader(audit, folder.resolve(), manifest, placed, faults, FileReader())
    _check_manifest(audit, manifest, placed, faults)
    batches: dict[_Key, tuple[Role, Batch]] = {}
    for role, batch in plan(audit, manifest.tier):  # the experiments come first
        batches.setdefault(_key(batch), (role, batch))
    found: dict[_Key, dict[int, Record]] = {}
    for index, run in enumerate(manifest.runs):
        key = run.experiment, canonical_settings(run.settings)
        if key not in batches:
            reader.refuse_role(run, index, [batch for _, batch in batches.values()])
            continue
        role, batch = batches[key]
        records = found.setdefault(key, {})
        for number, seed in enumerate(run.seeds):
            if seed in records:
                faults.add(
                    placed("runs", index, "seeds", number),
                    f"found seed {seed} of '{run.experiment}' a second time; expected it once.",
                )
            records[seed] = reader.record(run, index, batch, seed)
        if role is not Role.CONSTRUCTED:
            _refuse_copies(role_words(batch), records, placed("runs", index), faults)
    faults.raise_if_any()
    remarks = [*manifest.noted, *_unread(folder.resolve(), reader.files)]
    for key, records in found.items():
        if batches[key][0] is not Role.CONSTRUCTED:  # a constructed solution is one point
            remarks += _ends(audit, batches[key][1], records)
    return Submission(
        audit=audit,
        tier=manifest.tier,
        records=tuple(record for records in found.values() for record in records.values()),
        unstated=_unstated(audit, manifest, found),
        absent=_absent(audit, manifest.tier, found),
        remarks=tuple(remarks),
        found={
            (batch.experiment, canonical_settings(batch.settings(audit))): found[_key(batch)]
            for _, batch in plan(audit, manifest.tier)
            if _key(batch) in found
        },
    )


def _key(batch: Batch) -> _Key:
    return batch.experiment, canonical_settings(dict(batch.overrides))


def _unstated(audit: Audit, manifest: Manifest, found: Mapping[_Key, object]) -> tuple[str, ...]:
    return tuple(
        f"{experiment}.{name}"
        for experiment in sorted({one for one, _ in found})
        for name in audit.settings_of(experiment)
        if name not in settings_for(manifest.settings, experiment)
    )


def _absent(audit: Audit, tier: TierName, found: Mapping[_Key, object]) -> tuple[str, ...]:
    return tuple(
        dict.fromkeys(
            f"{role} {role_words(batch)}"
            for claim in audit.claims
            for role, batch in claim_batches(audit, claim, tier)
            if _key(batch) not in found
        )
    )


# --- what a reader is to know ---------------------------------------------------------------------


def _refuse_copies(which: str, records: Mapping[int, Record], place: str, faults: _Faults) -> None:
    """Add a fault for runs that equal another seed's where a third seed of theirs differs.

    Runs that all agree may be a closed form, and few numbers may agree by chance.
    """
    alike: dict[str, list[int]] = {}
    for seed, record in records.items():
        measured = record.measurements
        arrays = [*(one.values for one in measured.series.values()), *measured.arrays.values()]
        many = any(np.unique(one).size >= DISTINCT for one in arrays)
        if many and record.status is CellStatus.COMPLETED:
            alike.setdefault(measured.model_dump_json(), []).append(seed)
    for first, *others in alike.values():
        if others and len(others) + 1 < len(records):
            faults.add(
                place,
                f"found the same numbers for seeds {some(list(map(str, others)))} as for seed "
                f"{first} of {which}; expected runs of their own, since the other seeds differ. "
                "Leave out what is a copy.",
            )


def _ends(audit: Audit, batch: Batch, records: Mapping[int, Record]) -> Iterator[str]:
    """Yield a sentence on runs whose series do not end where the training is said to."""
    ends: dict[tuple[int, float], list[str]] = {}
    for seed, record in records.items():
        length = stated_length(audit, record.experiment, record.settings)
        series = [one.steps for one in record.measurements.series.values()]
        end = None if length is None else end_beside(series, length)
        if length is not None and end is not None and record.status is CellStatus.COMPLETED:
            ends.setdefault((end, length), []).append(str(seed))
    for (end, length), seeds in ends.items():
        yield (
            f"Series of seeds {some(seeds)} of {role_words(batch)} end at step {end} of {length:g}."
        )


def _unread(folder: Path, files: FileReader) -> Iterator[str]:
    """Yield sentences on rows and files beside the manifest that it does not name."""
    if left := list(files.rows_left()):
        yield f"Rows of seeds that the manifest does not name were not read: {some(left)}."
    below = (Path(at) / name for at, _, names in os.walk(folder) for name in sorted(names))
    unread = [
        one.relative_to(folder).as_posix()
        for one in islice(below, MOST_BELOW)
        if one.name not in (*NAMES, PROTOCOL) and one not in files.taken
    ]
    if unread:
        yield f"Files beside the manifest that it does not name were not read: {some(unread)}."


# --- the manifest against the audit ---------------------------------------------------------------


def _check_manifest(audit: Audit, manifest: Manifest, placed: Placed, faults: _Faults) -> None:
    if manifest.paper not in (None, audit.paper.slug):
        faults.add(
            placed("paper"), f"found '{manifest.paper}'; expected '{audit.paper.slug}' or nothing."
        )
    if re.sub(r"[^a-z0-9]+", "", manifest.who.lower()) == OURS:
        faults.add(
            placed("who"),
            f"found '{manifest.who}', under which our own measurements stand; expected who made "
            "these.",
        )
    for name, value in manifest.settings.items():
        place = placed("settings", name)
        experiment, _, plain = name.rpartition(".")
        if experiment and experiment not in audit.experiments:
            hint = did_you_mean(experiment, audit.experiments)
            faults.add(place, f"found the unknown experiment '{experiment}'. {hint}")
            continue
        searched = [experiment] if experiment else list(audit.experiments)
        known = {n: s for e in searched for n, s in audit.settings_of(e).items()}
        if plain not in known:
            faults.add(place, f"found the unknown setting '{plain}'. {did_you_mean(plain, known)}")
        elif not fits(value, known[plain].value):
            expected = f"{kind_of(known[plain].value)}, like {shown(known[plain].value)}"
            faults.add(place, f"found {shown(value)}; expected {expected}.")
    units: dict[str, set[str]] = {}
    for experiment in audit.experiments:
        for name, declaration in audit.measurements_of(experiment).items():
            units.setdefault(name, set()).add(declaration.unit)
    for name, unit in manifest.units.items():
        place = placed("units", name)
        if name not in units:
            faults.add(
                place, f"found the unknown measurement '{name}'. {did_you_mean(name, units)}"
            )
        elif unit not in units[name]:
            expected = " or ".join(f"'{one}'" for one in sorted(units[name]))
            faults.add(place, f"found the unit '{unit}' of '{name}'; expected {expected}.")


# --- runs -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Reader:
    """Reads the runs of one manifest; faults are gathered."""

    audit: Audit
    folder: Path
    manifest: Manifest
    placed: Placed
    faults: _Faults
    files: FileReader

    def refuse_role(self, run: Run, index: int, batches: Sequence[Batch]) -> None:
        """Add a fault for a run that belongs to no batch of the plan."""
        if run.experiment not in self.audit.experiments:
            hint = did_you_mean(run.experiment, self.audit.experiments)
            place = self.placed("runs", index, "experiment")
            self.faults.add(place, f"found the unknown experiment '{run.experiment}'. {hint}")
            return
        arms = [
            "{" + ", ".join(f"{name}: {shown(value)}" for name, value in one.overrides) + "}"
            for one in batches
            if one.experiment == run.experiment and one.overrides
        ]
        self.faults.add(
            self.placed("runs", index, "settings"),
            f"found settings that no arm of '{run.experiment}' has; expected none, or "
            f"{' or '.join(arms) or 'nothing else'}. What differs in every run belongs "
            "under the manifest's own 'settings'.",
        )

    def record(self, run: Run, index: int, batch: Batch, seed: int) -> Record:
        """Return one seed of a run with its measurements that fit."""
        manifest, slug = self.manifest, self.audit.paper.slug
        stated = {**settings_for(manifest.settings, run.experiment), **run.settings}
        settings = self.audit.values_of(run.experiment, batch.tier, stated)
        declared = self.audit.measurements_of(run.experiment)
        alone = len(run.seeds) == 1
        measured = self._measured(run, index, Wanted(declared, settings, seed, alone))
        origin = Origin(
            who=manifest.who,
            source=manifest.source,
            framework=manifest.framework,
            made=manifest.date,
        )
        identity = [slug, run.experiment, canonical_settings(settings), seed]
        identity += [one.model_dump_json() for one in (origin, measured)]
        return Record(
            paper=slug,
            tier=batch.tier,
            experiment=run.experiment,
            settings=settings,
            seed=seed,
            status=CellStatus(run.status),
            error="as its manifest says" if run.status == "diverged" else None,
            proxy=manifest.proxy,
            fingerprint=hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:32],
            code="",
            environment=Environment(threads=None, **manifest.environment.model_dump()),
            started=datetime.combine(manifest.date, time(), UTC),
            seconds=0.0,
            origin=origin,
            measurements=measured,
        )

    def _measured(self, run: Run, index: int, wanted: Wanted) -> Measurements:
        """Return the measurements of one seed that fit their declarations."""
        diverged = run.status == "diverged"
        scalars, series, arrays = {}, {}, {}
        places: dict[str, str] = {}
        for name, block in self._blocks(run, index, wanted):
            declaration = wanted.declared[name]
            try:
                if name in places:
                    text = f"found '{name}', which {places[name]} has already; expected it once."
                    raise LogError(block.place, text)
                refuse_misfit(name, block, declaration, wanted.settings, diverged)
            except LogError as error:
                self.faults.take(error)
                continue
            places[name] = block.place
            if declaration.kind is MeasurementKind.SCALAR:
                scalars[name] = float(block.values)
            elif declaration.kind is MeasurementKind.ARRAY:
                arrays[name] = block.values
            else:
                steps = tuple(map(int, block.steps or ()))
                series[name] = Series(steps=steps, values=block.values)
        measured = Measurements(scalars=scalars, series=series, arrays=arrays)
        if diverged:
            return measured.finite_part()
        for name, place in places.items():
            if fault := misfit(name, wanted.declared[name], measured, wanted.settings):
                self.faults.add(place, f"{fault}.")
        return measured

    def _blocks(self, run: Run, index: int, wanted: Wanted) -> Iterator[tuple[str, Block]]:
        """Yield the numbers in the files of one seed, by name."""
        for number, written in enumerate(run.files):
            path = self._path(written, wanted.seed, self.placed("runs", index, "files", number))
            if path is None:
                continue
            one = replace(wanted, alone=wanted.alone or "{seed}" in written)
            try:
                yield from self.files.read(path, str(path.relative_to(self.folder)), one).items()
            except LogError as error:
                self.faults.take(error)

    def _path(self, written: str, seed: int, place: str) -> Path | None:
        """Return a file beside the manifest; nothing outside its folder is read."""
        name = written.replace("{seed}", str(seed))
        pure = PurePosixPath(name)
        fault = None
        try:
            if pure.is_absolute() or ".." in pure.parts or "\0" in name:
                fault = f"found '{written}'; expected a file inside the manifest's folder."
            else:
                path = (self.folder / pure).resolve()
                if not path.is_relative_to(self.folder):
                    fault = f"found '{written}', which leads out of the folder; expected one in it."
                elif not path.exists():
                    fault = f"found no file '{name}'; expected one beside the manifest."
        except (OSError, RuntimeError, ValueError) as error:  # too long, a loop of links, no text
            reason = getattr(error, "strerror", None) or "no path, or a loop of links"
            fault = f"found '{on_one_line(written, 80)}', which is {reason}."
        if fault is None:
            return path
        self.faults.add(place, fault)
        return None
