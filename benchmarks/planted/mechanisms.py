"""Worlds about what is learned and when: `stages`, `concentrates`, `separates` and `aligns`."""

from __future__ import annotations

import numpy as np

from .curves import (
    STEPS,
    Array,
    Log,
    Steps,
    best_so_far,
    cut_rate,
    even,
    logarithmic,
    luck,
    ramp,
    rise,
    smoothed,
)
from .world import CANNOT_TELL, OWN, Arms, Run, Seed, world

WAITS = """
kind: stages
earlier: {series: first}
later: {series: second}
order: {above: 1, from: paper}
wait: {below: one_clock, from: derived}
"""
COMES_AFTER = """
kind: stages
earlier: {series: first}
later: {series: second}
order: {above: 1, from: paper}
"""


def jitter(seed: Seed, values: Array, deviation: float) -> Array:
    """Return values with noise of a deviation."""
    return np.asarray(values + deviation * seed.rng.standard_normal(values.shape))


def shares(seed: Seed, values: Array, deviation: float) -> Array:
    """Return shares with noise of a deviation, between 0 and 1."""
    return np.clip(jitter(seed, values, deviation), 0.0, 1.0)


def pair(steps: Steps, first: Array, second: Array) -> Run:
    """Return the two series of a claim about stages."""
    return {"first": (steps, first), "second": (steps, second)}


def resumed(every: int, at: int, shift: int) -> Steps:
    """Return the steps of a run that was resumed, and then logged at other steps."""
    return np.concatenate([even(every, last=at), even(every, first=at + shift)])


@world(
    "heads-before-answers",
    "Answers become right only after the heads have formed, which they need.",
    WAITS,
    truth=True,
    expert="The second change begins when the first is over, and without the heads it never comes.",
    controls=("without_heads",),
)
def _(seed: Seed) -> Arms:
    steps = even(100)
    first = jitter(seed, rise(steps, 0.05, 0.9, 2000 * luck(seed.rng, 0.1), 0.15), 0.02)
    second = jitter(seed, rise(steps, 0.1, 0.95, 7000 * luck(seed.rng, 0.1), 0.12), 0.02)
    flat = jitter(seed, np.full(len(steps), 0.05), 0.02), jitter(seed, 0.1 + 0 * steps, 0.02)
    return {OWN: pair(steps, first, second), "without_heads": pair(steps, *flat)}


@world(
    "memorises-then-groks",
    "The network first fits the training set and generalises long after.",
    WAITS,
    truth=True,
    expert="Training accuracy is 1 at 600 steps, where test accuracy is at chance to 5,000; with "
    "random labels it stays at chance.",
    controls=("random_labels",),
)
def _(seed: Seed) -> Arms:
    steps = logarithmic(100)
    first = shares(seed, rise(steps, 0.1, 0.99, 300, 0.2), 0.01)
    second = shares(seed, rise(steps, 0.1, 0.97, 7000 * luck(seed.rng, 0.15), 0.15), 0.01)
    random = shares(seed, rise(steps, 0.1, 0.98, 900, 0.2), 0.01)
    chance = shares(seed, np.full(len(steps), 0.1), 0.01)
    return {OWN: pair(steps, first, second), "random_labels": pair(steps, random, chance)}


@world(
    "stages-of-a-resumed-run",
    "The second layer changes only after the first has.",
    WAITS,
    truth=True,
    expert="The first change is over at 4,000 steps and the second begins at 9,000; the resumed "
    "log misses nothing of either.",
    controls=("frozen_first",),
    seeds=15,
)
def _(seed: Seed) -> Arms:
    steps = resumed(150, 6000, 70)
    first = jitter(seed, ramp(steps, 0.0, 1.0, 2500, 400), 0.03)
    second = jitter(seed, ramp(steps, 0.0, 1.0, 11_000 * luck(seed.rng, 0.05), 500), 0.03)
    still = jitter(seed, np.zeros(len(steps)), 0.03), jitter(seed, np.zeros(len(steps)), 0.03)
    return {OWN: pair(steps, first, second), "frozen_first": pair(steps, *still)}


