"""The head: a verdict, a line a claim, the choices that matter, and what to ask."""

from __future__ import annotations

import itertools
import re
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from factories import STEPS, make_audit, make_record
from miniatures import aligns, audit_data, claim, setting
from reproaudit.audit.review import Note, Reviews
from reproaudit.cell import Cell
from reproaudit.formats.numbers import at_words
from reproaudit.formats.scorecard import ClaimLine, Scorecard
from reproaudit.formats.verdict import Outcome
from reproaudit.records import Measurements, Record, Series
from reproaudit.report.pages import html, letter, markdown
from reproaudit.report.terminal import report_lines
from reproaudit.scorecard.answers import with_reviews
from reproaudit.scorecard.claims import texts_of
from reproaudit.scorecard.files import read_scorecard
from reproaudit.scorecard.lines import MOST_LINE_WORDS, sides_of
from reproaudit.scorecard.verdict import MOST_HEAD_WORDS, clauses_of, words_in
from reproaudit.stats.binomial import Decision
from scorecard.test_rows import graded, one_claim, scorecard

ROOT = Path(__file__).parents[2]
PAPERS = sorted((ROOT / "reports" / "paper").glob("*/scorecard.json"))


def line(card: Scorecard, name: str = "shown") -> ClaimLine:
    return next(one for one in card.head.claims if one.name == name)


