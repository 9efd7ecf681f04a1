"""Closed forms of wei2022 against its code: the law's shift, single classes, edit distance, PCA."""

from typing import Any

import numpy as np
import pytest
from scipy.special import expit

from reproaudit.audit.catalog import Catalog
from reproaudit.lab import AuditSettings, generator
from reproaudit.papers import wei2022


def settings(experiment: str, **changed: Any) -> AuditSettings:
    return AuditSettings(
        **{**Catalog()["wei2022"].audit().values_of(experiment, "quick"), **changed}
    )


@pytest.mark.parametrize(("length", "half"), [(1, 2.08), (5, 52.0), (20, 832.5)])
def test_the_law_reaches_half_height_where_algebra_says(length, half):
    places = np.linspace(-5, 15, 20_001)
    chance = wei2022.per_token(np.exp(places), 1.0, -0.5) ** length
    assert np.exp(wei2022.crossing(places, chance, 0.5)) == pytest.approx(half, rel=1e-2)


def test_a_score_is_never_or_always_past_a_level():
    places = np.array([1.0, 2.0, 4.0])
    assert wei2022.crossing(places, np.array([0.1, 0.2, 0.3]), 0.5) == 4.0
    assert wei2022.crossing(places, np.array([0.6, 0.2, 0.7]), 0.5) == 1.0
    assert wei2022.crossing(places, np.array([0.0, 0.0, 1.0]), 0.5) == 3.0


def test_targets_of_one_class_are_a_mean_of_powers():
    """Sum over classes of p_c^L / K, which exceeds p^L by Jensen's inequality."""
    labels = np.repeat([0, 1], [300, 100])
    hits = np.array([np.arange(400) % 10 < np.where(labels == 0, 9, 5)])
    drawn = {"targets": 200_000, "length": 3}
    one = wei2022.draw_targets(AuditSettings(drawing="one_class", **drawn), 0, labels)
    both = wei2022.draw_targets(AuditSettings(drawing="independent", **drawn), 0, labels)
    assert wei2022.exact_match(hits, one) == pytest.approx(0.75 * 0.9**3 + 0.25 * 0.5**3, abs=4e-3)
    assert wei2022.exact_match(hits, both) == pytest.approx(0.8**3, abs=4e-3)


def test_ridge_regression_solves_its_normal_equations():
    """Scores on the test rows are those of the least sum of squares, by plain least squares."""
    s = settings("emergence", sizes=(2, 12, 40))
    pixels, labels = wei2022.rows_of(s, 3, "train")
    test_pixels, test_labels = wei2022.rows_of(s, 3, "test")
    rng = generator(3, "features", 1)
    weights, biases = rng.standard_normal((64, 12)), rng.standard_normal(12)
    seen, unseen = (np.maximum(x @ weights + biases, 0) for x in (pixels, test_pixels))
    rows = np.vstack(
        [
            np.hstack([seen, np.ones((len(labels), 1))]),
            np.hstack([np.sqrt(s.ridge) * np.eye(12), np.zeros((12, 1))]),
        ]
    )
    wanted = np.vstack([np.eye(10)[labels], np.zeros((12, 10))])
    solved = np.linalg.lstsq(rows, wanted, rcond=None)[0]
    scores, hits = wei2022.trained(s, 3, 1)
    assert scores == pytest.approx(unseen @ solved[:-1] + solved[-1], abs=1e-8)
    assert hits.mean() == (scores.argmax(axis=1) == test_labels).mean()


@pytest.mark.parametrize("metric", ["exact_match", "item", "brier", "cross_entropy"])
def test_a_metric_is_zero_at_chance_and_one_without_error(metric):
    labels = np.repeat(np.arange(10), 80)
    scores = np.stack([np.full((800, 10), 0.1), np.eye(10)[labels]])
    hits = np.stack([np.arange(800) % 10 == 0, np.full(800, True)])
    drawn = AuditSettings(
        metric=metric, floor=1e-12, length=2, targets=200_000, drawing="independent"
    )
    targets = wei2022.draw_targets(drawn, 0, labels)
    assert wei2022.skill(drawn, scores, labels, hits, targets) == pytest.approx([0, 1], abs=5e-3)


