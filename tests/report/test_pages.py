"""What a page says and shows, on the miniature and in a real browser."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from benchmarks.calibrate import CHECK
from reproaudit.report.choices import grid_of
from reproaudit.report.screen import sections, verdict

from browsing import fits, serious, watched
from bundles import one_claim, ours, records_of
from factories import card_of, make_audit, make_record, make_scorecard
from miniatures import aligns, claim
from reproaudit.audit.plan import cells_of_tier
from reproaudit.checks import NUMBERS, Kind, Limit, Number, Provenance, Side
from reproaudit.cli.options import exit_code
from reproaudit.formats.verdict import Estimate
from reproaudit.report.pages import html, markdown
from reproaudit.report.register import entry
from reproaudit.report.terminal import report_lines, run_lines
from reproaudit.scorecard.claims import texts_in
from reproaudit.scorecard.words import Namer, bound_of, figure_of, typical_words
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
    ("reaches", {"value": "final", "grown_from": "distance", "at_least": 1}, 2,
     "final grows by 2.0"),
    ("reaches", {"value": "final", "between": ["distance", "final"], "at_least": 1}, 2,
     "final closes 200 % of the gap between distance and final, beyond the ceiling in 1 of 1"),
    ("scales_like", {"value": "final", "axis": "size", "exponent": ENDS}, 2, "exponent 2.0"),
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
        ("5.0 %", "2.0 %"),
        ("30 %", "2.0 %"),
        ("5.0 %", "2.0 %"),
        ("0.3", "0.020"),
        ("0.05-fold", "0.020-fold"),
        ("0.3-fold", "0.020-fold"),
    ]


@pytest.mark.parametrize(
    ("margin", "says"),
    [
        ({}, "0.800 ± 0.25"),
        ({"relative": True}, "within a factor of 1.25 of 0.8"),
        ({"relative": True, "within": 1e-6}, "within 0.00010 % of 0.8"),
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


def test_a_null_that_misses_by_its_mean_is_not_said_to_pass() -> None:
    """Each run of the null meets the distance; the mean of where it ends is another one."""
    ends = {"kind": "equals", "value": "final", "to": 0.02, "within": 0.005, "from": "paper"}
    one = claim("mini", "mean", main=True, headline=[ends, aligns(0.1)], nulls=["low"])
    arms = {
        "low": {"settings": {"level": 0.03}, "why": "ends elsewhere"},
        "built": {"settings": {"level": 0.001}, "why": "ends lower"},
    }
    card = make_scorecard(claims=[one], arms=arms)
    assert card.claims[0].controls[0].decision == "missed"
    assert "low: missed by the mean of 5" in markdown(card)


def test_a_guess_that_flips_is_named_by_its_phrase() -> None:
    level = {"value": 0.02, "source": "assumption", "why": "not stated", "alternatives": [0.5]}
    settings = {"level": {**level, "phrases": {"0.5": "a high level"}}}
    card = make_scorecard(claims=[claim("mini", "one", main=True)], settings=settings)
    said = " ".join(" ".join(report_lines(card)).split())
    assert "The main claim hangs on a guess of ours" in said
    assert "With a high level: 0 of 5" in said
    assert "With a high level: 0 of 5." in said
    assert "0.02 (guessed); also a high level" in markdown(card)


def test_a_graded_row_has_the_numbers_of_the_condition_that_it_names() -> None:
    """The second condition is missed at n = 2, and its numbers are a tenth of the first one's."""
    grade = {"axis": "size", "symbol": "n", "easiest_first": [1, 2], "primary": [1, 2]}
    first = {"kind": "reaches", "value": "distance", "at_most": 0.9, "from": "paper"}
    second = {"kind": "reaches", "value": "by_size", "at_most": 0.1, "from": "paper"}
    audit = one_claim(headline=[first, second], grade=grade)
    runs = {"own": [(0.02, 0.5)] * 15, "stays": [(0.02, 0.5)] * 5}
    card = card_of(audit, records_of(audit, runs))
    (row,) = texts_in(card)
    assert row.typical == "by size 0.020 at n = 1 and 0.50 at 2"


