"""Rules of claims: their experiments, ids, weights and parts."""

from __future__ import annotations

from collections.abc import Iterator

from reproaudit.audit.model import Audit
from reproaudit.audit.rules.controls import experiments_of_controls
from reproaudit.audit.rules.names import ids_of_their_own, unknown_experiment
from reproaudit.audit.rules.rule import Violation, error, warning
from reproaudit.audit.rules.values import repeated

LEAST_WEIGHT = 0.01
"""A claim that weighs less changes no coverage that a reader could see."""


@error("RA101", "A claim is judged on an experiment of this audit.", "Name a declared experiment.")
def _experiment_exists(audit: Audit) -> Iterator[Violation]:
    for i, claim in enumerate(audit.claims):
        yield from unknown_experiment(audit, ("claims", i), claim.experiment)
    for loc, experiment in experiments_of_controls(audit):
        yield from unknown_experiment(audit, loc, experiment)


@error(
    "RA115",
    "A claim's id is permanent and unique over all audits.",
    "Begin it with the slug and a dot, and use it once.",
)
def _claim_ids(audit: Audit) -> Iterator[Violation]:
    ids = [claim.id for claim in audit.claims]
    yield from ids_of_their_own("claims", "claim", ids, audit.paper.slug)


@warning(
    "RA116",
    "Weights compare within and between papers only if the main claim weighs 1, and what weighs "
    "next to nothing is no claim.",
    "Give the main claim weight 1, and the others relative to it.",
)
def _weights_are_relative(audit: Audit) -> Iterator[Violation]:
    heaviest = max((claim.weight for claim in audit.claims), default=1.0)
    if heaviest < 1:
        yield Violation(("claims",), f"found no claim heavier than {heaviest:g}; expected one of 1")
    for i, claim in enumerate(audit.claims):
        if claim.weight < LEAST_WEIGHT:
            yield Violation(
                ("claims", i, "weight"),
                f"found {claim.weight:g}; expected at least {LEAST_WEIGHT:g}",
                "Raise it, or list the claim under 'not_audited'.",
            )


@error(
    "RA117",
    "Ablations and pages know the parts of a claim by name, for each coordinate one.",
    "Rename one of them.",
)
def _part_names_differ(audit: Audit) -> Iterator[Violation]:
    for i, claim in enumerate(audit.claims):
        names = [check.name for check in claim.checks]
        each = tuple(f"{check.name}, " for check in claim.checks if check.each)
        for j in sorted(
            {*repeated(names), *(k for k, name in enumerate(names) if name.startswith(each))}
        ):
            yield Violation(
                ("claims", i, "checks", j, "name"),
                f"found a second part '{names[j]}'; expected different names",
            )