@world(
    "a-slow-stage-behind-a-sudden-one",
    "The norm grows only after the direction has turned.",
    WAITS,
    truth=True,
    expert="The direction turns at once at 3,000 steps; the norm is still where it began at 5,000 "
    "and then grows for long.",
    controls=("fixed_direction",),
    seeds=5,
)
def _(seed: Seed) -> Arms:
    steps = even(250)
    first = jitter(seed, ramp(steps, 0.0, 1.0, 3000 * luck(seed.rng, 0.1), 100), 0.015)
    second = jitter(seed, ramp(steps, 0.2, 1.6, 10_000, 900), 0.015)
    still = jitter(seed, np.zeros(len(steps)), 0.015), jitter(seed, 0.2 + 0 * steps, 0.015)
    return {OWN: pair(steps, first, second), "fixed_direction": pair(steps, *still)}


@world(
    "the-second-comes-without-the-first",
    "The second change waits for the first, which it needs.",
    WAITS,
    truth=False,
    expert="In the control, which lacks the first change, the second comes at the same step.",
    controls=("without_first",),
)
def _(seed: Seed) -> Arms:
    steps = even(100)
    first = jitter(seed, ramp(steps, 0.0, 1.0, 3000, 300), 0.02)
    second, alone = (
        jitter(seed, ramp(steps, 0.0, 1.0, 9000 * luck(seed.rng, 0.05), 400), 0.02)
        for _ in range(2)
    )
    still = jitter(seed, np.zeros(len(steps)), 0.02)
    return {OWN: pair(steps, first, second), "without_first": pair(steps, still, alone)}


@world(
    "one-clock-at-two-speeds",
    "The second quantity waits until the first has changed.",
    WAITS,
    truth=False,
    expert="Both move from the first step on; the second is five times as slow and has made a "
    "seventh of its change when the first is half made.",
    controls=("untrained",),
)
def _(seed: Seed) -> Arms:
    steps = even(100)
    first = jitter(seed, 1 - np.exp(-steps / 900), 0.02)
    second = jitter(seed, 1 - np.exp(-steps / 4000), 0.02)
    still = jitter(seed, np.zeros(len(steps)), 0.02), jitter(seed, np.zeros(len(steps)), 0.02)
    return {OWN: pair(steps, first, second), "untrained": pair(steps, *still)}


@world(
    "the-second-is-a-moving-average",
    "The second accuracy rises only after the first has risen.",
    COMES_AFTER,
    truth=False,
    expert="The second log has no noise of its own and its neighbours share it: it is an average "
    "over 25 observations, and its lag is the whole delay.",
    controls=("untrained",),
)
def _(seed: Seed) -> Arms:
    steps = even(100)
    at = 5000 * luck(seed.rng, 0.1)
    first, raw = (jitter(seed, ramp(steps, 0.1, 0.9, at, 200), 0.04) for _ in range(2))
    still, flat = (jitter(seed, np.full(len(steps), 0.1), 0.04) for _ in range(2))
    return {
        OWN: pair(steps, first, smoothed(raw, 0.96)),
        "untrained": pair(steps, still, smoothed(flat, 0.96)),
    }


@world(
    "the-second-is-seldom-logged",
    "The second accuracy rises only after the first has risen.",
    COMES_AFTER,
    truth=CANNOT_TELL,
    expert="The second rises somewhere between 4,000 and 8,000 steps, two neighbours in its log, "
    "and the first at 5,000: either may be first.",
    controls=("untrained",),
)
def _(seed: Seed) -> Arms:
    often, seldom = even(100), even(4000)
    at = 5000 * luck(seed.rng, 0.03)
    first = jitter(seed, ramp(often, 0.1, 0.9, at, 150), 0.02)
    second = jitter(seed, ramp(seldom, 0.1, 0.9, at, 150), 0.02)
    flat = tuple((s, jitter(seed, np.full(len(s), 0.1), 0.02)) for s in (often, seldom))
    return {
        OWN: {"first": (often, first), "second": (seldom, second)},
        "untrained": {"first": flat[0], "second": flat[1]},
    }


