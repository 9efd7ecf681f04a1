"""Agreement of several reviewers: the percentage, alpha, disputes and how they are shown."""

from __future__ import annotations

import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

import factories
from rendering import render_html, render_markdown, render_register, render_scorecard
from reproaudit.audit.agreement import agreement, nominal_alpha
from reproaudit.audit.documentation import majority, reviewed_yes, score
from reproaudit.audit.variables import ReviewDecision, Variable, VariableName
from reproaudit.scorecard.model import Scorecard

# Four observers, twelve units: the example of section C of Krippendorff's note, transposed.
OBSERVERS = (
    "1 2 3 3 2 1 4 1 2 . . .",
    "1 2 3 3 2 2 4 1 2 5 . 3",
    ". 3 3 3 2 3 4 2 2 5 1 .",
    "1 2 3 3 2 4 4 1 2 5 1 .",
)


def test_alpha_is_that_of_the_published_example() -> None:
    rows = [row.split() for row in OBSERVERS]
    units = [[v for v in unit if v != "."] for unit in zip(*rows, strict=True)]
    assert nominal_alpha(units) == pytest.approx(0.743, abs=5e-4)


def test_alpha_of_two_observers_and_binary_data() -> None:
    """Section B of the note: ten units, six ones, four units unlike, alpha = 0.095."""
    first, second = "0100000000", "1110010010"
    assert nominal_alpha(list(zip(first, second, strict=True))) == pytest.approx(0.095, abs=5e-4)


@pytest.mark.parametrize(
    ("units", "alpha"),
    [
        ([], None),
        ([["a"], ["b"]], None),  # nobody judged what another judged
        ([["a", "a"], ["a", "a"]], None),  # chance expects no disagreement
        ([["a", "a"], ["b", "b"]], 1.0),
        ([["a", "b"], ["a", "b"]], -0.5),
    ],
)
def test_alpha_at_its_ends(units: list[list[str]], alpha: float | None) -> None:
    assert nominal_alpha(units) == (None if alpha is None else pytest.approx(alpha))


UNITS = st.lists(st.lists(st.sampled_from("abc"), max_size=4), max_size=8)


@given(UNITS)
def test_alpha_is_no_more_than_one_and_blind_to_order_and_names(units: list[list[str]]) -> None:
    alpha = nominal_alpha(units)
    turned = [["bca"["abc".index(v)] for v in reversed(unit)] for unit in reversed(units)]
    assert nominal_alpha(turned) == (None if alpha is None else pytest.approx(alpha))
    if alpha is not None:
        assert alpha <= 1
        alike = all(len(set(unit)) == 1 for unit in units if len(unit) > 1)
        assert (alpha == 1) == alike


# --- variables ------------------------------------------------------------------------------------


def variable(*decisions: str, card: str = "Yes", name: str = "Pseudocode") -> dict[str, Any]:
    one = factories.variable(name, card)
    review = one["reviews"][0]
    one["reviews"] = [
        {**review, "reviewer": f"R{i}", "decision": decision}
        for i, decision in enumerate(decisions, start=1)
    ]
    return one


def read(*given: dict[str, Any]) -> list[Variable]:
    return [Variable.model_validate(one, strict=False) for one in given]


@pytest.mark.parametrize(
    ("decisions", "found"),
    [
        (("agree",), ReviewDecision.AGREE),
        (("agree", "disagree"), None),
        (("disagree", "agree"), None),
        (("agree", "disagree", "not_applicable"), None),
        (("agree", "disagree", "disagree"), ReviewDecision.DISAGREE),
        (("agree", "agree", "disagree", "disagree"), None),
    ],
)
def test_a_tie_is_no_majority(decisions: tuple[str, ...], found: ReviewDecision | None) -> None:
    (one,) = read(variable(*decisions))
    assert majority(one) is found


