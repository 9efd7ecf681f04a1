"""Judge every planted world, and print how often the answers are wrong, and which.

Run with ``make planted``; ``python -m benchmarks.planted --only NAME`` judges one world.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from scipy.stats import binomtest

import reproaudit

from . import WORLDS, World
from .judging import Judged, Row, judge_world, measured_runs, write_audit
from .world import CANNOT_TELL

LEVELS = ("high", "moderate", "low", "very low")


def rate(count: int, of: int) -> str:
    """Return a count, its share and the exact 95 % interval of Clopper and Pearson."""
    if not of:
        return "–"
    interval = binomtest(count, of).proportion_ci(0.95, method="exact")
    return f"{count}/{of} {count / of:.0%} ({interval.low:.0%} to {interval.high:.0%})"


def _count(
    judged: Sequence[Judged], of: Callable[[Judged], bool], which: Callable[[Judged], bool]
) -> str:
    among = [world for world in judged if of(world)]
    return rate(sum(map(which, among)), len(among))


def table(judged: Sequence[Judged]) -> Iterator[str]:
    """Yield the lines of the table: each kind, all comparisons, and all worlds."""
    kinds = sorted({each.world.kind for each in judged})
    groups = {f"`{kind}`": [each for each in judged if each.world.kind == kind] for kind in kinds}
    groups["comparisons"] = [each for each in judged if each.world.compares]
    groups["all"] = list(judged)
    yield "| kind | worlds | look-alikes supported | true, not supported | true, no answer |"
    yield "|---|---:|---:|---:|---:|"
    for name, group in groups.items():
        cells = (
            _count(group, lambda each: each.truth is False, lambda each: each.supported),
            _count(group, lambda each: each.truth is True, lambda each: each.denied),
            _count(
                group,
                lambda each: each.truth is True and each.world.decidable,
                lambda each: each.unanswered,
            ),
        )
        yield f"| {name} | {len(group)} | {' | '.join(cells)} |"
    yield ""
    invented = _count(judged, lambda each: each.truth == CANNOT_TELL, lambda each: each.invented)
    yield f"A verdict where nobody can tell: {invented}."


def levels(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the share of wrong verdicts at each level of certainty, over all draws."""
    yield "Wrong verdicts, of all draws with a verdict of that certainty:"
    for level in LEVELS:
        said = [row for row in rows if row.level == level and row.verdict is not None]
        yield f"  {level}: {rate(sum(row.wrong for row in said), len(said))}"


def wrong_worlds(judged: Sequence[Judged]) -> Iterator[str]:
    """Yield what the tool and an expert say of each world with a wrong or missing verdict."""
    for each in judged:
        faults = [row for row in each.rows if row.wrong or row.unanswered]
        if not faults:
            continue
        said = Counter((row.outcome, row.level) for row in each.rows)
        answers = ", ".join(
            f"{outcome}{f' ({level})' if level else ''} {count}×"
            for (outcome, level), count in said.items()
        )
        yield f"- {each.world.kind} {each.world.name}: the claim is {_words(each)}; {answers}."
        yield f"  Tool: {faults[0].reason}"
        yield f"  Expert: {each.world.expert}"


def _words(judged: Judged) -> str:
    if judged.truth == CANNOT_TELL:
        return "what nobody can tell"
    return "true" if judged.truth else "false"


def report(judged: Sequence[Judged]) -> Iterator[str]:
    """Yield the lines of everything that is printed."""
    rows = [row for each in judged for row in each.rows]
    yield f"{len(judged)} worlds, {len(rows)} draws. A world is what most of its draws are."
    yield ""
    yield from table(judged)
    yield ""
    yield from levels(rows)
    yield ""
    yield from wrong_worlds(judged)


def write_worlds(worlds: Sequence[World], folder: Path) -> None:
    """Write the audit and the first draw of each world, as `reproaudit judge` reads them."""
    folder.mkdir(parents=True, exist_ok=True)
    for world in worlds:
        audit = write_audit(world, folder)
        runs = measured_runs(world, world.draw(0))
        reproaudit.write_measurements(folder / world.slug, audit, runs, replace=True)


def main(arguments: Sequence[str] | None = None) -> None:
    """Judge the worlds that the command line names."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.planted", description=__doc__)
    parser.add_argument("--draws", type=int, default=3, help="Draws of each world.")
    parser.add_argument("--only", choices=[world.name for world in WORLDS], metavar="NAME")
    parser.add_argument("--json", type=Path, metavar="FILE", help="Write all rows here.")
    parser.add_argument("--write", type=Path, metavar="DIR", help="Write the first draws here.")
    options = parser.parse_args(arguments)
    worlds = [world for world in WORLDS if options.only in (None, world.name)]
    if options.write:
        write_worlds(worlds, options.write)
    with tempfile.TemporaryDirectory() as folder:
        judged = [judge_world(world, options.draws, Path(folder)) for world in worlds]
    print("\n".join(report(judged)))
    if options.json:
        rows = [row.as_data() for each in judged for row in each.rows]
        options.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
