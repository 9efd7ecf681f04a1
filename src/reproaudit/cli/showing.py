"""The commands that show, compare and hand on what was measured."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reproaudit.audit.catalog import Catalog
from reproaudit.cli.options import (
    All,
    AnyTier,
    Audits,
    FailOn,
    Formats,
    Json,
    Out,
    PaperName,
    Reports,
    Salt,
    Slugs,
    StorePath,
    app,
    chosen_tier,
    exit_code,
    fail_on_outcomes,
    salted,
)
from reproaudit.errors import UsageError
from reproaudit.folders import report_folder
from reproaudit.report.export.registry import export_names
from reproaudit.report.files import FORMATS, chosen_formats, read_scorecard

if TYPE_CHECKING:
    from reproaudit.report.model import Scorecard

EVERY_FORMAT = ",".join(FORMATS)
"""What `report` writes and prints unless --format names less."""


@app.command("list")
def list_papers(
    audits: Audits = None, store: StorePath = Path("runs"), as_json: Json = False
) -> None:
    """List the papers, what is documented of them, and their last answers."""
    from reproaudit.commands.listing import show_list

    show_list(Catalog(audits).entries.values(), store, as_json)


@app.command()
def report(
    slugs: Slugs = None,
    everything: All = False,
    tier: AnyTier = None,
    formats: Formats = EVERY_FORMAT,
    out: Out = None,
    audits: Audits = None,
    store: StorePath = Path("runs"),
    group: Annotated[
        str | None, typer.Option("--group", help="The group of records to show, by its id.")
    ] = None,
    salt: Salt = None,
    fail_on: FailOn = None,
    verbose: Annotated[
        bool,
        typer.Option("--verbose", help="Print every arm of every claim, too."),
    ] = False,
    as_json: Json = False,
) -> int:
    """Write and print scorecards from records, without running anything.

    Of the highest tier, unless --tier says otherwise: the records that today's code and versions
    made, else those of the group with most of the tier's cells. A tier without records is rendered
    from the scorecard.json in the report folder, if there is one. With --all, each claim is printed
    on one line; of papers that are named, every detail.
    """
    from reproaudit.commands.output import show
    from reproaudit.commands.unchanged import last_lines

    wanted, chosen = fail_on_outcomes(fail_on), None if tier is None else chosen_tier(tier)
    entries = salted(Catalog(audits).select(slugs or (), everything), salt, chosen)
    options = (slugs, everything, chosen, sorted(chosen_formats(formats)), group, salt, verbose)
    memo = None if as_json or wanted else repr(options)
    if memo is not None:
        known = last_lines(entries, memo, store, report_folder(out, store))
        if known is not None:
            show(known)
            return 0
    from reproaudit.commands.report import ReportRequest, report_papers

    request = ReportRequest(
        entries=entries,
        store=store,
        tier=chosen,
        out=report_folder(out, store),
        formats=chosen_formats(formats),
        as_json=as_json,
        group=group,
        go_on=everything or len(entries) > 1,
        details=not everything,
        verbose=verbose,
        memo=memo,
    )
    return report_papers(request, wanted)


@app.command()
def diff(
    before: Annotated[str, typer.Argument(help="A scorecard.json, or the folder with it.")],
    after: Annotated[str, typer.Argument(help="The same.")],
    as_json: Json = False,
) -> int:
    """Show what changed between two scorecards.

    Outcomes, certainty, runs and effects of claims; rules, settings, versions, documentation.
    """
    from reproaudit.commands.output import print_json, show
    from reproaudit.report.diff import compare

    found = compare(_scorecard_at(before), _scorecard_at(after))
    if as_json:
        print_json(found.model_dump(mode="json"))
    else:
        show(found.lines)
    return 0


def _scorecard_at(name: str) -> Scorecard:
    path = Path(name)
    file = path / "scorecard.json" if path.is_dir() else path
    if not file.is_file():
        raise UsageError(f"{name}: no scorecard. Name a scorecard.json, or the folder with it.")
    return read_scorecard(file)


@app.command("judge")
def judge_measurements(
    slug: PaperName,
    measurements: Annotated[
        Path | None,
        typer.Option("--measurements", help="A folder with a manifest and its files."),
    ] = None,
    template: Annotated[
        Path | None,
        typer.Option("--template", help="Write a folder to be filled in, and judge nothing."),
    ] = None,
    claims: Annotated[
        list[str] | None, typer.Option("--claim", help="Only this claim; may be repeated.")
    ] = None,
    tier: Annotated[
        str | None, typer.Option("--tier", help="Of the template: quick or paper (the default).")
    ] = None,
    fail_on: FailOn = None,
    junit: Annotated[
        Path | None, typer.Option("--junit", help="Write the claims as JUnit test cases here.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Write the pages here, too.")] = None,
    audits: Audits = None,
    as_json: Json = False,
) -> int:
    """Judge measurements made elsewhere by the same rules.

    They may be the authors' own logs or another framework's runs, and are marked as not ours. The
    manifest is described in docs/measurements.md; --template writes one with empty tables.
    """
    entry, wanted = Catalog(audits)[slug], fail_on_outcomes(fail_on)
    if template is not None and measurements is None:
        from reproaudit.commands.judge import write_template

        return write_template(entry, template, chosen_tier(tier or "paper"), claims or (), as_json)
    if measurements is None or template is not None:
        raise UsageError("judge takes either --measurements DIR or --template DIR.")
    if tier is not None:
        raise UsageError("--tier goes with --template; the manifest states the measurements' tier.")
    from reproaudit.commands.judge import scorecard_of_submission, show_judged
    from reproaudit.elsewhere.submission import read_submission

    submission = read_submission(entry.audit(), measurements)
    card = scorecard_of_submission(submission, claims, entry.reviews())
    show_judged(card, out, junit, as_json)
    return exit_code([card], wanted, failed=False)


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
    reports: Reports = None,
    as_json: Json = False,
) -> int:
    """Write a scorecard, or an audit's faults, in a standard format.

    To exports/SLUG unless --out says otherwise. The formats are described in docs/export.md.
    """
    from reproaudit.api import open_scorecard
    from reproaudit.commands.export import export_scorecard
    from reproaudit.report.export.registry import Signature, export_format

    signature = Signature(
        codecheckers=tuple(codecheckers or ()),
        orcids=tuple(orcids or ()),
        certificate=certificate,
        report=report_url,
        license_url=license_url,
    )
    chosen, entry = export_format(form, signature), Catalog(audits)[slug]

    def scorecard() -> Scorecard:
        return open_scorecard(entry.audit(), tier=tier, store=store, reports=reports, audits=audits)

    return export_scorecard(entry, chosen, scorecard, store, out, signature, as_json)
