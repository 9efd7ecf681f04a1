"""A draft of claims or of results, filled in, is an audit by which `judge` answers."""

import json
import re
from datetime import date
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml

from reproaudit.audit.card import Card
from reproaudit.audit.draft import Results, draft_claims
from reproaudit.audit.loading import read_audit
from reproaudit.audit.stated import MOST_CLAIMS, StatedClaim, read_claims
from test_cards import filled

pytestmark = pytest.mark.usefixtures("measured_here")

TODAY = date(2026, 11, 20)
CLAIMS = """# What they say

- MaxRL reaches a higher pass at 8 than REINFORCE.
* MaxRL improves on the checkpoint that it starts from.
3. Pass at 8 is at least 0.3, whatever the seed.
"""

SCORES = {
    "maxrl": [0.42, 0.40, 0.43, 0.39, 0.41],
    "reinforce": [0.34, 0.31, 0.33, 0.32, 0.35],
    "checkpoint": [0.40, 0.41, 0.39, 0.40, 0.38],
}


def drafted(
    cli: Any, folder: Path, *arguments: object, slug: str = "maxrl2026"
) -> tuple[Path, dict[str, Any], str]:
    """The file of a draft, its data, and what the command said."""
    said = cli("new", slug, *arguments, "--out", folder).out
    file = folder / f"{slug}.yaml"
    text = file.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 50
    data = yaml.safe_load(text)
    assert isinstance(data, dict)
    return file, data, said


def outcomes_of(audit: Path, results: Path, cli: Any) -> dict[str, str]:
    audit.write_text(filled(audit.read_text(encoding="utf-8")), encoding="utf-8")
    assert [fault for fault in read_audit(audit)[1] if fault.severity == "error"] == []
    claims = cli("judge", audit, results, "--json").data["claims"]
    return {claim["id"].partition(".")[2]: claim["outcome"] for claim in claims}


# --- claims ---------------------------------------------------------------------------------------


def test_claims_are_drafted_in_the_order_of_their_file(tmp_path, cli):
    claims = tmp_path / "claims.txt"
    claims.write_text(CLAIMS)
    file, data, _ = drafted(cli, tmp_path, "--claims", claims)
    assert [*data["claims"]] == ["maxrl-reaches-higher-pass", "maxrl-improves-checkpoint-starts",
                                 "pass-8-least-0"]  # fmt: skip
    checks = [claim["holds_if"][0] for claim in data["claims"].values()]
    assert [check["kind"] for check in checks] == ["beats", "beats", "reaches"]
    assert [check.get("higher") for check in checks] == [True, "TODO", None]
    assert not file.with_suffix(".py").exists()
    assert (tmp_path / "schema.json").exists()
    assert {fault.rule for fault in read_audit(file)[1]} == {"RA058", "RA153"}


@pytest.mark.parametrize(
    "claims",
    [
        ["One is more than two."],
        [{"says": "One is more than two.", "at": "Table 1"}],
        {"claims": [{"claim": "One is more than two.", "section": 4}]},
        {"one": "One is more than two."},
        {"one": {"statement": "One is more than two."}},
    ],
)
def test_claims_in_json(tmp_path, cli, claims):
    file = tmp_path / "claims.json"
    file.write_text(json.dumps(claims))
    (claim,) = read_claims(file)
    assert claim.says == "One is more than two."
    _, data, _ = drafted(cli, tmp_path, "--claims", file)
    assert [*data["claims"]] == [claim.name or "one-more-two"]


@pytest.mark.parametrize("count", [1, 8, 9, MOST_CLAIMS])
def test_a_draft_has_at_most_fifty_lines(tmp_path, cli, count):
    claims = tmp_path / "claims.txt"
    claims.write_text("The loss is small.\n" * count)
    file, data, _ = drafted(cli, tmp_path, "--claims", claims)
    assert len(data["claims"]) == count
    text = filled(file.read_text()).replace("value: Written by a person.", "value: loss")
    _, faults = read_audit(file, text)
    rules = {fault.rule for fault in faults if "method" not in fault.path}
    assert rules == set(), "\n".join(map(str, faults))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("# only a heading\n", "found no claim"),
        ("[]", "found no claim"),
        ("[1]", "claim 1: found no text"),
        ('[{"at": "Table 1"}]', "claim 1: found no text"),
        ("[", "found no JSON"),
        ("x\n" * (MOST_CLAIMS + 1), f"expected at most {MOST_CLAIMS}"),
        ("x\x1b", "U+001B"),
    ],
)
def test_what_is_no_list_of_claims(tmp_path, text, says, cli):
    file = tmp_path / "claims"
    file.write_text(text)
    error = cli("new", "p", "--claims", file, "--out", tmp_path / "mine", code=2).err
    assert error.startswith(str(file))
    assert says in error
    assert not (tmp_path / "mine").exists()


