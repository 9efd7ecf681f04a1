"""The rendered scorecard: in a terminal, as Markdown, HTML and JSON."""

from __future__ import annotations

import dataclasses
import io
import itertools
import json
import math
import os
import re
import stat
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import factories
from rendering import (
    render,
    render_html,
    render_json,
    render_markdown,
    render_register,
    render_scorecard,
)
from reproaudit.errors import StoreError, UsageError
from reproaudit.judging.model import IntervalModel, Verdict
from reproaudit.reports import numbers, phrasing
from reproaudit.reports import outline as o
from reproaudit.reports.chart import figure_chart
from reproaudit.reports.files import FILES, as_read, read_scorecard, write_report
from reproaudit.reports.heat_map import heat_maps
from reproaudit.reports.html import html_page
from reproaudit.reports.interval_plot import PlotRow, lay_out
from reproaudit.reports.listing import ListEntry, list_document
from reproaudit.reports.markdown import escaped
from reproaudit.reports.printable import clean
from reproaudit.reports.register.writing import write_register
from reproaudit.reports.screen import paper_lines, print_screen
from reproaudit.reports.terminal import print_document
from reproaudit.scorecard.figures import CurveModel, FigureModel, MatrixModel
from reproaudit.scorecard.model import (
    AnswerModel,
    ClaimModel,
    PartModel,
    Scorecard,
    SettingModel,
)
from reproaudit.scorecard.verdicts import EVIDENCE, VERDICTS
from reproaudit.stats import Decision

GOLDEN = Path(__file__).parent / "golden"
UPDATE = "REPROAUDIT_UPDATE_GOLDEN"
"""Set it to write the goldens anew; then read the difference."""

HOSTILE = (
    "<script>alert(1)</script> \"double\" 'single' | pipe | [red]markup[/red] $\\frac{$ "
    "`code` &amp; \x1b[31mescape\x1b[0m \u202eoverride " + "verylongword" * 30
)


@pytest.fixture(scope="module")
def card() -> Scorecard:
    return factories.make_scorecard()


@pytest.fixture(scope="module")
def hostile() -> Scorecard:
    """Every free text of the audit is hostile."""
    data = factories.audit_data()
    claim = factories.claim("layers", "good", statement=HOSTILE, locator=HOSTILE)
    claim["checks"] = [factories.aligns(name=HOSTILE, reason=HOSTILE)]
    claim["controls"][0]["why"] = HOSTILE
    second = factories.claim("second", "good", positive_control={"not_constructible": HOSTILE})
    variables = data["variables"]
    variables[0]["reviews"][0]["reason"] = HOSTILE
    variables[0]["evidence"][0]["statement"] = HOSTILE
    variables[0]["card"]["result"] = HOSTILE
    guess = {**factories.GUESS, "why": HOSTILE, "alternatives": [HOSTILE]}
    for figure in data["figures"]:
        figure["title"] = HOSTILE
    return factories.make_scorecard(
        paper={**data["paper"], "title": HOSTILE, "authors": [HOSTILE], "code": HOSTILE},
        variables=variables,
        claims=[claim, second],
        settings={**data["settings"], "guess": guess},
        findings=[{**data["findings"][0], "statement": HOSTILE, "effect": HOSTILE}],
        not_audited=[{"statement": HOSTILE, "locator": HOSTILE, "reason": HOSTILE}],
        figures=data["figures"],
    )


def claim_of(card: Scorecard, name: str) -> ClaimModel:
    return next(claim for claim in card.claims if claim.id == f"toy.{name}")


def printed(card: Scorecard, width: int = 80, **options: Any) -> str:
    out = io.StringIO()
    render_scorecard(card, Console(file=out, width=width, **options))
    return out.getvalue()


def answer(estimate: float, low: float, high: float, bound: float, **changes: Any) -> AnswerModel:
    scale = changes.pop("scale", "linear")
    interval = IntervalModel(low=low, high=high, confidence=0.95, method="Student t", scale=scale)
    stated: dict[str, Any] = {
        "name": "part",
        "measured": "part",
        "decision": "met",
        "estimate": estimate,
        "interval": interval,
        "bound": bound,
        "side": "at_most",
        "margin": None,
        "per_seed": (low, estimate, high),
        "satisfied": None,
    }
    return AnswerModel(**{**stated, **changes})


