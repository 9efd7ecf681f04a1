"""`reproaudit new`: the files of a new paper, drafted from its card and checklist."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

from reproaudit.audit.card import NO_CARD, Card, read_card
from reproaudit.audit.catalog import PACKAGE, REVIEW_FILE, SLUG, shipped_audits
from reproaudit.audit.checklist import NO_CHECKLIST, read_checklist
from reproaudit.audit.draft import draft_audit, draft_module, draft_reviews
from reproaudit.audit.loading import read_text
from reproaudit.commands.output import print_json, say, say_written
from reproaudit.errors import UsageError


@dataclass(frozen=True)
class Known:
    """Facts of a paper that the command line gives; they take precedence over the card's.

    Attributes:
        title: the paper's title.
        authors: their names, separated by commas.
        venue: where it was published, with the year: "NeurIPS 2024".
        arxiv: its arXiv identifier.
    """

    title: str | None = None
    authors: str | None = None
    venue: str | None = None
    arxiv: str | None = None

    def on(self, card: Card) -> Card:
        """Returns the card with what is known put in.

        Raises:
            UsageError: if the venue has no year, or the identifier is none.
        """
        if self.arxiv is not None and not ARXIV.fullmatch(self.arxiv):
            raise UsageError(f"--arxiv '{self.arxiv}': expected an identifier such as 2306.00297.")
        venue, year = card.venue, card.year
        if self.venue is not None:
            match = re.fullmatch(r"\s*(\S.*?)\s+((?:19|20)\d\d)\s*", self.venue)
            if match is None:
                raise UsageError(
                    f"--venue '{self.venue}': expected it with its year: NeurIPS 2024."
                )
            venue, year = match[1], int(match[2])
        names = (self.authors or "").split(",")
        authors = tuple(name.strip() for name in names if name.strip()) or card.authors
        return replace(
            card, title=self.title or card.title, authors=authors, venue=venue, year=year
        )


ARXIV = re.compile(r"\d{4}\.\d{4,5}")


def draft(
    slug: str,
    card_file: Path | None,
    known: Known,
    out: Path,
    *,
    checklist_file: Path | None = None,
    force: bool,
    as_json: bool,
) -> int:
    """Write ``SLUG.yaml``, ``SLUG.review.yaml`` and ``SLUG.py``; print what could not be read.

    If OUT is the folder of the shipped audits, the module goes to the shipped modules. Without a
    card its nine results are left TODO.

    Raises:
        UsageError: if the slug is no name, or a file exists already.
        CardError: if a file is no card, or no checklist.
    """
    if SLUG.fullmatch(slug) is None:
        raise UsageError(
            f"'{slug}' is no slug. Write lower-case letters, digits and underscores, beginning "
            "with a letter: vaswani2017."
        )
    card = known.on(NO_CARD if card_file is None else read_card(card_file))
    checklist = NO_CHECKLIST if checklist_file is None else read_checklist(checklist_file)
    schema = "schema.json" if (out / "schema.json").is_file() else None
    shipped = out.resolve() == shipped_audits().resolve()
    texts = {
        out / f"{slug}.yaml": draft_audit(slug, card, date.today(), schema, known.arxiv, checklist),
        out / f"{slug}{REVIEW_FILE}": draft_reviews(slug),
        (PACKAGE / "papers" if shipped else out) / f"{slug}.py": draft_module(slug),
    }
    _write(texts, force)
    audit_file, audit_text = next(iter(texts.items()))
    open_places = len(read_text(audit_text, str(audit_file))[1])
    remarks = [f"card: {one}" for one in card.remarks]
    remarks += [f"checklist: {one}" for one in checklist.remarks]
    _print(slug, remarks, list(texts), open_places, as_json)
    return 0


def _write(texts: dict[Path, str], force: bool) -> None:
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


def _print(
    slug: str, remarks: list[str], paths: list[Path], open_places: int, as_json: bool
) -> None:
    if as_json:
        data = {"slug": slug, "files": list(map(str, paths)), "todo": open_places}
        print_json({**data, "remarks": remarks})
        return
    for remark in remarks:
        say(remark, style="yellow")
    say_written(paths)
    say(f"{open_places} TODOs. List them with: reproaudit check {paths[0]}")
