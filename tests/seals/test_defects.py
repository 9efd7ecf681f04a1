"""Ways to a verdict that looks untouched, each tried on the paper in miniature, and each shown."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from chains import commit, git
from places import CONFIRM, PAPER, Place

from reproaudit.errors import UsageError
from reproaudit.running.memo import memo_folder
from reproaudit.seals import kept, past_code
from reproaudit.seals.chain import read_chain
from reproaudit.seals.entries import ChangeEntry, ResultEntry, RunEntry, SealEntry

REPORT = ("report", "mini", "--tier", "paper", "--format", "terminal", "--verbose")


def loosen(place: Place, before: str = "0.1", after: str = "0.12") -> None:
    place.edit("mini.yaml", f"at_most: {before}", f"at_most: {after}")


def claims(place: Place, *arguments: str) -> dict[str, dict[str, Any]]:
    """The claims of the scorecard that a command prints, by id."""
    code, out, errors = place(*arguments, "--json")
    assert code == 0, errors
    return {one["id"]: one for one in json.loads(out)["claims"]}


def page(place: Place) -> str:
    """What a report prints, on one line."""
    code, out, _ = place(*REPORT)
    assert code == 0
    return " ".join(out.split())


# --- a rule that is changed after its result, and run again ---------------------------------------


def no_git(place: Place) -> None:
    shutil.rmtree(place.folder / ".git")


@pytest.mark.parametrize("prepare", [lambda _: None, no_git], ids=["in git", "outside git"])
def test_a_rule_that_is_loosened_and_run_again_is_a_look(
    at: Place, prepare: Callable[[Place], None]
) -> None:
    prepare(at)
    assert at.card(*PAPER)["looks"] == 0
    loosen(at)
    again = at.card(*PAPER)
    assert again["looks"] == 1
    assert "sealed by the run that followed" in again["history"][0]
    assert "at_most: 0.1 → 0.12" in again["history"][0]
    assert "exploratory, 1 look before" in page(at)
    assert "at_most: 0.1 → 0.12" in page(at)
    seals = [one for one in at.entries if isinstance(one, SealEntry)]
    assert [one.by for one in seals] == ["run", "run"]
    assert seals[1].since == seals[0].rule


def test_a_reason_that_makes_a_short_control_count_is_a_look(at: Place) -> None:
    """The defect: it was sealed as wording, so that the claim was supported with 0 looks."""
    short = "Settings(0.8, settings.outcome, settings.steps // 2, 0.0)"
    before = '    if settings.outcome == "fails":'
    at.edit(
        "mini.py",
        before,
        f"    settings = {short} if settings.level == 0.8 else settings\n{before}",
    )
    first = at.card(*PAPER)
    assert first["verdict"] == "inconclusive"
    assert "gives no reason for another scale" in first["why"]
    reason = "    scale_reason: It settles in a tenth of the steps.\n"
    at.edit("mini.yaml", "    why: ends at 0.8\n", f"    why: ends at 0.8\n{reason}")
    again = at.card(*PAPER)
    assert (again["verdict"], again["looks"]) == ("supported", 1)
    assert again["rule_hash"] != first["rule_hash"]
    told = "control '1' of mini.supported, scale reason: nothing → given"
    assert told in " ".join(again["history"])
    assert told in page(at)
    at.edit("mini.yaml", "in a tenth of the steps", "by the tenth step")
    reworded = at.card(*PAPER)
    assert (reworded["looks"], reworded["rule_hash"]) == (1, again["rule_hash"])


def test_the_first_seal_enters_what_was_committed_and_what_was_not(
    at: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:  # a result that is known from a committed report alone
        patch.setattr(kept.Chains, "is_read_only", True)
        scorecard = at(*PAPER, "--json")[1]
    shutil.rmtree(at.folder / "runs")
    file = at.folder / "reports" / "paper" / "mini" / "scorecard.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(scorecard)
    commit(at.folder, "the report")
    loosen(at)
    commit(at.folder, "a wider bound")
    loosen(at, "0.12", "0.13")
    assert at("seal", "mini")[0] == 0
    first, second = at.card(*PAPER)["history"][:2]
    assert "after results had been seen, reconstructed from git" in first
    assert "at_most: 0.1 → 0.12. Commit: “a wider bound”." in first
    assert "at_most: 0.12 → 0.13" in second
    assert at.card(*PAPER)["looks"] == 2


def test_a_shallow_clone_cannot_begin_a_chain(at: Place, tmp_path: Path) -> None:
    commit(at.folder)
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{at.folder}", str(clone))
    at.audits, at.file = clone / "audits", clone / "audits" / "seals" / "mini.jsonl"
    for command in (("seal", "mini"), PAPER):
        assert "shallow" in at.refused(*command)
    assert not at.file.exists()


# --- code that judges or computes, changed between commits ---------------------------------------


def test_changed_code_is_read_from_git(at: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = at.folder / "src" / "reproaudit"
    for name in ("stats", "checks", "judging", "multiverse", "lab"):
        (ours / name).mkdir(parents=True)
        (ours / name / "__init__.py").write_text("")
    (ours / "__init__.py").write_text("")
    (ours / "lab" / "seeds.py").write_text("STREAM = 1\n")
    (ours / "judging" / "__init__.py").write_text("from reproaudit.stats import LEVEL\n")
    (ours / "stats" / "__init__.py").write_text("LEVEL = 0.05\n")
    commit(at.folder, "our code")
    (ours / "stats" / "__init__.py").write_text("LEVEL = 0.05  # a comment\n")
    commit(at.folder, "a comment")
    (ours / "stats" / "__init__.py").write_text("LEVEL = 0.5\n")
    commit(at.folder, "another level")
    at.edit("mini.py", '"end"', '"other"')
    (ours / "lab" / "seeds.py").write_text("STREAM = 2\n")
    commit(at.folder, "another stream")
    monkeypatch.setattr(past_code, "PACKAGE", ours)
    code, out, _ = at("seal", "mini", "--reconstruct")
    assert code == 0
    assert "a comment" not in out
    told = {
        entry.why: [one.what for one in entry.what]
        for entry in read_chain(at.file, "mini")
        if isinstance(entry, ChangeEntry)
    }
    assert told.pop("The first audit: the paper") == []
    assert len(told.pop("our code")) == 1, "what the module imports is another file now"
    judges = "code that judges: checks, statistics or verdicts (src/reproaudit/stats/__init__.py)"
    computes = "code that computes the measurements (audits/mini.py)"
    stream = "how a seed becomes random numbers (src/reproaudit/lab/seeds.py)"
    assert told == {
        "another level": [judges],
        "another stream": [computes, f"random stream: {stream}"],
    }
    before = at.file.read_bytes()
    assert "0 entries added" in at("seal", "mini", "--reconstruct")[1]
    assert at.file.read_bytes() == before


# --- a claim that gets another id, or goes ------------------------------------------------------


@pytest.mark.parametrize("statement", ["The distance vanishes (supported).", "It goes to zero."])
@pytest.mark.parametrize("between", [False, True], ids=["renamed", "taken away and added again"])
def test_another_id_does_not_clear_the_history(at: Place, statement: str, between: bool) -> None:
    text = (at.audits / "mini.yaml").read_text()
    claims(at, *PAPER)
    start, end = text.index("- id: mini.supported"), text.index("- id: mini.contradicted")
    if between:
        (at.audits / "mini.yaml").write_text(text[:start] + text[end:])
        gone = claims(at, *PAPER)["mini.vacuous"]
        assert any("mini.supported was taken away" in one for one in gone["history"])
    claim = text[start:end].replace("mini.supported", "mini.fresh")
    claim = claim.replace("The distance vanishes (supported).", statement)
    claim = claim.replace("at_most: 0.1", "at_most: 0.12")
    (at.audits / "mini.yaml").write_text(text[:start] + claim + text[end:])
    fresh = claims(at, *PAPER)["mini.fresh"]
    assert fresh["looks"] >= 1
    history = " ".join(fresh["history"])
    how = "makes the same statement" if "vanishes" in statement else "reads the same measurements"
    assert f"claim mini.supported was taken away, and mini.fresh {how}" in history
    assert ", as mini.supported, gave supported" in history
    assert "claim mini.supported was taken away" in page(at)
    assert "; 1 claim that had results is no longer in the audit" in page(at)


def test_a_claim_that_had_a_result_and_is_gone_is_told_of(at: Place) -> None:
    claims(at, *PAPER)
    text = (at.audits / "mini.yaml").read_text()
    start, end = text.index("- id: mini.inconclusive"), text.index("- id: mini.vacuous")
    (at.audits / "mini.yaml").write_text(text[:start] + text[end:])
    for one in claims(at, *PAPER).values():
        (told,) = [sentence for sentence in one["history"] if "another claim" in sentence]
        assert told.startswith("This audit had another claim, mini.inconclusive, which was taken")
        assert "inconclusive (decision" in told
    assert "; 1 claim that had results is no longer in the audit" in page(at)


# --- numbers that are seen before a run has ended ------------------------------------------------


@pytest.mark.parametrize(
    ("look", "tier"),
    [
        (("run", "mini", "--tier", "paper", "--seeds", "0-2"), "custom"),
        (("run", "mini", "--tier", "paper", "--set", "steps=40"), "custom"),
        (("run", "mini", "--tier", "quick"), "quick"),
    ],
)
def test_paper_tier_cells_of_another_tier_are_a_look(
    at: Place, look: tuple[str, ...], tier: str
) -> None:
    assert at(*look)[0] == 0
    assert not at.file.exists(), "what is beside the audit is left to runs of the paper tier"
    loosen(at)
    assert at(*look)[0] == 0
    shown = at.card(*PAPER)
    assert shown["looks"] >= 1
    assert f"A {tier} run, begun on " in " ".join(shown["history"])
    assert f"A {tier} run, begun on" in page(at)


@pytest.mark.parametrize(
    "look",
    [("run", "mini", "--tier", "paper", "--seeds", "0-2"), ("run", "mini", "--tier", "quick")],
    ids=["custom", "quick"],
)
def test_streams_that_are_tried_in_other_runs_and_the_best_put_back_are_looks(
    at: Place, look: tuple[str, ...]
) -> None:
    """The defect: only the rule that judges was compared, and the stream was the same again."""
    draw, before = 'generator(seed, "{}")', "end"
    for stream in ("second", "third", "end"):
        assert at(*look)[0] == 0
        at.edit("mini.py", draw.format(before), draw.format(stream))
        before = stream
    shown = at.card(*PAPER)
    assert shown["looks"] == 2 + 1, "three streams, and the one that was put back"
    told = " ".join(shown["history"])
    assert told.count("its rule or code was another than before") == 3
    assert "its rule or code was another than before" in page(at)


def test_a_seal_of_other_words_explains_no_other_stream(at: Place) -> None:
    """The defect: any seal between two runs stood for whatever code had changed."""
    tried = ("run", "mini", "--tier", "paper", "--seeds", "0-2")
    assert at(*tried)[0] == 0
    draw, reason = 'generator(seed, "{}")', "A tenth of the distance at the start."
    for stream in ("second", "third"):
        at.edit("mini.yaml", reason, f"{reason}!")
        assert at("seal", "mini", "--why", "words")[0] == 0
        at.edit("mini.py", draw.format("end"), draw.format(stream))
        assert at(*tried)[0] == 0
        at.edit("mini.py", draw.format(stream), draw.format("end"))
        reason += "!"
    at.edit("mini.yaml", reason, f"{reason}!")
    assert at("seal", "mini", "--why", "words")[0] == 0
    assert at.card(*PAPER)["looks"] == 3, "two streams, and the one that was put back"


def test_an_ablation_that_is_shopped_for_at_the_quick_tier_is_a_look(at: Place) -> None:
    """The defect: a control at quick scale was computed by other runs, and nothing told of it."""
    scaled = "\n    quick:\n      value: 30\n      reason: It is quick.\n  pause:"
    at.edit("mini.yaml", "\n  pause:", scaled)
    file = at.audits / "mini.yaml"
    reasons = re.sub(
        r"^( *)(why: ends at)", r"\1scale_reason: So is it.\n\1\2", file.read_text(), flags=re.M
    )
    file.write_text(reasons)
    quick = ("run", "mini", "--tier", "quick")
    assert at(*quick)[0] == 0
    at.edit("mini.yaml", "level: 0.8", "level: 0.9")
    assert at(*quick)[0] == 0
    shown = at.card(*PAPER)
    assert shown["looks"] >= 1
    assert any("A quick run, begun on " in one for one in shown["history"])


def test_versions_of_code_that_made_seeds_before_they_were_listed_are_looks(at: Place) -> None:
    draw, before = 'generator(seed, "{}")', "end"
    for stream in ("second", "third"):
        assert at("run", "mini", "--tier", "paper", "--seeds", "7-9")[0] == 0
        at.edit("mini.py", draw.format(before), draw.format(stream))
        before = stream
    at.edit("mini.yaml", "  - 5\n", "  - 7\n")
    shown = at.card(*PAPER)
    assert shown["looks"] >= 2
    (told,) = [one for one in shown["history"] if "runs of another tier had computed" in one]
    assert told.endswith("listed since, with 2 versions of its code.")


def test_seeds_that_were_seen_before_they_were_listed_are_a_look(at: Place) -> None:
    """Many seeds in custom runs, and the best of them into the audit."""
    assert at("run", "mini", "--tier", "paper", "--seeds", "7-9")[0] == 0
    at.edit("mini.yaml", "  - 5\n", "  - 7\n")
    for _ in range(2):  # told once, however often it is run
        shown = at.card(*PAPER)
        assert shown["looks"] >= 1
        assert " ".join(shown["history"]).count("runs of another tier had computed cells") == 1


def test_seeds_that_a_smaller_tier_has_seen_are_a_look_once_they_are_listed(at: Place) -> None:
    """The defect: a smoke tier as large as the paper tier, with many seeds, left no trace."""
    at.edit("mini.yaml", "    smoke:\n      value: 5\n      reason: It runs.\n", "")
    at.edit("mini.yaml", "  smoke:\n  - 0\n", "  smoke: [17, 18, 19]\n")
    assert at("run", "mini", "--tier", "smoke")[0] == 0
    assert not at.entries
    at.edit("mini.yaml", "  - 5\n", "  - 17\n")
    for _ in range(2):
        shown = at.card(*PAPER)
        assert shown["looks"] >= 1
        assert " ".join(shown["history"]).count("runs of another tier had computed cells") == 1


def test_records_of_custom_runs_that_are_gone_are_missed(at: Place) -> None:
    """The defect: the seeds that were seen were forgotten with the records of custom runs alone."""
    assert at("run", "mini", "--tier", "paper", "--seeds", "7-9")[0] == 0
    shutil.rmtree(at.folder / "runs" / "mini" / "custom")
    at.edit("mini.yaml", "  - 5\n", "  - 7\n")
    at.card(*PAPER)
    told = at.card(*REPORT)["history"]
    assert any("not here: 6 of custom runs." in one for one in told)


def test_a_custom_run_of_listed_cells_is_no_look_while_nothing_changes(at: Place) -> None:
    assert at("run", "mini", "--tier", "paper", "--seeds", "0-2")[0] == 0
    shown = at.card(*PAPER)
    assert shown["looks"] == 0
    assert "runs of another tier had computed" not in " ".join(shown["history"])


def test_a_control_with_other_numbers_than_were_recorded_is_told(
    at: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The chain keeps a claim's own numbers; a hash of all records covers its controls as well."""
    told = "with those of its controls, are of no recorded result"
    assert told not in " ".join(at.card(*PAPER)["history"])
    assert told not in page(at)
    monkeypatch.setattr("reproaudit.commands.disclosing.digest_of_records", lambda _: "f" * 64)
    shutil.rmtree(memo_folder())
    assert told in page(at)


