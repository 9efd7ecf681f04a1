"""TensorBoard's event files and W&B's offline logs: framed protocol-buffer messages.

Both hold every point, where TensorBoard shows a random sample of a long series and W&B draws one
for an export. An event file is a row of TFRecords (length, its checksum, an ``Event``, its
checksum). A ``run-<id>.wandb`` is framed like a LevelDB log (blocks of 32 KiB; fragments with
checksum, length and type) after a header of its own; each record is a ``Record``. Field numbers are
those of tensorboard's event.proto, summary.proto, tensor.proto and plugin_data.proto, and of
wandb_internal.proto; the encoding: https://protobuf.dev/programming-guides/encoding. Lengths are
held against what is there, so that no damaged message reads beyond its end.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from reproaudit.elsewhere.logged import (
    CurveBuilder,
    LogError,
    LoggedRun,
    LogSource,
    day_of,
    open_log,
    parse_json,
)
from reproaudit.elsewhere.tables import TableForm, take_row

_MAX_RECORD_BYTES = 2**28
MAX_SCALAR_BYTES = 2**16
"""An event beyond this size holds a picture, a graph or a histogram, and is passed over."""
_VARINT, _BYTES = 0, 2
_FIXED = {1: 8, 5: 4}

_Records = Iterator[tuple[int, bytes]]
"""Where each record begins in its file, and its bytes."""


class _Message:
    """The fields of a message by their numbers; where one comes several times, the last counts."""

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

    def last(self, number: int, default: bytes = b"") -> bytes:
        return next(reversed(self.parts(number)), default)

    def messages(self, number: int) -> Iterator[_Message]:
        return map(_Message, self.parts(number))

    def message(self, number: int) -> _Message:
        return _Message(self.last(number))

    def text(self, number: int) -> str:
        return self.last(number).decode("utf-8", errors="replace")

    def whole(self, number: int) -> int:
        """An int64; 0 if absent."""
        value = self.raw(number) or 0
        if not isinstance(value, int):
            raise ValueError("found bytes; expected a whole number")
        return value - (1 << 64) if value >= 1 << 63 else value

    def real(self, number: int, form: str = "<d") -> float:
        """A double, or a float with the form "<f"; 0 if absent."""
        size = struct.calcsize(form)
        data = self.last(number, bytes(size))
        if len(data) != size:
            raise ValueError(f"found {len(data)} bytes; expected {size}")
        return float(struct.unpack(form, data)[0])


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    at, end = 0, len(message)
    while at < end:
        key, at = _varint(message, at)
        number, kind = key >> 3, key & 7
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


def _take_all(records: _Records, place: str, take: Callable[[_Message], None]) -> None:
    for at, record in records:
        try:
            take(_Message(record))
        except ValueError as error:
            raise LogError(
                f"{place} at byte {at}", f"found a record that cannot be read ({error})."
            ) from None


_CUT_OFF = (
    "found the file's end inside a record; expected whole records. The run was killed, or the "
    "file is truncated: copy it again, or leave it out."
)
_DAMAGED = "found a damaged record; expected its checksum to fit. Copy the file again."


# --- TensorBoard ----------------------------------------------------------------------------------

_FORMS = {1: ("<f4", 5), 2: ("<f8", 6)}
"""By a tensor's dtype: the form of the bytes, and the field that lists numbers one by one."""


def is_event_file(name: str) -> bool:
    """Return True if a file is named as TensorBoard's writers name theirs."""
    return ".tfevents." in name and not name.endswith(".profile-empty")


def read_event_files(source: LogSource, files: Iterable[Path]) -> LoggedRun:
    """Read the run that one folder's event files hold together."""
    in_order = tuple(sorted(files))  # their names hold the second in which each was begun
    reader = _EventReader(source.name)
    for file in in_order:
        place = f"{source.name}/{file.name}"
        _take_all(_tf_records(file, place), place, reader.take)
    return source.run(
        "TensorBoard",
        reader.builder.curves(),
        files=in_order,
        config=reader.config,
        made=day_of(reader.last),
    )


def _tf_records(file: Path, place: str) -> _Records:
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
    """Takes numbers and hyperparameters out of events; `last` is the latest time of one."""

    def __init__(self, place: str) -> None:
        self.builder = CurveBuilder(place)
        self.config: dict[str, Any] = {}
        self.last = 0.0

    def take(self, event: _Message) -> None:
        """Take one Event: wall_time 1, step 2, summary 5 with values 1."""
        seconds = event.real(1)
        self.last = max(self.last, seconds if math.isfinite(seconds) else 0.0)
        for summary in event.messages(5):
            for value in summary.messages(1):
                self._value(value, event.whole(2))

    def _value(self, value: _Message, step: int) -> None:
        """Take one Summary.Value: tag 1, simple_value 2, tensor 8, metadata 9.

        The metadata has plugin_data 1, with plugin_name 1 and content 2.
        """
        tag, plugin = value.text(1), value.message(9).message(1)
        if plugin.text(1) == "hparams":
            self._hparams(plugin.message(2))
        elif value.raw(2) is not None:
            self.builder.add(tag, step, value.real(2, "<f"))
        elif plugin.text(1) in ("scalars", ""):
            number = _scalar_tensor(value.message(8))
            if number is not None:
                self.builder.add(tag, step, number)

    def _hparams(self, content: _Message) -> None:
        """Take HParamsPluginData: session_start_info 3 with hparams 1."""
        for start in content.messages(3):
            for pair in start.messages(1):
                self.config[pair.text(1)] = _setting(pair.message(2))


