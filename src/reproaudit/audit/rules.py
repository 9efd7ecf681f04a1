"""The rules of an audit that span several of its nodes, held once the models accept it.

`reproaudit.audit.model` checks one value at a time. To add a rule, add its row to the table of
`reproaudit.audit.faults`, and yield its violations from a function here. A violation that both
tiers show is reported once, of the first.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from reproaudit.audit.arms import (
    MOST_TOGETHER,
    OWN,
    PlannedArm,
    Role,
    alternatives_of,
    arms_of,
    readings_to_run,
)
from reproaudit.audit.faults import Loc, Violation, shown, unknown
from reproaudit.audit.model import GUESSES, Audit, Claim, Setting, TierName
from reproaudit.cell import SettingValue, fits, kind_of, repeated, same
from reproaudit.checks import Check, located_quantities
from reproaudit.declarations import (
    Axis,
    Coordinate,
    Declaration,
    MeasurementKind,
    Placement,
    Quantity,
    placement,
)
from reproaudit.stats.binomial import FEWEST_RUNS

if TYPE_CHECKING:  # most audits that are checked have no reviews
    from reproaudit.audit.review import Reviews

JUDGED: tuple[TierName, ...] = ("quick", "paper")
"""The tiers that are judged; smoke only shows that an experiment runs."""

UNFINISHED_WORDS = re.compile(r"\b(TODO|FIXME|XXX|TBD)\b")
"""Marks of a text that is still to be written."""

_AVERAGES = frozenset({"mean", "median", "iqm"})


def broken_rules(audit: Audit, stem: str) -> Iterator[Violation]:
    """Yield every place where an audit, which the models accept, breaks a rule.

    Claims are held against settings, measurements and arms once these are sound.
    """
    if audit.paper.slug != stem:
        message = f"found '{audit.paper.slug}'; expected '{stem}', the file's own name"
        yield Violation("RA014", ("paper", "slug"), message)
    yield from _of_listed(audit, stem)
    unsound = list(_of_declared(audit))
    yield from unsound
    for i, claim in enumerate(() if unsound else audit.claims):
        yield from _of_claim(audit, claim, ("claims", i))


def _unknown(
    loc: Loc, word: str, name: str | None, known: Collection[str], of: str = "this audit"
) -> Iterator[Violation]:
    """Yield the name at a place, if there is one and it is none of those that are known."""
    if name is not None and name not in known:
        yield unknown(loc, word, name, known, f"of {of}")


def _again(loc: Loc, values: Sequence[SettingValue], *below: str) -> Iterator[Violation]:
    """Yield the entries of the list at a place, or the values in a field of each, that repeat."""
    for i in repeated(values):
        message = f"found {shown(values[i])} a second time; expected it once"
        yield Violation("RA225", (*loc, i, *below), message)


# --- what is listed -----------------------------------------------------------------------------


def _of_listed(audit: Audit, slug: str) -> Iterator[Violation]:
    """Yield faults of variables, ids, findings, the main claim and numbers of runs."""
    names = [variable.name.value for variable in audit.variables]
    yield from _again(("variables",), names, "name")
    claims = [claim.id for claim in audit.claims]
    for field, ids in (("claims", claims), ("findings", [f.id for f in audit.findings])):
        yield from _again((field,), ids, "id")
        for i, name in enumerate(ids):
            if not name.startswith(f"{slug}."):
                message = f"found '{name}'; expected an id that begins with '{slug}.'"
                yield Violation("RA226", (field, i, "id"), message)
    settings = _setting_names(audit)
    for i, finding in enumerate(audit.findings):
        for j, name in enumerate(finding.settings):
            yield from _unknown(("findings", i, "settings", j), "setting", name, settings)
        for j, name in enumerate(finding.changes):
            yield from _unknown(("findings", i, "changes", j), "claim", name, claims)
    if audit.claims and not any(claim.main for claim in audit.claims):
        yield Violation("RA211", ("claims",), "found no main claim; expected one with 'main: true'")
    judged = {claim.experiment for claim in audit.claims if not claim.exact}
    for name in judged & audit.experiments.keys():
        own = audit.experiments[name].runs
        loc: Loc = ("experiments", name, "runs") if own is not None else ("runs",)
        rests = any(_rests_on_arms(claim) for claim in audit.claims if claim.experiment == name)
        for tier, number in (own or audit.runs).model_dump().items():
            if number < FEWEST_RUNS and (tier != "arms" or rests):
                message = f"found {number}; expected at least {FEWEST_RUNS}"
                yield Violation("RA221", (*loc, tier), message)


def _rests_on_arms(claim: Claim) -> bool:
    """Tell whether a claim rests on arms with fewer runs than its own: controls of either sign.

    One that the headline compares with has as many.
    """
    compared = {q.arm for check in claim.headline for q in check.quantities()}
    arms = (arm for place, arm in claim.arms() if place[0] != "ablations")
    return not {arm if isinstance(arm, str) else arm.name for arm in arms} <= compared


def _setting_names(audit: Audit) -> frozenset[str]:
    """The names of all settings; an experiment's own also without the experiment's name."""
    own = (name for spec in audit.experiments.values() for name in spec.settings)
    return frozenset((*audit.every_setting(), *own))


# --- what is declared ---------------------------------------------------------------------------


def _of_declared(audit: Audit) -> Iterator[Violation]:
    """Yield faults of settings, measurements, experiments and shared arms."""
    own = (each for spec in audit.experiments.values() for each in spec.settings.items())
    every = {**audit.settings, **dict(own)}
    for name, setting in audit.settings.items():
        yield from _setting(("settings", name), name, setting, every)
    for name, declaration in audit.measurements.items():
        users = [e for e in audit.experiments if audit.declaration(e, name) is declaration]
        yield from _declaration(audit, ("measurements", name), declaration, users)
    yield from _training_loss(audit, ("training_loss",), audit.training_loss, audit.experiments)
    yield from _unknown(("length",), "setting", audit.length, every)
    for experiment, spec in audit.experiments.items():
        loc: Loc = ("experiments", experiment)
        for name, setting in spec.settings.items():
            yield from _setting((*loc, "settings", name), name, setting, every)
        for name, declaration in spec.measurements.items():
            yield from _declaration(audit, (*loc, "measurements", name), declaration, [experiment])
        for i, name in enumerate(spec.measures or ()):
            yield from _unknown((*loc, "measures", i), "measurement", name, audit.measurements)
        for i, stage in enumerate(spec.stages):
            yield from _no_setting(audit, experiment, (*loc, "stages", i, "steps"), stage.steps)
        yield from _training_loss(audit, (*loc, "training_loss"), spec.training_loss, [experiment])
        yield from _no_setting(audit, experiment, (*loc, "length"), spec.length)
    for name, arm in audit.arms.items():
        place = ("arms", name, "experiment")
        yield from _unknown(place, "experiment", arm.experiment, audit.experiments)


def _no_setting(audit: Audit, experiment: str, loc: Loc, name: str | None) -> Iterator[Violation]:
    """Yield the name at a place, if the experiment has no such setting."""
    yield from _unknown(loc, "setting", name, audit.settings_of(experiment), f"'{experiment}'")


def _setting(
    loc: Loc, name: str, setting: Setting, every: Mapping[str, Setting]
) -> Iterator[Violation]:
    """Yield values of another type than the setting's, equal ones, and guesses as readings."""
    variants: list[tuple[Loc, SettingValue]] = []
    variants += [((*loc, "alternatives", i), v) for i, v in enumerate(setting.alternatives)]
    variants += [((*loc, "readings", i, "value"), r.value) for i, r in enumerate(setting.readings)]
    for i in repeated([setting.value, *(value for _, value in variants)]):
        place, value = variants[i - 1]
        message = f"found {shown(value)} again; expected another value than those of '{name}'"
        yield Violation("RA225", place, message)
    for i, reading in enumerate(setting.readings):
        if reading.source in GUESSES:
            message = f"found '{reading.source}'; expected a source that states the value"
            yield Violation("RA222", (*loc, "readings", i, "source"), message)
        for field, values in (("with", reading.together), ("quick", reading.quick)):
            for other, value in values.items():
                place = (*loc, "readings", i, field, other)
                known = every if field == "with" else {name, *reading.together}
                yield from _unknown(place, "setting", other, known)
                if other in every:
                    yield from _other_type(place, other, value, every[other])
    for tier, scaled in (("quick", setting.quick), ("smoke", setting.smoke)):
        if scaled is not None:
            variants.append(((*loc, tier, "value"), scaled.value))
    for place, value in variants:
        yield from _other_type(place, name, value, setting)


