"""Measurements made elsewhere: the authors' own logs, another framework's runs.

A folder holds a manifest (their origin, and the files of each run) and the files: CSV, JSON or NPZ.
Here they are held against the audit's declarations, and made into records that carry their origin,
so that they are judged as ours are and never passed off as ours. All faults are told at once, each
with its place; of a file the first one.

A run's settings tell its role, as they do in a plan: with none it is the experiment itself, with
those of an arm it is that arm (an arm that only reads other measurements of the same runs needs
none of its own). Seeds of another program are mere labels.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import re
import zipfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from reproaudit.audit.faults import shown
from reproaudit.audit.loading import read_as
from reproaudit.audit.model import Audit, SettingName, Text, TierName
from reproaudit.audit.plan import Batch, Role, claim_batches, plan
from reproaudit.cell import SettingValue, canonical_settings, fits, kind_of
from reproaudit.declarations import Declaration, MeasurementKind, Name, StrictModel, misfit
from reproaudit.elsewhere.logged import (
    MAX_STEP,
    Curve,
    LogError,
    LoggedRun,
    LogSource,
    on_one_line,
    parse_json,
    read_log,
    read_log_text,
)
from reproaudit.elsewhere.mapping import LoggedQuantity
from reproaudit.elsewhere.measuring import measure, measurements_of, refuse_disorder
from reproaudit.elsewhere.roles import axes_of, end_beside, role_words, some, stated_length
from reproaudit.elsewhere.tables import read_table
from reproaudit.errors import SpecError, UsageError, did_you_mean
from reproaudit.judge import Records
from reproaudit.records import (
    CellStatus,
    Environment,
    Measurements,
    Origin,
    Record,
    is_finite,
)

UNSTATED = dict.fromkeys(("python", "platform", "device"), "not stated")
OURS = "reproaudit"
"""The name by which tables of results call our own measurements."""
DISTINCT = 10
"""Distinct numbers of one series or array that two runs of different seeds do not share."""
MOST_TEXT_BYTES = 2**23
"""Of one CSV or JSON file. Larger measurements come as NPZ."""
MOST_ARRAY_BYTES = 2**26
"""Of one NPZ file, as it is and unpacked: curves and small matrices, not checkpoints."""


# --- the manifest ---------------------------------------------------------------------------------

NAMES = ("manifest.yaml", "manifest.yml", "manifest.json")
PROTOCOL = "import.json"
"""The file in which `import` says what became of every log; no measurements stand in it."""

Seed = Annotated[int, Field(ge=0, le=2**32 - 1)]


class Run(StrictModel):
    """One experiment with one set of settings, over some seeds."""

    experiment: Name
    """The experiment, as the audit calls it."""
    seeds: tuple[Seed, ...] = Field(min_length=1, max_length=10_000)
    """The seeds; any numbers that tell the runs apart."""
    settings: dict[Name, SettingValue] = Field(default_factory=dict)
    """Of a control: the settings that the audit gives it. For the experiment itself: none."""
    status: Literal["completed", "diverged"] = "completed"
    """The end of the runs; diverged ones may hold numbers that are not finite."""
    files: tuple[Text, ...] = Field(min_length=1, max_length=1_000)
    """CSV, JSON or NPZ files beside the manifest; ``{seed}`` in a name stands for each seed."""


class Manifest(StrictModel):
    """Measurements made elsewhere."""

    schema_version: Literal[1]
    """The version of this format."""
    who: Text
    """The people who made and submit them."""
    source: Text
    """Their source: a repository with its revision, an archive, a log."""
    framework: Text
    """The software that computed them, with versions."""
    date: date
    """The day on which they were made."""
    paper: Name | None = None
    """The audit's slug, to guard against a mix-up."""
    tier: Literal["quick", "paper"] = "paper"
    """The tier at whose scale they were made, and at which they are judged."""
    proxy: Text | None = None
    """The substitute for the paper's data or method, if there was one."""
    settings: dict[SettingName, SettingValue] = Field(default_factory=dict)
    """The settings of every run, as "setting" or "experiment.setting"; settings that are not
    stated are taken to be the tier's, and evidence on them is assumed at best."""
    noted: tuple[Text, ...] = ()
    """Sentences on the measurements, such as runs that were left out; `import` fills it in."""
    runs: tuple[Run, ...] = Field(min_length=1)
    """The runs."""

    def settings_of(self, experiment: str) -> dict[str, SettingValue]:
        """Return the settings of an experiment, among "setting" and "experiment.setting"."""
        return {
            name.rpartition(".")[2]: value
            for name, value in self.settings.items()
            if name.rpartition(".")[0] in ("", experiment)
        }


