"""Runs in memory become the very records of a folder of them, and no file is on the way."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bundles import MEASURED
from factories import make_audit
from miniatures import aligns, claim, setting
from reproaudit.errors import AuditError
from reproaudit.intake.memory import MeasuredRuns, manifest_head, read_runs
from reproaudit.intake.reading import Submission, read_submission
from reproaudit.intake.writing import write_submission

AUDIT = make_audit(
    settings={"sizes": setting([1, 2, 3]), "mechanism": setting("full")},
    experiments={
        "descent": {
            "title": "It descends",
            "measurements": {
                **MEASURED,
                "by_list": {
                    "kind": "array",
                    "axes": [{"name": "size", "setting": "sizes"}],
                    "unit": "1",
                    "meaning": "How far, by size.",
                },
            },
        }
    },
    claims=[
        claim(
            "mini",
            "supported",
            main=True,
            nulls=[],
            constructed=None,
            headline=[{**aligns(0.1), "distance": "final"}],
        )
    ],
    arms={},
)
HEAD = manifest_head(None, "paper", {}, None)
STEPS = np.arange(0, 60, 10)
GRID = np.random.default_rng(0).normal(size=(6, 2))


def masked(values: Any, *places: Any) -> np.ma.MaskedArray[Any, Any]:
    """An array of which nothing was observed at some places."""
    made = np.ma.MaskedArray(np.asarray(values, dtype=float))
    for place in places:
        made[place] = np.ma.masked
    return made


SOUND: dict[str, dict[str, Any]] = {
    "of every kind": {"final": 0.1, "distance": (STEPS, GRID[:, 0]), "by_size": [0.3, -0.0]},
    "over axes": {"course_by_size": (STEPS, GRID)},
    "not at every place": {"course_by_size": (STEPS, masked(GRID, np.s_[:, 1]))},
    "not at every step": {"distance": (STEPS, masked(GRID[:, 0], 0, 5))},
    "not at any place of a step": {"course_by_size": (STEPS, masked(GRID, 3))},
    "of one step": {"distance": ([0], [0.5])},
    "without an end of order": {"distance": (STEPS[::-1], masked(GRID[:, 0], 0, 1, 2, 3, 4))},
    "of whole numbers": {"final": 0, "by_size": np.array([1, 2])},
    "of digits": {"final": np.float32(0.1), "distance": (STEPS.tolist(), GRID[:, 1].tolist())},
}
STEPS_ASTRAY: dict[str, dict[str, Any]] = {
    "a step twice": {"distance": ([0, 10, 10], [1.0, 2.0, 3.0])},
    "one step": {"distance": ([5, 5, 5], [1.0, 2.0, 3.0])},
    "a step back": {"course_by_size": ([0, 20, 10], GRID[:3])},
    "a step below 0": {"distance": ([-10, 0], [1.0, 2.0])},
}
FAULTY: dict[str, dict[str, Any]] = {
    "a number that is none": {"distance": (STEPS, np.where(STEPS == 20, np.nan, 0.1))},
    "an infinite number": {"by_size": [1.0, np.inf]},
    "gaps": {"course_by_size": (STEPS, masked(GRID, (2, 1)))},
    "another shape": {"by_size": [1.0, 2.0, 3.0]},
    "an unknown measurement": {"finale": 1.0},
    "no steps": {"distance": GRID[:, 0]},
    "words": {"final": "0.1"},
}


def runs_of(measured: dict[str, Any], **more: Any) -> list[MeasuredRuns]:
    return [MeasuredRuns("descent", {3: measured, 8: measured}, **more)]


def from_files(folder: Path, runs: list[MeasuredRuns]) -> Submission:
    write_submission(folder, AUDIT, runs, HEAD)
    return read_submission(AUDIT, folder)


@pytest.mark.parametrize("measured", SOUND.values(), ids=SOUND)
def test_a_record_of_memory_is_that_of_a_folder(tmp_path: Path, measured: dict[str, Any]) -> None:
    runs = runs_of(measured)
    written, held = from_files(tmp_path, runs), read_runs(AUDIT, runs, HEAD)
    assert len(held.records) == 2
    for mine, theirs in zip(held.records, written.records, strict=True):
        changes = {"started": theirs.started}
        assert mine.model_copy(update=changes).model_dump_json() == theirs.model_dump_json()
    assert held.remarks == written.remarks
    assert held.found.keys() == written.found.keys()


@pytest.mark.parametrize("measured", FAULTY.values(), ids=FAULTY)
def test_a_fault_of_memory_is_that_of_a_folder(tmp_path: Path, measured: dict[str, Any]) -> None:
    runs = runs_of(measured)
    with pytest.raises(AuditError) as written:
        from_files(tmp_path, runs)
    with pytest.raises(AuditError) as held:
        read_runs(AUDIT, runs, HEAD)
    assert str(held.value) == str(written.value)


@pytest.mark.parametrize("measured", STEPS_ASTRAY.values(), ids=STEPS_ASTRAY)
def test_steps_astray_are_told_of_the_run(tmp_path: Path, measured: dict[str, Any]) -> None:
    runs = runs_of(measured)
    with pytest.raises(AuditError) as written:
        from_files(tmp_path, runs)
    with pytest.raises(AuditError) as held:
        read_runs(AUDIT, runs, HEAD)
    cause = str(written.value).partition(", tag")[2]
    assert str(held.value).startswith(f"runs[0] (descent), seed 3, tag{cause}")


@pytest.mark.parametrize(
    ("measured", "says"),
    [
        ({"distance": ([0, 1.5], [1, 2])}, "measurement 'distance': found the step 1.5; expected"),
        ({"distance": ([0, 2e17], [1, 2])}, r"found the step 2e\+17; expected one within ±2"),
        ({"distance": ([], [])}, "found no number of 'distance'; expected one"),
        ({"final": masked(0.5, ())}, "found no number of 'final'; expected one"),
    ],
)
def test_what_a_table_could_not_hold_is_told_of_its_run(
    measured: dict[str, Any], says: str
) -> None:
    with pytest.raises(AuditError, match=rf"^runs\[0\] \(descent\), seed 3.*{says}"):
        read_runs(AUDIT, runs_of(measured), HEAD)


def test_a_seed_that_lacks_a_measurement_is_named() -> None:
    run = MeasuredRuns("descent", {3: {"final": 0.1}, 8: {"by_size": [1.0, 2.0], "final": 0.1}})
    says = "runs[0] (descent), seed 3: found no number of 'by_size'; expected one, as of other"
    with pytest.raises(AuditError, match=f"^{re.escape(says)}"):
        read_runs(AUDIT, [run], HEAD)


def test_a_diverged_seed_may_lack_what_others_have(tmp_path: Path) -> None:
    whole = {"final": 0.1, "distance": (STEPS, GRID[:, 0])}
    cut = {"distance": (STEPS[:2], [1.0, np.nan])}
    runs = [MeasuredRuns("descent", {3: whole, 8: cut}, diverged=frozenset({8}))]
    written, held = from_files(tmp_path, runs), read_runs(AUDIT, runs, HEAD)
    mine, theirs = ([one.measurements for one in each.records] for each in (held, written))
    assert list(map(repr, mine)) == list(map(repr, theirs))
    assert held.records[1].status == "diverged"


def test_nothing_is_written_on_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a file was opened")

    monkeypatch.setattr("io.open", refuse)
    monkeypatch.setattr("builtins.open", refuse)
    monkeypatch.setattr("os.mkdir", refuse)
    assert read_runs(AUDIT, runs_of(SOUND["of every kind"]), HEAD).records
