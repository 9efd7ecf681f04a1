"""The multiverse for people: a table of alternatives against claims, and what stands behind it.

The same words in the terminal, in Markdown and in HTML. In the table each cell says how the claim
came out, and a mark says what that means: ``!`` decisive, ``*`` matters, ``=`` harmless, ``?``
untested.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from reproaudit.judging.model import IntervalModel
from reproaudit.multiverse.model import (
    AlternativeClass,
    AlternativeModel,
    ClaimVariationsModel,
    CompletionStatus,
    Explanation,
    LevelModel,
    Multiverse,
)
from reproaudit.reports.html import environment
from reproaudit.reports.markdown import escaped
from reproaudit.reports.phrasing import (
    clean,
    duration,
    number,
    percent,
    settings_words,
    value_words,
)
from reproaudit.reports.terminal import WIDEST

CLAIMS_IN_A_ROW = 6
"""More columns do not fit into 80 characters; the table is then cut into several."""

MARKS = {
    AlternativeClass.DECISIVE: "!",
    AlternativeClass.MATTERS: "*",
    AlternativeClass.HARMLESS: "=",
    AlternativeClass.UNTESTED: "?",
}
MEANING = {
    AlternativeClass.DECISIVE: "flips the decision, beyond seed noise",
    AlternativeClass.MATTERS: "moves the estimate by more than half of its distance to the limit",
    AlternativeClass.HARMLESS: "same decision, and equivalent within that margin",
    AlternativeClass.UNTESTED: "not run, crashed, or too few seeds to say",
}
_SHORT = {
    CompletionStatus.UNDECIDED: "open",
    CompletionStatus.NOT_RUN: "–",
    CompletionStatus.DIVERGED: "diverged",
}
_STYLES = {
    AlternativeClass.DECISIVE: "bold red",
    AlternativeClass.MATTERS: "bold yellow",
    AlternativeClass.HARMLESS: "green",
    AlternativeClass.UNTESTED: "dim",
}
_DESIGNS = {
    "one_at_a_time": "one alternative at a time",
    "full": "every combination",
    "sample": "a space-filling sample of the combinations",
}


# --- words --------------------------------------------------------------------------------------


def moved(
    difference: float | None, interval: IntervalModel | None, scale: str | None
) -> str | None:
    """A difference as people read it: ``×1.3 [1.1, 1.5]``, ``+0.02 [0.01, 0.03]``."""
    if difference is None or scale is None:
        return None
    ends = (interval.low, interval.high) if interval else ()
    if scale == "linear":
        values = [f"{'+' if v > 0 else ''}{number(v)}" for v in (difference, *ends)]
        name = ""
    else:
        sign = -1.0 if scale == "log_complement" else 1.0
        values = [_factor(sign * v) for v in (difference, *sorted(ends, key=lambda v: sign * v))]
        name = {"log_complement": "1 − x ", "logit": "odds "}.get(scale, "") + "×"
    return f"{name}{values[0]}" + (f" [{', '.join(values[1:])}]" if ends else "")


def _factor(log: float) -> str:
    return number(math.exp(min(max(log, -700.0), 700.0)))


def margin_words(one: AlternativeModel) -> str | None:
    """How large a difference matters: ``a factor 1.8``, ``0.02``."""
    if one.margin is None or one.scale is None:
        return None
    return number(one.margin) if one.scale == "linear" else f"a factor {_factor(one.margin)}"


def count_words(claim: ClaimVariationsModel) -> str:
    """``met in 31 of 32 completions``, with what else came out and what was not run."""
    said = f"met in {claim.met} of {claim.of} completion{'' if claim.of == 1 else 's'}"
    others = {"missed": claim.missed, "undecided": claim.undecided, "not judged": claim.failed}
    parts = [f"{count} {name}" for name, count in others.items() if count]
    if claim.planned > claim.of:
        parts.append(f"{claim.planned - claim.of} not run")
    if claim.share is not None:
        low, high = 100 * claim.share.low, 100 * claim.share.high
        parts.append(
            f"share of all completions {low:.0f}–{high:.0f} % "
            f"({percent(claim.share.confidence)} {claim.share.method})"
        )
    return said + (f" ({', '.join(parts)})" if parts else "")


def value_run(one: AlternativeModel) -> str:
    """``0.1``; where a tier scales it, what was run as well."""
    stated = value_words(one.value)
    if one.run_as is None or one.run_as == one.value:
        return stated
    return f"{stated}, run as {value_words(one.run_as)}"


def alternative_words(one: AlternativeModel) -> str:
    """What an alternative does, in a line."""
    parts = [f"{one.note}"]
    if text := moved(one.difference, one.interval, one.scale):
        confidence = percent(round(one.interval.confidence, 5)) if one.interval else ""
        parts.append(f"{text} ({confidence}) of {one.measured}; margin {margin_words(one)}")
    return ": ".join(parts)


def heading(multiverse: Multiverse) -> str:
    """What was run, in a line."""
    said = (
        f"{multiverse.completions} completions ({_DESIGNS[multiverse.design]}), "
        f"{len(multiverse.seeds)} seeds each, {duration(multiverse.seconds)} of computing"
    )
    return said + (f"; {multiverse.not_run} cells not run" if multiverse.not_run else "")


def level_words(level: LevelModel) -> str:
    """A level's mean estimate with its interval and the number of completions."""
    if level.mean is None:
        return "not run"
    ends = level.interval
    interval = f" [{number(ends.low)}, {number(ends.high)}]" if ends else ""
    return f"{number(level.mean)}{interval} over {level.completions}"