def with_readings(*readings: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """The audit's settings, of which `level` has other sources."""
    level = setting(0.02, readings=list(readings), **fields)
    return {"settings": {**audit_data()["settings"], "level": level}}


CODE = {"value": 0.5, "source": "authors_code", "locator": "Line 1"}


# --- lines ----------------------------------------------------------------------------------------


def test_what_depends_says_first_what_holds_and_names_every_source() -> None:
    also = [{"source": "card", "locator": "row Setup"}]
    card = scorecard(one_claim(readings=["level"], audit=with_readings(CODE, also_at=also)))
    assert line(card).outcome is Outcome.DEPENDS
    assert line(card).text == (
        "holds with level 0.02 (paper, card), 6 of 6; not with level 0.5 (code), 0 of 6"
    )
    assert line(card).level is None, "it has no certainty"
    (answer,) = card.answers
    assert answer.certainty == ()
    assert answer.runs == "6 of 6 with level 0.02, 0 of 6 with level 0.5"
    (choice,) = card.head.choices
    assert (choice.value, choice.others) == ("0.02 (paper, card)", ("0.5 (code)",))
    (effect,) = choice.effects
    assert (effect.yes, effect.n) == ((6, 0), (6, 6))
    assert effect.text == "the distance vanishes: 6 → 0 of 6, distance 0.019 → 0.48"
    (question,) = card.head.questions
    assert question.text == "Level: 0.02 (paper, card) or 0.5 (code)?"


def test_otherwise_stands_only_where_all_other_stated_values_end_alike() -> None:
    near = {**CODE, "value": 0.015}
    for readings, ends in (([CODE], "otherwise"), ([CODE, near], "with level 0.5")):
        card = scorecard(one_claim(readings=["level"], audit=with_readings(*readings)))
        assert line(card).outcome is Outcome.DEPENDS
        (text,) = texts_of(card.audit, card.claims, "paper")
        assert sides_of(text)[1].briefest == ends


ZHANG = {"value": 0.5, "source": "reproduction", "who": "Zhang et al. 2022", "locator": "§2"}


def test_a_side_has_its_name_wherever_its_value_stands() -> None:
    also = [{"source": "authors_code", "who": "torchlib", "locator": "adam.py"}]
    stated = with_readings({**ZHANG, "also_at": also}, who="Kingma 2015")
    card = scorecard(one_claim(readings=["level"], audit=stated))
    theirs = "level 0.5 (Zhang et al. 2022, torchlib)"
    assert (
        line(card).text == f"holds with level 0.02 (Kingma 2015), 6 of 6; not with {theirs}, 0 of 6"
    )
    (choice,) = card.head.choices
    assert (choice.value, choice.others) == ("0.02 (Kingma 2015)", (theirs.removeprefix("level "),))
    assert theirs in card.head.verdict[0]
    for page in (markdown(card), html(card), letter(card), "\n".join(report_lines(card, 400))):
        assert "Zhang et al. 2022" in page
        assert "reproduction" not in page


def test_of_a_guess_a_line_names_it_and_says_that_nobody_states_it() -> None:
    card = scorecard(one_claim(experiment="guessed"), _alternatives_at_the_paper_tier)
    assert line(card).outcome is Outcome.DEPENDS
    assert line(card).text == "holds as run, 6 of 6; not with level 0.3, another guess, 0 of 5"
    (choice,) = card.head.choices
    assert choice.guess
    assert choice.value == "0.05 (our guess)"


def _alternatives_at_the_paper_tier(cell: Cell) -> Record:
    return make_record(cell)


@pytest.mark.parametrize(
    ("change", "asked"),
    [
        ({"ask": "Is 0.02 a misprint?"}, ["Is 0.02 a misprint?"]),
        ({"ours": True}, []),
        ({}, ["Level: 0.02 (paper) or 0.5 (code)?"]),
    ],
)
def test_a_question_is_in_the_words_of_the_audit(change: dict[str, Any], asked: list[str]) -> None:
    card = scorecard(one_claim(readings=["level"], audit=with_readings(CODE, **change)))
    assert [question.text for question in card.head.questions] == asked


@pytest.mark.parametrize("ask", [None, "Which level is meant?"])
def test_a_difference_between_papers_is_a_question_where_the_audit_asks(ask: str | None) -> None:
    stated = with_readings(ZHANG, **({"ask": ask} if ask else {}))
    card = scorecard(one_claim(readings=["level"], audit=stated))
    assert card.head.choices
    assert [question.text for question in card.head.questions] == ([ask] if ask else [])


def test_a_choice_goes_from_the_value_as_run_to_another() -> None:
    stated = {"settings": {**audit_data()["settings"], "level": setting(0.5, readings=[BELOW])}}
    card = scorecard(one_claim(readings=["level"], audit=stated))
    (choice,) = card.head.choices
    assert (choice.value, choice.others) == ("0.5 (paper)", ("0.02 (code)",))
    assert (choice.effects[0].yes, choice.effects[0].counts) == ((0, 6), "0 → 6 of 6")


BELOW = {"value": 0.02, "source": "authors_code", "locator": "Line 1"}


def test_two_experiments_of_the_paper_are_no_question() -> None:
    both = {**CODE, "source": "paper"}
    card = scorecard(one_claim(readings=["level"], audit=with_readings(both)))
    assert card.head.choices
    assert not card.head.questions


def test_a_value_that_we_ask_is_said_to_be_ours_and_is_no_question() -> None:
    asked = {**CODE, "source": "derived", "ours": True}
    card = scorecard(one_claim(readings=["level"], audit=with_readings(asked)))
    assert [choice.others for choice in card.head.choices] == [("0.5 (ours)",)]
    assert not card.head.questions


def test_an_excused_reading_is_no_question() -> None:
    excused = {**CODE, "value": 0.03, "excused": "It cannot matter."}
    card = scorecard(one_claim(readings=["level"], audit=with_readings(excused)))
    assert not card.head.questions
    assert not card.head.choices


def test_other_guesses_with_as_few_runs_are_named_with_what_leaves_them_open() -> None:
    card = read_scorecard(ROOT / "reports" / "paper" / "yang2025" / "scorecard.json")
    effects = [effect for choice in card.head.choices for effect in choice.effects]
    (text,) = [effect.text for effect in effects if effect.claim == "yang2025.pictures"]
    others = ("training samples 100", "unscaled pixels")
    assert text.endswith("".join(f"; the same with {other} (unfinished)" for other in others))


# --- scale ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stand_ins", "scale"),
    [
        ((), "the paper's own scale"),
        (("descent",), "the paper's own scale but for “descent ends”"),
        (("descent", "other"), "partly the paper's scale"),
        (("descent", "guessed", "other"), "our largest scale"),
    ],
)
def test_the_scale_is_the_papers_own_where_nothing_stands_in(
    stand_ins: tuple[str, ...], scale: str
) -> None:
    def measured(cell: Cell) -> Record:
        proxy = "300 steps in place of 10,000" if cell.experiment in stand_ins else None
        return make_record(cell, proxy=proxy)

    experiments = audit_data()["experiments"]
    experiments["other"] = experiments["descent"]
    claims = [claim("mini", name, experiment=name, short=f"{name} ends") for name in experiments]
    card = scorecard(make_audit(claims=claims, experiments=experiments), measured)
    assert card.head.scale == scale
    said = [answer.claim for answer in card.answers if "Stand-in" in dict(answer.facts)]
    assert said == [f"mini.{name}" for name in stand_ins]


