"""Rules of ablations: each part names the control that must miss it, and that control has moved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from reproaudit.audit.model import Audit, Claim, Control, Movement, TierName
from reproaudit.audit.plan import control_batch, runs_apart
from reproaudit.audit.rules.looks import JUDGED, coordinates
from reproaudit.audit.rules.rule import Loc, Violation, error, warning
from reproaudit.audit.rules.values import key, keys, shown
from reproaudit.audit.scale import Rescaled, rescaled_settings
from reproaudit.cell import SettingValue
from reproaudit.checks import Check
from reproaudit.declarations import Coordinate, MeasurementKind


def _written(audit: Audit) -> Iterator[tuple[Loc, Claim, Control]]:
    """Every control of every claim, positive ones left out, at the place where it is written."""
    for i, claim in enumerate(audit.claims):
        for j, entry in enumerate(claim.controls):
            if isinstance(entry, Control):
                yield ("claims", i, "controls", j), claim, audit.control(claim, entry)
            elif entry in audit.controls:
                yield ("controls", entry), claim, audit.control(claim, entry)


def _names(claim: Claim) -> list[str]:
    """The names by which a part of a claim may call its controls."""
    named = (one if isinstance(one, str) else one.name for one in claim.controls)
    return [name for name in named if name is not None]


@error(
    "RA181",
    "The ablation of a part is the one control that answers for it.",
    "Name a control of the claim, by its 'name' or, if it is shared, by its key.",
)
def _ablations_exist(audit: Audit) -> Iterator[Violation]:
    for i, claim in enumerate(audit.claims):
        names = _names(claim)
        for j, check in enumerate(claim.checks):
            if check.ablation is not None and check.ablation not in names:
                yield Violation(
                    ("claims", i, "checks", j, "ablation"),
                    f"found '{check.ablation}'; expected the name of a control of the claim",
                    about=check.ablation,
                    known=names,
                )


@error("RA182", "A part finds its ablation by name.", "Give each control another name.")
def _control_names_differ(audit: Audit) -> Iterator[Violation]:
    for i, claim in enumerate(audit.claims):
        seen = {one for one in claim.controls if isinstance(one, str)}
        for j, entry in enumerate(claim.controls):
            if isinstance(entry, Control) and entry.name is not None:
                if entry.name in seen:
                    yield Violation(
                        ("claims", i, "controls", j, "name"),
                        f"found '{entry.name}', the name of another control of the claim as well",
                    )
                seen.add(entry.name)


@error(
    "RA183",
    "Whether a control trained is read from two numbers of each run.",
    "Name measurements of kind 'scalar'.",
)
def _movement_is_a_number(audit: Audit) -> Iterator[Violation]:
    for loc, movement, experiments in _movements(audit):
        one_of = "experiments make"
        if loc != ("movement",):
            one_of = f"experiment '{experiments[0]}' makes"
        for field, name in _named(movement):
            declared = [audit.declaration(one, name) for one in experiments]
            found = [one for one in declared if one is not None]
            if not found:
                yield Violation(
                    (*loc, field),
                    f"found the unknown measurement '{name}'; expected one that {one_of}",
                    about=name,
                    known=[n for one in experiments for n in audit.measurements_of(one)],
                )
            elif any(one.kind is not MeasurementKind.SCALAR for one in found):
                yield Violation(
                    (*loc, field), f"found '{name}', which is no number; expected a scalar"
                )


LEAST_MOVEMENT = 1.0e-3
"""A smaller change of a loss, as a share of its size, may be the rounding of float32."""


@error(
    "RA198",
    "A run that hardly moved has not trained, and its parameters do not show that its loss moved.",
    "Name two measurements, and ask for at least a thousandth.",
)
def _movement_shows_training(audit: Audit) -> Iterator[Violation]:
    for loc, movement, _ in _movements(audit):
        if movement.parameters == movement.training_loss:
            yield Violation(
                (*loc, "training_loss"),
                f"found '{movement.training_loss}' for both; expected another measurement than of "
                "the parameters",
            )
        if movement.at_least < LEAST_MOVEMENT:
            yield Violation(
                (*loc, "at_least"),
                f"found {movement.at_least:g}; expected at least {LEAST_MOVEMENT:g} of the size at "
                "the start",
            )


def _movements(audit: Audit) -> Iterator[tuple[Loc, Movement, Sequence[str]]]:
    """Every `movement` at its place, with the experiments of which one must measure it."""
    if audit.movement is not None:
        yield ("movement",), audit.movement, list(audit.experiments)
    for i, claim in enumerate(audit.claims):
        if claim.movement is not None and claim.experiment in audit.experiments:
            yield ("claims", i, "movement"), claim.movement, (claim.experiment,)


def _named(movement: Movement) -> tuple[tuple[str, str], ...]:
    return ("parameters", movement.parameters), ("training_loss", movement.training_loss)


@warning(
    "RA184",
    "A control that did not train fails every check, and shows nothing.",
    "Measure how far its parameters and its training loss moved, and name both under 'movement'.",
)
def _controls_show_that_they_trained(audit: Audit) -> Iterator[Violation]:
    training = [
        (loc, str(control.experiment), audit.movement_of(claim))
        for loc, claim, control in _written(audit)
        if claim.trains and runs_apart(claim, control) and control.experiment in audit.experiments
    ]
    if any(claim.trains and audit.movement_of(claim) is None for claim in audit.claims):
        yield Violation(
            ("claims",), "found runs that train; expected 'movement', which shows that they did"
        )
    told: set[tuple[Loc, str]] = set()  # a shared control is told of once
    for loc, experiment, movement in training:
        named = _named(movement) if movement is not None else ()
        missing = [name for _, name in named if audit.declaration(experiment, name) is None]
        if missing and (loc, missing[0]) not in told:
            told.add((loc, missing[0]))
            yield Violation(
                loc,
                f"found no '{missing[0]}' in experiment '{experiment}', so that nothing shows "
                "whether the control trained",
                about=missing[0],
            )


@error(
    "RA185",
    "Of several controls one alone, chosen before its result, must miss a part.",
    "Name it: 'ablation: NAME'.",
)
def _ablations_are_named(audit: Audit) -> Iterator[Violation]:
    for i, claim in enumerate(audit.claims):
        for j, check in enumerate(claim.checks if len(claim.controls) > 1 else ()):
            if check.ablation is None:
                yield Violation(
                    ("claims", i, "checks", j),
                    f"found {len(claim.controls)} controls and no 'ablation'; expected the name of "
                    "the control that must miss this part",
                )


@warning(
    "RA195",
    "An ablation by substitution runs nothing, so that no run shows what the mechanism does.",
    "Add a control that trains without the mechanism, and name it as the part's ablation.",
)
def _ablations_run_something(audit: Audit) -> Iterator[Violation]:
    told: set[Loc] = set()
    for loc, claim, control in _written(audit):
        answers = any(check.ablation in (None, control.name) for check in claim.checks)
        elsewhere = control.settings or control.experiment != claim.experiment
        if claim.trains and answers and not elsewhere and loc not in told:
            told.add(loc)
            yield Violation(
                (*loc, "substitutes"),
                "found an ablation that only reads other measurements of the claim's own runs; "
                "expected one with 'settings', which trains",
                at_key=True,
            )


@error(
    "RA187",
    "What a part's ablation must miss is named by the conditions of its kind.",
    "Name conditions of the kind, or leave 'ablation_misses' out: then it must miss all of them.",
)
def _ablations_miss_conditions(audit: Audit) -> Iterator[Violation]:
    for i, claim in enumerate(audit.claims):
        for j, check in enumerate(claim.checks):
            known = check.condition_names
            for k, name in enumerate(check.ablation_misses or ()):
                if name not in known:
                    expected = f"expected one of {shown(known)}" if known else "it has only one"
                    yield Violation(
                        ("claims", i, "checks", j, "ablation_misses", k),
                        f"found '{name}', no condition of the kind '{check.kind}'; {expected}",
                    )


@error(
    "RA186",
    "A control at another scale than its claim's may meet or miss a check for that alone.",
    "Say in 'scale_reason' why it may, or run it at the claim's scale.",
)
def _rescaled_controls_have_a_reason(audit: Audit) -> Iterator[Violation]:
    told: set[Loc] = set()  # a shared control is told of once
    for loc, claim, control in _written(audit):
        known = control.experiment in audit.experiments and claim.experiment in audit.experiments
        if control.scale_reason is not None or not known or loc in told:
            continue
        for tier in reversed(JUDGED):
            below, above = rescaled_settings(audit, claim, control, tier)
            rescaled = {**below, **above, **quick_alone(audit, claim, control, tier)}
            if rescaled:
                told.add(loc)
                name, (its, ours) = next(iter(rescaled.items()))
                yield Violation(
                    loc,
                    f"found {name} {shown(its)} at the {tier} tier, where the claim runs "
                    f"{shown(ours)}; expected a 'scale_reason'",
                )
                break


def quick_alone(audit: Audit, claim: Claim, control: Control, tier: TierName) -> Rescaled:
    """Settings that only the control's own experiment makes smaller, where the claim's does not.

    For the claim they have no scale, so that `rescaled_settings` passes over them. It may have no
    such setting at all; then the larger value is that of the control's experiment itself.
    """
    batch = control_batch(audit, claim, control, tier)
    found: Rescaled = {}
    for name, value in batch.settings(audit).items():
        setting = audit.setting_of(batch.experiment, name)
        if setting is None or value == setting.value or name in control.settings:
            continue
        ours = audit.value_of(claim.experiment, name, tier)
        larger = setting.value if ours is None else ours
        if value != larger:
            found[name] = value, larger
    return found


@error(
    "RA196",
    "A part that its ablation lacks is not told from the mechanism's absence.",
    "Keep the coordinates in the control, or say in 'scale_reason' why it has fewer.",
)
def _controls_have_every_part(audit: Audit) -> Iterator[Violation]:
    told: set[Loc] = set()
    for loc, claim, control in _written(audit):
        if control.scale_reason is not None or loc in told:
            continue
        for check in claim.checks:
            if check.each is None or check.ablation not in (None, control.name):
                continue
            lacking = _lacking(audit, claim, control, check)
            if lacking:
                told.add(loc)
                yield Violation(
                    loc,
                    f"found no {check.each} {shown(lacking[0])} in this control, where the check "
                    f"'{check.name}' has a part for it; expected every part, or a 'scale_reason'",
                )
                break


def _lacking(audit: Audit, claim: Claim, control: Control, check: Check) -> list[Coordinate]:
    """The coordinates of a check's parts that its control does not have, at some tier."""
    name = check.quantities()[0].measurement
    for tier in JUDGED:
        batch = control_batch(audit, claim, control, tier)
        own = _along(audit, claim.experiment, name, str(check.each), tier, {})
        settings = dict(batch.overrides)
        read = control.substitutes.get(name, name)
        its = _along(audit, batch.experiment, read, str(check.each), batch.tier, settings)
        if own is None or its is None:
            continue  # another rule tells of it
        judged = own if check.among is None else check.among
        here = [one for one in judged if key(one) in keys(own)]  # of others RA109 tells
        found = [one for one in here if key(one) not in keys(its)]
        if found:
            return found
    return []


def _along(
    audit: Audit,
    experiment: str,
    measurement: str,
    axis: str,
    tier: TierName,
    settings: Mapping[str, SettingValue],
) -> tuple[Coordinate, ...] | None:
    """A measurement's coordinates along an axis; None if it has none or they are at fault."""
    declaration = audit.declaration(experiment, measurement)
    for one in declaration.axes if declaration is not None else ():
        if one.name == axis:
            return coordinates(audit, experiment, one, tier, settings)
    return None
