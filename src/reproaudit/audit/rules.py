"""The rules of an audit that span several of its nodes, held once the models accept it.

`reproaudit.audit.model` checks one value at a time. To add a rule, add its row to the table of
`reproaudit.audit.faults`, and yield its violations from a function here. A violation that both
tiers show is reported once, of the first.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from reproaudit.audit.arms import OWN, PlannedArm, Role, alternatives_of, arms_of
from reproaudit.audit.faults import Loc, Violation, shown
from reproaudit.audit.model import GUESSES, Audit, Claim, Setting, TierName, VariableName
from reproaudit.audit.review import Reviews, version_of
from reproaudit.cell import SettingValue, fits, kind_of, repeated, same
from reproaudit.checks import Check
from reproaudit.declarations import (
    Axis,
    Coordinate,
    Declaration,
    MeasurementKind,
    Placement,
    Quantity,
    StrictModel,
    placement,
)
from reproaudit.stats.binomial import FEWEST_RUNS

JUDGED: tuple[TierName, ...] = ("quick", "paper")
"""The tiers that are judged; smoke only shows that an experiment runs."""

UNFINISHED_WORDS = re.compile(r"\b(TODO|FIXME|XXX|TBD)\b")
"""Marks of a text that is still to be written."""

_AVERAGES = frozenset({"mean", "median", "iqm"})


def broken_rules(audit: Audit, stem: str) -> Iterator[Violation]:
    """Yield every place where an audit, which the models accept, breaks a rule.

    Claims are held against settings, measurements and arms once these are sound. By the stem of
    its file the slug is known.
    """
    if audit.paper.slug != stem:
        message = f"found '{audit.paper.slug}'; expected '{stem}', the file's own name"
        yield Violation("RA014", ("paper", "slug"), message)
    yield from _of_listed(audit, stem)
    unsound = list(_of_declared(audit))
    yield from unsound
    for i, claim in enumerate(() if unsound else audit.claims):
        yield from _of_claim(audit, claim, ("claims", i))


# --- two rules that many places share -----------------------------------------------------------


def _unknown(
    loc: Loc,
    word: str,
    name: str,
    known: Collection[str],
    of: str = "this audit",
) -> Iterator[Violation]:
    """Yield the name at a place, if it is none of those that are known."""
    if name not in known:
        message = f"found '{name}', which is no {word} of {of}; expected one"
        yield Violation("RA224", loc, message, "", name, known)


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
    if missing := [one.value for one in VariableName if one not in names]:
        message = f"found no variable '{missing[0]}'; expected all nine"
        yield Violation("RA151", ("variables",), message, f"Add 'name: {missing[0]}'.")
    ids = [one.id for one in audit.claims]
    for field, each in (("claims", ids), ("findings", [one.id for one in audit.findings])):
        yield from _again((field,), each, "id")
        for i, one in enumerate(each):
            if not one.startswith(f"{slug}."):
                message = f"found '{one}'; expected an id that begins with '{slug}.'"
                yield Violation("RA226", (field, i, "id"), message)
    settings = every_setting(audit)
    claims = frozenset(ids)
    for i, finding in enumerate(audit.findings):
        for j, name in enumerate(finding.settings):
            yield from _unknown(("findings", i, "settings", j), "setting", name, settings)
        for j, name in enumerate(finding.changes):
            yield from _unknown(("findings", i, "changes", j), "claim", name, claims)
    if audit.claims and not any(claim.main for claim in audit.claims):
        yield Violation("RA211", ("claims",), "found no main claim; expected one with 'main: true'")
    judged = {one.experiment for one in audit.claims if not one.exact} & audit.experiments.keys()
    for name in judged:
        own = audit.experiments[name].runs
        loc: Loc = ("experiments", name, "runs") if own is not None else ("runs",)
        for tier, number in (own or audit.runs).model_dump().items():
            if number < FEWEST_RUNS and (tier != "arms" or _rests_on_arms(audit, name)):
                message = f"found {number}; expected at least {FEWEST_RUNS}"
                yield Violation("RA221", (*loc, tier), message)


def _rests_on_arms(audit: Audit, experiment: str) -> bool:
    """Tell whether a claim of an experiment rests on arms that have fewer runs than its own.

    A control or positive control that the headline compares with has as many.
    """
    for claim in audit.claims:
        compared = {q.arm for check in claim.headline for q in check.quantities()}
        built = () if claim.constructed is None else (claim.constructed,)
        names = {arm if isinstance(arm, str) else arm.name for arm in (*claim.nulls, *built)}
        if claim.experiment == experiment and not names <= compared:
            return True
    return False


def every_setting(audit: Audit) -> frozenset[str]:
    """Return the names of all settings; an experiment's own also with the experiment's name."""
    known = set(audit.settings)
    for experiment, one in audit.experiments.items():
        known.update(one.settings, (f"{experiment}.{name}" for name in one.settings))
    return frozenset(known)


# --- what is declared ---------------------------------------------------------------------------


def _of_declared(audit: Audit) -> Iterator[Violation]:
    """Yield faults of settings, measurements, experiments and shared arms."""
    every = {**audit.settings}
    for one in audit.experiments.values():
        every.update(one.settings)
    for name, setting in audit.settings.items():
        yield from _setting(("settings", name), name, setting, every)
    for name, declaration in audit.measurements.items():
        users = [one for one in audit.experiments if audit.declaration(one, name) is declaration]
        yield from _declaration(audit, ("measurements", name), declaration, users)
    yield from _training_loss(audit, ("training_loss",), audit.training_loss, audit.experiments)
    if audit.length is not None:
        yield from _unknown(("length",), "setting", audit.length, every)
    for experiment, one in audit.experiments.items():
        loc: Loc = ("experiments", experiment)
        for name, setting in one.settings.items():
            yield from _setting((*loc, "settings", name), name, setting, every)
        for name, declaration in one.measurements.items():
            yield from _declaration(audit, (*loc, "measurements", name), declaration, [experiment])
        for i, name in enumerate(one.measures or ()):
            yield from _unknown((*loc, "measures", i), "measurement", name, audit.measurements)
        for i, stage in enumerate(one.stages):
            place = (*loc, "stages", i, "steps")
            known = audit.settings_of(experiment)
            yield from _unknown(place, "setting", stage.steps, known, f"'{experiment}'")
        yield from _training_loss(audit, (*loc, "training_loss"), one.training_loss, [experiment])
        if one.length is not None:
            known = audit.settings_of(experiment)
            yield from _unknown((*loc, "length"), "setting", one.length, known, f"'{experiment}'")
    for name, arm in audit.arms.items():
        if arm.experiment is not None:
            place = ("arms", name, "experiment")
            yield from _unknown(place, "experiment", arm.experiment, audit.experiments)


def _setting(
    loc: Loc, name: str, setting: Setting, every: Mapping[str, Setting]
) -> Iterator[Violation]:
    """Yield values of another type than the setting's, equal ones, and guesses as readings."""
    others: list[tuple[Loc, SettingValue]] = [
        *(((*loc, "alternatives", i), one) for i, one in enumerate(setting.alternatives)),
        *(((*loc, "readings", i, "value"), one.value) for i, one in enumerate(setting.readings)),
    ]
    for i in repeated([setting.value, *(value for _, value in others)]):
        place, value = others[i - 1]
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
            others.append(((*loc, tier, "value"), scaled.value))
    for place, value in others:
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
        found, expected = ("a scalar with", "none") if axes else ("an array without", "some")
        message = f"found {found} axes; expected {expected}"
        yield Violation("RA124", loc, message)
    for i, axis in enumerate(axes):
        place = (*loc, "axes", i)
        given = [one for one in ("values", "setting", "size") if getattr(axis, one) is not None]
        if len(given) != 1:
            message = f"found {' and '.join(given) or 'none of these'} on axis '{axis.name}'"
            yield Violation("RA121", place, f"{message}; expected exactly one")
        yield from _again((*place, "values"), axis.values or ())
        for experiment in users if axis.setting is not None else ():
            settings = audit.settings_of(experiment).items()
            lists = [other for other, one in settings if isinstance(one.value, tuple)]
            where = (*place, "setting")
            yield from _unknown(where, "list", str(axis.setting), lists, f"'{experiment}'")


