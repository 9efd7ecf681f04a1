"""Whether what is compared was measured alike: as far, as finely, as many, the same statistic.

It is asked measurement by measurement, for checks that read an end, a passage or a whole course.
Runs of ours have a known schedule: of those it is said how far apart they end, and nothing else. Of
runs from elsewhere what decides is void (`not_as_far`), and what is let pass is said (`let_pass`).
How finely a passage is known, and whether an end is settled, `judge.runs` asks of each check; what
must hold however it was logged, `judge.views`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from reproaudit.audit.arms import PlannedArm, Role, arms_of, quantities_of
from reproaudit.audit.model import Audit, Claim, TierName
from reproaudit.checks import Kind
from reproaudit.declarations import Quantity
from reproaudit.formats.verdict import NotAlike, Unlike
from reproaudit.judge.bundles import Bundles, Records
from reproaudit.lazy import np
from reproaudit.records import CellStatus, Measurements, Record, Series
from reproaudit.stats.courses import ends_at_best, improves_only, is_best_so_far
from reproaudit.stats.onsets import Start, start_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

AS_FAR = 0.95
"""The share of the longer log that the shorter one has at least, if both go equally far."""

FACTORS = (20.0, 500.0)
"""By which factor per cent exceed the shares of another arm, at least and at most."""

PER_CENT = 100.0
"""The largest number of per cent."""

PER_CENT_UNITS = ("%", "percent", "per cent")

_OPEN_ABOVE = frozenset({"loss", "losses", "nll", "perplexity", "ppl", "mse", "rmse", "mae"})
"""Words in the names of what is no share."""

_LEAST = 0.2
"""The share that a bound and numbers exceed which may be in different units."""

HELD_AGAINST_OWN = (Role.CONTROL, Role.ABLATION)
"""The arms whose answer is held against that of the claim's own runs."""


@dataclass(frozen=True)
class Log:
    """A series of one run, with the arm whose run it is."""

    arm: PlannedArm
    record: Record
    measurement: str
    series: Series

    @property
    def end(self) -> int:
        """The last step that was logged."""
        return self.series.steps[-1]

    @property
    def courses(self) -> NDArray[np.float64]:
        """What was observed; shape (coordinate, step)."""
        values = self.series.values
        return np.asarray(values.reshape(len(values), -1).T)

    @property
    def is_constant(self) -> bool:
        """Whether it is the same at every step, so that its end is known however far it goes."""
        return bool((self.series.values == self.series.values[0]).all())


@dataclass(frozen=True)
class LogPair:
    """Two logs of which one is compared with, or held against, the other."""

    log: Log
    other: Log

    @property
    def share(self) -> float:
        """The share of the longer log that the shorter one has."""
        shorter, longer = sorted((self.log.end, self.other.end))
        return shorter / longer if longer > 0 else 1.0

    @property
    def is_as_far(self) -> bool:
        """Whether both go equally far, as far as an end asks for."""
        return self.share >= AS_FAR or self.log.is_constant or self.other.is_constant

    @property
    def is_ours(self) -> bool:
        """Whether the runs are ours, of a known schedule."""
        return self.log.record.origin is None


# --- as far -------------------------------------------------------------------------------------


def not_as_far(
    bundles: Bundles, checks: Iterable[Kind], arm: PlannedArm, record: Record
) -> LogPair | None:
    """Return two logs that a run's answer compares, and that end too far apart; None if none do.

    Runs of ours do not, nor do those of which the audit says that their lengths differ.
    """
    pairs = _pairs(bundles, checks, arm, record)
    return next((pair for pair in pairs if _decides(bundles, pair)), None)


def _lengths_differ(bundles: Bundles, pair: LogPair) -> bool:
    """Whether the arms' settings differ in one that the audit names as the length of training."""
    arms = (pair.log.arm, pair.other.arm)
    names = frozenset[str]().union(*(bundles.audit.lengths_of(arm.experiment) for arm in arms))
    own, other = (arm.settings(bundles.audit, bundles.tier) for arm in arms)
    return any(own.get(name) != other.get(name) for name in names)


def _pairs(
    bundles: Bundles, checks: Iterable[Kind], arm: PlannedArm, record: Record
) -> Iterator[LogPair]:
    """Yield the logs of a run and of its references whose ends are compared, two by two."""
    for check in checks:
        logs = [_log(bundles, check, quantity, arm, record) for quantity in check.to_the_end]
        known = [log for log in logs if log is not None]
        if not check.common_part:
            yield from itertools.starmap(LogPair, itertools.combinations(known, 2))
        if arm.role not in HELD_AGAINST_OWN:
            continue
        for quantity in (quantity for quantity in check.to_the_end if quantity.arm is None):
            mine = _log(bundles, check, quantity, arm, record)
            own = _typical(bundles, _own(bundles), quantity, record.seed)
            if mine is not None and own is not None:
                yield LogPair(own, mine)


