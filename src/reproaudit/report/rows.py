"""A row in words, as every rendering prints it, and which rows a brief page keeps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from reproaudit.audit.arms import Role
from reproaudit.formats.numbers import counted, listed, number
from reproaudit.formats.scorecard import Row, RowDecision, RowRole
from reproaudit.report.parts import (
    ARMS,
    CheckRows,
    ClaimPart,
    asks_words,
    bounded_words,
    certainty_words,
    is_expected,
    is_stated,
    own_row,
)
from reproaudit.report.printable import clean

BRIEFEST = 5
"""The step at which a page leaves out as much as it may."""


def rows_shown(check: CheckRows, brief: int) -> list[Row]:
    """Return the rows of a condition that a page prints; every one that is not met is among them.

    Args:
        check: the condition.
        brief: 0 for all rows; 1 without other values of guesses, which have a table of their own;
            from 2 on without any other arm that ended as it should; from 4 on without stated
            readings that meet it in as many runs as the claim's own.
    """
    return [row for row in check if _is_shown(check, row, brief)]


def _is_shown(check: CheckRows, row: Row, brief: int) -> bool:
    if is_stated(row):
        alike = row.decision is RowDecision.MET and row.count == own_row(check).count
        return brief < 4 or row.arm == own_row(check).arm or not alike
    if not brief:
        return True
    if row.arm_role is Role.ALTERNATIVE:
        return False
    return brief == 1 or not is_expected(row)


def rows_left_out(every: Sequence[ClaimPart], brief: int) -> str:
    """Return how many rows a page leaves out; guesses have a table of their own."""
    left = [
        row
        for part in every
        for check in part.checks
        for row in check
        if row.arm_role is not Role.ALTERNATIVE and not _is_shown(check, row, brief)
    ]
    stated = sum(map(is_stated, left))
    counts = (
        (stated, "of stated values that are met in as many runs"),
        (len(left) - stated, "of other arms that, by all checks together, ended as they should"),
    )
    rows = "; ".join(f"{counted(count, 'row')} {which}" for count, which in counts if count)
    return f"Not on this page, but in scorecard.json: {rows}." if rows else ""


def said_in_brief(check: CheckRows, brief: int) -> Iterator[tuple[str, bool]]:
    """Yield the rows of a condition in brief, and whether each is the claim's own and not met.

    Args:
        check: the condition.
        brief: as of `rows_shown`; from 4 on, rows of one role that end alike are joined.
    """
    alike: dict[tuple[str, ...], list[Row]] = {}
    for row in rows_shown(check, brief):
        ended = (row.arm_role, row.at_words, row.count, row.decision.value)
        is_joined = brief >= 4 and row.arm != own_row(check).arm
        key = ended if is_joined else (*ended, row.arm, row.beside or "")
        alike.setdefault(key, []).append(row)
    for same in alike.values():
        unmet = is_stated(same[0]) and same[0].decision is not RowDecision.MET
        yield _joined(check, same, brief), unmet


def _joined(check: CheckRows, rows: Sequence[Row], brief: int) -> str:
    """Rows that end alike, in brief: in which arms, k of n, the numbers, the decision."""
    first = rows[0]
    is_base = first.arm == own_row(check).arm
    numbers = dict.fromkeys(
        numbers_words(row) if row.mean or row.far else row.typical_words for row in rows
    )
    aside = f" ({', '.join(filter(None, numbers))})" if any(numbers) else ""
    decided = decision_words(first)
    if decided and not is_base:
        decided = first.decision.value
    said = f"{first.count}{' each' if len(rows) > 1 else ''}{aside}"
    said = f"{said}, {decided}" if decided else said
    names = listed([row.arm_words for row in rows])
    others = {row.arm for row in check if is_stated(row)} - {own_row(check).arm}
    if brief > BRIEFEST and len(others) > 1 and {row.arm for row in rows} == others:
        names = "every other stated value"
    named = f"with {names}" if is_stated(first) else _labelled(first.arm_role, names)
    at = ", ".join(filter(None, (first.at_words, "" if is_base else named)))
    return f"{at}: {said}" if at else said


def met_words(asks: str, check: CheckRows, brief: int) -> str:
    """Return a condition that is met, in brief: what is asked, and k of n with the typical run."""
    return f"{asks}: {', '.join(words for words, _ in said_in_brief(check, brief))}"


def arm_words(row: Row) -> str:
    """Return what a page calls the arm of a row, with its coordinate."""
    named = _labelled(row.arm_role, row.arm_words)
    return f"{named}, {row.at_words}" if row.at_words else named


def _labelled(role: Role, words: str) -> str:
    label = ARMS.get(role, "")
    return f"{label}: {words}" if label else words


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


def arms_counted(rows: Iterable[Row], *roles: Role) -> list[Row]:
    """Return a row for each arm of some roles, whose `all_yes` of `all_n` runs say yes."""
    decide = (row for row in rows if row.role is RowRole.DECIDES and row.primary)
    return [*{(row.claim, row.arm): row for row in decide if row.arm_role in roles}.values()]


def guess_rows(part: ClaimPart) -> list[Row]:
    """Return the rows of a claim under other values of guesses."""
    return [row for row in part.rows if row.arm_role is Role.ALTERNATIVE]


def claim_details(part: ClaimPart) -> Iterator[str]:
    """Yield everything that a test log should say of a claim, one line each."""
    yield clean(f"{part.claim.says} ({part.claim.locator})")
    yield clean(f"outcome: {part.line.outcome}; certainty: {certainty_words(part) or 'none'}")
    yield clean(f"runs: {part.words.runs}")
    for check in part.checks:
        yield clean(asks_words(check))
        yield from (clean(f"  {row_words(row)}") for row in check)


def leading_words(part: ClaimPart) -> str:
    """Return the numbers of the condition that a claim's row shows, against its bound."""
    if part.leading is None:
        return "no numbers"
    primary = [row for row in part.leading if row.primary and is_stated(row)]
    return met_words(bounded_words(primary), primary, BRIEFEST)
