"""W&B runs that were logged offline: the file ``run-<id>.wandb`` of their folder.

It is framed like a LevelDB log (blocks of 32 KiB; fragments with checksum, length and type), after
a header of its own; each record is a ``Record`` message. The field numbers are those of
wandb_internal.proto. The file holds every logged row, so that nothing of it is sampled.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reproaudit.elsewhere.logged import (
    CurveBuilder,
    LogError,
    LoggedRun,
    day_of,
    open_log,
    parse_json,
)
from reproaudit.elsewhere.tables import TableForm, take_row
from reproaudit.elsewhere.wire import Message, WireError

LOG_BLOCK = 2**15
HEADER = struct.pack("<4sHB", b":W&B", 0xBEE1, 0)
_MAX_RECORD_BYTES = 2**28
_FULL, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4


def read_offline_run(
    name: str, parts: tuple[str, ...], file: Path, step_name: str | None
) -> LoggedRun:
    """Read the run of one ``.wandb`` file.

    Args:
        name: what messages call the run.
        parts: names in which a seed may be written.
        file: the log.
        step_name: the logged quantity that counts the steps; None for W&B's own count.

    Raises:
        LogError: if the file is empty, truncated or damaged.
    """
    place = f"{name}/{file.name}"
    run = _OfflineRun(place, step_name)
    for at, record in _records(file, place):
        try:
            run.take(record)
        except WireError as error:
            raise LogError(
                f"{place} at byte {at}",
                f"found a record that cannot be read ({error}); expected a Record message.",
            ) from None
    shown = run.title or file.stem.removeprefix("run-")
    return LoggedRun(
        name=name,
        source="W&B",
        folder=file.parent,
        parts=(*parts, shown),
        files=(file,),
        curves=run.builder.curves(),
        config=run.config,
        not_whole=run.not_whole(),
        made=day_of(run.seconds),
        who=run.who,
    )


def _records(file: Path, place: str) -> Iterator[tuple[int, bytes]]:
    """Yield the records of a log: (where it begins, its bytes)."""
    with open_log(file, place) as handle:
        if handle.read(len(HEADER)) != HEADER:
            raise LogError(
                place,
                "found no W&B header; expected the log of an offline run. Was the run finished?",
            )
        at, begun, size = len(HEADER), 0, 0
        parts: list[bytes] = []
        while True:
            left = LOG_BLOCK - at % LOG_BLOCK
            if left < 7:
                at += len(handle.read(left))
                continue
            head = handle.read(7)
            if not head:
                break
            if len(head) < 7:
                raise _truncated(place, at)
            checksum, length, kind = struct.unpack("<IHB", head)
            body = handle.read(length)
            if len(body) < length:
                raise _truncated(place, at)
            starts = kind in (_FULL, _FIRST)
            if (
                zlib.crc32(body, zlib.crc32(bytes([kind]))) != checksum
                or kind not in (_FULL, _FIRST, _MIDDLE, _LAST)
                or starts == bool(parts)
                or length > left - 7
            ):
                raise LogError(
                    f"{place} at byte {at}",
                    "found a damaged record; expected its checksum to fit. Copy the file again.",
                )
            begun = at if starts else begun
            parts.append(body)
            size += length
            at += 7 + length
            if size > _MAX_RECORD_BYTES:
                raise LogError(f"{place} at byte {begun}", "found a record of more than 256 MiB.")
            if kind in (_FULL, _LAST):
                yield begun, b"".join(parts)
                parts, size = [], 0
        if parts:
            raise _truncated(place, begun)


def _truncated(place: str, at: int) -> LogError:
    return LogError(
        f"{place} at byte {at}",
        "found the file's end inside a record; expected whole records. The run was killed, or the "
        "file is truncated: copy it again, or leave it out.",
    )


class _OfflineRun:
    """The records of one file of an offline run."""

    def __init__(self, place: str, step_name: str | None) -> None:
        self.place = place
        self.builder = CurveBuilder(place)
        self.form = TableForm(step_name or "_step")
        self.config: dict[str, Any] = {}
        self.title = ""
        self.who: str | None = None
        self.seconds = 0.0
        self.exit_code: int | None = None
        self._row = 0

    def take(self, data: bytes) -> None:
        """Take one Record: history 2, config 5, run 17, exit 18, environment 26.

        A run has config 4 and display_name 8, an environment has the user 15.
        """
        record = Message(data)
        for history in record.messages(2):
            self._history(history)
        for config in record.messages(5):
            self._config(config)
        for run in record.messages(17):
            self._config(run.message(4))
            self.title = run.text(8) or self.title
        for end in record.messages(18):
            self.exit_code = end.whole(1)
        self.who = record.message(26).text(15) or self.who

    def not_whole(self) -> tuple[str, ...]:
        """Why the log may miss the run's end."""
        if self.exit_code is None:
            return ("the log ends before the run did: it was killed, or still runs",)
        return (f"the run ended with exit code {self.exit_code}",) if self.exit_code else ()

    def _history(self, history: Message) -> None:
        """Take a HistoryRecord: item 1; step 2 with num 1, which the item _step repeats."""
        row: dict[str, Any] = {}
        if history.raw(2) is not None:
            row["_step"] = history.message(2).whole(1)
        row |= (self._item(one) for one in history.messages(1))
        self._row += 1
        time = row.get("_timestamp")
        self.seconds = max(self.seconds, time if isinstance(time, float | int) else 0.0)
        take_row(self.builder, self.form, f"{self.place}, row {self._row}", row)

    def _item(self, item: Message) -> tuple[str, Any]:
        """Return the name and value of a HistoryItem or ConfigItem.

        Its fields: key 1, nested_key 2, value_json 16; of a history also integer 4, boolean 5 and
        number 6.
        """
        keys = [one.decode("utf-8", errors="replace") for n in (1, 2) for one in item.all_bytes(n)]
        value: Any = None
        if item.raw(16) is not None:
            value = parse_json(item.text(16), self.place)
        elif item.raw(4) is not None:
            value = item.whole(4)
        elif item.raw(5) is not None:
            value = bool(item.whole(5))
        elif item.raw(6) is not None:
            value = item.real(6)
        return ".".join(keys), value

    def _config(self, config: Message) -> None:
        """Take a ConfigRecord: update 1, remove 2."""
        for name, value in map(self._item, config.messages(1)):
            if not name.startswith("_wandb"):
                self.config[name] = value
        for name, _ in map(self._item, config.messages(2)):
            self.config.pop(name, None)
