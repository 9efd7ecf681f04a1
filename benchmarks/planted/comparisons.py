"""Worlds in which two arms are compared: `beats`, and `reaches` and `equals` with a baseline."""

from __future__ import annotations

import numpy as np

from .curves import (
    STEPS,
    Array,
    Log,
    Steps,
    best_so_far,
    bump,
    cosine_rate,
    cut_rate,
    decay,
    even,
    logarithmic,
    luck,
    noise,
    power_decay,
    rise,
    smoothed,
    spikes,
    until,
    warm_up,
)
from .world import CANNOT_TELL, OWN, Arms, Seed, world

ENDS_LOWER = """
kind: beats
lower: loss
upper: {measurement: loss, arm: baseline}
from: paper
"""
BEST_LOWER = """
kind: beats
lower: {measurement: loss, step: least}
upper: {measurement: loss, arm: baseline, step: least}
from: paper
"""
PASSES_SOONER = """
kind: beats
lower: {measurement: accuracy, passes: {level: 0.9}}
upper: {measurement: accuracy, arm: baseline, passes: {level: 0.9}}
from: paper
"""
HALF_THE_LOSS = """
kind: beats
lower: loss
upper: {measurement: loss, arm: baseline}
by: 2
from: paper
"""
FIFTH_LOWER = """
kind: reaches
value: loss
relative_to: {measurement: loss, arm: baseline}
at_most: 0.8
from: paper
"""


def two(name: str, own: Log, baseline: Log) -> Arms:
    """Return the own arm and the baseline, with one measurement of a name."""
    return {OWN: {name: own}, "baseline": {name: baseline}}


def settled(seed: Seed, steps: Steps, end: float, share: float, spread: float = 0.02) -> Log:
    """Return a loss that falls from 2.3 to an end under cosine decay, with relative noise."""
    clean = decay(steps, 2.3, end, 900) + 0.3 * end * cosine_rate(steps)
    values = clean * warm_up(steps) * noise(seed.rng, steps, share) * luck(seed.rng, spread)
    return steps, values


def learned(seed: Seed, steps: Steps, at: float, share: float, spread: float = 0.05) -> Log:
    """Return an accuracy that rises from 0.1 to 0.97, half of it at a step."""
    clean = rise(steps, 0.1, 0.97, at * luck(seed.rng, spread))
    return steps, np.minimum(clean * noise(seed.rng, steps, share), 1.0)


def falling(steps: Steps) -> Array:
    """Return a loss that falls like the root of the steps to the end."""
    return power_decay(steps, 4.6, 0.5, tau=100)


@world(
    "lower-under-cosine-decay",
    "The method ends with a lower test loss than the baseline.",
    ENDS_LOWER,
    truth=True,
    expert="The two groups of ten last losses are a tenth apart and hardly overlap.",
)
def _(seed: Seed) -> Arms:
    steps = even()
    return two("loss", settled(seed, steps, 0.27, 0.02), settled(seed, steps, 0.30, 0.02))


@world(
    "running-best-against-last",
    "The method ends with a lower validation loss than the baseline.",
    ENDS_LOWER,
    truth=False,
    expert="The method's log never rises, so it holds the best so far; the baseline's best so "
    "far ends at the same loss.",
)
def _(seed: Seed) -> Arms:
    steps = even()
    own, baseline = (settled(seed, steps, 0.3, 0.06) for _ in range(2))
    return two("loss", (steps, best_so_far(own[1])), baseline)


@world(
    "smoothed-baseline-lags",
    "The method ends with a lower training loss than the baseline.",
    ENDS_LOWER,
    truth=False,
    expert="The baseline's log is an average without noise that lags behind a loss that still "
    "falls; the method's log, smoothed alike, is the same curve.",
)
def _(seed: Seed) -> Arms:
    steps = even()
    own, baseline = (falling(steps) * noise(seed.rng, steps, 0.03) for _ in range(2))
    return two("loss", (steps, own), (steps, smoothed(baseline, 0.95)))


@world(
    "per-cent-against-fraction",
    "The method ends with a lower test error than the baseline.",
    ENDS_LOWER,
    truth=False,
    expert="The baseline's error is a hundred times as large from the first step on, where "
    "nothing is trained: one is in per cent.",
)
def _(seed: Seed) -> Arms:
    steps = even()
    own, baseline = (
        decay(steps, 0.9, 0.051, 1500) * noise(seed.rng, steps, 0.03) for _ in range(2)
    )
    return two("loss", (steps, own), (steps, 100 * baseline))


