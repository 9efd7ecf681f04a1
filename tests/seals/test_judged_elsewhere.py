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
from reproaudit.judging.submissions.writing import write_submission


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
    assert "Reason given: too strict." in " ".join(shown["history"])


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
    assert "Not asked for" not in judge(place)[1]


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
