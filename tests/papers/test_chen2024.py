"""chen2024: the counted form is the position-by-position one; what is derived, checked by hand."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml

from reproaudit.audit.model import Audit
from reproaudit.errors import AuditError
from reproaudit.lab.seeds import generator
from reproaudit.papers.chen2024 import EXPERIMENTS, data, model, windows
from reproaudit.papers.chen2024.experiments import (
    Model,
    Simultaneous,
    Staged,
    Task,
    construct,
    joined,
    observation_steps,
)
from reproaudit.records import Measurements, Series
from sessions import Killed, MemorySession

SUBSETS = data.subsets_up_to(3, 2)
ALL = frozenset({"lag_weights", "coefficients", "sharpness"})
READINGS = ("of_probabilities", "of_softmaxed_probabilities")


@cache
def audit() -> Audit:
    text = (Path(__file__).parents[2] / "audits" / "chen2024.yaml").read_text(encoding="utf-8")
    return Audit.model_validate_json(json.dumps(yaml.safe_load(text), default=str))


def settings_of(experiment: str, tier: Any = "smoke", **changed: Any) -> Any:
    values = audit().values_of(experiment, tier, changed)
    return EXPERIMENTS[experiment].settings(**values)


def measured(experiment: str, seed: int = 0, **changed: Any) -> Measurements:
    run = EXPERIMENTS[experiment].measure
    return run(settings_of(experiment, **changed), MemorySession((seed,)))[seed]


# ----------------------------------------------------------------------- the two forms are equal


def sequences(count: int = 60, length: int = 24, order: int = 2) -> data.Sequences:
    return data.draw_sequences(
        generator(3, "test"), count, length=length, order=order, vocabulary=3, dirichlet=0.3
    )


def parameters(sharpness: float = 1.7) -> tuple[Any, Any, Any]:
    rng = generator(4, "test")
    return rng.normal(size=(3, 3)), rng.normal(size=7), np.array([sharpness])


def plain_loss(
    drawn: data.Sequences, lags: Any, reading: str, *at: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    sequence = model.one_hot(torch.from_numpy(drawn.tokens), 3, torch.float64)
    predictions = model.predict(sequence, model.Parameters(*at), lags=lags, subsets=SUBSETS)
    targets = torch.from_numpy(drawn.targets)
    return model.loss(predictions, targets, reading, 1e-8), predictions


def counted(drawn: data.Sequences, lags: Any) -> windows.Windows:
    return windows.count_windows(drawn, lags=lags, subsets=SUBSETS, vocabulary=3, dtype=np.float64)


@pytest.mark.parametrize("arrangement", ["common", "own_onwards"])
@pytest.mark.parametrize("reading", READINGS)
def test_loss_and_gradient_are_those_of_the_plain_form(arrangement: str, reading: str) -> None:
    drawn, lags = sequences(), model.lags_of_heads(arrangement, 3, 3)
    at = [torch.from_numpy(one).requires_grad_() for one in parameters()]
    expected, predictions = plain_loss(drawn, lags, reading, *at)
    slopes = torch.autograd.grad(expected, at)
    counts = counted(drawn, lags)
    result = windows.descend(
        counts,
        *parameters(),
        epochs=1,
        learning_rate=0.0,
        trained=ALL,
        reading=reading,
        epsilon=1e-8,
    )
    assert result.loss == pytest.approx(expected.item(), abs=1e-12)
    for ours, plain in zip(result[1:], slopes, strict=True):
        assert np.abs(plain.numpy()).max() > 1e-4
        np.testing.assert_allclose(ours, plain.numpy(), atol=1e-10, rtol=0)
    np.testing.assert_allclose(
        windows.predict(counts, *parameters()), predictions.detach().numpy(), atol=1e-12
    )


@pytest.mark.parametrize(
    "trained",
    [{"coefficients"}, {"lag_weights"}, {"sharpness"}, ALL],
    ids=lambda t: "+".join(sorted(t)),
)
def test_training_follows_the_plain_form(trained: set[str]) -> None:
    drawn, lags = sequences(), model.lags_of_heads("common", 3, 3)
    names = ("lag_weights", "coefficients", "sharpness")
    at = dict(zip(names, map(torch.from_numpy, parameters()), strict=True))
    for _ in range(8):
        leaves = {name: one.detach().requires_grad_(name in trained) for name, one in at.items()}
        plain_loss(drawn, lags, READINGS[0], *leaves.values())[0].backward()
        at = {
            name: one.detach() - (0.5 * one.grad if one.grad is not None else 0.0)
            for name, one in leaves.items()
        }
    ours = parameters()
    windows.descend(
        counted(drawn, lags),
        *ours,
        epochs=8,
        learning_rate=0.5,
        trained=frozenset(trained),
        reading=READINGS[0],
        epsilon=1e-8,
    )
    for name, one in zip(names, ours, strict=True):
        np.testing.assert_allclose(one, at[name].numpy(), atol=1e-10, rtol=0)


def test_epochs_may_be_cut_anywhere() -> None:
    task = Task(settings_of("staged"), 0)
    whole, parts = Model(task), Model(task)
    whole.descend(10, 1.0, ALL)
    for epochs in (3, 1, 6):
        parts.descend(epochs, 1.0, ALL)
    for name, one in whole.state.items():
        np.testing.assert_array_equal(one, parts.state[name])


# --------------------------------------------------------------------------------- the sequences


def test_tokens_follow_their_table() -> None:
    rng = generator(0, "test")
    tables = rng.dirichlet([1.0, 1.0, 1.0], size=(1, 9))
    tokens, _ = data._follow(rng, np.repeat(tables, 40_000, axis=0), 3, 2)
    context = tokens[:, 0] * 3 + tokens[:, 1]
    for c in range(9):
        seen = np.bincount(tokens[context == c, 2], minlength=3) / (context == c).sum()
        np.testing.assert_allclose(seen, tables[0, c], atol=0.03)


def test_independent_tokens_have_one_law_per_sequence() -> None:
    drawn = sequences(count=500, length=400, order=0)
    pairs = drawn.tokens[:, :-1] * 3 + drawn.tokens[:, 1:]
    for tokens, both in zip(drawn.tokens, pairs, strict=True):
        law = np.bincount(tokens, minlength=3) / tokens.size
        joint = np.bincount(both, minlength=9).reshape(3, 3) / both.size
        assert np.abs(joint - np.outer(law, law)).max() < 0.12


def test_no_sequence_keeps_its_target_when_they_are_shuffled() -> None:
    drawn = data.Sequences(sequences(count=50).tokens, np.arange(50))
    shuffled = drawn.with_shuffled_targets(generator(1, "shuffle"))
    assert sorted(shuffled.targets) == list(range(50))
    assert (shuffled.targets != drawn.targets).all()


# ------------------------------------------------------------------------------------ information


def test_stationary_law_is_the_limit_of_the_chain() -> None:
    tables = data.draw_tables(generator(0, "test"), 5, 2, 3, 1.0)
    law = data.stationary(tables)
    for one, table in zip(law, tables, strict=True):
        at = np.full(9, 1 / 9)
        for _ in range(3000):
            following = np.zeros(9)
            for context, token in product(range(9), range(3)):
                following[(context * 3 + token) % 9] += at[context] * table[context, token]
            at = following
        np.testing.assert_allclose(one, at, atol=1e-12)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_information_is_its_definition(order: int) -> None:
    tables = data.draw_tables(generator(0, "test"), 3, order, 3, 0.5)
    laws = data.stationary(tables)
    expected = np.zeros(len(SUBSETS))
    for table, law in zip(tables, laws, strict=True):
        joint: dict[tuple[int, ...], float] = {}
        for history in product(range(3), repeat=max(order, 3)):  # oldest first
            context = _number(history[:order])
            weight = law[context]
            for position in range(order, len(history)):
                weight *= table[_number(history[position - order : position]), history[position]]
            for token in range(3):
                last = _number(history[len(history) - order :])
                joint[(*history, token)] = weight * table[last, token]
        expected += [_information(joint, subset) / 3 for subset in SUBSETS]
    ours = data.information(tables, order, SUBSETS, 3)
    np.testing.assert_allclose(ours, expected, atol=1e-12)
    assert ours[0] == pytest.approx(0.0, abs=1e-12)


def _number(tokens: tuple[int, ...]) -> int:
    return int(sum(t * 3**i for i, t in enumerate(reversed(tokens))))


def _information(joint: Mapping[tuple[int, ...], float], subset: data.Subset) -> float:
    """Σ_{Z_S} μ(Z_S)² (Σ_z μ(z | Z_S)² / μ(z) − 1), term by term."""
    following = np.zeros(3)
    seen: dict[tuple[int, ...], Any] = {}
    for (*history, token), weight in joint.items():
        following[token] += weight
        parents = tuple(history[-lag] for lag in subset)
        seen.setdefault(parents, np.zeros(3))[token] += weight
    return float(
        sum(
            both.sum() ** 2 * (((both / both.sum()) ** 2 / following).sum() - 1)
            for both in seen.values()
        )
    )


def test_the_two_parents_are_the_most_informative_set() -> None:
    for seed in range(3):
        tables = data.draw_tables(generator(seed, "information"), 2000, 2, 3, 0.1)
        values = data.information(tables, 2, SUBSETS, 3)
        assert SUBSETS[int(values.argmax())] == (1, 2)


# ----------------------------------------------------------------------------- constructed models


def test_induction_head_votes_where_the_parents_match() -> None:
    drawn = sequences(count=200, length=12)
    head = data.InductionHead.of(drawn, 2, 3)
    fell_back = 0
    for tokens, hard, soft in zip(drawn.tokens, head.predict(), head.predict(1.5), strict=True):
        parents = tuple(tokens[-2:])
        votes = [tokens[i] for i in range(2, 12) if tuple(tokens[i - 2 : i]) == parents]
        fell_back += not votes
        expected = np.bincount(votes or tokens, minlength=3)
        np.testing.assert_allclose(hard, expected / expected.sum(), atol=1e-15)
        weights = [np.exp(1.5 * (tuple(tokens[max(0, i - 2) : i]) == parents)) for i in range(12)]
        expected = np.bincount(tokens, weights=weights, minlength=3)
        np.testing.assert_allclose(soft, expected / expected.sum(), atol=1e-12)
    assert 0 < fell_back < 100


def test_the_sharpened_head_beats_its_limit() -> None:
    drawn = sequences(count=300)
    head = data.InductionHead.of(drawn, 2, 3)
    least = head.least_loss(drawn.targets, 1e-8, 50.0)
    for sharpness in (0.0, 1.0, 3.0, 10.0, 50.0):
        assert least <= data.cross_entropy(head.predict(sharpness), drawn.targets, 1e-8) + 1e-9


@pytest.mark.parametrize("arrangement", ["common", "own_onwards"])
def test_hard_wired_weights_are_the_induction_head(arrangement: str) -> None:
    task = Task(settings_of("staged", lag_windows=arrangement, precision="float64", length=40), 0)
    hard = construct(task, task.training_sequences, task.training)
    hard.sharpness[0] = 50.0
    predicted = hard.predict(task.validation)
    far = np.abs(predicted - task.limit).max(axis=1) > 1e-6
    # with common lags, position 2 has nothing at lag 2 and may match by its lag 1 alone
    assert far.mean() <= (0.2 if arrangement == "common" else 0.0)


def test_the_constructed_sharpness_is_the_best() -> None:
    task = Task(settings_of("staged", precision="float64"), 0)
    best = construct(task, task.training_sequences, task.training)
    loss = best.trained_loss()
    for factor in (0.9, 1.1):
        moved = construct(task, task.training_sequences, task.training)
        moved.sharpness *= factor
        assert moved.trained_loss() > loss


def test_the_softmaxed_loss_has_a_floor() -> None:
    certain = torch.eye(3, dtype=torch.float64)
    value = model.loss(certain, torch.arange(3), READINGS[1], 1e-8).item()
    assert value == pytest.approx(np.log(1 + 2 / np.e), abs=1e-12)
    assert model.loss(certain, torch.arange(3), READINGS[0], 1e-8).item() < 1e-7


# --------------------------------------------------------------------------------- the experiments


@pytest.mark.parametrize("experiment", ["staged", "simultaneous"])
def test_measurements_are_those_declared(experiment: str) -> None:
    declared = audit().measurements_of(experiment)
    values = audit().values_of(experiment, "smoke")
    got = measured(experiment)
    assert got.finite
    assert got.names == declared.keys()
    for name, declaration in declared.items():
        shape = declaration.shape(values)
        if declaration.kind == "scalar":
            assert name in got.scalars
        elif declaration.kind == "array":
            assert got.arrays[name].shape == shape
        else:
            assert got.series[name].values.shape[1:] == shape
            assert got.series[name].steps[0] == 0


@pytest.mark.parametrize("experiment", ["staged", "simultaneous"])
def test_audit_names_every_setting(experiment: str) -> None:
    kind = {"staged": Staged, "simultaneous": Simultaneous}[experiment]
    assert audit().settings_of(experiment).keys() == {field.name for field in fields(kind)}


def test_same_seed_same_numbers() -> None:
    assert _same(measured("staged"), measured("staged"))
    assert not _same(measured("staged"), measured("staged", seed=1))


def _same(one: Measurements, other: Measurements) -> bool:
    return one.model_dump_json() == other.model_dump_json()


def test_a_run_that_was_cut_off_ends_the_same() -> None:
    settings = settings_of("staged")
    session = MemorySession(cut_before="stage_3")
    with pytest.raises(Killed):
        EXPERIMENTS["staged"].measure(settings, session)
    assert session.kept.keys() == {"stage_1", "stage_2"}
    session.cut_before = ""
    resumed = EXPERIMENTS["staged"].measure(settings, session)[0]
    assert _same(resumed, measured("staged"))


@pytest.mark.parametrize(
    "control",
    [{"training_data": "independent_tokens"}, {"training_data": "shuffled_targets"}, {"order": 3}],
    ids=str,
)
def test_controls_train_on_something_else(control: dict[str, Any]) -> None:
    own, other = measured("staged"), measured("staged", **control)
    trained = other.series["trained_loss"].values
    assert trained[-1] < trained[0]
    assert own.series["trained_loss"].values[0] != trained[0]
    same_task = "order" not in control
    assert (own.scalars["limit_loss"] == other.scalars["limit_loss"]) is same_task


def test_a_constructed_run_starts_where_training_starts() -> None:
    own, built = measured("staged"), measured("staged", weights="constructed")
    for name in own.series:
        if not name.startswith("sharpening"):
            np.testing.assert_array_equal(own.series[name].values[0], built.series[name].values[0])
    assert built.series["subset_share"].values[-1][SUBSETS.index((1, 2))] == 1.0
    assert built.series["own_lag_attention"].values[-1] == pytest.approx(1.0, abs=1e-6)
    assert built.series["sharpness"].values[-1] > 1.0


def test_unknown_words_are_refused() -> None:
    settings = settings_of("staged")
    for name in ("cross_entropy", "precision", "training_data", "weights", "lag_windows"):
        with pytest.raises(AuditError, match=name):
            Task(replace(settings, **{name: "other"}), 0)
    with pytest.raises(AuditError, match="length"):
        Task(replace(settings, length=2), 0)


def test_joined_phases_count_on() -> None:
    first = Series(steps=(0, 2, 4), values=[1.0, 2.0, 3.0])
    second = Series(steps=(0, 1), values=[3.0, 5.0])
    whole = joined([(4, {"x": first}), (1, {"x": second})])["x"]
    assert whole.steps == (0, 2, 4, 5)
    assert whole.values.tolist() == [1.0, 2.0, 3.0, 5.0]


@pytest.mark.parametrize("steps", [1, 7, 2000, 50_000])
def test_observations_cover_the_phase(steps: int) -> None:
    at = observation_steps(steps, 60)
    assert at[0] == 0
    assert at[-1] == steps
    assert list(at) == sorted(set(at))
    assert len(at) <= 62
