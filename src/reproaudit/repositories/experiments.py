"""Commands as experiments: what a paper's module would define, made from a run file."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reproaudit import elsewhere
from reproaudit.audit.model import Audit
from reproaudit.cell import Scalar, SettingValue, canonical_settings
from reproaudit.declarations import Declaration
from reproaudit.elsewhere.scope import stated_length
from reproaudit.errors import SpecError
from reproaudit.lab.experiment import Experiment, Session
from reproaudit.records import Measurements
from reproaudit.repositories.environments import Call, container_call, python_call
from reproaudit.repositories.measuring import measurements_in
from reproaudit.repositories.processes import CommandError, last_line, run_guarded
from reproaudit.repositories.reading import load_run_file
from reproaudit.repositories.run_file import SEED, CommandExperiment, RunFile, filled
from reproaudit.repositories.sources import copy_source

PHASE = "command"
"""The one phase of a command: a command that was cut off starts again."""


def experiments_of(path: Path) -> Mapping[str, Experiment]:
    """The experiments of a run file.

    Raises:
        SpecError: listing every fault of the file.
    """
    run_file, audit = load_run_file(path)
    return {name: _experiment(run_file, audit, name, path.parent) for name in run_file.experiments}


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
    ours = [
        hashlib.sha256(file.read_bytes()).hexdigest()
        for folder in (Path(elsewhere.__file__).parent, Path(__file__).parent)
        for file in sorted(folder.glob("*.py"))
    ]
    parts = [run_file.source.pin, whole, declared, ours]
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


def _experiment(run_file: RunFile, audit: Audit, name: str, beside: Path) -> Experiment:
    command = run_file.experiments[name]
    declared = audit.measurements_of(name)
    kind: Any = bool | int | float | str | tuple[Scalar, ...]
    fields = [(setting, kind) for setting in audit.settings_of(name)]

    def hold_fixed(settings: Any) -> None:
        """Refuses a value that the code does not have."""
        for setting, value in command.fixed.items():
            found = getattr(settings, setting)
            if canonical_settings({"": found}) != canonical_settings({"": value}):
                raise ValueError(
                    f"setting '{setting}' = {found!r}: the run file says that {value!r} is built "
                    "into the code"
                )

    def measure(settings: Any, session: Session) -> dict[int, Measurements]:
        """Runs the command once for each seed."""
        found = {}
        for seed in session.seeds:
            with tempfile.TemporaryDirectory(
                prefix="reproaudit-", ignore_cleanup_errors=True
            ) as place:
                cell = _Cell(run_file, command, dataclasses.asdict(settings), seed, session)
                found[seed] = cell.measure(beside, Path(place).resolve(), declared)
        fewest = min(last_step for _, last_step in found.values())
        session.progress(PHASE, fewest, fewest)
        return {seed: measured for seed, (measured, _) in found.items()}

    def phases(settings: Any) -> dict[str, int]:
        """The steps that the settings state; a command is seen to have made them by its logs."""
        return {PHASE: int(stated_length(audit, name, dataclasses.asdict(settings)) or 1)}

    checksums = {"source": run_file.source.pin}
    if run_file.environment.image is not None:
        checksums["image"] = run_file.environment.image.rpartition("@")[2]
    settings = dataclasses.make_dataclass(
        "Settings", fields, frozen=True, namespace={"__post_init__": hold_fixed}
    )
    return Experiment(settings, measure, phases=phases, data=lambda _settings: checksums)


@dataclass(frozen=True)
class _Cell:
    """One call of a command.

    Attributes:
        run_file: the whole file.
        command: what it says of the experiment.
        settings: the settings.
        seed: the seed.
        session: what is told that the command runs, and keeps its output.
    """

    run_file: RunFile
    command: CommandExperiment
    settings: Mapping[str, SettingValue]
    seed: int
    session: Session

    def measure(
        self, beside: Path, place: Path, declared: Mapping[str, Declaration]
    ) -> tuple[Measurements, int]:
        """The measurements, and the last step of the logs.

        Args:
            beside: the folder of the run file.
            place: an empty folder.
            declared: the audit's measurements.

        Raises:
            CommandError: if it fails, or what it wrote cannot be used; its output is kept.
        """
        copy, home, scratch = (place / one for one in ("source", "home", "scratch"))
        for one in (copy, home, scratch):
            one.mkdir()
        copy_source(self.run_file.source, beside, copy, self._tell)
        folder = copy / self.command.folder
        if not folder.is_dir() or folder.resolve() != folder:
            raise CommandError(f"the source has no folder '{self.command.folder}'")
        call = self._call(copy, home)
        began = place / "began"
        began.touch()
        ended = run_guarded(
            call.argv,
            folder,
            call.variables,
            self.command.timeout,
            still_running=self._tell,
            then=call.then,
            remove=place,
        )
        printed = {"stdout": ended.stdout, "stderr": ended.stderr}
        kept = {name: self.session.keep_output(name, text) for name, text in printed.items()}
        try:
            if ended.words:
                last = last_line(ended.stderr or ended.stdout)
                raise CommandError(f"the command {ended.words}" + (f": '{last}'" if last else ""))
            files = self._filled(self.command.files)
            _remove_older([folder / one for one in files], began.stat().st_ctime_ns)
            return measurements_in(
                folder, files, self.command, declared, self.settings, self.seed, scratch
            )
        except CommandError as error:
            name = "stderr" if ended.stderr.strip() else "stdout"
            why = str(error).rstrip(".")
            raise CommandError(f"{why}. Its {name} is in {kept[name]}") from None

    def _tell(self) -> None:
        self.session.progress(PHASE, 0, 0)  # how many steps it makes is known by its logs alone

    def _filled(self, texts: Sequence[str]) -> list[str]:
        values = {**self.settings, SEED: self.seed}
        found = [filled(text, values, self.command.spelled) for text in texts]
        return [text for text in found if text is not None]

    def _call(self, copy: Path, home: Path) -> Call:
        argv = self._filled(self.command.command)
        if not argv:
            raise SpecError("a command without any argument is left; expected a program")
        environment, variables = self.run_file.environment, self.command.variables
        if environment.image is not None:
            return container_call(environment.image, argv, variables, copy, self.command.folder)
        return python_call(environment, argv, variables, copy, home, self._tell)


def _remove_older(logs: Sequence[Path], began: int) -> None:
    """Removes logs that came with the source, which are no measurement of what the command did."""
    for path in [found for log in logs for found in (log, *log.rglob("*"))]:
        if path.is_file() and not path.is_symlink() and path.stat().st_ctime_ns <= began:
            path.unlink()
