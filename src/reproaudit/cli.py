"""The command line: reads arguments, delegates, and turns errors into exit codes.

0 done; 1 with ``--fail-on`` when it applies; 2 a user's mistake or a bad audit; 3 a technical
failure; 130 interrupted, and resumable. Each command imports what it needs when it is called, so
that the others start at once, and without torch.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, cast

import typer

from reproaudit import __version__
from reproaudit.audit.catalog import Catalog
from reproaudit.audit.model import TIERS, TierName
from reproaudit.commands.output import GuardedOutput, say
from reproaudit.errors import AuditError, TechnicalError, UsageError, did_you_mean
from reproaudit.reports.formats import (
    ALL_FORMATS,
    TERMINAL,
    chosen_formats,
    export_names,
    page_names,
)

if TYPE_CHECKING:
    from reproaudit.scorecard.model import Scorecard

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Reproducibility audits of machine-learning papers that people run.",
)

INTERRUPTED = 130

_ClickException: Any = typer.BadParameter.__mro__[2]
"""Typer has brought its own copy of click since 0.20, and exports of its errors this one only."""

PaperName = Annotated[str, typer.Argument(help="The paper's short name.", metavar="SLUG")]
Slugs = Annotated[list[str] | None, typer.Argument(help="Papers by short name.", metavar="SLUG…")]
All = Annotated[bool, typer.Option("--all", help="Every paper.")]
Audits = Annotated[
    Path | None,
    typer.Option("--audits", help="A folder with DIR/<slug>.yaml beside DIR/<slug>.py."),
]
StorePath = Annotated[Path, typer.Option("--store", help="The folder of records.")]
Reports = Annotated[
    Path, typer.Option("--reports", help="The folder of scorecards, used without records.")
]
Out = Annotated[Path, typer.Option("--out", help="The folder for reports.")]
Tier = Annotated[str, typer.Option("--tier", help="smoke, quick or paper.")]
AnyTier = Annotated[
    str | None, typer.Option("--tier", help="smoke, quick or paper; else the highest there is.")
]
Formats = Annotated[str, typer.Option("--format", help=page_names())]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Device = Annotated[str, typer.Option("--device", help="auto, cpu or cuda.")]
Jobs = Annotated[
    int | None, typer.Option("--jobs", min=1, help="Cells at once; one for each core if not given.")
]
CellTimeout = Annotated[
    str | None, typer.Option("--cell-timeout", help="A cell that takes longer fails: 90s, 10m, 1h.")
]
Memory = Annotated[
    str | None, typer.Option("--memory", help="A cell that takes more memory fails: 500M, 4G.")
]
Trust = Annotated[
    bool, typer.Option("--trust", help="Run code that does not come with reproaudit.")
]
Verbose = Annotated[
    bool, typer.Option("--verbose", help="Print the traceback of a cell that failed.")
]
DaskAddress = Annotated[
    str | None,
    typer.Option("--dask", help="Compute on this Dask scheduler, such as tcp://host:8786."),
]
DataDir = Annotated[
    Path | None,
    typer.Option("--data-dir", help="A folder with data to use instead of downloads (MNIST)."),
]
FailOn = Annotated[
    str | None,
    typer.Option("--fail-on", help="Exit with 1 on these verdicts: contradicted[,vacuous…]."),
]


def main() -> NoReturn:
    """Runs the program: every error that a user can mend is one line, never a traceback."""
    output, errors = GuardedOutput(sys.stdout), GuardedOutput(sys.stderr)
    sys.stdout, sys.stderr = cast(Any, output), cast(Any, errors)
    code = run_command(sys.argv[1:])
    output.flush()
    if output.fault is not None:
        _say(output.fault)
        code = code or TechnicalError.exit_code
    errors.flush()
    sys.exit(code)


def run_command(arguments: Sequence[str]) -> int:
    """Runs one command line and returns its exit code."""
    try:
        result = app(list(arguments), standalone_mode=False, prog_name="reproaudit")
        code = int(result) if isinstance(result, int) else 0
        return _interrupted() if code == INTERRUPTED else code  # Typer's own word for Ctrl-C
    except AuditError as error:
        _say(str(error), "red")
        return error.exit_code
    except _ClickException as error:
        if not arguments:  # what was raised is the help
            error.show()
            return 2
        _say(f"{error.format_message()} See 'reproaudit --help'.", "red")
        return 2
    except (KeyboardInterrupt, typer.Abort):
        return _interrupted()


def _interrupted() -> int:
    _say("Interrupted. The same command goes on from here.")
    return INTERRUPTED


def _say(text: str, style: str = "") -> None:
    say(text, stderr=True, style=style)


def _fail_on(words: str | None) -> frozenset[str]:
    """Returns the verdicts that ``--fail-on`` names."""
    from reproaudit.judging.verdict import Verdict

    wanted = frozenset(word.strip() for word in (words or "").split(",") if word.strip())
    known = [verdict.value for verdict in Verdict]
    for word in sorted(wanted - set(known)):
        raise UsageError(f"--fail-on: no verdict '{word}'. {did_you_mean(word, known)}")
    return wanted


def _exit_code(scorecards: Iterable[Scorecard], fail_on: frozenset[str], failed: bool) -> int:
    if failed:
        return TechnicalError.exit_code
    return int(any(c.verdict in fail_on for one in scorecards for c in one.claims))


def _tier(name: str | None) -> TierName | None:
    for tier in TIERS:
        if name in (tier, None):
            return tier if name else None
    raise UsageError(f"no tier '{name}'. {did_you_mean(str(name), TIERS)}")


@app.callback(invoke_without_command=True)
def top(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Reproducibility audits of machine-learning papers that people run."""
    if version:
        sys.stdout.write(f"reproaudit {__version__}\n")
        raise typer.Exit


