"""TensorBoard event files, every record of them.

TensorBoard itself shows a random sample of a long series (its reservoir); the files hold all of it,
and are read here record by record. A file is a row of TFRecords, each a length, its checksum, an
``Event`` message and its checksum. The field numbers are those of tensorboard's event.proto,
summary.proto, tensor.proto and of the hparams plugin's plugin_data.proto.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from reproaudit.elsewhere.logged import CurveBuilder, LogError, LoggedConfig, LoggedRun, day_of
from reproaudit.elsewhere.reading import open_log
from reproaudit.elsewhere.wire import (
    WireError,
    WireValue,
    as_bytes,
    as_double,
    as_float,
    as_signed,
    as_text,
    fields,
)

_MAX_RECORD_BYTES = 2**28
MAX_SCALAR_BYTES = 2**16
"""A record beyond this size holds a picture, a graph or a histogram, and is passed over."""
_BATCH = 8192


def is_event_file(name: str) -> bool:
    """True if a file is named as TensorBoard's writers name theirs."""
    return ".tfevents." in name and not name.endswith(".profile-empty")


def read_event_files(
    name: str, parts: tuple[str, ...], folder: Path, files: Iterable[Path]
) -> LoggedRun:
    """The run that one folder's event files hold together.

    Args:
        name: what messages call the run.
        parts: names in which a seed may be written.
        folder: where the files lie.
        files: the event files, in the order in which they were begun.

    Raises:
        LogError: if a file is truncated or damaged.
    """
    files = tuple(files)
    builder = CurveBuilder(name)
    config = LoggedConfig()
    ends: list[int] = []
    last = 0.0
    for file in files:
        place = f"{name}/{file.name}"
        for at, record in _records(file, place):
            try:
                last = max(last, _event(record, builder, config, ends))
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
        curves=builder.curves(),
        config=config,
        not_whole=("its hparams say that the run failed",) if _FAILURE in ends else (),
        made=day_of(last),
        replaced=tuple(config.replaced),
    )


# --- records --------------------------------------------------------------------------------------


def _records(file: Path, place: str) -> Iterator[tuple[int, bytes]]:
    """The records of a file that may hold numbers: (where it begins, its bytes)."""
    with open_log(file, place) as handle:
        batch: list[tuple[int, bytes, int]] = []
        for one in _framed(handle, place):
            batch.append(one)
            if len(batch) == _BATCH:
                yield from _sound(batch, place)
                batch.clear()
        yield from _sound(batch, place)


def _framed(handle: IO[bytes], place: str) -> Iterator[tuple[int, bytes, int]]:
    at = 0
    while head := handle.read(12):
        if len(head) < 12:
            raise _truncated(place, at)
        size, checksum = struct.unpack("<QI", head)
        if _length_checksum(head[:8]) != checksum or size > _MAX_RECORD_BYTES:
            raise LogError(
                f"{place} at byte {at}",
                "found a damaged record length; expected its checksum to fit. Copy the file again.",
            )
        if size > MAX_SCALAR_BYTES:
            handle.seek(size - 1, 1)
            if len(handle.read(5)) < 5:
                raise _truncated(place, at)
        else:
            body = handle.read(size + 4)
            if len(body) < size + 4:
                raise _truncated(place, at)
            yield at, body[:size], struct.unpack("<I", body[size:])[0]
        at += size + 16


def _truncated(place: str, at: int) -> LogError:
    return LogError(
        f"{place} at byte {at}",
        "found the file's end inside a record; expected whole records. The file is truncated: copy "
        "it again, or leave it out.",
    )


def _sound(batch: list[tuple[int, bytes, int]], place: str) -> Iterator[tuple[int, bytes]]:
    found = _checksums([record for _, record, _ in batch])
    for (at, record, checksum), one in zip(batch, found, strict=True):
        if one != checksum:
            raise LogError(
                f"{place} at byte {at}",
                "found a damaged record; expected its checksum to fit. Copy the file again.",
            )
        yield at, record


def _table() -> NDArray[np.uint32]:
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, (table >> 1) ^ np.uint32(0x82F63B78), table >> 1)
    return table


_CRC32C = _table()


@lru_cache(maxsize=4096)
def _length_checksum(length: bytes) -> int:
    """The checksum of a record's length; the same few lengths come again and again."""
    return _checksums([length])[0]


