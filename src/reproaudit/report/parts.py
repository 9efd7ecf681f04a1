"""The parts of a page: claims with their rows, in words, too; the grid of choices; the links."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from reproaudit.audit.arms import Role
from reproaudit.audit.model import Claim
from reproaudit.checks import NUMBERS
from reproaudit.formats.numbers import capital, counted, listed, maker_words, number
from reproaudit.formats.outcomes import OUTCOMES, legend
from reproaudit.formats.scorecard import (
    AnswerWords,
    ClaimLine,
    Figure,
    Head,
    Row,
    RowDecision,
    RowRole,
    Scorecard,
    TriedValue,
)
from reproaudit.formats.verdict import Answer, ClaimAnswer, Outcome, Specificity, Verdict
from reproaudit.report.printable import clean

OWN_CLAIMS = "The paper's own claims"
OTHER_SIDE = "The other side's claims"
OTHERS = "Claims of the code, and claims that we derived"
QUESTIONS = "Questions of ours, which the paper does not raise"

ROLES = {
    RowRole.DECIDES: "",
    RowRole.ALSO_SAID: "also said: ",
    RowRole.STRICTER: "stricter, ours: ",
}
"""The label of a check by its role."""

ARMS = {
    Role.CONTROL: "control",
    Role.POSITIVE_CONTROL: "should succeed",
    Role.ABLATION: "",
    Role.ALTERNATIVE: "guess",
    Role.COMPARED: "compared with",
}
"""The label of an arm by its role, but the claim's own."""


CheckRows = Sequence[Row]
"""The rows of one condition: in the claim's own arm first, then in all others."""


def asking_row(rows: CheckRows) -> Row:
    """Return the row that says what is asked."""
    return next((row for row in rows if row.bound_words), rows[0])


def own_row(rows: CheckRows) -> Row:
    """Return the first row of the claim's own runs."""
    return next(filter(is_stated, rows), rows[0])


def bounded_words(rows: CheckRows) -> str:
    """Return what is asked: the quantity, what the check makes of it, and the bound."""
    row = asking_row(rows)
    number = NUMBERS.get(row.condition)
    is_said = row.noun != row.quantity  # as of a difference, whose sides it names
    made = f" ({number.label})" if number and number.label and not is_said else ""
    bound = f", {row.bound_words}" if row.bound_words else ""
    return f"{ROLES[row.role]}{row.means or f'{row.quantity}{made}'}{bound}"


def asks_words(rows: CheckRows) -> str:
    """Return what is asked, with the reason of a bound of ours."""
    why = asking_row(rows).bound_why
    return f"{bounded_words(rows)} ({why})" if why else bounded_words(rows)


def is_met(rows: CheckRows) -> bool:
    """Tell whether the claim's own runs, and those of every stated reading, meet it."""
    return all(row.decision is RowDecision.MET for row in rows if is_stated(row))


@dataclass(frozen=True)
class ClaimPart:
    """All that a page says of one claim."""

    line: ClaimLine
    words: AnswerWords
    claim: Claim
    answer: ClaimAnswer
    rows: Sequence[Row]
    figure: Figure | None

    @property
    def name(self) -> str:
        """The claim's name within its paper."""
        return self.line.name

    def asked(self, rows: CheckRows) -> str:
        """Return what is asked, in brief; of a main claim with the reason of a bound of ours."""
        return asks_words(rows) if self.line.main else bounded_words(rows)

    @cached_property
    def checks(self) -> list[CheckRows]:
        """The rows by condition, those that decide first."""
        groups: dict[tuple[RowRole, int, str], list[Row]] = {}
        for role in RowRole:
            for row in self.rows:
                if row.role is role:
                    groups.setdefault((role, row.place, row.condition), []).append(row)
        return [*groups.values()]

    @property
    def leading(self) -> CheckRows | None:
        """The condition that the claim's row shows, or else the first that decides."""
        deciding = {
            (rows[0].place, rows[0].condition): rows
            for rows in self.checks
            if rows[0].role is RowRole.DECIDES
        }
        shown = self.answer.leading
        named = None if shown is None else deciding.get((shown.check, shown.name))
        return named or next(iter(deciding.values()), None)