@app.command("list")
def list_papers(
    audits: Audits = None, store: StorePath = Path("runs"), as_json: Json = False
) -> None:
    """List the papers, their documentation scores and their last verdicts."""
    from reproaudit.commands.report import show_list
    from reproaudit.running.store import Store

    show_list(Catalog(audits).entries.values(), Store(store), as_json)


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
    chosen, wanted = _tier(tier) or "quick", _fail_on(fail_on)
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
    return _exit_code(scorecards, wanted, summary.failed > 0)


@app.command()
def report(
    slugs: Slugs = None,
    everything: All = False,
    tier: AnyTier = None,
    formats: Formats = ALL_FORMATS,
    out: Out = Path("reports"),
    audits: Audits = None,
    store: StorePath = Path("runs"),
    group: Annotated[
        str | None, typer.Option("--group", help="The group of records to show, by its id.")
    ] = None,
    fail_on: FailOn = None,
    as_json: Json = False,
) -> int:
    """Write and print scorecards from records, without running anything.

    Of the highest tier, unless --tier says otherwise: the records that today's code and versions
    made, else those of the group with most of the tier's cells. A tier without records is rendered
    from the scorecard.json in the report folder, if there is one.
    """
    from reproaudit.commands.report import report_papers
    from reproaudit.running.store import Store

    wanted, chosen = _fail_on(fail_on), _tier(tier)
    entries = Catalog(audits).select(slugs or (), everything)
    kinds = chosen_formats(formats)
    errors: list[AuditError] = []
    on_error = errors.append if everything or len(entries) > 1 else None
    scorecards = report_papers(entries, Store(store), chosen, out, kinds, as_json, group, on_error)
    for error in errors:
        _say(str(error), "red")
    return errors[0].exit_code if errors else _exit_code(scorecards, wanted, failed=False)


# --- verify, prune ------------------------------------------------------------------------------


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


