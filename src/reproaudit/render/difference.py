"""What changed between two sides, in a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.text import Text

from reproaudit.comparing import (
    KINDS,
    Change,
    ClaimChange,
    Comparison,
    PartChange,
    ResultModel,
    SideModel,
)
from reproaudit.render.terminal import pairs, print_trimmed
from reproaudit.render.words import clean, method, number, value_words, words

LONGEST = 160
"""Characters of a value that are shown; the JSON has all of it."""


def render_comparison(comparison: Comparison, console: Console) -> None:
    """Print what differs, class by class, and then the results claim by claim."""
    blocks: list[RenderableType] = [_heading(comparison)]
    for kind in KINDS:
        blocks.append(pairs(_section(comparison, kind), label=13))
    blocks.append(Rule(style="dim"))
    blocks += [block for claim in comparison.claims for block in _claim(claim)]
    blocks.append(_summary(comparison))
    print_trimmed(Group(*blocks), console)


def _heading(comparison: Comparison) -> RenderableType:
    rows = [("before", _side(comparison.before)), ("after", _side(comparison.after))]
    rows += [("note", _text(note)) for note in comparison.notes]
    return Group(Rule(style="dim"), pairs(rows, label=13), Rule(style="dim"))


def _side(side: SideModel) -> Text:
    held = ["audit"] if side.audit else []
    held += [f"scorecard at the {side.tier} tier"] if side.tier else []
    whose = f", measurements of {side.origin}, not ours" if side.origin else ""
    return _text(f"{side.name} ({side.paper}: {' and '.join(held)}{whose})")


def _text(text: str, style: str = "") -> Text:
    return Text(clean(text), style=style, overflow="fold")


# --- changes --------------------------------------------------------------------------------------


def _section(comparison: Comparison, kind: str) -> Iterator[tuple[str, RenderableType]]:
    if kind not in comparison.compared:
        yield kind, _text("not compared: one side does not hold it", "dim")
        return
    lines = [_change(one) for one in comparison.changes if one.kind == kind]
    if kind == "records" and comparison.measured_again:
        again, common = comparison.measured_again, comparison.records
        lines.append(_text(f"{again} of {common} common cells were measured again"))
    for index, line in enumerate(lines or [_text("no difference", "dim")]):
        yield kind if index == 0 else "", line


def _change(one: Change) -> Text:
    style = "" if one.matters else "dim"
    if one.before is None:
        return _text(f"{one.place}: new: {_value(one.after)}", style)
    if one.after is None:
        return _text(f"{one.place}: gone, was {_value(one.before)}", style)
    return _text(f"{one.place}: {_value(one.before)} → {_value(one.after)}", style)


def _value(value: Any) -> str:
    text = _plain(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_plain(one)}" for key, one in value.items() if one is not None)
    if isinstance(value, list):
        return f"[{', '.join(map(_plain, value))}]"
    if value is None:
        return "none"
    return value_words(value)


# --- results --------------------------------------------------------------------------------------


def _claim(claim: ClaimChange) -> Iterable[RenderableType]:
    head = Text.assemble((clean(claim.id), "bold"), "  ", _verdicts(claim), overflow="fold")
    rows: list[tuple[str, RenderableType]] = []
    if claim.before and claim.after:
        moved = _moved(claim.before, claim.after)
        rows += [("", _text(line)) for line in moved]
        rows += [(words(one.state), _text(change_words(one))) for one in _telling(claim)]
    if claim.changed:
        rows.append(("cause", _text(cause_words(claim), "bold")))
    yield head
    if rows:
        yield Padding(pairs(rows, label=13), (0, 0, 0, 2))


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


def _summary(comparison: Comparison) -> RenderableType:
    if not comparison.claims:
        return _text("results not compared: that takes a scorecard on both sides", "dim")
    changed = sum(claim.changed for claim in comparison.claims)
    beyond = sum(claim.state == "beyond_noise" for claim in comparison.claims)
    return Group(
        Rule(style="dim"),
        _text(
            f"{changed} of {len(comparison.claims)} claims changed; {beyond} with an estimate that "
            "moved by more than noise"
        ),
    )