def _training_loss(
    audit: Audit, loc: Loc, name: str | None, experiments: Collection[str]
) -> Iterator[Violation]:
    """Yield a training loss that no experiment measures as a series."""
    made = (audit.measurements_of(one).items() for one in experiments if name is not None)
    known = {one for each in made for one, d in each if d.kind is MeasurementKind.SERIES}
    if name is not None and experiments:
        yield from _unknown(loc, "series", name, known)


# --- claims -------------------------------------------------------------------------------------


_Wanted = tuple[Loc, Check | None, Quantity, PlannedArm, Loc]
"""A quantity that is to be read: its place, its check, the arm, and the place of its name."""


class _Read(NamedTuple):
    """A quantity as it is read in an arm: of what kind, and along which coordinates by axis.

    The name is that of the measurement that is read there; what no check reads has none. Levels
    are the coordinates of a grade by its axis, where the quantity is judged at each.
    """

    loc: Loc
    tier: TierName
    check: Check | None
    quantity: Quantity
    arm: PlannedArm
    name: str
    kind: MeasurementKind
    along: dict[str, Sequence[Coordinate]]
    range: tuple[float | None, ...]
    levels: Mapping[str, Sequence[Coordinate]]

    @property
    def of_check(self) -> dict[str, Coordinate]:
        """The coordinates that the check states, by axis."""
        at = self.check.at if self.check is not None else {}
        return {name: one for name, one in at.items() if name not in self.quantity.over}

    @property
    def stated(self) -> dict[str, Coordinate]:
        """The coordinates that the check and the quantity state by axis."""
        return {**self.of_check, **self.quantity.at}

    @property
    def place(self) -> Placement:
        level = {axis: one[0] for axis, one in self.levels.items()}
        return placement(self.quantity, self.along, {**level, **self.of_check})

    @property
    def placed(self) -> dict[str, Coordinate]:
        """The coordinates at which the quantity is read whatever the level, by axis."""
        fixed = self.place.fixed
        own = self.place.own
        return {
            axis: one
            for axis, one in fixed.items()
            if axis in own or axis in self.of_check or axis not in self.levels
        }

    def coordinates(self, axis: str) -> Sequence[Coordinate]:
        if axis in self.placed:
            return (self.placed[axis],)
        levels = self.levels.get(axis, ()) if axis in self.place.fixed else ()
        return levels or self.kept(axis)

    def kept(self, axis: str) -> Sequence[Coordinate]:
        """Return the coordinates of an axis that are not left out."""
        left_out = self.quantity.without.get(axis)
        known = self.along[axis]
        return known if left_out is None else tuple(one for one in known if one not in left_out)

    @property
    def check_loc(self) -> Loc:
        return self.loc[:4]