def _checksums(records: list[bytes]) -> list[int]:
    """The masked CRC-32C of each record; records of one length are computed together."""
    found = [0] * len(records)
    by_size: dict[int, list[int]] = {}
    for index, record in enumerate(records):
        by_size.setdefault(len(record), []).append(index)
    for size, indices in by_size.items():
        joined = b"".join(records[index] for index in indices)
        rows = np.frombuffer(joined, dtype=np.uint8).reshape(len(indices), size)
        crc = np.full(len(indices), 0xFFFFFFFF, dtype=np.uint32)
        for column in rows.T:
            crc = _CRC32C[(crc ^ column) & 0xFF] ^ (crc >> 8)
        crc = ~crc
        masked = ((crc >> 15) | (crc << 17)) + np.uint32(0xA282EAD8)
        for index, one in zip(indices, masked.tolist(), strict=True):
            found[index] = one
    return found


# --- messages -------------------------------------------------------------------------------------


def _event(record: bytes, builder: CurveBuilder, config: dict[str, Any], ends: list[int]) -> float:
    """Takes the numbers out of one Event (wall_time 1, step 2, summary 5); returns its time."""
    seconds, step = 0.0, 0
    summaries: list[bytes] = []
    for number, value in fields(record):
        if number == 1:
            seconds = as_double(value)
        elif number == 2:
            step = as_signed(value)
        elif number == 5:
            summaries.append(as_bytes(value))
    for summary in summaries:
        for number, value in fields(summary):
            if number == 1:
                _value(as_bytes(value), step, builder, config, ends)
    return seconds if math.isfinite(seconds) else 0.0


def _value(
    message: bytes, step: int, builder: CurveBuilder, config: dict[str, Any], ends: list[int]
) -> None:
    """One Summary.Value: tag 1, simple_value 2, tensor 8, metadata 9."""
    one: dict[int, WireValue] = dict(fields(message))
    tag = as_text(one.get(1, b""))
    plugin, content = _plugin(as_bytes(one.get(9, b"")))
    if plugin == "hparams":
        _hparams(content, config, ends)
    elif 2 in one:
        builder.add(tag, step, as_float(one[2]))
    elif 8 in one and plugin in ("scalars", ""):
        value = _scalar_tensor(as_bytes(one[8]))
        if value is not None:
            builder.add(tag, step, value)


def _plugin(metadata: bytes) -> tuple[str, bytes]:
    """SummaryMetadata: plugin_data 1, with plugin_name 1 and content 2."""
    for number, value in fields(metadata):
        if number == 1:
            data = dict(fields(as_bytes(value)))
            return as_text(data.get(1, b"")), as_bytes(data.get(2, b""))
    return "", b""


_FLOAT, _DOUBLE, _HALF, _INT32, _INT64 = 1, 2, 19, 3, 9
_FORMS = {_FLOAT: "<f4", _DOUBLE: "<f8", _HALF: "<f2", _INT32: "<i4", _INT64: "<i8"}
_LISTS = {_FLOAT: 5, _DOUBLE: 6, _INT32: 7, _INT64: 10}


def _scalar_tensor(message: bytes) -> float | None:
    """The number of a TensorProto that holds one; None if it holds anything else.

    Its fields: dtype 1, tensor_content 4, float_val 5, double_val 6, int_val 7, int64_val 10.
    """
    one = dict(fields(message))
    dtype = one.get(1, 0)
    form = _FORMS.get(dtype) if isinstance(dtype, int) else None
    if form is None:
        return None
    content = one.get(4)
    listed = one.get(_LISTS.get(int(dtype), 0)) if content is None else None
    if isinstance(listed, int):
        return float(as_signed(listed))
    data = content if content is not None else listed
    if not isinstance(data, bytes) or len(data) != np.dtype(form).itemsize:
        return None
    return float(np.frombuffer(data, dtype=form)[0])


_SUCCESS, _FAILURE = 1, 2


def _hparams(content: bytes, config: dict[str, Any], ends: list[int]) -> None:
    """HParamsPluginData: session_start_info 3 with hparams 1, session_end_info 4 with status 1."""
    for number, value in fields(content):
        if number == 3:
            for inner, entry in fields(as_bytes(value)):
                if inner == 1:
                    pair = dict(fields(as_bytes(entry)))
                    config[as_text(pair.get(1, b""))] = _setting(as_bytes(pair.get(2, b"")))
        elif number == 4:
            status = dict(fields(as_bytes(value))).get(1, 0)
            ends.append(status if isinstance(status, int) else 0)


def _setting(message: bytes) -> Any:
    """A google.protobuf.Value: number 2, string 3, bool 4; None for anything else."""
    for number, value in fields(message):
        if number == 2:
            decimal = as_double(value)
            return int(decimal) if decimal.is_integer() else decimal
        if number == 3:
            return as_text(value)
        if number == 4:
            return bool(value)
    return None
