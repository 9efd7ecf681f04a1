"""What a page says and shows, on the miniature and in a real browser."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from benchmarks.calibrate import CHECK

from browsing import fits, serious, watched
from factories import card_of, make_audit, make_record, make_scorecard
from miniatures import aligns, audit_data, claim, setting
from reproaudit.audit.plan import cells_of_tier
from reproaudit.checks import NUMBERS, Kind, Limit, Number, Provenance, Side
from reproaudit.cli.options import exit_code
from reproaudit.formats.names import Namer, value_words
from reproaudit.formats.scorecard import Scorecard
from reproaudit.formats.verdict import Estimate, Outcome
from reproaudit.report.pages import html, markdown
from reproaudit.report.parts import claims_changed, parts, row_words, tried_words
from reproaudit.report.register import entry
from reproaudit.report.terminal import detail_lines, judged_lines, report_lines, run_lines
from reproaudit.scorecard.words import bound_of, figure_of, typical_words
from reproaudit.service.pages import write_registers, write_report

PAPER = {"from": "paper"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages of a paper, and the register beside them."""
    out = tmp_path_factory.mktemp("pages")
    card = make_scorecard()
    write_report(card, out)
    write_registers([card], out)
    return out / "paper"


SERIES, ENDS = {"series": "distance"}, {"at_most": 0.3, "from": "paper"}
SAID = [
    ("aligns", {"distance": "final", "at_most": 1}, 2, "final 2.0"),
    ("beats", {"lower": "final", "upper": "distance"}, 1.02, "distance over final 1.02"),
    ("beats", {"lower": "final", "upper": {"measurement": "final", "arm": "low"}}, 2,
     "final, low over as run: 2.0"),
    ("beats", {"lower": "final", "upper": "distance", "difference": True}, 2,
     "distance minus final 2.0"),
    ("concentrates", {"share": "final", "at_least": 0.9}, 0.93, "final 0.93"),
    ("concentrates", {"share": "final", "at_least": 0.9, "of_the_rest": True}, 0.93,
     "final covers 93 % of the way left"),
    ("converges", {"loss": "distance", "falls": ENDS}, 20, "distance falls 20-fold"),
    ("converges", {"loss": "distance", "flattens": ENDS}, 0.2,
     "distance changes by 20 % at the end"),
    ("converges", {"loss": "distance", "ends": ENDS}, 0.2, "distance ends at 0.20"),
    ("converges", {"loss": "distance", "to_zero": True}, -2, "slope of log distance -2.0"),
    ("equals", {"value": "final", "to": 2, "within": 1}, 3, "final 3.0"),
    ("equals", {"value": "final", "to": "distance", "within": 1}, 3,
     "final differs from distance by 3.0"),
    ("equals", {"value": "final", "to": "distance", "within": 1, "relative": True}, 3,
     "final 3.0-fold"),
    ("follows", {**SERIES, "curve": [[0, 1], [9, 2]], "at_most": 1}, 2, "distance 2.0"),
    ("grows_like", {**SERIES, "law": "logarithm", "growth": ENDS}, 2, "distance grows by 2.0"),
    ("reaches", {"value": "final", "at_least": 1}, 2, "final 2.0"),
    ("reaches", {"value": "final", "relative_to": "distance", "at_least": 1}, 2,
     "final 2.0 times distance"),
    ("reaches", {"value": "final", "relative_to": "distance@first", "at_least": 1}, 2,
     "final ends at 2.0-fold of its start"),
    ("reaches", {"value": "distance", "grown_from": "distance@first", "at_least": 1}, 2,
     "distance grows by 2.0"),
    ("reaches", {"value": "final", "grown_from": "distance", "at_least": 1}, 2,
     "final minus distance: 2.0"),
    ("reaches", {"value": "final", "grown_from": {"measurement": "final", "arm": "vanilla"},
                 "at_least": 1}, 2, "final, as run minus vanilla: 2.0"),
    ("reaches", {"value": "final", "between": ["distance", "final"], "at_least": 1}, 2,
     "final closes 200 % of the gap between distance and final, beyond the ceiling in 1 of 1"),
    ("scales_like", {"value": "final", "axis": "size", "exponent": ENDS}, 2, "final: exponent 2.0"),
    ("separates", {"value": "distance", "start": ENDS, "end": ENDS}, 2, "distance starts at 2.0"),
    ("stages", {"earlier": {"series": "final"}, "later": SERIES, "order": ENDS}, 2,
     "distance comes 2.0 times as late as final"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "fields", "value", "expected"), SAID)
