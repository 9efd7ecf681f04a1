"""The desk's flow without a browser: two tabs, changes underneath, blindness, drafts."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from desks import ROOT, RunningDesk, copied, running

from reproaudit.audit.loading import load_audit
from reproaudit.cli import run_command


def test_two_tabs_are_merged_or_refused_without_loss(tmp_path: Path) -> None:
    with running(copied(tmp_path)) as desk:
        desk.enter()
        first, second = desk.stamp("/variable/2"), desk.stamp("/variable/3")
        one = {"decision": "agree", "reason": "first tab"}
        assert desk.post("/variable/2", **{**one, "stamp": first}).status == 303
        # Another item is merged.
        assert desk.post("/variable/3", **{**one, "stamp": second}).status == 303
        # The same item, opened before: refused, nothing typed is lost, nothing saved is lost.
        late = {"decision": "disagree", "reason": "second <tab>", "stamp": first}
        refused = desk.post("/variable/2", **late)
        assert refused.status == 409
        assert "second &lt;tab&gt;" in refused.text
        assert "first tab" in refused.text
        assert own(desk.file, 2).reason == "first tab"
        # The form of the refusal puts it in place, knowingly.
        (again,) = set(re.findall(r'name="stamp" value="(\w+)"', refused.text))
        assert desk.post("/variable/2", **{**late, "stamp": again}).status == 303
        assert own(desk.file, 2).reason == "second <tab>"


def own(file: Path, index: int, who: str = "R2"):  # type: ignore[no-untyped-def]
    reviews = load_audit(file).variables[index].reviews
    return next(one for one in reviews if one.reviewer == who)


def test_a_change_elsewhere_is_kept_and_told(tmp_path: Path) -> None:
    with running(copied(tmp_path)) as desk:
        desk.enter()
        stamp = desk.stamp("/variable/2")
        text = desk.file.read_text().replace("ICML", "ICML  # a note", 1)
        desk.file.write_text(text)
        fields = {"decision": "agree", "reason": "yes", "stamp": stamp}
        assert desk.post("/variable/2", **fields).status == 303
        assert "changed elsewhere" in desk.get("/").text
        assert "# a note" in desk.file.read_text()
        # What was changed after the edit is not taken back with it.
        digest = re.search(r'name="digest" value="(\w+)"', desk.get("/changes").text)
        assert digest is not None
        desk.file.write_text(desk.file.read_text() + "# another\n")
        before = desk.file.read_bytes()
        assert desk.post("/undo", digest=digest[1]).status == 303
        assert "Nothing was taken back" in desk.get("/changes").text
        assert desk.file.read_bytes() == before
        # A file that is broken meanwhile is not written to.
        desk.file.write_text("a: [")
        answer = desk.get("/")
        assert answer.status == 500
        assert "RA003" in answer.text


def test_taking_back_gives_the_same_bytes(tmp_path: Path) -> None:
    with running(copied(tmp_path)) as desk:
        desk.enter()
        before = desk.file.read_bytes()
        desk.post("/claim/5", about="claim", do="dispute", reason="Out of reach.")
        fields = {"value": "float64", "source": "recalled", "locator": "section 2"}
        desk.post("/setting/precision", do="correct", why="", alternatives="", **fields)
        setting = load_audit(desk.file).settings["precision"]
        assert (setting.value, setting.why, setting.alternatives) == ("float64", None, ())
        for _ in range(2):
            digest = re.search(r'name="digest" value="(\w+)"', desk.get("/changes").text)
            assert digest is not None
            desk.post("/undo", digest=digest[1])
        assert desk.file.read_bytes() == before


def test_withdrawing_a_decision_takes_the_sign_off_back(tmp_path: Path) -> None:
    with running(copied(tmp_path)) as desk:
        desk.enter()
        for index in range(9):
            desk.post(f"/variable/{index}", decision="agree", reason="So it is.")
        desk.post("/end", version=desk.stamp("/end"))
        signed = desk.file.read_bytes()
        assert load_audit(desk.file).sign_offs[0].reviewer == "R2"
        desk.post("/variable/2", do="withdraw")
        assert "and with it your sign-off, which needs all nine" in desk.get("/").text
        assert load_audit(desk.file).sign_offs == ()
        for left in (signed, None):  # taken back: the withdrawal with both, then the sign-off
            digest = re.search(r'name="digest" value="(\w+)"', desk.get("/changes").text)
            assert digest is not None
            desk.post("/undo", digest=digest[1])
            assert left is None or desk.file.read_bytes() == left
        assert load_audit(desk.file).sign_offs == ()


def test_the_last_page_says_what_was_not_opened_and_offers_one_signature(tmp_path: Path) -> None:
    with running(copied(tmp_path), 'Ann, "the second"', blind=False) as desk:
        desk.enter()
        for index in range(9):
            desk.post(f"/variable/{index}", decision="agree", reason="So it is.")
        end = desk.get("/end").text
        assert "“reproaudit” and “Ann, &#34;the second&#34;”: " in end
        audit = load_audit(desk.file)
        claims, findings = len(audit.claims), len(audit.findings)
        assert f"you have opened 0 of {claims} claims, 0 of " in end
        assert f" and 0 of {findings} findings." in end
        left = re.search(r"<p>Claims not opened: (.*)</p>", end)
        assert left is not None
        assert '<a href="/claim/5">wang2024.length-loss</a>' in left[1]
        for page in ("/claim/5", "/claim/5", "/setting/code_law", "/finding/0"):
            desk.get(page)
        end = desk.get("/end").text
        assert f"you have opened 1 of {claims} claims, 1 of " in end
        assert 'href="/claim/5"' not in end
        assert "Sign this version off" in end
        desk.post("/end", version=desk.stamp("/end"))
        end = desk.get("/end").text
        assert "signed off on" in end
        assert "Sign this version off" not in end
        desk.post("/setting/tokens", do="correct", **tokens(desk, locator="elsewhere"))
        end = desk.get("/end").text
        assert "an earlier version" in end
        assert "Sign this version off" in end


def test_meanings_and_findings_are_told_with_their_context(tmp_path: Path) -> None:
    with running(copied(tmp_path)) as desk:
        desk.enter()
        audit = load_audit(desk.file)
        shown = desk.get("/claim/5").text
        constructed = audit.experiments["length"].measurements
        told = "Listed before it: <code>loss</code>: "
        every = "".join(desk.get(f"/claim/{i}").text for i in range(len(audit.claims)))
        assert f'{constructed["final_loss"].meaning} <span class="soft">{told}' in every
        (finding,) = [
            one for one in audit.findings if one.id == "wang2024.length-loss-out-of-reach"
        ]
        first, _, rest = finding.statement.partition(". ")
        for page in (shown, desk.get("/").text):
            assert "length loss out of reach</a>" in page
            assert f": {first.removesuffix('.')}." in page
            assert not rest or rest not in page
    with running(copied(tmp_path, "yang2025")) as desk:
        desk.enter()
        claims = load_audit(desk.file).claims
        every = "".join(desk.get(f"/claim/{i}").text for i in range(len(claims)))
        chain = r"<code>easy_confidence</code>: .* <code>hard_confidence</code>: The same over hard"
        assert re.search(chain, every)


def test_each_check_names_its_own_ablation(tmp_path: Path) -> None:
    with running(copied(tmp_path, "yang2025")) as desk:
        desk.enter()
        audit = load_audit(desk.file)
        for index, claim in enumerate(audit.claims):
            page = desk.get(f"/claim/{index}").text
            for check in claim.checks:
                if check.ablation:
                    assert f"the control <code>{check.ablation}</code>" in page
                    assert f"({check.ablation})</h3>" in page
                    assert "Each check names the one that must miss it." in page


def test_no_paper_is_without_a_type_or_authors(tmp_path: Path) -> None:
    with running(copied(tmp_path)) as desk:
        desk.enter()
        offered = ['value="not_applicable"' in desk.get(f"/variable/{i}").text for i in range(9)]
        assert offered == [False] * 2 + [True] * 7


def tokens(desk: RunningDesk, **changed: str) -> dict[str, str]:
    one = load_audit(desk.file).settings["tokens"]
    given = {"value": str(one.value), "source": str(one.source), "why": one.why or ""}
    return {**given, "alternatives": ", ".join(map(str, one.alternatives)), **changed}


def test_what_is_refused_stays_in_the_form(tmp_path: Path) -> None:
    with running(copied(tmp_path)) as desk:
        desk.enter()
        before = desk.file.read_bytes()
        refused = [
            desk.post("/variable/2", decision="agree", reason=" "),
            desk.post("/variable/2", reason="kept words"),
            desk.post("/variable/2", decision="agree", reason="bell \a kept words"),
            desk.post("/claim/0", about="claim", do="answer", by="", statement="kept words"),
            desk.post("/setting/code_law", do="correct", value="[a", why="kept words"),
            desk.post("/claim/0", about="tolerance:0", do="withdraw"),
        ]
        assert [one.status for one in refused] == [422] * len(refused)
        assert all('role="alert"' in one.text for one in refused)
        assert all("kept words" in one.text for one in refused[1:5])
        assert desk.file.read_bytes() == before


def test_blind_hides_the_others_until_ones_own_word_stands(tmp_path: Path) -> None:
    file = copied(tmp_path)
    (tmp_path / "wang2024.py").write_text("")
    dispute = "claim wang2024.length-loss=dispute: their words"
    order = ["review", "wang2024", "--audits", str(tmp_path), "--reviewer", "R1"]
    assert run_command([*order, "--set", dispute, "--set", "Pseudocode=agree: theirs too"]) == 0
    pages = ["/", "/variable/2", "/claim/5", "/end", "/changes"]
    theirs = ("their words", "theirs too", "The model and its training are given in words")
    with running(file) as desk:
        desk.enter()
        shown = "".join(desk.get(page).text for page in pages)
        assert not any(words in shown for words in theirs)
        assert run_command([*order, "--set", "Open Datasets=agree: meanwhile"]) == 0
        desk.post("/variable/2", decision="disagree", reason="mine")
        assert "meanwhile" not in desk.get("/changes").text
        assert "theirs too" in desk.get("/variable/2").text
        assert "their words" not in "".join(desk.get(page).text for page in pages)
        assert "theirs too" not in desk.get("/changes").text
        desk.post("/claim/5", about="claim", do="dispute", reason="mine")
        assert "their words" in desk.get("/claim/5").text
    with running(file, blind=False) as desk:
        desk.enter()
        shown = "".join(desk.get(page).text for page in pages)
        assert all(words in shown for words in theirs)


def test_a_draft_is_finished_at_the_desk(tmp_path: Path) -> None:
    card = str(ROOT / "tests" / "cards" / "table.md")
    out = tmp_path / "drafts"
    assert run_command(["new", "sheep2032", "--card", card, "--out", str(out)]) == 0
    with running(out / "sheep2032.yaml", "R1") as desk:
        desk.enter()
        assert "is a draft" in desk.get("/").text
        for index in range(9):
            desk.post(f"/variable/{index}", decision="agree", reason="As the card says.")
        answers = {"at_least": ("number", "0.5"), "scale": ("", "log")}
        while True:
            page = desk.get("/unfinished").text
            form = re.search(
                r'value="(\w+)">\s*<input type="hidden" name="path" value="([^"]*)', page
            )
            if form is None:
                break
            kind, text = answers.get(form[2].rpartition(".")[2], ("", "Written at the desk."))
            fields = {"stamp": form[1], "path": form[2], "text": text, "as": kind}
            assert desk.post("/unfinished", **fields).status == 303, form[2]
        assert "TODO" not in desk.file.read_text().partition("\n")[2]
        assert load_audit(desk.file).claims[0].checks[0].name == "outcome"
        assert desk.get("/claim/0").status == 200


def test_the_command_serves_until_it_is_interrupted(tmp_path: Path) -> None:
    file = copied(tmp_path)
    (tmp_path / "wang2024.py").write_text("")
    command = ["review", "wang2024", "--audits", str(tmp_path), "--reviewer", "R2"]
    with subprocess.Popen(
        [sys.executable, "-m", "reproaudit", *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    ) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == f"edits {file}\n"
        address = program.stdout.readline().removeprefix("Open ").strip()
        desk = RunningDesk(address, file)
        assert desk.enter().status == 303
        assert desk.get("/").status == 200
        program.send_signal(signal.SIGINT)
        _, complaints = program.communicate(timeout=120)
    assert program.returncode == 0
    assert complaints == ""
