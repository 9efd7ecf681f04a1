"""How often a claim of many parts is missed: wrongly, and when one or all of its parts fail.

Compares rules for dividing the error of a miss among the parts of a claim; *met* needs no division.
Writes benchmarks/multiplicity.json. Run with ``make calibrate``, or ``python -m
benchmarks.multiplicity``; takes about a minute.

Five seeds, numbers normal on the scale of the check, with an equal correlation between parts.
"Fails by 2 SD" means that the true mean lies two standard deviations of a seed on the wrong side.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from reproaudit.stats.acceptance import most_astray

RESULTS = Path(__file__).with_suffix(".json")
TRIALS, SEEDS, ALPHA = 50_000, 5, 0.05
PARTS = (1, 5, 30)
CORRELATIONS = (0.0, 0.5, 0.9)

Numbers = NDArray[np.float64]
Missed = NDArray[np.bool_]


def equal_shares(p: Numbers) -> Missed:
    """Every part has the same share of α; p, of shape (trial, part), is one-sided."""
    return np.asarray((p <= ALPHA / 2 / p.shape[1]).any(axis=1))


def primary_and_holm(p: Numbers) -> Missed:
    """The first part has half of α, the others share the other half by Holm (the rule in use).

    Whether any part is missed depends on Holm's first step alone; later steps name further parts.
    """
    others = p.shape[1] - 1
    if others == 0:
        return np.asarray(p[:, 0] <= ALPHA / 2)
    return np.asarray((p[:, 0] <= ALPHA / 4) | (p[:, 1:] <= ALPHA / 4 / others).any(axis=1))


def primary_and_hochberg(p: Numbers) -> Missed:
    """As above, the others by Hochberg's step-up method (Biometrika 75, 1988)."""
    others = p.shape[1] - 1
    if others == 0:
        return np.asarray(p[:, 0] <= ALPHA / 2)
    rising = np.sort(p[:, 1:], axis=1)
    return np.asarray(
        (p[:, 0] <= ALPHA / 4) | (rising <= ALPHA / 4 / np.arange(others, 0, -1)).any(axis=1)
    )


RULES: dict[str, Callable[[Numbers], Missed]] = {
    "equal shares": equal_shares,
    "primary and Holm": primary_and_holm,
    "primary and Hochberg": primary_and_hochberg,
}


def one_sided(values: Numbers) -> Numbers:
    """The p-values of values of shape (trial, part, seed) against a mean of 0 or more.

    They are 1 where too many runs lie at 0 or above for the part to be missed by the count of runs.
    """
    astray = most_astray(values.shape[-1], ALPHA)
    mean, error = values.mean(axis=-1), values.std(axis=-1, ddof=1) / np.sqrt(values.shape[-1])
    p = stdtr(values.shape[-1] - 1, mean / error)
    return np.where((values >= 0).sum(axis=-1) > astray, 1.0, p)


def shifts(parts: int) -> dict[str, Numbers]:
    """The true means in standard deviations, by what is simulated."""
    first, last, every = np.zeros(parts), np.zeros(parts), np.zeros(parts) - 1.0
    first[0], last[-1] = -2.0, -2.0
    found = {"every part on its bound (error)": np.zeros(parts), "the primary fails by 2 SD": first}
    if parts > 1:
        found |= {"another part fails by 2 SD": last, "all parts fail by 1 SD": every}
    return found


def simulate(parts: int, correlation: float) -> dict[str, dict[str, float]]:
    """The rate of *missed*, by what is simulated and by rule."""
    rng = np.random.default_rng([parts, round(100 * correlation)])
    rates: dict[str, dict[str, float]] = {}
    for name, shift in shifts(parts).items():
        missed = dict.fromkeys(RULES, 0)
        for _ in range(10):
            common = rng.normal(size=(TRIALS // 10, 1, SEEDS))
            own = rng.normal(size=(TRIALS // 10, parts, SEEDS))
            noise = np.sqrt(correlation) * common + np.sqrt(1 - correlation) * own
            p = one_sided(shift[:, None] + noise)
            for rule, decide in RULES.items():
                missed[rule] += int(decide(p).sum())
        rates[name] = {rule: round(count / TRIALS, 4) for rule, count in missed.items()}
    return rates


def main() -> int:
    """Simulates, prints and writes; exit code 1 if the rule in use errs more than it may."""
    results: dict[str, dict[str, dict[str, dict[str, float]]]] = {}
    worst = 0.0
    for parts in PARTS:
        for correlation in CORRELATIONS if parts > 1 else CORRELATIONS[:1]:
            rates = simulate(parts, correlation)
            results.setdefault(str(parts), {})[f"correlation {correlation:g}"] = rates
            worst = max(worst, rates["every part on its bound (error)"]["primary and Holm"])
            for name, by_rule in rates.items():
                figures = ", ".join(f"{rule} {rate:.1%}" for rule, rate in by_rule.items())
                print(f"{parts:>2} parts, correlation {correlation:g}, {name}: {figures}")
    RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    return int(worst > ALPHA / 2 + 3 * np.sqrt(ALPHA / 2 / TRIALS))


if __name__ == "__main__":
    sys.exit(main())
