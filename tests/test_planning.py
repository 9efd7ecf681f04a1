"""What is planned, and which records a scorecard is built from."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from factories import STARTED, make_audit, make_record
from miniatures import claim, write_paper
from reproaudit.audit.catalog import Catalog
from reproaudit.audit.model import TIERS, TierName
from reproaudit.audit.plan import Role, cells_of_tier, claim_batches, plan
from reproaudit.audit.seeds import seeds_of
from reproaudit.cell import Cell
from reproaudit.errors import UsageError
from reproaudit.records import Record
from reproaudit.report.answers import scorecard_of_store
from reproaudit.running.groups import choose, grouped, planned_only
from reproaudit.running.store import Store

AUDIT = make_audit()


@pytest.mark.parametrize("tier", TIERS)
def test_each_batch_is_planned_once_and_own_experiments_first(tier: TierName) -> None:
    batches = plan(AUDIT, tier)
    assert max(Counter(batch for _, batch in batches).values()) == 1
    roles = [role for role, _ in batches]
    assert roles[: roles.count(Role.OWN)] == [Role.OWN] * len(AUDIT.experiments)
    planned = {batch for _, batch in batches}
    for one in AUDIT.claims:
        assert {batch for _, batch in claim_batches(AUDIT, one, tier)} <= planned


def test_claims_share_runs_and_each_tier_has_its_number() -> None:
    own = {tier: len(plan(AUDIT, tier)[0][1].seeds) for tier in TIERS}
    assert own == {"smoke": 1, "quick": 5, "paper": 6}
    nulls = [batch for role, batch in plan(AUDIT, "paper") if role is Role.NULL]
    assert {len(batch.seeds) for batch in nulls} == {5}
    assert set(nulls[0].seeds) <= set(seeds_of(AUDIT, "paper", "descent", 6))


@pytest.mark.parametrize(("above", "runs"), [(0.0, 6), (0.1, 5)])
def test_the_null_of_a_contrast_runs_as_often_as_the_claim(above: float, runs: int) -> None:
    """A quantity that need only grow is held against the null's growth, seed by seed."""
    grown = {"kind": "reaches", "value": "distance", "grown_from": "distance@first"}
    grown |= {"above": above, "from": "paper"}
    audit = make_audit(claims=[claim("mini", "grows", main=True, headline=[grown])])
    (null,) = (batch for role, batch in plan(audit, "paper") if role is Role.NULL)
    assert len(null.seeds) == runs


def stored(folder: Path, *, code: str = "c", **changes: Any) -> tuple[Store, list[Record]]:
    store = Store(folder)
    records = [
        make_record(cell, code=code * 32, **changes) for cell in cells_of_tier(AUDIT, "quick")
    ]
    for record in records:
        store.write(record)
    return store, records


def test_a_plan_takes_the_records_of_its_own_fingerprints(tmp_path: Path) -> None:
    _, records = stored(tmp_path)
    planned = {(one.tier, one.key): one.fingerprint for one in records[:3]}
    chosen = planned_only(records, planned)
    assert {one.fingerprint for one in chosen.records.values()} == set(planned.values())


def test_of_two_equally_full_groups_the_latest_is_judged(tmp_path: Path) -> None:
    write_paper(tmp_path / "audits")
    store, records = stored(tmp_path / "runs")
    stored(tmp_path / "runs", code="d", started=records[0].started + timedelta(days=1))
    stored(tmp_path / "runs", code="b", started=records[0].started - timedelta(days=1))
    *_, latest = grouped(store.records("mini", "quick"))
    assert latest.code == "d" * 32
    keys = {(one.tier, one.key) for one in records}
    chosen = choose(store.records("mini", "quick"), keys, ())
    assert (chosen.group, chosen.others) == (latest, 2)
    (first, *_) = grouped(store.records("mini", "quick"))
    assert choose(store.records("mini", "quick"), keys, (first,)).group == first, "today's"
    assert choose(store.records("mini", "quick"), keys, (), first.id).group == first, "wanted"
    with pytest.raises(UsageError, match="--group none: no groups of records have this id"):
        choose(store.records("mini", "quick"), keys, (), "none")


def test_records_of_an_earlier_state_of_their_data_are_left_out(tmp_path: Path) -> None:
    cells = cells_of_tier(AUDIT, "quick")[:3]
    old, new, without = (
        make_record(cell, data=data, started=STARTED + timedelta(days=day))
        for cell, data, day in zip(cells, ({"x": "1"}, {"x": "2"}, {}), (0, 1, 0), strict=True)
    )
    (found,) = grouped([old, new, without]).values()
    assert found == [without, new]


def test_records_of_other_code_are_judged_and_said_to_be(tmp_path: Path) -> None:
    write_paper(tmp_path / "audits")
    store, records = stored(tmp_path / "runs")
    entry = Catalog(tmp_path / "audits")["mini"]
    card = scorecard_of_store(entry, AUDIT, "quick", store)
    assert card.records.count == len(records)
    assert card.made.of_today is False


def test_a_scorecard_of_an_empty_store_tests_nothing(tmp_path: Path) -> None:
    write_paper(tmp_path / "audits")
    entry = Catalog(tmp_path / "audits")["mini"]
    card = scorecard_of_store(entry, AUDIT, "quick", Store(tmp_path / "runs"))
    assert {one.outcome for one in card.claims} == {"not tested"}


def test_a_record_of_other_settings_is_not_taken(tmp_path: Path) -> None:
    write_paper(tmp_path / "audits")
    store = Store(tmp_path / "runs")
    values = {**AUDIT.values_of("descent", "quick"), "level": 0.7}
    store.write(make_record(Cell("mini", "quick", "descent", values, 0)))
    entry = Catalog(tmp_path / "audits")["mini"]
    assert scorecard_of_store(entry, AUDIT, "quick", store).records.count == 0
