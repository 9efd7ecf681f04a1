"""A claim of one sentence, and the bundles of runs that answer it, written down run by run."""

from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from factories import answers_of, make_audit, make_record
from miniatures import aligns, claim, control, setting
from reproaudit.audit.model import Audit, TierName
from reproaudit.cell import Cell
from reproaudit.formats.verdict import ClaimAnswer
from reproaudit.judge import History
from reproaudit.records import Measurements, Record, Series

YES, NO, ALMOST = 0.02, 0.5, 0.15
"""Where a run ends that is below 0.1, above 0.2, and between the two."""

ROWS: Mapping[str, Sequence[Any]] = {
    "yes": [YES] * 15,
    "no": [NO] * 15,
    "near": [ALMOST] * 15,
    "open": [YES] * 8 + [NO] * 7,
    "ruled out": ["diverged"] * 8 + [YES] * 7,
    "unfinished": [YES] * 4,
    "blind": [YES] * 15,
}
"""Runs that answer so where the bound is 0.1 and ours; a blind reading's control passes, too."""

BEATS = {"kind": "beats", "lower": "distance", "upper": "distance@first", "from": "paper"}
AGAINST_LOW = {**BEATS, "upper": {"measurement": "distance", "arm": "low"}}

_SIZES = {"axes": [{"name": "size", "values": [1, 2]}], "unit": "1", "meaning": "How far, by size."}

MEASURED = {
    "distance": {"kind": "series", "unit": "1", "meaning": "How far it is."},
    "loss": {"kind": "series", "unit": "1", "meaning": "What is trained."},
    "final": {"kind": "scalar", "unit": "1", "meaning": "Where it ends.", "range": [0, 0.7]},
    "by_size": {"kind": "array", **_SIZES},
    "course_by_size": {"kind": "series", **_SIZES},
}


def ours(at_most: float = 0.1, measurement: str = "distance") -> dict[str, Any]:
    """A bound of ours."""
    return {**aligns(at_most), "distance": measurement, "from": "ours", "why": "It is enough."}


def read_as(*values: Any, **more: Any) -> dict[str, Any]:
    """A setting of 40 with other values that the authors' code has."""
    stated = [{"value": v, "source": "authors_code", "locator": "L. 1", **more} for v in values]
    return setting(40, readings=stated)


def guess(*alternatives: float, **more: Any) -> dict[str, Any]:
    """A guess of 0 with alternatives."""
    why = {"source": "assumption", "why": "About that."}
    return {"value": 0.0, **why, "alternatives": alternatives, **more}


def one_claim(steps: Any = None, pause: Any = None, level: Any = None, **changes: Any) -> Audit:
    """An audit of one claim with a bound of ours, a control and a positive control."""
    settings = {"level": level or setting(0.02), "steps": steps or setting(40)}
    settings |= {"pause": pause or setting(0.0), "outcome": setting("completes")}
    readings = ["steps"] if steps and "readings" in steps else []
    made = {"headline": [ours()], "readings": readings, "main": True, **changes}
    return make_audit(
        claims=[claim("mini", "one", **made)],
        arms={"stays": control(0.8), "built": control(0.001), "low": control(0.03)},
        settings=settings,
        experiments={
            "descent": {"title": "It descends", "measurements": MEASURED, "training_loss": "loss"}
        },
    )


def measured(row: Any, seed: int) -> Measurements:
    """What a run measured: it ends at a number, of a tuple by size; of a list, its loss so."""
    if isinstance(row, Measurements):
        return row
    end = row if isinstance(row, float | int) else YES
    loss = row if isinstance(row, list) else [1.0, 1.0]
    return Measurements(
        scalars={"final": min(max(end, 0.0), 0.7)},
        series={
            "distance": Series(steps=(0, 5, 10), values=[1.0, end, end]),
            "loss": Series(steps=(0, 10), values=loss),
        },
        arrays={"by_size": row if isinstance(row, tuple) else (end, end)},
    )


def records_of(
    audit: Audit, runs: Mapping[str, Sequence[Any]], tier: TierName = "paper", **changes: Any
) -> list[Record]:
    """The records of arms, by `own`, an arm's name, `setting=value`, or these joined by slashes.

    A row is a run, whose seed is its place: see `measured`; text is a status, None no record.
    """
    records = []
    for name, rows in runs.items():
        settings: dict[str, Any] = {}
        for part in name.split("/"):
            if part in audit.arms:
                settings |= audit.arms[part].settings
            elif part != "own":
                key, _, value = part.partition("=")
                settings[key] = yaml.safe_load(value)
        values = audit.values_of("descent", tier, settings)
        for seed, row in enumerate(rows):
            cell = Cell("mini", tier, "descent", values, seed)
            if isinstance(row, str):
                records.append(make_record(cell, status=row, **changes))
            elif row is not None:
                records.append(make_record(cell, measured(row, seed), **changes))
    return records


PLAIN: Mapping[str, Sequence[Any]] = {"own": ROWS["yes"], "stays": [0.8] * 5, "built": [0.001] * 5}
"""The arms of a claim that is supported."""


def ask(
    audit: Audit,
    runs: Mapping[str, Sequence[Any]] | None = None,
    tier: TierName = "paper",
    lower: Mapping[str, Sequence[Any]] | None = None,
    history: History | None = None,
    **changes: Any,
) -> ClaimAnswer:
    """The answer to the claim; runs add to those of `PLAIN`, `lower` are of the quick tier."""
    records = records_of(audit, {**PLAIN, **(runs or {})}, tier, **changes)
    below = None if lower is None else records_of(audit, {**PLAIN, **lower}, "quick")
    return answers_of(audit, records, tier, history, below)["one"]
