"""`reproaudit new`: the files of a new paper, drafted from its card and checklist."""

from __future__ import annotations

from datetime import date
from pathlib import Path

from reproaudit.audit.card import Card, read_card, with_checklist
from reproaudit.audit.catalog import PACKAGE, SLUG, shipped_audits
from reproaudit.audit.draft import draft_audit, draft_module
from reproaudit.audit.loading import read_audit
from reproaudit.declarations import StrictModel
from reproaudit.errors import UsageError
from reproaudit.files import same_place, write_whole


class Draft(StrictModel):
    """The files of a new paper, and what is left open."""

    slug: str
    files: tuple[Path, ...]
    """The audit, then the module."""
    todo: int
    """How many places are left open."""
    remarks: tuple[str, ...]
    """What of the card could not be read."""

    @property
    def data(self) -> dict[str, object]:
        """What ``--json`` prints."""
        return self.model_dump(mode="json")


def draft(
    slug: str,
    out: Path,
    card_file: Path | None = None,
    checklist_file: Path | None = None,
    *,
    force: bool = False,
) -> Draft:
    """Write ``SLUG.yaml`` and ``SLUG.py``.

    If OUT is the folder of the shipped audits, the module goes to the shipped modules. What
    neither a card nor a checklist says is left TODO.

    Raises:
        UsageError: if the slug has another form, or a file exists already.
        CardError: if a file is no card, or no checklist.
        StoreError: if a file cannot be written.
    """
    if SLUG.fullmatch(slug) is None:
        raise UsageError(
            f"'{slug}' is no slug. Write lower-case letters, digits and underscores, beginning "
            "with a letter: vaswani2017."
        )
    card = Card() if card_file is None else read_card(card_file)
    card = card if checklist_file is None else with_checklist(card, checklist_file)
    shipped = same_place(out, shipped_audits())
    audit_file = out / f"{slug}.yaml"
    texts = {
        audit_file: draft_audit(slug, card, date.today()),
        (PACKAGE / "papers" if shipped else out) / f"{slug}.py": draft_module(slug),
    }
    there = [str(path) for path in texts if path.exists() or path.is_symlink()]
    if there and not force:
        are = "is" if len(there) == 1 else "are"
        raise UsageError(f"{' and '.join(there)} {are} there already. --force writes over it.")
    for path, text in texts.items():
        write_whole(path, text)
    todo = len(read_audit(audit_file)[1])
    return Draft(slug=slug, files=tuple(texts), todo=todo, remarks=tuple(card.remarks))
