"""Tells of judged numbers that are not what they seem: below a floor, or there from the start.

A floor is the resolution of a measurement. Raised above what is measured it makes any two numbers
equal. Where a course ends below its floor, its picture shows (`reproaudit.reports.stated_rule`);
for single numbers, the beginning of a course, and a course or curve that another one has to follow,
the records are looked at here.

A failure rate is judged by passes and failures, which different runs share. Runs that are one are
known by the number behind it. Where a part compares two numbers, no picture has a range that tells
whether it was met before training, or how far its ablation was from it then.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from reproaudit.audit.model import Audit, Claim
from reproaudit.checks.concentrates import Concentrates
from reproaudit.checks.converges import Converges
from reproaudit.checks.failure_rate import FailureRate
from reproaudit.checks.follows import Follows
from reproaudit.checks.kind import Condition, Kind
from reproaudit.checks.quantities import Quantity, Sample
from reproaudit.commands.beside.courses import told_of_courses
from reproaudit.commands.beside.judged import JudgedFrom
from reproaudit.commands.beside.runs import CURVE, JudgedRun, runs_of
from reproaudit.reports import numbers
from reproaudit.reports.repeats import is_long
from reproaudit.reports.trained_away import AWAY
from reproaudit.reports.warning import (
    BEGINS_MET,
    BELOW_THE_FLOOR,
    FEWER_RUNS,
    LEFT_OUT,
    NO_SHARE,
    NOT_TRAINED_ON,
    TRAINED_AWAY,
)
from reproaudit.scorecard.model import ClaimModel
from reproaudit.stats import Scale


def told_of_numbers(judged: JudgedFrom, claim: Claim, told: ClaimModel) -> Iterator[str]:
    """Yields a sentence on each number below its floor, and each series cut short.

    They are those of the claim's own runs, of its ablations, and of the alternatives it hangs on.

    Args:
        judged: what the claim was judged from.
        claim: as the audit has it.
        told: as it was judged.
    """
    own: list[JudgedRun] = []
    found: dict[tuple[str, str], list[str]] = {}
    for behind in judged.runs_behind(claim, told):
        runs = list(runs_of(judged.audit, claim, behind))
        own = own or runs
        whose = f" of {behind.whose}" if behind.whose else ""
        for before, count, after in _told_of_runs(runs, own, judged.audit) if runs else ():
            in_some = f"{count} of {numbers.counted(len(runs), 'run')}{whose}"
            found.setdefault((before, after), []).append(in_some)
    for (before, after), in_runs in found.items():
        yield f"{before} in {', '.join(in_runs)}{after}"


def _told_of_runs(
    runs: Sequence[JudgedRun], own: Sequence[JudgedRun], audit: Audit
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
    for name, values in _no_shares(runs).items():
        yield f"{NO_SHARE}: '{name}'", len(values), f", {values[0]:.3g} in the first of them."
    if settled := _not_trained_on(runs):
        yield f"{NOT_TRAINED_ON}: '{settled}'", len(runs), "."
    for name, count in _at_the_start(runs):
        yield name, count, "."
    for name, count in _left_out(runs):
        yield f"{LEFT_OUT}: '{name}'", count, "."
    yield from told_of_courses(runs, own, audit)


def _below(run: JudgedRun) -> set[tuple[str, str, float]]:
    """The measurements that are read below the floor of a check, with its name and floor.

    Of the claim's own runs the ends of courses are left to their pictures.
    """
    sample = run.sample
    courses = {
        (name, check.name, check.floor)
        for check in run.parts(Follows)
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
        if not run.is_drawn
        or quantity.step == "first"
        or not run.is_series(quantity)
        or Scale.LOGIT in scales
        for number in _numbers(sample, quantity, part.spans())
        if any(_rises(number, scale, check.floor) for scale in scales)
    }


FLOORED = {Scale.LOG, Scale.LOG_COMPLEMENT, Scale.LOGIT}
"""The scales on which a number below a floor counts as the floor; of a share, what it lacks."""


def _rises(number: float, scale: Scale, floor: float) -> bool:
    """True if a number, or what it lacks of 1, counts as the floor because it is smaller."""
    if scale is Scale.LOG:
        return number < floor
    is_low = 1 - number < floor or (scale is Scale.LOGIT and number < floor)
    return is_low and floor > SHARE_ROUNDING


def _numbers(sample: Sample, quantity: Quantity, along: str | None) -> Iterator[float]:
    """Yields the numbers that are held against the floor: one, or one for each size."""
    sizes = () if along is None else sample.coordinates(quantity, along)
    for one in [quantity.placed(str(along), size) for size in sizes] or [quantity]:
        yield sample.number(one)


def _least_of(check: Follows, sample: Sample) -> Iterator[tuple[str, float]]:
    """Yields the names of a course, and of what it has to follow, each with its least number."""
    for quantity in check.quantities():
        yield quantity.measurement, float(sample.series(quantity).values.min())
    if check.curve:
        yield CURVE, min(value for _, value in check.curve)


def _repeated(runs: Sequence[JudgedRun]) -> Mapping[str, int]:
    """The number of runs that have another run's numbers behind a failure rate, by measurement."""
    found: dict[str, list[tuple[float, ...]]] = {}
    for run in runs:
        behind: dict[str, list[float]] = {}
        for part in run.parts(FailureRate):
            for quantity in part.quantities():
                if not run.is_series(quantity):  # else its picture shows the same course
                    numbers_of = behind.setdefault(quantity.measurement, [])
                    numbers_of.append(run.sample.number(quantity))
        for name, values in behind.items():
            found.setdefault(name, []).append(tuple(values))
    long = {
        name: [one for one in several if any(map(is_long, one))] for name, several in found.items()
    }
    again = {name: len(several) - len(set(several)) for name, several in long.items()}
    return {name: count for name, count in again.items() if count}


