"""Draws that were seen elsewhere: on a branch, under a second name, in runs that were cut off.

Each is a way to a verdict that looks untouched; it is tried on the paper in miniature, and shown.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import yaml
from chains import commit, git
from places import CONFIRM, PAPER, Place

from reproaudit.cli import run_command
from reproaudit.commands import confirm, run
from reproaudit.reports.warning import (
    BY_THIS_RULE,
    CONFIRMED_AGAIN,
    ON_ANOTHER_BRANCH,
    REPLACED,
    SEEDS_SEEN,
)
from reproaudit.running import fingerprint, memo
from reproaudit.seals.chain import read_chain
from reproaudit.seals.confirming import error_of_look
from reproaudit.seals.entries import BegunEntry

REPORT = ("report", "mini", "--tier", "paper")
MULTIVERSE = ("multiverse", "mini", "--tier", "paper")


def begun(place: Place) -> BegunEntry:
    (found,) = (one for one in place.entries if isinstance(one, BegunEntry))
    return found


def loosen(place: Place, after: str) -> None:
    place.edit("mini.yaml", "at_most: 0.1\n", f"at_most: {after}\n")


def seal(place: Place) -> str:
    """Seals and commits; what the command says."""
    code, said, errors = place("seal", "mini", "--why", "another threshold")
    assert code == 0, errors
    commit(place.folder, "sealed")
    return said


def test_a_confirmation_on_each_branch_is_a_look_each(at: Place) -> None:
    """The defect: one confirmation for each branch, all look 1, and the best one was merged."""
    for number, bound in enumerate(("0.101", "0.102", "0.103"), start=1):
        git(at.folder, "checkout", "-q", "-B", f"b{number}", "b0" if number > 1 else "HEAD")
        if number == 1:
            git(at.folder, "branch", "b0")
        loosen(at, bound)
        assert f"It is look {number}." in seal(at)
        shown = at.card(*CONFIRM)
        commit(at.folder, "confirmed")
        assert begun(at).look == number
        assert begun(at).error == pytest.approx(error_of_look(number, 0.05))
        assert shown["looks"] >= number - 1
    git(at.folder, "checkout", "-q", "b0")
    git(at.folder, "merge", "-q", "b3")
    told = at.card(*REPORT)
    assert told["looks"] >= 2
    assert any("2 rules sealed and 2 results" in one for one in told["history"])
    assert at("seal", "mini", "--verify", "--strict")[0] == 0
    git(at.folder, "branch", "-D", "b1", "b2")
    assert begun(at).look == 3, "what was entered stays when the branches are gone"


@pytest.mark.parametrize("way", ["branch", "folder", "both began"])
def test_a_seal_that_is_confirmed_twice_confirms_nothing(
    sealed: Place, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """The defect: "confirmed, 0 looks before", and the other confirmation had contradicted it."""
    end = 'generator(seed, "end").normal()'
    factor = 'float(__import__("os").environ.get("FACTOR", 1)) * np.exp(0.1 * ' + end
    sealed.edit("mini.py", f"np.exp(0.1 * {end}", factor)
    assert sealed("seal", "mini", "--why", "a factor")[0] == 0
    commit(sealed.folder, "sealed")
    if way == "folder":
        shutil.copytree(sealed.audits, sealed.folder / "other")
        commit(sealed.folder, "a copy")
    before = sealed.file.read_bytes()
    git(sealed.folder, "branch", "y")
    monkeypatch.setenv("FACTOR", "9")
    own = sealed.audits
    sealed.audits = own if way != "folder" else sealed.folder / "other"
    assert sealed(*CONFIRM)[0] == 0
    sealed.audits = own
    commit(sealed.folder, "confirmed, and contradicted")
    shutil.rmtree(sealed.folder / "runs")
    if way != "folder":
        git(sealed.folder, "checkout", "-q", "y")
    monkeypatch.setenv("FACTOR", "1")
    with monkeypatch.context() as blind:
        if way == "both began":  # as on two machines that were put together afterwards
            blind.setattr(confirm, "_require_nowhere_else", lambda *_: None)
        code, _, errors = sealed(*CONFIRM)
    if way != "both began":
        assert code == 2
        assert "on another branch or in another folder of this repository" in errors
        assert sealed.file.read_bytes() == before
        return
    assert code == 0
    commit(sealed.folder, "confirmed again")
    told = sealed.card(*PAPER)
    assert (told["status"], told["verdict"], told["looks"]) == ("exploratory", "supported", 1)
    said = [one for one in told["history"] if one.startswith("Confirmation on the seeds")]
    assert ["contradicted" in one for one in said] == [False, True]
    assert any(one.startswith(CONFIRMED_AGAIN) for one in told["history"])


def test_a_result_on_another_branch_is_a_look(at: Place) -> None:
    before = at.card(*PAPER)["looks"]
    commit(at.folder, "results")
    git(at.folder, "checkout", "-q", "-b", "side")
    loosen(at, "0.12")
    at.card(*PAPER)
    commit(at.folder, "results of another rule")
    git(at.folder, "checkout", "-q", "-")
    told = at.card(*PAPER)
    assert told["looks"] > before
    assert any("1 rule sealed and 1 result" in one for one in told["history"])


def test_rules_that_other_branches_began_with_are_looks_and_told(at: Place) -> None:
    """The defect: "0 looks before", "They are counted among the looks", and no bound was named."""
    for branch, bound in (("one", "0.002"), ("two", "0.01"), ("three", "0.1")):
        git(at.folder, "checkout", "-q", "--orphan", branch)
        for folder in (at.audits / "seals", at.folder / "runs"):
            shutil.rmtree(folder, ignore_errors=True)
        at.edit("mini.yaml", "at_most: ", f"at_most: {bound}  # was ")
        commit(at.folder, f"the bound {bound}")
        last = at.card(*PAPER)
        commit(at.folder, "results")
    assert (last["verdict"], last["looks"]) == ("supported", 2)
    said = " ".join(at(*REPORT, "--verbose")[1].split())
    for bound in ("0.002", "0.01"):
        assert f"at_most: {bound} → 0.1" in said
    assert said.count(f"Warning: {ON_ANOTHER_BRANCH}") == 2


@pytest.fixture
def half_confirmed(at: Place, monkeypatch: pytest.MonkeyPatch) -> Place:
    """A confirmation that was cut off after some of its cells."""
    seal(at)
    with monkeypatch.context() as patched:
        run_now, calls = run.run_now, []

        def cut_off(cells, *others, **more):  # type: ignore[no-untyped-def]
            calls.append(run_now(cells[:4], *others, **more))
            raise KeyboardInterrupt

        patched.setattr(run, "run_now", cut_off)
        code, _, _ = at(*CONFIRM)
    assert code == 130
    assert calls[0].completed == 4
    return at


def test_a_confirmation_is_not_gone_on_with_under_other_versions(
    half_confirmed: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The defect: it went on under another version of a package, and said nothing."""
    with monkeypatch.context() as patched:
        known = fingerprint._version
        patched.setattr(
            fingerprint, "_version", lambda one: "0.0.1" if one == "llvmlite" else known(one)
        )
        line = half_confirmed.refused(*CONFIRM)
        shutil.rmtree(half_confirmed.folder / "runs")
        assert half_confirmed.refused(*CONFIRM) == line, "another store changes nothing"
    assert "has begun with other data, versions of packages, or on another device" in line
    assert "A confirmation is one draw: put back what it was begun with." in line
    assert half_confirmed.card(*CONFIRM)["status"] == "confirmed"


