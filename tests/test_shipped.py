"""Records that travel with a report: packed, unpacked, judged again, and refused when damaged."""

import io
import json
import lzma
import tarfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from benchmarks.readme import DISPUTED, DISPUTES, README, disputes, with_table
from benchmarks.sections import with_section
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cells import InProcess, cell, declare, locate
from miniatures import write_paper
from reproaudit.declarations import Axis
from reproaudit.errors import StoreError
from reproaudit.run.cells import run_cells
from reproaudit.store import shipped
from reproaudit.store.coordinates import axes_file, read_axes
from reproaudit.store.records import Store
from reproaudit.store.shipped import FILE_NAME, pack_records, unpack_records

pytestmark = pytest.mark.usefixtures("measured_here")

QUICK = ("toy2020", ("quick",))
CAME = "These records came with the report and were judged again."


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Two finished cells of the toy paper."""
    made = Store(tmp_path / "runs")
    cells = [cell(seed=0), cell(seed=1)]
    declared = {"toy2020": {"descent": declare("loss", "final", "sizes")}}
    run_cells(cells, locate, made, executor=InProcess(), declared=declared)
    return made


def test_unpacked_records_are_those_that_were_packed(store, tmp_path):
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
    assert pack_records(found, *QUICK) == file.read_bytes(), "the same records, the same bytes"


def test_a_damaged_record_is_neither_packed_nor_read(store, tmp_path):
    file = tmp_path / FILE_NAME
    data = bytearray(lzma.decompress(pack_records(store, *QUICK)))
    data[data.rindex(b'"loss"') + 1] ^= 1
    file.write_bytes(lzma.compress(bytes(data)))
    with pytest.raises(StoreError, match="SHA-256"):
        list(unpack_records(file, tmp_path / "cache").records("toy2020", "quick"))
    path = next(store.files("toy2020", "quick"))
    path.write_bytes(path.read_bytes().replace(b"loss", b"lass", 1))
    with pytest.raises(StoreError, match="SHA-256"):
        pack_records(store, *QUICK)
    with pytest.raises(StoreError, match="no records of toy2020 at paper"):
        pack_records(store, "toy2020", ["paper"])


def test_axes_of_records_without_coordinates_travel_in_the_file_or_beside_it(store, tmp_path):
    file, beside = tmp_path / FILE_NAME, axes_file(tmp_path, "toy2020")
    file.write_bytes(pack_records(store, *QUICK))
    beside.write_text('{"descent": {"sizes": [{"name": "size", "size": 1}]}}')
    found = unpack_records(file, tmp_path / "first")
    axes = {"descent": {"sizes": (Axis(name="size", size=1),)}}
    assert read_axes(axes_file(found.root, "toy2020")) == axes
    file.write_bytes(pack_records(found, *QUICK))
    beside.write_text("[]")
    again = unpack_records(file, tmp_path / "second")
    assert read_axes(axes_file(again.root, "toy2020")) == axes
    with pytest.raises(StoreError, match=r"coordinates\.toy2020\.json: found no axes by exper"):
        read_axes(beside)


def test_a_cut_file_leaves_nothing(store, tmp_path):
    file, whole = tmp_path / FILE_NAME, pack_records(store, *QUICK)
    for length in (0, 1, len(whole) // 2, len(whole) - 1):
        file.write_bytes(whole[:length])
        with pytest.raises(StoreError, match="cannot be unpacked"):
            unpack_records(file, tmp_path / "cache")
    assert not (tmp_path / "cache").exists()


def _archive(*members: tarfile.TarInfo) -> bytes:
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w:xz", preset=0) as archive:
        for member in members:
            archive.addfile(member, io.BytesIO(bytes(member.size)) if member.isreg() else None)
    return whole.getvalue()


def _member(name: str, size: int = 1, kind: bytes = tarfile.REGTYPE) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.size, member.type, member.linkname = size, kind, "/etc" if kind != b"0" else ""
    return member


def _sparse() -> bytes:
    member = _member(shipped._MANIFEST, 2**40)
    member.type, member.pax_headers = tarfile.REGTYPE, {"GNU.sparse.map": "0,1"}
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w") as archive:
        member.size, member.pax_headers["GNU.sparse.size"] = 1, str(2**40)
        archive.addfile(member, io.BytesIO(b"1"))
    return lzma.compress(whole.getvalue())


HOSTILE: dict[str, tuple[Callable[[], bytes], str]] = {
    "out": (lambda: _archive(_member("../out")), "outside the destination"),
    "a link": (lambda: _archive(_member("manifest.log", 0, tarfile.SYMTYPE)), "no list of its"),
    "a pipe": (lambda: _archive(_member("manifest.log", 0, tarfile.FIFOTYPE)), "no list of its"),
    "large": (lambda: _archive(_member("manifest.log", 2**28)), "more than 134,217,728 bytes"),
    "a terabyte": (
        lambda: lzma.compress(_member("a", 2**40).tobuf(tarfile.GNU_FORMAT)),
        "cannot be unpacked",
    ),
    "sparse": (_sparse, "no list of its"),
    "a bad number": (
        lambda: lzma.compress(_member("a").tobuf().replace(b"ustar", b"us\xfftr")),
        "cannot be unpacked",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_archives_are_refused(name, tmp_path):
    make, says = HOSTILE[name]
    file = tmp_path / FILE_NAME
    file.write_bytes(make())
    with pytest.raises(StoreError, match=says) as refused:
        unpack_records(file, tmp_path / "cache")
    assert "\n" not in str(refused.value)
    assert not list(tmp_path.rglob("out"))
    assert not any(one.is_symlink() or one.is_fifo() for one in tmp_path.rglob("*"))


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 4 * 512), st.integers(0, 255)), min_size=1, max_size=3))
@example([(124, 255)])  # a size below zero
@example([(124, 255), (156, 1)])
def test_a_damaged_archive_is_refused_or_read(bytes_hit):
    whole = bytearray(lzma.decompress(_archive(_member("long/" * 9 + "é" * 90, 700), _member("b"))))
    for at, value in bytes_hit:
        whole[at] = value
        start = at // 512 * 512  # the checksum of the header that was hit is made to fit
        total = sum(whole[start : start + 512]) - sum(whole[start + 148 : start + 156]) + 8 * 32
        whole[start + 148 : start + 156] = b"%06o\0 " % total
    with TemporaryDirectory() as folder, suppress(StoreError):
        file = Path(folder, FILE_NAME)
        file.write_bytes(lzma.compress(bytes(whole), preset=0))
        unpack_records(file, Path(folder, "cache"))


def test_a_report_is_judged_again_from_the_records_beside_it(tmp_path, monkeypatch, cli):
    """A claim that hangs on a guess would lose its condition with a record that the file lacks."""
    monkeypatch.chdir(tmp_path)
    write_paper(Path("audits"))
    common = ["--audits", "audits", "--store"]
    folder = Path("reports", "quick", "mini")
    for command in ("run", "multiverse", "report"):
        cli(command, "mini", "--tier", "quick", *common, "runs")
    ours = json.loads((folder / "scorecard.json").read_text())
    to = ["--to", "records", "--tier", "quick", "--out", folder / FILE_NAME]
    cli("export", "mini", *to, *common, "runs")

    def shown() -> tuple[dict[str, Any], list[str]]:
        """What is printed; wherever the pages go, the records lie beside the store."""
        show = ["report", "mini", "--tier", "quick", "--json", "--out", "pages", *common, "none"]
        card = cli(*show).data
        assert card == json.loads(Path("pages", "quick", "mini", "scorecard.json").read_text())
        guessed = next(claim for claim in card["claims"] if claim["id"] == "mini.guessed")
        return card, [reason["kind"] for reason in guessed["reasons"]]

    again, reasons = shown()
    assert {name for name in ours if ours[name] != again[name]} == {"inputs", "made"}
    assert again["made"] == {**ours["made"], "listed": 45}
    assert CAME in (Path("pages") / "quick" / "mini" / "scorecard.md").read_text()
    assert "guess not settled" not in reasons
    with tarfile.open(folder / FILE_NAME) as archive:
        alternative = next(name for name in archive.getnames() if "multiverse-quick" in name)
    (folder / FILE_NAME).write_bytes(_without((folder / FILE_NAME).read_bytes(), alternative))
    again, _ = shown()
    assert (again["made"]["listed"], again["made"]["lacking"]) == (45, 1)
    lacks = "Their archive lacks 1 of the 45 records that its list names."
    assert lacks in (Path("pages") / "quick" / "mini" / "scorecard.md").read_text()


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


def test_records_without_their_list_are_refused(store, tmp_path):
    """Digests alone prove nothing: whoever edits a record can compute its digest again."""
    file = tmp_path / FILE_NAME
    file.write_bytes(_without(pack_records(store, *QUICK), "manifest.log"))
    with pytest.raises(StoreError, match="found no list of its records"):
        unpack_records(file, tmp_path / "cache")


def test_the_table_of_papers_is_that_of_the_committed_reports():
    text = README.read_text(encoding="utf-8")
    assert with_table(text) == text, "README is older than reports/paper; run `make readme`"
    text = DISPUTES.read_text(encoding="utf-8")
    told = with_section(text, DISPUTED, disputes())
    assert told == text, "docs/disputes.md is older than reports/paper; run `make readme`"
