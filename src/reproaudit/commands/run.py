"""`reproaudit run`: runs the cells of a tier, or custom ones, with live progress."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import yaml

from reproaudit import results
from reproaudit.audit.catalog import Catalog, Entry
from reproaudit.audit.model import Audit, TierName
from reproaudit.audit.seeds import seeds_of, stored_tier
from reproaudit.cell import Cell, RunForm, SettingValue, canonical_settings
from reproaudit.commands.answers import cells_of_tier, scorecard_of_store
from reproaudit.commands.output import print_json, say
from reproaudit.commands.progress import Roles, live_progress, parts_of
from reproaudit.errors import TechnicalError, UsageError, did_you_mean
from reproaudit.lab import DATA_VARIABLE
from reproaudit.records import Record
from reproaudit.report.export.records import CUSTOM
from reproaudit.report.model import Scorecard
from reproaudit.running.cores import available_cores
from reproaudit.running.devices import pick_device
from reproaudit.running.events import MayStart, Summary
from reproaudit.running.executors import NO_LIMITS, Executor, Limits
from reproaudit.running.run import run_cells
from reproaudit.running.store import Store

Papers = Sequence[tuple[Entry, Audit]]


def read_data_from(folder: Path | None) -> None:
    """Lets papers look for data in a folder, here and in the processes started from here.

    Args:
        folder: None leaves the variable as it is.

    Raises:
        UsageError: if it is no folder.
    """
    if folder is None:
        return
    if not folder.is_dir():
        raise UsageError(f"--data-dir: {folder} is no folder. Name one that holds the data files.")
    os.environ[DATA_VARIABLE] = str(folder.resolve())


@dataclass(frozen=True)
class How:
    """The place and manner in which cells are run.

    Attributes:
        catalog: where the papers' modules are found.
        store: where records are kept.
        device: auto, cpu or cuda.
        jobs: how many cells at once; None for one on each core, and one at a time on a card.
        fresh: whether to measure again what has a record.
        dask: the address of a Dask scheduler whose workers compute the cells; None for here.
        dask_tls: the folder of the certificates with which the scheduler is spoken to.
        limits: what a cell may take before it counts as failed.
        verbose: whether to print the traceback of a cell that failed.
        form: how the experiments compute; the plain form runs on the processor.
    """

    catalog: Catalog
    store: Store
    device: str
    jobs: int | None
    fresh: bool
    dask: str | None = None
    dask_tls: Path | None = None
    limits: Limits = NO_LIMITS
    verbose: bool = False
    form: RunForm = "fast"

    @property
    def at_once(self) -> int:
        """The number of cells that run at once here."""
        if self.jobs is not None:
            return self.jobs
        return available_cores() if self.chosen_device == "cpu" else 1

    @property
    def chosen_device(self) -> str:
        """cpu or cuda; of a cluster, whose machines this one cannot look at, auto is cpu."""
        if self.form == "plain":
            if self.device not in ("auto", "cpu"):
                raise UsageError(f"--device {self.device}: the plain form runs on the cpu.")
            return "cpu"
        if self.dask is None:
            return pick_device(self.device)
        if self.device not in ("auto", "cpu", "cuda"):
            raise UsageError(f"unknown device '{self.device}'. Use auto, cpu or cuda.")
        return "cuda" if self.device == "cuda" else "cpu"

    def executor(self) -> Executor | None:
        """The executor that computes the cells; None for this machine's own processes."""
        if self.dask is None:
            if self.dask_tls is not None:
                raise UsageError("--dask-tls: there is no --dask whose connection it would secure.")
            return None
        from reproaudit.running.dask_cluster import DaskCluster, is_open

        if is_open(self.dask):
            say(
                f"warning: --dask {self.dask}: this connection is not encrypted, and whoever "
                "reaches the scheduler can run code on its workers and read what they compute. "
                "docs/cluster.md shows tls://.",
                stderr=True,
            )
        return DaskCluster(self.dask, self.chosen_device, self.dask_tls)