def test_a_confirmation_that_has_begun_measures_nothing_again(half_confirmed: Place) -> None:
    """The defect: ``--fresh`` drew an open confirmation again, as often as wanted."""
    line = half_confirmed.refused(*CONFIRM, "--fresh")
    assert line.endswith("has begun, and what it measured stays. Leave --fresh out.")
    assert half_confirmed.card(*CONFIRM)["status"] == "confirmed"


def test_a_second_audit_of_the_same_paper_is_told(at: Place) -> None:
    """The defect: a copy under another name had no history, and `list` showed it alone."""
    at.card(*PAPER)
    commit(at.folder, "results")
    for file in ("mini.yaml", "mini.py"):
        text = (at.audits / file).read_text(encoding="utf-8")
        same = text.replace("mini", "other").replace("The paper other", "The paper mini")
        (at.audits / file.replace("mini", "other")).write_text(same, encoding="utf-8")
    commit(at.folder, "another name")
    told = at.card("run", "other", "--tier", "paper")["history"]
    assert (
        "There are other audits of the same paper: mini, with 1 recorded result and 1 begun run."
        in told
    )
    for path in (at.audits / "mini.yaml", at.audits / "mini.py", at.file):
        path.unlink()
    commit(at.folder, "one is enough")
    code, out, _ = at("seal", "--verify")
    assert code == 2
    assert "mini.jsonl: commit" in out
    assert "took this chain of seals away; expected it to stay" in " ".join(out.split())


