"""The commands for whoever writes or reviews an audit."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from reproaudit.cli import options
from reproaudit.cli.options import app, known_slugs, open_workspace, permission
from reproaudit.cli.output import present, say
from reproaudit.errors import SpecError, UsageError
from reproaudit.files import read_regular

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reproaudit.audit.catalog import Catalog

LARGEST_NOTE = 2**14  # bytes; 100 words have a twentieth of it


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
    upgrade: Annotated[
        bool, Option("--upgrade", help="Write each in the short form, SLUG.short.yaml.")
    ] = False,
    trust: options.Trust = False,
) -> int:
    """Validate audits: every fault at once, with its place and remedy.

    With --run, modules are imported, and the settings, types and alternatives of
    their experiments are held against the audits. Nothing is trained.

    With --upgrade, an audit of schema 2 that has no error is written in the short form, schema 3.
    The old file stays: move the new one over it. Comments are left out, and nothing else.
    """
    from reproaudit.audit.catalog import Catalog
    from reproaudit.service.check import check_audits

    if upgrade:
        return _upgrade(audits_named or (), Catalog(audits), as_json)
    if as_sarif and as_json:
        raise UsageError("--sarif and --json exclude each other. Leave one of them out.")
    checked = check_audits(audits_named or (), Catalog(audits), run, permission(trust))
    if as_sarif:
        from reproaudit.report.sarif import sarif_log

        present(sarif_log(checked.faults), (), True)
    elif as_json:
        present(checked.data, (), True)
    else:
        for fault in checked.faults:
            say(str(fault), style="red" if fault.severity == "error" else "yellow")
        warnings = len(checked.faults) - checked.errors
        counts = (_count(checked.errors, "error"), _count(warnings, "warning"))
        say(f"{_count(len(checked.files), 'audit')}: {', '.join(counts)}")
    return SpecError.exit_code if checked.errors else 0


def _upgrade(named: Sequence[str], catalog: Catalog, as_json: bool) -> int:
    from reproaudit.service.check import upgrade_audits

    upgrades = upgrade_audits(named, catalog)
    present(upgrades.data, upgrades.lines, as_json)
    return SpecError.exit_code if upgrades.faults else 0


def _count(number: int, noun: str) -> str:
    return f"1 {noun}" if number == 1 else f"{number or 'no'} {noun}s"


@app.command()
def new(
    slug: Annotated[str, Argument(help="The paper's short name, such as vaswani2017.")],
    card: Annotated[Path | None, Option(help="The reproducibility card, a text file.")] = None,
    checklist: Annotated[
        Path | None, Option(help="The authors' NeurIPS paper checklist, checklist.tex.")
    ] = None,
    claims: Annotated[
        Path | None, Option(help="A list of claims: JSON, or a line of text for each.")
    ] = None,
    results: Annotated[
        list[Path] | None, Option("--from", help="Results to judge: what judge reads.")
    ] = None,
    out: Annotated[Path, Option(help="The folder of audits to write to.")] = Path("audits"),
    force: Annotated[bool, Option("--force", help="Write over files that exist.")] = False,
    as_json: options.Json = False,
) -> int:
    """Draft an audit, from what is known of a paper.

    What is left open is marked TODO. With --claims or --from the audit judges results that were
    made elsewhere; without, an experiment is drafted as well, SLUG.py.
    """
    from reproaudit.service.new import draft

    drafted = draft(
        slug, out, card, checklist, claims_file=claims, results=results or (), force=force
    )
    if not as_json:
        for remark in drafted.remarks:
            say(remark, style="yellow")
    lines = [f"wrote {file}" for file in drafted.files]
    lines.append(f"{drafted.todo} TODOs. List them with: reproaudit check {drafted.files[0]}")
    if not (claims or results):
        lines.append(f"then: reproaudit run {slug} --audits {out}")
    if results:
        lines.append(f"then: reproaudit judge {drafted.files[0]} {' '.join(map(str, results))}")
    present(drafted, lines, as_json)
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
        Path | None, Option(help="A file with your opinion in at most 100 words, or -; no page.")
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
    from reproaudit.service import review_files as files

    workspace = open_workspace(audits, store, out)
    (paper,) = workspace.select([slug])
    who = files.named_reviewer(reviewer)
    audit_file, file, copies = files.files_to_review(paper)
    for copy in copies:
        say(f"copied from the installed package: {copy}", stderr=as_json)
    if not orders and note is None and not sign:
        try:
            from reproaudit.desk.server import serve
            from reproaudit.desk.session import DeskSession
        except ImportError as error:
            raise UsageError(
                "the page of 'reproaudit review' needs the extra 'review': in a clone of "
                "reproaudit, pip install '.[review]'. --set, --note and --sign-off do without."
            ) from error
        show = files.command_to_show(workspace, slug, tier)
        say(f"edits {file}; to show it: {show}", stderr=as_json)
        read = partial(files.answers_reviewed, workspace, paper, tier)
        serve(DeskSession(audit_file, file, who, blind, read), port=port, tell=print)
        return 0
    text = None if note is None else note_in(note)
    said = {"note": text, "sign": sign, "tier": tier}
    reviewed = files.review_audit(workspace, paper, who, orders or (), **said)
    colours = {"+": "green", "-": "red", "@": "cyan"}
    for line in reviewed.diff.splitlines() if not as_json else ():
        say(line, style=colours.get(line[:1], ""))
    done = f"saved {reviewed.file}" if reviewed.changed else f"{reviewed.file}: nothing to change"
    present(reviewed, [done, f"to show it: {reviewed.show}"], as_json)
    return 0


def note_in(file: Path) -> str:
    """Return the text of a note's file, of ``-`` standard input's; a UsageError if it is none."""
    try:
        if str(file) == "-":
            content = sys.stdin.buffer.read(LARGEST_NOTE + 1)
        else:
            content = read_regular(file, LARGEST_NOTE)
        if len(content) > LARGEST_NOTE:
            raise UsageError(f"--note {file}: found more than {LARGEST_NOTE:,} bytes.")
        return content.decode("utf-8-sig")
    except OSError as error:
        raise UsageError(f"--note {file}: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"--note {file}: found no UTF-8; expected a text file.") from error


@app.command()
def schema(
    parts: Annotated[
        list[str] | None,
        Argument(help="Kinds of checks, parts of an audit, or fields; 'all' for a page."),
    ] = None,
) -> None:
    """Print the JSON Schema of an audit, or what parts of it are made of.

    The parts are audit, paper, group, readings, tier, axis, bound, measurement, experiment, arm,
    claim, grade and quantity; and of the mapping by which results are read: files, mapping,
    columns, runs.
    """
    from reproaudit.audit.schema import schema_text
    from reproaudit.service.parts import parts_texts

    for text in parts_texts(parts) if parts else [schema_text()]:
        sys.stdout.write(text)


@app.command()
def skill() -> None:
    """Print a page for agents: how to go from a paper to a judged claim, and what never to do.

    Keep it where your agent looks for skills: reproaudit skill > skills/reproaudit/SKILL.md.
    """
    from reproaudit.audit.catalog import skill_text

    sys.stdout.write(skill_text())
