"""A run that is killed again and again comes to the scorecard of one that nobody disturbs."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from miniatures import finish, program, run_program, write_paper
from reproaudit.audit.catalog import shipped_audits

PAUSE = {"value": 0.004, "source": "paper", "locator": "Section 4"}


def scorecard(audits: Path, store: Path, slug: str, out: Path) -> dict[str, Any]:
    """What `reproaudit report` writes, less when, how long and in which state of the checkout."""
    arguments = ["--audits", str(audits), "--store", str(store), "--out", str(out)]
    code, _, errors = run_program(["report", slug, *arguments, "--format", "json"])
    assert code == 0, errors
    card: dict[str, Any] = json.loads((out / "quick" / slug / "scorecard.json").read_text())
    for name in ("hours", "seconds", "started", "ended"):
        del card["records"][name]
    return card


def traces(store: Path) -> dict[Path, int]:
    """Every file of a store with its time."""
    found = {}
    for file in store.rglob("*"):
        try:
            found[file] = file.stat().st_mtime_ns
        except FileNotFoundError:
            continue  # a checkpoint that has just been replaced
    return found


def kill_while_it_works(arguments: list[str], store: Path, moment: float) -> bool:
    """Kills a run some seconds after it has written something; False if it ended before."""
    before = traces(store)
    process = program(*arguments)
    deadline = time.monotonic() + 120
    while process.poll() is None and traces(store) == before:
        assert time.monotonic() < deadline, "the run wrote nothing"
        time.sleep(0.01)
    time.sleep(moment)
    process.kill()
    finish(process)
    return process.returncode != 0


def killed_and_resumed(audits: Path, folder: Path, slug: str, kills: int, longest: float) -> None:
    moments = random.Random()  # anew at each run of the suite: any moment must do
    calm, rough = folder / "calm", folder / "rough"
    run = ["run", slug, "--audits", str(audits), "--store"]
    for attempt in range(kills):
        moment = moments.uniform(0.0, longest)
        assert kill_while_it_works([*run, str(rough)], rough, moment), f"attempt {attempt}"
    for store in (rough, calm):
        code, _, errors = run_program([*run, str(store)])
        assert code == 0, errors
    disturbed = scorecard(audits, rough, slug, folder / "a")
    undisturbed = scorecard(audits, calm, slug, folder / "b")
    assert disturbed == undisturbed
    assert undisturbed["records"]
    assert {c["verdict"] for c in undisturbed["claims"]}.isdisjoint(
        {"not_tested", "technical_failure"}
    )


@pytest.mark.slow
def test_a_miniature_killed_twice(tmp_path: Path) -> None:
    audits = write_paper(tmp_path / "audits", settings={"pause": PAUSE})
    killed_and_resumed(audits, tmp_path, "mini", kills=2, longest=0.5)


def shortened(folder: Path) -> Path:
    """ahn2023 with its quick tier cut to a twentieth of the steps and of the prompts."""
    folder.mkdir()
    data = yaml.safe_load((shipped_audits() / "ahn2023.yaml").read_text(encoding="utf-8"))
    settings = [data["settings"], *(one["settings"] for one in data["experiments"].values())]
    for group in settings:
        for name in ("steps", "halve_every", "prompts", "test_prompts", "validation_prompts"):
            if name in group:
                whole = {"value": group[name]["value"], "reason": "As at full scale."}
                quick = group[name].setdefault("quick", whole)
                quick["value"] = max(1, quick["value"] // 20)
    text = yaml.safe_dump(data, sort_keys=False, allow_unicode=True)
    (folder / "ahn2023.yaml").write_text(text, encoding="utf-8")
    (folder / "ahn2023.py").write_text(
        "from reproaudit.lab import training\n"
        "from reproaudit.papers.ahn2023 import EXPERIMENTS\n"
        "training.CHECKPOINT_SECONDS = 0.05\n"
        "__all__ = ['EXPERIMENTS']\n"
    )
    return folder


@pytest.mark.slow
def test_ahn2023_killed_ten_times(tmp_path: Path) -> None:
    audits = shortened(tmp_path / "audits")
    killed_and_resumed(audits, tmp_path, "ahn2023", kills=10, longest=1.5)


@pytest.mark.slow
def test_fifty_kills_over_run_multiverse_report_and_verify(tmp_path: Path) -> None:
    """Whatever is killed, and when: the end is what nobody disturbed, and nothing is damaged."""
    audits = write_paper(tmp_path / "audits", settings={"pause": PAUSE})
    moments = random.Random(1971)
    commands = ("run", "multiverse", "report", "verify")

    def arguments(command: str, place: str) -> list[str]:
        store, out = str(tmp_path / place / "runs"), str(tmp_path / place / "reports")
        more = {
            "run": ["--trust"],
            "multiverse": ["--trust", "--out", out],
            "report": ["--out", out],
        }
        return [command, "mini", "--audits", str(audits), "--store", store, *more.get(command, [])]

    lasts = {}
    for command in commands:
        began = time.monotonic()
        code, _, errors = run_program(arguments(command, "calm"))
        lasts[command] = time.monotonic() - began
        assert code == 0, errors
    killed = dict.fromkeys(commands, 0)
    for attempt in range(50):
        command = commands[attempt % 4] if attempt > 4 else "run"
        process = program(*arguments(command, "rough"), start_new_session=True)
        time.sleep(moments.uniform(0.0, lasts[command]))
        running = process.poll() is None
        os.killpg(process.pid, signal.SIGKILL) if running else None
        process.communicate(timeout=60)
        killed[command] += running
    assert min(killed.values()) > 1, f"each command is met at work: {killed}"
    for command in commands:
        code, _, errors = run_program(arguments(command, "rough"))
        assert code == 0, errors
    found = [
        scorecard(audits, tmp_path / place / "runs", "mini", tmp_path / place / "again")
        for place in ("rough", "calm")
    ]
    assert found[0] == found[1]
    answers = [
        json.loads((tmp_path / place / "reports/quick/mini/multiverse.json").read_text())["claims"]
        for place in ("rough", "calm")
    ]
    assert answers[0] == answers[1]
