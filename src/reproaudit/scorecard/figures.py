"""The data of the scorecard's pictures: curves with seed bands, matrices, comparisons.

Only data: how a picture is drawn is for `reproaudit.reports`. A scorecard carries it, so that a
page can be drawn again without records.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from reproaudit.audit.model import Audit, Figure, TierName
from reproaudit.audit.plan import experiment_batch
from reproaudit.cell import SettingValue
from reproaudit.declarations import Coordinate, Declaration, misfit
from reproaudit.judging.model import ReportModel
from reproaudit.judging.outcomes import Lookup
from reproaudit.records import CellStatus, Record
from reproaudit.scorecard.pictures import StageModel, is_early, kept
from reproaudit.scorecard.stages import declared_stages
from reproaudit.stats import Scale, mean_interval


class CurveModel(ReportModel):
    """One line with a band: mean and range over seeds."""

    label: str
    x: tuple[float | str, ...]
    mean: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]


class MatrixModel(ReportModel):
    """One matrix, of one seed."""

    label: str
    values: tuple[tuple[float, ...], ...]


class FigureModel(ReportModel):
    """The data of one picture."""

    id: str
    kind: str
    title: str
    experiment: str
    x_label: str
    y_label: str
    log: bool
    band: str
    """The meaning of the band or of the error bars."""
    seeds: tuple[int, ...]
    curves: tuple[CurveModel, ...] = ()
    matrices: tuple[MatrixModel, ...] = ()
    stages: tuple[StageModel, ...] = ()
    """The stages that the audit divides the training into."""


def build_figures(
    audit: Audit, tier: TierName, lookup: Lookup, drawn: Mapping[str, Collection[str]]
) -> Iterable[FigureModel]:
    """The data of every figure that shows more than the pictures beside the claims.

    Args:
        audit: names the figures.
        tier: the tier.
        lookup: finds the records; without completed ones that can be drawn there is no figure.
        drawn: by experiment, the lines that a claim's pictures show already.
    """
    for figure in audit.figures:
        found = _built(audit, figure, tier, lookup)
        if found is not None:
            lines = {curve.label for curve in found.curves}
            if not lines or lines - set(drawn.get(figure.experiment, ())):
                yield found


def _built(audit: Audit, figure: Figure, tier: TierName, lookup: Lookup) -> FigureModel | None:
    """The data of a figure; None if its experiment has no records that can be drawn."""
    batch = experiment_batch(audit, figure.experiment, tier)
    completed = [r for r in lookup(batch).values() if r.status is CellStatus.COMPLETED]
    settings = completed[0].settings if completed else batch.settings(audit)
    records = _alike(audit, figure, completed, settings)
    return _figure(audit, figure, records, settings) if records else None


def _alike(
    audit: Audit, figure: Figure, records: Iterable[Record], settings: Mapping[str, SettingValue]
) -> list[Record]:
    """The records that measured what a figure shows, at the steps of the newest of them.

    A store may hold records of older code, which measured other things or at other steps.
    """
    declared = audit.measurements_of(figure.experiment)

    def steps(record: Record) -> list[tuple[int, ...]]:
        series = record.measurements.series
        return [series[name].steps for name in figure.measurements if name in series]

    fitting = [
        record
        for record in records
        if not any(
            misfit(name, declared[name], record.measurements, settings)
            for name in figure.measurements
        )
    ]
    newest = max(fitting, key=lambda record: record.started, default=None)
    return [record for record in fitting if newest is not None and steps(record) == steps(newest)]


def _figure(
    audit: Audit, figure: Figure, records: Sequence[Record], settings: Mapping[str, SettingValue]
) -> FigureModel:
    declared = audit.measurements_of(figure.experiment)
    units = {declared[name].unit for name in figure.measurements}
    common = {
        "id": figure.id,
        "kind": figure.kind,
        "title": figure.title,
        "experiment": figure.experiment,
        "y_label": units.pop() if len(units) == 1 and units != {"1"} else "",
        "log": figure.log,
        "seeds": tuple(record.seed for record in records),
    }
    if figure.kind == "matrices":
        first = records[:1]
        matrices = tuple(
            matrix
            for name in figure.measurements
            for matrix in _matrices(name, declared[name], first[0], settings)
        )
        return FigureModel(**common, x_label="", band=f"seed {first[0].seed}", matrices=matrices)
    if figure.kind == "curves":
        curves = tuple(
            curve
            for name in figure.measurements
            for curve in _curves(name, declared[name], records, settings, figure.log)
        )
        return FigureModel(
            **common,
            x_label="training step",
            band="mean and range over seeds",
            curves=curves,
            stages=declared_stages(
                audit, figure.experiment, settings, curves[0].x if curves else ()
            ),
        )
    curves = tuple(
        curve
        for name in figure.measurements
        for curve in _comparison(
            name, declared[name], records, settings, str(figure.axis), figure.log
        )
    )
    return FigureModel(
        **common,
        x_label=str(figure.axis).replace("_", " "),
        band="one seed" if len(records) < 2 else "mean over seeds with its 95 % Student-t interval",
        curves=curves,
    )


def _label(name: str, at: Sequence[tuple[str, Coordinate]]) -> str:
    words = [name.replace("_", " ")]
    words += [f"{axis} {coordinate}".replace("_", " ") for axis, coordinate in at]
    return ", ".join(words)


def _centre(values: NDArray[np.float64], log: bool) -> NDArray[np.float64]:
    """The mean over the first axis, geometric on a logarithmic axis."""
    if log and (values > 0).all():
        return np.asarray(np.exp(np.log(values).mean(axis=0)))
    return np.asarray(values.mean(axis=0))


def _curves(
    name: str,
    declaration: Declaration,
    records: Sequence[Record],
    settings: Mapping[str, SettingValue],
    log: bool,
) -> Iterable[CurveModel]:
    series = [record.measurements.series[name] for record in records]
    steps = series[0].steps
    values = np.stack([one.values for one in series])
    axes = [axis.coordinates(settings) for axis in declaration.axes]
    names = [axis.name for axis in declaration.axes]
    for index in np.ndindex(*(len(a) for a in axes)):
        line = values[(slice(None), slice(None), *index)]
        keep = kept(steps, list(line), log=is_early(steps, line.mean(axis=0)))
        line = line[:, keep]
        at = [(n, axes[k][i]) for k, (n, i) in enumerate(zip(names, index, strict=True))]
        yield CurveModel(
            label=_label(name, at),
            x=tuple(float(steps[i]) for i in keep),
            mean=_rounded(_centre(line, log)),
            low=_rounded(line.min(axis=0)),
            high=_rounded(line.max(axis=0)),
        )


def _matrices(
    name: str, declaration: Declaration, record: Record, settings: Mapping[str, SettingValue]
) -> Iterable[MatrixModel]:
    values = record.measurements.arrays[name]
    leading = declaration.axes[:-2]
    axes = [axis.coordinates(settings) for axis in leading]
    for index in np.ndindex(*(len(a) for a in axes)):
        at = [(leading[k].name, axes[k][i]) for k, i in enumerate(index)]
        yield MatrixModel(
            label=_label(name, at),
            values=tuple(_rounded(row) for row in values[index]),
        )


def _comparison(
    name: str,
    declaration: Declaration,
    records: Sequence[Record],
    settings: Mapping[str, SettingValue],
    axis: str,
    log: bool,
) -> Iterable[CurveModel]:
    names = [one.name for one in declaration.axes]
    position = names.index(axis)
    values = np.stack([record.measurements.arrays[name] for record in records])
    values = np.moveaxis(values, position + 1, -1)
    rest = [one for one in declaration.axes if one.name != axis]
    axes = [one.coordinates(settings) for one in rest]
    across = declaration.axes[position].coordinates(settings)
    scale = Scale.LOG if log and (values > 0).all() else Scale.LINEAR
    for index in np.ndindex(*(len(a) for a in axes)):
        line = values[(slice(None), *index)]
        points = [_point(line[:, i], scale) for i in range(len(across))]
        yield CurveModel(
            label=_label(name, [(rest[k].name, axes[k][i]) for k, i in enumerate(index)]),
            x=tuple(float(c) if isinstance(c, int | float) else c for c in across),
            mean=_rounded(np.array([mean for mean, _, _ in points])),
            low=_rounded(np.array([low for _, low, _ in points])),
            high=_rounded(np.array([high for _, _, high in points])),
        )


def _point(values: NDArray[np.float64], scale: Scale) -> tuple[float, float, float]:
    """Mean and interval of the seeds' values; a single seed, as of the smoke tier, is a point."""
    if values.size < 2:
        return (float(values[0]),) * 3
    mean, interval = mean_interval(values, scale=scale)
    return mean, interval.low, interval.high


def _rounded(values: NDArray[np.float64]) -> tuple[float, ...]:
    """Six significant digits: more than a figure shows, and a fifth of the bytes."""
    return tuple(float(f"{v:.6g}") for v in values)
