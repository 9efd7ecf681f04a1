"""The runs of other claims, and the same runs under another name, beside a claim's verdict."""

from __future__ import annotations

from collections.abc import Iterator

from reproaudit.audit.model import Claim
from reproaudit.audit.plan import Batch, Role, control_batch, experiment_batch, plan
from reproaudit.audit.rules.values import same, shown
from reproaudit.cell import canonical_settings
from reproaudit.checks import all_quantities
from reproaudit.commands.beside.judged import JudgedFrom
from reproaudit.judging.outcomes import judge_own
from reproaudit.multiverse.completions import batch_of, concerns
from reproaudit.reports.status import holds
from reproaudit.reports.warning import CONTROLS_OF_OTHERS, NOT_IN_THE_LEDGER, UNDER_ANOTHER_NAME
from reproaudit.scorecard.model import ClaimModel
from reproaudit.stats import Decision


def told_of_neighbours(judged: JudgedFrom, claim: Claim, told: ClaimModel) -> Iterator[str]:
    """Yields every sentence on what other runs and findings say of a claim.

    Args:
        judged: what the claim was judged from.
        claim: as the audit has it.
        told: as it was judged.
    """
    yield from _under_another_name(judged, claim, told)
    yield from _on_controls_of_others(judged, claim, told)
    for one in judged.audit.findings if holds(told) else ():
        if one.kind == "contradiction" and claim.id in one.claims and not one.settings:
            yield f"{NOT_IN_THE_LEDGER}: finding {one.id}."


def _under_another_name(judged: JudgedFrom, claim: Claim, told: ClaimModel) -> Iterator[str]:
    """Yields a sentence on each run with an alternative's settings that decides otherwise."""
    seen = [(one.setting, one.value) for one in told.alternatives if one.tier == judged.tier]
    for change in judged.changes:
        if not concerns(judged.audit, change, claim.experiment) or any(
            name == change.name and same(value, change.stated) for name, value in seen
        ):
            continue
        batch = batch_of(judged.audit, (change,), claim.experiment, judged.tier)
        for other in judged.planned.get(canonical_settings(batch.settings(judged.audit)), ()):
            found = judge_own(judged.audit, claim, other, judged.lookup(other))
            if found.problem or found.decision in (None, told.decision):
                continue
            yield (
                f"{UNDER_ANOTHER_NAME}, as {_named(other)}, the alternative {change.name} = "
                f"{shown(change.stated)} comes out {found.decision}, and no multiverse has "
                f"judged it: reproaudit multiverse {judged.audit.paper.slug} --tier {judged.tier}"
            )


def _on_controls_of_others(judged: JudgedFrom, claim: Claim, told: ClaimModel) -> Iterator[str]:
    """Yields a sentence on controls of other claims that meet every part of a supported one."""
    if not holds(told):
        return
    own = {
        control_batch(judged.audit, one, judged.tier)
        for one in judged.audit.controls_of(claim)
        if not one.substitutes  # else other numbers than the claim's were judged
    }
    all_of_it: list[str] = []
    primary: list[str] = []
    for role, batch in plan(judged.audit, judged.tier):
        if role is not Role.CONTROL or batch in own or not _is_like(judged, batch, claim):
            continue
        found = judge_own(judged.audit, claim, batch, judged.lookup(batch))
        met = sum(part.decision is Decision.MET for part in found.parts)
        named = _changed(batch)
        if batch.experiment != claim.experiment:
            named = f"{batch.experiment} with {named}"
        if batch.tier != judged.tier:
            named += f" ({batch.tier} scale)"
        if met and found.problem is None and found.decision is Decision.MET:
            all_of_it.append(named)
        elif met and found.problem is None and found.parts[0].decision is Decision.MET:
            primary.append(f"{named} ({met} of {len(found.parts)} parts)")
    if all_of_it:
        yield f"{CONTROLS_OF_OTHERS} meet every part of this one: {'; '.join(all_of_it)}."
    if primary:
        yield f"{CONTROLS_OF_OTHERS} meet its primary part: {'; '.join(primary)}."


def _is_like(judged: JudgedFrom, batch: Batch, claim: Claim) -> bool:
    """True if a control's experiment is the claim's, or one with the very same settings.

    What differs between the two by name alone may differ in nothing.
    """
    if batch.experiment == claim.experiment:
        return bool(batch.overrides)  # else the claim's own model, read by other numbers
    own = experiment_batch(judged.audit, claim.experiment, batch.tier)
    its = experiment_batch(judged.audit, batch.experiment, batch.tier)
    measured = judged.audit.measurements_of(batch.experiment)
    return own.settings(judged.audit) == its.settings(judged.audit) and all(
        one.measurement in measured for _, _, one in all_quantities(claim.checks)
    )


def _named(batch: Batch) -> str:
    """An experiment as it is audited, or a control of it."""
    if not batch.overrides:
        return f"experiment {batch.experiment}"
    return f"a control ({batch.experiment} with {_changed(batch)})"


def _changed(batch: Batch) -> str:
    return ", ".join(f"{name} = {shown(value)}" for name, value in batch.overrides)
