"""The nine reproducibility variables: what the card says of each, and on what evidence."""

from __future__ import annotations

from datetime import date
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from reproaudit.declarations import StrictModel


def _says_something(text: str) -> str:
    if not text.strip():
        raise PydanticCustomError("string_too_short", "found empty text; expected some")
    return text


Text = Annotated[str, Field(min_length=1), AfterValidator(_says_something)]
"""Text of at least one character that is no space."""


def at_most_words(most: int) -> AfterValidator:
    """Return a validator of a text's length."""

    def is_brief(text: str) -> str:
        if (found := len(text.split())) > most:
            context = {"found": found, "most": most}
            raise PydanticCustomError(
                "too_many_words", "found {found} words; expected at most {most}", context
            )
        return text

    return AfterValidator(is_brief)


class VariableName(StrEnum):
    """The nine reproducibility variables."""

    RESEARCH_TYPE = "Research Type"
    RESEARCHER_AFFILIATION = "Researcher Affiliation"
    PSEUDOCODE = "Pseudocode"
    OPEN_SOURCE_CODE = "Open Source Code"
    OPEN_DATASETS = "Open Datasets"
    DATASET_SPLITS = "Dataset Splits"
    HARDWARE_SPECIFICATION = "Hardware Specification"
    SOFTWARE_DEPENDENCIES = "Software Dependencies"
    EXPERIMENT_SETUP = "Experiment Setup"


UNSCORED = frozenset({VariableName.RESEARCH_TYPE, VariableName.RESEARCHER_AFFILIATION})
"""The variables that describe the paper; the other seven are scored."""


class Classification(StrictModel):
    """The automated classification of one variable, as the reproducibility card gives it."""

    result: Text
    """The card's result, for example "Yes" or "No" (in quotes), Experimental, or Academia."""
    as_of: date
    """The day on which the card was read, YYYY-MM-DD."""


class ReviewDecision(StrEnum):
    """A reviewer's answer to the card's classification."""

    AGREE = "agree"
    DISAGREE = "disagree"
    NOT_APPLICABLE = "not_applicable"


class Review(StrictModel):
    """One reviewer's decision on one variable."""

    reviewer: Text
    """The reviewer: a name, initials or a role. Each reviewer decides once on a variable."""
    decision: ReviewDecision
    """agree or disagree with the card's result; not_applicable if the paper needs no such thing,
    for example no data set because its data are generated."""
    reason: Text
    """The reason for the decision, in one sentence."""
    as_of: date
    """The day of the decision, YYYY-MM-DD."""


class Evidence(StrictModel):
    """A passage of the paper that the decision on a variable rests on."""

    statement: Text
    """The content of the passage in your own words, not a quotation."""
    locator: Text
    """The place of the passage: a section, appendix or page, or the row of the card."""


class AuthorsAnswer(StrictModel):
    """The authors' own answer about a variable, to a question of their conference's checklist."""

    answer: Literal["Yes", "No", "NA"]
    """Yes, No or NA (in quotes), as the checklist has it."""
    justification: Text | None = None
    """The authors' words, if they gave any."""
    locator: Text
    """The checklist, and the question by its number and title."""
    as_of: date
    """The day on which the checklist was read, YYYY-MM-DD."""


class Variable(StrictModel):
    """One reproducibility variable: the card's result and the evidence."""

    name: VariableName
    """The variable's name, one of the nine."""
    card: Classification
    """The automated classification on the reproducibility card."""
    authors: tuple[AuthorsAnswer, ...] = ()
    """The authors' side: their answers in a conference's checklist. They count in no score."""
    evidence: tuple[Evidence, ...] = Field(min_length=1)
    """The passages of the paper that the decisions rest on."""
