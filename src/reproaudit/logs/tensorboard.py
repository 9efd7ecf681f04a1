"""TensorBoard's event files: framed protocol-buffer messages.

They hold every point, where TensorBoard shows a random sample of a long series. A file is a row of
TFRecords (length, its checksum, an ``Event``, its checksum). Field numbers are those of
tensorboard's event.proto, summary.proto, tensor.proto and plugin_data.proto; the encoding:
https://protobuf.dev/programming-guides/encoding. Lengths are held against what is there, so that no
damaged message reads beyond its end.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from pathlib import Path

from reproaudit.logs.logged import CurveBuilder, LogError, LoggedRun, LogSource
from reproaudit.logs.opening import open_log

_MAX_RECORD_BYTES = 2**28
MAX_SCALAR_BYTES = 2**16
"""An event beyond this size holds a picture, a graph or a histogram, and is passed over."""
_START = 1
"""The status of a session that begins at its event's step."""
_VARINT = 0
_BYTES = 2
_FIXED = {1: 8, 5: 4}


class _Message:
    """The fields of a message by their numbers; of a repeated number the last counts."""

    def __init__(self, data: bytes) -> None:
        self._fields: dict[int, list[int | bytes]] = {}
        for number, value in _fields(data):
            self._fields.setdefault(number, []).append(value)

    def raw(self, number: int) -> int | bytes | None:
        """A varint as an unsigned number, everything else as its bytes; None if absent."""
        return self._fields[number][-1] if number in self._fields else None

    def parts(self, number: int) -> list[bytes]:
        """Every message or string under a number."""
        found = self._fields.get(number, [])
        if any(isinstance(one, int) for one in found):
            raise ValueError("found a number; expected text or a message")
        return [one for one in found if isinstance(one, bytes)]

    def message(self, number: int) -> _Message:
        return _Message(b"".join(self.parts(number)[-1:]))

    def text(self, number: int) -> str:
        return b"".join(self.parts(number)[-1:]).decode("utf-8", errors="replace")

    def whole(self, number: int) -> int:
        """An int64; 0 if absent."""
        value = self.raw(number) or 0
        if not isinstance(value, int):
            raise ValueError("found bytes; expected a whole number")
        return value - (1 << 64) if value >= 1 << 63 else value

    def real(self, number: int, form: str = "<f") -> float:
        """A float, or a double; 0 if absent."""
        data = self.raw(number) or bytes(struct.calcsize(form))
        if not isinstance(data, bytes) or len(data) != struct.calcsize(form):
            raise ValueError(f"found something else; expected {struct.calcsize(form)} bytes")
        return float(struct.unpack(form, data)[0])


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    at = 0
    end = len(message)
    while at < end:
        key, at = _varint(message, at)
        number = key >> 3
        kind = key & 7
        if number == 0:
            raise ValueError("found field number 0")
        if kind == _VARINT:
            value, at = _varint(message, at)
            yield number, value
            continue
        if kind == _BYTES:
            size, at = _varint(message, at)
        elif kind in _FIXED:
            size = _FIXED[kind]
        else:
            raise ValueError(f"found wire type {kind}")
        if size > end - at:
            raise ValueError(f"found a field of {size} bytes where {end - at} are left")
        yield number, message[at : at + size]
        at += size


def _varint(message: bytes, at: int) -> tuple[int, int]:
    result = shift = 0
    while True:
        if at >= len(message) or shift > 63:
            raise ValueError("found a whole number without its end")
        byte = message[at]
        at += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return result & 0xFFFF_FFFF_FFFF_FFFF, at
        shift += 7


_CUT_OFF = (
    "found the file's end inside a record; expected whole records. The run was killed, or the "
    "file is truncated: copy it again, or leave it out."
)
_DAMAGED = "found a damaged record; expected its checksum to fit. Copy the file again."


# --- events ---------------------------------------------------------------------------------------

_FORMS = {1: ("<f", 5), 2: ("<d", 6)}
"""By a tensor's dtype: the form of the bytes, and the field that lists numbers one by one."""


def is_event_file(name: str) -> bool:
    """Return True if a file is named as TensorBoard's writers name theirs."""
    return ".tfevents." in name and not name.endswith((".profile-empty", ".gz"))


