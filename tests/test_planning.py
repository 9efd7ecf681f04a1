"""What is planned, and which records a scorecard is built from."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from factories import CLAIMS, LEVELS, claim, make_audit, make_record, measurements
from reproaudit.audit.documentation import PUBLISHED_RATES, SharingType, score
from reproaudit.audit.model import TIERS, Audit, TierName
from reproaudit.audit.plan import Batch, Role, claim_batches, plan
from reproaudit.audit.seeds import seeds_of
from reproaudit.audit.variables import Variable
from reproaudit.cell import canonical_settings
from reproaudit.errors import UsageError
from reproaudit.judging.model import Verdict
from reproaudit.records import CellStatus, Measurements, Record
from reproaudit.reports.phrasing import records_words
from reproaudit.running.fingerprint import fingerprint_of
from reproaudit.running.groups import TiedGroupsError, grouped, planned_only
from reproaudit.running.store import Store
from reproaudit.scorecard.from_store import (
    CUSTOM,
    cells_of_tier,
    choose_records,
    highest_tier,
    lookup_chosen,
    scorecard_of,
)

START = datetime(2026, 1, 1, tzinfo=UTC)
CONTROL = {"experiment": "good", "settings": {"mechanism": "none"}, "why": "lacks it"}


def one_claim(**changes: Any) -> Audit:
    seeds = {"smoke": [9], "quick": [0, 1, 2, 3, 4], "paper": [10, 11, 12, 13, 14]}
    return make_audit(claims=[{**claim("one", "good"), **changes}], findings=[], seeds=seeds)


# --- the plan -----------------------------------------------------------------------------------


@pytest.mark.parametrize("tier", TIERS)
def test_each_batch_is_planned_once_and_the_papers_own_first(tier: TierName) -> None:
    audit = make_audit()
    batches = plan(audit, tier)
    assert max(Counter(batch for _, batch in batches).values()) == 1
    roles = [role for role, _ in batches]
    assert roles.count(Role.EXPERIMENT) == len(audit.experiments)
    assert roles[: len(audit.experiments)] == [Role.EXPERIMENT] * len(audit.experiments)
    planned = {batch for _, batch in batches}
    for one in audit.claims:
        assert {batch for _, batch in claim_batches(audit, one, tier)} <= planned
    assert len(batches) < len(CLAIMS) * 3, "claims of one experiment share its controls"


def test_a_batch_shared_by_two_claims_is_one() -> None:
    twice = [claim("one", "good"), claim("two", "good")]
    shared, alone = (
        plan(make_audit(claims=claims, findings=[]), "quick") for claims in (twice, twice[:1])
    )
    assert shared == alone


def test_controls_at_quick_scale_are_the_quick_tiers_cells() -> None:
    audit = one_claim()
    batches = {tier: dict(claim_batches(audit, audit.claims[0], tier)) for tier in TIERS}
    paper, quick = batches["paper"], batches["quick"]
    assert paper[Role.CONTROL] == quick[Role.CONTROL]
    assert paper[Role.POSITIVE_CONTROL] == quick[Role.POSITIVE_CONTROL]
    assert paper[Role.CONTROL].seeds == seeds_of(audit, "quick", "good")
    assert paper[Role.CONTROL].settings(audit)["steps"] == 100
    assert paper[Role.EXPERIMENT].settings(audit)["steps"] == 1000
    assert batches["smoke"][Role.CONTROL].tier == "smoke"
    cells = {
        (c.tier, canonical_settings(c.settings), c.seed) for c in cells_of_tier(audit, "paper")
    }
    quick_cells = cells_of_tier(audit, "quick")
    controls = [c for c in quick_cells if c.settings["mechanism"] != "full"]
    assert len(controls) == 10
    assert {("quick", canonical_settings(c.settings), c.seed) for c in controls} <= cells


def test_a_control_may_run_at_the_papers_scale() -> None:
    audit = one_claim(controls=[{**CONTROL, "scale": "same"}])
    _, (role, batch), _ = claim_batches(audit, audit.claims[0], "paper")
    assert (role, batch.tier, batch.seeds) == (Role.CONTROL, "paper", (10, 11, 12, 13, 14))


def test_the_papers_own_cells_come_first() -> None:
    cells = cells_of_tier(make_audit(), "quick")
    own = [cell.settings["mechanism"] == "full" for cell in cells]
    assert own == sorted(own, reverse=True)


# --- records ------------------------------------------------------------------------------------


def record_of(audit: Audit, batch: Batch, seed: int, name: str, **said: Any) -> Record:
    settings = batch.settings(audit)
    rules = {c.id: audit.rule_hash(c, batch.tier) for c in audit.claims}
    level = LEVELS[str(settings["mechanism"])]
    usual = {
        "measurements": measurements(level, 0.1, seed),
        "code": name,
        "started": START,
    }
    made = make_record("toy", batch, settings, seed, rules, {**usual, **said})
    return made.model_copy(update={"fingerprint": fingerprint_of(made)})


def fill(store: Store, audit: Audit, at: TierName, name: str = "a", **said: Any) -> None:
    for _, batch in claim_batches(audit, audit.claims[0], at):
        for seed in batch.seeds:
            store.write(record_of(audit, batch, seed, name, **said))


FAILURE = {"status": CellStatus.FAILED, "error": "out of memory", "measurements": Measurements()}
FAR = {"measurements": measurements(0.8, 0.1, 0)}


def found_in(store: Store, audit: Audit, batch: Batch, **how: Any) -> Mapping[int, Record]:
    return lookup_chosen(audit, choose_records(store, audit, batch.tier, **how))(batch)


def test_the_clock_decides_nothing(tmp_path: Path) -> None:
    """Neither a record that says it is of next year nor the time of a file wins."""
    audit, store = one_claim(), Store(tmp_path)
    _, own = next(claim_batches(audit, audit.claims[0], "quick"))
    for seed in (0, 1):
        store.write(record_of(audit, own, seed, "today"))
    late = store.write(record_of(audit, own, 0, "late", started=START + timedelta(days=365)))
    os.utime(late, (2e9, 2e9))
    assert {one.code for one in found_in(store, audit, own).values()} == {"today"}


def test_a_plan_takes_the_records_of_its_own_fingerprints() -> None:
    """Of one cell's records the planned one, whatever else has been made of the same cell."""
    audit = one_claim()
    _, own = next(claim_batches(audit, audit.claims[0], "quick"))
    made = [record_of(audit, own, seed, name) for name in ("a", "b") for seed in own.seeds]
    for name in ("a", "b"):
        planned = {(one.tier, one.key): one.fingerprint for one in made if one.code == name}
        chosen = planned_only(made, planned)
        assert {one.code for one in chosen.records.values()} == {name}
        assert chosen.records.keys() == planned.keys()


