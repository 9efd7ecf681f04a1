"""Tells of courses that are not those of the stated training, or that hardly anybody looked at.

The last number of a series is judged as if training ended there. A program could end those of a
control before it learns what it would learn, and so have it miss. A declared curve may end there,
too. And the evidence is called that of the paper's scale by the settings, which a program need not
keep to.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence

from reproaudit.audit.model import Audit
from reproaudit.audit.training_length import end_beside, stated_length
from reproaudit.checks.follows import Follows
from reproaudit.commands.beside.runs import CURVE, JudgedRun
from reproaudit.reports.warning import BEGINS_LATE, CUT_SHORT, HARDLY_OBSERVED, OTHER_LENGTH


def told_of_courses(
    runs: Sequence[JudgedRun], own: Sequence[JudgedRun], audit: Audit
) -> Iterator[tuple[str, int, str]]:
    """Yields each sentence on the courses of one batch, as `told_of_numbers`.

    Args:
        runs: the runs.
        own: the claim's own.
        audit: the paper's.
    """
    early = Counter(one for run in runs for one in _early(run, own, audit))
    for (name, end, length), count in early.items():
        yield f"{CUT_SHORT}: '{name}' ends at step {end:,} of {length:,}", count, "."
    late = Counter(one for run in runs for one in _late(run))
    for (name, begin, length), count in late.items():
        yield f"{BEGINS_LATE}: '{name}' begins at step {begin:,} of {length:,}", count, "."
    hardly = Counter(one for run in runs for one in _hardly_observed(run))
    for (name, number, gap, length), count in hardly.items():
        seen = f"'{name}' at {number} steps, with up to {gap:,} of {length:,} between two of them"
        yield f"{HARDLY_OBSERVED}: {seen},", count, "."
    lengths = Counter(one for run in runs for one in _other_length(run, audit))
    for (steps, stated), count in lengths.items():
        yield f"{OTHER_LENGTH}: {steps:,} in place of {stated:,}", count, "."


FEW = 10
"""Fewer observations than these tell little of a course."""
GAP = 0.1
"""Of the last step; between two observations so far apart anything may have happened."""


def _hardly_observed(run: JudgedRun) -> set[tuple[str, int, int, int]]:
    """The courses that are held against a curve at few steps, or with a long time between two.

    Each has its number of observations, the longest time without one, and the last step.
    """
    found: set[tuple[str, int, int, int]] = set()
    for check in run.parts(Follows):
        for quantity in check.quantities():
            steps = [int(one) for one in run.sample.series(quantity).steps]
            since = steps[0] + check.since * (steps[-1] - steps[0])
            steps = [one for one in steps if one >= since]
            gap = max((b - a for a, b in itertools.pairwise(steps)), default=0)
            if len(steps) < FEW or gap > GAP * steps[-1]:
                found.add((quantity.measurement, len(steps), gap, steps[-1]))
    return found


STEPS = "steps"
"""The setting that states the steps of a training without stages."""
LONGER, SHORTER = 1.1, 0.9
"""Of the stated steps; less of a difference may be a last observation or its rounding."""


def _other_length(run: JudgedRun, audit: Audit) -> Iterator[tuple[int, int]]:
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


def _early(run: JudgedRun, own: Sequence[JudgedRun], audit: Audit) -> set[tuple[str, int, int]]:
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
        if stated is None and is_own:  # what a run reports may be of several trainings
            stated = record.steps
        length = max(stated or 0, longest)
        ends = {name: length for check in run.checks for _, name in run.series_of(check)}
    if is_control and own:
        its, ours = record.steps or 0, own[0].record.steps or 0
        share = its / ours if its and ours else 1.0
        theirs = own[0].record.measurements.series
        claims = {
            (check.name, field): theirs[name].steps[-1]
            for check in own[0].checks
            for field, name in own[0].series_of(check)
        }
        for check in run.checks:
            for field, name in run.series_of(check):
                ends[name] = max(ends.get(name, 0), share * claims.get((check.name, field), 0))
    return _early_curves(run) | {
        (name, int(series[name].steps[-1]), round(length))
        for name, length in ends.items()
        if _ends_before(series[name].steps, length)
    }


def _ends_before(steps: Sequence[int], length: float) -> bool:
    """True if a series ends before so many steps, by more than it skips elsewhere or by a tenth."""
    end = end_beside([steps], length, points=True)
    return (end is not None and end < length) or steps[-1] < (1 - GAP) * length


def _early_curves(run: JudgedRun) -> set[tuple[str, int, int]]:
    """The declared curves that end before the series that should follow them; as `_early`.

    Beyond the last point of its curve a series is compared with nothing.
    """
    curves = {
        (CURVE, round(check.curve[-1][0]), int(run.sample.series(check.quantity).steps[-1]))
        for check in run.parts(Follows)
        if check.curve
    }
    return {(name, end, length) for name, end, length in curves if end < length}


LATE = 0.1
"""Of the last step; a first observation before that may be the first one worth making."""


def _late(run: JudgedRun) -> set[tuple[str, int, int]]:
    """The courses and curves that begin late in training, each with its first and the last step.

    Of what came before nothing is judged, though a rule on a course seems to be about all of it.
    And where a part is read at the end, its first observation is taken for the start of training:
    whether it was met there, and how far its ablation was from it.
    """
    found: set[tuple[str, int, int]] = set()
    series = run.record.measurements.series
    for check in run.checks:
        steps = {name: series[name].steps for _, name in run.series_of(check)}
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
