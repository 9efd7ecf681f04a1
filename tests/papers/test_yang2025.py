"""The mixture task, its two forms of the transformer, the constructions and the experiments."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from reproaudit.papers.yang2025 import constructions, dynamics, measures, plain, task
from reproaudit.papers.yang2025.dynamics import Model, Rates
from reproaudit.papers.yang2025.task import Array, Population

BIAS = 0.5


def random_pictures(tuples: int = 3, pixels: int = 20) -> Array:
    pictures = np.random.default_rng(7).uniform(size=(tuples, 2, pixels))
    return np.asarray(pictures / np.linalg.norm(pictures, axis=2, keepdims=True))


POPULATIONS = {
    "two classes": task.mixture(2),
    "three classes": task.mixture(3),
    "labels of any signal": task.mixture(3, "any_signal"),
    "pictures": task.image_mixture(random_pictures()),
    "a training set": task.mixture(2).sampled(11, np.random.default_rng(5)),
}


def both_forms(
    population: Population, *, neurons: int, start: float, seed: int = 0, width: int = 7
) -> tuple[plain.Weights, Model]:
    """The same weights in both forms; with ``start`` 0 one row stands for all neurons."""
    draw = np.random.default_rng(seed)
    dimension = population.vectors.shape[1]
    keys, queries = 0.3 * draw.standard_normal((2, 2, width, dimension))
    w = start * draw.standard_normal((2, neurons, dimension))
    rows = w if start > 0 else w[:, :1]
    return (
        plain.initial((keys, queries), w, BIAS),
        dynamics.from_weights(population, (keys, queries), rows, BIAS),
    )


# ----------------------------------------------------------------------------------------- the task


@pytest.mark.parametrize("classes", [2, 3, 4])
def test_population_is_every_sample_once(classes: int) -> None:
    population = task.mixture(classes)
    seen = set()
    for tokens, signs in zip(population.tokens, population.signs, strict=True):
        x = population.vectors[tokens] * signs[:, None]
        seen.add(tuple(x.sum(axis=0)))
    assert len(seen) == len(population.labels) == classes * 2**classes


def test_labels_are_the_sign_of_the_identified_signal() -> None:
    population = task.mixture(3)
    for tokens, signs, label in zip(
        population.tokens, population.signs, population.labels, strict=True
    ):
        own = int(np.flatnonzero(population.signal_class[tokens] == tokens[0])[0])
        assert signs[own] == label


def test_strata_of_three_classes() -> None:
    population = task.mixture(3)
    assert np.bincount(population.agreeing).tolist() == [6, 12, 6]
    assert population.hard.sum() == population.easy.sum() == 6


def test_labels_of_any_signal_do_not_depend_on_the_identifier() -> None:
    for labels in ("any_signal", "first_signal"):
        population = task.mixture(3, labels)
        by_signs: dict[tuple[float, ...], set[float]] = {}
        for signs, positive in zip(population.signs, population.positive, strict=True):
            by_signs.setdefault(tuple(signs), set()).add(float(positive))
        assert all(len(values) == 1 for values in by_signs.values())
        assert len(by_signs) == 8


def test_no_linear_rule_of_the_signals_is_right_on_hard_samples_of_three_classes() -> None:
    """What uniform attention with one symmetric neuron amounts to: the majority of the signs."""
    population = task.mixture(3)
    majority = np.sign(population.signs[:, 1:].sum(axis=1))
    right = majority == population.labels
    assert right.mean() == 0.75
    assert not right[population.hard].any()


# ------------------------------------------------------------------------------- plain against fast


@pytest.mark.parametrize("name", POPULATIONS)
@pytest.mark.parametrize("start", [0.0, 1.0], ids=["collapsed", "every neuron"])
@pytest.mark.parametrize("output", ["mean", "sum"])
def test_fast_form_is_the_plain_form(name: str, start: float, output: str) -> None:
    population, neurons = POPULATIONS[name], 5
    weights, model = both_forms(population, neurons=neurons, start=start)
    scale = 1.0 if output == "mean" else float(neurons)
    rate = 0.1 * scale / neurons  # a literal rate per parameter, as a row sees it
    losses = plain.descend(
        weights, population, steps=60, output_scale=scale / neurons, rates=(0.3, 0.1, 0.02)
    )
    rates = Rates(attention=0.3, neurons=rate, biases=rate / 5)
    for loss in losses:
        f = dynamics.outputs(model, population, scale)
        each = [dynamics.expected_loss(*one) for one in zip(f, population.positive, strict=True)]
        assert population.shares @ each == pytest.approx(loss, abs=1e-12)
        dynamics.descend(model, population, steps=1, output_scale=scale, rates=rates)
    f = plain.outputs(weights, plain.samples(population), scale / neurons).detach().numpy()
    np.testing.assert_allclose(dynamics.outputs(model, population, scale), f, atol=1e-10, rtol=0)
    x = population.vectors
    keys, queries, w, _ = (tensor.detach().numpy() for tensor in weights.all())
    scores = x @ keys.transpose(0, 2, 1) @ queries @ x.T
    np.testing.assert_allclose(model.scores, scores, atol=1e-10, rtol=0)
    responses = w[:, : model.rows] @ x.T
    np.testing.assert_allclose(model.responses, responses, atol=1e-10, rtol=0)


def test_training_moved_what_the_forms_were_compared_on() -> None:
    population = task.mixture(2)
    _, model = both_forms(population, neurons=5, start=0.0)
    before = model.copy()
    dynamics.descend(model, population, steps=60, output_scale=1.0, rates=Rates(0.3, 0.1, 0.0))
    assert np.abs(model.responses - before.responses).max() > 0.1
    assert np.abs(model.scores - before.scores).max() > 1e-4


@pytest.mark.parametrize("name", POPULATIONS)
def test_gradients_agree_with_autograd(name: str) -> None:
    population, neurons = POPULATIONS[name], 4
    weights, model = both_forms(population, neurons=neurons, start=1.0, seed=3)
    x, positive = plain.samples(population), torch.from_numpy(population.positive)
    loss = plain.population_loss(
        weights, x, positive, 1 / neurons, torch.from_numpy(population.shares)
    )
    by_key, by_query, by_neuron, by_bias = (
        gradient.numpy() for gradient in torch.autograd.grad(loss, weights.all())
    )
    by_coefficient, bias, by_score = dynamics.gradients(model, population, 1.0)
    v = population.vectors
    keys, queries = weights.keys.detach().numpy(), weights.queries.detach().numpy()
    np.testing.assert_allclose(by_coefficient @ v / neurons, by_neuron, atol=1e-14)
    np.testing.assert_allclose(bias / neurons, by_bias, atol=1e-14)
    np.testing.assert_allclose(keys @ v.T @ by_score @ v, by_query, atol=1e-13)
    score_t = by_score.transpose(0, 2, 1)
    np.testing.assert_allclose(queries @ v.T @ score_t @ v, by_key, atol=1e-13)


def test_neurons_of_a_head_stay_identical_from_zero() -> None:
    population = task.mixture(2)
    weights, _ = both_forms(population, neurons=6, start=0.0)
    plain.descend(weights, population, steps=50, output_scale=1 / 6, rates=(0.1, 0.6, 0.0))
    w = weights.neurons.detach()
    assert float(w.abs().max()) > 0.1
    assert float((w - w[:, :1]).abs().max()) < 1e-14


def test_number_of_neurons_only_rescales_their_rate() -> None:
    """Under a mean over neurons a literal rate is slower by their number (the audit's finding)."""
    population = task.mixture(2)
    few, _ = both_forms(population, neurons=2, start=0.0)
    many, _ = both_forms(population, neurons=8, start=0.0)
    slow = plain.descend(few, population, steps=30, output_scale=1 / 2, rates=(0.1, 0.2, 0.0))
    same = plain.descend(many, population, steps=30, output_scale=1 / 8, rates=(0.1, 0.8, 0.0))
    assert same == pytest.approx(slow, abs=1e-13)


def test_attention_has_no_gradient_while_neurons_are_zero() -> None:
    population = task.mixture(3)
    _, model = both_forms(population, neurons=1, start=0.0)
    by_coefficient, _, by_score = dynamics.gradients(model, population, 1.0)
    assert np.abs(by_score).max() == 0.0
    assert np.abs(by_coefficient).max() > 0.01


def test_coordinates_outside_the_span_of_the_tokens_do_not_matter() -> None:
    """So the dimension of the tokens is no setting: W x never sees what x has no part in."""
    small = task.mixture(2)
    basis = np.linalg.qr(np.random.default_rng(1).standard_normal((9, 9)))[0][:4]
    wide = task.Population(**{**vars(small), "vectors": basis})
    keys, queries = 0.3 * np.random.default_rng(2).standard_normal((2, 2, 7, 9))
    in_span = [matrix @ basis.T for matrix in (keys, queries)]
    models = (
        dynamics.from_weights(wide, (keys, queries), np.zeros((2, 1, 9)), BIAS),
        dynamics.from_weights(small, (in_span[0], in_span[1]), np.zeros((2, 1, 4)), BIAS),
    )
    outputs = []
    for population, model in zip((wide, small), models, strict=True):
        rates = Rates(0.3, 0.3, 0.0)
        dynamics.descend(model, population, steps=300, output_scale=1.0, rates=rates)
        outputs.append(dynamics.outputs(model, population, 1.0))
    np.testing.assert_allclose(outputs[0], outputs[1], atol=1e-12)


# ------------------------------------------------------------------------------------ constructions


@pytest.mark.parametrize("classes", range(2, 9))
def test_built_transformers_have_their_stated_margin_on_every_sample(classes: int) -> None:
    population = task.mixture(classes)
    x = plain.samples(population)
    built = (
        (constructions.attention_margin(classes), constructions.with_attention(population.vectors)),
        (constructions.neurons_margin(), constructions.without_attention(population.vectors, BIAS)),
    )
    assert len(population.labels) == classes * 2**classes
    for margin, (keys, queries, neurons) in built:
        weights = plain.initial((keys, queries), neurons, BIAS)
        f = plain.outputs(weights, x, 1.0).detach().numpy()
        np.testing.assert_allclose(population.labels * f, margin, atol=1e-9)


def test_margin_of_attention_is_the_closed_form() -> None:
    s, length, gamma = 1.3, 4, constructions.identifier_strength(3)
    population = task.mixture(3)
    keys, queries, neurons = constructions.with_attention(population.vectors, s)
    model = dynamics.from_weights(population, (keys, queries), neurons, BIAS)

    def weight(a: float) -> float:
        return float(np.exp(a) / (np.exp(a) + length - 1))

    expected = gamma / length * (weight(s) - weight(-s))
    f = dynamics.outputs(model, population, 1.0)
    np.testing.assert_allclose(population.labels * f, expected, atol=1e-12)


@pytest.mark.parametrize("name", ["two classes", "three classes", "pictures"])
def test_construction_in_place_of_training_solves_the_task(name: str) -> None:
    population = POPULATIONS[name]
    _, model = both_forms(population, neurons=1, start=0.0)
    constructions.put_neurons(model, population)
    before = measures.observe(model, population, 1.0)
    constructions.put_attention(model, population)
    after = measures.observe(model, population, 1.0)
    assert before["neuron_confidence"] > 0.9
    assert before["hard_confidence"] < 0.6
    assert after["accuracy"] == 1.0
    assert after["hard_confidence"] > 0.95
    assert after["identifier_share"] > 0.99


def test_construction_for_pictures_is_within_reach_of_weights() -> None:
    """More pictures than pixels: what is put in place must still come from weight vectors."""
    population = task.image_mixture(random_pictures(tuples=8, pixels=6))
    _, model = both_forms(population, neurons=1, start=0.0)
    constructions.put_neurons(model, population)
    x = population.vectors
    span = x @ np.linalg.pinv(x)
    np.testing.assert_allclose(model.responses @ span.T, model.responses, atol=1e-9)


def test_measures_at_known_scores() -> None:
    population = task.mixture(3)
    _, model = both_forms(population, neurons=1, start=0.0)
    model.scores[:] = 0.0
    constructions.put_attention(model, population)
    seen = measures.observe(model, population, 1.0)
    s = constructions.SHARPNESS
    assert seen["score_own"] == pytest.approx(s)
    assert seen["score_other"] == pytest.approx(0.0)
    assert seen["separation"] == pytest.approx(s)
    assert seen["identifier_share"] == pytest.approx(np.exp(s) / (np.exp(s) + 2))
    assert seen["loss"] == pytest.approx(np.log(2))
