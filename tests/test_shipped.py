"""Records that travel with a report: packed, unpacked, judged again, and refused when damaged."""

from __future__ import annotations

import io
import json
import lzma
import shutil
import tarfile
from pathlib import Path

import pytest

from cells import InProcess, cell, declare, locate
from miniatures import write_paper
from reproaudit.cli import run_command
from reproaudit.errors import StoreError
from reproaudit.running import shipped
from reproaudit.running.run import run_cells
from reproaudit.running.shipped import FILE_NAME, pack_records, unpack_records
from reproaudit.running.store import Store

QUICK = ("toy2020", ("quick",))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Two finished cells of the toy paper."""
    made = Store(tmp_path / "runs")
    cells = [cell(seed=0), cell(seed=1)]
    declared = {"toy2020": {"descent": declare("loss", "final", "sizes")}}
    run_cells(cells, locate, made, executor=InProcess(), declared=declared)
    return made


def test_unpacked_records_are_those_that_were_packed(store: Store, tmp_path: Path) -> None:
    file = tmp_path / FILE_NAME
    file.write_bytes(pack_records(store, *QUICK))
    found = unpack_records(file, tmp_path / "cache")
    theirs, ours = (
        [record.model_dump_json() for record in one.records("toy2020", "quick")]
        for one in (found, store)
    )
    assert theirs == ours
    assert len(ours) == 2
    assert found.manifest.root() == store.manifest.root()
    assert unpack_records(file, tmp_path / "cache").root == found.root
    assert len(list((tmp_path / "cache").iterdir())) == 1


def test_the_same_records_make_the_same_bytes(store: Store, tmp_path: Path) -> None:
    first = pack_records(store, *QUICK)
    moved = tmp_path / "elsewhere"
    shutil.copytree(store.root, moved)
    assert pack_records(Store(moved), *QUICK) == first


def test_a_damaged_record_is_not_packed(store: Store) -> None:
    path = next(store.files("toy2020", "quick"))
    path.write_bytes(path.read_bytes().replace(b"loss", b"lass", 1))
    with pytest.raises(StoreError, match="SHA-256"):
        pack_records(store, *QUICK)


def test_nothing_to_pack_is_said(store: Store) -> None:
    with pytest.raises(StoreError, match="no records of toy2020 at paper"):
        pack_records(store, "toy2020", ["paper"])


def test_a_record_that_was_changed_in_the_file_is_refused(store: Store, tmp_path: Path) -> None:
    file = tmp_path / FILE_NAME
    data = bytearray(lzma.decompress(pack_records(store, *QUICK)))
    data[data.rindex(b'"loss"') + 1] ^= 1
    file.write_bytes(lzma.compress(bytes(data)))
    with pytest.raises(StoreError, match="SHA-256"):
        list(unpack_records(file, tmp_path / "cache").records("toy2020", "quick"))


def test_a_cut_file_leaves_nothing(store: Store, tmp_path: Path) -> None:
    file, whole = tmp_path / FILE_NAME, pack_records(store, *QUICK)
    for length in (0, 1, len(whole) // 2, len(whole) - 1):
        file.write_bytes(whole[:length])
        with pytest.raises(StoreError, match="cannot be unpacked"):
            unpack_records(file, tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []


def _archive(*members: tarfile.TarInfo) -> bytes:
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w:xz") as archive:
        for one in members:
            archive.addfile(one, io.BytesIO(b"x" * one.size) if one.isreg() else None)
    return whole.getvalue()


def test_hostile_archives_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shipped, "MAX_BYTES", 50_000)
    out, link, large = (tarfile.TarInfo(name) for name in ("../out", "link", "large"))
    out.size, large.size = 1, 60_000
    link.type, link.linkname = tarfile.SYMTYPE, "/etc"
    file = tmp_path / FILE_NAME
    for member, says in ((out, "unpacked"), (link, "no plain file"), (large, "more than 50,000")):
        file.write_bytes(_archive(member))
        with pytest.raises(StoreError, match=says):
            unpack_records(file, tmp_path / "cache")
    assert not (tmp_path / "out").exists()
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_report_is_judged_again_from_the_records_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_paper(Path("audits"))
    common = ["--audits", "audits", "--store"]
    assert run_command(["run", "mini", "--tier", "quick", "--trust", *common, "runs"]) == 0
    folder = Path("reports", "quick", "mini")
    ours = json.loads((folder / "scorecard.json").read_text())
    to = ["--to", "records", "--tier", "quick", "--out", str(folder / FILE_NAME)]
    assert run_command(["export", "mini", *to, *common, "runs"]) == 0
    whole = {file: file.read_bytes() for file in Path("reports").rglob("*.*") if file.is_file()}
    capsys.readouterr()
    assert run_command(["report", "mini", "--tier", "quick", *common, "none"]) == 0
    assert f"mini: judged again from {folder / FILE_NAME}, with" in capsys.readouterr().err
    assert {file: file.read_bytes() for file in Path("reports").rglob("*.*") if file.is_file()} == (
        whole
    )
    pages = ["--out", "pages"]  # wherever they go, the records lie beside the store
    assert run_command(["report", "mini", "--tier", "quick", *common, "none", *pages]) == 0
    page = Path("pages", "quick", "mini", "scorecard.html")
    assert page.read_bytes() == (folder / "scorecard.html").read_bytes()
    capsys.readouterr()
    (folder / "scorecard.json").unlink()
    assert run_command(["report", "mini", "--tier", "quick", "--json", *common, "none"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert again["shipped"]
    assert not ours["shipped"]
    differing = {name for name in ours if ours[name] != again[name]}
    assert differing <= {"shipped", "digest"}
    assert run_command(["report", "mini", "--tier", "quick", *common, "none"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "they came with the report, and were judged again" in said
    (folder / FILE_NAME).write_bytes(_without((folder / FILE_NAME).read_bytes(), ".json"))
    assert run_command(["report", "mini", "--tier", "quick", *common, "none"]) == 0
    said = " ".join(capsys.readouterr().err.split())
    assert "lacks 1 of the 25 records of this tier and its alternatives that its list" in said


def test_a_report_tells_of_records_of_alternatives_that_were_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A claim that hangs on a guess would lose its condition with them."""
    monkeypatch.chdir(tmp_path)
    write_paper(Path("audits"))
    common = ["--audits", "audits", "--store"]
    file = Path("reports", "quick", "mini", FILE_NAME)
    for command in ("run", "multiverse"):
        assert run_command([command, "mini", "--tier", "quick", "--trust", *common, "runs"]) == 0
    assert run_command(["report", "mini", "--tier", "quick", *common, "runs"]) == 0
    to = ["--to", "records", "--tier", "quick", "--out", str(file)]
    assert run_command(["export", "mini", *to, *common, "runs"]) == 0
    capsys.readouterr()
    show = ["report", "mini", "--tier", "quick", *common, "none"]
    assert run_command(show) == 0
    assert "lacks" not in capsys.readouterr().err
    with tarfile.open(file) as archive:
        alternative = next(name for name in archive.getnames() if "multiverse-quick" in name)
    file.write_bytes(_without(file.read_bytes(), alternative))
    assert run_command(show) == 0
    assert "lacks 1 of the" in " ".join(capsys.readouterr().err.split())


