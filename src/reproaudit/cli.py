"""The command line. It reads arguments, delegates, prints, and maps errors to exit codes.

0 done; 1 with ``--fail-on`` when it applies; 2 a user's mistake or a bad audit; 3 a technical
failure; 130 interrupted, and resumable. What runs experiments is imported where it is needed, so
that the other commands start without torch.
"""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from rich.console import Console

from reproaudit import __version__
from reproaudit.audit.catalog import Catalog
from reproaudit.audit.model import TIERS, TierName
from reproaudit.errors import AuditError, TechnicalError, UsageError, did_you_mean

if TYPE_CHECKING:  # what is imported where it is needed, so that `check` starts at once
    from reproaudit.scorecard import Scorecard

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

Slugs = Annotated[list[str] | None, typer.Argument(help="Papers, by slug.", metavar="SLUG…")]
All = Annotated[bool, typer.Option("--all", help="Every paper.")]
Audits = Annotated[
    Path | None,
    typer.Option("--audits", help="A folder with DIR/<slug>.yaml beside DIR/<slug>.py."),
]
StorePath = Annotated[Path, typer.Option("--store", help="Where records are kept.")]
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
    typer.Option("--dask", help="A Dask scheduler, such as tcp://host:8786, that computes."),
]
DataDir = Annotated[
    Path | None,
    typer.Option(
        "--data-dir",
        help="A folder with data that would be downloaded otherwise, such as MNIST.",
    ),
]
FailOn = Annotated[
    str | None,
    typer.Option("--fail-on", help="Exit with 1 on these verdicts: contradicted[,vacuous…]."),
]


def main() -> NoReturn:
    """The entry point: every error that a user can mend is one line, never a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without ≤ shows a question mark
    sys.exit(run_command(sys.argv[1:]))


def run_command(arguments: Sequence[str]) -> int:
    """Runs one command line and returns its exit code."""
    errors = Console(stderr=True)
    try:
        result = app(list(arguments), standalone_mode=False, prog_name="reproaudit")
        code = int(result) if isinstance(result, int) else 0
        return _interrupted(errors) if code == INTERRUPTED else code  # Typer's own word for Ctrl-C
    except AuditError as error:
        _print_error(error)
        return error.exit_code
    except _ClickException as error:
        if not arguments:  # what was raised is the help
            error.show()
            return 2
        message = f"{error.format_message()} See 'reproaudit --help'."
        errors.print(message, style="red", markup=False, highlight=False, soft_wrap=True)
        return 2
    except (KeyboardInterrupt, typer.Abort):
        return _interrupted(errors)
    except BrokenPipeError:  # the reader of our output went away, as `head` does
        sys.stderr.close()
        return 0


def _print_error(error: AuditError) -> None:
    Console(stderr=True).print(
        str(error), style="red", markup=False, highlight=False, soft_wrap=True
    )


def _interrupted(errors: Console) -> int:
    errors.print("Interrupted. The same command goes on from here.", highlight=False)
    return INTERRUPTED


def _print_json(value: Any) -> None:
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def _fail_on(words: str | None) -> frozenset[str]:
    """The verdicts that ``--fail-on`` names."""
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
    if name is None:
        return None
    for tier in TIERS:
        if name == tier:
            return tier
    raise UsageError(f"no tier '{name}'. {did_you_mean(name, TIERS)} Known: {', '.join(TIERS)}.")


@app.callback(invoke_without_command=True)
def top(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Reproducibility audits of machine-learning papers that people run."""
    if version:
        sys.stdout.write(f"reproaudit {__version__}\n")
        raise typer.Exit


# --- list ---------------------------------------------------------------------------------------


@app.command("list")
def list_papers(
    audits: Audits = None, store: StorePath = Path("runs"), as_json: Json = False
) -> None:
    """Papers, their documentation scores and their last verdicts."""
    from reproaudit.audit.documentation import score
    from reproaudit.reports.phrasing import verdict_counts
    from reproaudit.reports.terminal import ListEntry, render_list
    from reproaudit.running.groups import TiedGroupsError, todays_groups
    from reproaudit.running.store import Store
    from reproaudit.scorecard.from_store import highest_tier, scorecard_of

    entries = []
    for entry in Catalog(audits).entries.values():
        audit = entry.audit()
        tier = highest_tier(Store(store), audit)
        verdicts = None
        if tier is not None:
            today = todays_groups(entry.module)
            with suppress(TiedGroupsError):  # `report` names the groups
                card = scorecard_of(Store(store), audit, tier, today=today)
                verdicts = verdict_counts(card.claims)
        scores = score(audit.variables)
        entries.append(
            ListEntry(
                slug=entry.slug,
                title=audit.paper.title,
                venue=f"{audit.paper.venue} {audit.paper.year}",
                strict=scores.strict,
                reviewed=scores.reviewed,
                tier=tier,
                verdicts=verdicts,
            )
        )
    if as_json:
        _print_json([vars(one) for one in entries])
    else:
        render_list(entries, Console())


