"""All shapes, of every kind."""

from __future__ import annotations

from benchmarks.calibrate import courses, levels, skewed

NULLS = [*levels.NULLS, *skewed.NULLS, *courses.NULLS]
PHENOMENA = [*levels.PHENOMENA, *courses.PHENOMENA]
FEW_RUNS = skewed.FEW_RUNS
"""Laws of which so few runs cannot tell whether the mean is beyond the limit."""
