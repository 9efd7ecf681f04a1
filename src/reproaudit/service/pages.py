"""The report folder: the pages of a scorecard, and the register of its tier."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from reproaudit.formats.scorecard import Scorecard
from reproaudit.report.files import PAGES, write_pages
from reproaudit.report.register import PAGE
from reproaudit.report.register import write_register as write_tier
from reproaudit.scorecard.files import folder_of, scorecards_in


def write_report(
    card: Scorecard, out: Path, formats: Iterable[str] = tuple(PAGES)
) -> tuple[Path, ...]:
    """Write a scorecard below the report folder; return the files, or raise a StoreError."""
    return write_pages(card, folder_of(card, out), formats)


def write_registers(papers: Iterable[Scorecard], out: Path) -> tuple[Path, ...]:
    """Write the register of each tier among the papers; return the pages, or raise a StoreError."""
    given: dict[str, dict[Path, Scorecard]] = {}
    for card in papers:
        of_tier = given.setdefault(card.tier, {})
        if card.origin is None:  # the others' scorecards are files already
            of_tier[out / card.tier / card.paper.slug] = card
    return tuple(_write_tier(out, tier, cards) for tier, cards in given.items())


def registers_of(papers: Iterable[Scorecard], out: Path) -> tuple[Path, ...]:
    """Return the pages of the registers of the papers' tiers."""
    return tuple(out / tier / PAGE for tier in dict.fromkeys(card.tier for card in papers))


def refresh_register(out: Path, tier: str) -> tuple[Path, ...]:
    """Write the register of a tier again, if there is one, from what is in the folder."""
    return (_write_tier(out, tier, {}),) if (out / tier / PAGE).is_file() else ()


def _write_tier(out: Path, tier: str, given: dict[Path, Scorecard]) -> Path:
    folder = out / tier
    return write_tier(folder, tier, dict(scorecards_in(folder, given)) | given)
