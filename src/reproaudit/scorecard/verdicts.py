"""The one table of verdicts and the one of evidence levels.

Everything that depends on a verdict reads its row here: pages, terminals, the JUnit export, the
coverage. A member of the enum without a row fails when this module is imported.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, TypeVar

from reproaudit.judging.verdict import EvidenceLevel, Verdict

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
        Verdict.CONTRADICTED: VerdictRow(
            "the check fails, and no guess of the auditors can be the reason", Tone.BAD, "failure"
        ),
        Verdict.INCONCLUSIVE: VerdictRow(
            "these seeds, or settings that had to be guessed, do not settle the claim",
            Tone.OPEN,
            "skipped",
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
