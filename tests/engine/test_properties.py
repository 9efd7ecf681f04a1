"""What holds of every answer, whatever the runs: on drawn bundles, and on drawn answers."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from bundles import (
    AGAINST_LOW,
    ALMOST,
    NO,
    ROWS,
    YES,
    ask,
    guess,
    one_claim,
    ours,
    read_as,
    records_of,
)
from factories import answers_of, make_audit
from miniatures import aligns, claim
from reproaudit.formats.verdict import DECIDED, Answer, Outcome
from reproaudit.judge.outcomes import outcome_of

ORDER = (Outcome.NOT_SUPPORTED, Outcome.UNDECIDED, Outcome.PARTLY_SUPPORTED, Outcome.SUPPORTED)
RISING = ((Answer.NO,), (Answer.NEAR, Answer.OPEN), (Answer.YES,))
SILENT = tuple(set(Answer) - {Answer.YES, Answer.NO})

ANSWERS = st.lists(st.sampled_from(Answer), min_size=1, max_size=4)
CREDIBLE = st.sets(st.sampled_from(Answer))
ROW = st.sampled_from([YES, ALMOST, NO, "diverged", "failed"])
RUNS = st.builds(lambda row, n, rest: [row] * n + rest, ROW, st.integers(0, 15), st.lists(ROW))
SMALL = settings(max_examples=12)


def never_down(before: Outcome, after: Outcome) -> None:
    """An answer does not move down the order; outcomes outside of it are skipped."""
    if before in ORDER and after in ORDER:
        assert ORDER.index(after) >= ORDER.index(before), (before, after)


def apart(rows: list[Any], by: float) -> list[Any]:
    """The rows with no two equal numbers."""
    return [
        row * (1 + by * place) if isinstance(row, float) else row
        for place, row in enumerate(rows, 1)
    ]


# --- of answers -----------------------------------------------------------------------------------


@given(ANSWERS, CREDIBLE, st.booleans(), st.data())
def test_a_reading_that_rises_moves_no_outcome_down(stated, credible, lacks, data):
    place = data.draw(st.integers(0, len(stated) - 1))
    step = data.draw(st.integers(0, 1))
    outcomes = []
    for level in (step, step + 1):
        stated[place] = data.draw(st.sampled_from(RISING[level]))
        outcomes.append(outcome_of(stated, stated[0], credible, lacks_support=lacks))
    never_down(*outcomes)


@given(ANSWERS, CREDIBLE, st.booleans(), st.data())
def test_which_stated_reading_stands_first_changes_no_outcome(stated, credible, lacks, data):
    """Alternatives belong to the own reading; where none says yes or no, any may be that."""
    other = data.draw(st.permutations(stated))
    own = data.draw(st.sampled_from(stated))
    outcome = outcome_of(stated, own, credible, lacks_support=lacks)
    assert outcome_of(other, own, credible, lacks_support=lacks) is outcome
    quiet = credible & set(SILENT)
    outcomes = {outcome_of(other, own, quiet, lacks_support=lacks) for own in stated}
    assert len(outcomes) == 1


@given(ANSWERS, CREDIBLE, CREDIBLE, st.booleans())
def test_alternatives_turn_no_answer_round(stated, few, more, lacks):
    """What ran beside the stated readings can make an answer depend or leave it open, no more."""
    before, after = (
        outcome_of(stated, stated[0], others, lacks_support=lacks) for others in (few, few | more)
    )
    told = before is after or after is Outcome.DEPENDS
    assert told or (before, after) == (Outcome.NOT_SUPPORTED, Outcome.UNDECIDED)


# --- of bundles -----------------------------------------------------------------------------------


@SMALL
@given(
    RUNS.filter(lambda runs: len(runs) >= 5),
    st.sampled_from(sorted(ROWS)),
    st.integers(0, 5),
    st.sampled_from([NO, "diverged"]),
    st.booleans(),
)
def test_one_yes_more_moves_no_answer_down(own, other, passed, fails, guessed):
    """Of runs that are enough; before, there is no answer that could move."""
    audit = one_claim(steps=read_as(20), pause=guess(1.0) if guessed else None)
    runs = {"stays": [YES] * passed + [fails] * (5 - passed), "steps=20": ROWS[other]}
    before, after = (ask(audit, {**runs, "own": rows}) for rows in (own, [*own, YES]))
    never_down(before.outcome, after.outcome)


@SMALL
@given(RUNS.filter(lambda runs: len(runs) >= 5), RUNS.filter(lambda runs: len(runs) >= 5))
def test_one_yes_more_moves_no_comparison_of_groups_down(own, other):
    """Of numbers that differ: where many are equal, the exact ranks are coarse, and it may."""
    own = apart(own, 1e-6)
    other = apart(other, 1e-7)
    audit = one_claim(headline=[{**AGAINST_LOW, "paired": False}], nulls=[])
    runs = {"low": [None] * 20 + other}
    before, after = (ask(audit, {**runs, "own": rows}) for rows in (own, [*own, 0.001]))
    never_down(before.outcome, after.outcome)


@SMALL
@given(RUNS, RUNS, st.sampled_from([0.1, 0.2, 0.6]), st.floats(1, 4), st.booleans())
def test_a_looser_bound_moves_no_answer_down(own, other, at, by, mine):
    """The controls say the same: they end far from any of these bounds, which the start misses."""
    runs = {"own": own, "steps=20": other, "stays": [9.0] * 5, "built": [0.001] * 5}
    bounds = (ours(bound_at) if mine else aligns(bound_at) for bound_at in (at, min(at * by, 0.99)))
    never_down(
        *(ask(one_claim(headline=[bound], steps=read_as(20)), runs).outcome for bound in bounds)
    )


@SMALL
@given(RUNS, RUNS, st.integers(0, 5), st.integers(0, 5), st.sampled_from([0.001, 0.05, 0.3]))
def test_own_value_and_reading_may_change_places(own, other, passed, passed_there, support):
    runs = {
        "own": own,
        "steps=20": other,
        "stays": [YES] * passed + [NO] * (5 - passed),
        "stays/steps=20": [YES] * passed_there + [NO] * (5 - passed_there),
    }
    audit = one_claim(steps=read_as(20), support=[ours(support)])
    swapped = one_claim(steps={**read_as(40), "value": 20}, support=[ours(support)])
    records = records_of(audit, {"built": [0.001] * 5, "built/steps=20": [0.001] * 5, **runs})
    first, second = (answers_of(asked, records)["one"] for asked in (audit, swapped))
    assert first.outcome is second.outcome
    if own and other:
        there = {reading.answer for reading in second.stated}
        assert {reading.answer for reading in first.stated} == there


BY_SIZE = ours(measurement="by_size")
HEADLINES = [[BY_SIZE], [{**BY_SIZE, "standard": "mean"}], [ours(), BY_SIZE], [AGAINST_LOW]]
MORE: list[dict[str, Any]] = [{}, {"share": 0.9}, {"exact": True}, {"support": [ours()]}]


@SMALL
@given(RUNS, RUNS, st.sampled_from(HEADLINES), st.sampled_from(MORE), st.booleans())
def test_every_bundle_has_an_answer(own, other, headline, more, graded):
    """No runs, of whatever status, stop the judging; and what is decided has a certainty."""
    grade = {"axis": "size", "symbol": "n", "easiest_first": [1, 2], "primary": [1, 2]}
    audit = one_claim(
        headline=headline,
        grade=grade if graded and headline != [AGAINST_LOW] else None,
        steps=read_as(20),
        pause=guess(1.0),
        ablations=[{"arm": "low", "lacks": "B"}],
        **more,
    )
    runs = {"own": own, "steps=20": other, "pause=1": other, "low": own, "built": other}
    answer = ask(audit, runs, lower={"pause=1": own, "own": other})
    assert (answer.level is not None) == (answer.outcome in DECIDED)
    assert answer.reasons or answer.level == "high"


@SMALL
@given(RUNS)
def test_a_question_of_ours_changes_no_other_answer(own):
    audit = one_claim()
    question = claim("mini", "two", headline=[aligns(0.001)], ours=True)
    asked = make_audit(claims=[{**question, "main": True}]).claims[0]
    more = audit.model_copy(update={"claims": (*audit.claims, asked)})
    records = records_of(audit, {"own": own, "stays": [0.8] * 5})
    assert answers_of(more, records)["one"] == answers_of(audit, records)["one"]
