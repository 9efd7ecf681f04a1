"""What is planned, and which records a scorecard is built from."""

from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from factories import STARTED, make_audit, make_record
from miniatures import claim, write_paper
from reproaudit.audit.arms import Role
from reproaudit.audit.catalog import Catalog
from reproaudit.audit.model import TIERS
from reproaudit.audit.plan import cells_of_tier, claim_batches, plan
from reproaudit.audit.seeds import seeds_of
from reproaudit.cell import Cell
from reproaudit.errors import StoreError, UsageError
from reproaudit.records import Record
from reproaudit.scorecard.answers import scorecard_of_store
from reproaudit.store.adoptions import Adoption, Adoptions, ComparedCell, pair_of
from reproaudit.store.choosing import Chosen, choose, grouped, planned_only
from reproaudit.store.code import cell_of, versions_of
from reproaudit.store.records import Store

AUDIT = make_audit()


@pytest.mark.parametrize("tier", TIERS)
def test_each_batch_is_planned_once_and_own_experiments_first(tier):
    batches = plan(AUDIT, tier)
    assert max(Counter(batch for _, batch in batches).values()) == 1
    roles = [role for role, _ in batches]
    assert roles[: roles.count(Role.OWN)] == [Role.OWN] * len(AUDIT.experiments)
    planned = {batch for _, batch in batches}
    for one in AUDIT.claims:
        assert {batch for _, batch in claim_batches(AUDIT, one, tier)} <= planned


def test_claims_share_runs_and_each_tier_has_its_number():
    own = {tier: len(plan(AUDIT, tier)[0][1].seeds) for tier in TIERS}
    assert own == {"smoke": 1, "quick": 5, "paper": 6}
    nulls = [batch for role, batch in plan(AUDIT, "paper") if role is Role.CONTROL]
    assert {len(batch.seeds) for batch in nulls} == {5}
    assert set(nulls[0].seeds) <= set(seeds_of(AUDIT, "paper", "descent", 6))


@pytest.mark.parametrize(("above", "runs"), [(0.0, 6), (0.1, 5)])
def test_the_null_of_a_contrast_runs_as_often_as_the_claim(above, runs):
    """A quantity that need only grow is held against the null's growth, seed by seed."""
    grown = {"kind": "reaches", "value": "distance", "grown_from": "distance@first"}
    grown |= {"above": above, "from": "paper"}
    audit = make_audit(claims=[claim("mini", "grows", main=True, headline=[grown])])
    (null,) = (batch for role, batch in plan(audit, "paper") if role is Role.CONTROL)
    assert len(null.seeds) == runs


def stored(folder: Path, *, code: str = "c", **changes: Any) -> tuple[Store, list[Record]]:
    store = Store(folder)
    records = [
        make_record(cell, code=code * 32, **changes) for cell in cells_of_tier(AUDIT, "quick")
    ]
    for record in records:
        store.write(record)
    return store, records


def test_a_plan_takes_the_records_of_its_own_fingerprints(tmp_path):
    _, records = stored(tmp_path)
    planned = {(record.tier, record.key): record.fingerprint for record in records[:3]}
    chosen = planned_only(records, planned)
    assert {record.fingerprint for record in chosen.records.values()} == set(planned.values())


def test_of_two_equally_full_groups_the_one_written_last_is_judged(tmp_path):
    """Whatever the clock said."""
    store, records = stored(tmp_path / "runs")
    stored(tmp_path / "runs", code="b", started=STARTED + timedelta(days=1))
    stored(tmp_path / "runs", code="d", started=STARTED - timedelta(days=1))
    kept = store.in_order(store.records("mini", "quick"))
    keys = {(record.tier, record.key) for record in records}
    first, _, last = grouped(kept)
    chosen = choose(kept, keys, (), store.planned_data)
    assert (chosen.group, last.code, chosen.others) == (last, "d" * 32, 2)
    assert choose(kept, keys, (first,), store.planned_data).group == first, "today's"
    assert choose(kept, keys, (), store.planned_data, first.id).group == first, "wanted"
    with pytest.raises(UsageError, match="--group none: no groups of records have this id"):
        choose(kept, keys, (), store.planned_data, "none")


