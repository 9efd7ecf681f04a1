"""Small matrices in vector code, and the code of their gradients by reverse mode.

A formula is written once, with ``@``, ``+`` and ``.mT``. Each sum of products becomes one stored
matrix; the tape remembers which, and walks back over them to write the gradient's code:

    Y = X + Σ_k L_k R_k    gives    dX += dY,  dL_k += dY R_kᵀ,  dR_k += L_kᵀ dY.

A gradient is collected as such a sum of products too, and is only computed when all its terms are
known, in one pass over them: as in a derivation by hand.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from reproaudit.papers.ahn2023.fast.vector_code import Number, VectorCode


class Identity:
    """The identity matrix: a product with it is the other factor."""

    @property
    def mT(self) -> Identity:
        """Its transpose."""
        return self

    def __matmul__(self, other: Matrix | Sum) -> Matrix | Sum:
        return other


@dataclass(frozen=True, eq=False)
class Matrix:
    """A matrix per prompt, or one for all prompts, whose entries the code can load.

    Attributes:
        tape: what it belongs to.
        rows, columns: its shape; a vector has one column.
        load: writes the code that loads an entry.
        transpose_of: the matrix that this one is a view of.
        variable: whether it has a gradient; data have none.
    """

    tape: Tape
    rows: int
    columns: int
    load: Callable[[int, int], Number]
    transpose_of: Matrix | None = None
    variable: bool = True

    @cached_property
    def mT(self) -> Matrix:
        """The transposed view."""
        if self.transpose_of is not None:
            return self.transpose_of
        load = self.load
        return Matrix(
            self.tape, self.columns, self.rows, lambda i, j: load(j, i), self, self.variable
        )

    def __matmul__(self, other: Matrix | Sum) -> Sum:
        return Sum(self.tape, [], [(self, stored(other))])

    def __add__(self, other: Matrix | Sum | Identity) -> Sum:
        return Sum(self.tape, [self], []) + other


@dataclass(eq=False)
class Sum:
    """Matrices and products that are added up when the sum is first used as a factor."""

    tape: Tape
    matrices: list[Matrix | Identity]
    products: list[tuple[Matrix, Matrix]]

    @cached_property
    def stored(self) -> Matrix:
        """The sum as a matrix, computed at this point of the code."""
        return self.tape.store(self)

    @property
    def mT(self) -> Matrix:
        """The transposed view of the stored sum."""
        return self.stored.mT

    @property
    def transposed(self) -> Sum:
        """The transposed sum, term by term."""
        products = [(right.mT, left.mT) for left, right in self.products]
        return Sum(self.tape, [matrix.mT for matrix in self.matrices], products)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        if self.products:
            left, right = self.products[0]
            return left.rows, right.columns
        matrix = next(matrix for matrix in self.matrices if isinstance(matrix, Matrix))
        return matrix.rows, matrix.columns

    def __matmul__(self, other: Matrix | Sum) -> Sum:
        return self.stored @ other

    def __add__(self, other: Matrix | Sum | Identity) -> Sum:
        if isinstance(other, Sum):
            matrices, products = [*self.matrices, *other.matrices], self.products + other.products
            return Sum(self.tape, matrices, products)
        return Sum(self.tape, [*self.matrices, other], self.products)


def stored(value: Matrix | Sum) -> Matrix:
    """A sum computed here, or a matrix as it is."""
    return value.stored if isinstance(value, Sum) else value


@dataclass(frozen=True)
class _Step:
    """A result, and what passes its gradient on to what it was computed from.

    A symmetric result H, of which half is computed, passes on dH + dHᵀ.
    """

    result: Matrix
    back: Callable[[Matrix], None]
    symmetric: bool = False


@dataclass
class Tape:
    """A record of what was computed, in order, and where it is stored.

    Attributes:
        code: receives the instructions.
        workspace: the array in which results are stored.
        size: how many vectors of it are in use.
    """

    code: VectorCode
    workspace: str
    size: int = 0
    _steps: list[_Step] = field(default_factory=list)
    _gradients: dict[Matrix, Sum] = field(default_factory=dict)

    def data(self, pointer: str, first: int, rows: int, columns: int = 1) -> Matrix:
        """A matrix per prompt, row by row from this vector of an array on; it has no gradient."""
        return self._at(pointer, first, rows, columns, variable=False)

    def symmetric_data(self, pointer: str, first: int, rows: int) -> Matrix:
        """The same where it is symmetric: only what is on and above the diagonal is read."""
        return self._symmetric_at(pointer, first, rows, variable=False)

    def parameter(self, pointer: str, first: int, rows: int, columns: int) -> Matrix:
        """A matrix that is the same for all prompts, from this number of an array on."""

        def load(i: int, j: int) -> Number:
            return self.code.spread(pointer, first + i * columns + j)

        return Matrix(self, rows, columns, load)

    def store(self, total: Sum) -> Matrix:
        """Writes the code of a sum, and notes how to differentiate it."""
        result = self._computed(total)

        def back(gradient: Matrix) -> None:
            for matrix in total.matrices:
                if isinstance(matrix, Matrix):
                    self.add_gradient(matrix, Sum(self, [gradient], []))
            for left, right in total.products:
                self.add_gradient(left, gradient @ right.mT)
                self.add_gradient(right, left.mT @ gradient)

        self._steps.append(_Step(result, back))
        return result

    def congruence(self, S: Matrix, C: Matrix | Identity) -> Matrix:
        """H = Cᵀ S C for symmetric data S: half of it is computed, and dC = S C (dH + dHᵀ)."""
        if isinstance(C, Identity):
            return S
        G, d = self._computed(S @ C), C.columns
        first = self._room(d * d)
        for i in range(d):
            for j in range(i, d):
                entry = None
                for k in range(d):
                    entry = self._plus_product(entry, C.load(k, i), G.load(k, j))
                assert entry is not None
                self.code.store(entry, self.workspace, first + i * d + j)
        H = self._symmetric_at(self.workspace, first, d)
        self._steps.append(_Step(H, lambda both: self.add_gradient(C, G @ both), symmetric=True))
        return H

    def add_gradient(self, matrix: Matrix, terms: Sum) -> None:
        """Adds terms to the gradient of a matrix."""
        if not matrix.variable:
            return
        if matrix.transpose_of is not None:
            matrix, terms = matrix.transpose_of, terms.transposed
        known = self._gradients.get(matrix)
        self._gradients[matrix] = terms if known is None else known + terms

    def differentiate(self) -> None:
        """Writes the code of the gradients of all that was stored, from the last to the first."""
        for step in reversed(self._steps):
            total = self._gradients.pop(step.result, None)
            if total is not None:
                step.back(self._computed(total, plus_transpose=step.symmetric))

    def accumulate_gradient(self, matrix: Matrix, pointer: str, first: int) -> None:
        """Adds the gradient of a parameter to this vector of an array and those that follow."""
        total = self._gradients.pop(matrix, None)
        if total is not None:
            before = self._at(pointer, first, matrix.rows, matrix.columns)
            self._write(before + total, pointer, first)

    def _at(
        self, pointer: str, first: int, rows: int, columns: int, variable: bool = True
    ) -> Matrix:
        def load(i: int, j: int) -> Number:
            return self.code.load(pointer, first + i * columns + j)

        return Matrix(self, rows, columns, load, variable=variable)

    def _symmetric_at(self, pointer: str, first: int, rows: int, variable: bool = True) -> Matrix:
        def load(i: int, j: int) -> Number:
            return self.code.load(pointer, first + min(i, j) * rows + max(i, j))

        return Matrix(self, rows, rows, load, variable=variable)

    def _room(self, vectors: int) -> int:
        first, self.size = self.size, self.size + vectors
        return first

    def _computed(self, total: Sum, plus_transpose: bool = False) -> Matrix:
        """The sum, plus its transpose if asked for; a sum of one matrix is that matrix."""
        if len(total.matrices) == 1 and not total.products and not plus_transpose:
            (only,) = total.matrices
            assert isinstance(only, Matrix)
            return only
        rows, columns = total.shape
        first = self._room(rows * columns)
        self._write(total, self.workspace, first, plus_transpose)
        return self._at(self.workspace, first, rows, columns)

    def _write(self, total: Sum, pointer: str, first: int, plus_transpose: bool = False) -> None:
        """Every entry is added from the first term to the last; all are in registers meanwhile."""
        rows, columns = total.shape
        places = [(i, j) for i in range(rows) for j in range(columns)]
        entries: dict[tuple[int, int], Number | None] = dict.fromkeys(places)
        for matrix in total.matrices:
            for i, j in places:
                entries[i, j] = self._plus_entry(entries[i, j], matrix, i, j)
        for left, right in total.products:
            for k in range(left.columns):
                row = [right.load(k, j) for j in range(columns)]
                column = [left.load(i, k) for i in range(rows)]
                for i, j in places:
                    entries[i, j] = self._plus_product(entries[i, j], column[i], row[j])
        for i, j in places:
            number = entries[i, j]
            assert number is not None
            if plus_transpose:
                other = entries[j, i]
                assert other is not None
                number = self.code.add(number, other)
            self.code.store(number, pointer, first + i * columns + j)

    def _plus_entry(
        self, number: Number | None, matrix: Matrix | Identity, i: int, j: int
    ) -> Number | None:
        if isinstance(matrix, Identity):
            if i != j:
                return number
            entry = self.code.constant(1.0)
        else:
            entry = matrix.load(i, j)
        return entry if number is None else self.code.add(number, entry)

    def _plus_product(self, number: Number | None, a: Number, b: Number) -> Number:
        if number is None:
            return self.code.multiply(a, b)
        return self.code.multiply_add(a, b, number)
