"""`reproaudit judge`: judges measurements made elsewhere, and sets them beside our own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from reproaudit.audit.catalog import Entry
from reproaudit.audit.model import Audit, TierName
from reproaudit.audit.scope import scope_of
from reproaudit.commands.output import print_json, say, say_written, show
from reproaudit.diff.results import part_change
from reproaudit.elsewhere.submission import Submission
from reproaudit.elsewhere.template import template_files
from reproaudit.folders import new_folder
from reproaudit.reports import phrasing
from reproaudit.reports.difference import change_words
from reproaudit.reports.export.junit import junit_xml
from reproaudit.reports.files import OtherVersionError, read_scorecard, replace_file, write_report
from reproaudit.reports.register.writing import refresh_register
from reproaudit.reports.scorecard import scorecard_document
from reproaudit.running.groups import todays_groups
from reproaudit.running.store import Store
from reproaudit.scorecard.build import build
from reproaudit.scorecard.elsewhere import BesideModel, OriginModel
from reproaudit.scorecard.from_store import has_records, scorecard_of
from reproaudit.scorecard.model import ClaimModel, Scorecard


def write_template(
    entry: Entry, folder: Path, tier: TierName, claims: Sequence[str], as_json: bool
) -> int:
    """Write a manifest and empty tables with all that the claims' verdicts need.

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
    """Write the scorecard of measurements from elsewhere where asked to, and print it.

    Args:
        card: the scorecard.
        out: the folder for the scorecard's pages; None to print only.
        junit: the file for the claims as test cases; None for none.
        as_json: whether to print JSON.
    """
    written = []
    if out is not None:
        written = [*write_report(card, out), *refresh_register(out, card.tier)]
    if junit is not None:
        replace_file(junit, junit_xml([card]).encode())
        written.append(junit)
    if as_json:
        print_json(card.as_data())
    else:
        show(scorecard_document(card))
    say_written(written, as_json=as_json)


def own_scorecard(entry: Entry, tier: TierName, store: Store, reports: Path) -> Scorecard | None:
    """Return our own scorecard: from records, else from the report folder; None if neither."""
    audit, slug = entry.audit(), entry.slug
    if has_records(store, slug, tier):
        return scorecard_of(store, audit, tier, today=todays_groups(entry.code))
    committed = reports / tier / slug / "scorecard.json"
    try:
        return read_scorecard(committed) if committed.is_file() else None
    except OtherVersionError as error:
        say(f"our own answers are left out: {error}", stderr=True)
        return None


def scorecard_of_submission(
    submission: Submission,
    beside: Scorecard | Callable[[TierName], Scorecard | None] | None,
    claims: Sequence[str] | None = None,
) -> Scorecard:
    """Return the scorecard of measurements from elsewhere, with our own answers beside them.

    Args:
        submission: the measurements.
        beside: our own scorecard, or what gives it for a tier.
        claims: ids of the claims to judge; every claim by default.

    Raises:
        UsageError: if there is no such claim.
    """
    audit, remarks = submission.audit, submission.remarks
    if claims:
        only = scope_of(audit, submission.tier, claims).claims
        rest = ", ".join(one.id for one in audit.claims if one not in only)
        remarks = (*remarks, *([f"Other claims were not asked for: {rest}."] if rest else []))
        audit = audit.model_copy(update={"claims": only})
    ours = beside(submission.tier) if callable(beside) else beside
    card = _of_whole_audit(build(audit, submission.tier, submission.lookup), submission.audit)
    origin = submission.records[0].origin
    assert origin is not None, "a submitted record has an origin"
    model = OriginModel(
        who=origin.who,
        source=origin.source,
        framework=origin.framework,
        made=origin.made.isoformat(),
        settings=dict(submission.settings),
        unstated=submission.unstated,
        absent=submission.absent,
        remarks=remarks,
        measurements=submission.digest,
    )
    answers = () if ours is None else tuple(_beside(card, ours))
    return card.model_copy(update={"origin": model, "beside": answers})


def _of_whole_audit(card: Scorecard, audit: Audit) -> Scorecard:
    """Return a scorecard of some claims of an audit whose coverage counts the others as well."""
    asked = {one.id for one in card.claims}
    weights = [(one.weight, one.id in asked) for one in audit.claims]
    share = sum(one for one, is_asked in weights if is_asked) / (
        sum(one for one, _ in weights) or 1
    )
    coverage = card.coverage.model_copy(
        update={
            "claims": len(audit.claims) + len(audit.not_audited),
            "weight_tested": round(card.coverage.weight_tested * share, 4),
        }
    )
    return card.model_copy(update={"coverage": coverage})


def _beside(theirs: Scorecard, ours: Scorecard) -> Iterator[BesideModel]:
    mine = {claim.id: claim for claim in ours.claims}
    for claim in theirs.claims:
        if claim.id in mine:
            own = mine[claim.id]
            yield BesideModel(
                id=claim.id,
                decision=own.decision,
                verdict=own.verdict,
                headline=own.headline,
                evidence=phrasing.evidence_label(own),
                reading=phrasing.claim_sentence(own),
                difference=_difference(own, claim),
            )


def _difference(own: ClaimModel, claim: ClaimModel) -> str:
    """Return how far their deciding part lies from ours; seeds of two programs are no pairs."""
    part = phrasing.deciding_part(claim)
    mine = next((one for one in own.parts if part is not None and one.name == part.name), None)
    if part is None or mine is None:
        return "not compared: one of the two has no estimate"
    return change_words(part_change(mine, part, paired=False, parts=1))
