"""Rules of claims: their experiments, ids, nulls, grades and readings."""

from __future__ import annotations

from collections.abc import Iterator

from reproaudit.audit.model import Audit
from reproaudit.audit.rules.looks import JUDGED, among, coordinates, declared, uses
from reproaudit.audit.rules.names import (
    ids_of_their_own,
    known_settings,
    not_of,
    unknown_experiment,
)
from reproaudit.audit.rules.rule import Loc, Violation, error
from reproaudit.audit.rules.values import repeated, shown
from reproaudit.declarations import Axis


@error("RA101", "A claim is judged on an experiment of this audit.", "Name a declared experiment.")
def _experiment_exists(audit: Audit) -> Iterator[Violation]:
    for i, claim in enumerate(audit.claims):
        yield from unknown_experiment(audit, ("claims", i), claim.experiment)
    written = {one.written: one.arm for one in uses(audit)}
    written |= {("arms", name): arm for name, arm in audit.arms.items()}
    for loc, arm in written.items():
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
    "Add to 'nulls' an arm with nothing to learn, or with a wrong reference.",
)
def _headline_has_a_null(audit: Audit) -> Iterator[Violation]:
    for i, claim in enumerate(audit.claims):
        if not claim.nulls and not claim.exact:
            message = "found a headline without a null; expected at least one"
            yield Violation(("claims", i, "headline"), message)


@error(
    "RA214",
    "A reading is a value that another source backs; a guess has alternatives instead.",
    "Name a setting that has 'readings', or take the name out.",
)
def _readings_are_sourced(audit: Audit) -> Iterator[Violation]:
    for i, claim in enumerate(audit.claims):
        for j, name in enumerate(claim.readings if claim.experiment in audit.experiments else ()):
            loc: Loc = ("claims", i, "readings", j)
            setting = audit.setting_of(claim.experiment, name)
            if setting is None:
                known = known_settings(audit, claim.experiment)
                message = not_of("setting", name, claim.experiment)
                yield Violation(loc, message, about=name, known=known)
            elif not setting.readings:
                what = "a guess" if setting.guessed else f"which '{setting.source}' states alone"
                yield Violation(loc, f"found '{name}', {what}; expected a setting with 'readings'")


@error(
    "RA218",
    "A claim is graded along an axis of what its headline reads; each tier has what is primary.",
    "Name an axis of the headline's measurements, and coordinates of it.",
)
def _grade_is_along_an_axis(audit: Audit) -> Iterator[Violation]:
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
            yield Violation((*loc, "easiest_first", j), message)
        if grade.axis not in axes:
            message = f"found the axis '{grade.axis}', which nothing in the headline leaves free"
            yield Violation((*loc, "axis"), message, about=grade.axis, known=axes)
            continue
        experiment, axis = axes[grade.axis]
        for tier in JUDGED:
            known = coordinates(audit, experiment, axis, tier)
            for j, one in enumerate(grade.easiest_first if known is not None else ()):
                wanted = tier == "paper" or one in grade.primary
                if wanted and not among(one, known or ()):
                    message = f"found {axis.name} {shown(one)}; expected one of "
                    message += f"{shown(known or ())} at the {tier} tier"
                    yield Violation((*loc, "easiest_first", j), message)
