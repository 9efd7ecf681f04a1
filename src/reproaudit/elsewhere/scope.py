"""The part of an audit that is asked for: everything, or what some claims need."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from reproaudit.audit.model import Audit, Claim, TierName
from reproaudit.audit.plan import Batch, arms_of, plan, quantities_of
from reproaudit.audit.values import shown
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
    batches = tuple(batch for _, batch in plan(audit, tier, claims))
    if not claims:
        every = {name: tuple(audit.measurements_of(name)) for name in audit.experiments}
        return Scope(tuple(known.values()), batches, every)
    wanted = tuple(known[one] for one in dict.fromkeys(claims))
    read = {name for claim in wanted for name in _read(audit, claim)}
    measurements = {
        batch.experiment: tuple(
            name for name in audit.measurements_of(batch.experiment) if name in read
        )
        for batch in batches
    }
    return Scope(wanted, batches, measurements)


def _read(audit: Audit, claim: Claim) -> Iterator[str]:
    """The names of the measurements that a claim reads."""
    for quantity in quantities_of(claim):
        yield quantity.measurement
    for arm in arms_of(audit, claim):
        yield from arm.reads.values()
        for bound in arm.holds_at_start:
            yield bound.value.measurement
        if name := audit.training_loss_of(arm.experiment):
            yield name


def role_words(batch: Batch) -> str:
    """Return a role in words: ``'separable' with loss = 'squared'``."""
    settings = ", ".join(f"{name} = {shown(value)}" for name, value in batch.overrides)
    return f"'{batch.experiment}'" + (f" with {settings}" if settings else "")


def some(names: Sequence[str], most: int = 8) -> str:
    """Return the first of several names, and how many more there are."""
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest} more" if rest > 0 else "")
