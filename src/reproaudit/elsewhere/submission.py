"""Measurements made elsewhere: the authors' own logs, another framework's runs.

A folder holds a manifest (their origin, and the files of each run) and the files. Here they are
read, checked against the audit's declarations, and made into records that carry their origin, so
that they are judged as ours are. Nothing is guessed: every fault is told, all at once, each with
its place. A submission is untrusted: nothing outside its folder is read, no pipe or device is
opened, and sizes are checked before content (`files`).

A run's settings tell its role, as they do in a plan: with none it is the experiment itself, with
those of a control it is that control (a control that only judges other measurements of the same
runs needs none of its own). Seeds of another program are mere labels, so the supplied seeds replace
the rule's; there must be as many as the rule has, or the claim stays not tested.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, time
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from reproaudit.audit.model import Audit, TierName
from reproaudit.audit.plan import Batch, Role, claim_batches, plan, seeds_of
from reproaudit.audit.rules.values import fits, kind_of, same, shown
from reproaudit.cell import SettingValue, canonical_settings
from reproaudit.elsewhere.files import FileReader, Found
from reproaudit.elsewhere.imported import as_imported
from reproaudit.elsewhere.manifest import (
    Manifest,
    Placed,
    Run,
    read_manifest,
    settings_for,
)
from reproaudit.elsewhere.misfit import Misfits, clipped
from reproaudit.elsewhere.unread import remarks_on_files
from reproaudit.errors import did_you_mean
from reproaudit.lazy import deferred

if TYPE_CHECKING:  # a manifest that is missing or wrong is told before NumPy is imported
    from reproaudit import records
    from reproaudit.audit import training_length
    from reproaudit.elsewhere import fitting, scrutiny
    from reproaudit.judging import evidence
    from reproaudit.judging.outcomes import Lookup
    from reproaudit.records import Measurements, Record
else:
    records = deferred("reproaudit.records")
    training_length = deferred("reproaudit.audit.training_length")
    evidence = deferred("reproaudit.judging.evidence")
    fitting = deferred("reproaudit.elsewhere.fitting")
    scrutiny = deferred("reproaudit.elsewhere.scrutiny")

__all__ = ["Submission", "read_submission"]

OURS = "reproaudit"
"""The name by which tables of results call our own measurements."""


@dataclass(frozen=True)
class Submission:
    """Measurements from elsewhere, ready to be judged.

    Attributes:
        audit: the audit, with the supplied seeds in place of the rule's.
        tier: the tier at which they are judged.
        records: one for each run and seed.
        settings: what the manifest states of every run, and is not the tier's.
        unstated: the settings that no manifest states and that were taken to be the tier's, as
            "experiment.setting".
        absent: the experiments and controls without measurements, in words.
        remarks: what stands out in the measurements, in sentences.
        digest: of the numbers and of all that is stated of the runs; the same for the same
            measurements.
        lookup: finds the records of a batch.
    """

    audit: Audit
    tier: TierName
    records: tuple[Record, ...]
    settings: Mapping[str, SettingValue]
    unstated: tuple[str, ...]
    absent: tuple[str, ...]
    remarks: tuple[str, ...]
    digest: str
    lookup: Lookup


def read_submission(audit: Audit, folder: Path) -> Submission:
    """The measurements in a folder.

    Raises:
        UsageError: if the folder or its manifest is missing.
        SpecError: listing everything that does not fit.
    """
    misfits = Misfits()
    manifest, placed = read_manifest(folder, misfits)
    reader = _Reader(audit, folder, manifest, placed, misfits, FileReader(misfits))
    _check_manifest(audit, manifest, placed, misfits)
    batches: dict[tuple[str, str], tuple[Role, Batch]] = {}
    for role, planned in plan(audit, manifest.tier):  # the experiments come first
        batches.setdefault(_key(planned.experiment, dict(planned.overrides)), (role, planned))
    found: dict[tuple[str, str, int], Record] = {}
    submitted: list[scrutiny.SubmittedRun] = []
    for index, run in enumerate(manifest.runs):
        role_and_batch = reader.batch(run, index, batches)
        for number, seed in enumerate(run.seeds if role_and_batch is not None else ()):
            key = (*_key(run.experiment, run.settings), seed)
            if key in found:
                misfits.add(
                    placed("runs", index, "seeds", number),
                    f"found seed {seed} of '{run.experiment}' a second time; expected it once.",
                )
            assert role_and_batch is not None, "no seed is looked at without a batch"
            role, batch = role_and_batch
            found[key], finite = reader.record(run, index, batch, seed)
            submitted.append(
                scrutiny.SubmittedRun(
                    batch=_words(role, batch),
                    role=role,
                    place=placed("runs", index, "seeds", number),
                    record=found[key],
                    finite=finite,
                    smaller=None if batch.tier == manifest.tier else batch.settings(audit),
                )
            )
    scrutiny.refuse_copies(submitted, misfits)
    misfits.raise_if_any()
    known = as_imported(folder, manifest)
    remarks = (
        *known.changes,
        *scrutiny.remarks_on(audit, known.manifest, submitted),
        *remarks_on_files(folder.resolve(), reader.files),
    )
    return _submission(audit, manifest, found, remarks)


def _key(experiment: str, overrides: Mapping[str, SettingValue]) -> tuple[str, str]:
    return experiment, canonical_settings(overrides)


def _submission(
    audit: Audit,
    manifest: Manifest,
    found: Mapping[tuple[str, str, int], Record],
    remarks: tuple[str, ...],
) -> Submission:
    seeds: dict[TierName, set[int]] = {}
    for _, batch in plan(audit, manifest.tier):
        key = _key(batch.experiment, dict(batch.overrides))
        given = {seed for *one, seed in found if tuple(one) == key}
        seeds.setdefault(batch.tier, set()).update(given)
    supplied: dict[str, tuple[int, ...]] = {
        tier: _enough(sorted(some), seeds_of(audit, tier)) for tier, some in seeds.items() if some
    }
    judged = audit.model_copy(update={"seeds": audit.seeds.model_copy(update=supplied)})

    def lookup(batch: Batch) -> Mapping[int, Record]:
        key = _key(batch.experiment, dict(batch.overrides))
        return {seed: found[(*key, seed)] for seed in batch.seeds if (*key, seed) in found}

    present = {(experiment, overrides) for experiment, overrides, _ in found}
    return Submission(
        audit=judged,
        tier=manifest.tier,
        records=tuple(found.values()),
        settings=_other_than(audit, manifest),
        unstated=tuple(
            f"{experiment}.{name}"
            for experiment in sorted({one for one, _ in present})
            for name in audit.settings_of(experiment)
            if name not in settings_for(manifest.settings, experiment)
        ),
        absent=tuple(
            _words(role, batch)
            for role, batch in _needed(audit, manifest.tier)
            if _key(batch.experiment, dict(batch.overrides)) not in present
        ),
        remarks=remarks,
        digest=_digest(manifest, found),
        lookup=lookup,
    )


def _digest(manifest: Manifest, found: Mapping[tuple[str, str, int], Record]) -> str:
    """A digest that is the same for the same measurements, whatever is said of their origin."""
    whole = hashlib.sha256(f"{manifest.tier} {manifest.proxy}".encode())
    for key, record in sorted(found.items(), key=lambda pair: pair[0]):
        stated = record.origin.stated if isinstance(record.origin, evidence.StatingOrigin) else ()
        settings = canonical_settings(record.settings)
        whole.update(f"{key} {settings} {record.status} {stated} ".encode())
        whole.update(record.measurements.model_dump_json().encode())
    return whole.hexdigest()[:32]


def _other_than(audit: Audit, manifest: Manifest) -> dict[str, SettingValue]:
    """The stated settings that some experiment of the tier has otherwise."""
    found: dict[str, SettingValue] = {}
    for name, value in manifest.settings.items():
        experiment, _, plain = name.rpartition(".")
        for one in [experiment] if experiment else audit.experiments:
            planned = audit.values_of(one, manifest.tier)
            if plain in planned and not same(planned[plain], value):
                found[name] = value
    return found


def _needed(audit: Audit, tier: TierName) -> tuple[tuple[Role, Batch], ...]:
    """The batches by which the claims are judged, each once."""
    needed: dict[Batch, Role] = {}
    for claim in audit.claims:
        for role, batch in claim_batches(audit, claim, tier):
            needed.setdefault(batch, role)
    return tuple((role, batch) for batch, role in needed.items())


def _enough(supplied: list[int], rule: tuple[int, ...]) -> tuple[int, ...]:
    """The supplied seeds, filled up with seeds of the rule to the rule's number."""
    missing = len(rule) - len(supplied)
    fillers = [seed for seed in rule if seed not in supplied]
    return (*supplied, *fillers[: max(missing, 0)])