def _scalar_tensor(tensor: _Message) -> float | None:
    """Return the number of a TensorProto that holds one; None if it holds anything else.

    Its fields: dtype 1, tensor_content 4, float_val 5, double_val 6.
    """
    form, listed = _FORMS.get(tensor.whole(1), ("", 0))
    data = tensor.raw(4) if tensor.raw(4) is not None else tensor.raw(listed)
    if not form or not isinstance(data, bytes) or len(data) != np.dtype(form).itemsize:
        return None
    return float(np.frombuffer(data, dtype=form)[0])


def _setting(value: _Message) -> Any:
    """Return a google.protobuf.Value: number 2, string 3, bool 4; None for anything else."""
    if value.raw(2) is not None:
        decimal = value.real(2)
        return int(decimal) if decimal.is_integer() else decimal
    if value.raw(3) is not None:
        return value.text(3)
    return None if value.raw(4) is None else bool(value.whole(4))


# --- W&B ------------------------------------------------------------------------------------------

_LOG_BLOCK = 2**15
_HEADER = struct.pack("<4sHB", b":W&B", 0xBEE1, 0)
_FULL, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4


def read_offline_run(source: LogSource) -> LoggedRun:
    """Read the run of one ``.wandb`` file."""
    file, place = source.path, f"{source.name}/{source.path.name}"
    run = _OfflineRun(place, source.step)
    _take_all(_log_records(file, place), place, run.take)
    title = run.title or file.stem.removeprefix("run-")
    return replace(source, parts=(*source.parts, title)).run(
        "W&B",
        run.builder.curves(),
        config=run.config,
        not_whole=run.not_whole(),
        made=day_of(run.seconds),
    )


def _log_records(file: Path, place: str) -> _Records:
    with open_log(file, place) as handle:
        if handle.read(len(_HEADER)) != _HEADER:
            raise LogError(
                place,
                "found no W&B header; expected the log of an offline run. Was the run finished?",
            )
        at, begun = len(_HEADER), 0
        parts: list[bytes] = []
        while True:
            left = _LOG_BLOCK - at % _LOG_BLOCK
            if left < 7:
                at += len(handle.read(left))
                continue
            head = handle.read(7)
            if not head:
                break
            checksum, length, kind = struct.unpack("<IHB", head.ljust(7, b"\0"))
            body = handle.read(length)
            if len(head) < 7 or len(body) < length:
                raise LogError(f"{place} at byte {at}", _CUT_OFF)
            starts = kind in (_FULL, _FIRST)
            if (
                zlib.crc32(body, zlib.crc32(bytes([kind]))) != checksum
                or kind not in (_FULL, _FIRST, _MIDDLE, _LAST)
                or starts == bool(parts)
                or length > left - 7
            ):
                raise LogError(f"{place} at byte {at}", _DAMAGED)
            begun = at if starts else begun
            parts.append(body)
            at += 7 + length
            if at - begun > _MAX_RECORD_BYTES:
                raise LogError(f"{place} at byte {begun}", "found a record of more than 256 MiB.")
            if kind in (_FULL, _LAST):
                yield begun, b"".join(parts)
                parts = []
        if parts:
            raise LogError(f"{place} at byte {begun}", _CUT_OFF)


class _OfflineRun:
    """The records of one file of an offline run."""

    def __init__(self, place: str, step_name: str | None) -> None:
        self.place = place
        self.builder = CurveBuilder(place)
        self.form = TableForm(step_name or "_step")
        self.config: dict[str, Any] = {}
        self.title = ""
        self.seconds = 0.0
        self.exit_code: int | None = None
        self._row = 0

    def take(self, record: _Message) -> None:
        """Take one Record: history 2, config 5, run 17 (config 4, display_name 8), exit 18."""
        for history in record.messages(2):
            self._history(history)
        for config in record.messages(5):
            self._config(config)
        for run in record.messages(17):
            self._config(run.message(4))
            self.title = run.text(8) or self.title
        for end in record.messages(18):
            self.exit_code = end.whole(1)

    def not_whole(self) -> tuple[str, ...]:
        """Why the log may miss the run's end."""
        if self.exit_code is None:
            return ("the log ends before the run did: it was killed, or still runs",)
        return (f"the run ended with exit code {self.exit_code}",) if self.exit_code else ()

    def _history(self, history: _Message) -> None:
        """Take a HistoryRecord: item 1; step 2 with num 1, which the item _step repeats."""
        row: dict[str, Any] = {}
        if history.raw(2) is not None:
            row["_step"] = history.message(2).whole(1)
        row |= self._items(history.messages(1))
        self._row += 1
        time = row.get("_timestamp")
        self.seconds = max(self.seconds, time if isinstance(time, float | int) else 0.0)
        take_row(self.builder, self.form, f"{self.place}, row {self._row}", row)

    def _items(self, items: Iterable[_Message]) -> dict[str, Any]:
        """Return names and values of the items of a history or a configuration.

        The fields of an item: key 1, nested_key 2, value_json 16; of a history also integer 4,
        boolean 5 and number 6.
        """
        found: dict[str, Any] = {}
        for item in items:
            keys = [*item.parts(1), *item.parts(2)]
            name = ".".join(one.decode("utf-8", errors="replace") for one in keys)
            if item.raw(16) is not None:
                found[name] = parse_json(item.text(16), self.place)
            elif item.raw(4) is not None:
                found[name] = item.whole(4)
            elif item.raw(5) is not None:
                found[name] = bool(item.whole(5))
            else:
                found[name] = None if item.raw(6) is None else item.real(6)
        return found

    def _config(self, config: _Message) -> None:
        """Take a ConfigRecord: update 1, remove 2."""
        for name, value in self._items(config.messages(1)).items():
            if not name.startswith("_wandb"):
                self.config[name] = value
        for name in self._items(config.messages(2)):
            self.config.pop(name, None)
