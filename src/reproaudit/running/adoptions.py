"""Adoptions: which code gave the same bits as which, cell by cell, so that old records count.

A record belongs to the digest of the code that made it. After a change of code that computes the
same, ``reproaudit adopt`` measures a drawn cell of every pair of experiment and settings again, and
adds a line to ``audits/<slug>.adoptions.jsonl`` on those that gave the same bits. Records of the
old and the new code then count alike, pair by pair. A line says what was compared; it proves
nothing of the cells that were not drawn. It is held against the records: a cell of which there is
none, or whose record has other numbers, does not count.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from pydantic import Field, ValidationError

from reproaudit.audit.catalog import Entry
from reproaudit.cell import Cell, canonical_settings
from reproaudit.declarations import StrictModel, first_refusal
from reproaudit.errors import SpecError
from reproaudit.files import sha256
from reproaudit.records import CellStatus, Record
from reproaudit.running.code import closure_of, versions_of
from reproaudit.running.journal import Journal

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
CodeDigest = Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]


class Pair(NamedTuple):
    """An experiment with its settings, at a tier; a digest stands for the settings."""

    tier: str
    experiment: str
    settings: str


def adoption_tier(tier: str) -> str:
    """The folder of the cells of a tier that were measured to compare code."""
    return f"adopt-{tier}"


def pair_of(cell: Cell | Record) -> Pair:
    """The pair that a cell or a record belongs to."""
    return Pair(cell.tier, cell.experiment, sha256(canonical_settings(cell.settings).encode()))


def compared_pair_of(record: Record) -> Pair:
    """The pair that a record belongs to, or was measured for to compare code."""
    pair = pair_of(record)
    return pair._replace(tier=pair.tier.removeprefix(adoption_tier("")))


def measured_by(record: Record) -> str:
    """The digest of everything that a record measured."""
    return sha256(f"{record.status} {record.measurements.model_dump_json()}".encode())


class ComparedCell(StrictModel):
    """A cell that the old and the new code measured alike.

    Attributes:
        settings: the SHA-256 of the pair's canonical settings.
        seed: which of the pair's cells was drawn.
        measured: the SHA-256 of what both measured.
    """

    tier: str
    experiment: str
    settings: Sha256
    seed: int
    measured: Sha256

    @property
    def pair(self) -> Pair:
        """The pair that the cell stands for."""
        return Pair(self.tier, self.experiment, self.settings)


class Adoption(StrictModel):
    """One line: the cells in which two states of a paper's code gave the same bits.

    Attributes:
        revision: of the checkout that holds the audit, if there is one.
        old: the digest of the code that made the records.
        new: the digest of the code that measured them again.
        versions: of what computed, the same for both.
        processor: on which the new code measured.
    """

    kind: Literal["adoption"] = "adoption"
    date: datetime
    revision: str | None = None
    old: CodeDigest
    new: CodeDigest
    versions: dict[str, str]
    processor: str
    cells: tuple[ComparedCell, ...]


@dataclass(frozen=True)
class Adoptions:
    """Every adoption of a paper, in order, and the digest of its code as it is today."""

    lines: tuple[Adoption, ...] = ()
    today: str = ""

    @property
    def compared(self) -> Iterator[tuple[Adoption, ComparedCell]]:
        """Every cell that was compared, with its line."""
        return ((line, cell) for line in self.lines for cell in line.cells)

    def held_against(self, records: Iterable[Record]) -> Adoptions:
        """The adoptions without the cells that some records of theirs do not bear out."""
        wanted = {(cell.pair, cell.seed) for _, cell in self.compared}
        known: dict[tuple[Pair, int], list[Record]] = {}
        for record in records if wanted else ():
            place = compared_pair_of(record), record.seed
            if place in wanted and record.status is not CellStatus.FAILED:
                known.setdefault(place, []).append(record)
        lines = []
        for line in self.lines:
            cells = tuple(
                cell
                for cell in line.cells
                if _is_borne_out(line, cell, known.get((cell.pair, cell.seed), ()))
            )
            lines.append(line.model_copy(update={"cells": cells}))
        return replace(self, lines=tuple(lines))

    @cached_property
    def _alike(self) -> dict[tuple[Pair, tuple[tuple[str, str], ...]], list[list[str]]]:
        """By pair and versions, the sets of codes that gave the same bits, the newest last."""
        found: dict[tuple[Pair, tuple[tuple[str, str], ...]], list[list[str]]] = {}
        for line in self.lines:
            versions = tuple(sorted(line.versions.items()))
            for cell in line.cells:
                sets = found.setdefault((cell.pair, versions), [])
                joined = [one for one in sets if line.old in one or line.new in one]
                codes = [code for one in joined for code in one if code != line.new]
                sets[:] = [one for one in sets if one not in joined]
                sets.append(list(dict.fromkeys([*codes, line.old, line.new])))
        return found

    def alike(self, pair: Pair, versions: Iterable[tuple[str, str]], code: str) -> list[str]:
        """Every code that counts like this one for a pair, this one among them, the newest last."""
        if not self.lines:
            return [code]
        sets = self._alike.get((pair, tuple(sorted(versions))), [])
        return next((one for one in sets if code in one), [code])

    def counting_as(self, record: Record) -> str:
        """The code that a record counts as: today's if it gave the same bits, else the newest."""
        if not self.lines:
            return record.code
        versions = versions_of(record.environment)
        codes = self.alike(pair_of(record), versions.items(), record.code)
        return self.today if self.today in codes else codes[-1]

    def cells_of(self, records: Iterable[Record]) -> set[ComparedCell]:
        """The cells that were measured again for the pairs of some records, under their codes."""
        of = {(pair_of(one), one.code) for one in records} if self.lines else set()
        return {
            cell
            for line in self.lines
            for cell in line.cells
            if (cell.pair, line.old) in of or (cell.pair, line.new) in of
        }


def _is_borne_out(line: Adoption, cell: ComparedCell, records: Iterable[Record]) -> bool:
    """Whether the records of a cell, by the old or the new code, hold what the line says.

    Another processor may round otherwise, so that a record of it proves nothing, unless it agrees.
    A record from before processors were noted is one of the cell, and no more can be said.
    """
    of_line = [
        record
        for record in records
        if record.code in (line.old, line.new) and versions_of(record.environment) == line.versions
    ]
    agree = [measured_by(record) == cell.measured for record in of_line]
    processors = [record.environment.processor for record in of_line]
    if any(it == line.processor and not same for it, same in zip(processors, agree, strict=True)):
        return False
    return any(agree) or (bool(of_line) and set(processors) == {None})


NO_ADOPTIONS = Adoptions()


def read_adoptions(entry: Entry, store: Path | None) -> Adoptions:
    """The adoptions beside an audit, then those in a store, as they are written.

    Raises:
        SpecError: naming a bad line.
    """
    today = "" if entry.code is None else closure_of(entry.code).digest
    return Adoptions(tuple(_read(Journal(entry, "adoptions", store).lines())), today)


def _read(lines: Iterable[tuple[str, bytes]]) -> Iterator[Adoption]:
    for place, line in lines:
        try:
            yield Adoption.model_validate_json(line)
        except ValidationError as error:
            raise SpecError(
                f"{place}: found no adoption ({first_refusal(error)}); expected a line that "
                "'reproaudit adopt' wrote. Restore the file from git, or remove the line and "
                "adopt again."
            ) from None
