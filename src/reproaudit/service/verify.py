"""`reproaudit verify` and `prune`: what is wrong in a store, and what no run needs any more."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from reproaudit.audit.catalog import Catalog
from reproaudit.cell import Cell, RunForm
from reproaudit.consent import NOT_GIVEN, Permission
from reproaudit.errors import SpecError, UsageError
from reproaudit.files import scratch_folder
from reproaudit.records import CellStatus, Record, differing
from reproaudit.run.events import OnEvent, PhaseStarted, WorkStarted, ignored
from reproaudit.store.adoptions import compared_pair_of, measured_by, read_adoptions
from reproaudit.store.code import cell_of
from reproaudit.store.inspect import (
    StoreFault,
    experiment_folders,
    inspect_store,
    leftovers,
    remove,
    size_of,
)
from reproaudit.store.records import Store


@dataclass(frozen=True)
class Verified:
    """What was read in a store, and measured again, and everything that is wrong there.

    The root is the digest of the whole list of records; None if it cannot be relied on.
    """

    records: int
    root: str | None
    faults: tuple[StoreFault, ...]
    recomputed: tuple[Path, ...]

    @property
    def is_sound(self) -> bool:
        """Whether nothing is wrong that was not mended."""
        return all(fault.mended for fault in self.faults)


@dataclass(frozen=True)
class Leftover:
    """A file or folder of so many bytes that no run needs any more."""

    path: Path
    what: str
    size: int


def verify_store(
    catalog: Catalog,
    store: Store,
    slugs: Collection[str] = (),
    recompute: int = 0,
    repair: bool = False,
    permission: Permission = NOT_GIVEN,
    on_event: OnEvent = ignored,
) -> Verified:
    """Read a whole store, or some papers of it, and measure so many of its records again.

    A repair moves damaged files aside, and lists sound records.

    Raises:
        UsageError: if a paper has no records.
        ConsentError: if code may not run.
    """
    papers = papers_in(store, slugs)
    faults = list(inspect_store(store, papers, repair=repair))
    if not faults:  # a damaged list of records is named already, and nothing else can be read
        faults += faults_of_adoptions(catalog, papers, store)
    again: list[tuple[Path, StoreFault | None]] = []
    if recompute:
        known = [catalog[paper] for paper in papers if paper in catalog.entries]
        permission.require(known)
        again = list(measure_again(catalog, papers, store, recompute, on_event))
        faults += [fault for _, fault in again if fault is not None]
    folders = experiment_folders(store, papers)
    return Verified(
        records=sum(1 for folder in folders for _ in folder.glob("*.json")),
        root=store.manifest.root() if not faults or repair else None,
        faults=tuple(faults),
        recomputed=tuple(path for path, _ in again),
    )


def prune_store(
    store: Store, slugs: Collection[str] = (), *, unfinished: bool = False, dry_run: bool = False
) -> list[Leftover]:
    """Remove what no run needs any more; with `dry_run` only name it.

    A UsageError if a named paper has no records; errors of removing as of `explained`.
    """
    there = dict(leftovers(store, papers_in(store, slugs), unfinished=unfinished))
    named = [Leftover(path=path, what=what, size=size_of(path)) for path, what in there.items()]
    for path in () if dry_run else there:
        remove(path)
    return named


def papers_in(store: Store, slugs: Collection[str]) -> list[str]:
    """Return the papers of a store, or those named; a UsageError if one has no records."""
    present = store.papers()
    for slug in slugs:
        if slug not in present:
            raise UsageError(f"{store.root}: no records of {slug}.")
    return sorted(slugs or present)


def measure_again(
    catalog: Catalog, papers: Collection[str], store: Store, count: int, on_event: OnEvent = ignored
) -> Iterator[tuple[Path, StoreFault | None]]:
    """Measure a sample of records again, as the manifest's root draws it; compare every bit.

    Yields the file of each record, and what is wrong with it, if anything.
    """
    from reproaudit.run.cells import run_cells

    on_event(WorkStarted())
    with scratch_folder() as folder:
        again = Store(folder)
        on_event(PhaseStarted("reading records"))
        chosen = list(islice(_sample(catalog, papers, store, again), count))
        ways: dict[tuple[str, RunForm], list[Cell]] = {}
        for record, cell, _ in chosen:
            ways.setdefault(_way_of(record), []).append(cell)
        for (device, form), cells in ways.items():
            run_cells(cells, catalog.locate, again, device=device, form=form, on_event=on_event)
        for record, cell, fingerprint in chosen:
            path = store.path(cell, record.fingerprint)
            measured = again.find(cell, fingerprint)
            what = "measured again, its cell fails"
            if measured is not None:
                differences = "; ".join(differing(record, measured))
                what = differences and f"measured again, it gives other numbers: {differences}"
            yield path, StoreFault(path, what) if what else None


def _way_of(record: Record) -> tuple[str, RunForm]:
    return record.environment.device.split(" ")[0], record.environment.form


def _sample(
    catalog: Catalog, papers: Collection[str], store: Store, again: Store
) -> Iterator[tuple[Record, Cell, str]]:
    """Records that today's code made, as they are drawn, each with its cell and fingerprint."""
    from reproaudit.run.cells import fingerprints_of, plan_jobs, with_adopted

    records = [record for paper in papers for record in store.records_of(paper)]
    known = {
        paper: read_adoptions(catalog[paper], store.root).held_against(records)
        for paper in papers
        if paper in catalog.entries
    }
    random.Random(store.manifest.root()).shuffle(records)
    for record in records:
        if record.status is CellStatus.FAILED or record.paper not in catalog.entries:
            continue
        cell = cell_of(record)
        device, form = _way_of(record)
        try:
            (job,) = with_adopted(plan_jobs([cell], catalog.locate, again, device, form), known)
        except SpecError:
            continue  # of an experiment that today's code does not have
        if record.fingerprint in fingerprints_of(job):  # else made by other code or versions
            yield record, cell, job.fingerprint


def faults_of_adoptions(
    catalog: Catalog, papers: Collection[str], store: Store
) -> Iterator[StoreFault]:
    """Hold every adoption of some papers against the records of the cells it compared."""
    for slug in papers:
        if slug not in catalog.entries:
            continue
        adoptions = read_adoptions(catalog[slug], store.root)
        wanted: dict[tuple[object, ...], str] = {
            (cell.pair, cell.seed, code, line.processor): cell.measured
            for line, cell in adoptions.compared
            for name in (line.old, line.new)
            for code in adoptions.digests_of(name)
        }
        for record in store.records_of(slug) if wanted else ():
            made = record.code, record.environment.processor
            measured = wanted.get((compared_pair_of(record), record.seed, *made))
            if measured is not None and measured != measured_by(record):
                what = "its numbers are not those that an adoption compared"
                yield StoreFault(store.file_of(record), what)
