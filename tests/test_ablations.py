"""Stock controls: they train, they move, and they lack what they say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import reproaudit as ra
from miniatures import control, setting, write_paper
from reproaudit.lab import ablated_data, another_seed
from reproaudit.running.store import Store

MODULE = '''
from dataclasses import dataclass

import numpy as np

from reproaudit.lab import Ablation, Experiment, Measurements, ablated_data, generator, train


@dataclass(frozen=True)
class Settings:
    ablation: Ablation
    steps: int


def draw(seed):
    """Inputs, and targets by a rule that each seed draws for itself."""
    rng = generator(seed, "data")
    rule, inputs = rng.normal(size=4), rng.normal(size=(64, 4))
    return inputs, inputs @ rule


def measure_seed(settings, session, seed):
    inputs, targets = ablated_data(settings.ablation, draw, seed)
    rule = generator(seed, "data").normal(size=4)
    w = np.zeros(4)

    def advance(start, stop):
        for _ in range(start, stop):
            w[:] = w + 0.05 * (targets - inputs @ w) @ inputs / 64

    def observe(_step):
        return {
            "distance": np.linalg.norm(w - rule) / np.linalg.norm(rule),
            "norm": np.linalg.norm(w),
            "loss": np.mean((targets - inputs @ w) ** 2),
        }

    series = train(
        session, "descent", steps=settings.steps, state={"w": w}, advance=advance,
        observe=observe, observe_at=(0, settings.steps),
    )
    return Measurements(series=series)


def measure(settings, session):
    return {seed: measure_seed(settings, session, seed) for seed in session.seeds}


EXPERIMENTS = {"descent": Experiment(Settings, measure)}
'''
NAMES = ("shuffled_targets", "another_seeds_data")


def draw(seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(50, 3)), rng.normal(size=50)


@pytest.mark.parametrize("number", [2, 3, 50, 1000])
def test_every_input_gets_the_target_of_another(number: int) -> None:
    targets = np.arange(number)

    def counted(_seed: int) -> tuple[Any, Any]:
        return np.arange(number), targets

    orders = []
    for seed in range(20):
        inputs, shuffled = ablated_data("shuffled_targets", counted, seed)
        assert np.array_equal(inputs, targets)
        assert sorted(shuffled) == sorted(targets)
        assert not (shuffled == targets).any()
        orders.append(tuple(shuffled))
    assert tuple(ablated_data("shuffled_targets", counted, 3)[1]) == orders[3]
    assert len(set(orders)) > (10 if number > 3 else 0)


def test_a_tensor_is_shuffled_as_an_array_is() -> None:
    _, array = ablated_data("shuffled_targets", draw, 1)
    inputs, tensor = ablated_data(
        "shuffled_targets", lambda seed: tuple(map(torch.from_numpy, draw(seed))), 1
    )
    assert isinstance(inputs, torch.Tensor)
    assert torch.equal(tensor, torch.from_numpy(array))


def test_another_seeds_data_are_those_of_no_seed_of_an_audit() -> None:
    others = {another_seed(seed) for seed in range(1000)}
    assert len(others) == 1000
    assert min(others) >= 2**62
    inputs, targets = ablated_data("another_seeds_data", draw, 5)
    expected = draw(another_seed(5))
    assert np.array_equal(inputs, expected[0])
    assert np.array_equal(targets, expected[1])
    same = zip(ablated_data("none", draw, 5), draw(5), strict=True)
    assert all(np.array_equal(mine, own) for mine, own in same)


@pytest.mark.parametrize("targets", [np.ones(8), np.zeros(1), torch.ones(4, 2)])
def test_what_shuffling_leaves_as_it_is_is_no_control(targets: Any) -> None:
    with pytest.raises(ValueError, match="shuffling changes no target"):
        ablated_data("shuffled_targets", lambda _seed: (targets, targets), 0)


def test_a_paper_names_its_controls(tmp_path: Path) -> None:
    series = {"kind": "series", "unit": "1", "meaning": "Over training."}
    measured = dict.fromkeys(("distance", "norm", "loss"), series)
    data: dict[str, Any] = {
        "experiments": {"descent": {"title": "It learns a rule", "measurements": measured}},
        "figures": [],
    }
    claims = []
    for name in NAMES:
        ablation = control() | {"settings": {"ablation": name}}
        positive = {"not_constructible": "The rule is the solution."}
        claims.append(
            {
                "id": f"mini.{name.replace('_', '-')}",
                "statement": "The rule is learned.",
                "locator": "Section 4",
                "weight": 0.5,
                "experiment": "descent",
                "checks": [
                    {
                        "kind": "aligns",
                        "name": "the rule",
                        "distance": {"measurement": "distance"},
                        "at_most": 0.1,
                        "reason": "A tenth of the rule.",
                    }
                ],
                "controls": [ablation],
                "positive_control": positive,
            }
        )
    write_paper(tmp_path, claims=claims, **data)
    text = (tmp_path / "mini.yaml").read_text(encoding="utf-8")
    start, end = text.index("settings:\n  level"), text.index("experiments:")
    written = {"ablation": setting("none"), "steps": setting(400)}
    shared = "settings:\n" + "".join(f"  {name}: {one}\n" for name, one in written.items())
    (tmp_path / "mini.yaml").write_text(text[:start] + shared + text[end:], encoding="utf-8")
    (tmp_path / "mini.py").write_text(MODULE)
    card = ra.run_paper(tmp_path / "mini.yaml", store=tmp_path / "runs", trust=True)
    assert set(card.verdicts.values()) == {ra.Verdict.SUPPORTED}, card.text()
    for record in Store(tmp_path / "runs").records("mini", "quick"):
        kept = record.measurements.series
        assert kept["norm"].values[-1] > 0.05  # it moved
        assert kept["loss"].values[-1] < kept["loss"].values[0]  # and it trained
        assert record.steps == 400  # so that 'trains: false' could not hide it
