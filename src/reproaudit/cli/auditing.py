"""The commands for whoever writes or reviews an audit."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from reproaudit.audit.catalog import Catalog
from reproaudit.cli.options import (
    Audits,
    Json,
    PaperName,
    Trust,
    app,
    known_slugs,
)
from reproaudit.errors import UsageError


@app.command()
def check(
    audits_named: Annotated[
        list[str] | None,
        typer.Argument(
            help="Slugs, files or folders; every paper's audit if none.",
            metavar="AUDITS…",
            autocompletion=known_slugs,
        ),
    ] = None,
    audits: Audits = None,
    as_json: Json = False,
    as_sarif: Annotated[
        bool, typer.Option("--sarif", help="Print SARIF 2.1.0, for code-review services.")
    ] = False,
    run: Annotated[
        bool, typer.Option("--run", help="Import the modules; hold their settings against these.")
    ] = False,
    trust: Trust = False,
) -> int:
    """Validate audits: every fault at once, with its place and remedy.

    With --run, modules are imported, and the settings, types and alternatives of
    their experiments are held against the audits. Nothing is trained.
    """
    from reproaudit.commands.check import Form, audit_files, check_files

    if as_sarif and as_json:
        raise UsageError("--sarif and --json exclude each other. Leave one of them out.")
    files = audit_files(audits_named or (), Catalog(audits))
    form: Form = "sarif" if as_sarif else "json" if as_json else "text"
    return check_files(files, form, run=run, trust=trust)


@app.command()
def new(
    slug: Annotated[str, typer.Argument(help="The paper's short name, such as vaswani2017.")],
    card: Annotated[
        Path | None, typer.Option("--card", help="The reproducibility card, a text file.")
    ] = None,
    checklist: Annotated[
        Path | None,
        typer.Option("--checklist", help="The authors' NeurIPS paper checklist, checklist.tex."),
    ] = None,
    title: Annotated[str | None, typer.Option("--title", help="The paper's title.")] = None,
    authors: Annotated[
        str | None, typer.Option("--authors", help="Their names, separated by commas.")
    ] = None,
    venue: Annotated[
        str | None, typer.Option("--venue", help="With the year: NeurIPS 2024.")
    ] = None,
    arxiv: Annotated[str | None, typer.Option("--arxiv", help="Such as 2306.00297.")] = None,
    out: Annotated[Path, typer.Option("--out", help="The folder of audits to write to.")] = Path(
        "audits"
    ),
    force: Annotated[bool, typer.Option("--force", help="Write over files that exist.")] = False,
    as_json: Json = False,
) -> int:
    """Draft an audit and an experiment, from a reproducibility card, a checklist or nothing.

    What is left open is marked TODO.
    """
    from reproaudit.commands.new import Known, draft

    known = Known(title, authors, venue, arxiv)
    return draft(slug, card, known, out, checklist_file=checklist, force=force, as_json=as_json)


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

    The page is served on this machine alone. With --set or --sign-off there is no page. What is
    written is SLUG.review.yaml in the folder 'audits' at or above the working directory, or
    in --audits.
    """
    from reproaudit.commands.review import review_audit

    entry = Catalog(audits)[slug]
    return review_audit(entry, reviewer, orders or (), sign, blind, port, as_json)


@app.command()
def schema() -> None:
    """Print the JSON Schema of an audit."""
    from reproaudit.audit.schema import schema_text

    sys.stdout.write(schema_text())