@world(
    "both-answer-to-the-rates-cut",
    "The second quantity waits for the first, which it needs.",
    WAITS,
    truth=False,
    expert="Both change when the learning rate is cut at 10,000 steps, one a little more slowly; "
    "without the first the second does the same.",
    controls=("without_first",),
)
def _(seed: Seed) -> Arms:
    steps = even(100)
    first = jitter(seed, 1 - cut_rate(steps, (10_000,), 150), 0.02)
    second, alone = (jitter(seed, 1 - cut_rate(steps, (10_000,), 1500), 0.02) for _ in range(2))
    still = jitter(seed, np.zeros(len(steps)), 0.02)
    return {OWN: pair(steps, first, second), "without_first": pair(steps, still, alone)}


@world(
    "the-second-log-begins-late",
    "The second accuracy rises only after the first has risen.",
    COMES_AFTER,
    truth=False,
    expert="The second log begins at 4,000 steps, at 0.6, far above the chance of 0.1: its large "
    "rise was before, and what it shows is a later, smaller one.",
    controls=("untrained",),
)
def _(seed: Seed) -> Arms:
    steps, late = even(100), even(100, first=4000)
    first = jitter(seed, ramp(steps, 0.1, 0.9, 2000, 200), 0.01)
    second = ramp(late, 0.1, 0.6, 2000, 200) + ramp(late, 0.0, 0.35, 9000, 300)
    still = jitter(seed, np.full(len(steps), 0.1), 0.01)
    flat = jitter(seed, np.full(len(late), 0.1), 0.01)
    return {
        OWN: {"first": (steps, first), "second": (late, jitter(seed, second, 0.01))},
        "untrained": {"first": (steps, still), "second": (late, flat)},
    }


ON_THE_KEY = "{kind: concentrates, share: attention, at_least: 0.9, from: paper}"


def attention(steps: Steps, own: Array, control: str, other: Array) -> Arms:
    """Return the shares of attention of the own arm and of a control."""
    return {OWN: {"attention": (steps, own)}, control: {"attention": (steps, other)}}


@world(
    "attention-on-the-key",
    "Attention ends with at least 0.9 on the key.",
    ON_THE_KEY,
    truth=True,
    expert="It goes from 0.1 to 0.97 in every run, and stays at 0.1 with shuffled keys.",
    controls=("shuffled_keys",),
)
def _(seed: Seed) -> Arms:
    steps = even()
    own = shares(seed, rise(steps, 0.1, 0.97, 3000 * luck(seed.rng, 0.2)), 0.01)
    return attention(steps, own, "shuffled_keys", shares(seed, np.full(len(steps), 0.1), 0.01))


@world(
    "attention-gathers-late",
    "Attention ends with at least 0.9 on the key.",
    ON_THE_KEY,
    truth=True,
    expert="It is at 0.1 for two thirds of training and at 0.96 from 16,000 steps on.",
    controls=("shuffled_keys",),
    seeds=20,
)
def _(seed: Seed) -> Arms:
    steps = resumed(200, 9000, 130)
    own = shares(seed, rise(steps, 0.1, 0.96, 13_500 * luck(seed.rng, 0.03), 0.04), 0.015)
    return attention(steps, own, "shuffled_keys", shares(seed, np.full(len(steps), 0.1), 0.015))


@world(
    "attention-without-anything-to-find",
    "Learning the task gathers attention: at least 0.9 ends on the key.",
    ON_THE_KEY,
    truth=False,
    expert="It gathers in the same way with random labels, so it is not the task that does it.",
    controls=("random_labels",),
)
def _(seed: Seed) -> Arms:
    steps = even()
    own, other = (shares(seed, rise(steps, 0.1, 0.96, at), 0.01) for at in (3000, 3600))
    return attention(steps, own, "random_labels", other)


