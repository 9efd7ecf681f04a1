"""Groups of records that one state of code, versions, device, form and data made.

States of code that were seen to give the same bits (`adoptions`) count as the same. Records of
different groups are never mixed. A run judges the records of its own plan. A report judges today's
group. If that has no records, it judges the group with most of the planned cells, and of equally
full groups the one that was written last. With ``--group`` the user names a group. Records of the
plain form are judged where there are no others, or where the user names their group.

Within a group, the cells of an experiment and its settings are judged on one state of their data:
the one with which a run planned them last. A report cannot ask the experiment, whose code it does
not run; so every run notes that state in the store (`Store.note_data`). Where no run did, it is the
state of the record that was written last.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from reproaudit.audit.catalog import Module
from reproaudit.cell import CellKey
from reproaudit.errors import UsageError, did_you_mean
from reproaudit.records import CellStatus, Record
from reproaudit.running.adoptions import NO_ADOPTIONS, Adoptions
from reproaudit.running.code import closure_of, versions, versions_of
from reproaudit.running.coordinates import ChangedAxes
from reproaudit.running.files import sha256

TierKey = tuple[str, CellKey]
"""A cell within its paper: tier and cell key."""

Data = Mapping[str, str]
"""The checksum of each data file, by name."""

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


def todays_groups(module: Module | None) -> tuple[Group, ...]:
    """The groups whose records today's code would make in the fast form, one for each device.

    Raises:
        SpecError: if the module is missing, unreadable or not valid Python.
    """
    if module is None:
        return ()
    code = closure_of(module)
    found = [versions(device, code.packages) for device in ("cpu", "cuda")]
    return tuple(Group(code.digest, tuple(sorted(one.items()))) for one in found)


def grouped(
    records: Iterable[Record], adoptions: Adoptions = NO_ADOPTIONS
) -> dict[Group, list[Record]]:
    """Records by group, in their order; the group of the last one last."""
    found: dict[Group, list[Record]] = {}
    for record in records:
        group = group_of(record, adoptions)
        found[group] = found.pop(group, [])
        found[group].append(record)
    return found


def _todays_data(
    records: Iterable[Record], planned_data: PlannedData
) -> dict[tuple[str, str, str], Data]:
    """The data of today by tier, experiment and settings, from the records of one group."""
    last = {_alike(one): one for one in records}
    noted = {key: planned_data(one) for key, one in last.items()}
    return {key: last[key].data if data is None else data for key, data in noted.items()}


def _alike(record: Record) -> tuple[str, str, str]:
    experiment, settings, _ = record.key
    return record.tier, experiment, settings


@dataclass(frozen=True)
class Chosen:
    """The records that are judged together.

    Attributes:
        records: by tier and cell.
        group: what made them; None if there are none.
        of_today: whether today's code and versions would make them; None if nobody asked.
        others: how many other groups have planned cells, too.
        other_data: by the name of a data file, how many records read another state of it than
            today's and were left out.
        changed: how many were left out, since the audit now declares other coordinates.
    """

    records: Mapping[TierKey, Record] = field(default_factory=dict)
    group: Group | None = None
    of_today: bool | None = None
    others: int = 0
    other_data: Mapping[str, int] = field(default_factory=dict)
    changed: Mapping[ChangedAxes, int] = field(default_factory=dict)


def planned_only(
    records: Iterable[Record],
    planned: Mapping[TierKey, str],
    adoptions: Adoptions = NO_ADOPTIONS,
) -> Chosen:
    """The records that have the fingerprint which a plan gave to their cell, and no others."""
    of_plan = [one for one in records if planned.get((one.tier, one.key)) == one.fingerprint]
    group = group_of(of_plan[0], adoptions) if of_plan else None
    return Chosen(_by_cell(of_plan, adoptions), group, of_today=True)


def choose(
    records: Iterable[Record],
    planned: Collection[TierKey],
    today: Collection[Group],
    planned_data: PlannedData,
    wanted: str | None = None,
    adoptions: Adoptions = NO_ADOPTIONS,
) -> Chosen:
    """The group of records to judge: the wanted one, by the beginning of its id, or the best one.

    That is the one with the planned cells that are made by ``today``'s code, else the fullest, of
    several the last.

    Args:
        records: in the order in which they were written.
        planned: the cells of the plan.
        today: the groups that today's code would make.
        planned_data: of a record, the data with which a run planned its cell last.
        wanted: the beginning of a group's id.

    Raises:
        UsageError: if no group has the wanted id.
    """
    of_today: dict[Group, list[Record]] = {}
    of_other_data: dict[Group, list[tuple[Record, Data]]] = {}
    for group, several in grouped(records, adoptions).items():
        data = _todays_data(several, planned_data)
        of_today[group] = [one for one in several if one.data == data[_alike(one)]]
        of_other_data[group] = [
            (one, data[_alike(one)]) for one in several if one.data != data[_alike(one)]
        ]
    groups = {group: _by_cell(several, adoptions) for group, several in of_today.items()}
    ranks = {}
    for group, by_cell in groups.items():
        cells = by_cell.keys() & set(planned)
        fast = tuple(one for one in group.versions if one != ("form", "plain"))
        is_of_today = Group(group.code, fast) in today
        done = sum(by_cell[key].status is not CellStatus.FAILED for key in cells)
        ranks[group] = (fast == group.versions, is_of_today, done, len(cells))
    with_cells = sorted((one for one in groups if ranks[one][-1]), key=ranks.__getitem__)
    fitting = with_cells[-1:]
    if wanted is not None:
        fitting = [group for group in groups if group.id.startswith(wanted)]
        if len(fitting) != 1:
            remedy = did_you_mean(wanted, [group.id for group in groups])
            found = f"{len(fitting) or 'no'} groups of records have this id"
            raise UsageError(f"--group {wanted}: {found}. {remedy}".rstrip())
    left_out = [one for group in fitting or groups for one in of_other_data[group]]
    other_data = _other_data(left_out, planned)
    if not fitting:
        return Chosen(other_data=other_data)
    (group,) = fitting
    others = len({*with_cells} - {group})
    return Chosen(groups[group], group, ranks[group][1], others, other_data)


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
    """Records by cell: of several that count alike, that of today's code, else the last."""
    ordered = sorted(records, key=lambda one: one.code == adoptions.today)
    return {(one.tier, one.key): one for one in ordered}
