"""The outline of a multiverse: alternatives against claims, and what stands behind each cell.

In the table each cell says how the claim came out, and a mark says what that means: ``!`` decisive,
``*`` matters, ``=`` harmless, ``?`` untested.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reproaudit.judging.model import IntervalModel
from reproaudit.multiverse.model import (
    AlternativeClass,
    AlternativeModel,
    ClaimVariationsModel,
    CompletionStatus,
    Multiverse,
)
from reproaudit.reports import numbers
from reproaudit.reports import outline as o
from reproaudit.reports.phrasing import upper_first
from reproaudit.scorecard.verdicts import Tone, complete
from reproaudit.stats import Scale


@dataclass(frozen=True)
class ClassRow:
    """The mark of a class of alternatives in the table, its colour, and its meaning."""

    mark: str
    tone: Tone
    meaning: str


CLASSES = complete(
    AlternativeClass,
    {
        AlternativeClass.DECISIVE: ClassRow("!", Tone.BAD, "flips the decision, beyond seed noise"),
        AlternativeClass.MATTERS: ClassRow(
            "*", Tone.OPEN, "moves the estimate by more than half of its distance to the limit"
        ),
        AlternativeClass.HARMLESS: ClassRow(
            "=", Tone.GOOD, "same decision, and equivalent within that margin"
        ),
        AlternativeClass.UNTESTED: ClassRow(
            "?", Tone.ABSENT, "not run, crashed, or too few seeds to say"
        ),
    },
)
OUTCOMES = complete(
    CompletionStatus,
    {
        CompletionStatus.MET: "met",
        CompletionStatus.MISSED: "missed",
        CompletionStatus.UNDECIDED: "open",
        CompletionStatus.DIVERGED: "diverged",
        CompletionStatus.FAILED: "failed",
        CompletionStatus.NOT_RUN: "–",
    },
)
"""The outcome of a claim in a word short enough for a cell."""
METHOD = (
    "Decisions are those of the claim's own experiment. For the verdict, an alternative is met "
    "only if the claim's ablations miss under it, which is said beside it. Differences "
    "are paired by seed, and corrected for the number of a claim's alternatives. The limit is the "
    "bound that the check holds the estimate against; the margin is half of the distance from the "
    "default's estimate to it."
)


GRID = (
    "Each row is one alternative, the rest as audited; the columns are the claims by number. "
    "· says that the claim's experiment does not have the setting."
)


def multiverse_document(multiverse: Multiverse) -> o.Document:
    """Returns the outline of a paper's multiverse at one tier."""
    slug, tier = multiverse.paper["slug"], multiverse.tier
    home = (o.Span("Scorecard", href="scorecard.html"), " · ")
    links = (*home, o.Span("All papers", href="../index.html"))
    return o.Document(
        name=f"{slug}: multiverse, {tier} tier",
        title=multiverse.paper["title"],
        lead=(
            o.Paragraph(links, detail=o.Detail.PAGE),
            o.Paragraph(
                f"{slug} · multiverse at the {tier} tier: the settings that the paper leaves open, "
                f"with other values. {_extent(multiverse)}."
            ),
        ),
        blocks=(
            _summary(multiverse),
            o.Section(
                "Alternatives against claims",
                (o.Paragraph(GRID, "soft"), _grid(multiverse)),
                anchor="figure",
            ),
            o.Section("Claims", tuple(_claims(multiverse)), anchor="claims"),
        ),
    )


def _extent(multiverse: Multiverse) -> str:
    said = (
        f"{numbers.counted(multiverse.completions, 'completion')} "
        f"(one alternative at a time), {numbers.counted(len(multiverse.seeds), 'seed')} each, "
        f"{numbers.duration(multiverse.seconds)} of computing"
    )
    return said + (f"; {multiverse.not_run} cells not run" if multiverse.not_run else "")


def _summary(multiverse: Multiverse) -> o.Section:
    claims = o.Bullets(
        [
            o.Item(
                ((o.Span(c.id, href=f"#claim-{n}"), f": {count_words(c)}"), o.strong(_advice(c)))
            )
            for n, c in enumerate(multiverse.claims, start=1)
        ],
        numbered=True,
    )
    legend = [(_class(kind), row.meaning) for kind, row in CLASSES.items()]
    blocks = (claims, o.Facts(legend), o.Paragraph(METHOD, "soft", detail=o.Detail.FULL))
    return o.Section("The settings that each claim depends on", blocks, anchor="summary")


def _class(kind: AlternativeClass) -> o.Span:
    return o.Span(f"{kind.value} {CLASSES[kind].mark}", "badge", CLASSES[kind].tone)


# --- sentences ----------------------------------------------------------------------------------


def _advice(claim: ClaimVariationsModel) -> str:
    """The advice on a claim, with the number of alternatives that say nothing of it."""
    idle = sum(one.difference == 0 for one in claim.alternatives)
    if not idle:
        return claim.advice
    which = "All" if idle == len(claim.alternatives) else f"{idle} of {len(claim.alternatives)}"
    return (
        f"{claim.advice} {which} alternatives leave its estimate as it is: what is judged may not "
        "use them, and then they show nothing."
    )


