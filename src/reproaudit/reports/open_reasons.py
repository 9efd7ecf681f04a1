"""The reason of an inconclusive verdict in a few words, from what the scorecard holds."""

from __future__ import annotations

from reproaudit.judging.model import EvidenceLevel, Verdict
from reproaudit.reports.phrasing import deciding_part
from reproaudit.scorecard.model import ClaimModel
from reproaudit.stats import Decision


def open_reason(claim: ClaimModel, tier: str) -> str:
    """Returns in a few words why a claim is inconclusive: ``too few seeds``.

    It is empty of other verdicts, and where the scorecard does not say more than the verdict.
    """
    if claim.verdict is not Verdict.INCONCLUSIVE:
        return ""
    positive = claim.positive_control
    constructed = Decision.MET if positive is None else positive.decision
    if claim.decision is Decision.UNDECIDED:
        part = deciding_part(claim)
        return "too few seeds" if part and part.seeds_needed else "seeds do not decide"
    if claim.decision is Decision.MISSED:
        if constructed is Decision.MISSED:
            return "constructed solution misses, a control meets it"
        if tier != "paper" or claim.evidence is EvidenceLevel.REDUCED:
            return "a smaller scale may not contradict"
        if claim.evidence is EvidenceLevel.PROXY:
            return "a proxy may not contradict"
        return "guessed settings may not contradict"
    if constructed is Decision.MISSED:
        return "constructed solution misses"
    if any(one.control is None for one in claim.parts):
        inert = {one.name for one in claim.controls if one.inert}
        single = len(claim.controls) == 1
        unanswered = [one.ablation for one in claim.parts if one.control is None]
        is_inert = bool(inert) and (single or not inert.isdisjoint(unanswered))
        return "control inert" if is_inert else "ablation without an answer"
    if any(one.control is not Decision.MISSED for one in claim.parts):
        return "ablation undecided"
    return "" if constructed is Decision.MET else "constructed solution undecided"
