"""`reproaudit verify`: which papers a store has, and a sample of its records measured again."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator
from itertools import islice
from pathlib import Path

from reproaudit.audit.catalog import Catalog
from reproaudit.cell import Cell, RunForm
from reproaudit.errors import SpecError, UsageError
from reproaudit.files import listing, scratch_folder
from reproaudit.records import CellStatus, Record, differing
from reproaudit.run.events import PhaseStarted
from reproaudit.store.adoptions import compared_pair_of, measured_by, read_adoptions
from reproaudit.store.inspect import StoreFault
from reproaudit.store.records import Store


def papers_in(store: Store, slugs: Collection[str]) -> list[str]:
    """Return the papers of a store, or those named; a UsageError of a name without records."""
    folders = [path.name for path in listing(store.root) if path.is_dir()]
    present = [name for name in folders if not name.startswith(".")]
    for slug in slugs:
        if slug not in present:
            raise UsageError(f"{store.root}: no records of {slug}.")
    return sorted(slugs or present)


def measure_again(
    catalog: Catalog, papers: Collection[str], store: Store, count: int
) -> Iterator[tuple[Path, StoreFault | None]]:
    """Measure a sample of the records that today's code made again, and compare every bit.

    The root of the store's manifest chooses so many. Yields the file of each record, and what is
    wrong with it, if anything. The progress is shown.
    """
    from reproaudit.cli.progress import live_progress
    from reproaudit.run.cells import run_cells

    with scratch_folder() as folder, live_progress() as on_event:
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

    records = [one for paper in papers for one in store.records_of(paper)]
    known = {
        paper: read_adoptions(catalog[paper], store.root).held_against(records)
        for paper in papers
        if paper in catalog.entries
    }
    random.Random(store.manifest.root()).shuffle(records)
    for record in records:
        if record.status is CellStatus.FAILED or record.paper not in catalog.entries:
            continue
        cell = Cell(record.paper, record.tier, record.experiment, record.settings, record.seed)
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
    """Hold every adoption of some papers against the records of the cells that it compared.

    A record of the old or the new code, made by the same versions on the same processor, has to
    hold what the adoption says that both measured.
    """
    for slug in papers:
        if slug not in catalog.entries:
            continue
        adoptions = read_adoptions(catalog[slug], store.root)
        wanted: dict[tuple[object, ...], str] = {
            (cell.pair, cell.seed, code, line.processor): cell.measured
            for line, cell in adoptions.compared
            for one in (line.old, line.new)
            for code in adoptions.digests_of(one)
        }
        for record in store.records_of(slug) if wanted else ():
            made = record.code, record.environment.processor
            measured = wanted.get((compared_pair_of(record), record.seed, *made))
            if measured is not None and measured != measured_by(record):
                what = "its numbers are not those that an adoption compared"
                yield StoreFault(store.file_of(record), what)
