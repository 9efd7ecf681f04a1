"""How often the answers to planted worlds are wrong, with exact intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from scipy.stats import binomtest

from .judging import Judged
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


def true_and_untrue(judged: Sequence[Judged]) -> tuple[str, str]:
    """Return the rates of look-alikes that are supported, and of true claims that are denied."""
    return (
        _count(judged, lambda each: each.truth is False, lambda each: each.supported),
        _count(judged, lambda each: each.truth is True, lambda each: each.denied),
    )


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
            *true_and_untrue(group),
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
