"""Formulas over logged quantities: what they give, and what they refuse."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reproaudit.logs.logged import Curve
from reproaudit.logs.mapping import ExpressionError, evaluate

STEPS = np.array([0, 5, 9])
LOGGED = {
    "a": np.array([1.0, 2.0, 4.0]),
    "b": np.array([3.0, 5.0, 0.5]),
    "t": np.array([8.0, 4.0, 2.0]),
}


def value(text: str) -> Curve:
    return evaluate(text, lambda name: Curve("", STEPS, LOGGED[name]))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a + 2 * b", [7, 12, 5]),
        ("-a ** 2", [-1, -4, -16]),
        ("(t / 2) ** 0.5", [2, 2**0.5, 1]),
        ("a / first(a)", [1, 2, 4]),
        ("a - mean(a)", [1 - 7 / 3, 2 - 7 / 3, 4 - 7 / 3]),
        ("last(a)", 4),
        ("1 + 2", 3),
    ],
)
def test_what_formulas_give(text: str, expected: Any) -> None:
    found = value(text)
    assert (found.steps is None) == isinstance(expected, int)
    assert found.values == pytest.approx(expected)


formulas = st.recursive(
    st.sampled_from(["a", "b", "t", "2", "0.5"]),
    lambda below: st.one_of(
        st.tuples(below, st.sampled_from("+-*"), below).map(lambda p: f"({' '.join(p)})"),
        below.map(lambda one: f"-{one}"),
    ),
    max_leaves=12,
)


@given(formulas)
def test_formulas_mean_what_python_means(text: str) -> None:
    assert np.allclose(value(text).values, eval(text, {}, dict(LOGGED)))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("__import__('os').system('true')", "Call"),
        ("a.__class__", "Attribute"),
        ("open('x')", "the function 'open'"),
        ("a[0]", "Subscript"),
        ("lambda: 1", "Lambda"),
        ("a == b", "Compare"),
        ("a @ b", "MatMult"),
        ("'text'", "Constant"),
        ("True", "Constant"),
        ("f'{a}'", "JoinedStr"),
        ("1e999", "below 1e308"),
        ("9" * 900, "below 1e308"),
        ("last(*a)", "Starred"),
        ("last(a=b)", "of one series"),
        ("last()", "of one series"),
        ("a +", "no formula"),
        ("", "no formula"),
        ("\0", "no formula"),
        ("a; b", "no formula"),
        ("(" * 400 + ")" * 400, "no formula"),
        ("+".join("a" * 500), "more than"),
        ("\uff41 + 1", "the character '\uff41', which Python would read as another"),
    ],
)
def test_everything_else_is_refused(text: str, said: str) -> None:
    with pytest.raises(ExpressionError) as refused:
        value(text)
    assert said in str(refused.value)


@given(st.text(max_size=60))
def test_any_text_is_computed_or_refused(text: str) -> None:
    with contextlib.suppress(ExpressionError, KeyError):  # refused, or not logged
        value(text)


def test_series_with_other_steps_are_refused() -> None:
    def other(tag: str) -> Curve:
        return Curve("", STEPS if tag == "a" else np.array([0, 5, 10]), np.ones(3))

    with pytest.raises(ExpressionError, match="step 9 is in one only"):
        evaluate("a + b", other)