def test_a_claim_that_sets_a_number_lower_than_the_paper_is_reduced() -> None:
    reduced = claim("mini", "reduced", settings={"steps": 20}, short="on a task it ends")
    card = scorecard(make_audit(claims=[claim("mini", "whole", main=True), reduced]))
    assert card.head.scale == "the paper's own scale but for “on a task it ends”"


@pytest.mark.parametrize(("slug", "scale"), [("wei2022", "stand-in"), ("yang2025", "own")])
def test_what_turns_on_stand_ins_alone_is_not_at_the_papers_scale(slug: str, scale: str) -> None:
    card = read_scorecard(ROOT / "reports" / "paper" / slug / "scorecard.json")
    assert {choice.scale for choice in card.head.choices} == {scale}


# --- counts and order -----------------------------------------------------------------------------


def four_claims() -> Scorecard:
    claims = [
        claim("mini", "held"),
        claim("mini", "main", main=True),
        claim("mini", "missed", headline=[aligns(0.002)]),
        claim("mini", "coded", whose="code"),
        claim("mini", "derived", whose="derived", headline=[aligns(0.002)]),
        claim("mini", "asked", ours=True),
    ]
    return scorecard(make_audit(claims=claims))


def test_the_verdict_counts_the_papers_own_claims() -> None:
    card = four_claims()
    counts = card.head.counts
    assert sum(counts.paper.values()) == len(card.head.own) == len(card.of_paper) == 3
    assert counts.others == {Outcome.SUPPORTED: 1, counts_outcome(card, "derived"): 1}
    assert counts.questions == {Outcome.SUPPORTED: 1}
    first, second = card.head.verdict
    assert first == "The main claim holds, 6 of 6: the distance vanishes."
    assert second.endswith("1 more holds.")
    assert card.head.fold.startswith("Apart: 1 claim of the code alone (1 holds); 1 claim that we")


def counts_outcome(card: Scorecard, name: str) -> Outcome:
    return line(card, name).outcome


def test_a_count_of_claims_apart_names_what_they_miss() -> None:
    coded = claim("mini", "coded", whose="code", notes=[aligns(0.002)])
    card = scorecard(make_audit(claims=[claim("mini", "main", main=True), coded]))
    assert (
        card.head.fold == "Apart: 1 claim of the code alone (1 holds), “the distance vanishes”, "
        "stricter: distance (0 of 6)."
    )


def test_the_main_claim_stands_first_then_what_does_not_hold() -> None:
    names = [one.name for one in four_claims().head.claims]
    assert names == ["main", "missed", "held", "coded", "derived", "asked"]


def test_several_main_claims_are_joined() -> None:
    claims = [claim("mini", name, main=True) for name in ("first", "second")]
    card = scorecard(make_audit(claims=claims))
    assert card.head.verdict == (
        "Both main claims hold: the distance vanishes, 6 of 6; the distance vanishes, 6 of 6.",
    )
    claims[1]["headline"] = [aligns(0.002)]
    card = scorecard(make_audit(claims=claims))
    assert card.head.verdict[0].startswith(
        "Main claims: “the distance vanishes” holds, 6 of 6; “the distance vanishes” does not hold"
    )