# --- the table of alternatives against claims ---------------------------------------------------


@dataclass(frozen=True)
class TableCell:
    """One alternative for one claim; None in a grid where the claim does not see the setting."""

    text: str
    kind: AlternativeClass
    status: CompletionStatus
    title: str


@dataclass(frozen=True)
class TableLine:
    """One alternative over all claims."""

    setting: str
    value: str
    default: str
    cells: tuple[TableCell | None, ...]

    @property
    def name(self) -> str:
        """``setting = value``."""
        return f"{self.setting} = {self.value}"


def grid(multiverse: Multiverse) -> list[TableLine]:
    """Alternatives against claims, those that are decisive for some claim first."""
    found: dict[tuple[str, str], dict[int, AlternativeModel]] = {}
    for column, claim in enumerate(multiverse.claims):
        for one in claim.alternatives:
            found.setdefault((one.setting, repr(one.value)), {})[column] = one
    lines = [_line(row, len(multiverse.claims)) for row in found.values()]
    ranks = {kind: place for place, kind in enumerate(AlternativeClass)}

    def place(line: TableLine) -> tuple[list[int], str]:
        return sorted(ranks[cell.kind] for cell in line.cells if cell), line.setting

    return sorted(lines, key=place)


def _line(row: dict[int, AlternativeModel], columns: int) -> TableLine:
    first = next(iter(row.values()))
    return TableLine(
        setting=first.setting,
        value=value_words(first.value),
        default=value_words(first.default),
        cells=tuple(_cell(row[i]) if i in row else None for i in range(columns)),
    )


def _cell(one: AlternativeModel) -> TableCell:
    text = f"{_SHORT.get(one.status, one.status.value)}{MARKS[one.kind]}"
    title = f"{one.setting} = {value_run(one)}: {one.kind.value}. {alternative_words(one)}"
    return TableCell(text, one.kind, one.status, title)


# --- terminal -----------------------------------------------------------------------------------


class _Say(Protocol):
    def __call__(self, text: str, indent: int = 0, style: str = "") -> None: ...


def print_multiverse(multiverse: Multiverse, console: Console) -> None:
    """Print the table, and for every claim what it hangs on."""
    width = min(console.width, WIDEST)

    def say(text: str, indent: int = 0, style: str = "") -> None:
        body = Padding(
            Text(clean(text), style=style, overflow="fold"), (0, 0, 0, indent), expand=False
        )
        console.print(body, width=width, highlight=False)

    say(multiverse.paper["title"], style="bold")
    say(f"{multiverse.paper['slug']} · multiverse at the {multiverse.tier} tier")
    say(heading(multiverse))
    console.print()
    for number_, claim in enumerate(multiverse.claims, start=1):
        say(f"{number_}  {claim.id}: {count_words(claim)}", style="bold")
        say(claim.advice, 3)
    for table in _tables(multiverse):
        console.print()
        console.print(table, width=width, highlight=False)
    say("! decisive   * matters   = harmless   ? untested   · not its setting", style="dim")
    _print_details(multiverse, say)


