"""The law of `minibatches` as vector code: prompts straight into the kernel's layout.

One group of prompts is drawn by straight-line code from its own words, so groups may be drawn in
any order and on any thread. Logarithm, sine and cosine are summed as series to the last bits of the
precision.
"""

from __future__ import annotations

import ctypes
import itertools
import math
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numba
import numpy as np
from numpy.typing import DTypeLike

from reproaudit.papers.ahn2023.fast.prompts import Minibatch, rows_per_group
from reproaudit.papers.ahn2023.fast.vector_code import CompiledCode, Number, VectorCode, Word
from reproaudit.papers.ahn2023.minibatches import PARITY, ROTATIONS, ROUNDS, Layout, Stream
from reproaudit.papers.ahn2023.task import Covariance

UNIFORMS_PER_LOGARITHM = 8
"""Their product underflows float32 with a probability below 1e-27."""

GROUPS_PER_THREAD = 256
"""Below so many groups each, starting a thread takes longer than drawing."""


class _Draw:
    """Writes the code that draws a group of prompts."""

    def __init__(self, code: VectorCode, layout: Layout) -> None:
        self._code, self._layout = code, layout
        key = [code.spread_word("words", i) for i in range(4)]
        parity = code.word(PARITY)
        for word in key:
            parity = code.exclusive_or(parity, word)
        self._keys = [*key, parity]
        self._index = code.spread_word("words", 4)
        self._prompt = code.add_words(code.prompt_numbers(), code.spread_word("words", 5))

    def write(self, shuffled: bool) -> None:
        """The whole group, row by row of a minibatch's layout."""
        code, layout, d = self._code, self._layout, self._layout.d
        words = self._words(self._prompt, layout.words)
        normal = self._normals(words[: layout.normal_words])
        v, z, rest = normal[:d], normal[d : 2 * d], normal[2 * d :]
        T = dict(zip(layout.entries, rest, strict=False))
        odd, used = iter(rest[len(layout.entries) :]), layout.normal_words
        for i, freedom in enumerate(layout.freedoms):
            T[i, i] = code.square_root(
                self._chi_square(
                    words[used : used + freedom // 2], next(odd) if freedom % 2 else None
                )
            )
            used += freedom // 2
        square = d * d
        factor = self._factor(T)
        for i in range(d):
            for j in range(i, d):
                entry = self._dot(factor[i], factor[j])
                code.store(entry, "prompt", i * d + j)
                if i != j:
                    code.store(entry, "prompt", j * d + i)
        labels = self._normals(self._words(self._before(), 2 * -(-d // 2)))[:d] if shuffled else v
        offset = code.constant(0.0)
        for i in range(d):
            root = [code.spread("matrices", i * d + j) for j in range(d)]
            dual = [code.spread("matrices", 2 * square + i * d + j) for j in range(d)]
            code.store(self._dot(dual, labels), "prompt", square + i)
            code.store(self._dot(root, z), "prompt", square + d + i)
            if shuffled:
                offset = code.multiply_add(code.subtract(v[i], labels[i]), z[i], offset)
        code.store(offset, "prompt", square + 2 * d)

    def _factor(self, T: dict[tuple[int, int], Number]) -> list[list[Number]]:
        """The rows of R T / √n."""
        d, width = self._layout.d, 1 + max(k for _, k in T)
        rows = []
        for i in range(d):
            root = [self._code.spread("matrices", d * d + i * d + j) for j in range(d)]
            columns = [[j for j in range(d) if (j, k) in T] for k in range(width)]
            rows.append(
                [
                    self._dot([root[j] for j in below], [T[j, k] for j in below])
                    for k, below in enumerate(columns)
                ]
            )
        return rows

    def _dot(self, a: list[Number], b: list[Number]) -> Number:
        total = self._code.multiply(a[0], b[0])
        for x, y in zip(a[1:], b[1:], strict=True):
            total = self._code.multiply_add(x, y, total)
        return total

    def _before(self) -> Word:
        """The number of the prompt before; the last one's for the first."""
        code = self._code
        last = code.subtract_words(code.spread_word("words", 6), code.word(1))
        first = code.equal_words(self._prompt, code.word(0))
        return code.select_word(first, last, code.subtract_words(self._prompt, code.word(1)))

    # --- words

    def _words(self, prompt: Word, count: int) -> list[Word]:
        blocks = [self._threefry(prompt, block) for block in range(-(-count // 4))]
        return [word for block in blocks for word in block][:count]

    def _threefry(self, prompt: Word, block: int) -> list[Word]:
        code, keys = self._code, self._keys
        counter = [prompt, code.word(block), self._index, code.word(0)]
        x = [code.add_words(word, key) for word, key in zip(counter, keys, strict=False)]
        for r in range(ROUNDS):
            first, second = (1, 3) if r % 2 == 0 else (3, 1)
            for a, b, bits in zip((0, 2), (first, second), ROTATIONS[r % 8], strict=True):
                x[a] = code.add_words(x[a], x[b])
                x[b] = code.exclusive_or(code.rotate_left(x[b], bits), x[a])
            if r % 4 == 3:
                turn = r // 4 + 1
                x = [code.add_words(word, keys[(turn + i) % 5]) for i, word in enumerate(x)]
                x[3] = code.add_words(x[3], code.word(turn))
        return x

    # --- numbers

    def _uniform(self, word: Word) -> Number:
        code = self._code
        scale, half = code.constant(2.0**-32), code.constant(2.0**-33)
        return code.multiply_add(code.number_of_word(word), scale, half)

    def _normals(self, words: list[Word]) -> list[Number]:
        code, normals = self._code, []
        for first, second in zip(words[::2], words[1::2], strict=True):
            square = code.multiply(code.constant(-2.0), self._logarithm(self._uniform(first)))
            radius = code.square_root(square)
            normals += [code.multiply(radius, part) for part in self._cosine_and_sine(second)]
        return normals

    def _chi_square(self, words: list[Word], normal: Number | None) -> Number:
        code = self._code
        total = code.constant(0.0) if normal is None else code.multiply(normal, normal)
        for begin in range(0, len(words), UNIFORMS_PER_LOGARITHM):
            product, *others = map(self._uniform, words[begin : begin + UNIFORMS_PER_LOGARITHM])
            for other in others:
                product = code.multiply(product, other)
            total = code.multiply_add(code.constant(-2.0), self._logarithm(product), total)
        return total

    def _series(self, coefficients: list[float], x: Number) -> Number:
        """The polynomial with these coefficients, the constant first, by Horner's rule."""
        code = self._code
        total = code.constant(coefficients[-1])
        for coefficient in coefficients[-2::-1]:
            total = code.multiply_add(total, x, code.constant(coefficient))
        return total

    def _logarithm(self, a: Number) -> Number:
        """For ln a with a = m 2^e: e ln 2 + 2 s (1 + s²/3 + s⁴/5 + …), s = (m − 1)/(m + 1)."""
        code = self._code
        m, e = code.split(a)
        one = code.constant(1.0)
        s = code.divide(code.subtract(m, one), code.add(m, one))
        terms = _terms_until(lambda k: 0.1716 ** (2 * k) / (2 * k + 1), code.dtype)
        series = self._series([2.0 / (2 * k + 1) for k in range(terms)], code.multiply(s, s))
        return code.multiply_add(e, code.constant(math.log(2.0)), code.multiply(s, series))

    def _cosine_and_sine(self, word: Word) -> tuple[Number, Number]:
        """Cosine and sine of 2π word / 2³², by Taylor's series within an eighth of a turn."""
        code = self._code
        quarter = code.shift_right(code.add_words(word, code.word(1 << 29)), 30)
        within = code.number_of_word(
            code.subtract_words(word, code.shift_left(quarter, 30)), signed=True
        )
        angle = code.multiply(within, code.constant(2.0 * math.pi / 2.0**32))
        squared, largest = code.multiply(angle, angle), math.pi / 4.0
        terms = _terms_until(lambda k: largest ** (2 * k) / math.factorial(2 * k), code.dtype)
        cosine = self._series([(-1) ** k / math.factorial(2 * k) for k in range(terms)], squared)
        sine = code.multiply(
            angle,
            self._series([(-1) ** k / math.factorial(2 * k + 1) for k in range(terms)], squared),
        )
        turned = code.has_bit(quarter, 0)  # by one quarter: (cos, sin) becomes (−sin, cos)
        opposite = code.has_bit(quarter, 1)
        x = code.select(turned, code.negative(sine), cosine)
        y = code.select(turned, cosine, sine)
        return (
            code.select(opposite, code.negative(x), x),
            code.select(opposite, code.negative(y), y),
        )


def _terms_until(size: Any, dtype: np.dtype[Any]) -> int:
    """The number of terms after which the next one is below a quarter of the precision's eps."""
    terms = 1
    while size(terms) > np.finfo(dtype).eps / 4:
        terms += 1
    return terms


@cache
def _group_code(n: int, dim: int, dtype: DTypeLike, shuffled: bool) -> tuple[CompiledCode, Any]:
    code = VectorCode(dtype, ("prompt", "matrices", "words"), rows_per_group(dim))
    _Draw(code, Layout(n, dim)).write(shuffled)
    made = CompiledCode(code.assembly("draw"), "draw")
    kind = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3, ctypes.c_int64)
    return made, kind(made.address)


def draw_minibatch(
    covariance: Covariance,
    batch: int,
    n: int,
    stream: Stream,
    *,
    dtype: DTypeLike = np.float32,
    shuffled: bool = False,
) -> Minibatch:
    """The minibatch of `minibatches.draw_plain` with the same arguments, equal but for rounding."""
    made = Minibatch.zeros(batch, covariance.dim, dtype)
    groups, _, lanes = made.data.shape
    _, draw = _group_code(n, covariance.dim, np.dtype(dtype), shuffled)
    root = covariance.root
    matrices = np.stack([root, root / math.sqrt(n), covariance.dual]).astype(dtype)

    def fill(part: range) -> None:
        words = np.array([*stream.key, stream.index, part.start * lanes, batch], np.uint32)
        pointers = (array.ctypes.data for array in (made.data[part.start], matrices, words))
        draw(*pointers, len(part))

    threads = max(1, min(numba.get_num_threads(), groups // GROUPS_PER_THREAD))
    borders = [groups * part // threads for part in range(threads + 1)]
    parts = [range(*pair) for pair in itertools.pairwise(borders)]
    if threads == 1:
        fill(parts[0])
    else:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(fill, parts))
    made.data[-1, :, lanes - (groups * lanes - batch) :] = 0
    return made
