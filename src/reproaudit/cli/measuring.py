"""The commands that measure, or look after records."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from reproaudit.audit.catalog import Catalog
from reproaudit.cli.options import (
    All,
    Audits,
    CellTimeout,
    DaskAddress,
    DataDir,
    Device,
    FailOn,
    Jobs,
    Json,
    Memory,
    Out,
    PaperName,
    Slugs,
    StorePath,
    Tier,
    Trust,
    Verbose,
    app,
    chosen_tier,
    exit_code,
    fail_on_verdicts,
)
from reproaudit.errors import UsageError


@app.command()
def run(
    slugs: Slugs = None,
    everything: All = False,
    tier: Tier = "quick",
    seeds: Annotated[
        str | None, typer.Option("--seeds", help="Other seeds, such as 0-4 or 7,9 (custom).")
    ] = None,
    experiments: Annotated[
        list[str] | None, typer.Option("--experiment", help="Only this experiment (custom).")
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="name=value, another setting (custom).")
    ] = None,
    device: Device = "auto",
    jobs: Jobs = None,
    cell_timeout: CellTimeout = None,
    memory: Memory = None,
    verbose: Verbose = False,
    trust: Trust = False,
    dask: DaskAddress = None,
    audits: Audits = None,
    store: StorePath = Path("runs"),
    fresh: Annotated[bool, typer.Option("--fresh", help="Measure again what is there.")] = False,
    data_dir: DataDir = None,
    fail_on: FailOn = None,
    as_json: Json = False,
) -> int:
    """Run the experiments that have no records yet, and print the scorecard.

    A run that was cut off is resumed. Other seeds, settings or single experiments make custom
    records, which feed no verdict.
    """
    from reproaudit.commands.consent import confirm_code
    from reproaudit.commands.report import show_scorecards
    from reproaudit.commands.run import (
        Custom,
        How,
        parse_limits,
        read_data_from,
        run_custom,
        run_tier,
    )
    from reproaudit.running.store import Store
    from reproaudit.scorecard.from_store import scorecard_of

    read_data_from(data_dir)
    catalog = Catalog(audits)
    entries = catalog.select(slugs or (), everything)
    chosen, wanted = chosen_tier(tier) or "quick", fail_on_verdicts(fail_on)
    papers = [(entry, entry.audit()) for entry in entries]
    custom = Custom.parse(seeds, experiments or (), settings or ())
    how = How(
        catalog,
        Store(store),
        device=device,
        jobs=jobs,
        fresh=fresh,
        dask=dask,
        limits=parse_limits(cell_timeout, memory),
        verbose=verbose,
    )
    confirm_code(entries, trust)
    if custom is not None:
        return run_custom(papers, chosen, custom, how, as_json)
    summary = run_tier(papers, chosen, how)
    scorecards = [
        scorecard_of(how.store, audit, chosen, planned=summary.planned[entry.slug])
        for entry, audit in papers
    ]
    show_scorecards(scorecards, as_json)
    verdicts = {claim.verdict for one in scorecards for claim in one.claims}
    failed = summary.failed > 0 or "technical_failure" in verdicts
    return exit_code(scorecards, wanted, failed)


@app.command()
def multiverse(
    slug: PaperName,
    tier: Tier = "quick",
    whole: Annotated[bool, typer.Option("--full", help="Every combination.")] = False,
    draws: Annotated[
        int | None, typer.Option("--sample", help="So many combinations, spread over all.")
    ] = None,
    budget: Annotated[
        str | None, typer.Option("--budget", help="Start nothing more after 90s, 10m, 1.5h.")
    ] = None,
    explain: Annotated[
        str | None, typer.Option("--explain", help="A claim that another run decides otherwise.")
    ] = None,
    against: Annotated[
        list[str] | None,
        typer.Option("--against", help="The other run: name=value,… or a record or scorecard."),
    ] = None,
    device: Device = "auto",
    jobs: Jobs = None,
    cell_timeout: CellTimeout = None,
    memory: Memory = None,
    verbose: Verbose = False,
    trust: Trust = False,
    dask: DaskAddress = None,
    audits: Audits = None,
    store: StorePath = Path("runs"),
    data_dir: DataDir = None,
    out: Out = Path("reports"),
    as_json: Json = False,
) -> int:
    """Show which claims depend on which settings that the paper leaves open.

    Runs those settings with other values: one alternative at a time, unless --full or --sample.
    With --explain and --against, names the smallest set of settings that makes a claim come out
    otherwise.
    """
    from reproaudit.commands.consent import confirm_code
    from reproaudit.commands.multiverse import Varied, design_of, show_multiverse
    from reproaudit.commands.run import (
        How,
        parse_duration,
        parse_limits,
        read_data_from,
    )
    from reproaudit.running.store import Store

    read_data_from(data_dir)
    catalog, chosen = Catalog(audits), chosen_tier(tier) or "quick"
    if (explain is None) != (not against):
        raise UsageError("--explain CLAIM and --against name=value,… go together.")
    seconds = None if budget is None else parse_duration("--budget", budget)
    entry = catalog[slug]
    confirm_code([entry], trust)
    how = How(
        catalog,
        Store(store),
        device=device,
        jobs=jobs,
        fresh=False,
        dask=dask,
        limits=parse_limits(cell_timeout, memory),
        verbose=verbose,
    )
    varied = Varied(entry, entry.audit(), chosen, how, seconds)
    if explain is not None:
        from reproaudit.commands.explain import show_explanation

        return show_explanation(varied, explain, against or (), as_json)
    return show_multiverse(varied, design_of(varied.audit, chosen, whole, draws), out, as_json)


@app.command()
def verify(
    slugs: Slugs = None,
    recompute: Annotated[
        int, typer.Option("--recompute", min=0, help="Measure so many records again.")
    ] = 0,
    trust: Trust = False,
    repair: Annotated[
        bool, typer.Option("--repair", help="Move damaged files aside, and list sound records.")
    ] = False,
    audits: Audits = None,
    store: StorePath = Path("runs"),
    as_json: Json = False,
) -> int:
    """Check every record and checkpoint of a store.

    Reads all of it: digests, identities, the list of records that were ever written. With
    --recompute, a sample of the records that today's code made is measured again, bit by bit.
    """
    from reproaudit.commands.verify import verify_store
    from reproaudit.running.store import Store

    return verify_store(
        Catalog(audits),
        slugs or (),
        Store(store),
        recompute=recompute,
        trust=trust,
        repair=repair,
        as_json=as_json,
    )


@app.command()
def prune(
    slugs: Slugs = None,
    unfinished: Annotated[
        bool, typer.Option("--unfinished", help="Checkpoints of unfinished cells, too.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print.")] = False,
    store: StorePath = Path("runs"),
    as_json: Json = False,
) -> int:
    """Remove from a store what no run needs any more.

    Temporary files, free locks, damaged files that were moved aside, checkpoints of cells that have
    their record. Records, also replaced ones, stay.
    """
    from reproaudit.commands.verify import prune_store
    from reproaudit.running.store import Store

    return prune_store(
        slugs or (), Store(store), unfinished=unfinished, dry_run=dry_run, as_json=as_json
    )
