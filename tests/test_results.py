"""The rule of an experiment's claims, the seeds that follow from it, and the log of results."""

import copy
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from factories import falls_to, make_record
from miniatures import audit_data, git, write_paper
from reproaudit.api import run_paper
from reproaudit.audit.arms import Role
from reproaudit.audit.catalog import Catalog, Entry, entry_of
from reproaudit.audit.model import Audit
from reproaudit.audit.plan import plan
from reproaudit.audit.seeds import drawn, rule, seeds_of
from reproaudit.cell import Cell
from reproaudit.checks import plain
from reproaudit.cli import run_command
from reproaudit.errors import SpecError
from reproaudit.formats.verdict import (
    Answer,
    ClaimAnswer,
    Outcome,
    ReadingAnswer,
    RunAnswer,
    Status,
)
from reproaudit.judge import ENGINE
from reproaudit.records import Record
from reproaudit.scorecard import history as results
from reproaudit.stats.binomial import Decision
from reproaudit.store import journal

pytestmark = pytest.mark.usefixtures("measured_here")


def audit_of(data: dict[str, Any]) -> Audit:
    return Audit.model_validate_json(json.dumps(data))


def changed(*place: str | int, to: Any) -> Audit:
    """The miniature audit with one value changed or added."""
    node = data = copy.deepcopy(audit_data())
    for step in place[:-1]:
        node = node[step]
    node[place[-1]] = to
    return audit_of(data)


AUDIT = audit_of(audit_data())
GUESS = {"value": 0.05, "source": "assumption", "why": "About half.", "alternatives": [0.4]}


# --- the rule -----------------------------------------------------------------------------------


DECIDES = [
    changed("claims", 0, "headline", 0, "at_most", to=0.2),
    changed("arms", "stays", "settings", "level", to=0.7),
    changed("settings", "level", "value", to=0.03),
    changed("runs", "paper", to=7),
]
INFORMS = [
    changed("claims", 0, "says", to="Said otherwise."),
    changed("arms", "stays", "why", to="Said otherwise."),
    changed("claims", 0, "exact", to=False),  # its default
    changed("settings", "level", to={**GUESS, "value": 0.02}),
    changed("experiments", "descent", "measurements", "final", "meaning", to="Otherwise."),
    changed("experiments", "guessed", "settings", "level", to=GUESS),  # another alternative
]


def test_what_decides_or_computes_gives_other_seeds_and_what_informs_moves_none():
    for other in DECIDES:
        assert rule(other, "descent", "paper") != rule(AUDIT, "descent", "paper")
        ours, theirs = (seeds_of(one, "paper", "descent", 6) for one in (AUDIT, other))
        assert not set(ours) & set(theirs)
    for other in INFORMS:
        for name in ("descent", "guessed"):
            assert rule(other, name, "paper") == rule(AUDIT, name, "paper")
    arms = {**audit_data()["arms"], "alone": {"settings": {"level": 0.8}, "why": "it stays"}}
    claims = [{**audit_data()["claims"][0], "nulls": ["alone"]}, *audit_data()["claims"][1:]]
    ours = audit_of(audit_data(arms=arms, claims=claims))
    arms["alone"] = {"settings": {"level": 0.9}, "why": "it stays"}
    theirs = audit_of(audit_data(arms=arms, claims=claims))
    assert rule(theirs, "descent", "paper") != rule(ours, "descent", "paper")
    assert rule(theirs, "guessed", "paper") == rule(ours, "guessed", "paper"), "its own alone"


def test_names_that_an_author_chose_are_never_left_out():
    named = {"why": 1.0, "title": 2.0}
    arm = changed("arms", "stays", "settings", to=named).arms["stays"]
    assert plain(arm) == {"settings": named}


# --- the seeds ----------------------------------------------------------------------------------


def test_drawn_seeds_are_distinct_and_fewer_are_the_first_of_more():
    seeds = drawn("a" * 64, 2000)
    assert len(set(seeds)) == 2000
    assert max(seeds) < 10**9, "so that --seeds can name them"
    assert drawn("a" * 64, 7) == seeds[:7]
    assert set(drawn("a" * 64, 50, "word")).isdisjoint(seeds)


def test_smaller_tiers_count_from_zero_and_claims_and_arms_share_their_seeds():
    assert seeds_of(AUDIT, "smoke", "descent", 1) == (0,)
    own = seeds_of(AUDIT, "paper", "descent", 6)
    seeds = {b.seeds for _, b in plan(AUDIT, "paper") if b.experiment == "descent"}
    assert seeds == {own, own[:5]}, "arms have five of the six"
    salted = AUDIT.salted("check-2")  # a word draws other seeds, at the paper tier alone
    assert set(own).isdisjoint(seeds_of(salted, "paper", "descent", 6))
    for audit in (AUDIT, salted):
        assert seeds_of(audit, "quick", "descent", 5) == (0, 1, 2, 3, 4)


