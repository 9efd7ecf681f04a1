"""From records to a scorecard: which are judged, by what history, and what made them.

A run judges exactly the records that its own plan names. A report judges those of today's code and
versions, else the group that has most of the planned cells, on the data of the last run. The
records that came with a report are judged whole: whoever shipped them drew their seeds. Nothing is
judged along other coordinates than it was measured along.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from reproaudit.audit.catalog import Entry, is_shipped, shipped_reports
from reproaudit.audit.model import TIERS, Audit, Reviews, TierName
from reproaudit.audit.plan import cells_of_alternatives, cells_of_tier, varied_tier
from reproaudit.audit.seeds import stored_tier
from reproaudit.elsewhere.roles import scope_of
from reproaudit.elsewhere.submission import Submission
from reproaudit.errors import SpecError
from reproaudit.folders import scratch_folder
from reproaudit.judge import History, index_records, judge
from reproaudit.report.files import read_scorecard
from reproaudit.report.scorecard import scorecard_of
from reproaudit.results import history_of
from reproaudit.running.adoptions import Adoptions, read_adoptions
from reproaudit.running.coordinates import ChangedAxes, axes_file, changed_axes, read_axes
from reproaudit.running.groups import Chosen, TierKey, choose, planned_only, todays_groups
from reproaudit.running.shipped import FILE_NAME, unpack_records
from reproaudit.running.store import DamagedError, Store
from reproaudit.verdict import LeftOut, Made, Scorecard


def has_records(store: Store, slug: str, tier: str) -> bool:
    """Tell whether a store holds a record of a paper at a tier."""
    return next(iter(store.records(slug, tier)), None) is not None


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
        entry: the paper.
        audit: its audit.
        tier: of the records.
        store: where they are.
        wanted: the beginning of a group's id; None for today's.
        planned: of a run: the fingerprint of each planned cell; exactly these are judged.

    Raises:
        StoreError: on a file that is no record and may be a planned one.
        SpecError: if the audit declares other coordinates than the records have.
    """
    damaged: list[DamagedError] = []
    if planned is not None:
        chosen = _of_run(entry, stored_tier(audit, tier), store, planned, damaged.append)
    else:
        chosen = _of_store(entry, audit, tier, store, wanted)
    chosen = _of_todays_axes(audit, tier, chosen, store)
    lower = _quick(entry, audit, tier, store)
    return _judged(entry, audit, tier, chosen, store.root, lower, Made(damaged=len(damaged)))


def _quick(entry: Entry, audit: Audit, tier: TierName, store: Store) -> Chosen:
    """The quick tier's records for an answer at the paper's scale: alternatives may be there."""
    if tier != "paper":
        return Chosen()
    return _of_todays_axes(audit, tier, _of_store(entry, audit, "quick", store, None), store)


def _of_todays_axes(audit: Audit, tier: TierName, chosen: Chosen, store: Store) -> Chosen:
    """The chosen records without those whose coordinates the audit now declares otherwise.

    Raises:
        SpecError: if these are the tier's own, and no alternatives or smaller runs.
    """
    kept = read_axes(axes_file(store.root, audit.paper.slug))
    declared = {name: audit.measurements_of(name) for name in audit.experiments}
    changed: Counter[ChangedAxes] = Counter()
    records = {}
    for key, one in chosen.records.items():
        found = list(changed_axes(one, declared.get(one.experiment, {}), kept))
        changed.update(found)
        if not found:
            records[key] = one
    own = stored_tier(audit, tier)
    if refused := [one.line(count) for one, count in changed.items() if one.tier == own]:
        raise SpecError("\n".join(refused))
    return replace(chosen, records=records, changed=changed)


def _of_run(
    entry: Entry,
    kept: str,
    store: Store,
    planned: Mapping[TierKey, str],
    on_damage: Callable[[DamagedError], None],
) -> Chosen:
    """The records that a run planned: its own, and those of alternatives."""
    only = frozenset(planned.values())
    own = store.records(entry.slug, kept, only=only)
    varied = store.records(entry.slug, varied_tier(kept), on_damage, only)
    adoptions = read_adoptions(entry, store.root)
    return planned_only(store.in_order([*own, *varied]), planned, adoptions)


def _of_store(
    entry: Entry, audit: Audit, tier: TierName, store: Store, wanted: str | None
) -> Chosen:
    """The planned records and alternatives of one group: the wanted one, today's, the fullest."""
    kept = stored_tier(audit, tier)
    places = (kept, varied_tier(kept))
    records = store.in_order(one for it in places for one in store.records(entry.slug, it))
    cells = [*cells_of_tier(audit, tier), *cells_of_alternatives(audit, tier)]
    keys = {(cell.tier, cell.key) for cell in cells}
    adoptions = read_adoptions(entry, store.root)
    today = todays_groups(entry.code)
    chosen = choose(records, keys, today, store.planned_data, wanted, adoptions)
    return replace(chosen, records={k: one for k, one in chosen.records.items() if k in keys})


