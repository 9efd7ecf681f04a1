"""The picture of a rule: its examples lie where their labels say."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reproaudit.desk.bound_picture import BoundPicture, draw_bound

FINITE = st.floats(-1e6, 1e6, allow_nan=False)
RANGES = st.one_of(
    FINITE.map(lambda one: (one, math.inf)),
    FINITE.map(lambda one: (-math.inf, one)),
    st.tuples(FINITE, st.floats(1e-3, 1e6)).map(lambda pair: (pair[0], pair[0] + pair[1])),
)


def said_by_the_drawing(picture: BoundPicture, *, single_runs: bool) -> list[str]:
    """What each example shows, read off its coordinates alone."""
    low, high = picture.accepted
    found = []
    for one in picture.examples:
        if single_runs:
            found.append("met" if all(low <= x <= high for x in one.dots) else "missed")
            continue
        assert one.whisker is not None
        a, b = one.whisker
        inside, outside = low <= a and b <= high, b < low or high < a
        found.append("met" if inside else "missed" if outside else "undecided")
    return found


@given(accepted=RANGES, single_runs=st.booleans())
def test_every_example_shows_what_its_label_says(
    accepted: tuple[float, float], single_runs: bool
) -> None:
    picture = draw_bound(accepted, single_runs=single_runs)
    labels = [one.label for one in picture.examples]
    assert labels == (["met", "missed"] if single_runs else ["met", "undecided", "missed"])
    assert said_by_the_drawing(picture, single_runs=single_runs) == labels
    assert len(picture.bounds) == sum(math.isfinite(one) for one in accepted)
    every = [x for one in picture.examples for x in (*one.dots, *(one.whisker or ()))]
    assert picture.left <= min(every)
    assert max(every) <= picture.right


@pytest.mark.parametrize(
    ("accepted", "side"),
    [((19.0, math.inf), "at least 19"), ((-math.inf, 0.1), "at most 0.1"), ((1, 2), "between 1")],
)
def test_the_words_name_the_bound(accepted: tuple[float, float], side: str) -> None:
    assert (
        f"the whole interval over the runs is {side}"
        in draw_bound(accepted, single_runs=False).description
    )
    assert draw_bound(accepted, single_runs=True).description.startswith(
        f"Met if every run is {side}"
    )