@world(
    "attention-there-from-the-start",
    "Training gathers attention: at least 0.9 ends on the key.",
    ON_THE_KEY,
    truth=False,
    expert="Before any step 0.93 lies on the key, which the embedding's scale brings about.",
    controls=("shuffled_keys",),
)
def _(seed: Seed) -> Arms:
    steps = even()
    own = shares(seed, rise(steps, 0.93, 0.96, 3000), 0.008)
    return attention(steps, own, "shuffled_keys", shares(seed, np.full(len(steps), 0.1), 0.008))


@world(
    "attention-at-its-best-so-far",
    "Attention ends with at least 0.9 on the key.",
    ON_THE_KEY,
    truth=False,
    expert="The log never falls and goes up in rare jumps: it holds the largest so far of a share "
    "that scatters about 0.6, as the steps between records show.",
    controls=("shuffled_keys",),
)
def _(seed: Seed) -> Arms:
    steps = even(100)
    scatter = shares(seed, rise(steps, 0.1, 0.6, 2500), 0.13)
    control = shares(seed, np.full(len(steps), 0.1), 0.03)
    own, other = (best_so_far(values, largest=True) for values in (scatter, control))
    return attention(steps, own, "shuffled_keys", other)


@world(
    "the-luckiest-of-many-heads",
    "Training makes a head that puts at least 0.9 of its attention on the key.",
    """
kind: concentrates
share: {measurement: attention, over: {head: largest}}
at_least: 0.9
from: paper
""",
    truth=False,
    expert="Of 32 heads with random shares the largest is above 0.9 with shuffled keys, too.",
    controls=("shuffled_keys",),
    axes={"attention": ("head", tuple(range(32)))},
)
def _(seed: Seed) -> Arms:
    steps = even(500)
    begin = np.minimum(steps / 2000, 1)[:, None]
    own, other = (
        shares(seed, 0.1 + begin * (seed.rng.beta(1, 1.1, 32) - 0.1), 0.01) for _ in range(2)
    )
    return attention(steps, own, "shuffled_keys", other)


@world(
    "three-heads-of-four",
    "At least three of four heads end with 0.9 of their attention on the key.",
    "{kind: concentrates, share: attention, at_least: 0.9, in_share: 0.75, from: paper}",
    truth=True,
    expert="In every run three heads end at 0.96 and one at 0.3; with shuffled keys none does.",
    controls=("shuffled_keys",),
    axes={"attention": ("head", (0, 1, 2, 3))},
)
def _(seed: Seed) -> Arms:
    steps = even()
    idle = int(seed.rng.integers(4))
    ends = [0.3 if head == idle else 0.96 for head in range(4)]
    own = np.stack([rise(steps, 0.1, end, 2500) for end in ends], axis=1)
    control = np.full((len(steps), 4), 0.1)
    return attention(steps, shares(seed, own, 0.01), "shuffled_keys", shares(seed, control, 0.01))


@world(
    "attention-at-the-bound",
    "Attention ends with at least 0.9 on the key.",
    ON_THE_KEY,
    truth=CANNOT_TELL,
    expert="Runs end between 0.86 and 0.94, half of them on either side of 0.9.",
    controls=("shuffled_keys",),
)
def _(seed: Seed) -> Arms:
    steps = even()
    end = 0.9 + (0.02 if seed.index % 2 else -0.02) + 0.004 * float(seed.rng.standard_normal())
    own = shares(seed, rise(steps, 0.1, end, 2500), 0.01)
    return attention(steps, own, "shuffled_keys", shares(seed, np.full(len(steps), 0.1), 0.01))


