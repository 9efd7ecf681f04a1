"""wang2024: fast forms against plain ones, derived facts, constructed solutions, measurements."""

from collections import Counter
from dataclasses import replace
from functools import partial
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

from reproaudit.audit.arms import arms_of, runs_of
from reproaudit.audit.loading import load_audit, read_audit
from reproaudit.audit.model import TIERS
from reproaudit.errors import SpecError
from reproaudit.lab import Measurements, Series
from reproaudit.lab.settings import build_settings
from reproaudit.papers.wang2024 import (
    EXPERIMENTS,
    experiments,
    fast,
    measures,
    model,
    plain,
    sampling,
)
from reproaudit.papers.wang2024.constructed import (
    IdentityBlocks,
    best_identity_blocks,
    best_weights,
    identity_blocks,
    overlaps,
    reachable,
)
from reproaudit.papers.wang2024.model import Weights
from reproaudit.papers.wang2024.settings import Selection, net_parameters
from reproaudit.papers.wang2024.task import TokenBatch, draw_batch, draw_codes, draw_test_set
from reproaudit.papers.wang2024.training import Model, train_model, untrained_layer, untrained_nets
from sessions import Killed, MemorySession

AUDIT = load_audit(Path(__file__).parents[2] / "audits" / "wang2024.yaml")


def settings(experiment: str, **overrides: Any) -> Any:
    values = AUDIT.values_of(experiment, "smoke", overrides)
    return build_settings(EXPERIMENTS[experiment].settings, values)


def measured(experiment: str, seed: int = 0, **overrides: Any) -> Measurements:
    session = MemorySession(seed)
    return EXPERIMENTS[experiment].measure(settings(experiment, **overrides), session)


def same(a: Measurements, b: Measurements) -> bool:
    return a.model_dump() == b.model_dump()


def small(**changes: Any) -> Selection:
    """A task of a size at which every number can be compared, in double precision."""
    sizes = {"tokens": 14, "code_dimension": 9, "batch": 16, "test_points": 32}
    found: Selection = settings("selection", **{**sizes, "precision": "float64", **changes})
    return found


CONTROLS = {"query": "independent", "targets": "turned"}
OWN_CODES = {"codes_drawn": "per_sample"}


def small_batch(s: Selection) -> TokenBatch:
    return draw_batch(sampling.root(3, "test batch"), s, 3, training=True)


def random_weights(s: Selection) -> Weights:
    return Weights.draw(np.random.default_rng(0), replace(s, initial_scale=0.5))


def plain_loss(
    batch: TokenBatch, W_KQ: torch.Tensor, W_V: torch.Tensor, s: Selection
) -> torch.Tensor:
    """The training loss from the equations, beside `plain` itself."""
    X = torch.tensor(batch.X, dtype=torch.float64)
    E = torch.tensor(batch.E, dtype=torch.float64).expand(len(X), -1, -1)
    z_query = model.query(E, torch.tensor(batch.queried), X.shape[1])
    output = model.forward(model.embed(X, E), z_query, W_KQ, W_V, s.attend_query)
    target = model.targets(X[:, batch.coordinates], torch.tensor(batch.selected))
    return model.selection_loss(output, target, s.loss_factor)


def selected_share(weights: Weights, batch: TokenBatch, s: Selection) -> np.ndarray:
    """The attention on selected tokens over that on all tokens, where the query is left out."""
    X = torch.tensor(batch.X, dtype=torch.float64)
    E = torch.tensor(batch.E, dtype=torch.float64).expand(len(X), -1, -1)
    z_query = model.query(E, torch.tensor(batch.queried), X.shape[1])
    on_tokens = model.attention(model.embed(X, E), z_query, torch.tensor(weights.key_query))
    return on_tokens.gather(1, torch.tensor(batch.selected)).sum(dim=1).numpy()


# ------------------------------------------------------------------------- fast form = plain form


