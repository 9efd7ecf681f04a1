"""A scorecard's figures as inline SVG, drawn with Matplotlib.

The same figure gives the same bytes: fixed hash salt, no date, no metadata. Every id is prefixed
with the figure's own, so that many figures share one page. Text stays text, so that it can be
found, read aloud and copied; a white panel carries it on light and dark pages alike. Matplotlib is
imported when the first figure is drawn, since commands that draw nothing should start at once.
"""

from __future__ import annotations

import io
import math
import re
import textwrap
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from reproaudit.reports.numbers import number
from reproaudit.reports.printable import clean
from reproaudit.scorecard.figures import CurveModel, FigureModel, MatrixModel

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8a6d00", "#56b4e9", "#333333")
"""Okabe and Ito's colours, which the colour-blind tell apart; its yellow darkened for white."""
DASHES = ("-", "--", ":", "-.")
"""Lines differ in dash as well once the colours repeat."""
MARKERS = "osD^vPX"
MOST_IN_LEGEND = 14
IN_LEGEND = 34
"""Characters in a line of the legend."""
MOST_LINES_IN_LEGEND = 18
MOST_NUMBERED = 12
"""A matrix with more columns is shown without numbers in its cells, which would not be legible."""
MOST_DRAWN = 40
"""A matrix with more columns becomes an embedded picture: as many shapes would weigh too much."""
SHADES = 41
"""Odd, so that 0 is white; few, so that Matplotlib draws the colour bar and embeds no picture."""

_STYLE: Any = {
    "svg.hashsalt": "reproaudit",
    "svg.fonttype": "none",
    "text.parse_math": False,
    "font.family": ["DejaVu Sans"],
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#666666",
    "axes.linewidth": 0.8,
    "axes.grid": False,
}


def figure_svg(figure: FigureModel, prefix: str = "") -> str:
    """Returns a figure as an ``<svg>`` element, for the body of a page.

    Args:
        figure: what to draw.
        prefix: put before every id, beside the figure's own id.
    """
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    draw = {"curves": _curves, "matrices": _matrices, "comparison": _comparison}[figure.kind]
    with mpl.rc_context(_STYLE):
        canvas = draw(figure)
        canvas.set_layout_engine("constrained")
        FigureCanvasSVG(canvas)
        raw = io.BytesIO()
        metadata = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        canvas.savefig(raw, format="svg", facecolor="white", metadata=metadata)
    return _inlined(raw.getvalue(), f"{prefix}{_identifier(figure.id)}", figure)


def _figure(width: float, height: float) -> Figure:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height))


# --- curves -------------------------------------------------------------------------------------


