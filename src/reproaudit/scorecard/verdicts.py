"""The one table of verdicts and the one of evidence levels.

Everything that depends on a verdict reads its row here: pages, terminals, the JUnit export, the
coverage. A member of the enum without a row fails when this module is imported.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, TypeVar

from reproaudit.judging.model import EvidenceLevel, Verdict

Key = TypeVar("Key", bound=StrEnum)
Row = TypeVar("Row")


class Tone(StrEnum):
    """The colour of a word. Its value is the CSS class on a page."""

    GOOD = "good"
    BAD = "bad"
    OPEN = "open"
    EMPTY = "empty"
    BROKEN = "broken"
    ABSENT = "absent"
    NEUTRAL = "neutral"


@dataclass(frozen=True)
class VerdictRow:
    """Everything that the tool derives from a verdict.

    Attributes:
        meaning: one line for readers.
        tone: its colour on pages and in terminals.
        junit: the element of a JUnit test case; None if the case has passed.
        tested: whether the claim counts as tested, so that its evidence level means something.
    """

    meaning: str
    tone: Tone
    junit: Literal["failure", "error", "skipped"] | None
    tested: bool = True


def complete(keys: type[Key], rows: Mapping[Key, Row]) -> Mapping[Key, Row]:
    """Returns the rows if there is exactly one for each member of the enum.

    Raises:
        LookupError: naming the members without a row.
    """
    missing = [key.value for key in keys if key not in rows]
    if missing:
        raise LookupError(f"the table of {keys.__name__} has no row for: {', '.join(missing)}")
    return rows


VERDICTS: Mapping[Verdict, VerdictRow] = complete(
    Verdict,
    {
        Verdict.SUPPORTED: VerdictRow(
            "the check passes here, and fails where the claimed mechanism is taken away",
            Tone.GOOD,
            None,
        ),
        Verdict.CONDITIONAL: VerdictRow(
            "a setting that the paper leaves open decides: one value meets the claim, another "
            "misses it",
            Tone.OPEN,
            "skipped",
        ),
        Verdict.CONTRADICTED: VerdictRow(
            "the check fails, and no guess of the auditors can be the reason", Tone.BAD, "failure"
        ),
        Verdict.INCONCLUSIVE: VerdictRow(
            "these seeds, or settings that had to be guessed, do not settle the claim",
            Tone.OPEN,
            "skipped",
        ),
        Verdict.UNATTAINABLE: VerdictRow(
            "not even the solution built by hand passes, so the check asks for more than the "
            "mechanism can give in this setting",
            Tone.EMPTY,
            "failure",
        ),
        Verdict.VACUOUS: VerdictRow(
            "the check cannot tell the claim from its absence, so it shows nothing",
            Tone.EMPTY,
            "failure",
        ),
        Verdict.TECHNICAL_FAILURE: VerdictRow(
            "something crashed or is missing; this says nothing about the claim",
            Tone.BROKEN,
            "error",
            tested=False,
        ),
        Verdict.NOT_TESTED: VerdictRow(
            "not run, or not at a scale that is judged", Tone.ABSENT, "skipped", tested=False
        ),
    },
)
"""In the order in which counts are shown."""

AT_REDUCED_SCALE = " at reduced scale"
"""Follows the word of a verdict that rests on runs smaller than the paper's."""


BY_PROXY = " by proxy"
"""Follows the word of a verdict that rests on other data or another method than the paper's."""


LIMITS = ("", AT_REDUCED_SCALE, BY_PROXY, BY_PROXY + AT_REDUCED_SCALE)
"""The limits that may follow the word of a verdict, in the order in which counts are shown."""


def without_limits(words: str) -> str:
    """Returns the verdict's own word, without what limits it."""
    return words.removesuffix(AT_REDUCED_SCALE).removesuffix(BY_PROXY)


def verdict_words(verdict: Verdict, tier: str, evidence: EvidenceLevel) -> str:
    """Returns a verdict as people read it: ``supported by proxy``."""
    return f"{verdict.value.replace('_', ' ')}{verdict_limits(verdict, tier, evidence)}"


def verdict_limits(verdict: Verdict, tier: str, evidence: EvidenceLevel) -> str:
    """Returns what limits a verdict that is tested: ``" by proxy at reduced scale"``; often ``""``.

    A smaller scale is said of what is supported or conditional; a proxy, of every tested verdict.
    """
    limits = BY_PROXY if evidence is EvidenceLevel.PROXY and VERDICTS[verdict].tested else ""
    reduced = tier != "paper" or evidence is EvidenceLevel.REDUCED
    if reduced and verdict in (Verdict.SUPPORTED, Verdict.CONDITIONAL):
        limits += AT_REDUCED_SCALE
    return limits


EVIDENCE: Mapping[EvidenceLevel, str] = complete(
    EvidenceLevel,
    {
        EvidenceLevel.EXACT: "the paper's scale; no setting assumed or recalled",
        EvidenceLevel.ASSUMED: "the paper's scale; some settings assumed",
        EvidenceLevel.REDUCED: "smaller than the paper's scale",
        EvidenceLevel.PROXY: "other data or another method than the paper's",
    },
)
"""The meaning of each level, closest to the paper first."""
