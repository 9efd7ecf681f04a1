"""Tells of judged numbers that are not what they seem: below a floor, or of another training.

A floor is the resolution of a measurement. Raised above what is measured it makes any two numbers
equal. Where a course ends below its floor, its picture shows (`reproaudit.reports.stated_rule`);
for single numbers, the beginning of a course, and a course or curve that another one has to follow,
the records are looked at here.

The last number of a series is judged as if training ended there. A program could end those of a
control before it learns what it would learn, and so have it miss. A declared curve may end there,
too. And the evidence is called that of the paper's scale by the settings, which a program need not
keep to.

A failure rate is judged by passes and failures, which different runs share. Runs that are one are
known by the number behind it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from reproaudit.audit.model import Audit, Claim
from reproaudit.audit.training_length import end_beside, stated_length
from reproaudit.checks import Check
from reproaudit.checks.concentrates import Concentrates
from reproaudit.checks.converges import Converges
from reproaudit.checks.failure_rate import FailureRate
from reproaudit.checks.follows import Follows
from reproaudit.checks.kind import Kind
from reproaudit.checks.measurements import MeasurementKind, Quantity, Sample
from reproaudit.commands.beside.judged import JudgedFrom, RunsBehind
from reproaudit.records import CellStatus, Record
from reproaudit.reports import numbers
from reproaudit.reports.repeats import is_long
from reproaudit.reports.warning import (
    BEGINS_LATE,
    BELOW_THE_FLOOR,
    CUT_SHORT,
    FEWER_RUNS,
    NO_SHARE,
    NOT_TRAINED_ON,
    OTHER_LENGTH,
)
from reproaudit.scorecard.model import ClaimModel
from reproaudit.stats import Scale


@dataclass(frozen=True)
class _Run:
    """One run that is judged, and the checks that read it.

    Attributes:
        behind: the runs that it is one of.
        record: its record.
        sample: its measurements.
        checks: those of the claim for which the run has every measurement.
    """

    behind: RunsBehind
    record: Record
    sample: Sample
    checks: Sequence[Check]

    @property
    def is_drawn(self) -> bool:
        """True of the claim's own runs: the page has pictures of their courses."""
        return not self.behind.whose


def told_of_numbers(judged: JudgedFrom, claim: Claim, told: ClaimModel) -> Iterator[str]:
    """Yields a sentence on each number below its floor, and each series cut short.

    They are those of the claim's own runs, of its ablations, and of the alternatives it hangs on.

    Args:
        judged: what the claim was judged from.
        claim: as the audit has it.
        told: as it was judged.
    """
    own: list[_Run] = []
    found: dict[tuple[str, str], list[str]] = {}
    for behind in judged.runs_behind(claim, told):
        runs = list(_runs(judged.audit, claim, behind))
        own = own or runs
        whose = f" of {behind.whose}" if behind.whose else ""
        for before, count, after in _told_of_runs(runs, own, judged.audit) if runs else ():
            in_some = f"{count} of {numbers.counted(len(runs), 'run')}{whose}"
            found.setdefault((before, after), []).append(in_some)
    for (before, after), in_runs in found.items():
        yield f"{before} in {', '.join(in_runs)}{after}"


def _runs(audit: Audit, claim: Claim, behind: RunsBehind) -> Iterator[_Run]:
    """Yields those of the runs that ended well."""
    declared = audit.measurements_of(behind.batch.experiment)
    other = behind.control.substitutes if behind.control else {}
    checks = [check.reading(other) for check in claim.checks]
    for one in behind.lookup(behind.batch).values():
        if one.status is CellStatus.COMPLETED:
            sample = Sample(one.seed, one.measurements, declared, one.settings)
            yield _Run(behind, one, sample, [check for check in checks if _has(one, check)])


def _told_of_runs(
    runs: Sequence[_Run], own: Sequence[_Run], audit: Audit
) -> Iterator[tuple[str, int, str]]:
    """Yields each sentence on runs of one batch: in how many, with what stands before and after.

    Args:
        runs: the runs.
        own: the claim's own.
        audit: the paper's.
    """
    below = Counter(one for run in runs for one in _below(run))
    for (name, check, floor), count in below.items():
        least = numbers.stated(floor)
        before = f"{BELOW_THE_FLOOR} of '{check}' lies '{name}'"
        yield before, count, f": less than {least} counts as {least}."
    for name, again in _repeated(runs).items():
        yield f"{FEWER_RUNS}: '{name}' has the number of another seed", again, "."
    early = Counter(one for run in runs for one in _early(run, own, audit))
    for (name, end, length), count in early.items():
        yield f"{CUT_SHORT}: '{name}' ends at step {end:,} of {length:,}", count, "."
    late = Counter(one for run in runs for one in _late(run))
    for (name, begin, length), count in late.items():
        yield f"{BEGINS_LATE}: '{name}' begins at step {begin:,} of {length:,}", count, "."
    for name, values in _no_shares(runs).items():
        yield f"{NO_SHARE}: '{name}'", len(values), f", {values[0]:.3g} in the first of them."
    if settled := _not_trained_on(runs):
        yield f"{NOT_TRAINED_ON}: '{settled}'", len(runs), "."
    lengths = Counter(one for run in runs for one in _other_length(run, audit))
    for (steps, stated), count in lengths.items():
        yield f"{OTHER_LENGTH}: {steps:,} in place of {stated:,}", count, "."


