"""Rules of arms: they exist, run, change something, and are measured as the claim is."""

from __future__ import annotations

from collections.abc import Iterator

from reproaudit.audit.claims import ArmSpec
from reproaudit.audit.model import Audit, TierName
from reproaudit.audit.plan import OWN, quantities_of
from reproaudit.audit.rules.looks import JUDGED, Look, Use, among, looks, named_arms, uses
from reproaudit.audit.rules.names import known_settings, not_of
from reproaudit.audit.rules.rule import Loc, Violation, error
from reproaudit.audit.rules.values import repeated, same, shown
from reproaudit.cell import SettingValue
from reproaudit.declarations import Declaration


def _runnable(audit: Audit) -> Iterator[Use]:
    """Every use of an arm by a claim where both experiments exist."""
    for use in uses(audit):
        if {use.experiment, use.claim.experiment} <= audit.experiments.keys():
            yield use


@error(
    "RA110",
    "An arm overrides settings of its experiment.",
    "Name a setting of the experiment.",
)
def _settings_exist(audit: Audit) -> Iterator[Violation]:
    for use in {(one.written, one.experiment): one for one in _runnable(audit)}.values():
        for name in use.arm.settings:
            if audit.setting_of(use.experiment, name) is None:
                yield Violation(
                    (*use.written, "settings", name),
                    not_of("setting", name, use.experiment),
                    about=name,
                    known=known_settings(audit, use.experiment),
                    at_key=True,
                )


@error(
    "RA111",
    "An arm that runs like the claim answers like the claim.",
    "Remove the override, or write a value that differs.",
)
def _something_changes(audit: Audit) -> Iterator[Violation]:
    each = {(use.written, use.experiment, use.claim.experiment): use for use in _runnable(audit)}
    for use in each.values():
        for tier in JUDGED:
            idle = [
                name
                for name, value in use.arm.settings.items()
                if (own := _own_value(audit, use, name, tier)) is not None and same(value, own)
            ]
            if idle and not use.arm.reads and len(idle) == len(use.arm.settings):
                value = shown(use.arm.settings[idle[0]])
                message = f"found {value}, the claim's own '{idle[0]}' at the {tier} tier"
                place = (*use.written, "settings", idle[0])
                yield Violation(place, f"{message}; expected a value that differs")
                break


def _own_value(audit: Audit, use: Use, name: str, tier: TierName) -> SettingValue | None:
    """The value that the claim runs with; without such a setting, that of the arm's experiment."""
    own = audit.value_of(use.claim.experiment, name, tier)
    return audit.value_of(use.experiment, name, tier) if own is None else own


@error(
    "RA113",
    "An arm is judged by the same checks as the claim.",
    "Declare the measurement there with the same kind and axes, or take another experiment.",
)
def _measured_alike(audit: Audit) -> Iterator[Violation]:
    read_by: dict[Loc, set[str]] = {}
    for use in _runnable(audit):
        every = {q.measurement for q in quantities_of(use.claim)}
        read_by.setdefault(use.written, set()).update(every)
    for use in _runnable(audit):
        for left, right in use.arm.reads.items():
            loc, every = (*use.written, "reads", left), read_by[use.written]
            if left not in every:
                message = f"found '{left}'; expected a measurement that its claims read"
                yield Violation(loc, message, about=left, known=every, at_key=True)
            if audit.declaration(use.experiment, right) is None:
                message = not_of("measurement", right, use.experiment)
                known = audit.measurements_of(use.experiment)
                yield Violation(loc, message, about=right, known=known)
        read = dict.fromkeys(q.measurement for q in quantities_of(use.claim) if q.arm is None)
        for name in read if use.loc[2] in ("nulls", "ablations", "constructed") else ():
            ours = audit.declaration(use.claim.experiment, name)
            theirs = audit.declaration(use.experiment, use.arm.reads.get(name, name))
            other = theirs is None or ours is None or _form(theirs) != _form(ours)
            if ours is not None and other and (theirs is not None or name not in use.arm.reads):
                found = "no" if theirs is None else "another form of"
                message = f"found {found} '{name}' in experiment '{use.experiment}'; expected it "
                message += f"as in '{use.claim.experiment}', since '{use.claim.id}' reads it"
                yield Violation((*use.written, "experiment"), message)
                break


def _form(declaration: Declaration) -> tuple[str, tuple[str, ...]]:
    return declaration.kind, tuple(axis.name for axis in declaration.axes)


@error(
    "RA114",
    "The checks read the same coordinates in an arm.",
    "Keep the coordinate in the override.",
)
def _coordinates_stay(audit: Audit) -> Iterator[Violation]:
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
                    yield Violation(place, f"{message} that '{use.claim.id}' reads")


@error(
    "RA118",
    "An arm is declared, or written where it is used.",
    "Name an arm that stands under the audit's own 'arms'.",
)
def _arms_exist(audit: Audit) -> Iterator[Violation]:
    for loc, _, one in named_arms(audit):
        if isinstance(one, str) and one not in audit.arms:
            place = loc if loc[2] in ("nulls", "ablations", "constructed") else (*loc, "arm")
            remedy = "" if audit.arms else "Declare it under the audit's own 'arms'."
            message = f"found the unknown arm '{one}'; expected a declared one"
            yield Violation(place, message, remedy, about=one, known=audit.arms)
    for i, claim in enumerate(audit.claims):
        nulls = [one if isinstance(one, str) else one.name for one in claim.nulls]
        for j in repeated(nulls):
            message = f"found the null '{nulls[j]}' a second time; expected it once"
            yield Violation(("claims", i, "nulls", j), message, "Remove one of the two.")


@error(
    "RA119",
    "An arm or a shared measurement that nothing uses suggests that a name was forgotten.",
    "Name it where it belongs, or remove it.",
)
def _shared_are_used(audit: Audit) -> Iterator[Violation]:
    named = {one for _, _, one in named_arms(audit) if isinstance(one, str)}
    for name in audit.arms:
        if name not in named:
            message = f"found the arm '{name}', which no claim uses"
            yield Violation(("arms", name), message, at_key=True)
    chosen = [one.chosen for one in audit.experiments.values()]
    if None not in chosen:
        made = frozenset().union(*(one for one in chosen if one is not None))
        for name in audit.measurements.keys() - made:
            message = f"found the measurement '{name}', which no experiment makes"
            yield Violation(("measurements", name), message, at_key=True)


@error(
    "RA223",
    "A claim's arms are told apart by name.",
    "Give the arm another name.",
)
def _names_differ(audit: Audit) -> Iterator[Violation]:
    seen: dict[tuple[str, str], ArmSpec] = {}
    if OWN in audit.arms:
        yield Violation(("arms", OWN), f"found '{OWN}', the claim's own runs", at_key=True)
    for loc, claim, one in named_arms(audit):
        if isinstance(one, str):
            continue
        name = str(getattr(one, "name", ""))
        other = seen.setdefault((claim.id, name), one)
        if name == OWN or name in audit.arms or other is not one:
            message = f"found '{name}', the name of another arm as well"
            yield Violation((*loc, "name"), message)