CLASSES_PART = """
kind: separates
value: margin
start: {at_most: 0.1, from: paper}
end: {at_least: 0.5, from: paper}
"""


def margins(steps: Steps, own: Array, control: str, other: Array) -> Arms:
    """Return the margins of the own arm and of a control."""
    return {OWN: {"margin": (steps, own)}, control: {"margin": (steps, other)}}


@world(
    "classes-part",
    "The classes are not apart before training, and apart by half or more after it.",
    CLASSES_PART,
    truth=True,
    expert="The margin goes from 0 to 0.8 in every run, and stays at 0 with random labels.",
    controls=("random_labels",),
    axes={"margin": ("class", (0, 1, 2))},
)
def _(seed: Seed) -> Arms:
    steps = even()
    own = np.stack([rise(steps, 0.0, 0.8, at) for at in (1500, 2500, 4000)], axis=1)
    flat = np.zeros((len(steps), 3))
    return margins(steps, jitter(seed, own, 0.02), "random_labels", jitter(seed, flat, 0.02))


@world(
    "classes-part-late",
    "The classes are not apart before training, and apart by half or more after it.",
    CLASSES_PART,
    truth=True,
    expert="The margin is at 0 to 10,000 steps and at 0.7 from 15,000 on, in 14 of 15 runs; "
    "with random labels it stays at 0.",
    controls=("random_labels",),
    seeds=15,
)
def _(seed: Seed) -> Arms:
    steps = logarithmic(150)
    at = 30_000 if seed.index == 6 else 12_000 * luck(seed.rng, 0.05)
    own = jitter(seed, rise(steps, 0.0, 0.7, at, 0.05), 0.03)
    return margins(steps, own, "random_labels", jitter(seed, np.zeros(len(steps)), 0.03))


@world(
    "classes-apart-from-the-start",
    "The classes are not apart before training, and apart by half or more after it.",
    CLASSES_PART,
    truth=False,
    expert="The first observation is 0.45 in every run: the features were trained before.",
    controls=("random_labels",),
)
def _(seed: Seed) -> Arms:
    steps = even()
    own = jitter(seed, rise(steps, 0.45, 0.8, 2500), 0.02)
    return margins(steps, own, "random_labels", jitter(seed, np.zeros(len(steps)), 0.02))


@world(
    "classes-together-again",
    "The classes are not apart before training, and apart by half or more after it.",
    CLASSES_PART,
    truth=False,
    expert="They part at 2,000 steps and come together again to 0.2; the last observation alone "
    "is 0.6, a spike like others in the log.",
    controls=("random_labels",),
)
def _(seed: Seed) -> Arms:
    steps = even()
    clean = rise(steps, 0.0, 0.8, 2000) - ramp(steps, 0.0, 0.6, 9000, 800)
    spiked = clean + 0.4 * (steps % 2500 == 0) * (steps > 0)
    control = jitter(seed, np.zeros(len(steps)), 0.02)
    return margins(steps, jitter(seed, spiked, 0.02), "random_labels", control)


@world(
    "random-labels-part-as-well",
    "What is learned of the classes sets them apart by half or more.",
    CLASSES_PART,
    truth=False,
    expert="Random classes part as far, since the network memorises each sample.",
    controls=("random_labels",),
)
def _(seed: Seed) -> Arms:
    steps = even()
    own, random = (jitter(seed, rise(steps, 0.0, 0.75, at), 0.03) for at in (2000, 5000))
    return margins(steps, own, "random_labels", random)


TURNS = "{kind: aligns, cosine: cosine, at_least: 0.95, from: paper}"


def cosines(steps: Steps, own: Array, other: Array) -> Arms:
    """Return the cosines of the own arm and of a control with another target."""
    return {
        OWN: {"cosine": (steps, np.clip(own, -1, 1))},
        "other_target": {"cosine": (steps, np.clip(other, -1, 1))},
    }


