"""A pipe, a large file or deep nesting in place of any file is one line, and nothing waits."""

import os
import signal
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from cells import InProcess, cell, declare, locate
from miniatures import write_paper
from reproaudit.cli import run_command
from reproaudit.files import UnfitFileError, decode_json, open_regular, read_regular
from reproaudit.run.cells import run_cells
from reproaudit.store.records import Store

NEST = b"[" * 200_000
DECLARED = {"toy2020": {"descent": declare("loss", "final", "sizes")}}
Put = Callable[[Path], None]


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


def test_only_a_regular_file_of_bounded_size_is_read(tmp_path):
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


def test_nesting_is_a_fault_of_the_text():
    assert decode_json('{"a": [1]}') == {"a": [1]}
    with pytest.raises(ValueError, match="nested too deeply"):
        decode_json(NEST)


# --- in place of what a user has ------------------------------------------------------------------

SAYS = {put_nest: "not a whole", put_pipe: "a pipe", put_large: "1,099,511,627,776 bytes"}


@pytest.mark.parametrize("put", SAYS)
@pytest.mark.parametrize("what", ["record", "manifest"])
def test_such_a_file_of_a_store_is_named_and_mended(put, what, tmp_path, cli):
    store = Store(tmp_path / "runs")
    run = partial(run_cells, [cell()], locate, store, executor=InProcess(), declared=DECLARED)
    run()
    (record,) = store.files("toy2020", "quick")
    put(record if what == "record" else store.manifest.file)
    verify = ["verify", "toy2020", "--store", str(store.root)]
    assert (SAYS[put] if what == "record" else "manifest") in cli(*verify, code=3).out
    assert run_command([*verify, "--repair"]) == 0
    if what == "record":
        assert not record.exists()
        run()
    assert run_command(verify) == 0


@pytest.mark.parametrize(
    ("put", "command"),
    [
        (put_nest, ["report", "mini", "--tier", "quick", "--audits", "audits", "--store", "none"]),
        (put_large, ["report", "mini", "--tier", "quick", "--audits", "audits", "--store", "none"]),
        *((put, ["diff", "reports/quick/mini", "reports/quick/mini"]) for put in SAYS),
        (put_pipe, ["check", "audits/mini.yaml"]),
    ],
)
def test_such_a_file_of_a_command_is_one_line(put, command, tmp_path, monkeypatch, cli):
    monkeypatch.chdir(tmp_path)
    file = write_paper(Path("audits")) / "mini.yaml"
    if command[0] != "check":
        file = Path("reports", "quick", "mini", "scorecard.json")
        file.parent.mkdir(parents=True)
    put(file)
    said = "".join(cli(*command, code=2))
    assert file.name in "".join(said.split())
    assert len(said) < 1000