def _of_claim(audit: Audit, claim: Claim, loc: Loc) -> Iterator[Violation]:
    """Yield the faults of a claim: of the names in it, then of its arms, then of what it reads."""
    if not claim.nulls and claim.needs_control and claim.no_control is None:
        message = "found a headline without a control; expected one, or why there is none"
        yield Violation("RA212", (*loc, "headline"), message)
    misnamed = list(_names(audit, loc, claim))
    yield from misnamed
    if misnamed:
        return
    arms = {one.name: one for one in arms_of(audit, claim) if one.role is not Role.READING}
    own, *others = arms.values()
    places: dict[str, Loc] = {name: ("arms", name) for name in arms}
    places |= {a.name: (*loc, *at) for at, a in claim.arms() if not isinstance(a, str)}
    compared = [one for one in others if one.role is not Role.COMPARED]
    varied = [one for one in arms_of(audit, claim) if one.role is Role.READING]
    varied += alternatives_of(audit, claim)
    axes = {
        axis.setting for d in audit.measurements_of(claim.experiment).values() for axis in d.axes
    }
    compared += [one for one in varied if axes & one.overrides.keys()]
    read: list[_Wanted] = []
    for place, check, quantity in _quantities_of(loc, claim):
        read.append((place, check, quantity, arms[quantity.arm or OWN], (*place, "measurement")))
        measured = audit.declaration(claim.experiment, quantity.measurement) is not None
        if measured and check is not None and quantity.arm in (None, OWN):
            read += [(place, check, quantity, arm, places.get(arm.name, ())) for arm in compared]
    written = {one.name: one for _, one in claim.arms() if not isinstance(one, str)}
    stated = [one for one in varied if one.role is Role.READING]
    readings = {(tier, *one.key(audit, tier)): one for one in stated for tier in JUDGED}
    for arm in others:
        settings = {**audit.arms, **written}[arm.name].settings
        yield from _arm(audit, own, arm, settings, places[arm.name])
        yield from _also_varied(audit, own, arm, settings, readings, places[arm.name])
        for j, bound in enumerate(arm.holds_at_start):
            place = (*places[arm.name], "holds_at_start", j, "value")
            read.append((place, None, bound.value, arm, (*place, "measurement")))
    yield from _opposed(audit, arms_of(audit, claim), places, (*loc, "constructed"))
    yield from _undeclared(audit, read)
    for tier in JUDGED:
        reads = list(_reads(audit, claim, read, tier))
        wrong = [fault for one in reads for fault in [*_unmeasured(one)] or _course(claim, one)]
        wrong += _axes(reads)
        yield from wrong or _with_itself(reads)
        yield from _unpaired(claim, reads)
        yield from _uncounted(claim, reads)
        yield from _grade(claim, (*loc, "grade"), reads, tier)


