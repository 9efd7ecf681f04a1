"""A claim's figure: what it draws, and that it is drawn where it belongs."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from bundles import one_claim, records_of
from factories import card_of, make_audit, make_record, make_records, make_scorecard
from miniatures import audit_data, claim, setting
from reproaudit.cell import Cell
from reproaudit.formats.scorecard import Figure
from reproaudit.records import Measurements, Series
from reproaudit.report.chart import chart, chart_label, ends, picture, strip
from reproaudit.report.parts import ClaimPart, parts


def shown(**headline: Any) -> ClaimPart:
    check = {"kind": "aligns", "distance": "distance", "at_most": 0.1, "from": "paper", **headline}
    check = {name: value for name, value in check.items() if value is not None}
    made = claim("mini", "shown", main=True, headline=[check], nulls=["stays"])
    return parts(make_scorecard(claims=[made]))[0]


def figure_of(part: ClaimPart) -> Figure:
    assert part.figure is not None
    return part.figure


def drawn(part: ClaimPart, role: str) -> list[float]:
    """The last number of every run with a role."""
    lines = [line for line in figure_of(part).lines if line.role == role]
    return sorted(run[-1] for line in lines for run in line.runs)


def tree_of(part: ClaimPart) -> ElementTree.Element:
    return ElementTree.fromstring(str(chart(part.figure) if part.figure else ends(part)))


def test_every_run_of_a_claim_and_its_control_has_a_line() -> None:
    part = shown()
    own = part.answer.base.estimates[0]
    control = part.answer.controls[0].estimates[0]
    assert drawn(part, "run") == pytest.approx(sorted(own.numbers), rel=1e-3)
    assert drawn(part, "control") == pytest.approx(sorted(control.numbers), rel=1e-3)


RATIO = {"distance": None, "kind": "reaches", "value": "distance", "at_most": 0.5}
OF_CHECKS: dict[str, tuple[dict[str, Any], str, tuple[float | None, float | None]]] = {
    "a ratio to the start": (
        {**RATIO, "relative_to": "distance@first"}, "distance over its start", (None, 0.5)),
    "a ratio to another arm": (
        {**RATIO, "relative_to": {"measurement": "distance", "arm": "low"}},
        "distance over low", (None, 0.5)),
    "a growth": ({**RATIO, "grown_from": "distance@first"}, "growth of distance", (None, 0.5)),
    "a place": (
        {"distance": None, "kind": "reaches", "value": "distance", "at_most": None,
         "at_least": 0.5,
         "between": ["distance@first", {"measurement": "distance", "arm": "built"}]},
        "distance: share of the gap that is closed", (0.5, None)),
    "a fall": (
        {"distance": None, "at_most": None, "from": None, "kind": "converges", "loss": "distance",
         "falls": {"at_least": 20, "from": "paper"}}, "distance over its start", (None, 0.05)),
    "a comparison": (
        {"distance": None, "at_most": None, "kind": "beats", "lower": "distance",
         "upper": {"measurement": "distance", "arm": "low"}},
        "distance, low over as run", (1.0, None)),
    "a difference": (
        {"distance": None, "at_most": None, "kind": "beats", "lower": "distance",
         "upper": {"measurement": "distance", "arm": "low"}, "difference": True},
        "distance, low minus as run", (0.0, None)),
    "a distance from a number": (
        {"distance": None, "at_most": None, "kind": "equals", "value": "distance",
         "to": 0.02, "within": 0.001}, "distance", (0.019, 0.021)),
    "a distance from another arm": (
        {"distance": None, "at_most": None, "kind": "equals", "value": "distance",
         "to": {"measurement": "distance", "arm": "low"}, "within": 0.25},
        "distance minus low", (-0.25, 0.25)),
    "a factor from another arm": (
        {"distance": None, "at_most": None, "kind": "equals", "value": "distance",
         "to": {"measurement": "distance", "arm": "low"}, "within": 1.0, "relative": True},
        "distance over low", (0.5, 2.0)),
}  # fmt: skip


@pytest.mark.parametrize(("check", "title", "accepted"), OF_CHECKS.values(), ids=OF_CHECKS)
def test_the_number_that_decides_is_drawn_with_its_bound(
    check: dict[str, Any], title: str, accepted: tuple[float | None, float | None]
) -> None:
    """Each line ends at its run's number, or for a fall at one over it; bounds lie in the frame."""
    low = {"settings": {"level": 0.03}, "why": "ends elsewhere"}
    kept = {**shown_check(), **check}
    kept = {name: value for name, value in kept.items() if value is not None}
    made = claim("mini", "shown", main=True, headline=[kept], nulls=["stays"])
    arms = {**audit_data()["arms"], "low": low}
    part = parts(make_scorecard(claims=[made], arms=arms))[0]
    figure = figure_of(part)
    numbers = part.answer.base.estimates[0].numbers
    expected = [1 / number for number in numbers] if check.get("falls") else numbers
    assert drawn(part, "run") == pytest.approx(sorted(expected), rel=1e-3)
    assert (figure.title, figure.accepted) == (title, pytest.approx(accepted))
    tree = tree_of(part)
    bounds = [float(line.get("y1", "0")) for line in tree.iter() if line.get("class") == "bound"]
    assert len(bounds) == sum(end is not None for end in accepted)
    height = float(tree.get("viewBox", "").split()[-1])
    assert all(0 < bound < height for bound in bounds)


