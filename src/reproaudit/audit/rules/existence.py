"""Rules of claims that something exists: nothing is trained, and nothing is drawn."""

from __future__ import annotations

from collections.abc import Iterator

from reproaudit.audit.model import Audit, Claim, Control
from reproaudit.audit.rules.rule import Violation, error
from reproaudit.declarations import MeasurementKind


@error(
    "RA188",
    "Movement is only waived where nothing is trained, so that a second run can give no other "
    "number.",
    "Remove 'trains: false', or judge an experiment that only builds and counts.",
)
def _existence_claims_train_nothing(audit: Audit) -> Iterator[Violation]:
    trained_for = {one.experiment: one.id for one in audit.claims if one.trains}
    for i, claim in enumerate(audit.claims):
        if claim.trains:
            continue
        place = ("claims", i, "trains")
        for j, check in enumerate(claim.checks):
            if check.over != "every_seed":
                yield Violation(
                    ("claims", i, "checks", j),
                    "found a check over the mean of a claim with 'trains: false'; expected "
                    "'over: every_seed', since what exists is the same in every run",
                    "Add 'over: every_seed', or remove 'trains: false'.",
                )
        for experiment in _experiments(audit, claim):
            sign = _sign_of_training(audit, experiment)
            if sign is None and experiment in trained_for:
                sign = f"the claim '{trained_for[experiment]}', which trains, reads it too"
            if sign is not None:
                yield Violation(
                    place,
                    f"found false, although experiment '{experiment}' trains: {sign}",
                    at_key=True,
                )


def _experiments(audit: Audit, claim: Claim) -> list[str]:
    """The experiments that a claim reads, its own and its controls', each once."""
    named = [claim.experiment]
    for entry in (*claim.controls, claim.positive_control):
        if isinstance(entry, Control) or (isinstance(entry, str) and entry in audit.controls):
            named.append(str(audit.control(claim, entry).experiment))
    return [one for one in dict.fromkeys(named) if one in audit.experiments]


def _sign_of_training(audit: Audit, experiment: str) -> str | None:
    """The sign by which an experiment shows that it trains, in words; None if it shows none."""
    for moved in (audit.movement, *(claim.movement for claim in audit.claims)):
        for name in (moved.parameters, moved.training_loss) if moved is not None else ():
            if audit.declaration(experiment, name) is not None:
                return f"it measures '{name}', how far training moved"
    for name, declaration in audit.measurements_of(experiment).items():
        if declaration.kind is MeasurementKind.SERIES:
            return f"'{name}' is a series over training steps"
    return None
