"""Which records of a store are judged together.

A run judges exactly the records that its own plan names. A report judges today's group. If that has
no records, it judges the group with most of the planned cells, and of equally full groups the one
that was written last. With ``--group`` the user names a group. Records of the plain form are judged
where there are no others, or where the user names their group. Records of different groups are
never mixed. The records that came with a report are judged whole: whoever shipped them drew their
seeds. Nothing is judged along other coordinates than it was measured along.

Within a group, the cells of an experiment and its settings are judged on one state of their data:
the one with which a run planned them last. A report cannot ask the experiment, whose code it does
not run; so every run notes that state in the store (`Store.note_data`). Where no run did, it is the
state of the record that was written last.

A group holds the records that one state of code, versions, device and form made. States of code
that were seen to give the same bits (`adoptions`) count as the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from reproaudit.audit.catalog import Entry, Module
from reproaudit.audit.model import Audit, TierName
from reproaudit.audit.plan import cells_of_alternatives, cells_of_tier, varied_tier
from reproaudit.audit.seeds import stored_tier
from reproaudit.cell import TierKey
from reproaudit.errors import SpecError, UsageError, did_you_mean
from reproaudit.files import sha256
from reproaudit.formats.scorecard import LeftOut
from reproaudit.records import CellStatus, Record
from reproaudit.store.adoptions import (
    NO_ADOPTIONS,
    Adoptions,
    adoption_tier,
    pair_of,
    read_adoptions,
)
from reproaudit.store.code import closure_of, versions, versions_of
from reproaudit.store.coordinates import axes_file, changed_axes, read_axes, refusal
from reproaudit.store.records import DamagedError, Store

Data = Mapping[str, str]  # the checksum of each data file, by name

PlannedData = Callable[[Record], Data | None]
"""From a record to the data with which a run planned its cell last; None if no run noted them."""


@dataclass(frozen=True)
class Group:
    """The digest of the code that made some records, and versions, device and form with it."""

    code: str
    versions: tuple[tuple[str, str], ...]

    @cached_property
    def id(self) -> str:
        """Eight hexadecimal digits, for ``--group``."""
        return sha256(repr((self.code, self.versions)).encode())[:8]


def group_of(record: Record, adoptions: Adoptions = NO_ADOPTIONS) -> Group:
    """The group that a record belongs to: that of today's code if it gave the same bits."""
    code = adoptions.counting_as(record)
    return Group(code, tuple(sorted(versions_of(record.environment).items())))


def todays_groups(module: Module | None, adoptions: Adoptions = NO_ADOPTIONS) -> tuple[Group, ...]:
    """The groups that today's code makes in the fast form; a SpecError if it cannot be read."""
    if module is None:
        return ()
    code = closure_of(module)
    name = adoptions.name(code.digest)
    made_with = (versions(device, code.packages) for device in ("cpu", "cuda"))
    return tuple(Group(name, tuple(sorted(packages.items()))) for packages in made_with)


def grouped(
    records: Iterable[Record], adoptions: Adoptions = NO_ADOPTIONS
) -> dict[Group, list[Record]]:
    """Records by group, in their order; the group of the last one last."""
    groups: dict[Group, list[Record]] = {}
    for record in records:
        group = group_of(record, adoptions)
        groups[group] = groups.pop(group, [])
        groups[group].append(record)
    return groups


@dataclass(frozen=True)
class Chosen:
    """The records that are judged together.

    Attributes:
        group: what made them; None if there are none.
        of_today: whether today's code and versions would make them; None if nobody asked.
        others: how many other groups have planned cells, too.
        other_data: by the name of a data file, how many records of another state were left out.
        changed: those that were left out, since the audit now declares other coordinates.
    """

    records: Mapping[TierKey, Record] = field(default_factory=dict)
    group: Group | None = None
    of_today: bool | None = None
    others: int = 0
    other_data: Mapping[str, int] = field(default_factory=dict)
    changed: tuple[LeftOut, ...] = ()
    adoptions: Adoptions = NO_ADOPTIONS

    def left_out(self, tier: TierName) -> Iterator[LeftOut]:
        """What was left out of a tier's records, and why."""
        for name, count in self.other_data.items():
            yield LeftOut(tier=tier, count=count, data=name)
        yield from self.changed