def shown_check() -> dict[str, Any]:
    return {"kind": "aligns", "distance": "distance", "at_most": 0.1, "from": "paper"}


def test_a_claim_that_depends_draws_both_sides() -> None:
    read = [{"value": 0.5, "source": "authors_code", "locator": "Line 1"}]
    made = claim("mini", "read", main=True, readings=["level"])
    settings = {**audit_data()["settings"], "level": setting(0.02, readings=read)}
    part = parts(make_scorecard(claims=[made], settings=settings))[0]
    assert part.line.outcome == "depends"
    assert max(drawn(part, "run")) < 0.1 < min(drawn(part, "side"))
    labels = {line.label for line in figure_of(part).lines if line.role in ("run", "side")}
    assert labels == {"as run", "level 0.5"}


def test_the_control_of_a_reading_that_ran_alone_has_its_lines() -> None:
    read = [{"value": 20, "source": "authors_code", "locator": "Line 1"}]
    made = claim("mini", "read", main=True, readings=["steps"])
    settings = {**audit_data()["settings"], "steps": setting(40, readings=read)}
    audit = make_audit(claims=[made], settings=settings)
    under = [
        make_record(Cell("mini", "paper", "descent", {**of.settings, "steps": 20}, of.seed))
        for of in make_records(audit)
        if of.settings["level"] != 0.02 or of.settings["steps"] == 20
    ]
    part = parts(card_of(audit, under))[0]
    assert len(drawn(part, "control")) == part.answer.controls[0].n == 5


def test_a_graded_claim_draws_its_number_at_every_coordinate() -> None:
    grade = {"axis": "size", "symbol": "n", "easiest_first": [1, 2], "primary": [1, 2]}
    check = {"kind": "reaches", "value": "by_size", "at_most": 0.1, "from": "paper"}
    audit = one_claim(headline=[check], grade=grade)
    runs = {"own": [(0.02, 0.5)] * 15, "stays": [(0.8, 0.8)] * 5}
    part = parts(card_of(audit, records_of(audit, runs)))[0]
    figure = figure_of(part)
    assert (figure.x_title, figure.points, figure.accepted) == ("n", True, (None, 0.1))
    (own,) = [line for line in figure.lines if line.role == "run"]
    assert (own.x, own.runs[0]) == ((1.0, 2.0), (0.02, 0.5))


def test_a_law_draws_its_fit() -> None:
    """A growth like log t, of which the fit is a straight line over the logarithm of time."""
    steps = tuple(range(1, 201, 4))
    grown = Series(steps=steps, values=np.log(np.array(steps, dtype=float)))
    measured = Measurements(scalars={"final": 1.0}, series={"distance": grown})
    growth = {"at_least": 1, "from": "paper"}
    check = {"kind": "grows_like", "series": "distance", "law": "logarithm", "growth": growth}
    check["from"] = "paper"
    made = claim("mini", "law", main=True, headline=[check], nulls=[], no_control="It shows.")
    del made["constructed"]
    audit = make_audit(claims=[made])
    records = make_records(audit, of=lambda cell: make_record(cell, measured))
    figure = figure_of(parts(card_of(audit, records))[0])
    (fit,) = [line for line in figure.lines if line.role == "fit"]
    assert figure.log_x
    assert fit.runs[0] == pytest.approx(np.log(fit.x), rel=1e-3)


@pytest.mark.parametrize(
    ("words", "title"),
    [(None, "training step"), ("epochs", "epoch"), ("of two halves", "training step")],
)
def test_an_axis_is_named_by_what_the_length_counts(words: str | None, title: str) -> None:
    named = {} if words is None else {"words": words}
    settings = {**audit_data()["settings"], "steps": setting(40, **named)}
    card = make_scorecard(settings=settings, length="steps")
    assert figure_of(parts(card)[0]).x_title == title


def test_labels_lie_in_the_gutter_and_on_no_other() -> None:
    part = shown()
    tree = tree_of(part)
    labels = [text for text in tree.iter("text") if "label" in text.get("class", "")]
    right = max(float(line.get("x2", "0")) for line in tree.iter() if line.get("class") == "bound")
    assert all(float(label.get("x", "0")) > right for label in labels)
    heights = sorted(float(label.get("y", "0")) for label in labels)
    assert all(b - a >= 11 for a, b in pairwise(heights))
    said = " ".join("".join(label.itertext()) for label in labels)
    assert {"runs", "stays", "built", "bound: at most 0.1"} == set(
        re.findall(r"runs|stays|built|bound: at most 0.1", said)
    )