# --- results --------------------------------------------------------------------------------------


def test_every_claim_of_a_draft_has_another_name():
    named = [StatedClaim(text) for text in ("\u00a1", "1", "claim 1", "2", "a", "a", "a 6")]
    draft = draft_claims("p", Card(), TODAY, named, Results())
    assert "RA006" not in {fault.rule for fault in read_audit("p.yaml", draft)[1]}


def nested(folder: Path) -> Path:
    rows = [
        {"seed": seed, **{arm: {"pass_8": scores[seed]} for arm, scores in SCORES.items()}}
        for seed in range(5)
    ]
    file = folder / "results.json"
    file.write_text(json.dumps({"model": "small-lm", "seeds": 5, "per_seed": rows}))
    return file


def lists(folder: Path) -> Path:
    file = folder / "lists.json"
    seeds = {"seeds": [*range(5)]}
    file.write_text(json.dumps({arm: {"pass_8": s, **seeds} for arm, s in SCORES.items()}))
    return file


def table(folder: Path) -> Path:
    file = folder / "table.csv"
    rows = [f"{arm},{seed},{s}" for arm, scores in SCORES.items() for seed, s in enumerate(scores)]
    file.write_text("\n".join(["method,seed,pass_8", *rows]))
    return file


def files(folder: Path) -> Path:
    logs = folder / "logs"
    logs.mkdir()
    for arm, scores in SCORES.items():
        for seed, score in enumerate(scores):
            rows = [
                f"{step},{score * step / 90 + seed * step / 1e6:.6f}" for step in range(0, 100, 10)
            ]
            (logs / f"{arm}-seed_{seed}.csv").write_text("\n".join(["step,eval/pass@8", *rows]))
    return logs


@pytest.mark.parametrize("written", [nested, lists, table, files])
def test_results_are_judged_by_their_own_draft(tmp_path, written, cli):
    results = written(tmp_path)
    audit, data, said = drafted(cli, tmp_path, "--from", results)
    assert data["method"] == "maxrl"
    assert f"then: reproaudit judge {audit} {results}" in said
    arms = {claim["holds_if"][0]["arm"] for claim in data["claims"].values()}
    assert arms == {"reinforce", "checkpoint"}
    outcomes = outcomes_of(audit, results, cli)
    by_arm = {name.rpartition("-")[2]: outcome for name, outcome in outcomes.items()}
    assert by_arm == {"reinforce": "supported", "checkpoint": "undecided"}


def test_claims_find_their_measurement_and_arm_in_results(tmp_path, cli):
    claims = tmp_path / "claims.txt"
    claims.write_text(CLAIMS)
    results = nested(tmp_path)
    audit, data, _ = drafted(cli, tmp_path, "--claims", claims, "--from", results)
    checks = [claim["holds_if"][0] for claim in data["claims"].values()]
    assert [check.get("arm") for check in checks] == ["reinforce", "checkpoint", None]
    assert {check["value"] for check in checks} == {"pass_8"}
    outcomes = outcomes_of(audit, results, cli)
    assert [*outcomes.values()][:2] == ["supported", "undecided"]


def test_one_arm_alone_is_held_against_numbers(tmp_path, cli):
    results = tmp_path / "runs.json"
    results.write_text(json.dumps([{"seed": n, "final": {"acc": 0.9 + n / 100}} for n in range(5)]))
    audit, data, _ = drafted(cli, tmp_path, "--from", results, slug="x2031")
    assert "method" not in data
    (claim,) = data["claims"].values()
    assert claim["holds_if"] == [
        {"kind": "reaches", "value": "final_acc", "at_least": "TODO", "from": "TODO"}
    ]
    assert len(outcomes_of(audit, results, cli)) == 1


def test_what_judge_will_ask_is_said_at_once(tmp_path, cli):
    results = tmp_path / "runs.json"
    results.write_text(json.dumps({"accuracy": [0.8, 0.81, 0.82]}))
    _, _, said = drafted(cli, tmp_path, "--from", results, slug="x2031")
    assert re.search(r"judge asks before it reads them: .*found no seed", said)


def test_results_without_a_number(tmp_path, cli):
    results = tmp_path / "runs.csv"
    results.write_text("name,note\na,b\n")
    command = ["new", "p", "--from", str(results), "--out", str(tmp_path / "mine")]
    assert f"{results}: found no number of a run" in cli(*command, code=2).err
    assert not (tmp_path / "mine").exists()


