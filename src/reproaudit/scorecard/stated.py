"""Adds to a scorecard where its settings are stated, and what its numbers mean.

Neither decides. A reader needs both to hold a verdict against the paper.
"""

from __future__ import annotations

from reproaudit.audit.model import TIERS, Audit, Claim, Control, Setting
from reproaudit.checks import all_quantities
from reproaudit.scorecard.model import MeasurementModel, Scorecard


def with_sources(card: Scorecard, audit: Audit) -> Scorecard:
    """Returns a scorecard that states these; of one that states them already, the same.

    Args:
        card: the scorecard.
        audit: its audit.
    """
    if card.measurements:
        return card

    def located(experiment: str | None, name: str) -> str | None:
        if experiment is None:
            found = audit.settings.get(name)
        else:
            one = audit.experiments.get(experiment)
            found = None if one is None else one.settings.get(name)
        return None if found is None else _place(found)

    settings = tuple(
        one.model_copy(update={"locator": located(one.experiment, one.name)})
        for one in card.settings
    )
    read = {pair for claim in audit.claims for pair in _read(audit, claim)}
    tier = next(one for one in TIERS if one == card.tier)
    values = {experiment: audit.values_of(experiment, tier) for experiment in audit.experiments}
    measurements = tuple(  # in the audit's order, where one meaning may refer to the one before
        MeasurementModel(
            experiment=experiment,
            name=name,
            unit=one.unit,
            meaning=one.meaning,
            axes={axis.name: axis.coordinates(values[experiment]) for axis in one.axes},
        )
        for experiment in audit.experiments
        for name, one in audit.measurements_of(experiment).items()
        if (experiment, name) in read
    )
    return card.model_copy(update={"settings": settings, "measurements": measurements})


def _place(setting: Setting) -> str | None:
    """The places that state a setting, or another value; of an assumption, its reason."""
    said = [setting.locator or setting.why]
    said += [
        f"{one.source.replace('_', ' ')} states another value: {one.locator}"
        for one in setting.contradicted_by
    ]
    return "; ".join(filter(None, said)) or None


def _read(audit: Audit, claim: Claim) -> list[tuple[str, str]]:
    """Every measurement that a claim, or a control of it, is judged by, with its experiment."""
    movement = audit.movement_of(claim)
    names = [one.measurement for _, _, one in all_quantities(claim.checks)]
    names += [] if movement is None else [movement.parameters, movement.training_loss]
    positive = audit.positive_control_of(claim)
    controls = [*audit.controls_of(claim), *([positive] if isinstance(positive, Control) else [])]
    found = [(claim.experiment, name) for name in names]
    found += [
        (str(control.experiment), control.substitutes.get(name, name))
        for control in controls
        for name in names
    ]
    return found
