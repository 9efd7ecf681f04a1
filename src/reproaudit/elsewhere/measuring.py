"""The audit's declared measurements out of runs' curves, and which of these are not whole."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reproaudit.audit.model import Audit
from reproaudit.audit.plan import Batch
from reproaudit.cell import SettingValue
from reproaudit.declarations import Coordinate, Declaration, MeasurementKind
from reproaudit.elsewhere.logged import (
    Curve,
    LogError,
    LoggedCoordinates,
    LoggedRun,
    coordinates_of,
    number_of,
)
from reproaudit.elsewhere.mapping import ExpressionError, LoggedQuantity, MappingFile, evaluate
from reproaudit.elsewhere.roles import PlacedRun, Scope, end_beside, normal, role_words
from reproaudit.errors import did_you_mean
from reproaudit.records import Measurements, Series

REGULAR = 0.75
"""The share of equal distances from which steps count as evenly spaced."""
_LAST_STEP = re.compile(
    r"(max_|num_|n_|total_|train_|training_|num_train_|num_training_)?steps"
    r"|max_iters|(num_)?iterations"
)
"""Names of the number of steps in configurations."""
_PLACEHOLDER = re.compile(r"\{([a-z][a-z0-9_]*)\}")


@dataclass(frozen=True)
class ImportedRole:
    """An experiment or a control with its runs.

    Attributes:
        runs: seed -> run.
        measured: measurement -> seed -> its curve, as `measure` makes it; whole ones.
        withheld: measurement -> why it is kept out, for every seed.
        absent: the wanted measurements that no run logged.
        ignored: the tags that nothing was made of.
    """

    batch: Batch
    runs: Mapping[int, PlacedRun]
    measured: Mapping[str, Mapping[int, Curve]]
    withheld: Mapping[str, tuple[str, ...]]
    absent: tuple[str, ...]
    ignored: tuple[str, ...]


def measure_roles(
    audit: Audit,
    scope: Scope,
    placed: Sequence[PlacedRun],
    overrides: Mapping[str, SettingValue],
    mapping: MappingFile,
) -> tuple[ImportedRole, ...]:
    """Make the measurements of every role.

    A measurement whose curve is not whole in one run is kept out for all runs of the role: to drop
    that run alone would choose among the seeds.
    """
    known = {name for one in audit.experiments for name in audit.measurements_of(one)}
    for name in mapping.mapping:
        if name not in known:
            hint = did_you_mean(name, known)
            raise LogError(f"mapping: {name}", f"found an unknown measurement. {hint}")
    roles = []
    for batch in scope.batches:
        runs = {
            one.seed: one for one in sorted(placed, key=lambda one: one.seed) if one.batch == batch
        }
        if runs:
            stated = {n.split(".", 1)[1]: v for n, v in overrides.items()
                      if n.startswith(f"{batch.experiment}.")}  # fmt: skip
            settings = {**batch.settings(audit), **stated, **dict(batch.overrides)}
            roles.append(_role(audit, scope, runs, settings, mapping))
    _refuse_unlogged(roles, mapping)
    return tuple(roles)


def _role(
    audit: Audit,
    scope: Scope,
    runs: Mapping[int, PlacedRun],
    settings: Mapping[str, SettingValue],
    mapping: MappingFile,
) -> ImportedRole:
    batch = next(iter(runs.values())).batch
    declared, wanted = audit.measurements_of(batch.experiment), scope.measurements[batch.experiment]
    measured: dict[str, dict[int, Curve]] = {}
    withheld: dict[str, tuple[str, ...]] = {}
    unused = {tag for one in runs.values() for tag in one.run.curves}
    for name in wanted:
        quantity = mapping.mapping.get(name) or LoggedQuantity(tag=name)
        found = {
            seed: made
            for seed, one in runs.items()
            if (made := measure(one.run, settings, name, declared[name], quantity)) is not None
        }
        unused -= {tag for one in found.values() for tag in one.tags}
        if found and (reasons := _reasons(found, runs, mapping.complete is not None)):
            withheld[name] = reasons
        elif found:
            measured[name] = {seed: one.curve for seed, one in found.items()}
    return ImportedRole(
        batch=batch,
        runs=runs,
        measured=measured,
        withheld=withheld,
        absent=tuple(name for name in wanted if name not in measured and name not in withheld),
        ignored=tuple(sorted(unused)),
    )


def _reasons(
    found: Mapping[int, Measured], runs: Mapping[int, PlacedRun], attested: bool
) -> tuple[str, ...]:
    """Tell why a measurement of a role is kept out; () if it is whole."""
    ended = {seed: one for seed, one in found.items() if not runs[seed].diverged}
    seeds: dict[str, list[str]] = {}
    for seed, one in ended.items():
        gaps = (*(() if attested else one.gaps), *_not_finite(one.curve))
        for reason in runs[seed].run.not_whole or gaps:  # a run that was cut ends its curves early
            seeds.setdefault(reason, []).append(str(seed))
    reasons = [f"seed {', '.join(of)}: {reason}" for reason, of in seeds.items()]
    without = [str(seed) for seed in runs if seed not in found]
    if without:
        reasons.append(f"seed {', '.join(without)} did not log it, and others did")
    if attested or reasons:
        return tuple(reasons)
    series = {seed: one.curve.steps for seed, one in ended.items()}
    steps = {seed: set(one.tolist()) for seed, one in series.items() if one is not None}
    every = set[int]().union(*steps.values())
    return tuple(
        f"seed {seed} lacks {len(every - own)} of the {len(every)} steps that the seeds have "
        f"together, the first {min(every - own)}"
        for seed, own in steps.items()
        if every - own
    )[:1]


def _not_finite(curve: Curve) -> Iterator[str]:
    wrong = np.argwhere(~np.isfinite(curve.values))
    if len(wrong):
        where = "" if curve.steps is None else f" at step {curve.steps[wrong[0][0]]}"
        found = curve.values[tuple(wrong[0])]
        yield f"found {found}{where}; of a run that diverged say so under 'runs'"


def _refuse_unlogged(roles: Sequence[ImportedRole], mapping: MappingFile) -> None:
    """Refuse a mapping to tags that no run has, and logs of which nothing was wanted."""
    there = {name for role in roles for name in (*role.measured, *role.withheld)}
    absent = sorted({name for role in roles for name in role.absent} - there)
    ignored = sorted({tag for role in roles for tag in role.ignored})
    for name, said in mapping.mapping.items():
        if name in absent:
            raise LogError(
                f"mapping: {name}",
                f"found no logged '{said.tag or said.expression}' in any run; expected it. "
                f"{did_you_mean(said.tag or '', ignored)}",
            )
    if roles and not there:
        raise LogError(
            f"runs of {role_words(roles[0].batch)}",
            f"found the tags {', '.join(ignored[:12]) or 'nothing'}; expected "
            f"{', '.join(absent[:12])}. Say under 'mapping' in a mapping file which tag is which "
            "measurement.",
        )
    if roles and not any(role.measured for role in roles):
        name, reasons = next(one for role in roles for one in role.withheld.items())
        raise LogError(
            f"runs of {role_words(roles[0].batch)}",
            f"found nothing whole: {name}: {reasons[0]}; expected whole curves.",
        )


# --- one run --------------------------------------------------------------------------------------


class _NotLogged(LookupError):
    """A tag that the run does not have."""


@dataclass(frozen=True)
class Measured:
    """A measurement of one run.

    Attributes:
        curve: its values have the shape (step, *axes) of a series, else (*axes), without steps.
        tags: the tags that were read.
        gaps: why these curves may not be whole.
    """

    curve: Curve
    tags: frozenset[str]
    gaps: tuple[str, ...]


def measure(
    run: LoggedRun,
    settings: Mapping[str, SettingValue],
    name: str,
    declaration: Declaration,
    quantity: LoggedQuantity,
) -> Measured | None:
    """Make a measurement of a run with its settings; None if it has none of the tags it needs."""
    place = f"{run.name}, measurement '{name}'"
    names = [axis.name for axis in declaration.axes]
    coordinates = [axis.coordinates(settings) for axis in declaration.axes]
    reader = _CurveReader(run)
    values: list[Curve] = []
    absent: str | None = None
    for at in itertools.product(*coordinates):
        try:
            values.append(reader.value(quantity, dict(zip(names, at, strict=True)), place))
        except _NotLogged as error:
            absent = str(error)
    unused = set(names) - reader.axes
    if not values or (unused and quantity.expression is None):
        return None
    if unused:
        raise LogError(
            f"{place}, expression",
            f"found no {{{unused.pop()}}} in it; expected its tags to depend on every axis of "
            "the measurement.",
        )
    if absent is not None:
        raise LogError(place, f"found no '{absent}', though others are there; expected it.")
    return Measured(
        _stacked(values, declaration, tuple(map(len, coordinates)), place),
        frozenset(tag for tag, _ in reader.read),
        tuple(
            dict.fromkeys(
                f"'{tag}': {gap}"
                for (tag, _), curve in reader.read.items()
                for gap in _gaps_in(curve, run.config)
            )
        ),
    )


class _CurveReader:
    """Reads curves of one run; `read` has those that were, `axes` what they depend on."""

    def __init__(self, run: LoggedRun) -> None:
        self._run = run
        self.read: dict[tuple[str, LoggedCoordinates], Curve] = {}
        self.axes: set[str] = set()

    def value(self, quantity: LoggedQuantity, at: Mapping[str, Coordinate], place: str) -> Curve:
        if quantity.expression is None:
            return self._logged(quantity.tag or "", at)
        try:
            return evaluate(
                quantity.expression, lambda name: self._logged(quantity.let.get(name, name), at)
            )
        except ExpressionError as error:
            text = f"found {error}; expected a formula as docs/import.md describes it."
            raise LogError(f"{place}, expression", text) from None

    def _logged(self, template: str, at: Mapping[str, Coordinate]) -> Curve:
        """Return the curve under a tag at these coordinates, looked through for faults."""
        tag, rest = _filled(template, at)
        curves = self._run.curves.get(tag, {})
        axes = {axis for have in itertools.islice(curves, 1) for axis, _ in have}
        if axes - set(rest):
            first = ", ".join(f"{axis} {one}" for axis, one in sorted(next(iter(curves))))
            raise LogError(
                f"{self._run.name}, tag '{tag}'",
                f"found numbers at {first}; expected a measurement with this axis.",
            )
        own = coordinates_of({axis: rest[axis] for axis in axes})
        curve = curves.get(own)
        where = f"{tag} at {', '.join(f'{axis} {one}' for axis, one in rest.items())}"
        if curve is None:
            raise _NotLogged(where if rest else tag)
        _refuse_unusable(curve, f"{curve.place}, tag '{tag}'")
        if curve.steps is not None and not len(curve.steps):
            raise _NotLogged(tag)
        self.read[tag, own] = curve
        self.axes |= axes | (set(at) - set(rest))
        return curve if curve.steps is not None else replace(curve, values=curve.values[-1])


def _filled(template: str, at: Mapping[str, Coordinate]) -> tuple[str, dict[str, Coordinate]]:
    """Return a tag with its coordinates filled in, and those that it has no place for."""
    axes = _PLACEHOLDER.findall(template)
    for axis in axes:
        if axis not in at:
            hint = did_you_mean(axis, at)
            raise LogError(f"mapping: '{template}'", f"found the unknown axis {{{axis}}}. {hint}")
    filled = _PLACEHOLDER.sub(lambda matched: str(at[matched.group(1)]), template)
    return filled, {axis: one for axis, one in at.items() if axis not in axes}


def _refuse_unusable(curve: Curve, place: str) -> None:
    """Refuse what is no number, and steps that are lacking or out of order."""
    if curve.fault is not None:
        raise LogError(place, f"found that {curve.fault}; expected numbers with their steps.")
    if curve.steps is not None:
        refuse_disorder(curve.steps, place)
    elif len(curve.values) > 1:
        raise LogError(
            place,
            f"found {len(curve.values)} numbers and no column of steps; expected steps. Name "
            "the column under 'step' in the mapping.",
        )


def refuse_disorder(steps: NDArray[np.int64], place: str) -> None:
    """Refuse steps below 0, that come twice, or out of order."""
    if len(steps) and steps[0] < 0:
        raise LogError(place, f"found the step {steps[0]}; expected none below 0.")
    wrong = np.flatnonzero(np.diff(steps) <= 0)
    if not wrong.size:
        return
    before, after = steps[wrong[0]], steps[wrong[0] + 1]
    text = f"found step {after} after {before}; expected steps that increase."
    if before == after:
        text = f"found step {after} a second time; expected it once."
        if after == 0 and not steps.any():
            text += " All points have step 0, as if they were logged without one: log 'step'."
    raise LogError(
        place,
        f"{text} If the run was restarted, leave out the log of the part that was thrown away.",
    )


def _gaps_in(curve: Curve, config: Mapping[str, Any]) -> list[str]:
    """Tell in words why a curve may not be whole: a gap, or an end before the configured one.

    Steps that are not evenly spaced (1, 2, 4, 8 …) say nothing of what is left out.
    """
    steps = curve.steps
    if steps is None or len(steps) < 2:
        return []
    reasons = []
    distances = np.diff(steps)
    found, counts = np.unique(distances, return_counts=True)
    usual = int(found[counts.argmax()])
    wide = np.flatnonzero(distances > 1.5 * usual)
    if len(steps) >= 5 and counts.max() >= REGULAR * len(distances) and wide.size:
        first = int(wide[0])
        missing = int(sum(round(int(distances[one]) / usual) - 1 for one in wide))
        reasons.append(
            f"{missing} of its steps are missing, the first after step {steps[first]} (every "
            f"{usual} steps before, then step {steps[first + 1]})"
        )
    for name, value in config.items():
        number = number_of(value)
        if number is None or number <= 0 or not _LAST_STEP.fullmatch(normal(name.split(".")[-1])):
            continue
        end = end_beside([steps], number)
        if end is not None and end < number:
            reasons.append(f"it ends at step {end}, and the configuration says {name} = {value}")
            break
    return reasons


def _stacked(
    curves: Sequence[Curve], declaration: Declaration, shape: tuple[int, ...], place: str
) -> Curve:
    """Return the numbers at all coordinates as they are declared: (step, *axes), or (*axes)."""
    if declaration.kind is not MeasurementKind.SERIES:
        longest = max(one.values.size for one in curves)
        if longest > 1:
            raise LogError(
                place,
                f"found {longest} steps; expected one number, as it is no series. Say which with "
                "an expression: last(…), first(…) or mean(…).",
            )
        values = np.concatenate([one.values.ravel() for one in curves])
        return Curve(place, None, values.reshape(shape))
    steps = curves[0].steps
    if steps is None:
        raise LogError(place, "found a single number without a step; expected a series over steps.")
    for other in curves[1:]:
        if other.steps is None or not np.array_equal(steps, other.steps):
            odd = np.setxor1d(steps, [] if other.steps is None else other.steps)
            raise LogError(
                place,
                f"found coordinates with different steps, as step {odd[0]:g}; expected the same "
                "steps at every coordinate.",
            )
    values = np.stack([one.values for one in curves], axis=-1).reshape(len(steps), *shape)
    return Curve(place, steps, values)


def measurements_of(
    declared: Mapping[str, Declaration], found: Mapping[str, Curve]
) -> Measurements:
    """Return measurements of one run as records hold them."""
    kinds: dict[MeasurementKind, dict[str, Curve]] = {kind: {} for kind in MeasurementKind}
    for name, one in found.items():
        kinds[declared[name].kind][name] = one
    return Measurements(
        scalars={name: float(one.values) for name, one in kinds[MeasurementKind.SCALAR].items()},
        series={
            name: Series(steps=tuple(np.array(one.steps).tolist()), values=one.values)
            for name, one in kinds[MeasurementKind.SERIES].items()
        },
        arrays={name: one.values for name, one in kinds[MeasurementKind.ARRAY].items()},
    )
