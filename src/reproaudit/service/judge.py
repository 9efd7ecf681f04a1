"""`reproaudit judge` and `import`: measurements made elsewhere, and the folders that hold them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from reproaudit.audit.catalog import Entry
from reproaudit.audit.model import Audit, TierName
from reproaudit.errors import UsageError
from reproaudit.files import new_folder, write_whole
from reproaudit.formats.scorecard import Scorecard
from reproaudit.intake.importing import ImportedLogs, import_logs
from reproaudit.intake.memory import read_runs
from reproaudit.intake.reading import Submission, read_submission
from reproaudit.intake.writing import template_files, write_submission
from reproaudit.report.brief import brief_page
from reproaudit.scorecard.answers import scorecard_of_submission
from reproaudit.scorecard.standing import standing_of
from reproaudit.service.pages import refresh_register, write_report


@dataclass(frozen=True)
class Judged:
    """The answers to measurements from elsewhere, and the files that were written."""

    scorecard: Scorecard
    written: tuple[Path, ...] = ()
    logs: ImportedLogs | None = None


def judge_submission(
    submission: Submission,
    claims: Sequence[str] | None = None,
    *,
    entry: Entry | None = None,
    pages: Path | None = None,
    results: Sequence[Path] = (),
) -> Judged:
    """Judge measurements by the rules of their audit, for some claims or, with None, for all.

    Args:
        entry: where the audit's file is, with what reviewers say beside it.
        pages: the folder of reports; no page is written if None.
        results: the files of the runs; whether the audit's rule stood before them is looked up.

    Raises:
        UsageError: if there is no such claim.
    """
    card = scorecard_of_submission(submission, claims, None if entry is None else entry.reviews())
    if entry is not None and results:
        written = entry.audit()  # the submission's has the readings that the runs are of
        standing = standing_of(written, entry.audit_file, results, submission.tier)
        card = card.model_copy(update={"rule": standing})
    if pages is None:
        return Judged(card)
    return Judged(card, (*write_report(card, pages), *refresh_register(pages, card.tier)))


def judge_folder(
    paper: Audit | Entry,
    folder: Path,
    claims: Sequence[str] | None = None,
    pages: Path | None = None,
) -> Judged:
    """Judge a folder with a manifest, or raise a SpecError; see `judge_submission`."""
    audit, entry = _known(paper)
    submission = read_submission(audit, folder)
    files = [file for file in sorted(folder.rglob("*")) if file.is_file()]
    return judge_submission(submission, claims, entry=entry, pages=pages, results=[folder, *files])


def judge_logs(
    paper: Audit | Entry,
    logs: Sequence[Path],
    mapping: Path | None = None,
    *,
    claims: Sequence[str] = (),
    pages: Path | None = None,
    **said: str | None,
) -> Judged:
    """Judge logs in one step; arguments and errors are of `import_logs` and `judge_submission`."""
    audit, entry = _known(paper)
    logged = import_logs(audit, logs, mapping, claims=claims, **said)
    judged = judge_submission(
        read_runs(logged.audit, logged.measured, logged.head),
        claims or None,
        entry=entry,
        pages=pages,
        results=[*logs, *logged.files],
    )
    return replace(judged, logs=logged)


def _known(paper: Audit | Entry) -> tuple[Audit, Entry | None]:
    return (paper, None) if isinstance(paper, Audit) else (paper.audit(), paper)


def write_brief_page(judged: Judged, file: Path) -> None:
    """Write a page of at most sixty lines: rule, counts, controls, horizon and choices.

    A UsageError if there is such a file, and it is no earlier page of this paper.
    """
    horizons = {} if judged.logs is None else judged.logs.horizons
    page = brief_page(judged.scorecard, horizons)
    if file.exists() and _first_line(file) != page.partition("\n")[0]:
        expected = "expected a new file, or an earlier page of this paper"
        raise UsageError(f"{file}: found another file; {expected}. Name another.")
    write_whole(file, page)


def _first_line(file: Path) -> str:
    return file.read_bytes().partition(b"\n")[0].decode(errors="replace").rstrip()


def write_template(
    audit: Audit, folder: Path, tier: TierName = "paper", claims: Sequence[str] = ()
) -> tuple[Path, ...]:
    """Write a folder of measurements that is to be filled in; return its files, the manifest first.

    A UsageError if there is no such claim, or the folder exists.
    """
    texts = template_files(audit, tier, claims)
    with new_folder(folder, "Name another with --template, or remove it.") as new:
        for name, text in texts.items():
            (new / name).parent.mkdir(exist_ok=True)
            (new / name).write_text(text, encoding="utf-8")
    return tuple(folder / name for name in texts)


def import_folder(
    audit: Audit,
    logs: Sequence[Path],
    out: Path,
    mapping: Path | None = None,
    *,
    claims: Sequence[str] = (),
    **stated: str | None,
) -> ImportedLogs:
    """Turn logs into a new folder that `judge` reads; arguments and errors are of `import_logs`."""
    with new_folder(out, "Name another with --out, or remove it.") as folder:
        imported = import_logs(audit, logs, mapping, claims=claims, **stated)
        write_submission(folder, audit, imported.measured, imported.head)
    return imported
