"""Records that travel with a report: a paper's finished records in one compact file.

The file is a tar archive, compressed by LZMA, of the records below a store and the notes on their
data, each under its own path, of the store's manifest, and of the axes of records that hold no
coordinates; these may also lie beside it. Unpacked, it is a store like any other: every record is
read against its own digest and against the manifest. The same records make the same bytes.
"""

from __future__ import annotations

import io
import lzma
import tarfile
from collections.abc import Collection
from pathlib import Path

from reproaudit.audit.model import TIERS
from reproaudit.audit.plan import varied_tier
from reproaudit.cell import CUSTOM
from reproaudit.errors import StoreError
from reproaudit.files import explained, read_regular, write_whole
from reproaudit.store.adoptions import adoption_tier
from reproaudit.store.coordinates import MOST_BYTES as MOST_AXES_BYTES
from reproaudit.store.coordinates import axes_file
from reproaudit.store.records import DATA_ENDING, EMPTY_ROOT, Store

FILE_NAME = "records.tar.xz"  # in a report folder, beside ``scorecard.json``
MAX_BYTES = 2**27  # to which the records of one file may unpack; the largest so far has a third

TAKE_AGAIN = "Take the file from where it was published again."

_MANIFEST = "manifest.log"
_DAMAGES = (
    tarfile.TarError,
    lzma.LZMAError,
    EOFError,
    OSError,
    OverflowError,
    ValueError,
    RecursionError,
)


def pack_records(store: Store, paper: str, tiers: Collection[str]) -> bytes:
    """The finished records of a paper's tiers, their notes and the store's manifest, as one file.

    A StoreError if there is none, or one that cannot be used.
    """
    files = [path for tier in sorted(tiers) for path in store.files(paper, tier)]
    finished = [path for path in files if not path.name.endswith(".failed.json")]
    for path in finished:
        store.read(path)
    if not finished:
        raise StoreError(f"{store.root}: no records of {paper} at {', '.join(sorted(tiers))}.")
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w", format=tarfile.PAX_FORMAT) as archive:
        _add(archive, _MANIFEST, store.manifest.file)
        axes = axes_file(store.root, paper)
        if axes.exists():
            _add(archive, axes.name, axes)
        notes = [path for tier in sorted(tiers) for path in store.files(paper, tier, DATA_ENDING)]
        for path in (*finished, *notes):
            _add(archive, store.listed_as(path), path)
    return lzma.compress(whole.getvalue(), preset=9)


def packed_for_report(store: Store, paper: str, tier: str) -> dict[str, bytes]:
    """Return the file with the records behind a report, by its name; errors as of `pack_records`.

    It holds the records of the tier, of those below it, of alternatives, of custom runs, and those
    that were measured to compare code, which bear out the audit's adoptions.
    """
    below = TIERS[: TIERS.index(tier) + 1] if tier in TIERS else (tier,)
    tiers = {CUSTOM, *below, *map(varied_tier, below)}
    tiers |= {*map(adoption_tier, tiers)}
    return {FILE_NAME: pack_records(store, paper, tiers)}


def _add(archive: tarfile.TarFile, name: str, file: Path) -> None:
    """Adds a file without its owner, rights and times, which are this machine's."""
    with explained("read", file):
        data = file.read_bytes()
    entry = tarfile.TarInfo(name)
    entry.size = len(data)
    archive.addfile(entry, io.BytesIO(data))


def unpack_records(file: Path, folder: Path) -> Store:
    """The store in a file that `pack_records` made, unpacked into an empty folder, or a StoreError.

    Plain files alone are unpacked; sizes are limited, and the ``data`` filter refuses unsafe paths.
    """
    with explained("read", file):
        data = read_regular(file, MAX_BYTES)
    try:
        with tarfile.open(fileobj=io.BytesIO(_decompressed(data)), mode="r:") as archive:
            for member in archive:
                if member.isreg() and not member.issparse():
                    archive.extract(member, folder, set_attrs=False, filter="data")
    except _DAMAGES as error:
        reason = str(error).partition("\n")[0]
        raise StoreError(
            f"{file}: these records cannot be unpacked ({reason}). {TAKE_AGAIN}"
        ) from None
    store = Store(folder)
    if store.manifest.root() == EMPTY_ROOT:
        raise StoreError(
            f"{file}: found no list of its records ({_MANIFEST}); expected the one that they were "
            f"packed with. {TAKE_AGAIN}"
        )
    for axes in sorted(file.parent.glob(axes_file(file.parent, "*").name)):
        if not (folder / axes.name).exists():
            with explained("read", axes):
                write_whole(folder / axes.name, read_regular(axes, MOST_AXES_BYTES))
    return store


def _decompressed(data: bytes) -> bytes:
    unpacking = lzma.LZMADecompressor(memlimit=2 * MAX_BYTES)
    whole = unpacking.decompress(data, MAX_BYTES + 1)
    if len(whole) > MAX_BYTES:
        raise tarfile.ReadError(f"more than {MAX_BYTES:,} bytes")
    if not unpacking.eof:
        raise EOFError("the beginning of a file alone")
    return whole
