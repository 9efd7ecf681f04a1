"""Rules of an audit as a whole: what it lists and declares, its reviews, and unfinished text."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from reproaudit.audit.model import Audit, Setting, Source
from reproaudit.audit.plan import OWN
from reproaudit.audit.reviews import Reviews, version_of
from reproaudit.audit.rules.table import Loc, Violation
from reproaudit.audit.rules.values import fits, kind_of, repeated, shown
from reproaudit.audit.variables import VariableName
from reproaudit.cell import SettingValue
from reproaudit.declarations import Axis, Declaration, MeasurementKind

UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|TBD)\b")
"""Marks of a text that is still to be written."""

FEWEST_RUNS = 5
"""The fewest valid runs by which a claim is decided."""


# --- two rules that many places share -----------------------------------------------------------


def unknown(
    loc: Loc,
    word: str,
    name: str,
    known: Collection[str],
    of: str = "this audit",
    *,
    at_key: bool = False,
) -> Iterator[Violation]:
    """Yield the name at a place, if it is none of those that are known."""
    if name not in known:
        message = f"found '{name}', which is no {word} of {of}; expected one"
        yield Violation("RA224", loc, message, "", name, known, at_key)


def again(loc: Loc, values: Sequence[SettingValue], *below: str) -> Iterator[Violation]:
    """Yield the entries of the list at a place that came before.

    Args:
        loc: the list.
        values: its entries, or what must differ in them.
        below: the field of each entry that holds the value, if it is none itself.
    """
    for i in repeated(values):
        message = f"found {shown(values[i])} a second time; expected it once"
        yield Violation("RA225", (*loc, i, *below), message)


# --- what is listed -----------------------------------------------------------------------------


def of_listed(audit: Audit, slug: str) -> Iterator[Violation]:
    """Yield faults of variables, ids, findings, the main claim and numbers of runs."""
    names = [variable.name.value for variable in audit.variables]
    yield from again(("variables",), names, "name")
    if missing := [one.value for one in VariableName if one not in names]:
        message = f"found no variable '{missing[0]}'; expected all nine"
        yield Violation("RA151", ("variables",), message, f"Add 'name: {missing[0]}'.")
    ids = [one.id for one in audit.claims]
    for field, each in (("claims", ids), ("findings", [one.id for one in audit.findings])):
        yield from again((field,), each, "id")
        for i, one in enumerate(each):
            if not one.startswith(f"{slug}."):
                message = f"found '{one}'; expected an id that begins with '{slug}.'"
                yield Violation("RA226", (field, i, "id"), message)
    settings, claims = every_setting(audit), frozenset(ids)
    for i, finding in enumerate(audit.findings):
        for j, name in enumerate(finding.settings):
            yield from unknown(("findings", i, "settings", j), "setting", name, settings)
        for j, name in enumerate(finding.changes):
            yield from unknown(("findings", i, "changes", j), "claim", name, claims)
    main = [i for i, claim in enumerate(audit.claims) if claim.main]
    if audit.claims and not main:
        yield Violation("RA211", ("claims",), "found no main claim; expected one with 'main: true'")
    for i in main[1:]:
        yield Violation("RA211", ("claims", i, "main"), "found a second main claim; expected one")
    judged = {one.experiment for one in audit.claims if not one.exact} & audit.experiments.keys()
    for name in judged:
        own = audit.experiments[name].runs
        loc: Loc = ("experiments", name, "runs") if own is not None else ("runs",)
        for tier, number in (own or audit.runs).model_dump().items():
            if number < FEWEST_RUNS:
                message = f"found {number}; expected at least {FEWEST_RUNS}"
                yield Violation("RA221", (*loc, tier), message)


def every_setting(audit: Audit) -> frozenset[str]:
    """Return the names of all settings; an experiment's own also with the experiment's name."""
    known = set(audit.settings)
    for experiment, one in audit.experiments.items():
        known.update(one.settings, (f"{experiment}.{name}" for name in one.settings))
    return frozenset(known)


# --- what is declared ---------------------------------------------------------------------------


def of_declared(audit: Audit) -> Iterator[Violation]:
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
    for experiment, one in audit.experiments.items():
        loc: Loc = ("experiments", experiment)
        for name, setting in one.settings.items():
            yield from _setting((*loc, "settings", name), name, setting, every)
        for name, declaration in one.measurements.items():
            yield from _declaration(audit, (*loc, "measurements", name), declaration, [experiment])
        for i, name in enumerate(one.measures or ()):
            yield from unknown((*loc, "measures", i), "measurement", name, audit.measurements)
        for i, stage in enumerate(one.stages):
            place, known = (*loc, "stages", i, "steps"), audit.settings_of(experiment)
            yield from unknown(place, "setting", stage.steps, known, f"'{experiment}'")
        yield from _training_loss(audit, (*loc, "training_loss"), one.training_loss, [experiment])
    for name, arm in audit.arms.items():
        if name == OWN:
            message = f"found '{OWN}', the name of a claim's own runs; expected another"
            yield Violation("RA225", ("arms", name), message, at_key=True)
        if arm.experiment is not None:
            place = ("arms", name, "experiment")
            yield from unknown(place, "experiment", arm.experiment, audit.experiments)


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
    if setting.alternatives and not setting.guessed:
        message = f"found alternatives to '{name}', which '{setting.source}' states"
        yield Violation("RA145", (*loc, "alternatives"), message, at_key=True)
    for i, reading in enumerate(setting.readings):
        if reading.source in (Source.ASSUMPTION, Source.RECALLED):
            message = f"found '{reading.source}'; expected a source that states the value"
            yield Violation("RA222", (*loc, "readings", i, "source"), message)
        for other, value in reading.together.items():
            place = (*loc, "readings", i, "with", other)
            yield from unknown(place, "setting", other, every, at_key=True)
            if other in every:
                yield from other_type(place, other, value, every[other])
    for tier, scaled in (("quick", setting.quick), ("smoke", setting.smoke)):
        if scaled is not None:
            others.append(((*loc, tier, "value"), scaled.value))
    for place, value in others:
        yield from other_type(place, name, value, setting)


def other_type(loc: Loc, name: str, value: SettingValue, setting: Setting) -> Iterator[Violation]:
    """Yield a value that has another type than the setting in whose place it is used."""
    if not fits(value, setting.value):
        expected = f"{kind_of(setting.value)}, like the value {shown(setting.value)}"
        yield Violation("RA141", loc, f"found {shown(value)}; expected {expected} of '{name}'")


def _declaration(
    audit: Audit, loc: Loc, declaration: Declaration, users: Iterable[str]
) -> Iterator[Violation]:
    """Yield axes that do not fit the kind, are alike, or have no single source of coordinates."""
    axes, kind = declaration.axes, declaration.kind
    yield from again((*loc, "axes"), [axis.name for axis in axes], "name")
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
        # such as 0 and "0", which a page writes alike
        yield from again((*place, "values"), [str(one) for one in axis.values or ()])
        for experiment in users if axis.setting is not None else ():
            yield from _along(audit, (*place, "setting"), experiment, axis)


def _along(audit: Audit, loc: Loc, experiment: str, axis: Axis) -> Iterator[Violation]:
    """Yield an axis along a setting that is no list, or has a value twice."""
    name, settings = str(axis.setting), audit.settings_of(experiment)
    lists = {other: one.value for other, one in settings.items() if isinstance(one.value, tuple)}
    yield from unknown(loc, "list", name, lists, f"'{experiment}'")
    for i in repeated(lists.get(name, ())):
        message = f"found '{name}', which has {shown(lists[name][i])} again"
        yield Violation("RA225", loc, f"{message}; expected different coordinates")


def _training_loss(
    audit: Audit, loc: Loc, name: str | None, experiments: Collection[str]
) -> Iterator[Violation]:
    """Yield a training loss that no experiment measures as a series."""
    made = (audit.measurements_of(one).items() for one in experiments if name is not None)
    known = {one for each in made for one, d in each if d.kind is MeasurementKind.SERIES}
    if name is not None and experiments:
        yield from unknown(loc, "series", name, known)


# --- reviews, unfinished text -------------------------------------------------------------------


def of_reviews(audit: Audit, reviews: Reviews) -> Iterator[Violation]:
    """Yield what reviews say that does not fit the audit, with the place in their file."""
    for variable, decisions in reviews.variables.items():
        yield from again(("variables", variable), [one.reviewer for one in decisions], "reviewer")
    claims = {claim.id for claim in audit.claims}
    answered = claims | {one.id for one in audit.findings}
    for i, response in enumerate(reviews.responses):
        yield from unknown(("responses", i, "to"), "id", response.to, answered)
    written = (arm for claim in audit.claims for _, arm in claim.arms())
    arms = {*audit.arms, *(arm.name for arm in written if not isinstance(arm, str))}
    known = {"claim": claims, "arm": arms, "source": every_setting(audit)}
    for i, dispute in enumerate(reviews.disputes):
        for field, names in known.items():
            if (name := getattr(dispute, field)) is not None:
                yield from unknown(("disputes", i, field), field, name, names)
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
    elif isinstance(data, str) and (mark := UNFINISHED.search(data)) is not None:
        message = f"found '{mark.group()}' in the text; expected finished text"
        yield Violation("RA153", loc, message)
