"""Rules of claims: experiments, nulls, grades, readings, and the arms that they use."""

from __future__ import annotations

from collections.abc import Iterator

from reproaudit.audit.claims import ArmSpec
from reproaudit.audit.model import Audit, TierName
from reproaudit.audit.plan import OWN, quantities_of
from reproaudit.audit.rules.looks import (
    JUDGED,
    Look,
    Use,
    among,
    coordinates,
    declared,
    looks,
    named_arms,
    no_measurement,
    no_setting,
    unknown_experiment,
    uses,
)
from reproaudit.audit.rules.table import Loc, Violation
from reproaudit.audit.rules.values import repeated, same, shown
from reproaudit.cell import SettingValue
from reproaudit.declarations import Axis, Declaration


def of_claims(audit: Audit) -> Iterator[Violation]:
    """Yield claims without experiment or null, readings of one source, not exactly one main."""
    main = [i for i, claim in enumerate(audit.claims) if claim.main]
    if audit.claims and not main:
        yield Violation("RA211", ("claims",), "found no main claim; expected one with 'main: true'")
    for i in main[1:]:
        yield Violation("RA211", ("claims", i, "main"), "found a second main claim; expected one")
    for i, claim in enumerate(audit.claims):
        loc: Loc = ("claims", i)
        if not claim.nulls and not claim.exact:
            message = "found a headline without a null; expected at least one"
            yield Violation("RA212", (*loc, "headline"), message)
        yield from unknown_experiment("RA101", audit, loc, claim.experiment)
        for j, name in enumerate(claim.readings if claim.experiment in audit.experiments else ()):
            setting, place = audit.setting_of(claim.experiment, name), (*loc, "readings", j)
            if setting is None:
                yield no_setting("RA214", audit, place, name, claim.experiment)
            elif not setting.readings:
                what = "a guess" if setting.guessed else f"which '{setting.source}' states alone"
                message = f"found '{name}', {what}; expected a setting with 'readings'"
                yield Violation("RA214", place, message)


def of_grades(audit: Audit) -> Iterator[Violation]:
    """Yield grades along unknown axes, and coordinates that the axis lacks at a judged tier."""
    read: dict[int, dict[str, tuple[str, Axis]]] = {}
    for look, declaration in declared(audit):
        if look.loc[2:3] == ("headline",):
            for axis in declaration.axes:
                if axis.name not in look.fixed:
                    read.setdefault(id(look.claim), {})[axis.name] = look.experiment, axis
    for i, claim in enumerate(audit.claims):
        grade, loc, axes = claim.grade, ("claims", i, "grade"), read.get(id(claim), {})
        if grade is None:
            continue
        for j in repeated(grade.easiest_first):
            message = f"found {shown(grade.easiest_first[j])} again; expected it once"
            yield Violation("RA218", (*loc, "easiest_first", j), message)
        if grade.axis not in axes:
            message = f"found the axis '{grade.axis}', which nothing in the headline leaves free"
            yield Violation("RA218", (*loc, "axis"), message, about=grade.axis, known=axes)
            continue
        experiment, axis = axes[grade.axis]
        for tier in JUDGED:
            known = coordinates(audit, experiment, axis, tier)
            for j, one in enumerate(grade.easiest_first if known is not None else ()):
                wanted = tier == "paper" or one in grade.primary
                if wanted and not among(one, known or ()):
                    message = f"found {axis.name} {shown(one)}; expected one of "
                    message += f"{shown(known or ())} at the {tier} tier"
                    yield Violation("RA218", (*loc, "easiest_first", j), message)


# --- arms ---------------------------------------------------------------------------------------


def of_arm_names(audit: Audit) -> Iterator[Violation]:
    """Yield arms that are unknown, unused, or named as another."""
    seen: dict[tuple[str, str], ArmSpec] = {}
    used = set()
    for loc, claim, one in named_arms(audit):
        if isinstance(one, str):
            used.add(one)
            if one not in audit.arms:
                remedy = "" if audit.arms else "Declare it under the audit's own 'arms'."
                message = f"found the unknown arm '{one}'; expected a declared one"
                yield Violation("RA118", loc, message, remedy, about=one, known=audit.arms)
            continue
        name = str(getattr(one, "name", ""))
        other = seen.setdefault((claim.id, name), one)
        if name == OWN or name in audit.arms or other is not one:
            message = f"found '{name}', the name of another arm as well"
            yield Violation("RA223", (*loc, "name"), message)
    for name, arm in audit.arms.items():
        loc = ("arms", name)
        if name == OWN:
            yield Violation("RA223", loc, f"found '{OWN}', the claim's own runs", at_key=True)
        if name not in used:
            message = f"found the arm '{name}', which no claim uses"
            yield Violation("RA119", loc, message, at_key=True)
        if arm.experiment is not None:
            yield from unknown_experiment("RA101", audit, loc, arm.experiment)


