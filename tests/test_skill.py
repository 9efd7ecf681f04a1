"""The skill: an agent that follows its page ends with a rule that stood, an answer and a page."""

import json
import re
from pathlib import Path

import yaml

from miniatures import git
from reproaudit.audit.loading import read_audit
from reproaudit.checks import KINDS
from reproaudit.cli import run_command

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "skills" / "reproaudit" / "SKILL.md"


def shown(language: str) -> str:
    (block,) = re.findall(rf"```{language}\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    return str(block)


def test_the_page_has_the_front_matter_of_a_skill_and_is_one_page():
    text = PAGE.read_text("utf-8")
    _, front, _ = text.split("---\n", 2)
    head = yaml.safe_load(front)
    assert head.keys() == {"name", "description"}
    assert head["name"] == PAGE.parent.name
    assert len(head["description"]) <= 1024
    assert len(text.splitlines()) <= 90


def test_the_command_prints_the_page(cli):
    assert cli("skill").out == PAGE.read_text("utf-8")


def test_every_command_of_the_page_is_one(capsys):
    for command in set(re.findall(r"`reproaudit ([a-z]+)", PAGE.read_text("utf-8"))):
        assert run_command([command, "--help"]) == 0, command


def test_the_page_has_every_kind_of_check_in_a_line():
    text = PAGE.read_text("utf-8")
    listed = text[text.index("explains kinds of checks") : text.index("`reproaudit check")]
    assert set(re.findall(r"`([a-z_]+)`:", listed)) == {*KINDS}


def test_what_the_page_says_of_a_claim_is_so():
    """A long claim needs a short one; a ratio to an arm; names; a claim that is not audited."""
    text = shown("yaml") + (
        "not_audited: [{says: It scales., at: Section 5, why: It needs a cluster.}]\n"
    )
    ratio = "relative_to: accuracy of baseline, at_least: 1.05"
    text = text.replace("value: accuracy, at_least: 0.9", f"value: accuracy, {ratio}")
    text = text.replace("  reaches:\n", "  reaches_more-than:\n")
    assert [*read_audit("doe2026.yaml", text)[1]] == []
    long = text.replace("The method reaches an accuracy of 0.9.", "It reaches it " + "so " * 10)
    (fault,) = read_audit("doe2026.yaml", long)[1]
    assert "short" in f"{fault.message} {fault.remedy}"


def test_the_page_followed_word_for_word_ends_with_an_answer(tmp_path, monkeypatch, cli):
    monkeypatch.chdir(tmp_path)
    git(tmp_path, "init", "-q")
    Path("doe2026.yaml").write_text(shown("yaml"), encoding="utf-8")
    assert run_command(["check", "doe2026.yaml"]) == 0
    Path("PLAN.json").write_text(cli("plan", "doe2026.yaml", "--json").out, encoding="utf-8")
    git(tmp_path, "add", "doe2026.yaml", "PLAN.json")
    git(tmp_path, "commit", "-qm", "The rule")
    rows = json.loads(shown("json"))["per_seed"]
    for seed in range(2, 5):
        rows.append({**rows[0], "seed": seed, "ours": {"accuracy": 0.91 + seed / 100}})
    for row in rows:  # runs that are equal to the last digit would be copies of one
        row["baseline"] = {"accuracy": 0.84 + row["seed"] / 1000}
        row["shuffled_labels"] = {"accuracy": 0.1 + row["seed"] / 1000}
    Path("results.json").write_text(json.dumps({"per_seed": rows}), encoding="utf-8")
    git(tmp_path, "add", "results.json")
    git(tmp_path, "commit", "-qm", "The runs")
    judge = ["judge", "doe2026.yaml", "results.json"]
    said = " ".join(cli(*judge, "--as-page", "doe2026.md").out.split())
    assert "The rule stood before the results in git" in said
    assert "5 of 5 [better]" in said
    assert "5 of 5 [reaches]" in said
    page = Path("doe2026.md").read_text(encoding="utf-8")
    assert "The rule stood before the results in git" in page
    assert json.loads(Path("PLAN.json").read_text())["rule"] in page
