"""Measurements from elsewhere, judged by a rule whose chain of seals knows other results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from chains import commit
from places import PAPER, Place

from measured import every_run, everything
from reproaudit import judge_measurements
from reproaudit.api import open_audit
from reproaudit.cli import run_command
from reproaudit.elsewhere.in_memory import write_submission


@pytest.fixture
def place(at: Place) -> Place:
    """A paper that was run and missed its bound, and runs from elsewhere, a little better."""
    at.edit("mini.yaml", "at_most: 0.1\n", "at_most: 0.015\n")
    assert at(*PAPER)[0] == 0
    commit(at.folder, "run")
    audit = open_audit(at.audits / "mini.yaml")
    runs = [one for one in every_run(0.02) if one.experiment == "descent"]
    write_submission(at.folder / "theirs", audit, runs, settings=everything(audit))
    return at


def judge(place: Place, *more: str) -> tuple[int, str, str]:
    return place("judge", "mini", "--measurements", str(place.folder / "theirs"), *more)


def first(place: Place) -> dict[str, Any]:
    code, out, errors = judge(place, "--json")
    assert code == 0, errors
    found: dict[str, Any] = json.loads(out)["claims"][0]
    return found


def test_a_bound_that_was_loosened_after_our_result_is_told(place: Place) -> None:
    """The defect: `judge` took the loosened bound, and knew of no chain of seals."""
    assert first(place)["decision"] == "missed"
    place.edit("mini.yaml", "at_most: 0.015\n", "at_most: 0.1\n")
    shown = first(place)
    assert (shown["verdict"], shown["status"]) == ("supported", "exploratory")
    told = " ".join(shown["history"])
    assert "Changed, and not sealed: tolerance of part 'distance' of mini.supported" in told
    assert "The audit's own seeds, recorded on " in told
    assert "0.015 → 0.1" in told
    assert "Warning: Changed, and not sealed" in judge(place)[1]
    assert place("seal", "mini", "--why", "too strict")[0] == 0
    shown = first(place)
    assert shown["looks"] >= 1
    assert "0.015 → 0.1" in " ".join(shown["history"])
    assert "Reason given: “too strict”." in " ".join(shown["history"])


def test_the_interface_of_python_tells_the_same(place: Place) -> None:
    place.edit("mini.yaml", "at_most: 0.015\n", "at_most: 0.1\n")
    card = judge_measurements(place.audits / "mini.yaml", place.folder / "theirs")
    assert list(card.claims[0].history) == first(place)["history"]


def test_a_chain_that_was_taken_away_is_refused(place: Place) -> None:
    place.file.unlink()
    assert "mini.jsonl" in place.refused(
        "judge", "mini", "--measurements", f"{place.folder}/theirs"
    )


def test_reports_for_machines_say_whose_measurements_they_are(place: Place, tmp_path: Path) -> None:
    """The defect: a suite of test cases looked like our own run, and had no warning."""
    place.edit("mini.yaml", "at_most: 0.015\n", "at_most: 0.1\n")
    file = tmp_path / "junit.xml"
    assert judge(place, "--junit", str(file))[0] == 0
    text = file.read_text()
    assert 'name="mini (paper), measured by not stated, not ours"' in text
    assert "warning: Changed, and not sealed" in text
    assert "Measurements from elsewhere, not ours" in text


def test_an_audit_without_its_chain_is_told(
    place: Place, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The defect: a copy of the audit, loosened, gave a page under the paper's own name."""
    said = "No chain of seals tells whether this rule was changed after results"
    assert said not in judge(place)[1]
    theirs = place.folder / "theirs"
    card = judge_measurements(open_audit(place.audits / "mini.yaml"), theirs)
    assert [one.history[-1] for one in card.claims] == [f"{said}."] * len(card.claims)
    copy = tmp_path_factory.mktemp("copy")
    for name in ("mini.yaml", "mini.py"):
        (copy / name).write_bytes((place.audits / name).read_bytes())
    card = judge_measurements(copy / "mini.yaml", theirs)
    assert f"{said}." in card.claims[0].history


def test_claims_that_were_not_asked_for_are_told(place: Place) -> None:
    """The defect: the page of one good claim said that one of one was tested."""
    shown = judge(place, "--claim", "mini.supported")[1]
    assert "Not asked for, and not judged, were other claims: mini." in " ".join(shown.split())
    assert "1 of 4 listed claims tested (1 audited, 3 not asked for, 0 not)" in shown
    assert "Not asked for" not in judge(place)[1]


