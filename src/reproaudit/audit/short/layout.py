"""YAML as a reader likes it: short entries on one line, longer ones filled, sections in blocks."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

from reproaudit.audit.document import read_plain

WIDTH = 120
"""Columns of a line at most, where a word allows it."""

LEAST_ROOM = 12
"""Columns that are left on a line at least, for a text to begin there that goes on below."""

BREAK = "\0"
"""A space in a text at which a line may end."""

SECTIONS = frozenset(
    {
        "variables",
        "bounds",
        "settings",
        "quick",
        "smoke",
        "measurements",
        "experiments",
        "arms",
        "claims",
        "our_questions",
        "not_audited",
        "findings",
    }
)
"""The sections of an audit whose entries begin on a line each; an empty line is before each."""

APART = frozenset({"paper", "axes"})
"""What is written like an entry and has an empty line before it all the same."""

_UNSAFE_BEGIN = "-?:,[]{}#&*!|>'\"%@`=<~"
_UNSAFE_INSIDE = re.compile(r": |:$| #|[,\[\]{}\0\n\t]|^ | $|  |:[,\]}]|\?$|^$")


def written(data: dict[str, Any]) -> str:
    """Return an audit's plain data as the text of its file."""
    lines = ["# yaml-language-server: $schema=schema.json"]
    for name, value in data.items():
        if name in SECTIONS or name in APART:
            lines.append("")
        lines += _section(name, value)
    return "\n".join(lines) + "\n"


def _section(name: str, value: Any) -> Iterator[str]:
    """Yield the lines of one of an audit's fields."""
    head = f"{name}: "
    if name not in SECTIONS or len(head + on_one_line(value)) <= WIDTH:
        yield from filled(head, value, 2)
        return
    yield f"{name}:"
    if isinstance(value, dict):
        for below, entry in value.items():
            yield from filled(f"  {_key(below)}: ", entry, 4)
        return
    for entry in value:
        yield from filled("  - ", entry, 5)


def filled(head: str, value: Any, indent: int) -> list[str]:
    """Return the lines of a value in YAML's flow style; those below the first are indented."""
    page = _Page(head)
    page.write(value, indent, "", within=False)
    return [*page.lines, page.line]


class _Page:
    """Lines that are written from left to right."""

    def __init__(self, line: str) -> None:
        self.lines: list[str] = []
        self.line = line

    @property
    def room(self) -> int:
        return WIDTH - len(self.line)

    def turn(self, indent: int) -> None:
        """Begin a line."""
        self.lines.append(self.line.rstrip())
        self.line = " " * indent

    def write(self, value: Any, indent: int, end: str, *, within: bool = True) -> None:
        """Write a value and the text right after it; `within` brackets a comma is quoted."""
        text = on_one_line(value, within=within) + end
        if len(text) <= self.room:
            self.line += text
        elif isinstance(value, dict):
            entries = [(f"{_key(name)}: ", below) for name, below in value.items()]
            self._entries(entries, indent, "{", "}" + end, apart=_has_long_parts(value.values()))
        elif isinstance(value, list | tuple):
            entries = [("", below) for below in value]
            self._entries(entries, indent, "[", "]" + end, apart=_has_long_parts(value))
        else:
            self._words(value, indent, end, within)

    def _entries(
        self, entries: Sequence[tuple[str, Any]], indent: int, begin: str, end: str, *, apart: bool
    ) -> None:
        """Write the entries of a mapping or a list; `apart` says that each begins on a line."""
        self.line += begin
        for number, (key, value) in enumerate(entries, start=1):
            after = "," if number < len(entries) else end
            gap = " " if number > 1 else ""
            begun = gap + key
            size = len(key + on_one_line(value) + after)
            if gap and (apart or self._goes_below(value, begun, size, indent)):
                self.turn(indent)
                begun = key
            self.line += begun
            self.write(value, indent + 2, after)

    def _goes_below(self, value: Any, begun: str, size: int, indent: int) -> bool:
        """Tell whether an entry begins on the next line.

        Args:
            value: the entry's.
            begun: the text before the value on this line.
            size: the columns of the whole entry.
            indent: that of the next line.
        """
        if size + 1 <= self.room:
            return False
        room = self.room - len(begun)
        if isinstance(value, str):
            return room < max(LEAST_ROOM, len(value.partition(" ")[0]) + 2)
        if not isinstance(value, dict | list | tuple):
            return True
        parts = value.values() if isinstance(value, dict) else value
        return size <= WIDTH - indent or _has_parts(parts) or room < 2 * LEAST_ROOM

    def _words(self, value: Any, indent: int, end: str, within: bool) -> None:
        """Write a text, or anything else that cannot be broken, over as many lines as it needs."""
        text = _text(value, within=within) if isinstance(value, str) else on_one_line(value)
        first, *rest = (text + end).split(BREAK)
        self.line += first
        for word in rest:
            if len(word) + 1 > self.room:
                self.turn(indent)
                self.line += word
            else:
                self.line += f" {word}"


def _has_parts(values: Iterable[Any]) -> bool:
    """Tell whether all of several values are mappings."""
    return all(isinstance(value, dict) for value in values)


def _has_long_parts(values: Collection[Any]) -> bool:
    """Tell whether several values are mappings, and one of them takes most of a line."""
    return _has_parts(values) and any(len(on_one_line(value)) > WIDTH / 2 for value in values)


def on_one_line(value: Any, *, within: bool = True) -> str:
    """Return a value in YAML's flow style on one line."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_key(k)}: {on_one_line(v)}' for k, v in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(on_one_line, value))}]"
    if isinstance(value, Fraction):
        return f"{value.numerator}/{value.denominator}"
    return (
        _text(value, within=within).replace(BREAK, " ")
        if isinstance(value, str)
        else _number(value)
    )


def _number(value: bool | int | float | None) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    text = repr(value)
    if "e" not in text:
        return text
    mantissa, _, exponent = text.partition("e")
    mantissa = mantissa if "." in mantissa else f"{mantissa}.0"
    return f"{mantissa}e{int(exponent):+d}"


def _text(text: str, *, within: bool = True) -> str:
    """Return a text, quoted where it must be; `within` brackets a comma would end it."""
    if _is_plain(text if within else text.replace(", ", " ")):
        return _breakable(text, plain=True)
    return _breakable(json.dumps(text, ensure_ascii=False), plain=False)


def _key(text: str) -> str:
    return text if _is_plain(text) else json.dumps(text, ensure_ascii=False)


def _is_plain(text: str) -> bool:
    """Tell whether a text may stand without quotes wherever a value may."""
    if not text or text[0] in _UNSAFE_BEGIN or _UNSAFE_INSIDE.search(text):
        return False
    return read_plain(text) == (text, "")


def _breakable(text: str, *, plain: bool) -> str:
    """Return a text with breaks at its single spaces; of plain text, before harmless words."""
    words = text.split(" ")
    parts = [words[0]]
    for before, word in pairwise(words):
        harmless = word and before and (not plain or word[0] not in _UNSAFE_BEGIN)
        parts.append(f"{BREAK if harmless else ' '}{word}")
    return "".join(parts)
