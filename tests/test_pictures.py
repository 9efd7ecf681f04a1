"""The pictures beside a claim: what is drawn, how it is thinned out, and what is said of it."""

from __future__ import annotations

import csv
import io
import itertools
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factories import CLAIMS, audit_data, make_audit, make_lookup, setting
from reproaudit.audit.model import Audit
from reproaudit.audit.plan import Role
from reproaudit.audit.rules import broken_rules
from reproaudit.checks import Check
from reproaudit.checks.quantities import Sample
from reproaudit.declarations import Declaration, MeasurementKind
from reproaudit.checks.ordered_onsets import OrderedOnsets
from reproaudit.records import Measurements, Series
from reproaudit.reports.areas import Box, crossings
from reproaudit.reports.axes import PlotAxis
from reproaudit.reports.chart import picture_chart
from reproaudit.reports.claim import parts_words
from reproaudit.reports.files import read_scorecard, write_report
from reproaudit.reports.frame import CHART_WIDTH, PLOT, XY, path_of
from reproaudit.reports.html import html_page
from reproaudit.reports.picture_data import FILE, pictures_csv
from reproaudit.reports.register.strip import with_broad_stages
from reproaudit.reports.scorecard import scorecard_document
from reproaudit.scorecard.build import build
from reproaudit.scorecard.model import ClaimModel, Scorecard
from reproaudit.scorecard.pictures import (
    MOST_POINTS,
    LineModel,
    OnsetModel,
    PictureModel,
    RangeModel,
    StageModel,
    kept,
    stages_ask_for_log,
)
from reproaudit.scorecard.stages import find
from reproaudit.stats import Decision, Scale, onset


@pytest.fixture(scope="module")
def audit() -> Audit:
    return make_audit()


@pytest.fixture(scope="module")
def card(audit: Audit) -> Scorecard:
    return build(audit, "paper", make_lookup(audit))


def claim_of(card: Scorecard, name: str) -> ClaimModel:
    return next(one for one in card.claims if one.id == f"toy.{name}")


# --- what is drawn ------------------------------------------------------------------------------


def test_the_judged_trajectory_stands_beside_its_claim(audit: Audit, card: Scorecard) -> None:
    (picture,) = claim_of(card, "converges").pictures
    assert (picture.kind, picture.parts, picture.y_label) == ("course", ("the loss",), "loss")
    roles = [line.role for line in picture.lines]
    assert roles == [Role.EXPERIMENT, Role.CONTROL, Role.POSITIVE_CONTROL]
    own = picture.lines[0]
    batch = next(r for r in card.records if r.experiment == "good" and r.role is Role.EXPERIMENT)
    assert batch.seed in own.seeds
    assert len(own.runs) == len(own.seeds) == 5
    (bound,) = picture.ranges
    start = float(np.exp(np.mean(np.log([run[0] for run in own.runs]))))
    assert bound.high == (pytest.approx(start / 10, rel=1e-4),)  # falls by a factor of ten
    assert bound.low == (None,)


def test_a_check_of_each_coordinate_is_drawn_over_its_axis(card: Scorecard) -> None:
    (picture,) = claim_of(card, "layers").pictures
    assert (picture.kind, picture.x_label, picture.y_scale) == ("sizes", "layer", "log")
    own = picture.lines[0]
    claim = claim_of(card, "layers")
    for place, part in enumerate(claim.parts):
        measured = [run[place] for run in own.runs]
        assert measured == pytest.approx(part.per_seed, rel=1e-4)
    assert picture.ranges[0].high == (0.1,) * len(claim.parts)


def test_single_numbers_need_no_picture_but_the_runs_against_the_bound(card: Scorecard) -> None:
    claim = claim_of(card, "contradicted")
    assert claim.pictures == ()
    page = html_page(scorecard_document(card.model_copy(update={"claims": (claim,)})))
    assert page.count('class="seed"') >= len(claim.per_seed)


