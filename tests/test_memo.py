"""What is remembered spares work and decides nothing: every touched byte is read again."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.looking import make_records

from miniatures import write_paper
from reproaudit.audit.catalog import Catalog, Entry
from reproaudit.audit.model import Audit
from reproaudit.cell import Cell
from reproaudit.cli import run_command
from reproaudit.commands import listing, one_paper, reporting, several_papers
from reproaudit.records import Measurements, Series
from reproaudit.running import memo
from reproaudit.running.groups import todays_groups
from reproaudit.running.memo import Memo, Snapshot, look_at, memo_folder
from reproaudit.running.store import Store
from reproaudit.scorecard.model import Scorecard


@pytest.fixture(autouse=True)
def _an_empty_memo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(memo.FOLDER_VARIABLE, str(tmp_path / "answers"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(memo, "SETTLED", -(10**12))  # every file counts as settled


def answers() -> list[Path]:
    return sorted(memo_folder().glob("*.json"))


# --- the memo -----------------------------------------------------------------------------------


def kept(file: Path, answer: object = "yes") -> None:
    Memo(["question", 1], look_at([file])).keep(answer)


def asked(file: Path) -> object:
    return Memo(["question", 1], look_at([file])).answer()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "input.txt"
    path.write_text("one")
    return path


def test_an_answer_is_given_again_to_the_same_question_alone(file: Path) -> None:
    assert asked(file) is None
    kept(file, {"several": [1, None, "ü\ud800"]})
    assert asked(file) == {"several": [1, None, "ü\ud800"]}
    assert Memo(["question", 2], look_at([file])).answer() is None


def test_the_same_size_and_time_with_another_byte_is_another_state(file: Path) -> None:
    kept(file)
    before = file.stat()
    time.sleep(0.02)  # more than a step of the clock of a local file system
    with open(file, "r+b") as changed:
        changed.write(b"two")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = file.stat()
    assert (after.st_size, after.st_mtime_ns, after.st_ino) == (
        before.st_size,
        before.st_mtime_ns,
        before.st_ino,
    )
    assert asked(file) is None


def test_a_file_that_comes_goes_or_is_replaced_is_another_state(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    (folder / "below").mkdir(parents=True)
    states = [look_at([folder])]
    (folder / "below" / "one").write_text("1")
    states.append(look_at([folder]))
    (folder / "two").write_text("1")
    os.replace(folder / "two", folder / "below" / "one")
    states.append(look_at([folder]))
    (folder / "below" / "link").symlink_to(tmp_path / "nowhere")
    states.append(look_at([folder]))
    (tmp_path / "nowhere").write_text("1")
    states.append(look_at([folder]))
    (folder / "below" / "circle").symlink_to(folder)
    states.append(look_at([folder]))
    assert len({Snapshot.of(one).digest for one in states if one is not None}) == 5
    assert states[-1] == states[-2]  # a link to a folder above leads nowhere new


def test_damaged_answers_are_none_and_are_written_anew(file: Path) -> None:
    kept(file)
    (answer,) = answers()
    whole = answer.read_bytes()
    for damaged in (b"", whole[:-1], whole.replace(b"yes", b"not"), b"\xff" + whole, whole + b" "):
        answer.write_bytes(damaged)
        assert asked(file) is None
        kept(file)
        assert answer.read_bytes() == whole


def test_a_file_that_changed_just_now_is_not_relied_on(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memo, "SETTLED", 10**18)
    kept(file)
    assert answers() == []


def test_no_answer_is_kept_where_nothing_can_be_written(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(memo.FOLDER_VARIABLE, str(file / "below"))
    kept(file)
    assert asked(file) is None


def test_the_folder_stays_small(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memo, "MOST_ANSWERS", 10)
    for number in range(40):
        Memo(number, look_at([file])).keep(number)
    assert len(answers()) <= 10
    assert Memo(39, look_at([file])).answer() == 39


def test_an_answer_does_not_wait_for_the_disk(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda _descriptor: pytest.fail("it waited"))
    kept(file)
    assert asked(file) == "yes"


@pytest.mark.parametrize("named", [True, False])
def test_another_version_of_an_installed_package_is_another_tool(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: bool
) -> None:
    """Also in the working directory, which "" stands for in the list of places."""
    monkeypatch.setattr(sys, "path", [str(tmp_path) if named else ""])
    for name in ("numpy-2.0.dist-info", "numpy-2.1.dist-info"):
        (tmp_path / name).mkdir()
    before = memo.tool_files.__wrapped__()
    (tmp_path / "numpy-2.0.dist-info").rmdir()
    after = memo.tool_files.__wrapped__()
    assert before is not None
    assert after not in (None, before)
    assert memo.tool_files.__wrapped__() == after


def test_a_folder_of_code_is_looked_at_once_while_a_moment_lasts(file: Path) -> None:
    """Its state is older than what is read, so that what is touched shows the next time."""
    code = file.with_suffix(".py")
    code.write_text("1")
    first = look_at([file.parent], suffix=".py")
    with memo.one_moment():
        assert look_at([file.parent], suffix=".py") == first
        code.write_text("one")
        (file.parent / "another.py").write_text("1")
        assert look_at([file.parent], suffix=".py") == first
        Memo("question", look_at([file.parent], suffix=".py")).keep("yes")
    assert look_at([file.parent], suffix=".py") != first
    assert Memo("question", look_at([file.parent], suffix=".py")).answer() is None


def test_what_changed_after_a_moment_began_is_not_relied_on(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memo, "SETTLED", 0)
    with memo.one_moment():
        file.write_text("changed")
        kept(file)
        assert answers() == []
    kept(file)
    assert asked(file) == "yes"


def test_too_many_files_are_not_looked_at(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memo, "MOST_FILES", 3)
    for name in "abcd":
        (file.parent / name).write_text("")
    assert look_at([file.parent]) is None
    Memo("question", None).keep("yes")
    assert Memo("question", None).answer() is None


# --- list and report ----------------------------------------------------------------------------


@pytest.fixture
def papers(tmp_path: Path) -> Path:
    """The folder of the paper in miniature; `runs` beside it has its quick tier."""
    folder = write_paper(tmp_path / "audits")
    write_records(Catalog(folder)["mini"], Store(tmp_path / "runs"))
    (tmp_path / "runs" / "manifest.log").unlink()  # so that a record may be another one
    return folder


def write_records(entry: Entry, store: Store) -> None:
    """A record of every planned cell, which ends about where its settings say."""

    def measured(_audit: Audit, cell: Cell) -> Measurements:
        end = float(cell.settings["level"]) * (1 + 0.01 * cell.seed)  # type: ignore[arg-type]
        series = Series(steps=(0, 20, 40), values=np.array([1.0, 0.9, end]))
        return Measurements(scalars={"final": end}, series={"distance": series})

    make_records(entry, store, measured)


def listed(capsys: pytest.CaptureFixture[str], *more: str) -> tuple[int, str]:
    """Exit code of `list` and what it prints of the paper's verdicts, or its error."""
    code = run_command(["list", "--audits", "audits", *more, "--json"])
    out, errors = capsys.readouterr()
    if code:
        return code, errors
    return 0, str(next(one["verdicts"] for one in json.loads(out) if one["slug"] == "mini"))