def _curves(figure: FigureModel) -> Figure:
    canvas = _figure(6.4, 3.4)
    axes = canvas.add_subplot()
    log = _is_log(figure)
    for index, curve in enumerate(figure.curves):
        colour, dash = PALETTE[index % 7], DASHES[index // 7 % 4]
        x = [float(v) if _is_number(v) else i for i, v in enumerate(curve.x)]
        mean, low, high = (_drawable(v, log) for v in (curve.mean, curve.low, curve.high))
        axes.plot(x, mean, dash, color=colour, linewidth=1.6, label=_label(curve))
        axes.fill_between(x, low, high, color=colour, alpha=0.18, linewidth=0)
    _dress(axes, figure)
    axes.margins(x=0.01)
    return canvas


def _is_log(figure: FigureModel) -> bool:
    """Returns whether the vertical axis is logarithmic, which takes a positive value."""
    return figure.log and any(v > 0 for curve in figure.curves for v in curve.mean)


def _drawable(values: Sequence[float], log: bool) -> list[float]:
    """Returns values for a logarithmic axis, where those that are not positive leave a gap."""
    return [v if math.isfinite(v) and (v > 0 or not log) else math.nan for v in values]


def _is_number(value: float | str) -> bool:
    return not isinstance(value, str)


def _label(curve: CurveModel) -> str:
    # A leading underscore would hide the line from the legend.
    return clean(curve.label).lstrip("_") or "unnamed"


def _dress(axes: Axes, figure: FigureModel) -> None:
    """Draws axis labels, scale, grid and legend, which curves and comparisons share."""
    if _is_log(figure):
        axes.set_yscale("log")
        _log_ticks(axes.yaxis, [v for c in figure.curves for v in (*c.mean, *c.low, *c.high)])
    axes.set_xlabel(clean(figure.x_label))
    axes.set_ylabel(clean(figure.y_label))
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    if len(figure.curves) > MOST_IN_LEGEND:
        note = f"{len(figure.curves)} lines; the first {MOST_IN_LEGEND} are named"
        axes.text(1.0, 1.01, note, transform=axes.transAxes, ha="right", va="bottom", fontsize=8)
    handles, labels = axes.get_legend_handles_labels()
    shared, labels = _without_shared(labels)
    if shared and not figure.y_label:
        axes.set_ylabel(_shortened(shared, 48))
    if len(labels) > 1:
        shown = slice(MOST_IN_LEGEND)
        axes.legend(
            handles[shown],
            _in_legend(labels[shown]),
            loc="upper left",
            bbox_to_anchor=(1.01, 1.0),
            frameon=False,
            fontsize=8,
            borderaxespad=0,
        )
    elif not figure.y_label and labels:
        axes.set_ylabel(_shortened(labels[0], 48))


def _without_shared(labels: list[str]) -> tuple[str, list[str]]:
    """Splits labels into their common start, up to the first comma, and the rest of each."""
    starts = {label.partition(", ")[0] for label in labels}
    if len(labels) < 2 or len(starts) > 1 or not all(", " in label for label in labels):
        return "", labels
    return starts.pop(), [label.partition(", ")[2] for label in labels]


def _in_legend(labels: Sequence[str]) -> list[str]:
    """Folds labels over two lines if the legend has room, since they differ at their ends."""
    folded = [_folded(label) for label in labels]
    if sum(label.count("\n") + 1 for label in folded) > MOST_LINES_IN_LEGEND:
        return [_shortened(label) for label in labels]
    return folded


def _folded(label: str) -> str:
    first, *rest = textwrap.wrap(label, IN_LEGEND) or [label]
    return f"{first}\n{_shortened(' '.join(rest))}" if rest else first


def _shortened(label: str, most: int = IN_LEGEND) -> str:
    return label if len(label) <= most else f"{label[: most - 1]}…"


# --- comparisons --------------------------------------------------------------------------------


def _comparison(figure: FigureModel) -> Figure:
    from matplotlib.ticker import MaxNLocator

    canvas = _figure(6.4, 3.4)
    axes = canvas.add_subplot()
    categories = _categories(figure.curves)
    many = len(figure.curves)
    for index, curve in enumerate(figure.curves):
        shift = 0.0 if categories is None else 0.5 * ((index + 0.5) / many - 0.5)
        _points(axes, curve, index, categories, shift, _is_log(figure))
    if categories is not None:
        axes.set_xticks(range(len(categories)), [_shortened(clean(c), 18) for c in categories])
        if sum(len(c) for c in categories) > 60:
            axes.tick_params(axis="x", rotation=30)
    elif _spans_decades([float(v) for curve in figure.curves for v in curve.x]):
        axes.set_xscale("log")
        _log_ticks(axes.xaxis, sorted({float(v) for curve in figure.curves for v in curve.x}))
    elif all(float(v).is_integer() for curve in figure.curves for v in curve.x):
        axes.xaxis.set_major_locator(MaxNLocator(8, integer=True))  # no depth is 1.5
    _dress(axes, figure)
    return canvas


def _points(
    axes: Axes,
    curve: CurveModel,
    index: int,
    categories: Sequence[str] | None,
    shift: float,
    log: bool,
) -> None:
    if categories is None:
        x = [float(v) for v in curve.x]
    else:
        x = [categories.index(str(v)) + shift for v in curve.x]
    mean, low, high = (_drawable(v, log) for v in (curve.mean, curve.low, curve.high))
    bottom = min((v for v in (*low, *mean) if v > 0), default=0.0)
    # On a logarithmic axis an interval that reaches down to 0 is drawn down to the lowest value.
    low = [bottom if math.isnan(a) else a for a in low]
    below = [max(m - a, 0.0) for m, a in zip(mean, low, strict=True)]
    above = [max(b - m, 0.0) for m, b in zip(mean, high, strict=True)]
    axes.errorbar(
        x,
        mean,
        yerr=[below, above],
        fmt=MARKERS[index % 7],
        linestyle="none" if categories is not None else DASHES[index // 7 % 4],
        linewidth=0.9,
        markersize=4.5,
        elinewidth=1.3,
        capsize=3,
        color=PALETTE[index % 7],
        label=_label(curve),
    )


def _categories(curves: Sequence[CurveModel]) -> list[str] | None:
    """Returns the names along a categorical axis in their order; None of a numeric axis."""
    if all(_is_number(v) for curve in curves for v in curve.x):
        return None
    return list(dict.fromkeys(str(v) for curve in curves for v in curve.x))


def _spans_decades(x: Sequence[float]) -> bool:
    return bool(x) and min(x) > 0 and max(x) / min(x) >= 30


def _log_ticks(axis: Axis, values: Sequence[float]) -> None:
    """Sets ticks in plain digits: at powers of ten, and between them if there are few."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    positive = [v for v in values if v > 0]
    few = max(positive) / min(positive) < 50
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if few else (1.0,), numticks=9))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


# --- matrices -----------------------------------------------------------------------------------


def _matrices(figure: FigureModel) -> Figure:
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    count = len(figure.matrices)
    columns = min(count, 3)
    rows = math.ceil(count / columns)
    canvas = _figure(2.5 * columns + 0.7, 2.6 * rows)
    limit = max((abs(v) for m in figure.matrices for r in m.values for v in r), default=1.0)
    every = []
    for index, matrix in enumerate(figure.matrices):
        axes = canvas.add_subplot(rows, columns, index + 1)
        every.append(axes)
        _matrix(axes, matrix, limit or 1.0)
    shades = ScalarMappable(Normalize(-limit or -1.0, limit or 1.0), _shades())
    colours = canvas.colorbar(shades, ax=every, shrink=0.8, aspect=30)
    colours.outline.set_visible(False)
    colours.set_label(clean(figure.y_label))
    return canvas


def _shades() -> Colormap:
    from matplotlib import colormaps

    return colormaps["RdBu_r"].resampled(SHADES)


def _matrix(axes: Axes, matrix: MatrixModel, limit: float) -> None:
    colours = _shades()
    height, width = len(matrix.values), max(len(row) for row in matrix.values)
    if max(height, width) > MOST_DRAWN:
        axes.imshow(matrix.values, cmap=colours, vmin=-limit, vmax=limit, interpolation="none")
    else:
        edges = [[i - 0.5 for i in range(n + 1)] for n in (width, height)]
        axes.pcolormesh(
            *edges,
            matrix.values,
            cmap=colours,
            vmin=-limit,
            vmax=limit,
            edgecolors="face",
            linewidth=0.3,
        )
        axes.set_aspect("equal")
        axes.invert_yaxis()
    axes.set_title(_shortened(clean(matrix.label), 30), fontsize=9)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[:].set_visible(False)
    if max(height, width) > MOST_NUMBERED:
        return
    size = 9 if width <= 5 else 7 if width <= 8 else 5
    for row, values in enumerate(matrix.values):
        for column, value in enumerate(values):
            ink = _ink(colours((value / limit + 1) / 2))
            digits = _cell(value, limit)
            axes.text(column, row, digits, ha="center", va="center", color=ink, fontsize=size)


def _cell(value: float, limit: float) -> str:
    """Returns an entry with as many decimals as the largest one, since cells are compared."""
    if 0.05 <= limit < 1000:
        shown = f"{value:.2f}" if limit < 10 else f"{value:.1f}" if limit < 100 else f"{value:.0f}"
    else:
        shown = number(value, 2)
    return shown.lstrip("-") if float(shown) == 0 else shown.replace("-", "−")


def _ink(colour: tuple[float, float, float, float]) -> str:
    """Returns black or white, whichever has more contrast (WCAG 2 relative luminance)."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour[:3]]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "#ffffff" if 1.05 / (luminance + 0.05) > (luminance + 0.05) / 0.05 else "#000000"


# --- from a file to an element ------------------------------------------------------------------

_SVG = "http://www.w3.org/2000/svg"
_XLINK = "{http://www.w3.org/1999/xlink}href"


def _identifier(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9-]", "-", text)


def _inlined(raw: bytes, prefix: str, figure: FigureModel) -> str:
    """Returns Matplotlib's file as an element with its own ids, a title and a flexible size."""
    root = ET.fromstring(raw)
    # The file's own style sheet has a rule for `*`, which would reach the whole page.
    _remove(root, "metadata")
    _remove(root, "style")
    width = float(root.attrib["viewBox"].split()[2])
    size_limits = f"max-width: {1.6 * width:.0f}px; min-width: {0.9 * width:.0f}px"
    root.set("style", f"stroke-linejoin: round; stroke-linecap: butt; {size_limits}")
    for element in root.iter():
        _renamed(element, prefix)
    for size in ("width", "height"):
        root.attrib.pop(size, None)
    title = ET.Element(f"{{{_SVG}}}title", {"id": f"{prefix}-title"})
    title.text = clean(figure.title)
    root.insert(0, title)
    root.set("role", "img")
    root.set("aria-labelledby", f"{prefix}-title")
    root.set("class", "figure")
    for element in root.iter():
        element.tag = element.tag.removeprefix(f"{{{_SVG}}}")
    return ET.tostring(root, encoding="unicode")


def _remove(root: ET.Element, tag: str) -> None:
    for parent in list(root.iter()):
        for child in parent.findall(f"{{{_SVG}}}{tag}"):
            parent.remove(child)


def _renamed(element: ET.Element, prefix: str) -> None:
    if _XLINK in element.attrib:
        element.set("href", element.attrib.pop(_XLINK))
    for name, value in list(element.attrib.items()):
        if name == "id":
            element.set(name, f"{prefix}-{value}")
        elif name == "href" and value.startswith("#"):
            element.set(name, f"#{prefix}-{value[1:]}")
        elif "url(#" in value:
            element.set(name, value.replace("url(#", f"url(#{prefix}-"))
