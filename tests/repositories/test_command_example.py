"""The example of docs/command.md: its claims are judged, also when the run is killed half-way."""

from __future__ import annotations

import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
from outsiders import EXAMPLE, ROOT
from test_command_processes import wait_for

from reproaudit.running.store import Store
from walkthroughs import blocks, light_environment, run_page

SECONDS = 60.0


def finished(store: Path) -> list[Path]:
    return [one for one in store.rglob("*.json") if not one.name.endswith(".failed.json")]


def numbers(store: Path) -> dict[tuple[str, int], list[float]]:
    """The measured numbers of every finished record, by settings and seed."""
    found: dict[tuple[str, int], list[float]] = {}
    for record in Store(store).records("soudry2018", "quick"):
        values = [one.values for _, one in sorted(record.measurements.series.items())]
        found[str(sorted(record.settings.items())), record.seed] = np.concatenate(values).tolist()
    return found


def test_the_page_does_what_it_shows_and_a_killed_run_goes_on(tmp_path: Path) -> None:
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
    wait_for(lambda: process.poll() is not None or len(finished(tmp_path / "killed")) >= 3, SECONDS)
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
    assert "The main claim holds" in ended.stdout
    assert len(re.findall(r"^  ✓ ", ended.stdout, re.MULTILINE)) == 2
    assert numbers(tmp_path / "killed") == numbers(tmp_path / "runs")


def test_the_run_file_of_the_page_is_the_files() -> None:
    (shown,) = blocks("command.md", "yaml")
    assert shown == (EXAMPLE / "soudry2018.run.yaml").read_text(encoding="utf-8")