def planned_only(
    records: Iterable[Record], planned: Mapping[TierKey, str], adoptions: Adoptions = NO_ADOPTIONS
) -> Chosen:
    """The records that have the fingerprint which a plan gave to their cell, and no others."""
    of_plan = [
        record for record in records if planned.get((record.tier, record.key)) == record.fingerprint
    ]
    group = group_of(of_plan[0], adoptions) if of_plan else None
    by_cell = _by_cell(of_plan, adoptions)
    return Chosen(by_cell, group, of_today=True, adoptions=adoptions)


def choose(
    records: Iterable[Record],
    planned: Collection[TierKey],
    today: Collection[Group],
    planned_data: PlannedData,
    wanted: str | None = None,
    adoptions: Adoptions = NO_ADOPTIONS,
) -> Chosen:
    """The group of records to judge: the wanted one, by the beginning of its id, or the best one.

    The best has planned cells. The fast form comes before the plain one, then ``today``'s code
    before others, then more finished cells before fewer, and last the group written later: records
    come in that order. A UsageError if no group has the wanted id.
    """
    of_today: dict[Group, list[Record]] = {}
    of_other_data: dict[Group, list[tuple[Record, Data]]] = {}
    for group, members in grouped(records, adoptions).items():
        last = {pair_of(record): record for record in members}
        noted = {pair: planned_data(record) for pair, record in last.items()}
        data = {pair: last[pair].data if note is None else note for pair, note in noted.items()}
        pairs = [(record, data[pair_of(record)]) for record in members]
        of_today[group] = [record for record, todays in pairs if record.data == todays]
        of_other_data[group] = [pair for pair in pairs if pair[0].data != pair[1]]
    groups = {group: _by_cell(members, adoptions) for group, members in of_today.items()}
    ranks = {}
    for group, by_cell in groups.items():
        cells = by_cell.keys() & set(planned)
        fast = tuple(version for version in group.versions if version != ("form", "plain"))
        is_of_today = Group(group.code, fast) in today
        done = sum(by_cell[key].status is not CellStatus.FAILED for key in cells)
        ranks[group] = (fast == group.versions, is_of_today, done, len(cells))
    with_cells = sorted((group for group in groups if ranks[group][-1]), key=ranks.__getitem__)
    fitting = with_cells[-1:]
    if wanted is not None:
        fitting = [group for group in groups if group.id.startswith(wanted)]
        if len(fitting) != 1:
            remedy = did_you_mean(wanted, [group.id for group in groups])
            count = f"{len(fitting) or 'no'} groups of records have this id"
            raise UsageError(f"--group {wanted}: {count}. {remedy}".rstrip())
    left_out = [pair for group in fitting or groups for pair in of_other_data[group]]
    other_data = _other_data(left_out, planned)
    if not fitting:
        return Chosen(other_data=other_data)
    (group,) = fitting
    others = len({*with_cells} - {group})
    is_of_today = ranks[group][1]
    return Chosen(groups[group], group, is_of_today, others, other_data, adoptions=adoptions)


def _other_data(
    left_out: Iterable[tuple[Record, Data]], planned: Collection[TierKey]
) -> dict[str, int]:
    """By the name of a data file, how many planned records read another state of it."""
    return Counter(
        name
        for record, data in left_out
        if (record.tier, record.key) in planned and record.status is not CellStatus.FAILED
        for name in sorted(record.data.keys() | data.keys())
        if record.data.get(name) != data.get(name)
    )


def _by_cell(records: Iterable[Record], adoptions: Adoptions) -> dict[TierKey, Record]:
    """The record that counts of each cell: finished, then of today's code, then written last."""
    today = adoptions.name(adoptions.today)

    def worth(record: Record) -> tuple[bool, bool]:
        return record.status is not CellStatus.FAILED, adoptions.name(record.code) == today

    return {(record.tier, record.key): record for record in sorted(records, key=worth)}


