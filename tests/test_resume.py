"""Commands that are killed again and again come to what nobody disturbed."""

import json
import os
import random
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from miniatures import program, run_program, write_paper

COMMANDS = ("run", "multiverse", "report", "verify")
PAUSE = {"value": 0.004, "source": "paper", "locator": "Section 4"}


def arguments(command: str, folder: Path) -> list[str]:
    pages = [] if command == "verify" else ["--out", str(folder / "reports")]
    trust = ["--trust"] if command in ("run", "multiverse") else []
    audits = str(folder.parent / "audits")
    return [command, "mini", "--audits", audits, "--store", str(folder / "runs"), *pages, *trust]


def scorecard(folder: Path) -> dict[str, Any]:
    """The scorecard, less when and how long."""
    file = folder / "reports" / "quick" / "mini" / "scorecard.json"
    card: dict[str, Any] = json.loads(file.read_text())
    for name in ("seconds", "started", "last", "ended"):
        card["records"].pop(name, None)
    return card


@pytest.mark.slow
def test_fifty_kills_over_run_multiverse_report_and_verify(tmp_path):
    """Whatever is killed, and when: nothing is damaged."""
    write_paper(tmp_path / "audits", settings={"pause": PAUSE})
    calm, rough = tmp_path / "calm", tmp_path / "rough"
    moments = random.Random(1971)
    lasts = {}
    for command in (*COMMANDS, *COMMANDS):  # the second time it computes nothing
        began = time.monotonic()
        code, _, errors = run_program(arguments(command, calm))
        lasts[command] = time.monotonic() - began
        assert code == 0, errors
    killed = dict.fromkeys(COMMANDS, 0)
    for attempt in range(50):
        command = COMMANDS[attempt % 4] if attempt > 4 else "run"
        process = program(*arguments(command, rough), start_new_session=True)
        time.sleep(moments.uniform(0.0, lasts[command]))
        running = process.poll() is None
        os.killpg(process.pid, signal.SIGKILL) if running else None
        process.communicate(timeout=60)
        killed[command] += running
    assert min(killed.values()) > 1, f"each command is met at work: {killed}"
    for command in COMMANDS:
        code, _, errors = run_program(arguments(command, rough))
        assert code == 0, errors
    assert scorecard(rough) == scorecard(calm)