def _tables(multiverse: Multiverse) -> Iterator[Table]:
    lines = grid(multiverse)
    for start in range(0, len(multiverse.claims) if lines else 0, CLAIMS_IN_A_ROW):
        columns = range(start, min(start + CLAIMS_IN_A_ROW, len(multiverse.claims)))
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
        table.add_column("alternative", overflow="fold", max_width=32)
        for column in columns:
            table.add_column(str(column + 1), no_wrap=True)
        table.add_row(
            "as audited", *(_default(multiverse.claims[column].default) for column in columns)
        )
        for line in lines:
            cells = (line.cells[column] for column in columns)
            table.add_row(
                Text(clean(line.name), overflow="fold"),
                *(Text(c.text, style=_STYLES[c.kind]) if c else Text("·") for c in cells),
            )
        yield table


def _default(status: CompletionStatus) -> str:
    return _SHORT.get(status, status.value)


def _print_details(multiverse: Multiverse, say: _Say) -> None:
    telling = (AlternativeClass.DECISIVE, AlternativeClass.MATTERS)
    for claim in multiverse.claims:
        told = [one for one in claim.alternatives if one.kind in telling]
        if told or claim.effects or claim.exceptions:
            say("")
            say(claim.id, 0, "bold")
        for one in told:
            say(
                f"{one.kind.value}: {one.setting} = {value_run(one)} (default "
                f"{value_words(one.default)})",
                3,
            )
            say(alternative_words(one), 6)
        for effect in claim.effects:
            say(f"main effect of {effect.setting} on {effect.measured}", 3)
            for level in effect.levels:
                say(f"{value_words(level.value)}: {level_words(level)}", 6)
        for exception in claim.exceptions:
            say(f"{exception.status.value} with {settings_words(exception.changes)}", 3)


def print_explanation(explanation: Explanation, console: Console) -> None:
    """Print the smallest sets of settings behind a changed decision."""
    for line in explanation_words(explanation):
        console.print(Text(clean(line), overflow="fold"), width=min(console.width, WIDEST))


def explanation_words(explanation: Explanation) -> Iterator[str]:
    """An explanation, line by line."""
    differing = len(explanation.differing)
    yield (
        f"{explanation.claim} ({explanation.tier} tier): {explanation.ours.value} with the audit's "
        f"settings, {explanation.theirs.value} with {differing} of them changed."
    )
    if not explanation.causes:
        yield "The decision does not differ, so there is nothing to explain."
        return
    size = len(explanation.causes[0].settings)
    every = (
        "each of these alone flips it" if size == 1 else f"no fewer than {size} together flip it"
    )
    if not explanation.exhaustive:
        every = "this set flips it, and none of it can be left out; a smaller one may exist"
    yield f"{every} ({explanation.trials} sets tried):"
    for cause in explanation.causes:
        noise = "beyond seed noise" if cause.beyond_noise else "not shown to be beyond seed noise"
        text = moved(cause.difference, cause.interval, cause.scale)
        of = f"; {text} of {cause.measured}" if text else ""
        yield f"- {settings_words(cause.settings)}: {cause.status.value}, {noise}{of}"


# --- Markdown -----------------------------------------------------------------------------------


def multiverse_markdown(multiverse: Multiverse) -> str:
    """The multiverse for a repository's page or a review."""
    blocks = [
        f"# {escaped(multiverse.paper['title'])}",
        f"Multiverse of {escaped(multiverse.paper['slug'])} at the {multiverse.tier} tier: "
        f"{escaped(heading(multiverse))}.",
        "\n".join(
            f"{n}. **{escaped(claim.id)}**: {escaped(count_words(claim))}. {escaped(claim.advice)}"
            for n, claim in enumerate(multiverse.claims, start=1)
        ),
        "## Alternatives against claims",
        _markdown_grid(multiverse),
        "; ".join(f"`{MARKS[kind]}` {kind.value}: {text}" for kind, text in MEANING.items()) + ".",
    ]
    for claim in multiverse.claims:
        blocks += _markdown_claim(claim)
    return "\n\n".join(blocks) + "\n"


