"""From records to a scorecard: their answers by today's rules, the history, and what made them.

Which records of a store are judged together, `store.choosing` says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from reproaudit.audit.arms import alternatives_of, arms_of, quantities_of
from reproaudit.audit.catalog import Entry, shipped_reports
from reproaudit.audit.model import TIERS, Audit, TierName
from reproaudit.audit.plan import scope_of, varied_tier
from reproaudit.audit.review import Reviews
from reproaudit.audit.rules import JUDGED
from reproaudit.audit.seeds import stored_tier
from reproaudit.cell import TierKey
from reproaudit.errors import AuditError
from reproaudit.files import scratch_folder
from reproaudit.formats.scorecard import (
    SCHEMA_VERSION,
    InputDigests,
    JudgedRecords,
    Made,
    Scorecard,
)
from reproaudit.formats.verdict import DECIDED, ClaimAnswer, Reason, ReasonKind
from reproaudit.intake.reading import Submission
from reproaudit.judge import History, Records, index_records, judge
from reproaudit.judge.readings import Panel
from reproaudit.records import CellStatus, Record
from reproaudit.scorecard.courses import chart_of
from reproaudit.scorecard.files import read_scorecard
from reproaudit.scorecard.history import history_of
from reproaudit.scorecard.opening import digest_of_file, digest_of_records, tiers_of
from reproaudit.scorecard.verdict import JudgedPaper, documented_in, note_of
from reproaudit.store.choosing import Chosen, chosen_by_run, chosen_of_store, has_records
from reproaudit.store.records import DamagedError, Store
from reproaudit.store.shipped import FILE_NAME, unpack_records


def scorecard_of_store(
    entry: Entry,
    audit: Audit,
    tier: TierName,
    store: Store,
    *,
    wanted: str | None = None,
    planned: Mapping[TierKey, str] | None = None,
) -> Scorecard:
    """Judge the records of a store.

    Args:
        wanted: the beginning of a group's id; None for today's.
        planned: of a run: the fingerprint of each planned cell; exactly these are judged.

    Raises:
        StoreError: on a file that is no record and may be a planned one.
        SpecError: if the audit declares other coordinates than the records have.
    """
    damaged: list[DamagedError] = []
    if planned is not None:
        chosen = chosen_by_run(entry, audit, tier, store, planned, damaged.append)
    else:
        chosen = chosen_of_store(entry, audit, tier, store, wanted)
    card = _judged(entry, audit, tier, chosen, store, Made(damaged=len(damaged)))
    if wanted is not None:  # not the records that are shown unless somebody asks for others
        return card
    records = digest_of_records(store.root, entry.slug, tiers_of(card.tier))
    return card.model_copy(update={"inputs": _inputs(entry, records)})


def scorecard_of_archive(entry: Entry, audit: Audit, tier: TierName, file: Path) -> Scorecard:
    """Judge the records that came with a report, whatever their seeds.

    Raises:
        StoreError: if the archive is damaged.
        SpecError: if the audit declares other coordinates than the records have.
    """
    kept = stored_tier(audit, tier)
    with scratch_folder() as folder:
        store = unpack_records(file, folder)
        chosen = chosen_of_store(entry, audit, tier, store, shipped=True)
        listed = [store.listed(entry.slug, place) for place in (kept, varied_tier(kept))]
        there = [is_there for named in listed for is_there in named.values()]
        said = Made(listed=len(there), lacking=there.count(False))
        card = _judged(entry, audit, tier, chosen, store, said, shipped=True)
    return card.model_copy(update={"inputs": _inputs(entry, digest_of_file(file))})


def _inputs(entry: Entry, records: str) -> InputDigests:
    return InputDigests(
        audit=digest_of_file(entry.audit_file),
        reviews=digest_of_file(entry.review_file),
        records=records,
    )


def _judged(
    entry: Entry,
    audit: Audit,
    tier: TierName,
    chosen: Chosen,
    store: Store,
    said: Made,
    *,
    shipped: bool = False,
) -> Scorecard:
    records = index_records(chosen.records.values())
    history = History()
    kept = None if shipped else store.root
    lower = Chosen()
    if tier == "paper":
        # alternatives may have run at the quick tier
        lower = chosen_of_store(entry, audit, "quick", store, judged=tier)
        own = [
            record for record in chosen.records.values() if record.tier == stored_tier(audit, tier)
        ]
        history = history_of(entry, audit, kept, own)
    quick = index_records(lower.records.values()) or None
    made = _made(chosen, lower, tier, said)
    answers = judge(audit, tier, records, history, quick)
    reviews = entry.reviews()
    return scorecard_of(
        audit, reviews, tier, answers, records, made=made, history=history, quick=quick
    )


def scorecard_of_submission(
    submission: Submission, claims: Sequence[str] | None = None, reviews: Reviews | None = None
) -> Scorecard:
    """Return the scorecard of measurements from elsewhere.

    Raises:
        UsageError: if there is no such claim.
    """
    audit = submission.audit
    remarks = list(submission.remarks)
    if claims:
        only = scope_of(audit, submission.tier, claims).claims
        rest = ", ".join(claim.id for claim in audit.claims if claim not in only)
        remarks += [f"Other claims were not asked for: {rest}."] if rest else []
        audit = audit.model_copy(update={"claims": only})
    found = submission.found
    judged = judge(audit, submission.tier, found, History(unstated=submission.unstated))
    answers = tuple(_with_left_out(submission, audit, answer) for answer in judged)
    made = Made(counted=submission.counted, remarks=tuple(remarks))
    return scorecard_of(audit, reviews or Reviews(), submission.tier, answers, found, made=made)


_LACKING = (
    ReasonKind.NOT_MEASURED,
    ReasonKind.TOO_FEW,
    ReasonKind.VOID_RUNS,
    ReasonKind.READING_UNFINISHED,
    ReasonKind.CONTROL_OPEN,
    ReasonKind.ALTERNATIVE_OPEN,
)
"""What is said where numbers are lacking."""


def _with_left_out(submission: Submission, audit: Audit, answer: ClaimAnswer) -> ClaimAnswer:
    """An answer that says what was left out, where it lacks numbers for that."""
    said = answer.reasons[0] if answer.reasons else None
    if answer.outcome in DECIDED or said is None or said.kind not in _LACKING:
        return answer
    tier = submission.tier
    claim = next(claim for claim in audit.claims if claim.id == answer.id)
    arms = {arm.name: arm for arm in (*arms_of(audit, claim), *alternatives_of(audit, claim))}
    read = scope_of(audit, tier, [claim.id]).measurements
    own = answer.base.name
    compared = (quantity.arm for quantity in quantities_of(claim))
    for name in dict.fromkeys((said.arm or own, *filter(None, compared))):
        arm = arms[name]
        for measurement, why in submission.left_out.get(arm.key(audit, tier), {}).items():
            if measurement in read[arm.experiment]:
                what = f"{why[0]} ({measurement})"
                reason = Reason(
                    kind=ReasonKind.LEFT_OUT, arm="" if name == own else name, what=what
                )
                return answer.model_copy(update={"reasons": (reason,)})
    return answer


def _made(chosen: Chosen, lower: Chosen, tier: TierName, said: Made) -> Made:
    records = list(chosen.records.values())
    every = [record.environment for record in records]
    code = "" if chosen.group is None else chosen.group.code
    adopted = tuple(sorted({chosen.adoptions.name(record.code) for record in records} - {code}))
    revisions = {environment.revision for environment in every}
    return Made(
        environment=every[0].model_copy(update={"revision": None}) if every else None,
        of_today=chosen.of_today,
        revisions=tuple(sorted(revisions, key=lambda revision: revision or "unknown")),
        code=code,
        adopted=adopted,
        measured_again=len(chosen.adoptions.cells_of(records, code)),
        other_groups=chosen.others,
        left_out=(*chosen.left_out(tier), *lower.left_out("quick")),
        damaged=said.damaged,
        listed=said.listed,
        lacking=said.lacking,
    )


def scorecards_of_paper(
    entry: Entry,
    audit: Audit,
    store: Store,
    tier: TierName | None,
    out: Path,
    group: str | None = None,
    *,
    judge_shipped: bool = True,
) -> tuple[Scorecard, ...]:
    """Return a paper's scorecard; for want of it, those of measurements made elsewhere.

    Of measurements from elsewhere there may be several: each that was judged with its pages in the
    report folder, at the highest tier. Arguments and errors are those of `scorecard_of_paper`.
    """
    own = scorecard_of_paper(entry, audit, store, tier, out, group, judge_shipped=judge_shipped)
    if own is not None:
        return (own,)
    for scale in [tier] if tier else reversed(TIERS):
        for folder in _report_folders(entry, audit, store, out, scale):
            found = sorted(folder.glob("elsewhere/*/scorecard.json"))
            if found:
                return tuple(_as_written(read_scorecard(file), entry, audit) for file in found)
    return ()


def scorecard_of_paper(
    entry: Entry,
    audit: Audit,
    store: Store,
    tier: TierName | None,
    out: Path,
    group: str | None = None,
    *,
    judge_shipped: bool = True,
) -> Scorecard | None:
    """Return a paper's scorecard: from its records, else those of a report, else as it was written.

    For want of these it is the one that came with the installation.

    Args:
        tier: the tier; None for the highest that the paper has.
        group: the beginning of the id of the group of records to show; None for today's.
        judge_shipped: whether shipped records are judged again, or the scorecard beside them read.

    Raises:
        AuditError: if it cannot be shown.
    """
    if not audit.claims:
        return scorecard_of(audit, entry.reviews(), tier or "quick", (), {}, made=Made())
    for scale in [tier] if tier else reversed(TIERS):
        if has_records(store, entry.slug, stored_tier(audit, scale)):
            return scorecard_of_store(entry, audit, scale, store, wanted=group)
        folders = _report_folders(entry, audit, store, out, scale)
        for folder in folders:
            if judge_shipped and (folder / FILE_NAME).is_file():
                return scorecard_of_archive(entry, audit, scale, folder / FILE_NAME)
        for folder in folders:
            card = _card_in(folder)
            if card is not None and not card.shipped:  # else a newer one may be installed
                return _as_written(card, entry, audit)
    return _shipped(entry, audit, tier)


def scorecards_by_scale(
    entry: Entry, audit: Audit, store: Store, out: Path, shown: Scorecard
) -> tuple[Scorecard, ...]:
    """Return a paper's answers at each scale that is judged, the largest first.

    Args:
        shown: the scorecard that stands for its own scale. Of measurements from elsewhere, of a
            chosen salt, of smoke or without claims it stands alone.
    """
    if shown.tier not in JUDGED or shown.origin is not None or not shown.claims:
        return (shown,)
    cards: dict[TierName, Scorecard | None] = {}
    for tier in reversed(JUDGED):
        cards[tier] = shown if tier == shown.tier else None
        with suppress(AuditError):  # what another scale has hides no answer at this one
            cards[tier] = cards[tier] or scorecard_of_paper(
                entry, audit, store, tier, out, judge_shipped=False
            )
    return tuple(filter(None, cards.values()))


def seconds_of_a_shipped_run(entry: Entry, audit: Audit) -> float | None:
    """Return what a run took on average by the scorecard that came with the installation."""
    card = _shipped(entry, audit, "paper")
    if card is None or not card.records.count:
        return None
    return card.records.seconds / card.records.count


def _report_folders(
    entry: Entry, audit: Audit, store: Store, out: Path, tier: TierName
) -> list[Path]:
    """Where reports are: what was shipped lies beside the store, wherever the new pages go."""
    places = dict.fromkeys((out, store.root.parent / "reports"))
    return [place / stored_tier(audit, tier) / entry.slug for place in places]


def _shipped(entry: Entry, audit: Audit, tier: TierName | None) -> Scorecard | None:
    """The scorecard that came with the installation; of the paper tier there is one."""
    kept = stored_tier(audit, "paper")
    if tier not in (None, "paper"):
        return None
    card = _card_in(shipped_reports() / kept / entry.slug)
    if card is None or card.paper != audit.paper:  # a user's own may have the same short name
        return None
    return _as_written(card.model_copy(update={"shipped": True}), entry, audit)


def _card_in(folder: Path) -> Scorecard | None:
    file = folder / "scorecard.json"
    return read_scorecard(file) if file.is_file() else None


def _as_written(card: Scorecard, entry: Entry, audit: Audit) -> Scorecard:
    """The scorecard that a file holds, with today's reviews and what has changed in the audit."""
    today = _as_handed_in(card.audit, audit) if card.origin else audit
    fields = type(audit).model_fields
    changed = tuple(n for n in fields if getattr(card.audit, n) != getattr(today, n))
    inputs = card.inputs
    if inputs is not None:
        known: dict[str, Any] = {"shipped": True} if card.shipped else {}
        known["reviews"] = digest_of_file(entry.review_file)
        inputs = inputs.model_copy(update=known)
    update = {"changed_since": changed, "inputs": inputs}
    return with_reviews(card, entry.reviews()).model_copy(update=update)


