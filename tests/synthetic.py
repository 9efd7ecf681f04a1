"""Runs of a few numbers, made up in memory, and the checks that are put to them."""

import json
from typing import Any

import numpy as np
from benchmarks.calibrate import CHECK

from reproaudit.checks import Kind, Run
from reproaudit.declarations import Axis, Declaration, MeasurementKind
from reproaudit.records import Measurements, Series

PAPER = {"from": "paper"}
OURS = {"from": "ours", "why": "It is enough."}
SIZES = (8, 16, 32)


def check(kind: str, **fields: Any) -> Kind:
    return CHECK.validate_json(json.dumps({"kind": kind, **fields}))


def run(steps: Any = (0, 1, 2), sizes: Any = SIZES, **values: Any) -> Run:
    """A run: a number is a scalar, a tuple an array over sizes, a list a series, of tuples one over
    sizes."""
    measured, declared = Measurements(), {}
    for name, value in values.items():
        kind, axes = MeasurementKind.SCALAR, (Axis(name="size", values=sizes),)
        if isinstance(value, tuple):
            kind, measured.arrays[name] = MeasurementKind.ARRAY, np.array(value, float)
        elif isinstance(value, float | int):
            measured.scalars[name], axes = value, ()  # type: ignore[assignment]
        else:
            kind, series = MeasurementKind.SERIES, Series(steps=steps, values=value)
            measured.series[name], axes = series, axes[: series.values.ndim - 1]
        declared[name] = Declaration(kind=kind, axes=axes, unit="1", meaning="Synthetic.")
    return Run(0, measured, declared, {})
