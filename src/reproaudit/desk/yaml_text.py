"""Values as YAML text, in the style of the shipped audits: plain if possible, 100 columns wide.

A text is plain where YAML reads it back as the same text, a `|` block where it has several lines,
and else in double quotes. Characters that an editor does not show (control characters, and those
that turn the direction of reading) are always written as escapes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

import yaml
from yaml.resolver import Resolver

from reproaudit.audit.loading.scalars import read_plain

LINE_WIDTH = 100
"""The columns of a line."""

_RESOLVER: Any = Resolver()
_INDICATORS = tuple("-?:,[]{}#&*!|>'\"%@`=<~")
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t"}


def scalar(value: object, column: int, indent: int, *, flow: bool = False) -> str:
    """One value as YAML.

    Args:
        value: true or false, a number, a date or a text.
        column: the column where the value begins.
        indent: the column of its further lines.
        flow: whether it stands in brackets.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | date):
        return str(value)
    if isinstance(value, float):
        return _number(value)
    text = str(value)
    if _is_plain(text, flow):
        return _folded(text, column, indent, r"(?<=\S) (?=[^\W_])")
    if not flow and _fits_a_block(text):
        lines = text.removesuffix("\n").split("\n")
        margin = "\n" + " " * indent
        head = "|" if text.endswith("\n") else "|-"
        return head + "".join(margin + line if line else "\n" for line in lines)
    quoted = "".join(map(_escaped, text))
    return _folded(f'"{quoted}"', column, indent, r"(?<=\S) (?=\S)")


def in_brackets(value: object, column: int, indent: int) -> str:
    """A value as YAML within brackets, lists and mappings in brackets themselves."""
    if isinstance(value, Mapping):
        entries = [f"{name}: {in_brackets(one, column, indent)}" for name, one in value.items()]
        return "{" + ", ".join(entries) + "}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[" + ", ".join(in_brackets(one, column, indent) for one in value) + "]"
    return scalar(value, column, indent, flow=True)


def field_lines(name: str, value: object, indent: int) -> list[str]:
    """The lines of `name: value`; all but the first are indented already."""
    if isinstance(value, Mapping):
        first, *rest = mapping_lines(value, indent + 2)
        return [f"{name}:", " " * (indent + 2) + first, *rest]
    if isinstance(value, Sequence) and not isinstance(value, str):
        if any(isinstance(one, Mapping) for one in value):
            items = (item_lines(one, indent + 2, 2) for one in value)
            return [f"{name}:", *(line for one in items for line in one)]
        return [f"{name}: {in_brackets(value, indent + len(name) + 2, indent + 2)}"]
    return f"{name}: {scalar(value, indent + len(name) + 2, indent + 2)}".split("\n")


def mapping_lines(value: Mapping[str, object], indent: int) -> list[str]:
    """The lines of a mapping's fields; the first is not indented."""
    lines: list[str] = []
    for name, one in value.items():
        first, *rest = field_lines(name, one, indent)
        lines += [" " * indent + first if lines else first, *rest]
    return lines


def item_lines(value: object, dash: int, offset: int) -> list[str]:
    """The lines of a list's item, indented.

    Args:
        value: the item.
        dash: the column of the dash.
        offset: the columns from the dash to the item.
    """
    column = dash + offset
    if isinstance(value, Mapping):
        first, *rest = mapping_lines(value, column)
    elif isinstance(value, str | int | float | date):
        first, *rest = scalar(value, column, column + 2).split("\n")
    else:
        first, *rest = [in_brackets(value, column, column + 2)]
    return [" " * dash + "-".ljust(offset) + first, *rest]


def _number(value: float) -> str:
    """A number that YAML 1.1 reads as one: with a point, and a sign before the exponent."""
    mantissa, e, exponent = repr(value).partition("e")
    if not e:
        return mantissa
    point = "" if "." in mantissa else ".0"
    return f"{mantissa}{point}e{exponent if exponent[0] in '+-' else '+' + exponent}"


def _is_plain(text: str, flow: bool) -> bool:
    """True if YAML reads the text, without quotes, as the same text."""
    if not text or text != text.strip() or not text.isprintable():
        return False
    if text.startswith(_INDICATORS) or text.endswith(":") or ": " in text or " #" in text:
        return False
    if flow and re.search(r"[,\[\]{}:?]", text):
        return False
    is_text = _RESOLVER.resolve(yaml.ScalarNode, text, (True, False)) == "tag:yaml.org,2002:str"
    return is_text and read_plain(text) == (text, None)


def _fits_a_block(text: str) -> bool:
    """True if a `|` block holds the text as it is."""
    lines = text.removesuffix("\n").split("\n")
    return (
        len(lines) > 1
        and not lines[0].startswith(" ")
        and bool(lines[0])
        and bool(lines[-1])
        and all(line.isprintable() and line == line.rstrip() for line in lines)
    )


def _escaped(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    code = ord(character)
    form = "\\x{:02x}" if code < 0x100 else "\\u{:04x}" if code < 0x10000 else "\\U{:08x}"
    return form.format(code)


def _folded(text: str, column: int, indent: int, gap: str) -> str:
    """The text broken into lines where it has single spaces, which YAML puts back."""
    lines, line = [], ""
    room = LINE_WIDTH - column
    for word in re.split(gap, text):
        if line and len(line) + 1 + len(word) > room:
            lines.append(line)
            line, room = word, LINE_WIDTH - indent
        else:
            line = f"{line} {word}" if line else word
    return ("\n" + " " * indent).join([*lines, line])
