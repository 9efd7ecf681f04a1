"""The paper's recursion written once, as vector code; the tape writes the code of its gradient.

The code is made for a number of layers, a dimension and a precision. Making and compiling it takes
a fraction of a second, once in a process.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from numpy.typing import DTypeLike

from reproaudit.papers.ahn2023.fast.prompts import rows_per_group
from reproaudit.papers.ahn2023.fast.tape import Identity, Matrix, Sum, Tape, stored
from reproaudit.papers.ahn2023.fast.vector_code import CompiledCode, VectorCode


class _FormedMap:
    """C_l, the map of the tokens' x parts, as a matrix."""

    def __init__(self, C: Matrix | Identity) -> None:
        self.matrix = C

    def apply(self, x: Matrix | Sum) -> Matrix | Sum:
        """C x."""
        return self.matrix @ x

    def apply_transposed(self, y: Matrix | Sum) -> Matrix | Sum:
        """Cᵀ y."""
        return self.matrix.mT @ y

    def following(self, S: Matrix, A: Matrix, B: Matrix) -> _FormedMap:
        """The map C + C Aᵀ (Cᵀ S C) Bᵀ of the next layer."""
        C = self.matrix
        move = A.mT @ (stored(Tape.congruence(S.tape, S, C)) @ B.mT)
        return _FormedMap((C + C @ move if isinstance(C, Matrix) else move + C).stored)


class _AppliedMap:
    """The map after a formed one, applied to vectors and never formed itself.

    The last map of a model meets two vectors only, s and u of the last layer; forming it would
    cost five matrix products.
    """

    def __init__(self, before: _FormedMap, S: Matrix, A: Matrix, B: Matrix) -> None:
        self._C, self._S, self._A, self._B = before.matrix, S, A, B

    def apply(self, x: Matrix | Sum) -> Matrix | Sum:
        """C (x + Aᵀ Cᵀ S C Bᵀ x)."""
        C, x = self._C, stored(x)
        seen = self._S @ (C @ (self._B.mT @ x))
        return C @ (x + self._A.mT @ (C.mT @ seen))

    def apply_transposed(self, y: Matrix | Sum) -> Matrix | Sum:
        """(I + B Cᵀ S C A) Cᵀ y."""
        C = self._C
        p = stored(C.mT @ y)
        seen = self._S @ (C @ (self._A @ p))
        return p + self._B @ (C.mT @ seen)


def residual_weights(
    S: Matrix, w: Matrix, A: Sequence[Matrix], B: Sequence[Matrix] | None
) -> Matrix:
    """The code of b_L, for which the prediction's error on a query is −b_L·x_{n+1}.

    b_{l+1} = b_l + C_l A_lᵀ C_lᵀ S b_l from b_0 = w, with C_l as in `recursion`; C_l = I where
    B is None.
    """
    b, tokens = w, _FormedMap(Identity())
    carried: _FormedMap | _AppliedMap = tokens
    for layer, A_l in enumerate(A):
        u = A_l.mT @ carried.apply_transposed(S @ b)
        b = stored(b + carried.apply(u))
        if B is None:
            continue
        if layer == len(A) - 2:
            carried = _AppliedMap(tokens, S, A_l, B[layer])
        elif layer < len(A) - 2:
            carried = tokens = tokens.following(S, A_l, B[layer])
    return b


@dataclass(frozen=True)
class GroupCode:
    """The compiled function that adds a group's losses and half gradients to sums per lane.

    Attributes:
        code: holds the function.
        workspace: vectors that it needs for what it computes on the way.
    """

    code: CompiledCode
    workspace: int


@cache
def group_code(layers: int, dim: int, dtype: DTypeLike, free_b: bool) -> GroupCode:
    """The compiled loss and gradient of a group of prompts; made once for these arguments."""
    code = VectorCode(dtype, ("prompt", "parameters", "sums", "workspace"), rows_per_group(dim))
    tape, square = Tape(code, "workspace"), dim * dim
    S = tape.symmetric_data("prompt", 0, dim)
    w = tape.data("prompt", square, dim)
    query = tape.data("prompt", square + dim, dim)
    offset = tape.data("prompt", square + 2 * dim, 1)
    A, B = (
        [
            tape.parameter("parameters", (kind * layers + l_) * square, dim, dim)
            for l_ in range(layers)
        ]
        for kind in range(2)
    )
    error = stored(offset + query.mT @ residual_weights(S, w, A, B if free_b else None))
    e = error.load(0, 0)
    code.store(code.multiply_add(e, e, code.load("sums", 0)), "sums", 0)
    tape.add_gradient(error, Sum(tape, [error], []))  # half the gradient of e²
    tape.differentiate()
    for place, matrix in enumerate([*A, *B]):
        tape.accumulate_gradient(matrix, "sums", 1 + place * square)
    return GroupCode(CompiledCode(code.assembly("groups"), "groups"), tape.size)
