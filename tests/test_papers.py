"""What every paper must keep to, whichever it is: the papers are found, not listed."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from filelock import FileLock

from reproaudit.audit.catalog import Catalog, Entry
from reproaudit.audit.loading import read_audit
from reproaudit.audit.model import TIERS, Audit, Claim, Control, NoPositiveControl, TierName
from reproaudit.audit.plan import Batch, Role, claim_batches, plan
from reproaudit.audit.rules.rule import Severity
from reproaudit.cell import Cell
from reproaudit.checks import Check, all_quantities
from reproaudit.checks.quantities import Sample
from reproaudit.declarations import misfit
from reproaudit.lab.experiment import Experiment
from reproaudit.lab.settings import build_settings
from reproaudit.records import CellStatus, Record
from reproaudit.running.run import run_cells
from reproaudit.running.store import Store
from reproaudit.scorecard.from_store import cells_of_tier, choose_records, lookup_chosen

SMOKE_SECONDS = 5.0
"""Of processor time, for a paper's whole smoke tier once its code is compiled."""

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
    seconds: float

    def records(self, store: Store) -> dict[tuple[str, str, int], Record]:
        found = store.records(self.audit.paper.slug, "smoke")
        return {(r.experiment, repr(sorted(r.settings.items())), r.seed): r for r in found}

    def record(self, batch: Batch, store: Store | None = None) -> Record:
        chosen = choose_records(store or self.first, self.audit, "smoke")
        found = lookup_chosen(self.audit, chosen)(batch)
        return found[batch.seeds[0]]


OTHER_SEED = 12345