def _undeclared(audit: Audit, read: Sequence[_Wanted]) -> Iterator[Violation]:
    """Yield measurements that nobody declares where they are read."""
    for _, _, quantity, arm, by in read:
        name = arm.reads.get(quantity.measurement, quantity.measurement)
        known = audit.measurements_of(arm.experiment)
        if quantity.measurement not in arm.reads:  # else the arm has the fault
            yield from _unknown(by, "measurement", name, known, f"'{arm.experiment}'")


def _reads(audit: Audit, claim: Claim, read: Sequence[_Wanted], tier: TierName) -> Iterator[_Read]:
    """Yield what is read of declared measurements at a tier."""
    grade = claim.grade
    levels = {} if grade is None else {grade.axis: grade.easiest_first}
    for place, check, quantity, arm, _ in read:
        name = arm.reads.get(quantity.measurement, quantity.measurement)
        declaration = audit.declaration(arm.experiment, name)
        if declaration is not None:
            along = {
                axis.name: _coordinates(audit, arm.experiment, axis, tier, arm.overrides)
                for axis in declaration.axes
            }
            judged_at = levels if check is not None and "headline" in place else {}
            kind, limits = declaration.kind, declaration.range or (None, None)
            yield _Read(place, tier, check, quantity, arm, name, kind, along, limits, judged_at)


def _names(audit: Audit, loc: Loc, claim: Claim) -> Iterator[Violation]:
    """Yield unknown experiments, readings and arms, and arms of one name."""
    yield from _unknown((*loc, "experiment"), "experiment", claim.experiment, audit.experiments)
    if claim.experiment in audit.experiments:
        yield from _own_settings(audit, loc, claim)
    for j, name in enumerate(claim.readings if claim.experiment in audit.experiments else ()):
        place = (*loc, "readings", j)
        settings = audit.settings_of(claim.experiment)
        read = [other for other, one in settings.items() if one.readings]
        yield from _unknown(place, "setting with readings", name, read, f"'{claim.experiment}'")
    written = list(claim.arms())
    taken = Counter(one.name for _, one in written if not isinstance(one, str))
    for place, one in written:
        if isinstance(one, str):
            yield from _unknown((*loc, *place), "arm", one, audit.arms if one != OWN else ())
            continue
        if one.name == OWN or one.name in audit.arms or taken[one.name] > 1:
            message = f"found '{one.name}', the name of another arm as well; expected a new one"
            yield Violation("RA225", (*loc, *place, "name"), message)
        if one.experiment is not None:
            where = (*loc, *place, "experiment")
            yield from _unknown(where, "experiment", one.experiment, audit.experiments)
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
    for group in ("headline", "support", "notes"):
        for j, check in enumerate(getattr(claim, group)):
            for field, name in check.settings_read.items():
                place = (*loc, group, j, field)
                yield from _unknown(place, "setting", name, known, f"'{claim.experiment}'")
    for j, name in enumerate(claim.readings):
        if name in claim.settings:
            message = f"found '{name}', which the claim itself sets; expected a setting that it "
            yield Violation("RA233", (*loc, "readings", j), f"{message}leaves as it is")