def run_and_judge(
    papers: Papers, tier: TierName, how: How, claims: Sequence[str] = ()
) -> tuple[list[Scorecard], int]:
    """Runs what is missing of a tier, judges it and, at the paper tier, logs what it showed.

    Args:
        papers: what is run, with its consent given.
        tier: smoke, quick or paper.
        how: where and how.
        claims: of one paper: the ids of the claims to run for; every claim if none.

    Returns:
        The scorecard of each paper, and how many cells failed.

    Raises:
        UsageError: if there is no such claim.
    """
    for _, audit in papers:
        known = {one.id for one in audit.claims}
        for name in claims:
            if name not in known:
                raise UsageError(f"unknown claim '{name}'. {did_you_mean(name, known)}")
    _ = how.chosen_device  # one that is not there is told before a log of results begins
    for entry, audit in papers:
        if tier == "paper":
            results.begin(entry, audit, how.store.root)
    cells = [cell for _, audit in papers for cell in cells_of_tier(audit, tier, claims)]
    summary = run_now(cells, papers, how, roles=roles_of(papers, tier))
    cards = []
    for entry, audit in papers:
        planned = summary.planned[entry.slug]
        card = scorecard_of_store(entry, audit, tier, how.store, planned=planned)
        cards.append(card)
        if tier == "paper" and not claims:
            kept = stored_tier(audit, tier)
            records = how.store.records(entry.slug, kept, only=frozenset(planned.values()))
            answers = {one.id: (one.outcome, one.runs.yes, one.runs.n) for one in card.claims}
            results.append(entry, audit, how.store.root, records, answers)
    return cards, summary.failed


def shows_that_it_runs(card: Scorecard) -> bool:
    """False if a claim's own run of the smoke tier, which judges nothing, diverged."""
    return not any(
        run.status == "no" and not run.values for claim in card.claims for run in claim.per_run
    )


def roles_of(papers: Papers, tier: TierName) -> Roles:
    """Returns the role of every cell of a tier, to be shown while it runs."""
    return {
        (audit.paper.slug, stored_tier(audit, tier), batch.experiment, settings, seed): part
        for _, audit in papers
        for part, batch in parts_of(audit, tier)
        for settings in [canonical_settings(batch.settings(audit))]
        for seed in batch.seeds
    }


def run_now(
    cells: Sequence[Cell],
    papers: Papers,
    how: How,
    may_start: MayStart = lambda _cell: True,
    roles: Roles = MappingProxyType({}),
) -> Summary:
    """Runs the cells that have no record, with live progress; arguments as `run_cells`.

    Args:
        roles: the part that each cell has in the judgement, to be shown; of none, nothing is.
    """
    declared = {
        audit.paper.slug: {name: audit.measurements_of(name) for name in audit.experiments}
        for _, audit in papers
    }
    with live_progress(how.verbose, roles) as on_event:
        return run_cells(
            cells,
            how.catalog.locate,
            how.store,
            device=how.chosen_device,
            form=how.form,
            jobs=how.at_once,
            limits=how.limits,
            fresh=how.fresh,
            on_event=on_event,
            declared=declared,
            executor=how.executor(),
            may_start=may_start,
        )


# --- custom runs --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Custom:
    """The departures from a tier's rule.

    Attributes:
        seeds: instead of the tier's; None for those.
        experiments: only these; empty for all.
        settings: other values, by "setting" or "experiment.setting".
    """

    seeds: tuple[int, ...] | None
    experiments: tuple[str, ...]
    settings: Mapping[str, SettingValue]

    @classmethod
    def parse(
        cls, seeds: str | None, experiments: Sequence[str], settings: Sequence[str]
    ) -> Custom | None:
        """From the command line; None if nothing departs.

        Raises:
            UsageError: on seeds or settings that cannot be read.
        """
        if seeds is None and not experiments and not settings:
            return None
        parsed = None if seeds is None else parse_seeds(seeds)
        return cls(parsed, tuple(experiments), dict(parse_setting(one) for one in settings))

    def cells(self, audit: Audit, tier: TierName) -> list[Cell]:
        """The cells to run for a paper.

        Raises:
            UsageError: on an experiment or a setting that the audit does not have.
        """
        for name in self.experiments:
            if name not in audit.experiments:
                remedy = did_you_mean(name, audit.experiments)
                raise UsageError(f"{audit.paper.slug} has no experiment '{name}'. {remedy}")
        chosen = self.experiments or tuple(audit.experiments)
        used: set[str] = set()
        cells = []
        for experiment in chosen:
            values = audit.values_of(experiment, tier)
            fitting = {
                name: name.rpartition(".")[2]
                for name in sorted(self.settings, key=lambda name: "." in name)  # its own win
                if name.rpartition(".")[0] in ("", experiment) and name.rpartition(".")[2] in values
            }
            used |= set(fitting)
            settings = {**values, **{short: self.settings[name] for name, short in fitting.items()}}
            cells += [
                Cell(audit.paper.slug, CUSTOM, experiment, settings, seed)
                for seed in self.seeds or _seeds_at(audit, tier, experiment)
            ]
        for name in self.settings:
            if name not in used:
                known = {s for e in chosen for s in audit.settings_of(e)}
                remedy = did_you_mean(name.rpartition(".")[2], known)
                raise UsageError(f"--set {name}: {audit.paper.slug} has no such setting. {remedy}")
        return cells


