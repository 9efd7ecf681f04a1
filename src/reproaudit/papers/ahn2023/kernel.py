"""The recursion compiled for the CPU: loss, hand-written gradient and the whole Adam loop.

The recursion is that of `recursion` (derived there): per prompt, with S = (1/n) Σ x xᵀ,

    b_{l+1} = b_l + C_l u_l,    s_l = S b_l,  v_l = C_lᵀ s_l,  u_l = A_lᵀ v_l,
    C_{l+1} = C_l + C_l T_l,    G_l = S C_l,  H_l = C_lᵀ G_l,  N_l = H_l B_lᵀ,  T_l = A_lᵀ N_l.

The last map, C_{L−1}, meets four vectors only: s and u on the way forward, and on the way back the
gradient g in b_L and dv. So it is applied and never formed, and as its gradient g uᵀ + s dvᵀ has
rank two, what the layer before needs of it are outer products of the vectors met on the way.

Prompts lie in groups, one prompt per lane of a vector, the prompt being the innermost axis of every
array, so that each scalar operation of the recursion is one vector instruction for a whole group.
Groups lie in blocks of a fixed size; each block sums its own gradient and the blocks are added in
their order, so the bits of a result do not depend on the number of threads. Multiply-adds are
explicit for the same reason: the compiler is left no choice of what to contract, however it
inlines. The products are unrolled for the given d, so this is for small d, as in the paper.

Arrays are plain NumPy; there is no module state. The number of threads is Numba's own
(`numba.set_num_threads`); with one thread, or little work, no parallel region is entered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.extending import intrinsic
from numba.np.arrayobj import make_array
from numpy.typing import NDArray

VECTOR_BYTES = 64
"""A group holds as many prompts as fit here: 16 of float32, 8 of float64.

One vector register on a wide processor; the compiler splits it where registers are narrower. Our
arrays start at a multiple of it, for a load that straddles cache lines takes twice as long.
"""

GROUPS_PER_BLOCK = 32
"""Groups whose gradients are summed in the working precision before going to float64."""

_SERIAL = 32
"""Up to so many groups, one thread is faster than several."""

Array = NDArray[Any]

# Numba's code-generation helpers carry no types.
_get_or_insert_function: Any = cgutils.get_or_insert_function
_unpack_tuple: Any = cgutils.unpack_tuple
_make_array: Any = make_array
Function = TypeVar("Function", bound=Callable[..., Any])


def _compiled(**options: Any) -> Callable[[Function], Function]:
    """Numba's decorator, typed."""

    def compiled(function: Function) -> Function:
        try:
            made = numba.njit(cache=True, nogil=True, **options)(function)
        except RuntimeError:  # nowhere to write a cache: neither beside this file nor at home
            made = numba.njit(nogil=True, **options)(function)
        return cast("Function", made)

    return compiled


_IN_LOOP = {"forceinline": True, "_nrt": False}
"""For what runs for every group: inlined, and without counting references.

Numba counts every slice of an array in and out; these calls took longer than the arithmetic.
Nothing here makes an array, and the caller keeps those that are given.
"""


# Formulas. Each becomes one intrinsic: straight-line vector code for a group of prompts. Inside a
# formula a number is one LLVM vector, a `Vector` a list of d of them, a `Matrix` a list of d rows.

Number = Any
Vector = Sequence[Number]
Matrix = Sequence[Vector]
Stored = Callable[[], Matrix]


class _Code:
    """Emits vector instructions; a formula gets one and combines its operands with it."""

    def __init__(self, builder: ir.IRBuilder, element: ir.Type, bits: int) -> None:
        self._builder = builder
        self._lanes = 8 * VECTOR_BYTES // bits
        self._alignment = bits // 8  # all that a caller's array promises; costs nothing if exceeded
        self._type = ir.VectorType(element, self._lanes)
        self._fma = _get_or_insert_function(
            builder.module,
            ir.FunctionType(self._type, [self._type] * 3),
            f"llvm.fma.v{self._lanes}f{bits}",
        )

    def load(self, pointer: Any, row: int) -> Number:
        return self._builder.load(self._row(pointer, row), align=self._alignment)

    def store(self, number: Number, pointer: Any, row: int) -> None:
        self._builder.store(number, self._row(pointer, row), align=self._alignment)

    def _row(self, pointer: Any, row: int) -> Any:
        place = self._builder.gep(pointer, [ir.Constant(ir.IntType(64), row * self._lanes)])
        return self._builder.bitcast(place, self._type.as_pointer())

    def spread(self, pointer: Any, place: int) -> Number:
        """One stored number, the same in every lane."""
        index = ir.IntType(32)
        number = self._builder.load(
            self._builder.gep(pointer, [ir.Constant(ir.IntType(64), place)])
        )
        undefined = ir.Constant(self._type, ir.Undefined)
        first = self._builder.insert_element(undefined, number, ir.Constant(index, 0))
        zeros = ir.Constant(ir.VectorType(index, self._lanes), None)
        return self._builder.shuffle_vector(first, undefined, zeros)

    def fresh(self) -> None:
        """What is loaded from here on is loaded anew, not kept in a register from before."""
        nothing = ir.FunctionType(ir.VoidType(), [])
        self._builder.asm(nothing, "", "~{memory}", [], side_effect=True)

    def one(self) -> Number:
        return ir.Constant(self._type, [1.0] * self._lanes)

    def plus(self, a: Number, b: Number) -> Number:
        return self._builder.fadd(a, b)

    def times(self, a: Number, b: Number) -> Number:
        return self._builder.fmul(a, b)

    def dot(self, x: Vector, y: Vector, start: Number | None = None) -> Number:
        """Start + x·y, added from the first entry to the last."""
        total = start
        for a, b in zip(x, y, strict=True):
            total = (
                self.times(a, b) if total is None else self._builder.call(self._fma, [a, b, total])
            )
        return total

    def apply(self, a: Matrix, x: Vector, start: Vector | None = None) -> Vector:
        """Start + a x."""
        return [self.dot(row, x, start[i] if start else None) for i, row in enumerate(a)]

    def product(self, a: Matrix, b: Matrix, start: Matrix | None = None) -> Matrix:
        """Start + a b."""
        columns = _t(b)
        return [self.apply(columns, row, start[i] if start else None) for i, row in enumerate(a)]

    def plus_transpose(self, a: Matrix) -> Matrix:
        """A + aᵀ, each pair added once."""
        return _mirrored(lambda i, j: self.plus(a[i][j], a[j][i]), len(a))


def _t(a: Matrix) -> Matrix:
    return list(zip(*a, strict=True))