def test_a_tie_is_named_and_can_be_broken(tmp_path: Path) -> None:
    audit, store = one_claim(), Store(tmp_path)
    _, own = next(claim_batches(audit, audit.claims[0], "quick"))
    for name in ("a", "b"):
        store.write(record_of(audit, own, 0, name, started=START + timedelta(days=ord(name))))
    one = r"[0-9a-f]{8} \(code [^)]*\)"
    tie = rf"2 groups of records .*: {one}; {one}\. Choose one with --group"
    with pytest.raises(TiedGroupsError, match=tie):
        found_in(store, audit, own)
    for group in grouped(store.records("toy", "quick")):
        chosen = choose_records(store, audit, "quick", wanted=group.id, today=[])
        assert {one.code for one in chosen.records.values()} == {group.code}
        assert chosen.of_today is False
        assert len(chosen.others) == 1
        assert f"{group.id} (code {group.code}" in str(group)
    with pytest.raises(UsageError, match="--group zz: no groups"):
        found_in(store, audit, own, wanted="zz")


def test_todays_group_stands_before_a_fuller_one(tmp_path: Path) -> None:
    audit, store = one_claim(), Store(tmp_path)
    _, own = next(claim_batches(audit, audit.claims[0], "quick"))
    for seed, name in ((0, "a"), (1, "a"), (0, "b")):
        store.write(record_of(audit, own, seed, name))
    groups = {group.code: group for group in grouped(store.records("toy", "quick"))}
    found = found_in(store, audit, own, today=[groups["b"]])
    assert {seed: one.code for seed, one in found.items()} == {0: "b"}
    chosen = choose_records(store, audit, "quick", today=[groups["b"]])
    assert (chosen.of_today, chosen.others) == (True, (groups["a"].id,))
    card = scorecard_of(store, audit, "quick", today=[])
    assert card.group is not None
    assert (card.group.id, card.group.of_today) == (groups["a"].id, False)
    assert "not today's code and versions" in records_words(card)