def test_of_many_numbers_and_arms_a_draft_takes_some_and_names_the_others(tmp_path, cli):
    results = tmp_path / "table.csv"
    rows = [
        f"m{arm},{seed},{0.5 + arm / 20 + seed / 99:.4f},{arm - seed / 99:.4f},{seed}"
        for arm in range(6)
        for seed in range(5)
    ]
    names = [f"method {letter}" for letter in "abcdef"]
    lines = [row.replace(row[:2], names[int(row[1])], 1) for row in rows]
    results.write_text("\n".join(["method,seed,accuracy,score,epochs", *lines]))
    audit, data, said = drafted(cli, tmp_path, "--from", results, slug="x2031")
    assert len(data["claims"]) == len(names) - 1
    assert "also measured, and in no claim: score, epochs" in said
    assert len(outcomes_of(audit, results, cli)) == len(data["claims"])


def test_what_is_no_measurement_is_in_no_claim(tmp_path, cli):
    """A number that is one in each arm is a setting, and a time is seldom claimed."""
    results = tmp_path / "runs.csv"
    rows = [
        f"{name},{seed},{200 + seed},{alpha},{score - seed / 99:.4f},{score + seed / 99:.4f}"
        for name, alpha, score in (("mixup", 0.2, 0.9), ("plain", "", 0.6))
        for seed in range(5)
    ]
    header = "method,seed,wall_clock_s,alpha,train_acc,test_acc"
    results.write_text("\n".join([header, *rows]))
    audit, data, said = drafted(cli, tmp_path, "--from", results, slug="mixup2018")
    assert [*data["claims"]] == ["test-acc-plain", "train-acc-plain"]
    assert data["claims"]["test-acc-plain"]["main"] is True
    assert "also measured, and in no claim: wall_clock_s, alpha" in said
    assert [*outcomes_of(audit, results, cli)] == [*data["claims"]]


def test_where_nothing_else_was_measured_times_are_claimed(tmp_path, cli):
    results = tmp_path / "runs.csv"
    rows = [f"{a},{s},{n + s}" for a, n in (("ours", 5), ("base", 50)) for s in range(5)]
    results.write_text("\n".join(["method,seed,train_time", *rows]))
    _, data, _ = drafted(cli, tmp_path, "--from", results, slug="x2031")
    assert [*data["claims"]] == ["train-time-base"]


@pytest.mark.parametrize(
    ("names", "arms"),
    [
        ("history_{}_seed{}.csv", {"fedprox": "fedprox", "fedavg": "fedavg"}),
        ("run_no_{}_seed{}.csv", {"decay": "no_decay", "dropout": "no_dropout"}),
        ("big_{}_seed{}.csv", {"ours_new": "ours_new", "base_old": "base_old"}),
    ],
)
def test_arms_are_named_without_the_words_that_all_names_have(tmp_path, cli, names, arms):
    logs = tmp_path / "logs"
    logs.mkdir()
    for arm, seed in product(arms, range(5)):
        score = 0.5 + seed / 99 + (arm == next(iter(arms))) / 9
        (logs / names.format(arm, seed)).write_text(f"step,score\n1,0.1\n2,{score}\n")
    audit, data, _ = drafted(cli, tmp_path, "--from", logs, slug="x2031")
    (claim,) = data["claims"].values()
    assert {data["method"], claim["holds_if"][0]["arm"]} == {*arms.values()}
    assert len(outcomes_of(audit, logs, cli)) == 1


def test_a_text_that_every_arm_has_in_several_runs_is_a_setting(tmp_path, cli):
    """As data sets are, be they folders as well; the table of means beside the runs is no run."""
    results = tmp_path / "results"
    arms = {"gat": 0.8, "gcn": 0.7}
    for data, arm, seed in product(("cora", "pubmed"), arms, range(5)):
        tree = {"args": {"dataset": data, "model": arm, "seed": seed}}
        home = results / data / arm
        home.mkdir(parents=True, exist_ok=True)
        (home / f"{seed}.json").write_text(json.dumps({**tree, "test_acc": arms[arm] + seed / 99}))
    means = ["| | cora | pubmed |", "|---|---|---|", "| gat | 80.0 | 81.0 |", "| gcn | 70.0 | 71 |"]
    (results / "README.md").write_text("\n".join(["# Results", "", *means]))
    audit, data, said = drafted(cli, tmp_path, "--from", results, slug="gat2018")
    assert data["settings"] == [{"from": "paper", "at": "TODO", "values": {"dataset": "cora"}}]
    assert [*data["claims"]] == ["test-acc-gcn", "test-acc-gcn-pubmed"]
    assert data["claims"]["test-acc-gcn-pubmed"]["settings"] == {"dataset": "pubmed"}
    assert "judge asks" not in said
    assert {*outcomes_of(audit, results, cli).values()} == {"supported"}
