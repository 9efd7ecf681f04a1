"""What public replications claim: written as an audit, and judged from numbers like theirs.

The numbers are made here, after the means and deviations that the replications print.
"""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

import numpy as np
import pytest

from factories import answers_of, make_audit, make_record
from miniatures import claim, setting
from reproaudit.cell import Cell
from reproaudit.formats.verdict import ClaimAnswer, Outcome, ReasonKind
from reproaudit.records import Measurements, Origin

SUPPORTED, NOT_SUPPORTED = Outcome.SUPPORTED, Outcome.NOT_SUPPORTED
UNDECIDED, PARTLY = Outcome.UNDECIDED, Outcome.PARTLY_SUPPORTED
PAPER = {"from": "paper"}
ELSEWHERE = Origin(who="A", source="B", framework="C", made=date(2026, 1, 2))
NO_CONTROL = {"nulls": [], "no_control": "None was published."}


def answer(
    axes: Mapping[str, Sequence[Any]],
    arms: Mapping[str, Mapping[str, Any]],
    headline: Sequence[dict[str, Any]],
    **changes: Any,
) -> ClaimAnswer:
    """The answer to a claim.

    Args:
        axes: the coordinates by axis of every measurement.
        arms: for `own` and each other arm, the measurements with an array a seed, first by seed.
        headline: the claim's checks.
        changes: other fields of the claim.
    """
    others = [name for name in arms if name != "own"]
    measured = {
        name: {
            "kind": "array" if axes else "scalar",
            "axes": [{"name": axis, "values": [*at]} for axis, at in axes.items()],
            "unit": "1",
            "meaning": "What the table prints.",
        }
        for name in arms["own"]
    }
    field = {"nulls": others} if others else NO_CONTROL
    stated = {"headline": [*headline], "constructed": None, **field, **changes}
    audit = make_audit(
        claims=[claim("mini", "one", main=True, experiment="table", **stated)],
        settings={"method": setting("own")},
        arms={name: {"settings": {"method": name}, "why": "The other row."} for name in others},
        experiments={"table": {"title": "A table", "measurements": measured}},
    )
    records = []
    for arm, columns in arms.items():
        rows = {name: np.asarray(values, dtype=float) for name, values in columns.items()}
        for seed in range(len(next(iter(rows.values())))):
            values = audit.values_of("table", "paper", {"method": arm})
            found = {name: of_all[seed] for name, of_all in rows.items()}
            made = Measurements(arrays=found) if axes else Measurements(scalars=found)
            partial: dict[str, Any] = {}
            for name in [name for name, one in found.items() if np.isnan(one).any()]:
                ((axis, places),) = axes.items()
                there = ~np.isnan(found[name])
                made = made.model_copy(update={"arrays": {**made.arrays, name: found[name][there]}})
                observed = {axis: tuple(np.array(places)[there].tolist())}
                partial |= {"origin": ELSEWHERE, "coordinates": {name: observed}}
            cell = Cell("mini", "paper", "table", values, seed)
            records.append(make_record(cell, made, **partial))
    return answers_of(audit, records)["one"]


def runs_of(*means: float, deviation: float = 0.0, runs: int = 10) -> np.ndarray:
    """Runs by row, about the means of a table's row, with exactly its means."""
    noise = np.random.default_rng(1).normal(size=(runs, len(means)))
    noise -= noise.mean(axis=0)
    return np.asarray(means) + deviation * noise


DATASETS = {"dataset": ("IMDB", "REDDIT")}
ABOVE_VANILLA = {"kind": "beats", "lower": {"measurement": "accuracy", "arm": "vanilla"},
                 "upper": "accuracy", **PAPER}  # fmt: skip


