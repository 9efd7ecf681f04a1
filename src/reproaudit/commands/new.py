"""`reproaudit new`: the files of a new paper, drafted from its card and checklist."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

from reproaudit.audit.card import NO_CARD, Card, read_card
from reproaudit.audit.catalog import PACKAGE, REVIEW_FILE, SLUG, shipped_audits
from reproaudit.audit.checklist import NO_CHECKLIST, read_checklist
from reproaudit.audit.draft import draft_audit, draft_module, draft_reviews
from reproaudit.audit.loading import read_text
from reproaudit.errors import UsageError

ARXIV = re.compile(r"\d{4}\.\d{4,5}")
VENUE = re.compile(r"\s*(\S.*?)\s+((?:19|20)\d\d)\s*")


def _with_known(card: Card, known: Mapping[str, str | None]) -> Card:
    given = {name: value for name, value in known.items() if value is not None}
    facts: dict[str, Any] = {"title": given.get("title") or card.title}
    if names := [one.strip() for one in given.get("authors", "").split(",") if one.strip()]:
        facts["authors"] = tuple(names)
    if "venue" in given:
        match = VENUE.fullmatch(given["venue"])
        if match is None:
            where = f"--venue '{given['venue']}'"
            raise UsageError(f"{where}: expected it with its year: NeurIPS 2024.")
        facts |= {"venue": match[1], "year": int(match[2])}
    return replace(card, **facts)


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
    """
    if SLUG.fullmatch(slug) is None:
        raise UsageError(
            f"'{slug}' is no slug. Write lower-case letters, digits and underscores, beginning "
            "with a letter: vaswani2017."
        )
    arxiv = known.get("arxiv")
    if arxiv is not None and not ARXIV.fullmatch(arxiv):
        raise UsageError(f"--arxiv '{arxiv}': expected an identifier such as 2306.00297.")
    card = _with_known(NO_CARD if card_file is None else read_card(card_file), known)
    checklist = NO_CHECKLIST if checklist_file is None else read_checklist(checklist_file)
    schema = "schema.json" if (out / "schema.json").is_file() else None
    shipped = out.resolve() == shipped_audits().resolve()
    audit = draft_audit(slug, card, date.today(), schema, arxiv, checklist)
    audit_file = out / f"{slug}.yaml"
    texts = {
        audit_file: audit,
        out / f"{slug}{REVIEW_FILE}": draft_reviews(slug),
        (PACKAGE / "papers" if shipped else out) / f"{slug}.py": draft_module(slug),
    }
    _write(texts, force)
    remarks = [f"card: {one}" for one in card.remarks]
    remarks += [f"checklist: {one}" for one in checklist.remarks]
    return list(texts), remarks, len(read_text(audit, str(audit_file))[1])


def _write(texts: Mapping[Path, str], force: bool) -> None:
    there = [str(path) for path in texts if path.exists() or path.is_symlink()]
    if there and not force:
        are = "is" if len(there) == 1 else "are"
        raise UsageError(f"{' and '.join(there)} {are} there already. --force writes over it.")
    for path in texts:
        if path.is_symlink():
            raise UsageError(f"{path} is a link, which --force does not write through. Remove it.")
    try:
        for path, text in texts.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{error.filename}: {(error.strerror or str(error)).lower()}") from error
