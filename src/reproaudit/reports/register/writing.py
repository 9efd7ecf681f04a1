"""The register's files: `OUT/<tier>/index.html`, `register.json`, `register.csv` and what is below.

Below them stand one JSON file and one badge for each paper, a badge for each claim, and the same
JSON by DOI. What has not changed is neither read as a scorecard nor written again.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from pydantic import ValidationError

from reproaudit.errors import StoreError
from reproaudit.reports.files import OtherVersionError, folder_name, read_scorecard, replace_file
from reproaudit.reports.formats import json_text
from reproaudit.reports.register.badges import claim_badge_svg, paper_badge_svg
from reproaudit.reports.register.entries import (
    ENTRY,
    EntrySource,
    entry_code,
    entry_data,
    is_plain,
    kept_entry,
    paper_entry,
    written_alike,
)
from reproaudit.reports.register.model import PaperEntry, Register
from reproaudit.reports.register.page import register_page
from reproaudit.reports.register.table import register_csv
from reproaudit.scorecard.model import Scorecard

SCORECARD = "scorecard.json"
PAGE = "index.html"


Given = Scorecard | PaperEntry
"""A paper of a register: its scorecard, or its entry as `write_entry` has just made it."""


def write_entry(card: Scorecard, out_dir: Path, *, is_written: bool) -> PaperEntry | None:
    """Writes a paper's entry with its badges, if they have changed; returns the entry.

    Args:
        card: the paper's own scorecard.
        out_dir: the report folder.
        is_written: whether its `scorecard.json` has just been written there.

    Raises:
        StoreError: as `write_register`.
    """
    slug = folder_name(card.paper.get("slug"))
    return _entry(Path(out_dir) / folder_name(card.tier), slug, card, is_written=is_written)


def write_register(papers: Iterable[Given], out_dir: Path) -> tuple[Path, ...]:
    """Writes the register of each tier among the papers; returns their pages.

    It holds these papers, others that are in the folder, and what is there of measurements from
    elsewhere.

    Raises:
        StoreError: if the folder cannot be written, or holds a scorecard that cannot be read.
    """
    by_tier: dict[str, dict[str, Given]] = {}
    for one in papers:
        slug = one.slug if isinstance(one, PaperEntry) else one.paper.get("slug")
        by_tier.setdefault(one.tier, {})[folder_name(slug)] = one
    return tuple(
        _write_tier(Path(out_dir) / folder_name(tier), tier, given)
        for tier, given in by_tier.items()
    )


def refresh_register(out_dir: Path, tier: str) -> tuple[Path, ...]:
    """Writes the register of a tier again, if there is one, from what is in the folder.

    Raises:
        StoreError: if the folder cannot be written, or holds a scorecard that cannot be read.
    """
    folder = Path(out_dir) / folder_name(tier)
    return (_write_tier(folder, tier, {}),) if (folder / PAGE).is_file() else ()


def _write_tier(folder: Path, tier: str, given: dict[str, Given]) -> Path:
    slugs = {file.parent.name for file in folder.glob(f"*/{SCORECARD}")}
    slugs |= {file.parents[2].name for file in folder.glob(f"*/elsewhere/*/{SCORECARD}")}
    found = (_entry(folder, slug, given.get(slug)) for slug in sorted(slugs | given.keys()))
    papers = tuple(one for one in found if one is not None)
    _write_by_doi(folder, papers)
    register = Register(tier=tier, papers=papers)
    _update(folder / "register.json", json_text(register.as_data()))
    _update(folder / "register.csv", register_csv(papers))
    _update(folder / PAGE, register_page(register))
    return folder / PAGE


# --- a paper ------------------------------------------------------------------------------------


def _entry(
    folder: Path, slug: str, given: Given | None, *, is_written: bool = False
) -> PaperEntry | None:
    """Returns a paper's entry, and writes it with its badges if it has changed."""
    if isinstance(given, PaperEntry):
        return given
    place = folder / slug
    texts = {file.parent: _bytes(file) for file in _submitted(place)}
    if given is not None and not is_written:
        texts[place] = json_text(given.as_data()).encode()
    elif (place / SCORECARD).is_file():
        texts[place] = _bytes(place / SCORECARD)
    hashes = {
        at.relative_to(folder).as_posix(): hashlib.sha256(text).hexdigest()
        for at, text in texts.items()
    }
    kept = kept_entry(place / ENTRY)
    if kept is None or hashes != _hashes(kept):
        entry = _new_entry(folder, slug, given, hashes)
    elif kept.written_by == entry_code() or written_alike(kept).answer():
        entry = kept
    else:
        entry = _new_entry(folder, slug, given, hashes)
        if entry == kept.model_copy(update={"written_by": entry_code()}):
            entry = kept
            written_alike(kept).keep(True)
    if entry is not None:
        _write_badges(place, entry)
        _update(place / ENTRY, json_text(entry_data(entry)))
    return entry


def _hashes(entry: PaperEntry) -> dict[str, str]:
    return {one.page.rpartition("/")[0]: one.sha256 for one in entry.measured}


def _new_entry(
    folder: Path, slug: str, given: Scorecard | None, hashes: Mapping[str, str]
) -> PaperEntry | None:
    """Returns an entry made of the scorecards; None if there is none where it should be."""
    sources = {}
    for at, sha256 in hashes.items():
        try:
            file = folder / at / SCORECARD
            card = given if given is not None and at == slug else read_scorecard(file)
        except OtherVersionError:
            continue
        if (card.origin is None) == (at == slug):
            sources[at] = EntrySource(at, sha256, card)
    ours = sources.pop(slug, None)
    if ours is None and not sources:
        return None
    try:
        return paper_entry(ours, tuple(sources.values()))
    except (KeyError, ValidationError) as error:
        raise StoreError(
            f"{folder / slug}: its scorecard has no title, venue and year as an audit has them"
        ) from error


def _submitted(place: Path) -> list[Path]:
    """Returns the scorecards of measurements from elsewhere that have a page, by folder."""
    files = sorted(place.glob(f"elsewhere/*/{SCORECARD}"))
    return [file for file in files if file.with_suffix(".html").is_file()]


def _write_badges(place: Path, entry: PaperEntry) -> None:
    badges = place / "badges"
    claims = () if entry.ours is None else entry.ours.claims
    wanted = {f"{claim.id}.svg": claim for claim in claims if claim.badge is not None}
    for name, claim in wanted.items():
        _update(badges / name, claim_badge_svg(claim))
    if entry.badge is not None:
        _update(place / "badge.svg", paper_badge_svg(entry))
    for file in badges.glob("*.svg"):
        if file.name not in wanted:
            file.unlink()


def _write_by_doi(folder: Path, papers: Sequence[PaperEntry]) -> None:
    """Copies each paper's entry to its DOI in small letters, and takes away what is no more."""
    wanted, by_doi = set(), folder / "doi"
    for paper in papers:
        prefix, _, suffix = (paper.doi or "").lower().partition("/")
        if re.fullmatch(r"10\.\d{4,9}", prefix) and is_plain(suffix):
            file = by_doi / prefix / f"{suffix}.json"
            _update(file, _bytes(folder / paper.slug / ENTRY).decode())
            wanted.add(file)
    for file in by_doi.glob("10.*/*.json"):
        if file not in wanted:
            file.unlink()


def _bytes(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise StoreError(f"cannot read {file}: {error.strerror or error}") from error


def _update(file: Path, text: str) -> None:
    """Writes a file if it does not hold this text already."""
    data = text.encode()
    if not file.is_file() or _bytes(file) != data:
        replace_file(file, data)
