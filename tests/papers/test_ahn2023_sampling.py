"""The task of ahn2023: the laws of its prompts, and of the fast form's minibatches."""

import numpy as np
import pytest
from scipy.stats import chi2, kstest

from papers.ahn2023_checks import Array, close, moments, same_law, unpacked
from reproaudit.lab import generator
from reproaudit.papers.ahn2023 import task
from reproaudit.papers.ahn2023.fast import LANES, Minibatch, draw_minibatch


@pytest.fixture(scope="module")
def covariance() -> task.Covariance:
    return task.draw_covariance(generator(0, "covariance"))


def outer(rows: Array) -> Array:
    return np.asarray(rows[:, :, None] * rows[:, None, :])


# The task


def test_the_covariance_has_the_papers_spectrum(covariance):
    expected = np.sort(np.square(task.PAPER_SCALES))
    np.testing.assert_allclose(np.linalg.eigvalsh(covariance.matrix), expected, rtol=1e-12)
    np.testing.assert_allclose(covariance.inverse @ covariance.matrix, np.eye(5), atol=1e-12)
    root = covariance.symmetric_root
    np.testing.assert_allclose(root @ root, covariance.matrix, atol=1e-12)
    np.testing.assert_allclose(root, root.T, atol=1e-12)
    another = task.draw_covariance(generator(1, "covariance"))
    assert np.linalg.norm(another.matrix - covariance.matrix) > 0.1


def test_prompts_have_the_stated_laws(covariance):
    prompts = task.draw_prompts(covariance, 20_000, 6, generator(0, "law"), dtype=np.float64)
    same_law(outer(prompts.x[:, 3]), covariance.matrix[None])
    same_law(outer(prompts.query), covariance.matrix[None])
    same_law(outer(prompts.w), covariance.inverse[None])
    same_law(prompts.x[:, 0, :, None] * prompts.w[:, None, :], np.zeros((1, 5, 5)))
    same_law(np.sum(prompts.w * prompts.query, axis=1) ** 2, 5.0)  # E (w·x)² = d


def test_prompts_laid_out_are_the_prompts(covariance):
    prompts = task.draw_prompts(covariance, 37, 6, generator(5, "x"), dtype=np.float64)
    S, w, query, offset = unpacked(Minibatch.of_prompts(prompts))
    close(S, moments(prompts.x), 1e-14)
    np.testing.assert_array_equal(w, prompts.w)
    np.testing.assert_array_equal(query, prompts.query)
    assert not np.any(offset)
    single = task.draw_prompts(covariance, 37, 6, generator(5, "x"), dtype=np.float32)
    close(single.x, prompts.x, 1e-6)


# Minibatches


def invariants(S: Array, w: Array, query: Array, n: int) -> Array:
    """Entries of S and S², log det S, and of w's and the query's outer products and kurtosis."""
    squares = (S @ S).reshape(len(S), -1)
    of_vectors = [outer(vector).reshape(len(S), -1) for vector in (w, query)]
    fourth = [vector**4 for vector in (w, query)]
    parts = [S.reshape(len(S), -1), squares, *of_vectors, *fourth, (w * query).sum(1)[:, None] ** 2]
    if n >= S.shape[-1]:
        parts.append(np.linalg.slogdet(S)[1][:, None])
    return np.concatenate(parts, axis=1)


@pytest.mark.parametrize("n", [2, 4, 5, 6, 20, 41])
def test_minibatches_have_the_law_of_prompts_drawn_pair_by_pair(n, covariance):
    literal = task.draw_prompts(covariance, 40_000, n, generator(0, "law"), dtype=np.float64)
    drawn = draw_minibatch(covariance, 40_000, n, generator(0, "drawn law"))
    S, w, query, _ = (part.astype(np.float64) for part in unpacked(drawn))
    same_law(invariants(S, w, query, n), invariants(literal.moment, literal.w, literal.query, n))
    crossed = np.concatenate([(S @ w[:, :, None])[:, :, 0] * query, w * query], axis=1)
    same_law(crossed, np.zeros((1, crossed.shape[1])))  # S, w and the query are independent


def test_the_trace_of_s_is_chi_squared():
    for n in (3, 5, 20):
        drawn = draw_minibatch(task.Covariance(np.eye(5)), 20_000, n, generator(0, "trace", n))
        traces = n * np.trace(unpacked(drawn)[0].astype(np.float64), axis1=1, axis2=2)
        assert kstest(traces, chi2(5 * n).cdf).pvalue > 1e-3


def test_a_draw_depends_on_seed_purpose_and_index_alone(covariance):
    def data(seed: int = 3, purpose: str = "minibatch", index: int = 7) -> Array:
        return draw_minibatch(covariance, 50, 20, generator(seed, purpose, index)).data

    np.testing.assert_array_equal(data(), data())
    for other in (data(seed=4), data(purpose="test"), data(index=8)):
        assert not np.any((other == data()) & (other != 0))


@pytest.mark.parametrize("n", [3, 20])
def test_both_precisions_are_one_draw_but_for_rounding(covariance, n):
    single, double = (
        draw_minibatch(covariance, 37, n, generator(0, "x"), dtype=dtype)
        for dtype in (np.float32, np.float64)
    )
    assert (single.data.dtype, double.data.dtype) == (np.float32, np.float64)
    close(single.data, double.data, 1e-6)
    rows = np.swapaxes(double.data.reshape(3, -1, LANES), 1, 2).reshape(3 * LANES, -1)
    assert not np.any(rows[37:])  # nothing beyond the last prompt


def test_shuffled_labels_are_another_prompts_and_the_target_its_own(covariance):
    own, shuffled = (
        draw_minibatch(covariance, 37, 20, generator(0, "x"), dtype=np.float64, shuffled=shuffled)
        for shuffled in (False, True)
    )
    S, w, query, offset = unpacked(own)
    other_S, labels, other_query, offsets = unpacked(shuffled)
    np.testing.assert_array_equal(other_S, S)
    np.testing.assert_array_equal(other_query, query)
    np.testing.assert_array_equal(labels[1:16], w[:15])  # of the neighbour in a group
    assert not (labels == w).any()
    close(offsets, np.sum((w - labels) * query, axis=1), 1e-12)
    assert not np.any(offset)