@pytest.mark.parametrize("codes", [{}, OWN_CODES])
@pytest.mark.parametrize("attended", ["tokens", "tokens_and_query"])
@pytest.mark.parametrize("controls", [{}, CONTROLS])
def test_the_fast_loss_and_gradient_equal_the_plain_form(codes, attended, controls):
    s = small(attended=attended, loss_factor=0.7, **codes, **controls)
    batch, weights = small_batch(s), random_weights(s)
    W_KQ, W_V = (torch.tensor(matrix, requires_grad=True) for matrix in weights)
    loss = plain_loss(batch, W_KQ, W_V, s)
    loss.backward()
    for form in (fast, plain):
        for slope, matrix in zip(form.gradient(weights, batch, s), (W_KQ, W_V), strict=True):
            assert matrix.grad is not None
            np.testing.assert_allclose(slope, matrix.grad.numpy(), rtol=0, atol=1e-10)
        losses, mass = form.losses(weights, batch, s)
        assert losses.mean() == pytest.approx(loss.item() * 0.5 / 0.7, abs=1e-10)
        np.testing.assert_allclose(mass, selected_share(weights, batch, s), rtol=0, atol=1e-10)
    for one, other in zip(
        fast.losses(weights, batch, s), plain.losses(weights, batch, s), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-10)


@pytest.mark.parametrize("codes", [{}, OWN_CODES])
@pytest.mark.parametrize("form", ["fast", "plain"])
def test_training_equals_torchs_sgd_on_the_same_draws(codes, form):
    changes = {"learning_rate": 1.0, "annealed_rate": 0.25, "anneal_at": 3, "initial_scale": 0.5}
    s = small(**changes, **codes)
    layer = untrained_layer(1, s, MemorySession(form=form))
    W_KQ, W_V = (torch.tensor(matrix, requires_grad=True) for matrix in layer.parameters)
    layer.advance(0, 6)
    for step in range(6):
        batch = draw_batch(sampling.child(sampling.root(1, "train"), step), s, 1)
        sgd = torch.optim.SGD([W_KQ, W_V], lr=1.0 if step < 3 else 0.25)
        sgd.zero_grad()
        plain_loss(batch, W_KQ, W_V, s).backward()
        sgd.step()
    for trained, expected in zip(layer.parameters, (W_KQ, W_V), strict=True):
        np.testing.assert_allclose(trained, expected.detach().numpy(), rtol=0, atol=1e-10)


def test_on_a_card_and_where_it_is_asked_for_the_plain_form_runs():
    s = settings("selection")
    forms = [
        untrained_layer(0, s, session)
        for session in (
            MemorySession(),
            MemorySession(form="plain"),
            MemorySession(device="cuda"),
            MemorySession(device="cuda", form="plain"),
        )
    ]
    assert (forms[0].losses, forms[0].gradient) == (fast.losses, fast.gradient)
    for one, device in zip(forms[1:], ("cpu", "cuda", "cuda"), strict=True):
        for function, expected in ((one.losses, plain.losses), (one.gradient, plain.gradient)):
            assert isinstance(function, partial)
            assert (function.func, function.keywords) == (expected, {"device": device})


def test_the_net_sees_tokens_and_subset():
    s = settings("fully_connected", tokens=14)
    batch, like = small_batch(s), torch.zeros((), dtype=torch.float64)
    hot = plain.net_inputs(batch, s, like).numpy()
    placed = plain.net_inputs(batch, replace(s, subset_input="positions"), like).numpy()
    for b in range(len(hot)):
        np.testing.assert_array_equal(hot[b, :70].reshape(5, 14), batch.X[b])
        assert set(np.flatnonzero(hot[b, 70:])) == set(batch.queried[b])
        np.testing.assert_allclose(placed[b, 70:] * 14, np.sort(batch.queried[b]))
    assert hot.shape[1] == s.net_sizes[0]
    assert placed.shape[1] == replace(s, subset_input="positions").net_sizes[0]


