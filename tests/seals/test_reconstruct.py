"""What git knows from before the first seal, whatever clocks, merges and branches say of it."""

from __future__ import annotations

import shutil
from collections.abc import Callable

import pytest
from chains import commit, git
from places import PAPER, Place

from reproaudit.seals import kept
from reproaudit.seals.chain import read_chain
from reproaudit.seals.entries import ChangeEntry, ResultEntry


def at_date(monkeypatch: pytest.MonkeyPatch, day: int) -> None:
    monkeypatch.setenv("GIT_COMMITTER_DATE", f"2026-01-{day:02}T00:00:00Z")


@pytest.fixture
def dated(at: Place, monkeypatch: pytest.MonkeyPatch) -> Place:
    """The paper, committed on the first of January; what git does next is of the second."""
    at_date(monkeypatch, 1)
    git(at.folder, "commit", "-q", "--amend", "--no-edit")
    at_date(monkeypatch, 2)
    return at


def report(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commits a report of a run that no chain knows of."""
    with monkeypatch.context() as patch:
        patch.setattr(kept.Chains, "is_read_only", True)
        scorecard = place(*PAPER, "--json")[1]
    shutil.rmtree(place.folder / "runs")
    file = place.folder / "reports" / "paper" / "mini" / "scorecard.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(scorecard, encoding="utf-8")
    commit(place.folder, "the report")


def loosen(place: Place, after: str = "0.12", before: str = "0.1") -> None:
    place.edit("mini.yaml", f"at_most: {before}", f"at_most: {after}")


def recompute(place: Place, stream: str = "other") -> None:
    place.edit("mini.py", 'generator(seed, "end")', f'generator(seed, "{stream}")')


def side(place: Place, file: str = "notes.txt") -> None:
    """A branch `side` with a commit of its own, and one here."""
    git(place.folder, "branch", "side")
    (place.folder / "here.txt").write_text("here", encoding="utf-8")
    commit(place.folder, "here")
    git(place.folder, "checkout", "-q", "side")
    (place.folder / file).write_text("there", encoding="utf-8")
    commit(place.folder, "there")
    git(place.folder, "checkout", "-q", "-")


def told(place: Place) -> list[str]:
    """What is entered from git, in order of time: each reason, and "result" for a result."""
    code, out, errors = place("seal", "mini", "--reconstruct")
    assert code == 0, out + errors
    return [
        one.why if isinstance(one, ChangeEntry) else "result"
        for one in read_chain(place.file, "mini")
        if isinstance(one, ChangeEntry | ResultEntry)
    ]


FIRST = "The first audit: the paper"


def test_a_clock_that_was_put_back_moves_no_change_before_a_result(
    dated: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The defect: a rule was changed "before the first recorded result", by its clock alone."""
    at_date(monkeypatch, 5)
    report(dated, monkeypatch)
    at_date(monkeypatch, 3)
    loosen(dated)
    commit(dated.folder, "bound")
    assert told(dated) == [FIRST, "result", "bound"]
    shown = dated.card(*PAPER)
    assert "after results had been seen, reconstructed from git" in shown["history"][0]
    assert shown["looks"] >= 1


@pytest.mark.parametrize("change", [loosen, recompute], ids=["rule", "code"])
def test_what_a_merge_changes_by_itself_is_a_change(
    dated: Place, monkeypatch: pytest.MonkeyPatch, change: Callable[[Place], None]
) -> None:
    """The defect: no merge was looked at."""
    report(dated, monkeypatch)
    at_date(monkeypatch, 3)
    side(dated)
    git(dated.folder, "merge", "-q", "--no-ff", "--no-commit", "side")
    change(dated)
    commit(dated.folder, "merged")
    assert told(dated) == [FIRST, "result", "merged"]
    assert dated.card(*PAPER)["looks"] >= 1


def test_a_merge_that_changes_nothing_by_itself_is_no_change(
    dated: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    report(dated, monkeypatch)
    at_date(monkeypatch, 3)
    side(dated)
    git(dated.folder, "checkout", "-q", "side")
    loosen(dated)
    commit(dated.folder, "bound")
    git(dated.folder, "checkout", "-q", "-")
    git(dated.folder, "merge", "-q", "--no-ff", "-m", "merged", "side")
    assert told(dated) == [FIRST, "result", "bound"]


@pytest.mark.parametrize("merged", [False, True], ids=["kept", "merged by -s ours"])
def test_a_report_on_another_branch_is_a_result(
    dated: Place, monkeypatch: pytest.MonkeyPatch, merged: bool
) -> None:
    """The defect: a report was looked for where the present branch had it alone."""
    git(dated.folder, "checkout", "-q", "-b", "side")
    report(dated, monkeypatch)
    git(dated.folder, "checkout", "-q", "-")
    if merged:
        git(dated.folder, "merge", "-q", "--no-ff", "-s", "ours", "-m", "merged", "side")
        git(dated.folder, "branch", "-q", "-D", "side")
    at_date(monkeypatch, 3)
    loosen(dated)
    commit(dated.folder, "bound")
    assert told(dated) == [FIRST, "result", "bound"]
    assert dated.card(*PAPER)["looks"] >= 1


@pytest.mark.parametrize("change", [loosen, recompute], ids=["rule", "code"])
def test_a_change_on_a_branch_with_an_earlier_clock_counts_from_its_merge_on(
    dated: Place, monkeypatch: pytest.MonkeyPatch, change: Callable[[Place], None]
) -> None:
    """A branch from before the result tells nothing of when it was changed but by its clock."""
    git(dated.folder, "branch", "side")
    at_date(monkeypatch, 5)
    report(dated, monkeypatch)
    git(dated.folder, "checkout", "-q", "side")
    at_date(monkeypatch, 3)
    change(dated)
    commit(dated.folder, "changed")
    git(dated.folder, "checkout", "-q", "-")
    git(dated.folder, "merge", "-q", "--no-ff", "-m", "merged", "side")
    assert told(dated) == [FIRST, "changed", "result", "merged"]
    assert dated.card(*PAPER)["looks"] >= 1


def test_an_audit_that_was_taken_away_and_put_back_is_held_against_the_last_one(
    dated: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The defect: what was put back was called the first audit."""
    report(dated, monkeypatch)
    file = dated.audits / "mini.yaml"
    text = file.read_text(encoding="utf-8")
    at_date(monkeypatch, 3)
    file.unlink()
    commit(dated.folder, "away")
    at_date(monkeypatch, 4)
    file.write_text(text.replace("at_most: 0.1", "at_most: 0.12", 1), encoding="utf-8")
    commit(dated.folder, "back")
    assert told(dated) == [FIRST, "result", "back"]


def test_what_is_put_back_is_held_against_its_own_line(
    dated: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(dated.folder, "checkout", "-q", "-b", "side")
    loosen(dated)
    commit(dated.folder, "bound")
    file = dated.audits / "mini.yaml"
    text = file.read_text(encoding="utf-8")
    git(dated.folder, "checkout", "-q", "-")
    at_date(monkeypatch, 4)
    report(dated, monkeypatch)
    file.unlink()
    commit(dated.folder, "away")
    file.write_text(text, encoding="utf-8")
    commit(dated.folder, "back")
    git(dated.folder, "merge", "-q", "-s", "ours", "-m", "merged", "side")
    assert told(dated) == [FIRST, "bound", "result", "back"]


def test_code_that_was_broken_and_mended_is_held_against_the_last_that_ran(dated: Place) -> None:
    """The defect: code that could not be read had no hash, so that its successor was no change."""
    dated.edit("mini.py", 'generator(seed, "end")', 'generator(seed, "end"')
    commit(dated.folder, "broken")
    dated.edit("mini.py", 'generator(seed, "end"', 'generator(seed, "other")')
    commit(dated.folder, "mended")
    assert told(dated) == [FIRST, "mended"]


def test_earlier_names_of_an_audit_are_followed(dated: Place) -> None:
    git(dated.folder, "mv", "audits/mini.yaml", "audits/early.yaml")
    commit(dated.folder, "another name")
    file = dated.audits / "early.yaml"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("at_most: 0.1", "at_most: 0.12", 1), encoding="utf-8")
    commit(dated.folder, "bound")
    git(dated.folder, "mv", "audits/early.yaml", "audits/mini.yaml")
    commit(dated.folder, "its name again")
    assert told(dated)[:2] == [FIRST, "bound"]


def test_a_clock_ahead_of_time_is_taken_for_now(
    dated: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2099-01-01T00:00:00Z")
    loosen(dated)
    commit(dated.folder, "bound")
    assert told(dated) == [FIRST, "bound"]
    assert all(one.date.year < 2099 for one in read_chain(dated.file, "mini"))
