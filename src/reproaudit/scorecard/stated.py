"""The places that state an audit's settings, and the measurements that its claims are judged by.

Neither decides. A reader needs both to hold a verdict against the paper.
"""

from __future__ import annotations

from reproaudit.audit.model import Audit, Claim, Control, Setting, TierName
from reproaudit.checks import all_quantities
from reproaudit.scorecard.model import MeasurementModel


def judged_measurements(audit: Audit, tier: TierName) -> tuple[MeasurementModel, ...]:
    """Return the measurements that claims, controls and movement are judged by.

    They stand in the audit's order, where one meaning may refer to the one before.
    """
    read = {pair for claim in audit.claims for pair in _read(audit, claim)}
    values = {experiment: audit.values_of(experiment, tier) for experiment in audit.experiments}
    return tuple(
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


def stated_at(setting: Setting) -> str | None:
    """Return the places that state a setting, or another value; of an assumption, its reason."""
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
