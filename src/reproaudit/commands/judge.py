"""`reproaudit judge`: judges measurements made elsewhere, and sets them beside our own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from reproaudit.audit.catalog import Entry
from reproaudit.audit.model import Audit, TierName
from reproaudit.audit.scope import scope_of
from reproaudit.commands.beside.conditions import Conditions
from reproaudit.commands.beside.judged import JudgedFrom
from reproaudit.commands.beside.told import told_beside
from reproaudit.commands.one_paper import has_records
from reproaudit.commands.output import print_json, say, say_written, show
from reproaudit.commands.recording import sealed_of
from reproaudit.diff.results import part_change
from reproaudit.elsewhere.submission import Submission
from reproaudit.elsewhere.template import template_files
from reproaudit.folders import new_folder
from reproaudit.reports import phrasing
from reproaudit.reports.another_rule import another_rule
from reproaudit.reports.difference import change_words
from reproaudit.reports.export.junit import junit_xml
from reproaudit.reports.files import (
    read_scorecard,
    replace_file,
    same_measurements,
    submissions_beside,
    write_report,
)
from reproaudit.reports.register.writing import refresh_register
from reproaudit.reports.scorecard import scorecard_document
from reproaudit.reports.warning import NO_CHAIN, STANDS_OUT
from reproaudit.running.groups import todays_groups
from reproaudit.running.store import Store
from reproaudit.scorecard.build import build
from reproaudit.scorecard.elsewhere import BesideModel, OriginModel
from reproaudit.scorecard.from_store import scorecard_of
from reproaudit.scorecard.model import ClaimModel, Scorecard
from reproaudit.scorecard.stated import with_sources
from reproaudit.seals.kept import Chains

ELSEWHERE = "elsewhere"
"""Stands for a tier where measurements are no draws of the audit's own seeds."""


def write_template(
    entry: Entry, folder: Path, tier: TierName, claims: Sequence[str], as_json: bool
) -> int:
    """Writes a manifest and empty tables with all that the claims' verdicts need.

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
    """Writes the scorecard of measurements from elsewhere where asked to, and prints it.

    Args:
        card: the scorecard.
        out: the folder for the scorecard's pages; None to print only.
        junit: the file for the claims as test cases; None for none.
        as_json: whether to print JSON.
    """
    written = []
    if out is not None:
        card = _with_others(card, out)
        written = [*write_report(card, out), *refresh_register(out, card.tier)]
    if junit is not None:
        replace_file(junit, junit_xml([card]).encode())
        written.append(junit)
    if as_json:
        print_json(card.as_data())
    else:
        show(scorecard_document(card))
    say_written(written, as_json=as_json)


MOST_BESIDE = 10
"""Of other measurements of a paper, so many are named."""


def _with_others(card: Scorecard, out: Path) -> Scorecard:
    """Returns a scorecard that tells of other measurements of the paper from elsewhere.

    Those come first that are the same, judged for other claims, by another rule or under another
    name.
    """
    assert card.origin is not None, "measurements from elsewhere have an origin"
    beside = submissions_beside(card, out)
    same = {at for at, one in beside.items() if one is not None and same_measurements(one, card)}
    told = []
    for folder in sorted(beside, key=lambda at: at not in same)[:MOST_BESIDE]:
        which, found = "Other measurements", "a scorecard that cannot be read"
        other = beside[folder]
        if other is not None and other.origin is not None:
            which = "These same measurements" if folder in same else which
            which += f", by {other.origin.who} of {other.origin.made},"
            found = phrasing.counts_words(phrasing.verdict_counts(other.claims))
        told.append(f"{which} stand beside, in {folder.relative_to(out).as_posix()}: {found}.")
    if len(beside) > MOST_BESIDE:
        told.append(f"And {len(beside) - MOST_BESIDE} more stand in the same folder.")
    remarks = (*card.origin.remarks, *told)
    return card.model_copy(update={"origin": card.origin.model_copy(update={"remarks": remarks})})


def own_scorecard(entry: Entry, tier: TierName, store: Store, reports: Path) -> Scorecard | None:
    """Returns our own scorecard: from records, else from the report folder; None if neither."""
    audit, slug = entry.audit(), entry.slug
    if has_records(store, slug, tier):
        return scorecard_of(store, audit, tier, today=todays_groups(entry.code))
    committed = reports / tier / slug / "scorecard.json"
    return read_scorecard(committed) if committed.is_file() else None


def scorecard_of_submission(
    submission: Submission,
    beside: Scorecard | Callable[[TierName], Scorecard | None] | None,
    claims: Sequence[str] | None = None,
) -> Scorecard:
    """Returns the scorecard of measurements from elsewhere, with our own answers beside them.

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
        if rest:
            remarks = (f"Not asked for, and not judged, were other claims: {rest}.", *remarks)
        audit = audit.model_copy(update={"claims": only})
    ours = beside(submission.tier) if callable(beside) else beside
    card = _of_whole_audit(build(audit, submission.tier, submission.lookup), submission.audit)
    origin = submission.records[0].origin
    assert origin is not None, "a submitted record has an origin"
    card = _with_history(
        card, partial(told_beside, JudgedFrom(card, submission.audit, submission.lookup))
    )
    if ours is not None:
        card = _with_history(card, partial(another_rule, card=card, ours=ours))
    card = with_sources(_standing_out(card, remarks), submission.audit)
    return card.model_copy(
        update={
            "origin": OriginModel(
                who=origin.who,
                source=origin.source,
                framework=origin.framework,
                made=origin.made.isoformat(),
                settings=dict(submission.settings),
                unstated=submission.unstated,
                absent=submission.absent,
                remarks=remarks,
                measurements=submission.digest,
            ),
            "beside": () if ours is None else tuple(_beside(card, ours)),
        }
    )


