"""A scorecard in a terminal: its head, what is not met, and with `--verbose` every row.

Lines are wrapped, never cut, so that no number is lost at any width.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from reproaudit.audit.arms import Role
from reproaudit.formats.numbers import counted, of
from reproaudit.formats.scorecard import ClaimLine, Row, RowDecision, Scorecard
from reproaudit.formats.verdict import Level, Verdict
from reproaudit.records import Record
from reproaudit.report.making import as_written_words, note_words
from reproaudit.report.parts import (
    ClaimPart,
    arms_counted,
    asks_words,
    bounded_words,
    certainty_words,
    closing,
    groups,
    is_stated,
    legend_words,
    meta,
    own_row,
    parts,
    row_words,
    sides,
    stand_in_words,
    title_words,
    whose_words,
)

LINE_WIDTH = 80
MOST_REMARKS = 5
"""The most remarks on the measurements that `judge` prints; more are counted."""


def report_lines(card: Scorecard, width: int = LINE_WIDTH) -> Iterator[str]:
    """Yield the lines of `report SLUG`: the first screen, then what is not met."""
    head = card.head
    yield from _wrapped(head.title, width)
    read = [*meta(card), f"not read: {head.not_read}" if head.not_read else ""]
    yield from _wrapped(" · ".join(filter(None, read)), width)
    yield from _verdict(card, width)
    if head.note is not None:
        yield from ("", *_wrapped(f"“{head.note.text}”", width, "  "))
        yield from _wrapped(f"— {note_words(head.note)}", width, "  ")
    for title, lines in sides(head):
        yield from ("", *_wrapped(f"{title} · {legend_words(lines)}", width))
        yield from _claims(lines, width)
    yield from _wrapped(head.fold, width)
    if head.choices:
        yield from ("", "Choices that matter")
    for choice in head.choices:
        values = f"{choice.value} → {', '.join(choice.others)}"
        changes = "; ".join(effect.text for effect in choice.effects)
        text = f"{choice.words}: {values}; {changes} (scale: {choice.scale})"
        yield from _wrapped(text, width, "  ", "    ")
    yield from _wrapped(head.choices_below, width, "  ", "    ")
    if head.questions:
        yield from ("", head.questions_title)
    for place, question in enumerate(head.questions, 1):
        yield from _wrapped(f"{place}. {question.text}", width, "  ", "     ")
    if head.ours:
        yield from ("", *_wrapped(f"Ours: {head.ours}", width))
    yield from _unmet(card, width, "--verbose has")


def judged_lines(card: Scorecard, width: int = LINE_WIDTH) -> Iterator[str]:
    """Yield the lines of `judge`: the verdict, a line a claim, and what was not used."""
    yield from _wrapped(f"{card.head.title}. {' · '.join(meta(card))}", width)
    yield from _verdict(card, width)
    yield ""
    yield from _claims(card.head.claims, width)
    for row in arms_counted(card.rows, Role.READING, Role.ALTERNATIVE):
        count = of(row.all_yes, row.all_n)
        text = f"{row.name} with {row.arm_words}: {count}, {row.answer}"
        yield from _wrapped(text, width, "  ", "    ")
    yield from _unmet(card, width, "--out writes")
    remarks = card.made.remarks
    if remarks:
        yield ""
    for remark in remarks[:MOST_REMARKS]:
        yield from _wrapped(remark, width, "", "  ")
    if more := len(remarks[MOST_REMARKS:]):
        yield f"… and {more} more remarks on the measurements: --out writes the page."


def run_lines(card: Scorecard, width: int = LINE_WIDTH) -> Iterator[str]:
    """Yield the lines of `run SLUG`: the verdict, a line for each claim, and the counts."""
    kept = card.records
    both = ((kept.failed, "failed"), (kept.diverged, "diverged"))
    ended = [f"{count} {how}" for count, how in both if count]
    aside = f" ({', '.join(ended)})" if ended else ""
    runs = f"{counted(kept.count, 'run')}{aside}, {kept.seconds / 60:.1f} core-minutes"
    said = (card.slug, card.head.scale, stand_in_words(card.head), runs)
    yield from _wrapped(" · ".join(filter(None, said)), width)
    yield from _verdict(card, width)
    if card.tier == "smoke":
        return
    yield ""
    yield from _claims((*card.head.own, *card.head.other_side), width)
    yield from _wrapped(card.head.fold, width)
    yield ""
    levels = [claim.level for claim in card.claims if claim.level is not None]
    if card.tier == "quick" and levels and _is_smaller(card):
        best = min(levels, key=list(Level).index)
        yield f"Certainty {best} at best: reduced scale."
    yield closing(card.head.counts.paper)


def detail_lines(card: Scorecard, width: int = LINE_WIDTH) -> Iterator[str]:
    """Yield what `--verbose` adds: every row of every claim."""
    for title, some in groups(parts(card)):
        yield from ("", title)
        for part in some:
            yield from ("", *_details(part, width))


def _details(part: ClaimPart, width: int) -> Iterator[str]:
    yield from _wrapped(f"{part.line.mark} {part.name}: {part.words.finding}", width, "", "  ")
    yield from _wrapped(f"{part.claim.says} {part.words.source}", width, "  ")
    if said := certainty_words(part):
        yield from _wrapped(f"certainty: {said}", width, "  ", "    ")
    for check in part.checks:
        yield from _wrapped(asks_words(check), width, "  ", "    ")
        for row in check:
            decided = "" if row.decision.value in row_words(row) else f", {row.decision.value}"
            yield from _wrapped(f"{row_words(row)}{decided}", width, "    ", "      ")
    for label, text in part.words.facts:
        yield from _wrapped(f"{label}: {text}", width, "  ", "    ")


def _verdict(card: Scorecard, width: int) -> Iterator[str]:
    for sentence in whose_words(card):
        yield from _wrapped(sentence, width)
    if card.rule is not None:
        yield from _wrapped(card.rule.text, width)
    yield from _wrapped(as_written_words(card), width)
    yield from ("", *_wrapped(" ".join(card.head.verdict), width))


def _claims(lines: Sequence[ClaimLine], width: int) -> Iterator[str]:
    for line in lines:
        ours = " (ours)" if line.whose == "ours" else ""
        yield from _wrapped(
            f"{line.mark} {title_words(line)}{ours}: {line.text} [{line.name}]", width, "  ", "    "
        )


def _unmet(card: Scorecard, width: int, where: str) -> Iterator[str]:
    """Yield each claim with the conditions that its runs miss; under other values, how many.

    Args:
        where: which option shows the numbers, with its verb.
    """
    every = [] if card.tier == "smoke" else parts(card)
    said = {part.name: [*dict.fromkeys(_unmet_of(part))] for part in every}
    if any(said.values()):
        yield from ("", f"Not met ({where} every number)")
    for name, conditions in said.items():
        if conditions:
            yield from _wrapped(f"{name}: {'; '.join(conditions)}", width, "  ", "    ")


def _unmet_of(part: ClaimPart) -> Iterator[str]:
    elsewhere = 0
    for check in part.checks:
        unmet = [row for row in check if is_stated(row) and _is_unmet(row)]
        own = [row for row in unmet if row.arm == own_row(check).arm]
        counts = ", ".join(": ".join(filter(None, (row.at_words, _ended(row)))) for row in own)
        if own:
            yield f"{bounded_words(check)}: {counts}"
        elsewhere += len(unmet) > len(own)
        blind = [row for row in check if row.answer == Verdict.ITSELF]
        yield from (f"control {row.arm_words}: {row.decision}, {row.why}" for row in blind)
    if elsewhere:
        yield f"{counted(elsewhere, 'condition')} with other stated values"


def _is_unmet(row: Row) -> bool:
    """Whether a condition is not met; one that is met as far as it ran is open alone."""
    return row.decision is not RowDecision.MET and (row.yes < row.n or not row.n)


def _ended(row: Row) -> str:
    return row.count if row.decision is RowDecision.MISSED else f"{row.count} ({row.decision})"


def _is_smaller(card: Scorecard) -> bool:
    """Whether any experiment is smaller at this tier than at the paper's own scale."""
    every = card.audit.every_setting().values()
    return any(setting.at(card.scale) != setting.value for setting in every)