def _words(role: Role, batch: Batch) -> str:
    settings = ", ".join(f"{name} = {shown(value)}" for name, value in batch.overrides)
    return f"{role} '{batch.experiment}'" + (f" with {settings}" if settings else "")


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
    _check_shared(audit, manifest, placed, misfits)
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


def _check_shared(audit: Audit, manifest: Manifest, placed: Placed, misfits: Misfits) -> None:
    """Check what the manifest states of every run."""
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

    def batch(
        self, run: Run, index: int, batches: Mapping[tuple[str, str], tuple[Role, Batch]]
    ) -> tuple[Role, Batch] | None:
        """The batch of the plan that a run belongs to, with its role; else a fault and None."""
        experiments = self.audit.experiments
        if run.experiment not in experiments:
            hint = did_you_mean(run.experiment, experiments)
            place = self.placed("runs", index, "experiment")
            self.misfits.add(place, f"found the unknown experiment '{run.experiment}'. {hint}")
            return None
        found = batches.get(_key(run.experiment, run.settings))
        if found is None:
            controls = [
                "{" + ", ".join(f"{name}: {shown(value)}" for name, value in one.overrides) + "}"
                for _, one in batches.values()
                if one.experiment == run.experiment and one.overrides
            ]
            self.misfits.add(
                self.placed("runs", index, "settings"),
                f"found settings that no control of '{run.experiment}' has; expected none, or "
                f"{' or '.join(controls) or 'nothing else'}. What differs in every run belongs "
                "under the manifest's own 'settings'.",
            )
        return found

    def record(self, run: Run, index: int, batch: Batch, seed: int) -> tuple[Record, bool]:
        """One seed of a run with its measurements that fit, and whether all numbers were finite."""
        manifest, slug = self.manifest, self.audit.paper.slug
        overrides = {**settings_for(manifest.settings, run.experiment), **run.settings}
        settings = self.audit.values_of(run.experiment, batch.tier, overrides)
        declared = self.audit.measurements_of(run.experiment)
        diverged = run.status == "diverged"
        found = self._found(run, index, seed)
        whole = fitting.fit(found, declared, settings, diverged, self.misfits)
        self._check_ends(found, whole, run, batch, settings)
        measured = whole.finite_part() if diverged else whole
        origin = evidence.StatingOrigin(
            who=manifest.who,
            source=manifest.source,
            framework=manifest.framework,
            made=manifest.date,
            stated=tuple(sorted({*settings_for(manifest.settings, run.experiment), *run.settings})),
        )
        identity = [slug, run.experiment, canonical_settings(settings), seed]
        identity += [one.model_dump_json() for one in (origin, measured)]
        record = records.Record(
            paper=slug,
            tier=batch.tier,
            experiment=run.experiment,
            settings=settings,
            seed=seed,
            status=records.CellStatus(run.status),
            error="as its manifest says" if diverged else None,
            proxy=manifest.proxy,
            fingerprint=hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:32],
            code="",
            environment=records.Environment(threads=None, **manifest.environment.model_dump()),
            started=datetime.combine(manifest.date, time(), UTC),
            seconds=0.0,
            origin=origin,
            measurements=measured,
        )
        return record, whole.finite

    def _check_ends(
        self,
        found: Found,
        measured: Measurements,
        run: Run,
        batch: Batch,
        settings: Mapping[str, SettingValue],
    ) -> None:
        """Refuse series beyond the number of steps that the manifest states of an experiment.

        Only where nothing else can have made the training longer: not where the audit divides it
        into stages, nor where another setting is not that of the experiment itself, as of a
        control. What is let pass is told as a remark.
        """
        stated = settings_for(self.manifest.settings, run.experiment)
        planned = self.audit.values_of(run.experiment, batch.tier)
        if (
            "steps" not in stated
            or self.audit.experiments[run.experiment].stages
            or any(not same(settings[n], planned[n]) for n in planned if n != "steps")
        ):
            return
        length = training_length.stated_length(self.audit, run.experiment, settings)
        for name, one in measured.series.items():
            if length is not None and one.steps[-1] > length:
                self.misfits.add(
                    found[name].place,
                    f"found step {one.steps[-1]} of '{name}'; expected none beyond the run's "
                    f"'steps', {shown(settings['steps'])}. State 'steps' as it was.",
                )

    def _found(self, run: Run, index: int, seed: int) -> Found:
        """The numbers in the files of one seed."""
        names = frozenset(self.audit.measurements_of(run.experiment))
        found: Found = {}
        for number, written in enumerate(run.files):
            path = self._path(written, seed, self.placed("runs", index, "files", number))
            if path is None:
                continue
            name = path.relative_to(self.folder.resolve()).as_posix()
            alone = len(run.seeds) == 1 or "{seed}" in written
            for measured, one in self.files.read(path, name, names, seed, alone).items():
                if measured in found:
                    first = found[measured].place
                    text = f"found '{measured}', which {first} has already; expected it once."
                    self.misfits.add(one.place, text)
                found[measured] = one
        return found

    def _path(self, written: str, seed: int, place: str) -> Path | None:
        """A file beside the manifest; nothing outside its folder is read."""
        name = written.replace("{seed}", str(seed))
        root, pure = self.folder.resolve(), PurePosixPath(name)
        if pure.is_absolute() or ".." in pure.parts or "\0" in name:
            text = f"found '{written}'; expected a file inside the manifest's folder."
            self.misfits.add(place, text)
            return None
        try:
            path = (root / pure).resolve()
            there = path.exists()
        except (OSError, RuntimeError, ValueError) as error:  # too long, a loop of links, no text
            reason = getattr(error, "strerror", None) or "no path, or a loop of links"
            self.misfits.add(place, f"found '{clipped(written, 80)}', which is {reason}.")
            return None
        if not path.is_relative_to(root):
            text = f"found '{written}', which leads out of the folder; expected a file in it."
            self.misfits.add(place, text)
            return None
        if not there:
            self.misfits.add(place, f"found no file '{name}'; expected one beside the manifest.")
            return None
        return path