def test_a_figure_that_a_claim_shows_already_is_left_out(card: Scorecard) -> None:
    assert {one.id for one in card.figures} == {"weights", "errors"}
    audit = make_audit(claims=[one for one in CLAIMS if one["id"] != "toy.converges"])
    without = build(audit, "paper", make_lookup(audit))
    assert {one.id for one in without.figures} == {"losses", "weights", "errors"}


def test_figures_stand_beside_the_first_claim_of_their_experiment(card: Scorecard) -> None:
    page = html_page(scorecard_document(card))
    first = page.index('id="claim-1"')
    assert card.claims[0].experiment == "good"
    assert first < page.index('id="figure-errors"') < page.index('id="claim-2"')


# --- the range that meets a check ---------------------------------------------------------------

DECLARED: Mapping[str, Declaration] = {
    name: Declaration(kind=MeasurementKind.SERIES, unit="1", meaning="a series", range=(None, None))
    for name in ("a", "b")
}
A, B = {"measurement": "a"}, {"measurement": "b"}
HELD = [
    {"kind": "reaches", "quantity": A, "at_least": 0.4, "scale": "linear"},
    {"kind": "reaches", "quantity": A, "at_most": 0.4, "scale": "log"},
    {"kind": "reaches", "quantity": A, "relative_to": B, "at_most": 1.5, "scale": "log"},
    {"kind": "reaches", "quantity": A, "relative_to": B, "at_least": -0.1, "scale": "linear"},
    {"kind": "matches", "quantity": A, "target": 0.4, "margin": 0.2, "scale": "log"},
    {"kind": "matches", "quantity": A, "reference": B, "margin": 0.2, "scale": "log"},
    {"kind": "matches", "quantity": A, "reference": B, "margin": 0.2},
    {"kind": "aligns", "distance": A, "at_most": 0.3},
    {"kind": "aligns", "cosine": A, "at_least": 0.3},
    {"kind": "concentrates", "share": A, "at_least": 0.5},
    {"kind": "concentrates", "share": A, "at_least": 0.5, "of_the_rest": True},
    {"kind": "separates", "lower": A, "upper": B, "by": 1.25},
    {"kind": "separates", "lower": A, "upper": B, "by": 0.1, "scale": "linear"},
    {"kind": "converges", "loss": A, "falls_by": 2.0, "settles_within": 1.5},
]


def sample(*, seed: int = 0, **series: list[float]) -> Sample:
    steps = tuple(range(0, 10 * len(next(iter(series.values()))), 10))
    found = {n: Series(steps=steps, values=np.array(v)) for n, v in series.items()}
    return Sample(seed, Measurements(series=found), DECLARED, {})


def check(data: Mapping[str, Any]) -> Any:
    from pydantic import TypeAdapter

    one = {"name": "part", "reason": "none", "over": "every_seed", **data}
    return TypeAdapter(Check).validate_python(one)


@pytest.mark.parametrize("data", HELD, ids=lambda one: "-".join(map(str, one.values()))[:40])
@settings(deadline=None, max_examples=60)
@given(a=st.tuples(*[st.floats(0.02, 0.98)] * 2), b=st.floats(0.02, 0.98))
def test_a_run_ends_in_the_drawn_range_exactly_if_it_meets_the_check(
    data: Mapping[str, Any], a: tuple[float, float], b: float
) -> None:
    part, one = check(data), sample(a=list(a), b=[b, b])
    quantity, (low, high) = part.goal(one)
    assert quantity.measurement == "a"
    if min(abs(a[1] - low), abs(a[1] - high)) < 1e-9:
        return  # on the very bound, rounding decides
    condition = part.conditions()[0]
    result = condition.judge([one], [condition.value(one)], 0.95, 1)
    assert (result.decision is Decision.MET) == (low <= a[1] <= high)


# --- thinning -----------------------------------------------------------------------------------


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 10**6), runs=st.integers(1, 30), log=st.booleans())
def test_thinning_hides_no_extreme_and_stays_small(seed: int, runs: int, log: bool) -> None:
    random = np.random.default_rng(seed)
    values = [random.normal(size=3000).cumsum() for _ in range(runs)]
    values[0][random.integers(3000)] = 1e6  # a spike of a single observation
    x = list(range(3000))
    keep = kept(x, values, log=log)
    assert len(keep) <= MOST_POINTS + 2 + 4 * runs
    assert keep == sorted(set(keep))
    assert {0, 2999} <= set(keep)
    for run in values:
        assert run[keep].max() == run.max()
        assert run[keep].min() == run.min()


