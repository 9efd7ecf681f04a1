"""What changed between two sides, put into words once for the terminal and for pages alike."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from reproaudit.diff import (
    KINDS,
    Change,
    ClaimChange,
    Comparison,
    PartChange,
    ResultModel,
    SideModel,
)
from reproaudit.reports.phrasing import clean, method, number, value_words, words

LONGEST_LINE = 160
"""Characters of a value that are shown; the JSON has all of it."""


@dataclass(frozen=True)
class OutlineLine:
    """One line: what it is of, what it says, and how much it matters.

    Attributes:
        label: may be empty, where a line goes on with what the one above began.
        text: without control characters.
        style: "dim" for what changes nothing, "bold" for a conclusion, else empty.
    """

    label: str
    text: str
    style: str = ""


@dataclass(frozen=True)
class ClaimOutline:
    """One claim: its verdicts before and after, and what moved."""

    id: str
    verdicts: str
    lines: tuple[OutlineLine, ...]
    changed: bool


@dataclass(frozen=True)
class Outline:
    """Everything that is told of a comparison.

    Attributes:
        heading: the two sides, and what the reader should know of them.
        sections: what changed, class by class; each begins with a line that is labelled.
        claims: the results.
        summary: the last line.
    """

    heading: tuple[OutlineLine, ...]
    sections: tuple[tuple[OutlineLine, ...], ...]
    claims: tuple[ClaimOutline, ...]
    summary: OutlineLine


def outline(comparison: Comparison) -> Outline:
    """A comparison in words."""
    notes = (OutlineLine("note", clean(note)) for note in comparison.notes)
    sides = (
        OutlineLine("before", _side(comparison.before)),
        OutlineLine("after", _side(comparison.after)),
    )
    return Outline(
        heading=(*sides, *notes),
        sections=tuple(tuple(_section(comparison, kind)) for kind in KINDS),
        claims=tuple(_claim(claim) for claim in comparison.claims),
        summary=_summary(comparison),
    )


def _side(side: SideModel) -> str:
    held = ["audit"] if side.audit else []
    held += [f"scorecard at the {side.tier} tier"] if side.tier else []
    whose = f", measurements of {side.origin}, not ours" if side.origin else ""
    return clean(f"{side.name} ({side.paper}: {' and '.join(held)}{whose})")


# --- changes --------------------------------------------------------------------------------------


def _section(comparison: Comparison, kind: str) -> Iterator[OutlineLine]:
    if kind not in comparison.compared:
        yield OutlineLine(kind, "not compared: one side does not hold it", "dim")
        return
    lines = [_change(one) for one in comparison.changes if one.kind == kind]
    if kind == "records" and comparison.measured_again:
        again, common = comparison.measured_again, comparison.records
        lines.append((f"{again} of {common} common cells were measured again", ""))
    for index, (text, style) in enumerate(lines or [("no difference", "dim")]):
        yield OutlineLine(kind if index == 0 else "", clean(text), style)


def _change(one: Change) -> tuple[str, str]:
    style = "" if one.matters else "dim"
    if one.before is None:
        return f"{one.place}: new: {_value(one.after)}", style
    if one.after is None:
        return f"{one.place}: gone, was {_value(one.before)}", style
    return f"{one.place}: {_value(one.before)} → {_value(one.after)}", style


def _value(value: Any) -> str:
    text = _plain(value)
    return text if len(text) <= LONGEST_LINE else f"{text[: LONGEST_LINE - 1]}…"


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_plain(one)}" for key, one in value.items() if one is not None)
    if isinstance(value, list):
        return f"[{', '.join(map(_plain, value))}]"
    if value is None:
        return "none"
    return value_words(value)


# --- results --------------------------------------------------------------------------------------


def _claim(claim: ClaimChange) -> ClaimOutline:
    lines: list[OutlineLine] = []
    if claim.before and claim.after:
        lines += [OutlineLine("", clean(text)) for text in _moved(claim.before, claim.after)]
        lines += [
            OutlineLine(words(one.state), clean(change_words(one))) for one in _telling(claim)
        ]
    if claim.changed:
        lines.append(OutlineLine("cause", clean(cause_words(claim)), "bold"))
    return ClaimOutline(clean(claim.id), _verdicts(claim), tuple(lines), claim.changed)


def _verdicts(claim: ClaimChange) -> str:
    if claim.before is None or claim.after is None:
        present = claim.after or claim.before
        said = words(present.verdict).upper() if present else ""
        return f"new: {said}" if claim.before is None else f"gone, was {said}"
    before, after = (words(r.verdict).upper() for r in (claim.before, claim.after))
    return after if before == after else f"{before} → {after}"


def _moved(before: ResultModel, after: ResultModel) -> Iterator[str]:
    for name, old, new in (
        ("decision", before.decision or "none", after.decision or "none"),
        ("evidence", before.evidence, after.evidence),
        ("binding part", before.part or "none", after.part or "none"),
    ):
        if old != new:
            yield f"{name}: {old} → {new}"


def _telling(claim: ClaimChange) -> Iterator[PartChange]:
    """The parts that moved; of a claim where none did, one line for all."""
    moved = [part for part in claim.parts if part.state != "identical"]
    yield from moved
    if claim.parts and not moved:
        yield claim.parts[0].model_copy(
            update={"name": f"{len(claim.parts)} parts" if len(claim.parts) > 1 else "the estimate"}
        )


def change_words(part: PartChange) -> str:
    """How a part's numbers moved, and whether that is noise."""
    if part.state == "identical":
        return f"{part.name}: the same numbers, seed by seed"
    if part.before is None or part.after is None:
        return f"{part.name}: {part.why or 'no estimate'}"
    said = f"{part.name}: {number(part.before)} → {number(part.after)}"
    if part.interval is None or part.difference is None:
        return f"{said}; {part.why}"
    low, high = number(part.interval.low), number(part.interval.high)
    return (
        f"{said}; {part.form} {number(part.difference)} [{low}, {high}] "
        f"({method(part.interval)}). {seen_words(part)}"
    )


