"""Rules of ablations: each part names the control that must miss it, and that control has moved."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reproaudit.audit.model import Audit, Claim, Control, Movement, TierName
from reproaudit.audit.plan import control_batch, runs_apart
from reproaudit.audit.rules.looks import JUDGED
from reproaudit.audit.rules.rule import Loc, Violation, error, warning
from reproaudit.audit.rules.values import shown
from reproaudit.audit.scale import Rescaled, rescaled_settings
from reproaudit.checks.measurements import MeasurementKind


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
