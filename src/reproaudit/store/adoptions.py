"""Adoptions: which code gave the same bits as which, cell by cell, so that old records count.

A record belongs to the digest of the code that made it. After a change of code that computes the
same, ``reproaudit adopt`` measures a drawn cell of every pair of experiment and settings again, and
adds a line to ``audits/<slug>.adoptions.jsonl`` on those that gave the same bits. Records of the
old and the new code then count alike, pair by pair. A line says what was compared, and proves
nothing about cells that were not drawn. Another kind of line names the two forms of one digest. A
cell counts only if a record bears out its numbers and no record contradicts them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from pydantic import Field, TypeAdapter, ValidationError

from reproaudit.audit.catalog import Entry
from reproaudit.cell import Cell, canonical_settings
from reproaudit.declarations import StrictModel, first_refusal
from reproaudit.errors import SpecError
from reproaudit.files import sha256
from reproaudit.records import CellStatus, Record
from reproaudit.store.code import closure_of, versions_of
from reproaudit.store.journal import Journal

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
    """A cell that two codes measured alike; digests stand for its settings and numbers."""

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
        versions: of what computed, the same for the old and the new code.
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


class SameCode(StrictModel):
    """A line on two forms of one digest, of which today's leaves out names and places of files."""

    kind: Literal["form"] = "form"
    date: datetime
    revision: str | None = None
    first: CodeDigest
    second: CodeDigest


@dataclass(frozen=True)
class Adoptions:
    """Every adoption of a paper; `today` is its code's digest, `forms` has second forms' firsts."""

    lines: tuple[Adoption, ...] = ()
    today: str = ""
    forms: Mapping[str, str] = field(default_factory=dict)

    def name(self, code: str) -> str:
        """The digest that stands for a code, whichever of its two forms is given."""
        return self.forms.get(code, code)

    def digests_of(self, code: str) -> list[str]:
        """Both forms of a digest, where they are known; the given one first."""
        name = self.name(code)
        seconds = [second for second, first in self.forms.items() if first == name]
        return list(dict.fromkeys([code, name, *seconds]))

    @property
    def compared(self) -> Iterator[tuple[Adoption, ComparedCell]]:
        """Every cell that was compared, with its line."""
        return ((line, cell) for line in self.lines for cell in line.cells)

    def held_against(self, records: Iterable[Record]) -> Adoptions:
        """The adoptions without the cells that contradict, or lack, records among those given."""
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
                if self._bear_out(line, cell, known.get((cell.pair, cell.seed), ()))
            )
            lines.append(line.model_copy(update={"cells": cells}))
        return replace(self, lines=tuple(lines))

    def _bear_out(self, line: Adoption, cell: ComparedCell, records: Iterable[Record]) -> bool:
        """Whether the records of a cell, by the old or the new code, hold what the line says.

        Another processor may round otherwise, so that a record of it proves nothing, unless it
        agrees. A record from before processors were noted shows that there was such a cell.
        """
        codes = {self.name(line.old), self.name(line.new)}
        of_line = [
            record
            for record in records
            if self.name(record.code) in codes and versions_of(record.environment) == line.versions
        ]
        processors = [record.environment.processor for record in of_line]
        agree = [measured_by(record) == cell.measured for record in of_line]
        of_processor = [
            same
            for same, processor in zip(agree, processors, strict=True)
            if processor == line.processor
        ]
        return all(of_processor) and (any(agree) or set(processors) == {None})

    @cached_property
    def _alike(self) -> dict[tuple[Pair, tuple[tuple[str, str], ...]], list[list[str]]]:
        """Sets of codes that gave the same bits, the newest last, by pair and versions."""
        alike: dict[tuple[Pair, tuple[tuple[str, str], ...]], list[list[str]]] = {}
        for line in self.lines:
            versions = tuple(sorted(line.versions.items()))
            for cell in line.cells:
                sets = alike.setdefault((cell.pair, versions), [])
                old = self.name(line.old)
                new = self.name(line.new)
                joined = [codes for codes in sets if old in codes or new in codes]
                earlier = [code for codes in joined for code in codes if code != new]
                sets[:] = [codes for codes in sets if codes not in joined]
                sets.append(list(dict.fromkeys([*earlier, old, new])))
        return alike

    def alike(self, pair: Pair, versions: Iterable[tuple[str, str]], code: str) -> list[str]:
        """The names of all codes that count like this one for a pair, the newest last."""
        name = self.name(code)
        if not self.lines:
            return [name]
        sets = self._alike.get((pair, tuple(sorted(versions))), [])
        return next((codes for codes in sets if name in codes), [name])

    def counting_as(self, record: Record) -> str:
        """The name of the code that a record counts as: today's if it gave the same bits."""
        versions = versions_of(record.environment)
        codes = self.alike(pair_of(record), versions.items(), record.code)
        today = self.name(self.today)
        return today if today in codes else codes[-1]

    def cells_of(self, records: Iterable[Record], code: str) -> set[ComparedCell]:
        """The cells that a code measured again for the pairs of some records of other codes."""
        pairs = {(pair_of(record), self.name(record.code)) for record in records}
        return {
            cell
            for line, cell in self.compared
            if self.name(line.new) == code and (cell.pair, self.name(line.old)) in pairs
        }


NO_ADOPTIONS = Adoptions()


def read_adoptions(entry: Entry, store: Path | None) -> Adoptions:
    """The adoptions beside an audit, then those in a store; a SpecError names a bad line."""
    module = entry.code
    lines = [*_read(Journal(entry, "adoptions", store).lines())]
    return Adoptions(
        lines=tuple(line for line in lines if isinstance(line, Adoption)),
        today="" if module is None else closure_of(module).digest,
        forms={line.second: line.first for line in lines if isinstance(line, SameCode)},
    )


_LINE: TypeAdapter[Adoption | SameCode] = TypeAdapter(
    Annotated[Adoption | SameCode, Field(discriminator="kind")]
)


def _read(lines: Iterable[tuple[str, bytes]]) -> Iterator[Adoption | SameCode]:
    for place, line in lines:
        try:
            yield _LINE.validate_json(line)
        except ValidationError as error:
            raise SpecError(
                f"{place}: found no adoption ({first_refusal(error)}); expected a line that "
                "'reproaudit adopt' wrote. Restore the file from git, or remove the line and "
                "adopt again."
            ) from None