STEPS = "steps"
"""The setting that states the steps of a training without stages."""
LONGER, SHORTER = 1.1, 0.9
"""Of the stated steps; less of a difference may be a last observation or its rounding."""


def _other_length(run: _Run, audit: Audit) -> Iterator[tuple[int, int]]:
    """Yields the steps of a run that is no control's and the stated ones, if they are far apart.

    Steps that a run reports may be those of several trainings. So more of them than stated mean
    something only where no series tells how far one training went.
    """
    record, series = run.record, run.record.measurements.series
    stated = stated_length(audit, record.experiment, record.settings)
    if not any(one.steps == STEPS for one in audit.experiments[record.experiment].stages):
        whole = record.settings.get(STEPS)  # beside stages that do not name it, it is stated, too
        stated = max(stated or 0, whole) if isinstance(whole, int | float) else stated
    if run.behind.control or not stated:
        return
    ends = [int(one.steps[-1]) for one in series.values()]
    steps = max(ends, default=record.steps or 0)
    if steps > LONGER * stated:
        yield steps, round(stated)
    elif 0 < (record.steps or steps) < SHORTER * stated:
        yield record.steps or steps, round(stated)


def _has(record: Record, check: Check) -> bool:
    """True if a run, perhaps from elsewhere, was supplied with everything that a check reads."""
    return {one.measurement for one in check.quantities()} <= set(record.measurements.names)


def _below(run: _Run) -> set[tuple[str, str, float]]:
    """The measurements that are read below the floor of a check, with its name and floor.

    Of the claim's own runs the ends of courses are left to their pictures.
    """
    sample = run.sample
    courses = {
        (name, check.name, check.floor)
        for check in _parts(run, Follows)
        if check.distance == "relative"
        for name, least in _least_of(check, sample)
        if least < check.floor
    }
    return courses | {
        (quantity.measurement, check.name, check.floor)
        for check in run.checks
        for part in check.parts(sample)
        if (scales := {one.scale for one in part.conditions()} & FLOORED)
        for quantity in part.quantities()
        if not run.is_drawn or quantity.step == "first" or not _is_series(sample, quantity)
        for number in _numbers(sample, quantity, part.spans())
        if (
            1 - number < check.floor > SHARE_ROUNDING
            if Scale.LOG_COMPLEMENT in scales
            else number < check.floor
        )
    }


def _is_series(sample: Sample, quantity: Quantity) -> bool:
    return sample.declarations[quantity.measurement].kind is MeasurementKind.SERIES


FLOORED = {Scale.LOG, Scale.LOG_COMPLEMENT}
"""The scales on which a number below a floor counts as the floor; of a share, what it lacks."""


def _numbers(sample: Sample, quantity: Quantity, along: str | None) -> Iterator[float]:
    """Yields the numbers that are held against the floor: one, or one for each size."""
    sizes = () if along is None else sample.coordinates(quantity, along)
    for one in [quantity.placed(str(along), size) for size in sizes] or [quantity]:
        yield sample.number(one)


CURVE = "its curve"
"""The name of a curve that the audit gives in numbers."""


def _least_of(check: Follows, sample: Sample) -> Iterator[tuple[str, float]]:
    """Yields the names of a course, and of what it has to follow, each with its least number."""
    for quantity in check.quantities():
        yield quantity.measurement, float(sample.series(quantity).values.min())
    if check.curve:
        yield CURVE, min(value for _, value in check.curve)


def _repeated(runs: Sequence[_Run]) -> Mapping[str, int]:
    """The number of runs that have another run's numbers behind a failure rate, by measurement."""
    found: dict[str, list[tuple[float, ...]]] = {}
    for run in runs:
        behind: dict[str, list[float]] = {}
        for part in _parts(run, FailureRate):
            for quantity in part.quantities():
                if not _is_series(run.sample, quantity):  # else its picture shows the same course
                    numbers_of = behind.setdefault(quantity.measurement, [])
                    numbers_of.append(run.sample.number(quantity))
        for name, values in behind.items():
            found.setdefault(name, []).append(tuple(values))
    long = {
        name: [one for one in several if any(map(is_long, one))] for name, several in found.items()
    }
    again = {name: len(several) - len(set(several)) for name, several in long.items()}
    return {name: count for name, count in again.items() if count}


