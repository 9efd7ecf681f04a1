"""Groups of records that one state of code, versions, device and form made.

States of code that were seen to give the same bits (`adoptions`) count as the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from reproaudit.audit.catalog import Module
from reproaudit.cell import CellKey
from reproaudit.records import Record
from reproaudit.running.adoptions import NO_ADOPTIONS, Adoptions
from reproaudit.running.code import closure_of, versions, versions_of
from reproaudit.running.files import sha256

TierKey = tuple[str, CellKey]
"""A cell within its paper: tier and cell key."""


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
