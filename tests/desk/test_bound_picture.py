"""The picture of a rule: its examples lie where their labels say."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reproaudit.audit.catalog import Catalog
from reproaudit.desk.bound_picture import BoundPicture, draw_bound
from reproaudit.desk.rule_words import CheckView, check_view

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


# --- the words of a check ---------------------------------------------------------------------


def views_of(slug: str) -> list[tuple[str, CheckView]]:
    audit = Catalog()[slug].audit()
    return [
        (check.kind, check_view(audit, claim, check))
        for claim in audit.claims
        for check in claim.checks
    ]


def test_that_both_changes_come_is_asked_of_every_seed_without_an_interval() -> None:
    """The defect: it was told, and drawn, as a mean whose interval lies at 1 or above."""
    found = [view for kind, view in views_of("yang2025") if kind == "ordered_onsets"]
    assert found
    for view in found:
        come, (order, _), _ = view.rules
        assert come == ("Both changes come, on every single seed.", None)
        assert "least favourable reading" in order


@pytest.mark.parametrize("slug", list(Catalog().entries))
def test_what_is_counted_is_neither_told_nor_drawn_with_an_interval(slug: str) -> None:
    audit = Catalog()[slug].audit()
    for claim in audit.claims:
        for check in claim.checks:
            view = check_view(audit, claim, check)
            for condition, (said, drawn) in zip(check.conditions(), view.rules, strict=True):
                assert condition.counted == ("on every single seed" in said)
                assert condition.counted == ("interval" not in said)
                whiskers = [] if drawn is None else [one.whisker for one in drawn.examples]
                assert not condition.counted or not any(whiskers)
