"""The commands that measure, or look after records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from typer import Argument, Option

from reproaudit.cli import options
from reproaudit.cli.options import app, exit_code, open_workspace, permission
from reproaudit.cli.output import present

if TYPE_CHECKING:
    from reproaudit.records import Record
    from reproaudit.service.adopt import CodeComparison, Prepared
    from reproaudit.service.run import How, Papers, Ran

_Answer = TypeVar("_Answer")


@app.command()
def run(
    slugs: options.Slugs = None,
    everything: options.All = False,
    tier: options.Tier = "quick",
    seeds: options.Seeds = None,
    experiments: Annotated[
        list[str] | None, Option("--experiment", help="Only this experiment (custom).")
    ] = None,
    settings: Annotated[
        list[str] | None, Option("--set", help="name=value, another setting (custom).")
    ] = None,
    form: options.FormName = "fast",
    device: options.Device = "auto",
    jobs: options.Jobs = None,
    cell_timeout: options.CellTimeout = None,
    memory: options.Memory = None,
    verbose: options.Verbose = False,
    trust: options.Trust = False,
    data_dir: options.DataDir = None,
    audits: options.Audits = None,
    store: options.StorePath = Path("runs"),
    fresh: options.Fresh = False,
    executor: options.ExecutorName = None,
    slurm: options.SlurmOptions = None,
    block: options.BlockOf = None,
    shard: options.Shard = None,
    leave: options.Leave = False,
    budget: options.Budget = None,
    status: Annotated[
        bool, Option("--status", help="Run nothing: show what is done, runs or failed.")
    ] = False,
    shipped: options.Shipped = True,
    salt: options.Salt = None,
    out: options.Out = None,
    fail_on: options.FailOn = None,
    as_json: options.Json = False,
) -> int:
    """Run the experiments that have no records yet, write the pages, and print the answers.

    A run that was cut off is resumed. Other seeds, settings or single experiments make custom
    records, which feed no answer. Records of the plain form, which computes straight from the
    paper's equations, are never mixed with others.
    """
    from reproaudit.service.run import How, run_custom, run_papers

    workspace = open_workspace(audits, store, out)
    named = workspace.select(slugs or (), everything, shipped, salt, tier)
    limits = (device, jobs, cell_timeout, memory, data_dir, fresh, form)
    engine = options.engine_of(executor, slurm, block)
    how = How(workspace.records, *limits, engine, shard, leave, options.end_of(budget))
    chosen = [paper for paper in named if paper.code is not None or not everything]
    papers = workspace.allowed(chosen, permission(trust))
    if status:
        return _present_states(papers, tier, how, as_json)
    if seeds is None and not experiments and not settings:
        run_tier = partial(run_papers, papers, tier, how, cheapest=everything)
        ran = _shown_run(partial(run_tier, pages=workspace.pages), verbose, as_json)
        return exit_code(ran.scorecards, fail_on, ran.went_wrong)
    work = partial(run_custom, papers, tier, how, seeds, experiments or (), settings or ())
    return _present_custom(*_followed(work, verbose), as_json)


def _present_custom(records: Sequence[Record], failed: int, as_json: bool) -> int:
    from reproaudit.report.terminal import measurement_lines

    present(records, measurement_lines(records), as_json)
    return exit_code((), None, failed > 0)


def _present_states(papers: Papers, tier: Any, how: How, as_json: bool) -> int:
    from reproaudit.service.run import state_of

    states = [state_of(*paper, tier, how) for paper in papers]
    present(states, (line for state in states for line in state.lines), as_json)
    return 0


def _followed(work: Callable[..., _Answer], verbose: bool = False) -> _Answer:
    """Return what work returns, and show its progress meanwhile."""
    from reproaudit.cli.progress import WorkProgress

    with WorkProgress(verbose) as progress:
        return work(on_event=progress)


def _shown_run(run_tier: Callable[..., Ran], verbose: bool, as_json: bool) -> Ran:
    from reproaudit.cli.progress import WorkProgress
    from reproaudit.cli.scorecards import RunPrinter

    with WorkProgress(verbose) as progress:
        printer = RunPrinter(as_json, verbose, progress.paused)
        ran = run_tier(on_event=progress, on_card=printer.add)
    printer.close(ran)
    return ran


@app.command()
def multiverse(
    slug: options.PaperName,
    tier: options.Tier = "quick",
    budget: options.Budget = None,
    device: options.Device = "auto",
    jobs: options.Jobs = None,
    cell_timeout: options.CellTimeout = None,
    memory: options.Memory = None,
    verbose: options.Verbose = False,
    trust: options.Trust = False,
    data_dir: options.DataDir = None,
    audits: options.Audits = None,
    store: options.StorePath = Path("runs"),
    fresh: options.Fresh = False,
    executor: options.ExecutorName = None,
    slurm: options.SlurmOptions = None,
    block: options.BlockOf = None,
    out: options.Out = None,
    as_json: options.Json = False,
) -> int:
    """Show which claims depend on which settings that the paper leaves open.

    Runs those settings with other values, one alternative at a time.
    """
    from reproaudit.cli.scorecards import RunPrinter
    from reproaudit.service.run import How, run_papers

    workspace = open_workspace(audits, store, out)
    how = How(
        workspace.records,
        device=device,
        jobs=jobs,
        seconds=cell_timeout,
        memory=memory,
        data=data_dir,
        fresh=fresh,
        engine=options.engine_of(executor, slurm, block),
        until=options.end_of(budget),
    )
    papers = workspace.allowed(workspace.select([slug]), permission(trust))
    run_all = partial(run_papers, papers, tier, how, alternatives=True, pages=workspace.pages)
    ran = _followed(run_all, verbose)
    printer = RunPrinter(as_json, verbose)
    printer.add(*ran.scorecards)
    printer.close(ran)
    return exit_code((), None, ran.failed > 0)


@app.command()
def adopt(
    slug: options.PaperName,
    old: Annotated[
        str | None, Option("--from", help="The beginning of the old code's digest.")
    ] = None,
    prepare: Annotated[
        bool, Option("--prepare", help="Before a change: measure the cells with today's code.")
    ] = False,
    budget: options.Budget = None,
    device: options.Device = "auto",
    jobs: options.Jobs = None,
    verbose: options.Verbose = False,
    trust: options.Trust = False,
    data_dir: options.DataDir = None,
    audits: options.Audits = None,
    store: options.StorePath = Path("runs"),
    out: options.Out = None,
    as_json: options.Json = False,
) -> int:
    """Let records of earlier code count after a change that computes the same.

    Of each pair of experiment and settings a drawn cell is measured with today's code and compared,
    bit by bit, with what the old code gives on this processor, or else with its record. What agrees
    is noted in SLUG.adoptions.jsonl beside the audit. Other pairs are run anew by run.
    """
    from reproaudit.service.adopt import adopt_code, prepare_adoption
    from reproaudit.service.run import How

    workspace = open_workspace(audits, store, out)
    until = options.end_of(budget)
    how = How(workspace.records, device=device, jobs=jobs, data=data_dir, until=until)
    ((entry, audit),) = workspace.allowed(workspace.select([slug]), permission(trust))
    compare: Callable[..., Prepared | CodeComparison] = partial(adopt_code, wanted=old)
    compare = prepare_adoption if prepare else compare
    compared = _followed(partial(compare, entry, audit, how, workspace.pages), verbose)
    present(compared, compared.lines, as_json)
    return 0


@app.command()
def verify(
    slugs: options.Slugs = None,
    recompute: Annotated[int, Option(min=0, help="Measure so many records again.")] = 0,
    trust: options.Trust = False,
    repair: Annotated[
        bool, Option("--repair", help="Move damaged files aside, and list sound records.")
    ] = False,
    audits: options.Audits = None,
    store: options.KeptStore = None,
    as_json: options.Json = False,
) -> int:
    """Check every record and checkpoint of a store.

    Reads all of it: digests, identities, the list of records that were ever written. With
    --recompute, a sample of the records that today's code made is measured again, bit by bit.
    """
    from reproaudit.service.verify import verify_store

    place = open_workspace(audits, store)
    wanted = (slugs or (), recompute, repair, permission(trust))
    verified = _followed(partial(verify_store, place.catalog, place.records, *wanted))
    measured = f", {len(verified.recomputed)} measured again" if recompute else ""
    count = f"{verified.records} records read{measured}: {len(verified.faults) or 'no'} faults"
    present(verified, [*map(str, verified.faults), count], as_json)
    return exit_code((), None, not verified.is_sound)


@app.command()
def merge(
    folders: Annotated[
        list[Path],
        Argument(help="Folders of records.", metavar="DIR…", exists=True, file_okay=False),
    ],
    store: options.StorePath = Path("runs"),
    as_json: options.Json = False,
) -> int:
    """Take the records of other stores into one, as shards made them.

    Each record is verified: its digest, its identity, its place and the list of its store. What
    cannot be used, or holds other numbers than a record that is there already, is named and left.
    """
    from reproaudit.service.merge import merge_stores
    from reproaudit.store.records import Store

    merged = merge_stores(list(map(Store, folders)), Store(store))
    present(merged, merged.lines, as_json)
    return exit_code((), None, bool(merged.faults))


@app.command()
def prune(
    slugs: options.Slugs = None,
    unfinished: Annotated[
        bool, Option("--unfinished", help="Checkpoints of unfinished cells, too.")
    ] = False,
    dry_run: Annotated[bool, Option("--dry-run", help="Only print.")] = False,
    store: options.KeptStore = None,
    as_json: options.Json = False,
) -> int:
    """Remove from a store what no run needs any more.

    Temporary files, free locks, damaged files that were moved aside, checkpoints of cells that have
    their record. Records, also replaced ones, stay.
    """
    from reproaudit.service.verify import prune_store

    records = open_workspace(store=store).records
    left = prune_store(records, slugs or (), unfinished=unfinished, dry_run=dry_run)
    done = "would be removed" if dry_run else "removed"
    size = sum(leftover.size for leftover in left)
    lines = [f"{leftover.path}: {leftover.what}" for leftover in left]
    lines.append(f"{len(left)} left-overs, {size:,} bytes, {done}")
    present(left, lines, as_json)
    return 0
