"""`reproaudit new`: the two files of a new paper, drafted from its reproducibility card."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

from reproaudit.audit.card import Card, read_card
from reproaudit.audit.catalog import PACKAGE, shipped_audits
from reproaudit.audit.draft import draft_audit, draft_module
from reproaudit.audit.loading import read_text
from reproaudit.commands.output import print_json, say, say_written
from reproaudit.errors import UsageError

SLUG = re.compile(r"[a-z][a-z0-9_]{0,63}")


def draft(slug: str, card_file: Path, out: Path, *, force: bool, as_json: bool) -> int:
    """Writes ``OUT/SLUG.yaml`` and ``OUT/SLUG.py``, and prints the lines that it could not read.

    If OUT is the folder of the shipped audits, the module goes to the shipped modules.

    Raises:
        UsageError: if the slug is no name, or a file exists already.
        CardError: if the file is no card.
    """
    if SLUG.fullmatch(slug) is None:
        raise UsageError(
            f"'{slug}' is no slug. Write lower-case letters, digits and underscores, beginning "
            "with a letter: vaswani2017."
        )
    card = read_card(card_file)
    schema = "schema.json" if (out / "schema.json").is_file() else None
    shipped = out.resolve() == shipped_audits().resolve()
    texts = {
        out / f"{slug}.yaml": draft_audit(slug, card, date.today(), schema),
        (PACKAGE / "papers" if shipped else out) / f"{slug}.py": draft_module(slug),
    }
    _write(texts, force)
    audit_file, audit_text = next(iter(texts.items()))
    open_places = len(read_text(audit_text, str(audit_file))[1])
    _print(slug, card, list(texts), open_places, as_json)
    return 0


def _write(texts: dict[Path, str], force: bool) -> None:
    there = [str(path) for path in texts if path.exists() or path.is_symlink()]
    if there and not force:
        are = "is" if len(there) == 1 else "are"
        raise UsageError(f"{' and '.join(there)} {are} there already. --force writes over it.")
    try:
        for path, text in texts.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{error.filename}: {(error.strerror or str(error)).lower()}") from error


def _print(slug: str, card: Card, paths: list[Path], open_places: int, as_json: bool) -> None:
    remarks = [str(remark) for remark in card.remarks]
    if as_json:
        data = {"slug": slug, "files": list(map(str, paths)), "todo": open_places}
        print_json({**data, "remarks": remarks})
        return
    for remark in remarks:
        say(f"card: {remark}", style="yellow")
    say_written(paths)
    say(f"{open_places} TODOs. List them with: reproaudit check {paths[0]}")