def _other_type(loc: Loc, name: str, value: SettingValue, setting: Setting) -> Iterator[Violation]:
    """Yield a value that has another type than the setting in whose place it is used."""
    if not fits(value, setting.value):
        expected = f"{kind_of(setting.value)}, like the value {shown(setting.value)}"
        yield Violation("RA141", loc, f"found {shown(value)}; expected {expected} of '{name}'")


def _declaration(
    audit: Audit, loc: Loc, declaration: Declaration, users: Iterable[str]
) -> Iterator[Violation]:
    """Yield axes that do not fit the kind, are alike, or have no single source of coordinates."""
    axes = declaration.axes
    kind = declaration.kind
    yield from _again((*loc, "axes"), [axis.name for axis in axes], "name")
    if bool(axes) is (kind is MeasurementKind.SCALAR) and kind is not MeasurementKind.SERIES:
        kept, expected = ("a scalar with", "none") if axes else ("an array without", "some")
        message = f"found {kept} axes; expected {expected}"
        yield Violation("RA124", loc, message)
    if declaration.step is not None and kind is not MeasurementKind.SERIES:
        message = "found 'step', and this is no series; expected it of a series"
        yield Violation("RA124", (*loc, "step"), message, "Remove it.")
    for i, axis in enumerate(axes):
        place = (*loc, "axes", i)
        fields = ("values", "setting", "size")
        given = [field for field in fields if getattr(axis, field) is not None]
        if len(given) != 1:
            message = f"found {' and '.join(given) or 'none of these'} on axis '{axis.name}'"
            yield Violation("RA121", place, f"{message}; expected exactly one")
        yield from _again((*place, "values"), axis.values or ())
        for experiment in users if axis.setting is not None else ():
            settings = audit.settings_of(experiment).items()
            lists = [name for name, setting in settings if isinstance(setting.value, tuple)]
            where = (*place, "setting")
            yield from _unknown(where, "list", axis.setting, lists, f"'{experiment}'")


