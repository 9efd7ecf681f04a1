"""A scorecard in a terminal: `report` at most 60 lines, `run` at most 25 a paper."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from typing import Any

from reproaudit.records import Record
from reproaudit.report.choices import choices_of
from reproaudit.report.claims import ClaimText, texts_of
from reproaudit.report.numbers import counted, of
from reproaudit.report.outline import (
    as_written_words,
    byline,
    common_reasons,
    common_words,
    counts_of,
    reasons_of,
    scale_words,
    share_of,
)
from reproaudit.report.paragraph import authors_should_state, closing, ours, summary
from reproaudit.report.words import look
from reproaudit.verdict import ArmAnswer, Level, Outcome, ReasonKind, Scorecard

LINE_WIDTH = 80

MOST_LINES = 60
"""Of a report; of a longer one, what does not fit on a claim's lines is cut, then what is plain."""

MOST_RUN_LINES = 25
"""Of a run; the claims that do not fit are counted."""
MOST_JUDGED = 10
MOST_SUMMARY = 6
MOST_REMARKS = 5
"""Of `judge`, which prints at most 25 lines: of its claims, of the paragraph, of its remarks."""


def report_lines(card: Scorecard, width: int = LINE_WIDTH) -> Iterator[str]:
    """Yield the lines of `report SLUG`."""
    for fitted, plain in ((_wrapped, True), (_first_line, True), (_first_line, False)):
        lines = list(_report(card, width, fitted, plain))
        if len(lines) <= MOST_LINES:
            break
    yield from lines


def _report(
    card: Scorecard, width: int, fitted: Callable[[str, int, str], Sequence[str]], plain: bool
) -> Iterator[str]:
    yield from _wrapped(_title(card), width)
    if card.origin is not None:
        who = f"{card.origin.who} ({card.origin.source})"
        yield from _wrapped(f"Not ours: measured by {who}.", width)
    yield from _as_written(card, width)
    yield ""
    if card.audit.about:
        yield from _wrapped(card.audit.about, width)
        yield ""
    yield from _wrapped(" ".join(summary(card)), width)
    yield ""
    yield from _wrapped(f"The authors should state: {authors_should_state(card)}", width)
    yield from _wrapped(f"Ours: {ours(card)}", width)
    yield ""
    claims = texts_of(card)
    said = common_reasons(claims)
    yield from _wrapped(common_words(claims), width)
    names = max((len(one.name) for one in claims), default=0)
    for claim in claims:
        outcome = claim.answer.outcome
        level = claim.answer.level or ""
        low_high = share_of(claim) if claim.base.n else ""
        yield _cut(
            f"  {look(outcome).mark} {claim.name:<{names}}  "
            f"{outcome:<16} {level:<8} {of(claim.base.yes, claim.base.n)}  {low_high}",
            width,
        )
        whole = plain or outcome is not Outcome.SUPPORTED
        if whole:
            yield from fitted(claim.effect, width, "      ")
            more = [claim.phrase, _why(claim, said)]
            yield from fitted("; ".join(filter(None, more)), width, "      ")
    if choices := [one for one in choices_of(card) if one.changes]:
        yield ""
        yield "Unstated choices that matter"
        for one in choices:
            yield from fitted(f"{one.name}: {'; '.join(one.answers)}", width, "  ")


def judged_lines(card: Scorecard, width: int = LINE_WIDTH) -> Iterator[str]:
    """Yield the lines of `judge`: the answers, what they rest on, and what was not used."""
    yield _cut(_title(card), width)
    claims = texts_of(card)
    names = max((len(one.name) for one in claims), default=0)
    shown = claims if len(claims) <= MOST_JUDGED else claims[: MOST_JUDGED - 1]
    is_short = 2 * len(shown) <= MOST_JUDGED
    for claim in shown:
        outcome = claim.answer.outcome
        share = of(claim.base.yes, claim.base.n)
        head = f"  {look(outcome).mark} {claim.name:<{names}}  {outcome:<16} {share:<8}  "
        why = _why(claim, ())
        yield _cut(head + (claim.effect if is_short or not why else why), width)
        if is_short and outcome is not Outcome.SUPPORTED:
            yield from _first_line(why, width, "      ")
    if claims[len(shown) :]:
        yield f"  … and {len(claims) - len(shown)} more"
    yield ""
    yield from _wrapped(" ".join(summary(card)), width)[:MOST_SUMMARY]
    if card.origin is not None:
        yield _cut(f"Not ours: measured by {card.origin.who} ({card.origin.source}).", width)
    remarks = card.made.remarks
    yield from (_cut(one, width) for one in remarks[:MOST_REMARKS])
    if remarks[MOST_REMARKS:]:
        more = len(remarks) - MOST_REMARKS
        yield f"… and {more} more remarks on the measurements: --out writes the page."