@pytest.fixture(scope="session", params=ENTRIES)
def paper(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Subject:
    entry = ENTRIES[request.param]
    audit = entry.audit()
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent  # where the workers of one session share what the first one makes
    stores = tuple(Store(folder / f"papers-{kind}") for kind in ("first", "second", "other"))
    with FileLock(folder / f"{entry.slug}.lock"):
        said = folder / f"{entry.slug}.seconds"
        if not said.exists():
            said.write_text(str(_run(entry, audit, *stores)))
        seconds = float(said.read_text())
    return Subject(entry, audit, entry.module.load(), *stores, seconds=seconds)


def _run(entry: Entry, audit: Audit, first: Store, second: Store, other: Store) -> float:
    """Fills the stores.

    Returns:
        The processor time of the whole smoke tier, after a run of its experiments has compiled
        what is compiled.
    """

    def own(seed: int) -> list[Cell]:
        return [
            Cell(entry.slug, "smoke", name, audit.values_of(name, "smoke"), seed)
            for name in audit.experiments
        ]

    run_cells(own(OTHER_SEED), Catalog().locate, other, threads=1)
    began = time.process_time()
    run_cells(cells_of_tier(audit, "smoke"), Catalog().locate, first, threads=1)
    seconds = time.process_time() - began
    run_cells(own(audit.seeds.smoke[0]), Catalog().locate, second, threads=1)
    return seconds


def test_there_are_papers() -> None:
    assert ENTRIES


def test_the_audit_has_no_fault(paper: Subject) -> None:
    _, faults = read_audit(paper.entry.audit_file)
    assert [str(f) for f in faults if f.severity is Severity.ERROR] == []


def test_module_and_audit_have_the_same_experiments(paper: Subject) -> None:
    assert set(paper.experiments) == set(paper.audit.experiments)


def every_control(audit: Audit) -> Iterator[Control]:
    for claim in audit.claims:
        yield from audit.controls_of(claim)
        positive = audit.positive_control_of(claim)
        if isinstance(positive, Control):
            yield positive


@pytest.mark.parametrize("tier", TIERS)
def test_every_experiment_and_control_takes_its_settings(paper: Subject, tier: TierName) -> None:
    """At every tier, those of controls at both scales included: nothing missing, nothing more."""
    audit = paper.audit
    for name, experiment in paper.experiments.items():
        build_settings(experiment.settings, audit.values_of(name, tier))
    for control in every_control(audit):
        name = str(control.experiment)
        kind = paper.experiments[name].settings
        build_settings(kind, audit.values_of(name, tier, control.settings))
    for entry in audit.ledger():
        names = [entry.experiment] if entry.experiment else list(audit.experiments)
        for name in names:
            if entry.name in audit.settings_of(name):
                for value in entry.setting.others:
                    values = audit.values_of(name, tier, {entry.name: value})
                    build_settings(paper.experiments[name].settings, values)


def read_by(audit: Audit, claim: Claim) -> Iterator[tuple[str, Sequence[Check]]]:
    """The experiment of the claim and of each control, with the checks as they are read there."""
    yield claim.experiment, claim.checks
    for control in (*audit.controls_of(claim), audit.positive_control_of(claim)):
        if isinstance(control, Control):
            checks = [one.reading(control.substitutes) for one in claim.checks]
            yield str(control.experiment), checks


def test_every_claimed_measurement_is_declared(paper: Subject) -> None:
    for claim in paper.audit.claims:
        for experiment, checks in read_by(paper.audit, claim):
            looked_at = {q.measurement for _, _, q in all_quantities(checks)}
            assert looked_at <= set(paper.audit.measurements_of(experiment))


def test_the_smoke_tier_completes_with_what_is_declared(paper: Subject) -> None:
    lookup = lookup_chosen(paper.audit, choose_records(paper.first, paper.audit, "smoke"))
    batches = plan(paper.audit, "smoke")
    assert batches
    for _, batch in batches:
        declared = paper.audit.measurements_of(batch.experiment)
        records = lookup(batch)
        assert set(records) == set(batch.seeds)
        for record in records.values():
            assert record.status is CellStatus.COMPLETED, record.error
            assert record.measurements.finite
            assert record.measurements.names == set(declared)
            settings = batch.settings(paper.audit)
            faults = [misfit(n, d, record.measurements, settings) for n, d in declared.items()]
            assert faults == [None] * len(declared)


def test_the_smoke_tier_takes_seconds(paper: Subject) -> None:
    assert paper.seconds < SMOKE_SECONDS


def test_the_same_seed_gives_the_same_bits(paper: Subject) -> None:
    first, second = paper.records(paper.first), paper.records(paper.second)
    assert {name for name, _, _ in second} == set(paper.audit.experiments)
    for key, again in second.items():
        record = first[key]
        assert record.measurements.model_dump_json() == again.measurements.model_dump_json(), key
        assert (record.fingerprint, record.code) == (again.fingerprint, again.code)


def test_another_seed_gives_other_numbers(paper: Subject) -> None:
    others = {r.experiment: r for r in paper.records(paper.other_seed).values()}
    assert set(others) == set(paper.audit.experiments)
    for batch in (b for role, b in plan(paper.audit, "smoke") if role is Role.EXPERIMENT):
        if not batch.overrides:
            record, other = paper.record(batch), others[batch.experiment]
            assert other.status is CellStatus.COMPLETED, other.error
            assert record.measurements.model_dump_json() != other.measurements.model_dump_json()


def seen(paper: Subject, batch: Batch, checks: Any) -> list[np.ndarray[Any, Any]]:
    """Everything that a claim's checks look at, in a batch's first record."""
    record = paper.record(batch)
    declared = paper.audit.measurements_of(batch.experiment)
    sample = Sample(record.seed, record.measurements, declared, batch.settings(paper.audit))
    values = []
    for one in checks:
        for piece in one.parts(sample):
            for quantity in piece.quantities():
                series = sample.measurements.series
                whole = sample.series(quantity).values if quantity.measurement in series else None
                values.append(np.array(sample.number(quantity)) if whole is None else whole)
    return values


def test_controls_differ_in_what_is_measured(paper: Subject) -> None:
    """A control that measures what the experiment does shows nothing."""
    for claim in paper.audit.claims:
        (_, own), *others = claim_batches(paper.audit, claim, "smoke")
        mine = seen(paper, own, claim.checks)
        _, *readings = read_by(paper.audit, claim)
        for (role, batch), (_, checks) in zip(others, readings, strict=True):
            its = seen(paper, batch, checks)
            alike = len(its) == len(mine) and all(
                a.shape == b.shape and np.array_equal(a, b) for a, b in zip(mine, its, strict=True)
            )
            assert not alike, (claim.id, role, batch.overrides)


def test_a_positive_control_or_a_reason(paper: Subject) -> None:
    for claim in paper.audit.claims:
        positive = paper.audit.positive_control_of(claim)
        if isinstance(positive, NoPositiveControl):
            assert len(positive.not_constructible.split()) >= 3, claim.id
        else:
            assert all(
                (positive.experiment, positive.settings, positive.substitutes)
                != (one.experiment, one.settings, one.substitutes)
                for one in paper.audit.controls_of(claim)
            ), claim.id
