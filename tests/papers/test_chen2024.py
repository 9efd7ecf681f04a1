"""chen2024: the counted form is the position-by-position one; what is derived, checked by hand."""

import doctest
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from beartype import beartype
from jaxtyping import TypeCheckError, jaxtyped
from threadpoolctl import threadpool_limits

from reproaudit.audit.loading import load_audit
from reproaudit.audit.model import Audit
from reproaudit.errors import SpecError
from reproaudit.lab import Measurements, Series, generator
from reproaudit.lab.settings import build_settings
from reproaudit.papers.chen2024 import EXPERIMENTS, fast, information, measures, model, task
from reproaudit.papers.chen2024.constructed import InductionHead, induction_head_weights
from reproaudit.papers.chen2024.experiments import (
    initial_parameters,
    seed_data,
    steps_of,
    take_steps,
)
from reproaudit.papers.chen2024.fast import Windows
from reproaudit.papers.chen2024.measures import SeedData
from reproaudit.papers.chen2024.model import Architecture, Parameters, Positions
from reproaudit.papers.chen2024.settings import Phase
from sessions import Killed, MemorySession

SUBSETS = model.subsets_up_to(3, 2)
ALL = Parameters._fields
READINGS = ("of_probabilities", "of_softmaxed_probabilities")


@cache
def audit() -> Audit:
    return load_audit(Path(__file__).parents[2] / "audits" / "chen2024.yaml")


def settings_of(experiment: str, tier: Any = "smoke", **changed: Any) -> Any:
    values = audit().values_of(experiment, tier, changed)
    return build_settings(EXPERIMENTS[experiment].settings, values)


def measured(experiment: str, seed: int = 0, **changed: Any) -> Measurements:
    run = EXPERIMENTS[experiment].measure
    return run(settings_of(experiment, **changed), MemorySession(seed))


def data_of(settings: Any, seed: int = 0) -> SeedData:
    return seed_data(settings, MemorySession(seed))


def construct(on: SeedData) -> Parameters:
    return induction_head_weights(on.settings, on.training, on.training_targets)


# ----------------------------------------------------------------------- the two forms are equal


def sequences(count: int = 60, length: int = 24, order: int = 2) -> task.Sequences:
    return task.draw_sequences(
        generator(3, "test"), count, length=length, order=order, vocabulary=3, dirichlet=0.3
    )


def parameters(sharpness: float = 1.7) -> Parameters:
    rng = generator(4, "test")
    return Parameters(rng.normal(size=(3, 3)), rng.normal(size=7), np.array([sharpness]))


def architecture(lag_windows: Any = "common") -> Architecture:
    return Architecture.build(lag_windows, heads=3, window=3, degree=2)


def plain_loss(
    drawn: task.Sequences, of: Architecture, reading: Any, at: model.Parameters
) -> tuple[torch.Tensor, torch.Tensor]:
    sequence = model.one_hot(torch.from_numpy(drawn.tokens), 3, torch.float64)
    predictions = model.predict(sequence, at, of)
    targets = torch.from_numpy(drawn.targets)
    return model.trained_loss(predictions, targets, reading, 1e-8), predictions


@pytest.mark.parametrize("lag_windows", ["common", "own_onwards"])
@pytest.mark.parametrize("reading", READINGS)
def test_loss_and_gradient_are_those_of_the_plain_form(lag_windows, reading):
    drawn, of = sequences(), architecture(lag_windows)
    at = model.Parameters(
        *(torch.from_numpy(parameter).requires_grad_() for parameter in parameters())
    )
    expected, predictions = plain_loss(drawn, of, reading, at)
    slopes = torch.autograd.grad(expected, at)
    for form in (Windows.of(drawn, of, 3), positions(drawn, of)):
        loss, gradient = form.loss_and_gradient(parameters(), ALL, reading, 1e-8)
        assert loss == pytest.approx(expected.item(), abs=1e-12)
        for name, plain in zip(ALL, slopes, strict=True):
            assert np.abs(plain.numpy()).max() > 1e-4
            np.testing.assert_allclose(gradient[name], plain.numpy(), atol=1e-14, rtol=0)
        np.testing.assert_allclose(
            form.predict(parameters()), predictions.detach().numpy(), atol=1e-14, rtol=0
        )
        np.testing.assert_allclose(
            form.vote(np.ones_like(form.kernel(parameters()))), uniform(drawn)
        )