@world(
    "bits-against-nats",
    "The method ends with a lower cross-entropy than the baseline.",
    ENDS_LOWER,
    truth=False,
    expert="The ratio is 1.44, one over the logarithm of 2, at every step and before training: "
    "the baseline counts bits.",
)
def _(seed: Seed) -> Arms:
    steps = logarithmic()
    own, baseline = (
        power_decay(steps, np.log(256), 0.4, end=0.9, tau=50) * noise(seed.rng, steps, 0.01)
        for _ in range(2)
    )
    return two("loss", (steps, own), (steps, baseline / np.log(2)))


@world(
    "regulariser-in-the-baselines-loss",
    "The method ends with a lower loss than the baseline.",
    ENDS_LOWER,
    truth=False,
    expert="The baseline's loss lies 0.08 higher at every step, and before training as well, "
    "where both are one network: its log includes another term.",
)
def _(seed: Seed) -> Arms:
    steps = even()
    start = np.log(10) * luck(seed.rng, 0.005)
    own, baseline = (
        decay(steps, start, 0.3, 1200) * noise(seed.rng, steps, 0.01) for _ in range(2)
    )
    return two("loss", (steps, own), (steps, baseline + 0.08))


@world(
    "one-baseline-run-copied",
    "The method ends with a lower test loss than the baseline.",
    ENDS_LOWER,
    truth=CANNOT_TELL,
    expert="The baseline was run once and its log copied to every seed; the method's runs differ "
    "among each other by a tenth, and so might the baseline's.",
)
def _(seed: Seed) -> Arms:
    steps = even()
    own = settled(seed, steps, 0.3, 0.01, spread=0.1)
    clean = decay(steps, 2.3, 0.35, 900) + 0.09 * cosine_rate(steps)
    return two("loss", own, (steps, clean * noise(seed.shared, steps, 0.01)))


@world(
    "one-baseline-run-far-above",
    "The method ends with a lower test loss than the baseline.",
    ENDS_LOWER,
    truth=True,
    expert="The baseline was run once, but it ends at three times the loss of each of the "
    "method's runs, which differ by a twentieth.",
)
def _(seed: Seed) -> Arms:
    steps = even()
    own = settled(seed, steps, 0.1, 0.02, spread=0.05)
    clean = decay(steps, 2.3, 0.3, 900)
    return two("loss", own, (steps, clean * noise(seed.shared, steps, 0.02)))


@world(
    "logged-at-other-intervals",
    "The method ends with a lower test loss than the baseline.",
    ENDS_LOWER,
    truth=True,
    expert="Both are at rest from half of training on, the baseline 15 per cent higher at each "
    "step at which both are known.",
)
def _(seed: Seed) -> Arms:
    own = settled(seed, even(100), 0.26, 0.02)
    return two("loss", own, settled(seed, even(1000), 0.305, 0.02))


@world(
    "last-log-before-the-decay-ends",
    "The method ends with a lower test loss than the baseline.",
    ENDS_LOWER,
    truth=False,
    expert="The baseline was last logged at step 18,000, while the learning rate still lowers "
    "both losses; at that step they are equal.",
)
def _(seed: Seed) -> Arms:
    def measured(steps: Steps) -> Log:
        clean = decay(steps, 2.3, 0.2, 900) + 0.35 * (1 - steps / STEPS)
        return steps, clean * noise(seed.rng, steps, 0.02)

    return two("loss", measured(even(100)), measured(even(3000)))


@world(
    "both-logs-end-between-two-cuts",
    "The method ends with a lower test loss than the baseline.",
    ENDS_LOWER,
    truth=False,
    expert="Both logs end at 12,000 of 20,000 steps, where the method's learning rate has been "
    "cut and the baseline's not yet; before that cut they are one curve.",
)
def _(seed: Seed) -> Arms:
    steps = even(100, last=12_000)

    def measured(cut: int) -> Log:
        clean = decay(steps, 2.3, 0.2, 900) + 0.2 * cut_rate(steps, (cut,))
        return steps, clean * noise(seed.rng, steps, 0.03)

    return two("loss", measured(10_000), measured(15_000))


@world(
    "passes-in-half-of-the-time",
    "The method learns faster: it passes 0.9 accuracy sooner than the baseline.",
    PASSES_SOONER,
    truth=True,
    expert="It passes at half of the baseline's steps in every pair of runs.",
)
def _(seed: Seed) -> Arms:
    steps = even()
    return two("accuracy", learned(seed, steps, 3000, 0.005), learned(seed, steps, 6000, 0.005))