# --- the toy scorecard covers what can happen ---------------------------------------------------


def test_the_toy_scorecard_shows_every_verdict_and_evidence_level(card: Scorecard) -> None:
    assert {c.verdict for c in card.claims} == set(VERDICTS)
    reduced = factories.make_scorecard(tier="quick")
    levels = {c.evidence for c in (*card.claims, *reduced.claims)}
    assert levels == set(EVIDENCE)


# --- digits -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.03122, "0.0312"),
        (1.0, "1"),
        (0.5, "0.500"),
        (-2.345, "-2.35"),
        (12345.6, "12346"),
        (1234567.0, "1.23e6"),
        (3.0e-7, "3.00e-7"),
        (9.996, "10.0"),
        (0.0, "0"),
        (1.0e308, "1.00e308"),
    ],
)
def test_a_number_has_three_significant_digits(value: float, text: str) -> None:
    assert numbers.number(value) == text


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (answer(0.03122, 0.0281, 0.034, 0.1), "0.0312 [0.0281, 0.0340] ≤ 0.1"),
        # Three digits would say 1.00 [1.00, 1.00].
        (answer(1.0003, 1.0001, 1.0005, 1.1), "1.0003 [1.0001, 1.0005] ≤ 1.1"),
        (
            answer(0.99991, 0.99985, 0.99995, 0.999, side="at_least", scale="log_complement"),
            "0.99991 [0.99985, 0.99995] ≥ 0.999",
        ),
        # So close to its bound that three digits would hide on which side it is.
        (
            answer(0.10002, 0.05, 0.2, 0.1, decision="undecided"),
            "0.10002 [0.050000, 0.20000] ≤ 0.1?",
        ),
        (answer(1.4, 1.2, 1.6, 0.1, decision="missed"), "1.40 [1.20, 1.60] not ≤ 0.1"),
        (
            answer(1.0, 0.98, 1.02, 1.0, side="within", margin=0.05),
            "1 [0.980, 1.02] within 0.05 of 1",
        ),
        (
            answer(1.01, 0.98, 1.04, 1.0, side="within", margin=0.05, scale="log"),
            "1.01 [0.980, 1.04] within a factor 1.05 of 1",
        ),
        # A target that was computed: digits enough for a thousandth of the margin.
        (
            answer(0.77, 0.76, 0.78, 20 / 26, side="within", margin=0.015),
            "0.7700 [0.7600, 0.7800] within 0.015 of 0.76923",
        ),
        (
            answer(0.77, 0.76, 0.78, 20 / 26, side="within", margin=0.02, scale="log"),
            "0.7700 [0.7600, 0.7800] within a factor 1.02 of 0.76923",
        ),
        (
            answer(0.3, 0.1, 0.5, 12345.678, side="within", margin=1e-9, decision="missed"),
            "0.300 [0.100, 0.500] not within 1e-9 of 12345.678",
        ),
        (
            answer(0.3, 0.1, 0.3, 0.1, interval=None, satisfied=2, decision="missed"),
            "2 of 3 seeds ≤ 0.1, worst 0.300",
        ),
    ],
)
def test_a_number_stands_beside_its_interval_and_bound(given: AnswerModel, text: str) -> None:
    assert numbers.sentence(given) == text


def test_seeds_are_written_as_ranges() -> None:
    assert numbers.ranges((4, 0, 1, 2, 7)) == "0–2, 4, 7"


# --- the terminal -------------------------------------------------------------------------------


def compared(name: str, text: str) -> None:
    path = GOLDEN / name
    if os.environ.get(UPDATE):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), f"set {UPDATE}=1 to accept the change"


def test_the_terminal_output_is_as_it_was(card: Scorecard) -> None:
    compared("scorecard-80.txt", printed(card))


def test_the_markdown_is_as_it_was(card: Scorecard) -> None:
    compared("scorecard.md", render_markdown(card))


@pytest.mark.parametrize("width", [80, 100, 140])
@pytest.mark.parametrize("name", ["card", "hostile"])
def test_no_line_is_wider_than_the_terminal(
    width: int, name: str, request: pytest.FixtureRequest
) -> None:
    text = printed(request.getfixturevalue(name), width)
    assert max(map(len, text.splitlines())) <= width