Placed = Callable[..., str]
"""Gives the place of a field, by names and positions: ``manifest.yaml:9:5: runs[0].seeds``."""


def read_manifest(folder: Path) -> tuple[Manifest, Placed]:
    """Read the manifest of a folder.

    Raises:
        UsageError: if the folder or the manifest is missing.
        SpecError: listing all that is wrong with the manifest.
    """
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder. --measurements takes a folder.")
    found = _manifests(folder)
    if len(found) != 1:
        what = f"{len(found)} manifests" if found else "no manifest"
        raise UsageError(f"{folder}: holds {what}; expected one of {', '.join(NAMES)}.")
    file = found[0].name
    manifest, document, faults = read_as(Manifest, found[0], "a manifest")
    if manifest is None or document is None:
        raise SpecError("\n".join(str(replace(one, file=file)) for one in faults))

    def placed(*loc: str | int) -> str:
        line, column = document.place(loc)
        path = "".join(f"[{s}]" if isinstance(s, int) else f".{s}" for s in loc).lstrip(".")
        return f"{file}:{line}:{column}: {path}"

    if manifest.date > datetime.now(UTC).date() + timedelta(days=1):  # tomorrow, east of here
        text = f"found {manifest.date}, which is in the future; expected the day of the runs."
        raise SpecError(f"{placed('date')}: {text}")
    return manifest, placed


def submission_folders(folders: Iterable[Path], slugs: Sequence[str]) -> dict[str, Path]:
    """Return the folder of measurements of each paper that has one, by slug.

    Args:
        folders: each has a manifest, or subfolders named after papers that have one.
        slugs: the papers there are. If there is one alone, a manifest that names no paper is its.

    Raises:
        SpecError: if a manifest cannot be read.
        UsageError: if a folder has no manifest, or it is open which paper one belongs to.
    """
    found = {}
    for folder in folders:
        own = _manifests(folder)
        below = {one.name: one for one in sorted(folder.iterdir()) if _manifests(one)}
        paper = read_manifest(folder)[0].paper if own else None
        if not own and not below:
            raise UsageError(
                f"{folder}: holds no manifest; expected one of {', '.join(NAMES)} in it, or in "
                "a subfolder named after the paper."
            )
        if own and paper is None and len(slugs) != 1:
            raise UsageError(
                f"{folder}: its manifest names no paper, and there are {len(slugs)} audits. "
                "Write 'paper: SLUG' into it."
            )
        found.update({paper or slugs[0]: folder} if own else below)
    return found


def _manifests(folder: Path) -> list[Path]:
    return [folder / name for name in NAMES if (folder / name).exists()]


# --- measurements ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Submission:
    """Measurements from elsewhere, ready to be judged.

    Attributes:
        audit: the audit.
        tier: the tier at which they are judged.
        records: one for each run and seed.
        remarks: what a reader is to know of the measurements, in sentences.
        found: the records by experiment and the settings of the plan, then by seed.
    """

    audit: Audit
    tier: TierName
    records: tuple[Record, ...]
    remarks: tuple[str, ...]
    found: Records