@world(
    "passes-later-where-smoothed",
    "The method learns faster: it passes 0.9 accuracy sooner than the baseline.",
    PASSES_SOONER,
    truth=False,
    expert="The baseline's log has a tenth of the noise, and neighbours share it: it is a moving "
    "average, whose lag is the whole difference.",
)
def _(seed: Seed) -> Arms:
    steps = even()
    own, baseline = (learned(seed, steps, 5000, 0.02) for _ in range(2))
    return two("accuracy", own, (steps, smoothed(baseline[1], 0.9)))


@world(
    "resumed-and-counted-from-zero",
    "The method learns faster: it passes 0.9 accuracy sooner than the baseline.",
    PASSES_SOONER,
    truth=False,
    expert="The method's first observation, before any step, is 0.6 and not chance: the log "
    "goes on from a checkpoint, and its curve is the baseline's, moved by 5,000 steps.",
)
def _(seed: Seed) -> Arms:
    steps = even()
    own = learned(seed, steps + 5000, 4500, 0.01)
    return two("accuracy", (steps, own[1]), learned(seed, steps, 4500, 0.01))


@world(
    "worse-first-and-better-last",
    "The method ends with a lower test loss than the baseline.",
    ENDS_LOWER,
    truth=True,
    expert="It is above for most of training and 12 per cent below at the end, in every pair.",
)
def _(seed: Seed) -> Arms:
    steps = even()
    own = decay(steps, 2.3, 0.22, 4000) * noise(seed.rng, steps, 0.02)
    baseline = decay(steps, 2.3, 0.27, 1200) * noise(seed.rng, steps, 0.02)
    return two("loss", (steps, own), (steps, baseline))


def overfitted(seed: Seed, steps: Steps, best: float) -> Log:
    """Return a test loss that falls to a best at about 8,000 steps, and rises again."""
    clean = decay(steps, 2.3, best, 1500) + 0.15 * np.maximum(steps - 7000, 0) / STEPS
    return steps, clean * noise(seed.rng, steps, 0.02) * luck(seed.rng, 0.01)


@world(
    "stopped-at-its-best",
    "The method generalises better: it ends with a lower test loss than the baseline.",
    ENDS_LOWER,
    truth=False,
    expert="The method's log stops at its best, at 8,000 steps, where the baseline is as good; "
    "the baseline trains on and overfits.",
)
def _(seed: Seed) -> Arms:
    own, baseline = (overfitted(seed, even(), 0.3) for _ in range(2))
    return two("loss", until(own, 8000), baseline)


@world(
    "best-against-best",
    "At its best the method has a lower test loss than the baseline at its best.",
    BEST_LOWER,
    truth=True,
    expert="Logged at the same steps, the method's best is a tenth below the baseline's.",
)
def _(seed: Seed) -> Arms:
    return two("loss", overfitted(seed, even(), 0.27), overfitted(seed, even(), 0.30))


@world(
    "best-of-more-evaluations",
    "At its best the method has a lower test loss than the baseline at its best.",
    BEST_LOWER,
    truth=False,
    expert="Both scatter about one level; the method was evaluated fifty times as often, and the "
    "least of more draws is less.",
)
def _(seed: Seed) -> Arms:
    return two("loss", settled(seed, even(20), 0.3, 0.08), settled(seed, even(1000), 0.3, 0.08))


@world(
    "seeds-of-their-own",
    "The method ends with a lower test loss than the baseline.",
    ENDS_LOWER + "paired: false\n",
    truth=True,
    expert="Ten runs against ten others: a tenth apart, and hardly one overlaps.",
    paired=False,
)
def _(seed: Seed) -> Arms:
    steps = even(500)
    own = settled(seed, steps, 0.27, 0.02, spread=0.03)
    return two("loss", own, settled(seed, steps, 0.30, 0.02, spread=0.03))


@world(
    "baseline-that-mostly-diverges",
    "The method ends with a lower test loss than the baseline.",
    ENDS_LOWER,
    truth=CANNOT_TELL,
    expert="Six of ten baseline runs diverged, and in the four that trained both are equal: that "
    "shows nothing about losses.",
    diverged={"baseline": frozenset(range(6))},
)
def _(seed: Seed) -> Arms:
    steps = even()
    own, baseline = (settled(seed, steps, 0.3, 0.03) for _ in range(2))
    if seed.index >= 6:
        return two("loss", own, baseline)
    blown = baseline[1] * np.exp(np.maximum(steps - 6000, 0) / 600)
    return two("loss", own, until((steps, blown), 10_000))


