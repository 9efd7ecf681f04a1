"""From records to a scorecard: which are judged, by what history, and what made them.

A run judges exactly the records that its own plan names. A report judges those of today's code and
versions, else the group that has most of the planned cells. The records that came with a report are
judged whole: whoever shipped them drew their seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic_core import to_jsonable_python

from reproaudit.audit.catalog import Entry
from reproaudit.audit.model import TIERS, Audit, Claim, Reviews, TierName
from reproaudit.audit.plan import cells_of_alternatives, cells_of_tier, varied_tier
from reproaudit.audit.seeds import rule, stored_tier
from reproaudit.elsewhere.roles import scope_of
from reproaudit.elsewhere.submission import Submission
from reproaudit.folders import scratch_folder
from reproaudit.judge import History, Records, index_records, judge
from reproaudit.report.build import build, documentation_of, told_by_audit
from reproaudit.report.files import read_scorecard
from reproaudit.report.model import AsWritten, ClaimModel, Scorecard
from reproaudit.report.numbers import counted, listed, several
from reproaudit.results import history_of
from reproaudit.running.groups import Chosen, TierKey, choose, group_of, planned_only, todays_groups
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
    """
    damaged: list[DamagedError] = []
    if planned is not None:
        chosen = _of_run(entry.slug, stored_tier(audit, tier), store, planned, damaged.append)
    else:
        chosen = _of_store(entry, audit, tier, store, wanted)
    said = [f"{len(damaged)} damaged records of alternatives were left out."] if damaged else []
    lower = _quick(entry, audit, tier, store)
    return _judged(entry, audit, tier, chosen, store.root, said, lower)


def _quick(entry: Entry, audit: Audit, tier: TierName, store: Store) -> Records | None:
    """The quick tier's records for an answer at the paper's scale: alternatives may be there."""
    if tier != "paper":
        return None
    return index_records(_of_store(entry, audit, "quick", store, None).records.values()) or None


def _of_run(
    slug: str,
    kept: str,
    store: Store,
    planned: Mapping[TierKey, str],
    on_damage: Callable[[DamagedError], None],
) -> Chosen:
    """The records that a run planned, and alternatives of the same code."""
    own = planned_only(store.records(slug, kept, only=frozenset(planned.values())), planned)
    varied = {
        (one.tier, one.key): one
        for one in store.records(slug, varied_tier(kept), on_damage)
        if group_of(one) == own.group
    }
    return Chosen({**varied, **own.records}, own.group, of_today=True)


def _of_store(
    entry: Entry, audit: Audit, tier: TierName, store: Store, wanted: str | None
) -> Chosen:
    """The planned records and alternatives of one group: the wanted one, today's, the fullest."""
    kept = stored_tier(audit, tier)
    places = (kept, varied_tier(kept))
    records = [one for place in places for one in store.records(entry.slug, place)]
    cells = [*cells_of_tier(audit, tier), *cells_of_alternatives(audit, tier)]
    keys = {(cell.tier, cell.key) for cell in cells}
    chosen = choose(records, keys, todays_groups(entry.code), wanted)
    return replace(chosen, records={k: one for k, one in chosen.records.items() if k in keys})


def scorecard_of_archive(entry: Entry, audit: Audit, tier: TierName, file: Path) -> Scorecard:
    """Judge the records that came with a report, whatever their seeds.

    Raises:
        StoreError: if the archive is damaged.
    """
    kept = stored_tier(audit, tier)
    places = (kept, varied_tier(kept))
    with scratch_folder() as folder:
        store = unpack_records(file, folder)
        records = [one for place in places for one in store.records(entry.slug, place)]
        there = [is_there for one in places for is_there in store.listed(entry.slug, one).values()]
        lower = _quick(entry, audit, tier, store)
    keys = {(one.tier, one.key) for one in records}
    chosen = choose(records, keys, todays_groups(entry.code), None)
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
    lower: Records | None,
) -> Scorecard:
    records, history = index_records(chosen.records.values()), History()
    if tier == "paper":
        own = [one for one in chosen.records.values() if one.tier == stored_tier(audit, tier)]
        history = history_of(entry, audit, store, own)
    return build(
        audit,
        entry.reviews(),
        tier,
        judge(audit, tier, records, history, lower),
        records,
        environment=(*environment_lines(chosen), *said),
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


def environment_lines(chosen: Chosen) -> Iterator[str]:
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
    if chosen.others:
        yield f"{chosen.others} other groups of records were left out."


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
                return _as_written(read_scorecard(folder / "scorecard.json"), audit, one)
    return None


def _as_written(card: Scorecard, audit: Audit, tier: TierName) -> Scorecard:
    """The scorecard that a file holds, with how old it is and what of the audit has changed."""
    main = next((one.rule for one in card.claims if one.main and one.rule), None)
    version = f"format {card.schema_version}" + (f", rule {main[:8]}" if main else "")
    count, last = card.records.get("count", 0), card.records.get("last")
    of = counted(count, "record") + (f" up to {last}" if last else "")
    changed = tuple(_changed(card, audit, tier))
    since = "The audit has not changed since."
    if changed:
        since = f"The audit has changed since: {listed(changed)}."
    elif any(one.rule is None for one in card.claims):
        since = "It does not tell whether the audit's bounds and runs have changed since."
    words = (
        "For want of records nothing was judged now: this is the scorecard as it was written "
        f"({version}), of {of}. {since}"
    )
    return card.model_copy(update={"as_written": AsWritten(words=words, changed=changed)})


def _changed(card: Scorecard, audit: Audit, tier: TierName) -> Iterator[str]:
    """Yield in words what a scorecard has of its audit and the audit has no longer."""
    for name, now in told_by_audit(audit, tier).items():
        if to_jsonable_python(getattr(card, name)) != to_jsonable_python(now):
            yield name.replace("_", " ")
    documented = (card.documentation, documentation_of(audit, Reviews()))
    then, now = ([_of_card(row) for row in one["variables"]] for one in documented)
    if then != now:
        yield "variables"
    if list(map(_said, card.claims)) != list(map(_said, audit.claims)):
        yield "claims"
    rules = {one.experiment: one.rule for one in card.claims if one.rule is not None}
    if rules != {name: rule(audit, name, tier) for name in rules.keys() & audit.experiments}:
        yield "what decides (bounds, settings, arms, runs)"


def _of_card(row: Mapping[str, Any]) -> list[Any]:
    return [row.get(field) for field in ("name", "card", "evidence")]


def _said(one: Claim | ClaimModel) -> list[Any]:
    return [one.id, one.says, one.short, one.wording, one.locator, one.main, one.experiment]
