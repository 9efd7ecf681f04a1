"""An experiment from a function of its settings and one seed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import FrozenInstanceError
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from reproaudit.errors import did_you_mean
from reproaudit.lab.experiment import Experiment, Measurements, Session
from reproaudit.records import Series


class AuditSettings:
    """The settings of a run, as the audit declares them: `settings.steps`, `settings.widths`.

    Name this class as the `settings` of an `Experiment` in place of a dataclass. A setting has the
    type that its value has in the audit, 3 or 3.0, and a list is a tuple. Settings never change,
    and those with equal values are equal.

    Raises:
        AttributeError: at a name that is no setting, with the one that is nearest; and where a
            setting is assigned to or deleted.
    """

    def __init__(self, /, **values: Any) -> None:
        vars(self).update({name: as_tuples(value) for name, value in values.items()})

    def __getattr__(self, name: str) -> Any:
        known = did_you_mean(name, vars(self))
        raise AttributeError(f"the audit gives no setting '{name}'. {known}".rstrip())

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise FrozenInstanceError(f"cannot change the setting '{name}': every value is the audit's")

    def __delattr__(self, name: str) -> NoReturn:
        raise FrozenInstanceError(f"cannot delete the setting '{name}': every value is the audit's")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AuditSettings) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(frozenset(vars(self).items()))

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"AuditSettings({values})"


def as_tuples(value: Any) -> Any:
    """Return a value with every list in it as a tuple."""
    return tuple(map(as_tuples, value)) if isinstance(value, list | tuple) else value


MeasureSeed = Callable[[AuditSettings, int], Mapping[str, ArrayLike | Series]]
"""From settings and a seed to what was measured, by name: numbers, arrays and `Series`."""


def experiment_of(
    measure: MeasureSeed,
    *,
    proxy: Callable[[AuditSettings], str | None] | None = None,
    data: Callable[[AuditSettings], Mapping[str, str]] | None = None,
) -> Experiment:
    """Make an experiment of a function of its settings and one seed.

    A run that is interrupted starts the function again: long training is better run by `train`, in
    an `Experiment` of its own.

    Args:
        measure: from the settings and a seed to the measurements by name. A `Series` is one, a
            single number becomes a scalar, and all else an array of real numbers.
        proxy: from settings to the stand-in for the paper's data or method, or None.
        data: from settings to the checksum of each data file that `measure` reads, by name.
    """

    def measure_session(settings: AuditSettings, session: Session) -> Measurements:
        return _measured(measure(settings, session.seed))

    given: dict[str, Any] = {"proxy": proxy, "data": data}
    options = {name: option for name, option in given.items() if option is not None}
    return Experiment(AuditSettings, measure_session, **options)


def _measured(values: Mapping[str, ArrayLike | Series]) -> Measurements:
    """Sort values by name into scalars, series and arrays.

    Raises:
        TypeError: if this is no mapping.
        ValueError: if a value is neither a series nor real numbers in rows of equal length.
    """
    if not isinstance(values, Mapping):
        raise TypeError(
            f"an experiment returned {type(values).__name__}; expected its measurements by name, "
            'such as {"loss": 0.1}'
        )
    series = {name: value for name, value in values.items() if isinstance(value, Series)}
    rest = {name: _numbers(name, values[name]) for name in values if name not in series}
    return Measurements(
        scalars={name: float(value) for name, value in rest.items() if value.ndim == 0},
        series=series,
        arrays={name: value for name, value in rest.items() if value.ndim > 0},
    )


def _numbers(name: str, value: ArrayLike | Series) -> np.ndarray:
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise ValueError(f"'{name}' is no array: its rows differ in length") from error
    if array.dtype.kind not in "biuf":
        raise ValueError(f"'{name}' is {value!r:.60}; expected a number, an array or a Series")
    return array
