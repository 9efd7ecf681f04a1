"""The planted worlds: labelled evenly, fitting their audits, and held against the truth."""

from dataclasses import replace

import pytest
from benchmarks.planted import WORLDS
from benchmarks.planted.__main__ import report
from benchmarks.planted.judging import REFUSED, Judged, Row, judge_world
from benchmarks.planted.pages import calibration, readme
from benchmarks.planted.rates import rate
from benchmarks.planted.world import CANNOT_TELL
from benchmarks.sections import section_of, with_section

FIRST_OF_EACH_KIND = list({world.kind: world for world in reversed(WORLDS)}.values())


def row(truth: object, outcome: str) -> Row:
    return Row(replace(WORLDS[0], truth=truth), 0, outcome, None, "why")  # type: ignore[arg-type]


def test_names_are_unique_and_neither_truth_prevails():
    names = {world.name for world in WORLDS}
    false = sum(world.truth is False for world in WORLDS)
    true = sum(world.truth is True for world in WORLDS)
    assert len(names) == len(WORLDS) >= 70
    assert 0.4 < false / (false + true) < 0.6
    assert sum(world.truth == CANNOT_TELL for world in WORLDS) <= 12
    assert sum(world.compares for world in WORLDS) >= 24


@pytest.mark.parametrize("world", FIRST_OF_EACH_KIND, ids=lambda world: world.kind)
def test_a_world_of_each_kind_fits_its_audit(world, tmp_path):
    judged = judge_world(world, 1, tmp_path)
    assert judged.rows[0].outcome != REFUSED


@pytest.mark.parametrize(
    ("truth", "outcome", "wrong", "unanswered"),
    [
        (True, "supported", False, False),
        (True, "not supported", True, False),
        (True, "undecided", False, True),
        (True, REFUSED, False, True),
        (False, "supported", True, False),
        (False, "uninformative", False, False),
        (False, "not supported", False, False),
        (CANNOT_TELL, "not supported", True, False),
        (CANNOT_TELL, "not tested", False, False),
    ],
)
def test_an_outcome_is_held_against_the_truth(truth, outcome, wrong, unanswered):
    judged = row(truth, outcome)
    assert (judged.wrong, judged.unanswered) == (wrong, unanswered)


def test_a_world_is_what_most_of_its_draws_are():
    wrong, right = row(False, "supported"), row(False, "not supported")
    assert Judged((wrong, right, wrong)).supported
    assert not Judged((wrong, right, right)).supported


def test_a_rate_has_an_exact_interval():
    assert rate(0, 10) == "0/10 0% (0% to 31%)"
    assert rate(0, 0) == "–"


def test_the_report_names_each_wrong_world_with_the_experts_reason():
    world = next(world for world in WORLDS if world.truth is False)
    lines = "\n".join(report([Judged((Row(world, 0, "supported", "low", "10 of 10 runs"),))]))
    assert f"{world.name}: the claim is false; supported (low) 1×." in lines
    assert "low: 1/1 100%" in lines
    assert world.expert in lines


def test_the_pages_have_both_rates_with_their_intervals():
    wrong, denied = row(False, "supported"), row(True, "not supported")
    judged = [Judged((wrong,)), Judged((denied,)), Judged((row(True, "supported"),))]
    untrue, true = readme(judged)
    assert "1/1 100% (3% to 100%)" in untrue
    assert "1/2 50% (1% to 99%)" in true
    lines = "\n".join(calibration(judged))
    assert "no sample of papers" in lines
    assert "| all | 3 | 1/1 100% (3% to 100%) | 1/2 50% (1% to 99%) |" in lines


def test_a_section_is_written_between_its_marks_and_kept():
    text = "before\n<!-- part -->\nold\n<!-- end of part -->\nafter"
    new = with_section(text, "part", ["new"])
    assert new == "before\n<!-- part -->\nnew\n<!-- end of part -->\nafter"
    assert section_of(new, "part") == ["<!-- part -->", "new", "<!-- end of part -->"]
    assert section_of("before", "part") == []
    with pytest.raises(ValueError, match="found no section"):
        with_section("before", "part", [])
