"""Numbers of a supported claim that are not what they seem: a page says so beside the verdict."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from places import PAPER, Place

import factories
from miniatures import audit_data, claim, control, setting, write_paper
from reproaudit.audit.loading import load_audit
from reproaudit.commands.beside.judged import JudgedFrom
from reproaudit.commands.beside.told import told_beside
from reproaudit.errors import SpecError
from reproaudit.judging.model import Verdict
from reproaudit.reports.warning import (
    BEGINS_LATE,
    BEGINS_MET,
    BELOW_THE_FLOOR,
    CUT_SHORT,
    DERIVED,
    FEWER_RUNS,
    HARDLY_OBSERVED,
    LEFT_OUT,
    MEANS_OTHERWISE,
    NO_SHARE,
    NOT_IN_THE_LEDGER,
    NOT_TRAINED,
    NOT_TRAINED_ON,
    OTHER_LENGTH,
    TRAINED_AWAY,
)

RUNS = 24
"""As many as a failure rate needs, and some; every other check takes six."""


def said_of(
    at: Place, check: dict[str, Any], before: str = "", after: str = "", **changes: Any
) -> str:
    """The report on a claim with one check, which is supported.

    Args:
        at: where.
        check: what it does not say itself is said here.
        before: in the module, in place of which `after` stands there.
        after: see `before`.
        changes: to the audit.
    """
    whole = {"name": "distance", "reason": "As it is drawn.", **check}
    claims = [claim("mini", "supported", checks=[whole], controls=[control(1.5)])]
    runs = RUNS if check["kind"] == "failure_rate" else 6
    seeds = {"quick": list(range(runs)), "paper": list(range(runs))}
    write_paper(at.audits, **{"claims": claims, "seeds": seeds, **changes})
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
    of_curve = f"{BELOW_THE_FLOOR} of 'distance' lies 'its curve' in 6 of 6 runs"
    of_runs = f"{BELOW_THE_FLOOR} of 'distance' lies 'distance' in 6 of 6 runs"
    assert (of_curve in said, of_runs in said) == (is_told, is_told)


@pytest.mark.parametrize(("end", "is_told"), [(16, True), (40, False)])
def test_a_curve_that_ends_before_training_is_warned_of(at: Place, end: int, is_told: bool) -> None:
    """The defect: runs left a curve after its last point, and followed it throughout training."""
    falls = ((0, 1.0), (2, 0.5), (4, 0.26), (8, 0.08), (end, 0.02))
    check = follows(*falls, distance="difference", at_most=0.3)
    leave = f"distance + 9.0 * (_step > {end})"
    said = said_of(at, check, "distance.copy()", leave)
    assert (f"{CUT_SHORT}: 'its curve' ends at step 16 of 40 in 6 of 6" in said) is is_told


@pytest.mark.parametrize(("draws", "is_told"), [(3, True), (RUNS, False)])
def test_runs_that_are_one_behind_a_failure_rate_are_warned_of(
    at: Place, draws: int, is_told: bool
) -> None:
    """The defect: sixty runs that were three showed how seldom a run fails."""
    check = {"kind": "failure_rate", "quantity": {"measurement": "final"}, "at_most": 0.1}
    one = f'generator(seed % {draws}, "end")'
    said = said_of(at, {**check, "rate_at_most": 0.2}, 'generator(seed, "end")', one)
    told = f"{FEWER_RUNS}: 'final' has the number of another seed in 21 of 24 runs"
    assert (told in said) is is_told
    assert (FEWER_RUNS in said) is is_told


@pytest.mark.parametrize(("first", "is_told"), [(34, True), (2, False)])
def test_a_curve_that_begins_late_is_warned_of(at: Place, first: int, is_told: bool) -> None:
    """The defect: for nine tenths of training the runs were anywhere, and followed it."""
    check = follows((first, 0.02), (40, 0.02), distance="difference", at_most=0.3, since=0.0)
    low = f"np.where(_step < {first}, 9.0, distance * (_step > 20))"
    said = said_of(at, check, "distance.copy()", low)
    assert (f"{BEGINS_LATE}: 'its curve' begins at step 34 of 40 in 6 of 6" in said) is is_told


@pytest.mark.parametrize(("factor", "is_told"), [("1.0", True), ("1.001", False)])
def test_a_loss_that_was_not_trained_on_is_warned_of(at: Place, factor: str, is_told: bool) -> None:
    """The defect: a loss that went on falling had settled, held against itself."""
    check = {
        "kind": "converges",
        "loss": {"measurement": "distance"},
        "continued": {"measurement": "final"},
        "falls_by": 10.0,
        "settles_within": 1.05,
        "ablation_misses": ["falls"],
    }
    said = said_of(at, check, ".values[-1])}", f".values[-1] * {factor})}}")
    assert (f"{NOT_TRAINED_ON}: 'final' in 6 of 6 runs" in said) is is_told


@pytest.mark.parametrize(("start", "is_told"), [("50.0", True), ("0.5", False)])
def test_a_share_that_is_none_is_warned_of(at: Place, start: str, is_told: bool) -> None:
    """The defect: a "share" went from −98 to 0.05, and had covered its way to 1."""
    check = {"kind": "concentrates", "at_least": 0.9, "of_the_rest": True}
    check["share"] = {"measurement": "distance"}
    share = f"1.0 - {start} * distance"
    said = said_of(at, check, "distance.copy()", share)
    assert (NO_SHARE in said) is is_told


def test_a_control_that_measures_something_else_is_warned_of(at: Place) -> None:
    """The defect: the ablation's "gap of the loss" was how long its run took."""
    data = audit_data()
    other = {**data["experiments"]["descent"]["measurements"]}
    other["distance"] = {**other["distance"], "meaning": "How long the run took."}
    experiments = {
        "descent": data["experiments"]["descent"],
        "guessed": {"title": "Another one", "measurements": other},
    }
    claims = [claim("mini", "supported", controls=[{**control(1.5), "experiment": "guessed"}])]
    write_paper(at.audits, claims=claims, experiments=experiments)
    assert at(*PAPER)[0] == 0
    said = " ".join(at("report", "mini", "--tier", "paper", "--verbose")[1].split())
    assert f"{MEANS_OTHERWISE}: 'distance' of control 1 is: How long the run took." in said
    other["distance"]["unit"] = "s"
    write_paper(at.audits, claims=claims, experiments=experiments)
    code, out, _ = at("check", "mini")
    assert code == 2
    assert "found another unit of 'distance' in experiment 'guessed'" in " ".join(out.split())


