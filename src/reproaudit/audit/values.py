"""Comparing values of settings and coordinates by type as well as by value.

In Python ``True == 1 == 1.0``; in an audit ``true`` and ``1`` are different settings.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence

from reproaudit.cell import Scalar, SettingValue

MOST_SHOWN = 20
"""Entries of a list that a message shows at most."""


def key(value: SettingValue) -> Hashable:
    """Return a key that two values share exactly if they are the same setting."""
    return tuple(map(key, value)) if isinstance(value, tuple) else (isinstance(value, bool), value)


def same(a: SettingValue, b: SettingValue) -> bool:
    """Tell whether two values are the same setting: true is not 1, but 1 is 1.0."""
    return key(a) == key(b)


def repeated(values: Iterable[SettingValue]) -> Iterator[int]:
    """Yield the positions of values that came before."""
    seen: set[Hashable] = set()
    for i, value in enumerate(values):
        if (one := key(value)) in seen:
            yield i
        seen.add(one)


def fits(value: SettingValue, model: SettingValue) -> bool:
    """Tell whether a value has the model's type; a whole number may stand for a decimal one."""
    if isinstance(model, tuple) and isinstance(value, tuple):
        allowed = {kind for one in model for kind in _types(one)}
        return not model or all(type(one) in allowed for one in value)
    return type(value) in _types(model)


def _types(model: SettingValue) -> tuple[type, ...]:
    return (int, float) if type(model) is float else (type(model),)


def kind_of(value: SettingValue) -> str:
    """Return the type of a value in a reviewer's words."""
    words = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}
    return words.get(type(value), "a list")


def shown(value: SettingValue | Sequence[Scalar]) -> str:
    """Return the value as it is written in an audit; of a long list or text, the beginning."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple | range):
        more = [f"and {len(value) - MOST_SHOWN} more"] if len(value) > MOST_SHOWN else []
        return f"[{', '.join([*map(shown, value[:MOST_SHOWN]), *more])}]"
    return quoted(value) if isinstance(value, str) else repr(value)


def quoted(text: str, limit: int = 60) -> str:
    """Return text as a message quotes it: on one line, without control characters, cut off."""
    return repr(text if len(text) <= limit else text[: limit - 1] + "…")
