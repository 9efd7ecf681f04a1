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
from dataclasses import dataclass
from datetime import UTC, datetime, time
from itertools import islice
from pathlib import Path, PurePosixPath

import numpy as np
from pydantic import Field

from reproaudit.audit.model import Audit, TierName
from reproaudit.audit.plan import Batch, Role, claim_batches, plan
from reproaudit.audit.rules.values import fits, kind_of, same, shown
from reproaudit.cell import SettingValue, canonical_settings
from reproaudit.elsewhere.files import FileReader, Found
from reproaudit.elsewhere.fitting import fit
from reproaudit.elsewhere.manifest import (
    NAMES,
    Manifest,
    Placed,
    Run,
    read_manifest,
    settings_for,
)
from reproaudit.elsewhere.misfit import Misfits, clipped
from reproaudit.elsewhere.training_length import end_beside, stated_length
from reproaudit.elsewhere.writing import PROTOCOL, some
from reproaudit.errors import did_you_mean
from reproaudit.judge import Records
from reproaudit.records import CellStatus, Environment, Origin, Record

OURS = "reproaudit"
"""The name by which tables of results call our own measurements."""
DISTINCT = 10
"""Distinct numbers of one series or array that two runs of different seeds do not share."""
MOST_BELOW = 10_000
"""Of the files in a folder, so many are looked at."""


@dataclass(frozen=True)
class Submission:
    """Measurements from elsewhere, ready to be judged.

    Attributes:
        audit: the audit.
        tier: the tier at which they are judged.
        records: one for each run and seed.
        settings: what the manifest states of every run, and is not the tier's.
        unstated: the settings that no manifest states and that were taken to be the tier's, as
            "experiment.setting".
        absent: the experiments and arms without measurements, in words.
        remarks: what a reader is to know of the measurements, in sentences.
        digest: of the numbers and of all that is stated of the runs; the same for the same
            measurements.
        found: the records by experiment and the settings of the plan, then by seed.
    """

    audit: Audit
    tier: TierName
    records: tuple[Record, ...]
    settings: Mapping[str, SettingValue]
    unstated: tuple[str, ...]
    absent: tuple[str, ...]
    remarks: tuple[str, ...]
    digest: str
    found: Records


class StatingOrigin(Origin):
    """An origin that tells which settings the runs are known to have had."""

    stated: tuple[str, ...] = Field(
        description="the settings that the measurements' manifest states of the run"
    )


_Key = tuple[str, str]
"""Experiment and settings of a batch."""


def read_submission(audit: Audit, folder: Path) -> Submission:
    """Read the measurements in a folder.

    Raises:
        UsageError: if the folder or its manifest is missing.
        SpecError: listing everything that does not fit.
    """
    misfits = Misfits()
    manifest, placed = read_manifest(folder, misfits)
    reader = _Reader(audit, folder.resolve(), manifest, placed, misfits, FileReader(misfits))
    _check_manifest(audit, manifest, placed, misfits)
    batches: dict[_Key, tuple[Role, Batch]] = {}
    for role, planned in plan(audit, manifest.tier):  # the experiments come first
        batches.setdefault(_key(planned), (role, planned))
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
                misfits.add(
                    placed("runs", index, "seeds", number),
                    f"found seed {seed} of '{run.experiment}' a second time; expected it once.",
                )
            records[seed] = reader.record(run, index, batch, seed)
        if role is not Role.CONSTRUCTED:
            _refuse_copies(_words(role, batch), records, placed("runs", index), misfits)
    misfits.raise_if_any()
    remarks = [*manifest.noted]
    for key, records in found.items():
        remarks += _remarks_on(audit, manifest.tier, *batches[key], records)
    remarks += _unread(folder.resolve(), reader.files)
    return _submission(audit, manifest, found, tuple(clipped(one, 4000) for one in remarks))


def _key(batch: Batch) -> _Key:
    return batch.experiment, canonical_settings(dict(batch.overrides))


def _submission(
    audit: Audit,
    manifest: Manifest,
    found: Mapping[_Key, Mapping[int, Record]],
    remarks: tuple[str, ...],
) -> Submission:
    needed = {
        batch: role
        for claim in reversed(audit.claims)
        for role, batch in claim_batches(audit, claim, manifest.tier)
    }
    return Submission(
        audit=audit,
        tier=manifest.tier,
        records=tuple(record for records in found.values() for record in records.values()),
        settings=_other_than(audit, manifest),
        unstated=tuple(
            f"{experiment}.{name}"
            for experiment in sorted({one for one, _ in found})
            for name in audit.settings_of(experiment)
            if name not in settings_for(manifest.settings, experiment)
        ),
        absent=tuple(
            dict.fromkeys(
                _words(needed[batch], batch)
                for claim in audit.claims
                for _, batch in claim_batches(audit, claim, manifest.tier)
                if _key(batch) not in found
            )
        ),
        remarks=remarks,
        digest=_digest(manifest, found),
        found={
            (batch.experiment, canonical_settings(batch.settings(audit))): found[_key(batch)]
            for _, batch in plan(audit, manifest.tier)
            if _key(batch) in found
        },
    )