def test_each_kind_has_its_words(kind: str, fields: Any, value: float, expected: str) -> None:
    one = check_of(kind, fields)
    read = one.quantities()[0] if kind != "stages" else one.quantities()[-1]
    named = Namer(make_audit()).compared("descent", one, read.measurement)
    what = one.numbers[0]
    assert typical_words(estimate(what, value), what, *named) == expected


def check_of(kind: str, fields: Any) -> Kind:
    origin = {} if kind in ("converges", "separates", "stages", "scales_like") else PAPER
    return CHECK.validate_json(json.dumps({"kind": kind, **origin, **fields}))


def estimate(number: Number, *values: float, at: float = 1.0) -> Estimate:
    limit = Limit(Side.AT_LEAST, at, Provenance.PAPER)
    unit = number.form.unit
    named = {"check": 0, "name": number.name, "measurement": "final", "unit": unit}
    return Estimate(**named, limit=limit, values=values, holds=tuple(map(limit.met_by, values)))


def test_a_law_that_loses_to_its_rivals_is_said_the_other_way_round() -> None:
    for exponent, law, rival in ((None, "log t", "a power or bounded law"), (2, "t^2", "a rival")):
        fields = {**SERIES, "law": "logarithm" if exponent is None else "power", "growth": ENDS}
        one = check_of("grows_like", {**fields, **({"exponent": 2} if exponent else {})})
        noun, held = Namer(make_audit()).compared("descent", one, "distance")
        fit = one.numbers[1]
        won, lost, none = (estimate(fit, *each) for each in ((4, 2), (0.25, 0.5), ()))
        assert held == law
        assert typical_words(won, fit, noun, held).startswith(
            f"{law} fits 3.0 times as well as any"
        )
        assert typical_words(lost, fit, noun, held).startswith(rival)
        assert "fits 2.7 times as well as" in typical_words(lost, fit, noun, held)
        assert typical_words(none, fit, noun, held) == "it stops growing"
        assert (bound_of(won, fit), figure_of(won, fit)) == ("a better fit than any rival's", "")


def test_a_bound_is_written_like_its_number() -> None:
    found = [
        (bound_of(one, what), figure_of(one, what))
        for what in map(NUMBERS.__getitem__, ("flattens", "concentrates", "falls"))
        for one in (estimate(what, 0.02, at=at) for at in (0.05, 0.3))
    ]
    assert found == [
        ("5 %", "2.0 %"),
        ("30 %", "2.0 %"),
        ("5 %", "2.0 %"),
        ("0.3", "0.020"),
        ("0.05-fold", "0.020-fold"),
        ("0.3-fold", "0.020-fold"),
    ]


@pytest.mark.parametrize(
    ("margin", "says"),
    [
        ({}, "0.800 ± 0.25"),
        ({"relative": True}, "within a factor of 1.25 of 0.8"),
        ({"relative": True, "within": 1e-6}, "within 0.0001 % of 0.8"),
    ],
)
def test_a_margin_is_said_as_it_is_held(margin: Any, says: str) -> None:
    fields = {"value": "final", "to": 0.8, "within": 0.25, **margin}
    (what,) = check_of("equals", fields).numbers
    shape = {"target": 0.8, "relative": "relative" in margin}
    limit = Limit(Side.WITHIN, fields["within"], Provenance.PAPER, **shape)
    one = estimate(what, 0.7).model_copy(update={"limit": limit})
    assert bound_of(one, what) == says


@pytest.mark.parametrize(
    "page", ["mini/scorecard.html", pytest.param("index.html", marks=pytest.mark.process)]
)
def test_a_page_needs_nothing_else_and_fits_a_phone(browser: Any, folder: Path, page: str) -> None:
    address = (folder / page).as_uri()
    with watched(browser, address, folder.as_uri()) as shown:
        assert serious(shown) == []
        shown.set_viewport_size({"width": 360, "height": 700})
        assert fits(shown)
        assert "supported" in shown.inner_text("body")


def joined(lines: Iterable[str]) -> str:
    return " ".join(" ".join(lines).split())


RENDERED: dict[str, Callable[[Scorecard], str]] = {
    "Markdown": markdown,
    "HTML": html,
    "report": lambda card: joined(report_lines(card)),
    "run": lambda card: joined(run_lines(card)),
    "judge": lambda card: joined(judged_lines(card)),
}


