"""The mixture task, its two forms of the transformer, the constructions and the experiments."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from mnist_files import write_split
from reproaudit.audit.loading import load_audit
from reproaudit.audit.model import Audit
from reproaudit.cell import SettingValue
from reproaudit.cli import run_command
from reproaudit.errors import TechnicalError
from reproaudit.lab import Array, another_seed, images
from reproaudit.papers.yang2025 import EXPERIMENTS, constructed, fast, measures, task
from reproaudit.papers.yang2025 import model as plain
from reproaudit.papers.yang2025.model import Weights
from reproaudit.papers.yang2025.products import InnerProducts, Rates, from_weights
from reproaudit.papers.yang2025.task import Population
from reproaudit.records import Measurements
from sessions import Killed, MemorySession

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
) -> tuple[Weights, InnerProducts]:
    """The same weights in both forms; with ``start`` 0 one row stands for all neurons."""
    draw = np.random.default_rng(seed)
    dimension = population.vectors.shape[1]
    keys, queries = 0.3 * draw.standard_normal((2, 2, width, dimension))
    w = start * draw.standard_normal((2, neurons, dimension))
    weights = Weights.of(keys, queries, w, BIAS)
    return weights, from_weights(population, weights, identical=start == 0)


def loss_of(model: InnerProducts, population: Population, scale: float) -> float:
    """The loss that training descends on."""
    f = fast.outputs(model, population, scale)
    return measures.population_loss(f, population.positive, population.shares)


def observe(model: InnerProducts, population: Population) -> dict[str, float]:
    silent = model._replace(keys=np.zeros_like(model.keys))
    both = (fast.outputs(one, population, 1.0) for one in (model, silent))
    return measures.observed(model, population, *both)


def set_scores(model: InnerProducts, population: Population, scores: Array) -> InnerProducts:
    """The model with given scores: one key for each vector, whose query is the row of scores."""
    keys = np.stack([np.eye(len(population.vectors))] * 2)
    return model._replace(keys=keys, queries=np.ascontiguousarray(scores))


# ----------------------------------------------------------------------------------------- the task


@pytest.mark.parametrize("classes", [2, 3, 4])
def test_population_is_every_sample_once(classes):
    population = task.mixture(classes)
    seen = set()
    for tokens, signs in zip(population.tokens, population.signs, strict=True):
        x = population.vectors[tokens] * signs[:, None]
        seen.add(tuple(x.sum(axis=0)))
    assert len(seen) == len(population.labels) == classes * 2**classes
    own = population.signs[np.arange(len(seen)), 1 + population.tokens[:, 0]]
    np.testing.assert_array_equal(population.labels, own)  # the sign of the identified signal
    assert population.hard.sum() == population.easy.sum() == 2 * classes


def test_labels_of_any_signal_do_not_depend_on_the_identifier():
    for labels in ("any_signal", "first_signal"):
        population = task.mixture(3, labels)
        by_signs: dict[tuple[float, ...], set[float]] = {}
        for signs, positive in zip(population.signs, population.positive, strict=True):
            by_signs.setdefault(tuple(signs), set()).add(float(positive))
        assert all(len(values) == 1 for values in by_signs.values())
        assert len(by_signs) == 8


# ------------------------------------------------------------------------------- plain against fast

STEPS = 25
"""For which the two forms are compared."""


@pytest.mark.parametrize("name", POPULATIONS)
@pytest.mark.parametrize("start", [0.0, 1.0], ids=["collapsed", "every neuron"])
@pytest.mark.parametrize("output", ["mean", "sum"])
def test_fast_form_is_the_plain_form(name, start, output):
    population, neurons = POPULATIONS[name], 5
    weights, model = both_forms(population, neurons=neurons, start=start)
    before, start_weights = model.copy(), Weights(*(weight.detach().clone() for weight in weights))
    scale = 1.0 if output == "mean" else float(neurons)
    rate = 0.1 * scale / neurons  # a literal rate per parameter, as a row sees it
    losses = plain.descend(
        weights, population, steps=STEPS, output_weight=scale / neurons, rates=(0.3, 0.1, 0.02)
    )
    rates = Rates(attention=0.3, neurons=rate, biases=rate / 5)
    for loss in losses:
        assert loss_of(model, population, scale) == pytest.approx(loss, abs=1e-12)
        fast.descend(model, population, steps=1, output_scale=scale, rates=rates)
    f = plain.outputs(weights, plain.samples(population), scale / neurons).detach().numpy()
    np.testing.assert_allclose(fast.outputs(model, population, scale), f, atol=1e-10, rtol=0)
    x = population.vectors
    keys, queries, w, _ = weights.arrays()
    scores = x @ keys.transpose(0, 2, 1) @ queries @ x.T
    np.testing.assert_allclose(model.scores, scores, atol=1e-10, rtol=0)
    responses = w[:, : model.responses.shape[1]] @ x.T
    np.testing.assert_allclose(model.responses, responses, atol=1e-10, rtol=0)
    back = fast.weights(model, population, start_weights)
    for found, expected in zip(back, weights.arrays(), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-10, rtol=0)
    assert np.abs(model.responses - before.responses).max() > 0.02  # they moved
    assert np.abs(model.scores - before.scores).max() > 1e-4


def test_attention_has_no_gradient_while_neurons_are_zero():
    population = task.mixture(3)
    _, model = both_forms(population, neurons=1, start=0.0)
    before = model.copy()
    fast.descend(model, population, steps=1, output_scale=1.0, rates=Rates(1.0, 1.0, 0.0))
    np.testing.assert_array_equal(model.scores, before.scores)
    assert np.abs(model.responses).max() > 0.01


def test_coordinates_outside_the_span_of_the_tokens_do_not_matter():
    """So the dimension of the tokens is no setting: W x never sees what x has no part in."""
    small = task.mixture(2)
    basis = np.linalg.qr(np.random.default_rng(1).standard_normal((9, 9)))[0][:4]
    wide = task.Population(**{**vars(small), "vectors": basis})
    keys, queries = 0.3 * np.random.default_rng(2).standard_normal((2, 2, 7, 9))
    in_span = [matrix @ basis.T for matrix in (keys, queries)]
    zeros = np.zeros((2, 1, 9)), np.zeros((2, 1, 4))
    models = (
        from_weights(wide, Weights.of(keys, queries, zeros[0], BIAS)),
        from_weights(small, Weights.of(*in_span, zeros[1], BIAS)),
    )
    outputs = []
    for population, model in zip((wide, small), models, strict=True):
        rates = Rates(0.3, 0.3, 0.0)
        fast.descend(model, population, steps=300, output_scale=1.0, rates=rates)
        outputs.append(fast.outputs(model, population, 1.0))
    np.testing.assert_allclose(outputs[0], outputs[1], atol=1e-12)


# ------------------------------------------------------------------------------------ constructions


@pytest.mark.parametrize("classes", range(2, 9))
def test_built_transformers_have_their_stated_margin_on_every_sample(classes):
    population = task.mixture(classes)
    x = plain.samples(population)
    built = (
        (constructed.attention_margin(classes), constructed.with_attention(population)),
        (constructed.MARGIN, constructed.without_attention(population, BIAS)),
    )
    assert len(population.labels) == classes * 2**classes
    for margin, (keys, queries, neurons) in built:
        weights = Weights.of(keys, queries, neurons, BIAS)
        f = plain.outputs(weights, x, 1.0).detach().numpy()
        np.testing.assert_allclose(population.labels * f, margin, atol=1e-9)


@pytest.mark.parametrize("name", ["two classes", "three classes", "pictures"])
def test_construction_in_place_of_training_solves_the_task(name):
    population = POPULATIONS[name]
    _, model = both_forms(population, neurons=1, start=0.0)
    constructed.put_neurons(model, population, 1.0)
    before = observe(model, population)
    constructed.put_attention(model, population)
    after = observe(model, population)
    assert before["neuron_confidence"] > 0.9
    assert before["hard_confidence"] < 0.6
    assert after["accuracy"] == 1.0
    assert after["hard_confidence"] > 0.95
    assert after["identifier_share"] > 0.99


def test_construction_for_pictures_is_within_reach_of_weights():
    """More pictures than pixels: what is put in place must still come from weight vectors."""
    population = task.image_mixture(random_pictures(tuples=8, pixels=6))
    _, model = both_forms(population, neurons=1, start=0.0)
    constructed.put_neurons(model, population, 1.0)
    x = population.vectors
    span = x @ np.linalg.pinv(x)
    np.testing.assert_allclose(model.responses @ span.T, model.responses, atol=1e-9)


def test_measures_at_known_scores():
    """A signal is separated from the nearest other identifier, in the worst head and class."""
    population, s = task.mixture(3), constructed.SHARPNESS
    _, model = both_forms(population, neurons=1, start=0.0)
    constructed.put_attention(model, population)
    seen = observe(model, population)
    assert seen["score_own"] == pytest.approx(s)
    assert seen["separation"] == pytest.approx(s)
    assert seen["identifier_share"] == pytest.approx(np.exp(s) / (np.exp(s) + 2))
    assert seen["loss"] == pytest.approx(np.log(2))
    scores = model.scores
    for identifier, score in ((1, 0.5), (2, 0.25)):
        scores[:, identifier, population.signal_class == 0] = [[score], [-score]]
    seen = observe(set_scores(model, population, scores), population)
    assert seen["separation"] == pytest.approx(s - 0.5)


def test_heads_that_are_apart_in_opposite_directions_are_not_even():
    """Their mean is, so that a check on the mean would call them nearly non-separable."""
    population = task.mixture(2)
    _, model = both_forms(population, neurons=1, start=0.0)
    scores = np.zeros_like(model.scores)
    scores[:, 0, population.signal_class >= 0] = np.log(3)  # one head is for, the other against
    seen = observe(set_scores(model, population, scores), population)
    assert seen["identifier_share"] == pytest.approx(0.5)
    assert seen["share_off_even"] == pytest.approx(0.25)


# -------------------------------------------------------------------------------------- experiments


@pytest.fixture(scope="module")
def audit() -> Audit:
    return load_audit(Path(__file__).parents[2] / "audits" / "yang2025.yaml")


def settings_of(audit: Audit, experiment: str, **overrides: SettingValue) -> object:
    values = audit.values_of(experiment, "smoke", overrides)
    return EXPERIMENTS[experiment].settings(**values)


def measured(
    audit: Audit, experiment: str, seed: int = 0, **overrides: SettingValue
) -> Measurements:
    settings = settings_of(audit, experiment, **overrides)
    return EXPERIMENTS[experiment].measure(settings, MemorySession(seed))


@pytest.mark.parametrize(
    ("experiment", "changed"), [("three_stages", {"stage_steps": (4, 4, 4)}), ("pictures", {})]
)
def test_a_card_computes_the_plain_form(audit, experiment, changed, monkeypatch):
    """The card's code, on the processor in place of the card."""
    settings = settings_of(audit, experiment, steps=4, **changed)
    measure = EXPERIMENTS[experiment].measure
    form = measure(settings, MemorySession(1, form="plain"))
    real, called = Weights.of, []

    def on_the_processor(*arguments: Any) -> Weights:
        called.append(arguments[4])
        return real(*arguments[:4])

    monkeypatch.setattr(Weights, "of", on_the_processor)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    card = measure(settings, MemorySession(1, device="cuda"))
    assert "cuda" in called
    assert card.model_dump() == form.model_dump()


