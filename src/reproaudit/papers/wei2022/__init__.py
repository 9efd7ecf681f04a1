"""Wei and others: Emergent abilities of large language models. TMLR 2022, arXiv 2206.07682.

Against it: Schaeffer, Miranda, Koyejo: Are emergent abilities of large language models a mirage?
NeurIPS 2023, arXiv 2304.15004. Nothing here is a language model: ridge regressions on random
features read digits, and several metrics score the same outputs. No code of either was found.

===============================================  ======================
the papers                                       here
===============================================  ======================
exact match; subset accuracy (Schaeffer, 5)      `exact_match`
accuracy of one item; Brier score                `skill`
per-token law p = exp(−(N/c)^α) (Schaeffer, 2)   `per_token`
emergence score (Schaeffer, 4)                   `emergence_score`
Reconstruction_c of autoencoders (Schaeffer, 5)  `measure_autoencoders`
===============================================  ======================
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import numpy as np
from scipy.special import expit, logit

from reproaudit.lab import (
    Array,
    AuditSettings,
    checksums,
    experiment_of,
    generator,
    one_thread,
    pictures,
)

ONE_HOT = np.eye(10)
NAMES = {"mnist": "MNIST", "digits": "8×8 digits"}
"""The pictures by the setting that names them."""


def checksum(s: AuditSettings) -> dict[str, str]:
    """Return the checksums of the pictures."""
    return checksums(s.images, s.split)


def rows_of(s: AuditSettings, seed: int, part: str) -> tuple[Array, Array]:
    """Return pixels (row, pixel) and labels (row) of a random split's part, "train" or "test"."""
    every = pictures(s.images, s.split)
    rows = generator(seed, "split").permutation(len(every.labels))
    last = s.train_rows + s.test_rows
    chosen = {"train": rows[: s.train_rows], "test": rows[s.train_rows : last]}[part]
    return every.pixels[chosen], every.labels[chosen]


def trained(s: AuditSettings, seed: int, index: int) -> tuple[Array, Array]:
    """Return scores (row, class) and hits (row) of ridge regression on random ReLU features."""
    width = s.sizes[index]
    count = s.train_rows
    if s.grows == "rows":
        width = 2 * s.sizes[-1]  # far from the peak of the risk where rows equal the width
        count = s.sizes[index]
    pixels, labels = (part[:count] for part in rows_of(s, seed, "train"))
    test_pixels, test_labels = rows_of(s, seed, "test")
    wanted = ONE_HOT[labels]
    if s.labels == "permuted":
        wanted = generator(seed, "labels", index).permutation(wanted)
    rng = generator(seed, "features", index)
    weights = rng.standard_normal((pixels.shape[1], width))
    biases = rng.standard_normal(width)
    seen, unseen = (np.maximum(x @ weights + biases, 0) for x in (pixels, test_pixels))
    centred = seen - seen.mean(axis=0)
    gram = centred.T @ centred + s.ridge * np.eye(width)
    slopes = np.linalg.solve(gram, centred.T @ (wanted - wanted.mean(axis=0)))
    scores = (unseen - seen.mean(axis=0)) @ slopes + wanted.mean(axis=0)
    return scores, scores.argmax(axis=1) == test_labels


def per_token(size: Array, scale: float, power: float) -> Array:
    """Return the chance exp(−(N/c)^α) that a token is right, α < 0 (Schaeffer, section 2)."""
    return np.asarray(np.exp(-((size / scale) ** power)))


def constructed(s: AuditSettings, seed: int, index: int) -> tuple[Array, Array]:
    """Return what `trained` does, of a model of Schaeffer's law whose wrong classes are alike."""
    own = ONE_HOT[rows_of(s, seed, "test")[1]]
    right = per_token(np.array(s.sizes[index]), s.toy_scale, s.toy_power)
    scores = np.where(own == 1, right, (1 - right) / 9)
    return scores, generator(seed, "toy", index).random(len(own)) < right


def draw_targets(s: AuditSettings, seed: int, labels: Array) -> Array:
    """Draw the rows of each target (target, place) with repetition, of all classes or of one."""
    rng = generator(seed, "targets")
    group = labels if s.drawing == "one_class" else np.zeros_like(labels)
    order = np.argsort(group, kind="stable")
    count = np.bincount(group)
    chosen = group[rng.integers(len(labels), size=(s.targets, 1))]
    place = rng.random((s.targets, s.length)) * count[chosen]
    return np.asarray(order[(np.cumsum(count) - count)[chosen] + place.astype(int)])


def exact_match(hits: Array, targets: Array) -> Array:
    """Return the share of targets of which every row is right, by size."""
    return np.asarray(hits[:, targets].all(axis=2).mean(axis=1))