@pytest.mark.parametrize("hidden_layers", [1, 3])
def test_nets_are_trained_as_by_torchs_own_layers(hidden_layers):
    changes = {"hidden_layers": hidden_layers, "net_init": "he", "targets": "turned"}
    changes = {**changes, "precision": "float64", "loss_factor": 0.7, "net_rates": (0.1, 0.02)}
    s = settings("fully_connected", **changes)
    nets = untrained_nets(1, s, MemorySession())
    nets.advance(0, 4)
    begins, ends = (plain.split_nets(blocks, s) for blocks in (nets.begin, nets.parameters))
    for rate, begin, end in zip(s.net_rates, begins, ends, strict=True):
        theirs: list[torch.nn.Module] = []
        for W, b in zip(begin[::2], begin[1::2], strict=True):
            linear = torch.nn.Linear(*W.shape[::-1], dtype=torch.float64)
            linear.load_state_dict({"weight": torch.tensor(W), "bias": torch.tensor(b)})
            theirs += [linear, torch.nn.ReLU()]
        sequence = torch.nn.Sequential(*theirs[:-1])
        sgd = torch.optim.SGD(sequence.parameters(), lr=rate * s.learning_rate)
        for step in range(4):
            batch = draw_batch(sampling.child(sampling.root(1, "train"), step), s, 1)
            X = torch.tensor(batch.X, dtype=torch.float64)
            hot = torch.nn.functional.one_hot(torch.tensor(batch.queried), s.tokens).sum(dim=1)
            output = sequence(torch.cat([X.flatten(1), hot], dim=1))
            target = model.targets(X, torch.tensor(batch.selected))
            sgd.zero_grad()
            (0.7 * (output - target).square().sum(dim=1).mean()).backward()
            sgd.step()
        for block, expected in zip(end, sequence.parameters(), strict=True):
            np.testing.assert_allclose(block, expected.detach().numpy(), rtol=0, atol=1e-10)


@pytest.mark.parametrize("hidden_layers", [1, 2])
def test_the_net_has_about_the_wished_number_of_parameters(hidden_layers):
    changes = {"hidden_layers": hidden_layers, "net_rates": [0.1]}
    values = AUDIT.values_of("fully_connected", "paper", changes)
    s = build_settings(EXPERIMENTS["fully_connected"].settings, values)
    net = untrained_nets(0, s, MemorySession())
    assert sum(block.size for block in net.parameters) == net_parameters(s.net_sizes)
    assert s.layer_parameters == 175 * 175 + 5 * 175
    assert abs(net_parameters(s.net_sizes) / s.layer_parameters - 1) < 0.03


# -------------------------------------------------------------------------------------- sampling


def test_normals_are_normal_and_independent():
    drawn = sampling.normals(sampling.root(0, "normals"), (2_000_001,))
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


def test_subsets_are_uniform():
    drawn = sampling.subsets(sampling.root(0, "subsets"), 40_000, 6, 3)
    counts = Counter(tuple(sorted(row)) for row in drawn.tolist())
    assert counts.keys() == set(combinations(range(6), 3))
    assert stats.chisquare(list(counts.values())).pvalue > 1e-3


@pytest.mark.parametrize("law", ["gaussian", "signs", "sphere"])
def test_codes_have_unit_norm_and_are_nearly_orthogonal(law):
    (codes,) = draw_codes(
        sampling.root(0, "codes"), small(code_law=law, code_dimension=101), positions=400
    )
    gram = codes.astype(np.float64) @ codes.T.astype(np.float64)
    norms = np.diag(gram)
    if law == "gaussian":
        assert norms.mean() == pytest.approx(1, abs=5 * np.sqrt(2 / 101 / 400))
    else:
        np.testing.assert_allclose(norms, 1, rtol=1e-5)
    overlaps_ = gram[np.triu_indices(400, 1)]
    assert (overlaps_**2).mean() == pytest.approx(1 / 101, rel=0.05)


def test_a_draw_depends_on_its_keys_alone():
    key, shape = sampling.root(0, "train"), (4, 5, 6)
    first, next_, again = (sampling.normals(sampling.child(key, k), shape) for k in (7, 8, 7))
    np.testing.assert_array_equal(first, again)
    assert not (first == next_).any()
    assert len({int(sampling.root(s, p)) for s in range(3) for p in "ab"}) == 6


