"""Runs in containers share a store, and have equal process numbers."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import cells
from cells import cell, locate, numbers, unreadable
from reproaudit.run.cells import run_cells
from reproaudit.store.records import Store

ALONE = ("unshare", "--pid", "--fork", "--mount-proc")
RUNS = 4
SEEDS = 12
TIMEOUT = 300


@cache
def can_be_alone() -> bool:
    """Whether this user may start a process among whose numbers there is no other's."""
    if shutil.which(ALONE[0]) is None:
        return False
    return subprocess.run([*ALONE, "true"], capture_output=True).returncode == 0


def start_alone(store: Path) -> subprocess.Popen[str]:
    options = ["--experiment", "chance", "--seeds", str(SEEDS), "--pause", "0.002"]
    return subprocess.Popen(
        [*ALONE, sys.executable, cells.__file__, str(store), *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TOY_CHECKPOINT_SECONDS": "0.01"},
    )


@pytest.mark.parametrize("rounds", [1, pytest.param(10, marks=pytest.mark.slow)])
def test_four_containers_on_one_store_lose_nothing(tmp_path: Path, rounds: int) -> None:
    if not can_be_alone():
        pytest.skip("needs unshare, and the right to use it")
    calm = Store(tmp_path / "calm")
    wanted = [cell("chance", seed, pause=0.002) for seed in range(SEEDS)]
    run_cells(wanted, locate, calm, jobs=2)
    expected = numbers(calm)
    for number in range(rounds):
        store = Store(tmp_path / f"round {number}")
        runs = [start_alone(store.root) for _ in range(RUNS)]
        ended = [(*run.communicate(timeout=TIMEOUT), run.returncode) for run in runs]
        assert [code for _, _, code in ended] == [0] * RUNS, [errors for _, errors, _ in ended]
        assert sum(out.count("CellStarted") for out, _, _ in ended) == SEEDS
        assert unreadable(store) == []
        assert numbers(store) == expected
        listed = store.listed("toy2020", "quick")
        assert (len(listed), set(listed.values())) == (SEEDS, {True})
        left = {path.suffix for path in store.root.rglob("[!.]*") if path.is_file()}
        assert left - {".toy2020"} == {".json", ".log", ".data"}, "beside the note on memory"
