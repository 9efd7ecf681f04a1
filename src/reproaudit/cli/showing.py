"""The commands that show, compare and hand on what was measured."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from reproaudit.cli import options
from reproaudit.cli.options import app, exit_code, papers_named
from reproaudit.cli.output import present, say, settings_table, terminal
from reproaudit.errors import AuditError, UsageError
from reproaudit.files import new_folder, report_folder

if TYPE_CHECKING:
    from reproaudit.formats.scorecard import Scorecard

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
    from reproaudit.service.listing import list_entry, list_lines

    papers = []
    code = 0
    for entry in papers_named((), True, audits):
        try:
            papers.append(list_entry(entry, store, report_folder(out, store)))
        except AuditError as error:
            say(f"{entry.slug}: {error}", stderr=True, style="red")
            code = code or error.exit_code
    present(papers, list_lines(papers, terminal().width), as_json)
    return code


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
    from reproaudit.service.report import report_papers

    cards, code = report_papers(
        papers_named(slugs, everything, audits, salt, tier),
        store,
        report_folder(out, store),
        tier=tier,
        formats=formats,
        group=group,
        one_screen=everything,
        verbose=verbose,
        as_json=as_json,
    )
    return code or exit_code(cards, fail_on)


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

    found = compare(read_scorecard(before), read_scorecard(after))
    present(found.model_dump(mode="json"), found.lines, as_json)
    return 0


@app.command("judge")
def judge_measurements(
    slug: options.PaperName,
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
    audits: options.Audits = None,
    as_json: options.Json = False,
) -> int:
    """Judge measurements made elsewhere by the same rules.

    They may be the authors' own logs or another framework's runs, and are marked as not ours. The
    manifest is described in docs/measurements.md; --template writes one with empty tables.
    """
    (entry,) = papers_named((slug,), False, audits)
    if template is not None and measurements is None:
        from reproaudit.intake.writing import template_files

        texts = template_files(entry.audit(), tier or "paper", claims or ())
        _show_template(slug, template, texts, as_json)
        return 0
    if measurements is None or template is not None:
        raise UsageError("judge takes either --measurements DIR or --template DIR.")
    if tier is not None:
        raise UsageError("--tier goes with --template; the manifest states the measurements' tier.")
    from reproaudit.intake.reading import read_submission

    submission = read_submission(entry.audit(), measurements)
    from reproaudit.report.files import json_data
    from reproaudit.report.terminal import judged_lines
    from reproaudit.scorecard.answers import scorecard_of_submission
    from reproaudit.service.pages import refresh_register, write_report

    card = scorecard_of_submission(submission, claims, entry.reviews())
    written: list[Path] = []
    if out is not None:
        written += [*write_report(card, out), *refresh_register(out, card.tier)]
    present(json_data(card), judged_lines(card), as_json, written=written)
    return exit_code([card], fail_on)


def _show_template(slug: str, folder: Path, texts: Mapping[str, str], as_json: bool) -> None:
    with new_folder(folder, "Name another with --template, or remove it.") as new:
        for name, text in texts.items():
            (new / name).parent.mkdir(exist_ok=True)
            (new / name).write_text(text, encoding="utf-8")
    files = [str(folder / name) for name in texts]
    lines = (
        f"wrote {files[0]} and {len(files) - 1} tables, to be filled in",
        f"then: reproaudit judge {slug} --measurements {folder}",
    )
    present(files, lines, as_json)


@app.command("import")
def import_runs(
    slug: options.PaperName,
    logs: Annotated[
        list[Path], Argument(help="Logs: files, folders or archives.", metavar="LOGS…")
    ],
    out: Annotated[Path, Option(help="The new folder, for judge.")],
    mapping: Annotated[Path | None, Option(help="What is which measurement; YAML.")] = None,
    claims: options.Claims = None,
    tier: options.Tier = None,
    who: Annotated[str | None, Option(help="Who submits them.")] = None,
    source: Annotated[str | None, Option(help="From where they are.")] = None,
    audits: options.Audits = None,
    as_json: options.Json = False,
) -> int:
    """Turn logs of training runs into a folder that judge reads.

    TensorBoard event files, MLflow stores, W&B's exports, Lightning's metrics.csv, Hugging
    Face's trainer_state.json and loose tables. Configurations beside them are set against the
    audit's settings. See docs/import.md.
    """
    from reproaudit.intake.importing import import_logs

    (entry,) = papers_named((slug,), False, audits)
    data = import_logs(
        entry.audit(),
        logs,
        out,
        mapping,
        claims=claims or (),
        tier=tier,
        who=who,
        source=source,
    )
    present(data, data["lines"], as_json)
    if not as_json:
        terminal().print(settings_table(data["settings"]))
        say(f"wrote {out}")
        found_in = "" if audits is None else f" --audits {audits}"
        only = "".join(f" --claim {one}" for one in claims or ())
        say(f"next: reproaudit judge {slug}{found_in} --measurements {out}{only}")
    return 0


@app.command()
def export(
    slug: options.PaperName,
    form: Annotated[str, Option("--to", help=EXPORTS_HELP)],
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
    from reproaudit.api import open_scorecard
    from reproaudit.report.export.registry import ExportRequest, export_files
    from reproaudit.report.outline import as_written_words
    from reproaudit.store.records import Store
    from reproaudit.store.shipped import packed_for_report

    (entry,) = papers_named((slug,), False, audits)

    def card() -> Scorecard:
        audit = entry.audit()
        found = open_scorecard(audit, tier=tier, store=store, reports=reports, audits=audits)
        if said := as_written_words(found):
            say(f"{slug}: {said}", stderr=True, style="yellow")
        return found

    def records(tier: str) -> Mapping[str, bytes]:
        return packed_for_report(Store(store), entry.slug, tier)

    people = (tuple(codecheckers or ()), tuple(orcids or ()))
    signed = (*people, certificate, report_url, license_url, tuple(author_orcids or ()))
    request = ExportRequest(card, entry.audit_file, records, *signed)
    written, data = export_files(form, request, slug, out)
    if missing := data.get("missing"):
        needs = f"codecheck.yml is of version 1.0; version 2.0 needs {'; '.join(missing)}."
        say(needs, stderr=True, style="yellow")
    present(data, (), as_json, written=() if as_json else written)
    return 0
