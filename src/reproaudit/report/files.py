"""A scorecard as files: `scorecard.{html,json,md}`, each whole or absent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reproaudit.errors import UsageError, did_you_mean
from reproaudit.files import write_whole
from reproaudit.formats.scorecard import Scorecard
from reproaudit.lazy import deferred

TERMINAL = "terminal"
"""Printed, and no file."""


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
    page.name: page
    for page in (
        PageFormat(
            "html",
            "text/html",
            "The scorecard, as a page that needs nothing else",
            lambda card: str(_pages.html(card)),
        ),
        PageFormat(
            "json", "application/json", "The scorecard, with every number, for programs", json_text
        ),
        PageFormat(
            "md", "text/markdown", "The scorecard, as text", lambda card: str(_pages.markdown(card))
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


def write_pages(card: Scorecard, folder: Path, formats: Iterable[str]) -> tuple[Path, ...]:
    """Write a scorecard into a folder in some formats; return the files, or raise a StoreError."""
    wanted = set(formats)
    if card.origin is not None:
        wanted.add("json")  # by which the same measurements are known again
    return tuple(
        write_whole(folder / page.file, page.render(card))
        for name, page in PAGES.items()
        if name in wanted
    )
