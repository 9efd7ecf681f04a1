"""The Python API: what `import reproaudit` offers, stable from version 0.1 on.

Every name in `__all__` is documented in docs/api.md and is also a name of the package itself, where
it is imported with its first use. Nothing here needs torch, except `run_paper`. Every mistake of a
caller raises an `AuditError` whose text says where it is, what was found, what was expected and
what to do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from reproaudit.audit.faults import Fault
from reproaudit.audit.loading import read_audit
from reproaudit.audit.model import Audit, known_tier
from reproaudit.cell import SettingValue
from reproaudit.consent import ConsentError, Permission, ask_terminal
from reproaudit.errors import (
    AuditError,
    CardError,
    SpecError,
    StoreError,
    TechnicalError,
    UsageError,
)
from reproaudit.files import new_folder
from reproaudit.formats.scorecard import Scorecard
from reproaudit.formats.verdict import ClaimAnswer, Level, Outcome
from reproaudit.intake.manifest import MANIFEST
from reproaudit.intake.memory import BySeed, MeasuredRuns, manifest_head, read_runs
from reproaudit.intake.writing import write_submission
from reproaudit.records import Measurements, Origin, Series
from reproaudit.scorecard.files import read_scorecard
from reproaudit.service.judge import judge_folder, judge_submission
from reproaudit.service.notebook import DEFAULT_FAIL_ON, PaperScorecard
from reproaudit.service.workspace import Workspace

__all__ = [
    "DEFAULT_FAIL_ON",
    "Audit",
    "AuditError",
    "CardError",
    "ClaimAnswer",
    "ConsentError",
    "Fault",
    "Level",
    "MeasuredRuns",
    "Measurements",
    "Origin",
    "Outcome",
    "PaperScorecard",
    "Scorecard",
    "Series",
    "SpecError",
    "StoreError",
    "TechnicalError",
    "UsageError",
    "find_faults",
    "judge_measurements",
    "open_audit",
    "open_scorecard",
    "paper_slugs",
    "run_paper",
    "write_measurements",
]

PaperRef = Audit | Path | str  # an audit, the path of its YAML file, or a slug

Runs = Sequence[MeasuredRuns] | Mapping[str, BySeed]
"""Runs; or experiment -> seed -> measurement -> numbers, where there are no other arms."""

Folder = Path | str


# --- audits ---------------------------------------------------------------------------------------


def paper_slugs(audits: Folder | None = None) -> tuple[str, ...]:
    """Return the slugs of all papers: those that are shipped, and those of a user's folder.

    Raises:
        UsageError: if the folder does not exist.
    """
    return tuple(_workspace(audits).catalog.entries)


def open_audit(paper: PaperRef, audits: Folder | None = None) -> Audit:
    """Return the audit of a paper.

    Args:
        paper: a slug, or the path of a YAML file; an audit is returned as it is.
        audits: a folder of audits, in which slugs are looked up before the shipped ones.

    Raises:
        SpecError: listing every fault of the file.
        UsageError: if there is no such paper.
    """
    return _workspace(audits).audit(_named(paper))


def find_faults(paper: Path | str, audits: Folder | None = None) -> list[Fault]:
    """Return every fault of an audit, warnings as well, in the order of the file; none if sound.

    Args:
        paper: the path of a YAML file, or a slug.
        audits: a folder of audits, in which slugs are looked up before the shipped ones.

    Raises:
        UsageError: if there is no such paper.
    """
    return read_audit(_workspace(audits).entry(_named(paper)).audit_file)[1]


def _workspace(
    audits: Folder | None, store: Folder = "runs", reports: Folder | None = None
) -> Workspace:
    audits_folder = None if audits is None else Path(audits)
    return Workspace(audits_folder, Path(store), None if reports is None else Path(reports))


def _named(paper: PaperRef) -> Audit | Path | str:
    """Return what names a paper, the path of a file as a path."""
    if isinstance(paper, Audit):
        return paper
    file = Path(paper)
    return file if file.suffix in (".yaml", ".yml") or len(file.parts) > 1 else paper


# --- measurements ---------------------------------------------------------------------------------


def judge_measurements(
    paper: PaperRef,
    measurements: Runs | Folder,
    *,
    origin: Origin | None = None,
    tier: Literal["quick", "paper"] = "paper",
    settings: Mapping[str, SettingValue] | None = None,
    proxy: str | None = None,
    one_unit: str | None = None,
    claims: Sequence[str] | None = None,
    audits: Folder | None = None,
) -> PaperScorecard:
    """Judge measurements made elsewhere by the rules of an audit.

    Args:
        paper: an audit, the path of its YAML file, or a slug. No code of it is run.
        measurements: a folder with a manifest; or runs in memory (`MeasuredRuns`, or a mapping from
            experiment to seed to measurement). The five arguments that follow belong to runs in
            memory; a folder's manifest says these things itself.
        origin: who made them, from what, with what, and when.
        tier: the scale of the runs, at which they are judged.
        settings: what every run was made with, as "name" or "experiment.name"; settings that are
            not stated are taken to be the tier's, and the page says so.
        proxy: the substitute for the paper's data or method, if there was one.
        one_unit: why what seems to be a share of 1 in one place, and per cent in another, is in one
            unit.
        claims: ids of the claims to judge; every claim by default.
        audits: a folder of audits, in which slugs are looked up before the shipped ones.

    Raises:
        SpecError: listing everything that does not fit the audit.
        UsageError: if there is no such paper or claim, no manifest, or something is no number.
    """
    workspace = _workspace(audits)
    if isinstance(measurements, Path | str):
        if (origin, tier, settings, proxy, one_unit) != (None, "paper", None, None, None):
            raise UsageError(
                f"{measurements}: origin, tier, settings, proxy and one_unit of a folder stand in "
                "its manifest. Leave them out here."
            )
        known = paper if isinstance(paper, Audit) else workspace.entry(_named(paper))
        return PaperScorecard.of(judge_folder(known, Path(measurements), claims).scorecard)
    head = manifest_head(origin, known_tier(tier), settings or {}, proxy, one_unit=one_unit)
    submission = read_runs(workspace.audit(_named(paper)), _as_runs(measurements), head)
    entry = None if isinstance(paper, Audit) else workspace.entry(_named(paper))
    return PaperScorecard.of(judge_submission(submission, claims, entry=entry).scorecard)


def write_measurements(
    folder: Folder,
    paper: PaperRef,
    runs: Runs,
    *,
    origin: Origin | None = None,
    tier: Literal["quick", "paper"] = "paper",
    settings: Mapping[str, SettingValue] | None = None,
    proxy: str | None = None,
    one_unit: str | None = None,
    replace: bool = False,
    audits: Folder | None = None,
) -> Path:
    """Write runs as a folder for `reproaudit judge`, the pytest plugin and `judge_measurements`.

    They are held against the audit first; a folder is written whole or not at all. The arguments
    that are not named here are those of `judge_measurements`.

    Args:
        folder: the new folder.
        paper: an audit, the path of its YAML file, or a slug.
        runs: the runs in memory.
        replace: whether to replace a folder of measurements that is there already.

    Returns:
        The folder.

    Raises:
        SpecError: listing everything that does not fit the audit.
        UsageError: if there is no such paper, the folder exists, or something is no number.
        StoreError: if the folder cannot be written.
    """
    head = manifest_head(origin, known_tier(tier), settings or {}, proxy, one_unit=one_unit)
    audit = open_audit(paper, audits)
    remedy = "Name another folder, or pass replace=True."
    with new_folder(Path(folder), remedy, MANIFEST if replace else None) as new:
        write_submission(new, audit, _as_runs(runs), head)
    return Path(folder)


def _as_runs(runs: Runs) -> list[MeasuredRuns]:
    if isinstance(runs, Mapping):
        return [MeasuredRuns(experiment, seeds) for experiment, seeds in runs.items()]
    return list(runs)


# --- scorecards -----------------------------------------------------------------------------------


def open_scorecard(
    paper: PaperRef,
    *,
    tier: str | None = None,
    store: Folder = "runs",
    reports: Folder | None = None,
    audits: Folder | None = None,
) -> PaperScorecard:
    """Return a scorecard that is there already: nothing is run.

    Args:
        paper: the path of a ``scorecard.json`` or of the folder that holds it; or an audit, the
            path of its YAML file, or a slug.
        tier: smoke, quick or paper; by default the highest that has records.
        store: the folder of records.
        reports: the report folder, read for want of records; ``reports`` beside the store if None.
            For want of both a scorecard is shown that came with the installation.
        audits: a folder of audits, in which slugs are looked up before the shipped ones.

    Raises:
        StoreError: if the file is no scorecard.
        UsageError: if there is no such paper, or neither records nor a report of it.
    """
    if not isinstance(paper, Audit) and (Path(paper).is_dir() or Path(paper).suffix == ".json"):
        return PaperScorecard.of(read_scorecard(Path(paper)))
    chosen = None if tier is None else known_tier(tier)
    workspace = _workspace(audits, store, reports)
    return PaperScorecard.of(workspace.scorecard(_named(paper), chosen))


def run_paper(
    paper: PaperRef,
    *,
    tier: str = "quick",
    claims: Sequence[str] | None = None,
    store: Folder = "runs",
    device: str = "auto",
    jobs: int = 1,
    fresh: bool = False,
    audits: Folder | None = None,
    trust: bool = False,
    ask: Callable[[str], bool] | None = None,
    remedy: str = "pass trust=True",
) -> PaperScorecard:
    """Run what is missing of a tier, every arm included, and return the scorecard.

    Args:
        paper: an audit of the catalog, the path of its YAML file beside its module, or a slug.
        tier: smoke, quick or paper.
        claims: ids of the claims to run for; every claim by default.
        store: the folder of records, in which what was cut off is resumed.
        device: auto, cpu or cuda.
        jobs: cells at once, each in a process.
        fresh: whether to measure again what has a record.
        audits: a folder of audits, in which slugs are looked up before the shipped ones.
        trust: whether the module of a paper that is not shipped may run, this once.
        ask: puts a question to the user before such a module runs; by default the terminal.
        remedy: the way to allow it that the message names, for programs that call this.

    A cell that fails does not raise: the claims that need it have failed.

    Raises:
        ConsentError: if the module is not shipped, and nobody has allowed it to run.
        UsageError: if there is no such paper, claim or tier, or torch is not installed.
    """
    workspace = _workspace(audits, store)
    entry = workspace.entry(_named(paper))
    chosen = known_tier(tier)
    if find_spec("torch") is None and not entry.module.is_run_file:
        raise UsageError(
            "torch is not installed, and running experiments needs it. Install it, "
            "in a clone of reproaudit, with: pip install '.[run]'"
        )
    from reproaudit.cli.progress import WorkProgress
    from reproaudit.service.run import How, run_papers

    with WorkProgress() as progress:
        how = How(workspace.records, device=device, jobs=jobs, fresh=fresh)
        allowed = workspace.allowed([entry], Permission(trust, ask or ask_terminal, remedy))
        ran = run_papers(allowed, chosen, how, claims=claims or (), on_event=progress)
    return PaperScorecard.of(*ran.scorecards)
