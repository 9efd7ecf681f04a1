"""What is said of a claim beside its rows: where it stands, how sure, and how its runs went."""

from __future__ import annotations

from collections.abc import Iterator

from reproaudit.formats.numbers import capital, counted, number, share_range
from reproaudit.formats.outcomes import look
from reproaudit.formats.scorecard import AnswerWords
from reproaudit.formats.verdict import Outcome
from reproaudit.scorecard.claims import ClaimText
from reproaudit.scorecard.lines import cores_of, sides_in_brief
from reproaudit.scorecard.words import WITHOUT, answering_runs, count_words, not_alike, words
from reproaudit.stats.binomial import share_interval


def answer_words(claim: ClaimText) -> AnswerWords:
    """Return what is said of a claim beside its rows."""
    answer = claim.answer
    wording = {"recalled": " (worded from memory)", "derived": " (derived by us)"}
    depends = answer.outcome is Outcome.DEPENDS
    return AnswerWords(
        claim=answer.id,
        mark=look(answer.outcome).mark,
        finding=f"{capital(claim.claim.short)}: {cores_of(claim)[0]}",
        source=f"{claim.claim.locator}{wording.get(claim.claim.wording, '')}",
        runs=_runs(claim),
        certainty=() if depends else tuple(words(reason, claim) for reason in answer.reasons),
        own=claim.own,
        facts=tuple(_facts(claim)),
    )


def _runs(claim: ClaimText) -> str:
    """How many runs say yes, with the 90 % interval of the share that would; others apart.

    A claim that depends has the counts of both sides.
    """
    base = claim.base
    if claim.answer.outcome is Outcome.DEPENDS:
        return sides_in_brief(claim)
    if not base.valid:
        return count_words(base) if base.n else "none"
    yes, n = answering_runs(base)
    share = "exact" if claim.claim.exact else share_range(*share_interval(yes, n))
    return count_words(base, f" ({share})")


def _facts(claim: ClaimText) -> Iterator[tuple[str, str]]:
    answer = claim.answer
    if claim.sets:
        yield "Run with", f"{', '.join(claim.sets)}."
    if answer.proxy:
        yield "Stand-in", f"{answer.proxy}."
    if alike := [*_alike(claim)]:
        yield "Runs", f"{'; '.join(alike)}."
    if claim.elsewhere:
        yield "Elsewhere", f"{claim.elsewhere}."
    if parts := [*_parts(claim)]:
        yield "Without", f"{'; '.join(parts)}."
    if reported := claim.claim.reported:
        yield "Reported", "; ".join(f"{number.says} ({number.locator})" for number in reported)
    if trained := [*_trained(claim)]:
        yield "Training", f"loss {'; '.join(trained)}."


def _trained(claim: ClaimText) -> Iterator[str]:
    """The median training loss of each stated reading, from start to end; that of what is built."""
    answer = claim.answer
    for reading in answer.stated:
        if reading.trained is not None:
            value = f" with {claim.stated_value(reading)}" if answer.readings else ""
            first, last = map(number, reading.trained)
            yield f"{first} → {last}{value}"
    built = answer.positive_control
    if built is not None and built.trained is not None:
        yield f"{number(built.trained[1])} {claim.arm(built)}"


def _alike(claim: ClaimText) -> Iterator[str]:
    """What runs have in common, what was not measured alike, and what has nothing to compare."""
    base = claim.base
    said = [reason.alike for reason in claim.answer.reasons]
    yield from (not_alike(pair, claim) for pair in claim.answer.not_alike if pair not in said)
    if base.equal:
        yield "the same in every run"
    if base.copies:
        yield f"{base.copies} more were copies of these"
    for name, count in base.left_over.items():
        runs = counted(count, "run")
        yield f"{runs} of {claim.namer.arm(name)} with other seeds are compared with none of these"


def _parts(claim: ClaimText) -> Iterator[str]:
    """What is left of the claim without each part."""
    for ablation in claim.answer.ablations:
        effects = claim.effects(ablation)
        pair = f", {effects}" if effects else ""
        word = WITHOUT[ablation.specificity]
        yield f"{word} {claim.lacks(ablation)} ({count_words(ablation)}{pair})"