@pytest.mark.parametrize("render", RENDERED.values(), ids=RENDERED)
def test_every_rendering_has_head_and_missed_rows_in_one_order(
    render: Callable[[Scorecard], str],
) -> None:
    """Also said and stricter checks that are missed stand everywhere, whatever the outcome."""
    beside = {"support": [aligns(0.001)], "notes": [aligns(0.002)]}
    made = claim("mini", "one", main=True, **beside)
    card = make_scorecard(claims=[made, claim("mini", "other", headline=[aligns(0.003)])])
    text = joined([render(card)])
    verdict = " ".join(card.head.verdict)
    lines = [line.text for line in card.head.own]
    places = [text.index(said) for said in (verdict, *lines)]
    assert places == sorted(places)
    missed = [row for row in card.rows if row.decision == "missed" and row.arm == "own"]
    assert len(missed) == 3
    assert text.count("0 of 6") >= len(missed)
    if render is not RENDERED["run"]:  # which has a line a claim
        assert all(row.bound_words in text for row in missed)


def test_a_terminal_counts_what_other_stated_values_do_not_meet() -> None:
    level = setting(0.02, readings=[{"value": 0.5, "source": "authors_code", "locator": "Line 1"}])
    made = claim("mini", "one", main=True, readings=["level"], notes=[aligns(0.002)])
    card = make_scorecard(claims=[made], settings={**audit_data()["settings"], "level": level})
    text = joined(report_lines(card))
    unmet = text[text.index("Not met") :]
    (row,) = [row for row in card.rows if row.role == "stricter" and row.arm == "own"]
    assert f"{row.bound_words}: 0 of 6; 2 conditions with other stated values" in unmet
    assert "Not met" not in joined(run_lines(card))
    assert all(joined([row_words(row)]) in joined(detail_lines(card)) for row in card.rows)


def test_a_page_that_is_too_long_counts_what_ended_as_it_should() -> None:
    """Every own row that is not met is still there, word for word."""
    names = [f"claim-{k}" for k in range(40)]
    bounds = [0.002 if k % 3 else 0.1 for k in range(40)]
    made = [
        claim("mini", name, main=not k, headline=[aligns(bounds[k])], support=[aligns(0.5)])
        for k, name in enumerate(names)
    ]
    card = make_scorecard(claims=made)
    text = markdown(card)
    assert "rows of other arms that, by all checks together, ended as they should" in text
    sections = re.split(r"^### ", text, flags=re.M)[1:]
    assert len(sections) == len(names)
    for part, section in zip(parts(card), sections, strict=True):
        missed = [row for row in part.rows if row.arm == "own" and row.decision == "missed"]
        assert section.count("missed") == len(missed)
        assert all(row.count in section for row in missed)


def test_no_line_of_a_terminal_is_cut_at_any_width() -> None:
    card = make_scorecard()
    for width in (60, 80, 200):
        lines = [*report_lines(card, width), *detail_lines(card, width)]
        assert max(map(len, lines)) <= width
        assert joined(lines) == joined([*report_lines(card, 70), *detail_lines(card, 70)])
        assert not any(line.endswith("…") for line in lines)


def test_verbose_has_every_row_with_what_it_decides() -> None:
    card = make_scorecard()
    said = joined(detail_lines(card, 120))
    assert all(joined([row_words(row)]) in said for row in card.rows)
    blind = next(row for row in card.rows if row.claim == "mini.vacuous" and row.arm == "own")
    assert "tells nothing" in row_words(blind)


def test_a_grid_has_choices_as_rows_and_claims_that_change_as_columns() -> None:
    card = make_scorecard()
    (line,) = claims_changed(card)
    assert line.name == "guessed"
    (value,) = (value for value in card.tried if value.changes)
    assert (value.words, value.value) == ("level", "0.3")
    assert tried_words(value, line) == ("✓ 6/6 → ✗ 0/5", True)
    assert [same.value for same in card.tried if not same.changes] == ["0.04"]


