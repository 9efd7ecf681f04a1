"""One logged run: its curves by tag, its configuration, and why it may not be whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reproaudit.errors import AuditError

MAX_POINTS = 20_000_000
"""Of one run, over all its curves."""
MAX_STEP = 2**53
"""Beyond it a step is no exact number of double precision."""

LoggedCoordinates = tuple[tuple[str, str], ...]
"""Coordinates that the log itself gives a curve, as (axis, text); () if it gives none."""


class LogError(AuditError):
    """Logs or a mapping that cannot be used; one line: where, what was found, what to do."""

    def __init__(self, place: str, text: str) -> None:
        super().__init__(on_one_line(f"{place}: {text}"))


def on_one_line(text: str, most: int = 500) -> str:
    """Return the text on one line without control characters, cut at so many characters."""
    plain = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return plain if len(plain) <= most else f"{plain[: most - 1]}…"


@dataclass(frozen=True)
class Curve:
    """The numbers logged under one tag, in the order in which they were logged.

    Attributes:
        place: the file they come from, for messages.
        steps: shape (point,); None if the log has no steps.
        values: shape (point,).
        fault: why the numbers cannot be used, if they cannot; it matters only if they are wanted.
    """

    place: str
    steps: NDArray[np.int64] | None
    values: NDArray[np.float64]
    fault: str | None = None


@dataclass(frozen=True)
class LoggedRun:
    """One training run, as some logger left it.

    Attributes:
        name: what messages and the mapping call it: its path, or its name in the store.
        source: the logger: TensorBoard, MLflow, W&B, Lightning, Hugging Face, table.
        folder: where it lies; configurations are looked for here and above.
        parts: the names in which a seed may be written, from the outermost to the run's own.
        files: what was read.
        curves: tag -> coordinates -> curve.
        config: what the run was started with, flat: "model.layers" -> 3.
        seed: the seed, where the log has a column of seeds.
        not_whole: why no curve of it may be taken for whole: sampled, cut off, crashed.
        step: the table's column of steps; None if there is none, or the logger counts by itself.
        made: when it was logged, if the log says so.
        who: who ran it, if the log says so.
    """

    name: str
    source: str
    folder: Path
    parts: tuple[str, ...]
    files: tuple[Path, ...]
    curves: Mapping[str, Mapping[LoggedCoordinates, Curve]]
    config: Mapping[str, Any] = field(default_factory=dict)
    seed: int | None = None
    not_whole: tuple[str, ...] = ()
    step: str | None = None
    made: date | None = None
    who: str | None = None


class CurveBuilder:
    """Gathers points by tag and coordinates.

    Args:
        place: the file, for messages.
    """

    def __init__(self, place: str) -> None:
        self._place = place
        self._points: dict[tuple[str, LoggedCoordinates], tuple[list[int | None], list[float]]] = {}
        self._faults: dict[tuple[str, LoggedCoordinates], str] = {}
        self._count = 0

    def add(self, tag: str, step: int | None, value: float, at: LoggedCoordinates = ()) -> None:
        """Add a point.

        Raises:
            LogError: if the run holds too many, or the step is no exact whole number.
        """
        self._count += 1
        if self._count > MAX_POINTS:
            raise LogError(
                self._place,
                f"found more than {MAX_POINTS:,} points; expected fewer. Import one run at a time, "
                "or log less often.",
            )
        if step is not None and not -MAX_STEP <= step <= MAX_STEP:
            raise LogError(self._place, f"found the step {step}; expected one within ±2^53.")
        steps, values = self._points.setdefault((tag, at), ([], []))
        steps.append(step)
        values.append(value)

    def spoil(self, tag: str, fault: str, at: LoggedCoordinates = ()) -> None:
        """Note that a tag holds something that is no number; told if the tag is wanted."""
        self._points.setdefault((tag, at), ([], []))
        self._faults.setdefault((tag, at), fault)

    def curves(self) -> dict[str, dict[LoggedCoordinates, Curve]]:
        """Return everything gathered: tag -> coordinates -> curve."""
        found: dict[str, dict[LoggedCoordinates, Curve]] = {}
        for (tag, at), (steps, values) in self._points.items():
            found.setdefault(tag, {})[at] = Curve(
                self._place,
                None if None in steps else np.array(steps, dtype=np.int64),
                np.array(values, dtype=np.float64),
                self._faults.get((tag, at)),
            )
        return found


def day_of(seconds: float | None) -> date | None:
    """Return the UTC day of a Unix time; None if there is none, or it is no time."""
    try:
        return None if not seconds else datetime.fromtimestamp(seconds, UTC).date()
    except (ValueError, OverflowError, OSError):
        return None


def number_of(value: Any) -> float | None:
    """Return the number that a cell or a JSON value holds; None if it is no number."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, str) and "_" in value:
        return None
    try:
        return float(value)  # "NaN" and "Infinity" among them
    except (ValueError, OverflowError):
        return None
