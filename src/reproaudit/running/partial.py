"""The checkpoints of cells that are not finished yet."""

from __future__ import annotations

import json
import logging
import os
import shutil
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

from reproaudit.bounded import decode_json, read_regular
from reproaudit.running.files import DamagedError, explained, free_name, seal, unseal, write_whole

MOST_CHECKPOINT_BYTES = 2**36
"""Of one checkpoint: more than a machine's memory."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Clock:
    """When unfinished work was started, and how many seconds it took up to its last checkpoint."""

    started: datetime
    seconds: float


class Partial:
    """The checkpoints of unfinished work, one file per phase, and the time spent so far.

    Every file states its length and a SHA-256, which also covers the names of the cell and the
    phase. A file that fails the check is moved to ``<folder>.bad`` with a warning, and its phase
    starts anew: that is cheaper than waiting for the disk at every checkpoint.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def _file(self, phase: str) -> Path:
        return self.folder / f"{quote(phase, safe=' ')}.pt"

    def load(self, phase: str) -> bytes | None:
        """The phase's last checkpoint, or None if there is none that is undamaged."""
        return self._read(self._file(phase))

    def save(self, phase: str, checkpoint: bytes, clock: Clock) -> None:
        """Replaces the phase's last checkpoint, and notes the time spent so far."""
        times = {"started": clock.started.isoformat(), "seconds": clock.seconds}
        self._write(self._file(phase), checkpoint)
        self._write(self.folder / "clock", json.dumps(times).encode())

    def clock(self) -> Clock:
        """The time spent up to the last checkpoint; zero, starting now, if there is none."""
        with suppress(ValueError, KeyError, TypeError):
            times = decode_json(self._read(self.folder / "clock") or b"{}")
            return Clock(datetime.fromisoformat(times["started"]), float(times["seconds"]))
        return Clock(datetime.now(UTC), 0.0)

    def clear(self) -> None:
        """Removes all checkpoints."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def damaged(self) -> list[tuple[Path, str]]:
        """Every file that fails its check, with the reason; nothing is moved."""
        found = []
        for path in sorted(self.folder.glob("*")):
            if not path.name.endswith(".tmp"):
                try:
                    unseal(read_regular(path, MOST_CHECKPOINT_BYTES), self._place(path))
                except (OSError, DamagedError) as error:
                    found.append((path, str(error)))
        return found

    def set_aside(self, path: Path) -> Path:
        """Moves a damaged file to the folder beside this one, and returns its new place."""
        folder = self.folder.with_name(self.folder.name + ".bad")
        folder.mkdir(exist_ok=True)
        aside = free_name(folder / path.name, "bad")
        os.replace(path, aside)
        return aside

    def _place(self, path: Path) -> str:
        return f"{self.folder.name}/{path.name}"

    def _write(self, path: Path, body: bytes) -> None:
        write_whole(path, seal(body, self._place(path)), durable=False)

    def _read(self, path: Path) -> bytes | None:
        with explained("read", path):
            try:
                return unseal(read_regular(path, MOST_CHECKPOINT_BYTES), self._place(path))
            except FileNotFoundError:
                return None
            except DamagedError as error:
                aside = self.set_aside(path)
                _log.warning(
                    "%s is damaged: %s. It was moved to %s; its phase starts anew.",
                    path,
                    error,
                    aside,
                )
                return None
