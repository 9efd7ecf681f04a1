"""Arithmetic over logged quantities: a closed grammar, read by Python's parser and never executed.

Numbers, + - * / **, names and ``tag("…")`` of logged quantities, and the functions below.
"""

from __future__ import annotations

import ast
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reproaudit.errors import did_you_mean

MAX_NODES = 400

_Array = NDArray[np.float64]

_ELEMENTWISE: dict[str, Callable[[_Array], _Array]] = {
    "log": np.log,
    "exp": np.exp,
    "sqrt": np.sqrt,
    "abs": np.abs,
}
_PAIRS: dict[str, Callable[[_Array, _Array], _Array]] = {"min": np.minimum, "max": np.maximum}
_PICKING: dict[str, Callable[[_Array], _Array]] = {
    "first": lambda values: values[0],
    "last": lambda values: values[-1],
    "mean": lambda values: np.asarray(values.mean()),
}
"""Functions that make one number of a series."""
FUNCTIONS = (*_ELEMENTWISE, *_PAIRS, *_PICKING, "tag")
_OPERATORS: dict[type[ast.operator], Callable[[_Array, _Array], _Array]] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.divide,
    ast.Pow: np.power,
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
    values: _Array


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
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        _check(node.left)
        _check(node.right)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.UAdd | ast.USub):
        _check(node.operand)
    elif isinstance(node, ast.Call):
        _check_call(node)
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        try:
            finite = math.isfinite(float(node.value))  # type: ignore[arg-type]
        except OverflowError:
            finite = False
        if not finite:
            raise ExpressionError("a number beyond what a computer holds")
    elif not isinstance(node, ast.Name):
        kind = type(node.op).__name__ if isinstance(node, ast.BinOp) else type(node).__name__
        raise ExpressionError(
            f"{kind} in a formula; allowed are numbers, names, + - * / ** and "
            f"{', '.join(FUNCTIONS)}"
        )


def _check_call(node: ast.Call) -> None:
    if not isinstance(node.func, ast.Name) or node.func.id not in FUNCTIONS:
        name = node.func.id if isinstance(node.func, ast.Name) else "something computed"
        raise ExpressionError(f"the function '{name}'. {did_you_mean(name, FUNCTIONS)}")
    name, wanted = node.func.id, 2 if node.func.id in _PAIRS else 1
    if node.keywords or len(node.args) != wanted:
        count = len(node.args) + len(node.keywords)
        raise ExpressionError(f"{count} arguments of {name}; it takes {wanted}, without names")
    if name == "tag":
        text = node.args[0]
        if not isinstance(text, ast.Constant) or not isinstance(text.value, str):
            raise ExpressionError('tag without a name; write tag("name")')
        return
    for one in node.args:
        _check(one)


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
    with np.errstate(all="ignore"):
        return _value(node, lookup, names)


def _value(
    node: ast.expr, lookup: Callable[[str], ExpressionValue], names: Mapping[str, str]
) -> ExpressionValue:
    if isinstance(node, ast.Constant):
        return ExpressionValue(None, np.array(node.value, dtype=np.float64))
    if isinstance(node, ast.Name):
        return lookup(names.get(node.id, node.id))
    if isinstance(node, ast.UnaryOp):
        one = _value(node.operand, lookup, names)
        return one if isinstance(node.op, ast.UAdd) else ExpressionValue(one.steps, -one.values)
    if isinstance(node, ast.BinOp):
        parts = [_value(one, lookup, names) for one in (node.left, node.right)]
        return ExpressionValue(
            _shared(parts), _OPERATORS[type(node.op)](parts[0].values, parts[1].values)
        )
    assert isinstance(node, ast.Call), "a checked formula holds nothing else"
    assert isinstance(node.func, ast.Name), "a checked formula calls by name"
    name = node.func.id
    if name == "tag":
        assert isinstance(node.args[0], ast.Constant), "a checked tag is text"
        return lookup(str(node.args[0].value))
    parts = [_value(one, lookup, names) for one in node.args]
    if name in _PAIRS:
        return ExpressionValue(_shared(parts), _PAIRS[name](parts[0].values, parts[1].values))
    (one,) = parts
    if name in _PICKING:
        picked = one.values if one.steps is None else _PICKING[name](one.values)
        return ExpressionValue(None, picked)
    return ExpressionValue(one.steps, _ELEMENTWISE[name](one.values))


def _shared(several: Sequence[ExpressionValue]) -> NDArray[np.int64] | None:
    """Return the steps that all series have.

    Raises:
        ExpressionError: if they differ.
    """
    series = [one.steps for one in several if one.steps is not None]
    for other in series[1:]:
        if not np.array_equal(series[0], other):
            odd = np.setxor1d(series[0], other)
            where = f"step {odd[0]} is in one only" if odd.size else "they stand in another order"
            raise ExpressionError(
                f"series of {len(series[0])} and {len(other)} steps in one formula; {where}"
            )
    return series[0] if series else None
