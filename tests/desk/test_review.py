"""A review on the command line and at the desk writes the review file, and nothing else."""

import shlex
import shutil
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from desks import RunningDesk, copied, running
from hypothesis import example, given
from hypothesis import strategies as st

from factories import make_scorecard
from reproaudit.audit import REVIEW_FILE, catalog
from reproaudit.audit.catalog import entry_of
from reproaudit.audit.document import UNREADABLE
from reproaudit.audit.loading import load_audit, load_reviews, read_as
from reproaudit.audit.model import Audit, VariableName
from reproaudit.audit.review import Note, Reviews
from reproaudit.audit.rules import of_reviews
from reproaudit.cli import run_command
from reproaudit.errors import UsageError
from reproaudit.files import LOCK_NAME
from reproaudit.formats.scorecard import Scorecard
from reproaudit.formats.verdict import Outcome
from reproaudit.service import edits
from reproaudit.service.review_files import review_audit, save, written
from reproaudit.service.workspace import Workspace

DAY = date(2026, 11, 26)
TOY = Path(__file__).parents[1] / "audits" / "toy.yaml"


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


def reviewed(audit_file: Path, reviewer: str, *given_orders: str) -> bool:
    """Carries orders out by the command; whether the file changed."""
    return review_audit(Workspace(), entry_of(audit_file), reviewer, given_orders).changed


def test_orders_decide_dispute_answer_and_withdraw(audit):
    claim, setting = audit.claims[0].id, next(iter(audit.settings))
    arm = next(iter(edits.subjects(audit)["arm"]))
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


def test_what_the_audit_no_longer_has_can_be_withdrawn(audit):
    said = orders(
        audit,
        f"claim {audit.claims[0].id}=dispute: so",
        f"source {next(iter(audit.settings))}=dispute: so",
        f"answer {audit.claims[0].id}=we see it too",
    )
    without = audit.model_copy(update={"claims": (), "settings": {}})
    for order in (
        f"claim {audit.claims[0].id}=withdraw",
        f"source {next(iter(audit.settings))}=withdraw",
        f"answer {audit.claims[0].id}=withdraw",
    ):
        said = edits.carry_out(said, without, order, "R2", DAY)
    assert (said.disputes, said.responses) == ((), ())


def test_every_dispute_that_is_offered_fits_the_audit():
    for file in sorted((Path(__file__).parents[2] / "audits").glob("*2*.yaml")):
        if not file.name.endswith(REVIEW_FILE):
            audit, reviews = load_audit(file), Reviews()
            for kind, names in edits.subjects(audit).items():
                for name in names:
                    reviews = edits.dispute(reviews, audit, f"{kind} {name}", "R2", "so", DAY)
            assert list(of_reviews(audit, reviews)) == []


@pytest.mark.parametrize(
    ("order", "message"),
    [
        ("Dataset Splits", "expected WHAT=WORD"),
        ("Dataset Spits=agree: so", "Did you mean 'Dataset Splits'"),
        ("Dataset Splits=maybe: so", "expected one of agree"),
        ("Dataset Splits=agree", "expected a reason. Examples"),
        ("Dataset Splits=withdraw", "decided nothing"),
        ("claim wang2024.convergenc=dispute: so", "Did you mean 'wang2024.convergence'"),
        ("claim wang2024.convergence=dispute:", "expected a reason"),
        ("claim wang2024.convergence=so", "dispute: REASON"),
        ("note=a fine paper", "--note FILE"),
        ("note=withdraw", "has written no note"),
        ("claim wang2024.convergence=withdraw", "disputes no such thing"),
        ("answer nobody=so", "no finding or claim"),
        ("answer wang2024.convergence=withdraw", "answered no such thing"),
    ],
)
def test_an_order_that_cannot_be_carried_out_says_why(audit, order, message):
    with pytest.raises(UsageError, match=message) as raised:
        orders(audit, order)
    assert str(raised.value).startswith(f"--set '{order}'")


@given(st.text(min_size=1))
@example("0E0")
@example("copied from a PDF\x0cwith a form feed, \u2028 and \ufeff")
def test_any_reason_is_read_back_with_spaces_for_what_no_file_may_hold(text):
    try:
        said = edits.with_decision(Reviews(), VariableName.PSEUDOCODE, "R2", "agree", text, DAY)
    except (UsageError, ValueError):
        return  # nothing that can be read, or too much
    read, _, faults = read_as(Reviews, "a.review.yaml", "a review", text=written(said))
    assert (read, faults) == (said, [])
    reason = said.variables[VariableName.PSEUDOCODE][0].reason
    assert reason == UNREADABLE.sub(" ", text).strip()


