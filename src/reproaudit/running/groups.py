"""Groups of records that one state of code, versions, device, form and data made.

Records of different groups are never mixed, and no clock decides between them. A run judges the
records of its own plan. A report judges today's group; if that has no record, the group with most
of the planned cells; of two equally full groups the user chooses (``--group``). Records of the
plain form are judged where there are no others, or where the user asks for their group.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from reproaudit.audit.paper_module import Module
from reproaudit.cell import CellKey
from reproaudit.errors import UsageError, did_you_mean
from reproaudit.records import CellStatus, Record
from reproaudit.running.code import closure_of, versions, versions_of
from reproaudit.running.files import sha256

TierKey = tuple[str, CellKey]
"""A cell within its paper: tier and cell key."""


class TiedGroupsError(UsageError):
    """Two groups of records have equally many of the planned cells, and neither is today's."""


@dataclass(frozen=True, order=True)
class Group:
    """The code, versions and data that made some records.

    Attributes:
        code: the digest of the paper's code.
        versions: Python, kind of device, packages, and the form where it is the plain one, as
            (name, version).
        data: of data files that records of this code and these versions read in several states:
            the state that this group read, as (name, checksum).
    """

    code: str
    versions: tuple[tuple[str, str], ...]
    data: tuple[tuple[str, str], ...] = ()

    @cached_property
    def id(self) -> str:
        """Eight hexadecimal digits, for ``--group``."""
        return sha256(repr((self.code, self.versions, self.data)).encode())[:8]

    def made(self, record: Record) -> bool:
        """True if a record is of this group."""
        is_same = _group_of(record) == replace(self, data=())
        return is_same and all(record.data.get(name, found) == found for name, found in self.data)

    def __str__(self) -> str:
        """The id, and its meaning."""
        data = [f"{name} {checksum[:15]}" for name, checksum in self.data]
        made = [f"{name} {version}" for name, version in self.versions]
        return f"{self.id} (code {self.code[:8]}, {', '.join([*made, *data])})"


def _group_of(record: Record) -> Group:
    return Group(record.code, tuple(sorted(versions_of(record.environment).items())))


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


def grouped(records: Iterable[Record]) -> dict[Group, list[Record]]:
    """Records by group; those that read no contested data belong to each group of their code."""
    by_code: dict[Group, list[Record]] = defaultdict(list)
    for record in records:
        by_code[_group_of(record)].append(record)
    found = {}
    for group, several in by_code.items():
        states = {state for one in several for state in one.data.items()}
        count = Counter(name for name, _ in states)
        contested = {state for state in states if count[state[0]] > 1}
        read = {tuple(sorted(contested.intersection(one.data.items()))) for one in several}
        for narrowed in [replace(group, data=data) for data in (read - {()}) or {()}]:
            found[narrowed] = [one for one in several if narrowed.made(one)]
    return found


@dataclass(frozen=True)
class Chosen:
    """The records that are judged together.

    Attributes:
        records: by tier and cell.
        group: what made them; None if there are none.
        of_today: whether today's code and versions would make them; None if nobody asked.
        others: the ids of the groups that also have planned cells.
    """

    records: Mapping[TierKey, Record] = field(default_factory=dict)
    group: Group | None = None
    of_today: bool | None = None
    others: tuple[str, ...] = ()


def planned_only(records: Iterable[Record], planned: Mapping[TierKey, str]) -> Chosen:
    """The records that have the fingerprint which a plan gave to their cell, and no others."""
    of_plan = [one for one in records if planned.get((one.tier, one.key)) == one.fingerprint]
    return Chosen(_by_cell(of_plan), min(grouped(of_plan), default=None), of_today=True)


def choose(
    records: Iterable[Record],
    planned: Collection[TierKey],
    today: Collection[Group],
    wanted: str | None = None,
) -> Chosen:
    """The group of records to judge: the wanted one, by the beginning of its id, or the best one.

    That is the one with the planned cells that are made by ``today``'s code, else the fullest.

    Raises:
        TiedGroupsError: if two groups have equally many of the planned cells.
        UsageError: if no group has the wanted id.
    """
    groups = {group: _by_cell(several) for group, several in sorted(grouped(records).items())}
    ranks = {}
    for group, by_cell in groups.items():
        cells = by_cell.keys() & set(planned)
        fast = tuple(one for one in group.versions if one != ("form", "plain"))
        is_of_today = Group(group.code, fast) in today
        done = sum(by_cell[key].status is not CellStatus.FAILED for key in cells)
        ranks[group] = (bool(cells), fast == group.versions, is_of_today, done, len(cells))
    if wanted is None:
        best = max(ranks.values(), default=None)
        fitting = [group for group, rank in ranks.items() if rank == best and rank[0]]
    else:
        fitting = [group for group in groups if group.id.startswith(wanted)]
        if len(fitting) != 1:
            remedy = did_you_mean(wanted, [group.id for group in groups])
            found = f"{len(fitting) or 'no'} groups of records have this id"
            raise UsageError(f"--group {wanted}: {found}. {remedy}".rstrip())
    if not fitting:
        return Chosen()
    if len(fitting) > 1:
        raise TiedGroupsError(
            f"{len(fitting)} groups of records have equally many of the planned cells, and they "
            f"are not mixed: {'; '.join(map(str, fitting))}. Choose one with --group."
        )
    (group,) = fitting
    others = tuple(one.id for one in groups if one != group and ranks[one][0])
    return Chosen(groups[group], group, ranks[group][2], others)


def _by_cell(records: Iterable[Record]) -> dict[TierKey, Record]:
    return {(one.tier, one.key): one for one in records}
