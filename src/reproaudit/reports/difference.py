"""What changed between two sides: in a terminal, as Markdown, and as a page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.text import Text

from reproaudit.diff import Comparison
from reproaudit.reports.files import replace_file
from reproaudit.reports.html import environment
from reproaudit.reports.markdown import escaped
from reproaudit.reports.outline import ClaimOutline, OutlineLine, outline
from reproaudit.reports.terminal import pairs, print_trimmed

_WIDTH = 13
"""Of the labels in a terminal."""


def render_comparison(comparison: Comparison, console: Console) -> None:
    """Print what differs, class by class, and then the results claim by claim."""
    told = outline(comparison)
    blocks: list[RenderableType] = [Rule(style="dim"), _lines(told.heading), Rule(style="dim")]
    blocks += [_lines(section) for section in told.sections]
    blocks.append(Rule(style="dim"))
    blocks += [block for claim in told.claims for block in _claim(claim)]
    if told.claims:
        blocks.append(Rule(style="dim"))
    blocks.append(_text(told.summary))
    print_trimmed(Group(*blocks), console)


def _lines(lines: Iterable[OutlineLine]) -> RenderableType:
    return pairs([(line.label, _text(line)) for line in lines], label=_WIDTH)


def _text(line: OutlineLine) -> Text:
    return Text(line.text, style=line.style, overflow="fold")


def _claim(claim: ClaimOutline) -> Iterator[RenderableType]:
    yield Text.assemble((claim.id, "bold"), "  ", claim.verdicts, overflow="fold")
    if claim.lines:
        yield Padding(_lines(claim.lines), (0, 0, 0, 2))


# --- files ----------------------------------------------------------------------------------------


def comparison_markdown(comparison: Comparison) -> str:
    """What differs, for a review or an issue; text of the two sides is escaped."""
    told = outline(comparison)
    blocks = ["# What changed", _items(told.heading)]
    for section in told.sections:
        blocks += [f"## {section[0].label.capitalize()}", _items(section, labelled=False)]
    if told.claims:
        blocks.append("## Claims")
    for claim in told.claims:
        blocks.append(f"### {escaped(claim.id)}: {escaped(claim.verdicts)}")
        if claim.lines:
            blocks.append(_items(claim.lines))
    blocks.append(f"{_first_upper(escaped(told.summary.text))}.")
    return "\n\n".join(blocks) + "\n"


def _items(lines: Iterable[OutlineLine], *, labelled: bool = True) -> str:
    return "\n".join(f"- {_item(line, labelled)}" for line in lines)


def _item(line: OutlineLine, labelled: bool) -> str:
    text = escaped(line.text)
    shown = f"**{text}**" if line.style == "bold" else text
    return f"{escaped(line.label)}: {shown}" if labelled and line.label else shown


def _first_upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def comparison_html(comparison: Comparison) -> str:
    """What differs, as a page that needs nothing else."""
    told = outline(comparison)
    summary = f"{_first_upper(told.summary.text)}."
    return environment().get_template("difference.html.j2").render(told=told, summary=summary)


_FORMATS: dict[str, Callable[[Comparison], str]] = {
    "html": comparison_html,
    "md": comparison_markdown,
}
FILES = tuple(_FORMATS)
"""The formats that are files."""


def write_comparison(
    comparison: Comparison, folder: Path, formats: Iterable[str]
) -> tuple[Path, ...]:
    """Write a comparison as `difference.html` and `difference.md`, as far as they are asked for.

    Raises:
        StoreError: the folder cannot be written.
    """
    wanted = frozenset(formats)
    return tuple(
        replace_file(folder / f"difference.{name}", render(comparison))
        for name, render in _FORMATS.items()
        if name in wanted
    )