def test_no_save_is_lost_between_desks_and_commands(tmp_path):
    file = copied(tmp_path)
    told: set[tuple[str, str]] = set()

    def at_the_desk(reviewer: str) -> None:
        with running(file, reviewer) as desk:
            desk.enter()
            for name in VariableName:
                if desk.post(name.value, decision="agree", reason="so").status == 303:
                    told.add((reviewer, name.value))

    def by_the_command(reviewer: str) -> None:
        for name in VariableName:
            orders = [f"{name}=agree: so"]
            if reviewed(tmp_path / "wang2024.yaml", reviewer, *orders):
                told.add((reviewer, name.value))

    works = {"R2": at_the_desk, "R3": by_the_command, "R4": at_the_desk, "R5": by_the_command}
    with ThreadPoolExecutor(len(works)) as pool:
        list(pool.map(lambda reviewer: works[reviewer](reviewer), works))
    decisions = load_reviews(file).variables.items()
    saved = {(entry.reviewer, name.value) for name, entries in decisions for entry in entries}
    assert told <= saved, "lost though the reviewer was told that it was saved"
    assert told == {(reviewer, name.value) for reviewer in works for name in VariableName}


def test_a_link_to_the_review_file_stays_a_link(tmp_path):
    shutil.copy(TOY, tmp_path)
    (tmp_path / "shared").mkdir()
    target, link = tmp_path / "shared" / "file.yaml", tmp_path / "toy.review.yaml"
    link.symlink_to(Path("shared", "file.yaml"))
    reviewed(tmp_path / TOY.name, "R2", "Pseudocode=agree: first")
    assert reviewed(tmp_path / TOY.name, "R2", "Pseudocode=agree: so")
    assert link.is_symlink()
    assert "reason: so" in target.read_text(encoding="utf-8")
    assert {path.name for path in target.parent.iterdir()} == {"file.yaml", LOCK_NAME}


def test_the_command_writes_the_review_file_alone(tmp_path, capsys, monkeypatch):
    file = copied(tmp_path)
    monkeypatch.chdir(tmp_path)
    audit_before = (tmp_path / "wang2024.yaml").read_bytes()
    every = [word for name in VariableName for word in ("--set", f"{name}=agree: seen")]
    command = ["review", "wang2024", *every, "--audits", str(tmp_path)]
    assert run_command([*command, "--reviewer", "R2", "--sign-off"]) == 0
    assert "saved" in capsys.readouterr().out
    assert [one.reviewer for one in load_reviews(file).sign_offs] == ["R2"]
    assert (tmp_path / "wang2024.yaml").read_bytes() == audit_before
    assert run_command([*command, "--reviewer", " "]) == 2
    assert "--reviewer NAME" in capsys.readouterr().err
    mine = [*command[:2], *command[-2:], "--reviewer", "R2"]
    assert run_command([*mine, "--set", "Pseudocode=withdraw"]) == 0
    assert not load_reviews(file).sign_offs, "it falls with what it signs"
    assert run_command([*mine, "--sign-off"]) == 2
    assert "Open: Pseudocode" in capsys.readouterr().err


def note_command(folder: Path, *more: str, reviewer: str = "R2") -> list[str]:
    return ["review", "wang2024", "--reviewer", reviewer, "--audits", str(folder), *more]


def test_a_note_is_kept_with_the_answers_that_it_is_for(tmp_path, capsys, monkeypatch):
    file = copied(tmp_path)
    monkeypatch.chdir(tmp_path)
    text = tmp_path / "note.txt"
    text.write_text("The main claim\nholds.\n", encoding="utf-8")
    audits = ["--audits", str(tmp_path)]
    assert run_command(note_command(tmp_path, "--note", str(text))) == 0
    assert f"to show it: reproaudit report wang2024 --audits {tmp_path}" in capsys.readouterr().out
    note = load_reviews(file).note
    assert note is not None
    assert (note.reviewer, note.text) == ("R2", "The main claim holds.")
    assert run_command(["report", "wang2024", *audits, "--json"]) == 0
    card = Scorecard.model_validate_json(capsys.readouterr().out)
    assert (card.reviews.note, card.note_is_stale) == (note, False)
    other = card.claims[0].model_copy(update={"outcome": Outcome.UNDECIDED})
    changed = card.model_copy(update={"claims": (other, *card.claims[1:])})
    assert changed.note_is_stale
    assert run_command(note_command(tmp_path, "--note", str(text), reviewer="R3")) == 2
    assert "R2 wrote the note" in capsys.readouterr().err
    assert run_command(note_command(tmp_path, "--set", "note=withdraw")) == 0
    assert load_reviews(file).note is None


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"word " * 101, "the note has 101 words; expected at most 100"),
        (b" \n", "the note is empty"),
        (b"a bell\x07", "the control character U+0007"),
        (b"\xff", "found no UTF-8"),
        (b"a" * 20_000, "expected at most 16,384"),
        (None, "No such file"),
    ],
)
def test_a_note_that_cannot_be_kept_is_one_line(tmp_path, capsys, monkeypatch, content, says):
    file = copied(tmp_path)
    monkeypatch.chdir(tmp_path)
    before = file.read_bytes()
    if content is not None:
        (tmp_path / "note.txt").write_bytes(content)
    assert run_command(note_command(tmp_path, "--note", "note.txt")) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert says in line
    assert file.read_bytes() == before


