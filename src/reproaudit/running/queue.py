"""The queue of cells to run: every fault of an audit is found here, before anything runs."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from reproaudit.audit.paper_module import Module, one_line
from reproaudit.cell import Cell, RunForm, canonical_settings
from reproaudit.errors import SpecError, StoreError, did_you_mean
from reproaudit.lab.experiment import Experiment
from reproaudit.lab.settings import build_settings
from reproaudit.running.code import CodeClosure, closure_of
from reproaudit.running.fingerprint import fingerprint, versions
from reproaudit.running.groups import TierKey
from reproaudit.running.store import Store


@dataclass(frozen=True)
class QueuedCell:
    """A cell that is ready to run."""

    cell: Cell
    fingerprint: str
    code: str
    versions: Mapping[str, str]
    data: Mapping[str, str]
    proxy: str | None
    phases: Mapping[str, int]
    together: bool
    blocked: str | None


@dataclass(frozen=True)
class _Prepared:
    """The properties that all cells of one experiment and one set of settings share."""

    data: Mapping[str, str]
    proxy: str | None
    phases: Mapping[str, int]
    together: bool
    blocked: str | None


class _Paper:
    """A paper's module and its code, looked at once per run."""

    def __init__(self, module: Module, device: str, form: RunForm) -> None:
        self.module = module
        self._device, self._form = device, form
        self._prepared: dict[tuple[str, str], _Prepared] = {}

    @cached_property
    def closure(self) -> CodeClosure:
        return closure_of(self.module)

    @cached_property
    def versions(self) -> dict[str, str]:
        return versions(self._device, self.closure.packages, self._form)

    @cached_property
    def experiments(self) -> Mapping[str, Experiment]:
        return self.module.load()

    def prepare(self, cell: Cell) -> _Prepared:
        """Checks a cell's experiment and settings.

        Raises:
            SpecError: if the experiment is unknown, the settings do not fit it, or it has no plain
                form and that is asked for.
        """
        key = (cell.experiment, canonical_settings(cell.settings))
        if key not in self._prepared:
            self._prepared[key] = self._prepare(cell)
        return self._prepared[key]

    def _prepare(self, cell: Cell) -> _Prepared:
        experiment = self.experiments.get(cell.experiment)
        if experiment is None:
            remedy = did_you_mean(cell.experiment, self.experiments)
            raise SpecError(f"the module has no such experiment. {remedy}".rstrip())
        if self._form == "plain" and not experiment.has_plain_form:
            raise SpecError("it has no plain form beside its own. Run it without --form plain.")
        try:
            settings = build_settings(experiment.settings, cell.settings)
        except SpecError as error:
            place = _place_of(experiment.settings, self.module.file)
            raise SpecError(f"the settings do not fit {place}: {error}") from error
        data: Mapping[str, str] = {}
        blocked = None
        try:
            data = dict(experiment.data(settings))
        except Exception as error:  # for instance a download that failed: this cell's failure
            blocked = one_line(error, self.module.file.resolve().parent)
        return _Prepared(
            data=data,
            proxy=experiment.proxy(settings),
            phases=dict(experiment.phases(settings)),
            together=self._device in experiment.seeds_together,
            blocked=blocked,
        )


def _place_of(kind: type, module: Path) -> str:
    """The place of the class of an experiment's settings; of one that was made, the module."""
    try:
        return f"{inspect.getsourcefile(kind)}:{inspect.getsourcelines(kind)[1]}"
    except (OSError, TypeError):
        return str(module)


class Plan:
    """The cells that have a record, and those that are to run, in groups of one job each."""

    def __init__(
        self,
        cells: Iterable[Cell],
        locate: Callable[[str], Module],
        store: Store,
        device: str,
        form: RunForm = "fast",
    ) -> None:
        self._locate = locate
        self._device, self._form = device, form
        self._store = store
        self.papers: dict[str, _Paper] = {}
        self.tasks: list[QueuedCell] = []
        with redirect_stdout(sys.stderr):  # what a paper's module prints is no output of ours
            self._plan(cells)

    def _plan(self, cells: Iterable[Cell]) -> None:
        faults: dict[str, None] = {}
        seen: set[tuple[str, str, str]] = set()
        for cell in cells:
            try:
                task = self._task(cell)
            except SpecError as error:
                faults[f"{cell.paper}, experiment '{cell.experiment}': {error}"] = None
                continue
            identity = (cell.paper, cell.tier, task.fingerprint)
            if identity not in seen:
                seen.add(identity)
                self.tasks.append(task)
        if faults:
            raise SpecError("\n".join(faults))

    def _task(self, cell: Cell) -> QueuedCell:
        if cell.paper not in self.papers:
            self.papers[cell.paper] = _Paper(self._locate(cell.paper), self._device, self._form)
        paper = self.papers[cell.paper]
        shared = paper.prepare(cell)
        return QueuedCell(
            cell=cell,
            fingerprint=fingerprint(cell, paper.closure.digest, paper.versions, shared.data),
            code=paper.closure.digest,
            versions=paper.versions,
            data=shared.data,
            proxy=shared.proxy,
            phases=shared.phases,
            together=shared.together,
            blocked=shared.blocked,
        )

    @property
    def fingerprints(self) -> dict[str, dict[TierKey, str]]:
        """By paper, tier and cell: the fingerprint under which its record is kept."""
        found: dict[str, dict[TierKey, str]] = {}
        for task in self.tasks:
            cell = task.cell
            found.setdefault(cell.paper, {})[cell.tier, cell.key] = task.fingerprint
        return found

    def pending(self, fresh: bool) -> list[tuple[QueuedCell, ...]]:
        """The cells without a readable record, grouped into jobs."""
        groups: dict[object, list[QueuedCell]] = {}
        for number, task in enumerate(self.tasks):
            if fresh or not _is_present(self._store, task):
                cell = task.cell
                settings = canonical_settings(cell.settings)
                shared = (cell.paper, cell.tier, cell.experiment, settings)
                groups.setdefault(shared if task.together else number, []).append(task)
        return [tuple(group) for group in groups.values()]


def _is_present(store: Store, task: QueuedCell) -> bool:
    try:
        if store.find(task.cell, task.fingerprint) is None:
            return False
    except StoreError:
        return False  # looked at again, and moved aside, under the cell's lock
    store.enlist(store.path(task.cell, task.fingerprint))
    return True
