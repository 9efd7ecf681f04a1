"""Parts of hand-written pages that a program writes: the lines between two marks."""

from __future__ import annotations

from collections.abc import Iterable

PLANTED_WORLDS = "planted worlds"
"""The section on the planted worlds, in README and in docs/calibration.md."""


def section_of(text: str, name: str) -> list[str]:
    """Return the lines of a section with its marks; none where the text has no such section."""
    start, end = _marks(name)
    if start not in text:
        return []
    inside = text.partition(start)[2].partition(end)[0]
    return [start, *inside.removeprefix("\n").removesuffix("\n").split("\n"), end]


def with_section(text: str, name: str, lines: Iterable[str]) -> str:
    """Return the text with other lines between a section's marks.

    Raises:
        ValueError: if the text has no such section.
    """
    start, end = _marks(name)
    if start not in text or end not in text:
        raise ValueError(f"found no section between {start} and {end}")
    before, _, rest = text.partition(start)
    _, _, after = rest.partition(end)
    return "\n".join([f"{before}{start}", *lines, f"{end}{after}"])


def _marks(name: str) -> tuple[str, str]:
    return f"<!-- {name} -->", f"<!-- end of {name} -->"
