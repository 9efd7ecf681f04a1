"""`reproaudit judge`: judges measurements made elsewhere, and sets them beside our own."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console

from reproaudit.audit.catalog import Entry
from reproaudit.audit.model import Audit, TierName
from reproaudit.diff import part_change
from reproaudit.judging.submissions import Submission, read_submission
from reproaudit.reports import phrasing
from reproaudit.reports.files import read_scorecard, refresh_index, write_report
from reproaudit.reports.outline import change_words
from reproaudit.reports.terminal import render_scorecard
from reproaudit.running.groups import todays_groups
from reproaudit.running.store import Store
from reproaudit.scorecard import BesideModel, ClaimModel, OriginModel, Scorecard, build
from reproaudit.scorecard.from_store import choose_records, lookup_chosen


def judge_submission(
    entry: Entry, measurements: Path, store: Store, reports: Path, out: Path | None, as_json: bool
) -> int:
    """Prints the scorecard of measurements from elsewhere, and writes it where asked to.

    Args:
        entry: the paper.
        measurements: the folder with the manifest.
        store: where our own records are.
        reports: where our own scorecards are, for want of records.
        out: where to write the scorecard's pages; None to print only.
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
    if as_json:
        data = card.as_data()
        sys.stdout.write(json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
    else:
        render_scorecard(card, Console())
    written = () if out is None else (*write_report(card, out), *refresh_index(out, card.tier))
    console = Console(stderr=as_json)
    for path in written:
        console.print(f"wrote {path}", highlight=False, markup=False, soft_wrap=True)
    return 0


def own_scorecard(
    entry: Entry, audit: Audit, tier: TierName, store: Store, reports: Path
) -> Scorecard | None:
    """Our own scorecard at a tier: from records, else from the report folder; None if neither."""
    slug = audit.paper.slug
    if next(iter(store.records(slug, tier)), None) is not None:
        chosen = choose_records(store, audit, tier, today=todays_groups(entry.module))
        return build(audit, tier, lookup_chosen(audit, chosen))
    committed = reports / tier / slug / "scorecard.json"
    return read_scorecard(committed) if committed.is_file() else None


def scorecard_of_submission(submission: Submission, ours: Scorecard | None) -> Scorecard:
    """The scorecard of measurements from elsewhere, with our own answers beside them."""
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
            part = phrasing.binding_part(own)
            yield BesideModel(
                id=claim.id,
                decision=own.decision,
                verdict=own.verdict,
                evidence=phrasing.evidence_label(own),
                reading="no estimate" if part is None else phrasing.sentence(part),
                difference=_difference(own, claim),
            )


def _difference(own: ClaimModel, claim: ClaimModel) -> str:
    """How far their binding part lies from ours; the seeds of two programs are no pairs."""
    part = phrasing.binding_part(claim)
    mine = next((one for one in own.parts if part is not None and one.name == part.name), None)
    if part is None or mine is None:
        return "not compared: one of the two has no estimate"
    return change_words(part_change(mine, part, paired=False, parts=1))
