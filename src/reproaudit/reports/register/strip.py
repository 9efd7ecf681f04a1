"""The strip of a paper: its most telling course in one small picture, for a page of many papers.

An entry keeps lines and places, never markup: what is read from a file is drawn anew and escaped.
"""

from __future__ import annotations

from reproaudit.reports.chart import picture_chart
from reproaudit.reports.frame import STRIP
from reproaudit.reports.register.model import StretchEntry, StripEntry, StripLineEntry
from reproaudit.scorecard.model import ClaimModel, Scorecard
from reproaudit.scorecard.pictures import STAGES_ASK, PictureModel, stages_ask_for_log


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


def with_broad_stages(picture: PictureModel) -> PictureModel:
    """Returns a course on the time axis on which its narrowest stage is the broadest."""
    if picture.kind != "course" or not picture.stages:
        return picture
    steps = sorted({float(x) for line in picture.lines for x in line.x})
    log = stages_ask_for_log(steps, picture.stages)
    if log == (picture.x_scale == "log"):
        return picture
    changed = {"x_scale": "log" if log else "linear", "x_why": STAGES_ASK if log else ""}
    return picture.model_copy(update=changed)


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
        picture = with_broad_stages(picture)
        chart = picture_chart(picture, strip=True)
    except (ArithmeticError, LookupError, TypeError, ValueError):
        return None
    return StripEntry(
        claim=claim.id,
        page=f"{page}#claim-{card.claims.index(claim) + 1}",
        caption=chart.name,
        width=STRIP[0],
        height=chart.bottom,
        top=chart.top,
        stages=tuple(
            StretchEntry(x=one.x, width=one.width, name=one.name, name_x=one.name_x)
            for one in chart.bands
        ),
        onsets=tuple(one.x for one in chart.onsets),
        ranges=tuple(one.surface for one in chart.areas),
        lines=tuple(
            StripLineEntry(kind=one.kind, dash=one.dash, path=one.path, dots=one.dots)
            for one in chart.strokes
        ),
    )
