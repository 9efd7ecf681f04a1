"""`reproaudit seal` and `run --confirm` on a paper in miniature, from the first run to the last."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from chains import commit, git
from places import CONFIRM, PAPER, Place

from miniatures import finish, program
from reproaudit.cli import run_command
from reproaudit.commands import confirm
from reproaudit.seals import kept
from reproaudit.seals.entries import BegunEntry, ResultEntry, RunEntry, SealEntry

# --- sealing ------------------------------------------------------------------------------------


def test_a_seal_says_what_changed_and_wants_to_know_why(sealed: Place) -> None:
    assert "nothing changed since the seal" in sealed("seal", "mini")[1]
    sealed.edit("mini.yaml", "at_most: 0.1", "at_most: 0.12")
    assert "Say why: --why TEXT" in sealed.refused("seal", "mini")
    code, out, _ = sealed("seal", "mini", "--why", "The old one was too strict.")
    assert code == 0
    assert "tolerance of part 'distance' of mini.supported, at_most: 0.1 → 0.12" in out
    assert "It is look 2. A confirmation of it spends 0.0076 of the error, on 8 seeds." in out
    first, second = sealed.entries
    assert isinstance(first, SealEntry)
    assert isinstance(second, SealEntry)
    assert first.rule != second.rule
    assert second.why == "The old one was too strict."
    assert second.revision == f"{git(sealed.folder, 'rev-parse', 'HEAD').strip()}+dirty"


def test_a_changed_reason_is_shown_as_such_and_is_no_look(sealed: Place) -> None:
    sealed.edit("mini.yaml", "A tenth of the distance at the start.", "Other words.")
    out = json.loads(sealed("seal", "mini", "--why", "clearer", "--json")[1])
    assert (out["new_rule"], out["look"]) == (False, 1)
    first, second = sealed.entries
    assert isinstance(first, SealEntry)
    assert isinstance(second, SealEntry)
    assert (first.rule, second.change, second.what) == (second.rule, {}, ())
    assert first.text != second.text


def test_changed_code_is_another_rule_and_a_comment_is_not(sealed: Place) -> None:
    sealed.edit("mini.py", "from __future__", "# a comment\nfrom __future__")
    assert "nothing changed" in sealed("seal", "mini")[1]
    sealed.edit("mini.py", '"end"', '"other"')
    out = sealed("seal", "mini", "--why", "another stream")[1]
    assert "code that computes the measurements" in out
    assert "look 2" in out


def test_check_warns_of_what_is_not_sealed(sealed: Place) -> None:
    file = str(sealed.audits / "mini.yaml")

    def check() -> list[dict[str, str]]:
        assert run_command(["check", file, "--json"]) == 0
        found = json.loads(sealed._capsys.readouterr().out)
        return [one for one in found if one["rule"] == "RA018"]

    assert check() == []
    sealed.edit("mini.yaml", "at_most: 0.1", "at_most: 0.12")
    (fault,) = check()
    assert fault["severity"] == "warning"
    assert "tolerance of part 'distance' of mini.supported" in fault["message"]
    assert "reproaudit seal mini" in fault["remedy"]
    sealed("seal", "mini", "--why", "x")
    assert check() == []
    sealed.edit("mini.yaml", "A tenth of the distance at the start.", "Other words.")
    assert "the wording" in check()[0]["message"]


def test_a_damaged_chain_is_one_line_everywhere(sealed: Place) -> None:
    text = sealed.file.read_bytes()
    sealed.file.write_bytes(text.replace(b'"why":""', b'"why":"no"'))
    for command in (("seal", "mini"), PAPER, CONFIRM):
        assert "does not have the hash that it states" in sealed.refused(*command)
    code = run_command(["check", str(sealed.audits / "mini.yaml")])
    assert code == 2
    assert "[RA019]" in sealed._capsys.readouterr().out
    code, out, _ = sealed("seal", "mini", "--verify")
    assert code == 2
    assert "does not have the hash" in out
    assert "lacks or changes something that is committed" in out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("seal",), "name one paper"),
        (("seal", "minj"), "unknown paper 'minj'"),
        (("seal", "mini", "--verify", "--why", "x"), "exclude each other"),
        (("seal", "mini", "--strict"), "--strict goes with --verify"),
        (("run", "mini", "--confirm"), "give --tier paper"),
        ((*CONFIRM, "--seeds", "1-5"), "neither --seeds"),
        ((*CONFIRM, "--set", "steps=3"), "neither --seeds"),
        (CONFIRM, "found no seal. Seal it with: reproaudit seal mini"),
    ],
)
def test_mistakes_are_one_line(at: Place, arguments: tuple[str, ...], says: str) -> None:
    assert says in at.refused(*arguments)
    assert not at.file.exists()


# --- verifying ----------------------------------------------------------------------------------


def test_verify_holds_the_chain_against_git(sealed: Place) -> None:
    code, out, _ = sealed("seal", "mini", "--verify", "--strict")
    assert (code, out) == (0, "mini: 2 entries, 1 rules sealed, no faults\n")
    lines = sealed.file.read_bytes()
    sealed.edit("mini.yaml", "at_most: 0.1", "at_most: 0.12")
    sealed("seal", "mini", "--why", "x")
    commit(sealed.folder)
    sealed.file.write_bytes(lines)  # a whole chain, which hides the second seal
    found = json.loads(sealed("seal", "mini", "--verify", "--json")[1])["mini"]
    assert "Put it back: git checkout" in found["faults"][0]
    assert "lacks or changes something that is committed" in found["faults"][1]


def test_without_history_only_strict_fails(sealed: Place) -> None:
    (sealed.folder / ".git").rename(sealed.folder / "git")
    code, _, errors = sealed("seal", "mini", "--verify")
    assert code == 0
    assert "mini: history not available" in errors
    assert sealed("seal", "mini", "--verify", "--strict")[0] == 2


# --- results and draws --------------------------------------------------------------------------


def test_a_result_is_recorded_once_for_each_set_of_records(at: Place) -> None:
    assert at.card(*PAPER)["looks"] == 0
    seal, begun, first = at.entries
    assert isinstance(seal, SealEntry)
    assert isinstance(begun, RunEntry)
    assert isinstance(first, ResultEntry)
    assert seal.by == "run"
    assert seal.rule == begun.rule == first.rule
    assert first.claims["mini.supported"].verdict == "supported"
    assert at.card(*PAPER)["looks"] == 0
    assert len(at.entries) == 3, "the same again says nothing new"
    at.edit("mini.py", "EXPERIMENTS = {", "MORE = 1\nEXPERIMENTS = {")
    at.card(*PAPER)
    kinds = [one.kind for one in at.entries[3:]]
    assert kinds == ["seal", "run begun"], "other code with the same bits is no other result"
    before = at.entries
    at("run", "mini", "--tier", "quick")
    assert at.entries == before, "a smaller tier is not recorded"


def test_a_changed_stream_is_a_draw_beside_the_old_one(at: Place) -> None:
    """The defect that gave rise to seals: other draws under the same rule, and nothing said so."""
    before = at.card(*PAPER)
    at.edit("mini.py", '"end"', '"other"')
    after = at.card(*PAPER)
    assert before["rule_hash"] == after["rule_hash"]
    assert before["per_seed"] != after["per_seed"]
    assert (before["looks"], after["looks"]) == (0, 1)
    changed, sentence, *_ = after["history"]
    assert changed.endswith("sealed by the run that followed: code that computes the measurements.")
    assert sentence.startswith("Other numbers, recorded on ")
    assert f"estimate {before['estimate']:.4g}" in sentence
    assert sum(isinstance(one, ResultEntry) for one in at.entries) == 2
    code, out, _ = at("report", "mini", "--tier", "paper", "--format", "terminal", "--verbose")
    assert code == 0
    assert "exploratory, 1 look before" in out
    assert "Other numbers" in out


def test_a_tolerance_that_is_loosened_after_a_result_is_told_unsealed_too(at: Place) -> None:
    at.card(*PAPER)
    at.edit("mini.yaml", "at_most: 0.1", "at_most: 0.12")
    shown = at.card("report", "mini", "--tier", "paper", "--format", "terminal")
    assert "Changed, and not sealed: tolerance of part 'distance'" in shown["history"][0]
    assert shown["looks"] == 1
    at("seal", "mini", "--why", "x")
    at.edit("mini.yaml", "at_most: 0.12", "at_most: 0.15")
    shown = at.card("report", "mini", "--tier", "paper", "--format", "terminal")
    (changed,) = [one for one in shown["history"] if "not sealed" in one]
    assert "at_most: 0.12 → 0.15" in changed
    same = "The same numbers, judged by the rule of "
    assert any(one.startswith(same) for one in shown["history"])
    assert shown["looks"] >= 1


def test_words_that_are_changed_and_not_sealed_are_told_on_every_page(at: Place) -> None:
    """The defect: `check` told of them alone, and a page showed the other reason as if sealed."""
    told = "(reasons, findings, titles, what measurements mean) were changed, and not sealed."
    report = ("report", "mini", "--tier", "paper", "--out", str(at.folder / "out"))

    def shown() -> dict[str, int]:
        """How often each page says so, whatever the width of its lines."""
        assert at(*report, "--format", "html,md,json")[0] == 0
        folder = at.folder / "out" / "paper" / "mini"
        pages = {one.suffix: one.read_text() for one in folder.glob("scorecard.*")}
        pages["terminal"] = at(*report, "--format", "terminal", "--verbose")[1]
        return {name: " ".join(text.split()).count(told) for name, text in pages.items()}

    before = at.card(*PAPER)
    assert set(shown().values()) == {0}
    at.edit("mini.yaml", "A tenth of the distance at the start.", "It is small.")
    after = at.card(*PAPER)
    assert after["looks"] == before["looks"]
    assert {*after["history"]} - {*before["history"]} == {
        f"Words and weights of this audit that decide no verdict {told}"
    }
    assert set(shown()) == {".html", ".md", ".json", "terminal"}
    assert all(shown().values()), shown()
    at("seal", "mini", "--why", "clearer")
    assert set(shown().values()) == {0}


def test_where_audits_cannot_be_written_the_store_keeps_results(
    sealed: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = sealed.file.read_bytes()
    monkeypatch.setattr(kept.Chains, "is_read_only", True)
    sealed.card(*PAPER)
    sealed.edit("mini.py", '"end"', '"other"')
    assert sealed.card(*PAPER)["looks"] >= 1
    assert sealed.file.read_bytes() == before
    stored = (sealed.folder / "runs" / "seals.mini.jsonl").read_bytes().splitlines()
    kinds = [json.loads(line)["kind"] for line in stored]
    assert kinds == ["run begun", "result", "seal", "run begun", "result"]
    assert json.loads(stored[0])["before"] == sealed.entries[-1].hash
    assert sealed("verify", "mini")[0] == 0, "the store has no fault by it"


# --- confirming ---------------------------------------------------------------------------------


def test_a_confirmation_runs_the_seals_own_seeds_once(sealed: Place) -> None:
    shown = sealed.card(*CONFIRM)
    seal, begun, result = sealed.entries
    assert isinstance(seal, SealEntry)
    assert isinstance(begun, BegunEntry)
    assert isinstance(result, ResultEntry)
    assert begun.rule == result.rule == seal.rule
    assert tuple(shown["seeds"]) == begun.seeds["paper"]
    assert len(shown["seeds"]) == 6, "five runs are never as rare as the error of the first look"
    assert not set(shown["seeds"]) & set(range(100))
    assert shown["interval"]["confidence"] == pytest.approx(1 - begun.error)
    assert begun.error == pytest.approx(0.05 * 0.6079271, rel=1e-6)
    assert (shown["status"], shown["looks"]) == ("confirmed", 0)
    assert sealed.card(*CONFIRM)["per_seed"] == shown["per_seed"], "it is shown again"
    assert len(sealed.entries) == 3
    assert sealed.card(*PAPER)["status"] == "confirmed"
    (sealed.folder / "runs").rename(sealed.folder / "moved")
    assert "a seal is confirmed once" in sealed.refused(*CONFIRM)


def test_an_exploratory_result_is_a_look_before_the_confirmation(sealed: Place) -> None:
    assert sealed.card(*PAPER)["status"] == "exploratory"
    shown = sealed.card(*CONFIRM)
    assert (shown["status"], shown["looks"]) == ("confirmed", 1)
    assert any("The audit's own seeds" in one for one in shown["history"])


def unsealed(place: Place) -> None:
    place.edit("mini.yaml", "at_most: 0.1", "at_most: 0.12")


def not_committed(place: Place) -> None:
    unsealed(place)
    place("seal", "mini", "--why", "x")


def dirty(place: Place) -> None:
    place.edit("mini.yaml", "A tenth of the distance", "A tenth of the length")


def dirty_code(place: Place) -> None:
    place.edit("mini.py", "from __future__", "# a comment\nfrom __future__")


def removed_from_git(place: Place) -> None:
    git(place.folder, "rm", "-q", "--cached", "audits/mini.py")
    git(place.folder, "commit", "-q", "-m", "x")


def no_git(place: Place) -> None:
    (place.folder / ".git").rename(place.folder / "git")


@pytest.mark.parametrize(
    ("act", "says"),
    [
        (unsealed, "another rule or other code than its last seal"),
        (not_committed, "is not committed"),
        (dirty, "differs from the commit"),
        (dirty_code, "differs from the commit"),
        (removed_from_git, "is not committed"),
        (no_git, "git cannot tell it here"),
    ],
)
def test_a_confirmation_needs_a_committed_seal_and_a_clean_tree(
    sealed: Place, act: Callable[[Place], None], says: str
) -> None:
    act(sealed)
    before = sealed.file.read_bytes()
    assert says in sealed.refused(*CONFIRM)
    assert sealed.file.read_bytes() == before, "nothing was begun"


@pytest.mark.slow
def test_an_interrupted_confirmation_counts_and_is_resumed(sealed: Place) -> None:
    sealed.edit("mini.yaml", "pause:\n    value: 0.0", "pause:\n    value: 0.002")
    sealed("seal", "mini", "--why", "slower")
    commit(sealed.folder)
    places = ["--audits", str(sealed.audits), "--store", str(sealed.folder / "runs")]
    process = program(*CONFIRM, *places, "--jobs", "1")
    until = time.monotonic() + 120
    while not list((sealed.folder / "runs").glob("mini/*/*/*.json")) and time.monotonic() < until:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    code, _, _ = finish(process)
    assert code == 130
    begun = sealed.entries[-1]
    assert isinstance(begun, BegunEntry), "it counts from its start"
    done = len(list((sealed.folder / "runs").glob("mini/*/*/*.json")))
    assert done > 0
    assert sealed.card(*PAPER)["status"] == "exploratory"
    shown = sealed.card(*CONFIRM)
    assert shown["status"] == "confirmed"
    assert tuple(shown["seeds"]) == begun.seeds["paper"]
    assert sum(isinstance(one, BegunEntry) for one in sealed.entries) == 1


def test_another_rule_is_another_look_with_other_seeds(sealed: Place) -> None:
    first = sealed.card(*CONFIRM)
    commit(sealed.folder)
    sealed.edit("mini.yaml", "at_most: 0.1", "at_most: 0.12")
    sealed("seal", "mini", "--why", "x")
    commit(sealed.folder)
    second = sealed.card(*CONFIRM)
    assert not set(first["seeds"]) & set(second["seeds"])
    assert (len(first["seeds"]), len(second["seeds"])) == (6, 8)
    assert second["interval"]["confidence"] == pytest.approx(1 - 0.05 * 0.6079271 / 4, rel=1e-6)
    told = [one for one in second["history"] if one.startswith("Confirmation")]
    assert len(told) == 2, "the earlier confirmation stays visible"
    assert "look 1 of 2" in told[0]
    assert second["looks"] >= 1


@pytest.mark.parametrize("flag", ["assume-unchanged", "skip-worktree"])
def test_files_that_git_was_told_not_to_look_at_are_not_confirmed(sealed: Place, flag: str) -> None:
    """The defect: a module was changed, confirmed, and put back, and git saw nothing of it."""
    git(sealed.folder, "update-index", f"--{flag}", "audits/mini.py")
    assert "mini.py differs from the commit" in sealed.refused(*CONFIRM)
    git(sealed.folder, "update-index", f"--no-{flag}", "audits/mini.py")
    assert sealed(*CONFIRM)[0] == 0


def test_a_filter_cannot_take_a_file_for_the_committed_one(sealed: Place, tmp_path: Path) -> None:
    """The defect: git's status ran a filter that gave out other code, and that was committed."""
    module = sealed.folder / "audits" / "mini.py"
    honest = tmp_path / "honest.py"
    honest.write_bytes(module.read_bytes() + b"# as committed\n")
    git(sealed.folder, "config", "filter.other.clean", f"cat {honest} #")
    attributes = sealed.folder / ".git" / "info" / "attributes"
    attributes.parent.mkdir(exist_ok=True)
    attributes.write_text("mini.py filter=other\n", encoding="utf-8")
    module.touch()
    commit(sealed.folder)
    assert git(sealed.folder, "status", "--porcelain") == ""
    assert "mini.py differs from the commit" in sealed.refused(*CONFIRM)


def test_a_number_of_another_kind_can_be_sealed(sealed: Place) -> None:
    """The defect: 1 for 1.0 is another hash, and was no change; no seal could be made."""
    sealed.edit("mini.yaml", "pause:\n    value: 0.0", "pause:\n    value: 0")
    assert sealed("seal", "mini", "--why", "shorter")[0] == 0
    assert sealed("seal", "--verify")[0] == 0
    assert isinstance(sealed.entries[-1], SealEntry)
    assert [one.what for one in sealed.entries[-1].what] == ["setting 'pause': 0.0 → 0"]


def test_compiled_code_of_ours_that_its_source_does_not_say_is_not_confirmed(
    sealed: Place, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Python ran a cached file that no commit has, and the confirmation stood."""
    pair = (tmp_path / "__pycache__" / "seeds.pyc", tmp_path / "seeds.py")
    monkeypatch.setattr(confirm, "_foreign", lambda: (pair,))
    assert f"holds other code than {pair[1]}" in sealed.refused(*CONFIRM)
