"""What other branches hold: told where it was seen, and in nobody's way where work is honest."""

from __future__ import annotations

import json
import shutil

import pytest
import yaml
from chains import commit, git
from places import CONFIRM, PAPER, Place

from reproaudit.cli import run_command
from reproaudit.commands import run
from reproaudit.reports.warning import SEEDS_SEEN
from reproaudit.running import memo

REPORT = ("report", "mini", "--tier", "paper")
SEAL = ("seal", "mini", "--why", "another threshold")


def loosen(place: Place, after: str) -> None:
    place.edit("mini.yaml", "at_most: 0.1\n", f"at_most: {after}\n")


@pytest.fixture
def branched(at: Place) -> Place:
    """A rule with a result here, and another rule with one on the branch `side`."""
    at.card(*PAPER)
    commit(at.folder, "results")
    git(at.folder, "checkout", "-q", "-b", "side")
    loosen(at, "0.12")
    at.card(*PAPER)
    commit(at.folder, "results of another rule")
    return at


def back(place: Place) -> None:
    git(place.folder, "checkout", "-q", "-")


def test_a_damaged_chain_on_a_branch_is_read_line_by_line(branched: Place) -> None:
    """The defect: one bad line in a branch's chain, and none of its entries was a look."""
    file = branched.file
    file.write_bytes(file.read_bytes() + b"not a line\n")
    commit(branched.folder, "in passing")
    back(branched)
    told = branched.card(*REPORT)
    assert any("1 rule sealed and 1 result" in one for one in told["history"])


def test_a_branch_that_was_made_since_the_last_look_is_seen(at: Place) -> None:
    """The defect: `report` repeated itself after a branch was made in another worktree."""
    at.card(*PAPER)
    commit(at.folder, "results")
    before = at.card(*REPORT)["looks"]
    other = at.folder.parent / f"{at.folder.name}-worktree"
    git(at.folder, "worktree", "add", "-q", "-b", "side", str(other))
    file = other / "audits" / "mini.yaml"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("at_most: 0.1\n", "at_most: 0.12\n", 1), encoding="utf-8")
    known = ["--audits", str(other / "audits"), "--store", str(other / "runs")]
    assert run_command([*PAPER, *known]) == 0
    at("list")  # what was printed by then is not of the next command
    commit(other, "results of another rule")
    assert at.card(*REPORT)["looks"] > before


def test_a_second_audit_on_another_branch_is_told(at: Place) -> None:
    """The defect: a copy under another name was judged on a branch, and this one without a look."""
    git(at.folder, "checkout", "-q", "-b", "tryout")
    for file in ("mini.yaml", "mini.py"):
        text = (at.audits / file).read_text(encoding="utf-8").replace("mini", "other")
        same = text.replace("The paper other", "THE PAPER - mini")
        (at.audits / file.replace("mini", "other")).write_text(same, encoding="utf-8")
    at.card("run", "other", "--tier", "paper")
    commit(at.folder, "results of the copy")
    back(at)
    told = at.card(*PAPER)["history"]
    assert (
        "There are other audits of the same paper: other, with 1 recorded result and 1 begun run."
        in told
    )


def test_two_branches_with_entries_can_be_merged(branched: Place) -> None:
    """The defect: whichever chain a merge kept, the other one was asked for."""
    back(branched)
    loosen(branched, "0.13")
    branched.card(*PAPER)
    commit(branched.folder, "a third rule")
    git(branched.folder, "merge", "-q", "-s", "ours", "side")
    told = branched.card(*REPORT)
    assert any("1 rule sealed and 1 result" in one for one in told["history"])
    code, out, errors = branched("seal", "mini", "--verify", "--strict")
    assert code == 0, out + errors
    code, out, errors = branched("check")
    assert code == 0, out + errors
    git(branched.folder, "branch", "-D", "side")
    assert branched.card(*REPORT)["looks"] == told["looks"], "the merge keeps what was seen"


def test_results_that_only_a_merge_brought_are_seen(branched: Place) -> None:
    """The defect: a chain that a merge added elsewhere, and a later commit removed, was unseen."""
    back(branched)
    elsewhere = branched.folder / "B" / "seals" / "mini.jsonl"
    elsewhere.parent.mkdir(parents=True)
    chain = git(branched.folder, "show", "side:audits/seals/mini.jsonl")
    git(branched.folder, "branch", "-q", "-D", "side")
    shutil.rmtree(branched.folder / "runs")  # it had seen the branch's entries
    git(branched.folder, "checkout", "-q", "-b", "idle")
    git(branched.folder, "commit", "-q", "--allow-empty", "-m", "nothing")
    back(branched)
    git(branched.folder, "merge", "-q", "--no-ff", "--no-commit", "idle")
    elsewhere.write_text(chain)
    commit(branched.folder, "a merge")
    elsewhere.unlink()
    commit(branched.folder, "gone again")
    told = branched.card(*PAPER)["history"]
    assert any(one.startswith("Other branches or folders of this repository") for one in told)