def test_thinning_drops_only_what_a_straight_line_shows() -> None:
    run = np.array([0.0, 1.0, 1.0, 1.0, 1.0, 2.0, 2.0])
    assert kept(range(7), [run], log=False) == [0, 1, 4, 5, 6]
    assert kept(range(7), [run, np.arange(7.0)], log=False) == list(range(7))


# --- onsets and stages --------------------------------------------------------------------------

STEPS = list(range(0, 1001, 10))


def ramp(begin: float, end: float) -> list[float]:
    return [min(max((step - begin) / (end - begin), 0.0), 1.0) for step in STEPS]


def onsets_part(**changes: Any) -> OrderedOnsets:
    stated = {
        "kind": "ordered_onsets",
        "name": "a before b",
        "reason": "none",
        "earlier": A,
        "later": B,
        "earlier_change": 0.2,
        "later_change": 0.2,
        "by": 2.0,
        "plateau": 0.1,
    }
    return OrderedOnsets.model_validate({**stated, **changes})


def test_ordered_onsets_are_drawn_where_the_check_reads_them() -> None:
    samples = [
        sample(seed=i, a=ramp(100 + 10 * i, 200), b=ramp(600, 700 + 20 * i)) for i in range(3)
    ]
    courses = [
        ([float(s) for s in STEPS], [one.series(q).values for one in samples])
        for q in onsets_part().quantities()
    ]
    found = find([onsets_part()], samples, courses, ["a", "b"], log=False, floor=1e-9)
    first, second = found.onsets
    steps = [onset(STEPS, s.measurements.series["a"].values, least_change=0.2) for s in samples]
    assert first.step == pytest.approx(sorted(map(float, filter(None, steps)))[1])
    assert all(first.low <= float(step or 0) <= first.high for step in steps)
    assert (first.came, first.of, second.came) == (3, 3, 3)
    assert [one.name for one in found.stages] == ["I", "II", "III"]
    bounds = list(itertools.chain(*((one.start, one.end) for one in found.stages)))
    assert bounds == [0, first.step, first.step, second.step, second.step, 1000]
    (plateau,) = found.plateaus
    assert plateau.level == pytest.approx(0.1)
    assert 170 <= plateau.until <= 200  # four fifths of the earlier change


def test_an_onset_that_comes_in_no_run_is_not_drawn() -> None:
    samples = [sample(a=ramp(100, 200), b=[0.0] * len(STEPS))]
    courses = [([0.0, 1000.0], [np.zeros(2)])] * 2
    found = find([onsets_part()], samples, courses, ["a", "b"], log=False, floor=1e-9)
    assert [one.quantity for one in found.onsets] == [0]
    assert found.stages == ()


@pytest.mark.parametrize(
    ("values", "has_onset"),
    [
        (ramp(400, 500), True),
        (ramp(0, 1000), False),  # a drift
        ([1 - math.exp(-step / 200) for step in STEPS], False),  # a decay from the start on
        ([0.5] * len(STEPS), False),
    ],
)
def test_a_course_has_an_onset_only_if_it_waits_first(values: list[float], has_onset: bool) -> None:
    course = ([float(s) for s in STEPS], [np.array(values)] * 3)
    found = find([check(HELD[0])], [], [course], ["a"], log=False, floor=1e-9)
    assert bool(found.onsets) is has_onset
    assert bool(found.stages) is has_onset
    if has_onset:
        assert found.onsets[0].step == pytest.approx(450, abs=5)
        assert [round(one.end, -1) for one in found.stages] == [410, 490, 1000]


# --- a picture, laid out and in words -----------------------------------------------------------


