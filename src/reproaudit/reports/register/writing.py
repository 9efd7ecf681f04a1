"""The register's files: `OUT/<tier>/index.html`, `register.json`, `register.csv`, and the badges.

Each paper's folder has a badge of the paper and one for each claim.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from pydantic import ValidationError

from reproaudit.errors import StoreError
from reproaudit.reports.files import OtherVersionError, folder_name, read_scorecard, replace_file
from reproaudit.reports.formats import json_text
from reproaudit.reports.register.badges import claim_badge_svg, paper_badge_svg
from reproaudit.reports.register.entries import EntrySource, paper_entry
from reproaudit.reports.register.model import PaperEntry, Register
from reproaudit.reports.register.page import register_page
from reproaudit.reports.register.table import register_csv
from reproaudit.scorecard.model import Scorecard

SCORECARD = "scorecard.json"
PAGE = "index.html"


def write_register(papers: Iterable[Scorecard], out_dir: Path) -> tuple[Path, ...]:
    """Writes the register of each tier among the papers; returns their pages.

    It holds these papers, others that are in the folder, and what is there of measurements from
    elsewhere.

    Raises:
        StoreError: if the folder cannot be written, or holds a scorecard that cannot be read.
    """
    by_tier: dict[str, dict[str, Scorecard]] = {}
    for one in papers:
        by_tier.setdefault(one.tier, {})[folder_name(one.paper.get("slug"))] = one
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


def _write_tier(folder: Path, tier: str, given: dict[str, Scorecard]) -> Path:
    slugs = {file.parent.name for file in folder.glob(f"*/{SCORECARD}")}
    slugs |= {file.parents[2].name for file in folder.glob(f"*/elsewhere/*/{SCORECARD}")}
    found = (_entry(folder, slug, given.get(slug)) for slug in sorted(slugs | given.keys()))
    papers = tuple(one for one in found if one is not None)
    register = Register(tier=tier, papers=papers)
    _update(folder / "register.json", json_text(register.as_data()))
    _update(folder / "register.csv", register_csv(papers))
    _update(folder / PAGE, register_page(register))
    return folder / PAGE


# --- a paper ------------------------------------------------------------------------------------


def _entry(folder: Path, slug: str, given: Scorecard | None) -> PaperEntry | None:
    """Returns a paper's entry, and writes its badges; None without a scorecard in its place."""
    place = folder / slug
    ours = None
    if given is not None:
        ours = _source(folder, place, given, json_text(given.as_data()).encode())
    elif (place / SCORECARD).is_file():
        ours = _read_source(folder, place)
    if ours is not None and ours.card.origin is not None:
        ours = None  # somebody moved it here
    submitted = (_read_source(folder, file.parent) for file in _submitted(place))
    elsewhere = [one for one in submitted if one is not None and one.card.origin is not None]
    if ours is None and not elsewhere:
        return None
    try:
        entry = paper_entry(ours, elsewhere)
    except (KeyError, ValidationError) as error:
        raise StoreError(
            f"{place}: its scorecard has no title, venue and year as an audit has them"
        ) from error
    _write_badges(place, entry)
    return entry


def _read_source(folder: Path, at: Path) -> EntrySource | None:
    """Returns a scorecard of the folder; None if another version of this program wrote it."""
    try:
        card = read_scorecard(at / SCORECARD)
    except OtherVersionError:
        return None
    return _source(folder, at, card, _bytes(at / SCORECARD))


def _source(folder: Path, at: Path, card: Scorecard, text: bytes) -> EntrySource:
    return EntrySource(at.relative_to(folder).as_posix(), hashlib.sha256(text).hexdigest(), card)


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