def _mirrored(entry: Callable[[int, int], Number], d: int) -> Matrix:
    """The symmetric matrix with these entries on and above the diagonal."""
    upper = {(i, j): entry(i, j) for i in range(d) for j in range(i, d)}
    return [[upper[min(i, j), max(i, j)] for j in range(d)] for i in range(d)]


def _pointers(context: Any, builder: Any, types_: Any, values: Any) -> list[Any]:
    arrays = zip(types_, _unpack_tuple(builder, values), strict=True)
    return [_make_array(kind)(context, builder, value).data for kind, value in arrays]


def _operand(code: _Code, kind: str, pointer: Any, d: int) -> Number | Vector | Matrix:
    if kind == "n":
        return code.load(pointer, 0)
    if kind in "vt":
        return [code.load(pointer, i) for i in range(d if kind == "v" else d * (d - 1) // 2)]
    fetch = code.load if kind in "mM" else code.spread

    def matrix() -> Matrix:
        if kind in "MP":
            code.fresh()
        return [[fetch(pointer, i * d + j) for j in range(d)] for i in range(d)]

    return matrix if kind in "MP" else matrix()


def _lower_triangular(below: Sequence[Number], diagonal: Vector) -> Sequence[Vector]:
    """The rows, each as long as it is without the zeros."""
    rows = [[*below[i * (i - 1) // 2 : i * (i + 1) // 2]] for i in range(len(diagonal))]
    return [[*row, number] for row, number in zip(rows, diagonal, strict=True)]


def _keep(code: _Code, kind: str, result: Any, pointer: Any) -> None:
    rows = [[result]] if kind == "n" else [result] if kind == "v" else result
    for row, number in enumerate(number for numbers in rows for number in numbers):
        code.store(number, pointer, row)


def _operation(results: str, operands: str) -> Callable[[Callable[..., Any]], Any]:
    """Makes an intrinsic ``f(dims, results, operands)`` of a formula.

    The kinds of results and operands are letters: n a number per prompt (lanes), v a vector
    (d, lanes), m a matrix (d·d, lanes), t what lies below the diagonal of one (d(d−1)/2, lanes),
    p a parameter (d, d), the same for every prompt. The formula gets M and P, a matrix and a
    parameter, as functions that load them: a call at each use keeps long formulas from holding
    more than there are registers for. A result may be an operand too: everything is read before
    anything is written. `dims` is a tuple of d zeros: its length is part of its type, so that d is
    known when the code is made.
    """

    def make(formula: Callable[..., Any]) -> Any:
        def typed(context: Any, dims: Any, outs: Any, ins: Any) -> Any:  # noqa: ARG001
            def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
                _, out_types, in_types = signature.args
                dtype, d = out_types[0].dtype, dims.count
                code = _Code(builder, context.get_data_type(dtype), dtype.bitwidth)
                sources = _pointers(context, builder, in_types, arguments[2])
                targets = _pointers(context, builder, out_types, arguments[1])
                values = [_operand(code, *at, d) for at in zip(operands, sources, strict=True)]
                made = zip(results, formula(code, *values), targets, strict=True)
                for kind, result, target in made:
                    _keep(code, kind, result, target)
                return context.get_dummy_value()

            for array in (*outs, *ins):
                if array.layout != "C":
                    raise TypingError(f"{formula.__name__}: {array} is not contiguous")
            return types.void(dims, outs, ins), generate

        typed.__name__ = formula.__name__
        return intrinsic(typed)

    return make


@_operation("v", "v")
def _copy(_code: _Code, x: Vector) -> Any:
    return (x,)


@_operation("vv", "MvP")
def _first_step(code: _Code, S: Stored, b: Vector, A: Stored) -> Any:
    """The s, and the next b, where C = I."""
    s = code.apply(S(), b)
    return s, code.apply(_t(A()), s, b)


@_operation("vvvv", "MMvP")
def _step(code: _Code, S: Stored, C: Stored, b: Vector, A: Stored) -> Any:
    """The s, v, u and next b."""
    s = code.apply(S(), b)
    v = code.apply(_t(C()), s)
    u = code.apply(_t(A()), v)
    return s, v, u, code.apply(C(), u, b)


@_operation("vv", "MPv")
def _step_gradient(code: _Code, C: Stored, A: Stored, g: Vector) -> Any:
    """The gradient h = Cᵀ g in u, and dv."""
    h = code.apply(_t(C()), g)
    return h, code.apply(A(), h)


def _map(code: _Code, S: Stored, C: Stored | None, x: Vector, A: Stored, B: Stored) -> list[Vector]:
    """Applies C⁺ = C (I + Aᵀ H Bᵀ): r = Bᵀ x, G r, H r, x⁺ = x + Aᵀ H r and C⁺ x = C x⁺.

    Where C is None it is I, and G = H = S.
    """
    r = code.apply(_t(B()), x)
    G_r = code.apply(S(), r if C is None else code.apply(C(), r))
    H_r = G_r if C is None else code.apply(_t(C()), G_r)
    moved = code.apply(_t(A()), H_r, x)
    return [r, G_r, H_r, moved, moved if C is None else code.apply(C(), moved)]


def _map_t(
    code: _Code, S: Stored, C: Stored | None, y: Vector, A: Stored, B: Stored
) -> list[Vector]:
    """Applies its transpose: p = Cᵀ y, q = A p, G q, H q and C⁺ᵀ y = p + B H q."""
    p = y if C is None else code.apply(_t(C()), y)
    q = code.apply(A(), p)
    G_q = code.apply(S(), q if C is None else code.apply(C(), q))
    H_q = G_q if C is None else code.apply(_t(C()), G_q)
    return [p, q, G_q, H_q, code.apply(B(), H_q, p)]


def _last_step_of(
    code: _Code, S: Stored, C: Stored | None, b: Vector, A: Stored, A_map: Stored, B_map: Stored
) -> Any:
    s = code.apply(S(), b)
    *met, v = _map_t(code, S, C, s, A_map, B_map)
    u = code.apply(_t(A()), v)
    *also_met, moved = _map(code, S, C, u, A_map, B_map)
    return s, v, u, [code.plus(x, y) for x, y in zip(b, moved, strict=True)], *met, *also_met


def _last_step_gradient_of(
    code: _Code, S: Stored, C: Stored | None, g: Vector, A: Stored, A_map: Stored, B_map: Stored
) -> Any:
    *met, h = _map_t(code, S, C, g, A_map, B_map)
    dv = code.apply(A(), h)
    *also_met, moved = _map(code, S, C, dv, A_map, B_map)
    return h, dv, code.apply(S(), moved, g), *met, *also_met


# Of the maps applied in the last layer: of s (or g) transposed, then of u (or dv).
_p, _q, _Gq, _Hq, _r, _Gr, _Hr, _moved = range(8)
_MET = 8


@_operation("vvvv" + _MET * "v", "MMvPPP")
def _last_step(code: _Code, S: Stored, C: Stored, b: Vector, *parameters: Stored) -> Any:
    """The s, v, u and next b of the last layer, from the map before, and the vectors met."""
    return _last_step_of(code, S, C, b, *parameters)


@_operation("vvvv" + _MET * "v", "MvPPP")
def _second_and_last_step(code: _Code, S: Stored, b: Vector, *parameters: Stored) -> Any:
    """The same where the map before is C_0 = I."""
    return _last_step_of(code, S, None, b, *parameters)


@_operation("vvv" + _MET * "v", "MMvPPP")
def _last_step_gradient(code: _Code, S: Stored, C: Stored, g: Vector, *parameters: Stored) -> Any:
    """The gradient h = C⁺ᵀ g in u, dv, the gradient in b, g + S C⁺ dv, and the vectors met."""
    return _last_step_gradient_of(code, S, C, g, *parameters)


@_operation("vvv" + _MET * "v", "MvPPP")
def _second_and_last_step_gradient(code: _Code, S: Stored, g: Vector, *parameters: Stored) -> Any:
    """The same where the map before is C_0 = I."""
    return _last_step_gradient_of(code, S, None, g, *parameters)


@_operation("v", "MPv")
def _carry_back(code: _Code, S: Stored, A: Stored, g: Vector) -> Any:
    """The gradient g + S A g in b from that in the next b, where C = I."""
    return (code.apply(S(), code.apply(A(), g), g),)


@_operation("v", "MMvv")
def _carry_back_through(code: _Code, S: Stored, C: Stored, dv: Vector, g: Vector) -> Any:
    """The gradient g + S C dv in b from that in the next b."""
    return (code.apply(S(), code.apply(C(), dv), g),)


@_operation("vn", "nvvn")
def _query(code: _Code, squares: Number, query: Vector, b: Vector, offset: Number) -> Any:
    """E x, half the gradient of e² in b, and squares + e², for the error e = x·b + offset."""
    error = code.dot(query, b, offset)
    return [code.times(error, x) for x in query], code.dot([error], [error], squares)


@_operation("m", "mvv")
def _plus_outer(code: _Code, a: Matrix, x: Vector, y: Vector) -> Any:
    return (code.product([[xi] for xi in x], [y], a),)


@_operation("m", 12 * "v")
def _six_outer(code: _Code, *vectors: Vector) -> Any:
    """The sum of x yᵀ over six pairs x, y."""
    return (code.product(list(zip(*vectors[::2], strict=True)), vectors[1::2]),)


@_operation("m", "mvvvv")
def _plus_two_outer(code: _Code, a: Matrix, x: Vector, y: Vector, z: Vector, t: Vector) -> Any:
    return (code.product(list(zip(x, z, strict=True)), [y, t], a),)


@_operation("m", "mm")
def _product(code: _Code, a: Matrix, b: Matrix) -> Any:
    return (code.product(a, b),)


@_operation("m", "mmmvv")
def _plus_product_nt_and_outer(
    code: _Code, c: Matrix, a: Matrix, b: Matrix, x: Vector, y: Vector
) -> Any:
    """The sum c + a bᵀ + x yᵀ."""
    wide = [[*row, number] for row, number in zip(a, x, strict=True)]
    return (code.product(wide, [*_t(b), y], c),)


@_operation("m", "mm")
def _product_tn(code: _Code, a: Matrix, b: Matrix) -> Any:
    return (code.product(_t(a), b),)


@_operation("m", "mm")
def _symmetric_product_tn(code: _Code, a: Matrix, b: Matrix) -> Any:
    """The product aᵀ b where it is known to be symmetric."""
    rows, columns = _t(a), _t(b)
    return (_mirrored(lambda i, j: code.dot(rows[i], columns[j]), len(a)),)


@_operation("m", "mmm")
def _plus_product(code: _Code, c: Matrix, a: Matrix, b: Matrix) -> Any:
    return (code.product(a, b, c),)


@_operation("m", "mmm")
def _plus_product_nt(code: _Code, c: Matrix, a: Matrix, b: Matrix) -> Any:
    return (code.product(a, _t(b), c),)


@_operation("m", "mmm")
def _plus_product_tn(code: _Code, c: Matrix, a: Matrix, b: Matrix) -> Any:
    return (code.product(_t(a), b, c),)


@_operation("m", "pm")
def _parameter_product(code: _Code, p: Matrix, a: Matrix) -> Any:
    return (code.product(p, a),)


@_operation("m", "pm")
def _parameter_product_tn(code: _Code, p: Matrix, a: Matrix) -> Any:
    return (code.product(_t(p), a),)


@_operation("m", "mp")
def _product_parameter_nt(code: _Code, a: Matrix, p: Matrix) -> Any:
    return (code.product(a, _t(p)),)


@_operation("m", "mp")
def _symmetrised_product_parameter(code: _Code, a: Matrix, p: Matrix) -> Any:
    """The product a p plus its transpose."""
    return (code.plus_transpose(code.product(a, p)),)


@_operation("m", "pm")
def _identity_plus_parameter_product_tn(code: _Code, p: Matrix, a: Matrix) -> Any:
    """The sum I + pᵀ a."""
    made = code.product(_t(p), a)
    one = code.one()
    return (
        [
            [code.plus(x, one) if i == j else x for j, x in enumerate(row)]
            for i, row in enumerate(made)
        ],
    )


# What the forward pass keeps of each layer for the backward pass, by place in the workspace.
_C, _G, _H, _N, _T = range(5)
_MATRICES = 5
_b, _s, _v, _u = range(4)
_g, _h, _dv, _g_next = range(4)  # in the row after b_L, on the way back
_VECTORS = 4


@_compiled(**_IN_LOOP)
def _sparse_group(
    prompt: Array, A: Array, squares: Array, dA: Array, vectors: Array, dims: Any
) -> None:
    """Adds the losses and half the gradients of one group to the lanes' sums, for B_l = 0."""
    d = len(dims)
    layers = A.shape[0]
    S, w, query = prompt[: d * d], prompt[d * d : d * d + d], prompt[d * d + d : -1]
    g = vectors[layers + 1, _g]
    _copy(dims, (vectors[0, _b],), (w,))
    for layer in range(layers):
        of = vectors[layer]
        _first_step(dims, (of[_s], vectors[layer + 1, _b]), (S, of[_b], A[layer]))
    _query(dims, (g, squares), (squares, query, vectors[layers, _b], prompt[-1]))
    for layer in range(layers - 1, -1, -1):
        _plus_outer(dims, (dA[layer],), (dA[layer], vectors[layer, _s], g))
        if layer > 0:
            _carry_back(dims, (g,), (S, A[layer], g))


@_compiled(**_IN_LOOP)
def _full_forward(
    S: Array, w: Array, A: Array, B: Array, matrices: Array, vectors: Array, met: Array, dims: Any
) -> None:
    """Fills the workspace layer by layer; b_L ends in ``vectors[layers, _b]``."""
    last = A.shape[0] - 1
    _copy(dims, (vectors[0, _b],), (w,))
    _first_step(dims, (vectors[0, _s], vectors[1, _b]), (S, w, A[0]))
    if last > 1:
        N = matrices[0, _N]
        _product_parameter_nt(dims, (N,), (S, B[0]))
        _identity_plus_parameter_product_tn(dims, (matrices[1, _C],), (A[0], N))
    for layer in range(1, last):
        of, m = vectors[layer], matrices[layer]
        made = (of[_s], of[_v], of[_u], vectors[layer + 1, _b])
        _step(dims, made, (S, m[_C], of[_b], A[layer]))
        if layer < last - 1:
            _product(dims, (m[_G],), (S, m[_C]))
            _symmetric_product_tn(dims, (m[_H],), (m[_C], m[_G]))
            _product_parameter_nt(dims, (m[_N],), (m[_H], B[layer]))
            _parameter_product_tn(dims, (m[_T],), (A[layer], m[_N]))
            _plus_product(dims, (matrices[layer + 1, _C],), (m[_C], m[_C], m[_T]))
    if last > 0:
        of, to = vectors[last], met[0]
        made = (of[_s], of[_v], of[_u], vectors[last + 1, _b])
        if last == 1:
            _second_and_last_step(dims, _joined(made, to), (S, of[_b], A[1], A[0], B[0]))
        else:
            C, A_map, B_map = matrices[last - 1, _C], A[last - 1], B[last - 1]
            _last_step(dims, _joined(made, to), (S, C, of[_b], A[last], A_map, B_map))


@_compiled(**_IN_LOOP)
def _joined(made: Any, met: Array) -> Any:
    """The arrays of a tuple, and those of the vectors met."""
    return (
        *made,
        met[_p],
        met[_q],
        met[_Gq],
        met[_Hq],
        met[_r],
        met[_Gr],
        met[_Hr],
        met[_moved],
    )


@_compiled(**_IN_LOOP)
def _map_backward(
    D: Array, m: Array, A: Array, B: Array, dA: Array, dB: Array, spare: Array, dims: Any
) -> None:
    """From D, the gradient in C_{l+1}, its share of those in C_l (again in D), A_l and B_l."""
    dT, E, dH = spare[0], spare[1], spare[2]
    _product_tn(dims, (dT,), (m[_C], D))
    _parameter_product(dims, (E,), (A, dT))
    _plus_product_nt(dims, (dA,), (dA, m[_N], dT))
    _plus_product_tn(dims, (dB,), (dB, E, m[_H]))
    _symmetrised_product_parameter(dims, (dH,), (E, B))
    _plus_product_nt(dims, (D,), (D, D, m[_T]))
    _plus_product(dims, (D,), (D, m[_G], dH))


@_compiled(**_IN_LOOP)
def _full_backward(
    S: Array,
    A: Array,
    B: Array,
    g: Array,
    dA: Array,
    dB: Array,
    matrices: Array,
    vectors: Array,
    met: Array,
    dims: Any,
) -> None:
    """Adds half the gradients to the lanes' sums, given g = half the gradient in b_L.

    From the layer's equations, with D the gradient in C_{l+1}, and that in C_l on the left:
    dT = Cᵀ D, E = A dT, dA += N dTᵀ, dB += Eᵀ H, dH = E B and
    D ← D + D Tᵀ + G (dH + dHᵀ) + g uᵀ + s dvᵀ, where dv = A Cᵀ g and dA += v (Cᵀ g)ᵀ;
    then g ← g + S C dv. At layer 0, C = I, so that only dA and dB remain.
    """
    last = A.shape[0] - 1
    if last > 0:
        D, E, spare = matrices[last, 0], matrices[last, 1], matrices[last, 1:4]
        _last_map_backward(S, A, B, g, dA, dB, D, matrices, vectors, met, dims)
        back = vectors[last + 2]
        h, dv, g = back[_h], back[_dv], back[_g_next]
        for layer in range(last - 1, 0, -1):
            of, m = vectors[layer], matrices[layer]
            _step_gradient(dims, (h, dv), (m[_C], A[layer], g))
            _plus_outer(dims, (dA[layer],), (dA[layer], of[_v], h))
            if layer < last - 1:
                _map_backward(D, m, A[layer], B[layer], dA[layer], dB[layer], spare, dims)
            _plus_two_outer(dims, (D,), (D, g, of[_u], of[_s], dv))
            _carry_back_through(dims, (g,), (S, m[_C], dv, g))
    if last > 1:
        _plus_product_nt_and_outer(dims, (dA[0],), (dA[0], matrices[0, _N], D, vectors[0, _s], g))
        _parameter_product(dims, (E,), (A[0], D))
        _plus_product_tn(dims, (dB[0],), (dB[0], E, S))
    else:
        _plus_outer(dims, (dA[0],), (dA[0], vectors[0, _s], g))


@_compiled(**_IN_LOOP)
def _last_map_backward(
    S: Array,
    A: Array,
    B: Array,
    g: Array,
    dA: Array,
    dB: Array,
    D: Array,
    matrices: Array,
    vectors: Array,
    met: Array,
    dims: Any,
) -> None:
    """Through the last layer and the map that it applies: dA, dB, D, and the next g.

    `_full_backward`'s equations where the gradient in C_{l+1} is g uᵀ + s dvᵀ and C_{l+1} was
    applied. With the vectors met, dA += (H r_u) p_gᵀ + (H r_dv) p_sᵀ,
    dB += u (H q_g)ᵀ + dv (H q_s)ᵀ and
    D = g (u + T u)ᵀ + s (dv + T dv)ᵀ + G q_g r_uᵀ + G q_s r_dvᵀ + G r_u q_gᵀ + G r_dv q_sᵀ.
    """
    last = A.shape[0] - 1
    of, there, back = vectors[last], met[0], met[1]
    h, dv, g_next = vectors[last + 2, _h], vectors[last + 2, _dv], vectors[last + 2, _g_next]
    A_map, B_map = A[last - 1], B[last - 1]
    if last == 1:
        _second_and_last_step_gradient(
            dims, _joined((h, dv, g_next), back), (S, g, A[1], A_map, B_map)
        )
    else:
        C = matrices[last - 1, _C]
        _last_step_gradient(dims, _joined((h, dv, g_next), back), (S, C, g, A[last], A_map, B_map))
    s, u = of[_s], of[_u]
    _plus_outer(dims, (dA[last],), (dA[last], of[_v], h))
    to = dA[last - 1]
    _plus_two_outer(dims, (to,), (to, there[_Hr], back[_p], back[_Hr], there[_p]))
    to = dB[last - 1]
    _plus_two_outer(dims, (to,), (to, u, back[_Hq], dv, there[_Hq]))
    if last > 1:
        _six_outer(
            dims,
            (D,),
            (
                g,
                there[_moved],
                s,
                back[_moved],
                back[_Gq],
                there[_r],
                there[_Gq],
                back[_r],
                there[_Gr],
                back[_q],
                back[_Gr],
                there[_q],
            ),
        )


@_compiled()
def _aligned_room(size: int, like: Array) -> Array:
    """Room for numbers of the precision of `like`, starting at a multiple of the alignment."""
    raw = np.empty(size + VECTOR_BYTES, like.dtype)
    skip = (-raw.ctypes.data % VECTOR_BYTES) // raw.itemsize
    return raw[skip : skip + size]


@_compiled()
def _aligned_zeros(size: int, like: Array) -> Array:
    """The same, filled with zeros."""
    room = _aligned_room(size, like)
    room[:] = 0
    return room


@_compiled()
def _block(
    out: Array, data: Array, first: int, last: int, A: Array, B: Array, free_b: bool, dims: Any
) -> None:
    """Sums the groups first … last − 1 into out = (Σ squared error, Σ dA/2, Σ dB/2).

    ``dims`` is a tuple of d zeros: its length is part of its type, hence a constant here.
    """
    d, layers, lanes = len(dims), A.shape[0], data.shape[2]
    stored = layers if free_b else 0
    squares = _aligned_zeros(lanes, data)
    rows = _aligned_zeros(2 * layers * d * d * lanes, data).reshape((2 * layers * d * d, lanes))
    vectors = _aligned_room((layers + 2) * _VECTORS * d * lanes, data)
    met = _aligned_room(2 * _MET * d * lanes, data)
    matrices = _aligned_room(stored * _MATRICES * d * d * lanes, data)
    _add_groups(
        data,
        first,
        last,
        A,
        B,
        squares,
        rows.reshape((2, layers, d * d, lanes)),
        vectors.reshape((layers + 2, _VECTORS, d, lanes)),
        met.reshape((2, _MET, d, lanes)),
        matrices.reshape((stored, _MATRICES, d * d, lanes)),
        free_b,
        dims,
    )
    out[0] = _sum_lanes(squares)
    for row in range(rows.shape[0]):
        out[1 + row] = _sum_lanes(rows[row])


@_compiled(_nrt=False)
def _add_groups(
    data: Array,
    first: int,
    last: int,
    A: Array,
    B: Array,
    squares: Array,
    gradient: Array,
    vectors: Array,
    met: Array,
    matrices: Array,
    free_b: bool,
    dims: Any,
) -> None:
    """Adds the losses and half the gradients of the groups first … last − 1 to the lanes' sums."""
    layers, d = A.shape[0], len(dims)
    dA, dB = gradient[0], gradient[1]
    for group in range(first, last):
        prompt = data[group]
        if free_b:
            S, w, query = prompt[: d * d], prompt[d * d : d * d + d], prompt[d * d + d : -1]
            _full_forward(S, w, A, B, matrices, vectors, met, dims)
            g = vectors[layers + 1, _g]
            _query(dims, (g, squares), (squares, query, vectors[layers, _b], prompt[-1]))
            _full_backward(S, A, B, g, dA, dB, matrices, vectors, met, dims)
        else:
            _sparse_group(prompt, A, squares, dA, vectors, dims)


@_compiled()
def _sum_lanes(values: Array) -> float:
    total = 0.0
    for lane in range(values.size):
        total += values[lane]
    return total


@_compiled()
def _blocks_in_turn(
    partial: Array, data: Array, A: Array, B: Array, free_b: bool, dims: Any
) -> None:
    for block in range(partial.shape[0]):
        first = block * GROUPS_PER_BLOCK
        last = min(first + GROUPS_PER_BLOCK, data.shape[0])
        _block(partial[block], data, first, last, A, B, free_b, dims)


@_compiled(parallel=True)
def _blocks_in_parallel(
    partial: Array, data: Array, A: Array, B: Array, free_b: bool, dims: Any
) -> None:
    for block in numba.prange(partial.shape[0]):
        first = block * GROUPS_PER_BLOCK
        last = min(first + GROUPS_PER_BLOCK, data.shape[0])
        _block(partial[block], data, first, last, A, B, free_b, dims)


@_compiled()
def _loss_and_gradient(
    gradient: Array,
    partial: Array,
    data: Array,
    count: int,
    A: Array,
    B: Array,
    free_b: bool,
    parallel: bool | None,
    dims: Any,
) -> float:
    """Returns the mean loss and fills gradient (2, layers, d·d), float64."""
    if parallel is not None:  # decided by its type, so that what is not used is not compiled
        _blocks_in_parallel(partial, data, A, B, free_b, dims)
    else:
        _blocks_in_turn(partial, data, A, B, free_b, dims)
    flat = gradient.reshape(gradient.size)
    loss = 0.0
    flat[:] = 0.0
    for block in range(partial.shape[0]):
        loss += partial[block, 0]
        for i in range(flat.size):
            flat[i] += partial[block, 1 + i]
    for i in range(flat.size):
        flat[i] *= 2.0 / count
    return loss / count


@_compiled()
def _clip(gradient: Array, clip: float) -> None:
    """Scales a gradient to norm ≤ clip as torch does, 1e-6 and all; NaN stays NaN."""
    squares = 0.0
    for i in range(gradient.size):
        squares += gradient[i] * gradient[i]
    scale = clip / (np.sqrt(squares) + 1e-6)
    if not scale >= 1.0:
        for i in range(gradient.size):
            gradient[i] *= scale


@_compiled()
def _adam(
    parameters: Array,
    first: Array,
    second: Array,
    gradient: Array,
    step: int,
    learning_rate: float,
    betas: tuple[float, float],
    eps: float,
) -> None:
    """One step of Adam without weight decay; all arrays flat, `step` counted from 1."""
    beta1, beta2 = betas
    size = learning_rate / (1.0 - beta1**step)
    root = np.sqrt(1.0 - beta2**step)
    for i in range(parameters.size):
        first[i] += (1.0 - beta1) * (gradient[i] - first[i])
        second[i] = beta2 * second[i] + (1.0 - beta2) * gradient[i] * gradient[i]
        parameters[i] -= size * first[i] / (np.sqrt(second[i]) / root + eps)


@_compiled()
def _advance(
    losses: Array,
    A: Array,
    B: Array,
    moments: Array,
    done: int,
    data: Array,
    count: int,
    learning_rate: float,
    betas: tuple[float, float],
    eps: float,
    clip: float,
    clip_whole: bool,
    free_b: bool,
    parallel: bool | None,
    dims: Any,
) -> None:
    """len(losses) steps on one minibatch, in place; see `advance`."""
    layers, d = A.shape[0], len(dims)
    blocks = (data.shape[0] + GROUPS_PER_BLOCK - 1) // GROUPS_PER_BLOCK
    partial = np.empty((blocks, 1 + 2 * layers * d * d))
    gradient = np.empty((2, layers, d * d))
    for step in range(losses.size):
        losses[step] = _loss_and_gradient(
            gradient, partial, data, count, A, B, free_b, parallel, dims
        )
        if clip_whole:
            _clip(gradient.reshape(gradient.size), clip)
        for kind in range(2 if free_b else 1):
            parameters = B if kind else A
            for layer in range(layers):
                if not clip_whole:
                    _clip(gradient[kind, layer], clip)
                _adam(
                    parameters[layer].reshape(d * d),
                    moments[0, kind, layer].reshape(d * d),
                    moments[1, kind, layer].reshape(d * d),
                    gradient[kind, layer],
                    done + step + 1,
                    learning_rate,
                    betas,
                    eps,
                )


@_operation("mvv", "mvvpp")
def _coloured(code: _Code, S: Matrix, w: Vector, query: Vector, root: Matrix, dual: Matrix) -> Any:
    """R S Rᵀ, R⁻ᵀ w and R x: a prompt from its whitened form."""
    moment = code.product(code.product(root, S), _t(root))
    return moment, code.apply(dual, w), code.apply(root, query)


@_compiled()
def _transpose_in(out: Array, values: Array, first: int) -> None:
    """Rows first, first + 1, … of values (batch, rows) as the lanes of out (rows, lanes)."""
    for lane in range(min(out.shape[1], values.shape[0] - first)):
        for row in range(out.shape[0]):
            out[row, lane] = values[first + lane, row]


@_compiled()
def _colour(prompt: Array, root: Array, dual: Array, dims: Any) -> None:
    square, d = len(dims) ** 2, len(dims)
    parts = (prompt[:square], prompt[square : square + d], prompt[square + d : -1])
    _coloured(dims, parts, (parts[0], parts[1], parts[2], root, dual))


@_operation("mvv", "tvvvppp")
def _coloured_factor(
    code: _Code,
    below: Sequence[Number],
    diagonal: Vector,
    w: Vector,
    query: Vector,
    root: Matrix,
    dual: Matrix,
    scaled: Matrix,
) -> Any:
    """The same from the factor T of S = T Tᵀ, for R scaled by the scale of T."""
    T = _lower_triangular(below, diagonal)
    columns = [[row[k] for row in T[k:]] for k in range(len(T))]
    rows = [[code.dot(r[k:], column) for k, column in enumerate(columns)] for r in scaled]
    moment = _mirrored(lambda i, j: code.dot(rows[i], rows[j]), len(rows))
    return moment, code.apply(dual, w), code.apply(root, query)


@_compiled()
def _pack_factors(
    out: Array,
    below: Array,
    diagonal: Array,
    w: Array,
    query: Array,
    root: Array,
    dual: Array,
    scaled: Array,
    dims: Any,
) -> None:
    """What lies below the diagonal as (groups, d(d−1)/2, lanes), the rest as (groups, d, lanes)."""
    square, d = len(dims) ** 2, len(dims)
    for group in range(out.shape[0]):
        to = out[group]
        parts = (to[:square], to[square : square + d], to[square + d : -1])
        whitened = (below[group], diagonal[group], w[group], query[group], root, dual, scaled)
        _coloured_factor(dims, parts, whitened)


@_compiled()
def _pack_moments(
    out: Array, S: Array, w: Array, query: Array, root: Array, dual: Array, dims: Any
) -> None:
    """S as (batch, d·d); out zero where no prompt comes to lie."""
    square, d = len(dims) ** 2, len(dims)
    for group in range(out.shape[0]):
        first = group * out.shape[2]
        _transpose_in(out[group, :square], S, first)
        _transpose_in(out[group, square : square + d], w, first)
        _transpose_in(out[group, square + d : -1], query, first)
        _colour(out[group], root, dual, dims)


@_compiled()
def _pack_prompts(
    out: Array, x: Array, w: Array, query: Array, root: Array, dual: Array, dims: Any
) -> None:
    """The inputs x as (batch, n·d); out zero to begin with."""
    square, d = len(dims) ** 2, len(dims)
    lanes, n = out.shape[2], x.shape[1] // len(dims)
    inputs = _aligned_zeros(n * d * lanes, out).reshape((n * d, lanes))
    for group in range(out.shape[0]):
        first = group * lanes
        if x.shape[0] - first < lanes:
            inputs[:] = 0
        _transpose_in(inputs, x, first)
        S = out[group, :square]
        for token in range(n):
            x_token = inputs[token * d : token * d + d]
            _plus_outer(dims, (S,), (S, x_token, x_token))
        for row in range(square):
            for lane in range(lanes):
                S[row, lane] /= n
        _transpose_in(out[group, square : square + d], w, first)
        _transpose_in(out[group, square + d : -1], query, first)
        _colour(out[group], root, dual, dims)


@dataclass(frozen=True)
class Minibatch:
    """Prompts in the kernel's layout, made once and used for many steps.

    Attributes:
        data: (groups, d·d + 2d + 1, lanes): S, w, the query and the error's offset of each prompt,
            prompt innermost; the last group is filled up with prompts of zeros, which add nothing
            to any sum.
        count: how many prompts there really are.
        dim: d.
    """

    data: Array
    count: int
    dim: int

    @classmethod
    def zeros(cls, count: int, dim: int, dtype: Any) -> Minibatch:
        """Room for prompts, to be filled by `write_moments` or `write_prompts`.

        Raises:
            ValueError: if there is no prompt, or dtype is neither float32 nor float64.
        """
        like = np.empty(0, dtype)
        if like.dtype not in (np.float32, np.float64):
            raise ValueError(f"a minibatch is float32 or float64, not {like.dtype}")
        if count < 1:
            raise ValueError(f"a minibatch needs prompts, got {count}")
        lanes = VECTOR_BYTES // like.itemsize
        groups, rows = -(-count // lanes), dim * dim + 2 * dim + 1
        data = _aligned_zeros(groups * rows * lanes, like).reshape(groups, rows, lanes)
        return cls(data, count, dim)

    def write_offsets(self, first: int, offsets: Array) -> None:
        """Sets what is added to the error of the prompts first, first + 1, …; zero unless set.

        With labels w'·x_i in the prompt and the target w·x_{n+1}, the offset is (w − w')·x_{n+1}.
        """
        lanes = self.data.shape[2]
        prompts = np.arange(first, first + len(offsets))
        self.data[prompts // lanes, -1, prompts % lanes] = offsets

    def unpacked(self) -> tuple[Array, Array, Array, Array]:
        """S (batch, d, d), w (batch, d), the query (batch, d) and the offset (batch,)."""
        square = self.dim**2
        rows = self.data.transpose(0, 2, 1).reshape(-1, self.data.shape[1])[: self.count]
        S = rows[:, :square].reshape(-1, self.dim, self.dim)
        w, query = rows[:, square : square + self.dim], rows[:, square + self.dim : -1]
        return S, w, query, rows[:, -1]


@dataclass(frozen=True)
class Colouring:
    """How whitened prompts become prompts: x = R z, w = R⁻ᵀ v, S = R S_z Rᵀ, with Σ = R Rᵀ.

    Attributes:
        root: R, (d, d).
        dual: R⁻ᵀ, (d, d).
    """

    root: Array
    dual: Array

    @classmethod
    def none(cls, dim: int) -> Colouring:
        """Prompts that are not whitened, or whose Σ is I."""
        return cls(np.eye(dim), np.eye(dim))


def write_moments(
    minibatch: Minibatch, first: int, S: Array, w: Array, query: Array, colouring: Colouring
) -> None:
    """Fill the prompts first, first + 1, … of a zero minibatch from their second moments.

    Releases the interpreter lock, and different prompts may be written from different threads.

    Args:
        minibatch: written in place, in its own precision.
        first: a multiple of the lanes of a group.
        S: (batch, d, d), the second moments (1/n) Σ z zᵀ of whitened prompts.
        w: (batch, d), the whitened regression weights.
        query: (batch, d), the whitened inputs of the query.
        colouring: from whitened prompts to prompts.

    Raises:
        ValueError: if the shapes do not fit the minibatch.
    """
    d = minibatch.dim
    _check_prompts(minibatch, first, S, (d, d), w, query)
    _write(_pack_moments, minibatch, first, S, w, query, colouring)


def write_prompts(
    minibatch: Minibatch, first: int, z: Array, w: Array, query: Array, colouring: Colouring
) -> None:
    """Like `write_moments`, from the whitened inputs z (batch, n, d) themselves."""
    _check_prompts(minibatch, first, z, (z.shape[1], minibatch.dim), w, query)
    _write(_pack_prompts, minibatch, first, z, w, query, colouring)


def write_factors(
    minibatch: Minibatch,
    first: int,
    count: int,
    factor: tuple[Array, Array],
    scale: float,
    w: Array,
    query: Array,
    colouring: Colouring,
) -> None:
    """Like `write_moments`, from T with S = scale² T Tᵀ, all in the minibatch's own layout.

    Args:
        minibatch: written in place, in its own precision.
        first: a multiple of the lanes of a group.
        count: how many prompts; what the last group holds beyond them is left out.
        factor: T, lower triangular: what lies below its diagonal, row by row,
            (groups, d(d−1)/2, lanes), and its diagonal (groups, d, lanes).
        scale: of T.
        w: (groups, d, lanes), the whitened regression weights.
        query: (groups, d, lanes), the whitened inputs of the query.
        colouring: from whitened prompts to prompts.

    Raises:
        ValueError: if the shapes or precisions do not fit the minibatch.
    """
    d, dtype, lanes = minibatch.dim, minibatch.data.dtype, minibatch.data.shape[2]
    groups = -(-count // lanes)
    rows = (d * (d - 1) // 2, d, d, d)
    for array, each in zip((*factor, w, query), rows, strict=True):
        if array.shape != (groups, each, lanes) or array.dtype != dtype:
            raise ValueError(
                f"shapes do not fit: {array.dtype} {array.shape}, expected {dtype} "
                f"{(groups, each, lanes)}"
            )
    _check_place(minibatch, first, count)
    to = minibatch.data[first // lanes : first // lanes + groups]
    below, diagonal, w, query = (np.ascontiguousarray(a) for a in (*factor, w, query))
    root, dual, scaled = (
        np.ascontiguousarray(a, dtype)
        for a in (colouring.root, colouring.dual, scale * colouring.root)
    )
    _pack_factors(to, below, diagonal, w, query, root, dual, scaled, (0,) * d)
    to[-1, :, lanes - (groups * lanes - count) :] = 0


def _check_prompts(
    minibatch: Minibatch, first: int, values: Array, shape: tuple[int, int], w: Array, query: Array
) -> None:
    batch = len(values)
    each = (batch, minibatch.dim)
    if values.shape != (batch, *shape) or w.shape != each or query.shape != each:
        raise ValueError(f"shapes do not fit: {values.shape}, w {w.shape}, query {query.shape}")
    _check_place(minibatch, first, batch)


def _check_place(minibatch: Minibatch, first: int, batch: int) -> None:
    lanes = minibatch.data.shape[2]
    if first % lanes or first < 0 or first + batch > minibatch.count:
        raise ValueError(f"{batch} prompts do not fit at {first} of {minibatch.count}")
    if batch % lanes and first + batch != minibatch.count:
        raise ValueError(f"{batch} prompts fill no whole number of groups of {lanes}")


def _write(
    writer: Callable[..., None],
    minibatch: Minibatch,
    first: int,
    values: Array,
    w: Array,
    query: Array,
    colouring: Colouring,
) -> None:
    dtype, lanes = minibatch.data.dtype, minibatch.data.shape[2]
    groups = minibatch.data[first // lanes : -(-(first + len(values)) // lanes)]
    rows, w, query, root, dual = (
        np.ascontiguousarray(array, dtype)
        for array in (values.reshape(len(values), -1), w, query, colouring.root, colouring.dual)
    )
    writer(groups, rows, w, query, root, dual, (0,) * minibatch.dim)


def pack(S: Array, w: Array, query: Array) -> Minibatch:
    """Lay prompts out for the kernel, in the precision of S.

    Args:
        S: (batch, d, d), the second moments (1/n) Σ x xᵀ, symmetric.
        w: (batch, d), the regression weights.
        query: (batch, d), the inputs x_{n+1}.

    Raises:
        ValueError: if the shapes do not fit or S is neither float32 nor float64.
    """
    minibatch = Minibatch.zeros(len(S), S.shape[-1], S.dtype)
    write_moments(minibatch, 0, S, w, query, Colouring.none(S.shape[-1]))
    return minibatch


@dataclass
class TrainingState:
    """A training run's whole state, as plain arrays that `advance` changes in place.

    Attributes:
        A, B: (layers, d, d), C-contiguous.
        moments: (2, 2, layers, d, d): Adam's first and second moments, each of A and of B.
        steps: how many steps were made.
    """

    A: Array
    B: Array
    moments: Array
    steps: int = 0

    @classmethod
    def start(cls, A: Array, B: Array) -> TrainingState:
        """The state before the first step, from copies of the initial matrices."""
        if A.shape != B.shape or A.dtype != B.dtype or A.ndim != 3 or A.shape[1] != A.shape[2]:
            raise ValueError(f"A {A.shape} {A.dtype} and B {B.shape} {B.dtype} do not fit")
        moments = np.zeros((2, 2, *A.shape), A.dtype)
        return cls(np.array(A, order="C"), np.array(B, order="C"), moments)


def _dims(minibatch: Minibatch, A: Array) -> tuple[int, ...]:
    if A.ndim != 3 or A.shape[1:] != (minibatch.dim, minibatch.dim) or len(A) == 0:
        raise ValueError(f"A has shape {A.shape}; expected (layers, {minibatch.dim}, same)")
    d, lanes = minibatch.dim, VECTOR_BYTES // minibatch.data.itemsize
    if (
        minibatch.data.shape[1:] != (d * d + 2 * d + 1, lanes)
        or not minibatch.data.flags.c_contiguous
    ):
        raise ValueError(f"not a minibatch's layout: {minibatch.data.shape}")
    if A.dtype != minibatch.data.dtype:
        raise ValueError(f"A is {A.dtype}, the minibatch {minibatch.data.dtype}")
    return (0,) * minibatch.dim


def _check_state(state: TrainingState) -> None:
    """The compiled loop checks no bounds, so the state must fit before it starts."""
    expected = {"A": state.A.shape, "B": state.A.shape, "moments": (2, 2, *state.A.shape)}
    for name, shape in expected.items():
        array: Array = getattr(state, name)
        if array.shape != shape or array.dtype != state.A.dtype or not array.flags.c_contiguous:
            raise ValueError(
                f"{name} is {array.dtype} {array.shape}; expected contiguous "
                f"{state.A.dtype} {shape}"
            )


def _worth_threads(minibatch: Minibatch) -> bool | None:
    """True if a parallel region pays, else None; entering one costs a good part of a block."""
    return True if numba.get_num_threads() > 1 and len(minibatch.data) > _SERIAL else None


def loss_and_gradient(
    minibatch: Minibatch, A: Array, B: Array | None = None
) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
    """The in-context loss of a minibatch and its gradient.

    Args:
        minibatch: the prompts.
        A: (layers, d, d), the x blocks of the Q_l, in the minibatch's precision.
        B: the x blocks of the P_l, likewise; None for B_l = 0, where none of B's gradient is
            computed and C stays I, which is several times cheaper.

    Returns:
        The loss, and its gradients in A and in B (zeros if B is None), summed in float64. The
        gradient in the last B is exactly zero: it does not reach the output.

    Raises:
        ValueError: if shapes or precisions do not fit.
    """
    dims = _dims(minibatch, A)
    free_b = B is not None
    A = np.ascontiguousarray(A)
    B = np.zeros_like(A) if B is None else np.ascontiguousarray(B, A.dtype)
    if B.shape != A.shape:
        raise ValueError(f"B has shape {B.shape}, A {A.shape}")
    blocks = -(-len(minibatch.data) // GROUPS_PER_BLOCK)
    partial = np.empty((blocks, 1 + 2 * A.size))
    gradient = np.empty((2, len(A), minibatch.dim**2))
    loss = _loss_and_gradient(
        gradient,
        partial,
        minibatch.data,
        minibatch.count,
        A,
        B,
        free_b,
        _worth_threads(minibatch),
        dims,
    )
    dA, dB = gradient.reshape(2, *A.shape)
    return loss, dA, dB


def advance(
    state: TrainingState,
    minibatch: Minibatch,
    steps: int,
    *,
    learning_rate: float,
    betas: tuple[float, float],
    clip: float,
    free_b: bool,
    eps: float = 1e-8,
    clip_whole: bool = False,
) -> NDArray[np.float64]:
    """Make Adam steps on one minibatch, in place.

    Each step computes loss and gradient, clips, and updates as `torch.optim.Adam` without weight
    decay (equal to AdamW with weight decay 0, which the released code uses).

    Args:
        state: changed in place.
        minibatch: the prompts of all these steps.
        steps: how many steps to make.
        learning_rate: of all these steps; a schedule calls once per piece.
        betas: Adam's decay rates of the first and the second moment.
        clip: largest Frobenius norm of each matrix's gradient; infinity for no clipping.
        free_b: train B too. Otherwise B is held at zero and its gradient is not computed.
        eps: Adam's.
        clip_whole: clip the norm of the whole gradient instead of each matrix's own.

    Returns:
        The loss before each step. It turns non-finite, and stays so, if training diverges.

    Raises:
        ValueError: if shapes or precisions do not fit.
    """
    dims = _dims(minibatch, state.A)
    _check_state(state)
    if not free_b:
        state.B[:] = 0.0
    losses = np.empty(steps)
    _advance(
        losses,
        state.A,
        state.B,
        state.moments,
        state.steps,
        minibatch.data,
        minibatch.count,
        float(learning_rate),
        (float(betas[0]), float(betas[1])),
        float(eps),
        float(clip),
        clip_whole,
        free_b,
        _worth_threads(minibatch),
        dims,
    )
    state.steps += steps
    return losses
