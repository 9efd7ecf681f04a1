"""YAML as a reader likes it: short entries on one line, longer ones filled, sections in blocks."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from typing import Any

from reproaudit.audit.document import read_plain

WIDTH = 120
"""Columns of a line at most, where a word allows it."""

BREAK = "\0"
"""A space in flow text at which a line may end."""

BLOCKS = frozenset(
    {
        "",
        "paper",
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
"""The sections of an audit whose entries stand on lines of their own."""

BLOCKS_WITHIN = frozenset(
    {
        "settings",
        "quick",
        "smoke",
        "measurements",
        "stages",
        "holds_if",
        "also_said",
        "also_report",
        "reported",
        "arms",
    }
)
"""The fields of an experiment or a claim whose entries stand on lines of their own."""

_UNSAFE_BEGIN = "-?:,[]{}#&*!|>'\"%@`=<~"
_UNSAFE_INSIDE = re.compile(r": |:$| #|[,\[\]{}\0\n\t]|^ | $|  |:[,\]}]|^$")


def written(data: dict[str, Any]) -> str:
    """Return an audit's plain data as the text of its file."""
    lines: list[str] = []
    for name, value in data.items():
        if lines and (name in BLOCKS or name == "axes"):
            lines.append("")
        lines += _field(name, value, 0, (name,))
    return "\n".join(["# yaml-language-server: $schema=schema.json", *lines]) + "\n"


def _field(name: str, value: Any, indent: int, path: tuple[str, ...]) -> Iterator[str]:
    """Yield the lines of one entry of a mapping in a block."""
    head = f"{' ' * indent}{_key(name)}:"
    text = f"{head} {_text(value, within=False) if isinstance(value, str) else flow(value)}"
    short = len(text) <= WIDTH or not isinstance(value, dict | list) or not _in_block(path)
    if short or (len(path) > 1 and isinstance(value, list) and len(value) == 1):
        yield from filled(text, indent)
        return
    yield head
    if isinstance(value, dict):
        for below, entry in value.items():
            yield from _field(below, entry, indent + 2, (*path, below))
        return
    for entry in value:
        yield from filled(f"{' ' * (indent + 2)}- {flow(entry)}", indent + 3)


def _in_block(path: tuple[str, ...]) -> bool:
    """Tell whether the value at a path has lines of its own when it does not fit on one."""
    if len(path) == 1:
        return path[0] in BLOCKS
    if path[0] in ("experiments", "claims", "our_questions"):
        return len(path) == 2 or (len(path) == 3 and path[2] in BLOCKS_WITHIN)
    return False


def filled(text: str, indent: int) -> Iterator[str]:
    """Yield the lines of a text that may be broken at some of its spaces."""
    line = ""
    for part in text.split(BREAK):
        longer = f"{line} {part}" if line else part
        if len(longer) > WIDTH and line:
            yield line
            line = " " * (indent + 2) + part
        else:
            line = longer
    yield line


def flow(value: Any) -> str:
    """Return a value in YAML's flow style, with breaks where a line may end."""
    if isinstance(value, dict):
        return f"{{{f',{BREAK}'.join(f'{_key(k)}: {flow(v)}' for k, v in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"[{f',{BREAK}'.join(map(flow, value))}]"
    if isinstance(value, Fraction):
        return f"{value.numerator}/{value.denominator}"
    return _text(value) if isinstance(value, str) else _number(value)


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