@world(
    "halved-nearly",
    "The method at least halves the baseline's test loss.",
    HALF_THE_LOSS,
    truth=False,
    expert="The ratio is 1.8 with a spread of 4 per cent; no run comes to 2.",
)
def _(seed: Seed) -> Arms:
    steps = even()
    return two("loss", settled(seed, steps, 0.20, 0.02), settled(seed, steps, 0.36, 0.02))


@world(
    "halved",
    "The method at least halves the baseline's test loss.",
    HALF_THE_LOSS,
    truth=True,
    expert="The ratio is 2.4 with a spread of 6 per cent; every run is beyond 2.",
)
def _(seed: Seed) -> Arms:
    steps = logarithmic()
    own = settled(seed, steps, 0.15, 0.03, spread=0.03)
    return two("loss", own, settled(seed, steps, 0.36, 0.03, spread=0.03))


@world(
    "second-descent-not-reached",
    "The method ends with a lower test loss than the baseline.",
    ENDS_LOWER,
    truth=False,
    expert="The baseline's log ends at the peak of its double descent, at 5,000 steps, where the "
    "method's is as high; the method's log goes on to the second descent.",
)
def _(seed: Seed) -> Arms:
    steps = even()

    def measured() -> Log:
        clean = power_decay(steps, 2.3, 0.35, tau=50) * bump(steps, 0.7, 5000)
        return steps, clean * noise(seed.rng, steps, 0.02)

    return two("loss", measured(), until(measured(), 5000))


@world(
    "difference-below-the-noise",
    "The method ends with a lower test loss than the baseline.",
    ENDS_LOWER,
    truth=CANNOT_TELL,
    expert="Five runs that differ by a twentieth, and means within a hundredth of each other.",
    seeds=5,
)
def _(seed: Seed) -> Arms:
    steps = even()
    own = settled(seed, steps, 0.299, 0.03, spread=0.05)
    return two("loss", own, settled(seed, steps, 0.300, 0.03, spread=0.05))


@world(
    "falls-through-spikes",
    "Training lowers the loss.",
    "{kind: beats, lower: loss, upper: loss@first, from: paper}",
    truth=True,
    expert="The loss ends at an eighth of where it began; its spikes are over long before.",
    seeds=5,
)
def _(seed: Seed) -> Arms:
    steps = even()
    clean = decay(steps, 2.3, 0.28, 2500) * warm_up(steps, 0.5)
    values = clean * noise(seed.rng, steps, 0.05, kept=0.5) * spikes(seed.rng, steps, 4, 3.0)
    return {OWN: {"loss": (steps, values)}}


@world(
    "groks-sooner",
    "With weight decay the network groks sooner: it passes 0.9 test accuracy earlier.",
    PASSES_SOONER,
    truth=True,
    expert="It passes 0.9 two to three times as early in nearly every pair.",
)
def _(seed: Seed) -> Arms:
    steps = logarithmic(120)
    own = learned(seed, steps, 4000, 0.01, spread=0.2)
    return two("accuracy", own, learned(seed, steps, 10_000, 0.01, spread=0.2))


@world(
    "baseline-never-groks",
    "With weight decay the network groks sooner: it passes 0.9 test accuracy earlier.",
    PASSES_SOONER,
    truth=True,
    expert="It passes at about 11,000 steps; the baseline is at chance to the last of 20,000.",
    seeds=5,
)
def _(seed: Seed) -> Arms:
    steps = even()
    baseline = 0.1 * noise(seed.rng, steps, 0.05)
    return two("accuracy", learned(seed, steps, 6000, 0.01, spread=0.15), (steps, baseline))


@world(
    "baseline-logged-until-before",
    "With weight decay the network groks sooner: it passes 0.9 test accuracy earlier.",
    PASSES_SOONER,
    truth=CANNOT_TELL,
    expert="The method passes at 15,000 steps, and the baseline's log ends at 5,000: up to there "
    "both are at chance.",
)
def _(seed: Seed) -> Arms:
    steps = even()
    own, baseline = (learned(seed, steps, 8000, 0.01) for _ in range(2))
    return two("accuracy", own, until(baseline, 5000))


