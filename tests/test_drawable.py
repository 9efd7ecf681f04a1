"""Of a scorecard with a fitting digest and any content: it is drawn, or refused with its place."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factories import make_scorecard
from reproaudit.errors import StoreError
from reproaudit.reports.chart import figure_chart, picture_chart
from reproaudit.reports.files import as_read, read_scorecard
from reproaudit.reports.heat_map import heat_maps, scale_words
from reproaudit.reports.picture_data import pictures_csv
from reproaudit.scorecard.model import content_digest

Steps = tuple[str | int, ...]
ODD = (None, "word", "", -1, 0, 1e300, -1e-300, [], [[]], {}, True)


@cache
def whole() -> str:
    return json.dumps(make_scorecard().as_data())


def nodes(data: Any, at: Steps) -> Iterator[Steps]:
    """Every place below a place."""
    yield at
    below: Any = data.items() if isinstance(data, dict) else ()
    if isinstance(data, list):
        below = enumerate(data)
    for step, one in below:
        yield from nodes(one, (*at, step))


@cache
def places() -> list[Steps]:
    data = json.loads(whole())
    found = [
        place
        for i, claim in enumerate(data["claims"])
        for place in nodes(claim["pictures"], ("claims", i, "pictures"))
    ]
    return [*found, *nodes(data["figures"], ("figures",))]


def change(data: Any, at: Steps, how: str, value: object) -> None:
    for step in at[:-1]:
        data = data[step]
    if how == "put":
        data[at[-1]] = value
    elif isinstance(data, list):
        data[at[-1] : at[-1] + 1] = [data[at[-1]]] * 2 if how == "repeat" else []


def read(data: Any, folder: Path) -> str:
    """What is said of a scorecard that cannot be drawn; nothing if it was drawn."""
    file = folder / "scorecard.json"
    file.write_text(json.dumps({**data, "digest": content_digest(data)}))
    try:
        card = read_scorecard(file)
    except StoreError as error:
        return str(error)
    for picture in (one for claim in as_read(card).claims for one in claim.pictures):
        picture_chart(picture)
    for one in card.figures:
        figure_chart(one)
        heat_maps(one)
        scale_words(one)
    pictures_csv(card)
    return ""


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_a_scorecard_is_drawn_or_refused(tmp_path_factory: Any, data: st.DataObject) -> None:
    card = json.loads(whole())
    at = data.draw(st.sampled_from(places()))
    how = data.draw(st.sampled_from(("put", "repeat", "drop")))
    change(card, at, how, data.draw(st.sampled_from(ODD)))
    said = read(card, tmp_path_factory.mktemp("card"))
    assert len(said) < 500
    assert "\n" not in said


@pytest.mark.parametrize(
    ("at", "value", "says"),
    [
        (("lines", 0, "runs"), [[1.0]], "found 1 runs of 5 seeds"),
        (("lines", 0, "x"), [0], "found runs that do not fit the 1 places of their line"),
        (("lines", 0, "x", 0), "word", "found words on an axis of numbers"),
        (("lines", 0, "quantity"), -9, "found a negative number of a quantity"),
        (("lines",), [], "found no line of the claim's own runs"),
        (("lines", 0, "runs", 0, 0), 10**400, "is no finite number"),
    ],
)
def test_what_does_not_fit_is_named(tmp_path: Path, at: Steps, value: Any, says: str) -> None:
    card = json.loads(whole())
    i = next(i for i, one in enumerate(card["claims"]) if one["pictures"])
    change(card, ("claims", i, "pictures", 0, *at), "put", value)
    assert says in read(card, tmp_path)
