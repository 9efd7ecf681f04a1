"""Every experiment of the four papers in the plain form gives the numbers of the fast form.

Both run the smoke tier on the same seed. chen2024, wang2024 and yang2025 draw the same data in both
forms. ahn2023's fast form draws the second moments of a minibatch's inputs and not the inputs, so
here it is given the whole prompts of the plain form; with streams of their own the two would train
on different draws. In double precision only rounding is left.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from reproaudit.audit.catalog import Catalog
from reproaudit.audit.plan import Batch, plan
from reproaudit.lab import Measurements
from reproaudit.lab.settings import build_settings
from reproaudit.papers.ahn2023.fast import Minibatch
from reproaudit.papers.ahn2023.task import Prompts
from reproaudit.papers.ahn2023.training import RunTask
from reproaudit.run.modules import load_experiments
from sessions import MemorySession

pytestmark = pytest.mark.usefixtures("coarse_law", "one_thread")

CATALOG = Catalog()
TOLERANCE = {"ahn2023": 1e-7, "chen2024": 1e-7, "wang2024": 1e-7, "yang2025": 1e-9}
"""In double precision, as a share of a measurement's largest value; yang2025 has no other."""

SINGLE = 1e-3
"""In single precision, where the settings have one: a ten-thousand roundings."""


def batches(slug: str) -> list[Batch]:
    """Every experiment and control of a paper's smoke tier."""
    found = {(b.experiment, b.overrides): b for _, b in plan(CATALOG[slug].audit(), "smoke")}
    return list(found.values())


EVERY = [
    pytest.param(
        slug,
        batch,
        id="-".join([slug, batch.experiment, *map(str, batch.overrides)]),
        marks=[pytest.mark.slow] if batch.overrides else [],  # controls
    )
    for slug in TOLERANCE
    for batch in batches(slug)
]


def both(slug: str, batch: Batch, **changed: Any) -> tuple[Measurements, Measurements]:
    entry = CATALOG[slug]
    experiment = load_experiments(entry.module)[batch.experiment]
    values = {**batch.settings(entry.audit()), **changed}
    settings = build_settings(experiment.settings, values)
    assert experiment.has_plain_form
    fast, plain = (
        experiment.measure(settings, MemorySession(2, form=form)) for form in ("fast", "plain")
    )
    return fast, plain


def numbers(measured: Measurements) -> dict[str, Any]:
    """Every number that was measured, by name; of a series the steps, too."""
    found: dict[str, Any] = {name: np.array(scalar) for name, scalar in measured.scalars.items()}
    for name, series in measured.series.items():
        found |= {name: series.values, f"steps of {name}": np.array(series.steps)}
    return {**found, **measured.arrays}


def close(one: Measurements, other: Measurements, *, rtol: float, atol: float = 1e-12) -> None:
    """Asserts that all numbers agree, each within a share of its measurement's largest value."""
    first, second = numbers(one), numbers(other)
    assert first.keys() == second.keys()
    for name, values in first.items():
        expected = second[name]
        assert values.shape == expected.shape, name
        largest = float(np.abs(expected).max(initial=0.0))
        apart = float(np.abs(values - expected).max(initial=0.0))
        assert apart <= rtol * largest + atol, f"{name}: {apart:.3g} apart, of up to {largest:.3g}"


@pytest.fixture
def _prompts_of_the_plain_form(monkeypatch: pytest.MonkeyPatch) -> None:
    own = RunTask.minibatch

    def same(task: RunTask, index: int) -> Minibatch | Prompts:
        drawn = own(replace(task, form="plain"), index)
        assert isinstance(drawn, Prompts)
        return task.for_form(drawn)

    monkeypatch.setattr(RunTask, "minibatch", same)


@pytest.mark.usefixtures("_prompts_of_the_plain_form")
@pytest.mark.parametrize(("slug", "batch"), EVERY)
def test_in_double_precision_the_plain_form_differs_by_rounding(slug, batch):
    entry = CATALOG[slug]
    has_precision = "precision" in entry.audit().settings_of(batch.experiment)
    fast, plain = both(slug, batch, **({"precision": "float64"} if has_precision else {}))
    close(plain, fast, rtol=TOLERANCE[slug])


@pytest.mark.usefixtures("_prompts_of_the_plain_form")
@pytest.mark.parametrize("slug", ["ahn2023", "chen2024", "wang2024"])
def test_in_single_precision_the_plain_form_is_near(slug):
    for batch in batches(slug):
        if not batch.overrides:
            fast, plain = both(slug, batch)
            # A loss that hardly moves moved by the difference of two numbers alike to seven digits.
            close(plain, fast, rtol=SINGLE, atol=1e-6)


def test_ahn2023_trains_on_other_draws_of_the_same_law_and_is_tested_on_the_same():
    batch = next(one for one in batches("ahn2023") if one.experiment == "sparse")
    fast, plain = both("ahn2023", batch)
    losses = fast.series["loss"].values, plain.series["loss"].values
    assert losses[1][0] == pytest.approx(losses[0][0], rel=1e-6)  # untrained, on the test prompts
    assert losses[1][-1] != pytest.approx(losses[0][-1], rel=1e-6)
    built = next(b for b in batches("ahn2023") if dict(b.overrides) == {"weights": "constructed"})
    fast, plain = both("ahn2023", built)
    close_to = plain.series["loss"].values[-1]
    assert close_to == pytest.approx(fast.series["loss"].values[-1], rel=1e-5)
