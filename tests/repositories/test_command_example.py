"""The example of docs/command.md: its claims are judged, also when the run is killed half-way."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest
from outsiders import EXAMPLE, ROOT, outsider, run

from reproaudit.audit.catalog import Catalog
from reproaudit.audit.loading import load_audit
from reproaudit.cell import Cell
from reproaudit.records import CellStatus, Record
from reproaudit.running.executors import Limits
from reproaudit.running.run import run_cells
from reproaudit.running.store import Store
from walkthroughs import blocks, light_environment, run_page

SECONDS = 120.0


def finished(store: Path) -> list[Path]:
    return [one for one in store.rglob("*.json") if not one.name.endswith(".failed.json")]


def numbers(store: Path) -> dict[tuple[str, int], list[float]]:
    """The measured numbers of every finished record, by settings and seed."""
    found: dict[tuple[str, int], list[float]] = {}
    for record in Store(store).records("soudry2018", "quick"):
        values = [one.values for _, one in sorted(record.measurements.series.items())]
        found[str(sorted(record.settings.items())), record.seed] = np.concatenate(values).tolist()
    return found


def test_the_page_does_what_it_shows_and_a_killed_run_goes_on(
    tmp_path: Path,
) -> None:
    """In an environment that has no torch."""
    light = light_environment(tmp_path / "light")
    environment = {**light, "REPROAUDIT_CACHE": str(tmp_path / "cache"), "PYTHONUNBUFFERED": "1"}
    environment.pop("REPROAUDIT_TRUST", None)
    shutil.copytree(EXAMPLE, tmp_path / "examples" / "command")
    (tmp_path / "docs" / "tutorial").mkdir(parents=True)
    shutil.copy(ROOT / "docs" / "tutorial" / "soudry2018.yaml", tmp_path / "docs" / "tutorial")
    ran = run_page("command.md", tmp_path, environment, str.strip)
    assert [code for _, code, _ in ran] == [0] * 6
    command, *_ = ran[-1]
    assert len(finished(tmp_path / "runs")) == 15

    words = shlex.split(command)[1:]
    again = [sys.executable, "-m", "reproaudit", *words, "--store", "killed", "--jobs", "1"]
    process = subprocess.Popen(
        again,
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    deadline = time.monotonic() + SECONDS
    while len(finished(tmp_path / "killed")) < 3:
        assert process.poll() is None, process.stderr.read() if process.stderr else ""
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait(SECONDS)
    done = len(finished(tmp_path / "killed"))
    assert 3 <= done < 15
    shutil.move(tmp_path / "separable", tmp_path / "gone")  # what was fetched is enough
    ended = subprocess.run(
        again, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=SECONDS
    )
    assert ended.returncode == 0, ended.stderr
    have = int(re.search(r"15 cells, (\d+) have records already", ended.stderr)[1])  # type: ignore[index]
    assert done <= have < 15
    assert "We tested 2 of 3 listed claims" in ended.stdout
    assert len(re.findall(r"^  ✓ ", ended.stdout, re.MULTILINE)) == 2
    assert numbers(tmp_path / "killed") == numbers(tmp_path / "runs")


def test_the_run_file_of_the_page_is_the_files() -> None:
    (shown,) = blocks("command.md", "yaml")
    assert shown == (EXAMPLE / "soudry2018.run.yaml").read_text(encoding="utf-8")


# --- where cells are computed ---------------------------------------------------------------------


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REPROAUDIT_CACHE", str(tmp_path / "cache"))


def cells_of(folder: Path, seeds: range) -> list[Cell]:
    audit = load_audit(folder / "audits" / "soudry2018.yaml")
    values = audit.values_of("separable", "smoke")
    return [Cell("soudry2018", "smoke", "separable", values, seed) for seed in seeds]


@pytest.mark.slow
@pytest.mark.usefixtures("cache")
def test_a_cell_over_its_limit_takes_its_command_along(tmp_path: Path) -> None:
    noted = tmp_path / "pid"
    script = f"import os, time\nopen({str(noted)!r}, 'w').write(str(os.getpid()))\ntime.sleep(90)\n"
    outsider(tmp_path, {"log.py": script})
    store = Store(tmp_path / "runs")
    limits = Limits(seconds=5.0)
    run_cells(cells_of(tmp_path, range(1)), Catalog(tmp_path / "audits").locate, store,
              limits=limits)  # fmt: skip
    (record,) = store.records("soudry2018", "smoke")
    assert record.error == "it took longer than 5 s (--cell-timeout)"
    deadline = time.monotonic() + 20
    while noted.exists() and _is_running(int(noted.read_text())):
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.slow
@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize(
    "number", [signal.SIGINT, signal.SIGKILL, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)]
)
def test_the_end_of_a_run_is_the_end_of_its_command(tmp_path: Path, number: signal.Signals) -> None:
    noted, scratch = tmp_path / "pid", Path(tempfile.mkdtemp())  # short: sockets lie there
    script = f"import os, time\nopen({str(noted)!r}, 'w').write(str(os.getpid()))\ntime.sleep(90)\n"
    outsider(tmp_path, {"log.py": script})
    where = ["--audits", "audits", "--store", "runs", "--tier", "smoke", "--seeds", "0"]
    process = subprocess.Popen(
        [sys.executable, "-m", "reproaudit", "run", "soudry2018", *where, "--trust"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "TMPDIR": str(scratch)},
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + SECONDS
    while not (noted.exists() and noted.read_text()):
        assert process.poll() is None, process.stderr.read() if process.stderr else ""
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(number)
    errors = process.communicate(timeout=SECONDS)[1]
    assert process.returncode == (-9 if number == signal.SIGKILL else 130), errors
    while _is_running(int(noted.read_text())) or list(scratch.glob("reproaudit-*")):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    shutil.rmtree(scratch, ignore_errors=True)


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.slow
@pytest.mark.usefixtures("cache")
def test_a_cluster_gives_the_same_records_as_this_machine(tmp_path: Path) -> None:
    pytest.importorskip("distributed", reason="the optional package 'distributed' is not installed")
    from reproaudit.running.dask_cluster import DaskCluster
    from test_dask import Cluster

    outsider(tmp_path)
    here = run(tmp_path, (0, 1))
    cluster = Cluster(tmp_path / "cluster")
    store = Store(tmp_path / "elsewhere")
    try:
        cluster.scheduler()
        cluster.worker("one")
        locate = Catalog(tmp_path / "audits").locate
        executor = DaskCluster(cluster.address, "cpu")
        run_cells(cells_of(tmp_path, range(2)), locate, store, executor=executor)
    finally:
        for process in cluster.processes.values():
            process.kill()
            process.wait()
    found: dict[int, Record] = {one.seed: one for one in store.records("soudry2018", "smoke")}
    assert {one.status for one in found.values()} == {CellStatus.COMPLETED}
    for seed, record in found.items():
        assert record.fingerprint == here[seed].fingerprint
        assert record.measurements.model_dump_json() == here[seed].measurements.model_dump_json()