def test_controls_change_what_is_queried_and_whose_mean_is_asked():
    own = small_batch(small())
    np.testing.assert_array_equal(own.queried, own.selected)
    np.testing.assert_array_equal(own.coordinates, np.arange(5))
    other = small_batch(small(**CONTROLS))
    np.testing.assert_array_equal(other.selected, own.selected)
    assert (other.queried != own.queried).any(axis=1).mean() > 0.5
    np.testing.assert_array_equal(other.coordinates, [1, 2, 3, 4, 0])
    constant = small(subsets="constant")
    one, another = (draw_batch(sampling.root(0, name), constant, 0).selected for name in ("a", "b"))
    assert len(np.unique(np.concatenate([one, another]), axis=0)) == 1


# ------------------------------------------------------------------------------- the reachable loss


@pytest.mark.parametrize("attended", ["tokens", "tokens_and_query"])
def test_the_formula_for_identity_blocks_is_the_models_loss(attended):
    """By simulation of the layer itself, on other draws than the formula's averages."""
    sizes = {"tokens": 20, "code_dimension": 24, "batch": 64, "test_points": 64}
    s = small(attended=attended, reachable_draws=2000, **sizes)
    found = identity_blocks(overlaps(sampling.root(0, "formula"), s, 20), 1.5, s)
    weights = Weights.identity(s, found.alpha, found.v)
    losses, masses = [], []
    for index in range(300):
        batch = draw_batch(sampling.child(sampling.root(1, "simulation"), index), s, 0)
        loss, mass = fast.losses(weights, batch, s)
        losses.append(loss.mean())
        masses.append(mass.mean())
    for value, sample in ((found.loss, losses), (found.mass, masses)):
        assert abs(np.mean(sample) - value) < 5 * np.std(sample) / np.sqrt(len(sample))


def test_with_orthogonal_codes_the_loss_goes_to_zero():
    """Scores are 1 for the selected and 0 for the rest: attention and loss in closed form."""
    T, q, d = 20, 3, 5
    scores = np.array([[1.0] * q + [0.0] * (T - q) + [float(q)]])
    alpha = 2.0
    found = identity_blocks(scores, alpha, small(tokens=T))
    whole = q * np.exp(alpha) + T - q
    a, rest = np.exp(alpha) / whole, 1 / whole
    square = q * a**2 + (T - q) * rest**2
    assert found.mass == pytest.approx(q * a)
    assert found.loss == pytest.approx(d / 2 * (1 / q - a**2 / square))
    assert best_identity_blocks(scores, small(tokens=T)).loss < 1e-4


def test_the_best_identity_blocks_are_the_best():
    s = small(tokens=16, code_dimension=24, reachable_draws=200)
    scores = overlaps(sampling.root(0, "best"), s, 16)
    best = best_identity_blocks(scores, s)
    others = [identity_blocks(scores, a, s).loss for a in np.geomspace(0.05, 50, 200)]
    assert best.loss <= min(others) + 1e-9
    assert best.loss < 5 / 6


# ----------------------------------------------------------------------------------------- training


def layer_of(s: Selection, session: MemorySession | None = None) -> Model:
    return untrained_layer(0, s, session or MemorySession())


@pytest.mark.parametrize("kind", ["layer", "net"])
def test_a_resumed_training_gives_the_same_bits(kind, monkeypatch):
    monkeypatch.setattr("reproaudit.lab.training.CHECKPOINT_SECONDS", 0.0)
    s = settings("fully_connected", steps=40, anneal_at=20)

    def untrained() -> Model:
        return layer_of(s) if kind == "layer" else untrained_nets(0, s, MemorySession())

    whole, cut, resumed = (untrained() for _ in range(3))
    whole.advance(0, 40)
    session = MemorySession(cut=25)
    with pytest.raises(Killed):
        train_model(cut, session, "phase", 12, lambda: {"norm": 0.0})
    session.cut = None
    session.told.clear()
    train_model(resumed, session, "phase", 12, lambda: {"norm": 0.0})
    assert 0 < session.told[0][1] <= 25
    for one, other in zip(resumed.parameters, whole.parameters, strict=True):
        np.testing.assert_array_equal(one, other)


LEARNT = {
    "tokens": 12,
    "code_dimension": 32,
    "batch": 64,
    "test_points": 1024,
    "steps": 1200,
    "anneal_at": 600,
    "reachable_draws": 300,
    "attended": "tokens",
    "companions": "untrained",
}
"""A scale at which the fall comes within a second."""


