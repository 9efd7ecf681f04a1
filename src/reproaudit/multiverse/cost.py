"""The predicted computing time of batches, and the order in which they are run.

The seconds per training step are taken from an experiment's records, the number of steps of a cell
from its module. Records of the same tier are used where there are any. Otherwise those of the smoke
tier are used, and the prediction is rough, since a step of a smaller model is shorter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from reproaudit.audit.model import Audit
from reproaudit.audit.plan import Batch
from reproaudit.cell import SettingValue
from reproaudit.records import CellStatus, Record

Steps = Callable[[str, Mapping[str, SettingValue]], int]
"""Gives the number of training steps of an experiment under its settings; 0 if unknown."""


@dataclass(frozen=True)
class Rate:
    """Seconds of an experiment per training step, or per cell where it has no steps."""

    seconds: float
    per_step: bool
    rough: bool = False


@dataclass(frozen=True)
class Estimate:
    """The computing time of cells, run one after the other.

    Attributes:
        seconds: of the cells whose experiments have records.
        unknown: the number of cells of experiments without any.
        rough: whether smoke records were used.
    """

    seconds: float
    unknown: int
    rough: bool


class Costs:
    """The computing time of one seed of each experiment.

    Args:
        records: of the same tier, alternatives included.
        smoke: records of the smoke tier.
        steps: gives the number of steps of a cell.
    """

    def __init__(self, records: Iterable[Record], smoke: Iterable[Record], steps: Steps) -> None:
        self._steps = steps
        rough = {n: replace(r, rough=True) for n, r in self._measured(smoke).items() if r.per_step}
        self._rates = {**rough, **self._measured(records)}

    def _measured(self, records: Iterable[Record]) -> dict[str, Rate]:
        found: dict[str, list[tuple[float, int]]] = {}
        for record in records:
            if record.status is not CellStatus.FAILED:
                steps = self._steps(record.experiment, record.settings)
                found.setdefault(record.experiment, []).append((record.seconds, steps))
        return {name: _rate(times) for name, times in found.items()}

    def seconds(self, experiment: str, settings: Mapping[str, SettingValue]) -> float | None:
        """The seconds of one seed; None if the experiment has never run."""
        rate = self._rates.get(experiment)
        if rate is None:
            return None
        return rate.seconds * (self._steps(experiment, settings) if rate.per_step else 1)

    def estimate(self, audit: Audit, todo: Mapping[Batch, int]) -> Estimate:
        """The computing time of the given number of seeds of each batch."""
        known, unknown, rough = 0.0, 0, False
        for batch, seeds in todo.items():
            each = self.seconds(batch.experiment, batch.settings(audit))
            if each is None:
                unknown += seeds
            else:
                known += seeds * each
                rough = rough or self._rates[batch.experiment].rough
        return Estimate(known, unknown, rough)

    def ranked(self, audit: Audit, batches: Sequence[Batch]) -> list[Batch]:
        """The batches in the order of their use: by claim weight per second of computing.

        The default comes first, then single alternatives, then combinations.
        """
        weights: dict[str, float] = {}
        for claim in audit.claims:
            weights[claim.experiment] = weights.get(claim.experiment, 0.0) + claim.weight

        def place(batch: Batch) -> tuple[int, float]:
            each = self.seconds(batch.experiment, batch.settings(audit))
            cost = 1.0 if each is None else max(each, 1e-6)
            return len(batch.overrides), -weights.get(batch.experiment, 0.0) / cost

        return sorted(batches, key=place)


def _rate(times: Sequence[tuple[float, int]]) -> Rate:
    if all(steps for _, steps in times):
        return Rate(median(seconds / steps for seconds, steps in times), per_step=True)
    return Rate(median(seconds for seconds, _ in times), per_step=False)
