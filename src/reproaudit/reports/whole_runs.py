"""Runs that meet every part of a claim, counted one by one.

Each part is judged over all runs. So every part can be met while each run misses one of them,
another one each time; this says so beside the verdict.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from reproaudit.judging.model import IntervalModel
from reproaudit.reports.status import holds
from reproaudit.scorecard.model import AnswerModel, ClaimModel, RunsMetModel
from reproaudit.stats import clopper_pearson, equivalence_range, wilson

_OF_NO_FAILURE = re.compile(r"\d+ runs cannot rule out that up to \d+ % of all runs would fail")
"""A verdict's word on runs that fail, as if none of those that were made had."""


def whole_runs(claim: ClaimModel) -> RunsMetModel | None:
    """Returns how many runs meet the deciding condition of every part; None if nobody counted."""
    seeds = {len(part.per_seed) for part in claim.parts}
    if claim.runs_met is None or len(seeds) != 1:
        return None
    (of,) = seeds
    met = sum(all(_meets(part, part.per_seed[run]) for part in claim.parts) for run in range(of))
    found = wilson(met, of, claim.runs_met.interval.confidence)
    return RunsMetModel(met=met, of=of, interval=IntervalModel(**vars(found)))


def runs_words(answer: AnswerModel | ClaimModel) -> str | None:
    """Returns ``4 of 5 runs meet it (38–96 %)``, with Wilson's interval; None if not counted.

    Of a claim of several parts they are the runs that meet every part.
    """
    found, what = answer.runs_met, "it"
    if isinstance(answer, ClaimModel) and len(answer.parts) > 1:
        found, what = whole_runs(answer), "every part"
    if found is None:
        return None
    low, high = 100 * found.interval.low, 100 * found.interval.high
    return f"{found.met} of {found.of} runs meet {what} ({low:.0f}–{high:.0f} %)"


def missing_some_part(claim: ClaimModel) -> Iterator[str]:
    """Yields a warning if a claim is supported and most of its runs miss a part."""
    found = whole_runs(claim)
    if found is not None and holds(claim) and 2 * found.met < found.of:
        yield (
            f"{found.met} of {found.of} runs meet every part: the parts are met one by one, over "
            "all runs"
        )


def why(claim: ClaimModel) -> str:
    """Returns the reasons for a verdict; of runs that fail they count those that did."""
    found = whole_runs(claim)
    if found is None or found.met == found.of:
        return claim.why
    missed = found.of - found.met
    share = clopper_pearson(missed, found.of, 0.9).high  # one-sided at 95 %
    told = (
        f"{missed} of {found.of} runs miss a part, which cannot rule out that up to "
        f"{100 * share:.0f} % of all runs would"
    )
    return _OF_NO_FAILURE.sub(told, claim.why)


def _meets(part: AnswerModel, value: float) -> bool:
    low, high = -math.inf, math.inf
    if part.side == "within":
        low, high = equivalence_range(part.bound, part.margin or 0.0, part.scale)
    elif part.side == "at_most":
        high = part.bound
    else:
        low = part.bound
    return low <= value <= high
