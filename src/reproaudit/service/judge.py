"""`reproaudit judge` and `import`: measurements made elsewhere, and the folders that hold them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from reproaudit.audit.model import Audit, TierName
from reproaudit.audit.review import Reviews
from reproaudit.files import new_folder
from reproaudit.formats.scorecard import Scorecard
from reproaudit.intake.reading import Submission, read_submission
from reproaudit.intake.writing import template_files
from reproaudit.report.files import json_data
from reproaudit.scorecard.answers import scorecard_of_submission
from reproaudit.service.pages import refresh_register, write_report


@dataclass(frozen=True)
class Judged:
    """The answers to measurements from elsewhere, and the files that were written."""

    scorecard: Scorecard
    written: tuple[Path, ...] = ()

    @property
    def data(self) -> dict[str, Any]:
        """What ``--json`` prints."""
        return json_data(self.scorecard)


@dataclass(frozen=True)
class Imported:
    """What became of logs.

    Attributes:
        folder: the new folder, which `judge` reads.
        ignored_runs: names of runs that nothing was made of.
        skipped: files that were not read, each with the reason.
        settings: each setting that the audit has, beside what the logs state.
        lines: all of it in words.
    """

    folder: str
    ignored_runs: Sequence[str]
    skipped: Sequence[str]
    settings: Sequence[Mapping[str, Any]]
    lines: Sequence[str]

    @property
    def data(self) -> dict[str, Any]:
        """What ``--json`` prints."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


def judge_elsewhere(
    audit: Audit,
    measurements: Path | Submission,
    claims: Sequence[str] | None = None,
    reviews: Reviews | None = None,
    pages: Path | None = None,
) -> Judged:
    """Judge measurements by the rules of an audit.

    Args:
        measurements: a folder with a manifest, or what was read already.
        claims: ids of the claims to judge; every claim if none.
        pages: the folder of reports; no page is written if None.

    Raises:
        SpecError: listing everything that does not fit the audit.
        UsageError: if there is no such claim, or no manifest.
        StoreError: if a page cannot be written.
    """
    if isinstance(measurements, Path):
        measurements = read_submission(audit, measurements)
    card = scorecard_of_submission(measurements, claims, reviews)
    if pages is None:
        return Judged(card)
    return Judged(card, (*write_report(card, pages), *refresh_register(pages, card.tier)))


def write_template(
    audit: Audit, folder: Path, tier: TierName = "paper", claims: Sequence[str] = ()
) -> tuple[Path, ...]:
    """Write a folder of measurements that is to be filled in; return its files, the manifest first.

    Raises:
        UsageError: if there is no such claim, or the folder exists.
        StoreError: if it cannot be written.
    """
    texts = template_files(audit, tier, claims)
    with new_folder(folder, "Name another with --template, or remove it.") as new:
        for name, text in texts.items():
            (new / name).parent.mkdir(exist_ok=True)
            (new / name).write_text(text, encoding="utf-8")
    return tuple(folder / name for name in texts)
