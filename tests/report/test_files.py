"""Pages as files: whole or not at all, and the same bytes again."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from factories import make_scorecard
from miniatures import audit_data, setting
from reproaudit.errors import StoreError
from reproaudit.records import Origin
from reproaudit.report.files import PAGES, json_data
from reproaudit.report.register import entry, register_csv
from reproaudit.scorecard.files import folder_of, read_scorecard
from reproaudit.service.pages import write_report


def test_a_scorecard_that_was_read_writes_the_same_bytes(tmp_path: Path) -> None:
    card = make_scorecard()
    first = {path.name: path.read_bytes() for path in write_report(card, tmp_path / "one")}
    assert first.keys() == {f"scorecard.{name}" for name in PAGES}
    read = read_scorecard(tmp_path / "one" / "paper" / "mini" / "scorecard.json")
    assert read == card
    again = {path.name: path.read_bytes() for path in write_report(read, tmp_path / "two")}
    assert again == first
    data = json.loads(first["scorecard.json"])
    assert [*data][:5] == ["schema_version", "slug", "tier", "head", "rows"]
    assert data["schema_version"] == 5
    (bound,) = data["audit"]["claims"][0]["headline"]
    assert (bound["from"], "origin" in bound, "standard" in bound) == ("paper", False, False)


@pytest.mark.parametrize("slug", ["..", "a/b", "", "A"])
def test_a_name_that_is_no_folder_is_in_no_scorecard(tmp_path: Path, slug: str) -> None:
    data = json_data(make_scorecard())
    data["audit"]["paper"]["slug"] = slug
    file = tmp_path / "scorecard.json"
    file.write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(StoreError, match=r"is no scorecard: audit\.paper\.slug"):
        read_scorecard(file)


def test_measurements_of_others_have_a_folder_of_their_own(tmp_path: Path) -> None:
    made = date(2026, 1, 2)
    origin = Origin(who="A. Author", source="a table", framework="a pen", made=made)
    card = make_scorecard().model_copy(update={"origin": origin})
    first = folder_of(card, tmp_path)
    assert first == tmp_path / "paper" / "mini" / "elsewhere" / "by_a_author_2026_01_02"
    write_report(card, tmp_path, ["md"])
    assert folder_of(card, tmp_path) == first, "the same measurements"
    first_claim = card.claims[0]
    run = first_claim.base.runs[0].model_copy(update={"seed": 9})
    base = first_claim.base.model_copy(update={"runs": (run, *first_claim.base.runs[1:])})
    other = first_claim.model_copy(update={"base": base})
    changed = card.model_copy(update={"claims": (other, *card.claims[1:])})
    assert folder_of(changed, tmp_path) == first.with_name(f"{first.name}_2")


def test_what_a_page_quotes_is_no_markup() -> None:
    hostile = (
        "<script>alert(1)</script> & | `x` ![p](http://evil.example/p.png) [t](javascript:a) "
        "\\[t](http://evil.example) [r] <http://evil.example> \\| ~~~"
    )
    defines = "[r]: http://evil.example"
    data = audit_data()
    says = {"says": hostile, "short": "![p](http://e)", "locator": hostile}
    claims = [{**one, **says} for one in data["claims"]]
    finding = {"id": "mini.f", "kind": "defect", "statement": defines, "sources": [hostile],
               "as_of": "2026-01-02"}  # fmt: skip
    paper = {**data["paper"], "title": hostile, "authors": [hostile], "venue": hostile}
    more = {"about": defines, "paper": paper, "claims": claims, "findings": [finding]}
    settings = {**data["settings"], "steps": setting(40, words=hostile)}
    card = make_scorecard(settings=settings, **more)
    html, text = PAGES["html"].render(card), PAGES["md"].render(card)
    assert "<script" not in html + text
    assert "evil.example/p.png" in text
    parser = MarkdownIt("commonmark").enable("table")
    inline = [token for block in parser.parse(text) for token in (block, *(block.children or ()))]
    assert {one.type for one in inline}.isdisjoint({"image", "html_inline", "html_block", "fence"})
    links = {str(one.attrs["href"]) for one in inline if one.type == "link_open"}
    assert links == {"scorecard.json", *(f"#{claim.name}" for claim in card.claims)}
    assert "://" not in text, "some readers make links of bare addresses"
    widths = {row.count("</td>") for row in parser.render(text).split("</tr>") if "<td" in row}
    assert widths <= {3, 4}, "a row of each table has as many cells as its head"


@pytest.mark.parametrize("begins", ["=", "+", "-", "@", "\t=", "\uff1d"])
def test_no_cell_of_the_register_is_a_formula(begins: str) -> None:
    who = f"{begins}HYPERLINK(1)"
    origin = Origin(who=who, source="a table", framework="f", made=date(2026, 1, 2))
    card = make_scorecard().model_copy(update={"origin": origin})
    paper = entry(card, Path("paper/mini"), Path("paper"))
    claim = {**paper["claims"][0], "text": f"{begins}1+1"}
    found = register_csv([{**paper, "claims": [claim]}])
    (_, row) = csv.reader(io.StringIO(found))
    assert [cell[:1] for cell in row[-2:]] == ["'", "'"]
    assert row[5:7] == [str(claim["yes"]), str(claim["n"])]


def figure_of(data: dict[str, Any]) -> dict[str, Any]:
    figure: dict[str, Any] = data["figures"]["mini.supported"]
    return figure


def guessed(data: dict[str, Any]) -> dict[str, Any]:
    answer: dict[str, Any] = next(one for one in data["claims"] if one["id"] == "mini.guessed")
    return answer


MISSTATED: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "no lines": (lambda d: figure_of(d).update(lines=[]), r"lines: .*at least 1"),
    "no runs": (lambda d: figure_of(d)["lines"][0].update(runs=[]), r"runs: .*at least 1"),
    "a run cut short": (lambda d: figure_of(d)["lines"][0]["runs"][0].pop(), "a number of each"),
    "an endless axis": (
        lambda d: figure_of(d)["lines"][0].update(
            x=[-1e308, *figure_of(d)["lines"][0]["x"][1:-1], 1e308]
        ),
        "finite distance",
    ),
    "an infinite bound": (lambda d: figure_of(d)["levels"][0].update(at=1e999), "finite numbers"),
    "a figure of nothing": (
        lambda d: d["figures"].update(other=figure_of(d)),
        "a figure of the unknown claim 'other'",
    ),
    "no own runs": (
        lambda d: guessed(d)["base"].update(role="alternative"),
        "no runs of the claim's own",
    ),
    "nothing to depend on": (lambda d: guessed(d).update(alternatives=[]), "mini.guessed depends"),
    "an unknown arm": (
        lambda d: guessed(d)["reasons"][0].update(arm="other"),
        "about the unknown arm 'other'",
    ),
    "an unknown condition": (
        lambda d: guessed(d)["reasons"].append({"kind": "our bound", "place": 7}),
        "about condition 7 of 1",
    ),
    "an unknown number": (
        lambda d: guessed(d)["base"]["estimates"][0].update(name="other"),
        "other checks than its audit's",
    ),
    "an unknown experiment": (
        lambda d: d["audit"]["claims"][0].update(experiment="other"),
        "unknown experiment 'other'",
    ),
}


@pytest.mark.parametrize(("misstate", "says"), MISSTATED.values(), ids=MISSTATED)
def test_what_no_judge_writes_is_refused_in_a_line(
    tmp_path: Path, misstate: Callable[[dict[str, Any]], Any], says: str
) -> None:
    data = json.loads(PAGES["json"].render(make_scorecard()))
    misstate(data)
    (tmp_path / "scorecard.json").write_text(json.dumps(data).replace("Infinity", "1e999"))
    with pytest.raises(StoreError, match=rf"^[^\n]*is no scorecard: [^\n]*{says}[^\n]*$"):
        read_scorecard(tmp_path)