def test_a_custom_run_at_other_values_is_no_look(at: Place) -> None:
    at("run", "mini", "--tier", "paper", "--set", "steps=39")
    at("run", "mini", "--tier", "paper", "--seeds", "7-9")
    assert not (at.folder / "runs" / "seals.mini.jsonl").exists()


def test_a_run_that_was_cut_off_is_a_look(at: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it had computed, a report may have shown before the rule was changed."""

    def cut(*_: object) -> None:
        raise UsageError("cut off")

    with monkeypatch.context() as patch:
        patch.setattr("reproaudit.commands.run.run_tier", cut)
        assert "cut off" in at.refused(*PAPER)
    assert isinstance(at.entries[-1], RunEntry)
    loosen(at)
    shown = at.card(*PAPER)
    assert shown["looks"] == 1
    assert "after a run had begun whose numbers may have been seen" in shown["history"][0]


def test_a_run_that_was_cut_off_and_goes_on_is_no_look(
    at: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut(*_: object) -> None:
        raise UsageError("cut off")

    with monkeypatch.context() as patch:
        patch.setattr("reproaudit.commands.run.run_tier", cut)
        at.refused(*PAPER)
    assert at.card(*PAPER)["looks"] == 0


# --- a run that fails by chance ------------------------------------------------------------------


def by_chance(place: Place, outcome: str) -> None:
    """The module ends so while the file `unlucky` is there, which no rule knows of."""
    chance = f'Path({str(place.folder)!r}, "unlucky").exists()'
    unlucky = f'Settings(settings.level, "{outcome}", settings.steps, 0.0)'
    before = '    if settings.outcome == "fails":'
    place.edit("mini.py", before, f"    settings = {unlucky} if {chance} else settings\n{before}")
    place.edit("mini.py", "import os\n", "import os\nfrom pathlib import Path\n")
    assert place("seal", "mini")[0] == 0
    commit(place.folder)
    (place.folder / "unlucky").touch()


def unlucky(place: Place, *arguments: str) -> dict[str, Any]:
    """The supported claim, as a run shows it of which cells may have failed."""
    found: dict[str, Any] = json.loads(place(*arguments, "--json")[1])["claims"][0]
    return found


@pytest.mark.parametrize(
    ("outcome", "more"), [("fails", ()), ("diverges", ("--fresh",))], ids=["fails", "diverges"]
)
def test_a_run_that_fails_by_chance_until_it_is_supported(
    at: Place, outcome: str, more: tuple[str, ...]
) -> None:
    """The defect: failed cells are run again, and nothing said how often they had been."""
    by_chance(at, outcome)
    for looks in (0, 1):
        failed = unlucky(at, *PAPER, *more)
        assert (failed["verdict"], failed["looks"]) == ("technical_failure", looks)
    (at.folder / "unlucky").unlink()
    shown = at.card(*PAPER, *more)
    assert (shown["verdict"], shown["looks"]) == ("supported", 2)
    (sentence,) = [one for one in shown["history"] if "failed" in one]
    assert sentence.startswith("2 runs that failed or diverged, the last recorded on ")
    assert sentence in page(at)
    assert at.card(*PAPER)["looks"] == 2, "nothing was run again"


def test_the_default_of_a_multiverse_that_fails_by_chance_is_told(at: Place) -> None:
    """Without a second for an alternative, it tries the paper tier's own cells alone."""
    by_chance(at, "fails")
    for _ in range(2):
        assert at("multiverse", "mini", "--tier", "paper", "--budget", "0s")[0] == 3
    (at.folder / "unlucky").unlink()
    assert at.card(*PAPER)["looks"] == 2


def test_a_run_that_diverged_and_is_only_judged_again_is_one_look(at: Place) -> None:
    by_chance(at, "diverges")
    before = at.entries
    for _ in range(2):
        assert unlucky(at, *PAPER)["looks"] == 0
    assert len(at.entries) == len(before) + 2, "a beginning and a result"


def test_a_confirmation_that_fails_by_chance_is_told(at: Place) -> None:
    """It has no result yet, and is tried again; the defect was that nobody knew how often."""
    by_chance(at, "fails")
    assert at(*CONFIRM)[0] == 3
    failed = at.entries[-1]
    assert isinstance(failed, ResultEntry)
    assert not failed.confirmation
    assert {one.verdict for one in failed.claims.values()} == {"technical_failure"}
    (at.folder / "unlucky").unlink()
    shown = at.card(*CONFIRM)
    assert (shown["verdict"], shown["status"], shown["looks"]) == ("supported", "exploratory", 1)
    assert any(one.startswith("A run that failed or diverged") for one in shown["history"])
    told = "of which cells failed in one try, so that it confirms nothing: supported"
    assert any(told in one for one in shown["history"])
    assert at.card(*PAPER)["status"] == "exploratory"
    assert at("seal", "mini", "--verify")[0] == 0


# --- a chain that is removed or cut short --------------------------------------------------------


def check(place: Place) -> tuple[int, str]:
    code, out, _ = place("check", str(place.audits / "mini.yaml"))
    return code, out


def missed(place: Place) -> None:
    """Every command misses the chain, in one line."""
    code, out = check(place)
    assert code == 2
    assert "[RA019]" in out
    for command in (PAPER, ("run", "mini", "--tier", "quick"), REPORT, ("seal", "mini")):
        assert str(place.file) in place.refused(*command)


def removed(file: Path) -> None:
    file.unlink()


def cut_short(file: Path) -> None:
    file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[:-1]))


