"""Commands as experiments: what a paper's module would define, made from a run file."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reproaudit import elsewhere
from reproaudit.audit.model import Audit
from reproaudit.cell import Scalar, SettingValue, canonical_settings
from reproaudit.declarations import Declaration
from reproaudit.elsewhere.training_length import stated_length
from reproaudit.errors import SpecError
from reproaudit.lab.experiment import Experiment, Session
from reproaudit.records import Measurements
from reproaudit.repositories.arguments import SEED, filled
from reproaudit.repositories.environments import Call, container_call, python_call
from reproaudit.repositories.measuring import measurements_in
from reproaudit.repositories.processes import CommandError, last_line, run_guarded
from reproaudit.repositories.reading import load_run_file
from reproaudit.repositories.run_file import CommandExperiment, RunFile
from reproaudit.repositories.sources import copy_source

PHASE = "command"
"""The one phase of a command: a command that was cut off starts again."""


def experiments_of(path: Path) -> Mapping[str, Experiment]:
    """The experiments of a run file.

    Raises:
        SpecError: listing every fault of the file.
    """
    run_file, audit = load_run_file(path)
    return {
        name: _experiment(run_file, one, audit, name, path.parent)
        for name, one in run_file.experiments.items()
    }


def run_file_digest(path: Path) -> str:
    """The digest of everything a run file computes, as 32 hexadecimal digits.

    It covers the pinned source, the environment, the commands, the mappings, the audit's
    declarations and our code that reads logs. Addresses, time-outs and comments change no number.

    Raises:
        SpecError: listing every fault of the file.
    """
    run_file, audit = load_run_file(path)
    whole = run_file.model_dump(mode="json", exclude={"source": True})
    for one in whole["experiments"].values():
        del one["timeout"]
    declared = {
        name: {
            key: one.model_dump(mode="json", include={"kind", "axes"})
            for key, one in audit.measurements_of(name).items()
        }
        for name in run_file.experiments
    }
    parts = [run_file.source.pin, whole, declared, _reading_code()]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]


def described(path: Path) -> str:
    """The commands that a run file will execute, on one line.

    Raises:
        SpecError: listing every fault of the file.
    """
    run_file, _ = load_run_file(path)
    commands = {" ".join(one.command) for one in run_file.experiments.values()}
    place = run_file.environment.image or run_file.environment.requirements
    where = f" in {place}" if place else ""
    return f"{'; '.join(sorted(commands))}{where}, from {run_file.source.words}"


def _reading_code() -> str:
    """A digest of our modules that run commands and read logs."""
    whole = hashlib.sha256()
    for folder in (Path(elsewhere.__file__).parent, Path(__file__).parent):
        for file in sorted(folder.glob("*.py")):
            whole.update(hashlib.sha256(file.read_bytes()).digest())
    return whole.hexdigest()


def _experiment(
    run_file: RunFile, command: CommandExperiment, audit: Audit, name: str, beside: Path
) -> Experiment:
    cell = _Command(run_file, command, audit.measurements_of(name), name, beside)
    kind: Any = bool | int | float | str | tuple[Scalar, ...]
    fields = [(setting, kind) for setting in audit.settings_of(name)]
    fixed = command.fixed

    def hold_fixed(settings: Any) -> None:
        """Refuses a value that the code does not have."""
        for setting, value in fixed.items():
            found = getattr(settings, setting)
            if canonical_settings({"": found}) != canonical_settings({"": value}):
                raise ValueError(
                    f"setting '{setting}' = {found!r}: the run file says that {value!r} is built "
                    "into the code"
                )

    settings = dataclasses.make_dataclass(
        "Settings", fields, frozen=True, namespace={"__post_init__": hold_fixed}
    )
    checksums = {"source": run_file.source.pin}
    if run_file.environment.image is not None:
        checksums["image"] = run_file.environment.image.rpartition("@")[2]

    def phases(chosen: Any) -> dict[str, int]:
        """The steps that the settings state; a command is seen to have made them by its logs."""
        return {PHASE: int(stated_length(audit, name, dataclasses.asdict(chosen)) or 1)}

    return Experiment(
        settings,
        cell.measure,
        phases=phases,
        data=lambda _settings: checksums,
    )


@dataclass(frozen=True)
class _Command:
    """The command of one experiment.

    Attributes:
        run_file: the whole file.
        command: what it says of the experiment.
        declared: the audit's measurements.
        name: the experiment.
        beside: the folder of the run file.
    """

    run_file: RunFile
    command: CommandExperiment
    declared: Mapping[str, Declaration]
    name: str
    beside: Path

    def measure(self, settings: Any, session: Session) -> dict[int, Measurements]:
        """Runs the command once for each seed.

        Raises:
            CommandError: if it fails, or what it wrote cannot be used; its output is kept.
        """
        values = {one.name: getattr(settings, one.name) for one in dataclasses.fields(settings)}
        found = {seed: self._run({**values, SEED: seed}, session) for seed in session.seeds}
        fewest = min(last_step for _, last_step in found.values())
        session.progress(PHASE, fewest, fewest)
        return {seed: measured for seed, (measured, _) in found.items()}

    def _run(self, values: dict[str, SettingValue], session: Session) -> tuple[Measurements, int]:
        """The measurements of one seed, and the last step of its logs."""

        def tell() -> None:
            session.progress(PHASE, 0, 0)  # how many steps it makes is known by its logs alone

        place = Path(tempfile.mkdtemp(prefix="reproaudit-")).resolve()
        try:
            copy, home, scratch = (place / one for one in ("source", "home", "scratch"))
            for one in (copy, home, scratch):
                one.mkdir()
            copy_source(self.run_file.source, self.beside, copy, tell)
            folder = copy / self.command.folder
            if not folder.is_dir() or folder.resolve() != folder:
                raise CommandError(f"the source has no folder '{self.command.folder}'")
            logs = [folder / one for one in self._files(values)]
            before = _states(logs)
            call = self._call(values, copy, home, tell)
            ended = run_guarded(
                call.argv,
                folder,
                call.variables,
                self.command.timeout,
                still_running=tell,
                then=call.then,
                remove=place,
            )
            kept = {
                "stdout": session.keep_output("stdout", ended.stdout),
                "stderr": session.keep_output("stderr", ended.stderr),
            }
            said = "stderr" if ended.stderr.strip() else "stdout"
            why = ended.words and f"the command {ended.words}"
            try:
                if not why:
                    _remove_unwritten(before, logs)
                    return self._measured(values, folder, scratch)
            except CommandError as error:
                why = str(error).rstrip(".")
            last = last_line(ended.stderr or ended.stdout)
            quoted = f": '{last}'" if last and ended.words else ""
            raise CommandError(f"{why}{quoted}. Its {said} is in {kept[said]}")
        finally:
            shutil.rmtree(place, ignore_errors=True)

    def _files(self, values: Mapping[str, SettingValue]) -> list[str]:
        """The files and folders that hold the logs, from the command's folder on."""
        return [filled(text, values, self.command.spelled) or "" for text in self.command.files]

    def _call(self, values: dict[str, SettingValue], copy: Path, home: Path, tell: Any) -> Call:
        spelled = self.command.spelled
        filled_in = [filled(text, values, spelled) for text in self.command.command]
        argv = [text for text in filled_in if text is not None]
        if not argv:
            raise SpecError("a command without any argument is left; expected a program")
        environment = self.run_file.environment
        if environment.image is not None:
            folder = self.command.folder
            return container_call(environment.image, argv, self.command.variables, copy, folder)
        return python_call(environment, argv, self.command.variables, copy, home, tell)

    def _measured(
        self, values: dict[str, SettingValue], folder: Path, scratch: Path
    ) -> tuple[Measurements, int]:
        files = self._files(values)
        seed = values.pop(SEED)
        assert isinstance(seed, int), "a seed is a whole number"
        return measurements_in(folder, files, self.command, self.declared, values, seed, scratch)


_States = dict[Path, tuple[int, int, int]]


def _states(logs: Sequence[Path]) -> _States:
    """The state of every file that is one of these, or lies in one: inode, size and last change."""
    several = (found for log in logs for found in ([log] if log.is_file() else log.rglob("*")))
    plain = (one for one in several if one.is_file() and not one.is_symlink())
    return {one: (s.st_ino, s.st_size, s.st_mtime_ns) for one in plain for s in [one.stat()]}


def _remove_unwritten(before: _States, logs: Sequence[Path]) -> None:
    """Removes from a working copy what lay there before the command, and is as it was.

    Logs that came with the source are no measurement of what the command did.
    """
    for path, state in _states(logs).items():
        if before.get(path) == state:
            path.unlink()