@pytest.mark.parametrize("settings", [[], ["level"]])
def test_a_contradiction_that_no_alternative_tells_of_is_warned_of(
    at: Place, settings: list[str]
) -> None:
    """The defect: "it reads no setting that is left open", where two sources had another law."""
    finding = {
        "id": "mini.law",
        "kind": "contradiction",
        "statement": "Paper and code have another law.",
        "sources": ["Section 1", "train.py"],
        "as_of": "2026-11-02",
        "claims": ["mini.supported"],
        "settings": settings,
    }
    write_paper(at.audits, claims=[claim("mini", "supported")], findings=[finding])
    assert at(*PAPER)[0] == 0
    said = " ".join(at("report", "mini", "--tier", "paper", "--verbose")[1].split())
    assert (f"Warning: {NOT_IN_THE_LEDGER}: finding mini.law" in said) is not settings


def test_a_copy_of_the_experiment_hides_no_control_that_meets_the_claim(at: Place) -> None:
    """The defect: a claim that was moved to a twin of its experiment lost the warning."""
    data = audit_data()
    twin = {**data["experiments"]["descent"], "title": "The same again"}
    experiments = {"descent": data["experiments"]["descent"], "guessed": twin}
    claims = [
        claim("mini", "supported", experiment="guessed"),
        claim("mini", "vacuous", controls=[control(0.03)]),
    ]
    write_paper(at.audits, claims=claims, experiments=experiments)
    assert at(*PAPER)[0] == 0
    said = " ".join(at("report", "mini", "--tier", "paper", "--verbose")[1].split())
    told = "controls of other claims meet every part of this one: descent with level = 0.03 (quick"
    assert told in said