def test_a_plan_takes_its_own_fingerprints_alone(tmp_path: Path) -> None:
    audit, store = one_claim(), Store(tmp_path)
    _, own = next(claim_batches(audit, audit.claims[0], "quick"))
    wanted = record_of(audit, own, 0, "a")
    for one in (wanted, record_of(audit, own, 0, "b"), record_of(audit, own, 1, "b")):
        store.write(one)
    planned = {("quick", wanted.key): wanted.fingerprint}
    found = found_in(store, audit, own, planned=planned)
    assert {seed: one.code for seed, one in found.items()} == {0: "a"}


def test_records_that_read_other_data_are_another_group(tmp_path: Path) -> None:
    audit, store = one_claim(), Store(tmp_path)
    _, own = next(claim_batches(audit, audit.claims[0], "quick"))
    store.write(record_of(audit, own, 0, "a"))
    for state in ("old", "new"):
        store.write(record_of(audit, own, 1, "a", data={"digits": state}))
    groups = grouped(store.records("toy", "quick"))
    assert sorted(dict(group.data)["digits"] for group in groups) == ["new", "old"]
    assert all(sorted(one.seed for one in several) == [0, 1] for several in groups.values())
    with pytest.raises(TiedGroupsError, match="digits new"):
        found_in(store, audit, own)


def test_a_finished_record_stands_before_a_failure(tmp_path: Path) -> None:
    audit, store = one_claim(), Store(tmp_path)
    _, own = next(claim_batches(audit, audit.claims[0], "quick"))
    store.write(record_of(audit, own, 0, "new", **FAILURE))
    assert found_in(store, audit, own)[0].status is CellStatus.FAILED
    store.write(record_of(audit, own, 0, "old"))
    assert found_in(store, audit, own)[0].status is CellStatus.COMPLETED
    wild = {"status": CellStatus.DIVERGED, "error": "diverged", "measurements": Measurements()}
    store.write(record_of(audit, own, 1, "old", **FAILURE))
    store.write(record_of(audit, own, 1, "old", **wild))
    found = found_in(store, audit, own)
    assert [found[seed].status for seed in (0, 1)] == [CellStatus.COMPLETED, CellStatus.DIVERGED]


def test_a_record_with_other_settings_or_of_another_tier_is_not_found(tmp_path: Path) -> None:
    audit, store = one_claim(), Store(tmp_path)
    _, own = next(claim_batches(audit, audit.claims[0], "quick"))
    other = {**own.settings(audit), "steps": 99}
    store.write(record_of(audit, own, 0, "a", settings=other))
    store.write(record_of(audit, own, 1, "b", tier="paper"))
    assert found_in(store, audit, own) == {}


def test_custom_records_feed_no_verdict(tmp_path: Path) -> None:
    audit, store = one_claim(), Store(tmp_path)
    fill(store, audit, "quick", tier=CUSTOM)
    assert highest_tier(store, audit) is None
    card = scorecard_of(store, audit, "quick")
    assert card.claims[0].verdict == Verdict.NOT_TESTED
    assert card.custom_records == 15
    fill(store, audit, "quick")
    before = scorecard_of(store, audit, "quick").claims
    fill(store, audit, "quick", "z", tier=CUSTOM, started=START + timedelta(days=9), **FAR)
    assert scorecard_of(store, audit, "quick").claims == before


def test_the_highest_tier_with_records(tmp_path: Path) -> None:
    audit, store = one_claim(), Store(tmp_path)
    for tier in TIERS:
        fill(store, audit, tier)
        assert highest_tier(store, audit) == tier


