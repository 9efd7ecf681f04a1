"""A scorecard in a terminal: `report` at most 50 lines, `run` at most 25 a paper."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from reproaudit.formats.scorecard import Scorecard
from reproaudit.formats.verdict import ArmAnswer, Level
from reproaudit.records import Record
from reproaudit.report.claims import ClaimText, questions_of, texts_of
from reproaudit.report.numbers import counted, of
from reproaudit.report.outline import about_runs, as_written_words, byline, counts_of, scale_words
from reproaudit.report.screen import (
    closing,
    ordered_claims,
    ours,
    questions,
    questions_heading,
    sections,
    verdict,
)
from reproaudit.report.words import look

LINE_WIDTH = 80

MOST_LINES = 50
"""Of a report; a longer one goes without its list of claims, then bullets are cut."""

MOST_RUN_LINES = 25
"""Of a run; the claims that do not fit are counted."""
MOST_JUDGED = 10
MOST_REMARKS = 5
"""Of `judge`, which prints at most 25 lines: of its claims, of the paragraph, of its remarks."""


def report_lines(card: Scorecard, width: int = LINE_WIDTH) -> Iterator[str]:
    """Yield the lines of `report SLUG`: the first screen, then a line a claim."""
    for fitted, rows in ((_wrapped, True), (_wrapped, False), (_two_lines, False)):
        lines = list(_report(card, width, fitted, rows))
        if len(lines) <= MOST_LINES:
            break
    yield from lines


def _report(
    card: Scorecard, width: int, fitted: Callable[..., Sequence[str]], rows: bool
) -> Iterator[str]:
    yield from _head(card, _titled(card), width)
    if card.audit.about and rows:
        yield from ("", *_wrapped(card.audit.about, width))
    for section in sections(card):
        yield from ("", section.heading)
        for bullet in section.bullets:
            yield from fitted(f"{bullet.mark} {bullet.title} {bullet.text}", width, "  ", "    ")
    if asked := questions(card):
        yield from ("", questions_heading(card))
        for place, question in enumerate(asked, 1):
            yield from fitted(f"{place}. {question.text}", width, "  ", "     ")
    if said := ours(card):
        yield from ("", *fitted(f"Ours: {said}", width))
    if rows and card.tier != "smoke":
        yield ""
        claims = [*ordered_claims(card), *questions_of(card)]
        yield from _rows(claims, len(claims), _answered, width)


def _titled(card: Scorecard) -> str:
    return f"{card.paper.title}. {byline(card)} · {about_runs(card)}"


def _head(card: Scorecard, title: str, width: int) -> Iterator[str]:
    yield from _wrapped(title, width)
    if card.origin is not None:
        who = f"{card.origin.who} ({card.origin.source})"
        yield from _wrapped(f"Not ours: measured by {who}.", width)
    yield from _wrapped(as_written_words(card), width)
    yield from ("", *_wrapped(" ".join(verdict(card)), width))


def _rows(
    claims: Sequence[ClaimText], most: int, said: Callable[[ClaimText], str], width: int
) -> Iterator[str]:
    """Yield a line a claim, with its mark and name; those beyond so many lines are counted."""
    names = max((len(one.name) for one in claims), default=0)
    shown = claims if len(claims) <= most else claims[: most - 1]
    for claim in shown:
        mark = look(claim.answer.outcome).mark
        yield _cut(f"  {mark} {claim.name:<{names}}  {said(claim)}", width)
    if left := len(claims) - len(shown):
        yield f"  … and {left} more"


def _answered(claim: ClaimText) -> str:
    answer = claim.answer
    asked = ", ours" if claim.claim.ours else ""
    return f"{answer.outcome:<16} {answer.level or '':<8} {_runs(claim)}{asked}"


def _judged(claim: ClaimText) -> str:
    reasons = claim.answer.reasons
    why = claim.why(reasons[0]) if reasons and claim.answer.level is None else claim.effect
    return f"{claim.answer.outcome:<16} {_runs(claim):<8}  {why}"


def _ran(claim: ClaimText) -> str:
    return f"{_runs(claim):<9} {claim.effect}"


def _runs(claim: ClaimText) -> str:
    return of(claim.base.yes, claim.base.n)


def judged_lines(card: Scorecard, width: int = LINE_WIDTH) -> Iterator[str]:
    """Yield the lines of `judge`: the verdict, a line a claim, and what was not used."""
    yield from _head(card, _titled(card), width)
    yield ""
    shown = [*ordered_claims(card), *questions_of(card)]
    yield from _rows(shown, MOST_JUDGED, _judged, width)
    for claim in shown[:MOST_JUDGED]:
        for other in (*claim.answer.readings, *claim.answer.alternatives):
            yield _cut(f"    {claim.name} with {claim.arm(other)}: {counts_of(other)}", width)
    remarks = card.made.remarks
    if remarks:
        yield ""
    yield from (_cut(remark, width) for remark in remarks[:MOST_REMARKS])
    if more := len(remarks[MOST_REMARKS:]):
        yield f"… and {more} more remarks on the measurements: --out writes the page."


def run_lines(card: Scorecard) -> Iterator[str]:
    """Yield the lines of `run SLUG`: the verdict, a line for each claim, and the counts."""
    kept = card.records
    both = ((kept.failed, "failed"), (kept.diverged, "diverged"))
    ended = [f"{count} {how}" for count, how in both if count]
    aside = f" ({', '.join(ended)})" if ended else ""
    runs = f"{counted(kept.count, 'run')}{aside}, {kept.seconds / 60:.1f} core-minutes"
    head = list(_head(card, f"{card.paper.slug} · {scale_words(card)} · {runs}", LINE_WIDTH))
    yield from head
    if card.tier == "smoke":
        return
    yield ""
    yield from _rows(ordered_claims(card), max(MOST_RUN_LINES - len(head) - 4, 1), _ran, LINE_WIDTH)
    yield ""
    levels = [claim.level for claim in card.claims if claim.level is not None]
    if card.tier == "quick" and levels:
        best = min(levels, key=list(Level).index)
        yield f"Certainty {best} at best: reduced scale."
    yield closing(card.of_paper)


def detail_lines(card: Scorecard) -> Iterator[str]:
    """Yield what `--verbose` adds: every arm of every claim."""
    for claim in texts_of(card):
        yield ""
        yield from _wrapped(f"{claim.name}: {claim.claim.says}", LINE_WIDTH)
        yield f"  {claim.claim.locator}"
        for estimate in claim.base.estimates:
            yield from _wrapped(claim.said(estimate), LINE_WIDTH, "  ")
        for label, said, arm in _arms(claim):
            loss = ", loss {:.3g} → {:.3g}".format(*arm.trained) if arm.trained else ""
            yield _cut(f"  {label:<11} {said}: {counts_of(arm)}{loss}", LINE_WIDTH)


def _arms(claim: ClaimText) -> Iterator[tuple[str, str, ArmAnswer]]:
    answer = claim.answer
    yield from (("at", f"{claim.symbol} = {grade.at}", grade) for grade in answer.grades)
    yield from (("reading", claim.arm(reading), reading) for reading in answer.readings)
    yield from (("support", *pair) for pair in claim.support)
    yield from (("note", *pair) for pair in claim.notes)
    yield from (("control", claim.arm(control), control) for control in answer.controls)
    yield from (("without", claim.lacks(ablation), ablation) for ablation in answer.ablations)
    yield from (
        ("alternative", claim.arm(alternative), alternative) for alternative in answer.alternatives
    )


def _wrapped(text: str, width: int, indent: str = "", hanging: str = "") -> Sequence[str]:
    return textwrap.wrap(
        text,
        width,
        initial_indent=indent,
        subsequent_indent=hanging or indent,
        break_on_hyphens=False,
    )


def _two_lines(text: str, width: int, indent: str = "", hanging: str = "") -> Sequence[str]:
    lines = _wrapped(text, width, indent, hanging)
    return lines if len(lines) < 3 else [lines[0], _cut(f"{lines[1]}{'…' * width}", width)]


def _cut(line: str, width: int) -> str:
    return line if len(line) <= width else line[: width - 1].rstrip() + "…"


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