def test_colour_only_repeats_what_is_written(card: Scorecard) -> None:
    coloured = printed(card, force_terminal=True, color_system="truecolor")
    assert "\x1b[" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == printed(card)


def test_every_verdict_is_a_word_in_the_terminal(card: Scorecard) -> None:
    text = printed(card)
    for claim in card.claims:
        assert f"{claim.headline.upper()} {claim.id}" in text


def test_a_proxy_shows_in_headline_and_index_of_every_format(card: Scorecard) -> None:
    """A verdict on other data than the paper's says so wherever it stands."""
    assert claim_of(card, "proxy").headline == "supported by proxy"
    pages = {
        "terminal": (printed(card), "SUPPORTED BY PROXY toy.proxy"),
        "Markdown": (render_markdown(card), "### supported by proxy toy.proxy"),
        "HTML": (render_html(card), "supported by proxy"),
        "JSON": (render_json(card), '"headline": "supported by proxy"'),
        "index": (render_register([card]), "1 supported by proxy"),
    }
    for name, (text, words) in pages.items():
        assert words in text, name


def test_an_undecided_claim_says_what_would_decide_it(card: Scorecard) -> None:
    part = claim_of(card, "undecided").parts[0]
    assert part.seeds_needed is not None
    said = " ".join(printed(card).split())
    assert f"if the true mean is this one, {part.seeds_needed} seeds would decide" in said


def test_the_detectable_mean_is_said_when_there_is_one(card: Scorecard) -> None:
    part = claim_of(card, "undecided").parts[0]
    told = phrasing.power(part.model_copy(update={"detectable": 0.8971, "seeds_needed": None}))
    assert told is not None
    assert (
        "5 seeds with this spread would decide if the mean were 0.897 (with probability 80 %)"
        in told
    )
    alone: PartModel = part.model_copy(update={"interval": None, "per_seed": (0.9,)})
    assert phrasing.power(alone) == "a single seed decides nothing"


def test_missing_seeds_are_not_laid_to_the_spread_of_those_that_are_there(card: Scorecard) -> None:
    few = claim_of(card, "undecided")
    told = "3 of 5 seeds have been run"
    changed = few.model_copy(update={"verdict": Verdict.NOT_TESTED, "why": told})
    others = tuple(changed if one is few else one for one in card.claims)
    for claims, said in ((card.claims, True), (others, False)):
        page = render_html(card.model_copy(update={"claims": claims}))
        assert ("seeds with this spread" in page) is said
    assert told in page


def test_a_diverged_claim_says_which_seed(card: Scorecard) -> None:
    assert "seed 3 diverged, which counts as missed" in printed(card)


def numbers_in(value: object) -> Iterator[float]:
    if isinstance(value, Mapping):
        yield from (found for one in value.values() for found in numbers_in(one))
    elif isinstance(value, list | tuple):
        yield from (found for one in value for found in numbers_in(one))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield value


def test_a_page_shows_every_number_that_a_claim_is_judged_by(card: Scorecard) -> None:
    """A floor above the data, or a rival of the fourth power, once stood in the JSON alone."""
    for form in ("html", "md"):
        text = re.sub(r"\\(.)|<[^>]*>", r"\1", render(card, form))
        folds = text.split("The rule in full")[1:]
        assert len(folds) == len(card.claims)
        for claim, fold in zip(card.claims, folds, strict=True):
            told = fold.partition("Of every part:")[0]
            for check in claim.rule["checks"]:
                assert check["kind"] in told
                for value in numbers_in(check):
                    assert numbers.stated(value) in told
            assert f"confidence: {numbers.stated(claim.rule['confidence'])}" in fold