def test_training_leaves_the_plateau_and_finds_the_identity():
    """With other targets, in another direction: from zero, the rows of W_V are moved on by one."""
    found = measured("query_attended", **LEARNT)
    loss, mass = found.series["loss"].values, found.series["mass"].values
    assert loss[0] > 3 * loss[-1]
    assert loss[-1] < 1.2 * found.scalars["reachable_loss"]
    assert mass[0] == pytest.approx(3 / 12)
    assert (found.series["cosine"].values[-1] > 0.95).all()
    lost = measured("query_attended", query="independent", **LEARNT)
    assert lost.series["loss"].values[-1] > 2 * loss[-1]
    assert lost.series["cosine"].values[-1, 0] < 0.5
    turned = measured("query_attended", targets="turned", **LEARNT)
    moved_on = np.roll(found.arrays["value_block"], -1, axis=0)
    np.testing.assert_allclose(turned.arrays["value_block"], moved_on, atol=1e-3)
    cosines = turned.series["cosine"].values[-1]
    assert cosines[0] > 0.95
    assert abs(cosines[1]) < 0.2


@pytest.mark.parametrize("changes", [{}, {"targets": "turned"}, {"query": "independent"}])
def test_movement_is_that_of_whole_matrices_and_of_the_plain_training_loss(changes):
    changes = {"initial_scale": 0.05, "precision": "float64", "loss_factor": 0.7, **changes}
    s, found = settings("selection", **changes), measured("selection", **changes)
    layer = layer_of(s)
    layer.advance(0, s.steps)
    change, start = (
        np.sqrt(sum((one**2).sum() for one in of))
        for of in ([b - a for a, b in zip(layer.begin, layer.parameters, strict=True)], layer.begin)
    )
    assert found.scalars["parameters_moved"] == pytest.approx(change / start, rel=1e-9)
    sample = draw_test_set(0, s, None, s.tokens, training=True)
    turned, other = changes.get("targets") == "turned", changes.get("query") == "independent"
    assert all((one.coordinates[0] == 1) == turned for one in sample)
    assert all((one.queried != one.selected).any() == other for one in sample)
    first, last = (
        np.mean([plain_loss(one, *map(torch.tensor, of), s).item() for one in sample])
        for of in (layer.begin, layer.parameters)
    )
    moved = abs(last - first) / first
    assert found.scalars["training_loss_moved"] == pytest.approx(moved, rel=1e-6)


def test_constructed_weights_are_the_ground_truth():
    found = measured("selection", weights="constructed", companions="untrained")
    assert found.series["loss"].values[-1] == pytest.approx(found.scalars["reachable_loss"])
    assert found.series["mass"].values[-1] == pytest.approx(found.scalars["reachable_mass"])
    np.testing.assert_allclose(found.series["cosine"].values[-1], 1, rtol=1e-6)
    np.testing.assert_array_equal(found.series["cosine"].values[0], 0)
    np.testing.assert_array_equal(found.series["off_block"].values[-1], 0)
    assert found.arrays["excess"][0, 0] == pytest.approx(1)
    assert found.scalars["exponent"] == pytest.approx(found.scalars["reachable_exponent"])


def test_training_on_begins_at_the_ground_truth_and_moves():
    found = measured("query_attended", weights="trained_on", companions="untrained")
    loss = found.series["loss"].values
    assert loss[0] == pytest.approx(found.scalars["reachable_loss"])
    assert loss[-1] != loss[0]
    np.testing.assert_allclose(found.series["cosine"].values[0], 1, rtol=1e-6)
    fixed = found.series["length_loss"].values[:, 1]  # keeps its start
    np.testing.assert_array_equal(fixed, np.broadcast_to(fixed[0], fixed.shape))


def test_the_length_of_training_stretches_its_schedule():
    twice = measured("selection", training_length=2.0)
    by_hand = measured("selection", steps=40, anneal_at=20)
    np.testing.assert_array_equal(twice.series["loss"].values, by_hand.series["loss"].values)
    assert twice.scalars == by_hand.scalars


