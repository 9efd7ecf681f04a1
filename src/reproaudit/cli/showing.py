"""The commands that show, compare and hand on what was measured."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from reproaudit.cli import options
from reproaudit.cli.options import app, exit_code, open_workspace
from reproaudit.cli.output import columns, present, say, settings_table, terminal
from reproaudit.errors import UsageError

if TYPE_CHECKING:
    from reproaudit.service.judge import Judged

EXPORTS_HELP = "ro-crate, letter, records or codecheck."


@app.command("list")
def list_papers(
    audits: options.Audits = None,
    store: options.StorePath = Path("runs"),
    out: options.Out = None,
    as_json: options.Json = False,
) -> int:
    """List the papers, what is documented of them, and their last answers.

    A paper that cannot be read is named and stops no other.
    """
    from reproaudit.audit.catalog import Catalog
    from reproaudit.service.listing import list_lines, summaries_of

    entries = Catalog(audits).entries.values()
    listed = summaries_of(entries, store, store.parent / "reports" if out is None else out)
    for slug, error in listed.errors.items():
        say(f"{slug}: {error}", stderr=True, style="red")
    present(listed.data, list_lines(listed.papers, terminal().width), as_json)
    return next((error.exit_code for error in listed.errors.values()), 0)


@app.command("plan")
def plan_claims(
    slug: options.PaperOrFile,
    tier: options.Tier = None,
    audits: options.Audits = None,
    store: options.StorePath = Path("runs"),
    out: options.Out = None,
    as_json: options.Json = False,
) -> int:
    """Show what will decide each claim and what must run, before anything does.

    How many runs must say yes, what must run beside and what it must do, how far the last positive
    control lay inside the bound, core-minutes by the last records, and the rule's digest. Keep it:
    reproaudit plan SLUG --json > PLAN.json, beside the results.
    """
    from reproaudit.service.plan import plan_audit

    workspace = open_workspace(audits, store, out)
    planned = plan_audit(workspace, options.entry_named(workspace, slug), tier)
    present(planned, planned.lines, as_json)
    return 0


@app.command()
def report(
    slugs: options.Slugs = None,
    everything: options.All = False,
    tier: options.Tier = None,
    formats: options.Formats = None,
    out: options.Out = None,
    audits: options.Audits = None,
    store: options.StorePath = Path("runs"),
    group: Annotated[str | None, Option(help="The group of records to show, by its id.")] = None,
    salt: options.Salt = None,
    fail_on: options.FailOn = None,
    verbose: options.Verbose = False,
    as_json: options.Json = False,
) -> int:
    """Write and print scorecards from records, without running anything.

    Of the highest tier, unless --tier says otherwise: the records that today's code and versions
    made, else those of the group with most of the tier's cells. A tier without records is rendered
    from the scorecard.json in the report folder, if there is one; for want of both, from the one
    that came with the installation. With --all, each claim is printed on one line; of papers that
    are named, every detail.
    """
    from reproaudit.cli.scorecards import show_reports
    from reproaudit.report.files import TERMINAL
    from reproaudit.service.report import report_papers

    workspace = open_workspace(audits, store, out)
    papers = workspace.select(slugs or (), everything, salt=salt, tier=tier)
    reported = report_papers(
        workspace, papers, tier=tier, formats=formats, group=group, needs_all=not everything
    )
    prints = formats is None or TERMINAL in formats
    show_reports(reported, prints=prints, one_screen=everything, verbose=verbose, as_json=as_json)
    code = next((error.exit_code for error in reported.errors.values()), 0)
    return code or exit_code(reported.scorecards, fail_on)


@app.command()
def diff(
    before: Annotated[Path, Argument(help="A scorecard.json, or the folder with it.")],
    after: Annotated[Path, Argument(help="The same.")],
    as_json: options.Json = False,
) -> int:
    """Show what changed between two scorecards.

    Outcomes, certainty, runs and effects of claims; rules, settings, versions, documentation.
    """
    from reproaudit.report.diff import compare
    from reproaudit.scorecard.files import read_scorecard

    comparison = compare(read_scorecard(before), read_scorecard(after))
    present(comparison, comparison.lines, as_json)
    return 0


@app.command("judge")
def judge_measurements(
    slug: options.PaperOrFile,
    logs: Annotated[
        list[Path] | None,
        Argument(help="Results or logs: files, folders or archives.", metavar="[FILE…]"),
    ] = None,
    mapping: Annotated[Path | None, Option(help="What is which measurement; YAML.")] = None,
    measurements: Annotated[
        Path | None, Option(help="A folder with a manifest and its files.")
    ] = None,
    template: Annotated[
        Path | None, Option(help="Write a folder to be filled in, and judge nothing.")
    ] = None,
    claims: options.Claims = None,
    tier: options.Tier = None,
    fail_on: options.FailOn = None,
    out: Annotated[Path | None, Option(help="Write the pages here, too.")] = None,
    as_page: Annotated[
        Path | None, Option("--as-page", help="Write a page of at most 60 lines, as Markdown.")
    ] = None,
    audits: options.Audits = None,
    as_json: options.Json = False,
) -> int:
    """Judge results, logs or measurements made elsewhere by the same rules.

    FILE is whatever import reads (docs/import.md); nothing is written. They may be the authors' own
    logs or another framework's runs, and are marked as not ours. A manifest is described in
    docs/measurements.md; --template writes one with empty tables.
    """
    from reproaudit.service.judge import judge_folder, judge_logs, write_template

    paper = options.entry_named(open_workspace(audits), slug)
    if logs and measurements is None and template is None:
        judged = judge_logs(paper, logs, mapping, claims=claims or (), pages=out, tier=tier)
        return _present_judged(judged, fail_on, as_json, as_page)
    if template is not None and measurements is None and not logs:
        files = write_template(paper.audit(), template, tier or "paper", claims or ())
        lines = (
            f"wrote {files[0]} and {len(files) - 1} tables, to be filled in",
            f"then: reproaudit judge {slug} --measurements {template}",
        )
        present([str(file) for file in files], lines, as_json)
        return 0
    if logs or measurements is None or template is not None:
        raise UsageError("judge takes FILE…, --measurements DIR or --template DIR, one of them.")
    if mapping is not None:
        raise UsageError("--mapping goes with FILE…; measurements have a manifest.")
    if tier is not None:
        raise UsageError("--tier goes with --template; the manifest states the measurements' tier.")
    judged = judge_folder(paper, measurements, claims, out)
    return _present_judged(judged, fail_on, as_json, as_page)


def _present_judged(
    judged: Judged, fail_on: options.FailOn, as_json: bool, page: Path | None
) -> int:
    """Print what became of logs, if some were judged, and the answers; write a page, if asked."""
    from reproaudit.service.judge import write_brief_page

    if page is not None:
        write_brief_page(judged, page)
    from reproaudit.report.files import json_data
    from reproaudit.report.terminal import judged_lines

    lines = [*judged_lines(judged.scorecard, columns())]
    if judged.logs is not None:
        below = {*judged.scorecard.made.counted, *judged.scorecard.made.remarks}
        read = [line for line in judged.logs.lines if line not in below]
        lines = [*read, "", *lines]
    present(json_data(judged.scorecard), lines, as_json, written=judged.written)
    return exit_code([judged.scorecard], fail_on)


@app.command("import")
def import_runs(
    slug: options.PaperOrFile,
    logs: Annotated[
        list[Path], Argument(help="Logs: files, folders or archives.", metavar="LOGS…")
    ],
    out: Annotated[Path | None, Option(help="The new folder, for judge.")] = None,
    mapping: Annotated[Path | None, Option(help="What is which measurement; YAML.")] = None,
    claims: options.Claims = None,
    tier: options.Tier = None,
    who: Annotated[str | None, Option(help="Who submits them.")] = None,
    source: Annotated[str | None, Option(help="From where they are.")] = None,
    explain: Annotated[
        bool, Option("--explain", help="Write nothing: say what is seen in each file.")
    ] = False,
    audits: options.Audits = None,
    as_json: options.Json = False,
) -> int:
    """Turn logs of training runs into a folder that judge reads.

    TensorBoard event files, MLflow stores, W&B's exports, Lightning's metrics.csv, Hugging
    Face's trainer_state.json and loose tables. Configurations beside them are set against the
    audit's settings. See docs/import.md.
    """
    from reproaudit.intake.importing import explained_logs
    from reproaudit.service.judge import import_folder

    audit = options.entry_named(open_workspace(audits), slug).audit()
    if explain:
        lines = explained_logs(audit, logs, mapping)
        present(lines, lines, as_json)
        return 0
    if out is None:
        raise UsageError("import needs --out DIR, the new folder, or --explain.")
    stated = {"tier": tier, "who": who, "source": source}
    imported = import_folder(audit, logs, out, mapping, claims=claims or (), **stated)
    names = ("ignored_runs", "skipped", "settings", "lines")
    data = {"folder": str(out), **{name: getattr(imported, name) for name in names}}
    present(data, imported.lines, as_json)
    if not as_json:
        terminal().print(settings_table(imported.settings))
        say(f"wrote {out}")
        found_in = "" if audits is None else f" --audits {audits}"
        only = "".join(f" --claim {claim}" for claim in claims or ())
        say(f"next: reproaudit judge {slug}{found_in} --measurements {out}{only}")
    return 0


@app.command()
def export(
    slug: options.PaperName,
    export_format: Annotated[str, Option("--to", help=EXPORTS_HELP)],
    tier: options.Tier = None,
    out: Annotated[
        Path | None, Option(help="The file, or the folder of a format of several.")
    ] = None,
    codecheckers: Annotated[
        list[str] | None, Option("--codechecker", help="Who checked, for a CODECHECK.")
    ] = None,
    orcids: Annotated[
        list[str] | None, Option("--orcid", help="The codechecker's ORCID iD.")
    ] = None,
    author_orcids: Annotated[
        list[str] | None,
        Option("--author-orcid", help="The ORCID iD of each author, in the paper's order."),
    ] = None,
    certificate: Annotated[str | None, Option(help="The CODECHECK's number, as 2026-001.")] = None,
    report_url: Annotated[str | None, Option(help="The address of the CODECHECK's report.")] = None,
    license_url: Annotated[
        str | None, Option("--license", help="The address of an RO-Crate's licence.")
    ] = None,
    audits: options.Audits = None,
    store: options.StorePath = Path("runs"),
    reports: options.Out = None,
    as_json: options.Json = False,
) -> int:
    """Write a scorecard in a standard format.

    To exports/SLUG unless --out says otherwise. The formats are described in docs/export.md.
    """
    from reproaudit.service.export import export_paper

    workspace = open_workspace(audits, store, reports)
    (paper,) = workspace.select([slug])
    exports = export_paper(
        workspace,
        paper,
        export_format,
        tier=tier,
        out=out,
        codecheckers=tuple(codecheckers or ()),
        orcids=tuple(orcids or ()),
        author_orcids=tuple(author_orcids or ()),
        certificate=certificate,
        report=report_url,
        license_url=license_url,
    )
    for remark in exports.remarks:
        say(remark, stderr=True, style="yellow")
    present(exports.data, (), as_json, written=() if as_json else exports.written)
    return 0
