"""`reproaudit plan`: what will decide each claim and what must run, before anything does."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from factories import make_audit, make_records
from miniatures import claim, write_paper
from reproaudit.audit.model import Audit
from reproaudit.audit.plan import cells_of_tier
from reproaudit.audit.seeds import digest, rule
from reproaudit.cli import run_command
from reproaudit.cli.output import printed_json
from reproaudit.errors import UsageError
from reproaudit.judge.decisions import fewest_yes
from reproaudit.service.plan import PLAN_LINES, PLAN_WIDTH, Plan, plan_audit
from reproaudit.service.workspace import Workspace
from reproaudit.stats.binomial import Decision, decide_count
from reproaudit.store.records import Store

SHORT = Path(__file__).parent / "short" / "maxrl2026.yaml"


def planned(folder: Path, tier: Any = None, **changes: Any) -> Plan:
    audits = write_paper(folder / "audits", **changes)
    return plan_audit(Workspace(audits, folder / "runs"), "mini", tier)


@pytest.mark.parametrize(("runs", "yes"), [(4, None), (5, 5), (10, 9), (15, 12), (50, 32)])
def test_the_yes_that_a_count_needs_are_the_fewest_that_decide(runs, yes):
    (first, *_) = make_audit().claims
    assert fewest_yes(first, runs) == yes
    if yes is not None:
        assert decide_count(yes, runs) is Decision.MET
        assert decide_count(yes - 1, runs) is not Decision.MET


def test_a_larger_share_needs_more_yes_and_an_exact_answer_all():
    (first, *_) = make_audit(claims=[claim("mini", "often", main=True, share=0.8)]).claims
    assert fewest_yes(first, 5) is None
    assert fewest_yes(first, 15) == 15
    assert fewest_yes(first.model_copy(update={"exact": True}), 1) == 1


def test_a_plan_says_what_decides_and_what_must_run_beside(tmp_path):
    plan = planned(tmp_path, "paper")
    first = plan.claims[0]
    assert (first.claim, first.runs, first.needed, first.by) == (
        "mini.supported",
        6,
        "6 of 6",
        "count",
    )
    assert [(need.runs, need.yes) for need in first.decides] == [(5, 5), (6, 6), (10, 9), (15, 12)]
    assert [(arm.name, arm.must, arm.runs) for arm in first.arms] == [
        ("stays", "must fail", 5),
        ("built", "must succeed", 5),
    ]
    audit = Workspace(tmp_path / "audits").audit("mini")
    rules = {name: rule(audit, name, "paper") for name in ("descent", "guessed")}
    assert (plan.rules, plan.rule) == (rules, digest(rules))
    assert plan.cells == len(cells_of_tier(audit, "paper"))
    assert first.core_minutes is None
    assert plan.core_hours is None
    assert first.headroom is None


def stored(folder: Path, audit: Audit) -> None:
    for record in make_records(audit, "paper"):
        Store(folder / "runs").write(record)


def test_time_and_headroom_are_those_of_the_last_records(tmp_path):
    write_paper(tmp_path / "audits")
    workspace = Workspace(tmp_path / "audits", tmp_path / "runs")
    audit = workspace.audit("mini")
    stored(tmp_path, audit)
    plan = plan_audit(workspace, "mini", "paper")
    cells = len(cells_of_tier(audit, "paper"))
    assert plan.measured == cells
    assert plan.core_hours == pytest.approx(2.0 * cells / 3600)
    first, contradicted, *_ = plan.claims
    assert first.core_minutes == pytest.approx(2.0 * (6 + 5 + 5) / 60)
    room = first.headroom
    assert room is not None
    assert room.accepted == (None, 0.1)
    assert room.room == pytest.approx(0.1 - room.typical)
    assert room.words == "0.00099 for ≤ 0.1"
    assert contradicted.headroom is not None
    assert contradicted.headroom.room < room.room
    changed = write_paper(
        tmp_path / "other", claims=[claim("mini", "supported", main=True, nulls=["low"])]
    )
    other = plan_audit(Workspace(changed, tmp_path / "runs"), "mini", "paper")
    assert other.rule != plan.rule


def test_without_records_a_shipped_scorecard_knows_what_a_run_took_on_average(
    tmp_path, monkeypatch
):
    monkeypatch.setattr("reproaudit.service.plan.shipped_reports", lambda: tmp_path)
    workspace = Workspace(store=tmp_path / "runs")
    records = workspace.scorecard("yang2025", "paper").records
    plan = plan_audit(workspace, "yang2025", "paper")
    assert plan.measured == records.count
    seconds = records.seconds / records.count * plan.cells
    assert plan.core_hours == pytest.approx(seconds / 3600)
    assert plan_audit(workspace, "yang2025", "quick").core_hours is None


def test_a_plan_fits_a_logbook_however_many_claims_there_are(tmp_path):
    many = [claim("mini", f"claim-number-{n}", main=n == 0) for n in range(40)]
    arms = {f"control_{n}": {"settings": {"level": 0.5 + n / 100}, "why": "no"} for n in range(40)}
    arms |= {"built": {"settings": {"level": 0.001}, "why": "built"}}
    for n, one in enumerate(many):
        one["nulls"] = [f"control_{n}"]
    plan = planned(tmp_path, claims=many, arms=arms)
    assert plan.tier == "quick"
    assert len(plan.lines) == PLAN_LINES
    assert max(map(len, plan.lines)) <= PLAN_WIDTH
    assert plan.lines[-1] == f"rule {plan.rule}"
    assert len(plan.claims) == 40


def test_the_command_prints_the_model_as_json_and_the_lines(capsys):
    plan = plan_audit(Workspace(), SHORT)
    assert run_command(["plan", str(SHORT), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(printed_json(plan))
    assert run_command(["plan", str(SHORT)]) == 0
    assert capsys.readouterr().out.splitlines() == plan.lines
    assert plan.tier == "paper"
    assert "no control that must fail: pass8 and learns" in plan.lines
    assert plan.lines[0] == "plan of maxrl2026 at the paper tier: 2 claims, runs as you decide"
    assert (plan.cells, plan.claims[0].runs, plan.claims[0].arms[0].runs) == (None, None, None)
    assert [need.yes for need in plan.claims[0].decides] == [5, 9, 12]


def test_runs_from_elsewhere_are_planned_where_the_audit_says_how_many(tmp_path):
    file = tmp_path / "maxrl2026.yaml"
    file.write_text(f"{SHORT.read_text()}runs: {{paper: 5}}\n")
    plan = plan_audit(Workspace(), file)
    assert (
        plan.lines[0] == "plan of maxrl2026 at the paper tier: 2 claims, 5 runs of each of 3 arms"
    )
    assert [(claim.runs, claim.needed) for claim in plan.claims] == [(5, "5 of 5")] * 2
    assert "Nothing runs here: hand the runs to judge." in plan.lines


def test_what_decides_otherwise_is_called_so(tmp_path):
    mean = {"kind": "reaches", "value": "final", "below": 0.1, "from": "paper", "standard": "mean"}
    plan = planned(tmp_path, claims=[claim("mini", "mean", main=True, headline=[mean])])
    assert (plan.claims[0].needed, plan.claims[0].by) == ("mean of 5", "mean")
    assert plan.lines[1] == "No claim is decided by a count of runs."


def test_smoke_judges_nothing_and_so_plans_nothing(tmp_path):
    with pytest.raises(UsageError, match="found 'smoke', which judges nothing"):
        planned(tmp_path, "smoke")


def test_no_number_of_a_plan_is_infinite():
    for slug in ("ahn2023", "yang2025"):
        rooms = [one.headroom for one in plan_audit(Workspace(), slug, "paper").claims]
        assert any(rooms)
        assert all(math.isfinite(room.room) for room in rooms if room)