def test_a_stash_takes_nothing_away(at: Place) -> None:
    """The false alarm: with a result stashed, the committed chain was asked for, and was there."""
    at.card(*PAPER)
    commit(at.folder, "results")
    loosen(at, "0.12")
    at.card(*PAPER)
    git(at.folder, "stash")
    assert at(*REPORT)[0] == 0
    git(at.folder, "checkout", "--", "reports")
    git(at.folder, "stash", "pop")
    assert at(*REPORT)[0] == 0


def test_a_seal_that_nobody_ran_may_be_taken_back(at: Place) -> None:
    """The false alarm: a seal taken back before any run was asked for for ever."""
    at.card(*PAPER)
    commit(at.folder, "results")
    loosen(at, "0.12")
    assert at(*SEAL)[0] == 0
    git(at.folder, "checkout", "--", "audits")
    assert at(*REPORT)[0] == 0


def test_an_emptied_chain_without_its_audit_is_named(at: Place) -> None:
    """The defect: an empty file in a chain's place silenced `seal --verify`."""
    at.card(*PAPER)
    commit(at.folder, "results")
    for file in ("mini.yaml", "mini.py"):
        text = (at.audits / file).read_text(encoding="utf-8").replace("mini", "other")
        (at.audits / file.replace("mini", "other")).write_text(text, encoding="utf-8")
        (at.audits / file).unlink()
    at.file.write_bytes(b"")
    commit(at.folder, "another name")
    code, out, _ = at("seal", "--verify")
    assert code == 2
    assert "took this chain of seals away" in " ".join(out.split())


@pytest.mark.parametrize("elsewhere", [False, True])
def test_claims_taken_away_before_a_result_are_told(
    at: Place, monkeypatch: pytest.MonkeyPatch, elsewhere: bool
) -> None:
    """The defect: forty claims were run, the run was killed, and the best one kept."""
    if elsewhere:
        git(at.folder, "checkout", "-q", "-b", "side")
    with monkeypatch.context() as patched:
        patched.setattr(run, "run_now", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt))
        assert at(*PAPER)[0] == 130
    if elsewhere:
        commit(at.folder, "begun")
        git(at.folder, "checkout", "-q", "-")
        shutil.rmtree(at.folder / "runs", ignore_errors=True)
    file = at.audits / "mini.yaml"
    audit = yaml.safe_load(file.read_text(encoding="utf-8"))
    audit["claims"] = audit["claims"][:1]
    file.write_text(yaml.safe_dump(audit, sort_keys=False, allow_unicode=True), encoding="utf-8")
    told = at.card(*PAPER)["history"]
    assert any("had been sealed, and begun to be run, and was taken away" in one for one in told)


def test_seeds_of_a_confirmation_that_custom_runs_had_seen_are_told(at: Place) -> None:
    """The defect: the derived seeds were tried as custom runs, and confirmed if they came out."""
    code, out, _ = at("seal", "mini", "--why", "the rule", "--json")
    assert code == 0, out
    seeds = json.loads(out)["seeds"]
    commit(at.folder, "sealed")
    listed = ",".join(map(str, seeds))
    assert at(*PAPER, "--seeds", listed)[0] == 0
    shown = at.card(*CONFIRM)
    assert any(one.startswith(SEEDS_SEEN) and "by custom runs" in one for one in shown["history"])


# --- clones that lack a part of the history -------------------------------------------------------


def clone(place: Place, *how: str) -> None:
    """Goes on in a clone of a place."""
    other = place.folder.parent / f"{place.folder.name}-clone"
    git(place.folder, "clone", "-q", *how, f"file://{place.folder}", str(other))
    place.folder, place.audits = other, other / "audits"
    place.file = place.audits / "seals" / "mini.jsonl"


def test_a_shallow_clone_confirms_nothing_and_says_what_it_lacks(branched: Place) -> None:
    """The defect: in a clone of one commit a confirmation was look 1, and its page had 0 looks."""
    clone(branched, "--depth", "1")
    assert "this clone is shallow" in branched.refused(*CONFIRM)
    told = branched.card(*PAPER)["history"]
    assert any(one.startswith("This clone is shallow") for one in told)
    git(branched.folder, "fetch", "-q", "--unshallow")
    told = branched.card(*REPORT)["history"]
    assert not any("shallow" in one for one in told)


def test_a_confirmation_that_did_not_know_of_another_branch_is_told(branched: Place) -> None:
    """The defect: it kept the error of look 1 where all branches were known."""
    back(branched)
    branch = git(branched.folder, "symbolic-ref", "--short", "HEAD").strip()
    whole = branched.folder
    clone(branched, "--single-branch", "-b", branch)
    branched.card(*CONFIRM)
    commit(branched.folder, "confirmed")
    assert not any("was judged as look" in one for one in branched.card(*REPORT)["history"])
    git(branched.folder, "fetch", "-q", f"file://{whole}", "side:side")
    (said,) = (one for one in branched.card(*REPORT)["history"] if "was judged as look" in one)
    assert "was judged as look 1. With the rules" in said
    assert "it was look 2, and had 0.0076 of the error to spend, not 0.0304" in said


