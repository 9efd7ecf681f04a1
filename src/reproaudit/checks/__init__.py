"""The kinds of check: few, general, and named for phenomena.

A check is a pure function of measurements. It takes one number per seed out of the measurements,
and the statistics of `reproaudit.stats` decide: *met* when the whole interval lies on the claimed
side of the bound and few enough runs on the other, *missed* when the whole interval lies on the
other side and few enough runs on the claimed one, *undecided* otherwise. A check knows neither the
paper nor the experiment, and it is itself tested: on synthetic trajectories with the phenomenon
present, absent and borderline, and, in every audit, on a control that lacks the claimed mechanism.

Each kind names the numbers that it takes (`conditions`). Most have one condition; a kind with
several (`converges`: falls, and settles) is met if all are met.

To add a kind, write one module with a subclass of `kind.Kind`, and name it in `Check` below.
`deciding` turns checks and measurements into the results of conditions and parts.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from reproaudit.checks.aligns import Aligns
from reproaudit.checks.concentrates import Concentrates
from reproaudit.checks.converges import Converges
from reproaudit.checks.deciding import (
    ConditionResult,
    PartResult,
    all_quantities,
    deciding_index,
    judge_conditions,
    part_results,
)
from reproaudit.checks.failure_rate import FailureRate
from reproaudit.checks.follows import Follows
from reproaudit.checks.grows_like import GrowsLike
from reproaudit.checks.kind import Condition
from reproaudit.checks.matches import Matches
from reproaudit.checks.ordered_onsets import OrderedOnsets
from reproaudit.checks.reaches import Reaches
from reproaudit.checks.scales_like import ScalesLike
from reproaudit.checks.separates import Separates

__all__ = [
    "Check",
    "Condition",
    "ConditionResult",
    "PartResult",
    "all_quantities",
    "deciding_index",
    "judge_conditions",
    "part_results",
]

Check = Annotated[
    Aligns
    | Concentrates
    | Converges
    | FailureRate
    | Follows
    | GrowsLike
    | Matches
    | OrderedOnsets
    | Reaches
    | ScalesLike
    | Separates,
    Field(discriminator="kind"),
]
"""Any kind of check; its field `kind` says which. A new kind is named here.

CONTRIBUTING.md lists what a kind with a picture or with stages needs besides."""