@pytest.mark.parametrize(
    ("own", "headline", "changes", "outcome"),
    [
        # the method is above the baseline on every data set, or on one of two
        ((75.0, 90.0), ABOVE_VANILLA, {}, SUPPORTED),
        ((71.0, 90.0), ABOVE_VANILLA, {}, NOT_SUPPORTED),
        ((71.0, 90.0), ABOVE_VANILLA,
         {"grade": {"axis": "dataset", "symbol": "D", "easiest_first": ["REDDIT", "IMDB"],
                    "primary": ["REDDIT", "IMDB"]}}, PARTLY),
        # a reported number, mean ± deviation
        ((75.0, 90.0), {"kind": "equals", "value": "accuracy[REDDIT]", "to": 89.8, "within": 1.7,
                        **PAPER}, {}, SUPPORTED),
        ((75.0, 84.8), {"kind": "equals", "value": "accuracy[REDDIT]", "to": 89.8, "within": 1.7,
                        **PAPER}, {}, NOT_SUPPORTED),
        # by points, on a par, and the average over data sets
        ((75.0, 90.0), {"kind": "reaches", "value": "accuracy[REDDIT]", "at_least": 2.5, **PAPER,
                        "grown_from": {"measurement": "accuracy", "at": {"dataset": "REDDIT"},
                                       "arm": "vanilla"}}, {}, SUPPORTED),
        ((72.8, 87.0), {"kind": "equals", "value": "accuracy[IMDB]", "within": 1.0, **PAPER,
                        "to": {"measurement": "accuracy", "coordinates": ["IMDB"],
                               "arm": "vanilla"}},
         NO_CONTROL, SUPPORTED),
        ((71.0, 91.0), {"kind": "beats", **PAPER,
                        "lower": {"measurement": "accuracy", "over": {"dataset": "mean"},
                                  "arm": "vanilla"},
                        "upper": {"measurement": "accuracy", "over": {"dataset": "mean"}}},
         {}, SUPPORTED),
    ],
)  # fmt: skip
def test_a_method_against_its_baseline(own, headline, changes, outcome):
    arms = {
        "own": {"accuracy": runs_of(*own, deviation=0.2)},
        "vanilla": {"accuracy": runs_of(73.0, 86.0, deviation=0.2)},
    }
    assert answer(DATASETS, arms, [headline], **changes).outcome is outcome


@pytest.mark.parametrize(
    ("error", "baseline", "outcome"),
    [
        ((0.0, 0.02), (0.77, 0.41), SUPPORTED),  # exactly 0 is the smaller one
        ((0.42, 0.02), (0.0, 0.41), PARTLY),
        ((0.0, 0.02), (0.0, 0.41), PARTLY),  # a tie is no smaller
        ((0.0, 0.02), (np.nan, 0.41), UNDECIDED),  # a baseline that nobody measured there
    ],
)
def test_each_data_set_says_for_itself_whether_an_error_is_smaller(error, baseline, outcome):
    arms = {"own": {"error": runs_of(*error), "baseline": runs_of(*baseline)}}
    grade = {"axis": "dataset", "symbol": "D", "easiest_first": ["REDDIT", "IMDB"],
             "primary": ["REDDIT", "IMDB"]}  # fmt: skip
    smaller = {"kind": "beats", "lower": "error", "upper": "baseline", **PAPER}
    found = answer(DATASETS, arms, [smaller], grade=grade)
    assert found.outcome is outcome
    assert found.grades[0].answer == "yes"
    missing = [reason.what for reason in found.reasons if reason.kind is ReasonKind.VOID_RUNS]
    assert missing == (["baseline"] if np.isnan(baseline).any() else [])


WIDTHS = np.array([32.0, 64, 128, 256, 512, 1024])


@pytest.mark.parametrize("standard", ["typical", "mean"])
@pytest.mark.parametrize(
    ("law", "supported"),
    [
        (0.6 * WIDTHS**-0.12, True),  # a weak trend
        (np.where(WIDTHS == 32, 0.35, 0.1), False),  # the smallest width fails, and that is all
        (np.where(WIDTHS == 1024, 0.05, 0.1), False),
    ],
)
def test_a_trend_is_that_of_all_sizes(law, supported, standard):
    """The control rises in every run; where noise hides that in some, it still cannot pass."""
    rng = np.random.default_rng(5)
    own, control = (
        course * np.exp(size * rng.normal(size=(10, len(WIDTHS))))
        for course, size in ((law, 0.05), (WIDTHS**0.03, 0.04))
    )
    falls = {"kind": "scales_like", "value": "error", "axis": "width", "standard": standard,
             "exponent": {"below": 0.0, **PAPER}, **PAPER}  # fmt: skip
    arms = {"own": {"error": own}, "frozen": {"error": control}}
    found = answer({"width": WIDTHS.tolist()}, arms, [falls])
    assert (found.outcome is SUPPORTED) is supported
    assert [one.verdict for one in found.controls] == ["fails"]
