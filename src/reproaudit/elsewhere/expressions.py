"""Formulas over logged quantities: a closed grammar, read by Python's parser and never executed.

Numbers, + - * / **, names and ``tag("…")`` of logged quantities, ``setting("…")`` of the audit's
settings, and the functions below. ``over`` names the axis that is summed up, or "step".
"""

from __future__ import annotations

import ast
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reproaudit.checks.measurements import Coordinate
from reproaudit.errors import did_you_mean

MAX_NODES = 400
MAX_LOOKUPS = 100_000

_Array = NDArray[np.float64]

ELEMENTWISE: dict[str, Callable[[_Array], _Array]] = {
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": np.log1p,
    "exp": np.exp,
    "sqrt": np.sqrt,
    "abs": np.abs,
}
"""Functions of one quantity, number by number."""
REDUCING: dict[str, Callable[[_Array], _Array]] = {
    "mean": lambda stacked: stacked.mean(axis=0),
    "sum": lambda stacked: stacked.sum(axis=0),
    "min": lambda stacked: stacked.min(axis=0),
    "max": lambda stacked: stacked.max(axis=0),
}
"""Functions that sum an axis up: ``mean(x, over="layer")``."""
PICKING = {"first": 0, "last": -1}
"""Functions that take one number out of a series."""
FUNCTIONS = (*ELEMENTWISE, *REDUCING, *PICKING, "tag", "setting")
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


Coordinates = Mapping[str, Coordinate]
"""Axis -> coordinate."""
_Lookup = Callable[[str, Coordinates], ExpressionValue]
"""From a tag and coordinates to its value."""


def parse_expression(text: str) -> ast.expr:
    """The formula as a syntax tree of allowed nodes only.

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
    name, count = node.func.id, len(node.args)
    over = [one for one in node.keywords if one.arg == "over"]
    if len(over) != len(node.keywords) or any(not _is_text(one.value) for one in over):
        raise ExpressionError(f'an argument of {name}; the only named one is over="axis"')
    if name in ("tag", "setting"):
        if count != 1 or over or not _is_text(node.args[0]):
            raise ExpressionError(f'{name} without a name; write {name}("name")')
        return
    several = name in ("min", "max") and not over and count >= 2
    if not several and count != 1:
        raise ExpressionError(f"{count} arguments of {name}; it takes one")
    if bool(over) != (name in REDUCING and not several):
        raise ExpressionError(
            f'{name} without an axis; write {name}(…, over="step")'
            if name in REDUCING
            else f"'over' in {name}, which sums nothing up"
        )
    for one in node.args:
        _check(one)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


class Evaluator:
    """Computes formulas.

    Args:
        lookup: finds logged quantities.
        names: short names of tags.
        settings: the run's settings.
        axes: the coordinates of every axis that may be summed up.
    """

    def __init__(
        self,
        lookup: _Lookup,
        names: Mapping[str, str],
        settings: Mapping[str, Any],
        axes: Mapping[str, Sequence[Coordinate]],
    ) -> None:
        self._lookup, self._names, self._settings, self._axes = lookup, names, settings, axes
        self._lookups = 0

    def value(self, node: ast.expr, at: Coordinates) -> ExpressionValue:
        """The value of a checked formula at these coordinates.

        Raises:
            ExpressionError: if steps differ, an axis is unknown, or too much is looked up.
        """
        with np.errstate(all="ignore"):
            return self._value(node, at)

    def _value(self, node: ast.expr, at: Coordinates) -> ExpressionValue:
        if isinstance(node, ast.Constant):
            return ExpressionValue(None, np.array(node.value, dtype=np.float64))
        if isinstance(node, ast.Name):
            return self._tag(self._names.get(node.id, node.id), at)
        if isinstance(node, ast.UnaryOp):
            one = self._value(node.operand, at)
            return ExpressionValue(
                one.steps, -one.values if isinstance(node.op, ast.USub) else one.values
            )
        if isinstance(node, ast.BinOp):
            both = [self._value(node.left, at), self._value(node.right, at)]
            return _joined(both, _OPERATORS[type(node.op)])
        assert isinstance(node, ast.Call), "a checked formula holds nothing else"
        return self._call(node, at)

    def _call(self, node: ast.Call, at: Coordinates) -> ExpressionValue:
        assert isinstance(node.func, ast.Name), "a checked formula calls by name"
        name, inner = node.func.id, node.args[0]
        if name in ("tag", "setting"):
            written = str(inner.value) if isinstance(inner, ast.Constant) else ""
            return self._tag(written, at) if name == "tag" else self._setting(written)
        if name in ELEMENTWISE:
            one = self._value(inner, at)
            return ExpressionValue(one.steps, ELEMENTWISE[name](one.values))
        if name in PICKING:
            one = self._value(inner, at)
            return ExpressionValue(
                None, one.values if one.steps is None else one.values[PICKING[name]]
            )
        if not node.keywords:
            both = [self._value(one, at) for one in node.args]
            joined = both[0]
            for other in both[1:]:
                joined = _joined([joined, other], np.minimum if name == "min" else np.maximum)
            return joined
        over = node.keywords[0].value
        axis = str(over.value) if isinstance(over, ast.Constant) else ""
        return self._reduced(name, inner, axis, at)

    def _reduced(self, name: str, inner: ast.expr, axis: str, at: Coordinates) -> ExpressionValue:
        if axis == "step":
            one = self._value(inner, at)
            return ExpressionValue(None, np.asarray(REDUCING[name](np.atleast_1d(one.values))))
        if axis not in self._axes:
            known = [*self._axes, "step"]
            raise ExpressionError(f'over="{axis}", an unknown axis. {did_you_mean(axis, known)}')
        every = [self._value(inner, {**at, axis: one}) for one in self._axes[axis]]
        if not every:
            raise ExpressionError(f'over="{axis}", an axis without coordinates')
        steps = _shared(every)
        return ExpressionValue(
            steps, REDUCING[name](np.stack(np.broadcast_arrays(*(v.values for v in every))))
        )

    def _tag(self, tag: str, at: Coordinates) -> ExpressionValue:
        self._lookups += 1
        if self._lookups > MAX_LOOKUPS:
            raise ExpressionError(f"a formula that looks up more than {MAX_LOOKUPS} quantities")
        return self._lookup(tag, at)

    def _setting(self, name: str) -> ExpressionValue:
        found = self._settings.get(name)
        if isinstance(found, bool) or not isinstance(found, int | float):
            hint = did_you_mean(name, self._settings)
            raise ExpressionError(f'setting("{name}"), which is no number of the audit. {hint}')
        return ExpressionValue(None, np.array(found, dtype=np.float64))


def _joined(
    both: Sequence[ExpressionValue], operation: Callable[[_Array, _Array], _Array]
) -> ExpressionValue:
    return ExpressionValue(_shared(both), operation(both[0].values, both[1].values))


def _shared(several: Sequence[ExpressionValue]) -> NDArray[np.int64] | None:
    """The steps that all series have.

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
