"""How values of settings and coordinates are compared: by type as well as by value.

In Python ``True == 1 == 1.0``; in an audit ``true`` and ``1`` are different settings.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import TypeVar

from reproaudit.cell import SettingValue

_V = TypeVar("_V", bound=SettingValue)


def _key(value: SettingValue) -> Hashable:
    """What two values share exactly if they are the same setting."""
    if isinstance(value, tuple):
        return tuple(_key(v) for v in value)
    return isinstance(value, bool), value


def same(a: SettingValue, b: SettingValue) -> bool:
    """Whether two values are the same setting: true is not 1, but 1 is 1.0."""
    return _key(a) == _key(b)


def among(value: SettingValue, others: Iterable[SettingValue]) -> bool:
    """Whether one of the others is the same value."""
    key = _key(value)
    return any(key == _key(other) for other in others)


def without(values: Iterable[_V], others: Iterable[SettingValue]) -> tuple[_V, ...]:
    """The values that are not among the others."""
    keys = {_key(other) for other in others}
    return tuple([value for value in values if _key(value) not in keys])


def repeated(values: Iterable[SettingValue]) -> Iterator[int]:
    """Where a value stands that came before."""
    seen: set[Hashable] = set()
    for i, value in enumerate(values):
        if _key(value) in seen:
            yield i
        seen.add(_key(value))


def fits(value: SettingValue, model: SettingValue) -> bool:
    """Whether a value can stand where the model stands; a whole number may stand for a decimal."""
    if isinstance(model, tuple):
        if not isinstance(value, tuple):
            return False
        return not model or all(any(fits(v, m) for m in model) for v in value)
    if isinstance(value, tuple):
        return False
    allowed = (int, float) if type(model) is float else (type(model),)
    return type(value) in allowed


def kind_of(value: SettingValue) -> str:
    """The type in a reviewer's words."""
    if isinstance(value, tuple):
        return "a list"
    words = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}
    return words[type(value)]


def shown(value: SettingValue) -> str:
    """The value as it is written in an audit."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return "[" + ", ".join(shown(v) for v in value) + "]"
    return repr(value)