def run_lines(card: Scorecard) -> Iterator[str]:
    """Yield the lines of `run SLUG`: the paragraph, a line for each claim, and the counts."""
    head = [*_wrapped(_head(card), LINE_WIDTH), *_as_written(card, LINE_WIDTH), ""]
    head += _wrapped(" ".join(summary(card)), LINE_WIDTH)
    yield from head
    if card.tier == "smoke":
        return
    yield ""
    names = max((len(one.name) for one in card.claims), default=0)
    claims = sorted(texts_of(card), key=lambda one: look(one.answer.outcome).order)
    room = max(MOST_RUN_LINES - len(head) - 4, 1)
    shown = len(claims) if len(claims) <= room else room - 1
    for claim in claims[:shown]:
        mark = f"  {look(claim.answer.outcome).mark} {claim.name:<{names}}  "
        counts = f"{of(claim.base.yes, claim.base.n):<9}"
        yield _cut(f"{mark}{counts} {claim.effect}", LINE_WIDTH)
    if claims[shown:]:
        yield f"  … and {len(claims) - shown} more"
    yield ""
    levels = [one.level for one in card.claims if one.level is not None]
    if card.tier == "quick" and levels:
        best = min(levels, key=list(Level).index)
        yield f"Certainty {best} at best: reduced scale."
    yield closing(card.claims)


def detail_lines(card: Scorecard) -> Iterator[str]:
    """Yield what `--verbose` adds: every arm of every claim."""
    for claim in texts_of(card):
        yield ""
        yield from _wrapped(f"{claim.name}: {claim.claim.says}", LINE_WIDTH)
        yield f"  {claim.claim.locator}"
        for one in claim.base.estimates:
            yield from _wrapped(claim.said(one), LINE_WIDTH, "  ")
        for label, said, arm in _arms(claim):
            loss = f", loss {_trained(arm.trained)}" if arm.trained else ""
            yield _cut(f"  {label:<11} {said}: {counts_of(arm)}{loss}", LINE_WIDTH)


def _arms(claim: ClaimText) -> Iterator[tuple[str, str, ArmAnswer]]:
    """Every arm of a claim: what it is to it, its name, its answer."""
    answer = claim.answer
    yield from (("at", f"{claim.symbol} = {one.at}", one) for one in answer.grades)
    yield from (("reading", claim.arm(one), one) for one in answer.readings)
    yield from (("support", *pair) for pair in claim.support)
    yield from (("note", *pair) for pair in claim.notes)
    yield from (("control", claim.arm(one), one) for one in answer.nulls)
    yield from (("without", claim.lacks(one), one) for one in answer.ablations)
    yield from (("alternative", claim.arm(one), one) for one in answer.alternatives)


def _trained(ends: tuple[float, float]) -> str:
    return f"{ends[0]:.3g} → {ends[1]:.3g}"


def _as_written(card: Scorecard, width: int) -> Sequence[str]:
    return _wrapped(as_written_words(card), width)


def _title(card: Scorecard) -> str:
    return f"{card.paper.title}. {byline(card)} · {scale_words(card)}"


def _head(card: Scorecard) -> str:
    """The paper, its tier, and how many runs took how long."""
    kept = card.records
    both = ((kept.failed, "failed"), (kept.diverged, "diverged"))
    ended = [f"{count} {how}" for count, how in both if count]
    aside = f" ({', '.join(ended)})" if ended else ""
    runs = f"{counted(kept.count, 'run')}{aside}, {kept.seconds / 60:.1f} core-minutes"
    return f"{card.paper.slug} · {scale_words(card)} · {runs}"


def _why(claim: ClaimText, said: Container[ReasonKind]) -> str:
    reasons = ", ".join(claim.why(one) for one in reasons_of(claim, said))
    level = claim.answer.level
    return f"{level}: {reasons}" if reasons and level else reasons


def _wrapped(text: str, width: int, indent: str = "") -> Sequence[str]:
    return textwrap.wrap(
        text, width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
    )


def _first_line(text: str, width: int, indent: str) -> Sequence[str]:
    return [_cut(f"{indent}{text}", width)] if text else []


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
