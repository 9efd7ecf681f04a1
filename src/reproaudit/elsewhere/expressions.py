"""Arithmetic over logged quantities, parsed and computed here; nothing in it is executed.

Numbers, + - * / **, names of logged quantities, and first, last and mean of one.
"""

from __future__ import annotations

import ast
import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reproaudit.errors import did_you_mean

MAX_NODES = 400
FUNCTIONS: dict[str, Callable[[NDArray[np.float64]], Any]] = {
    "first": lambda values: values[0],
    "last": lambda values: values[-1],
    "mean": lambda values: values.mean(),
}
"""Functions that make one number of a series."""
_OPERATORS: dict[type[ast.AST], np.ufunc] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.divide,
    ast.Pow: np.power,
    ast.UAdd: np.positive,
    ast.USub: np.negative,
}


class ExpressionError(ValueError):
    """A formula outside the grammar, or one whose parts do not fit together."""


@dataclass(frozen=True)
class ExpressionValue:
    """A number, or a series of them.

    Attributes:
        steps: shape (step,); None of a single number.
        values: shape (step,), or () of a single number.
    """

    steps: NDArray[np.int64] | None
    values: NDArray[np.float64]


def parse_expression(text: str) -> ast.expr:
    """Parse a formula to a syntax tree of allowed nodes only.

    Raises:
        ExpressionError: if it holds anything else.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ExpressionError(f"no formula ({getattr(error, 'msg', None) or error})") from None
    if sum(1 for _ in ast.walk(tree)) > MAX_NODES:
        raise ExpressionError(f"a formula of more than {MAX_NODES} parts")
    _check(tree)
    return tree


def _check(node: ast.expr) -> None:
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        try:
            finite = math.isfinite(float(node.value))  # type: ignore[arg-type]
        except OverflowError:
            finite = False
        if not finite:
            raise ExpressionError("a number beyond what a computer holds")
    elif isinstance(node, ast.BinOp | ast.UnaryOp) and type(node.op) in _OPERATORS:
        for one in _operands(node):
            _check(one)
    elif isinstance(node, ast.Call):
        name = node.func.id if isinstance(node.func, ast.Name) else "something computed"
        if name not in FUNCTIONS:
            raise ExpressionError(f"the function '{name}'. {did_you_mean(name, FUNCTIONS)}")
        if node.keywords or len(node.args) != 1:
            raise ExpressionError(f"other arguments of {name} than a series")
        _check(node.args[0])
    elif not isinstance(node, ast.Name):
        kind = type(node.op).__name__ if isinstance(node, ast.BinOp) else type(node).__name__
        allowed = f"numbers, names, + - * / ** and {', '.join(FUNCTIONS)}"
        raise ExpressionError(f"{kind} in a formula; allowed are {allowed}")


def _operands(node: ast.BinOp | ast.UnaryOp) -> tuple[ast.expr, ...]:
    return (node.left, node.right) if isinstance(node, ast.BinOp) else (node.operand,)


def evaluate(
    node: ast.expr, lookup: Callable[[str], ExpressionValue], names: Mapping[str, str]
) -> ExpressionValue:
    """Compute a checked formula.

    Args:
        node: the formula.
        lookup: finds a logged quantity by its tag.
        names: short names of tags.

    Raises:
        ExpressionError: if the steps of two series differ.
    """
    if isinstance(node, ast.Constant):
        return ExpressionValue(None, np.array(node.value, dtype=np.float64))
    if isinstance(node, ast.Name):
        return lookup(names.get(node.id, node.id))
    if isinstance(node, ast.Call):
        assert isinstance(node.func, ast.Name), "a checked formula calls by name"
        one = evaluate(node.args[0], lookup, names)
        picked = one.values if one.steps is None else FUNCTIONS[node.func.id](one.values)
        return ExpressionValue(None, np.asarray(picked))
    assert isinstance(node, ast.BinOp | ast.UnaryOp), "a checked formula holds nothing else"
    parts = [evaluate(one, lookup, names) for one in _operands(node)]
    stepped = [one.steps for one in parts if one.steps is not None]
    for other in stepped[1:]:
        if not np.array_equal(stepped[0], other):
            odd = np.setxor1d(stepped[0], other)
            raise ExpressionError(
                f"series of {len(stepped[0])} and {len(other)} steps in one formula; step "
                f"{odd[0] if odd.size else '?'} is in one only"
            )
    with np.errstate(all="ignore"):
        values = _OPERATORS[type(node.op)](*(one.values for one in parts))
    return ExpressionValue(stepped[0] if stepped else None, np.asarray(values))