# --- the log ------------------------------------------------------------------------------------


@pytest.fixture
def paper(tmp_path: Path) -> Entry:
    return entry_of(write_paper(tmp_path / "audits") / "mini.yaml")


def logged(entry: Entry, store: Path) -> list[dict[str, Any]]:
    files = (entry.results_file, store / f"results.{entry.slug}.jsonl")
    return [json.loads(line) for f in files if f.exists() for line in f.read_text().splitlines()]


def records(*seeds: int) -> list[Record]:
    values = AUDIT.values_of("descent", "paper")
    return [
        make_record(Cell("mini", "paper", "descent", values, seed), falls_to(1, seed))
        for seed in seeds
    ]


def append(entry: Entry, store: Path, *seeds: int) -> bool:
    answers = [supported(claim.id, 2) for claim in entry.audit().claims]
    return results.append(entry, entry.audit(), store, records(*seeds), answers)


def supported(claim: str, count: int) -> ClaimAnswer:
    runs = tuple(RunAnswer(seed=seed, status=Status.YES) for seed in range(count))
    met = {"decision": Decision.MET, "relaxed": Decision.MET, "answer": Answer.YES}
    base = ReadingAnswer(name="own", role=Role.OWN, runs=runs, **met)
    return ClaimAnswer(id=claim, outcome=Outcome.SUPPORTED, base=base)


def test_the_shipped_logs_begin_with_version_0_1():
    for slug in ("ahn2023", "chen2024", "wang2024", "yang2025"):
        first, *_ = results.logged_results(Catalog()[slug])
        assert isinstance(first, results.FirstVersion)


def test_records_are_logged_again_where_they_are_answered_otherwise(paper, tmp_path):
    assert append(paper, tmp_path, 0, 1)
    file = paper.results_file
    lines = file.read_text(encoding="utf-8")
    answered = '"answer":"supported"'
    for engine, answer, kinds in (
        (ENGINE, '"answer":"failed"', ["result", "judged again"]),  # an earlier version's word
        (ENGINE - 1, answered, ["result"]),
        (ENGINE - 1, '"answer":"failed"', ["result", "judged again"]),
    ):
        before = lines.replace(f'"engine":{ENGINE}', f'"engine":{engine}')
        file.write_text(before.replace(answered, answer), encoding="utf-8")
        assert append(paper, tmp_path, 0, 1) == (len(kinds) == 2)
        assert [one["kind"] for one in logged(paper, tmp_path)] == kinds
        assert not append(paper, tmp_path, 0, 1)


def test_a_result_is_logged_once_for_each_set_of_records(paper, tmp_path):
    assert append(paper, tmp_path, 0, 1)
    assert not append(paper, tmp_path, 1, 0)
    assert append(paper, tmp_path, 0, 1, 2)
    first, second = logged(paper, tmp_path)
    assert [first["records"], second["records"]] == [2, 3]
    assert set(first) == {"kind", "engine", "date", "rules", "code", "records", "digest", "claims"}
    assert (first["kind"], first["engine"]) == ("result", ENGINE)
    assert first["rules"] == {n: rule(paper.audit(), n, "paper") for n in ("descent", "guessed")}
    claim = paper.audit().claims[0]
    assert first["claims"]["mini.supported"] == {
        "answer": "supported",
        "bounds": results.bounds_of(claim),
        "yes": 2,
        "n": 2,
    }


def test_whether_the_audit_was_committed_is_noted_when_the_first_run_begins(paper, tmp_path):
    store, file = tmp_path / "runs", paper.audit_file
    git(file.parent, "init", "-q")
    assert results.is_committed(file) is None
    git(file.parent, "commit", "-q", "--allow-empty", "-m", "none")
    results.begin(paper, paper.audit(), store)
    git(file.parent, "add", "mini.yaml")
    git(file.parent, "commit", "-q", "-m", "audit")
    assert results.is_committed(file)
    results.begin(paper, paper.audit(), store)  # resumed
    append(paper, store, 0)
    salted = paper.audit().salted("word")
    results.begin(paper, salted, store)
    results.append(paper, salted, store, records(1), [supported("mini.supported", 1)])
    first, second = logged(paper, store)
    assert [first["committed"], second["committed"], second["salt"]] == [False, True, "word"]
    assert first["revision"] == git(file.parent, "rev-parse", "HEAD")


