"""What the loggers themselves write is imported, every point of it (`make importers`)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from samples import points, protocol, run_import, submitted

from reproaudit.logs.asked import Asked
from reproaudit.logs.configurations import seed_of
from reproaudit.logs.finding import find_runs
from reproaudit.logs.logged import LoggedRun

pytestmark = pytest.mark.skipif(
    not os.environ.get("REPROAUDIT_LOGGERS"),
    reason="needs the real loggers, in an environment of their own: make importers",
)

LOGGERS = (
    "tensorboard", "tensorboardx", "mlflow_files", "mlflow_database", "lightning", "transformers",
)  # fmt: skip
SINGLE = ("tensorboard", "tensorboardx")
"""Loggers that keep numbers in single precision."""
OFFLINE = {
    "MLFLOW_ALLOW_FILE_STORE": "true",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "DO_NOT_TRACK": "1",
    "HF_HUB_OFFLINE": "1",
}
SEEDS = (3, 4)


CONFIGURED = {
    "mlflow_files": ("lr", "0.1"),
    "mlflow_database": ("lr", "0.1"),
    "lightning": ("lr", 0.1),
    "transformers": ("learning_rate", 0.1),
}
"""Logger -> the name and value of a setting that it keeps."""


def logged(tmp_path: Path, logger: str) -> tuple[Path, dict[int, dict[str, Any]]]:
    """Logs of two seeds, and what went into them."""
    logs, truth = tmp_path / "logs", {}
    script = Path(__file__).with_name("real_loggers.py")
    for seed in SEEDS:
        done = subprocess.run(
            [sys.executable, str(script), logger, str(logs), str(seed)],
            env={**os.environ, **OFFLINE},
            capture_output=True,
            text=True,
            timeout=300,
            cwd=tmp_path,
        )
        assert done.returncode == 0, done.stderr[-2000:]
        truth[seed] = json.loads((tmp_path / f"{logger}-{seed}.json").read_text())
    return logs, truth


def runs(tmp_path: Path, logs: Path) -> list[LoggedRun]:
    return find_runs([logs], Asked(), tmp_path)[0]


@pytest.mark.parametrize("logger", LOGGERS)
def test_every_point_is_imported(tmp_path: Path, logger: str) -> None:
    logs, truth = logged(tmp_path, logger)
    kind: Any = np.float32 if logger in SINGLE else np.float64
    found = {}
    for run in runs(tmp_path, logs):
        seed = seed_of(run)
        found[seed] = run
        assert run.not_whole == ()
        if logger in CONFIGURED:
            name, value = CONFIGURED[logger]
            assert run.config[name] == value
        for tag, curve in truth[seed].items():
            read = points(run, tag)
            assert [step for step, _ in read] == [step for step, _ in curve]
            expected = [float(kind(value)) for _, value in curve]
            tolerance = 1e-5 if logger == "lightning" else 0  # it writes what torch prints
            assert [value for _, value in read] == pytest.approx(expected, rel=tolerance, abs=0)
    assert set(found) == set(SEEDS)
    out = run_import(tmp_path, [logs], "mapping: {loss: loss}\nconfiguration: {steps: null}")
    assert {record.seed for record in submitted(out).records} == set(SEEDS)
    settings = {setting["setting"]: setting["status"] for setting in protocol(out)["settings"]}
    assert set(settings.values()) <= {"equal", "absent"}


def test_tensorboard_reads_the_same_points(tmp_path: Path) -> None:
    """Its own loader of events, not the one that samples, agrees with ours."""
    from tensorboard.backend.event_processing.event_file_loader import EventFileLoader
    from tensorboard.util import tensor_util

    logs, _ = logged(tmp_path, "tensorboard")
    for run in runs(tmp_path, logs):
        theirs: dict[str, list[tuple[int, float]]] = {}
        for file in run.files:
            for event in EventFileLoader(str(file)).Load():
                for value in event.summary.value:
                    if value.metadata.plugin_data.plugin_name == "scalars":
                        number = float(tensor_util.make_ndarray(value.tensor))
                        theirs.setdefault(value.tag, []).append((event.step, number))
        assert {tag: points(run, tag) for tag in run.curves} == theirs
