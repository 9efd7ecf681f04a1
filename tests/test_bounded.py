"""A pipe, a large file or deep nesting in place of any file is one line, and nothing waits."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from cells import InProcess, cell, declare, locate, unreadable
from miniatures import write_paper
from reproaudit.bounded import UnfitFileError, decode_json, open_regular, read_regular
from reproaudit.cli import run_command
from reproaudit.desk.saving import read_version
from reproaudit.errors import AuditError
from reproaudit.running.run import run_cells
from reproaudit.running.store import Store

NEST = b"[" * 200_000


@pytest.fixture(autouse=True)
def _impatient() -> Iterator[None]:
    """A test that waits for a pipe fails."""

    def late(_number: int, _frame: object) -> None:
        raise AssertionError("it waits")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def put_pipe(path: Path) -> None:
    path.unlink(missing_ok=True)
    os.mkfifo(path)


def put_nest(path: Path) -> None:
    path.write_bytes(NEST)


def put_large(path: Path) -> None:
    path.touch()
    os.truncate(path, 2**40)


# --- one file -------------------------------------------------------------------------------------


def test_only_a_regular_file_of_bounded_size_is_read(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"1234")
    link = tmp_path / "link"
    link.symlink_to(file)
    assert read_regular(file, 4) == read_regular(link, 4) == b"1234"
    with pytest.raises(UnfitFileError, match="4 bytes; expected at most 3"):
        read_regular(file, 3)
    with pytest.raises(OSError, match="symbolic link"):
        open_regular(link, 4, follow=False)
    with pytest.raises(IsADirectoryError):
        read_regular(tmp_path, 4)
    with pytest.raises(UnfitFileError, match="a pipe or a device"):
        read_regular(Path("/dev/zero"), 4)
    put_pipe(file)
    with pytest.raises(UnfitFileError, match="a pipe or a device"):
        read_regular(link, 4)
    put_large(tmp_path / "large")
    with pytest.raises(UnfitFileError, match="1,099,511,627,776 bytes"):
        read_regular(tmp_path / "large", 2**29)


def test_nesting_is_a_fault_of_the_text() -> None:
    assert decode_json('{"a": [1]}') == {"a": [1]}
    with pytest.raises(ValueError, match="nested too deeply"):
        decode_json(NEST)


# --- in a store -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("put", "says"),
    [
        (put_nest, "not a whole record"),
        (put_pipe, "not a record, but a pipe"),
        (put_large, "not a record, but 1,099,511,627,776 bytes"),
    ],
)
def test_such_a_record_is_set_aside(
    put: object, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = Store(tmp_path / "runs")
    declared = {"toy2020": {"descent": declare("loss", "final", "sizes")}}
    run_cells([cell()], locate, store, executor=InProcess(), declared=declared)
    (path,) = store.files("toy2020", "quick")
    assert callable(put)
    put(path)
    (found,) = unreadable(store)
    assert says in found.reason
    where = ["--store", str(store.root)]
    assert run_command(["verify", "toy2020", *where]) == 3
    assert says in capsys.readouterr().out
    assert run_command(["verify", "toy2020", *where, "--repair"]) == 0
    assert not path.exists()
    run_cells([cell()], locate, store, executor=InProcess(), declared=declared)
    assert unreadable(store) == []


@pytest.mark.parametrize("put", [put_pipe, put_large])
def test_such_a_manifest_is_named(
    put: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = Store(tmp_path / "runs")
    declared = {"toy2020": {"descent": declare("loss", "final", "sizes")}}
    run_cells([cell()], locate, store, executor=InProcess(), declared=declared)
    assert callable(put)
    put(store.manifest.file)
    verify = ["verify", "toy2020", "--store", str(store.root)]
    assert run_command(verify) == 3
    assert "manifest.log" in capsys.readouterr().out
    assert run_command([*verify, "--repair"]) == 0
    assert run_command(verify) == 0


# --- on the command line --------------------------------------------------------------------------


@pytest.fixture
def reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A report folder of the small paper, in the working folder; nothing else is there."""
    monkeypatch.chdir(tmp_path)
    write_paper(Path("audits"))
    return tmp_path


@pytest.mark.parametrize("put", [put_nest, put_pipe, put_large])
def test_such_a_scorecard_is_one_line(
    put: object, reported: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = Path("reports", "quick", "mini", "scorecard.json")
    file.parent.mkdir(parents=True)
    assert callable(put)
    put(file)
    where = ["--audits", "audits", "--store", "none"]
    for command in (
        ["report", "mini", "--tier", "quick", *where],
        ["diff", str(file.parent), str(file.parent)],
    ):
        code = run_command(command)
        said = capsys.readouterr().err
        if put is put_pipe and command[0] == "report":
            continue  # what is no file stands for no scorecard there
        assert code == 2, (command, said)
        assert "scorecard.json" in "".join(said.split())
        assert len(said) < 1000


def test_a_pipe_in_place_of_an_audit_is_one_line(
    reported: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put_pipe(Path("audits", "zz.yaml"))
    assert run_command(["check", "audits/zz.yaml"]) == 2
    assert "found a pipe or a device; expected a regular file" in capsys.readouterr().out
    run_command(["list", "--audits", "audits"])
    with pytest.raises(AuditError, match="found a pipe"):
        read_version(Path("audits", "zz.yaml"))
