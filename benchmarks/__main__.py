"""Runs the benchmark of every paper, or of the named ones, and keeps the figures.

A module ``benchmarks/<slug>.py`` of a shipped audit's name, with a function ``bench()``, is a
paper's benchmark; nothing else lists it. The runner's own is `benchmarks.scaling`. `bench` returns
at least ``literal_ms``, ``ours_ms`` and ``ratio``, of one training step each, both on one thread,
and where it counts operations and bytes what `benchmarks.ceiling` makes of them, under ``reached``.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
import sys
from pathlib import Path
from typing import Any

from reproaudit.audit.catalog import Catalog

HERE = Path(__file__).parent
RESULTS = HERE / "results.json"


def slugs() -> list[str]:
    """The papers that have a benchmark."""
    papers = Catalog().entries
    return sorted(m.name for m in pkgutil.iter_modules([str(HERE)]) if m.name in papers)


def keep(slug: str, figures: dict[str, Any]) -> None:
    """Replace one paper's figures in the results, leaving the others'."""
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    results[slug] = figures
    RESULTS.write_text(json.dumps(results, indent=2, sort_keys=True) + "\n")


def main(arguments: list[str]) -> int:
    """Bench the named papers, or all; exit code 2 for a name without a benchmark."""
    known = slugs()
    if unknown := sorted(set(arguments) - set(known)):
        print(f"no benchmark for {', '.join(unknown)}. Known: {', '.join(known)}.", file=sys.stderr)
        return 2
    print("one training step, one thread against one")
    print(f"{'paper':<14}{'literal':>14}{'ours':>14}{'ratio':>10}")
    for slug in arguments or known:
        figures = importlib.import_module(f"benchmarks.{slug}").bench()
        keep(slug, figures)
        literal, ours = f"{figures['literal_ms']:.1f} ms", f"{figures['ours_ms']:.3f} ms"
        print(f"{slug:<14}{literal:>14}{ours:>14}{figures['ratio']:>9.0f}×", flush=True)
        if reached := figures.get("reached"):
            print(sentence(reached), flush=True)
    return 0


def sentence(reached: dict[str, Any]) -> str:
    """What a step achieves of the machine's ceiling, and what stands between."""
    return (
        f"  {reached['gigaoperations_per_s']:g} of {reached['ceiling_gigaoperations_per_s']:g} "
        f"gigaoperations/s (a matrix product here, kernels "
        f"{reached['kernels']}), {reached['gigabytes_per_s']:g} of "
        f"{reached['ceiling_gigabytes_per_s']:g} GB/s (a triad here); between: "
        f"{reached['between']}"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
