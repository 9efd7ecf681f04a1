"""The measurements of a role are made of its runs; what may not be whole is kept out, and why.

A role is an experiment or one of its arms. Of each run that seems to be cut, or to have diverged,
the ways on are said, of which whoever ran it knows the right one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from reproaudit.audit.plan import Batch
from reproaudit.cell import SettingValue
from reproaudit.declarations import beyond_range
from reproaudit.intake.measuring import Measured, axis_places, measure, off_axes
from reproaudit.intake.pooling import PlacedRun, Request, role_words
from reproaudit.judge.alike import AS_FAR, in_per_cent
from reproaudit.logs.logged import (
    Curve,
    LogError,
    LoggedRun,
    MisfitError,
    gathered,
    raise_all,
)
from reproaudit.logs.mapping import pattern_of
from reproaudit.logs.names import counts_items


@dataclass
class MeasuredRole:
    """An experiment or one of its arms with its runs, and what was made of them, by seed."""

    batch: Batch
    words: str  # what messages call it
    runs: dict[int, PlacedRun]
    ignored: set[str]  # the tags that nothing was made of
    # measurement -> seed -> what was made of the run; whole ones
    measured: dict[str, dict[int, Measured]] = field(default_factory=dict)
    # measurement -> why it is kept out, for every seed
    withheld: dict[str, tuple[str, ...]] = field(default_factory=dict)
    absent: list[str] = field(default_factory=list)  # the wanted measurements that no run logged
    crashed: Collection[int] = ()  # the seeds of runs that did not finish
    off_axes: Counter[tuple[str, str]] = field(default_factory=Counter)
    # sentences on runs that lack what others of the role logged
    lacking: list[str] = field(default_factory=list)
    # lines of a mapping that make a measurement of what was withheld
    offers: list[str] = field(default_factory=list)
    # seed -> sentences on what its measurements pass over
    remarks: dict[int, list[str]] = field(default_factory=dict)

    def read_of(self, names: Collection[str]) -> set[int]:
        """Return the seeds of the runs that have numbers of any of these, or diverged.

        There is none if one of these measurements is kept out.
        """
        if not self.withheld.keys().isdisjoint(names):
            return set()
        measured = {seed for name in names for seed in self.measured.get(name, ())}
        return measured | {seed for seed, placed in self.runs.items() if placed.diverged}


def measured_role(
    request: Request,
    batch: Batch,
    runs: Mapping[int, PlacedRun],
    stated: Mapping[str, Mapping[str, SettingValue]],
    crashed: Mapping[Batch, Collection[int]],
) -> MeasuredRole:
    """Make the measurements of a role.

    A measurement whose curve is not whole in one run is kept out for all runs of the role: to drop
    that run alone would choose among the seeds. A run that logged no number of it is void.
    """
    mapping = request.mapping
    own = stated[batch.experiment]
    settings = {**batch.settings(request.audit), **own, **dict(batch.overrides)}
    declared = request.audit.measurements_of(batch.experiment)
    tags = {tag for placed in runs.values() for tag in placed.run.curves}
    role = MeasuredRole(
        batch, role_words(request.audit, batch), dict(runs), tags, crashed=crashed.get(batch, ())
    )
    faults: list[LogError] = []
    for name in request.scope.measurements[batch.experiment]:
        quantity = mapping.quantity(name)
        places = axis_places([declared[name]], settings)
        by_seed: dict[int, Measured] = {}
        misfits: dict[str, None] = {}
        for seed, placed in runs.items():
            with gathered(faults):
                try:
                    made = measure(placed.run, settings, name, declared[name], quantity)
                except MisfitError as error:
                    if name in mapping.mapping:
                        raise
                    misfits[error.text.rstrip(".")] = None
                    role.offers += error.offers
                    role.ignored.discard(name)
                    continue
                role.off_axes += off_axes(placed.run, quantity.templates, places)
                if made is not None:
                    role.ignored -= made.tags
                    role.remarks.setdefault(seed, []).extend(made.remarks)
                    by_seed[seed] = _in_unit(request, role, name, seed, made)
        if misfits:
            misfits |= {
                f"seed {seed}: {placed.run.stopped}; {_way(request, {seed: placed.run.name})}": None
                for seed, placed in runs.items()
                if placed.run.stopped and not placed.diverged and mapping.complete is None
            }
        if reasons := tuple(misfits) or _reasons(request, by_seed, runs):
            role.withheld[name] = reasons
        elif by_seed:
            role.measured[name] = by_seed
            role.lacking += _lacking(request, name, role)
        else:
            role.absent.append(name)
    raise_all(faults)
    return role


def _in_unit(
    request: Request, role: MeasuredRole, name: str, seed: int, made: Measured
) -> Measured:
    """Return a measurement in the unit of the audit; its run tells that it was in per cent."""
    placed = role.runs[seed]
    is_share = not in_per_cent(request.audit, role.batch.experiment, name)
    if made.percent:
        divided = " and divided by 100, since nothing in the audit says per cent" * is_share
        told = (*placed.run.remarks, f"'{name}' was logged in per cent{divided}")
        role.runs[seed] = replace(placed, run=replace(placed.run, remarks=told))
    if name in placed.percent or (made.percent and is_share):
        return replace(made, curve=replace(made.curve, values=made.curve.values / 100))
    most = beyond_range(
        request.audit.measurements_of(role.batch.experiment)[name], made.curve.values
    )
    if is_share and most and 1 < most <= 100 and not placed.diverged:
        line = f'runs: [{{match: "*", percent: [{name}]}}]'
        text = (
            f"found {most:g}, which looks like per cent; expected a share of 1. If it is, and * is"
        )
        way = f"every run's name, write in a mapping `{line}`."
        raise LogError(f"{placed.run.name}, measurement '{name}'", f"{text} {way}")
    return made


def _reasons(
    request: Request, by_seed: Mapping[int, Measured], runs: Mapping[int, PlacedRun]
) -> tuple[str, ...]:
    """Tell why a measurement is kept out, and the ways on; nothing if it is whole."""
    ended = {seed: measured for seed, measured in by_seed.items() if not runs[seed].diverged}
    courses = [
        measured.steps
        for measured in ended.values()
        if measured.curve.steps is not None or len(measured.steps) > 1
    ]
    every = frozenset[int]().union(*courses)
    attested = request.mapping.complete is not None
    seeds: dict[str, list[str]] = {}
    ways: dict[tuple[str, str], dict[int, str]] = {}
    for seed, measured in ended.items():
        run = runs[seed].run
        for reason, otherwise in _doubts(run, measured, every, attested):
            seeds.setdefault(reason, []).append(str(seed))
            if otherwise is not None:
                ways.setdefault(otherwise, {})[seed] = run.name
    reasons = [f"seed {', '.join(names)}: {reason}" for reason, names in seeds.items()]
    reasons += [f"{_way(request, names, status)}{way}" for (status, way), names in ways.items()]
    return tuple(reasons)


_LEFT_OUT = " (it is left out, and counts for neither side)"


def _way(request: Request, names: Mapping[int, str], status: str = "crashed") -> str:
    """Say how it is said that a run diverged, or crashed; `names` are those of runs by seed."""
    (seed, name), *others = names.items()
    called = "diverged" if status == "diverged" else "crashed or was cut short"
    rule = f"`runs: [{{match: {pattern_of(name, request.names)}, status: {status}}}]`"
    also = f", and so of seed {', '.join(str(other) for other, _ in others)}" if others else ""
    effect = "" if status == "diverged" else _LEFT_OUT
    return f"if the run of seed {seed} {called}, say so in a mapping: {rule}{also}{effect}"


def _lacking(request: Request, name: str, role: MeasuredRole) -> Iterator[str]:
    """Yield a sentence on the runs of a role that logged no number of what others logged."""
    without = {
        seed: placed.run.name
        for seed, placed in role.runs.items()
        if not placed.diverged and seed not in role.measured[name]
    }
    if without:
        which = f"seed {', '.join(map(str, without))} of {role.words}"
        way = _way(request, without)
        yield f"No '{name}' was logged by {which}; {way}."


def _doubts(
    run: LoggedRun, measured: Measured, every: Collection[int], attested: bool
) -> Iterator[tuple[str, tuple[str, str] | None]]:
    """Yield signs that a measurement is not whole, with a status that the run may have, if any."""
    own = measured.steps
    last = max(own, default=0)
    until = last if run.early else max(every, default=0)
    lacking = [step for step in every if own and step <= until and step not in own]
    end = run.last_step(run.curves)
    emptied = sorted(step for step in measured.emptied if step in every or step > end)
    if measured.curve.steps is None:  # a number, to which nothing but the end matters
        lacking = [step for step in lacking if step > last and last < AS_FAR * until]
        emptied = emptied if lacking and not attested else []
    if run.not_whole:
        yield from ((reason, ("crashed", "") if run.failed else None) for reason in run.not_whole)
    elif (fault := _not_finite(measured.curve)) is not None:
        crashed = "" if own else f"; if it crashed, `status: crashed`{_LEFT_OUT}"
        way = ("diverged", f"{crashed}; else leave the cell empty")
        yield fault, None if _begins_so(measured.curve) else way
    elif own and emptied:
        where = f"its cells are empty from step {emptied[0]} on, as pandas writes NaN"
        yield where, ("diverged", "; else leave these rows out")
    elif not attested:
        gaps = (run.stopped,) if run.stopped else measured.gaps  # a cut run ends its curves early
        if lacking and not gaps:
            gaps = (
                f"it lacks {len(lacking)} of the {len(every)} steps that the seeds have together, "
                f"the first {min(lacking)}",
            )
        whole = "; if nothing is missing, say how that is known: `complete: …`"
        if counts_items(run.step):
            yield from ((f"{gap}{whole}", None) for gap in gaps)
        else:
            yield from ((gap, ("crashed", whole)) for gap in gaps)


def _begins_so(curve: Curve) -> bool:
    """Tell whether a series has numbers that are not finite at its start alone."""
    if curve.steps is None:
        return False
    values = np.ma.getdata(curve.values).reshape(len(curve.steps), -1)
    finite = np.isfinite(values.sum(axis=1))
    return bool(finite[-1] and (np.diff(finite.astype(int)) >= 0).all())


def _not_finite(curve: Curve) -> str | None:
    wrong = np.argwhere(~np.isfinite(curve.values))
    if not len(wrong):
        return None
    where = "" if curve.steps is None else f" at step {curve.steps[wrong[0][0]]}"
    finite = "; it goes on in numbers, so leave the cells empty" if _begins_so(curve) else ""
    return f"found {curve.values[tuple(wrong[0])]}{where}{finite}"