@pytest.mark.parametrize("stages", [[{"name": "I", "steps": "phase", "about": "all"}], []])
def test_stages_hide_no_other_length(at: Place, stages: list[dict[str, str]]) -> None:
    """The defect: 40 steps in place of 40,000, of the paper's scale by a stage of 40."""
    data = audit_data()
    descent = {**data["experiments"]["descent"], **({"stages": stages} if stages else {})}
    settings = {"steps": setting(40000), "phase": setting(40)}
    claims = [claim("mini", "supported")]
    write_paper(at.audits, claims=claims, experiments={"descent": descent}, settings=settings)
    at.edit("mini.py", "    pause: float\n", "    pause: float\n    phase: int\n")
    module = at.audits / "mini.py"
    module.write_text(module.read_text().replace("settings.steps", "settings.phase"))
    module.write_text(module.read_text().replace("s.steps", "s.phase"))
    assert at(*PAPER)[0] == 0
    said = " ".join(at("report", "mini", "--tier", "paper", "--verbose")[1].split())
    assert f"Warning: {OTHER_LENGTH}: 40 in place of 40,000 in 6 of 6 runs" in said


def test_a_setting_of_the_controls_experiment_alone_has_a_scale(tmp_path: Path) -> None:
    """The defect: no reason was asked for a control whose own setting is another at quick scale."""
    data = audit_data()
    lift = setting(0.0, quick={"value": 0.8, "reason": "Faster."})
    guessed = {**data["experiments"]["descent"], "title": "Lifted", "settings": {"lift": lift}}
    experiments = {"descent": data["experiments"]["descent"], "guessed": guessed}
    lifted = {**control(0.03), "experiment": "guessed", "scale": "quick"}
    claims = [claim("mini", "supported", controls=[lifted])]
    folder = write_paper(tmp_path, claims=claims, experiments=experiments)
    asked = "found lift 0.8 at the paper tier, where the claim runs 0.0; expected a 'scale_reason'"
    with pytest.raises(SpecError, match=asked):
        load_audit(folder / "mini.yaml")


def test_what_a_control_measures_as_movement_has_the_claims_unit(at: Place) -> None:
    """The defect: a control that never moved counted, by how long its run took."""
    data = audit_data()
    measured = {
        **data["experiments"]["descent"]["measurements"],
        "moved": {"kind": "scalar", "unit": "1", "meaning": "How far it moved."},
        "loss": {"kind": "scalar", "unit": "1", "meaning": "How far its loss moved."},
    }
    other = {**measured, "loss": {"kind": "scalar", "unit": "s", "meaning": "How long it took."}}
    movement = {"parameters": "moved", "training_loss": "loss", "at_least": 0.01, "reason": "One."}
    experiments = {
        "descent": {"title": "It descends", "measurements": measured},
        "guessed": {"title": "Another one", "measurements": other},
    }
    claims = [claim("mini", "supported", controls=[{**control(1.5), "experiment": "guessed"}])]
    write_paper(at.audits, claims=claims, experiments=experiments, movement=movement)
    code, out, _ = at("check", "mini")
    assert code == 2
    assert "found another unit of 'loss' in experiment 'guessed'" in " ".join(out.split())


def test_a_constructed_solution_that_measures_something_else_is_warned_of(at: Place) -> None:
    """The defect: contradicted, since a constructed "distance" was a share of an hour."""
    data = audit_data()
    measured = data["experiments"]["descent"]["measurements"]
    hour = {**measured, "distance": {**measured["distance"], "meaning": "Share of an hour."}}
    experiments = {
        "descent": data["experiments"]["descent"],
        "guessed": {"title": "Constructed", "measurements": hour},
    }
    tight = claim("mini", "supported", positive_control={**control(0.001), "experiment": "guessed"})
    tight["checks"][0]["at_most"] = 0.002
    write_paper(at.audits, claims=[tight], experiments=experiments)
    assert at(*PAPER)[0] == 0
    said = " ".join(at("report", "mini", "--tier", "paper", "--verbose")[1].split())
    assert "CONTRADICTED mini.supported" in said
    told = f"{MEANS_OTHERWISE}: 'distance' of the constructed solution is: Share of an hour."
    assert told in said


