"""What every paper must keep to, whichever it is: the papers are found, not listed."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

import pytest
from filelock import FileLock

from reproaudit.audit.arms import Role, arms_of
from reproaudit.audit.catalog import Catalog, Entry
from reproaudit.audit.loading import read_audit
from reproaudit.audit.model import Audit
from reproaudit.audit.plan import Batch, batch_of, cells_of_tier, plan
from reproaudit.cell import Cell
from reproaudit.declarations import misfit
from reproaudit.lab.experiment import Experiment
from reproaudit.records import CellStatus, Record
from reproaudit.run.cells import run_cells
from reproaudit.run.modules import load_experiments
from reproaudit.store.records import Store

ENTRIES = Catalog().entries


@dataclass(frozen=True)
class Subject:
    """A paper with its smoke tier run, and each experiment again with the same and another seed."""

    entry: Entry
    audit: Audit
    experiments: Mapping[str, Experiment]
    first: Store
    second: Store
    other_seed: Store

    def records(self, store: Store) -> dict[tuple[str, str, int], Record]:
        found = store.records(self.audit.paper.slug, "smoke")
        return {(r.experiment, repr(sorted(r.settings.items())), r.seed): r for r in found}

    def record(self, batch: Batch, store: Store | None = None) -> Record:
        settings = repr(sorted(batch.settings(self.audit).items()))
        return self.records(store or self.first)[batch.experiment, settings, batch.seeds[0]]


OTHER_SEED = 12345


@pytest.fixture(scope="module", params=ENTRIES)
def paper(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    coarse_law: None,
    measured_here: None,
) -> Subject:
    entry = ENTRIES[request.param]
    audit = entry.audit()
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent  # where the workers of one session share what the first one makes
    stores = tuple(Store(folder / f"papers-{kind}") for kind in ("first", "second", "other"))
    with FileLock(folder / f"{entry.slug}.lock"):
        done = folder / f"{entry.slug}.done"
        if not done.exists():
            _run(entry, audit, *stores)
            done.touch()
    return Subject(entry, audit, load_experiments(entry.module), *stores)


def _run(entry: Entry, audit: Audit, first: Store, second: Store, other: Store) -> None:
    """Fills the stores."""

    def own(seed: int) -> list[Cell]:
        return [
            Cell(entry.slug, "smoke", name, audit.values_of(name, "smoke"), seed)
            for name in audit.experiments
        ]

    run_cells(own(OTHER_SEED), Catalog().locate, other)
    run_cells(cells_of_tier(audit, "smoke"), Catalog().locate, first)
    run_cells(own(0), Catalog().locate, first)  # of those that no claim has as they stand
    run_cells(own(0), Catalog().locate, second)


def test_the_audit_has_no_fault_and_the_experiments_of_its_module(paper):
    _, faults = read_audit(paper.entry.audit_file)
    assert [str(f) for f in faults if f.severity == "error"] == []
    assert set(paper.experiments) == set(paper.audit.experiments)


def test_the_smoke_tier_completes_with_what_is_declared(paper):
    batches = plan(paper.audit, "smoke")
    assert batches
    for _, batch in batches:
        declared = paper.audit.measurements_of(batch.experiment)
        record = paper.record(batch)
        assert record.status is CellStatus.COMPLETED, record.error
        assert record.measurements.finite
        assert record.measurements.names == set(declared)
        settings = batch.settings(paper.audit)
        faults = [misfit(n, d, record.measurements, settings) for n, d in declared.items()]
        assert faults == [None] * len(declared)


def test_the_same_seed_gives_the_same_bits(paper):
    first, second = paper.records(paper.first), paper.records(paper.second)
    assert {name for name, _, _ in second} == set(paper.audit.experiments)
    for key, again in second.items():
        record = first[key]
        assert record.measurements.model_dump_json() == again.measurements.model_dump_json(), key
        assert (record.fingerprint, record.code) == (again.fingerprint, again.code)


def test_another_seed_gives_other_numbers(paper):
    others = {r.experiment: r for r in paper.records(paper.other_seed).values()}
    assert set(others) == set(paper.audit.experiments)
    same = {r.experiment: r for r in paper.records(paper.second).values()}
    drawn = {claim.experiment for claim in paper.audit.claims if not claim.exact}
    assert drawn
    for name in drawn:
        record, other = same[name], others[name]
        assert other.status is CellStatus.COMPLETED, other.error
        assert record.measurements.model_dump_json() != other.measurements.model_dump_json()


def test_arms_differ_in_what_is_measured(paper):
    """An arm that measures what the experiment does shows nothing."""
    for claim in paper.audit.claims:
        own, *others = arms_of(paper.audit, claim)
        mine = paper.record(batch_of(paper.audit, claim, own, "smoke")).measurements
        for arm in others:
            its = paper.record(batch_of(paper.audit, claim, arm, "smoke")).measurements
            alike = its.model_dump_json() == mine.model_dump_json()
            of_scale = arm.role is Role.READING  # may differ at a larger scale alone
            assert arm.reads or of_scale or not alike, (claim.id, arm.name)
