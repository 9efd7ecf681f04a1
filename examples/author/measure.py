"""Trains every run that the audit's claims need, and writes what was measured."""

from __future__ import annotations

import sys
from datetime import date
from typing import Any

from train import train

import reproaudit

SEEDS = range(5)
ARMS: list[dict[str, Any]] = [{}, {"loss": "squared"}, {"weights": "constructed"}]


def measured(seed: int, settings: dict[str, Any]) -> dict[str, Any]:
    """What the audit declares of one run: two series over training steps."""
    log = train(seed, **settings)
    return {"norm": (log["step"], log["norm"]), "cosine": (log["step"], log["cosine"])}


if __name__ == "__main__":
    runs = [
        reproaudit.MeasuredRuns(
            "separable", {seed: measured(seed, settings) for seed in SEEDS}, settings
        )
        for settings in ARMS
    ]
    made = reproaudit.Origin(
        who="the authors", source="this repository", framework="NumPy", made=date.today()
    )
    try:
        folder = reproaudit.write_measurements(
            "measurements", "audits/soudry2018.yaml", runs, origin=made, tier="quick", replace=True
        )
    except reproaudit.AuditError as error:
        sys.exit(str(error))
    print(f"wrote {folder}")