def _training_loss(
    audit: Audit, loc: Loc, name: str | None, experiments: Collection[str]
) -> Iterator[Violation]:
    """Yield a training loss that no experiment measures as a series."""
    declared = (each for e in experiments for each in audit.measurements_of(e).items())
    known = {n for n, declaration in declared if declaration.kind is MeasurementKind.SERIES}
    yield from _unknown(loc, "series", name if experiments else None, known)


# --- claims -------------------------------------------------------------------------------------


class _Arm(NamedTuple):
    """An arm of a claim: what it runs, what it sets itself, and where it is written."""

    planned: PlannedArm
    settings: Mapping[str, SettingValue]
    loc: Loc


class _Wanted(NamedTuple):
    """A quantity that is to be read in an arm, by a check or by none."""

    loc: Loc
    check: Check | None
    quantity: Quantity
    arm: PlannedArm
    name_loc: Loc


@dataclass(frozen=True, eq=False)
class _Read:
    """A quantity as it is read in an arm at a tier.

    `along` has the coordinates of the measurement by axis; `levels` those of the claim's grade,
    where the quantity is judged at each.
    """

    loc: Loc
    tier: TierName
    check: Check | None
    quantity: Quantity
    arm: PlannedArm
    name: str
    declaration: Declaration
    along: Mapping[str, Sequence[Coordinate]]
    levels: Mapping[str, Sequence[Coordinate]]
    graded: Collection[str]

    @cached_property
    def of_check(self) -> dict[str, Coordinate]:
        """The coordinates that the check states, by axis."""
        at = self.check.at if self.check is not None else {}
        return {axis: at[axis] for axis in at if axis not in self.quantity.over}

    @cached_property
    def stated(self) -> dict[str, Coordinate]:
        """The coordinates that the check and the quantity state, by axis."""
        return {**self.of_check, **self.quantity.at}

    @cached_property
    def placement(self) -> Placement:
        """Where it is read, at the first level."""
        level = {axis: coordinates[0] for axis, coordinates in self.levels.items()}
        return placement(self.quantity, self.along, {**level, **self.of_check})

    @cached_property
    def placed(self) -> dict[str, Coordinate]:
        """The coordinates at which it is read whatever the level, by axis."""
        return {**self.of_check, **self.placement.own}

    def coordinates(self, axis: str) -> Sequence[Coordinate]:
        """Return the coordinates of an axis at which it is read."""
        if axis in self.placed:
            return (self.placed[axis],)
        return (self.levels if axis in self.placement.fixed else self.placement.kept)[axis]

    @property
    def check_loc(self) -> Loc:
        """The place of its check."""
        return self.loc[:4]

    @property
    def free(self) -> dict[str, Sequence[Coordinate]]:
        """The axes along which it keeps all its numbers, with their coordinates."""
        taken = {*self.quantity.over, *self.placed, *self.graded}
        return {axis: kept for axis, kept in self.placement.kept.items() if axis not in taken}


def _of_claim(audit: Audit, claim: Claim, loc: Loc) -> Iterator[Violation]:
    """Yield the faults of a claim: of the names in it, then of its arms, then of what it reads."""
    if not claim.nulls and claim.needs_control and claim.no_control is None:
        message = "found a headline without a control; expected one, or why there is none"
        yield Violation("RA212", (*loc, "headline"), message)
    misnamed = list(_names(audit, loc, claim))
    yield from misnamed
    if misnamed:
        return
    own, *others = arms_of(audit, claim)
    readings = [arm for arm in others if arm.role is Role.READING]
    by_key = {(tier, *arm.key(audit, tier)): arm for arm in readings for tier in JUDGED}
    arms = {arm.planned.name: arm for arm in _written_arms(audit, claim, loc)}
    for arm in arms.values():
        yield from _arm(audit, own, arm)
        yield from _also_varied(audit, own, arm, by_key)
    yield from _opposed(audit, others, arms, (*loc, "constructed"))
    varied = (*readings, *alternatives_of(audit, claim))
    wanted = list(_wanted(audit, claim, loc, arms, varied))
    yield from _undeclared(audit, wanted)
    for tier in JUDGED:
        reads = list(_reads(audit, claim, wanted, tier))
        wrong = [fault for read in reads for fault in [*_unmeasured(read)] or _course(read)]
        wrong += _axes(reads)
        yield from wrong or _with_itself(reads)
        yield from _unpaired(reads)
        yield from _uncounted(reads)
        yield from _grade(claim, (*loc, "grade"), reads, tier)