def _of_whole_audit(card: Scorecard, audit: Audit) -> Scorecard:
    """Returns a scorecard of some claims of an audit whose coverage counts the others as well."""
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


def told_of_elsewhere(
    card: Scorecard, entry: Entry, audit: Audit, store: Store | None
) -> Scorecard:
    """Returns a scorecard of measurements from elsewhere that says what its rule's chain says.

    They are of no result in it. But their rule may have been changed after other results, and what
    those were is told as of any other claim.

    Args:
        card: the scorecard.
        entry: the paper.
        audit: its audit, with its own seeds.
        store: the store that may have a chain; None if there is none.

    Raises:
        SpecError: if a chain is damaged.
    """
    chains = Chains(entry) if store is None else Chains.of(entry, store)
    seen = chains.seen()
    sealed = replace(sealed_of(entry, audit, None, seen), confirming=True)
    if not sealed.entries:
        return without_chain(card)
    tier: TierName = "paper" if card.tier == "paper" else "quick"
    conditions = Conditions(entry, audit, tier, seen)
    trains = {claim.id: claim.trains for claim in audit.claims}

    def with_chain(claim: ClaimModel) -> ClaimModel:
        standing = sealed.standing(claim.id, trains[claim.id], ELSEWHERE, claim.verdict, {})
        told = (*standing.history, *conditions.told_of(claim), *conditions.told_of_others(claim))
        update = {"looks": standing.looks, "history": (*claim.history, *told)}
        return claim.model_copy(update=update)

    return card.model_copy(update={"claims": tuple(map(with_chain, card.claims))})


def without_chain(card: Scorecard) -> Scorecard:
    """Returns a scorecard whose claims say that no chain of seals is known of their rule."""
    return _with_history(card, lambda _: [f"{NO_CHAIN}."])


def _standing_out(card: Scorecard, remarks: Sequence[str]) -> Scorecard:
    """Returns a scorecard whose claims say, each beside its verdict, that something stands out."""
    if not remarks:
        return card
    first, more = remarks[0].rstrip("."), len(remarks) - 1
    rest = f"; and {more} more, at the head of the page" if more else ""
    return _with_history(card, lambda _: [f"{STANDS_OUT}: {first}{rest}."])


def _with_history(card: Scorecard, told_of: Callable[[ClaimModel], Iterable[str]]) -> Scorecard:
    """Returns a scorecard with more sentences in the history of each claim."""
    claims = tuple(
        one.model_copy(update={"history": (*one.history, *told_of(one))}) for one in card.claims
    )
    return card.model_copy(update={"claims": claims})


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
    """Returns how far their deciding part lies from ours; seeds of two programs are no pairs."""
    part = phrasing.deciding_part(claim)
    mine = next((one for one in own.parts if part is not None and one.name == part.name), None)
    if part is None or mine is None:
        return "not compared: one of the two has no estimate"
    return change_words(part_change(mine, part, paired=False, parts=1))
