"""Describes a picture in sentences that follow from its data, for those who cannot see it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from reproaudit.audit.plan import Role
from reproaudit.reports.chart import mean_run_of
from reproaudit.reports.numbers import bound_symbols, number, ranges
from reproaudit.reports.printable import clean
from reproaudit.scorecard.pictures import LineModel, OnsetModel, PictureModel, RangeModel

DASHES = ("solid", "dashed", "dotted", "dash-dotted")


def seen(picture: PictureModel) -> str:
    """Returns what a picture shows."""
    return clean(" ".join(_sentences(picture)))


def parts_words(parts: Sequence[str]) -> str:
    """Returns the names of parts; those that differ in a coordinate alone are put together."""
    told: dict[str, list[str]] = {}
    for one in parts:
        name, comma, at = one.rpartition(", ")
        axis, _, coordinate = at.rpartition(" ")
        key = f"{name}{comma}{axis}" if name and axis else one
        told.setdefault(key, []).extend([coordinate] if name and axis else [])
    return clean("; ".join(f"{key} {', '.join(at)}".rstrip() for key, at in told.items()))


def stage_words(picture: PictureModel) -> str:
    """Returns what happens in each stage; empty without stages."""
    return clean("; ".join(f"{one.name}: {one.about}" for one in picture.stages))


def _sentences(picture: PictureModel) -> Iterator[str]:
    for line in picture.lines:
        if line.role is Role.EXPERIMENT:
            yield _course(picture, line) if picture.kind == "course" else _sizes(picture, line)
    yield from _stages(picture)
    for line in picture.lines:
        if line.role is not Role.EXPERIMENT:
            yield _other(picture, line)
    if picture.x_scale == "log" and picture.kind == "course":
        yield f"Time is logarithmic: {picture.x_why}."


def _runs(line: LineModel) -> str:
    count = len(line.runs)
    return "one run" if count == 1 else f"{count} runs"


def _course(picture: PictureModel, line: LineModel) -> str:
    mean = mean_run_of(line, picture)
    ends = _ends(picture, line)
    dash = f" ({DASHES[min(line.quantity, 3)]})" if _quantities(picture) > 1 else ""
    said = f"The mean of {line.label}{dash} goes from {number(mean[0])} to {number(mean[-1])}"
    first, last = (float(line.x[place]) for place in (0, len(mean) - 1))
    if first:
        said += f" from step {number(first)} to step {number(last)}"
    else:
        said += f" in {number(last)} steps"
    if len(ends) > 1:
        said += f"; the {_runs(line)} end between {number(min(ends))} and {number(max(ends))}"
    levels = [r for r in picture.ranges if r.quantity == line.quantity and not r.x]
    for one in levels:
        said += f", {_held(one, ends, mean[-1], 'them')}"
    early = [i for i, run in enumerate(line.runs) if len(run) < len(line.x)]
    if early:
        seeds = ranges([line.seeds[i] for i in early])
        said += f"; seed {seeds} diverged and ends early"
    onset = next((o for o in picture.onsets if o.quantity == line.quantity), None)
    return f"{said}.{_onset(onset)}"


def _ends(picture: PictureModel, line: LineModel) -> list[float]:
    """Returns where the runs of a line end, as its mean is taken of them: from the floor on."""
    floor = picture.floor if picture.y_scale == "log" else -math.inf
    return [max(run[-1], floor) for run in line.runs]


def _held(one: RangeModel, ends: Sequence[float], mean: float, runs: str) -> str:
    """Tells how many runs end inside a range; of their mean too, where that is another matter.

    Where each run has a range of its own, the table of parts tells how many meet theirs.
    """
    low = -math.inf if one.low[-1] is None else one.low[-1]
    high = math.inf if one.high[-1] is None else one.high[-1]
    sides = {inside: "inside" if inside else "outside" for inside in (True, False)}
    found, middle = [low <= value <= high for value in ends], low <= mean <= high
    rule = f"the range of the rule ({bound_symbols(one)})"
    if one.varies:
        return f"their mean {sides[middle]} {rule}, which is another one for each run"
    if len(found) == 1:
        return f"{sides[found[0]]} {rule}"
    if set(found) == {middle}:
        return f"all of {runs} {sides[middle]} {rule}"
    return f"{sum(found) or 'none'} of {runs} inside {rule}, their mean {sides[middle]}"


def _onset(onset: OnsetModel | None) -> str:
    if onset is None:
        return ""
    spread = f"{number(onset.low)} to {number(onset.high)}"
    count = "every run" if onset.came == onset.of else f"{onset.came} of {onset.of} runs"
    return f" Its onset comes at step {number(onset.step)} ({spread}) in {count}."


def _stages(picture: PictureModel) -> Iterator[str]:
    if picture.stages:
        told = (f"{s.name} until step {number(s.end)}, {s.about}" for s in picture.stages)
        yield f"Stages: {'; '.join(told)}."
    for one in picture.plateaus:
        line = next(
            line
            for line in picture.lines
            if line.role is Role.EXPERIMENT and line.quantity == one.quantity
        )
        mean = mean_run_of(line, picture)
        place = max(i for i, x in enumerate(line.x[: len(mean)]) if float(x) <= one.until)
        start = mean[0]
        waits = abs(mean[place] - start) <= abs(one.level - start)
        counts = "counts" if waits else "does not count"
        yield (
            f"Until step {number(one.until)} {line.label} may move to {number(one.level)}; its "
            f"mean is then {number(mean[place])}, which {counts} as waiting."
        )


def _other(picture: PictureModel, line: LineModel) -> str:
    who = "The constructed solution"
    if line.role is Role.CONTROL:
        who = f"Control {line.control}" if line.control else "The control"
        who += f" ({line.name})" if line.name else ""
    mean = mean_run_of(line, picture)
    if picture.kind == "sizes":
        return f"{who} at {_places(picture, line, mean)}."
    levels = [r for r in picture.ranges if r.quantity == line.quantity and not r.x]
    ends = _ends(picture, line)
    held = ""
    if levels:
        held = f", {_held(levels[0], ends, mean[-1], f'its {len(ends)} runs')}"
    what = f": {line.label}" if _quantities(picture) > 1 else ""
    average = " on average" if len(ends) > 1 else ""
    return f"{who}{what} ends at {number(mean[-1])}{average}{held}."


def _sizes(picture: PictureModel, line: LineModel) -> str:
    mean = mean_run_of(line, picture)
    dash = f" ({DASHES[min(line.quantity, 3)]})" if _quantities(picture) > 1 else ""
    said = f"{line.label}{dash}, mean of {_runs(line)} at {_places(picture, line, mean)}"
    for one in (r for r in picture.ranges if r.quantity == line.quantity and len(r.x) > 1):
        judged = picture.judged or line.x
        pairs = zip(one.x, one.low, one.high, strict=True)
        limits = {x: (low, high) for x, low, high in pairs}
        inside = sum(
            (limits[x][0] is None or v >= (limits[x][0] or 0.0))
            and (limits[x][1] is None or v <= (limits[x][1] or 0.0))
            for x, v in zip(line.x, mean, strict=False)
            if x in judged and x in limits
        )
        said += f"; the mean is inside the range of the rule at {inside} of {len(judged)} judged"
    return f"{said[0].upper()}{said[1:]}."


def _places(picture: PictureModel, line: LineModel, mean: list[float]) -> str:
    told = [
        f"{x if isinstance(x, str) else number(x)}: {number(v)}"
        for x, v in zip(line.x, mean, strict=False)
    ]
    if len(told) > 8:
        told = [*told[:2], "…", *told[-2:]]
    return f"{picture.x_label} {', '.join(told)}"


def _quantities(picture: PictureModel) -> int:
    return len({line.quantity for line in picture.lines})
