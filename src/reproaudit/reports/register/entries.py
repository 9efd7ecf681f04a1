"""A paper's entry in the register: our own scorecard, and those of measurements from elsewhere."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import quote

from reproaudit.audit.documentation import UNSCORED
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
from reproaudit.scorecard.documentation import DocumentationModel
from reproaudit.scorecard.model import ClaimModel, Scorecard

_Entry = TypeVar("_Entry", bound=ReportModel)


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
