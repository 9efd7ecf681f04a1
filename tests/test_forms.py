"""The form of a run belongs to the identity of its records."""

from __future__ import annotations

from pathlib import Path

import pytest

from cells import cell, locate
from factories import make_scorecard
from reproaudit.cli.options import chosen_form
from reproaudit.commands.run import How
from reproaudit.diff.changes import changes_of
from reproaudit.diff.model import ComparedScorecard
from reproaudit.errors import SpecError, UsageError
from reproaudit.records import Record
from reproaudit.running.fingerprint import fingerprint_of, versions
from reproaudit.running.groups import choose, todays_groups
from reproaudit.running.run import run_cells
from reproaudit.running.store import Store


def run(store: Store, form: str, *seeds: int) -> dict[str, Record]:
    cells = [cell(seed=seed) for seed in seeds]
    run_cells(cells, locate, store, form=chosen_form(form))
    return {one.fingerprint: one for one in store.records("toy2020", "quick")}


def test_the_same_cell_has_a_record_in_each_form_and_they_are_not_mixed(tmp_path: Path) -> None:
    store = Store(tmp_path)
    run(store, "fast", 0, 1)
    records = run(store, "plain", 0, 1)
    assert len(records) == 4
    assert sorted(one.environment.form for one in records.values()) == ["fast"] * 2 + ["plain"] * 2
    for name, one in records.items():
        assert fingerprint_of(one) == name
    planned = {("quick", cell(seed=seed).key) for seed in (0, 1)}
    today = todays_groups(locate("toy2020"), ["cpu"])
    chosen = choose(records.values(), planned, today)
    assert {one.environment.form for one in chosen.records.values()} == {"fast"}
    assert chosen.of_today
    (other,) = chosen.others
    chosen = choose(records.values(), planned, today, wanted=other)
    assert {one.environment.form for one in chosen.records.values()} == {"plain"}
    assert chosen.of_today
    assert chosen.group is not None
    assert "form plain" in str(chosen.group)


def test_plain_records_alone_are_shown_and_a_fast_one_comes_before_many(tmp_path: Path) -> None:
    store = Store(tmp_path)
    planned = {("quick", cell(seed=seed).key) for seed in (0, 1)}
    records = run(store, "plain", 0, 1)
    chosen = choose(records.values(), planned)
    assert len(chosen.records) == 2
    records = run(store, "fast", 0)
    chosen = choose(records.values(), planned)
    assert [one.environment.form for one in chosen.records.values()] == ["fast"]


def test_the_fast_form_adds_nothing_to_a_fingerprint() -> None:
    assert "form" not in versions("cpu")
    assert versions("cpu", form="plain") == {**versions("cpu"), "form": "plain"}


def test_an_experiment_without_a_plain_form_says_so(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"no plain form.*Run it without --form plain"):
        run_cells([cell("place")], locate, Store(tmp_path), form="plain")


def test_the_plain_form_is_asked_for_by_name_and_runs_on_the_processor(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--form 'plane': write fast or plain"):
        chosen_form("plane")
    how = How(None, Store(tmp_path), "auto", None, False, form="plain")  # type: ignore[arg-type]
    assert how.chosen_device == "cpu"
    how = How(None, Store(tmp_path), "cuda", None, False, form="plain")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="--device cuda: the plain form runs on the cpu"):
        _ = how.chosen_device


def test_a_difference_names_the_form() -> None:
    fast = make_scorecard()
    plain = fast.model_copy(
        update={"environment": fast.environment.model_copy(update={"form": ("plain",)})}
    )
    sides = (ComparedScorecard("a", None, fast), ComparedScorecard("b", None, plain))
    (change,) = changes_of(*sides)
    assert (change.kind, change.place) == ("environment", "form")
    assert change.before == ["fast"]
    assert change.after == ["plain"]