def is_stated(row: Row) -> bool:
    """Tell whether a row is of the claim's own runs, or of a reading that a source states."""
    return row.arm_role in (Role.OWN, Role.READING)


def is_expected(row: Row) -> bool:
    """Tell whether an arm that is not the claim's own ended as it should."""
    if is_stated(row):
        return False
    if row.arm_role is Role.CONTROL and row.answer:
        return row.answer == Verdict.FAILS
    if row.arm_role is Role.CONTROL:  # at a coordinate that does not decide
        return row.decision is RowDecision.MISSED
    if row.arm_role is Role.ABLATION:
        return row.answer != Specificity.NOT_SPECIFIC
    return row.decision is RowDecision.MET


def parts(card: Scorecard) -> list[ClaimPart]:
    """Return every claim with all that is said of it, in the order of the first screen."""
    claims = {claim.id: claim for claim in card.audit.claims}
    answers = {answer.id: answer for answer in card.claims}
    words = {said.claim: said for said in card.answers}
    rows: dict[str, list[Row]] = {line.claim: [] for line in card.head.claims}
    for row in card.rows:
        rows[row.claim].append(row)
    return [
        ClaimPart(
            line,
            words[line.claim],
            claims[line.claim],
            answers[line.claim],
            rows[line.claim],
            card.figures.get(line.claim),
        )
        for line in card.head.claims
    ]


def part_of(card: Scorecard, claim: str) -> ClaimPart:
    """Return one claim with all that is said of it, by its id."""
    return next(part for part in parts(card) if part.line.claim == claim)


def sides(head: Head) -> list[tuple[str, tuple[ClaimLine, ...]]]:
    """Return the claims that the first screen lists, under whose they are."""
    titled = {OWN_CLAIMS: head.own, OTHER_SIDE: head.other_side}
    return [(title, lines) for title, lines in titled.items() if lines]


def groups(every: Sequence[ClaimPart]) -> list[tuple[str, list[ClaimPart]]]:
    """Return the claims by whose they are, each with the words that stand above them."""
    titles = {"paper": OWN_CLAIMS, "literature": OTHER_SIDE, "ours": QUESTIONS}
    found: dict[str, list[ClaimPart]] = {}
    for part in every:
        found.setdefault(titles.get(part.line.whose, OTHERS), []).append(part)
    return list(found.items())


def legend_words(lines: Sequence[ClaimLine]) -> str:
    """Return what the marks of some lines mean."""
    return " · ".join(legend({line.outcome for line in lines}))


def title_words(line: ClaimLine) -> str:
    """Return a claim as the beginning of a line."""
    return f"Main: {line.title}" if line.main else capital(line.title)


def is_bold(line: ClaimLine) -> bool:
    """Tell whether a claim stands out in a list: a main one, or one that does not plainly hold."""
    return line.main or line.outcome is not Outcome.SUPPORTED


# --- choices --------------------------------------------------------------------------------------

_MARKS = {
    Answer.YES: "✓",
    Answer.NO: "✗",
    Answer.NEAR: "±",
    Answer.MIXED: "◐",
    Answer.OPEN: "?",
    Answer.BLIND: "○",
    Answer.RULED_OUT: "⊘",
    Answer.UNFINISHED: "–",
}
GRID_MARKS = (
    "✓ yes, ✗ no, ± misses our bound, met or open at twice it, ◐ in part, ? open, "
    "○ no evidence, ⊘ diverges"
)
"""What the marks of the grid mean."""


def claims_changed(card: Scorecard) -> list[ClaimLine]:
    """Return the claims whose answer some value that was tried changes."""
    changed = {cell.claim for value in card.tried for cell in value.cells if cell.changes}
    return [line for line in card.head.claims if line.claim in changed]


def values_alike(values: Sequence[TriedValue]) -> list[tuple[str, list[str]]]:
    """Return values in words, joined where the same is to be said of them."""
    said: dict[str, list[str]] = {}
    for value in values:
        said.setdefault(value.text, []).append(f"{value.words} → {value.value}")
    return list(said.items())


