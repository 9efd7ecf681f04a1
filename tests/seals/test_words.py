"""Words of a chain that somebody edited, and runs that another name of an audit had begun."""

from __future__ import annotations

import json
from typing import Any

import pytest
from chains import commit
from places import PAPER, Place

from reproaudit.commands import run
from reproaudit.errors import UsageError
from reproaudit.reports.warning import OTHER_AUDITS, WITHOUT_RECORDS
from reproaudit.seals.entries import hash_of, line_of, parsed_entry


def cut_off(at: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run of the paper tier that ends before any result is recorded."""

    def ended(*_others: Any, **_more: Any) -> None:
        raise UsageError("cut off")

    with monkeypatch.context() as patched:
        patched.setattr(run, "run_now", ended)
        assert "cut off" in at.refused(*PAPER)
    commit(at.folder, "cut off")


@pytest.mark.parametrize(
    "words",
    [[], [{"what": "at_most: 0.5 → 0.2"}]],
    ids=["none", "others"],
)
def test_a_change_is_told_by_its_values_whatever_its_words_say(
    at: Place, monkeypatch: pytest.MonkeyPatch, words: list[dict[str, str]]
) -> None:
    """The defect: a seal whose words were struck out told of no change, and counted as no look."""
    cut_off(at, monkeypatch)
    at.edit("mini.yaml", "at_most: 0.1\n", "at_most: 0.2\n")
    assert at("seal", "mini", "--why", "looser")[0] == 0
    *others, last = at.file.read_bytes().splitlines(keepends=True)
    edited = json.loads(last) | {"what": [{"claims": ["mini.supported"], **one} for one in words]}
    forged = parsed_entry(json.dumps(edited).encode())
    forged = forged.model_copy(update={"hash": hash_of(forged)})
    at.file.write_bytes(b"".join([*others, line_of(forged) + b"\n"]))
    commit(at.folder, "looser")
    shown = at.card(*PAPER)
    assert shown["looks"] == 1
    assert any("at_most: 0.1 → 0.2" in one for one in shown["history"]), shown["history"]
    assert not any("0.5" in one for one in shown["history"])


def test_a_seal_that_is_called_reconstructed_is_refused(at: Place) -> None:
    """The defect: it was taken for a change that git tells of, with a date of its choice."""
    assert at("seal", "mini", "--why", "sealed")[0] == 0
    entries = at.file.read_bytes().splitlines(keepends=True)
    forged = parsed_entry(entries[-1]).model_copy(update={"reconstructed": True})
    forged = forged.model_copy(update={"hash": hash_of(forged)})
    at.file.write_bytes(b"".join([*entries[:-1], line_of(forged) + b"\n"]))
    assert "found a seal that is marked as reconstructed" in at("seal", "--verify")[1]


def test_a_run_that_was_begun_under_another_name_is_told(
    at: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The defect: what it showed was forgotten with the name, and nothing had been seen before."""
    cut_off(at, monkeypatch)
    for file in ("mini.yaml", "mini.py"):
        text = (at.audits / file).read_text(encoding="utf-8")
        same = text.replace("mini", "other").replace("The paper other", "The paper mini")
        (at.audits / file.replace("mini", "other")).write_text(same, encoding="utf-8")
        (at.audits / file).unlink()
    commit(at.folder, "another name")
    at.card("run", "other", "--tier", "paper")
    said = " ".join(at("report", "other", "--tier", "paper", "--verbose")[1].split())
    assert f"Warning: {OTHER_AUDITS}: mini, with 1 begun run." in said


def test_a_page_of_a_smaller_tier_without_its_records_is_warned_of(at: Place) -> None:
    """The defect: it stood there as today's answer, though today's audit asks for more."""
    assert at("run", "mini", "--tier", "quick")[0] == 0
    for folder in (at.folder / "runs").glob("*/quick"):
        for record in folder.rglob("*"):
            if record.is_file():
                record.unlink()
        folder.rename(folder.with_name("gone"))
    at.edit("mini.yaml", "at_most: 0.1\n", "at_most: 0.01\n")
    shown = at.card("report", "mini", "--tier", "quick")
    assert WITHOUT_RECORDS in shown["history"]
    assert shown["rule_is_younger"]


def test_a_seal_that_starts_from_an_older_rule_is_refused(at: Place) -> None:
    """The defect: it told of a change of seeds, in place of the bound that was loosened last."""
    assert at("seal", "mini", "--why", "first")[0] == 0
    first = at.entries[-1]
    at.edit("mini.yaml", "at_most: 0.1\n", "at_most: 0.2\n")
    assert at("seal", "mini", "--why", "second")[0] == 0
    at.edit("mini.yaml", "at_most: 0.2\n", "at_most: 0.3\n")
    assert at("seal", "mini", "--why", "third")[0] == 0
    lines = at.file.read_bytes().splitlines(keepends=True)
    forged = parsed_entry(lines[-1]).model_copy(update={"since": getattr(first, "rule", None)})
    forged = forged.model_copy(update={"hash": hash_of(forged)})
    at.file.write_bytes(b"".join([*lines[:-1], line_of(forged) + b"\n"]))
    assert "starts from another rule than the last one" in at("seal", "--verify")[1]


def test_a_list_of_records_that_was_begun_anew_is_told(at: Place) -> None:
    """The defect: repaired after a damage, it knew nothing of what had been lost."""
    assert at(*PAPER)[0] == 0
    manifest = at.folder / "runs" / "manifest.log"
    manifest.write_bytes(b"x" + manifest.read_bytes()[1:])
    at("verify", "--repair")
    told = at.card("report", "mini", "--tier", "paper")["history"]
    assert any("list of records was damaged and begun anew" in one for one in told)


def test_versions_of_the_code_that_smaller_scales_tried_are_told(at: Place) -> None:
    """The defect: a rate in the code was tuned at the quick tier, and the page told of nothing."""
    for rate in ("0.9", "0.8", "0.7"):
        at.edit("mini.py", "* 0.7" if rate == "0.9" else f"* {float(rate) + 0.1:.1f}", f"* {rate}")
        assert at("run", "mini", "--tier", "quick")[0] == 0
    told = at.card(*PAPER)["history"]
    assert "At smaller scales, the store has records of 2 other versions of the code." in told
    page = (at.folder / "reports/paper/mini/scorecard.md").read_text(encoding="utf-8")
    assert "A choice that stands in the code of the experiment alone is not among them" in page
