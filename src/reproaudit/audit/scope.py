"""The part of an audit that is asked for: everything, or what some claims need."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from reproaudit.audit.model import Audit, Claim, TierName
from reproaudit.audit.plan import Batch, claim_batches, plan
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
    """The part of an audit that is asked for: everything, or what some claims need.

    Raises:
        UsageError: if a claim is unknown, or there is none.
    """
    if not audit.claims:
        raise UsageError(f"{audit.paper.slug}: its audit states no claims, so none can be judged.")
    known = {claim.id: claim for claim in audit.claims}
    for one in claims:
        if one not in known:
            raise UsageError(f"no claim '{one}'. {did_you_mean(one, known)}".rstrip())
    if not claims:
        batches = tuple(batch for _, batch in plan(audit, tier))
        every = {name: tuple(audit.measurements_of(name)) for name in audit.experiments}
        return Scope(tuple(known.values()), batches, every)
    wanted = tuple(known[one] for one in dict.fromkeys(claims))
    found = dict.fromkeys(b for claim in wanted for _, b in claim_batches(audit, claim, tier))
    stated: list[BaseModel] = [
        one for claim in wanted for one in (claim, *audit.controls_of(claim))
    ]
    stated += [audit.positive_control_of(claim) for claim in wanted]
    stated += [audit.movement] if audit.movement is not None else []
    read = {name for one in stated for name in _names_in(one.model_dump())}
    measurements = {
        batch.experiment: tuple(
            name for name in audit.measurements_of(batch.experiment) if name in read
        )
        for batch in found
    }
    return Scope(wanted, tuple(found), measurements)


def _names_in(node: Any) -> Iterable[str]:
    """Every text in a claim: the names of measurements are among them."""
    if isinstance(node, dict):
        for below in node.values():
            yield from _names_in(below)
    elif isinstance(node, list | tuple):
        for below in node:
            yield from _names_in(below)
    elif isinstance(node, str):
        yield node
