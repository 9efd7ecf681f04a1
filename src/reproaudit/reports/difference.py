"""The outline of a comparison: what changed, class by class, and the results claim by claim."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from reproaudit.diff.model import (
    KINDS,
    Change,
    ClaimChange,
    Comparison,
    PartChange,
    ResultModel,
    SideModel,
)
from reproaudit.reports import outline as o
from reproaudit.reports.numbers import method, number, value_words, with_interval
from reproaudit.reports.phrasing import decision_words, upper_first, words

LONGEST_VALUE = 160
"""Characters of a value that are shown; the JSON has all of it."""


def comparison_document(comparison: Comparison) -> o.Document:
    """Returns the outline of a comparison."""
    sides = (("before", _side(comparison.before)), ("after", _side(comparison.after)))
    changes = [row for kind in KINDS for row in _section(comparison, kind)]
    claims = [_claim(claim, number) for number, claim in enumerate(comparison.claims, start=1)]
    blocks = [o.Section("Changes", (o.Facts(changes),), anchor="changes")]
    if claims:
        blocks.append(o.Section("Claims", claims, anchor="claims"))
    summary = o.Paragraph(f"{upper_first(_summary(comparison))}.", "conclusion")
    blocks.append(o.Section("Summary", (summary,), anchor="summary", closing=True))
    lead = o.Facts((*sides, *(("note", note) for note in comparison.notes)))
    return o.Document("What changed", "What changed", (lead,), blocks)


def _side(side: SideModel) -> str:
    held = ["audit"] if side.audit else []
    held += [f"scorecard at the {side.tier} tier"] if side.tier else []
    whose = f", measurements of {side.origin}, not ours" if side.origin else ""
    return f"{side.name} ({side.paper}: {' and '.join(held)}{whose})"


# --- changes --------------------------------------------------------------------------------------


def _section(comparison: Comparison, kind: str) -> Iterator[tuple[o.Line, o.Line]]:
    lines: list[o.Line] = [_change(one) for one in comparison.changes if one.kind == kind]
    if kind == "records" and comparison.measured_again:
        again, common = comparison.measured_again, comparison.records
        lines.append(f"{again} of {common} common cells were measured again")
    if kind not in comparison.compared:
        lines = [o.soft("not compared: one side does not hold it")]
    for index, text in enumerate(lines or [o.soft("no difference")]):
        yield kind if index == 0 else "", text


def _change(one: Change) -> o.Line:
    text = f"{one.place}: {_value(one.before)} → {_value(one.after)}"
    if one.before is None:
        text = f"{one.place}: new: {_value(one.after)}"
    elif one.after is None:
        text = f"{one.place}: gone, was {_value(one.before)}"
    return text if one.matters else o.soft(text)


def _value(value: Any) -> str:
    text = _plain(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 1]}…"


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_plain(one)}" for key, one in value.items() if one is not None)
    if isinstance(value, list):
        return f"[{', '.join(map(_plain, value))}]"
    return "none" if value is None else value_words(value)


# --- results --------------------------------------------------------------------------------------


def _claim(claim: ClaimChange, number: int) -> o.Section:
    rows: list[tuple[o.Line, o.Line]] = []
    if claim.before and claim.after:
        rows += _moved(claim.before, claim.after)
        rows += [(words(one.state), change_words(one)) for one in _telling(claim)]
    if claim.changed:
        rows.append(("cause", o.strong(cause_words(claim))))
    title = (o.code(claim.id), " ", _verdicts(claim))
    return o.Section(title, (o.Facts(rows),) if rows else (), level=3, anchor=f"claim-{number}")


def _verdicts(claim: ClaimChange) -> str:
    if claim.before is None or claim.after is None:
        present = claim.after or claim.before
        said = present.headline.upper() if present else ""
        return f"new: {said}" if claim.before is None else f"gone, was {said}"
    before, after = (r.headline.upper() for r in (claim.before, claim.after))
    return after if before == after else f"{before} → {after}"


def _moved(before: ResultModel, after: ResultModel) -> Iterator[tuple[o.Line, o.Line]]:
    for name, old, new in (
        ("decision", decision_words(before.decision), decision_words(after.decision)),
        ("evidence", before.evidence.value, after.evidence.value),
        ("deciding part", before.part or "none", after.part or "none"),
        ("depends on", *("; ".join(r.hangs_on) or "nothing known" for r in (before, after))),
    ):
        if old != new:
            yield name, f"{old} → {new}"


def _telling(claim: ClaimChange) -> Sequence[PartChange]:
    """Returns the parts that moved; if none did, one line for all."""
    moved = [part for part in claim.parts if part.state != "identical"]
    if moved or not claim.parts:
        return moved
    name = f"{len(claim.parts)} parts" if len(claim.parts) > 1 else "the estimate"
    return [claim.parts[0].model_copy(update={"name": name})]


def change_words(part: PartChange) -> str:
    """Returns how a part's numbers moved, and whether that is noise."""
    if part.state == "identical":
        return f"{part.name}: the same numbers, seed by seed"
    if part.before is None or part.after is None:
        return f"{part.name}: {part.why or 'no estimate'}"
    said = f"{part.name}: {number(part.before)} → {number(part.after)}"
    if part.interval is None or part.difference is None:
        return f"{said}; {part.why}"
    difference = with_interval(part.difference, part.interval)
    return f"{said}; {part.form} {difference} ({method(part.interval)}). {_noise_words(part)}"


def _noise_words(part: PartChange) -> str:
    """Returns the smallest change that the seeds could have shown, or that this one is noise."""
    if part.state == "beyond_noise":
        return "More than noise."
    if part.detectable is None:
        return "The seeds do not spread, so that any difference would have been seen."
    if part.form == "difference":
        least = f"a difference of {number(part.detectable)} either way"
    elif part.detectable < 1.01:  # which rounds to a ratio of 1
        least = f"a change by {number(100 * (part.detectable - 1))} % either way"
    else:
        least = (
            f"a {part.form} of {number(part.detectable)} or more, or of "
            f"{number(1 / part.detectable)} or less"
        )
    return f"Not shown to be equal: these seeds would have shown {least} (power 80 %)."


def cause_words(claim: ClaimChange) -> str:
    """Returns the likely cause of a changed result."""
    noise = ""
    if claim.state == "within_noise":
        noise = "; the estimate moved within noise, which may be all there is"
    if not claim.causes:
        return f"nothing that is recorded differs{noise}"
    if claim.causes == ("records",):
        return f"likely that it was measured again{noise}"
    if len(claim.causes) == 1:
        alone = "by which the same numbers are decided otherwise"
        if claim.state != "identical":
            alone = "which alone differs"
        return f"likely the {claim.causes[0]}, {alone}{noise}"
    several = f"{', '.join(claim.causes[:-1])} and {claim.causes[-1]}"
    return f"{several} differ; which of them did it cannot be told{noise}"


def _summary(comparison: Comparison) -> str:
    if not comparison.claims:
        return "results not compared: that takes a scorecard on both sides"
    changed = sum(claim.changed for claim in comparison.claims)
    beyond = sum(claim.state == "beyond_noise" for claim in comparison.claims)
    return (
        f"{changed} of {len(comparison.claims)} claims changed; {beyond} with an estimate that "
        f"moved by more than noise"
    )