# --- of a store ---------------------------------------------------------------------------------


def has_records(store: Store, slug: str, tier: str) -> bool:
    """Tell whether a store holds a record of a paper at a tier."""
    return any(True for _ in store.records(slug, tier))


def chosen_by_run(
    entry: Entry,
    audit: Audit,
    tier: TierName,
    store: Store,
    planned: Mapping[TierKey, str],
    on_damage: Callable[[DamagedError], None],
) -> Chosen:
    """The records that a run planned, by their fingerprints: its own, and those of alternatives.

    A file among alternatives that is no record is named to `on_damage`.

    Raises:
        StoreError: on a file that is no record and may be a planned one.
        SpecError: if the audit declares other coordinates than the records have.
    """
    kept = stored_tier(audit, tier)
    only = frozenset(planned.values())
    own = store.records(entry.slug, kept, only=only)
    varied = store.records(entry.slug, varied_tier(kept), on_damage, only)
    records = store.in_order([*own, *varied])
    adoptions = _adoptions_of(entry, store, store.root, kept, records)
    chosen = planned_only(records, planned, adoptions)
    return _of_todays_axes(audit, tier, chosen, store)


def chosen_of_store(
    entry: Entry,
    audit: Audit,
    tier: TierName,
    store: Store,
    wanted: str | None = None,
    *,
    shipped: bool = False,
    judged: TierName | None = None,
) -> Chosen:
    """The records of a tier and of its alternatives: of the wanted group, else of the best one.

    Args:
        shipped: whether the store came with a report: every cell counts, whatever its seed.
        judged: the tier that is judged, if another: records along other coordinates are left out.

    Raises:
        UsageError: if no group has the wanted id.
        StoreError, SpecError: as of `chosen_by_run`.
    """
    kept = stored_tier(audit, tier)
    tiers = (kept, varied_tier(kept))
    records = store.in_order(record for name in tiers for record in store.records(entry.slug, name))
    planned = [*cells_of_tier(audit, tier), *cells_of_alternatives(audit, tier)]
    keys = {(cell.tier, cell.key) for cell in (records if shipped else planned)}
    adoptions = _adoptions_of(entry, store, None if shipped else store.root, kept, records)
    today = todays_groups(entry.code, adoptions)
    chosen = choose(records, keys, today, store.planned_data, wanted, adoptions)
    of_plan = {key: record for key, record in chosen.records.items() if key in keys}
    return _of_todays_axes(audit, judged or tier, replace(chosen, records=of_plan), store)


def _adoptions_of(
    entry: Entry, store: Store, written: Path | None, tier: str, records: Iterable[Record]
) -> Adoptions:
    """A tier's adoptions, as far as its records and those that compared code bear them out."""
    adoptions = read_adoptions(entry, written)
    if not adoptions.lines:
        return adoptions
    compared = [
        record
        for name in map(adoption_tier, (tier, varied_tier(tier)))
        for record in store.records(entry.slug, name, lambda _damaged: None)
    ]
    return adoptions.held_against([*records, *compared])


def _of_todays_axes(audit: Audit, tier: TierName, chosen: Chosen, store: Store) -> Chosen:
    """The chosen records along today's coordinates; a SpecError if any of the tier's own is not."""
    kept = read_axes(axes_file(store.root, audit.paper.slug))
    declared = {name: audit.measurements_of(name) for name in audit.experiments}
    changed: Counter[LeftOut] = Counter()
    records = {}
    for key, record in chosen.records.items():
        differing = list(changed_axes(record, declared.get(record.experiment, {}), kept))
        changed.update(differing)
        if not differing:
            records[key] = record
    own = stored_tier(audit, tier)
    slug = audit.paper.slug
    if refused := [refusal(slug, other, n) for other, n in changed.items() if other.tier == own]:
        raise SpecError("\n".join(refused))
    counted = (other.model_copy(update={"count": n}) for other, n in changed.items())
    return replace(chosen, records=records, changed=tuple(counted))
