"""The numbers of a scorecard's pictures as CSV, a row for each place on the axis."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from itertools import chain, repeat

from reproaudit.reports.printable import clean
from reproaudit.scorecard.model import Scorecard

FILE = "pictures.csv"
"""The file's name, beside the page."""
PICTURE_COLUMNS = ("claim", "picture", "role", "control", "quantity", "unit", "axis", "x")
"""The columns of a row before the values of the seeds."""


def has_pictures(card: Scorecard) -> bool:
    """Returns whether some claim has a picture."""
    return any(claim.pictures for claim in card.claims)


def pictures_csv(card: Scorecard) -> str:
    """Returns every number that the pictures beside the claims draw, run by run."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    lines = [one for c in card.claims for picture in c.pictures for one in picture.lines]
    seeds = sorted({seed for line in lines for seed in line.seeds})
    writer.writerow((*PICTURE_COLUMNS, *(f"seed {seed}" for seed in seeds)))
    writer.writerows(_rows(card, seeds))
    return text.getvalue()


def _rows(card: Scorecard, seeds: Sequence[int]) -> Iterator[tuple[object, ...]]:
    for claim in card.claims:
        for place, picture in enumerate(claim.pictures, start=1):
            for line in picture.lines:
                who = (line.role.value, _safe(line.name or ""), _safe(line.label))
                what = (_safe(claim.id), place, *who, picture.unit, picture.x_label)
                runs = dict(zip(line.seeds, line.runs, strict=True))
                along = [_safe(x) if isinstance(x, str) else f"{x:.15g}" for x in line.x]
                values = (chain(runs.get(seed, ()), repeat("")) for seed in seeds)
                yield from ((*what, *row) for row in zip(along, *values, strict=False))


def _safe(text: str) -> str:
    """Returns text that no spreadsheet takes for a formula."""
    shown = clean(text)
    return f"'{shown}" if shown[:1] in ("=", "+", "-", "@") else shown
