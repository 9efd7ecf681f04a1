"""The chain against git: each committed version must be the beginning of the next."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from chains import change, commit, git, rule_with, seal, whole

from reproaudit.seals.history import (
    NoHistoryError,
    Repository,
    faults_in_history,
    in_any_folder,
    others,
    removed,
    revision_of,
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A chain in a repository, committed after each of three entries."""
    git(tmp_path, "init", "-q", "-b", "main")
    path = tmp_path / "audits" / "seals" / "toy.jsonl"
    for number in range(3):
        change(path, f"step {number}")
        commit(tmp_path)
    return path


def faults(file: Path) -> list[str]:
    return faults_in_history(file, file.read_bytes() if file.exists() else b"")


def test_a_chain_that_only_grew_has_no_fault(file: Path) -> None:
    assert faults(file) == []
    seal(file, rule_with())
    assert faults(file) == [], "what is not committed yet may follow"


def edit(lines: list[bytes]) -> list[bytes]:
    return [lines[0].replace(b"step 0", b"step 9"), *lines[1:]]


MUTATIONS: dict[str, Callable[[list[bytes]], list[bytes]]] = {
    "edited": edit,
    "truncated": lambda lines: lines[:-1],
    "emptied": lambda _: [],
    "first removed": lambda lines: lines[1:],
    "reversed": lambda lines: lines[::-1],
    "cut within a line": lambda lines: [*lines[:-1], lines[-1][:40]],
}


@pytest.mark.parametrize("mutation", MUTATIONS.values(), ids=MUTATIONS)
@pytest.mark.parametrize("committed", [False, True])
@pytest.mark.parametrize("mended", [False, True])
def test_what_was_committed_cannot_go(
    file: Path, mutation: Callable[[list[bytes]], list[bytes]], committed: bool, mended: bool
) -> None:
    before = file.read_bytes()
    file.write_bytes(b"".join(mutation(before.splitlines(keepends=True))))
    if committed:
        commit(file.parent)
        if mended:
            file.write_bytes(before)
            commit(file.parent)
    found = faults(file)
    if mended and not committed:
        return
    assert found, "the mutation shows, also after it was put right"
    if committed:
        assert "took away or changed" in found[0]


def test_a_chain_that_was_removed_is_missed(file: Path) -> None:
    file.unlink()
    assert faults(file) == ["it lacks or changes something that is committed"]
    commit(file.parent.parent)
    assert "took away" in faults(file)[0]
    change(file, "begun anew")
    commit(file.parent)
    assert "took away" in faults(file)[0]


def test_a_replay_of_an_earlier_version_is_found(file: Path) -> None:
    first = git(file.parent, "rev-list", "--reverse", "HEAD").split()[0]
    file.write_bytes(Repository.of(file).at(first, "audits/seals/toy.jsonl") or b"")
    commit(file.parent)
    assert len(faults(file)) == 1


def test_branches_that_both_added_cannot_be_merged_unseen(file: Path) -> None:
    root = file.parent.parent.parent
    git(root, "checkout", "-q", "-b", "side")
    change(file, "on the side")
    commit(root)
    theirs = file.read_bytes()
    git(root, "checkout", "-q", "main")
    (root / "other.txt").write_text("x")
    commit(root)
    git(root, "merge", "-q", "--no-edit", "side")
    assert faults(file) == [], "one branch added, the other did not"
    git(root, "reset", "-q", "--hard", "HEAD~1")
    change(file, "on main")
    commit(root)
    subprocess.run(["git", "-C", str(root), "merge", "side"], capture_output=True)
    file.write_bytes(theirs)  # whose entries on main are thereby lost
    commit(root)
    assert "took away" in faults(file)[0]


def merged(root: Path, change: Callable[[], object]) -> None:
    """Merges a branch with a commit that makes a change of its own."""
    git(root, "checkout", "-q", "-b", "side")
    git(root, "commit", "-q", "--allow-empty", "-m", "on the side")
    git(root, "checkout", "-q", "main")
    git(root, "merge", "-q", "--no-ff", "--no-commit", "side")
    change()
    commit(root, "a merge")


def test_a_chain_that_only_a_merge_brought_is_found(file: Path) -> None:
    """The defect: git names no files of a merge unless asked, so that none of its looks counted."""
    root = file.parent.parent.parent
    theirs = root / "B" / "seals" / file.name
    merged(root, lambda: change(theirs, "on neither branch"))
    content = theirs.read_bytes()
    theirs.unlink()
    commit(root, "gone again")
    assert "B/seals/toy.jsonl" in in_any_folder(file.parent)
    assert content in others(file, file.read_bytes())


def test_a_chain_that_only_a_merge_took_away_is_missed(file: Path) -> None:
    root = file.parent.parent.parent
    merged(root, file.unlink)
    assert removed(file.parent) == {file.name: git(root, "rev-parse", "HEAD").strip()}


def test_outside_git_and_in_a_shallow_clone_there_is_no_history(
    file: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    alone = whole(elsewhere / "toy.jsonl")
    with pytest.raises(NoHistoryError):
        faults(alone)
    assert revision_of(alone) is None
    clone = elsewhere / "clone"
    root = file.parent.parent.parent
    git(elsewhere, "clone", "-q", "--depth", "1", f"file://{root}", str(clone))
    with pytest.raises(NoHistoryError, match="shallow"):
        faults(clone / "audits" / "seals" / "toy.jsonl")


def test_a_repository_without_a_commit_has_no_history(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    with pytest.raises(NoHistoryError):
        faults(whole(tmp_path / "toy.jsonl"))


def test_the_revision_says_whether_files_were_changed(file: Path) -> None:
    head = git(file.parent, "rev-parse", "HEAD").strip()
    assert revision_of(file) == head
    change(file, "more")
    assert revision_of(file) == f"{head}+dirty"


def test_nothing_that_a_repository_names_is_run(file: Path) -> None:
    """A repository can name programs in its configuration; reading its history starts none."""
    root = file.parent.parent.parent
    mark = root / "ran"
    git(root, "config", "core.fsmonitor", f"touch {mark}")
    git(root, "config", "diff.external", f"touch {mark}")
    git(root, "config", "filter.mine.clean", f"touch {mark} #")
    git(root, "config", "filter.mine.process", f"touch {mark} #")
    git(root, "config", "filter.mine.required", "true")
    (root / ".git" / "info").mkdir(exist_ok=True)
    (root / ".git" / "info" / "attributes").write_text("* filter=mine\n", encoding="utf-8")
    file.touch()
    assert faults(file) == []
    repository = Repository.of(file)
    assert repository.changed(["audits"]) == []
    assert not repository.revision().endswith("+dirty")
    assert not mark.exists()
