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

from reproaudit.audit.catalog import Entry
from reproaudit.audit.model import TIERS, Audit, Reviews, TierName
from reproaudit.audit.plan import cells_of_alternatives, cells_of_tier, varied_tier
from reproaudit.audit.seeds import stored_tier
from reproaudit.elsewhere.roles import scope_of
from reproaudit.elsewhere.submission import Submission
from reproaudit.errors import SpecError
from reproaudit.folders import scratch_folder
from reproaudit.judge import History, index_records, judge
from reproaudit.report.build import build
from reproaudit.report.files import read_scorecard
from reproaudit.report.model import Scorecard
from reproaudit.report.numbers import listed, several
from reproaudit.results import history_of
from reproaudit.running.adoptions import NO_ADOPTIONS, Adoptions, read_adoptions
from reproaudit.running.coordinates import ChangedAxes, axes_file, changed_axes, read_axes
from reproaudit.running.groups import Chosen, TierKey, choose, planned_only, todays_groups
from reproaudit.running.shipped import FILE_NAME, unpack_records
from reproaudit.running.store import DamagedError, Store


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
    said = [f"{len(damaged)} damaged records of alternatives were left out."] if damaged else []
    lower = _quick(entry, audit, tier, store)
    return _judged(entry, audit, tier, chosen, store.root, said, lower)


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
        today, adoptions = todays_groups(entry.code), read_adoptions(entry, None)
        chosen = choose(records, keys, today, store.planned_data, None, adoptions)
        chosen = _of_todays_axes(audit, tier, chosen, store)
        there = [is_there for one in places for is_there in store.listed(entry.slug, one).values()]
        lower = _quick(entry, audit, tier, store)
    said = ["These records came with the report and were judged again."]
    if lacking := there.count(False):
        of_all = f"{lacking} of the {len(there)} records that its list names"
        said.append(f"Their archive lacks {of_all}.")
    return _judged(entry, audit, tier, chosen, None, said, lower)


def _judged(
    entry: Entry,
    audit: Audit,
    tier: TierName,
    chosen: Chosen,
    store: Path | None,
    said: Sequence[str],
    lower: Chosen,
) -> Scorecard:
    records, history = index_records(chosen.records.values()), History()
    quick = index_records(lower.records.values()) or None
    left_out = [*_left_out_lines(chosen), *_left_out_lines(lower, "At the quick tier: ")]
    if tier == "paper":
        own = [one for one in chosen.records.values() if one.tier == stored_tier(audit, tier)]
        history = history_of(entry, audit, store, own)
    return build(
        audit,
        entry.reviews(),
        tier,
        judge(audit, tier, records, history, quick),
        records,
        environment=(
            *environment_lines(chosen, read_adoptions(entry, store)),
            *left_out,
            *said,
        ),
        earlier=history.earlier,
    )


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
    answers = judge(audit, submission.tier, submission.found)
    said, found = reviews or Reviews(), submission.found
    return build(audit, said, submission.tier, answers, found, environment=remarks)


def _adopted(chosen: Chosen, adoptions: Adoptions) -> Iterator[str]:
    """Yield in how many cells other code than that of some records gave the same bits."""
    assert chosen.group is not None, "records have a group"
    records, code = list(chosen.records.values()), chosen.group.code
    if old := sorted({one.code[:8] for one in records if one.code != code}):
        again = len(adoptions.cells_of(records))
        yield (
            f"Measured with code {listed(old)}; measured again with {code[:8]} in {again:,} of "
            f"{len(records):,} cells: the same bits."
        )


def environment_lines(chosen: Chosen, adoptions: Adoptions = NO_ADOPTIONS) -> Iterator[str]:
    """Yield what made the records: code, versions, device; and the revision of code not today's."""
    records = list(chosen.records.values())
    if not records:
        return
    made = records[0].environment
    packages = ", ".join(f"{name} {version}" for name, version in sorted(made.packages.items()))
    yield f"Python {made.python}; {packages}."
    threads = "" if made.threads is None else f", {made.threads} thread a run"
    yield f"{made.device}{threads}; {made.form} form; {made.platform}."
    if chosen.of_today is False:
        found = sorted({one.environment.revision or "unknown" for one in records})
        short = [f"{one[:12]}{'+dirty' if one.endswith('+dirty') else ''}" for one in found]
        yield f"Made by other code than today's: revision {several(list(dict.fromkeys(short)), 6)}."
    yield from _adopted(chosen, adoptions)
    if chosen.others:
        yield f"{chosen.others} other groups of records were left out."


def _left_out_lines(chosen: Chosen, at: str = "") -> Iterator[str]:
    for name, count in chosen.other_data.items():
        yield f"{at}{count} records were left out: they read another '{name}' than the last run."
    for change, count in chosen.changed.items():
        yield f"Left out: {change.line(count)}"


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
    """Return a paper's scorecard: from its records, else the shipped ones, else as it was written.

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
        return build(audit, entry.reviews(), tier or "quick", (), {})
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
            if (folder / "scorecard.json").is_file():
                return read_scorecard(folder / "scorecard.json")
    return None
