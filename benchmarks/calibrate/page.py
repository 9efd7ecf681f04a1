"""docs/calibration.md, made from the figures."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.calibrate.blocks import BLOCKS
from reproaudit.stats import clopper_pearson

RESULTS = Path(__file__).parents[1] / "calibration.json"
PAGE = Path(__file__).parents[2] / "docs" / "calibration.md"

HEAD = """# How often a check is met by chance

`make calibrate` writes this page and `benchmarks/calibration.json`. Do not edit it by hand.

A **null** is a way in which a claim can be untrue. Its seeded generator (in `benchmarks/calibrate`)
draws the measurements of 1,000 whole audits, each with five seeds unless the name says otherwise,
and the check, written as in an audit, judges each of them. The rate of *met* must not exceed the
level α = 5 %, one minus the audits' confidence: no exact (Clopper-Pearson, 95 %) lower bound of a
null's rate may lie above it. Most nulls lie exactly on a limit, the least favourable place. A
**phenomenon** is a way in which the claim can be true; its rate of *met* is the power.

The shapes were fixed before the kinds were redesigned to reject them, and none has been dropped.
The commit that added them tells how the kinds fared before. `reproaudit check` refuses an audit in
which a measure whose range has one end alone is judged on the linear scale by a check that states
it (rule RA191; some conditions of `grows_like`, `ordered_onsets` and `scales_like` use it). The
table says *refused* for shapes that do so; on the log scale the same data can be judged.

## What this cannot show

- Five seeds cannot see what happens in one run of ten: in 59 of 100 audits no such run is drawn.
  Where that matters, use `failure_rate` with at least 20 runs.
- No check of a course can tell a stage that waits for another one from a stage that is late by
  itself. The ablation of the part has to show that. Of two quantities that both move from the
  start, one of them thirty to fifty times as fast, the slower one has made little of its change
  when the other has come, and counts as waiting: the last table of `ordered_onsets` says how often.
- Seeds that share a part of their spread (one data set, one machine, one run under several numbers)
  are fewer runs than they seem, and no check of their numbers sees it. The last table of
  `failure_rate` shows by how much it errs then.
- `converges` compares the last two levels of a loss. One that goes up and down, and is at the same
  place of its cycle at both, has settled for it.
- `converges` is also met on a plateau that a later fall ends, since nobody trains on for so long,
  and by a loss that falls for ever as t^-0.5 or more slowly (`docs/verdicts.md`);
  and `grows_like` cannot tell a logarithm from a law that lies between its rivals, such as a power
  of the logarithm near 1, a power that begins late (√t from a quarter of training on), or a bounded
  curve plus a line. It races the law against rivals, and asks of none how well it fits.
- Parts are judged one by one, each over all runs. If each run fails one of the parts, another one
  each time, a claim of 10 parts is met on 20 runs in nine of ten audits, and one of few parts on
  five runs never.
- On the log scale the mean over seeds is that of a typical run (the geometric mean), and rare huge
  values count for little. A claim about the arithmetic mean of a skewed measure needs more seeds
  than an audit has.

## Skewed and lumpy runs

Student's t supposes that seeds scatter evenly on the check's scale. No scale makes that so for
every measure, and no test with five seeds shows that it is not so. Therefore a mean alone decides
nothing: besides its interval, **at most so many runs may lie on the wrong side** as would lie
there in 5 % of audits if half of all runs did (the sign test: none of 5 runs, 1 of 8, 5 of 20).
Whatever law the runs follow, if half of them or more lie beyond the limit, a part is met in at
most 5 % of audits, and missed as rarely if half or more lie within.

Ten of the nulls that were added for this rule, met without it and with it:

| null | runs | interval alone | with the count |
|---|---|---|---|
| `reaches`, half of the runs stuck just beyond the bound, others far better | 5 | 17.2% | 2.6% |
| the same | 20 | 99.2% | 0.8% |
| `reaches`, exponential logarithms, half of the runs beyond | 5 | 1.8% | 1.4% |
| the same | 20 | 16.3% | 1.8% |
| `reaches`, log-normal logarithms, half of the runs beyond | 5 | 1.3% | 1.2% |
| the same | 20 | 19.0% | 2.7% |
| `aligns`, half of the runs stuck just beyond the bound | 5 | 20.4% | 3.8% |
| `matches`, half of the runs just beyond an edge | 5 | 52.0% | 3.6% |
| the same | 20 | 99.5% | 2.2% |
| `separates`, half of the ratios just below the bound | 5 | 20.0% | 2.7% |

The price is power: with five seeds that spread evenly, "half of the bound" is met in 76.7 %
instead of 81.0 %, and "twice as large" in 82.9 % instead of 87.6 %.

**Fewer than half of the runs** beyond the limit cannot be excluded so. Five runs on the right side
exclude only that more than 45 % of all runs lie on the other, and every verdict that rests on a
mean says that number. Laws of that sort whose *mean* on the log scale is on the bound are met more
often than 5 %, and their rates stand in the last table of `reaches`. An error of 5 % for the first
of them would need the interval at 99 %, which has hardly half of the power (met in 55 % instead of
87 % of audits where the mean lies two standard deviations within), and none would do for the
second: a third of all audits see no bad run. The last table of `matches` has a third of the runs
far outside, of which one audit in eight sees none. Whether such runs are rare is what
`failure_rate` judges, with 20 runs or more, and `over: every_seed` counts.
"""


def page(results: dict[str, Any]) -> str:
    """The page's text."""
    return HEAD + "".join(f"\n{part}" for kind in results for part in _kind(kind, results[kind]))


def _kind(kind: str, one: dict[str, Any]) -> Iterator[str]:
    terms = ", ".join(f"{name} {value}" for name, value in BLOCKS[kind].items() if _number(value))
    yield f"## `{kind}`\n"
    if terms:
        yield f"Judged with {terms}, unless the name says otherwise.\n"
    yield "| null | met | exact 95 % interval |\n|---|---|---|\n" + _rows(one["nulls"])
    yield "| phenomenon | met | exact 95 % interval |\n|---|---|---|\n" + _rows(one["power"])
    if "not_excluded" in one:
        head = "| not excluded | met | exact 95 % interval |\n|---|---|---|\n"
        yield head + _rows(one["not_excluded"])


def _number(value: Any) -> bool:
    return isinstance(value, int | float | str)


def _rows(rates: dict[str, dict[str, int]]) -> str:
    return "".join(f"| {name} | {_rate(rate)} |\n" for name, rate in rates.items())


def _rate(rate: dict[str, int]) -> str:
    if "refused" in rate:
        return "refused by `check` | "
    interval = clopper_pearson(rate["met"], rate["of"])
    return (
        f"{rate['met']} of {rate['of']}, {rate['met'] / rate['of']:.1%} | "
        f"{interval.low:.1%} to {interval.high:.1%}"
    )
