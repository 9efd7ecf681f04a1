"""Protocol-buffer messages read field by field, without their schema.

Format: https://protobuf.dev/programming-guides/encoding. Lengths are held against what is there, so
that no damaged message reads beyond its end or reserves memory that it does not fill.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

_VARINT, _BYTES = 0, 2
_FIXED = {1: 8, 5: 4}


class WireError(ValueError):
    """Bytes that are no message, or a field of another type than its number says."""


class Message:
    """The fields of a message by their numbers; where one comes several times, the last counts."""

    def __init__(self, data: bytes) -> None:
        """Take the bytes.

        Raises:
            WireError: if they are damaged.
        """
        self._fields: dict[int, list[int | bytes]] = {}
        for number, value in _read(data):
            self._fields.setdefault(number, []).append(value)

    def raw(self, number: int) -> int | bytes | None:
        """Return a varint as an unsigned number, everything else as its bytes; None if absent."""
        return self._fields[number][-1] if number in self._fields else None

    def all_bytes(self, number: int) -> list[bytes]:
        """Return every message or string under a number.

        Raises:
            WireError: if one is a number.
        """
        found = self._fields.get(number, [])
        if any(isinstance(one, int) for one in found):
            raise WireError("found a number; expected text or a message")
        return [one for one in found if isinstance(one, bytes)]

    def messages(self, number: int) -> Iterator[Message]:
        """Yield every message under a number."""
        return map(Message, self.all_bytes(number))

    def message(self, number: int) -> Message:
        """Return a message; one without fields if it is absent."""
        return Message(next(reversed(self.all_bytes(number)), b""))

    def text(self, number: int) -> str:
        """Return a string, or "" if it is absent; what is no UTF-8 is replaced."""
        return next(reversed(self.all_bytes(number)), b"").decode("utf-8", errors="replace")

    def whole(self, number: int) -> int:
        """Return an int64, or 0 if it is absent.

        Raises:
            WireError: if it is no number.
        """
        value = self.raw(number) or 0
        if not isinstance(value, int):
            raise WireError("found bytes; expected a whole number")
        return value - (1 << 64) if value >= 1 << 63 else value

    def real(self, number: int, form: str = "<d") -> float:
        """Return a double, or a float with the form "<f"; 0 if it is absent.

        Raises:
            WireError: if it has another length.
        """
        data = next(reversed(self.all_bytes(number)), bytes(struct.calcsize(form)))
        if len(data) != struct.calcsize(form):
            raise WireError(f"found {len(data)} bytes; expected {struct.calcsize(form)}")
        return float(struct.unpack(form, data)[0])


def _read(message: bytes) -> Iterator[tuple[int, int | bytes]]:
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