def moved(
    difference: float | None, interval: IntervalModel | None, scale: str | None
) -> str | None:
    """Returns a difference as people read it: ``×1.3 [1.1, 1.5]``, ``+0.02 [0.01, 0.03]``."""
    if difference is None or scale is None:
        return None
    ends = (interval.low, interval.high) if interval else ()
    if scale == Scale.LINEAR:
        values = [f"{'+' if v > 0 else ''}{numbers.number(v)}" for v in (difference, *ends)]
        name = ""
    else:
        sign = -1.0 if scale == Scale.LOG_COMPLEMENT else 1.0
        values = [_factor(sign * v) for v in (difference, *sorted(ends, key=lambda v: sign * v))]
        name = {Scale.LOG: "", Scale.LOG_COMPLEMENT: "1 − x ", Scale.LOGIT: "odds "}[Scale(scale)]
        name += "×"
    return f"{name}{values[0]}" + (f" [{', '.join(values[1:])}]" if ends else "")


def _factor(log: float) -> str:
    return numbers.number(math.exp(min(max(log, -700.0), 700.0)))


def _margin(one: AlternativeModel) -> str:
    if one.margin is None:
        return "none"
    linear = one.scale == Scale.LINEAR
    return numbers.number(one.margin) if linear else f"a factor {_factor(one.margin)}"


def count_words(claim: ClaimVariationsModel) -> str:
    """Returns ``met in 31 of 32 completions``, with what else came out and what was not run."""
    said = f"met in {claim.met} of {numbers.counted(claim.of, 'completion')}"
    others = {"missed": claim.missed, "undecided": claim.undecided, "not judged": claim.failed}
    parts = [f"{count} {name}" for name, count in others.items() if count]
    if claim.planned > claim.of:
        parts.append(f"{claim.planned - claim.of} not run")
    return said + (f" ({', '.join(parts)})" if parts else "")


def _value_run(one: AlternativeModel) -> str:
    """Returns ``0.1``; where a tier scales it, what was run as well."""
    stated = numbers.value_words(one.value)
    if one.run_as is None or one.run_as == one.value:
        return stated
    return f"{stated}, run as {numbers.value_words(one.run_as)}"


def _effect_of(one: AlternativeModel) -> str:
    parts = [one.note]
    if text := moved(one.difference, one.interval, one.scale):
        confidence = ""
        if one.interval:
            confidence = f" ({numbers.percent(round(one.interval.confidence, 5))})"
        parts.append(f"{text}{confidence} of {one.measured}; margin {_margin(one)}")
    said = ": ".join(parts)
    if one.status is CompletionStatus.MET:
        ablations = one.ablations.value if one.ablations else "not run"
        said += f"; its ablations: {ablations}"
    return said


# --- the table of alternatives against claims ---------------------------------------------------


def _grid(multiverse: Multiverse) -> o.Piece:
    """Returns alternatives against claims, those that are decisive for some claim first."""
    found: dict[tuple[str, str], dict[int, AlternativeModel]] = {}
    for column, claim in enumerate(multiverse.claims):
        for one in claim.alternatives:
            found.setdefault((one.setting, repr(one.value)), {})[column] = one
    ranks = {kind: place for place, kind in enumerate(CLASSES)}
    lines = sorted(
        found.values(),
        key=lambda line: (
            sorted(ranks[one.kind] for one in line.values()),
            next(iter(line.values())).setting,
        ),
    )
    places = range(len(multiverse.claims))
    rows: list[o.GridRow] = [("as audited", *(OUTCOMES[c.default] for c in multiverse.claims))]
    for line in lines:
        first = next(iter(line.values()))
        name = f"{first.setting} = {numbers.value_words(first.value)}"
        rows.append((name, *(_outcome(line[i]) if i in line else "·" for i in places)))
    columns = ("Alternative", *(str(place + 1) for place in places))
    return o.Tabular(columns, rows if lines else (), layout="narrow")


def _outcome(one: AlternativeModel) -> o.Span:
    row = CLASSES[one.kind]
    title = f"{one.setting} = {_value_run(one)}: {one.kind.value}. {_effect_of(one)}"
    return o.Span(f"{OUTCOMES[one.status]}{row.mark}", "badge", row.tone, title=title)


# --- claims -------------------------------------------------------------------------------------

TOLD = (AlternativeClass.DECISIVE, AlternativeClass.MATTERS)
"""The classes that a terminal tells of each claim; pages list every alternative."""


def _claims(multiverse: Multiverse) -> Iterator[o.Section]:
    for number, claim in enumerate(multiverse.claims, start=1):
        told = [one for one in claim.alternatives if one.kind in TOLD]
        rest = [one for one in claim.alternatives if one.kind not in TOLD]
        yield o.Section(
            (f"{number}. ", o.code(claim.id)),
            (
                o.Paragraph(claim.statement, "statement", detail=o.Detail.FULL),
                o.Paragraph(
                    f"{upper_first(count_words(claim))}; with the audit's own settings it is "
                    f"{OUTCOMES[claim.default]}. {_advice(claim)}",
                    detail=o.Detail.FULL,
                ),
                _alternatives(told, "Alternatives that decide or matter", o.Detail.BRIEF),
                _alternatives(rest, "Other alternatives", o.Detail.FULL),
            ),
            level=3,
            anchor=f"claim-{number}",
            detail=o.Detail.BRIEF if told else o.Detail.FULL,
        )


def _alternatives(some: Sequence[AlternativeModel], caption: str, detail: o.Detail) -> o.Tabular:
    rows = [
        (
            f"{one.setting} = {_value_run(one)} (default {numbers.value_words(one.default)})",
            o.Span(one.kind.value, "badge", CLASSES[one.kind].tone),
            OUTCOMES[one.status],
            _effect_of(one),
        )
        for one in some
    ]
    columns = ("Alternative", "Class", "Came out", "Why")
    return o.Tabular(columns, rows, caption, "stacked", detail=detail)