_Of = TypeVar("_Of", bound=Kind)


def _parts(run: _Run, kind: type[_Of]) -> Iterator[_Of]:
    """Yields the parts of one kind that a run is judged by."""
    for check in run.checks:
        yield from (one for one in check.parts(run.sample) if isinstance(one, kind))


def _early(run: _Run, own: Sequence[_Run], audit: Audit) -> set[tuple[str, int, int]]:
    """The series that are read and end before training does, with the last step of both.

    Training ends at the last step that the claim's settings state, or that another series of the
    run has; but where it is divided into stages, a series may be of one of them. A control's series
    goes as far as the claim's does, as a share of the steps that the runs report.
    """
    record, series = run.record, run.record.measurements.series
    is_control = run.behind.control is not None
    ends: dict[str, float] = {}
    if not audit.experiments[record.experiment].stages:
        is_own = not run.behind.whose  # of others the steps are told of in `_other_length`
        stated = stated_length(audit, record.experiment, record.settings) if is_own else None
        longest = max((int(one.steps[-1]) for one in series.values()), default=0)
        ends = {
            name: max(stated or 0, longest)
            for check in run.checks
            for _, name in _read(check, series)
        }
    if is_control and own:
        its, ours = record.steps or 0, own[0].record.steps or 0
        share = its / ours if its and ours else 1.0
        theirs = own[0].record.measurements.series
        claims = {
            (check.name, field): theirs[name].steps[-1]
            for check in own[0].checks
            for field, name in _read(check, theirs)
        }
        for check in run.checks:
            for field, name in _read(check, series):
                ends[name] = max(ends.get(name, 0), share * claims.get((check.name, field), 0))
    early = ((name, end_beside([series[name].steps], ends[name], points=True)) for name in ends)
    return _early_curves(run) | {
        (name, end, round(ends[name]))
        for name, end in early
        if end is not None and end < ends[name]
    }


def _early_curves(run: _Run) -> set[tuple[str, int, int]]:
    """The declared curves that end before the series that should follow them; as `_early`.

    Beyond the last point of its curve a series is compared with nothing.
    """
    curves = {
        (CURVE, round(check.curve[-1][0]), int(run.sample.series(check.quantity).steps[-1]))
        for check in _parts(run, Follows)
        if check.curve
    }
    return {(name, end, length) for name, end, length in curves if end < length}


LATE = 0.1
"""Of the last step; a first observation before that may be the first one worth making."""


def _late(run: _Run) -> set[tuple[str, int, int]]:
    """The courses and curves that begin late in training, each with its first and the last step.

    Of what came before nothing is judged, though a rule on a course seems to be about all of it.
    """
    found: set[tuple[str, int, int]] = set()
    series = run.record.measurements.series
    for check in run.checks:
        if not check.follows_training():
            continue
        steps = {name: series[name].steps for _, name in _read(check, series)}
        last = max((int(one[-1]) for one in steps.values()), default=0)
        begins = {name: float(one[0]) for name, one in steps.items()}
        if isinstance(check, Follows) and check.curve:
            begins[CURVE] = check.curve[0][0]
        since = check.since if isinstance(check, Follows) else 0.0
        found |= {
            (name, round(first), last)
            for name, first in begins.items()
            if first > max(LATE, since) * last
        }
    return found


def _no_shares(runs: Sequence[_Run]) -> Mapping[str, Sequence[float]]:
    """Values that a check takes for a share, and no share has: one of each run, by measurement."""
    found: dict[str, list[float]] = {}
    for run in runs:
        none: dict[str, float] = {}
        for check in _parts(run, Concentrates):
            first = check.share.model_copy(update={"step": "first"})
            read = [check.share, *([first] if _is_series(run.sample, check.share) else [])]
            for value in map(run.sample.number, read):
                if not -check.floor <= value <= 1 + SHARE_ROUNDING:
                    none.setdefault(check.share.measurement, value)
        for name, value in none.items():
            found.setdefault(name, []).append(value)
    return found


SHARE_ROUNDING = 1e-6
"""A share may be so much more than 1, in single precision, and so little less means nothing."""


def _not_trained_on(runs: Sequence[_Run]) -> str | None:
    """A loss after training on that is the loss before it, in every run; None if there is none."""
    equal: dict[str, int] = {}
    for run in runs:
        for check in _parts(run, Converges):
            on = check.continued
            if on is not None and run.sample.number(on) == run.sample.number(check.loss):
                equal[on.measurement] = equal.get(on.measurement, 0) + 1
    return next((name for name, count in equal.items() if count >= len(runs)), None)


def _read(check: Check, series: Collection[str]) -> list[tuple[str, str]]:
    """The fields by which a check reads a series, each with the name of the series."""
    read = [(field, one.measurement) for field, one in check.by_field().items()]
    return [(field, name) for field, name in read if name in series]