def test_alternatives_that_were_cut_off_are_told(
    at: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The defect: a multiverse was killed, its records deleted, and nothing knew of it."""
    at.card(*PAPER)
    with monkeypatch.context() as patched:
        patched.setattr("reproaudit.cli.measuring.record_multiverse", None, raising=False)
        patched.setattr(
            "reproaudit.commands.recording.record_multiverse",
            lambda *_: (_ for _ in ()).throw(KeyboardInterrupt),
        )
        assert at(*MULTIVERSE)[0] == 130
    shutil.rmtree(at.folder / "runs")
    told = at.card(*PAPER)["history"]
    begun = "Alternatives were begun on"
    assert any(one.startswith(begun) and "not all of them" in one for one in told)
    assert at(*MULTIVERSE, "--budget", "0.01s")[0] == 0
    told = at.card(*REPORT)["history"]
    assert any(one.startswith(begun) for one in told), "nothing has been finished since"
    assert at(*MULTIVERSE)[0] == 0
    entered = len(read_chain(at.file, "mini"))
    told = at.card(*REPORT)["history"]
    assert not any(one.startswith("Alternatives were begun on") for one in told)
    assert at(*MULTIVERSE, "--budget", "1s")[0] == 0
    assert len(read_chain(at.file, "mini")) == entered, "nothing was measured"


def test_alternatives_that_custom_runs_measured_are_told(at: Place) -> None:
    """The defect: "0 of 2 alternatives run", after one was run on every seed as a custom run."""
    at.card(*PAPER)
    assert at(*PAPER, "--experiment", "guessed", "--set", "level=0.6")[0] == 0
    _, out, _ = at(*REPORT, "--json")
    assert "Custom runs measured alternatives of it: level = 0.6." in out
    at(*MULTIVERSE)
    assert "Custom runs measured alternatives" not in at(*REPORT, "--json")[1]


def test_other_draws_at_a_smaller_tier_are_told(at: Place) -> None:
    """The defect: five streams were tried at the quick tier, and its page showed the last alone."""
    quick = ("run", "mini", "--tier", "quick")
    assert not any("other record" in one for one in at.card(*quick)["history"])
    at.edit("mini.yaml", "value: 40", "value: 41")
    at.card(*quick)
    told = at.card("report", "mini", "--tier", "quick")["history"]
    assert any(
        "other records of this tier, of other settings, seeds, code or libraries" in one
        for one in told
    )
    at.card(*PAPER)
    assert not any("other record" in one for one in at.card(*REPORT)["history"])


TWIN = """  twin:
    title: It descends once more
    measurements:
      distance: {kind: series, unit: '1', meaning: How far it is.}
      final: {kind: scalar, unit: '1', meaning: How far it is in the end.}
"""
SAME_PROGRAM = """\
    "guessed": Experiment(Settings, measure, phases=lambda s: {"descent": s.steps}),
"""


def with_twin(place: Place) -> None:
    """Adds an experiment that runs the program of `descent`, and that no claim reads."""
    place.edit("mini.yaml", "experiments:\n", f"experiments:\n{TWIN}")
    place.edit("mini.py", SAME_PROGRAM, SAME_PROGRAM + SAME_PROGRAM.replace("guessed", "twin"))


def test_the_numbers_of_a_claim_under_a_name_that_no_claim_reads_are_a_look(at: Place) -> None:
    """The defect: an experiment beside, run at the paper's settings and seeds, entered nothing."""
    with_twin(at)
    assert at(*PAPER, "--experiment", "twin", "--seeds", "0-4")[0] == 0
    loosen(at, "0.11")
    shown = at.card(*PAPER)
    told = " ".join(shown["history"])
    assert "A custom run, begun on" in told
    assert "computed cells that the paper tier has as well" in told
    assert shown["looks"] >= 1


def test_other_settings_under_another_name_are_no_look(at: Place) -> None:
    with_twin(at)
    assert at(*PAPER, "--experiment", "twin", "--set", "level=0.03", "--seeds", "0-4")[0] == 0
    loosen(at, "0.11")
    assert at.card(*PAPER)["looks"] == 0


def test_numbers_of_an_experiment_that_is_renamed_are_a_look(at: Place) -> None:
    """The defect: many seeds were seen at the smoke tier, and kept by another experiment's name."""
    at.edit("mini.py", SAME_PROGRAM, SAME_PROGRAM + SAME_PROGRAM.replace("guessed", "twin"))
    at.edit("mini.yaml", "    smoke:\n      value: 5\n      reason: It runs.\n", "")
    at.edit("mini.yaml", "  smoke:\n  - 0\n", "  smoke: [17, 18, 19]\n")
    audit = at.audits / "mini.yaml"
    text = audit.read_text(encoding="utf-8")
    before = text.replace("experiment: descent", "experiment: twin")
    audit.write_text(before.replace("  descent:\n    title", "  twin:\n    title"))
    assert at("run", "mini", "--tier", "smoke")[0] == 0
    audit.write_text(text.replace("  - 5\n", "  - 17\n"))
    for _ in range(2):
        shown = at.card(*PAPER)
        assert shown["looks"] >= 1
        assert " ".join(shown["history"]).count("runs of another tier had computed cells") == 1


@pytest.mark.slow
def test_alternatives_that_show_the_same_again_are_finished(at: Place) -> None:
    """The defect: they were begun anew, and no result told that they had ended."""
    at.card(*PAPER)
    for _ in range(2):
        assert at(*MULTIVERSE)[0] == 0
        assert "not all of them have been finished" not in at(*REPORT, "--json")[1]
        shutil.rmtree(at.folder / "runs" / "mini" / "multiverse-paper")


def test_a_seal_before_the_first_run_is_told_with_what_it_changed(sealed: Place) -> None:
    """The defect: the page said that the rule had been changed once, and not that seeds had."""
    sealed.edit("mini.yaml", "  - 5\n", "  - 7\n")
    seal(sealed)
    told = " ".join(sealed.card(*PAPER)["history"])
    assert "Its rule was changed once" in told
    assert "By its seals, these changes were: " in told
    assert "5 → " in told


@pytest.mark.slow
def test_alternatives_that_are_gone_with_the_store_are_told(at: Place) -> None:
    """The defect: what they had shown was no condition, and nothing said that they had been run."""
    at.card(*PAPER)
    assert at(*MULTIVERSE)[0] == 0
    assert "Alternatives were run by" not in " ".join(at.card(*REPORT)["history"])
    shutil.rmtree(at.folder / "runs")
    assert "Alternatives were run by" in " ".join(at.card(*PAPER)["history"])


def test_alternatives_that_did_not_meet_the_claim_are_remembered(at: Place) -> None:
    """The defect: with them the ablation met the claim, too, and a new store forgot it."""
    guess = "  pause:\n    value: 0.0\n    source: paper\n    locator: Section 4\n"
    open_ = (
        "  pause:\n    value: 0.0\n    source: assumption\n    why: None.\n"
        "    alternatives: [0.0001]\n"
    )
    at.edit("mini.yaml", guess, open_)
    at.edit("mini.py", "settings.level *", "(settings.level if not settings.pause else 0.01) *")
    at.card(*PAPER)
    assert at(*MULTIVERSE)[0] == 0
    shown = at.card(*REPORT)
    assert [one["decision"] for one in shown["alternatives"]] == ["undecided"]
    assert not any("unmet or undecided" in one for one in shown["history"])
    shutil.rmtree(at.folder / "runs")
    for _ in range(2):
        shown = at.card(*PAPER)
        assert shown["verdict"] == "supported"
        assert any(one.endswith("unmet or undecided: pause = 0.0001.") for one in shown["history"])


def test_an_experiment_that_was_run_and_taken_away_is_told(at: Place) -> None:
    """The defect: eight streams were run as experiments of a figure, and the best one was kept."""
    with_twin(at)
    told = " ".join(at.card(*PAPER)["history"])
    assert "taken away" not in told
    at.edit("mini.yaml", TWIN, "")
    shutil.rmtree(at.folder / "runs")
    told = " ".join(at.card(*PAPER)["history"])
    assert "1 other experiment of this audit had been sealed, and begun to be run, and was" in told
    assert told.count("twin") >= 1


def test_an_ablation_that_hangs_on_a_guess_is_warned_of(at: Place) -> None:
    """The defect: a guess that the claim's own experiment does not read decided its ablation."""
    own = "  controls:\n  - experiment: descent\n    settings:\n      level: 0.8\n"
    other = "  controls:\n  - experiment: guessed\n    settings:\n      pause: 0.0001\n"
    assert at(*PAPER)[0] == 0
    hangs = "The ablation hangs on settings that the paper leaves open"
    assert hangs not in " ".join(at.card(*REPORT)["history"])
    at.edit("mini.yaml", own, other)
    told = " ".join(at.card(*PAPER)["history"])
    assert hangs in told
    assert "level = 0.5 of guessed (or 0.4, 0.6)" in told


def test_a_control_with_the_quick_value_of_its_experiment_is_warned_of(at: Place) -> None:
    """The defect: a control of another experiment ran at 0.8 by its quick value, and no page said
    so. Today nobody does this without a reason."""
    own = "  controls:\n  - experiment: descent\n    settings:\n      level: 0.8\n"
    other = "  controls:\n  - experiment: guessed\n    settings:\n      pause: 0.0001\n"
    at.edit("mini.yaml", own, other)
    guess = (
        "        value: 0.5\n        source: assumption\n        why: About half.\n"
        "        alternatives:\n        - 0.4\n        - 0.6\n"
    )
    stated = (
        "        value: 0.02\n        source: paper\n        locator: Section 4\n"
        "        quick: {value: 0.8, reason: Quick.}\n"
    )
    at.edit("mini.yaml", guess, stated)
    at.edit("mini.yaml", "  experiment: guessed\n  checks", "  experiment: descent\n  checks")
    code, _, said = at(*PAPER)
    assert code == 2
    assert "found level 0.8 at the paper tier, where the claim runs 0.02" in said
    assert "expected a 'scale_reason'" in said
    at.edit("mini.yaml", other, f"{other}    scale_reason: It settles at once.\n")
    told = " ".join(at.card(*PAPER)["history"])
    assert "A control runs with the quick values of guessed" in told
    assert "control 1 with level = 0.8." in told


def test_a_record_that_replaces_another_is_told(at: Place) -> None:
    """The defect: a record was removed and measured again, until its number pleased."""
    assert not any(one.startswith(REPLACED) for one in at.card(*PAPER)["history"])
    removed = min((at.folder / "runs" / "mini" / "paper").rglob("*.json"))
    removed.unlink()
    told = at.card(*PAPER)["history"]
    assert any(one.startswith(f"{REPLACED}: 1 record.") for one in told)


def test_a_control_at_quick_scale_that_is_drawn_again_is_told(
    at: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The defect: vacuous twice, then a control that missed, and "0 looks before"."""
    end = 'np.exp(0.1 * generator(seed, "end").normal())'
    drawn = 'float(__import__("os").environ["DRAWN"]) if settings.level == 0.8 else 1.0'
    at.edit("mini.py", end, f"({drawn}) * {end}")
    for factor in ("0.01", "1.0"):
        monkeypatch.setenv("DRAWN", factor)
        assert at("run", "mini", "--tier", "quick", "--fresh")[0] == 0
    told = at.card(*PAPER)
    assert told["verdict"] == "supported"
    assert any(one.startswith(f"{REPLACED}: ") for one in told["history"])


def test_seeds_of_a_confirmation_that_another_tier_has_seen_are_told(at: Place) -> None:
    """The defect: derived seeds were measured as smoke runs, of 48 rules, and the best sealed."""
    code, out, _ = at("seal", "mini", "--why", "the rule", "--json")
    assert code == 0, out
    commit(at.folder, "sealed")
    text = (at.audits / "mini.yaml").read_text(encoding="utf-8")
    seeds = "".join(f"  - {seed}\n" for seed in json.loads(out)["seeds"])
    peek = text.replace("  smoke:\n  - 0\n", f"  smoke:\n{seeds}", 1)
    assert peek != text
    (at.audits / "mini.yaml").write_text(peek, encoding="utf-8")
    assert at("run", "mini", "--tier", "smoke")[0] == 0
    (at.audits / "mini.yaml").write_text(text, encoding="utf-8")
    told = at.card(*CONFIRM)["history"]
    assert any(one.startswith(SEEDS_SEEN) and "of the smoke tier" in one for one in told)


def test_runs_of_several_seeds_that_are_one_run_are_told(sealed: Place) -> None:
    """Six seeds made two runs, whose interval was that of six: supported, confirmed, and nothing
    said so."""
    sealed.edit("mini.py", 'generator(seed, "end")', 'generator(seed % 2, "end")')
    seal(sealed)
    code, screen, _ = sealed(*CONFIRM)
    assert (code, "! 4 claims with a warning" in screen) == (0, True)
    assert sealed(*PAPER)[0] == 0
    said = " ".join(sealed(*REPORT, "--verbose")[1].split())
    assert "4 of 6 runs of the claim have the numbers of another seed: they are fewer" in said
    assert "runs of the control have the numbers of another seed" in said


def test_runs_of_a_control_that_are_all_one_run_are_told(sealed: Place) -> None:
    sealed.edit(
        "mini.py",
        'generator(seed, "end")',
        'generator(seed if settings.level == 0.02 else 0, "end")',
    )
    seal(sealed)
    assert sealed(*PAPER)[0] == 0
    said = " ".join(sealed(*REPORT, "--verbose")[1].split())
    assert "runs of the control have the same numbers: they say as much as one" in said
    assert "runs of the claim have the" not in said


def test_runs_of_their_own_are_not_warned_of(sealed: Place) -> None:
    assert sealed(*PAPER)[0] == 0
    assert "seem" not in sealed(*REPORT, "--verbose")[1]


def test_another_verdict_on_new_seeds_stands_beside_the_verdict(sealed: Place) -> None:
    """The audit's own seeds gave support, the derived ones did not: the summary said supported."""
    sealed.edit(
        "mini.py",
        "ends = [settings.level *",
        "ends = [settings.level * (25 if seed > 99 else 1) *",
    )
    seal(sealed)
    assert sealed(*CONFIRM)[0] == 0
    commit(sealed.folder, "confirmed or not")
    assert sealed(*PAPER)[0] == 0
    said = " ".join(sealed(*REPORT, "--verbose")[1].split())
    assert "SUPPORTED mini.supported" in said
    assert "Warning: on the new seeds of its last confirmation it came out" in said
    assert "! " in sealed(*PAPER)[1]
    page = (sealed.folder / "reports" / "paper" / "mini" / "scorecard.md").read_text()
    assert " on new seeds |" in page
    git(sealed.folder, "checkout", "-q", "-b", "other")  # a seal there once took the warning away
    loosen(sealed, "0.11")
    seal(sealed)
    git(sealed.folder, "checkout", "-q", "-")
    said = " ".join(sealed(*REPORT, "--verbose")[1].split())
    assert "Warning: on the new seeds of its last confirmation it came out" in said


def worse_on_new_seeds(place: Place) -> None:
    ends = "ends = [settings.level *"
    place.edit("mini.py", ends, f"{ends} (25 if seed > 99 else 1) *")
    commit(place.folder, "worse on new seeds")


def test_a_confirmation_of_another_rule_silences_no_warning(at: Place) -> None:
    """The defect: a wide rule was confirmed after the narrow one had failed, and taken back."""
    worse_on_new_seeds(at)
    for bound in ("0.1", "30", "0.1"):
        at.edit("mini.yaml", "at_most: ", f"at_most: {bound}  # was ")
        seal(at)
        if bound == "30" or not any(isinstance(one, BegunEntry) for one in at.entries):
            assert at(*CONFIRM)[0] == 0
            commit(at.folder, "confirmed or not")
    assert at(*PAPER)[0] == 0
    said = " ".join(at(*REPORT, "--verbose")[1].split())
    assert "Warning: on the new seeds of earlier ones of its 2 confirmations it came out" in said


@pytest.mark.slow
def test_a_confirmation_of_a_claim_that_is_gone_silences_no_warning(at: Place) -> None:
    """The defect: a claim on the same measurement was confirmed beside it, and then deleted."""
    audit = yaml.safe_load((at.audits / "mini.yaml").read_text(encoding="utf-8"))
    wide = {**audit["claims"][0], "id": "mini.wide", "statement": "Wide."}
    wide["checks"] = [{**wide["checks"][0], "at_most": 30}]
    narrow = at.audits / "mini.yaml"
    text = narrow.read_text(encoding="utf-8")
    both = {**audit, "claims": [*audit["claims"], wide]}
    narrow.write_text(json.dumps(both, default=str), encoding="utf-8")
    worse_on_new_seeds(at)
    seal(at)
    assert at(*CONFIRM)[0] == 0
    narrow.write_text(text, encoding="utf-8")
    seal(at)
    assert at(*PAPER)[0] == 0
    said = " ".join(at(*REPORT, "--verbose")[1].split())
    assert ", as mini.wide" in said
    assert "Warning: on the new seeds of its last confirmation it came out" in said


def test_a_control_that_is_run_until_it_misses_is_warned_of(at: Place) -> None:
    """The defect: supported with 0 looks and no warning, after two vacuous results."""
    level = "settings.level * np.exp"
    lucky = (
        "(settings.level if settings.level < 0.5 or (HERE / 'luck').exists() else 0.03) * np.exp"
    )
    at.edit("mini.py", level, lucky)
    at.edit("mini.py", "import os\n", "import os\nfrom pathlib import Path\n")
    at.edit("mini.py", "EXPERIMENTS = {", "HERE = Path(__file__).parent\n\nEXPERIMENTS = {")
    for _ in range(2):
        assert at.card(*PAPER)["verdict"] == "vacuous"
        shutil.rmtree(at.folder / "runs")
    (at.audits / "luck").touch()
    last = at.card(*PAPER)
    assert (last["verdict"], last["looks"]) == ("supported", 0)
    said = " ".join(at(*REPORT, "--verbose")[1].split())
    assert f"Warning: {BY_THIS_RULE}, it came out vacuous" in said
    named = "  controls:\n  - experiment: descent\n"
    at.edit("mini.yaml", named, f"{named}    name: far\n")  # another rule, of the same question
    assert at(*PAPER)[0] == 0
    said = " ".join(at(*REPORT, "--verbose")[1].split())
    assert f"Warning: {BY_THIS_RULE}, it came out vacuous" in said


def test_numbers_of_a_renamed_part_are_the_same_numbers(at: Place) -> None:
    """The defect: the history said "Other numbers", and nothing of the wider bound."""
    assert at(*PAPER)[0] == 0
    part = "name: distance\n    distance:\n      measurement: distance\n    at_most: 0.002"
    other = part.replace("name: distance", "name: Distance").replace("0.002", "0.1")
    at.edit("mini.yaml", part, other)
    shutil.rmtree(at.folder / "runs")
    assert at(*PAPER)[0] == 0
    said = " ".join(at(*REPORT, "--verbose")[1].split())
    assert "tolerance of part 'Distance' of mini.contradicted, at_most: 0.002 → 0.1" in said
    assert "The same numbers, judged by the rule of" in said
    assert "Other numbers" not in said


@pytest.mark.slow
def test_another_audit_of_the_paper_is_told_though_the_report_is_remembered(
    sealed: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer from memory lacked the other audit: no file of it was watched."""
    monkeypatch.setattr(memo, "SETTLED", -(10**12))
    second = sealed.audits / "mini2.yaml"
    text = (sealed.audits / "mini.yaml").read_text(encoding="utf-8")
    second.write_text(text.replace("mini.", "mini2.").replace("slug: mini", "slug: mini2"))
    shutil.copy(sealed.audits / "mini.py", sealed.audits / "mini2.py")
    assert sealed(*PAPER)[0] == 0
    for _ in range(2):
        assert "other audits of the same paper" not in sealed(*REPORT, "--verbose")[1]
    elsewhere = ["--audits", str(sealed.audits), "--store", str(sealed.folder / "runs2")]
    assert run_command(["run", "mini2", "--tier", "paper", *elsewhere]) == 0
    said = " ".join(sealed(*REPORT, "--verbose")[1].split())
    assert "other audits of the same paper: mini2, with 1 recorded result" in said


def moved(place: Place, before: str, after: str, folder: Path) -> None:
    """Takes an audit and its module to another name or folder, and leaves the chain behind."""
    folder.mkdir(exist_ok=True)
    for ending in ("yaml", "py"):
        old = place.audits / f"{before}.{ending}"
        text = old.read_text(encoding="utf-8").replace(f"slug: {before}", f"slug: {after}")
        (folder / f"{after}.{ending}").write_text(text.replace(f"{before}.", f"{after}."))
        old.unlink()
    commit(place.folder, "moved")


def test_the_chain_that_a_renamed_audit_left_behind_is_told(at: Place) -> None:
    """The defect: its audit was gone and its chain was not, so that neither was looked for."""
    at.card(*PAPER)
    commit(at.folder, "results")
    moved(at, "mini", "mini2", at.audits)
    assert at.file.is_file()
    told = at.card("run", "mini2", "--tier", "paper")["history"]
    assert (
        "There are other audits of the same paper: mini, with 1 recorded result and 1 begun run."
        in told
    )


@pytest.mark.parametrize("way", ["copied", "moved", "moved after the first commit"])
def test_an_audit_in_another_folder_begins_no_chain_anew(at: Place, way: str) -> None:
    """The defect: a folder beside it, at the same commit, had no looks before.

    Nor do settings of git hide what its first commit has.
    """
    is_kept = way == "copied"
    at.card(*PAPER)
    if way == "moved after the first commit":
        shutil.rmtree(at.folder / ".git")
        git(at.folder, "init", "-q")
        git(at.folder, "config", "log.showRoot", "false")
    commit(at.folder, "results")
    looks = at.card(*REPORT)["looks"]
    moved(at, "mini", "mini", at.folder / "second")
    if not is_kept:
        git(at.folder, "mv", str(at.file), str(at.folder / "old.txt"))
        commit(at.folder, "put away")
    at.audits = at.folder / "second"
    loosen(at, "0.12")
    assert "found no entry" in at.refused(*PAPER), "the store has seen the chain"
    shutil.rmtree(at.folder / "runs")
    card = at.card(*PAPER)
    assert card["looks"] > looks
    assert any(one.startswith("Other branches or folders") for one in card["history"])


@pytest.mark.slow
def test_an_audit_of_another_name_and_folder_is_told(at: Place) -> None:
    at.card(*PAPER)
    commit(at.folder, "results")
    moved(at, "mini", "mini2", at.folder / "second")
    at.audits = at.folder / "second"
    told = at.card("run", "mini2", "--tier", "paper")["history"]
    assert any("the same paper: mini in audits, with 1 recorded" in one for one in told)


def test_a_chain_is_no_symbolic_link(at: Place) -> None:
    """The defect: git was asked for the history of what the link led to, which had none."""
    at.card(*PAPER)
    commit(at.folder, "results")
    folder = at.file.parent
    folder.rename(at.folder / "elsewhere")
    folder.symlink_to(at.folder / "elsewhere")
    assert "expected the chain of seals itself" in at.refused(*PAPER)
    assert "found a symbolic link" in " ".join(at.refused(*REPORT).split())


def test_code_of_a_paper_that_no_commit_has_is_not_confirmed(at: Place) -> None:
    """The defect: a helper beside the module was ignored by git, and computed the numbers."""
    (at.audits / "mini_helper.py").write_text("LEVEL = 1.0\n")
    at.edit("mini.py", "EXPERIMENTS", "from mini_helper import LEVEL\n\nEXPERIMENTS")
    with (at.folder / ".gitignore").open("a") as file:
        file.write("mini_helper.py\n")
    seal(at)
    assert "mini_helper.py is not committed" in at.refused(*CONFIRM)
    git(at.folder, "add", "-f", "audits/mini_helper.py")
    commit(at.folder, "the helper, too")
    assert at(*CONFIRM)[0] == 0