@pytest.mark.parametrize(("still", "is_told"), [(2, True), (0, False)])
def test_runs_that_did_not_train_among_those_that_did(at: Place, still: int, is_told: bool) -> None:
    """The defect: two of the ablation's five runs never moved, and the page gave a median."""
    data = audit_data()
    one = {"kind": "scalar", "unit": "1", "meaning": "How far it moved."}
    measured = {**data["experiments"]["descent"]["measurements"], "moved": one, "loss": one}
    experiments = {"descent": {"title": "It descends", "measurements": measured}}
    movement = {"parameters": "moved", "training_loss": "loss", "at_least": 0.01, "reason": "One."}
    claims = [claim("mini", "supported", controls=[control(0.8)])]
    write_paper(at.audits, claims=claims, experiments=experiments, movement=movement)
    moves = f"0.0 if settings.level == 0.8 and seed < {still} else 0.5 + seed / 100"
    final = 'scalars={"final": '
    at.edit("mini.py", final, f'scalars={{"moved": {moves}, "loss": {moves}, "final": ')
    assert at(*PAPER)[0] == 0
    said = " ".join(at("report", "mini", "--tier", "paper", "--verbose")[1].split())
    assert "SUPPORTED mini.supported" in said
    assert (f"{NOT_TRAINED}: 2 of 5 runs of control 1 moved by less than" in said) is is_told


@pytest.mark.parametrize(
    ("axis", "is_told"),
    [
        ({"values": [1, 2, 3]}, False),
        ({"values": [0, 1, 2]}, True),
        ({"size": 3}, True),
        ({"values": [1, 2]}, False),
    ],
)
def test_coordinates_of_a_control_in_another_order_are_warned_of(
    tmp_path: Path, axis: dict[str, Any], is_told: bool
) -> None:
    """The defect: the ablation was judged on another entry, by an axis that it numbered anew."""
    data = audit_data()

    def measured(**along: Any) -> dict[str, Any]:
        ends = {"kind": "array", "axes": [{"name": "layer", **along}], "unit": "1", "meaning": "D."}
        return {**data["experiments"]["descent"]["measurements"], "ends": ends}

    experiments = {
        "descent": {"title": "It descends", "measurements": measured(values=[1, 2, 3])},
        "guessed": {"title": "Another one", "measurements": measured(**axis)},
    }
    reads = claim("mini", "supported", controls=[{**control(0.8), "experiment": "guessed"}])
    reads["checks"][0]["distance"] = {"measurement": "ends", "at": {"layer": 1}}
    reads["positive_control"] = {"not_constructible": "There is none."}
    folder = write_paper(tmp_path, claims=[reads], experiments=experiments)
    audit = load_audit(folder / "mini.yaml")
    card = factories.make_scorecard()
    held = next(one for one in card.claims if one.verdict is Verdict.SUPPORTED)
    held = held.model_copy(update={"id": "mini.supported"})
    found = list(told_beside(JudgedFrom(card, audit, lambda _batch: {}), held))
    assert any(one.startswith(f"{MEANS_OTHERWISE}: 'ends'") for one in found) is is_told


@pytest.mark.parametrize(("floor", "is_told"), [(0.02, True), (1.0e-9, False)])
def test_a_share_whose_rest_is_below_a_floor_is_warned_of(
    at: Place, floor: float, is_told: bool
) -> None:
    """The defect: an ablation covered as much of its way, and missed, by a floor above its rest."""
    check = {"kind": "concentrates", "at_least": 0.9, "of_the_rest": True, "floor": floor}
    check["share"] = {"measurement": "distance"}
    share = "1.0 - np.where(settings.level == 1.5, 0.001, 0.5) * distance"
    if is_told:
        said = said_of(at, check, "distance.copy()", share)
        told = f"{BELOW_THE_FLOOR} of 'distance' lies 'distance' in 6 of 6 runs of control"
        assert told in said
    else:
        said = said_of(at, check, "distance.copy()", "1.0 - 0.5 * distance")
        assert BELOW_THE_FLOOR not in said