def test_a_failed_record_hides_no_adopted_one():
    (cell,) = cells_of_tier(AUDIT, "quick")[:1]
    kept = make_record(cell, code="a" * 32)
    failed = make_record(cell, status="failed", code="b" * 32)
    pair = pair_of(cell)
    same = ComparedCell(**pair._asdict(), seed=cell.seed, measured="0" * 64)
    line = Adoption(
        date=STARTED,
        old=kept.code,
        new=failed.code,
        versions=versions_of(kept.environment),
        processor="one",
        cells=(same,),
    )
    adoptions = Adoptions((line,), today=failed.code)
    keys = {(kept.tier, kept.key)}
    for records in ([kept, failed], [failed, kept]):
        chosen = choose(records, keys, (), lambda _: None, adoptions=adoptions)
        assert [*chosen.records.values()] == [kept]


def on_data(tmp_path: Path, *days: tuple[str, int], level: float = 0.02) -> Store:
    """A store with a record of one cell for each state of its data, in the order of writing."""
    store = Store(tmp_path / "runs")
    values = {**AUDIT.values_of("descent", "quick"), "level": level}
    for checksum, day in days:
        started = STARTED + timedelta(days=day)
        cell = Cell("mini", "quick", "descent", values, 0)
        store.write(make_record(cell, data={"x": checksum}, started=started))
    return store


def chosen_in(store: Store) -> Chosen:
    records = store.in_order(store.records("mini", "quick"))
    return choose(
        records, {(record.tier, record.key) for record in records}, (), store.planned_data
    )


def test_of_several_states_of_the_data_the_one_written_last_is_judged(tmp_path):
    """Whatever the clock said; the others are counted."""
    chosen = chosen_in(on_data(tmp_path, ("1", 2), ("2", 0), ("3", 1)))
    assert [record.data for record in chosen.records.values()] == [{"x": "3"}]
    assert chosen.other_data == {"x": 2}


def test_a_run_says_which_state_of_the_data_is_judged(tmp_path):
    store = on_data(tmp_path, ("1", 0), ("2", 1))
    first = min(store.records("mini", "quick"), key=lambda record: record.started)
    store.note_data(cell_of(first), first.code, versions_of(first.environment), first.data)
    chosen = chosen_in(store)
    assert [record.data for record in chosen.records.values()] == [{"x": "1"}]
    assert chosen.other_data == {"x": 1}


def test_settings_that_read_other_files_under_one_name_are_kept(tmp_path):
    on_data(tmp_path, ("1", 0))
    chosen = chosen_in(on_data(tmp_path, ("2", 1), level=0.5))
    assert {record.data["x"] for record in chosen.records.values()} == {"1", "2"}
    assert not chosen.other_data


def test_a_damaged_note_of_data_is_named(tmp_path):
    store = on_data(tmp_path, ("1", 0))
    (record,) = store.records("mini", "quick")
    store.note_data(cell_of(record), record.code, versions_of(record.environment), {"x": "2"})
    (file,) = store.root.rglob("*.data")
    file.write_text("[1]")
    with pytest.raises(StoreError, match=r"\.data: found no checksums by name.* Remove it"):
        chosen_in(store)


@pytest.mark.parametrize("level", [None, 0.7])
def test_without_records_of_its_settings_a_scorecard_tests_nothing(tmp_path, level):
    write_paper(tmp_path / "audits")
    store = Store(tmp_path / "runs")
    if level is not None:
        values = {**AUDIT.values_of("descent", "quick"), "level": level}
        store.write(make_record(Cell("mini", "quick", "descent", values, 0)))
    entry = Catalog(tmp_path / "audits")["mini"]
    card = scorecard_of_store(entry, AUDIT, "quick", store)
    assert card.records.count == 0
    assert {one.outcome for one in card.claims} == {"not tested"}
