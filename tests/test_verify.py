"""`reproaudit verify` finds whatever is wrong in a store; `prune` removes what is left over."""

from __future__ import annotations

import json
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


def verify(
    folder: Path, capsys: pytest.CaptureFixture[str], *more: str
) -> tuple[int, dict[str, Any]]:
    capsys.readouterr()
    where = ["--audits", str(folder / "audits"), "--store", str(folder / "runs"), "--json"]
    code = run_command(["verify", *more, *where])
    out, errors = capsys.readouterr()
    assert out, errors
    return code, json.loads(out)


def files(folder: Path) -> list[Path]:
    return sorted((folder / "runs").rglob("*.json"))


def test_a_sound_store(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, told = verify(folder, capsys, "mini")
    assert (code, told["faults"], told["records"]) == (0, [], len(files(folder)))
    assert told["root"] == Store(folder / "runs").manifest.root()
    assert run_command(["verify", "--store", str(folder / "runs")]) == 0
    assert "7 records read: no faults" in capsys.readouterr().out
    assert run_command(["verify", "other", "--store", str(folder / "runs")]) == 2


@pytest.mark.parametrize("command", ["verify", "prune"])
def test_a_store_that_is_not_there(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_command([command, "--store", "none"]) == 2
    assert re.search(r"--store.*none", capsys.readouterr().err)
    assert run_command([command]) == 0
    assert capsys.readouterr().out.startswith("0 ")
    assert run_command([command, "mini"]) == 2
    assert list(tmp_path.iterdir()) == []


def test_every_kind_of_fault_is_found_and_mended(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    damaged, gone, *_ = files(folder)
    damaged.write_bytes(damaged.read_bytes().replace(b"0.", b"1.", 1))
    gone.unlink()
    partial = Partial(damaged.with_suffix(".partial"))
    partial.save("descent", b"state", partial.clock())
    (partial.folder / "descent.pt").write_bytes(b"state")
    for more, wanted in (((), 3), (("--repair",), 3), ((), 3)):
        code, told = verify(folder, capsys, *more)
        assert code == wanted
        faults = {fault["path"]: fault for fault in told["faults"]}
        if more:
            assert "SHA-256" in faults[str(damaged)]["what"]
            assert faults[str(damaged)]["mended"].startswith("moved to ")
            assert "damaged checkpoint" in faults[str(partial.folder / "descent.pt")]["what"]
    # what is gone stays gone until the cell is measured again
    left = [path for path, fault in faults.items() if not fault["mended"]]
    assert set(left) == {str(gone), str(damaged)}
    run(folder)
    assert verify(folder, capsys)[0] == 0
    assert damaged.with_name(f"{damaged.name}.bad").exists()


@pytest.mark.parametrize("kept", ["nothing", "all but one line"])
def test_a_manifest_that_lacks_lines_is_kept_and_written_anew(
    folder: Path, capsys: pytest.CaptureFixture[str], kept: str
) -> None:
    log = folder / "runs" / "manifest.log"
    first, _, *rest = log.read_bytes().splitlines(keepends=True)
    left = b"".join([first, *rest])
    log.write_bytes(left)
    if kept == "nothing":
        log.unlink()
    records = {str(file) for file in files(folder)}
    wanted = records if kept == "nothing" else {str(log)}
    code, told = verify(folder, capsys)
    assert (code, {fault["path"] for fault in told["faults"]}) == (3, wanted)
    code, told = verify(folder, capsys, "--repair")
    assert (code, {fault["path"] for fault in told["faults"]}) == (0, wanted | records)
    assert verify(folder, capsys)[0] == 0
    if kept != "nothing":
        assert log.with_name("manifest.log.bad").read_bytes() == left


def test_a_sample_is_measured_again(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, told = verify(folder, capsys, "--recompute", "2")
    assert (code, len(told["recomputed"]), told["faults"]) == (0, 2, [])
    assert verify(folder, capsys, "--recompute", "2")[1] == told
    store = Store(folder / "runs")
    for path in files(folder):  # a result that somebody wrote by hand, with a digest that fits
        record = store.read(path)
        measured = record.measurements.model_copy(update={"scalars": {"final": 0.5}})
        store.write(record.model_copy(update={"measurements": measured}))
    code, told = verify(folder, capsys, "--recompute", "1")
    assert code == 3
    (fault,) = told["faults"]
    assert "measured again, it gives other numbers: final: 1 of 1 numbers" in fault["what"]
    module = folder / "audits" / "mini.py"
    module.write_text(module.read_text() + "\nEXTRA = 1\n")
    code, told = verify(folder, capsys, "--recompute", "9")
    assert (code, told["recomputed"]) == (0, []), "records of other code are not measured again"


def test_pruning_removes_left_overs_alone(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
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
    assert run_command([*prune, "--dry-run", "--json"]) == 0
    told = {Path(one["path"]): one["size"] for one in json.loads(capsys.readouterr().out)}
    assert told == {
        finished.folder: sum(path.stat().st_size for path in finished.folder.iterdir()),
        place / "a.json.tmp": len("half"),
        place / "a.json.bad": len("bad"),
        place / "a.lock": 0,
        store.root / "results.mini.jsonl.999999999.tmp": len("torn"),
        open_.folder / "clock.999999999.tmp": len("torn"),
    }
    assert set(place.iterdir()) == before
    assert run_command(prune) == 0
    assert "6 left-overs, " in capsys.readouterr().out
    assert set(place.iterdir()) == before - told.keys()
    lock = store.try_lock(cell, "0" * 32)
    assert lock is not None
    assert run_command([*prune, "--unfinished"]) == 0
    assert open_.folder.exists(), "this cell is being computed"
    lock.give_back(finished=True)
    assert run_command([*prune, "--unfinished"]) == 0
    assert not open_.folder.exists()
    assert record_file.exists()
    assert list(place.glob("*.replaced"))
