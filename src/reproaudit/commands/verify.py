"""`reproaudit verify` and `reproaudit prune`: what is wrong in a store, and what can go."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator
from dataclasses import asdict
from pathlib import Path

from reproaudit.audit.catalog import Catalog
from reproaudit.cell import Cell
from reproaudit.commands.consent import ask_to_run
from reproaudit.commands.output import print_json, say
from reproaudit.errors import SpecError, TechnicalError, UsageError
from reproaudit.folders import scratch_folder
from reproaudit.records import CellStatus, Record, differing
from reproaudit.running.files import listing
from reproaudit.running.inspect import StoreFault, inspect_store, leftovers, remove
from reproaudit.running.store import Store


def verify_store(
    catalog: Catalog,
    slugs: Collection[str],
    store: Store,
    *,
    recompute: int,
    trust: bool,
    repair: bool,
    as_json: bool,
) -> int:
    """Check a store's papers, or all, and print what is wrong; 3 if something is not mended.

    So many records as ``recompute`` says, chosen by the manifest's root, are measured again.

    Raises:
        UsageError: if the store has nothing of a paper that is named.
    """
    papers = _papers(store, slugs)
    faults = list(inspect_store(store, papers, repair=repair))
    if recompute:
        known = [catalog[paper] for paper in papers if paper in catalog.entries]
        ask_to_run(known, trust)
    sample = list(_recomputed(catalog, papers, store, recompute)) if recompute else []
    faults += [fault for _, fault in sample if fault is not None]
    count = sum(1 for paper in papers for _ in _paths(store, paper))
    root = store.manifest.root() if not faults or repair else None
    if as_json:
        told = [{**asdict(fault), "path": str(fault.path)} for fault in faults]
        measured = [str(path) for path, _ in sample]
        data = {"records": count, "root": root, "faults": told, "recomputed": measured}
        print_json(data)
    else:
        for fault in faults:
            mended = f" ({fault.mended})" if fault.mended else ""
            say(f"{fault.path}: {fault.what}{mended}")
        again = f", {len(sample)} measured again" if recompute else ""
        say(f"{count} records read{again}: {len(faults) or 'no'} faults")
    return TechnicalError.exit_code if any(not fault.mended for fault in faults) else 0


def _papers(store: Store, slugs: Collection[str]) -> list[str]:
    present = [path.name for path in listing(store.root) if path.is_dir()]
    for slug in slugs:
        if slug not in present:
            raise UsageError(f"{store.root}: no records of {slug}.")
    return sorted(slugs or present)


def _paths(store: Store, paper: str) -> Iterator[Path]:
    for tier in listing(store.root / paper):
        yield from store.files(paper, tier.name)


def _recomputed(
    catalog: Catalog, papers: Collection[str], store: Store, count: int
) -> Iterator[tuple[Path, StoreFault | None]]:
    """Measures a sample of the records that today's code made again, and compares every bit."""
    from reproaudit.running.run import plan_jobs, run_cells

    records: list[Record] = []
    for paper in papers:
        for tier in listing(store.root / paper):
            records += store.records(paper, tier.name, lambda _damaged: None)
    random.Random(store.manifest.root()).shuffle(records)
    with scratch_folder() as folder:
        for record in records:
            if count == 0:
                return
            if record.status is CellStatus.FAILED or record.paper not in catalog.entries:
                continue
            cell = Cell(record.paper, record.tier, record.experiment, record.settings, record.seed)
            device = record.environment.device.split(" ")[0]
            form, again = record.environment.form, Store(folder)
            try:
                (job,) = plan_jobs([cell], catalog.locate, again, device, form)
            except SpecError:
                continue  # of an experiment that today's code does not have
            if job.fingerprint != record.fingerprint:
                continue  # made by other code or versions
            count -= 1
            run_cells([cell], catalog.locate, again, device=device, form=form)
            path = store.path(cell, record.fingerprint)
            measured = again.find(cell, record.fingerprint)
            yield path, _compared(path, record, measured)


def _compared(path: Path, record: Record, measured: Record | None) -> StoreFault | None:
    if measured is None:
        return StoreFault(path, "measured again, its cell fails")
    differences = differing(record, measured)
    if not differences:
        return None
    return StoreFault(path, f"measured again, it gives other numbers: {'; '.join(differences)}")


def prune_store(
    slugs: Collection[str], store: Store, *, unfinished: bool, dry_run: bool, as_json: bool
) -> int:
    """Remove what no run of the store's papers, or of those named, needs any more; print it.

    ``unfinished`` removes checkpoints of cells without a record, too.
    """
    found = list(leftovers(store, _papers(store, slugs), unfinished=unfinished))
    for one in found:
        if not dry_run:
            remove(one.path)
    if as_json:
        told = [{"path": str(one.path), "what": one.what, "size": one.size} for one in found]
        print_json(told)
        return 0
    for one in found:
        say(f"{one.path}: {one.what}")
    size = sum(one.size for one in found)
    done = "would be removed" if dry_run else "removed"
    say(f"{len(found)} left-overs, {size:,} bytes, {done}")
    return 0
