"""Sentences about reviews: documentation scores, agreement of reviewers, and their disputes."""

from __future__ import annotations

from reproaudit.audit.documentation import SharingType
from reproaudit.reports.numbers import percent
from reproaudit.reports.phrasing import words
from reproaudit.scorecard.documentation import AgreementModel, DocumentationModel, VariableModel
from reproaudit.scorecard.model import (
    DisputeModel,
    Scorecard,
)
from reproaudit.scorecard.verdicts import complete

SHARING = complete(
    SharingType,
    {
        SharingType.DESCRIPTION: "text only",
        SharingType.CODE: "code, no data",
        SharingType.DATA: "data, no code",
        SharingType.EXPERIMENT: "code and data",
    },
)
DISPUTED = "disputed"


def disputes_of_claim(scorecard: Scorecard, claim: str) -> list[DisputeModel]:
    """Returns the disputes of a claim, its tolerances and its controls."""
    return [one for one in scorecard.disputes if one.claim == claim]


def dispute_words(dispute: DisputeModel) -> str:
    """Returns what is disputed, by whom, when and why."""
    about = "the claim as it is stated"
    if dispute.source is not None:
        about = f"the source of {dispute.source}"
    elif dispute.tolerance is not None:
        about = f"the tolerance of '{dispute.tolerance}'"
    elif dispute.control is not None:
        positive = dispute.control == "positive"
        about = "the positive control" if positive else f"control {dispute.control}"
    return f"{about}, by {dispute.reviewer}, {dispute.as_of}: {dispute.reason}"


def agreement_words(agreement: AgreementModel) -> str:
    """Returns how far the reviewers agree: a count, a percentage, and alpha."""
    share = 100 * agreement.agreeing / agreement.pairs
    alpha = "not defined, since every decision is the same"
    if agreement.alpha is not None:
        alpha = f"{agreement.alpha:.2f}"
    names = ", ".join(f"“{one}”" for one in agreement.reviewers)
    return (
        f"{len(agreement.reviewers)} reviewers ({names}) agree in "
        f"{agreement.agreeing} of {agreement.pairs} pairs of decisions ({share:.0f} %) on "
        f"{len(agreement.variables)} variables; Krippendorff's alpha, nominal: {alpha}"
    )


def open_disagreements(documentation: DocumentationModel) -> dict[str, str]:
    """Returns the variables on which reviewers disagree: who says what, and how it counts."""
    if documentation.agreement is None:
        return {}
    still_open = set(documentation.agreement.open)
    return {v.name: disagreement(v) for v in documentation.variables if v.name in still_open}


def disagreement(variable: VariableModel) -> str:
    """Returns who decided what on a variable, and how it counts."""
    said = ", ".join(f"{who} {words(what)}" for who, what in variable.decisions.items())
    if variable.decision == DISPUTED:
        counts = "documented" if variable.documented else "not documented"
        return f"{said}; disputed, counts as {counts}"
    return f"{said}; counts as most have it ({words(variable.decision)})"


def score_words(documentation: DocumentationModel) -> str:
    """Returns how many variables are documented, by the card and as reviewed."""
    strict, reviewed, of = documentation.strict, documentation.reviewed, documentation.of
    return f"{strict} of {of} variables by the card, {reviewed} of {of} as reviewed"


def rate_words(documentation: DocumentationModel) -> str:
    """Returns the published rate at which papers of this sharing type were reproduced."""
    shared = documentation.sharing_type
    kind = f"{shared} ({SHARING[SharingType(shared)]})"
    rate = documentation.published_rate
    if rate is None:
        return f"Sharing type {kind}. No reproduction rate is known for this type."
    return (
        f"Sharing type {kind}: {rate['reproduced']} of {rate['of']} such papers were reproduced "
        f"({percent(rate['confidence'])} {rate['method']} interval "
        f"{100 * rate['low']:.0f}–{100 * rate['high']:.0f} %; {rate['source']}). "
        f"So few papers say little about any single one."
    )
