"""How alike two runs of one cell are, for tests that hold the plain form against the fast one."""

from __future__ import annotations

from typing import Any

import numpy as np

from reproaudit.records import Measurements


def numbers(measured: Measurements) -> dict[str, Any]:
    """Every number that was measured, by name; of a series the steps, too."""
    found: dict[str, Any] = {name: np.array(one) for name, one in measured.scalars.items()}
    for name, series in measured.series.items():
        found |= {name: series.values, f"steps of {name}": np.array(series.steps)}
    return {**found, **measured.arrays}


def close(one: Measurements, other: Measurements, *, rtol: float, atol: float = 1e-12) -> None:
    """Asserts that all numbers agree, each within a share of its measurement's largest value."""
    first, second = numbers(one), numbers(other)
    assert first.keys() == second.keys()
    for name, values in first.items():
        expected = second[name]
        assert values.shape == expected.shape, name
        largest = float(np.abs(expected).max(initial=0.0))
        apart = float(np.abs(values - expected).max(initial=0.0))
        assert apart <= rtol * largest + atol, f"{name}: {apart:.3g} apart, of up to {largest:.3g}"
