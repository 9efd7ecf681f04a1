"""What a page calls a quantity."""

import pytest

from reproaudit.checks.shown import Names, read_noun
from reproaudit.declarations import Quantity


@pytest.mark.parametrize(
    ("axis", "coordinates", "noun"),
    [
        ("size", (2, 3), "score (without size 2, 3)"),
        ("method", ("ours", "ridge"), "score (without ours, ridge)"),
    ],
)
def test_a_number_that_is_left_out_has_its_axis(axis, coordinates, noun):
    quantity = Quantity(measurement="score", without={axis: coordinates})
    assert read_noun(quantity, Names(noun=str, arm=str, step=str, coordinate=str)) == noun
