"""`reproaudit verify` finds whatever is wrong in a store; `prune` removes what is left over."""

import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from miniatures import write_paper
from reproaudit.cell import Cell
from reproaudit.cli import run_command
from reproaudit.store.records import Partial, Store


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, measured_here: None) -> Path:
    folder = tmp_path_factory.mktemp("verified")
    write_paper(folder / "audits")
    run(folder)
    return folder


def run(folder: Path) -> None:
    where = ["--audits", str(folder / "audits"), "--store", str(folder / "runs")]
    assert run_command(["run", "mini", "--tier", "smoke", *where]) == 0


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path / "copy")
    return tmp_path / "copy"


@pytest.fixture
def verify(folder: Path, cli: Any) -> Any:
    """What `verify` finds in the copy, which ends with an exit code."""

    def call(*more: str, code: int = 0) -> Any:
        where = ["--audits", folder / "audits", "--store", folder / "runs", "--json"]
        return cli("verify", *more, *where, code=code).data

    return call


def files(folder: Path) -> list[Path]:
    return sorted((folder / "runs").rglob("*.json"))


def test_a_sound_store(folder, verify, cli):
    told = verify("mini")
    assert (told["faults"], told["records"]) == ([], len(files(folder)))
    assert told["root"] == Store(folder / "runs").manifest.root()
    assert "7 records read: no faults" in cli("verify", "--store", folder / "runs").out
    cli("verify", "other", "--store", folder / "runs", code=2)


@pytest.mark.parametrize("command", ["verify", "prune"])
def test_a_store_that_is_not_there(tmp_path, monkeypatch, cli, command):
    monkeypatch.chdir(tmp_path)
    assert re.search(r"--store.*none", cli(command, "--store", "none", code=2).err)
    assert cli(command).out.startswith("0 ")
    cli(command, "mini", code=2)
    assert list(tmp_path.iterdir()) == []


def test_every_kind_of_fault_is_found_and_mended(folder, verify):
    damaged, gone, *_ = files(folder)
    damaged.write_bytes(damaged.read_bytes().replace(b"0.", b"1.", 1))
    gone.unlink()
    partial = Partial(damaged.with_suffix(".partial"))
    partial.save("descent", b"state", partial.clock())
    (partial.folder / "descent.pt").write_bytes(b"state")
    for more in ((), ("--repair",), ()):
        faults = {fault["path"]: fault for fault in verify(*more, code=3)["faults"]}
        if more:
            assert "SHA-256" in faults[str(damaged)]["what"]
            assert faults[str(damaged)]["mended"].startswith("moved to ")
            assert "damaged checkpoint" in faults[str(partial.folder / "descent.pt")]["what"]
    # what is gone stays gone until the cell is measured again
    left = [path for path, fault in faults.items() if not fault["mended"]]
    assert set(left) == {str(gone), str(damaged)}
    run(folder)
    verify()
    assert damaged.with_name(f"{damaged.name}.bad").exists()


@pytest.mark.parametrize("kept", ["nothing", "all but one line"])
def test_a_manifest_that_lacks_lines_is_kept_and_written_anew(folder, verify, kept):
    log = folder / "runs" / "manifest.log"
    first, _, *rest = log.read_bytes().splitlines(keepends=True)
    left = b"".join([first, *rest])
    log.write_bytes(left)
    if kept == "nothing":
        log.unlink()
    records = {str(file) for file in files(folder)}
    wanted = records if kept == "nothing" else {str(log)}
    assert {fault["path"] for fault in verify(code=3)["faults"]} == wanted
    assert {fault["path"] for fault in verify("--repair")["faults"]} == wanted | records
    verify()
    if kept != "nothing":
        assert log.with_name("manifest.log.bad").read_bytes() == left


def test_a_sample_is_measured_again(folder, verify):
    told = verify("--recompute", "2")
    assert (len(told["recomputed"]), told["faults"]) == (2, [])
    assert verify("--recompute", "2") == told
    store = Store(folder / "runs")
    for path in files(folder):  # a result that somebody wrote by hand, with a digest that fits
        record = store.read(path)
        measured = record.measurements.model_copy(update={"scalars": {"final": 0.5}})
        store.write(record.model_copy(update={"measurements": measured}))
    (fault,) = verify("--recompute", "1", code=3)["faults"]
    assert "measured again, it gives other numbers: final: 1 of 1 numbers" in fault["what"]
    module = folder / "audits" / "mini.py"
    module.write_text(module.read_text() + "\nEXTRA = 1\n")
    told = verify("--recompute", "9")
    assert told["recomputed"] == [], "records of other code are not measured again"


def test_pruning_removes_left_overs_alone(folder, cli):
    store = Store(folder / "runs")
    record_file = files(folder)[0]
    record = store.read(record_file)
    cell = Cell(record.paper, record.tier, record.experiment, record.settings, record.seed)
    store.write(record)  # keeps the one before
    place = record_file.parent
    finished = Partial(record_file.with_suffix(".partial"))
    open_ = Partial(place / f"{'0' * 32}.partial")
    for partial in (finished, open_):
        partial.save("descent", b"state", partial.clock())
    (place / "a.json.tmp").write_text("half")
    (place / "a.json.bad").write_text("bad")
    (place / "a.lock").write_text("")
    (store.root / "results.mini.jsonl.999999999.tmp").write_text("torn")
    (open_.folder / "clock.999999999.tmp").write_text("torn")
    for one in folder.rglob("*.tmp"):
        os.utime(one, (1e9, 1e9))
    (place / "b.json.0123456789abcdef.tmp").write_text("it may still be written")
    before = set(place.iterdir())
    prune = ["prune", "mini", "--store", str(folder / "runs")]
    told = {Path(one["path"]): one["size"] for one in cli(*prune, "--dry-run", "--json").data}
    assert told == {
        finished.folder: sum(path.stat().st_size for path in finished.folder.iterdir()),
        place / "a.json.tmp": len("half"),
        place / "a.json.bad": len("bad"),
        place / "a.lock": 0,
        store.root / "results.mini.jsonl.999999999.tmp": len("torn"),
        open_.folder / "clock.999999999.tmp": len("torn"),
    }
    assert set(place.iterdir()) == before
    assert "6 left-overs, " in cli(*prune).out
    assert set(place.iterdir()) == before - told.keys()
    lock = store.try_lock(cell, "0" * 32)
    assert lock is not None
    cli(*prune, "--unfinished")
    assert open_.folder.exists(), "this cell is being computed"
    lock.give_back(finished=True)
    cli(*prune, "--unfinished")
    assert not open_.folder.exists()
    assert record_file.exists()
    assert list(place.glob("*.replaced"))