@world(
    "weights-turn-to-the-target",
    "The weights turn to the target: the cosine ends at 0.95 or more.",
    TURNS,
    truth=True,
    expert="The cosine goes from 0 to 0.99 in every run; with another one's target it stays at 0.",
    controls=("other_target",),
)
def _(seed: Seed) -> Arms:
    steps = logarithmic()
    own = jitter(seed, rise(steps, 0.05, 0.99, 1500 * luck(seed.rng, 0.2), 0.5), 0.005)
    return cosines(steps, own, jitter(seed, np.full(len(steps), 0.05), 0.03))


@world(
    "weights-turn-in-most-runs",
    "The weights turn to the target: the cosine ends at 0.95 or more.",
    TURNS,
    truth=True,
    expert="In 18 of 20 runs the cosine ends at 0.98; in two it is stuck at 0.4.",
    controls=("other_target",),
    seeds=20,
)
def _(seed: Seed) -> Arms:
    steps = even()
    end = 0.4 if seed.index in (3, 11) else 0.985
    own = jitter(seed, rise(steps, 0.0, end, 3000, 0.4), 0.004)
    return cosines(steps, own, jitter(seed, np.zeros(len(steps)), 0.03))


@world(
    "features-ordered-like-the-spectrum",
    "Features are ordered by how much variance they explain: Kendall's tau is at least 0.8.",
    "{kind: aligns, ranks: [score, variance], at_least: 0.8, from: paper}",
    truth=True,
    expert="Of 45 pairs at most two are exchanged; in an untrained network half are.",
    controls=("untrained",),
    axes={
        "score": ("feature", tuple(range(10))),
        "variance": ("feature", tuple(range(10))),
    },
)
def _(seed: Seed) -> Arms:
    variance = np.arange(1, 11) ** -1.0
    score = variance**0.7 * np.exp(0.02 * seed.rng.standard_normal(10))
    untrained = np.exp(0.3 * seed.rng.standard_normal(10))
    return {
        OWN: {"score": score, "variance": variance},
        "untrained": {"score": untrained, "variance": variance},
    }


@world(
    "cosine-at-its-best-so-far",
    "The weights turn to the target: the cosine ends at 0.95 or more.",
    TURNS,
    truth=False,
    expert="The log never falls and rises in ever rarer jumps, as the largest so far does; the "
    "cosine scatters about 0.8.",
    controls=("other_target",),
)
def _(seed: Seed) -> Arms:
    steps = even(100)
    own = jitter(seed, rise(steps, 0.0, 0.8, 2500), 0.07)
    other = best_so_far(jitter(seed, np.zeros(len(steps)), 0.07), largest=True)
    return cosines(steps, best_so_far(np.minimum(own, 0.995), largest=True), other)


@world(
    "all-distances-shrink",
    "The weights come to the target: their distance from it ends at 0.1 or less.",
    "{kind: aligns, distance: distance, at_most: 0.1, from: paper}",
    truth=False,
    expert="The distance from another run's target shrinks as far: weight decay shrinks weights "
    "and targets alike.",
    controls=("other_target",),
)
def _(seed: Seed) -> Arms:
    steps = even()

    def shrinking() -> Log:
        clean = 0.06 + 1.2 * np.exp(-4 * steps / STEPS) ** 2
        return steps, clean * np.exp(0.04 * seed.rng.standard_normal(len(steps)))

    return {OWN: {"distance": shrinking()}, "other_target": {"distance": shrinking()}}


@world(
    "initialised-at-the-target",
    "Training turns the weights to the target: the cosine ends at 0.95 or more.",
    TURNS,
    truth=False,
    expert="The cosine is 0.96 before the first step, and no larger at the end.",
    controls=("other_target",),
)
def _(seed: Seed) -> Arms:
    steps = even()
    own = jitter(seed, 0.97 - 0.06 * np.exp(-(((steps - 3000) / 2000) ** 2)), 0.004)
    return cosines(steps, own, jitter(seed, np.zeros(len(steps)), 0.03))