def test_the_emergence_score_of_equal_steps_is_their_number():
    assert wei2022.emergence_score(np.linspace(0, 1, 8)) == pytest.approx(7)
    assert wei2022.emergence_score(np.linspace(1, 0, 8)) == pytest.approx(-7)
    assert wei2022.emergence_score(np.repeat([0.0, 1.0], 4), 0.01) == pytest.approx(100)


def test_the_edit_distance_counts_errors_and_not_what_appendix_a2_prints():
    measured = wei2022.measure_toy(settings("toy", errors=(0.1, 0.1), length=5), 1)
    assert measured["edit_distance"] == pytest.approx(0.5, abs=0.02)
    assert measured["wrong_tokens"] == pytest.approx(0.5)
    assert measured["right_tokens"] == pytest.approx(4.5)


def test_a_line_is_foretold_without_error():
    places = np.linspace(0, 3, 7)
    line = 0.1 + 0.2 * places
    assert wei2022.forecast_error(places, line, "scores", 1e-6) == pytest.approx(0, abs=1e-12)
    curve = expit(places - 2)
    assert wei2022.forecast_error(places, curve, "logits", 1e-6) == pytest.approx(0, abs=1e-12)


def test_autoencoders_follow_principal_components():
    """A code of k numbers and a linear output do little better than k components, and no worse."""
    s = settings("autoencoders", units=(1, 4, 16))
    x, unseen = (wei2022.rows_of(s, 0, part)[0] for part in ("train", "test"))
    axes = np.linalg.svd(x - x.mean(axis=0), full_matrices=False)[2]
    for index, units in enumerate(s.units):
        away = unseen - x.mean(axis=0)
        left = (away**2).sum(axis=1) - ((away @ axes[:units].T) ** 2).sum(axis=1)
        errors = wei2022.squared_errors(s, 0, index)[1]
        assert errors.mean() == pytest.approx(left.mean(), rel=0.2)


def test_a_threshold_drawn_for_each_row_is_as_smooth_as_the_squared_error():
    """So the control of a chosen threshold has the same score up to its sampling, and may pass."""
    rng = np.random.default_rng(0)
    errors = np.linspace(0.9, 0.1, 9)[:, None] * rng.uniform(0.9, 1.1, 200_000)
    drawn = rng.uniform(0, errors.max(), errors.shape[1])
    smooth = wei2022.emergence_score(-errors.mean(axis=1))
    assert wei2022.reconstruction(errors, drawn)[1] == pytest.approx(smooth, rel=0.05)
    assert wei2022.reconstruction(errors, 0.3)[1] > 3 * smooth


@pytest.mark.parametrize(
    ("arm", "absent", "rise"),
    [("toy_outputs", (0, 0.1), (0.2, 0.4)), ("jump", (0, 0.1), (0.9, 1.2))],
)
def test_the_law_is_smooth_and_a_jump_is_not(arm, absent, rise):
    changed = Catalog()["wei2022"].audit().arms[arm].settings
    measured = wei2022.measure_emergence(settings("emergence", metric="item", **changed), 1)
    assert absent[0] <= measured["flat_share"] <= absent[1]
    assert rise[0] <= measured["rise"] <= rise[1]


@pytest.mark.parametrize(
    "changed", [{}, {"labels": "permuted"}, {"ridge": 9.0}, {"grows": "rows"}, {"outputs": "toy"}]
)
def test_outputs_that_are_kept_are_those_of_the_settings(changed):
    s = settings("emergence", sizes=(3, 9), targets=10, **changed)
    model = wei2022.constructed if s.outputs == "toy" else wei2022.trained
    made = [model(s, 5, index)[0] for index in range(2)]
    for metric in ("item", "brier"):
        scores = wei2022.answers(AuditSettings(**{**vars(s), "metric": metric}), 5)[1]
        assert np.array_equal(scores, made)


def test_parts_of_a_split_share_no_row():
    s = settings("autoencoders", train_rows=30, test_rows=20)
    rows = np.vstack([wei2022.rows_of(s, 4, part)[0] for part in ("train", "test")])
    assert len(np.unique(rows, axis=0)) == 50