def positions(drawn: task.Sequences, of: Architecture) -> Positions:
    return Positions.of(drawn.tokens, drawn.targets, of, 3, np.float64)


def uniform(drawn: task.Sequences) -> np.ndarray:
    return np.stack([(drawn.tokens == token).mean(axis=1) for token in range(3)], axis=1)


@pytest.mark.parametrize("degree", [0, 1, 3])
def test_the_forms_agree_on_sets_of_any_size(degree):
    drawn, of = sequences(), Architecture.build("own_onwards", heads=3, window=2, degree=degree)
    rng = generator(8, "test")
    at = Parameters(rng.normal(size=(3, 2)), rng.normal(size=len(of.subsets)), np.array([0.9]))
    counted = Windows.of(drawn, of, 3).loss_and_gradient(at, ALL, READINGS[0], 1e-8)
    plain = positions(drawn, of).loss_and_gradient(
        at, ALL[:2] if degree else ALL[1:2], READINGS[0], 1e-8
    )
    assert counted[0] == pytest.approx(plain[0], abs=1e-14)
    for name, slope in plain[1].items():
        np.testing.assert_allclose(counted[1][name], slope, atol=1e-14, rtol=0)


def test_only_the_gradients_that_are_asked_for_are_made():
    drawn, of = sequences(), architecture()
    for form in (Windows.of(drawn, of, 3), positions(drawn, of)):
        for trained in ((), ALL[:1], ALL[1:]):
            _, gradient = form.loss_and_gradient(parameters(), trained, READINGS[0], 1e-8)
            assert gradient.keys() == set(trained)


@pytest.mark.parametrize(
    "trained", [("coefficients",), ("lag_weights",), ("sharpness",), ALL], ids="+".join
)
def test_training_follows_the_plain_form(trained):
    drawn, of = sequences(), architecture()
    at = model.Parameters(*map(torch.from_numpy, parameters()))
    for _ in range(8):
        leaves = model.Parameters(
            *(one.detach().requires_grad_(name in trained) for name, one in at._asdict().items())
        )
        plain_loss(drawn, of, READINGS[0], leaves)[0].backward()
        at = model.Parameters(
            *(
                leaf.detach() - (0.5 * leaf.grad if leaf.grad is not None else 0.0)
                for leaf in leaves
            )
        )
    phase = Phase("all", 8, 0.5, trained)
    settings = settings_of("staged", epsilon=1e-8)
    for form in (Windows.of(drawn, of, 3), positions(drawn, of)):
        ours = parameters()
        take_steps(form, ours, phase, settings, 8)
        for one, plain in zip(ours, at, strict=True):
            np.testing.assert_allclose(one, plain.numpy(), atol=1e-12, rtol=0)


@pytest.mark.parametrize("experiment", sorted(EXPERIMENTS))
def test_a_card_computes_the_plain_form(experiment, monkeypatch):
    """The card's code, on the processor in place of the card."""
    settings = settings_of(experiment, precision="float64")
    run = EXPERIMENTS[experiment].measure
    plain = run(settings, MemorySession(1, form="plain"))
    real, called = Positions.of, []

    def on_the_processor(*arguments: Any) -> Positions:
        called.append(arguments[-1])
        return real(*arguments[:-1], "cpu")

    monkeypatch.setattr(Positions, "of", on_the_processor)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    card = run(settings, MemorySession(1, device="cuda"))
    assert set(called) == {"cuda"}
    assert _same(card, plain)


def test_the_worked_example_of_counted_windows_holds():
    tried = doctest.testmod(fast)
    assert tried.attempted > 10
    assert not tried.failed


def test_the_worked_example_is_the_plain_form_too():
    of = Architecture.build("common", heads=2, window=2, degree=2)
    copiers = torch.tensor([[30.0, 0.0], [0.0, 30.0]])
    at = model.Parameters(copiers, torch.ones(4), torch.tensor([4 * np.log(2)]))
    sequence = model.one_hot(torch.tensor([[0, 1, 1, 0, 1, 1, 0, 1]]), 2, torch.float32)
    by_position = model.kernel(sequence, at, of)[:, 0].tolist()
    assert by_position == pytest.approx([0.25, 0.5, 1, 0.5, 0.25, 1, 0.5, 0.25])
    assert model.predict(sequence, at, of)[0].tolist() == pytest.approx([0.2, 0.8])


