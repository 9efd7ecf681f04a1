"""reproaudit: reproducibility audits of machine-learning papers that people run.

An audit (YAML) says what a paper claims, what it states and what it leaves out; an experiment
(Python) measures without seeing the claims; every run answers every claim; a scorecard shows what
holds, how sure that makes us, and why not surer.

The names below are the Python API (docs/api.md). They come from `reproaudit.api` and are imported
with their first use, so that `import reproaudit` costs nothing. Type checkers read them from the
stub beside this file: an import that they could see here would make the whole API a part of what
every paper computes with.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

__all__ = [
    "DEFAULT_FAIL_ON",
    "Audit",
    "AuditError",
    "CardError",
    "ClaimAnswer",
    "ConsentError",
    "Fault",
    "Level",
    "MeasuredRuns",
    "Measurements",
    "Origin",
    "Outcome",
    "PaperScorecard",
    "Scorecard",
    "Series",
    "SpecError",
    "StoreError",
    "TechnicalError",
    "UsageError",
    "find_faults",
    "judge_measurements",
    "open_audit",
    "open_scorecard",
    "paper_slugs",
    "run_paper",
    "write_measurements",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'reproaudit' has no attribute '{name}'")
    value = getattr(importlib.import_module("reproaudit.api"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
