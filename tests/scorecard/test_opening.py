"""The opening of a scorecard's file is read without the rest, and knows what it was made of."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from factories import make_records
from miniatures import write_paper
from reproaudit.audit.catalog import entry_of
from reproaudit.formats.scorecard import Scorecard
from reproaudit.report.files import json_text
from reproaudit.scorecard.answers import scorecard_of_store
from reproaudit.scorecard.opening import digest_of_file, digest_of_records, read_opening, tiers_of
from reproaudit.store.records import Store


@pytest.fixture
def written(tmp_path: Path) -> tuple[Path, Store, Scorecard]:
    """A paper's scorecard in a file, made of the records of a store."""
    entry = entry_of(write_paper(tmp_path / "audits") / "mini.yaml")
    store = Store(tmp_path / "runs")
    for record in make_records(entry.audit()):
        store.write(record)
    card = scorecard_of_store(entry, entry.audit(), "paper", store)
    file = tmp_path / "scorecard.json"
    file.write_text(json_text(card), encoding="utf-8")
    return file, store, card


def test_an_opening_has_the_counts_and_what_it_was_made_of(
    written: tuple[Path, Store, Scorecard], tmp_path: Path
) -> None:
    file, store, card = written
    opening = read_opening(file)
    assert opening is not None
    assert (opening.slug, opening.tier) == ("mini", "paper")
    assert opening.head["counts"]["paper"] == {
        one.value: n for one, n in card.head.counts.paper.items()
    }
    assert opening.head["title"] == "The paper mini"
    assert card.inputs is not None
    assert opening.inputs == card.inputs.model_dump(exclude_unset=True)
    records = digest_of_records(store.root, "mini", tiers_of("paper"))
    assert records == opening.inputs["records"] != ""
    audit = tmp_path / "audits" / "mini.yaml"
    assert digest_of_file(audit) == opening.inputs["audit"]
    audit.write_text(f"{audit.read_text()}\n# changed", encoding="utf-8")
    assert digest_of_file(audit) != opening.inputs["audit"]
    next(store.files("mini", "paper")).unlink()
    assert digest_of_records(store.root, "mini", tiers_of("paper")) != records


def test_an_opening_reads_no_more_than_the_head(written: tuple[Path, Store, Scorecard]) -> None:
    file, _, _ = written
    text = file.read_text(encoding="utf-8")
    cut = text[: text.index('"rows"') + 20]
    file.write_text(cut, encoding="utf-8")
    assert read_opening(file) is not None
    file.write_text(text[:200], encoding="utf-8")
    assert read_opening(file) is None, "its head is not whole"
    file.write_text(text.replace('"schema_version": 5', '"schema_version": 4'), encoding="utf-8")
    assert read_opening(file) is None
    assert read_opening(file.with_name("absent.json")) is None


@pytest.mark.parametrize(
    ("found", "instead"),
    [
        ('"documented": {', '"documented": null, "was": {'),
        ('"inputs": {', '"inputs": 3, "were": {'),
        ('"title": "The paper mini"', '"title": ["The paper mini"]'),
        ('"claims": [', '"claims": [7, '),
        ('"counts": {', '"counts": [], "were": {'),
    ],
)
def test_an_opening_of_another_shape_is_none(
    found: str, instead: str, written: tuple[Path, Store, Scorecard]
) -> None:
    file, _, _ = written
    text = file.read_text(encoding="utf-8")
    assert found in text
    file.write_text(text.replace(found, instead, 1), encoding="utf-8")
    assert read_opening(file) is None


def test_an_opening_needs_no_model_and_no_numpy() -> None:
    code = (
        "import sys, reproaudit.scorecard.opening as opening; from pathlib import Path;"
        "opening.read_opening(Path('absent'));"
        "print({'numpy', 'pydantic', 'reproaudit.judge', 'reproaudit.formats'} & {*sys.modules})"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "set()"