def _as_handed_in(judged: Audit, audit: Audit) -> Audit:
    """An audit with the claims that were judged, and those readings that runs were handed in of."""
    readings = {claim.id: claim.readings for claim in judged.claims}
    claims = []
    for claim in audit.claims:
        every = dict.fromkeys([*claim.readings, *readings.get(claim.id, ())])
        claims.append(claim.model_copy(update={"readings": tuple(every)}))
    kept = [claim for claim in claims if claim.id in readings]
    return audit.model_copy(update={"claims": tuple(kept)})


def with_reviews(card: Scorecard, reviews: Reviews) -> Scorecard:
    """Return a scorecard with today's reviews, whose note stands in its head."""
    note = note_of(reviews, card.answers_digest)
    documented = documented_in(card.audit, reviews)
    head = card.head.model_copy(update={"note": note, "documented": documented})
    return card.model_copy(update={"reviews": reviews, "head": head})


def scorecard_of(
    audit: Audit,
    reviews: Reviews,
    tier: TierName,
    claims: Sequence[ClaimAnswer],
    records: Records,
    *,
    made: Made,
    history: History | None = None,
    quick: Records | None = None,
) -> Scorecard:
    """Return a paper's scorecard, with the words of its head and rows.

    Args:
        quick: the records of the quick tier, at which alternatives may have run.
    """
    before = history or History()
    judged = [record for seeds in records.values() for record in seeds.values()]
    origin = next((record.origin for record in judged if record.origin is not None), None)
    panels = {answer.id: _panel(audit, answer, tier, records) for answer in claims}
    figures = {}
    for answer in claims:
        smaller = None if quick is None else _panel(audit, answer, "quick", quick)
        shown = answer.leading
        drawn = None if shown is None else chart_of(panels[answer.id], smaller, answer, shown)
        if drawn is not None:
            figures[answer.id] = drawn
    stored = stored_tier(audit, tier)
    judged_paper = JudgedPaper(audit, stored, claims, reviews, origin, before.before_bounds, panels)
    return Scorecard(
        schema_version=SCHEMA_VERSION,
        slug=audit.paper.slug,
        tier=stored,
        claims=tuple(claims),
        figures=figures,
        records=_summary(judged),
        made=made,
        earlier_results=before.earlier,
        origin=origin,
        audit=audit,
        reviews=reviews,
        **judged_paper.words(),
    )