def skill(s: AuditSettings, scores: Array, labels: Array, hits: Array, tested: Array) -> Array:
    """Return the metric by size, as the share of the way from chance, 0, to no error, 1."""
    if s.metric in ("exact_match", "item"):
        length = s.length if s.metric == "exact_match" else 1
        return np.asarray((exact_match(hits, tested[:, :length]) - 0.1**length) / (1 - 0.1**length))
    kept = np.maximum(scores, s.floor)  # scores of ridge regression may be negative
    kept /= kept.sum(axis=2, keepdims=True)
    own = ONE_HOT[labels]
    if s.metric == "brier":
        return np.asarray(1 - ((kept - own) ** 2).sum(axis=2).mean(axis=1) / 0.9)
    return np.asarray(1 + np.log((kept * own).sum(axis=2)).mean(axis=1) / np.log(10))


def crossing(places: Array, score: Array, level: float) -> float:
    """Return where a score first exceeds a level, straight in between; the end if it never does."""
    if not (above := np.flatnonzero(score > level)).size:
        return float(places[-1])
    pair = [max(above[0] - 1, 0), above[0]]
    return float(np.interp(level, score[pair], places[pair]))


def steepest_rise(places: Array, score: Array, share: float) -> float:
    """Return the largest rise within a share of the axis, straight between its places."""
    step = share * (places[-1] - places[0])
    begin = np.linspace(places[0], places[-1] - step, 501)
    rise = np.interp(begin + step, places, score) - np.interp(begin, places, score)
    return float(rise.max())


SCALES = {  # what a line is drawn through, and how it becomes a score again
    "scores": (np.asarray, np.asarray),
    "bounded": (np.asarray, lambda line: np.clip(line, 0, 1)),
    "logits": (logit, expit),
    "logs": (np.log, np.exp),
}


def forecast_error(places: Array, score: Array, scale: str, resolution: float) -> float:
    """Return how far a line through the lower half of the places is from the last score."""
    half = len(places) // 2
    there, back = SCALES[scale]
    seen = there(np.clip(score[:half], resolution, 1 - resolution))
    line = np.polynomial.Polynomial.fit(places[:half], seen, 1)
    return float(abs(back(line(places[-1])) - score[-1]))


MADE_BY = "images split train_rows test_rows ridge labels outputs toy_power toy_scale sizes grows"
"""The settings on which a family's outputs depend; others say how these are scored."""


@lru_cache(maxsize=64)
def outputs_of(s: AuditSettings, seed: int) -> tuple[Array, Array]:
    """Return scores (size, row, class) and hits (size, row) of a family; once for all metrics."""
    model = trained if s.outputs == "trained" else constructed
    with one_thread():
        made = [model(s, seed, index) for index in range(len(s.sizes))]
    scores, hits = (np.stack(each) for each in zip(*made, strict=True))
    return scores, hits


def answers(s: AuditSettings, seed: int) -> tuple[Array, Array, Array, Array]:
    """Return labels (row), scores (size, row, class), hits (size, row) and targets of a family."""
    made_by = {name: getattr(s, name) for name in MADE_BY.split()}
    scores, hits = outputs_of(AuditSettings(**made_by), seed)
    labels = rows_of(s, seed, "test")[1]
    return labels, scores, hits, draw_targets(s, seed, labels)


def measure_emergence(s: AuditSettings, seed: int) -> Mapping[str, float | Array]:
    """Read how long a metric is absent along ln size, how fast it rises, and how high it ends."""
    labels, scores, hits, targets = answers(s, seed)
    score = skill(s, scores, labels, hits, targets[: s.tested])
    seen = exact_match(hits, targets) <= s.window
    places = np.log(np.array(s.sizes) / s.sizes[0])[seen]
    return {
        "score": score,
        "flat_share": crossing(places, score[seen], s.absent) / places[-1],
        "rise": steepest_rise(places, score[seen], s.steepest),
        "top": score[seen][-1],
    }


def measure_comparison(s: AuditSettings, seed: int) -> Mapping[str, float | Array]:
    """Measure place, steepness, foresight and false zeros of exact match and of single items."""
    _, _, hits, targets = answers(s, seed)
    places = np.log(s.sizes)
    exact = exact_match(hits, targets)
    item = hits.mean(axis=1)
    measured: dict[str, float | Array] = {"exact": exact, "product": item**s.length}
    for name, curve, length in (("exact", exact, s.length), ("item", item, 1)):
        few = exact_match(hits, targets[: s.few, :length])
        measured[f"half_{name}"] = crossing(places, curve, 0.5)
        measured[f"rise_{name}"] = steepest_rise(places, curve, s.steepest)
        measured[f"miss_{name}"] = forecast_error(places, curve, s.forecast, 1 / (2 * s.targets))
        measured[f"zeros_{name}"] = np.sum((few == 0) & (curve > 0))
    return measured


