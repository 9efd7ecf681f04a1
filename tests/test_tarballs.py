"""Archives of strangers: a whole one gives what `tarfile` gives, any other is refused, soon."""

from __future__ import annotations

import io
import lzma
import tarfile
import tracemalloc
import zipfile
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reproaudit.elsewhere.archives import unpack
from reproaudit.errors import AuditError
from reproaudit.running.shipped import FILE_NAME, unpack_records
from reproaudit.tarballs import MOST_DEPTH, UnfitArchiveError, path_inside, tar_members

MODES: tuple[Any, ...] = ("w", "w:gz", "w:bz2", "w:xz")
FORMATS = (tarfile.PAX_FORMAT, tarfile.GNU_FORMAT, tarfile.USTAR_FORMAT)
NAMES = st.text("abé/.-_ ", min_size=1, max_size=90).map(lambda name: "x" + name + "x")


def packed(
    members: list[tuple[tarfile.TarInfo, bytes]], mode: Any = "w:xz", form: int = tarfile.PAX_FORMAT
) -> bytes:
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode=mode, format=form) as archive:
        for entry, content in members:
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return whole.getvalue()


def read(data: bytes, most: int = 2**24) -> list[tuple[str, bytes | None]]:
    found = tar_members(io.BytesIO(data), 1000, most)
    return [(name, None if some is None else b"".join(some)) for name, some in found]


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.tuples(NAMES, st.binary(max_size=1500)), max_size=5),
    st.sampled_from(MODES),
    st.sampled_from(FORMATS),
    st.integers(1, 3),
)
def test_a_whole_archive_gives_what_tarfile_gives(
    files: list[tuple[str, bytes]], mode: Any, form: int, repeats: int
) -> None:
    members = [(tarfile.TarInfo(name * repeats), content) for name, content in files]
    try:
        data = packed(members, mode, form)
    except ValueError:
        return  # a name that this format cannot hold
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        theirs = []
        for one in archive:
            content = archive.extractfile(one)
            theirs.append((one.name, content.read() if content else None))
    assert [(name.rstrip("/"), content) for name, content in read(data)] == theirs


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_a_damaged_archive_is_refused_or_read(data: st.DataObject) -> None:
    long = tarfile.TarInfo("long/" * 30 + "é")
    whole = bytearray(packed([(long, b"1" * 700), (tarfile.TarInfo("b"), b"")], "w"))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, 4 * 512))
        whole[at] = data.draw(st.integers(0, 255))
        if data.draw(st.booleans()):  # the checksum of the header that was hit is made to fit
            start = at // 512 * 512
            total = tarfile.calc_chksums(bytes(whole[start : start + 512]))[0]
            whole[start + 148 : start + 156] = b"%06o\0 " % total
    for bytes_ in (bytes(whole), bytes(whole[: data.draw(st.integers(0, len(whole)))])):
        with suppress(UnfitArchiveError):
            read(bytes_)


def extended(kind: bytes, size: int) -> bytes:
    """An archive with one header of so many bytes before its member."""
    entry = tarfile.TarInfo("header")
    entry.type, entry.size = kind, size
    head = entry.tobuf(tarfile.GNU_FORMAT)
    pieces = [head, b"0" * (size + -size % 512), packed([(tarfile.TarInfo("a"), b"1")], "w")]
    return lzma.compress(b"".join(pieces), preset=0)


def with_records(**records: str) -> bytes:
    entry = tarfile.TarInfo("manifest.log")
    entry.pax_headers = records
    return packed([(entry, b"1" * 2048)])


def sparse() -> bytes:
    entry = tarfile.TarInfo("manifest.log")
    entry.type = tarfile.GNUTYPE_SPARSE
    return lzma.compress(entry.tobuf() + bytes(1024))


def claims(size: int) -> bytes:
    entry = tarfile.TarInfo("manifest.log")
    entry.size = size
    return lzma.compress(entry.tobuf(tarfile.GNU_FORMAT))


HOSTILE: dict[str, tuple[Callable[[], bytes], str]] = {
    "a large PAX header": (
        lambda: extended(tarfile.XHDTYPE, 2**26),
        "a header of 67,108,864 bytes",
    ),
    "a long name": (lambda: extended(tarfile.GNUTYPE_LONGNAME, 2**26), "a header of 67,108,864"),
    "sparse": (sparse, "sparse file"),
    "sparse 1.0": (
        lambda: with_records(**{"GNU.sparse.major": "1", "GNU.sparse.minor": "0"}),
        "sparse file",
    ),
    "a terabyte": (lambda: claims(2**40), "bytes unpacked; expected fewer"),
    "deep": (
        lambda: packed([(tarfile.TarInfo("a/" * 900 + "a"), b"")]),
        f"a path of 901 folders; expected {MOST_DEPTH}",
    ),
    "out": (lambda: packed([(tarfile.TarInfo("../a"), b"")]), "leads out of it"),
    "a long number": (lambda: with_records(size="9" * 5000), "a damaged header"),
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("reader", ["import", "report"])
def test_hostile_archives_take_no_memory(name: str, reader: str, tmp_path: Path) -> None:
    make, says = HOSTILE[name]
    file, out = tmp_path / FILE_NAME, tmp_path / "out"
    file.write_bytes(make())
    open_it = {
        "import": partial(unpack, file, "the archive", out),
        "report": partial(unpack_records, file, tmp_path / "cache"),
    }
    tracemalloc.start()
    try:
        with pytest.raises(AuditError, match=says) as refused:
            open_it[reader]()
        assert tracemalloc.get_traced_memory()[1] < 2**24
    finally:
        tracemalloc.stop()
    assert "\n" not in str(refused.value)
    assert not any(one.is_file() and one.stat().st_size for one in tmp_path.glob("out/**/*"))
    assert list(tmp_path.glob("cache/*")) == []


def test_more_members_than_allowed_are_refused() -> None:
    whole = packed([(tarfile.TarInfo(str(number)), b"") for number in range(1001)])
    with pytest.raises(UnfitArchiveError, match="more than 1,000 members"):
        read(whole)


def test_times_that_no_system_has_do_not_matter(tmp_path: Path) -> None:
    assert len(read(with_records(mtime=str(10**30)))) == 1


@pytest.mark.parametrize("how", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2, zipfile.ZIP_DEFLATED])
def test_no_flipped_byte_of_a_zip_is_a_traceback(how: int, tmp_path: Path) -> None:
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", how) as archive:
        archive.writestr("a.csv", "step,loss\n" + "0,1\n" * 50)
    for at in range(len(whole.getvalue())):
        data = bytearray(whole.getvalue())
        data[at] ^= 0x55
        (tmp_path / "a.zip").write_bytes(data)
        into = tmp_path / str(at)
        into.mkdir()
        with suppress(AuditError):
            unpack(tmp_path / "a.zip", "a.zip", into)


def test_a_zip_of_zeros_takes_no_memory(tmp_path: Path) -> None:
    file = tmp_path / "a.zip"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("a.csv", bytes(2**26))
    tracemalloc.start()
    unpack(file, "a.zip", tmp_path / "out")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**27  # twice what 4 KiB of it hold
    assert (tmp_path / "out" / "a.csv").stat().st_size == 2**26


def test_a_path_is_kept_inside() -> None:
    assert path_inside("a\\b/./c") == Path("a/b/c")
    for name in ("/a", "a/../../b", "C:/a", "a\0"):
        with pytest.raises(UnfitArchiveError, match="leads out"):
            path_inside(name)
