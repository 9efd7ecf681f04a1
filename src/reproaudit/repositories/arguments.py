"""The placeholders in a command: ``{seed}``, and ``{name}`` for a setting. No shell, no code."""

from __future__ import annotations

import re
from collections.abc import Mapping

from reproaudit.cell import SettingValue

SEED = "seed"
"""The placeholder that stands for the seed."""

Spelling = Mapping[str, Mapping[str, str | None]]
"""Setting -> its value, as `as_argument` writes it -> what the command takes; None for nothing."""

_PIECE = re.compile(r"\{\{|\}\}|\{([a-z][a-z0-9_]*)\}|[{}]")


def placeholders(text: str) -> tuple[str, ...]:
    """The names in braces, in order.

    Raises:
        ValueError: if a brace is neither doubled nor around a name; in words for the user.
    """
    names = []
    for piece in _PIECE.finditer(text):
        if piece.group() in ("{", "}"):
            raise ValueError(
                f"found '{text[:60]}' with an unmatched brace; expected {{seed}}, a "
                "setting's name in braces, or '{{' and '}}' for the braces themselves"
            )
        if piece.group(1):
            names.append(piece.group(1))
    return tuple(names)


def as_argument(value: SettingValue) -> str:
    """A value as text: a list's entries joined by commas, true and false in lower case."""
    if isinstance(value, tuple | list):
        return ",".join(map(as_argument, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def filled(text: str, values: Mapping[str, SettingValue], spelling: Spelling) -> str | None:
    """The text with its placeholders filled in; None if it is one that stands for nothing.

    Args:
        text: with placeholders.
        values: the seed and every setting.
        spelling: what the command takes for some of the values.
    """
    missing = False

    def fill(piece: re.Match[str]) -> str:
        nonlocal missing
        name = piece.group(1)
        if not name:
            return piece.group()[0]
        text = as_argument(values[name])
        spelled = spelling.get(name, {}).get(text, text)
        missing = missing or spelled is None
        return spelled or ""

    done = _PIECE.sub(fill, text)
    return None if missing else done
