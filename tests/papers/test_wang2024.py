"""wang2024: fast forms against plain ones, derived facts, constructed solutions, measurements."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from io import BytesIO
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from beartype import beartype
from jaxtyping import TypeCheckError, jaxtyped
from scipy import stats
from threadpoolctl import threadpool_limits

from reproaudit.audit.loading import load_audit
from reproaudit.errors import SpecError
from reproaudit.lab import Measurements, Series, observation_steps, train
from reproaudit.lab.settings import build_settings
from reproaudit.papers.wang2024 import (
    EXPERIMENTS,
    experiments,
    fast,
    fully_connected,
    measures,
    model,
    nets,
    sampling,
)
from reproaudit.papers.wang2024 import training as wang_training
from reproaudit.papers.wang2024.constructed import (
    IdentityBlocks,
    best_identity_blocks,
    identity_blocks,
    overlaps,
    reachable,
)
from reproaudit.papers.wang2024.fast import Sgd, Weights, layer, together
from reproaudit.papers.wang2024.task import (
    BatchLaw,
    SampleBatch,
    draw_test_set,
    draw_training_sample,
    fill_batch,
)
from reproaudit.papers.wang2024.training import Arm, observed_steps
from sessions import MemorySession

AUDIT = load_audit(Path(__file__).parents[2] / "audits" / "wang2024.yaml")
NONE = np.uint64(0)


def settings(experiment: str, **overrides: Any) -> Any:
    values = AUDIT.values_of(experiment, "smoke", overrides)
    return build_settings(EXPERIMENTS[experiment].settings, values)


def measured(experiment: str, seeds: tuple[int, ...] = (0,), **overrides: Any) -> Measurements:
    session = MemorySession(seeds)
    return EXPERIMENTS[experiment].measure(settings(experiment, **overrides), session)[seeds[0]]


def same(a: Measurements, b: Measurements) -> bool:
    return a.model_dump() == b.model_dump()


def law(d_e: int = 9, **changes: Any) -> BatchLaw:
    plain = BatchLaw(NONE, False, False, True, sampling.GAUSSIAN, d_e**-0.5)
    return plain._replace(**changes)


def small_batch(
    shared: bool, other_query: bool = False, turned_targets: bool = False
) -> SampleBatch:
    key = sampling.root(3, "test batch")
    batch = SampleBatch.empty(16, 5, 14, 3, 9, shared)
    fill_batch(key, law(other_query=other_query, turned_targets=turned_targets), batch)
    return batch


def random_weights(d_e: int = 9, scale: float = 0.5) -> Weights:
    return Weights.draw(np.random.default_rng(0), 5, d_e, scale, np.float64)


def plain_loss(
    batch: SampleBatch, W_KQ: torch.Tensor, W_V: torch.Tensor, attend_query: bool, factor: float
) -> torch.Tensor:
    X = torch.tensor(batch.X, dtype=torch.float64)
    E = torch.tensor(batch.E, dtype=torch.float64).expand(len(X), -1, -1)
    z_query = model.query(E, torch.tensor(batch.queried), X.shape[1])
    output = model.forward(model.embed(X, E), z_query, W_KQ, W_V, attend_query)
    target = model.targets(X[:, batch.coordinates], torch.tensor(batch.selected))
    return model.selection_loss(output, target, factor)


# ------------------------------------------------------------------------- fast form = plain form


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("attend_query", [False, True])
@pytest.mark.parametrize("control", [False, True])
def test_compiled_loss_and_gradient_equal_the_plain_form(
    shared: bool, attend_query: bool, control: bool
) -> None:
    batch, weights = small_batch(shared, control, control), random_weights()
    W_KQ = torch.tensor(weights.key_query, requires_grad=True)
    W_V = torch.tensor(weights.value, requires_grad=True)
    plain = plain_loss(batch, W_KQ, W_V, attend_query, 0.7)
    plain.backward()
    loss, slopes = fast.gradient(batch, weights, attend_query, 0.7)
    assert loss == pytest.approx(plain.item(), abs=1e-10)
    assert W_KQ.grad is not None
    assert W_V.grad is not None
    pairs = [
        (W_KQ.grad[:5, 5:], slopes.B),
        (W_KQ.grad[5:, 5:], slopes.D),
        (W_KQ.grad[:, :5], slopes.idle),
        (W_V.grad[:, :5], slopes.V_x),
        (W_V.grad[:, 5:], slopes.V_e),
    ]
    for expected, found in pairs:
        np.testing.assert_allclose(found, expected.numpy(), rtol=0, atol=1e-10)
    losses, _ = fast.losses(batch, weights, attend_query)
    assert losses.mean() == pytest.approx(plain.item() * 0.5 / 0.7, abs=1e-10)


def training(**changes: Any) -> Sgd:
    plain = Sgd(
        key=sampling.root(1, "train"),
        law=law(),
        attend_query=False,
        factor=0.5,
        rate=1.0,
        annealed_rate=0.25,
        anneal_at=3,
    )
    return plain._replace(**changes)


@pytest.mark.parametrize("shared", [True, False])
def test_training_equals_plain_sgd_on_the_same_draws(shared: bool) -> None:
    how, weights = training(), random_weights()
    W_KQ = torch.tensor(weights.key_query, requires_grad=True)
    W_V = torch.tensor(weights.value, requires_grad=True)
    scratch = SampleBatch.empty(16, 5, 14, 3, 9, shared)
    fast.train_steps(0, 6, how, scratch, weights)
    for step in range(6):
        key = np.uint64(sampling.child(how.key, step))
        batch = SampleBatch.empty(16, 5, 14, 3, 9, shared)
        fill_batch(key, how.law, batch)
        sgd = torch.optim.SGD([W_KQ, W_V], lr=1.0 if step < 3 else 0.25)
        sgd.zero_grad()
        plain_loss(batch, W_KQ, W_V, False, 0.5).backward()
        sgd.step()
    np.testing.assert_allclose(weights.key_query, W_KQ.detach().numpy(), rtol=0, atol=1e-10)
    np.testing.assert_allclose(weights.value, W_V.detach().numpy(), rtol=0, atol=1e-10)


@pytest.mark.parametrize("hidden_layers", [1, 3])
def test_compiled_net_equals_the_plain_form(hidden_layers: int) -> None:
    batch = small_batch(shared=True)
    inputs, targets = fully_connected.inputs_and_targets(batch, "multi_hot", np.float64)
    rng = np.random.default_rng(1)
    net = fully_connected.Net.draw(rng, inputs.shape[1], 7, hidden_layers, 5, "he", np.float64)
    blocks = [torch.tensor(net.W_in), *map(torch.tensor, net.W_mid)]
    hidden = list(zip(blocks, map(torch.tensor, net.b_hidden), strict=True))
    last = (torch.tensor(net.W_out), torch.tensor(net.b_out))
    every = [tensor.requires_grad_() for pair in [*hidden, last] for tensor in pair]
    output = fully_connected.net_outputs(torch.tensor(inputs), hidden, *last)
    loss = model.selection_loss(output, torch.tensor(targets))
    loss.backward()
    assert fully_connected.net_losses(net, inputs, targets).mean() == pytest.approx(
        loss.item(), abs=1e-10
    )
    fully_connected.descend_net(net, inputs, targets, 0.5, 0.1)
    found = [net.W_in, *net.W_mid, *net.b_hidden, net.W_out, net.b_out]
    order = [*every[0:-2:2], *every[1:-2:2], *every[-2:]]
    for block, tensor in zip(found, order, strict=True):
        assert tensor.grad is not None
        expected = (tensor - 0.1 * tensor.grad).detach().numpy()
        np.testing.assert_allclose(block, expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("count", [7, 1024, 70_001])
def test_a_card_draws_the_same_normals_and_subsets(count: int) -> None:
    keys = [sampling.root(seed, "card") for seed in (0, 1)]
    both = torch.from_numpy(np.array(keys).view(np.int64))
    found = together.normals(both, count).numpy()
    picked = together.subsets(both, 14, 50, 3).numpy()
    for i, key in enumerate(keys):
        expected = np.empty(count, np.float32)
        sampling.fill_normals(key, expected)
        np.testing.assert_allclose(found[i], expected, rtol=0, atol=1e-6)
    stream = np.uint64(sampling.child(keys[0], sampling.SUBSETS))
    subsets = np.empty((50, 3), np.int64)
    sampling.fill_subsets(keys[0], sampling.SUBSETS, 14, subsets)
    found_again = together.subsets(torch.tensor([int(stream.view(np.int64))]), 14, 50, 3)
    np.testing.assert_array_equal(found_again[0].numpy(), subsets)
    assert (picked >= 0).all()
    assert (picked < 14).all()


CARD = {
    "as audited": ("selection", {}),
    "the query attended": ("query_attended", {}),
    "codes of each sample": ("selection", {"codes_drawn": "per_sample", "code_law": "sphere"}),
    "fixed codes of signs": ("selection", {"codes": "fixed", "code_law": "signs"}),
    "an unrelated query": ("selection", {"query": "independent", "loss_factor": 0.2}),
    "turned targets": ("selection", {"targets": "turned", "initial_scale": 0.05}),
    "constructed": ("selection", {"weights": "constructed"}),
    "dimensions": ("dimension", {}),
    "lengths": ("length", {}),
    "two fixed codes": ("length", {"first_arm": "fixed"}),
    "nets": ("fully_connected", {}),
    "deep nets that see positions": (
        "fully_connected",
        {"subset_input": "positions", "hidden_layers": 3, "net_init": "he"},
    ),
    "a constant subset": ("fully_connected", {"subsets": "constant"}),
}


@pytest.mark.parametrize("hidden_layers", [1, 3])
def test_nets_side_by_side_train_as_each_alone(hidden_layers: int) -> None:
    batch = small_batch(shared=True)
    inputs, targets = fully_connected.inputs_and_targets(batch, "multi_hot", np.float64)
    rng = np.random.default_rng(1)
    size = inputs.shape[1]
    alone = [
        fully_connected.Net.draw(rng, size, 7, hidden_layers, 5, "he", np.float64) for _ in range(3)
    ]
    rates = np.array([0.1, 1e200, 0.02])  # the second diverges, and must not touch the others
    beside = fully_connected.side_by_side(alone)
    for _ in range(4):
        fully_connected._descend_nets(inputs, targets, 0.7, rates, beside)
        for net, rate in zip(alone, rates, strict=True):
            fully_connected.descend_net(net, inputs, targets, 0.7, rate)
    for index, net in enumerate(alone):
        for block, one in zip(fully_connected.one_of(beside, index), net, strict=True):
            np.testing.assert_allclose(block, one, rtol=1e-10, atol=1e-12)
            assert np.isfinite(one).all() == (index != 1 or not one.size)


def test_a_net_that_diverges_ends_its_own_course_alone() -> None:
    values = np.array([[1.0, 2.0], [-1.0, 1.5], [-1.0, 1.25]])
    together = Series(steps=(0, 5, 10), values=values)
    first, second = (nets.loss_of_one(together, index) for index in (0, 1))
    assert first.steps == (0, 5)
    np.testing.assert_array_equal(first.values, [1.0, np.inf])
    assert second.steps == (0, 5, 10)
    np.testing.assert_array_equal(second.values, values[:, 1])


def test_the_exponential_in_lanes_is_the_librarys() -> None:
    x = -np.linspace(0.0, 87.0, 100_001, dtype=np.float32)
    found = np.array([layer._exponential(one) for one in x])
    np.testing.assert_allclose(found, np.exp(x.astype(np.float64)), rtol=3e-7)
    assert layer._exponential(np.float32(-1e30)) == pytest.approx(0.0, abs=2e-38)
    assert np.isnan(layer._exponential(np.float32(np.nan)))


@pytest.mark.parametrize(("experiment", "changes"), CARD.values(), ids=CARD)
def test_seeds_together_train_as_each_alone(
    experiment: str, changes: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The card's form, run on the processor, in double precision."""
    changes = {"precision": "float64", **changes}
    s = settings(experiment, **changes)
    measure = EXPERIMENTS[experiment].measure
    alone = {seed: measured(experiment, (seed,), **changes) for seed in (0, 1)}
    both = measure(s, MemorySession((0, 1)))
    assert all(same(both[seed], alone[seed]) for seed in (0, 1))
    called = []
    for module, name in ((wang_training, "train_layers"), (nets, "train_nets")):
        form = getattr(together, name)

        def on_the_processor(*args: Any, form: Any = form) -> None:
            assert args[-1] == "cuda"
            called.append(form)
            form(*args[:-1], "cpu")

        monkeypatch.setattr(module, name, on_the_processor)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    card = measure(s, MemorySession((0, 1), device="cuda"))
    assert bool(called) == (changes.get("weights") != "constructed")
    for seed, one in alone.items():
        for name, value in one.scalars.items():
            assert card[seed].scalars[name] == pytest.approx(value, rel=1e-4, abs=1e-6)
        for name, series in one.series.items():
            np.testing.assert_allclose(
                card[seed].series[name].values, series.values, rtol=1e-4, atol=1e-5
            )


