"""`reproaudit review --set`: the grammar, saving, and what is refused."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path

import pytest
from desks import copied

from reproaudit.audit.disputes import version_of
from reproaudit.audit.loading import load_audit
from reproaudit.audit.model import Audit
from reproaudit.audit.variables import VariableName
from reproaudit.cli import run_command
from reproaudit.desk.saving import (
    ChangedError,
    RefusedError,
    difference,
    git_difference,
    read_version,
    save,
)
from reproaudit.desk.script import carry_out
from reproaudit.errors import AuditError, SpecError, UsageError

ROOT = Path(__file__).parents[2]
TODAY = date(2026, 11, 21)


@pytest.fixture
def audits(tmp_path: Path) -> Path:
    copied(tmp_path)
    (tmp_path / "wang2024.py").write_text("EXPERIMENTS = {}\n")
    return tmp_path


@pytest.fixture
def file(audits: Path) -> Path:
    return audits / "wang2024.yaml"


def order(audits: Path, *orders: str, who: str = "R2", more: tuple[str, ...] = ()) -> int:
    sets = [word for one in orders for word in ("--set", one)]
    command = ["review", "wang2024", "--audits", str(audits), "--reviewer", who, *sets, *more]
    return run_command(command)


def edited(file: Path, what: str, who: str = "R2") -> Audit:
    version = read_version(file, TODAY)
    save(version, carry_out(version.text, what, who, TODAY))
    return load_audit(file, today=TODAY)


def void_sign_offs(file: Path) -> int:
    return [fault.rule for fault in read_version(file, TODAY).faults].count("RA173")


def test_every_form_of_the_grammar(audits: Path, file: Path) -> None:
    assert not order(
        audits,
        "dataset splits=Disagree: it has: one",
        "Open Datasets=not applicable: none",
        "claim wang2024.length-loss=dispute: a",
        "tolerance wang2024.directions/5=dispute: b",
        "tolerance wang2024.directions/direction of W_V=dispute: c",
        "control wang2024.directions/2=dispute: d",
        "control wang2024.directions/positive=dispute: e",
        "source length.tokens=dispute: f",
        "setting initial_scale.alternatives=1e-2, 0.044",
        "setting loss_factor.value=0.25",
        "setting tokens.locator=row Experiment Setup, first line",
        "answer wang2024.length-loss=We agree.",
    )
    audit = load_audit(file)
    assert audit.variables[5].reviews[-1].reason == "it has: one"
    assert [str(v.reviews[-1].decision) for v in audit.variables[4:6]] == [
        "not_applicable",
        "disagree",
    ]
    about = [one.model_dump(exclude_none=True, exclude={"reviewer", "as_of"}) for one in
             audit.disputes]  # fmt: skip
    claim = {"claim": "wang2024.directions"}
    assert about == [
        {"claim": "wang2024.length-loss", "reason": "a"},
        {**claim, "tolerance": "attention on the selected tokens", "reason": "b"},
        {**claim, "tolerance": "direction of W_V", "reason": "c"},
        {**claim, "control": 2, "reason": "d"},
        {**claim, "control": "positive", "reason": "e"},
        {"source": "length.tokens", "reason": "f"},
    ]
    assert audit.settings["initial_scale"].alternatives == (0.01, 0.044)
    assert audit.settings["loss_factor"].value == 0.25
    assert audit.responses[0].by == "R2"


@pytest.mark.parametrize(
    ("what", "says"),
    [
        ("Dataset Splits", "expected WHAT=WORD: TEXT"),
        ("Dataset Splits=disagree", "expected one of agree, disagree, not applicable"),
        ("Dataset Splitz=agree: x", "Did you mean 'Dataset Splits'"),
        ("Dataset Splits=withdraw", "R2 has decided nothing"),
        ("claim wang2024.x=dispute: y", "no claim 'wang2024.x'"),
        ("claim wang2024.length-loss=dispute", "expected 'dispute: REASON'"),
        ("claim wang2024.length-loss=withdraw", "disputes no such thing"),
        ("tolerance wang2024.length-loss/9=dispute: y", "has no check '9'"),
        ("control wang2024.length-loss/2=dispute: y", "write 1 to 1, or positive"),
        ("source codelaw=dispute: y", "Did you mean 'code_law'"),
        ("setting code_law.values=1", "Did you mean 'value'"),
        ("setting code_law.value=no", "which YAML reads as false"),
        ("setting code_law.value={a: b}", "true or false, a number, text"),
        ("setting code_law.value=&a [*a]", "true or false, a number, text"),
        ("setting code_law.value=[a", "in quotes"),
    ],
)
def test_what_is_no_order_is_one_line(file: Path, what: str, says: str) -> None:
    before = file.read_bytes()
    with pytest.raises(UsageError) as error:
        edited(file, what)
    assert says in str(error.value)
    assert "\n" not in str(error.value)
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    ("what", "says"),
    [
        ("Dataset Splits=agree: a\ab", "control character"),
        ("setting code_law.source=paper", "needs a 'locator'"),
        ("setting code_law.source=guess", "expected one of"),
        ("setting code_law.alternatives=gaussian", "RA1"),
        ("answer wang2024.nothing=x", "unknown id"),
    ],
)
def test_what_would_leave_a_fault_is_not_saved(file: Path, what: str, says: str) -> None:
    before = file.read_bytes()
    with pytest.raises(RefusedError, match=rf"(?s)not saved: .*{says}"):
        edited(file, what)
    assert file.read_bytes() == before


def test_tabs_and_line_breaks_are_kept_and_a_tab_is_written_as_an_escape(file: Path) -> None:
    audit = edited(file, "Pseudocode=agree: one\ttwo\nthree")
    assert audit.variables[2].reviews[-1].reason == "one\ttwo\nthree"
    assert "\t" not in file.read_text()
    assert "one\\ttwo" in file.read_text()


def test_all_orders_or_none_and_the_difference_is_printed(
    audits: Path, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = file.read_bytes()
    assert order(audits, "Pseudocode=agree: yes", "Pseudocode=perhaps: yes") == 2
    assert file.read_bytes() == before
    assert capsys.readouterr().out == f"edits {file}\n"
    assert order(audits, "Pseudocode=agree: turn \u202e round", more=("--json",)) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["changed"]
    assert "+      - reviewer: R2" in told["diff"]
    assert "\u202e" not in told["diff"]
    assert order(audits, "Pseudocode=agree: turn \u202e round") == 0
    assert "nothing to change" in capsys.readouterr().out
    assert order(audits, "Pseudocode=agree: x", who=" ") == 2


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The audit of a package that was installed, and is no checkout."""
    package = tmp_path / "site-packages" / "reproaudit"
    package.mkdir(parents=True)
    shutil.copytree(ROOT / "audits", package / "audits")
    (package / "papers").symlink_to(ROOT / "src" / "reproaudit" / "papers")
    monkeypatch.setattr("reproaudit.audit.catalog.PACKAGE", package)
    return package / "audits" / "wang2024.yaml"


