"""Whether the rule stood before the runs: by the order of commits, or by its digest."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reproaudit.audit.catalog import entry_of
from reproaudit.audit.loading import load_audit
from reproaudit.audit.seeds import whole_rule
from reproaudit.cli.output import printed_json
from reproaudit.formats.scorecard import RuleStanding
from reproaudit.report.files import PAGES
from reproaudit.report.printable import clean
from reproaudit.report.terminal import judged_lines
from reproaudit.scorecard.standing import standing_of
from reproaudit.service.judge import import_folder, judge_folder, judge_logs
from reproaudit.service.plan import plan_audit
from reproaudit.service.workspace import Workspace

SHORT = Path(__file__).parent.parent / "short" / "maxrl2026.yaml"
ROWS = [
    {
        "seed": seed,
        "maxrl": {"pass_8": 0.42 + seed / 1000},
        "reinforce": {"pass_8": 0.33 + seed / 900},
        "checkpoint": {"pass_8": 0.4 + seed / 800},
    }
    for seed in range(5)
]


class Checkout:
    """A folder with an audit and results, under git or not."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.audit = Path(shutil.copy(SHORT, folder))
        self.results = folder / "results.json"
        self.write({"per_seed": ROWS})

    def write(self, data: object) -> None:
        self.results.write_text(json.dumps(data), encoding="utf-8")

    def git(self, *words: str) -> None:
        who = ("-c", "user.name=A", "-c", "user.email=a@example.org")
        command = ["git", "-C", str(self.folder), *who, *words]
        subprocess.run(command, check=True, capture_output=True)

    def commit(self, *files: str) -> None:
        self.git("add", *files)
        self.git("commit", "-qm", "a step")

    def edit(self, old: str, new: str) -> None:
        text = self.audit.read_text(encoding="utf-8")
        assert old in text
        self.audit.write_text(text.replace(old, new, 1), encoding="utf-8")

    def standing(self) -> RuleStanding:
        return standing_of(load_audit(self.audit), self.audit, [self.results], "paper")


