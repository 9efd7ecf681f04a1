"""Commands as experiments: what a paper's module would define, made from a run file."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from reproaudit.audit.model import Audit
from reproaudit.cell import Scalar, SettingValue, canonical_settings
from reproaudit.errors import SpecError, did_you_mean
from reproaudit.files import scratch_folder
from reproaudit.intake.measuring import measure, measurements_of, stated_length
from reproaudit.lab.experiment import Experiment, Session
from reproaudit.logs.asked import Asked, Columns
from reproaudit.logs.configurations import seeds_in
from reproaudit.logs.finding import find_runs
from reproaudit.logs.logged import Curve, LogError, LoggedCoordinates, LoggedRun, number_of
from reproaudit.logs.mapping import LoggedQuantity
from reproaudit.records import Measurements
from reproaudit.repositories.environments import copy_source, in_container, in_python
from reproaudit.repositories.processes import Call, CommandError, StillRunning, run_guarded
from reproaudit.repositories.run_file import SEED, RunFile, filled, load_run_file

PHASE = "command"  # The one phase of a command: a command that was cut off starts again


def experiments_of(path: Path) -> Mapping[str, Experiment]:
    """Return the experiments of a run file, or raise a SpecError that lists all its faults."""
    run_file, audit = load_run_file(path)
    names = run_file.experiments
    return {name: _Command(run_file, audit, name, path.parent).experiment() for name in names}


class _Command:
    """One experiment of a run file, which lies in a folder, and its audit."""

    def __init__(self, run_file: RunFile, audit: Audit, name: str, folder: Path) -> None:
        self.run_file = run_file
        self.audit = audit
        self.name = name
        self.folder = folder
        self.stated = run_file.experiments[name]
        self.declared = audit.measurements_of(name)

    def experiment(self) -> Experiment:
        value_type: Any = bool | int | float | str | tuple[Scalar, ...]
        settings = dataclasses.make_dataclass(
            "Settings",
            [(name, value_type) for name in self.audit.settings_of(self.name)],
            frozen=True,
            namespace={"__post_init__": lambda settings: self.hold_fixed(settings)},
        )
        checksums = {"source": self.run_file.source.pin}
        if self.run_file.environment.image is not None:
            checksums["image"] = self.run_file.environment.image.rpartition("@")[2]
        return Experiment(settings, self.measure, phases=self.phases, data=lambda _: checksums)

    def hold_fixed(self, settings: Any) -> None:
        for name, value in self.stated.fixed.items():
            own = getattr(settings, name)
            if canonical_settings({"": own}) != canonical_settings({"": value}):
                text = f"setting '{name}' = {own!r}: the run file says that {value!r}"
                raise ValueError(f"{text} is built into the code")

    def phases(self, settings: Any) -> dict[str, int]:
        """Return the steps that the settings state; only the logs show whether they were made."""
        stated = stated_length(self.audit, self.name, dataclasses.asdict(settings))
        return {PHASE: int(stated or 1)}

    def measure(self, settings: Any, session: Session) -> Measurements:
        """Run the command with the session's seed; a CommandError says where its output is."""
        with scratch_folder() as scratch:
            values = {**dataclasses.asdict(settings), SEED: session.seed}
            measured, last_step = self._measured(values, session, scratch.resolve())
        session.progress(PHASE, last_step, last_step)
        return measured

    def _measured(
        self, values: Mapping[str, SettingValue], session: Session, scratch: Path
    ) -> tuple[Measurements, int]:
        """Return what one call measures in an empty folder, and the last step of its logs."""

        def tell() -> None:
            session.progress(PHASE, 0, 0)  # how many steps it makes is known by its logs alone

        call = self._call(values, scratch, tell)
        began = scratch / "began"
        began.touch()
        ended = run_guarded(call, tell)
        printed = {"stdout": ended.stdout, "stderr": ended.stderr}
        kept = {name: session.keep_output(name, text) for name, text in printed.items()}
        try:
            if ended.fault:
                last = ended.last_line()
                raise CommandError(f"the command {ended.fault}" + (f": '{last}'" if last else ""))
            files = self._filled(self.stated.files, values)
            for name in files:
                _refuse_foreign(call.folder, name, began.stat().st_ctime_ns)
            return self._read([call.folder / name for name in files], values, scratch)
        except (CommandError, LogError) as error:
            name = "stderr" if ended.stderr.strip() else "stdout"
            why = str(error).replace(f"{call.folder}/", "").rstrip(".")
            raise CommandError(f"{why}. Its {name} is in {kept[name]}") from None

    def _call(
        self, values: Mapping[str, SettingValue], scratch: Path, still_running: StillRunning
    ) -> Call:
        copy = scratch / "source"
        home = scratch / "home"
        environment = self.run_file.environment
        copy.mkdir()
        home.mkdir()
        copy_source(self.run_file.source, self.folder, copy, still_running)
        folder = copy / self.stated.folder
        if not folder.is_dir() or folder.resolve() != folder:
            raise CommandError(f"the source has no folder '{self.stated.folder}'")
        argv = self._filled(self.stated.command, values)
        if not argv:
            raise SpecError("a command without any argument is left; expected a program")
        call = Call(argv, folder, self.stated.variables, self.stated.timeout)
        if environment.image is not None:
            return in_container(call, environment.image, copy)
        return in_python(call, environment, copy, home, still_running)

    def _filled(self, texts: Sequence[str], values: Mapping[str, SettingValue]) -> tuple[str, ...]:
        words = [filled(text, values, self.stated.spelled) for text in texts]
        return tuple(text for text in words if text is not None)

    def _read(
        self, logs: Sequence[Path], values: Mapping[str, SettingValue], scratch: Path
    ) -> tuple[Measurements, int]:
        """Return the declared measurements, and the last step of their curves, 0 without steps."""
        axes = frozenset(axis.name for each in self.declared.values() for axis in each.axes)
        tags_named = [quantity.tags for quantity in self.stated.mapping.values()]
        asked = Asked(
            axes=axes,
            wanted=frozenset(self.declared).union(*tags_named),
            columns=Columns(step=self.stated.step),
            plain=True,
        )
        runs, _ = find_runs(logs, asked, scratch)
        run = _joined(runs, values[SEED])
        by_name: dict[str, Curve] = {}
        tags: set[str] = set()
        for name, declaration in self.declared.items():
            quantity = self.stated.mapping.get(name) or LoggedQuantity(tag=name)
            measured = measure(run, values, name, declaration, quantity)
            if measured is None:
                hint = did_you_mean(quantity.formula, sorted(run.curves))
                text = f"found no logged '{quantity.formula}'; expected it. {hint}"
                raise LogError(f"measurement '{name}'", text)
            if np.ma.is_masked(measured.curve.values):
                text = "found empty cells at some coordinates; expected numbers."
                raise LogError(f"measurement '{name}'", text)
            stopped = (run.stopped,) if run.stopped else ()
            gaps = () if self.stated.complete else stopped or measured.gaps
            if reasons := run.not_whole or gaps:
                raise CommandError(f"measurement '{name}' is not whole: {'; '.join(reasons)}")
            by_name[name] = measured.curve
            tags |= measured.tags
        return measurements_of(self.declared, by_name), run.last_step(tags)


def _refuse_foreign(folder: Path, name: str, began: int) -> None:
    """Refuse a link or an absent file, and remove what was there before the command began."""
    written = folder / name
    above = (path for path in (written, *written.parents) if path.is_relative_to(folder))
    if any(path.is_symlink() for path in above):
        raise CommandError(f"the command made '{name}' a link; expected a file of the working copy")
    for path in (written, *written.rglob("*")):
        if path.is_file() and not path.is_symlink() and path.stat().st_ctime_ns <= began:
            path.unlink()
    if not written.exists():
        raise CommandError(f"the command wrote no '{name}'; expected it. See 'files'.")


def _joined(runs: Sequence[LoggedRun], seed: SettingValue) -> LoggedRun:
    """Return all that the logs hold as one run; refuse another seed, and a tag in two logs."""
    place = ", ".join(run.name for run in runs)
    curves: dict[str, dict[LoggedCoordinates, Curve]] = {}
    config: dict[str, object] = {}
    for run in runs:
        stated: dict[str, float | None] = {"its table": run.seed}
        for name, value in seeds_in(run.config):
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
    return dataclasses.replace(
        runs[0], name=place, curves=curves, config=config, not_whole=not_whole
    )