def test_a_start_with_separated_attention_is_separated_with_pictures_too(audit):
    """Classes are the task's: with 32 pictures of each digit most vectors are pictures."""
    changed: dict[str, Any] = {"pictures": 32, "attention_start": "constructed", "steps": 2}
    start = measured(audit, "pictures", **changed).series
    assert start["separation"].values[0] > 2.303
    # the nearest to it that there is: so many digits of 64 pixels are not independent
    assert start["separation"].values[0] == pytest.approx(constructed.SHARPNESS, rel=0.05)
    assert start["identifier_share"].values[0] > 0.99


@pytest.mark.parametrize("name", ["simultaneous", "three_stages", "pictures"])
def test_cut_off_and_resumed_is_as_if_never_cut_off(audit, name):
    settings = settings_of(audit, name)
    whole = EXPERIMENTS[name].measure(settings, MemorySession())
    session = MemorySession(cut=3)
    with pytest.raises(Killed):
        EXPERIMENTS[name].measure(settings, session)
    session.cut = None
    resumed = EXPERIMENTS[name].measure(settings, session)
    assert resumed.model_dump_json() == whole.model_dump_json()
    assert set(session.kept) == set(EXPERIMENTS[name].phases(settings))


def test_three_classes_stay_at_three_quarters_without_attention(audit):
    found = measured(audit, "three_classes", attention="frozen", steps=3000)
    assert found.series["accuracy"].values[-1] == 0.75
    assert found.series["hard_confidence"].values[-1] < 0.5
    assert found.series["easy_confidence"].values[-1] > 0.8
    share = found.series["identifier_share"].values
    assert share[-1] == share[0]