def seen_words(part: PartChange) -> str:
    """What the seeds could have shown, of a change within noise; else that it is beyond noise."""
    if part.state == "beyond_noise":
        return "More than noise."
    if part.detectable is None:
        return "The seeds do not spread, so that any difference would have been seen."
    if part.form == "difference":
        least = f"a difference of {number(part.detectable)} either way"
    else:
        least = (
            f"a {part.form} of {number(part.detectable)} or more, or of "
            f"{number(1 / part.detectable)} or less"
        )
    return f"Not shown to be equal: these seeds would have shown {least} (power 80 %)."


def cause_words(claim: ClaimChange) -> str:
    """What the change may be laid to."""
    noise = ""
    if claim.state == "within_noise":
        noise = "; the estimate moved within noise, which may be all there is"
    if not claim.causes:
        return f"nothing that is recorded differs{noise}"
    if len(claim.causes) == 1:
        if claim.causes[0] == "records":
            return f"likely that it was measured again{noise}"
        alone = "by which the same numbers are decided otherwise"
        if claim.state != "identical":
            alone = "which alone differs"
        return f"likely the {claim.causes[0]}, {alone}{noise}"
    several = f"{', '.join(claim.causes[:-1])} and {claim.causes[-1]}"
    return f"{several} differ; which of them did it cannot be told{noise}"


def _summary(comparison: Comparison) -> OutlineLine:
    if not comparison.claims:
        return OutlineLine("", "results not compared: that takes a scorecard on both sides", "dim")
    changed = sum(claim.changed for claim in comparison.claims)
    beyond = sum(claim.state == "beyond_noise" for claim in comparison.claims)
    return OutlineLine(
        "",
        f"{changed} of {len(comparison.claims)} claims changed; {beyond} with an estimate that "
        "moved by more than noise",
    )
