"""The length of training that settings state, held against the steps that series were observed at.

Logs that are imported and measurements that are submitted are looked at by the same understanding.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeGuard

import numpy as np
from numpy.typing import NDArray

from reproaudit.audit.model import Audit
from reproaudit.cell import SettingValue


def stated_length(
    audit: Audit, experiment: str, settings: Mapping[str, SettingValue]
) -> float | None:
    """The steps of training that a run's settings state; None if they state none.

    Where the audit divides the training into stages, these together; else the setting `steps`.
    """
    values: list[SettingValue | None] = []
    for index, stage in enumerate(audit.experiments[experiment].stages):
        value = settings[stage.steps]
        each = value if isinstance(value, tuple) else (value,) * (index + 1)
        values.append(each[index] if index < len(each) else None)
    values = values or [settings.get("steps")]
    numbers = [one for one in values if _is_number(one)]
    return sum(numbers) if len(numbers) == len(values) else None


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def end_beside(
    series: Iterable[Sequence[int] | NDArray[np.int64]], length: SettingValue
) -> int | None:
    """The last step of series that did not go through so many steps; None if they may have.

    A series may stop short of the length by the widest distance between two of its steps.

    Args:
        series: the steps of each, shape (step,); the one that goes furthest is looked at.
        length: the number of steps; a setting that is no number says nothing.
    """
    ends = [
        (int(steps.max()), int(np.abs(np.diff(steps)).max(initial=1)))
        for steps in map(np.asarray, series)
        if len(steps)
    ]
    if not ends or not _is_number(length):
        return None
    last, widest = max(ends)
    return last if last > length or last + widest < length else None