@world(
    "returns-that-are-negative",
    "The agent ends with a higher return than the baseline.",
    """
kind: beats
lower: {measurement: return, arm: baseline, step: late}
upper: {measurement: return, step: late}
difference: true
from: paper
""",
    truth=True,
    expert="The late means are -20 and -35 with spreads of 3; every pair agrees.",
    seeds=20,
)
def _(seed: Seed) -> Arms:
    steps = even()

    def measured(end: float) -> Log:
        values = -decay(steps, 200, end, 2500) * luck(seed.rng, 0.08)
        return steps, values * noise(seed.rng, steps, 0.1)

    return two("return", measured(20), measured(35))


@world(
    "a-small-gain-in-every-pair",
    "The method ends with a lower test loss than the baseline.",
    ENDS_LOWER,
    truth=True,
    expert="Seeds differ by a tenth, but each pair shares its data, and in each pair the method "
    "is 3 per cent lower, with noise of half a per cent.",
)
def _(seed: Seed) -> Arms:
    steps = even()
    hard = luck(seed.rng, 0.1)
    own, baseline = (
        decay(steps, 2.3, end * hard, 1000) * noise(seed.rng, steps, 0.005) for end in (0.291, 0.3)
    )
    return two("loss", (steps, own), (steps, baseline))


@world(
    "a-fifth-lower",
    "The method lowers the baseline's test loss by at least a fifth.",
    FIFTH_LOWER,
    truth=True,
    expert="The ratio is 0.70 with a spread of 5 per cent, and at most 0.8 in every run.",
)
def _(seed: Seed) -> Arms:
    steps = even()
    return two("loss", settled(seed, steps, 0.21, 0.03), settled(seed, steps, 0.30, 0.03))


@world(
    "an-eighth-lower",
    "The method lowers the baseline's test loss by at least a fifth.",
    FIFTH_LOWER,
    truth=False,
    expert="The ratio is 0.87 with a spread of 3 per cent.",
)
def _(seed: Seed) -> Arms:
    steps = even()
    return two("loss", settled(seed, steps, 0.261, 0.015), settled(seed, steps, 0.30, 0.015))


@world(
    "a-fifth-lower-on-a-lucky-step",
    "The method lowers the baseline's test loss by at least a fifth.",
    FIFTH_LOWER,
    truth=False,
    expert="The method's log holds the best so far of a loss with noise of a tenth, about the "
    "level at which the baseline's log scatters.",
)
def _(seed: Seed) -> Arms:
    steps = even(100)
    own, baseline = (settled(seed, steps, 0.3, 0.1) for _ in range(2))
    return two("loss", (steps, best_so_far(own[1])), baseline)


WAY = """
kind: reaches
value: VALUE
between: [{measurement: VALUE, arm: chance}, {measurement: VALUE, arm: best}]
at_least: 0.9
from: paper
"""


@world(
    "nearly-all-of-the-way",
    "Training covers at least nine tenths of the way from chance to the best possible loss.",
    WAY.replace("VALUE", "loss"),
    truth=True,
    expert="From 2.3 to 0.2 it comes to 0.26, which is 97 per cent of the way, in every run.",
    controls=("chance",),
)
def _(seed: Seed) -> Arms:
    steps = even()
    return {
        OWN: {"loss": settled(seed, steps, 0.26, 0.03)},
        "chance": {"loss": (steps, 2.3 * noise(seed.rng, steps, 0.005))},
        "best": {"loss": (steps, 0.2 * noise(seed.rng, steps, 0.005))},
    }


@world(
    "the-way-in-per-cent",
    "Training covers at least nine tenths of the way from chance to the best accuracy.",
    WAY.replace("VALUE", "accuracy"),
    truth=False,
    expert="The runs are in per cent, chance and best in fractions: from 10 to 55 of 95 per cent "
    "is half of the way.",
    controls=("chance",),
)
def _(seed: Seed) -> Arms:
    steps = even()
    return {
        OWN: {"accuracy": (steps, rise(steps, 10, 55, 3000) * noise(seed.rng, steps, 0.02))},
        "chance": {"accuracy": (steps, 0.1 * noise(seed.rng, steps, 0.02))},
        "best": {"accuracy": (steps, 0.95 * noise(seed.rng, steps, 0.01))},
    }