def _quantities_of(loc: Loc, claim: Claim) -> Iterator[tuple[Loc, Check | None, Quantity]]:
    for group in ("headline", "support", "notes"):
        for j, check in enumerate(getattr(claim, group)):
            for place, quantity in _quantities((*loc, group, j), check):
                yield place, check, quantity
    if claim.elsewhere is not None:
        yield (*loc, "elsewhere", "measure"), None, claim.elsewhere.measure


def _quantities(loc: Loc, node: Any) -> Iterator[tuple[Loc, Quantity]]:
    if isinstance(node, Quantity):
        yield loc, node
    elif isinstance(node, StrictModel | tuple):
        for step, part in enumerate(node) if isinstance(node, tuple) else node.__dict__.items():
            yield from _quantities((*loc, step), part)


def _set(
    audit: Audit, experiment: str, settings: Mapping[str, SettingValue], loc: Loc
) -> Iterator[Violation]:
    """Yield unknown names and wrong values of settings that a claim or an arm sets."""
    known = audit.settings_of(experiment)
    for name, value in settings.items():
        place = (*loc, "settings", name)
        yield from _unknown(place, "setting", name, known, f"'{experiment}'")
        if name in known:
            yield from _other_type(place, name, value, known[name])


def _arm(
    audit: Audit,
    own: PlannedArm,
    arm: PlannedArm,
    settings: Mapping[str, SettingValue],
    loc: Loc,
) -> Iterator[Violation]:
    """Yield faults of what an arm itself sets, and an arm that runs as the claim does."""
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
    arm: PlannedArm,
    settings: Mapping[str, SettingValue],
    readings: Mapping[tuple[TierName, str, str], PlannedArm],
    loc: Loc,
) -> Iterator[Violation]:
    """Yield an arm that runs as a reading or an alternative does: it cannot be both.

    Readings are given by tier, experiment and settings.
    """
    if arm.reads or arm.experiment != own.experiment:
        return
    for tier in JUDGED:
        reading = readings.get((tier, *arm.key(audit, tier)))
        varied = reading.varied if reading else _only_alternative(audit, own, arm, tier)
        if varied is not None:
            name, value = varied
            noun = "a reading" if reading else "an alternative"
            message = f"found {shown(value)}, which is {noun} of '{name}' as well; expected an arm "
            place = (*loc, "settings", *([name] if name in settings else []))
            beside = _place_of_value(audit, arm.experiment, name, value)
            yield Violation("RA236", place, f"{message}that is none", beside=beside)


def _opposed(
    audit: Audit, arms: Sequence[PlannedArm], places: Mapping[str, Loc], loc: Loc
) -> Iterator[Violation]:
    """Yield a positive control whose runs are those of an arm that must not show the phenomenon.

    The last place is where the claim has its positive control.
    """
    without = [one for one in arms if one.role in (Role.CONTROL, Role.ABLATION)]
    built = [one for one in arms if one.role is Role.POSITIVE_CONTROL]
    pairs = [(arm, other) for arm in built for other in without if arm.reads == other.reads]
    for arm, other in pairs:
        if any(arm.key(audit, tier) == other.key(audit, tier) for tier in JUDGED):
            text = f"found the settings of the {other.role} '{other.name}'; expected others"
            message = f"{text} for the positive control '{arm.name}'"
            place = loc if arm.name == other.name else places[arm.name]
            yield Violation("RA237", place, message, beside=places[other.name])