def _panel(audit: Audit, answer: ClaimAnswer, tier: TierName, records: Records) -> Panel:
    """A claim before its records, with the reading that is shown as its own."""
    claim = next(claim for claim in audit.claims if claim.id == answer.id)
    panel = Panel.of(audit, claim, tier, records)
    return replace(panel, base=panel.arms[answer.base.name])


def _summary(records: Sequence[Record]) -> JudgedRecords:
    ended = {status: sum(record.status is status for record in records) for status in CellStatus}
    versions: dict[str, set[str]] = {}
    for record in records:
        packages = {"python": record.environment.python, **record.environment.packages}
        for name, version in packages.items():
            versions.setdefault(name, set()).add(version)
    return JudgedRecords(
        completed=ended[CellStatus.COMPLETED],
        diverged=ended[CellStatus.DIVERGED],
        failed=ended[CellStatus.FAILED],
        seconds=round(sum(record.seconds for record in records), 3),
        started=min((_utc(record.started) for record in records), default=None),
        last=max((_utc(record.started) for record in records), default=None),
        ended=max((_utc(record.started, record.seconds) for record in records), default=None),
        software={name: tuple(sorted(found)) for name, found in sorted(versions.items())},
    )


def _utc(moment: datetime, seconds: float = 0.0) -> datetime:
    aware = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return (aware + timedelta(seconds=seconds)).replace(microsecond=0)
