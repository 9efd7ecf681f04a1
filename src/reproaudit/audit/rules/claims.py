"""Rules of claims: what their checks read, the arms that they are held against, their grades."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from reproaudit.audit.claims import ArmSpec, Claim, NamedArm
from reproaudit.audit.model import Audit
from reproaudit.audit.rules.names import (
    ids_of_their_own,
    known_settings,
    not_of,
    unknown_experiment,
)
from reproaudit.audit.rules.rule import Loc, Violation, error, warning
from reproaudit.audit.rules.values import fits, kind_of, same, shown
from reproaudit.checks import Check
from reproaudit.checks.quantities import Quantity
from reproaudit.declarations import Coordinate, Declaration, MeasurementKind, StrictModel

GROUPS = ("headline", "support", "notes")
"""The lists of checks of a claim."""


class Look(NamedTuple):
    """A quantity that a check reads.

    Attributes:
        loc: its place.
        claim: whose check it is.
        check: which.
        quantity: what it reads.
    """

    loc: Loc
    claim: Claim
    check: Check
    quantity: Quantity


def looks(audit: Audit) -> Iterator[Look]:
    """Yield every quantity of every check."""
    for i, claim in enumerate(audit.claims):
        for group in GROUPS:
            for j, check in enumerate(getattr(claim, group)):
                loc: Loc = ("claims", i, group, j)
                for place, quantity in _quantities(check, loc):
                    yield Look(place, claim, check, quantity)


def _quantities(model: StrictModel, loc: Loc) -> Iterator[tuple[Loc, Quantity]]:
    for field in type(model).model_fields:
        value = getattr(model, field)
        parts = enumerate(value) if isinstance(value, tuple) else ((None, value),)
        for step, part in parts:
            place: Loc = (*loc, field) if step is None else (*loc, field, step)
            if isinstance(part, Quantity):
                yield place, part
            elif isinstance(part, StrictModel):
                yield from _quantities(part, place)


class WrittenArm(NamedTuple):
    """An arm where it is named or written.

    Attributes:
        loc: its place.
        claim: whose arm it is.
        arm: what is written, or its name.
    """

    loc: Loc
    claim: Claim
    arm: ArmSpec | str


def arms(audit: Audit) -> Iterator[WrittenArm]:
    """Yield every arm of every claim, where the claim names or writes it."""
    for i, claim in enumerate(audit.claims):
        for j, one in enumerate(claim.nulls):
            yield WrittenArm(("claims", i, "nulls", j), claim, one)
        for j, ablation in enumerate(claim.ablations):
            yield WrittenArm(("claims", i, "ablations", j, "arm"), claim, ablation.arm)
        if claim.constructed is not None:
            yield WrittenArm(("claims", i, "constructed"), claim, claim.constructed)


def _written(audit: Audit) -> Iterator[tuple[Loc, Claim | None, ArmSpec]]:
    """Every arm with its settings, shared ones once, with the claim that it is written in."""
    for name, shared in audit.arms.items():
        yield ("arms", name), None, shared
    for one in arms(audit):
        if isinstance(one.arm, ArmSpec):
            yield one.loc, one.claim, one.arm


def _users(audit: Audit, name: str) -> list[str]:
    """The experiments in which a shared arm is run."""
    found = [one.claim.experiment for one in arms(audit) if one.arm == name]
    found += [one.claim.experiment for one in looks(audit) if one.quantity.arm == name]
    own = audit.arms[name].experiment
    return [own] if own is not None else list(dict.fromkeys(found))


# --- claims -------------------------------------------------------------------------------------


@error("RA101", "A claim is judged on an experiment of this audit.", "Name a declared experiment.")
def _experiment_exists(audit: Audit) -> Iterator[Violation]:
    for i, claim in enumerate(audit.claims):
        yield from unknown_experiment(audit, ("claims", i), claim.experiment)
    for loc, _, arm in _written(audit):
        if arm.experiment is not None:
            yield from unknown_experiment(audit, loc, arm.experiment)


@error(
    "RA115",
    "A claim's id is permanent and unique over all audits.",
    "Begin it with the slug and a dot, and use it once.",
)
def _claim_ids(audit: Audit) -> Iterator[Violation]:
    ids = [claim.id for claim in audit.claims]
    yield from ids_of_their_own("claims", "claim", ids, audit.paper.slug)


@error(
    "RA211",
    "A page begins with the paper's main claim.",
    "Write 'main: true' at one claim, and at no other.",
)
def _one_main_claim(audit: Audit) -> Iterator[Violation]:
    main = [i for i, claim in enumerate(audit.claims) if claim.main]
    if audit.claims and not main:
        yield Violation(("claims",), "found no main claim; expected one with 'main: true'")
    for i in main[1:]:
        yield Violation(("claims", i, "main"), "found a second main claim; expected one")


@error(
    "RA212",
    "A headline that nothing could miss shows nothing.",
    "Add a null: the same training with nothing to learn, or with a wrong reference.",
)
def _headline_has_a_null(audit: Audit) -> Iterator[Violation]:
    for i, claim in enumerate(audit.claims):
        if not claim.nulls and not claim.exact:
            yield Violation(
                ("claims", i, "headline"), f"found no null of '{claim.id}'; expected at least one"
            )


# --- what checks read ---------------------------------------------------------------------------


def _experiment_of(audit: Audit, look: Look) -> str | None:
    """The experiment whose measurement a look reads; None where another rule complains."""
    experiment = look.claim.experiment
    if look.quantity.arm is not None:
        shared = audit.arms.get(look.quantity.arm)
        experiment = (shared.experiment if shared else None) or experiment
    return experiment if experiment in audit.experiments else None


def _declared(audit: Audit) -> Iterator[tuple[Look, str, Declaration]]:
    for look in looks(audit):
        experiment = _experiment_of(audit, look)
        if experiment is None:
            continue
        declaration = audit.declaration(experiment, look.quantity.measurement)
        if declaration is not None:
            yield look, experiment, declaration


@error("RA102", "A check reads a measurement of its experiment.", "Name a declared measurement.")
def _measurement_exists(audit: Audit) -> Iterator[Violation]:
    for look in looks(audit):
        experiment, name = _experiment_of(audit, look), look.quantity.measurement
        if experiment is not None and audit.declaration(experiment, name) is None:
            yield Violation(
                look.loc,
                not_of("measurement", name, experiment),
                about=name,
                known=audit.measurements_of(experiment),
            )


@error(
    "RA103",
    "A check reads a measurement at coordinates that it has.",
    "Name an axis and a coordinate of the measurement.",
)
def _coordinates_exist(audit: Audit) -> Iterator[Violation]:
    for look, experiment, declaration in _declared(audit):
        axes = {axis.name: axis for axis in declaration.axes}
        for name in look.quantity.at:
            if name not in axes:
                yield Violation(
                    look.loc,
                    f"found the unknown axis '{name}' of '{look.quantity.measurement}'",
                    about=name,
                    known=axes,
                )
        for tier in ("quick", "paper"):
            settings = audit.values_of(experiment, tier)
            known = [(a, a.coordinates(settings)) for a in axes.values() if _exists(a, settings)]
            if len(known) < len(axes):
                continue  # an axis whose setting has a fault of its own
            missing = [
                at
                for at in look.quantity.coordinates
                if not any(at in coordinates for _, coordinates in known)
            ] + [
                at
                for name, at in look.quantity.at.items()
                for axis, coordinates in known
                if axis.name == name and at not in coordinates
            ]
            if missing:
                listed = ", ".join(shown(c) for _, cs in known for c in cs[:10])
                yield Violation(
                    look.loc,
                    f"found no coordinate {shown(missing[0])} of '{look.quantity.measurement}' at "
                    f"the {tier} tier; expected one of {listed or 'none'}",
                )
                break


def _exists(axis: object, settings: object) -> bool:
    name = getattr(axis, "setting", None)
    return name is None or isinstance(dict(settings).get(name), tuple)  # type: ignore[call-overload]


@error(
    "RA105",
    "What is read over training, or at its start, is a series.",
    "Read a series, or take another kind of check.",
)
def _series_where_needed(audit: Audit) -> Iterator[Violation]:
    for look, _, declaration in _declared(audit):
        over_training = look.loc[-1] in ("series", "loss", "reference")
        needs = over_training or look.quantity.step == "first"
        if needs and declaration.kind is not MeasurementKind.SERIES:
            yield Violation(
                look.loc,
                f"found the {declaration.kind.value} '{look.quantity.measurement}'; expected a "
                "series",
            )


@error(
    "RA106",
    "An onset and a law of growth are of one course, so that nothing can cancel or be chosen.",
    "Give a coordinate on every axis, or measure the worst of them.",
)
def _one_course(audit: Audit) -> Iterator[Violation]:
    for look, _, declaration in _declared(audit):
        if look.check.kind not in ("stages", "grows_like"):
            continue
        graded = {look.claim.grade.axis} if look.claim.grade is not None else set()
        fixed = {*look.quantity.at, *look.check.at, *graded}
        free = [axis.name for axis in declaration.axes if axis.name not in fixed]
        if len(free) > len(look.quantity.coordinates):
            yield Violation(
                look.loc,
                f"found '{look.quantity.measurement}' with its axis '{free[0]}' left free; "
                "expected a single course",
            )


# --- arms ---------------------------------------------------------------------------------------


@error("RA107", "An arm is declared, or written where it is used.", "Name one of the audit's arms.")
def _arm_exists(audit: Audit) -> Iterator[Violation]:
    written: dict[str, set[str]] = {}
    for one in arms(audit):
        if isinstance(one.arm, NamedArm):
            written.setdefault(one.claim.id, set()).add(one.arm.name)
    named = [(one.loc, one.claim, one.arm) for one in arms(audit)]
    named += [(one.loc, one.claim, one.quantity.arm) for one in looks(audit) if one.quantity.arm]
    for loc, claim, name in named:
        if isinstance(name, str) and name not in {*audit.arms, *written.get(claim.id, ())}:
            yield Violation(
                loc,
                f"found the unknown arm '{name}'; expected one under 'arms'",
                about=name,
                known=audit.arms,
            )


@error("RA213", "An arm that no claim uses would be run for nothing.", "Use it, or remove it.")
def _arms_are_used(audit: Audit) -> Iterator[Violation]:
    for name in audit.arms:
        if not _users(audit, name) or not any(
            name in (one.arm, getattr(one.arm, "name", None)) for one in arms(audit)
        ):
            if any(one.quantity.arm == name for one in looks(audit)):
                continue
            message = f"found the arm '{name}', which no claim uses"
            yield Violation(("arms", name), message, about=name, at_key=True)


@error(
    "RA108",
    "An arm changes settings of its experiment, to values that differ.",
    "Name a setting of the experiment, and another value of its type.",
)
def _arm_settings(audit: Audit) -> Iterator[Violation]:
    for loc, claim, arm in _written(audit):
        owners = [claim.experiment] if claim is not None else _users(audit, str(loc[1]))
        experiments = [arm.experiment] if arm.experiment is not None else owners
        for experiment in (one for one in experiments if one in audit.experiments):
            yield from _settings_of_arm(audit, loc, arm, experiment)


def _settings_of_arm(audit: Audit, loc: Loc, arm: ArmSpec, experiment: str) -> Iterator[Violation]:
    changes = False
    for name, value in arm.settings.items():
        place = (*loc, "settings", name)
        setting = audit.setting_of(experiment, name)
        if setting is None:
            known = known_settings(audit, experiment)
            message = not_of("setting", name, experiment)
            yield Violation(place, message, about=name, known=known, at_key=True)
            changes = True
            continue
        if not fits(value, setting.value):
            yield Violation(
                place,
                f"found {shown(value)}; expected {kind_of(setting.value)}, like the value "
                f"{shown(setting.value)} of '{name}'",
            )
        changes = changes or not same(value, setting.value)
    if arm.settings and not changes and not arm.reads and arm.experiment is None:
        yield Violation(
            (*loc, "settings"), "found the experiment's own values; expected one that differs"
        )


@error(
    "RA109",
    "A measurement that is read in place of another is one of the arm's experiment.",
    "Name a declared measurement.",
)
def _arm_reads(audit: Audit) -> Iterator[Violation]:
    for loc, claim, arm in _written(audit):
        owners = [claim.experiment] if claim is not None else _users(audit, str(loc[1]))
        for experiment in (one for one in owners if one in audit.experiments):
            known = audit.measurements_of(experiment)
            for name in (n for pair in arm.reads.items() for n in pair if n not in known):
                yield Violation(
                    (*loc, "reads"),
                    not_of("measurement", name, experiment),
                    about=name,
                    known=known,
                )


# --- grades and readings ------------------------------------------------------------------------


@error(
    "RA110",
    "A claim is graded along an axis of what its headline reads.",
    "Name an axis of a measurement of the headline, and coordinates that it has.",
)
def _grade_axis(audit: Audit) -> Iterator[Violation]:
    for i, claim in enumerate(audit.claims):
        if claim.grade is None or claim.experiment not in audit.experiments:
            continue
        loc: Loc = ("claims", i, "grade")
        axes = {
            axis.name: axis
            for look, _, declaration in _declared(audit)
            if look.claim is claim and look.loc[2] == "headline"
            for axis in declaration.axes
        }
        axis = axes.get(claim.grade.axis)
        if axis is None:
            name = claim.grade.axis
            message = f"found the unknown axis '{name}'; expected one of what the headline reads"
            yield Violation((*loc, "axis"), message, about=name, known=axes)
            continue
        settings = audit.values_of(claim.experiment, "paper")
        known = axis.coordinates(settings) if _exists(axis, settings) else ()
        yield from _coordinates_of_grade(loc, claim.grade.easiest_first, known)


def _coordinates_of_grade(
    loc: Loc, written: tuple[Coordinate, ...], known: tuple[Coordinate, ...]
) -> Iterator[Violation]:
    for j, one in enumerate(written):
        if known and one not in known:
            listed = ", ".join(map(shown, known[:20]))
            yield Violation(
                (*loc, "easiest_first", j), f"found {shown(one)}; expected one of {listed}"
            )


@error(
    "RA214",
    "A reading is a value that another source backs; a guess has alternatives.",
    "Name a setting with 'readings', or take the name out.",
)
def _readings_are_sourced(audit: Audit) -> Iterator[Violation]:
    for i, claim in enumerate(audit.claims):
        if claim.experiment not in audit.experiments:
            continue
        known = audit.settings_of(claim.experiment)
        for j, name in enumerate(claim.readings):
            if name not in known:
                message = not_of("setting", name, claim.experiment)
                yield Violation(("claims", i, "readings", j), message, about=name, known=known)
            elif not known[name].readings:
                yield Violation(
                    ("claims", i, "readings", j),
                    f"found '{name}', of which no other source states a value",
                )


@warning(
    "RA215",
    "A bound of ours that decides is seen by its reason alone.",
    "Say in a few words why the bound is what it is.",
)
def _reasons_say_something(audit: Audit) -> Iterator[Violation]:
    for i, claim in enumerate(audit.claims):
        for j, check in enumerate(claim.headline):
            for bound in check.bounds():
                if bound.why is not None and len(bound.why.split()) < 2:
                    yield Violation(("claims", i, "headline", j), f"found the reason '{bound.why}'")
