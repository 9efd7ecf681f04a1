"""From the files that a command wrote to the measurements that the audit declares."""

from __future__ import annotations

import stat
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

from reproaudit.cell import SettingValue
from reproaudit.declarations import Declaration, MeasurementKind
from reproaudit.elsewhere.configurations import SEED_NAMES, normal
from reproaudit.elsewhere.finding import find_runs
from reproaudit.elsewhere.logged import Curve, LogError, LoggedCoordinates, LoggedRun, number_of
from reproaudit.elsewhere.mapping import LoggedQuantity
from reproaudit.elsewhere.measuring import Measured, RunMeasurer
from reproaudit.errors import did_you_mean
from reproaudit.records import Measurements, Series
from reproaudit.repositories.processes import CommandError
from reproaudit.repositories.run_file import CommandExperiment


def measurements_in(
    folder: Path,
    files: Sequence[str],
    experiment: CommandExperiment,
    declared: Mapping[str, Declaration],
    settings: Mapping[str, SettingValue],
    seed: int,
    scratch: Path,
) -> tuple[Measurements, int]:
    """The declared measurements of one cell, and the last step of the curves that they are from.

    Numbers that are not finite are left as they are. Curves without steps have the last step 0.

    Args:
        folder: the command's working folder.
        files: the files and folders in it that hold the logs.
        experiment: what the run file says.
        declared: the audit's declarations of the experiment, by name.
        settings: the cell's settings.
        seed: the cell's seed.
        scratch: a folder for what archives hold.

    Raises:
        CommandError: if a file is missing, leads out of the working copy or cannot be read, or a
            measurement is missing or not whole.
    """
    axes = frozenset(axis.name for one in declared.values() for axis in one.axes)
    paths = [_own_file(folder, one) for one in files]
    try:
        runs = find_runs(paths, axes, experiment.step, scratch).runs
        run = _one_run(runs, files, seed)
        attested = experiment.complete is not None
        measurer = RunMeasurer(run, settings, attested=attested, finite_only=False)
        found = {
            name: _measured(measurer, name, one, experiment.mapping.get(name))
            for name, one in declared.items()
        }
    except LogError as error:
        raise CommandError(str(error).replace(f"{folder}/", "")) from None
    for name, reasons in measurer.not_whole.items():
        raise CommandError(f"measurement '{name}' is not whole: {'; '.join(reasons)}")
    return _as_measurements(found, declared), _last_step(run, measurer.used)


def _last_step(run: LoggedRun, tags: Collection[str]) -> int:
    curves = (curve for tag in tags for curve in run.curves[tag].values())
    steps = (curve.steps for curve in curves if curve.steps is not None and len(curve.steps))
    return max((int(one.max()) for one in steps), default=0)


def _own_file(folder: Path, name: str) -> Path:
    """A file or folder that the command wrote, below its working folder; no link leads there."""
    place = folder
    for part in PurePosixPath(name).parts:
        place = place / part
        try:
            mode = place.lstat().st_mode
        except OSError:
            raise CommandError(
                f"the command wrote no '{name}'; expected it. See 'files'."
            ) from None
        if stat.S_ISLNK(mode):
            raise CommandError(
                f"the command made '{name}' a link; expected a file of the working copy"
            )
    return place


def _one_run(runs: Sequence[LoggedRun], files: Sequence[str], seed: int) -> LoggedRun:
    """All that the files hold, as one run.

    Raises:
        LogError: if they hold another seed, or a tag twice.
    """
    curves: dict[str, dict[LoggedCoordinates, Curve]] = {}
    config: dict[str, object] = {}
    place = ", ".join(files)
    for run in runs:
        stated: dict[str, float | None] = {"its table": run.seed} if run.seed is not None else {}
        for name, value in run.config.items():
            if normal(name.rpartition(".")[2]) in SEED_NAMES and number_of(value) is not None:
                stated[f"its configuration ({name})"] = number_of(value)
        for where, other in stated.items():
            if other != seed:
                raise LogError(place, f"found the seed {other:g} in {where}; expected {seed}.")
        config.update(run.config)
        for tag, by_coordinates in run.curves.items():
            for at, curve in by_coordinates.items():
                if at in curves.setdefault(tag, {}):
                    raise LogError(place, f"found '{tag}' in two logs; expected it once.")
                curves[tag][at] = curve
    not_whole = [reason for run in runs for reason in run.not_whole]
    return replace(runs[0], name=place, curves=curves, config=config, not_whole=tuple(not_whole))


def _measured(
    measurer: RunMeasurer, name: str, declaration: Declaration, quantity: LoggedQuantity | None
) -> Measured:
    wanted = quantity or LoggedQuantity(tag=name)
    measured = measurer.measure(name, declaration, wanted)
    if measured is None:
        tags = sorted(measurer.run.curves)
        raise LogError(
            f"measurement '{name}'",
            f"found no logged '{wanted.tag or wanted.expression}'; expected it. "
            f"{did_you_mean(wanted.tag or '', tags)}",
        )
    return measured


def _as_measurements(
    found: Mapping[str, Measured], declared: Mapping[str, Declaration]
) -> Measurements:
    kinds = {name: one.kind for name, one in declared.items()}
    return Measurements(
        scalars={
            n: float(m.values) for n, m in found.items() if kinds[n] is MeasurementKind.SCALAR
        },
        series={
            name: Series(steps=measured.steps or (), values=measured.values)
            for name, measured in found.items()
            if kinds[name] is MeasurementKind.SERIES
        },
        arrays={n: m.values for n, m in found.items() if kinds[n] is MeasurementKind.ARRAY},
    )