def test_movement_is_zero_without_training_and_counts_neurons_alone(audit):
    still = {"attention_rate": 0.0, "neuron_rate": 0.0}
    for experiment in ("simultaneous", "three_classes", "three_stages", "pictures"):
        found = measured(audit, experiment, **still).scalars
        assert found["parameters_moved"] == found["training_loss_moved"] == 0.0
    frozen = measured(audit, "simultaneous", steps=300, attention="frozen").scalars
    assert frozen["parameters_moved"] > 0.1
    assert frozen["training_loss_moved"] > 0.1


def test_the_literal_rate_with_a_longer_horizon_is_the_same_training_of_neurons(audit):
    """With attention frozen the two differ by the size of their steps alone."""
    shared: dict[str, SettingValue] = {"attention": "frozen", "steps": 400, "neurons": 16}
    own, longer, literal = (
        measured(audit, "simultaneous", neuron_rate_of=of, **shared).series["easy_confidence"]
        for of in ("mean_field", "parameter_longer", "parameter")
    )
    assert longer.steps[-1] == 16 * own.steps[-1]
    assert longer.values[-1] == pytest.approx(own.values[-1], abs=0.01)
    assert literal.values[-1] < own.values[-1] - 0.05
    staged = measured(audit, "three_stages", neuron_rate_of="parameter_longer", neurons=16)
    assert staged.series["loss"].steps[-1] == 16 * 60


