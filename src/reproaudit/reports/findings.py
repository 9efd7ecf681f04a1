"""Sentences about findings, and about what authors answered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reproaudit.reports.numbers import number, value_words
from reproaudit.scorecard.model import ClaimModel, ResponseModel, Scorecard


def effect_words(finding: Mapping[str, Any]) -> str:
    """Returns the measured effect of a finding, in words and numbers."""
    said = [str(finding["effect"])] if finding.get("effect") else []
    for one in finding.get("effects") or ():
        said.append(
            f"{one['claim']} with {one['setting']} = {value_words(one['value'])}: {one['found']}, "
            f"a difference of {number(one['difference'])} [{number(one['low'])}, "
            f"{number(one['high'])}] on the scale of the claim ({one['tier']} tier, "
            f"{one['as_of']})."
        )
    return " ".join(said) or "not measured"


def _claims_in(finding: Mapping[str, Any]) -> list[str]:
    return list(
        dict.fromkeys([*finding["claims"], *(e["claim"] for e in finding.get("effects", ()))])
    )


def findings_about(scorecard: Scorecard, claim: ClaimModel) -> list[tuple[int, str]]:
    """Returns the findings that may affect a claim: number on the scorecard and id."""
    return [
        (number, str(one["id"]))
        for number, one in enumerate(scorecard.findings, start=1)
        if claim.id in _claims_in(one)
    ]


def claims_named(scorecard: Scorecard, finding: Mapping[str, Any]) -> list[tuple[int | None, str]]:
    """Returns the claims that a finding names: number, None if it is not on the card, and id."""
    numbers = {claim.id: number for number, claim in enumerate(scorecard.claims, start=1)}
    return [(numbers.get(one), one) for one in _claims_in(finding)]


def responses_to(scorecard: Scorecard, identifier: str) -> list[ResponseModel]:
    """Returns the answers to a finding or a verdict, the earliest first."""
    found = [one for one in scorecard.responses if one.to == identifier]
    return sorted(found, key=lambda one: one.as_of)


def response_words(response: ResponseModel) -> str:
    """Returns who answered when and what, and where it is published."""
    where = f" ({response.locator})" if response.locator else ""
    return f"{response.by}, {response.as_of}: {response.statement}{where}"
