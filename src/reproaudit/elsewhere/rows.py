"""Rows of logged quantities, as tables and W&B histories have them, made into curves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from reproaudit.elsewhere.logged import CurveBuilder, LogError, LoggedCoordinates

STEP_NAMES = (
    "step",
    "global_step",
    "_step",
    "trainer/global_step",
    "iteration",
    "iter",
    "train_step",
    "epoch",
)
"""Columns that count steps, the likelier first; capital letters make no difference."""

_NOT_FINITE = {"nan": float("nan"), "infinity": float("inf"), "-infinity": float("-inf")}


def number_of(value: Any) -> float | None:
    """The number that a cell or a JSON value holds; None if it is no number."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        try:
            return float(value)
        except OverflowError:
            return None
    if not isinstance(value, str) or "_" in value:
        return None
    try:
        return float(value)
    except ValueError:
        return _NOT_FINITE.get(value.strip().lower())


def step_column(columns: list[str], wanted: str | None) -> str | None:
    """The column of steps: the wanted one, else the likeliest; None if there is none."""
    if wanted is not None:
        return wanted if wanted in columns else None
    lower = {column.lower(): column for column in columns}
    return next((lower[name] for name in STEP_NAMES if name in lower), None)


def runs_in_headers(columns: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Column -> run and tag, where all are called "run - tag", as W&B's page exports a chart.

    Empty if one is not. Columns of steps are to be left out before.
    """
    found: dict[str, tuple[str, str]] = {}
    for column in columns:
        run, between, tag = column.rpartition(" - ")
        if not between or not run.strip() or not tag.strip():
            return {}
        found[column] = run.strip(), tag.strip()
    return found


class RowReader:
    """Takes rows of one run.

    Attributes:
        blank: the steps of rows that hold no value at all.

    Args:
        builder: gathers the points.
        step: the column of steps; None if there is none.
        axes: columns that hold coordinates.
        skip: columns that are neither.
        long: of a long table the columns of tags and of values.
    """

    def __init__(
        self,
        builder: CurveBuilder,
        step: str | None,
        axes: frozenset[str] = frozenset(),
        skip: frozenset[str] = frozenset(),
        long: tuple[str, str] | None = None,
    ) -> None:
        self._builder, self._step, self._axes = builder, step, axes
        self._skip = skip | axes | ({step} if step is not None else set())
        self._long = long
        self.blank: set[int] = set()

    def take(self, place: str, row: Mapping[str, Any]) -> int | None:
        """One row; returns its step. An empty cell was not observed.

        Raises:
            LogError: if the step is no whole number.
        """
        step = self._whole(place, row) if self._step is not None else None
        at: LoggedCoordinates = tuple(
            sorted((axis, str(row[axis]).strip()) for axis in self._axes & row.keys())
        )
        is_blank = True
        for tag, value in self._cells(row):
            if value is None or (isinstance(value, str) and not value.strip()):
                continue
            is_blank = False
            number = number_of(value)
            if self._step is not None and step is None:
                self._builder.spoil(tag, f"{place} has no '{self._step}' that counts its step", at)
            elif number is None:
                self._builder.spoil(tag, f"{place} holds {str(value)[:40]!r}, no number", at)
            else:
                self._builder.add(tag, step, number, at)
        if is_blank and step is not None:
            self.blank.add(step)
        return step

    def _cells(self, row: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        if self._long is not None:
            tag, value = self._long
            if str(row.get(tag, "")).strip():
                yield str(row[tag]).strip(), row.get(value)
            return
        for name, value in row.items():
            if name not in self._skip:
                yield from _flat(name, value)

    def _whole(self, place: str, row: Mapping[str, Any]) -> int | None:
        value = row.get(self._step or "")
        if value is None or value == "":
            return None
        number = number_of(value)
        if number is None or not number.is_integer():
            raise LogError(
                place, f"found the {self._step} {str(value)[:40]!r}; expected a whole number."
            )
        return int(number)


def _flat(name: str, value: Any, depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Nested quantities one by one: {"loss": {"train": 1}} is loss.train."""
    if isinstance(value, Mapping) and depth < 8:
        for below, one in value.items():
            yield from _flat(f"{name}.{below}", one, depth + 1)
    else:
        yield name, value