@pytest.mark.parametrize("tier", TIERS)
def test_a_scorecard_of_an_empty_store(tmp_path: Path, tier: TierName) -> None:
    audit = make_audit()
    card = scorecard_of(Store(tmp_path / "none"), audit, tier)
    assert {one.verdict for one in card.claims} == {Verdict.NOT_TESTED}
    assert (card.coverage.claims, card.coverage.tested) == (len(CLAIMS) + 1, 0)
    assert card.coverage.weight_tested == 0
    assert (card.records, card.figures, card.chance.claims) == ((), (), 0)
    assert card.documentation.of == 7


def test_scorecards_of_stores_that_are_filled_step_by_step(tmp_path: Path) -> None:
    """Whatever is there, there is a scorecard; the verdict comes when the last cell does."""
    audit, store = one_claim(), Store(tmp_path)
    cells = [
        (batch, seed)
        for _, batch in claim_batches(audit, audit.claims[0], "quick")
        for seed in batch.seeds
    ]
    for number, (batch, seed) in enumerate(cells, start=1):
        store.write(record_of(audit, batch, seed, "a"))
        card = scorecard_of(store, audit, "quick")
        (one,) = card.claims
        assert len(card.records) == number
        whole = number == len(cells)
        assert one.verdict == (Verdict.SUPPORTED if whole else Verdict.NOT_TESTED)
        assert (one.decision is None) is (number < 5)
    assert card.coverage.tested == 1
    assert card.chance.expected_wrong == pytest.approx(0.025), "one end of its interval"


# --- documentation ------------------------------------------------------------------------------


def documented(**answers: tuple[str, str]) -> tuple[int, int, SharingType]:
    """Scores when some variables have another card and decisions than the toy paper's."""
    data = make_audit().model_dump(mode="json")["variables"]
    for one in data:
        card, *decisions = answers.get(one["name"].replace(" ", "_").lower(), ("No", "agree"))
        one["card"]["result"] = card
        one["reviews"] = [{**one["reviews"][0], "decision": d} for d in decisions]
    found = score([Variable.model_validate(one, strict=False) for one in data])
    return found.strict, found.reviewed, found.sharing_type


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ({}, (0, 0, SharingType.DESCRIPTION)),
        ({"pseudocode": ("Yes", "agree")}, (1, 1, SharingType.DESCRIPTION)),
        ({"pseudocode": ("Yes", "disagree")}, (1, 0, SharingType.DESCRIPTION)),
        ({"pseudocode": ("No", "disagree")}, (0, 1, SharingType.DESCRIPTION)),
        ({"open_datasets": ("No", "not_applicable")}, (0, 1, SharingType.DATA)),
        ({"open_source_code": ("Yes", "agree")}, (1, 1, SharingType.CODE)),
        (
            {"open_source_code": ("Yes", "agree"), "open_datasets": ("Yes", "agree")},
            (2, 2, SharingType.EXPERIMENT),
        ),
        ({"research_type": ("Yes", "agree")}, (0, 0, SharingType.DESCRIPTION)),
        ({"pseudocode": ("Yes", "disagree", "agree", "agree")}, (1, 1, SharingType.DESCRIPTION)),
        ({"pseudocode": ("Yes", "disagree", "agree")}, (1, 1, SharingType.DESCRIPTION)),
    ],
    ids=[
        "nothing",
        "agreed",
        "card too kind",
        "card too harsh",
        "not applicable counts",
        "code",
        "code and data",
        "unscored",
        "majority",
        "a tie counts as the card has it",
    ],
)
def test_documentation_scores(
    answers: dict[str, Any], expected: tuple[int, int, SharingType]
) -> None:
    assert documented(**answers) == expected


def test_published_rates_are_counts_with_an_interval() -> None:
    assert PUBLISHED_RATES == {SharingType.EXPERIMENT: (6, 7), SharingType.DATA: (5, 15)}
    found = score(make_audit().variables)
    assert found.sharing_type is SharingType.DATA
    assert found.published_rate is not None
    successes, total, interval = found.published_rate
    assert (successes, total, interval.method) == (5, 15, "Wilson")
    assert interval.low < 5 / 15 < interval.high
