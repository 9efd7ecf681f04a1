"""The part of an audit that is asked for, and the length of training that it states."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reproaudit.audit.model import Audit, Claim, TierName
from reproaudit.audit.plan import Batch, arms_of, plan, quantities_of
from reproaudit.audit.values import shown
from reproaudit.cell import SettingValue
from reproaudit.errors import UsageError, did_you_mean


@dataclass(frozen=True)
class Scope:
    """The part of an audit that is asked for.

    Attributes:
        claims: the claims.
        batches: what they rest on, the experiments first.
        measurements: experiment -> the measurements that are wanted.
    """

    claims: tuple[Claim, ...]
    batches: tuple[Batch, ...]
    measurements: Mapping[str, tuple[str, ...]]


def scope_of(audit: Audit, tier: TierName, claims: Sequence[str]) -> Scope:
    """Return the part of an audit that is asked for: everything, or what some claims need.

    Raises:
        UsageError: if a claim is unknown, or there is none.
    """
    if not audit.claims:
        raise UsageError(f"{audit.paper.slug}: its audit states no claims, so none can be judged.")
    known = {claim.id: claim for claim in audit.claims}
    for one in claims:
        if one not in known:
            raise UsageError(f"no claim '{one}'. {did_you_mean(one, known)}".rstrip())
    wanted = tuple(known[one] for one in dict.fromkeys(claims)) or audit.claims
    read = {name for claim in wanted for name in _read(audit, claim)}
    measurements = {
        experiment: tuple(n for n in audit.measurements_of(experiment) if n in read or not claims)
        for experiment in audit.experiments
    }
    return Scope(wanted, tuple(batch for _, batch in plan(audit, tier, claims)), measurements)


def _read(audit: Audit, claim: Claim) -> set[str]:
    """Return the names of the measurements that a claim reads."""
    read = {quantity.measurement for quantity in quantities_of(claim)}
    for arm in arms_of(audit, claim):
        read |= {*arm.reads.values(), *(bound.value.measurement for bound in arm.holds_at_start)}
        if name := audit.training_loss_of(arm.experiment):
            read.add(name)
    return read


def role_words(batch: Batch) -> str:
    """Return a role in words: ``'separable' with loss = 'squared'``."""
    settings = ", ".join(f"{name} = {shown(value)}" for name, value in batch.overrides)
    return f"'{batch.experiment}'" + (f" with {settings}" if settings else "")


def some(names: Sequence[str], most: int = 8) -> str:
    """Return the first of several names, and how many more there are."""
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest} more" if rest > 0 else "")


def stated_length(
    audit: Audit, experiment: str, settings: Mapping[str, SettingValue]
) -> float | None:
    """Return the steps of training that a run's settings state; None if they state none.

    Where the audit divides the training into stages, these together; else the setting `steps`.
    """
    values: list[SettingValue | None] = []
    for index, stage in enumerate(audit.experiments[experiment].stages):
        value = settings[stage.steps]
        each = value if isinstance(value, tuple) else (value,) * (index + 1)
        values.append(each[index] if index < len(each) else None)
    values = values or [settings.get("steps")]
    numbers = [one for one in values if type(one) in (int, float)]
    return sum(numbers) if len(numbers) == len(values) else None  # type: ignore[arg-type]


def end_beside(series: Iterable[Sequence[int] | NDArray[np.int64]], length: float) -> int | None:
    """Return the last step of series that did not go through so many; None if they may have.

    A series may stop short of the length by the widest distance between two of its steps.
    """
    ends = [
        (int(steps.max()), int(np.abs(np.diff(steps)).max(initial=1)))
        for steps in map(np.asarray, series)
        if len(steps)
    ]
    last, widest = max(ends, default=(0, 0))
    return last if ends and (last > length or last + widest < length) else None