def test_what_a_controls_experiment_changes_is_named(card: Scorecard) -> None:
    """A control may be of another experiment, which has settings of its own."""
    claim = next(one for one in card.claims if one.controls)
    control = claim.controls[0]
    shared, own, same = (
        SettingModel(experiment=of, name=name, value=value, paper=value, source="paper", others=())
        for of, name, value in ((None, "rate", 1.0), ("other", "rate", 0.01), (None, "width", 8))
    )
    told = card.model_copy(update={"settings": (shared, own, same)})
    other = control.model_copy(update={"experiment": "other", "settings": {}, "tier": told.tier})
    assert (
        phrasing.experiment_differences(told, claim, other) == "and by its experiment rate = 0.01"
    )
    smaller = other.model_copy(update={"tier": "smoke"})
    assert phrasing.experiment_differences(told, claim, smaller) == "and by its experiment in rate"
    alone = own.model_copy(update={"name": "lift"})
    lacked = own.model_copy(update={"name": "pace", "experiment": claim.experiment})
    more = card.model_copy(update={"settings": (same, alone, lacked)})
    said = "and by its experiment lift = 0.01 and without pace"
    assert phrasing.experiment_differences(more, claim, other) == said
    named = other.model_copy(update={"settings": {"rate": 0.01}})
    assert phrasing.experiment_differences(told, claim, named) == ""
    assert phrasing.experiment_differences(told, claim, control) == ""


def binomial_tail(most: int, of: int, share: float) -> float:
    return sum(math.comb(of, k) * share**k * (1 - share) ** (of - k) for k in range(most + 1))


def test_a_single_seed_at_the_smoke_tier_is_rendered() -> None:
    smoke = factories.make_scorecard(tier="smoke")
    assert {c.verdict for c in smoke.claims} == {"not_tested"}
    assert "1 value (0), no interval" in printed(smoke)
    assert render_html(smoke)


def test_markup_and_escapes_in_text_are_not_obeyed(hostile: Scorecard) -> None:
    text = printed(hostile, force_terminal=True, no_color=True, color_system=None)
    assert "[red]markup[/red]" in text.replace("\n", "")
    assert "\x1b[31m" not in text
    assert "\u202e" not in text


def test_the_screen_and_the_list_fit_the_terminal(card: Scorecard) -> None:
    out = io.StringIO()
    console = Console(file=out, width=80)
    print_screen([paper_lines(card)], console)
    verdicts = phrasing.verdict_counts(card.claims)
    known = ListEntry("toy", "Toy Networks Learn Toy Directions", "NeurIPS 2023", 2, 3, 7, "quick")
    entries = [dataclasses.replace(known, verdicts=verdicts), known]
    print_document(list_document(entries), console)
    text = out.getvalue()
    assert max(map(len, text.splitlines())) <= 80
    assert "3 supported" in text
    assert "by proxy" in text
    assert "2 → 3 of 7" in text
    assert "not run" in text


# --- HTML ---------------------------------------------------------------------------------------

VOID = frozenset({"meta", "br", "hr", "img", "input", "link"})