def test_a_note_needs_answers(tmp_path, capsys, monkeypatch):
    shutil.copy(TOY, tmp_path)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "note.txt").write_text("Good.", encoding="utf-8")
    command = ["review", "toy", "--reviewer", "R2", "--audits", ".", "--note", "note.txt"]
    assert run_command(command) == 2
    assert "Make them with: reproaudit run toy" in capsys.readouterr().err


def test_a_note_at_the_desk(tmp_path):
    answers = [make_scorecard()]
    with running(copied(tmp_path), scorecard=lambda: answers[-1]) as desk:
        desk.enter()
        stamp = desk.stamp("note")
        answer = desk.post("note", reason="word " * 101)
        assert answer.status == 422
        assert '<span id="wrong" class="wrong">The note has 101 words' in answer.text
        assert desk.post("note", reason="The main\nclaim holds.").status == 303
        note = load_reviews(desk.file).note
        assert note is not None
        assert (note.text, note.answers) == ("The main claim holds.", answers[0].answers_digest)
        assert desk.post("note", reason="typed", stamp=stamp).status == 409, "a note since"
        assert desk.post("undo").status == 303
        assert load_reviews(desk.file).note is None
        first = answers[0].claims[0].model_copy(update={"outcome": Outcome.UNDECIDED})
        claims = (first, *answers[0].claims[1:])
        answers.append(answers[0].model_copy(update={"claims": claims}))
        answer = desk.post("note", reason="typed")
        assert answer.status == 409, "the answers have changed since the page was opened"
        assert "undecided" in answer.text
        assert desk.post("note", reason="typed").status == 303
        answers.append(answers[0])
        desk.post("note", reason="again")
        assert "claims or answers have changed since" in desk.get("/").text


def test_anothers_note_is_hidden_until_the_reviewer_has_decided(desk):
    note = Note(reviewer="R1", text="All is well.", answers="0" * 32, as_of=DAY)
    save(desk.file, lambda reviews: reviews.model_copy(update={"note": note}))
    page = desk.get("/").text
    assert "R1 has written the note" in page
    assert note.text not in page
    for name in VariableName:
        desk.post(name.value, decision="agree", reason="seen")
    assert note.text in desk.get("/").text


def test_an_error_stands_at_its_field(desk):
    answer = desk.post("Pseudocode", decision="agree", reason="")
    section = answer.text.partition('<section id="Pseudocode">')[2].partition("</section>")[0]
    assert 'aria-invalid="true" aria-describedby="wrong" autofocus></textarea>' in section
    assert "Expected a reason." in section
    assert answer.text.count('id="wrong"') == 1
    answer = desk.post("Pseudocode", reason="so")
    assert '<fieldset aria-invalid="true"' in answer.text
    assert "Expected one of agree, disagree, not applicable." in answer.text


def test_the_desk_says_what_a_claim_asks_and_what_its_arms_are(desk):
    page = desk.get("/").text
    claim = page.partition('id="claim wang2024.convergence"')[2].partition("</section>")[0]
    assert "A loss falls, and has come to rest" in claim
    assert "Loss: test loss; flattens (at most 0.05, our number: " in claim
    assert ">an unrelated query</a> (control): In training the query holds" in claim
    assert ">hand-set weights</a> (positive control): " in claim
    arm = page.partition('id="arm best_blocks"')[2].partition("</section>")[0]
    assert "put in place of training" in arm


def test_the_missing_extra_is_named_in_one_line(tmp_path, capsys, monkeypatch):
    copied(tmp_path)
    monkeypatch.setitem(sys.modules, "reproaudit.desk.server", None)
    assert run_command(note_command(tmp_path)) == 2
    printed = capsys.readouterr()
    (line,) = printed.err.splitlines()
    assert "needs the extra 'review'" in line
    assert "pip install '.[review]'" in line
    assert printed.out == ""


