"""`reproaudit adopt`: a drawn cell of every pair is measured again, so that old records count."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from reproaudit.audit.catalog import Entry
from reproaudit.audit.model import Audit
from reproaudit.cell import Cell
from reproaudit.errors import UsageError, did_you_mean
from reproaudit.files import git, listing, scratch_folder, sha256
from reproaudit.records import CellStatus, Record, differing
from reproaudit.run.devices import processor
from reproaudit.run.events import OnEvent, PhaseStarted, WorkStarted, ignored
from reproaudit.service.run import How
from reproaudit.store.adoptions import (
    Adoption,
    Adoptions,
    ComparedCell,
    Pair,
    adoption_tier,
    compared_pair_of,
    measured_by,
    pair_of,
    read_adoptions,
)
from reproaudit.store.code import cell_of, closure_of, versions, versions_of
from reproaudit.store.journal import Journal, add_line
from reproaudit.store.records import Store
from reproaudit.store.shipped import FILE_NAME, unpack_records


@dataclass(frozen=True)
class Drawn:
    """A pair, the cell that was drawn of it, and what the old code gave there."""

    pair: Pair
    cell: Cell
    reference: Record


@dataclass(frozen=True)
class CodeComparison:
    """What a comparison of two codes gave; `old` is None if all records count as today's.

    Attributes:
        records: how many records belong to the pairs.
        same: how many cells both codes measured alike.
        left: how many pairs are not measured yet.
    """

    paper: str
    old: str | None
    new: str
    records: int = 0
    pairs: int = 0
    same: int = 0
    differs: tuple[Mapping[str, str | int], ...] = ()
    left: int = 0

    @property
    def lines(self) -> Iterator[str]:
        """What a user reads."""
        if self.old is None:
            yield f"{self.paper}: every record counts as today's code ({self.new[:8]}) already."
            return
        for cell in self.differs:
            yield "differs: {tier}, {experiment}, seed {seed}: {what}".format_map(cell)
        if self.left:
            yield (
                f"{self.paper}: {self.left} of {self.pairs} pairs of experiment and settings are "
                "left, and nothing is adopted yet. The same command goes on."
            )
            return
        yield (
            f"{self.paper}: {self.same} of {self.pairs} pairs of experiment and settings gave "
            f"the same bits under {self.old[:8]} and {self.new[:8]}, in a drawn cell of each."
        )
        if self.differs:
            yield f"The others keep their code: 'reproaudit run {self.paper}' measures them anew."


@dataclass(frozen=True)
class Prepared:
    """How many pairs have a cell that is measured with today's code on this processor."""

    paper: str
    code: str
    measured: int
    pairs: int

    @property
    def lines(self) -> Iterator[str]:
        """What a user reads."""
        yield (
            f"{self.paper}: of {self.measured} of {self.pairs} pairs of experiment and settings a "
            f"cell is measured with {self.code[:8]} on this processor."
        )


def prepare_adoption(
    entry: Entry, audit: Audit, how: How, reports: Path, on_event: OnEvent = ignored
) -> Prepared:
    """Measure a cell of every pair, to compare later code with; arguments as of `adopt_code`."""
    read, adoptions = _known(entry, audit, how, reports, on_event)
    code = adoptions.today
    counting = adoptions.name(code)
    records = [record for record in _finished(read) if adoptions.counting_as(record) == counting]
    drawn = list(_drawn(records, [], code, code))
    prepared = [record for record in read if compared_pair_of(record).tier != record.tier]
    elsewhere = any(record.environment.processor != processor() for record in prepared)
    measured = _measured(entry, audit, replace(how, fresh=elsewhere), drawn, on_event)
    return Prepared(paper=entry.slug, code=code, measured=len(measured), pairs=len(drawn))


def adopt_code(
    entry: Entry,
    audit: Audit,
    how: How,
    reports: Path,
    wanted: str | None = None,
    on_event: OnEvent = ignored,
) -> CodeComparison:
    """Compare today's code with the code of a paper's records, and note where they agree.

    Args:
        wanted: the beginning of the digest of the old code; that of most records if None.

    Raises:
        UsageError: if there are no records, an unknown digest, or other versions made them all.
    """
    store = how.store
    code = closure_of(entry.module)
    read, adoptions = _known(entry, audit, how, reports, on_event)
    records = list(_finished(read))
    if not records:
        raise UsageError(
            f"{store.root}: no records of {entry.slug}, here or in {reports}. Name their folder "
            "with --store."
        )
    today = adoptions.name(code.digest)
    others = [record for record in records if adoptions.counting_as(record) != today]
    known = [record.code for record in records]
    old = _old_code(known, [record.code for record in others], wanted)
    if old is None or adoptions.name(old) == today:
        return CodeComparison(entry.slug, None, code.digest)
    mine = [record for record in others if old in _alike(adoptions, record)]
    here = versions(how.device_for(entry), code.packages)
    fitting = [record for record in mine if versions_of(record.environment) == here]
    if not fitting:
        raise UsageError(_other_versions(entry, mine, here))
    references = [
        record
        for record in read
        if old in _alike(adoptions, record)
        and record.environment.processor == processor()
        and versions_of(record.environment) == here
    ]
    drawn = list(_drawn(fitting, references, old, code.digest))
    measured = _measured(entry, audit, how, drawn, on_event)
    same, differs = _compared(drawn, measured)
    left = len(drawn) - len(same) - len(differs)
    if same and not left:
        _note_same(entry, store, old, code.digest, here, same)
    counts = (len(fitting), len(drawn), len(same), differs, left)
    return CodeComparison(entry.slug, old, code.digest, *counts)


