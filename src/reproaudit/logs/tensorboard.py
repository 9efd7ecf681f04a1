"""TensorBoard's event files: framed protocol-buffer messages.

They hold every point, where TensorBoard shows a random sample of a long series. A file is a row of
TFRecords (length, its checksum, an ``Event``, its checksum). Field numbers are those of
tensorboard's event.proto, summary.proto, tensor.proto and plugin_data.proto; the encoding:
https://protobuf.dev/programming-guides/encoding. No damaged message is read beyond its end.
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
_START = 1  # the status of a session that begins at its event's step
_VARINT = 0
_BYTES = 2
_FIXED = {1: 8, 5: 4}


class _Message:
    """The fields of a message by their numbers; of a repeated number the last counts."""

    def __init__(self, data: bytes) -> None:
        self._fields: dict[int, list[int | bytes]] = {}
        for field, value in _fields(data):
            self._fields.setdefault(field, []).append(value)

    def parts(self, field: int) -> list[bytes]:
        """Everything under a number that is no varint, as bytes."""
        values = self._fields.get(field, [])
        if any(isinstance(value, int) for value in values):
            raise ValueError("found a whole number; expected something else")
        return [value for value in values if isinstance(value, bytes)]

    def last(self, field: int) -> bytes:
        return b"".join(self.parts(field)[-1:])

    def message(self, field: int) -> _Message:
        return _Message(self.last(field))

    def text(self, field: int) -> str:
        return self.last(field).decode("utf-8", errors="replace")

    def whole(self, field: int) -> int:
        """An int64; 0 if absent."""
        value = self._fields.get(field, [0])[-1]
        if not isinstance(value, int):
            raise ValueError("found bytes; expected a whole number")
        return value - (1 << 64) if value >= 1 << 63 else value

    def real(self, field: int, layout: str) -> float:
        """A float, or a double; 0 if absent."""
        return float(struct.unpack(layout, self.last(field) or bytes(struct.calcsize(layout)))[0])


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        field = key >> 3
        wire_type = key & 7
        if field == 0 or wire_type not in (_VARINT, _BYTES, *_FIXED):
            raise ValueError(f"found field {field} of wire type {wire_type}")
        size = _FIXED.get(wire_type, 0)
        if size == 0:
            size, at = _varint(message, at)
        if wire_type == _VARINT:
            yield field, size
            continue
        if size > len(message) - at:
            raise ValueError(f"found a field of {size} bytes where {len(message) - at} are left")
        yield field, message[at : at + size]
        at += size


def _varint(message: bytes, at: int) -> tuple[int, int]:
    result = 0
    for shift in range(0, 70, 7):
        if at >= len(message):
            break
        byte = message[at]
        at += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return result & 0xFFFF_FFFF_FFFF_FFFF, at
    raise ValueError("found a whole number without its end")


_CUT_OFF = (
    "found the file's end inside a record; expected whole records. The run was killed, or the "
    "file is truncated: copy it again, or leave it out."
)
_DAMAGED = "found a damaged record; expected its checksum to fit. Copy the file again."
_LAYOUTS = {1: ("<f", 5), 2: ("<d", 6)}
"""By a tensor's dtype: the layout of the bytes, and the field that lists numbers one by one."""


def is_event_file(name: str) -> bool:
    """Return True if a file is named as TensorBoard's writers name theirs."""
    return ".tfevents." in name and not name.endswith((".profile-empty", ".gz"))


def read_event_files(source: LogSource, files: Iterable[Path]) -> Iterator[LoggedRun]:
    """Read the run that one folder's event files hold together.

    PyTorch's ``add_hparams`` writes hyperparameters, with single numbers, to a folder of their own.
    """
    in_order = tuple(sorted(files))  # their names hold the second in which each was begun
    builder = source.builder()
    has_hyperparameters = False
    for file in in_order:
        place = f"{source.name}/{file.name}"
        builder.file = file.name
        for at, record in _tf_records(file, place):
            try:
                has_hyperparameters |= _take(_Message(record), builder)
            except (ValueError, struct.error) as error:
                text = f"found a record that cannot be read ({error})."
                raise LogError(f"{place} at byte {at}", text) from None
    curves = builder.curves()
    single = all(len(curve.values) <= 1 for at in curves.values() for curve in at.values())
    if has_hyperparameters and single:
        source.skipped[source.name] = "hyperparameters of add_hparams; log them in a config.json"
    else:
        yield source.run("TensorBoard", curves, files=in_order, remarks=tuple(builder.remarks))


def _tf_records(file: Path, place: str) -> Iterator[tuple[int, bytes]]:
    """Yield where each record begins in its file, and its bytes."""
    at = 0
    with open_log(file, place) as handle:
        while head := handle.read(12):
            size = int.from_bytes(head[:8], "little")
            if len(head) == 12 and (_is_damaged(head[:8], head[8:]) or size > _MAX_RECORD_BYTES):
                raise LogError(f"{place} at byte {at}", _DAMAGED)
            body = handle.read(size + 4) if len(head) == 12 else b""
            if len(body) < size + 4:
                raise LogError(f"{place} at byte {at}", _CUT_OFF)
            if size <= MAX_SCALAR_BYTES:
                if _is_damaged(body[:size], body[size:]):
                    raise LogError(f"{place} at byte {at}", _DAMAGED)
                yield at, body[:size]
            at += size + 16


def _is_damaged(data: bytes, checksum: bytes) -> bool:
    return crc32c(data) != int.from_bytes(checksum, "little")


def _crc_table() -> list[int]:
    table = list(range(256))
    for _ in range(8):
        table = [(crc >> 1) ^ 0x82F63B78 if crc & 1 else crc >> 1 for crc in table]
    return table


_CRC32C = _crc_table()


def crc32c(data: bytes) -> int:
    """Return the masked CRC-32C, as TFRecords have it."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _CRC32C[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    crc ^= 0xFFFFFFFF
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def _take(event: _Message, builder: CurveBuilder) -> bool:
    """Take one Event: time 1, step 2, summary 5 with values 1, session 7 with its status 1.

    A session that starts anew replaces what was logged from its step on, as in TensorBoard. A
    value has tag 1, simple_value 2, tensor 8, metadata 9 with plugin_data 1, plugin_name 1.
    Return whether one is a hyperparameter.
    """
    step = event.whole(2)
    if event.message(7).whole(1) == _START:
        builder.purge(step)
    plugins = set()
    for value in (_Message(v) for s in event.parts(5) for v in _Message(s).parts(1)):
        plugin = value.message(9).message(1).text(1)
        plugins.add(plugin)
        number = value.real(2, "<f") if value.parts(2) else None
        if number is None and plugin in ("scalars", ""):
            number = _scalar_tensor(value.message(8))
        if number is not None:
            builder.add(value.text(1), step, number, when=event.real(1, "<d"))
    return "hparams" in plugins


def _scalar_tensor(tensor: _Message) -> float | None:
    """Return the number of a TensorProto: dtype 1, tensor_content 4, float_val 5, double_val 6."""
    layout, listed = _LAYOUTS.get(tensor.whole(1), ("", 0))
    data = tensor.last(4) or tensor.last(listed)
    return (
        struct.unpack(layout, data)[0] if layout and len(data) == struct.calcsize(layout) else None
    )
