"""Folders with a paper in miniature: its audit, made to measure, beside its module."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

import reproaudit
from factories import variables

MODULE = Path(__file__).parent / "miniature" / "mini.py"
SOURCES = Path(reproaudit.__file__).parent.parent
ENVIRONMENT = {
    **os.environ,
    "REPROAUDIT_TRUST": "1",
    "PYTHONPATH": str(SOURCES),
    "MINI_CHECKPOINT_SECONDS": "0.02",
    "COLUMNS": "80",
}


def setting(value: Any, **more: Any) -> dict[str, Any]:
    return {"value": value, "source": "paper", "locator": "Section 4", **more}


def claim(slug: str, name: str, **changes: Any) -> dict[str, Any]:
    """The distance ends at 0.1 or below; its control stays at 0.8, the built one at 0.001."""
    return {
        "id": f"{slug}.{name}",
        "statement": f"The distance vanishes ({name}).",
        "locator": "Figure 1",
        "weight": 0.5,
        "experiment": "descent",
        "checks": [
            {
                "kind": "aligns",
                "name": "distance",
                "distance": {"measurement": "distance"},
                "at_most": 0.1,
                "reason": "A tenth of the distance at the start.",
            }
        ],
        "controls": [control(0.8)],
        "positive_control": control(0.001),
        **changes,
    }


def control(level: float = 0.8, **settings: Any) -> dict[str, Any]:
    return {
        "experiment": "descent",
        "settings": {"level": level, **settings},
        "why": f"ends at {level}",
    }


def audit_data(slug: str = "mini", **changes: Any) -> dict[str, Any]:
    """An audit with a claim for every verdict, but for a technical failure."""
    tight = claim(slug, "contradicted")
    tight["checks"][0]["at_most"] = 0.002
    guess = {
        "value": 0.5,
        "source": "assumption",
        "why": "About half.",
        "alternatives": [0.4, 0.6],
    }
    measured = {
        "distance": {"kind": "series", "unit": "1", "meaning": "How far it is."},
        "final": {"kind": "scalar", "unit": "1", "meaning": "How far it is in the end."},
    }
    data = {
        "schema_version": 1,
        "paper": {
            "slug": slug,
            "title": f"The paper {slug}",
            "authors": ["Ada Example"],
            "venue": "Toys",
            "year": 2023,
        },
        "seeds": {"smoke": [0], "quick": [0, 1, 2, 3, 4], "paper": [0, 1, 2, 3, 4, 5]},
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
        "claims": [
            claim(slug, "supported"),
            tight,
            claim(slug, "inconclusive", experiment="guessed"),
            claim(slug, "vacuous", controls=[control(0.03)]),
        ],
        "figures": [
            {
                "id": "distance",
                "kind": "curves",
                "experiment": "descent",
                "measurements": ["distance"],
                "title": "It falls",
                "log": True,
            }
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