# --- what was tried -------------------------------------------------------------------------------


def test_that_no_answer_changes_is_said_of_what_was_judged() -> None:
    card = scorecard(one_claim(experiment="guessed"), _alternatives_at_the_paper_tier)
    by_value = {tried.value: tried for tried in card.tried}
    assert by_value["0.04"].text == "1 claim keeps its answer"
    (cell,) = by_value["0.3"].cells
    assert (cell.changes, cell.settled, cell.yes, cell.n) == (True, True, 0, 5)
    assert "no" in by_value["0.3"].text

    def without(cell: Cell) -> Record | None:
        return None if cell.settings["level"] in (0.04, 0.3) else make_record(cell)

    card = scorecard(one_claim(experiment="guessed"), without)
    assert {tried.text for tried in card.tried} == {"not run"}


def test_a_value_that_moves_no_number_changes_no_answer_by_construction() -> None:
    guess = {"value": 0.0, "source": "assumption", "why": "So.", "alternatives": [1.0]}
    settings = {**audit_data()["settings"], "pause": guess}
    card = scorecard(one_claim(audit={"settings": settings}), _alternatives_at_the_paper_tier)
    (tried,) = card.tried
    assert tried.text == "1 claim keeps every number"


# --- the whole --------------------------------------------------------------------------------


def test_todays_note_stands_in_the_head() -> None:
    card = scorecard(one_claim())
    assert card.head.note is None
    note = Note(reviewer="A", text="Fine.", answers=card.answers_digest, as_of=date(2026, 1, 1))
    told = with_reviews(card, Reviews(note=note))
    assert told.head.note is not None
    assert (told.head.note.text, told.head.note.stale) == ("Fine.", False)
    other = Note(reviewer="A", text="Fine.", answers="0" * 32, as_of=date(2026, 1, 1))
    told = with_reviews(card, Reviews(note=other))
    assert told.head.note is not None
    assert told.head.note.stale


@pytest.mark.parametrize("file", PAPERS, ids=lambda file: file.parent.name)
def test_the_heads_of_the_papers_are_short_and_name_every_claim_once(file: Path) -> None:
    card = read_scorecard(file)
    assert len(markdown(card).split("\n## Answers")[0].split()) <= words_in(card.head)
    assert words_in(card.head) <= MOST_HEAD_WORDS
    assert sorted(one.claim for one in card.head.claims) == sorted(one.id for one in card.claims)
    for one in card.head.claims:
        assert len(f"{one.title} {one.text}".split()) <= MOST_LINE_WORDS, one
    assert len(card.head.verdict) <= 2


@pytest.mark.parametrize("file", PAPERS, ids=lambda file: file.parent.name)
def test_a_line_names_every_coordinate_that_ends_otherwise_than_its_claim(file: Path) -> None:
    card = read_scorecard(file)
    for answer in card.claims:
        text = line(card, answer.name).text.partition(" = ")[2]
        supported = answer.outcome is Outcome.SUPPORTED
        ends = {grade.answer for grade in answer.grades}
        otherwise = [
            grade
            for grade in answer.grades
            if (grade.decision is not Decision.MET if supported else len(ends) > 1)
        ]
        missing = [grade.at for grade in otherwise if at_words(grade.at or 0) not in text]
        assert not missing, (answer.id, text)


@pytest.mark.parametrize("file", PAPERS, ids=lambda file: file.parent.name)
def test_the_first_screen_names_each_check_that_a_claim_of_the_paper_misses(file: Path) -> None:
    for one in read_scorecard(file).head.own:
        assert not re.search(r"(further|stricter) checks? (in|open)", one.text), one