def _only_alternative(
    audit: Audit, own: PlannedArm, arm: PlannedArm, tier: TierName
) -> tuple[str, SettingValue] | None:
    """Return the only setting in which an arm differs, if its value is an alternative."""
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
    return apart[0] if any(same(value, one) for one in setting.alternatives) else None


def _place_of_value(audit: Audit, experiment: str, name: str, value: SettingValue) -> Loc:
    """Return where an experiment's setting names another value than its own."""
    of_experiment = name in audit.experiments[experiment].settings
    loc: Loc = ("experiments", experiment, "settings", name)
    loc = loc if of_experiment else ("settings", name)
    setting = audit.settings_of(experiment)[name]
    for i, one in enumerate(setting.alternatives):
        if same(one, value):
            return (*loc, "alternatives", i)
    stated = [i for i, one in enumerate(setting.readings) if same(one.value, value)]
    return (*loc, "readings", *stated[:1])


# --- what a claim reads -------------------------------------------------------------------------


def _coordinates(
    audit: Audit,
    experiment: str,
    axis: Axis,
    tier: TierName,
    overrides: Mapping[str, SettingValue],
) -> Sequence[Coordinate]:
    """Return an axis's coordinates in an experiment at a tier, under other settings."""
    if axis.setting is None:
        return axis.values if axis.values is not None else range(axis.size or 0)
    setting = audit.settings_of(experiment).get(axis.setting)
    value = overrides.get(axis.setting, setting.at(tier) if setting is not None else ())
    return value if isinstance(value, tuple) else ()


def _free(claim: Claim, read: _Read) -> dict[str, Sequence[Coordinate]]:
    """Return the axes along which a quantity keeps all its numbers, with their coordinates."""
    graded = {claim.grade.axis} if claim.grade is not None else set()
    placed = {*read.quantity.over, *read.placed, *graded}
    return {name: read.kept(name) for name in read.along if name not in placed}


def _axes(reads: Sequence[_Read]) -> Iterator[Violation]:
    """Yield coordinates on axes that neither a quantity nor its check has."""
    by_check: dict[Loc, set[str]] = {}
    for read in reads:
        by_check.setdefault(read.check_loc, set()).update(read.along)
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
    kept = {name: read.kept(name) for name in read.along}
    named = [one for name, one in kept.items() if name not in read.quantity.over]
    stated = [("at", n, at, kept[n]) for n, at in read.stated.items() if n in kept]
    taken = [at for at in read.place.unplaced if any(at in one for one in named)]
    unknown = [at for at in read.place.unplaced if at not in taken]
    stated += [("at", "coordinate", at, next(iter(named), ())) for at in unknown]
    for name, left_out in read.quantity.without.items():
        stated += [("without", name, at, read.along.get(name, (at,))) for at in left_out]
    for field, name, at, measured in stated:
        if at not in measured:
            varied = read.arm.role in (Role.READING, Role.ALTERNATIVE)
            arm = f" {'with' if varied else 'in the arm'} '{read.arm.name}'"
            arm = "" if read.arm.role is Role.OWN else arm
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


def _course(claim: Claim, read: _Read) -> Iterator[Violation]:
    """Yield what is no series, no single course, or no power law, and is read as such."""
    if _over_training(read) and read.kind is not MeasurementKind.SERIES:
        message = f"found the {read.kind} '{read.name}', which is read over training"
        yield Violation("RA106", read.loc, f"{message}; expected a series")
    if (field := _part(read)) is not None:
        message = f"found '{field}' of '{read.name}'; expected none, since the check itself says "
        yield Violation("RA230", (*read.loc, field), f"{message}what it reads of this course")
    yield from _past_range(read)
    free = _free(claim, read)
    if read.check is not None and read.check.sizes is not None:
        axis, fewest = read.check.sizes
        sizes = {
            name: one
            for name, one in free.items()
            if len({n for n in one if not isinstance(n, str) and n > 0}) == len(one) >= fewest
        }
        of = f"at least {fewest} positive sizes of '{read.name}' at the {read.tier} tier"
        yield from _unknown((*read.check_loc, "axis"), "axis", axis, sizes, of)
    elif read.check is not None and read.check.fewest > 1:
        yield from _list(read, free)
    elif read.check is not None and free and (read.check.single_course or read.check.group):
        message = f"found '{read.name}' with its axis '{next(iter(free))}' left free"
        expected = "course" if read.check.single_course else "number"
        yield Violation("RA217", read.loc, f"{message}; expected a single {expected}")