def read_event_files(source: LogSource, files: Iterable[Path]) -> Iterator[LoggedRun]:
    """Read the run that one folder's event files hold together.

    PyTorch's ``add_hparams`` writes hyperparameters, with single numbers, to a folder of their own.
    """
    in_order = tuple(sorted(files))  # their names hold the second in which each was begun
    reader = _EventReader(source.builder())
    for file in in_order:
        place = f"{source.name}/{file.name}"
        reader.builder.file = file.name
        for at, record in _tf_records(file, place):
            try:
                reader.take(_Message(record))
            except ValueError as error:
                text = f"found a record that cannot be read ({error})."
                raise LogError(f"{place} at byte {at}", text) from None
    curves = reader.builder.curves()
    single = all(len(one.values) <= 1 for at in curves.values() for one in at.values())
    if reader.has_hyperparameters and single:
        source.skipped[source.name] = "hyperparameters of add_hparams; log them in a config.json"
    else:
        told = tuple(reader.builder.told)
        yield source.run("TensorBoard", curves, files=in_order, told=told)


def _tf_records(file: Path, place: str) -> Iterator[tuple[int, bytes]]:
    """Yield where each record begins in its file, and its bytes."""
    with open_log(file, place) as handle:
        at = 0
        while head := handle.read(12):
            if len(head) < 12:
                raise LogError(f"{place} at byte {at}", _CUT_OFF)
            size, checksum = struct.unpack("<QI", head)
            if crc32c(head[:8]) != checksum or size > _MAX_RECORD_BYTES:
                raise LogError(f"{place} at byte {at}", _DAMAGED)
            body = handle.read(size + 4)
            if len(body) < size + 4:
                raise LogError(f"{place} at byte {at}", _CUT_OFF)
            if size <= MAX_SCALAR_BYTES:
                if crc32c(body[:size]) != struct.unpack("<I", body[size:])[0]:
                    raise LogError(f"{place} at byte {at}", _DAMAGED)
                yield at, body[:size]
            at += size + 16


def _crc_table() -> list[int]:
    table = list(range(256))
    for _ in range(8):
        table = [(one >> 1) ^ 0x82F63B78 if one & 1 else one >> 1 for one in table]
    return table


_CRC32C = _crc_table()


def crc32c(data: bytes) -> int:
    """Return the masked CRC-32C, as TFRecords have it."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _CRC32C[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    crc ^= 0xFFFFFFFF
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


class _EventReader:
    """Takes numbers out of events."""

    def __init__(self, builder: CurveBuilder) -> None:
        self.builder = builder
        self.has_hyperparameters = False

    def take(self, event: _Message) -> None:
        """Take one Event: time 1, step 2, summary 5 with values 1, session 7 with its status 1.

        A session that starts anew replaces what was logged from its step on, as in TensorBoard.
        """
        if event.message(7).whole(1) == _START:
            self.builder.purge(event.whole(2))
        for summary in map(_Message, event.parts(5)):
            for value in map(_Message, summary.parts(1)):
                self._value(value, event.whole(2), event.real(1, "<d"))

    def _value(self, value: _Message, step: int, time: float) -> None:
        """Take one Summary.Value: tag 1, simple_value 2, tensor 8, metadata 9.

        The metadata has plugin_data 1, with plugin_name 1.
        """
        tag = value.text(1)
        plugin = value.message(9).message(1).text(1)
        self.has_hyperparameters |= plugin == "hparams"
        if value.raw(2) is not None:
            self.builder.add(tag, step, value.real(2), when=time)
        elif plugin in ("scalars", ""):
            number = _scalar_tensor(value.message(8))
            if number is not None:
                self.builder.add(tag, step, number, when=time)


def _scalar_tensor(tensor: _Message) -> float | None:
    """Return the number of a TensorProto that holds one; None if it holds anything else.

    Its fields: dtype 1, tensor_content 4, float_val 5, double_val 6.
    """
    form, listed = _FORMS.get(tensor.whole(1), ("", 0))
    field = 4 if tensor.raw(4) is not None else listed
    data = tensor.raw(field)
    if not form or not isinstance(data, bytes) or len(data) != struct.calcsize(form):
        return None
    return tensor.real(field, form)