def _known(
    entry: Entry, audit: Audit, how: How, reports: Path, on_event: OnEvent
) -> tuple[list[Record], Adoptions]:
    """Every record of a paper, shipped ones too, and the adoptions that they bear out."""
    on_event(WorkStarted((audit,)))
    on_event(PhaseStarted("reading records", entry.slug))
    records = list(how.store.records_of(entry.slug))
    files = [folder / entry.slug / FILE_NAME for folder in listing(reports)]
    for file in filter(Path.is_file, files):
        with scratch_folder() as scratch:
            records += unpack_records(file, scratch).records_of(entry.slug)
    return records, read_adoptions(entry, how.store.root).held_against(records)


def _finished(records: Iterable[Record]) -> Iterator[Record]:
    """The records that answer something: those of drawn cells were measured for adoptions."""
    for record in records:
        is_fast = record.environment.form == "fast"
        is_finished = record.status is not CellStatus.FAILED and is_fast
        if is_finished and compared_pair_of(record).tier == record.tier:
            yield record


def _alike(adoptions: Adoptions, record: Record) -> list[str]:
    """The codes that gave the same bits as that of a record."""
    versions = versions_of(record.environment).items()
    names = adoptions.alike(compared_pair_of(record), versions, record.code)
    return [code for name in names for code in adoptions.digests_of(name)]


def _old_code(known: Sequence[str], others: Sequence[str], wanted: str | None) -> str | None:
    """The digest of the code whose records are to count; None if there is none."""
    if wanted is None:
        return next((code for code, _ in Counter(others).most_common(1)), None)
    codes = {code for code in known if code.startswith(wanted)}
    if len(codes) != 1:
        remedy = did_you_mean(wanted, {code[:8] for code in known})
        count = len(codes) or "no"
        raise UsageError(f"--from {wanted}: {count} codes of records begin so. {remedy}")
    return codes.pop()


def _other_versions(entry: Entry, records: Sequence[Record], here: dict[str, str]) -> str:
    there = versions_of(records[-1].environment)
    differ = [
        f"{name} {there.get(name, 'absent')}, here {here.get(name, 'absent')}"
        for name in sorted(there.keys() | here.keys())
        if there.get(name) != here.get(name)
    ]
    return (
        f"{entry.slug}: its records were made with {'; '.join(differ)}. Code is compared on equal "
        "versions alone: install those, or run the paper again."
    )


def _drawn(
    records: Sequence[Record], references: Sequence[Record], old: str, new: str
) -> Iterator[Drawn]:
    """A cell of every pair: the least hash of both codes and its seed, of those measured here."""
    known: dict[tuple[Pair, int], Record] = {
        (compared_pair_of(record), record.seed): record for record in references
    }
    pairs: dict[Pair, dict[int, Record]] = {}
    for record in records:
        pairs.setdefault(pair_of(record), {})[record.seed] = record
    for pair, by_seed in sorted(pairs.items()):
        here = [seed for seed in by_seed if (pair, seed) in known]
        seed = min(here or by_seed, key=lambda at: sha256(f"{old} {new} {pair} {at}".encode()))
        record = by_seed[seed]
        cell = replace(cell_of(record), tier=adoption_tier(record.tier))
        yield Drawn(pair, cell, known.get((pair, seed), record))


def _measured(
    entry: Entry, audit: Audit, how: How, drawn: Sequence[Drawn], on_event: OnEvent
) -> dict[Pair, Record]:
    cells = [draw.cell for draw in drawn]
    on_event(WorkStarted((audit,), how.until))
    summary = how.run(cells, [(entry, audit)], on_event)
    planned = frozenset(summary.planned.get(entry.slug, {}).values())
    return {
        compared_pair_of(record): record
        for tier in {cell.tier for cell in cells}
        for record in how.store.records(entry.slug, tier, only=planned)
    }


def _difference(drawn: Drawn, record: Record) -> str:
    """What today's code gives otherwise than the old code did; empty if all bits are the same."""
    reference = drawn.reference
    if record.status is CellStatus.FAILED:
        return f"it fails under today's code: {record.error}"
    if record.data != reference.data:
        return "its data differ from those that its record read"
    what = "; ".join(differing(reference, record))
    if what and reference.environment.processor != record.environment.processor:
        return (
            f"{what}. Its record is of another processor: with the old code, 'reproaudit adopt "
            f"{record.paper} --prepare' measures here what to compare with"
        )
    return what


def _compared(
    drawn: Sequence[Drawn], measured: Mapping[Pair, Record]
) -> tuple[tuple[ComparedCell, ...], tuple[Mapping[str, str | int], ...]]:
    """The cells that both codes measured alike, and those that differ with what differs."""
    same: list[ComparedCell] = []
    differs: list[Mapping[str, str | int]] = []
    for draw in drawn:
        if draw.pair not in measured:
            continue
        record = measured[draw.pair]
        if what := _difference(draw, record):
            named = {name: getattr(draw.cell, name) for name in ("tier", "experiment", "seed")}
            differs.append({**named, "what": what})
        else:
            numbers = measured_by(record)
            same.append(ComparedCell(**draw.pair._asdict(), seed=record.seed, measured=numbers))
    return tuple(same), tuple(differs)


def _note_same(
    entry: Entry,
    store: Store,
    old: str,
    new: str,
    versions: dict[str, str],
    cells: tuple[ComparedCell, ...],
) -> None:
    """Add a line on cells that both codes measured alike."""
    line = Adoption(
        date=datetime.now(UTC).replace(microsecond=0),
        revision=git(entry.audit_file, "rev-parse", "HEAD"),
        old=old,
        new=new,
        versions=versions,
        processor=processor(),
        cells=cells,
    )
    with Journal(entry, "adoptions", store.root).writing() as file:
        add_line(file, line.model_dump_json(exclude_none=True).encode())