def test_a_question_of_ours_stands_apart_and_is_in_no_count(tmp_path: Path) -> None:
    asked = claim("mini", "asked", ours=True, headline=[aligns(1e-9)], short="is it exact")
    card = make_scorecard(claims=[claim("mini", "one", main=True), asked])
    assert [answer.outcome for answer in card.claims] == ["supported", "not supported"]
    assert "not" not in " ".join(card.head.verdict)
    for text in (markdown(card), html(card)):
        apart = text.index("Questions of ours")
        assert text.index("#one") < apart < text.index("#asked", apart)
        assert "is it exact" not in text[: text.index("Answers")]
    assert list(run_lines(card))[-1] == "1 claim: 1 supported."
    assert exit_code([card], frozenset({"not supported"})) == 0
    write_report(card, tmp_path)
    write_registers([card], tmp_path)
    register = json.loads((tmp_path / "paper" / "register.json").read_text())
    claims = register["papers"][0]["claims"]
    assert [(said["id"], said["whose"]) for said in claims] == [
        ("mini.one", "paper"),
        ("mini.asked", "ours"),
    ]
    assert register["papers"][0]["counts"]["paper"] == {"supported": 1}
    badges = (tmp_path / "paper" / "mini" / "badges").iterdir()
    assert [badge.stem for badge in badges] == ["mini.one"]


@pytest.mark.parametrize("render", RENDERED.values(), ids=RENDERED)
def test_the_other_side_of_a_dispute_is_listed_after_the_paper(
    render: Callable[[Scorecard], str],
) -> None:
    theirs = claim("mini", "theirs", whose="literature", short="it stays", headline=[aligns(1e-9)])
    card = make_scorecard(claims=[theirs, claim("mini", "one", main=True)])
    text = joined([render(card)])
    assert text.index("Main: the distance vanishes") < text.index("It stays")
    assert "not" not in " ".join(card.head.verdict)
    assert (card.head.counts.paper, card.head.counts.others) == (
        {Outcome.SUPPORTED: 1},
        {Outcome.NOT_SUPPORTED: 1},
    )


@pytest.mark.parametrize("key", ["maximum likelihood", "maximum_likelihood"])
def test_a_value_of_two_words_has_its_phrase(key: str) -> None:
    estimator = setting("maximum likelihood", phrases={key: "the variance over M"})
    audit = make_audit(settings={**audit_data()["settings"], "estimator": estimator})
    assert value_words(audit.settings["estimator"], "maximum likelihood") == "the variance over M"


@pytest.mark.parametrize("key", ["1e-08", "10⁻⁸"])
def test_a_phrase_is_found_by_the_value_as_an_audit_or_a_page_has_it(key: str) -> None:
    rate = setting(1.0e-8, phrases={key: "nearly none"})
    audit = make_audit(settings={**audit_data()["settings"], "rate": rate})
    assert value_words(audit.settings["rate"], 1.0e-8) == "nearly none"


def test_the_register_names_the_choice_on_which_a_claim_hangs() -> None:
    card = make_scorecard()
    paper = entry(card, Path("paper/mini"), Path("paper"))
    (depends,) = [said for said in paper["claims"] if said["outcome"] == "depends"]
    (choice,) = paper["hangs_on"]
    assert (choice["setting"], choice["claims"]) == ("level", [depends["id"]])
    assert "0.3" in choice["values"]


def test_a_claim_that_is_gone_leaves_no_badge(tmp_path: Path) -> None:
    for names in (("one", "other"), ("one",)):
        card = make_scorecard(claims=[claim("mini", name) for name in names])
        write_report(card, tmp_path)
        write_registers([card], tmp_path)
        badges = (tmp_path / "paper" / "mini" / "badges").iterdir()
        assert {badge.stem for badge in badges} == {f"mini.{name}" for name in names}


def test_a_smoke_run_that_failed_is_not_said_to_run() -> None:
    audit = make_audit()
    broken = [make_record(cell, status="failed") for cell in cells_of_tier(audit, "smoke")]
    said = " ".join(card_of(audit, broken, "smoke").head.verdict)
    assert said == "The smoke tier judges nothing; runs of 4 claims failed."
    assert "every experiment runs" in make_scorecard(tier="smoke").head.verdict[0]


def test_links_lead_to_the_paper_its_code_and_the_numbers() -> None:
    paper = {**audit_data()["paper"], "arxiv": "2401.00001", "code": "GitHub a-b/c.d, read at 1"}
    page = html(make_scorecard(paper=paper))
    addresses = re.findall(r'href="([^"#]+)"', page)
    assert addresses[1:] == [
        "https://arxiv.org/abs/2401.00001",
        "https://github.com/a-b/c.d",
        "scorecard.json",
    ]
