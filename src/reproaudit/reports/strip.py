"""The strip of a paper: its most telling course in one small picture, for a page of many papers."""

from __future__ import annotations

from markupsafe import Markup

from reproaudit.reports.chart import picture_chart
from reproaudit.reports.frame import STRIP
from reproaudit.reports.seen import seen
from reproaudit.reports.templating import macros
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


def strip_svg(card: Scorecard) -> str:
    """Returns a paper's strip as an ``<svg>`` element, which needs the pages' style sheet.

    Empty if no claim has a picture, as of a scorecard of older code.
    """
    chosen = chosen_picture(card)
    if chosen is None:
        return ""
    claim, picture = chosen
    drawn = macros("chart.html.j2").strip(
        picture_chart(picture, strip=True), *STRIP, f"{claim.id}: {seen(picture)}"
    )
    return str(Markup(drawn))