def _seeds_at(audit: Audit, tier: TierName, experiment: str) -> tuple[int, ...]:
    return seeds_of(audit, tier, experiment, audit.runs_of(experiment).at(tier, own=True))


_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600}
_BYTES = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}


def parse_limits(timeout: str | None, memory: str | None) -> Limits:
    """Return the limits of a cell, from ``--cell-timeout`` such as 90s, ``--memory`` such as 4G."""
    seconds = None if timeout is None else parse_duration("--cell-timeout", timeout)
    if memory is None:
        return Limits(seconds)
    size = memory.strip().lower().removesuffix("b")
    return Limits(
        seconds, int(_amount("--memory", memory, size, _BYTES, "a number of bytes, 500M or 4G"))
    )


def parse_duration(option: str, text: str) -> float:
    """Return a time such as ``90s``, ``10m``, ``1.5h`` or plain seconds, in seconds."""
    return _amount(option, text, text, _SECONDS, "90s, 10m or 1.5h")


def _amount(option: str, given: str, text: str, units: Mapping[str, int], examples: str) -> float:
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]?)\s*", text)
    if match is None or match[2] not in units:
        raise UsageError(f"{option} '{given}': write {examples}.")
    return float(match[1]) * units[match[2]]


def parse_seeds(text: str) -> tuple[int, ...]:
    """Seeds such as ``0-4`` or ``7,9,20-22``.

    Raises:
        UsageError: if the text is anything else.
    """
    seeds: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d{1,9})(?:-(\d{1,9}))?\s*", part)
        if match is None or (match[2] and int(match[2]) < int(match[1])):
            raise UsageError(f"--seeds '{text}': found '{part}'. Write 0-4, or 7,9,20-22.")
        seeds += range(int(match[1]), int(match[2] or match[1]) + 1)
        if len(seeds) > 10_000:
            raise UsageError(f"--seeds '{text}': more than 10000 seeds. Ask for fewer.")
    return tuple(dict.fromkeys(seeds))


def parse_setting(text: str) -> tuple[str, SettingValue]:
    """A setting such as ``steps=100`` or ``sparse.betas=[0.9, 0.999]``.

    Raises:
        UsageError: if there is no name, or the value is no scalar or list of scalars.
    """
    name, equals, written = text.partition("=")
    name = name.strip()
    if not equals or not re.fullmatch(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)?", name):
        raise UsageError(f"--set '{text}': write name=value, for instance steps=100.")
    try:
        value = yaml.safe_load(written)
    except yaml.YAMLError:
        value = None
    if isinstance(value, str) and re.fullmatch(r"[+-]?\d+(\.\d*)?[eE][+-]?\d+", value):
        value = float(value)  # YAML 1.1 reads 1e-3 as text
    plain = bool | int | float | str
    if isinstance(value, list) and value and all(isinstance(v, plain) for v in value):
        return name, tuple(value)
    if isinstance(value, plain):
        return name, value
    raise UsageError(f"--set '{text}': found {written or 'nothing'}; expected a value or a list.")


def run_custom(papers: Papers, tier: TierName, custom: Custom, how: How, as_json: bool) -> int:
    """Runs custom cells and prints what they measured; nothing is judged."""
    cells = [cell for _, audit in papers for cell in custom.cells(audit, tier)]
    summary = run_now(cells, papers, how)
    found = {
        record.fingerprint: record
        for paper, planned in summary.planned.items()
        for record in how.store.records(paper, CUSTOM, only=frozenset(planned.values()))
    }
    names = [name for planned in summary.planned.values() for name in planned.values()]
    records = [found[name] for name in names if name in found]
    if as_json:
        data = [record.model_dump(mode="json") for record in records]
        print_json(data)
    else:
        _print_measurements(records)
    return TechnicalError.exit_code if summary.failed else 0


def _print_measurements(records: Sequence[Record]) -> None:
    for record in records:
        error = f" ({record.error})" if record.error else ""
        seed = f"{record.paper} {record.experiment}, seed {record.seed}"
        say(f"{seed}: {record.status.value}{error}")
        for name, text in _last_values(record):
            say(f"  {name}: {text}")
    say("Custom records feed no answer of a tier.")


def _last_values(record: Record) -> Iterator[tuple[str, str]]:
    measured = record.measurements
    for name, value in measured.scalars.items():
        yield name, f"{value:.4g}"
    for name, series in measured.series.items():
        last = _numbers(series.values[-1])
        yield name, f"{_numbers(series.values[0])} → {last} at step {series.steps[-1]}"
    for name, array in measured.arrays.items():
        yield name, _numbers(array)


def _numbers(values: Any) -> str:
    flat = values.ravel()
    text = ", ".join(f"{v:.4g}" for v in flat[:12])
    return f"{text}, … ({flat.size} numbers)" if flat.size > 12 else text
