"""`reproaudit new`: the files of a new paper, drafted from what is known of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from reproaudit.audit.card import Card, read_card, with_checklist
from reproaudit.audit.catalog import PACKAGE_FOLDER, SLUG, shipped_audits
from reproaudit.audit.draft import Results, draft_audit, draft_claims, draft_module
from reproaudit.audit.loading import read_audit
from reproaudit.audit.schema import schema_text
from reproaudit.audit.stated import read_claims
from reproaudit.errors import UsageError
from reproaudit.files import same_place, write_whole
from reproaudit.service.seen import results_in


@dataclass(frozen=True)
class Draft:
    """The files of a new paper, the audit first, and how many places are left open.

    Its remarks say what of the card could not be read, and what was taken for what in results.
    """

    slug: str
    files: tuple[Path, ...]
    todo: int
    remarks: tuple[str, ...]


def draft(
    slug: str,
    out: Path,
    card_file: Path | None = None,
    checklist_file: Path | None = None,
    *,
    claims_file: Path | None = None,
    results: Sequence[Path] = (),
    force: bool = False,
) -> Draft:
    """Write ``SLUG.yaml``, and ``SLUG.py`` unless a list of claims or results to judge are given.

    If OUT is the folder of the shipped audits, the module goes to the shipped modules. What
    nothing says is left TODO. The schema by which editors complete and check an audit is put
    beside it, unless the folder has one.

    Raises:
        UsageError: if the slug has another form, or a file exists already.
        CardError: if a file is no card, no checklist, or no list of claims.
        AuditError: if results cannot be read.
        StoreError: if a file cannot be written.
    """
    if SLUG.fullmatch(slug) is None:
        raise UsageError(
            f"'{slug}' is no slug. Write lower-case letters, digits and underscores, beginning "
            "with a letter: vaswani2017."
        )
    card = Card() if card_file is None else read_card(card_file)
    card = card if checklist_file is None else with_checklist(card, checklist_file)
    audit_file = out / f"{slug}.yaml"
    remarks = list(card.remarks)
    if claims_file is not None or results:
        claims = () if claims_file is None else read_claims(claims_file)
        seen, more = results_in(results, slug) if results else (Results(), [])
        remarks += more
        texts = {audit_file: draft_claims(slug, card, date.today(), claims, seen)}
    else:
        modules = PACKAGE_FOLDER / "papers" if same_place(out, shipped_audits()) else out
        texts = {
            audit_file: draft_audit(slug, card, date.today()),
            modules / f"{slug}.py": draft_module(slug),
        }
    there = [str(path) for path in texts if path.exists() or path.is_symlink()]
    if there and not force:
        are = "is" if len(there) == 1 else "are"
        raise UsageError(f"{' and '.join(there)} {are} there already. --force writes over it.")
    schema = out / "schema.json"
    if not schema.exists():
        texts[schema] = schema_text()
    for path, text in texts.items():
        write_whole(path, text)
    todo = len(read_audit(audit_file)[1])
    return Draft(slug=slug, files=tuple(texts), todo=todo, remarks=tuple(remarks))
