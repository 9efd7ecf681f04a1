"""How long batches will take, and which come first.

An experiment's records say how long a training step takes, and its module how many steps a cell
has. Records of the same tier are taken where there are any; those of the smoke tier otherwise, and
then the answer is rough, since a step of a smaller model is shorter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from reproaudit.audit.model import Audit
from reproaudit.audit.plan import Batch
from reproaudit.cell import SettingValue
from reproaudit.records import CellStatus, Record

Steps = Callable[[str, Mapping[str, SettingValue]], int]
"""From an experiment and its settings to its number of training steps; 0 if it does not say."""


@dataclass(frozen=True)
class Rate:
    """Seconds of an experiment per training step, or per cell where it has no steps."""

    seconds: float
    per_step: bool
    rough: bool = False


@dataclass(frozen=True)
class Estimate:
    """How long cells will take, one after the other.

    Attributes:
        seconds: of those that are known.
        unknown: how many cells belong to experiments that have never run.
        rough: whether smoke records had to do.
    """

    seconds: float
    unknown: int
    rough: bool


class Costs:
    """What a seed of each experiment takes.

    Args:
        records: of the same tier, alternatives included.
        smoke: of the smoke tier.
        steps: how many steps a cell has.
    """

    def __init__(self, records: Iterable[Record], smoke: Iterable[Record], steps: Steps) -> None:
        self._steps = steps
        rough = {name: _roughly(rate) for name, rate in self._measured(smoke).items()}
        self._rates = {
            **{name: rate for name, rate in rough.items() if rate.per_step},
            **self._measured(records),
        }

    def _measured(self, records: Iterable[Record]) -> dict[str, Rate]:
        found: dict[str, list[tuple[float, int]]] = {}
        for record in records:
            if record.status is not CellStatus.FAILED:
                steps = self._steps(record.experiment, record.settings)
                found.setdefault(record.experiment, []).append((record.seconds, steps))
        return {name: _rate(times) for name, times in found.items()}

    def seconds(self, experiment: str, settings: Mapping[str, SettingValue]) -> float | None:
        """What one seed takes; None if the experiment has never run."""
        rate = self._rates.get(experiment)
        if rate is None:
            return None
        return rate.seconds * (self._steps(experiment, settings) if rate.per_step else 1)

    def estimate(self, audit: Audit, todo: Mapping[Batch, int]) -> Estimate:
        """How long so many seeds of each batch take."""
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
        """The default first, then by the weight of the claims decided per second of computing.

        Combinations come after single alternatives, which a ranked answer needs first.
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


def _roughly(rate: Rate) -> Rate:
    return Rate(rate.seconds, rate.per_step, rough=True)
