"""`reproaudit new`: the files of a new paper, drafted from its card and checklist."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

from reproaudit.audit.card import Card, read_card, with_checklist
from reproaudit.audit.catalog import PACKAGE, REVIEW_FILE, SLUG, shipped_audits
from reproaudit.audit.draft import draft_audit, draft_module, draft_reviews
from reproaudit.audit.loading import read_audit
from reproaudit.errors import UsageError
from reproaudit.running.files import write_whole

ARXIV = re.compile(r"\d{4}\.\d{4,5}")
VENUE = re.compile(r"\s*(\S.*?)\s+((?:19|20)\d\d)\s*")


def _with_known(card: Card, known: Mapping[str, str | None]) -> Card:
    given: dict[str, Any] = {name: value for name, value in known.items() if value}
    if "authors" in given:
        given["authors"] = tuple(filter(None, map(str.strip, given["authors"].split(","))))
    if "venue" in given:
        match = VENUE.fullmatch(given["venue"])
        if match is None:
            where = f"--venue '{given['venue']}'"
            raise UsageError(f"{where}: expected it with its year: NeurIPS 2024.")
        given |= {"venue": match[1], "year": int(match[2])}
    if (arxiv := given.get("arxiv")) and not ARXIV.fullmatch(arxiv):
        raise UsageError(f"--arxiv '{arxiv}': expected an identifier such as 2306.00297.")
    return replace(card, **given)


def draft(
    slug: str,
    out: Path,
    known: Mapping[str, str | None],
    card_file: Path | None = None,
    checklist_file: Path | None = None,
    *,
    force: bool = False,
) -> tuple[list[Path], list[str], int]:
    """Write ``SLUG.yaml``, ``SLUG.review.yaml`` and ``SLUG.py``.

    If OUT is the folder of the shipped audits, the module goes to the shipped modules. Without a
    card its nine results are left TODO.

    Args:
        slug: the paper's short name.
        out: the folder of audits.
        known: what precedes the card: ``title``, ``authors``, ``venue`` with its year, ``arxiv``.
        card_file: a reproducibility card.
        checklist_file: the authors' checklist.
        force: whether to write over files that exist.

    Returns:
        The files, what could not be read, and how many places are left open.

    Raises:
        UsageError: if the slug or what is known has another form, or a file exists already.
        CardError: if a file is no card, or no checklist.
        StoreError: if a file cannot be written.
    """
    if SLUG.fullmatch(slug) is None:
        raise UsageError(
            f"'{slug}' is no slug. Write lower-case letters, digits and underscores, beginning "
            "with a letter: vaswani2017."
        )
    card = _with_known(Card() if card_file is None else read_card(card_file), known)
    card = card if checklist_file is None else with_checklist(card, checklist_file)
    schema = "schema.json" if (out / "schema.json").is_file() else None
    shipped = out.resolve() == shipped_audits().resolve()
    audit_file = out / f"{slug}.yaml"
    texts = {
        audit_file: draft_audit(slug, card, date.today(), schema),
        out / f"{slug}{REVIEW_FILE}": draft_reviews(slug),
        (PACKAGE / "papers" if shipped else out) / f"{slug}.py": draft_module(slug),
    }
    there = [str(path) for path in texts if path.exists() or path.is_symlink()]
    if there and not force:
        are = "is" if len(there) == 1 else "are"
        raise UsageError(f"{' and '.join(there)} {are} there already. --force writes over it.")
    for path, text in texts.items():
        write_whole(path, text)
    return list(texts), list(card.remarks), len(read_audit(audit_file)[1])