@pytest.mark.parametrize("act", [removed, cut_short])
@pytest.mark.parametrize("where", ["git", "git, committed", "store", "store and git"])
def test_a_chain_that_is_removed_or_cut_short_is_missed(
    at: Place, act: Callable[[Path], None], where: str
) -> None:
    if where == "store":
        no_git(at)
    at.card(*PAPER)
    whole = at.file.read_bytes()
    if where.startswith("git"):
        commit(at.folder, "results")
        shutil.rmtree(at.folder / "runs")
        at.card(*PAPER)
    act(at.file)
    if where == "git, committed":
        commit(at.folder, "nothing to see")
    missed(at)
    at.file.write_bytes(whole)
    assert check(at)[0] == 0
    assert at(*REPORT)[0] == 0


def test_a_chain_on_another_branch_is_not_missed(at: Place) -> None:
    git(at.folder, "checkout", "-q", "-b", "side")
    at.card(*PAPER)
    commit(at.folder, "results")
    git(at.folder, "checkout", "-q", "-")
    assert not at.file.exists()
    assert check(at)[0] == 0
    assert at(*REPORT)[0] == 0


@pytest.mark.parametrize("cut", [True, False])
def test_a_control_that_is_judged_before_its_training_ended_is_told(at: Place, cut: bool) -> None:
    """The defect: its series ended early, so that it missed, and only the picture showed it."""
    early = "{n: type(s)(steps=s.steps[:3], values=s.values[:3]) for n, s in one.items()}"
    ends = f"({early} if {cut} and settings.level > 0.5 else one)"
    at.edit("mini.py", "Measurements(series=one,", f"Measurements(series={ends},")
    assert at(*PAPER)[0] == 0
    said = "What is judged ends before its training: 'distance' ends at step 4 of 40 in 5 of 5"
    assert (f"Warning: {said} runs of control 1" in page(at)) is cut


