"""The task of ahn2023 and its random stream: known answers, laws, and the two forms of a draw."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import pytest
from scipy.stats import chi2, kstest

from papers.ahn2023_checks import Array, close, moments, same_law
from reproaudit.lab import generator
from reproaudit.papers.ahn2023 import minibatches, task
from reproaudit.papers.ahn2023.fast import sampler
from reproaudit.papers.ahn2023.fast.prompts import Minibatch, pack
from reproaudit.papers.ahn2023.minibatches import Layout, Stream, draw_plain, threefry


@pytest.fixture(scope="module")
def covariance() -> task.Covariance:
    return task.draw_covariance(generator(0, "covariance"))


def outer(rows: Array) -> Array:
    return np.asarray(rows[:, :, None] * rows[:, None, :])


# The task


def test_the_covariance_has_the_papers_spectrum(covariance: task.Covariance) -> None:
    expected = np.sort(np.square(task.PAPER_SCALES))
    np.testing.assert_allclose(np.linalg.eigvalsh(covariance.matrix), expected, rtol=1e-12)
    np.testing.assert_allclose(covariance.inverse @ covariance.matrix, np.eye(5), atol=1e-12)
    root = covariance.symmetric_root
    np.testing.assert_allclose(root @ root, covariance.matrix, atol=1e-12)
    np.testing.assert_allclose(root, root.T, atol=1e-12)
    another = task.draw_covariance(generator(1, "covariance"))
    assert np.linalg.norm(another.matrix - covariance.matrix) > 0.1


def test_prompts_have_the_stated_laws(covariance: task.Covariance) -> None:
    prompts = task.draw_prompts(covariance, 20_000, 6, seed=0, purpose="law", dtype=np.float64)
    same_law(outer(prompts.x[:, 3]), covariance.matrix[None])
    same_law(outer(prompts.query), covariance.matrix[None])
    same_law(outer(prompts.w), covariance.inverse[None])
    same_law(prompts.x[:, 0, :, None] * prompts.w[:, None, :], np.zeros((1, 5, 5)))
    close(np.sum(prompts.w * prompts.query, axis=1), (prompts.v * prompts.z_query).sum(1), 1e-9)


def test_prompts_laid_out_are_the_prompts(covariance: task.Covariance) -> None:
    prompts = task.draw_prompts(covariance, 37, 6, seed=5, purpose="x", dtype=np.float64)
    S, w, query, offset = prompts.minibatch().unpacked()
    close(S, moments(prompts.x), 1e-14)
    np.testing.assert_array_equal(w, prompts.w)
    np.testing.assert_array_equal(query, prompts.query)
    assert not np.any(offset)
    single = task.draw_prompts(covariance, 37, 6, seed=5, purpose="x", dtype=np.float32)
    close(single.x, prompts.x, 1e-6)


# Words


KNOWN = [
    ((0,) * 4, (0,) * 4, (0x9C6CA96A, 0xE17EAE66, 0xFC10ECD4, 0x5256A7D8)),
    ((2**32 - 1,) * 4, (2**32 - 1,) * 4, (0x2A881696, 0x57012287, 0xF6C7446E, 0xA16A6732)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0, 0x082EFA98, 0xEC4E6C89),
        (0x59CD1DBB, 0xB8879579, 0x86B5D00C, 0xAC8B6D84),
    ),
]
"""Counter, key and words, as the generator's authors publish them."""


@pytest.mark.parametrize(("counter", "key", "expected"), KNOWN)
def test_threefry_gives_the_known_answers(counter: Any, key: Any, expected: Any) -> None:
    arrays = [[np.array([word], np.uint32) for word in words] for words in (counter, key)]
    assert [int(word[0]) for word in threefry(*arrays)] == list(expected)


def test_words_depend_on_seed_purpose_draw_and_prompt_alone() -> None:
    prompts = np.arange(50, dtype=np.uint32)
    base = Stream.of(3, "minibatch", 7)
    words = base.words(prompts, 10)
    np.testing.assert_array_equal(base.words(prompts[20:30], 6), words[20:30, :6])
    others = [
        Stream.of(4, "minibatch", 7),
        Stream.of(3, "test", 7),
        Stream.of(3, "minibatch", 8),
    ]
    for other in others:
        assert not np.any(other.words(prompts, 10) == words)
    assert len(np.unique(words)) == words.size


def test_streams_are_uniform_and_do_not_follow_one_another() -> None:
    """Between draws, seeds, prompts and words; each correlation within 4.5 standard errors."""
    prompts = np.arange(20_000, dtype=np.uint32)
    u = minibatches.uniforms(Stream.of(0, "minibatch", 0).words(prompts, 8))
    next_draw = minibatches.uniforms(Stream.of(0, "minibatch", 1).words(prompts, 8))
    next_seed = minibatches.uniforms(Stream.of(1, "minibatch", 0).words(prompts, 8))
    assert kstest(u.ravel(), "uniform").pvalue > 1e-3
    pairs = [(u, next_draw), (u, next_seed), (u[:-1], u[1:]), (u[:, :-1], u[:, 1:])]
    for one, other in pairs:
        product = (one - 0.5) * (other - 0.5)
        assert abs(product.mean()) < 4.5 / 12 / np.sqrt(product.size)