def _own(bundles: Bundles) -> PlannedArm:
    """The claim's own arm, or a reading that ran in its place."""
    arms = [
        planned for planned in bundles.arms.values() if planned.role in (Role.OWN, Role.READING)
    ]
    return next((planned for planned in arms if bundles.recorded(planned)), arms[0])


def keeps_up(
    bundles: Bundles, check: Kind, arm: PlannedArm, there: PlannedArm, record: Record
) -> bool:
    """Tell whether a run of the group that an arm is compared with goes as far as that arm's."""
    own = [
        _typical(bundles, arm, quantity) for quantity in check.to_the_end if quantity.arm is None
    ]
    logs = [
        _log_of(there, record, quantity)
        for quantity in check.to_the_end
        if quantity.arm == check.group
    ]
    pairs = [LogPair(a, b) for a, b in itertools.product(own, logs) if a and b]
    return not any(_decides(bundles, pair) for pair in pairs)


def _decides(bundles: Bundles, pair: LogPair) -> bool:
    """Whether two logs from elsewhere end apart, and nobody says that they may."""
    allowed = pair.is_ours or bundles.claim.unlike_lengths is not None
    return not (pair.is_as_far or allowed or _lengths_differ(bundles, pair))


def _log(
    bundles: Bundles, check: Kind, quantity: Quantity, arm: PlannedArm, record: Record
) -> Log | None:
    """The series of a quantity, in a run or in its reference; of a group in its typical run."""
    if quantity.arm in (None, arm.name):
        return _log_of(arm, record, quantity)
    there = bundles.arms[str(quantity.arm)]
    if quantity.arm == check.group:
        return _typical(bundles, there, quantity)
    partner = bundles.partner(there, record.seed)
    return None if partner is None else _log_of(there, partner, quantity)


def _log_of(arm: PlannedArm, record: Record, quantity: Quantity) -> Log | None:
    name = arm.reads.get(quantity.measurement, quantity.measurement)
    series = record.measurements.series.get(name)
    known = record.status is CellStatus.COMPLETED and series is not None and len(series.steps)
    return Log(arm, record, quantity.measurement, series) if known and series else None


