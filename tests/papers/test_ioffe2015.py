"""ioffe2015: closed forms of batch normalization against the code."""

import numpy as np
import pytest

from reproaudit.audit.catalog import Catalog
from reproaudit.lab import AuditSettings
from reproaudit.papers import ioffe2015 as paper

SIZES = (4, 4, 4, 4)


def net_of(seed: int = 0, sizes: tuple[int, ...] = SIZES) -> list[paper.Layer]:
    rng = np.random.default_rng(seed)
    return [
        paper.Layer(layer.weights, rng.uniform(0.5, 2, len(layer.gains)), rng.standard_normal(to))
        for to, layer in zip(
            sizes[1:], paper.start_of(sizes, lambda s: rng.standard_normal(s)), strict=True
        )
    ]


def batch_of(form: paper.Form, count: int = 30) -> paper.Batch:
    rng = np.random.default_rng(1)
    inputs = rng.standard_normal((4, count))
    drawn = np.eye(4)[rng.integers(4, size=count)].T
    wanted = rng.standard_normal((4, 4)) @ inputs if form.scale else drawn
    return paper.Batch(inputs, wanted, np.ones(count))


FORMS = [
    paper.Form(normalized, True, scale) for normalized in (False, True) for scale in (None, 1.0)
]


@pytest.mark.parametrize("form", FORMS)
def test_gradients_are_those_of_differences(form):
    net, batch = net_of(), batch_of(form)
    rng = np.random.default_rng(3)
    noise = [
        (rng.uniform(1, 2, (4, 30)), rng.standard_normal((4, 30))) for _ in range(len(net) - 1)
    ]
    gradients = paper.backprop(net, batch, form, noise)[1]
    for place in range(3):
        for part in ("weights", "gains", "shifts"):
            slope = getattr(gradients[place], part)
            if not slope.any():  # does not learn
                continue
            way = rng.standard_normal(slope.shape)
            ends = [
                paper.backprop(
                    [
                        layer._replace(**{part: getattr(layer, part) + sign * 1e-6 * way})
                        if i == place
                        else layer
                        for i, layer in enumerate(net)
                    ],
                    batch,
                    form,
                    noise,
                )[0]
                for sign in (1, -1)
            ]
            assert (ends[0] - ends[1]) / 2e-6 == pytest.approx((slope * way).sum(), rel=1e-4)


@pytest.mark.parametrize("form", FORMS)
def test_without_a_step_below_there_is_no_shift(form):
    net, batch = net_of(), batch_of(form)
    gradients = paper.backprop(net, batch, form)[1]
    for rate, place in ((0.0, 2), (0.1, 0)):
        shift = paper.gradient_shift(net, gradients, batch, form, rate, place)
        assert shift == pytest.approx((0, 0, 1), abs=1e-12)
    small = [paper.gradient_shift(net, gradients, batch, form, r, 2)[1] for r in (1e-8, 2e-8)]
    assert small[1] / small[0] == pytest.approx(2, abs=0.1)


@pytest.mark.parametrize("scale", [None, 1.0])
def test_normalization_makes_the_loss_blind_to_the_scale_of_a_unit(scale):
    form = paper.Form(True, True, scale)
    net, batch = net_of(), batch_of(form)
    large = [net[0], net[1]._replace(weights=1e4 * net[1].weights), net[2]]
    larger = [net[0], net[1]._replace(weights=3e4 * net[1].weights), net[2]]
    (loss, g, _), (same, third, _) = (paper.backprop(n, batch, form) for n in (large, larger))
    assert same == pytest.approx(loss, rel=1e-9)
    assert 3 * third[1].weights == pytest.approx(g[1].weights, rel=1e-5, abs=1e-12)
    along = (large[1].weights * g[1].weights).sum(axis=1)
    norms = np.linalg.norm(large[1].weights, axis=1) * np.linalg.norm(g[1].weights, axis=1)
    assert np.abs(along) == pytest.approx(0, abs=1e-6 * norms.max())


def test_the_slope_is_a_projection_whose_last_term_is_over_m_and_not_its_root():
    rng, m = np.random.default_rng(0), 50
    slope, y = rng.standard_normal((1, m)), rng.standard_normal((1, m))
    y = (y - y.mean()) / y.std()
    norm = (paper.projected(slope, y, np.ones(m)) ** 2).sum()
    along, onto = slope.sum() ** 2 / m, (slope * y).sum() ** 2
    assert norm == pytest.approx((slope**2).sum() - along - onto / m)
    assert norm != pytest.approx((slope**2).sum() - along - onto / np.sqrt(m), rel=1e-3)


@pytest.mark.parametrize("normalized", [False, True])
def test_a_rotated_batch_has_the_same_loss_and_gradients(normalized):
    form = paper.Form(normalized, True, 1.0)
    net, batch = net_of(), batch_of(form)
    few = paper.rotated(batch.inputs, batch.targets)
    assert few.inputs.shape == (4, 5)
    (loss, slopes, _), (same, others, _) = (paper.backprop(net, b, form) for b in (batch, few))
    assert same == pytest.approx(loss)
    for slope, other in zip(slopes, others, strict=True):
        for a, b in zip(slope, other, strict=True):
            assert a == pytest.approx(b, abs=1e-9)


@pytest.mark.parametrize(
    ("definition", "moved"), [("percentiles", 5 / 70), ("moments", 5 / 2 / 850**0.5)]
)
def test_a_path_counts_every_move_in_spreads(definition, moved):
    """The numbers 0 to 100 have percentiles 70 apart, and a variance of (101² − 1)/12 = 850.

    The mean moves by 1, 1 and 3 in all, and the deviation stays.
    """
    entering = np.array([[np.arange(101.0) + by] for by in (0.0, 1.0, 0.0, 3.0)])
    assert paper.path(entering, definition) == pytest.approx(moved)


def test_pictures_have_pixels_of_0_and_1_and_say_what_stands_in():
    settings = Catalog()["ioffe2015"].audit().values_of("sigmoid", "quick")
    quick = AuditSettings(**settings)
    pixels, labels = paper.binary_pictures(quick.images, quick.split)
    assert pixels.shape == (64, 1797)
    assert set(np.unique(pixels)) == {0, 1}
    assert (labels.sum(axis=0) == 1).all()
    proxy = paper.EXPERIMENTS["sigmoid"].proxy(quick)
    assert proxy == (
        "scikit-learn's embedded 8×8 digits in place of MNIST, 600 steps in place of 50,000"
    )
