"""The scorecard as one HTML page that needs nothing else: no network, no script, no other file.

The templates hold the layout, `words` the wording, `intervals` and `svg` the pictures; here they
are brought together. Everything is escaped by default, and the page forbids the browser to load
anything. The same scorecard gives the same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from reproaudit.audit.documentation import UNSCORED
from reproaudit.reports import phrasing
from reproaudit.reports.interval_plot import Plot, PlotRow, lay_out
from reproaudit.reports.svg import figure_svg
from reproaudit.scorecard import AnswerModel, ClaimModel, ControlModel, PartModel, Scorecard
from reproaudit.scorecard.figures import FigureModel


def render_html(scorecard: Scorecard, *, multiverse: bool = False, index: bool = True) -> str:
    """The page of one paper at one tier.

    Args:
        scorecard: what is shown.
        multiverse: whether a page of its multiverse stands beside it, to be linked.
        index: whether an index page stands above it, to be linked.
    """
    views = [_claim_view(scorecard, claim, n) for n, claim in enumerate(scorecard.claims, start=1)]
    template = environment().get_template("scorecard.html.j2")
    return template.render(
        card=scorecard,
        claims=views,
        figures=[_drawn(figure) for figure in scorecard.figures],
        links=_links(scorecard),
        unscored=UNSCORED,
        multiverse=multiverse,
        index=index and scorecard.origin is None,
    )


@dataclass(frozen=True)
class Elsewhere:
    """The page of measurements from elsewhere, as the index shows it.

    Attributes:
        folder: where the page stands, from the index: ``<slug>/elsewhere/<who and when>``.
        card: its scorecard, which has an origin.
    """

    folder: str
    card: Scorecard


def render_html_index(scorecards: Sequence[Scorecard], elsewhere: Sequence[Elsewhere] = ()) -> str:
    """The page that leads to the papers' pages, with documentation beside outcome.

    Args:
        scorecards: our own, in the order in which they are shown.
        elsewhere: pages of measurements from elsewhere; each stands below its paper's own, and
            one of a paper without a scorecard of ours at the end.
    """
    names = list(dict.fromkeys(v.name for s in scorecards for v in s.documentation.variables))
    table = [[_variable(card, name) for card in scorecards] for name in names]
    slugs = [card.paper["slug"] for card in scorecards]
    return (
        environment()
        .get_template("index.html.j2")
        .render(
            cards=scorecards,
            papers=[
                (card, [e for e in elsewhere if e.card.paper["slug"] == slug])
                for card, slug in zip(scorecards, slugs, strict=True)
            ],
            others=[one for one in elsewhere if one.card.paper["slug"] not in slugs],
            variables=list(zip(names, table, strict=True)),
            unscored=UNSCORED,
        )
    )


def _variable(scorecard: Scorecard, name: str) -> object:
    return next((v for v in scorecard.documentation.variables if v.name == name), None)


@cache
def environment() -> Environment:
    """The templates, with escaping on."""
    templates = Environment(
        loader=PackageLoader("reproaudit.reports", "templates"),
        autoescape=True,
        finalize=_printable,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.globals["phrasing"] = phrasing
    templates.filters["unbroken"] = _unbroken
    templates.filters["rate"] = phrasing.rate_words
    templates.filters["spaced"] = lambda name: phrasing.words(str(name))
    return templates


def _unbroken(text: str) -> str:
    """A reading with spaces that do not break within its interval and its bound."""
    return re.sub(
        r"\[[^\]]*\]|(not )?[≤≥] \S+", lambda m: m[0].replace(" ", "\N{NO-BREAK SPACE}"), text
    )


def _printable(value: object) -> object:
    """What the templates print, rid of control characters; markup of ours is rid of them."""
    return phrasing.printable(value) if type(value) is str else value


# --- claims -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AnswerView:
    """One line of a claim's table: the claim itself, a control, the positive control."""

    name: str
    decision: str
    text: str
    note: str


@dataclass(frozen=True)
class PartView:
    """One part with its small picture and what each control says of it."""

    part: PartModel
    binding: bool
    plot: Plot
    controls: tuple[str, ...]


@dataclass(frozen=True)
class ClaimView:
    """A claim as the template shows it."""

    claim: ClaimModel
    number: int
    plots: tuple[tuple[str, Plot], ...]
    answers: tuple[AnswerView, ...]
    parts: tuple[PartView, ...]
    tolerance: str | None
    power: str | None
    warnings: tuple[str, ...]


def _claim_view(scorecard: Scorecard, claim: ClaimModel, number: int) -> ClaimView:
    part = phrasing.binding_part(claim)
    return ClaimView(
        claim=claim,
        number=number,
        plots=tuple(_plots(claim)),
        answers=tuple(_answers(scorecard, claim)),
        parts=tuple(_part_views(claim)) if len(claim.parts) > 1 else (),
        tolerance=part.reason if part else None,
        power=phrasing.power(part) if part else None,
        warnings=phrasing.warnings(claim),
    )


