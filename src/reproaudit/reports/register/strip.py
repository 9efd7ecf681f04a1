"""The strip of a paper: its most telling course in one small picture, for a page of many papers.

An entry keeps lines and places, never markup: what is read from a file is drawn anew and escaped.
"""

from __future__ import annotations

from reproaudit.reports.chart import picture_chart
from reproaudit.reports.frame import STRIP
from reproaudit.reports.register.model import StretchEntry, StripEntry, StripLineEntry
from reproaudit.reports.seen import seen
from reproaudit.scorecard.model import ClaimModel, Scorecard
from reproaudit.scorecard.pictures import PictureModel


def chosen_picture(card: Scorecard) -> tuple[ClaimModel, PictureModel] | None:
    """Returns the picture that stands for a paper, with its claim; None if there is none.

    It is the first course with most onsets, then with stages, of the weightiest claim.
    """
    every = [(claim, one) for claim in card.claims for one in claim.pictures]
    if not every:
        return None

    def rank(pair: tuple[ClaimModel, PictureModel]) -> tuple[bool, int, bool, float]:
        claim, one = pair
        return one.kind == "course", len(one.onsets), bool(one.stages), claim.weight

    return max(every, key=rank)


def strip_entry(card: Scorecard, page: str) -> StripEntry | None:
    """Returns the strip of a scorecard.

    None if no claim has a picture, as of a scorecard of older code, or if the picture cannot be
    drawn, as it may be of a scorecard from elsewhere.

    Args:
        card: the scorecard.
        page: the link to its page.
    """
    chosen = chosen_picture(card)
    if chosen is None:
        return None
    claim, picture = chosen
    try:
        chart = picture_chart(picture, strip=True)
        said = seen(picture)
    except (ArithmeticError, LookupError, TypeError, ValueError):
        return None
    width, height = STRIP
    return StripEntry(
        claim=claim.id,
        page=f"{page}#claim-{card.claims.index(claim) + 1}",
        caption=chart.name,
        said=said,
        width=width,
        height=height,
        stages=tuple(StretchEntry(x=one.x, width=one.width) for one in chart.bands),
        onsets=tuple(one.x for one in chart.onsets),
        ranges=tuple(one.surface for one in chart.areas),
        lines=tuple(
            StripLineEntry(kind=one.kind, dash=one.dash, path=one.path, dots=one.dots)
            for one in chart.strokes
        ),
    )