def reported(capsys: pytest.CaptureFixture[str], *more: str) -> tuple[int, str, str]:
    """Exit code of `report`, what it prints, and the page that it writes."""
    code = run_command(["report", "mini", "--audits", "audits", *more])
    page = Path("reports/quick/mini/scorecard.html")
    return code, capsys.readouterr().out, page.read_text(encoding="utf-8")


def in_place(file: Path, before: bytes, after: bytes) -> None:
    """Writes other bytes into a file, which keeps its size, its inode and its name."""
    assert len(before) == len(after)
    content = file.read_bytes()
    assert before in content
    with open(file, "r+b") as changed:
        changed.write(content.replace(before, after))


def never(*_arguments: object) -> None:
    raise AssertionError("this was to be remembered")


def test_nothing_is_judged_or_drawn_while_nothing_changes(
    papers: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, page = listed(capsys), reported(capsys)
    assert "supported" in first[1]
    with monkeypatch.context() as patched:
        patched.setattr(listing, "_print", never)
        patched.setattr(reporting, "_reported", never)
        assert listed(capsys) == first
        assert reported(capsys) == page
        assert run_command(["report", "mini", "--audits", "audits", "--fail-on", "vacuous"]) == 1
    capsys.readouterr()
    memo.forget_all()
    assert answers() == []
    assert (listed(capsys), reported(capsys)) == (first, page)


def edit_the_audit(papers: Path) -> None:
    in_place(papers / "mini.yaml", b"at_most: 0.1", b"at_most: 0.0")


def edit_the_module(papers: Path) -> None:
    in_place(papers / "mini.py", b"* 0.7", b"* 0.6")


def edit_the_records(papers: Path) -> None:
    for file in sorted((papers.parent / "runs").rglob("*.json")):
        head, body = file.read_bytes()[:-2].split(b',"record":')
        other = body.replace(b"0.02", b"0.72").replace(b'"level":0.72', b'"level":0.02')
        digest = hashlib.sha256(other).hexdigest().encode()
        in_place(file, body, other)
        in_place(file, head[-65:-1], digest)


def damage_a_record(papers: Path) -> None:
    file = min((papers.parent / "runs").rglob("*.json"))
    in_place(file, b"completed", b"comqleted")


def remove_a_record(papers: Path) -> None:
    min((papers.parent / "runs").rglob("*.json")).unlink()


def damage_the_manifest(papers: Path) -> None:
    (papers.parent / "runs" / "manifest.log").write_text("what\n")


@pytest.mark.parametrize(
    "change",
    [
        edit_the_audit,
        edit_the_records,
        damage_a_record,
        remove_a_record,
        damage_the_manifest,
    ],
)
def test_a_byte_that_changes_in_place_changes_what_list_and_report_say(
    change: Callable[[Path], None], papers: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, page = listed(capsys), reported(capsys)
    assert listed(capsys) == first
    change(papers)
    after, page_after = listed(capsys), reported(capsys)
    assert after != first
    assert page_after != page
    memo.forget_all()
    assert (listed(capsys), reported(capsys)) == (after, page_after)


def test_a_module_that_changes_in_place_makes_its_records_another_groups(
    papers: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    entry = Catalog(papers)["mini"]
    before, page = todays_groups(entry.code), reported(capsys)
    assert todays_groups(entry.code) == before
    edit_the_module(papers)
    assert todays_groups(entry.code) != before
    assert reported(capsys) != page


def test_a_page_that_was_edited_or_removed_is_written_again(
    papers: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = reported(capsys)
    page = Path("reports/quick/mini/scorecard.html")
    in_place(page, b"supported", b"supp0rted")
    assert reported(capsys) == first
    page.unlink()
    assert reported(capsys) == first
    Path("reports/quick/mini/multiverse.html").write_text("")  # to which the page now leads
    assert reported(capsys) != first


def test_a_new_paper_or_record_elsewhere_is_seen(
    papers: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = listed(capsys)
    shutil.copytree("runs", "other")
    assert listed(capsys, "--store", "other") == first
    shutil.rmtree("other")
    assert listed(capsys, "--store", "other") == (0, "None")
    write_paper(papers, "another")
    run_command(["list", "--audits", "audits"])
    assert "another" in capsys.readouterr().out


@pytest.fixture
def two_papers(papers: Path) -> list[str]:
    """The command that reports both; they share a store."""
    write_paper(papers, "another")
    write_records(Catalog(papers)["another"], Store(Path("runs")))
    return ["report", "mini", "another", "--audits", "audits"]


def test_a_list_draws_nothing_and_counts_as_the_register_does(
    two_papers: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run_command([*two_papers, "--json"]) == 0
    capsys.readouterr()
    register = json.loads(Path("reports/quick/register.json").read_text())
    told = {one["slug"]: one["ours"]["verdicts"] for one in register["papers"]}
    monkeypatch.setattr("reproaudit.scorecard.from_store.build", None)
    assert run_command(["list", "--audits", "audits", "--json"]) == 0
    listed = {one["slug"]: one["verdicts"] for one in json.loads(capsys.readouterr().out)}
    assert {slug: listed[slug] for slug in told} == told
    assert len(told) == 2


def written_pages() -> dict[str, bytes]:
    return {str(file): file.read_bytes() for file in Path("reports").rglob("*.*")}


def test_after_one_paper_changed_no_other_is_judged_or_drawn_again(
    two_papers: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    judged: list[str] = []
    really, rendered = one_paper.scorecard_of, one_paper.write_report

    def noted(store: Store, audit: Audit, *rest: Any, **more: Any) -> Scorecard:
        judged.append(audit.paper.slug)
        return really(store, audit, *rest, **more)

    def drawn(card: Scorecard, out: Path, formats: Iterable[str]) -> tuple[Path, ...]:
        judged.extend(f"{card.paper['slug']}.{one}" for one in sorted(formats))
        return rendered(card, out, formats)

    monkeypatch.setattr(one_paper, "scorecard_of", noted)
    monkeypatch.setattr(one_paper, "write_report", drawn)
    assert run_command(two_papers) == 0
    first = capsys.readouterr().out
    assert {"mini", "mini.html", "another", "another.html"} <= set(judged)
    judged.clear()
    store = Store(Path("runs"))
    store.manifest.add("another/quick/training/lost.json", "0" * 64)
    assert run_command(two_papers) == 0
    assert judged == ["mini.json", "another", "another.json"]
    told, pages = capsys.readouterr().out, written_pages()
    assert told == first
    for slug in ("mini", "another"):
        card = json.loads(pages[f"reports/quick/{slug}/scorecard.json"])
        assert card["store_root"] == store.manifest.root()
    memo.forget_all()
    shutil.rmtree("reports")
    assert run_command(two_papers) == 0
    assert (capsys.readouterr().out, written_pages()) == (told, pages)


def two_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has even two papers judged by two processes, of which the other one is started anew."""
    monkeypatch.setattr(several_papers, "FEWEST_FOR_PROCESSES", 2)
    monkeypatch.setattr(several_papers, "available_cores", lambda: 2)
    anew = multiprocessing.get_context("spawn")
    monkeypatch.setattr(several_papers, "_context", lambda: anew)


def test_a_copy_of_a_process_writes_and_says_what_one_does(
    two_papers: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    damage_a_record(Path("audits"))  # which is told on standard error
    code, said, pages = run_command(two_papers), capsys.readouterr(), written_pages()
    memo.forget_all()
    shutil.rmtree("reports")
    program = (
        "import sys\n"
        "from reproaudit.running import memo; memo.SETTLED = -10**12\n"
        "from reproaudit.commands import several_papers as several\n"
        "several.FEWEST_FOR_PROCESSES, several.available_cores = 2, lambda: 2\n"
        "assert several._context().get_start_method() == 'fork'\n"
        "from reproaudit.cli import run_command; sys.exit(run_command(sys.argv[1:]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *two_papers],
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "COLUMNS": "80"},
        capture_output=True,
        text=True,
        check=False,
    )
    found = done.returncode, done.stdout, done.stderr, written_pages()
    assert found == (code, said.out, said.err, pages)


def test_several_processes_write_and_say_what_one_does(
    two_papers: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    damage_a_record(Path("audits"))  # which is told on standard error
    said = run_command(two_papers), capsys.readouterr(), written_pages()
    memo.forget_all()
    shutil.rmtree("reports")
    two_processes(monkeypatch)
    monkeypatch.setattr(several_papers, "MOST_TURNS", 1)
    monkeypatch.setattr(several_papers, "_taken", lambda _waiting: ())  # the other takes them all
    monkeypatch.setattr(one_paper, "report_of", never)  # here; the other process has its own
    assert (run_command(two_papers), capsys.readouterr(), written_pages()) == said


def test_a_process_that_is_killed_is_named_and_what_was_written_is_kept(
    two_papers: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    two_processes(monkeypatch)
    really = several_papers._judged

    def alone(*asked: Any) -> Iterator[one_paper.PaperReport]:
        for other in multiprocessing.active_children():
            other.kill()
        yield from really(*asked)

    monkeypatch.setattr(several_papers, "_judged", alone)
    assert run_command(two_papers) == 3
    assert "a process that judged a paper was ended from outside" in capsys.readouterr().err
    assert written_pages()


def test_verify_forgets_every_answer(papers: Path, capsys: pytest.CaptureFixture[str]) -> None:
    listed(capsys)
    assert answers()
    run_command(["verify"])
    assert answers() == []


# --- what is imported ---------------------------------------------------------------------------

HEAVY = ("scipy.stats", "torch", "numba", "matplotlib")
JUDGING = ("numpy", "scipy", "yaml", "reproaudit.audit.model", "reproaudit.scorecard.model")


@pytest.mark.parametrize(
    ("arguments", "absent"),
    [
        (["--help"], (*HEAVY, *JUDGING, "pydantic")),
        (["list", "--audits", "audits"], (*HEAVY, *JUDGING)),
        (["check", "mini", "--audits", "audits"], (*HEAVY, "numpy", "scipy")),
        (["judge", "mini", "--audits", "audits", "--measurements", "no"], HEAVY),
    ],
)
def test_commands_start_without_libraries_that_they_do_not_need(
    arguments: list[str], absent: tuple[str, ...], papers: Path
) -> None:
    program = (
        "import sys; from reproaudit.running import memo; memo.SETTLED = -10**12\n"
        "from reproaudit.cli import run_command; run_command(sys.argv[1:])\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    for _ in range(2):  # the first time, list judges
        done = subprocess.run(
            [sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=True
        )
    imported = set(done.stderr.split())
    assert "reproaudit.cli" in imported
    assert imported.isdisjoint(absent)
