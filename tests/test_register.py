"""The register: its contract, what is kept and what is written anew, badges, table and picture."""

from __future__ import annotations

import csv
import html
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import factories
import rendering
from rendering import register_of
from reproaudit.errors import StoreError
from reproaudit.judging.model import Verdict
from reproaudit.reports.files import write_report
from reproaudit.reports.register.model import PaperEntry, Register
from reproaudit.reports.register.page import register_page
from reproaudit.reports.register.plot import BOTTOM, FEWEST_FOR_MEAN, MOST_LABELLED, TOP, panels
from reproaudit.reports.register.strip import strip_entry
from reproaudit.reports.register.table import REGISTER_COLUMNS, register_csv
from reproaudit.reports.register.writing import refresh_register, write_register
from reproaudit.scorecard.elsewhere import OriginModel
from reproaudit.scorecard.model import Scorecard
from reproaudit.scorecard.verdicts import EVIDENCE, VERDICTS
from reproaudit.stats import wilson

DOCUMENTED = (Path(__file__).parents[1] / "docs" / "register.md").read_text(encoding="utf-8")
ORIGIN = OriginModel(
    who="=Ben Sample", source="logs", framework="JAX", made="2026-11-02", settings={}, absent=()
)


@pytest.fixture(scope="module")
def card() -> Scorecard:
    return factories.make_scorecard()


@pytest.fixture
def out(card: Scorecard, tmp_path: Path) -> Path:
    """A report folder with two papers, one of them measured elsewhere, too; no register yet."""
    for one in (card, factories.make_scorecard("toy_two"), elsewhere(card)):
        write_report(one, tmp_path, ["html", "json"])
    return tmp_path


def elsewhere(card: Scorecard) -> Scorecard:
    return card.model_copy(update={"origin": ORIGIN})


def written(out: Path) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((out / "paper" / "register.json").read_text())
    return data


def files_below(folder: Path) -> dict[str, bytes]:
    found = sorted(folder.rglob("*"))
    return {f.relative_to(folder).as_posix(): f.read_bytes() for f in found if f.is_file()}


# --- the contract -------------------------------------------------------------------------------


def models(schema: dict[str, Any]) -> Iterator[tuple[str, list[str]]]:
    for name, model in {"Register": schema, **schema["$defs"]}.items():
        if "properties" in model:
            yield name, list(model["properties"])


def test_every_key_of_the_contract_is_documented() -> None:
    for name, keys in models(Register.model_json_schema(mode="serialization")):
        rows = re.search(rf"^### `{name}`\n(.*?)(?=^#|\Z)", DOCUMENTED, re.MULTILINE | re.DOTALL)
        assert rows is not None, f"docs/register.md has no section `{name}`"
        told = re.findall(r"^\| `(\w+)` \|", rows[1], re.MULTILINE)
        assert told == keys, name


def test_every_column_of_the_table_is_documented() -> None:
    (line,) = re.findall(r"^Its columns: (.*?)\.$", DOCUMENTED, re.MULTILINE | re.DOTALL)
    assert re.findall(r"`(\w+)`", line) == list(REGISTER_COLUMNS)


def test_the_register_keeps_its_contract(out: Path, card: Scorecard) -> None:
    write_register([card], out)
    data = written(out)
    assert data["schema_version"] == 2
    register = Register.model_validate(data)
    assert register.as_data() == data
    assert [one.slug for one in register.papers] == ["toy", "toy_two"]
    paper = register.papers[0]
    assert paper.doi == "10.48550/arXiv.2301.00001"
    assert paper.ours is not None
    assert paper.ours.origin is None
    assert [one.origin.who for one in paper.elsewhere if one.origin] == ["=Ben Sample"]
    assert {one.verdict for one in paper.ours.claims} == set(VERDICTS)
    assert sum(paper.ours.verdicts.values()) == len(card.claims)
    for mine, given in zip(paper.ours.claims, card.claims, strict=True):
        assert (mine.id, mine.verdict, mine.estimate) == (given.id, given.verdict, given.estimate)
        assert mine.interval == given.interval
        assert [one.setting for one in mine.hangs_on] == [one.setting for one in given.hangs_on]
    assert any(one.hangs_on for one in paper.ours.claims)


def test_every_link_of_the_register_leads_somewhere(out: Path, card: Scorecard) -> None:
    write_register([card], out)
    for paper in Register.model_validate(written(out)).papers:
        assert paper.badge is not None
        links = [paper.badge]
        for measured in paper.measured:
            links += [measured.page, measured.scorecard]
            links += [link for one in measured.claims for link in (one.page, one.badge) if link]
        for link in links:
            target, _, anchor = link.partition("#")
            text = (out / "paper" / target).read_text(encoding="utf-8")
            assert not anchor or f'id="{anchor}"' in text


