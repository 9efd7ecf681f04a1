"""Claims that `reproaudit judge` will leave without a verdict, told by `reproaudit import`."""

from __future__ import annotations

from collections.abc import Collection

from reproaudit.elsewhere.roles import role_words
from reproaudit.elsewhere.submission import Submission
from reproaudit.judging.model import Verdict
from reproaudit.judging.outcomes import BatchOutcome
from reproaudit.judging.verdict import judge_claim


def untested_claims(submission: Submission, claims: Collection[str]) -> dict[str, list[str]]:
    """The reasons for which claims will be not tested, each with the claims.

    It asks what judges, so that it says what `judge` will say; but every reason, not the first.

    Args:
        submission: the imported folder.
        claims: the ids of the claims that were imported for.
    """
    found: dict[str, list[str]] = {}
    for claim in submission.audit.claims:
        if claim.id not in claims:
            continue
        outcome = judge_claim(submission.audit, claim, submission.tier, submission.lookup)
        if outcome.verdict is not Verdict.NOT_TESTED:
            continue
        positive = () if outcome.positive is None else (outcome.positive,)
        reasons = [_lack(one) for one in (outcome.own, *outcome.controls, *positive) if one.problem]
        for reason in dict.fromkeys(reasons or [outcome.why]):
            found.setdefault(reason, []).append(claim.id)
    return found


def _lack(outcome: BatchOutcome) -> str:
    """The lack of an experiment or a control, in a clause."""
    batch, there = outcome.batch, len(outcome.records)
    if not there:
        return f"no run of {role_words(batch)}, {_article(outcome)} {outcome.role}"
    if there < len(batch.seeds):
        return f"{there} of {len(batch.seeds)} seeds of {role_words(batch)}"
    assert outcome.problem is not None, "what lacks nothing is not asked"
    return outcome.problem[1]


def _article(outcome: BatchOutcome) -> str:
    return "an" if outcome.role.startswith("e") else "a"