def _digest(manifest: Manifest, found: Mapping[_Key, Mapping[int, Record]]) -> str:
    """Return a digest of the measurements, whatever is said of their origin."""
    whole = hashlib.sha256(f"{manifest.tier} {manifest.proxy}".encode())
    for key, records in sorted(found.items()):
        for seed, record in sorted(records.items()):
            stated = record.origin.stated if isinstance(record.origin, StatingOrigin) else ()
            settings = canonical_settings(record.settings)
            whole.update(f"{key} {seed} {settings} {record.status} {stated} ".encode())
            whole.update(record.measurements.model_dump_json().encode())
    return whole.hexdigest()[:32]


def _other_than(audit: Audit, manifest: Manifest) -> dict[str, SettingValue]:
    """Return the stated settings that some experiment of the tier has otherwise."""
    found: dict[str, SettingValue] = {}
    for name, value in manifest.settings.items():
        experiment, _, plain = name.rpartition(".")
        for one in [experiment] if experiment else audit.experiments:
            planned = audit.values_of(one, manifest.tier)
            if plain in planned and not same(planned[plain], value):
                found[name] = value
    return found


def _words(role: Role, batch: Batch) -> str:
    settings = ", ".join(f"{name} = {shown(value)}" for name, value in batch.overrides)
    return f"{role} '{batch.experiment}'" + (f" with {settings}" if settings else "")


# --- what a reader is to know ---------------------------------------------------------------------


def _same_numbers(records: Mapping[int, Record]) -> list[list[int]]:
    """Return the seeds of completed runs with the same numbers, where two or more have them."""
    groups: dict[str, list[int]] = {}
    for seed, record in records.items():
        if record.status is CellStatus.COMPLETED and record.measurements.names:
            groups.setdefault(record.measurements.model_dump_json(), []).append(seed)
    return [seeds for seeds in groups.values() if len(seeds) > 1]


def _refuse_copies(which: str, records: Mapping[int, Record], place: str, misfits: Misfits) -> None:
    """Add a fault for runs that equal another seed's where a third seed of theirs differs.

    Runs that all agree may be a closed form, and few numbers may agree by chance.
    """
    for first, *others in _same_numbers(records):
        measured = records[first].measurements
        arrays = [*(one.values for one in measured.series.values()), *measured.arrays.values()]
        many = any(np.unique(one).size >= DISTINCT for one in arrays)
        if many and len(others) + 1 < len(records):
            misfits.add(
                place,
                f"found the same numbers for {_seeds(others)} as for {_seeds([first])} of {which}; "
                "expected runs of their own, since the other seeds differ. Leave out what is a "
                "copy.",
            )


def _remarks_on(
    audit: Audit, tier: TierName, role: Role, batch: Batch, records: Mapping[int, Record]
) -> Iterator[str]:
    """Yield sentences on runs with the same numbers, or that end elsewhere than training does."""
    for group in _same_numbers(records):
        yield f"The {_seeds(group)} of {_words(role, batch)} have the same numbers."
    ends: dict[tuple[int, float], list[int]] = {}
    for seed, record in records.items():
        known = [record.settings]
        if batch.tier != tier:  # a control that may run at a smaller scale than is stated of all
            known.append(batch.settings(audit))
        found = [_end_beside(audit, role, record, settings) for settings in known]
        if record.status is CellStatus.COMPLETED and None not in found:
            ends.setdefault(found[0], []).append(seed)  # type: ignore[arg-type]
    for (end, length), seeds in ends.items():
        yield f"Series of {_seeds(seeds)} of {_words(role, batch)} end at step {end} of {length:g}."


def _end_beside(
    audit: Audit, role: Role, record: Record, settings: Mapping[str, SettingValue]
) -> tuple[int, float] | None:
    """Return the last step of a run and the length of training, if the two do not agree."""
    length = stated_length(audit, record.experiment, settings)
    series = [one.steps for one in record.measurements.series.values()]
    points = role is not Role.CONSTRUCTED  # a constructed solution is one point
    end = None if length is None else end_beside(series, length, points=points)
    return None if end is None or length is None else (end, length)


def _unread(folder: Path, files: FileReader) -> Iterator[str]:
    """Yield sentences on rows and files beside the manifest that it does not name."""
    if left := list(files.rows_left()):
        yield f"Rows of seeds that the manifest does not name were not read: {some(left)}."
    below = (Path(at) / name for at, _, names in os.walk(folder) for name in sorted(names))
    unread = [
        one.relative_to(folder).as_posix()
        for one in islice(below, MOST_BELOW)
        if one.suffix.lower() in (".csv", ".json", ".npz")
        and one.name not in (*NAMES, PROTOCOL)
        and one not in files.taken
    ]
    if unread:
        yield f"Files beside the manifest that it does not name were not read: {some(unread)}."