@pytest.mark.parametrize("command", ["multiverse", "run_paper"])
def test_whatever_judges_at_the_paper_tier_is_logged_with_whether_it_was_committed_then(
    tmp_path, command
):
    """To look first and to commit later does not make a run that began with the audit committed."""
    audits, store = write_paper(tmp_path / "audits"), tmp_path / "runs"
    entry = entry_of(audits / "mini.yaml")
    git(audits, "init", "-q")
    git(audits, "commit", "-q", "--allow-empty", "-m", "none")
    places = ["--audits", str(audits), "--store", str(store)]
    if command == "multiverse":
        assert run_command([command, "mini", "--tier", "paper", *places]) == 0
    else:
        claims = ["mini.guessed"]
        file = audits / "mini.yaml"
        card = run_paper(file, tier="paper", claims=claims, store=store, trust=True)
        assert card.claim("mini.guessed").base.n == 6
    (line,) = logged(entry, store)
    assert line["claims"]["mini.guessed"]["n"] == 6
    git(audits, "add", "mini.yaml")
    git(audits, "commit", "-q", "-m", "audit")
    assert run_command(["run", "mini", "--tier", "paper", *places]) == 0
    lines = logged(entry, store)
    assert [one["committed"] for one in lines] == [False] * len(lines)
    assert len(lines) == (1 if command == "multiverse" else 2)


def test_a_log_is_whole_before_it_is_renamed(paper, tmp_path, monkeypatch):
    append(paper, tmp_path, 0)
    before = paper.results_file.read_bytes()

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", killed)
        with pytest.raises(KeyboardInterrupt):
            append(paper, tmp_path, 0, 1)
    assert paper.results_file.read_bytes() == before
    assert append(paper, tmp_path, 0, 1)
    assert len(logged(paper, tmp_path)) == 2


def test_beside_a_read_only_audit_the_store_has_the_log(paper, tmp_path, monkeypatch):
    append(paper, tmp_path, 0)
    monkeypatch.setattr(journal.os, "access", lambda *_: False)
    assert not append(paper, tmp_path, 0), "the log beside the audit is read all the same"
    assert append(paper, tmp_path, 1)
    assert len((tmp_path / "results.mini.jsonl").read_text().splitlines()) == 1
    found = [len(results.logged_results(paper, one)) for one in (None, tmp_path)]
    assert found == [1, 2]


SPOILT: list[Callable[[str], str]] = [
    lambda line: line[:-20],
    lambda line: line.replace('{"kind"', '{"note":"n","kind"'),
]


@pytest.mark.parametrize("spoil", SPOILT)
def test_check_tells_of_a_line_that_is_no_result(paper, tmp_path, cli, spoil):
    append(paper, tmp_path, 0)
    assert run_command(["check", str(paper.audit_file)]) == 0
    (line,) = paper.results_file.read_text().splitlines()
    paper.results_file.write_text(f"{line}\n{spoil(line)}\n")
    printed = cli("check", paper.audit_file, code=2)
    (said,) = [one for one in printed.out.splitlines() if "RA021" in one]
    assert said.startswith(f"{paper.results_file}:2:1: found no result (")
    with pytest.raises(SpecError, match=r"mini\.results\.jsonl:2: found no result"):
        results.begin(paper, paper.audit(), tmp_path)


# --- the command line ---------------------------------------------------------------------------


def test_runs_of_the_paper_tier_are_logged_and_salted_runs_kept_apart(tmp_path, cli):
    data = audit_data()
    data["claims"] = data["claims"][:1]
    del data["experiments"]["guessed"], data["arms"]["low"]
    audits, store = write_paper(tmp_path / "audits", **data), tmp_path / "runs"
    entry = entry_of(audits / "mini.yaml")
    known = ["--audits", str(audits), "--store", str(store)]
    paper = ["run", "mini", "--tier", "paper", *known]
    for command in (paper, paper, [*paper, "--salt", "word"], ["run", "mini", *known]):
        assert run_command(command) == 0
    first, second = logged(entry, store)
    assert ("salt" in first, second["salt"], second["rules"]) == (False, "word", first["rules"])
    assert {path.name for path in (store / "mini").iterdir()} == {"paper", "paper-word", "quick"}
    pages = [tmp_path / "reports" / tier / "mini" for tier in ("paper", "paper-word")]
    ours, theirs = (json.loads((page / "scorecard.json").read_text()) for page in pages)
    assert (ours["tier"], theirs["tier"]) == ("paper", "paper-word")
    assert [len(one["claims"][0]["base"]["runs"]) for one in (ours, theirs)] == [6, 6]
    printed = cli("report", "mini", "--tier", "paper", "--salt", "word", *known)
    assert "scale, seeds drawn with 'word'" in " ".join(printed.out.split())
    card = cli("report", "mini", "--tier", "paper", "--json", *known).data
    assert card["earlier_results"] == 1, "the salted one"
    long = "a" * 33
    wrong = [["--salt", word, "--tier", "paper"] for word in ("Word", "", "a/b", long)]
    for words in (*wrong, ["--salt", "word"]):
        assert cli("run", "mini", *known, *words, code=2).err.count("\n") == 1
    assert run_command(["verify", "mini", *known]) == 0