@pytest.mark.parametrize("card", ["Yes", "No"])
def test_what_is_disputed_counts_as_the_card_has_it(card: str) -> None:
    for decisions in (("agree", "disagree"), ("disagree", "agree"), ("not_applicable", "agree")):
        (one,) = read(variable(*decisions, card=card))
        assert reviewed_yes(one) is (card == "Yes")


def test_different_decisions_that_mean_the_same_are_counted_together() -> None:
    """To disagree with a No, and to call it not applicable, both count as documented."""
    (one,) = read(variable("disagree", "not_applicable", card="No"))
    assert majority(one) is None
    assert reviewed_yes(one) is True


def test_a_single_reviewer_agrees_with_nobody() -> None:
    assert agreement(read(variable("agree"), variable("disagree"))) is None


def test_pairs_are_counted_where_there_are_two() -> None:
    found = agreement(
        read(
            variable("agree", "agree", "disagree"),
            variable("agree", "agree", name="Open Datasets"),
            variable("agree", name="Dataset Splits"),
        )
    )
    assert found is not None
    assert [(v.name, v.agreeing, v.pairs) for v in found.variables] == [
        ("Pseudocode", 1, 3),
        ("Open Datasets", 1, 1),
    ]
    assert (found.agreeing, found.pairs, found.reviewers) == (2, 4, ("R1", "R2", "R3"))
    # n = 5 values, n_c = 4 and 1; unlike pairs 4 of weight 1/2: 1 − 4 · 2 / (25 − 17).
    assert found.alpha == pytest.approx(0.0)


# --- the report -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def card() -> Scorecard:
    """A tie on the code, a lone voice on the pseudocode."""
    voices = {
        VariableName.OPEN_SOURCE_CODE: ("agree", "disagree"),
        VariableName.PSEUDOCODE: ("agree", "agree", "not_applicable"),
    }
    return factories.make_scorecard(
        variables=[
            variable(*voices.get(VariableName(one["name"]), ("agree", "agree")),
                     card=one["card"]["result"], name=one["name"])
            for one in factories.variables()
        ],
        claims=[factories.claim("layers", "good")],
        responses=[], findings=[], figures=[],
    )  # fmt: skip


def shown(card: Scorecard) -> dict[str, str]:
    out = io.StringIO()
    render_scorecard(card, Console(file=out, width=80))
    texts = {
        "terminal": out.getvalue(),
        "markdown": render_markdown(card),
        "html": render_html(card),
        "index": render_register([card]),
    }
    return {name: " ".join(text.replace("&#39;", "'").split()) for name, text in texts.items()}


def test_agreement_and_open_disagreements_are_shown_everywhere(card: Scorecard) -> None:
    found = card.documentation.agreement
    assert found is not None
    assert found.open == ("Pseudocode", "Open Source Code")
    assert (found.agreeing, found.pairs) == (8, 11)
    assert found.alpha is not None
    for name, text in shown(card).items():
        assert (
            "3 reviewers (“R1”, “R2”, “R3”) agree in 8 of 11 pairs of decisions (73 %)" in text
        ), name
        assert f"Krippendorff's alpha, nominal: {found.alpha:.2f}" in text, name
        assert "R1 agree, R2 disagree; disputed, counts as documented" in text, name
        if name != "index":
            said = "R1 agree, R2 agree, R3 not applicable; counts as most have it (agree)"
            assert said in text, name


def test_a_dispute_is_no_decision(card: Scorecard) -> None:
    one = next(v for v in card.documentation.variables if v.name == "Open Source Code")
    assert (one.decision, one.documented) == ("disputed", True)
    assert one.decisions == {"R1": "agree", "R2": "disagree"}


def test_one_reviewer_shows_no_agreement() -> None:
    for text in shown(factories.make_scorecard()).values():
        assert "Krippendorff" not in text


def test_the_score_counts_disputes_as_the_card_does(card: Scorecard) -> None:
    audit = factories.make_audit()
    scores = score(audit.variables)
    assert (scores.strict, scores.reviewed) == (2, 2)
    assert card.documentation.reviewed == card.documentation.strict == 2