def test_the_shapes_in_the_signatures_of_the_plain_form_hold():
    check = jaxtyped(typechecker=beartype)
    drawn, of = sequences(), architecture("own_onwards")
    at = model.Parameters(*map(torch.from_numpy, parameters()))
    sequence = check(model.one_hot)(torch.from_numpy(drawn.tokens), 3, torch.float64)
    check(model.attention_to_lags)(at.lag_weights[1], of.lags[1], 24)
    check(model.features)(sequence, at.lag_weights[1], of.lags[1])
    check(model.kernel)(sequence, at, of)
    predictions = check(model.predict)(sequence, at, of)
    targets = torch.from_numpy(drawn.targets)
    check(model.trained_loss)(predictions, targets, "of_probabilities", 1e-8)
    with pytest.raises(TypeCheckError):
        check(model.trained_loss)(predictions, targets[1:], "of_probabilities", 1e-8)


def test_epochs_may_be_cut_anywhere():
    settings = settings_of("staged")
    whole, parts = initial_parameters(settings), initial_parameters(settings)
    phase = Phase("all", 10, 1.0, ALL)
    steps_of(data_of(settings), whole, phase)(0, 10)
    for start, stop in ((0, 3), (3, 4), (4, 10)):
        steps_of(data_of(settings), parts, phase)(start, stop)
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_array_equal(one, other)


# --------------------------------------------------------------------------------- the sequences


def test_tokens_follow_their_table():
    rng = generator(0, "test")
    tables = rng.dirichlet([1.0, 1.0, 1.0], size=(1, 9))
    drawn = task.follow_tables(rng, np.repeat(tables, 40_000, axis=0), length=3, order=2)
    tokens = drawn.tokens
    context = tokens[:, 0] * 3 + tokens[:, 1]
    for c in range(9):
        seen = np.bincount(tokens[context == c, 2], minlength=3) / (context == c).sum()
        np.testing.assert_allclose(seen, tables[0, c], atol=0.03)


def test_other_parents_leave_the_latest_token_without_a_say():
    """Given the tokens at lags 2 and 3 of one chain, the latest tells nothing of the next."""
    chain = settings_of("staged", training_data="other_parents", length=40_000, dirichlet=1.0)
    drawn = task.training_sequences(replace(chain, training_sequences=1), 3).tokens[0]
    older, old, latest, following = (drawn[lag : len(drawn) - 3 + lag] for lag in range(4))
    laws = []
    for context in product(range(3), repeat=2):
        here = (older == context[0]) & (old == context[1])
        law = np.bincount(following[here], minlength=3) / here.sum()
        laws.append(law)
        for token in range(3):
            given = np.bincount(following[here & (latest == token)], minlength=3)
            if given.sum() > 300:
                np.testing.assert_allclose(given / given.sum(), law, atol=0.1)
    assert np.ptp(laws, axis=0).max() > 0.3  # and the two before it do


def test_no_sequence_keeps_its_target_when_they_are_shuffled():
    drawn = task.Sequences(sequences(count=50).tokens, np.arange(50))
    shuffled = drawn.with_shuffled_targets(generator(1, "shuffle"))
    assert sorted(shuffled.targets) == list(range(50))
    assert (shuffled.targets != drawn.targets).all()


# ------------------------------------------------------------------------------------ information


def transition_tables(count: int, order: int, dirichlet: float, seed: int = 0) -> Any:
    return task.transition_tables(
        generator(seed, "test"), count, order=order, vocabulary=3, dirichlet=dirichlet
    )


def test_stationary_law_is_the_limit_of_the_chain():
    tables = transition_tables(5, 2, 1.0)
    law = information.stationary_law(tables)
    for one, table in zip(law, tables, strict=True):
        at = np.full(9, 1 / 9)
        for _ in range(3000):
            following = np.zeros(9)
            for context, token in product(range(9), range(3)):
                following[(context * 3 + token) % 9] += at[context] * table[context, token]
            at = following
        np.testing.assert_allclose(one, at, atol=1e-12)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_information_is_its_definition(order):
    tables = transition_tables(3, order, 0.5)
    laws = information.stationary_law(tables)
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
    ours = information.modified_information(tables, order, SUBSETS, 3)
    np.testing.assert_allclose(ours, expected, atol=1e-12)
    assert ours[0] == pytest.approx(0.0, abs=1e-12)


def _number(tokens: tuple[int, ...]) -> int:
    return int(sum(t * 3**i for i, t in enumerate(reversed(tokens))))


def _information(joint: Mapping[tuple[int, ...], float], subset: model.Subset) -> float:
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


