"""The geometry of the picture that sets what papers document beside what was found.

Each paper has its column by the number of documented variables, and its height by the share of its
tested claims that are supported, with Wilson's interval. Papers of one score stand side by side
within their column, the lowest share first, so that none hides another. Few papers are named beside
their dots, as far as names find room; every paper is named when pointed at, and in a list.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from reproaudit.judging.model import Verdict
from reproaudit.reports.numbers import counted
from reproaudit.reports.register.model import MeasuredEntry, PaperEntry
from reproaudit.scorecard.verdicts import LIMITS
from reproaudit.stats import Scale, mean_interval, wilson

WIDTH, HEIGHT = 380.0, 250.0
LEFT, TOP, RIGHT, BOTTOM = 44.0, 14.0, 372.0, 206.0
FEWEST_FOR_MEAN = 5
"""Papers of one score from which their mean is drawn."""
USED = 0.8
"""The share of a column that its papers take."""
MOST_LABELLED = 16
"""With more papers than this, none is named beside its dot."""
LETTER_WIDTH, LETTER_HEIGHT = 7.0, 11.0
"""Of a letter of a name, rather too large than too small."""
RADIUS = 4.0
"""Of a dot that can have a name."""


@dataclass(frozen=True)
class Dot:
    """One paper: its place, its interval, the same in words, and where its name begins, if at all.

    Attributes:
        outcome: what was found, in words.
        said: the same with what is documented.
    """

    slug: str
    x: float
    y: float
    low: float
    high: float
    outcome: str
    said: str
    name_at: tuple[float, float] | None = None


@dataclass(frozen=True)
class Mean:
    """The mean share of the papers of one score, with its interval."""

    left: float
    right: float
    y: float
    low: float
    high: float
    said: str


@dataclass(frozen=True)
class Panel:
    """One picture, laid out.

    Attributes:
        name: an identifier within the page.
        title: which score its columns stand for.
        columns: the middle of each column and its score.
        heights: the place of each line across and its label.
        description: the same in words, for those who cannot see it.
    """

    name: str
    title: str
    columns: tuple[tuple[float, str], ...]
    heights: tuple[tuple[float, str], ...]
    dots: tuple[Dot, ...]
    means: tuple[Mean, ...]
    description: str


def supported_of(one: MeasuredEntry) -> int:
    """Returns how many claims are supported, at whatever scale, by proxies too."""
    name = Verdict.SUPPORTED.value
    return sum(one.verdicts.get(f"{name}{limits}", 0) for limits in LIMITS)


def panels(papers: Sequence[PaperEntry]) -> tuple[Panel, ...]:
    """Returns the picture by the card's score and by the reviewed one; none without a paper.

    A paper of which we tested no claim has no place in them.
    """
    shown = [one for one in papers if one.ours is not None and one.ours.coverage.tested]
    if not shown:
        return ()
    return (
        _panel("by-review", "as reviewed", shown, lambda one: one.documentation.reviewed),
        _panel("by-card", "by the automated card", shown, lambda one: one.documentation.strict),
    )


def _panel(
    name: str, title: str, papers: Sequence[PaperEntry], score: Callable[[PaperEntry], int]
) -> Panel:
    of = max(one.documentation.of for one in papers)
    wide = (RIGHT - LEFT) / (of + 1)
    by_score: dict[int, list[PaperEntry]] = defaultdict(list)
    for one in sorted(papers, key=lambda one: (_share(one), one.slug)):
        by_score[score(one)].append(one)
    dots, means = [], []
    for documented in sorted(by_score):
        left = LEFT + wide * (documented + (1 - USED) / 2)
        alike = by_score[documented]
        for place, one in enumerate(alike):
            dots.append(_dot(one, documented, left + USED * wide * (place + 0.5) / len(alike)))
        if len(alike) >= FEWEST_FOR_MEAN:
            means.append(_mean(alike, documented, left, left + USED * wide))
    return Panel(
        name=name,
        title=title,
        columns=tuple((round(LEFT + wide * (n + 0.5), 1), str(n)) for n in range(of + 1)),
        heights=tuple((_y(share), f"{100 * share:.0f} %") for share in (0, 0.25, 0.5, 0.75, 1)),
        dots=_named(dots),
        means=tuple(means),
        description="; ".join(_described(papers, sorted(by_score), by_score, of, means)),
    )


def _described(
    papers: Sequence[PaperEntry],
    scores: Sequence[int],
    by_score: dict[int, list[PaperEntry]],
    of: int,
    means: Sequence[Mean],
) -> Iterator[str]:
    shares = [_share(one) for one in papers]
    yield (
        f"{counted(len(papers), 'paper')}, with {scores[0]} to {scores[-1]} of {of} variables "
        f"documented and {100 * min(shares):.0f} to {100 * max(shares):.0f} % of their tested "
        "claims supported"
    )
    for documented in scores:
        yield f"{counted(len(by_score[documented]), 'paper')} with {documented}"
    yield from (one.said for one in means)


def _share(one: PaperEntry) -> float:
    assert one.ours is not None
    return supported_of(one.ours) / one.ours.coverage.tested


def _dot(one: PaperEntry, documented: int, x: float) -> Dot:
    assert one.ours is not None
    supported, tested = supported_of(one.ours), one.ours.coverage.tested
    interval = wilson(supported, tested)
    outcome = (
        f"{supported} of {counted(tested, 'tested claim')} supported "
        f"({100 * interval.low:.0f}–{100 * interval.high:.0f} %)"
    )
    return Dot(
        slug=one.slug,
        x=round(x, 1),
        y=_y(supported / tested),
        low=_y(interval.low),
        high=_y(interval.high),
        outcome=outcome,
        said=f"{one.slug}: {outcome}, {documented} of {one.documentation.of} variables documented",
    )


_Box = tuple[float, float, float, float]
"""Left, top, right and bottom."""


def _named(dots: Sequence[Dot]) -> tuple[Dot, ...]:
    """Returns the dots with a place for each name that neither covers a name nor a dot.

    A name stands where it crosses the fewest intervals, to the right rather than to the left.
    """
    if len(dots) > MOST_LABELLED:
        return tuple(dots)
    taken: list[_Box] = [
        (one.x - RADIUS, one.y - RADIUS, one.x + RADIUS, one.y + RADIUS) for one in dots
    ]
    reaches: list[_Box] = [(one.x, one.high, one.x, one.low) for one in dots]
    named = []
    for one in dots:
        free = [box for box in _beside(one) if not any(_meet(box, other) for other in taken)]
        if free:
            best = min(free, key=lambda box: sum(_meet(box, reach) for reach in reaches))
            taken.append(best)
            named.append(replace(one, name_at=(round(best[0], 1), round(best[3] - 2, 1))))
        else:
            named.append(one)
    return tuple(named)


def _beside(dot: Dot) -> Iterator[_Box]:
    """Yields where a dot's name could stand within the picture."""
    width = LETTER_WIDTH * len(dot.slug)
    for lower in (0.0, -11.0, 11.0, -22.0, 22.0):
        top = dot.y - LETTER_HEIGHT / 2 + lower
        for left in (dot.x + RADIUS + 2, dot.x - RADIUS - 2 - width):
            if left >= LEFT and left + width <= WIDTH and TOP - 8 <= top <= BOTTOM - LETTER_HEIGHT:
                yield left, top, left + width, top + LETTER_HEIGHT


def _meet(one: _Box, other: _Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _mean(alike: Sequence[PaperEntry], documented: int, left: float, right: float) -> Mean:
    mean, interval = mean_interval([_share(one) for one in alike], scale=Scale.LINEAR)
    low, high = max(interval.low, 0.0), min(interval.high, 1.0)
    return Mean(
        left=round(left, 1),
        right=round(right, 1),
        y=_y(mean),
        low=_y(low),
        high=_y(high),
        said=f"mean of the {len(alike)} papers with {documented}: {100 * mean:.0f} % "
        f"({100 * low:.0f}–{100 * high:.0f} %, 95 % Student t)",
    )


def _y(share: float) -> float:
    return round(BOTTOM - share * (BOTTOM - TOP), 1)
