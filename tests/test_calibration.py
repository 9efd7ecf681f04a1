"""The calibration: its committed figures, its fast form against the judge's own, a few shapes."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from benchmarks import multiplicity
from benchmarks.calibrate.__main__ import AUDITS, faults, kinds
from benchmarks.calibrate.measure import met_at_once, met_one_by_one, refused
from benchmarks.calibrate.page import PAGE, RESULTS, page
from benchmarks.calibrate.shape import Shape
from benchmarks.calibrate.shapes import NULLS, PHENOMENA

from reproaudit.audit.loading.models import CHECKS
from reproaudit.checks import judge_conditions
from reproaudit.stats import Decision
from test_checks import check, look, scalars

FIGURES: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8"))


def shape(kind: str, name: str) -> Shape:
    (found,) = [s for s in (*NULLS, *PHENOMENA) if (s.kind, s.name) == (kind, name)]
    return found


def test_the_committed_figures_cover_every_kind_and_shape_and_pass() -> None:
    assert sorted(FIGURES) == kinds()
    assert len(FIGURES) == len(CHECKS)
    for key, shapes in (("nulls", NULLS), ("power", PHENOMENA)):
        named = {kind: {s.name for s in shapes if s.kind == kind} for kind in FIGURES}
        assert {kind: set(one[key]) for kind, one in FIGURES.items()} == named
    assert all(rate["of"] >= 1000 for one in FIGURES.values() for rate in one["nulls"].values())
    assert faults(FIGURES) == []
    assert page(FIGURES) == PAGE.read_text(encoding="utf-8")


def test_a_null_above_the_level_is_a_fault() -> None:
    wrong = json.loads(json.dumps(FIGURES))
    wrong["aligns"]["nulls"]["normal logarithms"]["met"] = 90
    wrong["follows"]["nulls"].popitem()
    wrong["follows"]["nulls"].popitem()
    assert faults(wrong) == [
        "aligns, normal logarithms: met in 9.0%, above 5%",
        "follows has 2 nulls and 1 phenomena",
    ]
    assert AUDITS >= 1000


FEW = [
    next(s for s in shapes if s.kind == kind and not refused(s))
    for kind in kinds()
    for shapes in (NULLS, PHENOMENA)
]


@pytest.mark.parametrize("one", FEW, ids=[f"{s.kind}: {s.name}" for s in FEW])
def test_the_decisions_made_at_once_are_the_judges(one: Shape) -> None:
    at_once, one_by_one = met_at_once(one, 12), met_one_by_one(one, 12)
    assert at_once.tolist() == one_by_one.tolist()


@pytest.mark.parametrize(
    ("kind", "name", "least", "most"),
    [
        ("ordered_onsets", "two logits from step 0, speeds 3 to 1, noise 0", 0, 0),
        ("ordered_onsets", "stages at 1 and 4", 38, 40),
        ("grows_like", "t^0.10, noise 0.0005", 0, 0),
        ("grows_like", "log(1 + t), noise 0.0005", 38, 40),
        ("converges", "the rate decayed by a cosine", 0, 0),
        ("converges", "settled, fell a hundredfold", 40, 40),
        ("reaches", "exponential data of either sign, linear scale", 0, 6),
    ],
)
def test_shapes_are_met_as_often_as_they_should(
    kind: str, name: str, least: int, most: int
) -> None:
    assert least <= met_at_once(shape(kind, name), 40).sum() <= most


def test_positive_skewed_data_are_refused_on_the_linear_scale_alone() -> None:
    assert [s.kind for s in NULLS if refused(s)] == ["matches", "reaches", "separates"]


def test_shapes_are_the_same_each_time() -> None:
    one = shape("aligns", "normal logarithms")
    first, again = one.measurements(3)["x"], one.measurements(3)["x"]
    assert np.array_equal(first, again)  # type: ignore[arg-type]
    assert len({(s.kind, s.name) for s in (*NULLS, *PHENOMENA)}) == len(NULLS) + len(PHENOMENA)


# --- many parts ---------------------------------------------------------------------------------


@pytest.mark.parametrize("parts", [1, 2, 5])
def test_the_simulation_of_many_parts_judges_as_the_judge(parts: int) -> None:
    rng = np.random.default_rng(parts)
    values = rng.normal(size=(60, parts, 5)) - rng.uniform(0, 3, size=(60, parts, 1))
    missed = multiplicity.primary_and_holm(multiplicity.one_sided(values))
    assert 0 < missed.sum() < 60
    names = [f"x{i}" for i in range(parts)]
    checks = [check("reaches", name=n, quantity=look(n), at_least=1.0, scale="log") for n in names]
    for row, expected in zip(np.exp(values), missed, strict=True):
        samples = scalars(**{n: row[i].tolist() for i, n in enumerate(names)})
        decisions = [c.result.decision for c in judge_conditions(checks, samples, 0.95)]
        assert (Decision.MISSED in decisions) == expected


def test_the_rule_in_use_errs_no_more_than_it_may_and_sees_a_primary_that_fails() -> None:
    figures = json.loads(multiplicity.RESULTS.read_text(encoding="utf-8"))
    assert list(figures) == ["1", "5", "30"]
    for by_correlation in figures.values():
        for rates in by_correlation.values():
            error = rates["every part on its bound (error)"]["primary and Holm"]
            assert error <= 0.025 + 3 * (0.025 / multiplicity.TRIALS) ** 0.5
            assert rates["the primary fails by 2 SD"]["primary and Holm"] >= 0.75