def _written_arms(audit: Audit, claim: Claim, loc: Loc) -> Iterator[_Arm]:
    """Yield the arms of a claim but for its own and for readings."""
    written = {arm.name: (arm, place) for place, arm in claim.arms() if not isinstance(arm, str)}
    for arm in arms_of(audit, claim):
        if arm.role not in (Role.OWN, Role.READING):
            spec, place = written.get(arm.name) or (audit.arms[arm.name], ())
            yield _Arm(arm, spec.settings, (*loc, *place) if place else ("arms", arm.name))


def _wanted(
    audit: Audit, claim: Claim, loc: Loc, arms: Mapping[str, _Arm], varied: Iterable[PlannedArm]
) -> Iterator[_Wanted]:
    """Yield what a claim reads: in its own arm, in those beside it, and at the start of arms."""
    own = arms_of(audit, claim)[0]
    declared = audit.measurements_of(claim.experiment)
    axes = {axis.setting for declaration in declared.values() for axis in declaration.axes}
    beside = [(arm, at) for arm, _, at in arms.values() if arm.role is not Role.COMPARED]
    beside += [(arm, ()) for arm in varied if axes & arm.overrides.keys()]
    for place, check, quantity in _quantities_of(loc, claim):
        arm = own if quantity.arm in (None, OWN) else arms[quantity.arm].planned
        yield _Wanted(place, check, quantity, arm, (*place, "measurement"))
        if quantity.measurement in declared and check is not None and arm is own:
            yield from (_Wanted(place, check, quantity, other, at) for other, at in beside)
    for arm, _, at in arms.values():
        for j, bound in enumerate(arm.holds_at_start):
            place = (*at, "holds_at_start", j, "value")
            yield _Wanted(place, None, bound.value, arm, (*place, "measurement"))


def _undeclared(audit: Audit, wanted: Iterable[_Wanted]) -> Iterator[Violation]:
    """Yield measurements that nobody declares where they are read."""
    for _, _, quantity, arm, loc in wanted:
        if quantity.measurement not in arm.reads:  # else the arm has the fault
            known = audit.measurements_of(arm.experiment)
            of = f"'{arm.experiment}'"
            yield from _unknown(loc, "measurement", quantity.measurement, known, of)


def _reads(
    audit: Audit, claim: Claim, wanted: Iterable[_Wanted], tier: TierName
) -> Iterator[_Read]:
    """Yield what is read of declared measurements at a tier."""
    grade = {} if claim.grade is None else {claim.grade.axis: claim.grade.easiest_first}
    for loc, check, quantity, arm, _ in wanted:
        name = arm.reads.get(quantity.measurement, quantity.measurement)
        declaration = audit.declaration(arm.experiment, name)
        if declaration is not None:
            own = audit.values_of(arm.experiment, tier, arm.overrides)
            along = {axis.name: _coordinates(axis, own) for axis in declaration.axes}
            levels = grade if check is not None and "headline" in loc else {}
            yield _Read(loc, tier, check, quantity, arm, name, declaration, along, levels, grade)


def _names(audit: Audit, loc: Loc, claim: Claim) -> Iterator[Violation]:
    """Yield unknown experiments, settings, readings and arms, and arms of one name."""
    yield from _unknown((*loc, "experiment"), "experiment", claim.experiment, audit.experiments)
    if claim.experiment in audit.experiments:
        yield from _own_settings(audit, loc, claim)
    written = list(claim.arms())
    taken = Counter(arm.name for _, arm in written if not isinstance(arm, str))
    for place, arm in written:
        if isinstance(arm, str):
            yield from _unknown((*loc, *place), "arm", arm, audit.arms if arm != OWN else ())
            continue
        if arm.name == OWN or arm.name in audit.arms or taken[arm.name] > 1:
            message = f"found '{arm.name}', the name of another arm as well; expected a new one"
            yield Violation("RA225", (*loc, *place, "name"), message)
        where = (*loc, *place, "experiment")
        yield from _unknown(where, "experiment", arm.experiment, audit.experiments)
    known = {OWN, *taken, *audit.arms}
    for place, _, quantity in _quantities_of(loc, claim):
        yield from _unknown((*place, "arm"), "arm", quantity.arm or OWN, known)


