"""Exports of a scorecard: each names the files that go with it, and says what the page says."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
import yaml

from factories import make_scorecard
from miniatures import claim, setting
from reproaudit.errors import UsageError
from reproaudit.formats.scorecard import Scorecard
from reproaudit.report.export.registry import ExportRequest, exported
from reproaudit.report.pages import letter

ORCID = "0000-0002-1825-0097"


def no_records(tier: str) -> dict[str, bytes]:
    raise AssertionError(f"no other format asks for records, as of {tier}")


def files_of(folder: Path, form: str, **signed: object) -> dict[str, bytes]:
    audit = folder / "mini.yaml"
    audit.write_text("paper: {}\n")
    request = ExportRequest(make_scorecard, audit, no_records, **signed)  # type: ignore[arg-type]
    return dict(exported(form, request).files)


def test_a_crate_describes_each_of_its_files(tmp_path: Path) -> None:
    files = files_of(tmp_path, "ro-crate", license_url="https://spdx.org/licenses/CC-BY-4.0")
    metadata = json.loads(files.pop("ro-crate-metadata.json"))
    entities = {one["@id"]: one for one in metadata["@graph"]}
    assert {one["@id"] for one in entities["./"]["hasPart"]} == files.keys()
    for name, content in files.items():
        assert entities[name]["sha256"] == hashlib.sha256(content).hexdigest()
    assert make_scorecard().head.verdict[0] in entities["./"]["description"]
    with pytest.raises(UsageError, match="--license: found 'MIT'; expected an address"):
        files_of(tmp_path, "ro-crate", license_url="MIT")


def test_a_codecheck_is_signed_and_lists_its_files(tmp_path: Path) -> None:
    signed = {"codecheckers": ("A. Checker", "B. Other"), "orcids": (ORCID,)}
    files = files_of(tmp_path, "codecheck", certificate="2026-001", **signed)
    said = yaml.safe_load(files.pop("codecheck.yml"))
    assert [one["file"] for one in said["manifest"]] == list(files)
    assert said["codechecker"] == [{"name": "A. Checker", "ORCID": ORCID}, {"name": "B. Other"}]
    assert (said["certificate"], said["report"]) == ("2026-001", next(iter(files)))


def test_a_codecheck_is_of_the_version_whose_rules_it_keeps(tmp_path: Path) -> None:
    signed: dict[str, object] = {"codecheckers": ("A. Checker",), "certificate": "2026-001"}
    audit = tmp_path / "mini.yaml"
    audit.write_text("paper: {}\n")
    request = ExportRequest(make_scorecard, audit, no_records, **signed)  # type: ignore[arg-type]
    made = exported("codecheck", request)
    said = yaml.safe_load(made.files["codecheck.yml"])
    authors = make_scorecard().paper.authors
    assert said["version"].endswith("/1.0/")
    assert any(one.endswith("(--report-url)") for one in made.missing)
    assert any(authors[0] in one and "--author-orcid" in one for one in made.missing)

    def card() -> Scorecard:
        made = make_scorecard()
        paper = made.audit.paper.model_copy(update={"arxiv": "2401.00001"})
        return made.model_copy(update={"audit": made.audit.model_copy(update={"paper": paper})})

    signed["report"] = "https://doi.org/10.5281/zenodo.1"
    signed["author_orcids"] = (f"https://orcid.org/{ORCID}", *[ORCID] * (len(authors) - 1))
    made = exported("codecheck", ExportRequest(card, audit, no_records, **signed))  # type: ignore[arg-type]
    said = yaml.safe_load(made.files["codecheck.yml"])
    assert all(author["ORCID"] == ORCID for author in said["paper"]["authors"])
    assert made.missing == ()
    assert said["version"].endswith("/2.0/")


@pytest.mark.parametrize(
    ("signed", "says"),
    [
        ({}, "signed by the person who checked"),
        ({"codecheckers": ("A", " ")}, "found an empty name"),
        ({"codecheckers": ("A",), "orcids": (ORCID, ORCID)}, "found 2 for 1 codecheckers"),
        ({"codecheckers": ("A",), "orcids": ("0000-0002-1825-0098",)}, "does not fit the others"),
        ({"codecheckers": ("A",), "author_orcids": (ORCID,) * 99}, "--author-orcid: found 99 for"),
        ({"codecheckers": ("A",), "certificate": "1"}, "expected the register's number"),
        ({"codecheckers": ("A",), "report": "here"}, "--report-url: found 'here'"),
    ],
)
def test_what_is_signed_has_its_form(tmp_path: Path, signed: dict[str, object], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        files_of(tmp_path, "codecheck", **signed)


def test_a_letter_asks_what_answers_hang_on() -> None:
    """A reading that changes an answer is a question of its own, with what hangs on it."""
    stated = [{"value": 0.5, "source": "authors_code", "locator": "L. 1"}]
    settings = {"level": setting(0.02, readings=stated, words="level")}
    card = make_scorecard(
        claims=[claim("mini", "one", main=True, readings=["level"])], settings=settings
    )
    text = letter(card)
    assert " ".join(card.head.verdict) in text
    (question,) = card.head.questions
    assert f"1. {question.text}\n   - {question.evidence[0]}" in text
    assert f"⇄ **Main: the distance vanishes**: {card.head.claims[0].text}" in text


def test_a_letter_without_questions_says_so() -> None:
    card = make_scorecard(claims=[claim("mini", "one", main=True)])
    assert "left open by the paper" in letter(card)
