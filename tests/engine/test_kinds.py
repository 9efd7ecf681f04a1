"""Each kind against shapes without its phenomenon, and with it."""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from benchmarks.calibrate import (
    CHECKS,
    HIDDEN,
    NULLS,
    NUMBER_NULLS,
    NUMBER_TRUE,
    PAGE,
    PLANTED_NULLS,
    PLANTED_TRUE,
    STEPS_SEEN,
    TRUE,
    Planted,
    Shape,
)

from reproaudit.checks import KINDS as NAMED
from reproaudit.checks import NUMBERS

DRAWS = 100
NUMBER_DRAWS = 30
PLANTED_DRAWS = 10
CLASSES = tuple(NAMED.values())
KINDS = sorted(NAMED)
ANSWERS = Path(__file__).parents[2] / "docs" / "answers.md"


@pytest.mark.parametrize("shape", NULLS, ids=lambda shape: f"{shape.kind}: {shape.name}")
def test_where_the_claim_is_untrue_few_runs_say_yes(shape):
    assert shape.rate(DRAWS) <= 0.08  # at most 5 % over the page's draws


@pytest.mark.parametrize("shape", TRUE, ids=lambda shape: f"{shape.kind}: {shape.name}")
def test_where_the_claim_is_true_most_runs_say_yes(shape):
    assert shape.rate(DRAWS) >= 0.9


def planted(shapes: tuple[Planted, ...]) -> pytest.MarkDecorator:
    """Each shape, observed in each way."""
    return pytest.mark.parametrize(
        ("shape", "seen"),
        [
            pytest.param(shape, seen, id=f"{shape.kind}: {shape.name}, {seen}")
            for shape in shapes
            for seen in STEPS_SEEN
        ],
    )


@planted(NUMBER_NULLS)
def test_a_look_alike_of_a_number_fools_no_kind(shape, seen):
    assert max(shape.met(seen, NUMBER_DRAWS)) <= 0.05


@planted(NUMBER_TRUE)
def test_a_number_that_is_reached_is_seen(shape, seen):
    assert min(shape.met(seen, NUMBER_DRAWS)) >= 0.9


@planted(PLANTED_NULLS)
def test_a_planted_look_alike_fools_no_kind(shape, seen):
    assert max(shape.met(seen, PLANTED_DRAWS)) <= 0.05


@planted(PLANTED_TRUE)
def test_a_planted_phenomenon_is_seen(shape, seen):
    assert min(shape.met(seen, PLANTED_DRAWS)) >= 0.7  # at least 90 % over the page's draws


@planted(HIDDEN)
def test_what_noise_hides_is_no_no(shape, seen):
    assert shape.no(seen, PLANTED_DRAWS) <= 0.15  # at most 10 % over the page's draws


def test_every_kind_has_three_nulls_and_a_phenomenon():
    nulls, true = (Counter(shape.kind for shape in shapes) for shapes in (NULLS, TRUE))
    assert sorted(CHECKS) == sorted(true) == KINDS
    assert min(nulls[kind] for kind in KINDS) >= 3


@pytest.mark.parametrize(
    ("said", "kinds"),
    [
        ("means", ["scales_like"]),
        ("whole_course", ["converges", "follows", "grows_like", "stages"]),
        ("single_course", ["grows_like", "stages"]),
        ("common_part", ["follows"]),
        ("by_coordinate", [kind for kind in KINDS if kind != "separates"]),
    ],
)
def test_a_kind_says_how_it_reads(said, kinds):
    assert sorted(name for name, of_kind in NAMED.items() if getattr(of_kind, said)) == kinds


@pytest.mark.parametrize(
    ("said", "names"),
    [
        ("drawn", ["aligns", "concentrates", "end", "ends", "reaches", "start"]),
        ("contrast", ["beats", "difference", "law", "order", "wait"]),
    ],
)
def test_a_number_says_whether_a_figure_draws_its_bound_and_a_control_has_less(said, names):
    assert sorted(name for name, number in NUMBERS.items() if getattr(number, said)) == names


def test_every_kind_has_a_row_in_the_manual():
    rows = ANSWERS.read_text(encoding="utf-8").partition("| kind |")[2].partition("\n\n")[0]
    assert re.findall(r"^\| `(\w+)` \|", rows, re.MULTILINE) == KINDS


def test_no_two_numbers_have_one_name():
    names = [number.name for kind in CLASSES for number in kind.made]
    assert sorted(names) == sorted(NUMBERS)


def test_the_page_shows_rates_within_the_bounds():
    calibrated = PAGE.read_text(encoding="utf-8").partition("<!-- planted worlds -->")[0]
    tables = calibrated.split("| kind |")[1:]
    held: list[tuple[Sequence[Shape | Planted], float, float]] = [
        (NULLS, 0, 5),
        (TRUE, 90, 100),
        ((*PLANTED_NULLS, *NUMBER_NULLS), 0, 5),
        ((*PLANTED_TRUE, *NUMBER_TRUE), 90, 100),
        (HIDDEN, 0, 10),
    ]
    for table, (shapes, least, most) in zip(tables, held, strict=True):
        rows = re.findall(r"^\| `(.*)\|$", table, re.MULTILINE)
        assert [row.split(" | ")[1] for row in rows] == [shape.name for shape in shapes]
        rates = [float(rate) for row in rows for rate in re.findall(r"([\d.]+)%", row)]
        assert least <= min(rates) <= max(rates) <= most
