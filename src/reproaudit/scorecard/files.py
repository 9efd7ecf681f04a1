"""Scorecards in the report folder: `OUT/<tier>/<slug>/scorecard.json`, whose they are, and reading.

`scorecard.json` is read back into the very scorecard that was written, so that the other files can
be made again from it, byte by byte. Pages of measurements that are not ours have a folder of their
own, `OUT/<tier>/<slug>/elsewhere/<who and when>/`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from reproaudit.errors import StoreError
from reproaudit.files import decode_json, read_regular
from reproaudit.formats.scorecard import SCHEMA_VERSION, Scorecard
from reproaudit.lazy import deferred

SCORECARD = "scorecard.json"
HEADLESS = 4
"""The version before, without head and rows; they are made of its answers."""
MOST_CARD_BYTES = 2**26
"""Of a `scorecard.json`; the largest so far has a fiftieth of it."""


class OtherVersionError(StoreError):
    """The scorecard was written by another version of this program."""


def folder_of(card: Scorecard, out: Path) -> Path:
    """Return the folder of a scorecard's pages; of others' measurements a new one, or their own."""
    paper = out / card.tier / card.paper.slug
    if card.origin is None:
        return paper
    who = re.sub(r"[^a-z0-9]+", "_", card.origin.who.lower()).strip("_")[:40] or "someone"
    first = f"by_{who}_{re.sub('[^0-9]+', '_', str(card.origin.made))}"
    number = 1
    while True:
        folder = paper / "elsewhere" / (first if number == 1 else f"{first}_{number}")
        if not (folder / SCORECARD).exists() or _is_same(folder, card):
            return folder
        number += 1


def _is_same(folder: Path, card: Scorecard) -> bool:
    """Whether a folder holds the same measurements, judged for the same claims."""
    try:
        there = read_scorecard(folder / SCORECARD)
    except StoreError:
        return False
    mine, theirs = ([(claim.id, claim.base) for claim in card.claims] for card in (card, there))
    return mine == theirs


def scorecards_in(folder: Path, without: Container[Path]) -> Iterator[tuple[Path, Scorecard]]:
    """Yield each scorecard below a tier's folder, with its folder, unless another version wrote it.

    A file that is no scorecard is a StoreError.
    """
    files = [*folder.glob(f"*/{SCORECARD}"), *folder.glob(f"*/elsewhere/*/{SCORECARD}")]
    for file in sorted(file for file in files if file.parent not in without):
        try:
            yield file.parent, read_scorecard(file)
        except OtherVersionError:
            continue  # its pages are another version's; its paper is reported anew


def read_scorecard(path: Path) -> Scorecard:
    """Read a `scorecard.json`, or the one in a folder.

    Raises:
        OtherVersionError: if it is a scorecard of another version.
        StoreError: if it cannot be read, or is no scorecard.
    """
    path = path / SCORECARD if path.is_dir() else path
    try:
        content = read_regular(path, MOST_CARD_BYTES)
        data = decode_json(content)
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror or error}") from error
    except ValueError as error:
        raise StoreError(f"{path} is not JSON: {error}") from error
    version = data.get("schema_version") if isinstance(data, dict) else None
    if version not in (HEADLESS, SCHEMA_VERSION):
        raise OtherVersionError(
            f"{path} has scorecard version {version!r}, which another version of reproaudit wrote; "
            f"this one reads versions {HEADLESS} and {SCHEMA_VERSION}. Make it again from its "
            "records: reproaudit report SLUG --tier TIER"
        )
    try:
        if version == HEADLESS:
            return _with_words(data)
        return Scorecard.model_validate_json(content)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "as a whole"
        raise StoreError(f"{path} is no scorecard: {where}: {first['msg']}") from error


def _with_words(data: dict[str, Any]) -> Scorecard:
    """A scorecard of version 4 without its figures, with the words that its answers have today."""
    headless = {**data, "schema_version": SCHEMA_VERSION, "slug": "", **_NO_WORDS}
    card = Scorecard.model_validate_json(json.dumps(headless))
    judged = _verdict.JudgedPaper(
        card.audit, card.tier, card.claims, card.reviews, card.origin, card.earlier_results
    )
    return card.model_copy(update={**judged.words(), "slug": card.paper.slug})


_verdict = deferred("reproaudit.scorecard.verdict")

_NO_WORDS: Mapping[str, Any] = {
    "head": {
        **dict.fromkeys(("title", "byline", "scale", "runs", "read", "not_read"), ""),
        **dict.fromkeys(("verdict", "claims"), ()),
        "counts": {"paper": {}},
    },
    "figures": {},
    "rows": (),
    "answers": (),
    "tried": (),
}
"""In place of the words of a scorecard that has none."""