def tried_words(value: TriedValue, line: ClaimLine) -> tuple[str, bool]:
    """Return both sides of a claim's answer, as run and with a value; whether it changes.

    A side is a mark and a count; '' where it was not judged.
    """
    cell = next((cell for cell in value.cells if cell.claim == line.claim), None)
    if cell is None:
        return "", False
    own = f"{_MARKS[cell.own_answer]} {cell.own_yes}/{cell.own_n}"
    return f"{own} → {_MARKS[cell.answer]} {cell.yes}/{cell.n}", cell.changes


# --- links ----------------------------------------------------------------------------------------

_REPOSITORY = re.compile(r"^(?:https://github\.com/|GitHub )([\w.-]+/[\w.-]+)")


def links(card: Scorecard) -> Iterator[tuple[str, str]]:
    """Yield where the paper, its code, and the data behind the page are: words and address."""
    if card.head.link:
        yield f"arXiv {card.paper.arxiv}" if card.paper.arxiv else "paper", card.head.link
    if repository := _REPOSITORY.match(card.head.code):
        yield "authors' code", f"https://github.com/{repository[1]}"
    yield "every number (JSON)", "scorecard.json"
    if card.made.listed is not None:
        yield "records", "records.tar.xz"


# --- the head, and how to read --------------------------------------------------------------------


def meta(card: Scorecard) -> list[str]:
    """Return authors, scale and what was read, as the first line has them."""
    head = card.head
    scale = ", ".join(filter(None, (head.scale, head.runs)))
    read = f"read: {head.read}" if head.read else ""
    return [*filter(None, (head.byline, scale, stand_in_words(head), read))]


def whose_words(card: Scorecard) -> list[str]:
    """Return whose measurements are not ours, and how many of the runs given were judged."""
    if card.origin is None:
        return []
    made = maker_words(card.origin.who, card.origin.source)
    return [f"Not ours: {made}.", *card.made.counted]


def stand_in_words(head: Head) -> str:
    """Return on what every claim was run in place of the paper's own; '' of a paper without."""
    return f"on a stand-in: {head.stand_in}" if head.stand_in else ""


def facts_shown(part: ClaimPart, most: int) -> list[tuple[str, str]]:
    """Return the first facts of a claim, and in any case the settings that it was run with."""
    facts = part.words.facts
    return [fact for place, fact in enumerate(facts) if place < most or fact[0] == "Run with"]


def certainty_words(part: ClaimPart) -> str:
    """Return how sure an answer is, and why not surer; or why there is none."""
    return ": ".join(filter(None, (part.line.level, "; ".join(part.words.certainty))))


_COLUMNS = (
    ("Certainty", "It starts at high; each reason takes a step off."),
    ("Runs", "How many say yes, and the share of all runs that would, a 90 % interval."),
    ("Control", "Nothing to learn, or a wrong reference. It must fail."),
)


def how_to_read(card: Scorecard) -> list[tuple[str, str]]:
    """Return the words that a page explains: the outcomes that it has, and columns."""
    there = {claim.outcome for claim in card.claims}
    outcomes = [
        f"{at.mark} {outcome.value}: {at.means}."
        for outcome, at in OUTCOMES.items()
        if outcome in there
    ]
    said = " ".join(["Each run says yes or no to the whole claim.", *outcomes])
    return [("Outcome", said), *_COLUMNS]


def closing(counts: Mapping[Outcome, int]) -> str:
    """Return one line with the counts of outcomes, failures first."""
    every = [
        f"{counts[outcome]} {outcome.value}" for outcome in reversed(Outcome) if counts.get(outcome)
    ]
    return f"{counted(sum(counts.values()), 'claim')}: {', '.join(every)}."


# --- rows in words --------------------------------------------------------------------------------

BRIEFEST = 5
"""The step at which a page leaves out as much as it may."""


def rows_shown(check: CheckRows, brief: int) -> list[Row]:
    """Return the rows of a condition that a page prints; every one that is not met is among them.

    Args:
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
