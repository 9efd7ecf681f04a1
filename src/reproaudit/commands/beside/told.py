"""Everything that the audit and the records of a scorecard say beside the verdict of a claim."""

from __future__ import annotations

from collections.abc import Iterator

from reproaudit.audit.model import Source
from reproaudit.audit.rules.values import shown
from reproaudit.commands.beside.controls import told_of_controls
from reproaudit.commands.beside.judged import JudgedFrom, rests_on_runs
from reproaudit.commands.beside.neighbours import told_of_neighbours
from reproaudit.commands.beside.numbers import told_of_numbers
from reproaudit.judging.model import EvidenceLevel, Verdict
from reproaudit.judging.verdict import judge_claim
from reproaudit.reports.warning import DERIVED
from reproaudit.scorecard.model import ClaimModel
from reproaudit.stats import Decision


def told_beside(judged: JudgedFrom, told: ClaimModel) -> Iterator[str]:
    """Yields a sentence on each thing that qualifies the verdict of a claim.

    Args:
        judged: what it was judged from.
        told: the claim as it was judged.
    """
    claim = judged.claim(told)
    if claim is None:
        return
    yield from told_of_neighbours(judged, claim, told)
    yield from told_of_controls(judged, claim, told)
    if told.verdict is Verdict.CONDITIONAL and told.decision is Decision.MET:
        # it tells of the alternatives alone, and what qualifies it as audited qualifies it there
        why = judge_claim(judged.audit, claim, judged.tier, judged.lookup).why
        clauses = [
            one
            for one in why.split("; ")
            if not one.endswith("alternatives run") and not one.startswith("not run")
        ]
        yield f"As audited: {'; '.join(clauses)}."
    yield from told_of_numbers(judged, claim, told)
    if told.evidence is EvidenceLevel.EXACT and rests_on_runs(told):
        derived = [
            f"{name} = {shown(one.at(judged.tier))} ({str(one.locator).rstrip('.')})"
            for name, one in judged.audit.settings_of(claim.experiment).items()
            if one.source is Source.DERIVED
        ]
        if derived:
            yield f"{DERIVED}: {'; '.join(derived)}."