def test_a_report_finds_the_reviews_where_they_were_written(tmp_path, capsys, monkeypatch):
    """In a checkout's folder 'audits', of audits that came with an installation elsewhere."""
    (tmp_path / "audits").mkdir()
    (tmp_path / "deeper").mkdir()
    file = copied(tmp_path / "audits")
    monkeypatch.chdir(tmp_path / "deeper")
    item = "claim wang2024.convergence"
    command = ["review", "wang2024", "--reviewer", "R2", "--set", f"{item}=dispute: too loose"]
    assert run_command(command) == 0
    (line,) = [o for o in capsys.readouterr().out.splitlines() if o.startswith("to show it: ")]
    assert "too loose" in file.read_text(encoding="utf-8")
    show = shlex.split(line.removeprefix("to show it: "))
    assert run_command([*show[1:], "--json"]) == 0
    card = Scorecard.model_validate_json(capsys.readouterr().out)
    assert [dispute.reason for dispute in card.reviews.disputes] == ["too loose"]
    assert card.shipped


def test_an_installed_audit_is_copied_to_be_reviewed(tmp_path, capsys, monkeypatch):
    installed, here = tmp_path / "package" / "audits", tmp_path / "here"
    installed.mkdir(parents=True)
    here.mkdir()
    before = copied(installed).read_bytes()
    monkeypatch.setattr(catalog, "PACKAGE_FOLDER", installed.parent)
    monkeypatch.chdir(here)
    command = ["review", "wang2024", "--reviewer", "R2", "--set", "Pseudocode=agree: so"]
    assert run_command(command) == 0
    copies = [here / "audits" / name for name in ("wang2024.yaml", "wang2024.review.yaml")]
    said = capsys.readouterr().out
    assert all(f"copied from the installed package: {one}" in said for one in copies)
    assert copies[0].read_bytes() == (installed / "wang2024.yaml").read_bytes()
    decisions = load_reviews(copies[1]).variables[VariableName.PSEUDOCODE]
    assert [one.reviewer for one in decisions] == ["reproaudit", "R2"]
    assert run_command([*command[:-1], "Pseudocode=withdraw"]) == 0
    assert "copied" not in capsys.readouterr().out
    assert (installed / "wang2024.review.yaml").read_bytes() == before


def test_others_decisions_are_hidden_until_the_reviewers_own(desk):
    reason = load_reviews(desk.file).variables[VariableName.PSEUDOCODE][0].reason
    assert reason not in desk.get("/").text
    assert desk.post("Pseudocode", decision="disagree", reason="a <b>block</b>").status == 303
    page = desk.get("/").text
    assert reason in page
    assert "a &lt;b&gt;block" in page
    assert "<b>block" not in page
    assert [d.reviewer for d in load_reviews(desk.file).variables["Pseudocode"]] == [  # type: ignore[index]
        "reproaudit",
        "R2",
    ]


def elsewhere(desk: RunningDesk, reviewer: str, *orders: str) -> None:
    """Carries orders out by the command, as somebody would meanwhile."""
    reviewed(desk.file.with_name("wang2024.yaml"), reviewer, *orders)


def changed(desk: RunningDesk, old: str, new: str) -> None:
    """Changes the audit, as its author would meanwhile."""
    file = desk.file.with_name("wang2024.yaml")
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")


def test_a_stale_form_is_refused_and_keeps_what_was_typed(desk):
    stamp = desk.stamp("Pseudocode")
    desk.post("Pseudocode", decision="agree", reason="first")
    answer = desk.post("Pseudocode", decision="agree", reason="typed in a stale tab", stamp=stamp)
    assert answer.status == 409
    assert "typed in a stale tab" in answer.text
    assert "+  reason: first" in answer.text
    assert "typed in a stale tab" not in desk.file.read_text(encoding="utf-8")
    assert desk.post("Pseudocode", decision="agree", reason="").status == 422


def test_a_decision_on_a_card_that_says_otherwise_by_now_is_refused(desk):
    stamp, before = desk.stamp("Pseudocode"), desk.file.read_bytes()
    changed(desk, 'Pseudocode: {card: "No"', "Pseudocode: {card: Perhaps")
    answer = desk.post("Pseudocode", decision="agree", reason="typed", stamp=stamp)
    assert answer.status == 409
    assert "result: Perhaps" in answer.text
    assert ">typed</textarea>" in answer.text
    assert desk.file.read_bytes() == before
    assert desk.post("Pseudocode", decision="agree", reason="typed").status == 303


