"""Warnings beside a verdict: each comes where it should, and nowhere else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import factories
from reproaudit.audit.plan import Role
from reproaudit.checks.kind import SKEW_DIVISOR
from reproaudit.judging.model import Verdict
from reproaudit.reports.says_less import SKEWED
from reproaudit.reports.trained_away import met_from_the_start, trained_away
from reproaudit.reports.warning import (
    BELOW_THE_FLOOR,
    NOT_ENTERED,
    NOT_OF_THE_SOURCE,
    OF_NO_RESULT,
    ONCE_CONDITIONAL,
    UNDER_ANOTHER_NAME,
    warnings,
)
from reproaudit.scorecard.model import AlternativeRunModel, ClaimModel, MovementModel
from reproaudit.scorecard.pictures import (
    LineModel,
    OnsetModel,
    PictureModel,
    PlateauModel,
    RangeModel,
)
from reproaudit.stats import Decision, Scale, Side
from reproaudit.stats.decisions import decide_bound


@pytest.fixture
def supported() -> ClaimModel:
    """A supported claim of which nothing is warned."""
    card = factories.make_scorecard()
    found = next(one for one in card.claims if one.verdict is Verdict.SUPPORTED)
    drawn = found.pictures[0].model_copy(
        update={"kind": "course", "parts": tuple(part.name for part in found.parts), "ranges": ()}
    )
    update = {"rule_is_younger": False, "history": (), "pictures": (drawn,)}
    quiet = found.model_copy(update=update)
    assert warnings(quiet, "paper") == ()
    return quiet


@pytest.mark.parametrize(
    "begins",
    [
        UNDER_ANOTHER_NAME,
        ONCE_CONDITIONAL,
        OF_NO_RESULT,
        NOT_ENTERED,
        BELOW_THE_FLOOR,
        NOT_OF_THE_SOURCE,
    ],
)
def test_some_of_the_history_is_a_warning(supported: ClaimModel, begins: str) -> None:
    told = (f"{begins}, and so on.", f"It is said that {begins}.")
    history = supported.model_copy(update={"history": told})
    assert warnings(history, "paper") == (f"{begins}, and so on",)


@pytest.mark.parametrize(
    ("its", "stays", "is_told"),
    [(0.0013, None, True), (0.01, None, False), (0.0013, "labels are drawn anew", False)],
)
def test_an_ablation_that_hardly_moved(
    supported: ClaimModel, its: float, stays: str | None, is_told: bool
) -> None:
    """The defect: one that moved a 700th of what its claim moved counted as trained, untold."""
    movement = MovementModel(
        parameters="p",
        training_loss="l",
        at_least=0.001,
        loss_stays=None,
        parameters_moved=2.0,
        loss_moved=0.9,
    )
    control = supported.controls[0].model_copy(update={"loss_moved": its, "loss_stays": stays})
    moved = supported.model_copy(update={"movement": movement, "controls": (control,)})
    said = [one for one in warnings(moved, "paper") if "learned little of anything" in one]
    assert bool(said) is is_told
    if is_told:
        assert (
            "moved its training loss by 0.0013 times its size, and the claim's own runs" in said[0]
        )


@pytest.mark.parametrize(
    ("decision", "tier", "verdict", "is_told"),
    [
        (Decision.MISSED, "paper", Verdict.SUPPORTED, True),
        (Decision.MET, "paper", Verdict.SUPPORTED, False),
        (Decision.UNDECIDED, "paper", Verdict.SUPPORTED, False),
        (Decision.MISSED, "quick", Verdict.SUPPORTED, False),
        (Decision.MISSED, "paper", Verdict.CONDITIONAL, False),
    ],
)
def test_a_supported_claim_that_an_alternative_misses(
    supported: ClaimModel, decision: Decision, tier: str, verdict: Verdict, is_told: bool
) -> None:
    one = AlternativeRunModel(
        setting="width", value=128, tier=tier, decision=decision, flips=False, note=""
    )
    claim = supported.model_copy(update={"alternatives": (one,), "verdict": verdict})
    said = "missed with width = 128, though the difference may be seed noise"
    unpaired = one.model_copy(update={"note": "there is nothing to pair"})
    noted = claim.model_copy(update={"alternatives": (unpaired,)})
    assert ("missed with width = 128: there is nothing to pair" in warnings(noted, "paper")) is (
        is_told
    )
    assert (said in warnings(claim, "paper")) is is_told


@pytest.mark.parametrize(("tier", "flips"), [("quick", True), ("quick", False), ("paper", True)])
def test_a_supported_claim_that_an_alternative_flips_at_a_smaller_tier(
    supported: ClaimModel, tier: str, flips: bool
) -> None:
    """It stood in a table of alternatives alone, and beside the verdict: "0 of 11 run"."""
    one = AlternativeRunModel(
        setting="width", value=128, tier=tier, decision=Decision.MISSED, flips=flips, note=""
    )
    claim = supported.model_copy(update={"alternatives": (one,)})
    said = "at the quick tier it flips with width = 128, not run at this one"
    assert (said in warnings(claim, "paper")) is (tier == "quick" and flips)


def test_a_control_that_meets_every_part(supported: ClaimModel) -> None:
    control = supported.controls[0]
    met = control.model_copy(update={"decision": Decision.MET, "name": "without_stage"})
    claim = supported.model_copy(update={"controls": (*supported.controls, met)})
    said = "control without_stage meets every part: nothing shows that what it lacks is needed"
    assert said in warnings(claim, "paper")
    conditional = claim.model_copy(update={"verdict": Verdict.CONDITIONAL})
    assert said in warnings(conditional, "paper")
    missed = conditional.model_copy(update={"decision": Decision.MISSED})
    assert said not in warnings(missed, "paper")
    vacuous = claim.model_copy(update={"verdict": Verdict.VACUOUS})
    assert said not in warnings(vacuous, "paper")


def test_a_control_that_meets_the_primary_part(supported: ClaimModel) -> None:
    """The defect: a model with the wrong parents met three parts of four, and nothing was said."""
    (control, *_) = supported.controls
    met = control.parts[0].model_copy(update={"decision": Decision.MET})
    parts = (met, *control.parts[1:], control.parts[0])
    other = control.model_copy(update={"name": "other_parents", "parts": parts})
    claim = supported.model_copy(update={"controls": (*supported.controls, other)})
    said = f"control other_parents meets 1 of {len(parts)} parts, the primary one among them"
    assert said in warnings(claim, "paper")
    ablation = claim.parts[0].model_copy(update={"ablation": "other_parents"})
    of_another_part = claim.model_copy(update={"parts": (*claim.parts, ablation)})
    assert said not in warnings(of_another_part, "paper")


@pytest.mark.parametrize(
    ("start", "ends", "is_told"),
    [
        (1.0, (1.2, 1.5), True),
        (1.0, (1.2, 1.05), True),  # half of the runs
        (1.0, (1.05, 1.05), False),
        (1.0, (0.9, 0.8), False),
        (0.05, (0.9, 0.8), True),  # from within the bound
        (0.05, (0.09, 0.08), False),
    ],
)
def test_an_ablation_that_training_took_away_from_what_is_claimed(
    start: float, ends: tuple[float, float], is_told: bool
) -> None:
    """The defect: trained on shuffled targets, it ended worse than an untrained model."""
    card = factories.make_scorecard()
    claim, picture = next(
        (one, picture)
        for one in card.claims
        for picture in one.pictures
        if one.verdict is Verdict.SUPPORTED and picture.kind == "course"
    )
    limit = RangeModel(quantity=0, about=picture.parts[0], x=(), low=(None,), high=(0.1,))
    lines = [
        one.model_copy(update={"runs": tuple((start, end) for end in ends), "x": (0.0, 10.0)})
        for one in picture.lines
        if one.role is Role.CONTROL and one.quantity == 0
    ]
    assert lines
    away = picture.model_copy(update={"lines": tuple(lines), "ranges": (limit,)})
    told = list(trained_away(claim.model_copy(update={"pictures": (away,)})))
    assert bool(told) is is_told
    if is_told:
        assert told[0].startswith(f"the ablation of '{picture.parts[0]}' ends farther")


@pytest.mark.parametrize(
    ("starts", "is_told"), [((0.05, 0.1), True), ((0.05, 0.2, 0.2), False), ((0.05, 0.2), True)]
)
def test_runs_that_begin_where_the_claim_is_met(starts: tuple[float, float], is_told: bool) -> None:
    """The defect: training made them worse, and they still ended within the bound."""
    card = factories.make_scorecard()
    claim, picture = next(
        (one, picture)
        for one in card.claims
        for picture in one.pictures
        if one.verdict is Verdict.SUPPORTED and picture.kind == "course"
    )
    limit = RangeModel(quantity=0, about=picture.parts[0], x=(), low=(None,), high=(0.1,))
    lines = [
        one.model_copy(update={"runs": tuple((at, 0.08) for at in starts), "x": (0.0, 10.0)})
        for one in picture.lines
        if one.role is Role.EXPERIMENT and one.quantity == 0
    ]
    assert lines
    inside = picture.model_copy(update={"lines": tuple(lines), "ranges": (limit,)})
    told = list(met_from_the_start(claim.model_copy(update={"pictures": (inside,)})))
    assert bool(told) is is_told
    if is_told:
        assert told[0].startswith(f"its own runs begin where '{picture.parts[0]}' is met")


@pytest.mark.parametrize(
    ("changes", "is_told"),
    [
        ({}, True),
        ({"scale": "log"}, False),
        ({"interval": None}, False),
        ({"per_seed": (-0.1, 0.2, 0.3, 0.4, 2.5)}, False),
        ({"per_seed": (0.5, 0.6, 0.8, 1.0, 1.5)}, False),
        ({"per_seed": (0.01, 0.2, 0.4, 0.6, 0.9)}, True),
        ({"per_seed": (-0.1, -0.2, -0.3, -0.4, -2.5)}, True),
        ({"per_seed": (0.0, 0.2, 0.3, 0.4, 2.5)}, True),
    ],
)
def test_skewed_runs_on_the_linear_scale(
    supported: ClaimModel, changes: dict[str, Any], is_told: bool
) -> None:
    part = next(one for one in supported.parts if one.interval is not None)
    skewed = part.model_copy(
        update={"scale": "linear", "per_seed": (0.1, 0.2, 0.3, 0.4, 2.5), **changes}
    )
    claim = supported.model_copy(update={"parts": (skewed,)})
    assert any("three times its smallest" in one for one in warnings(claim, "paper")) is is_told


CONFIDENCE = 1 - 0.05 / SKEW_DIVISOR
"""That of an interval on the linear scale, of a claim judged at 95 %."""


def test_skew_is_seen_where_it_matters() -> None:
    """Log-normal runs on their own mean: met and not warned of at most as normal ones are met."""
    draws = np.random.default_rng(0)
    for spread in (0.5, 1.0, 1.5, 2.0, 3.0):
        quietly = 0
        for runs in np.exp(spread * draws.standard_normal((2000, 5)) - spread**2 / 2):
            met = decide_bound(
                runs, 1.0, Side.AT_MOST, scale=Scale.LINEAR, confidence=CONFIDENCE, level=0.05
            )
            quietly += met.decision is Decision.MET and max(runs) <= SKEWED * min(runs)
        assert quietly / 2000 <= 0.04, spread


@pytest.mark.parametrize(
    ("kind", "scale", "bound", "runs", "is_told"),
    [
        ("separates", "log", 1.0, (1.0, 1.0, 1.0), True),
        ("separates", "linear", 0.0, (0.0, 0.0, 0.0), True),
        ("separates", "log", 1.0, (1.0, 1.0, 1.1), False),
        ("reaches", "log", 1.0, (1.0, 1.0, 1.0), True),
        ("reaches", "log", 1.25, (1.0, 1.0, 1.0), False),
        ("aligns", "log", 1.0, (1.0, 1.0, 1.0), False),
    ],
)
def test_numbers_that_are_equal_in_every_run(
    supported: ClaimModel,
    kind: str,
    scale: Scale,
    bound: float,
    runs: tuple[float, ...],
    is_told: bool,
) -> None:
    """The defect: one method was "lower" than another whose every number was its own."""
    update = {"scale": scale, "bound": bound, "per_seed": runs, "decision": Decision.MET}
    part = supported.parts[0].model_copy(update=update)
    check = {"kind": kind, "name": part.name}
    if kind == "reaches":
        check["relative_to"] = "loss"
    found = supported.model_copy(update={"parts": (part,), "rule": {"checks": [check]}})
    assert any("equal in every run" in one for one in warnings(found, "paper")) is is_told


def waiting(slow: list[float], until: float, come: float) -> PictureModel:
    """The picture of a claim whose second quantity is to wait until a step."""
    x = tuple(float(step) for step in range(0, 1001, 1000 // (len(slow) - 1)))
    line = LineModel(
        label="late",
        role=Role.EXPERIMENT,
        control=None,
        name=None,
        quantity=1,
        x=x,
        seeds=(0,),
        runs=(tuple(slow),),
    )
    found = next(one for card in [factories.make_scorecard()] for one in card.claims[0].pictures)
    onset = OnsetModel(quantity=1, step=come, low=come, high=come, came=1, of=1)
    plateau = PlateauModel(quantity=1, level=0.1, until=until)
    return found.model_copy(
        update={
            "kind": "course",
            "y_scale": "linear",
            "lines": (line,),
            "onsets": (onset,),
            "plateaus": (plateau,),
            "ranges": (),
        }
    )


@pytest.mark.parametrize(
    ("course", "is_told"),
    [
        ([0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0], True),
        ([0.0, 0.3, 0.5, 0.65, 0.75, 0.83, 0.88, 0.92, 0.95, 0.97, 1.0], True),
        ([0.0, 0.0, 0.0, 0.01, 0.3, 0.9, 1.0, 1.0, 1.0, 1.0, 1.0], False),
        ([0.0, 0.01, 0.05, 0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 1.0, 1.0], False),
    ],
)
def test_a_stage_that_is_slow_rather_than_late(
    supported: ClaimModel, course: list[float], is_told: bool
) -> None:
    """The defect: two that moved from step 0, sixty to one in speed, and the slow one "waits"."""
    claim = supported.model_copy(update={"pictures": (waiting(course, 100.0, 500.0),)})
    assert any("slow rather than late" in one for one in warnings(claim, "paper")) is is_told


def test_a_part_without_a_course(supported: ClaimModel) -> None:
    """The defects: the ninth of ten parts, or one read from a number, began where it was met."""
    number = supported.parts[0].model_copy(update={"name": "number"})
    claim = supported.model_copy(update={"parts": (*supported.parts, number)})
    said = "no course is drawn of the parts number: nothing shows whether runs begin where they"
    assert any(one.startswith(said) for one in warnings(claim, "paper"))
    still = claim.model_copy(update={"rule": {**claim.rule, "trains": False}})
    assert not any(one.startswith(said) for one in warnings(still, "paper"))


def test_a_constructed_solution_that_should_have_told_more(supported: ClaimModel) -> None:
    """The defects: contradicted with one that diverged, unattainable with a shorter one."""
    control = supported.controls[0]
    silent = control.model_copy(update={"decision": None})
    shorter = control.model_copy(update={"decision": Decision.MISSED, "tier": "quick"})
    for verdict, positive, says in (
        (Verdict.CONTRADICTED, silent, "the constructed solution gave no answer"),
        (Verdict.UNATTAINABLE, shorter, "the constructed solution ran at quick scale"),
    ):
        update = {"verdict": verdict, "positive_control": positive, "decision": Decision.MISSED}
        claim = supported.model_copy(update=update)
        assert any(one.startswith(says) for one in warnings(claim, "paper"))
        kept = claim.model_copy(
            update={"positive_control": control.model_copy(update={"tier": "paper"})}
        )
        assert not any(one.startswith(says) for one in warnings(kept, "paper"))
    contradicted = supported.model_copy(update={"verdict": Verdict.CONTRADICTED, "movement": None})
    said = "nothing shows that the claim's own runs trained"
    assert any(one.startswith(said) for one in warnings(contradicted, "paper"))
    still = contradicted.model_copy(update={"rule": {**supported.rule, "trains": False}})
    assert not any(one.startswith(said) for one in warnings(still, "paper"))