def page(place: Place, *more: str) -> dict[str, Any]:
    """The scorecard that is written to the report folder for these measurements."""
    code, out, errors = judge(place, "--out", str(place.folder / "reports"), "--json", *more)
    assert code == 0, errors
    found: dict[str, Any] = json.loads(out)
    return found


def pages(place: Place) -> list[str]:
    return sorted(one.name for one in (place.folder / "reports/paper/mini/elsewhere").iterdir())


def test_fewer_claims_of_the_same_measurements_have_a_page_of_their_own(place: Place) -> None:
    """The defect: the page of one good claim replaced that of all of them."""
    whole = page(place)
    (first,) = pages(place)
    told = page(place, "--claim", "mini.supported")["origin"]["remarks"][-1]
    assert pages(place) == [first, f"{first}_2"]
    assert told.startswith("These same measurements, by not stated of ")
    assert f"stand beside, in paper/mini/elsewhere/{first}: " in told
    page(place)
    assert pages(place) == [first, f"{first}_2"], "each is judged again in its own place"
    kept = place.folder / "reports/paper/mini/elsewhere" / first / "scorecard.json"
    assert len(json.loads(kept.read_text())["claims"]) == len(whole["claims"]) > 1


def test_measurements_under_another_name_are_told(place: Place) -> None:
    """The defect: the same numbers, handed in by two people, knew nothing of each other."""
    page(place)
    (first,) = pages(place)
    manifest = place.folder / "theirs" / "manifest.json"
    stated = json.loads(manifest.read_text())
    manifest.write_text(json.dumps({**stated, "who": "another group"}))
    assert f"stand beside, in paper/mini/elsewhere/{first}" in page(place)["origin"]["remarks"][-1]
    assert pages(place) == ["by_another_group" + first.removeprefix("by_not_stated"), first]


def test_a_page_of_a_copied_audit_says_so_beside_ours(
    place: Place, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The defect: a loosened copy gave a page in our report folder, which no report questioned."""
    reports = str(place.folder / "reports")
    assert place("report", "mini", "--tier", "paper", "--out", reports)[0] == 0
    said = "Judged by another rule than our own scorecard of this claim: checks"
    assert said not in (place.folder / "reports/paper/register.csv").read_text()
    copy = tmp_path_factory.mktemp("copy")
    for name in ("mini.yaml", "mini.py"):
        (copy / name).write_bytes((place.audits / name).read_bytes())
    audit = copy / "mini.yaml"
    audit.write_text(audit.read_text().replace("at_most: 0.015\n", "at_most: 0.1\n"))
    judging = ["judge", "mini", "--measurements", str(place.folder / "theirs"), "--out", reports]
    assert run_command([*judging, "--audits", str(copy), "--store", str(copy / "runs")]) == 0
    (theirs,) = pages(place)
    card = json.loads(
        (place.folder / "reports/paper/mini/elsewhere" / theirs / "scorecard.json").read_text()
    )
    assert card["claims"][0]["verdict"] == "supported"
    assert place("report", "mini", "--tier", "paper", "--out", reports)[0] == 0
    assert said in (place.folder / "reports/paper/register.csv").read_text()
    assert said in (place.folder / "reports/paper/index.html").read_text()


def test_controls_of_other_claims_are_held_against_theirs_too(place: Place) -> None:
    """The defect: only `report` told of models without the mechanism that meet every part."""
    place.edit("mini.yaml", "at_most: 0.015\n", "at_most: 0.1\n")
    place.edit("mini.yaml", "    why: ends at 0.03\n", "    why: ends at 0.03\n    scale: same\n")
    told = [one for one in first(place)["history"] if "controls of other claims" in one]
    assert told == [
        "Models that are controls of other claims meet every part of this one: level = 0.03."
    ]


def test_a_link_in_place_of_the_module_confirms_nothing(at: Place) -> None:
    """The defect: what the link led to was in no commit, and the claim was called confirmed."""
    module = at.audits / "mini.py"
    hidden = at.folder / "runs" / "mini.py"  # which git ignores
    hidden.parent.mkdir()
    module.rename(hidden)
    module.symlink_to(hidden)
    commit(at.folder, "a link")
    assert at("seal", "mini")[0] == 0
    commit(at.folder, "seal")
    assert "mini.py differs from the commit" in at.refused(*PAPER, "--confirm")