def test_a_report_lists_the_custom_runs_of_its_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The defect: shipped, a paper lost its custom runs."""
    monkeypatch.chdir(tmp_path)
    write_paper(Path("audits"))
    common = ["--audits", "audits", "--store"]
    quick = ["run", "mini", "--tier", "quick", "--trust", *common, "runs"]
    for more in (["--seeds", "7-9"], []):
        assert run_command([*quick, *more]) == 0
    file = Path("reports", "quick", "mini", FILE_NAME)
    to = ["--to", "records", "--tier", "quick", "--out", str(file)]
    assert run_command(["export", "mini", *to, *common, "runs"]) == 0

    def shown(store: str) -> list[dict[str, object]]:
        capsys.readouterr()
        assert run_command(["report", "mini", "--tier", "quick", "--json", *common, store]) == 0
        custom: list[dict[str, object]] = json.loads(capsys.readouterr().out)["custom"]
        return custom

    assert shown("none") == shown("runs")
    assert shown("none")[0]["seeds"] == [7, 8, 9]


def _without(packed: bytes, ending: str) -> bytes:
    """An archive of records without the first member of such a name."""
    whole = io.BytesIO()
    with (
        tarfile.open(fileobj=io.BytesIO(packed)) as archive,
        tarfile.open(fileobj=whole, mode="w") as other,
    ):
        left_out = next(one.name for one in archive if one.name.endswith(ending))
        for one in archive:
            if one.name != left_out:
                other.addfile(one, archive.extractfile(one))
    return lzma.compress(whole.getvalue())


def test_records_without_their_list_are_refused(store: Store, tmp_path: Path) -> None:
    """Digests alone prove nothing: whoever edits a record can compute its digest again."""
    file = tmp_path / FILE_NAME
    file.write_bytes(_without(pack_records(store, *QUICK), "manifest.log"))
    with pytest.raises(StoreError, match="found no list of its records"):
        unpack_records(file, tmp_path / "cache")


def test_other_records_than_the_scorecards_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A whole store of other numbers in place of the one that the scorecard was made from."""
    monkeypatch.chdir(tmp_path)
    write_paper(Path("audits"))
    common = ["--audits", "audits", "--store"]
    quick = ["run", "mini", "--tier", "quick", "--trust", *common]
    assert run_command([*quick, "others", "--out", "elsewhere", "--seeds", "7-9"]) == 0
    assert run_command([*quick, "others", "--out", "elsewhere"]) == 0
    assert run_command([*quick, "runs"]) == 0
    file = Path("reports", "quick", "mini", FILE_NAME)
    to = ["export", "mini", "--to", "records", "--tier", "quick", "--out", str(file), *common]
    report = ["report", "mini", "--tier", "quick", *common, "none"]
    assert run_command([*to, "runs"]) == 0
    assert run_command(report) == 0
    assert run_command([*to, "others"]) == 0
    capsys.readouterr()
    assert run_command(report) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "found a list of records that ends in" in said
    assert "scorecard.json states" in said
