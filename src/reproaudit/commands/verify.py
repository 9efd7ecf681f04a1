"""`reproaudit verify`: which papers a store has, and a sample of its records measured again."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator
from pathlib import Path

from reproaudit.audit.catalog import Catalog
from reproaudit.cell import Cell
from reproaudit.errors import SpecError, UsageError
from reproaudit.folders import scratch_folder
from reproaudit.records import CellStatus, differing
from reproaudit.running.adoptions import compared_pair_of, measured_by, read_adoptions
from reproaudit.running.files import listing
from reproaudit.running.inspect import StoreFault
from reproaudit.running.store import Store


def papers_in(store: Store, slugs: Collection[str]) -> list[str]:
    """Return the papers of a store, or those that are named.

    Raises:
        UsageError: if the store has nothing of a paper that is named.
    """
    present = [path.name for path in listing(store.root) if path.is_dir()]
    for slug in slugs:
        if slug not in present:
            raise UsageError(f"{store.root}: no records of {slug}.")
    return sorted(slugs or present)


def measure_again(
    catalog: Catalog, papers: Collection[str], store: Store, count: int
) -> Iterator[tuple[Path, StoreFault | None]]:
    """Measure a sample of the records that today's code made again, and compare every bit.

    The root of the store's manifest chooses so many. Yields the file of each record, and what is
    wrong with it, if anything.
    """
    from reproaudit.running.run import fingerprints_of, plan_jobs, run_cells

    records = [one for paper in papers for one in store.records_of(paper)]
    random.Random(store.manifest.root()).shuffle(records)
    with scratch_folder() as folder:
        for record in records:
            if count == 0:
                return
            if record.status is CellStatus.FAILED or record.paper not in catalog.entries:
                continue
            cell = Cell(record.paper, record.tier, record.experiment, record.settings, record.seed)
            device = record.environment.device.split(" ")[0]
            form = record.environment.form
            again = Store(folder)
            try:
                known = {record.paper: read_adoptions(catalog[record.paper], store.root)}
                (job,) = plan_jobs([cell], catalog.locate, again, device, form, adoptions=known)
            except SpecError:
                continue  # of an experiment that today's code does not have
            if record.fingerprint not in fingerprints_of(job):
                continue  # made by other code or versions
            count -= 1
            run_cells([cell], catalog.locate, again, device=device, form=form)
            path = store.path(cell, record.fingerprint)
            measured = again.find(cell, job.fingerprint)
            what = "measured again, its cell fails"
            if measured is not None:
                differences = "; ".join(differing(record, measured))
                what = differences and f"measured again, it gives other numbers: {differences}"
            yield path, StoreFault(path, what) if what else None


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
        wanted: dict[tuple[object, ...], str] = {
            (cell.pair, cell.seed, code, line.processor): cell.measured
            for line in read_adoptions(catalog[slug], store.root).lines
            for cell in line.cells
            for code in (line.old, line.new)
        }
        for record in store.records_of(slug) if wanted else ():
            made = record.code, record.environment.processor
            measured = wanted.get((compared_pair_of(record), record.seed, *made))
            if measured is not None and measured != measured_by(record):
                what = "its numbers are not those that an adoption compared"
                yield StoreFault(store.file_of(record), what)
