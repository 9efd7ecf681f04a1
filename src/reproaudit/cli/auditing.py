"""The commands for whoever writes or reviews an audit."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from reproaudit.cli import options
from reproaudit.cli.options import app, ask_to_run, known_slugs, papers_named
from reproaudit.cli.output import present, say
from reproaudit.errors import SpecError, UsageError


@app.command()
def check(
    audits_named: Annotated[
        list[str] | None,
        Argument(
            help="Slugs, files or folders; every paper's audit if none.",
            metavar="AUDITS…",
            autocompletion=known_slugs,
        ),
    ] = None,
    audits: options.Audits = None,
    as_json: options.Json = False,
    as_sarif: Annotated[
        bool, Option("--sarif", help="Print SARIF 2.1.0, for code-review services.")
    ] = False,
    run: Annotated[
        bool, Option("--run", help="Import the modules; hold their settings against these.")
    ] = False,
    trust: options.Trust = False,
) -> int:
    """Validate audits: every fault at once, with its place and remedy.

    With --run, modules are imported, and the settings, types and alternatives of
    their experiments are held against the audits. Nothing is trained.
    """
    from reproaudit.audit.catalog import Catalog, entry_of
    from reproaudit.service.check import audit_files, fault_data, faults_in

    if as_sarif and as_json:
        raise UsageError("--sarif and --json exclude each other. Leave one of them out.")
    files = audit_files(audits_named or (), Catalog(audits))
    if run:
        ask_to_run([one for one in map(entry_of, files) if one.code is not None], trust)
    faults = [fault for file in files for fault in faults_in(file, run)]
    errors = sum(fault.severity == "error" for fault in faults)
    if as_sarif:
        from reproaudit.report.sarif import sarif_log

        present(sarif_log(faults), (), True)
    elif as_json:
        present([fault_data(fault) for fault in faults], (), True)
    else:
        for fault in faults:
            say(str(fault), style="red" if fault.severity == "error" else "yellow")
        counts = (_count(errors, "error"), _count(len(faults) - errors, "warning"))
        say(f"{_count(len(files), 'audit')}: {', '.join(counts)}")
    return SpecError.exit_code if errors else 0


def _count(number: int, noun: str) -> str:
    return f"1 {noun}" if number == 1 else f"{number or 'no'} {noun}s"


@app.command()
def new(
    slug: Annotated[str, Argument(help="The paper's short name, such as vaswani2017.")],
    card: Annotated[Path | None, Option(help="The reproducibility card, a text file.")] = None,
    checklist: Annotated[
        Path | None, Option(help="The authors' NeurIPS paper checklist, checklist.tex.")
    ] = None,
    out: Annotated[Path, Option(help="The folder of audits to write to.")] = Path("audits"),
    force: Annotated[bool, Option("--force", help="Write over files that exist.")] = False,
    as_json: options.Json = False,
) -> int:
    """Draft an audit and an experiment, from a reproducibility card, a checklist or nothing.

    What is left open is marked TODO.
    """
    from reproaudit.service.new import draft

    files, remarks, todo = draft(slug, out, card, checklist, force=force)
    data = {"slug": slug, "files": [str(file) for file in files], "todo": todo, "remarks": remarks}
    if not as_json:
        for remark in remarks:
            say(remark, style="yellow")
    lines = [f"wrote {file}" for file in files]
    lines.append(f"{todo} TODOs. List them with: reproaudit check {files[0]}")
    present(data, lines, as_json)
    return 0


@app.command()
def review(
    slug: options.PaperName,
    reviewer: Annotated[str, Option(help="Your name, initials or role.")] = "",
    orders: Annotated[
        list[str] | None,
        Option("--set", help="'Dataset Splits=disagree: REASON' and the like; no page."),
    ] = None,
    note: Annotated[
        Path | None, Option(help="A file with your opinion in at most 80 words, or -; no page.")
    ] = None,
    sign: Annotated[bool, Option("--sign-off", help="Sign this version off.")] = False,
    blind: Annotated[bool, Option(help="Hide what others decided until you have decided.")] = True,
    port: Annotated[int, Option(help="0 for any free one.")] = 0,
    tier: options.Tier = None,
    store: options.StorePath = Path("runs"),
    out: options.Out = None,
    audits: options.Audits = None,
    as_json: options.Json = False,
) -> int:
    """Review an audit in the browser: agree, disagree, dispute, write a note, sign off.

    The page is served on this machine alone. With --set, --note or --sign-off there is no page.
    What is written is SLUG.review.yaml in --audits, or in the folder 'audits' at or above the
    working directory; for want of one, the installed audit is copied to ./audits. A note is kept
    with the answers that report shows with the same --tier, --store and --out.
    """
    from reproaudit.desk.session import files_to_review, review_audit
    from reproaudit.service.review import answered, command_to_show, note_for

    (entry,) = papers_named((slug,), False, audits)
    if not reviewer.strip() or not reviewer.isprintable():
        raise UsageError("say who reviews: --reviewer NAME, a name, initials or a role.")
    audit_file, file, copies = files_to_review(entry)
    for copy in copies:
        say(f"copied from the installed package: {copy}", stderr=as_json)
    given_store = None if store == Path("runs") else store
    show = command_to_show(slug, tier=tier, store=given_store, out=out, audits=audits)
    scorecard = partial(answered, entry, store, out, tier)
    if not orders and note is None and not sign:
        try:
            from reproaudit.desk.server import serve
            from reproaudit.desk.session import DeskSession
        except ImportError as error:
            raise UsageError(
                "the page of 'reproaudit review' needs the extra 'review': in a clone of "
                "reproaudit, pip install '.[review]'. --set, --note and --sign-off do without."
            ) from error
        say(f"edits {file}; to show it: {show}", stderr=as_json)
        desk = DeskSession(audit_file, file, reviewer.strip(), blind, scorecard)
        serve(desk, port=port, tell=print)
        return 0
    written = None if note is None else note_for(note, entry, scorecard())
    changes = review_audit(audit_file, file, reviewer.strip(), orders or (), sign, written)
    colours = {"+": "green", "-": "red", "@": "cyan"}
    for line in changes.splitlines() if not as_json else ():
        say(line, style=colours.get(line[:1], ""))
    done = f"saved {file}" if changes else f"{file}: nothing to change"
    data = {"file": str(file), "changed": bool(changes), "diff": changes, "show": show}
    present(data, [done, f"to show it: {show}"], as_json)
    return 0


@app.command()
def schema() -> None:
    """Print the JSON Schema of an audit."""
    from reproaudit.audit.schema import schema_text

    sys.stdout.write(schema_text())
