"""A paper's entry in the register, out of its scorecard and those of measurements from elsewhere.

An entry is kept beside the scorecard and is taken again while the scorecards' bytes and its own
content are unchanged, and the code that writes entries would write the same. So a register of many
papers reads anew only what has changed.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

import reproaudit
from reproaudit.audit.documentation import UNSCORED
from reproaudit.bounded import decode_json, read_regular
from reproaudit.judging.model import ReportModel
from reproaudit.reports import phrasing, reviewing
from reproaudit.reports.export.provenance import identifiers
from reproaudit.reports.register.model import (
    ClaimEntry,
    DocumentationEntry,
    MeasuredEntry,
    PaperEntry,
    VariableEntry,
)
from reproaudit.reports.register.strip import strip_entry
from reproaudit.running.memo import Memo
from reproaudit.scorecard.documentation import DocumentationModel
from reproaudit.scorecard.model import (
    ClaimModel,
    Scorecard,
    content_digest,
)

ENTRY = "register.json"
"""The name of an entry's file, in the paper's folder."""

_Entry = TypeVar("_Entry", bound=ReportModel)


MOST_ENTRY_BYTES = 2**24
"""Of a paper's entry in a register."""


@dataclass(frozen=True)
class EntrySource:
    """A scorecard that an entry is made of.

    Attributes:
        folder: of its page, from the register's folder: ``<slug>``, ``<slug>/elsewhere/<who>``.
        sha256: of the bytes of its `scorecard.json`.
        card: the scorecard.
    """

    folder: str
    sha256: str
    card: Scorecard


def is_plain(name: str) -> bool:
    """Returns whether a name can be a file's; a foreign scorecard may hold anything."""
    return re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._()-]{0,200}", name) is not None


@cache
def entry_code() -> str:
    """Returns a hash of the code that makes entries: reports, scorecards and their words."""
    root = Path(reproaudit.__file__).parent
    whole = hashlib.sha256()
    for folder in ("reports", "scorecard"):
        for file in sorted((root / folder).rglob("*.py")):
            whole.update(file.read_bytes())
    return whole.hexdigest()[:16]


def kept_entry(file: Path) -> PaperEntry | None:
    """Returns the entry that a file holds, whatever code wrote it; None if it is damaged."""
    with suppress(OSError, ValueError, RecursionError):
        data = decode_json(read_regular(file, MOST_ENTRY_BYTES))
        stated = data.pop("digest", None) if isinstance(data, dict) else None
        if stated and stated == content_digest(data):
            return PaperEntry.model_validate(data)
    return None


def written_alike(kept: PaperEntry) -> Memo:
    """Returns where it is remembered that today's code would write a kept entry as it is."""
    return Memo(["register entry", entry_code(), content_digest(kept.as_data())], {})


def entry_data(entry: PaperEntry) -> dict[str, Any]:
    """Returns an entry as its file holds it, with the digest of the rest."""
    data = entry.as_data()
    return {**data, "digest": content_digest(data)}


def paper_entry(ours: EntrySource | None, elsewhere: Sequence[EntrySource]) -> PaperEntry:
    """Returns the entry of a paper.

    Args:
        ours: our own scorecard; None if only others measured.
        elsewhere: those of measurements from elsewhere, in the order in which they are shown.
    """
    card = (ours or elsewhere[0]).card
    paper = card.paper
    slug = str(paper["slug"])
    doi = next((one.value for one in identifiers(paper) if one.scheme == "DOI"), None)
    return PaperEntry(
        tier=card.tier,
        slug=slug,
        title=str(paper["title"]),
        authors=tuple(map(str, paper.get("authors", ()))),
        venue=str(paper["venue"]),
        year=paper["year"],
        doi=doi,
        arxiv=paper.get("arxiv"),
        openreview=paper.get("openreview"),
        code=paper.get("code"),
        badge=None if ours is None else f"{quote(slug)}/badge.svg",
        documentation=_documentation(card.documentation),
        ours=None if ours is None else _measured(ours),
        elsewhere=tuple(_measured(one) for one in elsewhere),
        written_by=entry_code(),
    )


def _documentation(found: DocumentationModel) -> DocumentationEntry:
    return _entry(
        DocumentationEntry,
        found,
        rate=reviewing.rate_words(found),
        agreement=reviewing.agreement_words(found.agreement) if found.agreement else None,
        variables=[
            _entry(
                VariableEntry,
                one,
                scored=one.name not in UNSCORED,
                dispute=reviewing.disagreement(one) if _is_disputed(one.decision) else None,
            )
            for one in found.variables
        ],
    )


def _is_disputed(decision: str) -> bool:
    return decision == reviewing.DISPUTED


def _measured(source: EntrySource) -> MeasuredEntry:
    card, folder = source.card, quote(source.folder)
    badges = None if card.origin else folder
    return _entry(
        MeasuredEntry,
        card,
        page=f"{folder}/scorecard.html",
        scorecard=f"{folder}/scorecard.json",
        sha256=source.sha256,
        verdicts=phrasing.verdict_counts(card.claims),
        strip=strip_entry(card, f"{folder}/scorecard.html"),
        claims=[
            _claim(claim, f"{folder}/scorecard.html#claim-{n}", badges)
            for n, claim in enumerate(card.claims, start=1)
        ],
    )


def _claim(claim: ClaimModel, page: str, badges: str | None) -> ClaimEntry:
    part = phrasing.deciding_part(claim)
    return _entry(
        ClaimEntry,
        claim,
        verdict_words=phrasing.verdict_title(claim),
        evidence=phrasing.evidence_label(claim),
        side=None if part is None else part.side,
        margin=None if part is None else part.margin,
        reading=phrasing.claim_sentence(claim),
        page=page,
        badge=f"{badges}/badges/{quote(claim.id)}.svg" if badges and is_plain(claim.id) else None,
    )


def _entry(kind: type[_Entry], shown: ReportModel, **more: Any) -> _Entry:
    """An entry with what a model of the scorecard has under the same names, and with more."""
    same = {name: getattr(shown, name) for name in kind.model_fields if name not in more}
    return kind.model_validate({**same, **more}, from_attributes=True)