def read_submission(audit: Audit, folder: Path) -> Submission:
    """Read the measurements in a folder.

    Raises:
        UsageError: if the folder or its manifest is missing.
        SpecError: listing everything that does not fit.
    """
    manifest, placed = read_manifest(folder)
    reader = _Reader(audit, folder.resolve(), manifest, placed)
    reader.check_manifest()
    planned: dict[tuple[str, str], tuple[Role, Batch]] = {}
    for role, batch in plan(audit, manifest.tier):  # the experiments come first
        planned.setdefault(_key(audit, batch), (role, batch))
    found: dict[tuple[str, str], dict[int, Record]] = {}
    for index, run in enumerate(manifest.runs):
        settings = tuple(run.settings.items())
        key = _key(audit, Batch(run.experiment, manifest.tier, settings, run.seeds))
        if key not in planned:
            reader.refuse_role(run, index, [batch for _, batch in planned.values()])
            continue
        records = found.setdefault(key, {})
        for number, seed in enumerate(run.seeds):
            if seed in records:
                reader.fault(
                    placed("runs", index, "seeds", number),
                    f"found seed {seed} of '{run.experiment}' a second time; expected it once.",
                )
            records[seed] = reader.record(run, index, seed)
        role, batch = planned[key]
        if role is not Role.CONSTRUCTED:
            reader.refuse_copies(role_words(batch), records, placed("runs", index))
    reader.raise_if_any()
    remarks = [*manifest.noted, *reader.unread(), *reader.absent(found.keys())]
    for key, records in found.items():
        if planned[key][0] is not Role.CONSTRUCTED:  # a constructed solution is one point
            remarks += _ends(audit, planned[key][1], records)
    return Submission(
        audit=audit,
        tier=manifest.tier,
        records=tuple(record for records in found.values() for record in records.values()),
        remarks=tuple(remarks),
        found=found,
    )


def _key(audit: Audit, batch: Batch) -> tuple[str, str]:
    is_known = batch.experiment in audit.experiments
    return batch.experiment, canonical_settings(batch.settings(audit) if is_known else {})


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


@dataclass(frozen=True)
class _Wanted:
    """One seed of a run of the manifest, as the audit declares it; `alone`: in files of its own."""

    declared: Mapping[str, Declaration]
    settings: Mapping[str, SettingValue]
    seed: int
    alone: bool
    diverged: bool


