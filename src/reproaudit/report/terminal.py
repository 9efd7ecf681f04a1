"""A scorecard in a terminal: `report` at most 60 lines, `run` at most 25 a paper."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from reproaudit.judge import Level, Outcome
from reproaudit.records import Record
from reproaudit.report.model import ClaimModel, Scorecard
from reproaudit.report.numbers import counted, of
from reproaudit.report.outline import (
    byline,
    choice_name,
    common_reasons,
    common_words,
    counts_of,
    reasons_of,
    scale_words,
    share_of,
)
from reproaudit.report.paragraph import closing
from reproaudit.report.words import look

WIDTH = 80

MOST_LINES = 60
"""Of a report; of a longer one, what does not fit on a claim's lines is cut, then what is plain."""

MOST_RUN_LINES = 25
"""Of a run; the claims that do not fit are counted."""


def report_lines(card: Scorecard, width: int = WIDTH) -> Iterator[str]:
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
        who = f"{card.origin['who']} ({card.origin['source']})"
        yield from _wrapped(f"Not ours: measured by {who}.", width)
    yield from _as_written(card, width)
    yield ""
    if card.about:
        yield from _wrapped(card.about, width)
        yield ""
    yield from _wrapped(" ".join(card.summary), width)
    yield ""
    yield from _wrapped(f"The authors should state: {card.authors}", width)
    yield from _wrapped(f"Ours: {card.ours}", width)
    yield ""
    said = common_reasons(card)
    yield from _wrapped(common_words(card), width)
    names = max((len(one.name) for one in card.claims), default=0)
    for claim in card.claims:
        level = claim.certainty.level or ""
        low_high = share_of(claim) if claim.runs.n else ""
        yield _cut(
            f"  {look(claim.outcome).mark} {claim.name:<{names}}  "
            f"{claim.outcome:<16} {level:<8} {of(claim.runs.yes, claim.runs.n)}  {low_high}",
            width,
        )
        whole = plain or claim.outcome != Outcome.SUPPORTED
        if whole:
            yield from fitted(claim.effect, width, "      ")
            more = [claim.phrase, _why(claim, said)]
            yield from fitted("; ".join(filter(None, more)), width, "      ")
    if choices := [one for one in card.unstated if one.changes]:
        yield ""
        yield "Unstated choices that matter"
        for one in choices:
            yield from fitted(f"{choice_name(one)}: {'; '.join(one.answers)}", width, "  ")


def run_lines(card: Scorecard) -> Iterator[str]:
    """Yield the lines of `run SLUG`: the paragraph, a line for each claim, and the counts."""
    head = [*_wrapped(_head(card), WIDTH), *_as_written(card, WIDTH), ""]
    head += _wrapped(" ".join(card.summary), WIDTH)
    yield from head
    if card.tier == "smoke":
        return
    yield ""
    names = max((len(one.name) for one in card.claims), default=0)
    claims = sorted(card.claims, key=lambda one: look(one.outcome).order)
    room = max(MOST_RUN_LINES - len(head) - 4, 1)
    shown = len(claims) if len(claims) <= room else room - 1
    for claim in claims[:shown]:
        mark = f"  {look(claim.outcome).mark} {claim.name:<{names}}  "
        counts = f"{of(claim.runs.yes, claim.runs.n):<9}"
        yield _cut(f"{mark}{counts} {claim.effect}", WIDTH)
    if claims[shown:]:
        yield f"  … and {len(claims) - shown} more"
    yield ""
    levels = [one.certainty.level for one in card.claims if one.certainty.level is not None]
    if card.tier == "quick" and levels:
        best = next(one.value for one in Level if one.value in levels)
        yield f"Certainty {best} at best: reduced scale."
    yield closing(card.claims)


def detail_lines(card: Scorecard) -> Iterator[str]:
    """Yield what `--verbose` adds: every arm of every claim."""
    for claim in card.claims:
        yield ""
        yield from _wrapped(f"{claim.name}: {claim.says}", WIDTH)
        yield f"  {claim.locator}"
        for one in claim.headline:
            yield from _wrapped(one.words, WIDTH, "  ")
        for label, arms in (
            ("at", claim.grades),
            ("reading", claim.readings),
            ("support", claim.support),
            ("note", claim.notes),
            ("null", claim.nulls),
            ("without", claim.ablations),
            ("alternative", claim.alternatives),
        ):
            for arm in arms:
                said = f"{claim.symbol} = {arm.at}" if label == "at" else arm.lacks or arm.words
                loss = f", loss {_trained(arm.trained)}" if arm.trained else ""
                yield _cut(f"  {label:<11} {said}: {counts_of(arm)}{loss}", WIDTH)


def _trained(ends: tuple[float, float]) -> str:
    return f"{ends[0]:.3g} → {ends[1]:.3g}"


def _as_written(card: Scorecard, width: int) -> Sequence[str]:
    return _wrapped(card.as_written.words, width) if card.as_written is not None else ()


def _title(card: Scorecard) -> str:
    return f"{card.paper['title']}. {byline(card)} · {scale_words(card)}"


def _head(card: Scorecard) -> str:
    """The paper, its tier, and how many runs took how long."""
    kept = card.records
    ended = [f"{kept[how]} {how}" for how in ("failed", "diverged") if kept[how]]
    aside = f" ({', '.join(ended)})" if ended else ""
    runs = f"{counted(kept['count'], 'run')}{aside}, {kept['seconds'] / 60:.1f} core-minutes"
    return f"{card.paper['slug']} · {scale_words(card)} · {runs}"


def _why(claim: ClaimModel, said: Iterable[str]) -> str:
    reasons = ", ".join(one.words for one in reasons_of(claim, said))
    if not reasons:
        return ""
    return f"{claim.certainty.level}: {reasons}" if claim.certainty.level else reasons


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
            first, last = _numbers(series.values[0]), _numbers(series.values[-1])
            yield f"  {name}: {first} → {last} at step {series.steps[-1]}"
        for name, array in measured.arrays.items():
            yield f"  {name}: {_numbers(array)}"
    yield "Custom records feed no answer of a tier."


def _numbers(values: Any) -> str:
    flat = values.ravel()
    text = ", ".join(f"{v:.4g}" for v in flat[:12])
    return f"{text}, … ({flat.size} numbers)" if flat.size > 12 else text
