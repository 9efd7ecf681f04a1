"""Coordinates along which records were measured, held against those that an audit declares now.

A record holds numbers in an order, and only the audit says which coordinate each of them has. So a
record keeps the coordinates that the audit declared when it was measured, and is not judged under
others. Older records keep none; a store's `axes_file` may hold the axes for all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError

from reproaudit.declarations import Axis, Coordinate, Declaration, first_refusal
from reproaudit.errors import StoreError
from reproaudit.files import explained, read_regular
from reproaudit.formats.scorecard import LeftOut
from reproaudit.records import Record

MOST_BYTES = 2**24  # of a file of axes; the largest so far has some kilobytes
MOST_NAMED = 6  # coordinates of an axis in a line
Coordinates = dict[str, dict[str, tuple[Coordinate, ...]]]  # by measurement and axis
Axes = Mapping[str, tuple[Axis, ...]]  # by measurement

_AXES = TypeAdapter(dict[str, dict[str, tuple[Axis, ...]]], config=ConfigDict(defer_build=True))


def declared_axes(declared: Mapping[str, Declaration]) -> Axes:
    """The axes of those measurements that have any."""
    return {name: measured.axes for name, measured in declared.items() if measured.axes}


def coordinates_along(axes: Axes, settings: Mapping[str, Any]) -> Coordinates:
    """The coordinates under some settings; nothing where an axis follows a setting they lack."""
    return {
        name: {axis.name: axis.coordinates(settings) for axis in own}
        for name, own in axes.items()
        if all(
            axis.setting is None or isinstance(settings.get(axis.setting), list | tuple)
            for axis in own
        )
    }


def axes_file(store: Path, paper: str) -> Path:
    """The file with the axes of records that hold no coordinates, whether it exists or not."""
    return store / f"coordinates.{paper}.json"


def read_axes(file: Path) -> Mapping[str, Axes]:
    """The axes in such a file by experiment, none without a file; a StoreError at anything else."""
    with explained("read", file):
        try:
            return _AXES.validate_json(read_regular(file, MOST_BYTES))
        except FileNotFoundError:
            return {}
        except ValidationError as error:
            raise StoreError(
                f"{file}: found no axes by experiment and measurement ({first_refusal(error)}). "
                "Take it from where the records were published again."
            ) from None


def refusal(paper: str, other: LeftOut, count: int) -> str:
    """Say of so many records of other coordinates what differs and what to do."""
    names = ", ".join(f"'{measurement}'" for measurement in other.measurements)
    return (
        f"{paper}, experiment '{other.experiment}': {count} {other.tier} records have {names} "
        f"along {other.before}, and the audit now declares {other.now}. Put the audit's "
        "coordinates back, or measure again with --fresh."
    )


def changed_axes(
    record: Record, declared: Mapping[str, Declaration], kept: Mapping[str, Axes]
) -> Iterator[LeftOut]:
    """What a record measured along other coordinates than are declared, each for one record.

    The axes that were kept are by experiment, for records that hold no coordinates.
    """
    before: Mapping[str, Mapping[str, tuple[Coordinate, ...]]] | None = record.coordinates
    if before is None:
        before = coordinates_along(kept.get(record.experiment, {}), record.settings)
    now = coordinates_along(declared_axes(declared), record.settings)
    changed: dict[tuple[str, str], list[str]] = {}
    for name in sorted(record.measurements.names & before.keys() & now.keys()):
        if list(before[name].items()) != list(now[name].items()):
            changed.setdefault(_differences(before[name], now[name]), []).append(name)
    for (then, today), names in changed.items():
        yield LeftOut(
            tier=record.tier,
            count=1,
            experiment=record.experiment,
            measurements=tuple(names),
            before=then,
            now=today,
        )


def _differences(
    before: Mapping[str, Sequence[Coordinate]], now: Mapping[str, Sequence[Coordinate]]
) -> tuple[str, str]:
    """The coordinates that differ, as words; all of them where the axes are others."""
    if list(before) != list(now) or any(len(before[axis]) != len(now[axis]) for axis in now):
        return _words(before), _words(now)
    places = {
        axis: [at for at, value in enumerate(before[axis]) if value != now[axis][at]]
        for axis in now
    }
    return _at(before, places), _at(now, places)


def _at(axes: Mapping[str, Sequence[Coordinate]], places: Mapping[str, Sequence[int]]) -> str:
    return _words(
        {axis: [axes[axis][at] for at in where] for axis, where in places.items() if where}
    )


def _words(axes: Mapping[str, Sequence[Coordinate]]) -> str:
    words = []
    for name, coordinates in axes.items():
        more = ", …" if len(coordinates) > MOST_NAMED else ""
        words.append(f"{name} = {', '.join(map(str, coordinates[:MOST_NAMED]))}{more}")
    return "; ".join(words)
