"""Rules that span values: their table, their ids, and how settings are compared.

What each finds is in tests/golden/faults.yaml, held by test_loading.
"""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reproaudit.audit.faults import REMEDIES, WARNINGS, shown
from reproaudit.cell import fits, kind_of, same


def test_rules_are_complete_and_permanent():
    assert REMEDIES.keys() >= WARNINGS
    for rule, remedy in REMEDIES.items():
        assert re.fullmatch(r"RA[012]\d\d", rule)
        assert remedy.endswith(".")
    assert list(REMEDIES) == sorted(REMEDIES)


# --- values ---------------------------------------------------------------------------------------


VALUES = st.recursive(
    st.booleans() | st.integers(-3, 3) | st.sampled_from([0.0, 1.0, 0.5]) | st.sampled_from("ab"),
    lambda inner: st.lists(inner, max_size=2).map(tuple),
    max_leaves=3,
)


@given(VALUES, VALUES)
def test_sameness_is_symmetric_and_knows_truth_from_one(a, b):
    assert same(a, a)  # type: ignore[arg-type]
    assert same(a, b) == same(b, a)  # type: ignore[arg-type]
    if isinstance(a, bool) != isinstance(b, bool):
        assert not same(a, b)  # type: ignore[arg-type]
    if same(a, b):  # type: ignore[arg-type]
        assert a == b


def test_sameness_of_numbers_and_lists():
    assert same(1, 1.0)
    assert not same(True, 1)
    assert not same((True,), (1,))
    assert not same((1, 2), (1,))


@pytest.mark.parametrize(
    ("value", "model", "expected"),
    [
        (1, 0.5, True),  # a whole number where a decimal stands
        (0.5, 1, False),
        (True, 1, False),
        (1, True, False),
        ((1, 2), (3,), True),
        ((1.5,), (3,), False),
        ((3,), 1, False),
        ((), (1,), True),
    ],
)
def test_what_can_stand_for_what(value, model, expected):
    assert fits(value, model) == expected  # type: ignore[arg-type]


def test_values_are_shown_as_they_are_written():
    assert shown((True, 1, 0.5, "a")) == "[true, 1, 0.5, 'a']"
    assert [kind_of(v) for v in (True, 1, 0.5, "a", ())] == [
        "true or false", "a whole number", "a number", "text", "a list"]  # fmt: skip