def _seeds(seeds: Sequence[int]) -> str:
    return f"seed{'s' if len(seeds) > 1 else ''} {some([str(one) for one in seeds])}"


# --- the manifest against the audit ---------------------------------------------------------------


def _check_manifest(audit: Audit, manifest: Manifest, placed: Placed, misfits: Misfits) -> None:
    if manifest.paper not in (None, audit.paper.slug):
        misfits.add(
            placed("paper"), f"found '{manifest.paper}'; expected '{audit.paper.slug}' or nothing."
        )
    if re.sub(r"[^a-z0-9]+", "", manifest.who.lower()) == OURS:
        misfits.add(
            placed("who"),
            f"found '{clipped(manifest.who, 80)}', under which our own measurements stand; "
            "expected who made these.",
        )
    for name, value in manifest.settings.items():
        place = placed("settings", name)
        experiment, _, plain = name.rpartition(".")
        if experiment and experiment not in audit.experiments:
            hint = did_you_mean(experiment, audit.experiments)
            misfits.add(place, f"found the unknown experiment '{experiment}'. {hint}")
            continue
        searched = [experiment] if experiment else list(audit.experiments)
        known = {n: s for e in searched for n, s in audit.settings_of(e).items()}
        if plain not in known:
            misfits.add(place, f"found the unknown setting '{plain}'. {did_you_mean(plain, known)}")
        elif not fits(value, known[plain].value):
            expected = f"{kind_of(known[plain].value)}, like {shown(known[plain].value)}"
            misfits.add(place, f"found {shown(value)}; expected {expected}.")
    units: dict[str, set[str]] = {}
    for experiment in audit.experiments:
        for name, declaration in audit.measurements_of(experiment).items():
            units.setdefault(name, set()).add(declaration.unit)
    for name, unit in manifest.units.items():
        place = placed("units", name)
        if name not in units:
            hint = did_you_mean(name, units)
            misfits.add(place, f"found the unknown measurement '{name}'. {hint}")
        elif unit not in units[name]:
            expected = " or ".join(f"'{one}'" for one in sorted(units[name]))
            misfits.add(place, f"found the unit '{unit}' of '{name}'; expected {expected}.")


# --- runs -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Reader:
    """Reads the runs of one manifest; faults are gathered."""

    audit: Audit
    folder: Path
    manifest: Manifest
    placed: Placed
    misfits: Misfits
    files: FileReader

    def refuse_role(self, run: Run, index: int, batches: Sequence[Batch]) -> None:
        """Add a fault for a run that belongs to no batch of the plan."""
        if run.experiment not in self.audit.experiments:
            hint = did_you_mean(run.experiment, self.audit.experiments)
            place = self.placed("runs", index, "experiment")
            self.misfits.add(place, f"found the unknown experiment '{run.experiment}'. {hint}")
            return
        arms = [
            "{" + ", ".join(f"{name}: {shown(value)}" for name, value in one.overrides) + "}"
            for one in batches
            if one.experiment == run.experiment and one.overrides
        ]
        self.misfits.add(
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
        diverged = run.status == "diverged"
        measured = fit(self._found(run, index, seed), declared, settings, diverged, self.misfits)
        if diverged:
            measured = measured.finite_part()
        origin = StatingOrigin(
            who=manifest.who,
            source=manifest.source,
            framework=manifest.framework,
            made=manifest.date,
            stated=tuple(sorted(stated)),
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
            error="as its manifest says" if diverged else None,
            proxy=manifest.proxy,
            fingerprint=hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:32],
            code="",
            environment=Environment(threads=None, **manifest.environment.model_dump()),
            started=datetime.combine(manifest.date, time(), UTC),
            seconds=0.0,
            origin=origin,
            measurements=measured,
        )

    def _found(self, run: Run, index: int, seed: int) -> Found:
        """Return the numbers in the files of one seed."""
        names = frozenset(self.audit.measurements_of(run.experiment))
        found: Found = {}
        for number, written in enumerate(run.files):
            path = self._path(written, seed, self.placed("runs", index, "files", number))
            if path is None:
                continue
            name = path.relative_to(self.folder).as_posix()
            alone = len(run.seeds) == 1 or "{seed}" in written
            for measured, one in self.files.read(path, name, names, seed, alone).items():
                if measured in found:
                    first = found[measured].place
                    text = f"found '{measured}', which {first} has already; expected it once."
                    self.misfits.add(one.place, text)
                found[measured] = one
        return found

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
            fault = f"found '{clipped(written, 80)}', which is {reason}."
        if fault is None:
            return path
        self.misfits.add(place, fault)
        return None