def line(*runs: list[float], role: Role = Role.EXPERIMENT, **changes: Any) -> LineModel:
    stated = {
        "label": "loss",
        "role": role,
        "control": None,
        "name": "without" if role is Role.CONTROL else None,
        "quantity": 0,
        "x": tuple(float(i) for i in (0, 1, 10, 100, 1000)[: max(map(len, runs))]),
        "seeds": tuple(range(len(runs))),
        "runs": tuple(map(tuple, runs)),
    }
    return LineModel(**{**stated, **changes})


def picture(*lines: LineModel, **changes: Any) -> PictureModel:
    stated = {
        "kind": "course",
        "parts": ("the loss falls",),
        "x_label": "training step",
        "x_scale": "log",
        "x_why": "an onset comes within the first tenth of the steps",
        "y_label": "loss",
        "unit": "nat",
        "y_scale": "linear",
        "floor": 1e-12,
        "meanings": ("The mean loss.",),
        "lines": lines,
        "ranges": (RangeModel(quantity=0, about="p", x=(), low=(None,), high=(0.1,)),),
        "observed": 5,
    }
    return PictureModel(**{**stated, **changes})


FALLS = [1.0, 1.0, 0.9, 0.2, 0.05]


def test_parts_that_differ_in_a_coordinate_are_named_together() -> None:
    assert parts_words(("beats it, depth 1", "beats it, depth 2")) == "beats it, depth 1, 2"
    assert parts_words(("falls", "falls in every run")) == "falls; falls in every run"
    assert parts_words(("falls, in every run",)) == "falls, in every run"


def courses_of(path: str) -> list[list[XY]]:
    """The points of each line of a path, as a browser reads them."""
    found: list[list[XY]] = []
    for line_ in path.split("M")[1:]:
        numbers = [list(map(float, NUMBER.findall(one))) for one in line_.split("l")]
        steps = [pair for one in numbers for pair in zip(one[::2], one[1::2], strict=True)]
        found.append(list(itertools.accumulate(steps, lambda a, b: (a[0] + b[0], a[1] + b[1]))))
    return found


NUMBER = re.compile(r"-?(?:\d+\.?\d*|\.\d+)(?:e-?\d+)?")
HUNDREDTHS = st.integers(-99_999, 99_999).map(lambda n: n / 100)


@given(st.lists(st.tuples(HUNDREDTHS, HUNDREDTHS), max_size=200))
def test_a_path_leads_through_its_points(points: list[XY]) -> None:
    path = path_of(points)
    assert re.fullmatch(r"[MLlz0-9. -]*", path), "no exponent, which the register refuses"
    found = [pair for course in courses_of(path) for pair in course]
    assert np.allclose(found, points, rtol=0, atol=1e-6) if points else path == ""


def test_lines_stay_in_the_frame_and_zero_has_a_place_on_a_logarithmic_axis() -> None:
    far = line([1.0, 5.0, 50.0, 500.0, 5e6], role=Role.CONTROL)
    chart = picture_chart(picture(line(FALLS), far))
    assert chart.cut == {"control"}
    assert next(label for _, label in chart.x_ticks) == "0"
    places = [x for x, _ in chart.x_ticks]
    assert places == sorted(places)
    for stroke in chart.strokes:
        for course in courses_of(stroke.path):
            assert all(chart.left - 0.1 <= x <= chart.right + 0.1 for x, _ in course)
            assert all(chart.top - 0.1 <= y <= chart.bottom + 0.1 for _, y in course)
    own = picture_chart(picture(line(FALLS)))
    assert not own.cut
    assert own.width == CHART_WIDTH
    assert own.bottom - own.top == PLOT


def test_labels_of_near_bounds_stand_side_by_side() -> None:
    bounds = [
        RangeModel(quantity=0, about="p", x=(), low=(None,), high=(high,)) for high in (0.1, 0.101)
    ]
    first, second = picture_chart(picture(line(FALLS), ranges=tuple(bounds))).areas
    assert second.label_x >= first.label_x + 6 * len(first.label)


# --- files --------------------------------------------------------------------------------------


