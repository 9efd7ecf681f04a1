"""Fractions in one arm and per cent in another are asked about, wherever measurements come from."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from samples import CLAIM

import factories
import miniatures
from reproaudit import MeasuredRuns, judge_measurements, write_measurements
from reproaudit.audit.model import Audit
from reproaudit.errors import SpecError
from reproaudit.intake.reading import read_submission
from reproaudit.service.judge import import_folder

SEEDS = range(5)
SCALAR = {"kind": "scalar", "unit": "1", "meaning": "As the paper has it."}
BELOW = {"measurement": "accuracy", "arm": "baseline"}
AUDIT: Audit = factories.make_audit(
    settings={"mechanism": miniatures.setting("full")},
    experiments={
        "training": {
            "title": "Trains",
            "measurements": {"accuracy": SCALAR},
        }
    },
    arms={"baseline": {"settings": {"mechanism": "none"}, "why": "lacks the mechanism"}},
    claims=[
        {
            **CLAIM,
            "headline": [{"kind": "beats", "lower": BELOW, "upper": "accuracy", "from": "paper"}],
            "nulls": [],
            "constructed": None,
        }
    ],
)
FULL = [0.90, 0.91, 0.92, 0.93, 0.94]
PER_CENT = [88.0, 87.0, 86.0, 85.0, 84.0]
WHY = "The baseline's score has no upper end."


def rows(baseline: Sequence[float]) -> list[MeasuredRuns]:
    """Runs of the method and of its baseline, in memory."""
    other = {seed: {"accuracy": baseline[seed]} for seed in SEEDS}
    own = {seed: {"accuracy": FULL[seed]} for seed in SEEDS}
    settings = {"mechanism": "none"}
    return [MeasuredRuns("training", own), MeasuredRuns("training", other, settings=settings)]


def logs(folder: Path, baseline: Sequence[float]) -> Path:
    """The same runs as logs with configurations."""
    for name, mechanism, numbers in (("own", "full", FULL), ("base", "none", baseline)):
        for seed in SEEDS:
            run = folder / "logs" / f"{name}-seed_{seed}"
            run.mkdir(parents=True)
            (run / "config.json").write_text(json.dumps({"mechanism": mechanism, "seed": seed}))
            (run / "log.csv").write_text(f"step,accuracy\n0,{numbers[seed]!r}\n")
    return folder / "logs"


def from_memory(_: Path) -> object:
    return judge_measurements(AUDIT, rows(PER_CENT))


def from_folder(folder: Path) -> object:
    written = write_measurements(folder / "written", AUDIT, rows(PER_CENT), one_unit=WHY)
    manifest = written / "manifest.yaml"
    lines = manifest.read_text().splitlines()
    manifest.write_text("\n".join(one for one in lines if not one.startswith("one_unit")))
    return read_submission(AUDIT, written)


def from_logs(folder: Path) -> object:
    return import_folder(AUDIT, [logs(folder, PER_CENT)], folder / "imported")


@pytest.mark.parametrize("read", [from_memory, from_folder, from_logs])
def test_fractions_beside_per_cent_are_refused(
    read: Callable[[Path], object], tmp_path: Path
) -> None:
    with pytest.raises(SpecError) as refused:
        read(tmp_path)
    (line,) = str(refused.value).splitlines()
    assert "up to 0.92 in 'training'" in line
    assert "up to 86 in 'training' with mechanism = 'none'" in line


@pytest.mark.parametrize(
    "baseline",
    [
        [one / 100 for one in PER_CENT],
        [2.3] * 5,  # nobody's per cent: less than 20 times as high
        [880.0, 870.0, 860.0, 850.0, 840.0],  # there are no 880 per cent
    ],
)
def test_other_numbers_are_not_asked_about(baseline: list[float]) -> None:
    assert judge_measurements(AUDIT, rows(baseline)).claims


def test_a_mapping_says_which_runs_are_in_per_cent(tmp_path: Path) -> None:
    mapping = tmp_path / "mapping.yaml"
    mapping.write_text('runs: [{match: "*base*", percent: [accuracy]}]')
    import_folder(AUDIT, [logs(tmp_path, PER_CENT)], tmp_path / "imported", mapping)
    found = read_submission(AUDIT, tmp_path / "imported")
    numbers = [one.measurements.scalars["accuracy"] for one in found.records]
    assert numbers == pytest.approx([*FULL, 0.88, 0.87, 0.86, 0.85, 0.84])


def test_a_reason_lets_them_pass(tmp_path: Path) -> None:
    said: dict[str, Any] = {"one_unit": WHY}
    assert judge_measurements(AUDIT, rows(PER_CENT), **said).claims
    mapping = tmp_path / "mapping.yaml"
    mapping.write_text(f"one_unit: {WHY}")
    import_folder(AUDIT, [logs(tmp_path, PER_CENT)], tmp_path / "imported", mapping)
    assert len(read_submission(AUDIT, tmp_path / "imported").records) == 10