@app.command()
def check(
    paths: Annotated[
        list[Path] | None, typer.Argument(help="Audits; the shipped ones if none.")
    ] = None,
    explain: Annotated[
        str | None, typer.Option("--explain", help="Say why a rule exists, and what to do.")
    ] = None,
    audits: Audits = None,
    as_json: Json = False,
    as_sarif: Annotated[
        bool, typer.Option("--sarif", help="Print SARIF 2.1.0, for code-review services.")
    ] = False,
) -> int:
    """Validate audits: every fault at once, with its place and remedy."""
    from reproaudit.commands.check import check_files, show_rule

    if as_sarif and (as_json or explain is not None):
        raise UsageError("--sarif goes with neither --json nor --explain. Leave one of them out.")
    if explain is not None:
        return show_rule(explain, as_json)
    files = paths or [entry.audit_file for entry in Catalog(audits).entries.values()]
    return check_files(files, "sarif" if as_sarif else "json" if as_json else "text")


@app.command()
def new(
    slug: Annotated[str, typer.Argument(help="The paper's short name, such as vaswani2017.")],
    card: Annotated[Path, typer.Option("--card", help="The reproducibility card, a text file.")],
    out: Annotated[Path, typer.Option("--out", help="The folder of audits to write to.")] = Path(
        "audits"
    ),
    force: Annotated[bool, typer.Option("--force", help="Write over files that exist.")] = False,
    as_json: Json = False,
) -> int:
    """Draft an audit and an experiment from a reproducibility card.

    What the card leaves open is marked TODO.
    """
    from reproaudit.commands.new import draft

    return draft(slug, card, out, force=force, as_json=as_json)


@app.command()
def review(
    slug: PaperName,
    reviewer: Annotated[
        str | None, typer.Option("--reviewer", help="Your name, initials or role.")
    ] = None,
    orders: Annotated[
        list[str] | None,
        typer.Option("--set", help="'Dataset Splits=disagree: REASON' and the like; no page."),
    ] = None,
    sign: Annotated[bool, typer.Option("--sign-off", help="Sign this version off.")] = False,
    blind: Annotated[
        bool, typer.Option(help="Hide what others decided until you have decided.")
    ] = True,
    port: Annotated[int, typer.Option("--port", help="0 for any free one.")] = 0,
    audits: Audits = None,
    as_json: Json = False,
) -> int:
    """Review an audit in the browser: agree, disagree, dispute, sign off.

    The page is served on this machine alone. With --set or --sign-off there is no page.
    """
    from reproaudit.commands.review import review_audit

    return review_audit(
        Catalog(audits)[slug].audit_file, reviewer, orders or (), sign, blind, port, as_json
    )


@app.command()
def schema() -> None:
    """Print the JSON Schema of an audit."""
    from reproaudit.audit.schema import schema_text

    sys.stdout.write(schema_text())


@app.command()
def diff(
    before: Annotated[str, typer.Argument(help="A scorecard.json, an audit, or slug@revision.")],
    after: Annotated[str, typer.Argument(help="The same.")],
    formats: Formats = TERMINAL,
    out: Annotated[
        Path, typer.Option("--out", help="The folder for difference.html and so on.")
    ] = (Path("reports/diff")),
    audits: Audits = None,
    as_json: Json = False,
) -> int:
    """Show what changed between two scorecards or audits, and whether it is noise.

    Each side is a scorecard.json or the folder that holds it, an audit's YAML file, a slug, or
    slug@revision, read from the git checkout. Changes are sorted into rule, settings, code,
    environment, records and documentation. A changed result is laid to one of them only if that
    one alone differs.
    """
    from reproaudit.commands.diff import show_diff

    return show_diff(before, after, audits, as_json, chosen_formats(formats), out)


@app.command()
def judge(
    slug: PaperName,
    measurements: Annotated[
        Path, typer.Option("--measurements", help="A folder with a manifest and its files.")
    ],
    out: Annotated[Path | None, typer.Option("--out", help="Write the pages here, too.")] = None,
    audits: Audits = None,
    store: StorePath = Path("runs"),
    reports: Reports = Path("reports"),
    as_json: Json = False,
) -> int:
    """Judge measurements made elsewhere by the same rules.

    They may be the authors' own logs or another framework's runs, and are marked as not ours. The
    manifest is described in docs/measurements.md. Our own records, if any, are shown beside them.
    """
    from reproaudit.commands.judge import judge_submission
    from reproaudit.running.store import Store

    entry = Catalog(audits)[slug]
    return judge_submission(entry, measurements, Store(store), reports, out, as_json)