def test_the_net_sees_tokens_and_subset() -> None:
    batch = small_batch(shared=True)
    hot, targets = fully_connected.inputs_and_targets(batch, "multi_hot", np.float64)
    placed, _ = fully_connected.inputs_and_targets(batch, "positions", np.float64)
    for b in range(len(hot)):
        np.testing.assert_array_equal(hot[b, :70].reshape(5, 14), batch.X[b])
        assert set(np.flatnonzero(hot[b, 70:])) == set(batch.queried[b])
        np.testing.assert_allclose(placed[b, 70:] * 14, np.sort(batch.queried[b]))
        np.testing.assert_allclose(targets[b], batch.X[b][:, batch.selected[b]].mean(axis=1), 1e-6)


@pytest.mark.parametrize("hidden_layers", [1, 2])
def test_the_net_has_about_the_wished_number_of_parameters(hidden_layers: int) -> None:
    width = fully_connected.width_for(31500, 1200, hidden_layers, 5)
    net = fully_connected.Net.draw(
        np.random.default_rng(0), 1200, width, hidden_layers, 5, "uniform", np.float32
    )
    assert sum(block.size for block in net) == fully_connected.net_parameters(
        1200, width, hidden_layers, 5
    )
    assert abs(sum(block.size for block in net) / 31500 - 1) < 0.03


