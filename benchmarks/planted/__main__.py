"""Judge every planted world, and print how often the answers are wrong, and which.

Run with ``make planted``; ``python -m benchmarks.planted --only NAME`` judges one world.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import reproaudit

from . import WORLDS, World
from .judging import Judged, Row, judge_world, measured_runs, write_audit
from .pages import write_pages
from .rates import LEVELS, rate, table
from .world import CANNOT_TELL


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
    """Write the audit and the first draw of each world, as `reproaudit judge` reads them.

    Of a world whose measurements are refused there is the audit alone.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for world in worlds:
        audit = write_audit(world, folder)
        runs = measured_runs(world, world.draw(0))
        with contextlib.suppress(reproaudit.SpecError):
            reproaudit.write_measurements(folder / world.slug, audit, runs, replace=True)


def main(arguments: Sequence[str] | None = None) -> None:
    """Judge the worlds that the command line names."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.planted", description=__doc__)
    parser.add_argument("--draws", type=int, default=3, help="Draws of each world.")
    parser.add_argument("--only", choices=[world.name for world in WORLDS], metavar="NAME")
    parser.add_argument("--pages", action="store_true", help="Write the rates to the pages.")
    parser.add_argument("--json", type=Path, metavar="FILE", help="Write all rows here.")
    parser.add_argument("--write", type=Path, metavar="DIR", help="Write the first draws here.")
    options = parser.parse_args(arguments)
    worlds = [world for world in WORLDS if options.only in (None, world.name)]
    if options.write:
        write_worlds(worlds, options.write)
    with tempfile.TemporaryDirectory() as folder:
        judged = [judge_world(world, options.draws, Path(folder)) for world in worlds]
    print("\n".join(report(judged)))
    if options.pages and not options.only:
        write_pages(judged)
    if options.json:
        rows = [row.as_data() for each in judged for row in each.rows]
        options.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