class Checker(HTMLParser):
    """Refuses unbalanced tags; collects ids, what is loaded, what is linked, and text."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.ids: list[str] = []
        self.referred: list[str] = []
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        if tag not in VOID:
            self.open.append(tag)
        self._attributes(tag, attrs)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self._attributes(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag, f"</{tag}> at {self.getpos()}"

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.text.append(data)

    def _attributes(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            assert not name.startswith("on"), f"{name} on <{tag}> is a script"
            if name == "id":
                self.ids.append(str(value))
            elif name in {"aria-labelledby", "aria-describedby"}:
                self.referred.append(str(value))
            elif name == "href" and tag == "a":
                self.links.append(str(value))
            elif name in {"href", "src", "srcset", "data", "xlink:href"}:
                self.loaded.append(str(value))
            for target in re.findall(r"url\(#([^)]*)\)", str(value)):
                self.referred.append(target)


def checked(page: str) -> Checker:
    parser = Checker()
    parser.feed(page)
    parser.close()
    assert parser.open == []
    return parser


@pytest.fixture(scope="module")
def page(card: Scorecard) -> str:
    return render_html(card)


def test_the_page_is_well_formed_and_its_ids_are_unique(page: str) -> None:
    found = checked(page)
    assert len(found.ids) == len(set(found.ids))
    referred = {*found.referred, *(r[1:] for r in found.loaded if r.startswith("#"))}
    referred |= {link[1:] for link in found.links if link.startswith("#")}
    assert referred <= set(found.ids)


def test_the_page_loads_nothing(page: str) -> None:
    found = checked(page)
    assert found.tags.isdisjoint({"script", "link", "iframe", "object", "embed", "base", "form"})
    assert all(r.startswith(("#", "data:image/png;base64,")) for r in found.loaded)
    assert "@import" not in page
    assert not re.search(r"url\((?!#)", page)
    outside = {link for link in found.links if "://" in link}
    expected = {"https://arxiv.org/abs/2301.00001", "https://openreview.net/forum?id=AbCdEf"}
    assert outside == expected


def test_the_page_says_all_of_it(page: str, card: Scorecard) -> None:
    text = " ".join(" ".join(checked(page).text).split())
    for claim in card.claims:
        assert claim.statement in text
        assert claim.why in text
        for part in claim.parts:
            assert numbers.sentence(part) in text
    for said in (
        "The link to the code is dead.",
        "It scales to a million layers.",
        "init_scale",
        "5 of 15 such papers were reproduced (95 % Wilson interval 15–58 %",
        "seed 3 diverged",
        "none can be constructed",
        "2 custom records",
        "11 of 14 listed claims tested",
    ):
        assert said in text


def test_parts_name_the_controls_where_there_are_several(card: Scorecard) -> None:
    one = claim_of(card, "layers")
    two = one.model_copy(update={"controls": one.controls * 2})
    for claim, names in ((one, ("missed",)), (two, ("control 1 missed", "control 2 missed"))):
        text = checked(render_html(card.model_copy(update={"claims": (claim,)}))).text
        for name in names:
            assert sum(said.startswith(f"{name}: ") for said in text) == len(claim.parts)


def test_a_reading_does_not_break_before_its_bound(page: str) -> None:
    assert re.search(
        r"\[[\d.]+,\N{NO-BREAK SPACE}[\d.]+\] not\N{NO-BREAK SPACE}≤\N{NO-BREAK SPACE}0.1", page
    )


def test_pictures_have_a_title_each(page: str) -> None:
    pictures = [one for one in re.findall(r"<svg[^>]*>", page) if "aria-hidden" not in one]
    assert len(pictures) > 15
    for picture in pictures:
        assert 'role="img"' in picture
        assert "aria-labelledby=" in picture


def test_hostile_text_stays_text(hostile: Scorecard) -> None:
    page = render_html(hostile)
    found = checked(page)
    assert "script" not in found.tags
    shown = clean(HOSTILE)
    assert "".join(found.text).count(shown) >= 10
    assert "\x1b" not in page
    register = render_register([hostile])
    assert register.count("<script") == 1
    assert "\x1b" not in checked(register).text


def test_the_index_leads_to_the_papers(card: Scorecard) -> None:
    other = factories.make_scorecard("toy_two")
    found = checked(render_register([card, other]))
    assert len(found.ids) == len(set(found.ids))
    assert {"toy/scorecard.html", "toy_two/scorecard.html"} <= set(found.links)
    text = " ".join(" ".join(found.text).split())
    assert "Documentation: card against review" in text
    assert "Yes, disagree" in text


# --- Markdown -----------------------------------------------------------------------------------


def test_markdown_shows_hostile_text_as_it_is(hostile: Scorecard) -> None:
    text = render_markdown(hostile)
    assert "<script" not in text
    assert "\x1b" not in text
    for table in re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE):
        cells = {len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}
        assert len(cells) == 1, "a cell broke its table"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a|b", r"a\|b"),
        ("<b>", "&lt;b&gt;"),
        ("# no\nheading", r"\# no heading"),
        ("- no item", r"\- no item"),
        ("1. no item", r"\1. no item"),
        ("[a](b)", r"\[a\](b)"),
        ("a\\|b", r"a\\\|b"),
    ],
)
def test_markdown_is_escaped(text: str, shown: str) -> None:
    assert escaped(text) == shown


# --- pictures -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scale", "estimate", "bound", "beyond", "end"),
    [
        ("log", 1e-6, 0.1, (1e-16, 1e-7), 1e-6),
        ("log_complement", 1 - 1e-6, 0.9, (1 - 1e-9, 1 - 1e-12), 1 - 1e-6),
        ("logit", 1 - 1e-6, 0.9, (1 - 1e-9, 1 - 1e-12), 1 - 1e-6),
    ],
)
def test_seeds_beyond_the_floor_stand_on_it(
    scale: str, estimate: float, bound: float, beyond: tuple[float, ...], end: float
) -> None:
    """A perfect solution's rounding does not stretch the axis by ten decades."""
    far = answer(estimate, estimate, estimate, bound, scale=scale, floor=1e-6, per_seed=beyond)
    near = answer(estimate, estimate, estimate, bound, scale=scale, floor=1e-6, per_seed=(end,) * 2)
    drawn, expected = (lay_out([PlotRow("claim", "claim", one)]) for one in (far, near))
    assert drawn.marks[0].seeds == pytest.approx(expected.marks[0].seeds)
    assert drawn.bound == pytest.approx(expected.bound)