def _plots(claim: ClaimModel) -> Iterable[tuple[str, Plot]]:
    """One picture for all that answer the claim's binding condition, one for each other."""
    part = phrasing.binding_part(claim)
    rows = [] if part is None else [PlotRow("this claim", "claim", part)]
    others: list[PlotRow] = []
    for name, control in phrasing.controls_of(claim):
        kind = "positive" if name == "positive control" else "control"
        same = phrasing.same_part(claim, control)
        own = phrasing.binding_answer(control)
        if same is not None:
            rows.append(PlotRow(name, kind, same))
        elif own is not None:
            others.append(PlotRow(name, kind, own))
    for group in (rows, *_alike(others)):
        if group:
            yield group[0].answer.measured, lay_out(group)


def _alike(rows: Sequence[PlotRow]) -> Iterable[list[PlotRow]]:
    """Rows that answer the same condition share a picture."""
    groups: dict[tuple[object, ...], list[PlotRow]] = {}
    for row in rows:
        one = row.answer
        groups.setdefault((one.name, one.measured, one.bound, one.side), []).append(row)
    return groups.values()


def _answers(scorecard: Scorecard, claim: ClaimModel) -> Iterable[AnswerView]:
    part = phrasing.binding_part(claim)
    if part is not None:
        note = phrasing.spread(part, claim.seeds)
        yield AnswerView("this claim", part.decision, phrasing.sentence(part), note)
    elif claim.decision is not None:
        why = phrasing.no_estimate(scorecard, claim.experiment, scorecard.tier, {})
        yield AnswerView("this claim", claim.decision, why, "")
    else:
        yield AnswerView("this claim", "not judged", "no estimate", "")
    for name, control in phrasing.controls_of(claim):
        text = phrasing.control_words(scorecard, claim, control)
        yield AnswerView(name, control.decision or "not judged", text, _control_note(control))
    if claim.positive_control is None:
        reason = claim.positive_control_missing or "no reason given"
        yield AnswerView("positive control", "none", "none can be constructed", reason)


def _control_note(control: ControlModel) -> str:
    differences = phrasing.control_differences(control)
    return f"{control.why} ({control.experiment} with {differences}, {control.tier} scale)"


def _part_views(claim: ClaimModel) -> Iterable[PartView]:
    binding = phrasing.binding_part(claim)
    rows = [_part_rows(claim, index) for index in range(len(claim.parts))]
    for index, part in enumerate(claim.parts):
        alike = [r for other in rows if _same_rule(other[0].answer, part) for r in other]
        yield PartView(
            part=part,
            binding=part is binding,
            plot=lay_out(rows[index], among=alike, width=200, gutter=8, ticks=False),
            controls=tuple(_part_controls(claim, index)),
        )


def _part_controls(claim: ClaimModel, index: int) -> Iterable[str]:
    """What each control says of a part; where there is one only, it needs no name."""
    several = len(claim.controls) > 1
    for name, control in zip(phrasing.control_names(claim), claim.controls, strict=True):
        if index < len(control.parts):
            one = control.parts[index]
            yield f"{name + ' ' if several else ''}{one.decision}: {phrasing.sentence(one)}"


def _part_rows(claim: ClaimModel, index: int) -> list[PlotRow]:
    part = claim.parts[index]
    answers = [c.parts[index] for c in claim.controls if index < len(c.parts)]
    same = [one for one in answers if one.measured == part.measured and _same_rule(one, part)]
    return [PlotRow("part", "claim", part), *(PlotRow("control", "control", one) for one in same)]


def _same_rule(one: AnswerModel, other: AnswerModel) -> bool:
    """Whether two answers are held against the same bound on the same scale."""
    scales = [a.interval.scale if a.interval else None for a in (one, other)]
    rules = [(a.side, a.bound, a.margin) for a in (one, other)]
    return rules[0] == rules[1] and scales[0] == scales[1]


# --- figures and links --------------------------------------------------------------------------


@dataclass(frozen=True)
class DrawnFigure:
    """A figure with its picture."""

    figure: FigureModel
    svg: Markup


def _drawn(figure: FigureModel) -> DrawnFigure:
    # The picture was serialised from an element tree, which escaped every text in it.
    return DrawnFigure(figure, Markup(figure_svg(figure, "figure-")))


def _links(scorecard: Scorecard) -> list[tuple[str, str]]:
    """Plain links to the paper; nothing is loaded from them."""
    paper = scorecard.paper
    links = []
    if arxiv := paper.get("arxiv"):
        links.append((f"arXiv {arxiv}", f"https://arxiv.org/abs/{quote(str(arxiv))}"))
    if forum := paper.get("openreview"):
        where = f"https://openreview.net/forum?id={quote(str(forum), safe='')}"
        links.append(("OpenReview", where))
    return links