def measure_toy(s: AuditSettings, seed: int) -> Mapping[str, float]:
    """Hold `per_token` against its power, and draw edit distances; exponent and error are drawn."""
    rng = generator(seed, "toy")
    steepness = rng.uniform(*s.powers)
    error = rng.uniform(*s.errors)
    places = np.linspace(-4, 12, 16_001) / steepness
    token = per_token(np.exp(places), 1.0, -steepness)
    every = token**s.length
    return {
        "shift": crossing(places, every, 0.5) - crossing(places, token, 0.5),
        "predicted_shift": np.log(s.length) / steepness,
        "slopes": np.diff(every).max() / np.diff(token).max(),
        "edit_distance": (rng.random((s.drawn, s.length)) < error).sum(axis=1).mean(),
        "wrong_tokens": s.length * error,
        "right_tokens": s.length * (1 - error),
    }


def squared_errors(s: AuditSettings, seed: int, index: int) -> tuple[Array, Array]:
    """Return ‖x − x̂‖² of training and of test rows, x̂ = tanh(xV + a)W + b by Adam on batches."""
    x, unseen = (rows_of(s, seed, part)[0] for part in ("train", "test"))
    rng = generator(seed, "autoencoder", index)
    shape = (x.shape[1], s.units[index])
    v = rng.standard_normal(shape) / shape[0] ** 0.5
    w = rng.standard_normal(shape[::-1]) / shape[1] ** 0.5
    a = np.zeros(shape[1])
    b = x.mean(axis=0)
    learned = [(part, np.zeros_like(part), np.zeros_like(part)) for part in (v, a, w, b)]
    for step in range(1, s.steps + 1):
        batch = x[rng.integers(len(x), size=s.batch)]
        hidden = np.tanh(batch @ v + a)
        outer = 2 * (hidden @ w + b - batch) / s.batch
        inner = (outer @ w.T) * (1 - hidden**2)
        slopes = (batch.T @ inner, inner.sum(axis=0), hidden.T @ outer, outer.sum(axis=0))
        for (weights, mean, square), slope in zip(learned, slopes, strict=True):
            mean += 0.1 * (slope - mean)
            square += 0.001 * (slope**2 - square)
            root = np.sqrt(square / (1 - 0.999**step)) + 1e-8
            weights -= s.rate * mean / (1 - 0.9**step) / root
    seen, new = (((np.tanh(rows @ v + a) @ w + b - rows) ** 2).sum(axis=1) for rows in (x, unseen))
    return seen, new


def emergence_score(score: Array, resolution: float = 0.0) -> float:
    """Return the range over the root of the median squared step, signed (Schaeffer, section 4).

    A median step below the resolution counts as large as that: the score is infinite at 0.
    """
    step = max(np.sqrt(np.median(np.diff(score) ** 2)), resolution)
    return float(np.sign(score.argmax() - score.argmin()) * np.ptp(score) / step)


def reconstruction(errors: Array, threshold: float | Array) -> tuple[Array, float]:
    """Return the share of rows with errors (size, row) below a threshold, and its emergence."""
    share = (errors < threshold).mean(axis=1)
    return share, emergence_score(share, 1 / errors.shape[1])


def measure_autoencoders(s: AuditSettings, seed: int) -> Mapping[str, float | Array]:
    """Score the same autoencoders by squared error and by the share of test rows below c.

    c is chosen for its effect on the training rows, of those below which the largest one has
    certain shares of them.
    """
    with one_thread():
        made = [squared_errors(s, seed, index) for index in range(len(s.units))]
    seen, errors = (np.stack(each) for each in zip(*made, strict=True))
    chosen = max(np.quantile(seen[-1], s.shares), key=lambda c: reconstruction(seen, c)[1])
    drawn = generator(seed, "thresholds").uniform(0, errors.max(), errors.shape[1])
    share, emergence = reconstruction(errors, chosen)
    return {
        "mse": errors.mean(axis=1),
        "smooth_emergence": emergence_score(-errors.mean(axis=1)),
        "chosen": chosen,
        "reconstruction": share,
        "gained": share[-1],
        "emergence": emergence,
        "drawn_emergence": reconstruction(errors, drawn)[1],
    }


def _features(s: AuditSettings) -> str:
    return f"random features on {NAMES[s.images]} in place of language models"


def _pictures(s: AuditSettings) -> str:
    return f"{NAMES[s.images]} in place of CIFAR-100"


EXPERIMENTS = {
    "comparison": experiment_of(measure_comparison, data=checksum, proxy=_features),
    "emergence": experiment_of(measure_emergence, data=checksum, proxy=_features),
    "toy": experiment_of(measure_toy),
    "autoencoders": experiment_of(measure_autoencoders, data=checksum, proxy=_pictures),
}
