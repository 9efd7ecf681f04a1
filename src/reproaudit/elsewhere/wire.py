"""Protocol-buffer messages read field by field, without their schema.

Format: https://protobuf.dev/programming-guides/encoding. Lengths are held against what is there, so
that no damaged message reads beyond its end or reserves memory that it does not fill.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

_VARINT, _BYTES = 0, 2
_FIXED = {1: 8, 5: 4}

WireValue = int | bytes
"""A varint as an unsigned number; everything else as its bytes."""


class WireError(ValueError):
    """Bytes that are no message."""


def fields(message: bytes) -> Iterator[tuple[int, WireValue]]:
    """Yield the fields of a message in order: (number, value).

    Raises:
        WireError: if the message is damaged.
    """
    at, end = 0, len(message)
    while at < end:
        key, at = _varint(message, at)
        number, kind = key >> 3, key & 7
        if number == 0:
            raise WireError("found field number 0")
        if kind == _VARINT:
            value, at = _varint(message, at)
            yield number, value
            continue
        if kind == _BYTES:
            size, at = _varint(message, at)
        elif kind in _FIXED:
            size = _FIXED[kind]
        else:
            raise WireError(f"found wire type {kind}")
        if size > end - at:
            raise WireError(f"found a field of {size} bytes where {end - at} are left")
        yield number, message[at : at + size]
        at += size


def _varint(message: bytes, at: int) -> tuple[int, int]:
    result = shift = 0
    while True:
        if at >= len(message) or shift > 63:
            raise WireError("found a whole number without its end")
        byte = message[at]
        at += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return result & 0xFFFF_FFFF_FFFF_FFFF, at
        shift += 7


def as_bytes(value: WireValue) -> bytes:
    """Return a message or string field.

    Raises:
        WireError: if the field is a number.
    """
    if isinstance(value, int):
        raise WireError("found a number; expected text or a message")
    return value


def as_text(value: WireValue) -> str:
    """Return a string field; what is no UTF-8 is replaced."""
    return as_bytes(value).decode("utf-8", errors="replace")


def as_signed(value: WireValue) -> int:
    """Return an int64 field."""
    if not isinstance(value, int):
        raise WireError("found bytes; expected a whole number")
    return value - (1 << 64) if value >= 1 << 63 else value


def as_real(value: WireValue, form: str = "<d") -> float:
    """Return a double field, or a float field with the form "<f"."""
    data = as_bytes(value)
    if len(data) != struct.calcsize(form):
        raise WireError(f"found {len(data)} bytes; expected {struct.calcsize(form)}")
    return float(struct.unpack(form, data)[0])