def test_what_is_built_far_away_is_drawn_at_the_edge_with_its_number() -> None:
    """At 6e-7, it would leave the runs a sliver of the frame."""
    arms = {**audit_data()["arms"], "built": {"settings": {"level": 1e-12}, "why": "exact"}}
    made = claim("mini", "shown", main=True)
    part = parts(make_scorecard(claims=[made], arms=arms))[0]
    text = "".join(tree_of(part).itertext())
    assert "built (6 × 10⁻⁷)" in text
    runs = [line.get("points", "") for line in tree_of(part).iter("polyline")]
    heights = [float(points.split(",")[-1]) for points in runs]
    assert max(heights) - min(heights) > 100


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
    (part,) = parts(card_of(audit, records))
    nouns = {row.typical: row.noun for row in part.rows}
    assert nouns == {0.2: "far (layer 2)", 0.1: "far (layer 1)"}
    assert {nouns[end] for end in drawn(part, "run")} == {figure_of(part).title}


def test_a_line_ends_where_its_number_is() -> None:
    tree = tree_of(shown())
    bound = next(line for line in tree.iter() if line.get("class") == "bound")
    heights: dict[str, list[float]] = {"run": [], "control": []}
    for line in tree.iter("polyline"):
        if (role := line.get("class", "")) in heights:
            heights[role].append(float(line.get("points", "").split(",")[-1]))
    level = float(bound.get("y1", "0"))
    assert all(end > level for end in heights["run"]), "below the bound: downwards in SVG"
    assert all(end < level for end in heights["control"])


def test_a_distance_from_a_curve_is_no_line_beside_the_curve() -> None:
    curve = [[0, 1.0], [40, 0.0]]
    part = shown(kind="follows", distance=None, series="distance", curve=curve, at_most=2)
    assert (figure_of(part).levels, figure_of(part).accepted) == ((), None)
    (followed,) = [line for line in figure_of(part).lines if line.role == "reference"]
    assert (followed.x, followed.runs) == ((0.0, 40.0), ((1.0, 0.0),) * len(drawn(part, "run")))


def test_a_figure_is_said_in_words() -> None:
    part = shown()
    label = chart_label(figure_of(part))
    assert label.startswith("distance against training step: runs (")
    assert re.search(r"stays \(.*end (at|from)", label)
    assert label in str(chart(figure_of(part))).replace("&#39;", "'")
    assert label in str(picture(figure_of(part))).replace("&#39;", "'")


def test_a_number_without_a_course_has_a_mark_for_each_run_and_the_bound() -> None:
    part = shown(kind="reaches", distance=None, value="final", zero=1.0)
    assert part.figure is None
    for picture_of in (ends, strip):
        tree = ElementTree.fromstring(str(picture_of(part)))
        runs = [float(mark.get("cx", "0")) for mark in tree.iter() if mark.get("class") == "run"]
        control = [float(at.get("x", "0")) for at in tree.iter() if at.get("class") == "control"]
        (bound,) = [float(at.get("x1", "0")) for at in tree.iter() if at.get("class") == "bound"]
        assert len(runs) == len(part.answer.base.estimates[0].numbers)
        assert len(control) == len(part.answer.controls[0].estimates[0].numbers)
        assert min(runs) > bound > max(control)
    assert "stays" in "".join(ElementTree.fromstring(str(ends(part))).itertext())


def test_each_condition_without_a_course_has_its_own_block() -> None:
    final = {"kind": "reaches", "value": "final", "from": "paper"}
    checks = [{**final, "at_most": 0.1}, {**final, "at_least": 0.001}]
    made = claim("mini", "shown", main=True, headline=checks, nulls=["stays"])
    (part,) = parts(make_scorecard(claims=[made]))
    tree = ElementTree.fromstring(str(ends(part)))
    counts = Counter(mark.get("class") for mark in tree.iter())
    assert (counts["accept"], counts["bound"]) == (2, 2)
    assert counts["run"] == 2 * len(part.answer.base.estimates[0].numbers)


@pytest.mark.parametrize(
    ("margin", "accepted"),
    [
        ({"within": 0.001}, (0.019, 0.021)),
        ({"within": 0.08, "relative": True}, (0.02 / 1.08, 0.02 * 1.08)),
    ],
)
def test_a_margin_is_drawn_as_it_is_held(margin: Any, accepted: tuple[float, float]) -> None:
    equals = {"kind": "equals", "distance": None, "at_most": None, "value": "final", "to": 0.02}
    part = shown(**equals, **margin)
    (estimate,) = part.answer.base.estimates
    assert estimate.limit.accepted == pytest.approx(accepted)
    tree = tree_of(part)
    bounds = [float(one.get("x1", "0")) for one in tree.iter() if one.get("class") == "bound"]
    runs = [float(one.get("cx", "0")) for one in tree.iter() if one.get("class") == "run"]
    pairs = zip(estimate.numbers, runs, strict=True)
    inside = [min(bounds) <= at <= max(bounds) for _, at in pairs]
    assert inside == [*estimate.holds]
    assert {True, False} == set(inside)


def test_a_claim_without_numbers_has_no_figure() -> None:
    audit = make_audit(claims=[claim("mini", "shown", main=True)])
    (part,) = parts(card_of(audit, []))
    assert (part.figure, str(ends(part)), str(strip(part))) == (None, "", "")