@pytest.mark.parametrize("floor", [0.01, 1.0e-9])
def test_an_alternative_below_a_floor_is_warned_of(at: Place, floor: float) -> None:
    """The defect: a floor decided an alternative, and the claim seemed to hold with it."""
    guess = {"value": 0.02, "source": "assumption", "why": "Small.", "alternatives": [0.002]}
    held = claim("mini", "supported", controls=[control(1.5)])
    held["checks"][0]["floor"] = floor
    write_paper(at.audits, claims=[held], settings={"level": guess})
    assert at(*PAPER)[0] == 0
    assert at("multiverse", "mini", "--tier", "paper")[0] == 0
    said = " ".join(at("report", "mini", "--tier", "paper", "--verbose")[1].split())
    told = (
        f"{BELOW_THE_FLOOR} of 'distance' lies 'distance' in 6 of 6 runs of the alternative "
        "level = 0.002: less than 0.01 counts as 0.01."
    )
    assert "SUPPORTED mini.supported" in said
    assert (told in said) is (floor == 0.01)


@pytest.mark.parametrize(("every", "is_told"), [(20, True), (2, False)])
def test_a_course_that_is_hardly_observed_is_warned_of(
    at: Place, every: int, is_told: bool
) -> None:
    """The defect: runs were off their curve at every step but the three at which they were seen."""
    falls = ((0, 1.0), (2, 0.5), (4, 0.26), (8, 0.08), (40, 0.02))
    check = follows(*falls, distance="difference", at_most=0.3)
    said = said_of(at, check, "max(1, settings.steps // 20)", str(every))
    told = "'distance' at 3 steps, with up to 20 of 40 between two of them, in 6 of 6 runs"
    assert (f"{HARDLY_OBSERVED}: {told}" in said) is is_told
    assert (HARDLY_OBSERVED in said) is is_told


@pytest.mark.parametrize(("floor", "is_told"), [(0.45, True), (1.0e-9, False)])
def test_a_floor_on_the_logit_scale_is_warned_of(at: Place, floor: float, is_told: bool) -> None:
    """The defect: a floor lifted a failed run from nothing to 0.45, and the claim held."""
    share = {"kind": "scalar", "unit": "1", "meaning": "A share.", "range": [0, 1]}
    measured = {**audit_data()["experiments"]["descent"]["measurements"], "final": share}
    check = {"kind": "reaches", "at_least": 0.5, "scale": "logit", "floor": floor}
    check["quantity"] = {"measurement": "final"}
    said = said_of(
        at,
        check,
        'float(one["distance"].values[-1])',
        "0.3 if settings.level > 1 else 0.9 + 0.01 * seed",
        experiments={"descent": {"title": "It descends", "measurements": measured}},
        figures=[],
    )
    told = "lies 'final' in 6 of 6 runs, 6 of 6 runs of control 1: less than 0.45 counts as 0.45."
    assert (told in said) is is_told
    assert (BELOW_THE_FLOOR in said) is is_told


@pytest.mark.parametrize(
    ("ratio", "is_told"),
    [
        ("5.0 if settings.level < 1 else 1.0 - 0.8 * (_step > 0)", True),
        ("0.2 if settings.level > 1 else 1.0 + 4.0 * (_step > 0)", False),
    ],
)
def test_parts_on_two_numbers_that_training_does_not_meet_are_warned_of(
    at: Place, ratio: str, is_told: bool
) -> None:
    """The defect: a ratio was the same before training, and its ablation fell away from it."""
    one = audit_data()["experiments"]["descent"]["measurements"]["distance"]
    measured = {"distance": one, "other": one, "final": {**one, "kind": "scalar"}}
    check = {"kind": "separates", "by": 2.0}
    check |= {"lower": {"measurement": "distance"}, "upper": {"measurement": "other"}}
    after = f'distance.copy(), "other": distance * ({ratio})'
    said = said_of(
        at,
        check,
        "distance.copy()",
        after,
        experiments={"descent": {"title": "It descends", "measurements": measured}},
    )
    assert (f"{BEGINS_MET}: " in said) is is_told
    assert (f"{TRAINED_AWAY}: " in said) is is_told


