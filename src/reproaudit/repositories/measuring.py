"""From the files that a command wrote to the measurements that the audit declares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

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
    for name in files:
        _refuse_foreign(folder, name)
    try:
        runs = find_runs([folder / one for one in files], axes, experiment.step, scratch).runs
        run = _one_run(runs, ", ".join(files), seed)
        is_whole = experiment.complete is not None
        measurer = RunMeasurer(run, settings, attested=is_whole, finite_only=False)
        found = {
            name: _measured(measurer, name, one, experiment.mapping.get(name))
            for name, one in declared.items()
        }
    except LogError as error:
        raise CommandError(str(error).replace(f"{folder}/", "")) from None
    for name, reasons in measurer.not_whole.items():
        raise CommandError(f"measurement '{name}' is not whole: {'; '.join(reasons)}")
    curves = [curve for tag in measurer.used for curve in run.curves[tag].values()]
    ends = [int(one.steps.max()) for one in curves if one.steps is not None and len(one.steps)]
    return _as_measurements(found, declared), max(ends, default=0)


def _refuse_foreign(folder: Path, name: str) -> None:
    """Refuses a file that is not there, or to which a link leads."""
    place = folder / name
    if any(one.is_symlink() for one in (place, *place.parents) if one.is_relative_to(folder)):
        raise CommandError(f"the command made '{name}' a link; expected a file of the working copy")
    if not place.exists():
        raise CommandError(f"the command wrote no '{name}'; expected it. See 'files'.")


def _one_run(runs: Sequence[LoggedRun], place: str, seed: int) -> LoggedRun:
    """All that the files hold, as one run.

    Raises:
        LogError: if they hold another seed, or a tag twice.
    """
    curves: dict[str, dict[LoggedCoordinates, Curve]] = {}
    config: dict[str, object] = {}
    for run in runs:
        stated: dict[str, float | None] = {"its table": run.seed}
        for name, value in run.config.items():
            if normal(name.rpartition(".")[2]) in SEED_NAMES:
                stated[f"its configuration ({name})"] = number_of(value)
        for where, other in stated.items():
            if other is not None and other != seed:
                raise LogError(place, f"found the seed {other:g} in {where}; expected {seed}.")
        config.update(run.config)
        for tag, by_coordinates in run.curves.items():
            if curves.setdefault(tag, {}).keys() & by_coordinates.keys():
                raise LogError(place, f"found '{tag}' in two logs; expected it once.")
            curves[tag].update(by_coordinates)
    not_whole = tuple(reason for run in runs for reason in run.not_whole)
    return replace(runs[0], name=place, curves=curves, config=config, not_whole=not_whole)


def _measured(
    measurer: RunMeasurer, name: str, declaration: Declaration, quantity: LoggedQuantity | None
) -> Measured:
    wanted = quantity or LoggedQuantity(tag=name)
    measured = measurer.measure(name, declaration, wanted)
    if measured is None:
        raise LogError(
            f"measurement '{name}'",
            f"found no logged '{wanted.tag or wanted.expression}'; expected it. "
            f"{did_you_mean(wanted.tag or '', sorted(measurer.run.curves))}",
        )
    return measured


def _as_measurements(
    found: Mapping[str, Measured], declared: Mapping[str, Declaration]
) -> Measurements:
    scalars, series, arrays = {}, {}, {}
    for name, one in found.items():
        match declared[name].kind:
            case MeasurementKind.SCALAR:
                scalars[name] = float(one.values)
            case MeasurementKind.SERIES:
                series[name] = Series(steps=one.steps or (), values=one.values)
            case MeasurementKind.ARRAY:
                arrays[name] = one.values
    return Measurements(scalars=scalars, series=series, arrays=arrays)