@pytest.mark.parametrize("file", PAPERS, ids=lambda file: file.parent.name)
def test_every_line_has_k_of_n_and_words_for_names(file: Path) -> None:
    card = read_scorecard(file)
    for one in card.head.claims:
        assert re.search(r"\d+ of \d+", one.text), one
    assert not re.search(r"\w_\w", card.head.ours), card.head.ours
    names = {one.name for one in card.head.claims if "-" in one.name}
    assert not [name for name in names if name in card.head.ours]


@pytest.mark.parametrize("file", PAPERS, ids=lambda file: file.parent.name)
def test_what_depends_has_its_row_among_the_choices(file: Path) -> None:
    card = read_scorecard(file)
    shown = {effect.claim for choice in card.head.choices for effect in choice.effects}
    depends = [one.claim for one in card.head.claims if one.outcome is Outcome.DEPENDS]
    assert [name for name in depends if name not in shown] == []


def test_levels_that_decide_otherwise_keep_their_counts_however_short_the_line() -> None:
    short = "the distance of each size, one after the other, vanishes"
    card = scorecard(*graded(primary=[1, 2, 4], short=short, constructed=None))
    assert line(card).text == "6 of 6 at n = 1 and 2; 0 of 6 at 4"


@pytest.mark.parametrize(
    ("level", "how"),
    [
        (0.15, "misses our bound (within twice it)"),
        (0.3, "not"),
        (None, "misses our bound (open at twice it)"),
    ],
)
def test_only_what_another_bound_turns_hangs_on_it(level: float | None, how: str) -> None:
    ours = {**aligns(0.1), "from": "ours", "why": "So."}
    audit = one_claim(
        readings=["level"], headline=[ours], audit=with_readings({**CODE, "value": 0.5})
    )
    ends = itertools.cycle((0.15, 0.3))

    def measured(cell: Cell) -> Record:
        if cell.settings["level"] != 0.5:
            return make_record(cell)
        end = level or next(ends)
        values = np.linspace(1.0, end, len(STEPS))
        course = {"distance": Series(steps=STEPS, values=values)}
        return make_record(cell, Measurements(scalars={"final": end}, series=course))

    card = scorecard(audit, measured)
    assert f"{how} with level 0.5 (code), 0 of 6" in line(card).text


def test_a_reading_that_hangs_on_our_bound_is_said_with_its_number() -> None:
    ours = {**aligns(0.1), "from": "ours", "why": "So."}
    near = {**CODE, "value": 0.15}
    card = scorecard(one_claim(readings=["level"], headline=[ours], audit=with_readings(near)))
    assert line(card).outcome is Outcome.SUPPORTED
    counts, _, reading = line(card).text.partition("; ")
    assert counts == "6 of 6 with level 0.02 (paper)"
    assert reading.startswith(
        "misses our bound (within twice it) with level 0.15 (code), 0 of 6 (0.1"
    )
    assert card.head.ours == (
        "If our bounds were half or twice as wide, this answer would change: "
        "“the distance vanishes”."
    )


def test_what_failed_at_its_own_scale_is_said_with_its_number_and_bound() -> None:
    missed = claim("mini", "shown", main=True, headline=[aligns(0.002)])
    card = scorecard(make_audit(claims=[missed]))
    assert line(card).text == "0 of 6: distance 0.021, 0.002 allowed"
    assert card.head.verdict[0].startswith("The main claim does not hold, 0 of 6: ")


def test_a_clause_is_cut_where_no_other_begins_alike() -> None:
    shorts = {
        "ends": "with both matrices trained, the distance of each vanishes in the end",
        "signs": "with both matrices trained, the signs of the two differ",
        "brief": "the loss vanishes",
    }
    made = [claim("mini", name, short=short) for name, short in shorts.items()]
    card = scorecard(make_audit(claims=made))
    assert clauses_of(texts_of(card.audit, card.claims, "paper")) == {
        "mini.ends": "with both matrices trained, the distance…",
        "mini.signs": "with both matrices trained, the signs…",
        "mini.brief": "the loss vanishes",
    }
