"""A claim's figure: which courses it shows, and that they are drawn where they belong."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from factories import card_of, make_audit, make_record, make_records, make_scorecard
from miniatures import audit_data, claim, setting
from reproaudit.cell import Cell
from reproaudit.records import Measurements, Series
from reproaudit.report.chart import chart, chart_label, legend
from reproaudit.scorecard.claims import ClaimText, texts_in


def shown(**headline: Any) -> ClaimText:
    check = {"kind": "aligns", "distance": "distance", "at_most": 0.1, "from": "paper", **headline}
    check = {name: value for name, value in check.items() if value is not None}
    one = claim("mini", "shown", main=True, headline=[check], nulls=["stays"])
    return texts_in(make_scorecard(claims=[one]))[0]


def test_every_run_of_a_claim_and_its_null_has_a_line() -> None:
    found = shown()
    assert found.figure is not None
    counts = {line.role: len(line.runs) for line in found.figure.lines}
    assert counts["run"] == len(found.base.estimates[0].values)
    assert counts["control"] == len(found.answer.controls[0].estimates[0].values)
    ends = sorted(run[-1] for line in found.figure.lines if line.role == "run" for run in line.runs)
    assert ends == pytest.approx(sorted(found.base.estimates[0].numbers), rel=1e-3)


def test_the_null_of_a_reading_that_ran_alone_has_its_lines() -> None:
    read = [{"value": 20, "source": "authors_code", "locator": "Line 1"}]
    one = claim("mini", "read", main=True, readings=["steps"])
    settings = {**audit_data()["settings"], "steps": setting(40, readings=read)}
    audit = make_audit(claims=[one], settings=settings)
    under = [
        make_record(Cell("mini", "paper", "descent", {**of.settings, "steps": 20}, of.seed))
        for of in make_records(audit)
        if of.settings["level"] != 0.02 or of.settings["steps"] == 20
    ]
    (found,) = texts_in(card_of(audit, under))
    assert found.own == "steps 20"
    assert found.figure is not None
    lines = {line.role: len(line.runs) for line in found.figure.lines}
    assert lines["control"] == found.answer.controls[0].n == 5


def test_page_and_figure_read_where_the_check_does() -> None:
    """Each check reads one layer of three, its quantity's own one first."""
    axes = [{"name": "layer", "values": [1, 2, 3]}]
    declared = {"kind": "series", "axes": axes, "unit": "1", "meaning": "How far each layer is."}
    checks = [
        {"kind": "aligns", "distance": distance, "at": at, "at_most": 0.5, "from": "paper"}
        for distance, at in (("far[2]", {"layer": 3}), ("far", {"layer": 1}))
    ]
    experiments = audit_data()["experiments"]
    experiments["descent"]["measurements"] = {"far": declared}
    one = claim("mini", "layers", main=True, headline=checks, nulls=[], no_control="It shows.")
    del one["constructed"]
    audit = make_audit(claims=[one], experiments=experiments)
    course = Series(steps=(0, 1), values=np.array([[1.0, 1.0, 1.0], [0.1, 0.2, 0.3]]))
    measured = Measurements(series={"far": course})
    records = make_records(audit, of=lambda cell: make_record(cell, measured))
    (found,) = texts_in(card_of(audit, records))
    assert found.figure is not None
    estimates = found.base.estimates
    ends = {estimates[0].numbers[0]: "far [2]", estimates[1].numbers[0]: "far [1]"}
    assert {number: found.noun_of(one) for one, number in zip(estimates, ends, strict=True)} == ends
    assert {run[-1] for line in found.figure.lines for run in line.runs} <= set(ends)


def test_a_line_ends_where_its_number_is() -> None:
    found = shown()
    tree = ElementTree.fromstring(str(chart(found)))
    bound = next(one for one in tree.iter() if one.get("class") == "bound")
    ends: dict[str, list[float]] = {"run": [], "control": []}
    for one in tree.iter("polyline"):
        if (role := one.get("class", "")) in ends:
            ends[role].append(float(one.get("points", "").split(",")[-1]))
    level = float(bound.get("y1", "0"))
    assert all(end > level for end in ends["run"]), "below the bound, which is downwards in SVG"
    assert all(end < level for end in ends["control"])