def test_a_contradicted_claim_that_is_less_sure_by_other_words_is_warned_of(at: Place) -> None:
    """The defect: a stated setting was called a recalled one, and the contradiction went away."""
    assert claims(at, *PAPER)["mini.contradicted"]["verdict"] == "contradicted"
    commit(at.folder, "a result")
    at.edit("mini.yaml", "source: paper\n", "source: recalled\n")
    told = claims(at, *PAPER)["mini.contradicted"]
    assert told["verdict"] == "inconclusive"
    assert any(one.startswith("An earlier result was contradicted (") for one in told["history"])


@pytest.mark.parametrize(("factor", "is_told"), [("10", True), ("1", False)])
def test_runs_beyond_their_stated_steps_are_told(at: Place, factor: str, is_told: bool) -> None:
    """The defect: ten times the stated steps were "exact: the paper's scale"."""
    at.edit("mini.py", "steps=settings.steps,", f"steps={factor} * settings.steps,")
    at.edit("mini.py", "range(0, settings.steps + 1,", f"range(0, {factor} * settings.steps + 1,")
    history = claims(at, *PAPER)["mini.supported"]["history"]
    assert any(one.endswith("400 in place of 40 in 6 of 6 runs.") for one in history) is is_told


def test_records_of_code_before_the_last_seal_are_warned_of(sealed: Place) -> None:
    """The defect: a verdict stood beside code that had made none of its numbers."""
    other = "The records are of other code than today's"
    assert not any(other in one for one in sealed.card(*PAPER)["history"])
    sealed.edit("mini.py", 'generator(seed, "end")', 'generator(seed % 2, "end")')
    assert sealed("seal", "mini", "--why", "another stream")[0] == 0
    report = " ".join(sealed("report", "mini", "--tier", "paper", "--verbose")[1].split())
    assert f"Warning: {other}" in report


@pytest.mark.parametrize("again", [False, True])
def test_a_rule_that_is_changed_after_a_confirmation_is_told(sealed: Place, again: bool) -> None:
    """The defect: it was changed "before the first recorded result", as own seeds had none."""
    assert sealed(*CONFIRM)[0] == 0
    commit(sealed.folder, "confirmed")
    sealed.edit("mini.yaml", "at_most: 0.1\n", "at_most: 0.03\n")
    assert sealed("seal", "mini", "--why", "stated more strictly")[0] == 0
    commit(sealed.folder, "another bound")
    if again:
        assert sealed(*CONFIRM)[0] == 0
        commit(sealed.folder, "confirmed again")
    told = sealed.card(*PAPER)["history"]
    changed = [one for one in told if "after results had been seen: tolerance" in one]
    assert len(changed) == 1
    assert "at_most: 0.1 → 0.03. Reason given: “stated more strictly”." in changed[0]
    assert not any("before the first recorded result" in one for one in told)