def test_a_picture_of_an_interval_is_to_scale() -> None:
    given = answer(0.1, 0.01, 1.0, 0.1, scale="log", per_seed=(0.01, 0.1, 1.0))
    plot = lay_out([PlotRow("claim", "claim", given)])
    (mark,) = plot.marks
    assert mark.whisker is not None
    low, high = mark.whisker
    assert mark.dot == pytest.approx((low + high) / 2, abs=0.02)
    assert plot.bound == pytest.approx(mark.dot, abs=0.02)
    assert plot.accepted == (plot.left, plot.bound)
    assert next(label for _, label in plot.ticks) == "0.01"


@pytest.mark.parametrize(
    ("given", "cut"),
    [
        (answer(1.0, 1e-9, 1e9, 2.0, scale="log", per_seed=(0.5, 2.0)), (True, True)),
        (answer(0.9, 0.0, 0.999, 0.8, scale="log_complement", per_seed=(0.8, 1.0)), (True, True)),
        (answer(0.5, 0.2, 0.8, 0.5, scale="logit", per_seed=(0.0, 1.0)), (False, False)),
        (answer(0.0, 0.0, 0.0, 0.0, per_seed=(0.0, 0.0)), (False, False)),
        (answer(1.0, -1e308, 1.7e308, 2.0), (False, False)),
    ],
)
def test_a_picture_stays_inside_its_frame(given: AnswerModel, cut: tuple[bool, bool]) -> None:
    plot = lay_out([PlotRow("claim", "claim", given)])
    (mark,) = plot.marks
    assert mark.whisker is not None
    places = [mark.dot, *mark.whisker, *mark.seeds, plot.bound, *(x for x, _ in plot.ticks)]
    assert all(math.isfinite(x) and plot.left <= x <= plot.right for x in places)
    assert (mark.cut_low, mark.cut_high) == cut


def curve(label: str, x: tuple[float | str, ...], *rows: tuple[float, ...]) -> CurveModel:
    mean, low, high = rows
    return CurveModel(label=label, x=x, mean=mean, low=low, high=high)


def figures() -> Iterator[FigureModel]:
    common: dict[str, Any] = {
        "title": HOSTILE,
        "experiment": "good",
        "x_label": "x $_",
        "y_label": "",
        "band": "range",
        "seeds": (0,),
    }
    zero = curve(HOSTILE, (0.0, 1.0, 2.0), (0.0, -1.0, 0.1), (-1.0, -2.0, 0.0), (1.0, 0.0, 1.0))
    names = curve("_b", ("one", "two_$x$"), (0.0, 2.0), (-1.0, 1.0), (0.5, 3.0))
    none = curve("none", (0.0, 1.0), (0.0, 0.0), (0.0, 0.0), (0.0, 0.0))
    many = tuple(
        curve(f"loss, layer {k}", (1.0, 9.0), (1.0, k), (0.5, k), (2.0, k)) for k in range(1, 20)
    )
    for kind in ("curves", "comparison"):
        for log in (False, True):
            for curves in ((zero,), (none,), many, () if kind == "curves" else (names,)):
                yield FigureModel(id="f_1", kind=kind, log=log, curves=curves, **common)
    wide = tuple(tuple(float(i - j) for i in range(45)) for j in range(45))
    for values in (((0.0,),), ((1e-9, -1e9),), wide):
        matrices = (MatrixModel(label=HOSTILE, values=values),)
        yield FigureModel(id="m", kind="matrices", log=False, matrices=matrices, **common)


def drawn(figure: FigureModel) -> str:
    return html_page(o.Document("", "", (), (o.Picture("caption", figure, "f"),)))


