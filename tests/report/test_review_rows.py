"""What reviewers and authors say, as rows for a page, and the rule of a claim in words."""

from __future__ import annotations

from datetime import date

from factories import make_audit, make_scorecard
from reproaudit.audit.model import (
    Dispute,
    Note,
    Response,
    Review,
    ReviewDecision,
    Reviews,
    SignOff,
    VariableName,
    version_of,
)
from reproaudit.report.reviews import (
    AnswerRow,
    DecisionRow,
    DisputeRow,
    NoteRow,
    SignOffRow,
    answer_rows,
    decision_rows,
    dispute_rows,
    note_row,
    sign_off_rows,
)
from reproaudit.verdict import Outcome, Scorecard

DAY = date(2026, 11, 26)
EARLIER = date(2026, 11, 2)


def reviewed(**said: object) -> Scorecard:
    return make_scorecard().model_copy(update={"reviews": Reviews(**said)})  # type: ignore[arg-type]


def test_nobody_has_said_anything() -> None:
    card = reviewed()
    assert (decision_rows(card), dispute_rows(card), answer_rows(card)) == ([], [], [])
    assert (sign_off_rows(card), note_row(card)) == ([], None)


def test_decisions_come_in_the_order_of_the_variables() -> None:
    card = reviewed(
        variables={
            VariableName.DATASET_SPLITS: (
                Review(
                    reviewer="R1",
                    decision=ReviewDecision.NOT_APPLICABLE,
                    reason="drawn anew",
                    as_of=DAY,
                ),
            ),
            VariableName.PSEUDOCODE: (
                Review(reviewer="R2", decision=ReviewDecision.AGREE, reason="so", as_of=EARLIER),
            ),
        }
    )
    assert decision_rows(card) == [
        DecisionRow("Pseudocode", "R2", "agree", "so", EARLIER),
        DecisionRow("Dataset Splits", "R1", "not applicable", "drawn anew", DAY),
    ]


def test_a_dispute_has_its_answers_and_other_answers_stand_apart() -> None:
    one, two = (claim for claim in make_audit().claims[:2])
    answer = Response(to=one.id, by="A. Author", statement="we see it", as_of=DAY)
    apart = Response(to=two.id, by="A. Author", statement="yes", locator="a forum", as_of=DAY)
    card = reviewed(
        disputes=(
            Dispute(claim=one.id, reviewer="R1", reason="too loose", as_of=DAY),
            Dispute(source="steps", reviewer="R2", reason="too few", as_of=EARLIER),
            Dispute(arm="no_such_arm", reviewer="R2", reason="it learns", as_of=DAY),
            Dispute(claim="mini.gone", reviewer="R2", reason="it was there", as_of=DAY),
        ),
        responses=(answer, apart),
    )
    rows = dispute_rows(card)
    assert [(row.kind, row.about) for row in rows] == [
        ("setting", "steps"),
        ("claim", one.short),
        ("arm", "no such arm"),
        ("claim", "mini.gone"),
    ]
    said = AnswerRow(one.short, "A. Author", "we see it", "", DAY)
    assert rows[1] == DisputeRow("claim", one.short, "R1", "too loose", DAY, [said])
    assert [list(row.answers) for row in (rows[0], *rows[2:])] == [[], [], []]
    assert answer_rows(card) == [AnswerRow(two.short, "A. Author", "yes", "a forum", DAY)]


def test_a_sign_off_is_of_this_version_or_of_another() -> None:
    version = version_of(make_scorecard().audit)
    card = reviewed(
        sign_offs=(
            SignOff(reviewer="R1", version=version, as_of=DAY),
            SignOff(reviewer="R2", version="0" * 32, as_of=EARLIER),
        )
    )
    assert sign_off_rows(card) == [SignOffRow("R2", EARLIER, False), SignOffRow("R1", DAY, True)]
    read = Scorecard.model_validate_json(card.model_dump_json(by_alias=True, exclude_unset=True))
    assert sign_off_rows(read) == sign_off_rows(card), "also once it was a file"


def test_a_note_is_stale_once_an_answer_has_changed() -> None:
    answers = make_scorecard().answers_digest
    card = reviewed(note=Note(reviewer="R1", text="It holds.", answers=answers, as_of=DAY))
    assert note_row(card) == NoteRow("R1", "It holds.", DAY, False)
    first = card.claims[0]
    runs = first.base.runs[1:]
    for changed in (
        first.model_copy(update={"outcome": Outcome.UNDECIDED}),
        first.model_copy(update={"base": first.base.model_copy(update={"runs": runs})}),
    ):
        other = card.model_copy(update={"claims": (changed, *card.claims[1:])})
        row = note_row(other)
        assert row is not None
        assert row.is_stale
