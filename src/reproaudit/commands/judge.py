"""`reproaudit judge`: judges measurements made elsewhere, and sets them beside our own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from reproaudit.audit.catalog import Entry
from reproaudit.audit.model import Audit, TierName
from reproaudit.commands.output import print_json, say_written, show
from reproaudit.commands.report import has_records
from reproaudit.diff.results import part_change
from reproaudit.judging.submissions import Submission, read_submission
from reproaudit.reports import phrasing
from reproaudit.reports.difference import change_words
from reproaudit.reports.files import read_scorecard, refresh_index, write_report
from reproaudit.reports.scorecard import scorecard_document
from reproaudit.running.groups import todays_groups
from reproaudit.running.store import Store
from reproaudit.scorecard.build import build
from reproaudit.scorecard.from_store import choose_records, lookup_chosen
from reproaudit.scorecard.model import BesideModel, ClaimModel, OriginModel, Scorecard


def judge_submission(
    entry: Entry, measurements: Path, store: Store, reports: Path, out: Path | None, as_json: bool
) -> int:
    """Writes the scorecard of measurements from elsewhere where asked to, and prints it.

    Args:
        entry: the paper.
        measurements: the folder with the manifest.
        store: the folder of our own records.
        reports: the folder of our own scorecards, for want of records.
        out: the folder for the scorecard's pages; None to print only.
        as_json: whether to print JSON.

    Raises:
        UsageError: if there is no manifest.
        SpecError: listing everything that does not fit.
    """
    audit = entry.audit()
    submission = read_submission(audit, measurements)
    card = scorecard_of_submission(
        submission, own_scorecard(entry, audit, submission.tier, store, reports)
    )
    written = () if out is None else (*write_report(card, out), *refresh_index(out, card.tier))
    if as_json:
        print_json(card.as_data())
    else:
        show(scorecard_document(card))
    say_written(written, as_json=as_json)
    return 0


def own_scorecard(
    entry: Entry, audit: Audit, tier: TierName, store: Store, reports: Path
) -> Scorecard | None:
    """Returns our own scorecard: from records, else from the report folder; None if neither."""
    slug = audit.paper.slug
    if has_records(store, audit, tier):
        chosen = choose_records(store, audit, tier, today=todays_groups(entry.module))
        return build(audit, tier, lookup_chosen(audit, chosen))
    committed = reports / tier / slug / "scorecard.json"
    return read_scorecard(committed) if committed.is_file() else None


def scorecard_of_submission(submission: Submission, ours: Scorecard | None) -> Scorecard:
    """Returns the scorecard of measurements from elsewhere, with our own answers beside them."""
    card = build(submission.audit, submission.tier, submission.lookup)
    origin = submission.records[0].origin
    assert origin is not None, "a submitted record has an origin"
    return card.model_copy(
        update={
            "origin": OriginModel(
                who=origin.who,
                source=origin.source,
                framework=origin.framework,
                made=origin.made.isoformat(),
                settings=dict(submission.settings),
                absent=submission.absent,
            ),
            "beside": () if ours is None else tuple(_beside(card, ours)),
        }
    )


def _beside(theirs: Scorecard, ours: Scorecard) -> Iterator[BesideModel]:
    mine = {claim.id: claim for claim in ours.claims}
    for claim in theirs.claims:
        if claim.id in mine:
            own = mine[claim.id]
            yield BesideModel(
                id=claim.id,
                decision=own.decision,
                verdict=own.verdict,
                evidence=phrasing.evidence_label(own),
                reading=phrasing.claim_sentence(own),
                difference=_difference(own, claim),
            )


def _difference(own: ClaimModel, claim: ClaimModel) -> str:
    """Returns how far their deciding part lies from ours; seeds of two programs are no pairs."""
    part = phrasing.deciding_part(claim)
    mine = next((one for one in own.parts if part is not None and one.name == part.name), None)
    if part is None or mine is None:
        return "not compared: one of the two has no estimate"
    return change_words(part_change(mine, part, paired=False, parts=1))
