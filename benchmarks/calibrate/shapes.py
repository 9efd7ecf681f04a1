"""All shapes, of every kind."""

from __future__ import annotations

from benchmarks.calibrate import courses, levels, skewed

NULLS = [*levels.NULLS, *skewed.NULLS, *courses.NULLS]
PHENOMENA = [*levels.PHENOMENA, *courses.PHENOMENA]
NOT_EXCLUDED = [*skewed.FEW_RUNS, *courses.NOT_EXCLUDED]
"""Laws of which so few runs cannot tell whether the mean is beyond the limit."""
