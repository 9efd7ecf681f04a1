"""A row in words, as every rendering prints it, and which rows a brief page keeps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reproaudit.audit.arms import Role
from reproaudit.formats.numbers import listed, number
from reproaudit.formats.scorecard import Row, RowDecision
from reproaudit.report.parts import ARMS, Check, Part, certainty, is_expected, is_own
from reproaudit.report.printable import clean


def shown(check: Check, brief: int) -> list[Row]:
    """Return the rows of a condition that a page prints.

    Args:
        check: the condition.
        brief: 0 for all rows; 1 without other values of guesses, which have a table of their own;
            2 without any other arm that ended as it should, or cannot be read.
    """
    if not brief:
        return list(check.rows)
    rows = [row for row in check.rows if row.arm_role is not Role.ALTERNATIVE]
    if brief == 1:
        return rows
    return [row for row in rows if is_own(row) or not (is_expected(row) or _is_void(row))]


def left_words(check: Check, brief: int) -> str:
    """Return how many rows a brief page leaves out, and how they ended."""
    printed = shown(check, brief)
    left = [row for row in check.rows if row not in printed]
    void = sum(_is_void(row) and not is_expected(row) for row in left)
    counts = ((len(left) - void, "as expected"), (void, "cannot be read"))
    return ", ".join(f"{count} {words}" for count, words in counts if count)


def _is_void(row: Row) -> bool:
    return row.decision is RowDecision.VOID


def met_words(check: Check) -> str:
    """Return a condition that is met, in brief: its bound, and k of n with the typical run."""
    rows = [row for row in check.rows if is_own(row)]
    return f"{check.bounded}: {', '.join(brief_words(check, row) for row in rows)}"


def brief_words(check: Check, row: Row) -> str:
    """Return a row in brief: without the arm where it is the claim's own, and what it decides."""
    if not is_own(row):
        return row_words(row)
    own = next(first.arm_words for first in check.rows if is_own(first))
    where = [row.at_words, "" if row.arm_words == own else f"with {row.arm_words}"]
    numbers = numbers_words(row) if row.mean or row.far else row.typical_words
    said = f"{row.count}{f' ({numbers})' if numbers else ''}"
    decided = decision_words(row) if row.decision is not RowDecision.MET else ""
    said = f"{said}, {decided}" if decided else said
    at = " ".join(filter(None, where))
    return f"{at}: {said}" if at else said


def arm_words(row: Row) -> str:
    """Return what a page calls the arm of a row, with its coordinate."""
    role = ARMS.get(row.arm_role, "")
    named = f"{role}: {row.arm_words}" if role else row.arm_words
    return f"{named}, {row.at_words}" if row.at_words else named


def numbers_words(row: Row) -> str:
    """Return the numbers of a row: the mean with its interval, or the typical and the farthest."""
    if row.mean is not None:
        mean, low, high = (number(value, 3) for value in row.mean)
        return f"mean {mean} [{low}, {high}]"
    if not row.typical_words:
        return ""
    if row.far:
        return f"{row.typical_words}; beyond the bound {listed([number(far) for far in row.far])}"
    if row.farthest_words != row.typical_words:
        return f"{row.typical_words}, farthest {row.farthest_words}"
    return row.typical_words


def decision_words(row: Row) -> str:
    """Return what the runs decide, where that is to be said, with the reason."""
    said = row.decision.value if is_own(row) or not is_expected(row) else ""
    if row.decision is RowDecision.MET and is_own(row):
        said = ""
    return ": ".join(filter(None, (said, row.why)))


def row_words(row: Row) -> str:
    """Return a row in words, but for what is asked: as run 15 of 15 (0.015, farthest 0.02)."""
    numbers = numbers_words(row)
    aside = f" ({numbers})" if numbers else ""
    decided = decision_words(row)
    return f"{arm_words(row)}, {row.count}{aside}{f', {decided}' if decided else ''}"


def row_cells(row: Row) -> Sequence[str]:
    """Return a row under arm, runs, numbers, decision."""
    said = ": ".join(filter(None, (row.decision.value, row.why)))
    return arm_words(row), row.count, numbers_words(row), said


def guess_rows(part: Part) -> list[Row]:
    """Return the rows of a claim under other values of guesses."""
    return [row for row in part.rows if row.arm_role is Role.ALTERNATIVE]


def claim_details(part: Part) -> Iterator[str]:
    """Yield everything that a test log should say of a claim, one line each."""
    yield clean(f"{part.claim.says} ({part.claim.locator})")
    yield clean(f"outcome: {part.line.outcome}; certainty: {certainty(part) or 'none'}")
    yield clean(f"runs: {part.words.runs}")
    for check in part.checks:
        yield clean(check.asks)
        yield from (clean(f"  {row_words(row)}") for row in check.rows)


def leading_words(part: Part) -> str:
    """Return the numbers of the condition that a claim's row shows, against its bound."""
    check = part.leading
    if check is None:
        return "no numbers"
    rows = [row for row in check.rows if is_own(row) and row.primary]
    return f"{check.bounded}: {', '.join(brief_words(check, row) for row in rows)}"
