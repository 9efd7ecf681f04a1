"""The commands that measure, or look after records."""

from __future__ import annotations

import math
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from reproaudit.cli import options
from reproaudit.cli.options import app, ask_to_run, exit_code, papers_named
from reproaudit.cli.output import present
from reproaudit.files import report_folder

if TYPE_CHECKING:  # help starts without them
    from reproaudit.audit.model import TierName
    from reproaudit.service.report import ShownRun
    from reproaudit.service.run import How, Papers


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
    from reproaudit.service.report import ShownRun
    from reproaudit.service.run import How
    from reproaudit.store.records import Store

    named = papers_named(slugs, everything, audits, salt, tier, shipped)
    entries = [entry for entry in named if entry.code is not None or not everything]
    papers = [(entry, entry.audit()) for entry in entries]
    here = (Store(store), device, jobs, cell_timeout, memory, data_dir, verbose, fresh, form)
    until = math.inf if budget is None else time.monotonic() + budget
    how = How(*here, options.engine_of(executor, slurm, block), shard, leave, until)
    ask_to_run(entries, trust)
    if status:
        return _show_state(papers, tier, how, as_json)
    if seeds is not None or experiments or settings:
        return _run_custom(papers, tier, how, (seeds, experiments or (), settings or ()), as_json)
    shown = ShownRun(report_folder(out, store), as_json, verbose)
    return _run_tier(papers, tier, how, shown, fail_on, everything)


def _show_state(papers: Papers, tier: TierName, how: How, as_json: bool) -> int:
    from reproaudit.service.status import state_of, status_lines

    states = state_of(papers, tier, how)
    present([asdict(state) for state in states], status_lines(states), as_json)
    return 0


def _run_custom(papers: Papers, tier: TierName, how: How, departs: Any, as_json: bool) -> int:
    from reproaudit.report.terminal import measurement_lines
    from reproaudit.service.run import run_custom

    records, failed = run_custom(papers, tier, how, *departs)
    data = [record.model_dump(mode="json") for record in records]
    present(data, measurement_lines(records), as_json)
    return exit_code((), None, failed > 0)


def _run_tier(
    papers: Papers,
    tier: TierName,
    how: How,
    shown: ShownRun,
    fail_on: frozenset[str] | None,
    everything: bool,
) -> int:
    """Run a tier and show each answer when it is there; of all papers, the cheapest first."""
    from reproaudit.service.run import cheapest_first, run_and_judge, went_wrong

    order = cheapest_first(papers, tier) if everything else papers
    cards, failed = run_and_judge(order, tier, how, on_card=shown.add)
    shown.close(sorted(cards, key=lambda card: card.paper.slug) if everything else cards)
    return exit_code(cards, fail_on, failed > 0 or any(map(went_wrong, cards)))


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
    from reproaudit.service import report as reporting
    from reproaudit.service.run import How, run_multiverse
    from reproaudit.store.records import Store

    engine = options.engine_of(executor, slurm, block)
    how = How(
        Store(store), device, jobs, cell_timeout, memory, data_dir, verbose, fresh, engine=engine
    )
    (entry,) = papers_named((slug,), False, audits)
    ask_to_run([entry], trust)
    card, failed = run_multiverse(entry, entry.audit(), tier, how, budget)
    shown = reporting.ShownRun(report_folder(out, store), as_json, verbose)
    shown.add(card)
    shown.close([card])
    return exit_code((), None, failed > 0)


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
    from reproaudit.service import adopt as adopting
    from reproaudit.service.run import How
    from reproaudit.store.records import Store

    how = How(Store(store), device, jobs, data=data_dir, verbose=verbose)
    (entry,) = papers_named((slug,), False, audits)
    ask_to_run([entry], trust)
    reports = report_folder(out, store)
    if prepare:
        data, said = adopting.prepare(entry, entry.audit(), how, reports, budget)
        present(data, [said], as_json)
        return 0
    found = adopting.adopt_code(entry, entry.audit(), how, reports, budget, old)
    present(found.data, found.lines, as_json)
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
    from reproaudit.audit.catalog import Catalog
    from reproaudit.service.verify import faults_of_adoptions, measure_again, papers_in
    from reproaudit.store.inspect import experiment_folders, inspect_store
    from reproaudit.store.records import Store

    catalog = Catalog(audits)
    kept = Store(store or Path("runs"))
    papers = papers_in(kept, slugs or ())
    faults = list(inspect_store(kept, papers, repair=repair))
    if not faults:  # a damaged list of records is named already, and nothing else can be read
        faults += faults_of_adoptions(catalog, papers, kept)
    again = []
    if recompute:
        ask_to_run([catalog[one] for one in papers if one in catalog.entries], trust)
        again = list(measure_again(catalog, papers, kept, recompute))
        faults += [fault for _, fault in again if fault is not None]
    data = {
        "records": sum(1 for one in experiment_folders(kept, papers) for _ in one.glob("*.json")),
        "root": kept.manifest.root() if not faults or repair else None,
        "faults": [{**asdict(fault), "path": str(fault.path)} for fault in faults],
        "recomputed": [str(path) for path, _ in again],
    }
    lines = [f"{one.path}: {one.what}{one.mended and f' ({one.mended})'}" for one in faults]
    measured = f", {len(again)} measured again" if recompute else ""
    lines.append(f"{data['records']} records read{measured}: {len(faults) or 'no'} faults")
    present(data, lines, as_json)
    return exit_code((), None, any(not fault.mended for fault in faults))


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

    merged = merge_stores([Store(folder) for folder in folders], Store(store))
    present(merged.data, merged.lines, as_json)
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
    from reproaudit.service.verify import papers_in
    from reproaudit.store.inspect import leftovers, remove, size_of
    from reproaudit.store.records import Store

    kept = Store(store or Path("runs"))
    found = dict(leftovers(kept, papers_in(kept, slugs or ()), unfinished=unfinished))
    sizes = {path: size_of(path) for path in found}
    for path in () if dry_run else found:
        remove(path)
    data = [{"path": str(one), "what": what, "size": sizes[one]} for one, what in found.items()]
    done = "would be removed" if dry_run else "removed"
    counts = f"{len(found)} left-overs, {sum(sizes.values()):,} bytes, {done}"
    present(data, [*(f"{path}: {what}" for path, what in found.items()), counts], as_json)
    return 0
