"""What reviewers and authors say, in the words of a page."""

from __future__ import annotations

from datetime import date

import pytest

from factories import make_audit, make_scorecard
from miniatures import audit_data
from reproaudit.audit.model import VariableName
from reproaudit.audit.review import (
    Dispute,
    Note,
    Response,
    Review,
    ReviewDecision,
    Reviews,
    SignOff,
    version_of,
)
from reproaudit.formats.scorecard import Scorecard
from reproaudit.formats.verdict import Outcome
from reproaudit.report.making import decisions, note_words, opinions
from reproaudit.scorecard.answers import with_reviews

DAY = date(2026, 11, 26)
EARLIER = date(2026, 11, 2)


FIRST, *OTHERS = audit_data()["claims"]


def reviewed(**said: object) -> Scorecard:
    return make_scorecard().model_copy(update={"reviews": Reviews(**said)})  # type: ignore[arg-type]


def test_nobody_has_said_anything() -> None:
    card = reviewed()
    assert (decisions(card), opinions(card)) == ([], [])


def test_decisions_come_in_the_order_of_the_variables() -> None:
    said = {"decision": ReviewDecision.NOT_APPLICABLE, "as_of": DAY}
    first = Review(reviewer="R1", reason="drawn anew", **said)  # type: ignore[arg-type]
    second = Review(reviewer="R2", decision=ReviewDecision.AGREE, reason="so", as_of=EARLIER)
    variables = {VariableName.DATASET_SPLITS: (first,), VariableName.PSEUDOCODE: (second,)}
    assert decisions(reviewed(variables=variables)) == [
        "Pseudocode: R2, 2026-11-02, agree. so",
        "Dataset Splits: R1, 2026-11-26, not applicable. drawn anew",
    ]


def test_a_dispute_has_its_answers_and_other_answers_and_sign_offs_follow() -> None:
    one, two = (claim for claim in make_audit().claims[:2])
    card = reviewed(
        disputes=(
            Dispute(claim=one.id, reviewer="R1", reason="too loose", as_of=DAY),
            Dispute(source="steps", reviewer="R2", reason="too few", as_of=EARLIER),
            Dispute(arm="no_such_arm", reviewer="R2", reason="it learns", as_of=DAY),
            Dispute(claim="mini.gone", reviewer="R2", reason="it was there", as_of=DAY),
        ),
        responses=(
            Response(to=one.id, by="A. Author", statement="we see it", as_of=DAY),
            Response(to=two.id, by="A. Author", statement="yes", locator="a forum", as_of=DAY),
        ),
        sign_offs=(
            SignOff(reviewer="R1", version=version_of(make_scorecard().audit), as_of=DAY),
            SignOff(reviewer="R2", version="0" * 32, as_of=EARLIER),
        ),
    )
    assert opinions(card) == [
        "R2, 2026-11-02, disputes the setting “steps”: too few",
        f"R1, 2026-11-26, disputes the claim “{one.short}”: too loose "
        "A. Author, 2026-11-26: we see it",
        "R2, 2026-11-26, disputes the arm “no such arm”: it learns",
        "R2, 2026-11-26, disputes the claim “mini.gone”: it was there",
        f"A. Author, 2026-11-26, on “{two.short}”: yes",
        "R2, 2026-11-02, signed off another version of the audit.",
        "R1, 2026-11-26, signed off this version of the audit.",
    ]
    read = Scorecard.model_validate_json(card.model_dump_json(by_alias=True, exclude_unset=True))
    assert opinions(read) == opinions(card), "also once it was a file"


REVERSED = [
    ("says", "It does not."),
    ("short", "it does not"),
    ("headline", [{**FIRST["headline"][0], "at_most": 0.2}]),
]


@pytest.mark.parametrize(("field", "value"), REVERSED)
def test_a_note_is_stale_once_a_sentence_or_a_bound_of_a_claim_is_another(
    field: str, value: object
) -> None:
    note = Note(reviewer="R1", text="So.", answers=make_scorecard().answers_digest, as_of=DAY)
    card = reviewed(note=note)
    assert not card.note_is_stale
    audit = make_audit(claims=[{**FIRST, field: value}, *OTHERS])
    assert card.model_copy(update={"audit": audit}).note_is_stale
    provenance = make_audit(claims=[{**FIRST, "locator": "elsewhere"}, *OTHERS])
    assert not card.model_copy(update={"audit": provenance}).note_is_stale


def test_a_note_is_stale_once_an_answer_has_changed() -> None:
    note = Note(reviewer="R1", text="So.", answers=make_scorecard().answers_digest, as_of=DAY)
    card = with_reviews(make_scorecard(), Reviews(note=note))
    assert card.head.note is not None
    assert note_words(card.head.note) == "opinion of R1, 2026-11-26"
    first = card.claims[0]
    runs = first.base.runs[1:]
    for changed in (
        first.model_copy(update={"outcome": Outcome.UNDECIDED}),
        first.model_copy(update={"base": first.base.model_copy(update={"runs": runs})}),
    ):
        other = card.model_copy(update={"claims": (changed, *card.claims[1:])})
        stale = with_reviews(other, card.reviews).head.note
        assert stale is not None
        assert note_words(stale).endswith("; claims or answers have changed since")