def _typical(
    bundles: Bundles, arm: PlannedArm, quantity: Quantity, seed: int | None = None
) -> Log | None:
    """The series of an arm's run with a seed; without one, of the run that ends in the middle."""
    same = None if seed is None else bundles.recorded(arm).runs.get(seed)
    if same is not None and (paired := _log_of(arm, same, quantity)) is not None:
        return paired
    in_order = sorted(_logs(bundles, arm, quantity), key=lambda log: log.end)
    return in_order[len(in_order) // 2] if in_order else None


def _logs(bundles: Bundles, arm: PlannedArm, quantity: Quantity) -> list[Log]:
    """The series of a quantity in every run of an arm."""
    logs = (_log_of(arm, record, quantity) for record in bundles.recorded(arm).runs.values())
    return [log for log in logs if log is not None]


# --- what is let pass ---------------------------------------------------------------------------


def let_pass(
    bundles: Bundles, checks: Sequence[Kind], base: PlannedArm, controls: Sequence[PlannedArm]
) -> tuple[NotAlike, ...]:
    """Return what was not measured alike, of the runs that answer a claim and of their controls.

    Each kind of thing is said once of the arms and the measurement, of lengths once of the arms.
    """
    rivals = [bundles.arms[name] for name in _compared(checks) if name != base.name]
    arms = tuple({arm.name: arm for arm in (base, *rivals, *controls)}.values())
    passed = [
        *_unlike_lengths(bundles, checks, (base, *controls)),
        *_single_runs(bundles, arms),
        *_statistics(bundles, checks, base, controls),
        *_starts(bundles, checks, arms),
    ]
    once = {
        (unlike.how, unlike.arms, unlike.measurement * (not unlike.ends)): unlike
        for unlike in reversed(passed)
    }
    return tuple(reversed(once.values()))


def _compared(checks: Iterable[Kind]) -> dict[str, None]:
    """The arms that checks read beside the one that is asked."""
    return dict.fromkeys(q.arm for check in checks for q in check.quantities() if q.arm is not None)


def _unlike_lengths(
    bundles: Bundles, checks: Sequence[Kind], arms: Iterable[PlannedArm]
) -> Iterator[NotAlike]:
    """Logs that end apart, as the settings state it or the claim says why.

    One of the two is of the claim's runs; and of ours the other is not built by hand.
    """
    runs = ((arm, record) for arm in arms for record in bundles.recorded(arm).runs.values())
    for pair in (pair for arm, record in runs for pair in _pairs(bundles, checks, arm, record)):
        roles = {pair.log.arm.role, pair.other.arm.role}
        own = roles & {Role.OWN, Role.READING}
        built = pair.is_ours and Role.POSITIVE_CONTROL in roles
        if own and not (pair.is_as_far or built or _decides(bundles, pair)):
            yield NotAlike(
                how=Unlike.LENGTHS,
                arms=(pair.log.arm.name, pair.other.arm.name),
                measurement=pair.log.measurement,
                ends=(pair.log.end, pair.other.end),
                lowers=not (pair.is_ours or _lengths_differ(bundles, pair)),
            )


def _single_runs(bundles: Bundles, arms: Iterable[PlannedArm]) -> Iterator[NotAlike]:
    """Arms of which one run stands for all, since the audit calls them deterministic."""
    for arm in arms:
        if arm.deterministic and bundles.has_one_run(arm):
            yield NotAlike(how=Unlike.ONE_RUN, arms=(arm.name,))


def from_elsewhere(records: Iterable[Record]) -> bool:
    """Tell whether records, of at least one run, are not ours."""
    origins = [record.origin for record in records]
    return bool(origins) and None not in origins


def _statistics(
    bundles: Bundles, checks: Sequence[Kind], base: PlannedArm, controls: Iterable[PlannedArm]
) -> Iterator[NotAlike]:
    """Arms whose courses are another statistic than those that they are held against."""
    for check in checks:
        read = [
            quantity
            for quantity in check.quantities()
            if quantity.passes or quantity in check.to_the_end
        ]
        sides = [_side(bundles, base, quantity) for quantity in read]
        pairs = [*itertools.combinations(sides, 2)]
        own = [
            (quantity, _side(bundles, base, quantity)) for quantity in read if quantity.arm is None
        ]
        pairs += [
            (side, _side(bundles, arm, quantity)) for arm in controls for quantity, side in own
        ]
        for side, other in pairs:
            yield from _statistic(side, other)
            yield from _statistic(other, side)


def _side(bundles: Bundles, base: PlannedArm, quantity: Quantity) -> list[Log]:
    """The series of a quantity in all runs of the arm in which it is read."""
    arm = base if quantity.arm is None else bundles.arms[quantity.arm]
    return _logs(bundles, arm, quantity)


def _statistic(logs: Sequence[Log], other: Sequence[Log]) -> Iterator[NotAlike]:
    """What sets the courses of some logs apart from those of others."""
    if not (logs and other and from_elsewhere(log.record for log in (*logs, *other))):
        return
    if _all(logs, is_best_so_far) and not _any(other, improves_only):
        yield _not_alike(Unlike.BEST_SO_FAR, logs[0])
    turns = not _any(logs, improves_only) and not _any(other, improves_only)
    if len(logs) > 1 and turns and _all(logs, ends_at_best) and not _any(other, ends_at_best):
        yield _not_alike(Unlike.ENDS_AT_BEST, logs[0])


def _all(logs: Iterable[Log], tells: Callable[[NDArray[np.float64]], bool]) -> bool:
    return all(tells(course) for log in logs for course in log.courses)


def _any(logs: Iterable[Log], tells: Callable[[NDArray[np.float64]], bool]) -> bool:
    return any(tells(course) for log in logs for course in log.courses)


def _starts(
    bundles: Bundles, checks: Sequence[Kind], arms: Iterable[PlannedArm]
) -> Iterator[NotAlike]:
    """Arms whose logs all begin at exactly 0, or with an observation that is left out."""
    read = [q for check in checks for q in (*check.from_the_start, *check.over_training)]
    for arm in (arm for arm in arms if arm.role is not Role.POSITIVE_CONTROL):
        for quantity in read:
            logs = _logs(bundles, arm, quantity)
            if not from_elsewhere(log.record for log in logs):
                continue
            if all(not log.courses[:, 0].any() and not log.is_constant for log in logs):
                yield _not_alike(Unlike.ZERO_START, logs[0])
            elif _any(logs, lambda course: start_of(course) is Start.ARTEFACT):
                yield _not_alike(Unlike.START_LEFT_OUT, logs[0])


def _not_alike(how: Unlike, log: Log) -> NotAlike:
    return NotAlike(how=how, arms=(log.arm.name,), measurement=log.measurement)


# --- in one unit --------------------------------------------------------------------------------


@dataclass(frozen=True)
class UnitsApart:
    """A measurement that seems to be a share of 1 on one side, and in per cent on another.

    Attributes:
        arms: that with shares, and that with per cent; None in the place of the audit's own number.
        most: the largest number of a typical run of either, or the audit's number.
    """

    measurement: str
    arms: tuple[PlannedArm | None, PlannedArm | None]
    most: tuple[float, float]


def units_apart(audit: Audit, tier: TierName, records: Records) -> Iterator[UnitsApart]:
    """Yield each measurement that a claim seems to have in different units, once.

    Arms are held against each other, and each against the numbers of the audit.
    """
    seen = set()
    for claim in audit.claims:
        own, *others = arms_of(audit, claim)
        levels = [*levels_of(claim)]
        names = dict.fromkeys(quantity.measurement for quantity in quantities_of(claim))
        for name in (name for name in names if _may_be_share(audit, own, name)):
            runs = [records.get(arm.key(audit, tier), {}).values() for arm in (own, *others)]
            sizes = [_sizes(each, name) for each in runs]
            found: list[tuple[PlannedArm | None, PlannedArm, tuple[float, float] | None]]
            found = [
                (own, other, _apart(sizes[0], each))
                for other, each in zip(others, sizes[1:], strict=True)
            ]
            found += [
                (None, arm, _level_apart(level, each))
                for quantity, level in levels
                for arm, each in zip((own, *others), sizes, strict=True)
                if quantity.measurement == name and arm.name == (quantity.arm or own.name)
            ]
            for first, second, most in found:
                key = (name, first and first.key(audit, tier), second.key(audit, tier), most)
                if most is not None and key not in seen:
                    sides = sorted(
                        zip(most, (first, second), strict=True), key=lambda side: side[0]
                    )
                    (share, of_share), (percent, of_percent) = sides
                    yield UnitsApart(name, (of_share, of_percent), (share, percent))
                seen.add(key)


def levels_of(claim: Claim) -> Iterator[tuple[Quantity, float]]:
    """Yield the numbers that the quantities of a claim are held against as they are."""
    for check in (*claim.headline, *claim.support, *claim.notes):
        yield from check.levels


def in_per_cent(audit: Audit, experiment: str, name: str) -> bool:
    """Tell whether an audit has a measurement in per cent: by its unit, its range or a bound."""
    declared = audit.declaration(experiment, name)
    if declared is None:
        return False
    ends = [end for end in declared.range or () if end is not None]
    ends += [
        level
        for claim in audit.claims
        for quantity, level in levels_of(claim)
        if claim.experiment == experiment and quantity.measurement == name
    ]
    return declared.unit.lower() in PER_CENT_UNITS or max(ends, default=0.0) > 1


def _may_be_share(audit: Audit, arm: PlannedArm, name: str) -> bool:
    """Whether a measurement may be a share, or per cent: a pure number with no open end above."""
    declared = audit.declaration(arm.experiment, name)
    if declared is None or declared.unit.lower() not in ("1", *PER_CENT_UNITS):
        return False
    if declared.range is None:
        return declared.unit != "1" or _OPEN_ABOVE.isdisjoint(name.split("_"))
    return declared.range[1] is not None


def _sizes(records: Iterable[Record], name: str) -> Sizes:
    """The least and the largest number of a measurement in each run that has it."""
    sizes = []
    for record in records:
        values = _numbers(record.measurements, name)
        if values is not None and values.size and record.status is CellStatus.COMPLETED:
            sizes.append((float(values.min()), float(values.max())))
    return sizes


def _numbers(measured: Measurements, name: str) -> NDArray[np.float64] | None:
    if name in measured.series:
        return measured.series[name].values
    if name in measured.scalars:
        return np.array([measured.scalars[name]])
    return measured.arrays.get(name)


Sizes = Sequence[tuple[float, float]]
"""The least and the largest number of each run."""


def _apart(sizes: Sizes, others: Sizes) -> tuple[float, float] | None:
    """Return the typical largest numbers of two arms of which one seems to be in per cent."""
    if not (sizes and others) or min(least for least, _ in (*sizes, *others)) < 0:
        return None
    most = (median(end for _, end in sizes), median(end for _, end in others))
    small, large = sorted((sizes, others), key=lambda each: max(end for _, end in each))
    within = max(end for _, end in small) <= 1
    beyond = min(end for _, end in large) > 1 and max(end for _, end in large) <= PER_CENT
    low, high = sorted(most)
    fits = within and beyond and FACTORS[0] * low <= high <= FACTORS[1] * low
    return most if fits else None


def _level_apart(level: float, sizes: Sizes) -> tuple[float, float] | None:
    """Return a number of the audit and the typical largest one of an arm, if one is in per cent.

    The one lies above a fifth of 1, and the others above a fifth of 100, so that no loss does.
    """
    ends = [end for _, end in sizes]
    if not ends or min(least for least, _ in sizes) < 0:
        return None
    is_share = _LEAST < level <= 1 and min(ends) > PER_CENT * _LEAST and max(ends) <= PER_CENT
    is_per_cent = PER_CENT * _LEAST < level <= PER_CENT and min(ends) > _LEAST and max(ends) <= 1
    return (level, median(ends)) if is_share or is_per_cent else None
