"""What is told of a claim: status, looks and history, from the chain alone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from chains import CLAIM, begin, change, result, rule_with, run, seal

from reproaudit.seals.chain import read_chain
from reproaudit.seals.entries import CodeChange, RuleChange
from reproaudit.seals.past import numbers_of
from reproaudit.seals.rule import digest
from reproaudit.seals.standing import Sealed, Standing
from reproaudit.seals.telling import named_changes

START = datetime(2026, 1, 1, tzinfo=UTC)
FIRST, SECOND = [0.446, 0.013, 0.009], [0.02, 0.013, 0.008]


def on(day: int) -> datetime:
    return START + timedelta(days=day)


def told(file: Path, numbers: list[float], verdict: str = "supported", **more: Any) -> Standing:
    fields = {"tier": "paper", "trains": True, "rule": digest(rule_with()), **more}
    sealed = Sealed(
        read_chain(file, "toy"),
        fields.pop("rule"),
        fields.pop("claims", frozenset({CLAIM})),
        fields.pop("unsealed", ()),
        confirming=fields.pop("confirming", False),
        confirmed=fields.pop("confirmed", {CLAIM: verdict}),
    )
    return sealed.standing(
        fields.pop("claim", CLAIM),
        verdict=verdict,
        numbers=numbers_of([("loss", numbers)]),
        **fields,
    )


def test_without_entries_a_claim_is_exploratory(tmp_path: Path) -> None:
    assert told(tmp_path / "toy.jsonl", FIRST) == Standing(looks=0)


def test_another_draw_stands_beside_and_is_a_look(tmp_path: Path) -> None:
    """The stream is rewritten under the same rule, and an inconclusive claim becomes supported."""
    file = tmp_path / "toy.jsonl"
    result(file, FIRST, "inconclusive", date=on(1), reconstructed=True)
    assert told(file, FIRST, "inconclusive").looks == 0
    change(file, "random stream: the same seeds give other random numbers", date=on(2))
    result(file, SECOND, "supported", date=on(3), reconstructed=True)
    found = told(file, SECOND)
    assert (found.status, found.looks) == ("exploratory", 1)
    changed, drawn, known = found.history
    assert changed.startswith("Changed on 2026-01-03, after results had been seen, reconstructed")
    assert "random stream" in changed
    assert drawn.startswith(
        "Other numbers, recorded on 2026-01-02, gave inconclusive (decision met"
    )
    assert known.startswith("The same numbers, judged by the rule of 2026-01-04, gave supported")


def test_another_draw_needs_no_entry_about_the_stream(tmp_path: Path) -> None:
    file = tmp_path / "toy.jsonl"
    result(file, FIRST, "inconclusive", date=on(1))
    result(file, SECOND, date=on(2))
    assert told(file, SECOND).looks == 1
    assert "Other numbers" in told(file, SECOND).history[0]
    result(file, FIRST, "inconclusive", date=on(3))
    assert told(file, SECOND).looks == 1, "the same numbers again are no look"


def test_changes_before_the_first_result_are_counted_and_are_no_looks(tmp_path: Path) -> None:
    file = tmp_path / "toy.jsonl"
    change(file, "a", date=on(1))
    change(file, "b", date=on(2))
    assert told(file, FIRST).history[0].startswith("Its rule was changed 2 times (from 2026-01-02")
    moved = CodeChange(what="code that judges changed", claims=(CLAIM,), files=("stats.py",))
    change(file, (moved,), date=on(2))
    said = told(file, FIRST).history[0].partition(" (")[0]
    assert said == "Its rule was changed 2 times and the code behind it once"
    result(file, FIRST, date=on(3))
    found = told(file, FIRST)
    assert found.looks == 0
    assert "before the first result on its own seeds" in found.history[0]
    assert "smaller scale" in found.history[1]


def test_a_loosened_tolerance_is_told_with_its_reason(tmp_path: Path) -> None:
    file = tmp_path / "toy.jsonl"
    seal(file, rule_with())
    result(file, FIRST, "inconclusive")
    seal(file, rule_with(0.5), why="The old one was too strict.")
    sentence, judged = told(file, FIRST, rule=digest(rule_with(0.5))).history
    assert judged.startswith("The same numbers, judged by the rule of ")
    assert "gave inconclusive" in judged
    assert f"tolerance of part 'loss' of {CLAIM}, at_most: 0.1 → 0.5" in sentence
    assert "after results had been seen" in sentence
    assert sentence.endswith("Reason given: “The old one was too strict”.")
    assert told(file, FIRST).looks == 1


def test_another_verdict_of_the_same_rule_on_the_same_numbers_points_at_a_control(
    tmp_path: Path,
) -> None:
    file = tmp_path / "toy.jsonl"
    result(file, FIRST, "inconclusive")
    (sentence,) = told(file, FIRST, "supported").history
    assert sentence.startswith(
        "The same numbers, judged by this very rule, with other records of its controls or "
        "alternatives, gave inconcl"
    )


def test_added_parts_hide_no_loosened_bound() -> None:
    added = [RuleChange(what=f"part 'a{number}' of {CLAIM} added") for number in range(8)]
    loosened = RuleChange(what=f"tolerance of part 'loss' of {CLAIM}, at_most: 0.1 → 0.6")
    gone = RuleChange(what=f"part 'b' of {CLAIM} taken away")
    said = named_changes([*added, loosened, gone])
    assert loosened.what in said
    assert gone.what in said
    assert said.endswith("'a5' of toy.depth added; and 2 more added")


def test_a_clock_that_was_put_back_hides_nothing(tmp_path: Path) -> None:
    file = tmp_path / "toy.jsonl"
    seal(file, rule_with())
    result(file, FIRST, date=on(100_000))
    seal(file, rule_with(0.5))
    assert "after results had been seen" in told(file, FIRST).history[0]


def test_a_changed_wording_is_no_look(tmp_path: Path) -> None:
    file = tmp_path / "toy.jsonl"
    seal(file, rule_with())
    result(file, FIRST)
    seal(file, rule_with(), text="1" * 64)
    (sentence,) = told(file, FIRST).history
    assert told(file, FIRST) == Standing(looks=0, history=(sentence,))
    assert sentence.startswith("Words and weights of this audit that decide no verdict")
    assert "were changed once after a run, last by the seal of" in sentence
    seal(file, rule_with(), text="2" * 64)
    assert "were changed 2 times after a run" in told(file, FIRST).history[0]


def test_words_that_change_before_any_run_are_not_told(tmp_path: Path) -> None:
    file = tmp_path / "toy.jsonl"
    seal(file, rule_with())
    seal(file, rule_with(), text="1" * 64)
    result(file, FIRST)
    assert told(file, FIRST).history == ()


def test_numbers_that_were_known_before_the_rule_was_sealed_are_told(tmp_path: Path) -> None:
    """A run after the seal repeats cells whose numbers an unsealed run had shown."""
    file = tmp_path / "toy.jsonl"
    result(file, FIRST, "supported", date=on(1), reconstructed=True)
    seal(file, rule_with())
    result(file, FIRST, "supported")
    assert sum("The same numbers" in one for one in told(file, FIRST).history) == 1
    result(file, SECOND, "supported")
    assert not any("The same numbers" in one for one in told(file, SECOND).history)


def test_numbers_that_no_result_records_are_told(tmp_path: Path) -> None:
    """Records in place of those that were judged: no run has entered their numbers."""
    file = tmp_path / "toy.jsonl"
    result(file, FIRST, "inconclusive")
    assert not any("No entry" in one for one in told(file, FIRST, "inconclusive").history)
    assert told(file, SECOND).history[-1] == (
        "No entry of the chain records the numbers that are shown."
    )


def test_a_change_of_another_claim_is_none_of_this_one(tmp_path: Path) -> None:
    file = tmp_path / "toy.jsonl"
    result(file, FIRST)
    change(file, "x", "toy.other")
    assert told(file, FIRST) == Standing(looks=0)


def test_confirmed_only_if_the_seeds_of_this_rule_gave_this_verdict(tmp_path: Path) -> None:
    file, rule = tmp_path / "toy.jsonl", digest(rule_with())
    seal(file, rule_with())
    result(file, FIRST)
    begin(file)
    assert told(file, FIRST).status == "exploratory"
    assert told(file, FIRST).history[-1].endswith("no result yet.")
    result(file, SECOND, "supported", rule=rule, confirmation=True)
    assert told(file, FIRST).status == "confirmed"
    assert told(file, FIRST, verdict="inconclusive").status == "exploratory"
    assert told(file, FIRST, tier="quick").status == "exploratory"
    assert told(file, FIRST, rule="f" * 64).status == "exploratory"
    shown = told(file, SECOND, confirming=True)
    assert (shown.status, shown.looks) == ("confirmed", 1)
    assert any("look 1 of 1 sealed; it spends 0.0304" in one for one in shown.history)


def test_a_confirmation_that_failed_stays_visible(tmp_path: Path) -> None:
    file = tmp_path / "toy.jsonl"
    seal(file, rule_with())
    begin(file)
    result(file, FIRST, "inconclusive", rule=digest(rule_with()), confirmation=True)
    seal(file, rule_with(0.2))
    begin(file)
    again = digest(rule_with(0.2))
    result(file, SECOND, "supported", rule=again, confirmation=True)
    shown = told(file, SECOND, rule=again, confirming=True)
    assert shown.status == "confirmed"
    assert shown.looks >= 1
    first, second = shown.history[-2:]
    assert "look 1 of 2" in first
    assert "inconclusive" in first
    assert "look 2 of 2" in second
    assert "it spends 0.0076" in second


def test_a_technical_failure_is_never_confirmed(tmp_path: Path) -> None:
    file = tmp_path / "toy.jsonl"
    seal(file, rule_with())
    begin(file)
    verdict = "technical_failure"
    result(file, FIRST, verdict, rule=digest(rule_with()), confirmation=True)
    assert told(file, FIRST, verdict).status == "exploratory"


def test_where_nothing_trains_looks_do_not_apply(tmp_path: Path) -> None:
    file = tmp_path / "toy.jsonl"
    result(file, FIRST)
    result(file, SECOND)
    change(file, "a bound")
    found = told(file, FIRST, trains=False)
    assert (found.status, found.looks) == ("exploratory", None)
    assert "a bound" in found.history[0]
    assert found.history[-1].startswith("Other numbers, recorded on "), "a failed draw is told"


def test_a_change_that_nobody_sealed_is_told_and_is_a_look(tmp_path: Path) -> None:
    file = tmp_path / "toy.jsonl"
    seal(file, rule_with())
    result(file, FIRST)
    found = told(file, FIRST, unsealed=(RuleChange(what="a bound"),))
    assert found.history == ("Changed, and not sealed: a bound.",)
    assert found.looks == 1


# --- runs, successors, and what nothing explains -------------------------------------------------


def test_from_the_beginning_of_a_run_a_change_is_a_look(tmp_path: Path) -> None:
    file = tmp_path / "toy.jsonl"
    seal(file, rule_with())
    seal(file, rule_with(0.2))
    assert told(file, FIRST).looks == 0
    run(file, rule_with(0.2))
    assert told(file, FIRST).looks == 0, "the run of this very rule"
    assert told(file, FIRST, confirming=True).looks == 1, "what it showed was on other seeds"
    seal(file, rule_with(0.3), by="run")
    found = told(file, FIRST)
    assert found.looks == 1
    assert "after a run had begun whose numbers may have been seen, sealed by" in found.history[-1]


def test_a_run_of_other_claims_is_none_of_this_one(tmp_path: Path) -> None:
    file = tmp_path / "toy.jsonl"
    run(file, rule_with(), "quick", claims=("toy.other",))
    seal(file, rule_with())
    seal(file, rule_with(0.2))
    assert told(file, FIRST).looks == 0
    run(file, rule_with(0.2), "quick", claims=(CLAIM,))
    seal(file, rule_with(0.3))
    found = told(file, FIRST)
    assert found.looks == 1
    assert any(one.startswith("A quick run, begun on ") for one in found.history)


def test_another_rule_that_no_entry_tells_of_is_a_look(tmp_path: Path) -> None:
    """Outside git, the first seal cannot say what was changed since a run."""
    file = tmp_path / "toy.jsonl"
    run(file, rule_with(0.05), "custom", claims=(CLAIM,))
    seal(file, rule_with())
    run(file, rule_with())
    result(file, FIRST)
    found = told(file, FIRST)
    assert found.looks == 1
    assert any("no entry tells what was changed" in one for one in found.history)
    result(file, SECOND)
    assert told(file, SECOND).looks == 2, "the same rule again is another draw alone"


def test_a_run_in_a_store_keeps_its_place_in_time(tmp_path: Path) -> None:
    """The store's entries follow the audit's in the list, and may be older than their last one."""
    own, stored = tmp_path / "own.jsonl", tmp_path / "stored.jsonl"
    run(stored, rule_with(), "quick", claims=(CLAIM,), date=on(1))
    seal(own, rule_with())
    seal(own, rule_with(0.2))
    entries = (*read_chain(own, "toy"), *read_chain(stored, "toy"))
    shown = Sealed(entries, digest(rule_with(0.2)), frozenset({CLAIM}))
    assert shown.standing(CLAIM, True, "paper", "supported", {}).looks == 1


FAILURE = "technical_failure"
TRIES = ("0" * 8, "1" * 8)


def test_every_run_that_failed_is_told_and_is_one_look(tmp_path: Path) -> None:
    """The defect: what fails by chance could be run until it was supported, with 0 looks."""
    file = tmp_path / "toy.jsonl"
    seal(file, rule_with())
    run(file, rule_with())
    for number, failed in enumerate(TRIES):
        result(file, [], FAILURE, failed_run=failed)
        assert told(file, [], FAILURE) == told(file, [], FAILURE, claims=frozenset({CLAIM}))
        assert told(file, [], FAILURE).looks == number, "the one that is shown is not before it"
    result(file, [], FAILURE, failed_run=TRIES[1], records="b" * 64)
    assert told(file, [], FAILURE).looks == 1, "with the alternatives, or other claims run again"
    result(file, FIRST)
    found = told(file, FIRST)
    assert found.looks == 2
    (sentence,) = found.history
    assert sentence.startswith("2 runs that failed or diverged, the last recorded on ")
    assert sentence.endswith(", gave technical failure (decision met, estimate 0.05).")
    assert told(file, FIRST, tier="quick").looks == 3


def test_a_failure_and_the_change_that_mends_it_are_one_look(tmp_path: Path) -> None:
    file = tmp_path / "toy.jsonl"
    seal(file, rule_with())
    run(file, rule_with())
    result(file, [], FAILURE, failed_run=TRIES[0])
    mended = rule_with(code="b" * 32)
    seal(file, mended)
    assert told(file, [], FAILURE, rule=digest(mended)).looks == 1
    result(file, FIRST)
    changed, failed = told(file, FIRST, rule=digest(mended)).history
    assert told(file, FIRST, rule=digest(mended)).looks == 1
    assert "code that computes the measurements" in changed
    assert failed.startswith("A run that failed or diverged, recorded on ")


def test_a_control_that_failed_before_the_same_numbers_were_judged_is_a_look(
    tmp_path: Path,
) -> None:
    file = tmp_path / "toy.jsonl"
    result(file, FIRST, FAILURE, failed_run=TRIES[0])
    assert told(file, FIRST, FAILURE) == Standing(looks=0)
    result(file, FIRST, records="b" * 64)
    assert told(file, FIRST).looks == 1
    result(file, SECOND, FAILURE, failed_run=TRIES[1])
    assert told(file, SECOND, FAILURE).looks == 2
    assert not any("No entry" in one for one in told(file, SECOND, FAILURE).history)


def test_a_run_that_diverged_and_counts_as_missed_is_a_look(tmp_path: Path) -> None:
    file = tmp_path / "toy.jsonl"
    result(file, [], "contradicted", failed_run=TRIES[0])
    assert told(file, [], "contradicted").looks == 0
    result(file, FIRST)
    assert told(file, FIRST).looks == 1
    assert "gave contradicted" in told(file, FIRST).history[0]


def test_an_older_failure_is_one_for_each_set_of_records(tmp_path: Path) -> None:
    file = tmp_path / "toy.jsonl"
    for records in ("b" * 64, "b" * 64, "c" * 64):
        result(file, [], FAILURE, records=records)
    assert b"failed_run" not in file.read_bytes(), "as it was written before there was this field"
    result(file, FIRST)
    assert told(file, FIRST).looks == 2


def test_what_was_not_tested_is_no_failure(tmp_path: Path) -> None:
    """Seeds that are missing, as where some claims alone were run."""
    file = tmp_path / "toy.jsonl"
    result(file, [], "not_tested")
    result(file, FIRST)
    assert told(file, FIRST) == Standing(looks=0)


def other_id(claim: str, bound: float = 0.1, **more: Any) -> dict[str, Any]:
    rule = {path.replace(CLAIM, claim): leaf for path, leaf in rule_with(bound).items()}
    return {**rule, **{f"claims/{claim}/{path}": leaf for path, leaf in more.items()}}


SAME = {"statement": "The loss falls, and stays low."}
READS = {"checks/loss/distance/measurement": "loss"}


@pytest.mark.parametrize("same", [SAME, READS], ids=["statement", "measurements"])
def test_a_claim_under_another_id_keeps_its_past(tmp_path: Path, same: dict[str, str]) -> None:
    file = tmp_path / "toy.jsonl"
    seal(file, other_id("toy.old", **same))
    result(file, FIRST, "contradicted", claim="toy.old")
    alone = {path: leaf for path, leaf in rule_with().items() if CLAIM not in path}
    seal(file, alone)
    seal(file, other_id(CLAIM, 0.2, **{k: v.replace(",", "") for k, v in same.items()}))
    found = told(file, FIRST)
    assert found.looks == 2
    assert f"claim toy.old was taken away, and {CLAIM} " in " ".join(found.history)
    assert "as toy.old, gave contradicted" in " ".join(found.history)


def test_one_more_measurement_does_not_shed_looks(tmp_path: Path) -> None:
    """The defect: a new id, and a check of something trivial beside the old ones, gave 0 looks."""
    file = tmp_path / "toy.jsonl"
    seal(file, other_id("toy.old", **READS))
    result(file, FIRST, "contradicted", claim="toy.old")
    result(file, SECOND, "inconclusive", claim="toy.old")
    more = {"checks/trivial/quantity/measurement": "steps"}
    seal(file, other_id(CLAIM, 0.2, **READS, **more))
    found = told(file, FIRST)
    assert f"and {CLAIM} reads some of the same measurements" in " ".join(found.history)
    assert "as toy.old, gave contradicted" in " ".join(found.history)
    assert found.looks == 2


def test_draws_of_a_lost_claim_are_looks_beside_every_other(tmp_path: Path) -> None:
    """The defect: a claim under another id that reads other measurements had 0 looks."""
    file = tmp_path / "toy.jsonl"
    seal(file, other_id("toy.old", **READS))
    result(file, FIRST, "contradicted", claim="toy.old")
    result(file, SECOND, "inconclusive", claim="toy.old")
    seal(file, other_id(CLAIM, **{"checks/other/quantity/measurement": "error"}))
    assert told(file, FIRST).looks == 2
    result(file, FIRST)
    assert told(file, FIRST).looks == 2, "its own draw is what is shown"
    assert told(file, FIRST, claims={CLAIM, "toy.old"}).looks == 0, "it is not lost"


def test_a_claim_beside_the_one_that_goes_takes_its_place_too(tmp_path: Path) -> None:
    """First the copy with a wider bound is added, and later the claim that failed is removed."""
    file = tmp_path / "toy.jsonl"
    seal(file, other_id("toy.old", **READS))
    result(file, FIRST, "contradicted", claim="toy.old")
    both = {**other_id("toy.old", **READS), **other_id(CLAIM, 0.2, **READS)}
    seal(file, both)
    assert "toy.old" not in " ".join(told(file, FIRST, claims={CLAIM, "toy.old"}).history)
    seal(file, other_id(CLAIM, 0.2, **READS))
    found = told(file, FIRST)
    assert "as toy.old, gave contradicted" in " ".join(found.history)
    assert found.looks >= 1


def test_a_lost_claim_without_successor_is_told_of(tmp_path: Path) -> None:
    file = tmp_path / "toy.jsonl"
    result(file, FIRST, "contradicted", claim="toy.gone", date=on(1))
    (sentence,) = told(file, FIRST).history
    assert sentence.startswith("This audit had another claim, toy.gone, which was taken away;")
    assert "contradicted (decision met" in sentence


def test_commits_of_code_in_a_row_are_one_sentence_and_one_look(tmp_path: Path) -> None:
    file = tmp_path / "toy.jsonl"
    result(file, FIRST, reconstructed=True, date=on(1))
    for number in range(3):
        what = (CodeChange(what="code", files=("stats/a.py", f"checks/{number}.py")),)
        change(file, what, revision=f"{number}" * 40, date=on(2 + number))
    found = told(file, FIRST)
    assert found.looks == 1
    sentence, _ = found.history
    assert "changed in 3 commits from 2026-01-03 to 2026-01-05, after results" in sentence
    assert "most often stats/a.py, checks/0.py" in sentence
