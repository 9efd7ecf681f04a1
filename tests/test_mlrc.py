"""The summary of a reproducibility report: the challenge's sections, filled and never made up."""

from __future__ import annotations

import re

from hypothesis import given, settings

import factories
from reproaudit.reports.export.mlrc import SECTIONS, TO_WRITE, mlrc_summary
from reproaudit.scorecard.elsewhere import OriginModel
from reproaudit.scorecard.model import ResponseModel, Scorecard
from test_export import ANY, replaced

CARD = factories.make_scorecard()


def sections(card: Scorecard) -> dict[str, str]:
    """The text of each section by its title."""
    _, *parts = re.split(r"^## (.*)$", mlrc_summary(card), flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def test_the_sections_are_the_challenges_in_its_order() -> None:
    assert list(sections(CARD)) == [
        "Scope of Reproducibility",
        "Methodology",
        "Results",
        "What was easy",
        "What was difficult",
        "Communication with original authors",
    ]


def test_every_claim_is_in_scope_and_has_its_result() -> None:
    found = sections(CARD)
    assert found["Scope of Reproducibility"].count("\n- ") == len(CARD.claims) + len(
        CARD.not_audited
    )
    results = found["Results"]
    for claim in CARD.claims:
        title = claim.headline or str(claim.verdict).replace("_", " ")
        assert re.search(rf"\*\*{re.escape(title)}", results, re.IGNORECASE)


def test_what_nobody_told_is_left_to_the_author() -> None:
    found = sections(CARD)
    for title in SECTIONS:
        assert (TO_WRITE in found[title]) == (title != "Scope of Reproducibility"), title
    silent = sections(CARD.model_copy(update={"responses": ()}))
    assert "holds no answer of the authors" in silent["Communication with original authors"]


def test_an_answer_of_the_authors_is_told() -> None:
    answer = ResponseModel(
        to=CARD.claims[0].id,
        by="B. Author",
        statement="We agree.",
        locator=None,
        as_of="2031-05-06",
    )
    card = CARD.model_copy(update={"responses": (answer,)})
    said = sections(card)["Communication with original authors"]
    assert "- B. Author, 2031-05-06: We agree." in said
    assert "no answer" not in said


def test_documented_variables_are_easy_and_the_others_difficult() -> None:
    found = sections(CARD)
    for variable in CARD.documentation.variables:
        is_scored = variable.name not in ("Research Type", "Researcher Affiliation")
        for title, wanted in (("What was easy", True), ("What was difficult", False)):
            told = next((line for line in found[title].splitlines() if "as reviewed" in line), "")
            expected = is_scored and variable.documented == wanted
            assert (variable.name in told) == expected, (title, variable.name)


def test_measurements_from_elsewhere_are_not_called_ours() -> None:
    origin = OriginModel(who="B. Author", source="logs", framework="JAX", made="2031-05-06",
                         settings={}, absent=())  # fmt: skip
    methodology = sections(CARD.model_copy(update={"origin": origin}))["Methodology"]
    assert "not ours: made 2031-05-06 by B. Author with JAX" in methodology
    assert "An experiment that is not given the claims was run" not in methodology


@settings(max_examples=60, deadline=None)
@given(ANY)
def test_any_text_leaves_the_sections_as_they_are(text: str) -> None:
    written = mlrc_summary(replaced(CARD, text))
    titles = [line for line in written.splitlines() if line.startswith("#")]
    assert titles[1:] == [f"## {title}" for title in SECTIONS]
    assert "<b>" not in written