def test_a_distance_from_a_curve_is_no_line_beside_the_curve() -> None:
    curve = [[0, 1.0], [40, 0.0]]
    found = shown(kind="follows", distance=None, series="distance", curve=curve, at_most=2)
    assert found.figure is not None
    assert found.figure.bound is None
    assert (bound := shown().figure) is not None
    assert bound.bound == 0.1


def test_a_figure_is_said_in_words_and_has_a_legend() -> None:
    found = shown()
    label = chart_label(found)
    assert label.startswith("distance against training step: runs (")
    assert re.search(r"control: .*end (at|from)", label)
    assert [role for role, _ in legend(found)][:2] == ["run", "control"]
    assert chart_label(found) in str(chart(found)).replace("&#39;", "'")


def test_a_number_without_a_course_has_the_ends_of_all_runs_and_their_bound() -> None:
    found = shown(kind="reaches", distance=None, value="final", zero=1.0)
    assert found.figure is None
    tree = ElementTree.fromstring(str(chart(found)))
    ends = [float(one.get("cx", "0")) for one in tree.iter() if one.get("class") == "run"]
    control = [float(one.get("x", "0")) for one in tree.iter() if one.get("class") == "control"]
    (bound,) = [float(one.get("x1", "0")) for one in tree.iter() if one.get("class") == "bound"]
    assert len(ends) == len(found.base.estimates[0].numbers)
    assert len(control) == len(found.answer.controls[0].estimates[0].numbers)
    assert min(ends) > bound > max(control)
    assert "control: " in "".join(tree.itertext())


@pytest.mark.parametrize(
    ("margin", "accepted"),
    [
        ({"within": 0.001}, (0.019, 0.021)),
        ({"within": 0.08, "relative": True}, (0.02 / 1.08, 0.02 * 1.08)),
    ],
)
def test_a_margin_is_drawn_as_it_is_held(margin: Any, accepted: tuple[float, float]) -> None:
    equals = {"kind": "equals", "distance": None, "at_most": None, "value": "final", "to": 0.02}
    found = shown(**equals, **margin)
    (estimate,) = found.base.estimates
    assert estimate.limit.accepted == pytest.approx(accepted)
    tree = ElementTree.fromstring(str(chart(found)))
    bounds = [float(one.get("x1", "0")) for one in tree.iter() if one.get("class") == "bound"]
    runs = [float(one.get("cx", "0")) for one in tree.iter() if one.get("class") == "run"]
    pairs = zip(estimate.numbers, runs, strict=True)
    inside = [min(bounds) <= at <= max(bounds) for _, at in pairs]
    assert inside == [*estimate.holds]
    assert {True, False} == set(inside)


def test_a_claim_without_numbers_has_no_figure() -> None:
    found = shown()
    base = found.base.model_copy(update={"estimates": ()})
    empty = replace(found, figure=None, answer=found.answer.model_copy(update={"base": base}))
    assert (str(chart(empty)), chart_label(empty), legend(empty)) == ("", "", [])


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("ends", [(0.0, 5e-324), (1e-320, 1e150), (-1e150, 1e150)])
def test_numbers_of_any_size_have_a_place(ends: tuple[float, float], log: bool) -> None:
    found = shown()
    assert found.figure is not None
    lines = tuple(
        line.model_copy(update={"runs": tuple((ends * len(run))[: len(run)] for run in line.runs)})
        for line in found.figure.lines
    )
    figure = found.figure.model_copy(update={"lines": lines, "bound": None, "log_y": log})
    drawn = str(chart(replace(found, figure=figure)))
    assert drawn.count("<polyline") == sum(len(line.runs) for line in lines)
    assert not re.search(r"\b(nan|inf)\b", drawn)