@world(
    "null-that-blew-up-late",
    "The network covers at least nine tenths of the way from the linear model to the best loss.",
    WAY.replace("VALUE", "loss").replace("chance", "linear"),
    truth=False,
    expert="The linear model was at 1.2 until its last steps, when it blew up; measured from 1.2 "
    "the network covers half of the way.",
    controls=("linear",),
)
def _(seed: Seed) -> Arms:
    steps = even()
    blown = 1 + 5 * np.clip((steps - 16_500) / 500, 0, 1)
    linear = decay(steps, 2.3, 1.2, 800) * blown
    return {
        OWN: {"loss": settled(seed, steps, 0.7, 0.03)},
        "linear": {"loss": (steps, linear * noise(seed.rng, steps, 0.03))},
        "best": {"loss": (steps, 0.2 * noise(seed.rng, steps, 0.01))},
    }


HALF_THE_STEPS = """
kind: reaches
value: {measurement: accuracy, passes: {level: 0.9}}
relative_to: {measurement: accuracy, arm: baseline, passes: {level: 0.9}}
at_most: 0.5
from: paper
"""


@world(
    "a-third-of-the-steps",
    "The method needs at most half of the baseline's steps to pass 0.9 accuracy.",
    HALF_THE_STEPS,
    truth=True,
    expert="It needs a third, and at most four tenths in every run.",
)
def _(seed: Seed) -> Arms:
    own = learned(seed, even(100), 2500, 0.01)
    return two("accuracy", own, learned(seed, even(500), 7500, 0.01))


@world(
    "steps-of-four-batches",
    "The method needs at most half of the baseline's samples to pass 0.9 accuracy.",
    HALF_THE_STEPS,
    truth=False,
    expert="The method's log ends at 5,000 for the same training: it counts one step for four "
    "batches, and stretched by four its curve is the baseline's.",
)
def _(seed: Seed) -> Arms:
    steps = even()
    own, baseline = (learned(seed, steps, 5000, 0.01) for _ in range(2))
    return two("accuracy", (steps // 4, own[1]), baseline)


@world(
    "sharpness-rises-to-the-edge",
    "Sharpness grows by at least 150 during training, and not at a small learning rate.",
    "{kind: reaches, value: sharpness, grown_from: sharpness@first, at_least: 150, from: paper}",
    truth=True,
    expert="It grows from 20 to 190 and hovers there; at the small rate it grows by 20.",
    controls=("small_rate",),
)
def _(seed: Seed) -> Arms:
    steps = even()
    own, small = (
        rise(steps, 20, high, 4000, 0.5) * noise(seed.rng, steps, 0.05) for high in (200, 40)
    )
    return {OWN: {"sharpness": (steps, own)}, "small_rate": {"sharpness": (steps, small)}}


@world(
    "random-labels-are-fitted-too",
    "What the network learns of the classes shows in a training accuracy of at least 0.99.",
    "{kind: reaches, value: accuracy, at_least: 0.99, from: paper}",
    truth=False,
    expert="With random labels, where there is nothing to learn of classes, it gets there too.",
    controls=("random_labels",),
)
def _(seed: Seed) -> Arms:
    steps = even()
    own, random = (
        np.maximum(1 - (1 - rise(steps, 0.1, 0.997, at)) * noise(seed.rng, steps, 0.1), 0)
        for at in (800, 3500)
    )
    return {OWN: {"accuracy": (steps, own)}, "random_labels": {"accuracy": (steps, random)}}


MATCHES = """
kind: equals
value: accuracy
to: {measurement: accuracy, arm: dense}
within: 0.01
from: paper
"""


def pruned(seed: Seed, gap: float) -> Arms:
    """Return accuracies of a pruned and a dense network, a gap apart."""
    steps = even()
    level = 0.93 + 0.01 * float(seed.rng.standard_normal())
    own, dense = (
        rise(steps, 0.1, high, 1500) + 0.002 * seed.rng.standard_normal(len(steps))
        for high in (level - gap, level)
    )
    return {OWN: {"accuracy": (steps, own)}, "dense": {"accuracy": (steps, dense)}}


@world(
    "pruned-as-good-as-dense",
    "The pruned network's accuracy is within one point of the dense network's.",
    MATCHES,
    truth=True,
    expert="It is 0.2 points lower, with noise of 0.3 points, in ten pairs.",
)
def _(seed: Seed) -> Arms:
    return pruned(seed, 0.002)


@world(
    "pruned-a-little-worse",
    "The pruned network's accuracy is within one point of the dense network's.",
    MATCHES,
    truth=False,
    expert="It is 2.5 points lower in every pair, with noise of 0.3 points.",
)
def _(seed: Seed) -> Arms:
    return pruned(seed, 0.025)
