"""From cells to jobs: every fault of an audit is found here, before anything runs."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from reproaudit.audit.paper_module import Module, one_line
from reproaudit.cell import Cell, RunForm, canonical_settings
from reproaudit.declarations import Declaration
from reproaudit.errors import SpecError, did_you_mean
from reproaudit.lab.settings import build_settings
from reproaudit.running.code import closure_of, fingerprint, versions
from reproaudit.running.store import Store

Declarations = Mapping[str, Mapping[str, Mapping[str, Declaration]]]
"""By paper and experiment, its measurements by name."""


@dataclass(frozen=True)
class Job:
    """A cell that is ready to run, as plain data that can be sent to a worker.

    Attributes:
        number: the caller's name for it.
        cell: the experiment, its settings and its seed.
        module: the paper's module.
        code: the digest of its code, as it was planned.
        versions: of what computes it, as they were planned.
        data: checksum of each data file, by name.
        proxy: what stands in for the paper's data or method, or None.
        phases: the steps of each phase.
        blocked: why it cannot be measured at all, for instance for want of its data.
        device: ``"cpu"`` or ``"cuda"``.
        form: how the experiment computes.
        declared: its measurements by name, to which it is held; None if to nothing.
        fingerprint: what identifies it, and names its record.
        partial: the folder for checkpoints.
    """

    number: int
    cell: Cell
    module: Module
    code: str
    versions: Mapping[str, str]
    data: Mapping[str, str]
    proxy: str | None
    phases: Mapping[str, int]
    blocked: str | None
    device: str
    form: RunForm
    declared: Mapping[str, Declaration] | None
    fingerprint: str = ""
    partial: Path = Path()


def plan_jobs(
    cells: Iterable[Cell],
    locate: Callable[[str], Module],
    store: Store,
    device: str,
    form: RunForm = "fast",
    declared: Declarations = MappingProxyType({}),
) -> list[Job]:
    """A job for each cell, in their order; a cell that is named twice has one.

    Raises:
        SpecError: naming every unknown experiment and ill-fitting setting.
    """
    papers: dict[str, _Paper] = {}
    jobs: dict[tuple[str, str, str], Job] = {}
    faults: dict[str, None] = {}
    with redirect_stdout(sys.stderr):  # what a paper's module prints is no output of ours
        for cell in cells:
            try:
                if cell.paper not in papers:
                    known = declared.get(cell.paper, {})
                    papers[cell.paper] = _Paper(locate(cell.paper), device, form, known)
                like = papers[cell.paper].job_like(cell)
            except SpecError as error:
                faults[f"{cell.paper}, experiment '{cell.experiment}': {error}"] = None
                continue
            name = fingerprint(cell, like.code, like.versions, like.data)
            partial = store.partial(cell, name).folder
            job = replace(like, number=len(jobs), cell=cell, fingerprint=name, partial=partial)
            jobs.setdefault((cell.paper, cell.tier, name), job)
    if faults:
        raise SpecError("\n".join(faults))
    return list(jobs.values())


class _Paper:
    """A paper's module and its code, looked at once for all of its cells."""

    def __init__(
        self,
        module: Module,
        device: str,
        form: RunForm,
        declared: Mapping[str, Mapping[str, Declaration]],
    ) -> None:
        self._module, self._device, self._form = module, device, form
        self._declared = declared
        self._experiments = module.load()
        self._code = closure_of(module)
        self._versions = versions(device, self._code.packages, form)
        self._prepared: dict[tuple[str, str], Job] = {}

    def job_like(self, cell: Cell) -> Job:
        """A job with what all cells of an experiment and of these settings share.

        Raises:
            SpecError: if the experiment is unknown, the settings do not fit it, or it has no plain
                form and that is asked for.
        """
        key = (cell.experiment, canonical_settings(cell.settings))
        if key not in self._prepared:
            self._prepared[key] = self._prepare(cell)
        return self._prepared[key]

    def _prepare(self, cell: Cell) -> Job:
        experiment = self._experiments.get(cell.experiment)
        if experiment is None:
            remedy = did_you_mean(cell.experiment, self._experiments)
            raise SpecError(f"the module has no such experiment. {remedy}".rstrip())
        if self._form == "plain" and not experiment.has_plain_form:
            raise SpecError("it has no plain form beside its own. Run it without --form plain.")
        try:
            settings = build_settings(experiment.settings, cell.settings)
        except SpecError as error:
            place = _place_of(experiment.settings, self._module.file)
            raise SpecError(f"the settings do not fit {place}: {error}") from error
        data: Mapping[str, str] = {}
        blocked = None
        try:
            data = dict(experiment.data(settings))
        except Exception as error:  # for instance a download that failed: this cell's failure
            blocked = one_line(error, self._module.file.resolve().parent)
        return Job(
            number=-1,
            cell=cell,
            module=self._module,
            code=self._code.digest,
            versions=self._versions,
            data=data,
            proxy=experiment.proxy(settings),
            phases=dict(experiment.phases(settings)),
            blocked=blocked,
            device=self._device,
            form=self._form,
            declared=self._declared.get(cell.experiment),
        )


def _place_of(kind: type, module: Path) -> str:
    """The place of the class of an experiment's settings; of one that was made, the module."""
    try:
        return f"{inspect.getsourcefile(kind)}:{inspect.getsourcelines(kind)[1]}"
    except (OSError, TypeError):
        return str(module)