def test_normals_are_normal() -> None:
    words = Stream.of(0, "normals", 0).words(np.arange(50_000, dtype=np.uint32), 6)
    drawn = minibatches.standard_normals(words)
    assert kstest(drawn.ravel(), "norm").pvalue > 1e-3
    assert kstest((drawn[:, 0] ** 2 + drawn[:, 1] ** 2), "chi2", (2,)).pvalue > 1e-3
    for power, expected in ((1, 0.0), (2, 1.0), (4, 3.0), (6, 15.0)):
        same_law(drawn.ravel() ** power, expected)
    same_law(drawn[:, :, None] * drawn[:, None, :], np.eye(6)[None])
    extremes = minibatches.standard_normals(np.array([[0, 0], [2**32 - 1, 0]], np.uint32))
    assert extremes[0, 0] == pytest.approx(6.76, abs=0.01)  # as far as they reach
    assert 0 < extremes[1, 0] < 2e-5


# The two forms of a draw


@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n", "d"), [(2, 5), (4, 5), (5, 5), (20, 5), (21, 5), (1, 1), (3, 2)])
def test_the_compiled_draw_is_the_plain_one(n: int, d: int, dtype: Any, shuffled: bool) -> None:
    """The same words, so the same prompts but for rounding.

    Close to u = 1 float32 knows −2 ln u to 1.2e-7 only, hence a small radius to its root, 3.5e-4.
    """
    covariance = task.draw_covariance(np.random.default_rng(d), task.PAPER_SCALES[:d])
    for count in (1, 37, 1003):
        stream = Stream.of(2, "both forms", count)
        plain = draw_plain(covariance, count, n, stream, shuffled=shuffled)
        drawn = sampler.draw_minibatch(covariance, count, n, stream, dtype=dtype, shuffled=shuffled)
        assert drawn.data.dtype == dtype
        for ours, expected in zip(drawn.unpacked(), plain.unpacked(), strict=True):
            tolerance = 1e-12 if dtype == np.float64 else 2e-3
            np.testing.assert_allclose(ours, expected, rtol=tolerance, atol=tolerance)
        rows = np.swapaxes(drawn.data, 1, 2).reshape(-1, drawn.data.shape[1])
        assert not np.any(rows[count:])  # nothing beyond the last prompt


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
def test_minibatches_have_the_law_of_prompts_drawn_pair_by_pair(
    n: int, covariance: task.Covariance
) -> None:
    literal = task.draw_prompts(covariance, 40_000, n, seed=0, purpose="law", dtype=np.float64)
    drawn = sampler.draw_minibatch(covariance, 40_000, n, Stream.of(0, "law", n), dtype=np.float32)
    S, w, query, _ = (part.astype(np.float64) for part in drawn.unpacked())
    same_law(invariants(S, w, query, n), invariants(literal.moment, literal.w, literal.query, n))
    crossed = np.concatenate([(S @ w[:, :, None])[:, :, 0] * query, w * query], axis=1)
    same_law(crossed, np.zeros((1, crossed.shape[1])))  # S, w and the query are independent


def test_the_trace_of_s_is_chi_squared() -> None:
    for n in (3, 5, 20):
        drawn = sampler.draw_minibatch(task.isotropic(5), 20_000, n, Stream.of(0, "trace", n))
        traces = n * np.trace(drawn.unpacked()[0].astype(np.float64), axis1=1, axis2=2)
        assert kstest(traces, chi2(5 * n).cdf).pvalue > 1e-3


def test_the_second_moment_of_s_is_wisharts() -> None:
    n, d = 20, 5
    S = sampler.draw_minibatch(task.isotropic(d), 40_000, n, Stream.of(0, "x", 0)).unpacked()[0]
    same_law((S @ S).astype(np.float64), (1 + (d + 1) / n) * np.eye(d)[None])


def test_a_draw_does_not_depend_on_the_number_of_threads(covariance: task.Covariance) -> None:
    before, drawn = numba.get_num_threads(), []
    try:
        for threads in sorted({1, before}):
            numba.set_num_threads(threads)
            stream = Stream.of(1, "threads", 0)
            drawn.append(sampler.draw_minibatch(covariance, 20_011, 20, stream).data)
    finally:
        numba.set_num_threads(before)
    for other in drawn[1:]:
        np.testing.assert_array_equal(other, drawn[0])


def test_shuffled_labels_are_the_prompt_befores_and_the_target_its_own(
    covariance: task.Covariance,
) -> None:
    def both(shuffled: bool) -> list[Minibatch]:
        stream = Stream.of(0, "x", 0)
        draws = (draw_plain, sampler.draw_minibatch)
        return [
            draw(covariance, 37, 20, stream, dtype=np.float64, shuffled=shuffled) for draw in draws
        ]

    for own, shuffled in zip(both(False), both(True), strict=True):
        S, w, query, offset = own.unpacked()
        other_S, labels, other_query, offsets = shuffled.unpacked()
        np.testing.assert_array_equal(other_S, S)
        np.testing.assert_array_equal(other_query, query)
        np.testing.assert_array_equal(labels, np.roll(w, 1, axis=0))
        close(offsets, np.sum((w - labels) * query, axis=1), 1e-12)
        assert not np.any(offset)


def test_a_layout_counts_its_words() -> None:
    assert (Layout(20, 5).normals, Layout(20, 5).words) == (22, 22 + 44)
    assert (Layout(2, 5).normals, Layout(2, 5).words) == (20, 20)
    assert Layout(3, 2).entries == [(1, 0)]


def test_unfit_prompts_are_refused() -> None:
    S, w, query = np.eye(3)[None], np.ones((1, 3)), np.ones((1, 3))
    with pytest.raises(ValueError, match="do not fit"):
        pack(S, w[:, :2], query)
    with pytest.raises(ValueError, match="float32 or float64"):
        pack(S.astype(np.int64), w, query)
    with pytest.raises(ValueError, match="needs prompts"):
        pack(S[:0], w[:0], query[:0])
