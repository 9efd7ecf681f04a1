"""The geometry of a matrix drawn as coloured cells with numbers.

Red is positive, blue negative, and 0 has the colour of the ground: white, or dark on a dark page.
All matrices of a figure share their scale. A matrix with more rows or columns than `MOST_DRAWN` is
drawn in blocks, each by its entry of largest size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reproaudit.reports.numbers import number
from reproaudit.reports.printable import clean
from reproaudit.scorecard.figures import FigureModel, MatrixModel

MOST_NUMBERED = 12
"""A matrix with more columns is shown without numbers in its cells, which would not be legible."""
MOST_DRAWN = 40
SIZE = 180.0
"""Width of the drawn matrix."""
_Rgb = tuple[int, int, int]
_LIGHT: tuple[_Rgb, _Rgb, _Rgb] = ((33, 102, 172), (255, 255, 255), (178, 24, 43))
_DARK: tuple[_Rgb, _Rgb, _Rgb] = ((110, 180, 245), (30, 34, 39), (255, 125, 115))
"""The colours of the least number, of 0 and of the greatest number, on a light and a dark page."""

CellColours = tuple[str, str]
"""The colour on a light page, and on a dark one."""
HeatMapCell = tuple[float, float, CellColours, CellColours, str]
"""x, y, colours, colours of the number, and the number or nothing."""


@dataclass(frozen=True)
class HeatMap:
    """A matrix, laid out.

    Attributes:
        name: a short text for those who cannot see it.
        side: of a cell.
        font: size of the numbers.
    """

    name: str
    label: str
    width: float
    height: float
    side: float
    font: float
    cells: tuple[HeatMapCell, ...]


def heat_maps(figure: FigureModel) -> list[HeatMap]:
    """Lays out a figure's matrices."""
    limit = max((abs(v) for m in figure.matrices for row in m.values for v in row), default=0.0)
    return [_heat_map(one, limit or 1.0) for one in figure.matrices]


def scale_words(figure: FigureModel) -> str:
    """Returns what the colours mean."""
    limit = max((abs(v) for m in figure.matrices for row in m.values for v in row), default=0.0)
    unit = f" {figure.y_label}" if figure.y_label else ""
    return f"Red positive, blue negative, 0 without colour; the strongest is {number(limit)}{unit}"


def _heat_map(matrix: MatrixModel, limit: float) -> HeatMap:
    rows = _blocks(matrix.values)
    width, height = max(len(row) for row in rows), len(rows)
    side = SIZE / max(width, height)
    is_numbered = max(width, height) <= MOST_NUMBERED
    cells = []
    for i, row in enumerate(rows):
        for j, value in enumerate(row):
            light, dark = (_colour(value / limit, ends) for ends in (_LIGHT, _DARK))
            said = _cell(value, limit) if is_numbered else ""
            place = (round(j * side, 1), round(i * side, 1))
            inks = (_ink(light), _ink(dark))
            cells.append((*place, (_hex(light), _hex(dark)), inks, said))
    label = clean(matrix.label)
    size = f"{len(matrix.values)} × {max(len(row) for row in matrix.values)}"
    flat = [v for row in matrix.values for v in row]
    name = f"{label}: {size}, entries from {number(min(flat))} to {number(max(flat))}"
    font = round(min(0.3 * side, 14.0), 1)
    return HeatMap(name, label, width * side, height * side, round(side, 1), font, tuple(cells))


def _blocks(values: Sequence[Sequence[float]]) -> list[list[float]]:
    """Returns a matrix of at most `MOST_DRAWN` rows and columns."""
    longest = max(len(values), *(len(row) for row in values))
    step = -(-longest // MOST_DRAWN)
    if step == 1:
        return [list(row) for row in values]
    rows = [values[i : i + step] for i in range(0, len(values), step)]
    return [
        [
            max((v for row in some for v in row[j : j + step]), key=abs)
            for j in range(0, len(some[0]), step)
        ]
        for some in rows
    ]


def _colour(share: float, ends: tuple[_Rgb, _Rgb, _Rgb]) -> _Rgb:
    least, ground, greatest = ends
    end, size = greatest if share > 0 else least, min(abs(share), 1.0)
    red, green, blue = (round(g + size * (e - g)) for g, e in zip(ground, end, strict=True))
    return red, green, blue


def _hex(colour: _Rgb) -> str:
    return "#{:02x}{:02x}{:02x}".format(*colour)


def _cell(value: float, limit: float) -> str:
    """Returns an entry with as many decimals as the largest one, since cells are compared."""
    if 0.05 <= limit < 1000:
        shown = f"{value:.2f}" if limit < 10 else f"{value:.1f}" if limit < 100 else f"{value:.0f}"
    else:
        shown = number(value, 2)
    return shown.lstrip("-") if float(shown) == 0 else shown.replace("-", "−")


def _ink(colour: _Rgb) -> str:
    """Returns black or white, whichever has more contrast (WCAG 2 relative luminance)."""
    shares = [c / 255 for c in colour]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in shares]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "#ffffff" if 1.05 / (luminance + 0.05) > (luminance + 0.05) / 0.05 else "#000000"