def test_a_sum_with_its_bias_shared_out_is_the_mean_of_larger_neurons(audit):
    """At the start they are one function; neurons of a sum, all together, then move faster."""
    shared: dict[str, SettingValue] = {"attention": "frozen", "neurons": 16, "steps": 60}
    summed = measured(audit, "simultaneous", output="sum", **shared)
    mean = measured(audit, "simultaneous", neuron_rate=1.6, **shared)
    for name in ("loss", "easy_confidence"):
        np.testing.assert_allclose(summed.series[name].values, mean.series[name].values, rtol=1e-9)


def test_seeds_agree_as_far_as_their_own_trainings_do(audit):
    def moved(seed: int) -> Array:
        end, start = (
            measured(audit, "simultaneous", seed, steps=300, attention=attention)
            for attention in ("trained", "frozen")
        )
        return np.asarray(end.arrays["scores"] - start.arrays["scores"])

    found = measured(audit, "three_stages", steps=300).scalars["seeds_agreement"]
    expected = measures.cosine(moved(0), moved(another_seed(0)))
    assert found == pytest.approx(expected, abs=1e-9)
    built = measured(audit, "three_stages", weights="constructed").scalars
    assert built["seeds_agreement"] == pytest.approx(1.0, abs=0.01)


def test_stages_of_algorithm_1_train_one_module_each(audit):
    found = measured(audit, "three_stages", stage_steps=(300, 300, 300), steps=10)
    share, signal_part = (
        dict(zip(found.series[name].steps, found.series[name].values, strict=True))
        for name in ("score_own", "neuron_identifier")
    )
    assert share[0] == share[300] != share[600] == share[900]
    assert signal_part[0] != signal_part[300] == signal_part[600] != signal_part[900]


