"""A row in words, as every rendering prints it, and which rows a brief page keeps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reproaudit.audit.arms import Role
from reproaudit.formats.numbers import listed, number
from reproaudit.formats.scorecard import Row, RowDecision
from reproaudit.report.parts import (
    ARMS,
    CheckRows,
    ClaimPart,
    certainty_words,
    is_expected,
    is_stated,
)
from reproaudit.report.printable import clean

BRIEFEST = 5
"""The step at which a page leaves out as much as it may."""


def rows_shown(check: CheckRows, brief: int) -> list[Row]:
    """Return the rows of a condition that a page prints; every one that is not met is among them.

    Args:
        check: the condition.
        brief: 0 for all rows; 1 without other values of guesses, which have a table of their own;
            from 2 on without any other arm that ended as it should, or cannot be read; from 4 on
            without stated readings that meet it in as many runs as the claim's own.
    """
    return [row for row in check.rows if _is_shown(check, row, brief)]


def _is_shown(check: CheckRows, row: Row, brief: int) -> bool:
    if is_stated(row):
        alike = row.decision is RowDecision.MET and row.count == check.own.count
        return brief < 4 or row.arm == check.own.arm or not alike
    if not brief:
        return True
    if row.arm_role is Role.ALTERNATIVE:
        return False
    return brief == 1 or not (is_expected(row) or row.decision is RowDecision.VOID)


def left_words(check: CheckRows, brief: int) -> str:
    """Return how many rows a brief page leaves out, and how they ended; guesses have a table."""
    left = [row for row in check.rows if not _is_shown(check, row, brief)]
    met = len({row.arm for row in left if is_stated(row)})
    others = [row for row in left if not is_stated(row) and row.arm_role is not Role.ALTERNATIVE]
    void = sum(row.decision is RowDecision.VOID and not is_expected(row) for row in others)
    counts = (
        (met, f"more stated {'value meets' if met == 1 else 'values meet'} it"),
        (len(others) - void, "as expected"),
        (void, "cannot be read"),
    )
    return ", ".join(f"{count} {words}" for count, words in counts if count)


def met_words(check: CheckRows, brief: int) -> str:
    """Return a condition that is met, in brief: its bound, and k of n with the typical run."""
    said = [words for words, _ in said_in_brief(check, brief, own_alone=True)]
    left = [row for row in check.rows if is_stated(row) and not _is_shown(check, row, brief)]
    more = len({row.arm for row in left})
    value = "value" if more == 1 else "values"
    aside = f" (and with {more} more stated {value})" if more else ""
    return f"{check.bounded}: {', '.join(said)}{aside}"


def said_in_brief(
    check: CheckRows, brief: int, *, own_alone: bool = False
) -> Iterator[tuple[str, bool]]:
    """Yield the rows of a condition in brief, and whether each is the claim's own and not met.

    Args:
        check: the condition.
        brief: as of `rows_shown`; from 4 on, stated readings that end alike are joined.
        own_alone: whether other arms are left out.
    """
    alike: dict[tuple[str, ...], list[Row]] = {}
    rows = [row for row in rows_shown(check, brief) if is_stated(row) or not own_alone]
    for row in rows:
        ended = (row.at_words, row.count, row.decision.value)
        is_joined = brief >= 4 and is_stated(row) and row.arm != check.own.arm
        alike.setdefault(ended if is_joined else (*ended, row.arm, row.beside or ""), []).append(
            row
        )
    for same in alike.values():
        unmet = is_stated(same[0]) and same[0].decision is not RowDecision.MET
        yield _joined(check, same), unmet


def _joined(check: CheckRows, rows: Sequence[Row]) -> str:
    """Rows that end alike, in brief: with which values, k of n, the numbers, the decision."""
    first = rows[0]
    if not is_stated(first):
        return row_words(first)
    is_base = first.arm == check.own.arm
    values = "" if is_base else f"with {listed([row.arm_words for row in rows])}"
    numbers = dict.fromkeys(
        numbers_words(row) if row.mean or row.far else row.typical_words for row in rows
    )
    aside = f" ({', '.join(filter(None, numbers))})" if any(numbers) else ""
    said = f"{first.count}{' each' if len(rows) > 1 else ''}{aside}"
    decided = ""
    if first.decision is not RowDecision.MET:
        decided = decision_words(first) if is_base else first.decision.value
    said = f"{said}, {decided}" if decided else said
    at = " ".join(filter(None, (first.at_words, values)))
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
        return f"{row.typical_words}; beyond the bound {listed(row.far_words)}"
    if row.farthest_words != row.typical_words:
        return f"{row.typical_words}, farthest {row.farthest_words}"
    return row.typical_words


def decision_words(row: Row) -> str:
    """Return what the runs decide, where that is to be said, with the reason."""
    said = row.decision.value if is_stated(row) or not is_expected(row) else ""
    if row.decision is RowDecision.MET and is_stated(row):
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


def guess_rows(part: ClaimPart) -> list[Row]:
    """Return the rows of a claim under other values of guesses."""
    return [row for row in part.rows if row.arm_role is Role.ALTERNATIVE]


def claim_details(part: ClaimPart) -> Iterator[str]:
    """Yield everything that a test log should say of a claim, one line each."""
    yield clean(f"{part.claim.says} ({part.claim.locator})")
    yield clean(f"outcome: {part.line.outcome}; certainty: {certainty_words(part) or 'none'}")
    yield clean(f"runs: {part.words.runs}")
    for check in part.checks:
        yield clean(check.asks)
        yield from (clean(f"  {row_words(row)}") for row in check.rows)


def leading_words(part: ClaimPart) -> str:
    """Return the numbers of the condition that a claim's row shows, against its bound."""
    check = part.leading
    if check is None:
        return "no numbers"
    primary = CheckRows([row for row in check.rows if row.primary])
    return met_words(primary, BRIEFEST)