def test_the_numbers_stand_beside_the_page(card: Scorecard, tmp_path: Path) -> None:
    written = write_report(card, tmp_path, ["html", "json"])
    folder = written[0].parent
    page = (folder / "scorecard.html").read_text(encoding="utf-8")
    assert page.count(f'href="{FILE}"') == sum(bool(claim.pictures) for claim in card.claims)
    rows = list(csv.DictReader(io.StringIO((folder / FILE).read_text(encoding="utf-8"))))
    found = claim_of(card, "converges").pictures[0].lines[0]
    mine = [r for r in rows if r["claim"] == "toy.converges" and r["role"] == "experiment"]
    assert [float(row["x"]) for row in mine] == list(found.x)
    for seed, run in zip(found.seeds, found.runs, strict=True):
        assert [float(row[f"seed {seed}"]) for row in mine] == list(run)
    again = read_scorecard(folder / "scorecard.json")
    assert html_page(scorecard_document(again, index=True, data=FILE)) == page
    alone = tmp_path / "alone"
    (path,) = write_report(card, alone, ["json"])
    assert not (path.parent / FILE).exists()


def test_no_cell_of_the_numbers_is_a_formula(card: Scorecard) -> None:
    claim = claim_of(card, "converges")
    named = [one.model_copy(update={"label": "=HYPERLINK(1)"}) for one in claim.pictures[0].lines]
    drawn = claim.pictures[0].model_copy(update={"lines": tuple(named)})
    changed = claim.model_copy(update={"pictures": (drawn,)})
    text = pictures_csv(card.model_copy(update={"claims": (changed,)}))
    assert "=HYPERLINK" in text
    assert not any(cell.startswith("=") for row in csv.reader(io.StringIO(text)) for cell in row)


# --- stages that the audit declares -------------------------------------------------------------


def staged(steps: str, names: str = "I", **own: Any) -> Audit:
    data = audit_data()
    good = data["experiments"]["good"]
    about = "a part is trained"
    good["stages"] = [{"name": one, "about": about, "steps": steps} for one in names.split()]
    good["settings"] = {**good["settings"], **own}
    return make_audit(experiments=data["experiments"])


def test_declared_stages_are_drawn_where_a_series_spans_them() -> None:
    audit = staged("lasting", "I II", lasting=setting([20, 80]))
    (picture,) = claim_of(build(audit, "quick", make_lookup(audit)), "converges").pictures
    assert [(one.start, one.end) for one in picture.stages] == [(0, 20), (20, 100)]
    audit = staged("lasting", "I II", lasting=setting([20, 90]))  # the series has 100 steps
    (picture,) = claim_of(build(audit, "quick", make_lookup(audit)), "converges").pictures
    assert picture.stages == ()


def test_a_single_stage_is_not_drawn() -> None:
    """The defect: over all of training it stood in place of the stages that are found."""
    audit = staged("steps")
    (picture,) = claim_of(build(audit, "quick", make_lookup(audit)), "converges").pictures
    assert picture.stages == ()


@pytest.mark.parametrize(
    ("ends", "log"),
    [((2000, 52000, 57000), False), ((160, 1300, 20000), True), ((4500, 6500, 100000), True)],
)
def test_time_is_drawn_as_stages_have_room(ends: tuple[int, ...], log: bool) -> None:
    pairs = itertools.pairwise((0, *ends))
    stages = [StageModel(name="I", about="-", start=a, end=b) for a, b in pairs]
    steps = [0.0, 1.0, 10.0, float(ends[-1])]
    assert stages_ask_for_log(steps, stages) is log
    course = line([1.0, 0.9, 0.5, 0.1], x=tuple(steps))
    for scale in ("linear", "log"):
        shown = with_broad_stages(picture(course, stages=tuple(stages), x_scale=scale))
        assert (shown.x_scale == "log") is log