def _no_shares(runs: Sequence[JudgedRun]) -> Mapping[str, Sequence[float]]:
    """Values that a check takes for a share, and no share has: one of each run, by measurement."""
    found: dict[str, list[float]] = {}
    for run in runs:
        none: dict[str, float] = {}
        for check in run.parts(Concentrates):
            first = check.share.model_copy(update={"step": "first"})
            read = [check.share, *([first] if run.is_series(check.share) else [])]
            for value in map(run.sample.number, read):
                if not -check.floor <= value <= 1 + SHARE_ROUNDING:
                    none.setdefault(check.share.measurement, value)
        for name, value in none.items():
            found.setdefault(name, []).append(value)
    return found


SHARE_ROUNDING = 1e-6
"""A share may be so much more than 1, in single precision, and so little less means nothing."""


def _not_trained_on(runs: Sequence[JudgedRun]) -> str | None:
    """A loss after training on that is the loss before it, in every run; None if there is none."""
    equal: dict[str, int] = {}
    for run in runs:
        for check in run.parts(Converges):
            on = check.continued
            if on is not None and run.sample.number(on) == run.sample.number(check.loss):
                equal[on.measurement] = equal.get(on.measurement, 0) + 1
    return next((name for name, count in equal.items() if count >= len(runs)), None)


def _at_the_start(runs: Sequence[JudgedRun]) -> Iterator[tuple[str, int]]:
    """Yields parts on two numbers that were met, or nearer to being met, when training began.

    Each stands with the number of runs in which it was: of the claim's own that began where it is
    met, or of an ablation that ended farther from it than they began; if it is half of them or
    more.
    """
    found: Counter[tuple[str, str]] = Counter()
    for run in runs:
        for check in run.checks:
            for part in check.parts(run.sample):
                begun = _begun(run, part)
                if begun is None:
                    continue
                for one, before in zip(part.conditions(), begun.conditions(), strict=True):
                    end, start = (_away(each, run.sample) for each in (one, before))
                    if run.behind.control and end > start + AWAY * abs(start):
                        found[TRAINED_AWAY, one.label] += 1
                    if not run.behind.control and start == 0:
                        found[BEGINS_MET, one.label] += 1
    for (what, label), count in found.items():
        if 2 * count >= len(runs):
            yield f"{what}: '{label}'", count


def _begun(run: JudgedRun, part: Kind) -> Kind | None:
    """A part that reads its numbers where training begins; None if one has no such place."""
    read = part.by_field()
    if part.follows_training() or len(read) < 2 or not all(map(run.is_series, read.values())):
        return None
    if any(one.step != "last" for one in read.values()):
        return None
    first = {field: one.model_copy(update={"step": "first"}) for field, one in read.items()}
    return part.model_copy(update=first)


def _away(condition: Condition, sample: Sample) -> float:
    """The distance of a run from meeting a condition, on its scale; 0 if it meets it."""
    value, (low, high) = condition.value(sample), condition.accepted
    if condition.scale is not Scale.LOG:
        return max(low - value, value - high, 0.0)
    at, least, most = (math.log(max(one, condition.floor)) for one in (value, low, high))
    return max(least - at, at - most, 0.0)


def _left_out(runs: Sequence[JudgedRun]) -> Iterator[tuple[str, int]]:
    """Yields the parts of the claim's own runs that `among` leaves out and some run misses."""
    found: Counter[str] = Counter()
    for run in runs:
        for check in run.checks if run.is_drawn else ():
            judged = {one.name for one in check.parts(run.sample)}
            every = check.model_copy(update={"among": None}).parts(run.sample)
            for part in (one for one in every if one.name not in judged):
                found[part.name] += any(_away(one, run.sample) > 0 for one in part.conditions())
    yield from ((name, count) for name, count in found.items() if count)