@pytest.mark.parametrize("figure", list(figures()))
def test_a_figure_is_drawn_the_same_twice_and_stays_text(figure: FigureModel) -> None:
    first = drawn(figure)
    assert first == drawn(figure)
    found = checked(first)
    assert "script" not in found.tags
    assert len(found.ids) == len(set(found.ids))
    assert set(found.referred) <= set(found.ids)


def test_what_is_not_positive_leaves_a_gap_on_a_logarithmic_axis() -> None:
    gap = curve("c", (0.0, 1.0, 2.0, 3.0, 4.0), *(((1.0, 0.5, 0.0, 0.5, 1.0),) * 3))
    whole = curve("c", (0.0, 1.0, 2.0, 3.0, 4.0), *(((1.0, 0.5, 0.1, 0.5, 1.0),) * 3))
    strokes = []
    for one in (gap, whole):
        figure = comparison(one).model_copy(update={"kind": "curves", "log": True})
        (stroke,) = figure_chart(figure).strokes
        strokes.append(stroke.path.count("M"))
    assert strokes == [2, 1]  # a line across the gap would show values that nobody measured


def comparison(*curves: CurveModel) -> FigureModel:
    return FigureModel(
        id="f",
        kind="comparison",
        title="t",
        experiment="e",
        x_label="",
        y_label="",
        log=False,
        band="",
        seeds=(0,),
        curves=curves,
    )


def test_lines_of_a_figure_differ_without_colour_and_are_named_in_full() -> None:
    names = [f"loss of the baseline, {i} steps, with a step size for each" for i in range(28)]
    chart = figure_chart(comparison(*(curve(n, (1.0, 2.0), *(((1.0, 2.0),) * 3)) for n in names)))
    assert [one.label for one in chart.in_key] == names
    assert len({(one.kind, one.dash) for one in chart.strokes}) == 28
    neighbours = itertools.pairwise(one.dash for one in chart.strokes)
    assert all(one != other for one, other in neighbours)


def test_whole_numbers_have_whole_ticks() -> None:
    heights = ((10.0, 20.0, 30.0),) * 3
    whole = figure_chart(comparison(curve("a", (1.0, 2.0, 3.0), *heights)))
    assert [label for _, label in whole.x_ticks] == ["1", "2", "3"]


def test_a_large_matrix_is_drawn_in_blocks_by_their_largest_entry() -> None:
    values = [[0.0] * 100 for _ in range(100)]
    values[57][93] = -3.0
    figure = FigureModel(
        **{**comparison().model_dump(), "kind": "matrices"}
        | {"matrices": (MatrixModel(label="m", values=tuple(map(tuple, values))),)}
    )
    (one,) = heat_maps(figure)
    assert len(one.cells) <= 40 * 40
    assert {cell[2] for cell in one.cells} == {("#ffffff", "#1e2227"), ("#2166ac", "#6eb4f5")}
    assert "entries from -3 to 0" in one.name


# --- files --------------------------------------------------------------------------------------

CLAIM_KEYS = {
    *("id", "statement", "decision", "verdict", "evidence", "estimate", "interval", "bound"),
    *("seeds", "per_seed", "control", "positive_control", "parts", "weight", "rule_hash"),
}
CARD_KEYS = {
    *("schema_version", "paper", "tier", "documentation", "claims", "not_audited", "coverage"),
    *("findings", "figures", "environment", "records"),
}


def test_the_json_keeps_its_contract(card: Scorecard) -> None:
    data = json.loads(render_json(card))
    assert set(data) >= CARD_KEYS
    assert data["schema_version"] == 3
    assert data["paper"]["slug"] == "toy"
    assert set(data["documentation"]) >= {"strict", "reviewed", "sharing_type"}
    assert set(data["coverage"]) >= {"claims", "tested", "weight_tested"}
    for claim in data["claims"]:
        assert set(claim) >= CLAIM_KEYS
        assert set(claim["control"]) >= {"decision", "estimate", "interval"}
        for interval in (claim["interval"], claim["control"]["interval"]):
            keys = {"low", "high", "confidence", "method", "scale"}
            assert interval is None or set(interval) == keys
    assert any(claim["interval"] is None for claim in data["claims"])