def test_directions_see_every_block():
    weights = Weights.identity(small(), 3.0, 2.0)
    np.testing.assert_allclose(measures.directions(weights)["scale"], [3.0, 2.0])
    weights.key_query[0, 0] = 9.0  # the norm of 3 I in nine dimensions
    weights.value[0, -1] = 2 * 5**0.5
    found = measures.directions(weights)
    np.testing.assert_allclose(found["cosine"], 2**-0.5, rtol=1e-12)
    np.testing.assert_allclose(found["off_block"], 2**-0.5, rtol=1e-12)


# -------------------------------------------------------------------------------------- experiments


@pytest.mark.parametrize("experiment", sorted(EXPERIMENTS))
def test_phases_are_those_announced(experiment):
    s, session = settings(experiment), MemorySession()
    EXPERIMENTS[experiment].measure(s, session)
    assert {(phase, total) for phase, _, total in session.told} == set(
        EXPERIMENTS[experiment].phases(s).items()
    )


LEDGER = [
    (experiment, name, other)
    for experiment, stated in (
        ("selection", AUDIT.settings),
        *((name, one.settings) for name, one in AUDIT.experiments.items()),
    )
    for name, setting in stated.items()
    if setting.underspecified
    for other in setting.others
]


@pytest.mark.parametrize(("experiment", "name", "other"), LEDGER)
def test_every_alternative_of_the_ledger_is_implemented(experiment, name, other):
    assert not same(measured(experiment), measured(experiment, **{name: other}))


def test_layers_beside_the_first_are_trained_as_if_alone():
    found, s = measured("selection"), settings("selection")
    codes = draw_codes(sampling.root(0, "fixed_codes"), s, s.tokens)
    fixed = untrained_layer(0, s, MemorySession(), codes)
    fixed.advance(0, s.steps)
    points = experiments.points_by_length(0, s, codes)
    expected = [fixed.loss(point) for point in points]
    np.testing.assert_array_equal(found.arrays["final_loss"][1], expected)
    *others, first = s.dimensions
    assert first == s.code_dimension
    assert found.arrays["dimension_loss"][-1] == found.series["loss"].values[-1]
    for d_e, loss in zip(others, found.arrays["dimension_loss"][:-1], strict=True):
        alone = measured("query_attended", attended="tokens", code_dimension=d_e)
        assert loss == alone.series["loss"].values[-1]


def test_fixed_codes_go_on_as_the_setting_says():
    s = settings("selection")
    T, longest = s.tokens, max(s.lengths)
    fixed = draw_codes(sampling.root(0, "fixed_codes"), s, T)
    for continuation in ("drawn_further", "repeated", "all_new"):
        changed = replace(s, continuation=continuation)
        short = draw_test_set(0, changed, fixed, T)
        assert all((fixed == one.E).all() for one in short)
        long, other = draw_test_set(0, changed, fixed, longest)[:2]
        assert long.E.shape == (1, longest, s.code_dimension)
        assert (long.E[:, :T] == fixed).all() == (continuation != "all_new")
        if continuation == "repeated":
            np.testing.assert_array_equal(long.E[:, T : 2 * T], fixed)
        else:  # another draw for each batch, of the law of the others
            assert not (long.E[:, T:] == other.E[:, T:]).any()
            assert (long.E[:, T:] ** 2).sum(axis=2).mean() == pytest.approx(1, abs=0.3)


def test_layers_are_tested_on_the_same_tokens_and_subsets():
    s = settings("selection")
    fixed = draw_codes(sampling.root(0, "fixed_codes"), s, s.tokens)
    both = (experiments.points_by_length(0, s, codes) for codes in (None, fixed))
    for length, *sets in zip(s.lengths, *both, strict=True):
        for one, other in zip(*sets, strict=True):
            assert one.X.shape[2] == length
            np.testing.assert_array_equal(one.X, other.X)
            np.testing.assert_array_equal(one.selected, other.selected)


def test_drift_is_the_late_mean_over_that_of_the_second_quarter():
    steps = tuple(range(0, 101, 5))
    rising, level = np.array(steps) + 1.0, np.full(len(steps), 3.0)
    found = measures.drift(Series(steps=steps, values=np.stack([rising, level], axis=1)))
    np.testing.assert_allclose(
        found, [np.mean([86, 91, 96, 101]) / np.mean([26, 31, 36, 41, 46, 51]), 1]
    )


