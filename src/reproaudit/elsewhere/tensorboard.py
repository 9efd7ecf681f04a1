"""TensorBoard event files, every record of them.

TensorBoard itself shows a random sample of a long series; the files hold all of it. A file is a row
of TFRecords, each a length, its checksum, an ``Event`` message and its checksum. The field numbers
are those of tensorboard's event.proto, summary.proto, tensor.proto and of the hparams plugin's
plugin_data.proto.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from reproaudit.elsewhere.logged import CurveBuilder, LogError, LoggedRun, day_of, open_log
from reproaudit.elsewhere.wire import Message, WireError

_MAX_RECORD_BYTES = 2**28
MAX_SCALAR_BYTES = 2**16
"""A record beyond this size holds a picture, a graph or a histogram, and is passed over."""
_FAILURE = 2
"""The status of a run in its hparams."""


def is_event_file(name: str) -> bool:
    """Return True if a file is named as TensorBoard's writers name theirs."""
    return ".tfevents." in name and not name.endswith(".profile-empty")


def read_event_files(
    name: str, parts: tuple[str, ...], folder: Path, files: Iterable[Path]
) -> LoggedRun:
    """Read the run that one folder's event files hold together.

    Args:
        name: what messages call the run.
        parts: names in which a seed may be written.
        folder: where the files lie.
        files: the event files, in the order in which they were begun.

    Raises:
        LogError: if a file is truncated or damaged.
    """
    files = tuple(files)
    reader = _EventReader(CurveBuilder(name))
    for file in files:
        place = f"{name}/{file.name}"
        for at, record in _records(file, place):
            try:
                reader.take(record)
            except WireError as error:
                raise LogError(
                    f"{place} at byte {at}",
                    f"found an event that cannot be read ({error}); expected an Event message.",
                ) from None
    return LoggedRun(
        name=name,
        source="TensorBoard",
        folder=folder,
        parts=parts,
        files=files,
        curves=reader.builder.curves(),
        config=reader.config,
        not_whole=("its hparams say that the run failed",) if reader.failed else (),
        made=day_of(reader.last),
    )


# --- records --------------------------------------------------------------------------------------


def _records(file: Path, place: str) -> Iterator[tuple[int, bytes]]:
    """Yield the records of a file that may hold numbers: (where it begins, its bytes)."""
    with open_log(file, place) as handle:
        at = 0
        while head := handle.read(12):
            size, checksum = struct.unpack("<QI", head) if len(head) == 12 else (0, 0)
            if len(head) == 12 and (_crc32c(head[:8]) != checksum or size > _MAX_RECORD_BYTES):
                raise _damaged(place, at, " length")
            if size > MAX_SCALAR_BYTES:
                handle.seek(size - 1, 1)
                body, wanted = handle.read(5), 5
            else:
                body, wanted = handle.read(size + 4), size + 4
            if len(head) < 12 or len(body) < wanted:
                raise LogError(
                    f"{place} at byte {at}",
                    "found the file's end inside a record; expected whole records. The file is "
                    "truncated: copy it again, or leave it out.",
                )
            if size <= MAX_SCALAR_BYTES:
                if _crc32c(body[:size]) != struct.unpack("<I", body[size:])[0]:
                    raise _damaged(place, at)
                yield at, body[:size]
            at += size + 16


def _damaged(place: str, at: int, what: str = "") -> LogError:
    return LogError(
        f"{place} at byte {at}",
        f"found a damaged record{what}; expected its checksum to fit. Copy the file again.",
    )


def _table() -> list[int]:
    table = list(range(256))
    for _ in range(8):
        table = [(one >> 1) ^ 0x82F63B78 if one & 1 else one >> 1 for one in table]
    return table


_CRC32C = _table()


def _crc32c(data: bytes) -> int:
    """Return the masked CRC-32C, as TFRecords have it."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _CRC32C[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    crc ^= 0xFFFFFFFF
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


# --- messages -------------------------------------------------------------------------------------


class _EventReader:
    """Takes numbers and hyperparameters out of events.

    Attributes:
        config: the hyperparameters.
        failed: whether the hparams say that the run failed.
        last: the latest time of an event.
    """

    def __init__(self, builder: CurveBuilder) -> None:
        self.builder = builder
        self.config: dict[str, Any] = {}
        self.failed = False
        self.last = 0.0

    def take(self, record: bytes) -> None:
        """Take one Event: wall_time 1, step 2, summary 5 with values 1."""
        event = Message(record)
        seconds = event.real(1)
        self.last = max(self.last, seconds if math.isfinite(seconds) else 0.0)
        for summary in event.messages(5):
            for value in summary.messages(1):
                self._value(value, event.whole(2))

    def _value(self, value: Message, step: int) -> None:
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

    def _hparams(self, content: Message) -> None:
        """Take HParamsPluginData: session_start_info 3 with hparams 1, end_info 4 with status 1."""
        for start in content.messages(3):
            for pair in start.messages(1):
                self.config[pair.text(1)] = _setting(pair.message(2))
        for end in content.messages(4):
            self.failed |= end.whole(1) == _FAILURE


_FORMS = {1: ("<f4", 5), 2: ("<f8", 6), 3: ("<i4", 7), 9: ("<i8", 10), 19: ("<f2", 0)}
"""By dtype: the form of the bytes, and the field that lists numbers one by one."""


def _scalar_tensor(tensor: Message) -> float | None:
    """Return the number of a TensorProto that holds one; None if it holds anything else.

    Its fields: dtype 1, tensor_content 4, float_val 5, double_val 6, int_val 7, int64_val 10.
    """
    form, listed = _FORMS.get(tensor.whole(1), ("", 0))
    data = tensor.raw(4) if tensor.raw(4) is not None else tensor.raw(listed)
    if isinstance(data, int):
        return float(tensor.whole(listed))
    if not form or data is None or len(data) != np.dtype(form).itemsize:
        return None
    return float(np.frombuffer(data, dtype=form)[0])


def _setting(value: Message) -> Any:
    """Return a google.protobuf.Value: number 2, string 3, bool 4; None for anything else."""
    if value.raw(2) is not None:
        decimal = value.real(2)
        return int(decimal) if decimal.is_integer() else decimal
    if value.raw(3) is not None:
        return value.text(3)
    return None if value.raw(4) is None else bool(value.whole(4))