def test_another_folder_that_git_takes_for_the_checkout_hides_nothing(sealed: Place) -> None:
    """The defect: ``core.worktree`` led elsewhere, and `seal --verify --strict` found no faults."""
    sealed.card(*PAPER)
    commit(sealed.folder, "results")
    elsewhere = sealed.folder / "elsewhere"
    elsewhere.mkdir()
    git(sealed.folder, "config", "core.worktree", str(elsewhere))
    said = sealed.card(*REPORT)
    assert not any(one.startswith("Git cannot tell the history here") for one in said["history"])
    assert sealed("seal", "--verify", "--strict", "mini")[0] == 0
    sealed.file.write_text(sealed.file.read_text().partition("\n")[0] + "\n")
    assert "the chain of seals is shorter than in commit" in sealed.refused(*REPORT)
    assert sealed("seal", "--verify", "--strict", "mini")[0] != 0


@pytest.mark.parametrize("way", ["replace", "grafts"])
def test_a_clone_that_is_told_to_hide_its_past_has_it_all_the_same(sealed: Place, way: str) -> None:
    """``git replace --graft`` hid a result and its rule: 0 looks, and a confirmation at look 1."""
    assert sealed(*PAPER)[0] == 0
    commit(sealed.folder, "seen")
    sealed.file.unlink()
    shutil.rmtree(sealed.folder / "runs")
    commit(sealed.folder, "gone")
    if way == "replace":
        git(sealed.folder, "replace", "--graft", "HEAD")
    else:
        head = git(sealed.folder, "rev-parse", "HEAD")
        (sealed.folder / ".git" / "info").mkdir(exist_ok=True)
        (sealed.folder / ".git" / "info" / "grafts").write_text(head)
    for command in (("seal", "mini", "--why", "the first"), CONFIRM, PAPER):
        assert "the chain of seals is shorter than in commit" in sealed.refused(*command)


def test_git_that_does_not_answer_is_told_each_time(
    sealed: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broken line in git's configuration hid a committed chain; the page stayed when mended."""
    monkeypatch.setattr(memo, "SETTLED", -(10**12))
    assert sealed(*PAPER)[0] == 0
    commit(sealed.folder, "seen")
    sealed.file.unlink()
    shutil.rmtree(sealed.folder / "runs")
    config = sealed.folder / ".git" / "config"
    honest = config.read_text()
    config.write_text(f"{honest}\n[broken\n")
    assert sealed(*PAPER)[0] == 0
    for _ in range(2):
        code, shown, errors = sealed(*REPORT, "--verbose")
        assert (code, "git cannot tell the history here" in errors) == (0, True)
        assert "Git cannot tell the history here" in " ".join(shown.split())
    config.write_text(honest)
    assert "the chain of seals" in sealed.refused(*REPORT)


@pytest.mark.parametrize("way", ["a reference to nothing", "a partial clone"])
def test_history_that_git_cannot_read_is_told_and_confirms_nothing(
    branched: Place, way: str
) -> None:
    """Looks on a branch were forgotten: one bad reference, or contents that were not cloned."""
    back(branched)
    if way == "a partial clone":
        origin = branched.folder.with_name(f"{branched.folder.name}-origin")
        git(branched.folder, "config", "uploadpack.allowFilter", "true")
        address = f"file://{branched.folder}"
        git(branched.folder, "clone", "-q", "--filter=blob:none", address, str(origin))
        shutil.rmtree(branched.folder / ".git")
        shutil.move(origin / ".git", branched.folder / ".git")
        git(branched.folder, "remote", "set-url", "origin", "file:///nowhere")
    else:
        (branched.folder / ".git" / "refs" / "heads" / "zz").write_text("1" * 40 + "\n")
    shutil.rmtree(branched.folder / "runs")  # it had seen the branch's entries
    assert "git cannot tell it here" in branched.refused(*CONFIRM)
    assert branched(*PAPER)[0] == 0
    code, shown, errors = branched(*REPORT, "--verbose")
    assert (code, "git cannot tell the history here" in errors) == (0, True)
    assert "Git cannot tell the history here" in " ".join(shown.split())


def test_an_older_stash_is_a_branch_like_the_last(branched: Place) -> None:
    """Three rules that were run lay in the last stash but one, and were no looks."""
    back(branched)
    chain = branched.file.read_bytes()
    for name in ("mini.yaml", "seals/mini.jsonl"):
        git(branched.folder, "checkout", "-q", "side", "--", f"audits/{name}")
    git(branched.folder, "stash")
    git(branched.folder, "branch", "-q", "-D", "side")
    (branched.folder / ".gitignore").write_text("runs\nreports\n__pycache__\n")
    git(branched.folder, "stash")
    assert branched.file.read_bytes() == chain
    told = branched.card(*REPORT)["history"]
    assert any(one.startswith("Other branches or folders of this repository") for one in told)