def _past_range(read: _Read) -> Iterator[Violation]:
    """Yield a bound that no number in the declared range of a quantity can pass."""
    low, high = read.range
    for quantity, bound in read.check.bounded if read.check is not None else ():
        at = bound.limit().at
        below = low is not None and at < low
        above = high is not None and at > high
        if quantity == read.quantity and quantity.passes is None and (below or above):
            message = f"found {at:g} as a bound on '{read.name}'; expected one within its range, "
            message += f"{'at least' if below else 'at most'} {low if below else high:g}"
            yield Violation("RA234", read.loc, message)


def _over_training(read: _Read) -> bool:
    whole = read.check.over_training if read.check is not None else ()
    part = read.quantity.step != "last" or read.quantity.passes is not None
    return part or read.quantity in whole


def _list(read: _Read, free: Mapping[str, Sequence[Coordinate]]) -> Iterator[Violation]:
    """Yield a quantity that is no list along one axis, or too short a list."""
    fewest = read.check.fewest if read.check is not None else 1
    if len(free) != 1 or min(map(len, free.values())) < fewest:
        found = " by ".join(f"{len(one)} along '{name}'" for name, one in free.items())
        message = f"found {found or 'a single number'} of '{read.name}' at the {read.tier} tier; "
        yield Violation("RA232", read.loc, f"{message}expected at least {fewest} along one axis")


def _part(read: _Read) -> str | None:
    """The field by which a quantity reads a part of its course where the check says which."""
    at_start = read.check is None and "holds_at_start" in read.loc
    whole = read.check is not None and read.quantity in read.check.over_training
    if read.quantity.passes is not None:
        return "passes" if at_start or whole else None
    every = whole and read.check is not None and read.check.whole_course
    fits = ("first", "last") if at_start else ("last",)
    return "step" if (at_start or every) and read.quantity.step not in fits else None


def _unpaired(claim: Claim, reads: Sequence[_Read]) -> Iterator[Violation]:
    """Yield quantities of a check that have other numbers than its first one."""
    first: dict[tuple[Loc, str], tuple[str, list[str]]] = {}
    for read in reads:
        if read.check is None or not read.check.by_coordinate:
            continue
        free = [f"{len(one)} along '{name}'" for name, one in _free(claim, read).items()]
        runs = OWN if read.quantity.arm else read.arm.name
        name, expected = first.setdefault((read.check_loc, runs), (read.name, free))
        if free and expected and free != expected:
            message = f"found {' by '.join(free)} of '{read.name}' at the {read.tier} tier; "
            message += f"expected {' by '.join(expected)}, as of '{name}', or a single number"
            yield Violation("RA107", read.loc, message)


def _with_itself(reads: Sequence[_Read]) -> Iterator[Violation]:
    """Yield comparisons of a number with itself, and ratios whose divisor may be 0."""
    told: set[Loc] = set()
    for read in reads:
        if read.check is None or read.arm.role not in (Role.OWN, Role.COMPARED):
            continue
        first, *others = read.check.sides or (None,)
        shared = read.quantity == first and any(
            _share_a_number(read, one)
            for one in reads
            if one.check_loc == read.check_loc and one.quantity in others
        )
        if shared and read.check_loc not in told:
            told.add(read.check_loc)
            message = f"found '{read.name}' compared with itself"
            yield Violation("RA228", read.loc, f"{message}; expected two quantities")
        low, high = read.range
        at_zero = read.quantity.passes is None and low is not None and low <= 0
        may_be_zero = at_zero and (high is None or high >= 0)
        if may_be_zero and read.quantity in read.check.divisors:
            message = f"found '{read.name}' as a divisor, which may be 0 by its range"
            yield Violation("RA229", read.loc, f"{message}; expected one that is never 0")


