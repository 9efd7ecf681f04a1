"""`reproaudit judge`: judges measurements made elsewhere by the same rules."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from reproaudit.audit.catalog import Entry
from reproaudit.audit.model import TierName
from reproaudit.audit.reviews import Reviews
from reproaudit.commands.output import print_json, say, say_written, show
from reproaudit.elsewhere.scope import scope_of
from reproaudit.elsewhere.submission import Submission
from reproaudit.elsewhere.writing import template_files
from reproaudit.folders import new_folder
from reproaudit.judge import judge
from reproaudit.report.build import build
from reproaudit.report.export.junit import junit_xml
from reproaudit.report.files import replace_file, write_report
from reproaudit.report.model import Scorecard
from reproaudit.report.register import refresh_register
from reproaudit.report.terminal import report_lines


def write_template(
    entry: Entry, folder: Path, tier: TierName, claims: Sequence[str], as_json: bool
) -> int:
    """Write a manifest and empty tables with all that the claims' answers need.

    Raises:
        UsageError: if a claim is unknown, or the folder exists and holds something.
    """
    files = template_files(entry.audit(), tier, claims)
    with new_folder(folder, "Name another with --template, or remove it.") as new:
        for name, text in files.items():
            (new / name).write_text(text, encoding="utf-8")
    if as_json:
        print_json([str(folder / name) for name in files])
    else:
        say(f"wrote {folder / 'manifest.yaml'} and {len(files) - 1} tables, to be filled in")
        say(f"then: reproaudit judge {entry.slug} --measurements {folder}")
    return 0


def show_judged(card: Scorecard, out: Path | None, junit: Path | None, as_json: bool) -> None:
    """Write the scorecard's pages and its claims as test cases where asked to, and print it."""
    written: list[Path] = []
    if out is not None:
        written = [*write_report(card, out), *refresh_register(out, card.tier)]
    if junit is not None:
        replace_file(junit, junit_xml([card]).encode())
        written.append(junit)
    if as_json:
        print_json(card.model_dump(mode="json", by_alias=True))
    else:
        show(report_lines(card))
    say_written(written, as_json=as_json)


def scorecard_of_submission(
    submission: Submission, claims: Sequence[str] | None = None, reviews: Reviews | None = None
) -> Scorecard:
    """Return the scorecard of measurements from elsewhere.

    Args:
        submission: the measurements.
        claims: ids of the claims to judge; every claim by default.
        reviews: what reviewers say of the audit.

    Raises:
        UsageError: if there is no such claim.
    """
    audit, remarks = submission.audit, list(submission.remarks)
    if claims:
        only = scope_of(audit, submission.tier, claims).claims
        rest = ", ".join(one.id for one in audit.claims if one not in only)
        remarks += [f"Other claims were not asked for: {rest}."] if rest else []
        audit = audit.model_copy(update={"claims": only})
    remarks += [f"No runs of {one}." for one in submission.absent]
    if submission.unstated:
        remarks.append(f"Not stated, taken to be the audit's: {', '.join(submission.unstated)}.")
    answers = judge(audit, submission.tier, submission.found)
    return build(
        audit,
        reviews or Reviews(),
        submission.tier,
        answers,
        submission.records,
        environment=remarks,
    )