def test_a_foreign_scorecard_is_refused_in_one_line(out: Path, card: Scorecard) -> None:
    broken = card.model_copy(update={"paper": {**card.paper, "slug": "odd", "year": "soon"}})
    with pytest.raises(StoreError, match="odd: its scorecard has no title") as caught:
        write_register([broken], out)
    assert "\n" not in str(caught.value)


def test_a_claim_whose_id_is_no_file_name_has_no_badge(tmp_path: Path, card: Scorecard) -> None:
    claim = card.claims[0].model_copy(update={"id": "../../outside"})
    write_register([card.model_copy(update={"claims": (claim,)})], tmp_path)
    assert Register.model_validate(written(tmp_path)).papers[0].measured[0].claims[0].badge is None
    assert not list((tmp_path / "paper" / "toy").glob("badges/*"))


# --- what is in the folder ----------------------------------------------------------------------


def test_a_register_is_written_again_from_what_is_in_the_folder(out: Path, card: Scorecard) -> None:
    write_register([card], out)
    before = files_below(out / "paper")
    assert refresh_register(out, "paper") == (out / "paper" / "index.html",)
    assert files_below(out / "paper") == before
    other = factories.make_scorecard("toy_two")
    write_report(other.model_copy(update={"claims": other.claims[:2]}), out, ["json"])
    refresh_register(out, "paper")
    badges = {file.name for file in (out / "paper" / "toy_two" / "badges").iterdir()}
    assert badges == {f"{claim.id}.svg" for claim in other.claims[:2]}
    assert len(written(out)["papers"][1]["ours"]["claims"]) == 2


def test_a_damaged_scorecard_is_told_of_though_an_entry_was_kept(
    out: Path, card: Scorecard
) -> None:
    write_register([card], out)
    file = out / "paper" / "toy_two" / "scorecard.json"
    file.write_text(file.read_text().replace('"supported"', '"contradicted"', 1))
    with pytest.raises(StoreError, match="damaged or edited"):
        refresh_register(out, "paper")


def test_a_paper_that_is_gone_leaves_the_register(out: Path, card: Scorecard) -> None:
    write_register([card], out)
    for name in ("scorecard.json", "scorecard.html"):
        (out / "paper" / "toy_two" / name).unlink()
    refresh_register(out, "paper")
    assert [one["slug"] for one in written(out)["papers"]] == ["toy"]


def test_scorecards_in_memory_and_from_files_give_the_same_register(
    card: Scorecard, tmp_path: Path
) -> None:
    for name in ("a", "b"):
        write_report(card, tmp_path / name, ["html", "json"])
    write_register([card], tmp_path / "a")
    (tmp_path / "b" / "paper" / "index.html").write_text("an older one")
    refresh_register(tmp_path / "b", "paper")
    assert files_below(tmp_path / "a") == files_below(tmp_path / "b")


# --- badges, table, page, picture -----------------------------------------------------------------


def test_badges_say_verdict_and_scale(tmp_path: Path) -> None:
    card = factories.make_scorecard(tier="quick")
    write_register([card], tmp_path)
    folder = tmp_path / "quick" / "toy"
    for claim in card.claims:
        badge = ElementTree.fromstring((folder / "badges" / f"{claim.id}.svg").read_text())
        assert badge.get("aria-label") == f"{claim.id}: {claim.headline}"
        widths = [float(one.get("width", 0)) for one in badge.findall(".//{*}rect")]
        assert sum(widths) == float(badge.get("width", 0))
    paper = ElementTree.fromstring((folder / "badge.svg").read_text()).get("aria-label", "")
    assert paper.startswith("toy, quick tier: ")
    assert "supported at reduced scale" in paper