def _share_a_number(one: _Read, other: _Read) -> bool:
    """Tell whether a number on one side of a comparison is on the other, too.

    So it is where a coordinate is held against all of its axis, or against the best of them; an
    average over an axis is a number of its own.
    """
    place = {"at", "coordinates", "without", "over"}
    same_arm = (one.name, one.arm) == (other.name, other.arm)
    if not same_arm or one.quantity.model_dump(exclude=place) != other.quantity.model_dump(
        exclude=place
    ):
        return False
    for axis in one.along:
        sides = [set(each.coordinates(axis)) for each in (one, other)]
        words = {each.quantity.over.get(axis) for each in (one, other)}
        if words & _AVERAGES and (len(words) > 1 or sides[0] != sides[1]):
            return False
        if not sides[0] & sides[1]:
            return False
    return True


def _uncounted(claim: Claim, reads: Sequence[_Read]) -> Iterator[Violation]:
    """Yield a share of coordinates where the claim's own runs have but one number."""
    free: dict[Loc, list[str]] = {}
    for read in reads:
        if read.check is not None and read.check.in_share is not None:
            free.setdefault(read.check_loc, []).extend(_free(claim, read))
    for loc, axes in free.items():
        if not axes:
            message = "found a share of coordinates of a single number; expected a free axis"
            yield Violation("RA231", (*loc, "in_share"), message)


def _grade(claim: Claim, loc: Loc, reads: Sequence[_Read], tier: TierName) -> Iterator[Violation]:
    """Yield a grade along an unknown axis, and coordinates that it lacks."""
    if claim.grade is None:
        return
    name = claim.grade.axis
    wanted = claim.grade.easiest_first
    headline = [one for one in reads if "headline" in one.loc and one.arm.role is Role.OWN]
    free = {
        axis: at
        for one in headline
        for axis, at in one.along.items()
        if axis not in one.placed and axis not in one.quantity.over
    }
    yield from _unknown((*loc, "axis"), "axis", name, free, "the headline that is free")
    for j, one in enumerate(wanted if name in free else ()):
        if (tier == "paper" or one in claim.grade.primary) and one not in free[name]:
            message = f"found {name} {shown(one)}; expected one of {shown(free[name])} at the "
            yield Violation("RA104", (*loc, "easiest_first", j), f"{message}{tier} tier")


# --- reviews, unfinished text -------------------------------------------------------------------


def of_reviews(audit: Audit, reviews: Reviews) -> Iterator[Violation]:
    """Yield what reviews say that does not fit the audit, with the place in their file."""
    for variable, decisions in reviews.variables.items():
        yield from _again(("variables", variable), [one.reviewer for one in decisions], "reviewer")
    claims = {claim.id for claim in audit.claims}
    answered = claims | {one.id for one in audit.findings}
    for i, response in enumerate(reviews.responses):
        yield from _unknown(("responses", i, "to"), "id", response.to, answered)
    written = (arm for claim in audit.claims for _, arm in claim.arms())
    arms = {*audit.arms, *(arm.name for arm in written if not isinstance(arm, str))}
    known = {"claim": claims, "arm": arms, "source": every_setting(audit)}
    for i, dispute in enumerate(reviews.disputes):
        for field, names in known.items():
            if (name := getattr(dispute, field)) is not None:
                yield from _unknown(("disputes", i, field), field, name, names)
    version = version_of(audit) if reviews.sign_offs else ""
    for i, one in enumerate(reviews.sign_offs):
        if one.version != version:
            message = f"found {one.version}; expected {version}, the present version"
            yield Violation("RA173", ("sign_offs", i, "version"), message)


def unfinished(data: Any, loc: Loc = ()) -> Iterator[Violation]:
    """Yield every TODO in a file's data."""
    if isinstance(data, dict | list):
        for step, below in data.items() if isinstance(data, dict) else enumerate(data):
            yield from unfinished(below, (*loc, step))
    elif isinstance(data, str) and (mark := UNFINISHED_WORDS.search(data)) is not None:
        message = f"found '{mark.group()}' in the text; expected finished text"
        yield Violation("RA153", loc, message)
