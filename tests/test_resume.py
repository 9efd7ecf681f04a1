"""A run that is killed again and again comes to the scorecard of one that nobody disturbs."""

from __future__ import annotations

import json
import random
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
    for record in card["records"]:
        del record["started"], record["seconds"]
    del card["digest"], card["store_root"]  # of records with their times
    del card["environment"]["seconds"], card["environment"]["revision"]  # one may commit meanwhile
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
                quick = group[name]["quick"]
                quick["value"] = max(1, quick["value"] // 20)
    text = yaml.safe_dump(data, sort_keys=False, allow_unicode=True)
    (folder / "ahn2023.yaml").write_text(text, encoding="utf-8")
    (folder / "ahn2023.py").write_text(
        "from reproaudit import training\n"
        "from reproaudit.papers.ahn2023 import EXPERIMENTS\n"
        "training.CHECKPOINT_SECONDS = 0.05\n"
        "__all__ = ['EXPERIMENTS']\n"
    )
    return folder


@pytest.mark.slow
def test_ahn2023_killed_ten_times(tmp_path: Path) -> None:
    audits = shortened(tmp_path / "audits")
    killed_and_resumed(audits, tmp_path, "ahn2023", kills=10, longest=1.5)