def _own_settings(audit: Audit, loc: Loc, claim: Claim) -> Iterator[Violation]:
    """Yield unknown settings, wrong or needless values that a claim sets, and readings of these."""
    yield from _set(audit, claim.experiment, claim.settings, loc)
    known = audit.settings_of(claim.experiment)
    for name, value in claim.settings.items():
        if name in known and all(same(value, known[name].at(tier)) for tier in JUDGED):
            message = f"found {shown(value)}, as '{claim.experiment}' has it; expected another"
            yield Violation("RA111", (*loc, "settings", name), message, "Remove it.")
    for place, check in _checks_of(loc, claim):
        for field, name in check.settings_read.items():
            yield from _no_setting(audit, claim.experiment, (*place, field), name)
    read = [name for name, setting in known.items() if setting.readings]
    of = f"'{claim.experiment}'"
    listed: list[tuple[Loc, str]] = [
        ((*loc, "readings", j), name) for j, name in enumerate(claim.readings)
    ]
    yield from _again((*loc, "together"), [tuple(sorted(joint)) for joint in claim.together])
    for i, joint in enumerate(claim.together):
        place = (*loc, "together", i)
        yield from _again(place, joint)
        listed += [((*place, j), name) for j, name in enumerate(joint)]
        count = math.prod(len(readings_to_run(known.get(name))) for name in joint)
        if count > MOST_TOGETHER:
            message = f"found {count} combinations; expected at most {MOST_TOGETHER}"
            yield Violation("RA233", place, message, "Name fewer settings together.")
    for place, name in listed:
        yield from _unknown(place, "setting with readings", name, read, of)
        if name in claim.settings:
            message = f"found '{name}', which the claim itself sets; expected a setting that it "
            yield Violation("RA233", place, f"{message}leaves as it is")


def _checks_of(loc: Loc, claim: Claim) -> Iterator[tuple[Loc, Check]]:
    for group in ("headline", "support", "notes"):
        for j, check in enumerate(getattr(claim, group)):
            yield (*loc, group, j), check


def _quantities_of(loc: Loc, claim: Claim) -> Iterator[tuple[Loc, Check | None, Quantity]]:
    for place, check in _checks_of(loc, claim):
        for within, quantity in located_quantities(check):
            yield (*place, *within), check, quantity
    if claim.elsewhere is not None:
        yield (*loc, "elsewhere", "measure"), None, claim.elsewhere.measure


def _set(
    audit: Audit, experiment: str, settings: Mapping[str, SettingValue], loc: Loc
) -> Iterator[Violation]:
    """Yield unknown names and wrong values of settings that a claim or an arm sets."""
    known = audit.settings_of(experiment)
    for name, value in settings.items():
        place = (*loc, "settings", name)
        yield from _no_setting(audit, experiment, place, name)
        if name in known:
            yield from _other_type(place, name, value, known[name])


def _arm(audit: Audit, own: PlannedArm, written: _Arm) -> Iterator[Violation]:
    """Yield faults of what an arm itself sets, and an arm that runs as the claim does."""
    arm, settings, loc = written
    yield from _set(audit, arm.experiment, settings, loc)
    for tier in JUDGED if settings and not arm.reads else ():
        if arm.key(audit, tier) == own.key(audit, tier):
            name, value = next(iter(settings.items()))
            message = f"found {shown(value)}, the claim's own '{name}' at the {tier} tier"
            yield Violation("RA111", (*loc, "settings", name), f"{message}; expected another")
    for left, right in arm.reads.items():
        for name, where in ((left, own.experiment), (right, arm.experiment)):
            place = (*loc, "reads", left)
            known = audit.measurements_of(where)
            yield from _unknown(place, "measurement", name, known, f"'{where}'")


def _also_varied(
    audit: Audit,
    own: PlannedArm,
    written: _Arm,
    readings: Mapping[tuple[TierName, str, str], PlannedArm],
) -> Iterator[Violation]:
    """Yield an arm that runs as an alternative does, or a reading, by tier and settings."""
    arm, settings, loc = written
    for tier in JUDGED if not arm.reads and arm.experiment == own.experiment else ():
        reading = readings.get((tier, *arm.key(audit, tier)))
        varied = reading.varied if reading else _only_alternative(audit, own, arm, tier)
        if varied is not None:
            name, value = varied
            noun = "a reading" if reading else "an alternative"
            message = f"found {shown(value)}, which is {noun} of '{name}' as well; expected an arm "
            place = (*loc, "settings", *([name] if name in settings else []))
            beside = _place_of_value(audit, arm.experiment, name, value)
            yield Violation("RA236", place, f"{message}that is none", beside=beside)