@pytest.fixture
def place(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


@pytest.fixture
def committed(place: Checkout) -> Checkout:
    """The rule is committed, then the results."""
    place.git("init", "-q")
    place.commit(place.audit.name)
    place.commit(place.results.name)
    return place


def test_a_rule_that_was_committed_before_the_results_stood(committed: Checkout) -> None:
    standing = committed.standing()
    assert standing.stood is True
    assert standing.text.startswith("The rule stood before the results in git: commit ")


def test_another_layout_and_a_later_commit_of_it_move_no_rule(committed: Checkout) -> None:
    committed.edit("claims:", "# a remark\n\nclaims:")
    assert committed.standing().stood is True
    committed.commit(committed.audit.name)
    assert committed.standing().stood is True


@pytest.mark.parametrize("is_committed", [True, False])
def test_a_rule_that_was_moved_after_the_results_is_said_to_be(
    committed: Checkout, is_committed: bool
) -> None:
    committed.edit("higher: true", "higher: false")
    if is_committed:
        committed.commit(committed.audit.name)
    standing = committed.standing()
    assert standing.stood is False
    assert standing.text.startswith("The rule was moved after the results in git: ")


def test_a_rule_that_was_moved_and_moved_back_was_moved(committed: Checkout) -> None:
    for old, new in (("higher: true", "higher: false"), ("higher: false", "higher: true")):
        committed.edit(old, new)
        committed.commit(committed.audit.name)
    assert committed.standing().stood is False


def test_results_that_are_committed_again_do_not_hide_that_they_were_there(
    committed: Checkout,
) -> None:
    committed.edit("higher: true", "higher: false")
    committed.commit(committed.audit.name)
    committed.write({"per_seed": ROWS, "model": "again"})
    committed.commit(committed.results.name)
    assert committed.standing().stood is False


@pytest.mark.parametrize("how", ["cp", "mv"])
def test_results_by_another_name_are_as_old_as_their_content(place: Checkout, how: str) -> None:
    place.git("init", "-q")
    place.commit(place.results.name)
    place.commit(place.audit.name)
    other = place.folder / "again.json"
    shutil.copy(place.results, other)
    if how == "mv":
        place.git("rm", "-q", place.results.name)
    place.commit(other.name)
    place.results = other
    standing = place.standing()
    assert standing.stood is False
    assert "and results came before, in " in standing.text


def test_results_that_were_renamed_are_still_later_than_the_rule(committed: Checkout) -> None:
    before = committed.standing()
    committed.git("mv", committed.results.name, "again.json")
    committed.git("commit", "-qm", "a name")
    committed.results = committed.folder / "again.json"
    assert committed.standing() == before
    assert before.stood is True


def test_a_short_result_that_equals_an_older_one_is_no_copy(place: Checkout) -> None:
    place.git("init", "-q")
    pilot = place.folder / "pilot.json"
    pilot.write_text('{"acc": 0.9}', encoding="utf-8")
    place.commit(pilot.name)
    place.commit(place.audit.name)
    shutil.copy(pilot, place.results)
    place.commit(place.results.name)
    assert place.standing().stood is True


def in_one_commit(place: Checkout) -> None:
    place.git("init", "-q")
    place.commit(place.audit.name, place.results.name)


def without_results(place: Checkout) -> None:
    place.git("init", "-q")
    place.commit(place.audit.name)


def with_changed_results(place: Checkout) -> None:
    without_results(place)
    place.commit(place.results.name)
    place.write({"per_seed": ROWS, "model": "changed"})


def without_audit(place: Checkout) -> None:
    place.git("init", "-q")
    place.commit(place.results.name)


@pytest.mark.parametrize(
    ("prepare", "why"),
    [
        (lambda _place: None, "git has no commit of maxrl2026.yaml"),
        (without_audit, "git has no commit of maxrl2026.yaml"),
        (without_results, "git has no commit of the results"),
        (in_one_commit, "the rule and the results came in one commit, or on different branches"),
        (with_changed_results, "not all results are committed as they are"),
    ],
)
def test_what_nobody_can_know_is_said_with_the_reason(
    place: Checkout, prepare: Callable[[Checkout], None], why: str
) -> None:
    prepare(place)
    standing = place.standing()
    assert standing.stood is None
    said = f"Whether the rule stood before the runs is not known: {why}."
    is_kept = not why.endswith(place.audit.name)
    kept = r" The rule is that of commit [0-9a-f]{12}\." if is_kept else ""
    assert re.fullmatch(re.escape(said) + kept, standing.text)


@pytest.mark.parametrize("where", ["results", "plan", "short"])
def test_the_digest_that_results_or_a_plan_beside_them_name_is_held_against_todays(
    place: Checkout, where: str
) -> None:
    rule = whole_rule(load_audit(place.audit), "paper")
    named = rule[:16] if where == "short" else rule
    if where == "plan":
        plan = plan_audit(Workspace(), place.audit)
        (place.folder / "PLAN.json").write_text(printed_json(plan), encoding="utf-8")
    else:
        place.write({"per_seed": ROWS, "rule": named})
    name = "PLAN.json" if where == "plan" else "results.json"
    standing = place.standing()
    assert (standing.stood, standing.rule) == (True, rule)
    text = f"The rule stood before the runs: {name} names its digest {rule[:12]}."
    assert standing.text == text
    place.edit("higher: true", "higher: false")
    moved = place.standing()
    assert moved.stood is False
    assert f"{name} names another, {rule[:12]}" in moved.text


def plan_in(place: Checkout) -> str:
    """Write the plan beside the results, and return its name."""
    rule = whole_rule(load_audit(place.audit), "paper")
    (place.folder / "PLAN.json").write_text(json.dumps({"rule": rule}), encoding="utf-8")
    return "PLAN.json"


def test_a_plan_that_came_with_the_results_shows_nothing(place: Checkout) -> None:
    place.git("init", "-q")
    place.commit(place.audit.name, place.results.name, plan_in(place))
    standing = place.standing()
    assert standing.stood is None
    why = "PLAN.json names its digest, and came no earlier than the results."
    assert f"came in one commit, or on different branches; {why} The rule is" in standing.text


def test_a_plan_that_came_before_the_results_shows_that_the_rule_stood(place: Checkout) -> None:
    place.git("init", "-q")
    place.commit(plan_in(place))
    place.commit(place.audit.name, place.results.name)
    standing = place.standing()
    assert standing.stood is True
    assert "PLAN.json names its digest" in standing.text


def test_a_digest_does_not_excuse_what_git_knows(committed: Checkout) -> None:
    committed.edit("higher: true", "higher: false")
    committed.commit(committed.audit.name)
    rule = whole_rule(load_audit(committed.audit), "paper")
    (committed.folder / "PLAN.json").write_text(json.dumps({"rule": rule}), encoding="utf-8")
    assert committed.standing().stood is False


def test_the_plan_of_another_paper_says_nothing(place: Checkout) -> None:
    plan = {"slug": "other2026", "rule": "0" * 64}
    (place.folder / "PLAN.json").write_text(json.dumps(plan), encoding="utf-8")
    assert place.standing().stood is None


@pytest.mark.parametrize("given", ["results.json", "."])
def test_judge_says_it_in_every_rendering(
    committed: Checkout, given: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(committed.folder)
    card = judge_logs(entry_of(Path("maxrl2026.yaml")), [Path(given)]).scorecard
    assert card.rule is not None
    assert card.rule.stood is True
    said = card.rule.text
    assert said in " ".join(" ".join(judged_lines(card)).split())
    for page in PAGES.values():
        assert clean(said) in page.render(card), page.name


def test_a_claim_that_was_chosen_moves_no_rule(committed: Checkout) -> None:
    judged = judge_logs(entry_of(committed.audit), [committed.results], claims=["maxrl2026.pass8"])
    assert judged.scorecard.rule == committed.standing()


TREE = """
schema_version: 2
paper: {slug: tree2031, title: A paper, year: 2031}
settings:
  epochs:
    value: 100
    source: paper
    locator: Appendix
    readings: [{value: 150, source: authors_code, locator: train.py}]
experiments:
  birds:
    title: A tree of birds
    measurements: {acc: {kind: scalar, unit: "1", meaning: Accuracy.}}
claims:
  - id: tree2031.high
    says: The accuracy is at least 80.
    short: the accuracy is at least 80
    locator: Table 1
    main: true
    experiment: birds
    headline: [{kind: reaches, value: acc, at_least: 80, from: paper}]
    no_control: a reported number
"""
BOTH = [{"seed": seed, "epochs": at, "acc": 90} for at in (100, 150) for seed in range(5)]


def test_runs_of_a_stated_reading_move_no_rule(place: Checkout, cli: Any) -> None:
    audit = place.folder / "tree2031.yaml"
    audit.write_text(TREE, encoding="utf-8")
    rule = whole_rule(load_audit(audit), "paper")
    (place.folder / "PLAN.json").write_text(json.dumps({"rule": rule}), encoding="utf-8")
    place.git("init", "-q")
    place.commit(audit.name, "PLAN.json")
    place.write(BOTH)
    place.commit(place.results.name)
    card = judge_logs(entry_of(audit), [place.results], pages=place.folder / "out").scorecard
    assert [reading.n for reading in card.claims[0].readings] == [5], "both are judged"
    assert card.rule is not None
    assert (card.rule.stood, card.rule.rule) == (True, rule)
    where = ("--audits", place.folder, "--out", place.folder / "out")
    assert "The audit is the same." in " ".join(cli("report", "tree2031", *where).out.split())


def test_folders_of_measurements_are_looked_at_as_well(committed: Checkout) -> None:
    folder = committed.folder / "measured"
    import_folder(load_audit(committed.audit), [committed.results], folder)
    committed.commit("measured")
    card = judge_folder(entry_of(committed.audit), folder).scorecard
    assert card.rule is not None
    assert card.rule.stood is True