def scorecard_of_archive(entry: Entry, audit: Audit, tier: TierName, file: Path) -> Scorecard:
    """Judge the records that came with a report, whatever their seeds.

    Raises:
        StoreError: if the archive is damaged.
        SpecError: if the audit declares other coordinates than the records have.
    """
    kept = stored_tier(audit, tier)
    places = (kept, varied_tier(kept))
    with scratch_folder() as folder:
        store = unpack_records(file, folder)
        records = store.in_order(one for it in places for one in store.records(entry.slug, it))
        keys = {(one.tier, one.key) for one in records}
        today = todays_groups(entry.code)
        adoptions = read_adoptions(entry, None)
        chosen = choose(records, keys, today, store.planned_data, None, adoptions)
        chosen = _of_todays_axes(audit, tier, chosen, store)
        there = [is_there for one in places for is_there in store.listed(entry.slug, one).values()]
        lower = _quick(entry, audit, tier, store)
    said = Made(listed=len(there), lacking=there.count(False))
    return _judged(entry, audit, tier, chosen, None, lower, said)


def _judged(
    entry: Entry,
    audit: Audit,
    tier: TierName,
    chosen: Chosen,
    store: Path | None,
    lower: Chosen,
    said: Made,
) -> Scorecard:
    records = index_records(chosen.records.values())
    history = History()
    quick = index_records(lower.records.values()) or None
    if tier == "paper":
        own = [one for one in chosen.records.values() if one.tier == stored_tier(audit, tier)]
        history = history_of(entry, audit, store, own)
    made = _made(chosen, lower, tier, read_adoptions(entry, store), said)
    answers = judge(audit, tier, records, history, quick)
    reviews = entry.reviews()
    return scorecard_of(audit, reviews, tier, answers, records, made=made, earlier=history.earlier)


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
    audit = submission.audit
    remarks = list(submission.remarks)
    if claims:
        only = scope_of(audit, submission.tier, claims).claims
        rest = ", ".join(one.id for one in audit.claims if one not in only)
        remarks += [f"Other claims were not asked for: {rest}."] if rest else []
        audit = audit.model_copy(update={"claims": only})
    found = submission.found
    answers = judge(audit, submission.tier, found)
    made = Made(remarks=tuple(remarks))
    return scorecard_of(audit, reviews or Reviews(), submission.tier, answers, found, made=made)


def _made(chosen: Chosen, lower: Chosen, tier: TierName, adoptions: Adoptions, said: Made) -> Made:
    """What made the records, and which were left out."""
    records = list(chosen.records.values())
    every = [one.environment for one in records]
    code = "" if chosen.group is None else chosen.group.code
    adopted = tuple(sorted({one.code for one in records if one.code != code}))
    revisions = {one.revision for one in every}
    return Made(
        environment=every[0].model_copy(update={"revision": None}) if every else None,
        of_today=chosen.of_today,
        revisions=tuple(sorted(revisions, key=lambda one: one or "unknown")),
        code=code,
        adopted=adopted,
        measured_again=len(adoptions.cells_of(records)) if adopted else 0,
        other_groups=chosen.others,
        left_out=(*_left_out(chosen, tier), *_left_out(lower, "quick")),
        damaged=said.damaged,
        listed=said.listed,
        lacking=said.lacking,
    )


def _left_out(chosen: Chosen, tier: TierName) -> Iterator[LeftOut]:
    for name, count in chosen.other_data.items():
        yield LeftOut(tier=tier, count=count, data=name)
    for one, count in chosen.changed.items():
        yield LeftOut(
            tier=one.tier,
            count=count,
            experiment=one.experiment,
            measurements=one.measurements,
            before=one.before,
            now=one.now,
        )


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
        entry: the paper.
        audit: its audit.
        store: its records.
        tier: the tier; None for the highest that the paper has.
        out: the report folder.
        group: the beginning of the id of the group of records to show; None for today's.
        judge_shipped: whether shipped records are judged again, or the scorecard beside them read.

    Raises:
        AuditError: if it cannot be shown.
    """
    if not audit.claims:
        return scorecard_of(audit, entry.reviews(), tier or "quick", (), {}, made=Made())
    # what was shipped lies beside the store, wherever the new pages go
    places = dict.fromkeys((out, store.root.parent / "reports"))
    for one in [tier] if tier else reversed(TIERS):
        kept = stored_tier(audit, one)
        if has_records(store, entry.slug, kept):
            return scorecard_of_store(entry, audit, one, store, wanted=group)
        folders = [reports / kept / entry.slug for reports in places]
        for folder in folders:
            if judge_shipped and (folder / FILE_NAME).is_file():
                return scorecard_of_archive(entry, audit, one, folder / FILE_NAME)
        for folder in folders:
            card = _card_in(folder)
            if card is not None and not card.shipped:  # else a newer one may be installed
                return _as_written(card, audit)
    return _shipped(entry, audit, tier)


def _shipped(entry: Entry, audit: Audit, tier: TierName | None) -> Scorecard | None:
    """The scorecard that came with the installation; of the paper tier there is one."""
    kept = stored_tier(audit, "paper")
    if tier not in (None, "paper") or not is_shipped(entry.audit_file):
        return None
    card = _card_in(shipped_reports() / kept / entry.slug)
    return card and _as_written(card.model_copy(update={"shipped": True}), audit)


def _card_in(folder: Path) -> Scorecard | None:
    """The scorecard in a folder of reports, if there is one."""
    file = folder / "scorecard.json"
    return read_scorecard(file) if file.is_file() else None


def _as_written(card: Scorecard, audit: Audit) -> Scorecard:
    """The scorecard that a file holds, with the parts of the audit that have changed since."""
    changed = tuple(
        name
        for name in type(audit).model_fields
        if getattr(card.audit, name) != getattr(audit, name)
    )
    return card.model_copy(update={"changed_since": changed})
