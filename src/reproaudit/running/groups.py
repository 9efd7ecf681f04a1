"""Groups of records that one state of code, versions, device and form made, and which one to show.

Records of different groups are never mixed, and no clock decides between them. A run asks for the
fingerprints of its own plan. A report asks for today's group; if that has no record, it takes the
group with most of the planned cells, and says so; two groups with equally many are a tie, which
only the user can break (``--group``). Records of the plain form are shown where there are no others
or where the user asks for their group.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from reproaudit.audit.paper_module import Module
from reproaudit.cell import CellKey, RunForm
from reproaudit.errors import UsageError, did_you_mean
from reproaudit.records import CellStatus, Record
from reproaudit.running.files import sha256
from reproaudit.running.fingerprint import closure_of, versions, versions_of

TierKey = tuple[str, CellKey]
"""A cell within its paper: tier and cell key."""


class TiedGroupsError(UsageError):
    """Two groups of records answer a question equally well, and none is of today's code."""


@dataclass(frozen=True, order=True)
class Group:
    """The code, versions and data that made some records.

    Attributes:
        code: the hash of the paper's code.
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

    @property
    def form(self) -> RunForm:
        """The form in which the experiments computed."""
        return "plain" if ("form", "plain") in self.versions else "fast"

    def is_one_of(self, fast: Collection[Group]) -> bool:
        """True if it is one of these groups of the fast form, or the plain form of one."""
        named = tuple(one for one in self.versions if one[0] != "form")
        return Group(self.code, named) in fast

    def made(self, record: Record) -> bool:
        """True if a record is of this group."""
        state = dict(self.data)
        return made_with(record.code, versions_of(record.environment)) == Group(
            self.code, self.versions
        ) and all(state.get(name, found) == found for name, found in record.data.items())

    def __str__(self) -> str:
        """The id, and what it stands for."""
        data = [f"{name} {checksum[:15]}" for name, checksum in self.data]
        made = [f"{name} {version}" for name, version in self.versions]
        return f"{self.id} (code {self.code[:8]}, {', '.join([*made, *data])})"


def made_with(code: str, found: Mapping[str, str]) -> Group:
    """The group of a code hash and of versions, as `versions` gives them."""
    return Group(code, tuple(sorted(found.items())))


def todays_groups(
    module: Module | None, devices: Iterable[str] = ("cpu", "cuda")
) -> tuple[Group, ...]:
    """The groups whose records today's code would make in the fast form, one for each device.

    Without a module there are none.

    Raises:
        SpecError: if the module is missing, unreadable or not valid Python.
    """
    if module is None:
        return ()
    closure = closure_of(module)
    return tuple(
        made_with(closure.digest, versions(device, closure.packages)) for device in devices
    )


def grouped(records: Iterable[Record]) -> dict[Group, list[Record]]:
    """Records by group; those that read no contested data belong to each group of their code."""
    by_code: dict[Group, list[Record]] = defaultdict(list)
    for record in records:
        by_code[made_with(record.code, versions_of(record.environment))].append(record)
    found: dict[Group, list[Record]] = {}
    for group, several in by_code.items():
        states: dict[str, set[str]] = defaultdict(set)
        for record in several:
            for name, checksum in record.data.items():
                states[name].add(checksum)
        contested = {name for name, checksums in states.items() if len(checksums) > 1}
        read = {tuple(sorted(one.data.items() & _pairs(states, contested))) for one in several}
        for data in (read - {()}) or {()}:
            narrowed = Group(group.code, group.versions, data)
            found[narrowed] = [one for one in several if narrowed.made(one)]
    return found


def _pairs(states: Mapping[str, set[str]], names: Collection[str]) -> set[tuple[str, str]]:
    return {(name, checksum) for name in names for checksum in states[name]}


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

    def at(self, tier: str) -> dict[CellKey, Record]:
        """The records of a tier, by cell."""
        return {key: record for (place, key), record in self.records.items() if place == tier}


def planned_only(records: Iterable[Record], planned: Mapping[TierKey, str]) -> Chosen:
    """The records that have the fingerprint which a plan gave to their cell, and no others."""
    chosen = {
        (one.tier, one.key): one
        for one in records
        if planned.get((one.tier, one.key)) == one.fingerprint
    }
    return Chosen(chosen, next(iter(sorted(grouped(chosen.values()))), None), of_today=True)


def choose(
    records: Iterable[Record],
    planned: Collection[TierKey],
    today: Collection[Group] | None = None,
    wanted: str | None = None,
) -> Chosen:
    """The group of records to judge: the wanted one, else today's, else the fullest.

    Args:
        records: every record of the tiers in question.
        planned: the cells that are to be judged.
        today: from `todays_groups`; None if that is not asked for.
        wanted: the beginning of a group's id; None for no wish.

    Raises:
        TiedGroupsError: if two groups have equally many of the planned cells.
        UsageError: if no group has the wanted id.
    """
    groups = {
        group: {(one.tier, one.key): one for one in several}
        for group, several in grouped(records).items()
    }
    ids = sorted(group.id for group in groups)
    if wanted is not None:
        fitting = [group for group in groups if group.id.startswith(wanted)]
        if len(fitting) != 1:
            raise UsageError(
                f"--group {wanted}: {len(fitting) or 'no'} groups of records have this id. "
                f"{did_you_mean(wanted, ids)}".rstrip()
            )
    else:
        shown = [one for one in groups if one.form == "fast"] or list(groups)
        now = [one for one in shown if one.is_one_of(today or ())]
        fitting = _fullest(now, groups, planned) or _fullest(shown, groups, planned)
    if not fitting:
        return Chosen()
    if len(fitting) > 1:
        some = "; ".join(str(group) for group in sorted(fitting))
        raise TiedGroupsError(
            f"{len(fitting)} groups of records have equally many of the planned cells, and they "
            f"are not mixed: {some}. Choose one with --group."
        )
    (group,) = fitting
    others = tuple(
        one.id for one in sorted(groups) if one != group and groups[one].keys() & set(planned)
    )
    is_now = None if today is None else group.is_one_of(today)
    return Chosen(groups[group], group, is_now, others)


def _fullest(
    groups: Collection[Group],
    records: Mapping[Group, Mapping[TierKey, Record]],
    planned: Collection[TierKey],
) -> list[Group]:
    """The groups that have a finished record, or else any, of most of the planned cells."""

    def filled(group: Group) -> tuple[int, int]:
        found = [records[group][key] for key in planned if key in records[group]]
        return sum(one.status is not CellStatus.FAILED for one in found), len(found)

    most = max(map(filled, groups), default=(0, 0))
    return [group for group in groups if filled(group) == most > (0, 0)]
