"""The audit's declared measurements out of runs' curves, and which of these are not whole."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
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
        measured: measurement -> seed -> its curve, as `RunMeasurer.measure` makes it; whole ones.
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
        runs = {one.seed: one for one in placed if one.batch == batch}
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
    attested = mapping.complete is not None
    measurers = {
        seed: RunMeasurer(one.run, settings, one.diverged, attested)
        for seed, one in sorted(runs.items())
    }
    batch = next(iter(runs.values())).batch
    declared, wanted = audit.measurements_of(batch.experiment), scope.measurements[batch.experiment]
    measured: dict[str, dict[int, Curve]] = {}
    withheld: dict[str, tuple[str, ...]] = {}
    for name in wanted:
        quantity = mapping.mapping.get(name) or LoggedQuantity(tag=name)
        found = {
            seed: one
            for seed, measurer in measurers.items()
            if (one := measurer.measure(name, declared[name], quantity)) is not None
        }
        if found and (reasons := _reasons(name, found, measurers, attested)):
            withheld[name] = reasons
        elif found:
            measured[name] = found
    every = {tag for one in measurers.values() for tag in one.run.curves}
    used = {tag for one in measurers.values() for tag in one.used}
    return ImportedRole(
        batch=batch,
        runs={seed: runs[seed] for seed in measurers},
        measured=measured,
        withheld=withheld,
        absent=tuple(name for name in wanted if name not in measured and name not in withheld),
        ignored=tuple(sorted(every - used)),
    )


def _reasons(
    name: str,
    found: Mapping[int, Curve],
    measurers: Mapping[int, RunMeasurer],
    attested: bool,
) -> tuple[str, ...]:
    """Tell why a measurement of a role is kept out; () if it is whole."""
    seeds: dict[str, list[str]] = {}
    for seed, measurer in measurers.items():
        for reason in measurer.not_whole.get(name, ()):
            seeds.setdefault(reason, []).append(str(seed))
    reasons = [f"seed {', '.join(of)}: {reason}" for reason, of in seeds.items()]
    without = [str(seed) for seed in measurers if seed not in found]
    if without:
        reasons.append(f"seed {', '.join(without)} did not log it, and others did")
    steps = {
        seed: set(one.steps.tolist())
        for seed, one in found.items()
        if one.steps is not None and not measurers[seed].diverged
    }
    if attested or reasons:
        return tuple(reasons)
    every = set[int]().union(*steps.values())
    return tuple(
        f"seed {seed} lacks {len(every - own)} of the {len(every)} steps that the seeds have "
        f"together, the first {min(every - own)}"
        for seed, own in steps.items()
        if every - own
    )[:1]


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


@dataclass
class RunMeasurer:
    """Makes measurements of one run.

    Attributes:
        run: the run.
        settings: the settings it ran with.
        diverged: whether it may end early, and hold numbers that are not finite.
        attested: whether curves with gaps are known to be all there was.
        finite_only: whether numbers that are not finite are refused.
        used: the tags that were read.
        not_whole: measurement -> why its curves may not be taken for whole.
    """

    run: LoggedRun
    settings: Mapping[str, SettingValue]
    diverged: bool = False
    attested: bool = False
    finite_only: bool = True
    used: set[str] = field(default_factory=set)
    not_whole: dict[str, list[str]] = field(default_factory=dict)
    _gaps: dict[tuple[str, LoggedCoordinates], list[str]] = field(default_factory=dict)
    _axes: set[str] = field(default_factory=set)

    def measure(
        self, name: str, declaration: Declaration, quantity: LoggedQuantity
    ) -> Curve | None:
        """Make one measurement; None if the run has none of the tags it needs.

        Its values have the shape (step, *axes) of a series, else (*axes), without steps.
        """
        place = f"{self.run.name}, measurement '{name}'"
        names = [axis.name for axis in declaration.axes]
        coordinates = [axis.coordinates(self.settings) for axis in declaration.axes]
        values: list[Curve] = []
        absent: str | None = None
        self._gaps, self._axes = {}, set()
        for at in itertools.product(*coordinates):
            try:
                values.append(self._value(quantity, dict(zip(names, at, strict=True)), place))
            except _NotLogged as error:
                absent = str(error)
        if not values:
            return None
        if unused := set(names) - self._axes:
            raise LogError(
                f"{place}, expression",
                f"found no {{{unused.pop()}}} in it; expected its tags to depend on every axis of "
                "the measurement.",
            )
        if absent is not None:
            raise LogError(place, f"found no '{absent}', though others are there; expected it.")
        measured = _stacked(values, declaration, tuple(map(len, coordinates)), place)
        gaps = [gap for one in self._gaps.values() for gap in one]
        wrong = np.argwhere(~np.isfinite(measured.values))
        if self.finite_only and len(wrong):
            found = measured.values[tuple(wrong[0])]
            where = "" if measured.steps is None else f" at step {measured.steps[wrong[0][0]]}"
            gaps.append(f"found {found}{where}; of a run that diverged say so under 'runs'")
        reasons = self.run.not_whole or gaps  # a run that was cut is why its curves end early
        if reasons and not self.diverged:
            self.not_whole[name] = list(dict.fromkeys(reasons))
        return measured

    def _value(self, quantity: LoggedQuantity, at: Mapping[str, Coordinate], place: str) -> Curve:
        if quantity.expression is None:
            return self._logged(quantity.tag or "", at, whole=True)
        try:
            return evaluate(
                quantity.expression, lambda name: self._logged(quantity.let.get(name, name), at)
            )
        except ExpressionError as error:
            text = f"found {error}; expected a formula as docs/import.md describes it."
            raise LogError(f"{place}, expression", text) from None

    def _logged(self, template: str, at: Mapping[str, Coordinate], whole: bool = False) -> Curve:
        """Return the curve under a tag at these coordinates, looked through for faults."""
        tag, rest = _filled(template, at)
        curves = self.run.curves.get(tag, {})
        axes = {axis for have in itertools.islice(curves, 1) for axis, _ in have}
        if axes - set(rest):
            first = ", ".join(f"{axis} {one}" for axis, one in sorted(next(iter(curves))))
            raise LogError(
                f"{self.run.name}, tag '{tag}'",
                f"found numbers at {first}; expected a measurement with this axis.",
            )
        own = coordinates_of({axis: rest[axis] for axis in axes})
        curve = curves.get(own)
        if curve is None or (whole and len(axes) < len(rest)):
            where = ", ".join(f"{axis} {one}" for axis, one in rest.items())
            raise _NotLogged(f"{tag} at {where}" if rest else tag)
        self._axes |= axes | (set(at) - set(rest))
        self.used.add(tag)
        if (tag, own) not in self._gaps:
            _refuse_unusable(curve, f"{curve.place}, tag '{tag}'")
            found = [] if self.attested else _gaps_in(curve, self.run.config)
            self._gaps[tag, own] = [f"'{tag}': {one}" for one in found]
        if curve.steps is None:
            return replace(curve, values=curve.values[-1])
        if not len(curve.steps):
            raise _NotLogged(tag)
        return curve


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
