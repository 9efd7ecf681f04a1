"""Numbers of a supported claim that are not what they seem: a page says so beside the verdict."""

from __future__ import annotations

from typing import Any

import pytest
from places import PAPER, Place

from miniatures import claim, control, write_paper
from reproaudit.reports.warning import BELOW_THE_FLOOR, CUT_SHORT, FEWER_RUNS

RUNS = 24


def said_of(at: Place, check: dict[str, Any], before: str = "", after: str = "") -> str:
    """The report on a claim with one check, which is supported.

    Args:
        at: where.
        check: what it does not say itself is said here.
        before: in the module, in place of which `after` stands there.
        after: see `before`.
    """
    whole = {"name": "distance", "reason": "As it is drawn.", **check}
    claims = [claim("mini", "supported", checks=[whole], controls=[control(1.5)])]
    seeds = {"quick": list(range(RUNS)), "paper": list(range(RUNS))}
    write_paper(at.audits, claims=claims, seeds=seeds)
    at.edit("mini.py", before, after)
    assert at(*PAPER)[0] == 0
    said = " ".join(at("report", "mini", "--tier", "paper", "--verbose")[1].split())
    assert "SUPPORTED mini.supported" in said
    return said


def follows(*curve: tuple[float, float], **more: Any) -> dict[str, Any]:
    quantity = {"measurement": "distance"}
    return {"kind": "follows", "quantity": quantity, "curve": list(map(list, curve)), **more}


@pytest.mark.parametrize(("low", "floor", "is_told"), [(0.001, 0.45, True), (0.5, 0.4, False)])
def test_a_course_below_its_floor_in_the_middle_is_warned_of(
    at: Place, low: float, floor: float, is_told: bool
) -> None:
    """The defect: runs 25 times off their curve for half of training were within 0.6 of it."""
    curve = ((0, 1.0), (2, 0.5), (8, low), (20, low), (22, 5.0), (40, 5.0))
    check = follows(*curve, distance="relative", at_most=0.6, floor=floor)
    rise = f"np.maximum(distance, {0.0 if is_told else 0.45}) + 5.0 * (_step > 20)"
    said = said_of(at, check, "distance.copy()", rise)
    of_curve = f"{BELOW_THE_FLOOR} of 'distance' lies 'its curve' in 24 of 24 runs"
    of_runs = f"{BELOW_THE_FLOOR} of 'distance' lies 'distance' in 24 of 24 runs"
    assert (of_curve in said, of_runs in said) == (is_told, is_told)


@pytest.mark.parametrize(("end", "is_told"), [(16, True), (40, False)])
def test_a_curve_that_ends_before_training_is_warned_of(at: Place, end: int, is_told: bool) -> None:
    """The defect: runs left a curve after its last point, and followed it throughout training."""
    falls = ((0, 1.0), (2, 0.5), (4, 0.26), (8, 0.08), (end, 0.02))
    check = follows(*falls, distance="difference", at_most=0.3)
    leave = f"distance + 9.0 * (_step > {end})"
    said = said_of(at, check, "distance.copy()", leave)
    assert (f"{CUT_SHORT}: 'its curve' ends at step 16 of 40 in 24 of 24" in said) is is_told


@pytest.mark.parametrize(("draws", "is_told"), [(3, True), (RUNS, False)])
def test_runs_that_are_one_behind_a_failure_rate_are_warned_of(
    at: Place, draws: int, is_told: bool
) -> None:
    """The defect: sixty runs that were three showed how seldom a run fails."""
    check = {"kind": "failure_rate", "quantity": {"measurement": "final"}, "at_most": 0.1}
    one = f'generator(seed % {draws}, "end")'
    said = said_of(at, {**check, "rate_at_most": 0.2}, 'generator(seed, "end")', one)
    told = f"{FEWER_RUNS}: 21 of 24 runs have the number of another seed as 'final'"
    assert (told in said) is is_told
    assert (FEWER_RUNS in said) is is_told