# --- import ---------------------------------------------------------------------------------------


@app.command("import")
def import_runs(
    slug: PaperName,
    logs: Annotated[
        list[Path], typer.Argument(help="Logs: files, folders or archives.", metavar="LOGS…")
    ],
    out: Annotated[Path, typer.Option("--out", help="The new folder, for judge.")],
    mapping: Annotated[
        Path | None, typer.Option("--mapping", help="What is which measurement; YAML.")
    ] = None,
    claims: Annotated[
        list[str] | None, typer.Option("--claim", help="Only what this claim rests on.")
    ] = None,
    tier: Annotated[
        str | None, typer.Option("--tier", help="quick or paper, the scale of the runs.")
    ] = None,
    seeds: Annotated[
        list[str] | None, typer.Option("--seed", help="NAME=NUMBER, a run's seed.")
    ] = None,
    who: Annotated[str | None, typer.Option("--who", help="Who submits them.")] = None,
    source: Annotated[str | None, typer.Option("--source", help="From where they are.")] = None,
    audits: Audits = None,
    as_json: Json = False,
) -> int:
    """Turn logs of training runs into a folder that judge reads.

    TensorBoard event files, MLflow stores, W&B runs, Lightning's metrics.csv, Hugging Face's
    trainer_state.json and loose tables. Configurations beside them are set against the audit's
    settings. See docs/import.md.
    """
    from reproaudit.commands.import_logs import Asked, import_logs

    asked = Asked(
        tuple(logs),
        out,
        mapping,
        tuple(claims or ()),
        tier,
        tuple(seeds or ()),
        who,
        source,
        audits,
    )
    return import_logs(Catalog(audits)[slug].audit(), asked, as_json)


@app.command()
def export(
    slug: PaperName,
    form: Annotated[str, typer.Option("--to", help=export_names())],
    tier: AnyTier = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="The file, or the folder of a format of several.")
    ] = None,
    codecheckers: Annotated[
        list[str] | None, typer.Option("--codechecker", help="Who checked, for a CODECHECK.")
    ] = None,
    orcids: Annotated[
        list[str] | None, typer.Option("--orcid", help="The codechecker's ORCID iD.")
    ] = None,
    certificate: Annotated[
        str | None, typer.Option("--certificate", help="The CODECHECK's number, as 2026-001.")
    ] = None,
    report_url: Annotated[
        str | None, typer.Option("--report-url", help="The address of the CODECHECK's report.")
    ] = None,
    license_url: Annotated[
        str | None, typer.Option("--license", help="The address of an RO-Crate's licence.")
    ] = None,
    audits: Audits = None,
    store: StorePath = Path("runs"),
    reports: Reports = Path("reports"),
    as_json: Json = False,
) -> int:
    """Write a scorecard, or an audit's faults, in a standard format.

    To exports/SLUG unless --out says otherwise. The formats are described in docs/export.md.
    """
    from reproaudit.commands.export import export_scorecard
    from reproaudit.reports.formats import Signature, export_format
    from reproaudit.running.store import Store

    signature = Signature(
        codecheckers=tuple(codecheckers or ()),
        orcids=tuple(orcids or ()),
        certificate=certificate,
        report=report_url,
        license_url=license_url,
    )
    chosen, wanted, entry = export_format(form, signature), _tier(tier), Catalog(audits)[slug]
    return export_scorecard(entry, chosen, Store(store), reports, wanted, out, signature, as_json)


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
    catalog, chosen = Catalog(audits), _tier(tier) or "quick"
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


if __name__ == "__main__":
    main()