@pytest.mark.parametrize("strip", [False, True])
@pytest.mark.parametrize("ends", [(990, 995, 1000), (1, 2, 1000), (400, 405, 1000), (5, 995, 1000)])
def test_every_stage_is_named_however_narrow_it_is(ends: tuple[int, ...], strip: bool) -> None:
    """The defect: a stage that is narrower than its name had none."""
    pairs = zip(("I", "II", "III"), itertools.pairwise((0, *ends)), strict=True)
    stages = tuple(StageModel(name=n, about="-", start=a, end=b) for n, (a, b) in pairs)
    chart = picture_chart(picture(line(FALLS), stages=stages, x_scale="linear"), strip=strip)
    assert [one.name for one in chart.bands] == ["I", "II", "III"]
    places = [one.name_x for one in chart.bands]
    half = {"I": 3.0, "II": 5.0, "III": 7.0}
    for one, other in itertools.pairwise(chart.bands):
        assert other.name_x - one.name_x > half[one.name] + half[other.name]
    assert places[0] >= chart.left
    assert places[-1] + half["III"] <= chart.right + 5


def test_the_step_of_an_onset_covers_no_course_where_there_is_room() -> None:
    """The defect: it stood at the foot of its line, on the axis and on what runs there."""
    low = line([1.0, 1.0, 0.05, 0.05, 0.05])
    onset_ = OnsetModel(quantity=0, step=5.0, low=4.0, high=6.0, came=1, of=1)
    chart = picture_chart(picture(low, onsets=(onset_,), ranges=()))
    (mark,) = chart.onsets
    assert mark.label_y <= chart.bottom - 7
    left = mark.label_x - 7 if mark.is_left else mark.label_x
    (points,) = courses_of(chart.strokes[0].path)
    for at in (left, left + 7):
        height = np.interp(at, [x for x, _ in points], [y for _, y in points])
        assert not mark.label_y - 10 <= height <= mark.label_y + 2


def crosses(course: list[XY], box: Box) -> bool:
    """Whether a line passes through a box, piece by piece."""
    left, right, upper, lower = box
    for (x0, y0), (x1, y1) in itertools.pairwise(course):
        first, last = max(x0, left), min(x1, right)
        if first > last:
            continue
        slope = (y1 - y0) / (x1 - x0) if x1 > x0 else 0.0
        ends = (y0 + slope * (first - x0), y0 + slope * (last - x0)) if x1 > x0 else (y0, y1)
        if min(ends) <= lower and max(ends) >= upper:
            return True
    return False


PLACES = st.one_of(st.integers(0, 40).map(float), st.floats(-50, 400).map(lambda v: round(v, 1)))
BOXES = st.tuples(PLACES, PLACES, PLACES, PLACES).map(
    lambda b: (min(b[:2]), max(b[:2]), min(b[2:]), max(b[2:]))
)


@given(
    st.lists(st.lists(st.tuples(PLACES, PLACES), max_size=6), max_size=4),
    st.lists(BOXES, min_size=1, max_size=5),
    st.booleans(),
)
def test_lines_through_boxes_are_counted_as_one_by_one(
    courses: list[list[XY]], boxes: list[Box], forwards: bool
) -> None:
    """Courses run to the right; upright pieces and, in foreign data, backward ones may be there."""
    courses = [sorted(one, key=lambda place: place[0]) if forwards else one for one in courses]
    expected = [sum(crosses(course, box) for course in courses) for box in boxes]
    assert crossings(courses, boxes) == expected


@given(st.sampled_from(Scale), st.lists(st.floats(allow_nan=False), max_size=5))
def test_an_axis_places_many_numbers_as_one(scale: Scale, values: list[float]) -> None:
    axis = PlotAxis(scale, -2.0, 3.0, 20.0, 340.0)
    assert axis.along(values) == [axis.at(value) for value in values]
    assert all(20 <= place <= 340 for place in axis.along(values))


@pytest.mark.parametrize(
    ("steps", "fault"), [("stepz", "unknown setting 'stepz'"), ("mechanism", "whole number")]
)
def test_a_stage_lasts_as_a_setting_says(steps: str, fault: str) -> None:
    found = [v.message for rule, v in broken_rules(staged(steps)) if rule.id == "RA132"]
    assert len(found) == 1
    assert fault in found[0]
