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
FAULTY: dict[str, tuple[dict[str, Any], str]] = {
    "a number that is none": (
        {"distance": (STEPS, np.where(STEPS == 20, np.nan, 0.1))},
        ", measurement 'distance': found a number that is not finite, or too large; expected",
    ),
    "an infinite number": (
        {"by_size": [1.0, np.inf]},
        ", measurement 'by_size': found a number that is not finite, or too large; expected",
    ),
    "gaps": (
        {"course_by_size": (STEPS, masked(GRID, (2, 1)))},
        ", measurement 'course_by_size': found coordinates with different steps, as step 20; ",
    ),
    "another shape": (
        {"by_size": [1.0, 2.0, 3.0]},
        ": 'by_size': found shape (3,); expected (2,).",
    ),
    "no steps": ({"distance": GRID[:, 0]}, ": 'distance': found no steps; expected a pair of"),
    "words": ({"final": "0.1"}, ": 'final': found no plain numbers (it holds <U3); expected them."),
    "a step twice": (
        {"distance": ([0, 10, 10], [1.0, 2.0, 3.0])},
        ", tag 'distance': found step 10 a second time; expected it once.",
    ),
    "one step": (
        {"distance": ([5, 5, 5], [1.0, 2.0, 3.0])},
        ", tag 'distance': found step 5 a second time: all 3 points have it, as if they were",
    ),
    "a step back": (
        {"course_by_size": ([0, 20, 10], GRID[:3])},
        ", tag 'course_by_size': found step 10 after 20; expected steps that increase.",
    ),
    "a step below 0": (
        {"distance": ([-10, 0], [1.0, 2.0])},
        ", tag 'distance': found the step -10; expected none below 0.",
    ),
    "a step between two": (
        {"distance": ([0, 1.5], [1, 2])},
        ", measurement 'distance': found the step 1.5; expected",
    ),
    "a step beyond all": (
        {"distance": ([0, 2e17], [1, 2])},
        ", measurement 'distance': found the step 2e+17; expected one within ±2",
    ),
    "no point": ({"distance": ([], [])}, ": found no number of 'distance'; expected one"),
    "no number": ({"final": masked(0.5, ())}, ": found no number of 'final'; expected one"),
}
"""Numbers that do not fit, and what is said of them, of the first seed."""


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


@pytest.mark.parametrize(("measured", "says"), FAULTY.values(), ids=FAULTY)
def test_a_fault_is_told_of_its_run_before_a_file_is_written(
    tmp_path: Path, measured: dict[str, Any], says: str
) -> None:
    with pytest.raises(
        AuditError, match=rf"^runs\[0\] \(descent\), seed 3{re.escape(says)}"
    ) as held:
        read_runs(AUDIT, runs_of(measured), HEAD)
    with pytest.raises(AuditError) as written:
        write_submission(tmp_path, AUDIT, runs_of(measured), HEAD)
    assert str(written.value) == str(held.value)
    assert not [*tmp_path.iterdir()]


def test_an_unknown_measurement_is_told() -> None:
    says = "runs[0] (descent): found the measurement 'finale', which the experiment does not"
    with pytest.raises(AuditError, match=re.escape(says)):
        read_runs(AUDIT, runs_of({"finale": 1.0}), HEAD)


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