def _only_alternative(
    audit: Audit, own: PlannedArm, arm: PlannedArm, tier: TierName
) -> tuple[str, SettingValue] | None:
    """Return the only setting in which an arm differs, if its value is an alternative.

    Settings are compared one by one: a file may name thousands of alternatives.
    """
    values = own.settings(audit, tier)
    apart = [
        (name, value)
        for name, value in arm.settings(audit, tier).items()
        if name not in values or not same(value, values[name])
    ]
    if len(apart) != 1:
        return None
    ((name, value),) = apart
    setting = audit.settings_of(own.experiment).get(name)
    if setting is None or name in own.overrides or not setting.guessed:
        return None
    return (name, value) if any(same(value, other) for other in setting.alternatives) else None


def _opposed(
    audit: Audit, planned: Iterable[PlannedArm], arms: Mapping[str, _Arm], loc: Loc
) -> Iterator[Violation]:
    """Yield a positive control, at its place, that runs as what must not show the phenomenon."""
    built = [arm for arm in planned if arm.role is Role.POSITIVE_CONTROL]
    without = [arm for arm in planned if arm.role in (Role.CONTROL, Role.ABLATION)]
    for arm, other in itertools.product(built, without):
        same_runs = any(arm.key(audit, tier) == other.key(audit, tier) for tier in JUDGED)
        if same_runs and arm.reads == other.reads:
            text = f"found the settings of the {other.role} '{other.name}'; expected others"
            message = f"{text} for the positive control '{arm.name}'"
            place = loc if arm.name == other.name else arms[arm.name].loc
            yield Violation("RA237", place, message, beside=arms[other.name].loc)


def _place_of_value(audit: Audit, experiment: str, name: str, value: SettingValue) -> Loc:
    """Return where an experiment's setting names another value than its own."""
    of_experiment = name in audit.experiments[experiment].settings
    loc: Loc = ("experiments", experiment, "settings", name)
    loc = loc if of_experiment else ("settings", name)
    setting = audit.settings_of(experiment)[name]
    for i, alternative in enumerate(setting.alternatives):
        if same(alternative, value):
            return (*loc, "alternatives", i)
    stated = [i for i, reading in enumerate(setting.readings) if same(reading.value, value)]
    return (*loc, "readings", *stated[:1])


# --- what a claim reads -------------------------------------------------------------------------


def _coordinates(axis: Axis, values: Mapping[str, SettingValue]) -> Sequence[Coordinate]:
    """Return an axis's coordinates under these settings; none where a setting has no list."""
    if axis.setting is None:
        return axis.values if axis.values is not None else range(axis.size or 0)
    value = values.get(axis.setting, ())
    return value if isinstance(value, tuple) else ()


def _axes(reads: Sequence[_Read]) -> Iterator[Violation]:
    """Yield coordinates on axes that neither a quantity nor its check has."""
    by_check: dict[Loc, set[str]] = defaultdict(set)
    for read in reads:
        by_check[read.check_loc].update(read.along)
    for read in reads:
        for name in read.stated:
            own = name in read.quantity.at
            of = f"'{read.name}'" if own else "what it reads"
            check = read.check_loc
            known, loc = (read.along, read.loc) if own else (by_check[check], check)
            yield from _unknown((*loc, "at", name), "axis", name, known, of)
        for field in ("without", "over"):
            for name in getattr(read.quantity, field):
                place = (*read.loc, field, name)
                yield from _unknown(place, "axis", name, read.along, f"'{read.name}'")


def _unmeasured(read: _Read) -> Iterator[Violation]:
    """Yield coordinates that are not measured; what decides nothing may be of the paper tier."""
    if "notes" in read.loc and read.tier != "paper":
        return
    kept = read.placement.kept
    named = [coordinates for name, coordinates in kept.items() if name not in read.quantity.over]
    stated: list[tuple[str, str, Coordinate, Sequence[Coordinate]]] = []
    stated += [("at", n, at, kept[n]) for n, at in read.stated.items() if n in kept]
    taken = [at for at in read.placement.unplaced if any(at in some for some in named)]
    unknown = [at for at in read.placement.unplaced if at not in taken]
    stated += [("at", "coordinate", at, next(iter(named), ())) for at in unknown]
    for name, left_out in read.quantity.without.items():
        stated += [("without", name, at, read.along.get(name, (at,))) for at in left_out]
    words = {Role.READING: "with ", Role.ALTERNATIVE: "with "}.get(read.arm.role, "in the arm ")
    arm = "" if read.arm.role is Role.OWN else f" {words}'{read.arm.name}'"
    for field, name, at, measured in stated:
        if at not in measured:
            message = f"found {name} {shown(at)} of '{read.name}'{arm}; expected one of "
            message += f"{shown(measured)} at the {read.tier} tier"
            yield Violation("RA104", (*read.loc, field, name), message)
    for at in taken:
        message = f"found coordinate {shown(at)} of '{read.name}', whose axes are all placed"
        yield Violation("RA104", (*read.loc, "at", "coordinate"), f"{message}; expected it once")
    for name in read.quantity.without:
        if name in kept and not kept[name]:
            message = f"found every {name} of '{read.name}' left out at the {read.tier} tier"
            yield Violation("RA104", (*read.loc, "without", name), f"{message}; expected some kept")