def _wrapped(text: str, width: int, indent: str = "", hanging: str = "") -> Sequence[str]:
    return textwrap.wrap(
        text,
        width,
        initial_indent=indent,
        subsequent_indent=hanging or indent,
        break_on_hyphens=False,
        break_long_words=False,
    )


def measurement_lines(records: Iterable[Record]) -> Iterator[str]:
    """Yield what records measured: the numbers, and of a series the first and the last."""
    for record in records:
        error = f" ({record.error})" if record.error else ""
        seed = f"{record.paper} {record.experiment}, seed {record.seed}"
        yield f"{seed}: {record.status.value}{error}"
        measured = record.measurements
        for name, value in measured.scalars.items():
            yield f"  {name}: {value:.4g}"
        for name, series in measured.series.items():
            first = _numbers(series.values[0])
            last = _numbers(series.values[-1])
            yield f"  {name}: {first} → {last} at step {series.steps[-1]}"
        for name, array in measured.arrays.items():
            yield f"  {name}: {_numbers(array)}"
    yield "Custom records feed no answer of a tier."


def _numbers(values: Any) -> str:
    flat = values.ravel()
    text = ", ".join(f"{v:.4g}" for v in flat[:12])
    return f"{text}, … ({flat.size} numbers)" if flat.size > 12 else text
