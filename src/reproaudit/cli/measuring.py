"""The commands that measure, or look after records."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from reproaudit.audit.catalog import Catalog
from reproaudit.cli.options import (
    COMPUTING,
    All,
    Audits,
    Computing,
    FailOn,
    FormName,
    Json,
    Out,
    PaperName,
    Salt,
    Slugs,
    StorePath,
    Tier,
    Trust,
    app,
    chosen_form,
    chosen_tier,
    exit_code,
    fail_on_outcomes,
    salted,
    with_computing,
)
from reproaudit.folders import report_folder


@app.command()
@with_computing
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
    form: FormName = "fast",
    computing: Computing = COMPUTING,
    fresh: Annotated[bool, typer.Option("--fresh", help="Measure again what is there.")] = False,
    salt: Salt = None,
    out: Out = None,
    fail_on: FailOn = None,
    as_json: Json = False,
) -> int:
    """Run the experiments that have no records yet, write the pages, and print the answers.

    A run that was cut off is resumed. Other seeds, settings or single experiments make custom
    records, which feed no answer. Records of the plain form, which
    computes straight from the paper's equations, are never mixed with others.
    """
    from reproaudit.commands.consent import ask_to_run
    from reproaudit.commands.report import finish_run
    from reproaudit.commands.run import Custom, run_and_judge, run_custom, shows_that_it_runs

    how = computing.how(fresh, chosen_form(form))
    entries = how.catalog.select(slugs or (), everything)
    if everything:
        entries = tuple(entry for entry in entries if entry.code is not None)
    chosen, wanted = chosen_tier(tier), fail_on_outcomes(fail_on)
    entries = salted(entries, salt, chosen)
    papers = [(entry, entry.audit()) for entry in entries]
    custom = Custom.parse(seeds, experiments or (), settings or ())
    ask_to_run(entries, computing.trust)
    if custom is not None:
        return run_custom(papers, chosen, custom, how, as_json)
    scorecards, failures = run_and_judge(papers, chosen, how)
    folder = report_folder(out, computing.store)
    finish_run(scorecards, folder, as_json, computing.verbose)
    outcomes = {claim.outcome for one in scorecards for claim in one.claims}
    failed = failures > 0 or "failed" in outcomes
    if chosen == "smoke":
        failed |= not all(map(shows_that_it_runs, scorecards))
    return exit_code(scorecards, wanted, failed)


@app.command()
@with_computing
def multiverse(
    slug: PaperName,
    tier: Tier = "quick",
    budget: Annotated[
        str | None, typer.Option("--budget", help="Start nothing more after 90s, 10m, 1.5h.")
    ] = None,
    computing: Computing = COMPUTING,
    out: Out = None,
    as_json: Json = False,
) -> int:
    """Show which claims depend on which settings that the paper leaves open.

    Runs those settings with other values, one alternative at a time.
    """
    from reproaudit.commands.consent import ask_to_run
    from reproaudit.commands.multiverse import show_multiverse
    from reproaudit.commands.run import parse_duration

    how, chosen = computing.how(), chosen_tier(tier)
    seconds = None if budget is None else parse_duration("--budget", budget)
    entry = how.catalog[slug]
    ask_to_run([entry], computing.trust)
    folder = report_folder(out, computing.store)
    return show_multiverse(entry, entry.audit(), chosen, how, seconds, folder, as_json)


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