# --- run ----------------------------------------------------------------------------------------


@app.command()
def run(
    slugs: Slugs = None,
    everything: All = False,
    tier: Annotated[str, typer.Option("--tier", help="smoke, quick or paper.")] = "quick",
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
    """Run what is missing, and print the scorecard.

    What was cut off is resumed. Other seeds, settings or single experiments make custom records,
    which feed no verdict.
    """
    from reproaudit.commands.run import (
        Custom,
        How,
        confirm_code,
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
    confirm_code(entries, trust)
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
    if custom is not None:
        return run_custom(papers, chosen, custom, how, as_json)
    summary = run_tier(papers, chosen, how)
    scorecards = [
        scorecard_of(how.store, audit, chosen, planned=summary.planned[entry.slug])
        for entry, audit in papers
    ]
    _show(scorecards, as_json)
    verdicts = {claim.verdict for one in scorecards for claim in one.claims}
    failed = summary.failed > 0 or "technical_failure" in verdicts
    return _exit_code(scorecards, wanted, failed)


def _show(scorecards: Sequence[Scorecard], as_json: bool) -> None:
    from reproaudit.reports.terminal import render_index, render_scorecard

    if as_json:
        several = [one.as_data() for one in scorecards]
        _print_json(several[0] if len(several) == 1 else several)
        return
    console = Console()
    for one in scorecards:
        render_scorecard(one, console)
    if len(scorecards) > 1:
        render_index(scorecards, console)


# --- report -------------------------------------------------------------------------------------


@app.command()
def report(
    slugs: Slugs = None,
    everything: All = False,
    tier: Annotated[str | None, typer.Option("--tier", help="smoke, quick or paper.")] = None,
    formats: Annotated[
        str, typer.Option("--format", help="terminal, html, md and json, joined by commas.")
    ] = "terminal,html,md,json",
    out: Annotated[Path, typer.Option("--out", help="Where reports are written.")] = Path(
        "reports"
    ),
    audits: Audits = None,
    store: StorePath = Path("runs"),
    group: Annotated[
        str | None, typer.Option("--group", help="The group of records to show, by its id.")
    ] = None,
    fail_on: FailOn = None,
    as_json: Json = False,
) -> int:
    """Render scorecards from records, without running anything.

    Of the highest tier, unless --tier says otherwise: the records that today's code and versions
    made, else those of the group with most of the tier's cells. Where a tier has no records but its
    scorecard.json is in the report folder, that is rendered again.
    """
    from reproaudit.commands.report import render_files, scorecards_to_report
    from reproaudit.running.store import Store

    wanted, chosen = _fail_on(fail_on), _tier(tier)
    entries = Catalog(audits).select(slugs or (), everything)
    kinds = _formats(formats, ("terminal", "html", "md", "json"))
    errors: list[AuditError] = []
    on_error = errors.append if everything or len(entries) > 1 else None
    scorecards = scorecards_to_report(entries, Store(store), chosen, out, group, on_error)
    if as_json or "terminal" in kinds:
        _show(scorecards, as_json)
    written = render_files(scorecards, out, kinds - {"terminal"})
    console = Console(stderr=as_json)
    for path in written:
        console.print(f"wrote {path}", highlight=False, markup=False, soft_wrap=True)
    for error in errors:
        _print_error(error)
    return errors[0].exit_code if errors else _exit_code(scorecards, wanted, failed=False)


def _formats(words: str, known: Sequence[str]) -> frozenset[str]:
    kinds = frozenset(word.strip() for word in words.split(",") if word.strip())
    for word in sorted(kinds - set(known)):
        raise UsageError(f"--format: no format '{word}'. Known: {', '.join(known)}.")
    return kinds


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


# --- check, new, schema -------------------------------------------------------------------------


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
    """Validate audits: every fault at once, with its place.

    Each says what was found, what was expected and what to do.
    """
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
def schema() -> None:
    """Print the JSON Schema of an audit."""
    from reproaudit.audit.schema import schema_text

    sys.stdout.write(schema_text())


# --- diff ---------------------------------------------------------------------------------------


@app.command()
def diff(
    before: Annotated[str, typer.Argument(help="A scorecard.json, an audit, or slug@revision.")],
    after: Annotated[str, typer.Argument(help="The same.")],
    formats: Annotated[
        str, typer.Option("--format", help="terminal, html and md, joined by commas.")
    ] = "terminal",
    out: Annotated[Path, typer.Option("--out", help="The folder of difference.html and .md.")] = (
        Path("reports/diff")
    ),
    audits: Audits = None,
    as_json: Json = False,
) -> int:
    """What changed between two scorecards or audits.

    And whether it is more than noise.

    Each side is a scorecard.json or the folder that holds it, an audit's YAML file, a slug, or
    slug@revision, read from the git checkout. Changes are separated into rule, settings, code,
    environment, records and documentation; a changed result is laid to one of them only if that
    one alone differs.
    """
    from reproaudit.commands.diff import show_diff as print_difference

    kinds = _formats(formats, ("terminal", "html", "md"))
    return print_difference(before, after, audits, as_json, kinds, out)


# --- judge --------------------------------------------------------------------------------------


@app.command()
def judge(
    slug: Annotated[str, typer.Argument(help="The paper.", metavar="SLUG")],
    measurements: Annotated[
        Path, typer.Option("--measurements", help="A folder with a manifest and its files.")
    ],
    out: Annotated[
        Path | None, typer.Option("--out", help="Write the scorecard's pages here, too.")
    ] = None,
    audits: Audits = None,
    store: StorePath = Path("runs"),
    reports: Annotated[
        Path, typer.Option("--reports", help="Our scorecards, where there are no records.")
    ] = Path("reports"),
    as_json: Json = False,
) -> int:
    """Judge measurements made elsewhere by the same rules.

    They are marked as not ours: the authors' own logs, or another framework's runs. For the
    manifest see docs/measurements.md. Where there are records of ours, both are shown side by side.
    """
    from reproaudit.commands.judge import judge_submission as judge_submission
    from reproaudit.running.store import Store

    entry = Catalog(audits)[slug]
    return judge_submission(entry, measurements, Store(store), reports, out, as_json)


# --- export -------------------------------------------------------------------------------------


@app.command()
def export(
    slug: Annotated[str, typer.Argument(help="The paper.", metavar="SLUG")],
    form: Annotated[str, typer.Option("--to", help="ro-crate, junit, sarif or codecheck.")],
    tier: Annotated[str | None, typer.Option("--tier", help="smoke, quick or paper.")] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="The file; of ro-crate and codecheck the folder.")
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
        str | None, typer.Option("--report-url", help="Where the CODECHECK's report is published.")
    ] = None,
    license_url: Annotated[
        str | None, typer.Option("--license", help="The address of an RO-Crate's licence.")
    ] = None,
    audits: Audits = None,
    store: StorePath = Path("runs"),
    reports: Annotated[
        Path, typer.Option("--reports", help="Scorecards, where there are no records.")
    ] = Path("reports"),
    as_json: Json = False,
) -> int:
    """Write a scorecard or an audit's faults in a standard format.

    A scorecard as RO-Crate, JUnit XML or CODECHECK, faults as SARIF. Of the highest tier that has
    records, unless --tier says otherwise, to exports/SLUG unless --out does. See docs/export.md.
    """
    from reproaudit.commands.export import ExportSource, Signature, known_format
    from reproaudit.commands.export import export_scorecard as export_to
    from reproaudit.running.store import Store

    chosen, wanted = known_format(form), _tier(tier)
    source = ExportSource(Catalog(audits)[slug], Store(store), reports, wanted)
    signature = Signature(
        codecheckers=tuple(codecheckers or ()),
        orcids=tuple(orcids or ()),
        certificate=certificate,
        report=report_url,
        license_url=license_url,
    )
    return export_to(source, chosen, out, signature, as_json)


# --- multiverse ---------------------------------------------------------------------------------


@app.command()
def multiverse(
    slug: Annotated[str, typer.Argument(help="A paper, by slug.", metavar="SLUG")],
    tier: Annotated[str, typer.Option("--tier", help="smoke, quick or paper.")] = "quick",
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
    out: Annotated[Path, typer.Option("--out", help="Where reports are written.")] = Path(
        "reports"
    ),
    as_json: Json = False,
) -> int:
    """Show which claim hangs on which unstated setting.

    Runs what the paper leaves open in other ways: one alternative at a time, unless --full or
    --sample. With --explain and --against, names the smallest set of settings that makes a claim
    come out otherwise.
    """
    from reproaudit.commands.multiverse import Varied, design_of, show_multiverse
    from reproaudit.commands.run import (
        How,
        confirm_code,
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