def test_an_installed_copy_is_never_edited(
    installed: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    before = installed.read_bytes()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    command = ["review", "wang2024", "--reviewer", "R2", "--set", "Pseudocode=agree: so"]
    assert run_command(command) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert str(installed) in said
    assert "--audits" in said

    clone = tmp_path / "clone"
    shutil.copytree(ROOT / "audits", clone / "audits")
    (clone / "docs").mkdir()
    monkeypatch.chdir(clone / "docs")
    assert run_command(command) == 0
    assert f"edits {clone / 'audits' / 'wang2024.yaml'}\n" in capsys.readouterr().out
    assert "reviewer: R2" in (clone / "audits" / "wang2024.yaml").read_text()
    assert installed.read_bytes() == before
    assert run_command([*command, "--audits", str(installed.parent)]) == 2
    assert installed.read_bytes() == before


def test_a_sign_off_is_bound_to_what_the_audit_states(audits: Path, file: Path) -> None:
    assert order(audits, more=("--sign-off",)) == 2
    every = [f"{name.value}=agree: so" for name in VariableName]
    assert order(audits, *every, more=("--sign-off",)) == 0
    signed = load_audit(file)
    assert signed.sign_offs[0].version == version_of(signed)
    edited(file, "Pseudocode=disagree: no", who="R3")  # another reviewer's word
    others = edited(file, "claim wang2024.length-loss=dispute: no", who="R3")
    assert version_of(others) == signed.sign_offs[0].version
    assert void_sign_offs(file) == 0
    edited(file, "setting tokens.locator=elsewhere", who="R3")
    assert void_sign_offs(file) == 1
    assert order(audits, more=("--sign-off",)) == 0
    assert void_sign_offs(file) == 0


def test_a_sign_off_goes_with_a_decision_that_is_withdrawn(
    audits: Path, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    every = [f"{name.value}=agree: so" for name in VariableName]
    assert order(audits, *every, more=("--sign-off",)) == 0
    assert order(audits, *every, who="R3", more=("--sign-off",)) == 0
    signed = file.read_text()
    capsys.readouterr()
    assert order(audits, "Pseudocode=withdraw") == 0
    assert "R2's sign-off is taken back, too" in capsys.readouterr().out
    assert [one.reviewer for one in load_audit(file).sign_offs] == ["R3"]
    assert order(audits, more=("--sign-off",)) == 2
    assert order(audits, "Pseudocode=withdraw", who="R3") == 0
    assert load_audit(file).sign_offs == ()
    # One that is left by hand is told.
    last = signed.rindex("      - reviewer: R2")
    file.write_text(signed[:last] + signed[signed.index("      - reviewer: R3", last) :])
    (fault,) = [one for one in read_version(file, TODAY).faults if one.rule == "RA174"]
    assert "found no decision of 'R2' on Experiment Setup" in fault.message


def test_a_change_underneath_is_not_written_over(file: Path) -> None:
    version = read_version(file, TODAY)
    text = carry_out(version.text, "Pseudocode=agree: yes", "R2", TODAY)
    file.write_bytes(file.read_bytes() + b"# a note\n")
    with pytest.raises(ChangedError, match="nothing was saved"):
        save(version, text)
    assert file.read_bytes() == version.bytes + b"# a note\n"


def test_programs_that_save_at_once_lose_nothing(file: Path) -> None:
    def decide(number: int) -> None:
        while True:
            version = read_version(file, TODAY)
            text = carry_out(version.text, "Pseudocode=agree: yes", f"R{number}", TODAY)
            try:
                save(version, text)
            except ChangedError:
                continue
            return

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(decide, range(2, 8)))
    reviewers = {one.reviewer for one in load_audit(file, today=TODAY).variables[2].reviews}
    assert reviewers == {"reproaudit", *(f"R{number}" for number in range(2, 8))}
    assert [one.name for one in file.parent.iterdir() if one.name.startswith(".")] == []


def test_links_permissions_and_the_byte_order_mark_stay(file: Path, tmp_path: Path) -> None:
    real = tmp_path / "real" / "wang2024.yaml"
    real.parent.mkdir()
    real.write_bytes(b"\xef\xbb\xbf" + file.read_bytes())
    real.chmod(0o640)
    file.unlink()
    file.symlink_to(real)
    edited(file, "Pseudocode=agree: yes")
    assert file.is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert real.read_bytes().startswith(b"\xef\xbb\xbf# yaml")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_leave_to_write_is_one_line(file: Path) -> None:
    file.parent.chmod(0o500)
    try:
        with pytest.raises(AuditError, match="cannot write"):
            edited(file, "Pseudocode=agree: yes")
    finally:
        file.parent.chmod(0o700)


@pytest.mark.parametrize("data", [b"\xff\xfe", b"a: [", b"a: &x 1\n", b""])
def test_what_is_no_audit_is_not_edited(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "toy.yaml"
    file.write_bytes(data)
    with pytest.raises(SpecError):
        read_version(file)
    with pytest.raises(SpecError):
        read_version(tmp_path / "none.yaml")


@pytest.fixture
def draft(tmp_path: Path) -> Path:
    card = ROOT / "tests" / "cards" / "table.md"
    out = ["--out", str(tmp_path / "drafts")]
    assert run_command(["new", "sheep2032", "--card", str(card), *out]) == 0
    return tmp_path / "drafts" / "sheep2032.yaml"


def test_a_draft_is_finished_step_by_step(draft: Path) -> None:
    version = read_version(draft, TODAY)
    todos = version.text.text.count("TODO")
    text = carry_out(version.text, "Pseudocode=agree: none in it", "R1", TODAY)
    version = save(version, text)
    assert version.text.text.count("TODO") == todos - 4
    text = carry_out(version.text, "Pseudocode=agree: none in it", "R2", TODAY)
    version = save(version, text)
    reviews = version.text.at(("variables", 2, "reviews"))
    assert [one["reviewer"] for one in reviews] == ["R1", "R2"]
    with pytest.raises(RefusedError, match=r"control character"):
        save(version, version.text.put(("claims", 0, "statement"), "\a"))
    with pytest.raises(RefusedError, match="expected one of"):
        save(version, version.text.put(("claims", 0, "checks", 0, "scale"), "cubic"))


def test_differences(file: Path) -> None:
    version = read_version(file, TODAY)
    assert git_difference(file) is None
    git = ["git", "-C", str(file.parent), "-c", "user.name=a", "-c", "user.email=a@b.c"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "First"]):
        subprocess.run([*git, *command], check=True)
    assert git_difference(file) == ""
    after = save(version, carry_out(version.text, "Pseudocode=agree: yes", "R2", TODAY))
    by_git = git_difference(file)
    assert by_git is not None
    ours = difference(version, after).splitlines()
    assert [line for line in by_git.splitlines() if line[:1] in "+-"] == [
        line for line in ours if line[:1] in "+-"
    ]