def test_what_others_decide_unseen_makes_no_form_stale(desk):
    stamp = desk.stamp("Pseudocode")
    elsewhere(desk, "R3", "Pseudocode=agree: so")
    assert desk.post("Pseudocode", decision="agree", reason="so", stamp=stamp).status == 303


def test_a_dispute_of_what_the_audit_no_longer_has(desk):
    item = "claim wang2024.convergence"
    desk.post(item, reason="too loose")
    stamp = desk.stamp(item)
    changed(desk, "\n  convergence: ", "\n  learning: ")
    answer = desk.post(item, reason="typed meanwhile", stamp=stamp)
    assert answer.status == 409
    assert '<p class="words">typed meanwhile</p>' in answer.text
    assert "You dispute: too loose" in desk.get("/").text
    assert desk.post(item, act="withdraw").status == 303
    assert load_reviews(desk.file).disputes == ()
    assert "no longer has" not in desk.get("/").text


def test_a_file_that_is_faulty_meanwhile_is_named_until_it_is_mended(desk):
    before = desk.file.read_bytes()
    desk.file.write_bytes(before + b"<<<<<<< HEAD\n")
    form = b"item=Pseudocode&decision=agree&reason=typed+meanwhile"
    shown = desk.get("/")
    sent = desk.send("POST", "/", form, origin=f"http://{desk.host}")
    assert (shown.status, sent.status) == (409, 409)
    assert f"{desk.file.name}:" in shown.text
    assert "load this page again" in sent.text
    assert "typed meanwhile" in sent.text
    desk.file.write_bytes(before)
    assert desk.get("/").status == 200


def test_the_last_act_is_taken_back(desk):
    before = desk.file.read_bytes()
    desk.post("claim wang2024.convergence", reason="too loose")
    assert "too loose" in desk.file.read_text(encoding="utf-8")
    assert "Take back: dispute of wang2024.convergence" in desk.get("/").text
    assert desk.post("undo").status == 303
    assert desk.file.read_bytes() == before
    assert "Take back" not in desk.get("/").text


def test_an_old_form_takes_no_other_act_back(desk):
    desk.post("claim wang2024.convergence", reason="too loose")
    stamp = desk.stamp("undo")
    desk.post("Pseudocode", decision="agree", reason="in another tab")
    both = desk.file.read_bytes()
    answer = desk.post("undo", stamp=stamp)
    assert answer.status == 409
    assert "another by now: agree on Pseudocode" in answer.text
    assert desk.file.read_bytes() == both
    assert desk.post("undo").status == desk.post("undo").status == 303
    desk.post("Pseudocode", decision="agree", reason="again")
    assert desk.post("undo", stamp=stamp).status == 409, "a stamp names one act for ever"


def test_taking_back_leaves_and_shows_nothing_that_others_saved_since(desk):
    before = desk.file.read_bytes()
    desk.post("Pseudocode", decision="agree", reason="mine")
    elsewhere(desk, "R3", "Pseudocode=disagree: unseen", "Open Datasets=agree: elsewhere")
    assert desk.post("undo").status == 303
    assert "unseen" not in desk.get("/").text, "R2 has not decided on it any more"
    text = desk.file.read_text(encoding="utf-8")
    assert "mine" not in text
    assert "unseen" in text
    assert "elsewhere" in text
    elsewhere(desk, "R3", "Pseudocode=withdraw", "Open Datasets=withdraw")
    assert desk.file.read_bytes() == before


def test_what_changed_again_elsewhere_is_not_taken_back(desk):
    desk.post("Pseudocode", decision="agree", reason="mine")
    elsewhere(desk, "R2", "Pseudocode=disagree: by script")
    answer = desk.post("undo")
    assert answer.status == 409
    assert "what it changed has changed since" in answer.text
    assert "by script" in desk.file.read_text(encoding="utf-8")


def test_the_desk_signs_off_when_all_is_decided(desk):
    assert "Still open" in desk.get("/").text
    assert desk.post("sign-off").status == 409  # there is no form for it yet
    for name in VariableName:
        assert desk.post(name.value, decision="agree", reason="seen").status == 303
    stamp = desk.stamp("sign-off")
    changed(desk, "\n  convergence: ", "\n  learning: ")
    answer = desk.post("sign-off", stamp=stamp)
    assert answer.status == 409
    assert "+- id: wang2024.learning" in answer.text.replace("  ", "")
    assert not load_reviews(desk.file).sign_offs
    assert desk.post("sign-off").status == 303
    assert "You have signed off this version" in desk.get("/").text