def _runnable(audit: Audit) -> Iterator[Use]:
    """Every use of an arm by a claim where both experiments exist."""
    for use in uses(audit):
        if {use.experiment, use.claim.experiment} <= audit.experiments.keys():
            yield use


def of_arm_settings(audit: Audit) -> Iterator[Violation]:
    """Yield arms with unknown experiments or settings, and those that change nothing."""
    for loc, one in {use.loc: use.arm for use in uses(audit) if use.loc == use.written}.items():
        if one.experiment is not None:
            yield from unknown_experiment("RA101", audit, loc, one.experiment)
    each = {(use.written, use.experiment, use.claim.experiment): use for use in _runnable(audit)}
    for use in each.values():
        place = (*use.written, "settings")
        for name in use.arm.settings:
            if audit.setting_of(use.experiment, name) is None:
                where = (*place, name)
                yield no_setting("RA110", audit, where, name, use.experiment, at_key=True)
        for tier in JUDGED if use.arm.settings and not use.arm.reads else ():
            if all(_is_idle(audit, use, name, tier) for name in use.arm.settings):
                name, value = next(iter(use.arm.settings.items()))
                message = f"found {shown(value)}, the claim's own '{name}' at the {tier} tier"
                message += "; expected a value that differs"
                yield Violation("RA111", (*place, name), message)
                break


def _is_idle(audit: Audit, use: Use, name: str, tier: TierName) -> bool:
    """Whether the claim, or without such a setting the arm's experiment, runs with this value."""
    own: SettingValue | None = audit.value_of(use.claim.experiment, name, tier)
    if own is None:
        own = audit.value_of(use.experiment, name, tier)
    return own is not None and same(use.arm.settings[name], own)


def of_arm_measurements(audit: Audit) -> Iterator[Violation]:
    """Yield arms in which the claim's measurements do not exist, or have another form."""
    every: dict[Loc, set[str]] = {}
    for use in _runnable(audit):
        names = {q.measurement for q in quantities_of(use.claim)}
        every.setdefault(use.written, set()).update(names)
    for use in _runnable(audit):
        for left, right in use.arm.reads.items():
            loc, known = (*use.written, "reads", left), every[use.written]
            if left not in known:
                message = f"found '{left}'; expected a measurement that its claims read"
                yield Violation("RA113", loc, message, about=left, known=known, at_key=True)
            if audit.declaration(use.experiment, right) is None:
                yield no_measurement("RA113", audit, loc, right, use.experiment)
        read = dict.fromkeys(q.measurement for q in quantities_of(use.claim) if q.arm is None)
        for name in read if use.loc[2] in ("nulls", "ablations", "constructed") else ():
            ours = audit.declaration(use.claim.experiment, name)
            theirs = audit.declaration(use.experiment, use.arm.reads.get(name, name))
            other = theirs is None or ours is None or _form(theirs) != _form(ours)
            if ours is not None and other and (theirs is not None or name not in use.arm.reads):
                found = "no" if theirs is None else "another form of"
                message = f"found {found} '{name}' in experiment '{use.experiment}'; expected it "
                message += f"as in '{use.claim.experiment}', since '{use.claim.id}' reads it"
                yield Violation("RA113", (*use.written, "experiment"), message)
                break


def _form(declaration: Declaration) -> tuple[str, tuple[str, ...]]:
    return declaration.kind, tuple(axis.name for axis in declaration.axes)


def of_arm_coordinates(audit: Audit) -> Iterator[Violation]:
    """Yield settings of arms that leave out a coordinate that the claim reads."""
    read: dict[int, list[Look]] = {}
    for look in looks(audit):
        read.setdefault(id(look.claim), []).append(look)
    for use in _runnable(audit):
        for look in read.get(id(use.claim), ()) if use.arm.settings else ():
            declaration = audit.declaration(use.experiment, look.name)
            for axis in declaration.axes if declaration is not None else ():
                left = use.arm.settings.get(str(axis.setting))
                at = look.fixed.get(axis.name)
                if isinstance(left, tuple) and at is not None and not among(at, left):
                    message = f"found {shown(left)}, which leaves out {axis.name} {shown(at)}"
                    place = (*use.written, "settings", str(axis.setting))
                    yield Violation("RA114", place, f"{message} that '{use.claim.id}' reads")