def test_the_two_parents_are_the_most_informative_set():
    for seed in range(3):
        tables = transition_tables(2000, 2, 0.1, seed)
        values = information.modified_information(tables, 2, SUBSETS, 3)
        assert SUBSETS[int(values.argmax())] == (1, 2)


# ----------------------------------------------------------------------------- constructed models


def test_induction_head_votes_where_the_parents_match():
    drawn = sequences(count=200, length=12)
    head = InductionHead.of(drawn, 2, 3)
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


def test_the_sharpened_head_beats_its_limit():
    drawn = sequences(count=300)
    head = InductionHead.of(drawn, 2, 3)
    least = head.least_loss(drawn.targets, 1e-8)
    for sharpness in (0.0, 1.0, 3.0, 10.0, 50.0):
        assert least <= task.cross_entropy(head.predict(sharpness), drawn.targets, 1e-8) + 1e-9


@pytest.mark.parametrize("lag_windows", ["common", "own_onwards"])
def test_hard_wired_weights_are_the_induction_head(lag_windows):
    settings = settings_of("staged", lag_windows=lag_windows, precision="float64", length=40)
    on = data_of(settings)
    hard = construct(on)
    hard.sharpness[0] = 50.0
    predicted = on.validation.predict(hard)
    far = np.abs(predicted - on.head.predict()).max(axis=1) > 1e-6
    # with common lags, position 2 has nothing at lag 2 and may match by its lag 1 alone
    assert far.mean() <= (0.2 if lag_windows == "common" else 0.0)


@pytest.mark.parametrize("reading", READINGS)
def test_the_constructed_sharpness_is_the_best(reading):
    on = data_of(settings_of("staged", precision="float64", cross_entropy=reading))
    best = induction_head_weights(on.settings, on.training, on.training_targets, reading)
    loss = measures.training_loss(best, on)
    for factor in (0.9, 1.1):
        moved = best._replace(sharpness=best.sharpness * factor)
        assert measures.training_loss(moved, on) > loss
    assert (best.sharpness > construct(on).sharpness).all() == (reading == READINGS[1])


# --------------------------------------------------------------------------------- the experiments


def _same(one: Measurements, other: Measurements) -> bool:
    return one.model_dump_json() == other.model_dump_json()


def test_a_run_that_was_cut_off_ends_the_same():
    settings = settings_of("staged")
    session = MemorySession(cut_before="phase_3")
    with pytest.raises(Killed):
        EXPERIMENTS["staged"].measure(settings, session)
    assert session.kept.keys() == {"phase_1", "phase_2"}
    session.cut_before = ""
    resumed = EXPERIMENTS["staged"].measure(settings, session)
    assert _same(resumed, measured("staged"))


def test_a_control_trains_on_the_targets_of_others_and_is_measured_on_proper_ones():
    own, other = measured("staged"), measured("staged", training_data="shuffled_targets")
    trained = other.series["trained_loss"].values
    assert trained[-1] < trained[0]
    assert own.series["trained_loss"].values[0] != trained[0]
    assert own.scalars == other.scalars  # of the hard-wired head on proper sequences


@pytest.mark.parametrize("stage", [2, 3])
def test_a_control_is_the_run_itself_until_its_targets_are_shuffled(stage):
    changed: dict[str, Any] = {"training_data": "shuffled_targets", "data_from_phase": stage}
    own, other = measured("staged"), measured("staged", **changed)
    until = sum(settings_of("staged").epochs[: stage - 1])
    for name in ("trained_loss", "subset_share", "own_lag_attention"):
        steps = np.array(own.series[name].steps)
        ours, theirs = own.series[name].values, other.series[name].values
        np.testing.assert_array_equal(theirs[steps <= until], ours[steps <= until])
    moved = {2: "own_lag_attention", 3: "sharpness"}[stage]
    assert (own.series[moved].values[-1] != other.series[moved].values[-1]).any()


def test_only_shuffles_that_begin_after_stage_one_leave_stage_two_a_gradient():
    """Shuffled throughout, the empty set takes all weight, and its similarity is constant."""
    longer: dict[str, Any] = {
        "training_sequences": 1000,
        "length": 60,
        "epochs": [1000, 200, 20],
        "learning_rates": [1.0, 10.0, 1.0],
        "training_data": "shuffled_targets",
    }
    throughout = measured("staged", **longer)
    assert throughout.series["subset_share"].values[-1][SUBSETS.index(())] > 0.999
    late = measured("staged", **longer, data_from_phase=2)
    for run, least, most in ((throughout, 0.0, 1e-5), (late, 1e-4, 1.0)):
        attention = run.series["own_lag_attention"].values
        change = np.abs(attention[-1] - attention[0]).max()
        assert least <= change <= most