@pytest.mark.parametrize(
    ("experiment", "wrong"),
    [
        ("selection", {"codes": "learned"}),
        ("selection", {"selected": 12}),
        ("selection", {"test_points": 33}),
        ("query_attended", {"length_factors": (1.5, 2.0)}),
        ("query_attended", {"length_factors": (1.0, 3.0, 2.0)}),
    ],
)
def test_impossible_settings_are_refused(experiment, wrong):
    with pytest.raises(SpecError, match=next(iter(wrong))) as refused:
        settings(experiment, **wrong)
    assert "\n" not in str(refused.value)


def test_the_best_net_counts_and_others_may_diverge():
    found = measured("fully_connected", net_rates=(1e20, 0.1, 1e-9))
    only = measured("fully_connected", net_rates=(0.1,))
    assert found.finite
    assert found.scalars == pytest.approx(only.scalars, rel=1e-12)
    assert not measured("fully_connected", net_rates=(1e20, 1e25)).finite


def test_a_layer_that_diverges_marks_the_whole():
    assert not measured("selection", learning_rate=1e20, annealed_rate=1e20).finite


def test_reachable_knows_nothing_of_training():
    s = replace(settings("selection"), reachable_draws=20)
    found = reachable(0, s, s.tokens)
    assert isinstance(found, IdentityBlocks)
    assert found == reachable(0, replace(s, learning_rate=9.0, steps=3), s.tokens)
    weights = best_weights(0, s, s.tokens)
    assert weights.key_query[-1, -1] == np.float32(found.alpha)
    assert weights.value[0, 0] == np.float32(found.v)


def test_the_shapes_in_the_signatures_of_the_plain_form_hold():
    check = jaxtyped(typechecker=beartype)
    s = small(codes_drawn="per_sample")
    batch = small_batch(s)
    X, E = (torch.tensor(one, dtype=torch.float64) for one in (batch.X, batch.E))
    W_KQ, W_V = map(torch.tensor, random_weights(s))
    selected = torch.tensor(batch.selected)
    Z, z_query = check(model.embed)(X, E), check(model.query)(E, selected, 5)
    check(model.attention)(Z, z_query, W_KQ)
    output = check(model.forward)(Z, z_query, W_KQ, W_V)
    check(model.selection_loss)(output, check(model.targets)(X, selected))
    with pytest.raises(TypeCheckError):
        check(model.forward)(Z, z_query, W_KQ, W_V[1:, 1:])


@pytest.mark.parametrize("experiment", sorted(EXPERIMENTS))
def test_the_number_of_threads_moves_no_bit(experiment):
    """At the paper's sizes, where matrix products and norms are large enough to be shared out."""
    values = AUDIT.values_of(experiment, "paper", {"steps": 3, "reachable_draws": 4})
    if experiment == "fully_connected":
        values = {**values, "net_rates": [0.1]}
    s = build_settings(EXPERIMENTS[experiment].settings, values)
    with threadpool_limits(1):
        alone = EXPERIMENTS[experiment].measure(s, MemorySession())
    with threadpool_limits(2):
        assert same(alone, EXPERIMENTS[experiment].measure(s, MemorySession()))


# ------------------------------------------------------------------------------------- the audit


def test_the_claim_on_width_has_one_size_at_every_tier():
    """And its control has as many runs as its own arm; other arms of its experiment have one."""
    assert read_audit(Path(__file__).parents[2] / "audits" / "wang2024.yaml")[1] == []
    (claim,) = (one for one in AUDIT.claims if one.id == "wang2024.width")
    arms = {arm.name: arm for arm in arms_of(AUDIT, claim)}
    for tier in TIERS:
        for name, width in (("own", 5), ("first_layer_of_25_td", 500)):
            s = build_settings(EXPERIMENTS["wide_net"].settings, arms[name].settings(AUDIT, tier))
            assert s.net_sizes == (40, width, 1), tier
    assert runs_of(AUDIT, claim, arms["first_layer_of_25_td"], "paper") == 10
    assert runs_of(AUDIT, claim, arms["first_layer_of_td"], "paper") == 1
