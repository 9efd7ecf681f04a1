"""Folders with a paper in miniature: its audit, made to measure, beside its module."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import yaml

import reproaudit
from reproaudit.audit.model import VariableName

MODULE = Path(__file__).parent / "miniature" / "mini.py"
SOURCES = Path(reproaudit.__file__).parent.parent
ENVIRONMENT = {
    **os.environ,
    "REPROAUDIT_TRUST": "1",
    "PYTHONPATH": str(SOURCES),
    "MINI_CHECKPOINT_SECONDS": "0.02",
    "COLUMNS": "80",
}


def variables() -> list[dict[str, Any]]:
    return [
        {
            "name": name.value,
            "card": {"result": _RESULTS.get(name, "No"), "as_of": "2025-03-01"},
            "evidence": [{"statement": f"What is said of {name.lower()}.", "locator": "Section 4"}],
        }
        for name in VariableName
    ]


_RESULTS = {
    VariableName.RESEARCH_TYPE: "Theoretical",
    VariableName.RESEARCHER_AFFILIATION: "Academia",
    VariableName.OPEN_SOURCE_CODE: "Yes",
    VariableName.EXPERIMENT_SETUP: "Yes",
}


def setting(value: Any, **more: Any) -> dict[str, Any]:
    return {"value": value, "source": "paper", "locator": "Section 4", **more}


def claim(slug: str, name: str, **changes: Any) -> dict[str, Any]:
    """The distance ends at 0.1 or below; its null stays at 0.8, the built solution at 0.001."""
    return {
        "id": f"{slug}.{name}",
        "says": f"The distance vanishes ({name}).",
        "short": "the distance vanishes",
        "locator": "Figure 1",
        "experiment": "descent",
        "headline": [aligns(0.1)],
        "nulls": ["stays"],
        "constructed": "built",
        **changes,
    }


def aligns(at_most: float) -> dict[str, Any]:
    return {"kind": "aligns", "distance": "distance", "at_most": at_most, "from": "paper"}


def control(level: float = 0.8, **settings: Any) -> dict[str, Any]:
    return {"settings": {"level": level, **settings}, "why": f"ends at {level}"}


def audit_data(slug: str = "mini", **changes: Any) -> dict[str, Any]:
    """An audit with a claim for every outcome that complete runs can have."""
    guess = {"value": 0.05, "source": "assumption", "why": "Small.", "alternatives": [0.04, 0.3]}
    measured = {
        "distance": {"kind": "series", "unit": "1", "meaning": "How far it is."},
        "final": {"kind": "scalar", "unit": "1", "meaning": "How far it is in the end."},
    }
    data = {
        "schema_version": 2,
        "paper": {
            "slug": slug,
            "title": f"The paper {slug}",
            "authors": ["Ada Example"],
            "venue": "Toys",
            "year": 2023,
        },
        "runs": {"quick": 5, "paper": 6, "arms": 5},
        "variables": variables(),
        "settings": {
            "level": setting(0.02),
            "outcome": setting("completes"),
            "steps": setting(40, smoke={"value": 5, "reason": "It runs."}),
            "pause": setting(0.0),
        },
        "experiments": {
            "descent": {"title": "It descends", "measurements": measured},
            "guessed": {
                "title": "It descends from a guess",
                "settings": {"level": guess},
                "measurements": measured,
            },
        },
        "arms": {"stays": control(0.8), "built": control(0.001), "low": control(0.03)},
        "claims": [
            claim(slug, "supported", main=True),
            claim(slug, "contradicted", headline=[aligns(0.002)]),
            claim(slug, "guessed", experiment="guessed"),
            claim(slug, "vacuous", nulls=["low"]),
        ],
    }
    return {**data, **changes}


class _NoAliases(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


def write_paper(folder: Path, slug: str = "mini", **changes: Any) -> Path:
    """A folder for --audits, with this paper in it.

    Args:
        folder: where.
        slug: of the paper.
        changes: to the audit; ``settings`` are merged into its own.
    """
    folder.mkdir(parents=True, exist_ok=True)
    data = audit_data(slug)
    settings = {**data["settings"], **changes.pop("settings", {})}
    plain = json.loads(json.dumps({**data, "settings": settings, **changes}))  # no enumerations
    text = yaml.dump(plain, Dumper=_NoAliases, sort_keys=False)
    (folder / f"{slug}.yaml").write_text(text, encoding="utf-8")
    shutil.copy(MODULE, folder / f"{slug}.py")
    return folder


def program(*arguments: str, cwd: Path | None = None, **more: Any) -> subprocess.Popen[str]:
    """The command line as a program of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "reproaudit", *arguments],
        stdout=more.pop("stdout", subprocess.PIPE),
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
        env={**ENVIRONMENT, **more.pop("env", {})},
        **more,
    )


def finish(process: subprocess.Popen[str], timeout: float = 300) -> tuple[int, str, str]:
    """Exit code, output and errors; never a traceback."""
    try:
        out, errors = process.communicate(timeout=timeout)
    except BaseException:
        process.kill()  # it shall not outlive the test
        raise
    assert "Traceback" not in errors, errors
    return process.returncode, out or "", errors


def run_program(arguments: Sequence[str], cwd: Path | None = None) -> tuple[int, str, str]:
    return finish(program(*arguments, cwd=cwd))


def until(happened: Callable[[], object], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


def git(folder: Path, *words: str, **environment: str) -> str:
    """What git prints in a folder, where somebody whom no machine need know commits."""
    who = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    command = ["git", "-C", str(folder), *who, *words]
    env = {**os.environ, **environment}
    return subprocess.check_output(command, env=env, text=True, stderr=subprocess.PIPE).strip()