def test_a_report_can_be_made_again_from_its_json(card: Scorecard, tmp_path: Path) -> None:
    first = write_report(card, tmp_path / "a")
    names = ["scorecard.html", "scorecard.json", "scorecard.md", "pictures.csv"]
    assert [p.name for p in first] == names
    assert first[1] == tmp_path / "a" / "paper" / "toy" / "scorecard.json"
    again = read_scorecard(first[1])
    assert again == card.model_copy(update={"digest": again.digest})
    assert again.digest is not None
    assert as_read(card) == again
    second = write_report(again, tmp_path / "b")
    assert [p.read_bytes() for p in first] == [p.read_bytes() for p in second]
    assert [p.read_bytes() for p in write_register([card], tmp_path / "a")] == [
        p.read_bytes() for p in write_register([again], tmp_path / "b")
    ]


def test_only_the_formats_asked_for_are_written(card: Scorecard, tmp_path: Path) -> None:
    write_report(card, tmp_path, ("md", "json", "md"))
    written = sorted(p.name for p in tmp_path.rglob("*") if p.is_file())
    assert written == ["scorecard.json", "scorecard.md"]
    mode = stat.S_IMODE((tmp_path / "paper" / "toy" / "scorecard.md").stat().st_mode)
    assert mode == 0o644


def test_an_unknown_format_is_a_users_mistake(card: Scorecard, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no format 'htm'\. Did you mean 'html'"):
        write_report(card, tmp_path, ("htm",))
    assert FILES == ("html", "json", "md")
    assert list(tmp_path.iterdir()) == []


def test_an_index_is_written_per_tier(card: Scorecard, tmp_path: Path) -> None:
    smoke = factories.make_scorecard(tier="smoke")
    written = write_register([card, smoke], tmp_path)
    assert [p.relative_to(tmp_path).as_posix() for p in written] == [
        "paper/index.html",
        "smoke/index.html",
    ]


def test_a_folder_that_cannot_be_written_is_one_line(card: Scorecard, tmp_path: Path) -> None:
    (tmp_path / "paper").write_text("in the way")
    with pytest.raises(StoreError, match=r"^cannot write .*--out\.$") as caught:
        write_report(card, tmp_path, ("json",))
    assert "\n" not in str(caught.value)


def test_a_scorecard_cannot_leave_its_folder(card: Scorecard, tmp_path: Path) -> None:
    outside = card.model_copy(update={"paper": {**card.paper, "slug": "../../outside"}})
    with pytest.raises(StoreError, match="cannot name a folder"):
        write_report(outside, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_number_that_is_not_finite_is_never_written(card: Scorecard, tmp_path: Path) -> None:
    claim = card.claims[0].model_copy(update={"estimate": math.nan})
    broken = card.model_copy(update={"claims": (claim,)})
    with pytest.raises(ValueError, match="JSON compliant"):
        write_report(broken, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_leaves_the_old_file(
    card: Scorecard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (path,) = write_report(card, tmp_path, ("md",))
    before = path.read_bytes()

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(StoreError, match="No space left"):
        write_report(card, tmp_path, ("md",))
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == ["scorecard.md"]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("{", "is not JSON"),
        ('{"schema_version": 2}', "scorecard version 2, and this program reads version 3"),
        ("[]", "scorecard version None"),
        ('{"schema_version": 3}', "is no scorecard: paper: Field required"),
        ('{"schema_version": 3, "tier": NaN}', "is not JSON: NaN"),
    ],
)
def test_what_is_no_scorecard_is_refused(text: str, fault: str, tmp_path: Path) -> None:
    path = tmp_path / "scorecard.json"
    path.write_text(text)
    with pytest.raises(StoreError, match=re.escape(fault)):
        read_scorecard(path)


def test_a_missing_scorecard_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"cannot read .*: No such file or directory"):
        read_scorecard(tmp_path / "none.json")


def test_a_control_that_diverged_answers_nothing_and_does_not_miss(card: Scorecard) -> None:
    """The defect: "which counts as missed" was said of controls, too."""
    claim = claim_of(card, "diverged")
    record = next(one for one in card.records if one.status == "diverged")
    control = claim.controls[0].model_copy(
        update={
            "experiment": record.experiment,
            "tier": record.tier,
            "settings": record.overrides,
            "decision": Decision.UNDECIDED,
            "parts": (),
        }
    )
    told = phrasing.control_words(card, claim, control)
    assert told == f"no estimate: seed {record.seed} diverged, so that it answers nothing"