@dataclass
class _Reader:
    """Reads the runs of one manifest; faults are gathered, each once.

    Attributes:
        taken: the files that were read, each with the seeds that were taken from it.
    """

    audit: Audit
    folder: Path
    manifest: Manifest
    placed: Placed
    taken: dict[Path, set[int]] = field(default_factory=dict)
    _tables: dict[Path, list[LoggedRun]] = field(default_factory=dict)
    _faults: dict[str, None] = field(default_factory=dict)

    def fault(self, place: str, text: str) -> None:
        """Note a fault."""
        self._faults[str(LogError(place, text))] = None

    def raise_if_any(self) -> None:
        """Tell all faults.

        Raises:
            SpecError: if there are any.
        """
        if self._faults:
            raise SpecError("\n".join(self._faults))

    # --- the manifest against the audit -----------------------------------------------------------

    def check_manifest(self) -> None:
        """Note what in the manifest's head does not fit the audit."""
        audit, manifest, placed = self.audit, self.manifest, self.placed
        slug = audit.paper.slug
        if manifest.paper not in (None, slug):
            self.fault(placed("paper"), f"found '{manifest.paper}'; expected '{slug}' or nothing.")
        if re.sub(r"[^a-z0-9]+", "", manifest.who.lower()) == OURS:
            self.fault(
                placed("who"),
                f"found '{manifest.who}', under which our own measurements stand; expected who "
                "made these.",
            )
        for name, value in manifest.settings.items():
            place = placed("settings", name)
            experiment, _, plain = name.rpartition(".")
            searched = [experiment] if experiment in audit.experiments else list(audit.experiments)
            known = {n: s for one in searched for n, s in audit.settings_of(one).items()}
            if experiment and experiment not in audit.experiments:
                hint = did_you_mean(experiment, audit.experiments)
                self.fault(place, f"found the unknown experiment '{experiment}'. {hint}")
            elif plain not in known:
                hint = did_you_mean(plain, known)
                self.fault(place, f"found the unknown setting '{plain}'. {hint}")
            elif not fits(value, known[plain].value):
                expected = f"{kind_of(known[plain].value)}, like {shown(known[plain].value)}"
                self.fault(place, f"found {shown(value)}; expected {expected}.")

    def refuse_role(self, run: Run, index: int, batches: Sequence[Batch]) -> None:
        """Note a run that belongs to no batch of the plan."""
        roles = [role_words(one) for one in batches if one.experiment == run.experiment]
        if roles:
            self.fault(
                self.placed("runs", index, "settings"),
                f"found settings that no arm of '{run.experiment}' has; expected "
                f"{' or '.join(roles)}. What differs in every run belongs under the manifest's own "
                "'settings'.",
            )
        else:
            hint = did_you_mean(run.experiment, self.audit.experiments)
            place = self.placed("runs", index, "experiment")
            self.fault(place, f"found the unknown experiment '{run.experiment}'. {hint}")

    def refuse_copies(self, which: str, records: Mapping[int, Record], place: str) -> None:
        """Note runs that equal another seed's where a third seed of theirs differs.

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
                self.fault(
                    place,
                    f"found the same numbers for seeds {some(list(map(str, others)))} as for seed "
                    f"{first} of {which}; expected runs of their own, since the other seeds "
                    "differ. Leave out what is a copy.",
                )

    def unread(self) -> Iterator[str]:
        """Yield sentences on rows and files beside the manifest that it does not name."""
        left = []
        for path, runs in self._tables.items():
            there = {run.seed for run in runs if run.seed is not None}
            if rest := sorted(there - self.taken[path]):
                where = path.relative_to(self.folder).as_posix()
                left.append(f"{where} (seeds {', '.join(map(str, rest))})")
        if left:
            yield f"Rows of seeds that the manifest does not name were not read: {some(left)}."
        unread = [
            one.relative_to(self.folder).as_posix()
            for one in sorted(self.folder.rglob("*"))
            if not one.is_dir() and one.name not in (*NAMES, PROTOCOL) and one not in self.taken
        ]
        if unread:
            yield f"Files beside the manifest that it does not name were not read: {some(unread)}."

    def absent(self, found: Collection[tuple[str, str]]) -> Iterator[str]:
        """Yield sentences on runs that the audit wants, and settings, that were not stated."""
        audit, tier = self.audit, self.manifest.tier
        every = [one for claim in audit.claims for one in claim_batches(audit, claim, tier)]
        for role, batch in dict.fromkeys((role, replace(batch, seeds=())) for role, batch in every):
            if _key(audit, batch) not in found:
                yield f"No runs of {role} {role_words(batch)}."
        unstated = [
            f"{experiment}.{name}"
            for experiment in sorted({one for one, _ in found})
            for name in audit.settings_of(experiment)
            if name not in self.manifest.settings_of(experiment)
        ]
        if unstated:
            yield f"Not stated, taken to be the audit's: {', '.join(unstated)}."

    # --- runs -------------------------------------------------------------------------------------

    def record(self, run: Run, index: int, seed: int) -> Record:
        """Return one seed of a run with its measurements that fit."""
        manifest, slug = self.manifest, self.audit.paper.slug
        stated = {**manifest.settings_of(run.experiment), **run.settings}
        settings = self.audit.values_of(run.experiment, manifest.tier, stated)
        declared = self.audit.measurements_of(run.experiment)
        diverged = run.status == "diverged"
        wanted = _Wanted(declared, settings, seed, len(run.seeds) == 1, diverged)
        measured = self._measured(run, index, wanted)
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
            tier=manifest.tier,
            experiment=run.experiment,
            settings=settings,
            seed=seed,
            status=CellStatus(run.status),
            error="as its manifest says" if diverged else None,
            proxy=manifest.proxy,
            fingerprint=hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:32],
            code="",
            environment=Environment(threads=None, packages={}, **UNSTATED),
            started=datetime.combine(manifest.date, time(), UTC),
            seconds=0.0,
            origin=origin,
            measurements=measured,
        )

    def _measured(self, run: Run, index: int, wanted: _Wanted) -> Measurements:
        """Return the measurements of one seed, out of all its files, that fit."""
        found: dict[str, Curve] = {}
        for number, written in enumerate(run.files):
            one = replace(wanted, alone=wanted.alone or "{seed}" in written)
            with self._gathered():
                path = self._path(written, one.seed, self.placed("runs", index, "files", number))
                place = path.relative_to(self.folder).as_posix()
                for name, curve in self._read(path, place, one).items():
                    here = f"{place}: {on_one_line(name, 80)}"
                    with self._gathered():
                        if name in found:
                            text = f"found it in {found[name].place}, too; expected once."
                            raise LogError(here, text)
                        found[name] = _fitted(name, replace(curve, place=here), one)
        measured = measurements_of(wanted.declared, found)
        if wanted.diverged:
            return measured.finite_part()
        for name, curve in found.items():
            if fault := misfit(name, wanted.declared[name], measured, wanted.settings):
                self.fault(curve.place, f"{fault}.")
        return measured

    @contextmanager
    def _gathered(self) -> Iterator[None]:
        """Note what is raised inside."""
        try:
            yield
        except LogError as error:
            self._faults[str(error)] = None

    def _path(self, written: str, seed: int, place: str) -> Path:
        """Return a file beside the manifest; nothing outside its folder is read."""
        try:
            path = (self.folder / written.replace("{seed}", str(seed))).resolve(strict=True)
            if path.is_relative_to(self.folder):
                return path
            reason = "outside of it"
        except (OSError, RuntimeError, ValueError) as error:  # absent, too long, a loop of links
            reason = getattr(error, "strerror", None) or "no path, or a loop of links"
        fault = f"found '{on_one_line(written, 80)}' ({reason}; seed {seed})"
        raise LogError(place, f"{fault}; expected a file inside the manifest's folder.")

    # --- files ------------------------------------------------------------------------------------

    def _read(self, path: Path, place: str, wanted: _Wanted) -> Mapping[str, Curve]:
        """Return the numbers of one seed in a file by name."""
        self.taken.setdefault(path, set()).add(wanted.seed)
        kind = path.suffix.lower()
        if kind == ".csv":
            if path not in self._tables:  # which is read once however many seeds it holds
                source = LogSource(path, place, axes=axes_of(self.audit), step="step")
                self._tables[path] = read_table(source, MOST_TEXT_BYTES)
            return _of_table(self._tables[path], place, wanted)
        if kind not in (".json", ".npz"):
            raise LogError(place, f"found '{kind}'; expected one of .csv, .json, .npz.")
        if not wanted.alone:
            text = (
                "found one file for several seeds; expected one for each, with {seed} in its name."
            )
            raise LogError(place, text)
        tree = (_json_arrays if kind == ".json" else _npz_arrays)(path, place)
        return {
            name: Curve(place, tree.get(f"{name}.steps", tree.get("steps")), values)
            for name, values in tree.items()
            if name != "steps" and not name.endswith(".steps")
        }


def _of_table(runs: Sequence[LoggedRun], place: str, wanted: _Wanted) -> dict[str, Curve]:
    by_seed = {run.seed: run for run in runs}
    if len(by_seed) < len(runs):
        text = "found several runs of one seed; expected a file for each, or no column of runs."
        raise LogError(f"{place}:1", text)
    if not wanted.alone and None in by_seed:
        raise LogError(
            f"{place}:1",
            "found one table for several seeds without a column 'seed'; expected the column, "
            "or {seed} in the file's name.",
        )
    run = by_seed.get(None, by_seed.get(wanted.seed))
    if run is None or not run.curves:
        raise LogError(place, f"found no number of seed {wanted.seed}; expected its rows.")
    found: dict[str, Curve] = {}
    for name, at in run.curves.items():
        declaration = _declared(name, f"{place}: {on_one_line(name, 80)}", wanted)
        quantity = LoggedQuantity(tag=name)
        measured = measure(run, wanted.settings, name, declaration, quantity)
        if measured is None or len(at) > math.prod(declaration.shape(wanted.settings)):
            axes = [
                f"{axis.name} {', '.join(map(str, axis.coordinates(wanted.settings)[:8]))}"
                for axis in declaration.axes
            ]
            raise LogError(
                f"{place}: {name}",
                "found numbers at other coordinates than the declared ones; expected "
                f"{'; '.join(axes) or 'none'}.",
            )
        found[name] = measured.curve
    return found


def _npz_arrays(path: Path, place: str) -> dict[str, NDArray[Any]]:
    data = read_log(path, place, MOST_ARRAY_BYTES)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = archive.infolist()
        size = sum(one.file_size for one in members)
        if size > MOST_ARRAY_BYTES:
            text = f"found {size:,} bytes unpacked; expected at most {MOST_ARRAY_BYTES:,}"
            raise ValueError(text)
        if len({one.filename for one in members}) < len(members):
            raise ValueError("an array stands twice in it")
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            found = {name: arrays[name] for name in arrays.files}
        for name, values in found.items():
            if not isinstance(values, np.ndarray) or values.dtype.kind not in "iuf":
                raise ValueError(f"'{name[:40]}' holds something else than numbers")
        with np.errstate(over="ignore"):  # of extended precision; told as not finite
            return {name: values.astype(np.float64) for name, values in found.items()}
    except Exception as error:  # what zipfile and NumPy raise over damaged files has no end
        reason = str(error) or type(error).__name__
        raise LogError(place, f"is no NPZ file of plain arrays: {reason}.") from None


def _json_arrays(path: Path, place: str) -> dict[str, NDArray[Any]]:
    tree = parse_json(read_log_text(path, place, MOST_TEXT_BYTES), place)
    if not isinstance(tree, dict):
        raise LogError(place, "found no object; expected measurements by name.")
    found: dict[str, NDArray[np.float64]] = {}
    for name, node in tree.items():
        here = f"{place}: {name}"
        if isinstance(node, dict):
            if set(node) != {"steps", "values"}:
                text = "found an object; expected lists 'steps' and 'values' of a series."
                raise LogError(here, text)
            found[f"{name}.steps"] = _numbers(node["steps"], here)
        found[name] = _numbers(node["values"] if isinstance(node, dict) else node, here)
    return found


def _numbers(node: Any, place: str) -> NDArray[np.float64]:
    try:
        array = np.array(node, dtype=object)
        if array.ndim > 32 or not set(map(type, array.flat)) <= {int, float}:
            raise ValueError  # truth values and text are no numbers
        return array.astype(np.float64)
    except (OverflowError, ValueError):
        text = "found something else than numbers, or lists of different lengths; expected numbers."
        raise LogError(place, text) from None


def _declared(name: str, place: str, wanted: _Wanted) -> Declaration:
    if name not in wanted.declared:
        hint = did_you_mean(on_one_line(name, 80), wanted.declared)
        raise LogError(place, f"found a measurement which the experiment does not declare. {hint}")
    return wanted.declared[name]


def _fitted(name: str, curve: Curve, wanted: _Wanted) -> Curve:
    """Return a measurement, once its steps, shape and numbers are as declared."""
    place, declaration = curve.place, _declared(name, curve.place, wanted)
    is_series = declaration.kind is MeasurementKind.SERIES
    steps = _whole_steps(curve) if is_series else None
    shape = declaration.shape(wanted.settings)
    expected = shape if steps is None else (len(steps), *shape)
    if curve.values.shape != expected:
        axes = [*(["step"] if is_series else []), *(axis.name for axis in declaration.axes)]
        words = " by ".join(axes) or "a single number"
        raise LogError(place, f"found shape {curve.values.shape}; expected {expected}: {words}.")
    if not wanted.diverged and not is_finite(curve.values).all():
        index = np.argwhere(~is_finite(curve.values))[0].tolist()
        raise LogError(
            place,
            f"found a number that is not finite, or too large, at {index}; expected finite ones. "
            "If the run diverged, write 'status: diverged'.",
        )
    return replace(curve, steps=steps)


def _whole_steps(curve: Curve) -> NDArray[np.int64]:
    """Return the steps of a series, once they are a row of whole numbers that increase."""
    steps = np.array(() if curve.steps is None else curve.steps, dtype=np.float64)
    if not steps.size:
        raise LogError(curve.place, "found no steps; expected a series over steps.")
    if steps.ndim != 1:
        text = f"found steps of {steps.ndim} dimensions; expected one dimension."
        raise LogError(curve.place, text)
    wrong = (steps != np.floor(steps)) | (np.abs(steps) > MAX_STEP)
    if wrong.any():
        text = f"found the step {steps[wrong][0]}; expected whole ones to 2^53."
        raise LogError(curve.place, text)
    refuse_disorder(steps.astype(np.int64), curve.place)
    return steps.astype(np.int64)
