"""Scorecards as files: `OUT/<tier>/<slug>/scorecard.{html,json,md}`, each whole or absent.

`scorecard.json` is read back into the very scorecard that was written, so that the other files can
be made again from it, byte by byte. Pages of measurements that are not ours have a folder of their
own, `OUT/<tier>/<slug>/elsewhere/<who and when>/`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from reproaudit.errors import StoreError, UsageError, did_you_mean
from reproaudit.files import decode_json, read_regular, write_whole
from reproaudit.formats.verdict import SCHEMA_VERSION, Scorecard
from reproaudit.lazy import deferred

MOST_CARD_BYTES = 2**26
"""Of a `scorecard.json`; the largest so far has a fiftieth of it."""

TERMINAL = "terminal"
"""Printed, and no file."""


class OtherVersionError(StoreError):
    """The scorecard was written by another version of this program."""


@dataclass(frozen=True)
class PageFormat:
    """A format of a page.

    Attributes:
        name: on the command line, and the file's ending.
        media_type: such as text/html.
    """

    name: str
    media_type: str
    about: str
    render: Callable[[Scorecard], str]

    @property
    def file(self) -> str:
        """The name of a scorecard's file in this format."""
        return f"scorecard.{self.name}"


_pages = deferred("reproaudit.report.pages")


def json_text(card: Scorecard) -> str:
    """Return the scorecard as JSON with a trailing newline; of the audit, what its file states."""
    return card.model_dump_json(by_alias=True, exclude_unset=True, indent=1) + "\n"


def json_data(card: Scorecard) -> dict[str, Any]:
    """Return what the scorecard's JSON holds."""
    return card.model_dump(mode="json", by_alias=True, exclude_unset=True)


PAGES: Mapping[str, PageFormat] = {
    one.name: one
    for one in (
        PageFormat(
            "html",
            "text/html",
            "The scorecard, as a page that needs nothing else",
            lambda card: str(_pages.html(card)),
        ),
        PageFormat(
            "json",
            "application/json",
            "The scorecard, with every number, for programs",
            json_text,
        ),
        PageFormat(
            "md",
            "text/markdown",
            "The scorecard, as text",
            lambda card: str(_pages.markdown(card)),
        ),
    )
}
FORMATS = (TERMINAL, *PAGES)


def chosen_formats(words: str) -> frozenset[str]:
    """Return the formats that ``--format`` names; a UsageError at a name that is none."""
    names = [word.strip() for word in words.split(",") if word.strip()]
    for name in names:
        if name not in FORMATS:
            raise UsageError(f"no format '{name}'. {did_you_mean(name, FORMATS)}")
    return frozenset(names)


def write_report(
    card: Scorecard, out: Path, formats: Iterable[str] = tuple(PAGES)
) -> tuple[Path, ...]:
    """Write a scorecard in some formats; return the files, or raise a StoreError."""
    folder = folder_of(card, out)
    wanted = set(formats)
    if card.origin is not None:
        wanted.add("json")  # by which the same measurements are known again
    return tuple(
        write_whole(folder / page.file, page.render(card))
        for name, page in PAGES.items()
        if name in wanted
    )


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
        if not (folder / "scorecard.json").exists() or _is_same(folder, card):
            return folder
        number += 1


def _is_same(folder: Path, card: Scorecard) -> bool:
    """Whether a folder holds the same measurements, judged for the same claims."""
    try:
        there = read_scorecard(folder / "scorecard.json")
    except StoreError:
        return False
    mine, theirs = ([(one.id, one.base) for one in card.claims] for card in (card, there))
    return mine == theirs


def read_scorecard(path: Path) -> Scorecard:
    """Read a `scorecard.json`, or the one in a folder.

    Raises:
        OtherVersionError: if it is a scorecard of another version.
        StoreError: if it cannot be read, or is no scorecard.
    """
    path = path / "scorecard.json" if path.is_dir() else path
    try:
        content = read_regular(path, MOST_CARD_BYTES)
        data = decode_json(content)
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror or error}") from error
    except ValueError as error:
        raise StoreError(f"{path} is not JSON: {error}") from error
    version = data.get("schema_version") if isinstance(data, dict) else None
    if version != SCHEMA_VERSION:
        raise OtherVersionError(
            f"{path} has scorecard version {version!r}, which another version of reproaudit wrote; "
            f"this one reads version {SCHEMA_VERSION}. Make it again from its records: "
            "reproaudit report SLUG --tier TIER"
        )
    try:
        return Scorecard.model_validate_json(content)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "as a whole"
        raise StoreError(f"{path} is no scorecard: {where}: {first['msg']}") from error