def _course(read: _Read) -> Iterator[Violation]:
    """Yield what is no course, no list or no power law, and is read as such."""
    yield from _part(read)
    check = read.check
    if check is None:
        return
    yield from _past_range(check, read)
    free = read.free
    if check.sizes is not None:
        axis, fewest = check.sizes
        sizes = [name for name, at in free.items() if _count_of_sizes(at) >= fewest]
        of = f"at least {fewest} positive sizes of '{read.name}' at the {read.tier} tier"
        yield from _unknown((*read.check_loc, "axis"), "axis", axis, sizes, of)
    elif check.fewest > 1 and (len(free) != 1 or min(map(len, free.values())) < check.fewest):
        lengths = " by ".join(_lengths(free)) or "a single number"
        message = f"found {lengths} of '{read.name}' at the {read.tier} tier; expected at least "
        yield Violation("RA232", read.loc, f"{message}{check.fewest} along one axis")
    elif check.fewest == 1 and free and (check.single_course or check.group):
        message = f"found '{read.name}' with its axis '{next(iter(free))}' left free"
        expected = "course" if check.single_course else "number"
        yield Violation("RA217", read.loc, f"{message}; expected a single {expected}")


def _part(read: _Read) -> Iterator[Violation]:
    """Yield what has no course, and a part of a course where the check says what it reads."""
    quantity = read.quantity
    whole = read.check is not None and quantity in read.check.over_training
    every = whole and read.check is not None and read.check.whole_course
    at_start = "holds_at_start" in read.loc
    over_training = whole or quantity.step != "last" or quantity.passes is not None
    if over_training and read.declaration.kind is not MeasurementKind.SERIES:
        message = f"found the {read.declaration.kind} '{read.name}', which is read over training"
        yield Violation("RA106", read.loc, f"{message}; expected a series")
    parts = {
        "passes": (whole or at_start) and quantity.passes is not None,
        "step": (every and quantity.step != "last")
        or (at_start and quantity.step not in ("first", "last")),
    }
    for field in (name for name, is_stated in parts.items() if is_stated):
        message = f"found '{field}' of '{read.name}'; expected none, since the check itself says "
        yield Violation("RA230", (*read.loc, field), f"{message}what it reads of this course")


def _count_of_sizes(coordinates: Sequence[Coordinate]) -> int:
    """The number of coordinates, if they are positive numbers and all differ; else 0."""
    sizes = {size for size in coordinates if not isinstance(size, str) and size > 0}
    return len(sizes) if len(sizes) == len(coordinates) else 0


def _past_range(check: Check, read: _Read) -> Iterator[Violation]:
    """Yield a bound that no number in the declared range of a quantity can pass."""
    low, high = read.declaration.range or (None, None)
    for quantity, bound in check.bounded:
        at = bound.limit().at
        below = low is not None and at < low
        above = high is not None and at > high
        if quantity == read.quantity and quantity.passes is None and (below or above):
            message = f"found {at:g} as a bound on '{read.name}'; expected one within its range, "
            message += f"{'at least' if below else 'at most'} {low if below else high:g}"
            yield Violation("RA234", read.loc, message)


def _lengths(free: Mapping[str, Sequence[Coordinate]]) -> list[str]:
    return [f"{len(coordinates)} along '{name}'" for name, coordinates in free.items()]


def _unpaired(reads: Sequence[_Read]) -> Iterator[Violation]:
    """Yield quantities of a check that have other numbers than its first one."""
    first: dict[tuple[Loc, str], tuple[str, list[str]]] = {}
    for read in reads:
        if read.check is None or not read.check.by_coordinate:
            continue
        free = _lengths(read.free)
        runs = OWN if read.quantity.arm else read.arm.name
        name, expected = first.setdefault((read.check_loc, runs), (read.name, free))
        if free and expected and free != expected:
            message = f"found {' by '.join(free)} of '{read.name}' at the {read.tier} tier; "
            message += f"expected {' by '.join(expected)}, as of '{name}', or a single number"
            yield Violation("RA107", read.loc, message)