# ----------------------------------------------------------------------------------------- pictures


def test_pictures_of_another_split_are_measured_and_named(folders, audit):
    write_split(folders[0], "t10k", zipped=True)
    settings = settings_of(audit, "pictures", images="mnist", pictures=3)
    assert EXPERIMENTS["pictures"].measure(settings, MemorySession()).finite
    expected = "MNIST's 'test' split in place of its 'train' split"
    assert EXPERIMENTS["pictures"].proxy(settings) == expected


def test_without_mnist_the_paper_tier_is_refused_in_a_line_and_quick_has_digits(
    folders, tmp_path, cli, audit
):
    store = tmp_path / "store"
    printed = cli("run", "yang2025", "--tier", "paper", "--store", store, code=2)
    (line,) = printed.err.strip().splitlines()
    assert line.startswith("yang2025, experiment 'pictures': MNIST is neither in the folder of")
    assert "(no network)" in line
    assert "pip install '.[data]'" in line
    assert not (store / "yang2025").exists()
    experiment = EXPERIMENTS["pictures"]
    quick = experiment.settings(**audit.values_of("pictures", "quick", {}))
    assert set(experiment.data(quick)) == {"scikit-learn digits"}
    assert experiment.proxy(quick) == images.STAND_IN


def test_signals_are_pictures_of_their_digits_scaled_and_centred_as_asked():
    pictures = images.pictures("digits", "train")

    def signals(digits: tuple[int, ...], tuples: int, centred: bool, scaling: Any) -> Array:
        draw = np.random.default_rng(0)
        return task.signals(pictures, digits, tuples, centred=centred, scaling=scaling, draw=draw)

    chosen = signals((1, 2), 5, False, "unit_norm")
    assert chosen.shape == (5, 2, 64)
    for index, digit in enumerate((1, 2)):
        every = pictures.pixels[pictures.labels == digit]
        every = every / np.linalg.norm(every, axis=1, keepdims=True)
        assert all(np.isclose(every, one).all(axis=1).any() for one in chosen[:, index])
    assert len(np.unique(chosen.reshape(10, -1), axis=0)) == 10
    twos = int((pictures.labels == 2).sum())
    kept, centred = (signals((2,), twos, flag, "pixels") for flag in (False, True))
    np.testing.assert_allclose(centred, kept - kept.mean(axis=0), atol=1e-12)
    with pytest.raises(TechnicalError, match="not 1000"):
        signals((1, 2), 1000, False, "unit_norm")


def real_mnist() -> tuple[Path, images.Split] | None:
    """A folder with a split of MNIST: named by the environment, or beside the repository."""
    beside = Path(__file__).parents[2].parent / "shared" / "data" / "mnist"
    named = os.environ.get(images.DATA_VARIABLE)
    places = [Path(named)] if named else []
    found = (
        (place, split)
        for place in [*places, beside]
        for split, names in images.FILES.items()
        if all(any(place.rglob(f"{name}*")) for name in names)
    )
    return next(found, None)


REAL = real_mnist()


@pytest.mark.skipif(REAL is None, reason="MNIST's files are not at hand")
def test_the_command_line_reads_them_from_a_data_dir(tmp_path, monkeypatch):
    assert REAL is not None
    place, split = REAL
    monkeypatch.setenv(images.DATA_VARIABLE, "")  # restored afterwards
    arguments = ["run", "yang2025", "--experiment", "pictures", "--seeds", "0"]
    arguments += ["--set", "steps=20", "--set", "images=mnist", "--set", f"split={split}"]
    arguments += ["--store", str(tmp_path), "--data-dir", str(place)]
    assert run_command(arguments) == 0
    (path,) = tmp_path.rglob("pictures/*.json")
    record = json.loads(path.read_text())["record"]
    assert record["proxy"] is None
    assert any(name.startswith("MNIST") for name in record["data"])
    found = images.pictures("mnist", split)
    counts = [int((found.labels == digit).sum()) for digit in (1, 2)]
    assert counts == {"test": [1135, 1032], "train": [6742, 5958]}[split]