def test_a_question_of_ours_stands_apart_and_is_in_no_count(tmp_path: Path) -> None:
    asked = claim("mini", "asked", ours=True, headline=[aligns(1e-9)])
    card = make_scorecard(claims=[claim("mini", "one", main=True), asked])
    assert [one.outcome for one in card.claims] == ["supported", "not supported"]
    assert verdict(card) == ("The main claim holds: the distance vanishes.",)
    assert any(line.endswith("0 of 6, ours") for line in report_lines(card))
    for text in (markdown(card), html(card)):
        apart = text.index("Questions of ours")
        assert text.index("one") < apart < text.index("asked", apart)
    assert list(run_lines(card))[-1] == "1 claim: 1 supported."
    assert exit_code([card], frozenset({"not supported"})) == 0
    write_report(card, tmp_path)
    write_registers([card], tmp_path)
    register = json.loads((tmp_path / "paper" / "register.json").read_text())
    assert [one["id"] for one in register["papers"][0]["claims"]] == ["mini.one"]
    badges = (tmp_path / "paper" / "mini" / "badges").iterdir()
    assert [badge.stem for badge in badges] == ["mini.one"]


def test_failures_have_a_bullet_before_exceptions_of_what_holds() -> None:
    """Nine claims hold but for a coordinate, and a tenth does not: it is not among the counted."""
    size = {"axis": "size", "symbol": "n", "easiest_first": [1, 2], "primary": [1]}
    holds = {"headline": [ours(measurement="by_size")], "grade": size}
    fails = {"headline": [ours(0.001, measurement="by_size")], "grade": size}
    claims = [claim("mini", f"holds-{k}", **holds) for k in range(9)]
    audit = one_claim().model_dump(mode="json", by_alias=True, exclude_unset=True)
    del audit["claims"]
    made = make_audit(**{**audit, "claims": [*claims, claim("mini", "fails", **fails)]})
    runs = {"own": [(0.02, 0.5)] * 15, "stays": [(0.8, 0.8)] * 5, "built": [(0.0, 0.0)] * 5}
    found = sections(card_of(made, records_of(made, runs)))
    bullets = {bullet.claim for part in found for bullet in part.bullets}
    assert "fails" in bullets
    assert len(bullets - {""}) == 8


def test_claims_that_were_not_run_are_not_in_every_run() -> None:
    audit = make_audit(claims=[claim("mini", f"one-{k}") for k in range(9)])
    (part,) = sections(card_of(audit, []))
    assert part.bullets[-1].title == "1 more:"


def test_what_levels_answer_is_said_by_coordinate() -> None:
    grade = {"axis": "size", "symbol": "n", "easiest_first": [1, 2], "primary": [1, 2]}
    audit = one_claim(headline=[ours(measurement="by_size")], grade=grade)
    runs = {"own": [(0.02, 0.5)] * 15, "stays": [(0.02, 0.8)] * 5}
    card = card_of(audit, records_of(audit, runs))
    assert "it cannot be told at n = 1, does not hold at n = 2" in markdown(card)


def test_a_bullet_has_the_rows_numbers_without_the_worst_run() -> None:
    card = make_scorecard()
    said = " ".join(" ".join(report_lines(card)).split())
    first = texts_in(card)[0]
    assert f": {first.typical}, 0.1 allowed; control (stays): 0.79" in said
    assert "worst run" in first.effect
    assert first.typical == re.sub(", worst run [^;,]*|; .*", "", first.effect)


def test_the_register_names_the_choice_on_which_a_claim_hangs() -> None:
    card = make_scorecard()
    found = entry(card, Path("paper/mini"), Path("paper"))
    (depends,) = [one for one in found.claims if one.outcome == "depends"]
    (choice,) = found.hangs_on
    assert (choice.setting, choice.claims) == ("level", (depends.id,))
    assert found.clauses(choice) == depends.short


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
    said = " ".join(verdict(card_of(audit, broken, "smoke")))
    assert said == "The smoke tier judges nothing; runs of 4 claims failed."
    assert "every experiment runs" in verdict(make_scorecard(tier="smoke"))[0]


def test_a_grid_has_every_value_that_was_tried() -> None:
    card = make_scorecard()
    grid = grid_of(card)
    assert grid.values == ("level 0.04", "level 0.3")
    ((claim, own, said),) = grid.claims
    assert (claim.name, own, said) == ("guessed", "✓ 6/6", ("✓ 5/5", "✗ 0/5"))