def test_the_table_has_a_row_for_each_claim_and_no_formula(out: Path, card: Scorecard) -> None:
    claim = card.claims[0].model_copy(update={"statement": '=HYPERLINK("x")\n,"y"'})
    write_register([card.model_copy(update={"claims": (claim, *card.claims[1:])})], out)
    text = (out / "paper" / "register.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == 3 * len(card.claims)
    assert rows[0]["statement"] == '\'=HYPERLINK("x") ,"y"'
    assert {row["measured_by"] for row in rows} == {"reproaudit", "'=Ben Sample"}
    assert float(rows[0]["estimate"]) == claim.estimate
    assert {row["verdict"] for row in rows} == {one.value for one in VERDICTS}
    for row in rows:
        assert not any(cell.startswith(("=", "+", "@", "\t", "\r")) for cell in row.values())


def test_the_page_allows_its_own_script_alone(card: Scorecard) -> None:
    page = register_page(register_of([card]))
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    assert "default-src 'none'" in policy
    assert re.search(r"script-src 'sha256-[A-Za-z0-9+/]{43}='", policy)
    assert "unsafe-inline" not in policy.partition("script-src")[2]
    assert not re.search(r' on[a-z]+="', page)
    assert page.count("<script") == 1


# --- strips ---------------------------------------------------------------------------------------


def test_a_paper_has_a_strip(card: Scorecard) -> None:
    strip = strip_entry(card, "toy/scorecard.html")
    assert strip is not None
    assert strip.claim == "toy.converges"
    assert f'id="{strip.page.partition("#")[2]}"' in rendering.render_html(card)
    assert len(strip.lines) == 3
    page = register_page(register_of([card]))
    assert page.count('<svg class="chart strip"') == 1
    assert f'aria-label="toy.converges: {strip.caption}"' in html.unescape(page)


def test_a_paper_without_pictures_has_no_strip(card: Scorecard) -> None:
    bare = [one.model_copy(update={"pictures": ()}) for one in card.claims]
    without = card.model_copy(update={"claims": tuple(bare)})
    assert strip_entry(without, "") is None
    assert "At a glance" not in register_page(register_of([without]))


def test_a_picture_that_cannot_be_drawn_is_no_strip(card: Scorecard) -> None:
    claim = next(one for one in card.claims if one.pictures)
    empty = claim.pictures[0].lines[0].model_copy(update={"runs": ()})
    drawn = claim.pictures[0].model_copy(update={"lines": (empty,)})
    odd = claim.model_copy(update={"pictures": (drawn,)})
    assert strip_entry(card.model_copy(update={"claims": (odd,)}), "") is None


def many(count: int) -> list[PaperEntry]:
    """Papers of one documentation score, of which more and more claims are supported."""
    (paper,) = register_of([factories.make_scorecard()]).papers
    assert paper.ours is not None
    tested = paper.ours.coverage.tested
    return [
        paper.model_copy(
            update={
                "slug": f"paper{n}",
                "ours": paper.ours.model_copy(update={"verdicts": {Verdict.SUPPORTED.value: n}}),
            }
        )
        for n in range(min(count, tested + 1))
    ]


def test_the_picture_has_wilsons_intervals_and_a_mean_from_enough_papers() -> None:
    papers = many(FEWEST_FOR_MEAN)
    assert papers[0].ours is not None
    tested = papers[0].ours.coverage.tested
    reviewed, by_card = panels(papers)
    assert len(reviewed.dots) == len(by_card.dots) == FEWEST_FOR_MEAN
    for n, dot in enumerate(reviewed.dots):
        interval = wilson(n, tested)
        height = BOTTOM - TOP
        assert dot.y == pytest.approx(BOTTOM - height * n / tested, abs=0.06)
        assert dot.low == pytest.approx(BOTTOM - height * interval.low, abs=0.06)
        assert dot.high == pytest.approx(BOTTOM - height * interval.high, abs=0.06)
        assert f"{n} of {tested} tested claims supported" in dot.said
    assert len({dot.x for dot in reviewed.dots}) == FEWEST_FOR_MEAN, "none hides another"
    (mean,) = reviewed.means
    assert mean.high < mean.y < mean.low <= BOTTOM
    assert f"mean of the {FEWEST_FOR_MEAN} papers" in reviewed.description
    assert panels(many(FEWEST_FOR_MEAN - 1))[0].means == ()


def test_many_papers_are_named_in_the_list_alone() -> None:
    (one, *_) = many(1)
    some, more = ([one.model_copy(update={"slug": f"p{n}"}) for n in range(k)]
                  for k in (3, MOST_LABELLED + 1))  # fmt: skip
    assert all(dot.name_at for dot in panels(some)[0].dots)
    assert not any(dot.name_at for dot in panels(more)[0].dots)
    page = register_page(Register(tier="paper", papers=tuple(more)))
    assert page.count("<li data-follows=") == len(more)


def test_papers_without_tested_claims_have_no_place_in_the_picture() -> None:
    smoke = register_of([factories.make_scorecard(tier="smoke")])
    assert panels(smoke.papers) == ()
    assert "Documentation beside outcome" not in register_page(smoke)


def test_the_page_explains_every_word(card: Scorecard) -> None:
    page = html.unescape(register_page(register_of([card])))
    for row in VERDICTS.values():
        assert row.meaning in page
    for said in EVIDENCE.values():
        assert said in page


def test_the_table_of_an_empty_register_is_its_head() -> None:
    assert register_csv(()) == ",".join(REGISTER_COLUMNS) + "\n"
