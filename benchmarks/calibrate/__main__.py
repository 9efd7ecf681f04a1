"""Measures the rate of *met* on every shape; writes calibration.json and docs/calibration.md.

Run with ``make calibrate``; takes a few minutes on two cores. Exit code 1 if the exact lower bound
of a null's rate lies above the level, or a kind has fewer than three nulls.
"""

from __future__ import annotations

import json
import sys
from concurrent.futures import ProcessPoolExecutor
from typing import Any, get_args

from benchmarks.calibrate.measure import CONFIDENCE, LEVEL, met_at_once, refused
from benchmarks.calibrate.page import PAGE, RESULTS, page
from benchmarks.calibrate.shape import Shape
from benchmarks.calibrate.shapes import NOT_EXCLUDED, NULLS, PHENOMENA
from reproaudit.checks import Check
from reproaudit.stats import clopper_pearson

AUDITS = 1000
FEWEST_NULLS = 3


def kinds() -> list[str]:
    """Every kind of check."""
    union = get_args(Check)[0]
    return sorted(get_args(one.model_fields["kind"].annotation)[0] for one in get_args(union))


def figures(index: int) -> dict[str, Any]:
    """The figures of one shape, numbered over nulls, then phenomena, then laws of few runs."""
    shape = [*NULLS, *PHENOMENA, *NOT_EXCLUDED][index]
    if refused(shape):
        return {"met": 0, "of": AUDITS, "refused": AUDITS}
    return {"met": int(met_at_once(shape, AUDITS).sum()), "of": AUDITS}


def calibrate(jobs: int) -> dict[str, Any]:
    """The figures of every kind."""
    lists = {"nulls": NULLS, "power": PHENOMENA, "not_excluded": NOT_EXCLUDED}
    shapes: list[tuple[str, Shape]] = [(key, one) for key, some in lists.items() for one in some]
    with ProcessPoolExecutor(jobs) as pool:
        found = list(pool.map(figures, range(len(shapes))))
    results: dict[str, Any] = {kind: {"level": LEVEL, "nulls": {}, "power": {}} for kind in kinds()}
    for (key, shape), one in zip(shapes, found, strict=True):
        results[shape.kind].setdefault(key, {})[shape.name] = one
    return results


def faults(results: dict[str, Any]) -> list[str]:
    """What is wrong with the figures: a null above the level, a kind with too few shapes."""
    found = []
    for kind, one in results.items():
        if len(one["nulls"]) < FEWEST_NULLS or not one["power"]:
            found.append(f"{kind} has {len(one['nulls'])} nulls and {len(one['power'])} phenomena")
        for name, rate in one["nulls"].items():
            low = clopper_pearson(rate["met"], rate["of"], CONFIDENCE).low
            if low > one["level"]:
                share = rate["met"] / rate["of"]
                found.append(f"{kind}, {name}: met in {share:.1%}, above {one['level']:.0%}")
    return found


def main(arguments: list[str]) -> int:
    """Measures and writes; `--jobs N` sets the number of processes."""
    jobs = int(arguments[1]) if arguments[:1] == ["--jobs"] else 2
    results = calibrate(jobs)
    RESULTS.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    PAGE.write_text(page(results), encoding="utf-8")
    wrong = faults(results)
    print("\n".join(wrong) if wrong else f"{len(NULLS)} nulls: none above the level")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
