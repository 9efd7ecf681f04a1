"""A claim's ablations under an alternative: an alternative is met only if they miss under it.

The ablations run with the alternative's value too, unless the control itself replaces that setting.
A control at a smaller scale takes the value in that scale's proportion.
"""

from __future__ import annotations

from dataclasses import replace

from reproaudit.audit.model import Audit, Claim, Control, TierName
from reproaudit.audit.plan import Batch, Role, control_batch
from reproaudit.judging.ablations import judge_ablations
from reproaudit.judging.outcomes import BatchOutcome, Lookup, judge_control
from reproaudit.multiverse.completions import Override, at_tier, concerns
from reproaudit.stats import Decision


def ablation_batch(
    audit: Audit, claim: Claim, control: Control, change: Override, tier: TierName
) -> Batch | None:
    """The batch of a control under an alternative; None if its scale has no such value."""
    batch = control_batch(audit, claim, control, tier)
    if change.name in control.settings or not concerns(audit, change, batch.experiment):
        return batch
    setting = audit.setting_of(batch.experiment, change.name)
    value = None if setting is None else at_tier(setting, batch.tier, change.stated)
    if value is None:
        return None
    overrides = {**dict(batch.overrides), change.name: value}
    return replace(batch, overrides=tuple(sorted(overrides.items())))


def ablations_under(
    audit: Audit,
    claim: Claim,
    own: BatchOutcome,
    change: Override,
    tier: TierName,
    lookup: Lookup,
) -> tuple[Decision | None, str]:
    """The decision on a claim's ablations under an alternative, and what it means for the claim.

    Args:
        own: the claim's own runs under the alternative.

    Returns:
        Missed, met or undecided, or None if they could not be judged; and a sentence.
    """
    outcomes = []
    for control in audit.ablations_of(claim):
        batch = ablation_batch(audit, claim, control, change, tier)
        if batch is None:
            return None, "met with it, but its ablation has no such value at its scale"
        found = lookup(batch)
        outcomes.append(judge_control(audit, claim, control, Role.CONTROL, batch, found, own, tier))
    problem = next((o.problem[1] for o in outcomes if o.problem), None)
    ablations = judge_ablations(own.parts, outcomes)
    if problem is not None:
        return None, f"met with it, but {problem}"
    if ablations.unanswered:
        return ablations.decision, f"met with it, but {ablations.unanswered[0][1]}"
    also = "but" if ablations.decision is not Decision.MISSED else "and"
    return ablations.decision, f"met with it, {also} {ablations.decision} on its ablation"