# -------------------------------------------------------------------------------------- sampling


def test_normals_are_normal_and_independent() -> None:
    drawn = np.empty(2_000_001, np.float32)
    sampling.fill_normals(sampling.root(0, "normals"), drawn)
    values = drawn[:-1].astype(np.float64)
    assert stats.kstest(values, "norm").pvalue > 1e-3
    blocks = values[: len(values) // 1024 * 1024].reshape(-1, 2, 512).transpose(1, 0, 2)
    one, other = blocks.reshape(2, -1)  # the two normals of a pair
    bound = 5 / np.sqrt(len(one))
    for a, b in ((one, other), (one**2, other**2), (one[1:], one[:-1])):
        assert abs(np.corrcoef(a, b)[0, 1]) < bound
    tail = (np.abs(values) > 4).sum()
    expected = len(values) * 2 * stats.norm.sf(4)
    assert abs(tail - expected) < 5 * np.sqrt(expected)


def test_subsets_are_uniform() -> None:
    drawn = np.empty((40_000, 3), np.int64)
    sampling.fill_subsets(sampling.root(0, "subsets"), sampling.SUBSETS, 6, drawn)
    counts = Counter(tuple(sorted(row)) for row in drawn.tolist())
    assert counts.keys() == set(combinations(range(6), 3))
    assert stats.chisquare(list(counts.values())).pvalue > 1e-3


@pytest.mark.parametrize("law", ["gaussian", "signs", "sphere"])
def test_codes_have_unit_norm_and_are_nearly_orthogonal(law: str) -> None:
    codes = np.empty((400, 101), np.float32)
    sampling.fill_codes(sampling.root(0, "codes"), sampling.CODE_LAWS[law], 101**-0.5, codes)
    gram = codes.astype(np.float64) @ codes.T.astype(np.float64)
    norms = np.diag(gram)
    if law == "gaussian":
        assert norms.mean() == pytest.approx(1, abs=5 * np.sqrt(2 / 101 / 400))
    else:
        np.testing.assert_allclose(norms, 1, rtol=1e-5)
    overlaps_ = gram[np.triu_indices(400, 1)]
    assert (overlaps_**2).mean() == pytest.approx(1 / 101, rel=0.05)


def test_a_draw_depends_on_its_keys_alone() -> None:
    key = sampling.root(0, "train")
    first, again, next_ = (np.empty((4, 5, 6), np.float32) for _ in range(3))
    sampling.fill_tokens(np.uint64(sampling.child(key, 7)), first)
    sampling.fill_tokens(np.uint64(sampling.child(key, 8)), next_)
    sampling.fill_tokens(np.uint64(sampling.child(key, 7)), again)
    np.testing.assert_array_equal(first, again)
    assert not (first == next_).any()
    assert len({int(sampling.root(s, p)) for s in range(3) for p in "ab"}) == 6


def test_controls_change_what_is_queried_and_whose_mean_is_asked() -> None:
    own = small_batch(True)
    np.testing.assert_array_equal(own.queried, own.selected)
    np.testing.assert_array_equal(own.coordinates, np.arange(5))
    other = small_batch(True, other_query=True, turned_targets=True)
    np.testing.assert_array_equal(other.selected, own.selected)
    assert (other.queried != own.queried).any(axis=1).mean() > 0.5
    np.testing.assert_array_equal(other.coordinates, [1, 2, 3, 4, 0])
    fill_batch(NONE, law(subset_key=np.uint64(5)), own)
    assert len(np.unique(own.selected, axis=0)) == 1


# ------------------------------------------------------------------------------- the reachable loss


@pytest.mark.parametrize("attend_query", [False, True])
def test_the_formula_for_identity_blocks_is_the_models_loss(attend_query: bool) -> None:
    """By simulation of the layer itself, on other draws than the formula's averages."""
    T, q, d, d_e = 20, 3, 5, 24
    scores = overlaps(sampling.root(0, "formula"), 2000, T, q, d_e, sampling.GAUSSIAN, d_e**-0.5)
    found = identity_blocks(scores, 1.5, q, d, attend_query)
    weights = Weights.draw(np.random.default_rng(0), d, d_e, 0.0, np.float64)
    weights.set_identity(found.alpha, found.v)
    losses, masses = [], []
    for index in range(300):
        key = np.uint64(sampling.child(sampling.root(1, "simulation"), index))
        batch = SampleBatch.empty(64, d, T, q, d_e, shared=True)
        fill_batch(key, law(d_e), batch)
        loss, mass = fast.losses(batch, weights, attend_query)
        losses.append(loss.mean())
        masses.append(mass.mean())
    for value, sample in ((found.loss, losses), (found.mass, masses)):
        assert abs(np.mean(sample) - value) < 5 * np.std(sample) / np.sqrt(len(sample))


def test_with_orthogonal_codes_the_loss_goes_to_zero() -> None:
    """Scores are 1 for the selected and 0 for the rest: attention and loss in closed form."""
    T, q, d = 20, 3, 5
    scores = np.array([[1.0] * q + [0.0] * (T - q) + [float(q)]])
    alpha = 2.0
    found = identity_blocks(scores, alpha, q, d, attend_query=False)
    whole = q * np.exp(alpha) + T - q
    a, rest = np.exp(alpha) / whole, 1 / whole
    square = q * a**2 + (T - q) * rest**2
    assert found.mass == pytest.approx(q * a)
    assert found.loss == pytest.approx(d / 2 * (1 / q - a**2 / square))
    assert best_identity_blocks(scores, q, d, False, 1.0).loss < 1e-4


def test_the_best_identity_blocks_are_the_best() -> None:
    scores = overlaps(sampling.root(0, "best"), 200, 16, 3, 24, sampling.GAUSSIAN, 24**-0.5)
    best = best_identity_blocks(scores, 3, 5, False, 1.0)
    others = [identity_blocks(scores, a, 3, 5, False).loss for a in np.geomspace(0.05, 50, 200)]
    assert best.loss <= min(others) + 1e-9
    assert best.loss < 5 / 6


def test_the_scale_of_codes_only_rescales_alpha() -> None:
    unit = overlaps(sampling.root(0, "scale"), 50, 16, 3, 25, sampling.GAUSSIAN, 0.2)
    entries = overlaps(sampling.root(0, "scale"), 50, 16, 3, 25, sampling.GAUSSIAN, 1.0)
    one = best_identity_blocks(unit, 3, 5, False, 1.0)
    other = best_identity_blocks(entries, 3, 5, False, 5.0)
    assert other.loss == pytest.approx(one.loss, rel=1e-6)
    assert other.alpha * 25 == pytest.approx(one.alpha, rel=1e-3)


# ----------------------------------------------------------------------------------------- training


def test_steps_may_be_cut_anywhere() -> None:
    how, scratch = training(), SampleBatch.empty(16, 5, 14, 3, 9, True)
    whole, cut = random_weights(), random_weights()
    fast.train_steps(0, 20, how, scratch, whole)
    for start, stop in ((0, 1), (1, 8), (8, 20)):
        fast.train_steps(start, stop, how, scratch, cut)
    np.testing.assert_array_equal(whole.D, cut.D)
    np.testing.assert_array_equal(whole.value, cut.value)


def test_a_resumed_training_gives_the_same_bits() -> None:
    s = settings("selection", steps=40, anneal_at=20)
    whole = Arm.start(0, s, None, "fast")
    whole.advance(0, 40)
    session = MemorySession()
    arm = Arm.start(0, s, None, "fast")

    def run(one: Arm, steps: int) -> None:
        train(
            session,
            "phase",
            steps=steps,
            state=one.weights._asdict(),
            advance=one.advance,
            observe=lambda _step: {"norm": float(np.linalg.norm(one.weights.D))},
            observe_at=[0],
        )

    run(arm, 25)
    packed = torch.load(BytesIO(session.kept["phase"]), weights_only=True)
    packed["progress"]["finished"] = False  # as a checkpoint on the way is
    buffer = BytesIO()
    torch.save(packed, buffer)
    session.kept["phase"] = buffer.getvalue()
    resumed = Arm.start(0, s, None, "fast")
    run(resumed, 40)
    np.testing.assert_array_equal(resumed.weights.D, whole.weights.D)
    np.testing.assert_array_equal(resumed.weights.value, whole.weights.value)


def test_training_leaves_the_plateau_and_finds_the_identity() -> None:
    """A scale at which the fall comes within a second."""
    changes = {"tokens": 12, "code_dimension": 32, "batch": 64, "test_points": 1024}
    schedule = {"steps": 1200, "anneal_at": 600, "reachable_draws": 300}
    found = measured("selection", **changes, **schedule)
    loss, mass = found.series["loss"].values, found.series["mass"].values
    assert loss[0] > 3 * loss[-1]
    assert loss[-1] < 1.2 * found.scalars["reachable_loss"]
    assert mass[0] == pytest.approx(3 / 12)
    assert (found.series["cosine"].values[-1] > 0.95).all()
    lost = measured("selection", query="independent", **changes, **schedule)
    assert lost.series["loss"].values[-1] > 2 * loss[-1]
    assert lost.series["cosine"].values[-1, 0] < 0.5


def test_constructed_weights_are_the_ground_truth() -> None:
    found = measured("selection", weights="constructed")
    assert found.series["loss"].values[-1] == pytest.approx(found.scalars["reachable_loss"])
    assert found.series["mass"].values[-1] == pytest.approx(found.scalars["reachable_mass"])
    np.testing.assert_allclose(found.series["cosine"].values[-1], 1, rtol=1e-6)
    np.testing.assert_array_equal(found.series["cosine"].values[0], 0)
    np.testing.assert_array_equal(found.series["off_block"].values[-1], 0)
    scaled = measured("dimension", weights="constructed")
    assert scaled.scalars["exponent"] == pytest.approx(scaled.scalars["reachable_exponent"])
    longer, trained = measured("length", weights="constructed"), measured("length")
    assert longer.arrays["excess"][0, 0] == pytest.approx(1)
    for put, beside in (
        ("final_loss", "constructed_loss"),
        ("growth", "constructed_growth"),
        ("excess", "constructed_excess"),
    ):
        np.testing.assert_allclose(trained.arrays[beside], longer.arrays[put], rtol=1e-12)
    placed, net = measured("fully_connected", weights="constructed"), measured("fully_connected")
    np.testing.assert_allclose(
        net.series["loss_beside_blocks"].values[-1], placed.series["loss"].values[-1], rtol=1e-12
    )


@pytest.mark.parametrize("changes", [{}, {"targets": "turned"}, {"query": "independent"}])
def test_movement_is_that_of_whole_matrices_and_of_the_plain_training_loss(
    changes: dict[str, Any],
) -> None:
    changes = {"initial_scale": 0.05, "precision": "float64", "loss_factor": 0.7, **changes}
    s, found = settings("selection", **changes), measured("selection", **changes)
    arm = Arm.start(0, s, None, "fast")
    begin = [arm.weights.key_query, arm.weights.value]
    arm.advance(0, s.steps)
    ends = [arm.weights.key_query, arm.weights.value]
    change, start = (
        np.sqrt(sum((one**2).sum() for one in of))
        for of in ([b - a for a, b in zip(begin, ends, strict=True)], begin)
    )
    assert found.scalars["parameters_moved"] == pytest.approx(change / start, rel=1e-9)
    sample = draw_training_sample(0, s, None)
    turned, other = changes.get("targets") == "turned", changes.get("query") == "independent"
    assert all((one.coordinates[0] == 1) == turned for one in sample)
    assert all((one.queried != one.selected).any() == other for one in sample)
    first, last = (
        np.mean([plain_loss(one, *map(torch.tensor, of), False, 0.7).item() for one in sample])
        for of in (begin, ends)
    )
    moved = abs(last - first) / first
    assert found.scalars["training_loss_moved"] == pytest.approx(moved, rel=1e-6)


def test_a_net_and_its_layer_count_as_one_in_movement() -> None:
    found = measured("fully_connected", net_rates=(1e-9,))
    slow = measured("fully_connected", net_rates=(1e-9,), learning_rate=0.0, annealed_rate=0.0)
    assert slow.scalars == {**slow.scalars, "parameters_moved": 0.0, "training_loss_moved": 0.0}
    assert found.scalars["parameters_moved"] > 0
    assert found.scalars["training_loss_moved"] > 0.01
    diverged = measured("fully_connected", net_rates=(1e20, 0.1))
    assert np.isfinite(diverged.scalars["parameters_moved"])  # of the net that counts


def test_training_goes_on_with_its_schedule_begun_anew_and_disturbs_nothing() -> None:
    changes = {"steps": 60, "anneal_at": 30}
    s, found = settings("selection", **changes), measured("selection", **changes)
    arm = Arm.start(0, s, None, "fast")
    arm.advance(0, 60)
    np.testing.assert_array_equal(found.arrays["value_block"], arm.weights.V_x)
    how = training(
        key=sampling.root(0, "continued"),
        law=BatchLaw.of(s, 0, training=True, redraw_codes=True),
        annealed_rate=s.annealed_rate,
        anneal_at=3,
    )
    scratch = SampleBatch.empty(s.batch, 5, s.tokens, 3, s.code_dimension, True)
    fast.train_steps(0, 6, how, scratch, arm.weights)
    loss, _ = arm.loss_and_mass(draw_test_set(0, s, None))
    assert found.scalars["continued_loss"] == loss
    assert loss != found.series["loss"].values[-1]


def test_a_run_whose_phases_are_all_done_gives_the_same_numbers() -> None:
    s, session = settings("selection"), MemorySession()
    first = EXPERIMENTS["selection"].measure(s, session)[0]
    assert same(first, EXPERIMENTS["selection"].measure(s, session)[0])


def test_the_length_of_training_stretches_its_schedule() -> None:
    twice = measured("selection", training_length=2.0)
    by_hand = measured("selection", steps=40, anneal_at=20)
    np.testing.assert_array_equal(twice.series["loss"].values, by_hand.series["loss"].values)
    assert twice.scalars == by_hand.scalars


def test_turned_targets_are_learned_in_another_direction() -> None:
    """From zero the course is the same, with the rows of W_V moved on by one."""
    changes = {"tokens": 12, "code_dimension": 32, "batch": 64, "test_points": 1024}
    schedule = {"steps": 1200, "anneal_at": 600, "reachable_draws": 300}
    own = measured("selection", **changes, **schedule)
    turned = measured("selection", targets="turned", **changes, **schedule)
    np.testing.assert_allclose(
        turned.arrays["value_block"], np.roll(own.arrays["value_block"], -1, axis=0), atol=1e-3
    )
    cosines = turned.series["cosine"].values[-1]
    assert cosines[0] > 0.95
    assert abs(cosines[1]) < 0.2
    assert turned.scalars["training_loss_moved"] > 0.5


def test_directions_see_every_block() -> None:
    weights = random_weights(scale=0.0)
    weights.set_identity(3.0, 2.0)
    np.testing.assert_allclose(measures.directions(weights)["scale"], [3.0, 2.0])
    weights.idle[0, 0] = 9.0  # the norm of 3 I in nine dimensions
    weights.V_e[0, 0] = 2 * 5**0.5
    found = measures.directions(weights)
    np.testing.assert_allclose(found["cosine"], 2**-0.5, rtol=1e-12)
    np.testing.assert_allclose(found["off_block"], 2**-0.5, rtol=1e-12)


# -------------------------------------------------------------------------------------- experiments


@pytest.mark.parametrize("experiment", sorted(EXPERIMENTS))
def test_measurements_are_those_declared(experiment: str) -> None:
    declared = AUDIT.measurements_of(experiment)
    values = AUDIT.values_of(experiment, "smoke")
    found = measured(experiment)
    assert found.names == declared.keys()
    assert found.finite
    for name, one in found.series.items():
        assert declared[name].kind == "series"
        assert one.values.shape[1:] == declared[name].shape(values)
        assert (one.steps[0], one.steps[-1]) == (0, 20)
    for name, array in found.arrays.items():
        assert declared[name].kind == "array"
        assert array.shape == declared[name].shape(values)
    assert all(declared[name].kind == "scalar" for name in found.scalars)


@pytest.mark.parametrize("experiment", sorted(EXPERIMENTS))
def test_a_seed_gives_the_same_numbers_alone_and_beside_others(experiment: str) -> None:
    one = measured(experiment)
    assert same(one, measured(experiment, seeds=(0, 1)))
    assert not same(one, measured(experiment, seeds=(1,)))


@pytest.mark.parametrize("experiment", sorted(EXPERIMENTS))
def test_phases_are_those_announced(experiment: str) -> None:
    s, session = settings(experiment), MemorySession()
    EXPERIMENTS[experiment].measure(s, session)
    assert {(phase, total) for phase, _, total in session.told} == set(
        EXPERIMENTS[experiment].phases(s).items()
    )


LEDGER = [
    (entry.experiment or "selection", entry.name, other)
    for entry in AUDIT.ledger()
    for other in entry.setting.others
]


@pytest.mark.parametrize(("experiment", "name", "other"), LEDGER)
def test_every_alternative_of_the_ledger_is_implemented(
    experiment: str, name: str, other: Any
) -> None:
    value = 128 if name == "test_points" else other  # whole batches at this tier, too
    found = measured(experiment, **{name: value})
    if name == "net_rates":  # the rate that ends best may be the same one
        assert found.finite
    else:
        assert not same(measured(experiment), found)


def test_fixed_codes_go_on_as_the_setting_says() -> None:
    s = settings("length")
    T, longest = s.tokens, max(s.lengths)
    ahead = experiments.fixed_codes(0, s, "fixed_codes")
    repeated = experiments.fixed_codes(0, replace(s, continuation="repeated"), "fixed_codes")
    assert ahead.shape == (1, longest, s.code_dimension)
    np.testing.assert_array_equal(repeated[:, T:], ahead[:, : longest - T])
    redrawn = replace(s, continuation="redrawn")
    short, *_, long = experiments.validation_sets(0, redrawn, ahead)
    assert len(short.E) == 1
    assert len(long.E) == s.validation_points
    np.testing.assert_array_equal(long.E[:, :T], np.broadcast_to(ahead[:, :T], long.E[:, :T].shape))
    assert not (long.E[0, T:] == long.E[1, T:]).any()


def test_arms_are_tested_on_the_same_tokens_and_subsets() -> None:
    s = settings("length")
    stochastic = experiments.validation_sets(0, s, None)
    fixed = experiments.validation_sets(0, s, experiments.fixed_codes(0, s, "fixed_codes"))
    for one, other, length in zip(stochastic, fixed, s.lengths, strict=True):
        assert one.X.shape[2] == length
        np.testing.assert_array_equal(one.X, other.X)
        np.testing.assert_array_equal(one.selected, other.selected)


@pytest.mark.parametrize(
    ("experiment", "wrong"),
    [
        ("selection", {"codes": "learned"}),
        ("selection", {"selected": 12}),
        ("selection", {"test_points": 33}),
        ("length", {"length_factors": (1.5, 2.0)}),
        ("length", {"length_factors": (1.0, 3.0, 2.0)}),
    ],
)
def test_impossible_settings_are_refused(experiment: str, wrong: dict[str, Any]) -> None:
    with pytest.raises(SpecError, match=next(iter(wrong))) as refused:
        settings(experiment, **wrong)
    assert "\n" not in str(refused.value)


def test_a_diverged_arm_marks_the_whole() -> None:
    found = measured("dimension", learning_rate=1e20, annealed_rate=1e20)
    assert not found.finite


def test_the_net_that_ends_best_counts() -> None:
    found = measured("fully_connected", net_rates=(1e20, 0.1))
    only = measured("fully_connected", net_rates=(0.1,))
    assert found.finite
    # made together, products with the inputs may round otherwise
    assert found.scalars["unlearned"] == pytest.approx(only.scalars["unlearned"], rel=1e-6)


def test_reachable_knows_nothing_of_training() -> None:
    s = settings("selection")
    found = reachable(0, s, s.tokens, 20, attend_query=False)
    assert isinstance(found, IdentityBlocks)
    other = replace(s, learning_rate=9.0, steps=3)
    assert found == reachable(0, other, s.tokens, 20, attend_query=False)


def test_the_shapes_in_the_signatures_of_the_plain_form_hold() -> None:
    check = jaxtyped(typechecker=beartype)
    batch, weights = small_batch(shared=False), random_weights()
    X, E = (torch.tensor(one, dtype=torch.float64) for one in (batch.X, batch.E))
    W_KQ, W_V = torch.tensor(weights.key_query), torch.tensor(weights.value)
    selected = torch.tensor(batch.selected)
    Z, z_query = check(model.embed)(X, E), check(model.query)(E, selected, 5)
    check(model.attention)(Z, z_query, W_KQ)
    output = check(model.forward)(Z, z_query, W_KQ, W_V)
    check(model.selection_loss)(output, check(model.targets)(X, selected))
    with pytest.raises(TypeCheckError):
        check(model.forward)(Z, z_query, W_KQ, W_V[1:, 1:])


@pytest.mark.parametrize(("points", "steps"), [(90, 100_000), (60, 20), (40, 4000)])
def test_training_is_observed_at_the_same_steps_as_ever(points: int, steps: int) -> None:
    """A third of the points geometric, the rest even; records of earlier runs have these."""
    geometric = np.geomspace(1, steps, points // 3).round()
    even = np.linspace(0, steps, points - points // 3).round()
    expected = sorted({0, steps, *map(int, geometric), *map(int, even)})
    assert list(observed_steps(steps, points)) == expected
    assert expected == list(
        observation_steps(steps, even=points - points // 3, geometric=points // 3)
    )


@pytest.mark.parametrize("experiment", sorted(EXPERIMENTS))
def test_the_number_of_threads_moves_no_bit(experiment: str) -> None:
    """At the paper's sizes, where matrix products and norms are large enough to be shared out."""
    values = AUDIT.values_of(experiment, "paper", {"steps": 3, "reachable_draws": 4})
    if experiment == "fully_connected":
        values = {**values, "net_rates": [0.1]}
    s = build_settings(EXPERIMENTS[experiment].settings, values)
    with threadpool_limits(1):
        alone = EXPERIMENTS[experiment].measure(s, MemorySession())[0]
    with threadpool_limits(2):
        assert same(alone, EXPERIMENTS[experiment].measure(s, MemorySession())[0])


def test_directions_do_not_depend_on_the_number_of_threads() -> None:
    """A norm of 175 × 175 numbers is summed by as many threads as there are."""
    weights = random_weights(d_e=170)
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            found.append(measures.directions(weights))
    for name, one in found[0].items():
        np.testing.assert_array_equal(one, found[1][name])
