"""A small audit with curves, axes and scalars, and logs of runs that it can be held against."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

import factories
import miniatures
from reproaudit.audit.model import Audit
from reproaudit.errors import AuditError
from reproaudit.intake.reading import Submission, read_submission
from reproaudit.logs.logged import LogError, LoggedRun
from reproaudit.service.judge import import_folder

SEEDS = (0, 1, 2, 3, 4)
STEPS = tuple(range(0, 101, 10))


def _measured(kind: str, *axes: dict[str, Any]) -> dict[str, Any]:
    return {"kind": kind, "axes": list(axes), "unit": "1", "meaning": "As the paper has it."}


LAYER = {"name": "layer", "values": [1, 2]}
CLAIM = miniatures.claim(
    "mini",
    "converges",
    main=True,
    experiment="training",
    headline=[
        {
            "kind": "converges",
            "loss": "loss",
            "falls": {"at_least": 10.0, "from": "paper"},
            "flattens": {"at_most": 0.05, "from": "ours", "why": "A twentieth."},
        }
    ],
    nulls=["none"],
    constructed="constructed",
)
AUDIT: Audit = factories.make_audit(
    settings={
        "mechanism": miniatures.setting("full"),
        "width": miniatures.setting(64),
        "step_size": miniatures.setting(0.1),
        "steps": miniatures.setting(100),
        "warm_up": miniatures.setting(True),
        "sizes": miniatures.setting([1, 2]),
        "init_scale": {
            "value": 1.0,
            "source": "assumption",
            "why": "A usual scale.",
            "alternatives": [0.5, 2.0],
        },
    },
    experiments={
        "training": {
            "title": "Trains",
            "settings": {},
            "measurements": {
                "loss": _measured("series"),
                "layer_loss": _measured("series", LAYER),
                "accuracy": _measured("scalar"),
                "norm": _measured("array", LAYER),
            },
        }
    },
    arms={
        "none": {"settings": {"mechanism": "none"}, "why": "lacks the mechanism"},
        "constructed": {"settings": {"mechanism": "constructed"}, "why": "set by hand"},
    },
    claims=[CLAIM],
)


def falling(seed: int, level: float = 2.0**-7) -> list[tuple[int, float]]:
    """A loss that falls to a level; exact in single precision."""
    return [(s, max(level, 2.0 ** -(s // 10)) + 2.0**-12 * (seed + 1)) for s in STEPS]


def run_import(folder: Path, logs: Iterable[Path], mapping: str | None = None, **more: Any) -> Path:
    """Imports into a new folder; returns it."""
    out = folder / "imported"
    file = None
    if mapping is not None:
        file = folder / "mapping.yaml"
        file.write_text(mapping)
    imported = import_folder(AUDIT, list(logs), out, file, **more)
    names = ("ignored_runs", "skipped", "settings", "lines")
    data = {name: getattr(imported, name) for name in names}
    out.with_suffix(".json").write_text(json.dumps(data))
    return out


def refused_although(
    folder: Path, logs: Path, message: str, mapping: str | None = None, **more: Any
) -> list[str]:
    """Tries every way on that a refusal writes out; returns those after which it is the same."""
    useless = []
    for number, way in enumerate(re.findall(r"`([a-z]+: [^`]*)`", message)):
        before = yaml.safe_load(mapping or "") or {}
        stated = yaml.safe_load(way.replace("…", "nothing more was logged"))
        merged = {**before, **stated}
        merged["runs"] = [*stated.get("runs", []), *before.get("runs", [])]
        place = folder / f"way-{number}"
        place.mkdir()
        try:
            run_import(place, [logs], yaml.safe_dump(merged), **more)
        except AuditError as error:
            if str(error).splitlines()[0] == message.splitlines()[0]:
                useless.append(way)
    return useless


def submitted(out: Path) -> Submission:
    return read_submission(AUDIT, out)


def protocol(out: Path) -> dict[str, Any]:
    """What `import --json` prints."""
    found: dict[str, Any] = json.loads(out.with_suffix(".json").read_text())
    return found


def contradicting(out: Path) -> dict[str, Any]:
    """The settings that the logs state otherwise than the audit."""
    settings = protocol(out)["settings"]
    return {s["setting"]: s["found"] for s in settings if s["status"] == "contradicting"}


def points(run: LoggedRun, tag: str) -> list[tuple[int, float]]:
    (curve,) = run.curves[tag].values()
    assert curve.steps is not None
    return list(zip(curve.steps.tolist(), curve.values.tolist(), strict=True))


@contextmanager
def told_in_one_line() -> Iterator[None]:
    """Whatever is refused inside is refused in one line; nothing need be."""
    try:
        yield
    except LogError as error:
        if "\n" in str(error):
            raise AssertionError(f"more than one line: {error}") from error