def _markdown_grid(multiverse: Multiverse) -> str:
    numbers = [str(n) for n, _ in enumerate(multiverse.claims, start=1)]
    rows = [["as audited", *(_default(claim.default) for claim in multiverse.claims)]]
    rows += [
        [line.name, *(cell.text if cell else "·" for cell in line.cells)]
        for line in grid(multiverse)
    ]
    return _markdown_table(["Alternative", *numbers], rows)


def _markdown_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(columns)} |", f"|{' --- |' * len(columns)}"]
    lines += [f"| {' | '.join(escaped(cell) for cell in row)} |" for row in rows]
    return "\n".join(lines)


def _markdown_claim(claim: ClaimVariationsModel) -> Iterator[str]:
    if not claim.alternatives:
        return
    yield f"## {escaped(claim.id)}"
    yield escaped(claim.statement)
    yield _markdown_table(
        ("Setting", "Default", "Alternative", "Came out", "Class", "Why"),
        (
            (
                one.setting,
                value_words(one.default),
                value_run(one),
                _SHORT.get(one.status, one.status.value),
                one.kind.value,
                alternative_words(one),
            )
            for one in claim.alternatives
        ),
    )
    for effect in claim.effects:
        yield _markdown_table(
            (f"{escaped(effect.setting)}, main effect on {escaped(effect.measured)}", "Mean"),
            ((value_words(level.value), level_words(level)) for level in effect.levels),
        )
    if claim.exceptions:
        yield "\n".join(
            f"- {one.status.value} with {escaped(settings_words(one.changes))}"
            for one in claim.exceptions
        )


# --- HTML ---------------------------------------------------------------------------------------

ROW, COLUMN, LABELS, TOP = 24, 92, 300, 40


@dataclass(frozen=True)
class Box:
    """One cell of the figure."""

    x: int
    y: int
    cell: TableCell


@dataclass(frozen=True)
class PointFigure:
    """The figure's layout: a row per alternative, a column per claim."""

    width: int
    height: int
    rows: tuple[tuple[int, str], ...]
    columns: tuple[int, ...]
    boxes: tuple[Box, ...]
    description: str


def figure_of(multiverse: Multiverse) -> PointFigure:
    """Lay out the figure; decisive alternatives are on top."""
    lines = grid(multiverse)
    boxes = [
        Box(LABELS + column * COLUMN, TOP + row * ROW, cell)
        for row, line in enumerate(lines)
        for column, cell in enumerate(line.cells)
        if cell is not None
    ]
    decisive = sum(one.cell.kind is AlternativeClass.DECISIVE for one in boxes)
    return PointFigure(
        width=LABELS + len(multiverse.claims) * COLUMN,
        height=TOP + len(lines) * ROW + 8,
        rows=tuple((TOP + i * ROW, _cut(line.name)) for i, line in enumerate(lines)),
        columns=tuple(LABELS + i * COLUMN for i in range(len(multiverse.claims))),
        boxes=tuple(boxes),
        description=f"{len(lines)} alternatives against {len(multiverse.claims)} claims; "
        f"{decisive} are decisive",
    )


def _cut(text: str, most: int = 46) -> str:
    text = clean(text)
    return text if len(text) <= most else f"{text[: most - 1]}…"


def multiverse_html(multiverse: Multiverse) -> str:
    """The page of a paper's multiverse, which needs nothing else."""
    return (
        environment()
        .get_template("multiverse.html.j2")
        .render(
            multiverse=multiverse,
            heading=heading(multiverse),
            figure=figure_of(multiverse),
            meaning={kind.value: (MARKS[kind], text) for kind, text in MEANING.items()},
            count=count_words,
            why=alternative_words,
            run=value_run,
            effect=level_words,
            came_out=_default,
        )
    )