def test_derived_settings_and_meanings_stand_on_the_page(at: Place) -> None:
    """The defect: a toy's settings, called derived, were "exact", and no page showed any of it."""
    derived = {"value": 0.02, "source": "derived", "locator": "a toy's; the paper has 4,096"}
    held = claim("mini", "supported", controls=[control(1.5)])
    write_paper(at.audits, claims=[held], settings={"level": derived})
    assert at(*PAPER)[0] == 0
    said = " ".join(at("report", "mini", "--tier", "paper", "--verbose")[1].split())
    assert f"Warning: {DERIVED}: level = 0.02 (a toy's; the paper has 4,096)" in said
    assert "no setting assumed or recalled; derived: level" in said
    page = (at.folder / "reports/paper/mini/scorecard.md").read_text()
    assert "| level | all | 0.02 | derived | a toy's; the paper has 4,096 |" in page
    assert "| steps | all | 40 | paper | Section 4 |" in page
    assert "| distance | descent | 1 |  | How far it is. |" in page


@pytest.mark.parametrize(("second", "is_told"), [(0.5, True), (0.01, False)])
def test_coordinates_left_out_where_a_part_is_missed_are_told(
    at: Place, second: float, is_told: bool
) -> None:
    """The defect: of two layers the one was judged along which the claim holds."""
    one = audit_data()["experiments"]["descent"]["measurements"]["distance"]
    ends = {"kind": "array", "axes": [{"name": "layer", "size": 2}], "unit": "1", "meaning": "D."}
    check = {"kind": "aligns", "each": "layer", "among": [0], "at_most": 0.1}
    check["distance"] = {"measurement": "ends"}
    final = 'scalars={"final": float(one["distance"].values[-1])}'
    arrays = f'arrays={{"ends": one["distance"].values[-1] + np.array([0.0, {second}])}}'
    measured = {"distance": one, "ends": ends}
    said = said_of(
        at,
        check,
        final,
        arrays,
        experiments={"descent": {"title": "It descends", "measurements": measured}},
    )
    assert (f"{LEFT_OUT}: 'distance, layer 1' in 6 of 6 runs" in said) is is_told
    page = (at.folder / "reports/paper/mini/scorecard.md").read_text(encoding="utf-8")
    assert "| ends | descent | 1 | layer 0, 1 | D. |" in page


@pytest.mark.parametrize(("since", "is_told"), [(8, True), (0, False)])
def test_a_course_whose_beginning_is_missing_is_warned_of(
    at: Place, since: int, is_told: bool
) -> None:
    """The defect: an untrained model met the bound, and nobody saw the beginning of the course."""
    check = {"kind": "aligns", "distance": {"measurement": "distance"}, "at_most": 0.1}
    said = said_of(at, check, "range(0, settings.steps", f"range({since}, settings.steps")
    told = f"{BEGINS_LATE}: 'distance' begins at step 8 of 40 in 6 of 6 runs"
    assert (told in said) is is_told
    page = (at.folder / "reports/paper/mini/scorecard.md").read_text()
    assert ("from step 8 to step 40" in page) is is_told
    assert ("in 40 steps" in page) is not is_told


def test_the_seeds_of_a_control_stand_in_its_row(at: Place) -> None:
    """The defect: they were chosen so that the control missed, and no page had them."""
    seeds = {"quick": [1, 4, 8, 9, 10], "paper": list(range(6))}
    write_paper(at.audits, claims=[claim("mini", "supported")], seeds=seeds)
    assert at(*PAPER)[0] == 0
    assert "5 runs, seeds 1, 4, 8–10" in (at.folder / "reports/paper/mini/scorecard.md").read_text(
        encoding="utf-8"
    )


def test_a_series_that_ends_early_behind_a_gap_is_warned_of(at: Place) -> None:
    """The defect: a gap of half the training let a series end at its best step."""
    check = {"kind": "aligns", "distance": {"measurement": "distance"}, "at_most": 0.1}
    observed = "range(0, settings.steps + 1, max(1, settings.steps // 20))"
    said = said_of(at, check, observed, "[0, 21]")
    assert f"{CUT_SHORT}: 'distance' ends at step 21 of 40 in 6 of 6 runs" in said