@pytest.mark.parametrize("skipped", ["1", "2", "1+2"])
def test_a_skipped_phase_moves_nothing(skipped):
    run = measured("staged", skips=skipped)
    moved = {"1": "subset_share", "2": "own_lag_attention", "3": "sharpness"}
    for phase, name in moved.items():
        values = run.series[name].values
        assert (values[0] == values[-1]).all() == (phase in skipped)


def test_a_course_is_kept_until_it_has_covered_nearly_all_of_its_change():
    steps = tuple(range(0, 101, 5))
    rises = np.minimum(np.array(steps) / 50, 1.0)
    for course in (rises, -rises):
        kept = measures.until_rest(Series(steps=steps, values=course))
        assert kept.steps[-1] == 50  # 45 steps cover nine tenths
        assert np.array_equal(kept.values, course[: len(kept.steps)])
    still = Series(steps=steps, values=np.zeros(len(steps)))
    assert len(measures.until_rest(still).steps) == 1
    run = measured("staged")
    whole, kept = run.series["sharpness"], run.series["growing_sharpness"]
    assert kept.steps == whole.steps[: len(kept.steps)]
    assert len(kept.steps) > 1


def test_the_first_gradient_says_what_the_sets_inform():
    """At long sequences of chains that mix; the other sets' information is far below."""
    changed = {"length": 2000, "training_sequences": 2000, "information_chains": 20_000}
    run = measured("first_gradient", precision="float64", dirichlet=1.0, **changed)
    known = run.arrays["information"] - run.arrays["information"].mean()
    assert run.scalars["information_cosine"] > 0.98
    assert run.scalars["information_slope"] == pytest.approx(1.0, abs=0.1)
    assert run.arrays["implied_information"] == pytest.approx(known, abs=0.2 * np.ptp(known))


def test_a_model_is_taken_to_every_length_and_law():
    """The head by hand reaches all of the gain where its sharpness is the best: no more than 1."""
    settings = settings_of("staged", precision="float64")
    on = data_of(settings)
    best = construct(on)
    loss, gain = measures.transfer(best, settings, on.training, on.training_targets)
    assert gain == pytest.approx(1.0)
    assert loss == pytest.approx(measures.training_loss(best, on))
    uniform = best._replace(sharpness=np.zeros(1))
    assert measures.transfer(uniform, settings, on.training, on.training_targets)[1] == 0.0


def test_a_constructed_run_starts_where_training_starts():
    own, built = measured("staged"), measured("staged", weights="constructed")
    for name in own.series:
        if not name.startswith("sharpening"):
            np.testing.assert_array_equal(own.series[name].values[0], built.series[name].values[0])
    assert built.series["subset_share"].values[-1][SUBSETS.index((1, 2))] == 1.0
    assert built.series["own_lag_attention"].values[-1] == pytest.approx(1.0, abs=1e-6)
    assert built.series["sharpness"].values[-1] > 1.0


@pytest.mark.parametrize(
    ("setting", "value", "expected"),
    [
        ("cross_entropy", "other", "of_probabilities.*of_softmaxed_probabilities"),
        ("precision", "float16", "float32.*float64"),
        ("training_data", "other", "own_chain.*shuffled_targets.*other_parents"),
        ("phases", ["c", "w"], "one entry in epochs and learning_rates"),
        ("phases", ["c", "w", "b"], "has b; expected c, w and a"),
        ("weights", "other", "trained.*constructed"),
        ("lag_windows", "other", "common.*own_onwards"),
        ("length", 2, "at least 3 tokens"),
        ("transfer_lengths", [30, 2], "at least 3 tokens"),
        ("window", 2, "3 heads need a window of at least 3"),
    ],
)
def test_impossible_settings_are_refused_in_one_line(setting, value, expected):
    with pytest.raises(SpecError, match=f"'{setting}'.*{expected}") as refused:
        settings_of("staged", **{setting: value})
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("experiment", ["staged", "simultaneous"])
def test_the_number_of_threads_moves_no_bit(experiment):
    changes = {"length": 60, "training_sequences": 600}
    with threadpool_limits(1):
        alone = measured(experiment, **changes)
    with threadpool_limits(2):
        assert _same(alone, measured(experiment, **changes))
