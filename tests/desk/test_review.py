"""A review on the command line and at the desk writes the review file, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from desks import RunningDesk, copied, running
from hypothesis import example, given
from hypothesis import strategies as st

from reproaudit.audit.document import UNREADABLE
from reproaudit.audit.loading import load_audit, read_as, read_reviews
from reproaudit.audit.model import Audit, Reviews, VariableName
from reproaudit.cli import run_command
from reproaudit.desk import edits
from reproaudit.desk.saving import ChangedError, read_version, save, written
from reproaudit.errors import UsageError

DAY = date(2026, 11, 26)


@pytest.fixture(scope="module")
def audit() -> Audit:
    return load_audit(Path(__file__).parents[2] / "audits" / "wang2024.yaml")


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[RunningDesk]:
    with running(copied(tmp_path)) as one:
        one.enter()
        yield one


def orders(audit: Audit, *given_orders: str, reviewer: str = "R2") -> Reviews:
    reviews = Reviews()
    for order in given_orders:
        reviews = edits.carry_out(reviews, audit, order, reviewer, DAY)
    return reviews


def test_orders_decide_dispute_answer_and_withdraw(audit: Audit) -> None:
    claim, setting = audit.claims[0].id, next(iter(audit.settings))
    arm = edits.subjects(audit)["arm"][0]
    said = orders(
        audit,
        "dataset splits = Disagree: none are named",
        f"claim {claim}=dispute: the bound is loose",
        f"arm {arm}=dispute: it learns too",
        f"source {setting}=dispute: the paper does not say so",
        f"answer {claim}=we see it too",
        "Dataset Splits=not applicable: drawn anew",
    )
    (decision,) = said.variables[VariableName.DATASET_SPLITS]
    assert (decision.decision, decision.reason) == ("not_applicable", "drawn anew")
    assert [(d.claim, d.arm, d.source) for d in said.disputes] == [
        (claim, None, None),
        (None, arm, None),
        (None, None, setting),
    ]
    assert [(r.to, r.by) for r in said.responses] == [(claim, "R2")]
    left = edits.carry_out(said, audit, f"claim {claim}=withdraw", "R2", DAY)
    assert [d.arm for d in left.disputes] == [arm, None]


@pytest.mark.parametrize(
    ("order", "message"),
    [
        ("Dataset Splits", "expected WHAT=WORD"),
        ("Dataset Spits=agree: so", "Did you mean 'Dataset Splits'"),
        ("Dataset Splits=maybe: so", "expected one of agree"),
        ("Dataset Splits=agree", "and the reason"),
        ("Dataset Splits=withdraw", "decided nothing"),
        ("claim wang2024.convergenc=dispute: so", "Did you mean 'wang2024.convergence'"),
        ("claim wang2024.convergence=dispute:", "dispute: REASON"),
        ("claim wang2024.convergence=withdraw", "disputes no such thing"),
        ("answer nobody=so", "no finding or claim"),
    ],
)
def test_an_order_that_cannot_be_carried_out_says_why(
    audit: Audit, order: str, message: str
) -> None:
    with pytest.raises(UsageError, match=message) as raised:
        orders(audit, order)
    assert str(raised.value).startswith(f"--set '{order}'")


@given(st.text(min_size=1))
@example("copied from a PDF\x0cwith a form feed, \u2028 and \ufeff")
def test_any_reason_is_read_back_with_spaces_for_what_no_file_may_hold(text: str) -> None:
    try:
        said = edits.with_decision(Reviews(), VariableName.PSEUDOCODE, "R2", "agree", text, DAY)
    except (UsageError, ValueError):
        return  # nothing that can be read, or too much
    read, _, faults = read_as(Reviews, "a.review.yaml", "a review", text=written(said))
    assert (read, faults) == (said, [])
    reason = said.variables[VariableName.PSEUDOCODE][0].reason
    assert reason == UNREADABLE.sub(" ", text).strip()


def test_saving_keeps_another_programs_change(tmp_path: Path, audit: Audit) -> None:
    file = copied(tmp_path)
    mine = read_version(file)
    theirs = read_version(file)
    save(theirs, edits.carry_out(theirs.reviews, audit, "Pseudocode=agree: so", "R3", DAY))
    with pytest.raises(ChangedError, match="changed by something else"):
        save(mine, edits.carry_out(mine.reviews, audit, "Pseudocode=agree: so", "R2", DAY))
    assert "R3" in file.read_text(encoding="utf-8")
    assert read_reviews(file, audit)[1] == []


def test_the_command_writes_the_review_file_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = copied(tmp_path)
    monkeypatch.chdir(tmp_path)
    audit_before = (tmp_path / "wang2024.yaml").read_bytes()
    every = [word for name in VariableName for word in ("--set", f"{name}=agree: seen")]
    command = ["review", "wang2024", *every, "--audits", str(tmp_path)]
    assert run_command([*command, "--reviewer", "R2", "--sign-off"]) == 0
    assert "saved" in capsys.readouterr().out
    assert [one.reviewer for one in read_version(file).reviews.sign_offs] == ["R2"]
    assert (tmp_path / "wang2024.yaml").read_bytes() == audit_before
    assert run_command([*command, "--reviewer", " "]) == 2
    assert "--reviewer NAME" in capsys.readouterr().err
    mine = [*command[:2], *command[-2:], "--reviewer", "R2"]
    assert run_command([*mine, "--set", "Pseudocode=withdraw"]) == 0
    assert not read_version(file).reviews.sign_offs, "it falls with what it signs"
    assert run_command([*mine, "--sign-off"]) == 2
    assert "Open: Pseudocode" in capsys.readouterr().err


def test_others_decisions_are_hidden_until_the_reviewers_own(desk: RunningDesk) -> None:
    reason = read_version(desk.file).reviews.variables[VariableName.PSEUDOCODE][0].reason
    assert reason not in desk.get("/").text
    assert desk.post("Pseudocode", decision="disagree", reason="a <b>block</b>").status == 303
    page = desk.get("/").text
    assert reason in page
    assert "a &lt;b&gt;block" in page
    assert "<b>block" not in page
    assert [d.reviewer for d in read_version(desk.file).reviews.variables["Pseudocode"]] == [  # type: ignore[index]
        "reproaudit",
        "R2",
    ]


def test_a_stale_form_is_refused_and_keeps_what_was_typed(desk: RunningDesk) -> None:
    stamp = desk.stamp("Pseudocode")
    desk.post("Pseudocode", decision="agree", reason="first")
    answer = desk.post("Pseudocode", decision="agree", reason="typed in a stale tab", stamp=stamp)
    assert answer.status == 409
    assert "typed in a stale tab" in answer.text
    assert "typed in a stale tab" not in desk.file.read_text(encoding="utf-8")
    assert desk.post("Pseudocode", decision="agree", reason="").status == 422


def test_a_file_that_is_faulty_meanwhile_is_named_until_it_is_mended(desk: RunningDesk) -> None:
    before = desk.file.read_bytes()
    desk.file.write_bytes(before + b"<<<<<<< HEAD\n")
    form = b"item=Pseudocode&decision=agree&reason=seen"
    shown = desk.get("/")
    sent = desk.send("POST", "/", form, origin=f"http://{desk.host}")
    assert (shown.status, sent.status) == (409, 409)
    assert f"{desk.file.name}:" in shown.text
    assert "load this page again" in sent.text
    desk.file.write_bytes(before)
    assert desk.get("/").status == 200


def test_the_last_act_is_taken_back(desk: RunningDesk) -> None:
    before = desk.file.read_bytes()
    desk.post("claim wang2024.convergence", reason="too loose")
    assert "too loose" in desk.file.read_text(encoding="utf-8")
    assert "Take back: dispute of wang2024.convergence" in desk.get("/").text
    assert desk.post("undo").status == 303
    assert desk.file.read_bytes() == before
    assert "Take back" not in desk.get("/").text


def test_the_desk_signs_off_when_all_is_decided(desk: RunningDesk) -> None:
    assert "Still open" in desk.get("/").text
    assert desk.post("sign-off").status == 409  # there is no form for it yet
    for name in VariableName:
        assert desk.post(name.value, decision="agree", reason="seen").status == 303
    assert desk.post("sign-off").status == 303
    assert "You have signed off this version" in desk.get("/").text
