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
    app,
)
from reproaudit.errors import UsageError


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
