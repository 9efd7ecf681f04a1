"""Several papers in a run: which is first, and each verdict when its cells have records."""

from pathlib import Path

import pytest

from cells import cell, locate
from miniatures import write_paper
from reproaudit.audit.catalog import Catalog, Entry
from reproaudit.audit.model import Audit
from reproaudit.errors import StoreError
from reproaudit.run.cells import run_cells
from reproaudit.run.events import CellFinished, Event, PaperFinished, PlanReady
from reproaudit.service import run as running
from reproaudit.service.run import How, Papers, cheapest_first, run_papers
from reproaudit.service.workspace import Workspace
from reproaudit.store.records import Store

pytestmark = pytest.mark.usefixtures("measured_here")


@pytest.fixture
def papers(tmp_path: Path) -> Papers:
    for slug in ("first", "second"):
        write_paper(tmp_path / "audits", slug)
    entries = Catalog(tmp_path / "audits")
    return [(entries[slug], entries[slug].audit()) for slug in ("first", "second")]


def test_a_paper_has_finished_with_its_last_cell_or_with_the_plan(tmp_path):
    store = Store(tmp_path / "runs")
    events: list[Event] = []
    cells = [cell(seed=0), cell("broken")]
    summary = run_cells(cells, locate, store, on_event=events.append)
    assert events[-1] == PaperFinished("toy2020", summary.planned["toy2020"])
    assert isinstance(events[-2], CellFinished)
    events.clear()
    run_cells(cells[:1], locate, store, on_event=events.append)
    assert [type(event) for event in events[-2:]] == [PlanReady, PaperFinished]


def test_each_paper_is_judged_while_the_next_is_still_to_be_run(papers, tmp_path):
    store = Store(tmp_path / "runs")
    seen = []

    def look(card: running.Scorecard) -> None:
        records = len(list(store.records("second", "smoke")))
        seen.append((card.paper.slug, card.records.completed, records))

    ran = run_papers(papers, "smoke", How(store, jobs=1), on_card=look)
    assert seen == [("first", 7, 0), ("second", 7, 7)]
    assert [card.paper.slug for card in ran.scorecards] == ["first", "second"]
    assert ran.failed == 0


def test_a_paper_that_cannot_be_judged_stops_no_other(papers, tmp_path, monkeypatch):
    judge = running.scorecard_of_store

    def damaged(entry: Entry, *arguments: object, **more: object) -> running.Scorecard:
        if entry.slug == "first":
            raise StoreError("no record")
        return judge(entry, *arguments, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(running, "scorecard_of_store", damaged)
    seen: list[str] = []
    how = How(Store(tmp_path / "runs"), jobs=1)
    with pytest.raises(StoreError, match="no record"):
        run_papers(papers, "smoke", how, on_card=lambda card: seen.append(card.paper.slug))
    assert seen == ["second"]


def test_the_cheapest_paper_by_shipped_records_is_the_first(papers, monkeypatch):
    def seconds(costs: dict[str, float]) -> None:
        def of_a_run(entry: Entry, _audit: Audit) -> float | None:
            return costs.get(entry.slug)

        monkeypatch.setattr(running, "seconds_of_a_shipped_run", of_a_run)

    for costs, order in (
        ({"first": 2.0, "second": 1.0}, ["second", "first"]),
        ({"second": 9.0}, ["second", "first"]),
        ({}, ["first", "second"]),
    ):
        seconds(costs)
        assert [entry.slug for entry, _ in cheapest_first(papers, "quick")] == order


def test_shipped_papers_have_a_cost():
    catalog = Catalog()
    costs = [
        running.seconds_of_a_shipped_run(catalog[slug], catalog[slug].audit())
        for slug in catalog.entries
    ]
    assert all(cost is not None and cost > 0 for cost in costs)


def test_an_audit_without_claims_has_nothing_to_run(tmp_path, cli):
    audits = write_paper(tmp_path / "audits", claims=[])
    where = ["--audits", str(audits), "--store", str(tmp_path / "runs")]
    assert "mini · reduced scale · 0 runs" in cli("run", "mini", *where).out


def test_all_papers_are_printed_as_they_end_and_kept_in_the_order_of_their_names(
    papers, tmp_path, monkeypatch, cli
):
    entries = tuple(entry for entry, _ in papers)
    costs = {"first": 2.0, "second": 1.0}
    monkeypatch.setattr(Workspace, "select", lambda *_: entries)
    monkeypatch.setattr(running, "seconds_of_a_shipped_run", lambda entry, _: costs[entry.slug])
    where = ["--audits", str(tmp_path / "audits"), "--store", str(tmp_path / "runs")]
    lines = cli("run", "--all", *where).out.splitlines()
    heads = [line.partition(" · ")[0] for line in lines if " · reduced scale · " in line]
    assert heads == ["second", "first"]
    assert any(line.startswith("8 claims: ") for line in lines)
    cards = cli("run", "--all", "--json", *where).data
    assert [card["audit"]["paper"]["slug"] for card in cards] == ["first", "second"]