def _with_itself(reads: Sequence[_Read]) -> Iterator[Violation]:
    """Yield comparisons of a number with itself, and ratios whose divisor may be 0."""
    reported: set[Loc] = set()
    for read in reads:
        if read.check is None or read.arm.role not in (Role.OWN, Role.COMPARED):
            continue
        first, *others = read.check.sides or (None,)
        beside = (r for r in reads if r.check_loc == read.check_loc and r.quantity in others)
        shared = read.quantity == first and any(_share_a_number(read, other) for other in beside)
        if shared and read.check_loc not in reported:
            reported.add(read.check_loc)
            message = f"found '{read.name}' compared with itself"
            yield Violation("RA228", read.loc, f"{message}; expected two quantities")
        low, high = read.declaration.range or (None, None)
        at_zero = read.quantity.passes is None and low is not None and low <= 0
        may_be_zero = at_zero and (high is None or high >= 0)
        if may_be_zero and read.quantity in read.check.divisors:
            message = f"found '{read.name}' as a divisor, which may be 0 by its range"
            yield Violation("RA229", read.loc, f"{message}; expected one that is never 0")


def _share_a_number(read: _Read, other: _Read) -> bool:
    """Tell whether a number is on both sides; an average over an axis is one of its own."""
    place = {"at", "coordinates", "without", "over"}
    courses = [side.quantity.model_dump(exclude=place) for side in (read, other)]
    if (read.name, read.arm) != (other.name, other.arm) or courses[0] != courses[1]:
        return False
    for axis in read.along:
        sides = [set(side.coordinates(axis)) for side in (read, other)]
        words = {side.quantity.over.get(axis) for side in (read, other)}
        if words & _AVERAGES and (len(words) > 1 or sides[0] != sides[1]):
            return False
        if not sides[0] & sides[1]:
            return False
    return True


def _uncounted(reads: Sequence[_Read]) -> Iterator[Violation]:
    """Yield a share of coordinates where the claim's own runs have but one number."""
    counted = [read for read in reads if read.check and read.check.in_share is not None]
    for loc in {read.check_loc for read in counted} - {
        read.check_loc for read in counted if read.free
    }:
        message = "found a share of coordinates of a single number; expected a free axis"
        yield Violation("RA231", (*loc, "in_share"), message)


def _grade(claim: Claim, loc: Loc, reads: Sequence[_Read], tier: TierName) -> Iterator[Violation]:
    """Yield a grade along an unknown axis, and coordinates that it lacks."""
    if claim.grade is None:
        return
    name = claim.grade.axis
    wanted = claim.grade.easiest_first
    headline = [read for read in reads if "headline" in read.loc and read.arm.role is Role.OWN]
    free = {
        axis: at
        for read in headline
        for axis, at in read.along.items()
        if axis not in read.placed and axis not in read.quantity.over
    }
    yield from _unknown((*loc, "axis"), "axis", name, free, "the headline that is free")
    for j, coordinate in enumerate(wanted if name in free else ()):
        if (tier == "paper" or coordinate in claim.grade.primary) and coordinate not in free[name]:
            message = f"found {name} {shown(coordinate)}; expected one of {shown(free[name])} at "
            yield Violation("RA104", (*loc, "easiest_first", j), f"{message}the {tier} tier")


def of_reviews(audit: Audit, reviews: Reviews) -> Iterator[Violation]:
    """Yield what reviews say that does not fit the audit, with the place in their file."""
    from reproaudit.audit.review import version_of

    for variable, decisions in reviews.variables.items():
        reviewers = [review.reviewer for review in decisions]
        yield from _again(("variables", variable), reviewers, "reviewer")
    claims = {claim.id for claim in audit.claims}
    answered = claims | {finding.id for finding in audit.findings}
    for i, response in enumerate(reviews.responses):
        yield from _unknown(("responses", i, "to"), "id", response.to, answered)
    written = (arm for claim in audit.claims for _, arm in claim.arms())
    arms = {*audit.arms, *(arm.name for arm in written if not isinstance(arm, str))}
    known = {"claim": claims, "arm": arms, "source": _setting_names(audit)}
    for i, dispute in enumerate(reviews.disputes):
        for field, names in known.items():
            yield from _unknown(("disputes", i, field), field, getattr(dispute, field), names)
    version = version_of(audit) if reviews.sign_offs else ""
    for i, sign_off in enumerate(reviews.sign_offs):
        if sign_off.version != version:
            message = f"found {sign_off.version}; expected {version}, the present version"
            yield Violation("RA173", ("sign_offs", i, "version"), message)


def unfinished(data: Any, loc: Loc = ()) -> Iterator[Violation]:
    """Yield every TODO in a file's data."""
    if isinstance(data, dict | list):
        for step, below in data.items() if isinstance(data, dict) else enumerate(data):
            yield from unfinished(below, (*loc, step))
    elif isinstance(data, str) and (mark := UNFINISHED_WORDS.search(data)) is not None:
        message = f"found '{mark.group()}' in the text; expected finished text"
        yield Violation("RA153", loc, message)
